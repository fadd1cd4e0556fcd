//! Fair shares of hosts, for disciplines that share the link by host and not by flow.
//!
//! What a host is due ([`HostMeter`]) is divided among its flows in the ratio of what each is due by
//! flow.

use crate::comparison::{Comparison, DisciplineResult, FlowSummary};
use crate::host_meter::{End, HostMeter};
use crate::host_summary::{HostFairness, HostSummary, HostsSummary};
use crate::kind::Kind;

/// The hosts, and for each flow its host and what it is due. None if bulk flows of several hosts
/// do not meet, because then hosts have nothing to divide.
pub(crate) fn conclude(
    meter: &HostMeter,
    flows: &mut [FlowSummary],
    seconds: f64,
) -> Option<HostsSummary> {
    let mut chosen: Option<(&End, Vec<bool>)> = None;
    for end in &meter.ends {
        let mut bulk = vec![false; end.addresses.len()];
        for (flow, host) in flows.iter().zip(&end.of_flows) {
            bulk[*host as usize] |= flow.kind == Kind::Bulk;
        }
        let mut contending = 0;
        for is_bulk in &bulk {
            contending += usize::from(*is_bulk);
        }
        let is_fewer = match &chosen {
            Some((other, _)) => end.addresses.len() < other.addresses.len(),
            None => true,
        };
        if contending >= 2 && is_fewer {
            chosen = Some((end, bulk));
        }
    }
    let (end, bulk) = chosen?;
    Some(summary(end, &bulk, flows, seconds))
}

fn summary(end: &End, bulk: &[bool], flows: &mut [FlowSummary], seconds: f64) -> HostsSummary {
    let mut all = Vec::new();
    for (number, address) in end.addresses.iter().enumerate() {
        let label = match address {
            Some(address) => address.to_string(),
            None => String::new(),
        };
        all.push(HostSummary {
            label,
            flows: 0,
            fair_rate: if seconds > 0.0 {
                end.served(number) * 8.0 / seconds
            } else {
                0.0
            },
            bulk: bulk[number],
        });
    }
    let mut sums = vec![0.0; all.len()];
    for (flow, host) in flows.iter().zip(&end.of_flows) {
        let host = *host as usize;
        sums[host] += flow.fair_rate;
        all[host].flows += 1;
        if all[host].label.is_empty() {
            all[host].label = flow.label.clone();
        }
    }
    for (flow, host) in flows.iter_mut().zip(&end.of_flows) {
        let host = *host as usize;
        let part = if sums[host] > 0.0 {
            flow.fair_rate / sums[host]
        } else {
            0.0
        };
        flow.host = Some(host);
        flow.fair_rate_by_host = Some((part * all[host].fair_rate).min(flow.offered_rate));
    }
    HostsSummary {
        end: end.which,
        all,
    }
}

/// How a discipline divides the link among the hosts of a comparison. `indivisible` bytes may lack
/// to a share without harm. It is not judged yet.
pub(crate) fn fairness(
    comparison: &Comparison,
    result: &DisciplineResult,
    indivisible: f64,
) -> Option<HostFairness> {
    let hosts = &comparison.hosts.as_ref()?.all;
    let mut got = vec![indivisible; hosts.len()];
    for (flow, result) in comparison.flows.iter().zip(&result.flows) {
        got[flow.host?] += result.bytes_in_time as f64;
    }
    let mut parts = Vec::new();
    let mut least = f64::INFINITY;
    let mut worst = 0;
    for (number, host) in hosts.iter().enumerate() {
        let fair = host.fair_rate / 8.0 * comparison.capture.seconds;
        if !host.bulk || fair <= 0.0 {
            continue;
        }
        let part = got[number] / fair;
        parts.push(part);
        if part < least {
            (least, worst) = (part, number);
        }
    }
    Some(HostFairness {
        jain: roundelay_metrics::jain_index(&parts)?,
        least_share: least.min(1.0),
        worst,
        judged: false,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::capture::Capture;
    use crate::compare::compare;
    use crate::compare::options::Options;
    use crate::host_summary::HostEnd;

    /// Two seconds of raw IPv4: a host with this many flows of 3 Mbit/s, and one with a flow of 8
    /// Mbit/s, from as many senders.
    fn pcap(flows: u8) -> Vec<u8> {
        let mut packets = Vec::new();
        for flow in 0..=flows {
            let (host, gap) = if flow < flows { (10, 4000) } else { (20, 1500) };
            let mut micros = u32::from(flow);
            while micros < 2_000_000 {
                packets.push((micros, flow, host));
                micros += gap;
            }
        }
        packets.sort_unstable();
        let mut bytes = Vec::new();
        for field in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
            bytes.extend(field.to_le_bytes());
        }
        for (micros, flow, host) in packets {
            for field in [micros / 1_000_000, micros % 1_000_000, 28, 1500] {
                bytes.extend(field.to_le_bytes());
            }
            bytes.extend([0x45, 0, 5, 220, 0, 0, 0, 0, 64, 17, 0, 0]);
            bytes.extend([203, 0, 113, flow, 192, 168, 1, host]);
            bytes.extend([19, 136, 39, 16 + flow, 5, 200, 0, 0]);
        }
        bytes
    }

    fn compared(pcap: Vec<u8>, specs: &[&str], change: fn(&mut Options)) -> Comparison {
        let specs = specs.iter().map(|spec| spec.parse().unwrap());
        let mut options = Options {
            measure_cost: false,
            ..Options::new("10mbit".parse().unwrap(), specs.collect())
        };
        change(&mut options);
        let capture = Capture::from_reader("t.pcap", Cursor::new(pcap)).unwrap();
        compare(capture, &options, &mut ()).unwrap()
    }

    fn share_of_bulk(result: &DisciplineResult) -> f64 {
        let kind = result.kinds.iter().find(|kind| kind.kind == Kind::Bulk);
        kind.and_then(|kind| kind.least_share).unwrap()
    }

    /// Regression: a flow of the host with eight had 56% of its fair share under dual isolation,
    /// which gives both hosts half of the link.
    #[test]
    fn a_queue_that_shares_by_host_is_judged_by_host() {
        let specs = ["cake dual-dsthost", "cake flows", "drr"];
        let comparison = compared(pcap(8), &specs, |_| ());
        let hosts = comparison.hosts.as_ref().unwrap();
        assert_eq!(hosts.end, HostEnd::Destination);
        let [eight, one] = &hosts.all[..] else {
            panic!("{hosts:?}");
        };
        assert_eq!([eight.flows, one.flows], [8, 1]);
        for host in [eight, one] {
            assert!((4.9e6..5.1e6).contains(&host.fair_rate), "{host:?}");
        }
        let [dual, flows, drr] = &comparison.disciplines[..] else {
            panic!("{} disciplines", comparison.disciplines.len());
        };
        let by_host = dual.hosts.unwrap();
        assert!(by_host.judged && by_host.jain > 0.99 && by_host.least_share > 0.95);
        assert!(share_of_bulk(dual) > 0.95, "{}", share_of_bulk(dual));
        for by_flow in [flows, drr] {
            let fairness = by_flow.hosts.unwrap();
            assert!(!fairness.judged && share_of_bulk(by_flow) > 0.95);
            assert_eq!(hosts.all[fairness.worst].label, "192.168.1.20");
            assert!((0.2..0.3).contains(&fairness.least_share), "{fairness:?}");
            // (8/9 + 1/9)^2 / 2 (64/81 + 1/81).
            assert!((0.6..0.65).contains(&fairness.jain), "{fairness:?}");
        }
    }

    /// Hosts count where several of them want the link, where something shares by them, and where a
    /// flow has one.
    #[test]
    fn flows_alone_count_where_hosts_have_nothing_to_share() {
        let hosts = |pcap, specs: &[&str], change| compared(pcap, specs, change).hosts;
        let none = |_: &mut Options| ();
        assert!(hosts(pcap(8), &["cake flows", "drr"], none).is_none());
        let by_code_point = |options: &mut Options| options.flow_by = crate::FlowBy::Dscp;
        assert!(hosts(pcap(8), &["cake dual-dsthost"], by_code_point).is_none());
        let one_host = hosts(pcap(0), &["cake dual-dsthost"], none);
        assert!(one_host.is_none(), "{one_host:?}");
        // Each of the senders has one flow, so they are more than the receivers.
        let by_both = hosts(pcap(8), &["cake"], none).unwrap();
        assert_eq!((by_both.end, by_both.all.len()), (HostEnd::Destination, 2));
        let by_source = hosts(pcap(8), &["cake dual-srchost"], none).unwrap();
        assert_eq!((by_source.end, by_source.all.len()), (HostEnd::Source, 9));
    }
}

//! Source `workload`: a list of flows with start, hosts and size, as in the workloads of the UPS
//! authors' scripts or in a log of flows.

use roundelay::{Duration, FlowConfig, Instant};

use crate::agent::{Agent, Context, FlowSpec};
use crate::network::NodeId;
use crate::sources::arrivals::{Mould, Transport};
use crate::sources::burst::LARGEST_FLOW;
use crate::sources::outlet::Terms;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, SourceError, draw};

/// A flow of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Start of the flow, counted from the start of the list.
    pub at: Instant,
    /// Source of the flow.
    pub from: NodeId,
    /// Destination of the flow.
    pub to: NodeId,
    /// Bytes of the flow, 1 to 2^40.
    pub size_bytes: u64,
}

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The flows, in the order of time.
    pub flows: Vec<Entry>,
    /// Transport of the flows.
    pub transport: Transport,
    /// Start of the list.
    pub start: Instant,
    /// Extra delay of the start, drawn evenly from 0 to this.
    pub start_jitter: Duration,
    /// Stop of the list, after its start; open flows go on.
    pub stop: Option<Instant>,
    /// Urgency of the packets.
    pub urgency: Urgency,
    /// Weight and longest packet of each flow.
    pub flow: Option<FlowConfig>,
}

/// The source.
#[derive(Debug)]
pub struct Workload {
    config: Config,
    mould: Mould,
    next: usize,
    /// Delay of flows relative to the list, once known.
    later: Option<Duration>,
}

impl Workload {
    /// # Errors
    /// A flow has an illegal size or is earlier than the flow before: the error has its index in
    /// the list.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        let check = Check("workload");
        for (place, flow) in config.flows.iter().enumerate() {
            let error =
                |parameter, value: String, range| Err(SourceError::new("workload", parameter, format!("{value} of flow {place}"), range));
            if !(1..=LARGEST_FLOW).contains(&flow.size_bytes) {
                return error("size_bytes", flow.size_bytes.to_string(), format!("1 to {LARGEST_FLOW}"));
            }
            let earliest = place.checked_sub(1).map_or(Instant::ZERO, |before| config.flows[before].at);
            if flow.at < earliest {
                return error("at", flow.at.to_string(), format!("from the flow before, {earliest}"));
            }
        }
        let spec = FlowSpec { from: NodeId(0), to: NodeId(0), config: config.flow };
        let terms =
            Terms { start: config.start, stop: config.stop, urgency: config.urgency.clone(), flow: spec, ..Terms::new(spec.from, spec.to) };
        terms.check(check)?;
        let mould = Mould::new(config.transport, terms, check)?;
        Ok(Self { config, mould, next: 0, later: None })
    }
}

impl Agent for Workload {
    fn wake(&mut self, context: &mut Context<'_>) {
        let Config { start, start_jitter, stop, flow: config, .. } = self.config;
        let later = *self.later.get_or_insert_with(|| start.since(Instant::ZERO) + draw::up_to(context.random(), start_jitter));
        while let Some(&Entry { at, from, to, size_bytes }) = self.config.flows.get(self.next) {
            let at = at + later;
            if stop.is_some_and(|stop| at >= stop) {
                break;
            }
            if at > context.now() {
                return context.wake_at(at);
            }
            self.mould.begin(FlowSpec { from, to, config }, size_bytes, &self.config.urgency, context);
            self.next += 1;
        }
        context.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, seconds};

    const HERE: [NodeId; 2] = [NodeId(0), NodeId(1)];

    fn config(flows: &[(u64, [NodeId; 2], u64)]) -> Config {
        let flows = flows.iter().map(|&(at, [from, to], size_bytes)| Entry { at: seconds(at), from, to, size_bytes }).collect();
        let transport = Transport::Burst { packet_len: 1000 };
        Config { flows, transport, start: Instant::ZERO, start_jitter: Duration::ZERO, stop: None, urgency: Urgency::None, flow: None }
    }

    #[test]
    fn flows_begin_when_the_list_says() {
        let back = [NodeId(1), NodeId(0)];
        let list = [(1, HERE, 2500), (3, back, 700), (3, HERE, 10), (8, HERE, 1)];
        let log =
            Bench::default().run(1, 20, [Workload::new(Config { start: seconds(2), stop: Some(seconds(10)), ..config(&list) }).unwrap()]);
        let sent: Vec<_> = log.sent.iter().map(|packet| (packet.now, packet.flow.0, packet.len)).collect();
        let [three, five] = [3, 5].map(seconds);
        assert_eq!(
            sent,
            [(three, 0, 1000), (three, 0, 1000), (three, 0, 500), (five, 1, 700), (five, 2, 10)],
            "the last one comes too late"
        );
        assert_eq!(log.closed.len(), 3);
    }

    #[test]
    fn flows_go_over_tcp() {
        let transport = Transport::Tcp(roundelay_tcp::Config::ns2_newreno_sack1());
        let bench = Bench::over(2, "10mbit", Duration::from_millis(1));
        let log = bench.run(1, 100, [Workload::new(Config { transport, ..config(&[(1, HERE, 50_000), (2, HERE, 1)]) }).unwrap()]);
        let bytes: Vec<_> = log.reports.iter().map(|(_, _, report)| (report.bytes, report.start)).collect();
        assert_eq!(bytes, [(50_000, seconds(1)), (1, seconds(2))]);
    }

    #[test]
    fn errors_name_the_flow() {
        let message = |flows| Workload::new(config(flows)).unwrap_err().to_string();
        assert_eq!(message(&[(1, HERE, 1), (0, HERE, 1)]), "workload: at 0s of flow 1: legal range from the flow before, 1s");
        assert_eq!(message(&[(1, HERE, 0)]), "workload: size_bytes 0 of flow 0: legal range 1 to 1099511627776");
    }
}

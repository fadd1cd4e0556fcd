//! Comparison with senders that react. It has the same figures as a replay, measured on a link that
//! somebody else runs with TCP senders, so that table and advice look like a replay's.
//!
//! A caller simulates the applications behind a capture (`connections`) and tells a [`Witness`]
//! what happens at the link. There is one witness for each discipline and replica. Before those
//! runs come runs with the fairest queue: because senders that react ask for what they get, only
//! these runs tell which flows are light and what a fair share is ([`Reference`]). [`conclude`]
//! takes the means.

pub(crate) mod basis;
mod cast;
mod mean;
mod reference;
mod witness;

use crate::compare::choose_charted;
use crate::comparison::{Comparison, DisciplineResult};
use crate::harm::find_worst_flows;

pub use crate::comparison::Reaction;
pub use basis::{Basis, OpenEnd};
pub use cast::Cast;
pub use reference::Reference;
pub use witness::{Arrived, Witness};

/// The discipline in the runs that tell what a fair share is. Of all packet schedulers it is
/// nearest to the ideal fluid server.
pub const FAIREST: &str = "wf2q_plus";

/// The comparison whose figures are means over each discipline's runs. Disciplines are in the
/// replay's order.
pub fn conclude(
    reference: &Reference,
    runs: Vec<Vec<DisciplineResult>>,
    reaction: Reaction,
) -> Comparison {
    let replay = &reaction.replay;
    let flows = reference.flows().to_vec();
    let mut comparison = Comparison {
        version: replay.version,
        capture: replay.capture.clone(),
        link_rate: replay.link_rate,
        reference_rate: replay.reference_rate,
        seed: replay.seed,
        charted: choose_charted(&flows),
        disciplines: Vec::new(),
        other_seeds: Vec::new(),
        observed: replay.observed.clone(),
        flows,
        hosts: None,
        reaction: None,
    };
    for replicas in runs {
        // Finds each run's worst flow and least share.
        let mut each = Comparison {
            disciplines: replicas,
            ..comparison.clone()
        };
        find_worst_flows(&mut each);
        comparison.disciplines.push(mean::of(each.disciplines));
    }
    let means = comparison.disciplines.clone();
    find_worst_flows(&mut comparison);
    for (result, mean) in comparison.disciplines.iter_mut().zip(means) {
        for (kind, of_mean) in result.kinds.iter_mut().zip(mean.kinds) {
            kind.least_share = of_mean.least_share;
        }
    }
    for (result, replayed) in comparison.disciplines.iter_mut().zip(&replay.disciplines) {
        result.cost = replayed.cost;
        result.kept_bounds = replayed.kept_bounds;
    }
    comparison.reaction = Some(Box::new(reaction));
    comparison
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io::Cursor;
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use roundelay::{Ecn, FlowId, Instant, Packet};

    use super::*;
    use crate::capture::Capture;
    use crate::compare::compare;
    use crate::compare::observer::ReplayObserver;
    use crate::compare::options::Options;
    use crate::headers::UDP;
    use crate::sink::{PacketFate, PacketRecord, PacketSink};

    /// Raw IPv4 packets of 1000 bytes at 1 kHz: three of a DNS server to one port for each to
    /// another.
    fn pcap(packets: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
            bytes.extend(field.to_le_bytes());
        }
        for number in 0..packets {
            for field in [number / 1000, number % 1000 * 1000, 28, 1000] {
                bytes.extend(field.to_le_bytes());
            }
            bytes.extend([
                0x45, 0, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53,
            ]);
            bytes.extend([4, u8::from(number % 4 == 0), 3, 212, 0, 0]);
        }
        bytes
    }

    /// Keeps all packets.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<PacketRecord>>>);

    impl PacketSink for Kept {
        fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
            self.0.lock().unwrap().push(*packet);
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
            Ok(())
        }
    }

    impl ReplayObserver for Kept {
        fn sink(
            &mut self,
            _: &str,
            _: usize,
            _: i64,
        ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
            Ok(Some(Box::new(self.clone())))
        }
    }

    /// What the link of a replay did, in the order of time: all packets arrive before the link picks
    /// one at the same instant.
    fn events(records: &[PacketRecord]) -> Vec<(Instant, usize, PacketRecord)> {
        let mut events = Vec::new();
        for record in records {
            events.push((record.arrival, 0, *record));
            match record.fate {
                PacketFate::Sent { start, .. } => events.push((start, 2, *record)),
                PacketFate::Dropped(_) => events.push((record.arrival, 1, *record)),
            }
        }
        events.sort_by_key(|(at, order, _)| (*at, *order));
        events
    }

    /// Tells a witness what happened in a replay.
    fn retell(witness: &mut Witness, records: &[PacketRecord]) {
        let mut numbers: Vec<(PacketRecord, u64)> = Vec::new();
        for (at, order, record) in events(records) {
            if order == 0 {
                let number = numbers.len() as u64;
                numbers.push((record, number));
                witness.arrive(at, arrived(number, record.flow, record.len));
                continue;
            }
            let known = numbers.iter().find(|(known, _)| *known == record);
            let (_, number) = known.expect("it has arrived");
            let packet = Packet {
                arrival: record.arrival,
                ..Packet::new(record.flow, record.len, ())
            };
            match record.fate {
                PacketFate::Sent { start, end, .. } => witness.send(*number, &packet, [start, end]),
                PacketFate::Dropped(reason) => witness.drop(*number, &packet, at, reason),
            }
        }
    }

    /// A packet with data of this number.
    fn arrived(number: u64, flow: FlowId, len: u32) -> Arrived {
        Arrived {
            number,
            flow,
            len,
            ecn: Ecn::NotCapable,
            is_bare: false,
            has_position: true,
        }
    }

    /// What rests on this replay, in one replica.
    fn on(replay: &Comparison) -> Reaction {
        Reaction {
            replicas: 1,
            control: "cubic",
            basis: Basis::default(),
            replay: replay.clone(),
            open: Vec::new(),
        }
    }

    /// One mechanism: a witness that is told what a replay's link did has the replay's figures.
    #[test]
    fn a_witness_of_a_replay_has_its_figures() {
        let options = Options {
            measure_cost: false,
            ..Options::new(
                "6mbit".parse().unwrap(),
                vec!["fifo limit 20".parse().unwrap()],
            )
        };
        let capture = Capture::from_reader("t.pcap", Cursor::new(pcap(1500))).unwrap();
        let mut kept = Kept::default();
        let replay = compare(capture, &options, &mut kept).unwrap();
        let records = kept.0.lock().unwrap().clone();
        let mut cast = Cast::new(&options);
        for port in [1025, 1024] {
            let ends = [
                SocketAddr::from(([10, 0, 0, 1], 53)),
                SocketAddr::from(([10, 0, 0, 2], port)),
            ];
            cast.number(Some(UDP), Some(ends));
        }
        let labels = cast.flows().iter().map(ToString::to_string);
        let replayed = replay.flows.iter().map(|flow| flow.label.clone());
        assert_eq!(Vec::from_iter(labels), Vec::from_iter(replayed));

        let mut fairest = Witness::new(options.rate, 2);
        retell(&mut fairest, &records);
        let reference = Reference::of(&cast, &replay, &[fairest]);
        let mut witness = reference.witness(options.rate, 0);
        retell(&mut witness, &records);
        let result = witness.result(&reference, &replay.disciplines[0]).unwrap();
        let comparison = conclude(&reference, vec![vec![result]], on(&replay));
        let [ours, theirs] = [&comparison, &replay].map(|comparison| &comparison.disciplines[0]);
        assert!(theirs.total.drops.full > 100, "{:?}", theirs.total);
        let words = |result: &DisciplineResult| {
            let outcomes = result.flows.iter().map(|flow| &flow.outcome);
            format!(
                "{:?} {:?} {:?} {:?}",
                result.total,
                result.light,
                Vec::from_iter(outcomes),
                result.jain
            )
        };
        assert_eq!(words(ours), words(theirs));
        for (kind, replayed) in ours.kinds.iter().zip(&theirs.kinds) {
            assert_eq!(
                (kind.kind, kind.flows, kind.p99, kind.worst),
                (replayed.kind, replayed.flows, replayed.p99, replayed.worst)
            );
        }
        for (flow, replayed) in comparison.flows.iter().zip(&replay.flows) {
            assert_eq!((flow.kind, flow.light), (replayed.kind, replayed.light));
        }
    }

    /// What the fairest queue has given a flow when it has given all, is the flow's fair share: half
    /// of it in the same time is half a share.
    #[test]
    fn shares_are_of_what_the_fairest_queue_gives() {
        let options = Options {
            measure_cost: false,
            ..Options::new("6mbit".parse().unwrap(), vec!["fifo".parse().unwrap()])
        };
        let capture = Capture::from_reader("t.pcap", Cursor::new(pcap(1500))).unwrap();
        let replay = compare(capture, &options, &mut ()).unwrap();
        let mut cast = Cast::new(&options);
        let ends = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 4000)));
        let flow = cast.of_tcp(ends);
        // 400 packets without a pause under the fairest queue, with pauses as long otherwise.
        let bulk = |witness: &mut Witness, pause: u64| {
            for number in 0..400 {
                witness.arrive(Instant::ZERO, arrived(number, flow, 1500));
            }
            for number in 0..400 {
                let packet = Packet::new(flow, 1500, ());
                let start = Instant::from_picos(number * (1 + pause) * 2_000_000_000);
                let end = Instant::from_picos(start.as_picos() + 2_000_000_000);
                witness.send(number, &packet, [start, end]);
            }
        };
        let mut fairest = Witness::new(options.rate, 1);
        bulk(&mut fairest, 0);
        let reference = Reference::of(&cast, &replay, &[fairest]);
        let mut slow = reference.witness(options.rate, 0);
        bulk(&mut slow, 1);
        let result = slow.result(&reference, &replay.disciplines[0]).unwrap();
        let comparison = conclude(&reference, vec![vec![result]], on(&replay));
        let kind = &comparison.disciplines[0].kinds[0];
        let share = kind.least_share.expect("bulk");
        assert!((0.5..0.51).contains(&share), "{kind:?}");
    }

    #[test]
    fn completion_times_are_those_of_a_kind() {
        let options = Options {
            measure_cost: false,
            ..Options::new("6mbit".parse().unwrap(), vec!["fifo".parse().unwrap()])
        };
        let capture = Capture::from_reader("t.pcap", Cursor::new(pcap(100))).unwrap();
        let replay = compare(capture, &options, &mut ()).unwrap();
        let mut cast = Cast::new(&options);
        let mut flows = Vec::new();
        for port in [443, 22] {
            let from = SocketAddr::from(([10, 0, 0, 1], port));
            let to = SocketAddr::from(([10, 0, 0, 2], 5000));
            flows.push(cast.of_tcp([from, to]));
        }
        let told = |witness: &mut Witness| {
            for (number, flow) in (0..).zip(&flows) {
                witness.arrive(Instant::ZERO, arrived(number, *flow, 100));
            }
            for millis in [40, 10, 20, 30] {
                let time = roundelay::Duration::from_millis(millis);
                witness.transfer(flows[0], Some(time));
            }
            witness.transfer(flows[0], None);
            witness.transfer(flows[1], Some(roundelay::Duration::from_secs(9)));
        };
        let mut fairest = Witness::new(options.rate, 2);
        told(&mut fairest);
        let reference = Reference::of(&cast, &replay, &[fairest]);
        let mut witness = reference.witness(options.rate, 0);
        told(&mut witness);
        let result = witness.result(&reference, &replay.disciplines[0]).unwrap();
        let served = result.kinds[0].served.expect("served");
        assert_eq!(result.kinds[0].kind, crate::Kind::Web);
        assert_eq!((served.transfers, served.unfinished), (4.0, 1.0));
        assert_eq!((served.p50, served.p99), (Some(0.02), Some(0.04)));
        assert_eq!(served.mean, Some(0.025));
    }
}

//! Builds a schedule from a list of packets, as a file holds it.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Duration, Fault, Instant};

use super::ReplayError;
use super::schedule::{Packet, Schedule, ScheduledFlow};
use crate::ids::Direction;
use crate::network::NetworkError;
use crate::routing::Routes;
use crate::scenario::Scenario;
use crate::sources::LONGEST_PACKET;

/// One packet in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The flow: any number, the same for all packets in a flow.
    pub flow: u64,
    /// The name of the flow's source.
    pub from: String,
    /// The name of the flow's destination.
    pub to: String,
    /// Whether the packet goes back, from the destination to the source.
    pub is_back: bool,
    /// Bytes: 1 to 65,535.
    pub len: u32,
    /// i(p), in picoseconds from the start.
    pub input_ps: i64,
    /// o(p), in picoseconds: at least i(p) + tmin(p).
    pub output_ps: i64,
}

impl Schedule {
    /// The schedule that a list describes, on a scenario's network. The scenario's sources are
    /// ignored. Packets are numbered by input time, and in list order if times are equal. A list
    /// does not tell how many congestion points a packet had, so we take 0 if it did not wait, and
    /// otherwise 1.
    ///
    /// # Errors
    /// A flow has different ends in two rows, an end that is no host, or no route. Or a length or a
    /// time is out of range. Messages name the row, from 0.
    pub fn listed(scenario: &Scenario, lines: Vec<Line>) -> Result<Self, ReplayError> {
        let network = scenario.network(scenario.seed);
        Self::check(&network)?;
        if network.routing().spread.is_some() {
            return Err(ReplayError::Spread);
        }
        if lines.len() > u32::MAX as usize {
            return Err(ReplayError::TooMany);
        }
        let hosts: BTreeSet<_> = scenario.topology.hosts.iter().copied().collect();
        let mut schedule = Self::new(network, &scenario.topology.hosts);
        let mut flows = BTreeMap::new();
        for (row, line) in lines.iter().enumerate() {
            let wrong = |what: Fault| ReplayError::Line { row, what };
            let flow = *flows.entry(line.flow).or_insert(schedule.flows.len());
            if flow == schedule.flows.len() {
                let node = |name: &str| {
                    let node = schedule
                        .network
                        .named(name)
                        .filter(|node| hosts.contains(node));
                    node.ok_or_else(|| {
                        let fault = Fault::new(format!("'{name}' is no host of the network"));
                        wrong(fault.with_given(name))
                    })
                };
                let from = node(&line.from)?;
                let to = node(&line.to)?;
                let routes =
                    schedule
                        .routes
                        .there_and_back(&schedule.network, from, to, flow as u64);
                let routes = routes.map_err(|error| wrong(error.to_string().into()))?;
                schedule.flows.push(ScheduledFlow {
                    from,
                    to,
                    config: None,
                    routes,
                });
            }
            let ScheduledFlow { from, to, .. } = schedule.flows[flow];
            if [from, to].map(|node| schedule.network.name(node)) != [line.from.as_str(), &line.to]
            {
                let message = format!(
                    "flow {} went from {} to {} before",
                    line.flow,
                    schedule.network.name(from),
                    schedule.network.name(to)
                );
                return Err(wrong(message.into()));
            }
            if line.is_back && schedule.flows[flow].routes[1] == Routes::NOWHERE {
                return Err(wrong(NetworkError::Unroutable(to, from).to_string().into()));
            }
            schedule
                .packets
                .push(schedule.packet(flow as u32, line).map_err(wrong)?);
        }
        if schedule.packets.is_empty() {
            return Err(ReplayError::Empty);
        }
        schedule.packets.sort_by_key(|packet| packet.input);
        let last = schedule
            .packets
            .last()
            .map_or(Instant::ZERO, |packet| packet.input);
        let seed = scenario.seed;
        let hash_seed = scenario.hash_seed.unwrap_or(scenario.seed);
        let window = last.since(Instant::ZERO) + Duration::from_picos(1);
        let warmup = scenario.warmup;
        Ok(Self {
            window,
            warmup,
            seed,
            hash_seed,
            ..schedule
        })
    }

    fn packet(&self, flow: u32, line: &Line) -> Result<Packet, Fault> {
        let &Line {
            len,
            input_ps,
            output_ps,
            is_back,
            ..
        } = line;
        if !(1..=LONGEST_PACKET).contains(&len) {
            let legal = format_args!("1 to {LONGEST_PACKET}");
            return Err(Fault::range(len, legal).behind("length "));
        }
        let input = u64::try_from(input_ps)
            .map_err(|_| Fault::range(input_ps, "0 and later").behind("input_ps "))?;
        let direction = if is_back {
            Direction::Backward
        } else {
            Direction::Forward
        };
        let packet = Packet {
            input: Instant::from_picos(input),
            output: Instant::MAX,
            flow,
            len,
            direction,
            congestion_points: 0,
        };
        let least = packet.input + self.fastest(&packet);
        let output = u64::try_from(output_ps)
            .ok()
            .map(Instant::from_picos)
            .filter(|output| *output >= least);
        let output = output.ok_or_else(|| {
            let legal = format_args!(
                "from the input plus the least time on the way, {}",
                least.as_picos()
            );
            Fault::range(output_ps, legal).behind("output_ps ")
        })?;
        Ok(Packet {
            output,
            congestion_points: u8::from(output > least),
            ..packet
        })
    }
}

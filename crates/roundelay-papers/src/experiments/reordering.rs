//! Kind `reordering`: reordering within flows at one link, and the cost of each remedy.
//!
//! For each list of `lengths`, every flow draws each packet's length from the list and sends at one
//! mean rate, with gaps that vary by half either way. Each column has these rows, where `LIST` is a
//! list's name:
//!
//! * `LIST: reordered`, the fraction of packets that leave after a later packet of their flow (RFC
//!   4737).
//! * `LIST: three behind`, the fraction that leave after three or more later packets, which TCP
//!   takes for a loss.
//! * `LIST: extent, rounds`, the most bytes that the link sent while an overtaken packet was still
//!   waiting, in rounds of a quantum and a longest packet for each queue.
//! * `LIST: held at a receiver, bytes`, the maximum content of a buffer behind the link that
//!   restores each flow's order, without waiting for dropped packets.
//! * `LIST: delay, ms`, `LIST: longest delay, ms`, `LIST: utilisation`, and
//!   `LIST: delivered, N bytes`, the fraction delivered of the packets of each length.
//! * `example: two of 1000 bytes, overtaken` and `example: 1500 and 1000 bytes, overtaken`: the
//!   packets overtaken in Figure 2. The trace shows the steps.
//! * `model: ..`: the fraction of all small states of two queues in which three packets leave out
//!   of order, by Equation 1 and by the rule that puts the longest packet for p.

mod example;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::AnyArena;
use roundelay::{
    DropReason, Duration, FlowConfig, FlowId, Instant, Observer, Packet, Port, QueueSpec, Rate,
};
use serde::Deserialize;

use super::columns::Columns;
use super::{Experiment, Failed, Outcome, Row, all_within, seed_of_queue, within};
use crate::locations::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reordering {
    /// Columns: a name, and a discipline.
    columns: Columns,
    /// Flows at the link: 1 to 10000.
    flows: u32,
    /// What each flow offers, in bits per second: 1000 to 10^9.
    rate: u64,
    /// Link rate in bits per second: 1 to 10^12.
    link: u64,
    /// Duration in seconds: 1 to 3600.
    duration: u64,
    /// Bytes that a round has per queue, a quantum and a longest packet: 1 to 10^9.
    round: u64,
    /// Queues per round: 1 to 65536.
    queues: u64,
    /// Packet lengths in bytes, 1 to 65536, by the list's name.
    lengths: BTreeMap<String, Vec<u32>>,
}

impl Reordering {
    /// Arrivals in order: time, flow and length.
    fn arrivals(&self, lengths: &[u32], seed: u64) -> Vec<(u64, FlowId, u32)> {
        let traffic = Seed::new(seed).derive(Purpose::Traffic, 0);
        let mut random = Pcg64Mcg::from_seed(traffic.to_bytes());
        let end = self.duration * SECOND;
        let mut arrivals = Vec::new();
        for flow in (0..self.flows).map(FlowId) {
            let mut at = random.random_range(0..SECOND / 10);
            while at < end {
                let len = lengths[random.random_range(0..lengths.len())];
                arrivals.push((at, flow, len));
                let gap = u64::from(len) * 8 * SECOND / self.rate;
                at += random.random_range(gap / 2..=gap * 3 / 2);
            }
        }
        arrivals.sort_unstable();
        arrivals
    }

    fn listen(&self, spec: &QueueSpec, lengths: &[u32], seed: u64) -> Result<Listener, Failed> {
        let rate = Rate::from_bits_per_second(self.link)
            .ok_or_else(|| Failed("link: expected 1 bit per second or more".to_owned()))?;
        let scheduler: AnyArena<u64> = spec
            .discipline
            .build_arena(seed_of_queue(seed))
            .map_err(Failed::from)?;
        let mut port = Port::new(scheduler, spec.limit_or_default(), rate);
        let mut listener = Listener::default();
        for (number, (at, flow, len)) in (0..).zip(self.arrivals(lengths, seed)) {
            let now = Instant::from_nanos(at);
            port.advance(now, &mut listener);
            listener.arrives(flow, number, len);
            port.arrive(now, Packet::new(flow, len, number), &mut listener);
        }
        port.advance(
            Instant::ZERO + Duration::from_secs(self.duration),
            &mut listener,
        );
        Ok(listener)
    }

    /// Most packets in a run, because all are in memory.
    const MOST_PACKETS: u64 = 10_000_000;

    fn check_packets(&self, path: &str, lengths: &[u32]) -> Result<(), Wrong> {
        let shortest = u64::from(lengths.iter().copied().min().unwrap_or(1));
        let packets = u64::from(self.flows) * self.duration * self.rate / (8 * shortest);
        if packets <= Self::MOST_PACKETS {
            return Ok(());
        }
        let most = Self::MOST_PACKETS;
        Err(Wrong::new(
            path,
            format!(
                "{path}: up to {packets} packets with this rate, duration and number of flows, \
                 legal range up to {most}"
            ),
        ))
    }
}

impl Experiment for Reordering {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        self.columns.check()?;
        within("flows", self.flows, 1..=10_000)?;
        within("rate", self.rate, 1000..=1_000_000_000)?;
        within("link", self.link, 1..=1_000_000_000_000)?;
        within("duration", self.duration, 1..=3600)?;
        within("round", self.round, 1..=1_000_000_000)?;
        within("queues", self.queues, 1..=65_536)?;
        for (name, lengths) in &self.lengths {
            let path = format!("lengths.{name}");
            all_within(&path, lengths, 1..=FlowConfig::MAX_PACKET_LEN)?;
            self.check_packets(&path, lengths)?;
        }
        Ok(())
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let spec = self.columns.spec(part)?;
        let mut rows = Vec::new();
        for (name, lengths) in &self.lengths {
            let listener = self.listen(&spec, lengths, seed)?;
            let end = (self.duration * SECOND) as f64 * 1e3;
            for (figure, value) in listener.figures(self.round * self.queues, end) {
                rows.push(Row::scalar(part, format!("{name}: {figure}"), value));
            }
        }
        let (figures, trace) = example::run(&spec, seed)?;
        for (figure, value) in figures.into_iter().chain(model::figures()) {
            rows.push(Row::scalar(part, figure, value));
        }
        Ok(Outcome { rows, trace })
    }

    fn disciplines(&self) -> Vec<&str> {
        self.columns.texts()
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.replace_disciplines(discipline);
        Ok(())
    }
}

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Observes each flow's packets behind the link.
#[derive(Debug, Default)]
struct Listener {
    flows: BTreeMap<FlowId, Order>,
    /// Bytes sent by the link.
    left: u64,
    /// Bytes in a resequencer behind the link, now and at most.
    held: u64,
    most_held: u64,
    packets: u64,
    reordered: u64,
    three_behind: u64,
    extent: u64,
    /// Sum of delays and longest delay, in picoseconds.
    delays: u128,
    longest_delay: u64,
    busy: u64,
    /// Arrivals and departures, by length.
    by_length: BTreeMap<u32, [u64; 2]>,
}

/// A flow's state: its packets by number.
#[derive(Debug, Default)]
struct Order {
    waiting: BTreeSet<u64>,
    /// Packets sent before an older packet that still waits: length, and bytes sent by the link
    /// before.
    early: BTreeMap<u64, (u32, u64)>,
    /// Packets sent, from the oldest waiting packet on: later numbers have overtaken a packet.
    left: BTreeSet<u64>,
}

impl Listener {
    fn arrives(&mut self, flow: FlowId, number: u64, len: u32) {
        self.flows.entry(flow).or_default().waiting.insert(number);
        self.by_length.entry(len).or_default()[0] += 1;
    }

    /// Called after a packet has left the queue, because later packets that its flow has sent early
    /// may be in order now.
    fn settle(&mut self, flow: FlowId) {
        let order = self.flows.entry(flow).or_default();
        let oldest = order.waiting.first().copied().unwrap_or(u64::MAX);
        while let Some(first) = order.early.first_entry() {
            if *first.key() >= oldest {
                break;
            }
            let (len, _) = first.remove();
            self.held -= u64::from(len);
        }
        let newest = order.left.last().copied().unwrap_or(0);
        order.left = order.left.split_off(&oldest.min(newest + 1));
    }

    fn leaves(&mut self, packet: &Packet<u64>) {
        let number = packet.payload;
        let order = self.flows.entry(packet.flow).or_default();
        order.waiting.remove(&number);
        let ahead = order.left.range(number..).count();
        self.packets += 1;
        self.reordered += u64::from(ahead > 0);
        self.three_behind += u64::from(ahead >= 3);
        let overtaken = order.early.range(number..);
        if let Some(before) = overtaken.map(|(_, (_, before))| *before).min() {
            self.extent = self.extent.max(self.left - before);
        }
        if order.waiting.first().is_some_and(|oldest| *oldest < number) {
            order
                .early
                .insert(number, (packet.len, self.left + u64::from(packet.len)));
            self.held += u64::from(packet.len);
            self.most_held = self.most_held.max(self.held);
        }
        order.left.insert(number);
        self.left += u64::from(packet.len);
    }

    fn figures(&self, round: u64, end: f64) -> Vec<(String, f64)> {
        let packets = self.packets.max(1) as f64;
        let figures = [
            ("reordered", self.reordered as f64 / packets),
            ("three behind", self.three_behind as f64 / packets),
            ("extent, rounds", self.extent as f64 / round as f64),
            ("held at a receiver, bytes", self.most_held as f64),
            ("delay, ms", self.delays as f64 / packets / 1e9),
            ("longest delay, ms", self.longest_delay as f64 / 1e9),
            ("utilisation", self.busy as f64 / end),
        ];
        let mut figures = Vec::from(figures.map(|(figure, value)| (figure.to_owned(), value)));
        for (len, [came, left]) in &self.by_length {
            let figure = format!("delivered, {len} bytes");
            figures.push((figure, *left as f64 / *came as f64));
        }
        figures
    }
}

impl Observer<u64> for Listener {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, end: Instant) {
        self.by_length.entry(packet.len).or_default()[1] += 1;
        let delay = end.since(packet.arrival).as_picos();
        self.delays += u128::from(delay);
        self.longest_delay = self.longest_delay.max(delay);
        self.busy += end.since(start).as_picos();
        self.leaves(&packet);
        self.settle(packet.flow);
    }

    fn dropped(&mut self, packet: Packet<u64>, _now: Instant, _reason: DropReason) {
        let order = self.flows.entry(packet.flow).or_default();
        order.waiting.remove(&packet.payload);
        self.settle(packet.flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Reordering {
        let table: toml::Table = r#"
            columns = { plain = "mqfq", resequence = "mqfq resequence", cells = "mqfq cells 64b", count_cells = "mqfq cells 64b count_cells", none = "fifo limit 100" }
            flows = 50
            rate = 300000
            link = 5000000
            duration = 5
            round = 3014
            queues = 16
            [lengths]
            constant = [1000]
            mixed = [64, 576, 1500]
        "#
        .parse()
        .unwrap();
        table.try_into().unwrap()
    }

    fn rows(column: &str) -> BTreeMap<String, f64> {
        plan()
            .run(column, 1)
            .unwrap()
            .rows
            .into_iter()
            .map(|row| (row.figure, row.value))
            .collect()
    }

    #[test]
    fn unequal_lengths_overtake_and_each_remedy_keeps_order() {
        let plain = rows("plain");
        assert_eq!(plain["constant: reordered"], 0.0);
        assert!(
            plain["mixed: reordered"] > 0.01
                && plain["mixed: extent, rounds"] <= 1.0
                && plain["mixed: held at a receiver, bytes"] > 0.0,
            "{plain:?}"
        );
        assert_eq!(
            [
                plain["example: two of 1000 bytes, overtaken"],
                plain["example: 1500 and 1000 bytes, overtaken"]
            ],
            [0.0, 1.0]
        );
        for remedy in ["resequence", "cells", "none"] {
            let rows = rows(remedy);
            for figure in [
                "constant: reordered",
                "mixed: reordered",
                "mixed: held at a receiver, bytes",
                "example: 1500 and 1000 bytes, overtaken",
            ] {
                assert_eq!(rows[figure], 0.0, "{remedy}: {figure}");
            }
            assert!(rows["mixed: utilisation"] > 0.99);
        }
    }

    #[test]
    fn cells_by_packets_do_not_starve_short_packets_and_by_cells_they_do() {
        let [plain, fair, unfair] = ["plain", "cells", "count_cells"]
            .map(|column| rows(column)["mixed: delivered, 64 bytes"]);
        assert!(
            fair > 0.5 * plain && unfair < 0.3 * fair,
            "{plain}, {fair}, {unfair}"
        );
    }

    #[test]
    fn a_listener_tells_who_is_late() {
        let mut listener = Listener::default();
        (0..6).for_each(|number| listener.arrives(FlowId(0), number, 100));
        let mut leaves = |number| {
            let packet = Packet::new(FlowId(0), 100, number);
            listener.leaves(&packet);
            listener.settle(FlowId(0));
        };
        [1, 2, 0, 3, 5, 4].into_iter().for_each(&mut leaves);
        assert_eq!(
            (
                listener.reordered,
                listener.three_behind,
                listener.most_held,
                listener.held
            ),
            (2, 0, 200, 0)
        );
        assert_eq!(
            listener.extent, 100,
            "packet 2 left after packet 1 had and before packet 0"
        );
    }

    #[test]
    fn numbers_have_ranges_and_packets_an_end() {
        assert_eq!(plan().check(), Ok(()));
        let message = |plan: Reordering| plan.check().unwrap_err().to_string();
        assert_eq!(
            message(Reordering { rate: 0, ..plan() }),
            "rate: 0 is out of range, 1000 to 1000000000"
        );
        assert_eq!(
            message(Reordering {
                duration: 1 << 40,
                ..plan()
            }),
            "duration: 1099511627776 is out of range, 1 to 3600"
        );
        assert!(
            message(Reordering {
                rate: 1_000_000_000,
                ..plan()
            })
            .starts_with("lengths.constant: up to 31250000 packets ")
        );
        assert!(
            message(Reordering {
                lengths: [("none".to_owned(), Vec::new())].into(),
                ..plan()
            })
            .starts_with("lengths.none: expected a number")
        );
    }
}

//! Kind `leftover`: who gets the bandwidth that a group's light flows leave: the group, or all
//! flows by weight.
//!
//! Twice `members` flows with one weight and one packet length form two groups, in the order of
//! joining. In the first group one flow is always backlogged and the others are light: each sends a
//! part of its share at a constant rate. In the second group all flows are always backlogged. With
//! `qfq_plus` groups are aggregates. Other disciplines have no groups.
//!
//! Each column has rows that are curves over the part of its share that a light flow sends:
//! `fellow, shares` (the backlogged flow among light ones), `others, shares` (mean of the second
//! group), `light, shares`, `fellow over others`, and `fellow over its due`. The due is an equal
//! part of the bandwidth that light flows leave.

use roundelay::Seed;
use roundelay::schedulers::AnyArena;
use roundelay::{Control, FlowConfig, FlowId, Instant, Packet, Scheduler};
use serde::Deserialize;

use super::columns::Columns;
use super::{Experiment, Failed, Outcome, Row, all_within, within};
use crate::figures::mean;
use crate::locations::Wrong;

/// Packets kept waiting for an always backlogged flow.
const KEPT: usize = 2;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leftover {
    /// Columns: the paper's name, and the discipline.
    columns: Columns,
    /// Flows per group, 2 to 64.
    members: u32,
    /// What a light flow sends as a part of its share, 0.000001 to 1. Each value is a point of each
    /// curve.
    light: Vec<f64>,
    /// Packet length in bytes, 1 to 65536.
    len: u32,
    /// How many packets depart, 1 to 100 million.
    packets: u64,
}

/// One run. The link sends a byte per nanosecond.
struct Link<'a> {
    plan: &'a Leftover,
    scheduler: AnyArena<()>,
    /// In nanoseconds.
    now: u64,
    /// Nanoseconds between two packets of a light flow.
    gap: f64,
    /// Packets that each light flow has sent so far.
    sent: Vec<u64>,
    /// Bytes that each flow has been served.
    served: Vec<u64>,
}

impl Leftover {
    fn flows(&self) -> u32 {
        2 * self.members
    }

    fn scheduler(&self, column: &str) -> Result<AnyArena<()>, Failed> {
        let mut scheduler = self
            .columns
            .spec(column)?
            .discipline
            .build_arena(Seed::new(1))
            .map_err(Failed::from)?;
        let config = FlowConfig {
            weight: 1,
            max_packet_len: self.len.max(FlowConfig::MIN_MAX_PACKET_LEN),
        };
        for flow in 0..self.flows() {
            let set = scheduler.set_flow(FlowId(flow), config);
            set.map_err(Failed::from)?;
        }
        Ok(scheduler)
    }

    fn serve(&self, column: &str, light: f64) -> Result<Vec<u64>, Failed> {
        let flows = self.flows() as usize;
        let gap = f64::from(self.len) * f64::from(self.flows()) / light;
        let scheduler = self.scheduler(column)?;
        let sent = vec![0; flows];
        let served = vec![0; flows];
        let mut link = Link {
            plan: self,
            scheduler,
            now: 0,
            gap,
            sent,
            served,
        };
        for flow in 0..self.flows() {
            if !self.is_light(flow) {
                for _ in 0..KEPT {
                    link.give(flow)?;
                }
            }
        }
        for _ in 0..self.packets {
            link.step()?;
        }
        Ok(link.served)
    }

    const fn is_light(&self, flow: u32) -> bool {
        0 < flow && flow < self.members
    }

    fn rows(&self, column: &str, light: f64, served: &[u64]) -> Vec<Row> {
        let members = self.members as usize;
        let total: u64 = served.iter().sum();
        let mut shares = Vec::new();
        for bytes in served {
            shares.push(*bytes as f64 * f64::from(self.flows()) / total as f64);
        }
        let fellow = shares[0];
        let light_ones = mean(&shares[1..members]);
        let others = mean(&shares[members..]);
        let due = (f64::from(self.flows()) - f64::from(self.members - 1) * light_ones)
            / f64::from(self.members + 1);
        let figures = [
            ("fellow, shares", fellow),
            ("others, shares", others),
            ("light, shares", light_ones),
            ("fellow over others", fellow / others),
            ("fellow over its due", fellow / due),
        ];
        figures
            .map(|(figure, value)| Row::point(column, figure, light, value))
            .into()
    }
}

impl Link<'_> {
    fn give(&mut self, flow: u32) -> Result<(), Failed> {
        let packet = Packet::new(FlowId(flow), self.plan.len, ());
        let taken = self
            .scheduler
            .enqueue(Instant::from_nanos(self.now), packet);
        taken.map_err(|refused| {
            Failed(format!(
                "a packet of {} bytes of flow {flow} was refused",
                refused.packet.len
            ))
        })
    }

    /// Adds the light flows' due packets, evenly staggered over a gap.
    fn arrive(&mut self) -> Result<(), Failed> {
        for flow in 1..self.plan.members {
            let phase = f64::from(flow) / f64::from(self.plan.members);
            while (self.sent[flow as usize] as f64 + phase) * self.gap <= self.now as f64 {
                self.sent[flow as usize] += 1;
                self.give(flow)?;
            }
        }
        Ok(())
    }

    /// Sends the next packet.
    fn step(&mut self) -> Result<(), Failed> {
        self.arrive()?;
        let packet = self.scheduler.dequeue(Instant::from_nanos(self.now));
        let Packet { flow, len, .. } =
            packet.ok_or_else(|| Failed("nothing left, yet packets wait".to_owned()))?;
        self.served[flow.index()] += u64::from(len);
        self.now += u64::from(len);
        if self.plan.is_light(flow.0) {
            Ok(())
        } else {
            self.give(flow.0)
        }
    }
}

impl Experiment for Leftover {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        self.columns.check()?;
        within("members", self.members, 2..=64)?;
        within("len", self.len, 1..=FlowConfig::MAX_PACKET_LEN)?;
        within("packets", self.packets, 1..=100_000_000)?;
        all_within("light", &self.light, 1e-6..=1.0)
    }

    /// Nothing is random, so all seeds give the same result.
    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let mut outcome = Outcome::default();
        for light in &self.light {
            let served = self.serve(part, *light)?;
            outcome.rows.extend(self.rows(part, *light, &served));
        }
        Ok(outcome)
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn disciplines(&self) -> Vec<&str> {
        self.columns.texts()
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.replace_disciplines(discipline);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "columns = { 'M=1' = 'qfq_plus aggregate 1', 'M=8' = 'qfq_plus', QFQ = 'qfq', FIFO = 'fifo' }
members = 8\nlight = [0.1, 1.0]\nlen = 1000\npackets = 20000";

    fn leftover(text: &str) -> Leftover {
        toml::from_str(text).unwrap()
    }

    fn value(column: &str, figure: &str, light: f64) -> f64 {
        let rows = leftover(PLAN).run(column, 1).unwrap().rows;
        rows.iter()
            .find(|row| row.figure == figure && row.x == Some(light))
            .unwrap()
            .value
    }

    #[test]
    fn an_aggregate_keeps_what_its_light_flows_leave() {
        assert!(
            (value("M=8", "fellow, shares", 0.1) - 7.3).abs() < 0.1,
            "8 shares less seven tenths"
        );
        assert!(
            (value("M=8", "others, shares", 0.1) - 1.0).abs() < 0.01,
            "their shares, and nothing of what is left"
        );
        for column in ["M=1", "QFQ"] {
            assert!(
                (value(column, "fellow over others", 0.1) - 1.0).abs() < 0.01,
                "{column}"
            );
            assert!(
                (value(column, "fellow over its due", 0.1) - 1.0).abs() < 0.01,
                "{column}"
            );
        }
        assert!(
            (value("M=8", "fellow over others", 1.0) - 1.0).abs() < 0.01,
            "nothing is left"
        );
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        for (from, to, expected) in [
            (
                "members = 8",
                "members = 1",
                "members: 1 is out of range, 2 to 64",
            ),
            ("0.1,", "0.0,", "light: 0 is out of range, 0.000001 to 1"),
            (
                "len = 1000",
                "len = 65537",
                "len: 65537 is out of range, 1 to 65536",
            ),
            ("packets = ", "packets = 1000000000", "packets: 1000000000"),
            ("'qfq'", "'qfx'", "columns.QFQ: "),
        ] {
            let message = leftover(&PLAN.replace(from, to))
                .check()
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}

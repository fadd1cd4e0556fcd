//! Kind `hierarchy`: shares and B-WFI of classes whose head packet changes, under informed parents
//! and under inferring parents.
//!
//! Three classes with equal weights are always backlogged, and each sends its urgent packets first.
//! In `grows` a short packet always waits, and an urgent long packet arrives whenever a packet of
//! the class begins to leave. In `shrinks` the lengths are exchanged, and in `plain` all packets
//! are long. An inferring parent stamps a class by the packet at its head when the class is listed,
//! as QFQ in kernels did.
//!
//! Each column has rows that are curves over the length of the short packets. For each class they
//! are `CLASS, shares` (1: its weight's part of the link) and `CLASS, B-WFI in bounds` (over the
//! bound of the parent's discipline). For all classes they are `least, shares` and `most, shares`.

use std::collections::VecDeque;

use roundelay::Seed;
use roundelay::schedulers::{AnyArena, AnyDiscipline};
use roundelay::tree::{Config, Node, Tree};
use roundelay::{Control, FlowConfig, FlowId, Instant, Packet, QueueSpec, Rate, Scheduler, Share};
use roundelay_metrics::BitWfi;
use serde::Deserialize;

use super::columns::{Columns, wrong};
use super::{Experiment, Failed, Outcome, Row, all_within, within};
use crate::locations::Wrong;

/// The classes' names, by number.
const CLASSES: [&str; 3] = ["grows", "shrinks", "plain"];
/// Time stands still, because schedulers here depend only on the order of calls.
const NOW: Instant = Instant::ZERO;
/// How many packets a trace shows.
const SHOWN: u64 = 12;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hierarchy {
    /// Maps the paper's name of each column to the parent's discipline.
    columns: Columns,
    /// Columns whose parent is not told when a class gets a new head packet.
    #[serde(default)]
    infer: Vec<String>,
    /// Bytes of a long packet, 64 to 65536.
    long: u32,
    /// Bytes of a short packet, 1 to `long`. Each length is a point of the curves.
    short: Vec<u32>,
    /// How many packets depart, 1 to 100 million.
    packets: u64,
}

/// A link with classes: accepts packets of classes, and sends the next packet.
trait Parent {
    fn give(&mut self, packet: Packet<Offer>);
    fn take(&mut self) -> Option<Departure>;
}

/// The payload: the packet's class.
#[derive(Debug, Clone, Copy)]
struct Offer {
    class: usize,
}

/// A departure.
struct Departure {
    class: usize,
    len: u32,
    /// Packet length used by the parent for ordering.
    stamped: u32,
}

/// A tree: each class reports its head packet to the root.
impl Parent for Tree<Offer> {
    fn give(&mut self, packet: Packet<Offer>) {
        let refused = self.enqueue(NOW, packet).is_err();
        debug_assert!(!refused, "lengths are checked");
    }

    fn take(&mut self) -> Option<Departure> {
        let Packet {
            len,
            payload: Offer { class },
            ..
        } = self.dequeue(NOW)?;
        Some(Departure {
            class,
            len,
            stamped: len,
        })
    }
}

/// A class with two queues: urgent packets leave first.
#[derive(Default)]
struct Class {
    queues: [VecDeque<u32>; 2],
    /// Packet length known to the parent.
    stamped: u32,
}

impl Class {
    fn head(&self) -> Option<u32> {
        self.queues.iter().find_map(|queue| queue.front().copied())
    }

    fn pop(&mut self) -> Option<u32> {
        self.queues.iter_mut().find_map(VecDeque::pop_front)
    }
}

/// A parent that reads a class's head packet when it lists the class. It learns that this packet
/// has changed only after it has served the class.
struct Inferring {
    parent: AnyArena<()>,
    classes: [Class; CLASSES.len()],
}

impl Inferring {
    fn new(discipline: &AnyDiscipline, config: FlowConfig) -> Result<Self, Failed> {
        let mut parent = discipline.build_arena(Seed::new(1)).map_err(Failed::from)?;
        for class in 0..CLASSES.len() as u32 {
            let set = parent.set_flow(FlowId(class), config);
            set.map_err(Failed::from)?;
        }
        Ok(Self {
            parent,
            classes: Default::default(),
        })
    }
}

impl Parent for Inferring {
    fn give(&mut self, packet: Packet<Offer>) {
        let number = packet.payload.class;
        let class = &mut self.classes[number];
        let was_idle = class.head().is_none();
        class.queues[packet.priority as usize].push_back(packet.len);
        if was_idle {
            class.stamped = packet.len;
            let refused = self
                .parent
                .enqueue(NOW, Packet::new(FlowId(number as u32), packet.len, ()))
                .is_err();
            debug_assert!(!refused, "lengths are checked");
        }
    }

    fn take(&mut self) -> Option<Departure> {
        let classes = &mut self.classes;
        let mut departure = None;
        self.parent.dequeue_refilled(NOW, &mut |flow| {
            let class = &mut classes[flow.index()];
            if let Some(len) = class.pop() {
                departure = Some(Departure {
                    class: flow.index(),
                    len,
                    stamped: class.stamped,
                });
            }
            class.stamped = class.head()?;
            Some(Packet::new(flow, class.stamped, ()))
        })?;
        departure
    }
}

impl Hierarchy {
    fn discipline(&self, column: &str) -> Result<AnyDiscipline, Wrong> {
        let discipline = self.columns.spec(column)?.discipline;
        if discipline.info().interior {
            Ok(discipline)
        } else {
            Err(wrong(column, format!("{discipline} cannot be a class")))
        }
    }

    /// Lengths of a class's urgent packets and of its other packets.
    fn lengths(&self, class: usize, short: u32) -> [u32; 2] {
        match CLASSES[class] {
            "grows" => [self.long, short],
            "shrinks" => [short, self.long],
            _ => [self.long; 2],
        }
    }

    fn config(&self) -> FlowConfig {
        FlowConfig {
            weight: 1,
            max_packet_len: self.long.max(FlowConfig::MIN_MAX_PACKET_LEN),
        }
    }

    fn parent(&self, column: &str) -> Result<Box<dyn Parent>, Failed> {
        let discipline = self.discipline(column)?;
        if self.infer.iter().any(|name| name == column) {
            return Ok(Box::new(Inferring::new(&discipline, self.config())?));
        }
        Ok(Box::new(self.tree(discipline)?))
    }

    fn tree(&self, discipline: AnyDiscipline) -> Result<Tree<Offer>, Failed> {
        let mut tree = Config::new(Node::new(
            "link",
            QueueSpec {
                discipline,
                limit: None,
            },
        ))
        .map_err(Failed::from)?;
        for (flow, name) in (0..).map(FlowId).zip(CLASSES) {
            let spec = "priority".parse().map_err(Failed::from)?;
            let node = Node {
                max_packet_len: self.config().max_packet_len,
                ..Node::new(name, spec)
            };
            tree.add_leaf("link", node).map_err(Failed::from)?;
            tree.assign(flow, name).map_err(Failed::from)?;
        }
        tree.set_default(CLASSES[0]).map_err(Failed::from)?;
        tree.build_tree(Seed::new(1)).map_err(Failed::from)
    }

    fn give(&self, parent: &mut dyn Parent, class: usize, short: u32, priority: u32) {
        let len = self.lengths(class, short)[priority as usize];
        parent.give(Packet {
            priority,
            ..Packet::new(FlowId(class as u32), len, Offer { class })
        });
    }

    /// B-WFI bound that the parent's discipline has for each class, in bytes.
    fn bound(&self, column: &str) -> Result<Option<f64>, Failed> {
        let config = self.config();
        let classes = CLASSES.len() as u64;
        // A B-WFI in bytes does not depend on the rate.
        let Some(rate) = Rate::from_bits_per_second(1) else {
            return Ok(None);
        };
        let share = Share {
            weight: config.weight,
            total_weight: classes,
            least_weight: config.weight,
            flows: classes,
            max_packet_len: config.max_packet_len,
            link_max_packet_len: self.long,
            rate,
        };
        let guarantees = self.discipline(column)?.guarantees(&share);
        Ok(guarantees.b_wfi.map(|bound| bound.value as f64))
    }

    /// Each class's bytes and B-WFI, and a trace of the first departures.
    fn serve(&self, column: &str, short: u32) -> Result<(Vec<Served>, Vec<String>), Failed> {
        let mut parent = self.parent(column)?;
        let mut served = vec![Served::default(); CLASSES.len()];
        let mut meter = BitWfi::default();
        let mut trace = Vec::new();
        for class in 0..CLASSES.len() {
            for priority in [1, 1, 0] {
                self.give(&mut *parent, class, short, priority);
            }
            // More than will ever leave, so that classes are always backlogged.
            meter.set_weight(FlowId(class as u32), 1);
            meter.arrive(FlowId(class as u32), u32::MAX);
        }
        for number in 0..self.packets {
            let Departure {
                class,
                len,
                stamped,
            } = parent
                .take()
                .ok_or_else(|| Failed(format!("{column}: nothing left, yet packets wait")))?;
            served[class].bytes += u64::from(len);
            meter.serve(FlowId(class as u32), len);
            meter.arrive(FlowId(class as u32), len);
            if number < SHOWN {
                trace.push(format!(
                    "{column}: {} sends {len} bytes, ordered as {stamped}",
                    CLASSES[class]
                ));
            }
            self.give(&mut *parent, class, short, 0);
        }
        for (flow, class) in (0..).map(FlowId).zip(&mut served) {
            class.b_wfi = meter.worst(flow);
        }
        Ok((served, trace))
    }

    fn rows(&self, column: &str, short: u32, served: &[Served]) -> Result<Vec<Row>, Failed> {
        let bound = self.bound(column)?;
        let total: u64 = served.iter().map(|class| class.bytes).sum();
        let x = f64::from(short);
        let mut rows = Vec::new();
        let mut least = f64::MAX;
        let mut most = 0.0_f64;
        for (name, class) in CLASSES.iter().zip(served) {
            let share = class.bytes as f64 * CLASSES.len() as f64 / total as f64;
            least = least.min(share);
            most = most.max(share);
            rows.push(Row::point(column, format!("{name}, shares"), x, share));
            if let Some(bound) = bound {
                let figure = format!("{name}, B-WFI in bounds");
                rows.push(Row::point(column, figure, x, class.b_wfi / bound));
            }
        }
        let extremes = [
            Row::point(column, "least, shares", x, least),
            Row::point(column, "most, shares", x, most),
        ];
        rows.splice(0..0, extremes);
        Ok(rows)
    }
}

/// How a class was served.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    bytes: u64,
    b_wfi: f64,
}

impl Experiment for Hierarchy {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        within("long", self.long, 64..=FlowConfig::MAX_PACKET_LEN)?;
        all_within("short", &self.short, 1..=self.long)?;
        within("packets", self.packets, 1..=100_000_000)?;
        for column in self.columns.names() {
            self.discipline(&column)?;
        }
        Ok(())
    }

    /// Nothing is random, so all seeds give the same result.
    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let mut outcome = Outcome::default();
        for (index, short) in self.short.iter().enumerate() {
            let (served, trace) = self.serve(part, *short)?;
            outcome.rows.extend(self.rows(part, *short, &served)?);
            if index == 0 {
                outcome.trace = trace;
            }
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

    const PLAN: &str = "columns = { told = 'qfq', inferring = 'qfq', plus = 'qfq_plus' }
infer = ['inferring']\nlong = 1500\nshort = [60, 1500]\npackets = 5000";

    fn hierarchy(text: &str) -> Hierarchy {
        toml::from_str(text).unwrap()
    }

    fn value(outcome: &Outcome, figure: &str, x: f64) -> f64 {
        outcome
            .rows
            .iter()
            .find(|row| row.figure == figure && row.x == Some(x))
            .unwrap()
            .value
    }

    #[test]
    fn a_parent_that_infers_serves_by_lengths_that_are_no_longer_true() {
        let outcome = hierarchy(PLAN).run("inferring", 1).unwrap();
        assert!(
            value(&outcome, "grows, shares", 60.0) > 2.5
                && value(&outcome, "shrinks, shares", 60.0) < 0.2
        );
        assert!(
            value(&outcome, "plain, B-WFI in bounds", 60.0) > 10.0,
            "the lag grows during the whole run"
        );
        assert!(
            (value(&outcome, "grows, shares", 1500.0) - 1.0).abs() < 0.01,
            "where lengths are the same there is nothing to infer"
        );
        assert!(
            outcome
                .trace
                .iter()
                .any(|line| line == "inferring: grows sends 1500 bytes, ordered as 60"),
            "{:?}",
            outcome.trace
        );
    }

    #[test]
    fn parents_that_are_told_share_by_weight() {
        for column in ["told", "plus"] {
            let outcome = hierarchy(PLAN).run(column, 1).unwrap();
            for class in CLASSES {
                assert!(
                    (value(&outcome, &format!("{class}, shares"), 60.0) - 1.0).abs() < 0.05,
                    "{column}, {class}"
                );
                assert!(
                    value(&outcome, &format!("{class}, B-WFI in bounds"), 60.0) <= 1.0,
                    "{column}, {class}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        for (from, to, expected) in [
            ("'qfq_plus'", "'wfq'", "columns.plus: wfq cannot be a class"),
            ("1500]", "1501]", "short: 1501 is out of range, 1 to 1500"),
            (
                "long = 1500",
                "long = 63",
                "long: 63 is out of range, 64 to 65536",
            ),
            ("'qfq_plus'", "'cakes'", "columns.plus: "),
        ] {
            let message = hierarchy(&PLAN.replace(from, to))
                .check()
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}

//! The controller: fills and empties a scheduler.

use std::collections::VecDeque;
use std::hint::black_box;

use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{Backlog, ConfigError, Duration, FlowConfig, FlowId, Footprint, Instant, Packet, Scheduler};

use crate::generator::Generator;
use crate::load::Load;

/// What is measured.
#[derive(Debug, Clone)]
pub enum Subject {
    /// The generator alone: packets are made, kept in a ring and discarded. What it costs is in every other figure too.
    Generator,
    /// A discipline.
    Discipline(AnyDiscipline),
}

impl Subject {
    /// As reports write it.
    pub fn name(&self) -> String {
        match self {
            Self::Generator => "none".to_owned(),
            Self::Discipline(discipline) => discipline.to_string(),
        }
    }
}

/// A load on a subject, ready to run.
pub trait Running {
    /// Sends at least `pairs` packets through, each enqueued and dequeued, or as many as the subject lets through.
    fn run(&mut self, pairs: u64) -> Passed;
}

/// What came of the packets of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets handed to the subject and no longer waiting.
    pub offered: u64,
    /// Packets that it gave out again. The others were refused or dropped.
    pub sent: u64,
}

impl Passed {
    /// The part of the packets that was sent. A cost is one of forwarding only if it is nearly all.
    pub fn share(self) -> f64 {
        self.sent as f64 / self.offered.max(1) as f64
    }
}

/// Sets a subject up under a load, so that [`Running::run`] does nothing but run.
///
/// # Errors
/// A flow's weight or longest packet is out of the discipline's range, or a parameter is.
pub fn prepare(subject: &Subject, load: &Load) -> Result<Box<dyn Running>, ConfigError> {
    match subject {
        Subject::Generator => Ok(Box::new(Controller::new(Nothing::default(), load))),
        Subject::Discipline(discipline) => discipline.visit(Prepare(load)),
    }
}

/// Runs `pairs` packets through a subject from scratch.
///
/// # Errors
/// As [`prepare`].
pub fn run_pairs(subject: &Subject, load: &Load, pairs: u64) -> Result<Passed, ConfigError> {
    Ok(prepare(subject, load)?.run(pairs))
}

struct Prepare<'a>(&'a Load);

impl Visitor for Prepare<'_> {
    type Output = Result<Box<dyn Running>, ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build::<u32>(1)?;
        let max_packet_len = self.0.lengths.longest().max(FlowConfig::MIN_MAX_PACKET_LEN);
        for (flow, weight) in (0..).map(FlowId).zip(self.0.flows.weights()) {
            scheduler.set_flow(flow, FlowConfig { weight, max_packet_len })?;
        }
        Ok(Box::new(Controller::<D::Scheduler<u32>>::new(scheduler, self.0)))
    }
}

/// A scheduler under a load.
struct Controller<S> {
    scheduler: S,
    generator: Generator,
    now: Instant,
    waiting: u64,
    least: u64,
    most: u64,
}

/// Each packet takes the link for this long: 1000 bytes at 10 Gbit/s. Disciplines with a clock need time to go on.
const STEP: Duration = Duration::from_nanos(800);

impl<S: Scheduler<u32>> Controller<S> {
    fn new(scheduler: S, load: &Load) -> Self {
        let (least, most) = load.pattern.backlog_per_flow();
        let flows = u64::from(load.flows.flows());
        Self { scheduler, generator: Generator::new(load), now: Instant::ZERO, waiting: 0, least: least * flows, most: most * flows }
    }

    /// Offers as many packets as are missing; some may be refused or dropped.
    #[inline]
    fn fill(&mut self, passed: &mut Passed) {
        let missing = self.most - self.waiting;
        passed.offered += missing;
        self.waiting += missing;
        for _ in 0..missing {
            let (flow, len, place) = self.generator.make();
            if let Err(refused) = self.scheduler.enqueue(self.now, Packet::new(flow, len, place)) {
                self.forget(refused.payload);
            }
            self.take_dropped();
        }
    }

    #[inline]
    fn empty(&mut self, passed: &mut Passed) {
        while self.waiting > self.least {
            self.now += STEP;
            let packet = self.scheduler.dequeue(self.now);
            self.take_dropped();
            let Some(packet) = packet else { continue };
            self.forget(packet.payload);
            passed.sent += 1;
        }
    }

    #[inline]
    fn take_dropped(&mut self) {
        while let Some((packet, _)) = self.scheduler.take_dropped() {
            self.forget(packet.payload);
        }
    }

    /// A packet waits no longer.
    #[inline]
    fn forget(&mut self, place: u32) {
        self.generator.discard(place);
        self.waiting -= 1;
    }
}

impl<S: Scheduler<u32>> Running for Controller<S> {
    fn run(&mut self, pairs: u64) -> Passed {
        let mut passed = Passed { offered: self.waiting, sent: 0 };
        while passed.sent < pairs {
            let before = passed;
            self.fill(&mut passed);
            self.empty(&mut passed);
            if passed == before {
                break;
            }
            // What lets almost nothing through is not worth the wait.
            if passed.offered > 4 * pairs + 4 * self.most {
                break;
            }
        }
        passed.offered -= self.waiting;
        black_box(passed)
    }
}

/// Keeps packets in a ring and orders nothing.
#[derive(Debug, Default)]
struct Nothing {
    ring: VecDeque<u32>,
}

impl Scheduler<u32> for Nothing {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<u32>) -> Result<(), Packet<u32>> {
        self.ring.push_back(packet.payload);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u32>> {
        self.ring.pop_front().map(|place| Packet::new(FlowId(0), 0, place))
    }

    fn evict(&mut self) -> Option<Packet<u32>> {
        self.ring.pop_back().map(|place| Packet::new(FlowId(0), 0, place))
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.ring.len() as u64, bytes: 0 }
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Lengths, Memory, Pattern};

    fn passed(spec: &str, pattern: Pattern, pairs: u64) -> Passed {
        let load = Load { flows: "64".parse().unwrap(), pattern, lengths: Lengths::Fixed(1000), memory: Memory::Packed };
        let discipline = spec.parse::<roundelay::schedulers::Spec>().unwrap().discipline;
        run_pairs(&Subject::Discipline(discipline), &load, pairs).unwrap()
    }

    #[test]
    fn what_is_sent_is_counted_once() {
        for pattern in Pattern::ALL {
            let (least, most) = pattern.backlog_per_flow();
            let passed = passed("drr", pattern, 1);
            assert_eq!(passed, Passed { offered: 64 * (most - least), sent: 64 * (most - least) }, "{pattern:?}");
        }
    }

    #[test]
    fn what_is_refused_or_dropped_is_not_sent() {
        for spec in ["sfq flows 4", "sfq depth 1", "mqfq buffer 100", "red", "choke"] {
            for pattern in Pattern::ALL {
                let passed = passed(spec, pattern, 5_000);
                assert!(passed.share() < 0.9, "{spec}, {pattern:?}: {passed:?}");
            }
        }
        assert_eq!(passed("drr", Pattern::Small, 20_000).share(), 1.0);
    }

    #[test]
    fn what_lets_nothing_through_ends() {
        let passed = passed("red min 1b max 2b burst 1 probability 1 avpkt 1000b", Pattern::Full, 10_000);
        assert!(passed.sent < passed.offered / 2, "{passed:?}");
    }
}

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
    /// Sends at least `pairs` packets through, each enqueued and dequeued, and returns how many.
    fn run(&mut self, pairs: u64) -> u64;
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
pub fn run_pairs(subject: &Subject, load: &Load, pairs: u64) -> Result<u64, ConfigError> {
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

    #[inline]
    fn fill(&mut self) {
        while self.waiting < self.most {
            let (flow, len, place) = self.generator.make();
            if let Err(refused) = self.scheduler.enqueue(self.now, Packet::new(flow, len, place)) {
                self.generator.discard(refused.payload);
            }
            self.waiting += 1;
            self.take_dropped();
        }
    }

    /// Returns how many packets left.
    #[inline]
    fn empty(&mut self) -> u64 {
        let before = self.waiting;
        while self.waiting > self.least {
            self.now += STEP;
            if let Some(packet) = self.scheduler.dequeue(self.now) {
                self.generator.discard(packet.payload);
            }
            self.waiting -= 1;
            self.take_dropped();
        }
        before - self.waiting
    }

    #[inline]
    fn take_dropped(&mut self) {
        while let Some((packet, _)) = self.scheduler.take_dropped() {
            self.generator.discard(packet.payload);
        }
    }
}

impl<S: Scheduler<u32>> Running for Controller<S> {
    fn run(&mut self, pairs: u64) -> u64 {
        let mut done = 0;
        while done < pairs {
            self.fill();
            done += self.empty();
        }
        black_box(done)
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

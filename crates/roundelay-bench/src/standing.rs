//! Standing backlog: the cost of a packet, enqueued and dequeued, while as many others wait as in a network that somebody has measured.
//!
//! [`time`](crate::time()) asks how a cost grows with flows and swells; here the backlog is given, and all subjects share a second or two.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{ConfigError, Duration, FlowConfig, FlowId, Instant, Packet, Scheduler, Slack};

use crate::run::Passed;
use crate::time::{Timing, cpu_seconds};

/// Rounds, in which the disciplines take turns.
const ROUNDS: usize = 5;
/// Pairs between two looks at the clock.
const CHUNK: usize = 1_000;
/// Drawn headers, used round and round: drawing costs more than most schedulers.
const DRAWN: usize = 1 << 12;
/// Bytes of all packets.
const PACKET_LEN: u32 = 1_000;

/// Who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Packets that wait, at least 1.
    pub packets: u32,
    /// Flows that they belong to, at least 1.
    pub flows: u32,
}

/// CPU time of a pair under each discipline, all together in about `seconds` of it. Slack and priority are drawn evenly from 0 to a second and to 2^20: a
/// queue by rank has to look for the place of each packet.
///
/// # Errors
/// A parameter of a discipline is out of its range.
pub fn standing(disciplines: &[AnyDiscipline], load: Standing, seconds: f64) -> Result<Vec<Timing>, ConfigError> {
    let mut timings = vec![Timing::default(); disciplines.len()];
    let headers = headers(load);
    let seconds = seconds / (ROUNDS * disciplines.len().max(1)) as f64;
    for _ in 0..ROUNDS {
        for (discipline, timing) in disciplines.iter().zip(&mut timings) {
            let (nanos, passed) = discipline.visit(Round { load, headers: &headers, seconds })?;
            timing.nanos.push(nanos);
            timing.passed.offered += passed.offered;
            timing.passed.sent += passed.sent;
        }
    }
    Ok(timings)
}

fn headers(load: Standing) -> Vec<Packet<u32>> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut header = |number: usize| {
        let mut packet = Packet::new(FlowId(number as u32 % load.flows.max(1)), PACKET_LEN, 0);
        packet.slack = Slack::of(Duration::from_nanos(random.random_range(0..1_000_000_000)));
        packet.priority = random.random_range(0..1 << 20);
        packet
    };
    (0..DRAWN.max(load.flows as usize)).map(&mut header).collect()
}

/// One discipline in one round.
struct Round<'a> {
    load: Standing,
    headers: &'a [Packet<u32>],
    seconds: f64,
}

impl Visitor for Round<'_> {
    type Output = Result<(f64, Passed), ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build::<u32>(1)?;
        let mut flows = (0..self.load.flows).map(FlowId);
        flows.try_for_each(|flow| scheduler.set_flow(flow, FlowConfig::DEFAULT))?;
        let mut queue = Queue { scheduler, headers: self.headers, next: 0, now: Instant::ZERO, passed: Passed::default() };
        queue.fill(self.load.packets);
        // What grows has grown before the clock runs.
        queue.pairs();
        queue.passed = Passed::default();
        let start = cpu_seconds();
        while cpu_seconds() - start < self.seconds {
            queue.pairs();
        }
        let nanos = (cpu_seconds() - start) * 1e9 / queue.passed.sent.max(1) as f64;
        Ok((nanos, queue.passed))
    }
}

/// A scheduler with packets in it.
struct Queue<'a, S> {
    scheduler: S,
    headers: &'a [Packet<u32>],
    next: usize,
    now: Instant,
    passed: Passed,
}

impl<S: Scheduler<u32>> Queue<'_, S> {
    fn fill(&mut self, packets: u32) {
        (0..packets).for_each(|_| self.offer());
    }

    #[inline(always)]
    fn offer(&mut self) {
        let packet = Packet { arrival: self.now, ..self.headers[self.next] };
        self.next = if self.next + 1 == self.headers.len() { 0 } else { self.next + 1 };
        self.passed.offered += 1;
        let _ = self.scheduler.enqueue(self.now, packet);
    }

    /// One comes for each that leaves, at 1 Gbit/s.
    fn pairs(&mut self) {
        for _ in 0..CHUNK {
            self.offer();
            self.passed.sent += u64::from(self.scheduler.dequeue(self.now).is_some());
            // Each early drop lets the backlog shrink by one.
            let dropped = std::iter::from_fn(|| self.scheduler.take_dropped()).count();
            (0..dropped).for_each(|_| self.offer());
            self.now += Duration::from_micros(8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::schedulers::Spec;

    fn times(disciplines: &[&str], packets: u32, flows: u32) -> Vec<Timing> {
        let disciplines: Vec<_> = disciplines.iter().map(|text| text.parse::<Spec>().unwrap().discipline).collect();
        standing(&disciplines, Standing { packets, flows }, 0.02).unwrap()
    }

    #[test]
    fn each_that_comes_leaves() {
        for timing in times(&["fifo", "lstf", "sjf", "fq", "wf2q_plus"], 100, 10) {
            assert!(timing.nanos.len() == ROUNDS && timing.nanos.iter().all(|nanos| *nanos > 0.0), "{timing:?}");
            assert_eq!(timing.passed.share(), 1.0);
            assert!(timing.passed.sent >= (ROUNDS * CHUNK) as u64);
        }
    }

    #[test]
    fn what_drops_is_not_waited_for() {
        assert!(times(&["codel target 1us interval 1us"], 1_000, 3)[0].passed.share() <= 1.0);
    }
}

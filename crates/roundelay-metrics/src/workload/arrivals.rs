//! Future arrivals of a workload: listed ones, and refills triggered by departures.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use roundelay::{Instant, Purpose, Seed};

use super::load::{NANO, Workload};

pub(super) struct Arrivals {
    /// (instant, flow), sorted in reverse: the next arrival is last.
    listed: Vec<(Instant, usize)>,
    /// Arrivals from refills, in any order.
    refills: Vec<(Instant, usize)>,
    sent: Vec<usize>,
    refilled: Vec<u64>,
    random: Pcg64,
}

impl Arrivals {
    pub(super) fn of(workload: &Workload) -> Self {
        let mut listed = Vec::new();
        for (flow, source) in workload.sources.iter().enumerate() {
            for nanos in &source.arrivals {
                listed.push((Instant::from_nanos(*nanos), flow));
            }
        }
        listed.sort_by_key(|(at, _)| *at);
        listed.reverse();
        let flows = workload.sources.len();
        let answers = Seed::new(workload.seed).derive(Purpose::Answers, 0);
        Self {
            listed,
            refills: Vec::new(),
            sent: vec![0; flows],
            refilled: vec![0; flows],
            random: Pcg64::seed_from_u64(answers.key()[0]),
        }
    }

    /// The next arrival, if at or before the time at which the link picks a packet.
    pub(super) fn take_until(&mut self, pick: Option<Instant>) -> Option<(Instant, usize)> {
        let refill = (0..self.refills.len()).min_by_key(|index| self.refills[*index].0);
        let refill_at = refill.map(|index| self.refills[index].0);
        let listed_at = self.listed.last().map(|(at, _)| *at);
        let at = [listed_at, refill_at].into_iter().flatten().min()?;
        if pick.is_some_and(|pick| pick < at) {
            return None;
        }
        match refill {
            Some(index) if refill_at == Some(at) => Some(self.refills.remove(index)),
            _ => self.listed.pop(),
        }
    }

    pub(super) fn next_length(&mut self, workload: &Workload, flow: usize) -> u32 {
        self.sent[flow] += 1;
        workload.sources[flow]
            .lengths
            .of(self.sent[flow] - 1, &mut self.random)
    }

    /// A packet of a flow has left at `start`; `left` packets of the flow wait.
    pub(super) fn served(&mut self, workload: &Workload, flow: usize, start: Instant, left: u64) {
        let Some(refill) = workload.sources[flow].refill else {
            return;
        };
        if left > refill.low || self.refills.iter().any(|(_, other)| *other == flow) {
            return;
        }
        let packets = refill.burst.min(refill.packets - self.refilled[flow]);
        self.refilled[flow] += packets;
        let at = Instant::from_picos(start.as_picos() + refill.after * NANO);
        for _ in 0..packets {
            self.refills.push((at, flow));
        }
    }
}

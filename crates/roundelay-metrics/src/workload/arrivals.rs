//! Future arrivals in a workload: listed ones, and refills that departures trigger.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use roundelay::{Instant, Purpose, Seed};

use super::load::{NANO, Source, Workload};

pub(super) struct Arrivals {
    /// (instant, flow), sorted in reverse: the next arrival is last.
    listed: Vec<(Instant, usize)>,
    /// Arrivals from refills.
    answers: Vec<(Instant, usize)>,
    sent: Vec<usize>,
    refilled: Vec<u64>,
    random: Pcg64,
}

impl Arrivals {
    pub(super) fn of(workload: &Workload) -> Self {
        let of_source = |(flow, source): (usize, &Source)| {
            source
                .arrivals
                .iter()
                .map(move |nanos| (Instant::from_nanos(*nanos), flow))
                .collect::<Vec<_>>()
        };
        let mut listed: Vec<_> = workload
            .sources
            .iter()
            .enumerate()
            .flat_map(of_source)
            .collect();
        listed.sort_by_key(|(at, _)| *at);
        listed.reverse();
        let flows = workload.sources.len();
        let answers = Seed::new(workload.seed).derive(Purpose::Answers, 0);
        Self {
            listed,
            answers: Vec::new(),
            sent: vec![0; flows],
            refilled: vec![0; flows],
            random: Pcg64::seed_from_u64(answers.key()[0]),
        }
    }

    /// The next arrival, if at or before the time at which the link picks a packet.
    pub(super) fn take_until(&mut self, pick: Option<Instant>) -> Option<(Instant, usize)> {
        let answer = (0..self.answers.len()).min_by_key(|index| self.answers[*index].0);
        let answer_at = answer.map(|index| self.answers[index].0);
        let at = [self.listed.last().map(|(at, _)| *at), answer_at]
            .into_iter()
            .flatten()
            .min()?;
        if pick.is_some_and(|pick| pick < at) {
            return None;
        }
        match answer {
            Some(index) if answer_at == Some(at) => Some(self.answers.remove(index)),
            _ => self.listed.pop(),
        }
    }

    pub(super) fn next_length(&mut self, workload: &Workload, flow: usize) -> u32 {
        self.sent[flow] += 1;
        workload.sources[flow]
            .lengths
            .of(self.sent[flow] - 1, &mut self.random)
    }

    /// A packet of a flow has left at `start`, and `left` packets of the flow still wait.
    pub(super) fn served(&mut self, workload: &Workload, flow: usize, start: Instant, left: u64) {
        let Some(refill) = workload.sources[flow].refill else {
            return;
        };
        if left > refill.low || self.answers.iter().any(|(_, other)| *other == flow) {
            return;
        }
        let packets = refill.burst.min(refill.packets - self.refilled[flow]);
        self.refilled[flow] += packets;
        let at = Instant::from_picos(start.as_picos() + refill.after * NANO);
        self.answers.extend((0..packets).map(|_| (at, flow)));
    }
}

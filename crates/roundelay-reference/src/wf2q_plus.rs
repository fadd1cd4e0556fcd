//! Exact WF2Q+ in rational numbers, with virtual time in steps as QFQ's authors define it.
//!
//! **Idea.** Each flow's head packet has a virtual start time S and finish time F, as if the flow
//! had its share of the link to itself. A flow is eligible once S <= V, and among the eligible
//! flows the one with the smallest F is served.
//!
//! **Source.** F. Checconi, P. Valente, L. Rizzo, "QFQ: Efficient Packet Scheduling with Tight
//! Bandwidth Distribution Guarantees", section 3.1, Eq. 2 and 3 (after J. C. R. Bennett and H.
//! Zhang, "Hierarchical Packet Fair Queueing Algorithms", 1997). Weights add up to at most 1,
//! because phi = weight / total.
//!
//! **Order of operations.**
//! - `enqueue`: append the packet. If the flow was idle, S = max(V, F) and F = S + len / phi. Then
//!   V = max(V, min S).
//! - `dequeue`: choose the eligible flow with the smallest F and take its head packet. V = V + len
//!   at once, because W counts a packet when it is taken, not during its transmission. If the flow
//!   still has packets, S = F and F = S + len / phi with the next packet's len. Then V =
//!   max(V, min S).
//! - `evict`: take a flow's newest packet. After the last one, the flow becomes idle with F = S, as
//!   if the packet had never arrived, but V stays. Then V = max(V, min S).
//!
//! The minimum is over the backlogged flows. Without any, V stays.
//!
//! **Ties.** Among equal F, the flow with the smaller number goes first.
//!
//! **Guarantee.**
//! - B-WFI <= 2 L_k + 2 phi_k L over any interval,
//! - B-WFI <= L_k + 2 phi_k L over the intervals that end when a packet of the flow has been sent,
//! - T-WFI <= (L_k / phi_k + 2 L) / R,
//!
//! where L_k is the flow's longest packet and L the longest packet of all flows. Section 5.1 prints
//! "(L_k + 2 phi_k) L" for exact time stamps. That is the second form with a misplaced bracket, but
//! it stands next to a definition whose intervals end anywhere. For such intervals the paper's
//! proof gives the first form: S_k(t1) <= V(t1) + L_k / phi_k for a flow that has just been served,
//! S_k(t2) >= V(t2) - L - L_k / phi_k for a flow about to be served, and W <= the growth of V plus
//! L. A test checks all three bounds, and it shows that B-WFI exceeds L_k + 2 phi_k L over
//! intervals that end anywhere.
//!
//! **Cost.** O(flows) per decision, and the numbers grow with the weights' common multiple, so this
//! is not for traffic.

use std::collections::VecDeque;

use num_bigint::BigInt;
use num_traits::Zero;
use roundelay::FlowId;

use crate::number::Rational;

/// The exact packet-by-packet reference that QFQ approximates.
#[derive(Debug, Clone)]
pub struct Wf2qPlus {
    virtual_time: Rational,
    flows: Vec<Flow>,
}

#[derive(Debug, Clone)]
struct Flow {
    /// Virtual time per byte: total / weight.
    byte_time: Rational,
    queue: VecDeque<u32>,
    start: Rational,
    finish: Rational,
}

/// A backlogged flow, as the next decision sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The flow.
    pub flow: FlowId,
    /// S: the head packet's virtual start time, in bytes.
    pub start: Rational,
    /// F: the head packet's virtual finish time, in bytes.
    pub finish: Rational,
    /// True if S <= V.
    pub eligible: bool,
}

impl Wf2qPlus {
    /// Flows 0, 1, ... with these weights, which share the whole link.
    ///
    /// # Panics
    /// If a weight is zero.
    pub fn new(weights: &[u32]) -> Self {
        Self::with_total(weights, sum_of(weights))
    }

    /// Flows 0, 1, ... with these weights out of `total`: phi = weight / total.
    ///
    /// # Panics
    /// If a weight is zero or the weights add up to more than `total`.
    pub fn with_total(weights: &[u32], total: u64) -> Self {
        assert!(sum_of(weights) <= total, "the shares add up to at most 1");
        let mut flows = Vec::new();
        for &weight in weights {
            assert!(weight > 0, "a weight of zero would never be served");
            flows.push(Flow {
                byte_time: Rational::new(BigInt::from(total), BigInt::from(weight)),
                queue: VecDeque::new(),
                start: Rational::zero(),
                finish: Rational::zero(),
            });
        }
        Self {
            virtual_time: Rational::zero(),
            flows,
        }
    }

    /// Appends a packet of `len` bytes.
    ///
    /// # Panics
    /// If the flow does not exist.
    pub fn enqueue(&mut self, flow: FlowId, len: u32) {
        let state = &mut self.flows[flow.index()];
        state.queue.push_back(len);
        if state.queue.len() == 1 {
            // Eq. 2 for a newly backlogged flow: S = max(V, F).
            state.start = state.finish.clone().max(self.virtual_time.clone());
            state.set_finish();
        }
        self.jump();
    }

    /// Removes the next packet in WF2Q+ order. Returns its flow and its length in bytes.
    pub fn dequeue(&mut self) -> Option<(FlowId, u32)> {
        let chosen = self.choose()?;
        Some((chosen, self.serve(chosen)?))
    }

    /// The flow that the next [`dequeue`](Self::dequeue) serves.
    pub fn choose(&self) -> Option<FlowId> {
        let mut chosen: Option<Candidate> = None;
        for candidate in self.candidates() {
            // Among equal F, the smaller flow number stays, because it comes first.
            let finishes_first = match &chosen {
                Some(chosen) => candidate.finish < chosen.finish,
                None => true,
            };
            if candidate.eligible && finishes_first {
                chosen = Some(candidate);
            }
        }
        Some(chosen?.flow)
    }

    /// Serves the given flow, even if another is next, so that the reference can follow another
    /// scheduler's choice. Returns the packet's length in bytes, or None if the flow is idle or
    /// does not exist.
    pub fn serve(&mut self, flow: FlowId) -> Option<u32> {
        let state = self.flows.get_mut(flow.index())?;
        let len = state.queue.pop_front()?;
        // Eq. 3: V grows by W, the service given.
        self.virtual_time += Rational::from_integer(BigInt::from(len));
        if !state.queue.is_empty() {
            // Eq. 2 for a flow that stays backlogged: S = F.
            state.start = state.finish.clone();
            state.set_finish();
        }
        self.jump();
        Some(len)
    }

    /// Removes a flow's newest packet, so that the reference can follow another scheduler's
    /// push-out. Returns its length in bytes, or None if the flow is idle or does not exist.
    pub fn evict(&mut self, flow: FlowId) -> Option<u32> {
        let state = self.flows.get_mut(flow.index())?;
        let len = state.queue.pop_back()?;
        if state.queue.is_empty() {
            state.finish = state.start.clone();
        }
        self.jump();
        Some(len)
    }

    /// The backlogged flows, in the order of their numbers.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (number, flow) in self.flows.iter().enumerate() {
            if !flow.queue.is_empty() {
                candidates.push(Candidate {
                    flow: FlowId(number as u32),
                    start: flow.start.clone(),
                    finish: flow.finish.clone(),
                    eligible: flow.start <= self.virtual_time,
                });
            }
        }
        candidates
    }

    /// V, in bytes.
    pub fn virtual_time(&self) -> &Rational {
        &self.virtual_time
    }

    /// The flow's share of the link, phi.
    ///
    /// # Panics
    /// If the flow does not exist.
    pub fn share(&self, flow: FlowId) -> Rational {
        self.flows[flow.index()].byte_time.recip()
    }

    /// How many packets wait in all flows.
    pub fn packets(&self) -> usize {
        self.flows.iter().map(|flow| flow.queue.len()).sum()
    }

    /// Eq. 3: V never lies before the starts of all backlogged flows, so at least one flow is
    /// eligible.
    fn jump(&mut self) {
        let backlogged = self.flows.iter().filter(|flow| !flow.queue.is_empty());
        let starts = backlogged.map(|flow| &flow.start);
        if let Some(earliest) = starts.min()
            && *earliest > self.virtual_time
        {
            self.virtual_time = earliest.clone();
        }
    }
}

fn sum_of(weights: &[u32]) -> u64 {
    weights.iter().copied().map(u64::from).sum()
}

impl Flow {
    /// Eq. 2: F = S + l / phi.
    fn set_finish(&mut self) {
        let head = self
            .queue
            .front()
            .copied()
            .expect("a backlogged flow has a head packet");
        self.finish = &self.start + &self.byte_time * Rational::from_integer(BigInt::from(head));
    }
}

#[cfg(test)]
mod tests {
    use num_traits::One;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use roundelay::Instant;

    use super::*;
    use crate::gps::GpsServer;
    use crate::number::Number;

    fn integer(value: u64) -> Rational {
        Rational::from_u64(value)
    }

    fn departures(reference: &mut Wf2qPlus) -> Vec<u32> {
        core::iter::from_fn(|| reference.dequeue())
            .map(|(flow, _)| flow.0)
            .collect()
    }

    #[test]
    fn a_heavy_flow_alternates_with_the_light_ones() {
        // The example of Bennett and Zhang: one flow has half the link, and ten flows have a
        // twentieth each. WFQ would serve ten packets of the first in a row.
        let mut reference = Wf2qPlus::new(&[10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        (0..11).for_each(|_| reference.enqueue(FlowId(0), 1));
        (1..11).for_each(|flow| reference.enqueue(FlowId(flow), 1));
        let mut order = departures(&mut reference);
        assert_eq!(order.pop(), Some(0));
        let (heavy, light): (Vec<u32>, Vec<u32>) =
            order.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
        assert_eq!((heavy, light), (vec![0; 10], (1..11).collect()));
    }

    #[test]
    fn time_stamps_follow_the_equations() {
        let mut reference = Wf2qPlus::with_total(&[1, 2], 4);
        reference.enqueue(FlowId(0), 100);
        reference.enqueue(FlowId(1), 100);
        reference.enqueue(FlowId(1), 300);
        let candidate = |flow, start, finish, eligible| Candidate {
            flow: FlowId(flow),
            start: integer(start),
            finish: integer(finish),
            eligible,
        };
        assert_eq!(
            reference.candidates(),
            [candidate(0, 0, 400, true), candidate(1, 0, 200, true)]
        );
        assert_eq!(reference.dequeue(), Some((FlowId(1), 100)));
        assert_eq!(reference.virtual_time(), &integer(100));
        assert_eq!(
            reference.candidates(),
            [candidate(0, 0, 400, true), candidate(1, 200, 800, false)]
        );
        assert_eq!(reference.dequeue(), Some((FlowId(0), 100)));
        assert_eq!(
            reference.virtual_time(),
            &integer(200),
            "W alone would do, and so would the jump"
        );
        assert_eq!(reference.dequeue(), Some((FlowId(1), 300)));
        assert_eq!((reference.packets(), reference.dequeue()), (0, None));
        assert_eq!(reference.virtual_time(), &integer(500));
        // Flow 0 finished in the past, flow 1 in the future. When flow 1 arrives alone, V must jump
        // to its start.
        reference.enqueue(FlowId(1), 1);
        assert_eq!(reference.virtual_time(), &integer(800));
        reference.enqueue(FlowId(0), 1);
        assert_eq!(
            reference.candidates(),
            [candidate(0, 800, 804, true), candidate(1, 800, 802, true)]
        );
        assert_eq!(
            reference.share(FlowId(1)),
            Rational::new(1.into(), 2.into())
        );
    }

    #[test]
    fn the_smaller_number_wins_a_tie() {
        let mut reference = Wf2qPlus::new(&[1, 1, 1]);
        [2, 0, 1]
            .into_iter()
            .for_each(|flow| reference.enqueue(FlowId(flow), 500));
        assert_eq!(departures(&mut reference), [0, 1, 2]);
    }

    #[test]
    fn an_evicted_packet_never_came() {
        let mut reference = Wf2qPlus::new(&[1, 1]);
        reference.enqueue(FlowId(0), 100);
        reference.enqueue(FlowId(0), 900);
        let without = reference.clone();
        reference.enqueue(FlowId(1), 100);
        assert_eq!(
            (reference.evict(FlowId(1)), reference.evict(FlowId(1))),
            (Some(100), None)
        );
        assert_eq!(reference.candidates(), without.candidates());
        reference.enqueue(FlowId(1), 700);
        assert_eq!(
            reference.candidates()[1].finish,
            integer(1_400),
            "not 200 later"
        );
        assert_eq!(reference.evict(FlowId(0)), Some(900));
        assert_eq!(departures(&mut reference), [0, 1]);
    }

    #[test]
    fn it_follows_anothers_choice() {
        let mut reference = Wf2qPlus::new(&[1, 1]);
        reference.enqueue(FlowId(0), 100);
        reference.enqueue(FlowId(1), 100);
        assert_eq!(reference.choose(), Some(FlowId(0)));
        assert_eq!(
            (
                reference.serve(FlowId(1)),
                reference.serve(FlowId(1)),
                reference.serve(FlowId(7))
            ),
            (Some(100), None, None)
        );
        assert_eq!(reference.choose(), Some(FlowId(0)));
    }

    /// Who chooses the next flow: the reference itself, or a discipline that must break its bounds.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Discipline {
        Wf2qPlus,
        /// The next backlogged flow in a circle, whatever its weight.
        RoundRobin,
        /// The longest queue, because some disciplines let a burst through.
        LongestQueue,
    }

    /// A link that sends one byte per tick for a discipline, and each flow's worst B-WFI (Eq. 7)
    /// bit by bit. W and W_k grow evenly during a transmission, and a flow is backlogged until its
    /// last packet has left.
    struct Link {
        reference: Wf2qPlus,
        queued: Vec<usize>,
        /// Packets that have not left: the arrival, and the flow's bytes just after it.
        waiting: Vec<VecDeque<(u64, u64)>>,
        /// Bytes that have not left.
        backlog: Vec<u64>,
        /// The flow, the packet's length, and the end of its transmission.
        sending: Option<(usize, u64, u64)>,
        now: u64,
        /// phi_k W - W_k, and its minimum in the present backlogged period.
        behind: Vec<(Rational, Option<Rational>)>,
        /// Over all intervals.
        worst: Vec<Rational>,
        /// Over the intervals that end when a packet of the flow has been sent.
        worst_completed: Vec<Rational>,
        /// T-WFI (Eq. 11) in ticks.
        worst_time: Vec<Rational>,
        turn: usize,
    }

    impl Link {
        fn new(weights: &[u32]) -> Self {
            let flows = weights.len();
            Self {
                reference: Wf2qPlus::new(weights),
                queued: vec![0; flows],
                waiting: vec![VecDeque::new(); flows],
                backlog: vec![0; flows],
                sending: None,
                now: 0,
                behind: vec![(Rational::zero(), None); flows],
                worst: vec![Rational::zero(); flows],
                worst_completed: vec![Rational::zero(); flows],
                worst_time: vec![Rational::zero(); flows],
                turn: 0,
            }
        }

        fn arrive(&mut self, flow: usize, len: u32) {
            let (behind, lowest) = &mut self.behind[flow];
            lowest.get_or_insert_with(|| behind.clone());
            self.queued[flow] += 1;
            self.backlog[flow] += u64::from(len);
            self.waiting[flow].push_back((self.now, self.backlog[flow]));
            self.reference.enqueue(FlowId(flow as u32), len);
        }

        /// Sends until `until`, and takes a new packet after each departure.
        fn run(&mut self, until: u64, discipline: Discipline) {
            while self.now < until {
                let Some((flow, len, end)) = self.sending.or_else(|| self.take(discipline)) else {
                    self.now = until;
                    return;
                };
                let step = end.min(until);
                self.count(flow, step - self.now);
                self.now = step;
                self.sending = (step < end).then_some((flow, len, end));
                if step == end {
                    self.complete(flow, len);
                }
            }
        }

        fn take(&mut self, discipline: Discipline) -> Option<(usize, u64, u64)> {
            let flows = self.queued.len();
            let backlogged = |flow: &usize| self.queued[*flow] > 0;
            let flow = match discipline {
                Discipline::Wf2qPlus => self.reference.choose()?.index(),
                Discipline::RoundRobin => (1..=flows)
                    .map(|ahead| (self.turn + ahead) % flows)
                    .find(backlogged)?,
                Discipline::LongestQueue => (0..flows)
                    .filter(backlogged)
                    .max_by_key(|&flow| self.queued[flow])?,
            };
            self.turn = flow;
            self.queued[flow] -= 1;
            let len = self.reference.serve(FlowId(flow as u32))?;
            Some((flow, len.into(), self.now + u64::from(len)))
        }

        fn quotients(&self, longest: &[u32]) -> [f64; 4] {
            let most = u64::from(longest.iter().copied().max().unwrap_or(0));
            let mut quotients = [0.0f64; 4];
            for (flow, &len) in longest.iter().enumerate() {
                let share = self.reference.share(FlowId(flow as u32));
                let tight = integer(len.into()) + &share * integer(2 * most);
                let wide = tight.clone() + integer(len.into());
                let any = &self.worst[flow];
                let completed = &self.worst_completed[flow];
                let time = &self.worst_time[flow] / (&tight / share);
                let of = [any / wide, any / &tight, completed / &tight, time]
                    .map(|quotient| quotient.approximate());
                quotients = [0, 1, 2, 3].map(|at| quotients[at].max(of[at]));
            }
            quotients
        }

        /// Counts a packet of the flow that has been sent.
        fn complete(&mut self, flow: usize, len: u64) {
            let (behind, lowest) = &mut self.behind[flow];
            if let Some(lowest) = lowest {
                self.worst_completed[flow] = self.worst_completed[flow]
                    .clone()
                    .max(behind.clone() - lowest.clone());
            }
            if self.queued[flow] == 0 {
                self.behind[flow].1 = None;
            }
            let (arrival, backlog) = self.waiting[flow]
                .pop_front()
                .expect("the packet has arrived");
            let due = integer(backlog) / self.reference.share(FlowId(flow as u32));
            self.worst_time[flow] = self.worst_time[flow]
                .clone()
                .max(integer(self.now - arrival) - due);
            self.backlog[flow] -= len;
        }

        /// Counts `bytes` as they leave the link in a packet of the flow `served`.
        fn count(&mut self, served: usize, bytes: u64) {
            for flow in 0..self.behind.len() {
                let (behind, lowest) = &mut self.behind[flow];
                *behind += self.reference.share(FlowId(flow as u32)) * integer(bytes);
                if flow == served {
                    *behind -= integer(bytes);
                }
                let Some(lowest) = lowest else { continue };
                self.worst[flow] = self.worst[flow]
                    .clone()
                    .max(behind.clone() - lowest.clone());
                *lowest = lowest.clone().min(behind.clone());
            }
        }
    }

    const LENGTHS: [u32; 3] = [1_500, 600, 300];

    /// Runs a random workload and returns four quotients, each the largest ratio between a measured
    /// value and its bound. B-WFI over all intervals is divided by 2 L_k + 2 phi_k L, then by L_k +
    /// 2 phi_k L. B-WFI over intervals that end with a packet of the flow is divided by L_k + 2
    /// phi_k L, and T-WFI by L_k / phi_k + 2 L.
    fn worst_of_bounds(seed: u64, discipline: Discipline) -> [f64; 4] {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let weights: Vec<u32> = (0..random.random_range(2..12))
            .map(|_| 1 << random.random_range(0..6))
            .collect();
        let longest: Vec<u32> = weights
            .iter()
            .map(|_| LENGTHS[random.random_range(0..3)])
            .collect();
        let mut link = Link::new(&weights);
        for _ in 0..150 {
            let flow = random.random_range(0..weights.len());
            // Arrivals come in bursts, so flows start and end their backlog at any moment of a
            // transmission.
            for _ in 0..random.random_range(1..8) {
                let len = if random.random_bool(0.5) {
                    longest[flow]
                } else {
                    random.random_range(40..=longest[flow])
                };
                link.arrive(flow, len);
            }
            let until = link.now + random.random_range(0..5_000);
            link.run(until, discipline);
        }
        link.run(link.now + 3_000_000, discipline);
        link.quotients(&longest)
    }

    fn largest(discipline: Discipline) -> [f64; 4] {
        let join = |one: [f64; 4], two: [f64; 4]| [0, 1, 2, 3].map(|at| one[at].max(two[at]));
        (0..60)
            .map(|seed| worst_of_bounds(seed, discipline))
            .fold([0.0; 4], join)
    }

    #[test]
    fn no_flow_falls_further_behind_than_proven_and_blind_disciplines_do() {
        let [anywhere, printed, completed, time] = largest(Discipline::Wf2qPlus);
        assert!(anywhere <= 1.0, "2 L_k + 2 phi_k L is exceeded: {anywhere}");
        assert!(
            completed <= 1.0,
            "L_k + 2 phi_k L is exceeded where a packet completes: {completed}"
        );
        assert!(time <= 1.0, "L_k / phi_k + 2 L is exceeded: {time}");
        assert!(
            printed > 1.0,
            "L_k + 2 phi_k L now seems to hold for all intervals: {printed}"
        );
        assert!(
            anywhere.min(completed).min(time) > 0.5,
            "the workloads do not come near the bounds: {anywhere}, {completed}, {time}"
        );
        for blind in [Discipline::RoundRobin, Discipline::LongestQueue] {
            let [anywhere, _, completed, time] = largest(blind);
            assert!(
                anywhere.min(completed).min(time) > 1.0,
                "{blind:?} keeps a bound that it should not: {anywhere}, {completed}, {time}"
            );
        }
    }

    #[test]
    fn backlogged_flows_finish_at_most_a_packet_after_the_fluid_and_never_start_before_it() {
        // With all flows backlogged from the start, WF2Q+ is WF2Q. No packet leaves later than in
        // GPS by more than a packet's transmission (Parekh and Gallager), and none starts before
        // its start in GPS (Bennett and Zhang).
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let weights = [5, 1, 2, 8, 1];
        let mut reference = Wf2qPlus::new(&weights);
        let mut gps = GpsServer::with_rate(Rational::one());
        weights
            .iter()
            .enumerate()
            .for_each(|(flow, &weight)| gps.set_weight(FlowId(flow as u32), weight));
        for flow in (0..5).map(FlowId) {
            for _ in 0..20 * weights[flow.index()] {
                let len = random.random_range(40..1_500);
                reference.enqueue(flow, len);
                gps.arrive(Instant::ZERO, flow, len.into());
            }
        }
        let mut sent = [0u64; 5];
        let mut now = 0;
        while reference.candidates().len() == 5 {
            let (flow, len) = reference.dequeue().expect("all flows are backlogged");
            assert!(
                gps.served(flow) >= integer(sent[flow.index()]),
                "the fluid server has begun this packet"
            );
            sent[flow.index()] += u64::from(len);
            now += u64::from(len);
            gps.advance(Instant::from_picos(now));
            for other in (0..5).map(FlowId) {
                assert!(
                    gps.served(other) - integer(sent[other.index()]) <= integer(1_500),
                    "no flow lags by more than a packet"
                );
            }
        }
        assert!(now > 100_000, "the flows stayed backlogged for a while");
    }
}

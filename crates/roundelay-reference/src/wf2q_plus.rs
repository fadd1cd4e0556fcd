//! Exact WF2Q+ with the stepwise virtual time of QFQ's authors, in rational numbers.
//!
//! **Idea.** Each flow's head packet has a virtual start time S and finish time F, as if the flow alone had its share of the link. A flow
//! is eligible once S <= V; among the eligible ones the smallest F is served.
//!
//! **Source.** F. Checconi, L. Rizzo, P. Valente, "QFQ: Efficient Packet Scheduling with Tight Guarantees", section 3.1, Eq. 2 and 3
//! (after J. C. R. Bennett and H. Zhang, "Hierarchical Packet Fair Queueing Algorithms", 1997), with weights that add up to at most 1:
//! phi = weight / total.
//!
//! **Order of operations.**
//! - `enqueue`: append the packet. If the flow was idle, S = max(V, F) and F = S + len / phi. Then V = max(V, min S).
//! - `dequeue`: choose the eligible flow with the smallest F and take its head packet, V = V + len at once (W counts a packet when it is
//!   taken, not while it is sent). If the flow still has packets, S = F and F = S + len of the next / phi. Then V = max(V, min S).
//! - `evict`: take a flow's newest packet. If it was the only one, the flow becomes idle with F = S, as if the packet had never come; V
//!   stays. Then V = max(V, min S).
//!
//! The minimum is over the backlogged flows; without any, V stays.
//!
//! **Ties.** Equal F: the smaller flow number.
//!
//! **Guarantee.** B-WFI <= L_k + 2 * phi_k * L, L_k and L being the longest packets of the flow and of all (what section 5.1 says about
//! exact time stamps, with its misprint put right); a test holds it to that.
//!
//! **Cost.** O(flows) per decision, and the numbers grow with the weights' common multiple. Not for traffic.

use core::cmp::Ordering;
use std::collections::VecDeque;

use num_bigint::BigInt;
use num_traits::Zero;
use roundelay::FlowId;

use crate::number::{Number, Rational};

/// The exact packet-by-packet reference that QFQ approximates.
#[derive(Debug, Clone)]
pub struct Wf2qPlus {
    virtual_time: Rational,
    flows: Vec<Flow>,
}

#[derive(Debug, Clone)]
struct Flow {
    /// Virtual time that a byte takes: total / weight.
    byte_time: Rational,
    queue: VecDeque<u32>,
    start: Rational,
    finish: Rational,
}

/// A backlogged flow as the next decision sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The flow.
    pub flow: FlowId,
    /// S: the virtual start time of its head packet, in bytes.
    pub start: Rational,
    /// F: the virtual finish time of its head packet, in bytes.
    pub finish: Rational,
    /// Whether S <= V.
    pub eligible: bool,
}

impl Wf2qPlus {
    /// Flows 0, 1, ... with these weights, which share the whole link.
    ///
    /// # Panics
    /// If a weight is zero.
    pub fn new(weights: &[u32]) -> Self {
        Self::with_total(weights, weights.iter().copied().map(u64::from).sum())
    }

    /// Flows 0, 1, ... with these weights out of `total`: phi = weight / total.
    ///
    /// # Panics
    /// If a weight is zero or the weights add up to more than `total`.
    pub fn with_total(weights: &[u32], total: u64) -> Self {
        assert!(weights.iter().copied().map(u64::from).sum::<u64>() <= total, "the shares add up to at most 1");
        let flow = |&weight: &u32| {
            assert!(weight > 0, "a weight of zero would never be served");
            Flow {
                byte_time: Rational::new(BigInt::from(total), BigInt::from(weight)),
                queue: VecDeque::new(),
                start: Rational::zero(),
                finish: Rational::zero(),
            }
        };
        Self { virtual_time: Rational::zero(), flows: weights.iter().map(flow).collect() }
    }

    /// Appends a packet of `len` bytes.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn enqueue(&mut self, flow: FlowId, len: u32) {
        let state = &mut self.flows[flow.index()];
        state.queue.push_back(len);
        if state.queue.len() == 1 {
            state.start = state.finish.clone().max(self.virtual_time.clone());
            state.set_finish();
        }
        self.jump();
    }

    /// Takes the packet that WF2Q+ sends next: its flow and its length in bytes.
    pub fn dequeue(&mut self) -> Option<(FlowId, u32)> {
        let chosen = self.choose()?;
        Some((chosen, self.serve(chosen)?))
    }

    /// The flow that [`dequeue`](Self::dequeue) would serve.
    pub fn choose(&self) -> Option<FlowId> {
        let eligible = self.candidates().into_iter().filter(|candidate| candidate.eligible);
        let order = |a: &Candidate, b: &Candidate| a.finish.cmp(&b.finish).then(a.flow.cmp(&b.flow));
        eligible.min_by(order).map(|candidate| candidate.flow)
    }

    /// Serves this flow, whoever's turn it is, so that the reference can follow another's choice. Returns the packet's length in bytes, or
    /// nothing if the flow is idle.
    pub fn serve(&mut self, flow: FlowId) -> Option<u32> {
        let state = self.flows.get_mut(flow.index())?;
        let len = state.queue.pop_front()?;
        self.virtual_time += Rational::from_integer(BigInt::from(len));
        if !state.queue.is_empty() {
            state.start = state.finish.clone();
            state.set_finish();
        }
        self.jump();
        Some(len)
    }

    /// Takes the newest packet of a flow, so that the reference can follow a push-out. Returns its length in bytes, or nothing if the flow
    /// is idle.
    pub fn evict(&mut self, flow: FlowId) -> Option<u32> {
        let state = self.flows.get_mut(flow.index())?;
        let len = state.queue.pop_back()?;
        if state.queue.is_empty() {
            state.finish = state.start.clone();
        }
        self.jump();
        Some(len)
    }

    /// The backlogged flows in the order of their numbers.
    pub fn candidates(&self) -> Vec<Candidate> {
        let candidate = |(number, flow): (usize, &Flow)| Candidate {
            flow: FlowId(number as u32),
            start: flow.start.clone(),
            finish: flow.finish.clone(),
            eligible: flow.start.cmp(&self.virtual_time) != Ordering::Greater,
        };
        self.flows.iter().enumerate().filter(|(_, flow)| !flow.queue.is_empty()).map(candidate).collect()
    }

    /// V, in bytes.
    pub fn virtual_time(&self) -> &Rational {
        &self.virtual_time
    }

    /// The flow's share of the link, phi.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn share(&self, flow: FlowId) -> Rational {
        self.flows[flow.index()].byte_time.recip()
    }

    /// Packets that wait in all flows.
    pub fn packets(&self) -> usize {
        self.flows.iter().map(|flow| flow.queue.len()).sum()
    }

    /// Eq. 3: V is never before all the starts of the backlogged flows, so that one of them is eligible.
    fn jump(&mut self) {
        let backlogged = self.flows.iter().filter(|flow| !flow.queue.is_empty());
        if let Some(earliest) = backlogged.map(|flow| &flow.start).min()
            && *earliest > self.virtual_time
        {
            self.virtual_time = earliest.clone();
        }
    }
}

impl Flow {
    /// Eq. 2: F = S + l / phi.
    fn set_finish(&mut self) {
        let head = self.queue.front().copied().expect("a backlogged flow has a head packet");
        self.finish = &self.start + &self.byte_time * Rational::from_integer(BigInt::from(head));
    }
}

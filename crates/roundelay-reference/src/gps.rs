//! Generalized Processor Sharing: the fluid server that fair queueing approximates.
//!
//! **Idea.** The link serves all backlogged flows at once, each in proportion to its weight. Virtual time V grows at the speed
//! R / (sum of the weights of the backlogged flows), so it tells how many bytes each backlogged flow gets per unit of weight: a flow of
//! weight w with q bytes of backlog empties when V has grown by q / w, whatever the others do. A heap of flows by the virtual time at
//! which they empty is therefore all that has to be kept in order.
//!
//! **Source.** A. K. Parekh and R. G. Gallager, "A Generalized Processor Sharing Approach to Flow Control in Integrated Services
//! Networks: The Single-Node Case", IEEE/ACM Transactions on Networking 1(3), 1993; virtual time as in its section on PGPS.
//!
//! | symbol | here | unit |
//! |---|---|---|
//! | r | `rate` | bytes per picosecond |
//! | phi_i | `weight` | share per share |
//! | V(t) | `virtual_time` | bytes per unit of weight |
//! | W_i(0, t) | [`GpsServer::served`] | bytes |
//! | Q_i(t) | [`GpsServer::backlog`] | bytes |
//!
//! **Ties.** Flows that empty at the same virtual time leave in the order of their numbers; this changes nothing that can be observed.
//!
//! **Cost.** O(log flows) per event, amortised. A flow has one valid entry in the heap. Where its backlog grows the entry stays and is
//! found too early when it is reached; where it shrinks a new entry is made and the old one, known by its ticket, is dropped when it is
//! reached or when such entries outnumber the valid ones.
//!
//! **Precision.** With [`Rational`](crate::Rational) everything is exact. With `f64` three things keep the error from adding up: V starts
//! again from zero whenever the server empties; V is summed with compensation (Kahan), so that its error is one rounding, not one
//! rounding per event; and the virtual time at which a flow empties is calculated from the bytes it has received since it became backlogged,
//! not from the previous such time. So the backlog and the service of a flow of weight w are wrong by at most about
//! 4 * w * V * 2^-53 <= 2^-51 * B * w / W, B being the bytes carried in the present busy period and W the smallest sum of weights in it:
//! below 10^-6 bytes for B up to 10^9, and 2 thousandths of a byte after an hour of 10 Gbit/s without a pause.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use roundelay::{FlowId, Instant};

use crate::number::Number;

const PICOS_PER_SECOND: u64 = 1_000_000_000_000;

/// The fluid GPS server on a link of constant rate.
///
/// Events come in the order of time; an event that claims an earlier time than the last one happens at the time of the last one.
#[derive(Debug, Clone)]
pub struct GpsServer<N> {
    /// Bytes per picosecond.
    rate: N,
    /// Everything below is true at this instant.
    clock: Instant,
    /// V: bytes per unit of weight since the server was last empty.
    virtual_time: N,
    /// What rounding has added to `virtual_time` so far; zero for exact numbers.
    rounding: N,
    /// Of the backlogged flows.
    total_weight: u64,
    backlogged: usize,
    flows: Vec<Fluid<N>>,
    emptying: BinaryHeap<Emptying<N>>,
}

#[derive(Debug, Clone)]
struct Fluid<N> {
    weight: u32,
    /// Of the valid entry in the heap; changes when that entry becomes invalid.
    ticket: u32,
    backlogged: bool,
    /// V when the flow became backlogged (or changed its weight).
    since: N,
    /// Bytes received from then on, plus the backlog then, minus what was withdrawn.
    queued: N,
    /// since + queued / weight.
    empties_at: N,
    /// Bytes arrived minus bytes withdrawn since the beginning.
    accepted: N,
}

impl<N: Number> Fluid<N> {
    fn new() -> Self {
        let zero = N::zero;
        Self {
            weight: 1,
            ticket: 0,
            backlogged: false,
            since: zero(),
            queued: zero(),
            empties_at: zero(),
            accepted: zero(),
        }
    }

    fn set_queued(&mut self, since: N, queued: N) {
        self.empties_at = since.clone() + queued.clone() / N::from_integer(self.weight.into());
        self.since = since;
        self.queued = queued;
    }
}

/// A flow's place in the heap: it empties at this virtual time or later.
#[derive(Debug, Clone)]
struct Emptying<N> {
    at: N,
    flow: u32,
    ticket: u32,
}

impl<N: Number> Ord for Emptying<N> {
    /// The earliest is the greatest, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.partial_cmp(&self.at).expect("virtual times are numbers").then_with(|| other.flow.cmp(&self.flow))
    }
}

impl<N: Number> PartialOrd for Emptying<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<N: Number> PartialEq for Emptying<N> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<N: Number> Eq for Emptying<N> {}

impl<N: Number> GpsServer<N> {
    /// An empty server on a link of `bits_per_second`, its clock at zero.
    ///
    /// # Panics
    /// If the rate is zero.
    pub fn new(bits_per_second: u64) -> Self {
        Self::with_rate(N::from_integer(bits_per_second) / (N::from_integer(8) * N::from_integer(PICOS_PER_SECOND)))
    }

    /// An empty server on a link of `bytes_per_picosecond`, its clock at zero.
    ///
    /// # Panics
    /// If the rate is not above zero.
    pub fn with_rate(bytes_per_picosecond: N) -> Self {
        assert!(bytes_per_picosecond > N::zero(), "the link carries something");
        Self {
            rate: bytes_per_picosecond,
            clock: Instant::ZERO,
            virtual_time: N::zero(),
            rounding: N::zero(),
            total_weight: 0,
            backlogged: 0,
            flows: Vec::new(),
            emptying: BinaryHeap::new(),
        }
    }

    /// Gives a flow another weight from the time of the last event on. Flows weigh 1 until they are told otherwise.
    ///
    /// # Panics
    /// If the weight is zero.
    pub fn set_weight(&mut self, flow: FlowId, weight: u32) {
        assert!(weight > 0, "a weight of zero would never be served");
        let backlog = self.backlog(flow);
        let fluid = Self::fluid(&mut self.flows, flow);
        let before = core::mem::replace(&mut fluid.weight, weight);
        if fluid.backlogged {
            fluid.set_queued(self.virtual_time.clone(), backlog);
            self.total_weight = self.total_weight - u64::from(before) + u64::from(weight);
            self.file(flow);
        }
    }

    /// Lets `bytes` of fluid arrive at a flow at `now`.
    pub fn arrive(&mut self, now: Instant, flow: FlowId, bytes: u64) {
        self.advance(now);
        if bytes == 0 {
            return;
        }
        let bytes = N::from_integer(bytes);
        let fluid = Self::fluid(&mut self.flows, flow);
        fluid.accepted = fluid.accepted.clone() + bytes.clone();
        if fluid.backlogged {
            // Its entry in the heap is now too early, which is found out when it is reached.
            fluid.set_queued(fluid.since.clone(), fluid.queued.clone() + bytes);
            return;
        }
        fluid.backlogged = true;
        fluid.set_queued(self.virtual_time.clone(), bytes);
        self.total_weight += u64::from(fluid.weight);
        self.backlogged += 1;
        self.file(flow);
    }

    /// Serves up to `now`. Flows that empty on the way leave in order, and the others speed up from there on.
    pub fn advance(&mut self, now: Instant) {
        let mut work = N::from_integer(now.since(self.clock).as_picos()) * self.rate.clone();
        self.clock = self.clock.max(now);
        while let Some((flow, at)) = self.next_to_empty() {
            let total = N::from_integer(self.total_weight);
            let needed = (at.clone() - self.virtual_time.clone() + self.rounding.clone()) * total.clone();
            if needed > work {
                self.add_to_virtual_time(work / total);
                return;
            }
            // Rounding may have put `at` a little before V.
            if needed > N::zero() {
                work = work - needed;
            }
            self.virtual_time = at;
            self.rounding = N::zero();
            self.leave(flow);
        }
    }

    /// Takes up to `bytes` of fluid that has not been served back from a flow, as when the real system pushed a packet out. Returns how
    /// much could be taken back: less than `bytes` if the fluid server had served part of it already.
    pub fn withdraw(&mut self, now: Instant, flow: FlowId, bytes: u64) -> N {
        self.advance(now);
        let backlog = self.backlog(flow);
        let bytes = N::from_integer(bytes);
        let all = bytes >= backlog;
        let taken = if all { backlog } else { bytes };
        if taken > N::zero() {
            let fluid = Self::fluid(&mut self.flows, flow);
            fluid.accepted = fluid.accepted.clone() - taken.clone();
            if all {
                self.leave(flow);
            } else {
                fluid.set_queued(fluid.since.clone(), fluid.queued.clone() - taken.clone());
                self.file(flow);
            }
        }
        taken
    }

    /// Bytes of fluid that the flow has been served since the beginning, up to the time of the last event.
    pub fn served(&self, flow: FlowId) -> N {
        match self.flows.get(flow.index()) {
            Some(fluid) => fluid.accepted.clone() - self.backlog(flow),
            None => N::zero(),
        }
    }

    /// Bytes of fluid that wait, at the time of the last event.
    pub fn backlog(&self, flow: FlowId) -> N {
        let Some(fluid) = self.flows.get(flow.index()).filter(|fluid| fluid.backlogged) else {
            return N::zero();
        };
        let left = fluid.empties_at.clone() - self.virtual_time.clone() + self.rounding.clone();
        if left <= N::zero() {
            return N::zero();
        }
        let bytes = left * N::from_integer(fluid.weight.into());
        // Rounding must not make a backlog out of nothing.
        if bytes > fluid.queued { fluid.queued.clone() } else { bytes }
    }

    /// Whether nothing waits in any flow, at the time of the last event.
    pub fn is_idle(&self) -> bool {
        self.backlogged == 0
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        self.clock
    }

    /// The sum of the weights of the flows that are backlogged, at the time of the last event.
    pub fn backlogged_weight(&self) -> u64 {
        self.total_weight
    }

    fn fluid(flows: &mut Vec<Fluid<N>>, flow: FlowId) -> &mut Fluid<N> {
        if flow.index() >= flows.len() {
            flows.resize_with(flow.index() + 1, Fluid::new);
        }
        &mut flows[flow.index()]
    }

    /// Kahan's compensated sum: `rounding` is what `virtual_time` has too much.
    fn add_to_virtual_time(&mut self, span: N) {
        let wanted = span - self.rounding.clone();
        let sum = self.virtual_time.clone() + wanted.clone();
        self.rounding = (sum.clone() - self.virtual_time.clone()) - wanted;
        self.virtual_time = sum;
    }

    /// Makes a new entry in the heap for a backlogged flow and invalidates the one it had.
    fn file(&mut self, flow: FlowId) {
        let fluid = &mut self.flows[flow.index()];
        fluid.ticket = fluid.ticket.wrapping_add(1);
        self.emptying.push(Emptying { at: fluid.empties_at.clone(), flow: flow.0, ticket: fluid.ticket });
        if self.emptying.len() > 4 * self.backlogged + 64 {
            let flows = &self.flows;
            self.emptying.retain(|entry| flows[entry.flow as usize].ticket == entry.ticket);
        }
    }

    /// The flow that empties next and when, after putting the top of the heap right.
    fn next_to_empty(&mut self) -> Option<(FlowId, N)> {
        while let Some(mut top) = self.emptying.peek_mut() {
            let fluid = &self.flows[top.flow as usize];
            if fluid.ticket != top.ticket {
                std::collections::binary_heap::PeekMut::pop(top);
            } else if fluid.empties_at == top.at {
                return Some((FlowId(top.flow), fluid.empties_at.clone()));
            } else {
                top.at = fluid.empties_at.clone();
            }
        }
        None
    }

    /// A flow has become empty. When it was the last one, virtual time starts again.
    fn leave(&mut self, flow: FlowId) {
        let fluid = &mut self.flows[flow.index()];
        fluid.backlogged = false;
        fluid.ticket = fluid.ticket.wrapping_add(1);
        self.total_weight -= u64::from(fluid.weight);
        self.backlogged -= 1;
        if self.backlogged == 0 {
            self.virtual_time = N::zero();
            self.rounding = N::zero();
            self.emptying.clear();
        }
    }
}

//! Members of QFQ+ aggregates, and the DRR ring of each aggregate.

use alloc::vec::Vec;

use super::{Flow, QfqPlus};
use crate::flow_config::FlowConfig;
use crate::mechanisms::aggregates::FlowKind;
use crate::pool::Storage;

/// Flows and their aggregates. Every change of members ends the service in progress.
impl<T, P: Storage<T>> QfqPlus<T, P> {
    #[inline]
    pub(super) fn is_known(&self, number: usize) -> bool {
        self.flows.get(number).is_some_and(|flow| flow.weight > 0)
    }

    #[cold]
    pub(super) fn join(&mut self, number: usize, config: FlowConfig) {
        if number >= self.flows.len() {
            self.flows.resize(number + 1, Flow::UNKNOWN);
        }
        let flow = &mut self.flows[number];
        (flow.weight, flow.shorter_than) = (config.weight as u16, config.max_packet_len + 1);
        let kind = flow.kind();
        self.enter(number, kind);
    }

    pub(super) fn forget(&mut self, number: usize) {
        self.leave(number);
        self.flows[number] = Flow::UNKNOWN;
    }

    /// Makes a flow, backlogged or not, a member of an aggregate of this kind.
    pub(super) fn enter(&mut self, number: usize, kind: FlowKind) {
        self.end_service();
        let flow = &mut self.flows[number];
        flow.aggregate = self.aggregates.enter(kind, self.config.aggregate);
        if !flow.queue.is_empty() {
            self.join_ring(number);
        }
    }

    /// Takes a flow, backlogged or not, out of its aggregate.
    pub(super) fn leave(&mut self, number: usize) {
        self.end_service();
        let index = self.flows[number].aggregate;
        if !self.flows[number].queue.is_empty() {
            self.leave_ring(number);
            self.withdraw_if_idle(index);
        }
        self.aggregates.leave(index, self.config.aggregate);
    }

    pub(super) fn move_to(&mut self, number: usize, kind: FlowKind) {
        if self.aggregates.at(self.flows[number].aggregate).kind() != kind {
            self.leave(number);
            self.enter(number, kind);
        }
    }

    /// Puts a flow into an aggregate of its kind as far as its packets allow, because packets
    /// accepted under a larger limit need longer turns.
    #[cold]
    pub(super) fn settle(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.moves = false;
        if flow.leaves && flow.queue.is_empty() {
            return self.forget(number);
        }
        let longest = if flow.longer > 0 {
            self.aggregates.at(flow.aggregate).kind().max_packet_len
        } else {
            0
        };
        let max_packet_len = longest.max(flow.kind().max_packet_len);
        let kind = FlowKind {
            max_packet_len,
            ..flow.kind()
        };
        self.move_to(number, kind);
    }

    /// After M has changed, aggregates above the new limit lose flows. Aggregates below the limit
    /// take new flows as these come.
    pub(super) fn fit_aggregates(&mut self) {
        for number in (0..self.flows.len())
            .filter(|number| self.flows[*number].weight > 0)
            .collect::<Vec<_>>()
        {
            let index = self.flows[number].aggregate;
            self.aggregates.resize(index, 0, self.config.aggregate);
            let aggregate = self.aggregates.at(index);
            let members = aggregate.members();
            let kind = aggregate.kind();
            if members > kind.capacity(self.config.aggregate) {
                self.leave(number);
                self.enter(number, kind);
            }
        }
    }

    /// An aggregate has lost its last packet to a push-out.
    pub(super) fn withdraw_if_idle(&mut self, index: u32) {
        if !self.aggregates.at(index).is_backlogged() {
            self.aggregates.withdraw(index);
        }
    }
}

/// DRR in an aggregate.
impl<T, P: Storage<T>> QfqPlus<T, P> {
    /// A flow becomes backlogged and goes behind the others.
    #[inline]
    pub(super) fn join_ring(&mut self, number: usize) {
        let index = self.flows[number].aggregate;
        let aggregate = self.aggregates.at_mut(index);
        self.flows[number].deficit = aggregate.kind().max_packet_len;
        let own = number as u32;
        if let Some(next) = aggregate.turn() {
            let previous = core::mem::replace(&mut self.flows[next as usize].previous, own);
            self.flows[previous as usize].next = own;
            (self.flows[number].next, self.flows[number].previous) = (next, previous);
        } else {
            aggregate.set_turn(Some(own));
            (self.flows[number].next, self.flows[number].previous) = (own, own);
            self.aggregates.activate(index);
        }
    }

    /// A flow is no longer backlogged. The caller tells the groups if no other flow is.
    #[inline]
    pub(super) fn leave_ring(&mut self, number: usize) {
        let Flow {
            next,
            previous,
            aggregate,
            ..
        } = self.flows[number];
        let aggregate = self.aggregates.at_mut(aggregate);
        let own = number as u32;
        if next == own {
            return aggregate.set_turn(None);
        }
        if aggregate.turn() == Some(own) {
            aggregate.set_turn(Some(next));
        }
        self.flows[previous as usize].next = next;
        self.flows[next as usize].previous = previous;
    }
}

//! Invariants of QFQ+, checked after each operation.

use super::{Flow, QfqPlus};
use crate::mechanisms::aggregates::FlowKind;
use crate::pool::Storage;

/// Invariants.
impl<T, P: Storage<T>> QfqPlus<T, P> {
    /// 3. A flow is in an aggregate of its kind. Exceptions: a kind with longer packets while some
    ///    of these wait, and another weight until a backlogged flow has sent a packet after a
    ///    change.
    /// 4. If a flow has packets, its deficit is less than two longest packets.
    pub(super) fn check_flow(&self, flow: &Flow) {
        let FlowKind {
            weight,
            max_packet_len,
        } = self.aggregates.at(flow.aggregate).kind();
        let is_longer = max_packet_len > flow.kind().max_packet_len && flow.longer > 0;
        assert!(weight == flow.weight || flow.moves, "invariant 3: weight");
        assert!(
            !flow.moves || !flow.queue.is_empty(),
            "invariant 3: it moves with a packet"
        );
        assert!(
            is_longer || max_packet_len == flow.kind().max_packet_len,
            "invariant 3"
        );
        assert!(
            flow.longer <= flow.queue.packets(),
            "invariant 3: they wait"
        );
        assert!(
            flow.queue.is_empty() || flow.deficit < 2 * max_packet_len,
            "invariant 4"
        );
        self.pool.check_queue(&flow.queue);
    }

    /// 5. An aggregate's ring holds each of its backlogged flows once, and no others.
    /// 6. The aggregate in service has packets and has not exceeded its budget.
    pub(super) fn check_ring(&self, number: u32) {
        let first = self.aggregates.at(number).turn();
        let next =
            |at: &u32| Some(self.flows[*at as usize].next).filter(|next| Some(*next) != first);
        let mut found = 0;
        for at in core::iter::successors(first, next) {
            let flow = &self.flows[at as usize];
            assert!(
                flow.aggregate == number && !flow.queue.is_empty(),
                "invariant 5: its own, with packets"
            );
            assert_eq!(
                self.flows[flow.next as usize].previous, at,
                "invariant 5: links agree"
            );
            found += 1;
        }
        let is_backlogged =
            |flow: &&Flow| flow.weight > 0 && flow.aggregate == number && !flow.queue.is_empty();
        assert_eq!(
            self.flows.iter().filter(is_backlogged).count(),
            found,
            "invariant 5: all of them"
        );
    }
}

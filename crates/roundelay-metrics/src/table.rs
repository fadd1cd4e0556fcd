//! Table of flows, indexed by flow number, that grows on demand.

use roundelay::FlowId;
use roundelay::author::prefetch;

/// One record per flow number.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowTable<T>(Vec<T>);

impl<T: Default> FlowTable<T> {
    /// The flow's record. A new flow gets a new one.
    #[inline]
    pub(crate) fn entry(&mut self, flow: FlowId) -> &mut T {
        if flow.index() >= self.0.len() {
            self.0.resize_with(flow.index() + 1, T::default);
        }
        &mut self.0[flow.index()]
    }

    /// The flow's record, if the table is long enough.
    #[inline]
    pub(crate) fn known(&self, flow: FlowId) -> Option<&T> {
        self.0.get(flow.index())
    }

    /// Asks for the memory that holds the flow's record.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) {
        prefetch(&self.0, flow.index());
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

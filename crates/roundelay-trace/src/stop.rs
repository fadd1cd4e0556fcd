//! Stop request: ends a comparison or a simulation early, from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop, which all clones share. Loops look at it every few thousand packets or
/// events. Until then, results are the same as without it.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    own: Arc<AtomicBool>,
    /// The request from which this one was made.
    parent: Option<Arc<AtomicBool>>,
}

impl Stop {
    /// Asks everybody who holds a clone to stop.
    pub fn request(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// A request that hears this one but does not reach it. So one part of the work can end
    /// another, and the caller still knows who asked.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            own: Arc::default(),
            parent: Some(self.own.clone()),
        }
    }

    /// Whether somebody asked to stop.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.own.load(Ordering::Relaxed)
            || self
                .parent
                .as_ref()
                .is_some_and(|parent| parent.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_hears_its_parent_and_not_the_other_way_round() {
        let parent = Stop::default();
        let [one, other] = [parent.child(), parent.child()];
        one.clone().request();
        assert!(one.is_requested() && !other.is_requested() && !parent.is_requested());
        parent.request();
        assert!(other.is_requested());
    }
}

//! Signals that end a run in order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// SIGINT, SIGTERM and SIGHUP, as they come.
pub(super) struct Signals {
    came: Arc<AtomicBool>,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(super) fn take() -> io::Result<Self> {
        let signals = Self {
            came: Arc::default(),
            last: Arc::default(),
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.last), signal as usize)?;
            signal_hook::flag::register(signal, Arc::clone(&signals.came))?;
        }
        Ok(signals)
    }

    /// Whether one came since the start or since the last
    /// [`wait_for_another`](Self::wait_for_another).
    pub(super) fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    /// The number of the signal that came last.
    pub(super) fn last(&self) -> Option<u8> {
        let last = self.last.load(Ordering::Relaxed);
        u8::try_from(last).ok().filter(|last| *last > 0)
    }

    /// Whether whoever ended the run wants the rest soon, because a signal other than Ctrl-C came.
    pub(super) fn is_urgent(&self) -> bool {
        self.last().is_some_and(|last| i32::from(last) != SIGINT)
    }

    /// The run is over, so only another signal counts from now on.
    pub(super) fn wait_for_another(&self) {
        self.came.store(false, Ordering::Relaxed);
    }
}

//! Carries faults with their data through serde.
//!
//! Serde hands errors on only as text (`serde::de::Error::custom`). So when a value's reader finds
//! a fault, it leaves the fault here too. The file's reader runs on the same thread, and takes the
//! fault's data if serde's message is the fault's own. Serde may also drop a fault, for instance
//! when it tries one variant after another. Then nobody takes the fault. The message itself has no
//! data, so whatever else prints it prints only text.

use std::cell::RefCell;

use roundelay::Fault;
use serde::de::Error;

thread_local! {
    static CARRIED: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Makes a deserializer's error from a fault, so that [`Reader`](crate::Reader) finds the fault's
/// data again.
pub fn custom<E: Error>(fault: impl Into<Fault>) -> E {
    let fault = fault.into();
    let error = E::custom(&fault);
    CARRIED.set(Some(fault));
    error
}

/// Forgets a fault that an earlier read left here.
pub(crate) fn clear() {
    CARRIED.take();
}

/// Takes the last fault, if serde's message is its own.
pub(crate) fn take(message: &str) -> Option<Fault> {
    CARRIED.take().filter(|fault| fault.message() == message)
}

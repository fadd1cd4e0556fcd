//! Faults through serde.
//!
//! Serde hands errors on as text alone (`serde::de::Error::custom`). A reader of a value leaves its
//! fault here, and the reader of the file, on the same thread, takes the data for serde's message
//! if it is that of the fault. So a fault that serde gave up, with one variant of several for
//! instance, is nobody's, and whatever else prints serde's message prints no data.

use std::cell::RefCell;

use roundelay::Fault;
use serde::de::Error;

thread_local! {
    static CARRIED: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// The error of a deserializer for a fault, whose data [`Reader`](crate::Reader) finds again.
pub fn custom<E: Error>(fault: impl Into<Fault>) -> E {
    let fault = fault.into();
    let error = E::custom(&fault);
    CARRIED.set(Some(fault));
    error
}

/// Forgets the faults of a file before.
pub(crate) fn clear() {
    CARRIED.take();
}

/// The last fault, if serde's message is its own.
pub(crate) fn take(message: &str) -> Option<Fault> {
    CARRIED.take().filter(|fault| fault.message() == message)
}

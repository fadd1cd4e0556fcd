//! QFQ as WebAssembly: a small load through the shipped scheduler, with its whole state after each
//! call, for the page that shows how QFQ works.
//!
//! [`History::of`] runs a [`Load`] and returns every state at once: a page steps forward and back
//! by an index. The scheduler is the one of `compare`, on the same [`Port`](roundelay::Port).
//! [`Rule`] selects the shipped scheduler, or the paper's listings with another start-time rule.
//!
//! The module exports three functions and its memory. `room(bytes)` gives the address for a
//! request, `answer()` computes, and returns the length of the answer, at `answer_at()`. Requests
//! are [`Request`]s and answers `{"history": ..}` or `{"error": ..}`, in JSON.

mod history;
mod load;
mod machine;
mod moves;
mod state;

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

pub use history::{Departure, History, PacketOf, Step};
pub use load::{Arrival, Flow, Load, LoadError};
pub use machine::Rule;
pub use moves::{Blocker, Move};
pub use state::{Group, Slot, State, Times};

/// A request of the page.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The load: see [`Load`].
    pub load: String,
    /// The rule; the shipped scheduler by default.
    #[serde(default)]
    pub rule: Rule,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    History(Box<History>),
    Error(String),
}

/// The answer to a request, both in JSON.
pub fn answer_to(request: &[u8]) -> Vec<u8> {
    let answer = match run(request) {
        Ok(history) => Answer::History(Box::new(history)),
        Err(error) => Answer::Error(error),
    };
    serde_json::to_vec(&answer).unwrap_or_default()
}

fn run(request: &[u8]) -> Result<History, String> {
    let Request { load, rule } =
        serde_json::from_slice(request).map_err(|error| error.to_string())?;
    let load: Load = load.parse().map_err(|error: LoadError| error.to_string())?;
    History::of(&load, rule)
}

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The functions called from JavaScript. Their names are the module's exports: hence the attribute
/// that counts as unsafe. The code itself is safe.
#[allow(
    unsafe_code,
    reason = "an export of a WebAssembly module has a name that is not mangled"
)]
mod exports {
    use super::{ANSWER, REQUEST, answer_to};

    /// Makes room for a request of so many bytes. Returns its address.
    #[unsafe(no_mangle)]
    extern "C" fn room(bytes: usize) -> *mut u8 {
        REQUEST.with_borrow_mut(|request| {
            request.clear();
            request.resize(bytes, 0);
            request.as_mut_ptr()
        })
    }

    /// Answers the request. Returns the length of the answer in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn answer() -> usize {
        let answer = REQUEST.with_borrow(|request| answer_to(request));
        let bytes = answer.len();
        ANSWER.set(answer);
        bytes
    }

    /// The address of the answer.
    #[unsafe(no_mangle)]
    extern "C" fn answer_at() -> *const u8 {
        ANSWER.with_borrow(|answer| answer.as_ptr())
    }
}

//! QFQ as WebAssembly: runs a small load through the shipped scheduler and returns its whole state
//! after each call, for the page that shows how QFQ works.
//!
//! [`History::of`] runs a [`Load`] and returns every state at once, so the page steps forward and
//! back with an index. The scheduler is `compare`'s, on the same [`Port`](roundelay::Port). A
//! [`Rule`] selects the shipped scheduler, or the paper's listings with another start-time rule.
//!
//! The module exports three functions and its memory. `room(bytes)` gives the address where the
//! page writes a request. Then `answer()` computes and returns the answer's length, and
//! `answer_at()` its address. Requests are [`Request`]s and answers `{"history": ..}` or
//! `{"error": ..}`, all in JSON.

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

/// What the page asks for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The load: see [`Load`].
    pub load: String,
    /// The rule. By default, this is the shipped scheduler.
    #[serde(default)]
    pub rule: Rule,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    History(Box<History>),
    Error(String),
}

/// Answers a request. Request and answer are JSON.
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

/// The functions that JavaScript calls. An attribute makes their names the module's exports, and
/// counts as unsafe. The code itself is safe.
#[allow(
    unsafe_code,
    reason = "an export of a WebAssembly module has a name that is not mangled"
)]
mod exports {
    use super::{ANSWER, REQUEST, answer_to};

    /// Makes room for a request of so many bytes, and returns its address.
    #[unsafe(no_mangle)]
    extern "C" fn room(bytes: usize) -> *mut u8 {
        REQUEST.with_borrow_mut(|request| {
            request.clear();
            request.resize(bytes, 0);
            request.as_mut_ptr()
        })
    }

    /// Answers the request, and returns the answer's length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn answer() -> usize {
        let answer = REQUEST.with_borrow(|request| answer_to(request));
        let bytes = answer.len();
        ANSWER.set(answer);
        bytes
    }

    /// The answer's address.
    #[unsafe(no_mangle)]
    extern "C" fn answer_at() -> *const u8 {
        ANSWER.with_borrow(|answer| answer.as_ptr())
    }
}

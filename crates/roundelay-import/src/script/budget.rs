//! What a script may cost. Each text that we write or copy for it is charged, so that a few lines can
//! take neither all memory nor all time, whatever they double.

#![deny(clippy::indexing_slicing)]

use std::cell::Cell;

use roundelay::Fault;

/// The most bytes that we write and copy: less than half a second, and less than 150 MB at once.
const MOST: usize = 64 << 20;
/// A word's own bytes beside its letters.
const WORD: usize = 48;

/// What was charged.
#[derive(Debug, Default)]
pub(super) struct Budget(Cell<usize>);

impl Budget {
    /// Charges so many bytes. [`check`](Self::check) tells whether there are as many.
    pub(super) fn spend(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_add(bytes));
    }

    /// Charges a copy of words.
    pub(super) fn spend_words(&self, words: &[String]) {
        for word in words {
            self.spend(word.len() + WORD);
        }
    }

    /// Charges a comparison with a pattern. A `*` tries all letters, and a bracket looks for its end.
    pub(super) fn spend_match(&self, pattern: &str, text: &str) {
        let once = pattern.len().saturating_mul(text.len()) / 4;
        let brackets = pattern.matches('[').count();
        self.spend(once.saturating_mul(1 + brackets).saturating_add(WORD));
    }

    /// # Errors
    /// More was charged than a script may cost.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.0.get() <= MOST {
            return Ok(());
        }
        Err(Fault::new(format!(
            "up to here the script writes and copies more than {} MB of words",
            MOST >> 20
        )))
    }
}

//! What must hold for any text that is read as a paper's plan. The fuzzer runs it, and the tests run
//! it on the corpus.

use roundelay_papers::plan::Plan;

/// An error points into the text.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Err(error) = Plan::parse(text) {
        assert!(
            error.line().unwrap_or(0) <= text.lines().count() + 1,
            "{error}"
        );
    }
}

//! What must hold for any text that is read as a tree of disciplines. The fuzzer runs it, and the
//! tests run it on the corpus.

use roundelay_trace::TreeFile;

/// An error points into the text.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Err(error) = TreeFile::from_toml("fuzz.toml", text) {
        assert!(
            error.line().unwrap_or(0) <= text.lines().count() + 1,
            "{error}"
        );
    }
}

//! What must hold for any text that is read as a filter. The fuzzer runs it, and the tests run it on
//! the corpus.

use roundelay_trace::Filter;

/// What is shown of a filter reads back as the same filter, also for packets without headers.
pub(crate) fn check(data: &[u8]) {
    let Some(Ok(filter)) = str::from_utf8(data).ok().map(str::parse::<Filter>) else {
        return;
    };
    let again: Filter = filter.to_string().parse().expect("its own text");
    assert_eq!(filter, again);
    assert_eq!(filter.matches(None), again.matches(None));
}

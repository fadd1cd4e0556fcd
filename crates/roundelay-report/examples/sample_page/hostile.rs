//! The same comparison with names that attack the page and the terminal.

use roundelay_trace::{Comparison, Reserve};

/// Markup, a terminal escape sequence, a slot of the template, quotes.
pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u{1b}[2J{{script}} \"'&";

/// `comparison` with the hostile text in every string from a file or a user.
pub(crate) fn hostile(mut comparison: Comparison) -> Comparison {
    comparison.capture.name = HOSTILE.to_owned();
    comparison.capture.flow_by = HOSTILE.to_owned();
    comparison.capture.notes.push(HOSTILE.to_owned());
    comparison.flows[0].label = HOSTILE.to_owned();
    comparison.flows[11].label = HOSTILE.to_owned();
    comparison.disciplines[1].spec = HOSTILE.to_owned();
    comparison.verdict.sentences.insert(0, HOSTILE.to_owned());
    comparison.verdict.reserve = Some(Reserve {
        sentence: HOSTILE.to_owned(),
        command: Some(HOSTILE.to_owned()),
    });
    comparison.verdict.commands.push(HOSTILE.to_owned());
    comparison
}

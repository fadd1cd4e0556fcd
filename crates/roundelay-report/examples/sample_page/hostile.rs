//! The same comparison with names that attack the page and the terminal.

use roundelay_report::{Advised, Warning};

/// Markup, a terminal escape sequence, a slot of the template, quotes.
pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u{1b}[2J{{script}} \"'&";

/// The comparison with the hostile text in every string from a file or a user.
pub(crate) fn hostile(mut advised: Advised) -> Advised {
    let comparison = &mut advised.comparison;
    comparison.capture.name = HOSTILE.to_owned();
    comparison.capture.flow_by = HOSTILE.to_owned();
    comparison.flows[0].label = HOSTILE.to_owned();
    comparison.flows[11].label = HOSTILE.to_owned();
    comparison.disciplines[1].spec = HOSTILE.to_owned();
    advised.notes.push(HOSTILE.to_owned());
    advised.verdict.sentences.insert(0, HOSTILE.to_owned());
    advised.verdict.reserve = Some(Warning {
        sentence: HOSTILE.to_owned(),
        command: Some(HOSTILE.to_owned()),
    });
    advised.verdict.commands.push(HOSTILE.to_owned());
    advised
}

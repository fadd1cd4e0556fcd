//! The verdict in words: the answer, then the reasons.

use roundelay_advice::Reason;
use roundelay_metrics::units::{rate, seconds};

/// Caveat of a verdict beside the note on the highest rate.
const BEHIND_THE_BOTTLENECK: &str = "The capture may lie behind the bottleneck, as a note says: \
    these figures lack the waiting there.";

pub(super) fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::Text(text) => text.clone(),
        Reason::BehindTheBottleneck => BEHIND_THE_BOTTLENECK.to_owned(),
        Reason::OtherDirection(opposite) => format!(
            "The other direction, {} on average, is left out: {} compares it.",
            rate(opposite.rate),
            opposite.options.join(" ")
        ),
        Reason::PossibleCalls {
            flows,
            has_priority,
        } => possible_calls(*flows, *has_priority),
        Reason::ShortTargets {
            packet,
            seconds: time,
            better,
        } => format!(
            "A packet of {packet} bytes takes {} on this link, longer than a target of CoDel \
            here: two packets in a queue count as congestion. \
             Compare with {} (RFC 8290, section 5.2.2).",
            seconds(*time),
            Vec::from_iter(better.iter().map(String::as_str)).join(", "),
        ),
        Reason::NoCommands { spec, why } => format!("No tc commands for {spec}: {why}."),
    }
}

fn possible_calls(flows: usize, has_priority: bool) -> String {
    let flows = if flows == 1 {
        "1 UDP flow of short packets asks for more than its fair share and counts".to_owned()
    } else {
        format!("{flows} UDP flows of short packets ask for more than their fair share and count")
    };
    let then = if has_priority {
        ", which priority reads"
    } else {
        ", and compare priority"
    };
    format!(
        "{flows} as bulk. A queue cannot tell a call among these: mark calls with the code point \
        EF{then}."
    )
}

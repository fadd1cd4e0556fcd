//! Sentences: the words for all advice and notes, in one voice and one place.

mod chosen;
mod notes;
mod reacting;
mod reasons;
mod shapers;
mod warning;
mod why_not;

pub use chosen::{sent_of, sent_together};
pub use notes::{
    CUT_OFF, CUT_SILENCES, ENCRYPTED, LARGE_FRACTIONS, LONG_PACKETS, NOT_IP, RAISED_LENGTHS,
    SKIPPED_BLOCKS, SORTED, TRUNCATED_COMPRESSION, UNCUT, UNREADABLE, WITHOUT_PORTS,
    counted_sentences, reordering_note,
};

use roundelay_advice::{Note, Reason, Verdict};
use roundelay_trace::connections::Applications;
use roundelay_trace::{Kind, Options};

use crate::recommendation::Recommendation;

/// Remark before commands that follow from several links in one.
const WRONG_LOAD: &str = "# for the wrong load: first compare as the sentence above says";

/// A comparison's notes.
pub(crate) fn notes(notes: &[Note]) -> Vec<String> {
    notes.iter().map(notes::sentence).collect()
}

/// What is in doubt about the applications that were read from a capture with these options, in
/// sentences, the worst one first. The rate is that of the link on which they will run.
pub fn doubts(applications: &Applications, options: &Options) -> Vec<String> {
    let doubts = roundelay_advice::doubts(applications, options);
    let mut sentences = Vec::new();
    sentences.extend(doubts.reserve.as_ref().map(warning::of_applications));
    sentences.extend(notes(&doubts.notes));
    sentences
}

/// The verdict in words. `command` is the comparison's command line.
pub(crate) fn recommendation(verdict: &Verdict, link_rate: u64, command: &str) -> Recommendation {
    let mut commands = verdict.commands.clone();
    if verdict.reserve.is_some() && !commands.is_empty() {
        commands.insert(0, WRONG_LOAD.to_owned());
    }
    let reserve = verdict.reserve.as_ref();
    let is_open = reserve.is_some_and(|reserve| reserve.is_question);
    // Where no discipline is chosen, the other direction has the same question.
    let other = verdict.other.as_ref().filter(|_| !is_open);
    Recommendation {
        best: verdict.best,
        reserve: reserve.map(|reserve| warning::of(reserve, command)),
        other: other.map(|other| chosen::other(other, link_rate, command)),
        is_open,
        hurt: hurt(&verdict.reasons),
        sentences: verdict.reasons.iter().map(reasons::sentence).collect(),
        commands,
    }
}

/// The kind of flows that the worst discipline hurts.
fn hurt(reasons: &[Reason]) -> Option<Kind> {
    for reason in reasons {
        match reason {
            Reason::Hurts { kind, .. }
            | Reason::HurtsOne { kind, .. }
            | Reason::LocksOut { kind, .. } => return Some(*kind),
            Reason::HurtsBulk { .. } => return Some(Kind::Bulk),
            _ => {}
        }
    }
    None
}

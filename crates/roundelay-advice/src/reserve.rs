//! Reserve: a warning before the verdict that several links share the replayed one, and the command
//! that selects one direction of one link.

use roundelay_trace::{Comparison, Cure, Options};

/// Warning that several links share the replayed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserve {
    /// What is wrong with the load.
    pub problems: Vec<Problem>,
    /// What selects one direction of one link, or comes nearest to that. None if nothing is known.
    pub cure: Option<Cure>,
    /// Options to add to the command, words for a shell; empty if no option mends the load.
    pub options: Vec<String>,
    /// No table, star and commands: nothing says which packets share the link, and the comparison
    /// was asked to find out.
    pub is_question: bool,
    /// Length of the capture in seconds, for rates; none where a rate would mislead.
    pub seconds: Option<f64>,
}

/// Why the load is not that of one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// Both directions of connections.
    Directions,
    /// Several interfaces.
    Interfaces,
    /// Copies of packets.
    Copies,
}

/// The warning, if one is due.
pub(crate) fn of(comparison: &Comparison, options: &Options) -> Option<Reserve> {
    let is_question = options.selection.chooses;
    let mixed = &comparison.observed.mixed;
    if is_question && (comparison.observed.chosen.is_some() || mixed.is_slight) {
        return None;
    }
    let mut problems = Vec::new();
    if mixed.both_ways > 0 {
        problems.push(Problem::Directions);
    }
    if mixed.has_interfaces {
        problems.push(Problem::Interfaces);
    }
    if mixed.has_copies {
        problems.push(Problem::Copies);
    }
    // Where only packets look like copies, a note says so.
    if problems.is_empty() || (is_question && problems == [Problem::Copies]) {
        return None;
    }
    let cure = mixed.cure.clone();
    let mut options = Vec::new();
    if let Some(cure) = &cure {
        options.extend(cure.chosen.options.iter().cloned());
    }
    if mixed.mirrored > 0 {
        options.push("--mirrored".to_owned());
    }
    // Where a mirror port copies packets, the bytes count twice.
    let seconds = comparison.capture.seconds;
    let has_rates = seconds > 0.0 && mixed.mirrored == 0;
    Some(Reserve {
        problems,
        cure,
        options,
        is_question,
        seconds: has_rates.then_some(seconds),
    })
}

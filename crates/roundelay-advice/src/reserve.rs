//! Reserve: a warning before the verdict that several links share the replayed one, with the
//! command that selects one direction of one link.

use roundelay::Duration;
use roundelay_trace::{Chosen, Cure, Inside, Options};

use crate::notes::{COARSEST_CLOCK, coarse_tick};
use crate::reading::Reading;

/// Warning that several links share the replayed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserve {
    /// What is wrong with the load.
    pub problems: Vec<Problem>,
    /// What selects one direction of one link, or comes nearest to it. None if nothing is known.
    pub cure: Option<Cure>,
    /// Options to add to the command, as words for a shell. Empty if no option mends the load.
    pub options: Vec<String>,
    /// Show no table, no star and no commands: nothing says which packets share the link, and
    /// finding that out was the comparison's task.
    pub is_question: bool,
    /// The capture's length in seconds, for rates. None where a rate would mislead.
    pub seconds: Option<f64>,
}

/// Why the load is not one link's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// Both directions of connections.
    Directions,
    /// Several interfaces.
    Interfaces,
    /// Copies of packets.
    Copies,
    /// Both directions of connections inside a tunnel, as from a mirror port.
    Inside(Inside),
    /// The headers of most packets cannot be read.
    Unreadable,
    /// No clock made the times.
    Times,
    /// All times are multiples of this one, because the clock is coarse.
    Coarse(Duration),
}

impl Problem {
    /// Whether no selection mends it, so that figures would tell nothing.
    const fn is_hopeless(&self) -> bool {
        matches!(self, Self::Unreadable | Self::Times | Self::Coarse(_))
    }
}

/// What is wrong with the replayed packets, whichever links they come from.
fn of_packets(reading: &Reading<'_>, options: &Options) -> Vec<Problem> {
    let observed = reading.observed;
    let mut problems = Vec::new();
    let unparsable = observed.unparsable;
    let unreadable = unparsable.unreadable();
    // A recorded run (`adapts` is false) is replayed as it is, whatever its packets.
    if options.adapts && unreadable * 2 > reading.packets {
        problems.push(Problem::Unreadable);
    }
    if observed.is_without_clock {
        problems.push(Problem::Times);
    } else if let Some(tick) = coarse_tick(observed, options.rate)
        && tick.as_secs_f64() >= COARSEST_CLOCK
    {
        problems.push(Problem::Coarse(tick));
    }
    if let Some(inside) = observed.mixed.inside {
        problems.push(Problem::Inside(inside));
    }
    problems
}

/// The warning, if one is due.
pub(crate) fn of(reading: &Reading<'_>, options: &Options) -> Option<Reserve> {
    let mixed = &reading.observed.mixed;
    let mut problems = of_packets(reading, options);
    let is_question = options.selection.chooses || problems.iter().any(Problem::is_hopeless);
    let chosen = reading.observed.chosen.as_ref();
    let is_chosen = chosen.is_some_and(Chosen::is_of_direction);
    let is_settled = options.selection.chooses && (is_chosen || mixed.is_slight);
    if !is_settled && (mixed.both_ways > 0 || mixed.has_wire_both_ways) {
        problems.push(Problem::Directions);
    }
    if !is_settled && mixed.has_interfaces {
        problems.push(Problem::Interfaces);
    }
    if !is_settled && mixed.has_copies {
        problems.push(Problem::Copies);
    }
    // If looking like copies is all that is wrong with packets, a note says so instead.
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
    // A mirror port copies packets, so bytes would count twice.
    let seconds = reading.seconds;
    let has_rates = seconds > 0.0 && mixed.mirrored == 0;
    Some(Reserve {
        problems,
        cure,
        options,
        is_question,
        seconds: has_rates.then_some(seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{comparison, options};

    /// Rates need time, and bytes that count once.
    #[test]
    fn a_warning_has_rates_where_they_do_not_mislead() {
        let options = options(&["drr"]);
        let mut comparison = comparison(&["drr"]);
        assert_eq!(of(&Reading::of(&comparison), &options), None);
        comparison.observed.mixed.both_ways = 1;
        for (seconds, mirrored, expected) in [(2.0, 0, Some(2.0)), (0.0, 0, None), (2.0, 5, None)] {
            comparison.capture.seconds = seconds;
            comparison.observed.mixed.mirrored = mirrored;
            let reserve = of(&Reading::of(&comparison), &options).expect("both directions");
            assert_eq!(reserve.seconds, expected, "{seconds}, {mirrored}");
            assert_eq!(reserve.problems, [Problem::Directions]);
        }
    }

    /// What no selection mends is a question, though a direction was not asked for.
    #[test]
    fn a_capture_without_a_clock_is_a_question() {
        let options = options(&["drr"]);
        let mut comparison = comparison(&["drr"]);
        comparison.observed.mixed.both_ways = 1;
        let reserve = of(&Reading::of(&comparison), &options).expect("both directions");
        assert!(!reserve.is_question);
        comparison.observed.is_without_clock = true;
        let reserve = of(&Reading::of(&comparison), &options).expect("no clock");
        assert_eq!(reserve.problems, [Problem::Times, Problem::Directions]);
        assert!(reserve.is_question);
    }
}

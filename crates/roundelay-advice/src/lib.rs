//! Advice on a comparison, as data: the best discipline for this traffic with reasons, notes on the
//! capture, and Linux's `tc` commands.
//!
//! [`advise`] reads the figures of a [`Comparison`] and computes no new ones for tables.
//! `roundelay-report` turns the data into sentences.

mod answer;
mod blame;
mod case;
mod harm;
mod notes;
mod preference;
mod reaction;
mod reading;
mod reasons;
mod reserve;
#[cfg(test)]
mod sample;
mod seeds;
mod shapers;
mod standing;
mod tc;
mod verdict;

pub use case::NEGLIGIBLE_SECONDS;
pub use harm::{NOTABLE, NOTABLE_LOSS, NOTICED, UNNOTICED_SECONDS};
pub use notes::{Note, Oddity};
pub use reasons::{
    But, Cause, Change, Equality, Fate, Instead, Lower, OtherWinner, Reason, Share, Trust,
    Unfairness, Wait, Worst,
};
pub use reserve::{Problem, Reserve};
pub use standing::Obstacle;

use reading::Reading;
use roundelay_trace::connections::Applications;
use roundelay_trace::{Comparison, Options, OtherWay};
use standing::Standing;

/// What is said about a comparison.
#[derive(Debug, Clone)]
pub struct Advice {
    /// The recommendation.
    pub verdict: Verdict,
    /// Remarks on the capture and the replay. The last ones state what the figures rest on, and for
    /// a replay what it cannot show.
    pub notes: Vec<Note>,
}

/// The recommendation.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Index into [`Comparison::disciplines`]. None if none is named: the packets are not one link's,
    /// or the one that serves them best carries more than others.
    pub best: Option<usize>,
    /// A warning, told before all else. None if the replay has one direction of one link.
    pub reserve: Option<Reserve>,
    /// The direction that was not chosen, if the capture has one.
    pub other: Option<OtherWay>,
    /// The answer, then the reasons.
    pub reasons: Vec<Reason>,
    /// Which discipline is best with each of the other seeds: indices, in the order of
    /// [`Comparison::other_seeds`]. Empty if none is named.
    pub with_other_seeds: Vec<usize>,
    /// Linux commands that set up the discipline, one per line. Empty if we know none.
    pub commands: Vec<String>,
}

/// What is in doubt about applications that were read from a capture.
#[derive(Debug, Clone)]
pub struct Doubts {
    /// What is wrong with the load. None if it is one direction of one link.
    pub reserve: Option<Reserve>,
    /// Remarks on the packets and on the clock.
    pub notes: Vec<Note>,
}

/// Says what is in doubt about applications that were read with these options. The options' rate is
/// that of the link on which the applications will run.
pub fn doubts(applications: &Applications, options: &Options) -> Doubts {
    let reading = Reading::of_applications(applications);
    Doubts {
        reserve: reserve::of(&reading, options),
        notes: notes::of_reading(&applications.observed, options),
    }
}

/// Advises on a comparison that was made with these options.
pub fn advise(comparison: &Comparison, options: &Options) -> Advice {
    let mut commands = tc::all_commands(comparison, options);
    let standings = Standing::of_all(comparison, options, &commands);
    let mut choice = verdict::choose(comparison, &standings);
    let mut reasons = std::mem::take(&mut choice.reasons);
    let with_other_seeds = seeds::choices(comparison, &standings);
    // What changes for users comes right behind the answer, before the other reasons.
    let of_senders = reaction::reasons(comparison, options, &standings, &choice);
    let behind = reasons.len().min(1);
    reasons.splice(behind..behind, of_senders);
    let of_the_capture = reasons::on_the_capture(comparison, options, choice.is_contended);
    // If the answer itself depends on the seed, this comes right behind it.
    let of_seeds = seeds::reason(comparison, &choice, &with_other_seeds);
    reasons.splice(behind..behind, of_seeds);
    let reserve = reserve::of(&Reading::of(comparison), options);
    let is_question = match &reserve {
        Some(reserve) => reserve.is_question,
        None => false,
    };
    let slower = shapers::slower_than_best(choice.best, comparison, options);
    let has_handicap = !slower.is_empty() && !choice.is_indifferent;
    // The packets are not one link's, or their times are not real, so the figures decide nothing.
    if is_question {
        reasons.clear();
    } else if has_handicap {
        reasons = vec![Reason::Handicap(slower)];
        reasons.extend(of_the_capture);
    } else {
        reasons.extend(of_the_capture);
    }
    let is_named = !is_question && !has_handicap;
    // If the discipline does not matter, commands would only replace a queue that works as well.
    if !is_named || choice.is_indifferent {
        commands[choice.best] = Ok(Vec::new());
    }
    let commands = commands.swap_remove(choice.best).unwrap_or_else(|why| {
        let spec = comparison.disciplines[choice.best].spec.clone();
        reasons.push(Reason::NoCommands { spec, why });
        Vec::new()
    });
    Advice {
        verdict: Verdict {
            best: is_named.then_some(choice.best),
            reserve,
            other: other_way(comparison),
            reasons,
            with_other_seeds: if is_named {
                with_other_seeds
            } else {
                Vec::new()
            },
            commands: tc::with_size_table(commands, options.link),
        },
        notes: notes::of(comparison, options, &standings, !has_handicap),
    }
}

/// The direction that was not chosen.
fn other_way(comparison: &Comparison) -> Option<OtherWay> {
    let chosen = comparison.observed.chosen.as_ref()?;
    chosen.other.clone()
}

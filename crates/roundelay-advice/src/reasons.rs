//! Reasons of a verdict, as data.

use std::collections::BTreeSet;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Duration, QueueSpec};
use roundelay_trace::{Comparison, OppositeLoad, Options};

use crate::notes::{all_specs, plateau};
use crate::tc::FULL_PACKET;

/// A sentence of the verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// A sentence.
    Text(String),
    /// The capture may lie behind the bottleneck, so figures lack the waiting there.
    BehindTheBottleneck,
    /// The other direction is left out, and nothing contends for the link.
    OtherDirection(OppositeLoad),
    /// Bulk flows that may be calls.
    PossibleCalls {
        /// Their number.
        flows: usize,
        /// `priority`, which would serve them first if they were marked, is compared.
        has_priority: bool,
    },
    /// Targets of CoDel below the time of a packet.
    ShortTargets {
        /// Length of the packet, bytes.
        packet: u32,
        /// Its transmission time, seconds.
        seconds: f64,
        /// Disciplines with better targets, as words for a shell.
        better: BTreeSet<String>,
    },
    /// There are no commands for the best discipline.
    NoCommands {
        /// The discipline.
        spec: String,
        /// Why.
        why: String,
    },
}

/// Reasons that follow from the capture, whichever discipline is best.
pub(crate) fn on_the_capture(
    comparison: &Comparison,
    options: &Options,
    is_contended: bool,
) -> Vec<Reason> {
    let observed = &comparison.observed;
    let mut reasons = Vec::new();
    if plateau(comparison).is_some() {
        reasons.push(Reason::BehindTheBottleneck);
    }
    if !is_contended {
        let opposite = observed.mixed.opposite.clone();
        reasons.extend(opposite.map(Reason::OtherDirection));
    }
    if observed.possible_calls > 0 {
        reasons.push(Reason::PossibleCalls {
            flows: observed.possible_calls,
            has_priority: has_priority(options),
        });
    }
    if is_contended {
        reasons.extend(short_targets(comparison, options));
    }
    reasons
}

fn has_priority(options: &Options) -> bool {
    let mut specs = options.specs.iter();
    specs.any(|spec| matches!(spec.discipline, AnyDiscipline::Priority(_)))
}

/// Longest transmission of a packet for which a target of CoDel makes sense.
const LONGEST_TARGET: f64 = 1.0;

/// Targets of CoDel below the transmission time of a packet (RFC 8290, section 5.2.2).
fn short_targets(comparison: &Comparison, options: &Options) -> Option<Reason> {
    let link = options.link;
    let full = if link.raw {
        FULL_PACKET as u32
    } else {
        FULL_PACKET as u32 - 14
    };
    // A frame merged by offloading is no packet of the link.
    let packet = if comparison.observed.oddities.superframes == 0 {
        comparison.capture.longest_packet
    } else {
        link.len_on_link(full)
    };
    let time = options.rate.time_of(packet.into());
    let mut better = BTreeSet::new();
    for spec in all_specs(options) {
        better.extend(with_longer_target(spec, time));
    }
    let seconds = time.as_secs_f64();
    let is_told = !better.is_empty() && seconds <= LONGEST_TARGET;
    is_told.then_some(Reason::ShortTargets {
        packet,
        seconds,
        better,
    })
}

/// The discipline with a target of at least this time, if its own is shorter. An interval below
/// twice the new target becomes ten times the target (RFC 8289, section 4.3).
fn with_longer_target(spec: &QueueSpec, time: Duration) -> Option<String> {
    let (target, interval, linux) = match &spec.discipline {
        AnyDiscipline::Codel(config) => (config.target, config.interval, config.linux),
        AnyDiscipline::FqCodel(config) => (config.target, config.interval, config.linux),
        _ => return None,
    };
    if target >= time {
        return None;
    }
    let millis = (time.as_secs_f64() * 1e3).ceil();
    let rules = if linux { " linux" } else { "" };
    let is_short = interval.as_secs_f64() * 1e3 < 2.0 * millis;
    let interval = if is_short {
        format!(" interval {}ms", 10.0 * millis)
    } else {
        String::new()
    };
    let name = spec.discipline.name();
    Some(format!("'{name}{rules} target {millis}ms{interval}'"))
}

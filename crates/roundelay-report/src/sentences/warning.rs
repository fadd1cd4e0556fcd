//! The warning before a verdict: several links share the replayed one.

use roundelay_advice::{Problem, Reserve};
use roundelay_metrics::units::rate;

use crate::advised::Warning;

/// The warning in words, and the command that mends the load.
pub(super) fn of(reserve: &Reserve, command: &str) -> Warning {
    let wrong = format!(
        "The figures below are of a wrong load: {} share the replayed link, as the notes say.",
        problems(&reserve.problems)
    );
    if reserve.is_question {
        return Warning {
            sentence: question(reserve),
            command: None,
        };
    }
    if reserve.options.is_empty() {
        let hopeless = "No other selection of interface and direction mends this; --filter may.";
        return Warning {
            sentence: format!("{wrong} {hopeless}"),
            command: None,
        };
    }
    let mends = match &reserve.cure {
        Some(cure) => {
            let does = if cure.is_pure {
                "has"
            } else {
                "comes nearest to"
            };
            let load = load(reserve, cure.chosen.bytes);
            format!("This command {does} one direction of one link{load}")
        }
        None => "This command leaves out the copies".to_owned(),
    };
    let other = reserve.cure.as_ref().and_then(|cure| cure.other.as_ref());
    let other = match other {
        Some(part) => format!(
            " (the other direction{}: {})",
            load(reserve, part.bytes),
            part.options.join(" ")
        ),
        None => String::new(),
    };
    Warning {
        sentence: format!("{wrong} {mends}{other}:"),
        command: Some(format!("{command} {}", reserve.options.join(" "))),
    }
}

/// What only the owner of a capture knows.
fn question(reserve: &Reserve) -> String {
    format!(
        "Which of these packets shared your link? The capture holds {}, and no interface or \
         direction separates them, so no discipline is chosen. Select the packets of one direction \
         with --filter 'src host ADDRESS or src net NETWORK', or replay all of them with \
         --direction both.",
        problems(&reserve.problems)
    )
}

fn problems(problems: &[Problem]) -> String {
    let mut names = Vec::new();
    for problem in problems {
        names.push(match problem {
            Problem::Directions => "both directions of connections",
            Problem::Interfaces => "several interfaces",
            Problem::Copies => "copies of packets",
        });
    }
    let last = names.pop().unwrap_or_default();
    if names.is_empty() {
        last.to_owned()
    } else {
        format!("{} and {last}", names.join(", "))
    }
}

/// `, 852 kbit/s over the whole capture`.
fn load(reserve: &Reserve, bytes: u64) -> String {
    match reserve.seconds {
        Some(seconds) => {
            let load = rate(bytes as f64 * 8.0 / seconds);
            format!(", {load} over the whole capture")
        }
        None => String::new(),
    }
}

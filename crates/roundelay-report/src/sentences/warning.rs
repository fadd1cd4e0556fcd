//! The warning before a verdict: several links share the replayed one.

use roundelay_advice::{Problem, Reserve};
use roundelay_metrics::units::{counted, rate, seconds};
use roundelay_trace::Inside;

use crate::recommendation::Warning;

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

/// What only the capture's owner knows.
fn question(reserve: &Reserve) -> String {
    for problem in &reserve.problems {
        if let Some((cause, remedy)) = hopeless(*problem) {
            return format!("No discipline is chosen, because {cause}. {remedy}");
        }
        if let Problem::Inside(inside) = problem {
            return of_mirror(*inside);
        }
    }
    let nearest = match &reserve.cure {
        Some(cure) if !cure.chosen.options.is_empty() => format!(
            " Or, if what it leaves out is not on your link, add {}{}.",
            cure.chosen.options.join(" "),
            load(reserve, cure.chosen.bytes)
        ),
        _ => String::new(),
    };
    format!(
        "Which of these packets shared your link? The capture holds {}, and no interface or \
         direction surely separates them, so no discipline is chosen. Select the packets of one \
         direction with --filter 'src host ADDRESS or src net NETWORK', or replay all of them with \
         --direction both.{nearest}",
        problems(&reserve.problems)
    )
}

/// The same for applications that were read from the capture.
pub(super) fn of_applications(reserve: &Reserve) -> String {
    for problem in &reserve.problems {
        if let Some((cause, remedy)) = hopeless(*problem) {
            return format!("These applications are in doubt, because {cause}. {remedy}");
        }
        if let Problem::Inside(inside) = problem {
            return format!(
                "These applications are in doubt, because a tunnel brings both directions of {}, \
                 as from a mirror port, and all its packets go one way. {}",
                counted(inside.connections as u64, "connection"),
                cut_off(*inside, "read")
            );
        }
    }
    let selects = if reserve.options.is_empty() {
        "no interface or direction surely separates them".to_owned()
    } else {
        let bytes = reserve.cure.as_ref().map(|cure| cure.chosen.bytes);
        let load = bytes.map_or_else(String::new, |bytes| load(reserve, bytes));
        format!("{} takes one link's{load}", reserve.options.join(" "))
    };
    format!(
        "Which of these packets shared the link is in doubt, because the capture holds {}. Here a \
         connection goes over the link towards the host that receives more; {selects}.",
        problems(&reserve.problems)
    )
}

/// Why it does not help to select packets, and what does.
fn hopeless(problem: Problem) -> Option<(String, &'static str)> {
    Some(match problem {
        Problem::Directions | Problem::Interfaces | Problem::Copies | Problem::Inside(_) => {
            return None;
        }
        Problem::Unreadable => (
            "the headers of most packets cannot be read, as the notes say".to_owned(),
            "Capture 128 bytes of each packet or more (tcpdump -s 128), and decrypt 802.11 first.",
        ),
        Problem::Times => (
            "no clock has made the times of this capture: its packets are all of one time, or each \
             is a microsecond or a nanosecond behind the last"
                .to_owned(),
            "Take a capture with the times at which packets came.",
        ),
        Problem::Coarse(tick) => (
            format!(
                "the capture's clock shows multiples of {} and nothing between: packets that came \
                 one by one would arrive at once, and wait for each other",
                seconds(tick.as_secs_f64())
            ),
            "Take a capture with a finer clock; tcpdump writes microseconds.",
        ),
    })
}

/// A tunnel from a mirror port.
fn of_mirror(inside: Inside) -> String {
    format!(
        "Which of these packets shared your link? A tunnel brings both directions of {}, as from a \
         mirror port, and all its packets go one way, so no discipline is chosen. {}",
        counted(inside.connections as u64, "connection"),
        cut_off(inside, "compare")
    )
}

/// How to get at a tunnel's packets, before doing this with what was inside.
fn cut_off(inside: Inside, to_do: &str) -> String {
    let cut = match inside.cut {
        Some(bytes) => format!("'editcap -T ether -C {bytes} -L FILE INNER' cuts {bytes} bytes"),
        None => "'editcap -T ether -C BYTES -L FILE INNER' cuts bytes".to_owned(),
    };
    format!(
        "Cut the tunnel's headers off and {to_do} what was inside: {cut} off the front of each \
         packet."
    )
}

fn problems(problems: &[Problem]) -> String {
    let mut names = Vec::new();
    for problem in problems {
        names.push(match problem {
            Problem::Directions => "both directions of connections",
            Problem::Interfaces => "several interfaces",
            Problem::Copies => "copies of packets",
            Problem::Inside(_) => "both directions inside of a tunnel",
            Problem::Unreadable => "packets that cannot be read",
            Problem::Times => "packets without times",
            Problem::Coarse(_) => "packets with coarse times",
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

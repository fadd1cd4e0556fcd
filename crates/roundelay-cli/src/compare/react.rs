//! `roundelay compare --react`: the applications behind the capture, simulated under each discipline
//! with senders that react.

use std::path::PathBuf;

use roundelay::QueueSpec;
use roundelay_trace::connections::Applications;

use super::arguments::Compare;
use super::options;
use crate::anonymise::CAPTURE;
use crate::applications::doubts::{Shares, question};
use crate::applications::read_capture;
use crate::applications::scenario::{self, Setting};
use crate::failure::Failure;
use crate::host::{Host, Text};
use crate::runs::Runs;
use crate::simulate;
use crate::simulate::arguments::Simulate;
use crate::simulate::queue::Queue;
use crate::terminal::print;

/// Prints what differs between the disciplines, or what capture would tell.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, or a stop was requested.
pub(super) fn run(arguments: &Compare) -> Result<(), Failure> {
    let mut host = Host::default();
    let options = options(arguments, &host.stop)?;
    let strangers = arguments.strangers.map(&host.stop)?;
    let mut applications = read_capture(&arguments.capture, &options, &host.stop)?;
    if strangers.is_some() {
        applications.name = CAPTURE.to_owned();
    }
    if let Some(question) = question(&applications, arguments.round_trip.is_some()) {
        return print(&question);
    }
    let setting = Setting {
        rate: Some(options.rate),
        round_trip: arguments.round_trip,
        control: arguments.control,
        link: options.link,
        seed: arguments.seed,
        link_only: true,
        ..Setting::default()
    };
    host.text = Some(Text {
        name: format!("applications behind {}", applications.name),
        text: match &strangers {
            Some(map) => map.text(&scenario::text(&applications, &setting)),
            None => scenario::text(&applications, &setting),
        },
    });
    for note in notes(&applications, arguments) {
        host.notes.add(note);
    }
    let mut queue = Vec::new();
    for spec in &options.specs {
        queue.push(Queue::Discipline(QueueSpec {
            discipline: options.discipline_of(spec),
            limit: Some(options.limit_of(spec)),
        }));
    }
    let reason = "with --react there are --json, --html and --markdown";
    let simulated = Simulate {
        scenario: Some(PathBuf::from("-")),
        template: None,
        schema: false,
        dry_run: false,
        queue,
        runs: Runs {
            seed: Some(arguments.seed),
            replicas: arguments.replicas,
            long: true,
            threads: arguments.threads,
            quiet: arguments.quiet,
        },
        outputs: arguments.outputs.of_kind(reason)?,
    };
    simulate::run_in(&simulated, &host)
}

/// What the answer rests on.
fn notes(applications: &Applications, arguments: &Compare) -> Vec<String> {
    let shares = Shares::of(applications);
    let percent = |bytes| 100.0 * shares.part(bytes);
    let mut notes = vec![format!(
        "Senders react: the applications behind the capture are offered to simulated TCP (preset \
         linux, {}), with {:.0}% of the bytes. {:.0}% are sent as recorded.",
        arguments.control.name(),
        percent(shares.whole + shares.half),
        percent(shares.quic + shares.recorded),
    )];
    if percent(shares.quic) >= 5.0 {
        notes.push(format!(
            "QUIC has {:.0}% of the bytes and is sent as recorded, because a capture shows none of \
             its acknowledgements.",
            percent(shares.quic)
        ));
    }
    if shares.endless == 0 {
        notes.push(
            "No transfer wanted more than it got in the capture: at a lower rate, what would wait \
             longest may not be in it."
                .to_owned(),
        );
    }
    if shares.half > 0 {
        notes.push(format!(
            "{:.0}% of the bytes are of connections captured in one direction: their pauses are \
             guesses.",
            percent(shares.half)
        ));
    }
    notes
}

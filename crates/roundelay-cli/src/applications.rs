//! `roundelay applications`: what the applications behind a capture wanted, as a scenario whose
//! senders react.

pub(crate) mod arguments;
pub(crate) mod doubts;
pub(crate) mod scenario;
pub(crate) mod setting;
pub(crate) mod sources;

use std::path::Path;

use roundelay_files::LONGEST_TEXT;
use roundelay_report::doubts;
use roundelay_trace::arguments::parse_rate;
use roundelay_trace::connections::{Applications, applications};
use roundelay_trace::{Options, Selection, Span, Stop};

use crate::anonymise::CAPTURE;
use crate::compare::open;
use crate::failure::Failure;
use crate::host::Host;
use crate::progress::BarOfReadings;
use crate::terminal::{print, tell};
use crate::threads::in_pool;
use arguments::{Arguments, Controls};
use doubts::{remark, warning};
use setting::Setting;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Written { text, doubts } = written(arguments, &Host::default())?;
    for doubt in doubts {
        tell(&format!("note: {doubt}"));
    }
    if text.len() as u64 > LONGEST_TEXT {
        tell(&format!(
            "note: the scenario has {} MB, more than simulate reads ({} MB): --busiest 60s takes a \
             part of the capture",
            text.len().div_ceil(1 << 20),
            LONGEST_TEXT >> 20
        ));
    }
    print(&text)
}

/// What is written of the applications behind a capture.
struct Written {
    /// A scenario.
    text: String,
    /// What is in doubt, in sentences.
    doubts: Vec<String>,
}

/// # Errors
/// The capture is unreadable, holds no packet, or a stop was requested.
fn written(arguments: &Arguments, host: &Host) -> Result<Written, Failure> {
    let mut options = options(arguments)?;
    let strangers = arguments.strangers.map(&host.stop)?;
    let mut applications = read_capture(&arguments.capture, &options, false, &host.stop)?;
    if strangers.is_some() {
        applications.name = CAPTURE.to_owned();
    }
    options.rate = scenario::rate(&applications, arguments.rate);
    let mut written = Written {
        text: String::new(),
        doubts: doubts(&applications, &options),
    };
    let has_round_trip = arguments.round_trip.is_some();
    written.doubts.extend(remark(&applications));
    written
        .doubts
        .extend(warning(&applications, has_round_trip, &arguments.up));
    written.text = scenario::text(&applications, &setting(arguments), &written.doubts);
    if let Some(map) = strangers {
        written.text = map.text(&written.text);
        for doubt in &mut written.doubts {
            *doubt = map.text(doubt);
        }
    }
    Ok(written)
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let any = parse_rate("1bit").map_err(Failure::usage)?;
    let mut options = Options::new(arguments.rate.unwrap_or(any), Vec::new());
    let selection = Selection {
        interface: arguments.interface.clone(),
        filter: arguments.filter.clone(),
        keep_duplicates: arguments.keep_duplicates,
        mirrored: arguments.mirrored,
        ..Selection::default()
    };
    options.selection = arguments.direction.clone().choose(selection);
    options.span = Span {
        from: arguments.from,
        to: arguments.to,
        busiest: arguments.busiest,
    };
    options.adapts = true;
    options.captured_rate = arguments.captured_rate;
    Ok(options)
}

fn setting(arguments: &Arguments) -> Setting {
    Setting {
        rate: arguments.rate,
        up: arguments.up.clone(),
        round_trip: arguments.round_trip,
        controls: Controls::of(&arguments.control),
        ..Setting::default()
    }
}

/// Reads the applications behind a capture, with a bar on a terminal unless quiet.
///
/// # Errors
/// The capture is unreadable, holds no packet, or a stop was requested.
pub(crate) fn read_capture(
    path: &Path,
    options: &Options,
    is_quiet: bool,
    stop: &Stop,
) -> Result<Applications, Failure> {
    let capture = open(path, stop)?;
    let mut observer = BarOfReadings::new(capture.size(), is_quiet, stop);
    let read = in_pool(None, || applications(capture, options, &mut observer))?;
    read.map_err(|error| {
        if stop.is_requested() {
            Failure::stopped()
        } else {
            Failure::usage(error)
        }
    })
}

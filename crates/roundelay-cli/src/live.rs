//! `roundelay live`: puts a discipline between two interfaces, or around a command. Other commands
//! find here what they do with a run's record.

#[cfg(target_os = "linux")]
mod anonymous;
pub(crate) mod arguments;
#[cfg(target_os = "linux")]
mod beside;
#[cfg(target_os = "linux")]
mod drawn;
#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod lines;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
pub(crate) mod run;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(all(target_os = "linux", feature = "view"))]
mod view;
#[cfg(all(target_os = "linux", not(feature = "view")))]
#[path = "live/no_view.rs"]
mod view;

use std::path::Path;

use roundelay::{Fault, Rate};
use roundelay_live::{
    Change, QueueText, Recording, Replayed, ReplayedWay, SettingsError, Start, Way, WeightTexts,
    log, replay,
};
use roundelay_metrics::units::{self, counted, seconds};
use roundelay_report::clean;
use roundelay_trace::arguments::{parse_rate, parse_spec};

use crate::failure::Failure;
use crate::terminal::print;
#[cfg(not(target_os = "linux"))]
use arguments::Live;

/// The interface with a record's settings and fates.
pub(crate) use roundelay_live::NOTES;
#[cfg(target_os = "linux")]
pub(crate) use run::run;

/// Refuses, because real packets need Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &Live) -> Result<u8, Failure> {
    Err(Failure::usage(
        "live: packets of interfaces are read on Linux only; expected Linux",
    ))
}

/// A change as it is written: a setting and its value.
fn change(setting: &str, value: &str) -> Result<Change, Failure> {
    match setting {
        "rate" => {
            let rate = parse_rate(value)
                .map_err(|fault| Failure::usage(fault.behind(format_args!("rate {value}: "))))?;
            Ok(Change::Rate(rate.bits_per_second()))
        }
        "queue" => {
            parse_spec(value)
                .map_err(|fault| Failure::usage(fault.behind(format_args!("queue {value}: "))))?;
            Ok(Change::Queue(QueueText::Discipline(value.to_owned())))
        }
        "weight" => {
            let rules = vec![value.to_owned()];
            let texts = WeightTexts { rules, file: None };
            texts.rules().map_err(|SettingsError(fault)| {
                Failure::usage(fault.behind(format_args!("weight {value}: ")))
            })?;
            Ok(Change::Weights(texts))
        }
        _ => {
            let legal = "rate, queue, weight";
            let fault = Fault::new(format!("no setting is called '{setting}': {legal}"));
            Err(Failure::usage(fault.with_given(setting).with_legal(legal)))
        }
    }
}

/// `roundelay compare` for a record, without --rate: both directions are replayed as they were.
pub(crate) fn compare(path: &Path) -> Result<(), Failure> {
    let recording = Recording::open(path).map_err(Failure::refused)?;
    let name = recording.name().to_owned();
    let start = recording.start().clone();
    let replayed = replay(recording).map_err(Failure::refused)?;
    print(&text(&name, &start, &replayed))?;
    if replayed.is_equal() {
        return Ok(());
    }
    Err(Failure::run(format!(
        "{name}: the replay gives other departures than the run"
    )))
}

/// A replay in words.
fn text(name: &str, start: &Start, replayed: &Replayed) -> String {
    let mut text = format!("{name}: a run of roundelay live {}\n", start.version);
    for (way, found) in Way::BOTH.into_iter().zip(&replayed.ways) {
        let own = start.settings.way(way);
        let rate = Rate::from_bits_per_second(own.rate).map(|rate| rate.to_string());
        let mut rate = rate.unwrap_or_default();
        if let Some((trace, _)) = &own.trace {
            let mean = units::rate(own.rate as f64);
            rate = format!("trace {trace}, {mean} on average,");
        }
        text += &format!("{way}: {rate} under {}", own.queue);
        if found.changes > 0 {
            text += &format!(" at first, {} on the way", counted(found.changes, "change"));
        }
        text += &format!(
            "\n  {} in, {} sent, {} dropped, {} marked",
            found.arrived, found.sent, found.dropped, found.marked
        );
        if found.lost > 0 {
            text += &format!(", {} lost on the wire", found.lost);
        }
        text += &delays(found);
        text += &agreement(found);
    }
    text += &match &replayed.end {
        Some(end) => format!("The run's own verdict: {}", end.verdict),
        None => "The record stops without an end: the run was cut off.\n".to_owned(),
    };
    text += &format!(
        "Other disciplines on the same packets: roundelay compare {name} --interface up --rate \
         RATE\n"
    );
    // Version, queues and verdict are those of the file, which may be anybody's.
    let lines: Vec<_> = text.lines().map(clean).collect();
    lines.join("\n") + "\n"
}

/// The delay, or a table where queue, rate or weights changed.
fn delays(found: &ReplayedWay) -> String {
    match &found.phases[..] {
        [only] => match only.delay {
            Some([p50, p99]) => format!(
                "\n  delay in queue and link: p50 {}, p99 {}\n",
                seconds(p50),
                seconds(p99)
            ),
            None => "\n".to_owned(),
        },
        phases => {
            let mut text = "\n".to_owned();
            for phase in phases {
                text += &phase.table(false);
            }
            text
        }
    }
}

fn agreement(found: &ReplayedWay) -> String {
    let recorded = counted(found.recorded, "fate");
    if found.is_equal() {
        return format!("  {recorded} in the record, all the same in the replay\n");
    }
    let mut text = format!(
        "  {recorded} in the record, {} in the replay, {} the same\n",
        found.replayed, found.equal
    );
    if let Some((recorded, replayed)) = &found.first_difference {
        let show = |line: &Option<String>| line.clone().unwrap_or_else(|| "nothing".to_owned());
        text += &format!(
            "  first difference: recorded {}, replayed {}\n",
            show(recorded),
            show(replayed)
        );
    }
    text
}

/// Whether a file is a run's record.
pub(crate) fn is_record(path: &Path) -> bool {
    // You can read a pipe only once, so it is not tried.
    path.is_file() && roundelay_live::is_record(path)
}

/// What `roundelay verify` checks of a record.
pub(crate) struct RecordedLog {
    pub(crate) text: String,
    /// Changes of rate, queue or weights.
    pub(crate) changes: u64,
    /// The record stops without the run's end.
    pub(crate) is_cut: bool,
}

/// A record's log. Fails if its replay gives other departures.
pub(crate) fn log_of(path: &Path) -> Result<RecordedLog, Failure> {
    let recording = Recording::open(path).map_err(Failure::refused)?;
    let name = recording.name().to_owned();
    let log = log(recording).map_err(Failure::refused)?;
    if !log.replayed.is_equal() {
        return Err(Failure::run(format!(
            "{name}: the replay gives other departures than the run; roundelay compare {name} \
             shows the first"
        )));
    }
    Ok(RecordedLog {
        text: log.text,
        changes: log.changes,
        is_cut: log.replayed.end.is_none(),
    })
}

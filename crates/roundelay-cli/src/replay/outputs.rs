//! Outputs of `roundelay replay`.

#[cfg(feature = "parquet")]
use std::path::Path;

use roundelay_report::json;
#[cfg(feature = "parquet")]
use roundelay_report::{write_replays, write_schedule};

use super::result::Replays;
#[cfg(feature = "parquet")]
use crate::failure::Failure;
#[cfg(feature = "parquet")]
use crate::outputs::{One, Part, Target, Write, table_file};
use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Replaying;

#[cfg(feature = "parquet")]
const SCHEDULE: &str = "schedule";
#[cfg(feature = "parquet")]
const REPLAYS: &str = "replays";

#[cfg(feature = "parquet")]
static ONE_SCHEDULE: One = One {
    name: "schedule",
    ..One::RUN
};

impl Writes for Replaying {
    type Results<'a> = Replays<'a>;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|replays| Ok(json(replays.replayed))),
        Output::html(|replays| Ok(replays.replayed.html())),
        Output::markdown(|replays| Ok(replays.replayed.document().markdown())),
        #[cfg(feature = "parquet")]
        Output {
            option: "parquet",
            help: "Write Parquet files into this folder: schedule.parquet (a row per packet) and \
                replays.parquet (a row per packet and discipline); one schedule only",
            target: Target::Folder(&[Part::named(SCHEDULE), Part::named(REPLAYS)]),
            only: Some(&ONE_SCHEDULE),
            write: Write::After(|folder, replays| write(folder, replays)),
        },
    ];
}

#[cfg(feature = "parquet")]
fn write(folder: &Path, replays: &Replays<'_>) -> Result<(), Failure> {
    let Some(run) = replays.runs.first() else {
        return Ok(());
    };
    let Some(recorded) = &run.schedule else {
        return Ok(());
    };
    let file = |name: &str| table_file(folder, name, "parquet");
    write_schedule(&file(SCHEDULE), recorded, replays.metadata).map_err(Failure::run)?;
    let mut outcomes = Vec::new();
    for (candidate, (outcome, _)) in replays.candidates.iter().zip(&run.outcomes) {
        outcomes.push((candidate.name.as_str(), outcome));
    }
    write_replays(&file(REPLAYS), recorded, &outcomes, replays.metadata).map_err(Failure::run)
}

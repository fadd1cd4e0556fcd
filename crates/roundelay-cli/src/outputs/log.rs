//! Output `--log`: every event of a run, for `roundelay verify`.

use std::path::Path;

use roundelay::Instant;
use roundelay_sim::Probe;
use roundelay_sim::log::Log;

use super::{OfSimulation, OpenFile, Output, Run, Target, Use};
use crate::call::Ran;
use crate::failure::Failure;

pub(super) static OUTPUT: Output = Output {
    option: "log",
    target: Target::File,
    compare: None,
    simulate: Some(Use {
        help: "Write a log of all events, for `roundelay verify`; one run only",
        files: &[],
        only: Some("run"),
        open: Some(open),
    }),
    replay: None,
};

fn open(path: &Path, run: &Run<'_>) -> Result<Box<dyn OfSimulation>, Failure> {
    let file = OpenFile::create(path)?;
    let log = Log::new(file.clone(), run.network);
    Ok(Box::new(Events { file, log, end: Instant::ZERO + run.scenario.duration }))
}

struct Events {
    file: OpenFile,
    log: Log<OpenFile>,
    end: Instant,
}

impl OfSimulation for Events {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut self.log)
    }

    fn finish(self: Box<Self>, _: &Ran) -> Result<(), Failure> {
        let Self { file, mut log, end } = *self;
        let written = log.finish(end);
        drop(log);
        file.finish(written)
    }
}

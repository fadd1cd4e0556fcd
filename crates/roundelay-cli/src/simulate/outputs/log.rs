//! The output `--log`: every event of a run, for `roundelay verify`.

use std::path::Path;

use roundelay::Instant;
use roundelay_sim::Probe;
use roundelay_sim::log::Log;

use super::{Run, Simulating};
use crate::failure::Failure;
use crate::outputs::{OpenFile, Opened, Opening};
use crate::simulate::result::Ran;

pub(super) fn open(path: &Path, run: &Run<'_>) -> Opening<Simulating> {
    let file = OpenFile::create(path)?.stopping(run.stop.clone());
    let log = Log::new(file.clone(), run.network);
    Ok(Box::new(Events {
        file,
        log,
        end: Instant::ZERO + run.scenario.duration,
    }))
}

struct Events {
    file: OpenFile,
    log: Log<OpenFile>,
    end: Instant,
}

impl Opened<Simulating> for Events {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut self.log)
    }

    fn failure(&self) -> Option<Failure> {
        self.file.failure()
    }

    fn finish(self: Box<Self>, _: &Ran) -> Result<(), Failure> {
        let Self { file, mut log, end } = *self;
        let written = log.finish(end);
        drop(log);
        file.finish(written)
    }
}

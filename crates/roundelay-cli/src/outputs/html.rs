//! Output `--html`: a self-contained page with all results and charts.

use super::{OfComparison, OfReplay, OfSimulation, OpenFile, Output, Target, Use};
use crate::call::{Compared, Ran};
use crate::failure::Failure;
use crate::replay::Replays;

const fn page<O>(open: O) -> Option<Use<O>> {
    Some(Use { help: "Write a self-contained HTML page", files: &[], only: None, open: Some(open) })
}

pub(super) static OUTPUT: Output = Output {
    option: "html",
    target: Target::File,
    compare: page(|path, _| Ok(Box::new(Page(OpenFile::create(path)?)))),
    simulate: page(|path, _| Ok(Box::new(Page(OpenFile::create(path)?)))),
    replay: page(|path, _| Ok(Box::new(Page(OpenFile::create(path)?)))),
};

/// The page's file; the page is written after the run.
struct Page(OpenFile);

impl OfComparison for Page {
    fn finish(self: Box<Self>, compared: &Compared) -> Result<(), Failure> {
        self.0.finish_with(&compared.html())
    }
}

impl OfSimulation for Page {
    fn has_curves(&self) -> bool {
        true
    }

    fn finish(self: Box<Self>, ran: &Ran) -> Result<(), Failure> {
        self.0.finish_with(&ran.html())
    }
}

impl OfReplay for Page {
    fn finish(self: Box<Self>, replays: &Replays<'_>) -> Result<(), Failure> {
        self.0.finish_with(&replays.replayed.html())
    }
}

//! Output `--pcapng`: the packets on all links, for Wireshark.

use std::path::Path;

use roundelay_sim::Probe;
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::scenario::Group;

use super::{OfSimulation, OpenFile, Output, Run, Target, Use};
use crate::call::Ran;
use crate::failure::Failure;

pub(super) static OUTPUT: Output = Output {
    option: "pcapng",
    target: Target::File,
    compare: None,
    simulate: Some(Use {
        help: "Write the packets on all links as a pcapng capture, for Wireshark, one interface per link; one run only",
        files: &[],
        only: Some("run"),
        open: Some(open),
    }),
    replay: None,
};

fn open(path: &Path, run: &Run<'_>) -> Result<Box<dyn OfSimulation>, Failure> {
    let file = OpenFile::create(path)?;
    let capture = Pcapng::new(file.clone(), run.network).with_marks(run.scenario.groups.iter().map(Group::marks));
    Ok(Box::new(Links { file, capture }))
}

struct Links {
    file: OpenFile,
    capture: Pcapng<OpenFile>,
}

impl OfSimulation for Links {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut self.capture)
    }

    fn finish(self: Box<Self>, _: &Ran) -> Result<(), Failure> {
        let Self { file, mut capture } = *self;
        let written = capture.finish();
        drop(capture);
        file.finish(written)
    }
}

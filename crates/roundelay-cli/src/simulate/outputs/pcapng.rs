//! The output `--pcapng`: the packets on all links, for Wireshark.

use std::path::Path;

use roundelay_sim::Probe;
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::scenario::Group;

use super::{Run, Simulating};
use crate::failure::Failure;
use crate::outputs::{OpenFile, Opened, Opening};
use crate::simulate::result::Ran;

pub(super) fn open(path: &Path, run: &Run<'_>) -> Opening<Simulating> {
    let file = OpenFile::create(path)?.stopping(run.stop.clone());
    let capture = Pcapng::new(file.clone(), run.network)
        .with_marks(run.scenario.groups.iter().map(Group::marks));
    Ok(Box::new(Links { file, capture }))
}

struct Links {
    file: OpenFile,
    capture: Pcapng<OpenFile>,
}

impl Opened<Simulating> for Links {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut self.capture)
    }

    fn failure(&self) -> Option<Failure> {
        self.file.failure()
    }

    fn finish(self: Box<Self>, _: &Ran) -> Result<(), Failure> {
        let Self { file, mut capture } = *self;
        let written = capture.finish();
        drop(capture);
        file.finish(written)
    }
}

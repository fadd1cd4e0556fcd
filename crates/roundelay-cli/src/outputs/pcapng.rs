//! Output `--pcapng`: the packets on all links, for Wireshark.

use std::path::Path;

use roundelay_sim::Probe;
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::scenario::Group;

use super::{One, OpenFile, Opened, Opening, Output, Run, Simulating, Target, Use, Write};
use crate::call::Ran;
use crate::failure::Failure;

pub(super) static OUTPUT: Output = Output {
    simulate: Some(Use {
        help: "Write the packets on all links as a pcapng capture, for Wireshark, one interface per link; one run only",
        target: Target::File,
        only: Some(&One::RUN),
        write: Write::During(|path, run| open(path, run)),
    }),
    ..Output::new("pcapng")
};

fn open(path: &Path, run: &Run<'_>) -> Opening<Simulating> {
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

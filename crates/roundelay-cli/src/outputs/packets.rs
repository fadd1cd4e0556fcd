//! Output `--packets`: with `--parquet`, a row for each packet of a run, and for each packet and link.

use std::path::Path;

use roundelay_report::{SimulatedHops, SimulatedPackets};
use roundelay_sim::Probe;

use super::{OfSimulation, Output, Part, Run, Target, Use};
use crate::call::Ran;
use crate::failure::Failure;

pub(super) static OUTPUT: Output = Output {
    option: "packets",
    target: Target::FolderOf("parquet"),
    compare: None,
    simulate: Some(Use {
        help: "With --parquet: also packets.parquet (a row per packet) and hops.parquet (a row per packet and link); one run only",
        files: &[Part::named(PACKETS), Part::named(HOPS)],
        only: Some("run"),
        open: Some(open),
    }),
    replay: None,
};

const PACKETS: &str = "packets";
const HOPS: &str = "hops";

fn open(folder: &Path, run: &Run<'_>) -> Result<Box<dyn OfSimulation>, Failure> {
    let packets = SimulatedPackets::create(&OUTPUT.file(folder, PACKETS), run.network, run.metadata).map_err(Failure::run)?;
    let hops = SimulatedHops::create(&OUTPUT.file(folder, HOPS), run.network, run.metadata).map_err(Failure::run)?;
    Ok(Box::new(Rows((packets, hops))))
}

struct Rows((SimulatedPackets, SimulatedHops));

impl OfSimulation for Rows {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut self.0)
    }

    fn finish(self: Box<Self>, _: &Ran) -> Result<(), Failure> {
        let Self((packets, hops)) = *self;
        packets.finish().and_then(|()| hops.finish()).map_err(Failure::run)
    }
}

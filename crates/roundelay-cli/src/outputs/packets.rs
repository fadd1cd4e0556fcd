//! Output `--packets`: with `--parquet`, a row for each packet of a run, and for each packet and
//! link.

use std::path::Path;

use roundelay_report::{SimulatedHops, SimulatedPackets};
use roundelay_sim::Probe;

use super::{One, Opened, Opening, Output, Part, Run, Simulating, Target, Use, Write, parquet};
use crate::call::Ran;
use crate::failure::Failure;

pub(super) static OUTPUT: Output = Output {
    simulate: Some(Use {
        help: "With --parquet: also packets.parquet (a row per packet) and hops.parquet (a row per packet and link); one run only",
        target: Target::FolderOf("parquet", &[Part::named(PACKETS), Part::named(HOPS)]),
        only: Some(&One::RUN),
        write: Write::During(|path, run| open(path, run)),
    }),
    ..Output::new("packets")
};

const PACKETS: &str = "packets";
const HOPS: &str = "hops";

fn open(folder: &Path, run: &Run<'_>) -> Opening<Simulating> {
    let [packets, hops] = [PACKETS, HOPS].map(|name| parquet::file(folder, name));
    let packets =
        SimulatedPackets::create(&packets, run.network, run.metadata).map_err(Failure::run)?;
    let hops = SimulatedHops::create(&hops, run.network, run.metadata).map_err(Failure::run)?;
    Ok(Box::new(Rows((
        packets.stopping(run.stop.clone()),
        hops.stopping(run.stop.clone()),
    ))))
}

struct Rows((SimulatedPackets, SimulatedHops));

impl Opened<Simulating> for Rows {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut self.0)
    }

    fn failure(&self) -> Option<Failure> {
        let Self((packets, hops)) = self;
        let first = packets.failure().or(hops.failure());
        first.map(Failure::run)
    }

    fn finish(self: Box<Self>, _: &Ran) -> Result<(), Failure> {
        let Self((packets, hops)) = *self;
        packets
            .finish()
            .and_then(|()| hops.finish())
            .map_err(Failure::run)
    }
}

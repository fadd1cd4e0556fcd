//! The output `--packets`: with `--parquet`, a row for each packet of a run, and for each packet
//! and link.

use std::path::Path;

use roundelay_report::{SimulatedHops, SimulatedPackets};
use roundelay_sim::Probe;

use super::{HOPS, PACKETS, Run, Simulating};
use crate::failure::Failure;
use crate::outputs::{Opened, Opening, table_file};
use crate::simulate::result::Ran;

pub(super) fn open(folder: &Path, run: &Run<'_>) -> Opening<Simulating> {
    let [packets, hops] = [PACKETS, HOPS].map(|name| table_file(folder, name, "parquet"));
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

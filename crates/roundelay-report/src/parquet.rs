//! Parquet output of packets and flows, for pandas, polars and DuckDB.
//!
//! Packets are written as they arrive, in row groups of 131,072: memory is constant for any length
//! of run; flows are one row group per discipline. Packet times are plain 64-bit integers,
//! nanoseconds since the Unix epoch: `end_ns - arrival_ns` is the delay to the nanosecond in every
//! reader.

mod column;
mod flows;
mod measurements;
mod packets;
mod rates;
mod rows;
mod schedule;
mod simulated_hops;
mod simulated_packets;
mod simulation;
mod sweep;
mod transfers;

pub use column::{Cells, Column};
pub use flows::FLOWS;
pub use measurements::{Measurement, write_measurements};
pub use packets::{Fate, PacketFile, PacketRow};
pub use rates::RATES;
pub use rows::{Setting, Table, TableOf};
pub use schedule::{read_schedule, write_replays, write_schedule};
pub use simulated_hops::SimulatedHops;
pub use simulated_packets::SimulatedPackets;
pub use simulation::{LINKS, SIMULATED_FLOWS};
pub use sweep::{SWEEP_FIGURES, SweepFile, SweepRow, sweep_rows, sweep_table};
pub use transfers::TRANSFERS;

use roundelay_trace::Comparison;

use crate::Simulated;

/// The tables of a comparison.
pub const COMPARED: [&TableOf<Comparison>; 1] = [&FLOWS];
/// The tables of a simulation.
pub const SIMULATED: [&TableOf<Simulated>; 4] = [&SIMULATED_FLOWS, &LINKS, &TRANSFERS, &RATES];

/// Metadata of a file that identifies its origin: the version of Roundelay, the seed, and a hash of
/// `config`, the configuration as text.
///
/// The hash is 64-bit FNV-1a, equal on every machine and in every version. The hash distinguishes
/// configurations but does not resist deliberate collisions.
pub fn provenance(version: &str, seed: u64, config: &str) -> Vec<(String, String)> {
    let hash = config.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let entries = [("version", version.to_owned()), ("seed", seed.to_string()), ("config_hash", format!("{hash:016x}"))];
    entries.map(|(key, value)| (format!("roundelay.{key}"), value)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_always_has_the_same_hash_and_another_has_another() {
        let hash = |config| provenance("0.1.0", 7, config)[2].1.clone();
        // The published test vectors of 64-bit FNV-1a.
        assert_eq!(hash(""), "cbf29ce484222325");
        assert_eq!(hash("foobar"), "85944171f73967e8");
        assert_eq!(provenance("0.1.0", 7, "")[1], ("roundelay.seed".to_owned(), "7".to_owned()));
    }
}

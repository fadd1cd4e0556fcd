//! Parquet output of packets and tables, for pandas, polars and DuckDB.
//!
//! Packets are written as they arrive, in row groups of 131,072, so memory is constant however long
//! the run is. Flows are one row group per discipline. Packet times are plain 64-bit integers,
//! nanoseconds since the Unix epoch, so `end_ns - arrival_ns` is the delay to the nanosecond in
//! every reader.

mod file;
mod measurements;
mod packets;
mod row_groups;
mod schedule;
mod simulated_hops;
mod simulated_packets;
mod sweep;
mod sweep_rows;
mod sweep_runs;

pub(crate) use file::ColumnFile;
pub use measurements::{Measurement, write_measurements};
pub use packets::{Fate, PacketFile, PacketRow};
pub use schedule::{DECODER, read_schedule, write_replays, write_schedule};
pub use simulated_hops::SimulatedHops;
pub use simulated_packets::SimulatedPackets;

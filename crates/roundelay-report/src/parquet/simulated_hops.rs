//! Parquet file of hops: one row per packet and link, written when the packet gets the link.
//! Together with the packets, this is the schedule of the run.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.1: path(p), i(p),
//! o(p), and the input of a replay for each hop.

use std::path::Path;

use bytes::Bytes;
use roundelay::{Instant, Packet};
use roundelay_sim::{LinkId, Network, PacketState, Probe, Tag};
use roundelay_trace::Stop;

use super::row_groups::RowGroups;
use crate::ReportError;
use crate::tables::{Column, picos};

/// A packet and a link.
#[derive(Debug, Clone, Copy)]
struct Row {
    packet: u64,
    link: LinkId,
    arrival: Instant,
    /// When the first and the last bit depart.
    span: [Instant; 2],
}

/// A Parquet file of hops under construction, as a [`Probe`]. [`SimulatedHops::finish`] renames the
/// file to its final name. Without `finish` the file is removed.
#[derive(Debug)]
pub struct SimulatedHops {
    rows: RowGroups<Row, 5>,
}

impl SimulatedHops {
    /// Starts a file, with `metadata` for its footer, for example from
    /// [`provenance`](crate::provenance).
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn create(
        path: &Path,
        network: &Network,
        metadata: &[(String, String)],
    ) -> Result<Self, ReportError> {
        let rows = RowGroups::create(path, network, metadata, columns)?;
        Ok(Self { rows })
    }

    /// Requests this stop at the first failed write: the run would go on in vain.
    #[must_use]
    pub fn stopping(mut self, stop: Stop) -> Self {
        self.rows.stop = stop;
        self
    }

    /// The first failed write, if any.
    pub const fn failure(&self) -> Option<&ReportError> {
        self.rows.failure()
    }

    /// Writes the remaining rows and renames the file to its final name.
    ///
    /// # Errors
    ///
    /// The operating system's error, from this call or an earlier write, with the file's name.
    pub fn finish(self) -> Result<(), ReportError> {
        self.rows.finish()
    }
}

impl Probe for SimulatedHops {
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
        self.rows.push(Row {
            packet: state.number,
            link,
            arrival: packet.arrival,
            span,
        });
    }
}

fn columns(rows: &[Row], links: &[Bytes]) -> [Column; 5] {
    [
        Column::of("packet", rows, |row| row.packet),
        Column::of("link", rows, |row| links[row.link.0 as usize].clone()),
        Column::of("arrival_ps", rows, |row| picos(row.arrival)),
        Column::of("start_ps", rows, |row| picos(row.span[0])),
        Column::of("end_ps", rows, |row| picos(row.span[1])),
    ]
}

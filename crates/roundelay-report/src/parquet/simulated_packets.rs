//! Parquet file of a simulation's packets: one row per packet, written when the packet ends.
//! Packets still in the network come last.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use roundelay::{DropReason, Instant, Packet};
use roundelay_sim::{Content, Direction, LinkId, Network, PacketState, Probe, Tag};
use roundelay_trace::Stop;

use super::row_groups::RowGroups;
use crate::ReportError;
use crate::tables::{Column, picos, shared};

/// What became of a packet, and when.
#[derive(Debug, Clone, Copy)]
struct Row {
    packet: u64,
    flow: u64,
    back: bool,
    sequence: Option<u64>,
    acknowledgement: Option<u64>,
    len: u32,
    sent: Instant,
    end: Option<Instant>,
    /// A name from [`DropReason::name`], or delivered, lost, edge_dropped, on_its_way.
    fate: &'static str,
    /// The link where it was dropped or lost.
    link: Option<LinkId>,
}

impl Row {
    fn sent(packet: &Packet<Tag>, state: &PacketState) -> Self {
        let (sequence, acknowledgement) = match &state.content {
            Content::Bytes => (None, None),
            Content::Number(number) => (Some(*number), None),
            Content::Segment(segment) if state.direction == Direction::Forward => {
                (Some(segment.sequence), None)
            }
            Content::Segment(segment) => (None, Some(segment.acknowledgement)),
        };
        Self {
            packet: state.number,
            flow: state.flow.0,
            back: state.direction == Direction::Backward,
            sequence,
            acknowledgement,
            len: packet.len,
            sent: state.sent,
            end: None,
            fate: "on_its_way",
            link: None,
        }
    }
}

/// A Parquet file of a simulation's packets under construction: a [`Probe`] that writes a row for
/// each packet. [`SimulatedPackets::finish`] renames the file to its final name. Without `finish`
/// the file is removed. Memory grows with the number of packets in the network.
#[derive(Debug)]
pub struct SimulatedPackets {
    on_their_way: HashMap<u64, Row>,
    rows: RowGroups<Row, 10>,
}

impl SimulatedPackets {
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
        Ok(Self {
            on_their_way: HashMap::new(),
            rows: RowGroups::create(path, network, metadata, columns)?,
        })
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
    pub fn finish(mut self) -> Result<(), ReportError> {
        let mut left: Vec<_> = self.on_their_way.drain().map(|(_, row)| row).collect();
        left.sort_by_key(|row| row.packet);
        for row in left {
            self.rows.push(row);
        }
        self.rows.finish()
    }

    fn end(&mut self, now: Instant, state: &PacketState, fate: &'static str, link: Option<LinkId>) {
        if let Some(row) = self.on_their_way.remove(&state.number) {
            self.rows.push(Row {
                end: Some(now),
                fate,
                link,
                ..row
            });
        }
    }
}

impl Probe for SimulatedPackets {
    fn sent(&mut self, _: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.on_their_way
            .insert(state.number, Row::sent(packet, state));
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        _: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.end(now, state, reason.name(), Some(link));
    }

    fn lost(&mut self, now: Instant, link: LinkId, _: &Packet<Tag>, state: &PacketState) {
        self.end(now, state, "lost", Some(link));
    }

    fn edge_dropped(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        self.end(now, state, "edge_dropped", None);
    }

    fn delivered(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        self.end(now, state, "delivered", None);
    }
}

fn columns(rows: &[Row], links: &[Bytes]) -> [Column; 10] {
    let link = |row: &Row| match row.link {
        Some(link) => links[link.0 as usize].clone(),
        None => shared(""),
    };
    [
        Column::of("packet", rows, |row| row.packet),
        Column::of("flow", rows, |row| row.flow),
        Column::of("back", rows, |row| row.back),
        Column::of("sequence", rows, |row| row.sequence),
        Column::of("acknowledgement", rows, |row| row.acknowledgement),
        Column::of("len", rows, |row| row.len),
        Column::of("sent_ps", rows, |row| picos(row.sent)),
        Column::of("end_ps", rows, |row| row.end.map(picos)),
        Column::of("fate", rows, |row| row.fate),
        Column::of("link", rows, link),
    ]
}

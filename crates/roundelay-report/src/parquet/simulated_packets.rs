//! Parquet file of a simulation's packets: one row per packet, written at the packet's end; packets
//! still in the network come last.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use roundelay::{DropReason, Instant, Packet};
use roundelay_sim::{Content, Direction, LinkId, Network, PacketState, Probe, Tag};

use super::file::ColumnFile;
use super::simulated_hops::names;
use crate::ReportError;
use crate::tables::{Column, GROUP_ROWS, Values, shared};

/// Fate and times of a packet.
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
    /// A name of [`DropReason::name`], or delivered, lost, edge_dropped, on_its_way.
    fate: &'static str,
    /// The link of a drop or loss.
    link: Option<LinkId>,
}

impl Row {
    fn sent(packet: &Packet<Tag>, state: &PacketState) -> Self {
        let (sequence, acknowledgement) = match &state.content {
            Content::Bytes => (None, None),
            Content::Number(number) => (Some(*number), None),
            Content::Segment(segment) if state.direction == Direction::Forward => (Some(segment.sequence), None),
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
/// each packet. [`SimulatedPackets::finish`] renames the file to its final name; without `finish`
/// the file is removed. Memory grows with the number of packets in the network.
#[derive(Debug)]
pub struct SimulatedPackets {
    file: ColumnFile,
    on_their_way: HashMap<u64, Row>,
    rows: Vec<Row>,
    links: Vec<Bytes>,
    failure: Option<ReportError>,
}

impl SimulatedPackets {
    /// Starts a file, with `metadata` for its footer, for example from
    /// [`provenance`](crate::provenance).
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn create(path: &Path, network: &Network, metadata: &[(String, String)]) -> Result<Self, ReportError> {
        let file = ColumnFile::create(path, &columns(&[], &[]), metadata)?;
        Ok(Self { file, on_their_way: HashMap::new(), rows: Vec::with_capacity(GROUP_ROWS), links: names(network), failure: None })
    }

    /// Writes the remaining rows and renames the file to its final name.
    ///
    /// # Errors
    ///
    /// The operating system's error, from this call or an earlier write, with the file's name.
    pub fn finish(mut self) -> Result<(), ReportError> {
        let mut left: Vec<_> = self.on_their_way.drain().map(|(_, row)| row).collect();
        left.sort_by_key(|row| row.packet);
        left.into_iter().for_each(|row| self.push(row));
        if !self.rows.is_empty() {
            self.flush();
        }
        self.failure.map_or_else(|| self.file.finish(), Err)
    }

    fn push(&mut self, row: Row) {
        self.rows.push(row);
        if self.rows.len() == GROUP_ROWS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let columns = columns(&self.rows, &self.links);
        self.rows.clear();
        if self.failure.is_none() {
            self.failure = self.file.write(&columns).err();
        }
    }

    fn end(&mut self, now: Instant, state: &PacketState, fate: &'static str, link: Option<LinkId>) {
        if let Some(row) = self.on_their_way.remove(&state.number) {
            self.push(Row { end: Some(now), fate, link, ..row });
        }
    }
}

impl Probe for SimulatedPackets {
    fn sent(&mut self, _: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.on_their_way.insert(state.number, Row::sent(packet, state));
    }

    fn dropped(&mut self, now: Instant, link: LinkId, _: &Packet<Tag>, state: &PacketState, reason: DropReason) {
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
    let picos = |at: Instant| at.as_picos().cast_signed();
    let link = |row: &Row| row.link.map_or_else(|| shared(""), |link| links[link.0 as usize].clone());
    [
        Column { name: "packet", values: Values::Counts(rows.iter().map(|row| row.packet).collect()) },
        Column { name: "flow", values: Values::Counts(rows.iter().map(|row| row.flow).collect()) },
        Column { name: "back", values: Values::Flags(rows.iter().map(|row| row.back).collect()) },
        Column { name: "sequence", values: Values::OptionalCounts(rows.iter().map(|row| row.sequence).collect()) },
        Column { name: "acknowledgement", values: Values::OptionalCounts(rows.iter().map(|row| row.acknowledgement).collect()) },
        Column { name: "len", values: Values::Small(rows.iter().map(|row| row.len).collect()) },
        Column { name: "sent_ps", values: Values::Times(rows.iter().map(|row| picos(row.sent)).collect()) },
        Column { name: "end_ps", values: Values::OptionalTimes(rows.iter().map(|row| row.end.map(picos)).collect()) },
        Column { name: "fate", values: Values::Texts(rows.iter().map(|row| shared(row.fate)).collect()) },
        Column { name: "link", values: Values::Texts(rows.iter().map(link).collect()) },
    ]
}

//! One row a packet of a simulation, written as packets come to their ends.

use std::path::Path;

use parquet::data_type::ByteArray;
use roundelay::{DropReason, Instant, Packet};
use roundelay_sim::{Cargo, Carried, Direction, LinkId, Network, Probe};

use super::column::{Column, ColumnFile, GROUP_ROWS, Values};
use crate::ReportError;

/// What became of a packet, and when.
#[derive(Debug, Clone, Copy)]
struct Row {
    packet: u64,
    flow: u64,
    back: bool,
    len: u32,
    sent: Instant,
    end: Instant,
    /// As in [`DropReason::name`], or delivered, or lost.
    fate: &'static str,
    /// Where it was dropped or lost.
    link: Option<LinkId>,
}

/// A Parquet file of the packets of a simulation, in the making: a [`Probe`] with a row for each packet that comes to an end. It takes its name in
/// [`SimulatedPackets::finish`], and vanishes if it never comes to that.
#[derive(Debug)]
pub struct SimulatedPackets {
    file: ColumnFile,
    rows: Vec<Row>,
    /// Of each link: its name, and the bytes that it adds to a packet.
    links: Vec<(ByteArray, u32)>,
    failure: Option<ReportError>,
}

impl SimulatedPackets {
    /// Starts a file, with `metadata` such as [`provenance`](crate::provenance) gives for its footer.
    ///
    /// # Errors
    ///
    /// What the operating system said, with the file's name.
    pub fn create(path: &Path, network: &Network, metadata: &[(String, String)]) -> Result<Self, ReportError> {
        let name = |link: &roundelay_sim::LinkConfig| format!("{} > {}", network.name(link.from), network.name(link.to));
        let links = network.links().iter().map(|link| (ByteArray::from(name(link).as_str()), link.overhead)).collect();
        let file = ColumnFile::create(path, &columns(&[], &[]), metadata)?;
        Ok(Self { file, rows: Vec::with_capacity(GROUP_ROWS), links, failure: None })
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    ///
    /// What the operating system said, now or before, with the file's name.
    pub fn finish(mut self) -> Result<(), ReportError> {
        if !self.rows.is_empty() {
            self.flush();
        }
        self.failure.map_or_else(|| self.file.finish(), Err)
    }

    fn flush(&mut self) {
        let columns = columns(&self.rows, &self.links);
        self.rows.clear();
        if self.failure.is_none() {
            self.failure = self.file.write(&columns).err();
        }
    }

    fn end(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo, fate: &'static str, link: Option<LinkId>) {
        let overhead = link.map_or(0, |link| self.links[link.0 as usize].1);
        let Cargo { number, flow, direction, sent, .. } = *cargo;
        let back = direction == Direction::Backward;
        self.rows.push(Row { packet: number, flow: flow.0, back, len: packet.len - overhead, sent, end: now, fate, link });
        if self.rows.len() == GROUP_ROWS {
            self.flush();
        }
    }
}

impl Probe for SimulatedPackets {
    fn dropped(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, reason: DropReason) {
        self.end(now, packet, cargo, reason.name(), Some(link));
    }

    fn lost(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {
        self.end(now, packet, cargo, "lost", Some(link));
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        self.end(now, packet, cargo, "delivered", None);
    }
}

fn columns(rows: &[Row], links: &[(ByteArray, u32)]) -> [Column; 8] {
    let picos = |of: fn(&Row) -> Instant| Values::Nanos(rows.iter().map(|row| of(row).as_picos().cast_signed()).collect());
    let link = |row: &Row| row.link.map_or_else(|| ByteArray::from(""), |link| links[link.0 as usize].0.clone());
    [
        Column { name: "packet", values: Values::Counts(rows.iter().map(|row| row.packet).collect()) },
        Column { name: "flow", values: Values::Counts(rows.iter().map(|row| row.flow).collect()) },
        Column { name: "back", values: Values::Flags(rows.iter().map(|row| row.back).collect()) },
        Column { name: "len", values: Values::Small(rows.iter().map(|row| row.len).collect()) },
        Column { name: "sent_ps", values: picos(|row| row.sent) },
        Column { name: "end_ps", values: picos(|row| row.end) },
        Column { name: "fate", values: Values::Texts(rows.iter().map(|row| ByteArray::from(row.fate)).collect()) },
        Column { name: "link", values: Values::Texts(rows.iter().map(link).collect()) },
    ]
}

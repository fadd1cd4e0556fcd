//! Record of a run: a capture in pcapng with everything that a replay needs, and what became of each
//! frame.
//!
//! Frames are packets of the interfaces `up` and `down`, with the times of arrival that the queue
//! went by. A third interface, [`NOTES`], has texts of ours as packets of link type 147 (for private
//! use): first the settings, then changes and fates, at last the end. Wireshark shows the frames;
//! `roundelay compare` and `roundelay verify` read it all.
//!
//! A line of text is a fate, `up 17 flow 3 sent START END DUE` or `up 18 flow 3 dropped AT full`, in
//! picoseconds from the start of the run; a line that begins with `{` is JSON. A long text in JSON is
//! in several packets, whose number is told before.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::{fmt::Write as _, mem};

use roundelay::Instant;
use serde::{Deserialize, Serialize};

use crate::books::{Books, LostOutside};
use crate::journal::{Fate, Journal};
use crate::late_file::LateFile;
use crate::settings::{Change, Settings, Way};

/// Name of the interface with our texts.
pub const NOTES: &str = "roundelay";
/// Number of this interface, behind those of both directions.
const NOTES_INTERFACE: u32 = 2;
/// Link type of its packets: the first for private use.
pub(crate) const PRIVATE: u16 = 147;
const ETHERNET: u16 = 1;

/// Version of the format.
pub const FORMAT: u32 = 1;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Bytes of each block around its content: its kind, and its size at both ends.
const BLOCK_BYTES: usize = 12;
/// Bytes before a packet's content: interface, time (two words), recorded and original length.
const PACKET_BYTES: usize = 20;
const OPTION_END: u16 = 0;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
/// The unit of timestamps: a negative power of ten of a second.
const NANOSECONDS: u8 = 9;

/// Bytes of a text in JSON in a packet. Readers of captures refuse packets of more than 256 KiB.
const PIECE: usize = 64 << 10;
/// Bytes of fates in a packet.
const FATES: usize = 8 << 10;
/// Bytes handed to the writing thread at once.
const CHUNK: usize = 64 << 10;
/// Chunks that may wait for the disk.
const CHUNKS: usize = 256;
/// Bytes that may wait behind these chunks. A disk that is slower still ends the record, because a
/// record with a hole would not replay.
const MOST_BEHIND: usize = 64 << 20;

/// A text in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Note {
    /// The first.
    Start(Start),
    /// The text of a note that one packet cannot hold is in this many packets behind.
    Pieces(usize),
    /// A change took effect.
    Change {
        /// In which direction.
        way: Way,
        /// When, in nanoseconds from the start.
        at: u64,
        /// The change.
        change: Change,
    },
    /// The last: the run ended in order.
    End(End),
}

/// The start of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// [`FORMAT`].
    pub format: u32,
    /// The version that wrote the record.
    pub version: String,
    /// The start of the run, in nanoseconds since 1970.
    pub unix_nanos: i64,
    /// The settings.
    pub settings: Settings,
}

/// The end of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Everything before this time was decided, up and down, in picoseconds.
    pub until: [u64; 2],
    /// The books, up and down.
    pub books: [Books; 2],
    /// Frames lost outside the queue, up and down.
    #[serde(rename = "outside")]
    pub lost_outside: [LostOutside; 2],
    /// Whether the run may be used: the sentence of its verdict.
    pub verdict: String,
}

/// Writes a record, as the journal of a bottleneck. Another thread waits for the disk.
pub struct Recorder {
    chunks: Option<SyncSender<Vec<u8>>>,
    writer: Option<JoinHandle<io::Result<()>>>,
    /// Why the record ended before the run.
    fault: Option<io::Error>,
    chunk: Vec<u8>,
    fates: String,
    unix_nanos: i64,
    /// Time of the last packet, for fates.
    last: u64,
}

impl Recorder {
    /// A record in a file. What the file had before stays until the run begins.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, unix_nanos: i64, settings: &Settings) -> io::Result<Self> {
        let mut file = LateFile::open(path)?;
        let (chunks, to_write) = sync_channel::<Vec<u8>>(CHUNKS);
        let write = move || {
            // Each thread has capabilities of its own.
            #[cfg(target_os = "linux")]
            crate::sys::drop_privileges(false)?;
            for chunk in to_write {
                file.write_all(&chunk)?;
            }
            file.flush()
        };
        let writer = std::thread::Builder::new()
            .name("record".to_owned())
            .spawn(write)?;
        let mut recorder = Self::in_memory(unix_nanos, settings);
        (recorder.chunks, recorder.writer) = (Some(chunks), Some(writer));
        Ok(recorder)
    }

    /// A record in memory: [`into_bytes`](Self::into_bytes) has it.
    pub fn in_memory(unix_nanos: i64, settings: &Settings) -> Self {
        let mut recorder = Self {
            chunks: None,
            writer: None,
            fault: None,
            chunk: Vec::new(),
            fates: String::new(),
            unix_nanos,
            last: 0,
        };
        let mut section = Vec::from(0x1a2b_3c4d_u32.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        recorder.block(SECTION, &section);
        for way in Way::BOTH {
            recorder.interface(way.name(), ETHERNET, settings.snap);
        }
        recorder.interface(NOTES, PRIVATE, 0);
        recorder.note(&Note::Start(Start {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            unix_nanos,
            settings: settings.clone(),
        }));
        recorder
    }

    /// Writes the end, and waits for the disk.
    ///
    /// # Errors
    /// A write failed, now or before.
    pub fn finish(mut self, end: &End) -> io::Result<()> {
        self.end(end);
        let rest = mem::take(&mut self.chunk);
        // There is time to wait for the disk now.
        let is_taken = match &self.chunks {
            Some(chunks) => chunks.send(rest).is_ok(),
            None => true,
        };
        let closed = self.close();
        match self.fault.take() {
            Some(fault) => Err(fault),
            None if !is_taken => Err(closed.err().unwrap_or_else(ended_early)),
            None => closed,
        }
    }

    /// Waits for the writing thread, and says how it ended.
    fn close(&mut self) -> io::Result<()> {
        drop(self.chunks.take());
        match self.writer.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => Err(ended_early()),
        }
    }

    /// Writes the end, and gives the bytes of a record in memory.
    pub fn into_bytes(mut self, end: &End) -> Vec<u8> {
        self.end(end);
        mem::take(&mut self.chunk)
    }

    fn end(&mut self, end: &End) {
        self.flush_fates();
        self.note(&Note::End(end.clone()));
    }

    fn interface(&mut self, name: &str, link: u16, snap: u32) {
        let mut interface = Vec::from(link.to_le_bytes());
        interface.extend([0; 2]);
        interface.extend(snap.to_le_bytes());
        option(&mut interface, OPTION_NAME, name.as_bytes());
        option(&mut interface, OPTION_RESOLUTION, &[NANOSECONDS]);
        option(&mut interface, OPTION_END, &[]);
        self.block(INTERFACE, &interface);
    }

    fn note(&mut self, note: &Note) {
        // Cannot fail: the note has no map with keys that are no texts.
        let text = serde_json::to_vec(note).unwrap_or_default();
        let pieces = text.chunks(PIECE);
        if pieces.len() > 1 {
            self.note(&Note::Pieces(pieces.len()));
        }
        for piece in pieces {
            self.packet(NOTES_INTERFACE, self.last, piece, piece.len() as u32);
        }
    }

    /// A packet at `nanos` from the start of the run: an Enhanced Packet Block
    /// (draft-ietf-opsawg-pcapng, section 4.3).
    fn packet(&mut self, interface: u32, nanos: u64, bytes: &[u8], original_len: u32) {
        self.last = self.last.max(nanos);
        let time = self.unix_nanos.saturating_add_unsigned(nanos).max(0) as u64;
        let padded = bytes.len().next_multiple_of(4);
        let size = (BLOCK_BYTES + PACKET_BYTES + padded) as u32;
        let words = [
            PACKET,
            size,
            interface,
            (time >> 32) as u32,
            time as u32,
            bytes.len() as u32,
            original_len,
        ];
        for word in words {
            self.chunk.extend_from_slice(&word.to_le_bytes());
        }
        self.chunk.extend_from_slice(bytes);
        let end = self.chunk.len() + padded - bytes.len();
        self.chunk.resize(end, 0);
        self.chunk.extend_from_slice(&size.to_le_bytes());
        self.hand_on(CHUNK);
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let size = (BLOCK_BYTES + body.len()) as u32;
        self.chunk.extend_from_slice(&kind.to_le_bytes());
        self.chunk.extend_from_slice(&size.to_le_bytes());
        self.chunk.extend_from_slice(body);
        self.chunk.extend_from_slice(&size.to_le_bytes());
    }

    /// Hands the chunk to the writing thread, if it is longer than `least` bytes, without waiting.
    fn hand_on(&mut self, least: usize) {
        if self.fault.is_some() {
            self.chunk.clear();
            return;
        }
        let Some(chunks) = &self.chunks else { return };
        if self.chunk.len() <= least {
            return;
        }
        match chunks.try_send(mem::take(&mut self.chunk)) {
            Ok(()) => {}
            Err(TrySendError::Full(chunk)) if chunk.len() <= MOST_BEHIND => self.chunk = chunk,
            Err(TrySendError::Full(_)) => {
                self.fault = Some(io::Error::other(
                    "the disk is too slow for this run, so the record ends early",
                ));
            }
            Err(TrySendError::Disconnected(_)) => {
                self.fault = Some(self.close().err().unwrap_or_else(ended_early));
            }
        }
    }

    fn flush_fates(&mut self) {
        let fates = mem::take(&mut self.fates);
        if !fates.is_empty() {
            self.packet(
                NOTES_INTERFACE,
                self.last,
                fates.as_bytes(),
                fates.len() as u32,
            );
        }
    }
}

impl Journal for Recorder {
    fn arrived(&mut self, way: Way, at: Instant, frame: &[u8], len: u32) {
        self.packet(way.index() as u32, at.as_picos() / 1000, frame, len);
    }

    fn fate(&mut self, way: Way, number: u64, flow: u32, fate: Fate) {
        // Writing to a String cannot fail.
        _ = writeln!(
            self.fates,
            "{}",
            Line {
                way,
                number,
                flow,
                fate
            }
        );
        if self.fates.len() > FATES {
            self.flush_fates();
        }
    }

    fn changed(&mut self, way: Way, at: Instant, change: &Change) {
        let at = at.as_picos() / 1000;
        let change = change.clone();
        self.note(&Note::Change { way, at, change });
    }

    fn flush(&mut self) -> Result<(), String> {
        self.flush_fates();
        self.hand_on(0);
        match &self.fault {
            Some(fault) => Err(fault.to_string()),
            None => Ok(()),
        }
    }
}

fn ended_early() -> io::Error {
    io::Error::other("the writing thread ended early")
}

/// A fate in a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// In which direction.
    pub way: Way,
    /// Number of the frame in its direction.
    pub number: u64,
    /// The frame's flow.
    pub flow: u32,
    /// The fate.
    pub fate: Fate,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            way,
            number,
            flow,
            fate,
        } = self;
        write!(f, "{way} {number} flow {flow} ")?;
        match fate {
            Fate::Sent {
                start,
                end,
                due,
                marked,
                lost,
            } => {
                let [start, end, due] = [start, end, due].map(|at| at.as_picos());
                write!(f, "sent {start} {end} {due}")?;
                f.write_str(if *marked { " marked" } else { "" })?;
                f.write_str(if *lost { " lost" } else { "" })
            }
            Fate::Dropped { at, reason } => {
                write!(f, "dropped {} {}", at.as_picos(), reason.name())
            }
        }
    }
}

/// An option, padded to four bytes; one without a value ends the list.
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    block.resize(block.len().next_multiple_of(4), 0);
}

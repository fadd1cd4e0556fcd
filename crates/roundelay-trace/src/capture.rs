//! Packets out of a capture file, one after another, in the order of the file.
//!
//! The container formats are read by our own code, because the errors of `pcap-parser` and `pcap-file` name neither offset nor legal
//! range.
//!
//! What is legal follows the drafts and, where they are silent, libpcap: no record holds more than 262,144 captured bytes, no block more
//! than 16 MiB. A file that breaks such a rule gives an error that names the offset, for what follows cannot be trusted. A file that
//! merely *ends* in the middle of a packet, as captures do whose program was killed, gives every whole packet and a note.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;

use crate::error::{CaptureError, Fault};

mod magic;
mod order;
mod pcap;
mod pcapng;
mod window;

use window::{Place, Window};

/// The most bytes of one packet that a capture may hold: libpcap's limit. Files exist that hold more than their own snap length, so that
/// is no limit.
const MAX_CAPTURED: u32 = 262_144;

/// A capture that is being read: pcap (microseconds, nanoseconds, Kuznetzov's variant) or pcapng, in either byte order.
///
/// Memory does not grow with the length of the capture: about 1 MiB, or twice the longest block if that is more (32 MiB at most).
///
/// ```no_run
/// use roundelay_trace::Capture;
///
/// let mut capture = Capture::open("trace.pcap".as_ref())?;
/// while let Some(frame) = capture.next()? {
///     println!("{} ns: {} bytes", frame.time_nanos, frame.original_len);
/// }
/// # Ok::<(), roundelay_trace::CaptureError>(())
/// ```
pub struct Capture {
    name: String,
    size: Option<u64>,
    window: Window,
    format: Format,
    notes: CaptureNotes,
    /// The last packet's time, for those that have none of their own.
    last_time: i64,
    /// No packet comes any more: the end was reached, or an error.
    finished: bool,
}

/// One captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured: nanoseconds since 1970-01-01 00:00 UTC. A packet without a time (pcapng's Simple Packet) has
    /// that of the one before.
    pub time_nanos: i64,
    /// Bytes that it had on the link, including the link-layer header: no fewer than were captured, otherwise any 32-bit value.
    pub original_len: u32,
    /// What the first bytes are.
    pub link: LinkType,
    /// What was captured of it: at most 262,144 bytes, possibly none.
    pub bytes: &'a [u8],
}

/// How a frame begins: a number of the LINKTYPE_ registry (draft-ietf-opsawg-pcaplinktype).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// What was odd about a capture, counted as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CaptureNotes {
    /// Packets given so far.
    pub packets: u64,
    /// pcapng sections begun so far; 0 for pcap.
    pub sections: u64,
    /// pcapng interfaces described so far, in all sections; 0 for pcap.
    pub interfaces: u64,
    /// pcapng blocks passed over: statistics, names, secrets, custom and unknown ones.
    pub skipped_blocks: u64,
    /// Packets of which more was captured than the capture's own snap length.
    pub longer_than_snap_length: u64,
    /// Packets recorded as shorter on the link than what was captured of them; they are given the captured length.
    pub raised_lengths: u64,
    /// Packets of no bytes at all.
    pub empty: u64,
    /// Packets recorded as longer than 262,144 bytes on the link: likely wrong, at best a superframe still to be cut.
    pub oversized: u64,
    /// Packets earlier than the one before.
    pub backwards: u64,
    /// Packets without a time of their own.
    pub without_time: u64,
    /// Packets whose fraction of a second is a second or more; it is added as it stands.
    pub fractions_of_a_second_or_more: u64,
    /// Bytes of an unfinished packet at the end of the file.
    pub truncated_tail_bytes: u64,
    /// Where that unfinished packet starts, in bytes from the start of the file.
    pub truncated_tail_offset: Option<u64>,
}

/// The rules that hold for the rest of the file.
enum Format {
    Pcap(pcap::File),
    PcapNg(pcapng::File),
}

/// One packet as its format gives it.
struct Record {
    time_nanos: Option<i64>,
    original_len: u32,
    /// 0 for no limit.
    snap_length: u32,
    link: LinkType,
    place: Place,
}

impl Capture {
    /// Opens a capture file and reads its header.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let name = path.display().to_string();
        let (file, size) = match open_file(path) {
            Ok(opened) => opened,
            Err(reason) => return Err(CaptureError::Open { name, reason }),
        };
        let mut capture = Self::from_reader(name, file)?;
        capture.size = size;
        Ok(capture)
    }

    /// Reads a capture from anything that gives bytes, such as standard input; `name` stands in messages.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let name = name.into();
        let mut window = Window::new(Box::new(reader));
        let mut notes = CaptureNotes::default();
        let format = recognise(&mut window, &mut notes, &name).map_err(|fault| fault.in_file(&name))?;
        Ok(Self { name, size: None, window, format, notes, last_time: 0, finished: false })
    }

    /// The next packet; `None` at the end, and ever after the end or an error.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "the frame borrows from the capture, which an Iterator cannot say")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if self.finished {
            return Ok(None);
        }
        let record = match &mut self.format {
            Format::Pcap(file) => file.record(&mut self.window, &mut self.notes),
            Format::PcapNg(file) => file.record(&mut self.window, &mut self.notes),
        };
        match record {
            Ok(Some(record)) => Ok(Some(self.frame(&record))),
            Ok(None) => {
                self.finished = true;
                Ok(None)
            }
            Err(fault) => {
                self.finished = true;
                Err(fault.in_file(&self.name))
            }
        }
    }

    /// Bytes of the input that the packets given so far took up, for a progress bar.
    pub fn position(&self) -> u64 {
        self.window.offset()
    }

    /// Bytes of the whole input, if it is a regular file.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// What was odd so far.
    pub fn notes(&self) -> CaptureNotes {
        self.notes
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a record a frame, and notes what is odd about it.
    #[inline]
    fn frame(&mut self, record: &Record) -> Frame<'_> {
        let time_nanos = record.time_nanos.unwrap_or(self.last_time);
        self.note(record, time_nanos);
        self.last_time = time_nanos;
        let original_len = record.original_len.max(record.place.len());
        Frame { time_nanos, original_len, link: record.link, bytes: self.window.at(record.place) }
    }

    #[inline]
    fn note(&mut self, record: &Record, time_nanos: i64) {
        let (captured, original) = (record.place.len(), record.original_len);
        let notes = &mut self.notes;
        notes.longer_than_snap_length += u64::from(record.snap_length != 0 && captured > record.snap_length);
        notes.raised_lengths += u64::from(original < captured);
        notes.empty += u64::from(original == 0 && captured == 0);
        notes.oversized += u64::from(original > MAX_CAPTURED);
        notes.backwards += u64::from(notes.packets > 0 && time_nanos < self.last_time);
        notes.without_time += u64::from(record.time_nanos.is_none());
        notes.packets += 1;
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Capture").field("name", &self.name).field("notes", &self.notes).finish_non_exhaustive()
    }
}

impl LinkType {
    /// BSD loopback: four bytes of address family in the byte order of the machine that captured.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// The Point-to-Point Protocol (RFC 1661).
    pub const PPP: Self = Self(9);
    /// IP without anything before it, as some systems number it.
    pub const RAW_12: Self = Self(12);
    /// IP without anything before it, as OpenBSD numbers it.
    pub const RAW_14: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662).
    pub const PPP_HDLC: Self = Self(50);
    /// IPv4 or IPv6 without anything before it.
    pub const RAW: Self = Self(101);
    /// Cisco's HDLC.
    pub const CISCO_HDLC: Self = Self(104);
    /// OpenBSD loopback: four bytes of address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture (tcpdump -i any, before 4.99).
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without anything before it.
    pub const IPV4: Self = Self(228);
    /// IPv6 without anything before it.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NULL | Self::LOOP => formatter.write_str("loopback"),
            Self::ETHERNET => formatter.write_str("Ethernet"),
            Self::PPP | Self::PPP_HDLC => formatter.write_str("PPP"),
            Self::RAW | Self::RAW_12 | Self::RAW_14 => formatter.write_str("raw IP"),
            Self::IPV4 => formatter.write_str("raw IPv4"),
            Self::IPV6 => formatter.write_str("raw IPv6"),
            Self::CISCO_HDLC => formatter.write_str("Cisco HDLC"),
            Self::LINUX_SLL => formatter.write_str("Linux cooked"),
            Self::LINUX_SLL2 => formatter.write_str("Linux cooked v2"),
            Self(number) => write!(formatter, "link type {number}"),
        }
    }
}

/// The file and, if it is a regular one, its size.
fn open_file(path: &Path) -> io::Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok((file, metadata.is_file().then_some(metadata.len())))
}

/// Finds out the format from the first four bytes and reads the file's header.
fn recognise(window: &mut Window, notes: &mut CaptureNotes, name: &str) -> Result<Format, Fault> {
    window.fill(4)?;
    let Some(&magic) = window.bytes().first_chunk::<4>() else { return Err(magic::not_a_capture(window, name)) };
    if magic == pcapng::MAGIC {
        return Ok(Format::PcapNg(pcapng::File::start(window, notes)?));
    }
    match pcap::Variant::from_magic(magic) {
        Some(variant) => Ok(Format::Pcap(pcap::File::start(window, variant)?)),
        None => Err(magic::not_a_capture(window, name)),
    }
}

/// The end of a file: clean, or in the middle of a packet, which is noted. Users expect the packets before it.
#[cold]
fn truncated_tail(window: &Window, notes: &mut CaptureNotes) -> Result<Option<Record>, Fault> {
    let rest = window.bytes().len() as u64;
    if rest > 0 {
        notes.truncated_tail_bytes = rest;
        notes.truncated_tail_offset = Some(window.offset());
    }
    Ok(None)
}

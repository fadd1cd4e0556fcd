//! Capture reader: reads packets from a pcap or pcapng file, one at a time, in file order. It
//! decompresses gzip, zstd and xz files on the way.
//!
//! We read the container formats with our own code, because the errors of `pcap-parser` and
//! `pcap-file` name neither offset nor legal range.
//!
//! What is legal follows the drafts and, where these are silent, libpcap: a record holds at most
//! 262,144 captured bytes, and a block at most 16 MiB. A file that breaks such a rule gives an
//! error with the offset, because the rest of the file cannot be trusted. A file that merely *ends*
//! in the middle of a packet, because the capturing program was killed, gives every whole packet
//! and a note. So does a compressed file that merely ends too early.

#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Broken, CaptureError};

mod copy;
mod decompress;
mod magic;
mod order;
mod pcap;
mod pcapng;
mod window;

use copy::Copy;
use window::{ByteRange, Window};

/// The most captured bytes of one packet, which is libpcap's limit. Real files exceed their own
/// snap length, so we do not enforce that.
const MAX_CAPTURED: u32 = 262_144;

/// An open capture: pcap (microseconds, nanoseconds, Kuznetzov's variant) or pcapng, in either byte
/// order, plain or compressed with gzip, zstd or xz.
///
/// Memory does not grow with the capture's length. It takes about 1 MiB, or twice the longest block
/// if that is more (32 MiB at most). Decompression takes what the compressed file asks for: 32 KiB
/// for gzip, and 8 MiB for the default levels of zstd and xz. A file that asks for more than 128
/// MiB is an error.
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
    source: Source,
    size: Option<u64>,
    window: Window,
    format: Format,
    notes: CaptureNotes,
    /// The time of the last packet, which a packet without a timestamp gets.
    last_time: i64,
    /// A second reading may follow.
    is_kept: bool,
    /// Packets of this pcapng interface are left out.
    skipped: Option<&'static str>,
    /// There are no more packets, because of the end or an error.
    finished: bool,
}

/// One captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When the packet was captured, in nanoseconds since 1970-01-01 00:00 UTC. A packet without a
    /// time (pcapng's Simple Packet) gets the time of the packet before.
    pub time_nanos: i64,
    /// The length in bytes before the capture cut it, with the link-layer header. It is at least
    /// the captured length, otherwise any 32-bit value. [`Frame::len_on_link`] excludes what the
    /// capturing host added.
    pub original_len: u32,
    /// Which link-layer header the frame starts with.
    pub link: LinkType,
    /// Captured bytes: at most 262,144, possibly none.
    pub bytes: &'a [u8],
    /// Interface and direction, as far as the capture tells them.
    pub tap: Tap<'a>,
}

/// Where a packet was captured: interface and direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tap<'a> {
    /// The interface index in a Linux cooked header of version 2, otherwise the pcapng interface's
    /// number in its section. None in other captures.
    pub interface: Option<u32>,
    /// The pcapng interface's name (`if_name`). None if the index comes from a cooked header.
    pub name: Option<&'a str>,
    /// From a Linux cooked header's packet type or the direction byte before a PPP frame, otherwise
    /// from pcapng's `epb_flags`.
    pub heading: Option<Heading>,
}

/// A packet's direction, as the capturing host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Heading {
    /// Received by the interface.
    In,
    /// Sent by the interface.
    Out,
}

/// Link-layer header type: a number of the LINKTYPE_ registry (draft-ietf-opsawg-pcaplinktype).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// Oddities of a capture, counted while reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureNotes {
    /// Packets returned to the caller.
    pub packets: u64,
    /// pcapng sections begun; 0 for pcap.
    pub sections: u64,
    /// pcapng interfaces described, in all sections; 0 for pcap.
    pub interfaces: u64,
    /// pcapng blocks skipped: statistics, names, secrets, custom and unknown blocks.
    pub skipped_blocks: u64,
    /// Packets with more captured bytes than the capture's own snap length.
    pub longer_than_snap_length: u64,
    /// Packets with an original length below the captured length; the captured length is used.
    pub raised_lengths: u64,
    /// Packets with no bytes at all.
    pub empty: u64,
    /// Packets with an original length over 262,144 bytes: probably wrong, at best a superframe not
    /// yet split.
    pub oversized: u64,
    /// Packets with a timestamp earlier than the packet before.
    pub backwards: u64,
    /// Packets without a timestamp.
    pub without_time: u64,
    /// Packets with a time outside of the years 1677 to 2262: they have the time of the packet
    /// before.
    pub wrong_times: u64,
    /// Packets with a second or more in the fraction field of the timestamp; the field is added
    /// unchanged.
    pub fractions_of_a_second_or_more: u64,
    /// Bytes of an unfinished packet at the end of the file.
    pub truncated_tail_bytes: u64,
    /// Offset of the unfinished packet, in bytes from the start of the (decompressed) file.
    pub truncated_tail_offset: Option<u64>,
    /// Compressed files whose compressed data ends too early: 0 or 1.
    pub truncated_compression: u64,
}

/// Where a second reading finds the bytes.
enum Source {
    File(PathBuf),
    Pipe(Copy),
}

/// Parser state of the file's format.
enum Format {
    Pcap(pcap::File),
    PcapNg(pcapng::File),
}

/// A packet, as the format's parser read it.
struct Record {
    time_nanos: Option<i64>,
    original_len: u32,
    /// 0 for no limit.
    snap_length: u32,
    link: LinkType,
    range: ByteRange,
    /// The pcapng interface's number in its section.
    interface: Option<u32>,
    heading: Option<Heading>,
    /// No clock shows this time.
    has_wrong_time: bool,
}

impl Capture {
    /// Opens a capture file and reads its header.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let name = path.display().to_string();
        let (file, size) = match open_file(path) {
            Ok(opened) => opened,
            Err(reason) => return Err(CaptureError::Open { name, reason }),
        };
        if size.is_none() {
            return Self::from_reader(name, file);
        }
        let source = Source::File(path.to_owned());
        let mut capture = Self::from_source(name, Box::new(file), source)?;
        capture.size = size;
        Ok(capture)
    }

    /// Reads a capture from any reader, such as standard input. `name` appears in messages.
    pub fn from_reader(
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
    ) -> Result<Self, CaptureError> {
        let (reader, copy) = Copy::of(reader);
        Self::from_source(name.into(), reader, Source::Pipe(copy))
    }

    fn from_source(
        name: String,
        reader: Box<dyn Read + Send>,
        source: Source,
    ) -> Result<Self, CaptureError> {
        let mut window = Window::new(reader).map_err(|fault| fault.in_file(&name))?;
        let mut notes = CaptureNotes::default();
        let format =
            recognise(&mut window, &mut notes, &name).map_err(|fault| fault.in_file(&name))?;
        Ok(Self {
            name,
            source,
            size: None,
            window,
            format,
            notes,
            last_time: 0,
            is_kept: false,
            skipped: None,
            finished: false,
        })
    }

    /// Keeps what is read, so that [`Capture::again`] can read a pipe again. You must call it
    /// before the first packet.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Leaves out the packets of a pcapng interface, because they are notes of the program that
    /// wrote the capture.
    pub fn skip_interface(&mut self, name: &'static str) {
        self.skipped = Some(name);
    }

    /// The capture from its first packet on, after you have read it to the end.
    ///
    /// # Errors
    /// The file or the copy of the pipe cannot be read, or nothing of a pipe was kept.
    pub fn again(&self) -> Result<Self, CaptureError> {
        let mut again = self.opened_again()?;
        again.skipped = self.skipped;
        Ok(again)
    }

    fn opened_again(&self) -> Result<Self, CaptureError> {
        let copy = match &self.source {
            Source::File(path) => return Self::open(path),
            Source::Pipe(copy) => copy,
        };
        let name = self.name.clone();
        let reader = copy.reader().and_then(|reader| {
            reader.ok_or_else(|| io::Error::other("a pipe can be read once only"))
        });
        match reader {
            Ok(reader) => Self::from_reader(name, reader),
            Err(reason) => Err(CaptureError::Open { name, reason }),
        }
    }

    /// The next packet. `None` at the end, and always after the end or an error.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "the frame borrows from the capture, which an Iterator cannot say"
    )]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if self.finished {
            return Ok(None);
        }
        if let Source::Pipe(copy) = &self.source
            && self.notes.packets == 0
            && !self.is_kept
        {
            copy.stop();
        }
        loop {
            let record = match &mut self.format {
                Format::Pcap(file) => file.record(&mut self.window, &mut self.notes),
                Format::PcapNg(file) => file.record(&mut self.window, &mut self.notes),
            };
            match record {
                Ok(Some(record)) if self.is_skipped(&record) => {}
                Ok(Some(record)) => return Ok(Some(self.frame(&record))),
                Ok(None) => {
                    self.finished = true;
                    return Ok(None);
                }
                Err(fault) => {
                    self.finished = true;
                    return Err(fault.in_file(&self.name));
                }
            }
        }
    }

    #[inline]
    fn is_skipped(&self, record: &Record) -> bool {
        self.skipped.is_some() && self.skipped == self.interface_name(record)
    }

    fn interface_name(&self, record: &Record) -> Option<&str> {
        match &self.format {
            Format::PcapNg(file) => file.name(record.interface?),
            Format::Pcap(_) => None,
        }
    }

    /// Whether the blocks read so far describe an interface of this name. Only pcapng names
    /// interfaces.
    pub fn has_interface(&self, name: &str) -> bool {
        match &self.format {
            Format::Pcap(_) => false,
            Format::PcapNg(file) => file.has_interface(name),
        }
    }

    /// How many bytes of the input, before decompression, have been consumed. Meant for a progress
    /// bar.
    pub fn position(&self) -> u64 {
        self.window
            .input()
            .compressed_bytes()
            .unwrap_or_else(|| self.window.offset())
    }

    /// The input's size in bytes, if it is a regular file.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Oddities counted so far.
    pub fn notes(&self) -> CaptureNotes {
        self.notes
    }

    /// The capture's name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Turns a record into a frame and counts its oddities.
    #[inline]
    fn frame(&mut self, record: &Record) -> Frame<'_> {
        let time_nanos = record.time_nanos.unwrap_or(self.last_time);
        self.note(record, time_nanos);
        self.last_time = time_nanos;
        let original_len = record.original_len.max(record.range.len());
        let link = record.link;
        let bytes = self.window.at(record.range);
        let name = match &self.format {
            Format::PcapNg(file) => record.interface.and_then(|number| file.name(number)),
            Format::Pcap(_) => None,
        };
        let tap = Tap {
            interface: record.interface,
            name,
            heading: record.heading,
        };
        Frame {
            time_nanos,
            original_len,
            link,
            bytes,
            tap: tap.with_cooked_header(link, bytes),
        }
    }

    #[inline]
    fn note(&mut self, record: &Record, time_nanos: i64) {
        let captured = record.range.len();
        let original = record.original_len;
        let notes = &mut self.notes;
        notes.longer_than_snap_length +=
            u64::from(record.snap_length != 0 && captured > record.snap_length);
        notes.raised_lengths += u64::from(original < captured);
        notes.empty += u64::from(original == 0 && captured == 0);
        notes.oversized += u64::from(original > MAX_CAPTURED);
        notes.backwards += u64::from(notes.packets > 0 && time_nanos < self.last_time);
        notes.wrong_times += u64::from(record.has_wrong_time);
        notes.without_time += u64::from(record.time_nanos.is_none() && !record.has_wrong_time);
        notes.packets += 1;
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Capture")
            .field("name", &self.name)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl Tap<'_> {
    /// Takes interface and direction from the frame's Linux cooked header, or the direction from a
    /// byte before a PPP frame, if it has one.
    #[inline]
    fn with_cooked_header(mut self, link: LinkType, bytes: &[u8]) -> Self {
        let packet_type = match (link, bytes) {
            (LinkType::PPP_WITH_DIRECTION | LinkType::PPP_PPPD, &[direction, ..]) => {
                self.heading = Some(if direction == 0 {
                    Heading::In
                } else {
                    Heading::Out
                });
                return self;
            }
            // Version 1 starts with the packet type in 16 bits.
            (LinkType::LINUX_SLL, &[0, packet_type, ..]) => packet_type,
            // Version 2: protocol, reserved, interface index, hardware type, packet type.
            (LinkType::LINUX_SLL2, &[_, _, _, _, a, b, c, d, _, _, packet_type, ..]) => {
                (self.interface, self.name) = (Some(u32::from_be_bytes([a, b, c, d])), None);
                packet_type
            }
            _ => return self,
        };
        self.heading = match packet_type {
            // Sent to this host, to all, to some, or to another host.
            0..=3 => Some(Heading::In),
            4 => Some(Heading::Out),
            _ => None,
        };
        self
    }
}

impl LinkType {
    /// BSD loopback: four bytes with the address family, in the capturing machine's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// The Point-to-Point Protocol (RFC 1661).
    pub const PPP: Self = Self(9);
    /// IP without a link header, by the number that some systems use.
    pub const RAW_12: Self = Self(12);
    /// IP without a link header, with OpenBSD's number.
    pub const RAW_14: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662).
    pub const PPP_HDLC: Self = Self(50);
    /// IPv4 or IPv6 without a link header.
    pub const RAW: Self = Self(101);
    /// PPP over Ethernet, from the PPPoE header on (RFC 2516).
    pub const PPP_ETHERNET: Self = Self(51);
    /// Cisco's HDLC.
    pub const CISCO_HDLC: Self = Self(104);
    /// IEEE 802.11, from the MAC header on.
    pub const IEEE802_11: Self = Self(105);
    /// OpenBSD loopback: four bytes with the address family, in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture (tcpdump -i any, before 4.99).
    pub const LINUX_SLL: Self = Self(113);
    /// IEEE 802.11 after a Prism header.
    pub const PRISM: Self = Self(119);
    /// IEEE 802.11 after a radiotap header.
    pub const RADIOTAP: Self = Self(127);
    /// IEEE 802.11 after an AVS header.
    pub const AVS: Self = Self(163);
    /// PPP as Linux's pppd captures it, with a direction instead of the address.
    pub const PPP_PPPD: Self = Self(166);
    /// IEEE 802.11, or Ethernet, after a Per-Packet Information header.
    pub const PPI: Self = Self(192);
    /// PPP after a direction byte, which is 0 for a received packet.
    pub const PPP_WITH_DIRECTION: Self = Self(204);
    /// IPv4 without a link header.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link header.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NULL | Self::LOOP => formatter.write_str("loopback"),
            Self::ETHERNET => formatter.write_str("Ethernet"),
            Self::PPP | Self::PPP_HDLC | Self::PPP_PPPD | Self::PPP_WITH_DIRECTION => {
                formatter.write_str("PPP")
            }
            Self::PPP_ETHERNET => formatter.write_str("PPPoE"),
            Self::IEEE802_11 => formatter.write_str("802.11"),
            Self::RADIOTAP => formatter.write_str("802.11 with radiotap"),
            Self::PRISM => formatter.write_str("802.11 with Prism"),
            Self::AVS => formatter.write_str("802.11 with AVS"),
            Self::PPI => formatter.write_str("PPI"),
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

/// The file, and its size if it is regular.
fn open_file(path: &Path) -> io::Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok((file, metadata.is_file().then_some(metadata.len())))
}

/// Finds the format by the first four bytes and reads the file's header.
fn recognise(window: &mut Window, notes: &mut CaptureNotes, name: &str) -> Result<Format, Broken> {
    window.fill(4)?;
    let Some(&magic) = window.bytes().first_chunk::<4>() else {
        return Err(magic::not_a_capture(window, name));
    };
    if magic == pcapng::MAGIC {
        return Ok(Format::PcapNg(pcapng::File::start(window, notes)?));
    }
    match pcap::Variant::from_magic(magic) {
        Some(variant) => Ok(Format::Pcap(pcap::File::start(window, variant)?)),
        None => Err(magic::not_a_capture(window, name)),
    }
}

/// Ends the file: cleanly, or in the middle of a packet, which is noted. This is no error, because
/// users expect the packets before the cut.
#[cold]
fn truncated_tail(window: &Window, notes: &mut CaptureNotes) -> Result<Option<Record>, Broken> {
    let rest = window.bytes().len() as u64;
    notes.truncated_compression = u64::from(window.input().is_truncated());
    if rest > 0 {
        notes.truncated_tail_bytes = rest;
        notes.truncated_tail_offset = Some(window.offset());
    }
    Ok(None)
}

//! Generates packet headers: IPv4, TCP, UDP. Checksums assume that all data is zeros.

use roundelay::{Ecn, Instant};
use roundelay_tcp::{Flags, Segment};

use crate::headers::address;
use crate::ids::NodeId;

const INTERNET: usize = 20;
const SEGMENT: usize = 20;
const DATAGRAM: usize = 8;
/// The most bytes of options that a TCP header can hold.
const OPTIONS: usize = 40;
/// Where each header holds its checksum.
const INTERNET_SUM: usize = 10;
const SEGMENT_SUM: usize = 16;
const DATAGRAM_SUM: usize = 6;
/// Flow control is not modelled, so we write the largest window. It is scaled by 2^14 if the SYN
/// has room for that option.
const WINDOW: u16 = u16::MAX;
const WINDOW_SCALE: u8 = 14;

/// Headers, and how long the IPv4 packet is.
pub(super) struct Headers {
    pub(super) bytes: Vec<u8>,
    pub(super) len: u32,
}

/// Between which ends a packet goes, and what its IPv4 header says.
pub(super) struct Origin {
    pub(super) number: u64,
    pub(super) code_point: u8,
    pub(super) ecn: Ecn,
    pub(super) ends: [NodeId; 2],
    pub(super) ports: [u16; 2],
}

impl Origin {
    /// A UDP datagram of `len` bytes in all, but at least as long as its headers.
    pub(super) fn datagram(&self, len: u32) -> Headers {
        let len = len.max((INTERNET + DATAGRAM) as u32);
        let mut bytes = self.internet(17, len);
        self.ports
            .iter()
            .for_each(|port| bytes.extend_from_slice(&port.to_be_bytes()));
        bytes.extend_from_slice(&((len - INTERNET as u32) as u16).to_be_bytes());
        bytes.extend_from_slice(&[0; 2]);
        Headers::sealed(bytes, DATAGRAM_SUM, len)
    }

    /// A TCP segment of `len` bytes in all. All bytes beside the data are header, in words of four
    /// bytes.
    pub(super) fn segment(&self, segment: &Segment, len: u32) -> Headers {
        let room = len.saturating_sub(segment.len) as usize;
        let room = room.saturating_sub(INTERNET + SEGMENT).min(OPTIONS) & !3;
        let len = (INTERNET + SEGMENT + room) as u32 + segment.len;
        let mut bytes = self.internet(6, len);
        self.ports
            .iter()
            .for_each(|port| bytes.extend_from_slice(&port.to_be_bytes()));
        bytes.extend_from_slice(&sequence(segment).to_be_bytes());
        bytes.extend_from_slice(&acknowledgement(segment).to_be_bytes());
        bytes.extend_from_slice(&[((SEGMENT + room) as u8) << 2, flags(segment)]);
        bytes.extend_from_slice(&WINDOW.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        add_options(&mut bytes, segment, room);
        Headers::sealed(bytes, SEGMENT_SUM, len)
    }

    /// An IPv4 header (RFC 791), with capacity for the next header. If the packet is longer than
    /// 65,535 bytes, its length field is zero, as in captures on hosts with segmentation offload.
    fn internet(&self, protocol: u8, len: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(INTERNET + SEGMENT + OPTIONS);
        bytes.extend_from_slice(&[0x45, self.code_point << 2 | congestion(self.ecn)]);
        bytes.extend_from_slice(&u16::try_from(len).unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(&(self.number as u16).to_be_bytes());
        bytes.extend_from_slice(&[0, 0, 64, protocol, 0, 0]);
        self.ends
            .iter()
            .for_each(|node| bytes.extend_from_slice(&address(*node).octets()));
        let sum = checksum(sum_of(&bytes));
        bytes[INTERNET_SUM..][..2].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

impl Headers {
    /// Sets the second header's checksum, at offset `sum_at`. The sum includes addresses, protocol
    /// and length from the IPv4 header.
    fn sealed(mut bytes: Vec<u8>, sum_at: usize, len: u32) -> Self {
        let sum = sum_of(&bytes[12..]) + u64::from(bytes[9]) + u64::from(len) - INTERNET as u64;
        // A UDP checksum of zero would mean "no checksum", but 0xffff is the same sum.
        let sum = match checksum(sum) {
            0 => u16::MAX,
            sum => sum,
        };
        bytes[INTERNET + sum_at..][..2].copy_from_slice(&sum.to_be_bytes());
        Self { bytes, len }
    }
}

const fn congestion(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable => 2,
        Ecn::Marked => 3,
    }
}

/// The sequence number: 0 for a SYN, 1 for the first byte of data.
const fn sequence(segment: &Segment) -> u32 {
    if segment.is_syn() {
        0
    } else {
        (segment.sequence as u32).wrapping_add(1)
    }
}

/// Whether a segment opens a connection and so acknowledges nothing. All others have the ACK flag:
/// before any data arrives, they acknowledge the SYN.
const fn is_first(segment: &Segment) -> bool {
    segment.is_syn() && !segment.flags.has(Flags::ACK)
}

const fn acknowledgement(segment: &Segment) -> u32 {
    if is_first(segment) {
        0
    } else {
        (segment.acknowledgement as u32).wrapping_add(1)
    }
}

fn flags(segment: &Segment) -> u8 {
    let bits = [(Flags::SYN, 2), (Flags::ECE, 64), (Flags::CWR, 128)];
    let mut set = 0;
    for (flag, bit) in bits {
        if segment.flags.has(flag) {
            set |= bit;
        }
    }
    if is_first(segment) { set } else { set | 16 }
}

/// Adds options, each padded to whole words, while there is room. No-ops fill the rest.
fn add_options(bytes: &mut Vec<u8>, segment: &Segment, room: usize) {
    let end = bytes.len() + room;
    let mut add = |option: &[u8]| {
        if bytes.len() + option.len() <= end {
            bytes.extend_from_slice(option);
        }
    };
    if segment.is_syn() {
        // Any segment size (RFC 9293), windows times 2^14 (RFC 7323), selective acknowledgements
        // (RFC 2018).
        add(&[2, 4, 0xff, 0xff]);
        add(&[1, 3, 3, WINDOW_SCALE]);
        add(&[1, 1, 4, 2]);
    }
    let mut timestamps = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    timestamps[4..8].copy_from_slice(&micros(segment.timestamp));
    timestamps[8..].copy_from_slice(&micros(segment.echo));
    add(&timestamps);
    let blocks = segment.selective().count();
    if blocks > 0 {
        let edge = |byte: u64| (byte as u32).wrapping_add(1).to_be_bytes();
        let mut option = vec![1, 1, 5, 2 + 8 * blocks as u8];
        for (start, end) in segment.selective() {
            option.extend(edge(start));
            option.extend(edge(end));
        }
        add(&option);
    }
    bytes.resize(end, 1);
}

fn micros(at: Instant) -> [u8; 4] {
    ((at.as_picos() / 1_000_000) as u32).to_be_bytes()
}

/// The sum of all 16-bit words. Headers have an even length.
fn sum_of(bytes: &[u8]) -> u64 {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|pair| u64::from(u16::from_be_bytes(*pair)))
        .sum()
}

/// The ones' complement of the ones' complement sum (RFC 1071).
const fn checksum(sum: u64) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

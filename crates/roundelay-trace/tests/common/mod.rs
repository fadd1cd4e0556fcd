//! Captures and packets written byte by byte, for readable tests.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod load;
pub(crate) mod planted;
pub(crate) mod published;
pub(crate) mod samples;
pub(crate) mod several_links;

use std::io::{self, Read};

use roundelay_trace::{Capture, CaptureNotes};

/// The byte order of written integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

pub(crate) use Order::{Big, Little};

pub(crate) const ORDERS: [Order; 2] = [Little, Big];

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }
}

pub(crate) const MICROS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOS: u32 = 0xa1b2_3c4d;
pub(crate) const KUZNETZOV: u32 = 0xa1b2_cd34;
pub(crate) const ETHERNET: u16 = 1;

/// A pcap header of 24 bytes.
pub(crate) fn pcap(
    order: Order,
    magic: u32,
    version: (u16, u16),
    snap_length: u32,
    link: u16,
) -> Vec<u8> {
    let (major, minor) = (order.u16(version.0), order.u16(version.1));
    [
        &order.u32(magic)[..],
        &major,
        &minor,
        &[0; 8],
        &order.u32(snap_length),
        &order.u32(u32::from(link)),
    ]
    .concat()
}

/// The usual pcap header.
pub(crate) fn plain_pcap() -> Vec<u8> {
    pcap(Little, MICROS, (2, 4), 65_535, ETHERNET)
}

/// A pcap record with the correct lengths in its header.
pub(crate) fn record(order: Order, seconds: u32, fraction: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [
        &record_header(order, seconds, fraction, length, length)[..],
        data,
    ]
    .concat()
}

/// A pcap record's header alone, correct or not.
pub(crate) fn record_header(
    order: Order,
    seconds: u32,
    fraction: u32,
    captured: u32,
    original: u32,
) -> Vec<u8> {
    [seconds, fraction, captured, original]
        .map(|field| order.u32(field))
        .concat()
}

pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;

/// A pcapng block, padded, with both lengths correct.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(u32::try_from(padded).unwrap() + 12);
    [
        &order.u32(kind)[..],
        &length,
        body,
        &vec![0; padded - body.len()],
        &length,
    ]
    .concat()
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    section_of_version(order, 1, 0)
}

pub(crate) fn section_of_version(order: Order, major: u16, minor: u16) -> Vec<u8> {
    let body = [
        &order.u32(0x1a2b_3c4d)[..],
        &order.u16(major),
        &order.u16(minor),
        &[0xff; 8],
    ]
    .concat();
    block(order, SECTION_HEADER, &body)
}

pub(crate) fn interface(order: Order, link: u16, snap_length: u32, options: &[u8]) -> Vec<u8> {
    block(
        order,
        1,
        &[
            &order.u16(link)[..],
            &[0, 0],
            &order.u32(snap_length),
            options,
        ]
        .concat(),
    )
}

/// An option, padded.
pub(crate) fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
    [
        &order.u16(code)[..],
        &order.u16(u16::try_from(value.len()).unwrap()),
        value,
        &padding,
    ]
    .concat()
}

pub(crate) fn if_tsresol(order: Order, value: u8) -> Vec<u8> {
    option(order, 9, &[value])
}

pub(crate) fn if_tsoffset(order: Order, seconds: i64) -> Vec<u8> {
    option(order, 14, &order.u64(seconds.cast_unsigned()))
}

/// An Enhanced Packet Block with correct lengths.
pub(crate) fn enhanced(order: Order, interface: u32, ticks: u64, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    enhanced_with_lengths(order, interface, ticks, (length, length), data)
}

pub(crate) fn enhanced_with_lengths(
    order: Order,
    interface: u32,
    ticks: u64,
    lengths: (u32, u32),
    data: &[u8],
) -> Vec<u8> {
    let fields = [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        lengths.0,
        lengths.1,
    ]
    .map(|field| order.u32(field))
    .concat();
    block(order, 6, &[&fields, data].concat())
}

pub(crate) fn obsolete(
    order: Order,
    interface: u16,
    drops: u16,
    ticks: u64,
    data: &[u8],
) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    let fields = [(ticks >> 32) as u32, ticks as u32, length, length]
        .map(|field| order.u32(field))
        .concat();
    block(
        order,
        2,
        &[&order.u16(interface)[..], &order.u16(drops), &fields, data].concat(),
    )
}

pub(crate) fn simple(order: Order, original: u32, data: &[u8]) -> Vec<u8> {
    block(order, 3, &[&order.u32(original), data].concat())
}

/// A section with one Ethernet interface and timestamps in microseconds.
pub(crate) fn plain_pcapng() -> Vec<u8> {
    [section(Little), interface(Little, ETHERNET, 0, &[])].concat()
}

/// A frame that outlives the capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) time_nanos: i64,
    pub(crate) original_len: u32,
    pub(crate) link: u16,
    pub(crate) bytes: Vec<u8>,
}

/// The complete result of reading a capture: frames, notes, and the error at the end, if any.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) frames: Vec<Owned>,
    pub(crate) notes: CaptureNotes,
    pub(crate) error: Option<String>,
}

impl Reading {
    pub(crate) fn times(&self) -> Vec<i64> {
        self.frames.iter().map(|frame| frame.time_nanos).collect()
    }
}

/// Reads a capture to its end.
pub(crate) fn read(bytes: impl AsRef<[u8]>) -> Reading {
    read_from(io::Cursor::new(bytes.as_ref().to_vec()))
}

pub(crate) fn read_from(reader: impl Read + Send + 'static) -> Reading {
    let mut reading = Reading {
        frames: Vec::new(),
        notes: CaptureNotes::default(),
        error: None,
    };
    let mut capture = match Capture::from_reader("t.pcap", reader) {
        Ok(capture) => capture,
        Err(error) => {
            return Reading {
                error: Some(error.to_string()),
                ..reading
            };
        }
    };
    loop {
        match capture.next() {
            Ok(Some(frame)) => reading.frames.push(Owned {
                time_nanos: frame.time_nanos,
                original_len: frame.original_len,
                link: frame.link.0,
                bytes: frame.bytes.to_vec(),
            }),
            Ok(None) => break,
            Err(error) => {
                reading.error = Some(error.to_string());
                break;
            }
        }
    }
    assert_eq!(capture.next().unwrap(), None, "nothing comes after the end");
    reading.notes = capture.notes();
    reading
}

/// The error at the end of reading.
pub(crate) fn error(bytes: impl AsRef<[u8]>) -> String {
    read(bytes).error.expect("an error")
}

/// An Ethernet frame.
pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 6][..], &[4; 6], &ether_type.to_be_bytes(), payload].concat()
}

/// A frame of a Linux cooked capture, version 1; packet type 4 is outgoing.
pub(crate) fn cooked(packet_type: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, packet_type, 0, 1, 0, 6][..], &[2; 8], &[8, 0], payload].concat()
}

/// A frame of a Linux cooked capture, version 2.
pub(crate) fn cooked2(interface: u32, packet_type: u8, payload: &[u8]) -> Vec<u8> {
    [
        &[8, 0, 0, 0][..],
        &interface.to_be_bytes(),
        &[0, 1, packet_type, 6],
        &[2; 8],
        payload,
    ]
    .concat()
}

/// An IPv4 packet with correct lengths and no options.
pub(crate) fn ipv4(protocol: u8, source: [u8; 4], destination: [u8; 4], payload: &[u8]) -> Vec<u8> {
    ipv4_with(0, 0, protocol, source, destination, payload)
}

/// An IPv4 packet with a traffic class and the fragment field: flags in the upper 3 bits, offset in
/// units of 8 bytes below.
pub(crate) fn ipv4_with(
    class: u8,
    fragment: u16,
    protocol: u8,
    source: [u8; 4],
    destination: [u8; 4],
    payload: &[u8],
) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let [high, low] = fragment.to_be_bytes();
    [
        &[
            0x45, class, length[0], length[1], 0, 7, high, low, 64, protocol, 0, 0,
        ][..],
        &source,
        &destination,
        payload,
    ]
    .concat()
}

/// An IPv6 packet.
pub(crate) fn ipv6(
    class: u8,
    next_header: u8,
    source: [u8; 16],
    destination: [u8; 16],
    payload: &[u8],
) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [
        &[
            0x60 | class >> 4,
            class << 4,
            0,
            0,
            length[0],
            length[1],
            next_header,
            64,
        ][..],
        &source,
        &destination,
        payload,
    ]
    .concat()
}

/// A UDP header, or the first eight bytes of TCP's.
pub(crate) fn ports(source: u16, destination: u16) -> Vec<u8> {
    [
        &source.to_be_bytes()[..],
        &destination.to_be_bytes(),
        &[0, 8, 0, 0],
    ]
    .concat()
}

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const A: [u8; 4] = [10, 0, 0, 1];
pub(crate) const B: [u8; 4] = [10, 0, 0, 2];

/// 2001:db8::N.
pub(crate) fn v6(last: u8) -> [u8; 16] {
    let mut address = [0; 16];
    (address[0], address[1], address[2], address[3], address[15]) = (0x20, 0x01, 0x0d, 0xb8, last);
    address
}

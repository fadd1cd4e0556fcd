//! What links carry, as a capture that other tools open: each link an interface, each packet as it gets the link, or as it has left
//! one that interrupts packets, so that times never step back.
//!
//! The format is pcapng (draft-ietf-opsawg-pcapng), times are in nanoseconds, rounded down (Wireshark misreads picoseconds), packets are bare IPv4 with the headers alone, their
//! true length beside them. A node's address is 10 and its number. Segments keep the numbers that they have, modulo 2^32; a flow's ports are
//! made of its number. A packet's own number is in the identification field, modulo 2^16.

use std::io::{self, BufWriter, Write};

use roundelay::{Ecn, Instant, Packet};
use roundelay_tcp::{Flags, Segment};

use crate::agent::Direction;
use crate::cargo::{Cargo, Carried, Content};
use crate::flows::{FlowCounts, FlowNumber};
use crate::link::preempts;
use crate::network::{LinkId, Network, NodeId};
use crate::probe::Probe;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Link type: IPv4 without anything around it.
const RAW_IPV4: u16 = 228;
/// The unit of times: a negative power of ten of a second.
const NANOSECONDS: u8 = 9;
/// Bytes of a node's name in an interface's.
const LONGEST_NAME: usize = 120;

/// A [`Probe`] that writes the capture.
#[derive(Debug)]
pub struct Pcapng<W: Write> {
    output: BufWriter<W>,
    /// The ends of the flows that are alive.
    flows: std::collections::BTreeMap<FlowNumber, [NodeId; 2]>,
    /// The links that interrupt packets.
    preempts: Vec<bool>,
    failure: Option<io::Error>,
}

impl<W: Write> Pcapng<W> {
    /// A capture of all links of a network.
    pub fn new(output: W, network: &Network) -> Self {
        let preempts = network.links().iter().map(|link| preempts(&link.queue)).collect();
        let mut capture = Self { output: BufWriter::new(output), flows: std::collections::BTreeMap::new(), preempts, failure: None };
        let mut section = Vec::from(0x1a2b_3c4d_u32.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        capture.block(SECTION, &section);
        for link in network.links() {
            let [from, to] = [link.from, link.to].map(|node| network.name(node));
            capture.interface(&format!("{} to {}", cut(&from), cut(&to)));
        }
        capture
    }

    /// Writes what is not written yet.
    ///
    /// # Errors
    /// Something could not be written, now or before.
    pub fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.failure.take().map_or(Ok(()), Err)
    }

    fn interface(&mut self, name: &str) {
        let mut interface = Vec::from(RAW_IPV4.to_le_bytes());
        interface.extend([0; 6]);
        option(&mut interface, 2, name.as_bytes());
        option(&mut interface, 9, &[NANOSECONDS]);
        option(&mut interface, 0, &[]);
        self.block(INTERFACE, &interface);
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let len = (body.len() + 12) as u32;
        let parts = [&kind.to_le_bytes()[..], &len.to_le_bytes(), body, &len.to_le_bytes()];
        self.failure = parts.into_iter().try_for_each(|part| self.output.write_all(part)).err();
    }
}

/// As much of a node's name as fits: an option has room for 65,535 bytes, a screen for fewer.
fn cut(name: &str) -> &str {
    let len = (0..=name.len().min(LONGEST_NAME)).rfind(|len| name.is_char_boundary(*len));
    &name[..len.unwrap_or(0)]
}

/// An option, padded to four bytes; one without a value ends the list.
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

/// The ones' complement of the ones' complement sum (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// An IPv4 header (RFC 791) of a packet of `len` bytes in all.
fn internet_header(len: u32, number: u64, ecn: Ecn, protocol: u8, ends: [NodeId; 2]) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[1] = match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable => 2,
        Ecn::Marked => 3,
    };
    header[2..4].copy_from_slice(&(len.min(0xffff) as u16).to_be_bytes());
    header[4..6].copy_from_slice(&(number as u16).to_be_bytes());
    header[8] = 64;
    header[9] = protocol;
    for (place, node) in ends.into_iter().enumerate() {
        header[12 + 4 * place..16 + 4 * place].copy_from_slice(&(10 << 24 | node.0 & 0xff_ffff).to_be_bytes());
    }
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Ports of a flow, that of its source first: enough of them to tell apart 2^30 flows between two nodes.
pub(crate) fn ports(flow: FlowNumber) -> [u16; 2] {
    [0x8000 | (flow.0 & 0x7fff) as u16, 0x8000 | (flow.0 >> 15 & 0x7fff) as u16]
}

/// A TCP header (RFC 9293) without options.
fn segment_header(segment: &Segment, [from, to]: [u16; 2]) -> [u8; 20] {
    let mut header = [0; 20];
    let bits = [(Flags::SYN, 2), (Flags::ACK, 16), (Flags::ECE, 64), (Flags::CWR, 128)];
    header[0..2].copy_from_slice(&from.to_be_bytes());
    header[2..4].copy_from_slice(&to.to_be_bytes());
    header[4..8].copy_from_slice(&(segment.sequence as u32).to_be_bytes());
    header[8..12].copy_from_slice(&(segment.acknowledgement as u32).to_be_bytes());
    header[12] = 5 << 4;
    header[13] = bits.into_iter().filter(|(flag, _)| segment.flags.has(*flag)).map(|(_, bit)| bit).sum();
    header[14..16].copy_from_slice(&u16::MAX.to_be_bytes());
    header
}

/// A UDP header (RFC 768) of a datagram of `len` bytes.
fn datagram_header(len: u32, [from, to]: [u16; 2]) -> [u8; 8] {
    let mut header = [0; 8];
    header[0..2].copy_from_slice(&from.to_be_bytes());
    header[2..4].copy_from_slice(&to.to_be_bytes());
    header[4..6].copy_from_slice(&(len.min(0xffff) as u16).to_be_bytes());
    header
}

impl<W: Write> Probe for Pcapng<W> {
    fn opened(&mut self, _now: Instant, flow: FlowNumber, _group: u32, from: NodeId, to: NodeId) {
        self.flows.insert(flow, [from, to]);
    }

    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, [start, end]: [Instant; 2]) {
        let Some(mut ends) = self.flows.get(&cargo.flow).copied() else { return };
        let mut ports = ports(cargo.flow);
        if cargo.direction == Direction::Backward {
            ends.reverse();
            ports.reverse();
        }
        let mut headers = Vec::with_capacity(40);
        if let Content::Segment(segment) = &cargo.content {
            headers.extend(internet_header(packet.len, cargo.number, packet.ecn, 6, ends));
            headers.extend(segment_header(segment, ports));
        } else {
            headers.extend(internet_header(packet.len, cargo.number, packet.ecn, 17, ends));
            headers.extend(datagram_header(packet.len.saturating_sub(20), ports));
        }
        // Fewer bytes than headers: a simulation need not have room for them.
        headers.truncate(packet.len as usize);
        // When it is heard of: a time before would come after later ones.
        let nanos = if self.preempts[link.0 as usize] { end } else { start }.as_picos() / 1000;
        let words = [link.0, (nanos >> 32) as u32, nanos as u32, headers.len() as u32, packet.len];
        let mut block: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        block.extend(headers);
        pad(&mut block);
        self.block(PACKET, &block);
    }

    fn closed(&mut self, _now: Instant, flow: FlowNumber, _counts: &FlowCounts) {
        self.flows.remove(&flow);
    }
}

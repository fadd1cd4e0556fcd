//! Packet capture of all links in pcapng format. Each link is an interface. A packet is recorded
//! when its transmission starts, or when it ends if the link is preemptive, so timestamps never
//! decrease.
//!
//! The format is pcapng (draft-ietf-opsawg-pcapng). Timestamps are in nanoseconds, rounded down,
//! because Wireshark misreads picoseconds. Packets are raw IPv4, headers only. The original length
//! is the packet's length on the link: the IPv4 length, the link's overhead and framing, and any
//! bytes that the headers have no room for. A node's address is 10.0.0.0/8 plus the node's number.
//! Ports are made from the flow number. If a connection's two directions are two flows, both have
//! the same ports. The identification field is the packet number modulo 2^16.
//!
//! In both directions a SYN has sequence number 0 and the first byte of data has number 1, modulo
//! 2^32. All bytes of a segment beside its data are header, filled with options as far as they fit.
//! Where the model gives selective acknowledgements no bytes, they are left out. There is no FIN,
//! because the model has none.

mod headers;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use roundelay::{Instant, Packet};

use crate::flows::FlowCounts;
use crate::headers::{Marks, ports};
use crate::ids::{Direction, FlowNumber, LinkId, NodeId};
use crate::network::Network;
use crate::packet_state::{Content, PacketState, Tag};
use crate::probe::{Opening, Probe};
use headers::Origin;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Link type: raw IPv4.
const RAW_IPV4: u16 = 228;
/// The unit of timestamps, as a negative power of ten: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// The most bytes of a node's name that an interface's name keeps.
const LONGEST_NAME: usize = 120;

/// A [`Probe`] that writes the capture.
#[derive(Debug)]
pub struct Pcapng<W: Write> {
    output: BufWriter<W>,
    /// Ends, ports and DSCP of each flow that is alive.
    flows: BTreeMap<FlowNumber, ([NodeId; 2], [u16; 2], u8)>,
    /// The DSCP of each group.
    code_points: Vec<u8>,
    /// Whether each link is preemptive.
    preempts: Vec<bool>,
    failure: Option<io::Error>,
}

impl<W: Write> Pcapng<W> {
    /// Starts a capture of all links in a network.
    pub fn new(output: W, network: &Network) -> Self {
        let preempts = network
            .links()
            .iter()
            .map(|link| link.queue.discipline.preempts())
            .collect();
        let flows = BTreeMap::new();
        let code_points = Vec::new();
        let mut capture = Self {
            output: BufWriter::new(output),
            flows,
            code_points,
            preempts,
            failure: None,
        };
        let mut section = Vec::from(0x1a2b_3c4d_u32.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        capture.block(SECTION, &section);
        for link in network.links() {
            let [from, to] = [link.from, link.to].map(|node| network.name(node));
            capture.interface(
                &format!("{} to {}", cut(&from), cut(&to)),
                link.rate.bits_per_second(),
            );
        }
        capture
    }

    /// Adds the groups' marks, in the order of group numbers. Flows of any other group have DSCP 0.
    #[must_use]
    pub fn with_marks(mut self, groups: impl IntoIterator<Item = Marks>) -> Self {
        self.code_points = groups.into_iter().map(|marks| marks.dscp).collect();
        self
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// A write failed, now or before.
    pub fn finish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        self.failure.take().map_or(Ok(()), Err)
    }

    fn interface(&mut self, name: &str, rate: u64) {
        let mut interface = Vec::from(RAW_IPV4.to_le_bytes());
        interface.extend([0; 6]);
        option(&mut interface, 2, name.as_bytes());
        option(&mut interface, 8, &rate.to_le_bytes());
        option(&mut interface, 9, &[NANOSECONDS]);
        option(&mut interface, 0, &[]);
        self.block(INTERFACE, &interface);
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let len = (body.len() + 12) as u32;
        let parts = [
            &kind.to_le_bytes()[..],
            &len.to_le_bytes(),
            body,
            &len.to_le_bytes(),
        ];
        self.failure = parts
            .into_iter()
            .try_for_each(|part| self.output.write_all(part))
            .err();
    }
}

/// Cuts a node's name. An option has room for 65,535 bytes, but a screen has not.
fn cut(name: &str) -> &str {
    let len = (0..=name.len().min(LONGEST_NAME)).rfind(|len| name.is_char_boundary(*len));
    &name[..len.unwrap_or(0)]
}

/// Writes an option, padded to four bytes. An option without a value ends the list.
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

impl<W: Write> Probe for Pcapng<W> {
    fn opened(
        &mut self,
        _now: Instant,
        flow: FlowNumber,
        Opening {
            group,
            from,
            to,
            reply_to,
            ..
        }: Opening,
    ) {
        let code_point = self.code_points.get(group as usize).copied().unwrap_or(0);
        let mut ports = ports(reply_to.unwrap_or(flow));
        if reply_to.is_some() {
            ports.reverse();
        }
        self.flows.insert(flow, ([from, to], ports, code_point));
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        let Some((mut ends, mut ports, code_point)) = self.flows.get(&state.flow).copied() else {
            return;
        };
        if state.direction == Direction::Backward {
            ends.reverse();
            ports.reverse();
        }
        let origin = Origin {
            number: state.number,
            code_point,
            ecn: packet.ecn,
            ends,
            ports,
        };
        let headers = match &state.content {
            Content::Segment(segment) => origin.segment(segment, state.len),
            Content::Bytes | Content::Number(_) => origin.datagram(state.len),
        };
        // We use the time of this call, because an earlier time would break the order of
        // timestamps.
        let nanos = if self.preempts[link.index()] {
            end
        } else {
            start
        }
        .as_picos()
            / 1000;
        // A simulated packet may be shorter than its headers.
        let len = packet.len.max(headers.len);
        let words = [
            link.0,
            (nanos >> 32) as u32,
            nanos as u32,
            headers.bytes.len() as u32,
            len,
        ];
        let mut block = Vec::with_capacity(4 * words.len() + headers.bytes.len() + 3);
        words
            .iter()
            .for_each(|word| block.extend_from_slice(&word.to_le_bytes()));
        block.extend_from_slice(&headers.bytes);
        pad(&mut block);
        self.block(PACKET, &block);
    }

    fn closed(&mut self, _now: Instant, flow: FlowNumber, _counts: &FlowCounts) {
        self.flows.remove(&flow);
    }
}

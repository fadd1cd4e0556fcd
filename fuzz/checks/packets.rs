//! Packets made of a fuzzer's bytes: valid headers around hostile options, lengths, flags, orders
//! and clocks. Bytes alone hardly ever make a frame that gets behind the IP header.

/// A packet as it was captured.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    /// Nanoseconds since the first packet's time. They may fall.
    pub(crate) nanos: i64,
    /// Bytes on the link, at least those captured.
    pub(crate) len: u32,
    /// What was captured of an Ethernet frame.
    pub(crate) frame: Vec<u8>,
    /// Whether the server sent it.
    #[allow(dead_code, reason = "a capture tells it by the addresses")]
    pub(crate) is_answer: bool,
}

/// The most packets in one input: enough for what a connection shows, and quick.
const MOST: usize = 600;

const TCP: u8 = 6;
/// Protocols by a draw: mostly TCP.
const PROTOCOLS: [u8; 8] = [TCP, TCP, TCP, TCP, TCP, 17, 1, 50];
/// Steps of the clock in nanoseconds: none, a burst, a packet's time, round trips, pauses, jumps.
const STEPS: [i64; 16] = [
    0,
    1,
    10_000,
    120_000,
    1_000_000,
    1_000_000,
    20_000_000,
    100_000_000,
    1_000_000_000,
    60_000_000_000,
    -1_000,
    -1_000_000_000,
    3_600_000_000_000,
    -86_400_000_000_000,
    20_000_000_000_000_000,
    -20_000_000_000_000_000,
];
/// Bytes of data: none, little, full segments, and more than a frame.
const DATA: [u16; 8] = [0, 0, 1, 100, 536, 1448, 1460, 9000];

/// The fuzzer's bytes, from the front. There are zeros behind the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }
}

/// An end of a connection, as far as its packets go on from each other.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    next: u32,
    clock: u32,
}

/// The packets that the bytes make.
pub(crate) fn packets(data: &[u8]) -> Vec<Packet> {
    let mut bytes = Bytes(data);
    let mut ends = [[End::default(); 2]; 4];
    let mut nanos = 0_i64;
    let mut packets = Vec::new();
    while !bytes.0.is_empty() && packets.len() < MOST {
        let kind = bytes.byte();
        let is_answer = kind & 1 != 0;
        let connection = usize::from(kind >> 1 & 3);
        let protocol = PROTOCOLS[usize::from(kind >> 3 & 7)];
        let is_v6 = kind & 0x40 != 0;
        let lies = if kind & 0x80 != 0 { bytes.byte() } else { 0 };
        let step = bytes.byte();
        nanos = nanos.saturating_add(STEPS[usize::from(step & 15)]);
        let data = DATA[usize::from(step >> 4 & 7)];
        let [client, server] = &mut ends[connection];
        let (own, other) = if is_answer {
            (server, client)
        } else {
            (client, server)
        };
        own.clock = own.clock.wrapping_add(1 + u32::from(step));
        let content = match protocol {
            TCP => segment(&mut bytes, own, other, is_answer, connection as u16, data),
            _ => datagram(is_answer, connection as u16, data),
        };
        let mut packet = packet(is_v6, is_answer, protocol, &content);
        // Lengths that contradict the packet, and fragments.
        if lies & 1 != 0 {
            let at = if is_v6 { 4 } else { 2 };
            packet[at] = bytes.byte();
            packet[at + 1] = bytes.byte();
        }
        if lies & 2 != 0 {
            packet[6] = bytes.byte();
        }
        if lies & 4 != 0 {
            packet[0] = bytes.byte();
        }
        let mut frame = vec![2; 12];
        if lies & 8 != 0 {
            frame.extend([0x81, 0, 0, bytes.byte()]);
        }
        frame.extend(if is_v6 { [0x86, 0xdd] } else { [0x08, 0] });
        frame.extend(packet);
        let whole = frame.len() as u32 + u32::from(data);
        if lies & 16 != 0 {
            frame.truncate(usize::from(bytes.byte()));
        }
        let len = if lies & 32 != 0 {
            bytes.number()
        } else {
            whole
        };
        packets.push(Packet {
            nanos,
            len: len.max(frame.len() as u32),
            frame,
            is_answer,
        });
    }
    packets
}

/// A TCP header with options. Its data was not captured.
fn segment(
    bytes: &mut Bytes<'_>,
    own: &mut End,
    other: &End,
    is_answer: bool,
    connection: u16,
    data: u16,
) -> Vec<u8> {
    let flags = bytes.byte();
    let shape = bytes.byte();
    // The next bytes, some sent again, or any.
    let sequence = match shape & 3 {
        0 | 1 => own.next,
        2 => own.next.wrapping_sub(u32::from(data)),
        _ => bytes.number(),
    };
    let acknowledgement = match shape >> 2 & 3 {
        0..=2 => other.next,
        _ => bytes.number(),
    };
    let mut options = Vec::new();
    if shape & 0x10 != 0 {
        options.extend([1, 1, 8, 10]);
        options.extend(own.clock.to_be_bytes());
        options.extend(other.clock.to_be_bytes());
    }
    if shape & 0x20 != 0 {
        options.extend([2, 4, 5, 0xb4, 3, 3, 7, 1]);
    }
    if shape & 0x40 != 0 {
        // Whatever the fuzzer likes: kinds, lengths and values.
        for _ in 0..bytes.byte() % 41 {
            options.push(bytes.byte());
        }
    }
    options.truncate(40);
    options.resize(options.len().next_multiple_of(4), 0);
    let words = (20 + options.len()) as u8 / 4;
    let mut offset = words * 16;
    if shape & 0x80 != 0 {
        offset = bytes.byte();
    }
    let mut header = ports(is_answer, connection);
    header.extend(sequence.to_be_bytes());
    header.extend(acknowledgement.to_be_bytes());
    header.extend([offset, flags, bytes.byte(), 0xff, 0, 0, 0, 0]);
    header.extend(options);
    // A SYN and a FIN take a number, too.
    let taken = u32::from(data) + u32::from(flags & 1) + u32::from(flags >> 1 & 1);
    own.next = sequence.wrapping_add(taken);
    header
}

/// A UDP header, or what stands there in other protocols.
fn datagram(is_answer: bool, connection: u16, data: u16) -> Vec<u8> {
    let mut header = ports(is_answer, connection);
    header.extend((8 + data).to_be_bytes());
    header.extend([0, 0]);
    header
}

fn ports(is_answer: bool, connection: u16) -> Vec<u8> {
    let mut ports = [443_u16, 50_000 + connection];
    if !is_answer {
        ports.reverse();
    }
    ports.map(u16::to_be_bytes).concat()
}

/// An IP packet. Its length counts what was captured of it.
fn packet(is_v6: bool, is_answer: bool, protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut hosts = [1_u8, 2];
    if is_answer {
        hosts.reverse();
    }
    let mut packet;
    if is_v6 {
        let len = (content.len() as u16).to_be_bytes();
        packet = vec![0x60, 0, 0, 0, len[0], len[1], protocol, 64];
        for host in hosts {
            packet.extend([0xfd; 15]);
            packet.push(host);
        }
    } else {
        let len = (20 + content.len() as u16).to_be_bytes();
        packet = vec![0x45, 2, len[0], len[1], 0, 1, 0x40, 0, 64, protocol, 0, 0];
        for host in hosts {
            packet.extend([10, 0, 0, host]);
        }
    }
    packet.extend(content);
    packet
}

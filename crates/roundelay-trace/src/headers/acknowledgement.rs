//! What a TCP header acknowledges: its number, blocks and timestamps, and whether the segment does
//! anything else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use etherparse::LaxIpSlice;
use roundelay::Acknowledgement;

use super::{Frame, TCP, datagram_protocol, ip_len, network_layer};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;
const ECE: u8 = 64;
const CWR: u8 = 128;

impl Frame<'_> {
    /// What the packet's TCP header acknowledges. None unless the whole header was captured with
    /// its options.
    pub fn acknowledgement(&self) -> Option<Acknowledgement> {
        let packet = network_layer(self.link, self.bytes).ok()?;
        let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
        let payload = ip.payload();
        if payload.fragmented || datagram_protocol(&ip) != TCP {
            return None;
        }
        let segment = payload.payload;
        let header_len = usize::from(segment.get(12)? >> 4) * 4;
        let header = segment.get(..header_len)?;
        let [offset, flags] = *header.get(12..)?.first_chunk()?;
        let mut connection = DefaultHasher::new();
        let ports = header.get(..4)?;
        (ip.source_addr(), ip.destination_addr(), ports).hash(&mut connection);
        let mut told = Acknowledgement {
            connection: connection.finish(),
            number: u32::from_be_bytes(*header.get(8..)?.first_chunk()?),
            echoes_mark: flags & ECE != 0,
            has_reduced: flags & CWR != 0,
            is_silent: flags & ACK == 0 || flags & SYN != 0,
            ..Acknowledgement::default()
        };
        let knows_options = read_options(header.get(20..)?, &mut told);
        let before = segment.as_ptr() as usize - packet.as_ptr() as usize;
        // Segmentation offload may have left the length unset. If so, there is data.
        let len = ip_len(packet);
        let has_data = len.is_none_or(|len| len as usize > before + header_len);
        told.len = len.unwrap_or(u32::MAX);
        let does_more = flags & (FIN | RST | PSH | URG) != 0 || offset & 15 != 0;
        told.is_bare = knows_options && !has_data && !does_more && !told.is_silent;
        Some(told)
    }
}

/// Reads blocks (RFC 2018) and timestamps (RFC 7323). Returns whether nothing else says anything: a
/// signature (RFC 2385) only vouches for the segment.
fn read_options(mut options: &[u8], told: &mut Acknowledgement) -> bool {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const BLOCKS: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    const SIGNATURE: u8 = 19;
    let mut knows_all = true;
    while let [kind, rest @ ..] = options {
        match *kind {
            END => return knows_all,
            NO_OPERATION => {
                options = rest;
                continue;
            }
            _ => {}
        }
        let len = rest.first().map_or(0, |len| usize::from(*len));
        let Some((option, behind)) = options.split_at_checked(len) else {
            return false;
        };
        let Some(value) = option.get(2..) else {
            return false;
        };
        let (pairs, odd) = value.as_chunks::<8>();
        match (*kind, pairs) {
            (BLOCKS, [_, ..]) if odd.is_empty() && pairs.len() <= told.blocks.len() => {
                for (block, read) in told.blocks.iter_mut().zip(pairs) {
                    *block = pair(*read);
                }
            }
            (TIMESTAMPS, [read]) if odd.is_empty() => told.timestamps = Some(pair(*read)),
            (SIGNATURE, _) => {}
            _ => knows_all = false,
        }
        options = behind;
    }
    knows_all
}

/// Two numbers of 32 bits.
const fn pair([a, b, c, d, e, f, g, h]: [u8; 8]) -> (u32, u32) {
    (
        u32::from_be_bytes([a, b, c, d]),
        u32::from_be_bytes([e, f, g, h]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{LinkType, Tap};

    /// An IPv4 packet with a TCP header of these flags and options, and `data` bytes behind.
    fn packet(flags: u8, options: &[u8], data: usize) -> Vec<u8> {
        let header_len = 20 + options.len();
        let total = (20 + header_len + data) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0x01, 0xbb, 0x9c, 0x40, 0, 0, 0, 7, 0x12, 0x34, 0x56, 0x78]);
        packet.extend([(header_len / 4 * 16) as u8, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend(options);
        packet.resize(packet.len() + data, 0);
        packet
    }

    fn told_of(packet: &[u8], captured: usize) -> Option<Acknowledgement> {
        Frame {
            time_nanos: 0,
            original_len: packet.len() as u32,
            link: LinkType::RAW,
            bytes: &packet[..captured.min(packet.len())],
            tap: Tap::default(),
        }
        .acknowledgement()
    }

    fn told(packet: &[u8]) -> Acknowledgement {
        told_of(packet, 100).expect("it acknowledges")
    }

    /// No-operation twice, timestamps, no-operation twice, a block.
    const OPTIONS: [u8; 24] = [
        1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 0, 9, 1, 1, 5, 10, 0, 0, 2, 0, 0, 0, 3, 0,
    ];

    #[test]
    fn number_blocks_timestamps_and_flags_are_read() {
        let ack = told(&packet(ACK | ECE, &OPTIONS, 0));
        assert_eq!(ack.number, 0x1234_5678);
        assert_eq!(ack.timestamps, Some((0x100, 9)));
        assert_eq!(ack.blocks, [(0x200, 0x300), (0, 0), (0, 0), (0, 0)]);
        assert!(ack.echoes_mark && !ack.has_reduced && ack.is_bare);
        assert!(told(&packet(ACK | CWR, &[], 0)).has_reduced);
    }

    #[test]
    fn what_does_more_is_not_bare() {
        let fast_open = [34, 4, 1, 2];
        let cut = [8, 10, 0, 0];
        for (packet, what) in [
            (packet(ACK, &[], 1), "a byte of data"),
            (packet(ACK | PSH, &[], 0), "PSH"),
            (packet(ACK | FIN, &[], 0), "FIN"),
            (packet(ACK, &fast_open, 0), "an unknown option"),
            (packet(ACK, &cut, 0), "an option longer than the header"),
            (packet(ACK, &[8, 0, 0, 0], 0), "an option without length"),
        ] {
            assert!(!told(&packet).is_bare, "{what}");
        }
        let mut reserved = packet(ACK, &[], 0);
        reserved[32] |= 1;
        assert!(!told(&reserved).is_bare, "a reserved flag");
        assert!(told(&packet(ACK, &[0, 9, 9, 9], 0)).is_bare, "padding");
        let mut signature = [1; 20];
        signature[2..4].copy_from_slice(&[19, 18]);
        assert!(told(&packet(ACK, &signature, 0)).is_bare, "a signature");
    }

    #[test]
    fn what_is_not_whole_or_acknowledges_nothing_is_left_alone() {
        for flags in [ACK | SYN, SYN, RST, 0] {
            let ack = told(&packet(flags, &[], 0));
            assert!(ack.is_silent && !ack.is_bare, "{flags}");
        }
        assert!(!told(&packet(ACK, &[], 0)).is_silent);
        assert_eq!(told_of(&packet(ACK, &OPTIONS, 0), 54), None, "cut options");
        let mut udp = packet(ACK, &[], 0);
        udp[9] = 17;
        assert_eq!(told_of(&udp, 100), None);
        let mut fragment = packet(ACK, &[], 0);
        fragment[6] = 0x20;
        assert_eq!(told_of(&fragment, 100), None);
    }

    #[test]
    fn connections_are_told_apart() {
        let one = packet(ACK, &[], 0);
        let mut port = one.clone();
        port[20] ^= 1;
        let mut address = one.clone();
        address[15] ^= 1;
        let of = |packet: &[u8]| told(packet).connection;
        assert_eq!(of(&one), of(&packet(ACK | ECE, &OPTIONS, 9)));
        assert!(of(&one) != of(&port) && of(&one) != of(&address));
    }
}

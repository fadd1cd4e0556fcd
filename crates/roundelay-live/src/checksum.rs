//! Finds TCP and UDP checksums that a sender has left to its hardware. An `AF_XDP` socket does not
//! say so, but the frame shows it.

#![deny(clippy::indexing_slicing)]

const ETHERNET: usize = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Whether a frame's checksum is unfinished. Linux leaves the sum of the pseudo-header (RFC 9293,
/// section 3.1) in the field for hardware to finish. So we look for just that sum, unless it
/// happens to be the right checksum. We do not look at other protocols, fragments, or IPv6 with
/// extension headers.
pub(crate) fn is_unfinished(frame: &[u8]) -> bool {
    let Some((protocol, addresses, segment)) = parts(frame) else {
        return false;
    };
    let offset = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return false,
    };
    let Some([high, low]) = segment.get(offset..offset + 2) else {
        return false;
    };
    let found = u16::from_be_bytes([*high, *low]);
    // Over IPv4 a UDP packet needs no checksum.
    if found == 0 {
        return false;
    }
    let len = segment.len() as u64;
    let pseudo = sum(addresses) + u64::from(protocol) + len;
    found == folded(pseudo) && folded(pseudo + sum(segment)) != 0xffff
}

/// An IP packet's protocol, addresses and content.
fn parts(frame: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let packet = frame.get(ETHERNET..)?;
    let first = *packet.first()?;
    match (frame.get(12..14)?, first >> 4) {
        ([0x08, 0x00], 4) => {
            let header = usize::from(first & 15) * 4;
            let len = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
            // A fragmented packet has one checksum over all fragments, in the first.
            if u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0 {
                return None;
            }
            let protocol = *packet.get(9)?;
            Some((protocol, packet.get(12..20)?, packet.get(header..len)?))
        }
        ([0x86, 0xdd], 6) => {
            let len = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
            let protocol = *packet.get(6)?;
            Some((protocol, packet.get(8..40)?, packet.get(40..40 + len)?))
        }
        _ => None,
    }
}

/// Adds 16-bit numbers.
fn sum(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    let (pairs, odd) = bytes.as_chunks::<2>();
    for pair in pairs {
        sum += u64::from(u16::from_be_bytes(*pair));
    }
    for high in odd {
        sum += u64::from(*high) << 8;
    }
    sum
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram of UDP over IPv4 or IPv6, its checksum unfinished.
    fn datagram(is_v6: bool, payload: &[u8]) -> Vec<u8> {
        let len = 8 + payload.len();
        let mut frame = vec![2; 12];
        let addresses: Vec<u8>;
        if is_v6 {
            addresses = (1..=32).collect();
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, len as u8, UDP, 64]);
        } else {
            addresses = (1..=8).collect();
            frame.extend([8, 0, 0x45, 0, 0, 20 + len as u8, 0, 0, 0x40, 0, 64, UDP]);
            frame.extend([0, 0]);
        }
        frame.extend(&addresses);
        frame.extend([0, 9, 0, 9, 0, len as u8]);
        let pseudo = folded(sum(&addresses) + u64::from(UDP) + len as u64);
        frame.extend(pseudo.to_be_bytes());
        frame.extend(payload);
        // The padding of a short frame is no part of the packet.
        frame.extend([9; 5]);
        frame
    }

    /// Puts the right checksum in.
    fn finish(frame: &mut [u8]) {
        let (protocol, addresses, segment) = parts(frame).expect("a datagram");
        let len = segment.len() as u64;
        let at = frame.len() - 5 - segment.len() + 6;
        let total = sum(addresses) + u64::from(protocol) + len + sum(segment);
        let field = u64::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
        let right = !folded(total - field);
        frame[at..at + 2].copy_from_slice(&right.to_be_bytes());
    }

    #[test]
    fn an_unfinished_checksum_is_seen_and_a_right_one_is_not() {
        for is_v6 in [false, true] {
            let mut frame = datagram(is_v6, b"packet");
            assert!(is_unfinished(&frame), "{frame:?}");
            finish(&mut frame);
            assert!(!is_unfinished(&frame), "{frame:?}");
            for cut in 0..frame.len() {
                assert!(!is_unfinished(&frame[..cut]));
            }
        }
    }

    #[test]
    fn what_cannot_be_known_is_left_alone() {
        let fragment = |frame: &mut [u8]| frame[20] = 0x20;
        let none = |frame: &mut [u8]| frame[40..42].fill(0);
        let other = |frame: &mut [u8]| frame[12] = 0x81;
        let changes: [fn(&mut [u8]); 3] = [fragment, none, other];
        for change in changes {
            let mut frame = datagram(false, b"packet");
            change(&mut frame);
            assert!(!is_unfinished(&frame), "{frame:?}");
        }
    }

    #[test]
    fn a_checksum_that_equals_the_pseudo_header_by_chance_is_right() {
        // The sum of everything but the pseudo-header is -2 times it.
        for number in 0..=0xffff_u16 {
            let mut frame = datagram(false, &number.to_be_bytes());
            let before = frame.clone();
            finish(&mut frame);
            if frame == before {
                assert!(!is_unfinished(&frame));
                return;
            }
        }
        panic!("one of all payloads has this checksum");
    }
}

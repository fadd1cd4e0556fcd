//! Congestion marks: sets CE in the IP header of a frame (RFC 3168, section 5).

#![deny(clippy::indexing_slicing)]

use roundelay_trace::{LinkType, network_offset};

/// CE: both bits of the ECN field are set.
const CE: u8 = 0b11;

/// Sets CE in the frame's IP header. Returns false if there is no IP header.
pub(crate) fn mark(frame: &mut [u8]) -> bool {
    let Some(at) = network_offset(LinkType::ETHERNET, frame) else {
        return false;
    };
    let packet = frame.get_mut(at..).unwrap_or_default();
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => match packet.first_chunk_mut() {
            Some(header) => mark_v4(header),
            None => return false,
        },
        Some(6) => match packet.first_chunk_mut() {
            Some(header) => mark_v6(header),
            None => return false,
        },
        _ => return false,
    }
    true
}

/// Sets CE and updates the header's checksum (RFC 1624, equation 3).
fn mark_v4(header: &mut [u8; 20]) {
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= CE;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let [high, low] = (!(sum as u16)).to_be_bytes();
    (header[10], header[11]) = (high, low);
}

/// Version, traffic class, flow label: 4, 8 and 20 bits (RFC 8200, section 3).
const fn mark_v6(header: &mut [u8; 40]) {
    header[1] |= CE << 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Internet checksum over a header; zero if the header's own is right.
    fn sum_of(header: &[u8]) -> u16 {
        let mut sum: u32 = header
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn frame_v4(tos: u8, id: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([8, 0]);
        let mut ip = vec![0x45, tos, 0, 40];
        ip.extend(id.to_be_bytes());
        ip.extend([0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let [high, low] = sum_of(&ip).to_be_bytes();
        (ip[10], ip[11]) = (high, low);
        frame.extend(ip);
        frame.extend([0; 20]);
        frame
    }

    #[test]
    fn the_checksum_stays_right_whatever_the_header() {
        for tos in [1, 2, 3, 0xb9, 0xfe] {
            for id in 0..=u16::MAX {
                let mut frame = frame_v4(tos, id);
                assert!(mark(&mut frame));
                assert_eq!(
                    (frame[15], sum_of(&frame[14..34])),
                    (tos | 3, 0),
                    "{tos} {id}"
                );
            }
        }
    }

    #[test]
    fn the_traffic_class_of_ipv6_is_marked_and_other_frames_are_left_alone() {
        let mut frame = vec![0; 54];
        (frame[12], frame[13], frame[14], frame[15]) = (0x86, 0xdd, 0x6b, 0x21);
        frame[18..20].copy_from_slice(&[0, 0]);
        assert!(mark(&mut frame));
        assert_eq!((frame[14], frame[15]), (0x6b, 0x31));
        for mut other in [vec![], vec![0; 14], vec![0xff; 60], frame[..30].to_vec()] {
            let before = other.clone();
            assert!(!mark(&mut other));
            assert_eq!(other, before);
        }
    }
}

//! Overhead, minimum and framing of the link in a comparison; lengths of the network layer.

use crate::common::*;
use roundelay_trace::{Frame, LinkType, Tap};

fn network_len(link: LinkType, original_len: u32, bytes: &[u8]) -> u32 {
    Frame {
        time_nanos: 0,
        original_len,
        link,
        bytes,
        tap: Tap::default(),
    }
    .network_len()
}

#[test]
fn the_network_layer_is_the_ip_packet() {
    // 1,000 bytes by IP's own length, of which the headers were captured.
    let mut v4 = ipv4(UDP, A, B, &ports(1, 2));
    v4[2..4].copy_from_slice(&1000_u16.to_be_bytes());
    let mut v6 = ipv6(0, UDP, v6(1), v6(2), &ports(1, 2));
    v6[4..6].copy_from_slice(&960_u16.to_be_bytes());
    for (kind, packet) in [(0x0800_u16, v4), (0x86dd, v6)] {
        let tagged = ethernet(
            0x8100,
            &[&[0, 7][..], &kind.to_be_bytes(), &packet].concat(),
        );
        let ppp = if kind == 0x0800 { [0, 0x21] } else { [0, 0x57] };
        let session = ethernet(
            0x8864,
            &[&[0x11, 0, 0, 1, 3, 0xea][..], &ppp, &packet].concat(),
        );
        let labelled = ethernet(0x8847, &[&[0, 0, 0x11, 64][..], &packet].concat());
        let cooked = [&[0; 14][..], &kind.to_be_bytes(), &packet].concat();
        for (link, header, frame) in [
            (LinkType::RAW, 0, packet.clone()),
            (LinkType::ETHERNET, 14, ethernet(kind, &packet)),
            (LinkType::ETHERNET, 18, tagged),
            (LinkType::ETHERNET, 22, session),
            (LinkType::ETHERNET, 18, labelled),
            (LinkType::LINUX_SLL, 16, cooked),
        ] {
            assert_eq!(
                network_len(link, 1000 + header, &frame),
                1000,
                "{link} {header}"
            );
            // Padding, or a frame check sequence.
            assert_eq!(
                network_len(link, 1004 + header, &frame),
                1000,
                "{link} {header}"
            );
            // The frame is what counts if IP claims more.
            assert_eq!(
                network_len(link, 900 + header, &frame),
                900,
                "{link} {header}"
            );
        }
    }
}

#[test]
fn lengths_that_offloading_leaves_open_are_the_frame_s() {
    let mut packet = ipv4(UDP, A, B, &ports(1, 2));
    packet[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(
        network_len(LinkType::ETHERNET, 9014, &ethernet(0x0800, &packet)),
        9000
    );
    let mut packet = ipv6(0, UDP, v6(1), v6(2), &ports(1, 2));
    packet[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(
        network_len(LinkType::ETHERNET, 70_014, &ethernet(0x86dd, &packet)),
        70_000
    );
    // Less than a header.
    let mut packet = ipv4(UDP, A, B, &ports(1, 2));
    packet[2..4].copy_from_slice(&[0, 19]);
    assert_eq!(network_len(LinkType::RAW, 28, &packet), 28);
}

#[test]
fn other_packets_count_without_their_link_header() {
    let lengths = [
        (LinkType::ETHERNET, 46),
        (LinkType::LINUX_SLL, 44),
        (LinkType::LINUX_SLL2, 40),
        (LinkType::RAW, 60),
        (LinkType(147), 60),
    ];
    for (link, len) in lengths {
        assert_eq!(network_len(link, 60, &[0; 60]), len, "{link}");
    }
    assert_eq!(network_len(LinkType::ETHERNET, 10, &[0; 10]), 0);
    // Radiotap of 8 bytes before a beacon.
    let beacon = [&[0, 0, 8, 0, 0, 0, 0, 0, 0x80][..], &[0; 40]].concat();
    assert_eq!(network_len(LinkType::RADIOTAP, 49, &beacon), 41);
}

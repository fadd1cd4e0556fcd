//! Link types: 802.11 in all its wrappings, PPP's variants; which frames have headers, how long a
//! frame is on the link.

use crate::common::*;
use roundelay_trace::{Capture, Frame, Headers, Heading, LinkType, Tap, Unparsable, parse};

const PROTECTED: u8 = 0x40;
const TO_DS: u8 = 1;
const FROM_DS: u8 = 2;
const HT_CONTROL: u8 = 0x80;

fn udp4() -> Vec<u8> {
    ipv4(UDP, A, B, &ports(1234, 53))
}

fn udp6() -> Vec<u8> {
    ipv6(0, UDP, v6(1), v6(2), &ports(1234, 53))
}

fn snap(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    [
        &[0xaa, 0xaa, 3, 0, 0, 0][..],
        &ether_type.to_be_bytes(),
        packet,
    ]
    .concat()
}

/// An 802.11 frame: Frame Control, three addresses around a duration and a sequence number, `more`
/// of the MAC header, the body.
fn frame(control: [u8; 2], more: &[u8], body: &[u8]) -> Vec<u8> {
    [&control[..], &[0; 2], &[0x11; 18], &[0x20, 0], more, body].concat()
}

fn radiotap(fields: u32, content: &[u8], frame: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + content.len()).unwrap();
    [
        &[0, 0][..],
        &len.to_le_bytes(),
        &fields.to_le_bytes(),
        content,
        frame,
    ]
    .concat()
}

#[track_caller]
fn assert_udp(link: LinkType, bytes: &[u8]) {
    let Headers {
        protocol,
        source_port,
        destination_port,
        ..
    } = parse(link, bytes).unwrap();
    assert_eq!((protocol, source_port, destination_port), (UDP, 1234, 53));
}

#[test]
fn data_frames_of_802_11() {
    for (ether_type, packet) in [(0x0800, udp4()), (0x86dd, udp6())] {
        let body = snap(ether_type, &packet);
        for ends in [0, TO_DS, FROM_DS] {
            assert_udp(LinkType::IEEE802_11, &frame([0x08, ends], &[], &body));
            assert_udp(LinkType::IEEE802_11, &frame([0x88, ends], &[6, 0], &body));
            assert_udp(
                LinkType::IEEE802_11,
                &frame([0x88, ends | HT_CONTROL], &[6, 0, 0, 0, 0, 0], &body),
            );
        }
        let both = TO_DS | FROM_DS;
        assert_udp(
            LinkType::IEEE802_11,
            &frame([0x08, both], &[0x44; 6], &body),
        );
        assert_udp(
            LinkType::IEEE802_11,
            &frame([0x88, both], &[&[0x44; 6][..], &[0, 0]].concat(), &body),
        );
        // Without QoS the bit is not about HT Control.
        assert_udp(
            LinkType::IEEE802_11,
            &frame([0x08, TO_DS | HT_CONTROL], &[], &body),
        );
    }
    // A VLAN tag, and 802.1H's organisation, behind SNAP.
    assert_udp(
        LinkType::IEEE802_11,
        &frame(
            [0x08, 0],
            &[],
            &snap(0x8100, &[vec![0, 7, 8, 0], udp4()].concat()),
        ),
    );
    let mut tunnel = frame([0x08, 0], &[], &snap(0x0800, &udp4()));
    tunnel[29] = 0xf8;
    assert_udp(LinkType::IEEE802_11, &tunnel);
}

/// The first packet of several in one frame.
#[test]
fn an_a_msdu_counts_by_its_first_packet() {
    let subframe = |body: Vec<u8>| {
        let mut subframe = [
            &[5; 12][..],
            &u16::try_from(body.len()).unwrap().to_be_bytes(),
            &body,
        ]
        .concat();
        subframe.resize(subframe.len().next_multiple_of(4), 0);
        subframe
    };
    let other = snap(0x0800, &ipv4(TCP, A, B, &ports(80, 81)));
    let both = [subframe(snap(0x0800, &udp4())), subframe(other)].concat();
    assert_udp(
        LinkType::IEEE802_11,
        &frame([0x88, TO_DS], &[0x80, 0], &both),
    );
}

#[test]
fn frames_without_a_packet_say_why() {
    let body = snap(0x0800, &udp4());
    let not_ip = [
        // Management: a beacon. Control: an acknowledgement. An extension. Version 1.
        frame([0x80, 0], &[], &body),
        vec![0xd4, 0, 0, 0, 1, 2, 3, 4, 5, 6],
        frame([0x0c, 0], &[], &body),
        frame([0x09, 0], &[], &body),
        // Null, QoS Null, CF-Ack.
        frame([0x48, 0], &[], &[]),
        frame([0xc8, 0], &[0, 0], &[]),
        frame([0x58, 0], &[], &body),
        // EAPOL and ARP; LLC without SNAP: spanning tree.
        frame([0x08, 0], &[], &snap(0x888e, &[0; 40])),
        frame([0x08, 0], &[], &snap(0x0806, &[0; 40])),
        frame([0x08, 0], &[], &[0x42, 0x42, 3, 0, 0, 0, 0, 0, 0]),
    ];
    for (number, frame) in not_ip.iter().enumerate() {
        assert_eq!(
            parse(LinkType::IEEE802_11, frame),
            Err(Unparsable::NotIp),
            "{number}"
        );
    }
    assert_eq!(
        parse(
            LinkType::IEEE802_11,
            &frame([0x88, TO_DS | PROTECTED], &[0, 0], &body)
        ),
        Err(Unparsable::Encrypted)
    );
    // A beacon's bit means nothing.
    assert_eq!(
        parse(LinkType::IEEE802_11, &frame([0x80, PROTECTED], &[], &body)),
        Err(Unparsable::NotIp)
    );
    let mut fragment = frame([0x08, 0], &[], &body);
    fragment[22] = 0x21;
    assert_eq!(
        parse(LinkType::IEEE802_11, &fragment),
        Err(Unparsable::NotIp)
    );
}

#[test]
fn host_headers_before_802_11() {
    let bare = frame([0x88, FROM_DS], &[6, 0], &snap(0x0800, &udp4()));
    assert_udp(LinkType::RADIOTAP, &radiotap(0, &[], &bare));
    assert_udp(
        LinkType::RADIOTAP,
        &radiotap(0x4008_0000, &[0xff; 40], &bare),
    );
    let ppi = |link: u32, frame: &[u8]| {
        [&[0, 0, 12, 0][..], &link.to_le_bytes(), &[9; 4], frame].concat()
    };
    assert_udp(LinkType::PPI, &ppi(105, &bare));
    assert_udp(LinkType::PPI, &ppi(1, &ethernet(0x0800, &udp4())));
    assert_eq!(
        parse(LinkType::PPI, &ppi(192, &ppi(105, &bare))),
        Err(Unparsable::UnknownLink)
    );
    for len in [144_u32.to_le_bytes(), 144_u32.to_be_bytes()] {
        assert_udp(
            LinkType::PRISM,
            &[&[0x44, 0, 0, 0][..], &len, &[0; 136], &bare].concat(),
        );
    }
    let avs = [&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64][..], &[0; 56], &bare].concat();
    assert_udp(LinkType::PRISM, &avs);
    assert_udp(LinkType::AVS, &avs);
    // A version of the future, and headers that claim less than their own fields.
    assert_eq!(
        parse(
            LinkType::RADIOTAP,
            &[&[1, 0, 8, 0, 0, 0, 0, 0][..], &bare].concat()
        ),
        Err(Unparsable::NotIp)
    );
    assert_eq!(
        parse(
            LinkType::RADIOTAP,
            &[&[0, 0, 7, 0, 0, 0, 0, 0][..], &bare].concat()
        ),
        Err(Unparsable::NotIp)
    );
    assert_eq!(parse(LinkType::AVS, &bare), Err(Unparsable::NotIp));
}

/// Some chips put zeros after the MAC header; radiotap's Flags say so. QoS makes 26 bytes.
#[test]
fn zeros_after_the_mac_header_are_skipped_if_radiotap_says_so() {
    let padded = frame([0x88, FROM_DS], &[6, 0, 0, 0], &snap(0x0800, &udp4()));
    // Flags alone; a second word of fields; Flags after a time, aligned to 8 bytes.
    assert_udp(LinkType::RADIOTAP, &radiotap(1 << 1, &[0x20], &padded));
    assert_udp(
        LinkType::RADIOTAP,
        &radiotap(1 << 31 | 1 << 1, &[0, 0, 0, 0, 0x20], &padded),
    );
    assert_udp(
        LinkType::RADIOTAP,
        &radiotap(1 << 1 | 1, &[1, 2, 3, 4, 5, 6, 7, 8, 0x20], &padded),
    );
    assert_udp(
        LinkType::RADIOTAP,
        &radiotap(
            1 << 31 | 1 << 1 | 1,
            &[0, 0, 0, 0, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0x20],
            &padded,
        ),
    );
    let flags = [(1 << 1, vec![0x10]), (1 << 2, vec![0x20]), (0, vec![0x20])];
    for (fields, content) in flags {
        assert_eq!(
            parse(LinkType::RADIOTAP, &radiotap(fields, &content, &padded)),
            Err(Unparsable::NotIp)
        );
    }
}

#[test]
fn every_cut_of_a_wireless_frame_is_truncated() {
    let bare = frame(
        [0x88, FROM_DS | HT_CONTROL],
        &[0x86, 0, 0, 0, 0, 0],
        &[vec![5; 14], snap(0x0800, &udp4())].concat(),
    );
    let whole = radiotap(1 << 1, &[0], &bare);
    let headers = whole.len() - 8;
    for length in 0..headers {
        assert_eq!(
            parse(LinkType::RADIOTAP, &whole[..length]),
            Err(Unparsable::Truncated),
            "{length}"
        );
    }
    assert_udp(LinkType::RADIOTAP, &whole);
}

#[test]
fn ppp_with_a_direction_and_pppoe() {
    let packet = [vec![0x00, 0x21], udp4()].concat();
    let hdlc = [vec![0xff, 0x03], packet.clone()].concat();
    for direction in [0, 1] {
        assert_udp(
            LinkType::PPP_WITH_DIRECTION,
            &[&[direction][..], &packet].concat(),
        );
        assert_udp(
            LinkType::PPP_WITH_DIRECTION,
            &[&[direction][..], &hdlc].concat(),
        );
        assert_udp(
            LinkType::PPP_PPPD,
            &[&[direction, 0x03][..], &packet].concat(),
        );
    }
    assert_udp(
        LinkType::PPP_ETHERNET,
        &[&[0x11, 0, 0, 1, 0, 30][..], &packet].concat(),
    );
}

/// RFC 3032, section 4.3: unicast and multicast.
#[test]
fn ppp_carries_mpls() {
    for (protocol, packet) in [([0x02, 0x81], udp4()), ([0x02, 0x83], udp6())] {
        let labels = [&protocol[..], &[0, 0, 0x10, 64, 0, 0, 0x21, 64], &packet].concat();
        assert_udp(LinkType::PPP, &labels);
        assert_udp(LinkType::PPP_HDLC, &[&[0xff, 3][..], &labels].concat());
        assert_udp(LinkType::PPP_WITH_DIRECTION, &[&[0][..], &labels].concat());
        assert_udp(
            LinkType::ETHERNET,
            &ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 38][..], &labels].concat()),
        );
    }
    assert_eq!(
        parse(LinkType::PPP, &[0x02, 0x81, 0, 0, 0x11, 64, 0, 0, 0, 0]),
        Err(Unparsable::NotIp)
    );
}

#[test]
fn directions_before_ppp_are_directions() {
    for link in [166, 204] {
        let packets = [
            record(Little, 0, 0, &[0, 3, 0, 0x21]),
            record(Little, 1, 0, &[1, 3, 0, 0x21]),
        ]
        .concat();
        let mut capture = Capture::from_reader(
            "t",
            std::io::Cursor::new([pcap(Little, MICROS, (2, 4), 99, link), packets].concat()),
        )
        .unwrap();
        let mut heading = || capture.next().unwrap().unwrap().tap.heading;
        assert_eq!(
            [heading(), heading()],
            [Some(Heading::In), Some(Heading::Out)]
        );
    }
}

/// Headers of 802.11 and of tunnels make long frames of packets of 1,500 bytes.
#[test]
fn long_headers_make_no_long_packets() {
    let exceeds = |link, before: &[u8], packet_len: u32| {
        let mut packet = udp4();
        packet[2..4].copy_from_slice(&u16::try_from(packet_len).unwrap().to_be_bytes());
        let bytes = [before, &packet].concat();
        Frame {
            time_nanos: 0,
            original_len: before.len() as u32 + packet_len,
            link,
            bytes: &bytes,
            tap: Tap::default(),
        }
        .exceeds_ethernet()
    };
    let wireless = radiotap(0, &[], &frame([0x88, 0], &[6, 0], &snap(0x0800, &[])));
    let tunnel = ethernet(
        0x8100,
        &[0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 5, 0xde, 0x00, 0x21],
    );
    for (link, before) in [
        (LinkType::RADIOTAP, wireless),
        (LinkType::ETHERNET, tunnel),
        (LinkType::ETHERNET, ethernet(0x0800, &[])),
    ] {
        assert!(!exceeds(link, &before, 1500), "{link}");
        assert!(
            exceeds(link, &before, 3000) && exceeds(link, &before, 9000),
            "{link}"
        );
    }
}

/// What the capturing host put before a frame was never on the air.
#[test]
fn the_length_on_the_link_is_without_the_host_s_header() {
    let len = |link, bytes: &[u8]| {
        Frame {
            time_nanos: 0,
            original_len: 1500,
            link,
            bytes,
            tap: Tap::default(),
        }
        .len_on_link()
    };
    assert_eq!(len(LinkType::RADIOTAP, &radiotap(0, &[0; 28], &[])), 1464);
    assert_eq!(len(LinkType::PPI, &[0, 0, 32, 0, 105, 0, 0, 0]), 1468);
    assert_eq!(len(LinkType::PRISM, &[0x44, 0, 0, 0, 144, 0, 0, 0]), 1356);
    assert_eq!(
        len(LinkType::AVS, &[0x80, 0x21, 0x10, 1, 0, 0, 0, 64]),
        1436
    );
    assert_eq!(
        len(LinkType::PPP_WITH_DIRECTION, &[0, 0xff, 3, 0, 0x21]),
        1499
    );
    for link in [1, 9, 50, 101, 105, 113, 276].map(LinkType) {
        assert_eq!(len(link, &[0; 40]), 1500, "{link}");
    }
    // Cut, of an unknown version, or longer than the frame.
    for bytes in [&[0, 0, 8][..], &[7, 0, 8, 0], &[0, 0, 0xff, 0xff]] {
        assert_eq!(len(LinkType::RADIOTAP, bytes), 1500);
    }
}

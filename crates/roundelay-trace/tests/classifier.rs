//! Header parsing of every kind of packet, and classification into flows.

use std::net::IpAddr;

use crate::common::*;
use proptest::prelude::*;
use roundelay::{Ecn, FlowId};
use roundelay_trace::{
    Classifier, Flow, FlowBy, Headers, LinkType, Ports, Unparsable, dscp_name, dscp_number, parse,
    protocol_name, protocol_number,
};

fn udp4() -> Vec<u8> {
    ipv4(UDP, A, B, &ports(5353, 53))
}

fn udp6() -> Vec<u8> {
    ipv6(0, UDP, v6(1), v6(2), &ports(5353, 53))
}

fn v4(address: [u8; 4]) -> IpAddr {
    address.into()
}

/// Expected headers of `udp4` and `udp6`, below any link layer.
fn assert_udp(link: LinkType, frame: &[u8]) {
    let headers = parse(link, frame).unwrap_or_else(|reason| panic!("{link}: {reason}"));
    assert_eq!(
        (
            headers.protocol,
            headers.source_port,
            headers.destination_port,
            headers.ports
        ),
        (UDP, 5353, 53, Ports::Present),
        "{link}"
    );
    let (source, destination) = if headers.source.is_ipv4() {
        (v4(A), v4(B))
    } else {
        (v6(1).into(), v6(2).into())
    };
    assert_eq!(
        (headers.source, headers.destination),
        (source, destination),
        "{link}"
    );
}

#[test]
fn ethernet_with_tags() {
    for (ether_type, packet) in [(0x0800_u16, udp4()), (0x86dd, udp6())] {
        assert_udp(LinkType::ETHERNET, &ethernet(ether_type, &packet));
        let tagged = [&[0, 7][..], &ether_type.to_be_bytes(), &packet].concat();
        assert_udp(LinkType::ETHERNET, &ethernet(0x8100, &tagged));
        assert_udp(
            LinkType::ETHERNET,
            &ethernet(0x88a8, &[&[0, 9, 0x81, 0][..], &tagged].concat()),
        );
        assert_udp(
            LinkType::ETHERNET,
            &ethernet(0x9100, &[&[0, 9, 0x81, 0][..], &tagged].concat()),
        );
    }
}

#[test]
fn raw_ip_and_loopback() {
    for link in [
        LinkType::RAW,
        LinkType::RAW_12,
        LinkType::RAW_14,
        LinkType::IPV4,
        LinkType::IPV6,
    ] {
        assert_udp(link, &udp4());
        assert_udp(link, &udp6());
    }
    assert_udp(LinkType::NULL, &[vec![2, 0, 0, 0], udp4()].concat());
    assert_udp(LinkType::NULL, &[vec![0, 0, 0, 30], udp6()].concat());
    assert_udp(LinkType::LOOP, &[vec![0, 0, 0, 24], udp6()].concat());
    assert_eq!(
        parse(LinkType::NULL, &[vec![7, 0, 0, 0], udp4()].concat()),
        Err(Unparsable::NotIp)
    );
}

#[test]
fn linux_cooked_both_versions() {
    assert_udp(
        LinkType::LINUX_SLL,
        &[vec![0; 14], vec![0x08, 0x00], udp4()].concat(),
    );
    assert_udp(
        LinkType::LINUX_SLL2,
        &[vec![0x86, 0xdd], vec![0; 18], udp6()].concat(),
    );
    assert_udp(
        LinkType::LINUX_SLL,
        &[vec![0; 14], vec![0x81, 0x00, 0, 7, 0x08, 0x00], udp4()].concat(),
    );
}

#[test]
fn ppp_pppoe_hdlc_and_mpls() {
    assert_udp(LinkType::PPP, &[vec![0x00, 0x21], udp4()].concat());
    assert_udp(
        LinkType::PPP_HDLC,
        &[vec![0xff, 0x03, 0x00, 0x57], udp6()].concat(),
    );
    assert_udp(
        LinkType::CISCO_HDLC,
        &[vec![0x0f, 0, 0x08, 0x00], udp4()].concat(),
    );
    assert_udp(
        LinkType::ETHERNET,
        &ethernet(
            0x8864,
            &[vec![0x11, 0, 0, 1, 0, 30, 0x00, 0x21], udp4()].concat(),
        ),
    );
    assert_udp(
        LinkType::ETHERNET,
        &ethernet(
            0x8847,
            &[vec![0, 0, 0x10, 64, 0, 0, 0x21, 64], udp4()].concat(),
        ),
    );
    // A pseudowire begins with a control word, not with an IP version.
    assert_eq!(
        parse(
            LinkType::ETHERNET,
            &ethernet(0x8847, &[0, 0, 0x11, 64, 0, 0, 0, 0])
        ),
        Err(Unparsable::NotIp)
    );
}

#[test]
fn what_is_not_ip_says_so() {
    for ether_type in [0x0806, 0x88cc, 0x8863, 60] {
        assert_eq!(
            parse(LinkType::ETHERNET, &ethernet(ether_type, &[0; 46])),
            Err(Unparsable::NotIp)
        );
    }
    assert_eq!(parse(LinkType(147), &udp4()), Err(Unparsable::UnknownLink));
}

#[test]
fn code_point_and_congestion_bits() {
    for (bits, ecn) in [
        (0, Ecn::NotCapable),
        (1, Ecn::Capable),
        (2, Ecn::Capable),
        (3, Ecn::Marked),
    ] {
        let class = 46 << 2 | bits;
        for packet in [
            ipv4_with(class, 0, UDP, A, B, &ports(1, 2)),
            ipv6(class, UDP, v6(1), v6(2), &ports(1, 2)),
        ] {
            let headers = parse(LinkType::RAW, &packet).unwrap();
            assert_eq!((headers.dscp, headers.ecn), (46, ecn));
        }
    }
}

#[test]
fn ipv4_options_are_passed_over() {
    let mut packet = ipv4(TCP, A, B, &[&[1, 1, 1, 0][..], &ports(80, 81)].concat());
    packet[0] = 0x46;
    assert_eq!(parse(LinkType::RAW, &packet).unwrap().source_port, 80);
}

#[test]
fn ipv6_extension_headers_are_passed_over() {
    // Hop-by-hop, routing and destination options: the first has 16 bytes, the others eight.
    let extensions = [
        &[43, 1][..],
        &[0; 14],
        &[60, 0, 0, 0, 0, 0, 0, 0],
        &[UDP, 0, 0, 0, 0, 0, 0, 0],
        &ports(5353, 53),
    ]
    .concat();
    assert_udp(LinkType::RAW, &ipv6(0, 0, v6(1), v6(2), &extensions));
    // A fragment header of a whole datagram (RFC 6946), and an authentication header.
    assert_udp(
        LinkType::RAW,
        &ipv6(
            0,
            44,
            v6(1),
            v6(2),
            &[&[UDP, 0, 0, 0, 0, 0, 0, 9][..], &ports(5353, 53)].concat(),
        ),
    );
    let authentication = [UDP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_udp(
        LinkType::RAW,
        &ipv6(
            0,
            51,
            v6(1),
            v6(2),
            &[&authentication[..], &ports(5353, 53)].concat(),
        ),
    );
    assert_udp(
        LinkType::RAW,
        &ipv4(51, A, B, &[&authentication[..], &ports(5353, 53)].concat()),
    );
}

#[test]
fn a_snapped_packet_counts_as_long_as_its_ports_are_there() {
    let packet = ipv4(TCP, A, B, &[ports(80, 443), vec![0; 1400]].concat());
    let headers = parse(LinkType::RAW, &packet[..24]).unwrap();
    assert_eq!(
        (headers.source_port, headers.destination_port, headers.ports),
        (80, 443, Ports::Present)
    );
    let headers = parse(LinkType::RAW, &packet[..23]).unwrap();
    assert_eq!(
        (headers.source_port, headers.destination_port, headers.ports),
        (0, 0, Ports::Missing)
    );
    assert_eq!(
        parse(LinkType::RAW, &packet[..19]),
        Err(Unparsable::Truncated)
    );
    for length in 0..34 {
        assert_eq!(
            parse(LinkType::ETHERNET, &ethernet(0x0800, &packet)[..length]),
            Err(Unparsable::Truncated),
            "{length}"
        );
    }
}

#[test]
fn an_extension_header_cut_short_hides_the_ports() {
    let packet = ipv6(
        0,
        60,
        v6(1),
        v6(2),
        &[&[UDP, 0, 0, 0, 0, 0, 0, 0][..], &ports(1, 2)].concat(),
    );
    assert_eq!(
        parse(LinkType::RAW, &packet[..47]).unwrap().ports,
        Ports::Missing
    );
    assert_eq!(
        parse(LinkType::RAW, &packet[..52]).unwrap().ports,
        Ports::Present
    );
}

#[test]
fn lengths_that_offloads_leave_unset_do_not_matter() {
    let mut packet = udp4();
    packet[2..4].copy_from_slice(&[0, 0]);
    assert_udp(LinkType::RAW, &packet);
    let mut packet = udp6();
    packet[4..6].copy_from_slice(&[0, 0]);
    assert_udp(LinkType::RAW, &packet);
}

#[test]
fn padding_is_not_taken_for_ports() {
    let frame = ethernet(0x0800, &[ipv4(UDP, A, B, &[]), vec![7; 26]].concat());
    assert_eq!(
        parse(LinkType::ETHERNET, &frame).unwrap().ports,
        Ports::Missing
    );
}

#[test]
fn a_contradictory_ip_header_is_malformed() {
    let mut packet = udp4();
    packet[0] = 0x44;
    assert_eq!(parse(LinkType::RAW, &packet), Err(Unparsable::Malformed));
    packet[0] = 0x55;
    assert_eq!(parse(LinkType::RAW, &packet), Err(Unparsable::Malformed));
}

#[test]
fn all_fragments_of_a_datagram_meet_in_one_flow() {
    const MORE: u16 = 0x2000;
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    let first = classify(
        &mut classifier,
        &ipv4_with(0, MORE, UDP, A, B, &ports(1, 2)),
    );
    let middle = classify(&mut classifier, &ipv4_with(0, MORE | 1, UDP, A, B, &[9; 8]));
    let last = classify(&mut classifier, &ipv4_with(0, 2, UDP, A, B, &[9; 3]));
    assert_eq!((first, middle, last), (FlowId(0), FlowId(0), FlowId(0)));
    assert_eq!(
        classifier.flows()[0].to_string(),
        "udp 10.0.0.1 > 10.0.0.2 fragments"
    );
    assert_ne!(classify(&mut classifier, &udp4()), first);
}

#[test]
fn ipv6_fragments_agree_on_what_their_fragment_header_announces() {
    // Destination options follow the fragment header, only in the first fragment. The hop-by-hop
    // header precedes the fragment header in all fragments.
    let fragment = |offset_and_more: u8, rest: &[u8]| {
        ipv6(
            0,
            0,
            v6(1),
            v6(2),
            &[
                &[
                    44,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    60,
                    0,
                    0,
                    offset_and_more,
                    0,
                    0,
                    0,
                    9,
                ][..],
                rest,
            ]
            .concat(),
        )
    };
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    let first = classify(
        &mut classifier,
        &fragment(1, &[&[UDP, 0, 0, 0, 0, 0, 0, 0][..], &ports(1, 2)].concat()),
    );
    let last = classify(&mut classifier, &fragment(16, &[0xff; 8]));
    assert_eq!(
        (first, last, classifier.flows().len()),
        (FlowId(0), FlowId(0), 1)
    );
    assert_eq!(classifier.headers(first).unwrap().ports, Ports::Fragment);
}

#[test]
fn what_precedes_an_ipv6_fragment_header_is_passed_over() {
    // Hop-by-hop options of 16 bytes, an authentication header of 12, the fragment header: all
    // units of length differ.
    let before = [&[51, 1][..], &[0; 14], &[44, 1], &[0; 10]].concat();
    let packet = ipv6(
        0,
        0,
        v6(1),
        v6(2),
        &[&before[..], &[UDP, 0, 0, 16, 0, 0, 0, 9], &[7; 8]].concat(),
    );
    let headers = parse(LinkType::RAW, &packet).unwrap();
    assert_eq!((headers.protocol, headers.ports), (UDP, Ports::Fragment));
}

/// IPv4's authentication header is in the first fragment only.
#[test]
fn ipv4_fragments_with_an_authentication_header_agree() {
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    let first = classify(
        &mut classifier,
        &ipv4_with(
            0,
            0x2000,
            51,
            A,
            B,
            &[&[UDP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &ports(1, 2)].concat(),
        ),
    );
    let last = classify(&mut classifier, &ipv4_with(0, 2, 51, A, B, &[1; 16]));
    assert_eq!(first, last);
}

fn classify(classifier: &mut Classifier, packet: &[u8]) -> FlowId {
    classifier.classify(
        parse(LinkType::RAW, packet)
            .as_ref()
            .map_err(|reason| *reason),
    )
}

#[test]
fn flows_are_numbered_in_order_of_first_sight_and_directions_are_two() {
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    let there = ipv4(TCP, A, B, &ports(443, 51_000));
    let back = ipv4(TCP, B, A, &ports(51_000, 443));
    let found =
        [&there, &back, &there, &udp4(), &back].map(|packet| classify(&mut classifier, packet).0);
    assert_eq!(found, [0, 1, 0, 2, 1]);
    assert_eq!(classifier.headers(FlowId(1)).unwrap().source, v4(B));
    assert_eq!(
        (classifier.headers(FlowId(3)), classifier.flows().len()),
        (None, 3)
    );
}

#[test]
fn flows_have_labels() {
    let label = |by, packet: &[u8]| {
        let mut classifier = Classifier::new(by);
        let flow = classify(&mut classifier, packet);
        classifier.flows()[flow.index()].to_string()
    };
    assert_eq!(
        label(FlowBy::FiveTuple, &ipv4(TCP, A, B, &ports(443, 51_000))),
        "tcp 10.0.0.1:443 > 10.0.0.2:51000"
    );
    assert_eq!(
        label(FlowBy::FiveTuple, &udp6()),
        "udp [2001:db8::1]:5353 > [2001:db8::2]:53"
    );
    assert_eq!(
        label(FlowBy::FiveTuple, &ipv4(1, A, B, &[8, 0, 1, 2])),
        "icmp 10.0.0.1 > 10.0.0.2"
    );
    assert_eq!(
        label(FlowBy::FiveTuple, &ipv4(200, A, B, &[])),
        "proto 200 10.0.0.1 > 10.0.0.2"
    );
    assert_eq!(label(FlowBy::Source, &udp4()), "src 10.0.0.1");
    assert_eq!(label(FlowBy::Destination, &udp6()), "dst 2001:db8::2");
    assert_eq!(
        label(FlowBy::Dscp, &ipv4_with(46 << 2, 0, UDP, A, B, &[])),
        "dscp 46 (EF)"
    );
    assert_eq!(
        label(FlowBy::Dscp, &ipv4_with(47 << 2, 0, UDP, A, B, &[])),
        "dscp 47"
    );
}

#[test]
fn each_way_to_tell_flows_apart_looks_at_its_own_field_only() {
    let packets = [
        ipv4_with(0, 0, UDP, A, B, &ports(1, 2)),
        ipv4_with(0, 0, UDP, A, B, &ports(1, 3)),
        ipv4_with(0, 0, TCP, A, A, &ports(1, 2)),
        ipv4_with(4, 0, UDP, B, B, &ports(1, 2)),
    ];
    let flows = |by| {
        let mut classifier = Classifier::new(by);
        packets
            .each_ref()
            .map(|packet| classify(&mut classifier, packet).0)
    };
    assert_eq!(flows(FlowBy::FiveTuple), [0, 1, 2, 3]);
    assert_eq!(flows(FlowBy::Source), [0, 0, 0, 1]);
    assert_eq!(flows(FlowBy::Destination), [0, 0, 1, 0]);
    assert_eq!(flows(FlowBy::Dscp), [0, 0, 0, 1]);
}

#[test]
fn packets_without_headers_have_flows_of_their_own_and_are_counted() {
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    assert_eq!(classify(&mut classifier, &udp4()), FlowId(0));
    let reasons = [
        Unparsable::NotIp,
        Unparsable::Truncated,
        Unparsable::NotIp,
        Unparsable::Malformed,
        Unparsable::UnknownLink,
    ];
    let found = reasons.map(|reason| classifier.classify(Err(reason)).0);
    assert_eq!(found, [1, 2, 1, 2, 2]);
    // Cut before the ports: a flow of its own, by the addresses.
    assert_eq!(classify(&mut classifier, &udp4()[..22]), FlowId(3));
    let labels: Vec<_> = classifier
        .flows()
        .iter()
        .skip(1)
        .map(Flow::to_string)
        .collect();
    assert_eq!(labels[..2], ["not IP", "unparsable"]);
    let counts = classifier.unparsable();
    assert_eq!(
        (
            counts.not_ip,
            counts.truncated,
            counts.malformed,
            counts.unknown_link,
            counts.no_ports,
            counts.total()
        ),
        (2, 1, 1, 1, 1, 6)
    );
    assert_eq!(classifier.headers(FlowId(1)), None);
}

#[test]
fn addresses_alone_do_without_ports() {
    let mut classifier = Classifier::new(FlowBy::Source);
    assert_eq!(classify(&mut classifier, &udp4()), FlowId(0));
    assert_eq!(classify(&mut classifier, &udp4()[..20]), FlowId(0));
    assert_eq!(classifier.unparsable().total(), 0);
}

#[test]
fn flows_beyond_the_limit_share_one() {
    let mut classifier = Classifier::with_max_flows(FlowBy::FiveTuple, 2);
    let packets = [1, 2, 3, 4, 1, 3].map(|port| ipv4(UDP, A, B, &ports(port, 9)));
    let found = packets.map(|packet| classify(&mut classifier, &packet).0);
    assert_eq!(found, [0, 1, 2, 2, 0, 2]);
    assert_eq!(classifier.classify(Err(Unparsable::NotIp)), FlowId(3));
    assert_eq!(classifier.flows()[2].to_string(), "other flows");
}

#[test]
fn ipv4_and_the_ipv6_address_that_maps_it_are_two() {
    let mapped = IpAddr::V6(std::net::Ipv4Addr::from(A).to_ipv6_mapped());
    let mut classifier = Classifier::new(FlowBy::Source);
    let four = parse(LinkType::RAW, &udp4()).unwrap();
    let six = Headers {
        source: mapped,
        ..four
    };
    assert_ne!(
        classifier.classify(Ok(&four)),
        classifier.classify(Ok(&six))
    );
}

#[test]
fn ways_to_tell_flows_apart_have_names() {
    for by in [
        FlowBy::FiveTuple,
        FlowBy::Inner,
        FlowBy::Outer,
        FlowBy::Source,
        FlowBy::Destination,
        FlowBy::Dscp,
    ] {
        assert_eq!(by.to_string().parse(), Ok(by));
    }
    assert_eq!(
        "port".parse::<FlowBy>().unwrap_err().to_string(),
        "flows by `port`: expected 5tuple, inner, outer, src, dst or dscp"
    );
}

#[test]
fn protocols_and_code_points_have_names() {
    assert_eq!(
        (
            protocol_name(6),
            protocol_number("UDP"),
            protocol_number("x")
        ),
        (Some("tcp"), Some(17), None)
    );
    assert_eq!(
        (
            dscp_name(34),
            dscp_number("ef"),
            dscp_number("BE"),
            dscp_number("x")
        ),
        (Some("AF41"), Some(46), Some(0), None)
    );
    for dscp in 0..64 {
        assert!(dscp_name(dscp).is_none_or(|name| dscp_number(name) == Some(dscp)));
    }
}

proptest! {
    /// The table agrees with a linear search in a list.
    #[test]
    fn equal_headers_are_one_flow(packets in prop::collection::vec((0..3_u8, 0..3_u8, 0..3_u16, 0..3_u16, any::<bool>()), 0..60)) {
        let mut classifier = Classifier::new(FlowBy::FiveTuple);
        let mut seen = Vec::new();
        for packet @ (source, destination, source_port, destination_port, tcp) in packets {
            let protocol = if tcp { TCP } else { UDP };
            let headers = ipv4(protocol, [10, 0, 0, source], [10, 0, 0, destination], &ports(source_port, destination_port));
            let expected = seen.iter().position(|known| *known == packet).unwrap_or_else(|| {
                seen.push(packet);
                seen.len() - 1
            });
            prop_assert_eq!(classify(&mut classifier, &headers).index(), expected);
        }
    }
}

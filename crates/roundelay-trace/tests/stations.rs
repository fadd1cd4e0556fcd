//! Directions of a wire by its link-layer addresses; what nothing tells apart; mirrors in tunnels.

use crate::common::several_links::*;
use crate::common::*;
use roundelay_trace::{Chosen, Comparison, Direction, Inside, Selection};

const GATEWAY: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOST: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// A group of Ethernet.
const GROUP: [u8; 6] = [1, 0, 0x5e, 1, 1, 1];
const TO_HOST: &str = "--direction 'to 02:00:00:00:00:02'";
const FROM_HOST: &str = "--direction 'from 02:00:00:00:00:02'";

/// Frames of a wire, a millisecond apart.
#[derive(Default)]
struct Wire(Vec<(u32, Vec<u8>)>);

impl Wire {
    fn frame(&mut self, from: [u8; 6], to: [u8; 6], packet: &[u8]) {
        let kind: u16 = if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 };
        let mut packet = packet.to_vec();
        let number = self.0.len() as u16 + 1;
        if kind == 0x0800 {
            packet[4..6].copy_from_slice(&number.to_be_bytes());
        }
        let frame = [&to[..], &from, &kind.to_be_bytes(), &packet].concat();
        self.0.push((u32::from(number) * MILLISECOND, frame));
    }

    fn down(&mut self, packet: &[u8]) {
        self.frame(GATEWAY, HOST, packet);
    }

    fn up(&mut self, packet: &[u8]) {
        self.frame(HOST, GATEWAY, packet);
    }

    fn file(&self) -> Vec<u8> {
        capture(ETHERNET, &self.0)
    }
}

fn four(source: ([u8; 4], u16), destination: ([u8; 4], u16), len: usize) -> Vec<u8> {
    let payload = [ports(source.1, destination.1), vec![0; len]].concat();
    ipv4(UDP, source.0, destination.0, &payload)
}

fn six(source: (u8, u16), destination: (u8, u16), len: usize) -> Vec<u8> {
    let payload = [ports(source.1, destination.1), vec![0; len]].concat();
    ipv6(0, UDP, v6(source.0), v6(destination.0), &payload)
}

/// With this identification.
fn numbered(mut packet: Vec<u8>, number: u16) -> Vec<u8> {
    packet[4..6].copy_from_slice(&number.to_be_bytes());
    packet
}

fn choosing() -> Selection {
    Selection {
        chooses: true,
        ..Selection::default()
    }
}

fn first_answer(bytes: Vec<u8>) -> Comparison {
    compared(bytes, choosing()).unwrap()
}

/// Packets replayed, the options chosen and those of the other direction.
fn chosen_of(bytes: Vec<u8>) -> (u64, String, String) {
    let comparison = first_answer(bytes);
    let packets = comparison.capture.packets;
    let Some(chosen) = comparison.observed.chosen else {
        return (packets, String::new(), String::new());
    };
    let other = chosen.other.map(|other| other.options.join(" "));
    (packets, chosen.options.join(" "), other.unwrap_or_default())
}

/// Whether the answer is a question: nothing was chosen of a mixture that matters.
fn is_open(comparison: &Comparison) -> bool {
    let chosen = comparison.observed.chosen.as_ref();
    let is_chosen = chosen.is_some_and(Chosen::is_of_direction);
    !is_chosen && !comparison.observed.mixed.is_slight
}

/// Regression: of a host's two families of addresses only one was replayed, half of the link.
#[test]
fn both_families_of_a_host_share_its_link() {
    let mut wire = Wire::default();
    for _ in 0..50 {
        wire.down(&four((SERVER, 443), (LAN, 5000), 1000));
        wire.down(&six((1, 443), (2, 6000), 1000));
        wire.up(&four((LAN, 5000), (SERVER, 443), 40));
        wire.up(&six((2, 6000), (1, 443), 40));
    }
    let file = wire.file();
    let expected = (100, TO_HOST.to_owned(), FROM_HOST.to_owned());
    assert_eq!(chosen_of(file.clone()), expected);
    // The option printed selects the same packets, and so does the sender's.
    assert_eq!(replayed(&file, of_direction("to 02:00:00:00:00:02")), 100);
    assert_eq!(replayed(&file, of_direction("from 02:00:00:00:00:01")), 100);
}

#[test]
fn a_network_is_named_where_it_selects_the_same_packets() {
    let mut wire = Wire::default();
    for _ in 0..20 {
        wire.down(&four((SERVER, 443), (LAN, 5000), 1000));
        wire.up(&four((LAN, 5000), (SERVER, 443), 40));
    }
    let (packets, options, other) = chosen_of(wire.file());
    assert_eq!(
        (packets, options.as_str(), other.as_str()),
        (
            20,
            "--direction 'to 192.168.1.0/24'",
            "--direction 'from 192.168.1.0/24'"
        )
    );
}

/// Regression: the source port of VXLAN is a hash of what is inside, so no packet of the other way
/// has the same ports, and both directions were replayed with a star.
#[test]
fn tunnels_and_streams_without_an_answer_have_a_direction() {
    let mut wire = Wire::default();
    for port in 0..40 {
        wire.down(&four((A, 50_000 + port), (B, 4789), 1000));
        wire.up(&four((B, 60_000 + port), (A, 4789), 500));
    }
    let (from, to) = ("--direction 'from 10.0.0.1'", "--direction 'to 10.0.0.1'");
    let by_hosts = (40, from.to_owned(), to.to_owned());
    assert_eq!(chosen_of(wire.file()), by_hosts);
    // Between many networks.
    let mut wire = Wire::default();
    for host in 0..40 {
        wire.down(&four(
            ([20 + host, 1, 1, 1], 5000),
            ([80 + host, 2, 2, 2], 5001),
            1000,
        ));
        wire.up(&four(
            ([130 + host, 3, 3, 7], 6000),
            ([170 + host, 4, 4, 1], 6001),
            500,
        ));
    }
    let expected = (40, TO_HOST.to_owned(), FROM_HOST.to_owned());
    let comparison = first_answer(wire.file());
    assert!(comparison.observed.chosen.unwrap().whole.has_wire_both_ways);
    assert_eq!(chosen_of(wire.file()), expected);
}

/// Regression: television to a group was left out beside a download, and replayed with an upload.
#[test]
fn multicast_counts_with_its_sender() {
    let mut wire = Wire::default();
    let television = four(([10, 200, 0, 1], 5500), ([239, 1, 1, 1], 5500), 1200);
    for _ in 0..30 {
        wire.frame(GATEWAY, GROUP, &television);
        wire.up(&four((LAN, 5000), (SERVER, 443), 300));
        wire.down(&four((SERVER, 443), (LAN, 5000), 40));
    }
    let (packets, options, _) = chosen_of(wire.file());
    assert_eq!(packets, 60, "{options}");
    let file = wire.file();
    assert_eq!(replayed(&file, of_direction("to 02:00:00:00:00:02")), 60);
    assert_eq!(replayed(&file, of_direction("from 02:00:00:00:00:02")), 30);
}

/// A router's wire, with networks behind it that have nothing in common.
#[test]
fn networks_behind_one_router_share_its_wire() {
    let mut wire = Wire::default();
    let networks = [
        [192, 168, 7, 2],
        [192, 168, 8, 2],
        [10, 77, 1, 2],
        [172, 16, 1, 9],
    ];
    for _ in 0..10 {
        for (number, own) in (1..).zip(networks) {
            let server = [90 + number, 20, 30, 40];
            wire.down(&four((server, 443), (own, 5000), 1000));
            wire.up(&four((own, 5000), (server, 443), 40));
        }
    }
    let expected = (40, TO_HOST.to_owned(), FROM_HOST.to_owned());
    assert_eq!(chosen_of(wire.file()), expected);
}

/// Two stations beside a router talk to each other, too: no address is at all frames.
#[test]
fn frames_of_many_stations_have_no_direction_by_addresses() {
    let mut wire = Wire::default();
    let third = [2, 0, 0, 0, 0, 3];
    for number in 0..20 {
        let pairs = [(GATEWAY, HOST), (HOST, third), (third, GATEWAY)];
        for (place, (from, to)) in (0..).zip(pairs) {
            let [one, other] = [[20 + place, number, 1, 1], [60 + place, number, 1, 1]];
            wire.frame(from, to, &four((one, 5000), (other, 443), 600));
            wire.frame(to, from, &four((other, 443), (one, 5000), 590));
        }
    }
    assert!(is_open(&first_answer(wire.file())));
}

/// A tool that writes one pair of addresses into all frames: connections contradict it.
#[test]
fn addresses_that_a_tool_has_written_tell_no_direction() {
    let mut packets = Vec::new();
    for number in 1..=20_u16 {
        let at = u32::from(number) * MILLISECOND;
        packets.push((at, ethernet(0x0800, &upload(number))));
        packets.push((at + 100, ethernet(0x0800, &download(number + 100))));
    }
    let (packets, options, _) = chosen_of(capture(ETHERNET, &packets));
    assert!(
        packets == 20 && options.contains("192.168.1.0/24"),
        "{packets} {options}"
    );
}

/// Regression: each of many pairs was heavy one way, so both ways passed for one.
#[test]
fn many_pairs_without_link_layer_addresses_are_a_question() {
    let mut packets = Vec::new();
    for pair in 0..40_u8 {
        let [one, other] = [[20 + pair, 1, 1, 1], [100 + pair, 2, 2, 2]];
        let (heavy, light) = if pair % 2 == 0 {
            (one, other)
        } else {
            (other, one)
        };
        for number in 0..4_u32 {
            let at = u32::from(pair) * 10 * MILLISECOND + number * MILLISECOND;
            packets.push((at, four((heavy, 443), (light, 5000), 1400)));
        }
        packets.push((
            u32::from(pair) * 10 * MILLISECOND + 500,
            four((light, 5000), (heavy, 443), 10),
        ));
    }
    for (number, (_, packet)) in (1_u16..).zip(&mut packets) {
        packet[4..6].copy_from_slice(&number.to_be_bytes());
    }
    packets.sort();
    assert!(is_open(&first_answer(capture(RAW, &packets))));
}

/// A raw capture of routed packets: of each host, a download from a server of its own and its
/// acknowledgements, a tenth of it.
fn downloads(hosts: &[[u8; 4]]) -> Vec<(u32, Vec<u8>)> {
    let mut packets = Vec::new();
    for _ in 0..20 {
        for (number, host) in (1..).zip(hosts) {
            let server = ([90 + number, 20, 30, 40], 443);
            for packet in [
                four(server, (*host, 5000), 1000),
                four((*host, 5000), server, 72),
            ] {
                let number = packets.len() as u16 + 1;
                packets.push((u32::from(number) * MILLISECOND, numbered(packet, number)));
            }
        }
    }
    packets
}

/// Regression: of a router's three networks, captured without link-layer addresses, two had a common
/// prefix, and the third was left out with a star.
#[test]
fn private_networks_without_link_layer_addresses_lie_on_one_side() {
    let mut packets = downloads(&[[192, 168, 7, 2], [192, 168, 8, 2], [10, 77, 1, 2]]);
    let expected = (
        60,
        "--direction 'to private'".to_owned(),
        "--direction 'from private'".to_owned(),
    );
    assert_eq!(chosen_of(capture(RAW, &packets)), expected);
    let file = capture(RAW, &packets);
    assert_eq!(replayed(&file, of_direction("to private")), 60);
    assert_eq!(replayed(&file, of_direction("from private")), 60);
    // Between two of the networks: neither direction has them, and nothing says which they take.
    for number in 0..20 {
        let packet = four(([10, 77, 1, 3], 6000), ([192, 168, 7, 9], 6001), 1000);
        packets.push((
            200 * MILLISECOND + number,
            numbered(packet, 9000 + number as u16),
        ));
    }
    assert!(is_open(&first_answer(capture(RAW, &packets))));
}

/// Regression: what came behind the first 65,536 connections was left aside without a question, because
/// the networks of the first ones were the whole capture.
#[test]
fn connections_beyond_those_counted_one_by_one_are_judged_too() {
    let server = ([203, 0, 113, 5], 443);
    let mut packets = Vec::new();
    for number in 0..90_000_u32 {
        let [_, high, middle, low] = number.to_be_bytes();
        let client = ([10, high, middle, low], 40_000);
        let at = number * 10;
        packets.push((at, four(client, server, 40)));
        packets.push((at + 1, four(server, client, 400)));
    }
    let (chosen, options, _) = chosen_of(capture(RAW, &packets));
    assert_eq!(chosen, 90_000, "{options}");
}

/// A network without a prefix in common with others is not the whole link.
#[test]
fn a_network_that_leaves_connections_aside_is_no_answer() {
    let with_public = downloads(&[[192, 168, 7, 2], [192, 168, 7, 3], [141, 20, 1, 2]]);
    assert!(is_open(&first_answer(capture(RAW, &with_public))));
    // Television to a group may come from either side.
    let mut with_group = downloads(&[[192, 168, 7, 2]]);
    for number in 0..10 {
        let packet = four(([10, 200, 0, 1], 5500), ([239, 1, 1, 1], 5500), 1000);
        with_group.push((
            200 * MILLISECOND + number,
            numbered(packet, 9000 + number as u16),
        ));
    }
    let file = capture(RAW, &with_group);
    assert_eq!(replayed(&file, of_direction("from private")), 20);
    assert!(is_open(&first_answer(file)));
    // What a host sends to itself is on no link.
    let mut with_itself = downloads(&[[192, 168, 7, 2]]);
    for number in 0..10 {
        let packet = four(([127, 0, 0, 1], 6000), ([127, 0, 0, 1], 6001), 1000);
        with_itself.push((
            200 * MILLISECOND + number,
            numbered(packet, 9000 + number as u16),
        ));
    }
    let (packets, options, _) = chosen_of(capture(RAW, &with_itself));
    assert_eq!(
        (packets, options.as_str()),
        (20, "--direction 'to 192.168.7.0/24'")
    );
    // A few packets of others do no harm.
    let mut with_pings = downloads(&[[192, 168, 7, 2]]);
    for number in 0..10 {
        let packet = four(([141, 20, 1, 2], 7), ([90, 1, 1, 1], 7), 10);
        with_pings.push((
            200 * MILLISECOND + number,
            numbered(packet, 9000 + number as u16),
        ));
    }
    let (packets, options, _) = chosen_of(capture(RAW, &with_pings));
    assert_eq!(
        (packets, options.as_str()),
        (20, "--direction 'to 192.168.7.0/24'")
    );
}

/// Regression: a network with a twentieth of the bytes was chosen, and then nothing contended.
#[test]
fn a_network_with_a_small_part_of_the_bytes_is_no_answer() {
    let mut packets = Vec::new();
    for number in 1..=40_u8 {
        let at = u32::from(number) * 10 * MILLISECOND;
        packets.push((at, upload(u16::from(number))));
        packets.push((at + 100, download(u16::from(number) + 100)));
        for other in 0..8_u8 {
            let ends = [[20 + other, number, 1, 1], [100 + other, number, 2, 2]];
            let at = at + 200 + u32::from(other);
            packets.push((at, four((ends[0], 7), (ends[1], 9), 100)));
        }
    }
    for (number, (_, packet)) in (1_u16..).zip(&mut packets) {
        packet[4..6].copy_from_slice(&number.to_be_bytes());
    }
    assert!(is_open(&first_answer(capture(RAW, &packets))));
}

/// `mergecap` numbers the files of one link as interfaces, and names none.
#[test]
fn interfaces_without_names_may_be_files_of_one_link() {
    let unnamed = || interface(Little, ETHERNET, 0, &[]);
    let mut bytes = [section(Little), unnamed(), unnamed()].concat();
    for number in 0..20_u16 {
        let host = [192, 168, 1, 20 + (number % 2) as u8];
        let packet = udp(number + 1, (host, 5000), (SERVER, 443));
        let frame = ethernet(0x0800, &packet);
        bytes.extend(enhanced(
            Little,
            u32::from(number % 2),
            u64::from(number) * 1000,
            &frame,
        ));
    }
    let comparison = first_answer(bytes);
    assert_eq!(comparison.capture.packets, 20);
    assert!(comparison.observed.chosen.is_none() && !comparison.observed.mixed.has_interfaces);
    assert_eq!(
        comparison.observed.mixed.interfaces.len(),
        2,
        "a note names both"
    );
}

/// Regression: both directions inside of a mirror port's tunnel were replayed as one link.
#[test]
fn a_mirror_in_a_tunnel_is_told() {
    let erspan = [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0; 8]].concat();
    let bridge = vec![0, 0, 0x65, 0x58];
    let tzsp = [&ports(40_000, 37_008)[..], &[1, 0, 0, 1, 1]].concat();
    let vxlan = [&ports(50_000, 4789)[..], &[8, 0, 0, 0, 0, 0, 1, 0]].concat();
    for (protocol, header, cut) in [
        (47, erspan, 50),
        (47, bridge, 38),
        (UDP, tzsp, 47),
        (UDP, vxlan, 50),
    ] {
        let tunnel = |both: bool| {
            let mut wire = Wire::default();
            for number in 1..=20 {
                for inner in [download(number), upload(number)] {
                    if !both && inner[12..16] == LAN {
                        continue;
                    }
                    let frame = [&header[..], &ethernet(0x0800, &inner)].concat();
                    wire.down(&ipv4(protocol, A, B, &frame));
                }
            }
            first_answer(wire.file()).observed.mixed.inside
        };
        let inside = Inside {
            connections: 1,
            cut: Some(cut),
        };
        assert_eq!(tunnel(true), Some(inside), "{header:?}");
        assert_eq!(tunnel(false), None, "one direction inside: {header:?}");
    }
}

/// Regression: frames without IP, of ever other stations, hid the station whose wire this is.
#[test]
fn a_flood_of_frames_without_ip_hides_no_direction() {
    let mut wire = Wire::default();
    for number in 0..60_u8 {
        wire.down(&six((1, 443), (2, 6000), 1000));
        wire.down(&four((SERVER, 443), (LAN, 5000), 1000));
        wire.up(&four((LAN, 5000), (SERVER, 443), 40));
        wire.up(&six((2, 6000), (1, 443), 40));
        for other in 0..20 {
            let arp = [
                &[0xff; 6][..],
                &[2, 9, 9, 9, number, other],
                &[8, 6],
                &[0; 46],
            ]
            .concat();
            wire.0
                .push((u32::from(number) * 4 * MILLISECOND + 4500, arp));
        }
    }
    wire.0.sort();
    let (packets, options, _) = chosen_of(wire.file());
    assert_eq!((packets, options.as_str()), (1320, TO_HOST));
}

/// Regression: many pairs that nothing tells apart were replayed both ways, once anything could be
/// left out: two packets of another interface, whose wire has a station, were enough.
#[test]
fn a_wire_beside_many_pairs_does_not_tell_their_directions() {
    let unnamed = || interface(Little, ETHERNET, 0, &[]);
    let mut bytes = [section(Little), unnamed(), unnamed()].concat();
    let mut time = 0;
    let mut add = |interface: u32, packet: Vec<u8>, [to, from]: [u8; 2]| {
        let mut packet = packet;
        time += 1000;
        packet[4..6].copy_from_slice(&((time / 1000) as u16).to_be_bytes());
        let kind = [8, 0];
        let frame = [
            &[2, 0, 0, 0, 1, to][..],
            &[2, 0, 0, 0, 1, from],
            &kind,
            &packet,
        ]
        .concat();
        bytes.extend(enhanced(Little, interface, time, &frame));
    };
    for pair in 0..40_u8 {
        let [one, other] = [[20 + pair, 1, 1, 1], [100 + pair, 2, 2, 2]];
        let (heavy, light) = if pair % 2 == 0 {
            (one, other)
        } else {
            (other, one)
        };
        let ends = [light[0], heavy[0]];
        for _ in 0..20 {
            add(0, four((heavy, 443), (light, 5000), 1400), ends);
        }
        let answer = four((light, 5000), (heavy, 443), 10);
        add(0, answer, [ends[1], ends[0]]);
    }
    add(1, four((SERVER, 53), (LAN, 5000), 60), [1, 2]);
    add(1, four((LAN, 5000), (SERVER, 53), 60), [2, 1]);
    assert!(is_open(&first_answer(bytes)));
}

/// Regression: a network has a small part of all bytes where there are many interfaces, although it
/// has most of those at its own.
#[test]
fn a_network_is_measured_by_the_interface_of_its_packets() {
    let mut bytes = section(Little);
    for number in 0..6 {
        let name = format!("eth{number}");
        let name = option(Little, 2, name.as_bytes());
        bytes.extend(interface(Little, ETHERNET, 0, &name));
    }
    for number in 0..300_u16 {
        let place = (number % 6) as u8;
        let [own, other] = [[10, place, 0, number as u8], [50 + place, 1, 1, 1]];
        let down = numbered(four((other, 443), (own, 5000), 800), number);
        let up = numbered(four((own, 5000), (other, 443), 100), number + 500);
        let mut up = ethernet(0x0800, &up);
        up[..12].rotate_left(6);
        let at = u64::from(number) * 1000;
        bytes.extend(enhanced(Little, place.into(), at, &ethernet(0x0800, &down)));
        bytes.extend(enhanced(Little, place.into(), at + 1, &up));
    }
    let (packets, options, _) = chosen_of(bytes);
    assert!(
        packets == 50 && options.contains("--direction"),
        "{packets} {options}"
    );
}

/// Regression: an overlay between two hosts passed for a mirror where no link-layer addresses tell
/// its directions apart.
#[test]
fn an_overlay_whose_packets_go_both_ways_is_no_mirror() {
    let inside = |link: u16, is_mirror: bool| {
        let mut packets = Vec::new();
        for number in 1..=20_u16 {
            let header = |port| [&ports(port, 4789)[..], &[8, 0, 0, 0, 0, 0, 1, 0]].concat();
            let payload = |inner: &[u8]| [header(50_000), ethernet(0x0800, inner)].concat();
            let mut there = ipv4(UDP, A, B, &payload(&download(number)));
            let mut back = match is_mirror {
                true => ipv4(UDP, A, B, &payload(&upload(number))),
                false => ipv4(UDP, B, A, &payload(&upload(number))),
            };
            there[4..6].copy_from_slice(&number.to_be_bytes());
            back[4..6].copy_from_slice(&(number + 100).to_be_bytes());
            let at = u32::from(number) * MILLISECOND;
            let [there, back] = match link {
                SLL => [cooked(IN, &there), cooked(OUT, &back)],
                _ => [there, back],
            };
            packets.extend([(at, there), (at + 500, back)]);
        }
        first_answer(capture(link, &packets)).observed.mixed.inside
    };
    for link in [SLL, RAW] {
        assert_eq!(inside(link, false), None, "{link}");
        assert!(inside(link, true).is_some(), "{link}");
    }
}

/// Regression: what follows the frame inside was cut off in front of it, too.
#[test]
fn the_check_sequence_behind_a_mirrored_frame_is_not_cut_off_its_front() {
    let header = [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0; 8]].concat();
    let mut wire = Wire::default();
    for number in 1..=20 {
        for inner in [download(number), upload(number)] {
            let frame = [&header[..], &ethernet(0x0800, &inner)].concat();
            wire.down(&ipv4(47, A, B, &frame));
        }
    }
    for (_, frame) in &mut wire.0 {
        frame.extend([0; 4]);
    }
    let inside = first_answer(wire.file()).observed.mixed.inside;
    assert_eq!(inside.and_then(|inside| inside.cut), Some(50));
}

#[test]
fn a_direction_is_written_with_a_link_layer_address() {
    for text in ["to 52:54:00:12:34:56", "from 52:54:00:12:34:5A"] {
        assert!(text.parse::<Direction>().is_ok(), "{text}");
    }
    for text in [
        "to 52:54:00:12:34",
        "to 52:54:00:12:34:56:78",
        "to 5:5:0:1:3:5",
        "to 52:54:00:12:34:5g",
    ] {
        assert!(text.parse::<Direction>().is_err(), "{text}");
    }
    // Frames without IP have a direction as well.
    let mut bytes = [&HOST[..], &GATEWAY, &[8, 6], &[0; 46]].concat();
    let to = bytes.clone();
    bytes[..12].rotate_left(6);
    let file = capture(ETHERNET, &[(0, to), (MILLISECOND, bytes)]);
    assert_eq!(replayed(&file, of_direction("from 02:00:00:00:00:02")), 1);
}

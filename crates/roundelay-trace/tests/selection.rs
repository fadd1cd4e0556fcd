//! Selection of packets by interface, direction and filter; duplicates; notes on mixed captures.

use std::io::Cursor;

use crate::common::several_links::*;
use crate::common::*;
use roundelay_trace::{Capture, Comparison, Filter, Heading, LeftOut, Selection, Tap, parse};

fn error(bytes: &[u8], selection: Selection) -> String {
    run(bytes.to_vec(), selection).unwrap_err().to_string()
}

#[test]
fn one_interface_is_selected_by_name_or_number() {
    let bytes = mixed("wan 1");
    assert_eq!(replayed(&bytes, of_interface("eth0")), 3);
    assert_eq!(replayed(&bytes, of_interface("0")), 3);
    assert_eq!(replayed(&bytes, of_interface("wan 1")), 2);
    assert_eq!(
        left_out(&bytes, of_interface("1")),
        LeftOut {
            interface: 3,
            ..LeftOut::default()
        }
    );
    // Interface 1 is called 0 here: both match.
    assert_eq!(replayed(&mixed("0"), of_interface("0")), 5);
    assert_eq!(
        replayed(&router(SLL2), of_interface("2")),
        10,
        "six in, four out"
    );
    let words = run(mixed("left to right"), of_interface("left to right")).unwrap();
    assert_eq!(
        words.selection.unwrap().interface.as_deref(),
        Some("left to right"),
        "quotes are for the shell"
    );
}

#[test]
fn a_direction_is_an_end_of_the_packets_or_in_or_out() {
    let bytes = mixed("eth1");
    assert_eq!(replayed(&bytes, of_direction("from 192.168.1.0/24")), 3);
    assert_eq!(replayed(&bytes, of_direction("to 192.168.1.20")), 2);
    assert_eq!(
        left_out(&bytes, of_direction("to 198.51.100.7")),
        LeftOut {
            direction: 2,
            ..LeftOut::default()
        }
    );
    for link in [SLL, SLL2] {
        assert_eq!(replayed(&router(link), of_direction("in")), 10);
        assert_eq!(
            left_out(&router(link), of_direction("out")),
            LeftOut {
                direction: 10,
                ..LeftOut::default()
            }
        );
    }
    let alien = [192, 168, 2, 1];
    let both = capture(RAW, &[(0, upload(1)), (1, udp(2, (alien, 1), (SERVER, 2)))]);
    assert_eq!(replayed(&both, of_direction("from 192.168.1.0/24")), 1);
}

#[test]
fn pcapng_flags_give_the_direction() {
    for order in ORDERS {
        let packet = |ticks: u64, flags: u32, data: &[u8]| {
            let length = u32::try_from(data.len()).unwrap();
            let fields = [0, 0, ticks as u32, length, length]
                .map(|field| order.u32(field))
                .concat();
            let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
            let options = [
                option(order, 1, b"a comment"),
                option(order, 2, &order.u32(flags)),
                option(order, 0, &[]),
            ]
            .concat();
            block(order, 6, &[&fields, data, &padding, &options].concat())
        };
        let frame = ethernet(0x0800, &upload(1));
        let packets = [
            packet(0, 1, &frame),
            packet(1, 2, &frame[..57]),
            packet(2, 0xffff_fffe, &frame[..58]),
            packet(3, 0, &frame),
        ];
        let bytes = [
            section(order),
            interface(order, ETHERNET, 0, &[]),
            packets.concat(),
        ]
        .concat();
        let mut capture = Capture::from_reader("t.pcapng", Cursor::new(bytes.clone())).unwrap();
        let mut headings = Vec::new();
        while let Some(frame) = capture.next().unwrap() {
            assert_eq!(frame.tap.interface, Some(0));
            headings.push(frame.tap.heading);
        }
        assert_eq!(
            headings,
            [
                Some(Heading::In),
                Some(Heading::Out),
                Some(Heading::Out),
                None
            ]
        );
        assert_eq!(replayed(&bytes, of_direction("out")), 2);
        assert_eq!(replayed(&bytes, of_direction("in")), 1);
    }
}

#[test]
fn options_of_a_packet_that_are_illegal_give_no_direction_and_no_error() {
    let frame = ethernet(0x0800, &upload(1));
    let mut data = [&frame[..], &[0, 0]].concat();
    data.extend([2, 0, 0xff, 0xff, 1, 0, 0, 0]);
    let length = u32::try_from(frame.len()).unwrap();
    let bytes = [
        plain_pcapng(),
        enhanced_with_lengths(Little, 0, 0, (length, length), &data),
    ]
    .concat();
    let mut capture = Capture::from_reader("t.pcapng", Cursor::new(bytes)).unwrap();
    assert_eq!(
        capture.next().unwrap().unwrap().tap,
        Tap {
            interface: Some(0),
            name: None,
            heading: None
        }
    );
}

#[test]
fn a_filter_joins_conditions_as_pcap_filters_do() {
    let packet = |source, destination, class: u8| {
        let packet = ipv4_with(class, 0, UDP, A, B, &ports(source, destination));
        parse(roundelay_trace::LinkType::RAW, &packet).unwrap()
    };
    let (web, dns, call) = (
        packet(443, 5000, 0),
        packet(5000, 53, 0),
        packet(10_000, 10_001, 46 << 2),
    );
    let passes = |text: &str| {
        let filter: Filter = text.parse().unwrap();
        [&web, &dns, &call].map(|headers| filter.matches(Some(headers)))
    };
    assert_eq!(passes("port 443"), [true, false, false]);
    assert_eq!(passes("dscp ef"), [false, false, true]);
    assert_eq!(passes("udp portrange 10000-20000"), [false, false, true]);
    assert_eq!(passes("port 443 or dst port 53"), [true, true, false]);
    assert_eq!(passes("not port 443"), [false, true, true]);
    assert_eq!(passes("! port 443 && !dscp ef"), [false, true, false]);
    assert_eq!(passes("not (port 443 or port 53)"), [false, false, true]);
    assert_eq!(
        passes("not udp port 53"),
        [true, false, true],
        "`not` takes both conditions"
    );
    assert_eq!(passes("not not udp"), [true; 3]);
    // Equal precedence, from left to right.
    assert_eq!(passes("udp or port 53 and dscp ef"), [false, false, true]);
    assert_eq!(passes("udp or (port 53 and dscp ef)"), [true; 3]);
    assert_eq!(passes("src net 10.0.0.0/30 and host 10.0.0.2"), [true; 3]);
    let (not_tcp, udp): (Filter, Filter) = ("not tcp".parse().unwrap(), "udp".parse().unwrap());
    assert!(
        not_tcp.matches(None) && !udp.matches(None),
        "a packet without headers"
    );
}

#[test]
fn an_illegal_filter_or_direction_names_the_place_and_what_is_legal() {
    let deep = "(".repeat(100_000);
    let cases = [
        ("", "column 1: found the end; expected src, dst"),
        ("udp or", "column 7: found the end; expected src, dst"),
        ("udp or or tcp", "column 8: found `or`; expected src, dst"),
        (
            "(udp",
            "column 5: found the end; expected `and`, `or` or `)`",
        ),
        (
            "udp)",
            "column 4: found `)`; expected `and`, `or` or the end",
        ),
        (
            "port 80 = 3",
            "column 9: found `=`; expected `and`, `or` or the end",
        ),
        (
            "tcp port 80 or 443",
            "column 16: found `443`; expected src, dst",
        ),
        (
            deep.as_str(),
            "column 101: found `(`; expected at most 100 nested parentheses and negations",
        ),
    ];
    for (text, message) in cases {
        let error = text.parse::<Filter>().unwrap_err().to_string();
        assert!(
            error.starts_with("filter `") && error.contains(message),
            "{error}"
        );
    }
    let error = |text: &str| {
        text.parse::<roundelay_trace::Direction>()
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("up"),
        "direction `up`: expected auto, both, in, out, or in quotes 'from ADDRESS' or 'to ADDRESS', with an address, a network such as 192.168.1.0/24, a link-layer address such as 52:54:00:12:34:56, or private"
    );
    assert!(error("from").contains("expected auto, both, in, out, or in quotes 'from ADDRESS'"));
    assert_eq!(
        error("from eth0"),
        "direction `from eth0`: expected an address such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::1"
    );
    assert_eq!(
        error("to 10.0.0.1/8"),
        "direction `to 10.0.0.1/8`: expected 10.0.0.0/8 (no bits set after the prefix)"
    );
}

#[test]
fn three_places_on_a_packets_way_are_two_duplicates() {
    let copies = [(2, IN), (5, IN), (3, OUT)]
        .map(|(interface, packet_type)| cooked2(interface, packet_type, &upload(9)));
    let at: Vec<_> = copies
        .into_iter()
        .enumerate()
        .map(|(number, frame)| (number as u32 * 10, frame))
        .collect();
    assert_eq!(duplicates(&capture(SLL2, &at)), 2);
}

#[test]
fn packets_that_are_not_surely_copies_are_kept() {
    let frame = |interface, packet: Vec<u8>| cooked2(interface, IN, &packet);
    let pair = |first: Vec<u8>, second: Vec<u8>, gap: u32| {
        duplicates(&capture(
            SLL2,
            &[(0, frame(2, first)), (gap, frame(3, second))],
        ))
    };
    assert_eq!(pair(upload(1), forwarded(upload(1)), 999_000), 1);
    assert_eq!(
        pair(upload(1), forwarded(upload(1)), 1_001_000),
        0,
        "too late"
    );
    assert_eq!(
        pair(upload(1), upload(2), 10),
        0,
        "a retransmission has another identification"
    );
    let mut other = upload(1);
    *other.last_mut().unwrap() += 1;
    assert_eq!(pair(upload(1), other, 10), 0, "another payload");
    let same_place = capture(SLL2, &[(0, frame(2, upload(1))), (10, frame(2, upload(1)))]);
    assert_eq!(duplicates(&same_place), 0, "one interface, one direction");
    let twice = [(0, 2), (10, 3), (300, 2), (310, 3)]
        .map(|(at, interface)| (at, frame(interface, upload(1))));
    assert_eq!(
        duplicates(&capture(SLL2, &twice)),
        2,
        "two packets with a copy each"
    );
    let ethernet = capture(
        ETHERNET,
        &[
            (0, ethernet(0x0800, &upload(1))),
            (10, ethernet(0x0800, &upload(1))),
        ],
    );
    assert_eq!(duplicates(&ethernet), 0, "no interface is known");
}

/// The first copy elsewhere is a duplicate, and each place has a copy by the mirror port.
#[test]
fn a_mirror_port_copies_a_packet_at_each_place_once() {
    let at = |micros, interface| (micros, cooked2(interface, IN, &upload(1)));
    let bytes = capture(SLL2, &[at(0, 2), at(3, 2), at(50, 3), at(53, 3)]);
    assert_eq!(
        left_out(&bytes, mirrored()),
        LeftOut {
            duplicates: 1,
            mirrored: 2,
            ..LeftOut::default()
        }
    );
    let both = Selection {
        keep_duplicates: true,
        ..mirrored()
    };
    assert_eq!(
        left_out(&bytes, both),
        LeftOut {
            mirrored: 2,
            ..LeftOut::default()
        }
    );
}

#[test]
fn without_an_identification_a_copy_follows_soon_and_has_a_transport_header() {
    let pair = |packet: &[u8], gap: u32| {
        let frame = |interface: u32| {
            let mut frame = cooked2(interface, IN, packet);
            frame[..2].copy_from_slice(if packet[0] >> 4 == 6 {
                &[0x86, 0xdd]
            } else {
                &[8, 0]
            });
            frame
        };
        duplicates(&capture(SLL2, &[(0, frame(2)), (gap, frame(3))]))
    };
    let (soon, late) = (99 * MILLISECOND, 101 * MILLISECOND);
    let segment = [&ports(1, 2)[..], &[1; 12]].concat();
    let checked = [&[0, 1, 0, 2, 0, 9, 0x12, 0x34][..], &[1; 9]].concat();
    for packet in [
        ipv6(0, TCP, v6(1), v6(2), &segment),
        ipv6(0, UDP, v6(1), v6(2), &checked),
        upload(0),
    ] {
        assert_eq!((pair(&packet, soon), pair(&packet, late)), (1, 0));
    }
    // Cut after the ports, or without a checksum: one packet of a flow looks like the next.
    let cut = |mut packet: Vec<u8>, header: usize, len: usize| {
        packet.truncate(header + len);
        packet
    };
    assert_eq!(pair(&cut(upload(0), 20, 8), soon), 0, "no UDP checksum");
    assert_eq!(
        pair(&cut(ipv6(0, TCP, v6(1), v6(2), &segment), 40, 16), soon),
        0,
        "no TCP checksum"
    );
    assert_eq!(
        pair(&cut(ipv6(0, UDP, v6(1), v6(2), &checked), 40, 8), soon),
        1
    );
}

#[test]
fn an_empty_selection_names_the_option_that_matches_nothing() {
    let bytes = mixed("eth1");
    assert_eq!(
        error(&bytes, of_interface("eth9")),
        "t.pcap: --interface eth9 matches none of 5 packets; expected an interface of the capture: 0 (eth0), 1 (eth1)"
    );
    let option = |selection| {
        error(&bytes, selection)
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        option(filtered("tcp")),
        "t.pcap: --filter 'tcp' matches none of 5 packets"
    );
    assert_eq!(
        error(&bytes, of_direction("to 10.0.0.0/8")),
        "t.pcap: --direction 'to 10.0.0.0/8' matches none of 5 packets; expected a network of the capture: 198.51.100.0/24 (3 packets), \
         192.168.1.0/24 (2 packets)"
    );
    let selection = Selection {
        filter: Some("dst port 443".parse().unwrap()),
        ..of_interface("eth1")
    };
    assert_eq!(
        option(selection),
        "t.pcap: --filter 'dst port 443' matches none of 2 packets"
    );
    assert_eq!(
        error(&bytes, of_direction("in")),
        "t.pcap: --direction in matches none of 5 packets; the capture does not say which packets came in and which went out; expected \
         'from ADDRESS' or 'to ADDRESS'"
    );
    let raw = capture(RAW, &[(0, upload(1))]);
    assert_eq!(
        error(&raw, of_direction("to 52:54:00:12:34:56")),
        "t.pcap: --direction 'to 52:54:00:12:34:56' matches none of 1 packets; these packets have \
         no link-layer addresses; expected an address or a network of IP"
    );
    let mut frame = ethernet(0x0800, &upload(1));
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    let wire = capture(ETHERNET, &[(0, frame)]);
    for (direction, station) in [("to", "02:00:00:00:00:01"), ("from", "02:00:00:00:00:02")] {
        let found = error(
            &wire,
            of_direction(&format!("{direction} 52:54:00:12:34:56")),
        );
        let expected = format!("expected a station of the capture: {station} (1 packet)");
        assert!(found.ends_with(&expected), "{found}");
    }
    assert_eq!(
        error(&raw, of_interface("eth0")),
        "t.pcap: --interface eth0 matches none of 1 packets; the capture names no interfaces; expected pcapng or Linux cooked v2"
    );
    let empty = error(&capture(RAW, &[]), filtered("udp"));
    assert!(empty.contains("holds no packets"), "{empty}");
    let unknown = error(&capture(147, &[(0, upload(1))]), filtered("udp"));
    assert!(unknown.contains("link type 147"), "{unknown}");
}

#[test]
fn blocks_without_a_selected_packet_do_not_end_the_replay() {
    let others = (1..=20_000_u32).map(|at| (at, udp(at as u16, (SERVER, 1), (LAN, 2))));
    let bytes = capture(
        RAW,
        &others
            .chain([(30_000, upload(1)), (30_001, upload(2))])
            .collect::<Vec<_>>(),
    );
    let summary = run(bytes, filtered("dst port 443")).unwrap();
    assert_eq!(
        (summary.packets, summary.seconds),
        (2, 1e-6),
        "the clock starts at the first selected packet"
    );
    assert_eq!(summary.selection.unwrap().left_out.filter, 20_000);
}

fn choosing() -> Selection {
    Selection {
        chooses: true,
        ..Selection::default()
    }
}

/// The packets, the options chosen, and the other direction's packets and options.
fn chosen_of(bytes: Vec<u8>) -> (u64, String, Option<(u64, String)>) {
    let comparison = compared(bytes, choosing()).unwrap();
    let packets = comparison.capture.packets;
    let Some(chosen) = comparison.observed.chosen else {
        return (packets, String::new(), None);
    };
    let other = chosen
        .other
        .map(|other| (other.packets, other.options.join(" ")));
    (packets, chosen.options.join(" "), other)
}

/// Regression: of 780 captures of other projects 679 were replayed with both directions, several
/// interfaces or copies in one link, and needed a second command.
#[test]
fn a_comparison_that_chooses_replays_the_direction_with_the_larger_load() {
    let uploads = "--interface 2 --direction in".to_owned();
    let downloads = "--interface 3 --direction in".to_owned();
    assert_eq!(
        chosen_of(router(SLL2)),
        (6, uploads, Some((4, downloads))),
        "a router's interfaces"
    );
    let second = (
        "--interface eth0".to_owned(),
        "--interface 'wan 1'".to_owned(),
    );
    assert_eq!(
        chosen_of(mixed("wan 1")),
        (3, second.0, Some((2, second.1))),
        "interfaces with names"
    );
    let alone = capture(RAW, &[(0, upload(1)), (5, upload(2))]);
    assert_eq!(chosen_of(alone), (2, String::new(), None), "one direction");
    // The library chooses only where it is told to.
    assert_eq!(replayed(&router(SLL2), Selection::default()), 10);
}

#[test]
fn what_is_chosen_is_replayed_as_with_its_options() {
    let chosen = compared(router(SLL2), choosing()).unwrap();
    let asked = Selection {
        interface: Some("2".into()),
        ..of_direction("in")
    };
    let asked = compared(router(SLL2), asked).unwrap();
    let flows = |comparison: &Comparison| format!("{:?}", comparison.flows);
    assert_eq!(flows(&chosen), flows(&asked));
    let summary = chosen.capture.selection.unwrap();
    assert!(summary.chosen);
    assert_eq!(
        (summary.interface.as_deref(), summary.direction.as_deref()),
        (Some("2"), Some("in"))
    );
    assert!(!asked.capture.selection.unwrap().chosen);
}

/// Both ends of a connection have one address, so a port tells the directions apart.
#[test]
fn directions_of_a_loopback_interface_are_told_apart_by_a_port() {
    let local = [127, 0, 0, 1];
    let mut packets = Vec::new();
    for number in 1..=5 {
        let at = u32::from(number) * MILLISECOND;
        packets.push((at, udp(number, (local, 5432), (local, 40_000))));
        if number < 4 {
            packets.push((at + 100, udp(number + 9, (local, 40_000), (local, 5432))));
        }
    }
    let chosen = chosen_of(capture(RAW, &packets));
    let from = "--direction 'from 127.0.0.1:5432'".to_owned();
    let to = "--direction 'to 127.0.0.1:5432'".to_owned();
    assert_eq!(chosen, (5, from, Some((3, to))));
    let asked = of_direction("to 127.0.0.1:5432");
    assert_eq!(replayed(&capture(RAW, &packets), asked), 3);
    assert!(
        "from [::1]:80"
            .parse::<roundelay_trace::Direction>()
            .is_ok()
    );
    assert!(
        "from ::1:80:90:aa:bb:cc:dd:ee:ff"
            .parse::<roundelay_trace::Direction>()
            .is_err()
    );
}

/// A mirror port's copies are left out without being asked for, and a user may keep them.
#[test]
fn copies_of_a_mirror_port_are_left_out_by_choice() {
    let copied = mirror(ETHERNET, 10, 10);
    assert_eq!(
        chosen_of(copied.clone()),
        (10, "--mirrored".to_owned(), None)
    );
    let kept = Selection {
        keep_duplicates: true,
        ..choosing()
    };
    assert_eq!(replayed(&copied, kept), 20);
}

/// A frame without IP has no address: no direction is named after an unspecified one.
#[test]
fn frames_without_addresses_do_not_decide_the_direction() {
    let mut packets = Vec::new();
    for number in 1..=30_u16 {
        packets.push((u32::from(number) * MILLISECOND, ethernet(0x0806, &[0; 46])));
    }
    packets.push((40 * MILLISECOND, ethernet(0x0800, &upload(1))));
    packets.push((41 * MILLISECOND, ethernet(0x0800, &download(2))));
    let (_, options, _) = chosen_of(capture(ETHERNET, &packets));
    assert!(options.contains("192.168.1.0/24"), "{options}");
}

/// A server whose many clients have no network in common, beside a heavier connection between two
/// others: the server's direction has more bytes than that connection's.
#[test]
fn the_direction_of_a_host_that_talks_to_many_is_found() {
    let hub = [100, 64, 0, 1];
    let mut packets = Vec::new();
    let mut send = |source, destination| {
        let number = packets.len() as u16 + 1;
        packets.push((
            u32::from(number) * MILLISECOND,
            udp(number, source, destination),
        ));
    };
    for _ in 0..10 {
        send(([9, 9, 9, 9], 4000), ([8, 8, 8, 8], 5000));
        send(([8, 8, 8, 8], 5000), ([9, 9, 9, 9], 4000));
    }
    for client in 0..30 {
        let client = ([20 + client, 1, 2, 3], 4000);
        send((hub, 443), client);
        send((hub, 443), client);
        send(client, (hub, 443));
    }
    let mut frames = packets.clone();
    for (_, packet) in &mut frames {
        *packet = ethernet(0x0800, packet);
    }
    let (of_hub, options, other) = chosen_of(capture(ETHERNET, &frames));
    assert_eq!(
        (of_hub, options.as_str()),
        (60, "--direction 'from 100.64.0.1'")
    );
    assert_eq!(other, Some((30, "--direction 'to 100.64.0.1'".to_owned())));
    // Without link-layer addresses nothing says whether the others are on the server's link.
    let (all, options, _) = chosen_of(capture(RAW, &packets));
    assert_eq!((all, options.as_str()), (110, ""));
}

//! Selection of packets by interface, direction and filter; duplicates; notes on mixed captures.

use std::io::Cursor;

use crate::common::*;
use roundelay_trace::{
    Capture, CaptureSummary, CompareError, Comparison, Filter, Heading, InterfaceName, LeftOut,
    Options, Selection, Tap, compare, parse,
};

const LAN: [u8; 4] = [192, 168, 1, 20];
const SERVER: [u8; 4] = [198, 51, 100, 7];
const SLL: u16 = 113;
const SLL2: u16 = 276;
const RAW: u16 = 101;
const IN: u8 = 0;
const OUT: u8 = 4;
const MILLISECOND: u32 = 1000;

/// A pcap in microseconds, from packets of time and data.
fn capture(link: u16, packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let record = |(micros, data): &(u32, Vec<u8>)| {
        record(Little, micros / 1_000_000, micros % 1_000_000, data)
    };
    [
        pcap(Little, MICROS, (2, 4), 65_535, link),
        packets.iter().flat_map(record).collect(),
    ]
    .concat()
}

/// A pcapng with two Ethernet interfaces, eth0 and `second`, from packets of interface, time and
/// data.
fn two_interfaces(second: &str, packets: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let named = |name: &str| interface(Little, ETHERNET, 0, &option(Little, 2, name.as_bytes()));
    let packet = |(interface, micros, data): &(u32, u32, Vec<u8>)| {
        enhanced(Little, *interface, u64::from(*micros), data)
    };
    [
        section(Little),
        named("eth0"),
        named(second),
        packets.iter().flat_map(packet).collect(),
    ]
    .concat()
}

/// A UDP packet with this identification.
fn udp(identification: u16, source: ([u8; 4], u16), destination: ([u8; 4], u16)) -> Vec<u8> {
    let payload = [&ports(source.1, destination.1)[..], &[7; 100]].concat();
    let mut packet = ipv4(UDP, source.0, destination.0, &payload);
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet
}

fn upload(identification: u16) -> Vec<u8> {
    udp(identification, (LAN, 5000), (SERVER, 443))
}

fn download(identification: u16) -> Vec<u8> {
    udp(identification, (SERVER, 443), (LAN, 5000))
}

/// The packet after a router: TTL and checksum differ.
fn forwarded(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8] -= 1;
    packet[10] = packet[10].wrapping_add(1);
    packet
}

fn compared(bytes: Vec<u8>, selection: Selection) -> Result<Comparison, CompareError> {
    let specs = vec!["fifo".parse().unwrap()];
    let options = Options {
        measure_cost: false,
        selection,
        ..Options::new("1gbit".parse().unwrap(), specs)
    };
    compare(
        Capture::from_reader("t.pcap", Cursor::new(bytes))?,
        &options,
        &mut (),
    )
}

/// The warning before the verdict, and the suggested options.
fn warning(bytes: &[u8], selection: Selection) -> Option<(String, String)> {
    let reserve = compared(bytes.to_vec(), selection)
        .unwrap()
        .verdict
        .reserve?;
    let options = reserve.command.unwrap_or_default();
    Some((
        reserve.sentence,
        options
            .strip_prefix("roundelay compare t.pcap --rate 1gbit ")
            .unwrap_or_default()
            .to_owned(),
    ))
}

fn suggested(bytes: &[u8]) -> String {
    warning(bytes, Selection::default()).map_or_else(String::new, |(_, options)| options)
}

/// The selection of these options.
fn selection_of(options: &str) -> Selection {
    let mut selection = Selection::default();
    let value = |name: &str| {
        let (_, rest) = options.split_once(name)?;
        let quoted = rest
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once('\''));
        Some(quoted.map_or_else(
            || rest.split(' ').next().unwrap_or_default(),
            |(value, _)| value,
        ))
    };
    selection.interface = value("--interface ").map(InterfaceName::from);
    selection.direction = value("--direction ").map(|text| text.parse().unwrap());
    selection.mirrored = options.contains("--mirrored");
    selection
}

/// The suggested options leave no note on mixtures and no warning. Returns the packets replayed.
#[track_caller]
fn follow(bytes: &[u8]) -> (String, u64) {
    let options = suggested(bytes);
    assert!(
        !options.is_empty(),
        "{:?}",
        run(bytes.to_vec(), Selection::default()).unwrap().notes
    );
    let comparison = compared(bytes.to_vec(), selection_of(&options)).unwrap();
    assert!(
        comparison.verdict.reserve.is_none(),
        "{options}: {:?}",
        comparison.verdict.reserve
    );
    let mixed = |note: &&String| {
        ["the replayed link", "look like copies"]
            .iter()
            .any(|word| note.contains(word))
    };
    assert_eq!(
        comparison.capture.notes.iter().find(mixed),
        None,
        "{options}"
    );
    (options, comparison.capture.packets)
}

fn run(bytes: Vec<u8>, selection: Selection) -> Result<CaptureSummary, CompareError> {
    let summary = compared(bytes, selection)?.capture;
    if let Some(selection) = &summary.selection {
        assert_eq!(
            summary.packets + selection.left_out.total(),
            selection.read,
            "{selection:?}"
        );
    }
    Ok(summary)
}

/// Packets replayed.
fn replayed(bytes: &[u8], selection: Selection) -> u64 {
    run(bytes.to_vec(), selection).unwrap().packets
}

fn left_out(bytes: &[u8], selection: Selection) -> LeftOut {
    run(bytes.to_vec(), selection)
        .unwrap()
        .selection
        .unwrap()
        .left_out
}

fn duplicates(bytes: &[u8]) -> u64 {
    run(bytes.to_vec(), Selection::default())
        .unwrap()
        .selection
        .map_or(0, |selection| selection.left_out.duplicates)
}

fn error(bytes: &[u8], selection: Selection) -> String {
    run(bytes.to_vec(), selection).unwrap_err().to_string()
}

fn of_interface(name: &str) -> Selection {
    Selection {
        interface: Some(InterfaceName::from(name)),
        ..Selection::default()
    }
}

fn of_direction(text: &str) -> Selection {
    Selection {
        direction: Some(text.parse().unwrap()),
        ..Selection::default()
    }
}

fn filtered(text: &str) -> Selection {
    Selection {
        filter: Some(text.parse().unwrap()),
        ..Selection::default()
    }
}

/// Three uploads through eth0, two downloads through the other interface.
fn mixed(second: &str) -> Vec<u8> {
    let uploads = (1..=3).map(|number| {
        (
            0,
            u32::from(number) * MILLISECOND,
            ethernet(0x0800, &upload(number)),
        )
    });
    let downloads = (4..=5).map(|number| {
        (
            1,
            u32::from(number) * MILLISECOND,
            ethernet(0x0800, &download(number)),
        )
    });
    two_interfaces(second, &uploads.chain(downloads).collect::<Vec<_>>())
}

/// `tcpdump -i any` on a router: each packet in through one interface and out through the other.
fn router(link: u16) -> Vec<u8> {
    let frame = |interface, packet_type, packet: &[u8]| {
        if link == SLL {
            cooked(packet_type, packet)
        } else {
            cooked2(interface, packet_type, packet)
        }
    };
    let copies = |number: u16, packet: Vec<u8>, [from, to]: [u32; 2]| {
        let at = u32::from(number) * MILLISECOND;
        [
            (at, frame(from, IN, &packet)),
            (at + 50, frame(to, OUT, &forwarded(packet))),
        ]
    };
    let uploads = (1..=6).flat_map(|number| copies(number, upload(number), [2, 3]));
    let downloads = (7..=10).flat_map(|number| copies(number, download(number), [3, 2]));
    capture(link, &uploads.chain(downloads).collect::<Vec<_>>())
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
        "direction `up`: expected in, out, or in quotes 'from ADDRESS' or 'to ADDRESS', with an address or a network such as 192.168.1.0/24"
    );
    assert!(error("from").contains("expected in, out, or in quotes 'from ADDRESS'"));
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
fn copies_at_a_router_are_left_out_and_counted() {
    for link in [SLL, SLL2] {
        let summary = run(router(link), Selection::default()).unwrap();
        assert_eq!(
            (
                summary.packets,
                summary.selection.unwrap().left_out.duplicates
            ),
            (10, 10)
        );
        assert_eq!(
            summary.notes[0],
            "10 of 20 packets are replayed. Left out: 10 duplicates (one IP packet captured at several interfaces or on the way in and \
             out; --keep-duplicates keeps them)."
        );
        let kept = run(
            router(link),
            Selection {
                keep_duplicates: true,
                ..Selection::default()
            },
        )
        .unwrap();
        assert_eq!(
            (kept.packets, kept.selection.unwrap().left_out.duplicates),
            (20, 0)
        );
        assert_eq!(
            kept.notes[0],
            "20 of 20 packets are replayed. Left out: none."
        );
    }
    // Ethernet pads short frames: the padding is no part of the packet.
    let short =
        |packet: Vec<u8>, padding: usize| [ethernet(0x0800, &packet), vec![0; padding]].concat();
    let packet = ipv4(UDP, LAN, SERVER, &ports(1, 2));
    let copies = [
        (0, 0, short(packet.clone(), 18)),
        (1, 40, short(forwarded(packet), 0)),
    ];
    assert_eq!(duplicates(&two_interfaces("eth1", &copies)), 1);
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

/// A switch that mirrors both directions of a port: each packet twice, 3 us apart.
fn mirror(link: u16, packets: u16, copied: u16) -> Vec<u8> {
    let frame = |packet: &[u8]| {
        if link == SLL2 {
            cooked2(2, IN, packet)
        } else {
            ethernet(0x0800, packet)
        }
    };
    let copies = |number: u16| {
        let (at, frame) = (u32::from(number) * MILLISECOND, frame(&upload(number)));
        if number <= copied {
            vec![(at, frame.clone()), (at + 3, frame)]
        } else {
            vec![(at, frame)]
        }
    };
    capture(link, &(1..=packets).flat_map(copies).collect::<Vec<_>>())
}

fn mirrored() -> Selection {
    Selection {
        mirrored: true,
        ..Selection::default()
    }
}

/// Many equal packets are no copies: a third one follows the second.
#[test]
fn a_flood_of_equal_packets_is_no_mirror() {
    let frame = ethernet(0x0800, &upload(1));
    let flood: Vec<_> = (0..1000)
        .map(|number| (10 * number, frame.clone()))
        .collect();
    let summary = run(capture(ETHERNET, &flood), Selection::default()).unwrap();
    assert!(
        !summary.notes.iter().any(|note| note.contains("mirror")),
        "{:?}",
        summary.notes
    );
}

#[test]
fn copies_by_a_mirror_port_are_noted_and_left_out_on_demand() {
    for link in [ETHERNET, SLL2] {
        let summary = run(mirror(link, 10, 10), Selection::default()).unwrap();
        assert_eq!(
            (summary.packets, summary.selection),
            (20, None),
            "nothing is left out without the option"
        );
        assert_eq!(
            summary.notes[0],
            "10 of 20 packets look like copies by a mirror port (equal, at one place and within a millisecond): nearly every packet \
             comes twice. Without these: --mirrored."
        );
        let summary = run(mirror(link, 10, 10), mirrored()).unwrap();
        assert_eq!(
            (
                summary.packets,
                summary.selection.unwrap().left_out.mirrored
            ),
            (10, 10)
        );
        assert_eq!(
            summary.notes[0],
            "10 of 20 packets are replayed. Left out: 10 by --mirrored."
        );
    }
    let some = run(mirror(ETHERNET, 99, 3), Selection::default()).unwrap();
    assert!(
        some.notes[0].starts_with("3 of 102 packets look like copies by a mirror port")
            && !some.notes[0].contains("nearly every")
    );
    let few = run(mirror(ETHERNET, 299, 1), Selection::default()).unwrap();
    assert!(
        !few.notes.iter().any(|note| note.contains("mirror")),
        "{:?}",
        few.notes
    );
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
fn equal_packets_that_a_mirror_port_need_not_have_copied_are_kept() {
    let left_out =
        |packets: &[(u32, Vec<u8>)]| left_out(&capture(RAW, packets), mirrored()).mirrored;
    let noted = |packets: &[(u32, Vec<u8>)]| {
        run(capture(RAW, packets), Selection::default())
            .unwrap()
            .notes
            .iter()
            .any(|note| note.contains("mirror"))
    };
    let twice = |packet: Vec<u8>, gap| [(0, packet.clone()), (gap, packet)];
    assert_eq!(
        (
            left_out(&twice(upload(1), 1000)),
            left_out(&twice(upload(1), 1001))
        ),
        (1, 0),
        "a millisecond"
    );
    assert_eq!(
        left_out(&[(0, upload(1)), (3, upload(2))]),
        0,
        "a retransmission has another identification"
    );
    // A mirror port makes one copy: the third is a packet of its own, the fourth its copy.
    let equal: Vec<_> = (0..4).map(|number| (number * 3, upload(1))).collect();
    assert_eq!((left_out(&equal[..3]), left_out(&equal)), (1, 2));
    // Acknowledgements sent again at once, without an identification, are equal without any mirror.
    let segment = |data: &[u8]| {
        [
            &ports(1, 2)[..],
            &[1; 4],
            &[0x50, 0, 0, 0, 0, 0, 0, 0],
            data,
        ]
        .concat()
    };
    let [acknowledgement, data] =
        [&[][..], &[9; 20]].map(|data| ipv6(0, TCP, v6(1), v6(2), &segment(data)));
    assert_eq!(
        (
            left_out(&twice(acknowledgement.clone(), 3)),
            noted(&twice(acknowledgement, 3))
        ),
        (1, false)
    );
    assert_eq!(
        (left_out(&twice(data.clone(), 3)), noted(&twice(data, 3))),
        (1, true)
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
fn duplicates_are_looked_for_among_the_selected() {
    assert_eq!(
        left_out(&router(SLL2), of_direction("in")),
        LeftOut {
            direction: 10,
            ..LeftOut::default()
        }
    );
    let selection = Selection {
        filter: Some("dst port 443".parse().unwrap()),
        ..of_interface("2")
    };
    let summary = run(router(SLL2), selection).unwrap();
    assert_eq!(summary.packets, 6);
    assert_eq!(
        summary.selection.unwrap().left_out,
        LeftOut {
            interface: 10,
            filter: 4,
            ..LeftOut::default()
        }
    );
    assert_eq!(
        summary.notes[0],
        "6 of 20 packets are replayed. Left out: 10 by --interface 2, 4 by --filter 'dst port 443'."
    );
}

#[test]
fn a_mixed_capture_is_noted_with_the_command_that_mends_it() {
    let summary = run(mixed("wan 1"), Selection::default()).unwrap();
    assert_eq!(summary.selection, None);
    assert_eq!(
        summary.notes[..2],
        [
            "Packets of several interfaces share the replayed link: eth0 (3 packets), 'wan 1' (2 packets).",
            "1 connection is captured in both directions, and both share the replayed link."
        ]
    );
    let (sentence, options) = warning(&mixed("wan 1"), Selection::default()).unwrap();
    assert_eq!(
        sentence,
        "The figures below are of a wrong load: both directions of connections and several interfaces share the replayed link, as the \
         notes say. This command has one direction of one link, 852 kbit/s over the whole capture (the other direction, 568 kbit/s over the whole \
         capture: --interface 'wan 1'):"
    );
    assert_eq!(options, "--interface eth0");
    assert_eq!(follow(&mixed("wan 1")), (options, 3));
    let selected = run(mixed("wan 1"), of_interface("wan 1")).unwrap();
    assert_eq!(selected.notes.len(), 2, "{:?}", selected.notes);
    let selected = run(mixed("wan 1"), of_direction("from 192.168.1.0/24")).unwrap();
    assert_eq!(selected.notes.len(), 2, "{:?}", selected.notes);
    let hostile = run(mixed("$(reboot)"), of_direction("to 192.168.1.0/24")).unwrap();
    assert!(!hostile.notes.iter().any(|note| note.contains("reboot")));
    let both = run(mixed("'; reboot"), Selection::default()).unwrap();
    assert!(
        both.notes[0].contains("eth0 (3 packets), 1 (2 packets)."),
        "a name that a shell would run is a number: {}",
        both.notes[0]
    );
}

#[test]
fn copies_count_for_the_interface_of_a_note() {
    // A bottleneck, interface 9, behind two access links.
    let copy = |number: u16, access: u32| {
        let at = u32::from(number) * MILLISECOND;
        [
            (at, cooked2(access, IN, &upload(number))),
            (at + 20, cooked2(9, OUT, &forwarded(upload(number)))),
        ]
    };
    let bytes = capture(SLL2, &[copy(1, 2), copy(2, 3), copy(3, 3)].concat());
    let note = run(bytes.clone(), Selection::default()).unwrap().notes[1].clone();
    let counts = "9 (0 packets and 3 duplicates left out), 3 (2 packets), 2 (1 packets).";
    assert!(
        note.ends_with(&format!("share the replayed link: {counts}")),
        "{note}"
    );
    assert_eq!(follow(&bytes), ("--interface 9".to_owned(), 3));
    assert_eq!(
        run(bytes, of_direction("out")).unwrap().notes.len(),
        2,
        "one interface is left"
    );
}

#[test]
fn a_suggested_direction_does_not_hold_both_ends() {
    let one_network = |far: [u8; 4]| {
        let bytes = capture(
            RAW,
            &[
                (0, udp(1, (LAN, 1), (far, 2))),
                (10, udp(2, (far, 2), (LAN, 1))),
                (20, udp(3, (far, 2), (LAN, 1))),
            ],
        );
        follow(&bytes).0
    };
    assert_eq!(
        one_network([192, 168, 1, 30]),
        "--direction 'to 192.168.1.20'"
    );
    assert_eq!(
        one_network([192, 168, 2, 30]),
        "--direction 'to 192.168.1.0/24'"
    );
    assert_eq!(one_network(SERVER), "--direction 'to 192.168.1.0/24'");
}

#[test]
fn a_suggested_direction_tells_as_many_connections_apart_as_possible() {
    let bytes = |connections: &[([u8; 4], [u8; 4])]| {
        let up = |(near, far): &([u8; 4], [u8; 4])| {
            [
                (0, udp(1, (*near, 1), (*far, 2))),
                (1, udp(2, (*far, 2), (*near, 1))),
            ]
        };
        capture(RAW, &connections.iter().flat_map(up).collect::<Vec<_>>())
    };
    let other = [198, 51, 100, 8];
    assert_eq!(
        follow(&bytes(&[(LAN, SERVER), ([192, 168, 2, 20], other)])),
        ("--direction 'to 192.168.0.0/16'".to_owned(), 2)
    );
    let (one_server, packets) = follow(&bytes(&[
        ([203, 0, 113, 1], SERVER),
        ([203, 0, 113, 2], SERVER),
    ]));
    assert!(
        one_server.contains("198.51.100.7'") && packets == 2,
        "{one_server}"
    );
    let apart = bytes(&[([203, 0, 113, 1], SERVER), ([203, 0, 113, 2], other)]);
    let note = run(apart.clone(), Selection::default()).unwrap().notes[0].clone();
    assert_eq!(
        note,
        "2 connections are captured in both directions, and both share the replayed link."
    );
    follow(&apart);
}

/// A connection of a router: uploads from interface 2 to 3, and twice as many downloads. With `nat`
/// the packets have the router's address on interface 3.
fn behind(link: u16, nat: bool, connections: u16) -> Vec<u8> {
    const PUBLIC: [u8; 4] = [203, 0, 113, 77];
    let frame = |(interface, packet_type): (u32, u8), packet: &[u8]| match link {
        SLL => cooked(packet_type, packet),
        SLL2 => cooked2(interface, packet_type, packet),
        _ => ethernet(0x0800, packet),
    };
    let mut packets = Vec::new();
    for number in 1..=600_u16 {
        let at = u32::from(number) * MILLISECOND;
        let port = 5000 + number % connections;
        let outside = if nat {
            (PUBLIC, port + 20_000)
        } else {
            (LAN, port)
        };
        let (before, after, from, to) = match number % 3 {
            0 => (
                udp(number, (LAN, port), (SERVER, 443)),
                udp(number, outside, (SERVER, 443)),
                2,
                3,
            ),
            _ => (
                udp(number, (SERVER, 443), outside),
                udp(number, (SERVER, 443), (LAN, port)),
                3,
                2,
            ),
        };
        packets.push((from, at, frame((from, IN), &before)));
        packets.push((to, at + 50, frame((to, OUT), &forwarded(after))));
    }
    if link == ETHERNET {
        let of_two: Vec<_> = packets
            .into_iter()
            .map(|(interface, at, data)| (interface - 2, at, data))
            .collect();
        return two_interfaces("eth1", &of_two);
    }
    capture(
        link,
        &packets
            .into_iter()
            .map(|(_, at, data)| (at, data))
            .collect::<Vec<_>>(),
    )
}

/// Regression: behind NAT each packet was replayed twice without a word, and `--interface 2` left
/// both directions.
#[test]
fn at_a_router_one_command_leaves_one_direction_of_one_link() {
    for (link, nat) in [SLL, SLL2, ETHERNET]
        .into_iter()
        .flat_map(|link| [(link, false), (link, true)])
    {
        for connections in [1, 7, 100] {
            let bytes = behind(link, nat, connections);
            let notes = run(bytes.clone(), Selection::default())
                .unwrap()
                .notes
                .join(" ");
            assert_eq!(
                notes.contains(
                    "of 1200 packets look like copies behind a router that translates addresses"
                ),
                nat,
                "{notes}"
            );
            assert!(
                notes.contains("captured in both directions"),
                "{link} {nat}: {notes}"
            );
            let (options, packets) = follow(&bytes);
            assert_eq!(
                packets, 400,
                "{link} {nat} {connections}: the downloads, once: {options}"
            );
        }
    }
    let options = |link, nat| follow(&behind(link, nat, 7)).0;
    assert_eq!(
        [options(SLL2, false), options(SLL2, true)],
        ["--interface 3 --direction in"; 2]
    );
    assert_eq!(
        [options(SLL, false), options(SLL, true)],
        ["--direction 'to 192.168.1.0/24'"; 2]
    );
    assert_eq!(
        [options(ETHERNET, false), options(ETHERNET, true)],
        ["--direction 'to 192.168.1.0/24'"; 2]
    );
}

/// Regression: no word on the direction left out where nothing contends.
#[test]
fn the_load_of_the_other_direction_is_told_where_nothing_contends() {
    let sentences = |direction: &str| {
        compared(behind(SLL2, false, 7), of_direction(direction))
            .unwrap()
            .verdict
            .sentences
            .join(" ")
    };
    let text = sentences("to 192.168.1.0/24");
    assert!(
        text.starts_with("Nothing contends for this link: fifo will do. The other direction, "),
        "{text}"
    );
    assert!(
        text.contains(" on average, is left out: --direction 'from 192.168.1.0/24' compares it."),
        "{text}"
    );
    assert!(
        !sentences("in").contains("The other direction"),
        "it comes in at another interface"
    );
}

/// An option that is given stays.
#[test]
fn what_is_selected_already_stays_selected() {
    let (sentence, options) = warning(&behind(SLL2, true, 7), of_interface("2")).unwrap();
    assert_eq!(options, "--direction out");
    assert!(
        sentence
            .ends_with("one direction of one link, 791 kbit/s over the whole capture (the other direction, 395 kbit/s over the whole capture: --direction in):"),
        "{sentence}"
    );
    let (_, options) = warning(&behind(SLL2, false, 7), of_direction("out")).unwrap();
    assert_eq!(options, "--interface 2");
    let both = Selection {
        keep_duplicates: true,
        ..of_direction("to 192.168.1.0/24")
    };
    assert_eq!(
        warning(&behind(SLL2, false, 7), both).unwrap().1,
        "--interface 2"
    );
    let filtered = Selection {
        filter: Some("host 192.168.1.20".parse().unwrap()),
        ..of_interface("2")
    };
    assert_eq!(
        warning(
            &behind(SLL2, false, 7),
            Selection {
                direction: None,
                ..filtered
            }
        )
        .unwrap()
        .1,
        "--direction out"
    );
}

/// Regression: the load of third parties and of copies, over the time of the packets replayed.
#[test]
fn the_load_of_the_other_direction_is_of_its_own_packets_and_time() {
    let other = [203, 0, 113, 9];
    let third = |at: u32| (at, udp(at as u16, (other, 1), ([203, 0, 113, 10], 2)));
    let there = |at: u32| (at, udp(at as u16, (LAN, 1), (SERVER, 2)));
    let note = |packets: &[(u32, Vec<u8>)]| {
        let sentences = compared(capture(RAW, packets), of_direction("from 192.168.1.20"))
            .unwrap()
            .verdict
            .sentences
            .join(" ");
        sentences
            .split_once("The other direction, ")
            .map(|(_, rest)| rest.split(" on average").next().unwrap().to_owned())
    };
    let of_third: Vec<_> = (0..20)
        .flat_map(|second| [there(second * 1_000_000), third(second * 1_000_000 + 1)])
        .collect();
    assert_eq!(note(&of_third), None);
    let back = |at: u32| (at, udp(at as u16, (SERVER, 2), (LAN, 1)));
    let long: Vec<_> = [there(0), there(1000)]
        .into_iter()
        .chain((1..=100).map(|second| back(second * 1_000_000)))
        .collect();
    assert_eq!(
        note(&long).as_deref(),
        Some("1.03 kbit/s"),
        "100 packets of 128 bytes in 99 seconds"
    );
}

/// Regression: a ping made the load wrong, and the command kept all packets.
#[test]
fn the_answer_to_a_ping_does_no_harm_and_a_real_one_is_left_out() {
    let (one, two) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut packets: Vec<_> = (0..3000)
        .map(|number| (number * 1000, udp(number as u16 + 1, (one, 1), (two, 2))))
        .collect();
    packets.push((3_000_500, udp(1, (two, 9), (one, 9))));
    packets.push((3_000_600, udp(2, (one, 9), (two, 9))));
    assert_eq!(warning(&capture(RAW, &packets), Selection::default()), None);
    packets.extend(
        (0..300).map(|number| (3_001_000 + number, udp(number as u16, (two, 2), (one, 1)))),
    );
    let (options, kept) = follow(&capture(RAW, &packets));
    assert_eq!(
        (options.as_str(), kept),
        ("--direction 'to 10.0.0.2'", 3001)
    );
}

/// Many equal packets at two places are no copies.
#[test]
fn a_flood_of_equal_packets_is_no_address_translation() {
    for identification in [0, 1] {
        let from = |host: u8| udp(identification, ([10, 0, 0, host], 1), (SERVER, 2));
        let flood = |number: u32| {
            [
                (20 * number, cooked2(2, IN, &from(1))),
                (20 * number + 10, cooked2(3, OUT, &from(2))),
            ]
        };
        let summary = run(
            capture(SLL2, &(0..1000).flat_map(flood).collect::<Vec<_>>()),
            Selection::default(),
        )
        .unwrap();
        assert!(
            !summary.notes.iter().any(|note| note.contains("translates")),
            "{:?}",
            summary.notes
        );
    }
}

#[test]
fn packets_that_no_router_has_translated_are_no_copies() {
    let noted = |first: (u32, u8, Vec<u8>), second: (u32, u8, Vec<u8>), gap: u32| {
        let frame = |(interface, packet_type, packet): (u32, u8, Vec<u8>)| {
            cooked2(interface, packet_type, &packet)
        };
        let bytes = capture(
            SLL2,
            &[
                (0, cooked2(7, IN, &upload(9))),
                (1, cooked2(8, IN, &download(8))),
                (10, frame(first)),
                (10 + gap, frame(second)),
            ],
        );
        run(bytes, Selection::default())
            .unwrap()
            .notes
            .iter()
            .any(|note| note.contains("translates"))
    };
    let (inside, outside) = (
        || (2, IN, udp(1, (LAN, 1), (SERVER, 2))),
        |identification| udp(identification, ([203, 0, 113, 7], 9), (SERVER, 2)),
    );
    assert!(noted(inside(), (3, OUT, outside(1)), 50));
    assert!(
        !noted(inside(), (3, OUT, outside(2)), 50),
        "another identification"
    );
    assert!(
        !noted(inside(), (3, OUT, outside(1)), 1_001_000),
        "too late"
    );
    assert!(!noted(inside(), (3, IN, outside(1)), 50), "both came in");
    assert!(!noted(inside(), (2, IN, outside(1)), 50), "one place");
    assert!(
        !noted(
            inside(),
            (3, OUT, udp(1, ([203, 0, 113, 7], 9), (SERVER, 3))),
            50
        ),
        "another server"
    );
    assert!(
        !noted(inside(), (3, OUT, udp(1, (LAN, 2), (SERVER, 2))), 50),
        "the port alone"
    );
    let mut other = outside(1);
    *other.last_mut().unwrap() += 1;
    assert!(!noted(inside(), (3, OUT, other), 50), "another payload");
    let mut checked = outside(1);
    checked[26..28].copy_from_slice(&[1, 2]);
    assert!(noted(inside(), (3, OUT, checked), 50), "another checksum");
}

#[test]
fn a_mirror_of_both_directions_is_mended_by_one_command() {
    let both = (1..=40).flat_map(|number| {
        let (at, packet) = (
            u32::from(number) * MILLISECOND,
            if number % 4 == 0 {
                upload(number)
            } else {
                download(number)
            },
        );
        [
            (at, ethernet(0x0800, &packet)),
            (at + 3, ethernet(0x0800, &packet)),
        ]
    });
    let bytes = capture(ETHERNET, &both.collect::<Vec<_>>());
    assert_eq!(
        follow(&bytes),
        ("--direction 'to 192.168.1.0/24' --mirrored".to_owned(), 30)
    );
    assert_eq!(
        follow(&mirror(ETHERNET, 10, 10)),
        ("--mirrored".to_owned(), 10)
    );
}

#[test]
fn a_capture_of_one_link_has_no_word_of_selections() {
    let uploads: Vec<_> = (1..=3)
        .map(|number| (u32::from(number), upload(number)))
        .collect();
    let summary = run(capture(RAW, &uploads), Selection::default()).unwrap();
    assert_eq!(
        (summary.selection, summary.notes.len()),
        (None, 1),
        "{:?}",
        summary.notes
    );
    let text = |selection| {
        format!(
            "{:?}",
            Options {
                selection,
                ..Options::new("1gbit".parse().unwrap(), Vec::new())
            }
        )
    };
    assert_ne!(text(of_interface("eth0")), text(of_interface("eth1")));
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

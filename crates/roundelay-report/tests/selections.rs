//! Notes and warnings on several links in one capture, and the selection that mends it.

use std::io::Cursor;

use crate::common::several_links::*;
use crate::common::*;
use roundelay_report::{Advised, TableStyle, html, table};
use roundelay_trace::{
    Capture, CompareError, InterfaceName, LeftOut, Options, Selection, SelectionSummary,
};

use crate::told::{Told, compare};

fn compared(bytes: Vec<u8>, selection: Selection) -> Result<Told, CompareError> {
    compare(
        Capture::from_reader("t.pcap", Cursor::new(bytes))?,
        &options_of(selection),
        &mut (),
    )
}

/// A capture with the notes on it.
struct Summary {
    packets: u64,
    selection: Option<SelectionSummary>,
    notes: Vec<String>,
}

fn run(bytes: Vec<u8>, selection: Selection) -> Result<Summary, CompareError> {
    let told = compared(bytes, selection)?;
    let mut notes = told.notes.clone();
    // The packets of these captures are QUIC's, which has a note of its own.
    notes.retain(|note| !note.contains("of the bytes are QUIC"));
    Ok(Summary {
        packets: told.capture.packets,
        selection: told.capture.selection.clone(),
        notes,
    })
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
    assert_eq!(comparison.notes.iter().find(mixed), None, "{options}");
    (options, comparison.capture.packets)
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
        text.starts_with("Nothing contends for this link: fifo will do, so leave the queue there as it is. The other direction, "),
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

/// Packets between so many networks that no direction separates them: most go one way, a sixth both
/// ways between two hosts.
fn inseparable() -> Vec<u8> {
    let mut packets = Vec::new();
    for number in 1..=84 {
        let source = [100 + number as u8, 1, 1, 1];
        let destination = [20 + number as u8, 2, 2, 2];
        packets.push(udp(number, (source, 5000), (destination, 4000)));
    }
    for number in 100..108 {
        packets.push(upload(number));
        packets.push(download(number + 100));
    }
    let mut timed = Vec::new();
    for (number, packet) in packets.into_iter().enumerate() {
        timed.push((number as u32 * MILLISECOND, packet));
    }
    capture(RAW, &timed)
}

fn advised(bytes: Vec<u8>, selection: Selection) -> Advised {
    let options = options_of(selection);
    let capture = Capture::from_reader("t.pcap", Cursor::new(bytes)).unwrap();
    let comparison = roundelay_trace::compare(capture, &options, &mut ()).unwrap();
    Advised::new(comparison, &options, None)
}

/// Where nothing tells which packets shared the link, the answer is a question: no table, no best
/// discipline and no command.
#[test]
fn what_nothing_separates_is_a_question_without_a_table() {
    let selection = Selection {
        chooses: true,
        ..Selection::default()
    };
    let told = advised(inseparable(), selection);
    assert!(told.verdict.is_open, "{:?}", told.notes);
    let text = table(&told, TableStyle::default());
    assert!(
        text.contains("Which of these packets shared your link?"),
        "{text}"
    );
    for part in ["fifo", "discipline  ", "tc ", "* "] {
        assert!(!text.contains(part), "{part:?} in {text}");
    }
    let page = html(&told);
    assert!(page.contains("Which of these packets shared your link?"));
    // All of it on request, with the warning as before.
    let all = advised(inseparable(), Selection::default());
    let text = table(&all, TableStyle::default());
    assert!(
        text.contains("wrong load") && text.contains("* fifo"),
        "{text}"
    );
}

/// Where figures would tell nothing, there are none: a mirror port's tunnel, headers that cannot be
/// read, and times that no clock has made.
#[test]
fn what_no_selection_mends_is_told_without_a_table() {
    let chosen = Selection {
        chooses: true,
        ..Selection::default()
    };
    let in_vxlan = |number: u16, inner: &[u8]| {
        let header = [&ports(50_000, 4789)[..], &[8, 0, 0, 0, 0, 0, 1, 0]].concat();
        let mut packet = ipv4(UDP, A, B, &[header, ethernet(0x0800, inner)].concat());
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        packet
    };
    let mut mirror = Vec::new();
    let mut unreadable = Vec::new();
    let mut counted = Vec::new();
    let mut whole = Vec::new();
    for number in 1..=20 {
        whole.push((u32::from(number / 5) * 1000 * MILLISECOND, upload(number)));
        let at = u32::from(number) * 2 * MILLISECOND;
        mirror.push((at, in_vxlan(number, &download(number))));
        mirror.push((at + MILLISECOND, in_vxlan(number + 100, &upload(number))));
        unreadable.push((at, upload(number)[..10].to_vec()));
        counted.push((u32::from(number), upload(number)));
    }
    for (packets, sentence) in [
        (
            &mirror,
            "'editcap -T ether -C 36 -L FILE INNER' cuts 36 bytes",
        ),
        (&unreadable, "the headers of most packets cannot be read"),
        (&counted, "no clock has made the times"),
        (&whole, "clock shows multiples of 1.00 s"),
    ] {
        let options = Options {
            adapts: true,
            ..options_of(chosen.clone())
        };
        let capture = Capture::from_reader("t.pcap", Cursor::new(capture(RAW, packets))).unwrap();
        let comparison = roundelay_trace::compare(capture, &options, &mut ()).unwrap();
        let told = Advised::new(comparison, &options, None);
        assert!(told.verdict.is_open && told.verdict.commands.is_empty());
        let text = table(&told, TableStyle::default());
        assert!(text.contains(sentence), "{text}");
        assert!(
            !text.contains("discipline  ") && !text.contains("* fifo"),
            "{text}"
        );
    }
}

/// A clock that was set forward, and one of hundredths, have a note each and figures.
#[test]
fn what_a_clock_did_is_told() {
    let mut forward = Vec::new();
    let mut coarse = Vec::new();
    for number in 1..=200_u16 {
        let at = u32::from(number) * 2 * MILLISECOND;
        let sequence = (u32::from(number) * 100).to_be_bytes();
        let ticks = (u32::from(number) * 2).to_be_bytes();
        let header = [
            &ports(443, 5000)[..4],
            &sequence,
            &[0, 0, 0, 1, 0x80, 0x10, 0, 0, 0, 0, 0, 0, 1, 1, 8, 10],
            &ticks,
            &[0; 104],
        ];
        let packet = ipv4(TCP, SERVER, LAN, &header.concat());
        let jump = if number > 100 {
            30_000 * MILLISECOND
        } else {
            0
        };
        forward.push((at + jump, packet.clone()));
        coarse.push((at - at % (10 * MILLISECOND), packet));
    }
    let notes = |packets: &[(u32, Vec<u8>)]| {
        let options = Options {
            adapts: true,
            ..options_of(Selection::default())
        };
        let capture = Capture::from_reader("t.pcap", Cursor::new(capture(RAW, packets))).unwrap();
        let comparison = roundelay_trace::compare(capture, &options, &mut ()).unwrap();
        let told = Advised::new(comparison, &options, None);
        assert!(!told.verdict.is_open);
        told.notes.join("\n")
    };
    let told = notes(&forward);
    assert!(
        told.contains("was set forward by 30.0 s or its host slept")
            && told.contains("--to 0.198000s and --from 0.198000s"),
        "{told}"
    );
    let told = notes(&coarse);
    assert!(told.contains("clock shows multiples of 10.0 ms"), "{told}");
}

/// The words of a choice by link-layer addresses, where no connection shows both directions.
#[test]
fn a_wire_of_both_directions_is_told() {
    let mut packets = Vec::new();
    for number in 1..=20_u16 {
        let ends = |first: u8| ([first + number as u8, 1, 1, 1], 5000);
        let mut to = ethernet(0x0800, &udp(number, ends(20), ends(60)));
        let from = ethernet(0x0800, &udp(number + 100, ends(100), ends(140)));
        to[..12].rotate_left(6);
        packets.push((u32::from(number) * MILLISECOND, to.clone()));
        packets.push((u32::from(number) * MILLISECOND + 300, from));
        packets.push((u32::from(number) * MILLISECOND + 600, ethernet_again(to)));
    }
    let bytes = capture(ETHERNET, &packets);
    let chosen = Selection {
        chooses: true,
        ..Selection::default()
    };
    let notes = run(bytes.clone(), chosen).unwrap().notes.join("\n");
    assert!(
        notes.contains("04:04:04:04:04:04'") && notes.contains("both directions of a wire"),
        "{notes}"
    );
    let notes = run(bytes, Selection::default()).unwrap().notes.join("\n");
    assert!(
        notes.contains("Both directions of a wire are captured"),
        "{notes}"
    );
}

/// The same frame with another identification.
fn ethernet_again(mut frame: Vec<u8>) -> Vec<u8> {
    frame[18] = 9;
    frame
}

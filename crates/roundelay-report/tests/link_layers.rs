//! Overhead, minimum and framing of the link in a comparison: lengths, notes and commands.

use std::io::Cursor;

use crate::common::*;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{LinkLayer, QueueSpec};
use roundelay_trace::{Capture, Options};

use crate::told::{Told, compare};

/// Packets of three flows, 40 to 1,500 bytes, more than the link carries: nanoseconds, flow, length
/// of the IP packet.
fn load() -> impl Iterator<Item = (u32, u16, u32)> {
    (0..3000_u32).map(|number| {
        (
            number * 400_000,
            (number % 3) as u16,
            40 + number * 37 % 1461,
        )
    })
}

/// A capture of the load's headers, with `before` in front of each IP packet; each record claims
/// the length given by `len_of`.
fn capture(link: u16, before: &[u8], len_of: impl Fn(u32) -> u32) -> Vec<u8> {
    let record = |(nanos, flow, len): (u32, u16, u32)| {
        let mut packet = ipv4(UDP, A, B, &ports(5000, 1000 + flow));
        packet[2..4].copy_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
        let frame = [before, &packet].concat();
        let (seconds, nanos, captured) = (
            nanos / 1_000_000_000,
            nanos % 1_000_000_000,
            u32::try_from(frame.len()).unwrap(),
        );
        [
            record_header(Little, seconds, nanos, captured, len_of(len).max(captured)),
            frame,
        ]
        .concat()
    };
    load().fold(
        pcap(Little, NANOS, (2, 4), 65_535, link),
        |bytes, packet| [bytes, record(packet)].concat(),
    )
}

fn run(bytes: Vec<u8>, link: &str) -> Told {
    let specs = AnyDiscipline::all()
        .into_iter()
        .map(|discipline| QueueSpec {
            discipline,
            limit: None,
        })
        .collect();
    let link: LinkLayer = link.parse().unwrap();
    let options = Options {
        measure_cost: false,
        link,
        ..Options::new("5mbit".parse().unwrap(), specs)
    };
    compare(
        Capture::from_reader("t.pcap", Cursor::new(bytes)).unwrap(),
        &options,
        &mut (),
    )
    .unwrap()
}

/// Cells, counted one at a time.
fn cells(mut bytes: u32) -> u32 {
    let mut cells = 0;
    while bytes > 0 {
        bytes = bytes.saturating_sub(48);
        cells += 1;
    }
    cells
}

/// A link with overhead does to a capture what a link without does to a capture of longer packets:
/// link time, buffers and disciplines see the length on the link, and nothing else.
#[test]
fn every_discipline_sees_the_length_on_the_link() {
    let ethernet = ethernet(0x0800, &[]);
    type Lengths = fn(u32) -> u32;
    let cases: [(&str, Lengths); 3] = [
        ("pppoe-llcsnap", |len| 53 * cells(len + 40)),
        ("docsis", |len| (len + 18).max(64)),
        ("pppoe-ptm", |len| {
            len + 30 + (0..len + 30).filter(|byte| byte % 64 == 0).count() as u32
        }),
    ];
    for (link, len_of) in cases {
        let framed = run(capture(1, &ethernet, |len| len + 14), link);
        let longer = run(capture(101, &[], len_of), "raw");
        assert_eq!(
            framed.capture.bytes,
            load().map(|(.., len)| u64::from(len_of(len))).sum::<u64>(),
            "{link}"
        );
        assert_eq!(framed.capture.longest_packet, longer.capture.longest_packet);
        for (one, other) in framed.disciplines.iter().zip(&longer.disciplines) {
            assert_eq!(
                format!("{one:?}"),
                format!("{other:?}"),
                "{link}: {}",
                one.spec
            );
        }
        assert!(
            framed
                .disciplines
                .iter()
                .any(|discipline| discipline.total.drops.total() > 0),
            "{link}: no loss"
        );
        let note = framed
            .notes
            .iter()
            .find(|note| note.starts_with("Lengths are those on the link ("))
            .expect("a note");
        let captured: u64 = load().map(|(.., len)| u64::from(len) + 14).sum();
        assert!(
            note.ends_with(&format!(
                "counted from the IP packet): {} bytes, {captured} in the capture.",
                framed.capture.bytes
            )),
            "{note}"
        );
        assert_eq!(longer.capture.link, None);
    }
}

/// tc-cake(8): after "raw", compensation is relative to the reported packet size.
#[test]
fn raw_counts_from_the_captured_frame() {
    let bytes = || capture(1, &ethernet(0x0800, &[]), |len| len + 14);
    let total = |link: &str| run(bytes(), link).capture.bytes;
    let packets = load().count() as u64;
    assert_eq!(total("raw ether-vlan") - total("raw"), 4 * packets);
    assert_eq!(total("ether-vlan") + 10 * packets, total("raw"));
    let notes = run(bytes(), "raw ether-vlan").notes;
    assert!(
        notes[0].starts_with(
            "Lengths are those on the link (raw overhead 4, counted from the captured frame): "
        ),
        "{notes:?}"
    );
}

#[test]
fn commands_have_the_size_table() {
    let comparison = |link: &str| {
        let options = Options {
            measure_cost: false,
            link: link.parse().unwrap(),
            ..Options::new("5mbit".parse().unwrap(), vec!["fq_codel".parse().unwrap()])
        };
        let bytes = capture(1, &ethernet(0x0800, &[]), |len| len + 14);
        compare(
            Capture::from_reader("t.pcap", Cursor::new(bytes)).unwrap(),
            &options,
            &mut (),
        )
        .unwrap()
        .verdict
        .commands
    };
    let root = |link| {
        comparison(link)
            .into_iter()
            .filter(|line| line.contains("root handle 1:"))
            .collect::<Vec<_>>()
    };
    assert!(!root("raw")[0].contains("stab"));
    assert!(
        root("bridged-llcsnap")[0].contains("root handle 1: stab overhead 18 linklayer atm "),
        "{:?}",
        root("bridged-llcsnap")
    );
}

//! Captures of several links, directions and copies, and what is selected from them.

use std::io::Cursor;

use super::*;
use roundelay_trace::{
    Capture, CaptureSummary, CompareError, Comparison, InterfaceName, LeftOut, Options, Selection,
    compare,
};

pub(crate) const LAN: [u8; 4] = [192, 168, 1, 20];

pub(crate) const SERVER: [u8; 4] = [198, 51, 100, 7];

pub(crate) const SLL: u16 = 113;

pub(crate) const SLL2: u16 = 276;

pub(crate) const RAW: u16 = 101;

pub(crate) const IN: u8 = 0;

pub(crate) const OUT: u8 = 4;

pub(crate) const MILLISECOND: u32 = 1000;

/// A pcap in microseconds, from packets of time and data.
pub(crate) fn capture(link: u16, packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
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
pub(crate) fn two_interfaces(second: &str, packets: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
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
pub(crate) fn udp(
    identification: u16,
    source: ([u8; 4], u16),
    destination: ([u8; 4], u16),
) -> Vec<u8> {
    let payload = [&ports(source.1, destination.1)[..], &[7; 100]].concat();
    let mut packet = ipv4(UDP, source.0, destination.0, &payload);
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet
}

pub(crate) fn upload(identification: u16) -> Vec<u8> {
    udp(identification, (LAN, 5000), (SERVER, 443))
}

pub(crate) fn download(identification: u16) -> Vec<u8> {
    udp(identification, (SERVER, 443), (LAN, 5000))
}

/// The packet after a router: TTL and checksum differ.
pub(crate) fn forwarded(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8] -= 1;
    packet[10] = packet[10].wrapping_add(1);
    packet
}

pub(crate) fn options_of(selection: Selection) -> Options {
    let specs = vec!["fifo".parse().unwrap()];
    Options {
        measure_cost: false,
        seeds: 1,
        selection,
        ..Options::new("1gbit".parse().unwrap(), specs)
    }
}

pub(crate) fn compared(bytes: Vec<u8>, selection: Selection) -> Result<Comparison, CompareError> {
    compare(
        Capture::from_reader("t.pcap", Cursor::new(bytes))?,
        &options_of(selection),
        &mut (),
    )
}

pub(crate) fn run(bytes: Vec<u8>, selection: Selection) -> Result<CaptureSummary, CompareError> {
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
pub(crate) fn replayed(bytes: &[u8], selection: Selection) -> u64 {
    run(bytes.to_vec(), selection).unwrap().packets
}

pub(crate) fn left_out(bytes: &[u8], selection: Selection) -> LeftOut {
    run(bytes.to_vec(), selection)
        .unwrap()
        .selection
        .unwrap()
        .left_out
}

pub(crate) fn duplicates(bytes: &[u8]) -> u64 {
    run(bytes.to_vec(), Selection::default())
        .unwrap()
        .selection
        .map_or(0, |selection| selection.left_out.duplicates)
}

pub(crate) fn of_interface(name: &str) -> Selection {
    Selection {
        interface: Some(InterfaceName::from(name)),
        ..Selection::default()
    }
}

pub(crate) fn of_direction(text: &str) -> Selection {
    Selection {
        direction: Some(text.parse().unwrap()),
        ..Selection::default()
    }
}

pub(crate) fn filtered(text: &str) -> Selection {
    Selection {
        filter: Some(text.parse().unwrap()),
        ..Selection::default()
    }
}

/// Three uploads through eth0, two downloads through the other interface.
pub(crate) fn mixed(second: &str) -> Vec<u8> {
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
pub(crate) fn router(link: u16) -> Vec<u8> {
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

/// A switch that mirrors both directions of a port: each packet twice, 3 us apart.
pub(crate) fn mirror(link: u16, packets: u16, copied: u16) -> Vec<u8> {
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

pub(crate) fn mirrored() -> Selection {
    Selection {
        mirrored: true,
        ..Selection::default()
    }
}

//! Captures of simulations, read back by the capture reader.

use etherparse::{SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use roundelay::Seed;
use roundelay::{Billionths, Bytes, Duration, Instant, LinkLayer};
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::burst::{self, Burst};
use roundelay_sim::sources::tcp::Tcp;
use roundelay_sim::{LinkConfig, Marks, Network, NodeId};
use roundelay_trace::{Capture, parse};

use crate::Observed;

/// A transfer of 100,000 bytes over one link and back, between nodes with these names. Returns the
/// capture and the number of packets carried by the links.
fn transfer(queue: &str, names: [&str; 2]) -> (Vec<u8>, u64) {
    let mut network = Network::default();
    let [from, to] = names.map(|name| network.add_named(name).unwrap());
    for (from, to) in [(from, to), (to, from)] {
        let queue = queue.parse().unwrap();
        network
            .add_link(LinkConfig::new(
                from,
                to,
                "10mbit".parse().unwrap(),
                Duration::from_millis(5),
                queue,
            ))
            .unwrap();
    }
    let mut bytes = Vec::new();
    let mut capture = Pcapng::new(&mut bytes, &network).with_marks([Marks {
        dscp: 46,
        ..Marks::default()
    }]);
    let mut simulation = Observed::with_probe(network, Seed::new(1), &mut capture).unwrap();
    let protocol = roundelay_tcp::Config::ns2_newreno_sack1();
    let source = Tcp::new(Terms::new(NodeId(0), NodeId(1)), protocol, Some(100_000));
    simulation.spawn(Box::new(source.unwrap()), Instant::ZERO);
    simulation
        .run(Instant::ZERO + Duration::from_secs(10))
        .unwrap();
    let packets = simulation.links().map(|link| link.packets).sum();
    capture.finish().unwrap();
    drop(capture);
    (bytes, packets)
}

#[test]
fn a_capture_holds_what_the_links_carried() {
    let (bytes, carried) = transfer("fifo limit 20", ["a", "b"]);
    let mut capture = Capture::from_reader("transfer", std::io::Cursor::new(bytes)).unwrap();
    let (mut frames, mut forward_bytes) = (0, 0);
    while let Some(frame) = capture.next().unwrap() {
        let headers = parse(frame.link, frame.bytes)
            .unwrap_or_else(|error| panic!("packet {frames}: {error:?}"));
        assert_eq!((headers.protocol, headers.dscp), (6, 46));
        if frame.original_len > 100 {
            forward_bytes += u64::from(frame.original_len) - 50;
        }
        frames += 1;
    }
    assert!(
        frames == carried && carried > 100,
        "{frames} of {carried} packets"
    );
    assert!(
        forward_bytes >= 100_000,
        "all of the transfer was seen: {forward_bytes}"
    );
}

/// Names too long for an option, of letters that must not be cut in two.
#[test]
fn a_capture_of_nodes_with_long_names_can_be_read() {
    for len in [1, 60, 119, 120, 121, 32_768, 70_000] {
        let [from, to] = ["a", "ü"].map(|letter| letter.repeat(len));
        let (bytes, carried) = transfer("fifo limit 20", [&from, &format!("x{to}")]);
        let mut capture = Capture::from_reader("names", std::io::Cursor::new(bytes)).unwrap();
        let mut frames = 0;
        while capture
            .next()
            .unwrap_or_else(|error| panic!("{len}: {error}"))
            .is_some()
        {
            frames += 1;
        }
        assert_eq!(frames, carried, "{len}");
    }
}

/// On a preemptive link a packet has the time of its end.
#[test]
fn times_never_step_back() {
    for queue in ["fifo limit 20", "lstf preempt limit 20"] {
        let (bytes, carried) = transfer(queue, ["a", "b"]);
        let mut capture = Capture::from_reader(queue, std::io::Cursor::new(bytes)).unwrap();
        let mut times = Vec::new();
        while let Some(frame) = capture.next().unwrap() {
            times.push(frame.time_nanos);
        }
        assert!(
            times.is_sorted() && times.len() as u64 == carried && carried > 100,
            "{queue}: {times:?}"
        );
    }
}

const SIZE: u64 = 400_000;
const OVERHEAD: u32 = 24;

/// Capture of a transfer over a lossy link, to be read by an independent library.
fn lossy(protocol: roundelay_tcp::Config) -> Vec<u8> {
    let mut network = Network::default();
    let [from, to] = ["a", "b"].map(|name| network.add_named(name).unwrap());
    for (from, to) in [(from, to), (to, from)] {
        let mut link = LinkConfig::new(
            from,
            to,
            "10mbit".parse().unwrap(),
            Duration::from_millis(5),
            "fifo limit 1000".parse().unwrap(),
        );
        (link.loss, link.layer) = (
            Billionths(20_000_000),
            LinkLayer::with_overhead(OVERHEAD as i32),
        );
        network.add_link(link).unwrap();
    }
    let mut bytes = Vec::new();
    let mut capture = Pcapng::new(&mut bytes, &network);
    let mut simulation = Observed::with_probe(network, Seed::new(1), &mut capture).unwrap();
    let source = Tcp::new(Terms::new(NodeId(0), NodeId(1)), protocol, Some(SIZE));
    simulation.spawn(Box::new(source.unwrap()), Instant::ZERO);
    simulation
        .run(Instant::ZERO + Duration::from_secs(200))
        .unwrap();
    assert_eq!(simulation.on_their_way(), 0);
    capture.finish().unwrap();
    drop(capture);
    bytes
}

/// One side of a connection.
#[derive(Debug, Default)]
struct Side {
    /// The number after the highest sent.
    highest: u32,
    repeated: u32,
    blocks: u32,
}

/// A packet with the omitted data filled with zeros.
fn whole(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(u16::from_be_bytes([bytes[2], bytes[3]]).into(), 0);
    bytes
}

fn check_options(tcp: &TcpSlice<'_>, other: u32, has_timestamps: bool, side: &mut Side) {
    let options: Vec<_> = tcp
        .options_iterator()
        .map(|option| option.unwrap())
        .collect();
    assert_eq!(
        options
            .iter()
            .any(|option| matches!(option, TcpOptionElement::Timestamp(..))),
        has_timestamps && !tcp.syn()
    );
    for option in options {
        if let TcpOptionElement::SelectiveAcknowledgement(first, more) = option {
            side.blocks += 1;
            for (start, end) in more.into_iter().flatten().chain([first]) {
                assert!(
                    tcp.acknowledgment_number() < start && start < end && end <= other,
                    "{start} to {end} of {other}"
                );
            }
        }
    }
}

/// Sequence numbers have no gaps apart from retransmissions, and every acknowledgement is of data
/// sent.
#[test]
fn a_captured_connection_adds_up() {
    let presets = [
        ("rfc", roundelay_tcp::Config::rfc(), true),
        ("newreno", roundelay_tcp::Config::ns2_newreno_sack1(), false),
        (
            "reno",
            roundelay_tcp::Config::ns2_classic(roundelay_tcp::Flavour::Reno),
            false,
        ),
    ];
    for (name, protocol, has_timestamps) in presets {
        let mut capture =
            Capture::from_reader(name, std::io::Cursor::new(lossy(protocol))).unwrap();
        let mut sides = [Side::default(), Side::default()];
        let mut acknowledged = 0;
        if !protocol.syn_exchange {
            sides.iter_mut().for_each(|side| side.highest = 1);
        }
        while let Some(frame) = capture.next().unwrap() {
            let bytes = whole(frame.bytes);
            let packet = SlicedPacket::from_ip(&bytes).unwrap();
            let (Some(etherparse::NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) =
                (&packet.net, &packet.transport)
            else {
                panic!("{name}: {packet:?}")
            };
            assert_eq!(
                ip.header().header_checksum(),
                ip.header().to_header().calc_header_checksum()
            );
            assert_eq!(
                tcp.checksum(),
                tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination())
                    .unwrap()
            );
            // The excess over the IPv4 packet is the link's overhead, and bytes that do not fill a
            // header word.
            let beyond = frame.original_len - bytes.len() as u32;
            assert!(
                (OVERHEAD..OVERHEAD + 4).contains(&beyond),
                "{name}: {beyond}"
            );
            let is_back = usize::from(ip.header().source()[3] == 1);
            let (sequence, data) = (tcp.sequence_number(), tcp.payload().len() as u32);
            let other = sides[1 - is_back].highest;
            let side = &mut sides[is_back];
            assert_eq!(
                tcp.ack(),
                is_back == 1 || !tcp.syn(),
                "{name}: all but the first SYN acknowledge"
            );
            assert!(
                tcp.acknowledgment_number() <= other,
                "{name}: {} is not sent yet: {other}",
                tcp.acknowledgment_number()
            );
            assert!(
                !tcp.syn() || sequence == 0 && data == 0,
                "{name}: a SYN is the first and carries nothing"
            );
            assert!(
                sequence <= side.highest,
                "{name}: {} to {sequence} are missing",
                side.highest
            );
            let end = sequence + data + u32::from(tcp.syn());
            side.repeated += u32::from(end > sequence && end <= side.highest);
            assert!(
                sequence == side.highest || end <= side.highest,
                "{name}: {sequence} to {end} are partly new: {side:?}"
            );
            side.highest = side.highest.max(end);
            check_options(tcp, other, has_timestamps, side);
            if is_back == 1 {
                acknowledged = acknowledged.max(tcp.acknowledgment_number());
            }
        }
        let [data, answers] = sides;
        assert_eq!(
            [data.highest, answers.highest, acknowledged],
            [1 + SIZE as u32, 1, 1 + SIZE as u32],
            "{name}"
        );
        assert!(
            data.repeated > 2 && (answers.blocks > 2) == (name == "rfc"),
            "{name}: {data:?} {answers:?}"
        );
    }
}

/// Datagrams have the given length plus the link's overhead, and none is shorter than the headers.
#[test]
fn captured_datagrams_add_up() {
    for (len, shown) in [(1000, 1000), (28, 28), (10, 28), (65_535, 65_535)] {
        let mut network = Network::default();
        let [from, to] = ["a", "b"].map(|name| network.add_named(name).unwrap());
        let mut link = LinkConfig::new(
            from,
            to,
            "10mbit".parse().unwrap(),
            Duration::ZERO,
            "fifo limit 20".parse().unwrap(),
        );
        link.layer = LinkLayer::with_overhead(OVERHEAD as i32);
        let mut back = link.clone();
        (back.from, back.to) = (to, from);
        network.add_link(link).unwrap();
        network.add_link(back).unwrap();
        let mut bytes = Vec::new();
        let mut capture = Pcapng::new(&mut bytes, &network);
        let mut simulation = Observed::with_probe(network, Seed::new(1), &mut capture).unwrap();
        let config = burst::Config {
            size: Bytes(3 * u64::from(len)),
            packet_len: len,
        };
        simulation.spawn(
            Box::new(Burst::new(Terms::new(from, to), config).unwrap()),
            Instant::ZERO,
        );
        simulation
            .run(Instant::ZERO + Duration::from_secs(1))
            .unwrap();
        capture.finish().unwrap();
        drop(capture);
        let mut capture = Capture::from_reader("burst", std::io::Cursor::new(bytes)).unwrap();
        let mut frames = 0;
        while let Some(frame) = capture.next().unwrap() {
            let bytes = whole(frame.bytes);
            let packet = SlicedPacket::from_ip(&bytes).unwrap();
            let (Some(etherparse::NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) =
                (&packet.net, &packet.transport)
            else {
                panic!("{packet:?}")
            };
            assert_eq!(
                (u32::from(ip.header().total_len()), u32::from(udp.length())),
                (shown, shown - 20)
            );
            assert_eq!(frame.original_len, shown.max(len + OVERHEAD));
            let payload = &bytes[28..];
            let sum = udp
                .to_header()
                .calc_checksum_ipv4(&ip.header().to_header(), payload)
                .unwrap();
            assert_eq!(udp.checksum(), sum);
            frames += 1;
        }
        assert_eq!(frames, 3, "{len}");
    }
}

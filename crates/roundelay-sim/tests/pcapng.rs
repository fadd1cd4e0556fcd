//! Captures of simulations, read by the reader of captures.

use roundelay::{Duration, Instant};
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::tcp::{Config, Tcp};
use roundelay_sim::{LinkConfig, Network, NodeId, Simulation};
use roundelay_trace::{Capture, parse};

/// A transfer of 100,000 bytes over one link and back, between nodes of these names, as a capture, and the packets that the links carried.
fn transfer(queue: &str, names: [&str; 2]) -> (Vec<u8>, u64) {
    let mut network = Network::default();
    let [from, to] = names.map(|name| network.add_named(name).unwrap());
    for (from, to) in [(from, to), (to, from)] {
        let queue = queue.parse().unwrap();
        network.add_link(LinkConfig::new(from, to, "10mbit".parse().unwrap(), Duration::from_millis(5), queue)).unwrap();
    }
    let mut bytes = Vec::new();
    let capture = Pcapng::new(&mut bytes, &network);
    let mut simulation = Simulation::with_probe(network, 1, capture).unwrap();
    let protocol = roundelay_tcp::Config::ns2_newreno_sack1();
    let config = Config { terms: Terms::new(NodeId(0), NodeId(1)), protocol, size_bytes: Some(100_000) };
    simulation.spawn(Box::new(Tcp::new(config).unwrap()), Instant::ZERO);
    simulation.run(Instant::ZERO + Duration::from_secs(10)).unwrap();
    let packets = simulation.links().map(|link| link.packets).sum();
    simulation.probe_mut().finish().unwrap();
    drop(simulation);
    (bytes, packets)
}

#[test]
fn a_capture_holds_what_the_links_carried() {
    let (bytes, carried) = transfer("fifo limit 20", ["a", "b"]);
    let mut capture = Capture::from_reader("transfer", std::io::Cursor::new(bytes)).unwrap();
    let (mut frames, mut forward_bytes) = (0, 0);
    while let Some(frame) = capture.next().unwrap() {
        let headers = parse(frame.link, frame.bytes).unwrap_or_else(|error| panic!("packet {frames}: {error:?}"));
        assert_eq!(headers.protocol, 6);
        if frame.original_len > 100 {
            forward_bytes += u64::from(frame.original_len) - 50;
        }
        frames += 1;
    }
    assert!(frames == carried && carried > 100, "{frames} of {carried} packets");
    assert!(forward_bytes >= 100_000, "all of the transfer was seen: {forward_bytes}");
}

/// Names that no option has room for, of letters that may not be cut in two.
#[test]
fn a_capture_of_nodes_with_long_names_can_be_read() {
    for len in [1, 60, 119, 120, 121, 32_768, 70_000] {
        let [from, to] = ["a", "ü"].map(|letter| letter.repeat(len));
        let (bytes, carried) = transfer("fifo limit 20", [&from, &format!("x{to}")]);
        let mut capture = Capture::from_reader("names", std::io::Cursor::new(bytes)).unwrap();
        let mut frames = 0;
        while capture.next().unwrap_or_else(|error| panic!("{len}: {error}")).is_some() {
            frames += 1;
        }
        assert_eq!(frames, carried, "{len}");
    }
}

/// A link that interrupts packets tells of them when they have left: that is their time.
#[test]
fn times_never_step_back() {
    for queue in ["fifo limit 20", "lstf preempt limit 20"] {
        let (bytes, carried) = transfer(queue, ["a", "b"]);
        let mut capture = Capture::from_reader(queue, std::io::Cursor::new(bytes)).unwrap();
        let mut times = Vec::new();
        while let Some(frame) = capture.next().unwrap() {
            times.push(frame.time_nanos);
        }
        assert!(times.is_sorted() && times.len() as u64 == carried && carried > 100, "{queue}: {times:?}");
    }
}

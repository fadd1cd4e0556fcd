//! Captures of simulations, read by the reader of captures.

use roundelay::{Duration, Instant};
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::tcp::{Config, Tcp};
use roundelay_sim::{LinkConfig, Network, NodeId, Simulation};
use roundelay_trace::{Capture, parse};

/// A transfer of 100,000 bytes over one link and back, as a capture, and the packets that the links carried.
fn transfer() -> (Vec<u8>, u64) {
    let mut network = Network::default();
    let [from, to] = [0; 2].map(|_| network.add_node());
    for (from, to) in [(from, to), (to, from)] {
        let queue = "fifo limit 20".parse().unwrap();
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
    let (bytes, carried) = transfer();
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

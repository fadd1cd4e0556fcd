//! Heavy-tailed arrivals offer the requested load: bytes sent by hosts equal the utilisation times
//! the rate of their links.

use std::path::Path;

use roundelay::{Instant, Packet};
use roundelay_sim::scenario::Scenario;
use roundelay_sim::{
    Content, Direction, FlowCounts, FlowNumber, LinkId, Opening, PacketState, Probe, Tag,
};

/// Flows and data bytes sent by all hosts.
#[derive(Default)]
struct Offered {
    flows: u64,
    bytes: u64,
    on_links: u64,
    closed: u64,
}

impl Probe for Offered {
    fn opened(&mut self, _: Instant, _: FlowNumber, _: Opening) {
        self.flows += 1;
    }

    fn sent(&mut self, _: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if state.direction == Direction::Forward {
            self.bytes += match state.content {
                Content::Segment(segment) if !segment.is_retransmission() => u64::from(segment.len),
                Content::Segment(_) => 0,
                _ => u64::from(packet.len),
            };
        }
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        _: [Instant; 2],
    ) {
        self.on_links += if state.direction == Direction::Forward && link.0.is_multiple_of(2) {
            u64::from(packet.len)
        } else {
            0
        };
    }

    fn closed(&mut self, _: Instant, _: FlowNumber, _: &FlowCounts) {
        self.closed += 1;
    }
}

const HOSTS: f64 = 16.0;
const SECONDS: f64 = 20.0;
const RATE: f64 = 1e8;

/// Sixteen hosts with 100 Mbit/s each around a router, for 20 s.
fn run(utilisation: f64, sizes: &str, transport: &str, seed: u64) -> Offered {
    let host = |number| {
        let link =
            format!("[[link]]\nfrom = \"host{number}\"\nto = \"router\"\nrate = \"100mbit\"\n");
        format!("[[node]]\nname = \"host{number}\"\nhost = true\n{link}")
    };
    let hosts: String = (0..HOSTS as u32).map(host).collect();
    let source = format!(
        "kind = \"arrivals\"\nfrom = \"host*\"\nutilisation = {utilisation}\nlink_rate = \"100mbit\"\n{sizes}"
    );
    let text = format!(
        "duration = \"20s\"\n[[node]]\nname = \"router\"\n{hosts}[[source]]\n{source}\ntransport = \"{transport}\"\n"
    );
    let mut scenario = Scenario::from_toml("mine", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    scenario.seed = seed;
    let mut offered = Offered::default();
    scenario
        .run_with(seed, &mut offered, |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    offered
}

/// Each distribution with the mean in bytes, and the second moment divided by the square of the
/// mean, calculated by hand.
const SIZES: [(&str, f64, f64); 3] = [
    // 900 x 1500 + 90 x 15,000 + 10 x 450,000 by 1000; 1500^2 and so on.
    (
        "sizes = [[1500, 0.9], [15000, 0.99], [450000, 1.0]]",
        7_200.0,
        39.51,
    ),
    // 1000 with 0.6, then straight lines, with means of 5500 and 55,000 and squares of (a^2 + ab +
    // b^2) / 3.
    (
        "sizes = [[1000, 0.6], [10000, 0.9], [100000, 1.0]]\ninterpolated = true",
        7_750.0,
        6.36,
    ),
    // UPS: 184.475 packets of 1460 bytes.
    ("sizes = \"ups\"", 269_333.5, 8.8),
];

/// Over UDP the load is as requested, within four standard errors: 4 % for the first two
/// distributions, 9 % for UPS. The number of flows is as expected, too.
#[test]
fn load_is_what_was_asked_for() {
    for (utilisation, seed) in [(0.3, 1), (0.7, 2)] {
        for (sizes, mean, squares) in SIZES {
            let expected = utilisation * RATE * HOSTS * SECONDS / 8.0;
            let flows = expected / mean;
            let error = (squares / flows).sqrt();
            // Long packets: only bytes matter.
            let run = run(utilisation, sizes, "burst\"\npacket_len = \"60kb", seed);
            let load = run.bytes as f64 / expected;
            println!("{sizes} at {utilisation}: {load:.4}, standard error {error:.4}");
            assert!(
                (load - 1.0).abs() < 4.0 * error,
                "{sizes}: {load} by {error}"
            );
            assert!(
                (run.flows as f64 / flows - 1.0).abs() < 5.0 / flows.sqrt(),
                "{sizes}: {} flows for {flows}",
                run.flows
            );
        }
    }
}

/// Over TCP the data has the same load; with headers of 52 bytes for 1448 of data, links carry a
/// little more.
#[test]
fn load_over_tcp_is_of_data() {
    let (sizes, mean, squares) = SIZES[0];
    let expected = 0.1 * RATE * HOSTS * SECONDS / 8.0;
    let offered = run(0.1, sizes, "tcp", 1);
    let load = offered.bytes as f64 / expected;
    println!(
        "{load:.4} of the load over TCP, {} flows, {} closed",
        offered.flows, offered.closed
    );
    assert!(
        (load - 1.0).abs() < 4.0 * (squares * mean / expected).sqrt(),
        "{load}"
    );
    assert!(offered.closed as f64 > 0.99 * offered.flows as f64);
    assert!(offered.on_links > offered.bytes);
}

//! A tree file, and a comparison with trees.

use std::io::Cursor;

use super::*;
use roundelay::Fault;
use roundelay_trace::{Capture, Comparison, Options, TreeFile, compare};

pub(crate) const GOOD: &str = r#"name = "office"

[[node]]
name = "calls"
parent = "link"
discipline = "fifo limit 50"
weight = 4
flows = ["udp dst port 1001", "dscp ef"]

[[node]]
name = "bulk"
parent = "link"
discipline = "wf2q_plus"

[[node]]
name = "web"
parent = "bulk"
discipline = "fq_codel target 10ms"
maxpkt = 1514
flows = ["port 1002"]

[[node]]
name = "rest"
parent = "bulk"
discipline = "drr"
default = true

[[node]]
name = "link"
discipline = "wf2q_plus"
"#;

pub(crate) fn tree_of(text: &str) -> Result<TreeFile, Fault> {
    TreeFile::from_toml("trees/t.toml", text)
}

/// Packets of UDP flows to ports from 1001 on, all of 1000 bytes; one packet of each flow per
/// millisecond, `rounds` times.
pub(crate) fn capture(flows: u16, rounds: u32) -> Capture {
    let mut bytes = pcap(Little, NANOS, (2, 4), 65_535, ETHERNET);
    for round in 0..rounds {
        for flow in 0..flows {
            let frame = ethernet(0x0800, &ipv4(UDP, A, B, &ports(5000, 1001 + flow)));
            let captured = frame.len() as u32;
            bytes.extend(record_header(Little, 0, round * 1_000_000, captured, 1000));
            bytes.extend(frame);
        }
    }
    Capture::from_reader("t.pcap", Cursor::new(bytes)).unwrap()
}

pub(crate) fn options_of(trees: Vec<TreeFile>, specs: &[&str], rate: &str) -> Options {
    let specs = specs.iter().map(|spec| spec.parse().unwrap()).collect();
    Options {
        trees,
        measure_cost: false,
        seeds: 1,
        buffer: Some(roundelay::Limit::UNBOUNDED),
        ..Options::new(rate.parse().unwrap(), specs)
    }
}

pub(crate) fn run(
    capture: Capture,
    trees: Vec<TreeFile>,
    specs: &[&str],
    rate: &str,
) -> Comparison {
    compare(capture, &options_of(trees, specs, rate), &mut ()).unwrap()
}

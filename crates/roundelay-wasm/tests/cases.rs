//! Random loads: departures in the page's history equal those of `compare` on a capture of the same
//! packets. With `ROUNDELAY_CASES` set, loads and departures are written there for the WebAssembly.

use std::error::Error;
use std::fmt::Write;
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::{QueueSpec, Rate};
use roundelay_trace::{
    Capture, Options, PacketFate, PacketRecord, PacketSink, ReplayObserver, WeightRules, compare,
};
use roundelay_wasm::{History, Load, Rule};
use serde::Serialize;

const CASES: u64 = 1000;
const DISCIPLINES: [&str; 3] = ["qfq", "drr", "wf2q_plus"];

/// A load as text and as arrivals.
struct Case {
    text: String,
    rate: Rate,
    weights: Vec<u32>,
    /// Nanoseconds, flow, bytes.
    arrivals: Vec<(u64, usize, u32)>,
}

/// Up to 12 flows and 120 packets; at most about twice the load that the link carries.
fn case(seed: u64) -> Case {
    let mut random = Pcg64::seed_from_u64(seed);
    let kilobits = random.random_range(1000..=100_000u64);
    let flows = random.random_range(1..=12usize);
    let weights: Vec<u32> = (0..flows)
        .map(|_| {
            if random.random_bool(0.5) {
                1
            } else {
                random.random_range(1..=1024)
            }
        })
        .collect();
    let packets = random.random_range(flows..=120usize);
    let gap = 8_000_000 * 1514 / kilobits;
    let mut at = 0;
    let mut arrivals = Vec::new();
    for packet in 0..packets {
        // Flows are numbered by their first packets, as in `compare`.
        let flow = if packet < flows {
            packet
        } else {
            random.random_range(0..flows)
        };
        arrivals.push((
            at,
            flow,
            if random.random_bool(0.5) {
                1514
            } else {
                random.random_range(28..=1514)
            },
        ));
        at += if random.random_bool(0.4) {
            0
        } else {
            random.random_range(0..=gap)
        };
    }
    let mut text = format!("link {kilobits}kbit\njoin late\n");
    for (flow, weight) in weights.iter().enumerate() {
        let _ = writeln!(text, "flow f{flow} weight {weight} longest 1514");
    }
    for (at, flow, len) in &arrivals {
        let _ = writeln!(text, "f{flow} {len} at {at}ns");
    }
    Case {
        text,
        rate: format!("{kilobits}kbit").parse().unwrap(),
        weights,
        arrivals,
    }
}

/// A capture of UDP packets cut to their headers: a port for each flow.
fn capture(case: &Case) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Nanoseconds, version 2.4, raw IP.
    [0xa1b2_3c4du32, 4 << 16 | 2, 0, 0, 65_535, 101]
        .iter()
        .for_each(|word| bytes.extend(word.to_le_bytes()));
    for (number, (at, flow, len)) in case.arrivals.iter().enumerate() {
        [
            (at / 1_000_000_000) as u32,
            (at % 1_000_000_000) as u32,
            28,
            *len,
        ]
        .iter()
        .for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend([0x45, 0]);
        [*len as u16, number as u16, 0, 64 << 8 | 17, 0]
            .iter()
            .for_each(|word| bytes.extend(word.to_be_bytes()));
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        [5000, 1000 + *flow as u16, *len as u16 - 20, 0]
            .iter()
            .for_each(|word| bytes.extend(word.to_be_bytes()));
    }
    bytes
}

/// Records of each discipline: flow, bytes, start and end in picoseconds.
type Records = Arc<Mutex<Vec<Vec<(usize, u32, u64, u64)>>>>;

struct Sinks(Records);

struct Sink(Records, usize);

impl ReplayObserver for Sinks {
    fn sink(
        &mut self,
        _: &str,
        index: usize,
        _: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(Box::new(Sink(Arc::clone(&self.0), index))))
    }
}

impl PacketSink for Sink {
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
        let PacketFate::Sent { start, end, .. } = packet.fate else {
            return Err("a drop".into());
        };
        self.0.lock().unwrap()[self.1].push((
            packet.flow.index(),
            packet.len,
            start.as_picos(),
            end.as_picos(),
        ));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

/// Departures of the case by discipline, in order of their starts.
fn by_compare(case: &Case) -> Vec<Vec<(usize, u32, u64, u64)>> {
    let specs = DISCIPLINES
        .map(|name| name.parse::<QueueSpec>().unwrap())
        .to_vec();
    let mut weights = WeightRules::default();
    for (flow, weight) in case.weights.iter().enumerate() {
        weights.push(
            WeightRules::parse_rule(&format!("dst port {} = {weight}", 1000 + flow)).unwrap(),
        );
    }
    let options = Options {
        weights,
        measure_cost: false,
        ..Options::new(case.rate, specs)
    };
    let records: Records = Arc::new(Mutex::new(vec![Vec::new(); DISCIPLINES.len()]));
    let capture = Capture::from_reader("case.pcap", Cursor::new(capture(case))).unwrap();
    compare(capture, &options, &mut Sinks(Arc::clone(&records))).unwrap();
    let mut records = records.lock().unwrap().clone();
    records
        .iter_mut()
        .for_each(|records| records.sort_by_key(|(.., start, _)| *start));
    records
}

fn by_page(text: &str) -> Vec<Vec<(usize, u32, u64, u64)>> {
    let history = History::of(&text.parse::<Load>().unwrap(), Rule::Shipped).unwrap();
    let record = |departure: &roundelay_wasm::Departure| {
        let packet = history.packets[departure.packet];
        (packet.flow, packet.len, departure.start, departure.end)
    };
    DISCIPLINES
        .iter()
        .map(|name| history.departures[name].iter().map(record).collect())
        .collect()
}

#[derive(Serialize)]
struct Expected {
    load: String,
    departures: Vec<Vec<(usize, u32, u64, u64)>>,
}

#[test]
fn departures_equal_those_of_compare_in_1000_cases() {
    let mut all = Vec::new();
    for seed in 0..CASES {
        let case = case(seed);
        let expected = by_compare(&case);
        assert_eq!(
            expected[0].len(),
            case.arrivals.len(),
            "seed {seed}: each packet is sent"
        );
        assert_eq!(by_page(&case.text), expected, "seed {seed}");
        all.push(Expected {
            load: case.text,
            departures: expected,
        });
    }
    if let Some(path) = std::env::var_os("ROUNDELAY_CASES") {
        std::fs::write(path, serde_json::to_vec(&all).unwrap()).unwrap();
    }
}

/// Regression: the largest lag that the page shows was that of the step before.
#[test]
fn the_largest_lag_is_that_of_the_step() {
    let mut steps = 0;
    for seed in 0..50 {
        let load: Load = case(seed).text.parse().unwrap();
        let history = History::of(&load, Rule::Shipped).unwrap();
        let mut before = vec![0.0; load.flows.len()];
        for step in &history.steps {
            for (flow, lag) in step.lags.iter().enumerate() {
                let largest = step.worst_lags[flow];
                assert!(
                    largest >= *lag,
                    "seed {seed}: {lag} now, the largest {largest}"
                );
                assert!(largest >= before[flow], "seed {seed}: it never falls");
            }
            before.clone_from(&step.worst_lags);
            steps += 1;
        }
    }
    assert!(steps > 1000, "{steps} steps");
}

/// With all weights alike, or all flows from the start, departures differ from `compare`'s in most
/// cases: the test above would notice.
#[test]
fn planted_differences_are_found() {
    let (mut alike, mut early) = (0, 0);
    for seed in 0..100 {
        let case = case(seed);
        let expected = by_compare(&case);
        let words = |line: &str| line.split(" weight ").next().unwrap_or_default().to_owned();
        let text: Vec<_> = case
            .text
            .lines()
            .map(|line| {
                if line.starts_with("flow") {
                    words(line)
                } else {
                    line.to_owned()
                }
            })
            .collect();
        alike += u32::from(by_page(&text.join("\n").replace("longest", "")) != expected);
        early += u32::from(by_page(&case.text.replace("join late\n", "")) != expected);
    }
    assert!(alike > 50 && early > 20, "{alike} and {early} of 100 found");
}

//! Congestion controls of a program in all sources over TCP: a Reno written here gives the packets
//! and results of the built-in one.

use std::path::Path;

use roundelay::{Instant, Packet};
use roundelay_sim::scenario::{Results, Scenario};
use roundelay_sim::{Content, PacketState, Probe, Tag};
use roundelay_tcp::{CongestionControl, CustomControl, Feedback};

/// RFC 5681; `parts` is the share of the flight that a loss takes away, 1 over this number.
struct OwnReno {
    towards_next: u64,
    parts: u64,
}

impl CongestionControl for OwnReno {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        if let Some(window) = feedback.slow_start() {
            return window;
        }
        self.towards_next += feedback.acknowledged;
        if self.towards_next < feedback.window {
            return feedback.window;
        }
        self.towards_next -= feedback.window;
        feedback.window + feedback.segment_len
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.towards_next = 0;
        (feedback.in_flight - feedback.in_flight.div_ceil(self.parts)).max(2 * feedback.segment_len)
    }
}

fn own_reno(parts: u64) -> CustomControl {
    CustomControl::new("own reno", move |_| OwnReno {
        towards_next: 0,
        parts,
    })
}

/// A dumbbell with each kind of source over TCP, a source per pair of hosts.
const SOURCES: &str = r#"
duration = "3s"
topology = { template = "dumbbell", pairs = 6, rate = "10mbit", delay = "10ms" }
queue = { core = "fifo limit 40" }
[[source]]
name = "downloads"
kind = "tcp"
from = ["s0", "s1"]
to = ["r0", "r1"]
tcp = { control = "CONTROL", flavour = "newreno" }
[[source]]
name = "requests"
kind = "request_response"
from = "s2"
to = "r2"
request = "300b"
response = "100kb"
think = "20ms"
tcp = { control = "CONTROL" }
[[source]]
name = "films"
kind = "video"
from = "s3"
to = "r3"
segment = "400kb"
interval = "1s"
tcp = { control = "CONTROL", pacing = true }
[[source]]
name = "pages"
kind = "web_page"
from = "s4"
to = "r4"
document = "30kb"
object = "20kb"
objects = 6
think = "100ms"
tcp = { control = "CONTROL", ecn = true }
[[source]]
name = "flows"
kind = "arrivals"
from = ["s5", "r5"]
transport = "tcp"
utilisation = 0.2
link_rate = "10mbit"
sizes = [[3000, 0.5], [90000, 1.0]]
tcp = { control = "CONTROL" }
[[source]]
name = "call"
kind = "cbr"
from = "s0"
to = "r5"
rate = "64kbit"
"#;

/// Packets as sent: time, number, length; of segments their sequence and acknowledgement.
#[derive(Debug, Default, PartialEq)]
struct Sent(Vec<SentPacket>);

type SentPacket = (Instant, u64, u32, Option<[u64; 2]>);

impl Probe for Sent {
    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        let segment = match &state.content {
            Content::Segment(segment) => Some([segment.sequence, segment.acknowledgement]),
            _ => None,
        };
        self.0.push((now, state.number, packet.len, segment));
    }
}

fn scenario(control: &str) -> Scenario {
    let text = SOURCES.replace("CONTROL", control);
    Scenario::from_toml("sources.toml", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> (Sent, Results) {
    let mut sent = Sent::default();
    let (results, _) = scenario.run_with(7, &mut sent, |_| ()).expect("a run");
    (sent, results)
}

#[test]
fn a_reno_from_outside_gives_the_packets_of_the_built_in_one() {
    let (native, results) = run(&scenario("reno"));
    assert!(
        native.0.len() > 3000 && results.groups[0].packets.full > 0,
        "{} packets",
        native.0.len()
    );
    let mut own = scenario("cubic");
    own.set_control("all", &own_reno(2))
        .expect("sources over TCP");
    let (sent, own_results) = run(&own);
    assert!(sent == native, "the packets differ");
    assert_eq!(format!("{results:?}"), format!("{own_results:?}"));
    own.set_control("all", &own_reno(4))
        .expect("sources over TCP");
    assert!(run(&own).0 != native, "another law gives other packets");
    assert_eq!(
        own.groups
            .iter()
            .map(|group| group.control.is_some())
            .collect::<Vec<_>>(),
        [true, true, true, true, true, false]
    );
}

/// Each of the sources alone gets the control: the packets of its own flows change.
#[test]
fn a_control_is_that_of_one_source() {
    let (native, _) = run(&scenario("reno"));
    for source in ["downloads", "requests", "films", "pages", "flows"] {
        let mut own = scenario("reno");
        own.set_control(source, &own_reno(2))
            .expect("a source over TCP");
        assert!(run(&own).0 == native, "{source}: the same law");
        own.set_control(source, &CustomControl::new("one segment", |_| Still))
            .expect("a source over TCP");
        assert!(run(&own).0 != native, "{source}: another law");
    }
}

/// A window of one segment.
struct Still;

impl CongestionControl for Still {
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        feedback.segment_len
    }

    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        feedback.segment_len
    }
}

#[test]
fn names_without_a_source_over_tcp_are_refused() {
    let mut own = scenario("reno");
    let mut refused = |name: &str| {
        own.set_control(name, &own_reno(2))
            .expect_err(name)
            .to_string()
    };
    let legal = "legal names downloads, requests, films, pages, flows, or all";
    assert_eq!(
        refused("download"),
        format!("no source is called 'download' (did you mean 'downloads'?): {legal}")
    );
    assert_eq!(
        refused("call"),
        format!("source 'call' does not use TCP: {legal}")
    );
    let text = "duration = '1s'\ntopology = { template = 'dumbbell', pairs = 1 }\n[[source]]\nkind = 'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '1mbit'\n";
    let mut none = Scenario::from_toml("none.toml", text, Path::new(".")).expect("a scenario");
    let refused = none
        .set_control("all", &own_reno(2))
        .expect_err("no TCP")
        .to_string();
    assert_eq!(
        refused,
        "no source is called 'all': legal names none, as no source uses TCP"
    );
}

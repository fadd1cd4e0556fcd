//! Step-by-step traces, in tables in `tests/traces`. `tests/traces/README.md` describes the format.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use roundelay::{Duration, Instant};
use roundelay_tcp::{
    Block, Config, Control, Flags, Flavour, IdleRestart, PartialTimer, Segment, Sender, State,
};

use super::link::{Fate, Link, World};

const LEN: u64 = 1000;

/// A table with its heading and its setting.
struct Trace {
    name: String,
    config: Config,
    segments: u64,
    /// Segments lost in the first transmission; listed twice, in the second too.
    drops: Vec<u64>,
    is_closed: bool,
    rows: Vec<HashMap<String, String>>,
}

/// Base configuration of the tables, without any optional feature.
fn plain() -> Config {
    Config {
        flavour: Flavour::Reno,
        control: Control::Reno,
        segment_len: LEN as u32,
        header_len: 0,
        min_timeout: Duration::from_millis(200),
        limited_transmit: false,
        timestamps: false,
        delayed_acknowledgement: None,
        syn_exchange: false,
        idle_restart: IdleRestart::Kept,
        window_validation: false,
        burst_avoidance: false,
        ..Config::rfc()
    }
}

fn traces(file: &str) -> Vec<Trace> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/traces")
        .join(file);
    let text = fs::read_to_string(&path).expect("the file is there");
    text.split("\n## ")
        .skip(1)
        .flat_map(|section| read(file, section))
        .collect()
}

const FLAVOURS: [(&str, Flavour); 4] = [
    ("tahoe", Flavour::Tahoe),
    ("reno", Flavour::Reno),
    ("newreno", Flavour::NewReno),
    ("sack", Flavour::Sack),
];

/// The tables of a section: one, or one for each flavour.
fn read(file: &str, section: &str) -> Vec<Trace> {
    let setting = section
        .lines()
        .find_map(|line| line.strip_prefix("Setting: "))
        .unwrap_or_else(|| panic!("{file}: no setting"));
    let setting = setting.trim_end_matches('.');
    match setting.strip_prefix("every flavour") {
        Some(rest) => FLAVOURS
            .iter()
            .map(|(name, _)| read_table(file, section, &format!("{name}{rest}")))
            .collect(),
        None => vec![read_table(file, section, setting)],
    }
}

fn read_table(file: &str, section: &str, setting: &str) -> Trace {
    let name = format!(
        "{file}: {} ({setting})",
        section.lines().next().expect("a heading")
    );
    let mut table = section
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(cells);
    let header = table.next().unwrap_or_else(|| panic!("{name}: no table"));
    let rows: Vec<_> = table
        .skip(1)
        .map(|row| header.iter().cloned().zip(row).collect())
        .collect();
    assert!(!rows.is_empty(), "{name}: empty");
    let mut trace = Trace {
        name,
        config: plain(),
        segments: 0,
        drops: Vec::new(),
        is_closed: false,
        rows,
    };
    for word in setting.split(", ") {
        let (key, value) = word.split_once(' ').unwrap_or((word, ""));
        set(&mut trace, key, value);
    }
    trace
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().to_owned())
        .collect()
}

fn set(trace: &mut Trace, key: &str, value: &str) {
    let number = || {
        value
            .parse::<u32>()
            .unwrap_or_else(|_| panic!("{}: {key} {value}", trace.name))
    };
    let span = || Duration::from_millis(u64::from(number()));
    match key {
        _ if FLAVOURS.iter().any(|(name, _)| *name == key) => {
            trace.config.flavour = FLAVOURS
                .iter()
                .find(|(name, _)| *name == key)
                .expect("it is there")
                .1;
        }
        "cubic" => trace.config.control = Control::Cubic,
        "window" => trace.config.initial_window = number(),
        "threshold" => trace.config.initial_threshold = Some(number()),
        "receive_window" => trace.config.receive_window = number(),
        "min_timeout" => trace.config.min_timeout = span(),
        "max_timeout" => trace.config.max_timeout = span(),
        "segments" => trace.segments = u64::from(number()) * LEN,
        "limited_transmit" => trace.config.limited_transmit = true,
        "timestamps" => trace.config.timestamps = true,
        "ecn" => trace.config.ecn = true,
        "syn" => trace.config.syn_exchange = true,
        "idle_restart" => trace.config.idle_restart = IdleRestart::AtOnce,
        "window_validation" => trace.config.window_validation = true,
        "burst_avoidance" => trace.config.burst_avoidance = true,
        "no_deflation" => trace.config.partial_deflation = false,
        "timer_each" => trace.config.partial_timer = PartialTimer::Each,
        "delayed" => trace.config.delayed_acknowledgement = Some(span()),
        "drops" => {
            trace.is_closed = true;
            let drops = value.split_whitespace().filter(|word| *word != "none");
            trace.drops = drops.map(|drop| drop.parse().expect("a segment")).collect();
        }
        _ => panic!("{}: what is {key}?", trace.name),
    }
}

fn millis(number: &str) -> Instant {
    Instant::ZERO + Duration::from_millis(number.parse().expect("milliseconds"))
}

/// `ack 3`, `ack 3 sack 5-7 9-9`, `ack 3 ece`.
fn acknowledgement(event: &str) -> Segment {
    let mut words = event.split_whitespace().skip(1);
    let number = words
        .next()
        .and_then(|number| number.parse::<u64>().ok())
        .expect("a segment")
        * LEN;
    let mut segment = Segment {
        acknowledgement: number,
        flags: Flags::ACK,
        ..Segment::default()
    };
    let mut blocks = segment.blocks.iter_mut();
    for word in words {
        match word.split_once('-') {
            Some((first, last)) => {
                let [first, last] =
                    [first, last].map(|number| number.parse::<u64>().expect("a segment"));
                let (offset, len) = (first * LEN - number, (last + 1 - first) * LEN);
                *blocks.next().expect("three at most") = Block {
                    offset: offset as u32,
                    len: len as u32,
                };
            }
            None if word == "ece" => segment.flags = segment.flags.with(Flags::ECE),
            None => assert_eq!(word, "sack"),
        }
    }
    segment
}

fn tell_acknowledgement(segment: &Segment) -> String {
    let mut text = format!("ack {}", segment.acknowledgement / LEN);
    for (number, (start, end)) in segment.selective().enumerate() {
        text += if number == 0 { " sack" } else { "" };
        text += &format!(" {}-{}", start / LEN, end / LEN - 1);
    }
    text
}

fn tell(segment: &Segment) -> String {
    if segment.is_syn() {
        return if segment.is_retransmission() {
            "syn r".to_owned()
        } else {
            "syn".to_owned()
        };
    }
    assert_eq!((segment.sequence % LEN, u64::from(segment.len)), (0, LEN));
    let mark = |flag, letter| if segment.flags.has(flag) { letter } else { "" };
    format!(
        "{}{}{}",
        segment.sequence / LEN,
        mark(Flags::RETRANSMISSION, "r"),
        mark(Flags::CWR, "c")
    )
}

fn tell_all(sent: &[Segment]) -> String {
    sent.iter().map(tell).collect::<Vec<_>>().join(" ")
}

fn tell_bytes(bytes: u64) -> String {
    let (whole, rest) = (bytes / LEN, bytes % LEN);
    if rest == 0 {
        whole.to_string()
    } else {
        format!("{whole}.{rest:03}")
            .trim_end_matches('0')
            .to_owned()
    }
}

fn tell_state(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Connecting => "connecting",
        State::SlowStart => "slow start",
        State::CongestionAvoidance => "avoidance",
        State::Recovery => "recovery",
        State::Loss => "loss",
    }
}

/// Replays a table's events at a sender, and compares the sender's state with the table.
fn play(trace: &Trace) {
    let mut sender = Sender::new(trace.config, Some(0)).expect("a legal configuration");
    sender.supply(trace.segments);
    for row in &trace.rows {
        let (now, event) = (millis(&row["ms"]), row["event"].as_str());
        let location = format!("{}, at {} ms, {event}", trace.name, row["ms"]);
        act(&mut sender, now, event, &location);
        let sent: Vec<_> = std::iter::from_fn(|| sender.poll(now)).collect();
        let timer = sender.timer().map_or_else(
            || "off".to_owned(),
            |timer| (timer.as_picos() / 1_000_000_000).to_string(),
        );
        let found = [
            ("sent", tell_all(&sent)),
            ("window", tell_bytes(sender.window())),
            ("threshold", tell_bytes(sender.threshold())),
            ("state", tell_state(sender.state()).to_owned()),
            ("in flight", tell_bytes(sender.in_flight())),
            ("timer", timer),
        ];
        for (column, found) in found {
            if let Some(expected) = row.get(column) {
                assert_eq!(&found, expected, "{location}: {column}");
            }
        }
    }
}

fn act(sender: &mut Sender, now: Instant, event: &str, location: &str) {
    match event.split_whitespace().next() {
        Some("open") => sender.open(now),
        Some("ack") => sender.on_segment(now, &acknowledgement(event)),
        Some("answer") => sender.on_segment(
            now,
            &Segment {
                flags: Flags::SYN.with(Flags::ACK),
                ..Segment::default()
            },
        ),
        Some("supply") => sender.supply(
            LEN * event
                .trim_start_matches("supply ")
                .parse::<u64>()
                .expect("segments"),
        ),
        Some("timer") => {
            assert_eq!(sender.timer(), Some(now), "{location}: the timer");
            sender.on_timer(now);
        }
        _ => panic!("{location}: what is that?"),
    }
}

/// Runs a sender and a receiver with the drops of a table: the events must be those of the table.
fn rerun(trace: &Trace) {
    let mut drops = trace.drops.clone();
    let fate = move |_, segment: &Segment| {
        let dropped = drops.iter().position(|drop| drop * LEN == segment.sequence);
        dropped
            .map(|index| drops.remove(index))
            .map_or(Fate::Deliver, |_| Fate::Drop)
    };
    let mut world = World::new(
        trace.config,
        Some(trace.segments),
        Link {
            fate: Box::new(fate),
            ..Link::default()
        },
    );
    world.keeps_steps = true;
    world.open();
    assert!(
        world.run(Instant::MAX),
        "{}: all is acknowledged",
        trace.name
    );
    let told = world.steps.iter().enumerate().map(|(number, step)| {
        let event = step.acknowledgement.map_or_else(
            || (if number == 0 { "open" } else { "timer" }).to_owned(),
            |a| tell_acknowledgement(&a),
        );
        format!(
            "{} {event} -> {}",
            step.now.as_picos() / 1_000_000_000,
            tell_all(&step.sent)
        )
    });
    let expected = trace
        .rows
        .iter()
        .map(|row| format!("{} {} -> {}", row["ms"], row["event"], row["sent"]));
    assert_eq!(
        told.collect::<Vec<_>>(),
        expected.collect::<Vec<_>>(),
        "{}",
        trace.name
    );
}

fn check(file: &str, tables: usize) {
    let traces = traces(file);
    assert_eq!(traces.len(), tables);
    for trace in &traces {
        play(trace);
        if trace.is_closed {
            rerun(trace);
        }
    }
}

#[test]
fn losses_in_a_window() {
    check("fast-retransmit.txt", 20);
}

#[test]
fn slow_start_and_avoidance() {
    check("slow-start.txt", 5 * 4 + 1);
}

#[test]
fn timeouts() {
    check("timeouts.txt", 4 + 12);
}

#[test]
fn connections_open() {
    check("syn.txt", 2 * 4);
}

#[test]
fn limited_transmit() {
    check("limited-transmit.txt", 5);
}

#[test]
fn marks() {
    check("ecn.txt", 4);
}

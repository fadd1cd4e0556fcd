//! Fingerprints of behaviours: the canonical runs, and the test of `behaviours.json`.
//!
//! A discipline runs in a port of its own, on a fixed list of arrivals, so that no source, TCP or
//! simulator has a part in its fingerprint. Sources, TCP and the rest run in the simulator behind
//! FIFO queues.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roundelay::Seed;
use roundelay::author::Kind;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    AnyPort, DropReason, Ecn, FlowConfig, FlowId, Instant, Observer, Packet, QueueSpec, Slack,
};
use roundelay_papers::plan::Variation;
use roundelay_report::{SWEEP_FIGURES, sweep_rows};
use roundelay_sim::scenario::{Results, Scenario, SourceSpec};
use roundelay_sim::{LinkId, PacketState, Probe, Tag};
use roundelay_trace::Stop;

use super::{Behaviours, FIGURES, MEASUREMENTS, TABLE, used};
use crate::host::Host;
use crate::scenario::Read;
use crate::sweep::hash::hash;
use crate::sweep::version_of_experiment;

/// Packets in the list of arrivals.
const ARRIVALS: u64 = 1500;
/// Flows in the list of arrivals.
const FLOWS: u64 = 12;

/// Draws numbers for the arrivals: D. Knuth's 64-bit linear congruential generator (MMIX).
struct Numbers(u64);

impl Numbers {
    const fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Writes departures and drops as text.
#[derive(Default)]
struct Told(String);

impl Observer<u64> for Told {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, end: Instant) {
        _ = writeln!(
            self.0,
            "{} {} {} {:?}",
            packet.payload,
            start.as_picos(),
            end.as_picos(),
            packet.ecn
        );
    }

    fn dropped(&mut self, packet: Packet<u64>, now: Instant, reason: DropReason) {
        _ = writeln!(self.0, "{} {} {reason:?}", packet.payload, now.as_picos());
    }
}

/// The departures from one port, which meets bursts, overload and idle times. Weights go from 1 to
/// 4, and all header fields are set.
fn port(queue: &QueueSpec) -> String {
    let mut told = Told::default();
    let Ok(mut port) = AnyPort::new(queue, "10mbit".parse().unwrap(), Seed::new(7)) else {
        return "refused".to_owned();
    };
    for flow in 0..FLOWS {
        let config = FlowConfig {
            weight: 1 + flow as u32 % 4,
            max_packet_len: 1500,
        };
        _ = write!(
            told.0,
            "{:?} ",
            port.set_flow(FlowId(flow as u32), config).is_ok()
        );
    }
    let mut numbers = Numbers(1);
    let mut now = 0;
    for packet in 0..ARRIVALS {
        // The mean gap is 0.45 ms while a mean packet takes 0.65 ms. After each 500 packets there
        // is a silence.
        now += if packet % 500 == 499 {
            300_000_000
        } else {
            numbers.below(3) * 450_000
        };
        let flow = numbers.below(FLOWS).min(numbers.below(FLOWS));
        let mut arrival = Packet::new(FlowId(flow as u32), 64 + numbers.below(1437) as u32, packet);
        arrival.ecn = if flow.is_multiple_of(3) {
            Ecn::Capable
        } else {
            Ecn::NotCapable
        };
        arrival.priority = numbers.below(4) as u32;
        arrival.slack = Slack::from_picos(numbers.below(20_000_000).cast_signed() * 1000);
        let at = Instant::from_nanos(now);
        arrival.deadline = Instant::from_nanos(now + numbers.below(20_000_000));
        port.advance(at, &mut told);
        port.arrive(at, arrival, &mut told);
    }
    port.advance(Instant::from_nanos(now + 60_000_000_000), &mut told);
    told.0
}

/// The discipline with its defaults in large and small buffers, and with each parameter at other
/// values.
fn discipline(discipline: &AnyDiscipline) -> String {
    let name = discipline.name();
    let mut texts = vec![
        name.to_owned(),
        format!("{name} limit 40"),
        format!("{name} limit 20kb"),
    ];
    for parameter in discipline.parameters() {
        let values = match parameter.kind {
            Kind::Switch => vec![String::new(), "no".to_owned()],
            Kind::Choice(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            _ => vec![parameter.range.0.clone(), doubled(&parameter.value)],
        };
        for value in values {
            let text = if parameter.kind == Kind::Switch {
                format!("{value}{}", parameter.name)
            } else {
                format!("{} {value}", parameter.name)
            };
            texts.push(format!("{name} {text} limit 60"));
        }
    }
    let mut all = String::new();
    for text in texts {
        let told = text
            .parse()
            .map_or_else(|_| "no such setting".to_owned(), |queue| port(&queue));
        _ = writeln!(all, "{text}\n{told}");
    }
    hash(&[&all])
}

/// Twice a quantity, if it begins with a number.
fn doubled(value: &str) -> String {
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    number.parse::<u64>().map_or_else(
        |_| value.to_owned(),
        |number| format!("{}{unit}", number * 2),
    )
}

/// Packets in the order of events, with all header fields.
#[derive(Default)]
struct Packets(String);

impl Probe for Packets {
    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, _: &PacketState) {
        let Packet {
            flow,
            len,
            ecn,
            priority,
            slack,
            deadline,
            ..
        } = packet;
        _ = writeln!(
            self.0,
            "{} {} {len} {ecn:?} {priority} {slack:?} {}",
            now.as_picos(),
            flow.0,
            deadline.as_picos()
        );
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        reason: DropReason,
    ) {
        _ = writeln!(
            self.0,
            "{} {} {} {reason:?}",
            now.as_picos(),
            link.0,
            packet.flow.0
        );
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, _: &PacketState) {
        _ = writeln!(
            self.0,
            "{} {} {}",
            now.as_picos(),
            packet.flow.0,
            packet.len
        );
    }
}

/// The network of the canonical scenarios.
const NETWORK: &str = "
duration = '3s'
warmup = '200ms'
node = [{ name = 's0', host = true }, { name = 's1', host = true }, { name = 'left' }, { name = 'right' },
  { name = 'r0', host = true }, { name = 'r1', host = true }]
link = [{ from = 's0', to = 'left', rate = '50mbit', delay = '1ms' }, { from = 's1', to = 'left', rate = '50mbit', delay = '2ms' },
  { from = 'left', to = 'right', rate = '4mbit', delay = '5ms' }, { from = 'right', to = 'r0', rate = '50mbit' },
  { from = 'right', to = 'r1', rate = '50mbit' }]
";

fn scenario(text: &str, folder: &Path) -> Scenario {
    let text = if text.contains("duration") {
        text.to_owned()
    } else {
        format!("{NETWORK}{text}")
    };
    Read::of_text("canonical.toml", &text, folder, &[], &Stop::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Figures that came later, behind the prefix of what they are of. A run on record lacks them, and has
/// no other behaviour for that.
const LATER: [&str; 14] = [
    "filtered",
    "jain_hosts",
    "least_host",
    "delay_p50",
    "delay_p999",
    "completion_p50",
    "completion_p90",
    "completion_max",
    "round_trip_p99",
    "bennett_zhang_min",
    "startup_latency_max",
    "links",
    "wait_p50",
    "wait_p999",
];

/// The sources' figures without those of [`LATER`].
fn known_figures(results: &Results) -> Vec<(Arc<str>, Vec<Option<f64>>)> {
    let mut rows = sweep_rows(results);
    for (_, figures) in &mut rows {
        let mut names = SWEEP_FIGURES.iter();
        figures.retain(|_| {
            let name = names.next().expect("a name for each figure");
            !LATER.iter().any(|later| name.ends_with(later))
        });
    }
    rows
}

fn runs(text: &str, folder: &Path) -> String {
    let scenario = scenario(text, folder);
    let mut all = String::new();
    for seed in [1, 2] {
        let mut packets = Packets::default();
        let (results, _) = scenario.run_with(seed, &mut packets, |_| ()).unwrap();
        _ = writeln!(all, "{}{:?}", packets.0, known_figures(&results));
    }
    hash(&[&all])
}

/// A source between both pairs of hosts.
fn source(keys: &str) -> String {
    format!("[[source]]\nfrom = ['s0', 's1']\nto = ['r0', 'r1']\n{keys}\n")
}

/// The canonical scenarios for all behaviours but disciplines.
fn scenarios(folder: &Path) -> Vec<(String, String)> {
    let queue = "[queue]\ncore = 'fifo limit 20'\nedge = 'fifo limit 20'\n";
    let cbr = source("kind = 'cbr'\nrate = '2.2mbit'\nstart_jitter = '10ms'");
    let port = |keys: &str| format!("{queue}{cbr}[[port]]\nfrom = 'left'\nto = 'right'\n{keys}\n");
    let mut all = vec![
        ("engine".to_owned(), format!("{queue}{cbr}")),
        ("loss".to_owned(), port("loss = '1%'")),
        ("jitter".to_owned(), port("jitter = '3ms'")),
        (
            "link_trace".to_owned(),
            port("link_trace = 'canonical.trace'\noverhead = 20"),
        ),
        (
            "link_model.wifi".to_owned(),
            port("link_trace = 'wifi phy_rate 7.2mbit length 1s'"),
        ),
        (
            "link_model.lte".to_owned(),
            port("link_trace = 'lte rate 2mbit length 1s'"),
        ),
        (
            "link_model.starlink".to_owned(),
            port("link_trace = 'starlink rate 2mbit step 100ms gap 20ms length 1s'"),
        ),
        (
            "link_model.steps".to_owned(),
            port("link_trace = 'steps high 3mbit low 1mbit every 100ms length 1s'"),
        ),
        ("decision".to_owned(), port("decision = '100us'")),
        (
            "link_layer".to_owned(),
            port("link = 'docsis'")
                + "[[port]]\nfrom = 'right'\nto = 'r0'\noverhead = 10\nmpu = 64\nframing = 'atm'\n",
        ),
        (
            "preemption".to_owned(),
            format!(
                "[queue]\ncore = 'lstf preempt limit 20'\n{}urgency = 'slack 10ms'\n{}",
                source("name = 'a'\nkind = 'cbr'\nrate = '2.2mbit'"),
                source(
                    "name = 'b'\nkind = 'cbr'\nrate = '1mbit'\npacket_len = 100\nurgency = 'slack \
                     1ms'"
                )
            ),
        ),
        (
            "tree".to_owned(),
            format!(
                "[queue]\ncore = 'tree t limit 20'\n[[trees.t.node]]\nname = 'link'\ndiscipline = \
                 'packet_fq'\n[[trees.t.node]]\nname = 'a'\nparent = 'link'\ndiscipline = 'fifo'\nflows = \
                 ['dscp ef']\n[[trees.t.node]]\nname = 'b'\nparent = 'link'\ndiscipline = \
                 'fifo'\ndefault = true\n{cbr}{}",
                source("name = 'ef'\nkind = 'cbr'\nrate = '1mbit'\ndscp = 'ef'")
            ),
        ),
        (
            "routing.spread".to_owned(),
            format!(
                "duration = '1s'\n[routing]\nspread = true\n[topology]\ntemplate = 'leaf_spine'\n{}",
                "[[source]]\nkind = 'cbr'\nfrom = 'host*'\nto = 'host*'\npairs = 'random'\nrate = \
                 '1mbit'\n"
            ),
        ),
        (
            "capture".to_owned(),
            format!(
                "{queue}{}",
                source("kind = 'trace'\nfile = 'canonical.pcap'")
            ),
        ),
        (
            "edge_codel".to_owned(),
            format!(
                "{queue}{}",
                source("kind = 'tcp'\nedge_codel = { target = '1ms', interval = '20ms' }")
            ),
        ),
    ];
    let tcp = |keys: &str| {
        format!(
            "{queue}{}",
            source(&format!(
                "kind = 'tcp'\nstart_jitter = '50ms'\ntcp = {{ {keys} }}"
            ))
        )
    };
    for (name, values) in [
        (
            "preset",
            &["rfc", "linux", "ns2_newreno", "ns2_tahoe", "ns2_reno"][..],
        ),
        ("flavour", &["tahoe", "reno", "newreno", "sack"]),
        ("control", &["reno", "cubic", "ledbat"]),
        (
            "slow_start",
            &["until_loss", "by_bytes", "hystart++", "hystart"],
        ),
        ("offload", &["split", "whole"]),
    ] {
        all.extend(values.iter().map(|value| {
            (
                format!("tcp.{name}.{value}"),
                tcp(&format!("{name} = '{value}'")),
            )
        }));
    }
    for name in [
        "ecn",
        "pacing",
        "quick_acknowledgements",
        "constant_friendliness",
        "whole_segments",
        "proportional_reduction",
        "timeout_above_round_trip",
        "rack",
    ] {
        all.push((format!("tcp.option.{name}"), tcp(&format!("{name} = true"))));
    }
    // The model of the path takes into account that an application is silent between chunks.
    for control in ["bbr", "bbr3"] {
        let chunks = format!(
            "name = 'chunks'\nkind = 'video'\nsegment = '40kb'\ninterval = '400ms'\n\
             tcp = {{ control = '{control}' }}"
        );
        all.push((
            format!("tcp.control.{control}"),
            tcp(&format!("control = '{control}'")) + &source(&chunks),
        ));
    }
    // A first flight beyond the first receive window.
    all.push((
        "tcp.option.window_growth".to_owned(),
        tcp("initial_window = 100, window_growth = true"),
    ));
    all.push((
        "tcp.option.unpaced_start".to_owned(),
        tcp("control = 'bbr', unpaced_start = true"),
    ));
    // Slow start ends here without a loss.
    all.push((
        "tcp.option.least_growth".to_owned(),
        tcp("slow_start = 'hystart', least_growth = true"),
    ));
    // The last segments of these windows find the queue full, so that nothing behind them tells.
    all.push((
        "tcp.option.tail_loss_probe".to_owned(),
        format!(
            "{queue}{}",
            source(
                "kind = 'tcp'\nsize = '34kb'\nstart_jitter = '50ms'\ntcp = { rack = true, \
                 tail_loss_probe = true, initial_window = 40 }"
            )
        ),
    ));
    // Differences wrap beyond 32 ms where the tick is ns-2's, and timeouts show it.
    all.push((
        "tcp.option.wrap_differences".to_owned(),
        tcp("preset = 'ns2_newreno', min_timeout = '1ms', wrap_differences = true"),
    ));
    for rule in [
        "priority 3",
        "slack 10ms",
        "size 1ms",
        "remaining 1ms",
        "fair 2mbit",
        "deadline 20ms",
        "cautious 1ms 50mbit",
        "slack 10ms plus 1s",
    ] {
        let name = if rule.contains("plus") {
            "plus"
        } else {
            rule.split(' ').next().unwrap()
        };
        // RC3 is for TCP only.
        let burst = source(&format!(
            "name = 'a'\nkind = 'burst'\nsize = '20kb'\nurgency = '{rule}'"
        ));
        let text = if name == "cautious" {
            String::new()
        } else {
            burst
        };
        all.push((
            format!("urgency.{name}"),
            text + &source(&format!(
                "name = 'b'\nkind = 'tcp'\nsize = '20kb'\nurgency = '{rule}'"
            )),
        ));
    }
    all.push(("urgency.at_departure".to_owned(), at_departure()));
    let kinds = SourceSpec::KINDS.iter().zip(SourceSpec::EXAMPLES);
    all.extend(
        kinds.map(|(kind, examples)| (format!("source.{kind}"), of_kind(kind, *examples, folder))),
    );
    all
}

/// Bursts that wait in their host, the second one behind the first. So slack at departure is
/// another than at sending, and they compete by slack behind the host.
fn at_departure() -> String {
    let mut text = "[queue]\ncore = 'lstf limit 100'\nedge = 'fifo limit 100'\n".to_owned();
    for (name, to, rule) in [("a", "r0", "slack 10ms"), ("b", "r1", "fair 2mbit")] {
        text += &format!(
            "[[source]]\nname = '{name}'\nkind = 'burst'\nfrom = 's0'\nto = '{to}'\nsize = \
             '30kb'\nurgency = '{rule} at departure'\n"
        );
    }
    let steady =
        "name = 'c'\nkind = 'cbr'\nrate = '1mbit'\npacket_len = 100\nurgency = 'slack 8ms'";
    text + &source(steady)
}

/// Sources of a kind in both of its settings. Transfers over TCP fit into the initial window, so
/// the congestion control has no part in them. Some kinds send between all hosts of `from`.
fn of_kind(kind: &str, [one, other]: [&str; 2], folder: &Path) -> String {
    let with = |hosts: &str| {
        let source = |(name, keys)| {
            format!("[[source]]\nname = '{name}'\nkind = '{kind}'\n{hosts}\n{keys}\n")
        };
        [("a", one), ("b", other)].map(source).concat()
    };
    let among = with("from = ['s0', 's1', 'r0', 'r1']");
    let is_legal =
        Scenario::from_toml("canonical.toml", &format!("{NETWORK}{among}"), folder).is_ok();
    if is_legal {
        among
    } else {
        with("from = ['s0', 's1']\nto = ['r0', 'r1']")
    }
}

/// The `[run]` tables of plans that make all of `simulate`'s figures: about flows, about transfers
/// under schemes, and over time.
const SIMULATED: [&str; 3] = [
    "
columns = { SFQ = 'mqfq hashes 1 quantum 1000b', MQFQ = 'mqfq quantum 1000b' }
counts.fair = { group = 'fair', from = 60, below = 120 }
greedy = 'greedy'
by_round_trip = true
scenario.duration = '2s'
scenario.warmup = '200ms'
scenario.topology = { template = 'dumbbell', pairs = 8, rate = '1mbit', access_delay_step = '1ms' }
scenario.source = [{ name = 'fair', kind = 'cbr', from = 's0..6', to = 'r0..6', rate = '120kbit', start_jitter = '80ms' },
  { name = 'greedy', kind = 'cbr', from = 's7', to = 'r7', rate = '1mbit' }]
",
    "
measures = 'transfers'
columns = { FIFO = 'fifo limit 50', FQ = 'packet_fq limit 50' }
schemes = { plain = {}, deep = { 'queue.edge' = 'fifo limit 500' } }
scenario.duration = '2s'
scenario.meter = { transfers = true }
scenario.topology = { template = 'dumbbell', pairs = 4, rate = '2mbit' }
scenario.source = [{ name = 'short', kind = 'tcp', from = 's*', to = 'r*', size = '30kb', start_jitter = '500ms' },
  { name = 'calls', kind = 'cbr', from = 's0', to = 'r0', rate = '200kbit' }]
",
    "
measures = 'rates'
columns = { FIFO = 'fifo limit 50', FQ = 'packet_fq limit 50' }
scenario.duration = '1s'
scenario.meter = { rates = '20ms' }
scenario.topology = { template = 'dumbbell', pairs = 3, rate = '1mbit' }
scenario.source = [{ kind = 'poisson', from = 's*', to = 'r*', rate = '500kbit' }]
",
];

/// `[run]` tables for the other kinds of experiments, an example each. Measurements are left out.
const EXPERIMENTS: [(&str, &str); 14] = [
    (
        "collisions",
        "queues = [2, 3, 16]\nkeys = 20\npairs = 50
columns = { SFQ = 'mqfq hashes 1', MQFQ = 'mqfq hashes 2' }",
    ),
    (
        "deadlines",
        "columns = { AFQ = 'afq', WF2Q = { discipline = 'wf2q', decision = '2ms', packet = '10us', deadlines = false } }
flows = [4, 20]\npackets = 100\npacket_len = 1000\nlifetime = '5s'\ndecision = ['1ms', '10us']
credit = 2.0\nlink = '100mbit'\npropagation = '1ms'\nstarts_within = '1s'\ncurves = true
type = [{ name = 'HDTV', rate = '20mbit', weight = 625 }, { name = 'audio', rate = '128kbit', weight = 4 }]",
    ),
    (
        "footprint",
        "columns = { QFQ = 'qfq', DRR = 'drr', S-KPS = 's_kps', WF2Q = 'wf2q', AFQ = 'afq', MQFQ = 'mqfq' }",
    ),
    (
        "hierarchy",
        "columns = { told = 'qfq', inferring = 'qfq', plus = 'qfq_plus' }
infer = ['inferring']\nlong = 1500\nshort = [60, 1500]\npackets = 500",
    ),
    (
        "leftover",
        "columns = { M8 = 'qfq_plus', QFQ = 'qfq', FIFO = 'fifo' }
members = 8\nlight = [0.1, 1.0]\nlen = 1000\npackets = 2000",
    ),
    (
        "listings",
        "runs = 300\ntrace = 'Theorem 7'
columns = { printed = { start_time = 'as printed' }, idle = { start_time = 'idle groups' }, every = { start_time = 'every flow' }, linux = { start_time = 'linux' }, freebsd = { start_time = 'freebsd' } }",
    ),
    (
        "promise",
        "columns = { M1 = 'qfq_plus aggregate 1', M8 = 'qfq_plus', DRR = 'drr' }
packets = 3\nheavy = { weight = 1024, len = 512 }\nlight = { weight = 16, len = 8192 }\nlights = 8\nrandom = 20",
    ),
    (
        "reordering",
        "columns = { MQFQ = 'mqfq', resequence = 'mqfq resequence', cells = 'mqfq cells 64b' }
flows = 20\nrate = 300000\nlink = 5000000\nduration = 1\nround = 3014\nqueues = 16
lengths = { constant = [1000], mixed = [64, 576, 1500] }",
    ),
    (
        "replay",
        "columns = { random = 'random limit 100000', sjf = { 'queue.core' = 'sjf limit 100000', threshold = '1ns' } }
with = { LSTF = 'lstf', EDF = 'edf', FIFO = 'fifo' }
[scenario]\nduration = '500ms'\ntopology = { template = 'dumbbell', pairs = 3, rate = '5mbit' }
source = [{ kind = 'poisson', from = 's*', to = 'r*', rate = '1400kbit', packet_len = 500 }]",
    ),
    (
        "replayable",
        "schedules = 200\nnodes = 4\npasses = 3\npackets = 8\ncongestion_points = 2
columns = { LSTF = 'lstf', three = { rule = 'lstf', congestion_points = 3 }, plain = 'lstf without preemption', omniscient = 'omniscient', FIFO = 'fifo' }",
    ),
    (
        "smallest",
        "[columns.LSTF]\nquestion = 'lstf'\ncongestion_points = 3\ncounted = 'some packet can wait'
within = [{ packets = 2, nodes = 3, exit = 5 }, { packets = 3, nodes = 3, exit = 5 }]",
    ),
    (
        "turns",
        "columns = { AFQ = 'afq quantum 2b', WF2Q = 'wf2q' }\nbandwidth = 24\npacket_len = 2
flow = [{ requested = 3, due = [5, 9] }, { requested = 2, due = [15, 16, 17] }, { requested = 4, due = [2, 4, 6, 8, 12] }]",
    ),
    (
        "worked_schedule",
        "rules = ['lstf', 'lstf without preemption', 'omniscient']\ncritical = ['a', 'b']\nnodes = { A = 2 }
packets = { a = { enters = 0, path = 'A' }, b = { enters = 0, path = 'A' } }
[cases]\none = { A = 'b(0, 0), a(0, 2)' }\nother = { A = 'b(0, 1), a(0, 3)' }",
    ),
    (
        "worst_case",
        "runs = 20\ncolumns = { QFQ = 'qfq', DRR = { discipline = 'drr quantum 65536b', bounds_of = 'qfq' } }",
    ),
];

/// A plan's rows and counterexamples, with two seeds for each part.
fn results(kind: &str, text: &str) -> String {
    let mut run: toml::Table = text.parse().unwrap();
    run.insert("kind".to_owned(), kind.into());
    let experiment = Variation {
        name: String::new(),
        open: None,
        run,
        seeds: 2,
    }
    .experiment()
    .unwrap_or_else(|wrong| panic!("{kind}: {wrong:?}"));
    let mut all = String::new();
    for part in experiment.parts() {
        for seed in [1, 2] {
            let outcome = experiment.run(&part, seed).unwrap();
            assert!(!outcome.rows.is_empty(), "{kind}: {part}");
            _ = writeln!(all, "{:?}", outcome.rows);
            for line in outcome.trace {
                _ = writeln!(all, "{line}");
            }
        }
    }
    all
}

/// Fingerprints of the papers' experiments, by name.
fn experiments() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let simulated = SIMULATED.map(|text| results("simulate", text)).concat();
    all.insert(FIGURES.to_owned(), hash(&[&simulated]));
    for (kind, text) in EXPERIMENTS {
        all.insert(format!("papers.{kind}"), hash(&[&results(kind, text)]));
    }
    all
}

/// A folder with the lists that the canonical scenarios read.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!(
            "roundelay-fingerprints-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("packets.txt"),
            "0 1000\n0.01 500 0.001\n0.5 1500 0.002 3\n0.7 64 0 1 0.8\n",
        )
        .unwrap();
        fs::write(
            folder.join("flows.txt"),
            "0 5000 s0 r0\n0.4 9000 s1 r0\n1.2 3000 r1 s0\n",
        )
        .unwrap();
        // 4 Mbit/s that pause for 30 ms now and then.
        let times: String = (1..30).map(|time| format!("{}\n", 3 * time)).collect();
        fs::write(folder.join("canonical.trace"), times + "120\n").unwrap();
        fs::write(folder.join("canonical.pcap"), capture()).unwrap();
        Self(folder)
    }
}

/// A capture in which everything has to be mended: it has both directions, packets out of order,
/// frames that offloading merged, and frames that were cut with their length.
fn capture() -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut bytes = header.map(u32::to_le_bytes).concat();
    let ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
    for number in 0..300_u32 {
        let is_back = number % 3 == 0;
        let len = match number % 7 {
            0 => 4400_u16,
            1 => 900,
            _ => 60,
        };
        let is_cut = number % 7 == 1;
        let [from, to] = if is_back { [ends[1], ends[0]] } else { ends };
        let micros = if number % 5 == 4 {
            number * 5000 - 12_000
        } else {
            number * 5000
        };
        let frame_len = if is_cut { 40 } else { u32::from(len) };
        let record = [micros / 1_000_000, micros % 1_000_000, 40, frame_len];
        bytes.extend(record.map(u32::to_le_bytes).concat());
        bytes.extend([0x45, 0]);
        bytes.extend(len.to_be_bytes());
        bytes.extend((number as u16).to_be_bytes());
        bytes.extend([0, 0, 64, 6, 0, 0]);
        bytes.extend([from, to].concat());
        let ports = [1000 + number as u16 % 4, 80];
        let [source, destination] = if is_back { [ports[1], ports[0]] } else { ports };
        bytes.extend([source.to_be_bytes(), destination.to_be_bytes()].concat());
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    }
    bytes
}

/// The canonical capture has all that it stands for.
#[test]
fn the_canonical_capture_is_mended() {
    let folder = Folder::new();
    let text = "duration = '3s'\n[topology]\ntemplate = 'dumbbell'\n[[source]]\nkind = 'trace'\nfrom = 's0'\nto = 'r0'\nfile = 'canonical.pcap'\n";
    fs::write(folder.0.join("scenario.toml"), text).unwrap();
    let read = Read::scenario(&folder.0.join("scenario.toml"), &Host::default()).unwrap();
    for part in [
        "Sent: one direction of one link",
        "put in the order of times",
        "were split into",
        "were cut by a tool together with their lengths",
    ] {
        assert!(
            read.notes.iter().any(|note| note.contains(part)),
            "{part}: {:?}",
            read.notes
        );
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn fingerprints() -> BTreeMap<String, String> {
    let folder = Folder::new();
    let of_disciplines = AnyDiscipline::all()
        .into_iter()
        .map(|each| (format!("discipline.{}", each.name()), discipline(&each)));
    let of_scenarios = scenarios(&folder.0)
        .into_iter()
        .map(|(name, text)| (name, runs(&text, &folder.0)));
    of_disciplines
        .chain(of_scenarios)
        .chain(experiments())
        .collect()
}

#[test]
fn the_table_of_behaviours_is_that_of_the_code() {
    let text = serde_json::to_string_pretty(&fingerprints()).unwrap() + "\n";
    if std::env::var_os("ROUNDELAY_WRITE").is_some() {
        fs::write(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("behaviours.json"),
            &text,
        )
        .unwrap();
    } else {
        let stale: Vec<_> = text
            .lines()
            .filter(|line| !TABLE.contains(line.trim_end_matches(',')))
            .collect();
        assert!(
            text == TABLE,
            "results changed, and crates/roundelay-cli/behaviours.json has not: {stale:#?}\nIf the \
             results are right: ROUNDELAY_WRITE=1 cargo test -p roundelay-cli --lib behaviours"
        );
    }
}

/// Each canonical scenario has a version under its own name, and uses no behaviour without one.
#[test]
fn canonical_scenarios_use_what_they_stand_for() {
    let folder = Folder::new();
    let table = Behaviours::of_program();
    for (name, text) in scenarios(&folder.0) {
        let scenario = scenario(&text, &folder.0);
        assert!(
            used(&scenario).contains(&name),
            "{name}: {:?}",
            used(&scenario)
        );
        table.of(&scenario).unwrap();
    }
}

/// Formerly records of searches, of collisions and of AFQ's decisions had no version, so nothing
/// noticed that they were older than the code.
#[test]
fn every_kind_of_experiment_has_a_version_or_measures_this_machine() {
    let table = Behaviours::of_program();
    let none = BTreeSet::new();
    for (kind, _) in roundelay_papers::experiments::kinds::KINDS {
        let has_version = table.of_experiment(kind).is_some();
        let measures = MEASUREMENTS.contains(kind);
        assert!(has_version != measures, "{kind}: add it to EXPERIMENTS");
        assert_eq!(version_of_experiment(kind, &none).is_some(), has_version);
    }
}

/// An experiment's version depends on its kind and on the disciplines that it names.
#[test]
fn an_experiment_has_the_version_of_its_kind_and_disciplines() {
    let version = |kind: &str, disciplines: &[&str]| {
        let disciplines = disciplines.iter().map(|name| (*name).to_owned()).collect();
        version_of_experiment(kind, &disciplines)
    };
    let all = [
        version("collisions", &["mqfq"]),
        version("collisions", &["fifo"]),
        version("reordering", &["mqfq"]),
        version("collisions", &["fifo", "mqfq"]),
    ];
    for (number, one) in all.iter().enumerate() {
        assert!(one.is_some() && !all[..number].contains(one), "{all:?}");
    }
    assert_eq!(version("cost", &["mqfq"]), None);
}

/// Formerly the fingerprint was that of slack at sending, because nothing waited in a host.
#[test]
fn slack_at_departure_has_a_fingerprint_of_its_own() {
    let folder = Folder::new();
    let departure = at_departure();
    let sending = departure.replace(" at departure", "");
    assert_ne!(runs(&departure, &folder.0), runs(&sending, &folder.0));
    for rule in ["slack 10ms", "fair 2mbit"] {
        let one = departure.replace(&format!("{rule} at departure"), rule);
        assert_ne!(runs(&departure, &folder.0), runs(&one, &folder.0), "{rule}");
    }
}

/// Formerly the canonical run of tail loss probes was that of RACK, because it sent none.
#[test]
fn each_option_of_tcp_has_a_fingerprint_of_its_own() {
    let folder = Folder::new();
    for (name, text) in scenarios(&folder.0) {
        let Some(option) = name.strip_prefix("tcp.option.") else {
            continue;
        };
        let without = text.replace(&format!("{option} = true"), &format!("{option} = false"));
        assert_ne!(
            runs(&text, &folder.0),
            runs(&without, &folder.0),
            "{option} shows nothing in its canonical run"
        );
    }
}

/// A sweep formerly took a run with differences in 16 bits for one without.
#[test]
fn differences_of_round_trips_in_16_bits_have_a_fingerprint_of_their_own() {
    let folder = Folder::new();
    let all = scenarios(&folder.0);
    let found = all
        .iter()
        .find(|(name, _)| name == "tcp.option.wrap_differences");
    let (_, text) = found.unwrap();
    let without = text.replace("wrap_differences = true", "wrap_differences = false");
    assert_ne!(runs(text, &folder.0), runs(&without, &folder.0));
    let with_and_without = [text, &without].map(|text| used(&scenario(text, &folder.0)));
    let [with, without] = &with_and_without;
    let more: Vec<_> = with.difference(without).collect();
    assert_eq!(more, ["tcp.option.wrap_differences"]);
}

/// Settings change results, so no fingerprint is of a run that ignores its subject.
#[test]
fn fingerprints_differ() {
    let all = fingerprints();
    let mut hashes: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    all.iter()
        .for_each(|(name, hash)| hashes.entry(hash).or_default().push(name));
    let alike: Vec<_> = hashes.values().filter(|names| names.len() > 1).collect();
    // The default preset is SACK with CUBIC: these three settings are one.
    assert!(
        alike
            .iter()
            .all(|names| names.iter().all(|name| name.starts_with("tcp."))),
        "{alike:?}"
    );
}

/// Each key of a link is a behaviour of its own, and a plain link has none.
#[test]
fn a_plain_link_uses_its_discipline_alone() {
    let folder = Folder::new();
    let of = |keys: &str| {
        let text = format!(
            "duration = '1s'\n[topology]\ntemplate = 'dumbbell'\npairs = 1\nrate = \
             '1mbit'\n[[port]]\nfrom = 'left'\nto = 'right'\n{keys}\n[[source]]\nkind = \
             'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '9kbit'\n"
        );
        used(&scenario(&text, &folder.0))
    };
    let plain = of("queue = 'fifo'");
    for (key, behaviour) in [
        ("jitter = '1ms'", "jitter"),
        ("loss = '1%'", "loss"),
        ("overhead = '20b'", "link_layer"),
        ("decision = '1us'", "decision"),
        ("queue = 'qfq'", "discipline.qfq"),
        ("queue = 'lstf preempt'", "preemption"),
    ] {
        assert!(!plain.contains(behaviour), "{behaviour}");
        assert!(of(key).contains(behaviour), "{key}");
    }
}

//! An invented comparison: a home downlink of 10 Mbit/s with downloads, a video, calls and lookups,
//! through sketches of five disciplines.
//!
//! The sketches follow no papers; they only produce curves of a typical shape. Every run gives the
//! same numbers.

use std::collections::{BTreeMap, VecDeque};

use roundelay_report::{Advised, Recommendation};
use roundelay_trace::{
    CaptureSummary, Comparison, Cost, Curves, Delay, DisciplineResult, Drops, FlowResult,
    FlowSummary, Jain, Kind, KindOutcome, Observed, Outcome,
};

const LINK_RATE: u64 = 10_000_000;
const SECONDS: f64 = 30.0;
const LIMIT: usize = 1000;
const BINS: usize = 300;

/// Label, packets a second, bytes a packet, packets at once, seconds on, seconds off.
type Source = (&'static str, f64, u32, u32, f64, f64);

const SOURCES: [Source; 12] = [
    (
        "tcp 203.0.113.7:443 > 192.168.1.20:51012",
        520.0,
        1514,
        10,
        8.0,
        1.5,
    ),
    (
        "tcp 203.0.113.7:443 > 192.168.1.20:51013",
        430.0,
        1514,
        10,
        5.0,
        2.0,
    ),
    (
        "tcp 198.51.100.4:443 > 192.168.1.31:49822",
        300.0,
        1514,
        16,
        4.0,
        3.0,
    ),
    (
        "udp 198.51.100.9:443 > 192.168.1.22:60123",
        230.0,
        1292,
        24,
        2.0,
        2.0,
    ),
    (
        "tcp 203.0.113.80:443 > 192.168.1.25:55610",
        60.0,
        1514,
        30,
        1.0,
        2.5,
    ),
    (
        "udp 192.0.2.14:3478 > 192.168.1.20:50004",
        90.0,
        1100,
        4,
        30.0,
        0.0,
    ),
    (
        "udp 192.0.2.14:3478 > 192.168.1.20:50006",
        50.0,
        218,
        1,
        30.0,
        0.0,
    ),
    (
        "udp 192.0.2.61:5060 > 192.168.1.40:10020",
        50.0,
        214,
        1,
        30.0,
        0.0,
    ),
    (
        "tcp 198.51.100.22:22 > 192.168.1.20:40022",
        12.0,
        134,
        2,
        3.0,
        1.0,
    ),
    (
        "udp 192.168.1.1:53 > 192.168.1.20:53211",
        6.0,
        190,
        2,
        1.0,
        2.0,
    ),
    (
        "udp 192.0.2.5:27015 > 192.168.1.25:27005",
        64.0,
        180,
        1,
        30.0,
        0.0,
    ),
    ("icmp 9.9.9.9 > 192.168.1.20", 1.0, 98, 1, 30.0, 0.0),
];

/// A sketch of a discipline.
#[derive(Clone, Copy)]
struct Sketch {
    spec: &'static str,
    name: &'static str,
    about: &'static str,
    /// Queues served in turn.
    queues: usize,
    /// Newly active queues go first, and packets with a long wait are dropped.
    active: bool,
    /// Bytes a turn.
    quantum: i64,
    nanos: f64,
    bytes_per_flow: usize,
    kept_bounds: Option<bool>,
}

const SKETCHES: [Sketch; 5] = [
    sketch(
        "fifo",
        "fifo",
        "One queue, first in, first out",
        1,
        false,
        (1514, 8.4, 0),
        None,
    ),
    sketch(
        "sfq perturb 10s",
        "sfq",
        "A few queues that take turns, flows hashed onto them",
        5,
        false,
        (1514, 31.0, 16),
        None,
    ),
    sketch(
        "drr",
        "drr",
        "A queue for each flow, turns measured in bytes",
        64,
        false,
        (6056, 22.5, 48),
        Some(false),
    ),
    sketch(
        "fq_codel target 5ms",
        "fq_codel",
        "Turns with new flows first, and early drops",
        64,
        true,
        (1514, 46.2, 64),
        None,
    ),
    sketch(
        "qfq",
        "qfq",
        "Approximates a fluid server by groups of flows",
        64,
        false,
        (256, 38.7, 72),
        Some(true),
    ),
];

const fn sketch(
    spec: &'static str,
    name: &'static str,
    about: &'static str,
    queues: usize,
    active: bool,
    (quantum, nanos, bytes_per_flow): (i64, f64, usize),
    kept_bounds: Option<bool>,
) -> Sketch {
    Sketch {
        spec,
        name,
        about,
        queues,
        active,
        quantum,
        nanos,
        bytes_per_flow,
        kept_bounds,
    }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    len: u32,
    at: f64,
}

/// Fate of a packet: departure time, or none for a dropped packet.
struct Record {
    packet: Packet,
    left: Option<f64>,
    early: bool,
}

/// The whole comparison with notes and a verdict.
pub(crate) fn advised() -> Advised {
    let notes = [
        "3 packets were cut short in the capture; their length on the wire was used.",
        "A replay is open-loop: TCP does not react to drops and delays.",
    ];
    Advised {
        comparison: comparison(),
        notes: notes.map(str::to_owned).to_vec(),
        verdict: verdict(),
        with_other_seeds: Vec::new(),
    }
}

/// The figures.
fn comparison() -> Comparison {
    let packets = packets();
    let flows: Vec<FlowSummary> = (0..SOURCES.len())
        .map(|flow| summary(flow, &packets))
        .collect();
    let mut charted: Vec<usize> = (0..flows.len()).collect();
    charted.sort_by_key(|&flow| std::cmp::Reverse(flows[flow].bytes));
    Comparison {
        version: "0.1.0",
        capture: CaptureSummary {
            name: "home-downlink.pcap".to_owned(),
            packets: packets.len() as u64,
            bytes: packets.iter().map(|packet| u64::from(packet.len)).sum(),
            longest_packet: 1514,
            seconds: SECONDS,
            first_unix_nanos: 1_760_000_000_000_000_000,
            selection: None,
            link: None,
            flow_by: "5tuple".to_owned(),
        },
        link_rate: LINK_RATE,
        reference_rate: LINK_RATE,
        seed: 1,
        disciplines: SKETCHES
            .iter()
            .map(|sketch| result(sketch, &packets, &flows))
            .collect(),
        flows,
        charted,
        observed: Observed::default(),
        other_seeds: Vec::new(),
        hosts: None,
        reaction: None,
    }
}

fn verdict() -> Recommendation {
    let sentences = [
        "fq_codel target 5ms serves this traffic best.",
        "Flows that ask for less than their fair share wait a small fraction of what they wait in a fifo, and lose next to nothing.",
        "The downloads pay with early drops, which is what tells TCP to slow down.",
    ];
    let commands = [
        "tc qdisc replace dev eth0 root handle 1: htb default 1",
        "tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit",
        "tc qdisc add dev eth0 parent 1:1 fq_codel target 5ms",
    ];
    Recommendation {
        reserve: None,
        other: None,
        is_open: false,
        best: Some(3),
        hurt: Some(roundelay_trace::Kind::Call),
        sentences: sentences.map(str::to_owned).to_vec(),
        commands: commands.map(str::to_owned).to_vec(),
    }
}

/// Arrivals of all sources, in order.
fn packets() -> Vec<Packet> {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut packets = Vec::new();
    for (flow, &(_, rate, len, burst, on, off)) in SOURCES.iter().enumerate() {
        let mut at = flow as f64 * 0.137;
        while at < SECONDS {
            let during = at % (on + off) < on;
            for place in 0..burst {
                let time = at + f64::from(place) * 12e-6;
                if during && time < SECONDS {
                    packets.push(Packet {
                        flow,
                        len,
                        at: time,
                    });
                }
            }
            at += f64::from(burst) / rate * (0.4 + 1.2 * uniform(&mut random));
        }
    }
    packets.sort_by(|one, other| one.at.total_cmp(&other.at));
    packets
}

/// The next number of a xorshift generator, from zero to one.
fn uniform(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

fn summary(flow: usize, packets: &[Packet]) -> FlowSummary {
    let of_flow: Vec<&Packet> = packets
        .iter()
        .filter(|packet| packet.flow == flow)
        .collect();
    let bytes: u64 = of_flow.iter().map(|packet| u64::from(packet.len)).sum();
    let offered_rate = bytes as f64 * 8.0 / SECONDS;
    let light = flow > 2;
    FlowSummary {
        label: SOURCES[flow].0.to_owned(),
        weight: 1,
        packets: of_flow.len() as u64,
        bytes,
        first: of_flow.first().map_or(0.0, |packet| packet.at),
        last: of_flow.last().map_or(0.0, |packet| packet.at),
        offered_rate,
        fair_rate: if light { offered_rate } else { 2_450_000.0 },
        light,
        kind: match SOURCES[flow].0 {
            _ if !light => Kind::Bulk,
            label if label.starts_with("udp") => Kind::Call,
            _ => Kind::Web,
        },
        host: None,
        fair_rate_by_host: None,
    }
}

/// Queues served in turn before a link.
struct Turns {
    sketch: Sketch,
    queues: BTreeMap<usize, (VecDeque<Packet>, i64)>,
    /// Backlogged queues, in the order of their turns.
    ring: VecDeque<usize>,
    records: Vec<Record>,
}

impl Turns {
    fn take(&mut self, packet: Packet) {
        if self
            .queues
            .values()
            .map(|(queue, _)| queue.len())
            .sum::<usize>()
            == LIMIT
        {
            return self.make_room(packet);
        }
        self.append(packet);
    }

    /// A single queue drops the arrival; several queues drop from the tail of the longest.
    fn make_room(&mut self, packet: Packet) {
        let mut victim = packet;
        if self.sketch.queues > 1 {
            let longest = self
                .queues
                .values_mut()
                .max_by_key(|(queue, _)| queue.len())
                .expect("the buffer is full");
            victim = longest
                .0
                .pop_back()
                .expect("the longest of several is not empty");
            self.append(packet);
        }
        self.records.push(Record {
            packet: victim,
            left: None,
            early: false,
        });
    }

    fn append(&mut self, packet: Packet) {
        let key = packet.flow % self.sketch.queues;
        let (queue, credit) = self.queues.entry(key).or_default();
        queue.push_back(packet);
        if !self.ring.contains(&key) {
            *credit = self.sketch.quantum;
            if self.sketch.active {
                self.ring.push_front(key)
            } else {
                self.ring.push_back(key)
            }
        }
    }

    fn next(&mut self, now: f64) -> Option<Packet> {
        loop {
            let key = *self.ring.front()?;
            let (queue, credit) = self
                .queues
                .get_mut(&key)
                .expect("the ring holds keys of queues");
            let Some(head) = queue.front().copied() else {
                self.ring.pop_front();
                continue;
            };
            if *credit < i64::from(head.len) {
                *credit += self.sketch.quantum;
                self.ring.rotate_left(1);
                continue;
            }
            queue.pop_front();
            if self.sketch.active && now - head.at > 0.035 {
                self.records.push(Record {
                    packet: head,
                    left: None,
                    early: true,
                });
                continue;
            }
            *credit -= i64::from(head.len);
            return Some(head);
        }
    }
}

fn run(sketch: &Sketch, packets: &[Packet]) -> Vec<Record> {
    let mut turns = Turns {
        sketch: *sketch,
        queues: BTreeMap::new(),
        ring: VecDeque::new(),
        records: Vec::new(),
    };
    let mut now = 0.0;
    let mut coming = packets.iter().copied().peekable();
    loop {
        while let Some(packet) = coming.next_if(|packet| packet.at <= now) {
            turns.take(packet);
        }
        if let Some(packet) = turns.next(now) {
            now += f64::from(packet.len) * 8.0 / LINK_RATE as f64;
            turns.records.push(Record {
                packet,
                left: Some(now),
                early: false,
            });
        } else if let Some(packet) = coming.peek() {
            now = packet.at;
        } else {
            return turns.records;
        }
    }
}

fn result(sketch: &Sketch, packets: &[Packet], flows: &[FlowSummary]) -> DisciplineResult {
    let records = run(sketch, packets);
    let total: Vec<&Record> = records.iter().collect();
    let light: Vec<&Record> = records
        .iter()
        .filter(|record| flows[record.packet.flow].light)
        .collect();
    let results: Vec<FlowResult> = (0..flows.len())
        .map(|flow| flow_result(flow, &records, sketch))
        .collect();
    let fairness = if sketch.queues == 1 {
        0.71
    } else {
        1.0 - 0.4 / sketch.queues as f64
    };
    DisciplineResult {
        spec: sketch.spec.to_owned(),
        name: sketch.name,
        about: sketch.about,
        limit: format!("{LIMIT}p"),
        weighted: matches!(sketch.name, "drr" | "qfq"),
        total: outcome(&total),
        light: outcome(&light),
        light_p99: outcome(&light).delay.map(|delay| delay.p99),
        kinds: kinds(&results, flows),
        worst_lag: results.iter().map(|flow| flow.lag).fold(0.0, f64::max),
        flows: results,
        jain: Some(Jain {
            mean: fairness,
            min: fairness * 0.93,
            windows: 287,
            window: 0.1,
        }),
        cost: Some(Cost {
            nanos_per_packet: sketch.nanos,
            range: (sketch.nanos * 0.96, sketch.nanos * 1.2),
            packets: 2_000_000,
        }),
        shares_by_host: false,
        hosts: None,
        bytes_per_flow: sketch.bytes_per_flow,
        fixed_bytes: 4096,
        kept_bounds: sketch.kept_bounds,
        curves: curves(&total),
        light_curves: curves(&light),
        kind_curves: Vec::new(),
        replicas: Vec::new(),
    }
}

/// Results by kind of flow.
fn kinds(results: &[FlowResult], flows: &[FlowSummary]) -> Vec<KindOutcome> {
    let of_kind = |kind: Kind| {
        let of: Vec<usize> = (0..flows.len())
            .filter(|flow| flows[*flow].kind == kind)
            .collect();
        let p99 = |flow: &usize| results[*flow].outcome.delay.map_or(0.0, |delay| delay.p99);
        let worst = *of.iter().max_by(|a, b| p99(a).total_cmp(&p99(b)))?;
        let shares = of
            .iter()
            .map(|flow| results[*flow].outcome.throughput / flows[*flow].fair_rate);
        Some(KindOutcome {
            kind,
            flows: of.len(),
            p99: Some(of.iter().map(p99).sum::<f64>() / of.len() as f64),
            loss: of
                .iter()
                .map(|flow| results[*flow].outcome.loss)
                .sum::<f64>()
                / of.len() as f64,
            worst,
            worst_p99: Some(p99(&worst)),
            worst_loss: results[worst].outcome.loss,
            longest_p99: of.iter().map(p99).reduce(f64::max),
            least_share: (kind == Kind::Bulk).then(|| shares.fold(1.0, f64::min)),
            served: None,
        })
    };
    Kind::ALL.into_iter().filter_map(of_kind).collect()
}

fn flow_result(flow: usize, records: &[Record], sketch: &Sketch) -> FlowResult {
    let own: Vec<&Record> = records
        .iter()
        .filter(|record| record.packet.flow == flow)
        .collect();
    let outcome = outcome(&own);
    let lag = outcome
        .delay
        .map_or(0.0, |delay| {
            delay.max * SOURCES[flow].1 * f64::from(SOURCES[flow].2)
        })
        .min(250e3);
    let b_wfi = 1514.0 + lag * 0.4;
    let bound = sketch
        .kept_bounds
        .map(|kept| if kept { b_wfi * 1.8 } else { b_wfi * 0.9 });
    let per_second = LINK_RATE as f64 / 8.0 / SOURCES.len() as f64;
    FlowResult {
        bytes_in_time: outcome.bytes,
        data_loss: outcome.loss,
        outcome,
        lag,
        b_wfi,
        b_wfi_bound: bound,
        t_wfi: b_wfi / per_second,
        t_wfi_bound: bound.map(|bytes| bytes / per_second),
        latency: b_wfi / per_second - 1e-3,
        latency_bound: bound.map(|bytes| bytes / per_second),
        fairness: 2.0 * b_wfi / per_second,
        fairness_bound: bound.map(|bytes| 2.0 * bytes / per_second),
        curves: Some(curves(&own)),
    }
}

fn sorted_delays(records: &[&Record]) -> Vec<f64> {
    let mut delays: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.left? - record.packet.at))
        .collect();
    delays.sort_by(f64::total_cmp);
    delays
}

fn outcome(records: &[&Record]) -> Outcome {
    let delays = sorted_delays(records);
    let sent = || records.iter().filter(|record| record.left.is_some());
    let bytes = sent().map(|record| u64::from(record.packet.len)).sum();
    let dropped = |early| {
        records
            .iter()
            .filter(|record| record.left.is_none() && record.early == early)
            .count() as u64
    };
    let quantile = |share: f64| delays[((delays.len() - 1) as f64 * share).round() as usize];
    let delay = (!delays.is_empty()).then(|| Delay {
        mean: delays.iter().sum::<f64>() / delays.len() as f64,
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: quantile(1.0),
    });
    let end = sent()
        .filter_map(|record| record.left)
        .fold(SECONDS, f64::max);
    Outcome {
        packets: delays.len() as u64,
        bytes,
        throughput: bytes as f64 * 8.0 / end,
        drops: Drops {
            filtered: 0,
            full: dropped(false),
            pushed_out: 0,
            early: dropped(true),
            refused: 0,
        },
        loss: (dropped(false) + dropped(true)) as f64 / records.len().max(1) as f64,
        marked: 0,
        delay,
        reordered: 0,
    }
}

fn curves(records: &[&Record]) -> Curves {
    let bin = SECONDS / BINS as f64;
    let place = |time: f64| (time / bin) as usize;
    let last = records
        .iter()
        .filter_map(|record| record.left)
        .fold(SECONDS - bin, f64::max);
    let (mut throughput, mut changes) = (vec![0.0; place(last) + 1], Vec::new());
    let mut delays: Vec<Vec<f64>> = vec![Vec::new(); place(last) + 1];
    for record in records {
        if let Some(left) = record.left {
            delays[place(left)].push(left - record.packet.at);
            throughput[place(left)] += f64::from(record.packet.len) * 8.0 / bin;
            changes.push((record.packet.at, i64::from(record.packet.len)));
            changes.push((left, -i64::from(record.packet.len)));
        }
    }
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let backlog = backlog(&changes, place, throughput.len());
    let backlog = backlog.into_iter().map(|bytes| bytes as f64).collect();
    Curves {
        bin,
        throughput,
        backlog,
        delay_mean: delays.iter().map(|bin| mean(bin)).collect(),
        delay_max: delays.iter().map(|bin| longest(bin)).collect(),
        delay_cdf: cdf(&sorted_delays(records)),
    }
}

fn mean(delays: &[f64]) -> Option<f64> {
    (!delays.is_empty()).then(|| delays.iter().sum::<f64>() / delays.len() as f64)
}

fn longest(delays: &[f64]) -> Option<f64> {
    delays.iter().copied().reduce(f64::max)
}

fn backlog(changes: &[(f64, i64)], place: impl Fn(f64) -> usize, bins: usize) -> Vec<u64> {
    let mut backlog = vec![0; bins];
    let mut waiting = 0;
    for &(time, change) in changes {
        waiting += change;
        let bin = &mut backlog[place(time)];
        *bin = waiting.unsigned_abs().max(*bin);
    }
    backlog
}

fn cdf(delays: &[f64]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for step in 0..=160 {
        let share = 1.0 - 10_f64.powf(-f64::from(step) * 0.025);
        let rank = ((delays.len() as f64 * share) as usize).min(delays.len().saturating_sub(1));
        if let Some(&delay) = delays.get(rank)
            && points.last().is_none_or(|last| delay > last.0)
        {
            points.push((delay, (rank + 1) as f64 / delays.len() as f64));
        }
    }
    points
}

//! Worlds agree: the bottleneck at a fake clock gives the departures of a plain port that is fed with
//! the same arrivals, for every registered discipline and a tree, with changes on the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::{AnyDiscipline, Priority};
use roundelay::{
    AnyPort, DropReason, Duration, Ecn, FlowConfig, FlowId, Hosts, Instant, Observer, Packet,
    Purpose, QueueSpec, Rate, Scheduler, Seed,
};
use roundelay_live::{Change, Fate, NoJournal, QueueText, Settings, Way, WeightTexts};

use crate::fake::{Entry, FIRST_PORT, FLOWS, Run, frames, random, run};

pub(crate) const RATE: &str = "10mbit";

pub(crate) fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// All registered disciplines, with a small buffer.
pub(crate) fn disciplines() -> Vec<String> {
    let all = AnyDiscipline::all();
    let names: Vec<_> = all
        .iter()
        // Without the unit, red's would be bytes, and no packet would fit.
        .map(|one| format!("{} limit 25p", one.name()))
        .collect();
    assert!(names.len() > 20);
    names
}

pub(crate) fn settings(queue: QueueText, weights: &[&str]) -> Settings {
    let mut settings = Settings::new(rate(RATE), queue);
    settings.seed = 7;
    settings.weights.rules = weights.iter().map(ToString::to_string).collect();
    settings.down.rate = rate("4mbit").bits_per_second();
    settings.up.delay = Duration::from_millis(3).as_picos();
    settings.down.jitter = Duration::from_millis(2).as_picos();
    settings.down.loss = 20_000_000;
    settings
}

pub(crate) const WEIGHTS: [&str; 2] = ["src port 1001 = 4", "src portrange 1005-1006 = 2"];

/// The weight that rules of the two kinds in [`WEIGHTS`] give.
pub(crate) fn weight(rules: &[String], port: u16) -> u32 {
    for rule in rules {
        let words: Vec<&str> = rule.split(' ').collect();
        let ["src", "port" | "portrange", ports, "=", weight] = words[..] else {
            panic!("{rule}");
        };
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let legal: [u16; 2] = [first, last].map(|port| port.parse().expect("a port"));
        if (legal[0]..=legal[1]).contains(&port) {
            return weight.parse().expect("a weight");
        }
    }
    1
}

/// What became of a frame at a port: number, start and end or the time of the drop, mark or reason.
pub(crate) type Became = (
    u64,
    Option<(Instant, Instant, bool)>,
    Option<(Instant, DropReason)>,
);

/// A plain port, fed with the journal's arrivals.
struct Plain {
    port: AnyPort<(u64, Ecn)>,
    discipline: AnyDiscipline,
    flows: BTreeMap<u16, u32>,
    weights: Vec<String>,
    arrived: u64,
    became: Became2,
    /// Frames by number, for those that move to another queue.
    frames: Vec<(u16, u32, u8)>,
}

/// The bytes of a link with a trace, numbered through all its times and rounds.
struct Offered {
    /// Milliseconds.
    times: Vec<u64>,
    /// The first byte that no packet has taken.
    next: u64,
}

impl Offered {
    const AT_A_TIME: u64 = 1514;

    fn time_of(&self, byte: u64) -> Instant {
        let number = byte / Self::AT_A_TIME;
        let count = self.times.len() as u64;
        let period = self.times[self.times.len() - 1];
        let millis = number / count * period + self.times[(number % count) as usize];
        Instant::from_nanos(millis * 1_000_000)
    }

    /// The first byte from an instant on.
    fn first(&self, from: Instant) -> u64 {
        let mut byte = self.next;
        while self.time_of(byte) < from {
            byte = (byte / Self::AT_A_TIME + 1) * Self::AT_A_TIME;
        }
        byte
    }
}

#[derive(Default)]
struct Became2 {
    all: Vec<Became>,
    offered: Option<Offered>,
    /// The time at which a link with a trace is free again.
    ended: Option<Instant>,
}

impl Observer<(u64, Ecn)> for Became2 {
    fn sent(&mut self, packet: Packet<(u64, Ecn)>, start: Instant, end: Instant) {
        let marked = packet.ecn == Ecn::Marked && packet.payload.1 != Ecn::Marked;
        let mut end = end;
        if let Some(offered) = &mut self.offered {
            let after = offered.first(start) + u64::from(packet.len);
            end = offered.time_of(after - 1);
            offered.next = after;
            self.ended = Some(end);
        }
        self.all
            .push((packet.payload.0, Some((start, end, marked)), None));
    }

    fn dropped(&mut self, packet: Packet<(u64, Ecn)>, now: Instant, reason: DropReason) {
        self.all.push((packet.payload.0, None, Some((now, reason))));
    }
}

/// Takes all packets out.
fn evict(scheduler: &mut impl Scheduler<(u64, Ecn)>, waiting: &mut Vec<u64>) {
    while let Some(packet) = scheduler.evict() {
        waiting.push(packet.payload.0);
        while let Some((packet, _)) = scheduler.take_dropped() {
            waiting.push(packet.payload.0);
        }
    }
}

impl Plain {
    fn new(queue: &str, rate: Rate, seed: Seed) -> Self {
        let spec: QueueSpec = queue.parse().expect("a discipline");
        Self {
            port: AnyPort::new(&spec, rate, seed).expect("legal parameters"),
            discipline: spec.discipline,
            flows: BTreeMap::new(),
            weights: WEIGHTS.map(str::to_owned).to_vec(),
            arrived: 0,
            became: Became2::default(),
            frames: Vec::new(),
        }
    }

    fn packet(&self, number: u64) -> Packet<(u64, Ecn)> {
        let (port, len, tos) = self.frames[number as usize];
        let ecn = match tos & 3 {
            0 => Ecn::NotCapable,
            3 => Ecn::Marked,
            _ => Ecn::Capable,
        };
        let priority = match self.discipline.info().priority {
            Priority::Class => 7 - u32::from(tos >> 5),
            Priority::CodePoint => u32::from(tos >> 2),
            _ => 0,
        };
        Packet {
            ecn,
            priority,
            ..Packet::new(FlowId(self.flows[&port]), len, (number, ecn))
        }
    }

    fn arrive(&mut self, at: Instant, frame: &[u8], len: u32) {
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        self.advance(at);
        if !self.flows.contains_key(&port) {
            let flow = self.flows.len() as u32;
            self.flows.insert(port, flow);
            self.join(port);
        }
        self.frames.push((port, len, frame[15]));
        let packet = self.packet(self.arrived);
        self.arrived += 1;
        self.port.arrive(at, packet, &mut self.became);
    }

    fn join(&mut self, port: u16) {
        let config = FlowConfig {
            weight: weight(&self.weights, port),
            max_packet_len: 1514,
        };
        let flow = FlowId(self.flows[&port]);
        self.port.set_flow(flow, config).expect("a legal weight");
        // All frames go from one address to another.
        let hosts = Hosts {
            source: 0,
            destination: 1,
        };
        self.port.set_hosts(flow, hosts).expect("a legal flow");
    }

    fn advance(&mut self, until: Instant) {
        if self.became.offered.is_none() {
            return self.port.advance(until, &mut self.became);
        }
        while let Some(at) = self.port.next_event().filter(|at| *at < until) {
            let Some(offered) = &self.became.offered else {
                return;
            };
            let start = offered.time_of(offered.first(at));
            if start > at {
                self.take_over(start);
                continue;
            }
            self.port.work(&mut self.became);
            if let Some(end) = self.became.ended.take() {
                self.take_over(end);
            }
        }
    }

    fn take_over(&mut self, free_at: Instant) {
        match &mut self.port {
            AnyPort::Fifo(port) => port.take_over(free_at),
            AnyPort::Plain(port) => port.take_over(free_at),
            AnyPort::Preemptive(_) => panic!("no default preempts"),
        }
    }

    fn change(&mut self, at: Instant, change: &Change) {
        self.advance(at);
        match change {
            Change::Rate(bits) => {
                self.became.offered = None;
                let rate = Rate::from_bits_per_second(*bits).expect("a rate");
                match &mut self.port {
                    AnyPort::Fifo(port) => port.set_rate(rate),
                    AnyPort::Plain(port) => port.set_rate(rate),
                    AnyPort::Preemptive(_) => panic!("no default preempts"),
                }
            }
            Change::Queue(QueueText::Discipline(text)) => self.move_to(at, text),
            Change::Weights(texts) => {
                self.weights = texts.rules.clone();
                for port in self.flows_in_order() {
                    self.join(port);
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn flows_in_order(&self) -> Vec<u16> {
        let mut ports: Vec<_> = self.flows.keys().copied().collect();
        ports.sort_unstable_by_key(|port| self.flows[port]);
        ports
    }

    fn move_to(&mut self, at: Instant, text: &str) {
        let mut waiting = Vec::new();
        let free_at = match &mut self.port {
            AnyPort::Fifo(port) => {
                evict(port.scheduler_mut(), &mut waiting);
                port.free_at()
            }
            AnyPort::Plain(port) => {
                evict(port.scheduler_mut(), &mut waiting);
                port.free_at()
            }
            AnyPort::Preemptive(_) => panic!("no default preempts"),
        };
        let mut next = Self::new(text, self.port.rate(), queue_seed());
        std::mem::swap(&mut next.flows, &mut self.flows);
        std::mem::swap(&mut next.frames, &mut self.frames);
        std::mem::swap(&mut next.became, &mut self.became);
        next.arrived = self.arrived;
        std::mem::swap(&mut next.weights, &mut self.weights);
        next.take_over(free_at);
        *self = next;
        for port in self.flows_in_order() {
            self.join(port);
        }
        waiting.sort_unstable();
        for number in waiting {
            let packet = self.packet(number);
            self.port.arrive(at, packet, &mut self.became);
        }
    }
}

/// The fates in a journal as those of a port.
pub(crate) fn became(run: &Run, only: Way) -> Vec<Became> {
    let mut all = Vec::new();
    for entry in &run.entries {
        if let Entry::Fate {
            way, number, fate, ..
        } = entry
            && *way == only
        {
            all.push(match *fate {
                Fate::Sent {
                    start, end, marked, ..
                } => (*number, Some((start, end, marked)), None),
                Fate::Dropped { at, reason } => (*number, None, Some((at, reason))),
            });
        }
    }
    all
}

/// The seed of a bottleneck's queue with [`settings`].
fn queue_seed() -> Seed {
    Seed::new(7).derive(Purpose::Queue, 0)
}

/// What a plain port makes of the arrivals and changes in a journal.
pub(crate) fn plain(run: &Run, queue: &str, rate: Rate, only: Way) -> Vec<Became> {
    replayed(Plain::new(queue, rate, queue_seed()), run, only)
}

/// [`plain`] with the random numbers and hashes of a tree's node with this number.
pub(crate) fn plain_as_node(
    run: &Run,
    queue: &str,
    rate: Rate,
    only: Way,
    number: u64,
) -> Vec<Became> {
    let seed = queue_seed().derive(Purpose::Class, number);
    replayed(Plain::new(queue, rate, seed), run, only)
}

/// [`plain`] with a link that follows a trace. Disciplines are told its mean rate.
pub(crate) fn plain_on(
    run: &Run,
    queue: &str,
    times: &[u64],
    rate: Rate,
    only: Way,
) -> Vec<Became> {
    let mut plain = Plain::new(queue, rate, queue_seed());
    let times = times.to_vec();
    plain.became.offered = Some(Offered { times, next: 0 });
    replayed(plain, run, only)
}

fn replayed(mut plain: Plain, run: &Run, only: Way) -> Vec<Became> {
    for entry in &run.entries {
        match entry {
            Entry::Arrived {
                way,
                at,
                frame,
                len,
            } if *way == only => plain.arrive(*at, frame, *len),
            Entry::Changed { way, at, change } if *way == only => plain.change(*at, change),
            _ => (),
        }
    }
    plain.advance(Instant::MAX);
    plain.became.all
}

/// Rates, weights and queues that change a few times.
pub(crate) fn changes(random: &mut Pcg64Mcg, seconds: u64) -> Vec<(Instant, Way, Change)> {
    let all = disciplines();
    let mut changes = Vec::new();
    for _ in 0..8 {
        let at = Instant::from_nanos(random.random_range(0..seconds * 1_000_000_000));
        let way = Way::BOTH[random.random_range(0..2)];
        let change = match random.random_range(0..4) {
            0 => {
                let first = random.random_range(1..=5);
                let second = random.random_range(1..=5);
                let rules = vec![
                    format!("src portrange 1000-1003 = {first}"),
                    format!("src port 1007 = {second}"),
                ];
                Change::Weights(WeightTexts { rules, file: None })
            }
            1 => Change::Rate(random.random_range(2_000_000..20_000_000)),
            _ => {
                let text = &all[random.random_range(0..all.len())];
                Change::Queue(QueueText::Discipline(text.clone()))
            }
        };
        changes.push((at, way, change));
    }
    changes
}

#[test]
fn every_discipline_gives_the_departures_of_a_plain_port() {
    let mut total = [0_u64; 4];
    for (number, queue) in disciplines().iter().enumerate() {
        for with_changes in [false, true] {
            let mut random = random(number as u64 * 2 + u64::from(with_changes));
            let frames = frames(2_000, &mut random);
            let changes = if with_changes {
                changes(&mut random, 2)
            } else {
                Vec::new()
            };
            let settings = settings(QueueText::Discipline(queue.clone()), &WEIGHTS);
            let late = Duration::from_millis(5);
            let no_journal = Arc::new(Mutex::new(NoJournal));
            let run = run(&settings, &frames, &changes, late, &mut random, no_journal);
            for (way, rate) in [(Way::Up, RATE), (Way::Down, "4mbit")] {
                let found = became(&run, way);
                let expected = plain(&run, queue, self::rate(rate), way);
                assert_eq!(found.len(), expected.len(), "{queue} {way}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found, expected, "{queue} {way}");
                }
                let books = run.bottleneck.books(way);
                let settled = (books.waiting, books.on_the_way);
                assert_eq!(
                    settled,
                    (0, 0),
                    "{queue} {way}: all frames are through {changes:?}"
                );
                total[0] += books.arrived;
                total[1] += books.all_dropped();
                total[2] += books.marked;
                total[3] += books.lost;
            }
        }
    }
    let [arrived, dropped, marked, lost] = total;
    assert!(arrived > 100_000, "{arrived}");
    assert!(
        dropped > 10_000 && marked > 0 && lost > 500,
        "{dropped} {marked} {lost}"
    );
}

#[test]
fn frames_come_out_in_order_when_due_marked_where_the_queue_asked() {
    let mut random = random(1);
    let frames = frames(2_000, &mut random);
    let queue = "fq_codel limit 25 target 1ms interval 2ms ecn";
    let settings = settings(QueueText::Discipline(queue.to_owned()), &[]);
    let no_journal = Arc::new(Mutex::new(NoJournal));
    let late = Duration::from_millis(1);
    let run = run(&settings, &frames, &[], late, &mut random, no_journal);
    for way in Way::BOTH {
        let out = &run.out[way.index()];
        let mut expected = Vec::new();
        let arrived = run.entries.iter().filter_map(|entry| match entry {
            Entry::Arrived { way: of, frame, .. } if *of == way => Some(frame.clone()),
            _ => None,
        });
        let arrived: Vec<_> = arrived.collect();
        for entry in &run.entries {
            if let Entry::Fate {
                way: of,
                number,
                fate:
                    Fate::Sent {
                        due,
                        marked,
                        lost: false,
                        ..
                    },
                ..
            } = entry
                && *of == way
            {
                let tos = arrived[*number as usize][15];
                expected.push((*due, if *marked { tos | 3 } else { tos }));
            }
        }
        let found: Vec<_> = out
            .iter()
            .map(|(frame, _, due)| (*due, frame[15]))
            .collect();
        assert_eq!(found, expected);
        assert!(out.is_sorted_by_key(|(_, _, due)| *due));
        assert!(run.bottleneck.books(way).marked > 0);
        assert!(out.iter().any(|(_, now, due)| now > due), "some are late");
    }
}

/// Whether a discipline drops some of these frames for want of room, without any change.
fn lacks_room(queue: &str, frames: &[crate::fake::Frame]) -> bool {
    let settings = settings(QueueText::Discipline(queue.to_owned()), &[]);
    let no_journal = Arc::new(Mutex::new(NoJournal));
    let late = Duration::ZERO;
    let run = run(&settings, frames, &[], late, &mut random(1), no_journal);
    Way::BOTH.iter().any(|way| {
        let [full, pushed_out, ..] = run.bottleneck.books(*way).dropped;
        full + pushed_out > 0
    })
}

#[test]
fn a_new_queue_loses_no_frame_if_its_buffer_is_as_large() {
    let all = disciplines();
    let mut passed = 0;
    for (number, queue) in all.iter().enumerate() {
        let queue = queue.replace("limit 25", "limit 4000");
        let next = all[(number + 1) % all.len()].replace("limit 25", "limit 4000");
        let mut random = random(number as u64);
        let mut frames = frames(300, &mut random);
        // All at once: the queue is long when it changes.
        for frame in &mut frames {
            frame.stamp = Instant::ZERO;
        }
        if lacks_room(&queue, &frames) || lacks_room(&next, &frames) {
            continue;
        }
        passed += 1;
        let settings = settings(QueueText::Discipline(queue.clone()), &[]);
        let change = Change::Queue(QueueText::Discipline(next.clone()));
        let changes = Way::BOTH.map(|way| (Instant::from_nanos(5_000_000), way, change.clone()));
        let no_journal = Arc::new(Mutex::new(NoJournal));
        let run = run(
            &settings,
            &frames,
            &changes,
            Duration::ZERO,
            &mut random,
            no_journal,
        );
        for way in Way::BOTH {
            let books = run.bottleneck.books(way);
            let [full, pushed_out, ..] = books.dropped;
            assert_eq!(
                (full, pushed_out),
                (0, 0),
                "{queue}, then {next}: {books:?}"
            );
            assert!(books.balance() && books.changes == 1);
        }
    }
    assert!(passed > 15, "{passed} of {}", all.len());
}

#[test]
fn new_weights_share_the_link_anew() {
    let mut frames = Vec::new();
    for _ in 0..400 {
        for port in [FIRST_PORT, FIRST_PORT + FLOWS] {
            frames.push(crate::fake::Frame {
                stamp: Instant::ZERO,
                way: Way::Up,
                bytes: crate::fake::udp(port, 0, 1000),
            });
        }
    }
    let settings = Settings::new(
        rate("8mbit"),
        QueueText::Discipline("drr limit 1000".to_owned()),
    );
    let rules = vec!["src port 1000 = 3".to_owned()];
    let weights = Change::Weights(WeightTexts { rules, file: None });
    let half = Instant::from_nanos(200_000_000);
    let changes = [(half, Way::Up, weights)];
    let no_journal = Arc::new(Mutex::new(NoJournal));
    let mut random = random(3);
    let run = run(
        &settings,
        &frames,
        &changes,
        Duration::ZERO,
        &mut random,
        no_journal,
    );
    let mut sent = [[0_u32; 2]; 2];
    for entry in &run.entries {
        if let Entry::Fate {
            flow,
            fate: Fate::Sent { start, .. },
            ..
        } = entry
            && *start < Instant::from_nanos(400_000_000)
        {
            sent[usize::from(*start > half)][*flow as usize] += 1;
        }
    }
    let [before, after] = sent;
    assert!(before[0].abs_diff(before[1]) <= 2, "{before:?}");
    assert!(after[0] > 140 && after[1] < 60, "{after:?}");
}

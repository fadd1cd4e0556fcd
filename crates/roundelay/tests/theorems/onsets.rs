//! The first seconds of queues that signal congestion: after idle time, after a change of the link's
//! rate and after a change of settings, packet by packet beside models that are written from the
//! RFCs. Means over long runs do not tell whether a queue begins too early.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::{Discipline, codel, red};
use roundelay::{Billionths, Duration, FlowId, Instant, Packet, QueueSpec, Rate, Scheduler, Seed};

/// What happens at a time. The link sends whenever it can.
enum Step<C> {
    Arrive { len: u32 },
    Rate(Rate),
    Change(C),
}

/// Six phases of half a second to two seconds. In each packets come at another part of the link's
/// rate, after a pause or not. Before some of them the rate or the settings change.
fn phases<C>(random: &mut Pcg64, settings: impl Fn(&mut Pcg64) -> C) -> Vec<(Instant, Step<C>)> {
    let mut steps = Vec::new();
    let mut now = Instant::ZERO + Duration::from_picos(random.random_range(1..1_000_000));
    let mut rate = 2_000_000;
    for phase in 0..6 {
        if random.random_bool(0.5) {
            now += Duration::from_picos(random.random_range(0..3_000_000_000_000));
        }
        if phase > 0 && random.random_bool(0.5) {
            rate = [500_000, 2_000_000, 10_000_000][random.random_range(0..3)];
            let rate = Rate::from_bits_per_second(rate).expect("not zero");
            steps.push((now, Step::Rate(rate)));
        }
        if random.random_bool(0.5) {
            steps.push((now, Step::Change(settings(random))));
        }
        let load = [0.5, 0.9, 1.1, 1.5, 3.0][random.random_range(0..5)];
        let length = random.random_range(500_000_000_000..2_000_000_000_000);
        let end = now + Duration::from_picos(length);
        while now < end {
            let len = random.random_range(40..1514);
            steps.push((now, Step::Arrive { len }));
            let mean = f64::from(len) * 8e12 / rate as f64 / load;
            now += Duration::from_picos((mean * random.random_range(0.1..1.9)) as u64);
        }
    }
    steps
}

/// A queue in a model: packets by number.
trait Model<C> {
    fn enqueue(&mut self, now: Instant, number: u64, len: u32);
    /// The packet that leaves, if any. Dropped ones are added to `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<u64>) -> Option<u64>;
    fn change(&mut self, config: C);
}

/// A scheduler and a model that get the same packets, and ask for the next at the same times.
struct Both<'a, S, M> {
    scheduler: S,
    model: M,
    lens: Vec<u32>,
    free_at: Instant,
    rate: Rate,
    dropped: &'a mut u64,
}

impl<S: Scheduler<u64>, M> Both<'_, S, M> {
    /// Lets the link send until this time. The first difference between the two is the answer.
    fn send<C>(&mut self, until: Instant) -> Result<(), String>
    where
        M: Model<C>,
    {
        while self.free_at < until {
            let now = self.free_at;
            let ours = self.scheduler.dequeue(now).map(|packet| packet.payload);
            let mut lost = Vec::new();
            while let Some((packet, _)) = self.scheduler.take_dropped() {
                lost.push(packet.payload);
            }
            let mut expected = Vec::new();
            let models = self.model.dequeue(now, &mut expected);
            *self.dropped += lost.len() as u64;
            if (ours, &lost) != (models, &expected) {
                return Err(format!(
                    "at {now}: sent {ours:?}, dropped {lost:?}; the model {models:?}, {expected:?}"
                ));
            }
            let Some(number) = ours else {
                // Asks again when the next packet comes.
                self.free_at = until;
                return Ok(());
            };
            self.free_at = now + self.rate.time_of(self.lens[number as usize].into());
        }
        Ok(())
    }
}

/// The first difference between a discipline and its model, over the phases of one seed.
fn compare<C: Discipline + Copy, M: Model<C>>(
    config: C,
    model: M,
    steps: Vec<(Instant, Step<C>)>,
    dropped: &mut u64,
) -> Result<(), String> {
    let mut both = Both {
        scheduler: config.build::<u64>(Seed::new(1)).expect("legal"),
        model,
        lens: Vec::new(),
        free_at: Instant::ZERO,
        rate: Rate::from_bits_per_second(2_000_000).expect("not zero"),
        dropped,
    };
    for (now, step) in steps {
        both.send(now)?;
        match step {
            Step::Arrive { len } => {
                let number = both.lens.len() as u64;
                both.lens.push(len);
                let packet = Packet::new(FlowId(0), len, number);
                assert!(both.scheduler.enqueue(now, packet).is_ok());
                both.model.enqueue(now, number, len);
            }
            Step::Rate(rate) => both.rate = rate,
            Step::Change(config) => {
                config.reconfigure(&mut both.scheduler).expect("live");
                both.model.change(config);
            }
        }
    }
    both.send(both.free_at + Duration::from_secs(60))
}

/// RFC 8289, 5.5 and 5.6, as its pseudo-code is written, in seconds.
struct Rfc8289 {
    target: f64,
    interval: f64,
    waiting: VecDeque<(f64, u64, u32)>,
    first_above_time: f64,
    drop_next: f64,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// A fault that the comparison must find.
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The time of the next signal stands still while a change of settings passes.
    ForgetsAtChange,
    /// A queue that stands again goes on at its former rate of signals after any time.
    AlwaysResumes,
    /// The first signal comes with the first late packet.
    Early,
}

fn seconds(time: Instant) -> f64 {
    time.as_picos() as f64 / 1e12
}

impl Rfc8289 {
    fn new(config: codel::Config, fault: Fault) -> Self {
        let [target, interval] =
            [config.target, config.interval].map(|time| seconds(Instant::ZERO + time));
        Self {
            target,
            interval,
            waiting: VecDeque::new(),
            first_above_time: 0.0,
            drop_next: 0.0,
            count: 0,
            last_count: 0,
            dropping: false,
            fault,
        }
    }

    fn control_law(&self, time: f64, count: u32) -> f64 {
        time + self.interval / f64::from(count).sqrt()
    }

    fn dodequeue(&mut self, now: f64) -> (Option<u64>, bool) {
        let Some((arrival, number, len)) = self.waiting.pop_front() else {
            self.first_above_time = 0.0;
            return (None, false);
        };
        let bytes: u32 = self.waiting.iter().map(|(_, _, len)| len).sum();
        if now - arrival < self.target || bytes <= len.max(1514) {
            self.first_above_time = 0.0;
            return (Some(number), false);
        }
        if self.first_above_time == 0.0 {
            self.first_above_time = now + self.interval;
            return (Some(number), self.fault == Fault::Early);
        }
        (Some(number), now >= self.first_above_time)
    }
}

impl Model<codel::Config> for Rfc8289 {
    fn enqueue(&mut self, now: Instant, number: u64, len: u32) {
        self.waiting.push_back((seconds(now), number, len));
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<u64>) -> Option<u64> {
        let now = seconds(now);
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped.extend(packet);
            (packet, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.last_count;
            self.count = 1;
            let is_soon = now - self.drop_next < 16.0 * self.interval;
            if delta > 1 && (is_soon || self.fault == Fault::AlwaysResumes) {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.last_count = self.count;
        }
        packet
    }

    fn change(&mut self, config: codel::Config) {
        let before = std::mem::replace(self, Self::new(config, self.fault));
        let (target, interval) = (self.target, self.interval);
        if self.fault == Fault::ForgetsAtChange {
            self.waiting = before.waiting;
        } else {
            *self = Self {
                target,
                interval,
                ..before
            };
        }
    }
}

/// Linux's CoDel, in ticks of 1024 ns or, which is wrong, of less.
struct LinuxCodel {
    tick_picos: u64,
    target: u64,
    interval: u64,
    waiting: VecDeque<(u64, u64, u32)>,
    first_above_time: Option<u64>,
    drop_next: u64,
    count: u64,
    last_count: u64,
    /// 1 / sqrt(count) in 16 bits.
    root: u64,
    dropping: bool,
}

impl LinuxCodel {
    fn new(config: codel::Config, tick_picos: u64) -> Self {
        Self {
            tick_picos,
            target: config.target.as_picos() / tick_picos,
            interval: config.interval.as_picos() / tick_picos,
            waiting: VecDeque::new(),
            first_above_time: None,
            drop_next: 0,
            count: 0,
            last_count: 0,
            root: 0,
            dropping: false,
        }
    }

    /// One step of Newton's iteration towards 1 / sqrt(count).
    fn iterate(&mut self) {
        let left = (3 << 32) - self.count * self.root * self.root;
        self.root = ((left >> 2) * (self.root << 16)) >> 47;
    }

    fn distance(&self) -> u64 {
        (self.interval * self.root) >> 16
    }

    /// The next packet, and whether it may be dropped.
    fn next(&mut self, now: u64) -> (Option<u64>, bool) {
        let Some((arrival, number, len)) = self.waiting.pop_front() else {
            self.first_above_time = None;
            return (None, false);
        };
        let bytes: u32 = self.waiting.iter().map(|(_, _, len)| len).sum();
        if now - arrival < self.target || bytes <= len.max(1514) {
            self.first_above_time = None;
            return (Some(number), false);
        }
        let stands_at = *self.first_above_time.get_or_insert(now + self.interval);
        (Some(number), now > stands_at)
    }
}

impl Model<codel::Config> for LinuxCodel {
    fn enqueue(&mut self, now: Instant, number: u64, len: u32) {
        let arrival = now.as_picos() / self.tick_picos;
        self.waiting.push_back((arrival, number, len));
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<u64>) -> Option<u64> {
        let now = now.as_picos() / self.tick_picos;
        let (mut packet, mut may_drop) = self.next(now);
        if !may_drop {
            self.dropping = false;
        } else if self.dropping {
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                self.iterate();
                dropped.extend(packet);
                (packet, may_drop) = self.next(now);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next += self.distance();
                }
            }
        } else {
            dropped.extend(packet);
            (packet, _) = self.next(now);
            self.dropping = true;
            let signals = self.count - self.last_count;
            // A time in the future is recent too.
            if signals > 1 && now < self.drop_next + 16 * self.interval {
                self.count = signals;
                self.iterate();
            } else {
                (self.count, self.root) = (1, (1 << 16) - 1);
            }
            self.last_count = self.count;
            self.drop_next = now + self.distance();
        }
        packet
    }

    fn change(&mut self, config: codel::Config) {
        let new = Self::new(config, self.tick_picos);
        (self.target, self.interval) = (new.target, new.interval);
    }
}

fn some_codel(random: &mut Pcg64) -> codel::Config {
    codel::Config {
        target: Duration::from_millis(random.random_range(1..40)),
        interval: Duration::from_millis(random.random_range(20..300)),
        ..Default::default()
    }
}

/// The differences in so many runs, and how many packets were dropped in all.
fn differences_of_codel<M: Model<codel::Config>>(
    linux: bool,
    model: impl Fn(codel::Config) -> M,
    runs: u64,
) -> (Vec<String>, u64) {
    let some = |random: &mut Pcg64| codel::Config {
        linux,
        ..some_codel(random)
    };
    let mut dropped = 0;
    let mut differences = Vec::new();
    for seed in 0..runs {
        let mut random = Pcg64::seed_from_u64(seed);
        let config = some(&mut random);
        let steps = phases(&mut random, some);
        let model = model(config);
        if let Err(difference) = compare(config, model, steps, &mut dropped) {
            differences.push(format!("seed {seed}, {difference}"));
        }
    }
    (differences, dropped)
}

/// CoDel's drops are those of RFC 8289 from the first on: after idle time, at another rate of the
/// link, with other settings.
#[test]
fn codel_begins_as_the_rfc_is_written() {
    let written = |fault| move |config| Rfc8289::new(config, fault);
    let (differences, dropped) = differences_of_codel(false, written(Fault::None), 60);
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(dropped > 2_000, "{dropped} drops");
    for fault in [Fault::ForgetsAtChange, Fault::AlwaysResumes, Fault::Early] {
        let (differences, _) = differences_of_codel(false, written(fault), 20);
        assert!(!differences.is_empty(), "{fault:?} is found");
    }
}

/// With `linux` they are the kernel's, whose clock has ticks of 1024 ns. Errors of a tick add up
/// over some hundred drops, until one comes a packet earlier.
#[test]
fn codel_linux_begins_as_the_kernel_does() {
    let ticks = |picos| move |config| LinuxCodel::new(config, picos);
    let (differences, dropped) = differences_of_codel(true, ticks(1_024_000), 60);
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(dropped > 2_000, "{dropped} drops");
    let (differences, _) = differences_of_codel(true, ticks(1_000), 60);
    assert!(!differences.is_empty(), "an exact clock is found");
}

/// RED as Floyd and Jacobson list it, in real numbers: what it forbids, because its drops are drawn.
struct Red1993 {
    config: red::Config,
    weight: f64,
    waiting: u64,
    average: f64,
    /// When the queue became empty. The time counts from the begin.
    idle_since: Option<f64>,
    kept_since: f64,
    fault: RedFault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum RedFault {
    None,
    /// The average stays as it was while nothing waits.
    StandsWhileIdle,
    /// A change of settings makes the average anew.
    ForgetsAtChange,
}

impl Red1993 {
    fn new(config: red::Config, fault: RedFault) -> Self {
        Self {
            config,
            weight: 0.5_f64.powi(config.weight_log() as i32),
            waiting: 0,
            average: 0.0,
            idle_since: Some(0.0),
            kept_since: 0.0,
            fault,
        }
    }

    fn change(&mut self, config: red::Config) {
        self.weight = 0.5_f64.powi(config.weight_log() as i32);
        self.config = config;
        if self.fault == RedFault::ForgetsAtChange {
            self.average = 0.0;
        }
    }

    /// Why this fate of an arriving packet is against the rules, if it is.
    fn forbids(&mut self, now: f64, len: u32, is_dropped: bool) -> Option<String> {
        let config = &self.config;
        let rate = config.bandwidth.expect("given").bits_per_second() as f64;
        let packet_time = f64::from(config.avpkt) * 8.0 / rate;
        if let Some(since) = self.idle_since {
            let packets = ((now - since) / packet_time + 1e-9).floor();
            self.idle_since = Some(since + packets * packet_time);
            if self.fault != RedFault::StandsWhileIdle {
                self.average *= (1.0 - self.weight).powf(packets);
            }
        } else {
            self.average += self.weight * (self.waiting as f64 - self.average);
        }
        let (min, max) = (config.min as f64, config.max as f64);
        // p_b, which a packet that is kept adds to, until one is certainly dropped.
        let base = config.probability.0 as f64 / 1e9 * (self.average - min) / (max - min);
        let mut wrong = None;
        if self.average < min * (1.0 - 1e-6) && is_dropped {
            wrong = Some("a drop below min".to_owned());
        }
        if self.average >= max * (1.0 + 1e-6) && !is_dropped {
            wrong = Some("no drop above max".to_owned());
        }
        self.kept_since += 1.0;
        if self.average < min || is_dropped {
            self.kept_since = 0.0;
        } else if base * self.kept_since > 1.0 + 1e-3 {
            wrong = Some("a drop is overdue".to_owned());
        }
        if !is_dropped {
            self.waiting += u64::from(len);
            self.idle_since = None;
        }
        wrong.map(|wrong| format!("{wrong}: the average is {} of {min} to {max}", self.average))
    }

    fn left(&mut self, now: f64, len: u32) {
        self.waiting -= u64::from(len);
        if self.waiting == 0 {
            self.idle_since = Some(now);
        }
    }
}

fn some_red(random: &mut Pcg64) -> red::Config {
    let min = random.random_range(3_000..15_000);
    red::Config {
        min,
        max: 3 * min,
        burst: random.random_range(20..60),
        bandwidth: Rate::from_bits_per_second(2_000_000),
        probability: Billionths(random.random_range(20_000_000..200_000_000)),
        ..Default::default()
    }
}

/// What is wrong in the run of a seed, and how many packets were dropped.
fn red_breaks(seed: u64, fault: RedFault) -> (Option<String>, u64) {
    let mut random = Pcg64::seed_from_u64(seed);
    let config = some_red(&mut random);
    let mut scheduler = config.build::<u64>(Seed::new(seed)).expect("legal");
    let mut model = Red1993::new(config, fault);
    let mut rate = Rate::from_bits_per_second(2_000_000).expect("not zero");
    let mut free_at = Instant::ZERO;
    let mut dropped = 0;
    for (now, step) in phases(&mut random, some_red) {
        while free_at < now {
            let Some(packet) = scheduler.dequeue(free_at) else {
                free_at = now;
                break;
            };
            model.left(seconds(free_at), packet.len);
            free_at += rate.time_of(packet.len.into());
        }
        match step {
            Step::Arrive { len } => {
                let packet = Packet::new(FlowId(0), len, 0);
                assert!(scheduler.enqueue(now, packet).is_ok());
                let is_dropped = scheduler.take_dropped().is_some();
                dropped += u64::from(is_dropped);
                if let Some(wrong) = model.forbids(seconds(now), len, is_dropped) {
                    return (Some(format!("seed {seed}, at {now}: {wrong}")), dropped);
                }
            }
            Step::Rate(other) => rate = other,
            Step::Change(config) => {
                config.reconfigure(&mut scheduler).expect("live");
                model.change(config);
            }
        }
    }
    (None, dropped)
}

/// RED's average, and with it the first drop, after idle time, at another rate, with other settings:
/// no drop below `min`, none missing above `max`, and none later than the listing has it.
#[test]
fn red_begins_as_the_paper_lists_it() {
    let mut all_dropped = 0;
    for seed in 0..60 {
        let (wrong, dropped) = red_breaks(seed, RedFault::None);
        assert_eq!(wrong, None);
        all_dropped += dropped;
    }
    assert!(all_dropped > 2_000, "{all_dropped} drops");
    for fault in [RedFault::StandsWhileIdle, RedFault::ForgetsAtChange] {
        let is_found = (0..20).any(|seed| red_breaks(seed, fault).0.is_some());
        assert!(is_found, "{fault:?} is found");
    }
}

/// How late the kernel asks for the next packet, about.
const LATE: Duration = Duration::from_nanos(4_800);

/// The packets that a discipline drops of those of `linux-pie.md`. Its queue was made so long before
/// the begin that the first update comes when it came in the kernel.
fn lost_by(text: &str) -> Vec<u64> {
    let spec: QueueSpec = text.parse().expect("legal");
    let mut scheduler = spec.discipline.build::<u64>(Seed::new(1)).expect("legal");
    let begin = Instant::from_nanos(1 << 34);
    let first_update = Duration::from_nanos(488_351_871);
    let made = (begin + first_update).since(Instant::ZERO + Duration::from_millis(512));
    assert_eq!(scheduler.dequeue(Instant::ZERO + made), None);
    let mut free_at = begin;
    let mut lost = Vec::new();
    for number in 0..2_000 {
        let after_first = if number > 0 { 50 } else { 0 };
        let now = begin + Duration::from_micros(1_000 + after_first + 1_300 * number);
        while free_at + LATE < now {
            match scheduler.dequeue(free_at + LATE) {
                Some(_) => free_at += Duration::from_millis(2),
                None => free_at = now,
            }
        }
        let packet = Packet::new(FlowId(0), 1_000, number);
        scheduler.enqueue(now, packet).expect("taken");
        while let Some((packet, _)) = scheduler.take_dropped() {
            lost.push(packet.payload);
        }
    }
    lost
}

/// The kernel's drops from the first on, packet by packet: none in the first half second, and more
/// than by the RFC in the next.
#[test]
fn pie_linux_drops_what_the_kernel_dropped() {
    let mut kernels = Vec::new();
    for line in include_str!("../traces/linux-pie.md").lines().skip(6) {
        kernels.extend(
            line.split(' ')
                .map(|number| number.parse::<u64>().expect("a number")),
        );
    }
    assert_eq!(lost_by("pie linux"), kernels);
    assert_eq!(lost_by("fq_pie linux"), kernels, "of one flow");
    let rfcs = lost_by("pie");
    let in_half_a_second = |lost: &[u64]| lost.iter().filter(|number| **number < 384).count();
    assert_eq!(in_half_a_second(&kernels), 0);
    assert!(in_half_a_second(&rfcs) > 0, "the RFC begins earlier");
}

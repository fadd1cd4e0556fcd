//! FQ-CoDel: the claims of `fq_codel.rs`, and disciplines that break them.

use std::collections::VecDeque;

use proptest::prelude::*;
use roundelay::schedulers::{Discipline, fifo, fq_codel, sfq};
use roundelay::{
    Backlog, Buffer, DropReason, Duration, Ecn, FlowId, Footprint, Instant, Limit, Observer,
    Packet, Port, QueueSpec, Rate, Refused, Scheduler,
};
use roundelay::{Control, Seed};

use crate::theorems::sfq::{is_as_chance_has_it, meet};

const LEN: u32 = 1514;

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn build(config: fq_codel::Config) -> fq_codel::FqCodel<u64> {
    config.build(Seed::new(1)).expect("legal parameters")
}

fn without_drops() -> fq_codel::Config {
    fq_codel::Config {
        target: Duration::from_secs(3600),
        ..Default::default()
    }
}

/// The slots in which flow 4 is offered a packet.
pub(crate) type Offers<'a> = &'a dyn Fn(u64) -> bool;

/// Packets sent for each of five flows in `slots` slots, one packet each: flows 0 to 3 always have
/// packets, flow 4 gets one when `offers` is true.
pub(crate) fn shares_beside_on_off(
    scheduler: &mut impl Scheduler<u64>,
    slots: u64,
    offers: Offers,
) -> [u64; 5] {
    shares_beside_backlogs_of(3, scheduler, slots, offers)
}

/// The same, flows 0 to 3 with this many packets each.
pub(crate) fn shares_beside_backlogs_of(
    packets: u32,
    scheduler: &mut impl Scheduler<u64>,
    slots: u64,
    offers: Offers,
) -> [u64; 5] {
    let mut sent = [0; 5];
    for flow in (0..packets).flat_map(|_| 0..4) {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, 0))
                .is_ok()
        );
    }
    for slot in 0..slots {
        if offers(slot) {
            assert!(
                scheduler
                    .enqueue(millis(slot), Packet::new(FlowId(4), LEN, slot))
                    .is_ok()
            );
        }
        let flow = scheduler
            .dequeue(millis(slot))
            .expect("work-conserving")
            .flow;
        sent[flow.index()] += 1;
        if flow.0 < 4 {
            assert!(
                scheduler
                    .enqueue(millis(slot), Packet::new(flow, LEN, slot))
                    .is_ok()
            );
        }
    }
    sent
}

/// The arrival patterns found by FPerf's search, and their neighbours: silence, then a packet every
/// `gap` slots.
pub(crate) fn fperf_patterns() -> impl Iterator<Item = (u64, u64)> {
    (0..10).flat_map(|start| (1..6).map(move |gap| (start, gap)))
}

/// The most that flow 4 gets in these patterns, beside flows with this many packets each.
pub(crate) fn worst_on_off_share<S: Scheduler<u64>>(
    packets: u32,
    slots: u64,
    build: impl Fn() -> S,
) -> u64 {
    let share = |(start, gap): (u64, u64)| {
        let offers = |slot: u64| slot >= start && (slot - start).is_multiple_of(gap);
        shares_beside_backlogs_of(packets, &mut build(), slots, &offers)[4]
    };
    let worst = fperf_patterns().map(share).max().expect("patterns");
    assert!(
        worst >= slots / 8,
        "an on-off flow that asks for its share gets much of it"
    );
    worst
}

/// FQ-CoDel without CoDel and with a fault: a flow counts as idle as soon as it has no packet, and
/// is new with the next.
struct IdleAtOnce {
    quantum: i64,
    queues: [VecDeque<Packet<u64>>; 5],
    deficits: [i64; 5],
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
}

impl IdleAtOnce {
    fn new(quantum: u32) -> Self {
        let (new_flows, old_flows) = (VecDeque::new(), VecDeque::new());
        Self {
            quantum: quantum.into(),
            queues: Default::default(),
            deficits: [0; 5],
            new_flows,
            old_flows,
        }
    }
}

impl Scheduler<u64> for IdleAtOnce {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        let number = packet.flow.index();
        if self.queues[number].is_empty() {
            self.deficits[number] = self.quantum;
            self.new_flows.push_back(number);
        }
        self.queues[number].push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        loop {
            let list = if self.new_flows.is_empty() {
                &mut self.old_flows
            } else {
                &mut self.new_flows
            };
            let number = *list.front()?;
            if self.deficits[number] <= 0 {
                list.pop_front();
                self.deficits[number] += self.quantum;
                self.old_flows.push_back(number);
                continue;
            }
            let packet = self.queues[number].pop_front()?;
            self.deficits[number] -= i64::from(packet.len);
            if self.queues[number].is_empty() {
                list.pop_front();
            }
            return Some(packet);
        }
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        None
    }

    fn backlog(&self) -> Backlog {
        let packets = self.queues.iter().map(VecDeque::len).sum::<usize>() as u64;
        Backlog {
            packets,
            bytes: packets * u64::from(LEN),
        }
    }
}

impl Control for IdleAtOnce {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// FPerf (NSDI 2023) found that a flow counted as idle when empty takes more than its share, up to
/// all of the link. Linux's SFQ had this fault for a while in 2012.
#[test]
fn known_bug_30_on_off_flow_gets_its_share() {
    for (slots, packets) in [(14, 1), (1004, 1), (1004, 2), (1004, 4)] {
        let quantum = packets * LEN;
        let ours = || {
            build(fq_codel::Config {
                quantum,
                ..without_drops()
            })
        };
        let bound = slots / 5 + 2 * u64::from(packets);
        assert!(
            worst_on_off_share(3, slots, ours) <= bound,
            "quantum of {packets} packets"
        );
        assert!(
            worst_on_off_share(3, slots, || IdleAtOnce::new(quantum)) > bound,
            "the check finds the bug"
        );
    }
    let starved = shares_beside_on_off(&mut IdleAtOnce::new(LEN), 1004, &|slot| slot >= 5);
    assert!(starved[..4].iter().all(|&sent| sent <= 2), "{starved:?}");
}

proptest! {
    #[test]
    fn on_off_flows_of_any_pattern_get_their_share(offers in prop::collection::vec(any::<bool>(), 50..400), packets in 1u32..6) {
        let (slots, config) = (offers.len() as u64, fq_codel::Config { quantum: packets * LEN, ..without_drops() });
        let sent = shares_beside_on_off(&mut build(config), slots, &|slot| offers[slot as usize]);
        prop_assert!(sent[4] <= slots / 5 + 2 * u64::from(packets), "{:?}", sent);
    }
}

/// Largest difference between the service of two flows over any interval in which both have
/// packets. `steps`: arrivals, each followed by a departure if the flag is set. No two flows share
/// a queue: seed 1 keeps these few apart.
fn worst_difference(scheduler: &mut impl Scheduler<u64>, steps: &[(u32, u32, bool)]) -> i64 {
    const FLOWS: usize = 6;
    let mut waiting = [0u32; FLOWS];
    let mut worst = 0;
    let mut spread = [[(0i64, 0i64, 0i64); FLOWS]; FLOWS];
    for &(flow, len, serve) in steps {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), len, 0))
                .is_ok()
        );
        waiting[flow as usize] += 1;
        let Some(packet) = serve.then(|| scheduler.dequeue(Instant::ZERO)).flatten() else {
            continue;
        };
        let served = packet.flow.index();
        for other in 0..FLOWS {
            let (now, low, high) = &mut spread[served][other];
            if waiting[served] == 0 || waiting[other] == 0 || other == served {
                continue;
            }
            *now += i64::from(packet.len);
            *high = (*high).max(*now);
            worst = worst.max(*now - *low);
            let (now, low, high) = &mut spread[other][served];
            *now -= i64::from(packet.len);
            *low = (*low).min(*now);
            worst = worst.max(*high - *now);
        }
        waiting[served] -= 1;
        if waiting[served] == 0 {
            (0..FLOWS).for_each(|other| {
                spread[served][other] = (0, 0, 0);
                spread[other][served] = (0, 0, 0);
            });
        }
    }
    worst
}

/// Flow 0 sends long packets in bursts, the others random packets.
pub(crate) fn steps() -> impl Strategy<Value = Vec<(u32, u32, bool)>> {
    let arrival = prop_oneof![
        (0u32..1, 1400u32..1515, any::<bool>()),
        (0u32..6, 40u32..1515, prop::bool::weighted(0.8))
    ];
    prop::collection::vec(arrival, 100..800)
}

pub(crate) fn greedy_steps() -> Vec<(u32, u32, bool)> {
    (0..3000)
        .map(|step| {
            (
                if step % 7 == 0 { 1 + step % 5 } else { 0 },
                LEN,
                step > 500,
            )
        })
        .collect()
}

pub(crate) fn worst_difference_of(
    mut scheduler: impl Scheduler<u64>,
    steps: &[(u32, u32, bool)],
) -> i64 {
    worst_difference(&mut scheduler, steps)
}

proptest! {
    #[test]
    fn backlogged_queues_share_evenly(steps in steps(), quantum in 256u32..4000) {
        let scheduler = build(fq_codel::Config { quantum, ..without_drops() });
        prop_assert!(worst_difference_of(scheduler, &steps) <= 2 * i64::from(quantum + LEN));
    }
}

#[test]
fn fifo_does_not_share_evenly() {
    let bound = 2 * i64::from(LEN + LEN);
    assert!(worst_difference_of(build(without_drops()), &greedy_steps()) <= bound);
    let fifo = fifo::Config
        .build::<u64>(Seed::new(1))
        .expect("no parameters");
    assert!(
        worst_difference_of(fifo, &greedy_steps()) > bound,
        "the check finds unfairness"
    );
}

/// Most bytes sent by the link from the arrival of a sparse flow's burst until its first packet has
/// left. The bursts of `sparse` flows, `packets` packets of 600 bytes each, arrive at once, now and
/// then, beside 20 bulk flows.
fn sparse_wait(scheduler: &mut impl Scheduler<u64>, sparse: u32, packets: u64) -> u64 {
    let mut worst = 0;
    for flow in (0..20).flat_map(|flow| [flow; 10]) {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), LEN, 0))
                .is_ok()
        );
    }
    let (mut sent, mut arrived_at) = (0, 0);
    for slot in 0..3000u64 {
        if slot % 197 == 50 {
            arrived_at = sent;
            for (flow, number) in
                (100..100 + sparse).flat_map(|flow| (0..packets).map(move |number| (flow, number)))
            {
                assert!(
                    scheduler
                        .enqueue(millis(slot), Packet::new(FlowId(flow), 600, number))
                        .is_ok()
                );
            }
        }
        let packet = scheduler.dequeue(millis(slot)).expect("work-conserving");
        sent += u64::from(packet.len);
        if packet.flow.0 < 100 {
            assert!(
                scheduler
                    .enqueue(millis(slot), Packet::new(packet.flow, LEN, 0))
                    .is_ok()
            );
        } else if packet.payload == 0 {
            worst = worst.max(sent - arrived_at);
        }
    }
    worst
}

#[test]
fn sparse_flows_go_first() {
    for (sparse, packets) in [(1, 1), (2, 1), (8, 1), (2, 4), (8, 4)] {
        let bound = u64::from(sparse - 1) * u64::from(LEN + 600) + 600;
        assert!(
            sparse_wait(&mut build(without_drops()), sparse, packets) <= bound,
            "sparse flows wait for each other only"
        );
        let mut sfq = sfq::Config {
            depth: 1000,
            ..Default::default()
        }
        .build::<u64>(Seed::new(1))
        .expect("legal");
        assert!(
            sparse_wait(&mut sfq, sparse, packets) > bound,
            "the check finds a discipline without new flows first"
        );
    }
}

/// A link of a packet each 100 us, and a sender with 400 packets always waiting: the times of drops
/// and of marked departures.
struct Overload {
    dropped: Vec<Instant>,
    marked: Vec<Instant>,
    delivered: u64,
}

fn overload(config: fq_codel::Config, ecn: Ecn, millis: u64) -> Overload {
    let mut scheduler = build(config);
    let mut result = Overload {
        dropped: Vec::new(),
        marked: Vec::new(),
        delivered: 0,
    };
    for slot in 0..millis * 10 {
        let now = Instant::ZERO + Duration::from_micros(100 * slot);
        while scheduler.backlog().packets < 400 {
            let packet = Packet {
                ecn,
                ..Packet::new(FlowId(0), LEN, slot)
            };
            assert!(scheduler.enqueue(now, packet).is_ok());
        }
        let packet = scheduler.dequeue(now).expect("work-conserving");
        while scheduler.take_dropped().is_some() {
            result.dropped.push(now);
        }
        if packet.ecn == Ecn::Marked && ecn == Ecn::Capable {
            result.marked.push(now);
        }
        result.delivered += 1;
    }
    result
}

/// Whether signals come at t0 + sum of interval / sqrt(i), to within 1 % of the time since t0 and a
/// slot.
fn follows_the_control_law(signals: &[Instant]) -> bool {
    let mut expected = 0.0;
    signals.iter().enumerate().all(|(number, signal)| {
        let actual = signal.since(signals[0]).as_secs_f64();
        let fits = (actual - expected).abs() <= expected * 0.01 + 100e-6;
        expected += 0.1 / ((number + 1) as f64).sqrt();
        fits
    })
}

#[test]
fn drops_follow_the_control_law() {
    let result = overload(Default::default(), Ecn::NotCapable, 5_000);
    assert!(result.dropped.len() > 500 && result.marked.is_empty() && result.delivered == 50_000);
    assert!(follows_the_control_law(&result.dropped));
    // The first packet with a wait of 5 ms leaves at 5 ms, and the first drop is an interval later.
    assert_eq!(
        result.dropped[0].since(Instant::ZERO),
        Duration::from_millis(105)
    );
    let evenly: Vec<_> = (0..100).map(|number| millis(100 * number)).collect();
    assert!(
        !follows_the_control_law(&evenly),
        "the check finds another law"
    );
}

#[test]
fn capable_packets_are_marked_not_dropped() {
    let dropped = overload(Default::default(), Ecn::NotCapable, 2_000).dropped;
    let result = overload(Default::default(), Ecn::Capable, 2_000);
    assert!(result.dropped.is_empty());
    assert!(follows_the_control_law(&result.marked));
    assert_eq!(
        result.marked.len(),
        dropped.len(),
        "marks come when drops would"
    );
    let result = overload(Default::default(), Ecn::Marked, 2_000);
    assert!(
        result.dropped.is_empty(),
        "what another queue has marked says so already"
    );
    let result = overload(
        fq_codel::Config {
            ecn: false,
            ..Default::default()
        },
        Ecn::Capable,
        2_000,
    );
    assert!(!result.dropped.is_empty() && result.marked.is_empty());
}

#[test]
fn a_ce_threshold_marks_whoever_waited_longer() {
    let config = |threshold| fq_codel::Config {
        ce_threshold: Some(threshold),
        ..without_drops()
    };
    let marks = |threshold, ecn| overload(config(threshold), ecn, 1_000).marked.len() as u64;
    // 400 packets wait, 40 ms: the packets of the first slots have waited less.
    assert_eq!(marks(Duration::ZERO, Ecn::Capable), 9_999);
    assert_eq!(marks(Duration::from_millis(20), Ecn::Capable), 10_000 - 201);
    assert_eq!(marks(Duration::from_millis(41), Ecn::Capable), 0);
    assert_eq!(marks(Duration::ZERO, Ecn::NotCapable), 0);
}

/// CoDel on flows in turn, with one fault.
struct Careless {
    flaw: Flaw,
    queues: Vec<VecDeque<Packet<u64>>>,
    first_above: Vec<Option<Instant>>,
    next: usize,
    backlog: Backlog,
    longest_seen: u64,
    dropped: VecDeque<Packet<u64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    /// A drained queue still counts as a standing queue.
    KeepsStateWhenEmpty,
    /// Nothing is dropped while the backlog is below the longest packet ever seen.
    LongestPacketEver,
    /// Nothing is dropped while this one queue has less than a frame.
    OwnBacklog,
}

impl Careless {
    fn new(flaw: Flaw) -> Self {
        let (queues, first_above) = (vec![VecDeque::new(); 200], vec![None; 200]);
        Self {
            flaw,
            queues,
            first_above,
            next: 0,
            backlog: Backlog::default(),
            longest_seen: 0,
            dropped: VecDeque::new(),
        }
    }

    /// Drops every packet of a queue that has stood for an interval: more than CoDel drops.
    fn is_bad(&mut self, number: usize, now: Instant, packet: &Packet<u64>) -> bool {
        let own: u64 = self.queues[number]
            .iter()
            .map(|packet| u64::from(packet.len))
            .sum();
        let (waiting, enough) = match self.flaw {
            Flaw::KeepsStateWhenEmpty => (self.backlog.bytes, LEN.into()),
            Flaw::LongestPacketEver => (self.backlog.bytes, self.longest_seen),
            Flaw::OwnBacklog => (own, LEN.into()),
        };
        if now.since(packet.arrival) < Duration::from_millis(5) || waiting <= enough {
            self.first_above[number] = None;
            return false;
        }
        let is_bad =
            now >= *self.first_above[number].get_or_insert(now + Duration::from_millis(100));
        if self.queues[number].is_empty() && self.flaw != Flaw::KeepsStateWhenEmpty {
            self.first_above[number] = None;
        }
        is_bad
    }
}

impl Scheduler<u64> for Careless {
    fn enqueue(&mut self, now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        self.longest_seen = self.longest_seen.max(packet.len.into());
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        self.queues[packet.flow.index()].push_back(Packet {
            arrival: now,
            ..packet
        });
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<u64>> {
        while self.backlog.packets > 0 {
            self.next = (self.next + 1) % self.queues.len();
            let Some(packet) = self.queues[self.next].pop_front() else {
                continue;
            };
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.len);
            if !self.is_bad(self.next, now, &packet) {
                return Some(packet);
            }
            self.dropped.push_back(packet);
        }
        None
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn take_dropped(&mut self) -> Option<(Packet<u64>, DropReason)> {
        self.dropped
            .pop_front()
            .map(|packet| (packet, DropReason::Early))
    }
}

impl Control for Careless {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// Drops of each flow on an always busy link of 1 Mbit/s. `arrivals` returns the arrivals at each
/// departure: flow, length.
fn drops_on_a_slow_link(
    scheduler: &mut impl Scheduler<u64>,
    seconds: u64,
    mut arrivals: impl FnMut(Instant, Backlog) -> Vec<(u32, u32)>,
) -> Vec<u64> {
    let rate = Rate::from_bits_per_second(1_000_000).expect("not zero");
    let (mut now, mut drops) = (Instant::ZERO, vec![0; 200]);
    while now < millis(seconds * 1000) {
        for (flow, len) in arrivals(now, scheduler.backlog()) {
            assert!(
                scheduler
                    .enqueue(now, Packet::new(FlowId(flow), len, 0))
                    .is_ok()
            );
        }
        // Packets that arrive at the start of a transmission wait until its end.
        let packet = scheduler.dequeue(now);
        now += packet.map_or(Duration::from_millis(1), |packet| {
            rate.time_of(packet.len.into())
        });
        while let Some((packet, _)) = scheduler.take_dropped() {
            drops[packet.flow.index()] += 1;
        }
    }
    drops
}

/// Packets lost of eight flows with a packet each second beside two bulk flows; some of these
/// packets wait longer than the target.
fn pings_lost(scheduler: &mut impl Scheduler<u64>) -> u64 {
    let mut next_ping = millis(500);
    let arrivals = |now, backlog: Backlog| {
        let pings = if now >= next_ping { 10..18 } else { 0..0 };
        next_ping += Duration::from_secs(u64::from(!pings.is_empty()));
        let missing = 40u64.saturating_sub(backlog.packets) as u32;
        pings
            .map(|flow| (flow, 1000))
            .chain((0..missing).map(|number| (number % 2, LEN)))
            .collect()
    };
    let drops = drops_on_a_slow_link(scheduler, 60, arrivals);
    assert!(
        drops[..2].iter().all(|&drops| drops > 0),
        "bulk flows are dropped from"
    );
    drops[10..18].iter().sum()
}

/// Linux, until 2026: a flow of a packet a second, each with a wait a little above the target, lost
/// a quarter of its packets. Since then (7.0, and 6.1.192 among others) it loses none, and neither
/// does `linux`.
#[test]
fn known_bug_34_pings_are_never_dropped() {
    for linux in [false, true] {
        let config = fq_codel::Config {
            linux,
            ..Default::default()
        };
        assert_eq!(pings_lost(&mut build(config)), 0, "linux: {linux}");
    }
    assert!(
        pings_lost(&mut Careless::new(Flaw::KeepsStateWhenEmpty)) > 0,
        "the check finds the bug"
    );
}

#[derive(Default)]
struct Flows(Vec<u32>);

impl Observer<u64> for Flows {
    fn sent(&mut self, packet: Packet<u64>, _: Instant, _: Instant) {
        self.0.push(packet.flow.0);
    }

    fn dropped(&mut self, packet: Packet<u64>, _: Instant, reason: DropReason) {
        panic!("{:?} of {}", reason, packet.flow.0);
    }
}

/// A link that becomes free asks the queue also while it is empty, so the turn of the flow before
/// ends. One at which a packet arrives at this instant does not find it empty.
#[test]
fn a_pause_ends_a_flows_turn() {
    for linux in [false, true] {
        for (second_at, expected) in [(1_000, [0, 0, 1, 0]), (1_001, [0, 0, 0, 1])] {
            let config = fq_codel::Config {
                linux,
                ..without_drops()
            };
            let rate = "8mbit".parse().expect("a rate");
            let mut port = Port::new(build(config), Limit::of_packets(10), rate);
            let mut flows = Flows::default();
            for (micros, flow) in [(0, 0), (second_at, 0), (1_500, 1), (1_600, 0)] {
                let now = Instant::ZERO + Duration::from_micros(micros);
                port.advance(now, &mut flows);
                port.arrive(now, Packet::new(FlowId(flow), 1000, 0), &mut flows);
            }
            port.drain(&mut flows);
            assert_eq!(
                flows.0, expected,
                "linux: {linux}, second at {second_at} us"
            );
        }
    }
}

/// Linux, 2015 and 2026: after one 64 KB superframe, nothing was dropped while less than 64 KB
/// waited.
#[test]
fn known_bug_35_superframes_do_not_turn_codel_off() {
    // 64 KB once, then a standing queue of 100 packets of 100 bytes, 80 ms long.
    let once = |now: Instant, backlog: Backlog| {
        let first = (now == Instant::ZERO).then_some((0, 65_536));
        first
            .into_iter()
            .chain((backlog.packets..100).map(|_| (0, 100)))
            .collect()
    };
    assert!(drops_on_a_slow_link(&mut build(Default::default()), 10, once)[0] > 10);
    let drops = drops_on_a_slow_link(&mut Careless::new(Flaw::LongestPacketEver), 10, once)[0];
    assert_eq!(drops, 0, "the check finds the bug");
    // Both mixed, always.
    let mixed = |_: Instant, backlog: Backlog| {
        (backlog.packets..60)
            .map(|number| (0, if number % 10 == 0 { 65_536 } else { 100 }))
            .collect()
    };
    assert!(drops_on_a_slow_link(&mut build(Default::default()), 60, mixed)[0] > 10);
}

/// Linux, 2012: many short queues stood as long as one long queue, and nothing was dropped since
/// each had less than a frame.
#[test]
fn known_bug_36_many_short_queues_are_dropped_from() {
    let mut number = 0;
    let mut little_each = |_: Instant, backlog: Backlog| {
        let missing = 400u64.saturating_sub(backlog.packets);
        (0..missing)
            .map(|_| (number += 1, (number % 50, 100)).1)
            .collect()
    };
    let drops = drops_on_a_slow_link(&mut build(Default::default()), 20, &mut little_each);
    assert!(drops.iter().sum::<u64>() > 10);
    let drops = drops_on_a_slow_link(&mut Careless::new(Flaw::OwnBacklog), 20, &mut little_each);
    assert_eq!(drops.iter().sum::<u64>(), 0, "the check finds the bug");
}

/// Siblings starved, or freed memory was used, when a child dropped its last packet in `dequeue`
/// and the parent still counted the packet: after each call the backlog equals the packets
/// available.
#[test]
fn known_bugs_37_38_backlog_is_true_after_each_call() {
    let mut scheduler = build(fq_codel::Config {
        flows: 4,
        ..Default::default()
    });
    let (mut arrived, mut departed, mut dropped) = (0, 0, 0);
    for step in 0..40_000u64 {
        if step % 3 != 0 || step % 4096 < 2048 {
            assert!(
                scheduler
                    .enqueue(
                        millis(step),
                        Packet::new(FlowId(step as u32 % 7), 700, step)
                    )
                    .is_ok()
            );
            arrived += 1;
        }
        let had = scheduler.backlog();
        if step % 2 == 0 {
            let packet = scheduler.dequeue(millis(step));
            assert_eq!(
                packet.is_some(),
                !had.is_empty(),
                "what is counted can be had: CoDel never drops the last packet"
            );
            departed += u64::from(packet.is_some());
        }
        while scheduler.take_dropped().is_some() {
            dropped += 1;
        }
        assert_eq!(arrived, departed + dropped + scheduler.backlog().packets);
    }
    assert!(dropped > 100 && departed > 1000);
}

#[test]
fn known_bug_42_overflow_drops_a_batch_from_the_longest_queue() {
    for (drop_batch, expected) in [(1, 1), (7, 7), (64, 50), (65_535, 50)] {
        let scheduler = build(fq_codel::Config {
            drop_batch,
            ..without_drops()
        });
        let mut buffer = Buffer::new(Limit::of_packets(150), scheduler);
        let mut dropped = Vec::new();
        for number in 0..151u64 {
            let flow = if number < 100 {
                0
            } else {
                1 + number as u32 % 10
            };
            buffer.enqueue(
                Instant::ZERO,
                Packet::new(FlowId(flow), 1000, number),
                |packet, reason| dropped.push((packet, reason)),
            );
        }
        let numbers: Vec<_> = dropped.iter().map(|(packet, _)| packet.payload).collect();
        assert_eq!(
            numbers,
            (0..expected).collect::<Vec<_>>(),
            "from the head, up to half of the queue"
        );
        assert!(
            dropped.iter().skip(1).all(
                |(packet, reason)| packet.flow == FlowId(0) && *reason == DropReason::PushedOut
            )
        );
        assert_eq!(buffer.scheduler().backlog().packets, 151 - expected);
    }
}

#[test]
fn known_bug_39_limit_zero_and_one() {
    for limit in [0, 1] {
        let mut buffer = Buffer::new(Limit::of_packets(limit), build(Default::default()));
        let mut dropped = 0;
        for number in 0..100 {
            buffer.enqueue(
                millis(number),
                Packet::new(FlowId(number as u32 % 3), LEN, number),
                |_, _| dropped += 1,
            );
            assert!(buffer.scheduler().backlog().packets <= limit);
        }
        assert_eq!(dropped + buffer.scheduler().backlog().packets, 100);
    }
}

#[test]
fn known_bug_22_silly_parameters_are_refused() {
    let quantum = |quantum| {
        fq_codel::Config {
            quantum,
            ..Default::default()
        }
        .check()
        .is_ok()
    };
    assert!([256, 1514, 1 << 20].into_iter().all(quantum));
    assert!(
        ![0, 1, 255, (1 << 20) + 1, i32::MAX as u32, u32::MAX]
            .into_iter()
            .any(quantum)
    );
    let flows = |flows| {
        fq_codel::Config {
            flows,
            ..Default::default()
        }
        .check()
        .is_ok()
    };
    assert!(flows(1) && flows(65_536) && !flows(0) && !flows(65_537));
    let drop_batch = |drop_batch| {
        fq_codel::Config {
            drop_batch,
            ..Default::default()
        }
        .check()
        .is_ok()
    };
    assert!(drop_batch(1) && !drop_batch(0) && !drop_batch(1 << 16));
    let times = |target, interval| {
        fq_codel::Config {
            target,
            interval,
            ..Default::default()
        }
        .check()
        .is_ok()
    };
    let (short, long) = (Duration::from_micros(1), Duration::from_secs(3600));
    assert!(times(short, long) && times(long, short));
    assert!(
        !times(Duration::ZERO, long)
            && !times(short, Duration::ZERO)
            && !times(short, Duration::MAX)
    );
}

/// Linux, 2026: a packet with a length of a gigabyte, set by a size table, was credited quantum by
/// quantum.
#[test]
fn known_bug_21_a_huge_packet_is_not_credited_round_by_round() {
    let mut scheduler = build(fq_codel::Config {
        quantum: 256,
        ..without_drops()
    });
    for number in 0..2_000u64 {
        let packet = Packet::new(FlowId(number as u32 % 40), u32::MAX - number as u32, number);
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
    }
    // A walk one by one would take 2^24 rounds of 40 flows for each packet.
    assert_eq!(
        std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).count(),
        2_000
    );
}

/// A virtual machine that slept: one packet pays for the first hour. A queue in dropping state at
/// the start of the second hour has stood for an hour, and may lose the waiting packets, but no
/// later ones.
#[test]
fn an_hour_without_service_is_survived() {
    let mut scheduler = build(Default::default());
    for (hour, most_dropped) in [(0, 0), (1, 1), (2, 200)] {
        let now = millis(hour * 3_600_000);
        for _ in 0..100 {
            assert!(
                scheduler
                    .enqueue(now, Packet::new(FlowId(0), LEN, hour))
                    .is_ok()
            );
        }
        let mut dropped = 0;
        for packet in 0..20 {
            assert!(
                scheduler
                    .dequeue(now + Duration::from_millis(packet))
                    .is_some()
            );
            while let Some((packet, _)) = scheduler.take_dropped() {
                assert!(
                    packet.payload < hour,
                    "only what waited through the pause is dropped"
                );
                dropped += 1;
            }
        }
        assert!(dropped <= most_dropped, "{dropped} in hour {hour}");
    }
}

#[test]
fn memory_does_not_grow_with_flows() {
    let mut scheduler = build(Default::default());
    let before = scheduler.footprint();
    for flow in 0..100_000u32 {
        assert!(
            scheduler
                .enqueue(
                    Instant::ZERO,
                    Packet::new(FlowId(flow.wrapping_mul(0x9e37_79b9)), 100, 0)
                )
                .is_ok()
        );
        assert!(flow < 1000 || scheduler.evict().is_some());
        while scheduler.take_dropped().is_some() {}
    }
    assert_eq!(scheduler.footprint(), before);
    assert_eq!(before.bytes_per_flow, 0);
    let larger = build(fq_codel::Config {
        flows: 2048,
        ..Default::default()
    })
    .footprint();
    assert!(
        larger.fixed_bytes > before.fixed_bytes * 19 / 10,
        "the queues are what it takes"
    );
}

#[test]
fn it_reads_as_tc_writes_it() {
    let spec: QueueSpec =
        "fq_codel limit 1000 flows 64 target 3ms noecn ce_threshold 0us drop_batch 32"
            .parse()
            .expect("legal");
    assert_eq!(
        spec.discipline.to_string(),
        "fq_codel flows 64 target 3ms noecn ce_threshold 0s drop_batch 32"
    );
    assert_eq!(spec.limit_or_default().packets, 1000);
    let spec: QueueSpec = "fq_codel".parse().expect("legal");
    assert_eq!(
        (spec.discipline.to_string(), spec.limit_or_default()),
        (
            "fq_codel".to_owned(),
            Limit {
                packets: 10_240,
                bytes: 32 << 20
            }
        )
    );
    assert!("fq_codel quantum 255".parse::<QueueSpec>().is_err());
}

/// The hash has a key: nobody can choose flow numbers that share a queue with another flow for
/// every seed.
#[test]
fn two_flows_meet_in_one_of_so_many_seeds_as_there_are_queues() {
    const SEEDS: u32 = 5_000;
    for (a, b, flows) in [(0, 1, 16), (5, 5 + 16, 16), (7, 1 << 31, 2)] {
        let config = fq_codel::Config {
            flows,
            target: Duration::from_secs(3600),
            ..Default::default()
        };
        let meetings = (0..SEEDS)
            .filter(|seed| {
                meet(
                    &mut config.build(Seed::new((*seed).into())).expect("legal"),
                    a,
                    b,
                )
            })
            .count() as u32;
        assert!(
            is_as_chance_has_it(meetings, SEEDS, flows),
            "{a} and {b} met {meetings} times"
        );
    }
}

//! Schedulers by handle and by value: the same calls give the same packets in the same order.

use std::collections::BTreeSet;

use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::schedulers::custom::Order;
use roundelay::{
    Arena, Buffer, DropReason, Duration, Ecn, FlowConfig, FlowId, Handle, Instant, Limit, Packet,
    QueueSpec, Rate, Scheduler,
};
use roundelay_conformance::{subjects, urgent};

fn by_handle(discipline: &AnyDiscipline, seed: u64) -> Order {
    discipline
        .build_by_handle(Seed::new(seed))
        .expect("legal parameters")
}

/// The discipline's scheduler by handle, with handles in scattered order.
fn scattered<T>(discipline: &AnyDiscipline, seed: u64) -> Arena<T, Order> {
    Arena::scattered(by_handle(discipline, seed), 6)
}

/// The outcome of a packet, with its ECN field if sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent(u64, Ecn),
    Refused(u64),
    GivenUp(u64),
    Dropped(u64, DropReason),
    /// State after a call: packets, bytes, total weight, `has_decided`.
    Seen(u64, u64, Option<u64>, bool),
}

/// A scheduler under pseudo-random calls, the same in each run.
struct Run<S> {
    scheduler: S,
    random: u64,
    serial: u64,
    now: Instant,
    is_interior: bool,
    fates: Vec<Fate>,
}

impl<S: Scheduler<u64>> Run<S> {
    const FLOWS: u64 = 40;

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    fn packet(&mut self) -> Packet<u64> {
        self.serial += 1;
        let (serial, len, urgency) = (
            self.serial,
            40 + self.draw(1600) as u32,
            self.draw(256) as u8,
        );
        let flow = if self.draw(100) == 0 {
            FlowId(u32::MAX)
        } else {
            self.flow()
        };
        let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][self.draw(3) as usize];
        Packet {
            arrival: self.now,
            ecn,
            ..urgent(flow, len, serial, self.now, urgency)
        }
    }

    fn flow(&mut self) -> FlowId {
        FlowId(self.draw(Self::FLOWS) as u32)
    }

    fn call(&mut self) {
        let now = self.now;
        match self.draw(20) {
            0..=6 => {
                let packet = self.packet();
                let refused = self.scheduler.enqueue(now, packet).err();
                self.fates
                    .extend(refused.map(|refused| Fate::Refused(refused.packet.payload)));
            }
            7..=11 => {
                let sent = self.scheduler.dequeue(now);
                self.fates
                    .extend(sent.map(|packet| Fate::Sent(packet.payload, packet.ecn)));
            }
            12 => {
                let mut packets: Vec<_> = (0..self.draw(50)).map(|_| self.packet()).collect();
                self.scheduler.enqueue_burst(now, &mut packets);
                self.fates
                    .extend(packets.iter().map(|packet| Fate::Refused(packet.payload)));
            }
            13 => {
                let (most, mut sent) = (self.draw(50) as usize, Vec::new());
                self.scheduler.dequeue_burst(now, most, &mut sent);
                self.fates.extend(
                    sent.iter()
                        .map(|packet| Fate::Sent(packet.payload, packet.ecn)),
                );
            }
            14 => {
                let given_up = self.scheduler.evict();
                self.fates
                    .extend(given_up.map(|packet| Fate::GivenUp(packet.payload)));
            }
            15 if self.is_interior => {
                let flow = self.flow();
                let given_up = self.scheduler.evict_flow(flow);
                self.fates
                    .extend(given_up.map(|packet| Fate::GivenUp(packet.payload)));
            }
            16 if self.is_interior => {
                let mut next = self.packet();
                let refills = self.draw(4) > 0;
                let sent = self.scheduler.dequeue_refilled(now, &mut |flow| {
                    next.flow = flow;
                    refills.then_some(next)
                });
                self.fates
                    .extend(sent.map(|packet| Fate::Sent(packet.payload, packet.ecn)));
            }
            17 => {
                let (flow, weight, max_packet_len) = (
                    self.flow(),
                    1 + self.draw(8) as u32,
                    512 + self.draw(2000) as u32,
                );
                self.scheduler
                    .set_flow(
                        flow,
                        FlowConfig {
                            weight,
                            max_packet_len,
                        },
                    )
                    .expect("legal");
            }
            18 => {
                let flow = self.flow();
                self.scheduler.remove_flow(flow);
            }
            _ => {
                let wait = self.draw(20_000);
                self.now += Duration::from_micros(wait);
            }
        }
        let dropped = core::iter::from_fn(|| self.scheduler.take_dropped());
        self.fates
            .extend(dropped.map(|(packet, reason)| Fate::Dropped(packet.payload, reason)));
        self.scheduler.check_invariants();
        let (backlog, total_weight) = (self.scheduler.backlog(), self.scheduler.total_weight());
        self.fates.push(Fate::Seen(
            backlog.packets,
            backlog.bytes,
            total_weight,
            self.scheduler.has_decided(),
        ));
    }
}

fn fates(scheduler: impl Scheduler<u64>, seed: u64, is_interior: bool, calls: u32) -> Vec<Fate> {
    let mut run = Run {
        scheduler,
        random: seed,
        serial: 0,
        now: Instant::ZERO,
        is_interior,
        fates: Vec::new(),
    };
    run.scheduler
        .set_link_rate(Rate::from_bits_per_second(100_000_000).expect("a rate"));
    (0..calls).for_each(|_| run.call());
    run.fates
}

/// The same calls by value and by handle.
fn both(discipline: &AnyDiscipline, seed: u64) -> [Vec<Fate>; 2] {
    let (by_value, is_interior) = (
        discipline.build(Seed::new(seed)).expect("legal parameters"),
        discipline.info().interior,
    );
    [
        fates(by_value, seed, is_interior, 3_000),
        fates(scattered(discipline, seed), seed, is_interior, 3_000),
    ]
}

#[test]
fn by_handle_is_as_by_value() {
    for discipline in subjects() {
        for seed in 0..8 {
            let [by_value, by_handle] = both(&discipline, seed);
            let sent = by_value
                .iter()
                .filter(|fate| matches!(fate, Fate::Sent(..)))
                .count();
            assert!(
                sent > 300,
                "{discipline}, seed {seed}: only {sent} packets were sent"
            );
            let differs = by_value
                .iter()
                .zip(&by_handle)
                .position(|(value, handle)| value != handle);
            assert_eq!(differs, None, "{discipline}, seed {seed}");
            assert_eq!(by_value.len(), by_handle.len(), "{discipline}, seed {seed}");
        }
    }
}

/// Outcomes of packets in an overflowing buffer.
fn limited(scheduler: impl Scheduler<u64>, seed: u64, limit: Limit) -> Vec<Fate> {
    let (mut buffer, mut fates, mut random) = (Buffer::new(limit, scheduler), Vec::new(), seed);
    for serial in 0..2_000 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let now = Instant::ZERO + Duration::from_micros(50 * serial);
        let (flow, len, urgency) = (
            FlowId((random >> 40) as u32 % 9),
            64 + (random >> 50) as u32 % 1400,
            (random >> 33) as u8,
        );
        let mut dropped = Vec::new();
        let packet = urgent(flow, len, serial, now, urgency);
        buffer.enqueue(now, packet, |packet, reason| {
            dropped.push(Fate::Dropped(packet.payload, reason))
        });
        if random >> 60 < 9 {
            let sent = buffer.dequeue(now, |packet, reason| {
                dropped.push(Fate::Dropped(packet.payload, reason))
            });
            fates.extend(sent.map(|packet| Fate::Sent(packet.payload, packet.ecn)));
        }
        fates.append(&mut dropped);
    }
    fates
}

#[test]
fn by_handle_gives_up_what_by_value_does() {
    for discipline in subjects() {
        for (seed, limit) in (0..).zip([
            Limit::of_packets(30),
            Limit::of_bytes(20_000),
            Limit::of_packets(1),
        ]) {
            let by_value = limited(
                discipline.build(Seed::new(seed)).expect("legal parameters"),
                seed,
                limit,
            );
            assert!(
                by_value
                    .iter()
                    .any(|fate| matches!(fate, Fate::Dropped(..))),
                "{discipline}: nothing was dropped"
            );
            assert!(
                by_value == limited(scattered(&discipline, seed), seed, limit),
                "{discipline}, {limit}"
            );
        }
    }
}

#[test]
fn a_stray_handle_is_refused_or_costs_no_memory() {
    for discipline in subjects() {
        let mut scheduler = by_handle(&discipline, 1);
        for handle in [Handle(u32::MAX), Handle(Handle::LARGEST.0 + 1)] {
            let stray = Packet::new(FlowId(1), 100, handle);
            match scheduler.enqueue(Instant::ZERO, stray) {
                Err(refused) => assert_eq!(refused.packet, stray, "{discipline}"),
                Ok(()) => while scheduler.dequeue(Instant::ZERO).is_some() {},
            }
            while scheduler.take_dropped().is_some() {}
            assert!(scheduler.backlog().is_empty(), "{discipline}");
        }
    }
}

fn drr() -> AnyDiscipline {
    "drr".parse::<QueueSpec>().expect("known").discipline
}

/// Debug builds only: other builds would be silently wrong.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "enqueued while it still waits")]
fn a_handle_that_is_put_in_twice_is_told() {
    let mut drr = by_handle(&drr(), 1);
    for flow in [0, 1] {
        drr.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 100, Handle(7)))
            .expect("DRR takes every packet");
    }
}

/// Checks the comparison: another quantum gives other outcomes.
#[test]
fn another_order_is_seen() {
    let calls = |discipline: &AnyDiscipline| fates(scattered(discipline, 1), 1, false, 3_000);
    let coarse: AnyDiscipline = "drr quantum 3000"
        .parse::<QueueSpec>()
        .expect("legal")
        .discipline;
    assert_ne!(calls(&drr()), calls(&coarse));
}

/// A cancelled packet leaves at once and once, with its part of the backlog; all others come out as
/// before. The ticket of a packet that has left cancels nothing, also when the slot is used again.
#[test]
fn cancelled_packets_leave_once() {
    let mut all_cancelled = 0;
    for discipline in subjects() {
        let scheduler = scattered::<u64>(&discipline, 3);
        let mut run = Run {
            scheduler,
            random: 3,
            serial: 0,
            now: Instant::ZERO,
            is_interior: false,
            fates: Vec::new(),
        };
        let (mut tickets, mut left, mut cancelled) = (Vec::new(), BTreeSet::new(), 0);
        let mut leaves = |packet: Packet<u64>| {
            assert!(
                left.insert(packet.payload),
                "{discipline}: {} leaves twice",
                packet.payload
            )
        };
        let mut waits = 0_i64;
        for step in 0..4_000 {
            run.now += Duration::from_nanos(700_000);
            match run.draw(8) {
                0..=3 => {
                    let packet = run.packet();
                    match run.scheduler.enqueue(run.now, packet) {
                        Ok(()) => {
                            waits += 1;
                            tickets.extend(run.scheduler.newest().map(|ticket| (ticket, packet)));
                        }
                        Err(refused) => assert_eq!(refused.packet, packet, "{discipline}"),
                    }
                }
                4 | 5 if !tickets.is_empty() => {
                    let place = run.draw(tickets.len() as u64) as usize;
                    let (ticket, packet) = if step % 3 == 0 {
                        tickets[place]
                    } else {
                        tickets.swap_remove(place)
                    };
                    let before = run.scheduler.backlog();
                    if let Some(out) = run.scheduler.cancel(ticket) {
                        assert_eq!(
                            (out.payload, out.len),
                            (packet.payload, packet.len),
                            "{discipline}"
                        );
                        let after = run.scheduler.backlog();
                        assert_eq!(
                            (after.packets + 1, after.bytes + u64::from(out.len)),
                            (before.packets, before.bytes),
                            "{discipline}"
                        );
                        (waits, cancelled) = (waits - 1, cancelled + 1);
                        leaves(out);
                    }
                }
                6 => {
                    let mut burst = Vec::new();
                    run.scheduler.dequeue_burst(run.now, 3, &mut burst);
                    waits -= burst.len() as i64;
                    burst.into_iter().for_each(&mut leaves);
                }
                _ => {
                    let packet = if step % 40 == 0 {
                        run.scheduler.evict()
                    } else {
                        run.scheduler.dequeue(run.now)
                    };
                    waits -= i64::from(packet.is_some());
                    packet.into_iter().for_each(&mut leaves);
                }
            }
            while let Some((packet, _)) = run.scheduler.take_dropped() {
                waits -= 1;
                leaves(packet);
            }
            assert_eq!(
                run.scheduler.backlog().packets as i64,
                waits,
                "{discipline}, step {step}"
            );
        }
        assert!(cancelled > 0, "{discipline}");
        all_cancelled += cancelled;
        for _ in 0..8_000 {
            run.now += Duration::from_millis(50);
            let packet = run.scheduler.dequeue(run.now);
            waits -= i64::from(packet.is_some());
            packet.into_iter().for_each(&mut leaves);
            while let Some((packet, _)) = run.scheduler.take_dropped() {
                waits -= 1;
                leaves(packet);
            }
        }
        assert_eq!(
            (waits, run.scheduler.backlog().bytes),
            (0, 0),
            "{discipline}"
        );
    }
    assert!(all_cancelled > 3_000, "{all_cancelled}");
}

/// By handle, a node that refills with a handle out of range is told so: no packet is lost
/// silently.
#[test]
fn a_refill_that_does_not_fit_panics() {
    let interior = subjects()
        .into_iter()
        .filter(|discipline| discipline.info().interior);
    for discipline in interior {
        let lost = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut scheduler = discipline
                .build_by_handle(Seed::new(1))
                .expect("legal parameters");
            let packet = |handle| Packet::new(FlowId(0), 100, Handle(handle));
            scheduler
                .enqueue(Instant::ZERO, packet(0))
                .expect("an empty queue");
            scheduler.dequeue_refilled(Instant::ZERO, &mut |_| Some(packet(u32::MAX)));
        }));
        let message = lost.unwrap_err();
        let message = message.downcast_ref::<&str>().copied().unwrap_or_default();
        assert_eq!(message, "a refilled packet fits", "{discipline}");
    }
}

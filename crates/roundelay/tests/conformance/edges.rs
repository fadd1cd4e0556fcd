//! The smallest and largest of everything, for every discipline.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::schedulers::{AnyDiscipline, AnyScheduler};
use roundelay::{
    Acknowledgement, DropReason, Duration, FlowConfig, FlowId, Handle, Instant, Limit, Observer,
    Packet, Port, QueueSpec, Rate, Refusal, Scheduler, Slack,
};
use roundelay::{Control, Seed};
use roundelay_conformance::subjects;

fn build(discipline: &AnyDiscipline) -> AnyScheduler<u64> {
    discipline.build(Seed::new(9)).expect("legal parameters")
}

/// Known bug 20: one flow number meant "none" internally. Each flow number is accepted or refused,
/// and accepted packets come out.
#[test]
fn known_bug_20_no_flow_number_is_special() {
    let largest = FlowId::LARGEST_TABLED.0;
    for discipline in AnyDiscipline::all() {
        let mut scheduler = build(&discipline);
        for flow in [
            0,
            largest,
            largest + 1,
            largest + 2,
            1 << 31,
            u32::MAX - 1,
            u32::MAX,
        ] {
            let packet = Packet::new(FlowId(flow), 1000, 7);
            match scheduler.enqueue(Instant::ZERO, packet) {
                Ok(()) => assert_eq!(
                    scheduler.dequeue(Instant::ZERO),
                    Some(packet),
                    "{discipline}, flow {flow}"
                ),
                Err(refused) => assert!(
                    refused.packet == packet && flow > largest,
                    "{discipline}, flow {flow}"
                ),
            }
            let is_legal = scheduler
                .set_flow(FlowId(flow), FlowConfig::DEFAULT)
                .is_ok();
            assert!(is_legal || flow > largest, "{discipline}, flow {flow}");
            scheduler.remove_flow(FlowId(flow));
        }
        assert!(scheduler.backlog().is_empty());
    }
}

/// Disciplines with a flow table refuse flow numbers beyond the table: a stray number must not cost
/// all memory.
#[test]
fn disciplines_that_count_memory_by_flows_refuse_numbers_beyond_the_table() {
    let mut with_tables = 0;
    for discipline in AnyDiscipline::all() {
        let mut scheduler = build(&discipline);
        if scheduler.footprint().bytes_per_flow > 0 {
            with_tables += 1;
            let packet = Packet::new(FlowId(FlowId::LARGEST_TABLED.0 + 1), 1000, 7);
            assert_eq!(
                scheduler.enqueue(Instant::ZERO, packet),
                Err(packet.refused(Refusal::FlowNumber)),
                "{discipline}"
            );
        }
    }
    assert!(with_tables > 5, "{with_tables}");
}

/// Whether the reason to refuse a packet is one that it gives.
fn is_true<T>(reason: Refusal, packet: &Packet<T>, handle: Handle) -> bool {
    match reason {
        Refusal::TooLong { most } => packet.len > most,
        Refusal::FlowNumber => packet.flow > FlowId::LARGEST_TABLED,
        Refusal::HandleNumber => handle > Handle::LARGEST,
        Refusal::QueueFull | Refusal::NoQueueFree => true,
        _ => false,
    }
}

/// A refused packet comes back with a true reason, in any state, by value and by handle.
#[test]
fn refusals_have_reasons() {
    let mut seen = Vec::new();
    for discipline in subjects() {
        let mut by_value = build(&discipline);
        let mut by_handle = discipline
            .build_by_handle(Seed::new(9))
            .expect("legal parameters");
        let least = FlowConfig {
            max_packet_len: 512,
            ..FlowConfig::DEFAULT
        };
        by_value.set_flow(FlowId(3), least).expect("legal settings");
        by_handle
            .set_flow(FlowId(3), least)
            .expect("legal settings");
        for number in 0..3_000 {
            let flow = if number % 17 == 0 {
                FlowId(FlowId::LARGEST_TABLED.0 + number % 3)
            } else {
                FlowId(number * 3 % 5)
            };
            let len = [
                60,
                512,
                513,
                1_500,
                2_048,
                2_049,
                9_000,
                1 << 16,
                (1 << 16) + 1,
                1 << 20,
            ][number as usize * 7 % 10];
            let packet = Packet::new(flow, len, 0);
            let refused = by_value.enqueue(Instant::ZERO, packet).err();
            let refusal = refused.map(|refused| refused.reason);
            let handle = if number % 29 == 0 {
                Handle(Handle::LARGEST.0 + 1)
            } else {
                Handle(number)
            };
            let packet = Packet::new(flow, len, handle);
            let refused = by_handle.enqueue(Instant::ZERO, packet).err();
            let of_handle = refused.map(|refused| refused.reason);
            for reason in [refusal, of_handle].into_iter().flatten() {
                assert!(
                    is_true(reason, &packet, handle),
                    "{discipline}, {flow:?}, {len} bytes, {handle:?}: {reason:?}"
                );
                if !seen.contains(&reason) {
                    seen.push(reason);
                }
            }
            if number % 5 == 4 {
                let _ = (
                    by_value.dequeue(Instant::ZERO),
                    by_handle.dequeue(Instant::ZERO),
                );
            }
        }
    }
    let reasons = |like: fn(&Refusal) -> bool| seen.iter().filter(|reason| like(reason)).count();
    assert!(
        reasons(|reason| matches!(reason, Refusal::TooLong { .. })) >= 3,
        "{seen:?}"
    );
    for reason in [
        Refusal::FlowNumber,
        Refusal::HandleNumber,
        Refusal::QueueFull,
        Refusal::NoQueueFree,
    ] {
        assert!(seen.contains(&reason), "{reason}: {seen:?}");
    }
}

#[derive(Default)]
struct Count {
    sent: u64,
    dropped: u64,
}

impl Observer<u64> for Count {
    fn sent(&mut self, _packet: Packet<u64>, start: Instant, end: Instant) {
        assert!(end >= start);
        self.sent += 1;
    }

    fn dropped(&mut self, _packet: Packet<u64>, _now: Instant, _reason: DropReason) {
        self.dropped += 1;
    }
}

/// Known bug 46 and similar: rates at the limits of a division or product. A transmission may end
/// after the largest `Instant`.
#[test]
fn known_bug_46_rates_and_instants_at_the_edges() {
    for discipline in subjects() {
        for rate in [1, 8, 1_000_000_000_000, u64::MAX] {
            let rate = Rate::from_bits_per_second(rate).expect("not zero");
            let mut port = Port::new(build(&discipline), Limit::of_packets(100), rate);
            let mut count = Count::default();
            let times = [
                0,
                1,
                1_000_000,
                1 << 50,
                (1 << 63) - 1,
                1 << 63,
                u64::MAX - 1,
                u64::MAX,
            ];
            for (number, picos) in (0..).zip(times) {
                for len in [1, 1500, 1 << 16] {
                    port.advance(Instant::from_picos(picos), &mut count);
                    port.arrive(
                        Instant::from_picos(picos),
                        Packet::new(FlowId(number % 3), len, 0),
                        &mut count,
                    );
                }
            }
            port.drain(&mut count);
            let waits = port.scheduler().backlog().packets;
            assert_eq!(
                count.sent + count.dropped + waits,
                24,
                "{discipline}, {rate:?}"
            );
        }
    }
}

/// Backward steps of time are the caller's fault; the scheduler must not panic or lose packets.
#[test]
fn time_that_runs_backwards_loses_nothing() {
    for discipline in subjects() {
        let mut scheduler = build(&discipline);
        let (mut taken, mut gone) = (0, 0);
        for (number, millis) in (0..400u32).zip([900, 5, 700, 0, 100, 99].into_iter().cycle()) {
            let now = Instant::from_nanos(millis * 1_000_000);
            if number % 3 < 2 {
                taken += u32::from(
                    scheduler
                        .enqueue(now, Packet::new(FlowId(number % 4), 700, 0))
                        .is_ok(),
                );
            } else {
                gone += u32::from(scheduler.dequeue(now).is_some());
            }
            gone += std::iter::from_fn(|| scheduler.take_dropped()).count() as u32;
        }
        assert_eq!(
            u64::from(taken - gone),
            scheduler.backlog().packets,
            "{discipline}"
        );
        scheduler.check_invariants();
    }
}

/// The reasons of the drops in ten seconds of four flows at three times the link's rate, with a
/// flow beyond the tables and packets beyond all lengths among them.
fn reasons_of(discipline: &AnyDiscipline) -> BTreeSet<DropReason> {
    #[derive(Default)]
    struct Reasons(BTreeSet<DropReason>);
    impl Observer<u64> for Reasons {
        fn sent(&mut self, _packet: Packet<u64>, _start: Instant, _end: Instant) {}

        fn dropped(&mut self, _packet: Packet<u64>, _now: Instant, reason: DropReason) {
            self.0.insert(reason);
        }
    }
    let rate = Rate::from_bits_per_second(10_000_000).expect("not zero");
    let Limit { packets, bytes } = discipline.default_limit();
    let mut port = Port::new(
        build(discipline),
        Limit {
            packets,
            bytes: bytes.min(1 << 30),
        },
        rate,
    );
    let mut reasons = Reasons::default();
    for number in 0..37_500 {
        let now = Instant::from_nanos(number * 266_667);
        port.advance(now, &mut reasons);
        let (flow, len) = match number {
            9 => (FlowId::LARGEST_TABLED.0 + 1, 1000),
            10 => (0, 1 << 20),
            11 => (0, u32::MAX),
            _ => (number as u32 % 4, 1000),
        };
        let class = (number * 7 % 10) as u32;
        let slack = Slack::from_picos(i64::from(class) * 1_000_000_000);
        let deadline = now + Duration::from_millis(class.into());
        let ack = Acknowledgement {
            number: number as u32,
            is_bare: true,
            ..Acknowledgement::default()
        };
        port.scheduler_mut()
            .set_acknowledgement(FlowId(flow), Some(&ack));
        port.arrive(
            now,
            Packet {
                slack,
                deadline,
                priority: class,
                ..Packet::new(FlowId(flow), len, number)
            },
            &mut reasons,
        );
    }
    reasons.0
}

/// `verify` takes a drop for any other reason for a fault.
#[test]
fn disciplines_drop_for_the_reasons_stated() {
    let mut seen: BTreeMap<&str, BTreeSet<DropReason>> = BTreeMap::new();
    let variants = [
        "sfq flows 3",
        "mqfq cells 64",
        "cake bandwidth 1mbit",
        "cake ack-filter",
    ]
    .map(|text| text.parse::<QueueSpec>().expect("legal").discipline);
    for discipline in AnyDiscipline::all()
        .into_iter()
        .chain(subjects())
        .chain(variants)
    {
        seen.entry(discipline.name())
            .or_default()
            .extend(reasons_of(&discipline));
    }
    for discipline in AnyDiscipline::all() {
        let stated: BTreeSet<_> = discipline.info().drops.iter().copied().collect();
        assert_eq!(
            seen[discipline.name()],
            stated,
            "{discipline}: its DROPS must say so"
        );
        assert!(
            discipline
                .info()
                .bounds
                .iter()
                .all(|reason| stated.contains(reason)),
            "{discipline}: BOUNDS are among DROPS"
        );
    }
}

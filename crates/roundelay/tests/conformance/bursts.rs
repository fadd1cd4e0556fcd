//! Bursts: `enqueue_burst` and `dequeue_burst` equal single calls in the same order.

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Control, Seed};
use roundelay::{DropReason, Duration, FlowConfig, FlowId, Instant, Packet, Scheduler, Slack};
use roundelay_conformance::subjects;

/// The outcome of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent(u64),
    Refused(u64),
    Dropped(u64, DropReason),
}

/// Pseudo-random numbers, the same in each run.
fn draw(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Packets with one arrival time, some with flow numbers beyond the flow tables.
fn arrivals(random: &mut u64, serial: &mut u64, now: Instant) -> Vec<Packet<u64>> {
    let packets = draw(random) % 40;
    let mut packet = || {
        *serial += 1;
        let stray = draw(random).is_multiple_of(64);
        let flow = if stray {
            FlowId(FlowId::LARGEST_TABLED.0 + 1)
        } else {
            FlowId((draw(random) % 90) as u32)
        };
        let (priority, slack) = (
            (draw(random) % 4) as u32,
            Slack::of(Duration::from_micros(draw(random) % 50)),
        );
        Packet {
            arrival: now,
            priority,
            slack,
            ..Packet::new(flow, 64 + (draw(random) % 1437) as u32, *serial)
        }
    };
    (0..packets).map(|_| packet()).collect()
}

fn take_dropped(scheduler: &mut impl Scheduler<u64>, fates: &mut Vec<Fate>) {
    fates.extend(
        core::iter::from_fn(|| scheduler.take_dropped())
            .map(|(packet, reason)| Fate::Dropped(packet.payload, reason)),
    );
}

/// Runs the same arrivals and departures in bursts or one by one. Packets dropped in a burst are
/// listed after the burst.
fn fates(discipline: &AnyDiscipline, in_bursts: bool) -> Vec<Fate> {
    let mut scheduler = discipline.build(Seed::new(1)).expect("legal parameters");
    let weights = (0..90).map(|flow| {
        (
            FlowId(flow),
            FlowConfig {
                weight: 1 + flow % 5,
                ..FlowConfig::DEFAULT
            },
        )
    });
    weights.for_each(|(flow, config)| scheduler.set_flow(flow, config).expect("a legal weight"));
    let (mut random, mut serial, mut now, mut fates) = (1, 0, Instant::ZERO, Vec::new());
    for _ in 0..150 {
        now += Duration::from_micros(draw(&mut random) % 300);
        let mut packets = arrivals(&mut random, &mut serial, now);
        let most = draw(&mut random) as usize % 40;
        if in_bursts {
            scheduler.enqueue_burst(now, &mut packets);
        } else {
            packets.retain(|packet| scheduler.enqueue(now, *packet).is_err());
        }
        fates.extend(packets.iter().map(|packet| Fate::Refused(packet.payload)));
        take_dropped(&mut scheduler, &mut fates);
        scheduler.check_invariants();
        let mut sent = Vec::new();
        if in_bursts {
            scheduler.dequeue_burst(now, most, &mut sent);
        } else {
            sent.extend(core::iter::from_fn(|| scheduler.dequeue(now)).take(most));
        }
        fates.extend(sent.iter().map(|packet| Fate::Sent(packet.payload)));
        take_dropped(&mut scheduler, &mut fates);
        scheduler.check_invariants();
    }
    fates
}

#[test]
fn a_burst_is_the_single_calls() {
    for discipline in subjects() {
        let (bursts, singles) = (fates(&discipline, true), fates(&discipline, false));
        let sent = singles
            .iter()
            .filter(|fate| matches!(fate, Fate::Sent(_)))
            .count();
        assert!(sent > 20, "{discipline}: only {sent} packets were sent");
        assert_eq!(bursts, singles, "{discipline}");
    }
}

#[test]
fn a_burst_takes_no_more_than_is_asked_for() {
    for discipline in subjects() {
        let mut scheduler = discipline
            .build::<u64>(Seed::new(1))
            .expect("legal parameters");
        let mut packets: Vec<_> = (0..20)
            .map(|serial| Packet::new(FlowId(serial as u32 % 7), 1000, serial))
            .collect();
        scheduler.enqueue_burst(Instant::ZERO, &mut packets);
        let waiting = scheduler.backlog().packets;
        let mut sent = vec![Packet::new(FlowId(9), 1, 99)];
        scheduler.dequeue_burst(Instant::ZERO, 0, &mut sent);
        assert_eq!(
            (sent.len(), scheduler.backlog().packets),
            (1, waiting),
            "{discipline}"
        );
        scheduler.dequeue_burst(Instant::ZERO, 2, &mut sent);
        assert!(
            sent.len() <= 3 && sent[0].payload == 99,
            "{discipline}: {} packets",
            sent.len()
        );
    }
}

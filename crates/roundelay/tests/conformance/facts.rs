//! Facts that a discipline states about itself, beside what its scheduler does.

use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Linux, LinuxFlows, LinuxLimit, Queues};
use roundelay::{Control, Duration, FlowId, Instant, Packet, Scheduler, Seed, Slack};

fn build(discipline: &AnyDiscipline) -> AnyScheduler<u32> {
    discipline.build(Seed::new(9)).expect("legal parameters")
}

/// Three flows with forty packets each, flow after flow. The last packets are the most urgent ones in
/// every way.
fn load() -> Vec<Packet<u32>> {
    let mut packets = Vec::new();
    for number in 0..120 {
        let urgency = 120 - number;
        packets.push(Packet {
            priority: urgency,
            slack: Slack::of(Duration::from_millis(u64::from(urgency))),
            deadline: Instant::from_nanos(u64::from(urgency)),
            ..Packet::new(FlowId(number / 40), 500, number)
        });
    }
    packets
}

/// Payloads in the order of departure.
fn departures(scheduler: &mut AnyScheduler<u32>) -> Vec<u32> {
    for packet in load() {
        scheduler
            .enqueue(Instant::ZERO, packet)
            .expect("a legal packet");
    }
    let mut order = Vec::new();
    while let Some(packet) = scheduler.dequeue(Instant::ZERO) {
        order.push(packet.payload);
    }
    order
}

#[test]
fn one_queue_keeps_the_order_of_arrival_and_others_do_not() {
    for discipline in AnyDiscipline::all() {
        let order = departures(&mut build(&discipline));
        assert!(order.len() > 15, "{discipline} drops most packets");
        assert_eq!(
            order.is_sorted(),
            discipline.info().queues == Queues::One,
            "{discipline}: {order:?}"
        );
    }
}

/// By the record that each flow needs, and by the list of a flow's queues.
#[test]
fn queues_for_flows_are_those_of_the_scheduler() {
    for discipline in AnyDiscipline::all() {
        let mut scheduler = build(&discipline);
        let is_hashed = !scheduler.queues_of(FlowId(0)).is_empty();
        let has_records = scheduler.footprint().bytes_per_flow > 0;
        departures(&mut scheduler);
        match discipline.info().queues {
            Queues::Hashed => assert!(is_hashed && !has_records, "{discipline}"),
            Queues::PerFlow => assert!(!is_hashed && has_records, "{discipline}"),
            Queues::Sorted => assert!(!is_hashed, "{discipline}"),
            Queues::One => {}
        }
    }
}

/// Payloads in the order of departure, where twice as much comes as leaves: from 1,500 flows, so that
/// some meet in every table, and for so long that queue management drops some.
fn overload(discipline: &AnyDiscipline, seed: u64) -> Vec<u32> {
    let mut scheduler: AnyScheduler<u32> =
        discipline.build(Seed::new(seed)).expect("legal parameters");
    let mut order = Vec::new();
    for number in 0..6000 {
        let now = Instant::ZERO + Duration::from_millis(u64::from(number));
        let packet = Packet {
            arrival: now,
            priority: number % 8,
            ..Packet::new(FlowId(number * number % 3001), 500, number)
        };
        // A packet that is dropped, or refused, does not leave.
        _ = scheduler.enqueue(now, packet);
        if number % 2 == 0
            && let Some(packet) = scheduler.dequeue(now)
        {
            order.push(packet.payload);
        }
    }
    order
}

#[test]
fn other_seeds_change_what_reads_a_seed_and_nothing_else() {
    for discipline in AnyDiscipline::all() {
        let orders: Vec<_> = (1..=3).map(|seed| overload(&discipline, seed)).collect();
        let is_changed = orders[1..].iter().any(|order| *order != orders[0]);
        assert_eq!(is_changed, discipline.info().reads_seed, "{discipline}");
    }
}

#[test]
fn qdiscs_whose_classes_have_queues_have_no_limit() {
    for discipline in AnyDiscipline::all() {
        if let Linux::Qdisc { flows, limit, .. } = discipline.info().linux {
            assert_eq!(
                flows == LinuxFlows::Classes,
                limit == LinuxLimit::OfClasses,
                "{discipline}"
            );
        }
    }
}

//! Ranked disciplines: common checks, packet by packet, that each departure and each eviction is
//! the packet chosen by the rule among all waiting packets.

use proptest::prelude::*;
use roundelay::{Buffer, DropReason, Duration, FlowId, Instant, Limit, Packet, Scheduler, Slack};

/// An operation on a scheduler.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Arrive {
        flow: u32,
        len: u32,
        priority: u32,
        slack: i64,
        deadline: u64,
    },
    Leave,
    Evict,
    Wait(u64),
}

/// Few priorities and few deadlines, to make many equal; slack from late to plenty, to make elapsed
/// time matter.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrival = (0u32..5, 40u32..1515, 0u32..6, -20i64..20, 0u64..12).prop_map(
        |(flow, len, priority, slack, deadline)| Step::Arrive {
            flow,
            len,
            priority,
            slack: slack * 500_000,
            deadline: deadline * 1_000_000,
        },
    );
    let step = prop_oneof![
        6 => arrival,
        4 => Just(Step::Leave),
        1 => Just(Step::Evict),
        4 => (0u64..4).prop_map(|halves| Step::Wait(halves * 500_000)),
    ];
    prop::collection::vec(step, 1..300)
}

/// A fixed list of steps, for disciplines that must fail.
pub(crate) fn fixed_steps() -> Vec<Step> {
    let step = |number: u32| match number % 3 {
        0 | 1 => Step::Arrive {
            flow: number * 7 % 5,
            len: 40 + number * number * 397 % 1400,
            priority: number * 11 % 7,
            slack: (i64::from(number * 13 % 40) - 20) * 500_000,
            deadline: u64::from(number * 17 % 12) * 1_000_000,
        },
        _ if number.is_multiple_of(5) => Step::Evict,
        _ => Step::Leave,
    };
    (0..300)
        .flat_map(|number| [step(number), Step::Wait(u64::from(number % 4) * 500_000)])
        .collect()
}

/// Whether a scheduler always takes the packet chosen by `next`, and evicts the one chosen by
/// `victim`, among the waiting packets in the order of arrival.
pub(crate) fn obeys(
    mut scheduler: impl Scheduler<u64>,
    steps: &[Step],
    next: impl Fn(&[Packet<u64>]) -> Option<usize>,
    victim: impl Fn(&[Packet<u64>]) -> Option<usize>,
) -> bool {
    let (mut now, mut waiting) = (Instant::ZERO, Vec::new());
    let agrees =
        |scheduler: &mut dyn FnMut() -> Option<Packet<u64>>,
         at: Option<usize>,
         waiting: &mut Vec<Packet<u64>>| { scheduler() == at.map(|at| waiting.remove(at)) };
    for (number, step) in (0..).zip(steps) {
        let fine = match *step {
            Step::Arrive {
                flow,
                len,
                priority,
                slack,
                deadline,
            } => {
                let (slack, deadline) = (Slack::from_picos(slack), Instant::from_picos(deadline));
                let packet = Packet {
                    arrival: now,
                    priority,
                    slack,
                    deadline,
                    ..Packet::new(FlowId(flow), len, number)
                };
                waiting.push(packet);
                scheduler.enqueue(now, packet).is_ok()
            }
            Step::Wait(picos) => {
                now += Duration::from_picos(picos);
                true
            }
            Step::Leave => agrees(&mut || scheduler.dequeue(now), next(&waiting), &mut waiting),
            Step::Evict => agrees(&mut || scheduler.evict(), victim(&waiting), &mut waiting),
        };
        scheduler.check_invariants();
        if !fine {
            return false;
        }
    }
    while let Some(at) = next(&waiting) {
        if !agrees(&mut || scheduler.dequeue(now), Some(at), &mut waiting) {
            return false;
        }
    }
    scheduler.dequeue(now).is_none()
}

/// The packet with the smallest key; of several the first arrival.
pub(crate) fn smallest<K: Ord>(
    waiting: &[Packet<u64>],
    key: impl Fn(&Packet<u64>) -> K,
) -> Option<usize> {
    (0..waiting.len()).min_by_key(|at| (key(&waiting[*at]), *at))
}

/// The packet with the largest key; of several the last arrival.
pub(crate) fn largest<K: Ord>(
    waiting: &[Packet<u64>],
    key: impl Fn(&Packet<u64>) -> K,
) -> Option<usize> {
    (0..waiting.len()).max_by_key(|at| (key(&waiting[*at]), *at))
}

/// The last arrival.
pub(crate) fn newest(waiting: &[Packet<u64>]) -> Option<usize> {
    waiting.len().checked_sub(1)
}

/// The drops of a buffer of four packets when all these packets arrive at once, with reasons.
pub(crate) fn dropped(
    scheduler: impl Scheduler<u64>,
    packets: &[Packet<u64>],
) -> Vec<(u64, DropReason)> {
    let mut buffer = Buffer::new(Limit::of_packets(4), scheduler);
    let mut dropped = Vec::new();
    for (number, packet) in (0..).zip(packets) {
        let now = Instant::from_nanos(number);
        buffer.enqueue(
            now,
            Packet {
                payload: number,
                ..*packet
            },
            |packet, reason| dropped.push((packet.payload, reason)),
        );
    }
    dropped
}

/// The order of departure of packets that all wait at once.
pub(crate) fn order(
    mut scheduler: impl Scheduler<u64>,
    packets: &[Packet<u64>],
) -> Vec<Packet<u64>> {
    packets
        .iter()
        .for_each(|packet| assert!(scheduler.enqueue(Instant::ZERO, *packet).is_ok()));
    std::iter::from_fn(|| scheduler.dequeue(Instant::ZERO)).collect()
}

/// A numbered packet of a flow with a priority.
pub(crate) fn with_priority(flow: u32, priority: u32, number: u64) -> Packet<u64> {
    Packet {
        priority,
        ..Packet::new(FlowId(flow), 1000, number)
    }
}

/// The packets of all flows, given as lists of packet lengths, waiting at once and interleaved.
/// `priority` gives each packet's priority from the bytes of the whole flow and the bytes still to
/// be sent.
pub(crate) fn flows_at_once(
    flows: &[Vec<u32>],
    priority: impl Fn(u32, u32) -> u32,
) -> Vec<Packet<u64>> {
    let most = flows.iter().map(Vec::len).max().unwrap_or(0);
    let mut packets = Vec::new();
    for place in 0..most {
        for (flow, lens) in flows
            .iter()
            .enumerate()
            .filter(|(_, lens)| place < lens.len())
        {
            let priority = priority(lens.iter().sum(), lens[place..].iter().sum());
            packets.push(Packet {
                priority,
                ..Packet::new(FlowId(flow as u32), lens[place], packets.len() as u64)
            });
        }
    }
    packets
}

/// The order of departure of the same flows with one packet each in the queue; the next arrives
/// when the last one leaves. A packet's priority is the remaining bytes.
pub(crate) fn one_by_one(
    mut scheduler: impl Scheduler<u64>,
    flows: &[Vec<u32>],
) -> Vec<Packet<u64>> {
    let packet = |flow: usize, place: usize| {
        let lens = &flows[flow];
        Packet {
            priority: lens[place..].iter().sum(),
            ..Packet::new(FlowId(flow as u32), lens[place], place as u64)
        }
    };
    (0..flows.len())
        .for_each(|flow| assert!(scheduler.enqueue(Instant::ZERO, packet(flow, 0)).is_ok()));
    let mut sent = Vec::new();
    while let Some(leaving) = scheduler.dequeue(Instant::ZERO) {
        let (flow, next) = (leaving.flow.index(), leaving.payload as usize + 1);
        assert!(
            next == flows[flow].len()
                || scheduler.enqueue(Instant::ZERO, packet(flow, next)).is_ok()
        );
        sent.push(leaving);
    }
    sent
}

/// The sum of the flows' completion times, in bytes sent before the completion.
pub(crate) fn completion(sent: &[Packet<u64>], flows: usize) -> u64 {
    let (mut bytes, mut complete) = (0, vec![0; flows]);
    for packet in sent {
        bytes += u64::from(packet.len);
        complete[packet.flow.index()] = bytes;
    }
    complete.iter().sum()
}

/// The least sum of completion times of all orders of the flows, by trying each.
pub(crate) fn least_completion(sizes: &[u64]) -> u64 {
    fn least(sizes: &[u64], done: &mut Vec<usize>, bytes: u64) -> u64 {
        if done.len() == sizes.len() {
            return 0;
        }
        let others: Vec<_> = (0..sizes.len())
            .filter(|flow| !done.contains(flow))
            .collect();
        let after = |flow: usize| {
            done.push(flow);
            let end = bytes + sizes[flow];
            let sum = end + least(sizes, done, end);
            done.pop();
            sum
        };
        others.into_iter().map(after).min().expect("one is left")
    }
    least(sizes, &mut Vec::new(), 0)
}

/// Up to five flows of up to five packets.
pub(crate) fn some_flows() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(40u32..1515, 1..6), 1..6)
}

/// The arrival pattern of a queue for counting inversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coming {
    /// 50 at once; all leave before the next 50 arrive.
    InBursts,
    /// One a microsecond, and one leaves: 50 wait throughout.
    Steadily,
}

/// Inversions of a run of 5,000 packets: for each departure, the number of waiting packets with a
/// smaller rank. `packet` makes a packet with its rank out of a random number below 1000.
pub(crate) fn inversions(
    scheduler: &mut dyn Scheduler<u64>,
    coming: Coming,
    mut packet: impl FnMut(Instant, u64) -> (i128, Packet<u64>),
) -> usize {
    let (mut waiting, mut found, mut random) = (Vec::new(), 0, 12345u64);
    for number in 0..5_000 {
        let micros = if coming == Coming::Steadily {
            number
        } else {
            number / 50 * 50
        };
        let now = Instant::from_nanos(micros * 1_000);
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (rank, packet) = packet(now, (random >> 33) % 1_000);
        waiting.push((number, rank));
        assert!(
            scheduler
                .enqueue(
                    now,
                    Packet {
                        arrival: now,
                        payload: number,
                        ..packet
                    }
                )
                .is_ok()
        );
        let most = if coming == Coming::InBursts && number % 50 == 49 {
            0
        } else {
            50
        };
        while waiting.len() > most {
            let left = scheduler.dequeue(now).expect("packets wait");
            let at = waiting
                .iter()
                .position(|(number, _)| *number == left.payload)
                .expect("it waited");
            let (_, rank) = waiting.swap_remove(at);
            found += waiting.iter().filter(|(_, other)| *other < rank).count();
        }
    }
    found
}

/// A packet with up to 99.9 microseconds of slack; the rank is the instant when the slack is used
/// up.
pub(crate) fn with_slack(now: Instant, number: u64) -> (i128, Packet<u64>) {
    let slack = Slack::of(Duration::from_nanos(number * 100));
    (
        i128::from(now.as_picos()) + i128::from(slack.as_picos()),
        Packet {
            slack,
            ..Packet::new(FlowId(0), 1000, 0)
        },
    )
}

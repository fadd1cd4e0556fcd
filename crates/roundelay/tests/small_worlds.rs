//! Small worlds: every sequence of a few calls on every discipline, to cover cases missed by random
//! calls.

use std::collections::VecDeque;

use roundelay::schedulers::wf2q_plus::Wf2qPlus;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor, drr};
use roundelay::{
    Backlog, Ecn, FlowConfig, FlowId, Footprint, Instant, Packet, QueueSpec, Refused, Scheduler,
};
use roundelay::{Control, Seed};
use roundelay_conformance::{Audited, Operation, Violation};
use roundelay_reference::Wf2qPlus as Reference;

const FLOWS: u32 = 3;
const PACKETS: usize = 4;
const LENGTHS: [u32; 3] = [64, 700, 1500];
/// Calls in a sequence; one more for interchangeable flows in release builds. Remaining packets are
/// drained.
const CALLS: usize = 5;
const CALLS_OF_ALIKE: usize = if cfg!(debug_assertions) {
    CALLS
} else {
    CALLS + 1
};

/// Calls `visit` with every sequence of arrivals, departures and evictions, with up to four packets
/// of each of three flows. If flows are `alike`, their numbers follow the order of first arrival. A
/// departure or eviction on an empty scheduler comes first or not at all.
fn every_sequence(alike: bool, visit: &mut impl FnMut(&[Operation])) {
    extend(&mut Vec::new(), alike, visit);
}

fn extend(sequence: &mut Vec<Operation>, alike: bool, visit: &mut impl FnMut(&[Operation])) {
    if sequence.len() == if alike { CALLS_OF_ALIKE } else { CALLS } {
        return visit(sequence);
    }
    for operation in choices(sequence, alike) {
        sequence.push(operation);
        extend(sequence, alike, visit);
        sequence.pop();
    }
}

fn choices(sequence: &[Operation], alike: bool) -> Vec<Operation> {
    let mut packets = [0; FLOWS as usize];
    for operation in sequence {
        if let Operation::Enqueue { flow, .. } = operation {
            packets[*flow as usize] += 1;
        }
    }
    let seen = packets.iter().take_while(|packets| **packets > 0).count() as u32;
    let flows =
        (0..FLOWS).filter(|flow| packets[*flow as usize] < PACKETS && (!alike || *flow <= seen));
    let arrivals = flows.flat_map(|flow| {
        LENGTHS.map(|len| Operation::Enqueue {
            flow,
            len,
            ecn: Ecn::NotCapable,
            urgency: 0,
        })
    });
    let taken = sequence.len() - packets.iter().sum::<usize>();
    let can_take = sequence.is_empty() || packets.iter().sum::<usize>() > taken;
    let takes = if can_take {
        &[Operation::Dequeue, Operation::Evict][..]
    } else {
        &[]
    };
    arrivals.chain(takes.iter().copied()).collect()
}

/// Runs one sequence after `before` on a fresh scheduler.
fn run<S: Scheduler<u64>>(
    scheduler: S,
    reorders: bool,
    before: &[Operation],
    sequence: &[Operation],
) -> Result<(), Violation> {
    let mut audited = Audited::new(scheduler, reorders);
    before
        .iter()
        .try_for_each(|operation| audited.apply(*operation))?;
    for operation in sequence {
        audited.apply(*operation)?;
        audited.scheduler().check_invariants();
    }
    audited.drain()
}

struct Explore;

impl Visitor for Explore {
    type Output = u64;

    fn visit<D: Discipline>(self, discipline: &D) -> u64 {
        let weights = if D::WEIGHTED { &[4, 1, 2][..] } else { &[] };
        let set = |(flow, weight): (u32, &u32)| Operation::SetFlow {
            flow,
            config: FlowConfig {
                weight: *weight,
                ..FlowConfig::DEFAULT
            },
        };
        let before: Vec<_> = (0..).zip(weights).map(set).collect();
        let mut count = 0;
        every_sequence(!D::WEIGHTED, &mut |sequence| {
            count += 1;
            let outcome = run(
                discipline.build(Seed::new(1)).expect("legal parameters"),
                D::REORDERS,
                &before,
                sequence,
            );
            assert_eq!(outcome, Ok(()), "{discipline:?}: {sequence:?}");
        });
        count
    }
}

/// The registry, with fewer queues than flows in `sfq` and `fq_codel` for collisions, and `drr`
/// with a quantum of 1 byte.
fn subjects() -> Vec<AnyDiscipline> {
    let hashed = [
        "sfq divisor 2",
        "sfq divisor 4 depth 2 headdrop",
        "fq_codel flows 2 target 1us interval 1us",
        "drr quantum 1b",
    ];
    let linux = [
        "sfq divisor 2 linux",
        "sfq divisor 4 depth 2 headdrop linux",
        "fq_codel flows 2 linux",
        "qfq_plus linux",
        "qfq_plus aggregate 1 linux",
    ];
    let parse = |text: &str| text.parse::<QueueSpec>().expect("a legal spec").discipline;
    let plain = AnyDiscipline::all()
        .into_iter()
        .filter(|discipline| !["sfq", "fq_codel"].contains(&discipline.name()));
    plain
        .chain(hashed.map(parse))
        .chain(linux.map(parse))
        .collect()
}

#[test]
fn every_discipline_keeps_the_contract_in_every_small_world() {
    for discipline in subjects() {
        let count = discipline.visit(Explore);
        println!("{discipline}: {count} sequences");
        assert!(count > 5_000);
    }
}

/// Round robin with bug 19: a flow emptied by eviction stays in the ring and can enter the ring
/// twice.
#[derive(Default)]
struct Twice {
    queues: [VecDeque<Packet<u64>>; FLOWS as usize],
    ring: VecDeque<usize>,
}

impl Scheduler<u64> for Twice {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        let flow = packet.flow.index();
        if self.queues[flow].is_empty() {
            self.ring.push_back(flow);
        }
        self.queues[flow].push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        let flow = self.ring.pop_front()?;
        let packet = self.queues[flow].pop_front();
        if !self.queues[flow].is_empty() {
            self.ring.push_back(flow);
        }
        packet
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        self.queues
            .iter_mut()
            .max_by_key(|queue| queue.len())?
            .pop_back()
    }

    fn backlog(&self) -> Backlog {
        let packets = self.queues.iter().flatten();
        packets.fold(Backlog::default(), |sum, packet| Backlog {
            packets: sum.packets + 1,
            bytes: sum.bytes + u64::from(packet.len),
        })
    }
}

impl Control for Twice {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn a_flow_that_is_in_the_ring_twice_is_found() {
    let mut found = 0;
    every_sequence(true, &mut |sequence| {
        found += u32::from(run(Twice::default(), false, &[], sequence).is_err())
    });
    assert!(found > 0, "no small world shows the bug");
}

/// The first small world with a difference between a scheduler and the exact reference in the
/// packets served.
fn first_difference<S: Scheduler<u64>>(
    weights: [u32; 3],
    build: impl Fn() -> S,
) -> Option<Vec<Operation>> {
    let mut first = None;
    every_sequence(false, &mut |sequence| {
        if first.is_none() && !serves_alike(build(), &weights, sequence) {
            first = Some(sequence.to_vec());
        }
    });
    first
}

fn serves_alike<S: Scheduler<u64>>(
    mut scheduler: S,
    weights: &[u32],
    sequence: &[Operation],
) -> bool {
    let mut reference = Reference::new(weights);
    for (flow, weight) in (0..).map(FlowId).zip(weights) {
        scheduler
            .set_flow(
                flow,
                FlowConfig {
                    weight: *weight,
                    ..FlowConfig::DEFAULT
                },
            )
            .expect("a legal weight");
    }
    let now = Instant::ZERO;
    let rest = std::iter::repeat_n(&Operation::Dequeue, CALLS);
    sequence
        .iter()
        .chain(rest)
        .all(|operation| match *operation {
            Operation::Enqueue { flow, len, .. } => {
                reference.enqueue(FlowId(flow), len);
                scheduler
                    .enqueue(now, Packet::new(FlowId(flow), len, 0))
                    .is_ok()
            }
            Operation::Evict => scheduler
                .evict()
                .is_none_or(|victim| reference.evict(victim.flow) == Some(victim.len)),
            _ => {
                scheduler
                    .dequeue(now)
                    .map(|packet| (packet.flow, packet.len))
                    == reference.dequeue()
            }
        })
}

#[test]
fn wf2q_plus_equals_the_exact_reference_in_every_small_world() {
    for weights in [[1, 1, 1], [4, 1, 2], [3, 5, 7]] {
        assert_eq!(
            first_difference(weights, Wf2qPlus::default),
            None,
            "weights {weights:?}"
        );
    }
    let drr = || {
        drr::Config::default()
            .build(Seed::new(0))
            .expect("a legal quantum")
    };
    assert!(
        first_difference([4, 1, 2], drr).is_some(),
        "another discipline differs"
    );
}

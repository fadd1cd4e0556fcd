//! Check of a discipline: all mixes of random calls, several seeds, by value and by handle.

use std::ops::AddAssign;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Arena, ConfigError, FlowId, Instant, Packet, Scheduler};

use crate::audit::{Audited, Event, Operation, Violation};
use crate::calls::{Mix, operations};

/// Calls in a run.
const LENGTH: usize = 3_000;
/// Seeds of the calls of each mix.
const SEEDS: u64 = 6;
/// Slots of the arena by handle: 2^12, in scattered order.
const SLOT_BITS: u32 = 12;

/// A broken contract: the calls that show the fault, and the fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The configuration builds no scheduler.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A call broke the contract.
    #[error("{way}, mix {mix:?}, seed {seed}, call {call} ({operation:?}): {violation}")]
    Contract {
        /// `by value`, `by handle` or `without refused packets`.
        way: &'static str,
        /// The mix of calls.
        mix: Mix,
        /// The seed of the calls.
        seed: u64,
        /// The number of the call, from 0, in two rounds of 3,000. A round ends with dequeues until the
        /// queue is empty; a fault there has the number of the next call.
        call: usize,
        /// The call.
        operation: Operation,
        /// The fault.
        violation: Violation,
    },
    /// Two schedulers with the same seed and the same calls gave other packets.
    #[error("{what}, mix {mix:?}, seed {seed}: event {event} differs")]
    Differs {
        /// The two runs.
        what: &'static str,
        /// The mix of calls.
        mix: Mix,
        /// The seed of the calls.
        seed: u64,
        /// The number of the first event that differs, from 0.
        event: usize,
    },
    /// Nothing was ever sent.
    #[error("no packet was sent in mix {0:?}")]
    Silent(Mix),
    /// A burst gave other packets than single calls.
    #[error("enqueue_burst or dequeue_burst gives other packets than single calls, from packet {0} on")]
    Burst(usize),
}

/// Events of all runs of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Calls.
    pub calls: usize,
    /// Packets dequeued.
    pub sent: usize,
    /// Packets dropped or evicted.
    pub dropped: usize,
    /// Packets refused.
    pub refused: usize,
}

impl AddAssign<&[Event]> for Checked {
    fn add_assign(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Sent(_) => self.sent += 1,
                Event::Evicted(_) | Event::Dropped(_) => self.dropped += 1,
                Event::Refused(_) => self.refused += 1,
            }
        }
    }
}

/// Runs random calls on schedulers of the discipline and checks the contract after each call:
///
/// - packets and bytes are conserved, and packets return unchanged but for ECN's mark;
/// - packets of a flow leave in order, unless the discipline says otherwise;
/// - a backlogged scheduler sends, or names the time at which a packet may leave;
/// - a drained scheduler is as good as new;
/// - a refusal changes nothing;
/// - the same seed and the same calls give the same packets, by value and by handle;
/// - bursts equal single calls.
///
/// # Errors
/// The first broken rule, with the calls that show the fault.
///
/// # Panics
/// The scheduler returned a handle that does not wait, or panicked itself.
pub fn check(discipline: &AnyDiscipline) -> Result<Checked, Broken> {
    let mut checked = Checked::default();
    for mix in Mix::ALL {
        let mut sent = 0;
        for seed in 0..SEEDS {
            let run = Run { mix, seed, operations: operations(mix, seed, LENGTH), reorders: discipline.info().reorders };
            let (events, refused) = run.audit("by value", discipline.build(seed)?, &[])?;
            let (again, _) = run.audit("by value", discipline.build(seed)?, &[])?;
            run.equal("two runs", &events, &again)?;
            let arena = Arena::scattered(discipline.build_by_handle(seed)?, SLOT_BITS);
            let (by_handle, _) = run.audit("by handle", arena, &[])?;
            run.equal("by value and by handle", &events, &by_handle)?;
            // A perturbation happens in the first call at or after its time: without a refused call,
            // the next perturbation would come later.
            if !discipline.to_string().contains("perturb") {
                let (without, _) = run.audit("without refused packets", discipline.build(seed)?, &refused)?;
                run.equal("with and without refused packets", &accepted(&events), &without)?;
            }
            checked.calls += 2 * run.operations.len();
            let before = checked.sent;
            checked += &events[..];
            sent += checked.sent - before;
        }
        if sent == 0 {
            return Err(Broken::Silent(mix));
        }
    }
    bursts(discipline)?;
    Ok(checked)
}

/// Events without refusals.
fn accepted(events: &[Event]) -> Vec<Event> {
    events.iter().copied().filter(|event| !matches!(event, Event::Refused(_))).collect()
}

/// The calls of a run.
struct Run {
    mix: Mix,
    seed: u64,
    operations: Vec<Operation>,
    reorders: bool,
}

impl Run {
    /// Runs the calls twice, with a drain after each run: the drained scheduler should be as good as
    /// new. Arrivals listed in `left_out`, by the number of the call, do not happen. Returns the
    /// events and the refused arrivals.
    fn audit<S: Scheduler<u64>>(&self, way: &'static str, scheduler: S, left_out: &[usize]) -> Result<(Vec<Event>, Vec<usize>), Broken> {
        let mut audited = Audited::new(scheduler, self.reorders);
        let (mut left_out, mut refused) = (left_out.iter().peekable(), Vec::new());
        for round in 0..2 {
            let first = round * self.operations.len();
            for (call, operation) in (first..).zip(&self.operations) {
                if left_out.next_if_eq(&&call).is_some() {
                    audited.skip_serial();
                    continue;
                }
                let before = audited.events().len();
                audited.apply(*operation).map_err(|violation| self.broken(way, call, *operation, violation))?;
                if matches!(audited.events()[before..], [Event::Refused(_)]) {
                    refused.push(call);
                }
            }
            let drained = first + self.operations.len();
            audited.drain().map_err(|violation| self.broken(way, drained, Operation::Dequeue, violation))?;
            audited.scheduler().check_invariants();
        }
        Ok((audited.events().to_vec(), refused))
    }

    const fn broken(&self, way: &'static str, call: usize, operation: Operation, violation: Violation) -> Broken {
        Broken::Contract { way, mix: self.mix, seed: self.seed, call, operation, violation }
    }

    fn equal(&self, what: &'static str, one: &[Event], other: &[Event]) -> Result<(), Broken> {
        let differs = one.iter().zip(other).position(|(one, other)| one != other);
        match differs.or((one.len() != other.len()).then(|| one.len().min(other.len()))) {
            Some(event) => Err(Broken::Differs { what, mix: self.mix, seed: self.seed, event }),
            None => Ok(()),
        }
    }
}

/// Bursts and single calls, by value and by handle.
fn bursts(discipline: &AnyDiscipline) -> Result<(), Broken> {
    let singles = serials(discipline.build(1)?, false);
    let arena = || discipline.build_by_handle(1).map(Arena::new);
    for others in [serials(discipline.build(1)?, true), serials(arena()?, false), serials(arena()?, true)] {
        if singles != others {
            return Err(Broken::Burst(singles.iter().zip(&others).position(|(one, other)| one != other).unwrap_or(0)));
        }
    }
    Ok(())
}

/// The packets sent by a scheduler that gets 50 bursts of packets of 20 flows.
fn serials<S: Scheduler<u64>>(mut scheduler: S, in_bursts: bool) -> Vec<u64> {
    let mut sent = Vec::new();
    for burst in 0..50 {
        let now = Instant::from_picos(burst * 1_000_000);
        let packet = |serial: u64| Packet {
            arrival: now,
            ..Packet::new(FlowId((serial * 7 % 20) as u32), 64 + (serial * 131 % 1437) as u32, serial)
        };
        let mut packets: Vec<_> = (burst * 30..burst * 30 + 30).map(packet).collect();
        let most = burst as usize % 40;
        if in_bursts {
            scheduler.enqueue_burst(now, &mut packets);
            scheduler.dequeue_burst(now, most, &mut sent);
        } else {
            for packet in packets {
                let _refused = scheduler.enqueue(now, packet);
            }
            sent.extend(core::iter::from_fn(|| scheduler.dequeue(now)).take(most));
        }
        while scheduler.take_dropped().is_some() {}
    }
    sent.into_iter().map(|packet| packet.payload).collect()
}

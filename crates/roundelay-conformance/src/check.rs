//! Checks a discipline: random calls of all mixes, with several seeds, by value and by handle.

use std::cell::Cell;
use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{Arena, ConfigError, FlowId, Instant, Packet, Scheduler};

use crate::audit::{Audited, Event, Operation, Violation};
use crate::calls::{Mix, operations};

/// Calls in a round. A run has two rounds.
const LENGTH: usize = 3_000;
/// How many seeds each mix gets.
const SEEDS: u64 = 6;
/// The arena by handle has 2^12 slots in scattered order.
const SLOT_BITS: u32 = 12;

/// A broken contract, with the calls that show it. To debug a fault, [`check_run`] repeats the
/// calls for its mix and seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The configuration is illegal, so there is no scheduler.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A call broke the contract.
    #[error("{way}, mix {mix:?}, seed {seed}, call {call} ({operation:?}): {violation}")]
    Contract {
        /// The scheduler that got the calls.
        way: Way,
        /// The mix of calls.
        mix: Mix,
        /// The seed of the calls.
        seed: u64,
        /// The number of the call, from 0, over two rounds of 3,000. A round ends with dequeues
        /// until the queue is empty. If the fault is there, this is the number of the next call.
        call: usize,
        /// The call.
        operation: Operation,
        /// The fault.
        violation: Violation,
    },
    /// The scheduler panicked, because an index was out of range, a check of invariants failed, or
    /// it gave a handle that does not wait.
    #[error("{way}, mix {mix:?}, seed {seed}, call {call}: panic: {message}")]
    Panicked {
        /// The scheduler that got the calls.
        way: Way,
        /// The mix of calls.
        mix: Mix,
        /// The seed of the calls.
        seed: u64,
        /// The number of the call, as in [`Contract`](Self::Contract).
        call: usize,
        /// The panic's message.
        message: String,
    },
    /// Two schedulers with the same seed and the same calls gave different packets.
    #[error("{one} and {other}, mix {mix:?}, seed {seed}: event {event} differs")]
    Differs {
        /// The first scheduler.
        one: Way,
        /// The second scheduler.
        other: Way,
        /// The mix of calls.
        mix: Mix,
        /// The seed of the calls.
        seed: u64,
        /// The number of the first event that differs, from 0.
        event: usize,
    },
    /// No packet was ever sent in a mix.
    #[error("no packet was sent in mix {0:?}")]
    Silent(Mix),
    /// Bursts and single calls gave different packets.
    #[error(
        "enqueue_burst or dequeue_burst gives other packets than single calls, from packet {0} on"
    )]
    Burst(usize),
}

/// How a run's scheduler was made, and which calls it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// [`AnyDiscipline::build`].
    Build,
    /// [`AnyDiscipline::build`] a second time, with the same seed.
    BuildAgain,
    /// [`AnyDiscipline::build_by_handle`] in an [`Arena`] with slots in scattered order.
    ByHandle,
    /// [`AnyDiscipline::build`], but packets that the first run refused do not arrive.
    WithoutRefused,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Build => "build",
            Self::BuildAgain => "build again",
            Self::ByHandle => "build_by_handle",
            Self::WithoutRefused => "build, without refused packets",
        })
    }
}

/// How much a check has seen. Runs of the same calls count once, and the last dequeues that empty
/// the queue are no calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Calls made.
    pub calls: usize,
    /// Packets dequeued.
    pub sent: usize,
    /// Packets dropped or evicted.
    pub dropped: usize,
    /// Packets refused.
    pub refused: usize,
}

impl Checked {
    fn of(calls: usize, events: &[Event]) -> Self {
        let mut checked = Self {
            calls,
            ..Self::default()
        };
        for event in events {
            match event {
                Event::Sent(_) => checked.sent += 1,
                Event::Evicted(_) | Event::Dropped(_) => checked.dropped += 1,
                Event::Refused(_) => checked.refused += 1,
            }
        }
        checked
    }
}

impl AddAssign for Checked {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.refused += other.refused;
    }
}

/// Makes random calls on the discipline's schedulers and checks the contract after each call:
///
/// - Packets and bytes are conserved, and packets return unchanged but for ECN's mark.
/// - A flow's packets leave in order, unless the discipline says otherwise.
/// - While packets wait, the scheduler sends or gives the time when a packet may leave.
/// - After a drain, the scheduler keeps the contract in a second round of the same calls.
/// - A refusal changes nothing, unless the discipline has a timer.
/// - The same seed and the same calls give the same packets, by value and by handle.
/// - Bursts give the same packets as single calls.
///
/// It does not check the order among flows, fairness, or what a drained scheduler remembers.
///
/// # Errors
/// The first broken rule, with the calls that show the fault. If the scheduler panics, the message
/// also goes to the panic hook, so by default to standard error.
pub fn check(discipline: &AnyDiscipline) -> Result<Checked, Broken> {
    let mut checked = Checked::default();
    for mix in Mix::ALL {
        let before = checked.sent;
        for seed in 0..SEEDS {
            checked += check_run(discipline, mix, seed)?;
        }
        if checked.sent == before {
            return Err(Broken::Silent(mix));
        }
    }
    bursts(discipline)?;
    Ok(checked)
}

/// Runs the part of [`check`] with this mix and this seed of calls, so that a debugger can follow a
/// fault.
///
/// # Errors
/// The first broken rule.
pub fn check_run(discipline: &AnyDiscipline, mix: Mix, seed: u64) -> Result<Checked, Broken> {
    let run = Run {
        mix,
        seed,
        operations: operations(mix, seed, LENGTH),
        reorders: discipline.info().reorders,
    };
    let (events, refused) = run.audit(Way::Build, discipline.build(Seed::new(seed))?, &[])?;
    let (again, _) = run.audit(Way::BuildAgain, discipline.build(Seed::new(seed))?, &[])?;
    run.equal(Way::BuildAgain, &events, &again)?;
    let arena = Arena::scattered(discipline.build_by_handle(Seed::new(seed))?, SLOT_BITS);
    let (by_handle, _) = run.audit(Way::ByHandle, arena, &[])?;
    run.equal(Way::ByHandle, &events, &by_handle)?;
    // A refused call leaves the scheduler as before, unless it does a timer's work.
    if !discipline.has_timer() {
        let (without, _) = run.audit(
            Way::WithoutRefused,
            discipline.build(Seed::new(seed))?,
            &refused,
        )?;
        run.equal(Way::WithoutRefused, &accepted(&events), &without)?;
    }
    // `audit` makes the calls twice.
    Ok(Checked::of(2 * run.operations.len(), &events))
}

/// Events without refusals.
fn accepted(events: &[Event]) -> Vec<Event> {
    events
        .iter()
        .copied()
        .filter(|event| !matches!(event, Event::Refused(_)))
        .collect()
}

/// A run's calls.
struct Run {
    mix: Mix,
    seed: u64,
    operations: Vec<Operation>,
    reorders: bool,
}

impl Run {
    /// Makes the calls in two rounds, with a drain after each. Arrivals do not happen if the number
    /// of their call is in `left_out`. Returns the events, and the numbers of refused arrivals.
    fn audit<S: Scheduler<u64>>(
        &self,
        way: Way,
        scheduler: S,
        left_out: &[usize],
    ) -> Result<(Vec<Event>, Vec<usize>), Broken> {
        let current_call = Cell::new(0);
        // A scheduler that panicked may be inconsistent, so it is not used again.
        let audited = catch_unwind(AssertUnwindSafe(|| {
            self.audit_with(&current_call, way, scheduler, left_out)
        }));
        let panic = match audited {
            Ok(audited) => return audited,
            Err(panic) => panic,
        };
        let message = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(text), _) => text.clone(),
            (None, Some(text)) => (*text).to_owned(),
            (None, None) => "no message".to_owned(),
        };
        Err(Broken::Panicked {
            way,
            mix: self.mix,
            seed: self.seed,
            call: current_call.get(),
            message,
        })
    }

    /// Does the work for [`Self::audit`]. If it panics, `current_call` holds the number of the
    /// call.
    fn audit_with<S: Scheduler<u64>>(
        &self,
        current_call: &Cell<usize>,
        way: Way,
        scheduler: S,
        left_out: &[usize],
    ) -> Result<(Vec<Event>, Vec<usize>), Broken> {
        let mut audited = Audited::new(scheduler, self.reorders);
        let mut left_out = left_out.iter().peekable();
        let mut refused = Vec::new();
        for round in 0..2 {
            let first = round * self.operations.len();
            for (call, operation) in (first..).zip(&self.operations) {
                current_call.set(call);
                if left_out.next_if_eq(&&call).is_some() {
                    // Later packets keep their numbers, so that the runs can be compared.
                    audited.skip_serial();
                    continue;
                }
                let before = audited.events().len();
                audited
                    .apply(*operation)
                    .map_err(|violation| self.broken(way, call, *operation, violation))?;
                if matches!(audited.events()[before..], [Event::Refused(_)]) {
                    refused.push(call);
                }
            }
            let drain = first + self.operations.len();
            current_call.set(drain);
            audited
                .drain()
                .map_err(|violation| self.broken(way, drain, Operation::Dequeue, violation))?;
            audited.scheduler().check_invariants();
        }
        Ok((audited.events().to_vec(), refused))
    }

    const fn broken(
        &self,
        way: Way,
        call: usize,
        operation: Operation,
        violation: Violation,
    ) -> Broken {
        Broken::Contract {
            way,
            mix: self.mix,
            seed: self.seed,
            call,
            operation,
            violation,
        }
    }

    /// Checks that another run's events equal those of [`Way::Build`].
    fn equal(&self, other: Way, built: &[Event], others: &[Event]) -> Result<(), Broken> {
        if built == others {
            return Ok(());
        }
        Err(Broken::Differs {
            one: Way::Build,
            other,
            mix: self.mix,
            seed: self.seed,
            event: first_difference(built, others),
        })
    }
}

/// The index at which two lists begin to differ. If one is the beginning of the other, that is where
/// the shorter one ends.
fn first_difference<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    let mut pairs = one.iter().zip(other);
    let differs = pairs.position(|(one, other)| one != other);
    differs.unwrap_or(one.len().min(other.len()))
}

/// How packets are handed over and asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Single,
    Burst,
}

/// Checks that bursts give the same packets as single calls, by value and by handle.
fn bursts(discipline: &AnyDiscipline) -> Result<(), Broken> {
    let by_value = || discipline.build(Seed::new(1));
    let by_handle = || discipline.build_by_handle(Seed::new(1)).map(Arena::new);
    let singles = serials(by_value()?, Calls::Single);
    for others in [
        serials(by_value()?, Calls::Burst),
        serials(by_handle()?, Calls::Single),
        serials(by_handle()?, Calls::Burst),
    ] {
        if singles != others {
            return Err(Broken::Burst(first_difference(&singles, &others)));
        }
    }
    Ok(())
}

/// The packets that a scheduler sends when it gets 50 bursts of packets from 20 flows.
fn serials<S: Scheduler<u64>>(mut scheduler: S, calls: Calls) -> Vec<u64> {
    let mut sent = Vec::new();
    for burst in 0..50 {
        let now = Instant::from_picos(burst * 1_000_000);
        let mut packets = Vec::new();
        for serial in burst * 30..burst * 30 + 30 {
            let flow = FlowId((serial * 7 % 20) as u32);
            let len = 64 + (serial * 131 % 1437) as u32;
            packets.push(Packet {
                arrival: now,
                ..Packet::new(flow, len, serial)
            });
        }
        let most = burst as usize % 40;
        match calls {
            Calls::Burst => {
                scheduler.enqueue_burst(now, &mut packets);
                scheduler.dequeue_burst(now, most, &mut sent);
            }
            Calls::Single => {
                for packet in packets {
                    let _refused = scheduler.enqueue(now, packet);
                }
                sent.extend(core::iter::from_fn(|| scheduler.dequeue(now)).take(most));
            }
        }
        while scheduler.take_dropped().is_some() {}
    }
    sent.into_iter().map(|packet| packet.payload).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_ends_early_differs_at_its_end() {
        assert_eq!(first_difference(&[1, 2, 3], &[1, 5, 3]), 1);
        assert_eq!(first_difference(&[1, 2], &[1, 2, 3]), 2);
        assert_eq!(first_difference(&[1, 2, 3], &[1]), 1);
    }
}

//! Check of a discipline: all mixes of random calls, several seeds, by value and by handle.

use std::cell::Cell;
use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

use roundelay::Seed;
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

/// A broken contract: the calls that show the fault, and the fault. [`check_run`] repeats the calls
/// of a mix and a seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The configuration builds no scheduler.
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
        /// The number of the call, from 0, in two rounds of 3,000. A round ends with dequeues until
        /// the queue is empty; a fault there has the number of the next call.
        call: usize,
        /// The call.
        operation: Operation,
        /// The fault.
        violation: Violation,
    },
    /// The scheduler panicked: an index out of range, a failed check of invariants, or a handle
    /// that does not wait.
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
    /// Two schedulers with the same seed and the same calls gave other packets.
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
    /// Nothing was ever sent.
    #[error("no packet was sent in mix {0:?}")]
    Silent(Mix),
    /// A burst gave other packets than single calls.
    #[error(
        "enqueue_burst or dequeue_burst gives other packets than single calls, from packet {0} on"
    )]
    Burst(usize),
}

/// How a scheduler of a run was made, and its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// [`AnyDiscipline::build`].
    Build,
    /// [`AnyDiscipline::build`], with the same seed, a second time.
    BuildAgain,
    /// [`AnyDiscipline::build_by_handle`] in an [`Arena`] with slots in scattered order.
    ByHandle,
    /// [`AnyDiscipline::build`]; packets that the first run refused do not arrive.
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

/// Runs random calls on schedulers of the discipline and checks the contract after each call:
///
/// - packets and bytes are conserved, and packets return unchanged but for ECN's mark;
/// - packets of a flow leave in order, unless the discipline says otherwise;
/// - a backlogged scheduler sends, or names the time at which a packet may leave;
/// - a scheduler that was drained keeps the contract in a second round of the same calls;
/// - a refusal changes nothing, unless the discipline has a timer;
/// - the same seed and the same calls give the same packets, by value and by handle;
/// - bursts equal single calls.
///
/// Not checked: the order among flows, fairness, and what a drained scheduler remembers.
///
/// # Errors
/// The first broken rule, with the calls that show the fault. The message of a panic also goes to
/// the panic hook, so to standard error by default.
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

/// The part of [`check`] with this mix and this seed of calls: for a debugger, after a fault.
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
    if !discipline.has_timer() {
        let (without, _) = run.audit(
            Way::WithoutRefused,
            discipline.build(Seed::new(seed))?,
            &refused,
        )?;
        run.equal(Way::WithoutRefused, &accepted(&events), &without)?;
    }
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

/// The calls of a run.
struct Run {
    mix: Mix,
    seed: u64,
    operations: Vec<Operation>,
    reorders: bool,
}

impl Run {
    /// Runs the calls twice, with a drain after each run. Arrivals listed in `left_out`, by the
    /// number of the call, do not happen. Returns the events and the refused arrivals.
    fn audit<S: Scheduler<u64>>(
        &self,
        way: Way,
        scheduler: S,
        left_out: &[usize],
    ) -> Result<(Vec<Event>, Vec<usize>), Broken> {
        let current_call = Cell::new(0);
        // The scheduler that panicked is not used again.
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

    /// The work of [`Self::audit`]. A panic leaves the number of its call in `current_call`.
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
                    // Later packets keep their numbers, so that both runs can be compared.
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

    /// The events of another run equal those of [`Way::Build`].
    fn equal(&self, other: Way, built: &[Event], others: &[Event]) -> Result<(), Broken> {
        if built == others {
            return Ok(());
        }
        // If one run has the other's events and more, the first of those differs.
        let mut event = 0;
        while event < built.len().min(others.len()) && built[event] == others[event] {
            event += 1;
        }
        Err(Broken::Differs {
            one: Way::Build,
            other,
            mix: self.mix,
            seed: self.seed,
            event,
        })
    }
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
            let mut pairs = singles.iter().zip(&others);
            let differs = pairs.position(|(one, other)| one != other);
            return Err(Broken::Burst(differs.unwrap_or(0)));
        }
    }
    Ok(())
}

/// The packets sent by a scheduler that gets 50 bursts of packets of 20 flows.
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

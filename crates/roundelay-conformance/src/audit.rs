//! Audits a scheduler: keeps a record of all packets and compares the scheduler with it after each
//! call.

use std::collections::{BTreeMap, VecDeque};

use roundelay::author::DebugCheck;
use roundelay::{Backlog, Duration, Ecn, FlowConfig, FlowId, Instant, Packet, Scheduler, Slack};

/// A packet's unique number.
pub type Serial = u64;

/// One call to a scheduler, or a step of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A packet arrives.
    Enqueue {
        /// The packet's flow.
        flow: u32,
        /// Length in bytes.
        len: u32,
        /// The ECN field.
        ecn: Ecn,
        /// Priority, slack and deadline: see [`urgent`].
        urgency: u8,
    },
    /// The link asks for a packet.
    Dequeue,
    /// The buffer asks for a packet to drop.
    Evict,
    /// Time passes, without a call.
    Wait(Duration),
    /// A flow is added or changed.
    SetFlow {
        /// The flow.
        flow: u32,
        /// Legal settings.
        config: FlowConfig,
    },
    /// A flow is removed.
    RemoveFlow {
        /// The flow.
        flow: u32,
    },
}

/// A violation of the scheduler contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The scheduler returned a packet that it did not hold, because it had returned the packet
    /// before or never got it.
    #[error("packet {0} left the queue twice, or never entered")]
    NotHeld(Serial),
    /// A packet changed in the queue, apart from ECN's mark.
    #[error("packet {0} was changed in the queue")]
    Altered(Serial),
    /// A packet left before an earlier packet in its flow. The earlier one was overtaken or lost.
    #[error(
        "packet {packet} left before packet {before} of its flow, which came earlier: overtaken \
         or lost"
    )]
    Reordered {
        /// The packet that left.
        packet: Serial,
        /// The flow's oldest packet that has not left.
        before: Serial,
    },
    /// The backlog differs from arrivals less departures and drops.
    #[error("the backlog is {told:?}, arrivals less departures are {expected:?}")]
    WrongBacklog {
        /// The backlog that the scheduler reports.
        told: Backlog,
        /// Arrivals less departures and drops.
        expected: Backlog,
    },
    /// `dequeue` returned no packet although packets wait, and `ready_at` gives no later time.
    #[error("no packet was dequeued although packets wait, and ready_at names no later time")]
    Idle,
    /// `evict` returned no packet although packets wait.
    #[error("evict returned no packet although packets wait")]
    GaveNothingUp,
    /// A refused packet came back changed.
    #[error("packet {0} was refused and came back changed")]
    AlteredRefused(Serial),
    /// The scheduler refused a legal setting.
    #[error("a legal setting of a flow was refused")]
    RefusedSetting,
}

/// Makes a packet whose priority, slack and deadline follow from one byte. If the byte is 0, they
/// keep their defaults. 255 gives extremes.
pub fn urgent<T>(flow: FlowId, len: u32, payload: T, now: Instant, urgency: u8) -> Packet<T> {
    let packet = Packet::new(flow, len, payload);
    let millis = i64::from(urgency) * 1_000_000_000;
    match urgency {
        0 => packet,
        255 => Packet {
            priority: u32::MAX,
            slack: Slack::from_picos(i64::MIN),
            deadline: Instant::ZERO,
            ..packet
        },
        _ => Packet {
            priority: urgency.into(),
            slack: Slack::from_picos(millis - 50_000_000_000),
            deadline: now + Duration::from_millis(urgency.into()),
            ..packet
        },
    }
}

/// What happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The packet was dequeued.
    Sent(Serial),
    /// The packet was evicted.
    Evicted(Serial),
    /// The discipline dropped the packet.
    Dropped(Serial),
    /// The discipline refused the packet.
    Refused(Serial),
}

/// A scheduler with a record of the packets that it holds.
pub struct Audited<S> {
    scheduler: S,
    invariants: DebugCheck,
    reorders: bool,
    now: Instant,
    next: Serial,
    waiting: BTreeMap<FlowId, VecDeque<Packet<Serial>>>,
    backlog: Backlog,
    events: Vec<Event>,
}

impl<S: Scheduler<Serial>> Audited<S> {
    /// Begins with an empty queue at time 0. `reorders` says whether packets of a flow may leave
    /// out of order.
    pub fn new(scheduler: S, reorders: bool) -> Self {
        let waiting = BTreeMap::new();
        let backlog = Backlog::default();
        let events = Vec::new();
        Self {
            scheduler,
            invariants: DebugCheck::NEW,
            reorders,
            now: Instant::ZERO,
            next: 0,
            waiting,
            backlog,
            events,
        }
    }

    /// The events of all calls so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The scheduler under audit.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The scheduler, so that a test can change its parameters.
    pub fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// Executes one operation and checks all visible effects. Debug builds also check the
    /// invariants, but not after each call when the state is large ([`DebugCheck`]).
    ///
    /// # Errors
    /// The scheduler breaks the contract.
    pub fn apply(&mut self, operation: Operation) -> Result<(), Violation> {
        if let Operation::Enqueue { flow, .. } | Operation::SetFlow { flow, .. } = operation {
            self.invariants.names(FlowId(flow));
        }
        match operation {
            Operation::Enqueue {
                flow,
                len,
                ecn,
                urgency,
            } => self.enqueue(FlowId(flow), len, ecn, urgency)?,
            Operation::Dequeue => self.dequeue()?,
            Operation::Evict => self.evict()?,
            Operation::Wait(span) => self.now += span,
            Operation::SetFlow { flow, config } => {
                self.scheduler
                    .set_flow(FlowId(flow), config)
                    .map_err(|_| Violation::RefusedSetting)?;
            }
            Operation::RemoveFlow { flow } => self.scheduler.remove_flow(FlowId(flow)),
        }
        self.invariants.after_call(&self.scheduler);
        self.check()
    }

    /// Executes all operations, then drains the scheduler.
    ///
    /// # Errors
    /// The scheduler breaks the contract.
    pub fn run(&mut self, operations: &[Operation]) -> Result<(), Violation> {
        for operation in operations {
            self.apply(*operation)?;
        }
        self.drain()
    }

    /// Dequeues until the queue is empty, because each recorded packet must come out. If the
    /// scheduler idles, time passes.
    ///
    /// # Errors
    /// The scheduler breaks the contract.
    pub fn drain(&mut self) -> Result<(), Violation> {
        while !self.backlog.is_empty() {
            self.apply(Operation::Dequeue)?;
            self.now = self.scheduler.ready_at().unwrap_or(self.now).max(self.now);
        }
        Ok(())
    }

    /// Skips a packet number, so that later packets keep theirs. The scheduler gets no call.
    pub fn skip_serial(&mut self) {
        self.next += 1;
    }

    fn enqueue(&mut self, flow: FlowId, len: u32, ecn: Ecn, urgency: u8) -> Result<(), Violation> {
        let packet = Packet {
            arrival: self.now,
            ecn,
            ..urgent(flow, len, self.next, self.now, urgency)
        };
        self.next += 1;
        if let Err(refused) = self.scheduler.enqueue(self.now, packet) {
            self.events.push(Event::Refused(packet.payload));
            return if refused.packet == packet {
                Ok(())
            } else {
                Err(Violation::AlteredRefused(packet.payload))
            };
        }
        self.waiting.entry(flow).or_default().push_back(packet);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(len);
        self.take_dropped()
    }

    fn dequeue(&mut self) -> Result<(), Violation> {
        let packet = self.scheduler.dequeue(self.now);
        self.take_dropped()?;
        match packet {
            Some(packet) => self.sent(&packet),
            None if self.backlog.is_empty() => Ok(()),
            None => match self.scheduler.ready_at() {
                Some(ready) if ready > self.now => Ok(()),
                _ => Err(Violation::Idle),
            },
        }
    }

    fn sent(&mut self, packet: &Packet<Serial>) -> Result<(), Violation> {
        let oldest = self
            .waiting
            .get(&packet.flow)
            .and_then(VecDeque::front)
            .map(|held| held.payload);
        self.take_held(packet)?;
        self.events.push(Event::Sent(packet.payload));
        match oldest {
            Some(before) if before != packet.payload && !self.reorders => {
                Err(Violation::Reordered {
                    packet: packet.payload,
                    before,
                })
            }
            _ => Ok(()),
        }
    }

    fn evict(&mut self) -> Result<(), Violation> {
        let was_empty = self.backlog.is_empty();
        let victim = self.scheduler.evict();
        if let Some(victim) = &victim {
            self.take_held(victim)?;
            self.events.push(Event::Evicted(victim.payload));
        }
        if victim.is_none() && !was_empty {
            return Err(Violation::GaveNothingUp);
        }
        self.take_dropped()
    }

    /// Takes what the scheduler has dropped. Calls of [`apply`](Self::apply) do so themselves; call it
    /// after a change of settings that may drop packets.
    ///
    /// # Errors
    /// The scheduler did not hold a packet, or has changed it.
    pub fn take_dropped(&mut self) -> Result<(), Violation> {
        while let Some((packet, _)) = self.scheduler.take_dropped() {
            self.take_held(&packet)?;
            self.events.push(Event::Dropped(packet.payload));
        }
        Ok(())
    }

    /// Removes a packet from the record because it has left the scheduler, and checks that it came
    /// back unchanged but for ECN's mark.
    fn take_held(&mut self, packet: &Packet<Serial>) -> Result<(), Violation> {
        let not_held = Violation::NotHeld(packet.payload);
        let queue = self.waiting.get_mut(&packet.flow).ok_or(not_held)?;
        let position = queue
            .iter()
            .position(|held| held.payload == packet.payload)
            .ok_or(not_held)?;
        let held = queue.remove(position).ok_or(not_held)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(held.len);
        let marked = held.ecn == Ecn::Capable && packet.ecn == Ecn::Marked;
        let unmarked = Packet {
            ecn: if marked { held.ecn } else { packet.ecn },
            ..*packet
        };
        if unmarked == held {
            Ok(())
        } else {
            Err(Violation::Altered(packet.payload))
        }
    }

    fn check(&self) -> Result<(), Violation> {
        let told = self.scheduler.backlog();
        let expected = self.backlog;
        if told == expected {
            Ok(())
        } else {
            Err(Violation::WrongBacklog { told, expected })
        }
    }
}

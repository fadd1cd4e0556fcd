//! A scheduler, its buffer and the link: what every driver drives.

use crate::buffer::{Buffer, Limit};
use crate::packet::Packet;
use crate::scheduler::{DropReason, Scheduler};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// What a port tells its driver.
pub trait Observer<T> {
    /// A packet got the link at `start` and leaves it at `end`.
    fn sent(&mut self, packet: Packet<T>, start: Instant, end: Instant);

    /// A packet was dropped at `now`.
    fn dropped(&mut self, packet: Packet<T>, now: Instant, reason: DropReason);
}

/// A link with a queue in front of it. Time goes in, the next event comes out; there is no clock inside.
///
/// At one instant all arrivals come first, then the link picks: a packet that arrives just as the link falls free can be picked. So a
/// driver hands in everything that arrives at `now` before it lets time go on with [`advance`](Self::advance).
///
/// Decisions take no time unless [`set_decision_cost`](Self::set_decision_cost) says otherwise.
#[derive(Debug, Clone)]
pub struct Port<S> {
    buffer: Buffer<S>,
    rate: Rate,
    /// When the link has sent what it sends.
    free_at: Instant,
    /// When the link picks next, if something waits: once it is free, or later if the discipline idles.
    picks_at: Instant,
    /// How long the link stands still while the discipline decides.
    decision_cost: Duration,
    /// When the decision that was begun last is taken.
    decided_at: Instant,
}

impl<S> Port<S> {
    /// A port with nothing in it and a free link, whose rate it tells the scheduler. `T`, what packets carry, follows from the scheduler.
    pub fn new<T>(mut scheduler: S, limit: Limit, rate: Rate) -> Self
    where
        S: Scheduler<T>,
    {
        scheduler.set_link_rate(rate);
        let (free_at, picks_at, decided_at) = (Instant::ZERO, Instant::ZERO, Instant::MAX);
        Self { buffer: Buffer::new(limit, scheduler), rate, free_at, picks_at, decision_cost: Duration::ZERO, decided_at }
    }

    /// Has each decision of the discipline cost time: from the instant at which the link is free and a packet waits the link stands still for so long,
    /// then the discipline picks among all that has come, and the transmission begins. Packets that follow from a decision already taken
    /// ([`Scheduler::has_decided`]) are sent at once. Zero, as at first: decisions cost nothing.
    ///
    /// Meant to be called before the first packet comes; a decision under way keeps its cost.
    pub const fn set_decision_cost(&mut self, cost: Duration) {
        self.decision_cost = cost;
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &S {
        self.buffer.scheduler()
    }

    /// The scheduler, to set its flows.
    pub const fn scheduler_mut(&mut self) -> &mut S {
        self.buffer.scheduler_mut()
    }

    /// Changes what the buffer holds. What no longer fits is dropped.
    pub fn set_limit<T>(&mut self, now: Instant, limit: Limit, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        self.buffer.set_limit(limit, |packet, reason| observer.dropped(packet, now, reason));
    }

    /// The link's rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// When the link picks the next packet, or begins to decide on it. None while nothing waits.
    ///
    /// A driver that has its own queue of events waits until then, hands in what arrives up to and at that instant, and calls
    /// [`pick`](Self::pick):
    ///
    /// ```
    /// # use roundelay::{DropReason, FlowId, Instant, Limit, Observer, Packet, Port, schedulers::fifo::Fifo};
    /// # struct Count(u32);
    /// # impl Observer<()> for Count {
    /// #     fn sent(&mut self, _: Packet<()>, _: Instant, _: Instant) { self.0 += 1; }
    /// #     fn dropped(&mut self, _: Packet<()>, _: Instant, _: DropReason) {}
    /// # }
    /// # let mut observer = Count(0);
    /// let mut port = Port::new(Fifo::default(), Limit::of_packets(10), "8mbit".parse().unwrap());
    /// for _ in 0..3 {
    ///     port.arrive(Instant::ZERO, Packet::new(FlowId(0), 1000, ()), &mut observer);
    /// }
    /// while let Some(now) = port.next_event() {
    ///     // Whatever else happens up to `now` happens here.
    ///     port.pick(&mut observer);
    ///     # let _ = now;
    /// }
    /// assert_eq!(observer.0, 3);
    /// ```
    #[inline]
    pub fn next_event<T>(&self) -> Option<Instant>
    where
        S: Scheduler<T>,
    {
        if self.scheduler().backlog().is_empty() { None } else { Some(self.picks_at) }
    }

    /// A packet arrives. Call [`advance`](Self::advance) up to `now` before.
    #[inline]
    pub fn arrive<T>(&mut self, now: Instant, packet: Packet<T>, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        // Even if others wait: a discipline that let the link idle may give this packet sooner.
        let could_pick = self.free_at.max(now);
        self.picks_at = if self.scheduler().backlog().is_empty() { could_pick } else { self.picks_at.min(could_pick) };
        self.buffer.enqueue(now, packet, |packet, reason| observer.dropped(packet, now, reason));
    }

    /// Lets the link work until just before `until`.
    #[inline]
    pub fn advance<T>(&mut self, until: Instant, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        while self.picks_at < until && !self.scheduler().backlog().is_empty() {
            self.pick(observer);
        }
    }

    /// Lets the link work until nothing waits, or nothing will ever be ready. Returns when the link falls free.
    pub fn drain<T>(&mut self, observer: &mut impl Observer<T>) -> Instant
    where
        S: Scheduler<T>,
    {
        self.advance(Instant::MAX, observer);
        self.free_at
    }

    /// Lets the link pick now what it picks at [`next_event`](Self::next_event), or begin to decide. Nothing happens if nothing waits.
    pub fn pick<T>(&mut self, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        let start = self.picks_at;
        if self.decision_cost != Duration::ZERO && self.begins_to_decide(start) {
            return;
        }
        let packet = self.buffer.dequeue(start, |packet, reason| observer.dropped(packet, start, reason));
        if let Some(packet) = packet {
            let end = start + self.rate.time_of(packet.len.into());
            (self.free_at, self.picks_at) = (end, end);
            observer.sent(packet, start, end);
        } else if !self.scheduler().backlog().is_empty() {
            self.picks_at = self.wake_up(start);
        }
    }

    /// Whether the discipline needs time to decide, from `start` on: the link is not free until then.
    #[cold]
    #[inline(never)]
    fn begins_to_decide<T>(&mut self, start: Instant) -> bool
    where
        S: Scheduler<T>,
    {
        let has_decided = core::mem::replace(&mut self.decided_at, Instant::MAX) == start;
        let scheduler = self.scheduler();
        if has_decided || scheduler.has_decided() || scheduler.backlog().is_empty() {
            return false;
        }
        self.decided_at = start + self.decision_cost;
        (self.free_at, self.picks_at) = (self.decided_at, self.decided_at);
        true
    }

    /// When to ask again a discipline that gave nothing although packets wait.
    fn wake_up<T>(&self, asked: Instant) -> Instant
    where
        S: Scheduler<T>,
    {
        let ready = self.scheduler().ready_at();
        debug_assert!(ready.is_some(), "a work-conserving discipline gave no packet although some wait");
        ready.filter(|ready| *ready > asked).unwrap_or(Instant::MAX)
    }
}

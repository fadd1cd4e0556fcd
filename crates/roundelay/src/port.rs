//! Port: a scheduler, its buffer and the link.

use crate::buffer::Buffer;
use crate::drops::DropReason;
use crate::limit::Limit;
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Receives a port's events.
pub trait Observer<T> {
    /// A packet got the link at `start` and leaves it at `end`.
    fn sent(&mut self, packet: Packet<T>, start: Instant, end: Instant);

    /// A packet was dropped at `now`.
    fn dropped(&mut self, packet: Packet<T>, now: Instant, reason: DropReason);
}

/// A link with a queue in front. The port has no clock: time is an argument and the next event a
/// result.
///
/// At one instant all arrivals come first, then the link picks, so a packet that arrives when the
/// link becomes free can be picked. Your driver therefore passes in all arrivals at `now` before it
/// moves time on with [`advance`](Self::advance).
///
/// A link that becomes free asks its queue even if it is empty, as drivers do, so flows whose turn
/// ends when they are found empty begin anew after a pause.
///
/// Decisions take no time unless [`set_decision_cost`](Self::set_decision_cost) says otherwise.
#[derive(Debug, Clone)]
pub struct Port<S> {
    buffer: Buffer<S>,
    rate: Rate,
    /// End of the present transmission.
    free_at: Instant,
    /// Time of the next pick, if the queue is not empty: when the link is free, or later if the
    /// discipline idles.
    picks_at: Instant,
    /// How long the link idles for each of the discipline's decisions.
    decision_cost: Duration,
    /// End of the decision begun last.
    decided_at: Instant,
}

impl<S> Port<S> {
    /// An empty port with a free link. The scheduler is told the rate. The payload type `T` follows
    /// from the scheduler.
    pub fn new<T>(mut scheduler: S, limit: Limit, rate: Rate) -> Self
    where
        S: Scheduler<T>,
    {
        scheduler.set_link_rate(rate);
        let free_at = Instant::ZERO;
        let picks_at = Instant::ZERO;
        let decided_at = Instant::MAX;
        Self {
            buffer: Buffer::new(limit, scheduler),
            rate,
            free_at,
            picks_at,
            decision_cost: Duration::ZERO,
            decided_at,
        }
    }

    /// Sets how much time a decision costs. When the link is free and a packet waits, the link
    /// idles for `cost`. Then the discipline picks among all packets that have arrived by then, and
    /// the transmission starts. Packets that follow from a decision already taken
    /// ([`Scheduler::has_decided`]) are sent at once. Zero is the default, with which decisions
    /// cost nothing.
    ///
    /// Call before the first packet. A decision in progress keeps its cost.
    pub const fn set_decision_cost(&mut self, cost: Duration) {
        self.decision_cost = cost;
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &S {
        self.buffer.scheduler()
    }

    /// Mutable access to the scheduler, to set its flows.
    pub const fn scheduler_mut(&mut self) -> &mut S {
        self.buffer.scheduler_mut()
    }

    /// Changes the buffer's limit. Excess packets are dropped.
    pub fn set_limit<T>(&mut self, now: Instant, limit: Limit, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        self.buffer.set_limit(limit, |packet, reason| {
            observer.dropped(packet, now, reason)
        });
    }

    /// The link's rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes the link's rate for the packets that get the link from now on. The packet on the
    /// link keeps its end. The scheduler is told. Before, call [`advance`](Self::advance) up to the
    /// time of the change.
    pub fn set_rate<T>(&mut self, rate: Rate)
    where
        S: Scheduler<T>,
    {
        self.rate = rate;
        self.buffer.scheduler_mut().set_link_rate(rate);
    }

    /// End of the last transmission, or of the present one.
    pub const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Makes the link busy until `free_at`: for a port that takes the place of another while a packet
    /// is on the link, or for a link with times of its own.
    pub const fn take_over(&mut self, free_at: Instant) {
        (self.free_at, self.picks_at) = (free_at, free_at);
    }

    /// Time at which the link picks the next packet, or begins to decide. None while the queue is
    /// empty.
    ///
    /// If your driver has its own event queue, wait until then, pass in all arrivals up to and at
    /// this time, and call [`pick`](Self::pick):
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
        if self.scheduler().backlog().is_empty() {
            None
        } else {
            Some(self.picks_at)
        }
    }

    /// A packet arrives. Call [`advance`](Self::advance) up to `now` before.
    #[inline]
    pub fn arrive<T>(&mut self, now: Instant, packet: Packet<T>, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        let is_empty = self.scheduler().backlog().is_empty();
        if is_empty && self.picks_at < now {
            self.ask_in_vain();
        }
        // Also with other packets in the queue, because a discipline that lets the link idle may
        // send this packet sooner.
        let could_pick = self.free_at.max(now);
        self.picks_at = if is_empty {
            could_pick
        } else {
            self.picks_at.min(could_pick)
        };
        self.buffer.enqueue(now, packet, |packet, reason| {
            observer.dropped(packet, now, reason)
        });
    }

    /// Asks the empty queue, as the link did when it became free: `fq_codel` and `fq_pie` then end
    /// the turns of their flows, and CoDel its state.
    fn ask_in_vain<T>(&mut self)
    where
        S: Scheduler<T>,
    {
        let packet = self.buffer.dequeue(self.picks_at, |_, _| {});
        debug_assert!(packet.is_none(), "an empty queue has no packet");
    }

    /// Runs the link up to just before `until`.
    #[inline]
    pub fn advance<T>(&mut self, until: Instant, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        while self.picks_at < until && !self.scheduler().backlog().is_empty() {
            self.pick(observer);
        }
    }

    /// Runs the link until the queue is empty or no packet will ever be ready. Returns the time at
    /// which the link is free.
    pub fn drain<T>(&mut self, observer: &mut impl Observer<T>) -> Instant
    where
        S: Scheduler<T>,
    {
        self.advance(Instant::MAX, observer);
        self.free_at
    }

    /// Picks the packet due at [`next_event`](Self::next_event), or begins to decide. No effect if
    /// the queue is empty.
    pub fn pick<T>(&mut self, observer: &mut impl Observer<T>)
    where
        S: Scheduler<T>,
    {
        let start = self.picks_at;
        if self.decision_cost != Duration::ZERO && self.begins_to_decide(start) {
            return;
        }
        let packet = self.buffer.dequeue(start, |packet, reason| {
            observer.dropped(packet, start, reason)
        });
        if let Some(packet) = packet {
            let end = start + self.rate.time_of(packet.len.into());
            (self.free_at, self.picks_at) = (end, end);
            observer.sent(packet, start, end);
        } else if !self.scheduler().backlog().is_empty() {
            self.picks_at = self.wake_up(start);
        }
    }

    /// Whether the discipline needs decision time from `start` on. The link is then busy until its
    /// end.
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

    /// When to ask a discipline again that gave nothing although packets wait.
    fn wake_up<T>(&self, asked: Instant) -> Instant
    where
        S: Scheduler<T>,
    {
        let ready = self.scheduler().ready_at();
        debug_assert!(
            ready.is_some(),
            "a work-conserving discipline gave no packet although some wait"
        );
        ready.filter(|ready| *ready > asked).unwrap_or(Instant::MAX)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::packet::FlowId;
    use crate::schedulers::fifo::Fifo;

    #[derive(Default)]
    struct Spans(Vec<(u32, Instant, Instant)>);

    impl Observer<u32> for Spans {
        fn sent(&mut self, packet: Packet<u32>, start: Instant, end: Instant) {
            self.0.push((packet.payload, start, end));
        }

        fn dropped(&mut self, _: Packet<u32>, _: Instant, _: DropReason) {}
    }

    /// A port of 8 Mbit/s, on which a byte takes a microsecond, and the packets of 1000 bytes.
    fn port(packets: u32) -> (Port<Fifo<u32>>, Spans) {
        let rate = "8mbit".parse().expect("a rate");
        let mut port = Port::new(Fifo::default(), Limit::of_packets(10), rate);
        let mut spans = Spans::default();
        for number in 0..packets {
            let packet = Packet::new(FlowId(0), 1000, number);
            port.arrive(Instant::ZERO, packet, &mut spans);
        }
        (port, spans)
    }

    fn millis(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_new_rate_holds_from_the_next_packet_on() {
        let (mut port, mut spans) = port(3);
        port.advance(Instant::from_nanos(500_000), &mut spans);
        port.set_rate("4mbit".parse().expect("a rate"));
        assert_eq!(port.free_at(), millis(1));
        port.drain(&mut spans);
        let expected = [
            (0, millis(0), millis(1)),
            (1, millis(1), millis(3)),
            (2, millis(3), millis(5)),
        ];
        assert_eq!(spans.0, expected);
    }

    #[test]
    fn a_port_that_takes_over_waits_for_the_packet_on_the_link() {
        let (mut port, mut spans) = port(0);
        port.take_over(millis(7));
        port.arrive(millis(2), Packet::new(FlowId(0), 1000, 1), &mut spans);
        port.advance(millis(9), &mut spans);
        port.arrive(millis(9), Packet::new(FlowId(0), 1000, 2), &mut spans);
        port.drain(&mut spans);
        assert_eq!(
            spans.0,
            [(1, millis(7), millis(8)), (2, millis(9), millis(10))]
        );
    }
}

//! A port that can interrupt a packet: the link of scheduling theory, where a packet that cannot wait does not.
//!
//! No real link does this. Proofs about deadlines and slack need it: whatever has the link may lose it to something more urgent and gets it
//! back later, where it left off. What is left of a packet waits in the scheduler with all others, its transmission time exact to the
//! picosecond however often it is interrupted.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.1, footnote 4: preemption in theory, not in practice.

use crate::buffer::{Buffer, Limit};
use crate::packet::Packet;
use crate::pool::Backlog;
use crate::port::Observer;
use crate::scheduler::{DropReason, Scheduler};
use crate::time::{Duration, Instant, Slack};
use crate::units::Rate;

/// What the scheduler of a [`PreemptivePort`] holds: a packet's payload, and how far the packet has got.
///
/// The packet around it keeps its length. Its arrival and slack are those since it last joined the queue, so that slack counts from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial<T> {
    payload: T,
    /// When it came to the port, and with what slack.
    arrival: Instant,
    slack: Slack,
    /// When its first bit was sent.
    start: Option<Instant>,
    /// Time on the link that it still needs.
    remaining: Duration,
}

impl<T> Partial<T> {
    /// Time on the link that it still needs.
    pub const fn remaining(&self) -> Duration {
        self.remaining
    }
}

/// The packet on the link.
#[derive(Debug, Clone)]
struct Sending<T> {
    packet: Packet<Partial<T>>,
    /// Since when it has the link, this time.
    since: Instant,
}

impl<T> Sending<T> {
    /// When its last bit leaves, if nothing comes between.
    fn end(&self) -> Instant {
        self.since + self.packet.payload.remaining
    }

    /// What is left of it at `now`, as it would join the queue.
    fn rest_at(self, now: Instant) -> Packet<Partial<T>> {
        let Packet { arrival, slack, payload, .. } = self.packet;
        let payload = Partial { remaining: payload.remaining - now.since(self.since), ..payload };
        Packet { arrival: now, slack: slack.after(now.since(arrival)), payload, ..self.packet }
    }
}

/// A [`Port`](crate::Port) that asks the scheduler after each arrival whether the packet on the link should give way
/// ([`Scheduler::preempts`]).
///
/// It differs in what it tells its observer: a packet is `sent` when its last bit has left, once, with the instants of its first and last
/// bit; in between it may have waited. A scheduler that never preempts sends the same packets at the same times as in a `Port`.
///
/// The packet on the link is shown to the scheduler as what would join the queue: its whole length, and the slack that is left of it,
/// service taken off like waiting. Arrival, slack and length then add up to the same deadline however often it was interrupted. It counts
/// as a whole packet in the backlog when it waits again. If the limit does not hold then, the discipline gives something up; if that is the
/// interrupted packet, the time on the link was for nothing.
#[derive(Debug, Clone)]
pub struct PreemptivePort<S, T> {
    buffer: Buffer<S>,
    rate: Rate,
    sending: Option<Sending<T>>,
    /// For how long the link has sent, up to when the packet on it got it.
    at_work: Duration,
    /// When the link has sent what it sends.
    free_at: Instant,
    /// When the link decides next what to send: when it falls free, at an arrival that may preempt, or later if the discipline idles.
    decides_at: Instant,
}

impl<S: Scheduler<Partial<T>>, T> PreemptivePort<S, T> {
    /// A port with nothing in it and a free link, whose rate it tells the scheduler.
    pub fn new(mut scheduler: S, limit: Limit, rate: Rate) -> Self {
        scheduler.set_link_rate(rate);
        let (buffer, free_at) = (Buffer::new(limit, scheduler), Instant::ZERO);
        Self { buffer, rate, sending: None, at_work: Duration::ZERO, free_at, decides_at: free_at }
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
    pub fn set_limit(&mut self, now: Instant, limit: Limit, observer: &mut impl Observer<T>) {
        self.buffer.set_limit(limit, |packet, reason| observer.dropped(whole(packet), now, reason));
    }

    /// The link's rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// What waits, the packet on the link not counted.
    pub fn backlog(&self) -> Backlog {
        self.scheduler().backlog()
    }

    /// For how long the link has sent until `now`, which no event is before. What it has sent of a packet that it then gave up counts, too.
    pub fn at_work(&self, now: Instant) -> Duration {
        self.at_work + self.sending.as_ref().map_or(Duration::ZERO, |sending| now.min(sending.end()).since(sending.since))
    }

    /// When the link decides next, or sends the last bit of a packet. None while there is nothing to send.
    pub fn next_event(&self) -> Option<Instant> {
        if self.sending.is_none() && self.backlog().is_empty() { None } else { Some(self.decides_at) }
    }

    /// A packet arrives. Call [`advance`](Self::advance) up to `now` before.
    pub fn arrive(&mut self, now: Instant, packet: Packet<T>, observer: &mut impl Observer<T>) {
        let could_decide = match &self.sending {
            Some(sending) => now.min(sending.end()),
            None => self.free_at.max(now),
        };
        self.decides_at = if self.next_event().is_none() { could_decide } else { self.decides_at.min(could_decide) };
        let partial = Partial {
            arrival: now,
            slack: packet.slack,
            start: None,
            remaining: self.rate.time_of(packet.len.into()),
            payload: packet.payload,
        };
        let Packet { flow, len, arrival, ecn, priority, slack, deadline, .. } = packet;
        let packet = Packet { flow, len, arrival, ecn, priority, slack, deadline, payload: partial };
        self.buffer.enqueue(now, packet, |packet, reason| observer.dropped(whole(packet), now, reason));
    }

    /// Lets the link work until just before `until`.
    pub fn advance(&mut self, until: Instant, observer: &mut impl Observer<T>) {
        while self.next_event().is_some_and(|next| next < until) {
            self.pick(observer);
        }
    }

    /// Lets the link work until nothing waits, or nothing will ever be ready. Returns when the link falls free.
    pub fn drain(&mut self, observer: &mut impl Observer<T>) -> Instant {
        self.advance(Instant::MAX, observer);
        self.free_at
    }

    /// Whether the last bit of a packet leaves at [`next_event`](Self::next_event).
    pub fn ends_next(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.end() <= self.decides_at)
    }

    /// Ends the packet whose last bit leaves now, if one [does](Self::ends_next), and gives the link to none: [`pick`](Self::pick) does that at the same
    /// instant, once all that arrives at it has arrived. What has left here may be among it.
    pub fn end(&mut self, observer: &mut impl Observer<T>) {
        let now = self.decides_at;
        if let Some(sending) = self.sending.take_if(|sending| sending.end() <= now) {
            let start = sending.packet.payload.start.unwrap_or(sending.since);
            self.at_work = self.at_work + sending.packet.payload.remaining;
            observer.sent(whole(sending.packet), start, now);
        }
    }

    /// Does what is due at [`next_event`](Self::next_event): ends a packet, and gives the link to the next, or to one that preempts.
    pub fn pick(&mut self, observer: &mut impl Observer<T>) {
        self.end(observer);
        match self.sending.take() {
            Some(sending) => {
                self.at_work = self.at_work + self.decides_at.since(sending.since);
                self.reconsider(self.decides_at, sending, observer);
            }
            None => self.send_next(self.decides_at, observer),
        }
    }

    /// Something has come since the packet on the link got it: the packet goes on, or gives way and waits.
    fn reconsider(&mut self, now: Instant, sending: Sending<T>, observer: &mut impl Observer<T>) {
        let rest = sending.rest_at(now);
        let next = if self.scheduler().preempts(now, &rest) { self.dequeue(now, observer) } else { None };
        let Some(next) = next else { return self.send(now, rest) };
        self.send(now, next);
        self.buffer.enqueue(now, rest, |packet, reason| {
            // None of them has just come.
            let reason = if reason == DropReason::Full { DropReason::PushedOut } else { reason };
            observer.dropped(whole(packet), now, reason);
        });
    }

    fn send_next(&mut self, now: Instant, observer: &mut impl Observer<T>) {
        if self.backlog().is_empty() {
            return;
        }
        if let Some(packet) = self.dequeue(now, observer) {
            self.send(now, packet);
        } else if !self.backlog().is_empty() {
            let ready = self.scheduler().ready_at();
            debug_assert!(ready.is_some(), "a work-conserving discipline gave no packet although some wait");
            self.decides_at = ready.filter(|ready| *ready > now).unwrap_or(Instant::MAX);
        }
    }

    fn dequeue(&mut self, now: Instant, observer: &mut impl Observer<T>) -> Option<Packet<Partial<T>>> {
        self.buffer.dequeue(now, |packet, reason| observer.dropped(whole(packet), now, reason))
    }

    fn send(&mut self, now: Instant, mut packet: Packet<Partial<T>>) {
        packet.payload.start.get_or_insert(now);
        let sending = Sending { packet, since: now };
        self.free_at = sending.end();
        self.decides_at = self.free_at;
        self.sending = Some(sending);
    }
}

/// The packet as it came to the port.
fn whole<T>(packet: Packet<Partial<T>>) -> Packet<T> {
    let Packet { flow, len, ecn, priority, deadline, payload, .. } = packet;
    let Partial { payload, arrival, slack, .. } = payload;
    Packet { flow, len, arrival, ecn, priority, slack, deadline, payload }
}

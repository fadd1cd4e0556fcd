//! Preemptive port: a link that can interrupt a packet for a more urgent one, as in scheduling
//! theory.
//!
//! No real link does this, but proofs about deadlines and slack need it. The packet on the link may
//! lose it to a more urgent one and continue later from the same bit. The rest of an interrupted
//! packet waits in the scheduler with all other packets. Its remaining transmission time is exact
//! to the picosecond after any number of interruptions.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.1, footnote 4:
//! preemption in theory, not in practice.

use crate::buffer::Buffer;
use crate::drops::DropReason;
use crate::limit::{Backlog, Limit};
use crate::packet::Packet;
use crate::port::Observer;
use crate::scheduler::Scheduler;
use crate::time::{Duration, Instant, Slack};
use crate::units::Rate;

/// The payload in a [`PreemptivePort`]'s scheduler: the packet's own payload, and how far its
/// transmission has come.
///
/// The enclosing packet keeps its length. The fields for arrival and slack are set anew at each
/// return to the queue, and slack counts from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial<T> {
    payload: T,
    /// Arrival at the port, and the slack at arrival.
    arrival: Instant,
    slack: Slack,
    /// Start of the first bit.
    start: Option<Instant>,
    /// Transmission time left.
    remaining: Duration,
}

/// The packet on the link.
#[derive(Debug, Clone)]
struct Sending<T> {
    packet: Packet<Partial<T>>,
    /// Start of the present transmission interval.
    since: Instant,
}

impl<T> Sending<T> {
    /// End of the last bit, without further interruption.
    fn end(&self) -> Instant {
        self.since + self.packet.payload.remaining
    }

    /// The rest of the packet at `now`, as it would rejoin the queue.
    fn rest_at(self, now: Instant) -> Packet<Partial<T>> {
        let Packet {
            arrival,
            slack,
            payload,
            ..
        } = self.packet;
        let payload = Partial {
            remaining: payload.remaining - now.since(self.since),
            ..payload
        };
        Packet {
            arrival: now,
            slack: slack.after(now.since(arrival)),
            payload,
            ..self.packet
        }
    }
}

/// A [`Port`](crate::Port) that asks the scheduler after each arrival whether the packet on the
/// link should give way ([`Scheduler::preempts`]).
///
/// The observer is called otherwise than by a `Port`: `sent` is called once for each packet, after
/// its last bit, with the times of first and last bit. The packet may have waited in between. A
/// scheduler that never preempts sends the same packets at the same times as in a `Port`.
///
/// The scheduler sees the packet on the link as it would rejoin the queue: with its whole length
/// and its remaining slack, from which service is subtracted like waiting. Arrival, slack and
/// length then give the same deadline after any number of interruptions. An interrupted packet
/// counts as a whole packet in the backlog. If the limit is then exceeded, the discipline gives up
/// a packet. If this is the interrupted one, its time on the link is lost.
#[derive(Debug, Clone)]
pub struct PreemptivePort<S, T> {
    buffer: Buffer<S>,
    rate: Rate,
    sending: Option<Sending<T>>,
    /// How long the link has sent in total, without the present transmission interval.
    at_work: Duration,
    /// End of the present transmission.
    free_at: Instant,
    /// Next decision of the link: at the end of a packet, at an arrival that may preempt, or later
    /// if the discipline idles.
    decides_at: Instant,
}

impl<S: Scheduler<Partial<T>>, T> PreemptivePort<S, T> {
    /// An empty port with a free link. The scheduler is told the rate.
    pub fn new(mut scheduler: S, limit: Limit, rate: Rate) -> Self {
        scheduler.set_link_rate(rate);
        let buffer = Buffer::new(limit, scheduler);
        let free_at = Instant::ZERO;
        Self {
            buffer,
            rate,
            sending: None,
            at_work: Duration::ZERO,
            free_at,
            decides_at: free_at,
        }
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
    pub fn set_limit(&mut self, now: Instant, limit: Limit, observer: &mut impl Observer<T>) {
        self.buffer.set_limit(limit, |packet, reason| {
            observer.dropped(whole(packet), now, reason)
        });
    }

    /// The link's rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Queued packets and bytes, without the packet on the link.
    pub fn backlog(&self) -> Backlog {
        self.scheduler().backlog()
    }

    /// How long the link has sent in total up to `now`, which must not be after the next event.
    /// Includes the part that was sent of a packet dropped later.
    pub fn at_work(&self, now: Instant) -> Duration {
        self.at_work
            + self.sending.as_ref().map_or(Duration::ZERO, |sending| {
                now.min(sending.end()).since(sending.since)
            })
    }

    /// Time of the link's next decision or end of a packet. None while there is nothing to send.
    pub fn next_event(&self) -> Option<Instant> {
        if self.sending.is_none() && self.backlog().is_empty() {
            None
        } else {
            Some(self.decides_at)
        }
    }

    /// A packet arrives. Call [`advance`](Self::advance) up to `now` before.
    pub fn arrive(&mut self, now: Instant, packet: Packet<T>, observer: &mut impl Observer<T>) {
        let could_decide = match &self.sending {
            Some(sending) => now.min(sending.end()),
            None => self.free_at.max(now),
        };
        self.decides_at = if self.next_event().is_none() {
            could_decide
        } else {
            self.decides_at.min(could_decide)
        };
        let partial = Partial {
            arrival: now,
            slack: packet.slack,
            start: None,
            remaining: self.rate.time_of(packet.len.into()),
            payload: packet.payload,
        };
        let Packet {
            flow,
            len,
            arrival,
            ecn,
            priority,
            slack,
            deadline,
            ..
        } = packet;
        let packet = Packet {
            flow,
            len,
            arrival,
            ecn,
            priority,
            slack,
            deadline,
            payload: partial,
        };
        self.buffer.enqueue(now, packet, |packet, reason| {
            observer.dropped(whole(packet), now, reason)
        });
    }

    /// Runs the link up to just before `until`.
    pub fn advance(&mut self, until: Instant, observer: &mut impl Observer<T>) {
        while self.next_event().is_some_and(|next| next < until) {
            self.pick(observer);
        }
    }

    /// Runs the link until the queue is empty or no packet will ever be ready. Returns the time at
    /// which the link is free.
    pub fn drain(&mut self, observer: &mut impl Observer<T>) -> Instant {
        self.advance(Instant::MAX, observer);
        self.free_at
    }

    /// Whether the last bit of a packet leaves at [`next_event`](Self::next_event).
    pub fn ends_next(&self) -> bool {
        self.sending
            .as_ref()
            .is_some_and(|sending| sending.end() <= self.decides_at)
    }

    /// Ends the packet whose last bit leaves now, if [any](Self::ends_next), and leaves the link
    /// free. [`pick`](Self::pick) at the same instant gives the link to the next packet, after all
    /// arrivals of the instant, possibly including the ended packet.
    pub fn end(&mut self, observer: &mut impl Observer<T>) {
        let now = self.decides_at;
        if let Some(sending) = self.sending.take_if(|sending| sending.end() <= now) {
            let start = sending.packet.payload.start.unwrap_or(sending.since);
            self.at_work = self.at_work + sending.packet.payload.remaining;
            observer.sent(whole(sending.packet), start, now);
        }
    }

    /// Does the work due at [`next_event`](Self::next_event): ends a packet, and gives the link to
    /// the next or to a preempting one.
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

    /// After an arrival: the packet on the link continues, or is interrupted and queued.
    fn reconsider(&mut self, now: Instant, sending: Sending<T>, observer: &mut impl Observer<T>) {
        let rest = sending.rest_at(now);
        let next = if self.scheduler().preempts(now, &rest) {
            self.dequeue(now, observer)
        } else {
            None
        };
        let Some(next) = next else {
            return self.send(now, rest);
        };
        self.send(now, next);
        self.buffer.enqueue(now, rest, |packet, reason| {
            // None of the dropped packets has just arrived.
            let reason = if reason == DropReason::Full {
                DropReason::PushedOut
            } else {
                reason
            };
            observer.dropped(whole(packet), now, reason);
        });
    }

    /// The link asks an empty queue as well, as a [`Port`](crate::Port) does.
    fn send_next(&mut self, now: Instant, observer: &mut impl Observer<T>) {
        if let Some(packet) = self.dequeue(now, observer) {
            self.send(now, packet);
        } else if !self.backlog().is_empty() {
            let ready = self.scheduler().ready_at();
            debug_assert!(
                ready.is_some(),
                "a work-conserving discipline gave no packet although some wait"
            );
            self.decides_at = ready.filter(|ready| *ready > now).unwrap_or(Instant::MAX);
        }
    }

    fn dequeue(
        &mut self,
        now: Instant,
        observer: &mut impl Observer<T>,
    ) -> Option<Packet<Partial<T>>> {
        self.buffer.dequeue(now, |packet, reason| {
            observer.dropped(whole(packet), now, reason)
        })
    }

    fn send(&mut self, now: Instant, mut packet: Packet<Partial<T>>) {
        packet.payload.start.get_or_insert(now);
        let sending = Sending { packet, since: now };
        self.free_at = sending.end();
        self.decides_at = self.free_at;
        self.sending = Some(sending);
    }
}

/// The packet as it arrived at the port.
fn whole<T>(packet: Packet<Partial<T>>) -> Packet<T> {
    let Packet {
        flow,
        len,
        ecn,
        priority,
        deadline,
        payload,
        ..
    } = packet;
    let Partial {
        payload,
        arrival,
        slack,
        ..
    } = payload;
    Packet {
        flow,
        len,
        arrival,
        ecn,
        priority,
        slack,
        deadline,
        payload,
    }
}

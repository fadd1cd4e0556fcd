//! An agent's TCP connection, with both ends. It turns segments into packets of a flow, and packets
//! into segments.

use roundelay::{Duration, Ecn, FlowId, Instant};
use roundelay_tcp::rc3::Tail;
use roundelay_tcp::{Config, Receiver, Segment, Sender, SenderStatistics};

use crate::agent::{Arrival, Context, Departure, Outgoing};
use crate::ids::Direction;
use crate::packet_state::Content;
pub(crate) use crate::probe::Effort;
use crate::probe::Report;
use crate::sources::SourceError;
use crate::sources::source_flow::Terms;
use crate::sources::stamp::Stamp;

/// How long packets took in one direction: sum in picoseconds, and number of packets.
#[derive(Debug, Clone, Copy, Default)]
struct Delays {
    picos: u128,
    packets: u64,
}

impl Delays {
    fn mean(self) -> Duration {
        Duration::from_picos((self.picos / u128::from(self.packets.max(1))) as u64)
    }
}

/// One connection. Data goes forward, answers go backward.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    flow: FlowId,
    sender: Sender,
    receiver: Receiver,
    /// Bytes to send in all, so far.
    supplied: u64,
    /// By direction, like the delays.
    stamps: [Stamp; 2],
    delays: [Delays; 2],
    /// RC3's tail, which is sent beyond the window, and when its next segment may go.
    tail: Option<Tail>,
    tail_at: Option<Instant>,
    /// When the receiver last got on.
    delivered_at: Instant,
    /// The sender's counters when it last reported.
    reported: SenderStatistics,
}

impl Connection {
    /// A connection that is not open yet, with `bytes` to send at first. `u64::MAX` means without
    /// end.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub(crate) fn new(config: Config, bytes: u64, terms: &Terms) -> Result<Self, SourceError> {
        let sender = match &terms.control {
            Some(control) => Sender::with_control(config, Some(0), control.clone())?,
            None => Sender::new(config, Some(0))?,
        };
        let mut connection = Self {
            flow: FlowId::default(),
            sender,
            receiver: Receiver::new(config)?,
            supplied: 0,
            stamps: [
                terms.stamp(bytes, config.segment_len),
                terms.stamp(bytes, config.segment_len),
            ],
            delays: [Delays::default(); 2],
            tail: None,
            tail_at: None,
            delivered_at: Instant::ZERO,
            reported: SenderStatistics::default(),
        };
        connection.tail = connection.stamps[0].tail_rate().map(|_| Tail::default());
        connection.supply(bytes);
        Ok(connection)
    }

    /// Adds `bytes` to send, as a transfer of its own, but does not send. The caller makes a call
    /// of another kind next.
    pub(crate) fn supply(&mut self, bytes: u64) {
        self.supplied = self.supplied.saturating_add(bytes);
        self.sender.supply(bytes);
        self.stamps.iter_mut().for_each(|stamp| stamp.resize(bytes));
    }

    /// Opens the connection on a flow and sends.
    pub(crate) fn open(&mut self, flow: FlowId, context: &mut Context<'_>) {
        (self.flow, self.delivered_at) = (flow, context.now());
        self.sender.open(context.now());
        self.send(context);
    }

    /// The next timer: when to wake the connection.
    #[inline]
    pub(crate) fn timer(&self) -> Option<Instant> {
        earlier(
            earlier(self.sender.timer(), self.receiver.timer()),
            self.tail_at,
        )
    }

    /// Handles timers that have expired, and sends.
    pub(crate) fn wake(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if self.sender.timer().is_some_and(|timer| timer <= now) {
            self.sender.on_timer(now);
        }
        if let Some(answer) = self.receiver.on_timer(now) {
            self.answer(&answer, context);
        }
        self.send(context);
    }

    /// Handles a packet that belongs to the connection's flow.
    #[inline]
    pub(crate) fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let Content::Segment(segment) = &arrival.content else {
            return;
        };
        let now = context.now();
        let delays = &mut self.delays[arrival.direction.index()];
        delays.picos += u128::from(now.since(arrival.sent).as_picos());
        delays.packets += 1;
        if arrival.direction == Direction::Backward {
            self.sender.on_segment(now, segment);
            return self.send(context);
        }
        let before = self.receiver.delivered();
        let answer = self
            .receiver
            .on_segment(now, segment, arrival.ecn == Ecn::Marked);
        if self.receiver.delivered() > before {
            self.delivered_at = now;
        }
        if let Some(answer) = answer {
            self.answer(&answer, context);
        }
    }

    /// Data has left the queue of the sender's host.
    pub(crate) fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        self.sender.depart(departure.data);
        self.send(context);
    }

    /// Tells the server's sender the round trip that the client's has measured by its SYN, because
    /// the server measures as much by its own.
    #[inline]
    pub(crate) fn learn_handshake(&mut self, client: &Connection, now: Instant) {
        if self.sender.round_trip().is_none()
            && client.sender.config().syn_exchange
            && let Some(round_trip) = client.sender.round_trip()
        {
            self.sender.learn_round_trip(now, round_trip);
        }
    }

    /// Bytes received in order.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Whether the sender knows that all bytes were delivered.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.sender.is_done()
    }

    /// Reports on the last `bytes`, and what was repaired since the last report.
    pub(crate) fn report(
        &mut self,
        bytes: u64,
        start: Instant,
        is_complete: bool,
        effort: Effort,
        context: &mut Context<'_>,
    ) {
        self.tell(
            Report {
                bytes,
                start,
                is_complete,
                ..self.draft(effort, context.now())
            },
            context,
        );
    }

    /// Reports what was repaired since the last transfer, if anything.
    pub(crate) fn report_rest(&mut self, effort: Effort, context: &mut Context<'_>) {
        if effort != Effort::default() {
            self.tell(
                Report {
                    is_transfer: false,
                    ..self.draft(effort, context.now())
                },
                context,
            );
        }
    }

    fn draft(&self, effort: Effort, now: Instant) -> Report {
        Report {
            bytes: 0,
            start: now,
            delivered: self.delivered_at,
            acknowledged: self.is_done().then_some(now),
            is_complete: false,
            is_transfer: true,
            retransmissions: effort.retransmissions,
            timeouts: effort.timeouts,
            round_trip: self.delays[0].mean() + self.delays[1].mean(),
        }
    }

    fn tell(&mut self, report: Report, context: &mut Context<'_>) {
        self.delays = [Delays::default(); 2];
        context.report(self.flow, report);
    }

    /// Retransmissions and timeouts since the last call.
    pub(crate) fn effort(&mut self) -> Effort {
        let before = std::mem::replace(&mut self.reported, *self.sender.statistics());
        let SenderStatistics {
            retransmissions,
            timeouts,
            ..
        } = self.reported;
        Effort {
            retransmissions: retransmissions - before.retransmissions,
            timeouts: timeouts - before.timeouts,
        }
    }

    #[inline]
    fn send(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        while let Some(segment) = self.sender.poll(now) {
            let mut packet = self.packet(Direction::Forward, &segment);
            let left_bytes = self.supplied.saturating_sub(self.sender.acknowledged());
            match segment.len {
                0 => self.stamps[0].mark_bare(&mut packet, now),
                _ => self.stamps[0].mark(&mut packet, now, left_bytes),
            }
            context.send(packet);
        }
        if self.tail.is_some() {
            self.send_tail(context);
        }
    }

    /// Sends the next segment from the flow's end, but no faster than the first link's rate.
    fn send_tail(&mut self, context: &mut Context<'_>) {
        let (now, Some(rate)) = (context.now(), self.stamps[0].tail_rate()) else {
            return;
        };
        let Some(tail) = &mut self.tail else {
            return;
        };
        if self.tail_at.is_some_and(|at| at > now) {
            return;
        }
        let segment = tail.poll(now, &mut self.sender);
        self.tail_at = None;
        if let Some((segment, level)) = segment {
            let mut packet = self.packet(Direction::Forward, &segment);
            let left_bytes = self.supplied.saturating_sub(self.sender.acknowledged());
            self.stamps[0].mark_tail(&mut packet, now, left_bytes, level);
            context.send(packet);
            self.tail_at = Some(now + rate.time_of(packet.len.into()));
        } else if self.sender.acknowledged() > 0 {
            self.tail = None;
        }
    }

    #[inline]
    fn answer(&mut self, segment: &Segment, context: &mut Context<'_>) {
        let mut packet = self.packet(Direction::Backward, segment);
        self.stamps[1].mark_bare(&mut packet, context.now());
        context.send(packet);
    }

    #[inline]
    fn packet(&self, direction: Direction, segment: &Segment) -> Outgoing {
        let ecn = if segment.is_ecn_capable() {
            Ecn::Capable
        } else {
            Ecn::NotCapable
        };
        let len = segment.wire_len(self.sender.config());
        Outgoing {
            tells_departure: self.sender.config().small_queue && segment.len > 0,
            direction,
            content: Content::Segment(*segment),
            ecn,
            ..Outgoing::new(self.flow, len)
        }
    }
}

/// The earlier of two times that may be missing.
#[inline]
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// When an agent wants to wake up. We request a call only if it is earlier than the pending one.
/// Each acknowledgement postpones timeouts, and an agent that is called too early just checks its
/// timers again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Alarm(Option<Instant>);

impl Alarm {
    /// The agent was called.
    pub(crate) const fn went_off(&mut self) {
        self.0 = None;
    }

    #[inline]
    pub(crate) fn set(&mut self, at: Option<Instant>, context: &mut Context<'_>) {
        if let Some(at) = at.filter(|at| self.0.is_none_or(|asked| *at < asked)) {
            self.0 = Some(at);
            context.wake_at(at);
        }
    }
}

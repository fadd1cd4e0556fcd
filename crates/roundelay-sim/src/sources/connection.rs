//! A TCP connection, both ends, as part of an agent: segments become packets of a flow, and packets become segments again.

use roundelay::{Duration, Ecn, FlowId, Instant};
use roundelay_tcp::rc3::Tail;
use roundelay_tcp::{Config, Receiver, Segment, Sender, SenderStatistics};

use crate::agent::{Arrival, Context, Direction, Outgoing};
use crate::cargo::Content;
pub(crate) use crate::probe::Effort;
use crate::probe::Report;
use crate::sources::SourceError;
use crate::sources::outlet::Terms;
use crate::sources::stamp::Stamp;

/// How long packets of one direction were on their way: the sum in picoseconds, and how many they were.
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

/// One connection: data goes forward, what answers it goes backward.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    flow: FlowId,
    sender: Sender,
    receiver: Receiver,
    /// Bytes to be sent, so far.
    supplied: u64,
    /// By direction, like the delays.
    stamps: [Stamp; 2],
    delays: [Delays; 2],
    /// What is sent past the window, and when its next segment goes.
    tail: Option<Tail>,
    tail_at: Option<Instant>,
    /// When the receiver last got ahead.
    delivered_at: Instant,
    /// What the sender had counted at the last report.
    reported: SenderStatistics,
}

impl Connection {
    /// A connection that is not open yet, for so many bytes at first. Without end: `u64::MAX`.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub(crate) fn new(config: Config, bytes: u64, terms: &Terms) -> Result<Self, SourceError> {
        let sender = Sender::new(config, Some(0))?;
        let mut connection = Self {
            flow: FlowId::default(),
            sender,
            receiver: Receiver::new(config)?,
            supplied: 0,
            stamps: [terms.stamp(bytes, config.segment_len), terms.stamp(bytes, config.segment_len)],
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

    /// There are `bytes` more to send, a transfer by themselves. They go with the next call of another kind, so the caller makes one.
    pub(crate) fn supply(&mut self, bytes: u64) {
        self.supplied = self.supplied.saturating_add(bytes);
        self.sender.supply(bytes);
        self.stamps.iter_mut().for_each(|stamp| stamp.resize(bytes));
    }

    /// Goes to work over a flow.
    pub(crate) fn open(&mut self, flow: FlowId, context: &mut Context<'_>) {
        (self.flow, self.delivered_at) = (flow, context.now());
        self.sender.open(context.now());
        self.send(context);
    }

    /// When it wants to be woken: at the next of its timers.
    #[inline]
    pub(crate) fn timer(&self) -> Option<Instant> {
        earlier(earlier(self.sender.timer(), self.receiver.timer()), self.tail_at)
    }

    /// Looks at its timers, and sends what there is to send.
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

    /// A packet of its flow has arrived.
    #[inline]
    pub(crate) fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let Content::Segment(segment) = &arrival.content else { return };
        let now = context.now();
        let delays = &mut self.delays[arrival.direction.index()];
        delays.picos += u128::from(now.since(arrival.sent).as_picos());
        delays.packets += 1;
        if arrival.direction == Direction::Backward {
            self.sender.on_segment(now, segment);
            return self.send(context);
        }
        let before = self.receiver.delivered();
        let answer = self.receiver.on_segment(now, segment, arrival.ecn == Ecn::Marked);
        if self.receiver.delivered() > before {
            self.delivered_at = now;
        }
        if let Some(answer) = answer {
            self.answer(&answer, context);
        }
    }

    /// Bytes that the receiver has, in order.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Whether the sender knows that all is delivered.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.sender.is_done()
    }

    /// Tells what came of the last `bytes`, with what was counted since the last report.
    pub(crate) fn report(&mut self, bytes: u64, start: Instant, is_complete: bool, effort: Effort, context: &mut Context<'_>) {
        self.tell(Report { bytes, start, is_complete, ..self.draft(effort, context.now()) }, context);
    }

    /// Tells what was counted since the last transfer, if anything was.
    pub(crate) fn report_rest(&mut self, effort: Effort, context: &mut Context<'_>) {
        if effort != Effort::default() {
            self.tell(Report { is_transfer: false, ..self.draft(effort, context.now()) }, context);
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

    /// What was counted since it was asked last.
    pub(crate) fn effort(&mut self) -> Effort {
        let before = std::mem::replace(&mut self.reported, *self.sender.statistics());
        let SenderStatistics { retransmissions, timeouts, .. } = self.reported;
        Effort { retransmissions: retransmissions - before.retransmissions, timeouts: timeouts - before.timeouts }
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

    /// The next segment from the flow's end, each when the first link has had the time to take the one before.
    fn send_tail(&mut self, context: &mut Context<'_>) {
        let (now, Some(rate)) = (context.now(), self.stamps[0].tail_rate()) else { return };
        let Some(tail) = self.tail.as_mut().filter(|_| self.tail_at.is_none_or(|at| at <= now)) else { return };
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
        let ecn = if segment.is_ecn_capable() { Ecn::Capable } else { Ecn::NotCapable };
        let len = segment.wire_len(self.sender.config());
        Outgoing { direction, content: Content::Segment(*segment), ecn, ..Outgoing::new(self.flow, len) }
    }
}

/// The earlier of two times, if there is one.
#[inline]
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// An agent's call by time, asked for only if it comes sooner than the one that was asked for before: timeouts are put off with each
/// acknowledgement, and an agent that is called too early looks again.
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

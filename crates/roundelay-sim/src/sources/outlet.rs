//! What all sources of datagrams have in common: from when to when, whence and whither, how urgent.

use roundelay::{Duration, FlowId, Instant};

use crate::agent::{Context, FlowSpec, Outgoing};
use crate::network::NodeId;
use crate::sources::stamp::Stamp;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, SourceError, draw};

/// Where a source's packets go, and when it is at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Its flow.
    pub flow: FlowSpec,
    /// When it begins.
    pub start: Instant,
    /// It begins up to so much later, drawn evenly.
    pub start_jitter: Duration,
    /// When it stops, after its start: no packet is sent then or later.
    pub stop: Option<Instant>,
    /// How urgent its packets are.
    pub urgency: Urgency,
}

impl Terms {
    /// From time zero on, without end, nothing urgent.
    pub const fn new(from: NodeId, to: NodeId) -> Self {
        let flow = FlowSpec { from, to, config: None };
        Self { flow, start: Instant::ZERO, start_jitter: Duration::ZERO, stop: None, urgency: Urgency::None }
    }

    /// What stamps the packets of a flow of `size_bytes`, one way.
    pub(crate) fn stamp(&self, size_bytes: u64, packet_len: u32) -> Stamp {
        Stamp::new(self.urgency.clone(), self.flow.weight(), size_bytes, packet_len)
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), SourceError> {
        match self.stop {
            Some(stop) if stop <= self.start => Err(SourceError::new(check.0, "stop", stop, format!("after its start at {}", self.start))),
            _ => Ok(()),
        }
    }
}

/// Terms at work: the flow is opened at the start and closed at the stop, or when its last packet is sent.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    terms: Terms,
    stamp: Stamp,
    starts: Option<Instant>,
    flow: Option<FlowId>,
    /// Packets that it may still send.
    left: u64,
}

/// What an agent that was called has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing: it is not its time yet, or no longer.
    Pass,
    /// This is its start.
    Start(FlowId),
    /// Go on.
    GoOn(FlowId),
}

impl Outlet {
    /// For a flow of `size_bytes`, `u64::MAX` if it has no end.
    pub(crate) fn new(terms: Terms, size_bytes: u64, packet_len: u32) -> Self {
        let stamp = terms.stamp(size_bytes, packet_len);
        Self { terms, stamp, starts: None, flow: None, left: u64::MAX }
    }

    /// For a flow of so many packets of `packet_len` bytes, in the mean; of packets without end if there is no number. Urgency by size goes by their
    /// bytes; `stamp_len` is the length by which fair slack goes.
    pub(crate) fn of_packets(terms: Terms, packets: Option<u64>, packet_len: u32, stamp_len: u32) -> Self {
        let left = packets.unwrap_or(u64::MAX);
        let size_bytes = packets.map_or(u64::MAX, |packets| packets.saturating_mul(packet_len.into()));
        Self { left, ..Self::new(terms, size_bytes, stamp_len) }
    }

    /// Sends the next packet of the flow, stamped: one whose others are as long.
    #[inline]
    pub(crate) fn send(&mut self, flow: FlowId, len: u32, context: &mut Context<'_>) {
        let left_bytes = if self.left == u64::MAX { u64::MAX } else { self.left.saturating_mul(len.into()) };
        let mut packet = Outgoing::new(flow, len);
        self.stamp.mark(&mut packet, context.now(), left_bytes);
        context.send(packet);
        self.left -= u64::from(self.left != u64::MAX);
    }

    /// The same between other nodes.
    pub(crate) const fn redirect(&mut self, flow: FlowSpec) {
        self.terms.flow = flow;
    }

    /// Whether it is time to stop.
    #[inline]
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.terms.stop.is_some_and(|stop| now >= stop)
    }

    /// When to stop.
    pub(crate) const fn stop(&self) -> Option<Instant> {
        self.terms.stop
    }

    /// To be asked at each call by time.
    #[inline]
    pub(crate) fn turn(&mut self, context: &mut Context<'_>) -> Turn {
        if self.is_over(context.now()) {
            self.finish(context);
            return Turn::Pass;
        }
        if let Some(flow) = self.flow {
            return Turn::GoOn(flow);
        }
        let jitter = self.terms.start_jitter;
        let starts = *self.starts.get_or_insert_with(|| self.terms.start + draw::up_to(context.random(), jitter));
        if context.now() < starts {
            self.call_at(starts, context);
            return Turn::Pass;
        }
        let flow = context.open(self.terms.flow);
        self.flow = Some(flow);
        Turn::Start(flow)
    }

    /// Wants to be called at `at`, or at the stop if that comes first; after its last packet the flow is closed.
    #[inline]
    pub(crate) fn call_at(&self, at: Instant, context: &mut Context<'_>) {
        if self.left == 0 {
            return self.finish(context);
        }
        context.wake_at(self.terms.stop.map_or(at, |stop| stop.min(at)));
    }

    /// Closes the flow and leaves.
    pub(crate) fn finish(&self, context: &mut Context<'_>) {
        if let Some(flow) = self.flow {
            context.close(flow);
        }
        context.leave();
    }
}

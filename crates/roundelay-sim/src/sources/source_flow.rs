//! What datagram sources share: hosts, start and stop, urgency, number of packets.

use roundelay::{Duration, FlowId, Instant};
use roundelay_tcp::CustomControl;

use crate::agent::{Context, Outgoing};
use crate::flows::FlowSpec;
use crate::ids::NodeId;
use crate::sources::stamp::Stamp;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, SourceError, draw};

/// A source's hosts, times and urgency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The source's flow.
    pub flow: FlowSpec,
    /// When it starts.
    pub start: Instant,
    /// How much later it may start, drawn evenly from 0 to this.
    pub start_jitter: Duration,
    /// When it stops, which must be after its start. From then on no packet is sent.
    pub stop: Option<Instant>,
    /// How urgent packets are.
    pub urgency: Urgency,
    /// If set, this congestion control replaces the protocol's, with an instance for each direction
    /// of a connection. Sources without TCP ignore it.
    pub control: Option<CustomControl>,
}

impl Terms {
    /// From time zero on, without end or urgency.
    pub const fn new(from: NodeId, to: NodeId) -> Self {
        let flow = FlowSpec {
            from,
            to,
            config: None,
        };
        Self {
            flow,
            start: Instant::ZERO,
            start_jitter: Duration::ZERO,
            stop: None,
            urgency: Urgency::None,
            control: None,
        }
    }

    /// Stamps packets one way, in a flow of `size_bytes`.
    pub(crate) fn stamp(&self, size_bytes: u64, packet_len: u32) -> Stamp {
        Stamp::new(
            self.urgency.clone(),
            self.flow.weight(),
            size_bytes,
            packet_len,
        )
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), SourceError> {
        match self.stop {
            Some(stop) if stop <= self.start => Err(SourceError::new(
                check.0,
                "stop",
                stop,
                format!("after its start at {}", self.start),
            )),
            _ => Ok(()),
        }
    }
}

/// A source's flow: opened at the start, closed at the stop or after the last packet.
#[derive(Debug, Clone)]
pub(crate) struct SourceFlow {
    terms: Terms,
    stamp: Stamp,
    starts: Option<Instant>,
    flow: Option<FlowId>,
    /// Packets that may still be sent.
    left: u64,
    /// The mean length of the flow's packets, in bytes.
    packet_len: u32,
}

/// What an agent has to do when it is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing: the source has not started yet, or it has stopped.
    Pass,
    /// Start the source.
    Start(FlowId),
    /// Go on.
    GoOn(FlowId),
}

impl SourceFlow {
    /// For a flow of `size_bytes`. `u64::MAX` means that it is endless.
    pub(crate) fn new(terms: Terms, size_bytes: u64, packet_len: u32) -> Self {
        let stamp = terms.stamp(size_bytes, packet_len);
        Self {
            terms,
            stamp,
            starts: None,
            flow: None,
            left: u64::MAX,
            packet_len,
        }
    }

    /// For a flow with `packets` packets, `packet_len` bytes long on average. None: without end.
    pub(crate) fn of_packets(terms: Terms, packets: Option<u64>, packet_len: u32) -> Self {
        let left = packets.unwrap_or(u64::MAX);
        let size_bytes = packets.map_or(u64::MAX, |packets| {
            packets.saturating_mul(packet_len.into())
        });
        Self {
            left,
            ..Self::new(terms, size_bytes, packet_len)
        }
    }

    /// Sends and stamps the flow's next packet, which has `len` bytes. The bytes left are counted
    /// as if all packets left had the mean length.
    #[inline]
    pub(crate) fn send(&mut self, flow: FlowId, len: u32, context: &mut Context<'_>) {
        let left_bytes = if self.left == u64::MAX {
            u64::MAX
        } else {
            self.left.saturating_mul(self.packet_len.into())
        };
        let mut packet = Outgoing::new(flow, len);
        self.stamp.mark(&mut packet, context.now(), left_bytes);
        context.send(packet);
        self.left -= u64::from(self.left != u64::MAX);
    }

    /// Changes the flow's nodes.
    pub(crate) const fn redirect(&mut self, flow: FlowSpec) {
        self.terms.flow = flow;
    }

    /// Whether the source has stopped.
    #[inline]
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.terms.stop.is_some_and(|stop| now >= stop)
    }

    /// When the source stops.
    pub(crate) const fn stop(&self) -> Option<Instant> {
        self.terms.stop
    }

    /// The agent calls this whenever it is woken.
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
        let starts = *self
            .starts
            .get_or_insert_with(|| self.terms.start + draw::up_to(context.random(), jitter));
        if context.now() < starts {
            self.call_at(starts, context);
            return Turn::Pass;
        }
        let flow = context.open(self.terms.flow);
        self.flow = Some(flow);
        Turn::Start(flow)
    }

    /// Requests a call at `at`, or at the stop if that is earlier. After the flow's last packet,
    /// closes the flow instead.
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

//! Link model: scheduler decisions and packet transmissions strictly alternate, without overlap.

use roundelay::schedulers::AnyArena;
use roundelay::{Control, Duration, FlowConfig, FlowId, Instant, Packet, Rate, Scheduler};

use super::meter::Meter;
use super::sources::Sources;
use crate::experiments::Failed;
use crate::experiments::decisions::dequeue;

/// What takes time on the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// How long a decision takes.
    pub(super) decision: Duration,
    /// Time per packet, with or without a decision.
    pub(super) packet: Duration,
    /// None: transmission takes no time.
    pub(super) rate: Option<Rate>,
    /// Propagation delay to the receiver. The link does not wait for it.
    pub(super) propagation: Duration,
}

impl Link {
    /// Sends all packets of the sources. Packets made at the instant of a decision come before it.
    pub(super) fn run(
        &self,
        scheduler: &mut AnyArena<()>,
        sources: &mut Sources,
    ) -> Result<Meter, Failed> {
        self.set_up(scheduler, sources)?;
        let mut meter = Meter::new(sources);
        let mut free = Instant::ZERO;
        loop {
            let waits = !scheduler.backlog().is_empty();
            let next = if waits {
                Some(free)
            } else {
                sources.next_at().map(|at| at.max(free))
            };
            let Some(now) = next else { break };
            while let Some(packet) = sources.take(now) {
                enqueue(scheduler, packet.arrival, packet)?;
            }
            let (packet, taken) = dequeue(scheduler, now).ok_or_else(|| {
                Failed("disciplines that idle cannot be examined here".to_owned())
            })?;
            free = now + self.time_of(taken, packet.len);
            meter.received(&packet, taken, free + self.propagation);
            if let Some(next) = sources.sent(packet.flow, now) {
                enqueue(scheduler, now, next)?;
            }
        }
        Ok(meter)
    }

    fn set_up(&self, scheduler: &mut AnyArena<()>, sources: &Sources) -> Result<(), Failed> {
        if let Some(rate) = self.rate {
            scheduler.set_link_rate(rate);
        }
        for (number, flow) in (0..).zip(sources.flows()) {
            let max_packet_len = sources.packet_len().max(FlowConfig::MIN_MAX_PACKET_LEN);
            scheduler
                .set_flow(
                    FlowId(number),
                    FlowConfig {
                        weight: flow.weight,
                        max_packet_len,
                    },
                )
                .map_err(Failed::from)?;
        }
        Ok(())
    }

    fn time_of(&self, decisions: u64, len: u32) -> Duration {
        let deciding = Duration::from_picos(self.decision.as_picos().saturating_mul(decisions));
        deciding
            + self.packet
            + self
                .rate
                .map_or(Duration::ZERO, |rate| rate.time_of(len.into()))
    }
}

fn enqueue(scheduler: &mut AnyArena<()>, now: Instant, packet: Packet<()>) -> Result<(), Failed> {
    scheduler.enqueue(now, packet).map_err(|refused| {
        Failed(format!(
            "a packet of flow {} was refused",
            refused.packet.flow.0
        ))
    })
}

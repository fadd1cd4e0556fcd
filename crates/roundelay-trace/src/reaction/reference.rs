//! Reference: what flows ask of the fairest queue, and what they get.

use std::collections::HashMap;
use std::error::Error;

use roundelay::{FlowId, Instant, Rate};

use super::cast::Cast;
use super::witness::Witness;
use crate::compare::choose_charted;
use crate::comparison::{Comparison, DisciplineResult, FlowSummary};
use crate::demand::Demand;
use crate::headers::TCP;
use crate::kind::{Kind, Pace};
use crate::lane::Sorts;

/// The flows under the fairest queue.
#[derive(Debug)]
pub struct Reference {
    flows: Vec<FlowSummary>,
    /// When each flow had sent all that it sent, for each replica.
    ends: Vec<Vec<Instant>>,
    sorts: Sorts,
    charted: Vec<usize>,
}

impl Reference {
    /// Judges flows by the runs under the fairest queue, one for each replica. The first run tells
    /// what each flow asks for. But datagrams ask for what they ask for in the replay.
    pub fn of(cast: &Cast, replay: &Comparison, fairest: &[Witness]) -> Self {
        let mut known = HashMap::new();
        for flow in &replay.flows {
            known.insert(flow.label.as_str(), flow);
        }
        let seconds = replay.capture.seconds;
        let link = replay.reference_rate as f64;
        let mut flows = Vec::new();
        for (number, flow) in (0..).zip(cast.flows()) {
            let id = FlowId(number);
            let mut sent = 0.0;
            for run in fairest {
                sent += run.sent_bytes(id) as f64 / fairest.len() as f64;
            }
            let asked = fairest[0].asked(id);
            let lasting = asked.last.since(asked.first).as_secs_f64();
            let demand = Demand::of(asked.backlogs, (asked.packets, asked.bytes), lasting, link);
            let is_bare = asked.bare > 0 && asked.bare * 100 >= asked.packets * 99;
            let pace = Pace {
                packets: asked.packets,
                bytes: asked.bytes,
                seconds: lasting,
            };
            let label = flow.to_string();
            let recorded = known.get(label.as_str());
            let is_tcp = flow
                .headers()
                .is_some_and(|headers| headers.protocol == TCP);
            // Simulated headers lack the code point, which may be all that shows a call.
            let (kind, light) = match recorded {
                Some(recorded) if !is_tcp => (recorded.kind, recorded.light),
                Some(recorded) if recorded.kind == Kind::Call && demand == Demand::Light => {
                    (Kind::Call, true)
                }
                _ => (
                    Kind::of(flow, demand, is_bare, pace),
                    demand == Demand::Light,
                ),
            };
            flows.push(FlowSummary {
                label,
                weight: 1,
                packets: asked.packets,
                bytes: asked.bytes,
                first: asked.first.as_secs_f64(),
                last: asked.last.as_secs_f64(),
                offered_rate: per_second(asked.bytes as f64, seconds),
                fair_rate: per_second(sent, seconds),
                light,
                kind,
                host: None,
                fair_rate_by_host: None,
            });
        }
        let mut ends = Vec::new();
        for run in fairest {
            ends.push(run.ends().to_vec());
        }
        Self {
            sorts: Sorts::of(&flows),
            charted: choose_charted(&flows),
            flows,
            ends,
        }
    }

    /// The flows, in the order of their numbers.
    pub fn flows(&self) -> &[FlowSummary] {
        &self.flows
    }

    /// A witness for a run whose shares this replica tells. It counts the bytes that a flow has
    /// sent by the time at which the fairest queue has sent all of the flow.
    pub fn witness(&self, rate: Rate, replica: usize) -> Witness {
        let mut witness = Witness::new(rate, self.flows.len());
        witness.expect(self.ends[replica].clone());
        witness
    }
}

impl Witness {
    /// The run's figures, for a discipline that was replayed with this result.
    ///
    /// # Errors
    /// The sink cannot store the packets.
    pub fn result(
        self,
        reference: &Reference,
        replayed: &DisciplineResult,
    ) -> Result<DisciplineResult, Box<dyn Error + Send + Sync>> {
        self.figures(&reference.sorts, &reference.charted, replayed)
    }
}

/// Bits per second for this many bytes. 0 if they took no time.
fn per_second(bytes: f64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        bytes * 8.0 / seconds
    } else {
        0.0
    }
}

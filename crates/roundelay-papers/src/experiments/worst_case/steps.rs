//! Counterexample step by step: arrivals and departures with V, the flow's S and F, and its lag
//! against the bound.
//!
//! Eq. 2 and 3 of the QFQ paper give S, F and V again from arrivals and departures. For V's jumps,
//! start times are rounded as in the discipline. Virtual times are in bytes per unit of weight.
//! Consecutive steps of another flow share a line.

use roundelay::{Guarantees, Share};
use roundelay_metrics::workload::{Event, EventKind, Workload};

/// How a discipline rounds start times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// None: WF2Q+.
    Exact,
    /// Down to a slot: QFQ, GFQ.
    Slots,
    /// Two slots of twice the size before the rounded finish time: S-KPS.
    WideSlots,
}

impl Rounding {
    pub(super) fn of(discipline: &str) -> Self {
        match discipline {
            "qfq" | "qfq_plus" | "gfq" => Self::Slots,
            "s_kps" => Self::WideSlots,
            _ => Self::Exact,
        }
    }

    fn rounded_start(self, flow: &Shadow) -> f64 {
        let slot = flow.slot;
        match self {
            Self::Exact => flow.start,
            Self::Slots => (flow.start / slot).floor() * slot,
            // Finish times are rounded up to odd multiples of the slot size.
            Self::WideSlots => {
                let odd = ((flow.finish / slot - 1.0) / 2.0).ceil() * 2.0 + 1.0;
                // Two wide slots before, which are four of ours.
                (odd - 4.0) * slot
            }
        }
    }
}

/// A flow's virtual times.
#[derive(Debug, Clone, Default)]
struct Shadow {
    weight: f64,
    /// Slot size sigma_i.
    slot: f64,
    start: f64,
    finish: f64,
    waiting: std::collections::VecDeque<u32>,
}

/// V and the flows' virtual times, computed from arrivals and departures alone, apart from the
/// discipline.
#[derive(Debug, Clone)]
pub(super) struct Shadows {
    rounding: Rounding,
    virtual_time: f64,
    total_weight: f64,
    flows: Vec<Shadow>,
}

impl Shadows {
    pub(super) fn new(load: &Workload, rounding: Rounding) -> Self {
        let mut flows = Vec::new();
        for number in 0..load.sources.len() {
            let share = load.share(number);
            flows.push(Shadow {
                weight: share.weight.into(),
                slot: slot(&share),
                ..Shadow::default()
            });
        }
        Self {
            rounding,
            virtual_time: 0.0,
            total_weight: load.total_weight() as f64,
            flows,
        }
    }

    /// Eq. 2 and 3.
    pub(super) fn step(&mut self, event: &Event) {
        let virtual_time = self.virtual_time;
        let flow = &mut self.flows[event.flow];
        let is_newly_backlogged = event.kind == EventKind::Arrival && flow.waiting.is_empty();
        match event.kind {
            EventKind::Arrival => flow.waiting.push_back(event.len),
            EventKind::Departure => drop(flow.waiting.pop_front()),
        }
        if event.kind == EventKind::Departure || is_newly_backlogged {
            // Eq. 2: S = max(V, F) for a newly backlogged flow, else F. Then F = S + l / phi.
            flow.start = if is_newly_backlogged {
                virtual_time.max(flow.finish)
            } else {
                flow.finish
            };
            flow.finish = flow.start;
            if let Some(len) = flow.waiting.front() {
                flow.finish += f64::from(*len) / flow.weight;
            }
        }
        // Eq. 3: V grows by the service, and jumps to the backlogged flows' first start time.
        if event.kind == EventKind::Departure {
            self.virtual_time += f64::from(event.len) / self.total_weight;
        }
        let mut first = f64::INFINITY;
        for flow in &self.flows {
            if !flow.waiting.is_empty() {
                first = first.min(self.rounding.rounded_start(flow));
            }
        }
        if first.is_finite() {
            self.virtual_time = self.virtual_time.max(first);
        }
    }

    /// True if a flow's head packet is eligible: its rounded start is not after V.
    #[cfg(test)]
    fn is_eligible(&self, flow: usize) -> bool {
        self.rounding.rounded_start(&self.flows[flow]) <= self.virtual_time + 1e-6
    }
}

/// sigma_i in bytes per unit of weight. L_k counts as at least 1088 bytes, as in the disciplines.
fn slot(share: &Share) -> f64 {
    let longest = f64::from(share.max_packet_len.max(1088));
    2f64.powf((longest / f64::from(share.weight)).log2().ceil())
}

/// Consecutive steps with the same kind and flow. The watched flow's steps stand alone.
struct Line {
    first: Event,
    packets: u64,
    bytes: u64,
    /// The largest lag among these steps.
    lag: f64,
}

impl Line {
    fn takes(&self, event: &Event, watched: usize) -> bool {
        event.flow != watched && event.flow == self.first.flow && event.kind == self.first.kind
    }

    fn write(&self, shadows: &Shadows, watched: usize, bound: f64) -> String {
        let verb = if self.first.kind == EventKind::Arrival {
            "brings"
        } else {
            "sends"
        };
        let flow = &shadows.flows[watched];
        let flow_number = self.first.flow;
        let micros = self.first.at.as_picos() as f64 / 1e6;
        let packets = if self.packets == 1 {
            "1 packet".to_owned()
        } else {
            format!("{} packets", self.packets)
        };
        format!(
            "{micros:.3} us: flow {flow_number} {verb} {packets}, {} bytes | V {:.1}, S {:.1}, F \
             {:.1} | lag {:.0} of {bound:.0} bytes",
            self.bytes, shadows.virtual_time, flow.start, flow.finish, self.lag
        )
    }
}

/// The steps up to the departure with the watched flow's largest lag.
pub(super) fn lines(
    name: &str,
    load: &Workload,
    watched: usize,
    promised: Guarantees,
    rounding: Rounding,
    events: &[Event],
) -> Vec<String> {
    let printed = bytes_of(promised.as_printed());
    let proven = bytes_of(promised);
    let mut last = 0;
    for (number, event) in events.iter().enumerate() {
        if event.lag >= events[last].lag.max(0.0) {
            last = number;
        }
    }
    let mut lines = vec![head(name, load, watched, printed, proven)];
    let mut shadows = Shadows::new(load, rounding);
    let mut open: Option<Line> = None;
    for event in &events[..events.len().min(last + 1)] {
        if let Some(line) = open.take_if(|line| !line.takes(event, watched)) {
            lines.push(line.write(&shadows, watched, printed));
        }
        let line = open.get_or_insert(Line {
            first: *event,
            packets: 0,
            bytes: 0,
            lag: 0.0,
        });
        line.packets += 1;
        line.bytes += u64::from(event.len);
        line.lag = line.lag.max(event.lag);
        shadows.step(event);
    }
    lines.extend(open.map(|line| line.write(&shadows, watched, printed)));
    lines
}

/// A promised B-WFI in bytes.
fn bytes_of(promised: Guarantees) -> f64 {
    match promised.b_wfi {
        Some(bound) => bound.value as f64,
        None => f64::INFINITY,
    }
}

fn head(name: &str, load: &Workload, watched: usize, printed: f64, proven: f64) -> String {
    let mut flows = Vec::new();
    for (number, source) in load.sources.iter().enumerate() {
        flows.push(format!(
            "flow {number}: weight {}, packets of up to {} bytes",
            source.config.weight,
            source.longest()
        ));
    }
    format!(
        "load '{name}', 8 Gbit/s; {}; flow {watched} is watched: V, its S and F after each step, \
         its lag before a departure; B-WFI as printed {printed:.0} bytes, as proven {proven:.0}",
        flows.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::schedulers::{AnyDiscipline, gfq, qfq, s_kps, wf2q_plus};
    use roundelay_metrics::workload::adversaries;

    /// Counts departures of flows that are not eligible by the shadows' times, and all departures.
    fn too_early(discipline: impl Into<AnyDiscipline>, rounding: Rounding) -> (usize, usize) {
        let discipline = discipline.into();
        let mut counts = (0, 0);
        for (_, load) in adversaries::all() {
            let (_, events) = load.record(&discipline, 0).unwrap();
            let mut shadows = Shadows::new(&load, rounding);
            for event in &events {
                if event.kind == EventKind::Departure {
                    counts = (
                        counts.0 + usize::from(!shadows.is_eligible(event.flow)),
                        counts.1 + 1,
                    );
                }
                shadows.step(event);
            }
        }
        counts
    }

    /// Each discipline serves only flows eligible under its own rounding; with exact times, some
    /// departures of the rounding disciplines would be too early.
    #[test]
    fn shadows_agree_with_the_disciplines() {
        let own = [
            too_early(wf2q_plus::Config, Rounding::Exact),
            too_early(gfq::Config, Rounding::Slots),
            too_early(qfq::Config, Rounding::Slots),
            too_early(s_kps::Config, Rounding::WideSlots),
        ];
        assert!(
            own.iter().all(|(early, all)| *early == 0 && *all > 100),
            "{own:?}"
        );
        assert!(
            too_early(s_kps::Config, Rounding::Exact).0 > 0
                && too_early(qfq::Config, Rounding::Exact).0 > 0
        );
    }
}

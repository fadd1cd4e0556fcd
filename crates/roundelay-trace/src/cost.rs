//! Measures costs: replays the same arrivals through a discipline's port without any meters.

use std::hint::black_box;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    ConfigError, Control, DropReason, Duration, Instant, Limit, Observer, Packet, Port,
};
use roundelay_metrics::cpu_seconds;

use crate::compare::error::CompareError;
use crate::compare::options::Options;
use crate::comparison::Cost;
use crate::offered::{Event, EventKind};
use crate::urgency::{Known, Marker};

/// How many rounds we make at least. Each round measures every discipline once, so that a machine
/// that slows down affects all of them.
const FEWEST_ROUNDS: usize = 3;
/// How many rounds we make at most, if the figures are not known to [`KNOWN_TO`] before.
const MOST_ROUNDS: usize = 15;
/// A figure is known when the half of its rounds nearest to the median lies within this part of it.
const KNOWN_TO: f64 = 0.05;
/// A round repeats the sample until it has at least this many packets.
const PACKETS_A_ROUND: usize = 50_000;

/// Measures how long disciplines take on a sample of a capture. A tree has the sample's flows
/// assigned to leaves. The processor's time for iterating over the sample is subtracted. `go_on` is
/// called before each run.
pub(crate) fn measure(
    subjects: &[(AnyDiscipline, Limit)],
    sample: &[Event],
    known: &Known,
    options: &Options,
    go_on: impl Fn() -> Result<(), CompareError>,
) -> Result<Vec<Option<Cost>>, CompareError> {
    let mut arrivals = 0;
    for event in sample {
        arrivals += usize::from(matches!(event.kind, EventKind::Arrival(_)));
    }
    if arrivals == 0 {
        return Ok(vec![None; subjects.len()]);
    }
    let sample = Sample::new(sample, arrivals);
    let mut runs = vec![Vec::new(); subjects.len()];
    for round in 0..MOST_ROUNDS {
        if round >= FEWEST_ROUNDS && are_known(&mut runs) {
            break;
        }
        let bare = sample.go_through();
        for ((discipline, limit), runs) in subjects.iter().zip(&mut runs) {
            go_on()?;
            let nanos = time(discipline, *limit, &sample, known, options)?;
            runs.push((nanos - bare).max(0.0) / (arrivals * sample.repeats) as f64);
        }
    }
    let packets = (arrivals * sample.repeats) as u64;
    let mut costs = Vec::new();
    for nanos in runs {
        costs.push(Some(cost_of(nanos, packets)));
    }
    Ok(costs)
}

fn are_known(runs: &mut [Vec<f64>]) -> bool {
    for nanos in runs {
        if !is_known(nanos) {
            return false;
        }
    }
    true
}

/// Whether more rounds would hardly move the median.
fn is_known(nanos: &mut [f64]) -> bool {
    nanos.sort_by(f64::total_cmp);
    let rounds = nanos.len();
    let half = nanos[rounds - 1 - rounds / 4] - nanos[rounds / 4];
    half <= KNOWN_TO * nanos[rounds / 2]
}

/// The cost by rounds of so many packets.
fn cost_of(mut nanos: Vec<f64>, packets: u64) -> Cost {
    nanos.sort_by(f64::total_cmp);
    Cost {
        nanos_per_packet: nanos[nanos.len() / 2],
        range: (nanos[0], nanos[nanos.len() - 1]),
        packets,
    }
}

struct Sample<'a> {
    events: &'a [Event],
    repeats: usize,
}

impl<'a> Sample<'a> {
    /// Repeats the sample until it has enough packets, but only up to half of the clock's range,
    /// because at the end of the range no packet would leave.
    fn new(events: &'a [Event], arrivals: usize) -> Self {
        let mut sample = Self { events, repeats: 1 };
        let fit = Instant::MAX.as_picos() / 2 / sample.span().as_picos();
        sample.repeats = PACKETS_A_ROUND
            .div_ceil(arrivals)
            .min(usize::try_from(fit).unwrap_or(usize::MAX))
            .max(1);
        sample
    }

    fn span(&self) -> Duration {
        self.events
            .last()
            .map_or(Duration::ZERO, |event| event.at.since(Instant::ZERO))
            + Duration::from_millis(1)
    }

    /// Calls `act` on all events. Times go on rising from one repetition to the next.
    fn for_each(&self, mut act: impl FnMut(Instant, &Event)) {
        let span = self.span();
        let mut shift = Duration::ZERO;
        for _ in 0..self.repeats {
            self.events
                .iter()
                .for_each(|event| act(event.at + shift, event));
            shift = shift + span;
        }
    }

    /// Nanoseconds of the processor to iterate over all events without doing anything.
    fn go_through(&self) -> f64 {
        let start = cpu_seconds();
        self.for_each(|at, event| {
            black_box((at, event));
        });
        (cpu_seconds() - start) * 1e9
    }
}

/// Nanoseconds of the processor for a run through an [`AnyArena`](roundelay::schedulers::AnyArena), as in a lane. A
/// loop compiled for each discipline would save a jump in each call, about a nanosecond.
fn time(
    discipline: &AnyDiscipline,
    limit: Limit,
    sample: &Sample<'_>,
    known: &Known,
    options: &Options,
) -> Result<f64, ConfigError> {
    let mut port = Port::new(
        discipline.build_arena::<()>(options.seed_of_link())?,
        limit,
        options.rate,
    );
    let mut marker = Marker::new(discipline.info().priority, known.clone());
    let mut result = Ok(());
    let start = cpu_seconds();
    sample.for_each(|at, event| {
        port.advance(at, &mut Ignore);
        match event.kind {
            EventKind::Acknowledges(ref ack) => {
                let scheduler = port.scheduler_mut();
                scheduler.set_acknowledgement(event.flow, Some(ack));
            }
            EventKind::Arrival(offer) => {
                let packet = marker.packet(at, event.flow, offer, ());
                port.arrive(at, packet, &mut Ignore);
            }
            EventKind::Join(config, rule) => {
                marker.join(event.flow, rule);
                if let Err(error) = port.scheduler_mut().set_flow(event.flow, config) {
                    result = Err(error);
                }
            }
            EventKind::Leave => port.scheduler_mut().remove_flow(event.flow),
        }
    });
    port.drain(&mut Ignore);
    let nanos = (cpu_seconds() - start) * 1e9;
    result.map(|()| nanos)
}

/// An observer that ignores everything.
struct Ignore;

impl Observer<()> for Ignore {
    #[inline]
    fn sent(&mut self, packet: Packet<()>, _start: Instant, _end: Instant) {
        black_box(packet.len);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<()>, _now: Instant, _reason: DropReason) {
        black_box(packet.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_known_when_half_of_its_rounds_agree() {
        assert!(is_known(&mut [20.0, 20.5, 19.9]));
        assert!(is_known(&mut [20.0, 20.5, 19.9, 300.0]));
        assert!(!is_known(&mut [20.0, 25.0, 31.0]));
        assert!(!is_known(&mut [20.0, 20.5, 300.0, 150.0, 90.0]));
    }

    #[test]
    fn rounds_that_differ_by_more_than_half_are_no_figure() {
        assert!(cost_of(vec![21.0, 20.0, 29.0], 1).is_certain());
        let cost = cost_of(vec![20.0, 18.0, 200.0], 1);
        assert_eq!((cost.nanos_per_packet, cost.range), (20.0, (18.0, 200.0)));
        assert!(!cost.is_certain());
    }
}

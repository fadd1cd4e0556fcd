//! Measures costs: replays the same arrivals through a discipline's port without any meters.

use std::hint::black_box;
use std::time::Instant as WallClock;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    ConfigError, Control, DropReason, Duration, Instant, Limit, Observer, Packet, Port,
};

use crate::compare::error::CompareError;
use crate::compare::options::Options;
use crate::comparison::Cost;
use crate::offered::{Event, EventKind};
use crate::urgency::{Known, Marker};

/// How many rounds we make. Each round measures every discipline once, so that a machine that slows
/// down affects all of them.
const ROUNDS: usize = 5;
/// A round repeats the sample until it has at least this many packets.
const PACKETS_A_ROUND: usize = 200_000;

/// Measures how long disciplines take on a sample of a capture. A tree has the sample's flows
/// assigned to leaves. The time for iterating over the sample is subtracted. `go_on` is called
/// before each run.
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
    for _ in 0..ROUNDS {
        let bare = sample.go_through();
        for ((discipline, limit), runs) in subjects.iter().zip(&mut runs) {
            go_on()?;
            let nanos = time(discipline, *limit, &sample, known, options)?;
            runs.push((nanos - bare).max(0.0) / (arrivals * sample.repeats) as f64);
        }
    }
    let mut costs = Vec::new();
    for mut nanos in runs {
        nanos.sort_by(f64::total_cmp);
        costs.push(Some(Cost {
            nanos_per_packet: nanos[ROUNDS / 2],
            range: (nanos[0], nanos[ROUNDS - 1]),
            packets: (arrivals * sample.repeats) as u64,
        }));
    }
    Ok(costs)
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

    /// Nanoseconds to iterate over all events without doing anything.
    fn go_through(&self) -> f64 {
        let start = WallClock::now();
        self.for_each(|at, event| {
            black_box((at, event));
        });
        start.elapsed().as_secs_f64() * 1e9
    }
}

/// Nanoseconds for a run through an [`AnyArena`](roundelay::schedulers::AnyArena), as in a lane. A
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
    let start = WallClock::now();
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
    let nanos = start.elapsed().as_secs_f64() * 1e9;
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

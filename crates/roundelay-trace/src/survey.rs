//! Survey: a first reading of the capture, which finds out what to replay and in which order.
//!
//! Only at the end of a capture do we know which direction of which link has the larger load, and
//! how far packets are out of order. So a comparison that chooses or mends reads the capture twice.
//! It reads once more to choose between two times, and once more to find the busiest part. If
//! nothing is chosen and nothing is out of order, the first reading is enough, because it keeps the
//! arrivals.

use crate::ahead::Ahead;
use crate::capture::{Capture, Frame};
use crate::compare::error::CompareError;
use crate::compare::observer::{Progress, ReplayObserver};
use crate::headers::parse;
use crate::mending::Mending;
use crate::selection::{Chosen, Selector};
use crate::span::Busiest;
use crate::timeline::{Ordered, TimePlan, TimeSurvey};

/// Packets between two reports on progress. At each report we also look whether somebody asked to
/// stop.
const BLOCK: u64 = 8192;

/// What the first reading found out.
pub(crate) struct Survey {
    /// The capture from its first packet on.
    pub(crate) capture: Ordered,
    /// The packets to replay.
    pub(crate) selector: Selector,
    /// What was chosen, if anything.
    pub(crate) chosen: Option<Chosen>,
    /// All arrivals, if the first reading was enough.
    pub(crate) ahead: Option<Ahead>,
}

/// Reads the capture as often as needed, and finds out what to replay. Keeps arrivals in `ahead` as
/// long as the first reading may be the only one.
///
/// # Errors
/// The capture is unreadable or too far out of order, or somebody asked to stop.
pub(crate) fn survey(
    mut capture: Capture,
    mending: &Mending,
    observer: &mut dyn ReplayObserver,
    ahead: Option<Ahead>,
) -> Result<Survey, CompareError> {
    let Mending {
        selection,
        span,
        adapts,
        ..
    } = mending;
    let mut readings = Readings {
        reading: 0,
        readings: mending.readings(),
        observer,
    };
    let mut surveyor = Selector::new(selection.clone());
    if mending.is_none() {
        return Ok(Survey {
            capture: Ordered::new(capture, TimePlan::default(), false),
            selector: surveyor,
            chosen: None,
            ahead: None,
        });
    }
    // First reading: times, and each direction's load unless that depends on times.
    let mut times = TimeSurvey::default();
    let chooses_at_once = selection.chooses && !span.has_bounds();
    capture.keep();
    let mut whole = Ordered::new(capture, TimePlan::default(), *adapts);
    let is_whole = !span.has_bounds() && span.busiest.is_none();
    let mut ahead = ahead.filter(|_| is_whole);
    readings.read(&mut whole, |frame| {
        times.count(frame);
        if let Some(reader) = &mut ahead {
            if !reader.read(frame, &mut surveyor) {
                ahead = None;
            }
        } else if chooses_at_once {
            let headers = parse(frame.link, frame.bytes);
            surveyor.admit(frame, headers.as_ref().map_err(|reason| *reason));
        }
    })?;
    let plan = if *adapts {
        times.finish(whole.capture().name())?
    } else {
        times.in_file_order()
    };
    if ahead.is_some() && plan.is_order_of_file() && !surveyor.would_choose() {
        return Ok(Survey {
            capture: whole.read_with(plan),
            selector: surveyor.settled(),
            chosen: None,
            ahead,
        });
    }
    let mut capture = whole.again()?;
    // Second reading: each direction's load between two times.
    let bounds = span.times(plan.first);
    if selection.chooses && !chooses_at_once {
        surveyor.keep_between(bounds);
        capture.keep();
        let mut part = Ordered::new(capture, plan.clone(), *adapts);
        readings.read(&mut part, |frame| {
            let headers = parse(frame.link, frame.bytes);
            surveyor.admit(frame, headers.as_ref().map_err(|reason| *reason));
        })?;
        capture = part.again()?;
    }
    let (mut selector, chosen) = chosen(&surveyor);
    if span.has_bounds() {
        selector.keep_between(bounds);
    }
    // Another reading: the busiest part of what was chosen.
    if let Some(length) = span.busiest {
        let mut busiest = Busiest::new(length);
        let (mut counter, _) = self::chosen(&surveyor);
        counter.keep_between(bounds);
        capture.keep();
        let mut part = Ordered::new(capture, plan.clone(), *adapts);
        readings.read(&mut part, |frame| {
            let headers = parse(frame.link, frame.bytes);
            if counter.admit(frame, headers.as_ref().map_err(|reason| *reason)) {
                busiest.count(frame.time_nanos, u64::from(frame.len_on_link()));
            }
        })?;
        capture = part.again()?;
        if let Some((from, to)) = busiest.times() {
            selector.keep_between((from.max(bounds.0), to.min(bounds.1)));
        }
    }
    Ok(Survey {
        capture: Ordered::new(capture, plan, *adapts),
        selector,
        chosen,
        ahead: None,
    })
}

/// The selection that the surveyor's packets lead to.
fn chosen(surveyor: &Selector) -> (Selector, Option<Chosen>) {
    if !surveyor.selection().chooses {
        return (Selector::new(surveyor.selection().clone()), None);
    }
    let (selection, chosen) = surveyor.choose();
    let mut selector = Selector::new(selection);
    if chosen.is_some() {
        selector.watch_other(surveyor);
    }
    (selector, chosen)
}

/// The readings of a capture, and whom we tell about their progress.
struct Readings<'a> {
    /// The number of the present one, from 1.
    reading: u32,
    /// How many there will be.
    readings: u32,
    observer: &'a mut dyn ReplayObserver,
}

impl Readings<'_> {
    /// Reads all packets.
    fn read(
        &mut self,
        capture: &mut Ordered,
        mut count: impl FnMut(&Frame<'_>),
    ) -> Result<(), CompareError> {
        let stop = self.observer.stop();
        let mut packets = 0_u64;
        self.reading += 1;
        while let Some(frame) = capture.next()? {
            count(&frame);
            packets += 1;
            if !packets.is_multiple_of(BLOCK) {
                continue;
            }
            self.observer.progress(Progress {
                read: capture.capture().position(),
                packets,
                reading: self.reading,
                readings: self.readings,
            });
            if stop.is_requested() {
                return Err(CompareError::Stopped);
            }
        }
        Ok(())
    }
}

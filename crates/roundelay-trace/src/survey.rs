//! Survey: a first reading of the capture, which finds what to replay of it, and in which order.
//!
//! Which direction of which link has the larger load is known at the end of a capture only, and so
//! is how far packets are out of order. A comparison that chooses or mends reads the capture twice,
//! and a third time for a part of its time.

use crate::capture::{Capture, Frame};
use crate::compare::{CompareError, Options};
use crate::headers::parse;
use crate::selection::{Chosen, Selector};
use crate::span::Busiest;
use crate::stop::Stop;
use crate::timeline::{Ordered, TimePlan, TimeSurvey};

/// Packets between two looks at the request to stop.
const BLOCK: u64 = 8192;

/// What the first reading found.
pub(crate) struct Survey {
    /// The capture from its first packet on.
    pub(crate) capture: Ordered,
    /// The packets to replay.
    pub(crate) selector: Selector,
    /// What was chosen, if anything.
    pub(crate) chosen: Option<Chosen>,
}

/// Reads the capture as often as the options need, and finds what to replay.
///
/// # Errors
/// The capture is unreadable or too far out of order, or a stop was requested.
pub(crate) fn survey(
    mut capture: Capture,
    options: &Options,
    stop: &Stop,
) -> Result<Survey, CompareError> {
    let selection = &options.selection;
    let span = &options.span;
    let mut surveyor = Selector::new(selection.clone());
    if !selection.chooses && !options.adapts && span.is_whole() {
        return Ok(Survey {
            capture: Ordered::new(capture, TimePlan::default(), false),
            selector: surveyor,
            chosen: None,
        });
    }
    // First reading: times, and the load of each direction unless it depends on times.
    let mut times = TimeSurvey::default();
    let chooses_at_once = selection.chooses && !span.has_bounds();
    capture.keep();
    let mut whole = Ordered::new(capture, TimePlan::default(), options.adapts);
    read(&mut whole, stop, |frame| {
        times.count(frame);
        if chooses_at_once {
            let headers = parse(frame.link, frame.bytes);
            surveyor.admit(frame, headers.as_ref().map_err(|reason| *reason));
        }
    })?;
    let plan = if options.adapts {
        times.finish(whole.capture().name())?
    } else {
        times.in_file_order()
    };
    let mut capture = whole.again()?;
    // Second reading: the load of each direction between two times.
    let bounds = span.times(plan.first);
    if selection.chooses && !chooses_at_once {
        surveyor.keep_between(bounds);
        capture.keep();
        let mut part = Ordered::new(capture, plan.clone(), options.adapts);
        read(&mut part, stop, |frame| {
            let headers = parse(frame.link, frame.bytes);
            surveyor.admit(frame, headers.as_ref().map_err(|reason| *reason));
        })?;
        capture = part.again()?;
    }
    let (mut selector, chosen) = chosen(&surveyor);
    if span.has_bounds() {
        selector.keep_between(bounds);
    }
    // Another reading: the busiest part of what is chosen.
    if let Some(length) = span.busiest {
        let mut busiest = Busiest::new(length);
        let (mut counter, _) = self::chosen(&surveyor);
        counter.keep_between(bounds);
        capture.keep();
        let mut part = Ordered::new(capture, plan.clone(), options.adapts);
        read(&mut part, stop, |frame| {
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
        capture: Ordered::new(capture, plan, options.adapts),
        selector,
        chosen,
    })
}

/// The selector of what the surveyor's packets tell to choose.
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

/// Reads all packets.
fn read(
    capture: &mut Ordered,
    stop: &Stop,
    mut count: impl FnMut(&Frame<'_>),
) -> Result<(), CompareError> {
    let mut packets = 0_u64;
    while let Some(frame) = capture.next()? {
        count(&frame);
        packets += 1;
        if packets.is_multiple_of(BLOCK) && stop.is_requested() {
            return Err(CompareError::Stopped);
        }
    }
    Ok(())
}

//! Survey: a first reading of the capture, which finds what to replay of it.
//!
//! Which direction of which link has the larger load is known at the end of a capture only, so a
//! comparison that chooses reads the capture twice.

use crate::capture::Capture;
use crate::compare::CompareError;
use crate::headers::parse;
use crate::selection::{Chosen, Selection, Selector};
use crate::stop::Stop;

/// Packets between two looks at the request to stop.
const BLOCK: u64 = 8192;

/// What the first reading found.
pub(crate) struct Survey {
    /// The capture from its first packet on.
    pub(crate) capture: Capture,
    /// The packets to replay.
    pub(crate) selector: Selector,
    /// What was chosen, if anything.
    pub(crate) chosen: Option<Chosen>,
}

/// Reads the capture to its end and chooses what to replay. A selection that chooses nothing is
/// returned at once.
///
/// # Errors
/// The capture is unreadable, or a stop was requested.
pub(crate) fn survey(
    mut capture: Capture,
    selection: &Selection,
    stop: &Stop,
) -> Result<Survey, CompareError> {
    let mut surveyor = Selector::new(selection.clone());
    if !selection.chooses {
        return Ok(Survey {
            capture,
            selector: surveyor,
            chosen: None,
        });
    }
    capture.keep();
    while let Some(frame) = capture.next()? {
        let headers = parse(frame.link, frame.bytes);
        surveyor.admit(&frame, headers.as_ref().map_err(|reason| *reason));
        if surveyor.read().is_multiple_of(BLOCK) && stop.is_requested() {
            return Err(CompareError::Stopped);
        }
    }
    let (selection, chosen) = surveyor.choose();
    let mut selector = Selector::new(selection);
    if chosen.is_some() {
        selector.watch_other(&surveyor);
    }
    let capture = capture.again()?;
    Ok(Survey {
        capture,
        selector,
        chosen,
    })
}

//! Arrivals: the packets of a capture in the order of their times, sorted into flows, with what
//! its tools broke mended.
//!
//! A comparison replays them. A driver with a clock of its own, such as the simulator, takes them
//! one by one: [`Arrivals`].

use std::vec;

use roundelay::{Acknowledgement, FlowId};

use crate::ahead::Kept;
use crate::arrival::{Arrival, Oddities, Reader};
use crate::capture::{Capture, CaptureNotes, LinkType};
use crate::classifier::Classifier;
use crate::compare::error::CompareError;
use crate::compare::observer::ReplayObserver;
use crate::error::CaptureError;
use crate::headers::{Tunnel, UnparsableCounts};
use crate::mending::Mending;
use crate::selection::{Chosen, Mixed, Selector};
use crate::survey::{Survey, survey};
use crate::timeline::Ordered;

/// Reads the packets of a capture, one by one.
pub struct Arrivals {
    capture: Ordered,
    selector: Selector,
    chosen: Option<Chosen>,
    reader: Reader,
    /// The arrivals to come, if the first reading has kept them all.
    kept: Option<vec::IntoIter<Kept>>,
    /// How many were kept.
    all_kept: usize,
}

/// What comes next of a capture.
pub(crate) enum Step {
    /// With what it acknowledges, if that is read.
    Arrives(Arrival, Option<Acknowledgement>),
    /// A frame that is left out.
    IsLeftOut,
    Ends,
}

impl Arrivals {
    /// Surveys the capture. The observer gets the progress, and may stop.
    ///
    /// # Errors
    /// The capture is unreadable or too far out of order, or a stop was requested.
    pub fn of(
        capture: Capture,
        mending: &Mending,
        classifier: Classifier,
        observer: &mut dyn ReplayObserver,
    ) -> Result<Self, CompareError> {
        let surveyed = survey(capture, mending, observer, None)?;
        Ok(Self::new(surveyed, Reader::new(mending.mtu, classifier)))
    }

    /// The arrivals that the survey has kept, or else those that `reader` makes of the capture.
    pub(crate) fn new(surveyed: Survey, reader: Reader) -> Self {
        let Survey {
            capture,
            selector,
            chosen,
            ahead,
        } = surveyed;
        let mut arrivals = Self {
            capture,
            selector,
            chosen,
            reader,
            kept: None,
            all_kept: 0,
        };
        if let Some(ahead) = ahead {
            arrivals.reader = ahead.reader;
            arrivals.all_kept = ahead.arrivals.len();
            arrivals.kept = Some(ahead.arrivals.into_iter());
        }
        arrivals
    }

    /// The next frame that arrives; `None` at the end.
    ///
    /// # Errors
    /// The capture cannot be read.
    #[expect(
        clippy::should_implement_trait,
        reason = "named as in Capture, and fails as that does"
    )]
    pub fn next(&mut self) -> Result<Option<Arrival>, CaptureError> {
        loop {
            match self.step()? {
                Step::Arrives(arrival, _) => return Ok(Some(arrival)),
                Step::IsLeftOut => {}
                Step::Ends => return Ok(None),
            }
        }
    }

    /// Reads one frame.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<Step, CaptureError> {
        if let Some(kept) = &mut self.kept {
            return Ok(match kept.next() {
                Some(kept) => Step::Arrives(kept.arrival(), None),
                None => Step::Ends,
            });
        }
        let Some(frame) = self.capture.next()? else {
            return Ok(Step::Ends);
        };
        Ok(match self.reader.read(&frame, &mut self.selector) {
            Some(arrival) => Step::Arrives(arrival, self.reader.acknowledgement(&frame)),
            None => Step::IsLeftOut,
        })
    }

    /// The flow of the arrival so many behind the next one, if the survey has kept it.
    #[inline]
    pub(crate) fn flow_ahead(&self, number: usize) -> Option<FlowId> {
        let kept = self.kept.as_ref()?.as_slice();
        kept.get(number).map(|kept| kept.flow)
    }

    /// Oddities of times and lengths until now, those that were mended included.
    pub fn oddities(&self) -> Oddities {
        self.reader.oddities.with_times_of(&self.capture)
    }

    /// Oddities of the file until now.
    pub fn file_notes(&self) -> CaptureNotes {
        self.capture().notes()
    }

    /// Packets without readable headers until now.
    pub fn unparsable(&self) -> UnparsableCounts {
        self.reader.classifier.unparsable()
    }

    /// What was chosen of the capture, with the load of the other direction until now.
    pub fn chosen(&self) -> Option<Chosen> {
        let other = self.selector.other_way();
        let chosen = self.chosen.clone()?;
        Some(Chosen { other, ..chosen })
    }

    /// Signs until now that packets of several links or directions arrive.
    pub fn mixed(&self) -> Mixed {
        self.selector.mixed()
    }

    /// Packets read, and packets that were left out of these.
    pub fn read(&self) -> (u64, u64) {
        let left_out = self.selector.summary();
        let left_out = left_out.map_or(0, |summary| summary.left_out.total());
        (self.selector.read(), left_out)
    }

    pub(crate) fn capture(&self) -> &Capture {
        self.capture.capture()
    }

    /// Bytes of the capture up to the last arrival: about, if arrivals were kept.
    pub(crate) fn position(&self) -> u64 {
        let read = self.capture().position();
        match &self.kept {
            Some(kept) => {
                let left = kept.len() as f64 / self.all_kept.max(1) as f64;
                (read as f64 * (1.0 - left)) as u64
            }
            None => read,
        }
    }

    /// The frames in the order of their times.
    pub(crate) const fn ordered(&self) -> &Ordered {
        &self.capture
    }

    pub(crate) const fn selector(&self) -> &Selector {
        &self.selector
    }

    pub(crate) const fn classifier(&self) -> &Classifier {
        &self.reader.classifier
    }

    /// Bytes of the arrived packets as captured, without the link's overhead and framing.
    pub(crate) const fn captured_bytes(&self) -> u64 {
        self.reader.captured_bytes
    }

    /// Bytes of each tunnel as captured.
    pub(crate) const fn tunnels(&self) -> [u64; Tunnel::ALL.len()] {
        self.reader.tunnels
    }

    pub(crate) const fn link(&self) -> LinkType {
        self.reader.link
    }

    /// Time from the first packet to the last, seconds: that of the capture's own clock, without any
    /// silence cut.
    pub(crate) fn seconds(&self) -> f64 {
        self.reader.clock.elapsed as f64 / 1e9
    }

    /// Time of the first packet, in nanoseconds since the Unix epoch.
    pub(crate) const fn first_unix_nanos(&self) -> i64 {
        self.reader.clock.first
    }
}

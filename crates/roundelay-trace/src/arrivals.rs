//! Arrivals: the packets of a capture in the order of their times, sorted into flows, with what
//! its tools broke mended.
//!
//! A comparison replays them. A driver with a clock of its own, such as the simulator, takes them
//! one by one: [`Arrivals`].

use std::vec;

use roundelay::{Acknowledgement, Duration, Ecn, FlowConfig, FlowId, Instant, LinkLayer};

use crate::capture::{Capture, CaptureNotes, Frame, LinkType};
use crate::classifier::{Classifier, FlowBy};
use crate::compare::{CompareError, ReplayObserver};
use crate::error::CaptureError;
use crate::headers::{Pieces, TCP, Tunnel, UnparsableCounts, flow_headers, parse};
use crate::selection::{Chosen, Mixed, Selection, Selector};
use crate::span::Span;
use crate::survey::{Survey, survey};
use crate::timeline::{Ordered, SetForward};

/// Which packets of a capture arrive, and what is mended.
#[derive(Debug, Clone, Default)]
pub struct Mending {
    /// The packets.
    pub selection: Selection,
    /// The part of the time.
    pub span: Span,
    /// Put packets in the order of their times, and take the IP header's length for that of frames
    /// that a tool cut.
    pub adapts: bool,
    /// The longest IP packet of the link: longer ones are split. None splits none.
    pub mtu: Option<u32>,
}

impl Mending {
    /// Whether all packets arrive in the order of the file: one reading is enough.
    pub(crate) fn is_none(&self) -> bool {
        !self.selection.chooses && !self.adapts && self.span.is_whole()
    }

    /// Times that the capture is read: to find the order of times and the load of each direction, to
    /// find that load between two times, to find the busiest part, and for the packets.
    pub fn readings(&self) -> u32 {
        if self.is_none() {
            return 1;
        }
        let chooses_between = self.selection.chooses && self.span.has_bounds();
        2 + u32::from(chooses_between) + u32::from(self.span.busiest.is_some())
    }
}

/// Oddities of the capture's clock and lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Packets with a timestamp before the previous packet's; both arrive at the same time.
    pub backward_steps: u64,
    /// Packets put in the order of their times.
    pub sorted: u64,
    /// Packets whose time all others contradict; they arrive with the packet before.
    pub strays: u64,
    /// Times that the clock was set back; packets behind are later by the step.
    pub set_back: u64,
    /// Times that the clock was set forward; packets behind are earlier by the step.
    pub set_forward: SetForward,
    /// Frames cut together with their length, which the IP header tells.
    pub uncut: u64,
    /// Packets longer than the link's, split into those of the wire.
    pub split: u64,
    /// The packets of the wire that these were split into.
    pub pieces: u64,
    /// Silences longer than an hour, shortened to it.
    pub cut_gaps: u64,
    /// Packets longer than 64 KB, counted as 64 KB.
    pub cut_lengths: u64,
    /// Packets longer than those of Ethernet.
    pub superframes: u64,
}

impl Oddities {
    /// With those of times and lengths that the reading has mended.
    pub(crate) fn with_times_of(self, capture: &Ordered) -> Self {
        Self {
            sorted: capture.late(),
            strays: capture.strays(),
            set_back: capture.set_back(),
            set_forward: capture.set_forward(),
            uncut: capture.uncut(),
            ..self
        }
    }
}

/// Longer silences are shortened to this, where a capture is too long for the clock.
const LONGEST_GAP: Duration = Duration::from_secs(3600);
/// The longest time of a capture whose silences are kept: the clock covers 213 days.
const LONGEST_CAPTURE: Duration = Duration::from_secs(200 * 24 * 3600);

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

/// An arrival of one packet, as it is kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    at: Instant,
    flow: FlowId,
    len: u32,
    ecn: Ecn,
    dscp: u8,
    is_bare: bool,
}

const _: () = assert!(size_of::<Kept>() == 24, "docs/compare.md states the size");

/// Makes arrivals of frames.
pub(crate) struct Reader {
    classifier: Classifier,
    clock: CaptureClock,
    oddities: Oddities,
    /// What the link makes of lengths.
    layer: LinkLayer,
    /// Whether what TCP segments acknowledge is read.
    reads_acks: bool,
    /// Longer IP packets are split.
    mtu: Option<u32>,
    /// Bytes before the link's overhead and framing.
    captured_bytes: u64,
    /// Bytes of the tunnels, in the order of [`Tunnel::ALL`].
    tunnels: [u64; Tunnel::ALL.len()],
    /// The link type of the last frame.
    link: LinkType,
}

/// A frame that arrives.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Time after the first arrival's.
    pub at: Instant,
    /// Its flow, numbered from 0 on in the order of their first packets.
    pub flow: FlowId,
    /// Bytes on the link of its packets: one, or those that it was split into.
    pub lens: Lens,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
    pub(crate) is_bare: bool,
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

    /// The flow of a kept arrival so many behind the next one.
    #[inline]
    pub(crate) fn kept_ahead(&self, number: usize) -> Option<FlowId> {
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

impl Reader {
    pub(crate) fn new(mtu: Option<u32>, classifier: Classifier) -> Self {
        Self {
            classifier,
            clock: CaptureClock::default(),
            oddities: Oddities::default(),
            layer: LinkLayer::NONE,
            reads_acks: false,
            mtu,
            captured_bytes: 0,
            tunnels: [0; Tunnel::ALL.len()],
            link: LinkType::ETHERNET,
        }
    }

    /// With these lengths on the link, and what TCP segments acknowledge if asked for.
    pub(crate) fn on_link(self, layer: LinkLayer, reads_acks: bool) -> Self {
        Self {
            layer,
            reads_acks,
            ..self
        }
    }

    /// The arrival of a frame; `None` if the selector leaves the frame out.
    #[inline]
    fn read(&mut self, frame: &Frame<'_>, selector: &mut Selector) -> Option<Arrival> {
        self.link = frame.link;
        let headers = parse(frame.link, frame.bytes);
        if !selector.admit(frame, headers.as_ref().map_err(|reason| *reason)) {
            return None;
        }
        let at = self.clock.read(frame.time_nanos, &mut self.oddities);
        let pieces = self
            .mtu
            .and_then(|mtu| frame.pieces(headers.as_ref().ok()?, mtu));
        let (own, framed) = lengths(frame, self.layer);
        let len = self.oddities.plausible(frame, framed, pieces.is_some());
        let is_bare =
            headers.is_ok_and(|headers| headers.protocol == TCP) && frame.is_bare_acknowledgement();
        let mut lens = Lens::one(len);
        match pieces {
            Some(pieces) => {
                lens = Lens::of(&pieces, self.layer);
                self.captured_bytes += pieces.bytes();
                self.oddities.split += 1;
                self.oddities.pieces += u64::from(pieces.count);
            }
            None => self.captured_bytes += u64::from(own),
        }
        let by = self.classifier.by();
        let of_flow = match &headers {
            Ok(headers) => {
                let of_flow = flow_headers(by, headers, frame);
                let tunnel = Tunnel::of(headers);
                // Of an open tunnel with what cannot be read, as ERSPAN's frames in Linux, no flow is
                // inside.
                let looks_inside = matches!(by, FlowBy::FiveTuple | FlowBy::Inner);
                let is_open = tunnel == Some(Tunnel::Open);
                let is_shut = looks_inside && is_open && of_flow == *headers;
                if let Some(tunnel) = tunnel.filter(|_| !is_shut) {
                    self.tunnels[tunnel as usize] += u64::from(own);
                }
                Ok(of_flow)
            }
            Err(reason) => Err(*reason),
        };
        let flow = self
            .classifier
            .classify(of_flow.as_ref().map_err(|reason| *reason));
        let (ecn, dscp) =
            headers.map_or((Ecn::NotCapable, 0), |headers| (headers.ecn, headers.dscp));
        Some(Arrival {
            at,
            flow,
            lens,
            ecn,
            dscp,
            is_bare,
        })
    }

    /// What a frame acknowledges, if that is read.
    #[inline]
    fn acknowledgement(&self, frame: &Frame<'_>) -> Option<Acknowledgement> {
        match self.reads_acks {
            true => frame.acknowledgement(),
            false => None,
        }
    }
}

/// The arrivals of the first reading. They are those of the replay, if nothing is chosen and nothing
/// is out of order: then one reading is enough.
pub(crate) struct Ahead {
    reader: Reader,
    arrivals: Vec<Kept>,
    /// Most arrivals kept.
    most: usize,
}

impl Kept {
    const fn arrival(self) -> Arrival {
        Arrival {
            at: self.at,
            flow: self.flow,
            lens: Lens::one(self.len),
            ecn: self.ecn,
            dscp: self.dscp,
            is_bare: self.is_bare,
        }
    }
}

impl Ahead {
    /// 128 MB, 5.6 million arrivals.
    pub(crate) const MOST: usize = (128 << 20) / size_of::<Kept>();
    /// Frames after which it looks at what would be chosen: most mixtures show early.
    const LOOKS: [u64; 2] = [1 << 10, 1 << 14];

    /// Keeps up to `most` arrivals. None if acknowledgements are read, too: they are not kept.
    pub(crate) fn new(reader: Reader, most: usize) -> Option<Self> {
        if reader.reads_acks {
            return None;
        }
        Some(Self {
            reader,
            arrivals: Vec::new(),
            most,
        })
    }

    /// Reads a frame. False if this will not be the only reading: there are too many arrivals, or
    /// the selector would choose by what it has read.
    pub(crate) fn read(&mut self, frame: &Frame<'_>, selector: &mut Selector) -> bool {
        if let Some(arrival) = self.reader.read(frame, selector) {
            for len in arrival.lens {
                self.arrivals.push(Kept {
                    at: arrival.at,
                    flow: arrival.flow,
                    len,
                    ecn: arrival.ecn,
                    dscp: arrival.dscp,
                    is_bare: arrival.is_bare,
                });
            }
        }
        let looks = Self::LOOKS.contains(&selector.read());
        self.arrivals.len() <= self.most && !(looks && selector.would_choose())
    }
}

/// Lengths on the link of a frame's packets: all alike but the last.
#[derive(Debug, Clone, Copy)]
pub struct Lens {
    full: u32,
    last: u32,
    left: u32,
}

impl Lens {
    const fn one(len: u32) -> Self {
        Self {
            full: len,
            last: len,
            left: 1,
        }
    }

    fn of(pieces: &Pieces, layer: LinkLayer) -> Self {
        Self {
            full: piece_on_link(pieces.link_header, pieces.full, layer),
            last: piece_on_link(pieces.link_header, pieces.last, layer),
            left: pieces.count,
        }
    }
}

impl Iterator for Lens {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        Some(if self.left == 0 { self.last } else { self.full })
    }
}

/// The length on the link of an IP packet split off.
fn piece_on_link(link_header: u32, packet: u32, layer: LinkLayer) -> u32 {
    let own = link_header + packet;
    if layer == LinkLayer::NONE {
        return own;
    }
    layer.len_on_link(if layer.raw { own } else { packet })
}

/// A frame's length as captured, and on the link.
#[inline]
pub(crate) fn lengths(frame: &Frame<'_>, layer: LinkLayer) -> (u32, u32) {
    let own = frame.len_on_link();
    if layer == LinkLayer::NONE {
        return (own, own);
    }
    (
        own,
        layer.len_on_link(if layer.raw { own } else { frame.network_len() }),
    )
}

impl Oddities {
    /// The length of a frame for the replay, from the length on the link.
    fn plausible(&mut self, frame: &Frame<'_>, len: u32, is_split: bool) -> u32 {
        self.superframes += u64::from(!is_split && frame.exceeds_ethernet());
        if !is_split && len > FlowConfig::MAX_PACKET_LEN {
            self.cut_lengths += 1;
        }
        len.min(FlowConfig::MAX_PACKET_LEN)
    }
}

/// Maps capture times to a clock that starts at zero, never runs backwards and never overflows.
#[derive(Debug, Default)]
struct CaptureClock {
    started: bool,
    first: i64,
    last: i64,
    now: Instant,
    /// Nanoseconds by the capture's own clock.
    elapsed: u64,
}

impl CaptureClock {
    fn read(&mut self, nanos: i64, oddities: &mut Oddities) -> Instant {
        if !self.started {
            *self = Self {
                started: true,
                first: nanos,
                last: nanos,
                now: Instant::ZERO,
                elapsed: 0,
            };
        }
        let step = i128::from(nanos) - i128::from(self.last);
        self.last = nanos;
        if step < 0 {
            oddities.backward_steps += 1;
            return self.now;
        }
        self.elapsed = self
            .elapsed
            .saturating_add(u64::try_from(step).unwrap_or(u64::MAX));
        let mut gap = u64::try_from(step).map_or(Duration::MAX, Duration::from_nanos);
        let left = (Instant::ZERO + LONGEST_CAPTURE).since(self.now);
        if gap > LONGEST_GAP && gap > left {
            oddities.cut_gaps += 1;
            gap = LONGEST_GAP;
        }
        self.now += gap;
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_at_zero_never_runs_back_and_cuts_long_silences() {
        let mut clock = CaptureClock::default();
        let mut oddities = Oddities::default();
        let second = 1_000_000_000;
        let times = [5 * second, 6 * second, 4 * second, 5 * second, i64::MAX]
            .map(|nanos| clock.read(nanos, &mut oddities));
        let expected =
            [0, 1, 1, 2, 3602].map(|seconds| Instant::from_nanos(seconds * 1_000_000_000));
        assert_eq!(times, expected);
        assert_eq!(
            oddities,
            Oddities {
                backward_steps: 1,
                cut_gaps: 1,
                ..Oddities::default()
            }
        );
        let mut clock = CaptureClock::default();
        clock.read(i64::MIN, &mut oddities);
        assert_eq!(
            clock.read(i64::MAX, &mut oddities),
            Instant::ZERO + LONGEST_GAP
        );
    }
}

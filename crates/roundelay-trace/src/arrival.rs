//! An arrival: what becomes of a frame, with its time, its flow and its lengths on the link.

use roundelay::{Acknowledgement, Duration, Ecn, FlowConfig, FlowId, Instant, LinkLayer};

use crate::capture::{Frame, LinkType};
use crate::classifier::{Classifier, FlowBy, flow_headers};
use crate::headers::{Pieces, TCP, Tunnel, parse};
use crate::selection::Selector;
use crate::timeline::{Ordered, SetForward};

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

/// Makes arrivals of frames.
pub(crate) struct Reader {
    pub(crate) classifier: Classifier,
    pub(crate) clock: CaptureClock,
    pub(crate) oddities: Oddities,
    /// What the link makes of lengths.
    layer: LinkLayer,
    /// Whether what TCP segments acknowledge is read.
    pub(crate) reads_acks: bool,
    /// Longer IP packets are split.
    mtu: Option<u32>,
    /// Bytes before the link's overhead and framing.
    pub(crate) captured_bytes: u64,
    /// Bytes of the tunnels, in the order of [`Tunnel::ALL`].
    pub(crate) tunnels: [u64; Tunnel::ALL.len()],
    /// The link type of the last frame.
    pub(crate) link: LinkType,
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
    pub(crate) fn read(&mut self, frame: &Frame<'_>, selector: &mut Selector) -> Option<Arrival> {
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
    pub(crate) fn acknowledgement(&self, frame: &Frame<'_>) -> Option<Acknowledgement> {
        match self.reads_acks {
            true => frame.acknowledgement(),
            false => None,
        }
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
    pub(crate) const fn one(len: u32) -> Self {
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
pub(crate) struct CaptureClock {
    started: bool,
    pub(crate) first: i64,
    last: i64,
    now: Instant,
    /// Nanoseconds by the capture's own clock.
    pub(crate) elapsed: u64,
}

impl CaptureClock {
    pub(crate) fn read(&mut self, nanos: i64, oddities: &mut Oddities) -> Instant {
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

//! Offered traffic of a capture: arrivals on a clock that starts at zero, and flows that join and
//! leave.

use roundelay::{Acknowledgement, Duration, Ecn, FlowConfig, FlowId, Instant, LinkLayer, Rate};
use roundelay_reference::GpsServer;

use crate::capture::{Capture, Frame, LinkType};
use crate::classifier::Classifier;
use crate::compare::Options;
use crate::demand::{Backlogs, Demand};
use crate::error::CaptureError;
use crate::headers::{Pieces, TCP, Tunnel, flow_headers, parse};
use crate::kind::Pace;
use crate::plateau::Plateau;
use crate::presence::Presence;
use crate::selection::{Chosen, Selector};
use crate::survey::Survey;
use crate::timeline::Ordered;
use crate::urgency::{Carried, Known, Offer, RulePlace};
use crate::weights::{WeightRule, WeightRules};

/// An event, equal for every discipline.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) at: Instant,
    pub(crate) flow: FlowId,
    pub(crate) kind: EventKind,
}

#[derive(Debug, Clone)]
pub(crate) enum EventKind {
    /// What the packet of the next event acknowledges: before arrivals of TCP segments, if some
    /// discipline filters acknowledgements.
    Acknowledges(Box<Acknowledgement>),
    /// A packet arrives.
    Arrival(Offer),
    /// A flow appears for the first time, returns, or has a longer packet than assumed.
    Join(FlowConfig, RulePlace),
    /// A silent flow has timed out; its share goes to other flows.
    Leave,
}

impl Event {
    const fn leave(at: Instant, flow: FlowId) -> Self {
        Self {
            at,
            flow,
            kind: EventKind::Leave,
        }
    }
}

/// Properties of a flow that follow from its packets alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedFlow {
    pub(crate) config: FlowConfig,
    pub(crate) rule: RulePlace,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    backlogs: Backlogs,
    /// TCP segments without data and SYN.
    bare: u64,
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

/// Longer silences are shortened to this, where a capture is too long for the clock.
const LONGEST_GAP: Duration = Duration::from_secs(3600);
/// The longest time of a capture whose silences are kept: the clock covers 213 days.
const LONGEST_CAPTURE: Duration = Duration::from_secs(200 * 24 * 3600);

/// Minimum fraction of bare acknowledgements in a flow whose losses cost nothing.
const BARE: f64 = 0.99;

impl OfferedFlow {
    /// A flow before its first packet.
    pub(crate) const fn idle(config: FlowConfig) -> Self {
        Self {
            config,
            rule: RulePlace::NONE,
            packets: 0,
            bytes: 0,
            first: Instant::ZERO,
            last: Instant::ZERO,
            backlogs: Backlogs::NONE,
            bare: 0,
        }
    }

    /// What the flow asks of a link.
    pub(crate) fn demand(&self, link: Rate) -> Demand {
        let seconds = self.last.as_secs_f64() - self.first.as_secs_f64();
        Demand::of(
            self.backlogs,
            (self.packets, self.bytes),
            seconds,
            link.bits_per_second() as f64,
        )
    }

    /// Whether nearly all packets are bare acknowledgements.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare as f64 >= BARE * self.packets as f64
    }

    /// The flow's packets over time.
    pub(crate) fn pace(&self) -> Pace {
        Pace {
            packets: self.packets,
            seconds: self.last.since(self.first).as_secs_f64(),
        }
    }

    /// Mean length of a packet, bytes.
    pub(crate) fn mean_length(&self) -> u64 {
        self.bytes / self.packets.max(1)
    }
}

/// Reads a capture into events, block by block.
pub(crate) struct Offered {
    capture: Ordered,
    selector: Selector,
    chosen: Option<Chosen>,
    classifier: Classifier,
    weights: WeightRules,
    flows: Vec<OfferedFlow>,
    /// An ideal server with an unlimited buffer, to find flows that ask for more than a fair share.
    gps: GpsServer<f64>,
    presence: Presence,
    clock: CaptureClock,
    oddities: Oddities,
    plateau: Plateau,
    /// What the link makes of lengths.
    layer: LinkLayer,
    /// Whether some discipline filters acknowledgements.
    reads_acks: bool,
    /// Longer IP packets are split.
    mtu: Option<u32>,
    packets: u64,
    bytes: u64,
    /// Bytes before the link's overhead and framing.
    captured_bytes: u64,
    longest_packet: u32,
    /// Bytes of the tunnels, in the order of [`Tunnel::ALL`].
    tunnels: [u64; Tunnel::ALL.len()],
    /// Some packet's code point asks for more than best effort.
    classified: bool,
    link: LinkType,
}

impl Offered {
    pub(crate) fn new(
        surveyed: Survey,
        classifier: Classifier,
        weights: WeightRules,
        options: &Options,
    ) -> Self {
        let Options {
            rate,
            link: layer,
            mtu,
            ..
        } = *options;
        let Survey {
            capture,
            selector,
            chosen,
        } = surveyed;
        let flows = Vec::new();
        let presence = Presence::default();
        let gps = GpsServer::new(rate);
        let clock = CaptureClock::default();
        let oddities = Oddities::default();
        let plateau = Plateau::new(rate);
        Self {
            capture,
            selector,
            chosen,
            classifier,
            weights,
            flows,
            gps,
            presence,
            clock,
            oddities,
            plateau,
            layer,
            reads_acks: options.reads_acknowledgements(),
            mtu,
            packets: 0,
            bytes: 0,
            captured_bytes: 0,
            longest_packet: 0,
            tunnels: [0; Tunnel::ALL.len()],
            classified: false,
            link: LinkType::ETHERNET,
        }
    }

    /// Fills `block` with the events of the selected among the next `packets` packets, and of at
    /// least one. False at the end of the capture.
    pub(crate) fn read(
        &mut self,
        block: &mut Vec<Event>,
        packets: usize,
    ) -> Result<bool, CaptureError> {
        block.clear();
        let mut left = packets;
        while left > 0 || block.is_empty() {
            let Some(frame) = self.capture.next()? else {
                return Ok(!block.is_empty());
            };
            left = left.saturating_sub(1);
            self.link = frame.link;
            let headers = parse(frame.link, frame.bytes);
            if !self
                .selector
                .admit(&frame, headers.as_ref().map_err(|reason| *reason))
            {
                continue;
            }
            let at = self.clock.read(frame.time_nanos, &mut self.oddities);
            let pieces = self
                .mtu
                .and_then(|mtu| frame.pieces(headers.as_ref().ok()?, mtu));
            let (own, framed) = lengths(&frame, self.layer);
            let len = self.oddities.plausible(&frame, framed, pieces.is_some());
            let is_bare = headers.is_ok_and(|headers| headers.protocol == TCP)
                && frame.is_bare_acknowledgement();
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
                    if let Some(tunnel) = Tunnel::of(headers) {
                        self.tunnels[tunnel as usize] += u64::from(own);
                    }
                    Ok(flow_headers(by, headers, &frame))
                }
                Err(reason) => Err(*reason),
            };
            let flow = self
                .classifier
                .classify(of_flow.as_ref().map_err(|reason| *reason));
            let (ecn, dscp) =
                headers.map_or((Ecn::NotCapable, 0), |headers| (headers.ecn, headers.dscp));
            let ack = match self.reads_acks {
                true => frame.acknowledgement(),
                false => None,
            };
            self.presence
                .let_quiet_flows_leave(at, |flow| block.push(Event::leave(at, flow)));
            for len in lens {
                self.count(at, flow, len, block);
                let offer = Offer {
                    len,
                    ecn,
                    dscp,
                    is_bare,
                };
                self.classified |= offer.is_classified();
                if let Some(ack) = ack {
                    let kind = EventKind::Acknowledges(Box::new(ack));
                    block.push(Event { at, flow, kind });
                }
                block.push(Event {
                    at,
                    flow,
                    kind: EventKind::Arrival(offer),
                });
            }
            self.flows[flow.index()].bare += u64::from(is_bare);
        }
        Ok(true)
    }

    fn count(&mut self, at: Instant, flow: FlowId, len: u32, block: &mut Vec<Event>) {
        self.packets += 1;
        self.bytes += u64::from(len);
        self.longest_packet = self.longest_packet.max(len);
        self.plateau.count(at, len);
        if flow.index() == self.flows.len() {
            let headers = self.classifier.headers(flow);
            let weight = self.weights.weight(headers);
            let rule = RulePlace::of(self.weights.place(headers));
            let config = self.presence.meet(weight, at);
            self.gps.set_weight(flow, weight);
            self.flows.push(OfferedFlow {
                rule,
                first: at,
                last: at,
                ..OfferedFlow::idle(config)
            });
        }
        self.gps.arrive(at, flow, len.into());
        let known = &mut self.flows[flow.index()];
        known.backlogs.count(self.gps.backlog(flow));
        known.packets += 1;
        known.bytes += u64::from(len);
        known.last = at;
        if let Some(config) = self.presence.arrive(at, flow, len) {
            known.config = config;
            block.push(Event {
                at,
                flow,
                kind: EventKind::Join(config, known.rule),
            });
        }
    }

    /// Urgencies of the rules, and the bytes of each flow read by now.
    pub(crate) fn known(&self) -> Known {
        let urgencies = self
            .weights
            .rules()
            .iter()
            .map(WeightRule::urgency)
            .collect();
        Known {
            urgencies,
            sizes: self.flows.iter().map(|flow| flow.bytes).collect(),
        }
    }

    /// Fields set on the packets read by now.
    pub(crate) fn carried(&self) -> Carried {
        let known = self.known();
        let mut carried = Carried {
            classes: self.classified,
            ..Carried::default()
        };
        self.flows
            .iter()
            .for_each(|flow| carried.add(known.urgency(flow.rule)));
        carried
    }

    pub(crate) fn capture(&self) -> &Capture {
        self.capture.capture()
    }

    pub(crate) const fn selector(&self) -> &Selector {
        &self.selector
    }

    /// What was chosen of the capture, with the load of the other direction.
    pub(crate) fn chosen(&self) -> Option<Chosen> {
        let other = self.selector.other_way();
        let chosen = self.chosen.clone()?;
        Some(Chosen { other, ..chosen })
    }

    pub(crate) fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    pub(crate) fn flows(&self) -> &[OfferedFlow] {
        &self.flows
    }

    /// Bytes of the flow sent by the ideal server until the last packet's arrival.
    pub(crate) fn fair_bytes(&self, flow: usize) -> f64 {
        self.gps.served(FlowId(flow as u32))
    }

    /// Oddities of times and lengths, those that were mended included.
    pub(crate) fn oddities(&self) -> Oddities {
        Oddities {
            sorted: self.capture.late(),
            strays: self.capture.strays(),
            uncut: self.capture.uncut(),
            ..self.oddities
        }
    }

    pub(crate) const fn plateau(&self) -> &Plateau {
        &self.plateau
    }

    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the same packets as captured, without the link's overhead and framing.
    pub(crate) const fn captured_bytes(&self) -> u64 {
        self.captured_bytes
    }

    /// Bytes of each tunnel as captured.
    pub(crate) const fn tunnels(&self) -> [u64; Tunnel::ALL.len()] {
        self.tunnels
    }

    /// The link type of the last packet.
    pub(crate) const fn link(&self) -> LinkType {
        self.link
    }

    pub(crate) const fn longest_packet(&self) -> u32 {
        self.longest_packet
    }

    /// The earliest time of the whole capture, nanoseconds since the epoch.
    pub(crate) const fn start(&self) -> i64 {
        self.capture.start()
    }

    /// Time from the first packet to the last, seconds: that of the capture's own clock, without any
    /// silence cut.
    pub(crate) fn seconds(&self) -> f64 {
        self.clock.elapsed as f64 / 1e9
    }

    /// Time of the first packet, in nanoseconds since the Unix epoch.
    pub(crate) const fn first_unix_nanos(&self) -> i64 {
        self.clock.first
    }
}

/// Lengths on the link of a frame's packets: all alike but the last.
#[derive(Debug, Clone, Copy)]
struct Lens {
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

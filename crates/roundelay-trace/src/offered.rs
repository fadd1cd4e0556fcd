//! A capture's offered traffic: arrivals on a clock that starts at zero, and flows that join and
//! leave.

use roundelay::author::prefetch;
use roundelay::{Acknowledgement, Duration, FlowConfig, FlowId, Instant, Rate};
use roundelay_reference::GpsServer;

use crate::arrival::Arrival;
use crate::arrivals::{Arrivals, Step};
use crate::classifier::Flow;
use crate::compare::observer::Progress;
use crate::compare::options::Options;
use crate::demand::{Backlogs, Demand};
use crate::error::CaptureError;
use crate::host_meter::HostMeter;
use crate::kind::Pace;
use crate::plateau::Plateau;
use crate::presence::Presence;
use crate::shaped::{Shaper, Shapers};
use crate::urgency::{Carried, Known, Offer, RuleIndex};
use crate::weights::{WeightRule, WeightRules};

/// The records of this many flows stay in the processor's caches. With more flows we ask for
/// records before we need them, so that the processor waits for several at once.
pub(crate) const CACHED_FLOWS: usize = 4096;
/// How many events pass between asking for a flow's records and using them.
pub(crate) const PREFETCH_DISTANCE: usize = 8;

/// An event, which is the same for every discipline.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) at: Instant,
    pub(crate) flow: FlowId,
    pub(crate) kind: EventKind,
}

#[derive(Debug, Clone)]
pub(crate) enum EventKind {
    /// What the next event's packet acknowledges. It comes before arrivals of TCP segments if some
    /// discipline filters acknowledgements.
    Acknowledges(Box<Acknowledgement>),
    /// A packet arrives.
    Arrival(Offer),
    /// A flow appears for the first time, returns, or has a longer packet than assumed.
    Join(FlowConfig, RuleIndex),
    /// A silent flow has timed out, so its share goes to other flows.
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

/// What a flow's packets alone say about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedFlow {
    pub(crate) config: FlowConfig,
    pub(crate) rule: RuleIndex,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    /// Time from the first packet to the last. A longer pause counts as [`LONGEST_PAUSE`].
    active: Duration,
    backlogs: Backlogs,
    /// TCP segments without data and SYN.
    bare: u64,
    /// The smallest rate that shapes the flow.
    reference: Rate,
    place: Place,
}

/// A flow's number in the ideal server of its shaper.
#[derive(Debug, Clone, Copy)]
struct Place {
    server: u32,
    flow: FlowId,
}

/// An ideal server with an unlimited buffer, for all flows of one shaper. It shows which flows ask
/// for more than a fair share.
struct Ideal {
    shaper: Shaper,
    gps: GpsServer<f64>,
    flows: u32,
}

/// A longer pause says nothing about what a flow asks of a link while it sends. A call that is
/// taken up again after an hour is still a call, and a second download is still a download.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// If at least this fraction of a flow are bare acknowledgements, its losses cost nothing.
const BARE: f64 = 0.99;

impl OfferedFlow {
    /// A flow before its first packet.
    const fn idle(config: FlowConfig, reference: Rate, place: Place) -> Self {
        Self {
            config,
            rule: RuleIndex::NONE,
            packets: 0,
            bytes: 0,
            first: Instant::ZERO,
            last: Instant::ZERO,
            active: Duration::ZERO,
            backlogs: Backlogs::NONE,
            bare: 0,
            reference,
            place,
        }
    }

    /// What the flow demands from the shaper or link that it has to pass.
    pub(crate) fn demand(&self) -> Demand {
        Demand::of(
            self.backlogs,
            (self.packets, self.bytes),
            self.active.as_secs_f64(),
            self.reference.bits_per_second() as f64,
        )
    }

    /// The smallest rate that shapes the flow.
    pub(crate) const fn reference(&self) -> Rate {
        self.reference
    }

    /// Whether nearly all packets are bare acknowledgements.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare as f64 >= BARE * self.packets as f64
    }

    /// The flow's packets over time.
    pub(crate) fn pace(&self) -> Pace {
        Pace {
            packets: self.packets,
            bytes: self.bytes,
            seconds: self.active.as_secs_f64(),
        }
    }

    /// Mean length of a packet, bytes.
    pub(crate) fn mean_length(&self) -> u64 {
        self.bytes / self.packets.max(1)
    }
}

/// Reads a capture into events, block by block.
pub(crate) struct Offered {
    arrivals: Arrivals,
    weights: WeightRules,
    flows: Vec<OfferedFlow>,
    shapers: Shapers,
    /// One for each shaper met so far.
    ideals: Vec<Ideal>,
    /// The same for hosts, if a discipline shares by host.
    hosts: Option<HostMeter>,
    presence: Presence,
    plateau: Plateau,
    packets: u64,
    bytes: u64,
    longest_packet: u32,
    /// Some packet's code point asks for more than best effort.
    classified: bool,
}

impl Offered {
    pub(crate) fn new(arrivals: Arrivals, weights: WeightRules, options: &Options) -> Self {
        Self {
            arrivals,
            weights,
            flows: Vec::new(),
            shapers: Shapers::of(options),
            ideals: Vec::new(),
            hosts: HostMeter::for_options(options),
            presence: Presence::default(),
            plateau: Plateau::new(options.rate),
            packets: 0,
            bytes: 0,
            longest_packet: 0,
            classified: false,
        }
    }

    /// Fills `block` with the events of the next `packets` packets, as far as these are selected,
    /// and with those of one selected packet at least. Returns false if no event was left.
    pub(crate) fn read(
        &mut self,
        block: &mut Vec<Event>,
        packets: usize,
    ) -> Result<bool, CaptureError> {
        block.clear();
        let mut packets_left = packets;
        while packets_left > 0 || block.is_empty() {
            packets_left = packets_left.saturating_sub(1);
            if self.flows.len() > CACHED_FLOWS
                && let Some(flow) = self.arrivals.flow_ahead(PREFETCH_DISTANCE)
            {
                self.prefetch(flow);
            }
            match self.arrivals.step()? {
                Step::Arrives(arrival, ack) => self.arrive(&arrival, ack, block),
                Step::IsLeftOut => {}
                Step::Ends => return Ok(!block.is_empty()),
            }
        }
        Ok(true)
    }

    #[inline]
    fn arrive(&mut self, arrival: &Arrival, ack: Option<Acknowledgement>, block: &mut Vec<Event>) {
        let Arrival {
            at,
            flow,
            lens,
            ecn,
            dscp,
            is_bare,
        } = *arrival;
        self.presence
            .let_quiet_flows_leave(at, |flow| block.push(Event::leave(at, flow)));
        for len in lens {
            self.count(at, flow, len, block);
            self.flows[flow.index()].bare += u64::from(is_bare);
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
    }

    /// Asks for the memory of a flow whose packet arrives soon.
    fn prefetch(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
        // With several servers the flow's number in its own lies in a record not yet here.
        if let [ideal] = self.ideals.as_slice() {
            ideal.gps.prefetch(flow);
        }
        self.presence.prefetch(flow);
    }

    fn count(&mut self, at: Instant, flow: FlowId, len: u32, block: &mut Vec<Event>) {
        self.packets += 1;
        self.bytes += u64::from(len);
        self.longest_packet = self.longest_packet.max(len);
        self.plateau.count(at, len);
        if flow.index() == self.flows.len() {
            let headers = self.arrivals.classifier().headers(flow);
            let weight = self.weights.weight(headers);
            let rule = RuleIndex::of(self.weights.rule_index(headers));
            let config = self.presence.meet(weight, at);
            let shaper = self.shapers.shaper(headers);
            if let Some(hosts) = &mut self.hosts {
                hosts.meet(headers);
            }
            let place = self.place(shaper, weight);
            self.flows.push(OfferedFlow {
                rule,
                first: at,
                last: at,
                ..OfferedFlow::idle(config, shaper.rate, place)
            });
        }
        let known = &mut self.flows[flow.index()];
        let Place { server, flow: id } = known.place;
        let gps = &mut self.ideals[server as usize].gps;
        gps.arrive(at, id, len.into());
        known.backlogs.count(gps.backlog(id));
        if let Some(hosts) = &mut self.hosts {
            hosts.arrive(at, flow, len, server, known.reference);
        }
        known.packets += 1;
        known.bytes += u64::from(len);
        let pause = at.since(known.last).min(LONGEST_PAUSE);
        known.active = known.active + pause;
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

    /// A place for the next flow in the ideal server of its shaper.
    fn place(&mut self, shaper: Shaper, weight: u32) -> Place {
        let known = self.ideals.iter().position(|ideal| ideal.shaper == shaper);
        let server = known.unwrap_or(self.ideals.len());
        if known.is_none() {
            self.ideals.push(Ideal {
                shaper,
                gps: GpsServer::new(shaper.rate),
                flows: 0,
            });
        }
        let ideal = &mut self.ideals[server];
        let flow = FlowId(ideal.flows);
        ideal.flows += 1;
        ideal.gps.set_weight(flow, weight);
        Place {
            server: server as u32,
            flow,
        }
    }

    /// The rules' urgencies, and how many bytes of each flow were read so far.
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

    /// The fields set on packets read so far.
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

    /// How far the last reading has got.
    pub(crate) fn progress(&self, readings: u32) -> Progress {
        Progress {
            read: self.arrivals.position(),
            packets: self.packets,
            reading: readings,
            readings,
        }
    }

    /// The capture, and what was read from it.
    pub(crate) const fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Every flow, with its headers and what it offers.
    pub(crate) fn known_flows(&self) -> impl Iterator<Item = (&Flow, &OfferedFlow)> {
        self.arrivals.classifier().flows().iter().zip(&self.flows)
    }

    pub(crate) fn flows(&self) -> &[OfferedFlow] {
        &self.flows
    }

    /// How many of the flow's bytes the ideal server sent until the last packet arrived.
    pub(crate) fn fair_bytes(&self, flow: usize) -> f64 {
        let Place { server, flow } = self.flows[flow].place;
        self.ideals[server as usize].gps.served(flow)
    }

    /// What hosts are due. None if flows alone count.
    pub(crate) const fn hosts(&self) -> Option<&HostMeter> {
        self.hosts.as_ref()
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

    pub(crate) const fn longest_packet(&self) -> u32 {
        self.longest_packet
    }
}

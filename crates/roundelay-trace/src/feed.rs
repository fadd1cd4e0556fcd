//! Feed: sorts frames into flows for one queue, frame by frame, just as a comparison sorts a
//! capture's packets.
//!
//! It is for a driver whose packets have not all come yet. [`compare`](crate::compare) gives the
//! same frames the same flows, weights, lengths and urgencies, because both use one classifier, one
//! table of present flows and one marker.

use std::error::Error;

use roundelay::schedulers::{AnyArena, AnyDiscipline, Discipline as _};
use roundelay::{
    ConfigError, Control, Ecn, FlowConfig, FlowId, Instant, Limit, LinkLayer, Packet, QueueSpec,
    Rate,
};

use crate::arrival::lengths;
use crate::capture::Frame;
use crate::classifier::{Classifier, Flow, FlowBy, flow_headers};
use crate::headers::{TCP, parse};
use crate::hosts::HostNumbers;
use crate::presence::Presence;
use crate::shaped::{own_rate, rate_of_tree};
use crate::tree::TreeFile;
use crate::urgency::{Known, Marker, Offer, RuleIndex, reads_sizes};
use crate::weights::{WeightRule, WeightRules};

/// A queue: a discipline with its limit, or a tree with rules that select each leaf's flows.
#[derive(Debug, Clone)]
pub enum Queue {
    /// A discipline.
    Discipline(QueueSpec),
    /// A tree of disciplines.
    Tree(Box<TreeFile>),
}

impl Queue {
    /// The discipline. A tree comes without any flow's leaf.
    pub fn discipline(&self) -> AnyDiscipline {
        match self {
            Self::Discipline(spec) => spec.discipline.clone(),
            Self::Tree(tree) => AnyDiscipline::Tree(tree.config().clone()),
        }
    }

    /// The whole queue's limit.
    pub fn limit(&self) -> Limit {
        match self {
            Self::Discipline(spec) => spec.limit_or_default(),
            Self::Tree(tree) => tree.config().default_limit(),
        }
    }

    /// The smallest rate that shapes all packets: the link's, or that of a shaper in the queue.
    pub fn reference_rate(&self, link: Rate) -> Rate {
        match self {
            Self::Discipline(spec) => own_rate(spec).map_or(link, |rate| rate.min(link)),
            Self::Tree(tree) => rate_of_tree(tree, link),
        }
    }

    /// Whether the queue orders packets by flow sizes, which nobody knows before a flow's last
    /// packet.
    pub fn reads_sizes(&self) -> bool {
        match self {
            Self::Discipline(spec) => reads_sizes(spec),
            Self::Tree(tree) => tree.config().nodes().any(|node| reads_sizes(&node.spec)),
        }
    }

    /// Checks the rules' largest weight against each discipline's range.
    ///
    /// # Errors
    /// A discipline does not take weights as large as that.
    pub fn check_weights(&self, weights: &WeightRules) -> Result<(), ConfigError> {
        let nodes = match self {
            Self::Discipline(spec) => vec![spec.discipline.info()],
            Self::Tree(tree) => tree
                .config()
                .nodes()
                .map(|node| node.spec.discipline.info())
                .collect(),
        };
        for info in nodes.into_iter().filter(|info| info.weighted) {
            let most = info.max_weight.into();
            ConfigError::in_range(info.name, "weight", weights.largest().into(), 1, most)?;
        }
        Ok(())
    }

    fn hosts(&self) -> Option<HostNumbers> {
        let reads_hosts = self.discipline().info().reads_hosts;
        reads_hosts.then(HostNumbers::default)
    }

    fn reads_acknowledgements(&self) -> bool {
        self.discipline().info().reads_acknowledgements
    }

    fn marker(&self, weights: &WeightRules) -> Marker {
        let urgencies = weights.rules().iter().map(WeightRule::urgency).collect();
        let known = Known {
            urgencies,
            ..Known::default()
        };
        Marker::new(self.discipline().info().priority, known)
    }
}

/// A frame that has been sorted: its flow, and what disciplines read.
#[derive(Debug, Clone, Copy)]
pub struct Sorted {
    /// The flow.
    pub flow: FlowId,
    offer: Offer,
}

impl Sorted {
    /// Bytes on the link.
    pub const fn len(&self) -> u32 {
        self.offer.len
    }

    /// Whether the frame takes no time on the link.
    pub const fn is_empty(&self) -> bool {
        self.offer.len == 0
    }

    /// The frame's ECN field.
    pub const fn ecn(&self) -> Ecn {
        self.offer.ecn
    }
}

/// Sorts one queue's frames.
pub struct Feed {
    queue: Queue,
    weights: WeightRules,
    layer: LinkLayer,
    classifier: Classifier,
    presence: Presence,
    marker: Marker,
    /// Numbers for the flows' hosts, if the queue reads them.
    hosts: Option<HostNumbers>,
    /// Whether the queue filters acknowledgements.
    reads_acks: bool,
    /// Scratch space for flows that leave.
    leaving: Vec<FlowId>,
}

/// The error when a scheduler refuses a value.
pub type FeedError = Box<dyn Error + Send + Sync>;

impl Feed {
    /// A feed that has no flow yet.
    ///
    /// # Errors
    /// The queue's discipline does not take a weight.
    pub fn new(
        queue: Queue,
        weights: WeightRules,
        layer: LinkLayer,
        (by, max_flows): (FlowBy, usize),
    ) -> Result<Self, ConfigError> {
        queue.check_weights(&weights)?;
        let marker = queue.marker(&weights);
        let hosts = queue.hosts();
        let reads_acks = queue.reads_acknowledgements();
        Ok(Self {
            queue,
            weights,
            layer,
            classifier: Classifier::with_max_flows(by, max_flows),
            presence: Presence::default(),
            marker,
            hosts,
            reads_acks,
            leaving: Vec::new(),
        })
    }

    /// The queue.
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The flows. The index is their number.
    pub fn flows(&self) -> &[Flow] {
        self.classifier.flows()
    }

    /// Sorts a frame that arrives at `at`. Flows that were silent for long leave the scheduler, and
    /// the frame's flow joins if it must. First advance the port to `at`, and then let the frame's
    /// [`packet`](Self::packet) arrive next.
    ///
    /// # Errors
    /// The scheduler refuses the flow.
    pub fn sort<T>(
        &mut self,
        at: Instant,
        frame: &Frame<'_>,
        scheduler: &mut AnyArena<T>,
    ) -> Result<Sorted, FeedError> {
        let headers = parse(frame.link, frame.bytes);
        let by = self.classifier.by();
        let of_flow = match &headers {
            Ok(headers) => Ok(flow_headers(by, headers, frame)),
            Err(reason) => Err(*reason),
        };
        let flow = self
            .classifier
            .classify(of_flow.as_ref().map_err(|reason| *reason));
        let (_, len) = lengths(frame, self.layer);
        let len = len.min(FlowConfig::MAX_PACKET_LEN);
        let is_tcp = headers.is_ok_and(|headers| headers.protocol == TCP);
        let (ecn, dscp) =
            headers.map_or((Ecn::NotCapable, 0), |headers| (headers.ecn, headers.dscp));
        let offer = Offer {
            len,
            ecn,
            dscp,
            is_bare: is_tcp && frame.is_bare_acknowledgement(),
        };
        let leaving = &mut self.leaving;
        self.presence
            .let_quiet_flows_leave(at, |flow| leaving.push(flow));
        for flow in self.leaving.drain(..) {
            scheduler.remove_flow(flow);
        }
        if flow.index() == self.presence.len() {
            self.meet(at, flow, scheduler)?;
        }
        if let Some(config) = self.presence.arrive(at, flow, len) {
            self.join(flow, config, scheduler)?;
        }
        if self.reads_acks {
            scheduler.set_acknowledgement(flow, frame.acknowledgement().as_ref());
        }
        Ok(Sorted { flow, offer })
    }

    /// Makes a sorted frame's packet.
    pub fn packet<T>(&mut self, at: Instant, sorted: Sorted, payload: T) -> Packet<T> {
        self.marker.packet(at, sorted.flow, sorted.offer, payload)
    }

    /// Sets other weight rules, both for flows that are present and for flows to come.
    ///
    /// # Errors
    /// The queue's discipline does not take a weight. Then nothing has changed.
    pub fn set_weights<T>(
        &mut self,
        weights: WeightRules,
        scheduler: &mut AnyArena<T>,
    ) -> Result<(), FeedError> {
        self.queue.check_weights(&weights)?;
        self.weights = weights;
        self.marker = self.queue.marker(&self.weights);
        self.tell_leaves(scheduler)?;
        for flow in self.known() {
            let weight = self.weights.weight(self.classifier.headers(flow));
            if let Some(config) = self.presence.reweigh(flow, weight) {
                self.join(flow, config, scheduler)?;
            }
        }
        Ok(())
    }

    /// Sets another queue. The present flows join its new scheduler, which holds no packets.
    ///
    /// # Errors
    /// The new discipline does not take a weight. Then the feed has not changed.
    pub fn set_queue<T>(
        &mut self,
        queue: Queue,
        scheduler: &mut AnyArena<T>,
    ) -> Result<(), FeedError> {
        queue.check_weights(&self.weights)?;
        let hosts = queue.hosts();
        let marker = queue.marker(&self.weights);
        let queue = std::mem::replace(&mut self.queue, queue);
        let marker = std::mem::replace(&mut self.marker, marker);
        let hosts = std::mem::replace(&mut self.hosts, hosts);
        let outcome = self.tell_all(scheduler);
        if outcome.is_err() {
            self.queue = queue;
            self.marker = marker;
            self.hosts = hosts;
        }
        self.reads_acks = self.queue.reads_acknowledgements();
        outcome
    }

    /// Tells a new scheduler about all flows.
    fn tell_all<T>(&mut self, scheduler: &mut AnyArena<T>) -> Result<(), FeedError> {
        self.tell_leaves(scheduler)?;
        for flow in self.known() {
            if let Some(config) = self.presence.present(flow) {
                self.join(flow, config, scheduler)?;
            }
        }
        Ok(())
    }

    /// All flows met so far.
    fn known(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.presence.len() as u32).map(FlowId)
    }

    /// Meets a new flow: finds its weight, and in a tree its leaf.
    fn meet<T>(
        &mut self,
        at: Instant,
        flow: FlowId,
        scheduler: &mut AnyArena<T>,
    ) -> Result<(), FeedError> {
        let weight = self.weights.weight(self.classifier.headers(flow));
        self.presence.meet(weight, at);
        self.tell_leaf(flow, scheduler)
    }

    fn join<T>(
        &mut self,
        flow: FlowId,
        config: FlowConfig,
        scheduler: &mut AnyArena<T>,
    ) -> Result<(), FeedError> {
        let rule = self.weights.rule_index(self.classifier.headers(flow));
        self.marker.join(flow, RuleIndex::of(rule));
        scheduler.set_flow(flow, config)?;
        if let (Some(hosts), Some(headers)) = (&mut self.hosts, self.classifier.headers(flow)) {
            scheduler.set_hosts(flow, hosts.of(headers))?;
        }
        Ok(())
    }

    fn tell_leaves<T>(&mut self, scheduler: &mut AnyArena<T>) -> Result<(), FeedError> {
        for flow in self.known() {
            self.tell_leaf(flow, scheduler)?;
        }
        Ok(())
    }

    fn tell_leaf<T>(&mut self, flow: FlowId, scheduler: &mut AnyArena<T>) -> Result<(), FeedError> {
        if let Queue::Tree(tree) = &self.queue {
            let leaf = tree.leaf(self.classifier.headers(flow));
            scheduler.assign(flow, leaf)?;
            if let Some(leaf) = tree.leaf_of_acknowledgements(self.classifier.headers(flow)) {
                scheduler.assign_acknowledgements(flow, leaf)?;
            }
            self.marker.take_for(flow, tree.meaning(leaf));
        }
        Ok(())
    }
}

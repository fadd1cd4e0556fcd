//! Lane: one discipline on its own port. It is fed with a capture's events and measured by all
//! meters.

use std::error::Error;

use roundelay::Seed;
use roundelay::schedulers::{AnyArena, AnyDiscipline};
use roundelay::{Bytes, ConfigError, Control, FlowId, Instant, Limit, Port, QueueSpec, Rate};

use roundelay_metrics::geometric_mean;

use crate::classifier::Flow;
use crate::comparison::{DisciplineResult, FlowResult, FlowSummary, KindCurves};
use crate::hosts::HostNumbers;
use crate::kind::{Kind, KindOutcome};
use crate::memory;
use crate::meters::{Meters, Note};
use crate::offered::{CACHED_FLOWS, Event, EventKind, PREFETCH_DISTANCE};
use crate::sink::PacketSink;
use crate::tree::TreeFile;
use crate::urgency::{Known, Marker};

/// One discipline on its own port, by handle, so that no scheduler is compiled for the meters'
/// notes. `run` is called once for each block of events, with all flows seen by then.
pub(crate) struct Lane {
    discipline: AnyDiscipline,
    /// The discipline as the user wrote it, or the tree's name.
    spec: String,
    limit: Limit,
    port: Port<AnyArena<Note>>,
    marker: Marker,
    meters: Meters,
    leaves: Option<Leaves>,
    /// The flows' hosts, if the discipline reads them.
    hosts: Option<NamedHosts>,
}

/// Hosts that the discipline has been told.
#[derive(Debug, Default)]
struct NamedHosts {
    numbers: HostNumbers,
    /// All flows before this one have been told.
    named: usize,
}

/// What all lanes of a comparison share.
pub(crate) struct Link<'a> {
    pub(crate) known: &'a Known,
    pub(crate) rate: Rate,
    pub(crate) seed: Seed,
}

/// Which flows' packets are measured together.
#[derive(Debug, Default)]
pub(crate) struct Sorts {
    /// Light flows.
    pub(crate) light: Vec<usize>,
    /// The flows of each kind that has any.
    pub(crate) kinds: Vec<(Kind, Vec<usize>)>,
}

impl Sorts {
    pub(crate) fn of(flows: &[FlowSummary]) -> Self {
        let mut light = Vec::new();
        let mut by_kind = Kind::ALL.map(|kind| (kind, Vec::new()));
        for (index, flow) in flows.iter().enumerate() {
            if flow.light {
                light.push(index);
            }
            for (kind, members) in &mut by_kind {
                if *kind == flow.kind {
                    members.push(index);
                }
            }
        }
        let mut kinds = Vec::from(by_kind);
        kinds.retain(|(_, flows)| !flows.is_empty());
        Self { light, kinds }
    }
}

/// What a result says about a discipline besides its figures.
pub(crate) struct Subject {
    pub(crate) spec: String,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) limit: String,
    pub(crate) weighted: bool,
    pub(crate) shares_by_host: bool,
    pub(crate) bytes_per_flow: usize,
    pub(crate) fixed_bytes: usize,
}

impl Subject {
    /// The discipline with its figures: for each of `flows`, and for the packets of several flows
    /// together.
    pub(crate) fn measured(
        self,
        meters: &Meters,
        flows: Vec<FlowResult>,
        sorts: &Sorts,
    ) -> DisciplineResult {
        let everyone: Vec<_> = (0..flows.len()).collect();
        let mut light_waits = Vec::new();
        for flow in &sorts.light {
            light_waits.extend(flows[*flow].outcome.delay.map(|delay| delay.p99));
        }
        let mut kinds = Vec::new();
        let mut kind_curves = Vec::new();
        for (kind, flows) in &sorts.kinds {
            let delays = meters.delays(flows);
            let outcome = meters.outcome(flows, &delays);
            kinds.push(KindOutcome::of(*kind, flows, &outcome));
            kind_curves.push(KindCurves {
                kind: *kind,
                outcome,
                curves: meters.joint_curves(flows, &delays),
            });
        }
        let delays = meters.delays(&everyone);
        let light_delays = meters.delays(&sorts.light);
        DisciplineResult {
            spec: self.spec,
            name: self.name,
            about: self.about,
            limit: self.limit,
            weighted: self.weighted,
            total: meters.outcome(&everyone, &delays),
            light: meters.outcome(&sorts.light, &light_delays),
            light_p99: geometric_mean(light_waits.into_iter()),
            kinds,
            jain: meters.jain(),
            shares_by_host: self.shares_by_host,
            hosts: None,
            worst_lag: flows.iter().map(|flow| flow.lag).fold(0.0, f64::max),
            cost: None,
            bytes_per_flow: self.bytes_per_flow,
            fixed_bytes: self.fixed_bytes,
            kept_bounds: kept_bounds(&flows),
            curves: meters.curves(&delays),
            light_curves: meters.joint_curves(&sorts.light, &light_delays),
            kind_curves,
            replicas: Vec::new(),
            flows,
        }
    }
}

/// A tree's leaves for flows, by their headers.
struct Leaves {
    tree: TreeFile,
    /// How many flows have leaves.
    sorted: usize,
}

impl Lane {
    /// A discipline's lane. On the link it runs as `discipline`.
    pub(crate) fn new(
        spec: &QueueSpec,
        discipline: AnyDiscipline,
        limit: Limit,
        link: &Link<'_>,
        sink: Option<Box<dyn PacketSink>>,
    ) -> Result<Self, ConfigError> {
        Self::named(as_written(spec), discipline, limit, link, sink)
    }

    /// A tree's lane. Each flow goes to a leaf by its headers.
    pub(crate) fn of_tree(
        tree: &TreeFile,
        limit: Limit,
        link: &Link<'_>,
        sink: Option<Box<dyn PacketSink>>,
    ) -> Result<Self, ConfigError> {
        let discipline = AnyDiscipline::Tree(tree.config().clone());
        let lane = Self::named(tree.name().to_owned(), discipline, limit, link, sink)?;
        Ok(Self {
            leaves: Some(Leaves {
                tree: tree.clone(),
                sorted: 0,
            }),
            ..lane
        })
    }

    fn named(
        spec: String,
        discipline: AnyDiscipline,
        limit: Limit,
        link: &Link<'_>,
        sink: Option<Box<dyn PacketSink>>,
    ) -> Result<Self, ConfigError> {
        let port = Port::new(discipline.build_arena(link.seed)?, limit, link.rate);
        let info = discipline.info();
        let marker = Marker::new(info.priority, link.known.clone());
        let meters = Meters::new(link.rate, sink);
        Ok(Self {
            discipline,
            spec,
            limit,
            port,
            marker,
            meters,
            leaves: None,
            hosts: info.reads_hosts.then(NamedHosts::default),
        })
    }

    pub(crate) fn run(
        &mut self,
        events: &[Event],
        flows: &[Flow],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.assign_leaves(flows)?;
        self.name_hosts(flows)?;
        for (index, event) in events.iter().enumerate() {
            if flows.len() > CACHED_FLOWS
                && let Some(next) = events.get(index + PREFETCH_DISTANCE)
            {
                self.meters.prefetch(next.flow);
                self.marker.prefetch(next.flow);
            }
            self.port.advance(event.at, &mut self.meters);
            self.share_weights(event.at);
            match event.kind {
                EventKind::Acknowledges(ref ack) => {
                    let scheduler = self.port.scheduler_mut();
                    scheduler.set_acknowledgement(event.flow, Some(ack));
                }
                EventKind::Arrival(offer) => {
                    let note = self.meters.offer(event.at, event.flow, offer);
                    let packet = self.marker.packet(event.at, event.flow, offer, note);
                    self.port.arrive(event.at, packet, &mut self.meters);
                }
                EventKind::Join(config, rule) => {
                    self.marker.join(event.flow, rule);
                    self.port.scheduler_mut().set_flow(event.flow, config)?;
                    self.meters.join(event.at, event.flow, config);
                    self.share_weights_anew(event.at);
                }
                EventKind::Leave => {
                    self.port.scheduler_mut().remove_flow(event.flow);
                    self.meters.leave(event.at, event.flow);
                    self.share_weights_anew(event.at);
                }
            }
        }
        self.check_clock()?;
        self.meters.check_sink()
    }

    /// Sends what waits, and takes the measurements of `flows` flows.
    pub(crate) fn finish(
        mut self,
        flows: usize,
        sorts: &Sorts,
        charted: &[usize],
    ) -> Result<DisciplineResult, Box<dyn Error + Send + Sync>> {
        self.meters.note_last_arrival();
        self.port.drain(&mut self.meters);
        self.check_clock()?;
        self.meters.close()?;
        let tolerance = self.meters.tolerance();
        let mut results = Vec::with_capacity(flows);
        // Most flows have the same configuration as the flow before, and so the same bounds.
        let mut last = None;
        for flow in (0..flows as u32).map(FlowId) {
            let config = self.meters.config(flow);
            let promised = match last {
                Some((known, promised)) if known == config => promised,
                _ => self
                    .meters
                    .promised(config, |share| self.discipline.guarantees(share)),
            };
            last = Some((config, promised));
            let is_charted = charted.contains(&flow.index());
            results.push(
                self.meters
                    .flow_result(flow, tolerance, promised, is_charted),
            );
        }
        let info = self.discipline.info();
        let footprint = self.port.scheduler().footprint();
        let footprint = match &self.leaves {
            Some(leaves) => memory::of_tree(leaves.tree.leaves(), footprint),
            None => memory::on_64_bits(&self.discipline, footprint),
        };
        let subject = Subject {
            spec: self.spec.clone(),
            name: info.name,
            about: info.about,
            limit: self.limit.to_string(),
            weighted: info.weighted,
            shares_by_host: info.reads_hosts,
            bytes_per_flow: footprint.bytes_per_flow,
            fixed_bytes: footprint.fixed_bytes,
        };
        Ok(subject.measured(&self.meters, results, sorts))
    }

    /// Assigns flows that are new since the last block to the tree's leaves.
    fn assign_leaves(&mut self, flows: &[Flow]) -> Result<(), ConfigError> {
        let Some(leaves) = &mut self.leaves else {
            return Ok(());
        };
        for flow in &flows[leaves.sorted..] {
            let number = FlowId(leaves.sorted as u32);
            let leaf = leaves.tree.leaf(flow.headers());
            let scheduler = self.port.scheduler_mut();
            scheduler.assign(number, leaf)?;
            if let Some(leaf) = leaves.tree.leaf_of_acknowledgements(flow.headers()) {
                scheduler.assign_acknowledgements(number, leaf)?;
            }
            self.marker.take_for(number, leaves.tree.meaning(leaf));
            leaves.sorted += 1;
        }
        Ok(())
    }

    /// Tells the discipline the hosts of flows that are new since the last block.
    fn name_hosts(&mut self, flows: &[Flow]) -> Result<(), ConfigError> {
        let Some(hosts) = &mut self.hosts else {
            return Ok(());
        };
        for flow in &flows[hosts.named..] {
            let number = FlowId(hosts.named as u32);
            if let Some(headers) = flow.headers() {
                let ends = hosts.numbers.of(headers);
                self.port.scheduler_mut().set_hosts(number, ends)?;
            }
            hosts.named += 1;
        }
        Ok(())
    }

    /// Tells the meters the discipline's sum of weights.
    #[inline]
    fn share_weights(&mut self, now: Instant) {
        if let Some(total) = self.port.scheduler().total_weight() {
            self.meters.watch_total_weight(now, total);
        }
    }

    /// Notes that a flow has joined or left. If a discipline has no sum of weights, its bounds only
    /// hold between such events.
    fn share_weights_anew(&mut self, now: Instant) {
        if self.port.scheduler().total_weight().is_none() {
            self.meters.measure_anew(now);
        }
        self.share_weights(now);
    }

    /// Fails at the end of the clock's range, because there packets neither leave nor are dropped,
    /// so measured delays would be wrong.
    fn check_clock(&self) -> Result<(), String> {
        if self.meters.end() < Instant::MAX {
            return Ok(());
        }
        let spec = &self.spec;
        let rate = self.port.rate();
        Err(format!(
            "{spec}: the clock covers 213 days after the first packet; this capture, or a wait at {rate}, is longer"
        ))
    }
}

/// The discipline with its configured limit, so that two disciplines that only differ in their
/// limits can be told apart.
fn as_written(spec: &QueueSpec) -> String {
    let mut text = spec.discipline.to_string();
    let unset = spec.discipline.default_limit();
    let Some(limit) = spec.limit else { return text };
    match limit {
        Limit {
            packets: u64::MAX,
            bytes,
        } => text += &format!(" limit {}", Bytes(bytes)),
        Limit { packets, .. } => text += &format!(" limit {packets}"),
    }
    if limit.packets < u64::MAX && limit.bytes != unset.bytes {
        text += &format!(" memory_limit {}", Bytes(limit.bytes));
    }
    text
}

fn kept_bounds(flows: &[FlowResult]) -> Option<bool> {
    let mut kept = None;
    for flow in flows {
        for (measured, bound) in flow.audited() {
            if let Some(bound) = bound {
                kept = Some(kept.unwrap_or(true) && measured <= bound);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use roundelay::author::ByCopy;
    use roundelay::schedulers::{Discipline as _, custom, drr, fifo, qfq, wf2q_plus};
    use roundelay::{Duration, Ecn, FlowConfig, Guarantees};

    use super::*;
    use crate::outcome::Outcome;
    use crate::urgency::{Offer, RuleIndex};

    /// A FIFO that promises the bounds of WF2Q+, or some of them.
    fn liar(part: fn(Guarantees) -> Guarantees) -> custom::Config {
        let fifo = custom::Config::new("liar", |_| ByCopy::new(fifo::Fifo::default()));
        custom::Config {
            guarantees: Arc::new(move |share| part(wf2q_plus::Config.guarantees(share))),
            ..fifo
        }
    }

    const CONFIG: FlowConfig = FlowConfig {
        weight: 1,
        max_packet_len: 1514,
    };

    fn arrival(len: u32) -> EventKind {
        EventKind::Arrival(Offer {
            len,
            ecn: Ecn::NotCapable,
            dscp: 0,
            is_bare: false,
        })
    }

    /// A link of 8 Mbit/s: a byte takes a microsecond.
    fn run(
        discipline: impl Into<AnyDiscipline>,
        limit: Limit,
        flows: usize,
        events: &[Event],
    ) -> DisciplineResult {
        let link = Link {
            known: &Known::default(),
            rate: "8mbit".parse().unwrap(),
            seed: Seed::new(1),
        };
        let discipline = discipline.into();
        let spec = QueueSpec::from(discipline.clone());
        let mut lane = Lane::new(&spec, discipline, limit, &link, None).unwrap();
        lane.run(events, &[]).unwrap();
        // The audit needs only the number of flows, not their properties in the capture.
        lane.finish(flows, &Sorts::default(), &[]).unwrap()
    }

    /// Two flows, and one packet of 1500 bytes for each number in the list; the number is the flow.
    fn packets_at_once(numbers: impl Iterator<Item = u32>) -> Vec<Event> {
        let event = |flow, kind| Event {
            at: Instant::ZERO,
            flow: FlowId(flow),
            kind,
        };
        let joins = (0..2).map(|flow| event(flow, EventKind::Join(CONFIG, RuleIndex::NONE)));
        joins
            .chain(numbers.map(|flow| event(flow, arrival(1500))))
            .collect()
    }

    /// A burst of one flow, then a packet of another flow.
    fn kept_bounds_of(discipline: impl Into<AnyDiscipline>, burst: usize) -> Option<bool> {
        let numbers = std::iter::repeat_n(0, burst).chain([1]);
        run(discipline, Limit::UNBOUNDED, 2, &packets_at_once(numbers)).kept_bounds
    }

    #[test]
    fn the_audit_catches_a_discipline_that_promises_what_it_does_not_keep() {
        let liar = || liar(|all| all);
        assert_eq!(
            kept_bounds_of(liar(), 2),
            Some(true),
            "two packets are within the bound"
        );
        assert_eq!(kept_bounds_of(liar(), 20), Some(false));
        assert_eq!(kept_bounds_of(wf2q_plus::Config, 20), Some(true));
        assert_eq!(
            kept_bounds_of(fifo::Config, 20),
            None,
            "nothing promised, nothing broken"
        );
    }

    #[test]
    fn each_promise_is_audited_by_itself() {
        let parts: [fn(Guarantees) -> Guarantees; 4] = [
            |all| Guarantees {
                b_wfi: all.b_wfi,
                ..Guarantees::default()
            },
            |all| Guarantees {
                t_wfi: all.t_wfi,
                ..Guarantees::default()
            },
            |all| Guarantees {
                latency: all.latency,
                ..Guarantees::default()
            },
            |all| Guarantees {
                fairness: all.fairness,
                ..Guarantees::default()
            },
        ];
        for (number, part) in parts.into_iter().enumerate() {
            assert_eq!(
                kept_bounds_of(liar(part), 1),
                Some(true),
                "promise {number}"
            );
            assert_eq!(
                kept_bounds_of(liar(part), 20),
                Some(false),
                "promise {number}"
            );
        }
    }

    /// Twenty packets of flow 0 before one packet of flow 1, each with half of the link.
    #[test]
    fn latency_and_fairness_are_what_they_are_defined_to_be() {
        let result = run(
            fifo::Config,
            Limit::UNBOUNDED,
            2,
            &packets_at_once(std::iter::repeat_n(0, 20).chain([1])),
        );
        let [first, second] = [&result.flows[0], &result.flows[1]];
        // Flow 1's packet is complete at 21 packet times and due at two. Flow 0's packets are all
        // early, the first one least.
        assert!(
            (second.latency - 19.0 * 1.5e-3).abs() < 1e-9,
            "{}",
            second.latency
        );
        assert!((first.latency + 1.5e-3).abs() < 1e-9, "{}", first.latency);
        // Twenty packets, each worth twice its transmission time.
        assert!((first.fairness - 60e-3).abs() < 1e-9 && (second.fairness - 60e-3).abs() < 1e-9);
    }

    /// Gap in microseconds, flow, length (none: the flow leaves).
    fn steps() -> impl Strategy<Value = Vec<(u64, u32, Option<u32>)>> {
        let gap = prop_oneof![3 => Just(0u64), 3 => 0u64..1_500, 1 => 0u64..40_000];
        let len = prop_oneof![1 => Just(64u32), 1 => Just(1514), 1 => 1u32..1514].prop_map(Some);
        let kind = prop_oneof![20 => len, 1 => Just(None)];
        prop::collection::vec((gap, 0u32..14, kind), 1..400)
    }

    /// Flows join with their first packet, leave and return.
    fn events(steps: &[(u64, u32, Option<u32>)], weights: &[u32]) -> Vec<Event> {
        let mut at = Instant::ZERO;
        let mut present = vec![false; weights.len()];
        let mut events = Vec::new();
        for &(gap, flow, kind) in steps {
            at += Duration::from_micros(gap);
            let mut push = |kind| {
                events.push(Event {
                    at,
                    flow: FlowId(flow),
                    kind,
                })
            };
            let here = &mut present[flow as usize];
            let config = FlowConfig {
                weight: weights[flow as usize],
                ..CONFIG
            };
            match kind {
                Some(len) => {
                    if !std::mem::replace(here, true) {
                        push(EventKind::Join(config, RuleIndex::NONE));
                    }
                    push(arrival(len));
                }
                None if std::mem::replace(here, false) => push(EventKind::Leave),
                None => {}
            }
        }
        // Flows without packets also join once.
        (0..weights.len() as u32).rev().for_each(|flow| {
            let config = FlowConfig {
                weight: weights[flow as usize],
                ..CONFIG
            };
            events.insert(
                0,
                Event {
                    at: Instant::ZERO,
                    flow: FlowId(flow),
                    kind: EventKind::Join(config, RuleIndex::NONE),
                },
            );
            events.insert(
                1,
                Event {
                    at: Instant::ZERO,
                    flow: FlowId(flow),
                    kind: EventKind::Leave,
                },
            );
        });
        events
    }

    /// The largest ratio of a measured value to its bound, over all flows.
    fn closest(result: &DisciplineResult) -> f64 {
        let all = result.flows.iter().flat_map(FlowResult::audited);
        all.filter_map(|(measured, bound)| Some(measured / bound?))
            .fold(0.0, f64::max)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// No false alarms when flows come and go, weights differ and packets are dropped.
        #[test]
        fn disciplines_that_keep_their_promises_are_believed(
            steps in steps(), weights in prop::collection::vec(1u32..40, 14), limit in prop_oneof![Just(1_000u64), 1u64..40],
        ) {
            let events = events(&steps, &weights);
            let limit = Limit::of_packets(limit);
            let results = [
                run(wf2q_plus::Config, limit, 14, &events),
                run(qfq::Config, limit, 14, &events),
                run(drr::Config::default(), limit, 14, &events),
            ];
            for result in &results {
                prop_assert!(result.kept_bounds == Some(true), "{}: {} of a bound", result.name, closest(result));
            }
        }
    }

    #[test]
    fn either_index_beyond_its_bound_is_a_bound_broken() {
        let flow = |b_wfi, t_wfi| FlowResult {
            bytes_in_time: 0,
            data_loss: 0.0,
            outcome: Outcome::default(),
            lag: 0.0,
            b_wfi,
            b_wfi_bound: Some(1500.0),
            t_wfi,
            t_wfi_bound: Some(0.5),
            latency: 0.0,
            latency_bound: None,
            fairness: 0.0,
            fairness_bound: None,
            curves: None,
        };
        assert_eq!(
            kept_bounds(&[flow(1500.0, 0.5), flow(0.0, -1.0)]),
            Some(true)
        );
        assert_eq!(
            kept_bounds(&[flow(1500.1, 0.5), flow(0.0, 0.0)]),
            Some(false)
        );
        assert_eq!(kept_bounds(&[flow(0.0, 0.0), flow(0.0, 0.6)]), Some(false));
        assert_eq!(
            kept_bounds(&[FlowResult {
                b_wfi_bound: None,
                t_wfi_bound: None,
                ..flow(9e9, 9e9)
            }]),
            None
        );
        assert_eq!(kept_bounds(&[]), None);
        let late = FlowResult {
            latency: 2.0,
            latency_bound: Some(1.0),
            ..flow(0.0, 0.0)
        };
        assert_eq!(kept_bounds(&[flow(0.0, 0.0), late]), Some(false));
        let unfair = FlowResult {
            fairness: 2.0,
            fairness_bound: Some(1.0),
            ..flow(0.0, 0.0)
        };
        assert_eq!(kept_bounds(&[unfair]), Some(false));
    }

    #[test]
    fn a_discipline_is_named_with_the_limit_that_it_was_given() {
        for text in [
            "fifo",
            "fifo limit 128000b",
            "drr quantum 300b limit 20",
            "fq_codel limit 100 memory_limit 1mb",
            "fq_codel limit 1mb",
        ] {
            let written = as_written(&text.parse().unwrap());
            let again: QueueSpec = written.parse().unwrap();
            assert_eq!(
                again.limit,
                text.parse::<QueueSpec>().unwrap().limit,
                "{text}: {written}"
            );
        }
        assert_eq!(
            as_written(&"fq_codel limit 100".parse().unwrap()),
            "fq_codel limit 100"
        );
        assert_eq!(
            as_written(&"fifo limit 128000b".parse().unwrap()),
            "fifo limit 125kb"
        );
    }
}

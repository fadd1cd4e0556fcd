//! What a replay met beside its figures: the facts that advice is made of.

use std::collections::BTreeSet;

use roundelay::Duration;

use crate::arrival::Oddities;
use crate::capture::CaptureNotes;
use crate::classifier::{Flow, FlowBy};
use crate::compare::options::Options;
use crate::headers::{Tunnel, UnparsableCounts};
use crate::kind::Kind;
use crate::offered::Offered;
use crate::plateau::PlateauRate;
use crate::selection::{Chosen, Mixed, Selection, Selector};
use crate::timeline::{Ordered, Silence};
use crate::tree::IdleLeaves;
use crate::urgency::Carried;
use crate::weights::WeightRules;

/// Facts about the capture and the options that a comparison's tables do not show.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Fields that the packets carry.
    pub carried: Carried,
    /// Weights by code point.
    pub code_points: CodePoints,
    /// Bytes of the replayed packets as captured, without the link's overhead and framing.
    pub captured_bytes: u64,
    /// Oddities of the file.
    pub file: CaptureNotes,
    /// Oddities of times and lengths.
    pub oddities: Oddities,
    /// The part of the bytes in each tunnel, in the order of [`Tunnel::ALL`].
    pub tunnels: [f64; Tunnel::ALL.len()],
    /// No clock has made the times of the capture.
    pub is_without_clock: bool,
    /// The time between two readings of the clock, if that is a millisecond or more and at least half
    /// of the packets share one with the packet before.
    pub tick: Option<Duration>,
    /// The longest silence in which several connections stop at once and go on at once: it may be a
    /// step of the clock.
    pub silence: Option<Silence>,
    /// Packets without readable headers.
    pub unparsable: UnparsableCounts,
    /// The capture was probably taken behind a queue.
    pub plateau: Option<PlateauRate>,
    /// Bulk flows that may be calls.
    pub possible_calls: usize,
    /// Flows beyond the maximum number, which count as one.
    pub others: Option<OtherFlows>,
    /// Indices of weight rules that decide for no flow.
    pub idle_rules: Vec<usize>,
    /// For each tree the leaves whose rules match no flow.
    pub idle_leaves: Vec<IdleLeaves>,
    /// The part of the capture's time that is replayed; none for all of it.
    pub part: Option<PartOfTime>,
    /// Several links that share the replayed one.
    pub mixed: Mixed,
    /// The packets replayed: as asked for, and as chosen.
    pub selection: Selection,
    /// What was chosen of a capture with several links.
    pub chosen: Option<Chosen>,
}

/// A part of a capture's time, in seconds from the earliest packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartOfTime {
    /// Its start.
    pub from: f64,
    /// Its end; none for the capture's end.
    pub to: Option<f64>,
}

/// Packets of flows beyond the maximum number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherFlows {
    /// Their packets.
    pub packets: u64,
    /// The maximum number of flows.
    pub most: usize,
}

/// Weights by code point: if flows are defined by code point, each one has its own class.
#[derive(Debug, Clone, Copy)]
pub struct CodePoints {
    /// The weight of most code points.
    pub default: u32,
    /// The weight of each code point.
    pub weights: [u32; 64],
}

impl Default for CodePoints {
    fn default() -> Self {
        Self {
            default: 1,
            weights: [1; 64],
        }
    }
}

impl CodePoints {
    /// The weight of each code point: the weight of its flow if seen, otherwise the weight under
    /// the rules.
    fn of(offered: &Offered, rules: &WeightRules) -> Self {
        let mut weights = [0; 64];
        for dscp in 0..64_u8 {
            weights[usize::from(dscp)] = rules.weight_of_code_point(dscp);
        }
        for (flow, offer) in offered.known_flows() {
            if let Flow::Headers {
                by: FlowBy::Dscp,
                first,
            } = flow
            {
                weights[usize::from(first.dscp & 63)] = offer.config.weight;
            }
        }
        Self {
            default: rules.default_weight(),
            weights,
        }
    }
}

impl Observed {
    /// What the replay of these packets met.
    pub(crate) fn of(offered: &Offered, options: &Options) -> Self {
        let arrivals = offered.arrivals();
        Self {
            carried: offered.carried(),
            code_points: CodePoints::of(offered, &options.weights),
            captured_bytes: arrivals.captured_bytes(),
            oddities: arrivals.oddities(),
            tunnels: parts_in_tunnels(offered),
            plateau: offered.plateau().rate(),
            possible_calls: possible_calls(offered),
            others: other_flows(offered),
            idle_rules: idle_rules(offered, &options.weights),
            idle_leaves: idle_leaves(offered, options),
            chosen: arrivals.chosen(),
            ..Self::of_reading(
                arrivals.ordered(),
                arrivals.selector(),
                arrivals.classifier().unparsable(),
            )
        }
    }

    /// What the reading of a capture met: nothing of flows, weights and queues.
    pub(crate) fn of_reading(
        capture: &Ordered,
        selector: &Selector,
        unparsable: UnparsableCounts,
    ) -> Self {
        Self {
            file: capture.capture().notes(),
            oddities: Oddities::default().with_times_of(capture),
            is_without_clock: capture.is_without_clock(),
            tick: capture.tick(),
            silence: capture.silence(),
            unparsable,
            part: part_of_time(capture, selector),
            mixed: selector.mixed(),
            selection: selector.selection().clone(),
            ..Self::default()
        }
    }
}

fn parts_in_tunnels(offered: &Offered) -> [f64; Tunnel::ALL.len()] {
    let all = offered.arrivals().captured_bytes().max(1) as f64;
    offered.arrivals().tunnels().map(|bytes| bytes as f64 / all)
}

fn part_of_time(capture: &Ordered, selector: &Selector) -> Option<PartOfTime> {
    let (from, to) = selector.between()?;
    let start = capture.start();
    Some(PartOfTime {
        from: seconds_after(start, from),
        to: (to < i64::MAX).then(|| seconds_after(start, to)),
    })
}

/// Seconds from the start to a later time; 0 to an earlier one.
fn seconds_after(start: i64, time: i64) -> f64 {
    (time.saturating_sub(start) as f64 / 1e9).max(0.0)
}

/// Flows that count as bulk, as each asks for more than its fair share, and may be calls.
fn possible_calls(offered: &Offered) -> usize {
    let mut count = 0;
    for (flow, offer) in offered.known_flows() {
        let demand = offer.demand();
        count += usize::from(Kind::may_be_call(
            flow,
            demand,
            offer.mean_length(),
            offer.pace(),
        ));
    }
    count
}

fn other_flows(offered: &Offered) -> Option<OtherFlows> {
    let others = offered.arrivals().classifier().others()?;
    let flow = offered.flows().get(others.index())?;
    Some(OtherFlows {
        packets: flow.packets,
        most: offered.arrivals().classifier().max_flows(),
    })
}

/// Rules that are the first to match for no flow.
fn idle_rules(offered: &Offered, weights: &WeightRules) -> Vec<usize> {
    let mut deciding = BTreeSet::new();
    for flow in offered.arrivals().classifier().flows() {
        deciding.extend(weights.rule_index(flow.headers()));
    }
    let all = 0..weights.rules().len();
    all.filter(|rule| !deciding.contains(rule)).collect()
}

fn idle_leaves(offered: &Offered, options: &Options) -> Vec<IdleLeaves> {
    let flows = offered.arrivals().classifier().flows();
    let trees = options.trees.iter();
    trees.map(|tree| tree.idle_leaves(flows)).collect()
}

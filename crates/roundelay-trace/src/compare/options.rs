//! Options of a comparison: what is replayed, through which disciplines, on which link.

use roundelay::schedulers::{AnyDiscipline, Discipline, DisciplineInfo, cake};
use roundelay::{Limit, LinkLayer, Purpose, QueueSpec, Rate, Seed, tree};

use crate::classifier::{Classifier, FlowBy};
use crate::mending::Mending;
use crate::selection::Selection;
use crate::span::Span;
use crate::tree::TreeFile;
use crate::weights::WeightRules;

/// Bytes of a flow once, and in each discipline: measured with 100,000 flows of one packet, which
/// took 208 MB with one discipline and 4.4 GB with all.
const FLOW_BYTES: u64 = 800;
const LANE_BYTES: u64 = 1300;
/// Memory of flows, in bytes, that the usual maximum number of flows may take.
const MEMORY: u64 = 2_000_000_000;
/// The largest maximum number of flows.
const MOST_FLOWS: usize = 1_000_000;
/// Options of a comparison.
#[derive(Debug, Clone)]
pub struct Options {
    /// The link rate.
    pub rate: Rate,
    /// The disciplines to compare.
    pub specs: Vec<QueueSpec>,
    /// Trees of disciplines, listed after the disciplines.
    pub trees: Vec<TreeFile>,
    /// Buffer of every discipline without its own limit; none: each discipline's default.
    pub buffer: Option<Limit>,
    /// Definition of a flow.
    pub flow_by: FlowBy,
    /// Maximum number of distinct flows; packets of further flows share one. None: as many as fit
    /// into two gigabytes ([`Options::most_flows`]).
    pub max_flows: Option<usize>,
    /// Weights of flows.
    pub weights: WeightRules,
    /// Seed of all random numbers and hashes.
    pub seed: u64,
    /// Runs of each discipline that draws or hashes, with consecutive seeds from `seed` on. The
    /// figures are those of the first; the others tell what another seed would change.
    pub seeds: u16,
    /// Measure the cost of each discipline on this machine, the only result that differs from run
    /// to run.
    pub measure_cost: bool,
    /// The packets to replay.
    pub selection: Selection,
    /// The part of the capture's time to replay.
    pub span: Span,
    /// Put packets in the order of their times, and mend times and lengths that cannot be.
    pub adapts: bool,
    /// Longest IP packet of the link, bytes: longer ones, as offloading makes them, are split as
    /// the wire would have them. None: as captured.
    pub mtu: Option<u32>,
    /// A cake without `bandwidth` gets the link's rate. Not for records of `live`, which are replayed
    /// as they were.
    pub shapes_cake: bool,
    /// Overhead, minimum and framing of the link: lengths with these take link time, count in
    /// buffers, and are what disciplines see.
    pub link: LinkLayer,
}

impl Options {
    /// The usual number of seeds.
    pub const SEEDS: u16 = 3;

    /// The seed of the replayed link's queue, with the first of the seeds. Every discipline gets the
    /// same, and the one that the first link of a simulation with this seed would get.
    pub(crate) const fn seed_of_link(&self) -> Seed {
        Self::seed_of_link_with(self.seed)
    }

    /// The seed of a run, counted from 0, as replicas of a simulation have them.
    pub(super) const fn seed_of_run(&self, number: u16) -> u64 {
        self.seed.wrapping_add(number as u64)
    }

    pub(super) const fn seed_of_link_with(seed: u64) -> Seed {
        Seed::new(seed).derive(Purpose::Queue, 0)
    }

    /// Runs of all disciplines and trees together.
    pub fn lanes(&self) -> u64 {
        let mut lanes = 0;
        for spec in &self.specs {
            lanes += self.runs_of(&spec.discipline.info());
        }
        for tree in &self.trees {
            lanes += self.runs_of(&tree.config().info());
        }
        lanes
    }

    /// Runs of a discipline: one if no seed changes anything.
    pub(super) fn runs_of(&self, info: &DisciplineInfo) -> u64 {
        if info.reads_seed {
            u64::from(self.seeds.max(1))
        } else {
            1
        }
    }

    /// Which packets arrive, and what is mended.
    pub fn mending(&self) -> Mending {
        Mending {
            selection: self.selection.clone(),
            span: self.span,
            adapts: self.adapts,
            mtu: self.mtu,
        }
    }

    /// Whether some discipline or tree filters acknowledgements.
    pub(crate) fn reads_acknowledgements(&self) -> bool {
        let mut specs: Vec<&QueueSpec> = self.specs.iter().collect();
        for tree in &self.trees {
            for node in tree.config().nodes() {
                specs.push(&node.spec);
            }
        }
        specs
            .iter()
            .any(|spec| spec.discipline.info().reads_acknowledgements)
    }

    /// The given disciplines and link rate, with defaults for the rest: flows by 5-tuple, equal
    /// weights, default buffers, seeds 1 to 3, costs measured, all packets but duplicates, lengths as
    /// captured.
    pub fn new(rate: Rate, specs: Vec<QueueSpec>) -> Self {
        let trees = Vec::new();
        let weights = WeightRules::default();
        let selection = Selection::default();
        let link = LinkLayer::NONE;
        Self {
            rate,
            specs,
            trees,
            buffer: None,
            flow_by: FlowBy::default(),
            max_flows: None,
            weights,
            seed: 1,
            seeds: Self::SEEDS,
            measure_cost: true,
            selection,
            span: Span::default(),
            adapts: false,
            mtu: None,
            shapes_cake: true,
            link,
        }
    }

    /// Memory of the flows of a comparison in bytes, as measured: with this many runs.
    pub const fn memory_of_flows(flows: u64, lanes: u64) -> u64 {
        let of_a_flow = FLOW_BYTES + LANE_BYTES * lanes;
        flows.saturating_mul(of_a_flow)
    }

    /// Maximum number of distinct flows: as set, or else as many as fit into two gigabytes, from
    /// 65,536 to a million.
    pub fn most_flows(&self) -> usize {
        self.max_flows
            .unwrap_or_else(|| Self::usual_flows(self.lanes()))
    }

    /// [`Options::most_flows`] of a comparison with this many runs, if not set.
    pub fn usual_flows(lanes: u64) -> usize {
        let fitting = MEMORY / Self::memory_of_flows(1, lanes);
        (fitting as usize).clamp(Classifier::DEFAULT_MAX_FLOWS, MOST_FLOWS)
    }

    /// The limit of a whole tree; its leaves may have further limits.
    pub fn limit_of_trees(&self) -> Limit {
        self.buffer.unwrap_or(tree::Config::DEFAULT_LIMIT)
    }

    /// A discipline as it runs on the link. A cake without a `bandwidth` gets the link's rate, as
    /// whoever sets it up on this link would write, since its targets and quanta follow from that.
    pub fn discipline_of(&self, spec: &QueueSpec) -> AnyDiscipline {
        if let AnyDiscipline::Cake(cake) = &spec.discipline
            && cake.bandwidth.is_none()
            && self.shapes_cake
        {
            let shaped = cake::Config {
                bandwidth: Some(self.rate),
                ..*cake
            };
            if shaped.check().is_ok() {
                return AnyDiscipline::Cake(shaped);
            }
        }
        spec.discipline.clone()
    }

    /// The limit of a discipline's buffer.
    pub fn limit_of(&self, spec: &QueueSpec) -> Limit {
        if let Some(limit) = spec.limit.or(self.buffer) {
            return limit;
        }
        let spec = QueueSpec {
            discipline: self.discipline_of(spec),
            limit: None,
        };
        spec.limit_or_default()
    }
}

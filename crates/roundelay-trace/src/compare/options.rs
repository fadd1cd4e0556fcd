//! Options of a comparison: what is replayed, through which disciplines, on which link.

use roundelay::schedulers::{AnyDiscipline, Discipline, DisciplineInfo, cake};
use roundelay::{Limit, LinkLayer, Purpose, QueueSpec, Rate, Seed};

use crate::classifier::{Classifier, FlowBy};
use crate::mending::Mending;
use crate::selection::Selection;
use crate::span::Span;
use crate::tree::TreeFile;
use crate::weights::WeightRules;

/// A flow takes this many bytes once, and this many in each discipline. Measured with 100,000 flows
/// of one packet, which took 208 MB with one discipline and 4.4 GB with all.
const FLOW_BYTES: u64 = 800;
const LANE_BYTES: u64 = 1300;
/// How much memory, in bytes, the usual maximum number of flows may take.
const MEMORY: u64 = 2_000_000_000;
/// The largest maximum number of flows.
const MOST_FLOWS: usize = 1_000_000;
/// Options of a comparison.
#[derive(Debug, Clone)]
pub struct Options {
    /// The link rate.
    pub rate: Rate,
    /// With senders that react: the rate of the link that was captured. None: what the capture
    /// shows.
    pub captured_rate: Option<Rate>,
    /// The disciplines to compare.
    pub specs: Vec<QueueSpec>,
    /// Trees of disciplines, listed after the disciplines.
    pub trees: Vec<TreeFile>,
    /// The buffer of each discipline that has no limit of its own. If none, each discipline's
    /// default.
    pub buffer: Option<Limit>,
    /// What makes a flow.
    pub flow_by: FlowBy,
    /// The most distinct flows. Packets of further flows share one. None: as many as fit into two
    /// gigabytes ([`Options::most_flows`]).
    pub max_flows: Option<usize>,
    /// Weights of flows.
    pub weights: WeightRules,
    /// The seed for all random numbers and hashes.
    pub seed: u64,
    /// How often to run each discipline that draws or hashes, with seeds from `seed` on. The
    /// figures are those of the first run. The others tell what another seed would change.
    pub seeds: u16,
    /// Measure what each discipline costs on this machine. This is the only result that differs
    /// from run to run.
    pub measure_cost: bool,
    /// The packets to replay.
    pub selection: Selection,
    /// Which part of the capture's time to replay.
    pub span: Span,
    /// Put packets in the order of their times, and mend impossible times and lengths.
    pub adapts: bool,
    /// The link's longest IP packet, bytes. Offloading makes longer ones, which we split as the
    /// wire would have them. None: as captured.
    pub mtu: Option<u32>,
    /// A cake without `bandwidth` gets the link's rate. Not for records of `live`, because these
    /// are replayed as they were.
    pub shapes_cake: bool,
    /// The link's overhead, minimum and framing. Lengths include these when they take link time,
    /// when they count in buffers, and when disciplines see them.
    pub link: LinkLayer,
}

impl Options {
    /// The usual number of seeds.
    pub const SEEDS: u16 = 3;

    /// The seed for the replayed link's queue, derived from the first of the seeds. Every
    /// discipline gets the same one, and so does the first link in a simulation with this seed.
    pub(crate) const fn seed_of_link(&self) -> Seed {
        Self::seed_of_link_with(self.seed)
    }

    /// The seed for a run, counted from 0. Replicas of a simulation count the same way.
    pub(super) const fn seed_of_run(&self, number: u16) -> u64 {
        self.seed.wrapping_add(number as u64)
    }

    pub(super) const fn seed_of_link_with(seed: u64) -> Seed {
        Seed::new(seed).derive(Purpose::Queue, 0)
    }

    /// How many runs all disciplines and trees take together.
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

    /// How many runs a discipline takes: one if no seed changes anything.
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

    /// Whether some discipline or tree asks what packets acknowledge.
    pub(crate) fn reads_acknowledgements(&self) -> bool {
        let of_trees = self.trees.iter().map(|tree| tree.config().info());
        let of_specs = self.specs.iter().map(|spec| spec.discipline.info());
        of_trees
            .chain(of_specs)
            .any(|info| info.reads_acknowledgements)
    }

    /// Options with these disciplines and this link rate, and defaults for the rest: flows by
    /// 5-tuple, equal weights, default buffers, seeds 1 to 3, costs measured, all packets except
    /// duplicates, lengths as captured.
    pub fn new(rate: Rate, specs: Vec<QueueSpec>) -> Self {
        let trees = Vec::new();
        let weights = WeightRules::default();
        let selection = Selection::default();
        let link = LinkLayer::NONE;
        Self {
            rate,
            captured_rate: None,
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

    /// How many bytes a comparison's flows take with this many runs, as measured.
    pub const fn memory_of_flows(flows: u64, lanes: u64) -> u64 {
        let of_a_flow = FLOW_BYTES + LANE_BYTES * lanes;
        flows.saturating_mul(of_a_flow)
    }

    /// The most distinct flows: the number that was set, or else as many as fit into two gigabytes,
    /// from 65,536 to a million.
    pub fn most_flows(&self) -> usize {
        self.max_flows
            .unwrap_or_else(|| Self::usual_flows(self.lanes()))
    }

    /// [`Options::most_flows`] for a comparison with this many runs, if no number was set.
    pub fn usual_flows(lanes: u64) -> usize {
        let fitting = MEMORY / Self::memory_of_flows(1, lanes);
        (fitting as usize).clamp(Classifier::DEFAULT_MAX_FLOWS, MOST_FLOWS)
    }

    /// The limit on a whole tree. Its leaves may have further limits.
    pub fn limit_of_tree(&self, tree: &TreeFile) -> Limit {
        let limit = self.buffer;
        limit.unwrap_or_else(|| tree.config().default_limit())
    }

    /// A discipline as it runs on the link. A cake without `bandwidth` gets the link's rate,
    /// because its targets and quanta follow from that, and whoever sets it up on this link would
    /// write it.
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

    /// A discipline's buffer limit.
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

//! Comparison of disciplines: replays one capture over one link through each discipline.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::error::Error;

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Discipline};
use roundelay::{ConfigError, Limit, LinkLayer, QueueSpec, Rate, tree};
use roundelay_metrics::units::{counted, in_number, percent, rate, seconds};
use thiserror::Error;

use crate::arguments::shell_word;
use crate::capture::{Capture, CaptureNotes, LinkType};
use crate::classifier::{Classifier, Flow, FlowBy};
use crate::comparison::{CaptureSummary, Comparison, DisciplineResult, FlowSummary, Verdict};
use crate::cost;
use crate::demand::{Demand, FULL_PACKET};
use crate::error::CaptureError;
use crate::kind::Kind;
use crate::lane::{Lane, Link, PacketSink, Sorts};
use crate::meters::FLOWS_WITH_CURVES;
use crate::offered::{Event, Oddities, Offered, OfferedFlow};
use crate::selection::Selection;
use crate::standing::{Obstacle, Standing};
use crate::stop::Stop;
use crate::tc::{self, CodePoints, Distinctions};
use crate::tree::TreeFile;
use crate::urgency::{Carried, Known, reads_sizes};
use crate::verdict::{Choice, judge_kinds, verdict};
use crate::weights::WeightRules;

/// Packets read before each run of the disciplines.
const BLOCK: usize = 8192;
/// Packets at the start of the capture used for cost measurement.
const SAMPLE: usize = 65_536;
/// Bytes of a flow once, and in each discipline: measured with 100,000 flows of one packet, which
/// took 208 MB with one discipline and 4.4 GB with all.
const FLOW_BYTES: u64 = 800;
const LANE_BYTES: u64 = 1300;
/// Memory of flows, in bytes, that the usual maximum number of flows may take.
const MEMORY: u64 = 2_000_000_000;
/// The largest maximum number of flows.
const MOST_FLOWS: usize = 1_000_000;
/// Flows with curves, for each kind: heavy and light.
const CHARTED: usize = 8;

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
    /// Measure the cost of each discipline on this machine, the only result that differs from run
    /// to run.
    pub measure_cost: bool,
    /// The packets to replay.
    pub selection: Selection,
    /// Overhead, minimum and framing of the link: lengths with these take link time, count in
    /// buffers, and are what disciplines see.
    pub link: LinkLayer,
}

impl Options {
    /// The seed of the replayed link's queue. Every discipline gets the same, and the one that the
    /// first link of a simulation with this seed would get.
    pub(crate) const fn seed_of_link(&self) -> Seed {
        Seed::new(self.seed).derive(Purpose::Queue, 0)
    }

    /// The given disciplines and link rate, with defaults for the rest: flows by 5-tuple, equal
    /// weights, default buffers, seed 1, costs measured, all packets but duplicates, lengths as
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
            measure_cost: true,
            selection,
            link,
        }
    }

    /// Memory of the flows of a comparison in bytes, as measured: with this many disciplines and
    /// trees.
    pub const fn memory_of_flows(flows: u64, lanes: u64) -> u64 {
        let of_a_flow = FLOW_BYTES + LANE_BYTES * lanes;
        flows.saturating_mul(of_a_flow)
    }

    /// Maximum number of distinct flows: as set, or else as many as fit into two gigabytes, from
    /// 65,536 to a million.
    pub fn most_flows(&self) -> usize {
        let lanes = (self.specs.len() + self.trees.len()) as u64;
        self.max_flows.unwrap_or_else(|| Self::usual_flows(lanes))
    }

    /// [`Options::most_flows`] of a comparison with this many disciplines and trees, if not set.
    pub fn usual_flows(lanes: u64) -> usize {
        let fitting = MEMORY / Self::memory_of_flows(1, lanes);
        (fitting as usize).clamp(Classifier::DEFAULT_MAX_FLOWS, MOST_FLOWS)
    }

    /// The limit of a whole tree; its leaves may have further limits.
    fn limit_of_trees(&self) -> Limit {
        self.buffer.unwrap_or(tree::Config::DEFAULT_LIMIT)
    }

    fn limit_of(&self, spec: &QueueSpec) -> Limit {
        spec.limit
            .or(self.buffer)
            .unwrap_or_else(|| spec.limit_or_default())
    }
}

/// Errors of a comparison.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The capture is unreadable.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A discipline's parameter is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The capture has no packets.
    #[error("{name}: the capture holds no packets")]
    NoPackets {
        /// The capture.
        name: String,
    },
    /// The selection is empty.
    #[error("{name}: {option} matches none of {packets} packets; {advice}")]
    NothingSelected {
        /// The capture.
        name: String,
        /// The option without a match.
        option: String,
        /// Packets that the options before left.
        packets: u64,
        /// The options that would match.
        advice: String,
    },
    /// The headers of the capture's link type are unknown.
    #[error(
        "{name}: headers of {link} are not read; those of Ethernet, 802.11, raw IP, Linux cooked captures and PPP are"
    )]
    UnknownLink {
        /// The capture.
        name: String,
        /// The link type of its last packet.
        link: LinkType,
    },
    /// A discipline failed: its packets could not be stored.
    #[error("{0}")]
    Lane(Box<dyn Error + Send + Sync>),
    /// A stop was requested.
    #[error("interrupted")]
    Stopped,
}

/// Progress of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the capture read.
    pub read: u64,
    /// Packets replayed.
    pub packets: u64,
}

/// Callbacks during a comparison. They do nothing by default.
pub trait ReplayObserver {
    /// Called after each block of packets.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// A request that ends the comparison with [`CompareError::Stopped`]. Read before each block of
    /// packets of each discipline, and during the cost measurement.
    fn stop(&self) -> Stop {
        Stop::default()
    }

    /// The command line of this comparison, for a shell, to which the verdict may add options.
    /// None: the capture and the rate.
    fn command(&self) -> Option<String> {
        None
    }

    /// A sink for the packets of this discipline or tree, if wanted. Called once for each, before
    /// the first packet; `zero_unix_nanos` is time zero of the replay in nanoseconds since the Unix
    /// epoch.
    ///
    /// # Errors
    /// The sink cannot be opened.
    fn sink(
        &mut self,
        name: &str,
        index: usize,
        zero_unix_nanos: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        let _ = (name, index, zero_unix_nanos);
        Ok(None)
    }
}

/// An observer that does nothing.
impl ReplayObserver for () {}

/// Replays each packet of the capture at its capture time to each discipline, each on its own port.
///
/// The replay is open-loop: arrival times never change, whatever happens to the packets. The
/// capture is streamed, and the disciplines run in parallel on the current thread pool; results do
/// not depend on the number of threads.
///
/// # Errors
/// See [`CompareError`].
pub fn compare(
    capture: Capture,
    options: &Options,
    observer: &mut impl ReplayObserver,
) -> Result<Comparison, CompareError> {
    let classifier = Classifier::with_max_flows(options.flow_by, options.most_flows());
    let mut offered = Offered::new(
        capture,
        options.selection.clone(),
        classifier,
        options.weights.clone(),
        (options.rate, options.link),
    );
    let mut block = Vec::new();
    let mut sample = Vec::new();
    let mut lanes = Vec::new();
    let stop = observer.stop();
    let leaves = options
        .trees
        .iter()
        .flat_map(|tree| tree.config().nodes())
        .map(|node| &node.spec);
    let specs: Vec<_> = options.specs.iter().chain(leaves).collect();
    for info in specs
        .iter()
        .map(|spec| spec.discipline.info())
        .filter(|info| info.weighted)
    {
        ConfigError::in_range(
            info.name,
            "weight",
            options.weights.largest().into(),
            1,
            info.max_weight.into(),
        )?;
    }
    if specs.into_iter().any(reads_sizes) {
        read_ahead(&mut offered, &mut block, observer)?;
    }
    let known = offered.known();
    while !block.is_empty() || offered.read(&mut block, BLOCK)? {
        if lanes.is_empty() {
            lanes = build_lanes(options, &known, observer, offered.first_unix_nanos())?;
        }
        if options.measure_cost {
            keep_sample(&mut sample, &block);
        }
        let flows = offered.classifier().flows();
        let run = |lane: &mut Lane| {
            if stop.is_requested() {
                Ok(())
            } else {
                lane.run(&block, flows)
            }
        };
        lanes
            .par_iter_mut()
            .try_for_each(run)
            .map_err(CompareError::Lane)?;
        observer.progress(Progress {
            read: offered.capture().position(),
            packets: offered.packets(),
        });
        go_on(&stop)?;
        block.clear();
    }
    if lanes.is_empty() {
        return Err(without_packets(&offered));
    }
    if offered.classifier().unparsable().unknown_link == offered.packets() {
        return Err(CompareError::UnknownLink {
            name: offered.capture().name().to_owned(),
            link: offered.link(),
        });
    }
    let command = observer.command().unwrap_or_else(|| {
        format!(
            "roundelay compare {} --rate {}",
            shell_word(offered.capture().name()),
            options.rate
        )
    });
    let mut comparison = conclude(&offered, lanes, &sample, &known, options, &stop)?;
    comparison.verdict.reserve = offered
        .selector()
        .reserve(&command, comparison.capture.seconds);
    if comparison.verdict.reserve.is_some() && !comparison.verdict.commands.is_empty() {
        comparison.verdict.commands.insert(0, WRONG_LOAD.to_owned());
    }
    Ok(comparison)
}

/// # Errors
/// A stop was requested.
fn go_on(stop: &Stop) -> Result<(), CompareError> {
    if stop.is_requested() {
        Err(CompareError::Stopped)
    } else {
        Ok(())
    }
}

/// The error for a capture without packets to replay.
fn without_packets(offered: &Offered) -> CompareError {
    let name = offered.capture().name().to_owned();
    let selector = offered.selector();
    if selector.read() == 0 {
        return CompareError::NoPackets { name };
    }
    if selector.knows_no_link() {
        return CompareError::UnknownLink {
            name,
            link: offered.link(),
        };
    }
    let (option, packets, advice) = selector.emptied_by();
    CompareError::NothingSelected {
        name,
        option,
        packets,
        advice,
    }
}

/// Reads the whole capture into `block`, for disciplines that need flow sizes in advance.
fn read_ahead(
    offered: &mut Offered,
    block: &mut Vec<Event>,
    observer: &mut impl ReplayObserver,
) -> Result<(), CompareError> {
    let mut next = Vec::new();
    let stop = observer.stop();
    while offered.read(&mut next, BLOCK)? {
        block.append(&mut next);
        observer.progress(Progress {
            read: offered.capture().position(),
            packets: offered.packets(),
        });
        go_on(&stop)?;
    }
    Ok(())
}

fn build_lanes(
    options: &Options,
    known: &Known,
    observer: &mut impl ReplayObserver,
    zero: i64,
) -> Result<Vec<Lane>, CompareError> {
    let link = Link {
        known,
        rate: options.rate,
        seed: options.seed_of_link(),
    };
    let mut lanes = Vec::new();
    for spec in &options.specs {
        let sink = observer
            .sink(spec.discipline.name(), lanes.len(), zero)
            .map_err(CompareError::Lane)?;
        lanes.push(Lane::new(spec, options.limit_of(spec), &link, sink)?);
    }
    for tree in &options.trees {
        let sink = observer
            .sink(tree.name(), lanes.len(), zero)
            .map_err(CompareError::Lane)?;
        lanes.push(Lane::of_tree(tree, options.limit_of_trees(), &link, sink)?);
    }
    Ok(lanes)
}

fn keep_sample(sample: &mut Vec<Event>, block: &[Event]) {
    if sample.len() < SAMPLE {
        sample.extend_from_slice(&block[..block.len().min(SAMPLE - sample.len())]);
    }
}

fn conclude(
    offered: &Offered,
    lanes: Vec<Lane>,
    sample: &[Event],
    known: &Known,
    options: &Options,
    stop: &Stop,
) -> Result<Comparison, CompareError> {
    let flows = summarise_flows(offered, options.rate);
    let charted = choose_charted(&flows);
    let sorts = Sorts::of(&flows);
    // Costs come first: a stop during their measurement leaves no file of packets.
    let mut costs = vec![None; lanes.len()];
    if options.measure_cost {
        let specs = options
            .specs
            .iter()
            .map(|spec| (spec.discipline.clone(), options.limit_of(spec)));
        let tree = |tree: &TreeFile| {
            (
                AnyDiscipline::Tree(tree.with_flows(offered.classifier().flows())),
                options.limit_of_trees(),
            )
        };
        let subjects: Vec<_> = specs.chain(options.trees.iter().map(tree)).collect();
        costs = cost::measure(&subjects, sample, known, options, || go_on(stop))?;
    }
    let finish = |lane: Lane| lane.finish(flows.len(), &sorts, &charted);
    let mut disciplines = lanes
        .into_iter()
        .map(finish)
        .collect::<Result<Vec<_>, _>>()
        .map_err(CompareError::Lane)?;
    disciplines
        .iter_mut()
        .zip(costs)
        .for_each(|(discipline, cost)| discipline.cost = cost);
    let weighted = flows.iter().any(|flow| flow.weight != 1);
    let prioritised = options
        .weights
        .rules()
        .iter()
        .any(|rule| rule.urgency().priority.is_some());
    let distinctions = Distinctions {
        flow_by: options.flow_by,
        flows: flows.len(),
        weighted,
        prioritised,
        code_points: code_points(offered, &options.weights),
        rules: options.weights.rules(),
    };
    let rate = tc::rate_in_commands(options.rate, options.link);
    let of_spec = |spec| tc::commands(spec, options.limit_of(spec), rate, &distinctions);
    let of_tree = |tree| tc::commands_of_tree(tree, options.limit_of_trees(), rate, &distinctions);
    let commands: Vec<_> = options
        .specs
        .iter()
        .map(of_spec)
        .chain(options.trees.iter().map(of_tree))
        .collect();
    let carried = offered.carried();
    let of_spec =
        |(spec, lines): (_, &Result<_, _>)| Standing::of_spec(spec, carried, lines.is_ok());
    let of_tree =
        |(tree, lines): (_, &Result<_, _>)| Standing::of_tree(tree, carried, lines.is_ok());
    let trees = options.trees.iter().zip(&commands[options.specs.len()..]);
    let standings: Vec<_> = options
        .specs
        .iter()
        .zip(&commands)
        .map(of_spec)
        .chain(trees.map(of_tree))
        .collect();
    let reordering = disciplines
        .iter()
        .zip(&standings)
        .filter_map(|(result, standing)| undeclared_reordering(result, *standing))
        .collect();
    let mut comparison = Comparison {
        version: env!("CARGO_PKG_VERSION"),
        capture: summarise_capture(offered, options, reordering),
        link_rate: options.rate.bits_per_second(),
        seed: options.seed,
        flows,
        charted,
        disciplines,
        verdict: Verdict::default(),
    };
    judge_kinds(&mut comparison);
    let Choice {
        best,
        mut sentences,
        is_contended,
    } = verdict(&comparison, &standings);
    let behind = plateau_note(offered, options.rate).map(|_| BEHIND_THE_BOTTLENECK.to_owned());
    sentences.extend(behind);
    sentences.extend(offered.selector().opposite_note().filter(|_| !is_contended));
    sentences.extend(calls_among_bulk(offered, options));
    sentences.extend(short_targets(offered, options).filter(|_| is_contended));
    let commands = match &commands[best] {
        Ok(lines) => tc::with_size_table(lines.clone(), options.link),
        Err(reason) => {
            sentences.push(format!(
                "No tc commands for {}: {reason}.",
                comparison.disciplines[best].spec
            ));
            Vec::new()
        }
    };
    comparison.verdict = Verdict {
        reserve: None,
        best,
        sentences,
        commands,
    };
    Ok(comparison)
}

/// The weight of each code point: the weight of its flow if seen, otherwise the weight under the
/// rules.
fn code_points(offered: &Offered, rules: &WeightRules) -> CodePoints {
    let mut weights: [u32; 64] = std::array::from_fn(|dscp| rules.weight_of_code_point(dscp as u8));
    for (flow, offered) in offered.classifier().flows().iter().zip(offered.flows()) {
        if let Flow::Headers {
            by: FlowBy::Dscp,
            first,
        } = flow
        {
            weights[usize::from(first.dscp & 63)] = offered.config.weight;
        }
    }
    CodePoints {
        default: rules.default_weight(),
        weights,
    }
}

fn summarise_flows(offered: &Offered, link: Rate) -> Vec<FlowSummary> {
    let duration = offered.end().as_secs_f64();
    // A capture with a duration of zero has no rates.
    let rate = |bytes: f64| {
        if duration > 0.0 {
            bytes * 8.0 / duration
        } else {
            0.0
        }
    };
    let describe = |(number, flow): (usize, &OfferedFlow)| FlowSummary {
        label: offered.classifier().flows()[number].to_string(),
        weight: flow.config.weight,
        packets: flow.packets,
        bytes: flow.bytes,
        first: flow.first.as_secs_f64(),
        last: flow.last.as_secs_f64(),
        offered_rate: rate(flow.bytes as f64),
        fair_rate: rate(offered.fair_bytes(number)),
        light: flow.demand(link) == Demand::Light,
        kind: Kind::of(
            &offered.classifier().flows()[number],
            flow.demand(link),
            flow.is_bare(),
        ),
    };
    offered.flows().iter().enumerate().map(describe).collect()
}

/// Note on flows that count as bulk, as each asks for more than its fair share, and may be calls.
fn calls_among_bulk(offered: &Offered, options: &Options) -> Option<String> {
    let link = options.rate;
    let may_be_call = |(flow, offer): &(&Flow, &OfferedFlow)| {
        Kind::may_be_call(flow, offer.demand(link), offer.mean_length())
    };
    let count = offered
        .classifier()
        .flows()
        .iter()
        .zip(offered.flows())
        .filter(may_be_call)
        .count();
    let flows = match count {
        0 => return None,
        1 => "1 UDP flow of short packets asks for more than its fair share and counts".to_owned(),
        count => format!(
            "{count} UDP flows of short packets ask for more than their fair share and count"
        ),
    };
    let is_compared = options
        .specs
        .iter()
        .any(|spec| matches!(spec.discipline, AnyDiscipline::Priority(_)));
    let then = if is_compared {
        ", which priority reads"
    } else {
        ", and compare priority"
    };
    Some(format!(
        "{flows} as bulk. A queue cannot tell a call among these: mark calls with the code point EF{then}."
    ))
}

/// Longest transmission of a packet for which a target of CoDel makes sense.
const LONGEST_TARGET: f64 = 1.0;

/// Note on targets of CoDel below the transmission time of a packet (RFC 8290, section 5.2.2). An
/// interval below twice the new target becomes ten times the target (RFC 8289, section 4.3).
fn short_targets(offered: &Offered, options: &Options) -> Option<String> {
    let full = if options.link.raw {
        FULL_PACKET
    } else {
        FULL_PACKET - 14
    };
    let link = options.link;
    // A frame merged by offloading is no packet of the link.
    let packet = if offered.oddities().superframes == 0 {
        offered.longest_packet()
    } else {
        link.len_on_link(full)
    };
    let time = options.rate.time_of(packet.into());
    let signals = |discipline: &AnyDiscipline| match discipline {
        AnyDiscipline::Codel(config) => Some((config.target, config.interval, config.linux)),
        AnyDiscipline::FqCodel(config) => Some((config.target, config.interval, config.linux)),
        _ => None,
    };
    let seconds_of_time = time.as_secs_f64();
    let target = (seconds_of_time * 1e3).ceil();
    let better = |spec: &QueueSpec| {
        let (_, interval, linux) =
            signals(&spec.discipline).filter(|(target, ..)| *target < time)?;
        let is_short = interval.as_secs_f64() * 1e3 < 2.0 * target;
        let interval = if is_short {
            format!(" interval {}ms", 10.0 * target)
        } else {
            String::new()
        };
        Some(format!(
            "'{}{} target {target}ms{interval}'",
            spec.discipline.name(),
            if linux { " linux" } else { "" }
        ))
    };
    let leaves = options.trees.iter().flat_map(TreeFile::leaves);
    let better: BTreeSet<_> = options
        .specs
        .iter()
        .chain(leaves)
        .filter_map(better)
        .collect();
    (!better.is_empty() && seconds_of_time <= LONGEST_TARGET).then(|| {
        format!(
            "A packet of {packet} bytes takes {} on this link, longer than a target of CoDel here: two packets in a queue count as congestion. \
             Compare with {} (RFC 8290, section 5.2.2).",
            seconds(seconds_of_time),
            Vec::from_iter(better).join(", "),
        )
    })
}

/// The heaviest flows, and the light flows with the most packets, among the flows with curves.
fn choose_charted(flows: &[FlowSummary]) -> Vec<usize> {
    let mut by_bytes: Vec<_> = (0..flows.len().min(FLOWS_WITH_CURVES)).collect();
    by_bytes.sort_by_key(|flow| Reverse(flows[*flow].bytes));
    let heavy = by_bytes
        .iter()
        .copied()
        .filter(|flow| !flows[*flow].light)
        .take(CHARTED);
    let mut charted: Vec<_> = heavy.collect();
    by_bytes.sort_by_key(|flow| Reverse(flows[*flow].packets));
    charted.extend(
        by_bytes
            .iter()
            .copied()
            .filter(|flow| flows[*flow].light)
            .take(2 * CHARTED - charted.len()),
    );
    charted
}

fn summarise_capture(
    offered: &Offered,
    options: &Options,
    reordering: Vec<String>,
) -> CaptureSummary {
    let capture = offered.capture();
    CaptureSummary {
        name: capture.name().to_owned(),
        packets: offered.packets(),
        bytes: offered.bytes(),
        longest_packet: offered.longest_packet(),
        seconds: offered.end().as_secs_f64(),
        first_unix_nanos: offered.first_unix_nanos(),
        selection: offered.selector().summary(),
        link: (options.link != LinkLayer::NONE).then(|| options.link.to_string()),
        flow_by: options.flow_by.to_string(),
        notes: link_note(offered, options)
            .into_iter()
            .chain(overload_note(offered, options.rate))
            .chain(plateau_note(offered, options.rate))
            .chain(selection_notes(offered))
            .chain(notes(&capture.notes(), offered))
            .chain(note_on_other_flows(offered))
            .chain(weight_notes(offered, options))
            .chain(reordering)
            .chain([OPEN_LOOP.to_owned()])
            .collect(),
    }
}

/// Note on a discipline that should have kept the order of each flow's packets.
fn undeclared_reordering(result: &DisciplineResult, standing: Standing) -> Option<String> {
    let flows = result
        .flows
        .iter()
        .filter(|flow| flow.outcome.reordered > 0)
        .count() as u64;
    (standing.keeps_order && flows > 0)
        .then(|| reordering_note(&result.spec, &counted(flows, "flow")))
}

/// Note on a discipline that reordered packets of these flows, against its declaration.
pub fn reordering_note(name: &str, flows: &str) -> String {
    format!("{name} reordered packets of {flows}, and does not declare `reorders`.")
}

/// Remark before commands that follow from several links in one.
const WRONG_LOAD: &str = "# for the wrong load: first compare as the sentence above says";

/// Limitation of every replay.
const OPEN_LOOP: &str = "A replay is open-loop: TCP does not react to drops and delays.";

/// Notes on disciplines that order by a field absent from all packets; their order means nothing.
fn notes_on_what_packets_lack(carried: Carried, options: &Options) -> impl Iterator<Item = String> {
    let leaves = options.trees.iter().flat_map(TreeFile::leaves);
    let obstacles: Vec<_> = options
        .specs
        .iter()
        .chain(leaves)
        .map(|spec| (Obstacle::of(&spec.discipline, carried), spec))
        .collect();
    let lacks = [
        (Obstacle::Classes, "All packets have the same class"),
        (Obstacle::Slack, "No rule gives packets slack"),
        (Obstacle::Deadlines, "No rule gives packets a deadline"),
    ];
    lacks.into_iter().filter_map(move |(obstacle, lack)| {
        let meeting = obstacles.iter().filter(|(met, _)| *met == Some(obstacle));
        let names: BTreeSet<_> = meeting.map(|(_, spec)| spec.discipline.name()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "{lack}, so these disciplines have nothing to order by: {}.",
                Vec::from_iter(names).join(", ")
            )
        })
    })
}

/// Notes on weights without effect.
fn weight_notes(offered: &Offered, options: &Options) -> Vec<String> {
    let rules = options.weights.rules();
    let decides = |place: usize| {
        let headers = offered
            .classifier()
            .flows()
            .iter()
            .filter_map(Flow::headers);
        headers
            .filter(|headers| rules.iter().position(|rule| rule.matches(headers)) == Some(place))
            .count()
            > 0
    };
    let idle = (0..rules.len()).filter(|place| !decides(*place));
    let mut notes: Vec<_> = idle
        .map(|place| {
            format!(
                "Weight rule {} of {} matches no flow of this capture.",
                place + 1,
                rules.len()
            )
        })
        .collect();
    let unaware = options
        .specs
        .iter()
        .map(|spec| spec.discipline.info())
        .filter(|info| !info.weighted)
        .map(|info| info.name);
    let unaware: Vec<_> = unaware.collect();
    if !rules.is_empty() && !unaware.is_empty() {
        notes.push(format!(
            "These disciplines ignore weights: {}.",
            unaware.join(", ")
        ));
    }
    notes.extend(notes_on_what_packets_lack(offered.carried(), options));
    let idle = options
        .trees
        .iter()
        .map(|tree| (tree, tree.idle_leaves(offered.classifier().flows())));
    notes.extend(
        idle.filter(|(_, leaves)| !leaves.is_empty())
            .map(|(tree, leaves)| {
                let rules = "rules match no flow of this capture";
                format!(
                    "Leaves of tree {} whose {rules}: {}.",
                    tree.name(),
                    leaves.join(", ")
                )
            }),
    );
    notes
}

/// Note on lengths other than the captured ones.
fn link_note(offered: &Offered, options: &Options) -> Option<String> {
    let link = options.link;
    let bytes = offered.bytes();
    let captured = offered.captured_bytes();
    let from = if link.raw {
        "the captured frame"
    } else {
        "the IP packet"
    };
    (link != LinkLayer::NONE)
        .then(|| format!("Lengths are those on the link ({link}, counted from {from}): {bytes} bytes, {captured} in the capture."))
}

/// Load from which a rate is more likely a mistake than an overload.
const ABSURD_LOAD: f64 = 100.0;

/// Note on a rate that is most likely a mistake. Bursts shorter than a second have no load.
fn overload_note(offered: &Offered, rate: Rate) -> Option<String> {
    let seconds = offered.end().as_secs_f64();
    let load = offered.bytes() as f64 * 8.0 / (seconds * rate.bits_per_second() as f64);
    (seconds >= 1.0 && load > ABSURD_LOAD)
        .then(|| format!("The load is {load:.0} times the link's rate: is --rate {rate} meant?"))
}

/// Highest rates of a capture at which the replayed link has the queue that the capture lies
/// behind, as parts of the link's rate. At a higher rate the replayed link is the bottleneck, at a
/// lower one none is near.
const BEHIND: std::ops::RangeInclusive<f64> = 0.5..=1.05;

/// Caveat of a verdict beside the note on the highest rate.
const BEHIND_THE_BOTTLENECK: &str = "The capture may lie behind the bottleneck, as a note says: these figures lack the waiting there.";

/// Note on a capture that was probably taken behind the bottleneck.
fn plateau_note(offered: &Offered, link: Rate) -> Option<String> {
    let (highest, part) = offered
        .plateau()
        .rate()
        .filter(|(highest, _)| BEHIND.contains(&(highest / link.bits_per_second() as f64)))?;
    let highest = rate(highest);
    Some(format!(
        "In {} of the time the rate is at most 5% below {highest}, which it hardly ever exceeds: as behind the queue of such a link, or from senders \
         of a constant rate. Packets that waited there do not wait here again: capture before that queue, or give a --rate below {highest}.",
        percent(part)
    ))
}

/// Notes on packets left out, and on packets of several links that share the replayed one.
fn selection_notes(offered: &Offered) -> impl Iterator<Item = String> {
    let selector = offered.selector();
    selector.note().into_iter().chain(selector.mixture_notes())
}

/// Note on packets longer than those of Ethernet, after their number.
pub const LONG_PACKETS: &str = "{packet is|packets are} longer than 1500 bytes: jumbo frames, or packets merged by the capturing host's offloading, where a link would carry the parts (before the capture: ethtool -K DEV gro off lro off gso off tso off)";

/// Note on a compressed capture without its end, after the number 1.
pub const TRUNCATED_COMPRESSION: &str =
    "compressed file is cut off: the packets after the cut are missing";

/// Note on a capture that ends within a packet, after the number of bytes.
pub const CUT_OFF: &str = "{byte at the end is a packet cut off and was|bytes at the end are a packet cut off and were} left out";

/// Note on packets longer in the capture than on the wire, after their number.
pub const RAISED_LENGTHS: &str = "{packet has|packets have} a length on the wire below the captured length; the captured length counts";

/// Note on times with a wrong fraction, after their number.
pub const LARGE_FRACTIONS: &str =
    "{time has|times have} fractions of a second or more, which were added";

/// Note on blocks of pcapng without packets, after their number.
pub const SKIPPED_BLOCKS: &str =
    "{block holds no packets and was|blocks hold no packets and were} skipped";

/// Note on packets of ARP and the like, after their number.
pub const NOT_IP: &str = "{packet is not IP (ARP, LLDP and the like) and has a flow of its own|packets are not IP (ARP, LLDP and the like) and share a flow of their own}";

/// Note on packets whose headers are cut, damaged or of an unknown link, after their number.
pub const UNREADABLE: &str = "{packet whose headers could not be read has a flow of its own|packets whose headers could not be read share a flow of their own}";

/// Note on 802.11 frames whose packets are not visible, after their number.
pub const ENCRYPTED: &str = "of these packets {is an encrypted 802.11 frame|are encrypted 802.11 frames}; decrypt the capture first, as with airdecap-ng";

/// A sentence for each count that is not zero: the count, then the text in the count's number.
pub fn sentences<const N: usize>(
    counted: [(u64, &'static str); N],
) -> impl Iterator<Item = String> {
    counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| in_number(count, what) + ".")
}

/// Note on flows beyond the maximum number, which count as one.
fn note_on_other_flows(offered: &Offered) -> Option<String> {
    let others = offered
        .flows()
        .get(offered.classifier().others()?.index())?;
    let packets = in_number(
        others.packets,
        "{packet belongs to a flow|packets belong to flows}",
    );
    let most = counted(offered.classifier().max_flows() as u64, "flow");
    Some(format!(
        "{packets} beyond the first {most}. Such flows count as one, which may be heavy although none of them is: --max-flows N keeps more flows apart."
    ))
}

/// A sentence for each kind of oddity found.
fn notes(capture: &CaptureNotes, offered: &Offered) -> impl Iterator<Item = String> {
    let Oddities {
        backward_steps,
        cut_gaps,
        cut_lengths,
        superframes,
    } = offered.oddities();
    let unparsable = offered.classifier().unparsable();
    let counted = [
        (unparsable.not_ip, NOT_IP),
        (unparsable.total() - unparsable.not_ip, UNREADABLE),
        (unparsable.encrypted, ENCRYPTED),
        (
            backward_steps,
            "{packet has|packets have} an earlier time than the packet before; {it arrives|they arrive} at the time of that packet",
        ),
        (
            cut_gaps,
            "{silence of more than an hour was|silences of more than an hour were} cut to an hour",
        ),
        (superframes, LONG_PACKETS),
        (
            cut_lengths,
            "{packet is longer than 64 KB and was|packets are longer than 64 KB and were} taken for 64 KB",
        ),
        (capture.truncated_tail_bytes, CUT_OFF),
        (capture.truncated_compression, TRUNCATED_COMPRESSION),
        (
            capture.without_time,
            "{packet carries no time and arrives together with the one ahead of it|packets carry no time and arrive together with the one ahead of them}",
        ),
        (capture.raised_lengths, RAISED_LENGTHS),
        (capture.fractions_of_a_second_or_more, LARGE_FRACTIONS),
        (capture.skipped_blocks, SKIPPED_BLOCKS),
    ];
    sentences(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::EventKind;

    #[test]
    fn the_sample_never_grows_beyond_its_size() {
        let event = Event {
            at: roundelay::Instant::ZERO,
            flow: roundelay::FlowId(0),
            kind: EventKind::Leave,
        };
        let mut sample = Vec::new();
        (0..20).for_each(|_| keep_sample(&mut sample, &[event; BLOCK]));
        assert_eq!(sample.len(), SAMPLE);
    }

    /// Raw IPv4 packets of two alternating UDP flows.
    fn pcap(packets: u32) -> Vec<u8> {
        let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
        let mut bytes: Vec<u8> = header
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect();
        for number in 0..packets {
            bytes.extend(
                [number, 0, 28, 1000]
                    .iter()
                    .flat_map(|field| field.to_le_bytes()),
            );
            bytes.extend([
                0x45, 0, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53,
            ]);
            bytes.extend([4, (number % 2) as u8, 3, 212, 0, 0]);
        }
        bytes
    }

    #[test]
    fn what_is_read_ahead_is_all_that_would_be_read_bit_by_bit() {
        let packets = 2 * BLOCK as u32 + 3;
        let offered = || {
            let capture =
                Capture::from_reader("t.pcap", std::io::Cursor::new(pcap(packets))).unwrap();
            let classifier = Classifier::with_max_flows(FlowBy::default(), 10);
            Offered::new(
                capture,
                Selection::default(),
                classifier,
                WeightRules::default(),
                ("1mbit".parse().unwrap(), LinkLayer::NONE),
            )
        };
        let mut once = offered();
        let mut whole = Vec::new();
        read_ahead(&mut once, &mut whole, &mut ()).unwrap();
        assert_eq!(
            *once.known().sizes,
            [
                1000 * (u64::from(packets) / 2 + 1),
                1000 * (u64::from(packets) / 2)
            ]
        );
        let mut again = offered();
        let mut block = Vec::new();
        let mut bit_by_bit = Vec::new();
        while again.read(&mut block, BLOCK).unwrap() {
            bit_by_bit.append(&mut block);
        }
        assert_eq!(format!("{whole:?}"), format!("{bit_by_bit:?}"));
        assert!(size_of::<Event>() <= 32, "{}", size_of::<Event>());
    }
}

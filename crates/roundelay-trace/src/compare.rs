//! Comparison of disciplines: replays one capture over one link through each discipline.

pub(crate) mod error;
pub(crate) mod observer;
pub(crate) mod options;

use std::cmp::Reverse;
use std::fmt::Write;

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};
use roundelay::schedulers::{AnyDiscipline, Discipline};
use roundelay::{ConfigError, LinkLayer, QueueSpec};

use crate::ahead::Ahead;
use crate::arrival::Reader;
use crate::arrivals::Arrivals;
use crate::capture::Capture;
use crate::classifier::Classifier;
use crate::comparison::{
    CaptureSummary, Comparison, Cost, DisciplineResult, FlowSummary, OtherSeed,
};
use crate::cost;
use crate::demand::Demand;
use crate::harm::{find_worst_flows, judge};
use crate::host_shares;
use crate::kind::Kind;
use crate::lane::{Lane, Link, Sorts};
use crate::meters::FLOWS_WITH_CURVES;
use crate::observed::Observed;
use crate::offered::{Event, Offered, OfferedFlow};
use crate::sink::PacketSink;
use crate::stop::Stop;
use crate::survey::survey;
use crate::urgency::{Known, reads_sizes};
use crate::weights::WeightRules;

use error::CompareError;
use observer::ReplayObserver;
use options::Options;

/// Packets that we read before each run of the disciplines.
const BLOCK: usize = 8192;
/// The cost measurement uses this many packets at the start of the capture.
const SAMPLE: usize = 65_536;
/// Up to this many heavy flows get curves. Light ones fill up to twice as many.
const CHARTED: usize = 8;

/// Replays every packet to every discipline at its capture time. Each discipline has its own port.
///
/// The replay is open-loop: arrival times never change, whatever happens to the packets. The
/// capture is streamed, and the disciplines run in parallel on the current thread pool. Results do
/// not depend on the number of threads.
///
/// # Errors
/// See [`CompareError`].
pub fn compare(
    capture: Capture,
    options: &Options,
    observer: &mut impl ReplayObserver,
) -> Result<Comparison, CompareError> {
    let stop = observer.stop();
    let mending = options.mending();
    let readings = mending.readings();
    let ahead = Ahead::new(reader(options), Ahead::MOST);
    let surveyed = survey(capture, &mending, observer, ahead)?;
    let arrivals = Arrivals::new(surveyed, reader(options));
    let mut offered = Offered::new(arrivals, options.weights.clone(), options);
    let mut block = Vec::new();
    let mut sample = Vec::new();
    let mut lanes = Vec::new();
    let mut specs = Vec::from_iter(&options.specs);
    for tree in &options.trees {
        specs.extend(tree.config().nodes().map(|node| &node.spec));
    }
    check_weights(&specs, &options.weights)?;
    if specs.into_iter().any(reads_sizes) {
        read_ahead(&mut offered, &mut block, readings, observer)?;
    }
    let known = offered.known();
    while !block.is_empty() || offered.read(&mut block, BLOCK)? {
        if lanes.is_empty() {
            lanes = build_lanes(
                options,
                &known,
                observer,
                offered.arrivals().first_unix_nanos(),
            )?;
        }
        if options.measure_cost {
            keep_sample(&mut sample, &block);
        }
        let flows = offered.arrivals().classifier().flows();
        lanes
            .par_iter_mut()
            .try_for_each(|run| {
                if stop.is_requested() {
                    Ok(())
                } else {
                    run.lane.run(&block, flows)
                }
            })
            .map_err(CompareError::Lane)?;
        observer.progress(offered.progress(readings));
        go_on(&stop)?;
        block.clear();
    }
    if lanes.is_empty() {
        return Err(without_packets(&offered));
    }
    if offered.arrivals().classifier().unparsable().unknown_link == offered.packets() {
        return Err(CompareError::UnknownLink {
            name: offered.arrivals().capture().name().to_owned(),
            link: offered.arrivals().link(),
        });
    }
    conclude(&offered, lanes, &sample, &known, options, &stop)
}

/// Makes the arrivals of a comparison.
fn reader(options: &Options) -> Reader {
    let classifier = Classifier::with_max_flows(options.flow_by, options.most_flows());
    Reader::new(options.mtu, classifier).on_link(options.link, options.reads_acknowledgements())
}

/// # Errors
/// A rule's weight is too large for a discipline that takes weights.
fn check_weights(specs: &[&QueueSpec], weights: &WeightRules) -> Result<(), ConfigError> {
    for spec in specs {
        let info = spec.discipline.info();
        if info.weighted {
            let most = info.max_weight.into();
            ConfigError::in_range(info.name, "weight", weights.largest().into(), 1, most)?;
        }
    }
    Ok(())
}

/// # Errors
/// Somebody asked to stop.
fn go_on(stop: &Stop) -> Result<(), CompareError> {
    if stop.is_requested() {
        Err(CompareError::Stopped)
    } else {
        Ok(())
    }
}

/// The error for a capture that leaves nothing to replay.
fn without_packets(offered: &Offered) -> CompareError {
    let name = offered.arrivals().capture().name().to_owned();
    let selector = offered.arrivals().selector();
    if selector.read() == 0 {
        let cut_at = offered.arrivals().capture().notes().truncated_tail_offset;
        return CompareError::NoPackets { name, cut_at };
    }
    if selector.knows_no_link() {
        return CompareError::UnknownLink {
            name,
            link: offered.arrivals().link(),
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

/// Reads the whole capture into `block`, for disciplines that need to know flow sizes in advance.
fn read_ahead(
    offered: &mut Offered,
    block: &mut Vec<Event>,
    readings: u32,
    observer: &mut impl ReplayObserver,
) -> Result<(), CompareError> {
    let mut next = Vec::new();
    let stop = observer.stop();
    while offered.read(&mut next, BLOCK)? {
        block.append(&mut next);
        observer.progress(offered.progress(readings));
        go_on(&stop)?;
    }
    Ok(())
}

/// One discipline or tree with one seed.
struct Run {
    /// Which discipline or tree, by number.
    discipline: usize,
    /// Which seed, by number. 0 is the one whose figures are shown.
    seed: u16,
    lane: Lane,
}

/// The runs with each seed, one seed after the other. With the first seed every discipline and tree
/// runs. With further seeds only those run that another seed may change.
fn build_lanes(
    options: &Options,
    known: &Known,
    observer: &mut impl ReplayObserver,
    zero: i64,
) -> Result<Vec<Run>, CompareError> {
    let mut runs: Vec<Run> = Vec::new();
    for seed in 0..options.seeds.max(1) {
        let link = Link {
            known,
            rate: options.rate,
            seed: Options::seed_of_link_with(options.seed_of_run(seed)),
        };
        for (index, spec) in options.specs.iter().enumerate() {
            let discipline = options.discipline_of(spec);
            if u64::from(seed) >= options.runs_of(&discipline.info()) {
                continue;
            }
            let sink = sink(observer, seed, spec.discipline.name(), index, zero)?;
            let limit = options.limit_of(spec);
            runs.push(Run {
                discipline: index,
                seed,
                lane: Lane::new(spec, discipline, limit, &link, sink)?,
            });
        }
        for (number, tree) in options.trees.iter().enumerate() {
            if u64::from(seed) >= options.runs_of(&tree.config().info()) {
                continue;
            }
            let index = options.specs.len() + number;
            let sink = sink(observer, seed, tree.name(), index, zero)?;
            runs.push(Run {
                discipline: index,
                seed,
                lane: Lane::of_tree(tree, options.limit_of_tree(tree), &link, sink)?,
            });
        }
    }
    Ok(runs)
}

/// The sink for a run's packets. Only runs with the first seed have one.
fn sink(
    observer: &mut impl ReplayObserver,
    seed: u16,
    name: &str,
    index: usize,
    zero: i64,
) -> Result<Option<Box<dyn PacketSink>>, CompareError> {
    if seed > 0 {
        return Ok(None);
    }
    observer.sink(name, index, zero).map_err(CompareError::Lane)
}

fn keep_sample(sample: &mut Vec<Event>, block: &[Event]) {
    if sample.len() < SAMPLE {
        sample.extend_from_slice(&block[..block.len().min(SAMPLE - sample.len())]);
    }
}

fn conclude(
    offered: &Offered,
    runs: Vec<Run>,
    sample: &[Event],
    known: &Known,
    options: &Options,
    stop: &Stop,
) -> Result<Comparison, CompareError> {
    let mut flows = summarise_flows(offered);
    let hosts = match offered.hosts() {
        Some(meter) => host_shares::conclude(meter, &mut flows, offered.arrivals().seconds()),
        None => None,
    };
    let charted = choose_charted(&flows);
    // Costs come first, so that a stop during their measurement leaves no file of packets.
    let costs = measure_costs(offered, sample, known, options, stop)?;
    let mut by_seed = finish(runs, &flows, &charted)?;
    let others = by_seed.split_off(1);
    let mut comparison = Comparison {
        version: env!("CARGO_PKG_VERSION"),
        capture: summarise_capture(offered, options),
        link_rate: options.rate.bits_per_second(),
        reference_rate: reference_rate(offered, options),
        seed: options.seed,
        disciplines: Vec::new(),
        observed: Observed::of(offered, options),
        flows,
        hosts,
        charted,
        other_seeds: Vec::new(),
        reaction: None,
    };
    for ((_, mut result), cost) in by_seed.remove(0).into_iter().zip(costs) {
        result.cost = cost;
        comparison.disciplines.push(result);
    }
    find_worst_flows(&mut comparison);
    for (number, changed) in (1..).zip(others) {
        let other = with_another_seed(&comparison, options.seed_of_run(number), changed);
        comparison.other_seeds.push(other);
    }
    Ok(comparison)
}

/// The smallest rate that shapes all packets, in bits per second.
fn reference_rate(offered: &Offered, options: &Options) -> u64 {
    let rates = offered.flows().iter().map(OfferedFlow::reference);
    rates.max().unwrap_or(options.rate).bits_per_second()
}

/// What another seed gives: these results, and those of disciplines that read no seed.
fn with_another_seed(
    comparison: &Comparison,
    seed: u64,
    changed: Vec<(usize, DisciplineResult)>,
) -> OtherSeed {
    let mut disciplines = comparison.disciplines.clone();
    let mut reads_seed = vec![false; disciplines.len()];
    for (index, mut result) in changed {
        judge(comparison, &mut result);
        disciplines[index] = result;
        reads_seed[index] = true;
    }
    for result in &mut disciplines {
        result.leave_curves_out();
    }
    OtherSeed {
        seed,
        disciplines,
        reads_seed,
    }
}

/// The results of disciplines that ran with a seed, each with the discipline's number.
type BySeed = Vec<(usize, DisciplineResult)>;

/// Sends what still waits, and takes the results from all runs. There is one list for each seed,
/// and the first has every discipline.
fn finish(
    runs: Vec<Run>,
    flows: &[FlowSummary],
    charted: &[usize],
) -> Result<Vec<BySeed>, CompareError> {
    let sorts = Sorts::of(flows);
    let mut by_seed: Vec<BySeed> = Vec::new();
    for run in runs {
        if by_seed.len() == usize::from(run.seed) {
            by_seed.push(Vec::new());
        }
        let result = run.lane.finish(flows.len(), &sorts, charted);
        let result = result.map_err(CompareError::Lane)?;
        by_seed[usize::from(run.seed)].push((run.discipline, result));
    }
    Ok(by_seed)
}

/// How long each discipline and tree takes on the sample, if asked for.
fn measure_costs(
    offered: &Offered,
    sample: &[Event],
    known: &Known,
    options: &Options,
    stop: &Stop,
) -> Result<Vec<Option<Cost>>, CompareError> {
    if !options.measure_cost {
        return Ok(vec![None; options.specs.len() + options.trees.len()]);
    }
    let mut subjects = Vec::new();
    for spec in &options.specs {
        subjects.push((options.discipline_of(spec), options.limit_of(spec)));
    }
    for tree in &options.trees {
        let config = tree.with_flows(offered.arrivals().classifier().flows());
        subjects.push((AnyDiscipline::Tree(config), options.limit_of_tree(tree)));
    }
    cost::measure(&subjects, sample, known, options, || go_on(stop))
}

fn summarise_flows(offered: &Offered) -> Vec<FlowSummary> {
    let duration = offered.arrivals().seconds();
    // A capture that lasts no time has no rates.
    let rate = |bytes: f64| {
        if duration > 0.0 {
            bytes * 8.0 / duration
        } else {
            0.0
        }
    };
    let known = offered.arrivals().classifier().flows();
    let mut summaries = Vec::with_capacity(known.len());
    // One text serves all labels, because a growing text is copied several times.
    let mut label = String::new();
    for (number, flow) in offered.flows().iter().enumerate() {
        let demand = flow.demand();
        label.clear();
        write!(label, "{}", known[number]).expect("a text takes what fits into memory");
        summaries.push(FlowSummary {
            label: label.clone(),
            weight: flow.config.weight,
            packets: flow.packets,
            bytes: flow.bytes,
            first: flow.first.as_secs_f64(),
            last: flow.last.as_secs_f64(),
            offered_rate: rate(flow.bytes as f64),
            fair_rate: rate(offered.fair_bytes(number)),
            light: demand == Demand::Light,
            kind: Kind::of(&known[number], demand, flow.is_bare(), flow.pace()),
            host: None,
            fair_rate_by_host: None,
        });
    }
    summaries
}

/// Chooses flows to draw among those with curves: the heaviest, and the light ones with the most
/// packets.
pub(crate) fn choose_charted(flows: &[FlowSummary]) -> Vec<usize> {
    let (mut light, mut heavy): (Vec<usize>, Vec<usize>) =
        (0..flows.len().min(FLOWS_WITH_CURVES)).partition(|flow| flows[*flow].light);
    heavy.sort_by_key(|flow| Reverse(flows[*flow].bytes));
    heavy.truncate(CHARTED);
    light.sort_by_key(|flow| (Reverse(flows[*flow].packets), Reverse(flows[*flow].bytes)));
    light.truncate(2 * CHARTED - heavy.len());
    heavy.into_iter().chain(light).collect()
}

fn summarise_capture(offered: &Offered, options: &Options) -> CaptureSummary {
    CaptureSummary {
        name: offered.arrivals().capture().name().to_owned(),
        packets: offered.packets(),
        bytes: offered.bytes(),
        longest_packet: offered.longest_packet(),
        seconds: offered.arrivals().seconds(),
        first_unix_nanos: offered.arrivals().first_unix_nanos(),
        selection: offered.arrivals().selector().summary(),
        link: (options.link != LinkLayer::NONE).then(|| options.link.to_string()),
        flow_by: options.flow_by.to_string(),
    }
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
        (0..20).for_each(|_| keep_sample(&mut sample, &vec![event.clone(); BLOCK]));
        assert_eq!(sample.len(), SAMPLE);
    }

    /// Raw IPv4 packets of two alternating UDP flows, one a second.
    fn pcap(packets: u32) -> Vec<u8> {
        let packets: Vec<_> = (0..packets).map(|second| (second, false)).collect();
        pcap_of(&packets)
    }

    /// Raw IPv4 packets of two alternating UDP flows: each with its second, and whether it goes the
    /// other way.
    fn pcap_of(packets: &[(u32, bool)]) -> Vec<u8> {
        let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
        let mut bytes: Vec<u8> = header
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect();
        for (number, (second, is_answer)) in (0..).zip(packets) {
            bytes.extend(
                [*second, 0, 28, 1000]
                    .iter()
                    .flat_map(|field| field.to_le_bytes()),
            );
            let mut ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
            let mut ports = [[0, 53], [4, (number % 2) as u8]];
            if *is_answer {
                ends.reverse();
                ports.reverse();
            }
            // All code points and ECN fields.
            bytes.extend([0x45, number as u8, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0]);
            bytes.extend(ends.as_flattened());
            bytes.extend(ports.as_flattened());
            bytes.extend([3, 212, 0, 0]);
        }
        bytes
    }

    /// What a comparison replays of a capture and says of it, and whether one reading was enough.
    /// The first reading keeps up to `most` arrivals, or is never enough.
    fn replayed(bytes: &[u8], options: &Options, most: Option<usize>) -> (String, bool) {
        let capture = Capture::from_reader("t.pcap", std::io::Cursor::new(bytes.to_vec())).unwrap();
        let ahead = most.and_then(|most| Ahead::new(reader(options), most));
        let surveyed = survey(capture, &options.mending(), &mut (), ahead).unwrap();
        let was_one = surveyed.ahead.is_some();
        let arrivals = Arrivals::new(surveyed, reader(options));
        let mut offered = Offered::new(arrivals, WeightRules::default(), options);
        let mut block = Vec::new();
        let mut events = Vec::new();
        while offered.read(&mut block, BLOCK).unwrap() {
            events.append(&mut block);
        }
        let summary = summarise_capture(&offered, options);
        let flows = summarise_flows(&offered);
        let observed = Observed::of(&offered, options);
        let read = offered.progress(2).read;
        let said = format!("{events:?} {summary:?} {flows:?} {observed:?} {read}");
        (said, was_one)
    }

    #[test]
    fn one_reading_replays_what_two_do_and_is_enough_where_nothing_is_chosen_or_out_of_order() {
        let mut plain = Vec::new();
        for second in 0..3000 {
            plain.push((second, false));
        }
        let mut with_answers = plain.clone();
        let mut with_late_answers = plain.clone();
        for number in (0..3000).step_by(3) {
            with_answers[number].1 = true;
            with_late_answers[number].1 = number > 1500;
        }
        let mut out_of_order = plain.clone();
        out_of_order.swap(2000, 2001);
        let mut with_a_stray = plain.clone();
        with_a_stray[2000].0 = 1_000_000_000;
        for (packets, chooses, most, is_enough) in [
            (&plain[..], true, 6000, true),
            (&plain, true, 5999, false),
            (&plain, false, 6000, true),
            (&with_answers, true, 6000, false),
            (&with_answers[..500], true, 6000, false),
            (&with_answers, false, 6000, true),
            (&with_answers, false, 100, false),
            (&with_answers, true, 100, false),
            (&with_late_answers, true, 6000, false),
            (&out_of_order, true, 6000, false),
            (&with_a_stray, true, 6000, false),
        ] {
            let mut options = Options::new("1mbit".parse().unwrap(), Vec::new());
            options.adapts = true;
            options.selection.chooses = chooses;
            // Each packet is split in two.
            options.mtu = Some(600);
            let bytes = pcap_of(packets);
            let (once, was_one) = replayed(&bytes, &options, Some(most));
            let (twice, _) = replayed(&bytes, &options, None);
            assert_eq!(was_one, is_enough, "{chooses} {most}");
            assert!(once == twice, "{chooses} {most}: the replays differ");
        }
    }

    #[test]
    fn what_is_read_ahead_is_all_that_would_be_read_bit_by_bit() {
        let packets = 2 * BLOCK as u32 + 3;
        let offered = || {
            let capture =
                Capture::from_reader("t.pcap", std::io::Cursor::new(pcap(packets))).unwrap();
            let options = Options::new("1mbit".parse().unwrap(), Vec::new());
            let surveyed = survey(capture, &options.mending(), &mut (), None).unwrap();
            let arrivals = Arrivals::new(surveyed, reader(&options));
            Offered::new(arrivals, WeightRules::default(), &options)
        };
        let mut once = offered();
        let mut whole = Vec::new();
        read_ahead(&mut once, &mut whole, 1, &mut ()).unwrap();
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

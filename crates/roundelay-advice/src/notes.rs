//! Notes on the capture and the replay: oddities, doubtful options, packets left out.

use std::collections::BTreeSet;

use roundelay::schedulers::{AnyDiscipline, cake};
use roundelay::{Duration, Framing, LinkLayer, QueueSpec, Rate};
use roundelay_trace::reaction::{Basis, Reaction};
use roundelay_trace::{
    Chosen, Comparison, FlowBy, IdleLeaves, InterfaceLoad, Kind, Observed, Options, OtherFlows,
    PlateauRate, SetForward, Silence, TreeFile, Tunnel,
};

use crate::shapers::slower_than_others;
use crate::standing::{Obstacle, Standing};
use crate::tc::FULL_PACKET;

/// A remark on the capture or the replay.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Lengths count what the link adds.
    Lengths {
        /// Overhead and framing.
        link: LinkLayer,
        /// Bytes on the link.
        bytes: u64,
        /// Bytes of the same packets in the capture.
        captured: u64,
    },
    /// The rate is most likely a mistake: the load is this many times the link's rate.
    Overload {
        /// Load divided by the link's rate.
        load: f64,
        /// The link's rate.
        rate: Rate,
    },
    /// The capture was probably taken behind the bottleneck.
    Plateau(PlateauRate),
    /// Packets are left out.
    LeftOut {
        /// Packets replayed.
        replayed: u64,
        /// Packets in the capture.
        read: u64,
        /// The given options, in the order in which they apply, each with the number of packets it
        /// left out.
        by_option: Vec<(String, u64)>,
        /// Duplicates left out.
        duplicates: u64,
    },
    /// One direction of one link was chosen by its load.
    Chosen(Box<Chosen>),
    /// Packets look like copies by a mirror port.
    Mirrored {
        /// The copies.
        copies: u64,
        /// Packets replayed.
        replayed: u64,
    },
    /// Packets of several interfaces share the link.
    Interfaces(Vec<InterfaceLoad>),
    /// Packets look like copies behind a router that translates addresses.
    Translated {
        /// The copies.
        copies: u64,
        /// Packets replayed.
        replayed: u64,
    },
    /// This many connections are captured in both directions.
    BothWays(usize),
    /// Packets too long for the link are split.
    Split {
        /// The packets of the capture.
        packets: u64,
        /// What they were split into.
        pieces: u64,
        /// The longest IP packet of the link.
        mtu: u32,
    },
    /// A notable part of the bytes is in tunnels.
    InTunnel {
        /// Their kind.
        tunnel: Tunnel,
        /// Part of the bytes.
        part: f64,
        /// The definition of a flow.
        by: FlowBy,
    },
    /// Only a part of the capture's time is replayed.
    Part {
        /// Seconds from the first packet to the part.
        from: f64,
        /// Seconds from the first packet to its end. None if it ends with the capture.
        to: Option<f64>,
        /// It is the busiest part of its length.
        is_busiest: bool,
        /// Packets left out.
        packets: u64,
    },
    /// This many packets, bytes or blocks are odd.
    Odd(Oddity, u64),
    /// Somebody set the clock forward during a silence, which is taken out.
    SetForward(SetForward),
    /// A silence may be a step of the clock.
    Silence(Silence),
    /// All times are multiples of this one, because the clock is coarse.
    CoarseClock(Duration),
    /// Flows beyond the maximum number count as a single one.
    OtherFlows(OtherFlows),
    /// A weight rule matches no flow.
    IdleRule {
        /// The rule, counted from 1.
        number: usize,
        /// All rules.
        rules: usize,
    },
    /// These disciplines ignore weights.
    WithoutWeights(Vec<&'static str>),
    /// These disciplines have nothing to order by, because all packets lack this field.
    WithoutField(Obstacle, BTreeSet<&'static str>),
    /// What a tree lacks of the script that it was made from.
    Reserve {
        /// The tree.
        tree: String,
        /// In sentences.
        reserves: Vec<String>,
    },
    /// Leaves of a tree whose rules match no flow.
    IdleLeaves {
        /// The tree.
        tree: String,
        /// The leaves.
        idle: IdleLeaves,
    },
    /// A discipline that should keep order reordered packets of this many flows.
    Reordered {
        /// The discipline.
        spec: String,
        /// The flows.
        flows: u64,
    },
    /// The runs that measured the costs of these disciplines differ by more than half.
    UncertainCosts(Vec<String>),
    /// A cake whose rate is higher than the link's.
    ShapesNothing {
        /// The discipline.
        spec: String,
        /// Its rate.
        bandwidth: Rate,
        /// The link's rate.
        link: Rate,
        /// Its command, if one is printed, has the link's rate.
        is_alone: bool,
    },
    /// These disciplines and trees shape to clearly less than another one carries, each with what
    /// its shaper lets through.
    ShapesToLess(Vec<(String, Rate)>),
    /// The overhead of `--link` and a cake's own are both counted.
    OverheadTwice(String),
    /// A cake that counts drops as sent, in a replay, where no sender reacts to drops.
    IngressInOpenLoop(String),
    /// Light flows lose packets. A real link would drop more of them.
    LightLoss,
    /// A replay is open-loop: senders do not react.
    OpenLoop,
    /// Senders react, in simulations of what the applications wanted to send.
    Reacting {
        /// Their congestion control.
        control: &'static str,
        /// Runs of each discipline.
        replicas: usize,
        /// Part of the bytes that react.
        tcp: f64,
        /// Part sent as recorded.
        recorded: f64,
    },
    /// This part of the bytes is in QUIC, which is sent as recorded.
    QuicAsRecorded(f64),
    /// No transfer wanted more than it got in the capture.
    NothingEndless,
    /// This part of the bytes belongs to connections captured in one direction only.
    HalfSeen(f64),
}

/// Oddity of a capture, counted in packets unless the name says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// Packets that are not IP.
    NotIp,
    /// Packets whose headers could not be read.
    Unreadable,
    /// Packets cut before the ports.
    WithoutPorts,
    /// Encrypted 802.11 frames.
    Encrypted,
    /// Times earlier than that of the packet before.
    Backwards,
    /// Packets put in the order of their times.
    Sorted,
    /// Times that all others contradict.
    Strays,
    /// The clock was set back, so later packets are moved by the step.
    SetBack,
    /// Times that no clock shows.
    WrongTimes,
    /// Packets that a tool cut together with their length.
    Uncut,
    /// Silences cut to an hour.
    CutSilences,
    /// Packets longer than Ethernet's.
    Long,
    /// Packets longer than 64 KB.
    TooLong,
    /// Bytes missing from the last packet, where the file ends.
    CutOff,
    /// Files whose compressed data ends too early.
    TruncatedCompression,
    /// Packets without a time.
    WithoutTime,
    /// Packets whose length on the wire is given as less than what was captured.
    RaisedLengths,
    /// Times whose fraction is a second or more.
    LargeFractions,
    /// Blocks without packets.
    SkippedBlocks,
}

/// All notes on a comparison, in the order of telling. `tells_shapers` unless the verdict tells which
/// disciplines shape to less than others.
pub(crate) fn of(
    comparison: &Comparison,
    options: &Options,
    standings: &[Standing],
    tells_shapers: bool,
) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(chosen(comparison));
    notes.extend(part(comparison, options));
    notes.extend(lengths(comparison, options.link));
    notes.extend(overload(comparison, options.rate));
    notes.extend(plateau(comparison).map(Note::Plateau));
    notes.extend(left_out(comparison));
    notes.extend(mixture(comparison));
    notes.extend(split(comparison, options.mtu));
    notes.extend(in_tunnels(comparison, options.flow_by));
    notes.extend(oddities(&comparison.observed));
    notes.extend(clock(&comparison.observed, options));
    notes.extend(comparison.observed.others.map(Note::OtherFlows));
    notes.extend(idle_rules(comparison, options));
    notes.extend(without_weights(options));
    notes.extend(without_field(comparison, options));
    notes.extend(reserves(options));
    notes.extend(idle_leaves(comparison, options));
    notes.extend(undeclared_reordering(comparison, standings));
    notes.extend(doubtful_cakes(comparison, options));
    notes.extend(uncertain_costs(comparison));
    let slower = slower_than_others(comparison, options);
    if tells_shapers && !slower.is_empty() {
        notes.push(Note::ShapesToLess(slower));
    }
    if let Some(reaction) = &comparison.reaction {
        notes.extend(of_reaction(reaction));
        return notes;
    }
    if flows_other_than_bulk_lose(comparison) {
        notes.push(Note::LightLoss);
    }
    notes.push(Note::OpenLoop);
    notes
}

/// Notes on a capture that is only read, not replayed.
pub(crate) fn of_reading(observed: &Observed, options: &Options) -> Vec<Note> {
    let mut notes = oddities(observed);
    notes.extend(clock(observed, options));
    notes
}

/// A loss is worth a note from this fraction of the packets on.
const NOTABLE_LOSS: f64 = 0.001;

/// Whether flows of some kind other than bulk lose a notable part under some discipline. The note
/// calls these kinds light, although some calls and web flows are not ([`Kind`] says which).
fn flows_other_than_bulk_lose(comparison: &Comparison) -> bool {
    for result in &comparison.disciplines {
        for outcome in &result.kinds {
            if outcome.kind != Kind::Bulk && outcome.loss > NOTABLE_LOSS {
                return true;
            }
        }
    }
    false
}

fn lengths(comparison: &Comparison, link: LinkLayer) -> Option<Note> {
    (link != LinkLayer::NONE).then_some(Note::Lengths {
        link,
        bytes: comparison.capture.bytes,
        captured: comparison.observed.captured_bytes,
    })
}

/// From this load on, the rate is more likely a mistake than the load an overload.
const ABSURD_LOAD: f64 = 100.0;

/// A note if the load is absurd. Bursts shorter than a second have no load.
fn overload(comparison: &Comparison, rate: Rate) -> Option<Note> {
    let capture = &comparison.capture;
    let load = capture.bytes as f64 * 8.0 / (capture.seconds * rate.bits_per_second() as f64);
    let is_absurd = capture.seconds >= 1.0 && load > ABSURD_LOAD;
    is_absurd.then_some(Note::Overload { load, rate })
}

/// The range of peak rates, relative to the link's rate, at which the capture lies behind a queue
/// of the replayed link. With a higher peak the replayed link is the bottleneck. With a lower one
/// no bottleneck is near.
const BEHIND: std::ops::RangeInclusive<f64> = 0.5..=1.05;

/// From this part of the bytes on, a note says that they do not react.
const NOTABLE: f64 = 0.05;

/// What the figures rest on.
fn of_reaction(reaction: &Reaction) -> Vec<Note> {
    let Basis {
        tcp,
        half,
        quic,
        recorded,
        ..
    } = reaction.basis;
    let mut notes = vec![Note::Reacting {
        control: reaction.control,
        replicas: reaction.replicas,
        tcp,
        recorded: recorded + quic,
    }];
    if quic >= NOTABLE {
        notes.push(Note::QuicAsRecorded(quic));
    }
    if !reaction.basis.wants_more() {
        notes.push(Note::NothingEndless);
    }
    if half > 0.0 {
        notes.push(Note::HalfSeen(half));
    }
    notes
}

/// The plateau, if the capture was probably taken behind the bottleneck.
pub(crate) fn plateau(comparison: &Comparison) -> Option<PlateauRate> {
    let plateau = comparison.observed.plateau?;
    let part_of_link = plateau.rate / comparison.reference_rate as f64;
    BEHIND.contains(&part_of_link).then_some(plateau)
}

fn chosen(comparison: &Comparison) -> Option<Note> {
    let chosen = comparison.observed.chosen.clone()?;
    Some(Note::Chosen(Box::new(chosen)))
}

fn left_out(comparison: &Comparison) -> Option<Note> {
    let summary = comparison.capture.selection.as_ref()?;
    let selection = &comparison.observed.selection;
    let left_out = summary.left_out;
    let mut by_option = Vec::new();
    if let Some(interface) = &selection.interface {
        by_option.push((format!("--interface {interface}"), left_out.interface));
    }
    if let Some(direction) = &selection.direction {
        by_option.push((format!("--direction {direction}"), left_out.direction));
    }
    if let Some(filter) = &selection.filter {
        by_option.push((format!("--filter '{filter}'"), left_out.filter));
    }
    if selection.mirrored {
        by_option.push(("--mirrored".to_owned(), left_out.mirrored));
    }
    // If only time left packets out, another note tells of it.
    if by_option.is_empty() && left_out.duplicates == 0 && left_out.time > 0 {
        return None;
    }
    Some(Note::LeftOut {
        replayed: summary.read - left_out.total(),
        read: summary.read,
        by_option,
        duplicates: left_out.duplicates,
    })
}

/// Notes on packets of several links that share the replayed one.
fn mixture(comparison: &Comparison) -> Vec<Note> {
    let mixed = &comparison.observed.mixed;
    let replayed = comparison.capture.packets;
    let mut notes = Vec::new();
    if mixed.mirrored > 0 {
        notes.push(Note::Mirrored {
            copies: mixed.mirrored,
            replayed,
        });
    }
    if !mixed.interfaces.is_empty() {
        notes.push(Note::Interfaces(mixed.interfaces.clone()));
    }
    if mixed.translated > 0 {
        notes.push(Note::Translated {
            copies: mixed.translated,
            replayed,
        });
    }
    if mixed.both_ways > 0 || mixed.has_wire_both_ways {
        notes.push(Note::BothWays(mixed.both_ways));
    }
    notes
}

fn split(comparison: &Comparison, mtu: Option<u32>) -> Option<Note> {
    let oddities = comparison.observed.oddities;
    if oddities.split == 0 {
        return None;
    }
    Some(Note::Split {
        packets: oddities.split,
        pieces: oddities.pieces,
        mtu: mtu?,
    })
}

/// From this part of the bytes on, a tunnel is worth a note.
const NOTABLE_TUNNEL: f64 = 0.1;

/// Tunnels that carry a notable part of the bytes, if flows are told apart by addresses and ports.
fn in_tunnels(comparison: &Comparison, by: FlowBy) -> Vec<Note> {
    let mut notes = Vec::new();
    for (tunnel, part) in Tunnel::ALL.into_iter().zip(comparison.observed.tunnels) {
        if part >= NOTABLE_TUNNEL && by.is_five_tuple() {
            notes.push(Note::InTunnel { tunnel, part, by });
        }
    }
    notes
}

/// Which part of the capture's time is replayed.
fn part(comparison: &Comparison, options: &Options) -> Option<Note> {
    let part = comparison.observed.part?;
    let packets = comparison.capture.selection.as_ref()?.left_out.time;
    Some(Note::Part {
        from: part.from,
        to: part.to,
        is_busiest: options.span.busiest.is_some(),
        packets,
    })
}

fn oddities(observed: &Observed) -> Vec<Note> {
    let unparsable = observed.unparsable;
    let oddities = observed.oddities;
    let file = observed.file;
    let counts = [
        (Oddity::NotIp, unparsable.not_ip),
        (Oddity::Unreadable, unparsable.unreadable()),
        // They are among the unreadable ones, and the sentence begins with "of these packets".
        (Oddity::Encrypted, unparsable.encrypted),
        (Oddity::WithoutPorts, unparsable.no_ports),
        (Oddity::Sorted, oddities.sorted),
        (Oddity::Strays, oddities.strays),
        (Oddity::SetBack, oddities.set_back),
        (Oddity::WrongTimes, file.wrong_times),
        (Oddity::Backwards, oddities.backward_steps),
        (Oddity::Uncut, oddities.uncut),
        (Oddity::CutSilences, oddities.cut_gaps),
        (Oddity::Long, oddities.superframes),
        (Oddity::TooLong, oddities.cut_lengths),
        (Oddity::CutOff, file.truncated_tail_bytes),
        (Oddity::TruncatedCompression, file.truncated_compression),
        (Oddity::WithoutTime, file.without_time),
        (Oddity::RaisedLengths, file.raised_lengths),
        (Oddity::LargeFractions, file.fractions_of_a_second_or_more),
        (Oddity::SkippedBlocks, file.skipped_blocks),
    ];
    let mut notes = Vec::new();
    for (oddity, count) in counts {
        if count > 0 {
            notes.push(Note::Odd(oddity, count));
        }
    }
    notes
}

/// What the clock did, and how coarse it is.
fn clock(observed: &Observed, options: &Options) -> Vec<Note> {
    let mut notes = Vec::new();
    let forward = observed.oddities.set_forward;
    if forward.steps > 0 && !is_outside(forward, options) {
        notes.push(Note::SetForward(forward));
    }
    if observed.part.is_none() {
        notes.extend(observed.silence.map(Note::Silence));
    }
    // With a still coarser clock there is no verdict, and the reserve says why.
    let tick =
        coarse_tick(observed, options.rate).filter(|tick| tick.as_secs_f64() < COARSEST_CLOCK);
    notes.extend(tick.map(Note::CoarseClock));
    notes
}

/// Whether the replayed part begins or ends at the only step, as the note on the step advises.
fn is_outside(forward: SetForward, options: &Options) -> bool {
    let step = Duration::from_nanos(forward.at);
    let edge = Duration::from_micros(2);
    let is_before = options.span.to.is_some_and(|to| to <= step + edge);
    let is_behind = options.span.from.is_some_and(|from| from >= step);
    forward.steps == 1 && (is_before || is_behind)
}

/// A coarser clock than this makes bursts longer than the waits that a verdict compares, seconds.
pub(crate) const COARSEST_CLOCK: f64 = 0.1;

/// The clock's tick, if more than a full packet crosses the link within it. Then packets that came
/// one by one arrive at once and wait for each other.
pub(crate) fn coarse_tick(observed: &Observed, rate: Rate) -> Option<Duration> {
    observed
        .tick
        .filter(|tick| !observed.is_without_clock && rate.time_of(FULL_PACKET) < *tick)
}

fn idle_rules(comparison: &Comparison, options: &Options) -> Vec<Note> {
    let rules = options.weights.rules().len();
    let mut notes = Vec::new();
    for index in &comparison.observed.idle_rules {
        notes.push(Note::IdleRule {
            number: index + 1,
            rules,
        });
    }
    notes
}

/// Names the disciplines that ignore weights, if rules set some.
fn without_weights(options: &Options) -> Option<Note> {
    let mut names = Vec::new();
    for spec in &options.specs {
        let info = spec.discipline.info();
        if !info.weighted {
            names.push(info.name);
        }
    }
    let is_told = !options.weights.rules().is_empty() && !names.is_empty();
    is_told.then_some(Note::WithoutWeights(names))
}

/// Costs that this machine did not measure twice alike.
fn uncertain_costs(comparison: &Comparison) -> Option<Note> {
    let mut specs = Vec::new();
    for result in &comparison.disciplines {
        if let Some(cost) = result.cost
            && !cost.is_certain()
        {
            specs.push(result.spec.clone());
        }
    }
    if specs.is_empty() {
        return None;
    }
    Some(Note::UncertainCosts(specs))
}

/// Options of cake that do not do what they seem to, on this link or in this replay.
fn doubtful_cakes(comparison: &Comparison, options: &Options) -> Vec<Note> {
    let mut notes = Vec::new();
    for Named {
        name,
        cake,
        is_alone,
    } in cakes(comparison, options)
    {
        if let Some(bandwidth) = cake.bandwidth
            && bandwidth > options.rate
        {
            notes.push(Note::ShapesNothing {
                spec: name.clone(),
                bandwidth,
                link: options.rate,
                is_alone,
            });
        }
        let has_own_link = cake.overhead > 0 || cake.mpu > 0 || cake.framing != Framing::None;
        if has_own_link && !options.link.keeps_lengths() {
            notes.push(Note::OverheadTwice(name.clone()));
        }
        if cake.ingress && comparison.reaction.is_none() {
            notes.push(Note::IngressInOpenLoop(name));
        }
    }
    notes
}

/// A cake, and what it is called.
struct Named<'a> {
    name: String,
    cake: &'a cake::Config,
    /// It is in no tree.
    is_alone: bool,
}

/// The compared cakes, then those in trees: one of each kind.
fn cakes<'a>(comparison: &Comparison, options: &'a Options) -> Vec<Named<'a>> {
    let mut cakes: Vec<Named<'a>> = Vec::new();
    let written = options.specs.len();
    for (spec, result) in options.specs.iter().zip(&comparison.disciplines) {
        if let AnyDiscipline::Cake(cake) = &spec.discipline {
            let name = result.spec.clone();
            cakes.push(Named {
                name,
                cake,
                is_alone: true,
            });
        }
    }
    for (tree, result) in options.trees.iter().zip(&comparison.disciplines[written..]) {
        let mut known = BTreeSet::new();
        for leaf in tree.leaves() {
            let name = format!("{} in {}", leaf.discipline, result.spec);
            if let AnyDiscipline::Cake(cake) = &leaf.discipline
                && known.insert(name.clone())
            {
                cakes.push(Named {
                    name,
                    cake,
                    is_alone: false,
                });
            }
        }
    }
    cakes
}

/// Disciplines that order by a field which no packet carries, so that their order means nothing.
fn without_field(comparison: &Comparison, options: &Options) -> Vec<Note> {
    let carried = comparison.observed.carried;
    let mut notes = Vec::new();
    for missing in [Obstacle::Classes, Obstacle::Slack, Obstacle::Deadlines] {
        let mut names = BTreeSet::new();
        for spec in all_specs(options) {
            if Obstacle::of(&spec.discipline, carried) == Some(missing) {
                names.insert(spec.discipline.name());
            }
        }
        if !names.is_empty() {
            notes.push(Note::WithoutField(missing, names));
        }
    }
    notes
}

/// The compared disciplines, and those at the leaves of trees.
pub(crate) fn all_specs(options: &Options) -> impl Iterator<Item = &QueueSpec> {
    let leaves = options.trees.iter().flat_map(TreeFile::leaves);
    options.specs.iter().chain(leaves)
}

fn reserves(options: &Options) -> Vec<Note> {
    let mut notes = Vec::new();
    for tree in &options.trees {
        if !tree.reserves().is_empty() {
            notes.push(Note::Reserve {
                tree: tree.name().to_owned(),
                reserves: tree.reserves().to_vec(),
            });
        }
    }
    notes
}

fn idle_leaves(comparison: &Comparison, options: &Options) -> Vec<Note> {
    let mut notes = Vec::new();
    for (tree, idle) in options.trees.iter().zip(&comparison.observed.idle_leaves) {
        if !idle.leaves.is_empty() {
            notes.push(Note::IdleLeaves {
                tree: tree.name().to_owned(),
                idle: idle.clone(),
            });
        }
    }
    notes
}

/// Disciplines that should have kept the order of each flow's packets.
fn undeclared_reordering(comparison: &Comparison, standings: &[Standing]) -> Vec<Note> {
    let mut notes = Vec::new();
    for (result, standing) in comparison.disciplines.iter().zip(standings) {
        let mut flows = 0;
        for flow in &result.flows {
            flows += u64::from(flow.outcome.reordered > 0);
        }
        if standing.keeps_order && flows > 0 {
            notes.push(Note::Reordered {
                spec: result.spec.clone(),
                flows,
            });
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use roundelay_trace::{LeftOut, SelectionSummary, UnparsableCounts, compare};

    use super::*;
    use crate::sample::{capture, comparison, options};
    use crate::shapers::slower_than_others;

    /// Regression: "4 of these packets are encrypted" meant the packets without ports.
    #[test]
    fn encrypted_packets_follow_the_unreadable_ones_of_which_they_are() {
        let mut observed = comparison(&["fifo"]).observed;
        observed.unparsable = UnparsableCounts {
            encrypted: 4,
            malformed: 1,
            no_ports: 2,
            ..UnparsableCounts::default()
        };
        let expected = [
            Note::Odd(Oddity::Unreadable, 5),
            Note::Odd(Oddity::Encrypted, 4),
            Note::Odd(Oddity::WithoutPorts, 2),
        ];
        assert_eq!(oddities(&observed), expected);
    }

    #[test]
    fn what_a_discipline_orders_by_is_missed() {
        let options = options(&["fifo", "lstf", "edf", "priority", "fifo_plus"]);
        let comparison = compare(capture(), &options, &mut ()).unwrap();
        let missed = |names: &[&'static str]| names.iter().copied().collect();
        assert_eq!(
            without_field(&comparison, &options),
            [
                Note::WithoutField(Obstacle::Classes, missed(&["priority"])),
                Note::WithoutField(Obstacle::Slack, missed(&["fifo_plus", "lstf"])),
                Note::WithoutField(Obstacle::Deadlines, missed(&["edf"])),
            ]
        );
    }

    /// A cake that shapes nothing, one whose overhead is the link's once more, and one for the other
    /// end of a link.
    #[test]
    fn words_of_cake_that_do_something_else_are_told() {
        let of = |spec: &str, link: &str| {
            let mut options = options(&[spec]);
            options.link = link.parse().unwrap();
            let comparison = compare(capture(), &options, &mut ()).unwrap();
            let mut told = Vec::new();
            for note in doubtful_cakes(&comparison, &options) {
                told.push(match note {
                    Note::ShapesNothing { .. } => "shapes nothing",
                    Note::OverheadTwice(_) => "twice",
                    Note::IngressInOpenLoop(_) => "ingress",
                    other => panic!("{other:?}"),
                });
            }
            told
        };
        let plain = "raw";
        for (spec, link, expected) in [
            ("cake bandwidth 5mbit", plain, &[][..]),
            ("cake bandwidth 10mbit", plain, &[]),
            ("cake bandwidth 20mbit", plain, &["shapes nothing"]),
            ("cake bandwidth 5mbit overhead 20", plain, &[]),
            ("cake bandwidth 5mbit overhead 20", "docsis", &["twice"]),
            ("cake bandwidth 5mbit mpu 84", "docsis", &["twice"]),
            ("cake bandwidth 5mbit", "docsis", &[]),
            ("cake bandwidth 5mbit ingress", plain, &["ingress"]),
        ] {
            assert_eq!(of(spec, link), expected, "{spec}, {link}");
        }
    }

    /// A shaper below the link's rate loses against a discipline that has the whole link.
    #[test]
    fn shapers_beside_disciplines_that_do_not_shape_are_told() {
        const TREE: &str = r#"
            [[node]]
            name = "eth0"
            discipline = "htb"
            [[node]]
            name = "calls"
            parent = "eth0"
            discipline = "fifo"
            rate = "1mbit"
            flows = ["dscp ef"]
            [[node]]
            name = "rest"
            parent = "eth0"
            discipline = "cake bandwidth 2mbit"
            rate = "1mbit"
            ceil = "8mbit"
            default = true
        "#;
        let of = |specs: &[&str], tree: Option<String>| {
            let mut options = options(specs);
            if let Some(text) = tree {
                options
                    .trees
                    .push(TreeFile::from_toml("wan.toml", &text).unwrap());
            }
            let comparison = compare(capture(), &options, &mut ()).unwrap();
            let mut told = Vec::new();
            for (spec, rate) in slower_than_others(&comparison, &options) {
                told.push(format!("{spec} {rate}"));
            }
            told
        };
        let shaped = Some(TREE.to_owned());
        assert_eq!(of(&["fifo"], shaped.clone()), ["wan 3mbit"]);
        // A child without a shaper has all of the link.
        let open = TREE
            .replace("cake bandwidth 2mbit", "fifo")
            .replace("8mbit", "100mbit");
        assert!(of(&["fifo"], Some(open)).is_empty());
        assert_eq!(
            of(&["tbf rate 5mbit burst 15k limit 100", "fifo"], shaped),
            ["tbf rate 5mbit burst 15kb limit 100b 5mbit", "wan 3mbit"]
        );
        // All shape, but not alike.
        assert_eq!(
            of(&["cake bandwidth 5mbit", "cake bandwidth 4mbit"], None),
            ["cake bandwidth 4mbit 4mbit"]
        );
        assert!(
            of(
                &["cake bandwidth 5mbit", "tbf rate 5mbit burst 15k limit 9k"],
                None
            )
            .is_empty()
        );
        // A tenth is usual.
        assert!(of(&["cake bandwidth 9mbit", "fifo"], None).is_empty());
    }

    /// Leaves of htb send at their rates whatever the class above has, and `rt` of hfsc is not held
    /// by `ul`.
    #[test]
    fn what_a_class_lets_through_at_most() {
        for (discipline, inner, leaf, most) in [
            ("htb", "rate = \"1mbit\"", "rate = \"4mbit\"", Some("4mbit")),
            (
                "htb",
                "rate = \"2mbit\"",
                "rate = \"1mbit\"\nceil = \"9mbit\"",
                Some("2mbit"),
            ),
            ("htb", "rate = \"3mbit\"", "rate = \"1mbit\"", Some("1mbit")),
            (
                "hfsc",
                "ls = \"m2 1mbit\"",
                "rt = \"m2 2mbit\"",
                Some("2mbit"),
            ),
            (
                "hfsc",
                "ls = \"m2 1mbit\"\nul = \"m2 1mbit\"",
                "rt = \"m2 4mbit\"\nls = \"m2 1mbit\"\nul = \"m2 1mbit\"",
                Some("4mbit"),
            ),
            (
                "hfsc",
                "ls = \"m2 1mbit\"\nul = \"m2 3mbit\"",
                "ls = \"m2 1mbit\"",
                Some("3mbit"),
            ),
            ("hfsc", "ls = \"m2 1mbit\"", "ls = \"m2 1mbit\"", None),
        ] {
            let text = format!(
                "[[node]]\nname = \"top\"\ndiscipline = \"{discipline}\"\n\
                 [[node]]\nname = \"all\"\nparent = \"top\"\ndiscipline = \"{discipline}\"\n{inner}\n\
                 [[node]]\nname = \"leaf\"\nparent = \"all\"\ndiscipline = \"fifo\"\n{leaf}\n\
                 default = true\n"
            );
            let mut options = options(&["fifo"]);
            options
                .trees
                .push(TreeFile::from_toml("wan.toml", &text).expect("a tree"));
            let comparison = compare(capture(), &options, &mut ()).unwrap();
            let told = slower_than_others(&comparison, &options);
            let rate = told.first().map(|(_, rate)| rate.to_string());
            assert_eq!(rate.as_deref(), most, "{discipline}: {inner}; {leaf}");
        }
    }

    /// A hundred times what the link can carry is a mistake, unless in a burst.
    #[test]
    fn an_absurd_load_is_told() {
        let options = options(&["fifo"]);
        let mut comparison = comparison(&["fifo"]);
        for (seconds, bytes, is_told) in [
            (2.0, 260_000_000, true),
            (2.0, 240_000_000, false),
            (0.5, 260_000_000, false),
            (1.0, 260_000_000, true),
        ] {
            comparison.capture.seconds = seconds;
            comparison.capture.bytes = bytes;
            let note = overload(&comparison, options.rate);
            assert_eq!(note.is_some(), is_told, "{seconds} {bytes}");
        }
    }

    /// Packets left out by time alone have a note of their own.
    #[test]
    fn what_is_left_out_is_told_once() {
        let mut comparison = comparison(&["fifo"]);
        let mut told = |left_out, with_filter: bool| {
            comparison.observed.selection.filter = with_filter.then(|| "tcp".parse().unwrap());
            comparison.capture.selection = Some(SelectionSummary {
                interface: None,
                direction: None,
                filter: None,
                mirrored: false,
                keep_duplicates: false,
                chosen: false,
                read: 100,
                left_out,
            });
            left_out_note(&comparison)
        };
        let none = LeftOut::default();
        let by_time = LeftOut { time: 5, ..none };
        let copies = LeftOut {
            duplicates: 3,
            ..by_time
        };
        assert_eq!(told(by_time, false), None);
        assert_eq!(told(none, false), Some((100, 0)));
        assert_eq!(told(copies, false), Some((92, 0)));
        assert_eq!(told(by_time, true), Some((95, 1)));
    }

    /// Packets replayed, and the number of options with packets that they leave out.
    fn left_out_note(comparison: &Comparison) -> Option<(u64, usize)> {
        match left_out(comparison)? {
            Note::LeftOut {
                replayed,
                by_option,
                ..
            } => Some((replayed, by_option.len())),
            other => panic!("{other:?}"),
        }
    }

    /// The part up to the only step, and the part from there, are outside of it.
    #[test]
    fn a_part_is_outside_of_a_step_that_ends_or_begins_it() {
        let step = Duration::from_millis(5);
        let micro = Duration::from_micros(1);
        let of = |steps, from, to| {
            let mut options = Options::new("10mbit".parse().unwrap(), Vec::new());
            (options.span.from, options.span.to) = (from, to);
            let at = 5_000_000;
            is_outside(SetForward { steps, at, by: 1 }, &options)
        };
        assert!(of(1, None, Some(step)));
        assert!(of(1, None, Some(step + micro)));
        assert!(!of(1, None, Some(step + Duration::from_millis(1))));
        assert!(of(1, Some(step), None));
        assert!(of(1, Some(step + micro), None));
        assert!(!of(1, Some(step - micro), None));
        assert!(!of(2, Some(step), None), "another step may be inside");
        assert!(!of(1, None, None));
    }
}

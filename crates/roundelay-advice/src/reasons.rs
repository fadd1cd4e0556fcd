//! Reasons of a verdict, as data.

use std::collections::BTreeSet;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Duration, QueueSpec, Rate};
use roundelay_trace::{Comparison, Kind, KindOutcome, OppositeLoad, Options, Outcome};

use crate::notes::{all_specs, plateau};
use crate::standing::Obstacle;
use crate::tc::FULL_PACKET;

/// A discipline that is best with other seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherWinner {
    /// The discipline.
    pub spec: String,
    /// The seeds.
    pub seeds: Vec<u64>,
}

/// A sentence of the verdict. Delays are 99th percentiles in seconds, losses and shares fractions.
#[derive(Debug, Clone)]
pub enum Reason {
    /// Nothing gets through under any discipline.
    NothingGetsThrough,
    /// Nothing contends for the link, so the plainest discipline will do.
    NoContention {
        /// The best discipline.
        spec: String,
    },
    /// All disciplines serve this traffic about equally.
    AllAlike {
        /// The best discipline.
        spec: String,
    },
    /// What light flows get under the best discipline.
    Serves {
        /// The best discipline.
        spec: String,
        /// No other discipline is compared.
        is_alone: bool,
        /// The outcomes of light kinds.
        light: Vec<KindOutcome>,
    },
    /// Even under the best discipline only bulk flows get a packet through.
    OnlyBulk {
        /// The best discipline.
        spec: String,
    },
    /// The only flow is bulk, so there is nothing to divide.
    Alone {
        /// The flow.
        flow: String,
        /// The best discipline.
        spec: String,
        /// Its loss.
        loss: f64,
        /// A discipline that loses notably more, and how much.
        more: Option<Share>,
        /// Delay under the best discipline.
        delay: f64,
    },
    /// All flows are bulk. This is how the best discipline divides the link.
    Divides {
        /// The best discipline.
        spec: String,
        /// The smallest part of its fair share that a flow gets.
        least: f64,
        /// A discipline that divides more fairly.
        fairer: Option<Share>,
        /// Delay under the best discipline.
        delay: f64,
    },
    /// Some disciplines share the link by host, and bulk flows are judged by that under these.
    JudgedByHost {
        /// These disciplines.
        specs: Vec<String>,
        /// The smallest part of its fair share that a host gets under any of them.
        least: f64,
        /// A discipline that is judged by flow, and the smallest part that a host gets under it.
        other: Option<Share>,
        /// The host that gets this part.
        host: String,
    },
    /// The best discipline carries more than others, which shape to less: its lead may be that alone.
    Handicap(Vec<(String, Rate)>),
    /// The worst discipline takes its fair share from a bulk flow.
    HurtsBulk {
        /// The worst discipline.
        spec: String,
        /// The flow.
        flow: String,
        /// The part of its fair share that the flow gets.
        least: f64,
        /// The smallest part that a flow gets under the best discipline.
        best: f64,
        /// The best discipline.
        winner: String,
    },
    /// Under the worst discipline nothing of a kind gets through.
    LocksOut {
        /// The worst discipline.
        spec: String,
        /// The kind.
        kind: Kind,
        /// Its flows.
        flows: usize,
    },
    /// The worst discipline hurts one flow of a kind.
    HurtsOne {
        /// The worst discipline.
        spec: String,
        /// The kind.
        kind: Kind,
        /// The flow.
        worst: Worst,
    },
    /// The worst discipline hurts a kind.
    Hurts {
        /// The worst discipline.
        spec: String,
        /// The kind.
        kind: Kind,
        /// Its flows.
        flows: usize,
        /// Their delay.
        wait: f64,
        /// This delay divided by the one under the best discipline, if notable.
        factor: Option<f64>,
        /// All flows share one queue.
        shares_one_queue: bool,
        /// Loss of the kind, if it is more than under the best discipline.
        loss: Option<f64>,
        /// The worst flow, if the kind has several.
        worst: Option<Worst>,
    },
    /// With other seeds, other disciplines are best.
    OtherSeeds {
        /// The best discipline with the seed whose figures are shown.
        spec: String,
        /// This seed.
        seed: u64,
        /// Which others win.
        winners: Vec<OtherWinner>,
        /// How many seeds were tried.
        seeds: usize,
    },
    /// Linux has other disciplines that are about as good as the best one.
    Peers {
        /// The disciplines.
        specs: Vec<String>,
        /// The delay of all packets together, under the best one and under the first of these, if
        /// this told them apart.
        told: Option<[Wait; 2]>,
    },
    /// One flow's delay differs, though most flows' delays do not.
    Standout {
        /// The flow.
        flow: String,
        /// Where it waits least.
        shortest: Wait,
        /// Where it waits most.
        longest: Wait,
    },
    /// The best discipline does not suit a port, nor does any other that was compared.
    NotForAPort {
        /// The best discipline.
        spec: String,
        /// Why.
        obstacle: Obstacle,
    },
    /// A discipline would do less harm, but does not suit a port.
    Barred {
        /// The discipline.
        spec: String,
        /// Why.
        obstacle: Obstacle,
    },
    /// A discipline has a lower figure in the table than the best one.
    Lower {
        /// The figures.
        lower: Lower,
        /// Why it was not chosen.
        but: But,
    },
    /// The best discipline loses packets.
    Loses {
        /// The best discipline.
        spec: String,
        /// Its loss.
        loss: f64,
        /// Why.
        cause: Cause,
        /// Senders have reacted to this loss.
        is_answered: bool,
    },
    /// The best discipline marks packets. Senders would slow down in answer.
    Marks {
        /// The best discipline.
        spec: String,
        /// Which fraction of the sent packets is marked.
        part: f64,
    },
    /// What changes for users under the best discipline compared with another one, when senders
    /// react.
    Changes {
        /// The best discipline.
        spec: String,
        /// The other one.
        other: String,
        /// By kind of flow. None if runs of one discipline differ as much.
        changes: Vec<Change>,
        /// Loss among all packets under both.
        loss: [f64; 2],
        /// Runs of each.
        replicas: usize,
    },
    /// A replay of the packets as recorded chooses the same discipline.
    ReplayAgrees {
        /// The discipline.
        spec: String,
        /// Its loss when senders react.
        reacting: f64,
        /// Its loss in the replay.
        replayed: f64,
    },
    /// A replay of the packets as recorded chooses another discipline.
    ReplayParts {
        /// The replay's choice.
        replayed: String,
        /// The best discipline when senders react.
        spec: String,
        /// Which choice to trust.
        trust: Trust,
        /// Part of the bytes in QUIC.
        quic: f64,
    },
    /// Whether the verdict depends on what no capture shows: the values that were tried, and which
    /// discipline is best with each.
    Open {
        /// The best discipline as assumed.
        spec: String,
        /// Parameter, value and the best discipline there.
        ends: Vec<[String; 3]>,
    },
    /// Nothing contends, and nothing in the capture wanted more than it got, so another capture
    /// would tell more.
    NothingWantedMore,
    /// The best discipline reorders packets.
    Reorders {
        /// The best discipline.
        spec: String,
        /// Packets that leave after a later packet of their flow.
        packets: u64,
        /// The same as a part of all packets.
        part: f64,
    },
    /// What the best discipline costs on this machine compared with another one.
    CostsMore {
        /// The best discipline.
        spec: String,
        /// Its processing time for a packet, nanoseconds.
        nanos: f64,
        /// The other discipline.
        other: String,
        /// Its processing time for a packet, nanoseconds.
        theirs: f64,
    },
    /// The disciplines had different buffers, and the buffers may have decided.
    DifferentBuffers,
    /// The capture may lie behind the bottleneck. Then its figures lack the waiting there.
    BehindTheBottleneck,
    /// The other direction is left out, and nothing contends for the link.
    OtherDirection(OppositeLoad),
    /// Some bulk flows may be calls.
    PossibleCalls {
        /// Their number.
        flows: usize,
        /// `priority` is compared, and would serve them first if they were marked.
        has_priority: bool,
    },
    /// A CoDel target is shorter than the time that a packet takes.
    ShortTargets {
        /// Length of the packet, bytes.
        packet: u32,
        /// Its transmission time, seconds.
        seconds: f64,
        /// The disciplines with better targets, as words for a shell.
        better: BTreeSet<String>,
    },
    /// There are no commands for the best discipline.
    NoCommands {
        /// The discipline.
        spec: String,
        /// Why.
        why: String,
    },
}

/// A discipline and a fraction, which is a flow's least share or a loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The discipline.
    pub spec: String,
    /// The fraction.
    pub part: f64,
}

/// A discipline and a delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    /// The discipline.
    pub spec: String,
    /// The delay.
    pub p99: f64,
}

/// One flow under the worst discipline and under the best one.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// The flow.
    pub flow: String,
    /// Under the worst discipline.
    pub theirs: Fate,
    /// Under the best one.
    pub ours: Fate,
}

/// What a flow gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fate {
    /// Delay. None if nothing gets through.
    pub p99: Option<f64>,
    /// Loss.
    pub loss: f64,
    /// Packets dropped.
    pub drops: u64,
}

impl Fate {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            p99: outcome.delay.map(|delay| delay.p99),
            loss: outcome.loss,
            drops: outcome.drops.total(),
        }
    }
}

/// Why most of the lost packets are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// To signal congestion.
    Early,
    /// The discipline refused them.
    Refused,
    /// The buffer was full.
    Full,
}

/// A delay that is lower than the best discipline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Lower {
    /// These are delays of the light flows' packets. Otherwise they are delays of all packets.
    pub of_light: bool,
    /// The lower one.
    pub theirs: Wait,
    /// The best discipline's.
    pub ours: Wait,
}

/// Why a discipline with a lower figure was not chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum But {
    /// It does not suit a port.
    Obstacle(Obstacle),
    /// The difference does not matter here, so something else decided.
    Unimportant(Instead),
    /// It takes a bulk flow's share.
    Unfair(Unfairness),
    /// Nothing of a kind gets through.
    LocksOut(Kind),
    /// It loses this fraction of a kind's packets.
    Loses(Kind, f64),
    /// It delays a kind more, or the worst flow of a kind.
    Delays {
        /// The kind.
        kind: Kind,
        /// The worst flow, if typical ones do not differ.
        flow: Option<String>,
        /// Its delay.
        theirs: f64,
        /// That under the best discipline.
        ours: Wait,
    },
    /// Its harm to the kind that suffers most is this many times the least possible.
    MoreHarm {
        /// Its quotient.
        theirs: f64,
        /// The best discipline's quotient.
        ours: Share,
    },
    /// Both do about equal harm, so something else decided.
    Equal(Equality, Instead),
}

/// Shares that bulk flows get.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfairness {
    /// The least share under the other discipline.
    pub theirs: f64,
    /// The least share under the best one.
    pub ours: Share,
}

/// Why the harm of two disciplines counts as equal.
#[derive(Debug, Clone, PartialEq)]
pub enum Equality {
    /// The quoted figures differ by less than this factor.
    Close {
        /// The factor.
        factor: f64,
        /// Losses count too.
        with_losses: bool,
    },
    /// Delays up to this count as none.
    Negligible(f64),
    /// The quotients of harm to the kind that suffers most differ by less than this factor.
    CloseInHarm {
        /// The factor.
        factor: f64,
        /// The other discipline's quotient.
        theirs: Share,
        /// The best one's.
        ours: Share,
    },
}

/// What decided between disciplines of about equal harm.
#[derive(Debug, Clone, PartialEq)]
pub enum Instead {
    /// No commands are known for the other one.
    NoCommands,
    /// The other one divides the link less fairly.
    Unfair(Unfairness),
    /// The best one does less harm to all packets together.
    LessHarm {
        /// The best discipline.
        spec: String,
        /// What all packets get under it.
        ours: Fate,
        /// What all packets get under the other one.
        theirs: Fate,
    },
    /// The other one reorders packets.
    Reorders,
    /// The other one takes more memory.
    MoreMemory,
    /// The best one was named first.
    NamedFirst(String),
}

/// What changes for the users of a kind of flow. The first of each pair is under the best
/// discipline. None where runs differ as much as the disciplines.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The kind.
    pub kind: Kind,
    /// 99th percentile of the packets' delay, seconds. Given if nothing completes.
    pub p99: Option<[f64; 2]>,
    /// Mean completion time, seconds.
    pub done: Option<[f64; 2]>,
    /// Throughput of bulk, bits per second.
    pub throughput: Option<[f64; 2]>,
    /// Loss.
    pub loss: Option<[f64; 2]>,
}

/// Which figures to trust when a replay and senders that react choose differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Those with senders that react.
    Reacting,
    /// Neither quite, because most bytes are in QUIC, which was sent as recorded.
    Neither,
}

/// Reasons that follow from the capture, whichever discipline is best.
pub(crate) fn on_the_capture(
    comparison: &Comparison,
    options: &Options,
    is_contended: bool,
) -> Vec<Reason> {
    let observed = &comparison.observed;
    let mut reasons = Vec::new();
    if plateau(comparison).is_some() {
        reasons.push(Reason::BehindTheBottleneck);
    }
    if !is_contended && observed.chosen.is_none() {
        let opposite = observed.mixed.opposite.clone();
        reasons.extend(opposite.map(Reason::OtherDirection));
    }
    if observed.possible_calls > 0 {
        reasons.push(Reason::PossibleCalls {
            flows: observed.possible_calls,
            has_priority: has_priority(options),
        });
    }
    if is_contended {
        reasons.extend(short_targets(comparison, options));
    }
    reasons
}

fn has_priority(options: &Options) -> bool {
    let mut specs = options.specs.iter();
    specs.any(|spec| {
        matches!(
            spec.discipline,
            AnyDiscipline::Priority(_) | AnyDiscipline::Ets(_)
        )
    })
}

/// A CoDel target makes sense if no packet takes longer than this to transmit.
const LONGEST_TARGET: f64 = 1.0;

/// CoDel targets that are shorter than the transmission time of a packet (RFC 8290, section 5.2.2).
fn short_targets(comparison: &Comparison, options: &Options) -> Option<Reason> {
    let link = options.link;
    let full = if link.raw {
        FULL_PACKET as u32
    } else {
        FULL_PACKET as u32 - 14
    };
    // A frame that offloading merged never crosses the link as one packet.
    let packet = if comparison.observed.oddities.superframes == 0 {
        comparison.capture.longest_packet
    } else {
        link.len_on_link(full)
    };
    let time = options.rate.time_of(packet.into());
    let mut better = BTreeSet::new();
    for spec in all_specs(options) {
        better.extend(with_longer_target(spec, time));
    }
    let seconds = time.as_secs_f64();
    let is_told = !better.is_empty() && seconds <= LONGEST_TARGET;
    is_told.then_some(Reason::ShortTargets {
        packet,
        seconds,
        better,
    })
}

/// The discipline with a target of at least this time, if its own is shorter. If the interval is
/// below twice the new target, it becomes ten times the target (RFC 8289, section 4.3).
fn with_longer_target(spec: &QueueSpec, time: Duration) -> Option<String> {
    let (target, interval, linux) = match &spec.discipline {
        AnyDiscipline::Codel(config) => (config.target, config.interval, config.linux),
        AnyDiscipline::FqCodel(config) => (config.target, config.interval, config.linux),
        _ => return None,
    };
    if target >= time {
        return None;
    }
    let millis = (time.as_secs_f64() * 1e3).ceil();
    let rules = if linux { " linux" } else { "" };
    let is_short = interval.as_secs_f64() * 1e3 < 2.0 * millis;
    let interval = if is_short {
        format!(" interval {}ms", 10.0 * millis)
    } else {
        String::new()
    };
    let name = spec.discipline.name();
    Some(format!("'{name}{rules} target {millis}ms{interval}'"))
}

#[cfg(test)]
mod tests {
    use roundelay_trace::compare;

    use super::*;
    use crate::sample::capture;

    /// A target of CoDel is short where a full packet takes longer, unless none makes sense.
    #[test]
    fn targets_are_short_on_slow_links() {
        let of = |spec: &str, rate: &str| {
            let specs = vec![spec.parse().unwrap()];
            let options = Options {
                measure_cost: false,
                ..Options::new(rate.parse().unwrap(), specs)
            };
            let comparison = compare(capture(), &options, &mut ()).unwrap();
            match short_targets(&comparison, &options)? {
                Reason::ShortTargets { better, .. } => Some(better.into_iter().collect()),
                other => panic!("{other:?}"),
            }
        };
        // A packet of 200 bytes.
        assert_eq!(of("fifo", "100kbit"), None::<Vec<String>>);
        assert_eq!(of("codel", "1mbit"), None);
        assert_eq!(
            of("codel", "100kbit"),
            Some(vec!["'codel target 16ms'".to_owned()])
        );
        let linux = "'fq_codel linux target 160ms interval 1600ms'";
        assert_eq!(of("fq_codel linux", "10kbit"), Some(vec![linux.to_owned()]));
        assert_eq!(of("codel", "1kbit"), None, "more than a second");
    }
}

//! The verdict in words: the answer, then the reasons.

use roundelay_advice::{Cause, Fate, OtherWinner, Reason, Share, Wait, Worst};
use roundelay_metrics::units::{counted, in_number, percent, rate, seconds, significant};
use roundelay_trace::{Kind, KindOutcome};

use super::shapers::handicap;
use super::{reacting, why_not};

/// Most disciplines named as about as good as the best one.
const NAMED: usize = 4;

/// What limits a verdict, beside the note on the highest rate.
const BEHIND_THE_BOTTLENECK: &str = "The capture may lie behind the bottleneck, as a note says: \
    these figures lack the waiting there.";

pub(super) fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::NothingGetsThrough => {
            "Nothing gets through, whichever discipline it is.".to_owned()
        }
        Reason::NoContention { spec } => {
            format!(
                "Nothing contends for this link: {spec} will do, so leave the queue there as it is."
            )
        }
        Reason::AllAlike { spec } => {
            format!("All of these serve this traffic about equally, so {spec} will do.")
        }
        Reason::Serves {
            spec,
            is_alone,
            light,
        } => serves(spec, *is_alone, light),
        Reason::OnlyBulk { spec } => {
            format!("Even under {spec}, only bulk flows get any packet through.")
        }
        Reason::Alone {
            flow,
            spec,
            loss,
            more,
            delay,
        } => alone(flow, spec, *loss, more.as_ref(), *delay),
        Reason::Divides {
            spec,
            least,
            fairer,
            delay,
        } => divides(spec, *least, fairer.as_ref(), *delay),
        Reason::JudgedByHost {
            specs,
            least,
            other,
            host,
        } => by_host(specs, *least, other.as_ref(), host),
        Reason::Handicap(slower) => handicap(slower),
        Reason::HurtsBulk {
            spec,
            flow,
            least,
            best,
            winner,
        } => format!(
            "{spec} hurts bulk: {flow} gets {} of its fair share, where each flow gets at least \
             {} under {winner}.",
            percent(*least),
            percent(*best)
        ),
        Reason::LocksOut { spec, kind, flows } => format!(
            "{spec} hurts {}: nothing of them gets through.",
            who(*kind, *flows)
        ),
        Reason::HurtsOne { spec, kind, worst } => format!(
            "{spec} hurts {}: {} has {}, against {}.",
            kind.name(),
            worst.flow,
            fate(worst.theirs),
            fate(worst.ours)
        ),
        Reason::Hurts { .. } => hurts(reason),
        Reason::Peers { specs, told } => peers(specs, told.as_ref()),
        Reason::OtherSeeds {
            spec,
            seed,
            winners,
            seeds,
        } => other_seeds(spec, *seed, winners, *seeds),
        Reason::Standout {
            flow,
            shortest,
            longest,
        } => format!(
            "But one flow differs: the p99 delay of {flow} is {} under {} and {} under {}.",
            seconds(shortest.p99),
            shortest.spec,
            seconds(longest.p99),
            longest.spec
        ),
        Reason::NotForAPort { spec, obstacle } => {
            format!("But {spec} {}.", why_not::obstacle(*obstacle))
        }
        Reason::Barred { spec, obstacle } => format!(
            "{spec} would do less harm, but {}.",
            why_not::obstacle(*obstacle)
        ),
        Reason::Lower { lower, but } => why_not::sentence(lower, but),
        Reason::Loses {
            spec,
            loss,
            cause,
            is_answered,
        } => loses(spec, *loss, *cause, *is_answered),
        Reason::Marks { spec, part } => format!(
            "{spec} marks {} of all packets to signal congestion; TCP senders would slow down in \
             answer, which a replay cannot show.",
            percent(*part)
        ),
        Reason::Changes {
            spec,
            other,
            changes,
            loss,
            replicas,
        } => reacting::changes(spec, other, changes, *loss, *replicas),
        Reason::ReplayAgrees {
            spec,
            reacting,
            replayed,
        } => reacting::agrees(spec, *reacting, *replayed),
        Reason::ReplayParts {
            replayed,
            spec,
            trust,
            quic,
        } => reacting::parts(replayed, spec, *trust, *quic),
        Reason::Open { spec, ends } => reacting::open(spec, ends),
        Reason::NothingWantedMore => reacting::NOTHING_WANTED_MORE.to_owned(),
        Reason::Reorders {
            spec,
            packets,
            part,
        } => {
            let packets = in_number(
                *packets,
                "{packet leaves after a later one of its flow|packets leave after a later one of \
                 their flow}",
            );
            let part = percent(*part);
            format!("{spec} reorders: {packets} ({part}), which TCP receivers may take for losses.")
        }
        Reason::CostsMore {
            spec,
            nanos,
            other,
            theirs,
        } => format!(
            "{spec} costs {} ns a packet on this machine and {other} {}. In Linux, users of \
             LibreQoS report 2.5 to 3 Gbit/s of cake with one core of a server; a home router has \
             less.",
            significant(*nanos),
            significant(*theirs)
        ),
        Reason::DifferentBuffers => {
            "The disciplines had different buffers; --buffer gives all the same buffer.".to_owned()
        }
        Reason::BehindTheBottleneck => BEHIND_THE_BOTTLENECK.to_owned(),
        Reason::OtherDirection(opposite) => format!(
            "The other direction, {} on average, is left out: {} compares it.",
            rate(opposite.rate),
            opposite.options.join(" ")
        ),
        Reason::PossibleCalls {
            flows,
            has_priority,
        } => possible_calls(*flows, *has_priority),
        Reason::ShortTargets {
            packet,
            seconds: time,
            better,
        } => format!(
            "A packet of {packet} bytes takes {} on this link, longer than a target of CoDel \
             here: two packets in a queue count as congestion. Compare with {} (RFC 8290, section \
             5.2.2).",
            seconds(*time),
            Vec::from_iter(better.iter().map(String::as_str)).join(", "),
        ),
        Reason::NoCommands { spec, why } => format!("No tc commands for {spec}: {why}."),
    }
}

/// What each kind gets under the best discipline.
fn serves(spec: &str, is_alone: bool, light: &[KindOutcome]) -> String {
    let what = if is_alone {
        format!("Under {spec}")
    } else {
        format!("{spec} serves this traffic best:")
    };
    let mut waits = Vec::new();
    let mut lost = Vec::new();
    for outcome in light {
        if let Some(wait) = outcome.p99 {
            let who = who(outcome.kind, outcome.flows);
            waits.push(format!("{} for {who}", seconds(wait)));
        }
        if outcome.loss > 0.0 {
            lost.push(format!(
                "{} of {}",
                percent(outcome.loss),
                outcome.kind.name()
            ));
        }
    }
    let waits = waits.join(", ");
    if lost.is_empty() {
        return format!(
            "{what} 99% of the packets are through within {waits}; none of these is lost."
        );
    }
    format!(
        "{what} 99% of the packets that get through take no more than {waits}; losses: {}.",
        lost.join(", ")
    )
}

fn alone(flow: &str, spec: &str, loss: f64, more: Option<&Share>, delay: f64) -> String {
    let against = match more {
        Some(more) => format!(", against {} under {}", percent(more.part), more.spec),
        None => String::new(),
    };
    format!(
        "{flow} is alone, so there is nothing to divide: {spec} loses {}{against}, {}.",
        percent(loss),
        within(delay)
    )
}

fn divides(spec: &str, least: f64, fairer: Option<&Share>, delay: f64) -> String {
    let (does, against) = match fairer {
        Some(fairer) => (
            "serves this traffic best",
            format!(" ({} under {})", percent(fairer.part), fairer.spec),
        ),
        None => ("divides the link best", String::new()),
    };
    format!(
        "{spec} {does}: each flow asks for more than its fair share at times and gets at least \
         {} of it{against}, {}.",
        percent(least),
        within(delay)
    )
}

fn by_host(specs: &[String], least: f64, other: Option<&Share>, host: &str) -> String {
    let verbs = match specs.len() {
        1 => ["shares", "is"],
        _ => ["share", "are"],
    };
    let [share, is] = verbs;
    let text = format!(
        "{} {share} the link by host and {is} judged by that: each host gets at least {} of its \
         fair share.",
        listed(specs),
        percent(least)
    );
    match other {
        Some(Share { spec, part }) => format!(
            "{text} The others are judged by flow: under {spec}, {host} gets {} of what a host is \
             due.",
            percent(*part)
        ),
        None => text,
    }
}

fn within(delay: f64) -> String {
    format!(
        "99% of the packets that get through within {}",
        seconds(delay)
    )
}

/// `calls and games (3 flows)`.
fn who(kind: Kind, flows: usize) -> String {
    format!("{} ({})", kind.name(), counted(flows as u64, "flow"))
}

/// Whom the worst discipline hurts, how much, and which of them it hurts most.
fn hurts(reason: &Reason) -> String {
    let Reason::Hurts {
        spec,
        kind,
        flows,
        wait,
        factor,
        shares_one_queue,
        loss,
        worst,
    } = reason
    else {
        return String::new();
    };
    let mut text = format!("{spec} hurts {}: {}", who(*kind, *flows), seconds(*wait));
    if let Some(factor) = factor {
        text += &format!(", {} times as long", significant(*factor));
        if *shares_one_queue {
            text += ", because all flows share one queue";
        }
    }
    if let Some(loss) = loss {
        text += &format!(", and {} of their packets are lost", percent(*loss));
    }
    text += ".";
    if let Some(Worst { flow, theirs, ours }) = worst {
        let [theirs, ours] = [*theirs, *ours].map(fate);
        text += &format!(" The worst is {flow}: {theirs}, against {ours}.");
    }
    text
}

/// `1.40 s and 3.0% lost`.
fn fate(Fate { p99, loss, drops }: Fate) -> String {
    match p99 {
        Some(wait) if loss > 0.0 => format!("{} and {} lost", seconds(wait), percent(loss)),
        Some(wait) => seconds(wait),
        None if drops == 1 => "its only packet is lost".to_owned(),
        None => "nothing gets through".to_owned(),
    }
}

fn loses(spec: &str, loss: f64, cause: Cause, senders_react: bool) -> String {
    let loss = percent(loss);
    let why = because(cause);
    if senders_react {
        return format!("{spec} drops {loss} of all packets {why}.");
    }
    format!(
        "{spec} drops {loss} of all packets {why}; TCP senders would slow down in answer, which a \
         replay cannot show."
    )
}

fn peers(specs: &[String], waits: Option<&[Wait; 2]>) -> String {
    let named = &specs[..specs.len().min(NAMED)];
    let others = specs.len() - named.len();
    let more = if others > 0 {
        format!(" and {others} more")
    } else {
        String::new()
    };
    let peers = format!("About as good: {}{more}", named.join(", "));
    match waits {
        Some([ours, theirs]) => format!(
            "{peers}; but 99% of all packets get through in {} with {} and in {} with {}.",
            seconds(ours.p99),
            ours.spec,
            seconds(theirs.p99),
            theirs.spec
        ),
        None => peers + ".",
    }
}

/// Most seeds named for a winner.
const NAMED_SEEDS: usize = 3;

fn other_seeds(spec: &str, seed: u64, winners: &[OtherWinner], seeds: usize) -> String {
    let mut others = Vec::new();
    for winner in winners {
        let mut named = Vec::new();
        for seed in winner.seeds.iter().take(NAMED_SEEDS) {
            named.push(seed.to_string());
        }
        let more = winner.seeds.len() - named.len();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        let noun = if winner.seeds.len() == 1 {
            "seed"
        } else {
            "seeds"
        };
        others.push(format!("{} with {noun} {}", winner.spec, listed(&named)));
    }
    format!(
        "That depends on the seed: {spec} is best with seed {seed}, but {} (of {seeds} tried). A \
         real queue draws its hashes and drops anew, so choose one that does well with most seeds \
         (--seeds).",
        listed(&others)
    )
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

const fn because(cause: Cause) -> &'static str {
    match cause {
        Cause::Early => "to signal congestion",
        Cause::Refused => "because these exceed its own limits",
        Cause::Full => "because its buffer is full",
    }
}

fn possible_calls(flows: usize, has_priority: bool) -> String {
    let flows = if flows == 1 {
        "1 UDP flow of short packets asks for more than its fair share and counts".to_owned()
    } else {
        format!("{flows} UDP flows of short packets ask for more than their fair share and count")
    };
    let then = if has_priority {
        ", which priority reads"
    } else {
        ", and compare priority"
    };
    format!(
        "{flows} as bulk. A queue cannot tell a call among these: mark calls with the code point \
         EF{then}."
    )
}

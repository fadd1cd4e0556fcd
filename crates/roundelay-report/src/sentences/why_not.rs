//! Why a discipline with a lower figure was not chosen, in words.

use roundelay_advice::{But, Equality, Fate, Instead, Lower, Obstacle, Unfairness};
use roundelay_metrics::units::{percent, seconds, significant};
use roundelay_trace::Kind;

/// `qfq delays light flows less than drr (17.3 ms against 18.1 ms), but ..`
pub(super) fn sentence(lower: &Lower, but: &But) -> String {
    let Lower {
        of_light,
        theirs,
        ours,
    } = lower;
    let whose = if *of_light {
        "delays light flows less"
    } else {
        "delays packets less"
    };
    format!(
        "{} {whose} than {} ({} against {}), but {}.",
        theirs.spec,
        ours.spec,
        seconds(theirs.p99),
        seconds(ours.p99),
        reason(but)
    )
}

/// Text after the name of a discipline that is not for a port.
pub(super) const fn obstacle(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Yardstick => "is there to compare others with, not for a port",
        Obstacle::Sizes => "needs to know how long each flow will be, which no port does",
        Obstacle::Classes => "orders by class, and all packets of this capture have the same",
        Obstacle::Slack => "needs slack, and no packet of this capture has any",
        Obstacle::Deadlines => "needs deadlines, and no packet of this capture has one",
    }
}

fn reason(but: &But) -> String {
    match but {
        But::Obstacle(met) => obstacle(*met).to_owned(),
        But::Unimportant(then) => {
            format!("the difference does not matter here, and {}", instead(then))
        }
        But::Unfair(shares) => unfair(shares),
        But::LocksOut(kind) => format!("nothing gets through of {}", kind.name()),
        But::Loses(kind, loss) => format!(
            "loses {} of the packets of {}{}",
            percent(*loss),
            kind.name(),
            cost_of_a_loss(*kind)
        ),
        But::Delays {
            kind,
            flow,
            theirs,
            ours,
        } => {
            let name = kind.name();
            let whose = match flow {
                Some(flow) => format!("{flow}, the worst of {name},"),
                None => name.to_owned(),
            };
            format!(
                "delays {whose} more ({} against {} under {})",
                seconds(*theirs),
                seconds(ours.p99),
                ours.spec
            )
        }
        But::MoreHarm { theirs, ours } => format!(
            "does {} times the least possible harm to the kind of flows that suffers most, where \
             {} does {} times",
            significant(*theirs),
            ours.spec,
            significant(ours.part)
        ),
        But::Equal(why, then) => format!("{}, and {}", equal(why), instead(then)),
    }
}

const fn cost_of_a_loss(kind: Kind) -> &'static str {
    match kind {
        Kind::Call => ", and no call sends a packet again",
        Kind::Dns | Kind::Web => ", and a loss costs its sender a second of waiting or more",
        Kind::Other | Kind::Acknowledgements | Kind::Bulk => "",
    }
}

fn unfair(Unfairness { theirs, ours }: &Unfairness) -> String {
    format!(
        "leaves a flow {} of its fair share, where each gets at least {} under {}",
        percent(*theirs),
        percent(ours.part),
        ours.spec
    )
}

fn equal(why: &Equality) -> String {
    match why {
        Equality::Close {
            factor,
            with_losses,
        } => {
            let losses = if *with_losses {
                ", losses counted in"
            } else {
                ""
            };
            format!("less than a factor of {factor} between the two counts as none{losses}")
        }
        Equality::Negligible(most) => {
            format!(
                "a delay of less than {} counts as none here",
                seconds(*most)
            )
        }
        Equality::CloseInHarm {
            factor,
            theirs,
            ours,
        } => format!(
            "less than a factor of {factor} in the harm to the kind of flows that suffers most \
             counts as none ({} times the least possible under {}, {} times under {})",
            significant(theirs.part),
            theirs.spec,
            significant(ours.part),
            ours.spec
        ),
    }
}

/// What decided in place of harm.
fn instead(then: &Instead) -> String {
    match then {
        Instead::NoCommands => "no tc commands are known for it".to_owned(),
        Instead::Unfair(shares) => format!("it {}", unfair(shares)),
        Instead::LessHarm { spec, ours, theirs } => format!(
            "{spec} does less harm to all packets together ({} against {})",
            all_packets(*ours),
            all_packets(*theirs)
        ),
        Instead::Reorders => "it reorders packets".to_owned(),
        Instead::MoreMemory => "it takes more memory".to_owned(),
        Instead::NamedFirst(spec) => format!("{spec} was named first"),
    }
}

/// `99% within 1.40 s, 3.0% lost`.
fn all_packets(Fate { p99, loss, .. }: Fate) -> String {
    let within = match p99 {
        Some(wait) => format!("99% within {}", seconds(wait)),
        None => "nothing gets through".to_owned(),
    };
    if loss > 0.0 {
        format!("{within}, {} lost", percent(loss))
    } else {
        within
    }
}

//! The commands that set a discipline up on Linux.

use roundelay::schedulers::{AnyDiscipline, Spec};
use roundelay::{Limit, Rate};

use crate::classifier::FlowBy;

/// Classes that flows are hashed into, for disciplines that `tc` wants classes for.
const CLASSES: u32 = 64;

/// One command a line, `$DEV` standing for the interface; none where Linux does not have the discipline.
///
/// A shaper (htb) at the link's rate makes the queue build up here instead of in the device behind, so that the discipline has something to
/// order.
pub(crate) fn commands(spec: &Spec, limit: Limit, rate: Rate, flow_by: FlowBy) -> Vec<String> {
    let Some(leaf) = leaf(spec, limit) else { return Vec::new() };
    let mut lines = vec![
        "tc qdisc replace dev $DEV root handle 1: htb default 1".to_owned(),
        format!("tc class replace dev $DEV parent 1: classid 1:1 htb rate {rate}"),
        format!("tc qdisc replace dev $DEV parent 1:1 handle 10: {leaf}"),
    ];
    if let Some(class) = class(&spec.discipline) {
        lines
            .push(format!("for i in $(seq 1 {CLASSES}); do tc class replace dev $DEV parent 10: classid 10:$(printf %x $i) {class}; done"));
        lines.extend(filter(flow_by));
    }
    lines
}

/// The discipline as `tc` writes it.
fn leaf(spec: &Spec, limit: Limit) -> Option<String> {
    let packets = || if limit.packets == u64::MAX { String::new() } else { format!(" limit {}", limit.packets) };
    match &spec.discipline {
        AnyDiscipline::Fifo(_) if limit.bytes != u64::MAX => Some(format!("bfifo limit {}", limit.bytes)),
        AnyDiscipline::Fifo(_) => Some(format!("pfifo{}", packets())),
        AnyDiscipline::Drr(_) => Some("drr".to_owned()),
        AnyDiscipline::Qfq(_) => Some("qfq".to_owned()),
        AnyDiscipline::Sfq(_) => Some(format!("{}{}", spec.discipline, packets())),
        AnyDiscipline::FqCodel(_) if limit.bytes != u64::MAX => {
            Some(format!("{}{} memory_limit {}", spec.discipline, packets(), limit.bytes))
        }
        AnyDiscipline::FqCodel(_) => Some(format!("{}{}", spec.discipline, packets())),
        _ => None,
    }
}

fn class(discipline: &AnyDiscipline) -> Option<String> {
    match discipline {
        AnyDiscipline::Drr(config) => Some(format!("drr quantum {}", config.quantum)),
        AnyDiscipline::Qfq(_) => Some("qfq weight 1 maxpkt 1514".to_owned()),
        _ => None,
    }
}

/// Spreads flows over the classes.
fn filter(flow_by: FlowBy) -> Option<String> {
    let keys = match flow_by {
        FlowBy::FiveTuple => "src,dst,proto,proto-src,proto-dst",
        FlowBy::Source => "src",
        FlowBy::Destination => "dst",
        FlowBy::Dscp => return None,
    };
    Some(format!(
        "tc filter replace dev $DEV parent 10: protocol all prio 1 handle 1 flow hash keys {keys} divisor {CLASSES} baseclass 10:1"
    ))
}

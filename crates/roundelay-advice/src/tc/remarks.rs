//! Remarks behind `tc` commands, as comments of the script. They say where Linux differs from the
//! comparison.

use roundelay::Limit;
use roundelay::schedulers::{AnyDiscipline, Linux, LinuxFlows, LinuxLimit, sfq};
use roundelay_metrics::units::counted;
use roundelay_trace::FlowBy;

use super::distinctions::Distinctions;
use super::numbers::{FULL_PACKET, MOST_IN_A_TURN, in_packets};
use super::weights::{self, CLASSES};

/// Bytes of the smallest Ethernet frame. A smaller quantum is a unit of weight, not a turn.
const SMALL_QUANTUM: u64 = 64;
/// What Linux's drr and ets take in place of a smaller quantum, in bytes. Seen in 6.1.192.
const LEAST_QUANTUM: u32 = 256;

/// A remark as a line of a script.
pub(super) fn comment(remark: String) -> String {
    format!("# {remark}")
}

/// How the commands differ from the comparison.
pub(super) fn remarks(
    discipline: &AnyDiscipline,
    limit: Limit,
    distinctions: &Distinctions<'_>,
) -> Vec<String> {
    let flows = match discipline.info().linux {
        Linux::Qdisc { flows, .. } => flows,
        Linux::Absent => LinuxFlows::Unread,
    };
    let has_classes = flows == LinuxFlows::Classes;
    let mut remarks = Vec::new();
    if has_classes {
        remarks.push(of_classes(distinctions));
    }
    remarks.extend(of_rules(discipline));
    remarks.extend(of_discipline(discipline));
    if has_classes && distinctions.weighted && distinctions.flow_by != FlowBy::Dscp {
        remarks.push(match distinctions.lost_weights(discipline) {
            Some(lost) => lost,
            None => format!(
                "each rule's flows share {} classes of its weight each",
                weights::CLASSES_A_RULE
            ),
        });
    }
    remarks.extend(of_quantum(discipline, distinctions));
    remarks.extend(of_least_quantum(discipline, distinctions));
    if has_bands(discipline) && distinctions.prioritised {
        remarks.push(
            "classes are by code point here: packets with another priority by a rule need filters"
                .to_owned(),
        );
    }
    if flows == LinuxFlows::Hashed
        && !matches!(
            distinctions.flow_by,
            FlowBy::FiveTuple | FlowBy::Inner | FlowBy::Outer
        )
    {
        remarks.push(
            "flows are told apart by addresses, protocol and ports there, not as in the comparison"
                .to_owned(),
        );
    }
    remarks.extend(of_limit(discipline, limit));
    remarks
}

/// Whether the qdisc has bands, which are made with it, instead of classes, which are added.
pub(super) fn has_bands(discipline: &AnyDiscipline) -> bool {
    matches!(
        discipline,
        AnyDiscipline::Priority(_) | AnyDiscipline::Ets(_)
    )
}

/// Remark on a qdisc's classes, each of which has a queue.
fn of_classes(distinctions: &Distinctions<'_>) -> String {
    let flows = distinctions.flows;
    if distinctions.flow_by == FlowBy::Dscp {
        return "each class has a queue of its own (tc's default), where all shared one buffer in \
                the comparison"
            .to_owned();
    }
    let hashed = if flows > CLASSES as usize {
        format!(
            "{flows} flows are hashed into {CLASSES} classes: about {} flows share the part of one",
            flows.div_ceil(CLASSES as usize)
        )
    } else {
        format!("flows are hashed into {CLASSES} classes")
    };
    format!(
        "{hashed}, with a queue each (tc's default), where each flow had a class in the \
         comparison, and all shared one buffer"
    )
}

/// Remark on drr's quanta in bytes, if they leave next to nothing of the link to flows without a
/// rule.
fn of_quantum(discipline: &AnyDiscipline, distinctions: &Distinctions<'_>) -> Option<String> {
    let AnyDiscipline::Drr(config) = discipline else {
        return None;
    };
    let quantum = u64::from(config.quantum) * u64::from(distinctions.code_points.default);
    if !distinctions.weighted || quantum >= SMALL_QUANTUM {
        return None;
    }
    Some(format!(
        "flows without a rule have a quantum of {}: a last rule for these, with a weight of 1514, \
         gives them packets",
        counted(quantum, "byte")
    ))
}

/// Remark on a class or band with a quantum that Linux does not take.
fn of_least_quantum(discipline: &AnyDiscipline, distinctions: &Distinctions<'_>) -> Option<String> {
    let mut least = u32::MAX;
    match discipline {
        AnyDiscipline::Drr(config) => {
            let weights = distinctions.code_points.weights;
            let weight = weights.into_iter().min().unwrap_or(1);
            least = config.quantum.saturating_mul(weight);
        }
        AnyDiscipline::Ets(config) => {
            for band in 0..config.number_of_bands() {
                least = least.min(config.quantum_of(band).unwrap_or(u32::MAX));
            }
        }
        _ => {}
    }
    (least < LEAST_QUANTUM).then(|| {
        format!(
            "Linux 6.1.192 takes a quantum below {LEAST_QUANTUM} bytes for {LEAST_QUANTUM}, so \
             the shares there are others: write all quanta larger, in the same ratio"
        )
    })
}

pub(super) fn of_discipline(discipline: &AnyDiscipline) -> Option<String> {
    match discipline {
        AnyDiscipline::Qfq(_) => Some(
            "Linux's qfq is QFQ+ (since 3.8), which serves up to 8 classes in one turn".to_owned(),
        ),
        AnyDiscipline::QfqPlus(config) if config.aggregate == 1 => Some(
            "a device without a transmit queue, as a bridge, ignores this: qfq then serves up to \
             8 classes in one turn"
                .to_owned(),
        ),
        AnyDiscipline::QfqPlus(config) if config.linux => None,
        AnyDiscipline::QfqPlus(config) => {
            let here = config.aggregate;
            let most = 1 << here.min(MOST_IN_A_TURN).ilog2();
            (most != here).then(|| {
                format!(
                    "Linux's qfq serves up to {most} classes in one turn, where the comparison \
                     had {here}"
                )
            })
        }
        AnyDiscipline::Priority(_) | AnyDiscipline::Ets(_) => Some(
            "a queue of this length for each class, where classes shared one buffer in the \
             comparison"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Remark on details in which the kernel differs from the papers.
pub(super) fn of_rules(discipline: &AnyDiscipline) -> Option<String> {
    let follows_paper = match discipline {
        AnyDiscipline::Codel(config) => !config.linux,
        AnyDiscipline::FqCodel(config) => !config.linux,
        AnyDiscipline::QfqPlus(config) => !config.linux,
        AnyDiscipline::Sfq(config) => !config.linux,
        _ => false,
    };
    if !follows_paper {
        return None;
    }
    Some(format!(
        "simulated as in the paper. Linux differs in details, so run '{} linux' before you deploy",
        discipline.name()
    ))
}

/// Remark on a qdisc that does not limit both packets and bytes.
fn of_limit(discipline: &AnyDiscipline, limit: Limit) -> Option<String> {
    let Linux::Qdisc { limit: counts, .. } = discipline.info().linux else {
        return None;
    };
    let in_bytes = limit.bytes != u64::MAX;
    match (counts, discipline) {
        (LinuxLimit::Bytes, AnyDiscipline::Red(config)) if limit.packets != u64::MAX => {
            Some(format!(
                "the buffer is counted in bytes there: a packet for {} of them",
                config.avpkt
            ))
        }
        (LinuxLimit::Bytes, AnyDiscipline::Tbf(_)) if limit.packets != u64::MAX => Some(format!(
            "the buffer is counted in bytes there: {FULL_PACKET} for a packet"
        )),
        (LinuxLimit::Packets, _) if in_bytes => Some(format!(
            "the buffer is counted in packets there: one for {FULL_PACKET} bytes"
        )),
        (_, AnyDiscipline::Sfq(config)) => of_depth(config, limit),
        (LinuxLimit::Either, _) if in_bytes && limit.packets != u64::MAX => Some(format!(
            "the limit of {} packets is lost: a fifo counts packets or bytes there, not both",
            limit.packets
        )),
        _ => None,
    }
}

/// Remark on the limits of sfq's buckets.
fn of_depth(config: &sfq::Config, limit: Limit) -> Option<String> {
    let most = sfq::Config::LINUX_DEPTH;
    let here = config.depth;
    if here > most && !config.linux {
        return Some(format!(
            "a bucket holds {most} packets at most there, where one held up to {here} in the \
             comparison"
        ));
    }
    let is_small = in_packets(limit) < 2;
    is_small.then(|| "the limit is 2 packets there, the smallest of sfq".to_owned())
}

#[cfg(test)]
mod tests {
    use roundelay::QueueSpec;

    use super::*;

    /// Each qdisc is told how its buffer is counted where it is not as in the comparison.
    #[test]
    fn limits_that_are_counted_otherwise_are_told() {
        for (text, expected) in [
            (
                "red limit 100p",
                "counted in bytes there: a packet for 1000",
            ),
            ("red limit 100kb", ""),
            (
                "tbf rate 5mbit limit 100p",
                "counted in bytes there: 1514 for a packet",
            ),
            ("tbf rate 5mbit limit 100kb", ""),
            (
                "codel limit 100kb",
                "counted in packets there: one for 1514 bytes",
            ),
            ("codel limit 100", ""),
            ("sfq limit 100", ""),
            ("sfq limit 2", ""),
            ("sfq limit 1", "the limit is 2 packets there"),
            ("sfq limit 1000 depth 127", ""),
            (
                "sfq limit 1000 depth 128",
                "a bucket holds 127 packets at most there",
            ),
            ("sfq limit 1000 depth 128 linux", ""),
            ("fifo limit 100", ""),
            ("fifo limit 100kb", ""),
            ("lifo limit 100kb", ""),
        ] {
            let spec: QueueSpec = text.parse().unwrap();
            let remark = of_limit(&spec.discipline, spec.limit_or_default()).unwrap_or_default();
            assert!(
                remark.contains(expected) && remark.is_empty() == expected.is_empty(),
                "{text}: {remark}"
            );
        }
        let fifo: QueueSpec = "fifo".parse().unwrap();
        let both = Limit {
            packets: 50,
            bytes: 9000,
        };
        let remark = of_limit(&fifo.discipline, both).expect("a remark");
        assert!(
            remark.contains("the limit of 50 packets is lost"),
            "{remark}"
        );
    }
}

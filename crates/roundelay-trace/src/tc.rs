//! The commands that set a discipline up on Linux.

use roundelay::schedulers::{AnyDiscipline, Spec};
use roundelay::{Bytes, Duration, Limit, Rate};

use crate::classifier::FlowBy;

/// Classes that flows are hashed into, for disciplines that `tc` wants classes for.
const CLASSES: u32 = 64;
/// Bytes of a full Ethernet frame.
const FULL_PACKET: u64 = 1514;
const SECOND: u64 = 1_000_000_000_000;
const MICROSECOND: u64 = 1_000_000;

/// One command a line, `$DEV` standing for the interface; none where Linux does not have the discipline.
///
/// A shaper (htb) at the link's rate makes the queue build up here instead of in the device behind, so that the discipline has something to
/// order.
pub(crate) fn commands(spec: &Spec, limit: Limit, rate: Rate, flow_by: FlowBy, weighted: bool) -> Vec<String> {
    let Some(leaf) = leaf(spec, limit) else { return Vec::new() };
    let mut lines = vec![
        "# DEV is the interface that this traffic leaves by; its present root qdisc goes".to_owned(),
        "tc qdisc del dev $DEV root 2> /dev/null || true".to_owned(),
        "tc qdisc add dev $DEV root handle 1: htb default 1".to_owned(),
        format!("tc class add dev $DEV parent 1: classid 1:1 htb rate {}", at_least_a_byte(rate)),
        format!("tc qdisc add dev $DEV parent 1:1 handle 10: {leaf}"),
    ];
    if let Some(class) = class(&spec.discipline) {
        lines.push(format!("for i in $(seq 1 {CLASSES}); do tc class add dev $DEV parent 10: classid 10:$(printf %x $i) {class}; done"));
        lines.extend(filters(flow_by));
        lines.extend(remarks(&spec.discipline, weighted));
    }
    lines
}

/// What the commands do not set up as it was compared.
fn remarks(discipline: &AnyDiscipline, weighted: bool) -> Vec<String> {
    let buffer =
        format!("# {CLASSES} classes with a queue of their own each (tc's default), where flows shared one buffer in the comparison");
    let qfq = matches!(discipline, AnyDiscipline::Qfq(_))
        .then_some("# Linux's qfq is QFQ+ (since 3.8), which serves up to 8 classes in one turn");
    let weights =
        weighted.then_some("# all classes weigh the same here: give those of heavier flows their weight and filters of their own");
    [Some(buffer.as_str()), qfq, weights].into_iter().flatten().map(str::to_owned).collect()
}

/// `tc` counts rates in bytes and takes none below one.
fn at_least_a_byte(rate: Rate) -> Rate {
    Rate::from_bits_per_second(8).map_or(rate, |byte| rate.max(byte))
}

/// The discipline as `tc` reads it.
fn leaf(spec: &Spec, limit: Limit) -> Option<String> {
    let name = || tc_words(&spec.discipline.to_string());
    match &spec.discipline {
        AnyDiscipline::Fifo(_) if limit.bytes != u64::MAX => Some(format!("bfifo limit {}", number(limit.bytes))),
        AnyDiscipline::Fifo(_) => Some(format!("pfifo{}", packets(limit))),
        AnyDiscipline::Drr(_) => Some("drr".to_owned()),
        AnyDiscipline::Qfq(_) => Some("qfq".to_owned()),
        // It counts packets only, and wants room for two.
        AnyDiscipline::Sfq(_) => {
            let whole = if limit.packets == u64::MAX { limit.bytes / FULL_PACKET } else { limit.packets };
            Some(format!("{} limit {}", name(), number(whole.max(2))))
        }
        AnyDiscipline::FqCodel(_) if limit.bytes != u64::MAX => {
            Some(format!("{}{} memory_limit {}", name(), packets(limit), number(limit.bytes)))
        }
        AnyDiscipline::FqCodel(_) => Some(format!("{}{}", name(), packets(limit))),
        _ => None,
    }
}

fn packets(limit: Limit) -> String {
    if limit.packets == u64::MAX { String::new() } else { format!(" limit {}", number(limit.packets)) }
}

/// The largest number that `tc` takes is 2^32 - 1.
fn number(value: u64) -> u64 {
    value.min(u32::MAX.into())
}

/// A discipline's words with their values as `tc` reads them everywhere: sizes in bytes and times in microseconds, without fractions. Of
/// its readers some take no units (`fq_codel quantum`), and one takes whole seconds only (`sfq perturb`).
fn tc_words(written: &str) -> String {
    let mut previous = "";
    let mut words = Vec::new();
    for word in written.split_whitespace() {
        words.push(tc_word(previous, word).unwrap_or_else(|| word.to_owned()));
        previous = word;
    }
    words.join(" ")
}

/// None for a word that stays as it is.
fn tc_word(parameter: &str, word: &str) -> Option<String> {
    if !word.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if word.ends_with('b') {
        return Some(number(word.parse::<Bytes>().ok()?.0).to_string());
    }
    let picos = if word.ends_with('s') { word.parse::<Duration>().ok()?.as_picos() } else { return None };
    Some(if parameter == "perturb" { picos.div_ceil(SECOND).to_string() } else { format!("{}us", picos.div_ceil(MICROSECOND)) })
}

fn class(discipline: &AnyDiscipline) -> Option<String> {
    match discipline {
        AnyDiscipline::Drr(config) => Some(format!("drr quantum {}", config.quantum)),
        AnyDiscipline::Qfq(_) => Some("qfq weight 1 maxpkt 1514".to_owned()),
        _ => None,
    }
}

/// Spreads flows over the classes. A packet that no filter sends to a class is dropped, so every packet must meet one.
fn filters(flow_by: FlowBy) -> Vec<String> {
    let keys = match flow_by {
        FlowBy::FiveTuple => "src,dst,proto,proto-src,proto-dst",
        FlowBy::Source => "src",
        FlowBy::Destination => "dst",
        FlowBy::Dscp => return code_point_filters(),
    };
    vec![format!("tc filter add dev $DEV parent 10: protocol all prio 1 handle 1 flow hash keys {keys} divisor {CLASSES} baseclass 10:1")]
}

/// A class for each code point, of which there are as many as classes; what is not IP goes with the default one.
fn code_point_filters() -> Vec<String> {
    let each = |protocol, priority, field| {
        format!(
            "for i in $(seq 0 63); do tc filter add dev $DEV parent 10: protocol {protocol} prio {priority} u32 match {field} $((i * 4)) 0xfc \
             flowid 10:$(printf %x $((i + 1))); done"
        )
    };
    let rest = "tc filter add dev $DEV parent 10: protocol all prio 3 matchall flowid 10:1".to_owned();
    vec![each("ip", 1, "ip dsfield"), each("ipv6", 2, "ip6 priority"), rest]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf_of(text: &str) -> String {
        let spec: Spec = text.parse().unwrap();
        leaf(&spec, spec.limit_or_default()).unwrap()
    }

    #[test]
    fn values_are_written_as_tc_reads_them() {
        for (text, expected) in [
            ("fifo", "pfifo limit 1000"),
            ("fifo limit 128000b", "bfifo limit 128000"),
            ("fifo limit 8gb", "bfifo limit 4294967295"),
            ("sfq perturb 10s quantum 2kb", "sfq quantum 2048 perturb 10 limit 127"),
            ("sfq perturb 1500ms", "sfq perturb 2 limit 127"),
            ("sfq limit 150kb", "sfq limit 101"),
            ("fq_codel quantum 300b noecn", "fq_codel quantum 300 noecn limit 10240 memory_limit 33554432"),
            ("fq_codel target 1500ns limit 1000", "fq_codel target 2us limit 1000 memory_limit 33554432"),
            ("fq_codel flows 100 limit 1mb", "fq_codel flows 100 memory_limit 1048576"),
        ] {
            assert_eq!(leaf_of(text), expected, "{text}");
        }
    }
}

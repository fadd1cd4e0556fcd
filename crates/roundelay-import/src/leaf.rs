//! Queues without classes: their words as trees write them, and words that trees do not know.

mod words;

use roundelay::{Fault, QueueSpec};

use crate::{faults, units};
use words::{Phrase, Value, both_of_tbf, phrases};

/// A queue in the words of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Such as `fq_codel linux limit 1000`.
    pub(crate) text: String,
    pub(crate) remarks: Vec<String>,
}

/// Words of tc that have no counterpart here, and why.
const LEFT_OUT: [(&str, &str, &str); 27] = [
    ("cake", "split-gso", "packets are split here always"),
    (
        "cake",
        "no-split-gso",
        "packets are split here always, so a burst of a sender is shorter than in Linux",
    ),
    (
        "cake",
        "fwmark",
        "marks are not in packets, so code points choose the tins",
    ),
    (
        "cake",
        "autorate-ingress",
        "the rate here is the one that is written",
    ),
    ("cake", "hard_header_len", ""),
    (
        "fq_codel",
        "ce_threshold_selector",
        "ce_threshold counts for all packets with ECN",
    ),
    ("sfq", "redflowlimit", "sfq has no RED here"),
    ("sfq", "min", "sfq has no RED here"),
    ("sfq", "max", "sfq has no RED here"),
    ("sfq", "avpkt", "sfq has no RED here"),
    ("sfq", "burst", "sfq has no RED here"),
    ("sfq", "probability", "sfq has no RED here"),
    ("sfq", "ecn", "sfq has no RED here"),
    ("sfq", "harddrop", "sfq has no RED here"),
    ("fq", "buckets", "flows never share a bucket here"),
    ("fq", "orphan_mask", "it is about packets without a socket"),
    ("fq", "timer_slack", "time is exact here"),
    (
        "fq",
        "horizon",
        "no packet of a capture has a time to leave",
    ),
    (
        "fq",
        "horizon_cap",
        "no packet of a capture has a time to leave",
    ),
    (
        "fq",
        "horizon_drop",
        "no packet of a capture has a time to leave",
    ),
    ("fq", "defrate", "Linux has no use for it"),
    ("fq", "bands", "fq has one band here"),
    ("fq", "priomap", "fq has one band here"),
    ("fq", "weights", "fq has one band here"),
    ("fq_pie", "memory_limit", ""),
    ("tbf", "mpu", "lengths are those on the link of --link"),
    (
        "tbf",
        "linklayer",
        "lengths are those on the link of --link",
    ),
];

/// Kinds that bring their own limit in Linux when a script sets none. The others take the
/// interface's, much as a leaf without a limit takes the buffer's.
const WITH_OWN_LIMIT: [&str; 7] = ["fq_codel", "fq_pie", "codel", "fq", "pie", "sfq", "cake"];

/// Writes down the default limit, because a leaf without a limit would take the buffer's.
fn own_limit(text: &str) -> String {
    let Ok(spec) = text.parse::<QueueSpec>() else {
        return String::new();
    };
    if spec.limit.is_some() {
        return String::new();
    }
    let limit = spec.limit_or_default();
    if limit.packets < u64::MAX {
        format!(" limit {}", limit.packets)
    } else {
        format!(" limit {}b", limit.bytes)
    }
}

/// The thresholds that tc gives a choke which has none: a quarter of the limit, and a third of
/// that.
fn thresholds_of_choke(words: &[String]) -> String {
    let mut words = words.iter();
    let limit = match words.find(|word| *word == "limit") {
        Some(_) => words.next().and_then(|limit| limit.parse::<u64>().ok()),
        None => None,
    };
    match limit {
        Some(limit) if limit >= 12 => format!(" min {} max {}", limit / 4 / 3, limit / 4),
        _ => String::new(),
    }
}

/// The queue of this kind with these words. None if trees have no such queue without classes.
///
/// # Errors
/// tc refuses one of the words.
pub(crate) fn leaf(kind: &str, words: &[String]) -> Option<Result<Leaf, Fault>> {
    let mut remarks = Vec::new();
    let name = match kind {
        "noqueue" => {
            remarks.push("noqueue keeps no packets, and a tree's leaf does".to_owned());
            "fifo"
        }
        "pfifo_head_drop" => {
            remarks.push("pfifo_head_drop drops the newest packet here, not the oldest".to_owned());
            "fifo"
        }
        "pfifo" | "bfifo" | "fq_codel" | "cake" | "sfq" | "fq" | "fq_pie" | "pie" | "codel"
        | "red" | "choke" | "sfb" | "tbf" => kind,
        _ => return None,
    };
    Some(leaf_of(kind, name, words, remarks))
}

/// The queue with these words. `name` is the kind's name in trees.
fn leaf_of(
    kind: &str,
    name: &str,
    words: &[String],
    mut remarks: Vec<String>,
) -> Result<Leaf, Fault> {
    let phrases = phrases(kind, words, &mut remarks)?;
    check(kind, &phrases)?;
    let with_rules_of_linux = format!("{name} linux");
    let name_here = match with_rules_of_linux.parse::<QueueSpec>() {
        Ok(_) => with_rules_of_linux,
        Err(_) => name.to_owned(),
    };
    let mut text = joined(kind, name_here, &phrases, &mut remarks);
    if kind == "bfifo" && !text.contains(" limit ") {
        text += " limit 1514000";
        remarks.push(
            "bfifo without limit holds txqueuelen packets of the interface's MTU; here 1000 of \
             1514 bytes"
                .to_owned(),
        );
    }
    if WITH_OWN_LIMIT.contains(&kind) {
        text += &own_limit(&text);
    }
    if kind == "choke" && !text.contains(" max ") {
        text += &thresholds_of_choke(words);
    }
    if let Err(error) = text.parse::<QueueSpec>() {
        remarks.push(format!("`{text}` is left out: {error}"));
        text = without_words(name).to_owned();
    }
    Ok(Leaf { text, remarks })
}

/// The queue whose words are left out: its name alone, or a fifo.
fn without_words(name: &str) -> &str {
    // Cake and tbf shape by their words, and without them they would be other queues.
    let needs_words = name == "cake" || name == "tbf";
    if needs_words || name.parse::<QueueSpec>().is_err() {
        return "fifo";
    }
    name
}

/// Checks for words that tc demands, and words that it refuses together.
fn check(kind: &str, phrases: &[Phrase<'_>]) -> Result<(), Fault> {
    if kind != "tbf" {
        return Ok(());
    }
    let has = |names: &[&str]| phrases.iter().any(|phrase| names.contains(&phrase.word));
    if !has(&["rate"]) {
        return Err(faults::missing("tbf", "a rate", "`rate 10mbit`"));
    }
    if !has(&["burst", "buffer", "maxburst"]) {
        return Err(faults::missing("tbf", "a burst", "`burst 15k`"));
    }
    match (has(&["limit"]), has(&["latency"])) {
        (false, false) => {
            let legal = "`limit 30k` or `latency 50ms`";
            Err(faults::missing("tbf", "a limit", legal))
        }
        (true, true) => Err(both_of_tbf("limit", "latency")),
        _ => Ok(()),
    }
}

/// Checks the words of a tbf as tc does.
///
/// # Errors
/// tc refuses one of them.
pub(crate) fn check_tbf(words: &[String]) -> Result<(), Fault> {
    check("tbf", &phrases("tbf", words, &mut Vec::new())?)
}

/// The queue with all those words that trees have.
fn joined(kind: &str, name: String, phrases: &[Phrase<'_>], remarks: &mut Vec<String>) -> String {
    // Tries all words together first, because one may be legal only beside a later one.
    let mut whole = name.clone();
    let mut notes = Vec::new();
    for phrase in phrases {
        whole += &format!(" {}", ours(kind, phrase, &mut notes));
    }
    if whole.parse::<QueueSpec>().is_ok() {
        remarks.extend(notes);
        return whole;
    }
    let mut parts: Vec<(String, String)> = Vec::new();
    for phrase in phrases {
        let written = phrase.written();
        let mut left_out = LEFT_OUT.iter();
        match left_out.find(|(of, word, _)| *of == kind && *word == phrase.word) {
            Some((_, _, "")) => {}
            Some((_, _, why)) => {
                remarks.push(format!("`{written}` of {kind} is left out: {why}"));
            }
            None => parts.push((ours(kind, phrase, remarks), written)),
        }
    }
    let mut text = name;
    while let Some(index) = parts.iter().position(|(part, _)| fits(kind, &text, part)) {
        let (part, _) = parts.remove(index);
        text += &format!(" {part}");
    }
    for (part, written) in parts {
        let why = match format!("{text} {part}").parse::<QueueSpec>() {
            Err(error) => error.to_string(),
            Ok(_) => "it has no counterpart here".to_owned(),
        };
        remarks.push(format!("`{written}` of {kind} is left out: {why}"));
    }
    text
}

/// A word, with its values in units that mean the same here as in tc.
fn ours(kind: &str, phrase: &Phrase<'_>, remarks: &mut Vec<String>) -> String {
    let mut text = match (kind, phrase.word) {
        ("tbf", "buffer" | "maxburst") => "burst",
        ("tbf", "minburst") => "mtu",
        (_, word) => word,
    }
    .to_owned();
    let value = match (kind, phrase.word) {
        // Plain numbers: packets of a burst, and seconds of perturb.
        ("choke" | "red", "burst") | ("sfq", "perturb") => Value::Number,
        _ => phrase.value,
    };
    for word in phrase.values {
        text += &format!(" {}", canonical(value, word, remarks));
    }
    text
}

/// Whether the word may be added.
fn fits(kind: &str, text: &str, added: &str) -> bool {
    // bfifo is legal only with a limit.
    let besides = if kind == "bfifo" && !added.starts_with("limit ") && !text.contains(" limit ") {
        " limit 1514000"
    } else {
        ""
    };
    format!("{text} {added}{besides}")
        .parse::<QueueSpec>()
        .is_ok()
}

/// A value in a unit that means the same here as in tc.
fn canonical(unit: Value, value: &str, remarks: &mut Vec<String>) -> String {
    match unit {
        Value::Rate => match units::rate(value) {
            Some((rate, is_bytes)) => {
                if is_bytes {
                    remarks.push(in_bytes(value, rate));
                }
                rate.to_string()
            }
            None => value.to_owned(),
        },
        // tc reads `15k/8` as a size and a cell length.
        Value::Size => match units::size(value.split('/').next().unwrap_or_default()) {
            Some(bytes) => format!("{bytes}b"),
            None => value.to_owned(),
        },
        Value::Time => match units::time(value) {
            Some(nanos) => {
                let is_bare = value.parse::<f64>().is_ok();
                if is_bare && (1..1_000_000).contains(&nanos) {
                    let written = units::written_time(nanos);
                    remarks.push(format!(
                        "{value} is {written}: tc reads a time without a unit in microseconds; \
                         write {value}ms if milliseconds are meant"
                    ));
                }
                units::written_time(nanos)
            }
            None => value.to_owned(),
        },
        Value::None | Value::Number | Value::Words(_) => value.to_owned(),
    }
}

/// A remark that the rate counts bytes.
pub(crate) fn in_bytes(value: &str, rate: roundelay::Rate) -> String {
    let lower = value.to_ascii_lowercase();
    let bits = lower.replace("bps", "bit");
    format!("{value} is {rate}: tc reads bps as bytes a second; write {bits} if bits are meant")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, words: &str) -> (String, Vec<String>) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let leaf = leaf(kind, &words).expect("a queue").expect("words of tc");
        leaf.text.parse::<QueueSpec>().expect("it reads back");
        (leaf.text, leaf.remarks)
    }

    #[test]
    fn words_of_tc_become_those_of_trees() {
        for (kind, words, text) in [
            (
                "fq_codel",
                "limit 1001 target 5ms interval 100ms quantum 300 noecn",
                "fq_codel linux limit 1001 target 5ms interval 100ms quantum 300b noecn",
            ),
            ("sfq", "perturb 10", "sfq linux perturb 10 limit 127"),
            ("fq_codel", "noecn", "fq_codel linux noecn limit 10240"),
            (
                "choke",
                "limit 400 bandwidth 10mbit",
                "choke linux limit 400 bandwidth 10mbit min 33 max 100",
            ),
            ("pfifo", "limit 50", "pfifo limit 50"),
            ("bfifo", "limit 30k", "bfifo limit 30720b"),
            (
                "cake",
                "bandwidth 20Mbit besteffort dual-srchost nat overhead 22 mpu 64",
                "cake linux bandwidth 20mbit besteffort dual-srchost nat overhead 22 mpu 64 limit 4194304b",
            ),
            (
                "cake",
                "bandwidth 1Mbit ack-filter no-split-gso",
                "cake linux bandwidth 1mbit ack-filter limit 4194304b",
            ),
            (
                "tbf",
                "rate 1mbit burst 5k latency 70ms",
                "tbf rate 1mbit burst 5120b latency 70ms",
            ),
            (
                "cake",
                "bandwidth 90000kbit overhead 44 mpu 64 diffserv3 nat besteffort wash nat dual-dsthost ingress",
                "cake linux bandwidth 90mbit overhead 44 mpu 64 besteffort wash nat dual-dsthost ingress limit 4500000b",
            ),
            (
                "cake",
                "bandwidth 18mbit autorate-ingress ack-filter bandwidth 20mbit overhead 44 overhead 18 metro rtt 20ms hosts flows",
                "cake linux ack-filter bandwidth 20mbit overhead 18 rtt 20ms flows limit 4194304b",
            ),
            (
                "fq_codel",
                "limit 1000 limit 300 ecn noecn",
                "fq_codel linux limit 300 noecn",
            ),
        ] {
            assert_eq!(of(kind, words).0, text, "{kind} {words}");
        }
    }

    #[test]
    fn what_trees_do_not_have_is_said() {
        for (kind, words, part) in [
            ("cake", "bandwidth 2mbps", "16mbit"),
            ("fq", "horizon 10s maxrate 5mbit", "time to leave"),
            ("bfifo", "", "txqueuelen"),
            (
                "cake",
                "diffserv3 besteffort",
                "`diffserv3` of cake is left out: tc takes the last",
            ),
            (
                "cake",
                "bandwidth 1mbit unlimited",
                "`bandwidth 1mbit` of cake",
            ),
            ("fq_codel", "limit 9 limit 3", "`limit 9` of fq_codel"),
        ] {
            let (_, remarks) = of(kind, words);
            assert!(
                remarks.iter().any(|remark| remark.contains(part)),
                "{kind} {words}: {remarks:?}"
            );
        }
        assert_eq!(leaf("htb", &[]), None);
        // What is said twice changes nothing.
        assert_eq!(
            of("cake", "bandwidth 1mbit nat nat").1,
            Vec::<String>::new()
        );
    }

    #[test]
    fn words_that_tc_refuses_are_faults() {
        for (kind, words, part) in [
            ("cake", "bandwith 20mbit", "Did you mean `bandwidth`?"),
            ("cake", "bandwidth", "has no value"),
            ("cake", "bandwidth 50%", "a percentage"),
            (
                "fq_codel",
                "limit ten",
                "`limit ten` of fq_codel: expected a whole number",
            ),
            ("fq_codel", "frobnicate 7 limit 3", "expected one of limit"),
            ("fq_codel", "target never", "expected a time"),
            ("pfifo", "limit 10 7", "`7` of pfifo"),
            (
                "tbf",
                "rate 1mbit burst 5k",
                "`limit 30k` or `latency 50ms`",
            ),
            (
                "tbf",
                "rate 1mbit burst 5k limit 9k latency 5ms",
                "expected one of them",
            ),
            (
                "tbf",
                "rate 1mbit rate 2mbit burst 5k limit 9k",
                "expected one of them",
            ),
            ("tbf", "rate 1mbit limit 9k", "has a burst"),
        ] {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let error = leaf(kind, &words).expect("a queue").expect_err("a fault");
            let message = error.message();
            assert!(message.contains(part), "{kind} {words:?}: {message}");
        }
    }
}

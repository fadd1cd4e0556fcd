//! Queues without classes: their words as trees write them, and what trees do not have.

use roundelay::{ConfigError, QueueSpec};

use crate::units;

/// A queue in a tree's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// As in `fq_codel linux limit 1000`.
    pub(crate) text: String,
    pub(crate) remarks: Vec<String>,
}

/// What a word's value counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Rate,
    Size,
    Time,
    Other,
}

/// Words of tc without a counterpart here, the number of their values, and why.
const LEFT_OUT: [(&str, &str, usize, &str); 26] = [
    ("cake", "split-gso", 0, "packets are split here always"),
    (
        "cake",
        "no-split-gso",
        0,
        "packets are split here always, so a burst of a sender is shorter than in Linux",
    ),
    (
        "cake",
        "fwmark",
        1,
        "marks are not in packets, so code points choose the tins",
    ),
    (
        "cake",
        "autorate-ingress",
        0,
        "the rate here is the one that is written",
    ),
    ("cake", "hard_header_len", 0, ""),
    (
        "fq_codel",
        "ce_threshold_selector",
        1,
        "ce_threshold counts for all packets with ECN",
    ),
    ("sfq", "redflowlimit", 1, "sfq has no RED here"),
    ("sfq", "min", 1, "sfq has no RED here"),
    ("sfq", "max", 1, "sfq has no RED here"),
    ("sfq", "avpkt", 1, "sfq has no RED here"),
    ("sfq", "burst", 1, "sfq has no RED here"),
    ("sfq", "probability", 1, "sfq has no RED here"),
    ("sfq", "ecn", 0, "sfq has no RED here"),
    ("sfq", "harddrop", 0, "sfq has no RED here"),
    ("fq", "buckets", 1, "flows never share a bucket here"),
    (
        "fq",
        "orphan_mask",
        1,
        "it is about packets without a socket",
    ),
    ("fq", "timer_slack", 1, "time is exact here"),
    (
        "fq",
        "horizon",
        1,
        "no packet of a capture has a time to leave",
    ),
    (
        "fq",
        "horizon_cap",
        0,
        "no packet of a capture has a time to leave",
    ),
    (
        "fq",
        "horizon_drop",
        0,
        "no packet of a capture has a time to leave",
    ),
    ("fq", "bands", 1, "fq has one band here"),
    ("fq", "priomap", 16, "fq has one band here"),
    ("fq", "weights", 3, "fq has one band here"),
    ("fq_pie", "memory_limit", 1, ""),
    ("tbf", "mpu", 1, "lengths are those on the link of --link"),
    (
        "tbf",
        "linklayer",
        1,
        "lengths are those on the link of --link",
    ),
];

/// Kinds with Linux's own rules behind a word.
const WITH_RULES_OF_LINUX: [&str; 4] = ["fq_codel", "sfq", "codel", "choke"];

/// Kinds whose limit in Linux is their own where a script has none. That of the others is the
/// interface's, as a leaf's without limit is that of the buffer.
const WITH_OWN_LIMIT: [&str; 7] = ["fq_codel", "fq_pie", "codel", "fq", "pie", "sfq", "cake"];

/// The default limit, written down: a leaf without limit has that of the buffer.
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

/// tc's thresholds of a choke without: a quarter of the limit, and a third of that.
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

/// The queue of a kind with these words. None: it is no queue without classes that trees have.
pub(crate) fn leaf(kind: &str, words: &[String]) -> Option<Leaf> {
    let mut remarks = Vec::new();
    let name = match kind {
        "pfifo_fast" => {
            remarks.push(
                "pfifo_fast is a single queue here: Linux has three bands, and each packet's TOS \
                 chooses one"
                    .to_owned(),
            );
            "fifo"
        }
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
    let mut text = name.to_owned();
    if WITH_RULES_OF_LINUX.contains(&kind) {
        text += " linux";
    }
    match at_once(kind, &text, words) {
        Some((whole, noted)) => {
            text = whole;
            remarks.extend(noted);
        }
        None => {
            let mut at = 0;
            while at < words.len() {
                at += take(kind, &words[at..], &mut text, &mut remarks);
            }
        }
    }
    if kind == "bfifo" && !text.contains(" limit ") {
        text += " limit 1514000";
        remarks.push(
            "bfifo without limit holds txqueuelen packets of the interface's MTU; here 1000 of 1514 \
             bytes"
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
        text = if kind == "cake" || kind == "tbf" {
            "fifo".to_owned()
        } else {
            name.to_owned()
        };
        if text.parse::<QueueSpec>().is_err() {
            text = "fifo".to_owned();
        }
    }
    Some(Leaf { text, remarks })
}

/// All words, if a tree has each of them. Some are legal only beside others.
fn at_once(kind: &str, name: &str, words: &[String]) -> Option<(String, Vec<String>)> {
    let mut text = name.to_owned();
    let mut remarks = Vec::new();
    let mut before = "";
    for word in words {
        let value = canonical(unit(kind, before), word, &mut remarks);
        let ours = other_name(kind, &value);
        text += &format!(" {ours}");
        before = other_name(kind, word);
    }
    if text.parse::<QueueSpec>().is_err() {
        return None;
    }
    Some((text, remarks))
}

/// The name here of a word of tc's.
fn other_name<'a>(kind: &str, word: &'a str) -> &'a str {
    match (kind, word) {
        ("tbf", "buffer" | "maxburst") => "burst",
        ("tbf", "minburst") => "mtu",
        _ => word,
    }
}

/// Takes a word with its values, and returns how many words that were.
fn take(kind: &str, words: &[String], text: &mut String, remarks: &mut Vec<String>) -> usize {
    let word = words[0].as_str();
    for (of, name, values, why) in LEFT_OUT {
        if of == kind && name == word {
            let taken = (1 + values).min(words.len());
            if !why.is_empty() {
                let written = words[..taken].join(" ");
                remarks.push(format!("`{written}` of {kind} is left out: {why}"));
            }
            return taken;
        }
    }
    let ours = other_name(kind, word);
    let besides = tries(kind, text);
    if fits(&besides, text, ours) {
        *text += &format!(" {ours}");
        return 1;
    }
    if let Some(value) = words.get(1) {
        let value = canonical(unit(kind, ours), value, remarks);
        let both = format!("{ours} {value}");
        if fits(&besides, text, &both) {
            *text += &format!(" {both}");
            return 2;
        }
    }
    let starts_with_digit =
        |value: &String| value.starts_with(|letter: char| letter.is_ascii_digit());
    let alone = format!("{text} {ours}").parse::<QueueSpec>();
    let is_known = !matches!(alone, Err(ConfigError::UnknownParameter { .. }));
    let has_value = words.get(1).is_some_and(starts_with_digit) || is_known;
    let taken = if has_value { 2.min(words.len()) } else { 1 };
    let written = words[..taken].join(" ");
    let whole = format!("{text} {written}");
    let why = match whole.parse::<QueueSpec>() {
        Err(error) => error.to_string(),
        Ok(_) => "it has no counterpart here".to_owned(),
    };
    remarks.push(format!("`{written}` of {kind} is left out: {why}"));
    taken
}

/// Words that make a queue legal while its own are read one by one.
fn tries(kind: &str, text: &str) -> String {
    match kind {
        "bfifo" if !text.contains(" limit ") => " limit 1514000".to_owned(),
        _ => String::new(),
    }
}

fn fits(besides: &str, text: &str, added: &str) -> bool {
    let besides = if added.starts_with("limit ") {
        ""
    } else {
        besides
    };
    format!("{text} {added}{besides}")
        .parse::<QueueSpec>()
        .is_ok()
}

fn unit(kind: &str, word: &str) -> Unit {
    match (kind, word) {
        ("red" | "choke", "burst") | ("choke", "min" | "max" | "limit") => Unit::Other,
        ("pie", "burst") => Unit::Time,
        ("sfq", "perturb") => Unit::Other,
        (_, "bandwidth" | "maxrate" | "rate" | "peakrate" | "low_rate_threshold") => Unit::Rate,
        ("bfifo" | "tbf" | "red", "limit") => Unit::Size,
        (
            _,
            "quantum" | "initial_quantum" | "memory_limit" | "memlimit" | "min" | "max" | "avpkt"
            | "mtu" | "burst",
        ) => Unit::Size,
        (
            _,
            "target" | "interval" | "ce_threshold" | "tupdate" | "latency" | "rtt" | "refill_delay",
        ) => Unit::Time,
        _ => Unit::Other,
    }
}

/// A value in units that mean the same here.
fn canonical(unit: Unit, value: &str, remarks: &mut Vec<String>) -> String {
    match unit {
        Unit::Rate => match units::rate(value) {
            Some((rate, is_bytes)) => {
                if is_bytes {
                    remarks.push(in_bytes(value, rate));
                }
                rate.to_string()
            }
            None => value.to_owned(),
        },
        // tc's `15k/8` is a size and a length of cells.
        Unit::Size => match units::size(value.split('/').next().unwrap_or_default()) {
            Some(bytes) => format!("{bytes}b"),
            None => value.to_owned(),
        },
        Unit::Time => match units::time(value) {
            Some(nanos) => units::written_time(nanos),
            None => value.to_owned(),
        },
        Unit::Other => value.to_owned(),
    }
}

/// The remark about a rate in bytes.
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
        let leaf = leaf(kind, &words).expect("a queue");
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
                "cake bandwidth 20mbit besteffort dual-srchost nat overhead 22 mpu 64 limit 4194304b",
            ),
            (
                "cake",
                "bandwidth 1Mbit ack-filter no-split-gso",
                "cake bandwidth 1mbit ack-filter limit 4194304b",
            ),
            (
                "tbf",
                "rate 1mbit burst 5k latency 70ms",
                "tbf rate 1mbit burst 5120b latency 70ms",
            ),
            ("pfifo_fast", "", "fifo"),
        ] {
            assert_eq!(of(kind, words).0, text, "{kind} {words}");
        }
    }

    #[test]
    fn what_trees_do_not_have_is_said() {
        for (kind, words, part) in [
            ("cake", "bandwidth 2mbps", "16mbit"),
            ("fq", "horizon 10s maxrate 5mbit", "time to leave"),
            ("fq_codel", "frobnicate 7 limit 3", "frobnicate 7"),
            ("fq_codel", "target never", "target never"),
            ("bfifo", "", "txqueuelen"),
        ] {
            let (_, remarks) = of(kind, words);
            assert!(
                remarks.iter().any(|remark| remark.contains(part)),
                "{kind} {words}: {remarks:?}"
            );
        }
        assert_eq!(leaf("htb", &[]), None);
    }
}

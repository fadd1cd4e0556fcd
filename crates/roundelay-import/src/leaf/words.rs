//! The words that tc has for queues without classes, and which of them replace each other.

use roundelay::Fault;
use roundelay::suggestion::nearest;

use crate::units;

/// What follows a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing.
    None,
    Rate,
    Size,
    Time,
    /// A whole number, which may be negative.
    Number,
    /// This many words, which we do not read.
    Words(usize),
}

/// Words that serve one purpose. tc takes the last of them.
struct Group {
    words: &'static [&'static str],
    value: Value,
    /// The purpose, if words with and without a value share it.
    purpose: &'static str,
}

const fn group(words: &'static [&'static str], value: Value) -> Group {
    Group {
        words,
        value,
        purpose: "",
    }
}

/// Words that each have their own purpose and a value of this sort.
const fn each(words: &'static [&'static str], value: Value) -> Group {
    Group {
        words,
        value,
        purpose: "each",
    }
}

const fn of(purpose: &'static str, words: &'static [&'static str], value: Value) -> Group {
    Group {
        words,
        value,
        purpose,
    }
}

const ECN: Group = group(&["ecn", "noecn"], Value::None);

/// tc-cake(8).
const CAKE: &[Group] = &[
    of("bandwidth", &["bandwidth"], Value::Rate),
    of("bandwidth", &["unlimited"], Value::None),
    group(&["autorate-ingress"], Value::None),
    of("rtt", &["rtt"], Value::Time),
    of(
        "rtt",
        &[
            "datacentre",
            "lan",
            "metro",
            "regional",
            "internet",
            "oceanic",
            "satellite",
            "interplanetary",
        ],
        Value::None,
    ),
    group(
        &[
            "besteffort",
            "precedence",
            "diffserv3",
            "diffserv4",
            "diffserv8",
            "diffserv",
        ],
        Value::None,
    ),
    group(
        &[
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        ],
        Value::None,
    ),
    group(&["nat", "nonat"], Value::None),
    group(&["wash", "nowash"], Value::None),
    group(&["split-gso", "no-split-gso"], Value::None),
    group(&["ingress", "egress"], Value::None),
    group(
        &["ack-filter", "ack-filter-aggressive", "no-ack-filter"],
        Value::None,
    ),
    each(&["memlimit"], Value::Size),
    each(&["fwmark"], Value::Words(1)),
    each(&["overhead", "mpu"], Value::Number),
    group(&["atm", "noatm", "ptm"], Value::None),
    // Keywords for link layers add up.
    each(
        &[
            "raw",
            "conservative",
            "ethernet",
            "ether-vlan",
            "via-ethernet",
            "docsis",
            "pppoa-vcmux",
            "pppoa-llc",
            "pppoe-vcmux",
            "pppoe-llcsnap",
            "bridged-vcmux",
            "bridged-llcsnap",
            "ipoa-vcmux",
            "ipoa-llcsnap",
            "pppoe-ptm",
            "bridged-ptm",
            "hard_header_len",
        ],
        Value::None,
    ),
];

/// tc-fq_codel(8).
const FQ_CODEL: &[Group] = &[
    each(&["limit", "flows", "drop_batch"], Value::Number),
    each(&["quantum", "memory_limit"], Value::Size),
    each(&["target", "interval", "ce_threshold"], Value::Time),
    each(&["ce_threshold_selector"], Value::Words(1)),
    ECN,
];

/// tc-codel(8).
const CODEL: &[Group] = &[
    each(&["limit"], Value::Number),
    each(&["target", "interval", "ce_threshold"], Value::Time),
    ECN,
];

/// tc-pie(8) and tc-fq_pie(8).
const PIE: &[Group] = &[
    each(
        &["limit", "flows", "alpha", "beta", "ecn_prob"],
        Value::Number,
    ),
    each(&["quantum", "memory_limit"], Value::Size),
    each(&["target", "tupdate"], Value::Time),
    ECN,
    group(&["bytemode", "nobytemode"], Value::None),
    group(&["dq_rate_estimator", "no_dq_rate_estimator"], Value::None),
];

/// tc-fq(8).
const FQ: &[Group] = &[
    each(
        &["limit", "flow_limit", "buckets", "orphan_mask"],
        Value::Number,
    ),
    each(&["quantum", "initial_quantum"], Value::Size),
    each(&["maxrate", "low_rate_threshold", "defrate"], Value::Rate),
    each(
        &["refill_delay", "timer_slack", "ce_threshold", "horizon"],
        Value::Time,
    ),
    group(&["pacing", "nopacing"], Value::None),
    group(&["horizon_cap", "horizon_drop"], Value::None),
    each(&["bands"], Value::Words(1)),
    each(&["priomap"], Value::Words(16)),
    each(&["weights"], Value::Words(3)),
];

/// tc-sfq(8).
const SFQ: &[Group] = &[
    each(
        &["limit", "perturb", "divisor", "flows", "depth"],
        Value::Number,
    ),
    each(&["quantum"], Value::Size),
    each(
        &[
            "redflowlimit",
            "min",
            "max",
            "avpkt",
            "burst",
            "probability",
        ],
        Value::Words(1),
    ),
    each(&["headdrop", "ecn", "harddrop"], Value::None),
];

/// tc-red(8).
const RED: &[Group] = &[
    each(&["limit", "min", "max", "avpkt"], Value::Size),
    each(&["burst"], Value::Number),
    each(&["bandwidth"], Value::Rate),
    each(&["probability"], Value::Words(1)),
    each(&["qevent"], Value::Words(3)),
    each(
        &["adaptative", "adaptive", "ecn", "harddrop", "nodrop"],
        Value::None,
    ),
];

/// tc-choke(8).
const CHOKE: &[Group] = &[
    each(&["limit", "min", "max", "burst"], Value::Number),
    each(&["avpkt"], Value::Size),
    each(&["bandwidth"], Value::Rate),
    each(&["probability"], Value::Words(1)),
    each(&["ecn"], Value::None),
];

/// tc-sfb(8).
const SFB: &[Group] = &[each(
    &[
        "rehash",
        "db",
        "limit",
        "max",
        "target",
        "increment",
        "decrement",
        "penalty_rate",
        "penalty_burst",
    ],
    Value::Words(1),
)];

/// tc-tbf(8).
const TBF: &[Group] = &[
    each(&["rate", "peakrate"], Value::Rate),
    group(&["burst", "buffer", "maxburst"], Value::Size),
    group(&["mtu", "minburst"], Value::Size),
    each(&["limit"], Value::Size),
    each(&["latency"], Value::Time),
    each(&["mpu", "overhead", "linklayer"], Value::Words(1)),
];

const PACKETS: &[Group] = &[each(&["limit"], Value::Number)];
const BYTES: &[Group] = &[each(&["limit"], Value::Size)];

fn groups(kind: &str) -> &'static [Group] {
    match kind {
        "cake" => CAKE,
        "fq_codel" => FQ_CODEL,
        "codel" => CODEL,
        "pie" | "fq_pie" => PIE,
        "fq" => FQ,
        "sfq" => SFQ,
        "red" => RED,
        "choke" => CHOKE,
        "sfb" => SFB,
        "tbf" => TBF,
        "pfifo" | "pfifo_head_drop" => PACKETS,
        "bfifo" => BYTES,
        _ => &[],
    }
}

/// A word with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase<'a> {
    pub(super) word: &'a str,
    pub(super) values: &'a [String],
    pub(super) value: Value,
    /// Phrases with the same purpose replace each other.
    purpose: &'static str,
}

impl Phrase<'_> {
    /// As the script writes it.
    pub(super) fn written(&self) -> String {
        let mut text = self.word.to_owned();
        for value in self.values {
            text += &format!(" {value}");
        }
        text
    }
}

/// Splits the words of a queue into phrases, and says which of them tc ignores.
///
/// # Errors
/// tc refuses a word or its value.
pub(super) fn phrases<'a>(
    kind: &str,
    words: &'a [String],
    remarks: &mut Vec<String>,
) -> Result<Vec<Phrase<'a>>, Fault> {
    let mut all: Vec<Phrase<'a>> = Vec::new();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        let phrase = phrase(kind, word, behind)?;
        rest = &behind[phrase.values.len()..];
        let before = all.iter().position(|old| old.purpose == phrase.purpose);
        if let Some(index) = before {
            let old = all.remove(index);
            if kind == "tbf" {
                return Err(both_of_tbf(&old.written(), &phrase.written()));
            }
            if old.written() != phrase.written() {
                remarks.push(format!(
                    "`{}` of {kind} is left out: tc takes the last one, which is `{}`",
                    old.written(),
                    phrase.written()
                ));
            }
        }
        all.push(phrase);
    }
    Ok(all)
}

/// A word of tc with its values, which are the first of `rest`. Of words with the same purpose only
/// the last one counts.
fn phrase<'a>(kind: &str, word: &'a str, rest: &'a [String]) -> Result<Phrase<'a>, Fault> {
    for group in groups(kind) {
        let Some(name) = group.words.iter().find(|name| **name == word) else {
            continue;
        };
        let purpose = match group.purpose {
            // Each word of the group has its own.
            "each" => name,
            // All have that of the first.
            "" => group.words[0],
            purpose => purpose,
        };
        let number = match group.value {
            Value::None => 0,
            Value::Words(number) => number,
            _ => 1,
        };
        let Some(values) = rest.get(..number) else {
            let message = format!("`{word}` of {kind} has no value");
            return Err(Fault::new(message).with_key(word).with_owner(kind));
        };
        if let Some(text) = values.first()
            && let Some(legal) = expected(group.value, text)
        {
            return Err(
                Fault::expected(format_args!("`{word} {text}` of {kind}"), legal)
                    .with_given(text)
                    .with_key(word)
                    .with_owner(kind),
            );
        }
        return Ok(Phrase {
            word,
            values,
            value: group.value,
            purpose,
        });
    }
    Err(no_word(kind, word))
}

/// What tc expects instead of this value. None if it can read it.
fn expected(value: Value, text: &str) -> Option<&'static str> {
    let (is_read, expected) = match value {
        Value::None | Value::Words(_) => return None,
        Value::Rate => (
            units::rate(text).is_some() || text == "0",
            units::rate_expected(text),
        ),
        // tc reads `15k/8` as a size and a cell length.
        Value::Size => (
            units::size(text.split('/').next().unwrap_or_default()).is_some(),
            "a size such as 15k",
        ),
        Value::Time => (units::time(text).is_some(), "a time such as 5ms"),
        Value::Number => (
            units::whole(text.trim_start_matches('-')).is_some(),
            "a whole number",
        ),
    };
    if is_read { None } else { Some(expected) }
}

/// Two words of tbf of which it takes one.
pub(super) fn both_of_tbf(first: &str, second: &str) -> Fault {
    Fault::wanted("one of them")
        .behind(format_args!("`{first}` and `{second}` of tbf; "))
        .with_given(second)
        .with_owner("tbf")
}

/// A word that tc does not have for the queue, and what it may have meant.
fn no_word(kind: &str, wrong: &str) -> Fault {
    let mut words: Vec<&str> = Vec::new();
    for group in groups(kind) {
        words.extend_from_slice(group.words);
    }
    let all = words.join(", ");
    let meant = nearest(wrong, words.into_iter());
    let problem = match meant {
        Some(word) => format!("tc has no such word. Did you mean `{word}`?"),
        None if all.is_empty() => "tc has no words for it; expected none".to_owned(),
        None => format!("tc has no such word; expected one of {all}"),
    };
    Fault::new(format!("`{wrong}` of {kind}: {problem}"))
        .with_given(wrong)
        .with_legal(all)
        .with_meant(meant)
        .with_owner(kind)
}

//! Remarks on words and setups that do not do what they seem to.

use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, Rate};

use crate::commands::{Class, Device, Parent, Qdisc};
use crate::noted::Noted;
use crate::units;

/// Bytes of a full Ethernet frame.
const FRAME: u64 = 1514;

/// The value after a word.
fn value<'a>(words: &'a [String], names: &[&str]) -> Option<&'a str> {
    let index = words
        .iter()
        .rposition(|word| names.contains(&word.as_str()))?;
    words.get(index + 1).map(String::as_str)
}

fn rate(words: &[String], name: &str) -> Option<Rate> {
    let (rate, _) = units::rate(value(words, &[name])?)?;
    Some(rate)
}

fn bits(rate: Rate) -> u64 {
    rate.bits_per_second()
}

/// Bytes of an Ethernet header, which stab counts and `--overhead` does not.
const HEADER: i64 = 14;

/// Whether an interface's packets have an Ethernet header.
fn has_header(device: &str) -> bool {
    let name = device.strip_prefix("ifb4").unwrap_or(device);
    let without = ["ppp", "tun", "wg", "wwan", "ipip", "sit", "gre"];
    !without.iter().any(|start| name.starts_with(start))
}

/// Remark on `stab`.
pub(crate) fn of_size_table(device: &str, words: &[String]) -> String {
    let mut options = Vec::new();
    let header = if has_header(device) { HEADER } else { 0 };
    let overhead = value(words, &["overhead"]).and_then(|text| text.parse::<i64>().ok());
    let overhead = overhead.unwrap_or(0);
    options.push(format!("--overhead {}", overhead.saturating_add(header)));
    if let Some(bytes) = value(words, &["mpu"]) {
        options.push(format!("--mpu {bytes}"));
    }
    match value(words, &["linklayer"]) {
        Some("atm" | "adsl") => options.push("--framing atm".to_owned()),
        Some("ptm") => options.push("--framing ptm".to_owned()),
        _ => {}
    }
    let sum = if header > 0 {
        format!(
            "stab adds {overhead} to the frame with its {header} bytes of Ethernet, and --overhead \
             counts from the IP packet, so it is their sum"
        )
    } else {
        format!("packets of {device} have no header of Ethernet, so both count from the IP packet")
    };
    format!(
        "stab is left out: lengths on the link are options of compare: {}. {sum}",
        options.join(" ")
    )
}

/// Remark on a qdisc that a tree passes over.
pub(crate) fn of_passed(qdisc: &Qdisc, above: &str, below: &str) -> String {
    match qdisc.kind.as_str() {
        "netem" => {
            let mut text = format!(
                "netem {} is left out: its delay and loss belong to the link (--delay of live, or \
                 a simulation's link)",
                without_rate_and_limit(&qdisc.words)
            );
            if !below.is_empty() {
                text += &format!(
                    ". {below} is below netem, so it gets each packet after the delay and does not \
                     count that. netem's own limit (1000 packets unless written) counts what waits \
                     for its delay"
                );
            } else if !above.is_empty() {
                text += &format!(
                    ". netem is the queue of a class of {above}: what waits for its delay fills \
                     that queue, and no AQM is there"
                );
            }
            text
        }
        "plug" => {
            "plug is left out: it only holds packets until it is told to release them".to_owned()
        }
        // mq, mqprio, multiq and taprio.
        kind => format!(
            "{kind} has a queue for each queue of the card; here all packets share one, which is \
             the first that is set up below it"
        ),
    }
}

/// Those words of a netem that a tree cannot have.
fn without_rate_and_limit(words: &[String]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "rate" || word == "limit" {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Remark on a qdisc that no tree has. It may be mistyped, or a module of the user's own, because tc
/// takes any name.
pub(crate) fn of_unknown(kind: &str) -> String {
    let why = match AnyDiscipline::named(kind) {
        Err(ConfigError::NotHere { why, .. }) => format!(" ({why})"),
        Err(ConfigError::UnknownDiscipline {
            meant: Some(meant), ..
        }) => format!(" (did you mean '{meant}'?)"),
        _ => String::new(),
    };
    format!("{kind} has no counterpart here{why}; the leaf is a fifo")
}

/// Remarks on a queue whose settings may surprise.
pub(crate) fn of_leaf(qdisc: &Qdisc, above: &str) -> Vec<String> {
    let words = &qdisc.words;
    let mut remarks = Vec::new();
    let shapes = above == "htb" || above == "hfsc";
    match qdisc.kind.as_str() {
        "cake" => {
            let rate = rate(words, "bandwidth");
            let is_besteffort = value(words, &["besteffort"]).is_some()
                || words.iter().any(|word| word == "besteffort");
            match rate {
                Some(rate) if shapes => remarks.push(format!(
                    "cake shapes at {rate} inside a class of {above} that shapes, too: the slower \
                     one decides, and the other one's queue stays empty"
                )),
                None if shapes && !is_besteffort => remarks.push(
                    "cake without bandwidth has tins without limits: a tin shares by weight, and \
                     the class above shapes"
                        .to_owned(),
                ),
                None if !shapes => remarks.push(
                    "cake without bandwidth does not shape: unless this is the slowest link, the \
                     queue is in the modem. It does not shape in the tree either; beside a tree, a \
                     cake of compare has the link's rate"
                        .to_owned(),
                ),
                _ => {}
            }
        }
        "sfq" if value(words, &["perturb"]).is_some_and(|time| time != "0") => remarks.push(
            "sfq perturb changes the hash while packets wait, so flows change their queue then, \
             and some packets are overtaken"
                .to_owned(),
        ),
        "fq_codel" => {
            let limit = value(words, &["limit"]).and_then(units::whole);
            if let Some(limit) = limit
                && limit < 100
            {
                remarks.push(format!(
                    "fq_codel limit {limit} is for all flows together: a burst fills it, and then \
                     packets are dropped from the longest queue before CoDel sees a delay"
                ));
            }
        }
        "tbf" => {
            remarks.extend(of_bucket(words));
            if let Some(latency) = value(words, &["latency"]) {
                remarks.push(format!(
                    "tbf latency {latency} is the longest wait of a full buffer, not a wait that \
                     tbf aims at: the buffer is as long as rate times latency, and burst"
                ));
            }
        }
        _ => {}
    }
    remarks
}

/// Remark on a tbf whose bucket is too small.
pub(crate) fn of_bucket(words: &[String]) -> Option<String> {
    let burst = value(words, &["burst", "buffer", "maxburst"])?;
    // The word may be `burst/cell`.
    let burst = units::size(burst.split('/').next()?)?;
    if burst < FRAME {
        return Some(format!(
            "burst {burst} is less than a packet of {FRAME} bytes: tbf drops each packet that is \
             longer than its bucket"
        ));
    }
    of_burst("burst", rate(words, "rate"), Some(burst))
}

/// Remark on a queue that may hold more than `compare`'s buffer.
pub(crate) fn of_limit(text: &str) -> Option<String> {
    let (_, bytes) = text.split_once("memlimit ")?;
    let bytes = bytes.split(' ').next()?;
    Some(format!(
        "memlimit {bytes}: compare and the commands that it prints cut this to their buffer, so \
         give `--buffer {bytes}` where that is smaller"
    ))
}

/// Remark on a shaper below a class whose parent expects to get a packet whenever some wait.
pub(crate) fn of_waiting(qdisc: &Qdisc, above: &str) -> Option<String> {
    let shapes = match qdisc.kind.as_str() {
        "tbf" => true,
        "htb" | "hfsc" => above != qdisc.kind,
        "cake" => rate(&qdisc.words, "bandwidth").is_some(),
        _ => false,
    };
    let waits = ["drr", "qfq", "hfsc", "ets"].contains(&above);
    (shapes && waits).then(|| {
        format!(
            "{} below a class of {above}: while it holds its packets back, Linux's {above} waits \
             with it and its other classes wait, too (\"non-work-conserving\" in the kernel's \
             log). Here they go on. Such a class belongs below prio or htb",
            qdisc.kind
        )
    })
}

/// Remark on a bucket that is too small for its rate.
fn of_burst(word: &str, rate: Option<Rate>, bytes: Option<u64>) -> Option<String> {
    let rate = rate?;
    let bytes = bytes?;
    if bytes < FRAME {
        return Some(format!(
            "{word} {bytes} is less than a packet of {FRAME} bytes, so a bucket never holds one"
        ));
    }
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(bits(rate));
    if nanos < 1_000_000 {
        let needed = bits(rate) / 8000;
        return Some(format!(
            "{word} {bytes} lasts {} us at {rate}: a kernel that wakes up later loses rate, and \
             TCP's bursts are cut; {needed} bytes last a millisecond. Here time is exact, so a \
             tree does not show this",
            nanos / 1000
        ));
    }
    None
}

/// Remarks on htb's or hfsc's classes that do not do what they seem to.
pub(crate) fn of_classes(kind: &str, qdisc: &Qdisc, device: &Device) -> Vec<Noted> {
    let mut notes = Vec::new();
    if kind != "htb" {
        return notes;
    }
    let r2q = value(&qdisc.words, &["r2q"]).and_then(units::whole);
    let r2q = r2q.unwrap_or(10).max(1);
    for class in &device.classes {
        if class.id.major != qdisc.major {
            continue;
        }
        let below = device.below(class.id);
        let borrows = below.is_empty() && device.class(class.parent).is_some();
        let mut texts = of_class(class, borrows, r2q);
        texts.extend(of_family(class, &below));
        texts.extend(never_borrows(class, device));
        for text in texts {
            notes.push(Noted {
                line: class.line,
                node: Some(class.id.to_string()),
                text,
            });
        }
    }
    notes
}

fn of_class(class: &Class, borrows: bool, r2q: u64) -> Vec<String> {
    let words = &class.words;
    let mut texts = Vec::new();
    let Some(rate) = rate(words, "rate") else {
        return texts;
    };
    let ceil = self::rate(words, "ceil");
    if let Some(ceil) = ceil
        && ceil < rate
    {
        texts.push(format!(
            "ceil {ceil} is less than rate {rate}: the class sends at ceil and never more, so the \
             rate is not guaranteed"
        ));
    }
    let has_quantum = value(words, &["quantum"]).is_some();
    let quantum = bits(rate) / 8 / r2q;
    if borrows && !has_quantum && !(1000..=200_000).contains(&quantum) {
        let (what, used) = if quantum < 1000 {
            ("small", 1000)
        } else {
            ("big", 200_000)
        };
        texts.push(format!(
            "r2q: the quantum of {rate} over r2q {r2q} is {quantum} bytes, which Linux calls \
             {what} and sets to {used}, so classes do not borrow in the ratio of their rates; \
             write quantum or another r2q"
        ));
    }
    let burst = value(words, &["burst", "buffer", "maxburst"]);
    let cburst = value(words, &["cburst", "cbuffer", "cmaxburst"]);
    let bytes = |text: Option<&str>| {
        let text = text?.split('/').next()?;
        units::size(text)
    };
    texts.extend(of_burst("burst", Some(rate), bytes(burst)));
    texts.extend(of_burst(
        "cburst",
        Some(ceil.unwrap_or(rate)),
        bytes(cburst),
    ));
    texts
}

/// Remark on children whose rates add up to more than their parent's.
fn of_family(class: &Class, below: &[&Class]) -> Option<String> {
    let own = rate(&class.words, "rate")?;
    let mut sum = 0_u64;
    for child in below {
        sum = sum.saturating_add(rate(&child.words, "rate").map_or(0, bits));
    }
    if sum <= bits(own) {
        return None;
    }
    let sum = Rate::from_bits_per_second(sum)?;
    Some(format!(
        "the rates of the classes below are {sum} in all, more than {own} of this class: each \
         sends at its own rate whatever its parent has left, so together they send more than this \
         class's"
    ))
}

/// Remark on a class that could borrow but may not.
fn never_borrows(class: &Class, device: &Device) -> Option<String> {
    let parent = device.class(class.parent)?;
    let own = rate(&class.words, "rate")?;
    let of_parent = rate(&parent.words, "rate")?;
    let ceil = rate(&class.words, "ceil").unwrap_or(own);
    if ceil != own || own >= of_parent {
        return None;
    }
    Some(format!(
        "this class never borrows, because ceil is {}: it gets {own} at most, even if its siblings \
         are silent",
        if value(&class.words, &["ceil"]).is_some() {
            "its rate"
        } else {
            "not written and then its rate"
        }
    ))
}

/// Remark on a shaper that has no class for other packets.
pub(crate) fn of_no_default(
    kind: &str,
    default: Option<u16>,
    is_whole: bool,
    is_inside: bool,
) -> String {
    if let Some(minor) = default
        && !is_whole
    {
        return format!(
            "`default {minor:x}` names no class that was read, and commands of tc were left out, \
             so the class may be among these. This leaf gets its packets"
        );
    }
    let why = match default {
        None => "there is no `default`".to_owned(),
        Some(minor) => format!("`default {minor:x}` names no class that sends"),
    };
    if kind == "htb" {
        let rate = if is_inside {
            "what the class above gives"
        } else {
            "the rate of the interface"
        };
        format!(
            "{why}, so Linux sends packets that no filter matches past all classes: first, and at \
             {rate}"
        )
    } else {
        format!(
            "{why}, so Linux drops packets that no filter matches, ARP too. This leaf, which keeps \
             one packet and sends 8 bit/s, stands for that"
        )
    }
}

/// Remarks on the interface as a whole.
pub(crate) fn of_device(name: &str, device: &Device, notes: &mut Vec<Noted>) {
    let mut add = |line: usize, text: String| {
        let node = None;
        notes.push(Noted { line, node, text });
    };
    let mut redirected = None;
    for filter in &device.filters {
        if filter.parent != Parent::Ingress {
            continue;
        }
        let words = filter.words.join(" ");
        if let Some((_, after)) = words.split_once("redirect dev ") {
            let to = after.split(' ').next().unwrap_or_default();
            redirected = Some(to.to_owned());
            let text = format!(
                "what comes in at {name} is sent through {to}: import its tree with --dev {to}"
            );
            add(filter.line, text);
        } else if words.contains("police") {
            let text = format!(
                "what comes in at {name} is policed: packets above the rate are dropped, without a \
                 queue that could delay or order them"
            );
            add(filter.line, text);
            redirected = Some(String::new());
        }
    }
    let Some(root) = device.root() else {
        return;
    };
    let shapes = match root.kind.as_str() {
        "htb" | "hfsc" | "tbf" => true,
        "cake" => rate(&root.words, "bandwidth").is_some(),
        _ => false,
    };
    if name.starts_with("ifb") {
        let text = format!(
            "{name} has what came in at another interface: this tree is for downloads, so compare \
             it on a capture of downloads"
        );
        add(root.line, text);
    }
    if shapes && redirected.is_none() && !name.starts_with("ifb") {
        let text = format!(
            "only what leaves {name} is shaped: nothing here shapes what comes in (no ingress \
             qdisc that redirects to an ifb), so a speed test in the other direction shows no \
             change"
        );
        add(root.line, text);
    }
}

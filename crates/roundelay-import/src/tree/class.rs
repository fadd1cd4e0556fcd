//! Writes the words of classes, and of qdiscs with classes, as keys of nodes.

use roundelay::{Fault, QueueSpec, Rate};

use crate::commands::Class;
use crate::faults::{self, at_line};
use crate::leaf::{check_tbf, in_bytes};
use crate::units;

/// Keys, with their values in TOML.
type Keys = Vec<(&'static str, String)>;
/// Keys, and remarks.
type Read = (Keys, Vec<String>);

/// The quantum that drr's classes get if none is given: Ethernet's MTU and header.
const FRAME: u64 = 1514;
/// What Linux's drr takes for a smaller quantum.
const LEAST_QUANTUM: u64 = 256;

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Reads the rate after a word. Adds a remark if it counts bytes.
fn rate(word: &str, text: Option<&String>, notes: &mut Vec<String>) -> Result<Rate, Fault> {
    let text = text.map_or("", String::as_str);
    let Some((rate, is_bytes)) = units::rate(text) else {
        return Err(faults::value(word, text, units::rate_expected(text)));
    };
    if is_bytes {
        notes.push(in_bytes(text, rate));
    }
    Ok(rate)
}

/// Reads a size within the legal range. In `15k/8`, the 8 is a cell length.
fn size(word: &str, text: Option<&String>, most: u64) -> Result<u64, Fault> {
    let text = text.map_or("", String::as_str);
    let bytes = units::size(text.split('/').next().unwrap_or_default());
    match bytes {
        Some(bytes) if (1..=most).contains(&bytes) => Ok(bytes),
        _ => {
            let legal = format!("a size such as 15k, 1 to {most} bytes");
            Err(faults::value(word, text, legal))
        }
    }
}

fn number(word: &str, text: Option<&String>, least: u64, most: u64) -> Result<u64, Fault> {
    let text = text.map_or("", String::as_str);
    match units::whole(text) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => {
            let legal = format!("a number from {least} to {most}");
            Err(faults::value(word, text, legal))
        }
    }
}

/// The keys of a class of htb or hfsc.
pub(super) fn keys(kind: &str, words: &[String], is_leaf: bool) -> Result<Read, Fault> {
    if kind == "htb" {
        of_htb(words, is_leaf)
    } else {
        of_hfsc(words, is_leaf)
    }
}

/// What a netem has beside the link's delay and loss.
#[derive(Debug, Clone)]
pub(super) struct Netem {
    /// Its rate, as a tbf.
    pub(super) shaper: Option<String>,
    /// Packets.
    pub(super) limit: u64,
    /// Nothing belongs to the link.
    pub(super) is_only_rate: bool,
}

/// Without a limit, netem holds this many packets.
impl Default for Netem {
    fn default() -> Self {
        Self {
            shaper: None,
            limit: 1000,
            is_only_rate: true,
        }
    }
}

/// Whether the words of a netem set a rate.
pub(super) fn netem_has_rate(words: &[String]) -> bool {
    words.contains(&"rate".to_owned())
}

/// Reads the rate and the limit of a netem.
pub(super) fn of_netem(words: &[String]) -> Result<Netem, Fault> {
    /// A bucket of one packet with its VLAN tags, because netem lets no burst through.
    const BURST: u64 = 1522;
    let mut netem = Netem::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "rate" => {
                let rate = rate("rate", words.next(), &mut Vec::new())?;
                netem.shaper = Some(format!("tbf rate {rate} burst {BURST}b"));
                // Overhead and cells of packets.
                while words.next_if(|word| word.parse::<i64>().is_ok()).is_some() {
                    netem.is_only_rate = false;
                }
            }
            "limit" => netem.limit = number("limit", words.next(), 1, u32::MAX.into())?,
            _ => netem.is_only_rate = false,
        }
    }
    Ok(netem)
}

fn of_htb(words: &[String], is_leaf: bool) -> Result<Read, Fault> {
    let mut keys: Keys = Vec::new();
    let mut notes = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let word = word.as_str();
        let value = words.get(at + 1);
        at += 2;
        match word {
            "rate" => keys.push(("rate", quoted(&rate(word, value, &mut notes)?.to_string()))),
            "ceil" => keys.push(("ceil", quoted(&rate(word, value, &mut notes)?.to_string()))),
            "burst" | "buffer" | "maxburst" => {
                keys.push((
                    "burst",
                    quoted(&format!("{}b", size(word, value, 1 << 30)?)),
                ));
            }
            "cburst" | "cbuffer" | "cmaxburst" => {
                keys.push((
                    "cburst",
                    quoted(&format!("{}b", size(word, value, 1 << 30)?)),
                ));
            }
            "prio" | "quantum" if !is_leaf => notes.push(format!(
                "{word} is left out: in a class with classes below it has no effect, in Linux \
                 neither"
            )),
            "prio" => {
                let written = number(word, value, 0, u32::MAX.into())?;
                if written > 7 {
                    notes.push(format!(
                        "prio {written} is 7, the last one of htb, in Linux too"
                    ));
                }
                keys.push(("prio", written.min(7).to_string()));
            }
            "quantum" => {
                let bytes = size(word, value, (1 << 31) - 1)?;
                if bytes < FRAME {
                    notes.push(format!(
                        "quantum {bytes} is less than a packet of {FRAME} bytes, so turns do not \
                         divide by it exactly"
                    ));
                }
                keys.push(("quantum", quoted(&format!("{bytes}b"))));
            }
            "mtu" | "mpu" | "overhead" | "linklayer" => {
                let value = value.map_or("", String::as_str);
                notes.push(format!(
                    "`{word} {value}` is left out: lengths on the link are those of compare's \
                     --link, --overhead, --mpu and --framing, for the whole link"
                ));
            }
            other => {
                let known = [
                    "rate",
                    "ceil",
                    "burst",
                    "cburst",
                    "prio",
                    "quantum",
                    "mtu",
                    "mpu",
                    "overhead",
                    "linklayer",
                ];
                return Err(faults::word(other, "a class of htb", &known));
            }
        }
    }
    if !keys.iter().any(|(key, _)| *key == "rate") {
        return Err(faults::missing("a class of htb", "a rate", "`rate 10mbit`"));
    }
    for name in ["rate", "ceil"] {
        if keys.iter().filter(|(key, _)| *key == name).count() > 1 {
            let message = format!("`{name}` stands twice in a class of htb; expected it once");
            return Err(Fault::new(message).with_key(name));
        }
    }
    keep_last(&mut keys, &mut notes);
    Ok((keys, notes))
}

/// Keeps the last of keys that come twice, because that one counts.
fn keep_last(keys: &mut Keys, notes: &mut Vec<String>) {
    let mut kept: Keys = Vec::new();
    for (key, value) in keys.drain(..) {
        if let Some(index) = kept.iter().position(|(other, _)| *other == key) {
            let (_, old) = kept.remove(index);
            if old != value {
                notes.push(format!(
                    "{key} {old} is left out: tc takes the last one, which is {value}"
                ));
            }
        }
        kept.push((key, value));
    }
    *keys = kept;
}

fn of_hfsc(words: &[String], is_leaf: bool) -> Result<Read, Fault> {
    let mut keys: Keys = Vec::new();
    let mut notes = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let which: &[&'static str] = match word.as_str() {
            "sc" => &["rt", "ls"],
            "rt" => &["rt"],
            "ls" => &["ls"],
            "ul" => &["ul"],
            other => {
                let known = ["rt", "ls", "sc", "ul"];
                return Err(faults::word(other, "a class of hfsc", &known));
            }
        };
        let mut curve = Vec::new();
        while let Some(part) = words.get(at) {
            let value = words.get(at + 1);
            let written = match part.as_str() {
                "m1" | "m2" | "rate" => match value.map(String::as_str) {
                    Some("0" | "0bit" | "0kbit" | "0mbit") => "0bit".to_owned(),
                    _ => rate(part, value, &mut notes)?.to_string(),
                },
                "umax" => format!("{}b", size(part, value, u32::MAX.into())?),
                "d" | "dmax" => {
                    let text = value.map_or("", String::as_str);
                    let Some(nanos) = units::time(text) else {
                        return Err(faults::value(part, text, "a time such as 10ms"));
                    };
                    units::written_time(nanos)
                }
                _ => break,
            };
            curve.push(format!("{part} {written}"));
            at += 2;
        }
        if curve.is_empty() {
            return Err(Fault::wanted("`m1 RATE d TIME m2 RATE`, or `rate RATE`")
                .behind(format_args!("`{word}` has no curve; "))
                .with_key(word));
        }
        check_curve(word, &mut curve, &mut notes)?;
        for key in which {
            keys.push((key, quoted(&curve.join(" "))));
        }
    }
    keep_last(&mut keys, &mut notes);
    let has = |key: &str| keys.iter().any(|(other, _)| *other == key);
    let has_ls = has("ls");
    if !has("rt") && !has_ls {
        return Err(faults::missing(
            "a class of hfsc",
            "a curve",
            "rt, ls or sc",
        ));
    }
    if has_ls {
        return Ok((keys, notes));
    }
    if is_leaf {
        notes.push(
            "with rt and no ls this class gets its curve and no more, even on a free link, and ul \
             has no effect"
                .to_owned(),
        );
        return Ok((keys, notes));
    }
    notes.push(
        "this class has classes below and no ls, so in Linux they share nothing; here it has its \
         rt as ls"
            .to_owned(),
    );
    for (key, curve) in keys.clone() {
        if key == "rt" {
            keys.push(("ls", curve));
        }
    }
    Ok((keys, notes))
}

/// Checks that the words of a curve come in tc's order.
fn check_curve(word: &str, curve: &mut Vec<String>, notes: &mut Vec<String>) -> Result<(), Fault> {
    let name = |part: &String| part.split(' ').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = curve.iter().map(name).collect();
    if names == ["m1", "m2"] {
        notes.push(format!(
            "m1 of {word} is left out: without d its piece has no length"
        ));
        curve.remove(0);
        names.remove(0);
    }
    let is_zero = curve.iter().any(|part| part == "rate 0bit");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names[..] {
        ["m1", "d", "m2"] | ["d", "m2"] | ["m2"] => Ok(()),
        ["umax", "dmax", "rate"] | ["dmax", "rate"] | ["rate"] if !is_zero => Ok(()),
        _ => {
            let legal = "`m1 RATE d TIME m2 RATE` or `umax BYTES dmax TIME rate RATE`";
            Err(faults::value(word, &curve.join(" "), legal))
        }
    }
}

/// The discipline for an htb or hfsc qdisc, with remarks.
pub(super) fn of_shaper(kind: &str, words: &[String]) -> Result<(String, Vec<String>), Fault> {
    let mut text = kind.to_owned();
    let mut notes = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let value = words.get(at + 1);
        at += 2;
        match (kind, word.as_str()) {
            (_, "default") => {
                let value = value.map_or("", String::as_str);
                if minor(value).is_none() {
                    let legal = "the minor number of a class, hexadecimal";
                    return Err(faults::value(word, value, legal));
                }
            }
            ("htb", "r2q") => {
                let written = number(word, value, 1, u32::MAX.into())?;
                text = format!("htb r2q {written}");
            }
            // See `direct_limit`.
            ("htb", "direct_qlen") => {
                number(word, value, 0, u32::MAX.into())?;
            }
            ("htb", "debug") => {}
            ("htb", "offload") => {
                at -= 1;
                notes.push("offload is left out: the card would shape".to_owned());
            }
            ("htb", other) => {
                let known = ["default", "r2q", "direct_qlen", "offload"];
                return Err(faults::word(other, kind, &known));
            }
            (_, other) => return Err(faults::word(other, kind, &["default"])),
        }
    }
    Ok((text, notes))
}

/// Reads `default 10`, `default 0x10` or `default 1:10`.
fn minor(text: &str) -> Option<u16> {
    let text = text.rsplit(':').next().unwrap_or_default();
    u16::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// The class that packets go to if no filter matches.
pub(super) fn default_of(words: &[String]) -> Option<u16> {
    let index = words.iter().rposition(|word| word == "default")?;
    minor(words.get(index + 1)?).filter(|minor| *minor != 0)
}

/// How many packets of no class an htb holds: `direct_qlen`, else what a device has by default.
pub(super) fn direct_limit(words: &[String]) -> u64 {
    let index = words.iter().rposition(|word| word == "direct_qlen");
    let written = index.and_then(|index| units::whole(words.get(index + 1)?));
    written.unwrap_or(1000).max(1)
}

/// The discipline for a tbf with a queue inside.
pub(super) fn of_bucket(words: &[String]) -> Result<(String, Vec<String>), Fault> {
    check_tbf(words)?;
    let mut keys: Keys = Vec::new();
    let mut notes = Vec::new();
    let has_peak = words.iter().any(|word| word == "peakrate");
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let value = words.get(at + 1);
        at += 2;
        match word.as_str() {
            "rate" => keys.push(("rate", rate(word, value, &mut notes)?.to_string())),
            "peakrate" => keys.push(("peakrate", rate(word, value, &mut notes)?.to_string())),
            "burst" | "buffer" | "maxburst" => {
                keys.push(("burst", format!("{}b", size(word, value, 1 << 30)?)));
            }
            "mtu" | "minburst" if has_peak => {
                keys.push(("mtu", format!("{}b", size(word, value, 1 << 20)?)));
            }
            "limit" | "latency" => notes.push(format!(
                "{word} of tbf is left out: the queue inside has its own limit, in Linux too"
            )),
            "mtu" | "minburst" => {
                notes.push(format!(
                    "{word} of tbf is left out: it is of the bucket of peakrate"
                ));
            }
            "mpu" | "overhead" | "linklayer" => {
                let value = value.map_or("", String::as_str);
                notes.push(format!(
                    "`{word} {value}` is left out: lengths on the link are those of compare's \
                     --link"
                ));
            }
            other => {
                let known = ["rate", "burst", "latency", "limit"];
                return Err(faults::word(other, "tbf", &known));
            }
        }
    }
    let mut text = "tbf".to_owned();
    for (key, value) in keys {
        text += &format!(" {key} {value}");
    }
    match text.parse::<QueueSpec>() {
        Ok(_) => Ok((text, notes)),
        Err(error) => Err(error.into()),
    }
}

/// The discipline for drr or qfq, and the keys for each class.
pub(super) fn weights(kind: &str, classes: &[&Class]) -> Result<(String, Vec<Read>), Fault> {
    let mut all = Vec::new();
    let mut quanta = Vec::new();
    for class in classes {
        let mut keys: Keys = Vec::new();
        let mut notes = Vec::new();
        let mut quantum = FRAME;
        let mut at = 0;
        let wrong = |fault: Fault| at_line(class.line, fault);
        while let Some(word) = class.words.get(at) {
            let value = class.words.get(at + 1);
            match (kind, word.as_str()) {
                ("drr", "quantum") => quantum = size(word, value, 1 << 20).map_err(wrong)?,
                ("qfq", "weight") => {
                    let weight = number(word, value, 1, 1024).map_err(wrong)?;
                    keys.push(("weight", weight.to_string()));
                }
                ("qfq", "maxpkt") => {
                    let bytes = size(word, value, 65_536).map_err(wrong)?;
                    if bytes < 512 {
                        notes.push(format!("maxpkt {bytes} is 512, the least that Linux takes"));
                    }
                    keys.push(("maxpkt", bytes.max(512).to_string()));
                }
                ("drr", other) => {
                    return Err(wrong(faults::word(other, "a class of drr", &["quantum"])));
                }
                (_, other) => {
                    let known = ["weight", "maxpkt"];
                    return Err(wrong(faults::word(other, "a class of qfq", &known)));
                }
            }
            at += 2;
        }
        keep_last(&mut keys, &mut notes);
        if quantum < FRAME {
            notes.push(format!(
                "quantum {quantum} is less than a packet of {FRAME} bytes, so a class may wait \
                 several rounds for a turn"
            ));
        }
        if quantum < LEAST_QUANTUM {
            notes.push(format!(
                "quantum {quantum}: Linux 6.1.192 takes {LEAST_QUANTUM} for it, so the class has \
                 more there than here"
            ));
        }
        let has_longest = keys.iter().any(|(key, _)| *key == "maxpkt");
        if kind == "qfq" && !has_longest {
            // tc's default is a full frame of the interface.
            keys.push(("maxpkt", FRAME.to_string()));
        }
        quanta.push(quantum);
        all.push((keys, notes));
    }
    if kind == "qfq" {
        return Ok(("qfq_plus linux".to_owned(), all));
    }
    // Each quantum becomes a weight times a quantum that divides them all.
    let mut common = 0;
    for quantum in &quanta {
        common = greatest_divisor(common, *quantum);
    }
    let common = common.max(1);
    for ((keys, notes), quantum) in all.iter_mut().zip(&quanta) {
        let weight = quantum / common;
        if weight > 65_535 {
            notes.push(format!(
                "its quantum is {} times the smallest unit, here 65535",
                weight
            ));
        }
        keys.push(("weight", weight.min(65_535).to_string()));
    }
    let quantum = if quanta.is_empty() { FRAME } else { common };
    Ok((format!("drr quantum {quantum}b"), all))
}

fn greatest_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        let rest = left % right;
        left = right;
        right = rest;
    }
    left
}

/// The bands of prio or ets.
#[derive(Debug, Clone)]
pub(super) struct Bands {
    pub(super) number: u16,
    /// How many bands are strict and come before the others.
    pub(super) strict: u16,
    /// The band for each of Linux's priorities.
    pub(super) priomap: [u16; 16],
    pub(super) discipline: String,
    pub(super) notes: Vec<String>,
}

/// tc-prio(8).
const PRIOMAP: [u16; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Reads the words of prio or ets.
pub(super) fn bands(kind: &str, words: &[String]) -> Result<Bands, Fault> {
    let mut number_of_bands = None;
    let mut strict = 0;
    let mut quanta: Vec<u64> = Vec::new();
    let mut priomap: Vec<u16> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        match (kind, word.as_str()) {
            (_, "bands") => {
                number_of_bands = Some(number(word, words.get(at), 1, 16)?);
                at += 1;
            }
            ("ets", "strict") => {
                strict = number(word, words.get(at), 0, 16)?;
                at += 1;
            }
            ("ets", "quanta") => {
                while let Some(bytes) = words.get(at).and_then(|text| units::size(text)) {
                    quanta.push(bytes.clamp(1, 1 << 20));
                    at += 1;
                }
            }
            (_, "priomap") => {
                while priomap.len() < 16 {
                    let Some(band) = words.get(at).and_then(|text| units::whole(text)) else {
                        break;
                    };
                    priomap.push(u16::try_from(band).unwrap_or(u16::MAX));
                    at += 1;
                }
            }
            ("ets", other) => {
                let known = ["bands", "strict", "quanta", "priomap"];
                return Err(faults::word(other, kind, &known));
            }
            (_, other) => return Err(faults::word(other, kind, &["bands", "priomap"])),
        }
    }
    let written_bands = strict + quanta.len() as u64;
    let fallback = if kind == "prio" { 3 } else { written_bands };
    let number = number_of_bands.unwrap_or(fallback);
    let is_prio = kind == "prio";
    if !(1..=16).contains(&number) || written_bands > number {
        return Err(Fault::wanted("1 to 16, enough for strict and quanta")
            .behind(format_args!("{kind} has {number} bands; "))
            .with_given(number)
            .with_key("bands"));
    }
    if is_prio && number < 2 {
        return Err(Fault::wanted("2 to 16")
            .behind("prio has 1 band; ")
            .with_given(number)
            .with_key("bands"));
    }
    if let Some(band) = priomap.iter().find(|band| u64::from(**band) >= number) {
        return Err(Fault::wanted(format_args!("0 to {}", number - 1))
            .behind(format_args!("priomap names band {band}; "))
            .with_given(band)
            .with_key("priomap"));
    }
    let last = number as u16 - 1;
    let mut map = if is_prio {
        PRIOMAP.map(|band| band.min(last))
    } else {
        [last; 16]
    };
    if !priomap.is_empty() {
        if !is_prio {
            map = [last; 16];
        }
        map[..priomap.len()].copy_from_slice(&priomap);
    }
    let mut discipline = "priority".to_owned();
    if !is_prio {
        discipline = format!("ets bands {number} strict {strict}");
        if !quanta.is_empty() {
            discipline += " quanta";
        }
        for bytes in &quanta {
            discipline += &format!(" {bytes}");
        }
    }
    Ok(Bands {
        number: number as u16,
        strict: if is_prio { number } else { strict } as u16,
        priomap: map,
        discipline,
        notes: Vec::new(),
    })
}

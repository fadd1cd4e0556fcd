//! RouterOS's queues, as `/export` writes them, as the commands of tc that do the same.
//!
//! `/queue type`, `/queue simple` and `/queue tree` become classes of htb, because RouterOS's queues are
//! one. What `/ip firewall mangle` marks becomes rules of iptables, whose marks the classes' filters ask
//! for. A command becomes commands on its own line, so that remarks have lines of the file. A word
//! that is not known, or that a tree cannot have, is a remark.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use roundelay::Fault;

use crate::commands::MOST_OBJECTS;
use crate::uci::Translated;

/// Whether a text is such a file.
pub(crate) fn is_one(text: &str) -> bool {
    for line in text.lines() {
        for kind in ["/queue type", "/queue simple", "/queue tree"] {
            if line.trim_start().starts_with(kind) {
                return true;
            }
        }
    }
    false
}

/// The interface of packets to the targets of simple queues, and of packets from these.
const DOWNLOAD: &str = "download";
const UPLOAD: &str = "upload";
/// A rate that holds nothing back.
const UNLIMITED: u64 = 100_000_000_000;
/// A class that is guaranteed nothing still needs a rate.
const NEXT_TO_NOTHING: u64 = 1000;
/// What the bucket holds, in seconds at the limit, unless written.
const BUCKET: f64 = 0.1;

/// A command's line, what it is about, and its words.
struct Item<'a> {
    line: usize,
    path: String,
    words: BTreeMap<&'a str, &'a str>,
}

impl<'a> Item<'a> {
    fn get(&self, name: &str) -> &'a str {
        self.words.get(name).copied().unwrap_or_default()
    }

    fn is_off(&self) -> bool {
        self.get("disabled") == "yes"
    }
}

/// The items of a section.
fn of_path<'i, 'a>(items: &'i [Item<'a>], path: &str) -> Vec<&'i Item<'a>> {
    let mut found = Vec::new();
    for item in items {
        if item.path == path {
            found.push(item);
        }
    }
    found
}

/// What a file says, and what is told of it.
#[derive(Default)]
struct Told {
    /// Each once: simple queues are written for both directions.
    remarks: BTreeSet<(usize, String)>,
    /// Commands of a line.
    commands: BTreeMap<usize, String>,
    /// Names of queues, by interface and class.
    names: BTreeMap<[String; 2], String>,
}

impl Told {
    fn remark(&mut self, line: usize, text: impl Into<String>) {
        self.remarks.insert((line, text.into()));
    }

    fn run(&mut self, line: usize, command: &str) {
        let commands = self.commands.entry(line).or_default();
        *commands += command;
        *commands += "; ";
    }

    /// Remarks on words that are in none of the lists.
    fn check(&mut self, item: &Item<'_>, known: &[&str], quiet: &[&str]) {
        for (name, value) in &item.words {
            if known.contains(name)
                || quiet.contains(name)
                || ["comment", "disabled", "name"].contains(name)
            {
                continue;
            }
            let path = &item.path;
            self.remark(
                item.line,
                format!("left out: {path} has no word '{name}' that is known here (={value})"),
            );
        }
    }
}

/// Words of a line: `name=value`, and values in quotes.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut is_quoted = false;
    for (at, letter) in line.char_indices() {
        if letter == '"' {
            is_quoted = !is_quoted;
        }
        if letter.is_whitespace() && !is_quoted {
            if let Some(start) = start.take() {
                words.push(&line[start..at]);
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    words.extend(start.map(|start| &line[start..]));
    words
}

/// Joins lines that end in a backslash. Each has the number of its first.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let (part, more) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match all.last_mut() {
            Some((_, whole)) if goes_on => *whole += part,
            _ => all.push((number, part.to_owned())),
        }
        goes_on = more;
    }
    all
}

/// Reads the file.
///
/// # Errors
/// A rate is none, or a queue's parent or type does not exist.
pub(crate) fn translated(text: &str) -> Result<Translated, Fault> {
    let lines = joined(text);
    let mut told = Told::default();
    let items = items(&lines, &mut told)?;
    let mut marks = Marks::default();
    for item in of_path(&items, "/ip firewall mangle") {
        marks.read(item, &mut told);
    }
    marks.resolve(&mut told)?;
    let mut types = BTreeMap::new();
    for (name, words) in TYPES {
        types.insert((*name).to_owned(), (0, (*words).to_owned()));
    }
    for item in of_path(&items, "/queue type") {
        let words = of_type(item, &mut told);
        types.insert(item.get("name").to_owned(), (item.line, words));
    }
    simple(&items, &types, &marks, &mut told)?;
    tree(&items, &types, &marks, &mut told)?;
    let mut script = String::new();
    for (line, _) in (1..).zip(text.lines()) {
        script += told.commands.get(&line).map_or("", String::as_str);
        script.push('\n');
    }
    Ok(Translated {
        script,
        remarks: told.remarks.into_iter().collect(),
        names: told.names,
    })
}

/// The commands that add something.
fn items<'a>(lines: &'a [(usize, String)], told: &mut Told) -> Result<Vec<Item<'a>>, Fault> {
    let mut items = Vec::new();
    let mut path = String::new();
    for (line, text) in lines {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let all = words(text);
        let verb = all
            .iter()
            .position(|word| ["add", "set", "remove", "print"].contains(word));
        let head = &all[..verb.unwrap_or(all.len())];
        if head.first().is_some_and(|word| word.starts_with('/')) {
            path = head.join(" ");
        }
        let is_ours = path.starts_with("/queue ") || path == "/ip firewall mangle";
        let Some(verb) = verb.filter(|_| is_ours) else {
            continue;
        };
        if all[verb] != "add" {
            if path.starts_with("/queue ") && path != "/queue interface" {
                told.remark(
                    *line,
                    format!(
                        "left out: `{}` changes what is there; write it as add",
                        all[verb]
                    ),
                );
            }
            continue;
        }
        let mut found = BTreeMap::new();
        for word in &all[verb + 1..] {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            found.insert(name, value.trim_matches('"'));
        }
        let item = Item {
            line: *line,
            path: path.clone(),
            words: found,
        };
        if !item.is_off() {
            items.push(item);
        }
        if items.len() > MOST_OBJECTS {
            return Err(too_many(*line));
        }
    }
    Ok(items)
}

fn too_many(line: usize) -> Fault {
    let most = format!("at most {MOST_OBJECTS}");
    let fault = Fault::wanted(most).behind("too many queues, types, rules and filters; ");
    fault.in_file("", line)
}

/// Types that are there without a command.
const TYPES: &[(&str, &str)] = &[
    ("default", "pfifo limit 50"),
    ("default-small", "pfifo limit 10"),
    ("ethernet-default", "pfifo limit 50"),
    ("multi-queue-ethernet-default", "pfifo limit 50"),
    ("wireless-default", "sfq perturb 5"),
    ("hotspot-default", "sfq perturb 5"),
    (
        "synchronous-default",
        "red limit 91k min 15k max 75k burst 20 avpkt 1000 bandwidth 10mbit",
    ),
    ("only-hardware-queue", "pfifo limit 50"),
    ("pcq-upload-default", ""),
    ("pcq-download-default", ""),
];

/// Words of a kind, each with tc's. A word of `yes` or `no` has the one that tc writes for yes.
type Mapping = &'static [(&'static str, &'static str)];

const FIFO: Mapping = &[
    ("pfifo-limit", "limit"),
    ("mq-pfifo-limit", "limit"),
    ("bfifo-limit", "limit"),
];
const SFQ: Mapping = &[("sfq-perturb", "perturb"), ("sfq-allot", "quantum")];
const CODEL: Mapping = &[
    ("codel-limit", "limit"),
    ("codel-target", "target"),
    ("codel-interval", "interval"),
    ("codel-ecn", "ecn?"),
    ("codel-ce-threshold", "ce_threshold"),
];
const FQ_CODEL: Mapping = &[
    ("fq-codel-limit", "limit"),
    ("fq-codel-flows", "flows"),
    ("fq-codel-quantum", "quantum"),
    ("fq-codel-target", "target"),
    ("fq-codel-interval", "interval"),
    ("fq-codel-ecn", "ecn?"),
    ("fq-codel-ce-threshold", "ce_threshold"),
    ("fq-codel-memlimit", "memory_limit"),
];
const RED: Mapping = &[
    ("red-limit", "packets"),
    ("red-min-threshold", "packets"),
    ("red-max-threshold", "packets"),
    ("red-burst", "packets"),
    ("red-avg-packet", "packets"),
];
const CAKE: Mapping = &[
    ("cake-bandwidth", "bandwidth"),
    ("cake-diffserv", ""),
    ("cake-flowmode", ""),
    ("cake-nat", "nat?"),
    ("cake-wash", "wash?"),
    ("cake-rtt", "rtt"),
    ("cake-rtt-scheme", ""),
    ("cake-overhead", "overhead"),
    ("cake-overhead-scheme", ""),
    ("cake-mpu", "mpu"),
    ("cake-atm", ""),
    ("cake-memlimit", "memlimit"),
    ("cake-ack-filter", "ack"),
    ("cake-autorate-ingress", "autorate"),
];

/// The qdisc of a type. Empty: no counterpart.
fn of_type(item: &Item<'_>, told: &mut Told) -> String {
    let kind = item.get("kind");
    let (qdisc, mapping): (&str, Mapping) = match kind {
        "pfifo" | "mq-pfifo" => ("pfifo", FIFO),
        "bfifo" => ("bfifo", FIFO),
        "sfq" => ("sfq", SFQ),
        "codel" => ("codel", CODEL),
        "fq-codel" => ("fq_codel", FQ_CODEL),
        "cake" => ("cake", CAKE),
        "red" => ("red", RED),
        "none" => ("pfifo", FIFO),
        "pcq" => return String::new(),
        other => {
            told.remark(
                item.line,
                format!("left out: a queue of kind '{other}', which is not known here"),
            );
            return String::new();
        }
    };
    let mut text = qdisc.to_owned();
    let mut known = vec!["kind"];
    for (name, word) in mapping {
        known.push(name);
        let value = item.get(name);
        if value.is_empty() {
            continue;
        }
        let is_plain = value
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || ".,- ".contains(letter));
        if !is_plain {
            told.remark(item.line, format!("left out: {name}={value}"));
            continue;
        }
        match (*word, value) {
            ("packets", _) => {}
            ("ack", "none") | ("autorate", "no") => {}
            ("ack", "aggressive") => text += " ack-filter-aggressive",
            ("ack", _) => text += " ack-filter",
            ("autorate", _) => told.remark(
                item.line,
                "left out: cake-autorate-ingress: the rate here is fixed",
            ),
            ("bandwidth", _) => match rate(value) {
                Ok(0) | Err(_) => {}
                Ok(bits) => text += &format!(" bandwidth {bits}bit"),
            },
            ("", "none") | ("ce_threshold", _) => {}
            ("", _) => text += &format!(" {}", value.replace(',', " ")),
            (word, value) if word.ends_with('?') => match (word, value) {
                ("ecn?", "no") => text += " noecn",
                (_, "yes") => text += &format!(" {}", word.trim_end_matches('?')),
                _ => {}
            },
            ("limit", value) if kind == "bfifo" => text += &format!(" limit {}", bytes(value)),
            ("memlimit" | "memory_limit", value) => text += &format!(" {word} {}", bytes(value)),
            (word, value) => text += &format!(" {word} {value}"),
        }
    }
    if kind == "red" {
        let of = |name: &str, usual: u64| item.get(name).parse().unwrap_or(usual);
        let packet = of("red-avg-packet", 1000);
        text += &format!(
            " limit {} min {} max {} avpkt {packet} burst {} bandwidth 10mbit",
            packet * of("red-limit", 60),
            packet * of("red-min-threshold", 10),
            packet * of("red-max-threshold", 50),
            of("red-burst", 20)
        );
    }
    told.check(item, &known, &[]);
    text
}

/// Bytes as RouterOS writes them: `15000`, `32KiB`, `32.0MiB`.
fn bytes(text: &str) -> String {
    text.replace("KiB", "k")
        .replace("MiB", "m")
        .replace("GiB", "g")
        .replace(".0", "")
}

/// Bits per second: `64000`, `512k`, `20M`, `1G`.
fn rate(text: &str) -> Result<u64, Fault> {
    let (number, factor) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1e3),
        Some('m' | 'M') => (&text[..text.len() - 1], 1e6),
        Some('g' | 'G') => (&text[..text.len() - 1], 1e9),
        _ => (text.trim_end_matches("bps"), 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if (0.0..=1e6).contains(&(number * factor / 1e6)) => {
            Ok((number * factor) as u64)
        }
        _ => Err(Fault::wanted("a rate such as 20M, 512k or 64000")
            .behind(format_args!("'{text}': "))
            .with_given(text)),
    }
}

/// `up/down`, or one for both.
fn pair(text: &str, is_up: bool) -> &str {
    match text.split_once('/') {
        Some((up, down)) => {
            if is_up {
                up
            } else {
                down
            }
        }
        None => text,
    }
}

/// A queue as a class of htb.
struct Class<'a> {
    line: usize,
    name: &'a str,
    parent: &'a str,
    /// None: unlimited.
    limit: Option<u64>,
    guaranteed: u64,
    priority: u64,
    bucket: f64,
    /// The qdisc. None: no counterpart.
    queue: Option<String>,
    filters: Vec<String>,
}

fn number_of(item: &Item<'_>, name: &str, is_up: bool) -> Result<u64, Fault> {
    match pair(item.get(name), is_up) {
        "" => Ok(0),
        text => rate(text).map_err(|fault| fault.in_file("", item.line)),
    }
}

impl<'a> Class<'a> {
    fn of(
        item: &Item<'a>,
        is_up: bool,
        default: &str,
        types: &BTreeMap<String, (usize, String)>,
        told: &mut Told,
    ) -> Result<Self, Fault> {
        let limit = number_of(item, "max-limit", is_up)?;
        let guaranteed = number_of(item, "limit-at", is_up)?;
        for word in ["burst-limit", "burst-threshold", "burst-time", "time"] {
            let value = pair(item.get(word), is_up);
            if !["", "0", "0s"].contains(&value) {
                told.remark(
                    item.line,
                    format!("left out: {word}={value}: the limit of a class does not change here"),
                );
            }
        }
        let written = pair(item.get("queue"), is_up);
        let name = if written.is_empty() { default } else { written };
        let queue = match types.get(name) {
            Some((_, words)) if words.is_empty() => None,
            Some((_, words)) => Some(words.clone()),
            None => {
                let names = Vec::from_iter(types.keys().map(String::as_str));
                let fault = Fault::no_such("queue type", name, &names);
                return Err(fault.in_file("", item.line));
            }
        };
        let priority = pair(item.get("priority"), is_up)
            .parse()
            .unwrap_or(8)
            .clamp(1, 8);
        let bucket: f64 = pair(item.get("bucket-size"), is_up)
            .parse()
            .unwrap_or(BUCKET);
        Ok(Self {
            line: item.line,
            name: item.get("name"),
            parent: item.get("parent"),
            limit: (limit > 0).then_some(limit),
            guaranteed,
            priority,
            bucket: bucket.clamp(0.0, 10.0),
            queue,
            filters: Vec::new(),
        })
    }
}

/// The classes of an interface, by name.
struct Family<'c, 'a> {
    classes: &'c [Class<'a>],
    numbers: BTreeMap<&'a str, usize>,
    parents: BTreeSet<&'a str>,
}

impl<'c, 'a> Family<'c, 'a> {
    fn of(classes: &'c [Class<'a>]) -> Self {
        let mut numbers = BTreeMap::new();
        let mut parents = BTreeSet::new();
        for (number, class) in classes.iter().enumerate() {
            numbers.entry(class.name).or_insert(number);
            if class.parent != class.name {
                parents.insert(class.parent);
            }
        }
        Self {
            classes,
            numbers,
            parents,
        }
    }

    /// The parent of a class, if it is one of these.
    fn above(&self, number: usize) -> Option<usize> {
        let above = *self.numbers.get(self.classes[number].parent)?;
        (above != number).then_some(above)
    }

    fn is_leaf(&self, class: &Class<'_>) -> bool {
        !self.parents.contains(class.name)
    }

    /// The classes in their order, but parents before their children.
    fn in_order(&self) -> Result<Vec<usize>, Fault> {
        let mut is_written = vec![false; self.classes.len()];
        let mut order = Vec::new();
        for (first, class) in self.classes.iter().enumerate() {
            let mut path = Vec::new();
            let mut next = Some(first);
            while let Some(number) = next.filter(|number| !is_written[*number]) {
                if path.len() > self.classes.len() {
                    return Err(circle(class.name, class.line));
                }
                path.push(number);
                next = self.above(number);
            }
            for number in path.into_iter().rev() {
                is_written[number] = true;
                order.push(number);
            }
        }
        Ok(order)
    }
}

fn circle(name: &str, line: usize) -> Fault {
    Fault::new(format!("the parents of queue '{name}' go in a circle")).in_file("", line)
}

/// Writes the classes of an interface. Those whose parent is none of them hang at the root.
fn write(device: &str, classes: &[Class<'_>], told: &mut Told) -> Result<(), Fault> {
    let Some(first) = classes.first() else {
        return Ok(());
    };
    told.run(
        first.line,
        &format!("tc qdisc add dev {device} root handle 1: htb"),
    );
    let family = Family::of(classes);
    // Commands go to the line of the class, but not before those of its parent.
    let mut line = first.line;
    let mut priority = 0;
    for number in family.in_order()? {
        let class = &classes[number];
        line = line.max(class.line);
        let above = family.above(number);
        let parent = match above {
            Some(above) => format!("1:{:x}", above + 1),
            None => "1:".to_owned(),
        };
        let limit = class.limit.unwrap_or(UNLIMITED);
        // Nobody lends to a class at the root, so it has its limit.
        let rate = match above {
            None => limit,
            Some(_) => class.guaranteed.max(NEXT_TO_NOTHING).min(limit),
        };
        let is_leaf = family.is_leaf(class);
        let id = format!("1:{:x}", number + 1);
        let mut command = format!(
            "tc class add dev {device} parent {parent} classid {id} htb rate {rate}bit ceil \
             {limit}bit"
        );
        let bucket = ((limit as f64 * class.bucket / 8.0) as u64).clamp(1600, 1 << 30);
        let _ = write!(command, " burst {bucket}b cburst {bucket}b");
        if is_leaf {
            let _ = write!(command, " prio {} quantum 1514", class.priority - 1);
        }
        told.run(line, &command);
        if !class.name.is_empty() {
            let place = [device.to_owned(), id.clone()];
            told.names.insert(place, unescaped(class.name));
        }
        if !is_leaf {
            continue;
        }
        match &class.queue {
            Some(queue) => {
                let command = format!("tc qdisc add dev {device} parent {id} {queue}");
                told.run(line, &command);
            }
            None => told.remark(
                class.line,
                format!(
                    "left out: the pcq of queue '{}', which shares by address; the leaf is a fifo. \
                     Try cake with dual-srchost or dual-dsthost in its place",
                    class.name
                ),
            ),
        }
    }
    // The first queue that matches decides, wherever its parent stands.
    for (number, class) in classes.iter().enumerate() {
        if !family.is_leaf(class) {
            continue;
        }
        let id = format!("1:{:x}", number + 1);
        for filter in &class.filters {
            priority += 1;
            let filter = filter.replace("PRIO", &priority.to_string());
            let command = format!("tc filter add dev {device} parent 1: {filter} flowid {id}");
            told.run(line, &command);
        }
    }
    Ok(())
}

/// A text as RouterOS writes it, with its escapes: `\"`, `\\`, `\_` for a space, `\1B` for a byte.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain += &rest[..at];
        let escaped = &rest[at + 1..];
        let code = escaped
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(letter) = escaped.chars().next() else {
            return plain;
        };
        let (meant, used) = match (letter, code) {
            (_, Some(code)) => (char::from(code), 2),
            ('_', _) => (' ', 1),
            ('n' | 'r' | 't' | 'a' | 'b' | 'f' | 'v', _) => (' ', 1),
            (letter, _) => (letter, letter.len_utf8()),
        };
        plain.push(meant);
        rest = &escaped[used..];
    }
    plain + rest
}

/// A filter of u32 for an end of packets.
fn of_network(text: &str, end: &str) -> Option<String> {
    let address: IpAddr = text.split('/').next()?.parse().ok()?;
    Some(match address.is_ipv4() {
        true => format!("match ip {end} {text}"),
        false => format!("match ip6 {end} {text}"),
    })
}

/// `/queue simple`: packets from the target go up, packets to it down.
fn simple(
    items: &[Item<'_>],
    types: &BTreeMap<String, (usize, String)>,
    marks: &Marks,
    told: &mut Told,
) -> Result<(), Fault> {
    const READ: [&str; 14] = [
        "target",
        "dst",
        "parent",
        "packet-marks",
        "priority",
        "queue",
        "limit-at",
        "max-limit",
        "burst-limit",
        "burst-threshold",
        "burst-time",
        "bucket-size",
        "time",
        "name",
    ];
    const TOTAL: [&str; 8] = [
        "total-limit-at",
        "total-max-limit",
        "total-priority",
        "total-queue",
        "total-bucket-size",
        "total-burst-limit",
        "total-burst-threshold",
        "total-burst-time",
    ];
    let mut of_simple = Vec::new();
    for item in of_path(items, "/queue simple") {
        of_simple.push(item);
        told.check(item, &READ, &TOTAL);
        if TOTAL
            .iter()
            .any(|word| !["", "0", "default-small"].contains(&item.get(word)))
        {
            told.remark(
                item.line,
                "left out: limits of both directions together (total-..)",
            );
        }
    }
    for (device, is_up) in [(UPLOAD, true), (DOWNLOAD, false)] {
        let [target_end, other_end] = if is_up {
            ["src", "dst"]
        } else {
            ["dst", "src"]
        };
        let mut classes = Vec::new();
        for item in &of_simple {
            let mut quiet = Told::default();
            let mut class = Class::of(
                item,
                is_up,
                "default-small",
                types,
                if is_up { told } else { &mut quiet },
            )?;
            let mut matches = vec![String::new()];
            for (word, end) in [("target", target_end), ("dst", other_end)] {
                let mut longer = Vec::new();
                for part in item.get(word).split(',').filter(|part| !part.is_empty()) {
                    let Some(found) = of_network(part, end) else {
                        if is_up {
                            told.remark(item.line, format!(
                                "{word}={part} is an interface, so this queue is taken for that of \
                                 all packets; RouterOS calls download what goes to the target, \
                                 which is the other way round where the target is the way to the \
                                 provider"
                            ));
                        }
                        continue;
                    };
                    if longer.len() + matches.len() > MOST_OBJECTS {
                        return Err(too_many(item.line));
                    }
                    for words in &matches {
                        longer.push(format!("{words} {found}"));
                    }
                }
                if !longer.is_empty() {
                    matches = longer;
                }
            }
            for words in matches {
                let version = |text: &str| words.contains(text);
                class
                    .filters
                    .push(match (version("match ip "), version("match ip6 ")) {
                        (true, true) => continue,
                        (true, false) => format!("protocol ip prio PRIO u32{words}"),
                        (false, true) => format!("protocol ipv6 prio PRIO u32{words}"),
                        (false, false) => "protocol all prio PRIO matchall".to_owned(),
                    });
            }
            if !item.get("packet-marks").is_empty() {
                class.filters =
                    marks.filters(item, "packet-marks", if is_up { told } else { &mut quiet });
            }
            classes.push(class);
        }
        write(device, &classes, told)?;
    }
    // Each direction has a tree of its own, and what one shapes comes in at the other.
    if let Some(item) = of_simple.first() {
        for (device, other) in [(UPLOAD, DOWNLOAD), (DOWNLOAD, UPLOAD)] {
            told.run(item.line, &format!("tc qdisc add dev {device} ingress"));
            told.run(
                item.line,
                &format!(
                    "tc filter add dev {device} parent ffff: protocol all matchall action mirred \
                     egress redirect dev {other}"
                ),
            );
        }
    }
    Ok(())
}

/// `/queue tree`: below `global` or an interface.
fn tree(
    items: &[Item<'_>],
    types: &BTreeMap<String, (usize, String)>,
    marks: &Marks,
    told: &mut Told,
) -> Result<(), Fault> {
    const READ: [&str; 11] = [
        "parent",
        "packet-mark",
        "priority",
        "queue",
        "limit-at",
        "max-limit",
        "burst-limit",
        "burst-threshold",
        "burst-time",
        "bucket-size",
        "name",
    ];
    let mut of_tree = Vec::new();
    for item in of_path(items, "/queue tree") {
        told.check(item, &READ, &[]);
        of_tree.push(item);
    }
    let mut above = BTreeMap::new();
    for item in &of_tree {
        above.insert(item.get("name"), item.get("parent"));
    }
    // The interface at the top of each queue.
    let mut devices: BTreeMap<String, Vec<Class<'_>>> = BTreeMap::new();
    for item in &of_tree {
        let mut top = item.get("parent");
        let mut steps = 0;
        while let Some(next) = above.get(top) {
            top = next;
            steps += 1;
            if steps > of_tree.len() {
                return Err(circle(item.get("name"), item.line));
            }
        }
        let device: String = top
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter))
            .collect();
        if device.is_empty() {
            let fault = Fault::wanted("parent=global, an interface or a queue");
            return Err(fault
                .behind(format_args!("queue '{}' has no parent; ", item.get("name")))
                .in_file("", item.line));
        }
        let mut class = Class::of(item, true, "default", types, told)?;
        if !item.get("packet-mark").is_empty() {
            class.filters = marks.filters(item, "packet-mark", told);
        }
        devices.entry(device).or_default().push(class);
    }
    for (device, classes) in &devices {
        write(device, classes, told)?;
    }
    Ok(())
}

/// The marks of packets, by name, with a number for each.
#[derive(Default)]
struct Marks<'a> {
    numbers: BTreeMap<&'a str, usize>,
    /// What a connection's mark asks for, by name: words of iptables, and the same the other way.
    connections: BTreeMap<&'a str, Vec<[String; 2]>>,
    /// Rules that mark packets: line, name, connection's mark, words, and whether a later one may
    /// mark the packet anew.
    rules: Vec<(usize, &'a str, &'a str, String, bool)>,
}

impl<'a> Marks<'a> {
    fn read(&mut self, item: &Item<'a>, told: &mut Told) {
        const READ: [&str; 16] = [
            "action",
            "chain",
            "new-packet-mark",
            "new-connection-mark",
            "passthrough",
            "protocol",
            "src-port",
            "dst-port",
            "src-address",
            "dst-address",
            "dscp",
            "packet-size",
            "tcp-flags",
            "connection-mark",
            "packet-mark",
            "connection-state",
        ];
        let action = item.get("action");
        if !["mark-packet", "mark-connection"].contains(&action) {
            return;
        }
        let mut both = [String::new(), String::new()];
        for (word, option, mirrored) in [
            ("protocol", "-p", "-p"),
            ("src-address", "-s", "-d"),
            ("dst-address", "-d", "-s"),
            ("src-port", "--sports", "--dports"),
            ("dst-port", "--dports", "--sports"),
            ("dscp", "--dscp", "--dscp"),
            ("packet-size", "--length", "--length"),
        ] {
            let value = item.get(word);
            if value.is_empty() {
                continue;
            }
            let value = if word == "packet-size" || word.ends_with("port") {
                value.replace('-', ":")
            } else {
                value.to_owned()
            };
            for (text, option) in both.iter_mut().zip([option, mirrored]) {
                let _ = write!(text, " {option} '{}'", value.replace('\'', ""));
            }
        }
        if item.get("tcp-flags") == "ack" {
            for text in &mut both {
                *text += " --tcp-flags SYN,RST,ACK ACK";
            }
        }
        for (name, value) in &item.words {
            let is_known = READ.contains(name) || ["comment", "disabled"].contains(name);
            if !is_known {
                // A word that the reader of these rules does not know makes a reserve of it.
                let unknown = format!("{name}={value}").replace('\'', "");
                for text in &mut both {
                    let _ = write!(text, " '{unknown}'");
                }
            }
        }
        if action == "mark-connection" {
            self.connections
                .entry(item.get("new-connection-mark"))
                .or_default()
                .push(both);
            return;
        }
        let name = item.get("new-packet-mark");
        let number = self.numbers.len() + 1;
        self.numbers.entry(name).or_insert(number);
        let goes_on = item.get("passthrough") != "no";
        let [words, _] = both;
        if name.is_empty() {
            told.remark(item.line, "left out: a rule without new-packet-mark");
            return;
        }
        self.rules
            .push((item.line, name, item.get("connection-mark"), words, goes_on));
    }

    /// Writes the rules as commands of iptables.
    fn resolve(&self, told: &mut Told) -> Result<(), Fault> {
        let mut written = 0;
        for (line, name, connection, words, goes_on) in &self.rules {
            let number = self.numbers[name];
            let guard = if *goes_on { "" } else { " -m mark --mark 0" };
            let mut all = Vec::new();
            match self.connections.get(connection) {
                _ if connection.is_empty() => all.push(words.clone()),
                Some(asked) if written + 2 * asked.len() > MOST_OBJECTS => {
                    return Err(too_many(*line));
                }
                Some(asked) => {
                    for both in asked {
                        for one in both {
                            all.push(format!("{words}{one}"));
                        }
                    }
                }
                None => {
                    told.remark(
                        *line,
                        format!("left out: no rule here marks a connection {connection}"),
                    );
                }
            }
            written += all.len();
            for words in all {
                told.run(
                    *line,
                    &format!(
                        "iptables -t mangle -A FORWARD{guard}{words} -j MARK --set-mark {number}"
                    ),
                );
            }
        }
        Ok(())
    }

    /// The filters for a queue's marks.
    fn filters(&self, item: &Item<'_>, word: &str, told: &mut Told) -> Vec<String> {
        let mut filters = Vec::new();
        for name in item.get(word).split(',') {
            match self.numbers.get(name) {
                Some(number) => filters.push(format!("protocol all prio PRIO handle {number} fw")),
                None if name == "no-mark" => {
                    filters.push("protocol all prio PRIO matchall".to_owned());
                }
                None => told.remark(
                    item.line,
                    format!(
                        "left out: packets of mark {name}, which no rule of /ip firewall mangle \
                         here sets"
                    ),
                ),
            }
        }
        filters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_be_quoted_and_lines_go_on() {
        assert_eq!(
            words("add name=\"a b\" kind=cake"),
            ["add", "name=\"a b\"", "kind=cake"]
        );
        let lines = joined("/queue simple\nadd name=x \\\n    target=10.0.0.0/8\nadd name=y");
        assert_eq!(lines[1], (2, "add name=x target=10.0.0.0/8".to_owned()));
        assert_eq!(lines[2].0, 4);
    }

    #[test]
    fn rates_have_letters() {
        assert_eq!(rate("20M"), Ok(20_000_000));
        assert_eq!(rate("512k"), Ok(512_000));
        assert_eq!(rate("64000"), Ok(64_000));
        assert!(rate("fast").is_err());
        assert_eq!(
            (pair("1M/2M", true), pair("1M/2M", false), pair("3M", false)),
            ("1M", "2M", "3M")
        );
    }
}

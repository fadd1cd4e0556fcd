//! Marks: what rules of iptables and nft set on packets, as the headers that they ask for.
//!
//! Marks are not in packets, so a filter on one (`fw`, `u32 match mark`) becomes a rule of a tree only
//! if the rules that set this mark ask for headers: addresses, ports, protocols, code points, small
//! acknowledgements. A rule that asks for something else is a reserve.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use roundelay::Fault;

use crate::filters::{self, Test, Tests};
use crate::ruleset::{Hook, Rule, Ruleset};
use crate::script::{Marking, Nft};
use crate::units::whole;

use standing::Standing;

mod standing;

/// What to do about rules that lie in another file.
const READS_THEM: &str = "`roundelay import --run` reads them, too";

/// What is done to a rule that only its number names.
const BY_NUMBER: &str = "deletes or replaces a rule by a number, which is not known here";

/// A mark, of which a rule sets or asks for the bits of the mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) value: u32,
    pub(crate) mask: u32,
}

impl Mark {
    /// A mark with or without a mask: `0x10`, `0x10/0xff`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
        Some(Self {
            value: u32::try_from(whole(value)?).ok()?,
            mask: u32::try_from(whole(mask)?).ok()?,
        })
    }
}

/// What a rule does with its packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sets {
    /// The mark.
    Mark(Mark),
    /// The code point.
    CodePoint(u8),
    /// The class, as `CLASSIFY` and nft's `meta priority` name it.
    Class(String),
}

impl Sets {
    const KINDS: usize = 3;

    /// Rules of a kind decide about packets without regard to those of others.
    const fn kind(&self) -> usize {
        match self {
            Self::Mark(_) => 0,
            Self::CodePoint(_) => 1,
            Self::Class(_) => 2,
        }
    }

    const fn is_mark(&self) -> bool {
        matches!(self, Self::Mark(_))
    }
}

/// A rule that sets something, for packets that meet one of the alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Marked {
    pub(crate) line: usize,
    pub(crate) sets: Sets,
    pub(crate) alternatives: Vec<Tests>,
}

/// A rule that no tree can have.
#[derive(Debug, Clone)]
pub(crate) struct LeftOut {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// It sets a mark, which has no effect on queues unless a filter asks for marks.
    pub(crate) is_mark: bool,
}

/// All rules of a script, the one that decides first coming first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    pub(crate) rules: Vec<Marked>,
    /// Code points that rules ask for.
    pub(crate) points: BTreeSet<u8>,
    /// Rules that no tree can have.
    pub(crate) left_out: Vec<LeftOut>,
}

impl Marks {
    /// Reads the rules for packets that leave by this interface. An ifb has packets before the packet
    /// filter sees them.
    pub(crate) fn read(calls: &[Marking], device: &str) -> Self {
        let mut marks = Self::default();
        if device.starts_with("ifb") {
            return marks;
        }
        let mut chains = Chains::default();
        let mut wrong = Vec::new();
        let mut ruleset = Ruleset::default();
        let standing = Standing::of(calls);
        for call in standing.calls() {
            let program = call.words.first().map_or("", String::as_str);
            let words = &call.words[1..];
            if program.ends_with("-restore") {
                marks.lack(call.line, &format!("{program} reads"), READS_THEM);
                continue;
            }
            if program == "nft" {
                let nft = Nft::of(words);
                if nft.only_checks {
                    continue;
                }
                ruleset.define(&nft.defined);
                match nft.file {
                    Some(file) if call.rules.is_empty() => {
                        let reads = format!("{program} reads from {file}");
                        marks.lack(call.line, &reads, READS_THEM);
                    }
                    Some(_) => ruleset.add(&call.rules),
                    None => ruleset.add(&[(call.line, nft.command.join(" "))]),
                }
                continue;
            }
            match of_iptables(words, program == "iptables", device) {
                Ok(None) => {}
                Ok(Some(step)) => chains.add(program, call.line, step),
                Err(why) => wrong.push(Wrong {
                    line: call.line,
                    words: call.words.clone(),
                    why,
                }),
            }
        }
        marks.left_out.extend(standing.left_out);
        for (line, file) in &ruleset.included {
            let include = format!("nft reads from {file}");
            marks.lack(*line, &include, "write them in place of `include`");
        }
        for (line, command) in &ruleset.numbered {
            marks.left_out.push(LeftOut {
                line: *line,
                text: format!("left out: `{command}` {BY_NUMBER}"),
                is_mark: true,
            });
        }
        for rule in ruleset.resolved() {
            match of_nft(&rule, device) {
                Ok(None) => {}
                Ok(Some(step)) => chains.add("nft", rule.line, step),
                Err(why) => wrong.push(Wrong {
                    line: rule.line,
                    words: [vec!["nft".to_owned()], rule.words].concat(),
                    why,
                }),
            }
        }
        chains.hooks = ruleset.chains;
        chains.in_order(&mut marks, device);
        for Wrong { line, words, why } in wrong {
            let sets = what_is_set(&words);
            if sets != Set::Nothing || chains.matter_to(&words) {
                marks.left_out.push(LeftOut {
                    line,
                    text: format!("this rule of {} is left out: {why}", words[0]),
                    is_mark: sets != Set::Other,
                });
            }
        }
        marks
    }

    /// Tells of rules that the script does not hold.
    fn lack(&mut self, line: usize, who: &str, hint: &str) {
        self.left_out.push(LeftOut {
            line,
            text: format!(
                "the rules that {who} are left out, because the script does not hold them; {hint}"
            ),
            is_mark: true,
        });
    }

    pub(crate) fn write_code_points(&self) -> bool {
        for rule in &self.rules {
            if matches!(rule.sets, Sets::CodePoint(_)) {
                return true;
            }
        }
        false
    }
}

/// A rule that cannot be read.
struct Wrong {
    line: usize,
    /// The program's name first.
    words: Vec<String>,
    why: Fault,
}

fn tests_without(tests: &[Test], point: u8) -> Tests {
    let mut left = tests.to_vec();
    left.retain(|test| *test != Test::CodePoint(point));
    left
}

/// What the words of a rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Nothing,
    Mark,
    /// A code point or a class.
    Other,
}

fn what_is_set<Word: AsRef<str>>(words: &[Word]) -> Set {
    let words = Vec::from_iter(words.iter().map(AsRef::as_ref));
    let text = words.join(" ");
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    match () {
        () if has(&["DSCP", "TOS", "CLASSIFY", "dscp set", "priority set"]) => Set::Other,
        () if has(&["MARK", "mark set"]) => Set::Mark,
        () => Set::Nothing,
    }
}

/// A rule as it was read.
#[derive(Debug, Clone)]
struct Step {
    table: String,
    chain: String,
    does: Does,
    alternatives: Vec<Tests>,
    /// It is for packets without a mark, as far as these bits go.
    only_unmarked: Option<u32>,
    /// It was inserted before the others.
    goes_first: bool,
    /// Its packets leave the chain.
    ends: bool,
    /// They leave those around it, too.
    accepts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Does {
    Sets(Sets),
    /// It goes on with the rules of another chain.
    Jumps(String),
    Nothing,
}

/// The hooks that packets pass which leave by an interface, in their order, as nft calls them. Those
/// that the machine itself sends pass `output` in place of `prerouting` and `forward`.
const HOOKS: [&str; 5] = ["prerouting", "forward", "output", "postrouting", "egress"];
/// The place of `output` among them.
const OUTPUT: usize = 2;
/// The tables of iptables, with their priority at a hook.
const TABLES: [(&str, i64); 4] = [
    ("raw", -300),
    ("mangle", -150),
    ("nat", -100),
    ("filter", 0),
];
/// So deep may chains enter chains.
const DEEPEST: usize = 16;
/// Targets of iptables that end a chain for packets that go on.
const ENDS: [&str; 2] = ["RETURN", "ACCEPT"];
/// Rules are joined with those that come before or enter them, this often at most.
const MOST_JOINED: usize = 1 << 16;
/// And compared with each other.
const MOST_COMPARED: usize = 1 << 22;

/// A chain, by program, table and name.
type Chain = [String; 3];

/// The rules of all chains.
#[derive(Default)]
struct Chains {
    rules: BTreeMap<Chain, Vec<(usize, Step)>>,
    /// Where chains of nft hang that are declared, by table and name.
    hooks: BTreeMap<[String; 2], Option<Hook>>,
}

/// A chain that the kernel itself runs. The order of the fields is that of the runs.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Base {
    hook: usize,
    priority: i64,
    chain: Chain,
}

/// Packets to which a rule gives a code point.
struct Rewritten {
    point: u8,
    alternatives: Vec<Tests>,
}

/// Packets that a rule marks, or whose mark it takes away.
struct Touched {
    mark: Mark,
    alternatives: Vec<Tests>,
}

/// Rules on the way through the chains.
#[derive(Default)]
struct Walk {
    /// The first of its kind that matches decides.
    found: VecDeque<Marked>,
    /// What is decided for packets that have left the base chain. The first decides.
    accepted: VecDeque<Marked>,
    /// In the order of the rules.
    rewritten: Vec<Rewritten>,
    /// In the order of the rules.
    touched: Vec<Touched>,
    /// Code points that rules ask for.
    points: BTreeSet<u8>,
    /// Why rules are left out, by line, and whether that is for marks only.
    left_out: BTreeMap<(usize, &'static str), bool>,
    joined: usize,
    compared: usize,
}

/// Packets that had no mark, as far as these bits go, when so many rules had touched marks.
#[derive(Clone, Copy)]
struct Unmarked {
    bits: u32,
    touched: usize,
}

/// Where a chain was entered.
#[derive(Clone, Copy)]
struct Entry {
    /// So many chains are around it.
    depth: usize,
    unmarked: Option<Unmarked>,
    /// What the base chain sets, by kind.
    kinds: [bool; Sets::KINDS],
}

impl Chains {
    fn add(&mut self, program: &str, line: usize, step: Step) {
        let key = [program.to_owned(), step.table.clone(), step.chain.clone()];
        let rules = self.rules.entry(key).or_default();
        if step.goes_first {
            rules.insert(0, (line, step));
        } else {
            rules.push((line, step));
        }
    }

    /// Whether a rule that sets nothing leads to other rules, or ends a chain of theirs.
    fn matter_to(&self, words: &[String]) -> bool {
        let program = words[0].as_str();
        if program == "nft" {
            return self.rules.keys().any(|[of, ..]| of == program);
        }
        let table = behind(words, &TABLE).unwrap_or("filter");
        let has = |chain: &str| {
            let chain = [program, table, chain].map(str::to_owned);
            self.rules.contains_key(&chain)
        };
        let ends_ours = |target, returns: bool| {
            let ends = !returns || ENDS.contains(&target);
            ends && behind(words, &ADDS).is_some_and(has)
        };
        target_of(words).is_some_and(|(target, returns)| has(target) || ends_ours(target, returns))
    }

    /// All rules that packets reach, the one that decides first coming first. The last rule that
    /// matches decides, because a later one sets the mark anew, unless it asks for packets without a
    /// mark, or an earlier rule ended the chain for its packets.
    fn in_order(&self, marks: &mut Marks, device: &str) {
        let (on_way, behind): (Vec<Base>, Vec<Base>) = self
            .bases(device)
            .into_iter()
            .partition(|base| base.hook <= OUTPUT);
        // Most packets that a router sends come from elsewhere, and those never pass its output.
        let mut walk = Walk::default();
        let mut own = Walk::default();
        for base in &on_way {
            match base.hook == OUTPUT {
                true => self.follow_base(&base.chain, &mut own),
                false => self.follow_base(&base.chain, &mut walk),
            }
        }
        walk.join(own);
        for base in &behind {
            self.follow_base(&base.chain, &mut walk);
        }
        marks.rules = walk.found.into();
        marks.points = walk.points;
        for rule in &mut marks.rules {
            // Of either version, and nothing else is asked: every packet.
            if rule.alternatives.contains(&Vec::new()) {
                let both = [true, false].map(|is_ipv4| vec![filters::every(is_ipv4)]);
                rule.alternatives = both.into();
            }
        }
        for ((line, why), is_mark) in walk.left_out {
            marks.left_out.push(LeftOut {
                line,
                text: why.to_owned(),
                is_mark,
            });
        }
    }

    /// What these rules set, and those of the chains that they enter, by kind.
    fn kinds_of(&self, chain: &Chain, steps: &[(usize, Step)]) -> [bool; Sets::KINDS] {
        let mut kinds = [false; Sets::KINDS];
        let mut entered = BTreeSet::new();
        let mut open = vec![steps];
        while let Some(steps) = open.pop() {
            for (_, step) in steps {
                match &step.does {
                    Does::Sets(sets) => kinds[sets.kind()] = true,
                    Does::Jumps(name) if entered.insert(name) => {
                        let inner = [chain[0].clone(), chain[1].clone(), name.clone()];
                        open.extend(self.rules.get(&inner).map(Vec::as_slice));
                    }
                    Does::Jumps(_) | Does::Nothing => {}
                }
            }
        }
        kinds
    }

    /// The rules of a chain that the kernel itself runs.
    fn follow_base(&self, chain: &Chain, walk: &mut Walk) {
        let steps = self.rules.get(chain).map_or(&[][..], Vec::as_slice);
        let entry = Entry {
            depth: 0,
            unmarked: None,
            kinds: self.kinds_of(chain, steps),
        };
        self.follow(chain, &[Vec::new()], entry, walk);
        let mut accepted = std::mem::take(&mut walk.accepted);
        accepted.append(&mut walk.found);
        walk.found = accepted;
    }

    /// The chains that the kernel runs for packets that leave by the interface, in its order.
    fn bases(&self, device: &str) -> Vec<Base> {
        let mut entered = BTreeSet::new();
        for (chain, steps) in &self.rules {
            for (_, step) in steps {
                if let Does::Jumps(name) = &step.does {
                    entered.insert([chain[0].clone(), chain[1].clone(), name.clone()]);
                }
            }
        }
        let mut bases = Vec::new();
        for chain in self.rules.keys() {
            let [program, table, name] = chain;
            let mut hook = name.to_ascii_lowercase();
            let mut priority = 0;
            for (of, number) in TABLES {
                if of == table {
                    priority = number;
                }
            }
            if program == "nft" {
                match self.hooks.get(&[table.clone(), name.clone()]) {
                    Some(Some(hung)) if hung.device.as_deref().unwrap_or(device) == device => {
                        hook.clone_from(&hung.name);
                        priority = hung.priority;
                    }
                    // The script does not declare it, so any may be its hook.
                    None if !entered.contains(chain) => hook = HOOKS[HOOKS.len() - 1].to_owned(),
                    _ => continue,
                }
            }
            for (number, name) in HOOKS.iter().enumerate() {
                if *name == hook {
                    bases.push(Base {
                        hook: number,
                        priority,
                        chain: chain.clone(),
                    });
                }
            }
        }
        bases.sort();
        bases
    }

    /// The rules of a chain that packets enter which meet one of these alternatives.
    fn follow(&self, chain: &Chain, within: &[Tests], entry: Entry, walk: &mut Walk) {
        let steps = self.rules.get(chain).map_or(&[][..], Vec::as_slice);
        // What is decided for packets that have left the chain.
        let mut decided = VecDeque::new();
        for (number, (line, step)) in steps.iter().enumerate() {
            let is_mark = match &step.does {
                Does::Sets(sets) => sets.is_mark(),
                // What it leads to or ends.
                Does::Jumps(_) | Does::Nothing => !entry.kinds[1] && !entry.kinds[2],
            };
            let asked = walk.as_they_came(*line, &step.alternatives, is_mark);
            let Some(alternatives) = walk.both(*line, within, &asked) else {
                break;
            };
            let unmarked = match step.only_unmarked {
                Some(bits) => Some(Unmarked {
                    bits,
                    touched: walk.touched.len(),
                }),
                None => entry.unmarked,
            };
            match &step.does {
                _ if alternatives.is_empty() => continue,
                Does::Nothing => {}
                Does::Sets(sets) => {
                    let alternatives = match unmarked {
                        Some(unmarked) if !sets.is_mark() => {
                            walk.without_mark(*line, &alternatives, unmarked)
                        }
                        _ => alternatives.clone(),
                    };
                    let marked = Marked {
                        line: *line,
                        sets: sets.clone(),
                        alternatives,
                    };
                    walk.set(marked, step.only_unmarked.is_some());
                }
                Does::Jumps(_) if entry.depth == DEEPEST => {
                    walk.leave_out(
                        *line,
                        "this rule is left out: chains enter chains more than 16 deep",
                        is_mark,
                    );
                }
                Does::Jumps(name) => {
                    let inner = [chain[0].clone(), chain[1].clone(), name.clone()];
                    let entry = Entry {
                        depth: entry.depth + 1,
                        unmarked,
                        ..entry
                    };
                    if step.only_unmarked.is_some() {
                        let before = std::mem::take(&mut walk.found);
                        self.follow(&inner, &alternatives, entry, walk);
                        let found = std::mem::replace(&mut walk.found, before);
                        walk.append(found);
                    } else {
                        self.follow(&inner, &alternatives, entry, walk);
                    }
                }
            }
            let is_last = number + 1 == steps.len();
            // Leaving a chain at its end is nothing, unless the chains around it are left, too.
            let leaves_all = step.accepts && entry.depth > 0;
            if !step.ends || is_last && !leaves_all {
                continue;
            }
            let kinds = match leaves_all {
                true => entry.kinds,
                false => self.kinds_of(chain, &steps[number + 1..]),
            };
            // No rule behind it sets anything.
            if kinds == [false; Sets::KINDS] {
                continue;
            }
            if step.only_unmarked.is_some() {
                walk.leave_out(
                    *line,
                    "this rule is left out: it ends its chain for packets without a mark, and \
                     others follow",
                    is_mark,
                );
                continue;
            }
            if leaves_all && (entry.unmarked.is_some() || !decided.is_empty()) {
                walk.leave_out(
                    *line,
                    "this rule is left out: it ends all chains for packets of which some have \
                     left this one before, or have not entered it because they have a mark",
                    is_mark,
                );
                continue;
            }
            if !walk.decides(&alternatives, kinds) {
                walk.leave_out(
                    *line,
                    "this rule is left out: it ends its chain for packets that no rule before \
                     it has marked",
                    is_mark,
                );
            }
            let found = std::mem::take(&mut walk.found);
            for marked in &found {
                let Some(alternatives) = walk.both(*line, &alternatives, &marked.alternatives)
                else {
                    break;
                };
                if alternatives.is_empty() {
                    continue;
                }
                let marked = Marked {
                    line: marked.line,
                    sets: marked.sets.clone(),
                    alternatives,
                };
                match step.accepts || entry.depth == 0 {
                    true => walk.accepted.push_back(marked),
                    false => decided.push_back(marked),
                }
            }
            walk.found = found;
        }
        decided.append(&mut walk.found);
        walk.found = decided;
    }
}

impl Walk {
    fn leave_out(&mut self, line: usize, why: &'static str, is_mark: bool) {
        let known = self.left_out.entry((line, why)).or_insert(is_mark);
        *known &= is_mark;
    }

    /// Takes a rule that sets something.
    fn set(&mut self, marked: Marked, only_unmarked: bool) {
        match &marked.sets {
            Sets::Mark(mark) => self.touched.push(Touched {
                mark: *mark,
                alternatives: marked.alternatives.clone(),
            }),
            Sets::CodePoint(point) => self.rewritten.push(Rewritten {
                point: *point,
                alternatives: marked.alternatives.clone(),
            }),
            Sets::Class(_) => {}
        }
        if marked.alternatives.is_empty() {
            return;
        }
        match only_unmarked && marked.sets.is_mark() {
            true => self.append([marked].into()),
            false => self.found.push_front(marked),
        }
    }

    /// Takes what packets without a mark get. Marks of theirs come behind all that mark, but before
    /// those that take a mark away; other things are set anew.
    fn append(&mut self, inner: VecDeque<Marked>) {
        let (marks, others): (Vec<Marked>, Vec<Marked>) =
            inner.into_iter().partition(|marked| marked.sets.is_mark());
        let mut found = VecDeque::from(others);
        for early in std::mem::take(&mut self.found) {
            if matches!(early.sets, Sets::Mark(Mark { value: 0, .. })) {
                for marked in &marks {
                    let both = self.both(marked.line, &marked.alternatives, &early.alternatives);
                    found.push_back(Marked {
                        line: marked.line,
                        sets: marked.sets.clone(),
                        alternatives: both.unwrap_or_default(),
                    });
                }
            }
            found.push_back(early);
        }
        found.extend(marks);
        found.retain(|marked| !marked.alternatives.is_empty());
        self.found = found;
    }

    /// Those of the packets that had no mark.
    fn without_mark(&mut self, line: usize, asked: &[Tests], unmarked: Unmarked) -> Vec<Tests> {
        let Unmarked { bits, touched } = unmarked;
        let mut all = Vec::new();
        let mut may_differ = false;
        for tests in asked {
            let mut is_marked = false;
            for early in self.touched[..touched].iter().rev() {
                if early.mark.mask & bits == 0 {
                    continue;
                }
                self.compared += early.alternatives.len();
                if self.compared > MOST_COMPARED {
                    may_differ = true;
                    break;
                }
                let marks = early.mark.value & bits != 0;
                if filters::one_covers(&early.alternatives, tests) {
                    is_marked = marks;
                    break;
                }
                may_differ |= marks && filters::one_overlaps(&early.alternatives, tests);
            }
            if !is_marked {
                all.push(tests.clone());
            }
        }
        if may_differ && !all.is_empty() {
            self.leave_out(
                line,
                "left out: this rule is for packets without a mark; here it is also for those that \
                 a rule before has marked",
                false,
            );
        }
        all
    }

    /// Adds what packets of the machine itself meet in place of the rules so far. Where both decide,
    /// the rules so far stay.
    fn join(&mut self, own: Self) {
        for rule in &own.found {
            let mut differs = false;
            for other in &self.found {
                if other.sets.kind() != rule.sets.kind() || other.sets == rule.sets {
                    continue;
                }
                self.compared += rule.alternatives.len() * other.alternatives.len();
                differs |= self.compared > MOST_COMPARED;
                for tests in &other.alternatives {
                    differs = differs || filters::one_overlaps(&rule.alternatives, tests);
                }
            }
            if differs {
                self.leave_out(
                    rule.line,
                    "left out where packets that are forwarded have another rule: this one is of \
                     output, which only the machine's own packets pass, and those are sorted \
                     otherwise",
                    rule.sets.is_mark(),
                );
            }
        }
        self.found.extend(own.found);
        self.rewritten.splice(..0, own.rewritten);
        self.touched.splice(..0, own.touched);
        self.points.extend(own.points);
        self.left_out.extend(own.left_out);
        self.joined += own.joined;
    }

    /// Whether the rules so far decide about all of these packets, for each of these kinds.
    fn decides(&self, alternatives: &[Tests], kinds: [bool; Sets::KINDS]) -> bool {
        for (kind, is_set) in kinds.into_iter().enumerate() {
            if !is_set {
                continue;
            }
            for tests in alternatives {
                let mut is_decided = false;
                for marked in &self.found {
                    is_decided |= marked.sets.kind() == kind
                        && filters::one_covers(&marked.alternatives, tests);
                }
                if !is_decided {
                    return false;
                }
            }
        }
        true
    }

    /// What a rule asks for, with the code points that packets have before any rule.
    fn as_they_came(&mut self, line: usize, asked: &[Tests], is_mark: bool) -> Vec<Tests> {
        let mut all = Vec::new();
        let mut may_differ = false;
        for tests in asked {
            let mut is_gone = false;
            if let Some(point) = filters::code_point_of(tests) {
                self.points.insert(point);
                let others = tests_without(tests, point);
                for rule in self.rewritten.iter().rev() {
                    for early in &rule.alternatives {
                        if rule.point != point {
                            is_gone |= filters::covers(early, tests);
                            may_differ |= !is_gone && filters::overlap(early, tests);
                        } else if !is_gone && filters::overlap(early, &others) {
                            all.push([early.clone(), others.clone()].concat());
                        }
                    }
                }
            }
            if !is_gone {
                all.push(tests.clone());
            }
        }
        if may_differ {
            self.leave_out(
                line,
                "left out: code points that a rule before this one has written anew; their \
                 packets meet this rule with those that they came with",
                is_mark,
            );
        }
        all
    }

    /// Packets that meet an alternative of each. None if that is too much.
    fn both(&mut self, line: usize, outer: &[Tests], inner: &[Tests]) -> Option<Vec<Tests>> {
        let was_within = self.joined < MOST_JOINED;
        self.joined += outer.len() * inner.len();
        if self.joined >= MOST_JOINED {
            if was_within {
                self.leave_out(
                    line,
                    "this rule is left out: these chains would be more rules than a tree takes",
                    false,
                );
            }
            return None;
        }
        let mut all = Vec::new();
        for left in outer {
            for right in inner {
                if filters::overlap(left, right) {
                    let mut tests = left.clone();
                    for test in right {
                        if !tests.contains(test) {
                            tests.push(test.clone());
                        }
                    }
                    all.push(tests);
                }
            }
        }
        Some(all)
    }
}

/// Groups of tests, of which one in each must hold.
#[derive(Default)]
struct Asked {
    groups: Vec<Vec<Test>>,
}

impl Asked {
    fn one(&mut self, test: Test) {
        self.groups.push(vec![test]);
    }

    fn alternatives(&self, version: Option<bool>) -> Result<Vec<Tests>, Fault> {
        const MOST: usize = 256;
        let mut has_address = false;
        for test in self.groups.iter().flatten() {
            has_address |= matches!(test, Test::Source(..) | Test::Destination(..));
        }
        let mut groups = self.groups.clone();
        match version {
            Some(is_ipv4) if !has_address => groups.push(vec![filters::every(is_ipv4)]),
            _ => {}
        }
        let mut all: Vec<Tests> = vec![Vec::new()];
        for group in &groups {
            let mut longer = Vec::new();
            for tests in &all {
                for test in group {
                    let mut tests = tests.clone();
                    tests.push(test.clone());
                    longer.push(tests);
                }
            }
            all = longer;
            if all.len() > MOST {
                return Err(format!("it would be more than {MOST} rules").into());
            }
        }
        Ok(all)
    }
}

/// A word that no tree has.
fn unknown(text: &str) -> Fault {
    Fault::new(format!("`{text}` has no counterpart in a tree's rules")).with_given(text)
}

/// Reads `22,80,5000:5010`, or with `-` as in nft.
fn ports(text: &str, of: fn(u16, u16) -> Test) -> Result<Vec<Test>, Fault> {
    let mut tests = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once([':', '-']).unwrap_or((part, part));
        let first = if first.is_empty() { "0" } else { first };
        let last = if last.is_empty() { "65535" } else { last };
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => tests.push(of(first, last)),
            _ => return Err(unknown(part)),
        }
    }
    if tests.is_empty() {
        return Err(unknown(text));
    }
    Ok(tests)
}

fn networks(text: &str, is_source: bool) -> Result<Vec<Test>, Fault> {
    let mut tests = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (address, prefix) = filters::network(part)?;
        tests.push(match is_source {
            true => Test::Source(address, prefix),
            false => Test::Destination(address, prefix),
        });
    }
    if tests.is_empty() {
        return Err(unknown(text));
    }
    Ok(tests)
}

/// Reads `46`, `0x2e`, `EF`, `CS1` or `AF41`.
fn code_point(text: &str) -> Result<u8, Fault> {
    if let Some(number) = whole(text).filter(|number| *number < 64) {
        return Ok(number as u8);
    }
    let name = text.to_ascii_lowercase();
    match name.as_str() {
        "ef" => return Ok(46),
        "be" | "df" => return Ok(0),
        "le" => return Ok(1),
        "va" | "voice-admit" => return Ok(44),
        _ => {}
    }
    if let Some(Ok(class @ 0..=7)) = name.strip_prefix("cs").map(str::parse::<u8>) {
        return Ok(8 * class);
    }
    if let Some(Ok(both @ 11..=43)) = name.strip_prefix("af").map(str::parse::<u8>)
        && (1..=3).contains(&(both % 10))
    {
        return Ok(8 * (both / 10) + 2 * (both % 10));
    }
    Err(unknown(text))
}

/// A mark under a mask that has all its bits.
fn mark(text: &str) -> Result<Mark, Fault> {
    let mark = Mark::read(text).filter(|mark| mark.value & !mark.mask == 0);
    mark.ok_or_else(|| unknown(text))
}

/// Whether a name, which may end in a letter that stands for any others, is that of the interface.
fn is_device(name: &str, any: char, device: &str) -> bool {
    match name.strip_suffix(any) {
        Some(start) => device.starts_with(start),
        None => name == device,
    }
}

/// The names behind `oifname` and its like. A named set, a map or a pair with something else has none
/// that are known.
fn interfaces(text: &str) -> Result<Vec<&str>, Fault> {
    let mut names = Vec::new();
    for name in text.split(',').map(str::trim) {
        let is_name = name.chars().all(|letter| !"@$!<>=&|{} ".contains(letter));
        if name.is_empty() || !is_name || [".", "map", "vmap", "and", "or"].contains(&name) {
            return Err(unknown(text));
        }
        names.push(name);
    }
    Ok(names)
}

/// Reads a rule of iptables or ip6tables. None if it does nothing that counts here.
fn of_iptables(words: &[String], is_ipv4: bool, device: &str) -> Result<Option<Step>, Fault> {
    const TARGETS: [&str; 5] = ["MARK", "DSCP", "TOS", "CLASSIFY", "CONNMARK"];
    let Some((target, returns)) = target_of(words) else {
        return Ok(None);
    };
    let ends = ENDS.contains(&target) || !returns;
    // Else a chain of one's own, or a target that sets nothing, which no rule is added to.
    let is_jump = !TARGETS.contains(&target) && !ENDS.contains(&target);
    let mut table = "filter".to_owned();
    let mut asked = Asked::default();
    let mut sets = None;
    let mut only_unmarked = None;
    let mut goes_first = false;
    let mut below = None;
    let mut is_ack = false;
    let mut chain = String::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "-t" | "--table" => after(&mut words, word)?.clone_into(&mut table),
            "-A" | "--append" | "-I" | "--insert" => {
                goes_first = ["-I", "--insert"].contains(&word);
                after(&mut words, word)?.clone_into(&mut chain);
            }
            "-m" | "--match" => {
                let name = after(&mut words, word)?;
                let known = [
                    "tcp",
                    "udp",
                    "multiport",
                    "dscp",
                    "mark",
                    "length",
                    "comment",
                    "tos",
                ];
                if !known.contains(&name) {
                    return Err(unknown(&format!("-m {name}")));
                }
            }
            "--comment" => {
                after(&mut words, word)?;
            }
            "-w" | "--wait" => {
                words.next_if(|word| word.parse::<u32>().is_ok());
            }
            // What comes in by this interface does not leave by it.
            "-i" | "--in-interface" if words.peek() == Some(&device) => return Ok(None),
            "-o" | "--out-interface" => {
                let name = after(&mut words, word)?;
                if name == "!" {
                    return Err(unknown(name));
                }
                if !is_device(name, '+', device) {
                    return Ok(None);
                }
            }
            "-p" | "--protocol" => {
                asked.one(Test::Protocol(filters::protocol(after(&mut words, word)?)?))
            }
            "-s" | "--source" | "--src" => {
                asked.groups.push(networks(after(&mut words, word)?, true)?)
            }
            "-d" | "--destination" | "--dst" => asked
                .groups
                .push(networks(after(&mut words, word)?, false)?),
            "--sport" | "--sports" | "--source-port" | "--source-ports" => {
                asked
                    .groups
                    .push(ports(after(&mut words, word)?, Test::SourcePort)?);
            }
            "--dport" | "--dports" | "--destination-port" | "--destination-ports" => {
                asked
                    .groups
                    .push(ports(after(&mut words, word)?, Test::DestinationPort)?);
            }
            "--dscp" | "--dscp-class" => {
                asked.one(Test::CodePoint(code_point(after(&mut words, word)?)?))
            }
            "--mark" => {
                let asked = after(&mut words, word)?;
                match Mark::read(asked) {
                    Some(Mark { value: 0, mask }) => only_unmarked = Some(mask),
                    _ => return Err(unknown(&format!("--mark {asked}"))),
                }
            }
            "--tcp-flags" => {
                let mask = after(&mut words, word)?;
                let flags = after(&mut words, word)?;
                if flags != "ACK" || !mask.contains("ACK") {
                    return Err(unknown(&format!("--tcp-flags {mask} {flags}")));
                }
                is_ack = true;
            }
            "--length" => {
                let range = after(&mut words, word)?;
                let (first, last) = range.split_once(':').unwrap_or((range, range));
                let first = if first.is_empty() { "0" } else { first };
                match (first.parse::<u32>(), last.parse::<u32>()) {
                    // No segment is shorter than its headers.
                    (Ok(0..=40), Ok(last)) if (40..256).contains(&last) => below = Some(last + 1),
                    _ => return Err(unknown(&format!("--length {range}"))),
                }
            }
            "--ports" => {
                let text = after(&mut words, word)?;
                let mut either = ports(text, Test::SourcePort)?;
                either.extend(ports(text, Test::DestinationPort)?);
                asked.groups.push(either);
            }
            "-j" | "--jump" | "-g" | "--goto" => {
                after(&mut words, word)?;
            }
            "--set-mark" | "--set-xmark" => {
                sets = Some(Sets::Mark(mark(after(&mut words, word)?)?))
            }
            "--set-dscp" | "--set-dscp-class" => {
                sets = Some(Sets::CodePoint(code_point(after(&mut words, word)?)?));
            }
            "--set-class" => sets = Some(Sets::Class(after(&mut words, word)?.to_owned())),
            // The mark of a connection is that of its first packet, and a rule here goes by that
            // packet.
            "--save-mark" => return Ok(None),
            other => return Err(unknown(other)),
        }
    }
    match (below, is_ack) {
        (Some(below), true) => asked.one(Test::Acknowledgement(below)),
        (None, false) => {}
        _ => return Err(unknown("a length or a flag alone")),
    }
    let does = match sets {
        Some(sets) => Does::Sets(sets),
        None if is_jump => Does::Jumps(target.to_owned()),
        None if ends => Does::Nothing,
        None => return Err(unknown(&format!("-j {target}"))),
    };
    Ok(Some(Step {
        table,
        chain,
        does,
        alternatives: asked.alternatives(Some(is_ipv4))?,
        only_unmarked,
        goes_first,
        ends,
        accepts: target == "ACCEPT",
    }))
}

/// The word after an option of iptables.
fn after<'a>(words: &mut impl Iterator<Item = &'a str>, word: &str) -> Result<&'a str, Fault> {
    words.next().ok_or_else(|| unknown(word))
}

const ADDS: [&str; 4] = ["-A", "--append", "-I", "--insert"];
const TABLE: [&str; 2] = ["-t", "--table"];

/// The word behind the last of these options.
fn behind<'a>(words: &'a [String], options: &[&str]) -> Option<&'a str> {
    let mut pairs = words.windows(2).rev();
    let pair = pairs.find(|pair| options.contains(&pair[0].as_str()))?;
    Some(&pair[1])
}

/// Where a rule that is added sends its packets, and whether they come back.
fn target_of(words: &[String]) -> Option<(&str, bool)> {
    behind(words, &ADDS)?;
    match behind(words, &["-g", "--goto"]) {
        Some(chain) => Some((chain, false)),
        None => Some((behind(words, &["-j", "--jump"])?, true)),
    }
}

/// Reads a rule of nft. None if it does nothing that counts here.
fn of_nft(rule: &Rule, device: &str) -> Result<Option<Step>, Fault> {
    let mut version = match rule.table.split(' ').next() {
        Some("ip") => Some(true),
        Some("ip6") => Some(false),
        _ => None,
    };
    let words = Vec::from_iter(rule.words.iter().map(String::as_str));
    let verdicts = ["accept", "return", "jump", "goto", "vmap"];
    let decides = words.iter().any(|word| verdicts.contains(word));
    let text = format!(" {} ", words.join(" "));
    let writes = [" mark set ", " dscp set ", " meta priority set "];
    if !decides && !writes.iter().any(|part| text.contains(part)) {
        return Ok(None);
    }
    let mut asked = Asked::default();
    let mut does = Does::Nothing;
    let mut ends = false;
    let mut accepts = false;
    let mut only_unmarked = None;
    let mut at = 0;
    while at < words.len() {
        let rest = &words[at..];
        // A header of one version is in packets of this version alone.
        if let ["ip" | "ip6", ..] = rest {
            let is_ipv4 = rest[0] == "ip";
            if version == Some(!is_ipv4) {
                return Ok(None);
            }
            version = Some(is_ipv4);
        }
        let used = match rest {
            ["counter", ..] => 1,
            [verdict @ ("accept" | "return"), ..] => {
                ends = true;
                accepts = *verdict == "accept";
                1
            }
            // A chain in braces has no name.
            ["jump" | "goto", name, ..] if name.is_empty() || name.contains([' ', ',']) => {
                return Err(unknown("jump {"));
            }
            [verdict @ ("jump" | "goto"), name, ..] if does == Does::Nothing => {
                does = Does::Jumps((*name).to_owned());
                ends = *verdict == "goto";
                2
            }
            ["packets" | "bytes", _, ..] => 2,
            ["comment", ..] => rest.len(),
            ["meta", of @ ("oifname" | "iifname" | "oif" | "iif"), ..]
            | [of @ ("oifname" | "iifname" | "oif" | "iif"), ..] => {
                let at = usize::from(rest[0] == "meta") + 1;
                let (used, only_others) = match rest.get(at) {
                    Some(&"!=" | &"ne") => (at + 2, true),
                    Some(&"==" | &"eq") => (at + 2, false),
                    _ => (at + 1, false),
                };
                let names = rest.get(used - 1).copied().unwrap_or_default();
                let names = interfaces(names)?;
                let all = names.len();
                let ours = names.iter().filter(|name| is_device(name, '*', device));
                let ours = ours.count();
                match (of.starts_with('o'), only_others) {
                    (true, false) if ours > 0 => used,
                    (true, true) if ours == 0 => used,
                    // Of another interface.
                    (true, _) => return Ok(None),
                    // What comes in by this interface does not leave by it.
                    (false, false) if ours == all => return Ok(None),
                    (false, true) if ours == all => used,
                    (false, _) => return Err(unknown(of)),
                }
            }
            ["meta", "mark", "set", value, ..] => {
                does = Does::Sets(Sets::Mark(mark(value)?));
                4
            }
            ["mark", "set", value, ..] => {
                does = Does::Sets(Sets::Mark(mark(value)?));
                3
            }
            ["ct", "mark", "set", "mark" | "meta", ..] => rest.len().min(5),
            ["ip" | "ip6", "dscp", "set", value, ..] => {
                does = Does::Sets(Sets::CodePoint(code_point(value)?));
                4
            }
            ["meta", "priority", "set", value, ..] => {
                does = Does::Sets(Sets::Class((*value).to_owned()));
                4
            }
            ["meta", "mark", "0" | "0x0" | "0x00000000", ..] => {
                only_unmarked = Some(u32::MAX);
                3
            }
            ["ip" | "ip6", "dscp", value, ..] => {
                let mut points = Vec::new();
                for part in value.split(',') {
                    points.push(Test::CodePoint(code_point(part)?));
                }
                asked.groups.push(points);
                3
            }
            ["meta", "l4proto", value, ..]
            | ["ip", "protocol", value, ..]
            | ["ip6", "nexthdr", value, ..] => {
                let mut protocols = Vec::new();
                for part in value.split(',') {
                    protocols.push(Test::Protocol(filters::protocol(part)?));
                }
                asked.groups.push(protocols);
                3
            }
            ["tcp" | "udp" | "th", "sport", value, ..] => {
                of_transport(&mut asked, rest[0])?;
                asked.groups.push(ports(value, Test::SourcePort)?);
                3
            }
            ["tcp" | "udp" | "th", "dport", value, ..] => {
                of_transport(&mut asked, rest[0])?;
                asked.groups.push(ports(value, Test::DestinationPort)?);
                3
            }
            ["ip" | "ip6", end @ ("saddr" | "daddr"), value, ..] => {
                asked.groups.push(networks(value, *end == "saddr")?);
                3
            }
            [word, ..] => return Err(unknown(word)),
            [] => break,
        };
        at += used;
    }
    if does == Does::Nothing && !ends {
        return Ok(None);
    }
    Ok(Some(Step {
        table: rule.table.clone(),
        chain: rule.chain.clone(),
        does,
        alternatives: asked.alternatives(version)?,
        only_unmarked,
        goes_first: rule.goes_first,
        ends,
        accepts,
    }))
}

/// The protocol before a port of nft.
fn of_transport(asked: &mut Asked, word: &str) -> Result<(), Fault> {
    if word != "th" {
        asked.one(Test::Protocol(filters::protocol(word)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole mark.
    fn marked(value: u32) -> Sets {
        bits(value, u32::MAX)
    }

    fn bits(value: u32, mask: u32) -> Sets {
        Sets::Mark(Mark { value, mask })
    }

    fn rules(lines: &[&str]) -> (Vec<(Sets, Vec<String>)>, Vec<String>) {
        let mut calls = Vec::new();
        for (number, line) in (1..).zip(lines) {
            calls.push(Marking {
                line: number,
                words: line.split_whitespace().map(str::to_owned).collect(),
                rules: Vec::new(),
            });
        }
        let marks = Marks::read(&calls, "eth0");
        let mut rules = Vec::new();
        for rule in marks.rules {
            let written = rule
                .alternatives
                .iter()
                .map(|tests| filters::written(tests));
            rules.push((rule.sets, written.collect()));
        }
        let remarks = marks.left_out.into_iter().map(|rule| rule.text).collect();
        (rules, remarks)
    }

    fn only(line: &str) -> (Sets, Vec<String>) {
        let (mut rules, remarks) = rules(&[line]);
        assert!(remarks.is_empty(), "{line}: {remarks:?}");
        assert_eq!(rules.len(), 1, "{line}");
        rules.remove(0)
    }

    fn assert_are(cases: &[(&str, Sets, &[&str])]) {
        for (line, sets, expected) in cases {
            let (found, written) = only(line);
            assert_eq!(found, *sets, "{line}");
            assert_eq!(written, *expected, "{line}");
        }
    }

    #[test]
    fn rules_of_iptables_ask_for_headers() {
        assert_are(&[
            (
                "iptables -t mangle -A POSTROUTING -o eth0 -p udp --dport 53 -j MARK --set-mark 0x10",
                marked(16),
                &["udp and dst port 53 and src 0.0.0.0/0"],
            ),
            (
                "iptables -t mangle -A FORWARD -p tcp -m multiport --dports 80,443 -j MARK --set-xmark 2/0xff",
                bits(2, 0xff),
                &[
                    "tcp and dst port 80 and src 0.0.0.0/0",
                    "tcp and dst port 443 and src 0.0.0.0/0",
                ],
            ),
            (
                "ip6tables -t mangle -A POSTROUTING -p udp --sport 3478:3481 -j DSCP --set-dscp-class EF",
                Sets::CodePoint(46),
                &["udp and src portrange 3478-3481 and src ::/0"],
            ),
            (
                "iptables -t mangle -A POSTROUTING -d 10.0.0.0/8 -j CLASSIFY --set-class 1:20",
                Sets::Class("1:20".to_owned()),
                &["dst 10.0.0.0/8"],
            ),
            (
                "iptables -t mangle -A POSTROUTING -p tcp -m tcp --tcp-flags SYN,RST,ACK ACK -m length --length :64 -j MARK --set-mark 1",
                marked(1),
                &["ack below 65 bytes and src 0.0.0.0/0"],
            ),
        ]);
    }

    #[test]
    fn rules_of_nft_ask_for_headers() {
        assert_are(&[
            (
                "nft add rule inet fw post udp dport 53 counter meta mark set 0x10",
                marked(16),
                &["udp and dst port 53"],
            ),
            (
                "nft add rule ip mangle post tcp dport { 80, 443 } ip dscp set cs1",
                Sets::CodePoint(8),
                &[
                    "tcp and dst port 80 and src 0.0.0.0/0",
                    "tcp and dst port 443 and src 0.0.0.0/0",
                ],
            ),
            (
                "nft add rule inet fw post ip daddr 10.1.0.0/16 meta priority set 1:10 accept",
                Sets::Class("1:10".to_owned()),
                &["dst 10.1.0.0/16"],
            ),
        ]);
    }

    #[test]
    fn what_is_no_header_is_told() {
        for (line, part) in [
            (
                "iptables -A FORWARD -m conntrack --ctstate NEW -j MARK --set-mark 1",
                "-m conntrack",
            ),
            ("iptables -A FORWARD ! -p udp -j MARK --set-mark 1", "`!`"),
            (
                "iptables -A FORWARD -j CONNMARK --restore-mark",
                "--restore-mark",
            ),
            (
                "nft add rule inet fw post ct bytes > 1000 meta mark set 3",
                "`ct`",
            ),
        ] {
            let (rules, remarks) = rules(&[line]);
            assert!(rules.is_empty() && remarks.len() == 1, "{line}");
            assert!(remarks[0].contains(part), "{remarks:?}");
        }
        let (rules, remarks) = rules(&["iptables -A FORWARD -p udp -j ACCEPT", "nft list ruleset"]);
        assert!(rules.is_empty() && remarks.is_empty());
        let (rules, _) = self::rules(&["iptables -A FORWARD -o eth1 -j MARK --set-mark 1"]);
        assert!(rules.is_empty(), "of another interface");
    }

    #[test]
    fn the_last_rule_that_matches_decides_unless_it_asks_for_none() {
        let order =
            |lines: &[&str]| Vec::from_iter(rules(lines).0.into_iter().map(|(sets, _)| sets));
        let rule = |mark: u32, more: &str| {
            format!("iptables -A FORWARD -p udp {more} -j MARK --set-mark {mark}")
        };
        let lines = [rule(1, ""), rule(2, "")];
        let lines = Vec::from_iter(lines.iter().map(String::as_str));
        assert_eq!(order(&lines), [marked(2), marked(1)]);
        let lines = [rule(1, "-m mark --mark 0"), rule(2, "-m mark --mark 0")];
        let lines = Vec::from_iter(lines.iter().map(String::as_str));
        assert_eq!(order(&lines), [marked(1), marked(2)]);
    }

    /// Marks of packets, by what the rules in their order say of each.
    fn marks_of(lines: &[&str]) -> Vec<(u32, String)> {
        let (rules, remarks) = rules(lines);
        assert!(remarks.is_empty(), "{remarks:?}");
        let mut all = Vec::new();
        for (sets, alternatives) in rules {
            let Sets::Mark(mark) = sets else {
                panic!("{sets:?}");
            };
            all.extend(alternatives.into_iter().map(|tests| (mark.value, tests)));
        }
        all
    }

    #[test]
    fn a_packet_that_has_left_its_chain_is_not_marked_anew() {
        let udp = (1, "udp and src 0.0.0.0/0".to_owned());
        for ending in ["RETURN", "ACCEPT"] {
            let end = format!("iptables -t mangle -A QOS -p udp -j {ending}");
            let found = marks_of(&[
                "iptables -t mangle -A POSTROUTING -j QOS",
                "iptables -t mangle -A QOS -p udp -j MARK --set-mark 1",
                &end,
                "iptables -t mangle -A QOS -j MARK --set-mark 9",
                // Of another table.
                "iptables -A FORWARD -p tcp -j ACCEPT",
            ]);
            assert_eq!(found[0].0, 1, "{ending}: {found:?}");
            assert_eq!(found[1], (9, "src 0.0.0.0/0".to_owned()), "{ending}");
        }
        let nft = marks_of(&[
            "nft add rule inet fw post udp dport 53 meta mark set 1 return",
            "nft add rule inet fw post meta mark set 9",
        ]);
        assert_eq!(nft[0], (1, "udp and dst port 53".to_owned()));
        // The chain that is entered ends, and the other one goes on.
        let outer = marks_of(&[
            "iptables -t mangle -A POSTROUTING -j QOS",
            "iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark 2",
            "iptables -t mangle -A QOS -p udp -j MARK --set-mark 1",
            "iptables -t mangle -A QOS -p udp -j RETURN",
        ]);
        assert_eq!(outer[0], (2, udp.1));
    }

    #[test]
    fn an_end_for_packets_without_a_rule_is_told() {
        let (_, remarks) = rules(&[
            "iptables -t mangle -A POSTROUTING -p tcp --dport 22 -j RETURN",
            "iptables -t mangle -A POSTROUTING -j MARK --set-mark 9",
        ]);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("ends its chain"), "{remarks:?}");
        let (_, none) = rules(&[
            "iptables -A INPUT -m conntrack --ctstate NEW -j ACCEPT",
            "iptables -A INPUT -i wan -j zone_wan",
        ]);
        assert!(none.is_empty(), "nothing is set: {none:?}");
    }

    #[test]
    fn chains_are_followed_to_the_last() {
        let found = marks_of(&[
            "iptables -t mangle -A POSTROUTING -p udp -j one",
            "iptables -t mangle -A one -d 10.0.0.0/8 -j two",
            "iptables -t mangle -A two -j MARK --set-mark 1",
            "iptables -t mangle -A two -m mark --mark 0 -j MARK --set-mark 2",
        ]);
        assert_eq!(found[0].0, 1, "the second asks for packets without a mark");
        assert_eq!(found[0].1, "udp and dst 10.0.0.0/8");
        let nft = marks_of(&[
            "nft add rule inet fw post udp dport 53 jump calls",
            "nft add rule inet fw calls meta mark set 1",
        ]);
        assert_eq!(nft, [(1, "udp and dst port 53".to_owned())]);
    }

    /// Chains that enter themselves, or each other many times over, end.
    #[test]
    fn chains_that_multiply_end() {
        let mut lines = vec!["iptables -A FORWARD -j c0".to_owned()];
        for number in 0..20 {
            for _ in 0..20 {
                lines.push(format!("iptables -A c{number} -j c{}", (number + 1) % 20));
            }
            lines.push(format!("iptables -A c{number} -j MARK --set-mark 1"));
        }
        let lines = Vec::from_iter(lines.iter().map(String::as_str));
        let (_, remarks) = rules(&lines);
        assert!(!remarks.is_empty());
    }

    /// The shape of SQM's simple.qos.
    #[test]
    fn chains_of_ones_own_are_followed_from_where_they_are_entered() {
        let (rules, remarks) = rules(&[
            "iptables -w 1 -t mangle -N QOS_MARK_eth0",
            "iptables -w 1 -t mangle -A QOS_MARK_eth0 -j MARK --set-mark 0x2/0xff",
            "iptables -w 1 -t mangle -A QOS_MARK_eth0 -m dscp --dscp-class CS1 -j MARK --set-mark 3/0xff",
            "iptables -w 1 -t mangle -A POSTROUTING -o eth0 -m mark --mark 0/0xff -g QOS_MARK_eth0",
            "iptables -w 1 -t mangle -A PREROUTING -i eth0 -m dscp ! --dscp 0 -j DSCP --set-dscp 0",
            "iptables -w 1 -t mangle -A OUTPUT -p udp -m multiport --ports 123,53 -j MARK --set-mark 1",
            "iptables -A OTHER -p udp -j MARK --set-mark 9",
        ]);
        assert!(remarks.is_empty(), "{remarks:?}");
        let sets = Vec::from_iter(rules.iter().map(|(sets, _)| sets.clone()));
        assert_eq!(sets, [marked(1), bits(3, 0xff), bits(2, 0xff)]);
        assert_eq!(rules[0].1.len(), 4, "either port");
        assert_eq!(rules[1].1, ["src 0.0.0.0/0 and dscp cs1"]);
    }
}

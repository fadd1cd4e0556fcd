//! Calls whose rules stand at the end of a script: rules of iptables can be deleted and flushed.

use std::collections::{BTreeMap, VecDeque};

use super::{ADDS, BY_NUMBER, LeftOut, Set, TABLE, behind, what_is_set};
use crate::script::Marking;

const CHANGES: [&str; 4] = ["-D", "--delete", "-R", "--replace"];
const FLUSHES: [&str; 2] = ["-F", "--flush"];
const RENAMES: [&str; 2] = ["-E", "--rename-chain"];

/// A chain: its program, table and name.
type Place<'a> = [&'a str; 3];

/// The calls so far.
#[derive(Default)]
pub(super) struct Standing<'a> {
    /// None: its rule is gone.
    calls: Vec<Option<&'a Marking>>,
    /// The rules of each chain by their words, the oldest of equal ones first.
    rules: BTreeMap<Place<'a>, BTreeMap<Vec<&'a str>, VecDeque<usize>>>,
    /// What cannot be followed.
    pub(super) left_out: Vec<LeftOut>,
}

impl<'a> Standing<'a> {
    /// The calls that are left.
    pub(super) fn of(calls: &'a [Marking]) -> Self {
        let mut standing = Self::default();
        for call in calls {
            standing.take(call);
        }
        standing
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &'a Marking> {
        self.calls.iter().copied().flatten()
    }

    fn take(&mut self, call: &'a Marking) {
        let words = &call.words;
        let program = words.first().map_or("", String::as_str);
        let table = behind(words, &TABLE).unwrap_or("filter");
        if program == "nft" {
            self.calls.push(Some(call));
        } else if let Some(chain) = behind(words, &RENAMES) {
            self.lack(
                call,
                [program, table, chain],
                "renames a chain, which is not followed",
            );
        } else if words.iter().any(|word| FLUSHES.contains(&word.as_str())) {
            let chain = behind(words, &FLUSHES).filter(|word| !word.starts_with('-'));
            self.flush(program, table, chain);
        } else if let Some(chain) = behind(words, &CHANGES) {
            self.change(call, [program, table, chain]);
        } else {
            if let Some(chain) = behind(words, &ADDS) {
                let of_chain = self.rules.entry([program, table, chain]).or_default();
                let equal = of_chain.entry(specification(words)).or_default();
                equal.push_back(self.calls.len());
            }
            self.calls.push(Some(call));
        }
    }

    /// Removes all rules of a chain, or of a table.
    fn flush(&mut self, program: &str, table: &str, chain: Option<&str>) {
        let calls = &mut self.calls;
        self.rules.retain(|[of, in_table, name], rules| {
            let is_gone =
                *of == program && *in_table == table && chain.is_none_or(|chain| chain == *name);
            if is_gone {
                for place in rules.values().flatten() {
                    calls[*place] = None;
                }
            }
            !is_gone
        });
    }

    /// Removes a rule that is written, or tells of one that only its number names.
    fn change(&mut self, call: &'a Marking, place: Place<'a>) {
        let words = &call.words;
        if let Some(chain) = words.iter().rposition(|word| word == place[2])
            && let Some(number) = words.get(chain + 1)
            && number.parse::<u32>().is_ok()
        {
            self.lack(call, place, BY_NUMBER);
            return;
        }
        let specification = specification(words);
        if let Some(of_chain) = self.rules.get_mut(&place)
            && let Some(equal) = of_chain.get_mut(&specification)
            && let Some(oldest) = equal.pop_front()
        {
            self.calls[oldest] = None;
            if equal.is_empty() {
                of_chain.remove(&specification);
            }
            if of_chain.is_empty() {
                self.rules.remove(&place);
            }
        }
    }

    /// Tells of what is done to a chain, if it has rules.
    fn lack(&mut self, call: &Marking, place: Place<'a>, why: &str) {
        let Some(of_chain) = self.rules.get(&place) else {
            return;
        };
        let mut is_mark = true;
        for words in of_chain.keys() {
            is_mark &= what_is_set(words) != Set::Other;
        }
        self.left_out.push(LeftOut {
            line: call.line,
            text: format!("left out: `{}` {why}", call.words.join(" ")),
            is_mark,
        });
    }
}

/// A rule of iptables, whatever is done with it.
fn specification(words: &[String]) -> Vec<&str> {
    let mut all = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "-w" | "--wait" => {
                words.next_if(|word| word.parse::<u32>().is_ok());
            }
            _ if ADDS.contains(&word) || CHANGES.contains(&word) => all.push("-A"),
            _ => all.push(word),
        }
    }
    all
}

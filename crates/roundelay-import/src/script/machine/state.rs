//! What the run of a script has come to: variables, functions, what was printed, and the calls of tc.

use std::collections::BTreeMap;
use std::rc::Rc;

use roundelay::Fault;

use crate::faults::at_line;
use crate::script::budget::Budget;
use crate::script::call::{Call, Marking};
use crate::script::expand::Values;
use crate::script::names::Names;
use crate::script::parse::Statement;

/// The most functions that call each other.
pub(super) const DEEPEST: usize = 32;
/// What to do when we cannot follow a script.
pub(super) const RECORD: &str = "let `roundelay import --run -- SCRIPT` run it in a sandbox";

/// What a script ran.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) calls: Vec<Call>,
    /// Commands that mark packets.
    pub(crate) markings: Vec<Marking>,
    /// What was left out, with the lines.
    pub(crate) remarks: Vec<(usize, String)>,
    /// Whether tc commands were left out that may concern classes.
    pub(crate) lost_classes: bool,
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It succeeded, or we assume so.
    Done,
    /// It failed.
    Failed,
    /// It depends on the machine.
    Unknown,
    /// `return`, and how the function ended.
    Returned(Status),
    /// `exit`.
    Exited,
    /// `break` and `continue`, with the number of loops.
    Break(usize),
    Continue(usize),
}

/// The status after `return`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Zero,
    Other,
    Unknown,
}

impl End {
    /// Whether the statements that follow are skipped.
    pub(super) fn leaves(self) -> bool {
        !matches!(self, Self::Done | Self::Failed | Self::Unknown)
    }
}

/// Lines from a file or a pipe, each with its line in the script. A line that is not known says
/// why.
pub(super) type Lines = Vec<(usize, Result<String, Fault>)>;

/// What each subshell has for itself.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) variables: BTreeMap<String, String>,
    /// Variables whose value cannot be known, and why.
    pub(super) unknown: BTreeMap<String, Fault>,
    pub(super) functions: BTreeMap<String, Rc<Vec<Statement>>>,
    /// The arguments of the running function, or those from `set --`.
    pub(super) arguments: Option<Vec<String>>,
    /// How far the script's arguments were shifted.
    pub(super) shifted: usize,
}

/// A variable as it was before `local`.
pub(super) struct Saved {
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) unknown: Option<Fault>,
}

pub(super) struct Machine {
    pub(super) state: State,
    /// Names that the caller gave. The script's own assignments do not change them.
    pub(super) set: Vec<String>,
    /// Files that the script writes for `tc -batch`.
    pub(super) files: BTreeMap<String, Lines>,
    /// Saved variables of each running function.
    pub(super) locals: Vec<Vec<Saved>>,
    /// How the last command ended, if that is the same on every machine.
    pub(super) status: Option<u8>,
    pub(super) depth: usize,
    pub(super) steps: usize,
    pub(super) budget: Budget,
    /// How many pipes take what is printed.
    pub(super) pipes: usize,
    pub(super) printed: Lines,
    /// What the command before the pipe printed.
    pub(super) piped: Lines,
    /// The variables of the script, and of texts that it evaluates.
    pub(super) names: Names,
    pub(super) ran: Ran,
}

impl State {
    /// What a copy costs.
    pub(super) fn spend_copy(&self, budget: &Budget) {
        /// Bytes of an entry beside its texts.
        const ENTRY: usize = 64;
        let mut bytes = ENTRY * (self.unknown.len() + self.functions.len());
        for (name, value) in &self.variables {
            bytes += ENTRY + name.len() + value.len();
        }
        budget.spend(bytes);
        budget.spend_words(self.arguments.as_deref().unwrap_or_default());
    }
}

impl Machine {
    /// A machine with the variables that the caller gives.
    pub(super) fn new(variables: &[(String, String)]) -> Self {
        Self {
            state: State {
                variables: variables.iter().cloned().collect(),
                ..State::default()
            },
            set: variables.iter().map(|(name, _)| name.clone()).collect(),
            files: BTreeMap::new(),
            locals: Vec::new(),
            status: Some(0),
            depth: 0,
            steps: 0,
            budget: Budget::default(),
            pipes: 0,
            printed: Vec::new(),
            piped: Vec::new(),
            names: Names::default(),
            ran: Ran::default(),
        }
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values {
            variables: &self.state.variables,
            unknown: &self.state.unknown,
            function_arguments: self.state.arguments.as_deref(),
            shifted: self.state.shifted,
            status: self.status,
            budget: &self.budget,
        }
    }

    pub(super) fn remark(&mut self, line: usize, text: impl Into<String>) {
        let remark = (line, text.into());
        // Each is compared with all before.
        self.budget.spend(self.ran.remarks.len());
        if !self.ran.remarks.contains(&remark) {
            self.ran.remarks.push(remark);
        }
    }

    pub(super) fn assign(&mut self, name: &str, value: Result<String, Fault>) {
        if self.set.iter().any(|set| set == name) {
            return;
        }
        match value {
            Ok(value) => {
                self.state.unknown.remove(name);
                self.state.variables.insert(name.to_owned(), value);
            }
            Err(why) => {
                self.state.variables.remove(name);
                self.state.unknown.insert(name.to_owned(), why);
            }
        }
    }

    /// `NAME=value` and `NAME+=value`.
    pub(super) fn assign_word(&mut self, found: &Assignment<'_>) {
        let mut value = self.values().text(found.raw);
        if found.adds {
            // A variable that was never set counts as empty. One whose value is unknown stays unknown.
            let old = match self.values().text(&format!("${{{}}}", found.name)) {
                Err(_) if !self.state.unknown.contains_key(found.name) => Ok(String::new()),
                old => old,
            };
            value = match (old, value) {
                (Ok(old), Ok(value)) => Ok(old + &value),
                (Err(why), _) | (_, Err(why)) => Err(why),
            };
        }
        self.assign(found.name, value);
    }

    /// Saves a variable, so that it is restored when the function ends.
    pub(super) fn save(&mut self, name: &str) {
        let value = self.state.variables.get(name).cloned();
        let unknown = self.state.unknown.get(name).cloned();
        self.budget
            .spend(value.as_deref().unwrap_or_default().len());
        if let Some(saved) = self.locals.last_mut() {
            saved.push(Saved {
                name: name.to_owned(),
                value,
                unknown,
            });
        }
    }

    pub(super) fn restore(&mut self, saved: Vec<Saved>) {
        for Saved {
            name,
            value,
            unknown,
        } in saved.into_iter().rev()
        {
            self.state.variables.remove(&name);
            self.state.unknown.remove(&name);
            if let Some(value) = value {
                self.state.variables.insert(name.clone(), value);
            }
            if let Some(why) = unknown {
                self.state.unknown.insert(name, why);
            }
        }
    }

    /// The words that the command gets.
    pub(super) fn expanded(&self, line: usize, words: &[String]) -> Result<Vec<String>, Fault> {
        let mut all = Vec::new();
        for word in words {
            match self.values().words(word) {
                Ok(found) => all.extend(found),
                Err(fault) => {
                    let is_told = fault.legal().is_some_and(|legal| legal.contains("--set"));
                    let or = if is_told { "or " } else { "" };
                    return Err(at_line(line, fault.with_hint(&format!("; {or}{RECORD}"))));
                }
            }
        }
        Ok(all)
    }
}

/// Why a variable has no known value.
pub(super) fn decided_at(line: usize) -> Fault {
    Fault::new(format!("line {line} decides about its value"))
}

/// `NAME=raw value`, or `NAME+=raw value`. The name of an array ends in `[@]`.
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) raw: &'a str,
    pub(super) adds: bool,
}

pub(super) fn assignment(word: &str) -> Option<Assignment<'_>> {
    let (left, raw) = word.split_once('=')?;
    let name = left.strip_suffix('+').unwrap_or(left);
    let first = name.chars().next()?;
    let is_name = name
        .trim_end_matches("[@]")
        .chars()
        .all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
    (is_name && !first.is_ascii_digit()).then_some(Assignment {
        name,
        raw,
        adds: name.len() < left.len(),
    })
}

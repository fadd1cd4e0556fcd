//! Commands of the shell itself.

use roundelay::Fault;

use super::super::parse::{Simple, parse};
use super::super::pattern;
use super::left_out::sets;
use super::state::{DEEPEST, End, Machine, Status, assignment, decided_at};
use crate::faults::{self, at_line};

impl Machine {
    /// Runs a command that is the shell's own. None if it is not.
    pub(super) fn builtin(
        &mut self,
        simple: &Simple,
        name: &str,
        rest: &[String],
    ) -> Result<Option<End>, Fault> {
        let line = simple.line;
        let end = match name {
            "export" | "local" | "readonly" | "declare" | "typeset" => {
                let is_local = ["local", "declare", "typeset"].contains(&name);
                for word in rest {
                    let found = assignment(word);
                    let name = found.as_ref().map_or(word.as_str(), |found| found.name);
                    if is_local && !name.starts_with('-') {
                        self.save(name);
                    }
                    if let Some(found) = &found {
                        self.assign_word(found);
                    }
                }
                End::Done
            }
            "[" | "[[" | "test" => self.test(rest),
            "!" | "time" => {
                let options = usize::from(rest.first().is_some_and(|word| word == "-p"));
                let inner = Simple {
                    words: rest[options..].to_vec(),
                    ..simple.clone()
                };
                let end = self.simple(&inner)?;
                match end {
                    End::Done if name == "!" => End::Failed,
                    End::Failed if name == "!" => End::Done,
                    end => end,
                }
            }
            "true" => End::Done,
            "false" => End::Failed,
            ":" => {
                for word in rest {
                    self.default_of(line, word);
                }
                End::Done
            }
            "echo" | "printf" | "cat" => return Ok(self.printing(simple, name, rest)),
            "set" => {
                if let Some(index) = rest.iter().position(|word| word == "--") {
                    let arguments = self.expanded(line, &rest[index + 1..])?;
                    self.state.arguments = Some(arguments);
                }
                End::Done
            }
            "shift" => self.shift(line, rest)?,
            "unset" => {
                for name in rest {
                    if !self.set.contains(name) {
                        self.state.variables.remove(name);
                        self.state.unknown.remove(name);
                        self.state.functions.remove(name);
                    }
                }
                End::Done
            }
            "let" => {
                let mut end = End::Unknown;
                for word in rest {
                    let text = self.values().text(word).unwrap_or(word.clone());
                    end = self.arithmetic(line, &text);
                }
                end
            }
            "read" | "getopts" | "mapfile" | "readarray" => {
                let mut names = Vec::new();
                for (name, _) in sets(simple) {
                    names.push(name);
                }
                self.unknown_from(simple, &names);
                End::Unknown
            }
            "break" => End::Break(self.count(rest)),
            "continue" => End::Continue(self.count(rest)),
            "exit" => End::Exited,
            "return" => {
                let status = rest.first().map(|word| self.values().text(word));
                End::Returned(match status {
                    None => Status::Zero,
                    Some(Ok(text)) if text == "0" => Status::Zero,
                    Some(Ok(text)) if text.parse::<u32>().is_ok() => Status::Other,
                    Some(_) => Status::Unknown,
                })
            }
            "eval" => {
                let text = self.expanded(line, rest)?.join(" ");
                if self.depth >= DEEPEST {
                    return Err(at_line(line, "eval inside eval without end"));
                }
                // Letters, tokens, statements and names are made of it.
                self.budget.spend(32 * text.len());
                if let Err(fault) = self.budget.check() {
                    return Err(at_line(line, fault));
                }
                let statements = parse(&text, line)?;
                self.names.read(&text);
                self.depth += 1;
                let end = self.all(&statements)?;
                self.depth -= 1;
                end
            }
            _ => return Ok(None),
        };
        Ok(Some(end))
    }

    /// Notes that a command gives these variables values that cannot be known.
    pub(super) fn unknown_from(&mut self, simple: &Simple, names: &[String]) {
        for name in names {
            self.assign(name, Err(decided_at(simple.line)));
        }
    }

    /// The number after `break`.
    fn count(&self, rest: &[String]) -> usize {
        let text = rest.first().map(|word| self.values().text(word));
        match text {
            Some(Ok(text)) => text.parse().unwrap_or(1).max(1),
            _ => 1,
        }
    }

    fn shift(&mut self, line: usize, rest: &[String]) -> Result<End, Fault> {
        let mut number = 1;
        if let Some(word) = rest.first() {
            let text = self.values().text(word);
            let text = text.map_err(|fault| at_line(line, fault))?;
            number = text
                .parse()
                .map_err(|_| at_line(line, faults::value("shift", &text, "a number")))?;
        }
        match &mut self.state.arguments {
            Some(arguments) if number > arguments.len() => return Ok(End::Failed),
            Some(arguments) => {
                arguments.drain(..number);
                // Those that are left move forward.
                self.budget.spend(arguments.len() / 4);
            }
            None => self.state.shifted = self.state.shifted.saturating_add(number).min(10_000),
        }
        Ok(End::Done)
    }

    /// Runs `: ${NAME:=value}` and `: $((NAME = value))`.
    fn default_of(&mut self, line: usize, word: &str) {
        let word = word.trim_matches('"');
        if let Some(text) = word.strip_prefix("$((") {
            self.arithmetic(line, text.strip_suffix("))").unwrap_or(text));
            return;
        }
        let inner = word
            .strip_prefix("${")
            .and_then(|word| word.strip_suffix('}'));
        let Some((name, _)) = inner.and_then(|inner| inner.split_once('=')) else {
            return;
        };
        let name = name.trim_end_matches(':');
        if assignment(&format!("{name}=")).is_some() {
            let value = self.values().text(word);
            self.assign(name, value);
        }
    }

    /// Runs `[ .. ]` on known values.
    fn test(&self, raw: &[String]) -> End {
        let mut words = Vec::new();
        for word in raw {
            if word == "]" || word == "]]" {
                break;
            }
            // An empty word counts here, because authors mean it to.
            let Ok(text) = self.values().text(word) else {
                return End::Unknown;
            };
            words.push(text);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (is_not, words) = match words.split_first() {
            Some((&"!", rest)) => (true, rest),
            _ => (false, words.as_slice()),
        };
        let holds = match *words {
            ["-n", text] | [text] => !text.is_empty(),
            ["-z", text] => text.is_empty(),
            [left, sign @ ("=" | "==" | "!="), right] => {
                self.budget.spend_match(right, left);
                if self.budget.check().is_err() {
                    return End::Unknown;
                }
                pattern::fits(right, left) == (sign != "!=")
            }
            [left, sign, right] => {
                let (Ok(left), Ok(right)) = (left.parse::<i64>(), right.parse::<i64>()) else {
                    return End::Unknown;
                };
                match sign {
                    "-eq" => left == right,
                    "-ne" => left != right,
                    "-lt" => left < right,
                    "-le" => left <= right,
                    "-gt" => left > right,
                    "-ge" => left >= right,
                    _ => return End::Unknown,
                }
            }
            _ => return End::Unknown,
        };
        if holds == is_not {
            End::Failed
        } else {
            End::Done
        }
    }
}

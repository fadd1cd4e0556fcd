//! Runs a script as far as it is the same on every machine, and keeps its `tc` commands.

mod builtins;
mod left_out;
mod state;
mod tc;

use std::rc::Rc;

use roundelay::Fault;

pub(crate) use self::state::Ran;

use self::left_out::{Seen, has_end, is_always};
use self::state::{DEEPEST, End, Machine, RECORD, Status, assignment, decided_at};
use super::parse::{Simple, Statement, parse};
use super::programs::{is_object, mentions_tc};
use super::{arithmetic, pattern};
use crate::faults::at_line;

/// The most statements that we run, those in loops included.
const MOST_STEPS: usize = 200_000;
/// The most rounds of a loop with a condition.
const MOST_ROUNDS: usize = 1000;
/// Why most statements are left out.
const DEPENDS: &str = "that a condition or a loop decides about, which depends on the machine; set \
                       its variables with --set, or ";

/// Runs a script with these variables.
pub(crate) fn run(text: &str, variables: &[(String, String)]) -> Result<Ran, Fault> {
    let statements = parse(text, 1)?;
    let mut machine = Machine::new(variables);
    machine.names.read(text);
    machine.all(&statements)?;
    machine.names.check(variables)?;
    Ok(machine.ran)
}

impl Machine {
    fn all(&mut self, statements: &[Statement]) -> Result<End, Fault> {
        let mut end = End::Done;
        for statement in statements {
            end = self.one(statement)?;
            if end.leaves() {
                break;
            }
        }
        Ok(end)
    }

    fn one(&mut self, statement: &Statement) -> Result<End, Fault> {
        let end = self.one_inside(statement)?;
        self.status = match end {
            End::Done => Some(0),
            End::Failed => Some(1),
            _ => None,
        };
        Ok(end)
    }

    fn one_inside(&mut self, statement: &Statement) -> Result<End, Fault> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            let message = format!("the script runs more than {MOST_STEPS} commands; {RECORD}");
            return Err(at_line(line_of(statement), message));
        }
        if let Err(fault) = self.budget.check() {
            let fault = fault.with_hint(&format!("; {RECORD}"));
            return Err(at_line(line_of(statement), fault));
        }
        match statement {
            Statement::Simple(simple) => self.simple(simple),
            Statement::Group(body) => self.all(body),
            Statement::Subshell(body) => self.subshell(body),
            Statement::Pipe(parts) => self.pipe(parts),
            Statement::Arithmetic { line, text } => Ok(self.arithmetic(*line, text)),
            Statement::Function { name, body } => {
                self.state.functions.insert(name.clone(), Rc::clone(body));
                Ok(End::Done)
            }
            Statement::Chain { first, rest } => self.chain(first, rest),
            Statement::If {
                line,
                branches,
                otherwise,
            } => self.conditional(*line, branches, otherwise),
            Statement::While {
                line,
                is_until,
                condition,
                body,
            } => {
                let is_endless = !is_until && is_always(condition) && !has_end(body, 0);
                if is_endless {
                    self.leave_out(*line, &[body], "in a loop without an end; ");
                    return Ok(End::Unknown);
                }
                self.repeat(*line, body, None, |machine| {
                    Ok(match machine.all(condition)? {
                        End::Done if *is_until => End::Failed,
                        End::Failed if *is_until => End::Done,
                        end => end,
                    })
                })
            }
            Statement::Count { line, parts, body } => {
                let [start, condition, step] = parts;
                if self.arithmetic(*line, start) == End::Unknown {
                    self.leave_out(*line, &[body], DEPENDS);
                    return Ok(End::Unknown);
                }
                let goes_on = if condition.trim().is_empty() {
                    "1"
                } else {
                    condition
                };
                self.repeat(*line, body, Some(step), |machine| {
                    Ok(machine.arithmetic(*line, goes_on))
                })
            }
            Statement::For {
                line,
                name,
                words,
                body,
            } => self.each(*line, name, words, body),
            Statement::Case { line, word, arms } => self.case(*line, word, arms),
        }
    }

    fn chain(&mut self, first: &Statement, rest: &[(bool, Statement)]) -> Result<End, Fault> {
        let mut end = self.one(first)?;
        for (if_failed, next) in rest {
            let runs = match end {
                End::Done => !if_failed,
                End::Failed => *if_failed,
                End::Unknown => {
                    self.leave_out(line_of(next), &[std::slice::from_ref(next)], DEPENDS);
                    false
                }
                end => return Ok(end),
            };
            if runs {
                end = self.one(next)?;
            }
        }
        Ok(end)
    }

    /// Runs the body of the first branch whose condition succeeds. If a condition is not known, no
    /// further branch runs.
    fn conditional(
        &mut self,
        line: usize,
        branches: &[(Vec<Statement>, Vec<Statement>)],
        otherwise: &[Statement],
    ) -> Result<End, Fault> {
        for (number, (condition, body)) in branches.iter().enumerate() {
            match self.all(condition)? {
                End::Done => return self.all(body),
                End::Failed => {}
                End::Unknown => {
                    let why = self.why_of_condition(condition, body, otherwise);
                    let mut bodies: Vec<&[Statement]> = Vec::new();
                    for (_, body) in &branches[number..] {
                        bodies.push(body);
                    }
                    bodies.push(otherwise);
                    self.leave_out(line, &bodies, &why);
                    return Ok(End::Unknown);
                }
                end => return Ok(end),
            }
        }
        self.all(otherwise)
    }

    /// How many tc commands statements would run.
    fn calls_in(&self, body: &[Statement]) -> usize {
        let mut seen = Seen::default();
        for statement in body {
            self.look(statement, &mut seen, 0);
        }
        seen.calls
    }

    /// Why a condition is not known. If it asks for an argument of the script, which value of that
    /// runs most commands.
    fn why_of_condition(
        &self,
        condition: &[Statement],
        body: &[Statement],
        otherwise: &[Statement],
    ) -> String {
        let [Statement::Simple(Simple { words, .. })] = condition else {
            return DEPENDS.to_owned();
        };
        let mut argument = None;
        let mut comparison = None;
        for (number, word) in words.iter().enumerate() {
            argument = argument.or(argument_in(word));
            if comparison.is_none() && ["=", "==", "!="].contains(&word.as_str()) {
                comparison = Some((word, words.get(number + 1)));
            }
        }
        let Some(argument) = argument else {
            return DEPENDS.to_owned();
        };
        let Some((sign, Some(tested))) = comparison else {
            return DEPENDS.to_owned();
        };
        let tested = tested.trim_matches(['"', '\'']);
        let wants_tested = self.calls_in(body) >= self.calls_in(otherwise);
        let value = match wants_tested == (sign != "!=") {
            true if is_plain(tested) => tested,
            false if tested != "start" => "start",
            _ => return DEPENDS.to_owned(),
        };
        on_argument(&argument, value)
    }

    /// The same for the word after `case`.
    fn why_of_case(&self, word: &str, arms: &[(Vec<String>, Vec<Statement>)]) -> String {
        let Some(argument) = argument_in(word) else {
            return DEPENDS.to_owned();
        };
        let mut most = 0;
        let mut best = None;
        for (patterns, body) in arms {
            let calls = self.calls_in(body);
            for pattern in patterns {
                let pattern = pattern.trim_matches(['"', '\'']);
                if is_plain(pattern) && calls > most {
                    most = calls;
                    best = Some(pattern);
                }
            }
        }
        match best {
            Some(value) => on_argument(&argument, value),
            None => DEPENDS.to_owned(),
        }
    }

    /// A loop with a condition. If it takes too long, we leave out the whole loop.
    fn repeat(
        &mut self,
        line: usize,
        body: &[Statement],
        step: Option<&str>,
        goes_on: impl Fn(&mut Self) -> Result<End, Fault>,
    ) -> Result<End, Fault> {
        self.state.spend_copy(&self.budget);
        let before = self.state.clone();
        let calls = self.ran.calls.len();
        for _ in 0..MOST_ROUNDS {
            match goes_on(self)? {
                End::Done => {}
                End::Failed => return Ok(End::Done),
                End::Unknown => {
                    self.leave_out(line, &[body], DEPENDS);
                    return Ok(End::Unknown);
                }
                end => return Ok(end),
            }
            if let Some(end) = after_round(self.all(body)?) {
                return Ok(end);
            }
            if let Some(step) = step {
                self.arithmetic(line, step);
            }
        }
        self.state = before;
        self.ran.calls.truncate(calls);
        let why = format!("in a loop of more than {MOST_ROUNDS} rounds; ");
        self.leave_out(line, &[body], &why);
        Ok(End::Unknown)
    }

    /// `for NAME in WORDS`.
    fn each(
        &mut self,
        line: usize,
        name: &str,
        words: &[String],
        body: &[Statement],
    ) -> Result<End, Fault> {
        let mut all = Vec::new();
        for word in words {
            let found = self.values().words(word);
            let is_known = found
                .as_ref()
                .is_ok_and(|words| !words.iter().any(|word| word.contains('*')));
            if !is_known {
                self.leave_out(line, &[body], DEPENDS);
                self.assign(name, Err(decided_at(line)));
                return Ok(End::Unknown);
            }
            all.extend(found.unwrap_or_default());
        }
        for word in all {
            self.assign(name, Ok(word));
            if let Some(end) = after_round(self.all(body)?) {
                return Ok(end);
            }
        }
        Ok(End::Done)
    }

    fn case(
        &mut self,
        line: usize,
        word: &str,
        arms: &[(Vec<String>, Vec<Statement>)],
    ) -> Result<End, Fault> {
        let raw = word;
        let word = self.values().text(raw);
        for (number, (patterns, body)) in arms.iter().enumerate() {
            for pattern in patterns {
                let fits = match (&word, self.values().text(pattern)) {
                    (Ok(word), Ok(pattern)) => {
                        self.budget.spend_match(&pattern, word);
                        let is_affordable = self.budget.check().is_ok();
                        Some(is_affordable && pattern::fits(&pattern, word))
                    }
                    _ => None,
                };
                match fits {
                    Some(true) => return self.all(body),
                    Some(false) => {}
                    None => {
                        let why = self.why_of_case(raw, arms);
                        let mut bodies: Vec<&[Statement]> = Vec::new();
                        for (_, body) in &arms[number..] {
                            bodies.push(body);
                        }
                        self.leave_out(line, &bodies, &why);
                        return Ok(End::Unknown);
                    }
                }
            }
        }
        Ok(End::Done)
    }

    /// Parentheses: what they set ends with them.
    fn subshell(&mut self, body: &[Statement]) -> Result<End, Fault> {
        self.state.spend_copy(&self.budget);
        let before = self.state.clone();
        let end = self.all(body)?;
        self.state = before;
        Ok(match end {
            End::Returned(status) => of_status(status),
            end if end.leaves() => End::Done,
            end => end,
        })
    }

    /// `first | second`: each command can read what the one before it printed.
    fn pipe(&mut self, parts: &[Statement]) -> Result<End, Fault> {
        let outside = std::mem::take(&mut self.printed);
        let mut end = End::Done;
        for (number, part) in parts.iter().enumerate() {
            self.piped = std::mem::take(&mut self.printed);
            let is_last = number + 1 == parts.len();
            self.pipes += usize::from(!is_last);
            end = self.subshell(std::slice::from_ref(part))?;
            self.pipes -= usize::from(!is_last);
        }
        let last = std::mem::replace(&mut self.printed, outside);
        if self.pipes > 0 {
            self.printed.extend(last);
        }
        self.piped.clear();
        Ok(end)
    }

    /// `((..))` and `let`. If the text is not known, neither is what it sets.
    fn arithmetic(&mut self, line: usize, text: &str) -> End {
        let found = match self.values().text_of_arithmetic(text) {
            Ok(text) => arithmetic::run(&text, &self.state.variables),
            Err(fault) => Err(fault),
        };
        match found {
            Ok((value, set)) => {
                for (name, value) in set {
                    self.assign(&name, Ok(value));
                }
                if value == 0 { End::Failed } else { End::Done }
            }
            Err(_) => {
                for name in arithmetic::names_set(text) {
                    self.assign(&name, Err(decided_at(line)));
                }
                End::Unknown
            }
        }
    }

    fn simple(&mut self, simple: &Simple) -> Result<End, Fault> {
        self.budget.spend_words(&simple.words);
        let mut words = simple.words.as_slice();
        let mut assignments = Vec::new();
        while let Some(found) = words.first().and_then(|word| assignment(word)) {
            assignments.push(found);
            words = &words[1..];
        }
        let Some(first) = words.first() else {
            for found in &assignments {
                self.assign_word(found);
            }
            self.print(simple, Vec::new());
            return Ok(End::Done);
        };
        let named = match self.values().words(first) {
            Ok(named) => named,
            Err(fault) => {
                let is_call = words[1..].iter().any(|word| is_object(word));
                if is_call || mentions_tc(words) {
                    return Err(at_line(simple.line, fault));
                }
                return Ok(End::Unknown);
            }
        };
        // Puts in what the first word stood for, quoted, so that it is not expanded twice.
        let mut plain = words;
        let mut instead = Vec::new();
        if named.len() != 1 || named[0] != *first {
            instead.extend(named.iter().map(|word| quoted(word)));
            instead.extend_from_slice(&words[1..]);
            plain = &instead;
        }
        let Some(name) = named.first().or(plain.first()).cloned() else {
            return Ok(End::Done);
        };
        if named.is_empty() {
            let inner = Simple {
                words: plain.to_vec(),
                ..simple.clone()
            };
            return self.simple(&inner);
        }
        if let Some(body) = self.state.functions.get(&name).cloned() {
            // Assignments before a function last as long as the function.
            self.locals.push(Vec::new());
            for found in &assignments {
                self.save(found.name);
                self.assign_word(found);
            }
            let end = self.call(simple.line, &plain[1..], &body);
            let saved = self.locals.pop().unwrap_or_default();
            self.restore(saved);
            return end;
        }
        match self.builtin(simple, &name, &plain[1..])? {
            Some(end) => Ok(end),
            None => self.program(simple, &name, plain),
        }
    }

    fn call(&mut self, line: usize, words: &[String], body: &[Statement]) -> Result<End, Fault> {
        if self.depth >= DEEPEST {
            let message = format!("more than {DEEPEST} functions call each other");
            return Err(at_line(line, message));
        }
        let arguments = match self.expanded(line, words) {
            Ok(arguments) => arguments,
            Err(error) if self.budget.check().is_err() => return Err(error),
            Err(error) => {
                let mut seen = Seen::default();
                for statement in body {
                    self.look(statement, &mut seen, 0);
                }
                if seen.calls > 0 {
                    return Err(error);
                }
                // The function runs no tc, so it may just log.
                self.leave_out(line, &[body], DEPENDS);
                return Ok(End::Unknown);
            }
        };
        let outside = self.state.arguments.replace(arguments);
        self.depth += 1;
        self.locals.push(Vec::new());
        let end = self.all(body)?;
        let saved = self.locals.pop().unwrap_or_default();
        self.restore(saved);
        self.depth -= 1;
        self.state.arguments = outside;
        Ok(match end {
            End::Returned(status) => of_status(status),
            end => end,
        })
    }
}

/// The number of the argument that a word is, such as `"$1"` or `${1:-}`.
fn argument_in(word: &str) -> Option<String> {
    let word = word.trim_matches('"').strip_prefix('$')?;
    let word = word.strip_prefix('{').unwrap_or(word);
    let rest = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = word.strip_suffix(rest)?;
    if number.is_empty() || number == "0" {
        return None;
    }
    Some(number.to_owned())
}

/// Whether a text stands for itself, in patterns and on a command line.
fn is_plain(text: &str) -> bool {
    let is_of_it = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.chars().all(is_of_it)
}

/// Why commands that hang on an argument are left out.
fn on_argument(number: &str, value: &str) -> String {
    format!(
        "that hang on the script's argument ${number}: read them with --set {number}={value}, or "
    )
}

/// How the end of a round ends the loop. None if the loop goes on.
fn after_round(end: End) -> Option<End> {
    match end {
        End::Break(1) => Some(End::Done),
        End::Break(loops) => Some(End::Break(loops - 1)),
        End::Continue(loops) if loops > 1 => Some(End::Continue(loops - 1)),
        End::Returned(_) | End::Exited => Some(end),
        _ => None,
    }
}

fn of_status(status: Status) -> End {
    match status {
        Status::Zero => End::Done,
        Status::Other => End::Failed,
        Status::Unknown => End::Unknown,
    }
}

/// Quotes a word, so that it stands for itself.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn line_of(statement: &Statement) -> usize {
    match statement {
        Statement::Simple(simple) => simple.line,
        Statement::If { line, .. }
        | Statement::For { line, .. }
        | Statement::While { line, .. }
        | Statement::Count { line, .. }
        | Statement::Arithmetic { line, .. }
        | Statement::Case { line, .. } => *line,
        Statement::Chain { first, .. } => line_of(first),
        Statement::Group(body) | Statement::Subshell(body) | Statement::Pipe(body) => {
            body.first().map_or(1, line_of)
        }
        Statement::Function { body, .. } => body.first().map_or(1, line_of),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str) -> Vec<String> {
        let ran = run(text, &[]).expect("a script");
        ran.calls.iter().map(|call| call.words.join(" ")).collect()
    }

    #[test]
    fn variables_loops_and_functions_are_followed() {
        let text = "#!/bin/sh\nDEV=eth0; RATE=20\nadd() {\n  $TC class add dev $DEV classid 1:$1 rate ${2}mbit\n}\nfor i in 1 2; do\n  add $i $((RATE / i)) # half\ndone\n/sbin/tc qdisc add \\\n  dev $DEV root 2>/dev/null || exit 1\nsudo tc -s qdisc show\n";
        assert_eq!(
            calls(text),
            [
                "class add dev eth0 classid 1:1 rate 20mbit",
                "class add dev eth0 classid 1:2 rate 10mbit",
                "qdisc add dev eth0 root",
                "qdisc show"
            ]
        );
    }

    #[test]
    fn known_conditions_decide_and_others_leave_remarks() {
        let text = "A=1\nif [ \"$A\" = 1 ]; then tc one; else tc two; fi\ncase $A in 2) tc three ;; *) tc four ;; esac\nif grep -q x /proc/y; then\n  tc five\nfi\n[ $A -gt 3 ] && tc six\nwhile read line; do tc seven; done\n[ -f /x ] && tc eight\n";
        assert_eq!(calls(text), ["one", "four"]);
        let ran = run(text, &[]).expect("a script");
        let lines: Vec<usize> = ran.remarks.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 8, 9]);
    }

    #[test]
    fn variables_of_the_caller_win() {
        let text = "RATE=10mbit\nX=$(cat x)\ntc a $RATE $X";
        let set =
            [("RATE", "5mbit"), ("X", "y")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        let ran = run(text, &set).expect("a script");
        assert_eq!(ran.calls[0].words, ["a", "5mbit", "y"]);
        let error = run(text, &[]).expect_err("X is unknown");
        assert_eq!(error.line(), Some(3));
        assert!(error.message().contains("--set X=VALUE"), "{error}");
        let error = run("tc $Y", &[]).expect_err("Y is not set");
        assert!(error.message().contains("--set Y=VALUE"), "{error}");
    }

    #[test]
    fn lines_of_a_batch_are_commands() {
        let text = "D=eth0\ntc -batch - <<EOF\nqdisc add dev $D root\n# no\nclass add\nEOF\ntc z";
        let ran = run(text, &[]).expect("a script");
        let lines: Vec<usize> = ran.calls.iter().map(|call| call.line).collect();
        assert_eq!(lines, [3, 5, 7]);
        assert_eq!(calls(text)[0], "qdisc add dev eth0 root");
    }

    /// Variables of 57 MB, which each subshell copies.
    const COPIES: &str = "A=xxxxxxxxxxxxxxxx\nA=$A$A\nA=$A$A\nA=$A$A\nA=$A$A\nA=$A$A\nA=$A$A\nA=$A$A\n\
                          A=$A$A\nA=$A$A\nA=$A$A\nA=$A$A\nA=$A$A\n\
                          for i in $(seq 1 100); do\neval \"V$i=\\$A\"\ndone\n\
                          for i in $(seq 1 900); do\n(B=1)\n(B=2)\ndone\n";

    #[test]
    fn faults_of_the_script_have_lines() {
        for (text, line, part) in [
            ("tc a\nif true; then tc b", 2, "`fi` is expected"),
            ("tc 'a\nb", 1, "not closed"),
            ("f() { f; }\nf", 1, "call each other"),
            ("tc a\n)", 2, "unexpected `)`"),
            (
                "f() {\nf \"$@\" \"$@\"\n}\nf x\ntc qdisc add dev eth0 root fq_codel",
                2,
                "more than 64 MB of words",
            ),
            (COPIES, 18, "more than 64 MB of words"),
            (
                "for i in $(seq 1 999); do for j in $(seq 1 999); do :; done; done",
                1,
                "more than",
            ),
        ] {
            let error = run(text, &[]).expect_err(text);
            assert_eq!(error.line(), Some(line), "{text}: {error}");
            assert!(error.message().contains(part), "{text}: {error}");
        }
    }
}

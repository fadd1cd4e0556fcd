//! Runs a script as far as it is the same on every machine, and keeps its `tc` commands.

use std::collections::BTreeMap;

use super::expand::Values;
use super::parse::{Simple, Statement, parse};
use super::{Call, ScriptError};

/// Most statements that are run, loops included.
const MOST_STEPS: usize = 200_000;
/// Most functions inside each other.
const DEEPEST: usize = 32;
/// What to do where a script cannot be followed.
const RECORD: &str = "give the tc commands as they are run instead (see docs/import.md)";

/// Commands before those of tc, which are taken to succeed.
const PREPARING: [&str; 9] = [
    "modprobe",
    "insmod",
    "sysctl",
    "ethtool",
    "sleep",
    "ifconfig",
    "logger",
    "iptables",
    "ip6tables",
];

/// What a script ran.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) calls: Vec<Call>,
    /// Lines, and what was left out there.
    pub(crate) remarks: Vec<(usize, String)>,
}

/// Runs a script with these variables.
pub(crate) fn run(text: &str, variables: &[(String, String)]) -> Result<Ran, ScriptError> {
    let statements = parse(text, 1)?;
    let mut machine = Machine {
        variables: variables.iter().cloned().collect(),
        set: variables.iter().map(|(name, _)| name.clone()).collect(),
        unknown: BTreeMap::new(),
        functions: BTreeMap::new(),
        arguments: Vec::new(),
        steps: 0,
        ran: Ran::default(),
    };
    machine.all(&statements)?;
    Ok(machine.ran)
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It succeeded, or is taken to have.
    Done,
    /// It failed.
    Failed,
    /// That depends on the machine.
    Unknown,
    /// `exit`, or `return` of a function.
    Left,
}

struct Machine {
    variables: BTreeMap<String, String>,
    /// Names that the caller gave: the script's own assignments do not change these.
    set: Vec<String>,
    unknown: BTreeMap<String, String>,
    functions: BTreeMap<String, Vec<Statement>>,
    arguments: Vec<Vec<String>>,
    steps: usize,
    ran: Ran,
}

impl Machine {
    fn values(&self) -> Values<'_> {
        Values {
            variables: &self.variables,
            unknown: &self.unknown,
            arguments: self.arguments.last().map(Vec::as_slice),
        }
    }

    fn remark(&mut self, line: usize, text: impl Into<String>) {
        let remark = (line, text.into());
        if !self.ran.remarks.contains(&remark) {
            self.ran.remarks.push(remark);
        }
    }

    fn all(&mut self, statements: &[Statement]) -> Result<End, ScriptError> {
        let mut end = End::Done;
        for statement in statements {
            end = self.one(statement)?;
            if end == End::Left {
                break;
            }
        }
        Ok(end)
    }

    fn one(&mut self, statement: &Statement) -> Result<End, ScriptError> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            let message = format!("the script runs more than {MOST_STEPS} commands; {RECORD}");
            return Err(ScriptError::new(line_of(statement), message));
        }
        match statement {
            Statement::Simple(simple) => self.simple(simple),
            Statement::Group(body) => self.all(body),
            Statement::Function { name, body } => {
                self.functions.insert(name.clone(), body.clone());
                Ok(End::Done)
            }
            Statement::Chain { first, rest } => {
                let mut end = self.one(first)?;
                for (if_failed, next) in rest {
                    let runs = match end {
                        End::Left => return Ok(End::Left),
                        End::Done => !if_failed,
                        End::Failed => *if_failed,
                        End::Unknown => {
                            self.leave_out(line_of(next), std::slice::from_ref(next));
                            false
                        }
                    };
                    if runs {
                        end = self.one(next)?;
                    }
                }
                Ok(end)
            }
            Statement::If {
                line,
                branches,
                otherwise,
            } => {
                for (condition, body) in branches {
                    match self.all(condition)? {
                        End::Done => return self.all(body),
                        End::Failed => {}
                        End::Left => return Ok(End::Left),
                        End::Unknown => {
                            for (_, body) in branches {
                                self.leave_out(*line, body);
                            }
                            self.leave_out(*line, otherwise);
                            return Ok(End::Unknown);
                        }
                    }
                }
                self.all(otherwise)
            }
            Statement::While { line, body } => {
                self.leave_out(*line, body);
                Ok(End::Unknown)
            }
            Statement::For {
                line,
                name,
                words,
                body,
            } => {
                let mut all = Vec::new();
                for word in words {
                    match self.values().words(word) {
                        Ok(found) if found.iter().any(|word| word.contains('*')) => {
                            self.leave_out(*line, body);
                            return Ok(End::Unknown);
                        }
                        Ok(found) => all.extend(found),
                        Err(_) => {
                            self.leave_out(*line, body);
                            return Ok(End::Unknown);
                        }
                    }
                }
                for word in all {
                    self.assign(name, Ok(word));
                    if self.all(body)? == End::Left {
                        return Ok(End::Left);
                    }
                }
                Ok(End::Done)
            }
            Statement::Case { line, word, arms } => {
                let Ok(word) = self.values().text(word) else {
                    for (_, body) in arms {
                        self.leave_out(*line, body);
                    }
                    return Ok(End::Unknown);
                };
                for (patterns, body) in arms {
                    for pattern in patterns {
                        let pattern = self.values().text(pattern);
                        if pattern.is_ok_and(|pattern| matches(&pattern, &word)) {
                            return self.all(body);
                        }
                    }
                }
                Ok(End::Done)
            }
        }
    }

    /// Notes that statements were not run, if they do anything of interest.
    fn leave_out(&mut self, line: usize, body: &[Statement]) {
        let mut names = Vec::new();
        let mut calls = 0;
        for statement in body {
            self.look(statement, &mut names, &mut calls, 0);
        }
        if calls > 0 {
            let text = format!(
                "left out: {calls} tc command{} that a condition or a loop decides about, which \
                 depends on the machine; set its variables with --set, or {RECORD}",
                if calls == 1 { "" } else { "s" },
            );
            self.remark(line, text);
        }
        for name in names {
            if !self.set.contains(&name) && !self.variables.contains_key(&name) {
                let why = format!("line {line} decides about its value");
                self.unknown.insert(name, why);
            }
        }
    }

    /// Counts the tc commands of a statement, and finds the variables that it sets.
    fn look(
        &self,
        statement: &Statement,
        names: &mut Vec<String>,
        calls: &mut usize,
        depth: usize,
    ) {
        if depth > DEEPEST {
            return;
        }
        let mut inner: Vec<&[Statement]> = Vec::new();
        match statement {
            Statement::Simple(simple) => {
                for word in &simple.words {
                    let Some((name, _)) = assignment(word) else {
                        break;
                    };
                    names.push(name.to_owned());
                }
                if let Some(word) = simple.words.iter().find(|word| assignment(word).is_none()) {
                    *calls += usize::from(is_tc(word) || word.contains("TC"));
                    if let Some(body) = self.functions.get(word) {
                        inner.push(body);
                    }
                }
            }
            Statement::Chain { first, rest } => {
                self.look(first, names, calls, depth + 1);
                for (_, next) in rest {
                    self.look(next, names, calls, depth + 1);
                }
            }
            Statement::If {
                branches,
                otherwise,
                ..
            } => {
                for (_, body) in branches {
                    inner.push(body);
                }
                inner.push(otherwise);
            }
            Statement::Case { arms, .. } => {
                for (_, body) in arms {
                    inner.push(body);
                }
            }
            Statement::Group(body)
            | Statement::While { body, .. }
            | Statement::For { body, .. } => inner.push(body),
            Statement::Function { .. } => {}
        }
        for body in inner {
            for statement in body {
                if *calls < 10_000 {
                    self.look(statement, names, calls, depth + 1);
                }
            }
        }
    }

    fn assign(&mut self, name: &str, value: Result<String, String>) {
        if self.set.iter().any(|set| set == name) {
            return;
        }
        match value {
            Ok(value) => {
                self.unknown.remove(name);
                self.variables.insert(name.to_owned(), value);
            }
            Err(why) => {
                self.variables.remove(name);
                self.unknown.insert(name.to_owned(), why);
            }
        }
    }

    fn simple(&mut self, simple: &Simple) -> Result<End, ScriptError> {
        let mut words = simple.words.as_slice();
        while let Some((name, raw)) = words.first().and_then(|word| assignment(word)) {
            let value = self.values().text(raw);
            self.assign(name, value);
            words = &words[1..];
        }
        let Some(first) = words.first() else {
            return Ok(End::Done);
        };
        let named = self.values().words(first).unwrap_or_default();
        let Some(name) = named.first().cloned() else {
            return Ok(End::Done);
        };
        match name.as_str() {
            "export" | "local" | "readonly" | "declare" | "typeset" => {
                for word in &words[1..] {
                    if let Some((name, raw)) = assignment(word) {
                        let value = self.values().text(raw);
                        self.assign(name, value);
                    }
                }
                return Ok(End::Done);
            }
            "[" | "[[" | "test" => return Ok(self.test(&words[1..])),
            "!" => {
                let inner = Simple {
                    words: words[1..].to_vec(),
                    ..simple.clone()
                };
                return Ok(match self.simple(&inner)? {
                    End::Done => End::Failed,
                    End::Failed => End::Done,
                    other => other,
                });
            }
            "true" | ":" | "echo" | "printf" | "set" => return Ok(End::Done),
            "false" => return Ok(End::Failed),
            "exit" | "return" => return Ok(End::Left),
            _ => {}
        }
        if let Some(body) = self.functions.get(&name).cloned() {
            return self.call(simple.line, &words[1..], &body);
        }
        let is_line_of_batch = ["qdisc", "class", "filter"].contains(&name.as_str());
        let is_tool = is_tc(&name) || ["sudo", "ip", "eval"].contains(&name.as_str());
        if !is_tool && !is_line_of_batch && named.len() < 2 {
            self.other(simple, &name);
            return Ok(if PREPARING.contains(&name.as_str()) {
                End::Done
            } else {
                End::Unknown
            });
        }
        let mut all = Vec::new();
        for word in words {
            let found = self.values().words(word);
            all.extend(found.map_err(|message| ScriptError::new(simple.line, message))?);
        }
        self.tool(simple, all)
    }

    /// `tc`, by itself or after `sudo`, `ip netns exec` and the like.
    fn tool(&mut self, simple: &Simple, words: Vec<String>) -> Result<End, ScriptError> {
        if words[0] == "eval" {
            let text = words[1..].join(" ");
            if self.arguments.len() >= DEEPEST {
                return Err(ScriptError::new(
                    simple.line,
                    "eval inside eval without end",
                ));
            }
            let statements = parse(&text, simple.line)?;
            self.arguments.push(Vec::new());
            let end = self.all(&statements)?;
            self.arguments.pop();
            return Ok(end);
        }
        if ["qdisc", "class", "filter"].contains(&words[0].as_str()) {
            let line = simple.line;
            self.ran.calls.push(Call { line, words });
            return Ok(End::Done);
        }
        let Some(start) = words.iter().position(|word| is_tc(word)) else {
            return Ok(if words[0] == "ip" {
                End::Done
            } else {
                End::Unknown
            });
        };
        let is_prefixed = start == 0 || ["sudo", "ip"].contains(&words[0].as_str());
        if !is_prefixed {
            return Ok(End::Unknown);
        }
        let mut rest = &words[start + 1..];
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            if ["-b", "-batch"].contains(&option.as_str()) {
                return self.batch(simple, rest.get(1));
            }
            let takes_a_name = ["-n", "-netns"].contains(&option.as_str());
            rest = &rest[(1 + usize::from(takes_a_name)).min(rest.len())..];
        }
        self.ran.calls.push(Call {
            line: simple.line,
            words: rest.to_vec(),
        });
        Ok(End::Done)
    }

    /// `tc -batch FILE`: the lines, if the script has them.
    fn batch(&mut self, simple: &Simple, file: Option<&String>) -> Result<End, ScriptError> {
        if let Some((first, body)) = &simple.here {
            for (number, line) in body.lines().enumerate() {
                let text = self.values().text(line.trim());
                let text = text.map_err(|message| ScriptError::new(first + number, message))?;
                let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                if words.first().is_some_and(|word| !word.starts_with('#')) {
                    let line = first + number;
                    self.ran.calls.push(Call { line, words });
                }
            }
            return Ok(End::Done);
        }
        let file = file.map_or("its input", String::as_str);
        let text = format!("left out: tc reads its commands from {file}; import that file, too");
        self.remark(simple.line, text);
        Ok(End::Done)
    }

    fn call(
        &mut self,
        line: usize,
        words: &[String],
        body: &[Statement],
    ) -> Result<End, ScriptError> {
        if self.arguments.len() >= DEEPEST {
            let message = format!("more than {DEEPEST} functions call each other");
            return Err(ScriptError::new(line, message));
        }
        let mut arguments = Vec::new();
        for word in words {
            let found = self.values().words(word);
            arguments.extend(found.map_err(|message| ScriptError::new(line, message))?);
        }
        self.arguments.push(arguments);
        let end = self.all(body)?;
        self.arguments.pop();
        Ok(if end == End::Left { End::Done } else { end })
    }

    /// Another program. Some say where packets go.
    fn other(&mut self, simple: &Simple, name: &str) {
        let program = name.rsplit('/').next().unwrap_or_default();
        if ["iptables", "ip6tables", "nft", "ebtables", "ipset"].contains(&program) {
            let text = simple.words.join(" ");
            if text.contains("MARK") || text.contains("CLASSIFY") || text.contains("mark set") {
                let text = format!(
                    "left out: {program} marks packets, and marks are not in captures; give the \
                     leaf a rule of headers (flows) in its place"
                );
                self.remark(simple.line, text);
            }
            if text.contains("DSCP") || text.contains("dscp set") {
                let text = format!(
                    "left out: {program} writes code points; a capture from before it has others"
                );
                self.remark(simple.line, text);
            }
        }
        if ["source", "."].contains(&name) {
            let file = simple.words.get(1).map_or("a file", String::as_str);
            let text = format!("left out: {file} is read here; give its variables with --set");
            self.remark(simple.line, text);
        }
    }

    /// `[ .. ]` on known values.
    fn test(&self, raw: &[String]) -> End {
        let mut words = Vec::new();
        for word in raw {
            if word == "]" || word == "]]" {
                break;
            }
            // A word that is empty counts here, because authors mean it to.
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
            [left, "=" | "==", right] => matches(right, left),
            [left, "!=", right] => !matches(right, left),
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

/// Whether a word is the program.
fn is_tc(word: &str) -> bool {
    word == "tc" || word.ends_with("/tc")
}

/// Whether a text fits a pattern with `*` at its ends.
fn matches(pattern: &str, text: &str) -> bool {
    let inner = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        _ if pattern == "*" => true,
        (true, true) => text.contains(inner),
        (true, false) => text.ends_with(inner),
        (false, true) => text.starts_with(inner),
        (false, false) => text == pattern,
    }
}

/// `NAME=raw value`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let first = name.chars().next()?;
    let is_name = name
        .chars()
        .all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
    (is_name && !first.is_ascii_digit()).then_some((name, value))
}

fn line_of(statement: &Statement) -> usize {
    match statement {
        Statement::Simple(simple) => simple.line,
        Statement::If { line, .. }
        | Statement::For { line, .. }
        | Statement::While { line, .. }
        | Statement::Case { line, .. } => *line,
        Statement::Chain { first, .. } => line_of(first),
        Statement::Group(body) | Statement::Function { body, .. } => {
            body.first().map_or(1, line_of)
        }
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
        assert_eq!(error.line, 3);
        assert!(error.message.contains("--set X=VALUE"), "{}", error.message);
        let error = run("tc $Y", &[]).expect_err("Y is not set");
        assert!(error.message.contains("--set Y=VALUE"), "{}", error.message);
    }

    #[test]
    fn lines_of_a_batch_are_commands() {
        let text = "D=eth0\ntc -batch - <<EOF\nqdisc add dev $D root\n# no\nclass add\nEOF\ntc z";
        let ran = run(text, &[]).expect("a script");
        let lines: Vec<usize> = ran.calls.iter().map(|call| call.line).collect();
        assert_eq!(lines, [3, 5, 7]);
        assert_eq!(calls(text)[0], "qdisc add dev eth0 root");
    }

    #[test]
    fn faults_of_the_script_have_lines() {
        for (text, line, part) in [
            ("tc a\nif true; then tc b", 2, "`fi` is expected"),
            ("tc 'a\nb", 1, "not closed"),
            ("f() { f; }\nf", 1, "call each other"),
            ("tc a\n)", 2, "unexpected `)`"),
            (
                "for i in $(seq 1 999); do for j in $(seq 1 999); do :; done; done",
                1,
                "more than",
            ),
        ] {
            let error = run(text, &[]).expect_err(text);
            assert_eq!(error.line, line, "{text}: {}", error.message);
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
    }
}

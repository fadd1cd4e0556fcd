//! Runs a script as far as it is the same on every machine, and keeps its `tc` commands.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::expand::Values;
use super::parse::{Simple, Statement, parse};
use super::programs::{is_tc, mentions_tc, unwrapped};
use super::{Call, ScriptError, arithmetic, pattern};

/// Most statements that are run, loops included.
const MOST_STEPS: usize = 200_000;
/// Most rounds of a loop with a condition.
const MOST_ROUNDS: usize = 1000;
/// Most functions inside each other.
const DEEPEST: usize = 32;
/// Most letters that are kept of what is printed into a pipe or a file.
const MOST_PRINTED: usize = 4 << 20;
/// What to do where a script cannot be followed.
const RECORD: &str = "give the tc commands as they are run instead (see docs/import.md)";
/// Why most statements are left out.
const DEPENDS: &str = "that a condition or a loop decides about, which depends on the machine; set \
                       its variables with --set, or ";

/// Commands before those of tc, which are taken to succeed.
const PREPARING: [&str; 10] = [
    "modprobe",
    "insmod",
    "sysctl",
    "ethtool",
    "sleep",
    "ifconfig",
    "logger",
    "iptables",
    "ip6tables",
    "ip",
];

/// What a script ran.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) calls: Vec<Call>,
    /// Lines, and what was left out there.
    pub(crate) remarks: Vec<(usize, String)>,
    /// Whether commands of tc were left out that may be of classes.
    pub(crate) lost_classes: bool,
}

/// Runs a script with these variables.
pub(crate) fn run(text: &str, variables: &[(String, String)]) -> Result<Ran, ScriptError> {
    let statements = parse(text, 1)?;
    let mut machine = Machine {
        state: State {
            variables: variables.iter().cloned().collect(),
            ..State::default()
        },
        set: variables.iter().map(|(name, _)| name.clone()).collect(),
        files: BTreeMap::new(),
        locals: Vec::new(),
        depth: 0,
        steps: 0,
        pipes: 0,
        printed: Vec::new(),
        piped: Vec::new(),
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
    /// `return`, and how the function ended.
    Returned(Status),
    /// `exit`.
    Exited,
    /// `break` and `continue`, and the number of loops.
    Break(usize),
    Continue(usize),
}

/// The status after `return`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Zero,
    Other,
    Unknown,
}

impl End {
    /// Whether what follows is not run.
    fn leaves(self) -> bool {
        !matches!(self, Self::Done | Self::Failed | Self::Unknown)
    }
}

/// Lines of a file or of a pipe, with the line of the script, or why one is not known.
type Lines = Vec<(usize, Result<String, String>)>;

/// What a subshell has of its own.
#[derive(Debug, Clone, Default)]
struct State {
    variables: BTreeMap<String, String>,
    /// Why a variable has no value that can be known.
    unknown: BTreeMap<String, String>,
    functions: BTreeMap<String, Rc<Vec<Statement>>>,
    /// Those of the function that runs, or of `set --`.
    arguments: Option<Vec<String>>,
    /// How far the arguments of the script were shifted.
    shifted: usize,
}

/// A variable as it was before `local`.
struct Saved {
    name: String,
    value: Option<String>,
    unknown: Option<String>,
}

struct Machine {
    state: State,
    /// Names that the caller gave: the script's own assignments do not change these.
    set: Vec<String>,
    /// Files that the script writes for `tc -batch`.
    files: BTreeMap<String, Lines>,
    /// Of each function that runs.
    locals: Vec<Vec<Saved>>,
    depth: usize,
    steps: usize,
    /// Pipes that what is printed goes to.
    pipes: usize,
    printed: Lines,
    /// What the command before the pipe has printed.
    piped: Lines,
    ran: Ran,
}

/// What statements that are not run would have done.
#[derive(Default)]
struct Seen {
    calls: usize,
    /// Whether some of these may be of classes.
    classes: bool,
    /// Names, and the value if it is written as it is.
    names: Vec<(String, Option<String>)>,
    /// Lines of `break` and `continue`.
    leaving: Vec<usize>,
}

impl Machine {
    fn values(&self) -> Values<'_> {
        Values {
            variables: &self.state.variables,
            unknown: &self.state.unknown,
            arguments: self.state.arguments.as_deref(),
            shifted: self.state.shifted,
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
            if end.leaves() {
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
            Statement::Subshell(body) => self.subshell(body),
            Statement::Pipe(parts) => self.pipe(parts),
            Statement::Arithmetic { line, text } => Ok(self.arithmetic(*line, text)),
            Statement::Function { name, body } => {
                let body = Rc::new(body.clone());
                self.state.functions.insert(name.clone(), body);
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

    fn chain(&mut self, first: &Statement, rest: &[(bool, Statement)]) -> Result<End, ScriptError> {
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

    fn conditional(
        &mut self,
        line: usize,
        branches: &[(Vec<Statement>, Vec<Statement>)],
        otherwise: &[Statement],
    ) -> Result<End, ScriptError> {
        for (number, (condition, body)) in branches.iter().enumerate() {
            match self.all(condition)? {
                End::Done => return self.all(body),
                End::Failed => {}
                End::Unknown => {
                    let mut bodies: Vec<&[Statement]> = Vec::new();
                    for (_, body) in &branches[number..] {
                        bodies.push(body);
                    }
                    bodies.push(otherwise);
                    self.leave_out(line, &bodies, DEPENDS);
                    return Ok(End::Unknown);
                }
                end => return Ok(end),
            }
        }
        self.all(otherwise)
    }

    /// A loop with a condition. One that takes too long is left out as a whole.
    fn repeat(
        &mut self,
        line: usize,
        body: &[Statement],
        step: Option<&str>,
        goes_on: impl Fn(&mut Self) -> Result<End, ScriptError>,
    ) -> Result<End, ScriptError> {
        let before = self.state.clone();
        self.steps += before.variables.len() / 16;
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
    ) -> Result<End, ScriptError> {
        let mut all = Vec::new();
        for word in words {
            let found = self.values().words(word);
            let is_known = found
                .as_ref()
                .is_ok_and(|words| !words.iter().any(|word| word.contains('*')));
            if !is_known {
                self.leave_out(line, &[body], DEPENDS);
                let why = format!("line {line} decides about its value");
                self.assign(name, Err(why));
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
    ) -> Result<End, ScriptError> {
        let word = self.values().text(word);
        for (number, (patterns, body)) in arms.iter().enumerate() {
            for pattern in patterns {
                let fits = match (&word, self.values().text(pattern)) {
                    (Ok(word), Ok(pattern)) => Some(pattern::fits(&pattern, word)),
                    _ => None,
                };
                match fits {
                    Some(true) => return self.all(body),
                    Some(false) => {}
                    None => {
                        let mut bodies: Vec<&[Statement]> = Vec::new();
                        for (_, body) in &arms[number..] {
                            bodies.push(body);
                        }
                        self.leave_out(line, &bodies, DEPENDS);
                        return Ok(End::Unknown);
                    }
                }
            }
        }
        Ok(End::Done)
    }

    /// Parentheses: what is set in them ends with them.
    fn subshell(&mut self, body: &[Statement]) -> Result<End, ScriptError> {
        let before = self.state.clone();
        // A copy counts as work.
        self.steps += before.variables.len() / 16;
        let end = self.all(body)?;
        self.state = before;
        Ok(match end {
            End::Returned(status) => of_status(status),
            end if end.leaves() => End::Done,
            end => end,
        })
    }

    /// `first | second`: what each prints is there for the next.
    fn pipe(&mut self, parts: &[Statement]) -> Result<End, ScriptError> {
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

    /// `((..))` and `let`. A text that is not known leaves what it sets unknown.
    fn arithmetic(&mut self, line: usize, text: &str) -> End {
        let found = match self.values().text_of_arithmetic(text) {
            Ok(text) => arithmetic::run(&text, &self.state.variables),
            Err(message) => Err(message),
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
                    let why = format!("line {line} decides about its value");
                    self.assign(&name, Err(why));
                }
                End::Unknown
            }
        }
    }

    /// Notes that statements were not run, if they do anything of interest.
    fn leave_out(&mut self, line: usize, bodies: &[&[Statement]], why: &str) {
        let mut seen = Seen::default();
        for body in bodies {
            for statement in *body {
                self.look(statement, &mut seen, 0);
            }
        }
        if seen.calls > 0 {
            self.ran.lost_classes |= seen.classes;
            let calls = seen.calls;
            let s = if calls == 1 { "" } else { "s" };
            self.remark(
                line,
                format!("left out: {calls} tc command{s} {why}{RECORD}"),
            );
        }
        for line in seen.leaving {
            let text = "whether this leaves the loop depends on the machine; the tree is as if it \
                        did not";
            self.remark(line, text);
        }
        for (name, value) in seen.names {
            let old = self.state.variables.get(&name);
            let is_same = match (old, &value) {
                (Some(old), Some(value)) => old == value || (is_tc(old) && is_tc(value)),
                (None, Some(value)) => name.eq_ignore_ascii_case("tc") && is_tc(value),
                _ => false,
            };
            if !is_same {
                self.assign(&name, Err(format!("line {line} decides about its value")));
            }
        }
    }

    /// What a statement would do.
    fn look(&self, statement: &Statement, seen: &mut Seen, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let mut inner: Vec<&[Statement]> = Vec::new();
        let loops_before = seen.leaving.len();
        let mut is_loop = false;
        match statement {
            Statement::Simple(simple) => {
                seen.names.extend(sets(simple));
                let first = simple.words.iter().find(|word| assignment(word).is_none());
                let Some(first) = first else {
                    return;
                };
                if first == "break" || first == "continue" {
                    seen.leaving.push(simple.line);
                }
                let named = self.values().words(first).unwrap_or_default();
                let name = named.first().unwrap_or(first);
                match self.state.functions.get(name) {
                    Some(body) => inner.push(body),
                    None => {
                        let is_call = is_tc(name) || first.contains("TC");
                        let is_other = !is_quiet(name) && mentions_tc(&simple.words);
                        let has = |object: &str| simple.words.iter().any(|word| word == object);
                        let is_of_others = has("qdisc") || has("filter");
                        if is_call || is_other {
                            seen.calls += 1;
                            seen.classes |= !is_of_others;
                        }
                    }
                }
            }
            Statement::Chain { first, rest } => {
                self.look(first, seen, depth + 1);
                for (_, next) in rest {
                    self.look(next, seen, depth + 1);
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
            Statement::For { name, body, .. } => {
                seen.names.push((name.clone(), None));
                is_loop = true;
                inner.push(body);
            }
            Statement::While { body, .. } => {
                is_loop = true;
                inner.push(body);
            }
            Statement::Count { body, parts, .. } => {
                for name in arithmetic::names_set(&parts.join(";")) {
                    seen.names.push((name, None));
                }
                is_loop = true;
                inner.push(body);
            }
            Statement::Arithmetic { text, .. } => {
                for name in arithmetic::names_set(text) {
                    seen.names.push((name, None));
                }
            }
            Statement::Group(body) | Statement::Function { body, .. } => inner.push(body),
            Statement::Subshell(body) | Statement::Pipe(body) => {
                // What it sets ends with it.
                let names = std::mem::take(&mut seen.names);
                for statement in body {
                    self.look(statement, seen, depth + 1);
                }
                seen.names = names;
            }
        }
        for body in inner {
            for statement in body {
                if seen.calls < 10_000 && seen.names.len() < 10_000 {
                    self.look(statement, seen, depth + 1);
                }
            }
        }
        if is_loop {
            seen.leaving.truncate(loops_before);
        }
    }

    fn assign(&mut self, name: &str, value: Result<String, String>) {
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
    fn assign_word(&mut self, found: &Assignment<'_>) {
        let mut value = self.values().text(found.raw);
        if found.adds {
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

    /// Remembers a variable as it is, for the end of the function.
    fn save(&mut self, name: &str) {
        let value = self.state.variables.get(name).cloned();
        let unknown = self.state.unknown.get(name).cloned();
        if let Some(saved) = self.locals.last_mut() {
            saved.push(Saved {
                name: name.to_owned(),
                value,
                unknown,
            });
        }
    }

    fn restore(&mut self, saved: Vec<Saved>) {
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

    /// Variables whose values a command gives that cannot be known.
    fn unknown_from(&mut self, simple: &Simple, names: &[String]) {
        for name in names {
            let why = format!("line {} decides about its value", simple.line);
            self.assign(name, Err(why));
        }
    }

    fn simple(&mut self, simple: &Simple) -> Result<End, ScriptError> {
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
            Err(message) => {
                let is_call = words[1..].iter().any(|word| is_object(word));
                if is_call || mentions_tc(words) {
                    return Err(ScriptError::new(simple.line, message));
                }
                return Ok(End::Unknown);
            }
        };
        // What stood for the first word, without a second look at it.
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
            // Assignments before a function are its own.
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

    /// Commands of the shell itself; none: it is another one.
    fn builtin(
        &mut self,
        simple: &Simple,
        name: &str,
        rest: &[String],
    ) -> Result<Option<End>, ScriptError> {
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
                if let Some(place) = rest.iter().position(|word| word == "--") {
                    let arguments = self.expanded(line, &rest[place + 1..])?;
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
                    return Err(ScriptError::new(line, "eval inside eval without end"));
                }
                let statements = parse(&text, line)?;
                self.depth += 1;
                let end = self.all(&statements)?;
                self.depth -= 1;
                end
            }
            _ => return Ok(None),
        };
        Ok(Some(end))
    }

    /// The number after `break`.
    fn count(&self, rest: &[String]) -> usize {
        let text = rest.first().map(|word| self.values().text(word));
        match text {
            Some(Ok(text)) => text.parse().unwrap_or(1).max(1),
            _ => 1,
        }
    }

    fn shift(&mut self, line: usize, rest: &[String]) -> Result<End, ScriptError> {
        let mut number = 1;
        if let Some(word) = rest.first() {
            let text = self.values().text(word);
            let text = text.map_err(|message| ScriptError::new(line, message))?;
            number = text.parse().map_err(|_| {
                ScriptError::new(line, format!("`shift {text}`: expected a number"))
            })?;
        }
        match &mut self.state.arguments {
            Some(arguments) if number > arguments.len() => return Ok(End::Failed),
            Some(arguments) => {
                arguments.drain(..number);
            }
            None => self.state.shifted = self.state.shifted.saturating_add(number).min(10_000),
        }
        Ok(End::Done)
    }

    /// `: ${NAME:=value}` and `: $((NAME = value))`.
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

    /// Words as the command gets them.
    fn expanded(&self, line: usize, words: &[String]) -> Result<Vec<String>, ScriptError> {
        let mut all = Vec::new();
        for word in words {
            let found = self.values().words(word);
            all.extend(found.map_err(|message| {
                let is_told = message.contains("--set");
                let hint = if is_told {
                    String::new()
                } else {
                    format!("; {RECORD}")
                };
                ScriptError::new(line, message + &hint)
            })?);
        }
        Ok(all)
    }

    /// `echo`, `printf` or `cat`: lines into a file or a pipe. None: a program as any other.
    fn printing(&mut self, simple: &Simple, name: &str, rest: &[String]) -> Option<End> {
        if name == "printf" && rest.first().is_some_and(|word| word == "-v") {
            let names: Vec<String> = rest.get(1).cloned().into_iter().collect();
            self.unknown_from(simple, &names);
            return Some(End::Done);
        }
        let mut lines: Lines = Vec::new();
        if name == "cat" {
            let Some((first, body)) = &simple.here else {
                return None;
            };
            for (number, line) in body.lines().enumerate() {
                lines.push((first + number, self.values().text_of_line(line)));
            }
        } else {
            let line = simple.line;
            let text = match self.expanded(line, rest) {
                Ok(words) => Ok(words.join(" ")),
                Err(error) => Err(error.message),
            };
            match text {
                Ok(text) if name == "printf" && text.contains('%') => {
                    lines.push((line, Err("what `printf` prints is not known".to_owned())));
                }
                Ok(text) => {
                    for part in text.replace("\\n", "\n").lines() {
                        let part = part.trim_start_matches("-e ").trim_start_matches("-n ");
                        lines.push((line, Ok(part.to_owned())));
                    }
                }
                Err(why) => lines.push((line, Err(why))),
            }
        }
        self.print(simple, lines);
        Some(End::Done)
    }

    /// Keeps lines that are written into a file or a pipe.
    fn print(&mut self, simple: &Simple, lines: Lines) {
        let Some((file, adds)) = &simple.into else {
            if self.pipes > 0 && size_of(&self.printed) < MOST_PRINTED {
                self.printed.extend(lines);
            }
            return;
        };
        let Ok(file) = self.values().text(file) else {
            return;
        };
        let kept = self.files.entry(file).or_default();
        if !adds {
            kept.clear();
        }
        if size_of(kept) < MOST_PRINTED {
            kept.extend(lines);
        }
    }

    /// `tc`, by itself or behind `sudo`, `ip netns exec` and the like, or another program.
    fn program(&mut self, simple: &Simple, name: &str, raw: &[String]) -> Result<End, ScriptError> {
        let line = simple.line;
        let is_call = is_tc(name) || is_object(name);
        let words = match self.expanded(line, raw) {
            Ok(words) => words,
            Err(error) if is_call || (mentions_tc(raw) && !is_quiet(name)) => return Err(error),
            Err(_) => raw.to_vec(),
        };
        if is_object(name) {
            self.ran.calls.push(Call { line, words });
            return Ok(End::Done);
        }
        let start = unwrapped(&words);
        if !words.get(start).is_some_and(|word| is_tc(word)) {
            self.other(simple, name, &words);
            return Ok(if PREPARING.contains(&name) {
                End::Done
            } else {
                End::Unknown
            });
        }
        let end = if name == "exec" {
            End::Exited
        } else {
            End::Done
        };
        let mut rest = &words[start + 1..];
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            if ["-b", "-batch"].contains(&option.as_str()) {
                self.batch(simple, rest.get(1))?;
                return Ok(end);
            }
            let takes_a_name = ["-n", "-netns"].contains(&option.as_str());
            rest = &rest[(1 + usize::from(takes_a_name)).min(rest.len())..];
        }
        let words = rest.to_vec();
        self.ran.calls.push(Call { line, words });
        Ok(end)
    }

    /// `tc -batch FILE`: the lines, if the script has them.
    fn batch(&mut self, simple: &Simple, file: Option<&String>) -> Result<(), ScriptError> {
        let mut lines: Lines = Vec::new();
        let of_input = file.is_none_or(|file| file == "-" || file == "/dev/stdin");
        if let Some((first, body)) = &simple.here {
            for (number, line) in body.lines().enumerate() {
                lines.push((first + number, self.values().text_of_line(line)));
            }
        } else if of_input {
            lines = std::mem::take(&mut self.piped);
        } else if let Some(written) = file.and_then(|file| self.files.get(file)) {
            lines.clone_from(written);
        }
        if lines.is_empty() {
            self.ran.lost_classes = true;
            let text = match file {
                Some(file) if !of_input => {
                    format!("left out: tc reads its commands from {file}; import that file, too")
                }
                _ => "left out: tc reads its commands from another program; write what that \
                      prints into a file, and import that file, too"
                    .to_owned(),
            };
            self.remark(simple.line, text);
        }
        for (line, text) in lines {
            let text = text.map_err(|message| {
                ScriptError::new(line, format!("a line of tc -batch: {message}"))
            })?;
            let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            if words.first().is_some_and(|word| is_tc(word)) {
                words.remove(0);
            }
            if words.first().is_some_and(|word| !word.starts_with('#')) {
                self.ran.calls.push(Call { line, words });
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        line: usize,
        words: &[String],
        body: &[Statement],
    ) -> Result<End, ScriptError> {
        if self.depth >= DEEPEST {
            let message = format!("more than {DEEPEST} functions call each other");
            return Err(ScriptError::new(line, message));
        }
        let arguments = match self.expanded(line, words) {
            Ok(arguments) => arguments,
            Err(error) => {
                let mut seen = Seen::default();
                for statement in body {
                    self.look(statement, &mut seen, 0);
                }
                if seen.calls > 0 {
                    return Err(error);
                }
                // A function such as one that logs.
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

    /// Another program. Some say where packets go, and some run tc.
    fn other(&mut self, simple: &Simple, name: &str, words: &[String]) {
        let program = name.rsplit('/').next().unwrap_or_default();
        let text = words.join(" ");
        if ["iptables", "ip6tables", "nft", "ebtables", "ipset"].contains(&program) {
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
            let file = words.get(1).map_or("a file", String::as_str);
            let text = format!("left out: {file} is read here; give its variables with --set");
            self.remark(simple.line, text);
            return;
        }
        let mut lines = words.to_vec();
        if let Some((_, body)) = &simple.here {
            lines.extend(body.lines().map(str::to_owned));
        }
        if !self.piped.is_empty()
            && ["sh", "bash", "ash", "dash", "ssh", "xargs"].contains(&program)
        {
            for (_, line) in &self.piped {
                lines.extend(line.clone());
            }
        }
        if !is_quiet(program) && mentions_tc(&lines) {
            self.ran.lost_classes = true;
            let text = format!("left out: {program} runs tc here, which is not followed; {RECORD}");
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
            [left, "=" | "==", right] => pattern::fits(right, left),
            [left, "!=", right] => !pattern::fits(right, left),
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

/// What a loop makes of the end of a round; none: it goes on.
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

/// Whether a condition is `true`.
fn is_always(condition: &[Statement]) -> bool {
    match condition {
        [Statement::Simple(simple)] => matches!(
            simple.words.join(" ").as_str(),
            "true" | ":" | "[ 1 ]" | "/bin/true"
        ),
        [Statement::Arithmetic { text, .. }] => text.trim() == "1",
        _ => false,
    }
}

/// Whether statements may leave the loop that they are in.
fn has_end(body: &[Statement], depth: usize) -> bool {
    depth < DEEPEST
        && body.iter().any(|statement| match statement {
            Statement::Simple(simple) => simple
                .words
                .iter()
                .any(|word| ["break", "exit", "return"].contains(&word.as_str())),
            Statement::Chain { first, rest } => {
                has_end(std::slice::from_ref(first), depth + 1)
                    || rest
                        .iter()
                        .any(|(_, next)| has_end(std::slice::from_ref(next), depth + 1))
            }
            Statement::If {
                branches,
                otherwise,
                ..
            } => {
                has_end(otherwise, depth + 1)
                    || branches.iter().any(|(_, body)| has_end(body, depth + 1))
            }
            Statement::Case { arms, .. } => arms.iter().any(|(_, body)| has_end(body, depth + 1)),
            Statement::For { body, .. }
            | Statement::While { body, .. }
            | Statement::Count { body, .. }
            | Statement::Group(body) => has_end(body, depth + 1),
            _ => false,
        })
}

/// Letters of lines.
fn size_of(lines: &Lines) -> usize {
    let mut size = 0;
    for (_, line) in lines {
        size += line.as_ref().map_or(100, String::len) + 1;
    }
    size
}

/// A word that stands for itself.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// First words of a line of `tc -batch`.
fn is_object(word: &str) -> bool {
    ["qdisc", "class", "filter"].contains(&word)
}

/// Programs that speak of tc and do not run it.
fn is_quiet(name: &str) -> bool {
    let program = name.rsplit('/').next().unwrap_or_default();
    [
        "echo", "printf", "logger", "log", "which", "type", "grep", "egrep", "fgrep", "sed", "awk",
        "test", "[", "[[", "cat", "ps", "pgrep", "killall", "man",
    ]
    .contains(&program)
}

/// `NAME=raw value`, or `NAME+=raw value`.
struct Assignment<'a> {
    name: &'a str,
    raw: &'a str,
    adds: bool,
}

fn assignment(word: &str) -> Option<Assignment<'_>> {
    let (left, raw) = word.split_once('=')?;
    let name = left.strip_suffix('+').unwrap_or(left);
    let first = name.chars().next()?;
    let is_name = name
        .chars()
        .all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
    (is_name && !first.is_ascii_digit()).then_some(Assignment {
        name,
        raw,
        adds: name.len() < left.len(),
    })
}

/// Variables that a command sets, with the value if it is written as it is.
fn sets(simple: &Simple) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let mut words = simple.words.as_slice();
    while let Some(found) = words.first().and_then(|word| assignment(word)) {
        all.push(of_assignment(&found));
        words = &words[1..];
    }
    let Some((command, rest)) = words.split_first() else {
        return all;
    };
    // Those before a command end with it.
    all.clear();
    let is_name = |word: &String| assignment(&format!("{word}=")).is_some();
    match command.as_str() {
        "export" | "readonly" | "declare" | "typeset" | "local" => {
            for word in rest {
                all.extend(assignment(word).as_ref().map(of_assignment));
            }
        }
        "let" => {
            for name in arithmetic::names_set(&rest.join(" ")) {
                all.push((name, None));
            }
        }
        "read" | "getopts" | "unset" | "mapfile" | "readarray" => {
            for word in rest.iter().filter(|word| is_name(word)) {
                all.push((word.clone(), None));
            }
            let implied: &[&str] = match command.as_str() {
                "getopts" => &["OPTARG", "OPTIND"],
                "read" if all.is_empty() => &["REPLY"],
                _ => &[],
            };
            for name in implied {
                all.push(((*name).to_owned(), None));
            }
        }
        _ => {}
    }
    all
}

fn of_assignment(found: &Assignment<'_>) -> (String, Option<String>) {
    let is_plain = !found.adds && !found.raw.contains(['$', '`', '\\']);
    let text = found.raw.trim_matches(['"', '\'']).to_owned();
    (found.name.to_owned(), is_plain.then_some(text))
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
        Statement::Group(body)
        | Statement::Subshell(body)
        | Statement::Pipe(body)
        | Statement::Function { body, .. } => body.first().map_or(1, line_of),
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

//! What statements would have done that we do not run.

use super::super::arithmetic;
use super::super::parse::{Simple, Statement};
use super::super::programs::{is_quiet, is_tc, mentions_tc};
use super::state::{Assignment, DEEPEST, Machine, RECORD, assignment, decided_at};

/// Words of `tc` with which it changes nothing.
const LISTING: [&str; 4] = ["ls", "list", "lst", "show"];

/// What statements would have done that we do not run.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) calls: usize,
    /// Whether some of the calls do more than list.
    changes: bool,
    /// Whether some of the calls may concern classes.
    classes: bool,
    /// Names that they set, with the value if it needs no expansion.
    names: Vec<(String, Option<String>)>,
    /// The lines that have `break` and `continue`.
    leaving: Vec<usize>,
}

impl Machine {
    /// Remarks that statements were not run, if they do anything of interest.
    pub(super) fn leave_out(&mut self, line: usize, bodies: &[&[Statement]], why: &str) {
        let mut seen = Seen::default();
        for body in bodies {
            for statement in *body {
                self.look(statement, &mut seen, 0);
            }
        }
        if seen.changes {
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
                self.assign(&name, Err(decided_at(line)));
            }
        }
    }

    /// Notes what a statement would do.
    pub(super) fn look(&self, statement: &Statement, seen: &mut Seen, depth: usize) {
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
                            seen.changes |= !LISTING.into_iter().any(has);
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
            Statement::Group(body) => inner.push(body),
            Statement::Function { body, .. } => inner.push(body),
            Statement::Subshell(body) | Statement::Pipe(body) => {
                // What a subshell sets ends with it.
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
}

/// Whether a condition is `true`.
pub(super) fn is_always(condition: &[Statement]) -> bool {
    match condition {
        [Statement::Simple(simple)] => matches!(
            simple.words.join(" ").as_str(),
            "true" | ":" | "[ 1 ]" | "/bin/true"
        ),
        [Statement::Arithmetic { text, .. }] => text.trim() == "1",
        _ => false,
    }
}

/// Whether statements may leave their loop.
pub(super) fn has_end(body: &[Statement], depth: usize) -> bool {
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

/// The variables that a command sets, with the value if it needs no expansion.
pub(super) fn sets(simple: &Simple) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let mut words = simple.words.as_slice();
    while let Some(found) = words.first().and_then(|word| assignment(word)) {
        all.push(of_assignment(&found));
        words = &words[1..];
    }
    let Some((command, rest)) = words.split_first() else {
        return all;
    };
    // Assignments before a command end with it.
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

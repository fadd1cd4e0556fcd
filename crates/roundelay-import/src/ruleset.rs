//! What calls of nft say: chains with their hooks, and rules with the sets and variables that they
//! name. A command and a file of `nft -f` have the same language.

use std::collections::{BTreeMap, BTreeSet};

/// Longer values of variables and sets are not put into rules, which no tree could have then.
const LONGEST_VALUE: usize = 4096;

/// A table, with its family, and something in it.
type Named = [String; 2];

/// Where the kernel runs a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) name: String,
    /// The interface, of a chain that runs for one.
    pub(crate) device: Option<String>,
    /// Lower ones run first.
    pub(crate) priority: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) line: usize,
    pub(crate) table: String,
    pub(crate) chain: String,
    /// It was inserted before the others.
    pub(crate) goes_first: bool,
    /// Sets in braces are one word, with commas.
    pub(crate) words: Vec<String>,
}

/// What all calls together have said.
#[derive(Debug, Default)]
pub(crate) struct Ruleset {
    pub(crate) rules: Vec<Rule>,
    /// Chains that are declared, by table and name, and where they hang if the kernel runs them.
    pub(crate) chains: BTreeMap<Named, Option<Hook>>,
    /// Files that are read with `include`, and the lines that say so.
    pub(crate) included: Vec<(usize, String)>,
    /// What is done to a rule that only its number in the kernel names.
    pub(crate) numbered: Vec<(usize, String)>,
    /// Tables whose chains the kernel does not run, for their flag.
    dormant: BTreeSet<String>,
    sets: BTreeMap<Named, Vec<String>>,
    variables: BTreeMap<String, String>,
}

/// A word, or what ends a statement or begins a block.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Open,
    Close,
    /// A semicolon or the end of a line.
    End,
}

struct Tokens {
    all: Vec<(usize, Token)>,
    at: usize,
}

impl Ruleset {
    /// Sets variables, as `NAME=VALUE`.
    pub(crate) fn define(&mut self, variables: &[&str]) {
        for variable in variables {
            if let Some((name, value)) = variable.split_once('=') {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Reads lines, each with its number.
    pub(crate) fn add(&mut self, lines: &[(usize, String)]) {
        let mut tokens = Tokens::of(lines);
        while tokens.at < tokens.all.len() {
            self.statement(&mut tokens);
        }
    }

    /// The rules, with the values of variables and sets.
    pub(crate) fn resolved(&self) -> Vec<Rule> {
        let mut rules = self.rules.clone();
        rules.retain(|rule| !self.dormant.contains(&rule.table));
        for rule in &mut rules {
            for word in &mut rule.words {
                let Some(name) = word.strip_prefix('@') else {
                    continue;
                };
                if let Some(set) = self.sets.get(&[rule.table.clone(), name.to_owned()]) {
                    let elements = set.join(",");
                    if !elements.is_empty() && elements.len() <= LONGEST_VALUE {
                        *word = elements;
                    }
                }
            }
        }
        rules
    }

    fn statement(&mut self, tokens: &mut Tokens) {
        let line = tokens.line();
        let mut words = self.words(tokens, false);
        if words.first().is_some_and(|word| word == "define") {
            if let [_, name, equals, value] = &words[..]
                && equals == "="
            {
                self.variables.insert(name.clone(), value.clone());
            }
            return;
        }
        if let [verb, file] = &words[..]
            && verb == "include"
        {
            self.included.push((line, file.clone()));
            return;
        }
        let is_block = tokens.enters();
        let verb = match words.first().map(String::as_str) {
            Some("table") if is_block => "add".to_owned(),
            Some(_) => words.remove(0),
            None => {
                if !is_block && !tokens.skip_end() {
                    tokens.at += 1;
                }
                return;
            }
        };
        let object = words.first().cloned().unwrap_or_default();
        let table = table_of(&words[1.min(words.len())..]);
        match (verb.as_str(), object.as_str(), table) {
            // It wakes, unless it says that it sleeps.
            ("add" | "create", "table", Some((table, _))) => {
                self.dormant.remove(&table);
                if is_block {
                    self.table(tokens, &table);
                    return;
                }
            }
            ("add" | "insert", "rule", Some((table, [chain, rest @ ..]))) => {
                self.rules.push(Rule {
                    line,
                    table,
                    chain: chain.clone(),
                    goes_first: verb == "insert",
                    words: rest.to_vec(),
                });
            }
            ("add" | "create", "chain", Some((table, [chain, ..]))) => {
                let hook = match is_block {
                    true => self.chain(tokens, &table, chain),
                    false => None,
                };
                self.declare(table, chain, hook);
                return;
            }
            ("add" | "create", "set", Some((table, [name, ..]))) if is_block => {
                self.set(tokens, &table, name);
                return;
            }
            ("add" | "create", "element", Some((table, [name, elements]))) => {
                self.extend(&table, name, elements);
            }
            ("flush", "ruleset", _) => {
                let family = words.get(1).map(String::as_str);
                self.forget(|table| family.is_none_or(|family| is_of_family(table, family)));
            }
            ("delete" | "destroy", "table", Some((table, _))) => {
                self.forget(|other| other == table);
            }
            // Its chains and sets stay.
            ("flush", "table", Some((table, _))) => self.rules.retain(|rule| rule.table != table),
            ("flush" | "delete" | "destroy", "chain", Some((table, [chain, ..]))) => {
                self.rules
                    .retain(|rule| rule.table != table || rule.chain != *chain);
                if verb != "flush" {
                    self.chains.remove(&[table, chain.clone()]);
                }
            }
            ("rename", "chain", Some((table, [chain, new]))) => self.rename(&table, chain, new),
            ("flush" | "delete" | "destroy", "set", Some((table, [name, ..]))) => {
                self.sets.remove(&[table, name.clone()]);
            }
            ("delete" | "destroy", "element", Some((table, [name, elements]))) => {
                self.remove(table, name, elements);
            }
            ("delete" | "destroy" | "replace", "rule", Some((table, [chain, ..]))) => {
                let mut is_one = verb == "replace";
                for rule in &self.rules {
                    is_one |= rule.table == table && rule.chain == *chain;
                }
                if is_one {
                    let command = format!("{verb} {}", words.join(" "));
                    self.numbered.push((line, command));
                }
            }
            _ => {}
        }
        if is_block {
            tokens.skip_block();
        }
    }

    /// A table behind its brace.
    fn table(&mut self, tokens: &mut Tokens, table: &str) {
        while !tokens.leaves() {
            let words = self.words(tokens, false);
            let is_block = tokens.enters();
            match &words[..] {
                [object, chain, ..] if object == "chain" && is_block => {
                    let hook = self.chain(tokens, table, chain);
                    self.declare(table.to_owned(), chain, hook);
                }
                [object, name, ..] if object == "set" && is_block => self.set(tokens, table, name),
                [key, flags @ ..] if key == "flags" => {
                    let mut flags = flags.iter().map(|flag| flag.trim_matches(','));
                    if flags.any(|flag| flag.split(',').any(|flag| flag == "dormant")) {
                        self.dormant.insert(table.to_owned());
                    }
                }
                _ if is_block => tokens.skip_block(),
                _ => {}
            }
        }
    }

    /// Renames a chain, and where packets enter it.
    fn rename(&mut self, table: &str, chain: &str, new: &str) {
        for rule in &mut self.rules {
            if rule.table != table {
                continue;
            }
            if rule.chain == chain {
                new.clone_into(&mut rule.chain);
            }
            let mut is_verdict = false;
            for word in &mut rule.words {
                if is_verdict && word == chain {
                    new.clone_into(word);
                }
                is_verdict = word == "jump" || word == "goto";
            }
        }
        if let Some(hook) = self.chains.remove(&[table.to_owned(), chain.to_owned()]) {
            self.chains.insert([table.to_owned(), new.to_owned()], hook);
        }
    }

    fn declare(&mut self, table: String, chain: &str, hook: Option<Hook>) {
        let known = self.chains.entry([table, chain.to_owned()]).or_default();
        if hook.is_some() {
            *known = hook;
        }
    }

    /// A chain behind its brace. Returns where it hangs.
    fn chain(&mut self, tokens: &mut Tokens, table: &str, chain: &str) -> Option<Hook> {
        let mut hook = None;
        while !tokens.leaves() {
            let line = tokens.line();
            let words = self.words(tokens, true);
            match words.first().map(String::as_str) {
                None => {
                    tokens.skip_end();
                }
                Some("type") => hook = hook_of(&words),
                Some("policy" | "comment" | "flags") => {}
                Some(_) => self.rules.push(Rule {
                    line,
                    table: table.to_owned(),
                    chain: chain.to_owned(),
                    goes_first: false,
                    words,
                }),
            }
        }
        hook
    }

    /// A set behind its brace.
    fn set(&mut self, tokens: &mut Tokens, table: &str, name: &str) {
        while !tokens.leaves() {
            match &self.words(tokens, true)[..] {
                [key, equals, elements] if key == "elements" && equals == "=" => {
                    self.extend(table, name, elements);
                }
                [] => {
                    tokens.skip_end();
                }
                _ => {}
            }
        }
    }

    fn extend(&mut self, table: &str, name: &str, elements: &str) {
        let set = self.sets.entry([table.to_owned(), name.to_owned()]);
        set.or_default().push(elements.to_owned());
    }

    fn remove(&mut self, table: String, name: &str, elements: &str) {
        let gone = Vec::from_iter(elements.split(',').map(str::trim));
        let Some(set) = self.sets.get_mut(&[table, name.to_owned()]) else {
            return;
        };
        for part in set.iter_mut() {
            let mut left = Vec::from_iter(part.split(',').map(str::trim));
            left.retain(|element| !gone.contains(element));
            *part = left.join(",");
        }
        set.retain(|part| !part.is_empty());
    }

    /// Forgets tables with all that is in them.
    fn forget(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.rules.retain(|rule| !is_gone(&rule.table));
        self.chains.retain(|[table, _], _| !is_gone(table));
        self.sets.retain(|[table, _], _| !is_gone(table));
        self.dormant.retain(|table| !is_gone(table));
    }

    /// The words of a statement up to its end or its block. `is_inner` if braces can only be sets.
    fn words(&self, tokens: &mut Tokens, is_inner: bool) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        while let Some((_, token)) = tokens.all.get(tokens.at) {
            match token {
                Token::Word(word) => words.push(self.value_of(word)),
                Token::Open if is_inner || has_sets(&words) => {
                    tokens.at += 1;
                    let elements = self.elements(tokens);
                    words.push(elements);
                    continue;
                }
                Token::End | Token::Open | Token::Close => break,
            }
            tokens.at += 1;
        }
        words
    }

    /// What is in braces, with commas, behind the first brace. Leaves them.
    fn elements(&self, tokens: &mut Tokens) -> String {
        let mut text = String::new();
        let mut depth = 1;
        while let Some((_, token)) = tokens.all.get(tokens.at) {
            tokens.at += 1;
            match token {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Word(word) => {
                    let is_apart = text.ends_with(',') || word.starts_with(',') || text.is_empty();
                    if !is_apart {
                        text.push(' ');
                    }
                    text += &self.value_of(word);
                }
                Token::End => {}
            }
            if depth == 0 {
                break;
            }
        }
        text.trim_matches(',').to_owned()
    }

    fn value_of(&self, word: &str) -> String {
        let Some(name) = word.strip_prefix('$') else {
            return word.to_owned();
        };
        let (name, comma) = match name.strip_suffix(',') {
            Some(name) => (name, ","),
            None => (name, ""),
        };
        match self.variables.get(name) {
            Some(value) if value.len() <= LONGEST_VALUE => format!("{value}{comma}"),
            _ => word.to_owned(),
        }
    }
}

/// Whether braces behind these words are a set of values, and no block.
fn has_sets(words: &[String]) -> bool {
    match words.first().map(String::as_str) {
        Some("define") => true,
        Some("add" | "insert" | "replace" | "create" | "delete" | "destroy") => {
            matches!(words.get(1), Some(object) if object == "rule" || object == "element")
        }
        _ => false,
    }
}

fn is_of_family(table: &str, family: &str) -> bool {
    table.split(' ').next() == Some(family)
}

/// A table with its family, which is `ip` unless it is written, and the words behind it.
fn table_of(words: &[String]) -> Option<(String, &[String])> {
    const FAMILIES: [&str; 6] = ["ip", "ip6", "inet", "arp", "bridge", "netdev"];
    match words {
        [family, name, rest @ ..] if FAMILIES.contains(&family.as_str()) => {
            Some((format!("{family} {name}"), rest))
        }
        [name, rest @ ..] => Some((format!("ip {name}"), rest)),
        [] => None,
    }
}

/// Reads `type filter hook forward priority mangle - 1`.
fn hook_of(words: &[String]) -> Option<Hook> {
    let mut hook = None;
    let mut device = None;
    let mut priority = 0;
    let mut sign = 1;
    let mut key = "";
    for word in words {
        let number = match (key, word.as_str()) {
            (_, "hook" | "device" | "priority") => {
                key = word;
                continue;
            }
            ("hook", _) => {
                hook = Some(word.clone());
                continue;
            }
            ("device", _) => {
                device = Some(word.clone());
                continue;
            }
            ("priority", "-") => {
                sign = -1;
                continue;
            }
            ("priority", "raw") => -300,
            ("priority", "mangle") => -150,
            ("priority", "dstnat") => -100,
            ("priority", "security") => 50,
            ("priority", "srcnat") => 100,
            ("priority", number) => number.parse().unwrap_or(0_i64),
            _ => continue,
        };
        priority += sign * number.clamp(-1_000_000, 1_000_000);
        sign = 1;
    }
    Some(Hook {
        name: hook?,
        device,
        priority,
    })
}

impl Tokens {
    fn of(lines: &[(usize, String)]) -> Self {
        let mut all = Vec::new();
        let mut word = String::new();
        for (line, text) in lines {
            let (text, goes_on) = match text.trim_end().strip_suffix('\\') {
                Some(text) => (text, true),
                None => (text.as_str(), false),
            };
            let mut is_quoted = false;
            for letter in text.chars() {
                let ends = match letter {
                    '"' => {
                        is_quoted = !is_quoted;
                        continue;
                    }
                    _ if is_quoted => None,
                    '#' => break,
                    '{' => Some(Some(Token::Open)),
                    '}' => Some(Some(Token::Close)),
                    ';' => Some(Some(Token::End)),
                    letter if letter.is_whitespace() => Some(None),
                    _ => None,
                };
                let Some(token) = ends else {
                    word.push(letter);
                    continue;
                };
                if !word.is_empty() {
                    all.push((*line, Token::Word(std::mem::take(&mut word))));
                }
                all.extend(token.map(|token| (*line, token)));
            }
            if !word.is_empty() {
                all.push((*line, Token::Word(std::mem::take(&mut word))));
            }
            if !goes_on {
                all.push((*line, Token::End));
            }
        }
        Self { all, at: 0 }
    }

    /// The line of the next token that is no end.
    fn line(&mut self) -> usize {
        while self.skip_end() {}
        self.all.get(self.at).map_or(0, |(line, _)| *line)
    }

    fn is_next(&self, token: &Token) -> bool {
        matches!(self.all.get(self.at), Some((_, next)) if next == token)
    }

    fn is_close(&self) -> bool {
        self.is_next(&Token::Close)
    }

    fn skip_end(&mut self) -> bool {
        let is_end = self.is_next(&Token::End);
        self.at += usize::from(is_end);
        is_end
    }

    /// Enters a block, if one begins here.
    fn enters(&mut self) -> bool {
        let is_open = self.is_next(&Token::Open);
        self.at += usize::from(is_open);
        is_open
    }

    /// Leaves a block, if it or all ends here.
    fn leaves(&mut self) -> bool {
        while self.skip_end() {}
        let is_close = self.is_close();
        self.at += usize::from(is_close);
        is_close || self.at >= self.all.len()
    }

    /// Goes behind the block that was entered.
    fn skip_block(&mut self) {
        let mut depth = 1;
        while let Some((_, token)) = self.all.get(self.at) {
            self.at += 1;
            match token {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Word(_) | Token::End => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}

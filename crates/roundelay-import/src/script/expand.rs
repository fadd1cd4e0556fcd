//! Expands words as the shell does: removes quotes and puts in variables.

use std::collections::BTreeMap;
use std::fmt;

use roundelay::Fault;

use super::arithmetic;
use super::budget::Budget;

/// The most expansions inside each other, as in `${A:-${B:-c}}`.
const DEEPEST: usize = 16;

/// The most letters in a word.
const LONGEST: usize = 100_000;

/// What a word can stand for.
pub(super) struct Values<'a> {
    pub(super) variables: &'a BTreeMap<String, String>,
    /// Variables whose value cannot be known, and why.
    pub(super) unknown: &'a BTreeMap<String, Fault>,
    /// A function's `$1`, `$2`, .. None outside a function.
    pub(super) function_arguments: Option<&'a [String]>,
    /// How far `shift` has moved the script's arguments.
    pub(super) shifted: usize,
    /// `$?`, if it is the same on every machine.
    pub(super) status: Option<u8>,
    pub(super) budget: &'a Budget,
}

impl Values<'_> {
    /// The words that one word becomes: none, one or several.
    pub(super) fn words(&self, raw: &str) -> Result<Vec<String>, Fault> {
        let mut writer = Writer::default();
        self.expand_to(raw, &mut writer, 0)?;
        writer.end();
        Ok(writer.words)
    }

    /// The text of a word that is not split at blanks, as in an assignment.
    pub(super) fn text(&self, raw: &str) -> Result<String, Fault> {
        let mut writer = Writer {
            keeps_blanks: true,
            ..Writer::default()
        };
        self.expand_to(raw, &mut writer, 0)?;
        writer.end();
        Ok(writer.words.concat())
    }

    fn expand_to(&self, raw: &str, writer: &mut Writer, depth: usize) -> Result<(), Fault> {
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} expansions inside each other").into());
        }
        // Here and wherever letters are collected, one takes four bytes.
        self.budget.spend(4 * raw.len());
        let letters: Vec<char> = raw.chars().collect();
        let mut at = 0;
        let mut in_double = false;
        while let Some(letter) = letters.get(at).copied() {
            at += 1;
            self.budget.check()?;
            if writer.letters > LONGEST {
                return Err(format!("a word longer than {LONGEST} letters").into());
            }
            match letter {
                '\'' if !in_double => {
                    writer.begin();
                    while let Some(inner) = letters.get(at).copied() {
                        at += 1;
                        if inner == '\'' {
                            break;
                        }
                        writer.push(inner);
                    }
                }
                // `"$@"` becomes no word at all if there are no arguments.
                '"' if !in_double && letters[at..].starts_with(&['$', '@', '"']) => {
                    at += 3;
                    writer.insert_each(&self.arguments("$@")?);
                }
                // `"${NAME[@]}"` becomes a word for each element.
                '"' if !in_double && is_whole_array(&letters[at..]).is_some() => {
                    let length = is_whole_array(&letters[at..]).unwrap_or_default();
                    let inner: String = letters[at + 2..at + length].iter().collect();
                    at += length + 2;
                    let text = self.braces(&inner, depth)?;
                    writer.insert(&text, false);
                }
                '"' => {
                    in_double = !in_double;
                    writer.begin();
                }
                '\\' => {
                    let next = letters.get(at).copied().unwrap_or('\\');
                    at += 1;
                    let is_kept = in_double && !"$`\"\\\n".contains(next);
                    if is_kept {
                        writer.push('\\');
                    }
                    if next != '\n' {
                        writer.push(next);
                    }
                }
                '`' => {
                    let start = at;
                    while letters.get(at).is_some_and(|letter| *letter != '`') {
                        at += 1;
                    }
                    let inner: String = letters[start..at].iter().collect();
                    at += 1;
                    let text = self.output(&inner, depth)?;
                    writer.insert(&text, in_double);
                }
                '$' if in_double && letters.get(at) == Some(&'@') => {
                    at += 1;
                    writer.insert_each(&self.arguments("$@")?);
                }
                '$' => {
                    let (text, end) = self.dollar(&letters, at, depth)?;
                    at = end;
                    writer.insert(&text, in_double);
                }
                _ => writer.push(letter),
            }
        }
        Ok(())
    }

    /// The value of what follows `$`, and where that ends.
    fn dollar(
        &self,
        letters: &[char],
        start: usize,
        depth: usize,
    ) -> Result<(String, usize), Fault> {
        match letters.get(start) {
            Some('(') => {
                let end = closing(letters, start, '(', ')');
                let inner: String = letters[start + 1..end].iter().collect();
                let is_number = inner.starts_with('(') && inner.ends_with(')') && inner.len() > 1;
                let text = if is_number {
                    let sum = self.text_inside(&inner[1..inner.len() - 1], depth)?;
                    arithmetic::value(&sum, self.variables)?.to_string()
                } else {
                    self.output(&inner, depth)?
                };
                Ok((text, end + 1))
            }
            // The old spelling of `$((..))`.
            Some('[') => {
                let end = closing(letters, start, '[', ']');
                let inner: String = letters[start + 1..end].iter().collect();
                let sum = self.text_inside(&inner, depth)?;
                let value = arithmetic::value(&sum, self.variables)?;
                Ok((value.to_string(), end + 1))
            }
            Some('{') => {
                let end = closing(letters, start, '{', '}');
                let inner: String = letters[start + 1..end].iter().collect();
                Ok((self.braces(&inner, depth)?, end + 1))
            }
            Some('#') => Ok((self.arguments("$#")?.len().to_string(), start + 1)),
            Some('@' | '*') => Ok((self.arguments("$@")?.join(" "), start + 1)),
            Some('?') => match self.status {
                Some(status) => Ok((status.to_string(), start + 1)),
                None => Err("how the command before `$?` ends depends on the machine".into()),
            },
            Some(letter) if letter.is_ascii_digit() => {
                Ok((self.argument(&letter.to_string())?, start + 1))
            }
            Some(letter) if is_of_name(*letter) => {
                let mut end = start;
                while letters.get(end).is_some_and(|letter| is_of_name(*letter)) {
                    end += 1;
                }
                let name: String = letters[start..end].iter().collect();
                Ok((self.variable(&name)?, end))
            }
            _ => Ok(("$".to_owned(), start)),
        }
    }

    /// A line of a here-document. Quotes are ordinary letters there.
    pub(super) fn text_of_line(&self, line: &str) -> Result<String, Fault> {
        self.text(line.trim())
    }

    /// The content of `((..))`, with its variables put in.
    pub(super) fn text_of_arithmetic(&self, raw: &str) -> Result<String, Fault> {
        self.text_inside(raw, 0)
    }

    /// A text with its variables put in, for arithmetic and defaults.
    fn text_inside(&self, raw: &str, depth: usize) -> Result<String, Fault> {
        let mut writer = Writer {
            keeps_blanks: true,
            ..Writer::default()
        };
        self.expand_to(raw, &mut writer, depth + 1)?;
        writer.end();
        Ok(writer.words.concat())
    }

    fn arguments(&self, name: &str) -> Result<Vec<String>, Fault> {
        if let Some(arguments) = self.function_arguments {
            // They are copied here, and again into words.
            self.budget.spend_words(arguments);
            self.budget.spend_words(arguments);
            self.budget.check()?;
            return Ok(arguments.to_vec());
        }
        let mut found = Vec::new();
        while let Some(text) = self.of_script(found.len() + 1) {
            self.budget.spend_words(std::slice::from_ref(text));
            found.push(text.clone());
        }
        if found.is_empty() {
            let problem = format_args!("{name} stands for the arguments of the script");
            return Err(to_be_set(self.shifted + 1, name, problem));
        }
        Ok(found)
    }

    /// An argument of the script, if the caller gave it.
    fn of_script(&self, number: usize) -> Option<&String> {
        let unshifted = number.saturating_add(self.shifted);
        self.variables.get(&unshifted.to_string())
    }

    /// `$N`: inside a function its argument, else the script's, which `--set` gives.
    fn argument(&self, digits: &str) -> Result<String, Fault> {
        // A number too large is that of an argument that nobody gives.
        let number: usize = digits.parse().unwrap_or(usize::MAX);
        if number == 0 {
            return match self.variables.get("0") {
                Some(name) => Ok(name.clone()),
                None => {
                    let problem = format_args!("$0 is the name of the script");
                    Err(to_be_set(0, "$0", problem))
                }
            };
        }
        if let Some(arguments) = self.function_arguments {
            let text = arguments.get(number - 1).cloned().unwrap_or_default();
            self.budget.spend(2 * text.len());
            return Ok(text);
        }
        if let Some(text) = self.of_script(number) {
            self.budget.spend(2 * text.len());
            return Ok(text.clone());
        }
        let unshifted = number.saturating_add(self.shifted);
        let problem = format_args!("${digits} is an argument of the script");
        Err(to_be_set(unshifted, digits, problem))
    }

    fn is_set(&self, name: &str) -> bool {
        if name.chars().all(|letter| letter.is_ascii_digit()) {
            return self.argument(name).is_ok_and(|text| !text.is_empty());
        }
        self.variables.contains_key(name)
    }

    fn variable(&self, name: &str) -> Result<String, Fault> {
        if name.chars().all(|letter| letter.is_ascii_digit()) && !name.is_empty() {
            return self.argument(name);
        }
        if let Some(text) = self.variables.get(name) {
            // The copy is then split into words.
            self.budget.spend(2 * text.len());
            return Ok(text.clone());
        }
        if let Some(why) = self.unknown.get(name) {
            return Err(to_be_set(name, name, format_args!("${name}: {why}")));
        }
        // An array without an index is its first element.
        let array = format!("{name}[@]");
        if let Some(text) = self.variables.get(&array) {
            let first = text.split_whitespace().next().unwrap_or_default();
            return Ok(first.to_owned());
        }
        if let Some(why) = self.unknown.get(&array) {
            return Err(to_be_set(name, name, format_args!("${name}: {why}")));
        }
        // `$TC` is set elsewhere, and says where tc is.
        if name.eq_ignore_ascii_case("tc") {
            return Ok("tc".to_owned());
        }
        Err(arithmetic::unset(name))
    }

    /// The value of what is between `${` and `}`.
    fn braces(&self, inner: &str, depth: usize) -> Result<String, Fault> {
        let length = inner
            .chars()
            .take_while(|letter| is_of_name(*letter))
            .count();
        // A letter in a name may take several bytes.
        let end = inner
            .char_indices()
            .nth(length)
            .map_or(inner.len(), |(end, _)| end);
        let (name, rest) = inner.split_at(end);
        if inner == "@" || inner == "*" {
            return Ok(self.arguments("$@")?.join(" "));
        }
        if inner == "#" {
            return Ok(self.arguments("$#")?.len().to_string());
        }
        // This is not the shell's: the parser writes `ARRAY` in place of an array.
        if inner == "@array" {
            return Err("it is an array, which is not followed".into());
        }
        if name.is_empty() {
            let Some(name) = inner.strip_prefix('#') else {
                return Err(not_understood(inner));
            };
            return Ok(self.variable(name)?.chars().count().to_string());
        }
        if rest.is_empty() {
            return self.variable(name);
        }
        if rest == "[@]" || rest == "[*]" {
            return match self.variables.get(&format!("{name}[@]")) {
                Some(text) => {
                    self.budget.spend(2 * text.len());
                    Ok(text.clone())
                }
                None => self.variable(name),
            };
        }
        // With a colon, an empty value counts as none. `: ${NAME:=value}` also assigns, see
        // `default_of` of the machine.
        for sign in [":-", "-", ":=", "="] {
            if let Some(default) = rest.strip_prefix(sign) {
                let is_empty =
                    sign.starts_with(':') && self.variable(name).unwrap_or_default().is_empty();
                if self.is_set(name) && !is_empty {
                    return self.variable(name);
                }
                if self.unknown.contains_key(name) {
                    return self.variable(name);
                }
                return self.text_inside(default, depth);
            }
        }
        for sign in [":+", "+"] {
            if let Some(instead) = rest.strip_prefix(sign) {
                let is_empty =
                    sign.starts_with(':') && self.variable(name).unwrap_or_default().is_empty();
                if self.is_set(name) && !is_empty {
                    return self.text_inside(instead, depth);
                }
                if self.unknown.contains_key(name) {
                    return self.variable(name);
                }
                return Ok(String::new());
            }
        }
        if rest.starts_with(":?") || rest.starts_with('?') {
            return self.variable(name);
        }
        let value = self.variable(name)?;
        // Takes a fixed text off an end. Patterns that match several texts are not known here.
        let signs = [("##", true), ("#", true), ("%%", false), ("%", false)];
        for (sign, at_start) in signs {
            if let Some(cut) = rest.strip_prefix(sign) {
                let cut = self.text_inside(cut, depth)?;
                if cut.contains(['*', '?', '[']) {
                    break;
                }
                let left = if at_start {
                    value.strip_prefix(cut.as_str())
                } else {
                    value.strip_suffix(cut.as_str())
                };
                return Ok(left.unwrap_or(&value).to_owned());
            }
        }
        Err(not_understood(inner))
    }

    /// What `$(..)` prints, for those few commands that print the same everywhere.
    fn output(&self, inner: &str, depth: usize) -> Result<String, Fault> {
        let unknown = || {
            let given = inner.trim();
            Fault::new(format!("the output of `{given}` is not known")).with_given(given)
        };
        // Words of other programs are not the shell's to read: awk has a `$5` of its own.
        let first = inner.split_whitespace().next().unwrap_or_default();
        if !["echo", "which", "command", "expr", "printf", "seq"].contains(&first) {
            return Err(unknown());
        }
        let mut words = Vec::new();
        for raw in inner.split_whitespace() {
            let mut writer = Writer::default();
            self.expand_to(raw, &mut writer, depth + 1)?;
            writer.end();
            words.extend(writer.words);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["echo", ref rest @ ..] if !inner.contains(['|', '<', '>', ';']) => Ok(rest.join(" ")),
            ["which", "tc"] | ["command", "-v", "tc"] => Ok("tc".to_owned()),
            ["expr", ref rest @ ..] => {
                let sum = rest.join(" ");
                let value = arithmetic::value(&sum, self.variables)?;
                Ok(value.to_string())
            }
            ["printf", format, number] => {
                let number: u64 = number.parse().map_err(|_| unknown())?;
                match format {
                    "%x" => Ok(format!("{number:x}")),
                    "%d" => Ok(number.to_string()),
                    _ => Err(unknown()),
                }
            }
            ["seq", last] => numbers("1", last).ok_or_else(unknown),
            ["seq", first, last] => numbers(first, last).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }
}

/// A value that only the caller knows.
fn to_be_set(name: impl fmt::Display, key: &str, problem: fmt::Arguments<'_>) -> Fault {
    Fault::wanted(format_args!("--set {name}=VALUE"))
        .behind(format_args!("{problem}; "))
        .with_key(key)
}

fn not_understood(inner: &str) -> Fault {
    let given = format!("${{{inner}}}");
    Fault::new(format!("`{given}` is not understood")).with_given(given)
}

/// `seq FIRST LAST`, with at most a thousand numbers.
fn numbers(first: &str, last: &str) -> Option<String> {
    let first: i64 = first.parse().ok()?;
    let last: i64 = last.parse().ok()?;
    let mut all = Vec::new();
    for number in first..=last {
        if all.len() == 1000 {
            return None;
        }
        all.push(number.to_string());
    }
    Some(all.join(" "))
}

fn is_of_name(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

/// How many letters `${NAME[@]}` has, if that is all up to the next double quote.
fn is_whole_array(letters: &[char]) -> Option<usize> {
    let length = letters
        .iter()
        .position(|letter| *letter == '"')?
        .checked_sub(1)?;
    let inner = letters[..=length].strip_prefix(&['$', '{'])?;
    let name = inner.strip_suffix(&['[', '@', ']', '}'])?;
    let is_name = !name.is_empty() && name.iter().all(|letter| is_of_name(*letter));
    is_name.then_some(length)
}

/// The index of the bracket that closes the one at `start`, or the end.
fn closing(letters: &[char], start: usize, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (index, letter) in letters.iter().enumerate().skip(start) {
        if *letter == open {
            depth += 1;
        }
        if *letter == close {
            depth -= 1;
            if depth == 0 {
                return index;
            }
        }
    }
    letters.len()
}

/// Words while they grow.
#[derive(Default)]
struct Writer {
    words: Vec<String>,
    current: Option<String>,
    keeps_blanks: bool,
    letters: usize,
}

impl Writer {
    /// Begins a word, which counts from now on even if it stays empty.
    fn begin(&mut self) {
        self.current.get_or_insert_default();
    }

    fn push(&mut self, letter: char) {
        self.letters += 1;
        self.current.get_or_insert_default().push(letter);
    }

    /// Inserts a variable's value. Outside quotes it is split at blanks.
    fn insert(&mut self, text: &str, in_quotes: bool) {
        for letter in text.chars() {
            if letter.is_whitespace() && !in_quotes && !self.keeps_blanks {
                self.end();
            } else {
                self.push(letter);
            }
        }
    }

    /// Inserts each text as a word of its own, as `"$@"` does.
    fn insert_each(&mut self, texts: &[String]) {
        for (number, text) in texts.iter().enumerate() {
            if number > 0 && self.keeps_blanks {
                self.push(' ');
            } else if number > 0 {
                self.end();
            }
            self.begin();
            self.insert(text, true);
        }
    }

    fn end(&mut self) {
        self.words.extend(self.current.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let mut variables = BTreeMap::new();
        for (name, text) in [
            ("DEV", "eth0"),
            ("RATE", "20"),
            ("OPTS", "limit 100  ecn"),
            ("NONE", ""),
        ] {
            variables.insert(name.to_owned(), text.to_owned());
        }
        let mut unknown = BTreeMap::new();
        unknown.insert(
            "MTU".to_owned(),
            Fault::new("the output of `cat mtu` is not known"),
        );
        let arguments = ["a b".to_owned()];
        let budget = Budget::default();
        let values = Values {
            variables: &variables,
            unknown: &unknown,
            function_arguments: Some(&arguments),
            shifted: 0,
            status: Some(0),
            budget: &budget,
        };
        for (raw, words) in [
            ("$DEV", vec!["eth0"]),
            ("${DEV}.2", vec!["eth0.2"]),
            ("\"$OPTS\"", vec!["limit 100  ecn"]),
            ("$OPTS", vec!["limit", "100", "ecn"]),
            ("$NONE", vec![]),
            ("\"$NONE\"", vec![""]),
            ("'$DEV'", vec!["$DEV"]),
            ("${RATE}mbit", vec!["20mbit"]),
            ("${CEIL:-${RATE}mbit}", vec!["20mbit"]),
            ("${NONE:-7}", vec!["7"]),
            ("${NONE-7}", vec![]),
            ("${RATE:+set}", vec!["set"]),
            ("$((RATE * 9 / 10))kbit", vec!["18kbit"]),
            ("$(( ($RATE + 1) * 2 ))", vec!["42"]),
            ("`expr $RATE + 2`", vec!["22"]),
            ("$[9*$RATE/10]kbit", vec!["18kbit"]),
            ("$(seq 1 3)", vec!["1", "2", "3"]),
            ("1:$(printf %x 17)", vec!["1:11"]),
            ("$1", vec!["a", "b"]),
            ("$#", vec!["1"]),
            ("\"$@\"", vec!["a b"]),
            ("\"$*\"", vec!["a b"]),
            ("\"<$@>\"", vec!["<a b>"]),
            ("$@", vec!["a", "b"]),
            ("${DEV%0}", vec!["eth"]),
            ("a\\ b", vec!["a b"]),
            ("$TC", vec!["tc"]),
        ] {
            assert_eq!(
                values.words(raw),
                Ok(words.into_iter().map(str::to_owned).collect()),
                "{raw}"
            );
        }
        for (raw, part) in [
            ("$UP", "--set UP=VALUE"),
            ("$MTU", "cat mtu"),
            ("$(cat /proc/uptime)", "not known"),
            ("${DEV%%[0-9]*}", "not understood"),
        ] {
            let error = values.words(raw).unwrap_err();
            assert!(error.message().contains(part), "{raw}: {error}");
        }
    }
    #[test]
    fn an_argument_with_a_huge_number_is_not_the_scripts_name() {
        let variables = BTreeMap::from([("0".to_owned(), "setup.sh".to_owned())]);
        let unknown = BTreeMap::new();
        let budget = Budget::default();
        let mut values = Values {
            variables: &variables,
            unknown: &unknown,
            function_arguments: None,
            shifted: 1,
            status: Some(0),
            budget: &budget,
        };
        assert_eq!(values.text("${0}"), Ok("setup.sh".to_owned()));
        let error = values.text("${99999999999999999999}").unwrap_err();
        let message = error.message();
        assert!(
            message.contains("$99999999999999999999 is an argument of the script"),
            "{message}"
        );
        values.function_arguments = Some(&[]);
        assert_eq!(
            values.text("<${99999999999999999999}>"),
            Ok("<>".to_owned())
        );
    }
}

//! `iptables-restore`: the rules of a file as the commands that add them.

use super::budget::Budget;
use super::call::Marking;
use roundelay::Fault;

/// What the words of a call say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Restore<'a> {
    /// The file with the rules. None: the standard input.
    pub(super) file: Option<&'a str>,
    /// It restores this table alone.
    table: Option<&'a str>,
    /// Tables keep the rules that they have.
    keeps: bool,
    /// It changes nothing: it tests the rules, or prints a text.
    pub(super) is_idle: bool,
}

impl<'a> Restore<'a> {
    /// Reads the words behind the program's name.
    pub(super) fn of(words: &'a [String]) -> Self {
        let mut restore = Self::default();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word, None),
            };
            match name {
                "--noflush" => restore.keeps = true,
                "--test" | "--help" | "--version" => restore.is_idle = true,
                "--table" if value.is_some() => restore.table = value,
                "--table" => restore.table = words.next(),
                "--modprobe" if value.is_none() => drop(words.next()),
                "--wait" | "--wait-interval" if value.is_none() => {
                    words.next_if(|word| is_number(word));
                }
                _ if word.starts_with("--") => {}
                _ if word.len() > 1 && word.starts_with('-') => {
                    restore.take(&word[1..], &mut words);
                }
                "-" => restore.file = None,
                _ => restore.file = Some(word),
            }
        }
        restore
    }

    /// Reads letters behind one `-`.
    fn take(&mut self, letters: &'a str, words: &mut Words<'a, impl Iterator<Item = &'a str>>) {
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            match letter {
                'n' => self.keeps = true,
                't' | 'h' | 'V' => self.is_idle = true,
                'T' | 'M' => {
                    let value = match rest.is_empty() {
                        true => words.next(),
                        false => Some(rest),
                    };
                    if letter == 'T' {
                        self.table = value;
                    }
                    return;
                }
                'w' | 'W' => {
                    if rest.is_empty() {
                        words.next_if(|word| is_number(word));
                    }
                    return;
                }
                _ => {}
            }
        }
    }

    /// The commands of the program `of` that do the same as these lines.
    ///
    /// # Errors
    /// They are more than a script may write.
    pub(super) fn commands(
        &self,
        of: &str,
        lines: &[(usize, String)],
        budget: &Budget,
    ) -> Result<Vec<Marking>, Fault> {
        let mut all = Vec::new();
        // Rules count when their table is committed.
        let mut open = Vec::new();
        let mut table = "";
        for (line, text) in lines {
            let text = text.trim();
            let command = match text.chars().next() {
                Some('*') => {
                    table = &text[1..];
                    open.clear();
                    if self.keeps {
                        continue;
                    }
                    vec!["-F".to_owned()]
                }
                // A chain of one's own is emptied in any case.
                Some(':') => match text[1..].split_whitespace().collect::<Vec<&str>>()[..] {
                    [chain, "-", ..] if self.keeps => vec!["-F".to_owned(), chain.to_owned()],
                    _ => continue,
                },
                Some('-' | '[') => unquoted(without_counters(text)),
                _ if text == "COMMIT" => {
                    all.append(&mut open);
                    continue;
                }
                _ => continue,
            };
            if let Some(wanted) = self.table
                && wanted != table
            {
                continue;
            }
            let mut words = vec![of.to_owned(), "-t".to_owned(), table.to_owned()];
            words.extend(command);
            budget.spend_words(&words);
            budget.check()?;
            open.push(Marking {
                line: *line,
                words,
                rules: Vec::new(),
            });
        }
        Ok(all)
    }
}

type Words<'a, I> = std::iter::Peekable<I>;

fn is_number(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}

/// Numbers of packets and bytes in brackets may come before a rule.
fn without_counters(text: &str) -> &str {
    match text.split_once("] ") {
        Some((counters, rule)) if counters.starts_with('[') => rule,
        _ => text,
    }
}

/// The words of a line, in which quotes hold words together.
fn unquoted(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    let mut is_escaped = false;
    for letter in text.chars() {
        match letter {
            _ if is_escaped => {
                is_escaped = false;
                word.push(letter);
            }
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            letter if letter.is_whitespace() && !is_quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            letter => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_the_program_reads_them() {
        let read = |text: &str| {
            let words = Vec::from_iter(text.split(' ').map(str::to_owned));
            let restore = Restore::of(&words);
            let table = restore.table.map(str::to_owned);
            let file = restore.file.map(str::to_owned);
            (file, table, restore.keeps, restore.is_idle)
        };
        let file = || Some("f".to_owned());
        let table = || Some("mangle".to_owned());
        for (text, expected) in [
            ("f", (file(), None, false, false)),
            ("-w 5 f", (file(), None, false, false)),
            ("-w f", (file(), None, false, false)),
            ("--wait=5 -W 100 f", (file(), None, false, false)),
            ("-n -M /sbin/modprobe f", (file(), None, true, false)),
            ("-nc", (None, None, true, false)),
            ("--noflush -", (None, None, true, false)),
            ("-nT mangle f", (file(), table(), true, false)),
            ("--table=mangle f", (file(), table(), false, false)),
            ("--table mangle f", (file(), table(), false, false)),
            ("-t f", (file(), None, false, true)),
            ("--version", (None, None, false, true)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}

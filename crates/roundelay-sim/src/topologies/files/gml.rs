//! GML (M. Himsolt, "GML: A portable Graph File Format", 1996), as written by the Internet Topology
//! Zoo (S. Knight and others, "The Internet Topology Zoo", IEEE JSAC 29(9), 2011).
//!
//! We read these keys: in nodes `id`, `label`, `Latitude` and `Longitude`, and in edges `source`,
//! `target`, `rate`, `delay` and the zoo's speeds. With `directed 1`, each way of a link is listed
//! separately.

use std::borrow::Cow;

use roundelay::Fault;

use super::graphml::{Attributes, Zoo};
use super::{Graph, Text};

/// How deep lists may be nested.
const DEEPEST: usize = 64;

pub(super) fn read(file: Text<'_>) -> Result<Graph, Fault> {
    let mut reader = Reader {
        file,
        words: Words {
            file,
            rest: file.text,
            line: 1,
        },
        open: Vec::new(),
        zoo: Zoo::default(),
        has_graph: false,
    };
    reader.read()?;
    if !reader.has_graph {
        return Err(file.error(0, "no graph [ ... ] in it"));
    }
    reader.zoo.graph(file)
}

struct Reader<'a> {
    file: Text<'a>,
    words: Words<'a>,
    /// Lists that are open: key, line and attributes so far.
    open: Vec<(&'a str, usize, Attributes)>,
    zoo: Zoo,
    has_graph: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Result<(), Fault> {
        while let Some((line, word)) = self.words.next()? {
            match word {
                Word::Close => self.close(line)?,
                Word::Name(key) => self.value_of(line, key)?,
                Word::Open | Word::Text(_) => {
                    return Err(self
                        .file
                        .error(line, "expected a key, as in: node [ id 1 ]"));
                }
            }
        }
        match self.open.last() {
            Some((key, line, _)) => Err(self.file.error(*line, format!("'{key} [' is not closed"))),
            None => Ok(()),
        }
    }

    fn value_of(&mut self, line: usize, key: &'a str) -> Result<(), Fault> {
        match self.words.next()? {
            Some((line, Word::Open)) if self.open.len() == DEEPEST => Err(self
                .file
                .error(line, format!("more than {DEEPEST} lists within each other"))),
            Some((line, Word::Open)) => {
                self.open.push((key, line, Attributes::default()));
                Ok(())
            }
            Some((line, Word::Name(text) | Word::Text(text))) => self.take(line, key, text),
            Some((_, Word::Close)) | None => {
                Err(self.file.error(line, format!("'{key}' has no value")))
            }
        }
    }

    fn take(&mut self, line: usize, key: &str, text: &str) -> Result<(), Fault> {
        match &mut self.open[..] {
            [(graph, ..)] if *graph == "graph" && key == "directed" => {
                self.zoo.is_directed = text == "1"
            }
            [(graph, ..), (_, _, attributes)] if *graph == "graph" => {
                attributes
                    .take(key, &plain(text))
                    .map_err(|message| self.file.error(line, message))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, line: usize) -> Result<(), Fault> {
        let Some((key, begin, attributes)) = self.open.pop() else {
            return Err(self.file.error(line, "']' closes nothing"));
        };
        let is_top = self.open.is_empty();
        self.has_graph |= is_top && key == "graph";
        if self.open.len() != 1 || self.open[0].0 != "graph" {
            return Ok(());
        }
        match key {
            "node" => self.zoo.nodes.push((begin, attributes)),
            "edge" => self.zoo.edges.push((begin, attributes)),
            _ => {}
        }
        Ok(())
    }
}

/// Decodes the letters in a text. Files are ASCII, so they write other letters as numbers, as in
/// `&#233;`.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain += before;
        let (letter, after) = letter(after).unwrap_or(('&', after));
        plain.push(letter);
        rest = after;
    }
    Cow::Owned(plain + rest)
}

/// Decodes a letter by its number or name. Returns it and the rest of the text.
fn letter(text: &str) -> Option<(char, &str)> {
    const NAMES: [(&str, char); 5] = [
        ("amp", '&'),
        ("quot", '"'),
        ("lt", '<'),
        ("gt", '>'),
        ("apos", '\''),
    ];
    const LONGEST: usize = "#1114111;".len();
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = &text[..end];
    let rest = &text[end + 1..];
    let letter = match name.strip_prefix('#') {
        Some(number) => number
            .parse()
            .ok()
            .and_then(char::from_u32)
            .filter(|letter| !letter.is_control())?,
        None => NAMES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((letter, rest))
}

enum Word<'a> {
    Open,
    Close,
    /// A key or a number.
    Name(&'a str),
    /// A text in quotes.
    Text(&'a str),
}

struct Words<'a> {
    file: Text<'a>,
    rest: &'a str,
    line: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<Option<(usize, Word<'a>)>, Fault> {
        self.skip();
        let line = self.line;
        let Some(first) = self.rest.chars().next() else {
            return Ok(None);
        };
        let word = match first {
            '[' => self.symbol(Word::Open),
            ']' => self.symbol(Word::Close),
            '"' => {
                let Some(end) = self.rest[1..].find('"') else {
                    return Err(self.file.error(line, "a text without its closing quote"));
                };
                let text = &self.rest[1..=end];
                self.line += text.matches('\n').count();
                self.rest = &self.rest[end + 2..];
                Word::Text(text)
            }
            _ => {
                let end = self
                    .rest
                    .find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"'))
                    .unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                Word::Name(word)
            }
        };
        Ok(Some((line, word)))
    }

    fn symbol(&mut self, word: Word<'a>) -> Word<'a> {
        self.rest = &self.rest[1..];
        word
    }

    /// Skips white space and comments, which go from `#` to the end of the line.
    fn skip(&mut self) {
        loop {
            let trimmed = self.rest.trim_start();
            self.line += self.rest[..self.rest.len() - trimmed.len()]
                .matches('\n')
                .count();
            self.rest = trimmed;
            if !trimmed.starts_with('#') {
                return;
            }
            self.rest = trimmed.find('\n').map_or("", |end| &trimmed[end..]);
        }
    }
}

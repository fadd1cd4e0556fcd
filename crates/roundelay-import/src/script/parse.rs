//! The grammar of a shell script: words, lists, `if`, `for`, `case`, functions.
//!
//! Words keep their quotes and `$`, because the [machine](super::machine) expands them when it runs
//! them.

use std::rc::Rc;

use roundelay::Fault;

use crate::faults::at_line;

/// The most statements inside each other.
const DEEPEST: usize = 32;

/// A statement of the script.
#[derive(Debug, Clone)]
pub(super) enum Statement {
    /// A command with its words, quotes and all.
    Simple(Simple),
    /// `first && second || third`: the parts that follow. Each says whether it runs only if what
    /// came before failed.
    Chain {
        first: Box<Statement>,
        rest: Vec<(bool, Statement)>,
    },
    /// `if`: each condition with what follows. The last has no condition if it is `else`.
    If {
        line: usize,
        branches: Vec<(Vec<Statement>, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    /// `for NAME in WORDS`.
    For {
        line: usize,
        name: String,
        words: Vec<String>,
        body: Vec<Statement>,
    },
    /// `while`, or `until` if it goes on as long as the condition fails.
    While {
        line: usize,
        is_until: bool,
        condition: Vec<Statement>,
        body: Vec<Statement>,
    },
    /// bash's `for ((start; condition; step))`.
    Count {
        line: usize,
        parts: [String; 3],
        body: Vec<Statement>,
    },
    /// bash's `((..))`.
    Arithmetic { line: usize, text: String },
    /// `case WORD in`, with the patterns for each part.
    Case {
        line: usize,
        word: String,
        arms: Vec<(Vec<String>, Vec<Statement>)>,
    },
    /// A function.
    Function {
        name: String,
        body: Rc<Vec<Statement>>,
    },
    /// Statements in braces.
    Group(Vec<Statement>),
    /// Statements in parentheses. Variables that they set end with them.
    Subshell(Vec<Statement>),
    /// `first | second`.
    Pipe(Vec<Statement>),
}

/// A command as written.
#[derive(Debug, Clone)]
pub(super) struct Simple {
    pub(super) line: usize,
    pub(super) words: Vec<String>,
    pub(super) here: Option<Here>,
    /// The file after `>`, and whether the operator is `>>`.
    pub(super) into: Option<(String, bool)>,
}

/// The lines after `<<`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Here {
    /// The number of the first one.
    pub(super) first: usize,
    pub(super) body: String,
    /// The word after `<<` has quotes, so nothing in the lines is replaced.
    pub(super) is_quoted: bool,
}

/// Replaces the words of an array that cannot be kept.
pub(super) const ARRAY: &str = "${@array}";

/// A word or an operator.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Word(String),
    Operator(&'static str),
    Here(Here),
    /// A file to write, and whether to append to it.
    Into(String, bool),
    /// The content of `((..))`.
    Arithmetic(String),
}

/// The words and operators of a script, with their lines.
pub(super) fn tokens(text: &str, first_line: usize) -> Result<Vec<(Token, usize)>, Fault> {
    Lexer::new(text, first_line).all()
}

/// Reads a script. `first_line` is the number that its first line gets.
pub(super) fn parse(text: &str, first_line: usize) -> Result<Vec<Statement>, Fault> {
    let tokens = tokens(text, first_line)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        last_line: first_line,
    };
    let statements = parser.list(&[])?;
    match parser.peek() {
        None => Ok(statements),
        Some(token) => {
            let found = shown(token);
            Err(parser.error(unexpected(&found, "a command")))
        }
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Operator("\n") => "end of line".to_owned(),
        Token::Operator(operator) => format!("`{operator}`"),
        Token::Here(..) => "`<<`".to_owned(),
        Token::Into(..) => "`>`".to_owned(),
        Token::Arithmetic(_) => "`((`".to_owned(),
    }
}

fn unexpected(found: &str, legal: &str) -> Fault {
    Fault::wanted(legal)
        .behind(format_args!("unexpected {found}; "))
        .with_given(found)
}

/// Splits the text into words and operators.
struct Lexer {
    letters: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<(Token, usize)>,
    /// Delimiters of here-documents that are still to come, as written.
    awaited: Vec<String>,
    /// How many quotes and brackets we are in.
    depth: usize,
    /// Letters that were looked at for the end of a `((`.
    searched: usize,
}

/// The most brackets in quotes in brackets, because deeper recursion could exhaust the stack.
const DEEPEST_QUOTES: usize = 100;

/// The most letters that are looked at for the ends of `((`: each may search to the end of its line.
const MOST_SEARCHED: usize = 16 << 20;

/// The longest come first.
const OPERATORS: [&str; 9] = ["&&", "||", ";;", ";", "|", "&", "(", ")", "\n"];

impl Lexer {
    fn new(text: &str, line: usize) -> Self {
        Self {
            letters: text.chars().collect(),
            at: 0,
            line,
            tokens: Vec::new(),
            awaited: Vec::new(),
            depth: 0,
            searched: 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        for (ahead, letter) in text.chars().enumerate() {
            if self.peek(ahead) != Some(letter) {
                return false;
            }
        }
        true
    }

    fn all(mut self) -> Result<Vec<(Token, usize)>, Fault> {
        while let Some(letter) = self.peek(0) {
            if letter == ' ' || letter == '\t' || letter == '\r' {
                self.at += 1;
            } else if letter == '\\' && self.peek(1) == Some('\n') {
                self.at += 2;
                self.line += 1;
            } else if letter == '\\' && self.starts_with("\\\r\n") {
                self.at += 3;
                self.line += 1;
            } else if letter == '#' {
                while self.peek(0).is_some_and(|letter| letter != '\n') {
                    self.at += 1;
                }
            } else if let Some(inner) = self.arithmetic()? {
                self.tokens.push((Token::Arithmetic(inner), self.line));
            } else if self.is_redirection() {
                self.redirection()?;
            } else if let Some(operator) = OPERATORS.iter().find(|known| self.starts_with(known)) {
                self.at += operator.len();
                self.tokens.push((Token::Operator(operator), self.line));
                if *operator == "\n" {
                    self.line += 1;
                    self.read_here()?;
                }
            } else {
                let line = self.line;
                let word = self.word()?;
                self.tokens.push((Token::Word(word), line));
            }
        }
        Ok(self.tokens)
    }

    /// Takes the content of `((..))` on this line, if that is what it is.
    fn arithmetic(&mut self) -> Result<Option<String>, Fault> {
        if !self.starts_with("((") {
            return Ok(None);
        }
        let mut depth = 0_usize;
        let mut inner = String::new();
        for letter in &self.letters[self.at..] {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\n' => break,
                _ => {}
            }
            inner.push(*letter);
            if depth == 0 {
                break;
            }
        }
        self.searched += inner.len();
        if self.searched > MOST_SEARCHED {
            return Err(at_line(self.line, "too many `((` without an end"));
        }
        if depth > 0 {
            return Ok(None);
        }
        let text = inner
            .strip_prefix("((")
            .and_then(|text| text.strip_suffix("))"));
        let Some(text) = text else {
            return Ok(None);
        };
        // Two nested subshells may begin like this too.
        if text.split_whitespace().any(|word| word.ends_with("tc")) {
            return Ok(None);
        }
        self.at += inner.chars().count();
        Ok(Some(text.to_owned()))
    }

    /// `>`, `<`, `2>`, `&>`, `>&`.
    fn is_redirection(&self) -> bool {
        match self.peek(0) {
            Some('<' | '>') => true,
            Some('0'..='9') => matches!(self.peek(1), Some('<' | '>')),
            Some('&') => self.peek(1) == Some('>'),
            _ => false,
        }
    }

    /// Skips a redirection with its file. Remembers where a here-document will end.
    fn redirection(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while self.peek(0).is_some_and(|letter| letter.is_ascii_digit()) {
            self.at += 1;
        }
        let is_plain = self.at == start || self.letters[start] == '1';
        if self.peek(0) == Some('&') {
            self.at += 1;
        }
        let is_added = self.starts_with(">>");
        let is_into = is_plain && self.peek(0) == Some('>') && self.peek(1) != Some('&');
        let is_here = self.starts_with("<<") && !self.starts_with("<<<");
        while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
            self.at += 1;
        }
        if is_here && self.peek(0) == Some('-') {
            self.at += 1;
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        // There is no file after `2>&-` or at the end of a line.
        let ends = self.peek(0).is_none_or(|letter| "\n;|&()".contains(letter));
        let target = if ends { String::new() } else { self.word()? };
        if is_here {
            self.awaited.push(target);
        } else if is_into && !target.is_empty() {
            let line = self.line;
            self.tokens.push((Token::Into(target, is_added), line));
        }
        Ok(())
    }

    /// Reads the here-documents that the last line announced.
    fn read_here(&mut self) -> Result<(), Fault> {
        for written in std::mem::take(&mut self.awaited) {
            let mut end = written.clone();
            end.retain(|letter| !"\"'\\".contains(letter));
            let first = self.line;
            let mut body = String::new();
            loop {
                let mut line = String::new();
                let is_last = self.at >= self.letters.len();
                while let Some(letter) = self.peek(0) {
                    self.at += 1;
                    if letter == '\n' {
                        break;
                    }
                    line.push(letter);
                }
                self.line += 1;
                if line.trim() == end {
                    break;
                }
                if is_last {
                    let message = format!("`<<` has no end; expected a line `{end}`");
                    return Err(at_line(first, message));
                }
                body.push_str(&line);
                body.push('\n');
            }
            // The document goes before the end of the line that announced it.
            let index = self.tokens.len().saturating_sub(1);
            let here = Here {
                first,
                body,
                is_quoted: end != written,
            };
            self.tokens.insert(index, (Token::Here(here), first));
        }
        Ok(())
    }

    /// Reads a word with its quotes.
    fn word(&mut self) -> Result<String, Fault> {
        let first = self.line;
        let mut word = String::new();
        while let Some(letter) = self.peek(0) {
            match letter {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    match self.peek(0) {
                        Some('\n') => self.line += 1,
                        Some(next) => word.extend(['\\', next]),
                        None => {}
                    }
                    self.at += 1;
                }
                '\'' | '"' | '`' => self.quoted(letter, &mut word)?,
                '$' if self.peek(1) == Some('(') => self.bracketed('(', ')', &mut word)?,
                '$' if self.peek(1) == Some('{') => self.bracketed('{', '}', &mut word)?,
                '$' if self.peek(1) == Some('[') => self.bracketed('[', ']', &mut word)?,
                _ => {
                    word.push(letter);
                    self.at += 1;
                }
            }
            if word.len() > 65_536 {
                return Err(at_line(first, "a word of more than 64 KB"));
            }
        }
        Ok(word)
    }

    /// Reads up to the matching quote.
    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), Fault> {
        let first = self.line;
        word.push(quote);
        self.at += 1;
        while let Some(letter) = self.peek(0) {
            // Quotes in it are its own.
            if quote == '"' && letter == '$' && self.peek(1) == Some('(') {
                self.bracketed('(', ')', word)?;
                continue;
            }
            self.at += 1;
            if letter == '\n' {
                self.line += 1;
            }
            word.push(letter);
            if letter == quote {
                return Ok(());
            }
            if letter == '\\' && quote != '\'' {
                if let Some(next) = self.peek(0) {
                    word.push(next);
                    self.line += usize::from(next == '\n');
                }
                self.at += 1;
            }
        }
        Err(at_line(first, format!("`{quote}` is not closed")))
    }

    /// Reads `$(..)`, `$((..))`, `${..}` or `$[..]`.
    fn bracketed(&mut self, open: char, close: char, word: &mut String) -> Result<(), Fault> {
        let first = self.line;
        if self.depth == DEEPEST_QUOTES {
            let message = format!("more than {DEEPEST_QUOTES} quotes and brackets in each other");
            return Err(at_line(first, message));
        }
        self.depth += 1;
        word.push('$');
        self.at += 1;
        let mut depth = 0_usize;
        while let Some(letter) = self.peek(0) {
            if letter == '\'' || letter == '"' {
                self.quoted(letter, word)?;
                continue;
            }
            self.at += 1;
            if letter == '\n' {
                self.line += 1;
            }
            word.push(letter);
            if letter == open {
                depth += 1;
            }
            if letter == close {
                depth -= 1;
                if depth == 0 {
                    self.depth -= 1;
                    return Ok(());
                }
            }
        }
        Err(at_line(first, format!("`${open}` is not closed")))
    }
}

/// Puts words together into statements.
struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    last_line: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn line(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.last_line, |(_, line)| *line)
    }

    fn error(&self, fault: impl Into<Fault>) -> Fault {
        at_line(self.line(), fault)
    }

    fn advance(&mut self) {
        self.last_line = self.line();
        self.at += 1;
    }

    fn is_word(&self, text: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if word == text)
    }

    fn is_operator(&self, text: &str) -> bool {
        matches!(self.peek(), Some(Token::Operator(operator)) if *operator == text)
    }

    fn take_operator(&mut self, text: &str) -> bool {
        let found = self.is_operator(text);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the word that must come here.
    fn expect(&mut self, text: &str, of: &str, since: usize) -> Result<(), Fault> {
        if self.is_word(text) {
            self.advance();
            return Ok(());
        }
        let found = self
            .peek()
            .map_or("the end of the script".to_owned(), shown);
        let message = format!("{found} where `{text}` is expected, for the `{of}` of line {since}");
        Err(self.error(Fault::new(message).with_given(found).with_legal(text)))
    }

    fn skip_ends(&mut self) {
        while self.is_operator("\n") || self.is_operator(";") || self.is_operator("&") {
            self.advance();
        }
    }

    /// Reads statements up to one of these words, a `)` or a `;;`.
    fn list(&mut self, ends: &[&str]) -> Result<Vec<Statement>, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(format!("more than {DEEPEST} statements inside each other")));
        }
        let mut statements = Vec::new();
        loop {
            self.skip_ends();
            let is_end = match self.peek() {
                None => true,
                Some(Token::Word(word)) => ends.contains(&word.as_str()),
                Some(Token::Operator(operator)) => [")", ";;"].contains(operator),
                Some(_) => false,
            };
            if is_end {
                break;
            }
            statements.push(self.chain()?);
        }
        self.depth -= 1;
        Ok(statements)
    }

    /// Reads commands joined by `&&`, `||` and `|`.
    fn chain(&mut self) -> Result<Statement, Fault> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            let if_failed = self.is_operator("||");
            if !if_failed && !self.is_operator("&&") {
                break;
            }
            self.advance();
            while self.take_operator("\n") {}
            rest.push((if_failed, self.pipeline()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Statement::Chain {
            first: Box::new(first),
            rest,
        })
    }

    fn pipeline(&mut self) -> Result<Statement, Fault> {
        let first = self.statement()?;
        // `done` or `}` may be followed by a file.
        while matches!(self.peek(), Some(Token::Into(..))) {
            self.advance();
        }
        if !self.is_operator("|") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.take_operator("|") {
            while self.take_operator("\n") {}
            all.push(self.statement()?);
            while matches!(self.peek(), Some(Token::Into(..))) {
                self.advance();
            }
        }
        Ok(Statement::Pipe(all))
    }

    fn statement(&mut self) -> Result<Statement, Fault> {
        let line = self.line();
        let word = match self.peek() {
            Some(Token::Word(word)) => word.clone(),
            Some(Token::Operator("(")) => {
                self.advance();
                let body = self.list(&[])?;
                return self.closed(body);
            }
            Some(Token::Arithmetic(text)) => {
                let text = text.clone();
                self.advance();
                return Ok(Statement::Arithmetic { line, text });
            }
            Some(Token::Here(..)) => {
                self.advance();
                return Ok(Statement::Group(Vec::new()));
            }
            Some(Token::Into(..)) => return self.simple(line),
            Some(token) => {
                let found = shown(token);
                return Err(self.error(unexpected(&found, "a command")));
            }
            None => return Err(self.error("the script ends where a command is expected")),
        };
        match word.as_str() {
            "if" => self.conditional(line),
            "for" => self.repeated(line),
            "while" | "until" => {
                self.advance();
                let condition = self.list(&["do"])?;
                let body = self.body(&word, line)?;
                Ok(Statement::While {
                    line,
                    is_until: word == "until",
                    condition,
                    body,
                })
            }
            "case" => self.case(line),
            "{" => {
                self.advance();
                let body = self.list(&["}"])?;
                self.expect("}", "{", line)?;
                Ok(Statement::Group(body))
            }
            "function" => {
                self.advance();
                let Some(Token::Word(name)) = self.peek().cloned() else {
                    return Err(self.error(Fault::wanted("the name of a function")));
                };
                self.advance();
                if self.take_operator("(") {
                    self.take_operator(")");
                }
                self.function(name)
            }
            _ => {
                let next = self.tokens.get(self.at + 1).map(|(token, _)| token);
                let after = self.tokens.get(self.at + 2).map(|(token, _)| token);
                let are_parentheses =
                    next == Some(&Token::Operator("(")) && after == Some(&Token::Operator(")"));
                let is_function = are_parentheses && !begins_array(&word);
                if is_function {
                    self.at += 3;
                    return self.function(word);
                }
                self.simple(line)
            }
        }
    }

    fn closed(&mut self, body: Vec<Statement>) -> Result<Statement, Fault> {
        if self.take_operator(")") {
            return Ok(Statement::Subshell(body));
        }
        Err(self.error(Fault::wanted("`)`")))
    }

    fn function(&mut self, name: String) -> Result<Statement, Fault> {
        while self.take_operator("\n") {}
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(format!("more than {DEEPEST} statements inside each other")));
        }
        let body = match self.statement()? {
            Statement::Group(body) => body,
            other => vec![other],
        };
        self.depth -= 1;
        let body = Rc::new(body);
        Ok(Statement::Function { name, body })
    }

    fn conditional(&mut self, line: usize) -> Result<Statement, Fault> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            self.advance();
            let condition = self.list(&["then"])?;
            self.expect("then", "if", line)?;
            let body = self.list(&["elif", "else", "fi"])?;
            branches.push((condition, body));
            if self.is_word("elif") {
                continue;
            }
            if self.is_word("else") {
                self.advance();
                otherwise = self.list(&["fi"])?;
            }
            self.expect("fi", "if", line)?;
            return Ok(Statement::If {
                line,
                branches,
                otherwise,
            });
        }
    }

    fn body(&mut self, of: &str, line: usize) -> Result<Vec<Statement>, Fault> {
        self.expect("do", of, line)?;
        let body = self.list(&["done"])?;
        self.expect("done", of, line)?;
        Ok(body)
    }

    fn repeated(&mut self, line: usize) -> Result<Statement, Fault> {
        self.advance();
        if let Some(Token::Arithmetic(text)) = self.peek() {
            let mut parts: [String; 3] = Default::default();
            for (part, text) in parts.iter_mut().zip(text.splitn(3, ';')) {
                text.clone_into(part);
            }
            self.advance();
            self.skip_ends();
            let body = self.body("for", line)?;
            return Ok(Statement::Count { line, parts, body });
        }
        let Some(Token::Word(name)) = self.peek().cloned() else {
            return Err(self.error(Fault::wanted("a variable after `for`")));
        };
        self.advance();
        while self.take_operator("\n") {}
        let mut words = Vec::new();
        if self.is_word("in") {
            self.advance();
            while let Some(Token::Word(word)) = self.peek().cloned() {
                words.push(word);
                self.advance();
            }
        } else {
            words.push("\"$@\"".to_owned());
        }
        self.skip_ends();
        let body = self.body("for", line)?;
        Ok(Statement::For {
            line,
            name,
            words,
            body,
        })
    }

    fn case(&mut self, line: usize) -> Result<Statement, Fault> {
        self.advance();
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(self.error(Fault::wanted("a word after `case`")));
        };
        self.advance();
        while self.take_operator("\n") {}
        self.expect("in", "case", line)?;
        let mut arms = Vec::new();
        loop {
            while self.take_operator("\n") || self.take_operator(";;") {}
            if self.is_word("esac") {
                self.advance();
                return Ok(Statement::Case { line, word, arms });
            }
            self.take_operator("(");
            let mut patterns = Vec::new();
            while let Some(Token::Word(pattern)) = self.peek().cloned() {
                patterns.push(pattern);
                self.advance();
                self.take_operator("|");
            }
            if !self.take_operator(")") {
                let legal = format!("`)` after a pattern, for the `case` of line {line}");
                return Err(self.error(Fault::wanted(legal)));
            }
            let body = self.list(&["esac"])?;
            arms.push((patterns, body));
        }
    }

    fn simple(&mut self, line: usize) -> Result<Statement, Fault> {
        let mut words = Vec::new();
        let mut here = None;
        let mut into = None;
        loop {
            match self.peek().cloned() {
                Some(Token::Word(word)) => words.push(word),
                Some(Token::Here(lines)) => here = Some(lines),
                Some(Token::Into(file, is_added)) => into = Some((file, is_added)),
                Some(Token::Operator("("))
                    if words.last().is_some_and(|word| begins_array(word)) =>
                {
                    let mut elements: Vec<String> = Vec::new();
                    self.advance();
                    while !self.is_operator(")") && self.peek().is_some() {
                        if let Some(Token::Word(element)) = self.peek() {
                            elements.push(element.clone());
                        }
                        self.advance();
                    }
                    if let Some(name) = words.last_mut() {
                        *name = array(name, &elements);
                    }
                }
                Some(Token::Operator("(")) => {
                    return Err(self.error(unexpected("`(`", "a word")));
                }
                _ => break,
            }
            self.advance();
        }
        Ok(Statement::Simple(Simple {
            line,
            words,
            here,
            into,
        }))
    }
}

/// The assignment of an array, `NAME[@]=first second`. Elements are split at blanks again, so those
/// with blanks of their own, or with patterns, make it unknown.
fn array(name: &str, elements: &[String]) -> String {
    let text = elements.join(" ");
    let blanks = text.matches([' ', '\t', '\n']).count();
    let is_plain = !text.contains(['*', '[']) && blanks + 1 == elements.len().max(1);
    let (name, sign) = match name.strip_suffix("+=") {
        Some(name) => (name, "+= "),
        None => (name.trim_end_matches('='), "="),
    };
    let text = if is_plain { &text } else { ARRAY };
    format!("{name}[@]{sign}{text}")
}

/// Whether `NAME=` comes before a parenthesis.
fn begins_array(word: &str) -> bool {
    word.ends_with('=')
}

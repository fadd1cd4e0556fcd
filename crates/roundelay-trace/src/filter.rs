//! Filter: which packets to take, such as `udp and not port 53`.
//!
//! Conditions are those of weight rules, joined as in pcap filters. `and` (`&&`) and `or` (`||`)
//! have equal precedence and are evaluated from left to right. `not` (`!`) binds to the next
//! condition, and parentheses group. A packet without readable IP headers meets no condition.

use std::fmt;
use std::str::FromStr;

use crate::conditions::{Condition, Parser};
use crate::error::{FilterError, RuleError};
use crate::headers::Headers;

/// A legal filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    chain: Chain,
}

/// Terms, evaluated from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chain {
    first: Term,
    rest: Vec<(Join, Term)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Join {
    And,
    Or,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    /// All conditions hold. `udp port 53` has two.
    All(Vec<Condition>),
    Not(Box<Term>),
    Group(Box<Chain>),
}

/// How deep parentheses and negations may nest, because deeper recursion could exhaust the stack.
const DEEPEST: usize = 100;

impl Filter {
    /// Whether a packet passes. `None` stands for a packet without readable headers.
    pub fn matches(&self, headers: Option<&Headers>) -> bool {
        self.chain.matches(headers)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser::of_filter(text);
        let chain = Chain::parse(&mut parser, 0).map_err(FilterError)?;
        parser.end("`and`, `or` or the end").map_err(FilterError)?;
        Ok(Self {
            text: text.to_owned(),
            chain,
        })
    }
}

/// The filter as the user wrote it.
impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Chain {
    fn parse(parser: &mut Parser<'_>, depth: usize) -> Result<Self, RuleError> {
        let mut chain = Self {
            first: Term::parse(parser, depth)?,
            rest: Vec::new(),
        };
        while let Some(join) = Join::parse(parser) {
            chain.rest.push((join, Term::parse(parser, depth)?));
        }
        Ok(chain)
    }

    fn matches(&self, headers: Option<&Headers>) -> bool {
        let mut held = self.first.matches(headers);
        for (join, term) in &self.rest {
            held = match join {
                Join::And => held && term.matches(headers),
                Join::Or => held || term.matches(headers),
            };
        }
        held
    }
}

impl Join {
    fn parse(parser: &mut Parser<'_>) -> Option<Self> {
        if parser.take("and") || parser.take("&&") {
            return Some(Self::And);
        }
        (parser.take("or") || parser.take("||")).then_some(Self::Or)
    }
}

impl Term {
    fn parse(parser: &mut Parser<'_>, depth: usize) -> Result<Self, RuleError> {
        if depth == DEEPEST {
            return Err(parser.fault(&format!(
                "at most {DEEPEST} nested parentheses and negations"
            )));
        }
        if parser.take("not") || parser.take("!") {
            return Self::parse(parser, depth + 1).map(|term| Self::Not(Box::new(term)));
        }
        if parser.take("(") {
            let chain = Chain::parse(parser, depth + 1)?;
            parser.word(")", "`and`, `or` or `)`")?;
            return Ok(Self::Group(Box::new(chain)));
        }
        parser.primitive().map(Self::All)
    }

    fn matches(&self, headers: Option<&Headers>) -> bool {
        match self {
            Self::All(conditions) => match headers {
                Some(headers) => conditions.iter().all(|one| one.matches(headers, false)),
                None => false,
            },
            Self::Not(term) => !term.matches(headers),
            Self::Group(chain) => chain.matches(headers),
        }
    }
}

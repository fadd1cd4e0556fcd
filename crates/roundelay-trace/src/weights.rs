//! Weight rules for flows, such as `dst port 443 = 10`.
//!
//! A rule is one or more conditions joined with `and`, then `=` and a weight from 1 to 65535.
//! Only DRR takes weights above 1024.
//! Conditions have the syntax of pcap-filter's primitives:
//!
//! | condition | matches |
//! |---|---|
//! | `src 10.0.0.0/8`, `dst 2001:db8::1`, `host 10.0.0.1` | packets from, to, or of an address or network; also `src host A`, `src net N` |
//! | `src port 443`, `dst port 443`, `port 443`, `dst portrange 6000-6999` | packets with that port; those without ports match none |
//! | `proto udp`, `proto 17`, `udp` | packets of a protocol; before a port or an address, `and` may be left out: `udp dst port 53` |
//! | `dscp 46`, `dscp ef` | packets of a Differentiated Services code point |
//!
//! The first matching rule decides. Without a match, the default weight applies. A file has the
//! same rules in TOML:
//!
//! ```toml
//! default = 1
//!
//! [[weight]]
//! match = "dst port 443"
//! weight = 10
//! priority = 0
//! slack = "20ms"
//! deadline = "50ms"
//! ```
//!
//! The last three keys are for disciplines that use classes, slack or deadlines. A rule must set at
//! least one of the four values. Flows whose rule sets no weight have the default weight.

use std::str::FromStr;

use roundelay::{Duration, Fault, FlowConfig};
use roundelay_files::{Located, Reader, Text, Whole, quoted, tables};
use serde::Deserialize;

use crate::conditions::{Condition, Parser, parse_conditions};
use crate::error::RuleError;
use crate::headers::Headers;
use crate::urgency::Urgency;

/// A legal weight.
type Weight = Whole<1, { FlowConfig::LARGEST_WEIGHT }>;

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    default: Option<Weight>,
    #[serde(default, deserialize_with = "tables")]
    weight: Vec<FileRule>,
}

/// A rule in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    r#match: Text,
    weight: Option<Weight>,
    priority: Option<Whole<0, { u32::MAX }>>,
    #[serde(default, deserialize_with = "quoted")]
    slack: Option<Duration>,
    #[serde(default, deserialize_with = "quoted")]
    deadline: Option<Duration>,
}

impl FileRule {
    fn rule(self) -> Result<WeightRule, Located> {
        let conditions = parse_conditions(self.r#match.get_ref(), false)
            .map_err(|error| (self.r#match.span(), error.into()))?;
        let Self {
            slack, deadline, ..
        } = self;
        let weight = self.weight.map(|Whole(weight)| weight);
        let priority = self.priority.map(|Whole(priority)| priority);
        if weight.or(priority).is_none() && slack.or(deadline).is_none() {
            let legal = "weight, priority, slack or deadline beside `match`";
            let fault = Fault::new(format!("the rule sets nothing: expected {legal}"));
            return Err((self.r#match.span(), fault.with_legal(legal)));
        }
        Ok(WeightRule {
            conditions,
            weight,
            urgency: Urgency {
                priority,
                slack: slack.unwrap_or(Duration::ZERO),
                deadline,
            },
        })
    }
}

/// Rules in the order in which they are tried, and the default weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightRules {
    rules: Vec<WeightRule>,
    default: u32,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightRule {
    conditions: Vec<Condition>,
    weight: Option<u32>,
    urgency: Urgency,
}

impl WeightRules {
    /// Reads one rule that has conditions and a weight: `dst port 443 = 10`.
    pub fn parse_rule(text: &str) -> Result<WeightRule, RuleError> {
        let mut parser = Parser::new(text);
        let conditions = parser.conditions()?;
        parser.word("=", "`and` or `=`")?;
        let legal = 1..=FlowConfig::LARGEST_WEIGHT;
        let expected = format!("a weight from {} to {}", legal.start(), legal.end());
        let weight = parser.value(&expected, |text| match text.parse() {
            Ok(weight) if legal.contains(&weight) => Some(weight),
            _ => None,
        })?;
        parser.end("the end of the rule")?;
        Ok(WeightRule {
            conditions,
            weight: Some(weight),
            urgency: Urgency::default(),
        })
    }

    /// Reads a TOML file with rules. `name` appears in messages.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Fault> {
        let (reader, file) = Reader::read::<RulesFile>(name, text)?;
        let mut rules = Vec::new();
        for written in file.weight {
            rules.push(written.rule().map_err(|fault| reader.fault(fault))?);
        }
        Ok(Self {
            rules,
            default: file.default.map_or(1, |Whole(weight)| weight),
        })
    }

    /// Adds a rule that is tried after all others.
    pub fn push(&mut self, rule: WeightRule) {
        self.rules.push(rule);
    }

    /// Adds a rule that is tried before all others.
    pub fn push_first(&mut self, rule: WeightRule) {
        self.rules.insert(0, rule);
    }

    /// The rules, in the order in which they are tried.
    pub fn rules(&self) -> &[WeightRule] {
        &self.rules
    }

    /// A flow's weight, 1 to 65535, by the headers of its first packet. `None` stands for a flow
    /// without headers, which has the default weight.
    pub fn weight(&self, headers: Option<&Headers>) -> u32 {
        match self.rule_index(headers) {
            Some(index) => self.rules[index].weight.unwrap_or(self.default),
            None => self.default,
        }
    }

    /// The largest weight that a rule gives, or the default weight.
    pub(crate) fn largest(&self) -> u32 {
        let mut largest = self.default;
        for rule in &self.rules {
            largest = largest.max(rule.weight.unwrap_or(0));
        }
        largest
    }

    /// The weight for flows without a weight rule.
    pub const fn default_weight(&self) -> u32 {
        self.default
    }

    /// A code point's weight before its first packet. Only rules that have no other condition
    /// count.
    pub(crate) fn weight_of_code_point(&self, dscp: u8) -> u32 {
        let wanted = Condition::CodePoint(dscp);
        for rule in &self.rules {
            if rule.conditions.iter().all(|condition| *condition == wanted) {
                return rule.weight.unwrap_or(self.default);
            }
        }
        self.default
    }

    /// Which rule decides, as an index into [`rules`](Self::rules).
    pub fn rule_index(&self, headers: Option<&Headers>) -> Option<usize> {
        let headers = headers?;
        self.rules.iter().position(|rule| rule.matches(headers))
    }
}

/// Without rules, every flow has weight 1.
impl Default for WeightRules {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            default: 1,
        }
    }
}

impl WeightRule {
    /// Reads conditions without a weight, such as `dst port 443`. Trees use these, and only they know
    /// `ack below 64 bytes`.
    ///
    /// # Errors
    /// The text is not a condition.
    pub fn matching(text: &str) -> Result<Self, RuleError> {
        Ok(Self {
            conditions: parse_conditions(text, true)?,
            weight: None,
            urgency: Urgency::default(),
        })
    }

    /// Whether a packet meets all conditions, if it is no short acknowledgement.
    pub fn matches(&self, headers: &Headers) -> bool {
        self.matches_packet(headers, false)
    }

    /// Whether a packet meets all conditions. `is_short` says that it is a short acknowledgement.
    pub(crate) fn matches_packet(&self, headers: &Headers, is_short: bool) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.matches(headers, is_short))
    }

    /// Below how many bytes an acknowledgement is short, if the rule asks for that.
    pub fn short_acknowledgements(&self) -> Option<u32> {
        for condition in &self.conditions {
            if let Condition::Acknowledgement(below) = condition {
                return Some(*below);
            }
        }
        None
    }

    /// The priority, slack and deadline that the rule sets.
    pub fn urgency(&self) -> Urgency {
        self.urgency
    }

    /// The conditions. A packet must meet them all.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The rule's weight, 1 to 65535. None stands for the default weight.
    pub fn weight(&self) -> Option<u32> {
        self.weight
    }
}

impl FromStr for WeightRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        WeightRules::parse_rule(text)
    }
}

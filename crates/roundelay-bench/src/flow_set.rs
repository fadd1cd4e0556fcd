//! Sets of flows by weight, in the papers' notation.

use std::fmt;
use std::str::FromStr;

use roundelay::{Fault, FlowConfig};

/// Flows by weight: `512`, `1:32k,2:4k` (weight:flows, the QFQ paper) or `500-w1,250-w2`
/// (flows-wWEIGHT, the QFQ+ note).
///
/// In flow counts `k` and `m` are 1024 and 1024 squared, while `K` and `M` are 1000 and 1000
/// squared, as in the paper's test environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSet {
    groups: Vec<Group>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    weight: u32,
    flows: u32,
}

/// Error in a text that should describe a set of flows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("flows '{text}': {problem}; expected {}", legal())]
pub struct FlowSetError {
    text: String,
    problem: String,
}

fn legal() -> String {
    format!(
        "a number (512), weight:flows (1:32k,2:4k) or flows-wWEIGHT (500-w1,250-w2), weights \
         from 1 to {} and flows from 1 to {} in all",
        FlowConfig::MAX_WEIGHT,
        FlowSet::MOST_FLOWS
    )
}

impl From<FlowSetError> for Fault {
    fn from(error: FlowSetError) -> Self {
        Self::new(error.to_string())
            .with_given(error.text)
            .with_legal(legal())
    }
}

impl FlowSet {
    /// Most flows of a set, because flow numbers must fit the disciplines' tables.
    pub const MOST_FLOWS: u32 = roundelay::FlowId::LARGEST_TABLED.0 + 1;

    /// The number of flows.
    pub fn flows(&self) -> u32 {
        self.groups.iter().map(|group| group.flows).sum()
    }

    /// The weights, ordered by flow number.
    pub fn weights(&self) -> impl Iterator<Item = u32> {
        self.groups
            .iter()
            .flat_map(|group| std::iter::repeat_n(group.weight, group.flows as usize))
    }
}

impl fmt::Display for FlowSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads a count with an optional suffix.
fn count(text: &str) -> Result<u32, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 1 << 10),
        Some((at, 'm')) => (&text[..at], 1 << 20),
        Some((at, 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number {
        return Err(format!("'{text}' is no whole number"));
    }
    let number = digits
        .parse()
        .ok()
        .and_then(|number: u32| number.checked_mul(factor));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("'{text}' is out of range"))
}

/// Reads `8` (flows with weight 1), or `4:8` and `8-w4` (8 flows with weight 4).
fn group(text: &str) -> Result<Group, String> {
    let (weight, flows) = if let Some((weight, flows)) = text.split_once(':') {
        (count(weight)?, count(flows)?)
    } else if let Some((flows, weight)) = text.split_once("-w") {
        (count(weight)?, count(flows)?)
    } else {
        (1, count(text)?)
    };
    if weight > FlowConfig::MAX_WEIGHT {
        return Err(format!(
            "weight {weight}: legal range 1 to {}",
            FlowConfig::MAX_WEIGHT
        ));
    }
    Ok(Group { weight, flows })
}

impl FromStr for FlowSet {
    type Err = FlowSetError;

    fn from_str(text: &str) -> Result<Self, FlowSetError> {
        let error = |problem| FlowSetError {
            text: text.to_owned(),
            problem,
        };
        let groups: Vec<_> = text
            .split(',')
            .map(|part| group(part.trim()))
            .collect::<Result<_, _>>()
            .map_err(error)?;
        let flows: u64 = groups.iter().map(|group| u64::from(group.flows)).sum();
        if flows > Self::MOST_FLOWS.into() {
            return Err(error(format!(
                "{flows} flows: legal range 1 to {}",
                Self::MOST_FLOWS
            )));
        }
        Ok(Self {
            groups,
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_read_as_the_papers_write_them() {
        let flows = |text: &str| text.parse::<FlowSet>().unwrap().flows();
        assert_eq!(flows("512"), 512);
        assert_eq!(
            flows("1:32k,2:4k,4:2k,8:1k,128:16,1k:1"),
            32_768 + 4096 + 2048 + 1024 + 16 + 1
        );
        assert_eq!(flows("500-w1,250-w2,250-w4"), 1000);
        assert_eq!(flows("1m"), 1 << 20);
        let weights: Vec<_> = "2:1, 1-w3".parse::<FlowSet>().unwrap().weights().collect();
        assert_eq!(weights, [2, 3]);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for text in [
            "",
            "0",
            "1:",
            ":1",
            "2k:1",
            "1:2m",
            "1:0",
            "-w1",
            "x",
            "1,,2",
            "4294967295k",
            "1:-1",
            "1025-w1025",
        ] {
            let error = text.parse::<FlowSet>().unwrap_err().to_string();
            assert!(
                error.contains(text)
                    && error.contains("weights from 1 to 1024 and flows from 1 to 1048576 in all"),
                "{error}"
            );
        }
    }
}

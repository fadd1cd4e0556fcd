//! What is asked of a scheduler: flows, lengths, and how the backlog swells and shrinks.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::flow_set::FlowSet;

/// How the backlog swells and shrinks, N being the number of flows. Each packet goes to the flow with the shortest backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// 5 N packets come, then all leave, over and over.
    Small,
    /// 30 N packets come, then all leave.
    Large,
    /// The backlog goes up to 30 N and down to 3 N.
    Full,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Full];

    /// Fewest and most packets that wait, per flow.
    pub const fn backlog_per_flow(self) -> (u64, u64) {
        match self {
            Self::Small => (0, 5),
            Self::Large => (0, 30),
            Self::Full => (3, 30),
        }
    }

    /// As the user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::Full => "full",
        }
    }
}

/// Where packets lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// They come from a list of free ones, last out first in, which starts in order: warm, as in the papers.
    Packed,
    /// The list starts shuffled, and flows in random order have filled the scheduler once, so that neighbours in time are none in memory,
    /// in the scheduler's storage neither: what a busy router has.
    Scattered,
}

impl Memory {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Packed, Self::Scattered];

    /// As the user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Scattered => "scattered",
        }
    }
}

/// How long packets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// All alike.
    Fixed(u32),
    /// Anything between two lengths.
    Uniform(u32, u32),
    /// The simple Internet mix: 7 of 40 bytes, 4 of 576, 1 of 1500.
    Imix,
    /// A third each of 64, 576 and 1500 bytes.
    Trimodal,
}

impl Lengths {
    const IMIX: [u32; 12] = [40, 40, 40, 40, 40, 40, 40, 576, 576, 576, 576, 1500];
    const TRIMODAL: [u32; 3] = [64, 576, 1500];

    pub(crate) fn draw(self, random: &mut Pcg64Mcg) -> u32 {
        match self {
            Self::Fixed(len) => len,
            Self::Uniform(least, most) => random.random_range(least..=most),
            Self::Imix => Self::IMIX[random.random_range(0..Self::IMIX.len())],
            Self::Trimodal => Self::TRIMODAL[random.random_range(0..Self::TRIMODAL.len())],
        }
    }

    /// The longest one.
    pub const fn longest(self) -> u32 {
        match self {
            Self::Fixed(len) | Self::Uniform(_, len) => len,
            Self::Imix | Self::Trimodal => 1500,
        }
    }
}

/// One load.
#[derive(Debug, Clone)]
pub struct Load {
    /// Who sends.
    pub flows: FlowSet,
    /// How the backlog swells and shrinks.
    pub pattern: Pattern,
    /// How long packets are.
    pub lengths: Lengths,
    /// Where packets lie.
    pub memory: Memory,
    /// Packets that the scheduler is given and asked for at once; 0: it is called for each.
    pub burst: u32,
}

impl Load {
    /// Most packets that wait at once, and the one that is on its way.
    pub fn most_packets(&self) -> u64 {
        u64::from(self.flows.flows()) * self.pattern.backlog_per_flow().1 + 1
    }

    /// In words, without where packets lie.
    pub fn but_memory(&self) -> String {
        let text = format!("{} flows, {}, lengths {}", self.flows, self.pattern.name(), self.lengths);
        if self.burst > 0 { format!("{text}, bursts of {}", self.burst) } else { text }
    }

    /// Packets that leave while the backlog shrinks once.
    pub fn cycle(&self) -> u64 {
        let (least, most) = self.pattern.backlog_per_flow();
        u64::from(self.flows.flows()) * (most - least)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.but_memory(), self.memory.name())
    }
}

/// What is wrong with a load as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} '{text}': expected {expected}")]
pub struct LoadError {
    what: &'static str,
    text: String,
    expected: &'static str,
}

impl FromStr for Pattern {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let error = || LoadError { what: "pattern", text: text.to_owned(), expected: "small, large or full" };
        Self::ALL.into_iter().find(|pattern| pattern.name() == text).ok_or_else(error)
    }
}

impl FromStr for Memory {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let error = || LoadError { what: "memory", text: text.to_owned(), expected: "packed or scattered" };
        Self::ALL.into_iter().find(|memory| memory.name() == text).ok_or_else(error)
    }
}

impl FromStr for Lengths {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let expected = "a number of bytes from 1 to 65536 (1000), two of them (64-1500), imix or trimodal";
        let error = || LoadError { what: "lengths", text: text.to_owned(), expected };
        let bytes = |text: &str| text.parse().ok().filter(|len| (1..=65_536).contains(len)).ok_or_else(error);
        match text {
            "imix" => Ok(Self::Imix),
            "trimodal" => Ok(Self::Trimodal),
            _ => match text.split_once('-') {
                None => bytes(text).map(Self::Fixed),
                Some((least, most)) => {
                    let (least, most) = (bytes(least)?, bytes(most)?);
                    if least <= most { Ok(Self::Uniform(least, most)) } else { Err(error()) }
                }
            },
        }
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(len) => write!(f, "{len}"),
            Self::Uniform(least, most) => write!(f, "{least}-{most}"),
            Self::Imix => f.write_str("imix"),
            Self::Trimodal => f.write_str("trimodal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse(), Ok(pattern));
        }
        for memory in Memory::ALL {
            assert_eq!(memory.name().parse(), Ok(memory));
        }
        for lengths in [Lengths::Fixed(1), Lengths::Uniform(64, 1500), Lengths::Imix, Lengths::Trimodal] {
            assert_eq!(lengths.to_string().parse(), Ok(lengths));
        }
        for text in ["0", "65537", "9-8", "-", "a", "1-2-3", ""] {
            assert!(text.parse::<Lengths>().is_err(), "{text}");
        }
        assert!("medium".parse::<Pattern>().unwrap_err().to_string().contains("small, large or full"));
    }
}

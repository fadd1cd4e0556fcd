//! Load of a benchmark: flows, packet lengths, how the backlog grows, and where packets lie in
//! memory.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use roundelay::Fault;

use crate::flow_set::FlowSet;

/// The way in which the backlog grows, with N flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// 5 N packets arrive, then all leave, repeatedly.
    Small,
    /// 30 N packets arrive, then all leave, repeatedly.
    Large,
    /// The backlog rises to 30 N and falls to 3 N, repeatedly.
    Full,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Full];

    /// The fewest and the most packets that wait per flow.
    pub const fn backlog_per_flow(self) -> (u64, u64) {
        match self {
            Self::Small => (0, 5),
            Self::Large => (0, 30),
            Self::Full => (3, 30),
        }
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::Full => "full",
        }
    }
}

/// The generator, which chooses the next packet's flow and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The QFQ paper's generator takes the flow with the shortest backlog and the newest free
    /// buffer, which it writes on arrival and reads after departure. While it waits for memory, the
    /// scheduler's work is hidden.
    #[default]
    Shortest,
    /// A generator that keeps no packets in memory: flows in turn, and packet numbers from a ring.
    Turns,
}

impl Order {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Shortest, Self::Turns];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shortest => "shortest",
            Self::Turns => "turns",
        }
    }
}

/// The layout of packets in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Buffers come from a free list, last in, first out, which starts in order. Caches are warm,
    /// as in the papers.
    Packed,
    /// The free list is shuffled, and flows in random order have filled the scheduler once. So
    /// consecutive packets lie far apart in memory and in the scheduler's storage, as in a busy
    /// router.
    Scattered,
}

impl Memory {
    /// Both layouts.
    pub const ALL: [Self; 2] = [Self::Packed, Self::Scattered];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Scattered => "scattered",
        }
    }
}

/// Packet lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// One length.
    Fixed(u32),
    /// Uniform between two lengths, both included.
    Uniform(u32, u32),
    /// The simple Internet mix: 7 packets of 40 bytes, 4 of 576, 1 of 1500.
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

    /// The longest length.
    pub const fn longest(self) -> u32 {
        match self {
            Self::Fixed(len) | Self::Uniform(_, len) => len,
            Self::Imix | Self::Trimodal => 1500,
        }
    }
}

/// A load: all that a benchmark sets except the subject.
#[derive(Debug, Clone)]
pub struct Load {
    /// Flows and weights.
    pub flows: FlowSet,
    /// The way in which the backlog grows.
    pub pattern: Pattern,
    /// The generator, which chooses the next packet's flow.
    pub order: Order,
    /// Packet lengths.
    pub lengths: Lengths,
    /// The layout of packets in memory.
    pub memory: Memory,
    /// Packets in one enqueue or dequeue call. 0: one call per packet.
    pub burst: u32,
}

impl Load {
    /// Most packets that may wait, plus one in transit.
    pub fn most_packets(&self) -> u64 {
        u64::from(self.flows.flows()) * self.pattern.backlog_per_flow().1 + 1
    }

    /// The load in words, except the memory layout.
    pub fn but_memory(&self) -> String {
        let mut text = format!(
            "{} flows, {}, lengths {}",
            self.flows,
            self.pattern.name(),
            self.lengths
        );
        if self.order == Order::Turns {
            text += ", in turn";
        }
        if self.burst > 0 {
            format!("{text}, bursts of {}", self.burst)
        } else {
            text
        }
    }

    /// Packets sent while the backlog falls once from its maximum to its minimum.
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

/// Error in a text that should describe a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} '{text}': expected {expected}")]
pub struct LoadError {
    what: &'static str,
    text: String,
    expected: &'static str,
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        Self::quoted(error.text, error.expected).behind(format_args!("{} ", error.what))
    }
}

impl FromStr for Pattern {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let error = || LoadError {
            what: "pattern",
            text: text.to_owned(),
            expected: "small, large or full",
        };
        Self::ALL
            .into_iter()
            .find(|pattern| pattern.name() == text)
            .ok_or_else(error)
    }
}

impl FromStr for Order {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let error = || LoadError {
            what: "order",
            text: text.to_owned(),
            expected: "shortest or turns",
        };
        Self::ALL
            .into_iter()
            .find(|order| order.name() == text)
            .ok_or_else(error)
    }
}

impl FromStr for Memory {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let error = || LoadError {
            what: "memory",
            text: text.to_owned(),
            expected: "packed or scattered",
        };
        Self::ALL
            .into_iter()
            .find(|memory| memory.name() == text)
            .ok_or_else(error)
    }
}

impl FromStr for Lengths {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let expected =
            "a number of bytes from 1 to 65536 (1000), two of them (64-1500), imix or trimodal";
        let error = || LoadError {
            what: "lengths",
            text: text.to_owned(),
            expected,
        };
        let bytes = |text: &str| {
            text.parse()
                .ok()
                .filter(|len| (1..=65_536).contains(len))
                .ok_or_else(error)
        };
        match text {
            "imix" => Ok(Self::Imix),
            "trimodal" => Ok(Self::Trimodal),
            _ => match text.split_once('-') {
                None => bytes(text).map(Self::Fixed),
                Some((least, most)) => {
                    let least = bytes(least)?;
                    let most = bytes(most)?;
                    if least <= most {
                        Ok(Self::Uniform(least, most))
                    } else {
                        Err(error())
                    }
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
        for order in Order::ALL {
            assert_eq!(order.name().parse(), Ok(order));
        }
        for lengths in [
            Lengths::Fixed(1),
            Lengths::Uniform(64, 1500),
            Lengths::Imix,
            Lengths::Trimodal,
        ] {
            assert_eq!(lengths.to_string().parse(), Ok(lengths));
        }
        for text in ["0", "65537", "9-8", "-", "a", "1-2-3", ""] {
            assert!(text.parse::<Lengths>().is_err(), "{text}");
        }
        assert!(
            "medium"
                .parse::<Pattern>()
                .unwrap_err()
                .to_string()
                .contains("small, large or full")
        );
    }
}

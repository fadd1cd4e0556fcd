//! Parses a load: flows and arrivals on one link, as a short text.
//!
//! ```text
//! link 8mbit
//! flow A weight 4 longest 1500
//! flow B weight 1
//! A 1500 x 3
//! B 600 at 1.5ms
//! ```
//!
//! A semicolon also ends a line, and `#` begins a comment. Times count from the start, and a packet
//! without a time arrives at 0. With `join late`, each flow joins when its first packet arrives, as
//! in `compare`. Without this line all flows join at the start.

use std::fmt;
use std::str::FromStr;

use roundelay::{Duration, FlowConfig, FlowId, Instant, Rate};
use serde::Serialize;

/// A load's maximum number of flows.
const MOST_FLOWS: usize = 16;
/// A load's maximum number of packets.
const MOST_PACKETS: usize = 300;
/// The latest time at which a packet may arrive.
const LATEST: Duration = Duration::from_secs(9);

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Its name: a word.
    pub name: String,
    /// Its weight, 1 to 1024.
    pub weight: u32,
    /// Its longest packet in bytes, 512 to 65536. If the text does not give it, this is the longest
    /// packet that arrives, but at least 512.
    pub longest: u32,
}

impl Flow {
    pub(crate) const fn config(&self) -> FlowConfig {
        FlowConfig {
            weight: self.weight,
            max_packet_len: self.longest,
        }
    }
}

/// A packet's arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The time.
    pub at: Instant,
    /// The flow. Its number is its index.
    pub flow: FlowId,
    /// Length in bytes.
    pub len: u32,
}

/// Flows and arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The link's rate.
    pub rate: Rate,
    /// Whether flows join with their first packets rather than at the start.
    pub joins_late: bool,
    /// The flows, in the order of the text.
    pub flows: Vec<Flow>,
    /// Arrivals by time. If two have the same time, they keep the text's order.
    pub arrivals: Vec<Arrival>,
}

/// The link's rate if the text has none.
const DEFAULT_RATE: Rate = Rate::from_bits_per_second(8_000_000).expect("not zero");

/// An error in the text of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The line's number, from 1. A semicolon ends a line too.
    pub line: usize,
    /// The mistake, and what is legal.
    pub message: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for LoadError {}

impl FromStr for Load {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let mut load = Self {
            rate: DEFAULT_RATE,
            joins_late: false,
            flows: Vec::new(),
            arrivals: Vec::new(),
        };
        let mut last = 0;
        for (index, line) in text.split(['\n', ';']).enumerate() {
            let words: Vec<_> = line
                .split('#')
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .collect();
            last = index + 1;
            load.read(&words).map_err(|message| LoadError {
                line: last,
                message,
            })?;
        }
        if load.arrivals.is_empty() {
            return Err(LoadError {
                line: last,
                message: "no packets; a packet of flow A is written 'A 1500 at 2ms'".to_owned(),
            });
        }
        load.finish().map_err(|message| LoadError {
            line: last,
            message,
        })?;
        Ok(load)
    }
}

impl Load {
    fn read(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [] => {}
            ["link", rate] => {
                self.rate = rate
                    .parse()
                    .map_err(|error: roundelay::UnitError| error.to_string())?
            }
            ["join", "late"] => self.joins_late = true,
            ["flow", name, rest @ ..] => {
                let flow = flow(name, rest)?;
                if self.flows.len() == MOST_FLOWS {
                    return Err(format!("more than {MOST_FLOWS} flows"));
                }
                if self.find(name).is_some() {
                    return Err(format!("flow {name} twice"));
                }
                self.flows.push(flow);
            }
            [name, len, rest @ ..] => self.packets(name, len, rest)?,
            [word] => {
                return Err(format!(
                    "'{word}' alone; expected 'link RATE', 'flow NAME', 'join late' or 'NAME BYTES'"
                ));
            }
        }
        Ok(())
    }

    /// The flows' weights.
    pub(crate) fn weights(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.weight.into()).collect()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.flows.iter().position(|flow| flow.name == name)
    }

    fn packets(&mut self, name: &str, len: &str, mut rest: &[&str]) -> Result<(), String> {
        let flow = self.find(name).ok_or_else(|| {
            format!("no flow '{name}' above; flows are declared first: 'flow {name} weight 1'")
        })?;
        let len = number(len, 1, FlowConfig::MAX_PACKET_LEN, "bytes")?;
        let mut copies = 1;
        let mut at = Instant::ZERO;
        while let [key, value, others @ ..] = rest {
            match *key {
                "x" => copies = number(value, 1, MOST_PACKETS as u32, "packets")?,
                "at" => at = time(value)?,
                other => return Err(unknown(other)),
            }
            rest = others;
        }
        if let [word] = rest {
            return Err(unknown(word));
        }
        if self.arrivals.len() + copies as usize > MOST_PACKETS {
            return Err(format!("more than {MOST_PACKETS} packets"));
        }
        let arrival = Arrival {
            at,
            flow: FlowId(flow as u32),
            len,
        };
        self.arrivals
            .extend(std::iter::repeat_n(arrival, copies as usize));
        Ok(())
    }

    /// Sorts the arrivals. Sets a flow's longest packet if the text does not.
    fn finish(&mut self) -> Result<(), String> {
        self.arrivals.sort_by_key(|arrival| arrival.at);
        for (number, flow) in self.flows.iter_mut().enumerate() {
            let mut longest = 0;
            for arrival in &self.arrivals {
                if arrival.flow.index() == number {
                    longest = longest.max(arrival.len);
                }
            }
            if flow.longest == 0 {
                flow.longest = longest.max(FlowConfig::MIN_MAX_PACKET_LEN);
            }
            if longest > flow.longest {
                return Err(format!(
                    "flow {}: a packet of {longest} bytes; its longest is set to {}",
                    flow.name, flow.longest
                ));
            }
        }
        Ok(())
    }
}

fn flow(name: &str, mut words: &[&str]) -> Result<Flow, String> {
    let mut flow = Flow {
        name: name.to_owned(),
        weight: 1,
        // Not given so far. If it stays so, `finish` takes the longest packet that arrives.
        longest: 0,
    };
    if name.len() > 8 || matches!(name, "link" | "join" | "flow") {
        return Err(format!(
            "'{name}' as a flow's name; expected a word of up to 8 bytes other than link, join and \
             flow"
        ));
    }
    while let [key, value, rest @ ..] = words {
        match *key {
            "weight" => flow.weight = number(value, 1, FlowConfig::MAX_WEIGHT, "as the weight")?,
            "longest" => {
                flow.longest = number(
                    value,
                    FlowConfig::MIN_MAX_PACKET_LEN,
                    FlowConfig::MAX_PACKET_LEN,
                    "bytes",
                )?
            }
            other => return Err(format!("'{other}'; expected weight or longest")),
        }
        words = rest;
    }
    match words {
        [word] => Err(format!(
            "'{word}' without a value; expected 'weight 4' or 'longest 1500'"
        )),
        _ => Ok(flow),
    }
}

fn unknown(word: &str) -> String {
    format!("'{word}'; expected 'at TIME' or 'x PACKETS'")
}

fn number(text: &str, least: u32, most: u32, unit: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("'{text}' {unit}; expected {least} to {most}")),
    }
}

fn time(text: &str) -> Result<Instant, String> {
    let time: Duration = text
        .parse()
        .map_err(|error: roundelay::UnitError| error.to_string())?;
    if time > LATEST {
        return Err(format!(
            "'{text}'; expected at most {} s",
            LATEST.as_secs_f64()
        ));
    }
    Ok(Instant::ZERO + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_flows_and_sorted_arrivals() {
        let load: Load =
            "link 20mbit; flow A weight 4; flow B longest 2000 # light\nB 600 at 1.5ms\nA 1500 x 2"
                .parse()
                .unwrap();
        assert_eq!(load.rate.bits_per_second(), 20_000_000);
        assert_eq!(
            load.flows
                .iter()
                .map(|flow| (flow.weight, flow.longest))
                .collect::<Vec<_>>(),
            [(4, 1500), (1, 2000)]
        );
        let arrivals: Vec<_> = load
            .arrivals
            .iter()
            .map(|arrival| {
                (
                    arrival.at.as_picos() / 1_000_000,
                    arrival.flow.0,
                    arrival.len,
                )
            })
            .collect();
        assert_eq!(arrivals, [(0, 0, 1500), (0, 0, 1500), (1500, 1, 600)]);
    }

    #[test]
    fn errors_have_the_line_and_the_legal_form() {
        for (text, expected) in [
            (
                "flow A; B 100",
                "line 2: no flow 'B' above; flows are declared first: 'flow B weight 1'",
            ),
            (
                "flow A weight 0",
                "line 1: '0' as the weight; expected 1 to 1024",
            ),
            ("flow A\nflow A", "line 2: flow A twice"),
            (
                "flow A; A 70000",
                "line 2: '70000' bytes; expected 1 to 65536",
            ),
            (
                "flow A; A 100 x 301",
                "line 2: '301' packets; expected 1 to 300",
            ),
            (
                "flow A; A 100 x 300; A 100",
                "line 3: more than 300 packets",
            ),
            (
                "flow A; A 100 to",
                "line 2: 'to'; expected 'at TIME' or 'x PACKETS'",
            ),
            (
                "flow A; A 100 at 10s",
                "line 2: '10s'; expected at most 9 s",
            ),
            (
                "flow A longest 600; A 700",
                "line 2: flow A: a packet of 700 bytes; its longest is set to 600",
            ),
            (
                "flow A",
                "line 1: no packets; a packet of flow A is written 'A 1500 at 2ms'",
            ),
            (
                "flow",
                "line 1: 'flow' alone; expected 'link RATE', 'flow NAME', 'join late' or 'NAME BYTES'",
            ),
            (
                "flow A weight",
                "line 1: 'weight' without a value; expected 'weight 4' or 'longest 1500'",
            ),
        ] {
            assert_eq!(
                text.parse::<Load>().unwrap_err().to_string(),
                expected,
                "{text}"
            );
        }
        assert!(
            "link 8furlong"
                .parse::<Load>()
                .unwrap_err()
                .to_string()
                .contains("20mbit")
        );
    }
}

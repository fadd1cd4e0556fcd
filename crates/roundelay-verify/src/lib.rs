//! Verifies a [log]: checks a simulation's events against the rules of a network, independently of
//! the simulation's code.
//!
//! The log is read line by line, so memory holds only the packets on their way and the open flows.

#![deny(clippy::indexing_slicing)]

mod check;
mod link;
pub mod log;
mod network;
mod shaper;
mod trace;

use std::io::{self, BufRead, Read as _};

use serde::Serialize;

use log::{FORMAT, Header, Line};
use network::NetworkState;

/// Totals of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verified {
    /// Events.
    pub events: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped by queues, or by Edge-CoDel at the end of their route.
    pub dropped: u64,
    /// Packets lost on a wire.
    pub lost: u64,
    /// Packets on their way at the end.
    pub on_their_way: u64,
}

/// Number of checks of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checks {
    /// Ends of packets: one for each packet, and at its destination if delivered.
    pub fates: u64,
    /// Arrivals at a queue: at the node where the link begins.
    pub hops: u64,
    /// Transmissions: one at a time, each as long as the link's rate or trace requires.
    pub transmissions: u64,
    /// Instants with waiting packets, where a link must have been busy; a preemptive link must have
    /// sent everything in time.
    pub rests: u64,
    /// Packets leaving a wire: within the delay and jitter of the wire, and in order.
    pub wires: u64,
    /// Departures from queues with order among all packets.
    pub fifo: u64,
    /// Departures from queues with order among the packets of a flow.
    pub in_flow: u64,
    /// Flows with logged counts equal to the counts of their packets.
    pub flows: u64,
}

/// A line of a log whose event is impossible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    /// Line number, from 1.
    pub line: u64,
    /// The fault.
    pub what: String,
    /// The link concerned, if any.
    pub link: Option<u32>,
    /// Number of later lines with faults about the same link, which may all follow from this one.
    pub wake: u64,
}

/// A log's contents, and the faults found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The network.
    pub header: Header,
    /// Time of the last line, in picoseconds.
    pub time: u64,
    /// The totals.
    pub totals: Verified,
    /// The checks made.
    pub checks: Checks,
    /// The first faults: one for each link, plus any that are about no link.
    pub faults: Vec<Fault>,
    /// Whether reading stopped at the last of these faults, so that there may be more.
    pub is_cut: bool,
}

/// Why a log is invalid.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The log could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is not in the format of a log.
    #[error("line {line}: {error}")]
    Format {
        /// Line number, from 1.
        line: u64,
        /// The fault.
        error: String,
    },
    /// A line tells an impossible event.
    #[error("line {line}: {what}")]
    Impossible {
        /// Line number, from 1.
        line: u64,
        /// The fault.
        what: String,
    },
}

/// Longest first line, in bytes, which is enough for a network with a million links.
const LONGEST_HEADER: u64 = 1 << 28;
/// Longest other line, in bytes.
const LONGEST_LINE: u64 = 1 << 12;

/// Reads a log and checks that a network can have produced it:
///
/// - Every packet is delivered, dropped or lost once, and travels from node to node along links.
/// - No link sends two packets at once, sends faster than its rate or its trace, or is idle while
///   packets wait.
/// - No packet is faster than the wire.
/// - Queues and wires keep the order promised, and queues promise what the registry says of their
///   disciplines.
/// - Queues hold no more than their limits, and are full when they report so.
/// - Flows count as many packets as the log does.
///
/// # Errors
/// The log is invalid or unreadable. The error names the first such line.
pub fn verify(log: impl BufRead) -> Result<Verified, VerifyError> {
    let inspection = inspect(log, 1)?;
    match inspection.faults.into_iter().next() {
        Some(Fault { line, what, .. }) => Err(VerifyError::Impossible { line, what }),
        None => Ok(inspection.totals),
    }
}

/// Like [`verify`], but goes on after a fault, without the packet concerned, until there are
/// `most_faults` faults. One fault may cause others, so of several faults about one link only the
/// first is returned, and the others are counted. A log that is cut off inside a line counts as a
/// log without an end.
///
/// # Errors
/// The log cannot be read, or a line is not in the format of a log.
pub fn inspect(log: impl BufRead, most_faults: usize) -> Result<Inspection, VerifyError> {
    let mut lines = Lines {
        log,
        text: Vec::new(),
        number: 0,
    };
    let header = header(&mut lines)?;
    let mut network =
        NetworkState::new(&header).map_err(|error| VerifyError::Format { line: 1, error })?;
    let mut faults: Vec<Fault> = Vec::new();
    while faults.len() < most_faults
        && let Some(line) = lines.next::<Line>(LONGEST_LINE)?
    {
        let overdue = std::iter::from_fn(|| network.overdue(line.time));
        faults.extend(overdue.map(|what| Fault {
            line: lines.number,
            what,
            link: None,
            wake: 0,
        }));
        if let Err(what) = network.check(&line) {
            let link = network.link_of(&line);
            network.strike_out(&line);
            match faults
                .iter_mut()
                .find(|fault| link.is_some() && fault.link == link)
            {
                Some(first) => first.wake += 1,
                None => faults.push(Fault {
                    line: lines.number,
                    what,
                    link,
                    wake: 0,
                }),
            }
        }
    }
    let is_cut = faults.len() >= most_faults;
    if !is_cut && !network.has_ended() {
        let location = if lines.is_whole() {
            ""
        } else {
            " in the middle of this line"
        };
        let what =
            format!("the log stops{location} without an end: its last line must be an `end`");
        faults.push(Fault {
            line: lines.number,
            what,
            link: None,
            wake: 0,
        });
    }
    let (time, totals, checks) = network.close();
    Ok(Inspection {
        header,
        time,
        totals,
        checks,
        faults,
        is_cut,
    })
}

/// Reads the first line, once the format version has been checked.
fn header(lines: &mut Lines<impl BufRead>) -> Result<Header, VerifyError> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: u32,
    }
    let wrong = |error: String| VerifyError::Format { line: 1, error };
    lines.read(LONGEST_HEADER)?;
    if lines.text.is_empty() {
        return Err(wrong("the log is empty".to_owned()));
    }
    let Version { format } = serde_json::from_slice(&lines.text).map_err(|error| {
        // A log's lines begin with a brace, and a capture's first line may be empty.
        let cut = if error.is_eof() && lines.text.starts_with(b"{") {
            "it is cut off"
        } else {
            "the first line is not a log's"
        };
        wrong(format!(
            "not a simulation log: {cut} ({}); expected a file written by `roundelay simulate \
             --log`",
            in_line(&error)
        ))
    })?;
    if format != FORMAT {
        let advice = "write the log anew with `roundelay simulate --log`, or read it with the \
                      version that wrote it";
        return Err(wrong(format!(
            "format {format}, and this version reads {FORMAT}: {advice}"
        )));
    }
    serde_json::from_slice(&lines.text).map_err(|error| wrong(in_line(&error)))
}

/// Reads the lines of a log one by one.
struct Lines<R> {
    log: R,
    text: Vec<u8>,
    /// Reads a log's lines one by one.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads a raw line, which is empty at the end of the log.
    fn read(&mut self, longest: u64) -> Result<(), VerifyError> {
        self.text.clear();
        let len = (&mut self.log)
            .take(longest)
            .read_until(b'\n', &mut self.text)?;
        self.number += u64::from(len > 0);
        if len as u64 == longest && !self.is_whole() {
            return Err(VerifyError::Format {
                line: self.number,
                error: format!("longer than {longest} bytes: no line of a log"),
            });
        }
        Ok(())
    }

    /// Parses the next line. None at the end of the log, or if the line is cut off.
    fn next<'a, T: serde::Deserialize<'a>>(
        &'a mut self,
        longest: u64,
    ) -> Result<Option<T>, VerifyError> {
        self.read(longest)?;
        if self.text.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(&self.text) {
            Err(error) if error.is_eof() && !self.is_whole() => Ok(None),
            read => read.map(Some).map_err(|error| VerifyError::Format {
                line: self.number,
                error: in_line(&error),
            }),
        }
    }

    /// Whether the last line read is complete.
    fn is_whole(&self) -> bool {
        self.text.last().is_none_or(|last| *last == b'\n')
    }
}

/// The error without serde's line number, because that is always 1 here.
fn in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(what, _)| {
            format!("{what} at column {}", error.column())
        })
}

#[cfg(test)]
mod tests;

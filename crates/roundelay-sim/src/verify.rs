//! Checks a [log](crate::log) of a simulation. Knows nothing of how the simulation works, only what a network can do.
//!
//! It reads line by line and keeps what the log has told of the packets on their way and the flows that are open, no more.

mod books;
mod link;

use std::io::{self, BufRead, Read as _};

use serde::Serialize;

use crate::log::{FORMAT, Header, Line};
use books::Books;

/// What a log tells of a whole simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Events.
    pub events: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets that queues dropped, or Edge-CoDel at the end of their route.
    pub dropped: u64,
    /// Packets lost on a wire.
    pub lost: u64,
    /// Packets on their way at the end.
    pub on_their_way: u64,
}

/// How often each thing was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Checks {
    /// Packets that come to an end: once, and at the node that they go to if they are delivered.
    pub fates: u64,
    /// Packets that come to a queue: at the node where their link begins.
    pub hops: u64,
    /// Transmissions: as long as the link's rate has it, and one at a time.
    pub transmissions: u64,
    /// Instants at which a link may not have rested before, as packets waited; one that interrupts packets must have sent all in time.
    pub rests: u64,
    /// Packets that come off a wire: neither earlier nor later than its delay has it, in the order in which they went on.
    pub wires: u64,
    /// Departures from queues that promise order among all packets.
    pub fifo: u64,
    /// Departures from queues that promise order among the packets of a flow.
    pub in_flow: u64,
    /// Flows whose own counts are those of their packets.
    pub flows: u64,
}

/// A line of a log that tells of something that cannot have happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Its number, from 1 on.
    pub line: u64,
    /// What is wrong.
    pub what: String,
    /// The link that it is about, if there is one.
    pub link: Option<u32>,
    /// Lines with faults about the same link later on, which may all follow from this one.
    pub wake: u64,
}

/// What a log tells, and whether it can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The network.
    pub header: Header,
    /// When the log ends, in picoseconds.
    pub time: u64,
    /// What it tells.
    pub totals: Verified,
    /// What was checked.
    pub checks: Checks,
    /// The first of its faults, one a link, and those that are about no link.
    pub faults: Vec<Fault>,
    /// Whether reading stopped there, so that there may be more.
    pub is_cut: bool,
}

/// Why a log is not that of a network.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is not one of a log.
    #[error("line {line}: {error}")]
    Format {
        /// Its number, from 1 on.
        line: u64,
        /// What is wrong with it.
        error: String,
    },
    /// A line tells of something that cannot have happened.
    #[error("line {line}: {what}")]
    Impossible {
        /// Its number, from 1 on.
        line: u64,
        /// What is wrong.
        what: String,
    },
}

/// Longest first line, in bytes: a network of a million links.
const LONGEST_HEADER: u64 = 1 << 28;
/// Longest other line.
const LONGEST_LINE: u64 = 1 << 12;

/// Reads a log and checks that it tells of a network: every packet is delivered, dropped or lost once and travels from node to node along links;
/// no link sends two packets at once, or faster than its rate, or rests while packets wait; no packet is faster than the wire; queues and
/// wires keep the order that they promise and the registry's disciplines keep; queues hold no more than their limits, and are full if they say so;
/// flows' counts are those of their packets.
///
/// # Errors
/// It does not; with the first line that cannot be.
pub fn verify(log: impl BufRead) -> Result<Verified, VerifyError> {
    let inspection = inspect(log, 1)?;
    match inspection.faults.into_iter().next() {
        Some(Fault { line, what, .. }) => Err(VerifyError::Impossible { line, what }),
        None => Ok(inspection.totals),
    }
}

/// The same, but goes on after a fault, without the packet that it is about, until there are `most_faults` of them. A fault may have others in its
/// wake: of those about one link the first is the one to look at, and the others are only counted. A log that is cut off in a line is one that
/// stops without an end.
///
/// # Errors
/// It cannot be read, or a line is not one of a log.
pub fn inspect(log: impl BufRead, most_faults: usize) -> Result<Inspection, VerifyError> {
    let mut lines = Lines { log, text: Vec::new(), number: 0 };
    let header = header(&mut lines)?;
    let mut books = Books::new(&header).map_err(|error| VerifyError::Format { line: 1, error })?;
    let mut faults: Vec<Fault> = Vec::new();
    while faults.len() < most_faults
        && let Some(line) = lines.next::<Line>(LONGEST_LINE)?
    {
        if let Err(what) = books.check(&line) {
            let link = books.link_of(&line);
            books.strike_out(&line);
            match faults.iter_mut().find(|fault| link.is_some() && fault.link == link) {
                Some(first) => first.wake += 1,
                None => faults.push(Fault { line: lines.number, what, link, wake: 0 }),
            }
        }
    }
    let is_cut = faults.len() >= most_faults;
    if !is_cut && !books.has_ended() {
        let place = if lines.is_whole() { "" } else { " in the middle of this line" };
        let what = format!("the log stops{place} without an end: its last line must be an `end`");
        faults.push(Fault { line: lines.number, what, link: None, wake: 0 });
    }
    let (time, totals, checks) = books.close();
    Ok(Inspection { header, time, totals, checks, faults, is_cut })
}

/// The first line, of whatever version.
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
        let cut = if error.is_eof() { "it is cut off" } else { "the first line is not that of one" };
        wrong(format!("no log of a simulation: {cut} ({}); expected what `roundelay simulate --log` writes", in_line(&error)))
    })?;
    if format != FORMAT {
        let advice = "write the log anew with `roundelay simulate --log`, or read it with the version that wrote it";
        return Err(wrong(format!("format {format}, and this version reads {FORMAT}: {advice}")));
    }
    serde_json::from_slice(&lines.text).map_err(|error| wrong(in_line(&error)))
}

/// The lines of a log, one at a time.
struct Lines<R> {
    log: R,
    text: Vec<u8>,
    /// Of the line that was read last.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads a line as it stands; none is left at the end.
    fn read(&mut self, longest: u64) -> Result<(), VerifyError> {
        self.text.clear();
        let len = (&mut self.log).take(longest).read_until(b'\n', &mut self.text)?;
        self.number += u64::from(len > 0);
        if len as u64 == longest && !self.is_whole() {
            return Err(VerifyError::Format { line: self.number, error: format!("longer than {longest} bytes: no line of a log") });
        }
        Ok(())
    }

    /// None at the end, and in the middle of a line that is cut off.
    fn next<'a, T: serde::Deserialize<'a>>(&'a mut self, longest: u64) -> Result<Option<T>, VerifyError> {
        self.read(longest)?;
        if self.text.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(&self.text) {
            Err(error) if error.is_eof() && !self.is_whole() => Ok(None),
            read => read.map(Some).map_err(|error| VerifyError::Format { line: self.number, error: in_line(&error) }),
        }
    }

    /// Whether the line that was read last is not cut off.
    fn is_whole(&self) -> bool {
        self.text.last().is_none_or(|last| *last == b'\n')
    }
}

/// What is wrong, without the reader's own count of lines, which are all its first.
fn in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| format!("{what} at column {}", error.column()))
}

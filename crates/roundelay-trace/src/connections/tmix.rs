//! Tmix's connection vectors, read and written: the format of UNC's traces and of the module of ns-2.
//!
//! There are two formats; times are microseconds. Lines that begin with # are comments.
//!
//! | the older one | the newer one | |
//! |---|---|---|
//! | `SEQ start epochs _ id` | `S start epochs _ id` | a connection whose ends wait for each other |
//! | `CONC start a b _ id` | `C start a b _ id` | one whose ends do not |
//! | `> bytes`, `< bytes` | `I after-own after-other bytes`, `A ..` | the initiator (client) and the acceptor (server) write; 0 bytes close |
//! | `t wait` between two writes | | counts from the arrival of the other end's write, or from the same end's |
//! | `c> bytes`, `t> wait`, `c< bytes`, `t< wait` | as above | each end for itself |
//! | `w a b`, `r rtt`, `l a b`, `m a b` | the same | windows, round trip, loss rates, segment sizes |
//!
//! Loss rates are read and not used, because the queue makes the losses. What a vector cannot hold
//! (an endless message, a client's close) is written as a comment, so that ns-2 still reads the file.

#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use roundelay::{Duration, Fault};
use thiserror::Error;

use super::{Applications, Close, Connection, End, Message, WayBack, Window};
use crate::observed::Observed;

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `SEQ` and `CONC`.
    Older,
    /// `S` and `C`.
    Newer,
}

/// A file of connection vectors with a fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name}:{line}: {found}; expected {expected}")]
pub struct VectorError {
    /// The file.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub found: String,
    /// What would be legal.
    pub expected: &'static str,
}

impl From<VectorError> for Fault {
    fn from(error: VectorError) -> Self {
        Self::new(format!("{}; expected {}", error.found, error.expected))
            .with_legal(error.expected)
            .in_file(error.name, error.line)
    }
}

/// Windows where a capture does not tell.
const WINDOW: u32 = 65_535;
/// Time behind the last start in which connections go on.
const REST: Duration = Duration::from_secs(30);
/// Most bytes of a message.
const MOST_BYTES: u64 = 1 << 40;
/// The longest time, in microseconds: 200 days.
const LONGEST: u64 = 200 * 86_400 * 1_000_000;

/// Bytes of a name in a comment.
const MOST_OF_NAME: usize = 80;

const HEADER: &str = "SEQ or S start epochs number id, CONC or C start a b number id";
const BYTES: &str = "bytes, 0 to 2^40";
const MICROS: &str = "microseconds, 0 to 200 days";

/// Lines at the start of a text, of which one begins a connection in every text of vectors.
const FIRST_LINES: usize = 20;

/// Whether a text was meant as connection vectors: one of its first lines begins a connection, and
/// there are no bytes of a binary file. If the first line is damaged, [`read`] says so.
pub fn is_vectors(text: &str) -> bool {
    let is_binary = |letter: char| letter == '\0' || letter == char::REPLACEMENT_CHARACTER;
    let mut first = lines(text).take(FIRST_LINES);
    first.any(|(_, line)| header(line).is_some()) && !text.contains(is_binary)
}

/// Lines with their numbers, without comments and blank ones.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let all = text.lines().enumerate();
    all.map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Whether a line begins a concurrent connection or a sequential one.
fn header(line: &str) -> Option<bool> {
    match line.split_whitespace().next()? {
        "SEQ" | "S" => Some(false),
        "CONC" | "C" => Some(true),
        _ => None,
    }
}

/// Reads connection vectors.
///
/// # Errors
/// A line is none of the format: its number, and what is legal.
pub fn read(name: &str, text: &str) -> Result<Applications, VectorError> {
    let mut reader = Reader {
        name,
        line: 0,
        connections: Vec::new(),
        waits: [0; 2],
        last: End::Client,
    };
    for (number, line) in lines(text) {
        reader.line = number;
        reader.read(line)?;
    }
    if reader.connections.is_empty() {
        reader.line = 1;
        return Err(reader.wrong("no connection", HEADER));
    }
    let mut connections = reader.connections;
    connections.retain(|connection| !connection.messages.is_empty());
    connections.sort_by_key(|connection| connection.start);
    let last = connections.last().map_or(Duration::ZERO, |last| last.start);
    Ok(Applications {
        name: name.to_owned(),
        length: last + REST,
        packets: 0,
        observed: Observed::default(),
        captured_rates: [0.0; 2],
        back: WayBack::default(),
        elsewhere: 0,
        unexplained: Duration::ZERO,
        mean: 0.0,
        connections,
        recorded: Vec::new(),
    })
}

/// An end of a connection, of which a vector tells no address.
fn made_up(net: u32, number: u32) -> SocketAddr {
    let host = Ipv4Addr::from(net << 24 | number & 0xff_ffff);
    SocketAddr::new(IpAddr::V4(host), 49_152)
}

struct Reader<'a> {
    name: &'a str,
    line: usize,
    connections: Vec<Connection>,
    /// The wait before the next write: of either end, or of each.
    waits: [u64; 2],
    last: End,
}

impl Reader<'_> {
    fn wrong(&self, found: impl Into<String>, expected: &'static str) -> VectorError {
        VectorError {
            name: self.name.to_owned(),
            line: self.line,
            found: found.into(),
            expected,
        }
    }

    /// A word as a number up to `most`.
    fn number(
        &self,
        word: Option<&&str>,
        most: u64,
        expected: &'static str,
    ) -> Result<u64, VectorError> {
        let Some(word) = word else {
            return Err(self.wrong("the line is too short", expected));
        };
        let number = word.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| self.wrong(format!("'{word}'"), expected))
    }

    fn read(&mut self, line: &str) -> Result<(), VectorError> {
        let words: Vec<_> = line.split_whitespace().collect();
        if let Some(concurrent) = header(line) {
            return self.begin(&words, concurrent);
        }
        let Some(first) = words.first() else {
            return Ok(());
        };
        let Some(connection) = self.connections.last() else {
            return Err(self.wrong(format!("'{first}' before any connection"), HEADER));
        };
        let concurrent = connection.concurrent;
        match *first {
            // Windows and loss rates.
            "w" | "l" => Ok(()),
            "r" => {
                let round_trip = self.number(words.get(1), LONGEST, MICROS)?;
                self.of_connection(|connection| {
                    // Where on the path the capture was taken, nobody knows.
                    connection.round_trips = [
                        Some(Duration::ZERO),
                        Some(Duration::from_micros(round_trip)),
                    ];
                })
            }
            "m" => {
                let most = u64::from(u16::MAX);
                let expected = "segment sizes, 0 to 65535";
                let sizes = [
                    self.number(words.get(1), most, expected)? as u32,
                    self.number(words.get(2), most, expected)? as u32,
                ];
                self.of_connection(|connection| connection.segment_len = sizes)
            }
            ">" | "c>" => self.write(End::Client, words.get(1), concurrent),
            "<" | "c<" => self.write(End::Server, words.get(1), concurrent),
            "t" => {
                let wait = self.number(words.get(1), LONGEST, MICROS)?;
                self.waits = [wait; 2];
                Ok(())
            }
            "t>" => {
                self.waits[0] = self.number(words.get(1), LONGEST, MICROS)?;
                Ok(())
            }
            "t<" => {
                self.waits[1] = self.number(words.get(1), LONGEST, MICROS)?;
                Ok(())
            }
            "I" => self.write_with_waits(End::Client, &words),
            "A" => self.write_with_waits(End::Server, &words),
            word => Err(self.wrong(format!("'{word}'"), "one of > < t c> c< t> t< I A w r l m")),
        }
    }

    fn of_connection(&mut self, change: impl FnOnce(&mut Connection)) -> Result<(), VectorError> {
        if let Some(connection) = self.connections.last_mut() {
            change(connection);
        }
        Ok(())
    }

    fn begin(&mut self, words: &[&str], concurrent: bool) -> Result<(), VectorError> {
        if words.len() < if concurrent { 6 } else { 5 } {
            return Err(self.wrong("the line is too short", HEADER));
        }
        let start = self.number(words.get(1), LONGEST, MICROS)?;
        let number = self.connections.len() as u32;
        self.waits = [0; 2];
        self.last = End::Client;
        self.connections.push(Connection {
            client: made_up(10, number),
            server: made_up(11, number),
            start: Duration::from_micros(start),
            has_opening: true,
            close: Close::Open,
            seen: [true; 2],
            over: [false, true],
            round_trips: [None; 2],
            is_quiet: [false; 2],
            waits: [Duration::ZERO; 2],
            has_handshake: [false; 2],
            segment_len: [0; 2],
            ecn: false,
            bytes: [0; 2],
            limited: [0; 2],
            retransmitted: [0; 2],
            missing: [0; 2],
            advances: [u64::MAX; 2],
            by_unknown_window: [0; 2],
            messages: Vec::new(),
            concurrent,
            endless: false,
            writes_if_paced: Vec::new(),
            writes_if_endless: 0,
            control: None,
            is_held: false,
            window: Window::Unknown,
            has_small_queue: false,
            follows: None,
        });
        Ok(())
    }

    fn write(&mut self, by: End, word: Option<&&str>, concurrent: bool) -> Result<(), VectorError> {
        let bytes = self.number(word, MOST_BYTES, BYTES)?;
        let wait = std::mem::take(by.of(&mut self.waits));
        if !concurrent {
            self.waits = [0; 2];
        }
        self.push(by, bytes, wait)
    }

    /// The newer format has both waits in each line; one of them is 0.
    fn write_with_waits(&mut self, by: End, words: &[&str]) -> Result<(), VectorError> {
        let after_own = self.number(words.get(1), LONGEST, MICROS)?;
        let after_other = self.number(words.get(2), LONGEST, MICROS)?;
        let bytes = self.number(words.get(3), MOST_BYTES, BYTES)?;
        self.push(by, bytes, after_own.max(after_other))
    }

    /// A write; of 0 bytes: the close, which the simulated connection finds itself.
    fn push(&mut self, by: End, bytes: u64, wait: u64) -> Result<(), VectorError> {
        self.last = by;
        self.of_connection(|connection| {
            if bytes > 0 {
                let all = by.of(&mut connection.bytes);
                *all = all.saturating_add(bytes);
                connection.messages.push(Message {
                    by,
                    bytes,
                    after: Duration::from_micros(wait),
                    every: None,
                });
            }
        })
    }
}

/// Writes connection vectors.
pub fn write(applications: &Applications, format: Format) -> String {
    // ns-2 reads nothing behind a comment of 100 bytes or more.
    let mut name = String::new();
    for letter in applications.name.chars() {
        if name.len() >= MOST_OF_NAME {
            break;
        }
        name.push(if letter.is_control() { ' ' } else { letter });
    }
    let mut text = format!("# Connection vectors, as Tmix and ns-2 read them\n# {name}\n");
    let round_trips = applications.round_trips();
    let mut in_order: Vec<_> = applications.connections.iter().enumerate().collect();
    in_order.sort_by_key(|(_, connection)| start(connection));
    for (id, connection) in in_order {
        if connection.messages.is_empty() {
            continue;
        }
        let round_trip = round_trips.get(id).copied().flatten().map(micros);
        // Writing to a String cannot fail.
        _ = write_one(&mut text, connection, round_trip, (id, format));
    }
    text
}

const fn micros(time: Duration) -> u64 {
    time.as_nanos() / 1000
}

/// When a connection starts. `SEQ` has no wait before the first write, and ns-2 heeds none of `S`,
/// so a sequential connection starts with this write.
fn start(connection: &Connection) -> u64 {
    let start = micros(connection.start);
    match connection.messages.first() {
        Some(first) if !connection.concurrent => start + micros(first.after),
        _ => start,
    }
}

fn write_one(
    text: &mut String,
    connection: &Connection,
    round_trip: Option<u64>,
    (id, format): (usize, Format),
) -> std::fmt::Result {
    let mut count = [0; 2];
    for message in &connection.messages {
        *message.by.of(&mut count) += 1;
    }
    let start = start(connection);
    let [client, server] = count;
    if connection.endless {
        writeln!(text, "# endless: the last write wanted more")?;
    }
    if connection.endless
        && let Close::By(_, at) = connection.close
    {
        writeln!(text, "# until {}", micros(at))?;
    }
    let word = match (connection.concurrent, format) {
        (false, Format::Older) => "SEQ",
        (false, Format::Newer) => "S",
        (true, Format::Older) => "CONC",
        (true, Format::Newer) => "C",
    };
    if connection.concurrent {
        writeln!(text, "{word} {start} {client} {server} 0 {id}")?;
    } else {
        // An epoch is a request, a response, or both.
        writeln!(text, "{word} {start} {} 0 {id}", client.max(server))?;
    }
    writeln!(text, "w {WINDOW} {WINDOW}")?;
    if let Some(round_trip) = round_trip {
        writeln!(text, "r {round_trip}")?;
    }
    writeln!(text, "l 0.000000 0.000000")?;
    let mut before: Option<End> = None;
    let mut known = [false; 2];
    for message in &connection.messages {
        let mut after = micros(message.after);
        if before.is_none() && !connection.concurrent {
            after = 0;
        }
        let is_own = connection.concurrent || before == Some(message.by);
        let mark = match message.by {
            End::Client => '>',
            End::Server => '<',
        };
        match format {
            Format::Newer => {
                let name = match message.by {
                    End::Client => 'I',
                    End::Server => 'A',
                };
                let [own, other] = if is_own { [after, 0] } else { [0, after] };
                writeln!(text, "{name} {own} {other} {}", message.bytes)?;
            }
            Format::Older if connection.concurrent => {
                if *message.by.of(&mut known) || after > 0 {
                    writeln!(text, "t{mark} {after}")?;
                }
                writeln!(text, "c{mark} {}", message.bytes)?;
            }
            Format::Older => {
                if before.is_some() {
                    writeln!(text, "t {after}")?;
                }
                writeln!(text, "{mark} {}", message.bytes)?;
            }
        }
        before = Some(message.by);
        *message.by.of(&mut known) = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: &str = "# a comment\n\
        SEQ 1500000 2 0 7\nw 65535 64240\nr 40000\nl 0.01 0.0\n> 826\nt 534\n< 1213\nt 872\n> 10\nt 5\n> 20\nt 100\n\
        CONC 2000 2 2 0 8\nw 1 1\nc< 190\nt< 505\nc> 396\nt> 6250\nc< 46\nc> 3\n";
    const NEWER: &str = "S 1500000 2 0 7\nr 40000\nI 0 0 826\nA 0 534 1213\nI 0 872 10\nI 5 0 20\nA 100 0 0\n\
        C 2000 2 2 0 8\nA 0 0 190\nI 0 0 396\nA 505 0 46\nI 6250 0 3\n";

    fn said(connection: &Connection) -> Vec<(End, u64, u64)> {
        let of = |message: &Message| (message.by, message.bytes, micros(message.after));
        connection.messages.iter().map(of).collect()
    }

    #[test]
    fn both_formats_say_the_same() {
        let older = read("a", OLDER).unwrap();
        let newer = read("a", NEWER).unwrap();
        for vectors in [&older, &newer] {
            let [one, two] = &vectors.connections[..] else {
                panic!("{vectors:?}")
            };
            let (client, server) = (End::Client, End::Server);
            assert!(one.concurrent && !two.concurrent, "in the order of time");
            let concurrent = [
                (server, 190, 0),
                (client, 396, 0),
                (server, 46, 505),
                (client, 3, 6250),
            ];
            assert_eq!(said(one), concurrent);
            let sequential = [
                (client, 826, 0),
                (server, 1213, 534),
                (client, 10, 872),
                (client, 20, 5),
            ];
            assert_eq!(said(two), sequential);
            assert_eq!(vectors.round_trips()[1], Some(Duration::from_millis(40)));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let vectors = read("a", OLDER).unwrap();
        for format in [Format::Older, Format::Newer] {
            let text = write(&vectors, format);
            assert!(is_vectors(&text), "{text}");
            let again = read("a", &text).unwrap();
            for (one, other) in vectors.connections.iter().zip(&again.connections) {
                assert_eq!(said(one), said(other), "{text}");
                assert_eq!((one.start, one.concurrent), (other.start, other.concurrent));
            }
            assert_eq!(vectors.round_trips(), again.round_trips(), "{text}");
        }
    }

    #[test]
    fn faults_name_the_line_and_what_is_legal() {
        let error = |text: &str| read("v", text).unwrap_err().to_string();
        assert_eq!(
            error("SEQ 0 1 0 1\n> many\n"),
            "v:2: 'many'; expected bytes, 0 to 2^40"
        );
        assert_eq!(
            error("# none\n"),
            format!("v:1: no connection; expected {HEADER}")
        );
        assert_eq!(
            error("> 5\n"),
            format!("v:1: '>' before any connection; expected {HEADER}")
        );
        assert_eq!(
            error("S 0 1 0 1\nI 0 0\n"),
            "v:2: the line is too short; expected bytes, 0 to 2^40"
        );
        assert!(!is_vectors("seed = 1\n") && !is_vectors(""));
    }
}

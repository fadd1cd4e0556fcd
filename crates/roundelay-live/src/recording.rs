//! Reads a run's record.

#![deny(clippy::indexing_slicing)]

use std::path::Path;

use roundelay::{DropReason, Instant};
use roundelay_trace::{Capture, CaptureError, LinkType};
use serde::Deserialize;
use thiserror::Error;

use crate::journal::Fate;
use crate::record::{End, FORMAT, Line, NOTES, Note, PRIVATE, Start};
use crate::settings::{Change, Way};

/// An entry in a record, in the order of the run.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A frame arrives.
    Arrival {
        /// In which direction.
        way: Way,
        /// When.
        at: Instant,
        /// The frame as it was cut.
        frame: Vec<u8>,
        /// Its whole length.
        len: u32,
    },
    /// A change takes effect.
    Change {
        /// In which direction.
        way: Way,
        /// When.
        at: Instant,
        /// The change.
        change: Change,
    },
    /// A frame's fate.
    Fate(Line),
    /// The run ends.
    End(Box<End>),
}

/// Why a record cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file is no capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture is not a run's record.
    #[error("{name}: not a record of `roundelay live`; expected a file written by its --record")]
    NoRecord {
        /// The file.
        name: String,
    },
    /// A text in the record is wrong.
    #[error("{name}: packet {packet}: {error}")]
    Note {
        /// The file.
        name: String,
        /// The packet's number in the file, counted from 1 as in Wireshark.
        packet: u64,
        /// What is wrong, and what was expected.
        error: String,
    },
    /// A setting in the record is impossible.
    #[error("{name}: {error}")]
    Settings {
        /// The file.
        name: String,
        /// What is wrong.
        error: String,
    },
}

/// A record, read entry by entry.
pub struct Recording {
    capture: Capture,
    start: Start,
    packets: u64,
    /// Fates from the last packet that we have not handed out yet.
    fates: std::vec::IntoIter<Line>,
}

/// Whether a file is the record of a run, also if the record is damaged, cut off or of another
/// version: then [`Recording::open`] says so. False for any other capture, and for a file that cannot
/// be read.
pub fn is_record(path: &Path) -> bool {
    let Ok(mut capture) = Capture::open(path) else {
        return false;
    };
    // Interfaces are described before the first packet, which may be damaged.
    _ = capture.next();
    capture.has_interface(NOTES)
}

/// The part of a record's start that every version of the format has.
#[derive(Debug, Deserialize)]
struct Origin {
    start: Version,
}

#[derive(Debug, Deserialize)]
struct Version {
    format: u64,
    version: String,
}

/// A text of the file for a message, without characters that steer a terminal.
fn plain(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

impl Recording {
    /// Opens a record.
    ///
    /// # Errors
    /// The file cannot be read, or is not a record.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::read(Capture::open(path)?)
    }

    /// Reads the start of a record.
    ///
    /// # Errors
    /// The capture cannot be read, or is not a record.
    pub fn read(mut capture: Capture) -> Result<Self, RecordError> {
        let name = capture.name().to_owned();
        let first = match capture.next()? {
            Some(frame) if frame.link == LinkType(PRIVATE) && frame.tap.name == Some(NOTES) => {
                Some(frame.bytes.to_vec())
            }
            Some(_) => return Err(RecordError::NoRecord { name }),
            None => None,
        };
        let wrong = |error| RecordError::Note {
            name: name.clone(),
            packet: 1,
            error,
        };
        let Some(first) = first else {
            if !capture.has_interface(NOTES) {
                return Err(RecordError::NoRecord { name });
            }
            let cut = "cut off before the end of the settings: nothing of the run is left";
            return Err(wrong(cut.to_owned()));
        };
        let mut packets = 1;
        let text = whole(&mut capture, &mut packets, first)?;
        // The settings of another version may be other ones.
        if let Ok(Origin { start }) = serde_json::from_slice(&text)
            && start.format != u64::from(FORMAT)
        {
            return Err(wrong(format!(
                "format {}, and this version reads format {FORMAT}: use version {} of Roundelay, \
                 which wrote it",
                start.format,
                plain(&start.version)
            )));
        }
        let start = match serde_json::from_slice(&text) {
            Ok(Note::Start(start)) => start,
            Ok(_) => return Err(wrong("expected the settings first".to_owned())),
            Err(error) => {
                return Err(wrong(format!(
                    "the settings: {}",
                    plain(&error.to_string())
                )));
            }
        };
        check_snap(start.settings.snap).map_err(wrong)?;
        Ok(Self {
            capture,
            packets,
            start,
            fates: Vec::new().into_iter(),
        })
    }

    /// The settings, and when the run started.
    pub const fn start(&self) -> &Start {
        &self.start
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.capture.name()
    }

    /// The next entry, or None at the end of the file.
    ///
    /// # Errors
    /// The file is damaged.
    #[expect(
        clippy::should_implement_trait,
        reason = "an error ends the record, which an Iterator does not say"
    )]
    pub fn next(&mut self) -> Result<Option<Entry>, RecordError> {
        loop {
            if let Some(fate) = self.fates.next() {
                return Ok(Some(Entry::Fate(fate)));
            }
            let Some(frame) = self.capture.next()? else {
                return Ok(None);
            };
            self.packets += 1;
            let since = frame.time_nanos.saturating_sub(self.start.unix_nanos);
            let at = Instant::from_nanos(since.max(0) as u64);
            let way = Way::BOTH
                .into_iter()
                .find(|way| frame.tap.name == Some(way.name()));
            if let Some(way) = way {
                return Ok(Some(Entry::Arrival {
                    way,
                    at,
                    frame: frame.bytes.to_vec(),
                    len: frame.original_len,
                }));
            }
            let first = frame.bytes.to_vec();
            let text = whole(&mut self.capture, &mut self.packets, first)?;
            let text = String::from_utf8_lossy(&text);
            if let Some(entry) = self.note(&text)? {
                return Ok(Some(entry));
            }
        }
    }

    /// The entry in a text. None for fates, which we keep until they are asked for.
    fn note(&mut self, text: &str) -> Result<Option<Entry>, RecordError> {
        if !text.starts_with('{') {
            let mut fates = Vec::new();
            for line in text.lines() {
                fates.push(fate(line).ok_or_else(|| {
                    self.wrong(format!(
                        "'{line}': expected the fate of a frame, as in 'up 17 flow 3 dropped 1000 \
                         full'"
                    ))
                })?);
            }
            self.fates = fates.into_iter();
            return Ok(None);
        }
        match serde_json::from_str(text) {
            Ok(Note::Change { way, at, change }) => Ok(Some(Entry::Change {
                way,
                at: Instant::from_nanos(at),
                change,
            })),
            Ok(Note::End(end)) => Ok(Some(Entry::End(Box::new(end)))),
            Ok(Note::Start(_)) => Err(self.wrong("a second start".to_owned())),
            Ok(Note::Pieces(_)) => Err(self.wrong("pieces of pieces".to_owned())),
            Err(error) => Err(self.wrong(error.to_string())),
        }
    }

    fn wrong(&self, error: String) -> RecordError {
        RecordError::Note {
            name: self.name().to_owned(),
            packet: self.packets,
            error: plain(&error),
        }
    }
}

/// The most bytes of a frame that a run may keep: as many as an IP packet may have. A replay has
/// room for so many of each frame.
const MOST_SNAP: u32 = 65_536;

fn check_snap(snap: u32) -> Result<(), String> {
    if snap <= MOST_SNAP {
        return Ok(());
    }
    Err(format!("snap {snap}: expected 0 to {MOST_SNAP} bytes"))
}

/// A note's whole text: its first packet, or the pieces that this packet announces.
fn whole(capture: &mut Capture, packets: &mut u64, first: Vec<u8>) -> Result<Vec<u8>, RecordError> {
    if !first.starts_with(b"{") {
        return Ok(first);
    }
    let Ok(Note::Pieces(count)) = serde_json::from_slice(&first) else {
        return Ok(first);
    };
    let mut text = Vec::new();
    for number in 1..=count {
        match capture.next()? {
            Some(frame) if frame.tap.name == Some(NOTES) => text.extend_from_slice(frame.bytes),
            _ => {
                return Err(RecordError::Note {
                    name: capture.name().to_owned(),
                    packet: *packets,
                    error: format!(
                        "piece {number} of {count} is missing behind it: cut off or damaged"
                    ),
                });
            }
        }
        *packets += 1;
    }
    Ok(text)
}

/// Reads a line that tells a fate.
fn fate(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let way = Way::BOTH.into_iter().find(|way| way.name() == name)?;
    let number = words.next()?.parse().ok()?;
    if words.next()? != "flow" {
        return None;
    }
    let flow = words.next()?.parse().ok()?;
    let fate = match words.next()? {
        "sent" => {
            let [start, end, due] = [
                instant(&mut words)?,
                instant(&mut words)?,
                instant(&mut words)?,
            ];
            let rest: Vec<&str> = words.by_ref().collect();
            let (marked, lost) = match rest[..] {
                [] => (false, false),
                ["marked"] => (true, false),
                ["lost"] => (false, true),
                ["marked", "lost"] => (true, true),
                _ => return None,
            };
            Fate::Sent {
                start,
                end,
                due,
                marked,
                lost,
            }
        }
        "dropped" => {
            let at = instant(&mut words)?;
            let name = words.next()?;
            let reason = DropReason::ALL
                .into_iter()
                .find(|reason| reason.name() == name)?;
            Fate::Dropped { at, reason }
        }
        _ => return None,
    };
    words.next().is_none().then_some(Line {
        way,
        number,
        flow,
        fate,
    })
}

fn instant<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Instant> {
    words.next()?.parse().ok().map(Instant::from_picos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fate_is_read_as_it_was_written() {
        let at = |picos| Instant::from_picos(picos);
        let sent = |marked, lost| Fate::Sent {
            start: at(1),
            end: at(20),
            due: at(300),
            marked,
            lost,
        };
        let mut fates = vec![sent(false, false), sent(true, false), sent(false, true)];
        fates.push(sent(true, true));
        for reason in DropReason::ALL {
            fates.push(Fate::Dropped { at: at(7), reason });
        }
        for (number, each) in fates.into_iter().enumerate() {
            for way in Way::BOTH {
                let line = Line {
                    way,
                    number: number as u64,
                    flow: 5,
                    fate: each,
                };
                assert_eq!(fate(&line.to_string()), Some(line));
            }
        }
        for wrong in [
            "",
            "up",
            "up 1 flow 2 sent 1 2",
            "left 1 flow 2 dropped 3 full",
        ] {
            assert_eq!(fate(wrong), None, "{wrong}");
        }
        assert_eq!(fate("up 1 flow 2 dropped 3 full more"), None);
        assert_eq!(fate("up 1 flow 2 dropped 3 tired"), None);
    }
}

//! Continuity: whether connections go on behind a jump of the clock as before it.
//!
//! A clock that is set while a capture runs changes times alone. The next segment of a TCP
//! connection still begins where the last one ended, and a host still counts the identifications of
//! its IPv4 packets. In a second capture of the same time both begin elsewhere.

use std::collections::{HashMap, HashSet};

use crate::capture::{Frame, Tap};
use crate::headers::{Headers, Ports, parse};
use crate::mixture::Ends;

/// Packets remembered before a jump, and captured bytes of each: enough for the headers.
const BEFORE: usize = 64;
const KEPT_BYTES: usize = 128;
/// Packets looked at behind a jump.
const BEHIND: usize = 64;
/// The next segment, or identification, is at most so far ahead: a few were lost or not captured.
const NEXT_BYTES: u32 = 65_536;
const NEXT_IDENTIFICATION: u16 = 64;

/// The last packets, and those behind a jump.
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    /// A ring: the oldest one is at `next` once it is full.
    before: Vec<Packet>,
    next: usize,
    behind: Vec<Packet>,
}

/// The beginning of a packet.
#[derive(Debug, Clone)]
struct Packet {
    frame: Frame<'static>,
    bytes: [u8; KEPT_BYTES],
    kept: usize,
}

/// Where a direction of a connection has got to.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// The first byte of a TCP segment, and the byte behind its last.
    segment: Option<(u32, u32)>,
    identification: Option<u16>,
}

impl Continuity {
    /// A packet that no jump led to.
    #[inline]
    pub(crate) fn pass(&mut self, frame: &Frame<'_>) {
        if self.before.len() < BEFORE {
            self.before.push(Packet::of(frame));
            return;
        }
        self.before[self.next].take(frame);
        self.next = (self.next + 1) % BEFORE;
    }

    /// A packet behind a jump.
    pub(crate) fn jump(&mut self, frame: &Frame<'_>) {
        if self.behind.len() < BEHIND {
            self.behind.push(Packet::of(frame));
        }
    }

    /// The jump led back.
    pub(crate) fn come_back(&mut self) {
        self.behind.clear();
    }

    /// Whether most connections that have packets on both sides of the jump go on. The packets behind
    /// are then those before the next jump.
    pub(crate) fn goes_on(&mut self) -> bool {
        let mut last = HashMap::new();
        let (newer, older) = self.before.split_at(self.next);
        for packet in older.iter().chain(newer) {
            if let Some((ends, progress)) = packet.progress() {
                last.insert(ends, progress);
            }
        }
        let mut going = 0;
        let mut broken = 0;
        let mut seen = HashSet::new();
        for packet in &self.behind {
            let Some((ends, progress)) = packet.progress() else {
                continue;
            };
            if !seen.insert(ends) {
                continue;
            }
            match last
                .get(&ends)
                .map(|before: &Progress| before.leads_to(progress))
            {
                Some(Some(true)) => going += 1,
                Some(Some(false)) => broken += 1,
                Some(None) | None => {}
            }
        }
        self.before.clear();
        self.next = 0;
        self.before.append(&mut self.behind);
        going > broken
    }
}

impl Packet {
    fn of(frame: &Frame<'_>) -> Self {
        let mut packet = Self {
            frame: Frame {
                time_nanos: 0,
                original_len: 0,
                link: frame.link,
                bytes: &[],
                tap: Tap::default(),
            },
            bytes: [0; KEPT_BYTES],
            kept: 0,
        };
        packet.take(frame);
        packet
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        self.kept = frame.bytes.len().min(KEPT_BYTES);
        self.bytes[..self.kept].copy_from_slice(&frame.bytes[..self.kept]);
        self.frame.link = frame.link;
        self.frame.original_len = frame.original_len;
    }

    fn progress(&self) -> Option<((u8, Ends), Progress)> {
        let frame = Frame {
            bytes: &self.bytes[..self.kept],
            ..self.frame
        };
        let headers = parse(frame.link, frame.bytes).ok()?;
        let Headers {
            source,
            destination,
            protocol,
            source_port,
            destination_port,
            ports,
            ..
        } = headers;
        if ports != Ports::Present {
            return None;
        }
        let segment = match frame.tcp_segment() {
            // Acknowledgements alone do not get ahead.
            Some(segment) if segment.len > 0 => {
                let behind = segment.sequence.wrapping_add(segment.len);
                Some((segment.sequence, behind))
            }
            _ => None,
        };
        let ends = [(source, source_port), (destination, destination_port)];
        let identification = frame.identification();
        Some((
            (protocol, ends),
            Progress {
                segment,
                identification,
            },
        ))
    }
}

impl Progress {
    /// Whether `next` is what comes next; none if nothing tells.
    fn leads_to(self, next: Self) -> Option<bool> {
        if let (Some((_, end)), Some((start, _))) = (self.segment, next.segment) {
            return Some(start.wrapping_sub(end) <= NEXT_BYTES);
        }
        let (Some(last), Some(next)) = (self.identification, next.identification) else {
            return None;
        };
        let step = next.wrapping_sub(last);
        Some((1..=NEXT_IDENTIFICATION).contains(&step))
    }
}

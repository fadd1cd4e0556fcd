//! Continuity: whether connections go on after a jump of the clock as they did before it.
//!
//! If somebody sets the clock while a capture runs, only times change. A TCP connection's next
//! segment still begins where the last one ended, and a host still counts the identifications of
//! its IPv4 packets. In a second capture of the same time both begin elsewhere.
//!
//! After a silence connections go on too. But during a silence their own clocks go on (the
//! timestamps of RFC 7323), and a sender whose data is not acknowledged sends it again (RFC 6298).
//! If neither happened, the time did not pass. But if a steady stream and another connection stop
//! together and go on together, nothing tells a clock that was set from a pause.

#![deny(clippy::indexing_slicing)]

use std::collections::{HashMap, HashSet};

use crate::capture::{Frame, Tap};
use crate::headers::{Headers, Ports, UDP, parse};
use crate::mixture::Ends;

/// How many packets we remember before a jump, and how many captured bytes of each. The headers
/// fit.
const BEFORE: usize = 64;
const KEPT_BYTES: usize = 128;
/// How many packets we look at after a jump.
const BEHIND: usize = 64;
/// The next segment, or identification, is at most this far ahead, because only a few were lost or
/// not captured.
const NEXT_BYTES: u32 = 65_536;
const NEXT_IDENTIFICATION: u16 = 64;
/// The longest time without a retransmission of unacknowledged data, in nanoseconds: RFC 1122's
/// first retransmission timeout (RFC 6298 has one second).
const PATIENCE: i64 = 3_000_000_000;
/// A jump must be this many times as long as the longest gap beside it. Otherwise it may be one of
/// many.
const LONGER: i64 = 10;
/// With fewer bare acknowledgements from a sender, the capture may lack them altogether.
const FEWEST_BARE: usize = 3;
/// A connection is dense if it has at least this many packets on each side of a jump, and the mean
/// gap between them is at most this part of the jump, as a divisor.
const DENSE: (usize, i64) = (3, 100);
/// If we saw a clock tick less often, we do not know it.
const FEWEST_TICKS: i64 = 3;
/// The slowest timestamp clock ticks once a second (RFC 7323, section 5.4), in nanoseconds.
const SLOWEST_TICK: i64 = 1_000_000_000;

/// The last packets before a jump, and those after it.
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    /// A ring. Once it is full, the oldest packet is at `next`.
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

/// How far a direction of a connection has got.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// A TCP segment's first byte, and the byte after its last.
    segment: Option<(u32, u32)>,
    identification: Option<u16>,
    /// The other direction's next byte.
    acknowledged: Option<u32>,
    /// The sender's clock.
    ticks: Option<u32>,
}

/// What the packets on both sides of a jump tell us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Most connections with packets on both sides go on.
    pub(crate) goes_on: bool,
    /// Most connections that tell say that no time has passed.
    pub(crate) stands_still: bool,
    /// Several connections stop at once and go on at once, and one of them is a stream over UDP.
    pub(crate) stops_at_once: bool,
}

/// A connection's packets on one side of a jump.
#[derive(Debug, Clone, Copy)]
struct Train {
    packets: usize,
    first: i64,
    last: i64,
}

/// A direction of a TCP connection before a jump.
#[derive(Debug, Clone, Copy, Default)]
struct Course {
    /// The byte after its data.
    sent: Option<u32>,
    /// The next byte of the other direction's data.
    acknowledged: Option<u32>,
    /// Segments that carry no data, so that they only acknowledge.
    bare: usize,
    /// The sender's clock and ours, at the first packet and at the last.
    first: Option<(u32, i64)>,
    last: Option<(u32, i64)>,
}

/// A direction of a connection.
type Way = (u8, Ends);

impl Continuity {
    /// Takes a packet that no jump led to.
    #[inline]
    pub(crate) fn pass(&mut self, frame: &Frame<'_>) {
        if self.before.len() < BEFORE {
            self.before.push(Packet::of(frame));
            return;
        }
        if let Some(oldest) = self.before.get_mut(self.next) {
            oldest.take(frame);
        }
        self.next = (self.next + 1) % BEFORE;
    }

    /// Takes a packet after a jump.
    pub(crate) fn jump(&mut self, frame: &Frame<'_>) {
        if self.behind.len() < BEHIND {
            self.behind.push(Packet::of(frame));
        }
    }

    /// The jump led back, so what came after it is forgotten.
    pub(crate) fn come_back(&mut self) {
        self.behind.clear();
    }

    /// What the packets on both sides say about a jump of this many nanoseconds. After that, the
    /// packets behind the jump are those before the next one.
    pub(crate) fn judge(&mut self, jump: i64) -> Judged {
        let judged = Judged {
            goes_on: self.goes_on(),
            stands_still: jump >= PATIENCE && self.stands_still(jump),
            stops_at_once: jump >= PATIENCE && self.stops_at_once(jump),
        };
        self.before.clear();
        self.next = 0;
        self.before.append(&mut self.behind);
        judged
    }

    fn goes_on(&self) -> bool {
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
        going > broken
    }

    /// Whether, for most directions of connections that tell, no time has passed. The jump must be
    /// far longer than the gaps beside it.
    fn stands_still(&self, jump: i64) -> bool {
        let (newer, older) = self.before.split_at(self.next);
        let mut courses = HashMap::<Way, Course>::new();
        let mut gap = 0;
        let mut time = None;
        for packet in older.iter().chain(newer) {
            gap = gap.max(packet.gap_behind(time.replace(packet.time())));
            if let Some((way, progress)) = packet.progress() {
                courses
                    .entry(way)
                    .or_default()
                    .take(progress, packet.time());
            }
        }
        let heard = self.first_heard();
        let mut still = 0;
        let mut moving = 0;
        let mut counted = HashSet::new();
        time = None;
        for packet in &self.behind {
            gap = gap.max(packet.gap_behind(time.replace(packet.time())));
            let Some((way, progress)) = packet.progress() else {
                continue;
            };
            let Some(course) = courses.get(&way) else {
                continue;
            };
            let (protocol, [source, destination]) = way;
            let back = (protocol, [destination, source]);
            let stands = match course.has_passed(progress, jump) {
                Some(has_passed) => Some(!has_passed),
                None => match (courses.get(&back), heard.get(&back)) {
                    (Some(receiver), Some(heard)) => {
                        course.goes_on_unacknowledged(progress, *receiver, *heard)
                    }
                    _ => None,
                },
            };
            if let Some(stands) = stands
                && counted.insert(way)
            {
                still += usize::from(stands);
                moving += usize::from(!stands);
            }
        }
        still > moving && gap.saturating_mul(LONGER) <= jump
    }

    /// What each direction acknowledges first after a jump.
    fn first_heard(&self) -> HashMap<Way, u32> {
        let mut heard = HashMap::new();
        for packet in &self.behind {
            if let Some((way, progress)) = packet.progress()
                && let Some(next) = progress.acknowledged
            {
                heard.entry(way).or_insert(next);
            }
        }
        heard
    }

    /// Whether all connections that were dense before a jump are dense again as soon as it ends.
    /// There must be two or more, one of them over UDP, because a UDP sender waits for nobody.
    fn stops_at_once(&self, jump: i64) -> bool {
        let before = trains(&self.before);
        let behind = trains(&self.behind);
        let Some(end) = self.behind.first().map(Packet::time) else {
            return false;
        };
        let mut connections = 0;
        let mut has_stream = false;
        for (key, train) in &before {
            if !train.is_dense(jump) {
                continue;
            }
            let goes_on = behind.get(key).is_some_and(|behind| {
                behind.is_dense(jump) && behind.first.saturating_sub(end) <= jump / DENSE.1
            });
            if !goes_on {
                return false;
            }
            connections += 1;
            has_stream |= key.0 == UDP;
        }
        connections > 1 && has_stream
    }
}

/// Each connection's packets.
fn trains(packets: &[Packet]) -> HashMap<Way, Train> {
    let mut trains = HashMap::new();
    for packet in packets {
        let Some(((protocol, mut ends), _)) = packet.progress() else {
            continue;
        };
        ends.sort_unstable();
        let at = packet.time();
        let train = trains.entry((protocol, ends)).or_insert(Train {
            packets: 0,
            first: at,
            last: at,
        });
        train.packets += 1;
        train.first = train.first.min(at);
        train.last = train.last.max(at);
    }
    trains
}

impl Train {
    fn is_dense(self, jump: i64) -> bool {
        let (fewest, part) = DENSE;
        let gaps = self.packets as i64 - 1;
        self.packets >= fewest && self.last.saturating_sub(self.first) / gaps <= jump / part
    }
}

impl Course {
    /// Takes a packet of the direction.
    fn take(&mut self, progress: Progress, at: i64) {
        if let Some((_, end)) = progress.segment
            && self.sent.is_none_or(|sent| is_behind(end, sent))
        {
            self.sent = Some(end);
        }
        if let Some(next) = progress.acknowledged
            && self.acknowledged.is_none_or(|known| is_behind(next, known))
        {
            self.acknowledged = Some(next);
        }
        self.bare += usize::from(progress.acknowledged.is_some() && progress.segment.is_none());
        if let Some(ticks) = progress.ticks {
            self.first.get_or_insert((ticks, at));
            self.last = Some((ticks, at));
        }
    }

    /// Whether the sender's clock went on during a jump. None if it does not tell.
    fn has_passed(&self, next: Progress, jump: i64) -> Option<bool> {
        let (first, since) = self.first?;
        let (last, at) = self.last?;
        let ticks = i64::from(next.ticks?.wrapping_sub(last).cast_signed());
        let before = i64::from(last.wrapping_sub(first).cast_signed());
        if ticks < 0 {
            return None;
        }
        // A burst within a tick or two does not tell how long a tick is, and some senders write the
        // same number for ever. Such a clock can tell that time has passed, but not that none has.
        if before < FEWEST_TICKS || at <= since {
            let has_passed = ticks.saturating_mul(SLOWEST_TICK) >= jump / 2;
            return (ticks > 1 && has_passed).then_some(true);
        }
        // The first tick and the last may have been nearly over or have just begun.
        let longest = (at.saturating_sub(since) / (before - 1)).min(SLOWEST_TICK);
        let most = (ticks + 1).saturating_mul(longest);
        Some(most > jump / LONGER)
    }

    /// Whether the sender goes on with new data although earlier data was not acknowledged, and the
    /// receiver then first acknowledges a part of that data. None if all was acknowledged, or may
    /// have been. It may have been, because the capture may lack acknowledgements. But after a
    /// pause the first one covers all data sent before it.
    fn goes_on_unacknowledged(&self, next: Progress, receiver: Self, heard: u32) -> Option<bool> {
        let (start, _) = next.segment?;
        let sent = self.sent?;
        let known = receiver.acknowledged?;
        let is_on_the_way = is_behind(heard, known) && is_behind(sent, heard);
        if !is_on_the_way || receiver.bare < FEWEST_BARE {
            return None;
        }
        Some(start.wrapping_sub(sent) <= NEXT_BYTES)
    }
}

/// Whether a sequence number comes after another one (RFC 9293, section 3.4).
const fn is_behind(number: u32, other: u32) -> bool {
    number.wrapping_sub(other).cast_signed() > 0
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
        for (kept, byte) in self.bytes.iter_mut().zip(frame.bytes) {
            *kept = *byte;
        }
        self.frame.time_nanos = frame.time_nanos;
        self.frame.link = frame.link;
        self.frame.original_len = frame.original_len;
    }

    const fn time(&self) -> i64 {
        self.frame.time_nanos
    }

    /// Nanoseconds since the packet before.
    fn gap_behind(&self, before: Option<i64>) -> i64 {
        let before = before.unwrap_or(self.time());
        self.time().saturating_sub(before).saturating_abs()
    }

    fn progress(&self) -> Option<(Way, Progress)> {
        let frame = Frame {
            bytes: self.bytes.get(..self.kept).unwrap_or_default(),
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
        let header = frame.tcp_segment();
        let segment = match header {
            // Acknowledgements alone do not advance.
            Some(segment) if segment.len > 0 => {
                let behind = segment.sequence.wrapping_add(segment.len);
                Some((segment.sequence, behind))
            }
            _ => None,
        };
        let acknowledging = header.filter(|header| header.is_ack);
        let timestamps = header.and_then(|header| header.timestamps);
        let ends = [(source, source_port), (destination, destination_port)];
        let identification = frame.identification();
        Some((
            (protocol, ends),
            Progress {
                segment,
                identification,
                acknowledged: acknowledging.map(|header| header.acknowledgement),
                ticks: timestamps.map(|[own, _]| own),
            },
        ))
    }
}

impl Progress {
    /// Whether `next` is what comes next. None if nothing tells.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a clock tells that stood at these numbers, with so many nanoseconds between the first two,
    /// of a jump of five seconds.
    fn told(first: u32, last: u32, between: i64, next: u32) -> Option<bool> {
        let at = |ticks| Progress {
            ticks: Some(ticks),
            ..Progress::default()
        };
        let mut course = Course::default();
        course.take(at(first), 0);
        course.take(at(last), between);
        course.has_passed(at(next), 5_000_000_000)
    }

    /// Regression: bursts within a tick, senders that write one number for ever and a late packet made
    /// pauses into steps of the clock.
    #[test]
    fn a_clock_that_is_not_known_tells_of_no_step() {
        const MILLI: i64 = 1_000_000;
        // Ticks of a millisecond, and a burst of a tenth of one over a tick's end.
        assert_eq!(told(1000, 1001, MILLI / 10, 6001), Some(true));
        // It does not go on, or goes back.
        assert_eq!(told(7, 7, 100 * MILLI, 7), None);
        assert_eq!(told(1000, 999, MILLI / 10, 6000), Some(true));
        assert_eq!(told(1000, 1010, 10 * MILLI, 1009), None);
        // A hundred milliseconds are known well.
        assert_eq!(told(1000, 1100, 100 * MILLI, 6100), Some(true));
        assert_eq!(told(1000, 1100, 100 * MILLI, 1101), Some(false));
    }
}

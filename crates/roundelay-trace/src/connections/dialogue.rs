//! One connection, packet by packet: new bytes apart from retransmissions, round trips, and who
//! writes what after which wait.
//!
//! All times are those of the capture point. A packet there follows what its sender heard by the
//! time from the capture point to the sender and back, so waits are reduced by it: by the smallest
//! of the last few such times, since one acknowledgement alone may be delayed.

use std::collections::VecDeque;
use std::net::SocketAddr;

use roundelay::{Duration, Ecn};

use super::control::Votes;
use super::course::Course;
use super::limit::{BUSY, Evidence, FIRST_WINDOW, Heard, Limit, Surroundings, has_heard};
use super::pages::Answer;
use super::{Close, Connection, End, Heading, Message, WayBack, Ways, Window};
use crate::headers::TcpSegment;

/// A packet that comes within this time of when an acknowledgement allowed it was allowed by it.
const CLOCK: [u64; 2] = [1_000_000; 2];
/// A write that comes this long after the end was free to send is a write of its own.
const PAUSE: u64 = 2_000_000;
/// The time to an end and back if nothing tells it.
const UNKNOWN_ROUND_TRIP: u64 = 100_000_000;
/// A write that goes on is cut after this time.
const PIECE: u64 = 10_000_000;
/// A message that goes on in the last part of the capture may have wanted more.
const LAST_PART: u64 = 200_000_000;
/// A message that lasts longer than this loads its direction, nanoseconds.
const LONG_MESSAGE: u64 = 5_000_000_000;
/// Most segments whose acknowledgements are awaited: more are in flight on no path.
const MOST_OUTSTANDING: usize = 65_536;
/// Acknowledgements kept: those of a second, and as many as move no figure in a faster flow.
const MOST_HEARD: usize = 16_384;
const LONGEST_HEARD: u64 = 1_000_000_000;
/// Values of an end's clock whose echo is awaited: more are on their way on no path.
const MOST_TICKS: usize = 1024;
/// Holes in an end's data that are kept: more are nobody's but a tool's that drops packets.
const MOST_HOLES: usize = 1024;
/// A pause in which a player's buffer is full, its shortest period, how many requests show it, and
/// by how much they may be late: nanoseconds, or this part of the period.
const LEAST_PAUSE: u64 = 50_000_000;
const LEAST_PERIOD: u64 = 500_000_000;
const LEAST_TICKS: usize = 3;
const LATE: u64 = 30_000_000;
const PART_LATE: u64 = 50;
/// Ports below are those of servers.
const WELL_KNOWN: u16 = 1024;
/// Data in the longest segment on an Ethernet: captured ones may be longer, merged by offloading.
const SEGMENT: u32 = 1460;
/// The largest shift of windows (RFC 7323, section 2.3).
const MOST_SHIFT: u8 = 14;
/// A write of no more bytes while the other end sends much is of the protocol and no request: HTTP/2
/// tells its windows in 13 bytes, and TLS adds 22.
const MOST_OF_PROTOCOL: u64 = 64;
/// Times that differ by no more than this part of the smaller one are about the same.
const ABOUT: u64 = 10;
/// Round trips kept to find the smallest of the last ones.
const RECENT: usize = 4;

/// One end, as seen at the capture point.
#[derive(Debug, Default)]
struct Side {
    seen: bool,
    over: bool,
    /// The sequence number of its first byte.
    base: Option<u32>,
    /// Bytes sent so far, and of these acknowledged.
    next: u64,
    acknowledged: u64,
    /// When its last data and the last acknowledgement for it passed.
    data_at: u64,
    acknowledged_at: u64,
    /// When an acknowledgement last told of new bytes.
    advanced_at: u64,
    /// Bytes of the last data packet that are no data.
    header: u64,
    /// Bytes of its protocol's writes, which go with its next message.
    protocol: u64,
    /// The last acknowledgements for it, further ones included.
    heard: Heard,
    /// Data on its way: its last byte and its time. What ends here or before was sent again.
    outstanding: VecDeque<(u64, u64)>,
    again_until: u64,
    /// Times from the capture point to this end and back: the smallest, when that was, whether the
    /// handshake tells one, and the last ones.
    round_trip: Option<u64>,
    least_at: u64,
    has_handshake: bool,
    /// The smallest such time while this end had no data on its way, and when that was.
    without_own_data: Option<(u64, u64)>,
    recent: VecDeque<u64>,
    /// The smallest time until it echoed the other end's clock, and the last such times.
    echo: Option<u64>,
    recent_echoes: VecDeque<u64>,
    /// Values of its own clock that the other end has not echoed, each with the first packet that
    /// had it. The newest value, which later packets may have too, after its echo.
    ticks: VecDeque<(u32, u64)>,
    newest_tick: Option<u32>,
    /// When it had heard of the other end.
    opened_at: Option<u64>,
    longest: u32,
    retransmitted: u64,
    /// Bytes between those that were captured, not yet acknowledged, and those that were
    /// acknowledged though no packet of the capture has them.
    holes: VecDeque<(u64, u64)>,
    missing: u64,
    /// Acknowledgements that told of new bytes.
    advances: u64,
    /// The shift of its windows as its SYN has it, if that was captured.
    shift: Option<Option<u8>>,
}

impl Side {
    fn sample(&mut self, nanos: u64, now: u64) {
        if nanos < self.least().unwrap_or(u64::MAX) {
            self.least_at = now;
        }
        self.round_trip = Some(nanos.min(self.round_trip.unwrap_or(nanos)));
        self.measure_without_own_data(nanos, now);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(nanos);
    }

    /// A time until this end echoed the other end's clock.
    fn hear_echo(&mut self, since: Option<u64>, now: u64) {
        let Some(nanos) = since else {
            return;
        };
        if nanos < self.least().unwrap_or(u64::MAX) {
            self.least_at = now;
        }
        self.echo = Some(nanos.min(self.echo.unwrap_or(nanos)));
        self.measure_without_own_data(nanos, now);
        if self.recent_echoes.len() == RECENT {
            self.recent_echoes.pop_front();
        }
        self.recent_echoes.push_back(nanos);
    }

    /// An answer behind this end's own data waits in the same queue, however empty the link to this
    /// end is.
    fn measure_without_own_data(&mut self, nanos: u64, now: u64) {
        let least = self.without_own_data.map_or(u64::MAX, |(least, _)| least);
        if self.next <= self.acknowledged && nanos < least {
            self.without_own_data = Some((nanos, now));
        }
    }

    /// When the least time was measured: without own data on its way, if that gave about the same.
    fn measured_at(&self) -> Option<u64> {
        let (nanos, at) = self.without_own_data?;
        let least = self.least()?;
        (nanos <= least + least / ABOUT).then_some(at)
    }

    /// The present time from the capture point to this end and back, with what its data waits on the
    /// way.
    fn round_trip_with_wait(&self) -> u64 {
        let echoed = self.recent_echoes.iter().min().copied().unwrap_or(0);
        self.round_trip_to_capture().max(echoed)
    }

    /// The present time from the capture point to this end and back.
    fn round_trip_to_capture(&self) -> u64 {
        let least = self.recent.iter().min();
        least.copied().or(self.echo).unwrap_or(0)
    }

    /// The least time from the capture point to this end and back.
    fn least(&self) -> Option<u64> {
        [self.round_trip, self.echo].into_iter().flatten().min()
    }

    /// The time that an acknowledgement takes to this end and what it allows takes back. A clock's
    /// echo has no delay where packets follow acknowledgements.
    fn clock(&self) -> Option<u64> {
        let least = self.recent.iter().min().copied();
        [least, self.echo].into_iter().flatten().min()
    }

    /// Whether an acknowledgement that passed allowed what passes now.
    fn is_clocked(&self, now: u64) -> bool {
        let allowed = now.saturating_sub(self.clock().unwrap_or(0));
        has_heard(&self.heard, allowed, CLOCK)
    }

    /// An acknowledgement for all bytes before this position, from a receiver that would take so many
    /// more. Windows do not shrink.
    fn hear(&mut self, position: u64, window: Option<u64>, now: u64) {
        self.acknowledged_at = now;
        let before = self.heard.back().map_or(0, |(_, _, edge)| *edge);
        let edge = window.map_or(0, |window| position.saturating_add(window).max(before));
        self.heard.push_back((now, position, edge));
        while let Some((first, ..)) = self.heard.front()
            && (self.heard.len() > MOST_HEARD || now.saturating_sub(*first) > LONGEST_HEARD)
        {
            self.heard.pop_front();
        }
    }

    /// A packet of this end has a value of its clock.
    fn tick(&mut self, value: u32, now: u64) {
        if let Some(newest) = self.newest_tick
            && value.wrapping_sub(newest) as i32 <= 0
        {
            return;
        }
        self.newest_tick = Some(value);
        self.ticks.push_back((value, now));
        if self.ticks.len() > MOST_TICKS {
            self.ticks.pop_front();
        }
    }

    /// The time since this end's clock had a value, if nobody has asked yet.
    fn since_tick(&mut self, value: u32, now: u64) -> Option<u64> {
        while let Some(&(first, at)) = self.ticks.front()
            && value.wrapping_sub(first) as i32 >= 0
        {
            self.ticks.pop_front();
            if first == value {
                return Some(now.saturating_sub(at));
            }
        }
        None
    }

    /// Data up to `start` has not passed, but what comes next has.
    fn skip_to(&mut self, start: u64) {
        if start > self.next && self.holes.len() < MOST_HOLES {
            self.holes.push_back((self.next, start));
        }
    }

    /// Old data passes.
    fn fill(&mut self, start: u64, end: u64) {
        for hole in &mut self.holes {
            if start <= hole.0 && end > hole.0 {
                hole.0 = end.min(hole.1);
            } else if start < hole.1 && end >= hole.1 {
                hole.1 = start;
            }
        }
    }

    /// All bytes before this position are acknowledged: holes among them were never captured.
    fn close_holes(&mut self, position: u64) {
        while let Some((begin, end)) = self.holes.front()
            && *end <= position
        {
            self.missing += end - begin;
            self.holes.pop_front();
        }
    }

    /// The position in the stream of a sequence number, near a known one.
    fn position(&self, number: u32, near: u64) -> u64 {
        let base = self.base.unwrap_or(number);
        let expected = base.wrapping_add(near as u32);
        let ahead = i64::from(number.wrapping_sub(expected) as i32);
        near.saturating_add_signed(ahead)
    }
}

/// A message as it is heard.
#[derive(Debug)]
struct Said {
    by: End,
    /// Wait after the other end's message, and after the same end's write.
    after_other: u64,
    after_own: u64,
    writes: Vec<Write>,
    /// When the last write began that does not go on with one before, and the last one of all.
    write_at: u64,
    piece_at: u64,
    began_at: u64,
    ended_at: u64,
    packets: u64,
    /// When the first window was sent.
    first_window_at: u64,
    /// When all of it was acknowledged.
    came_at: Option<u64>,
    /// Of packets behind the first window.
    evidence: Option<Box<Evidence>>,
}

/// What remains of a dialogue.
pub(super) struct Finished {
    /// The connection, without its congestion control and what it follows.
    pub(super) connection: Connection,
    /// What its transfers show of the congestion control.
    pub(super) votes: Votes,
    /// When the server's answers had come.
    pub(super) answers: Vec<Answer>,
}

/// What an application wrote at once, or data that its sender may have had before.
#[derive(Debug, Clone, Copy)]
struct Write {
    /// Time after the write before.
    gap: u64,
    bytes: u64,
    /// Whether this goes on with the write before, as an acknowledgement or its last packet allowed
    /// it.
    goes_on: bool,
}

impl Said {
    fn bytes(&self) -> u64 {
        self.writes.iter().map(|write| write.bytes).sum()
    }

    fn limit(&self, around: Surroundings) -> Limit {
        let evidence = self.evidence.as_ref();
        evidence.map_or(Limit::Unknown, |evidence| evidence.limit(around))
    }

    /// The writes: times after the write before, and bytes. Without `is_in_step`, an acknowledgement
    /// that allowed a packet says that its data was written before.
    fn writes(&self, is_in_step: bool) -> Vec<(u64, u64)> {
        let mut writes: Vec<(u64, u64)> = Vec::new();
        let mut passed = 0;
        for write in &self.writes {
            passed += write.gap;
            match writes.last_mut() {
                Some((_, bytes)) if write.goes_on && !is_in_step => *bytes += write.bytes,
                _ => {
                    writes.push((passed, write.bytes));
                    passed = 0;
                }
            }
        }
        writes
    }
}

/// A connection while it is read.
#[derive(Debug)]
pub(super) struct Dialogue {
    ends: [SocketAddr; 2],
    start: u64,
    has_opening: bool,
    sides: [Side; 2],
    said: Vec<Said>,
    /// Messages that began while the other end's was not acknowledged.
    overlaps: u64,
    ecn: bool,
    close: Option<(End, u64, u64)>,
}

impl Dialogue {
    /// How many pieces are kept of what was said.
    pub(super) const fn pieces(&self) -> usize {
        self.said.len()
    }

    /// A connection at its first packet. Of one that began before, the server is the end with a well
    /// known port, or the end that sends more ([`Self::turn`]).
    pub(super) fn new([from, to]: [SocketAddr; 2], segment: &TcpSegment, now: u64) -> Self {
        let is_of_client = match (segment.is_syn, segment.is_ack) {
            (true, is_ack) => !is_ack,
            _ => from.port() >= to.port(),
        };
        let ends = if is_of_client { [from, to] } else { [to, from] };
        Self {
            ends,
            start: now,
            has_opening: segment.is_syn,
            sides: [Side::default(), Side::default()],
            said: Vec::new(),
            overlaps: 0,
            ecn: false,
            close: None,
        }
    }

    pub(super) fn end_of(&self, from: SocketAddr) -> End {
        if from == self.ends[0] {
            End::Client
        } else {
            End::Server
        }
    }

    pub(super) const fn goes_over(&mut self, by: End) {
        self.sides[by as usize].over = true;
    }

    /// Whether an end closed it: the next SYN opens another one.
    pub(super) const fn is_over(&self) -> bool {
        self.close.is_some()
    }

    /// Reads a packet of an end, and tells the courses of both directions what has left the link.
    pub(super) fn hear(
        &mut self,
        by: End,
        segment: &TcpSegment,
        packet: Heading,
        courses: &mut [Course; 2],
    ) {
        let Heading { ecn, len, now } = packet;
        self.sides[by as usize].seen = true;
        self.leave(by, segment, packet, courses);
        if segment.is_syn {
            self.open(by, segment, now);
        } else if self.sides[by as usize].base.is_none() {
            self.sides[by as usize].base = Some(segment.sequence);
        }
        if let Some([value, echo]) = segment.timestamps {
            self.sides[by as usize].tick(value, now);
            let since = self.sides[by.other() as usize].since_tick(echo, now);
            self.sides[by as usize].hear_echo(since, now);
            if let (Some(since), Some(evidence)) = (since, self.evidence(by)) {
                evidence.count_echo(now, since);
            }
        }
        if segment.is_ack {
            self.acknowledge(by, segment, now, courses);
        }
        if segment.len > 0 && !segment.is_syn {
            self.ecn |= ecn != Ecn::NotCapable;
            self.sides[by as usize].header = len.saturating_sub(segment.len).into();
            self.send(by, segment, now, courses);
        }
        if segment.is_fin || segment.is_reset {
            self.close_by(by, segment.is_reset, now);
        }
    }

    /// What has left the link: data when it is acknowledged, all else when it passes.
    fn leave(&self, by: End, segment: &TcpSegment, packet: Heading, courses: &mut [Course; 2]) {
        let Heading { len, now, .. } = packet;
        let own = &self.sides[by as usize];
        let other = &self.sides[by.other() as usize];
        if segment.len == 0 || !other.seen {
            courses[usize::from(!own.over)].leave([now, now], len.into());
        }
        if !segment.is_ack || !other.seen {
            return;
        }
        let position = other.position(segment.acknowledgement, other.acknowledged);
        let bytes = position.min(other.next).saturating_sub(other.acknowledged);
        let sent_at = match other.outstanding.front() {
            Some((_, at)) => *at,
            None => now,
        };
        let since = other.advanced_at.max(sent_at).min(now);
        let headers = bytes.div_ceil(other.longest.max(1).into()) * other.header;
        if bytes > 0 {
            courses[usize::from(!other.over)].leave([since, now], bytes + headers);
        }
    }

    /// An end closes. What is known of packets on their way is forgotten with the second one, because
    /// a capture may have a million connections.
    fn close_by(&mut self, by: End, is_reset: bool, now: u64) {
        let is_second = self.close.is_some_and(|(first, ..)| first != by);
        if self.close.is_none() {
            let other = &self.sides[by.other() as usize];
            self.close = Some((by, now, other.next.saturating_sub(other.acknowledged)));
        }
        if is_second || is_reset {
            for side in &mut self.sides {
                side.heard = Heard::new();
                side.outstanding = VecDeque::new();
                side.holes = VecDeque::new();
                side.ticks = VecDeque::new();
            }
        }
    }

    /// A SYN. One that is sent again tells nothing of the round trip.
    fn open(&mut self, by: End, segment: &TcpSegment, now: u64) {
        let is_again = self.sides[by as usize].base.is_some();
        self.sides[by as usize].base = Some(segment.sequence.wrapping_add(1));
        self.sides[by as usize].shift = Some(segment.window_scale);
        if by == End::Server && !is_again {
            self.sides[1].opened_at = Some(now);
            if self.has_opening && self.sides[0].seen {
                self.sides[1].sample(now.saturating_sub(self.start), now);
                self.sides[1].has_handshake = true;
            }
        }
        if is_again {
            self.sides[1].recent.clear();
            self.sides[1].round_trip = None;
            self.sides[1].without_own_data = None;
            self.sides[1].has_handshake = false;
        }
    }

    /// An acknowledgement by an end for the other end's data.
    fn acknowledge(&mut self, by: End, segment: &TcpSegment, now: u64, courses: &mut [Course; 2]) {
        let number = segment.acknowledgement;
        let window = self.window(by, segment);
        self.open_client(by, now);
        let other = &mut self.sides[by.other() as usize];
        if other.base.is_none() {
            other.base = Some(number);
        }
        let position = other.position(number, other.acknowledged);
        other.hear(position.max(other.acknowledged), window, now);
        // A FIN takes a number, too.
        if position > other.next + 1 {
            // Data that passed elsewhere.
            let unseen = position - other.next;
            other.close_holes(position);
            other.missing += if other.seen { unseen } else { 0 };
            other.advances += 1;
            return self.guess(by.other(), unseen, position, now);
        }
        let position = position.min(other.next);
        if position <= other.acknowledged {
            return;
        }
        other.acknowledged = position;
        let is_all = position == other.next;
        if let Some(said) = self.said.last_mut().filter(|said| said.by != by && is_all) {
            said.came_at = Some(now);
        }
        other.advanced_at = now;
        other.advances += 1;
        other.close_holes(position);
        let mut sample = None;
        while let Some(&(end, at)) = other.outstanding.front()
            && end <= position
        {
            other.outstanding.pop_front();
            if end == position && end > other.again_until {
                sample = Some(now.saturating_sub(at));
            }
        }
        if let Some(sample) = sample {
            self.sides[by as usize].sample(sample, now);
            let receiver = self.ends[by as usize].ip();
            courses[self.way_of(by.other())].measure(now, sample, receiver);
            if let Some(evidence) = self.evidence(by.other()) {
                evidence.count_round_trip(now, sample);
            }
        }
    }

    /// The receive window that an end's packet tells, if both SYNs were captured: windows are scaled
    /// if both have a scale, and that of a SYN never is (RFC 7323, section 2.2).
    fn window(&self, by: End, segment: &TcpSegment) -> Option<u64> {
        let [Some(one), Some(other)] = [by, by.other()].map(|end| self.sides[end as usize].shift)
        else {
            return None;
        };
        let shift = match one.zip(other) {
            Some((own, _)) if !segment.is_syn => own.min(MOST_SHIFT),
            _ => 0,
        };
        Some(u64::from(segment.window) << shift)
    }

    /// The evidence of the message that an end is writing.
    fn evidence(&mut self, by: End) -> Option<&mut Evidence> {
        let said = self.said.last_mut().filter(|said| said.by == by)?;
        said.evidence.as_deref_mut()
    }

    /// The client has heard of the server with its first acknowledgement.
    fn open_client(&mut self, by: End, now: u64) {
        let server = self.sides[1].opened_at;
        let client = &mut self.sides[0];
        if by == End::Client && client.opened_at.is_none() {
            client.opened_at = Some(now);
            if let Some(server) = server {
                client.sample(now.saturating_sub(server), now);
                client.has_handshake = true;
                // The server speaks first with this acknowledgement, and not with the SYN.
                let to_server = self.sides[1].round_trip_to_capture();
                self.sides[1].opened_at = Some(now + to_server);
            }
        }
    }

    /// Data of an end that was not captured, known from the acknowledgement for it.
    fn guess(&mut self, by: End, bytes: u64, position: u64, now: u64) {
        let side = &mut self.sides[by as usize];
        side.acknowledged = position;
        side.next = position;
        side.outstanding.clear();
        side.data_at = now;
        self.say(by, bytes, now);
    }

    /// Data of an end.
    fn send(&mut self, by: End, segment: &TcpSegment, now: u64, courses: &mut [Course; 2]) {
        let side = &mut self.sides[by as usize];
        side.longest = side.longest.max(segment.len);
        let start = side.position(segment.sequence, side.next);
        let end = start + u64::from(segment.len);
        side.skip_to(start);
        if end <= side.next {
            side.fill(start, end);
            side.retransmitted += 1;
            if side.next > side.acknowledged {
                // The message is not whole before its repairs are there.
                side.data_at = now;
            }
            side.again_until = side.again_until.max(end);
            if !self.is_out_of_order(by, end, now) {
                courses[self.way_of(by)].repair(now);
                if let Some(evidence) = self.evidence(by) {
                    evidence.count_retransmission(now);
                }
            }
            return;
        }
        let bytes = end - side.next;
        if self.is_of_protocol(by, bytes) {
            self.sides[by as usize].protocol += bytes;
        } else {
            self.say(by, bytes, now);
        }
        let side = &mut self.sides[by as usize];
        side.next = end;
        side.data_at = now;
        side.outstanding.push_back((end, now));
        if side.outstanding.len() > MOST_OUTSTANDING {
            side.outstanding.pop_front();
        }
    }

    /// Whether a segment of old data comes so soon behind newer data that nobody can have asked for
    /// it: packets changed places.
    fn is_out_of_order(&self, by: End, end: u64, now: u64) -> bool {
        let outstanding = &self.sides[by as usize].outstanding;
        let newer = outstanding.partition_point(|(newer, _)| *newer < end);
        let Some((_, passed_at)) = outstanding.get(newer) else {
            return false;
        };
        let least = self.sides[by.other() as usize].least().unwrap_or(0);
        now.saturating_sub(*passed_at) < least / 2
    }

    /// New bytes of an end: of the message that it is writing, or of a new one.
    fn say(&mut self, by: End, bytes: u64, now: u64) {
        let side = &self.sides[by as usize];
        let round_trip = side.round_trip_to_capture();
        let to_receiver = self.sides[by.other() as usize].round_trip_with_wait();
        let with_wait = side.round_trip_with_wait() + to_receiver;
        let is_clocked = side.is_clocked(now);
        let is_distance_known = side.clock().is_some();
        let opened_at = side.opened_at.unwrap_or(now);
        let since_acknowledgement = now.saturating_sub(side.acknowledged_at);
        let since_data = now.saturating_sub(side.data_at);
        let has_outstanding = side.next > side.acknowledged;
        if let Some(said) = self.said.last_mut().filter(|said| said.by == by) {
            // An end that has sent much without a pause may be far away. A sender that paces has
            // something outstanding in each round trip, but not all the time.
            let round_trip = match said.packets {
                0..=FIRST_WINDOW => round_trip,
                _ if is_distance_known => with_wait,
                _ => with_wait.max(UNKNOWN_ROUND_TRIP),
            };
            let is_free = !has_outstanding && since_acknowledgement > round_trip + PAUSE;
            if !is_free || since_data <= PAUSE {
                said.packets += 1;
                said.ended_at = now;
                if said.packets <= FIRST_WINDOW {
                    said.first_window_at = now;
                }
                if said.packets > FIRST_WINDOW {
                    let evidence = said.evidence.get_or_insert_default();
                    if side.seen {
                        let end = side.next + bytes;
                        evidence.count(now, side.clock(), &side.heard, end, bytes);
                        let segment = side.longest.min(SEGMENT).into();
                        evidence.count_length(bytes, segment);
                        if let Some(round_trip) = side.clock() {
                            let allowed = now.saturating_sub(round_trip);
                            evidence.count_window(allowed, &side.heard, [end, bytes], segment);
                        }
                    } else {
                        evidence.count_unseen();
                    }
                }
                let goes_on = is_clocked || since_data <= PAUSE;
                match said.writes.last_mut() {
                    Some(write) if goes_on && now.saturating_sub(said.piece_at) < PIECE => {
                        write.bytes += bytes;
                    }
                    _ => {
                        said.writes.push(Write {
                            gap: now.saturating_sub(said.piece_at),
                            bytes,
                            goes_on,
                        });
                        said.piece_at = now;
                        if !goes_on {
                            said.write_at = now;
                        }
                    }
                }
                return;
            }
        }
        self.note_overlap(by, now);
        let bytes = bytes + std::mem::take(&mut self.sides[by as usize].protocol);
        let after_other = self.since_other(by, now);
        let own = self.said.iter().rfind(|said| said.by == by);
        let own = own.map_or(opened_at, |said| said.write_at);
        self.said.push(Said {
            by,
            after_other,
            after_own: now.saturating_sub(own),
            writes: vec![Write {
                gap: 0,
                bytes,
                goes_on: false,
            }],
            write_at: now,
            piece_at: now,
            began_at: now,
            ended_at: now,
            packets: 1,
            first_window_at: now,
            came_at: None,
            evidence: None,
        });
    }

    /// Whether an end's write while the other one sends much belongs to the protocol, so that the
    /// other end's message goes on.
    fn is_of_protocol(&self, by: End, bytes: u64) -> bool {
        let Some(said) = self.said.last() else {
            return false;
        };
        let is_amid = said.by != by && said.packets > FIRST_WINDOW;
        bytes <= MOST_OF_PROTOCOL && is_amid && !self.has_acknowledged_all(by)
    }

    /// Counts an overlap if the end begins a message while data for it is under way, because then
    /// the message is no answer to all that the other end said.
    fn note_overlap(&mut self, by: End, now: u64) {
        let is_under_way = !self.has_acknowledged_all(by) && self.can_answer_from(by) > now;
        self.overlaps += u64::from(!self.said.is_empty() && is_under_way);
    }

    /// Time since the end could have answered all that the other end said, or the opening.
    fn since_other(&self, by: End, now: u64) -> u64 {
        if self.said.is_empty() {
            let side = &self.sides[by as usize];
            return now.saturating_sub(side.opened_at.unwrap_or(now));
        }
        now.saturating_sub(self.can_answer_from(by))
    }

    /// The earliest time at which a packet of the end that passes the capture point can answer
    /// all that the other end said.
    fn can_answer_from(&self, by: End) -> u64 {
        let side = &self.sides[by as usize];
        let other = &self.sides[by.other() as usize];
        let answer_at = other.data_at + side.round_trip_to_capture();
        if self.has_acknowledged_all(by) {
            // The acknowledgement was such a packet.
            answer_at.min(other.acknowledged_at)
        } else {
            answer_at
        }
    }

    /// Whether the end has acknowledged all that the other end said.
    fn has_acknowledged_all(&self, by: End) -> bool {
        let other = &self.sides[by.other() as usize];
        other.acknowledged >= other.next
    }

    /// Least times from the capture point to both ends and back.
    pub(super) fn least(&self) -> [Option<u64>; 2] {
        let mut least = [None; 2];
        for said in &self.said {
            let distance = said
                .evidence
                .as_ref()
                .and_then(|evidence| evidence.distance());
            let known = &mut least[said.by as usize];
            *known = [*known, distance].into_iter().flatten().min();
        }
        for (known, side) in least.iter_mut().zip(&self.sides) {
            *known = side.least().or(*known);
        }
        least
    }

    /// Whether the least time to each end was that of an empty link: it was measured by the
    /// connection's own handshake or by its receiving, while the link to that end had room, or
    /// while somebody else beyond the link was as near as the nearest of all.
    fn is_quiet(&self, ways: &Ways) -> [bool; 2] {
        End::BOTH.map(|end| {
            let side = &self.sides[end as usize];
            let way = self.way_of(end.other());
            let course = &ways.courses[way];
            let Some(at) = side.measured_at() else {
                return false;
            };
            let has_room = course.load_before(at) < BUSY * ways.rates[way];
            let least = ways.nearest[way];
            let is_alike =
                matches!(course.least(at), Some((nearest, _)) if nearest * 2 < least * 3);
            has_room || is_alike
        })
    }

    /// What the link's queue held data up when the least time to each end was measured: by so much
    /// the time to the receiver that was nearest then was longer than the least one to this receiver.
    /// Without end if nothing was measured then.
    fn waits(&self, ways: &Ways) -> [Duration; 2] {
        End::BOTH.map(|end| {
            let way = self.way_of(end.other());
            let then = ways.courses[way].least(self.sides[end as usize].least_at);
            then.map_or(Duration::MAX, |(then, receiver)| {
                let least = ways.bases.of_host(receiver);
                Duration::from_nanos(then.saturating_sub(least))
            })
        })
    }

    /// Addresses of both ends.
    pub(super) const fn ends(&self) -> [SocketAddr; 2] {
        self.ends
    }

    /// The direction in which an end's data goes: 0 is the link's.
    pub(super) const fn way_of(&self, by: End) -> usize {
        !self.sides[by as usize].over as usize
    }

    /// Tells the courses of messages whose data waited there.
    pub(super) fn compete(&self, bases: [u64; 2], courses: &mut [Course; 2]) {
        for said in &self.said {
            let ways = [bases[said.by as usize], bases[said.by.other() as usize]];
            if let Some(evidence) = &said.evidence
                && evidence.is_waiting(ways)
            {
                courses[self.way_of(said.by)].compete([said.began_at, said.ended_at]);
            }
        }
    }

    /// What a message's limit depends on beside its own packets. `bases`: the least round trips to
    /// both ends.
    fn surroundings(&self, said: &Said, bases: [u64; 2], ways: &Ways) -> Surroundings {
        let time = [said.began_at, said.ended_at];
        let way = self.way_of(said.by);
        let fair = ways.courses[way].fair(time);
        Surroundings {
            to_receiver: bases[said.by.other() as usize],
            to_sender: bases[said.by as usize],
            // A clock that was set back makes no time negative.
            lasted: said.ended_at.saturating_sub(said.began_at),
            first_window: said.first_window_at.saturating_sub(said.began_at),
            share: (fair > 0.0).then(|| said.bytes() as f64 / fair),
            load: ways.courses[way].load(time) / ways.rates[way].max(1.0),
        }
    }

    /// Writes of the protocol behind an end's last message go with that.
    fn end_protocols(&mut self) {
        for by in End::BOTH {
            let bytes = std::mem::take(&mut self.sides[by as usize].protocol);
            let last = self.said.iter_mut().rfind(|said| said.by == by);
            match last.and_then(|said| said.writes.last_mut()) {
                Some(write) => write.bytes += bytes,
                None if bytes > 0 => self.say(by, bytes, self.sides[by as usize].data_at),
                None => {}
            }
        }
    }

    /// The server is the end that sends more, if the connection began before the capture and no port
    /// tells it.
    fn turn(&mut self) -> bool {
        let is_known = self.ends.iter().any(|end| end.port() < WELL_KNOWN);
        if self.has_opening || is_known || self.sides[0].next <= self.sides[1].next {
            return false;
        }
        self.ends.reverse();
        self.sides.reverse();
        for said in &mut self.said {
            said.by = said.by.other();
        }
        if let Some((end, ..)) = &mut self.close {
            *end = end.other();
        }
        true
    }

    /// The connection at the end of the capture. `bases`: the least round trips to both ends.
    pub(super) fn finish(mut self, last: u64, bases: [u64; 2], ways: &Ways) -> Finished {
        self.end_protocols();
        let least = self.least();
        let mut limits = Vec::with_capacity(self.said.len());
        for said in &self.said {
            limits.push(said.limit(self.surroundings(said, bases, ways)));
        }
        // Of what its sender did not end, nobody knows how much it would have been.
        let is_cut = self.is_cut(last);
        if is_cut && let Some(limit @ Limit::Paced { is_busy: false }) = limits.last_mut() {
            *limit = Limit::Application { is_in_step: true };
        }
        let may_be_endless = is_cut && self.may_have_wanted_more(bases, ways);
        let votes = self.votes(&limits, bases, ways);
        let by_unknown_window = self.by_unknown_window(&limits, bases, ways);
        let has_small_queue = self.has_small_queue(&limits, bases, ways);
        let is_turned = self.turn();
        let limited = self.limited(&limits);
        let round_trips = if is_turned {
            [least[1], least[0]]
        } else {
            least
        };
        let is_quiet = self.is_quiet(ways);
        let waits = self.waits(ways);
        let concurrent = self.overlaps >= 2 && self.overlaps * 10 >= self.said.len() as u64;
        let endless = self.is_endless(last, limits.last().copied());
        let is_held = matches!(limits.last(), Some(limit) if limit.is_network());
        let window = self.limiting_window(&limits);
        let (messages, ends) = self.messages(concurrent, &limits);
        let mut answers = Vec::new();
        for (said, end) in self.said.iter().zip(ends) {
            if let Some(came_at) = said
                .came_at
                .filter(|_| said.by == End::Server && !concurrent)
            {
                answers.push((came_at, end));
            }
        }
        let mut writes_if_paced = Vec::new();
        if endless && let Some(limit @ Limit::Paced { .. }) = limits.last_mut() {
            *limit = Limit::Application { is_in_step: true };
            (writes_if_paced, _) = self.messages(concurrent, &limits);
            writes_if_paced.drain(..messages.len() - 1);
        }
        let mut writes_if_endless = 0;
        if may_be_endless
            && let (Some(limit), Some(said)) = (limits.last(), self.said.last())
            && let Limit::Application { is_in_step } = limit
        {
            writes_if_endless = said.writes(*is_in_step).len();
        }
        let [client, server] = self.sides;
        let connection = Connection {
            client: self.ends[0],
            server: self.ends[1],
            start: Duration::from_nanos(self.start),
            has_opening: self.has_opening,
            close: self.close.map_or(Close::Open, |(end, at, _)| {
                Close::By(end, Duration::from_nanos(at))
            }),
            seen: [client.seen, server.seen],
            over: [client.over, server.over],
            round_trips: round_trips.map(|least| least.map(Duration::from_nanos)),
            is_quiet,
            waits,
            has_handshake: [client.has_handshake, server.has_handshake],
            segment_len: [client.longest, server.longest],
            ecn: self.ecn,
            bytes: [client.next, server.next],
            limited,
            retransmitted: [client.retransmitted, server.retransmitted],
            missing: [client.missing, server.missing],
            advances: [client.advances, server.advances],
            by_unknown_window,
            messages,
            concurrent,
            endless,
            writes_if_paced,
            writes_if_endless,
            control: None,
            is_held,
            window,
            has_small_queue,
            follows: None,
        };
        Finished {
            connection,
            votes,
            answers,
        }
    }

    /// What the receive windows of both ends did: the largest one that was a limit.
    fn limiting_window(&self, limits: &[Limit]) -> Window {
        let mut most = None;
        for (said, limit) in self.said.iter().zip(limits) {
            let evidence = said.evidence.as_ref().filter(|_| *limit == Limit::Receiver);
            let full = evidence.and_then(|evidence| evidence.full_window());
            most = most.max(full);
        }
        match most {
            Some(bytes) => Window::Limit(bytes),
            None if self.sides.iter().all(|side| side.shift.is_some()) => Window::Roomy,
            None => Window::Unknown,
        }
    }

    /// What was said: a message whose application made its sender wait is a list of writes. And the
    /// index of each one's last write.
    fn messages(&self, concurrent: bool, limits: &[Limit]) -> (Vec<Message>, Vec<usize>) {
        let mut messages = Vec::new();
        let mut ends = Vec::new();
        let mut before = None;
        let period = if concurrent { None } else { self.period() };
        let mut asked_at = None;
        for (said, limit) in self.said.iter().zip(limits) {
            let is_request = said.by == End::Client && before == Some(End::Server);
            let mut every = None;
            if is_request
                && said.after_other > LEAST_PAUSE
                && let (Some(asked_at), Some(period)) = (asked_at, period)
                && is_near(said.began_at.saturating_sub(asked_at), period)
            {
                every = Some(Duration::from_nanos(period));
            }
            if said.by == End::Client {
                asked_at = Some(said.began_at);
            }
            let after = if concurrent || before == Some(said.by) {
                said.after_own
            } else {
                said.after_other
            };
            before = Some(said.by);
            let mut writes = match limit {
                Limit::Application { is_in_step } => said.writes(*is_in_step),
                _ => vec![(0, said.bytes())],
            };
            writes[0].0 = after;
            for (after, bytes) in writes {
                messages.push(Message {
                    by: said.by,
                    bytes,
                    after: Duration::from_nanos(after),
                    every: every.take(),
                });
            }
            ends.push(messages.len() - 1);
        }
        (messages, ends)
    }

    /// The period of a client's clock, nanoseconds, if its pauses show one: as a player's, which
    /// asks for a chunk each so many seconds, or when its buffer has room. Requests that did not
    /// wait tell nothing, because the buffer was being filled. The distances of the others are
    /// alike, and more so than their pauses, because answers take longer at some times than at
    /// others.
    fn period(&self) -> Option<u64> {
        let mut distances = Vec::new();
        let mut pauses = Vec::new();
        let mut asked_at: Option<u64> = None;
        let mut before = End::Client;
        for said in &self.said {
            if said.by == End::Client {
                if before == End::Server
                    && said.after_other > LEAST_PAUSE
                    && let Some(asked_at) = asked_at
                {
                    distances.push(said.began_at.saturating_sub(asked_at));
                    pauses.push(said.after_other);
                }
                asked_at = Some(said.began_at);
            }
            before = said.by;
        }
        distances.sort_unstable();
        let period = *distances.get(distances.len() / 2)?;
        let mut near = 0;
        for distance in &distances {
            near += usize::from(is_near(*distance, period));
        }
        let is_clock = near >= LEAST_TICKS && near * 4 >= distances.len() * 3;
        let is_steadier = spread(&mut pauses) > 2 * spread(&mut distances);
        (is_clock && is_steadier && period >= LEAST_PERIOD).then_some(period)
    }

    /// Bytes of each end in messages of which the network was the limit.
    fn limited(&self, limits: &[Limit]) -> [u64; 2] {
        let mut limited = [0; 2];
        for (said, limit) in self.said.iter().zip(limits) {
            if limit.is_network() {
                limited[said.by as usize] += said.bytes();
            }
        }
        limited
    }

    /// What the messages that the network held back show of their sender's congestion control.
    fn votes(&self, limits: &[Limit], bases: [u64; 2], ways: &Ways) -> Votes {
        let mut votes = Votes::default();
        for (said, limit) in self.said.iter().zip(limits) {
            let segment = self.sides[said.by as usize].longest.min(SEGMENT).into();
            if limit.is_network()
                && let Some(evidence) = &said.evidence
            {
                let around = self.surroundings(said, bases, ways);
                votes.add(evidence.votes(segment, around));
            }
        }
        votes
    }

    /// Whether an upload is limited by the queue of its own host, which stops it.
    fn has_small_queue(&self, limits: &[Limit], bases: [u64; 2], ways: &Ways) -> bool {
        for (said, limit) in self.said.iter().zip(limits) {
            if self.way_of(said.by) == 1
                && limit.is_network()
                && let Some(evidence) = &said.evidence
                && evidence.has_steady_flight(self.surroundings(said, bases, ways))
            {
                return true;
            }
        }
        false
    }

    /// Bytes of each end in messages whose sender waited for acknowledgements though no queue was
    /// in its way, so that a window was the limit, if that window is unknown.
    fn by_unknown_window(&self, limits: &[Limit], bases: [u64; 2], ways: &Ways) -> [u64; 2] {
        let mut bytes = [0; 2];
        if self.sides.iter().all(|side| side.shift.is_some()) {
            return bytes;
        }
        for (said, limit) in self.said.iter().zip(limits) {
            if matches!(limit, Limit::Application { .. })
                && let Some(evidence) = &said.evidence
                && evidence.fills_a_window(self.surroundings(said, bases, ways))
            {
                bytes[said.by as usize] += said.bytes();
            }
        }
        bytes
    }

    /// Bytes of the link's messages whose data waited nearly all the time while the link had room.
    pub(super) fn held_up_elsewhere(&self, bases: [u64; 2], ways: &Ways) -> u64 {
        let mut bytes = 0;
        for said in &self.said {
            let around = self.surroundings(said, bases, ways);
            let has_room = around.load < BUSY && around.lasted > LONG_MESSAGE;
            if has_room
                && self.way_of(said.by) == 0
                && let Some(evidence) = &said.evidence
                && evidence.is_waiting([around.to_sender, around.to_receiver])
            {
                bytes += said.bytes();
            }
        }
        bytes
    }

    /// Whether the last message waited so long that it may have wanted more, whatever its limit is
    /// taken for.
    fn may_have_wanted_more(&self, bases: [u64; 2], ways: &Ways) -> bool {
        let Some(said) = self.said.last() else {
            return false;
        };
        let around = self.surroundings(said, bases, ways);
        match &said.evidence {
            Some(evidence) => evidence.is_doubtful(around),
            None => false,
        }
    }

    /// Tells what the other direction's messages show of it.
    pub(super) fn tell_of_way_back(&self, bases: [u64; 2], ways: &Ways, back: &mut WayBack) {
        for said in &self.said {
            let Some(evidence) = said.evidence.as_ref().filter(|_| self.way_of(said.by) == 1)
            else {
                continue;
            };
            let around = self.surroundings(said, bases, ways);
            let limit = said.limit(around);
            let wait = Duration::from_nanos(evidence.wait_of_sender(around.to_sender));
            let is_unclear = matches!(limit, Limit::Application { is_in_step: true });
            if limit.is_network() {
                back.wait = back.wait.max(Some(wait));
                back.losses += evidence.losses();
            } else if is_unclear && around.lasted > LONG_MESSAGE {
                back.unclear += said.bytes();
            }
        }
    }

    /// The times of messages that say why the link was busy: all that are no list of writes.
    pub(super) fn explain(&self, bases: [u64; 2], ways: &Ways, explained: &mut Vec<[u64; 2]>) {
        for said in &self.said {
            let limit = said.limit(self.surroundings(said, bases, ways));
            let is_written = matches!(limit, Limit::Application { .. });
            if self.way_of(said.by) == 0 && !is_written {
                explained.push([said.began_at, said.ended_at]);
            }
        }
    }

    /// Whether the last message was ended from outside: by the other end, or by the capture's.
    fn is_cut(&self, last: u64) -> bool {
        let Some(said) = self.said.last() else {
            return false;
        };
        let side = &self.sides[said.by as usize];
        match self.close {
            Some((end, _, outstanding)) => end != said.by && outstanding > 0,
            None => last.saturating_sub(side.data_at) < LAST_PART,
        }
    }

    /// Whether the last message would have gone on: the network was the limit, and it was ended from
    /// outside. One that is no longer than those before is one more of them: a chunk of a video, say,
    /// that the capture's end cuts off.
    fn is_endless(&self, last: u64, limit: Option<Limit>) -> bool {
        let Some(said) = self.said.last() else {
            return false;
        };
        let mut longest = 0;
        for before in &self.said[..self.said.len() - 1] {
            if before.by == said.by {
                longest = before.bytes().max(longest);
            }
        }
        let wanted = limit.is_some_and(Limit::wanted_more);
        self.is_cut(last) && wanted && said.bytes() > longest
    }
}

/// Whether a distance between requests is a clock's period.
const fn is_near(distance: u64, period: u64) -> bool {
    distance.abs_diff(period) <= LATE + period / PART_LATE
}

/// The distance of the middle half of these.
fn spread(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    let Some(last) = values.len().checked_sub(1) else {
        return 0;
    };
    values[last * 3 / 4] - values[last / 4]
}

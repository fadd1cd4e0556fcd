//! One connection, packet by packet: new bytes apart from retransmissions, round trips, and who
//! writes what after which wait.
//!
//! All times are those of the capture's place. A packet there follows what its sender heard by the
//! time from the place to the sender and back, so waits are reduced by it: by the smallest of the
//! last few such times, since one acknowledgement alone may be delayed.

use std::collections::VecDeque;
use std::net::SocketAddr;

use roundelay::{Duration, Ecn};

use super::{Close, Connection, End, Message};
use crate::headers::TcpSegment;

/// A packet that comes within this time of when an acknowledgement allowed it was allowed by it.
const CLOCK: u64 = 1_000_000;
/// A write that comes this long after the end was free to send is a write of its own.
const PAUSE: u64 = 2_000_000;
/// Packets of a message that tell whether its sender waits for acknowledgements or its application.
const TELLING: u64 = 30;
/// The part of them that follows an acknowledgement if the sender waits.
const CLOCKED: f64 = 0.95;
/// First packets of a message, which no acknowledgement allows.
const FIRST_WINDOW: u64 = 10;
/// A message that goes on in the last part of the capture may have wanted more.
const LAST_PART: u64 = 200_000_000;
/// Most segments whose acknowledgements are awaited: more are in flight on no path.
const MOST_OUTSTANDING: usize = 65_536;
/// Acknowledgements kept: those of a round trip, and as many as move no figure in a longer one.
const MOST_HEARD: usize = 256;
/// Round trips kept to find the smallest of the last ones.
const RECENT: usize = 4;

/// One end, as seen at the capture's place.
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
    /// When the last acknowledgements for it passed, further ones included.
    heard_at: VecDeque<u64>,
    /// Data on its way: its last byte, its time, and whether it was sent again.
    outstanding: VecDeque<(u64, u64, bool)>,
    /// Times from the place to this end and back: the smallest, and the last ones.
    round_trip: Option<u64>,
    recent: VecDeque<u64>,
    /// When it had heard of the other end.
    opened_at: Option<u64>,
    longest: u32,
    retransmitted: u64,
}

impl Side {
    fn sample(&mut self, nanos: u64) {
        self.round_trip = Some(self.round_trip.map_or(nanos, |least| least.min(nanos)));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(nanos);
    }

    /// Time from the place to this end and back, now.
    fn way(&self) -> u64 {
        self.recent.iter().copied().min().unwrap_or(0)
    }

    /// Whether an acknowledgement that passed allowed what passes now: it takes its way to this end,
    /// and what it allows takes the way back.
    fn is_clocked(&self, now: u64) -> bool {
        let allowed = now.saturating_sub(self.way());
        let mut heard = self.heard_at.iter().rev();
        heard.any(|at| at.abs_diff(allowed) <= CLOCK)
    }

    /// The place in the stream of a sequence number, near a known one.
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
    /// Writes: the time after the write before, and bytes.
    writes: Vec<(u64, u64)>,
    write_at: u64,
    /// Packets that may tell, and those that followed an acknowledgement.
    packets: u64,
    clocked: u64,
}

impl Said {
    fn bytes(&self) -> u64 {
        self.writes.iter().map(|(_, bytes)| *bytes).sum()
    }

    /// Packets behind the first window.
    const fn telling(&self) -> u64 {
        self.packets.saturating_sub(FIRST_WINDOW)
    }

    /// Whether the sender's window made it wait, not its application.
    fn is_clocked(&self) -> bool {
        self.telling() >= TELLING && self.clocked as f64 > CLOCKED * self.telling() as f64
    }

    /// Whether the application made the sender wait.
    fn is_paced(&self) -> bool {
        self.telling() >= TELLING && !self.is_clocked()
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
    /// A connection at its first packet. Of one that began before, the server is the end with the
    /// lower port.
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

    /// Reads a packet of an end.
    pub(super) fn hear(&mut self, by: End, segment: &TcpSegment, ecn: Ecn, now: u64) {
        self.sides[by as usize].seen = true;
        if segment.is_syn {
            self.open(by, segment, now);
        } else if self.sides[by as usize].base.is_none() {
            self.sides[by as usize].base = Some(segment.sequence);
        }
        if segment.is_ack {
            self.acknowledge(by, segment.acknowledgement, now);
        }
        if segment.len > 0 && !segment.is_syn {
            self.ecn |= ecn != Ecn::NotCapable;
            self.send(by, segment, now);
        }
        if (segment.is_fin || segment.is_reset) && self.close.is_none() {
            let other = &self.sides[by.other() as usize];
            self.close = Some((by, now, other.next.saturating_sub(other.acknowledged)));
        }
    }

    /// A SYN. One that is sent again tells nothing of the round trip.
    fn open(&mut self, by: End, segment: &TcpSegment, now: u64) {
        let is_again = self.sides[by as usize].base.is_some();
        self.sides[by as usize].base = Some(segment.sequence.wrapping_add(1));
        if by == End::Server && !is_again {
            self.sides[1].opened_at = Some(now);
            if self.has_opening && self.sides[0].seen {
                self.sides[1].sample(now.saturating_sub(self.start));
            }
        }
        if is_again {
            self.sides[1].recent.clear();
            self.sides[1].round_trip = None;
        }
    }

    /// An acknowledgement by an end for the other end's data.
    fn acknowledge(&mut self, by: End, number: u32, now: u64) {
        self.open_client(by, now);
        let other = &mut self.sides[by.other() as usize];
        if other.base.is_none() {
            other.base = Some(number);
        }
        let position = other.position(number, other.acknowledged);
        other.acknowledged_at = now;
        other.heard_at.push_back(now);
        if other.heard_at.len() > MOST_HEARD {
            other.heard_at.pop_front();
        }
        // A FIN takes a number, too.
        if position > other.next + 1 {
            // Data that passed elsewhere.
            let unseen = position - other.next;
            return self.guess(by.other(), unseen, position, now);
        }
        let position = position.min(other.next);
        if position <= other.acknowledged {
            return;
        }
        other.acknowledged = position;
        let mut sample = None;
        while let Some(&(end, at, again)) = other.outstanding.front()
            && end <= position
        {
            other.outstanding.pop_front();
            if end == position && !again {
                sample = Some(now.saturating_sub(at));
            }
        }
        if let Some(sample) = sample {
            self.sides[by as usize].sample(sample);
        }
    }

    /// The client has heard of the server with its first acknowledgement.
    fn open_client(&mut self, by: End, now: u64) {
        let server = self.sides[1].opened_at;
        let client = &mut self.sides[0];
        if by == End::Client && client.opened_at.is_none() {
            client.opened_at = Some(now);
            if let Some(server) = server {
                client.sample(now.saturating_sub(server));
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
    fn send(&mut self, by: End, segment: &TcpSegment, now: u64) {
        let side = &mut self.sides[by as usize];
        side.longest = side.longest.max(segment.len);
        let start = side.position(segment.sequence, side.next);
        let end = start + u64::from(segment.len);
        if end <= side.next {
            side.retransmitted += 1;
            if side.next > side.acknowledged {
                // The message is not whole before its repairs are there.
                side.data_at = now;
            }
            for (last, _, again) in &mut side.outstanding {
                *again |= *last <= end;
            }
            return;
        }
        let bytes = end - side.next;
        self.say(by, bytes, now);
        let side = &mut self.sides[by as usize];
        side.next = end;
        side.data_at = now;
        side.outstanding.push_back((end, now, false));
        if side.outstanding.len() > MOST_OUTSTANDING {
            side.outstanding.pop_front();
        }
    }

    /// New bytes of an end: of the message that it is writing, or of a new one.
    fn say(&mut self, by: End, bytes: u64, now: u64) {
        let side = &self.sides[by as usize];
        let way = side.way();
        let is_clocked = side.is_clocked(now);
        let opened_at = side.opened_at.unwrap_or(now);
        let since_acknowledgement = now.saturating_sub(side.acknowledged_at);
        let since_data = now.saturating_sub(side.data_at);
        let has_outstanding = side.next > side.acknowledged;
        if let Some(said) = self.said.last_mut().filter(|said| said.by == by) {
            let is_free = !has_outstanding && since_acknowledgement > way + PAUSE;
            if !is_free || since_data <= PAUSE {
                said.packets += 1;
                if said.packets > FIRST_WINDOW {
                    said.clocked += u64::from(is_clocked);
                }
                match said.writes.last_mut() {
                    Some((_, written)) if is_clocked || since_data <= PAUSE => *written += bytes,
                    _ => {
                        said.writes.push((now.saturating_sub(said.write_at), bytes));
                        said.write_at = now;
                    }
                }
                return;
            }
        }
        let after_other = self.since_other(by, now);
        let own = self.said.iter().rfind(|said| said.by == by);
        let own = own.map_or(opened_at, |said| said.write_at);
        self.said.push(Said {
            by,
            after_other,
            after_own: now.saturating_sub(own),
            writes: vec![(0, bytes)],
            write_at: now,
            packets: 1,
            clocked: 0,
        });
    }

    /// Time since the end could have heard all of what the other end said, or the opening.
    fn since_other(&mut self, by: End, now: u64) -> u64 {
        let [side, other] = [by, by.other()].map(|end| &self.sides[end as usize]);
        if self.said.last().is_none() {
            return now.saturating_sub(side.opened_at.unwrap_or(now));
        }
        let arrived = other.data_at + side.way();
        let is_acknowledged = other.acknowledged >= other.next;
        self.overlaps += u64::from(!is_acknowledged && arrived > now);
        let arrived = if is_acknowledged {
            arrived.min(other.acknowledged_at)
        } else {
            arrived
        };
        now.saturating_sub(arrived)
    }

    /// The connection at the end of the capture.
    pub(super) fn finish(self, last: u64) -> Connection {
        let concurrent = self.overlaps >= 2 && self.overlaps * 10 >= self.said.len() as u64;
        let endless = self.is_endless(last);
        let messages = self.messages(concurrent);
        let [client, server] = self.sides;
        let round_trips = [client.round_trip, server.round_trip];
        Connection {
            client: self.ends[0],
            server: self.ends[1],
            start: Duration::from_nanos(self.start),
            has_opening: self.has_opening,
            close: self.close.map_or(Close::Open, |(end, at, _)| {
                Close::By(end, Duration::from_nanos(at))
            }),
            seen: [client.seen, server.seen],
            over: [client.over, server.over],
            round_trips: round_trips.map(|way| way.map(Duration::from_nanos)),
            segment_len: [client.longest, server.longest],
            ecn: self.ecn,
            bytes: [client.next, server.next],
            retransmitted: [client.retransmitted, server.retransmitted],
            messages,
            concurrent,
            endless,
        }
    }

    /// What was said: a message whose application made its sender wait is a list of writes.
    fn messages(&self, concurrent: bool) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut before = None;
        for said in &self.said {
            let after = if concurrent || before == Some(said.by) {
                said.after_own
            } else {
                said.after_other
            };
            before = Some(said.by);
            let whole = [(after, said.bytes())];
            let writes = if said.is_paced() {
                &said.writes[..]
            } else {
                &whole
            };
            for (number, (gap, bytes)) in writes.iter().enumerate() {
                messages.push(Message {
                    by: said.by,
                    bytes: *bytes,
                    after: Duration::from_nanos(if number == 0 { after } else { *gap }),
                });
            }
        }
        messages
    }

    /// Whether the last message would have gone on: its window was the limit, and it was ended from
    /// outside. One that is no longer than those before is one more of them: a chunk of a video, say,
    /// that the capture's end cuts off.
    fn is_endless(&self, last: u64) -> bool {
        let Some(said) = self.said.last() else {
            return false;
        };
        let side = &self.sides[said.by as usize];
        let is_cut = match self.close {
            Some((end, _, outstanding)) => end != said.by && outstanding > 0,
            None => last.saturating_sub(side.data_at) < LAST_PART,
        };
        let mut longest = 0;
        for before in &self.said[..self.said.len() - 1] {
            if before.by == said.by {
                longest = before.bytes().max(longest);
            }
        }
        is_cut && said.is_clocked() && said.bytes() > longest
    }
}

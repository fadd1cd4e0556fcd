//! RC3, recursively cautious congestion control: what the window does not allow yet goes out at once, from the flow's end, at priorities so low
//! that nobody else's packets wait for it.
//!
//! Beside the usual loop of a [`Sender`], a [`Tail`] sends the flow's last segments backwards: 40 at the first low priority, 400 at the next,
//! 4000 at the third, the rest at the fourth. It sends each segment once, until it meets what the window has sent or the first acknowledgement
//! of data has come. The usual loop passes over what the tail has brought there, and repairs what it has not.
//!
//! Source: R. Mittal, J. Sherry, S. Ratnasamy, S. Shenker, "Recursively Cautious Congestion Control", NSDI 2014.
//!
//! | claim | test in `tests/theorems/rc3.rs` |
//! |---|---|
//! | priorities by 40, 400, 4000, backwards from the end | `priorities_follow_the_distance_from_the_end` |
//! | on an empty path a flow takes one round trip | `an_empty_path_takes_a_round_trip` |
//! | a tail that is lost costs nothing | `a_lost_tail_costs_nothing` |
//! | all bytes arrive, whatever of the tail is lost | `all_bytes_arrive_whatever_is_lost` |
//!
//! A tail needs selective acknowledgements. Its arrivals, and the acknowledgements that they call for, tell neither losses nor round trips: they
//! may come much later than what the window sends.

use roundelay::Instant;

use crate::config::Flavour;
use crate::segment::{Flags, Segment};
use crate::sender::{Mode, Sender};

/// Segments at each of the low priorities but the last, which takes the rest.
pub const LEVELS: [u32; 3] = [40, 400, 4000];

/// Sends a flow's end while its sender sends the beginning.
#[derive(Debug, Clone)]
pub struct Tail {
    levels: [u32; 3],
    /// The byte after the next segment's last.
    end: Option<u64>,
    sent: u32,
}

impl Default for Tail {
    fn default() -> Self {
        Self::new(LEVELS)
    }
}

impl Tail {
    /// A tail that has sent nothing, with so many segments at each priority.
    pub const fn new(levels: [u32; 3]) -> Self {
        Self { levels, end: None, sent: 0 }
    }

    /// The next segment of `sender`'s flow from its end, and its priority from 1 to 4, later for larger numbers (the window's is 0). None before
    /// the connection is open, once all is sent or something is acknowledged, and for flows without end, without selective acknowledgements or
    /// longer than the receive window. To be called when `sender` has nothing more to send, as fast as the first link takes segments.
    pub fn poll(&mut self, now: Instant, sender: &mut Sender) -> Option<(Segment, u8)> {
        let end = *self.end.get_or_insert(sender.supplied());
        let segment = sender.send_out_of_band(now, end)?;
        self.end = Some(segment.sequence);
        self.sent += 1;
        Some((segment, self.priority()))
    }

    fn priority(&self) -> u8 {
        let mut last = 0;
        let is_above = |level: &&u32| {
            last += **level;
            self.sent > last
        };
        1 + self.levels.iter().take_while(is_above).count() as u8
    }
}

impl Sender {
    /// The segment that ends before `end`, if that lies beyond what the window has sent.
    fn send_out_of_band(&mut self, now: Instant, end: u64) -> Option<Segment> {
        let is_early = self.mode == Mode::Open && self.acknowledged == 0 && self.highest > 0;
        let is_possible = self.config.flavour == Flavour::Sack && end <= self.config.receive_window_bytes();
        if !is_early || !is_possible || end <= self.highest {
            return None;
        }
        let sequence = ((end - 1) / self.segment_len() * self.segment_len()).max(self.highest);
        self.reach = self.reach.max(end);
        self.statistics.out_of_band += 1;
        let flags = Flags::OUT_OF_BAND.with_if(self.config.ecn, Flags::ECT);
        Some(Segment { sequence, len: (end - sequence) as u32, timestamp: self.tick(now), flags, ..Segment::default() })
    }

    /// What was told of data beyond what the window has sent.
    pub(crate) fn note_early(&mut self, start: u64, end: u64) {
        if end > self.highest && end <= self.reach {
            self.early.insert(start.max(self.highest), end);
        }
    }

    /// Passes over data that is there already.
    pub(crate) fn skip_early(&mut self) {
        let reached = self.early.advance(self.next);
        if reached > self.next {
            (self.next, self.highest) = (reached, reached);
        }
    }
}

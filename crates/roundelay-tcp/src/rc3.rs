//! RC3, recursively cautious congestion control: data beyond the window is sent at once, from the
//! flow's end. Its priorities are so low that it never delays other flows' packets.
//!
//! Beside a [`Sender`]'s usual loop, a [`Tail`] sends the flow's last segments backwards: 40 at the
//! first low priority, 400 at the next, 4000 at the third, the rest at the fourth. Each segment is
//! sent once, until the tail meets the data that the window has sent or the first acknowledgement
//! of data arrives. The usual loop skips data that the tail has delivered, and sends all other
//! data.
//!
//! Source: R. Mittal, J. Sherry, S. Ratnasamy, S. Shenker, "Recursively Cautious Congestion
//! Control", NSDI 2014.
//!
//! | claim | test in `tests/theorems/rc3.rs` |
//! |---|---|
//! | priorities by 40, 400, 4000, backwards from the end | `priorities_follow_the_distance_from_the_end` |
//! | on an empty path a flow takes one round trip | `an_empty_path_takes_a_round_trip` |
//! | a tail that is lost costs nothing | `a_lost_tail_costs_nothing` |
//! | all bytes arrive, whatever of the tail is lost | `all_bytes_arrive_whatever_is_lost` |
//!
//! A tail needs selective acknowledgements. Tail segments and their acknowledgements are evidence
//! neither for losses nor for round trips, because they may arrive much later than the window's
//! segments.

use roundelay::Instant;

use crate::config::Flavour;
use crate::segment::{Flags, Segment};
use crate::sender::{Mode, Sender};

/// Segments at each low priority but the last, which takes the rest.
pub const LEVELS: [u32; 3] = [40, 400, 4000];

/// Sends a flow's end while the sender sends its beginning.
#[derive(Debug, Clone)]
pub struct Tail {
    levels: [u32; 3],
    /// The byte after the end of the next segment.
    end: Option<u64>,
    sent: u32,
}

impl Default for Tail {
    fn default() -> Self {
        Self::new(LEVELS)
    }
}

impl Tail {
    /// A new tail, with how many segments go at each priority.
    pub const fn new(levels: [u32; 3]) -> Self {
        Self {
            levels,
            end: None,
            sent: 0,
        }
    }

    /// The next segment from the end of `sender`'s flow, with a priority from 1 to 4, where 4 is
    /// the lowest (the window's segments have 0). None before the connection is open, and after all
    /// data is sent or some is acknowledged. None also for endless flows, for flows without
    /// selective acknowledgements and for flows longer than the receive window. Call this when
    /// `sender` has no segment to send, at the first link's rate.
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
    /// The segment that ends before `end`, if it lies beyond the data that the window has sent.
    fn send_out_of_band(&mut self, now: Instant, end: u64) -> Option<Segment> {
        let is_early = self.mode == Mode::Open && self.acknowledged == 0 && self.highest > 0;
        let is_possible = self.config.flavour == Flavour::Sack && end <= self.receive_limit();
        if !is_early || !is_possible || end <= self.highest {
            return None;
        }
        let sequence = ((end - 1) / self.segment_len() * self.segment_len()).max(self.highest);
        self.reach = self.reach.max(end);
        self.statistics.out_of_band += 1;
        let flags = Flags::OUT_OF_BAND.with_if(self.config.ecn, Flags::ECT);
        Some(Segment {
            sequence,
            len: (end - sequence) as u32,
            timestamp: self.tick(now),
            flags,
            ..Segment::default()
        })
    }

    /// Records a block of data beyond the data that the window has sent.
    pub(crate) fn note_early_data(&mut self, start: u64, end: u64) {
        if end > self.highest && end <= self.reach {
            self.early.insert(start.max(self.highest), end);
        }
    }

    /// Skips data that the tail has delivered.
    pub(crate) fn skip_early(&mut self) {
        let reached = self.early.advance(self.next);
        if reached > self.next {
            (self.next, self.highest) = (reached, reached);
        }
    }
}

//! Slots: numbered room for frames. A frame stays where it was received, and a queue holds only its
//! slot's number. The queue is an arena, whose packets have the [`Slot`] as their payload, so a
//! frame's slot and the packet's slot in the arena are two numbers.

use roundelay::{Ecn, Instant};
use roundelay_trace::Sorted;

/// The number of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// A fixed number of slots, all of one size.
#[derive(Debug)]
pub struct Slots {
    bytes: Vec<u8>,
    size: usize,
    contents: Vec<Content>,
    /// The slot freed last comes first, so that a short queue touches few slots.
    free: Vec<Slot>,
}

/// What we know about the frame in a slot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Content {
    /// How many bytes the slot holds.
    stored: u32,
    /// The frame's length in bytes, whether stored or not.
    pub(crate) len: u32,
    /// The frame's number in its direction, from 0.
    pub(crate) number: u64,
    /// When the frame arrived at the queue.
    pub(crate) arrived: Instant,
    /// None before the frame has arrived at the queue.
    pub(crate) sorted: Option<Sorted>,
}

impl Content {
    /// Whether the frame came with CE.
    pub(crate) fn came_marked(&self) -> bool {
        self.sorted
            .is_some_and(|sorted| sorted.ecn() == Ecn::Marked)
    }
}

impl Slots {
    /// Makes `count` free slots with `size` bytes each.
    pub fn new(count: u32, size: usize) -> Self {
        Self {
            // The system zeroes each page when it is first touched.
            bytes: vec![0; count as usize * size],
            size,
            contents: vec![Content::default(); count as usize],
            free: (0..count).rev().map(Slot).collect(),
        }
    }

    /// How many bytes a slot has.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// How many slots are free.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// How many slots there are.
    pub fn count(&self) -> usize {
        self.contents.len()
    }

    /// Takes a free slot.
    pub fn take(&mut self) -> Option<Slot> {
        self.free.pop()
    }

    /// Gives a slot back, whatever it holds.
    pub fn release(&mut self, slot: Slot) {
        self.contents[slot.0 as usize] = Content::default();
        self.free.push(slot);
    }

    /// The whole slot.
    pub fn room(&mut self, slot: Slot) -> &mut [u8] {
        let at = slot.0 as usize * self.size;
        &mut self.bytes[at..at + self.size]
    }

    /// Notes how long the frame is that was written into the slot.
    ///
    /// # Panics
    /// The frame is longer than the slot.
    pub fn set_len(&mut self, slot: Slot, len: usize) {
        self.set_cut(slot, len, len as u32);
    }

    /// Notes that the slot holds the first `stored` bytes of a frame with `len` bytes.
    ///
    /// # Panics
    /// `stored` is more than the slot or the frame has.
    pub fn set_cut(&mut self, slot: Slot, stored: usize, len: u32) {
        assert!(
            stored <= self.size && stored <= len as usize,
            "a frame fits its slot"
        );
        let content = &mut self.contents[slot.0 as usize];
        (content.stored, content.len) = (stored as u32, len);
    }

    /// The frame in a slot.
    pub fn frame(&self, slot: Slot) -> &[u8] {
        let at = slot.0 as usize * self.size;
        &self.bytes[at..at + self.contents[slot.0 as usize].stored as usize]
    }

    /// The frame in a slot, for you to change its bytes.
    pub(crate) fn frame_mut(&mut self, slot: Slot) -> &mut [u8] {
        let at = slot.0 as usize * self.size;
        &mut self.bytes[at..at + self.contents[slot.0 as usize].stored as usize]
    }

    pub(crate) fn content(&self, slot: Slot) -> Content {
        self.contents[slot.0 as usize]
    }

    pub(crate) fn content_mut(&mut self, slot: Slot) -> &mut Content {
        &mut self.contents[slot.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_and_given_back() {
        let mut slots = Slots::new(2, 4);
        let first = slots.take().unwrap();
        let second = slots.take().unwrap();
        assert_eq!((slots.take(), slots.free()), (None, 0));
        slots.room(second)[..3].copy_from_slice(b"abc");
        slots.set_len(second, 3);
        assert_eq!(
            (slots.frame(second), slots.frame(first)),
            (&b"abc"[..], &b""[..])
        );
        slots.release(second);
        assert_eq!(slots.take(), Some(second), "the newest first");
        assert_eq!(slots.frame(second), b"", "empty again");
    }
}

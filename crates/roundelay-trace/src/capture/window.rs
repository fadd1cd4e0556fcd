//! A sliding read buffer over a capture, which grows only as bytes arrive.

use std::io::Read;

use super::decompress::Input;
use crate::error::Broken;

/// Bytes for each read: enough to make a read's cost negligible, and few enough for a second-level
/// cache.
const READ_SIZE: usize = 1 << 20;

/// A sliding window over the decompressed input.
pub(super) struct Window {
    input: Input,
    buffer: Vec<u8>,
    /// Where in `buffer` the first byte is that has not been consumed.
    start: usize,
    /// Where in `buffer` the bytes end that were read.
    end: usize,
    /// How many bytes of the decompressed input come before `start`.
    offset: u64,
}

/// Where a frame's bytes are in the window. Valid until the window is filled again.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteRange {
    start: usize,
    end: usize,
}

impl ByteRange {
    /// Number of bytes.
    pub(super) fn len(self) -> u32 {
        u32::try_from(self.end - self.start).unwrap_or(u32::MAX)
    }
}

impl Window {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Result<Self, Broken> {
        Ok(Self {
            input: Input::new(reader)?,
            buffer: vec![0; READ_SIZE],
            start: 0,
            end: 0,
            offset: 0,
        })
    }

    /// The input below the window.
    pub(super) const fn input(&self) -> &Input {
        &self.input
    }

    /// How many bytes have been consumed so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes in memory that have not been consumed.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// The first of these bytes, at most `length`.
    #[inline]
    pub(super) fn first(&self, length: usize) -> &[u8] {
        let bytes = self.bytes();
        bytes.get(..length).unwrap_or(bytes)
    }

    /// Reads until `wanted` bytes are available. False if the input ends before.
    #[inline]
    pub(super) fn fill(&mut self, wanted: usize) -> Result<bool, Broken> {
        while self.end - self.start < wanted {
            if !self.read_more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Consumes `length` bytes, which must be in memory.
    #[inline]
    pub(super) fn advance(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start += length;
        self.offset += length as u64;
    }

    /// The range that starts `from` bytes after the first unconsumed byte and has `length` bytes.
    #[inline]
    pub(super) fn range(&self, from: usize, length: usize) -> ByteRange {
        debug_assert!(from + length <= self.end - self.start);
        ByteRange {
            start: self.start + from,
            end: self.start + from + length,
        }
    }

    /// The bytes in a range from [`Window::range`], even if they were consumed since.
    #[inline]
    pub(super) fn at(&self, range: ByteRange) -> &[u8] {
        let bytes = self.buffer.get(range.start..range.end);
        bytes.unwrap_or_default()
    }

    /// Reads once. False at the end of the input.
    fn read_more(&mut self) -> Result<bool, Broken> {
        if self.end == self.buffer.len() {
            self.make_room();
        }
        let offset = self.offset + (self.end - self.start) as u64;
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let length = self.input.read(room, offset)?;
        self.end += length;
        Ok(length > 0)
    }

    /// Moves unconsumed bytes to the front, and doubles the buffer if they fill it. So memory
    /// follows the bytes that were read, not what a length field claims.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_what_is_read_not_what_is_asked_for() {
        let mut window = Window::new(Box::new(&b"twelve bytes"[..])).unwrap();
        assert!(!window.fill(usize::MAX).unwrap());
        assert_eq!(
            (window.bytes(), window.buffer.len()),
            (&b"twelve bytes"[..], READ_SIZE)
        );
        let mut window = Window::new(Box::new(std::io::repeat(7))).unwrap();
        assert!(window.fill(READ_SIZE + 1).unwrap());
        assert_eq!(window.buffer.len(), 2 * READ_SIZE);
    }

    #[test]
    fn what_was_consumed_makes_room() {
        let mut window = Window::new(Box::new(std::io::repeat(7))).unwrap();
        for _ in 0..10 {
            assert!(window.fill(READ_SIZE - 1).unwrap());
            window.advance(READ_SIZE - 1);
        }
        assert_eq!(
            (window.offset(), window.buffer.len()),
            (10 * (READ_SIZE as u64 - 1), READ_SIZE)
        );
    }
}

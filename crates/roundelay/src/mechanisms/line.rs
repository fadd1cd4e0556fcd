//! Entries of an array queue, for disciplines with one queue: packets, or handles with lengths.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::handle::{Departure, Handle, Leaving};
use crate::packet::Packet;

/// Entry of an array queue: the packet, or the packet's handle and length.
pub trait Waits<T>: Sized {
    /// Type of a leaving packet.
    type Leaving: Leaving;

    #[doc(hidden)]
    fn from_packet(packet: Packet<T>) -> Self;

    #[doc(hidden)]
    fn bytes(&self) -> u32;

    #[doc(hidden)]
    fn set_bytes(&mut self, len: u32);

    #[doc(hidden)]
    fn leave(self) -> Self::Leaving;

    #[doc(hidden)]
    fn extend(line: &mut VecDeque<Self>, packets: &mut Vec<Packet<T>>) {
        line.extend(packets.drain(..).map(Self::from_packet));
    }

    /// Moves the first `most` entries to `into` and returns their bytes.
    #[doc(hidden)]
    fn leave_together(
        line: &mut VecDeque<Self>,
        most: usize,
        into: &mut Vec<Self::Leaving>,
    ) -> u64 {
        let bytes = line
            .range(..most)
            .map(|waits| u64::from(waits.bytes()))
            .sum();
        into.extend(line.drain(..most).map(Self::leave));
        bytes
    }
}

/// Bursts are moved without conversion.
impl<T> Waits<T> for Packet<T> {
    type Leaving = Self;

    #[inline(always)]
    fn from_packet(packet: Self) -> Self {
        packet
    }

    #[inline(always)]
    fn bytes(&self) -> u32 {
        self.len
    }

    fn set_bytes(&mut self, len: u32) {
        self.len = len;
    }

    #[inline(always)]
    fn leave(self) -> Self {
        self
    }

    #[inline]
    fn extend(line: &mut VecDeque<Self>, packets: &mut Vec<Self>) {
        line.extend(packets.drain(..));
    }

    #[inline]
    fn leave_together(line: &mut VecDeque<Self>, most: usize, into: &mut Vec<Self>) -> u64 {
        let before = into.len();
        into.extend(line.drain(..most));
        into[before..]
            .iter()
            .map(|packet| u64::from(packet.len))
            .sum()
    }
}

/// A packet in an array queue: handle and length, adjacent to its neighbours. 8 bytes, for
/// disciplines with one queue.
#[derive(Debug, Clone, Copy)]
pub struct InLine {
    handle: Handle,
    len: u32,
}

impl Waits<Handle> for InLine {
    type Leaving = Departure;

    #[inline]
    fn from_packet(packet: Packet<Handle>) -> Self {
        Self {
            handle: packet.payload,
            len: packet.len,
        }
    }

    #[inline]
    fn bytes(&self) -> u32 {
        self.len
    }

    fn set_bytes(&mut self, len: u32) {
        self.len = len;
    }

    #[inline]
    fn leave(self) -> Departure {
        Departure {
            handle: self.handle,
            mark: false,
        }
    }
}

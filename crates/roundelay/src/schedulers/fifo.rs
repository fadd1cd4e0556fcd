//! First in, first out, with drop tail: what a queue is when nobody chose one.
//!
//! All packets wait in one queue in the order in which they came. When the buffer is full the arriving packet is dropped. It costs
//! nothing, and gives every flow whatever it takes: a flow that sends more than its share delays all others by as much as the buffer
//! holds.
//!
//! Source: tc-pfifo(8), tc-bfifo(8): the limit counts packets (`limit 1000`) or bytes (`limit 150kb`).
//!
//! | guarantee | value | test |
//! |---|---|---|
//! | order | packets leave as they came, over all flows | `theorems/fifo.rs` |
//! | delay | at most the buffer's bytes at the link's rate | `theorems/fifo.rs` |
//! | fairness | none | `theorems/fifo.rs` shows a flow starving another |
//!
//! Cost: O(1), no state per flow. Packets lie side by side in the order in which they come and go, which no memory is slow at.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::packet::Packet;
use crate::pool::Backlog;
use crate::scheduler::{Footprint, Scheduler};
use crate::schedulers::Discipline;
use crate::time::Instant;

/// FIFO has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "fifo";
    const ABOUT: &'static str = "first in, first out, with drop tail";
    const SOURCE: &'static str = "tc-pfifo(8), tc-bfifo(8)";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Fifo<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Fifo<T>, ConfigError> {
        Ok(Fifo::default())
    }
}

/// One queue: packets side by side, in the order in which they came.
#[derive(Debug, Clone)]
pub struct Fifo<T> {
    packets: VecDeque<Packet<T>>,
    bytes: u64,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Scheduler<T> for Fifo<T> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.bytes -= u64::from(self.packets.front()?.len);
        self.packets.pop_front()
    }

    #[inline]
    fn enqueue_burst(&mut self, _now: Instant, packets: &mut Vec<Packet<T>>) {
        self.bytes += packets.iter().map(|packet| u64::from(packet.len)).sum::<u64>();
        self.packets.extend(packets.drain(..));
    }

    #[inline]
    fn dequeue_burst(&mut self, _now: Instant, most: usize, into: &mut Vec<Packet<T>>) {
        let before = into.len();
        into.extend(self.packets.drain(..most.min(self.packets.len())));
        self.bytes -= into[before..].iter().map(|packet| u64::from(packet.len)).sum::<u64>();
    }

    /// The newest: drop tail.
    fn evict(&mut self) -> Option<Packet<T>> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn footprint(&self) -> Footprint {
        Footprint { fixed_bytes: size_of::<Self>(), bytes_per_flow: 0 }
    }

    /// The bytes are those of the packets.
    fn check_invariants(&self) {
        let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.len)).sum();
        assert_eq!(bytes, self.bytes, "the bytes are those of the packets");
    }
}

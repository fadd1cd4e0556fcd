//! Random order: whenever the link is free, any packet that waits is as likely to leave as any other.
//!
//! It stands for an arbitrary schedule: it follows no rule that another scheduler could exploit to replay it, which makes it the default
//! original schedule of the universal-scheduling experiments. A packet that has waited long has no better chance than one that just came,
//! so the delay of a packet has a long tail, but none starves: with n packets waiting at each decision it waits n transmissions on average.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.3.
//!
//! | guarantee | value | test in `theorems/random.rs` |
//! |---|---|---|
//! | order | each of n packets that wait leaves next with probability 1 / n, whatever came before | `each_packet_is_as_likely_as_any_other` |
//! | repeatability | the same seed and the same calls give the same order | `a_seed_is_an_order` |
//! | fairness | a flow is served in proportion to what it has waiting, not to its share | `a_greedy_flow_gets_what_it_brings` |
//! | push-out | any packet, each as likely | `a_full_buffer_gives_up_any_packet` |
//!
//! Cost: O(1), no state per flow.
//!
//! Differences from the paper: its queues never overflow. Here a full buffer gives up a packet drawn like those that leave.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::mechanisms::random::Random as Generator;
use crate::packet::Packet;
use crate::pool::Backlog;
use crate::scheduler::{Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::Instant;

/// Random order has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "random";
    const ABOUT: &'static str = "random order: any packet that waits, each as likely";
    const SOURCE: &'static str = "Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const REORDERS: bool = true;
    const YARDSTICK: bool = true;
    const COMPLEXITY: &'static str = "O(1)";
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    type Scheduler<T: Send> = Random<T>;

    fn build<T: Send>(&self, seed: u64) -> Result<Random<T>, ConfigError> {
        Ok(Random::new(seed))
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Random<T> {
    /// In no order that means anything.
    waiting: Vec<Packet<T>>,
    bytes: u64,
    generator: Generator,
}

impl<T> Random<T> {
    /// A scheduler with nothing in it, its draws following from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { waiting: Vec::new(), bytes: 0, generator: Generator::new(seed) }
    }

    /// Takes any packet, each as likely.
    fn draw(&mut self) -> Option<Packet<T>> {
        if self.waiting.is_empty() {
            return None;
        }
        let drawn = self.generator.below(self.waiting.len() as u32) as usize;
        let packet = self.waiting.swap_remove(drawn);
        self.bytes -= u64::from(packet.len);
        self.debug_check();
        Some(packet)
    }

    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(0, self.backlog()) {
            self.check_invariants();
        }
    }
}

impl<T> Scheduler<T> for Random<T> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        assert!(self.waiting.len() < u32::MAX as usize, "fewer than 2^32 - 1 packets can wait");
        self.bytes += u64::from(packet.len);
        self.waiting.push(packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.draw()
    }

    fn evict(&mut self) -> Option<Packet<T>> {
        self.draw()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    fn footprint(&self) -> Footprint {
        Footprint { fixed_bytes: size_of::<Self>(), bytes_per_flow: 0 }
    }

    /// 1. Bytes are counted.
    fn check_invariants(&self) {
        let bytes: u64 = self.waiting.iter().map(|packet| u64::from(packet.len)).sum();
        assert_eq!(bytes, self.bytes, "invariant 1: bytes are counted");
    }
}

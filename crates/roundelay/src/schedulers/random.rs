//! Random order: whenever the link is free, every waiting packet is equally likely to leave.
//!
//! This models an arbitrary schedule, without a rule that another scheduler could exploit in a
//! replay. So random order is the default original schedule in the universal-scheduling
//! experiments. An old packet has no better chance than a new packet, so the delay has a long tail.
//! No packet starves: with n packets waiting at each decision, the average wait is n transmissions.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.3.
//!
//! | guarantee | value | test in `theorems/random.rs` |
//! |---|---|---|
//! | order | each of n waiting packets leaves next with probability 1 / n, independent of earlier draws | `each_packet_is_as_likely_as_any_other` |
//! | repeatability | the same seed and the same calls give the same order | `a_seed_is_an_order` |
//! | fairness | service of a flow is proportional to the flow's waiting packets, not to a share | `a_greedy_flow_gets_what_it_brings` |
//! | push-out | any packet, all equally likely | `a_full_buffer_gives_up_any_packet` |
//!
//! Cost: O(1), no state per flow.
//!
//! Differences from the paper: queues there never overflow. Here a full buffer drops a packet,
//! drawn as for departures.

use alloc::vec::Vec;

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Handle, Instant,
    Linux, Packet, Refused, Scheduler, Seed,
};
use crate::mechanisms::random::Random as Generator;

/// Random order has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "random";
    const ABOUT: &'static str = "random order: each waiting packet is equally likely to go next";
    const SOURCE: &'static str =
        "Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016";
    const LINUX: Linux = Linux::Absent;
    const REORDERS: bool = true;
    const YARDSTICK: bool = true;
    const COMPLEXITY: &'static str = "O(1)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Random<T>;
    /// By copy, because any packet in a plain array may be the next.
    type ByHandle = ByCopy<Random<Handle>>;

    fn reads_seed(&self) -> bool {
        true
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Random<T> {
    /// In arbitrary order.
    waiting: Vec<Packet<T>>,
    bytes: u64,
    generator: Generator,
}

impl<T> Configured<Config> for Random<T> {
    fn configured(_: Config, seed: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            waiting: Vec::new(),
            bytes: 0,
            generator: Generator::new(seed),
        })
    }
}

impl<T> Random<T> {
    /// Removes a random packet, all equally likely.
    fn draw(&mut self) -> Option<Packet<T>> {
        if self.waiting.is_empty() {
            return None;
        }
        let drawn = self.generator.below(self.waiting.len() as u32) as usize;
        let packet = self.waiting.swap_remove(drawn);
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }
}

impl<T> Scheduler<T> for Random<T> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        assert!(
            self.waiting.len() < u32::MAX as usize,
            "fewer than 2^32 - 1 packets can wait"
        );
        self.bytes += u64::from(packet.len);
        self.waiting.push(packet);
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
        Backlog {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }
}

impl<T> Control for Random<T> {
    /// 1. `bytes` is the sum of the packets' lengths.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let bytes: u64 = self
            .waiting
            .iter()
            .map(|packet| u64::from(packet.len))
            .sum();
        assert_eq!(bytes, self.bytes, "invariant 1: bytes are counted");
    }
}

//! Last in, first out: the newest packet leaves first.
//!
//! A stack. The newest packet never waits for an older one. A packet not served at once waits for a
//! pause in the arrivals, however long that takes. LIFO is no queue for real traffic, but of all
//! orders it differs most from FIFO. So it is one of the schedules that a universal scheduler must
//! be able to replay, and the hardest of those tried.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.3 (Table 1).
//!
//! | guarantee | value | test in `theorems/lifo.rs` |
//! |---|---|---|
//! | order | no packet leaves while a newer one waits | `the_newest_leaves_first` |
//! | delay of the first | an arrival waits for the packet on the link and for later arrivals | `an_arrival_passes_whatever_waits` |
//! | fairness | none; a flow above the link's rate starves earlier packets | `what_came_first_starves` |
//! | push-out | the oldest packet | `a_full_buffer_gives_up_the_oldest` |
//!
//! Cost: O(1), no state per flow.
//!
//! Differences from the paper: its queues never overflow. Here a full buffer drops the oldest
//! packet, the last to leave.

use crate::author::{
    Backlog, ConfigError, Configured, Control, Discipline, DropReason, Handle, Instant, Links,
    Linux, Nodes, Packet, Pool, Queue, Refused, Scheduler, Seed, Storage,
};

/// LIFO has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "lifo";
    const ABOUT: &'static str = "last in, first out: the newest packet first";
    const SOURCE: &'static str =
        "Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016";
    const LINUX: Linux = Linux::Absent;
    const REORDERS: bool = true;
    const YARDSTICK: bool = true;
    const COMPLEXITY: &'static str = "O(1)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Lifo<T>;
    type ByHandle = Lifo<Handle, Links>;
}

/// One queue, served from its tail.
#[derive(Debug, Clone)]
pub struct Lifo<T, P = Nodes<T>> {
    pool: Pool<T, P>,
    queue: Queue,
}

impl<T, P: Storage<T>> Configured<Config> for Lifo<T, P> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            pool: Pool::empty(),
            queue: Queue::EMPTY,
        })
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Lifo<T, P> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        self.pool.push(&mut self.queue, packet);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.pool.pop_tail(&mut self.queue)
    }

    /// The oldest.
    fn evict(&mut self) -> Option<P::Leaving> {
        self.pool.pop(&mut self.queue)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }
}

impl<T, P: Storage<T>> Control for Lifo<T, P> {
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.pool.check_queue(&self.queue);
    }
}

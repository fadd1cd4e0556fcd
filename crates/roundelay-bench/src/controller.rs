//! The controller of a benchmark run, which fills and empties a scheduler.

use std::hint::black_box;

use roundelay::author::Leaving;
use roundelay::{Duration, Instant, Packet, Scheduler};

use crate::generator::{Number, Numbered, Source};
use crate::load::{Load, Memory};
use crate::subject::{Passed, Running};

/// A scheduler under a load. Each packet carries its number `N` as payload and leaves as an `L`.
pub(crate) struct Controller<S, G, N, L> {
    scheduler: S,
    generator: G,
    now: Instant,
    waiting: u64,
    least: u64,
    most: u64,
    /// Packets in one enqueue or dequeue call, and the buffer for them. 0: one call per packet.
    burst: u64,
    packets: Vec<Packet<N>>,
    sent: Vec<L>,
}

/// The time that each packet takes on the link: 1000 bytes at 10 Gbit/s. Disciplines with a clock
/// need time to pass.
const STEP: u64 = Duration::from_nanos(800).as_picos();

impl<S, G, N, L> Controller<S, G, N, L>
where
    S: Scheduler<N, L>,
    G: Source,
    N: Number,
    L: Leaving + Numbered,
{
    pub(crate) fn new(scheduler: S, load: &Load) -> Self {
        let (least, most) = load.pattern.backlog_per_flow();
        let flows = u64::from(load.flows.flows());
        let mut controller = Self {
            scheduler,
            generator: G::new(load),
            now: Instant::ZERO,
            waiting: 0,
            least: least * flows,
            most: most * flows,
            burst: load.burst.into(),
            packets: Vec::with_capacity(load.burst as usize),
            sent: Vec::with_capacity(load.burst as usize),
        };
        if load.memory == Memory::Scattered {
            controller.scatter();
        }
        controller
    }

    /// Fills the scheduler with packets, whose flows come in random order, and empties it again.
    /// From then on consecutive packets lie far apart in the scheduler's storage, and flows take
    /// turns in random order, too.
    fn scatter(&mut self) {
        let missing = self.missing(&mut Passed::default());
        for _ in 0..missing {
            let packet = self.generator.make_of_any();
            self.give(packet);
        }
        self.generator.settle(false);
        self.empty(&mut Passed::default());
    }

    /// The number of packets to offer now. From here on, all of them count as waiting.
    fn missing(&mut self, passed: &mut Passed) -> u64 {
        self.generator.settle(self.waiting == 0);
        let missing = self.most - self.waiting;
        passed.offered += missing;
        self.waiting = self.most;
        missing
    }

    /// Offers the missing packets, but the scheduler may refuse or drop some.
    #[inline]
    fn fill(&mut self, passed: &mut Passed) {
        let mut missing = self.missing(passed);
        if self.burst == 0 {
            for _ in 0..missing {
                let packet = self.generator.make();
                self.give(packet);
            }
            return;
        }
        while missing > 0 {
            let packets = self.burst.min(missing);
            missing -= packets;
            self.generator
                .make_burst(packets as usize, &mut self.packets);
            self.scheduler.enqueue_burst(self.now, &mut self.packets);
            while let Some(refused) = self.packets.pop() {
                self.forget(refused.number());
            }
            self.take_dropped();
        }
    }

    #[inline(always)]
    fn give(&mut self, packet: Packet<N>) {
        if let Err(refused) = self.scheduler.enqueue(self.now, packet) {
            self.forget(refused.packet.number());
        }
        self.take_dropped();
    }

    #[inline]
    fn empty(&mut self, passed: &mut Passed) {
        while self.burst == 0 && self.waiting > self.least {
            self.now += Duration::from_picos(STEP);
            let packet = self.scheduler.dequeue(self.now);
            self.take_dropped();
            let Some(packet) = packet else {
                self.rest();
                continue;
            };
            self.generator.discard(packet.number());
            self.waiting -= 1;
            passed.sent += 1;
        }
        while self.waiting > self.least {
            let most = self.burst.min(self.waiting - self.least);
            self.now += Duration::from_picos(STEP * most);
            self.scheduler
                .dequeue_burst(self.now, most as usize, &mut self.sent);
            self.take_dropped();
            let sent = self.sent.len() as u64;
            if sent == 0 {
                self.rest();
            }
            self.generator.discard_burst(&mut self.sent);
            self.waiting -= sent;
            passed.sent += sent;
        }
    }

    /// The scheduler gave no packet: if it shapes, the link rests until it does.
    #[cold]
    fn rest(&mut self) {
        if let Some(ready) = self.scheduler.ready_at() {
            self.now = self.now.max(ready);
        }
    }

    #[inline(always)]
    fn take_dropped(&mut self) {
        while let Some((packet, _)) = self.scheduler.take_dropped() {
            self.forget(packet.number());
        }
    }

    /// Takes back a refused or dropped packet.
    #[cold]
    #[inline(never)]
    fn forget(&mut self, number: u32) {
        self.generator.discard_unsent(number);
        self.waiting -= 1;
    }
}

impl<S, G, N, L> Running for Controller<S, G, N, L>
where
    S: Scheduler<N, L>,
    G: Source,
    N: Number,
    L: Leaving + Numbered,
{
    fn run(&mut self, pairs: u64) -> Passed {
        let mut passed = Passed {
            offered: self.waiting,
            sent: 0,
        };
        while passed.sent < pairs {
            let before = passed;
            self.fill(&mut passed);
            self.empty(&mut passed);
            if passed == before {
                break;
            }
            // The subject drops almost every packet, so give up.
            if passed.offered > 4 * pairs + 4 * self.most {
                break;
            }
        }
        passed.offered -= self.waiting;
        black_box(passed)
    }
}

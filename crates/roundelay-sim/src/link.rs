//! A link: the port at its beginning and the wire behind it.

use std::collections::VecDeque;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::AnyScheduler;
use roundelay::{Billionths, ConfigError, DropReason, Duration, Instant, Observer, Packet, Port};

use crate::cargo::Carried;
use crate::event_queue::Key;
use crate::network::{LinkConfig, LinkId};
use crate::probe::Probe;
use crate::random::{Drawer, stream};
use crate::simulation::Books;

/// What came of a link's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets that came to its queue.
    pub arrived: u64,
    /// Packets that it carried.
    pub packets: u64,
    /// Their bytes, its overhead included.
    pub bytes: u64,
    /// Packets that its queue dropped, by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Of the packets that it carried, those lost on the wire.
    pub lost: u64,
    /// The sum of the times that packets waited in its queue, in picoseconds.
    pub waits: u128,
}

pub(crate) struct Link {
    pub(crate) port: Port<AnyScheduler<Carried>>,
    pub(crate) wire: Wire,
    /// When the port picks next, as the queue of events knows it; `MAX` if it does not.
    pub(crate) picks_at: Instant,
    pub(crate) overhead: u32,
}

impl Link {
    pub(crate) fn new(id: LinkId, config: &LinkConfig, seed: u64) -> Result<Self, ConfigError> {
        let mut random = stream(seed, Drawer::Link(id.0));
        let scheduler = config.queue.discipline.build(random.random())?;
        let port = Port::new(scheduler, config.queue.limit_or_default(), config.rate);
        let wire = Wire {
            id,
            delay: config.delay,
            jitter: config.jitter,
            loss: config.loss,
            random,
            in_flight: VecDeque::new(),
            last: Instant::ZERO,
            counts: LinkCounts::default(),
        };
        Ok(Self { port, wire, picks_at: Instant::MAX, overhead: config.overhead })
    }
}

/// Packets that have left the queue and not arrived.
#[derive(Debug)]
pub(crate) struct Wire {
    id: LinkId,
    delay: Duration,
    jitter: Duration,
    loss: Billionths,
    random: Pcg64Mcg,
    pub(crate) in_flight: VecDeque<(Key, Packet<Carried>)>,
    /// When the last one of them arrives.
    last: Instant,
    pub(crate) counts: LinkCounts,
}

impl Wire {
    #[inline]
    fn is_lost(&mut self) -> bool {
        self.loss.0 > 0 && self.random.random_range(0..Billionths::ONE.0) < self.loss.0
    }

    /// When a packet arrives that leaves at `end`.
    #[inline]
    fn arrival(&mut self, end: Instant) -> Instant {
        let mut arrival = end + self.delay;
        if self.jitter != Duration::ZERO {
            arrival += Duration::from_picos(self.random.random_range(0..=self.jitter.as_picos()));
            arrival = arrival.max(self.last);
        }
        self.last = arrival;
        arrival
    }
}

/// A port's work at one instant: what leaves goes onto the wire, and all is written down.
pub(crate) struct Work<'a, P> {
    pub(crate) wire: &'a mut Wire,
    pub(crate) books: &'a mut Books<P>,
}

impl<P: Probe> Observer<Carried> for Work<'_, P> {
    #[inline]
    fn sent(&mut self, mut packet: Packet<Carried>, start: Instant, end: Instant) {
        let Self { wire, books } = self;
        let wait = start.since(packet.arrival);
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(packet.len);
        wire.counts.waits += u128::from(wait.as_picos());
        packet.slack = packet.slack.after(wait);
        books.probe.transmitted(wire.id, &packet, books.arena.at(packet.payload.cargo), [start, end]);
        if wire.is_lost() {
            wire.counts.lost += 1;
            return books.lose(wire.id, &packet, start);
        }
        let key = books.next_key(wire.arrival(end));
        wire.in_flight.push_back((key, packet));
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<Carried>, now: Instant, reason: DropReason) {
        self.wire.counts.dropped[reason as usize] += 1;
        self.books.drop(self.wire.id, &packet, now, reason);
    }
}

//! A link: a port and the wire behind it.

use std::collections::VecDeque;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::author::prefetch;
use roundelay::{
    AnyPort, Billionths, ConfigError, DropReason, Duration, Instant, LinkLayer, Observer, Packet,
    Rate,
};
use roundelay_trace::TracedLink;

use crate::event_queue::{Key, Lanes};
use crate::ids::LinkId;
use crate::log::shaper;
use crate::network::LinkConfig;
use crate::packet_state::Tag;
use crate::probe::Probe;
use crate::random::generator;
use crate::world::World;

/// What is counted at a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets received by the queue.
    pub arrived: u64,
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted, with the lengths that packets have on the link.
    pub bytes: u64,
    /// Packets dropped by the queue, by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Transmitted packets lost on the wire.
    pub lost: u64,
    /// Sum of the transmitted packets' waits, in picoseconds.
    pub waits: u128,
}

/// Makes a link's port.
///
/// # Errors
/// A parameter is out of its range, or the port is preemptive and its decisions cost time.
fn port(config: &LinkConfig, seed: Seed) -> Result<AnyPort<Tag>, ConfigError> {
    let mut port = AnyPort::new(&config.queue, config.rate, seed)?;
    port.set_decision_cost(config.decision_cost()?);
    Ok(port)
}

/// The key of a port's next event, which comes after all events up to number `sequence`. If it is
/// the end of a packet, it is not a pick: on a link without delay the packet may arrive at this
/// instant, and must do so before other links pick.
#[inline]
pub(crate) fn next_key(port: &AnyPort<Tag>, sequence: u64) -> Key {
    match port.next_event() {
        None => Key::NEVER,
        Some(at) if port.ends_next() => Key::new(at, sequence),
        Some(at) => Key::pick(at, sequence),
    }
}

/// How long a packet waited that was transmitted in the given span. `preempted_at` is the rate if
/// the link is preemptive. There, the time between the parts of an interrupted packet counts too,
/// because a packet waits whenever it is not being sent.
#[inline]
pub(crate) fn waited(
    preempted_at: Option<Rate>,
    packet: &Packet<Tag>,
    [start, end]: [Instant; 2],
) -> Duration {
    let since = |instant: Instant| instant.since(packet.arrival);
    preempted_at.map_or_else(
        || since(start),
        |rate| since(end) - rate.time_of(packet.len.into()),
    )
}

pub(crate) struct Link {
    pub(crate) port: AnyPort<Tag>,
    pub(crate) wire: Wire,
    /// The port's next event.
    pub(crate) works: Key,
    pub(crate) layer: LinkLayer,
    /// Whether packets have the same length on the link as elsewhere.
    pub(crate) keeps_lengths: bool,
    /// Whether probes hear of the times in which the link's shaper holds all packets back.
    pub(crate) tells_rests: bool,
}

impl Link {
    /// The wire's seed is derived from `seed`, the queue's from `hash_seed`.
    pub(crate) fn new(
        id: LinkId,
        config: &LinkConfig,
        [seed, hash_seed]: [Seed; 2],
    ) -> Result<Self, ConfigError> {
        let random = generator(seed.derive(Purpose::Wire, id.0.into()));
        let port = port(config, hash_seed.derive(Purpose::Queue, id.0.into()))?;
        let trace = config.trace.as_ref().map(|trace| trace.link(config.layer));
        let wire = Wire {
            id,
            trace: trace.map(Box::new),
            ended: None,
            preempted_at: config.preempted_at(),
            delay: config.delay,
            jitter: config.jitter,
            loss: config.loss,
            random,
            in_flight: InFlight::default(),
            last: Instant::ZERO,
            free_at: Instant::ZERO,
            counts: LinkCounts::default(),
        };
        Ok(Self {
            port,
            wire,
            works: Key::NEVER,
            layer: config.layer,
            keeps_lengths: config.layer.keeps_lengths(),
            tells_rests: shaper(config).is_some_and(|shaper| shaper.tells_rests),
        })
    }

    /// On a link with a trace, puts off a pick that would come before the trace's next time.
    /// Returns whether it did.
    #[inline]
    pub(crate) fn waits_for_trace(&mut self) -> bool {
        self.wire.trace.is_some() && self.put_off()
    }

    #[cold]
    fn put_off(&mut self) -> bool {
        let (Some(at), Some(trace)) = (self.port.next_event(), &self.wire.trace) else {
            return false;
        };
        let next = trace.next(at);
        if next > at {
            be_busy_until(&mut self.port, next);
        }
        next > at
    }

    /// If the link has a trace, makes it busy until the trace has carried the last packet.
    #[inline]
    pub(crate) fn follow_trace(&mut self) {
        if let Some(end) = self.wire.ended.take() {
            be_busy_until(&mut self.port, end);
        }
    }

    /// Until when the link rests that has just been asked for a packet. None if it sends one, or if
    /// none waits.
    #[cold]
    pub(crate) fn rests_until(&self, now: Instant) -> Option<Instant> {
        let until = self.port.next_event()?;
        (self.wire.free_at <= now && until > now).then_some(until)
    }
}

#[cold]
fn be_busy_until(port: &mut AnyPort<Tag>, end: Instant) {
    match port {
        AnyPort::Fifo(port) => port.take_over(end),
        AnyPort::Plain(port) => port.take_over(end),
        // `LinkConfig::decision_cost` has refused a trace here.
        AnyPort::Preemptive(_) => {}
    }
}

/// Packets in flight: they have left the queue but have not arrived.
#[derive(Debug)]
pub(crate) struct Wire {
    id: LinkId,
    /// The trace in place of a rate.
    pub(crate) trace: Option<Box<TracedLink>>,
    /// If the link has a trace, when the transmission that has just begun will end.
    ended: Option<Instant>,
    /// The rate if the port is preemptive, otherwise None.
    preempted_at: Option<Rate>,
    delay: Duration,
    jitter: Duration,
    loss: Billionths,
    random: Pcg64Mcg,
    pub(crate) in_flight: InFlight,
    /// When the last packet in flight arrives.
    last: Instant,
    /// When the last transmission ends.
    pub(crate) free_at: Instant,
    pub(crate) counts: LinkCounts,
}

/// The packets between the two ends of a wire, in the order of their arrivals.
///
/// In a large network half a million packets may be in flight, more than the caches hold, and each
/// waits for milliseconds. So we prefetch a packet's memory while the packet before it is first.
///
/// If a lane takes a packet's arrival, it is an event from the start of the flight. Behind a packet
/// that no lane takes, packets wait for their turn, so the queue's heap holds at most one packet
/// per wire.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    flights: VecDeque<Flight>,
    /// Packets at the front whose arrivals are in the event queue. At least one, if there are any.
    queued: usize,
}

/// A packet in flight, in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Flight {
    key: Key,
    packet: Packet<Tag>,
}

const _: () = assert!(size_of::<Flight>() == 64);

impl InFlight {
    /// When the first packet arrives.
    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.flights.front().map_or(Key::NEVER, |flight| flight.key)
    }

    #[inline]
    fn push(&mut self, link: usize, key: Key, packet: Packet<Tag>, events: &mut Lanes) {
        if self.flights.is_empty() {
            events.push(link, key);
            self.queued = 1;
        } else if self.queued == self.flights.len() && events.append(link, key) {
            self.queued += 1;
        }
        self.flights.push_back(Flight { key, packet });
        let (front, back) = self.flights.as_slices();
        let last = if back.is_empty() { front } else { back };
        prefetch(last, last.len());
    }

    /// Takes the first packet, and calls `prefetch_next` with the next one, so that the caller can
    /// prefetch more of it.
    #[inline]
    pub(crate) fn pop(
        &mut self,
        link: usize,
        events: &mut Lanes,
        prefetch_next: impl FnOnce(Tag),
    ) -> Option<Packet<Tag>> {
        let Flight { packet, .. } = self.flights.pop_front()?;
        self.queued -= 1;
        let (front, _) = self.flights.as_slices();
        prefetch(front, 1);
        if let Some(next) = front.first() {
            prefetch_next(next.packet.payload);
            if self.queued == 0 {
                events.push(link, next.key);
                self.queued = 1;
            }
        }
        Some(packet)
    }
}

impl Wire {
    /// When a transmission that begins at `start` ends. `by_rate` is its end on a link with a rate.
    #[inline]
    fn end(&mut self, start: Instant, len: u32, by_rate: Instant) -> Instant {
        match &mut self.trace {
            None => by_rate,
            Some(trace) => {
                let end = trace.carry(start, len);
                self.ended = Some(end);
                end
            }
        }
    }

    #[inline]
    fn is_lost(&mut self) -> bool {
        self.loss.0 > 0 && self.random.random_range(0..Billionths::ONE.0) < self.loss.0
    }

    /// When a packet that leaves at `end` arrives.
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

/// Observes a port: puts transmitted packets onto the wire and updates all counts.
pub(crate) struct Work<'a, P> {
    pub(crate) wire: &'a mut Wire,
    pub(crate) world: &'a mut World<P>,
    pub(crate) events: &'a mut Lanes,
}

impl<P: Probe> Observer<Tag> for Work<'_, P> {
    #[inline(always)]
    fn sent(&mut self, mut packet: Packet<Tag>, start: Instant, end: Instant) {
        let Self {
            wire,
            world,
            events,
        } = self;
        let end = wire.end(start, packet.len, end);
        let wait = waited(wire.preempted_at, &packet, [start, end]);
        wire.free_at = end;
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(packet.len);
        wire.counts.waits += u128::from(wait.as_picos());
        packet.slack = packet.slack.after(wait);
        if world.stamps_departures {
            world.stamp_departure(&mut packet, start);
        }
        world.note_departure(&packet);
        world.probe.transmitted(
            wire.id,
            &packet,
            world.arena.at(packet.payload.slot),
            [start, end],
        );
        if wire.is_lost() {
            wire.counts.lost += 1;
            return world.lose(
                wire.id,
                &packet,
                if wire.preempted_at.is_some() {
                    end
                } else {
                    start
                },
            );
        }
        let key = world.next_key(wire.arrival(end));
        wire.in_flight.push(wire.id.index(), key, packet, events);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<Tag>, now: Instant, reason: DropReason) {
        self.wire.counts.dropped[reason as usize] += 1;
        self.world.drop(self.wire.id, &packet, now, reason);
    }
}

#[cfg(test)]
mod tests {
    use roundelay::{Control as _, FlowId};

    use super::*;
    use crate::ids::NodeId;

    /// Which queues twenty flows use, at a link whose discipline hashes flows.
    fn queues(queue: &str, link: u32, run: u64) -> Vec<Vec<usize>> {
        let config = LinkConfig::new(
            NodeId(0),
            NodeId(1),
            "1mbit".parse().unwrap(),
            Duration::ZERO,
            queue.parse().unwrap(),
        );
        let seeds = [Seed::new(run); 2];
        let link = Link::new(LinkId(link), &config, seeds).expect("a legal queue");
        let AnyPort::Plain(port) = &link.port else {
            panic!("{queue} neither interrupts packets nor is a FIFO");
        };
        let scheduler = port.scheduler();
        (0..20)
            .map(|flow| scheduler.queues_of(FlowId(flow)))
            .collect()
    }

    /// Formerly, link k's seed was `hash_seed + k`. So the same flows shared a queue there as at
    /// link k + 1 in the run before.
    #[test]
    fn links_and_runs_hash_flows_apart() {
        for queue in [
            "sfq",
            "fq_codel",
            "packet_fq",
            "sfb",
            "mqfq",
            "mqfq hashes 1 ns2",
        ] {
            let mut seen = Vec::new();
            for run in 1..=6 {
                for link in 0..6 {
                    let queues = queues(queue, link, run);
                    assert!(!queues[0].is_empty(), "{queue} hashes flows");
                    assert!(!seen.contains(&queues), "{queue}, link {link}, run {run}");
                    seen.push(queues);
                }
            }
        }
    }
}

//! One tin: its queues with their flows and hosts, in DRR++ over new, old and decaying queues.

use alloc::vec::Vec;

use super::hosts::{BUCKETS, HostLoads, ways};
use super::isolation::{Hashes, Isolation};
use super::lists::{Lists, Which};
use super::shaper::Schedule;
use super::tins::{Part, quantum, settings};
use crate::mechanisms::cobalt::{Cobalt, Roots, Settings};
use crate::mechanisms::random::Random;
use crate::pool::Queue;
use crate::time::{Duration, Instant};

/// A queue. It holds one flow, unless nine or more flows meet in a set.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    pub(super) queue: Queue,
    pub(super) cobalt: Cobalt,
    /// Bytes the flow may still send in this turn. The turn's last packet may overdraw it.
    deficit: i64,
    /// The hash of the last flow that came here.
    tag: u32,
    /// Slots of its hosts, which count it unless it is idle.
    source: u16,
    destination: u16,
    state: State,
}

/// What a flow counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Idle: in no list.
    #[default]
    Idle,
    /// Has not yet used a quantum.
    Sparse,
    /// Found empty with its quantum used up. Still sparse, but in the old list, where it waits for
    /// its deficit.
    Waiting,
    /// Has used a quantum, and counts at its hosts.
    Bulk,
    /// Empty, but COBALT remembers something.
    Decaying,
}

/// A tin.
#[derive(Debug, Clone)]
pub(super) struct Tin {
    pub(super) flows: Vec<Flow>,
    lists: Lists,
    sources: HostLoads,
    destinations: HostLoads,
    isolation: Isolation,
    /// Flows that are sparse or wait, and flows that are bulk.
    sparse: u32,
    bulk: u32,
    /// Packets in its queues.
    pub(super) packets: u32,
    /// Bytes of a flow's turn, for a host with one flow.
    quantum: u32,
    pub(super) settings: Settings,
    pub(super) schedule: Schedule,
    /// Bytes of the tin's turn, on an unlimited link.
    pub(super) turn: u32,
    /// Bytes the tin may still send in this turn.
    pub(super) deficit: i64,
}

/// Bytes of one queue's record and links.
const BYTES_PER_FLOW: usize = size_of::<Flow>() + Lists::BYTES_PER_QUEUE;

impl Tin {
    /// Memory beside the record itself.
    pub(super) const BYTES: usize = BUCKETS * BYTES_PER_FLOW + 2 * HostLoads::BYTES;

    pub(super) fn new(part: Part, rtt: Duration, roots: Roots, isolation: Isolation) -> Self {
        Self {
            flows: alloc::vec![Flow::default(); BUCKETS],
            lists: Lists::new(BUCKETS),
            sources: HostLoads::new(),
            destinations: HostLoads::new(),
            isolation,
            sparse: 0,
            bulk: 0,
            packets: 0,
            quantum: quantum(part.rate),
            settings: settings(part.rate, rtt, roots),
            schedule: Schedule::new(part.rate),
            turn: part.turn,
            deficit: 0,
        }
    }

    /// Whether some flow may have packets.
    pub(super) const fn has_flows(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    pub(super) const fn bulk_flows(&self) -> u32 {
        self.bulk
    }

    /// An arriving packet's queue: the flow's own, else a free one in its set, else the set's first
    /// choice, which it then shares.
    pub(super) fn bucket(&mut self, hashes: Hashes) -> usize {
        if self.isolation == Isolation::Flowblind {
            return 0;
        }
        let mut buckets = ways(hashes.queue);
        let own = hashes.queue as usize % BUCKETS;
        // The set-associative hash: a hit is a queue of the set with the flow's tag.
        let tagged = buckets
            .clone()
            .find(|bucket| self.flows[*bucket].tag == hashes.queue);
        if let Some(bucket) = tagged {
            if self.flows[bucket].state == State::Idle {
                self.name_hosts(bucket, hashes);
            }
            return bucket;
        }
        // A miss takes an idle queue of the set, or collides in the first.
        let free = buckets.find(|bucket| self.flows[*bucket].state == State::Idle);
        let bucket = free.unwrap_or(own);
        self.flows[bucket].tag = hashes.queue;
        self.name_hosts(bucket, hashes);
        bucket
    }

    /// The queue's hosts are now these. A flow that is not idle no longer counts at those before.
    fn name_hosts(&mut self, bucket: usize, hashes: Hashes) {
        let before = self.flows[bucket].state;
        if before == State::Bulk {
            self.count_bulk(bucket, false);
        }
        if before != State::Idle {
            self.leave_hosts(bucket);
        }
        if self.isolation.by_source() {
            self.flows[bucket].source = self.sources.come(hashes.source);
        }
        if self.isolation.by_destination() {
            self.flows[bucket].destination = self.destinations.come(hashes.destination);
        }
        if before == State::Bulk {
            self.count_bulk(bucket, true);
        }
    }

    fn leave_hosts(&mut self, bucket: usize) {
        if self.isolation.by_source() {
            self.sources.leave(self.flows[bucket].source);
        }
        if self.isolation.by_destination() {
            self.destinations.leave(self.flows[bucket].destination);
        }
    }

    /// A bulk flow comes to its hosts, or leaves them.
    fn count_bulk(&mut self, bucket: usize, comes: bool) {
        let Flow {
            source,
            destination,
            ..
        } = self.flows[bucket];
        for (counts, loads, host) in [
            (self.isolation.by_source(), &mut self.sources, source),
            (
                self.isolation.by_destination(),
                &mut self.destinations,
                destination,
            ),
        ] {
            match (counts, comes) {
                (false, _) => {}
                (true, true) => loads.add(host),
                (true, false) => loads.subtract(host),
            }
        }
    }

    /// A flow's quantum: the tin's, divided by the bulk flows at its source or its destination,
    /// whichever has more. Random dither keeps the mean exact.
    fn quantum_of(&self, bucket: usize, random: &mut Random) -> i64 {
        let Flow {
            source,
            destination,
            ..
        } = self.flows[bucket];
        let mut load = 1;
        if self.isolation.by_source() {
            load = load.max(self.sources.bulk(source));
        }
        if self.isolation.by_destination() {
            load = load.max(self.destinations.bulk(destination));
        }
        // Host isolation: the quantum over the host's load.
        let part = self.quantum * (65_535 / u32::from(load));
        i64::from((part + random.below(1 << 16)) >> 16)
    }

    /// A packet has come to this queue: DRR++'s first list, or a place among the bulk flows.
    pub(super) fn arrived(&mut self, bucket: usize, random: &mut Random) {
        self.packets += 1;
        match self.flows[bucket].state {
            State::Idle | State::Decaying => {
                self.flows[bucket].deficit = self.quantum_of(bucket, random);
                // DRR++: a flow that was idle joins the new flows, with one quantum.
                self.flows[bucket].state = State::Sparse;
                self.sparse += 1;
                self.lists.move_to(bucket, Which::New);
            }
            State::Waiting => {
                self.sparse -= 1;
                self.becomes_bulk(bucket);
            }
            State::Sparse | State::Bulk => {}
        }
    }

    fn becomes_bulk(&mut self, bucket: usize) {
        self.flows[bucket].state = State::Bulk;
        self.bulk += 1;
        self.count_bulk(bucket, true);
    }

    /// The queue whose turn it is. Decaying ones come first `if_decaying`, otherwise only if there
    /// are no others.
    pub(super) fn first(&self, if_decaying: bool) -> Option<usize> {
        let decaying = self.lists.first(Which::Decaying);
        if if_decaying && decaying.is_some() {
            return decaying;
        }
        let new = self.lists.first(Which::New);
        new.or_else(|| self.lists.first(Which::Old)).or(decaying)
    }

    /// Whether the queue at the front has used its turn. It then gets its quantum and goes to the
    /// end of the old list.
    pub(super) fn ends_turn(&mut self, bucket: usize, random: &mut Random) -> bool {
        let flow = &self.flows[bucket];
        if flow.deficit > 0 {
            return false;
        }
        if flow.state == State::Sparse {
            if flow.queue.is_empty() {
                self.flows[bucket].state = State::Waiting;
            } else {
                self.sparse -= 1;
                self.becomes_bulk(bucket);
            }
        }
        // DRR++: another quantum, and to the end of the old flows.
        self.flows[bucket].deficit += self.quantum_of(bucket, random);
        self.lists.move_to(bucket, Which::Old);
        true
    }

    /// The queue at the front is empty. It is forgotten, or decays while COBALT remembers
    /// something.
    pub(super) fn found_empty(&mut self, bucket: usize, now: Instant) {
        let flow = &mut self.flows[bucket];
        flow.cobalt.found_empty(&self.settings, now);
        let before = flow.state;
        if flow.cobalt.remembers(now) {
            flow.state = State::Decaying;
            self.lists.move_to(bucket, Which::Decaying);
        } else {
            flow.state = State::Idle;
            self.lists.remove(bucket);
        }
        match before {
            State::Sparse | State::Waiting => self.sparse -= 1,
            State::Bulk => {
                self.bulk -= 1;
                self.count_bulk(bucket, false);
            }
            State::Idle | State::Decaying => {}
        }
        if self.flows[bucket].state == State::Idle {
            self.leave_hosts(bucket);
        }
    }

    /// A packet of `len` bytes leaves the queue, or is dropped and counts as sent.
    pub(super) fn charge(&mut self, bucket: usize, len: u32, now: Instant) {
        self.flows[bucket].deficit -= i64::from(len);
        self.deficit -= i64::from(len);
        self.schedule.advance(len, now);
    }

    /// Panics if lists, states and counts disagree.
    pub(super) fn check(&self) {
        self.lists.check();
        let (mut sparse, mut bulk, mut packets) = (0, 0, 0);
        let mut listed = 0;
        for (bucket, flow) in self.flows.iter().enumerate() {
            packets += flow.queue.packets();
            let is_listed = self.lists.list_of(bucket).is_some();
            listed += u32::from(is_listed);
            assert_eq!(
                is_listed,
                flow.state != State::Idle,
                "invariant 1: flows are listed unless idle"
            );
            let may_wait = matches!(flow.state, State::Sparse | State::Bulk);
            assert!(
                may_wait || flow.queue.is_empty(),
                "invariant 2: a flow with packets is sparse or bulk"
            );
            sparse += u32::from(matches!(flow.state, State::Sparse | State::Waiting));
            bulk += u32::from(flow.state == State::Bulk);
        }
        assert_eq!(
            (sparse, bulk, packets),
            (self.sparse, self.bulk, self.packets),
            "invariant 3: the tin's counts are those of its flows"
        );
        for (counts, loads) in [
            (self.isolation.by_source(), &self.sources),
            (self.isolation.by_destination(), &self.destinations),
        ] {
            let expected = if counts { (listed, bulk) } else { (0, 0) };
            assert_eq!(
                loads.totals(),
                expected,
                "invariant 4: hosts count their flows and bulk flows"
            );
        }
    }
}

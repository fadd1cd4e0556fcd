//! Line: one direction of the bottleneck. It sorts frames into flows and queues them for the link,
//! and they travel along the wire until they are due at the other end.

use std::collections::VecDeque;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::AnyArena;
use roundelay::{
    Backlog, Billionths, DropReason, Duration, Ecn, Instant, Observer, Packet, Port, Scheduler as _,
};
use roundelay_trace::{Feed, FeedError, Flow, Frame, LinkType, Queue, Sorted, Tap, TracedLink};

use crate::books::Books;
use crate::journal::{Fate, Journal};
use crate::kinds::PacketKind;
use crate::marking::mark;
use crate::meter::{FULL_PACKET, Meter, Punctuality};
use crate::phases::{Conditions, PhaseFigures, PhaseMetrics, Present, weights_in_words};
use crate::random::{of_wire, seed_of_queue};
use crate::settings::{Change, Settings, SettingsError, Way, WaySettings, rate, wrong};
use crate::slots::{Slot, Slots};

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;

/// A frame on its way to the other end.
#[derive(Debug, Clone, Copy)]
struct Travelling {
    slot: Slot,
    due: Instant,
    lost: bool,
    /// How long a full packet took on the link when this one was sent.
    full_packet: Duration,
}

/// One direction.
pub(crate) struct Line {
    way: Way,
    seed: u64,
    snap: usize,
    /// The queue, as the user wrote it.
    pub(crate) queue: String,
    /// The rules for weights, in words.
    weights: Vec<String>,
    port: Port<AnyArena<Slot>>,
    /// How long a full packet takes at the port's rate.
    full_packet: Duration,
    /// When the link carries packets, if it has no rate.
    trace: Option<TracedLink>,
    /// The trace's name.
    trace_name: Option<String>,
    feed: Feed,
    wire: Wire,
    pub(crate) books: Books,
    pub(crate) meter: Meter,
    /// The last arrival, or the time up to which the port has decided if that is later.
    now: Instant,
}

/// The wire behind the link.
struct Wire {
    delay: Duration,
    jitter: Duration,
    loss: u64,
    random: Pcg64Mcg,
    last_due: Instant,
    travelling: VecDeque<Travelling>,
}

/// What a port's decisions touch besides the port.
struct Outlet<'a> {
    way: Way,
    full_packet: Duration,
    trace: Option<&'a mut TracedLink>,
    /// When a packet's transmission ended, on a link that follows a trace.
    ended: Option<Instant>,
    wire: &'a mut Wire,
    books: &'a mut Books,
    meter: &'a mut Meter,
    slots: &'a mut Slots,
    flows: &'a [Flow],
    journal: &'a mut dyn Journal,
}

impl Outlet<'_> {
    fn kind(&self, flow: u32, len: u32) -> PacketKind {
        let flow = self.flows.get(flow as usize);
        let protocol = flow.and_then(Flow::headers).map(|headers| headers.protocol);
        PacketKind::of(protocol, len.saturating_sub(ETHERNET))
    }
}

impl Observer<Slot> for Outlet<'_> {
    fn sent(&mut self, packet: Packet<Slot>, start: Instant, end: Instant) {
        let slot = packet.payload;
        let content = self.slots.content(packet.payload);
        let mut end = end;
        if let Some(trace) = &mut self.trace {
            end = trace.carry(start, packet.len);
            self.ended = Some(end);
        }
        let marked = packet.ecn == Ecn::Marked && !content.came_marked();
        if marked {
            mark(self.slots.frame_mut(slot));
        }
        let (due, lost) = self.wire.travel(slot, end, self.full_packet);
        self.books.waiting -= 1;
        self.books.on_the_way += 1;
        self.books.sent += 1;
        self.books.sent_bytes += u64::from(content.len);
        self.books.marked += u64::from(marked);
        let delay = end.since(content.arrived);
        let bytes = u64::from(content.len);
        let kind = self.kind(packet.flow.0, content.len);
        self.meter.sent(kind, bytes, delay, marked);
        let flow = self.meter.flow(packet.flow.0);
        flow.waiting -= 1;
        flow.packets += 1;
        flow.bytes += u64::from(content.len);
        flow.marked += u64::from(marked);
        flow.delays += u128::from(delay.as_picos());
        let fate = Fate::Sent {
            start,
            end,
            due,
            marked,
            lost,
        };
        self.journal
            .fate(self.way, content.number, packet.flow.0, fate);
    }

    fn dropped(&mut self, packet: Packet<Slot>, now: Instant, reason: DropReason) {
        let content = self.slots.content(packet.payload);
        let number = content.number;
        let kind = self.kind(packet.flow.0, content.len);
        self.meter.phases.kinds().dropped(kind);
        self.slots.release(packet.payload);
        self.books.waiting -= 1;
        self.books.count_drop(reason);
        let flow = self.meter.flow(packet.flow.0);
        flow.waiting -= 1;
        flow.dropped += 1;
        let fate = Fate::Dropped { at: now, reason };
        self.journal.fate(self.way, number, packet.flow.0, fate);
    }
}

impl Wire {
    fn new(settings: &WaySettings, guard: Duration, random: Pcg64Mcg) -> Self {
        Self {
            // The delay includes the guard, so that no frame is due before its fate is decided.
            delay: Duration::from_picos(settings.delay).max(guard),
            jitter: Duration::from_picos(settings.jitter),
            loss: settings.loss,
            random,
            last_due: Instant::ZERO,
            travelling: VecDeque::new(),
        }
    }

    /// Sends a frame along the wire. Returns when it is due, and whether it is lost. Random draws
    /// are those of a simulated wire, where a lost frame has no jitter and holds up no other.
    fn travel(&mut self, slot: Slot, end: Instant, full_packet: Duration) -> (Instant, bool) {
        let lost = self.loss > 0 && self.random.random_range(0..Billionths::ONE.0) < self.loss;
        let mut due = end + self.delay;
        if self.jitter > Duration::ZERO && !lost {
            let extra = self.random.random_range(0..=self.jitter.as_picos());
            due += Duration::from_picos(extra);
        }
        // Jitter never changes the order.
        due = due.max(self.last_due);
        if !lost {
            self.last_due = due;
        }
        self.travelling.push_back(Travelling {
            slot,
            due,
            lost,
            full_packet,
        });
        (due, lost)
    }
}

/// Makes a port with this queue.
fn port_of(
    queue: &Queue,
    rate: roundelay::Rate,
    seed: u64,
) -> Result<Port<AnyArena<Slot>>, SettingsError> {
    let scheduler = queue
        .discipline()
        .build_arena(seed_of_queue(seed))
        .map_err(wrong)?;
    Ok(Port::new(scheduler, queue.limit(), rate))
}

/// Runs a link that follows a trace up to just before `until`. The port's own rate does not count.
/// The link picks a packet as soon as the trace can carry a byte, and is free when the trace has
/// carried the packet's last byte.
fn advance_by_trace(port: &mut Port<AnyArena<Slot>>, until: Instant, outlet: &mut Outlet<'_>) {
    while let Some(at) = port.next_event().filter(|at| *at < until) {
        let opportunity = outlet.trace.as_ref().map_or(at, |trace| trace.next(at));
        if opportunity > at {
            // The link is busy until the trace can carry a byte.
            port.take_over(opportunity);
            continue;
        }
        port.pick(outlet);
        // The outlet knows when the trace carries the packet's last byte.
        if let Some(end) = outlet.ended.take() {
            port.take_over(end);
        }
    }
}

/// The part of a frame that a queue looks at.
fn seen(frame: &[u8], len: u32, snap: usize) -> Frame<'_> {
    Frame {
        time_nanos: 0,
        original_len: len,
        link: LinkType::ETHERNET,
        bytes: &frame[..frame.len().min(snap)],
        tap: Tap::default(),
    }
}

impl Line {
    pub(crate) fn new(settings: &Settings, way: Way) -> Result<Self, SettingsError> {
        let own = settings.way(way);
        own.check_wire()?;
        let queue = own.queue.queue()?;
        let port = port_of(&queue, own.rate()?, settings.seed)?;
        let shaped = queue.reference_rate(port.rate());
        let flows = (settings.flow_by()?, settings.max_flows as usize);
        let rules = settings.weights.rules()?;
        let layer = settings.link.layer()?;
        let feed =
            Feed::new(queue, rules, layer, flows).map_err(|error| wrong(error.to_string()))?;
        let guard = Duration::from_picos(settings.guard);
        let weights = weights_in_words(&settings.weights);
        let trace_name = own.trace.as_ref().map(|(name, _)| name.clone());
        let conditions = Conditions {
            queue: own.queue.to_string(),
            rate: port.rate().bits_per_second(),
            trace: trace_name.clone(),
            weights: weights.clone(),
        };
        Ok(Self {
            way,
            seed: settings.seed,
            snap: settings.snap as usize,
            queue: own.queue.to_string(),
            weights,
            full_packet: shaped.time_of(FULL_PACKET),
            port,
            trace: settings.trace(way)?,
            trace_name,
            feed,
            wire: Wire::new(own, guard, of_wire(settings.seed, way)),
            books: Books::default(),
            meter: Meter::new(conditions),
            now: Instant::ZERO,
        })
    }

    /// The last arrival, or the time up to which the port has decided if that is later.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// The link's rate.
    pub(crate) const fn rate(&self) -> roundelay::Rate {
        self.port.rate()
    }

    /// Time of a full packet at the smallest rate that shapes all packets.
    pub(crate) const fn full_packet(&self) -> Duration {
        self.full_packet
    }

    /// The name of the link's trace, while the link follows it.
    pub(crate) fn trace_name(&self) -> Option<&str> {
        self.trace_name.as_deref()
    }

    /// The flows. The index is the flow's number.
    pub(crate) fn flows(&self) -> &[Flow] {
        self.feed.flows()
    }

    /// Figures of each phase. The present one ends at `until`.
    pub(crate) fn phases(&self, until: Instant) -> Vec<PhaseFigures> {
        self.meter.phases.figures(until, self.present())
    }

    /// Each phase as the metrics show it.
    pub(crate) fn phase_metrics(&self) -> Vec<PhaseMetrics> {
        self.meter.phases.metrics(self.present())
    }

    fn present(&self) -> Present<'_> {
        Present {
            books: &self.books,
            flows: self.feed.flows(),
            flow_books: &self.meter.flows,
        }
    }

    /// Begins a phase at `at`, because the settings changed.
    fn begin_phase(&mut self, at: Instant, change: &Change) {
        let conditions = Conditions {
            queue: self.queue.clone(),
            rate: self.port.rate().bits_per_second(),
            trace: self.trace_name.clone(),
            weights: self.weights.clone(),
        };
        let present = Present {
            books: &self.books,
            flows: self.feed.flows(),
            flow_books: &self.meter.flows,
        };
        let change = change.to_string();
        self.meter.phases.begin(at, conditions, change, present);
    }

    /// How many packets and bytes the queue holds.
    pub(crate) fn backlog(&self) -> Backlog {
        self.port.scheduler().backlog()
    }

    /// When the port decides next.
    pub(crate) fn next_decision(&self) -> Option<Instant> {
        self.port.next_event()
    }

    /// When the next frame is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.wire.travelling.front().map(|first| first.due)
    }

    /// Decides everything before `until`.
    pub(crate) fn advance(&mut self, until: Instant, slots: &mut Slots, journal: &mut dyn Journal) {
        let mut outlet = Outlet {
            way: self.way,
            full_packet: self.full_packet,
            trace: self.trace.as_mut(),
            ended: None,
            wire: &mut self.wire,
            books: &mut self.books,
            meter: &mut self.meter,
            slots,
            flows: self.feed.flows(),
            journal,
        };
        if outlet.trace.is_some() {
            advance_by_trace(&mut self.port, until, &mut outlet);
        } else {
            self.port.advance(until, &mut outlet);
        }
        self.now = self.now.max(until);
    }

    /// Takes a frame that arrives at `at`, which is no earlier than [`now`](Self::now).
    pub(crate) fn arrive(
        &mut self,
        at: Instant,
        slot: Slot,
        slots: &mut Slots,
        journal: &mut dyn Journal,
    ) -> Result<(), FeedError> {
        self.advance(at, slots, journal);
        let len = slots.content(slot).len;
        let frame = seen(slots.frame(slot), len, self.snap);
        journal.arrived(self.way, at, frame.bytes, frame.original_len);
        let sorted = self.feed.sort(at, &frame, self.port.scheduler_mut())?;
        self.books.arrived_bytes += u64::from(frame.original_len);
        let content = slots.content_mut(slot);
        (content.number, content.sorted) = (self.books.arrived, Some(sorted));
        content.arrived = at;
        self.books.arrived += 1;
        self.enter(at, slot, sorted, slots, journal);
        Ok(())
    }

    /// Puts a frame into the queue.
    fn enter(
        &mut self,
        at: Instant,
        slot: Slot,
        sorted: Sorted,
        slots: &mut Slots,
        journal: &mut dyn Journal,
    ) {
        self.books.waiting += 1;
        let packet = self.feed.packet(at, sorted, slot);
        self.meter.flow(packet.flow.0).waiting += 1;
        let mut outlet = Outlet {
            way: self.way,
            full_packet: self.full_packet,
            trace: None,
            ended: None,
            wire: &mut self.wire,
            books: &mut self.books,
            meter: &mut self.meter,
            slots,
            flows: self.feed.flows(),
            journal,
        };
        self.port.arrive(at, packet, &mut outlet);
    }

    /// Changes rate, queue or weights at `at`, which is no earlier than [`now`](Self::now).
    ///
    /// # Errors
    /// The change is impossible. Then nothing has changed.
    pub(crate) fn change(
        &mut self,
        at: Instant,
        change: &Change,
        slots: &mut Slots,
        journal: &mut dyn Journal,
    ) -> Result<(), SettingsError> {
        self.advance(at, slots, journal);
        let failed = |error: FeedError| wrong(error.to_string());
        match change {
            Change::Rate(bits) => {
                let rate = rate(*bits)?;
                journal.changed(self.way, at, change);
                self.port.set_rate(rate);
                let shaped = self.feed.queue().reference_rate(rate);
                self.full_packet = shaped.time_of(FULL_PACKET);
                // From now on the link has a rate.
                (self.trace, self.trace_name) = (None, None);
                self.begin_phase(at, change);
            }
            Change::Weights(texts) => {
                let rules = texts.rules()?;
                let queue = self.feed.queue();
                queue
                    .check_weights(&rules)
                    .map_err(|error| wrong(error.to_string()))?;
                journal.changed(self.way, at, change);
                self.feed
                    .set_weights(rules, self.port.scheduler_mut())
                    .map_err(failed)?;
                self.weights = weights_in_words(texts);
                self.begin_phase(at, change);
            }
            Change::Queue(text) => {
                let queue = text.queue()?;
                let mut port = port_of(&queue, self.port.rate(), self.seed)?;
                let shaped = queue.reference_rate(port.rate());
                port.take_over(self.port.free_at());
                self.feed
                    .set_queue(queue, port.scheduler_mut())
                    .map_err(failed)?;
                journal.changed(self.way, at, change);
                self.queue = text.to_string();
                self.full_packet = shaped.time_of(FULL_PACKET);
                let waiting = self.replace(port, slots);
                // Before frames enter the new queue, because it may drop some.
                self.begin_phase(at, change);
                for slot in waiting {
                    if let Some(sorted) = slots.content(slot).sorted {
                        self.enter(at, slot, sorted, slots, journal);
                    }
                }
            }
        }
        self.books.changes += 1;
        Ok(())
    }

    /// Installs another port, and returns the waiting frames in the order of their arrival.
    fn replace(&mut self, port: Port<AnyArena<Slot>>, slots: &Slots) -> Vec<Slot> {
        let mut before = std::mem::replace(&mut self.port, port);
        let mut waiting = Vec::new();
        while let Some(packet) = before.scheduler_mut().evict() {
            waiting.push(packet.payload);
            // fq_codel drops several packets at once.
            while let Some((packet, _)) = before.scheduler_mut().take_dropped() {
                waiting.push(packet.payload);
            }
        }
        let left = before.scheduler().backlog();
        debug_assert!(left.is_empty(), "{}: {left:?} packets stay", self.queue);
        waiting.sort_unstable_by_key(|slot| slots.content(*slot).number);
        self.books.waiting -= waiting.len() as u64;
        for flow in &mut self.meter.flows {
            flow.waiting = 0;
        }
        waiting
    }

    /// Adds to `due` the slots of frames due by `now`, at most `most`. Frames that the wire has
    /// lost before these are taken off it.
    pub(crate) fn due(
        &mut self,
        now: Instant,
        most: usize,
        due: &mut Vec<(Slot, Instant)>,
        slots: &mut Slots,
    ) {
        let travelling = &mut self.wire.travelling;
        while let Some(first) = travelling
            .front()
            .filter(|first| first.lost && first.due <= now)
        {
            slots.release(first.slot);
            travelling.pop_front();
            self.books.on_the_way -= 1;
            self.books.lost += 1;
        }
        for frame in travelling.iter().take(most) {
            if frame.due > now || frame.lost {
                break;
            }
            due.push((frame.slot, frame.due));
        }
    }

    /// Notes that the first due frame leaves at `at`.
    pub(crate) fn note_departure(&mut self, at: Instant) {
        if let Some(first) = self.wire.travelling.front() {
            let late = at.since(first.due);
            self.meter.punctuality.left(late, first.full_packet);
        }
    }

    /// Notes that an arrival was moved by `moved`.
    pub(crate) fn note_moved(&mut self, moved: Duration) {
        self.meter.punctuality.moved += u64::from(moved >= self.full_packet);
    }

    /// Notes a frame that came without a stamp. Its device was read `gap` before.
    pub(crate) fn note_unstamped(&mut self, gap: Duration) {
        let full_packet = self.full_packet;
        self.meter.punctuality.came_unstamped(gap, full_packet);
    }

    /// Whether frames came in and left on time. Frames due by `now` that have not left count too.
    pub(crate) fn punctuality(&self, now: Instant) -> Punctuality {
        let mut punctuality = self.meter.punctuality.clone();
        for frame in &self.wire.travelling {
            if frame.due > now {
                break;
            }
            if !frame.lost {
                punctuality.stayed(now.since(frame.due), frame.full_packet);
            }
        }
        punctuality
    }

    /// Lets the first due frame go, because the device took it or refused it for good.
    pub(crate) fn hand_over(&mut self, is_taken: bool, slots: &mut Slots) {
        let Some(first) = self.wire.travelling.pop_front() else {
            return;
        };
        self.books.on_the_way -= 1;
        if is_taken {
            self.books.delivered += 1;
            self.books.delivered_bytes += u64::from(slots.content(first.slot).len);
        } else {
            self.books.refused += 1;
        }
        slots.release(first.slot);
    }
}

//! Test network: a sender and a receiver with one link, with a rate, a delay, a queue, and a fate
//! for each segment.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use roundelay::{Duration, Instant};
use roundelay_tcp::rc3::Tail;
use roundelay_tcp::{Config, Receiver, Segment, Sender};

/// The link's action on a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Deliver,
    Drop,
    Mark,
    /// Arrives twice, the second time later by this duration.
    Duplicate(Duration),
    /// Arrives later by this duration; other segments may overtake.
    Delay(Duration),
}

/// Decides the fate of a segment, given the segment and its number on the link.
type Judge = Box<dyn FnMut(u64, &Segment) -> Fate>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data(u32, bool),
    Acknowledgement(u32),
    Transmitted,
    SenderTimer,
    ReceiverTimer,
}

/// An event at the sender, and the segments sent in response.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) now: Instant,
    /// The acknowledgement received; None for the opening and for timers.
    pub(crate) acknowledgement: Option<Segment>,
    pub(crate) sent: Vec<Segment>,
}

pub(crate) struct Link {
    pub(crate) time_per_byte: Duration,
    /// From the end of a segment's transmission to its acknowledgement, half in each direction.
    pub(crate) round_trip: Duration,
    /// Most segments in the queue, including the one in transmission.
    pub(crate) queue_limit: usize,
    /// Fate of data.
    pub(crate) fate: Judge,
    /// Fate of acknowledgements.
    pub(crate) fate_back: Judge,
}

impl Default for Link {
    /// 1000 bytes a millisecond, 100 ms for data and its acknowledgement, no limit.
    fn default() -> Self {
        Self {
            time_per_byte: Duration::from_micros(1),
            round_trip: Duration::from_millis(99),
            queue_limit: usize::MAX,
            fate: Box::new(|_, _| Fate::Deliver),
            fate_back: Box::new(|_, _| Fate::Deliver),
        }
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) sender: Sender,
    /// RC3 tail of the sender, at low priorities.
    pub(crate) tail: Option<Tail>,
    pub(crate) receiver: Receiver,
    pub(crate) steps: Vec<Step>,
    pub(crate) keeps_steps: bool,
    /// Flags of the bytes received, if recorded.
    pub(crate) arrived: Option<Vec<bool>>,
    /// Segments dropped by the full queue.
    pub(crate) overflows: u64,
    link: Link,
    config: Config,
    queue: VecDeque<Segment>,
    /// Queue of low-priority segments; the segments; and the segment in transmission.
    low: BinaryHeap<Reverse<(u8, u64)>>,
    low_segments: Vec<Segment>,
    transmitting: Option<Segment>,
    offered: u64,
    acknowledged: u64,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    in_transit: Vec<Segment>,
    free: Vec<u32>,
    sequence: u64,
}

impl World {
    pub(crate) fn new(config: Config, bytes: Option<u64>, link: Link) -> Self {
        Self {
            now: Instant::ZERO,
            sender: Sender::new(config, bytes).expect("a legal configuration"),
            tail: None,
            receiver: Receiver::new(config).expect("a legal configuration"),
            steps: Vec::new(),
            keeps_steps: false,
            arrived: None,
            overflows: 0,
            link,
            config,
            queue: VecDeque::new(),
            low: BinaryHeap::new(),
            low_segments: Vec::new(),
            transmitting: None,
            offered: 0,
            acknowledged: 0,
            events: BinaryHeap::new(),
            in_transit: Vec::new(),
            free: Vec::new(),
            sequence: 0,
        }
    }

    pub(crate) fn open(&mut self) {
        self.sender.open(self.now);
        self.send(None);
    }

    /// Runs until the sender is done, no event is left, or time is over. Returns whether the sender
    /// is done.
    pub(crate) fn run(&mut self, until: Instant) -> bool {
        while !self.sender.is_done() && self.step(until) {}
        self.sender.is_done()
    }

    /// The link carries a byte in this time from the next segment on.
    pub(crate) fn set_time_per_byte(&mut self, time: Duration) {
        self.link.time_per_byte = time;
    }

    /// Handles the next event, if there is one before `until`.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let Some(Reverse((at, _, event))) = self.events.pop() else {
            return false;
        };
        if at > until {
            return false;
        }
        self.now = at;
        match event {
            Event::Transmitted => self.transmitted(),
            Event::Data(slot, marked) => {
                let segment = self.take(slot);
                self.note_arrival(&segment);
                let answer = self.receiver.on_segment(at, &segment, marked);
                self.answer(answer);
            }
            Event::Acknowledgement(slot) => {
                let segment = self.take(slot);
                self.sender.on_segment(at, &segment);
                self.send(Some(segment));
            }
            Event::SenderTimer if self.sender.timer().is_some_and(|timer| timer <= at) => {
                self.sender.on_timer(at);
                self.send(None);
            }
            Event::ReceiverTimer => {
                let answer = self.receiver.on_timer(at);
                self.answer(answer);
            }
            Event::SenderTimer => {}
        }
        true
    }

    pub(crate) fn send(&mut self, acknowledgement: Option<Segment>) {
        let sent: Vec<_> = std::iter::from_fn(|| self.sender.poll(self.now)).collect();
        for segment in &sent {
            self.offer(*segment);
        }
        self.send_tail();
        if let Some(timer) = self.sender.timer() {
            self.schedule(timer.max(self.now), Event::SenderTimer);
        }
        let in_flight = self.sender.highest() > self.sender.acknowledged();
        assert!(
            !in_flight || self.sender.timer().is_some(),
            "data in flight and no timer at {}",
            self.now
        );
        if self.keeps_steps {
            self.steps.push(Step {
                now: self.now,
                acknowledgement,
                sent,
            });
        }
    }

    fn offer(&mut self, segment: Segment) {
        if self.queue.len() + usize::from(self.transmitting.is_some()) >= self.link.queue_limit {
            self.overflows += 1;
            return;
        }
        self.queue.push_back(segment);
        self.transmit();
    }

    fn send_tail(&mut self) {
        let Some(tail) = &mut self.tail else { return };
        while let Some((segment, priority)) = tail.poll(self.now, &mut self.sender) {
            self.low
                .push(Reverse((priority, self.low_segments.len() as u64)));
            self.low_segments.push(segment);
        }
        self.transmit();
    }

    fn transmit(&mut self) {
        if self.transmitting.is_some() {
            return;
        }
        let low = |low: &mut BinaryHeap<_>| {
            low.pop()
                .map(|Reverse((_, slot))| self.low_segments[slot as usize])
        };
        let Some(segment) = self.queue.pop_front().or_else(|| low(&mut self.low)) else {
            return;
        };
        let time = self.link.time_per_byte.as_picos() * u64::from(segment.wire_len(&self.config));
        self.transmitting = Some(segment);
        self.schedule(self.now + Duration::from_picos(time), Event::Transmitted);
    }

    fn transmitted(&mut self) {
        let segment = self.transmitting.take().expect("it was transmitted");
        let there = self.now + Duration::from_picos(self.link.round_trip.as_picos() / 2);
        self.offered += 1;
        let fate = (self.link.fate)(self.offered - 1, &segment);
        for (delay, marked) in arrivals(fate) {
            let slot = self.keep(segment);
            self.schedule(there + delay, Event::Data(slot, marked));
        }
        self.transmit();
    }

    fn note_arrival(&mut self, segment: &Segment) {
        let Some(arrived) = &mut self.arrived else {
            return;
        };
        let (start, end) = (segment.sequence as usize, segment.end() as usize);
        arrived.resize(arrived.len().max(end), false);
        arrived[start..end].fill(true);
    }

    fn answer(&mut self, answer: Option<Segment>) {
        if let Some(timer) = self.receiver.timer() {
            self.schedule(timer, Event::ReceiverTimer);
        }
        let Some(segment) = answer else { return };
        let back = self.now + Duration::from_picos(self.link.round_trip.as_picos() / 2);
        self.acknowledged += 1;
        for (delay, _) in arrivals((self.link.fate_back)(self.acknowledged - 1, &segment)) {
            let slot = self.keep(segment);
            self.schedule(back + delay, Event::Acknowledgement(slot));
        }
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn keep(&mut self, segment: Segment) -> u32 {
        let slot = self.free.pop().unwrap_or(self.in_transit.len() as u32);
        if slot as usize == self.in_transit.len() {
            self.in_transit.push(segment);
        }
        self.in_transit[slot as usize] = segment;
        slot
    }

    fn take(&mut self, slot: u32) -> Segment {
        self.free.push(slot);
        self.in_transit[slot as usize]
    }
}

fn arrivals(fate: Fate) -> impl Iterator<Item = (Duration, bool)> {
    let (first, second) = match fate {
        Fate::Deliver => (Some((Duration::ZERO, false)), None),
        Fate::Mark => (Some((Duration::ZERO, true)), None),
        Fate::Drop => (None, None),
        Fate::Delay(delay) => (Some((delay, false)), None),
        Fate::Duplicate(delay) => (Some((Duration::ZERO, false)), Some((delay, false))),
    };
    first.into_iter().chain(second)
}

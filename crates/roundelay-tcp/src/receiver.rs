//! TCP receiver: orders data and acknowledges it. RFC 5681 section 4.2, RFC 2018, RFC 3168,
//! RFC 7323.

use std::ops::Range;

use roundelay::Instant;

use crate::config::{Config, ConfigError};
use crate::ranges::Ranges;
use crate::receive_window::ReceiveWindow;
use crate::segment::{Block, Flags, MAX_BLOCKS, Segment};

/// Segments that Linux acknowledges one by one at the start, or after a pause.
const QUICK: u32 = 16;
/// Segments that arrive while Linux's receive window grows, each by two segments. The window begins
/// at 64 KiB, of which the first half changes nothing. It stops growing where it holds twice what a
/// round trip brings, which is after 110 to 190 segments in the connections of
/// `peers/tcp/capture.pcap.gz`.
const GROWING: Range<u64> = 33..161;

/// What a receiver counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverStatistics {
    /// Segments with data received.
    pub segments: u64,
    /// Bytes received more than once.
    pub duplicate_bytes: u64,
    /// Segments received beyond a gap.
    pub out_of_order: u64,
    /// Segments dropped because they lay outside of the receive window.
    pub outside_window: u64,
    /// Segments received with an ECN mark.
    pub marked: u64,
    /// Acknowledgements sent.
    pub acknowledgements: u64,
}

/// Receives one stream of bytes over TCP.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: Config,
    /// The next byte expected (RCV.NXT).
    next: u64,
    /// Data received beyond a gap.
    beyond: Ranges,
    /// One byte of each block sent last, the latest first.
    recent: [u64; MAX_BLOCKS],
    /// TS.Recent.
    echo: Instant,
    /// The acknowledgement number that was sent last.
    acknowledged: u64,
    /// Segments received in order but not yet acknowledged.
    unacknowledged: u32,
    deadline: Option<Instant>,
    /// Segments still to be acknowledged one by one, and when the last one came.
    quick: u32,
    last_at: Instant,
    /// Whether a mark was seen, and the sender has not reduced its window since.
    is_congested: bool,
    /// What is offered, if that grows.
    window: Option<Box<ReceiveWindow>>,
    statistics: ReceiverStatistics,
}

impl Receiver {
    /// A receiver at the start of a flow.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::empty(config))
    }

    fn empty(config: Config) -> Self {
        let grows = config.window_growth;
        Self {
            window: grows.then(|| Box::new(ReceiveWindow::new(&config))),
            config,
            next: 0,
            beyond: Ranges::default(),
            recent: [u64::MAX; MAX_BLOCKS],
            echo: Instant::ZERO,
            acknowledged: 0,
            unacknowledged: 0,
            deadline: None,
            quick: QUICK,
            last_at: Instant::ZERO,
            is_congested: false,
            statistics: ReceiverStatistics::default(),
        }
    }

    /// Handles a segment. `marked` says whether a queue set congestion experienced (CE). Returns
    /// the acknowledgement to send at once, if there is one.
    #[must_use = "an acknowledgement has to be sent"]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment, marked: bool) -> Option<Segment> {
        if segment.is_syn() {
            self.echo = segment.timestamp;
            return Some(self.acknowledge(now, Flags::SYN));
        }
        if segment.len == 0 {
            return None;
        }
        self.notice_congestion(segment, marked);
        self.statistics.segments += 1;
        if segment.sequence <= self.acknowledged {
            self.echo = self.echo.max(segment.timestamp);
        }
        let reason = Flags::NONE.with_if(segment.flags.has(Flags::OUT_OF_BAND), Flags::OUT_OF_BAND);
        let is_in_order = self.take(segment);
        if let Some(window) = &mut self.window {
            window.on_data(now, segment.echo, self.next);
        }
        if now.since(self.last_at) > self.config.min_timeout {
            self.quick = QUICK;
        }
        self.last_at = now;
        if is_in_order && !self.must_acknowledge(now, segment.len) {
            None
        } else {
            Some(self.acknowledge(now, reason))
        }
    }

    /// Call at [`Receiver::timer`] or later. Returns the delayed acknowledgement.
    #[must_use = "an acknowledgement has to be sent"]
    pub fn on_timer(&mut self, now: Instant) -> Option<Segment> {
        self.deadline
            .is_some_and(|deadline| deadline <= now)
            .then(|| self.acknowledge(now, Flags::NONE))
    }

    /// When the delayed acknowledgement is due.
    #[inline]
    pub fn timer(&self) -> Option<Instant> {
        self.deadline
    }

    /// Bytes received in order, from the first.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// The counts.
    pub fn statistics(&self) -> &ReceiverStatistics {
        &self.statistics
    }

    /// RFC 3168, section 6.1.3: a mark is echoed until the sender says that it has reduced its
    /// window.
    fn notice_congestion(&mut self, segment: &Segment, marked: bool) {
        self.statistics.marked += u64::from(marked);
        if segment.flags.has(Flags::CWR) {
            self.is_congested = false;
        }
        self.is_congested |= marked && self.config.ecn;
    }

    /// Bytes accepted beyond the next one expected.
    fn accepted(&self) -> u64 {
        match &self.window {
            Some(window) => window.accepted(),
            None => self.config.receive_window_bytes(),
        }
    }

    /// Stores a segment. Returns whether it was the expected one and there is no gap.
    fn take(&mut self, segment: &Segment) -> bool {
        let start = segment.sequence.max(self.next);
        let end = segment.end();
        if end > self.next + self.accepted() {
            self.statistics.outside_window += 1;
            return false;
        }
        self.statistics.duplicate_bytes += u64::from(segment.len) - end.saturating_sub(start);
        if end <= self.next {
            return false;
        }
        if start == self.next && self.beyond.is_empty() {
            self.next = end;
            return segment.sequence == start;
        }
        self.take_beside_gap(start, end);
        false
    }

    /// Stores a segment that leaves a gap or fills one.
    fn take_beside_gap(&mut self, start: u64, end: u64) {
        let new = self.beyond.insert(start, end);
        self.statistics.duplicate_bytes += end - start - new;
        if start == self.next {
            self.next = self.beyond.advance(self.next);
        } else {
            self.statistics.out_of_order += 1;
            self.remember(start);
        }
    }

    /// RFC 2018, section 4: the block with the latest segment comes first.
    fn remember(&mut self, latest: u64) {
        let run = self.beyond.containing(latest);
        let is_other = |number: u64| run.is_none_or(|(start, end)| !(start..end).contains(&number));
        let kept = self.recent.into_iter().filter(|number| is_other(*number));
        let mut recent = [u64::MAX; MAX_BLOCKS];
        recent
            .iter_mut()
            .zip(std::iter::once(latest).chain(kept))
            .for_each(|(slot, number)| *slot = number);
        self.recent = recent;
    }

    /// Whether a segment that was received in order is acknowledged now: RFC 5681, section 4.2.
    fn must_acknowledge(&mut self, now: Instant, len: u32) -> bool {
        let Some(delay) = self.config.delayed_acknowledgement else {
            return true;
        };
        if self.config.quick_acknowledgements && self.is_quick() {
            return true;
        }
        self.unacknowledged += self.config.segments(len);
        self.deadline.get_or_insert(now + delay);
        self.unacknowledged >= 2
    }

    /// Whether Linux acknowledges this segment by itself.
    fn is_quick(&mut self) -> bool {
        let number = self.next / u64::from(self.config.segment_len);
        let is_first = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        is_first || GROWING.contains(&number)
    }

    fn acknowledge(&mut self, now: Instant, flags: Flags) -> Segment {
        (self.unacknowledged, self.deadline, self.acknowledged) = (0, None, self.next);
        self.statistics.acknowledgements += 1;
        let window = match &self.window {
            Some(window) => window.advertised(flags.has(Flags::SYN)),
            None => 0,
        };
        Segment {
            window,
            acknowledgement: self.next,
            timestamp: now,
            echo: self.echo,
            blocks: self.blocks(),
            flags: flags
                .with(Flags::ACK)
                .with_if(self.is_congested, Flags::ECE),
            ..Segment::default()
        }
    }

    /// The blocks beyond the gap, but without those that lie more than 4 GiB away.
    fn blocks(&mut self) -> [Block; MAX_BLOCKS] {
        let mut blocks = [Block::default(); MAX_BLOCKS];
        if self.beyond.is_empty() {
            return blocks;
        }
        let runs = self
            .recent
            .iter()
            .filter_map(|number| self.beyond.containing(*number));
        let mut count = 0;
        for (start, end) in runs {
            let block = u32::try_from(start - self.next)
                .ok()
                .zip(u32::try_from(end - start).ok());
            let Some(block) = block
                .map(|(offset, len)| Block { offset, len })
                .filter(|block| !blocks.contains(block))
            else {
                continue;
            };
            blocks[count] = block;
            count += 1;
        }
        blocks
    }
}

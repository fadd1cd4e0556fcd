//! Scheduler with early detection: one queue, before which RED's decision stands, for disciplines
//! that differ in how packets wait and in what a signal does (`red`, `choke`).

use core::fmt::Debug;

use crate::config::ConfigError;
use crate::control::Control;
use crate::drops::{DropReason, Refused};
use crate::limit::Backlog;
use crate::mechanisms::early_detection::{EarlyDetection, Thresholds, UNKNOWN_LINK_RATE};
use crate::mechanisms::random::Random;
use crate::mechanisms::signalling::{SignallingQueue, Waiting};
use crate::packet::Packet;
use crate::scheduler::Scheduler;
use crate::schedulers::Configured;
use crate::seed::Seed;
use crate::time::Instant;
use crate::units::Rate;

/// What a discipline adds to early detection. Its configuration implements this trait.
pub trait Admission: Debug + Copy {
    /// How packets wait.
    type Queue<T>: Waiting<T>;
    /// Whether `min`, `max` and the average are in bytes, not in packets.
    const IN_BYTES: bool;

    /// The thresholds on a link with this rate.
    fn thresholds(&self, link: Rate) -> Thresholds;

    /// Judges an arriving packet, which the average knows already. None: the packet is dropped.
    fn admit<T>(scheduler: &mut DetectingQueue<Self, T>, packet: Packet<T>) -> Option<Packet<T>>;
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct DetectingQueue<C: Admission, T> {
    pub(crate) queue: SignallingQueue<T, C::Queue<T>>,
    pub(crate) detection: EarlyDetection,
    pub(crate) random: Random,
    pub(crate) config: C,
}

impl<C: Admission, T> Configured<C> for DetectingQueue<C, T> {
    fn configured(config: C, seed: Seed) -> Result<Self, ConfigError> {
        let detection = EarlyDetection::new(config.thresholds(UNKNOWN_LINK_RATE));
        Ok(Self {
            queue: SignallingQueue::default(),
            detection,
            random: Random::new(seed),
            config,
        })
    }
}

impl<C: Admission, T> DetectingQueue<C, T> {
    /// The thresholds of the parameters on the link.
    fn thresholds(&self) -> Thresholds {
        self.config.thresholds(self.detection.link_rate)
    }

    /// The parameters have changed.
    pub(crate) fn adopt(&mut self) {
        self.detection.adopt(self.thresholds());
    }
}

impl<C: Admission, T> Scheduler<T> for DetectingQueue<C, T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        // avg, with the queue that this arrival finds.
        let Backlog { packets, bytes } = self.queue.backlog();
        let waiting = if C::IN_BYTES { bytes } else { packets };
        self.detection.observe(now, waiting);
        if let Some(packet) = C::admit(self, packet) {
            self.detection.entered();
            self.queue.push(packet);
        } else {
            // A waiting packet may have been dropped as well, and the queue be empty now.
            self.detection.left(Some(now), self.queue.backlog());
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        // If the queue is empty now, q_time starts.
        let packet = self.queue.pop()?;
        self.detection.left(Some(now), self.queue.backlog());
        Some(packet)
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<Packet<T>> {
        let packet = self.queue.pop_tail()?;
        self.detection.left(None, self.queue.backlog());
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.queue.take_dropped()
    }
}

impl<C: Admission, T> Control for DetectingQueue<C, T> {
    fn set_link_rate(&mut self, rate: Rate) {
        self.detection.link_rate = rate;
        self.adopt();
    }

    /// 1. `min` is below `max`, the thresholds are those of the parameters, and adapted values stay
    ///    probabilities.
    /// 2. Each waiting packet is in the queue, once, in order of arrival.
    #[cfg(any(test, debug_assertions))]
    fn check_invariants(&self) {
        self.detection.check(&self.thresholds());
        self.queue.check();
    }
}

//! Edge-CoDel: CoDel's control loop for one flow, run at the flow's exit from the network instead
//! of in each queue.
//!
//! If packets carry their slack (LSTF), the last router knows how long each packet has waited in
//! all queues together: initial slack minus current slack. Edge-CoDel feeds this delay to CoDel,
//! and drops (or marks) at the edge instead of in the queues. It cannot see a queue become empty. A
//! gap between two packets' sending times tells as much, because none of the flow's packets had
//! piled up.
//!
//! ```
//! use roundelay::edge_codel::{Config, queueing_delay};
//! use roundelay::{Duration, EdgeCodel, Instant, Slack};
//!
//! let mut flow = EdgeCodel::new(Config::default())?;
//! let (initial, left) = (Slack::of(Duration::from_millis(100)), Slack::of(Duration::from_millis(93)));
//! let delay = queueing_delay(initial, left);
//! let is_bad = flow.judges_bad(Instant::from_nanos(50_000_000), Instant::from_nanos(20_000_000), delay);
//! assert!(!is_bad, "7 ms are too long, but not for an interval yet");
//! # Ok::<(), roundelay::ConfigError>(())
//! ```
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI
//! 2016, section 4.2 on active queue management. The decision itself: `mechanisms/codel.rs`, RFC
//! 8289.
//!
//! | paper | here |
//! |---|---|
//! | initial slack - current slack | [`queueing_delay`] |
//! | refresh of the interval after a gap between sending times | `Config::refresh`: 20 ms, four times the target |
//! | send time (the sender's timestamp) | `sent_at`, by any clock that runs at the pace of time |
//!
//! | claim | test in `theorems/edge_codel.rs` |
//! |---|---|
//! | signals k-th at t0 + sum of interval / sqrt(i) | `signals_follow_the_control_law` |
//! | a gap above the threshold starts a new interval, one below does not | `a_gap_starts_a_new_interval` |
//! | bursts with gaps are left alone, where CoDel without the rule signals | `bursts_with_gaps_are_left_alone` |
//! | one queue in the network: decides as CoDel at that queue | `it_decides_as_codel_in_the_queue_does` |
//!
//! Cost: O(1) a packet, and 64 bytes for each flow.
//!
//! Differences from the paper: its experiments used CoDel's restart rule from before the RFC (the
//! last count less two, within eight intervals). Here the RFC's rule applies unless
//! [`Resume::TwoLess`] is set. The backlog is unknown here, so CoDel's exception for a single
//! packet in the queue does not apply.

use crate::config::ConfigError;
use crate::mechanisms::codel::{Codel, Resume, Rules, Target, Waited};
use crate::time::{Duration, Instant, Slack};

/// The total time in queues so far: initial slack minus current slack.
pub const fn queueing_delay(initial: Slack, current: Slack) -> Duration {
    Duration::from_picos(if initial.as_picos() > current.as_picos() {
        initial.as_picos().abs_diff(current.as_picos())
    } else {
        0
    })
}

/// Parameters of Edge-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Acceptable time in queues: 1 us to 1 hour.
    pub target: Duration,
    /// Time for which the delay may exceed the target, about a round trip: 1 us to 1 hour.
    pub interval: Duration,
    /// A larger gap between two packets' sending times starts a new interval: longer than `target`,
    /// up to 1 hour.
    pub refresh: Duration,
    /// The signal count at the start of the next bad period.
    pub resume: Resume,
}

impl Default for Config {
    fn default() -> Self {
        let Target {
            target, interval, ..
        } = Target::DEFAULT;
        Self {
            target,
            interval,
            refresh: Duration::from_millis(20),
            resume: Resume::Rfc8289,
        }
    }
}

impl Config {
    const NAME: &'static str = "edge_codel";

    /// # Errors
    /// A parameter is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let least = Duration::from_micros(1);
        let most = Duration::from_secs(3600);
        let in_range = |parameter, value: Duration, min: Duration| {
            if (min..=most).contains(&value) {
                return Ok(());
            }
            let [value, min, max] = [value, min, most].map(|span| alloc::format!("{span}"));
            Err(ConfigError::OutOfRange {
                discipline: Self::NAME,
                parameter,
                value,
                min,
                max,
            })
        };
        in_range("target", self.target, least)?;
        in_range("interval", self.interval, least)?;
        in_range(
            "refresh",
            self.refresh,
            self.target + Duration::from_picos(1),
        )
    }
}

/// State of one flow.
#[derive(Debug, Clone)]
pub struct EdgeCodel {
    codel: Codel,
    /// Latest sending time so far.
    sent_at: Option<Instant>,
    config: Config,
}

impl EdgeCodel {
    /// A flow without packets so far.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            codel: Codel::resuming(config.resume),
            sent_at: None,
            config,
        })
    }

    /// Whether the packet now leaving the network should be dropped or marked. Call once for each
    /// of the flow's packets, in order of departure.
    pub fn judges_bad(&mut self, now: Instant, sent_at: Instant, queueing_delay: Duration) -> bool {
        let Config {
            target,
            interval,
            refresh,
            ..
        } = self.config;
        if self
            .sent_at
            .is_some_and(|before| sent_at.since(before) > refresh)
        {
            self.codel.reset();
        }
        // A packet that overtook others does not make the next one look late.
        self.sent_at = self.sent_at.max(Some(sent_at));
        let waited = Waited {
            len: 0,
            sojourn: queueing_delay,
            backlog_bytes: u64::MAX,
            bad_before: 0,
        };
        self.codel.judges_bad(
            Target {
                target,
                interval,
                rules: Rules::Ours,
            },
            now,
            waited,
        )
    }
}

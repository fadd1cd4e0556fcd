//! CoDel's decision: whether a departing packet is dropped or marked because the queue stands.
//!
//! A queue stands if every packet of a whole `interval` has waited `target` or longer. Then one
//! packet is signalled (dropped or marked). While the queue stands, the next signal follows after
//! `interval`, and further ones after interval / sqrt(2), interval / sqrt(3) and so on, which
//! reduces TCP's rate linearly. A queue that stands again soon after resumes near its former rate
//! of signals.
//!
//! Source: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue
//! Management", RFC 8289, 2018, section 5.
//!
//! | RFC | here |
//! |---|---|
//! | `first_above_time_`, 0 for none | `first_above_time`, `None` for none |
//! | `drop_next_`, `count_`, `lastcount_`, `dropping_` | the same names |
//! | re-entry: `count_ - lastcount_` within 16 intervals | `Resume::Rfc8289`; `Resume::TwoLess` is what was before |
//! | `dodequeue` | [`Codel::is_standing`], the packet taken by the caller |
//! | `deque` | [`Codel::judges_bad`], once a packet: the caller drops or marks the packet, and asks about the next |
//!
//! Number format: picoseconds. interval / sqrt(count) is the integer square root of interval^2 /
//! count, so each step is short by less than 2 ps, without Newton's iteration or fixed point.
//!
//! Linux computes 1 / sqrt(count) from the value for count - 1, by one step of Newton's iteration
//! in 16 bits ([`Rules::Linux`]): the third signal follows interval / 2 after the second (exactly:
//! interval / sqrt 2), and later ones come nearer to the exact times. Its clock has ticks of 1024
//! ns, and it cuts all times to them: after some hundred signals the next one is due up to a packet
//! earlier than by an exact clock. The times at which Linux drops show this (`peers/linux`,
//! `compare.py timed`).
//!
//! Differences from the RFC: the queue is too short to signal while the bytes behind the packet are
//! at most the packet's own length or one frame, the longer of the two. The RFC says one frame, and
//! implementations before it the longest packet ever seen, so one superframe of 64 KB would have
//! turned CoDel off for good. State is reset at once when the queue becomes empty, not at the next
//! dequeue from an empty queue, so a flow with one packet a second never has a standing queue. With
//! [`Rules::Linux`] the next dequeue resets it, as in the RFC.
//!
//! Tests: `it_decides_as_the_rfc_is_written` compares with the RFC's pseudo-code over random runs,
//! and `codel_begins_as_the_rfc_is_written` (`theorems/onsets.rs`) does so with a queue behind a link
//! whose rate changes, after pauses and other settings. Single cases follow below.

use crate::time::{Duration, Instant};

/// A frame of Ethernet: the RFC's MTU.
const FRAME_BYTES: u64 = 1514;

/// CoDel's two parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// Acceptable time in the queue.
    pub(crate) target: Duration,
    /// Time for which the delay may exceed the target: about a round trip.
    pub(crate) interval: Duration,
    pub(crate) rules: Rules,
}

/// Whose rules hold where Linux's code and ours differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rules {
    /// 1 / sqrt(count) is exact. The state is reset as soon as the queue is empty. After a mark, as
    /// after a drop, the next signal's time advances with the next packet.
    #[default]
    Ours,
    /// 1 / sqrt(count) comes nearer by one step of Newton's iteration for each signal. The state is
    /// reset when a dequeue finds the queue empty. After a mark the next signal's time advances at
    /// once. Times are in whole ticks of 1024 ns, the first signal comes a tick after the interval,
    /// and two signals are a tick apart at least. When one call has given 256 signals, the next is
    /// due after the present distance.
    Linux,
}

/// Linux's tick.
const TICK_PICOS: u64 = 1_024_000;
/// Most signals of [`Rules::Linux`] in a call.
const MOST_AT_ONCE: u32 = 256;

const fn in_ticks(picos: u64) -> u64 {
    picos - picos % TICK_PICOS
}

impl Rules {
    /// The time as this clock tells it.
    #[inline]
    pub(crate) const fn clock(self, now: Instant) -> Instant {
        match self {
            Self::Ours => now,
            Self::Linux => Instant::from_picos(in_ticks(now.as_picos())),
        }
    }

    /// The duration of a parameter as this clock has it.
    pub(crate) const fn length(self, time: Duration) -> Duration {
        match self {
            Self::Ours => time,
            Self::Linux => Duration::from_picos(in_ticks(time.as_picos())),
        }
    }
}

impl Target {
    pub(crate) const DEFAULT: Self = Self {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        rules: Rules::Ours,
    };

    /// These times, with Linux's rules or ours.
    pub(crate) const fn of(target: Duration, interval: Duration, linux: bool) -> Self {
        let rules = if linux { Rules::Linux } else { Rules::Ours };
        Self {
            target: rules.length(target),
            interval: rules.length(interval),
            rules,
        }
    }

    /// interval / sqrt(count).
    fn exact_step(self, count: u32) -> Duration {
        let interval = u128::from(self.interval.as_picos());
        Duration::from_picos((interval * interval / u128::from(count.max(1))).isqrt() as u64)
    }
}

/// 1 in 16 bits after the point, as near as these come.
const ONE: u16 = u16::MAX;

/// A step of Newton's iteration towards 1 / sqrt(count): y (3 - count y^2) / 2, y in 16 bits.
///
/// If `count` has jumped (because packets were dropped at a full buffer), 3 - count y^2 is
/// negative. Unsigned numbers of 64 bits then wrap around, as Linux's do, which the times of its
/// drops show.
fn newton(y: u16, count: u32) -> u16 {
    let y = u64::from(y);
    let left = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(y * y)) >> 2;
    (left.wrapping_mul(y << 16) >> 47) as u16
}

/// A departing packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) len: u32,
    /// Time in the queue.
    pub(crate) sojourn: Duration,
    /// Bytes behind the packet in the queue.
    pub(crate) backlog_bytes: u64,
    /// Packets that were judged bad just before this one, in the same call.
    pub(crate) bad_before: u32,
}

/// State of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Codel {
    /// Time at which the queue will have stood for an interval. None while the queue does not
    /// stand.
    first_above_time: Option<Instant>,
    /// Time of the next signal, while `dropping`.
    drop_next: Instant,
    /// Signals since the start of dropping.
    count: u32,
    /// `count` at the start of dropping.
    last_count: u32,
    /// Whether the queue has stood for an interval.
    dropping: bool,
    /// A signal was given at `drop_next`, which advances if the queue still stands at the next
    /// packet.
    signalled: bool,
    /// 1 / sqrt(count) for [`Rules::Linux`].
    root: u16,
    resume: Resume,
}

/// The signal rate of a queue that stands again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// RFC 8289: the rate from the number of signals of the last dropping period, if the last
    /// signal was due less than 16 intervals ago.
    #[default]
    Rfc8289,
    /// Before the RFC (as in the simulator ns-2): the rate of two signals earlier, if the last
    /// signal was due less than 8 intervals ago.
    TwoLess,
}

impl Codel {
    pub(crate) fn resuming(resume: Resume) -> Self {
        Self {
            resume,
            ..Self::default()
        }
    }

    /// Whether the packet should be dropped or marked. Call once for each departing packet, in
    /// order. Inlined into each scheduler, with what a packet in a short queue needs.
    #[inline]
    pub(crate) fn judges_bad(&mut self, target: Target, now: Instant, packet: Waited) -> bool {
        let stands = self.is_standing(target, now, packet);
        match (self.dropping, stands) {
            (true, true) => self.goes_on(target, now, packet.bad_before),
            (false, true) => self.begins(target, now),
            (_, false) => {
                self.dropping = false;
                false
            }
        }
    }

    /// Resets the state, because the queue is empty.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
    }

    /// Counts drops that were no signals as if they were.
    pub(crate) fn count_drops(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Linux: the packet judged bad is marked and leaves. The time of the next signal advances at
    /// once. After a drop it advances with the next packet, which must be bad too.
    #[inline]
    pub(crate) fn schedule_after_mark(&mut self, target: Target) {
        if self.signalled {
            self.signalled = false;
            self.drop_next += self.step(target);
        }
    }

    /// Whether every packet has waited too long, for an interval or longer.
    #[inline]
    fn is_standing(&mut self, target: Target, now: Instant, packet: Waited) -> bool {
        if packet.sojourn < target.target
            || packet.backlog_bytes <= FRAME_BYTES.max(packet.len.into())
        {
            // RFC 8289, `dodequeue`: went below the target, so stays out for at least an interval.
            self.first_above_time = None;
            return false;
        }
        // `ok_to_drop`: above the target from `first_above_time` on.
        let stands_at = *self.first_above_time.get_or_insert(now + target.interval);
        now > stands_at || now == stands_at && target.rules == Rules::Ours
    }

    fn begins(&mut self, target: Target, now: Instant) -> bool {
        // RFC 8289, `deque`: resumes near the rate that controlled the queue the last time.
        let (reached, intervals) = match self.resume {
            Resume::Rfc8289 => (self.count - self.last_count, 16),
            Resume::TwoLess => (self.count.saturating_sub(2), 8),
        };
        let is_soon = now.since(self.drop_next)
            < Duration::from_picos(target.interval.as_picos().saturating_mul(intervals));
        // Drops at a full buffer may have been counted before any signal, when `drop_next` is no
        // time yet.
        let resumes = self.last_count > 0 && reached > 1 && is_soon;
        (self.count, self.root) = if resumes {
            (reached, newton(self.root, reached))
        } else {
            (1, ONE)
        };
        self.last_count = self.count;
        // `control_law`: the next signal after interval / sqrt(count).
        self.drop_next = now + self.step(target);
        self.dropping = true;
        self.signalled = false;
        true
    }

    fn goes_on(&mut self, target: Target, now: Instant, bad_before: u32) -> bool {
        if self.signalled {
            self.drop_next += self.step(target);
        }
        self.signalled = now >= self.drop_next;
        if self.signalled && bad_before >= MOST_AT_ONCE && target.rules == Rules::Linux {
            self.drop_next = now + self.step(target);
            self.signalled = false;
        }
        if self.signalled {
            self.count = self.count.saturating_add(1);
            self.root = newton(self.root, self.count);
        }
        self.signalled
    }

    /// Time to the next signal.
    fn step(&self, target: Target) -> Duration {
        match target.rules {
            Rules::Ours => target.exact_step(self.count),
            Rules::Linux => {
                let ticks = target.interval.as_picos() / TICK_PICOS;
                let step = (u128::from(ticks) * u128::from(self.root)) >> 16;
                Duration::from_picos((step as u64).max(1) * TICK_PICOS)
            }
        }
    }

    /// Whether the state is that of an empty queue.
    pub(crate) const fn is_at_rest(&self) -> bool {
        self.first_above_time.is_none() && !self.dropping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MILLI: u64 = 1_000_000_000;

    fn at(millis: u64) -> Instant {
        Instant::from_picos(millis * MILLI)
    }

    fn waited(millis: u64) -> Waited {
        Waited {
            len: 1000,
            sojourn: Duration::from_millis(millis),
            backlog_bytes: 100_000,
            bad_before: 0,
        }
    }

    fn linux() -> Target {
        Target::of(Target::DEFAULT.target, Target::DEFAULT.interval, true)
    }

    /// The milliseconds at which packets are judged bad, with one packet each millisecond and
    /// `sojourn` milliseconds in the queue.
    fn signals(codel: &mut Codel, millis: core::ops::Range<u64>, sojourn: u64) -> Vec<u64> {
        millis
            .filter(|&now| codel.judges_bad(Target::DEFAULT, at(now), waited(sojourn)))
            .collect()
    }

    #[test]
    fn step_by_step() {
        let mut codel = Codel::default();
        // Above the target from 10: the first signal an interval later, then 100, 100 / sqrt 2 =
        // 70.7, 57.7, 50, 44.7, 40.8 ms apart.
        assert_eq!(
            signals(&mut codel, 10..500, 6),
            [110, 210, 281, 339, 389, 434, 474]
        );
        // A packet in time ends dropping. To stand again takes another interval first.
        assert!(!codel.judges_bad(Target::DEFAULT, at(500), waited(4)));
        // `count` went from 1 to 7, so the rate resumes at six: 100 / sqrt 6 = 40.8 ms.
        assert_eq!(signals(&mut codel, 501..700, 6), [601, 642, 680]);
    }

    #[test]
    fn it_resumes_its_rate_within_sixteen_intervals_only() {
        for (pause, step) in [(1_000, 50), (1_590, 50), (1_700, 100)] {
            let mut codel = Codel::default();
            assert_eq!(
                signals(&mut codel, 0..400, 6),
                [100, 200, 271, 329, 379],
                "drop_next becomes 423"
            );
            codel.judges_bad(Target::DEFAULT, at(400), waited(0));
            let again = 423 + pause - 100;
            let signals = signals(&mut codel, again..again + 250, 6);
            assert_eq!(signals[1] - signals[0], step, "after {pause} ms");
        }
    }

    #[test]
    fn the_older_rule_goes_on_two_signals_earlier_within_eight_intervals() {
        for (pause, step) in [(700, 57), (790, 57), (900, 100)] {
            let mut codel = Codel::resuming(Resume::TwoLess);
            assert_eq!(
                signals(&mut codel, 0..400, 6),
                [100, 200, 271, 329, 379],
                "five signals: it resumes at three"
            );
            codel.judges_bad(Target::DEFAULT, at(400), waited(0));
            let again = 423 + pause - 100;
            let signals = signals(&mut codel, again..again + 250, 6);
            // To the millisecond of the packet's arrival.
            assert!(
                (step..=step + 1).contains(&(signals[1] - signals[0])),
                "{signals:?} after {pause} ms"
            );
        }
    }

    #[test]
    fn steps_are_exact_to_two_picoseconds() {
        for interval in [
            Duration::from_micros(1),
            Duration::from_millis(100),
            Duration::from_secs(3600),
        ] {
            for count in (1..1000).chain([1 << 16, u32::MAX]) {
                let step = Target {
                    interval,
                    ..Target::DEFAULT
                }
                .exact_step(count)
                .as_picos();
                let exact = interval.as_picos() as f64 / f64::from(count).sqrt();
                assert!(
                    exact - step as f64 <= 2.0_f64.max(exact * 1e-12),
                    "{interval} / sqrt {count}"
                );
            }
        }
    }

    /// By hand: 1, then 1 (3 - 2) / 2, then 1/2 (3 - 3/4) / 2 = 9/16, then 9/16 (3 - 4 81/256) / 2
    /// = 0.4878, ..
    #[test]
    fn linux_takes_steps_of_newton() {
        let roots: Vec<_> = (2..=100)
            .scan(ONE, |root, count| {
                *root = newton(*root, count);
                Some(f64::from(*root) / 65_536.0)
            })
            .collect();
        for (root, expected) in roots.iter().zip([0.5, 0.5625, 0.4878, 0.4415, 0.4042]) {
            assert!((root - expected).abs() < 1e-3, "{root}, {expected}");
        }
        assert!((roots[98] - 0.1).abs() < 1e-3);
        let target = linux();
        let mut codel = Codel::default();
        let signals: Vec<_> = (10..500)
            .filter(|&now| codel.judges_bad(target, at(now), waited(6)))
            .collect();
        assert_eq!(signals[..4], [110, 210, 260, 317], "100, 50, 56.2 ms apart");
    }

    /// After a mark the queue may become short: the next signal's time has advanced all the same,
    /// and the rate resumes within 16 intervals of this time.
    #[test]
    fn linux_advances_the_next_signal_with_a_mark() {
        for (marks, step) in [(true, 67), (false, 100)] {
            let target = linux();
            // The queue is short right after the last signal: `drop_next` is 306 after a mark, 250
            // after a drop. 1,880 is within 16 intervals of the first one alone.
            let mut codel = Codel::default();
            let mut judged = |now: u64, sojourn: u64| {
                let is_bad = codel.judges_bad(target, at(now), waited(sojourn));
                if is_bad && marks {
                    codel.schedule_after_mark(target);
                }
                is_bad
            };
            let first: Vec<_> = (0..251).filter(|&now| judged(now, 6)).collect();
            assert_eq!(first, [100, 200, 250]);
            judged(251, 0);
            let again: Vec<_> = (1780..2000).filter(|&now| judged(now, 6)).collect();
            assert_eq!(again[0], 1880);
            assert_eq!(again[1] - again[0], step, "marks: {marks}");
        }
    }

    /// Linux counts drops at a full buffer. Before the first signal these begin no fast series.
    #[test]
    fn counted_drops_before_any_signal_resume_nothing() {
        let mut codel = Codel::default();
        codel.count_drops(5);
        let target = linux();
        let signals: Vec<_> = (10..300)
            .filter(|&now| codel.judges_bad(target, at(now), waited(6)))
            .collect();
        assert_eq!(signals, [110, 210, 260], "as without drops");
    }

    /// A call that comes hours late drops no more than so many packets, and then goes on as before.
    #[test]
    fn linux_gives_at_most_256_signals_in_a_call() {
        for (target, expected) in [(linux(), 256), (Target::DEFAULT, 999)] {
            let mut codel = Codel::default();
            assert_eq!(signals(&mut codel, 10..120, 6), [110]);
            let late = at(3_600_000);
            let mut given = 0;
            while given < 999 {
                let bad_before = given;
                let waited = Waited {
                    bad_before,
                    ..waited(3_600_000)
                };
                if !codel.judges_bad(target, late, waited) {
                    break;
                }
                given += 1;
            }
            assert_eq!(given, expected);
        }
    }

    #[test]
    fn an_empty_queue_does_not_stand() {
        let mut codel = Codel::default();
        for second in 0..100 {
            assert!(!codel.judges_bad(Target::DEFAULT, at(second * 1000), waited(50)));
            codel.reset();
            assert!(codel.is_at_rest());
        }
    }

    #[test]
    fn one_frame_or_one_packet_may_wait_behind() {
        for (len, backlog_bytes, stands) in [
            (100, 1514, false),
            (100, 1515, true),
            (65_536, 65_536, false),
            (65_536, 65_537, true),
        ] {
            let mut codel = Codel::default();
            let waited = Waited {
                len,
                sojourn: Duration::from_millis(50),
                backlog_bytes,
                bad_before: 0,
            };
            assert!(!codel.judges_bad(Target::DEFAULT, at(0), waited));
            assert_eq!(codel.judges_bad(Target::DEFAULT, at(100), waited), stands);
        }
    }

    /// The RFC's pseudo-code as written, over a list of packets. Yields the dropped ones.
    struct Written<'a> {
        packets: core::slice::Iter<'a, u64>,
        first_above_time: u64,
        drop_next: f64,
        count: u32,
        last_count: u32,
        dropping: bool,
    }

    impl Written<'_> {
        fn dodequeue(&mut self, now: u64) -> (Option<u64>, bool) {
            let packet = self.packets.next().copied();
            let mut ok_to_drop = false;
            if packet.is_none_or(|sojourn| sojourn < 5) {
                self.first_above_time = 0;
            } else if self.first_above_time == 0 {
                self.first_above_time = now + 100;
            } else {
                ok_to_drop = now >= self.first_above_time;
            }
            (packet, ok_to_drop)
        }

        fn deque(&mut self, now: u64, dropped: &mut Vec<u64>) -> Option<u64> {
            let law = |time: f64, count: u32| time + 100.0 / f64::from(count).sqrt();
            let (mut packet, mut ok_to_drop) = self.dodequeue(now);
            if self.dropping {
                self.dropping = ok_to_drop;
                while now as f64 >= self.drop_next && self.dropping {
                    dropped.push(now);
                    self.count += 1;
                    (packet, ok_to_drop) = self.dodequeue(now);
                    self.dropping = ok_to_drop;
                    if ok_to_drop {
                        self.drop_next = law(self.drop_next, self.count);
                    }
                }
            } else if ok_to_drop {
                dropped.push(now);
                (packet, _) = self.dodequeue(now);
                self.dropping = true;
                let delta = self.count - self.last_count;
                self.count = if delta > 1 && now as f64 - self.drop_next < 1600.0 {
                    delta
                } else {
                    1
                };
                self.drop_next = law(now as f64, self.count);
                self.last_count = self.count;
            }
            packet
        }
    }

    proptest! {
        /// Runs of packets above and below the target, a packet every few milliseconds.
        #[test]
        fn it_decides_as_the_rfc_is_written(runs in prop::collection::vec((0u64..10, 1usize..120), 1..40), gap in 1u64..30) {
            let sojourns: Vec<u64> = runs.iter().flat_map(|&(sojourn, times)| core::iter::repeat_n(sojourn, times)).collect();
            let mut written = Written {
                packets: sojourns.iter(), first_above_time: 0, drop_next: 0.0, count: 0, last_count: 0, dropping: false,
            };
            let mut expected = Vec::new();
            let mut actual = Vec::new();
            let mut codel = Codel::default();
            let mut rest = sojourns.iter();
            for now in (1..).map(|turn| turn * gap) {
                let packet = written.deque(now, &mut expected);
                let mut ours = rest.next();
                while let Some(&sojourn) = ours && codel.judges_bad(Target::DEFAULT, at(now), waited(sojourn)) {
                    actual.push(now);
                    ours = rest.next();
                }
                prop_assert_eq!(packet, ours.copied(), "at {} ms", now);
                if packet.is_none() {
                    break;
                }
            }
            prop_assert_eq!(expected, actual);
        }
    }
}

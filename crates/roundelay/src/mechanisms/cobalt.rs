//! COBALT's decision: whether CoDel and BLUE together drop or mark a departing packet.
//!
//! The CoDel part signals at shrinking distances, interval / sqrt(count), while packets come late.
//! Unlike CoDel it keeps `count` when packets come in time again, and lowers it step by step at the
//! same distances, so a queue that stands again soon is signalled at the rate that held it. The
//! BLUE part drops at random, for senders that do not answer signals: its probability rises when the
//! buffer overflows and falls when the queue is found empty.
//!
//! Source: J. Palmei, S. Gupta, P. Imputato, J. Morton, M. P. Tahiliani, S. Avallone, D. Taht,
//! "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019. T. Hoeiland-Joergensen, D.
//! Taht, J. Morton, "Piece of CAKE", arXiv 1804.07617, 2018, section III.B. What Linux 6.1 and 7.3
//! drop and mark (`peers/linux`).
//!
//! | source | here |
//! |---|---|
//! | `drop_next`, `count`, `dropping` | the same names |
//! | 1 / sqrt(count) | `root`, in units of 2^-32 |
//! | BLUE's probability | `blue`, in units of 2^-32 |
//!
//! Number format: picoseconds. From a count of 16 on the root is a step of Newton's iteration from
//! the root before, as in Linux. Below, it is the nearest number, or four such steps ([`Roots`]).

use crate::time::{Duration, Instant};

/// When COBALT signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Acceptable time in the queue.
    pub(crate) target: Duration,
    /// Distance of the first signals: about a round trip.
    pub(crate) interval: Duration,
    /// How long a full frame takes on the link. A packet that waited for no more than four is not
    /// late.
    pub(crate) frame_time: Duration,
    pub(crate) roots: Roots,
}

/// Where the roots of the first counts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The control law's, rounded. Linux 7.3 signals at these distances.
    Exact,
    /// Linux 6.1's. That of 2 is .70671 and not .70711, as its signals show.
    Iterated,
}

/// A departing packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    /// Time in the queue.
    pub(crate) sojourn: Duration,
    /// Whether a mark reaches the sender, because the packet is ECN-capable or marked already.
    pub(crate) takes_marks: bool,
    /// Flows that share the link with this one. A packet that waited for no more than two frames of
    /// each is not late. 0 where senders, and not this queue, fill the link.
    pub(crate) rivals: u32,
}

/// What happens to a departing packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// State of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cobalt {
    /// Time of the next change of `count`: a signal while `dropping`, a step down otherwise. The
    /// queue is remembered until then.
    drop_next: Instant,
    /// Time of the last change of `blue`.
    blue_time: Instant,
    /// Signals less steps down.
    count: u32,
    /// 1 / sqrt(count). 0 in a fresh queue, whose second late packet is signalled.
    root: u32,
    /// BLUE's probability of a drop.
    blue: u32,
    /// Whether the last packet came late.
    dropping: bool,
}

/// BLUE's steps: 1/256 up and 1/4096 down.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// [`Roots::Iterated`]: each by four steps from the one before.
const ITERATED: [u32; 16] = {
    let mut roots = [u32::MAX; 16];
    let mut count = 1;
    while count < 16 {
        let mut root = roots[count - 1];
        let mut step = 0;
        while step < 4 {
            root = newton(count as u32, root);
            step += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
};

/// [`Roots::Exact`]. The root of 1 is full scale.
const EXACT: [u32; 16] = {
    let mut roots = [u32::MAX; 16];
    let mut count = 2;
    while count < 16 {
        // Twice the root, so that the last bit rounds.
        let twice = ((1_u128 << 66) / count as u128).isqrt();
        roots[count] = twice.div_ceil(2) as u32;
        count += 1;
    }
    roots
};

impl Roots {
    /// 1 / sqrt(count) for the count that comes after `before` was the root.
    fn of(self, count: u32, before: u32) -> u32 {
        let first = match self {
            Self::Exact => &EXACT,
            Self::Iterated => &ITERATED,
        };
        match first.get(count as usize) {
            Some(root) => *root,
            None => newton(count, before),
        }
    }
}

/// A step of Newton's iteration: y (3 - count y^2) / 2.
const fn newton(count: u32, before: u32) -> u32 {
    let y = before as u64;
    let left = (3_u64 << 32).wrapping_sub(count as u64 * ((y * y) >> 32)) >> 2;
    (left.wrapping_mul(y) >> 31) as u32
}

impl Cobalt {
    /// Judges a departing packet. Call once for each, in order. `draw` gives 32 random bits.
    #[inline]
    pub(crate) fn judge(
        &mut self,
        settings: &Settings,
        now: Instant,
        packet: Judged,
        mut draw: impl FnMut() -> u32,
    ) -> Verdict {
        let is_due = self.is_due(now);
        let mut is_overdue = now > self.drop_next;
        if packet.is_late(settings) {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.step(settings);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Pass;
        if is_due && self.dropping {
            verdict = if packet.takes_marks {
                Verdict::Mark
            } else {
                Verdict::Drop
            };
            self.move_on(self.count.saturating_add(1), settings);
            is_overdue = now > self.drop_next;
        } else if is_due {
            while self.is_due(now) {
                self.move_on(self.count - 1, settings);
                is_overdue = now > self.drop_next;
            }
        }
        if self.blue > 0 && draw() < self.blue {
            verdict = Verdict::Drop;
        }
        // `drop_next` also says how long an empty queue is remembered.
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if is_overdue && verdict != Verdict::Drop {
            self.drop_next = now;
        }
        verdict
    }

    /// A full buffer has pushed out a packet of this queue, so BLUE drops more, and the next late
    /// packet is signalled.
    pub(crate) fn overflowed(&mut self, settings: &Settings, now: Instant) {
        if self.blue_may_change(settings, now) {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_time = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The scheduler has found the queue empty, so BLUE drops less, and `count` decays.
    pub(crate) fn found_empty(&mut self, settings: &Settings, now: Instant) {
        if self.blue > 0 && self.blue_may_change(settings, now) {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_time = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.move_on(self.count - 1, settings);
        }
    }

    /// Whether the state of an empty queue is worth keeping.
    #[inline]
    pub(crate) fn remembers(&self, now: Instant) -> bool {
        self.blue > 0 || self.count > 0 || now < self.drop_next
    }

    #[inline]
    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// The control law: goes on to another count, and the next change is interval / sqrt(count)
    /// later.
    fn move_on(&mut self, count: u32, settings: &Settings) {
        self.count = count;
        self.root = settings.roots.of(count, self.root);
        self.drop_next += self.step(settings);
    }

    fn step(&self, settings: &Settings) -> Duration {
        let interval = u128::from(settings.interval.as_picos());
        Duration::from_picos(((interval * u128::from(self.root)) >> 32) as u64)
    }

    fn blue_may_change(&self, settings: &Settings, now: Instant) -> bool {
        now.since(self.blue_time) > settings.target
    }
}

impl Judged {
    #[inline]
    fn is_late(&self, settings: &Settings) -> bool {
        let frames = |number: u64| {
            Duration::from_picos(settings.frame_time.as_picos().saturating_mul(number))
        };
        self.sojourn > settings.target
            && self.sojourn > frames(4)
            && self.sojourn > frames(2 * u64::from(self.rivals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const SETTINGS: Settings = Settings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        frame_time: Duration::ZERO,
        roots: Roots::Exact,
    };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn waited(millis: u64) -> Judged {
        Judged {
            sojourn: Duration::from_millis(millis),
            takes_marks: false,
            rivals: 0,
        }
    }

    fn never() -> u32 {
        u32::MAX
    }

    fn judge(cobalt: &mut Cobalt, now: u64, sojourn: u64) -> Verdict {
        cobalt.judge(&SETTINGS, at(now), waited(sojourn), never)
    }

    /// The milliseconds of the drops, with a packet each millisecond.
    fn drops(cobalt: &mut Cobalt, millis: core::ops::Range<u64>, sojourn: u64) -> Vec<u64> {
        let mut drops = Vec::new();
        for now in millis {
            if judge(cobalt, now, sojourn) == Verdict::Drop {
                drops.push(now);
            }
        }
        drops
    }

    /// From 10 on, 100 / sqrt(count) milliseconds for counts from 2 on: 70.7, 57.7, 50, 44.7, 40.8.
    #[test]
    fn a_fresh_queue_is_signalled_at_its_second_late_packet_and_then_by_the_control_law() {
        let mut cobalt = Cobalt::default();
        assert_eq!(drops(&mut cobalt, 10..300, 6), [11, 81, 139, 189, 234, 274]);
        assert_eq!(cobalt.count, 7);
    }

    #[test]
    fn in_time_the_count_decays_as_fast_as_it_grew() {
        let mut cobalt = Cobalt::default();
        drops(&mut cobalt, 10..300, 6);
        assert!(drops(&mut cobalt, 300..400, 1).is_empty());
        let left = cobalt.count;
        assert!((4..7).contains(&left), "{left} of 7 after 100 ms");
        // Late again: signalled at the rate that is left, and not at an interval's distance.
        let again = drops(&mut cobalt, 400..600, 6);
        assert!(again[1] - again[0] < 50, "{again:?}");
        drops(&mut cobalt, 600..5_000, 1);
        assert_eq!(cobalt.count, 0);
    }

    /// The root of a decayed count is full scale: the first signal comes an interval later.
    #[test]
    fn a_decayed_queue_waits_for_an_interval() {
        let mut cobalt = Cobalt::default();
        drops(&mut cobalt, 10..100, 6);
        drops(&mut cobalt, 100..1_000, 1);
        assert_eq!(drops(&mut cobalt, 1_000..1_150, 6), [1_100]);
    }

    #[test]
    fn packets_that_take_marks_are_marked() {
        let mut cobalt = Cobalt::default();
        let judged = Judged {
            takes_marks: true,
            ..waited(6)
        };
        let first = cobalt.judge(&SETTINGS, at(10), judged, never);
        let second = cobalt.judge(&SETTINGS, at(11), judged, never);
        assert_eq!((first, second), (Verdict::Pass, Verdict::Mark));
    }

    #[test]
    fn four_frames_or_two_of_each_rival_are_no_delay() {
        let settings = Settings {
            frame_time: Duration::from_millis(2),
            ..SETTINGS
        };
        for (sojourn, rivals, is_late) in
            [(8, 0, false), (9, 0, true), (20, 5, false), (21, 5, true)]
        {
            let judged = Judged {
                rivals,
                ..waited(sojourn)
            };
            assert_eq!(judged.is_late(&settings), is_late, "{sojourn} ms");
        }
    }

    /// BLUE rises by 1/256 at most once a target, falls by 1/4096, and spares no packet for its ECN.
    #[test]
    fn blue_rises_with_overflows_and_falls_with_empty_queues() {
        let mut cobalt = Cobalt::default();
        for now in [11, 13, 17] {
            cobalt.overflowed(&SETTINGS, at(now));
        }
        assert_eq!(cobalt.blue, 2 * BLUE_UP, "at 11 and 17 ms");
        let judged = Judged {
            takes_marks: true,
            ..waited(0)
        };
        assert_eq!(
            cobalt.judge(&SETTINGS, at(18), judged, || 2 * BLUE_UP - 1),
            Verdict::Drop
        );
        assert_ne!(
            cobalt.judge(&SETTINGS, at(18), judged, || 2 * BLUE_UP),
            Verdict::Drop
        );
        cobalt.found_empty(&SETTINGS, at(30));
        cobalt.found_empty(&SETTINGS, at(31));
        assert_eq!(cobalt.blue, 2 * BLUE_UP - BLUE_DOWN);
        assert!(cobalt.remembers(at(1_000_000)), "while it may drop");
    }

    /// The root of 2: .70711, and in Linux 6.1 .70671.
    #[test]
    fn roots_are_the_nearest_or_near() {
        for (roots, of_two, error) in [
            (Roots::Exact, core::f64::consts::FRAC_1_SQRT_2, 1e-9),
            (Roots::Iterated, 0.70671, 1e-5),
        ] {
            let found = f64::from(roots.of(2, 0)) / 4_294_967_296.0;
            assert!((found - of_two).abs() < error, "{roots:?}: {found}");
            let mut root = 0;
            for count in 1..1_000_u32 {
                root = roots.of(count, root);
                let exact = 4_294_967_296.0 / f64::from(count).sqrt();
                let near = if roots == Roots::Exact && count < 16 {
                    1e-9
                } else {
                    2e-3
                };
                let off = f64::from(root) / exact - 1.0;
                assert!(off.abs() < near, "{roots:?}: {root} for {count}");
            }
        }
    }
}

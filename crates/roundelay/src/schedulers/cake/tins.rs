//! Tins: the queues of one priority class. The tables say which code points go to which tin, and
//! which part of the rate a tin has.
//!
//! Source: tc-cake(8), "Priority queue parameters", and the tin to which Linux 6.1 assigns each
//! code point (`peers/linux`).

use alloc::vec::Vec;

use crate::mechanisms::cobalt::{Roots, Settings};
use crate::time::Duration;
use crate::units::Rate;

/// How code points select tins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tins {
    /// One tin for all.
    BestEffort,
    /// Eight tins by the class selector's three bits.
    Precedence,
    /// Best effort, bulk, voice.
    #[default]
    Diffserv3,
    /// Best effort, bulk, video, voice.
    Diffserv4,
    /// Eight tins, from least effort to network control.
    Diffserv8,
}

/// One tin's part of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// The rate below which a tin has priority on a shaped link.
    pub(super) rate: Option<Rate>,
    /// Bytes of a turn on an unlimited link.
    pub(super) turn: u32,
}

impl Tins {
    /// The words of `tc`, in the order of the variants.
    pub const WORDS: &'static [&'static str] = &[
        "besteffort",
        "precedence",
        "diffserv3",
        "diffserv4",
        "diffserv8",
    ];

    /// The choice at this position among [`WORDS`](Self::WORDS).
    pub const fn of(index: u64) -> Self {
        match index {
            0 => Self::BestEffort,
            1 => Self::Precedence,
            2 => Self::Diffserv3,
            3 => Self::Diffserv4,
            _ => Self::Diffserv8,
        }
    }

    /// The parts of all tins, by number.
    pub(super) fn parts(self, rate: Option<Rate>) -> Vec<Part> {
        match self {
            Self::BestEffort => alloc::vec![Part { rate, turn: 65_535 }],
            Self::Diffserv3 => fixed(rate, &[(0, 1024), (4, 64), (2, 256)]),
            Self::Diffserv4 => fixed(rate, &[(0, 1024), (4, 64), (1, 512), (2, 256)]),
            Self::Precedence | Self::Diffserv8 => eighths(rate),
        }
    }

    /// A code point's tin. What is no code point goes with code point 0.
    pub(super) fn tin_of(self, code_point: u32) -> usize {
        let table = match self {
            Self::BestEffort => return 0,
            Self::Precedence => {
                return if code_point < 64 {
                    code_point as usize >> 3
                } else {
                    0
                };
            }
            Self::Diffserv3 => &DIFFSERV3,
            Self::Diffserv4 => &DIFFSERV4,
            Self::Diffserv8 => &DIFFSERV8,
        };
        let index = if code_point < 64 { code_point } else { 0 };
        table[index as usize].into()
    }
}

/// Tins with the rate shifted right, and a turn in bytes.
fn fixed(rate: Option<Rate>, tins: &[(u32, u32)]) -> Vec<Part> {
    let mut parts = Vec::new();
    for &(shift, turn) in tins {
        let bytes = rate.map(|rate| (rate.bits_per_second() / 8) >> shift);
        parts.push(Part {
            rate: bytes.and_then(of_bytes),
            turn,
        });
    }
    parts
}

/// A rate from bytes per second, at least one, as Linux counts.
const fn of_bytes(bytes: u64) -> Option<Rate> {
    let bytes = if bytes == 0 { 1 } else { bytes };
    Rate::from_bits_per_second(bytes.saturating_mul(8))
}

/// Eight tins, each with 7/8 of the one before.
fn eighths(rate: Option<Rate>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut bytes = rate.map(|rate| rate.bits_per_second() / 8);
    let mut turn = 256;
    for _ in 0..8 {
        parts.push(Part {
            rate: bytes.and_then(of_bytes),
            turn,
        });
        bytes = bytes.map(seven_eighths);
        turn = turn * 7 / 8;
    }
    parts
}

fn seven_eighths(bytes: u64) -> u64 {
    (u128::from(bytes) * 7 / 8) as u64
}

/// A full Ethernet frame, by which a tin's delays are counted.
pub(super) const FRAME: u32 = 1514;

/// A queue's quantum in a tin: 1/4096 of a second's bytes, within limits.
pub(super) fn quantum(rate: Option<Rate>) -> u32 {
    let Some(rate) = rate else { return FRAME };
    let bytes = (rate.bits_per_second() / 8) >> 12;
    bytes.clamp(300, FRAME.into()) as u32
}

/// COBALT's times in a tin, from the configured round trip: a target is at least 1.5 frames long,
/// and a longer target makes the interval longer.
pub(super) fn settings(rate: Option<Rate>, rtt: Duration, roots: Roots) -> Settings {
    let micros = rtt.as_nanos() / 1000;
    let wanted = Duration::from_micros((micros / 20).max(1));
    let frame_time = rate.map_or(Duration::ZERO, |rate| rate.time_of(FRAME.into()));
    let frames = Duration::from_picos(frame_time.as_picos().saturating_mul(3) / 2);
    let target = wanted.max(frames);
    let interval = (rtt + target - wanted).max(target + target);
    Settings {
        target,
        interval,
        frame_time,
        roots,
    }
}

/// Bulk: CS1, LE. Voice: CS7, CS6, EF, VA, TOS4.
const DIFFSERV3: [u8; 64] = table(&[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])], 0);

/// Bulk: CS1, LE. Video: AF4x, AF3x, CS3, AF2x, CS2, TOS4. Voice: CS7, CS6, EF, VA, CS5, CS4.
const DIFFSERV4: [u8; 64] = table(
    &[
        (1, &[1, 8]),
        (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
        (3, &[32, 40, 44, 46, 48, 56]),
    ],
    0,
);

const DIFFSERV8: [u8; 64] = table(
    &[
        (0, &[1]),
        (1, &[2, 8, 10, 12, 14]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ],
    2,
);

/// A table of tins by code point: those listed, and one for all others.
const fn table(tins: &[(u8, &[u8])], others: u8) -> [u8; 64] {
    let mut table = [others; 64];
    let mut at = 0;
    while at < tins.len() {
        let (tin, points) = tins[at];
        let mut point = 0;
        while point < points.len() {
            table[points[point] as usize] = tin;
            point += 1;
        }
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tc -s qdisc` of a Linux 6.1 prints: rates in bytes per second, targets and intervals in
    /// microseconds, quanta.
    #[test]
    fn tins_of_a_shaped_link_are_those_of_linux() {
        let internet = Duration::from_millis(100);
        for (mode, rate, expected) in [
            (
                Tins::Diffserv3,
                10_000_000,
                &[
                    (1_250_000, 5_000, 100_000, 305),
                    (78_125, 29_068, 124_068, 300),
                    (312_500, 7_267, 102_267, 300),
                ][..],
            ),
            (
                Tins::Diffserv4,
                1_000_000,
                &[
                    (125_000, 18_168, 113_168, 300),
                    (7_812, 290_706, 581_413, 300),
                    (62_500, 36_336, 131_336, 300),
                    (31_250, 72_672, 167_672, 300),
                ],
            ),
            (
                Tins::Precedence,
                50_000_000,
                &[
                    (6_250_000, 5_000, 100_000, 1514),
                    (5_468_750, 5_000, 100_000, 1335),
                    (4_785_156, 5_000, 100_000, 1168),
                    (4_187_011, 5_000, 100_000, 1022),
                    (3_663_634, 5_000, 100_000, 894),
                    (3_205_679, 5_000, 100_000, 782),
                    (2_804_969, 5_000, 100_000, 684),
                    (2_454_347, 5_000, 100_000, 599),
                ],
            ),
            (
                Tins::Diffserv8,
                256_000,
                &[
                    (32_000, 70_968, 165_968, 300),
                    (28_000, 81_107, 176_107, 300),
                    (24_500, 92_693, 187_693, 300),
                    (21_437, 105_938, 211_876, 300),
                    (18_757, 121_074, 242_149, 300),
                    (16_412, 138_374, 276_748, 300),
                    (14_360, 158_147, 316_295, 300),
                    (12_565, 180_740, 361_480, 300),
                ],
            ),
        ] {
            let parts = mode.parts(Rate::from_bits_per_second(rate));
            assert_eq!(parts.len(), expected.len());
            for (part, (bytes, target, interval, turn)) in parts.iter().zip(expected) {
                let rate = part.rate.expect("shaped").bits_per_second();
                assert_eq!((rate / 8, quantum(part.rate)), (*bytes, *turn), "{mode:?}");
                let settings = settings(part.rate, internet, Roots::Exact);
                for (ours, theirs) in [(settings.target, target), (settings.interval, interval)] {
                    let micros = ours.as_nanos() / 1000;
                    // Linux has whole bytes per second.
                    assert!(
                        micros.abs_diff(*theirs) <= 1 + theirs / 10_000,
                        "{micros}, {theirs}"
                    );
                }
            }
        }
        let unlimited = settings(None, internet, Roots::Exact);
        assert_eq!(unlimited.target, Duration::from_millis(5));
        assert_eq!(quantum(None), 1514);
    }

    /// The tin of each code point in a Linux 6.1, from the tins' counts of `tc -s qdisc`.
    #[test]
    fn code_points_go_to_the_tins_of_linux() {
        let digits = |text: &str| {
            let mut tins = Vec::new();
            for digit in text.bytes() {
                tins.push(usize::from(digit - b'0'));
            }
            tins
        };
        for (mode, expected) in [
            (
                Tins::Diffserv3,
                "0100200010000000000000000000000000000000000020202000000020000000",
            ),
            (
                Tins::Diffserv4,
                "0100200010000000202020202020202030202020300030303000000030000000",
            ),
            (
                Tins::Diffserv8,
                "2012422212121212524242423232323262323232622262627222222272222222",
            ),
        ] {
            let mut ours = Vec::new();
            for point in 0..64 {
                ours.push(mode.tin_of(point));
            }
            assert_eq!(ours, digits(expected), "{mode:?}");
            assert_eq!(mode.tin_of(64), mode.tin_of(0));
            assert_eq!(mode.tin_of(u32::MAX), mode.tin_of(0));
        }
        assert_eq!(
            [0, 7, 8, 63].map(|point| Tins::Precedence.tin_of(point)),
            [0, 0, 1, 7]
        );
        assert_eq!(Tins::BestEffort.tin_of(46), 0);
    }
}

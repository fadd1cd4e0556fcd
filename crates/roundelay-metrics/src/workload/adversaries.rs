//! Adversarial loads against rounded timestamps: a light flow runs ahead of V and is then crowded
//! out.
//!
//! Random loads stay far within the bounds of QFQ and related disciplines. Each load here maximises
//! the cost of one kind of rounding, so that measured indices exceed any bound that is a packet too
//! small.

use super::lengths::Lengths;
use super::load::{Source, Workload};

/// phi times the light flow's slot size in bytes, which equals its longest packet.
pub const SLOT: u32 = 2048;

/// The heavy flow's weight. The weights of all three flows add up to 1024.
const HEAVY: u32 = 1022;

/// A light flow (flow 0) alone sends `ahead` packets of a slot, as far ahead of V as rounding
/// allows. Then a heavy, never ineligible flow arrives and crowds out the light flow, which still
/// has packets of the lengths `behind`, until V is as far beyond the last one as rounding allows.
/// No packet in `behind` should be longer than [`SLOT`]. `ahead` is at least 2.
pub fn crowded_out(ahead: usize, behind: &[u32]) -> Workload {
    let alone = u64::from(SLOT) * ahead as u64;
    // The first packet is a byte shorter, so the later start times lie a byte before the end of a
    // slot, where rounding down takes the most.
    let lengths = Lengths::Listed(
        [
            &[SLOT - 1],
            vec![SLOT; ahead.saturating_sub(1)].as_slice(),
            behind,
        ]
        .concat(),
    );
    let arrivals = [vec![0; ahead], vec![alone; behind.len()]].concat();
    let light = Source {
        lengths,
        arrivals,
        ..Source::burst(1, SLOT, 0)
    };
    // Keeps V from jumping while the light flow is ahead. This flow arrives just before the light
    // flow's last packet alone starts, and the heavy one just behind. Other instants before that
    // packet's end give the same lags.
    let last_alone = alone.saturating_sub(SLOT.into());
    let slow = Source {
        arrivals: vec![last_alone.saturating_sub(6)],
        ..Source::burst(1, 1 << 16, 0)
    };
    // The heavy flow's packets take 64 units of virtual time each, as many as legal lengths allow,
    // and together more than 12 slots of the light flow. The first one takes 30, because it places
    // the others in those slots: after one of 8, QFQ's lags stay below two thirds of its bounds.
    let longest = 64 * HEAVY;
    let lengths = Lengths::Listed([vec![30 * HEAVY], vec![longest; 399]].concat());
    let heavy = Source {
        lengths,
        arrivals: vec![last_alone + 4; 400],
        ..Source::burst(HEAVY, longest, 0)
    };
    Workload {
        name: "crowded_out",
        seed: 0,
        sources: vec![light, slow, heavy],
    }
}

/// Against exact timestamps: a packet starts one packet ahead of V and is served after V has passed
/// its finish.
pub fn for_exact_times() -> Workload {
    crowded_out(2, &[SLOT])
}

/// Against rounded start times (QFQ): the last packet starts where a slot starts.
pub fn for_start_slots() -> Workload {
    crowded_out(3, &[1, 1])
}

/// Against rounded finish times (GFQ): the last packet starts just after one slot starts and
/// finishes just after the next slot starts.
pub fn for_rounded_finishes() -> Workload {
    crowded_out(3, &[2, SLOT])
}

/// Against slots of twice the size (S-KPS): the light flow runs four slots ahead, and its last
/// packet finishes just after a wide slot starts.
pub fn for_wide_slots() -> Workload {
    crowded_out(5, &[SLOT / 2 + 1, SLOT / 2 + 1, SLOT])
}

/// All adversarial loads with their names.
pub fn all() -> [(&'static str, Workload); 4] {
    [
        ("exact times", for_exact_times()),
        ("start slots", for_start_slots()),
        ("rounded finishes", for_rounded_finishes()),
        ("wide slots", for_wide_slots()),
    ]
}

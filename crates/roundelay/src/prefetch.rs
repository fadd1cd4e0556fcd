//! Prefetch: a hint that the processor should load memory into the caches, so that a burst waits
//! once for several loads.
//!
//! This is the crate's only file with unsafe code. The prefetch instruction changes only the
//! caches: it reads no value, writes none, and causes no fault at any address. Any address is
//! allowed, even outside the slice, so the functions here are safe.
#![allow(
    unsafe_code,
    reason = "there is no safe call for the prefetch instruction"
)]

use alloc::vec::Vec;

use crate::drops::Refused;
use crate::packet::Packet;

/// Packets prefetched together: enough to share one wait for memory, few enough for a near cache to
/// hold their data until their turn.
pub(crate) const WINDOW: usize = 32;

/// Enqueues a burst window by window. `ask` prefetches a window before its first packet. Refused
/// packets stay in `packets`.
#[inline]
pub(crate) fn enqueue_in_windows<S, T>(
    scheduler: &mut S,
    packets: &mut Vec<Packet<T>>,
    ask: impl Fn(&S, &[Packet<T>]),
    enqueue: impl Fn(&mut S, Packet<T>) -> Result<(), Refused<T>>,
) {
    let mut refused = Vec::new();
    let mut rest = packets.drain(..);
    while !rest.as_slice().is_empty() {
        let window = rest.as_slice().len().min(WINDOW);
        ask(scheduler, &rest.as_slice()[..window]);
        for packet in rest.by_ref().take(window) {
            if let Err(error) = enqueue(scheduler, packet) {
                refused.push(error.packet);
            }
        }
    }
    drop(rest);
    packets.append(&mut refused);
}

/// Calls `dequeue` up to `most` times, or until None. `ask` prefetches for each [`WINDOW`] of
/// packets.
#[inline(always)]
pub(crate) fn dequeue_in_windows<S, L>(
    scheduler: &mut S,
    most: usize,
    into: &mut Vec<L>,
    ask: impl Fn(&S, usize),
    mut dequeue: impl FnMut(&mut S) -> Option<L>,
) {
    for number in 0..most {
        if number.is_multiple_of(WINDOW) {
            ask(scheduler, WINDOW.min(most - number));
        }
        let Some(packet) = dequeue(scheduler) else {
            return;
        };
        into.push(packet);
    }
}

/// Prefetches the first cache line of an item in a slice, for a read some hundred nanoseconds
/// later. An index outside the slice is allowed and has no effect.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    fetch(slice.as_ptr().wrapping_add(index).cast());
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(address: *const i8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: PREFETCHT0 is a hint: any address is allowed, and there is no fault. Part of SSE,
    // present on every x86_64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn fetch(address: *const i8) {
    // SAFETY: PRFM is a hint: any address is allowed, and there is no fault. Neither stack nor
    // flags change.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(readonly, nostack, preserves_flags))
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn fetch(_address: *const i8) {}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::packet::FlowId;

    #[test]
    fn memory_is_asked_for_once_a_window() {
        for (most, asked) in [(0, 0), (3, 1), (WINDOW + 1, 2), (usize::MAX, 3)] {
            let asks = Cell::new(0);
            let mut into = Vec::new();
            let mut waiting = 2 * WINDOW;
            let take = |waiting: &mut usize| {
                *waiting = waiting.checked_sub(1)?;
                Some(Packet::new(FlowId(0), 64, ()))
            };
            let ask = |_: &usize, _| asks.set(asks.get() + 1);
            dequeue_in_windows(&mut waiting, most, &mut into, ask, take);
            assert_eq!(
                (asks.get(), into.len()),
                (asked, most.min(2 * WINDOW)),
                "{most}"
            );
        }
    }

    #[test]
    fn any_index_will_do() {
        let items = [1, 2, 3];
        for index in [0, 2, 3, 1 << 40, usize::MAX] {
            prefetch(&items, index);
        }
        prefetch::<u64>(&[], 0);
        assert_eq!(items, [1, 2, 3]);
    }
}

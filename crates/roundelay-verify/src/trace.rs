//! Verifies a link with a trace: which of all the bytes that the link can carry belong to which
//! packet.
//!
//! The bytes that the trace offers are numbered through all its times and rounds. A packet takes
//! the next ones, and those offered before a packet was there are lost. So a packet's first byte
//! tells when its transmission starts, and its last byte when it ends.

use crate::check::{Check, ensure};
use crate::log::TraceRecord;

/// Picoseconds in a millisecond.
const MILLISECOND: u128 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct Trace {
    record: TraceRecord,
    /// Number of the first byte that no packet has taken.
    next: u128,
}

/// Checks that a link can follow this trace.
pub(crate) fn is_legal(record: &TraceRecord) -> Check {
    let TraceRecord { times, bytes } = record;
    ensure(*bytes > 0, || "a trace without bytes".to_owned())?;
    ensure(times.is_sorted(), || {
        "the times of its trace fall".to_owned()
    })?;
    ensure(times.last().is_some_and(|last| *last > 0), || {
        "its trace has no time above 0".to_owned()
    })
}

impl Trace {
    /// Takes a trace that is legal.
    pub(crate) const fn new(record: TraceRecord) -> Self {
        Self { record, next: 0 }
    }

    /// Milliseconds after which the trace begins again.
    fn period(&self) -> u128 {
        self.record.times.last().copied().unwrap_or(1).into()
    }

    /// The instant at which the link carries a byte.
    fn time_of(&self, byte: u128) -> u64 {
        let times = &self.record.times;
        let number = byte / u128::from(self.record.bytes);
        let count = times.len() as u128;
        let time = times.get((number % count) as usize);
        let millis = (number / count) * self.period() + u128::from(time.copied().unwrap_or(0));
        u64::try_from(millis * MILLISECOND).unwrap_or(u64::MAX)
    }

    /// Bytes offered before an instant.
    fn before(&self, instant: u64) -> u128 {
        let times = &self.record.times;
        let millis = u128::from(instant).div_ceil(MILLISECOND);
        // Whole rounds whose last time is before the instant.
        let rounds = millis.saturating_sub(1) / self.period();
        let rest = millis - rounds * self.period();
        let in_round = times.partition_point(|time| u128::from(*time) < rest);
        (rounds * times.len() as u128 + in_round as u128) * u128::from(self.record.bytes)
    }

    /// The first byte that a packet can have if it waits from an instant on.
    fn byte_from(&self, instant: u64) -> u128 {
        self.next.max(self.before(instant))
    }

    /// The first instant at which the link can carry a packet that waits from an instant on.
    pub(crate) fn could_start(&self, from: u64) -> u64 {
        self.time_of(self.byte_from(from))
    }

    /// Checks that a packet of `len` bytes can start at `now` and end at `end`.
    pub(crate) fn carries(&self, len: u64, now: u64, end: u64) -> Check {
        let first = self.byte_from(now);
        let start = self.time_of(first);
        ensure(now == start, || {
            format!("the link's trace has no bytes left at this time; the next are at {start}")
        })?;
        // A packet without bytes ends where it starts.
        let last = first + u128::from(len.max(1)) - 1;
        let expected = self.time_of(last);
        ensure(end == expected, || {
            format!("the link's trace carries {len} bytes until {expected}, not {end}")
        })
    }

    /// A packet of `len` bytes starts at `now`.
    pub(crate) fn carry(&mut self, len: u64, now: u64) {
        self.next = self.byte_from(now) + u128::from(len);
    }

    /// A packet of unknown length ends at `end`, and perhaps others do.
    pub(crate) fn is_taken_until(&mut self, end: u64) {
        self.next = self.byte_from(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn trace(times: &[u64]) -> Trace {
        Trace::new(TraceRecord {
            times: times.to_vec(),
            bytes: 1000,
        })
    }

    #[test]
    fn a_packet_takes_the_bytes_of_as_many_times_as_it_needs() {
        let mut trace = trace(&[2, 5, 5, 10]);
        assert_eq!(trace.could_start(0), 2 * MS);
        assert_eq!(trace.could_start(2 * MS + 1), 5 * MS, "2 ms is lost");
        trace.carries(1500, 5 * MS, 5 * MS).unwrap();
        trace.carry(1500, 5 * MS);
        assert_eq!(trace.could_start(5 * MS), 5 * MS, "500 bytes are left");
        trace.carries(500, 5 * MS, 5 * MS).unwrap();
        trace.carries(501, 5 * MS, 10 * MS).unwrap();
        trace.carry(501, 5 * MS);
        // What is left at 10 ms is lost once nothing waits there, and a new round begins.
        assert_eq!(trace.could_start(10 * MS + 1), 12 * MS);
        trace.carries(2000, 12 * MS, 15 * MS).unwrap();
        trace.carry(2000, 12 * MS);
        assert_eq!(trace.could_start(0), 15 * MS);
    }

    #[test]
    fn what_a_trace_cannot_carry_is_found() {
        let mut trace = trace(&[1, 3]);
        for (len, now, end) in [
            (1000, 0, MS),
            (1000, MS, MS + 1),
            (1001, MS, MS),
            (1000, 2 * MS, 3 * MS),
            (1000, MS, 3 * MS),
        ] {
            assert!(trace.carries(len, now, end).is_err(), "{len} {now} {end}");
        }
        trace.carry(1000, MS);
        assert!(
            trace.carries(1, MS, MS).is_err(),
            "all bytes of 1 ms are taken"
        );
    }

    #[test]
    fn a_trace_needs_times_that_do_not_fall_and_one_above_zero() {
        for (times, bytes, is_fine) in [
            (vec![0, 1], 1, true),
            (vec![2, 1], 1, false),
            (vec![0, 0], 1, false),
            (vec![], 1, false),
            (vec![1], 0, false),
        ] {
            let record = TraceRecord { times, bytes };
            assert_eq!(is_legal(&record).is_ok(), is_fine, "{record:?}");
        }
    }
}

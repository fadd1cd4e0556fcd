//! Link trace: the times at which a link can deliver a full packet, as mahimahi's mm-link reads
//! them.
//!
//! A trace has a line for each such time, in milliseconds from its start. After its last line it
//! begins again. At each time the link carries the bytes of a full packet: one packet, the rest of
//! one and the start of the next, or several short ones. What no packet uses then is lost. The
//! queue chooses a packet when the link begins to carry it, and no earlier.

use std::sync::Arc;

use roundelay::{Duration, Fault, Instant, LinkLayer, Rate, Seed};

use crate::link_model::LinkModel;

/// Bytes in a full Ethernet packet, and in the IP packet inside it.
const FRAME: u32 = 1514;
const PACKET: u32 = 1500;
/// The longest trace: 24 days.
const LONGEST: u64 = 1 << 31;

/// A trace, read from a file or drawn by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTrace {
    name: Arc<str>,
    /// Times in milliseconds. They never fall, and the last is above 0.
    times: Arc<[u64]>,
    /// The model that drew the times.
    model: Option<LinkModel>,
}

/// A link that follows a trace, and how far it has got.
#[derive(Debug, Clone)]
pub struct TracedLink {
    times: Arc<[u64]>,
    /// How many bytes it carries at each time.
    bytes_each: u64,
    /// The opportunity at which the link last carried bytes: the times are opportunities, numbered
    /// over all rounds.
    opportunity: u64,
    /// How many bytes it carried then.
    used_bytes: u64,
    /// How many bytes all packets had.
    carried_bytes: u64,
}

impl LinkTrace {
    /// Reads a trace. `name` is for messages.
    ///
    /// # Errors
    /// A line is not a time. The error has the file, the line and what is legal.
    pub fn parse(name: &str, text: &str) -> Result<Self, Fault> {
        let mut times = Vec::new();
        let mut last = 0;
        for (number, text) in text.lines().enumerate() {
            let shown: String = text.chars().take(40).collect();
            let time = text.trim().parse().ok().filter(|time| *time <= LONGEST);
            let Some(time) = time else {
                let message = Fault::quoted(
                    shown,
                    format_args!(
                        "a time in whole milliseconds, 0 to {LONGEST}, at which the link delivers a packet"
                    ),
                );
                return Err(message.in_file(name, number + 1));
            };
            if time < last {
                let message = Fault::quoted(
                    shown,
                    format_args!("a time not before that of the line before, {last}"),
                );
                return Err(message.in_file(name, number + 1));
            }
            last = time;
            times.push(time);
        }
        if last == 0 {
            let message = "a link trace needs a line with a time above 0: \
                           expected times in milliseconds, one a line";
            return Err(Fault::new(message).in_file(name, 0));
        }
        Ok(Self {
            name: name.into(),
            times: times.into(),
            model: None,
        })
    }

    /// The trace that a model draws from a seed. The model's text is its name.
    pub fn of_model(model: LinkModel, seed: Seed) -> Self {
        Self {
            name: Arc::clone(model.text()),
            times: model.times(seed).into(),
            model: Some(model),
        }
    }

    /// The trace for the run with this seed. If it comes from a model, it is drawn anew.
    #[must_use]
    pub fn drawn(&self, seed: Seed) -> Self {
        match &self.model {
            Some(model) => Self::of_model(model.clone(), seed),
            None => self.clone(),
        }
    }

    /// The model that drew the trace.
    pub const fn model(&self) -> Option<&LinkModel> {
        self.model.as_ref()
    }

    /// The file's name or the model's text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The times of one round, in milliseconds. The last is how long a round is.
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    /// The trace as a file would hold it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for time in &*self.times {
            text += &format!("{time}\n");
        }
        text
    }

    /// How many bytes a link carries at each time: as many as a full packet has on this link.
    pub fn bytes(layer: LinkLayer) -> u64 {
        let full = if layer.raw { FRAME } else { PACKET };
        layer.len_on_link(full).into()
    }

    /// The link's average rate, at least one bit per second.
    pub fn mean_rate(&self, layer: LinkLayer) -> Rate {
        let bits = self.times.len() as u128 * u128::from(Self::bytes(layer)) * 8;
        let mean = bits * 1000 / u128::from(round(&self.times));
        let mean = u64::try_from(mean).unwrap_or(u64::MAX).max(1);
        Rate::from_bits_per_second(mean).expect("at least one bit per second")
    }

    /// A link at time zero that follows this trace.
    pub fn link(&self, layer: LinkLayer) -> TracedLink {
        TracedLink {
            times: Arc::clone(&self.times),
            bytes_each: Self::bytes(layer),
            opportunity: 0,
            used_bytes: 0,
            carried_bytes: 0,
        }
    }
}

/// How long a round is, milliseconds.
fn round(times: &[u64]) -> u64 {
    times.last().copied().unwrap_or(1)
}

impl TracedLink {
    /// The time of an opportunity.
    fn time(&self, opportunity: u64) -> Instant {
        let count = self.times.len() as u64;
        let index = (opportunity % count) as usize;
        let millis = (opportunity / count).saturating_mul(round(&self.times)) + self.times[index];
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The first opportunity whose time is no earlier than an instant.
    fn first_at(&self, from: Instant) -> u64 {
        let millis = from
            .as_picos()
            .div_ceil(Duration::from_millis(1).as_picos());
        let count = self.times.len() as u64;
        // A round ends where the next one starts.
        let rounds = millis.saturating_sub(1) / round(&self.times);
        let rest = millis - rounds * round(&self.times);
        let index = self.times.partition_point(|time| *time < rest);
        rounds * count + index as u64
    }

    /// The first opportunity, no earlier than an instant, at which the link can carry a byte, with
    /// its time.
    fn seek(&self, from: Instant) -> (u64, Instant) {
        let has_more = self.used_bytes < self.bytes_each;
        let next = self.first_at(from).max(self.opportunity);
        let opportunity = if next == self.opportunity && !has_more {
            next + 1
        } else {
            next
        };
        (opportunity, self.time(opportunity))
    }

    /// The first time, no earlier than an instant, at which the link can begin to carry a packet.
    pub fn next(&self, from: Instant) -> Instant {
        self.seek(from).1
    }

    /// Carries a packet, from an instant on. Returns when its last byte is carried.
    pub fn carry(&mut self, from: Instant, len: u32) -> Instant {
        let mut left_bytes = u64::from(len);
        self.carried_bytes += left_bytes;
        let (opportunity, mut end) = self.seek(from);
        // At the same opportunity as before the packet has what the last one left.
        if opportunity != self.opportunity {
            self.opportunity = opportunity;
            self.used_bytes = 0;
        }
        loop {
            let part = left_bytes.min(self.bytes_each - self.used_bytes);
            self.used_bytes += part;
            left_bytes -= part;
            if left_bytes == 0 {
                return end;
            }
            self.opportunity += 1;
            self.used_bytes = 0;
            end = self.time(self.opportunity);
        }
    }

    /// How many bytes the link has carried at times before `now`, and how many it could have
    /// carried.
    pub fn work(&self, now: Instant) -> [u64; 2] {
        let past = self.first_at(now);
        // What the packet on the link will need from now on does not count yet.
        let mut not_yet = 0;
        if self.opportunity >= past {
            not_yet = (self.opportunity - past) * self.bytes_each + self.used_bytes;
        }
        [self.carried_bytes - not_yet, past * self.bytes_each]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn trace(text: &str) -> LinkTrace {
        LinkTrace::parse("x", text).expect("a trace")
    }

    fn link(text: &str) -> TracedLink {
        trace(text).link(LinkLayer::NONE)
    }

    #[test]
    fn a_packet_takes_the_bytes_of_as_many_times_as_it_needs() {
        let mut trace = link("2\n5\n5\n10\n");
        assert_eq!(trace.next(Instant::ZERO), millis(2));
        assert_eq!(trace.carry(millis(2), 1514), millis(2));
        // A half at 5, the rest and 757 more at 5 again.
        assert_eq!(trace.next(millis(2)), millis(5));
        assert_eq!(trace.carry(millis(5), 757), millis(5));
        assert_eq!(trace.carry(millis(5), 1514), millis(5));
        assert_eq!(
            trace.carry(millis(5), 758),
            millis(10),
            "a byte is too much"
        );
        // What is left of 10 is lost, as no packet was there; the second round begins.
        assert_eq!(trace.next(millis(11)), millis(12));
        assert_eq!(trace.carry(millis(12), 3 * 1514), millis(15));
        assert_eq!(trace.next(millis(15)), millis(20));
        assert_eq!(trace.next(millis(20 + 1)), millis(22));
    }

    #[test]
    fn a_time_of_zero_comes_once_at_the_start_and_then_with_the_end_of_each_round() {
        let mut trace = link("0\n4\n");
        for expected in [0, 4, 4, 8, 8, 12] {
            let next = trace.next(Instant::ZERO);
            assert_eq!(next, millis(expected));
            trace.carry(next, 1514);
        }
    }

    #[test]
    fn the_mean_rate_is_that_of_full_packets() {
        // Two packets of 1514 bytes in 10 ms.
        let mean = |text: &str, layer| trace(text).mean_rate(layer).bits_per_second();
        assert_eq!(mean("3\n10\n", LinkLayer::NONE), 2 * 1514 * 8 * 100);
        let layer = LinkLayer::with_overhead(20);
        assert_eq!(mean("10\n", layer), 1520 * 8 * 100);
    }

    #[test]
    fn wrong_lines_are_told_with_file_line_and_what_is_legal() {
        for (text, expected) in [
            ("", "x: a link trace needs a line with a time above 0"),
            ("0\n0\n", "x: a link trace needs a line with a time above 0"),
            (
                "1\nfive\n",
                "x:2: 'five': expected a time in whole milliseconds, 0 to",
            ),
            (
                "1\n-5\n",
                "x:2: '-5': expected a time in whole milliseconds",
            ),
            (
                "1\n1.5\n",
                "x:2: '1.5': expected a time in whole milliseconds",
            ),
            ("99999999999\n", "x:1: '99999999999': expected a time"),
            (
                "7\n6\n",
                "x:2: '6': expected a time not before that of the line before, 7",
            ),
        ] {
            let error = LinkTrace::parse("x", text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn work_is_what_was_carried_and_could_have_been() {
        let mut trace = link("2\n5\n10\n");
        assert_eq!(trace.work(millis(0)), [0, 0]);
        assert_eq!(trace.work(millis(3)), [0, 1514], "2 ms is lost");
        trace.carry(millis(5), 2000);
        assert_eq!(trace.work(millis(5)), [0, 1514]);
        assert_eq!(trace.work(millis(6)), [1514, 2 * 1514]);
        assert_eq!(trace.work(millis(10)), [1514, 2 * 1514]);
        assert_eq!(trace.work(millis(11)), [2000, 3 * 1514]);
        assert_eq!(trace.work(millis(14)), [2000, 4 * 1514]);
    }

    #[test]
    fn the_text_of_a_trace_is_read_as_the_same_trace() {
        let trace = trace("0\n 3 \n3\n20");
        assert_eq!(trace.text(), "0\n3\n3\n20\n");
        assert_eq!(LinkTrace::parse("x", &trace.text()), Ok(trace));
    }
}

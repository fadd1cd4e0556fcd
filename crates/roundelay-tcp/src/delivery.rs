//! Delivery rate: how fast the network has carried data lately, measured at each acknowledgement.
//! The names are those of draft-cheng-iccrg-delivery-rate-estimation-00, section 3.

use std::collections::VecDeque;

use roundelay::{Duration, Instant};

/// What we know about a segment in flight, since it was last sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// P.delivered, P.delivered_time, P.first_sent_time, P.sent_time.
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    sent: Instant,
    is_app_limited: bool,
    is_retransmitted: bool,
    /// P.tx_in_flight and P.lost of draft-ietf-ccwg-bbr: how many bytes were in flight with this
    /// segment, and how many were lost by then.
    in_flight: u64,
    lost: u64,
}

/// A measurement at an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Bytes a second. None if the interval is shorter than the shortest round trip, or empty.
    pub(crate) rate: Option<u64>,
    /// The round trip of the segment that was sent last among those that have arrived. None if it
    /// was sent twice.
    pub(crate) round_trip: Option<Duration>,
    /// What `delivered` was for the connection when that segment was sent.
    pub(crate) prior_delivered: u64,
    /// Whether the application, and not the network, was the limit when that segment was sent.
    pub(crate) is_app_limited: bool,
    /// Bytes that arrived and bytes that were lost since then, and bytes in flight then.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) in_flight: u64,
}

/// A segment that counts as lost, since it was last sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) sequence: u64,
    pub(crate) len: u32,
    /// Bytes in flight with this segment, and bytes lost since, this segment included.
    pub(crate) in_flight: u64,
    pub(crate) lost: u64,
    pub(crate) is_app_limited: bool,
}

/// What is counted for a connection, and for its segments in flight.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryMeter {
    now: Instant,
    /// Segments in flight, in the order of the scoreboard.
    sent: VecDeque<Sent>,
    /// C.delivered and C.delivered_time.
    delivered: u64,
    delivered_at: Instant,
    /// C.first_sent_time.
    first_sent: Instant,
    /// C.app_limited: how many bytes must be delivered before too little data has no effect any
    /// more. 0 if it has none.
    app_limited: u64,
    /// The segment that was sent last among those that arrived with this acknowledgement.
    newest: Option<Sent>,
    /// Bytes that arrived with this acknowledgement, and bytes that it tells to be lost.
    newly_delivered: u64,
    lost: u64,
    /// C.lost, which includes losses by timeouts, and the segments lost since we last looked, if a
    /// law asks for each.
    lost_in_all: u64,
    keeps_losses: bool,
    losses: Vec<Lost>,
}

impl DeliveryMeter {
    /// A meter, for a law that asks for each lost segment or for one that does not.
    pub(crate) fn new(keeps_losses: bool) -> Self {
        Self {
            keeps_losses,
            ..Self::default()
        }
    }

    /// The time at which what follows happens.
    pub(crate) fn tell_time(&mut self, now: Instant) {
        self.now = now;
    }

    /// Bytes delivered.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes lost in all, by acknowledgements and by timers.
    pub(crate) fn lost_in_all(&self) -> u64 {
        self.lost_in_all
    }

    /// What a timer has found lost is no loss that the next acknowledgement tells.
    pub(crate) fn end_timer(&mut self) {
        self.lost = 0;
    }

    /// Whether measurements are spoilt now because the application had too little data.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    fn sending(&self, is_retransmitted: bool, in_flight: u64) -> Sent {
        Sent {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            sent: self.now,
            is_app_limited: self.is_app_limited(),
            is_retransmitted,
            in_flight,
            lost: self.lost_in_all,
        }
    }

    /// A new segment is sent: SendPacket(). `in_flight` is how many bytes are in flight with this
    /// segment. If nothing is unacknowledged, the intervals begin anew. Losses do not count for
    /// this, because segments that were only believed to be lost would then seem to arrive in no
    /// time.
    pub(crate) fn push(&mut self, is_alone: bool, in_flight: u64) {
        if is_alone {
            self.first_sent = self.now;
            self.delivered_at = self.now;
        }
        self.sent.push_back(self.sending(false, in_flight));
    }

    /// The segment at an index is sent again.
    pub(crate) fn resend(&mut self, index: usize, in_flight: u64) {
        self.sent[index] = self.sending(true, in_flight);
    }

    /// The segment at an index has arrived: UpdateRateSample().
    pub(crate) fn arrive(&mut self, index: usize, len: u32) {
        let sent = self.sent[index];
        self.delivered += u64::from(len);
        self.delivered_at = self.now;
        self.newly_delivered += u64::from(len);
        let is_newer =
            |newest: Sent| (sent.delivered, sent.sent) >= (newest.delivered, newest.sent);
        if self.newest.is_none_or(is_newer) {
            self.newest = Some(sent);
            self.first_sent = sent.sent;
        }
    }

    /// A part of the first segment has arrived.
    pub(crate) fn arrive_in_part(&mut self, len: u32) {
        self.delivered += u64::from(len);
        self.newly_delivered += u64::from(len);
    }

    /// The first segment leaves the scoreboard.
    pub(crate) fn pop(&mut self) {
        self.sent.pop_front();
    }

    /// The segment at an index counts as lost.
    pub(crate) fn lose(&mut self, index: usize, sequence: u64, len: u32) {
        self.lost += u64::from(len);
        self.note_loss(index, sequence, len);
    }

    /// The segment at an index counts as lost, by an acknowledgement or by a timeout.
    pub(crate) fn note_loss(&mut self, index: usize, sequence: u64, len: u32) {
        self.lost_in_all += u64::from(len);
        if self.keeps_losses {
            let sent = self.sent[index];
            self.losses.push(Lost {
                sequence,
                len,
                in_flight: sent.in_flight,
                lost: self.lost_in_all - sent.lost,
                is_app_limited: sent.is_app_limited,
            });
        }
    }

    /// The segments lost since the last call, in the order in which we found out.
    pub(crate) fn take_losses(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.losses)
    }

    /// The application had no data although the window has room. So the sample of each segment that
    /// is in flight or follows tells nothing about the network's rate.
    pub(crate) fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Ends an acknowledgement: GenerateRateSample(). Returns its sample, how many bytes arrived,
    /// and how many were lost.
    pub(crate) fn finish(&mut self, least: Option<Duration>) -> (Option<RateSample>, u64, u64) {
        let newly_delivered = std::mem::take(&mut self.newly_delivered);
        let lost = std::mem::take(&mut self.lost);
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Some(newest) = self.newest.take() else {
            return (None, newly_delivered, lost);
        };
        // We take the slower of sending and arriving, because acknowledgements may come compressed.
        let send_elapsed = newest.sent.since(newest.first_sent);
        let ack_elapsed = self.delivered_at.since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let is_valid = interval > Duration::ZERO && least.is_none_or(|least| interval >= least);
        let delivered = self.delivered - newest.delivered;
        let round_trip = self.now.since(newest.sent);
        let sample = RateSample {
            rate: is_valid.then(|| rate(delivered, interval)),
            round_trip: (!newest.is_retransmitted).then_some(round_trip),
            prior_delivered: newest.delivered,
            is_app_limited: newest.is_app_limited,
            delivered,
            lost: self.lost_in_all - newest.lost,
            in_flight: newest.in_flight,
        };
        (Some(sample), newly_delivered, lost)
    }
}

/// Bytes a second.
fn rate(bytes: u64, interval: Duration) -> u64 {
    let per_second = u128::from(bytes) * 1_000_000_000_000 / u128::from(interval.as_picos());
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Ten segments of 1,000 bytes leave at once, and one arrives every 10 ms from 100 ms on. That
    /// is a rate of 100,000 bytes a second, which the samples approach from below, because the
    /// first interval includes the round trip.
    #[test]
    fn a_window_arrives_at_the_rate_of_the_link() {
        let mut meter = DeliveryMeter::default();
        for number in 0..10 {
            meter.push(number == 0, 0);
        }
        let mut last = None;
        for number in 0..10 {
            meter.tell_time(at(100 + 10 * number));
            meter.arrive(0, 1000);
            meter.pop();
            meter.push(false, 0);
            (last, ..) = meter.finish(None);
        }
        let sample = last.expect("a sample");
        // 10,000 bytes in the 190 ms since the first was sent.
        assert_eq!(sample.rate, Some(52_631));
        assert_eq!(sample.round_trip, Some(Duration::from_millis(190)));
        // The next segment was sent at 100 ms, when 1,000 bytes had arrived at that very time.
        meter.tell_time(at(200));
        meter.arrive(0, 1000);
        let (sample, newly_delivered, lost) = meter.finish(None);
        let sample = sample.expect("a sample");
        assert_eq!((sample.rate, sample.prior_delivered), (Some(100_000), 1000));
        assert_eq!((newly_delivered, lost), (1000, 0));
    }

    /// Acknowledgements for a whole window come at one time, so the time of sending is the limit.
    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate() {
        let mut meter = DeliveryMeter::default();
        for number in 0..11 {
            meter.tell_time(at(10 * number));
            meter.push(number == 0, 0);
        }
        meter.tell_time(at(300));
        meter.arrive(0, 1000);
        meter.pop();
        meter.finish(None);
        // Sent at 300, 310 .. with the state as it is now. All arrive at 700.
        for number in 0..10 {
            meter.tell_time(at(300 + 10 * number));
            meter.push(false, 0);
        }
        meter.tell_time(at(700));
        for _ in 0..20 {
            meter.arrive(0, 1000);
            meter.pop();
        }
        let (sample, ..) = meter.finish(None);
        // 20,000 bytes in the 400 ms since the acknowledgement before, and not in no time.
        assert_eq!(sample.and_then(|sample| sample.rate), Some(50_000));
    }

    #[test]
    fn short_intervals_and_segments_sent_twice_say_nothing() {
        let mut meter = DeliveryMeter::default();
        meter.push(true, 0);
        meter.tell_time(at(5));
        meter.resend(0, 0);
        meter.tell_time(at(9));
        meter.arrive(0, 1000);
        let (sample, ..) = meter.finish(Some(Duration::from_millis(10)));
        let sample = sample.expect("a sample");
        assert_eq!((sample.rate, sample.round_trip), (None, None));
    }

    #[test]
    fn samples_are_app_limited_until_the_data_of_that_time_has_arrived() {
        let mut meter = DeliveryMeter::default();
        meter.push(true, 0);
        meter.limit_by_application(1000);
        meter.push(false, 0);
        meter.tell_time(at(10));
        let mut seen = Vec::new();
        for _ in 0..2 {
            meter.arrive(0, 1000);
            meter.pop();
            let (sample, ..) = meter.finish(None);
            seen.push((sample.unwrap().is_app_limited, meter.is_app_limited()));
        }
        assert_eq!(seen, [(false, true), (true, false)]);
    }
}

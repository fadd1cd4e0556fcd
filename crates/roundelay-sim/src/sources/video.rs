//! Source `video`: video over the web, one segment over a TCP connection at even intervals.
//!
//! Segments queue at the sender if the network is slower. Each segment reports when the receiver
//! has all bytes: the time from creation to delivery is the buffer needed by a player. Segments
//! missing at the stop or the end of the run are reported as cut off.

use roundelay::{Duration, Instant};
use roundelay_tcp as protocol;

use crate::agent::{Agent, Arrival, Context};
use crate::sources::burst::LARGEST_FLOW;
use crate::sources::connection::{Alarm, Connection, earlier};
use crate::sources::outlet::{Outlet, Terms, Turn};
use crate::sources::{Check, SourceError};

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Hosts (server to viewer), times and urgency.
    pub terms: Terms,
    /// TCP parameters of both ends.
    pub protocol: protocol::Config,
    /// Bytes of a segment, 1 to 2^40.
    pub segment_bytes: u64,
    /// Time between segments, 1 us to 1 day.
    pub interval: Duration,
}

/// The source.
#[derive(Debug)]
pub struct Video {
    outlet: Outlet,
    connection: Connection,
    alarm: Alarm,
    segment_bytes: u64,
    interval: Duration,
    /// Creation time of the first unreported segment, and number of reported segments.
    made_at: Instant,
    reported: u64,
    next_at: Instant,
}

impl Video {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        let Config { terms, protocol, segment_bytes, interval } = config;
        let check = Check("video");
        terms.check(check)?;
        check.range("segment_bytes", segment_bytes, 1..=LARGEST_FLOW)?;
        check.range("interval", interval, Duration::from_micros(1)..=Duration::from_secs(86_400))?;
        Ok(Self {
            connection: Connection::new(protocol, 0, &terms)?,
            outlet: Outlet::new(terms, u64::MAX, protocol.segment_len),
            alarm: Alarm::default(),
            segment_bytes,
            interval,
            made_at: Instant::ZERO,
            reported: 0,
            next_at: Instant::ZERO,
        })
    }

    /// Creates a segment if one is due.
    fn make(&mut self, now: Instant) {
        if now >= self.next_at {
            self.connection.supply(self.segment_bytes);
            self.next_at = now + self.interval;
        }
    }

    /// Reports missing segments as cut off.
    fn cut_off(&mut self, context: &mut Context<'_>) {
        while self.made_at < self.next_at {
            let effort = self.connection.effort();
            self.connection.report(0, self.made_at, false, effort, context);
            self.made_at += self.interval;
        }
        let effort = self.connection.effort();
        self.connection.report_rest(effort, context);
    }

    fn settle(&mut self, context: &mut Context<'_>) {
        while self.connection.delivered() >= (self.reported + 1).saturating_mul(self.segment_bytes) {
            let effort = self.connection.effort();
            self.connection.report(self.segment_bytes, self.made_at, true, effort, context);
            self.reported += 1;
            self.made_at += self.interval;
        }
        let next = earlier(self.connection.timer(), Some(self.next_at));
        self.alarm.set(earlier(next, self.outlet.stop()), context);
    }
}

impl Agent for Video {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        let now = context.now();
        if self.outlet.is_over(now) {
            self.cut_off(context);
        }
        match self.outlet.turn(context) {
            Turn::Pass => return,
            Turn::Start(flow) => {
                (self.made_at, self.next_at) = (now, now);
                self.make(now);
                self.connection.open(flow, context);
            }
            Turn::GoOn(_) => {
                self.make(now);
                self.connection.wake(context);
            }
        }
        self.settle(context);
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        self.connection.arrive(arrival, context);
        self.settle(context);
    }

    fn forget(&mut self) {
        self.connection.effort();
    }

    fn end(&mut self, context: &mut Context<'_>) {
        self.cut_off(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, seconds};

    fn config(segment_bytes: u64) -> Config {
        let terms = Terms { stop: Some(seconds(41)), ..Bench::default().terms() };
        Config { terms, protocol: protocol::Config::rfc(), segment_bytes, interval: Duration::from_secs(4) }
    }

    /// 2 MB every four seconds are 4 Mbit/s.
    #[test]
    fn a_fast_link_delivers_each_segment_before_the_next() {
        let log = Bench::over(2, "10mbit", Duration::from_millis(20)).run(1, 100, [Video::new(config(2_000_000)).unwrap()]);
        let starts: Vec<_> = log.reports.iter().map(|(_, _, report)| report.start).collect();
        assert_eq!(starts, (0..11).map(|segment| seconds(4 * segment)).collect::<Vec<_>>());
        let (last, complete) = log.reports.split_last().unwrap();
        assert_eq!((last.0, last.2.is_complete, last.2.bytes), (seconds(41), false, 0), "the last one has a second");
        for (now, _, report) in complete {
            assert_eq!((report.bytes, report.delivered, report.is_complete), (2_000_000, *now, true));
            let seconds = report.completion_time().as_secs_f64();
            assert!((1.65..2.2).contains(&seconds), "2 MB at 10 Mbit/s with headers are 1.66 s: {seconds}");
        }
        assert_eq!(log.closed.len(), 1);
    }

    #[test]
    fn a_slow_link_makes_segments_later_and_later() {
        let log = Bench::over(2, "3mbit", Duration::from_millis(20)).run(1, 100, [Video::new(config(2_000_000)).unwrap()]);
        let complete = log.reports.iter().filter(|(_, _, report)| report.is_complete);
        let times: Vec<_> = complete.map(|(_, _, report)| report.completion_time()).collect();
        assert_eq!(log.reports.len(), 11, "all that were made are told of");
        assert!(times.len() > 5 && times.is_sorted() && times[1].as_secs_f64() > times[0].as_secs_f64() + 1.3);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |config| Video::new(config).unwrap_err().to_string();
        assert_eq!(message(config(0)), "video: segment_bytes 0: legal range 1 to 1099511627776");
        let never = Config { interval: Duration::ZERO, ..config(1) };
        assert_eq!(message(never), "video: interval 0s: legal range 1us to 86400s");
    }
}

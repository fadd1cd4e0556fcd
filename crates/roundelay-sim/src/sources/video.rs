//! Source `video`: video over the web, where one TCP connection carries segments at even intervals.
//!
//! If the network is slower, segments queue at the sender. Each segment reports when the receiver
//! has all bytes. How long this takes from when the segment was made is the buffer that a player
//! needs. Segments that are missing when the source stops or the run ends are reported as cut off.

use roundelay::{Bytes, Duration, Instant};
use roundelay_files::InWords;
use roundelay_tcp as protocol;
use serde::Deserialize;

use crate::agent::{Agent, Arrival, Context, Departure};
use crate::sources::connection::{Alarm, Connection, earlier};
use crate::sources::load::{Amount, Load};
use crate::sources::protocol::Protocol;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, LARGEST_FLOW, SourceError};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "Video over TCP: a segment at even intervals.";
pub(super) const EXAMPLES: [&str; 2] = [
    "segment = '8kb'\ninterval = '300ms'",
    "segment = '4kb'\ninterval = '200ms'",
];

/// Parameters of the source; its hosts are server and viewer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of a segment: 1 to 2^40.
    #[serde(with = "InWords::<Bytes>")]
    pub segment: Bytes,
    /// Time between segments: 1 us to 1 day.
    #[serde(with = "InWords::<Duration>")]
    pub interval: Duration,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts::tcp(&self.tcp, Ending::Told)
    }

    fn load(&self, conditions: &Conditions) -> Load {
        let segments =
            (conditions.span.as_secs_f64() / self.interval.as_secs_f64().max(1e-6)).ceil();
        let packets = Amount::exact(segments * self.facts().segments(self.segment.0) + 1.0);
        Load {
            transfers: Amount::exact(segments),
            ..Load::of_flow(packets)
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(Video::new(
            terms,
            self.tcp.config(),
            self.segment.0,
            self.interval,
        )?))
    }
}

/// The source.
#[derive(Debug)]
pub struct Video {
    source_flow: SourceFlow,
    connection: Connection,
    alarm: Alarm,
    segment_bytes: u64,
    interval: Duration,
    /// When the first unreported segment was made, and how many segments are reported.
    made_at: Instant,
    reported: u64,
    next_at: Instant,
}

impl Video {
    /// Segments have 1 to 2^40 bytes, and intervals take 1 us to 1 day.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(
        terms: Terms,
        protocol: protocol::Config,
        segment_bytes: u64,
        interval: Duration,
    ) -> Result<Self, SourceError> {
        let check = Check("video");
        terms.check(check)?;
        check.range("segment", segment_bytes, 1..=LARGEST_FLOW)?;
        check.range(
            "interval",
            interval,
            Duration::from_micros(1)..=Duration::from_secs(86_400),
        )?;
        Ok(Self {
            connection: Connection::new(protocol, 0, &terms)?,
            source_flow: SourceFlow::new(terms, u64::MAX, protocol.segment_len),
            alarm: Alarm::default(),
            segment_bytes,
            interval,
            made_at: Instant::ZERO,
            reported: 0,
            next_at: Instant::ZERO,
        })
    }

    /// Makes a segment if one is due.
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
            self.connection
                .report(0, self.made_at, false, effort, context);
            self.made_at += self.interval;
        }
        let effort = self.connection.effort();
        self.connection.report_rest(effort, context);
    }

    fn settle(&mut self, context: &mut Context<'_>) {
        while self.connection.delivered() >= (self.reported + 1).saturating_mul(self.segment_bytes)
        {
            let effort = self.connection.effort();
            self.connection
                .report(self.segment_bytes, self.made_at, true, effort, context);
            self.reported += 1;
            self.made_at += self.interval;
        }
        let next = earlier(self.connection.timer(), Some(self.next_at));
        self.alarm
            .set(earlier(next, self.source_flow.stop()), context);
    }
}

impl Agent for Video {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        let now = context.now();
        if self.source_flow.is_over(now) {
            self.cut_off(context);
        }
        match self.source_flow.turn(context) {
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

    fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        self.connection.depart(departure, context);
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

    fn video(segment_bytes: u64, interval: Duration) -> Result<Video, SourceError> {
        let terms = Terms {
            stop: Some(seconds(41)),
            ..Bench::default().terms()
        };
        Video::new(terms, protocol::Config::rfc(), segment_bytes, interval)
    }

    const INTERVAL: Duration = Duration::from_secs(4);

    /// 2 MB every four seconds are 4 Mbit/s.
    #[test]
    fn a_fast_link_delivers_each_segment_before_the_next() {
        let log = Bench::over(2, "10mbit", Duration::from_millis(20)).run(
            1,
            100,
            [video(2_000_000, INTERVAL).unwrap()],
        );
        let starts: Vec<_> = log
            .reports
            .iter()
            .map(|(_, _, report)| report.start)
            .collect();
        assert_eq!(
            starts,
            (0..11)
                .map(|segment| seconds(4 * segment))
                .collect::<Vec<_>>()
        );
        let (last, complete) = log.reports.split_last().unwrap();
        assert_eq!(
            (last.0, last.2.is_complete, last.2.bytes),
            (seconds(41), false, 0),
            "the last one has a second"
        );
        for (now, _, report) in complete {
            assert_eq!(
                (report.bytes, report.delivered, report.is_complete),
                (2_000_000, *now, true)
            );
            let seconds = report.completion_time().as_secs_f64();
            assert!(
                (1.65..2.2).contains(&seconds),
                "2 MB at 10 Mbit/s with headers are 1.66 s: {seconds}"
            );
        }
        assert_eq!(log.closed.len(), 1);
    }

    #[test]
    fn a_slow_link_makes_segments_later_and_later() {
        let log = Bench::over(2, "3mbit", Duration::from_millis(20)).run(
            1,
            100,
            [video(2_000_000, INTERVAL).unwrap()],
        );
        let complete = log
            .reports
            .iter()
            .filter(|(_, _, report)| report.is_complete);
        let times: Vec<_> = complete
            .map(|(_, _, report)| report.completion_time())
            .collect();
        assert_eq!(log.reports.len(), 11, "all that were made are told of");
        assert!(
            times.len() > 5
                && times.is_sorted()
                && times[1].as_secs_f64() > times[0].as_secs_f64() + 1.3
        );
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |segment, interval| video(segment, interval).unwrap_err().to_string();
        assert_eq!(
            message(0, INTERVAL),
            "video: segment 0: legal range 1 to 1099511627776"
        );
        assert_eq!(
            message(1, Duration::ZERO),
            "video: interval 0s: legal range 1us to 86400s"
        );
    }
}

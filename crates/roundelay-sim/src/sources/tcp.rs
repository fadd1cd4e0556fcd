//! Source `tcp`: one flow over TCP, with a size or without end. Both ends are one agent.
//!
//! A flow with a size reports and closes when its sender knows that all bytes were delivered. If a
//! flow is stopped, or cut off because the run ends, it reports the bytes delivered until then.

use roundelay::{Bytes, Instant};
use roundelay_files::Maybe;
use roundelay_tcp as protocol;
use serde::Deserialize;

use crate::agent::{Agent, Arrival, Context, Departure};
use crate::flows::FlowSpec;
use crate::sources::connection::{Alarm, Connection, earlier};
use crate::sources::load::{Amount, Load};
use crate::sources::protocol::Protocol;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, LARGEST_FLOW, SourceError};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "A flow over TCP, with a size or without end.";
pub(super) const EXAMPLES: [&str; 2] = ["size = '4kb'", "size = '10kb'\nstart = '1s'"];

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of data: 1 to 2^40. Left out: without end.
    #[serde(default, with = "Maybe::<Bytes>")]
    pub size: Option<Bytes>,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts::tcp(
            &self.tcp,
            if self.size.is_some() {
                Ending::Told
            } else {
                Ending::Never
            },
        )
    }

    fn load(&self, _: &Conditions) -> Load {
        Load::of_flow(Amount::exact(
            self.size.map_or(f64::INFINITY, |Bytes(size)| {
                self.facts().segments(size) + 1.0
            }),
        ))
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(Tcp::new(
            terms,
            self.tcp.config(),
            self.size.map(|Bytes(size)| size),
        )?))
    }
}

/// The source.
#[derive(Debug, Clone)]
pub struct Tcp {
    source_flow: SourceFlow,
    connection: Connection,
    alarm: Alarm,
    start: Option<Instant>,
}

impl Tcp {
    /// `size` is how many bytes of data there are: 1 to 2^40. None: without end.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(
        terms: Terms,
        protocol: protocol::Config,
        size: Option<u64>,
    ) -> Result<Self, SourceError> {
        let check = Check("tcp");
        terms.check(check)?;
        check.range("size", size.unwrap_or(1), 1..=LARGEST_FLOW)?;
        let size = size.unwrap_or(u64::MAX);
        let connection = Connection::new(protocol, size, &terms)?;
        let source_flow = SourceFlow::new(terms, size, protocol.segment_len);
        Ok(Self {
            source_flow,
            connection,
            alarm: Alarm::default(),
            start: None,
        })
    }

    /// A prototype, which is not a flow itself. Flows are copies with their own ends and size.
    pub(crate) fn prototype(terms: Terms, protocol: protocol::Config) -> Result<Self, SourceError> {
        let connection = Connection::new(protocol, 0, &terms)?;
        let source_flow = SourceFlow::new(terms, 0, protocol.segment_len);
        Ok(Self {
            source_flow,
            connection,
            alarm: Alarm::default(),
            start: None,
        })
    }

    /// Makes a flow from this prototype.
    pub(crate) fn like(&self, flow: FlowSpec, size_bytes: u64) -> Self {
        let mut made = self.clone();
        made.source_flow.redirect(flow);
        made.connection.supply(size_bytes);
        made
    }

    fn report(&mut self, context: &mut Context<'_>) {
        if let Some(start) = self.start.take() {
            let is_complete = self.connection.is_done();
            let effort = self.connection.effort();
            self.connection.report(
                self.connection.delivered(),
                start,
                is_complete,
                effort,
                context,
            );
        }
    }

    /// Reports if all is done, and otherwise sets the alarm. Called after every call.
    #[inline]
    fn settle(&mut self, context: &mut Context<'_>) {
        if self.connection.is_done() {
            self.report(context);
            return self.source_flow.finish(context);
        }
        self.alarm.set(
            earlier(self.connection.timer(), self.source_flow.stop()),
            context,
        );
    }
}

impl Agent for Tcp {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        if self.source_flow.is_over(context.now()) {
            self.report(context);
        }
        match self.source_flow.turn(context) {
            Turn::Pass => return,
            Turn::Start(flow) => {
                self.start = Some(context.now());
                self.connection.open(flow, context);
            }
            Turn::GoOn(_) => self.connection.wake(context),
        }
        self.settle(context);
    }

    #[inline]
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
        self.report(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Direction;
    use crate::sources::Urgency;
    use crate::sources::bench::{Bench, Log, seconds};
    use roundelay::{Duration, Slack};

    const MILLISECOND: u64 = 1_000_000_000;

    #[derive(Clone)]
    struct Flow {
        terms: Terms,
        protocol: protocol::Config,
        size: Option<u64>,
    }

    fn tcp(
        Flow {
            terms,
            protocol,
            size,
        }: Flow,
    ) -> Result<Tcp, SourceError> {
        Tcp::new(terms, protocol, size)
    }

    fn config(packets: u64) -> Flow {
        let terms = Bench::default().terms();
        Flow {
            terms,
            protocol: protocol::Config::ns2_newreno_sack1(),
            size: Some(packets * 1460),
        }
    }

    /// Runs on a link with 1 Gbit/s and 10 ms.
    fn run(config: Flow) -> Log {
        Bench::over(2, "1gbit", Duration::from_millis(10)).run(1, 100, [tcp(config).unwrap()])
    }

    /// In picoseconds at 1 Gbit/s: SYN and acknowledgement have 40 bytes, data 1510.
    const BARE: u64 = 320_000;
    const DATA: u64 = 12_080_000;

    /// A round trip for the SYN, then half of one for the data and half of one for the
    /// acknowledgement.
    #[test]
    fn one_packet() {
        let log = run(config(1));
        let [(_, _, report)] = log.reports[..] else {
            panic!("one report: {:?}", log.reports)
        };
        assert_eq!(
            report.completion_time().as_picos(),
            30 * MILLISECOND + 2 * BARE + DATA
        );
        assert_eq!(
            report.acknowledged.unwrap().as_picos(),
            40 * MILLISECOND + 3 * BARE + DATA
        );
        assert_eq!(
            (
                report.bytes,
                report.is_complete,
                report.retransmissions,
                report.timeouts
            ),
            (1460, true, 0, 0)
        );
        let [(closed, _, counts)] = log.closed[..] else {
            panic!("one flow")
        };
        assert_eq!(
            (Some(closed), counts.delivered, counts.bytes),
            (report.acknowledged, 2, 1550)
        );
    }

    /// Windows of 2, 4 and 1 packet, each with a round trip but the last. A window starts with the
    /// first acknowledgement from the previous one.
    #[test]
    fn seven_packets() {
        let (_, _, report) = run(config(7)).reports[0];
        let expected = 70 * MILLISECOND + 2 * BARE + 2 * (DATA + BARE) + DATA;
        assert_eq!(report.completion_time().as_picos(), expected);
        // On average, data takes 10 ms and its transmission time, and each second packet also waits
        // for the one before it. The answer takes 10 ms and 40 bytes.
        assert!(
            report.round_trip.as_picos() > 20 * MILLISECOND
                && report.round_trip.as_picos() < 20 * MILLISECOND + 3 * DATA
        );
    }

    #[test]
    fn a_delayed_acknowledgement_delays_what_the_sender_knows() {
        let mut delayed = config(1);
        delayed.protocol.delayed_acknowledgement = Some(Duration::from_millis(100));
        let (_, _, report) = run(delayed).reports[0];
        assert_eq!(
            report.completion_time().as_picos(),
            30 * MILLISECOND + 2 * BARE + DATA,
            "it does not delay the data"
        );
        assert_eq!(
            report.acknowledged_after().unwrap().as_picos(),
            140 * MILLISECOND + 3 * BARE + DATA
        );
        assert_eq!(
            report.round_trip.as_picos(),
            20 * MILLISECOND + BARE + (DATA + BARE) / 2,
            "SYN and data there, two answers back"
        );
    }

    #[test]
    fn pacing_spreads_a_window() {
        let mut paced = config(100);
        paced.protocol.pacing = true;
        let log = run(paced);
        let data: Vec<_> = log
            .sent
            .iter()
            .filter(|packet| packet.len > 40)
            .map(|packet| packet.now)
            .collect();
        assert_eq!(data.len(), 100);
        assert!(
            data[2..].windows(2).all(|pair| pair[0] < pair[1]),
            "no two at once"
        );
        let bursts: Vec<_> = run(config(100))
            .sent
            .iter()
            .filter(|packet| packet.len > 40)
            .map(|packet| packet.now)
            .collect();
        assert!(
            bursts[2..].windows(2).any(|pair| pair[0] == pair[1]),
            "which they are without"
        );
    }

    /// A hundred packets on an idle path. All are delivered half a round trip after the answer to
    /// the SYN. The window sends two, and the tail sends forty at the first low priority and the
    /// rest at the second. The first two acknowledgements arrive before those for the tail's last
    /// four packets, so the window sends these four again.
    #[test]
    fn a_cautious_flow_sends_its_tail_at_once() {
        let mut cautious = config(100);
        cautious.protocol.flavour = protocol::Flavour::Sack;
        let plain = run(cautious.clone()).reports[0].2.completion_time();
        cautious.terms.urgency = Urgency::Cautious {
            step: Duration::from_secs(1),
            rate: "1gbit".parse().unwrap(),
        };
        let log = run(cautious);
        let of = |level| {
            log.sent
                .iter()
                .filter(|packet| packet.len > 40 && packet.priority == level)
                .count()
        };
        assert_eq!([of(0), of(1), of(2), of(3)], [2 + 4, 40, 58, 0]);
        assert!(
            log.sent.iter().all(
                |packet| packet.slack == Slack::of(Duration::from_secs(packet.priority.into()))
            )
        );
        let (_, _, report) = log.reports[0];
        assert_eq!(
            report.completion_time().as_picos(),
            30 * MILLISECOND + 2 * BARE + 100 * DATA
        );
        assert!(
            plain.as_picos() > 120 * MILLISECOND && report.is_complete && log.closed.len() == 1
        );
    }

    #[test]
    fn stamps_go_both_ways() {
        let urgency = Urgency::Remaining(Duration::from_secs(1));
        let mut of_three = config(3);
        of_three.terms.urgency = urgency;
        let log = run(of_three);
        let of = |direction, least: u32| {
            log.sent
                .iter()
                .filter(move |packet| packet.direction == direction && packet.len >= least)
        };
        assert!(
            of(Direction::Forward, 0)
                .filter(|packet| packet.len == 40)
                .all(|syn| (syn.priority, syn.slack) == (0, Slack::ZERO))
        );
        assert!(
            of(Direction::Backward, 0)
                .all(|answer| (answer.priority, answer.slack) == (0, Slack::ZERO))
        );
        let left: Vec<_> = of(Direction::Forward, 41)
            .map(|data| {
                (
                    data.priority,
                    data.slack.as_picos() / 1_000 / MILLISECOND as i64,
                )
            })
            .collect();
        assert_eq!(
            left,
            [(4380, 3), (4380, 3), (2920, 2)],
            "unacknowledged bytes are left"
        );
        let mut of_three = config(3);
        of_three.terms.urgency = Urgency::Constant(Duration::from_secs(1));
        assert!(
            run(of_three)
                .sent
                .iter()
                .all(|packet| packet.slack == Slack::of(Duration::from_secs(1)))
        );
    }

    #[test]
    fn a_flow_without_end_fills_the_link_and_reports_when_stopped() {
        let mut endless = Flow {
            size: None,
            ..config(1)
        };
        endless.terms.stop = Some(seconds(5));
        let log = Bench::over(2, "10mbit", Duration::from_millis(10)).run(
            1,
            100,
            [tcp(endless).unwrap()],
        );
        let (now, _, report) = log.reports[0];
        assert_eq!(
            (now, report.is_complete, report.acknowledged),
            (seconds(5), false, None)
        );
        let goodput = report.bytes as f64 * 8.0 / report.completion_time().as_secs_f64();
        let share = goodput / 1e7 * 1510.0 / 1460.0;
        assert!(
            share > 0.98 && share <= 1.0,
            "all but the first round trips: {share}"
        );
        assert_eq!(log.closed.len(), 1);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |config| tcp(config).unwrap_err().to_string();
        assert_eq!(
            message(Flow {
                size: Some(0),
                ..config(1)
            }),
            "tcp: size 0: legal range 1 to 1099511627776"
        );
        let protocol = protocol::Config {
            initial_window: 0,
            ..protocol::Config::rfc()
        };
        assert_eq!(
            message(Flow {
                protocol,
                ..config(1)
            }),
            "tcp: initial_window 0: legal range 1 to 1000000"
        );
    }
}

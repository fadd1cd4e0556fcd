//! Source `request_response`: requests and responses over TCP, which are a closed load. A client
//! sends a request, a server answers at once, and the client thinks before it sends the next
//! request.
//!
//! Requests and responses are two flows, one for each direction. If the protocol exchanges SYNs,
//! only the requests' flow does. Each response reports over its own flow: from when its request was
//! made until the client has all bytes. If a response is missing when the source stops or the run
//! ends, it is reported as cut off.

use roundelay::{Bytes, Duration, FlowId, Instant};
use roundelay_files::InWords;
use roundelay_tcp as protocol;
use serde::Deserialize;

use crate::agent::{Agent, Arrival, Context, Departure};
use crate::sources::connection::{Alarm, earlier};
use crate::sources::draw::Span;
use crate::sources::exchange::Exchange;
use crate::sources::load::{Amount, Load};
use crate::sources::on_off::check_times;
use crate::sources::protocol::Protocol;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, LARGEST_FLOW, SourceError};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "Requests and responses over TCP, with pauses between.";
pub(super) const EXAMPLES: [&str; 2] = [
    "request = 500\nresponse = '4kb'\nthink = '100ms'",
    "request = '2kb'\nresponse = 100\nthink = '50ms'",
];

/// Parameters of the source; its hosts are client and server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of a request: 1 to 2^40.
    #[serde(with = "InWords::<Bytes>")]
    pub request: Bytes,
    /// Bytes of a response: 1 to 2^40.
    #[serde(with = "InWords::<Bytes>")]
    pub response: Bytes,
    /// Mean of the exponential time from a response to the next request: 1 ns to 1 day.
    #[serde(with = "InWords::<Duration>")]
    pub think: Duration,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts::tcp(&self.tcp, Ending::Told)
    }

    /// Requests follow each other as fast as the shortest answers allow.
    fn load(&self, conditions: &Conditions) -> Load {
        let requests = conditions.span.as_secs_f64()
            / (self.think + conditions.round_trip).as_secs_f64().max(1e-6)
            + 1.0;
        let facts = self.facts();
        let packets = Amount::drawn(
            requests,
            facts.segments(self.request.0) + facts.segments(self.response.0),
        );
        Load {
            packets,
            flows: Amount::exact(2.0),
            transfers: Amount::drawn(requests, 1.0),
            idle_rounds: 0.0,
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        let sizes = [self.request, self.response].map(|Bytes(size)| size);
        Ok(Box::new(RequestResponse::new(
            terms,
            self.tcp.config(),
            sizes,
            Span::Exponential(self.think),
        )?))
    }
}

/// The source.
#[derive(Debug)]
pub struct RequestResponse {
    source_flow: SourceFlow,
    exchange: Exchange,
    alarm: Alarm,
    terms: Terms,
    /// Bytes in a request, and in a response.
    sizes: [u64; 2],
    think: Span,
    asked_at: Instant,
    /// When the client makes its next request. None while a response is outstanding.
    asks_at: Option<Instant>,
}

impl RequestResponse {
    /// Requests and responses have 1 to 2^40 bytes. From a response to the next request it takes 1
    /// ns to 1 day on average.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(
        terms: Terms,
        protocol: protocol::Config,
        [request, response]: [u64; 2],
        think: Span,
    ) -> Result<Self, SourceError> {
        let check = Check("request_response");
        terms.check(check)?;
        check.range("request", request, 1..=LARGEST_FLOW)?;
        check.range("response", response, 1..=LARGEST_FLOW)?;
        check_times(check, "think", think)?;
        Ok(Self {
            source_flow: SourceFlow::new(terms.clone(), u64::MAX, protocol.segment_len),
            exchange: Exchange::new(protocol, &terms)?,
            alarm: Alarm::default(),
            terms,
            sizes: [request, response],
            think,
            asked_at: Instant::ZERO,
            asks_at: None,
        })
    }

    fn open(&mut self, flow: FlowId, context: &mut Context<'_>) {
        self.asks_at = Some(context.now());
        self.ask(context.now());
        self.exchange.open(flow, self.terms.flow, context);
    }

    /// Makes the request that is due, if any.
    fn ask(&mut self, now: Instant) {
        if self.asks_at.is_some_and(|at| at <= now) {
            (self.asks_at, self.asked_at) = (None, now);
            self.exchange.ask(self.sizes[0], self.sizes[1]);
        }
    }

    /// Reports an outstanding response as cut off.
    fn cut_off(&mut self, context: &mut Context<'_>) {
        let effort = self.exchange.effort();
        if self.exchange.is_busy() {
            self.exchange
                .responses
                .report(0, self.asked_at, false, effort, context);
        } else {
            self.exchange.responses.report_rest(effort, context);
        }
    }

    fn settle(&mut self, context: &mut Context<'_>) {
        if self.asks_at.is_none() && !self.exchange.is_busy() {
            let effort = self.exchange.effort();
            self.exchange
                .responses
                .report(self.sizes[1], self.asked_at, true, effort, context);
            self.asks_at = Some(context.now() + self.think.draw(context.random()));
        }
        self.alarm.set(
            earlier(
                earlier(self.exchange.timer(), self.asks_at),
                self.source_flow.stop(),
            ),
            context,
        );
    }
}

impl Agent for RequestResponse {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        if self.source_flow.is_over(context.now())
            && let Some([_, back]) = self.exchange.flows
        {
            self.cut_off(context);
            context.close(back);
        }
        match self.source_flow.turn(context) {
            Turn::Pass => return,
            Turn::Start(flow) => self.open(flow, context),
            Turn::GoOn(_) => {
                self.ask(context.now());
                self.exchange.wake(context);
            }
        }
        self.settle(context);
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        self.exchange.arrive(arrival, context);
        self.settle(context);
    }

    fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        self.exchange.depart(departure, context);
        self.settle(context);
    }

    fn forget(&mut self) {
        self.exchange.effort();
    }

    fn end(&mut self, context: &mut Context<'_>) {
        self.cut_off(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, Log, seconds};

    /// A client that stops at second `stop`.
    fn client(stop: u64, response: u64, think: Span) -> Result<RequestResponse, SourceError> {
        let terms = Terms {
            stop: Some(seconds(stop)),
            ..Bench::default().terms()
        };
        RequestResponse::new(
            terms,
            protocol::Config::ns2_newreno_sack1(),
            [100, response],
            think,
        )
    }

    fn run(stop: u64, think: Span, seed: u64) -> Log {
        Bench::over(2, "100gbit", Duration::from_millis(10)).run(
            seed,
            100,
            [client(stop, 1000, think).unwrap()],
        )
    }

    /// 10 ms each way: a round trip for the SYN, then one for each request and its response,
    /// because each of these fits into one packet.
    #[test]
    fn a_request_a_response_and_time_to_think() {
        let log = run(10, Span::Fixed(Duration::from_millis(958)), 1);
        assert_eq!(
            log.reports.len(),
            11,
            "at 0, 0.998, 1.976 .. 9.8 s; the next one would be after the stop"
        );
        for ((_, flow, report), number) in log.reports.iter().zip(0..) {
            let round_trips = if number == 0 { 2 } else { 1 };
            assert_eq!(
                report.completion_time().as_picos() / 100_000_000,
                round_trips * 200,
                "20 ms and some nanoseconds"
            );
            assert_eq!((flow.0, report.bytes, report.is_complete), (1, 1000, true));
        }
        let gap = log.reports[2].2.start.since(log.reports[1].2.delivered);
        assert_eq!(gap, Duration::from_millis(958));
        assert_eq!(log.closed.len(), 2);
    }

    #[test]
    fn thinking_is_drawn() {
        let thinking = Span::Exponential(Duration::from_millis(10));
        let log = run(60, thinking, 1);
        let count = log.reports.len() as f64;
        let expected = 60.0 / 0.030;
        assert!(
            (count - expected).abs() < 5.0 * expected.sqrt() / 3.0,
            "{count}: a third of the time is drawn"
        );
        assert_eq!(
            log.reports,
            run(60, thinking, 1).reports,
            "same seed, same reports"
        );
        assert_ne!(log.reports, run(60, thinking, 2).reports);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |response, think| client(10, response, think).unwrap_err().to_string();
        let second = Duration::from_secs(1);
        assert_eq!(
            message(0, Span::Fixed(second)),
            "request_response: response 0: legal range 1 to 1099511627776"
        );
        assert_eq!(
            message(1, Span::Fixed(Duration::ZERO)),
            "request_response: think 0s: legal range 1ns to 86400s"
        );
    }
}

//! Source `request_response`: requests and responses over TCP, a closed load. A client sends a
//! request, a server answers at once, the client thinks and sends the next request.
//!
//! Requests and responses are two flows, one for each direction. If the protocol exchanges SYNs,
//! only the requests' flow does. Each response reports over its own flow: from the instant of its
//! request until the client has all bytes. A response missing at the stop or at the end of the run
//! is reported as cut off.

use roundelay::{FlowId, Instant};
use roundelay_tcp as protocol;

use crate::agent::{Agent, Arrival, Context, FlowSpec};
use crate::sources::burst::LARGEST_FLOW;
use crate::sources::connection::{Alarm, Connection, Effort, earlier};
use crate::sources::draw::Span;
use crate::sources::on_off::check_times;
use crate::sources::outlet::{Outlet, Terms, Turn};
use crate::sources::{Check, SourceError};

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Hosts (client to server), times and urgency.
    pub terms: Terms,
    /// TCP parameters of both ends.
    pub protocol: protocol::Config,
    /// Bytes of a request, 1 to 2^40.
    pub request_bytes: u64,
    /// Bytes of a response, 1 to 2^40.
    pub response_bytes: u64,
    /// Time from a response to the next request: a mean of 1 ns to 1 day.
    pub think: Span,
}

/// The source.
#[derive(Debug)]
pub struct RequestResponse {
    outlet: Outlet,
    requests: Connection,
    responses: Connection,
    response_flow: Option<FlowId>,
    alarm: Alarm,
    config: Config,
    asked: u64,
    answered: u64,
    asked_at: Instant,
    /// Time of the client's next request. None while a response is outstanding.
    asks_at: Option<Instant>,
}

impl RequestResponse {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        let check = Check("request_response");
        config.terms.check(check)?;
        check.range("request_bytes", config.request_bytes, 1..=LARGEST_FLOW)?;
        check.range("response_bytes", config.response_bytes, 1..=LARGEST_FLOW)?;
        check_times(check, ["mean_think", "shape_think"], config.think)?;
        let answering = protocol::Config { syn_exchange: false, ..config.protocol };
        Ok(Self {
            outlet: Outlet::new(config.terms.clone(), u64::MAX, config.protocol.segment_len),
            requests: Connection::new(config.protocol, 0, &config.terms)?,
            responses: Connection::new(answering, 0, &config.terms)?,
            response_flow: None,
            alarm: Alarm::default(),
            config,
            asked: 0,
            answered: 0,
            asked_at: Instant::ZERO,
            asks_at: None,
        })
    }

    fn open(&mut self, flow: FlowId, context: &mut Context<'_>) {
        let FlowSpec { from, to, config } = self.config.terms.flow;
        let back = context.open(FlowSpec { from: to, to: from, config });
        self.response_flow = Some(back);
        self.asks_at = Some(context.now());
        self.ask(context.now());
        self.requests.open(flow, context);
        self.responses.open(back, context);
    }

    /// Sends the request that is due, if any.
    fn ask(&mut self, now: Instant) {
        if self.asks_at.is_some_and(|at| at <= now) {
            (self.asks_at, self.asked_at) = (None, now);
            self.asked += 1;
            self.requests.supply(self.config.request_bytes);
        }
    }

    /// Effort of both flows.
    fn effort(&mut self) -> Effort {
        self.requests.effort() + self.responses.effort()
    }

    /// Reports an outstanding response as cut off.
    fn cut_off(&mut self, context: &mut Context<'_>) {
        let effort = self.effort();
        if self.asked > self.answered {
            self.responses.report(0, self.asked_at, false, effort, context);
        } else {
            self.responses.report_rest(effort, context);
        }
    }

    fn settle(&mut self, context: &mut Context<'_>) {
        if self.asks_at.is_none() && self.responses.delivered() >= (self.answered + 1).saturating_mul(self.config.response_bytes) {
            let effort = self.effort();
            self.responses.report(self.config.response_bytes, self.asked_at, true, effort, context);
            self.answered += 1;
            self.asks_at = Some(context.now() + self.config.think.draw(context.random()));
        }
        let timers = earlier(self.requests.timer(), self.responses.timer());
        self.alarm.set(earlier(earlier(timers, self.asks_at), self.outlet.stop()), context);
    }
}

impl Agent for RequestResponse {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        if self.outlet.is_over(context.now())
            && let Some(flow) = self.response_flow
        {
            self.cut_off(context);
            context.close(flow);
        }
        match self.outlet.turn(context) {
            Turn::Pass => return,
            Turn::Start(flow) => self.open(flow, context),
            Turn::GoOn(_) => {
                self.ask(context.now());
                self.requests.wake(context);
                self.responses.wake(context);
            }
        }
        self.settle(context);
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        if Some(arrival.flow) == self.response_flow {
            self.responses.arrive(arrival, context);
        } else {
            let before = self.requests.delivered();
            self.requests.arrive(arrival, context);
            let whole = self.asked.saturating_mul(self.config.request_bytes);
            if before < whole && self.requests.delivered() == whole {
                self.responses.supply(self.config.response_bytes);
                self.responses.wake(context);
            }
        }
        self.settle(context);
    }

    fn forget(&mut self) {
        self.effort();
    }

    fn end(&mut self, context: &mut Context<'_>) {
        self.cut_off(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, Log, seconds};
    use roundelay::Duration;

    fn config() -> Config {
        let terms = Terms { stop: Some(seconds(10)), ..Bench::default().terms() };
        let protocol = protocol::Config::ns2_newreno_sack1();
        Config { terms, protocol, request_bytes: 100, response_bytes: 1000, think: Span::Fixed(Duration::from_millis(958)) }
    }

    fn run(config: Config, seed: u64) -> Log {
        Bench::over(2, "100gbit", Duration::from_millis(10)).run(seed, 100, [RequestResponse::new(config).unwrap()])
    }

    /// 10 ms each way: a round trip for the SYN, then one for each request and its response, which
    /// fit into a packet each.
    #[test]
    fn a_request_a_response_and_time_to_think() {
        let log = run(config(), 1);
        assert_eq!(log.reports.len(), 11, "at 0, 0.998, 1.976 .. 9.8 s; the next one would be after the stop");
        for ((_, flow, report), place) in log.reports.iter().zip(0..) {
            let round_trips = if place == 0 { 2 } else { 1 };
            assert_eq!(report.completion_time().as_picos() / 100_000_000, round_trips * 200, "20 ms and some nanoseconds");
            assert_eq!((flow.0, report.bytes, report.is_complete), (1, 1000, true));
        }
        let gap = log.reports[2].2.start.since(log.reports[1].2.delivered);
        assert_eq!(gap, Duration::from_millis(958));
        assert_eq!(log.closed.len(), 2);
    }

    #[test]
    fn thinking_is_drawn() {
        let mut thinking = Config { think: Span::Exponential(Duration::from_millis(10)), ..config() };
        thinking.terms.stop = Some(seconds(60));
        let log = run(thinking.clone(), 1);
        let (count, expected) = (log.reports.len() as f64, 60.0 / 0.030);
        assert!((count - expected).abs() < 5.0 * expected.sqrt() / 3.0, "{count}: a third of the time is drawn");
        assert_eq!(log.reports, run(thinking.clone(), 1).reports, "same seed, same reports");
        assert_ne!(log.reports, run(thinking, 2).reports);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |config| RequestResponse::new(config).unwrap_err().to_string();
        let none = Config { response_bytes: 0, ..config() };
        assert_eq!(message(none), "request_response: response_bytes 0: legal range 1 to 1099511627776");
        let none = Config { think: Span::Fixed(Duration::ZERO), ..config() };
        assert_eq!(message(none), "request_response: mean_think 0s: legal range 1ns to 86400s");
    }
}

//! Source `web_page`: page loads over HTTP/1.1. A client fetches a document, then its objects over
//! parallel persistent connections with one request at a time on each (RFC 9112, sections 9.3 and
//! 9.4). Then it thinks, and loads the next page.
//!
//! Connections open when they are first needed, and stay open. Each is two flows, requests and
//! responses, and only the requests' flow exchanges SYNs. A page reports over the flow that carries
//! the response with its last object. The page load time is from when the document was asked for
//! until the client has all bytes. If a page is missing when the source stops or the run ends, it
//! is reported as cut off.

use roundelay::{Bytes, Duration, Instant};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use crate::agent::{Agent, Arrival, Context, Departure};
use crate::sources::connection::{Alarm, Effort, earlier};
use crate::sources::draw::Span;
use crate::sources::exchange::Exchange;
use crate::sources::load::{Amount, Load};
use crate::sources::on_off::check_times;
use crate::sources::protocol::Protocol;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, LARGEST_FLOW, SourceError};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "Web pages over TCP: a document, then its objects over parallel \
    connections, with pauses between.";
pub(super) const EXAMPLES: [&str; 2] = [
    "document = '8kb'\nobject = '4kb'\nobjects = 12\nthink = '200ms'",
    "document = '2kb'\nobject = '6kb'\nobjects = 3\nconnections = 2\nrequest = 700\n\
     think = '100ms'",
];

/// The most objects that a page may have.
const MOST_OBJECTS: u64 = 10_000;
/// The most connections that a client may have.
const MOST_CONNECTIONS: u64 = 256;

/// Parameters of the source; its hosts are client and server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of the document: 1 to 2^40.
    #[serde(with = "InWords::<Bytes>")]
    pub document: Bytes,
    /// Bytes of an object: 1 to 2^40.
    #[serde(with = "InWords::<Bytes>")]
    pub object: Bytes,
    /// Objects of a page: 0 to 10,000.
    #[serde(deserialize_with = "whole::<_, _, 0, MOST_OBJECTS>")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 10_000)))]
    pub objects: u32,
    /// Parallel connections: 1 to 256. Browsers have 6 to a host.
    #[serde(
        default = "connections",
        deserialize_with = "whole::<_, _, 1, MOST_CONNECTIONS>"
    )]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 256)))]
    pub connections: u32,
    /// Bytes of a request: 1 to 2^40.
    #[serde(default = "request", with = "InWords::<Bytes>")]
    pub request: Bytes,
    /// Mean of the exponential time from a page to the next request: 1 ns to 1 day.
    #[serde(with = "InWords::<Duration>")]
    pub think: Duration,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

const fn connections() -> u32 {
    6
}

const fn request() -> Bytes {
    Bytes(400)
}

impl Config {
    /// Bytes in a page.
    fn page(&self) -> u64 {
        self.document
            .0
            .saturating_add(self.object.0.saturating_mul(self.objects.into()))
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts::tcp(&self.tcp, Ending::Told)
    }

    /// A round trip for the document, and one for each round of objects.
    fn load(&self, conditions: &Conditions) -> Load {
        let rounds = 1.0 + f64::from(self.objects.div_ceil(self.connections.max(1)));
        let shortest = self.think.as_secs_f64() + rounds * conditions.round_trip.as_secs_f64();
        let pages = conditions.span.as_secs_f64() / shortest.max(1e-6) + 1.0;
        let facts = self.facts();
        let objects = f64::from(self.objects);
        let connections = f64::from(self.connections);
        let requests = facts.segments(self.request.0) * (1.0 + objects);
        let page =
            requests + facts.segments(self.document.0) + facts.segments(self.object.0) * objects;
        let packets = Amount::random(pages * page + connections, pages * page * page);
        Load {
            packets,
            flows: Amount::exact(2.0 * connections),
            transfers: Amount::drawn(pages, 1.0),
            idle_rounds: 0.0,
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(WebPage::new(
            terms,
            self,
            Span::Exponential(self.think),
        )?))
    }
}

/// What the client is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Thinking until this time.
    Think(Instant),
    /// The document is outstanding.
    Document,
    /// This many objects are not yet asked for.
    Objects(u32),
}

/// The source.
#[derive(Debug)]
pub struct WebPage {
    source_flow: SourceFlow,
    terms: Terms,
    config: Config,
    think: Span,
    lanes: Vec<Exchange>,
    stage: Stage,
    /// When the page was begun.
    begun_at: Instant,
    alarm: Alarm,
}

impl WebPage {
    /// `think` is how long it takes from a page to the next request. It replaces what `config`
    /// says.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(terms: Terms, config: &Config, think: Span) -> Result<Self, SourceError> {
        let check = Check("web_page");
        let protocol = config.tcp.config();
        terms.check(check)?;
        check.range("document", config.document.0, 1..=LARGEST_FLOW)?;
        check.range("object", config.object.0, 1..=LARGEST_FLOW)?;
        check.range("objects", config.objects.into(), 0..=MOST_OBJECTS)?;
        check.range(
            "connections",
            config.connections.into(),
            1..=MOST_CONNECTIONS,
        )?;
        check.range("request", config.request.0, 1..=LARGEST_FLOW)?;
        check_times(check, "think", think)?;
        let lanes: Result<Vec<_>, _> = (0..config.connections)
            .map(|_| Exchange::new(protocol, &terms))
            .collect();
        Ok(Self {
            source_flow: SourceFlow::new(terms.clone(), u64::MAX, protocol.segment_len),
            terms,
            config: config.clone(),
            think,
            lanes: lanes?,
            stage: Stage::Think(Instant::ZERO),
            begun_at: Instant::ZERO,
            alarm: Alarm::default(),
        })
    }

    /// Asks for the next document if the time has come.
    fn begin(&mut self, now: Instant) {
        if matches!(self.stage, Stage::Think(until) if until <= now) {
            (self.stage, self.begun_at) = (Stage::Document, now);
            self.lanes[0].ask(self.config.request.0, self.config.document.0);
        }
    }

    /// Asks for objects on all idle connections.
    fn ask(&mut self, context: &mut Context<'_>) {
        if self.stage == Stage::Document && !self.lanes[0].is_busy() {
            self.stage = Stage::Objects(self.config.objects);
        }
        let Stage::Objects(left) = &mut self.stage else {
            return;
        };
        for lane in self.lanes.iter_mut().filter(|lane| !lane.is_busy()) {
            if *left == 0 {
                return;
            }
            *left -= 1;
            lane.ask(self.config.request.0, self.config.object.0);
            if lane.flows.is_some() {
                lane.requests.wake(context);
            } else {
                let flow = context.open(self.terms.flow);
                lane.open(flow, self.terms.flow, context);
            }
        }
    }

    /// What all connections had to repair.
    fn effort(&mut self) -> Effort {
        self.lanes
            .iter_mut()
            .fold(Effort::default(), |sum, lane| sum + lane.effort())
    }

    /// Reports an outstanding page as cut off.
    fn cut_off(&mut self, context: &mut Context<'_>) {
        let effort = self.effort();
        let first = &mut self.lanes[0];
        if first.flows.is_none() {
            return;
        }
        match self.stage {
            Stage::Think(_) => first.responses.report_rest(effort, context),
            _ => first
                .responses
                .report(0, self.begun_at, false, effort, context),
        }
    }

    /// Goes on with the page. `last` is the connection on which the last packet arrived.
    fn settle(&mut self, last: usize, context: &mut Context<'_>) {
        self.ask(context);
        if self.stage == Stage::Objects(0) && !self.lanes.iter().any(Exchange::is_busy) {
            let effort = self.effort();
            self.lanes[last].responses.report(
                self.config.page(),
                self.begun_at,
                true,
                effort,
                context,
            );
            self.stage = Stage::Think(context.now() + self.think.draw(context.random()));
        }
        let mut alarm = self.source_flow.stop();
        if let Stage::Think(until) = self.stage {
            alarm = earlier(alarm, Some(until));
        }
        for lane in &self.lanes {
            alarm = earlier(alarm, lane.timer());
        }
        self.alarm.set(alarm, context);
    }
}

impl Agent for WebPage {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        let now = context.now();
        if self.source_flow.is_over(now) {
            self.cut_off(context);
            // `source_flow` closes the first flow.
            let flows = self.lanes.iter_mut().filter_map(|lane| lane.flows.take());
            for flow in flows.flatten().skip(1) {
                context.close(flow);
            }
        }
        match self.source_flow.turn(context) {
            Turn::Pass => return,
            Turn::Start(flow) => {
                self.begin(now);
                self.lanes[0].open(flow, self.terms.flow, context);
            }
            Turn::GoOn(_) => {
                self.begin(now);
                for lane in &mut self.lanes {
                    lane.wake(context);
                }
            }
        }
        self.settle(0, context);
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        for number in 0..self.lanes.len() {
            let Some(flows) = self.lanes[number].flows else {
                continue;
            };
            if flows.contains(&arrival.flow) {
                self.lanes[number].arrive(arrival, context);
                self.settle(number, context);
                return;
            }
        }
    }

    fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        for number in 0..self.lanes.len() {
            let flows = self.lanes[number].flows;
            if flows.is_some_and(|flows| flows.contains(&departure.flow)) {
                self.lanes[number].depart(departure, context);
                return self.settle(number, context);
            }
        }
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
    use crate::sources::Preset;
    use crate::sources::bench::{Bench, Log, seconds};

    /// Pages with a document and four objects, a packet each, over two connections.
    fn config() -> Config {
        let tcp = Protocol {
            preset: Preset::Ns2Newreno,
            ..Protocol::default()
        };
        let think = Duration::from_secs(1);
        let request = Bytes(100);
        Config {
            document: Bytes(1000),
            object: Bytes(500),
            objects: 4,
            connections: 2,
            request,
            think,
            tcp,
        }
    }

    fn terms() -> Terms {
        Terms {
            stop: Some(seconds(16)),
            ..Bench::default().terms()
        }
    }

    /// Think times are the mean and not drawn.
    fn run(config: &Config, rate: &str) -> Log {
        let source = WebPage::new(terms(), config, Span::Fixed(config.think)).unwrap();
        Bench::over(2, rate, Duration::from_millis(10)).run(1, 100, [source])
    }

    /// 10 ms each way. The first page takes a SYN, the document, and the second connection's SYN
    /// beside the first object. Then three objects go in parallel: the first connection fetches
    /// three in the time that the second needs for its SYN and one object. Later pages take the
    /// document, and two rounds of two objects.
    #[test]
    fn a_page_is_a_document_and_rounds_of_objects() {
        let log = run(&config(), "100gbit");
        let (last, complete) = log.reports.split_last().unwrap();
        let round_trips: Vec<_> = complete
            .iter()
            .map(|(_, _, report)| report.completion_time().as_picos() / 20_000_000_000)
            .collect();
        assert_eq!(round_trips, [5, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
        for (now, _, report) in complete {
            assert_eq!(
                (report.bytes, report.is_complete, report.delivered),
                (3000, true, *now)
            );
        }
        assert_eq!(
            (last.0, last.2.is_complete, last.2.bytes),
            (seconds(16), false, 0),
            "cut off by the stop"
        );
        let gap = log.reports[2].2.start.since(log.reports[1].2.delivered);
        assert_eq!(gap, Duration::from_secs(1));
        assert_eq!(
            (log.opened.len(), log.closed.len()),
            (4, 4),
            "two connections of two flows, all closed"
        );
    }

    /// Six connections load twelve objects in two rounds, but one connection needs twelve.
    #[test]
    fn parallel_connections_shorten_a_page() {
        let later = |connections| {
            let log = run(
                &Config {
                    objects: 12,
                    connections,
                    ..config()
                },
                "100gbit",
            );
            log.reports[1].2.completion_time().as_picos() / 20_000_000_000
        };
        assert_eq!([6, 3, 1].map(later), [3, 5, 13]);
    }

    #[test]
    fn a_page_without_objects_is_its_document() {
        let log = run(
            &Config {
                objects: 0,
                ..config()
            },
            "100gbit",
        );
        assert_eq!((log.reports[1].2.bytes, log.opened.len()), (1000, 2));
        assert_eq!(
            log.reports[1].2.completion_time().as_picos() / 20_000_000_000,
            1
        );
    }

    /// A page of 3 MB takes 2.4 s at 10 Mbit/s, and its headers take more.
    #[test]
    fn a_slow_link_limits_the_page() {
        let config = Config {
            document: Bytes(1_000_000),
            object: Bytes(500_000),
            ..config()
        };
        let log = run(&config, "10mbit");
        let load = log.reports[0].2.completion_time().as_secs_f64();
        assert!((2.4..3.0).contains(&load), "{load}");
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |config: &Config| {
            WebPage::new(terms(), config, Span::Exponential(config.think))
                .unwrap_err()
                .to_string()
        };
        let legal = "legal range 1 to 1099511627776";
        assert_eq!(
            message(&Config {
                document: Bytes(0),
                ..config()
            }),
            format!("web_page: document 0: {legal}")
        );
        assert_eq!(
            message(&Config {
                request: Bytes(0),
                ..config()
            }),
            format!("web_page: request 0: {legal}")
        );
        assert_eq!(
            message(&Config {
                objects: 10_001,
                ..config()
            }),
            "web_page: objects 10001: legal range 0 to 10000"
        );
        assert_eq!(
            message(&Config {
                connections: 0,
                ..config()
            }),
            "web_page: connections 0: legal range 1 to 256"
        );
        assert_eq!(
            message(&Config {
                think: Duration::ZERO,
                ..config()
            }),
            "web_page: think 0s: legal range 1ns to 86400s"
        );
    }
}

//! A connection on which requests go one way and responses the other.

use roundelay::{FlowId, Instant};
use roundelay_tcp::Config;

use crate::agent::{Arrival, Context, Departure};
use crate::flows::FlowSpec;
use crate::sources::SourceError;
use crate::sources::connection::{Connection, Effort, earlier};
use crate::sources::source_flow::Terms;

/// One connection, with its requests and responses.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) requests: Connection,
    pub(super) responses: Connection,
    /// The flows for requests and for responses, once they are open.
    pub(super) flows: Option<[FlowId; 2]>,
    /// Bytes in all requests and in all responses so far, and in the last response.
    asked: u64,
    expected: u64,
    wanted: u64,
}

impl Exchange {
    pub(super) fn new(protocol: Config, terms: &Terms) -> Result<Self, SourceError> {
        let answering = Config {
            syn_exchange: false,
            ..protocol
        };
        let requests = Connection::new(protocol, 0, terms)?;
        let responses = Connection::new(answering, 0, terms)?;
        Ok(Self {
            requests,
            responses,
            flows: None,
            asked: 0,
            expected: 0,
            wanted: 0,
        })
    }

    /// Whether a response is outstanding.
    pub(super) fn is_busy(&self) -> bool {
        self.responses.delivered() < self.expected
    }

    /// Opens the connection on the client's flow.
    pub(super) fn open(&mut self, flow: FlowId, spec: FlowSpec, context: &mut Context<'_>) {
        let back = context.open_reply(
            FlowSpec {
                from: spec.to,
                to: spec.from,
                config: spec.config,
            },
            flow,
        );
        self.flows = Some([flow, back]);
        self.requests.open(flow, context);
        self.responses.open(back, context);
    }

    /// Notes a request, but does not send it.
    pub(super) fn ask(&mut self, request: u64, response: u64) {
        self.requests.supply(request);
        self.asked = self.asked.saturating_add(request);
        self.expected = self.expected.saturating_add(response);
        self.wanted = response;
    }

    /// Sends what timers and new requests allow.
    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        if self.flows.is_some() {
            self.requests.wake(context);
            self.responses.wake(context);
        }
    }

    /// Takes a packet. The server answers as soon as it has the whole request.
    pub(super) fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        if self.flows.is_some_and(|[_, back]| arrival.flow == back) {
            return self.responses.arrive(arrival, context);
        }
        let before = self.requests.delivered();
        self.requests.arrive(arrival, context);
        self.responses
            .learn_handshake(&self.requests, context.now());
        if before < self.asked && self.requests.delivered() == self.asked {
            self.responses.supply(self.wanted);
            self.responses.wake(context);
        }
    }

    /// Data has left the queue of its host.
    pub(super) fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        if self.flows.is_some_and(|[_, back]| departure.flow == back) {
            self.responses.depart(departure, context);
        } else {
            self.requests.depart(departure, context);
        }
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        self.flows
            .and_then(|_| earlier(self.requests.timer(), self.responses.timer()))
    }

    /// What both flows had to repair.
    pub(super) fn effort(&mut self) -> Effort {
        self.requests.effort() + self.responses.effort()
    }
}

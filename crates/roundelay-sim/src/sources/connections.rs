//! Source `connections`: a list of TCP connections, each with what its two applications say to each
//! other: who writes how many bytes, and how long after the event it waits for.
//!
//! This is Tmix's idea (Weigle et al., "Tmix: a tool for generating realistic TCP application
//! workloads in ns-2", CCR 2006): the applications are fixed, but the senders react. A message
//! waits until the other end's preceding message has arrived whole, or counts from the same end's
//! preceding message. In a concurrent connection each end only knows its own messages.
//! `roundelay applications` makes such lists from captures.
//!
//! Each connection has a round trip of its own, because the server holds what arrives for that
//! long. So one pair of hosts serves connections to any number of places. Requests and responses
//! are two flows, one for each direction, and only the client's flow exchanges SYNs. Each message
//! reports when the other end has all its bytes. A request and the response to it are one transfer.
//! A connection without end has no transfers.
//!
//! A server that speaks first does so when the handshake is over, and knows its round trip then.
//!
//! A connection may wait for a message on another one, as a page's pictures wait for its text. So a
//! user who waits longer for the one begins the other later. If a message, or a whole connection,
//! still waits when the run ends, it was never written, so it counts neither as complete nor as
//! incomplete.

use std::collections::VecDeque;
use std::sync::Arc;

use roundelay::{Duration, FlowId, Instant};
use roundelay_files::{InWords, Maybe, list};
use roundelay_tcp as protocol;
use serde::Deserialize;

use crate::agent::{Agent, Arrival, Context, Departure};
use crate::flows::FlowSpec;
use crate::ids::Direction;
use crate::packet_state::Content;
use crate::sources::connection::{Alarm, Connection, earlier};
use crate::sources::load::{Amount, Load};
use crate::sources::protocol::Protocol;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::Terms;
use crate::sources::{Check, LARGEST_FLOW, SourceError, draw};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str =
    "Listed TCP connections: what their two applications write, in turn or at once.";
pub(super) const EXAMPLES: [&str; 2] = [
    "connections = [{ round_trip = '20ms', messages = ['> 300b', '< 9000b', '> 300b after 1s', \
     '< 4kb after 5ms'] }, { after = { connection = 0, message = 1 }, start = '30ms', messages = \
     ['> 1kb'] }]",
    "connections = [{ messages = ['> 300b', '< endless'], until = '25s' }, { concurrent = true, \
     messages = ['< 4kb', '< 4kb after 100ms', '> 2kb after 50ms'] }]",
];

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that opens the connection.
    Client,
    /// The other end.
    Server,
}

/// What one end writes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The end that writes.
    pub by: End,
    /// Bytes, 1 to 2^40. None: without end.
    pub bytes: Option<u64>,
    /// The time after the message before.
    pub after: Duration,
    /// The period of the end's clock: it writes no earlier than this after the time at which the
    /// clock had its own message before. One that had to wait longer for the other end catches up,
    /// as a player whose buffer has room.
    pub every: Option<Duration>,
}

/// A message of another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a message of another connection, as in { connection = 0, message = 1 }"
)]
pub struct Awaited {
    /// The connection, by its place in the list: 0 is the first.
    pub connection: u32,
    /// The message, by its place among the connection's: 0 is the first. Left out: the last.
    #[serde(default)]
    pub message: Option<u32>,
}

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Talk {
    /// The message that must have arrived whole before the client opens the connection. If that
    /// connection is closed before, this one waits no longer.
    #[serde(default)]
    pub after: Option<Awaited>,
    /// When the client opens the connection, counted from the source's start, or from the arrival of
    /// the message in `after`.
    #[serde(default = "zero", with = "InWords::<Duration>")]
    pub start: Duration,
    /// Round trip beyond that of the network: 0 to 60 s. The server holds for as long what arrives.
    #[serde(default = "zero", with = "InWords::<Duration>")]
    pub round_trip: Duration,
    /// When the client closes the connection, whatever is outstanding, counted from where `start`
    /// counts. Left out: it ends with its last message.
    #[serde(default, with = "Maybe::<Duration>")]
    pub until: Option<Duration>,
    /// Whether the two ends write without waiting for each other.
    #[serde(default)]
    pub concurrent: bool,
    /// What the ends write: "> 300b" by the client, "< 14kb after 2ms" by the server, "> 300b every
    /// 4s" by a clock of this period, "< endless" without end.
    #[serde(deserialize_with = "list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<InWords<Message>>"))]
    pub messages: Vec<Message>,
}

impl Talk {
    /// Whether an end writes without end. If so, no message on the connection is a transfer.
    fn is_endless(&self) -> bool {
        self.messages.iter().any(|message| message.bytes.is_none())
    }
}

const fn zero() -> Duration {
    Duration::ZERO
}

/// The longest round trip that a connection may have.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(60);

/// Parameters of the source; its hosts are clients and servers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The connections, in any order.
    pub connections: Vec<Talk>,
    /// TCP parameters of both ends.
    #[serde(default)]
    pub tcp: Protocol,
}

impl Config {
    /// Whether any connection has an end.
    fn has_ends(&self) -> bool {
        self.connections.iter().any(|talk| !talk.is_endless())
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        let ending = if self.has_ends() {
            Ending::Told
        } else {
            Ending::Never
        };
        Facts::tcp(&self.tcp, ending)
    }

    fn load(&self, _: &Conditions) -> Load {
        let mut packets = 0.0;
        let mut messages = 0;
        for talk in &self.connections {
            packets += 1.0;
            for message in &talk.messages {
                let of_message = message.bytes.map(|bytes| self.facts().segments(bytes));
                packets += of_message.unwrap_or(f64::INFINITY);
                messages += u64::from(!talk.is_endless());
            }
        }
        Load {
            packets: Amount::exact(packets),
            flows: Amount::exact(2.0 * self.connections.len() as f64),
            transfers: Amount::exact(messages as f64),
            idle_rounds: 0.0,
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        let talks = self.connections.clone();
        Ok(Box::new(Connections::new(terms, self.tcp.config(), talks)?))
    }
}

/// The list, which all connections know.
#[derive(Debug, Clone)]
struct Plan {
    terms: Terms,
    protocol: protocol::Config,
    talks: Vec<Talk>,
    /// In order, so that a connection finds its followers by search.
    waits: Vec<Wait>,
}

/// A connection that waits for another one's message. Their order is that of what they wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    /// The connection that is awaited, and which of its messages.
    awaited: u32,
    message: u32,
    /// The connection that waits.
    follower: u32,
}

impl Plan {
    /// Begins a connection, if it begins before the source's stop. Its `start` counts from `since`.
    fn begin(plan: &Arc<Self>, number: u32, since: Instant, context: &mut Context<'_>) {
        let talk = &plan.talks[number as usize];
        let at = since + talk.start;
        if plan.terms.stop.is_some_and(|stop| at >= stop) {
            return;
        }
        let until = talk.until.map(|until| since + until);
        let until = earlier(until, plan.terms.stop);
        // `Connections::new` has checked the parameters.
        if let Ok(agent) = Speaker::new(plan, number, until) {
            context.spawn(Box::new(agent), at);
        }
    }

    /// Who waits for a connection, and for which of its messages.
    fn followers(&self, number: u32) -> &[Wait] {
        let first = self.waits.partition_point(|wait| wait.awaited < number);
        let behind = self.waits.partition_point(|wait| wait.awaited <= number);
        &self.waits[first..behind]
    }
}

/// The source: begins each connection at its time, as an agent of its own.
#[derive(Debug)]
pub struct Connections {
    plan: Arc<Plan>,
    /// Connections that begin by themselves, by their index in the list. The first to begin comes
    /// last.
    not_begun: Vec<u32>,
    /// Whether the starts' jitter was drawn.
    is_delayed: bool,
}

impl Connections {
    /// Connections whose messages have 1 to 2^40 bytes.
    ///
    /// # Errors
    /// A parameter is out of range. The error has the connection's index in the list.
    pub fn new(
        terms: Terms,
        protocol: protocol::Config,
        talks: Vec<Talk>,
    ) -> Result<Self, SourceError> {
        terms.check(Check("connections"))?;
        protocol.check()?;
        for (number, talk) in talks.iter().enumerate() {
            check_talk(number, talk)?;
        }
        let waits = waits(&talks)?;
        let mut not_begun: Vec<u32> = (0..talks.len() as u32).collect();
        not_begun.sort_by_key(|number| std::cmp::Reverse(talks[*number as usize].start));
        let plan = Plan {
            terms,
            protocol,
            talks,
            waits,
        };
        Ok(Self {
            plan: Arc::new(plan),
            not_begun,
            is_delayed: false,
        })
    }

    /// Draws for each connection how much later than listed it starts. We draw one by one, because
    /// otherwise all would keep their rhythm. Connections that wait for others are begun by those.
    fn delay(&mut self, context: &mut Context<'_>) {
        self.is_delayed = true;
        let plan = Arc::make_mut(&mut self.plan);
        let jitter = plan.terms.start_jitter;
        if jitter > Duration::ZERO {
            for number in self.not_begun.iter().rev() {
                let talk = &mut plan.talks[*number as usize];
                let late = draw::up_to(context.random(), jitter);
                talk.start = talk.start + late;
                talk.until = talk.until.map(|until| until + late);
            }
        }
        self.not_begun
            .retain(|number| plan.talks[*number as usize].after.is_none());
        self.not_begun
            .sort_by_key(|number| std::cmp::Reverse(plan.talks[*number as usize].start));
    }
}

/// Which connections wait, in the order of what they wait for.
///
/// # Errors
/// A connection waits for one that does not exist, for a message that does not exist or has no end,
/// or for itself, directly or through others.
fn waits(talks: &[Talk]) -> Result<Vec<Wait>, SourceError> {
    let mut waits = Vec::new();
    for (number, talk) in (0_u32..).zip(talks) {
        let Some(after) = talk.after else {
            continue;
        };
        let error = |value: String, range: String| {
            let value = format!("{value} of connection {number}");
            let error = SourceError::new("connections", "after", value, &range);
            Err(error.of_entry("connections", number as usize))
        };
        let Some(awaited) = talks.get(after.connection as usize) else {
            let range = format!("connections 0 to {}", talks.len() - 1);
            return error(format!("connection {}", after.connection), range);
        };
        // `check_talk` has found a message in each.
        let last = awaited.messages.len() as u32 - 1;
        let message = after.message.unwrap_or(last);
        if message > last {
            let range = format!(
                "0 to {last}, the messages of connection {}",
                after.connection
            );
            return error(format!("message {message}"), range);
        }
        if awaited.messages[message as usize].bytes.is_none() {
            let range = "a message with an end".to_owned();
            return error("an endless message".to_owned(), range);
        }
        waits.push(Wait {
            awaited: after.connection,
            message,
            follower: number,
        });
    }
    if let Some(number) = in_a_circle(talks) {
        let value = format!("connection {number} behind itself");
        let range = "a connection that does not wait for this one";
        let error = SourceError::new("connections", "after", value, range);
        return Err(error.of_entry("connections", number as usize));
    }
    waits.sort_unstable();
    Ok(waits)
}

/// A connection that waits for itself, directly or through others.
fn in_a_circle(talks: &[Talk]) -> Option<u32> {
    // On which walk each connection was met. 0 before all walks.
    let mut met = vec![0_u32; talks.len()];
    for walk in 1..=talks.len() as u32 {
        let mut number = walk - 1;
        while met[number as usize] == 0 {
            met[number as usize] = walk;
            match talks[number as usize].after {
                Some(awaited) => number = awaited.connection,
                None => break,
            }
        }
        let is_back = met[number as usize] == walk && talks[number as usize].after.is_some();
        if is_back {
            return Some(number);
        }
    }
    None
}

fn check_talk(number: usize, talk: &Talk) -> Result<(), SourceError> {
    let error = |parameter, value: String, range: &str| {
        let value = format!("{value} of connection {number}");
        let error = SourceError::new("connections", parameter, value, range);
        Err(error.of_entry("connections", number))
    };
    if talk.round_trip > LONGEST_ROUND_TRIP {
        return error("round_trip", talk.round_trip.to_string(), "0s to 60s");
    }
    if let Some(until) = talk.until.filter(|until| *until <= talk.start) {
        let range = format!("after its start at {}", talk.start);
        return error("until", until.to_string(), &range);
    }
    if talk.messages.is_empty() {
        return error("messages", "none".to_owned(), "at least one");
    }
    let mut endless = [false; 2];
    for message in &talk.messages {
        let bytes = message.bytes.unwrap_or(1);
        if !(1..=LARGEST_FLOW).contains(&bytes) {
            let range = format!("1 to {LARGEST_FLOW}");
            return error("messages", format!("{bytes} bytes"), &range);
        }
        let is_behind_endless =
            endless[message.by as usize] || !talk.concurrent && endless != [false; 2];
        if is_behind_endless {
            let value = "a message behind an endless one".to_owned();
            return error("messages", value, "an endless message comes last");
        }
        endless[message.by as usize] |= message.bytes.is_none();
    }
    Ok(())
}

impl Agent for Connections {
    fn wake(&mut self, context: &mut Context<'_>) {
        if !self.is_delayed {
            self.delay(context);
        }
        let now = context.now();
        let (start, stop) = (self.plan.terms.start, self.plan.terms.stop);
        while let Some(number) = self.not_begun.last().copied() {
            let at = start + self.plan.talks[number as usize].start;
            if stop.is_some_and(|stop| at >= stop) {
                break;
            }
            if at > now {
                return context.wake_at(at);
            }
            self.not_begun.pop();
            Plan::begin(&self.plan, number, start, context);
        }
        context.leave();
    }
}

/// A list of messages in which each waits for the one before it: all messages on a connection, or
/// one end's where the ends do not wait for each other.
#[derive(Debug)]
struct Thread {
    messages: Vec<Message>,
    /// The next message, and when its end writes it. None while it waits.
    next: usize,
    due: Option<Instant>,
    /// When each end's last message was due by its clock.
    clocks: [Option<Instant>; 2],
    /// For the message before the next one: how many bytes its end had written, up to and with it.
    awaited: u64,
}

impl Thread {
    fn next(&self) -> Option<&Message> {
        self.messages.get(self.next)
    }
}

/// A message that is written, but whose delivery is not reported yet.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    by: End,
    /// Bytes that its end has written in all, up to and with this message.
    up_to: u64,
    /// Bytes to report. If this is the response, the request's count too.
    bytes: u64,
    start: Instant,
}

/// One connection with both ends.
#[derive(Debug)]
struct Speaker {
    plan: Arc<Plan>,
    /// Its index in the list.
    number: u32,
    /// Connections that wait for the client's messages, and for the server's. Each has how many
    /// bytes that end has written up to and with the message, and which connection waits. The next
    /// one comes last.
    followers: [Vec<(u64, u32)>; 2],
    spec: FlowSpec,
    round_trip: Duration,
    until: Option<Instant>,
    /// The client's data and the server's, and their flows once open.
    ways: [Connection; 2],
    flows: Option<[FlowId; 2]>,
    threads: Vec<Thread>,
    /// Bytes that each end has written. `u64::MAX` without end.
    written: [u64; 2],
    /// When each end knows that the connection is open: the client with the SYN-ACK, the server with
    /// what follows.
    heard: [Option<Instant>; 2],
    /// When the client's acknowledgement of the SYN-ACK is at the server, if no data is there before.
    opens_at: Option<Instant>,
    outstanding: VecDeque<Outstanding>,
    /// Packets that have arrived at the server but are held until the round trip is over.
    held: VecDeque<(Instant, Arrival)>,
    exchanges_syns: bool,
    is_endless: bool,
    alarm: Alarm,
}

impl Speaker {
    fn new(plan: &Arc<Plan>, number: u32, until: Option<Instant>) -> Result<Self, SourceError> {
        let Plan {
            terms, protocol, ..
        } = &**plan;
        let protocol = *protocol;
        let talk = plan.talks[number as usize].clone();
        let followers = followers(&talk.messages, plan.followers(number));
        let answering = protocol::Config {
            syn_exchange: false,
            ..protocol
        };
        let is_endless = talk.is_endless();
        let mut lists = vec![talk.messages];
        if talk.concurrent {
            let (by_client, by_server) = lists[0]
                .iter()
                .partition(|message: &&Message| message.by == End::Client);
            lists = vec![by_client, by_server];
        }
        let mut threads = Vec::new();
        for messages in lists {
            threads.push(Thread {
                messages,
                next: 0,
                due: None,
                clocks: [None; 2],
                awaited: 0,
            });
        }
        Ok(Self {
            plan: Arc::clone(plan),
            number,
            followers,
            spec: terms.flow,
            round_trip: talk.round_trip,
            until,
            ways: [
                Connection::new(protocol, 0, terms)?,
                Connection::new(answering, 0, terms)?,
            ],
            flows: None,
            threads,
            written: [0; 2],
            heard: [None; 2],
            opens_at: None,
            outstanding: VecDeque::new(),
            held: VecDeque::new(),
            exchanges_syns: protocol.syn_exchange,
            is_endless,
            alarm: Alarm::default(),
        })
    }

    /// Opens the connection. If there are no SYNs, both ends know of it at once.
    fn open(&mut self, context: &mut Context<'_>) {
        let there = context.open_listed(self.spec, self.number);
        let back = context.open_reply(
            FlowSpec {
                from: self.spec.to,
                to: self.spec.from,
                config: self.spec.config,
            },
            there,
        );
        self.flows = Some([there, back]);
        if !self.exchanges_syns {
            self.heard = [Some(context.now()); 2];
        }
        self.write(context.now());
        self.ways[0].open(there, context);
        self.ways[1].open(back, context);
    }

    /// Takes a packet that has arrived, once it is no longer held. A SYN opens nothing for the server:
    /// it waits for the third segment of the handshake, which is not sent here, so it comes when it
    /// would.
    fn take(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let end = self.end_of(arrival);
        let is_syn = matches!(&arrival.content, Content::Segment(segment) if segment.is_syn());
        if end == End::Client || !is_syn {
            self.heard[end as usize].get_or_insert(context.now());
        }
        if end == End::Client && is_syn {
            self.opens_at = Some(context.now() + self.round_trip);
        }
        self.ways[self.way_of(arrival)].arrive(arrival, context);
        let [client, server] = &mut self.ways;
        server.learn_handshake(client, context.now());
    }

    /// Whose data a packet belongs to: the client's or the server's.
    fn way_of(&self, arrival: &Arrival) -> usize {
        usize::from(self.flows.is_some_and(|[_, back]| arrival.flow == back))
    }

    /// At which end a packet arrives. The server's data arrives at the client, and so do answers to
    /// the client's data.
    fn end_of(&self, arrival: &Arrival) -> End {
        let is_of_server = self.way_of(arrival) == 1;
        if is_of_server == (arrival.direction == Direction::Forward) {
            End::Client
        } else {
            End::Server
        }
    }

    /// Hands all messages that are due to TCP. True if there were any.
    fn write(&mut self, now: Instant) -> bool {
        let mut any = false;
        for number in 0..self.threads.len() {
            while let Some(message) = self.due(number, now) {
                self.begin(number, message, now);
                any = true;
            }
        }
        any
    }

    /// The next message in a thread, if its end writes it now. Notes when it will, if that is
    /// known.
    fn due(&mut self, number: usize, now: Instant) -> Option<Message> {
        let thread = &self.threads[number];
        let message = *thread.next()?;
        if thread.due.is_none() {
            let since = self.since(thread, message, now)?;
            let clock = thread.clocks[message.by as usize];
            let by_clock = match (message.every, clock) {
                (Some(every), Some(last)) => last + every,
                _ => since + message.after,
            };
            let thread = &mut self.threads[number];
            thread.clocks[message.by as usize] = Some(by_clock);
            thread.due = Some(by_clock.max(since));
        }
        let due = self.threads[number].due?;
        (due <= now).then_some(message)
    }

    /// Since when the message's wait counts: the other end's message before has arrived, the same
    /// end's message before was written, or the connection is open. None: not yet.
    fn since(&self, thread: &Thread, message: Message, now: Instant) -> Option<Instant> {
        let before = thread.next.checked_sub(1);
        let Some(before) = before.map(|index| thread.messages[index]) else {
            return self.heard[message.by as usize];
        };
        if before.by == message.by {
            return Some(now);
        }
        let has_arrived = self.ways[before.by as usize].delivered() >= thread.awaited;
        has_arrived.then_some(now)
    }

    /// Hands a message to TCP.
    fn begin(&mut self, number: usize, message: Message, now: Instant) {
        let way = message.by as usize;
        let bytes = message.bytes.unwrap_or(u64::MAX);
        self.written[way] = self.written[way].saturating_add(bytes);
        self.ways[way].supply(bytes);
        let thread = &mut self.threads[number];
        thread.next += 1;
        thread.due = None;
        thread.awaited = self.written[way];
        if self.is_endless {
            return;
        }
        let mut note = Outstanding {
            by: message.by,
            up_to: self.written[way],
            bytes,
            start: now,
        };
        // A response ends the transfer that its request began.
        let is_sequential = self.threads.len() == 1;
        if is_sequential
            && message.by == End::Server
            && let Some(request) = self.outstanding.back().copied()
            && request.by == End::Client
        {
            self.outstanding.pop_back();
            note.start = request.start;
            note.bytes = note.bytes.saturating_add(request.bytes);
        }
        self.outstanding.push_back(note);
    }

    /// Whether the response to a request is not written yet.
    fn awaits_response(&self, note: Outstanding) -> bool {
        let [thread] = &self.threads[..] else {
            return false;
        };
        let is_last = note.up_to == self.written[End::Client as usize];
        let next = thread.next().map(|message| message.by);
        note.by == End::Client && is_last && next == Some(End::Server)
    }

    /// Reports the messages that have arrived whole at the other end.
    fn report(&mut self, context: &mut Context<'_>) {
        for note in std::mem::take(&mut self.outstanding) {
            let way = note.by as usize;
            let is_there = self.ways[way].delivered() >= note.up_to;
            if is_there && !self.awaits_response(note) {
                let effort = self.ways[0].effort() + self.ways[1].effort();
                self.ways[way].report(note.bytes, note.start, true, effort, context);
            } else {
                self.outstanding.push_back(note);
            }
        }
    }

    /// Begins the connections that waited for what has arrived.
    fn begin_followers(&mut self, context: &mut Context<'_>) {
        for (way, followers) in self.ways.iter().zip(&mut self.followers) {
            let delivered = way.delivered();
            while let Some((_, follower)) = followers.pop_if(|(up_to, _)| delivered >= *up_to) {
                Plan::begin(&self.plan, follower, context.now(), context);
            }
        }
    }

    /// Reports what is outstanding as cut off.
    fn cut_off(&mut self, context: &mut Context<'_>) {
        if self.flows.is_none() {
            return;
        }
        for note in std::mem::take(&mut self.outstanding) {
            let effort = self.ways[0].effort() + self.ways[1].effort();
            self.ways[note.by as usize].report(0, note.start, false, effort, context);
        }
        let effort = self.ways[0].effort() + self.ways[1].effort();
        self.ways[1].report_rest(effort, context);
    }

    /// Whether all is said, and both ends know it.
    fn is_over(&self) -> bool {
        let all_written = self.threads.iter().all(|thread| thread.next().is_none());
        all_written && self.outstanding.is_empty() && self.ways.iter().all(Connection::is_done)
    }

    fn close(&mut self, context: &mut Context<'_>) {
        self.cut_off(context);
        // What has not arrived by now will not come any more, so nobody waits for it longer.
        for followers in std::mem::take(&mut self.followers) {
            for (_, follower) in followers.into_iter().rev() {
                Plan::begin(&self.plan, follower, context.now(), context);
            }
        }
        for flow in self.flows.take().into_iter().flatten() {
            context.close(flow);
        }
        context.leave();
    }

    /// Writes what is due, reports, closes, and sets the alarm.
    fn settle(&mut self, context: &mut Context<'_>) {
        if self.write(context.now()) {
            for way in &mut self.ways {
                way.wake(context);
            }
        }
        self.report(context);
        self.begin_followers(context);
        if self.is_over() {
            return self.close(context);
        }
        let mut alarm = self.until;
        alarm = earlier(alarm, self.held.front().map(|(due, _)| *due));
        alarm = earlier(alarm, self.opens_at);
        for thread in &self.threads {
            alarm = earlier(alarm, thread.due);
        }
        for way in &self.ways {
            alarm = earlier(alarm, way.timer());
        }
        self.alarm.set(alarm, context);
    }
}

/// Who waits for each end's messages, made from the plan's entries, which are in the order of
/// messages. The first one comes last.
fn followers(messages: &[Message], waits: &[Wait]) -> [Vec<(u64, u32)>; 2] {
    let mut followers = [Vec::new(), Vec::new()];
    let mut bytes = [0_u64; 2];
    let mut next = 0;
    for wait in waits {
        let awaited = wait.message as usize;
        for message in &messages[next..=awaited] {
            let sum = &mut bytes[message.by as usize];
            *sum = sum.saturating_add(message.bytes.unwrap_or(u64::MAX));
        }
        next = awaited + 1;
        let by = messages[awaited].by as usize;
        followers[by].push((bytes[by], wait.follower));
    }
    for list in &mut followers {
        list.reverse();
    }
    followers
}

impl Agent for Speaker {
    fn wake(&mut self, context: &mut Context<'_>) {
        self.alarm.went_off();
        let now = context.now();
        if self.until.is_some_and(|until| now >= until) {
            return self.close(context);
        }
        if self.flows.is_none() {
            self.open(context);
            return self.settle(context);
        }
        while let Some(&(due, arrival)) = self.held.front()
            && due <= now
        {
            self.held.pop_front();
            self.take(&arrival, context);
        }
        if self.opens_at.is_some_and(|at| at <= now) {
            self.opens_at = None;
            self.heard[End::Server as usize].get_or_insert(now);
        }
        for way in &mut self.ways {
            way.wake(context);
        }
        self.settle(context);
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        if self.round_trip == Duration::ZERO || self.end_of(arrival) == End::Client {
            self.take(arrival, context);
        } else {
            let due = context.now() + self.round_trip;
            self.held.push_back((due, *arrival));
        }
        self.settle(context);
    }

    fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        let is_back = self.flows.is_some_and(|[_, back]| departure.flow == back);
        self.ways[usize::from(is_back)].depart(departure, context);
        self.settle(context);
    }

    fn forget(&mut self) {
        for way in &mut self.ways {
            way.effort();
        }
    }

    fn end(&mut self, context: &mut Context<'_>) {
        self.cut_off(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, Log, seconds};

    fn message(text: &str) -> Message {
        use roundelay_files::Written as _;
        Message::from_text(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn talk(messages: &[&str]) -> Talk {
        Talk {
            after: None,
            start: Duration::ZERO,
            round_trip: Duration::from_millis(40),
            until: None,
            concurrent: false,
            messages: messages.iter().map(|text| message(text)).collect(),
        }
    }

    fn run(talks: Vec<Talk>) -> Log {
        let terms = Bench::default().terms();
        let source = Connections::new(terms, protocol::Config::rfc(), talks).unwrap();
        Bench::of(2, "100gbit").run(1, 100, [source])
    }

    fn millis(log: &Log) -> Vec<(u64, u64, bool)> {
        let of = |at: Instant| at.as_picos() / 1_000_000_000;
        log.reports
            .iter()
            .map(|(_, _, report)| (of(report.start), of(report.delivered), report.is_complete))
            .collect()
    }

    /// A round trip for the SYN, and one for each request and its response. The server takes 20 ms,
    /// and the client thinks for a second.
    #[test]
    fn ends_wait_for_each_other() {
        let log = run(vec![talk(&[
            "> 100b",
            "< 1000b after 20ms",
            "> 200b after 1s",
            "< 2000b",
        ])]);
        assert_eq!(millis(&log), [(40, 100, true), (1100, 1140, true)]);
        let bytes: Vec<_> = log
            .reports
            .iter()
            .map(|(_, _, report)| report.bytes)
            .collect();
        assert_eq!(bytes, [1100, 2200]);
        assert_eq!(log.closed.len(), 2, "both flows are closed");
    }

    #[test]
    fn writes_of_one_end_count_from_its_own() {
        let log = run(vec![talk(&[
            "< 500b",
            "< 500b after 300ms",
            "> 10b after 100ms",
        ])]);
        assert_eq!(
            millis(&log),
            [(80, 80, true), (380, 380, true), (480, 520, true)],
            "the SYN is at the server after 40 ms, and the answer to its SYN-ACK after 80"
        );
    }

    /// The application writes 2 Mbit/s: four pieces of 62.5 kB, one every 250 ms.
    #[test]
    fn an_application_that_writes_over_time_is_the_limit_where_the_link_is_faster() {
        let ends = |rate: &str| {
            let written = talk(&[
                "> 300b",
                "< 62500b",
                "< 62500b after 250ms",
                "< 62500b after 250ms",
                "< 62500b after 250ms",
            ]);
            let terms = Bench::default().terms();
            let source = Connections::new(terms, protocol::Config::rfc(), vec![written]).unwrap();
            let log = Bench::of(2, rate).run(1, 100, [source]);
            assert_eq!(log.reports.len(), 4, "a piece is a transfer");
            let mut ends = Vec::new();
            for (start, end, is_complete) in millis(&log) {
                assert!(is_complete);
                ends.push((start, end));
            }
            ends
        };
        // The request arrives after two round trips of 40 ms. While the window opens, a piece takes
        // its round trips. From then on each piece is there when it is written.
        let fast = ends("100gbit");
        assert_eq!(
            fast[1..]
                .iter()
                .map(|(start, _)| *start)
                .collect::<Vec<_>>(),
            [330, 580, 830]
        );
        assert!(
            fast.iter().all(|(start, end)| end - start < 250),
            "{fast:?}"
        );
        // At half that rate, four pieces take two seconds.
        let slow = ends("1mbit");
        assert!(slow[3].1 > 2000, "{slow:?}");
    }

    #[test]
    fn concurrent_ends_do_not_wait() {
        let concurrent = Talk {
            concurrent: true,
            ..talk(&[
                "> 100b",
                "< 5000b after 50ms",
                "> 100b after 10ms",
                "> 100b after 10ms",
            ])
        };
        let log = run(vec![concurrent]);
        let mut starts: Vec<_> = millis(&log).iter().map(|(start, ..)| *start).collect();
        starts.sort_unstable();
        assert_eq!(starts, [40, 50, 60, 130]);
    }

    #[test]
    fn the_client_closes_an_endless_connection() {
        let endless = Talk {
            start: Duration::from_secs(1),
            until: Some(Duration::from_secs(3)),
            ..talk(&["> 100b", "< endless"])
        };
        let log = run(vec![endless]);
        let last = log.sent.last().unwrap().now;
        assert!(last < seconds(3) && last > seconds(2), "{last}");
        assert!(log.sent[0].now == seconds(1));
        assert_eq!(log.closed.len(), 2);
    }

    /// Two connections share one pair of hosts, but each has its own round trip.
    #[test]
    fn each_connection_has_its_round_trip() {
        let far = Talk {
            round_trip: Duration::from_millis(300),
            ..talk(&["> 100b", "< 100b"])
        };
        let log = run(vec![talk(&["> 100b", "< 100b"]), far]);
        assert_eq!(millis(&log), [(40, 80, true), (300, 600, true)]);
    }

    #[test]
    fn starts_are_late_one_by_one() {
        let starts = |seed| {
            let terms = Terms {
                start_jitter: Duration::from_millis(100),
                ..Bench::default().terms()
            };
            let talks = vec![talk(&["> 100b"]); 3];
            let source = Connections::new(terms, protocol::Config::rfc(), talks).unwrap();
            let log = Bench::of(2, "100gbit").run(seed, 100, [source]);
            let starts: Vec<_> = log.opened.iter().map(|(at, ..)| at.as_picos()).collect();
            starts
        };
        let mut drawn = starts(1);
        assert_ne!(drawn, starts(2));
        drawn.dedup();
        assert_eq!(drawn.len(), 6 / 2, "each connection opens two flows");
    }

    #[test]
    fn errors_name_the_connection_and_the_range() {
        let error = |talk| {
            let terms = Bench::default().terms();
            let talks = vec![self::talk(&["> 1b"]), talk];
            let made = Connections::new(terms, protocol::Config::rfc(), talks);
            made.unwrap_err().to_string()
        };
        assert_eq!(
            error(Talk {
                until: Some(Duration::ZERO),
                ..talk(&["> 1b"])
            }),
            "connections: until 0s of connection 1: legal range after its start at 0s"
        );
        assert_eq!(
            error(talk(&[])),
            "connections: messages none of connection 1: legal range at least one"
        );
        assert_eq!(
            error(talk(&["< endless", "> 1b"])),
            "connections: messages a message behind an endless one of connection 1: legal range an \
             endless message comes last"
        );
        assert_eq!(
            error(Talk {
                round_trip: Duration::from_secs(61),
                ..talk(&["> 1b"])
            }),
            "connections: round_trip 61s of connection 1: legal range 0s to 60s"
        );
        let after = |connection, message| Talk {
            after: Some(Awaited {
                connection,
                message,
            }),
            ..talk(&["> 1b"])
        };
        assert_eq!(
            error(after(2, None)),
            "connections: after connection 2 of connection 1: legal range connections 0 to 1"
        );
        assert_eq!(
            error(after(0, Some(1))),
            "connections: after message 1 of connection 1: legal range 0 to 0, the messages of \
             connection 0"
        );
        assert_eq!(
            error(after(1, None)),
            "connections: after connection 1 behind itself: legal range a connection that does not \
             wait for this one"
        );
        let behind_endless = Talk {
            after: Some(Awaited {
                connection: 0,
                message: None,
            }),
            ..talk(&["> 1b"])
        };
        let terms = Bench::default().terms();
        let talks = vec![talk(&["> 1b", "< endless"]), behind_endless];
        let made = Connections::new(terms, protocol::Config::rfc(), talks);
        assert_eq!(
            made.unwrap_err().to_string(),
            "connections: after an endless message of connection 1: legal range a message with an end"
        );
    }

    fn behind(connection: u32, message: Option<u32>, start: u64, messages: &[&str]) -> Talk {
        Talk {
            after: Some(Awaited {
                connection,
                message,
            }),
            start: Duration::from_millis(start),
            ..talk(messages)
        }
    }

    /// A page: its text, and two pictures over connections of their own, the second one behind the
    /// first. A picture takes a round trip for its SYN and one for its bytes.
    #[test]
    fn a_connection_waits_for_anothers_message() {
        let page = talk(&["> 100b", "< 1000b", "> 100b after 5s", "< 1000b"]);
        let pictures = [
            behind(0, Some(1), 30, &["> 100b", "< 900b"]),
            behind(1, None, 10, &["> 100b", "< 800b"]),
        ];
        let [first, second] = pictures;
        let log = run(vec![page, first, second]);
        assert_eq!(
            millis(&log),
            [
                (40, 80, true),
                (150, 190, true),
                (240, 280, true),
                (5080, 5120, true)
            ]
        );
    }

    /// Over a slower link the text is there later, so the picture begins later too. But a
    /// connection that counts from the source's start begins as before.
    #[test]
    fn who_waits_longer_begins_later() {
        let begin = |rate: &str, waits: bool| {
            let mut picture = behind(0, None, 30, &["> 100b", "< 900b"]);
            if !waits {
                picture.after = None;
            }
            let talks = vec![talk(&["> 100b", "< 125000b"]), picture];
            let terms = Bench::default().terms();
            let source = Connections::new(terms, protocol::Config::rfc(), talks).unwrap();
            let log = Bench::of(2, rate).run(1, 100, [source]);
            let picture = log
                .reports
                .iter()
                .find(|(_, _, report)| report.bytes == 1000);
            let (_, _, report) = picture.expect("a picture");
            report.start.as_picos() / 1_000_000_000
        };
        let [fast, slow] = ["1gbit", "1mbit"].map(|rate| begin(rate, true));
        assert!(fast < 400 && slow > 1000, "{fast} and {slow}");
        assert_eq!(
            ["1gbit", "1mbit"].map(|rate| begin(rate, false) < 80),
            [true; 2]
        );
    }

    /// Once a connection is closed, what others waited for does not come any more, so they begin.
    #[test]
    fn a_closed_connection_lets_the_next_one_begin() {
        let cut = Talk {
            until: Some(Duration::from_millis(500)),
            ..talk(&["> 100b", "< 100b after 20s"])
        };
        let log = run(vec![cut, behind(0, None, 100, &["> 100b", "< 900b"])]);
        let complete: Vec<_> = millis(&log).into_iter().filter(|(.., is)| *is).collect();
        assert_eq!(complete, [(640, 680, true)]);
    }

    #[test]
    fn many_wait_for_each_other_in_a_row() {
        let mut talks = vec![talk(&["> 1b"])];
        for number in 0..20_000 {
            talks.push(behind(number, None, 0, &["> 1b"]));
        }
        assert_eq!(in_a_circle(&talks), None);
        talks[0].after = Some(Awaited {
            connection: 20_000,
            message: None,
        });
        assert!(in_a_circle(&talks).is_some());
    }

    /// A player's clock runs on while a chunk takes longer than its period: then the next ones
    /// follow at once, until it has caught up.
    #[test]
    fn a_player_keeps_its_clock() {
        let talks = |think: &str| {
            vec![talk(&[
                "> 100b",
                "< 1kb",
                "> 100b every 1s",
                &format!("< 1kb after {think}"),
                "> 100b every 1s",
                "< 1kb",
                "> 100b every 1s",
                "< 1kb",
            ])]
        };
        let mut starts = Vec::new();
        for think in ["0ms", "1500ms"] {
            let mut begun = Vec::new();
            for (start, ..) in millis(&run(talks(think))) {
                begun.push(start);
            }
            starts.push(begun);
        }
        let first = starts[0][0];
        assert_eq!(starts[0], [0, 1000, 2000, 3000].map(|after| first + after));
        // A round trip for the request, and one for the answer.
        assert_eq!(starts[1][..2], starts[0][..2]);
        assert!(starts[1][2] > starts[0][2] + 500, "{starts:?}");
        assert_eq!(starts[1][3], starts[0][3], "{starts:?}");
    }

    #[test]
    fn messages_are_words() {
        assert_eq!(
            message("< 2kb after 3ms"),
            Message {
                by: End::Server,
                bytes: Some(2048),
                after: Duration::from_millis(3),
                every: None,
            }
        );
        let every = message("> 300b every 4s").every;
        assert_eq!(every, Some(Duration::from_secs(4)));
        assert_eq!(message("> endless").bytes, None);
        use roundelay_files::Written as _;
        for wrong in [
            "",
            ">",
            "5b",
            "> 0b",
            "> 5",
            "> 5b after",
            "> 5b after 3",
            "> 5b later 3ms",
        ] {
            let error = Message::from_text(wrong).unwrap_err();
            assert!(error.message().contains("> 300b"), "{wrong}: {error}");
        }
    }
}

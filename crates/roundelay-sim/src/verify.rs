//! Checks a [log](crate::log) of a simulation. Knows nothing of how the simulation works, only what a network can do.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead};

use crate::log::{Event, FORMAT, Header, Line, LinkRecord, Order};

/// What a log tells of a whole simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Events.
    pub events: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets that queues dropped.
    pub dropped: u64,
    /// Packets lost on a wire.
    pub lost: u64,
    /// Packets on their way at the end.
    pub on_their_way: u64,
}

/// Why a log is not that of a network.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is not one of a log.
    #[error("line {line}: {error}")]
    Format {
        /// Its number, from 1 on.
        line: u64,
        /// What is wrong with it.
        error: String,
    },
    /// A line tells of something that cannot have happened.
    #[error("line {line}: {what}")]
    Impossible {
        /// Its number, from 1 on.
        line: u64,
        /// What is wrong.
        what: String,
    },
}

/// Where a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At a node, with nothing to wait for.
    Node(u32),
    /// In a link's queue.
    Queue { link: u32 },
    /// On a link or behind it: it leaves the link's end at `earliest` to `latest`.
    Wire { link: u32, earliest: u64, latest: u64 },
}

#[derive(Debug)]
struct PacketState {
    flow: u64,
    len: u32,
    destination: u32,
    back: bool,
    place: Place,
}

#[derive(Debug)]
struct FlowState {
    ends: [u32; 2],
    on_their_way: u64,
    sent: u64,
    delivered: u64,
}

/// A link: who waits, who flies, and when it is free.
#[derive(Debug)]
struct LinkState {
    record: LinkRecord,
    /// Packets in the queue in the order in which they came, with their flows.
    waiting: VecDeque<(u64, u64, u64)>,
    flying: VecDeque<u64>,
    free_at: u64,
    /// Time that it has been sending, if it interrupts packets.
    worked: u64,
}

/// Everything that the log has told so far.
struct Books {
    links: Vec<LinkState>,
    packets: BTreeMap<u64, PacketState>,
    flows: BTreeMap<u64, FlowState>,
    now: u64,
    has_ended: bool,
    totals: Verified,
}

/// Reads a log and checks that it tells of a network: every packet is delivered, dropped or lost once and travels from node to node along links;
/// no link sends two packets at once, or faster than its rate, or rests while packets wait; no packet is faster than the wire; queues and
/// wires keep the order that they promise; flows' counts are those of their packets.
///
/// # Errors
/// It does not; with the first line that cannot be.
pub fn verify(log: impl BufRead) -> Result<Verified, VerifyError> {
    let mut lines = (1..).zip(log.lines());
    let (_, first) = lines.next().ok_or_else(|| VerifyError::Format { line: 1, error: "the log is empty".to_owned() })?;
    let mut books = Books::new(parse(1, &first?)?)?;
    for (number, line) in lines {
        let line: Line = parse(number, &line?)?;
        books.check(&line).map_err(|what| VerifyError::Impossible { line: number, what })?;
    }
    if !books.has_ended {
        return Err(VerifyError::Format { line: 0, error: "the log has no end: its last line must be an `end`".to_owned() });
    }
    books.totals.on_their_way = books.packets.len() as u64;
    Ok(books.totals)
}

fn parse<'a, T: serde::Deserialize<'a>>(line: u64, text: &'a str) -> Result<T, VerifyError> {
    serde_json::from_str(text).map_err(|error| VerifyError::Format { line, error: error.to_string() })
}

/// Ok, or what is wrong.
type Check = Result<(), String>;

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl LinkState {
    /// Takes a packet out of the queue. It must be there, and its turn if `leaves` in order.
    fn take(&mut self, packet: u64, leaves: bool) -> Check {
        let place = self.waiting.iter().position(|(waiting, ..)| *waiting == packet).ok_or("it is not in this queue")?;
        let (_, flow, _) = self.waiting[place];
        let mut before = self.waiting.range(..place);
        let in_order = match self.record.order {
            Order::Any => true,
            Order::PerFlow => before.all(|(_, other, _)| *other != flow),
            Order::Fifo => place == 0,
        };
        ensure(!leaves || in_order, || "it overtakes in a queue that promises order".to_owned())?;
        self.waiting.remove(place);
        Ok(())
    }

    /// Whether a transmission is one that the link can do.
    fn transmits(&mut self, packet: u64, len: u32, now: u64, end: u64) -> Check {
        let bits = u128::from(len + self.record.overhead) * 8;
        if self.record.preempts {
            return self.has_transmitted(packet, bits, now, end);
        }
        let start = now;
        let took = u128::from(end.checked_sub(start).ok_or("it ends before it starts")?);
        let exact = (bits * 1_000_000_000_000).div_ceil(u128::from(self.record.rate));
        ensure(took == exact, || format!("{bits} bits take {exact} ps on this link, not {took}"))?;
        ensure(start >= self.free_at, || format!("the link is not free before {}", self.free_at))?;
        self.does_not_rest(now)
    }

    /// The same of a link that interrupts packets: it has had time for this one since it came, and for all together.
    fn has_transmitted(&mut self, packet: u64, bits: u128, now: u64, end: u64) -> Check {
        let took = (bits * 1_000_000_000_000).div_ceil(u128::from(self.record.rate)) as u64;
        let since = self.waiting.iter().find(|(waiting, ..)| *waiting == packet).map_or(now, |(_, _, since)| *since);
        self.worked += took;
        ensure(end == now, || "it ends when it is told".to_owned())?;
        ensure(since + took <= now && self.worked <= now, || format!("{bits} bits take {took} ps on this link"))
    }

    /// Whether it has sent until `now` if something waited.
    fn does_not_rest(&self, now: u64) -> Check {
        let could_send_at = self.waiting.front().map_or(u64::MAX, |(_, _, since)| self.free_at.max(*since));
        ensure(self.record.preempts || now <= could_send_at, || format!("the link rests from {could_send_at} on while packets wait"))
    }
}

impl Books {
    fn new(header: Header) -> Result<Self, VerifyError> {
        let format = |error| Err(VerifyError::Format { line: 1, error });
        if header.format != FORMAT {
            return format(format!("format {} is not {FORMAT}", header.format));
        }
        if let Some(link) = header.links.iter().position(|link| link.from.max(link.to) >= header.nodes || link.rate == 0) {
            return format(format!("link {link} has an end that is not there, or no rate"));
        }
        let link = |record| LinkState { record, waiting: VecDeque::new(), flying: VecDeque::new(), free_at: 0, worked: 0 };
        let links = header.links.into_iter().map(link).collect();
        let (packets, flows, totals) = (BTreeMap::new(), BTreeMap::new(), Verified::default());
        Ok(Self { links, packets, flows, now: 0, has_ended: false, totals })
    }

    fn check(&mut self, line: &Line) -> Check {
        ensure(!self.has_ended, || "the log goes on after its end".to_owned())?;
        ensure(line.time >= self.now, || format!("time runs backwards, from {}", self.now))?;
        self.now = line.time;
        self.totals.events += 1;
        match &line.event {
            Event::Open { flow, from, to } => self.open(*flow, [*from, *to]),
            Event::Send { packet, flow, len, back } => self.send(*packet, *flow, *len, *back),
            Event::Arrive { packet, link } => self.arrive(*packet, *link),
            Event::Transmit { packet, link, end } => self.transmit(*packet, *link, *end),
            Event::Drop { packet, link, .. } => self.drop(*packet, *link),
            Event::Lose { packet, link } => self.lose(*packet, *link),
            Event::Deliver { packet } => self.deliver(*packet),
            Event::Close { flow, sent, delivered } => self.close(*flow, *sent, *delivered),
            Event::End => self.end(),
        }
    }

    fn open(&mut self, flow: u64, ends: [u32; 2]) -> Check {
        let state = FlowState { ends, on_their_way: 0, sent: 0, delivered: 0 };
        ensure(self.flows.insert(flow, state).is_none(), || format!("flow {flow} is open"))
    }

    fn send(&mut self, packet: u64, flow: u64, len: u32, back: bool) -> Check {
        let state = self.flows.get_mut(&flow).ok_or_else(|| format!("flow {flow} is not open"))?;
        state.on_their_way += 1;
        state.sent += u64::from(!back);
        let [from, to] = state.ends;
        let (from, destination) = if back { (to, from) } else { (from, to) };
        let state = PacketState { flow, len, destination, back, place: Place::Node(from) };
        self.totals.sent += 1;
        ensure(self.packets.insert(packet, state).is_none(), || format!("packet {packet} is on its way"))
    }

    /// A packet has got to a node: it starts there, or comes over a link.
    fn reach(&mut self, packet: u64) -> Result<u32, String> {
        let state = self.packets.get_mut(&packet).ok_or_else(|| format!("packet {packet} is not on its way"))?;
        let node = match state.place {
            Place::Node(node) => return Ok(node),
            Place::Queue { link } => return Err(format!("packet {packet} waits at link {link}")),
            Place::Wire { link, earliest, latest } => {
                let (now, link) = (self.now, &mut self.links[link as usize]);
                ensure((earliest..=latest).contains(&now), || format!("the wire gives the packet back at {earliest} to {latest}"))?;
                ensure(link.flying.pop_front() == Some(packet), || "it overtakes on the wire".to_owned())?;
                link.record.to
            }
        };
        state.place = Place::Node(node);
        Ok(node)
    }

    fn link(&mut self, link: u32) -> Result<&mut LinkState, String> {
        self.links.get_mut(link as usize).ok_or_else(|| format!("there is no link {link}"))
    }

    fn arrive(&mut self, packet: u64, link: u32) -> Check {
        let (now, node) = (self.now, self.reach(packet)?);
        let flow = self.packets[&packet].flow;
        let state = self.link(link)?;
        ensure(state.record.from == node, || format!("the packet is at node {node}, the link begins at {}", state.record.from))?;
        state.waiting.push_back((packet, flow, now));
        self.place(packet, Place::Queue { link });
        Ok(())
    }

    fn place(&mut self, packet: u64, place: Place) {
        if let Some(state) = self.packets.get_mut(&packet) {
            state.place = place;
        }
    }

    fn transmit(&mut self, packet: u64, link: u32, end: u64) -> Check {
        let state = self.packets.get(&packet).ok_or_else(|| format!("packet {packet} is not on its way"))?;
        let (len, now) = (state.len, self.now);
        let link_state = self.link(link)?;
        link_state.transmits(packet, len, now, end)?;
        link_state.take(packet, true)?;
        link_state.free_at = end;
        link_state.flying.push_back(packet);
        let earliest = end + link_state.record.delay;
        let latest = earliest + link_state.record.jitter;
        self.place(packet, Place::Wire { link, earliest, latest });
        Ok(())
    }

    /// Takes a packet out of the books.
    fn strike(&mut self, packet: u64, delivered: bool) -> Check {
        let state = self.packets.remove(&packet).ok_or_else(|| format!("packet {packet} is not on its way"))?;
        let flow = self.flows.get_mut(&state.flow).ok_or_else(|| format!("flow {} is not open", state.flow))?;
        flow.on_their_way -= 1;
        flow.delivered += u64::from(delivered && !state.back);
        Ok(())
    }

    fn drop(&mut self, packet: u64, link: u32) -> Check {
        self.link(link)?.take(packet, false)?;
        self.totals.dropped += 1;
        self.strike(packet, false)
    }

    fn lose(&mut self, packet: u64, link: u32) -> Check {
        let state = self.link(link)?;
        ensure(state.record.loses, || "this link loses nothing".to_owned())?;
        ensure(state.flying.pop_back() == Some(packet), || "it is not the last that was sent".to_owned())?;
        self.totals.lost += 1;
        self.strike(packet, false)
    }

    fn deliver(&mut self, packet: u64) -> Check {
        let node = self.reach(packet)?;
        let destination = self.packets[&packet].destination;
        ensure(node == destination, || format!("the packet is at node {node} and goes to {destination}"))?;
        self.totals.delivered += 1;
        self.strike(packet, true)
    }

    fn close(&mut self, flow: u64, sent: u64, delivered: u64) -> Check {
        let state = self.flows.remove(&flow).ok_or_else(|| format!("flow {flow} is not open"))?;
        ensure(state.on_their_way == 0, || format!("{} of its packets are on their way", state.on_their_way))?;
        let counted = (state.sent, state.delivered);
        ensure(counted == (sent, delivered), || format!("{} of its packets were sent and {} delivered", counted.0, counted.1))
    }

    /// Whatever was to happen has happened.
    fn end(&mut self) -> Check {
        self.has_ended = true;
        self.links.iter().try_for_each(|link| link.does_not_rest(self.now))?;
        let late = self.packets.iter().find(|(_, state)| matches!(state.place, Place::Wire { latest, .. } if latest < self.now));
        late.map_or(Ok(()), |(packet, _)| Err(format!("packet {packet} should have come off its wire")))
    }
}

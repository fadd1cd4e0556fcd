//! The state of a network, rebuilt from a log's events: packets in flight, open flows, links.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Billionths, DropReason, QueueSpec, Rate};

use crate::check::{Check, ensure};
use crate::link::LinkState;
use crate::log::{Event, Header, Line, LinkRecord, Order, ShaperRecord, TREE};
use crate::trace::is_legal;
use crate::{Checks, Verified};

/// A packet's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    /// At a node, where packets never wait outside a queue.
    Node { node: u32, since: u64 },
    /// In a link's queue. `rank` is the packet's number in the order of arrival there.
    Queue { link: u32, rank: u64 },
    /// On a link. The packet must arrive at the far end between `earliest` and `latest`.
    Wire {
        link: u32,
        earliest: u64,
        latest: u64,
    },
}

#[derive(Debug)]
struct PacketState {
    flow: u64,
    len: u32,
    destination: u32,
    /// From the receiver to the sender.
    back: bool,
    location: Location,
}

#[derive(Debug)]
struct FlowState {
    ends: [u32; 2],
    on_their_way: u64,
    sent: u64,
    delivered: u64,
    /// Whether Edge-CoDel may drop its packets.
    edge: bool,
    longest: Option<u32>,
    is_finished: bool,
    /// A packet of the flow was struck out after a fault, so its counts are not checked.
    has_doubtful_counts: bool,
}

/// The state of the network, and the totals so far.
pub(crate) struct NetworkState {
    nodes: u32,
    links: Vec<LinkState>,
    packets: BTreeMap<u64, PacketState>,
    flows: BTreeMap<u64, FlowState>,
    /// Packets with a fault. Later lines about them are not checked.
    struck: BTreeSet<u64>,
    /// The next packet's number, and the next flow's.
    next: [u64; 2],
    /// Flows that must close before time goes on.
    closing: BTreeSet<u64>,
    now: u64,
    has_ended: bool,
    totals: Verified,
    checks: Checks,
}

impl NetworkState {
    /// # Errors
    /// The header describes an impossible network.
    pub(crate) fn new(header: &Header) -> Result<Self, String> {
        let wrong = header
            .links
            .iter()
            .position(|link| link.from.max(link.to) >= header.nodes || link.rate == 0);
        wrong.map_or(Ok(()), |link| {
            Err(format!(
                "link {link} has an end that is not there, or no rate"
            ))
        })?;
        check_names(&header.names, header.nodes)?;
        let state = |(number, link): (usize, &LinkRecord)| {
            let queue = promised(link).map_err(|what| format!("link {number}: {what}"))?;
            let unknown = || {
                format!(
                    "link {number}: framing '{}': expected atm or ptm",
                    link.framing
                )
            };
            LinkState::new(link.clone(), queue).ok_or_else(unknown)
        };
        Ok(Self {
            nodes: header.nodes,
            links: header
                .links
                .iter()
                .enumerate()
                .map(state)
                .collect::<Result<_, _>>()?,
            packets: BTreeMap::new(),
            flows: BTreeMap::new(),
            struck: BTreeSet::new(),
            next: [0; 2],
            closing: BTreeSet::new(),
            now: 0,
            has_ended: false,
            totals: Verified::default(),
            checks: Checks::default(),
        })
    }

    pub(crate) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The log's end time, totals and checks.
    pub(crate) fn close(mut self) -> (u64, Verified, Checks) {
        self.totals.on_their_way = self.packets.len() as u64;
        (self.now, self.totals, self.checks)
    }

    pub(crate) fn check(&mut self, line: &Line) -> Check {
        ensure(!self.has_ended, || {
            "the log goes on after its end".to_owned()
        })?;
        ensure(line.time >= self.now, || {
            format!("time runs backwards, from {}", self.now)
        })?;
        self.now = line.time;
        self.totals.events += 1;
        if packet_of(&line.event).is_some_and(|packet| self.struck.contains(&packet)) {
            self.pass_over(line);
            return Ok(());
        }
        match &line.event {
            Event::Open {
                flow,
                from,
                to,
                edge,
                longest,
            } => self.open(*flow, [*from, *to], *edge, *longest),
            Event::Send {
                packet,
                flow,
                len,
                back,
            } => self.send(*packet, *flow, *len, *back),
            Event::Arrive { packet, link } => self.arrive(*packet, *link),
            Event::Transmit { packet, link, end } => self.transmit(*packet, *link, *end),
            Event::Drop {
                packet,
                link,
                reason,
            } => self.drop(*packet, *link, reason),
            Event::Rest { link, until } => self.rest(*link, *until),
            Event::Lose { packet, link } => self.lose(*packet, *link),
            Event::Deliver { packet } => self.deliver(*packet, true),
            Event::EdgeDrop { packet } => self.deliver(*packet, false),
            Event::Finish { flow } => self.finish(*flow),
            Event::Close {
                flow,
                sent,
                delivered,
            } => self.close_flow(*flow, *sent, *delivered),
            Event::End { open } => self.end(*open),
        }
    }

    /// The link that a faulty line concerns: the one whose wire or queue the packet is in, or the
    /// one in the line.
    pub(crate) fn link_of(&self, line: &Line) -> Option<u32> {
        let location = packet_of(&line.event)
            .and_then(|packet| self.packets.get(&packet))
            .map(|packet| packet.location);
        match (location, &line.event) {
            (Some(Location::Wire { link, .. } | Location::Queue { link, .. }), _) => Some(link),
            (
                _,
                Event::Arrive { link, .. }
                | Event::Transmit { link, .. }
                | Event::Drop { link, .. }
                | Event::Rest { link, .. }
                | Event::Lose { link, .. },
            ) => Some(*link),
            _ => None,
        }
    }

    /// After a fault, removes the line's packet from the state, so that each fault is reported
    /// once.
    pub(crate) fn strike_out(&mut self, line: &Line) {
        let Some(packet) = packet_of(&line.event) else {
            return;
        };
        let late = self.late(line);
        self.strike(packet, line);
        late.into_iter().for_each(|late| self.strike(late, line));
    }

    /// A packet that should have left before this line. It would cause a fault at each later line
    /// about the same link.
    fn late(&mut self, line: &Line) -> Option<u64> {
        let (Event::Arrive { packet, link }
        | Event::Transmit { packet, link, .. }
        | Event::Drop { packet, link, .. }) = line.event
        else {
            return None;
        };
        let state = self.links.get_mut(link as usize)?;
        if state.does_not_rest(self.now, &mut self.checks).is_err() {
            let first = state.first();
            state.begin_again(self.now);
            return first;
        }
        if state
            .holds(self.now, matches!(line.event, Event::Drop { .. }))
            .is_err()
        {
            return state.newest();
        }
        match self.packets.get(&packet)?.location {
            Location::Queue { link: actual, rank } if actual == link => state.overtaken(rank),
            _ => None,
        }
    }

    fn strike(&mut self, packet: u64, line: &Line) {
        self.struck.insert(packet);
        self.links.iter_mut().for_each(|link| link.forget(packet));
        let Some(state) = self.packets.remove(&packet) else {
            return;
        };
        if let Location::Queue { link, rank } = state.location
            && let Some(link) = self.links.get_mut(link as usize)
        {
            link.remove_waiting(rank);
        }
        if let Event::Transmit {
            link,
            end,
            packet: sent,
        } = line.event
            && sent == packet
            && let Some(link) = self.links.get_mut(link as usize)
        {
            // Perhaps the right packet at the wrong time. The link was busy, so other packets cause
            // no fault about a gap.
            link.put_on_wire(packet, None, line.time, end);
            link.forget(packet);
        }
        if let Some(flow) = self.flows.get_mut(&state.flow) {
            flow.on_their_way = flow.on_their_way.saturating_sub(1);
            flow.has_doubtful_counts = true;
        }
    }

    /// Passes over a line about a struck packet. Nothing is checked, but a transmission keeps the
    /// link busy.
    fn pass_over(&mut self, line: &Line) {
        let (Event::Arrive { link, .. } | Event::Transmit { link, .. }) = line.event else {
            return;
        };
        let Some(link) = self.links.get_mut(link as usize) else {
            return;
        };
        match line.event {
            Event::Transmit { packet, end, .. } => {
                link.put_on_wire(packet, None, line.time, end);
                link.forget(packet);
                link.begin_again(line.time);
            }
            _ => link.lift_deadline(),
        }
    }

    fn open(&mut self, flow: u64, ends: [u32; 2], edge: bool, longest: Option<u32>) -> Check {
        let on_their_way = 0;
        let sent = 0;
        let delivered = 0;
        let state = FlowState {
            ends,
            on_their_way,
            sent,
            delivered,
            edge,
            longest,
            is_finished: false,
            has_doubtful_counts: false,
        };
        let [_, next_flow] = &mut self.next;
        next_number(next_flow, "flow", flow)?;
        ensure(ends[0].max(ends[1]) < self.nodes, || {
            format!("an end of flow {flow} is no node of the network")
        })?;
        self.flows.insert(flow, state);
        Ok(())
    }

    fn send(&mut self, packet: u64, flow: u64, len: u32, back: bool) -> Check {
        let [next_packet, _] = &mut self.next;
        next_number(next_packet, "packet", packet)?;
        let state = self
            .flows
            .get_mut(&flow)
            .ok_or_else(|| format!("flow {flow} is not open"))?;
        ensure(!state.is_finished, || {
            format!("flow {flow} is finished, and sends no more")
        })?;
        state.on_their_way += 1;
        state.sent += u64::from(!back);
        let [from, to] = state.ends;
        let (from, destination) = if back { (to, from) } else { (from, to) };
        self.packets.insert(
            packet,
            PacketState {
                flow,
                len,
                destination,
                back,
                location: Location::Node {
                    node: from,
                    since: self.now,
                },
            },
        );
        self.totals.sent += 1;
        Ok(())
    }

    fn packet(&mut self, packet: u64) -> Result<&mut PacketState, String> {
        self.packets
            .get_mut(&packet)
            .ok_or_else(|| format!("packet {packet} is not on its way"))
    }

    /// The node that a packet has reached: the source, or a link's end.
    fn reach(&mut self, packet: u64) -> Result<u32, String> {
        let now = self.now;
        let node = match self.packet(packet)?.location {
            Location::Node { node, since } => {
                ensure(since == now, || {
                    format!("packet {packet} is at node {node} since {since}, in no queue")
                })?;
                return Ok(node);
            }
            Location::Queue { link, .. } => {
                return Err(format!("packet {packet} waits at link {link}"));
            }
            Location::Wire {
                link,
                earliest,
                latest,
            } => {
                self.checks.wires += 1;
                ensure((earliest..=latest).contains(&now), || {
                    format!("the wire gives the packet back at {earliest} to {latest}")
                })?;
                let link = link_of(&mut self.links, link)?;
                link.comes_late_by(now - earliest);
                link.take_off_wire(packet)?;
                link.record.to
            }
        };
        self.packet(packet)?.location = Location::Node { node, since: now };
        Ok(node)
    }

    fn arrive(&mut self, packet: u64, link: u32) -> Check {
        let now = self.now;
        let node = self.reach(packet)?;
        let PacketState { flow, len, .. } = *self.packet(packet)?;
        self.checks.hops += 1;
        let state = link_of(&mut self.links, link)?;
        ensure(state.record.from == node, || {
            format!(
                "the packet is at node {node}, the link begins at {}",
                state.record.from
            )
        })?;
        state.does_not_rest(now, &mut self.checks)?;
        state.holds(now, false)?;
        state.has_not_picked(now)?;
        let rank = state.enter(packet, flow, len, now);
        self.packet(packet)?.location = Location::Queue { link, rank };
        Ok(())
    }

    /// The link whose queue has the packet, and the packet's rank there.
    fn queue(
        &mut self,
        packet: u64,
        link: u32,
    ) -> Result<(&mut LinkState, u64, &mut Checks), String> {
        match self.packet(packet)?.location {
            Location::Queue { link: actual, rank } if actual == link => {
                Ok((link_of(&mut self.links, link)?, rank, &mut self.checks))
            }
            _ => Err(format!(
                "packet {packet} is not in the queue of link {link}"
            )),
        }
    }

    fn transmit(&mut self, packet: u64, link: u32, end: u64) -> Check {
        let len = self.packet(packet)?.len;
        let now = self.now;
        let (state, rank, checks) = self.queue(packet, link)?;
        state.transmits(rank, len, now, end, checks)?;
        state.is_in_order(rank, checks)?;
        state.leave_queue(rank, now, false);
        let (earliest, latest) = state.put_on_wire(packet, Some(len), now, end);
        self.packet(packet)?.location = Location::Wire {
            link,
            earliest,
            latest,
        };
        Ok(())
    }

    /// A shaper holds back all packets of its link.
    fn rest(&mut self, link: u32, until: u64) -> Check {
        // After a fault the packets that wait may be struck out here.
        let knows_queue = self.struck.is_empty();
        let state = link_of(&mut self.links, link)?;
        ensure(!knows_queue || state.first().is_some(), || {
            "the link rests, and no packet waits".to_owned()
        })?;
        state.rests(self.now, until, &mut self.checks)
    }

    /// Removes a packet at its end.
    fn leave(&mut self, packet: u64, delivered: bool) -> Check {
        self.checks.fates += 1;
        let state = self
            .packets
            .remove(&packet)
            .ok_or_else(|| format!("packet {packet} is not on its way"))?;
        let flow = self
            .flows
            .get_mut(&state.flow)
            .ok_or_else(|| format!("flow {} is not open", state.flow))?;
        flow.on_their_way = flow.on_their_way.saturating_sub(1);
        flow.delivered += u64::from(delivered && !state.back);
        if flow.is_finished && flow.on_their_way == 0 && !flow.has_doubtful_counts {
            self.closing.insert(state.flow);
        }
        Ok(())
    }

    /// The agent ends a flow.
    fn finish(&mut self, flow: u64) -> Check {
        let state = self
            .flows
            .get_mut(&flow)
            .ok_or_else(|| format!("flow {flow} is not open"))?;
        ensure(!state.is_finished, || {
            format!("flow {flow} is finished already")
        })?;
        state.is_finished = true;
        if state.on_their_way == 0 && !state.has_doubtful_counts {
            self.closing.insert(flow);
        }
        Ok(())
    }

    /// The fault of a flow that is finished and has no packets in flight, but is not closed
    /// although time advances to `time`.
    pub(crate) fn overdue(&mut self, time: u64) -> Option<String> {
        if time <= self.now {
            return None;
        }
        let flow = self.closing.pop_first()?;
        Some(format!(
            "flow {flow} is finished since {} at the latest, without packets on their way, and is \
             not closed",
            self.now
        ))
    }

    fn drop(&mut self, packet: u64, link: u32, reason: &str) -> Check {
        let now = self.now;
        let known = DropReason::ALL
            .into_iter()
            .find(|known| known.name() == reason);
        let reason = known.ok_or_else(|| format!("'{reason}' is no reason to drop a packet"))?;
        // After a fault the real queue may hold packets that are struck out here, so a reason cannot
        // be judged.
        let knows_queue = self.struck.is_empty();
        let flow = self.packet(packet)?.flow;
        let longest = self.flows.get(&flow).and_then(|flow| flow.longest);
        let (state, rank, checks) = self.queue(packet, link)?;
        state.does_not_rest(now, checks)?;
        state.holds(now, true)?;
        if knows_queue {
            state.has_reason(reason, rank, longest, now)?;
        }
        state.leave_queue(rank, now, true);
        self.totals.dropped += 1;
        self.leave(packet, false)
    }

    fn lose(&mut self, packet: u64, link: u32) -> Check {
        let now = self.now;
        self.links
            .get_mut(link as usize)
            .ok_or_else(|| format!("there is no link {link}"))?
            .lose(packet, now)?;
        self.totals.lost += 1;
        self.leave(packet, false)
    }

    /// A packet is delivered, or dropped at the end of its route.
    fn deliver(&mut self, packet: u64, is_delivered: bool) -> Check {
        let node = self.reach(packet)?;
        let PacketState {
            flow,
            destination,
            back,
            ..
        } = *self.packet(packet)?;
        let has_edge = !back && self.flows.get(&flow).is_some_and(|flow| flow.edge);
        ensure(is_delivered || has_edge, || {
            format!("no Edge-CoDel drops packets of flow {flow} in this direction")
        })?;
        ensure(node == destination, || {
            format!("the packet is at node {node} and goes to {destination}")
        })?;
        let Verified {
            delivered, dropped, ..
        } = &mut self.totals;
        *if is_delivered { delivered } else { dropped } += 1;
        self.leave(packet, is_delivered)
    }

    fn close_flow(&mut self, flow: u64, sent: u64, delivered: u64) -> Check {
        let state = self
            .flows
            .remove(&flow)
            .ok_or_else(|| format!("flow {flow} is not open"))?;
        self.closing.remove(&flow);
        if state.has_doubtful_counts {
            return Ok(());
        }
        self.checks.flows += 1;
        ensure(state.is_finished, || format!("flow {flow} is not finished"))?;
        ensure(state.on_their_way == 0, || {
            format!("{} of its packets are on their way", state.on_their_way)
        })?;
        let counted = (state.sent, state.delivered);
        ensure(counted == (sent, delivered), || {
            format!(
                "{} of its packets were sent and {} delivered",
                counted.0, counted.1
            )
        })
    }

    /// Checks at the end of the log that no event is overdue, and that each opened flow is closed
    /// or counted as open.
    fn end(&mut self, open: u64) -> Check {
        self.has_ended = true;
        let has_wire = |link: &LinkState| {
            link.has_jitter().and_then(|()| {
                if self.struck.is_empty() {
                    link.has_losses()
                } else {
                    Ok(())
                }
            })
        };
        self.links
            .iter()
            .enumerate()
            .try_for_each(|(number, link)| {
                has_wire(link).map_err(|what| format!("link {number}: {what}"))
            })?;
        ensure(self.closing.is_empty(), || {
            format!(
                "flow {} is finished, and is not closed",
                self.closing.first().unwrap_or(&0)
            )
        })?;
        let known = self.flows.len() as u64;
        ensure(known == open, || {
            format!("{known} flows are open, not {open}")
        })?;
        self.links.iter().try_for_each(|link| {
            link.does_not_rest(self.now, &mut self.checks)
                .and_then(|()| link.holds(self.now, false))
        })?;
        let is_late = |state: &PacketState| match state.location {
            Location::Node { since, .. } => since < self.now,
            Location::Queue { .. } => false,
            Location::Wire { latest, .. } => latest < self.now,
        };
        let late = self.packets.iter().find(|(_, state)| is_late(state));
        late.map_or(Ok(()), |(packet, _)| {
            Err(format!(
                "packet {packet} should have gone on before the end"
            ))
        })?;
        self.conserves()
    }

    /// Checks conservation: each packet sent has exactly one end or is on its way. Skipped once a
    /// packet is struck out.
    fn conserves(&self) -> Check {
        let Verified {
            sent,
            delivered,
            dropped,
            lost,
            ..
        } = self.totals;
        let on_their_way = self.packets.len() as u64;
        ensure(
            !self.struck.is_empty() || sent == delivered + dropped + lost + on_their_way,
            || {
                format!(
                    "{sent} packets were sent, {delivered} delivered, {dropped} dropped, {lost} \
                     lost, and {on_their_way} are on their way"
                )
            },
        )
    }
}

/// Checks the nodes' names: none, or one for each node, all different.
fn check_names(names: &[String], nodes: u32) -> Check {
    ensure(names.is_empty() || names.len() == nodes as usize, || {
        format!("{nodes} nodes, and {} names", names.len())
    })?;
    let mut known = BTreeSet::new();
    for name in names {
        // A number stands for a node without a name.
        let is_name = name.parse::<u32>().is_err();
        if is_name && !known.insert(name) {
            return Err(format!("two nodes have the name {name}"));
        }
    }
    Ok(())
}

/// Checks that a link promises in the header exactly what the registry says of its discipline.
/// Returns the queue, or None for a tree.
fn promised(link: &LinkRecord) -> Result<Option<QueueSpec>, String> {
    ensure(!link.preempts || link.decision == 0, || {
        "decisions cost no time on a link that interrupts packets".to_owned()
    })?;
    if let Some(trace) = &link.trace {
        is_legal(trace)?;
        ensure(!link.preempts && link.decision == 0, || {
            "a link with a trace interrupts no packet, and its decisions cost no time".to_owned()
        })?;
    }
    ensure(link.loss <= Billionths::ONE.0, || {
        format!("loss {}: legal range 0 to {}", link.loss, Billionths::ONE.0)
    })?;
    if link
        .queue
        .strip_prefix(TREE)
        .is_some_and(|rest| rest.starts_with(' '))
    {
        let is_kept = !link.preempts && link.order != Order::Fifo;
        ensure(is_kept, || {
            "a tree interrupts no packet, and promises no order but within flows".to_owned()
        })?;
        return Ok(None);
    }
    let queue: QueueSpec = link
        .queue
        .parse()
        .map_err(|error| format!("its queue: {error}"))?;
    let order = Order::of(&queue);
    let preempts = queue.discipline.preempts();
    ensure(link.order == order, || {
        format!(
            "the order of {} is {}, not {}",
            link.queue,
            order.name(),
            link.order.name()
        )
    })?;
    ensure(link.preempts == preempts, || {
        format!(
            "{} {} packets",
            link.queue,
            if preempts {
                "interrupts"
            } else {
                "does not interrupt"
            }
        )
    })?;
    let rate = Rate::from_bits_per_second(link.rate).ok_or_else(|| "no rate".to_owned())?;
    let promise = link.shaper.clone().map(|shaper| ShaperRecord {
        tells_rests: false,
        ..shaper
    });
    ensure(promise == ShaperRecord::of(&queue.discipline, rate), || {
        format!(
            "the header does not say of {} how long it may rest, and how much it sends",
            link.queue
        )
    })?;
    Ok(Some(queue))
}

/// Checks that `number` is the next one, and counts on after it. A number that was skipped is a
/// fault once, because the next line is compared with the larger number.
fn next_number(next: &mut u64, what: &str, number: u64) -> Check {
    let expected = *next;
    *next = expected.max(after(number)?);
    ensure(number >= expected, || {
        format!("there has been a {what} {number} before")
    })?;
    ensure(number == expected, || {
        format!("the next {what} is {expected}: numbers do not skip")
    })
}

/// The least number allowed after `number`.
fn after(number: u64) -> Result<u64, String> {
    number.checked_add(1).ok_or_else(|| {
        format!(
            "number {number} is too large: legal range 0 to {}",
            u64::MAX - 1
        )
    })
}

/// The packet of an event.
const fn packet_of(event: &Event) -> Option<u64> {
    match event {
        Event::Send { packet, .. }
        | Event::Arrive { packet, .. }
        | Event::Transmit { packet, .. }
        | Event::Drop { packet, .. }
        | Event::Lose { packet, .. }
        | Event::Deliver { packet }
        | Event::EdgeDrop { packet } => Some(*packet),
        Event::Open { .. }
        | Event::Rest { .. }
        | Event::Finish { .. }
        | Event::Close { .. }
        | Event::End { .. } => None,
    }
}

/// The link with this number.
fn link_of(links: &mut [LinkState], number: u32) -> Result<&mut LinkState, String> {
    links
        .get_mut(number as usize)
        .ok_or_else(|| format!("there is no link {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::FORMAT;

    /// Two nodes without links.
    fn two_nodes() -> NetworkState {
        let header = Header {
            format: FORMAT,
            nodes: 2,
            names: Vec::new(),
            links: Vec::new(),
        };
        NetworkState::new(&header).unwrap()
    }

    /// A flow from the first node.
    const fn open(flow: u64, to: u32) -> Line {
        Line {
            time: 0,
            event: Event::Open {
                flow,
                from: 0,
                to,
                edge: false,
                longest: None,
            },
        }
    }

    #[test]
    fn a_flow_has_nodes_of_the_network_at_its_ends() {
        let mut network = two_nodes();
        let error = network.check(&open(0, 2)).unwrap_err();
        assert_eq!(error, "an end of flow 0 is no node of the network");
        assert_eq!(network.check(&open(1, 1)), Ok(()));
        let error = network.check(&open(3, 1)).unwrap_err();
        assert_eq!(error, "the next flow is 2: numbers do not skip");
        assert_eq!(network.check(&open(4, 1)), Ok(()), "one fault");
    }

    /// No log can cause this fault. Only an error in `NetworkState` can, so the test makes one.
    #[test]
    fn packets_add_up_in_the_end() {
        for forgets in [false, true] {
            let mut network = two_nodes();
            network.check(&open(0, 1)).unwrap();
            network
                .check(&Line {
                    time: 0,
                    event: Event::Send {
                        packet: 0,
                        flow: 0,
                        len: 1,
                        back: false,
                    },
                })
                .unwrap();
            if forgets {
                network.packets.clear();
            }
            let end = network.check(&Line {
                time: 0,
                event: Event::End { open: 1 },
            });
            assert_eq!(end.is_err(), forgets, "{end:?}");
        }
    }
}

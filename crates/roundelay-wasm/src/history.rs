//! History of a load's run: the state after each call, and the departures under other disciplines
//! and in the fluid server.

use std::collections::{BTreeMap, VecDeque};

use roundelay::Seed;
use roundelay::schedulers::{Discipline, drr, qfq, wf2q_plus};
use roundelay::{DropReason, FlowId, Instant, Limit, Observer, Packet, Port, Scheduler, Share};
use roundelay_metrics::workload::Lags;
use roundelay_reference::GpsServer;
use serde::Serialize;

use crate::load::{Arrival, Flow, Load};
use crate::machine::{Listings, Machine, Rule};
use crate::moves::{Move, of_arrival, of_departure};
use crate::state::State;

/// Buffers hold this many packets. `compare` has the same default for these disciplines, and a load
/// has fewer, so the buffer drops nothing.
const LIMIT: Limit = Limit::of_packets(1000);

/// A run. Times are in picoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// The link's rate in bits per second.
    pub rate: u64,
    /// The flows.
    pub flows: Vec<Flow>,
    /// Each flow's B-WFI in bytes, the proven bound on its lag (Theorem 1, corrected).
    pub bounds: Vec<u64>,
    /// The packets in order of arrival.
    pub packets: Vec<PacketOf>,
    /// The state before the first call.
    pub initial: State,
    /// A step for each arrival and each departure.
    pub steps: Vec<Step>,
    /// When the same arrivals depart under each discipline, in order. `qfq` follows this run's
    /// rule. The others are `drr` and `wf2q_plus`.
    pub departures: BTreeMap<&'static str, Vec<Departure>>,
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PacketOf {
    /// Its flow's index.
    pub flow: usize,
    /// Its length in bytes.
    pub len: u32,
    /// When it arrives.
    pub at: u64,
    /// When the fluid server has sent it.
    pub fluid_end: u64,
}

/// A packet's time on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// The packet's index.
    pub packet: usize,
    /// When the transmission starts.
    pub start: u64,
    /// When the transmission ends.
    pub end: u64,
}

/// A call to the scheduler, and the state after the call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The time.
    pub at: u64,
    /// The packet's index.
    pub packet: usize,
    /// The packet gets the link until this time. If None, the packet arrives.
    pub until: Option<u64>,
    /// What the call changed.
    pub moves: Vec<Move>,
    /// The state after the call.
    pub state: State,
    /// Each flow's waiting packets.
    pub queues: Vec<VecDeque<usize>>,
    /// The packet on the link.
    pub on_link: Option<usize>,
    /// Bytes that the fluid server has sent so far, by flow.
    pub fluid: Vec<f64>,
    /// Bytes sent so far, by flow. While a packet is on the link, only its sent part counts.
    pub sent: Vec<f64>,
    /// Bytes by which each flow lags behind its share of the link.
    pub lags: Vec<f64>,
    /// Each flow's largest lag so far, in bytes.
    pub worst_lags: Vec<f64>,
    /// The paper's claims that this state breaks.
    pub broken: Vec<&'static str>,
}

/// A call during a drive.
enum Call {
    /// Before the first call.
    Begin,
    Arrival(usize),
    Departure(Departure),
}

/// Keeps the last departure and the last drop.
#[derive(Default)]
struct Fates {
    sent: Option<Departure>,
    dropped: Option<(usize, DropReason)>,
}

impl Observer<usize> for Fates {
    fn sent(&mut self, packet: Packet<usize>, start: Instant, end: Instant) {
        self.sent = Some(Departure {
            packet: packet.payload,
            start: start.as_picos(),
            end: end.as_picos(),
        });
    }

    fn dropped(&mut self, packet: Packet<usize>, _now: Instant, reason: DropReason) {
        self.dropped = Some((packet.payload, reason));
    }
}

/// Runs a load through a port, and calls `watch` after each call to the scheduler. The events are
/// `compare`'s. When several fall on the same instant, all packets arrive before the link picks.
fn drive<S: Scheduler<usize>>(
    load: &Load,
    scheduler: S,
    mut watch: impl FnMut(Call, &S),
) -> Result<(), String> {
    let mut port = Port::new(scheduler, LIMIT, load.rate);
    let mut joined = vec![false; load.flows.len()];
    let mut fates = Fates::default();
    if !load.joins_late {
        for flow in 0..load.flows.len() {
            join(load, flow, port.scheduler_mut())?;
        }
        joined.fill(true);
    }
    watch(Call::Begin, port.scheduler());
    let mut arrivals = load.arrivals.iter().enumerate().peekable();
    loop {
        let pick = port.next_event();
        if let Some((number, arrival)) =
            arrivals.next_if(|(_, arrival)| pick.is_none_or(|pick| arrival.at <= pick))
        {
            let flow = arrival.flow.index();
            if !std::mem::replace(&mut joined[flow], true) {
                join(load, flow, port.scheduler_mut())?;
            }
            port.arrive(
                arrival.at,
                Packet::new(arrival.flow, arrival.len, number),
                &mut fates,
            );
            watch(Call::Arrival(number), port.scheduler());
        } else if pick.is_some() {
            port.pick(&mut fates);
            let departure = fates
                .sent
                .take()
                .ok_or("packets wait and none is served: the sets are inconsistent")?;
            watch(Call::Departure(departure), port.scheduler());
        } else {
            return Ok(());
        }
        if let Some((packet, reason)) = fates.dropped {
            return Err(format!("packet {packet} was dropped: {}", reason.name()));
        }
    }
}

/// Tells a scheduler about a flow.
fn join(load: &Load, flow: usize, scheduler: &mut impl Scheduler<usize>) -> Result<(), String> {
    let Flow { name, .. } = &load.flows[flow];
    scheduler
        .set_flow(FlowId(flow as u32), load.flows[flow].config())
        .map_err(|error| format!("flow {name}: {error}"))
}

impl History {
    /// Runs a load under a rule.
    ///
    /// # Errors
    /// The listings cannot have these flows, or the rule leaves packets unserved.
    pub fn of(load: &Load, rule: Rule) -> Result<Self, String> {
        match rule.listing() {
            None => Self::run(load, qfq::Qfq::default()),
            Some(start_time) => Self::run(load, Listings::new(load, start_time)?),
        }
    }

    /// Runs a load on `scheduler`, the shipped QFQ or the paper's listings, and on DRR and WF2Q+ to
    /// compare.
    fn run<S: Machine>(load: &Load, scheduler: S) -> Result<Self, String> {
        let mut recorder = Recorder::new(load);
        drive(load, scheduler, |call, scheduler| {
            recorder.record(call, scheduler.state(load.flows.len()))
        })?;
        let Recorder {
            initial,
            steps,
            departures: own,
            ..
        } = recorder;
        let of_drr = departures(load, drr::Config::default())?;
        let of_wf2q_plus = departures(load, wf2q_plus::Config)?;
        let mut packets = Vec::new();
        for (arrival, fluid_end) in load.arrivals.iter().zip(fluid_ends(load)) {
            packets.push(PacketOf {
                flow: arrival.flow.index(),
                len: arrival.len,
                at: arrival.at.as_picos(),
                fluid_end,
            });
        }
        Ok(Self {
            rate: load.rate.bits_per_second(),
            flows: load.flows.clone(),
            bounds: bounds(load),
            packets,
            initial: initial.ok_or("no calls")?,
            steps,
            departures: BTreeMap::from([
                // Also if the scheduler is the paper's listings, because these are QFQ as well.
                ("qfq", own),
                ("drr", of_drr),
                ("wf2q_plus", of_wf2q_plus),
            ]),
        })
    }
}

/// Makes a step from each call.
struct Recorder<'a> {
    load: &'a Load,
    initial: Option<State>,
    steps: Vec<Step>,
    departures: Vec<Departure>,
    queues: Vec<VecDeque<usize>>,
    /// Bytes sent by flow. A packet on the link counts in full.
    sent: Vec<u64>,
    lags: Lags,
    fluid: GpsServer<f64>,
}

impl<'a> Recorder<'a> {
    fn new(load: &'a Load) -> Self {
        let flows = load.flows.len();
        let weights = load.weights();
        let queues = vec![VecDeque::new(); flows];
        let sent = vec![0; flows];
        let lags = Lags::new(&weights);
        Self {
            load,
            initial: None,
            steps: Vec::new(),
            departures: Vec::new(),
            queues,
            sent,
            lags,
            fluid: fluid(load),
        }
    }

    fn record(&mut self, call: Call, state: State) {
        let before = match (self.steps.last(), &self.initial) {
            (Some(step), _) => &step.state,
            (None, Some(initial)) => initial,
            (None, None) => {
                self.initial = Some(state);
                return;
            }
        };
        match call {
            Call::Begin => {}
            Call::Arrival(packet) => {
                let Arrival { at, flow, len } = self.load.arrivals[packet];
                let moves = of_arrival(flow.index(), before, &state);
                if self.queues[flow.index()].is_empty() {
                    self.lags.becomes_backlogged(
                        flow.index(),
                        self.on_link(at.as_picos()).1.round() as u64,
                    );
                }
                self.queues[flow.index()].push_back(packet);
                self.fluid.arrive(at, flow, len.into());
                self.push(at, packet, None, moves, state);
            }
            Call::Departure(departure) => {
                let Arrival { flow, len, .. } = self.load.arrivals[departure.packet];
                let moves = of_departure(flow.index(), len, before, &state);
                self.queues[flow.index()].retain(|packet| *packet != departure.packet);
                self.lags.serve(
                    flow.index(),
                    len.into(),
                    self.queues[flow.index()].is_empty(),
                );
                self.sent[flow.index()] += u64::from(len);
                self.departures.push(departure);
                let at = Instant::from_picos(departure.start);
                self.fluid.advance(at);
                self.push(at, departure.packet, Some(departure.end), moves, state);
            }
        }
    }

    /// The flow whose packet is on the link at this time, and how many bytes it has yet to send.
    fn on_link(&self, at: u64) -> (Option<usize>, f64) {
        let last = match self.departures.last() {
            Some(last) if last.end > at => last,
            _ => return (None, 0.0),
        };
        let Arrival { flow, len, .. } = self.load.arrivals[last.packet];
        let part = (last.end - at) as f64 / (last.end - last.start) as f64;
        (Some(flow.index()), part * f64::from(len))
    }

    /// Adds a step with the state after a call about this packet. If the call is its departure,
    /// `until` is when it has left the link.
    fn push(
        &mut self,
        at: Instant,
        packet: usize,
        until: Option<u64>,
        moves: Vec<Move>,
        state: State,
    ) {
        let (flow_on_link, unsent_bytes) = self.on_link(at.as_picos());
        let packet_on_link = match flow_on_link {
            Some(_) => self.departures.last().map(|last| last.packet),
            None => None,
        };
        let mut fluid = Vec::new();
        let mut sent = Vec::new();
        let mut lags = Vec::new();
        let mut worst_lags = Vec::new();
        for flow in 0..self.load.flows.len() {
            let unsent = if flow_on_link == Some(flow) {
                unsent_bytes
            } else {
                0.0
            };
            let lag = self.lags.now(flow);
            fluid.push(self.fluid.served(FlowId(flow as u32)));
            sent.push(self.sent[flow] as f64 - unsent);
            lags.push(lag);
            // `worst` takes a lag in only when the next packet begins, so we add the present lag.
            worst_lags.push(self.lags.worst(flow).max(lag));
        }
        self.steps.push(Step {
            at: at.as_picos(),
            packet,
            until,
            moves,
            broken: state.broken(),
            state,
            queues: self.queues.clone(),
            on_link: packet_on_link,
            fluid,
            sent,
            lags,
            worst_lags,
        });
    }
}

/// When a load's packets depart under a discipline.
fn departures<D: Discipline>(load: &Load, discipline: D) -> Result<Vec<Departure>, String> {
    let mut departures = Vec::new();
    let scheduler = discipline
        .build(Seed::new(1))
        .map_err(|error| error.to_string())?;
    drive(load, scheduler, |call, _: &D::Scheduler<usize>| {
        if let Call::Departure(departure) = call {
            departures.push(departure);
        }
    })?;
    Ok(departures)
}

/// Each flow's B-WFI in bytes.
fn bounds(load: &Load) -> Vec<u64> {
    let longest = load.arrivals.iter().map(|arrival| arrival.len).max();
    let least_weight = load.flows.iter().map(|flow| flow.weight).min();
    let mut bounds = Vec::new();
    for flow in &load.flows {
        let share = Share {
            weight: flow.weight,
            total_weight: load.weights().iter().sum(),
            least_weight: least_weight.unwrap_or(1),
            flows: load.flows.len() as u64,
            max_packet_len: flow.longest,
            link_max_packet_len: longest.unwrap_or(0),
            rate: load.rate,
        };
        bounds.push(match qfq::Config.guarantees(&share).b_wfi {
            Some(bound) => bound.value,
            None => u64::MAX,
        });
    }
    bounds
}

/// An empty fluid server with the flows' weights.
fn fluid(load: &Load) -> GpsServer<f64> {
    let mut fluid = GpsServer::new(load.rate);
    for (number, flow) in (0..).zip(&load.flows) {
        fluid.set_weight(FlowId(number), flow.weight);
    }
    fluid
}

/// When the fluid server has sent each packet. We look between two arrivals, and find the time by
/// halving.
fn fluid_ends(load: &Load) -> Vec<u64> {
    let mut ends = vec![0; load.arrivals.len()];
    let mut waiting: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); load.flows.len()];
    let mut accepted = vec![0.0; load.flows.len()];
    let mut server = fluid(load);
    let mut total = 0;
    for (packet, arrival) in load.arrivals.iter().enumerate() {
        server.arrive(arrival.at, arrival.flow, arrival.len.into());
        let flow = arrival.flow.index();
        accepted[flow] += f64::from(arrival.len);
        waiting[flow].push_back((packet, accepted[flow]));
        total += u64::from(arrival.len);
        let until = match load.arrivals.get(packet + 1) {
            Some(next) => next.at,
            // By then the server has sent everything.
            None => arrival.at + load.rate.time_of(total),
        };
        for (flow, waiting) in waiting.iter_mut().enumerate() {
            let flow = FlowId(flow as u32);
            while let Some((packet, bytes)) = waiting.front().copied() {
                let Some(end) = served_at(&server, flow, bytes, until) else {
                    break;
                };
                ends[packet] = end;
                waiting.pop_front();
            }
        }
    }
    ends
}

/// When a flow has been served so many bytes, to a millionth of a byte. None if that is after
/// `until`.
fn served_at(server: &GpsServer<f64>, flow: FlowId, bytes: f64, until: Instant) -> Option<u64> {
    let mut from = server.now().as_picos();
    let mut to = until.as_picos();
    if !has_served(server, flow, bytes, to) {
        return None;
    }
    while from < to {
        let middle = from + (to - from) / 2;
        if has_served(server, flow, bytes, middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    Some(to)
}

fn has_served(server: &GpsServer<f64>, flow: FlowId, bytes: f64, at: u64) -> bool {
    let mut server = server.clone();
    server.advance(Instant::from_picos(at));
    server.served(flow) >= bytes - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(text: &str) -> History {
        History::of(&text.parse().unwrap(), Rule::Shipped).unwrap()
    }

    /// 1000 bytes take 1 ms. Until B ends, the fluid server sends A and B at half the rate each.
    #[test]
    fn the_fluid_server_runs_beside() {
        let history = history("flow A; flow B; A 2000; B 500");
        let ends: Vec<_> = history
            .packets
            .iter()
            .map(|packet| packet.fluid_end.div_ceil(1_000_000))
            .collect();
        assert_eq!(ends, [2500, 1000]);
        let last = history.steps.last().unwrap();
        assert_eq!(
            (last.at, last.fluid[0].round(), last.sent[0], last.sent[1]),
            (2_000_000_000, 1500.0, 2000.0, 0.0)
        );
    }

    /// Steps, queues and moves when two flows send three packets.
    #[test]
    fn a_history_has_a_step_for_each_call() {
        let history = history("flow A weight 4; flow B; A 2048 x 2; B 2048");
        assert_eq!(history.steps.len(), 6);
        let rules = |step: usize| {
            let name = |rule: &Move| {
                serde_json::to_value(rule).unwrap()["rule"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            history.steps[step]
                .moves
                .iter()
                .map(name)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(rules(0), "start slot group state");
        assert_eq!(rules(1), "append");
        assert_eq!(rules(3), "choose next advance group state");
        assert_eq!(
            history.steps[2].queues,
            [VecDeque::from([0, 1]), VecDeque::from([2])]
        );
        assert_eq!(
            history.departures["qfq"]
                .iter()
                .map(|departure| departure.packet)
                .collect::<Vec<_>>(),
            [0, 2, 1]
        );
        assert!(history.steps.iter().all(|step| step.broken.is_empty()));
        assert_eq!(history.bounds, [4 * 2048 + 3277, 4 * 2048 + 820]);
    }
}

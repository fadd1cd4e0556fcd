//! Witness: all of a replay's meters, at a link that a simulation runs.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use roundelay::{
    DropReason, Duration, Ecn, FlowConfig, FlowId, Instant, Observer as _, Packet, Rate,
};

use crate::comparison::DisciplineResult;
use crate::demand::{Backlogs, FULL_PACKET};
use crate::kind::Served;
use crate::lane::{Sorts, Subject};
use crate::meters::{Meters, Note};
use crate::sink::PacketSink;
use crate::urgency::Offer;

/// A packet that arrives at the link.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// A number that no other packet has at the same time.
    pub number: u64,
    /// Its flow.
    pub flow: FlowId,
    /// Bytes on the link.
    pub len: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Whether it is a TCP segment without data and SYN.
    pub is_bare: bool,
    /// Whether its position among the flow's packets counts as order. It does not always, because a
    /// simulation may send an end's data and its acknowledgements as two flows, which overtake each
    /// other.
    pub has_position: bool,
}

/// What a flow offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) bare: u64,
    pub(super) first: Instant,
    pub(super) last: Instant,
    pub(super) backlogs: Backlogs,
}

/// Measures one run of one discipline with one seed.
pub struct Witness {
    meters: Meters,
    asked: Vec<Asked>,
    /// The packets that wait.
    notes: HashMap<u64, (FlowId, Note)>,
    sent: Vec<u64>,
    /// When each flow's last packet left.
    ends: Vec<Instant>,
    /// Until when each flow's bytes count as in time. If empty, until the end of the run.
    expected: Vec<Instant>,
    in_time: Vec<u64>,
    /// How long transfers took, seconds.
    transfers: Vec<(FlowId, f64)>,
    unfinished: Vec<u32>,
    now: Instant,
}

impl fmt::Debug for Witness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Witness")
            .field("flows", &self.asked.len())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl Witness {
    /// A witness at a link with this rate, for this many flows of equal weight.
    pub fn new(rate: Rate, flows: usize) -> Self {
        let mut meters = Meters::new(rate, None);
        let config = FlowConfig {
            weight: 1,
            max_packet_len: FULL_PACKET,
        };
        for flow in (0..flows as u32).map(FlowId) {
            meters.join(Instant::ZERO, flow, config);
        }
        let asked = Asked {
            packets: 0,
            bytes: 0,
            bare: 0,
            first: Instant::ZERO,
            last: Instant::ZERO,
            backlogs: Backlogs::NONE,
        };
        Self {
            meters,
            asked: vec![asked; flows],
            notes: HashMap::new(),
            sent: vec![0; flows],
            ends: vec![Instant::ZERO; flows],
            expected: Vec::new(),
            in_time: vec![0; flows],
            transfers: Vec::new(),
            unfinished: vec![0; flows],
            now: Instant::ZERO,
        }
    }

    pub(super) fn expect(&mut self, ends: Vec<Instant>) {
        self.expected = ends;
    }

    /// Also stores each packet in this sink.
    #[must_use]
    pub fn with_sink(mut self, sink: Option<Box<dyn PacketSink>>) -> Self {
        self.meters.store_in(sink);
        self
    }

    /// Notes that a packet arrives at the link's queue.
    pub fn arrive(&mut self, now: Instant, packet: Arrived) {
        let now = self.forward(now);
        let Arrived {
            number,
            flow,
            len,
            ecn,
            is_bare,
            has_position,
        } = packet;
        let offer = Offer {
            len,
            ecn,
            dscp: 0,
            is_bare,
        };
        let mut note = self.meters.offer(now, flow, offer);
        note.has_position = has_position;
        self.notes.insert(number, (flow, note));
        let backlog = self.meters.ideal_backlog(flow);
        let asked = &mut self.asked[flow.index()];
        if asked.packets == 0 {
            asked.first = now;
        }
        asked.last = now;
        asked.packets += 1;
        asked.bytes += u64::from(len);
        asked.bare += u64::from(is_bare);
        asked.backlogs.count(backlog);
    }

    /// Notes that the link sends a packet between two instants.
    pub fn send<T>(&mut self, number: u64, packet: &Packet<T>, [start, end]: [Instant; 2]) {
        // A preemptive link tells this only at the end.
        let start = self.forward(start);
        let Some((flow, note)) = self.notes.remove(&number) else {
            return;
        };
        let len = u64::from(packet.len);
        self.sent[flow.index()] += len;
        self.ends[flow.index()] = end;
        let is_in_time = match self.expected.get(flow.index()) {
            Some(expected) => end <= *expected,
            None => true,
        };
        if is_in_time {
            self.in_time[flow.index()] += len;
        }
        self.meters.sent(with(packet, flow, note), start, end);
    }

    /// Notes that the link's queue drops a packet.
    pub fn drop<T>(&mut self, number: u64, packet: &Packet<T>, now: Instant, reason: DropReason) {
        let now = self.forward(now);
        if let Some((flow, note)) = self.notes.remove(&number) {
            self.meters.dropped(with(packet, flow, note), now, reason);
        }
    }

    /// Notes that a flow's transfer was complete after this time. None if the run ended before.
    pub fn transfer(&mut self, flow: FlowId, time: Option<Duration>) {
        match time {
            Some(time) => self.transfers.push((flow, time.as_secs_f64())),
            None => self.unfinished[flow.index()] += 1,
        }
    }

    /// The figures of the run, of a discipline whose replay this was, with curves of the `charted`
    /// flows.
    ///
    /// # Errors
    /// The sink cannot store the packets.
    pub(super) fn figures(
        mut self,
        sorts: &Sorts,
        charted: &[usize],
        replayed: &DisciplineResult,
    ) -> Result<DisciplineResult, Box<dyn Error + Send + Sync>> {
        self.meters.close()?;
        let tolerance = self.meters.tolerance();
        let mut flows = Vec::new();
        for flow in (0..self.asked.len() as u32).map(FlowId) {
            let config = self.meters.config(flow);
            // The replay checks proven bounds, so we do not.
            let promised = self.meters.promised(config, |_| Default::default());
            let is_charted = charted.contains(&flow.index());
            let mut result = self
                .meters
                .flow_result(flow, tolerance, promised, is_charted);
            result.bytes_in_time = self.in_time[flow.index()];
            flows.push(result);
        }
        let subject = Subject {
            spec: replayed.spec.clone(),
            name: replayed.name,
            about: replayed.about,
            limit: replayed.limit.clone(),
            weighted: replayed.weighted,
            shares_by_host: replayed.shares_by_host,
            bytes_per_flow: replayed.bytes_per_flow,
            fixed_bytes: replayed.fixed_bytes,
        };
        let mut result = subject.measured(&self.meters, flows, sorts);
        for (outcome, (_, flows)) in result.kinds.iter_mut().zip(&sorts.kinds) {
            outcome.served = Some(self.served(flows));
        }
        Ok(result)
    }

    fn served(&self, flows: &[usize]) -> Served {
        let mut is_member = vec![false; self.asked.len()];
        let delays = self.meters.delays(flows);
        let mut served = Served {
            throughput: self.meters.outcome(flows, &delays).throughput,
            ..Served::default()
        };
        for flow in flows {
            is_member[*flow] = true;
            served.unfinished += f64::from(self.unfinished[*flow]);
        }
        let mut times = Vec::new();
        for (flow, seconds) in &self.transfers {
            if is_member[flow.index()] {
                times.push(*seconds);
            }
        }
        times.sort_by(f64::total_cmp);
        served.transfers = times.len() as f64;
        if !times.is_empty() {
            served.mean = Some(times.iter().sum::<f64>() / times.len() as f64);
            served.p50 = Some(quantile(&times, 50));
            served.p99 = Some(quantile(&times, 99));
        }
        served
    }

    /// How many of a flow's bytes the link has sent.
    pub fn sent_bytes(&self, flow: FlowId) -> u64 {
        self.sent[flow.index()]
    }

    pub(super) fn asked(&self, flow: FlowId) -> Asked {
        self.asked[flow.index()]
    }

    pub(super) fn ends(&self) -> &[Instant] {
        &self.ends
    }

    /// Moves time on. It never goes back, because meters integrate over it.
    fn forward(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }
}

/// The packet in the form that the meters know.
fn with<T>(packet: &Packet<T>, flow: FlowId, note: Note) -> Packet<Note> {
    Packet {
        flow,
        len: packet.len,
        arrival: packet.arrival,
        ecn: packet.ecn,
        priority: packet.priority,
        slack: packet.slack,
        deadline: packet.deadline,
        payload: note,
    }
}

/// The smallest value that at least this many percent of the sorted values do not exceed.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted[rank.max(1) - 1]
}

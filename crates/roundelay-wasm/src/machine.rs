//! The scheduler that a run uses: the shipped QFQ, or the paper's listings with a start-time rule.
//! Both work on the same port.

use std::collections::VecDeque;

use roundelay::schedulers::qfq::Qfq;
use roundelay::{Backlog, Control, Footprint, Instant, Packet, Refusal, Refused, Scheduler};
use roundelay_reference::qfq_listings::{QfqListings, Reading, StartTime};
use serde::Deserialize;

use crate::load::Load;
use crate::state::{Group, Slot, State, Times};

/// Which scheduler runs, and so which start time a flow gets when it becomes backlogged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The shipped scheduler: Eq. 29 for every flow.
    #[default]
    Shipped,
    /// The paper's listings with Eq. 2, as printed in Fig. 4.
    AsPrinted,
    /// The paper's listings with the rule of Linux 3.6.
    Linux,
    /// The paper's listings with Eq. 29 for every flow. If each flow's longest packet has at least
    /// 1088 bytes, the order equals the shipped scheduler's.
    EveryFlow,
}

impl Rule {
    /// The listings' rule. None for the shipped scheduler.
    pub(crate) const fn listing(self) -> Option<StartTime> {
        match self {
            Self::Shipped => None,
            Self::AsPrinted => Some(StartTime::AsPrinted),
            Self::Linux => Some(StartTime::Linux),
            Self::EveryFlow => Some(StartTime::EveryFlow),
        }
    }
}

/// A scheduler by value whose payloads are packet numbers. It shows its state.
pub(crate) trait Machine: Scheduler<usize> {
    /// The state with this many flows.
    fn state(&self, flows: usize) -> State;
}

impl Machine for Qfq<usize> {
    fn state(&self, flows: usize) -> State {
        State::of(&self.view(), flows)
    }
}

/// The listings as a scheduler. Their virtual time counts bytes on the whole link, but a state has
/// bytes per unit of weight. So we divide by the sum of weights.
pub(crate) struct Listings {
    listings: QfqListings,
    queues: Vec<VecDeque<Packet<usize>>>,
    total_weight: u64,
    /// Group 0 of the shipped scheduler has this index in the listings. Its slots have 2 bytes per
    /// unit of weight. If a flow's slots are smaller, this is the lowest such index, so that no
    /// group's index is negative.
    lowest_group: usize,
    backlog: Backlog,
}

impl Listings {
    /// # Errors
    /// Flows join late, or the sum of weights over a weight is not a power of two.
    pub(crate) fn new(load: &Load, rule: StartTime) -> Result<Self, String> {
        let total_weight: u64 = load.weights().iter().sum();
        if load.joins_late {
            return Err(
                "the listings know all flows from the start; expected a load without 'join late'"
                    .to_owned(),
            );
        }
        if let Some(flow) = load
            .flows
            .iter()
            .find(|flow| !total_weight.is_multiple_of(flow.weight.into()))
        {
            let name = &flow.name;
            let weight = flow.weight;
            return Err(format!(
                "flow {name}: share {weight} / {total_weight}; the listings need 1 / 2^n"
            ));
        }
        let mut shares = Vec::new();
        for flow in &load.flows {
            let inverse_share = total_weight / u64::from(flow.weight);
            shares.push((inverse_share, u64::from(flow.longest)));
        }
        let listings = QfqListings::new(Reading::starting(rule), &shares)
            .map_err(|error| error.to_string())?;
        let lowest = (0..shares.len())
            .map(|flow| listings.slot_size(flow).trailing_zeros())
            .min()
            .unwrap_or(0);
        let lowest_group = lowest.min(total_weight.ilog2() + 1) as usize;
        let backlog = Backlog {
            packets: 0,
            bytes: 0,
        };
        Ok(Self {
            listings,
            queues: vec![VecDeque::new(); shares.len()],
            total_weight,
            lowest_group,
            backlog,
        })
    }

    fn units(&self, time: u64) -> f64 {
        time as f64 / self.total_weight as f64
    }

    fn times(&self, flow: usize) -> Times {
        let (start, finish) = self.listings.times(flow);
        let group = self.listings.slot_size(flow).trailing_zeros() as usize - self.lowest_group;
        let start = (self.listings.waiting(flow) > 0).then(|| self.units(start));
        Times {
            group,
            start,
            finish: self.units(finish),
        }
    }
}

impl Scheduler<usize> for Listings {
    fn enqueue(&mut self, _now: Instant, packet: Packet<usize>) -> Result<(), Refused<usize>> {
        let flow = packet.flow.index();
        if flow >= self.queues.len() {
            return Err(packet.refused(Refusal::FlowNumber));
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        self.listings.enqueue(flow, packet.len.into());
        self.queues[flow].push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<usize>> {
        let (flow, _) = self.listings.dequeue()?;
        let packet = self.queues[flow].pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// Returns None, because the listings have no push-out.
    fn evict(&mut self) -> Option<Packet<usize>> {
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl Control for Listings {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

impl Machine for Listings {
    fn state(&self, flows: usize) -> State {
        let mut groups = Vec::new();
        for (set, members) in self.listings.sets() {
            for (index, start, finish) in members {
                let mut slots = Vec::new();
                for (start, flows) in self.listings.slots(index) {
                    let start = self.units(start);
                    slots.push(Slot { start, flows });
                }
                let start = self.units(start);
                let finish = self.units(finish);
                let slot_size = self.units(1 << index);
                groups.push(Group {
                    index: index - self.lowest_group,
                    set,
                    slot_size,
                    start,
                    finish,
                    slots,
                });
            }
        }
        groups.sort_by_key(|group| group.index);
        let flows = (0..flows).map(|flow| Some(self.times(flow))).collect();
        State {
            v: self.units(self.listings.virtual_time()),
            total_weight: self.total_weight,
            groups,
            flows,
        }
    }
}

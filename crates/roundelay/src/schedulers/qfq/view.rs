//! A view of QFQ's state: virtual time, the four sets, groups, slots and flows, copied for drawings
//! and for checks of the order. Scheduling never calls this code.

use alloc::vec::Vec;

use super::Qfq;
use crate::packet::FlowId;
use crate::pool::Storage;
use crate::virtual_time::VirtualTime;

/// A backlogged group's set (QFQ paper, section 4.1.3). Eligible: S_i <= V. Blocked: an eligible
/// group with a higher index finishes earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupSet {
    /// ER: eligible and ready.
    EligibleReady,
    /// IR: ineligible and ready.
    IneligibleReady,
    /// EB: eligible and blocked.
    EligibleBlocked,
    /// IB: ineligible and blocked.
    IneligibleBlocked,
}

impl GroupSet {
    /// All sets, in the order of the scheduler's bitmaps.
    pub const ALL: [Self; 4] = [
        Self::EligibleReady,
        Self::IneligibleReady,
        Self::EligibleBlocked,
        Self::IneligibleBlocked,
    ];

    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EligibleReady => "ER",
            Self::IneligibleReady => "IR",
            Self::EligibleBlocked => "EB",
            Self::IneligibleBlocked => "IB",
        }
    }
}

/// A copy of the scheduler's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// V.
    pub virtual_time: VirtualTime,
    /// The sum of weights that V advances by.
    pub total_weight: u64,
    /// Backlogged groups, lowest index first.
    pub groups: Vec<GroupView>,
    /// Known flows, lowest number first.
    pub flows: Vec<FlowView>,
}

/// A backlogged group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// The index i.
    pub index: usize,
    /// The group's set.
    pub set: GroupSet,
    /// sigma_i, in the unit of [`VirtualTime::bits`].
    pub slot_size: u64,
    /// S_i: start of the first occupied slot.
    pub start: VirtualTime,
    /// F_i = S_i + 2 sigma_i.
    pub finish: VirtualTime,
    /// Occupied slots, earliest first: start, and flows in service order.
    pub slots: Vec<(VirtualTime, Vec<FlowId>)>,
}

/// A known flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowView {
    /// The flow.
    pub flow: FlowId,
    /// Its weight.
    pub weight: u32,
    /// Index of its group: the current one if backlogged, else the last one.
    pub group: usize,
    /// S of the head packet. None: idle.
    pub start: Option<VirtualTime>,
    /// F of the head packet, or of the last packet sent if idle.
    pub finish: VirtualTime,
}

impl<T, P: Storage<T>> Qfq<T, P> {
    /// A copy of the state. Cost: a walk over all flows and slots.
    pub fn view(&self) -> View {
        let flow = |(number, flow): (usize, &super::Flow)| FlowView {
            flow: FlowId(number as u32),
            weight: flow.weight.into(),
            group: flow.entity.group(),
            start: flow.queue.next_len().map(|_| flow.entity.time),
            finish: flow.queue.next_len().map_or(flow.entity.time, |len| {
                flow.entity.finish(flow.span_of(len))
            }),
        };
        let known = self
            .groups
            .entities
            .iter()
            .enumerate()
            .filter(|(_, flow)| flow.weight > 0);
        View {
            virtual_time: self.groups.now(),
            total_weight: self.groups.total_weight(),
            groups: self.groups.view(),
            flows: known.map(flow).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::author::{Control, FlowConfig, FlowId, Instant, Packet, Scheduler, VirtualTime};
    use crate::schedulers::qfq::{GroupSet, Qfq};

    const fn units(bytes_per_weight: u64) -> VirtualTime {
        VirtualTime::from_bits(bytes_per_weight << VirtualTime::FRACTION_BITS)
    }

    /// Flows of weight 4 and 1 with packets of 2048 bytes: slots of 512 and of 2048 bytes per unit
    /// of weight. After a packet of the first flow V is at 2048 / 5.
    #[test]
    fn a_view_has_groups_slots_and_times() {
        let mut qfq = Qfq::<u8>::default();
        for (flow, weight) in [(0, 4), (1, 1)] {
            qfq.set_flow(
                FlowId(flow),
                FlowConfig {
                    weight,
                    max_packet_len: 2048,
                },
            )
            .unwrap();
            (0..2).for_each(|packet| {
                qfq.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 2048, packet))
                    .unwrap()
            });
        }
        assert_eq!(qfq.dequeue(Instant::ZERO).unwrap().flow, FlowId(0));
        let view = qfq.view();
        assert_eq!(
            (
                view.virtual_time.bits() >> VirtualTime::FRACTION_BITS,
                view.total_weight
            ),
            (2048 / 5, 5)
        );
        let [light, heavy] = [&view.groups[1], &view.groups[0]];
        assert_eq!(
            (heavy.set, heavy.start, heavy.finish),
            (GroupSet::IneligibleReady, units(512), units(1536))
        );
        assert_eq!(
            (light.set, light.start, light.finish),
            (GroupSet::EligibleReady, units(0), units(4096))
        );
        assert_eq!(heavy.slots, [(units(512), alloc::vec![FlowId(0)])]);
        assert_eq!(
            (heavy.slot_size, light.index),
            (512 << VirtualTime::FRACTION_BITS, heavy.index + 2)
        );
        assert_eq!(
            (view.flows[0].start, view.flows[0].finish),
            (Some(units(512)), units(1024))
        );
        while qfq.dequeue(Instant::ZERO).is_some() {}
        let idle = qfq.view();
        assert!(idle.groups.is_empty());
        assert_eq!(
            (idle.flows[1].start, idle.flows[1].finish),
            (None, units(4096))
        );
    }
}

//! What a discipline takes of memory, by counting what it allocates.

use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{ConfigError, FlowConfig, FlowId, Footprint, Instant, Packet, Scheduler};

/// Flows and packets of the smallest run. Tables that double hold a power of two without room to spare.
const FEW: u32 = 1 << 11;

/// What a discipline says that it takes, and what it was seen to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprints {
    /// By [`Scheduler::footprint`].
    pub stated: Footprint,
    /// By the allocator.
    pub measured: Footprint,
}

/// Measures a discipline's memory with a counter of the bytes that are allocated, which is the program's to install: a counting allocator
/// would slow down whatever else is measured.
///
/// Three runs tell what is fixed, what is a flow's and what is a packet's: with some flows and packets, with twice the packets, and with
/// twice the flows as well. All evict a packet, since what finds the longest queue sleeps until then.
///
/// # Errors
/// A parameter is out of its range.
pub fn footprints(discipline: &AnyDiscipline, allocated: &dyn Fn() -> i64) -> Result<Footprints, ConfigError> {
    let taken = |flows, packets| discipline.visit(Taken { flows, packets, allocated });
    let (few, packets, flows) = (taken(FEW, FEW)?, taken(FEW, 2 * FEW)?, taken(2 * FEW, 2 * FEW)?);
    let per_packet = (packets.0 - few.0) as f64 / f64::from(FEW);
    let per_flow = (flows.0 - packets.0) as f64 / f64::from(FEW);
    let fixed = few.0 as f64 - f64::from(FEW) * (per_packet + per_flow);
    let measured = Footprint { fixed_bytes: fixed.max(0.0).round() as usize, bytes_per_flow: per_flow.max(0.0).round() as usize };
    Ok(Footprints { stated: few.1, measured })
}

/// Bytes that a scheduler takes with so many flows and packets, and what it says.
struct Taken<'a> {
    flows: u32,
    packets: u32,
    allocated: &'a dyn Fn() -> i64,
}

impl Visitor for Taken<'_> {
    type Output = Result<(i64, Footprint), ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let before = (self.allocated)();
        let mut scheduler = discipline.build::<u32>(1)?;
        for flow in (0..self.flows).map(FlowId) {
            scheduler.set_flow(flow, FlowConfig::DEFAULT)?;
        }
        for number in 0..self.packets {
            // What is refused or dropped takes no memory.
            let _ = scheduler.enqueue(Instant::ZERO, Packet::new(FlowId(number % self.flows), 1000, number));
            while scheduler.take_dropped().is_some() {}
        }
        let _ = scheduler.evict();
        Ok(((self.allocated)() - before + size_of::<D::Scheduler<u32>>() as i64, scheduler.footprint()))
    }
}

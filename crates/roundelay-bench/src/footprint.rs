//! A discipline's memory, measured by counting allocated bytes.

use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, Control, FlowConfig, FlowId, Footprint, Instant, Packet, Scheduler};

/// Flows and packets in the smallest run. With a power of two, tables that double have no room to
/// spare.
const FEW: u32 = 1 << 11;

/// A discipline's memory, as it states it and as we measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprints {
    /// As [`Control::footprint`] reports it.
    pub stated: Footprint,
    /// As the allocator counted it.
    pub measured: Footprint,
}

/// A discipline's memory as it states it, whole and in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedFootprint {
    /// As [`Control::footprint`] reports it.
    pub whole: Footprint,
    /// As [`Control::footprint_parts`] lists it.
    pub parts: Vec<(&'static str, Footprint)>,
}

impl StatedFootprint {
    /// The footprint of a new scheduler by value.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn of(discipline: &AnyDiscipline) -> Result<Self, ConfigError> {
        let scheduler = discipline.build::<u32>(Seed::new(1))?;
        Ok(Self {
            whole: scheduler.footprint(),
            parts: scheduler.footprint_parts(),
        })
    }
}

/// Measures a discipline's memory. `allocated` returns how many bytes are allocated. You install
/// the counting allocator, because one here would slow down every other measurement.
///
/// Three runs tell the fixed part, the part per flow and the part per packet from each other: a few
/// flows and packets, then twice the packets, then twice the flows too. Every run evicts a packet,
/// since the search for the longest queue allocates only at the first eviction.
///
/// # Errors
/// A parameter is out of its range.
pub fn footprints(
    discipline: &AnyDiscipline,
    allocated: &dyn Fn() -> i64,
) -> Result<Footprints, ConfigError> {
    let taken = |flows, packets| taken(discipline, flows, packets, allocated);
    let few = taken(FEW, FEW)?;
    let packets = taken(FEW, 2 * FEW)?;
    let flows = taken(2 * FEW, 2 * FEW)?;
    let per_packet = (packets.0 - few.0) as f64 / f64::from(FEW);
    let per_flow = (flows.0 - packets.0) as f64 / f64::from(FEW);
    let fixed = few.0 as f64 - f64::from(FEW) * (per_packet + per_flow);
    let measured = Footprint {
        fixed_bytes: fixed.max(0.0).round() as usize,
        bytes_per_flow: per_flow.max(0.0).round() as usize,
    };
    Ok(Footprints {
        stated: few.1,
        measured,
    })
}

/// The bytes that a scheduler with `flows` flows and `packets` packets allocates, and the footprint
/// that it states.
fn taken(
    discipline: &AnyDiscipline,
    flows: u32,
    packets: u32,
    allocated: &dyn Fn() -> i64,
) -> Result<(i64, Footprint), ConfigError> {
    let before = allocated();
    let mut scheduler = discipline.build::<u32>(Seed::new(1))?;
    for flow in (0..flows).map(FlowId) {
        scheduler.set_flow(flow, FlowConfig::DEFAULT)?;
    }
    for number in 0..packets {
        // A refused or dropped packet takes no memory.
        let _ = scheduler.enqueue(
            Instant::ZERO,
            Packet::new(FlowId(number % flows), 1000, number),
        );
        while scheduler.take_dropped().is_some() {}
    }
    let _ = scheduler.evict();
    Ok((allocated() - before, scheduler.footprint()))
}

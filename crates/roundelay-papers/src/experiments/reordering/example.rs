//! Figure 2 of the MQFQ paper as a worked example: two packets of 1,000 bytes in a row keep their
//! order; a packet of 1,500 and one of 1,000 do not.
//!
//! The figure's two queues have weights of 1,500 and 2,000; here both have a quantum of 1,500. Flow
//! Y has one queue, has just sent a packet of 300 bytes, and has one of 200 waiting: the queue has
//! 1,000 bytes left of its turn. Flow X has this queue and an empty one.

use roundelay::schedulers::AnyArena;
use roundelay::{FlowId, Instant, Packet, QueueSpec, Scheduler};

use super::super::{Failed, seed_of_queue};

const NOW: Instant = Instant::ZERO;

/// Name and value of a figure.
type Figure = (String, f64);

/// Figures, and a trace of the steps.
pub(super) fn run(spec: &QueueSpec, seed: u64) -> Result<(Vec<Figure>, Vec<String>), Failed> {
    let with_quantum = format!("{} quantum 1500b", spec.discipline).parse::<QueueSpec>();
    let discipline = with_quantum.unwrap_or_else(|_| spec.clone()).discipline;
    let mut figures = Vec::new();
    let mut trace = vec![format!("{discipline}:")];
    for (name, lengths) in [
        ("two of 1000 bytes", [1000, 1000]),
        ("1500 and 1000 bytes", [1500, 1000]),
    ] {
        let mut scheduler = discipline
            .build_arena(seed_of_queue(seed))
            .map_err(Failed::from)?;
        let overtaken = scene(&mut scheduler, lengths, &mut trace);
        figures.push((format!("example: {name}, overtaken"), overtaken));
    }
    Ok((figures, trace))
}

/// X, a flow with two queues, and Y, with one of these twice. Any two flows if the scheduler has no
/// such flows.
fn flows(scheduler: &AnyArena<u32>) -> (FlowId, FlowId) {
    let queues = |flow: &FlowId| scheduler.queues_of(*flow);
    let x = (1..1000)
        .map(FlowId)
        .find(|flow| queues(flow).windows(2).any(|two| two[0] != two[1]))
        .unwrap_or(FlowId(1));
    let y = queues(&x).first().and_then(|home| {
        (1000..100_000)
            .map(FlowId)
            .find(|flow| queues(flow).iter().all(|queue| queue == home))
    });
    (x, y.unwrap_or(FlowId(2)))
}

fn scene(scheduler: &mut AnyArena<u32>, lengths: [u32; 2], trace: &mut Vec<String>) -> f64 {
    let (x, y) = flows(scheduler);
    let name = |flow| if flow == x { 'X' } else { 'Y' };
    trace.push(format!(
        "  X has queues {:?}, Y has {:?}",
        scheduler.queues_of(x),
        scheduler.queues_of(y)
    ));
    let arrive = |scheduler: &mut AnyArena<u32>, trace: &mut Vec<String>, flow, number, len| {
        trace.push(format!("  {}{number} arrives, {len} bytes", name(flow)));
        scheduler
            .enqueue(NOW, Packet::new(flow, len, number))
            .is_ok()
    };
    arrive(scheduler, trace, y, 1, 300);
    arrive(scheduler, trace, y, 2, 200);
    leave(scheduler, trace, x);
    arrive(scheduler, trace, x, 1, lengths[0]);
    arrive(scheduler, trace, x, 2, lengths[1]);
    let order: Vec<_> = std::iter::from_fn(|| leave(scheduler, trace, x))
        .filter(|(flow, _)| *flow == x)
        .map(|(_, number)| number)
        .collect();
    let overtaken = order.windows(2).filter(|two| two[0] > two[1]).count();
    trace.push(format!("  X's packets left as {order:?}"));
    overtaken as f64
}

fn leave(
    scheduler: &mut AnyArena<u32>,
    trace: &mut Vec<String>,
    x: FlowId,
) -> Option<(FlowId, u32)> {
    let packet = scheduler.dequeue(NOW)?;
    trace.push(format!(
        "  {}{} leaves, {} bytes",
        if packet.flow == x { 'X' } else { 'Y' },
        packet.payload,
        packet.len
    ));
    Some((packet.flow, packet.payload))
}

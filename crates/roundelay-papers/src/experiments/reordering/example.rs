//! Figure 2 of the MQFQ paper as a worked example. Two packets of 1,000 bytes in a row keep their
//! order, but a packet of 1,500 and one of 1,000 do not.
//!
//! The figure's two queues have weights of 1,500 and 2,000, while here both have a quantum of
//! 1,500. Flow Y has one queue. It has just sent a packet of 300 bytes, and one of 200 is waiting,
//! so the queue has 1,000 bytes left for its turn. Flow X has this queue and an empty one.

use roundelay::schedulers::AnyArena;
use roundelay::{Control, FlowId, Instant, Packet, QueueSpec, Scheduler};

use super::super::{Failed, seed_of_queue};

const NOW: Instant = Instant::ZERO;

/// A figure's name and value.
type Figure = (String, f64);

/// Figures, and a trace of the steps.
pub(super) fn run(spec: &QueueSpec, seed: u64) -> Result<(Vec<Figure>, Vec<String>), Failed> {
    let with_quantum = format!("{} quantum 1500b", spec.discipline).parse::<QueueSpec>();
    // Disciplines without a quantum stay as they are.
    let discipline = with_quantum.unwrap_or_else(|_| spec.clone()).discipline;
    let mut figures = Vec::new();
    let mut trace = vec![format!("{discipline}:")];
    for (name, lengths) in [
        ("two of 1000 bytes", [1000, 1000]),
        ("1500 and 1000 bytes", [1500, 1000]),
    ] {
        let scheduler = discipline.build_arena(seed_of_queue(seed));
        let scene = Scene::new(scheduler.map_err(Failed::from)?, &mut trace);
        figures.push((format!("example: {name}, overtaken"), scene.play(lengths)));
    }
    Ok((figures, trace))
}

/// A scheduler, and the two flows at it.
struct Scene<'a> {
    scheduler: AnyArena<u32>,
    x: FlowId,
    y: FlowId,
    trace: &'a mut Vec<String>,
}

impl<'a> Scene<'a> {
    /// X, a flow with two queues, and Y, which has one of them as both its queues. If the scheduler
    /// has no such flows, any two will do.
    fn new(scheduler: AnyArena<u32>, trace: &'a mut Vec<String>) -> Self {
        let mut x = FlowId(1);
        for flow in (1..1000).map(FlowId) {
            let queues = scheduler.queues_of(flow);
            if queues.windows(2).any(|two| two[0] != two[1]) {
                x = flow;
                break;
            }
        }
        let mut y = FlowId(2);
        if let Some(home) = scheduler.queues_of(x).first() {
            for flow in (1000..100_000).map(FlowId) {
                if scheduler.queues_of(flow).iter().all(|queue| queue == home) {
                    y = flow;
                    break;
                }
            }
        }
        Self {
            scheduler,
            x,
            y,
            trace,
        }
    }

    /// How many of X's packets leave before an earlier one.
    fn play(mut self, lengths: [u32; 2]) -> f64 {
        self.trace.push(format!(
            "  X has queues {:?}, Y has {:?}",
            self.scheduler.queues_of(self.x),
            self.scheduler.queues_of(self.y)
        ));
        self.arrive(self.y, 1, 300);
        self.arrive(self.y, 2, 200);
        self.leave();
        self.arrive(self.x, 1, lengths[0]);
        self.arrive(self.x, 2, lengths[1]);
        let mut order = Vec::new();
        while let Some((flow, number)) = self.leave() {
            if flow == self.x {
                order.push(number);
            }
        }
        self.trace.push(format!("  X's packets left as {order:?}"));
        order.windows(2).filter(|two| two[0] > two[1]).count() as f64
    }

    fn name(&self, flow: FlowId) -> char {
        if flow == self.x { 'X' } else { 'Y' }
    }

    fn arrive(&mut self, flow: FlowId, number: u32, len: u32) {
        let name = self.name(flow);
        self.trace
            .push(format!("  {name}{number} arrives, {len} bytes"));
        // A refused packet does not leave, so nothing overtakes it.
        _ = self.scheduler.enqueue(NOW, Packet::new(flow, len, number));
    }

    fn leave(&mut self) -> Option<(FlowId, u32)> {
        let packet = self.scheduler.dequeue(NOW)?;
        let name = self.name(packet.flow);
        let number = packet.payload;
        self.trace
            .push(format!("  {name}{number} leaves, {} bytes", packet.len));
        Some((packet.flow, number))
    }
}

//! Collisions of flows in sets of eight queues and without sets, counted beside their expectation.

use roundelay::{FlowId, Instant, Packet, Scheduler as _};

use super::{LEN, build, put};

const QUEUES: usize = 1024;
const SEEDS: u64 = 100;

/// The expected part of `flows` flows that share their queue, in sets of `ways` queues. A set of k
/// flows gives each a queue of its own up to `ways`; each of the others goes to a random one.
fn expected(flows: usize, ways: usize) -> f64 {
    let sets = (QUEUES / ways) as f64;
    let ways = ways as i32;
    // P(k flows in a set): binomial.
    let mut chance = (1.0 - 1.0 / sets).powi(flows as i32);
    let mut sharing = 0.0;
    for k in 0..=flows as i32 {
        if k > ways {
            let alone = f64::from(ways) * (1.0 - 1.0 / f64::from(ways)).powi(k - ways);
            sharing += chance * (f64::from(k) - alone);
        }
        chance *= (flows as f64 - f64::from(k)) / f64::from(k + 1) / (sets - 1.0);
    }
    sharing * sets / flows as f64
}

/// Packets of this order before the first one's flow comes again.
fn before_again(order: &[FlowId]) -> usize {
    let again = order.iter().skip(1).position(|flow| *flow == order[0]);
    again.map_or(order.len(), |place| place + 1)
}

/// The part of `flows` flows that share their queue: mean over seeds and its standard error. Each
/// flow has two packets of a quantum. So the first two turns have the first flow of each queue, and
/// the next two the second flow of each queue that has one.
fn counted(text: &str, flows: usize) -> (f64, f64) {
    let mut parts = Vec::new();
    for seed in 1..=SEEDS {
        let mut scheduler = build(text, seed);
        for packet in 0..2 * flows as u32 {
            let packet = Packet::new(FlowId(packet / 2), LEN, 0);
            put(&mut scheduler, Instant::ZERO, packet);
        }
        let mut order = Vec::new();
        while let Some(packet) = scheduler.dequeue(Instant::ZERO) {
            order.push(packet.flow);
        }
        assert_eq!(order.len(), 2 * flows);
        let queues = before_again(&order);
        let shared = match &order[2 * queues..] {
            [] => 0,
            rest => before_again(rest),
        };
        parts.push((flows - (queues - shared)) as f64 / flows as f64);
    }
    let mean = parts.iter().sum::<f64>() / SEEDS as f64;
    let mut variance = 0.0;
    for part in &parts {
        variance += (part - mean).powi(2) / SEEDS as f64;
    }
    (mean, (variance / SEEDS as f64).sqrt())
}

/// The table of `cake.md`.
#[test]
fn collisions_are_those_of_sets_of_eight() {
    println!("| flows | eight ways: expected | cake | one way: expected | fq_codel |");
    for flows in [50, 100, 200, 400, 800] {
        let [eight, one] = [8, 1].map(|ways| expected(flows, ways));
        let cake = counted("cake besteffort flows", flows);
        let fq_codel = counted("fq_codel flows 1024 quantum 1514", flows);
        println!(
            "| {flows} | {eight:.6} | {:.6} | {one:.4} | {:.4} |",
            cake.0, fq_codel.0
        );
        for (expected, (mean, error), what) in [(eight, cake, "cake"), (one, fq_codel, "fq_codel")]
        {
            assert!(
                (mean - expected).abs() <= 4.0 * error + 2e-4,
                "{what}, {flows} flows: {mean} +- {error}, expected {expected}"
            );
        }
        // A queue without sets does not pass for one with sets.
        assert!((fq_codel.0 - eight).abs() > 4.0 * fq_codel.1 + 2e-4);
    }
}

//! Nanoseconds per packet of the fluid server: `cargo bench -p roundelay-reference`.

use std::hint::black_box;
use std::time::Instant as Clock;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{FlowId, Instant};
use roundelay_reference::GpsServer;

const PACKETS: u64 = 1 << 22;

/// One packet arrives and the service of its flow is read, as in an audit. The load varies around
/// 1.
fn time(flows: u32) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut gps = GpsServer::with_rate(1.0f64);
    (0..flows).for_each(|flow| gps.set_weight(FlowId(flow), flow % 16 + 1));
    let start = Clock::now();
    let mut now = 0;
    for packet in 0..PACKETS {
        let flow = FlowId(random.random_range(0..flows));
        gps.arrive(
            Instant::from_picos(now),
            flow,
            random.random_range(64..1_500),
        );
        now += if packet / 10_000 % 2 == 0 { 700 } else { 850 };
        black_box(gps.served(flow));
    }
    start.elapsed().as_nanos() as f64 / PACKETS as f64
}

fn main() {
    for flows in [10, 1_000, 100_000] {
        println!(
            "GpsServer<f64> {flows:>7} flows {:6.1} ns a packet",
            time(flows)
        );
    }
}

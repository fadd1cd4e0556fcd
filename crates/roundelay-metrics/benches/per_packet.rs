//! Benchmark of the meters, nanoseconds per packet: `cargo bench -p roundelay-metrics`. Panics if
//! the sum is 200 ns or more.

use std::hint::black_box;
use std::time::Instant as Clock;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, FlowId, Instant, Rate};
use roundelay_metrics::{
    BitWfi, Delays, DepartureSeries, JainWhileBacklogged, LevelSeries, Stamp, TimeWfi,
};

const PACKETS: usize = 1 << 22;
const FLOWS: u32 = 10_000;
/// Packets in the system during the run.
const WAITING: usize = 1_000;
const LIMIT_NANOS: f64 = 200.0;

struct Packet {
    flow: FlowId,
    len: u32,
    arrival: Instant,
    departure: Instant,
}

/// A first-in first-out link with a constant backlog of `WAITING` packets; a tenth of the flows
/// send nine tenths of the packets.
fn workload() -> Vec<Packet> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let packet = |number: usize| {
        let flows = if random.random_bool(0.9) {
            FLOWS / 10
        } else {
            FLOWS
        };
        let turn = |number: usize| Instant::from_nanos(800 * number as u64);
        Packet {
            flow: FlowId(random.random_range(0..flows)),
            len: random.random_range(64..1_500),
            arrival: turn(number),
            departure: turn(number + WAITING),
        }
    };
    (0..PACKETS).map(packet).collect()
}

/// Replays arrivals and departures in order of time and returns the nanoseconds per packet.
fn time(
    name: &str,
    packets: &[Packet],
    mut arrive: impl FnMut(usize, &Packet),
    mut depart: impl FnMut(usize, &Packet),
) -> f64 {
    let start = Clock::now();
    for number in 0..packets.len() + WAITING {
        if let Some(packet) = number.checked_sub(WAITING).map(|number| &packets[number]) {
            depart(number - WAITING, packet);
        }
        if let Some(packet) = packets.get(number) {
            arrive(number, packet);
        }
    }
    let nanos = start.elapsed().as_nanos() as f64 / packets.len() as f64;
    println!("{name:<22} {nanos:6.1} ns a packet");
    nanos
}

fn main() {
    let packets = workload();
    let sum = wfi(&packets) + jain(&packets) + delays(&packets) + series(&packets);
    println!("{:<22} {sum:6.1} ns a packet, with {FLOWS} flows", "sum");
    assert!(
        sum < LIMIT_NANOS,
        "the yardsticks cost more than {LIMIT_NANOS} ns a packet"
    );
}

fn wfi(packets: &[Packet]) -> f64 {
    let bits = std::cell::RefCell::new(BitWfi::default());
    let time_wfi = std::cell::RefCell::new(TimeWfi::new(
        Rate::from_bits_per_second(10_000_000_000).expect("not zero"),
    ));
    for flow in (0..FLOWS).map(FlowId) {
        bits.borrow_mut().set_weight(flow, flow.0 % 16 + 1);
        time_wfi
            .borrow_mut()
            .set_weight(Instant::ZERO, flow, flow.0 % 16 + 1);
    }
    let arrive = |_, packet: &Packet| bits.borrow_mut().arrive(packet.flow, packet.len);
    let first = time("BitWfi", packets, arrive, |_, packet| {
        bits.borrow_mut().serve(packet.flow, packet.len)
    });
    let mut stamps: Vec<Option<Stamp>> = vec![None; WAITING];
    let stamps = std::cell::RefCell::new(&mut stamps);
    let second = time(
        "TimeWfi",
        packets,
        |number, packet| {
            stamps.borrow_mut()[number % WAITING] = Some(time_wfi.borrow_mut().arrive(
                packet.arrival,
                packet.flow,
                packet.len,
            ));
        },
        |number, packet| {
            let stamp = stamps.borrow()[number % WAITING].expect("the packet has arrived");
            time_wfi
                .borrow_mut()
                .complete(packet.departure, packet.flow, stamp);
        },
    );
    black_box((
        bits.borrow().worst(FlowId(0)),
        time_wfi.borrow().worst(FlowId(0)),
    ));
    first + second
}

fn jain(packets: &[Packet]) -> f64 {
    let jain = std::cell::RefCell::new(JainWhileBacklogged::default());
    let arrive = |_, packet: &Packet| {
        jain.borrow_mut()
            .arrive(packet.arrival, packet.flow, packet.len)
    };
    let nanos = time("JainWhileBacklogged", packets, arrive, |_, packet| {
        jain.borrow_mut()
            .serve(packet.departure, packet.flow, packet.len);
    });
    black_box(jain.borrow().mean());
    nanos
}

fn delays(packets: &[Packet]) -> f64 {
    let mut delays = vec![Delays::default(); FLOWS as usize];
    let nanos = time(
        "Delays",
        packets,
        |_, _| (),
        |number, packet| {
            // Not the true delay, which would be constant.
            let delay =
                packet.departure.since(packet.arrival).as_picos() / (number as u64 % 97 + 1);
            delays[packet.flow.index()].record(Duration::from_picos(delay));
        },
    );
    black_box(delays[0].quantile(0.5));
    nanos
}

fn series(packets: &[Packet]) -> f64 {
    let mut departures = DepartureSeries::default();
    let first = time(
        "DepartureSeries",
        packets,
        |_, _| (),
        |_, packet| {
            let delay = packet.departure.since(packet.arrival);
            departures.depart(packet.departure, packet.len.into(), delay);
        },
    );
    let levels = std::cell::RefCell::new(LevelSeries::default());
    let arrive = |number: usize, packet: &Packet| {
        levels
            .borrow_mut()
            .level(packet.arrival, number as u64 % 1_000)
    };
    let second = time("LevelSeries", packets, arrive, |number, packet| {
        levels
            .borrow_mut()
            .level(packet.departure, number as u64 % 1_000);
    });
    black_box((
        departures.departures().len(),
        levels.borrow().levels().count(),
    ));
    first + second
}

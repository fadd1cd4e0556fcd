//! Shares of a server whose costs are known only after service: with charges the shares are those
//! of the weights, without charges those of the estimates.

use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Charges, FlowConfig, FlowId, Instant, Packet, Rate, Scheduler};
use roundelay::{Control, Seed};

/// Every request is estimated at this cost, in units of cost.
const ESTIMATE: u32 = 2_000;
/// Actual cost by flow, in units of cost.
const ACTUAL: [u32; 2] = [2_000, 20_000];
/// Requests of a flow that wait at any time: enough to keep the flow backlogged in the fluid server
/// of WFQ and WF2Q while a request of the other flow is at work.
const WAITING: usize = 64;
/// Requests served, of which the first half is not counted.
const REQUESTS: usize = 40_000;

/// Serves two backlogged flows of weights 3 and 1 on `seats` seats, and returns the cost that each
/// has used. A seat takes the next request when its request ends.
///
/// Costs are those of [`ACTUAL`] times `unit`.
fn used(discipline: &AnyDiscipline, seats: usize, unit: u32, is_charged: bool) -> [u64; 2] {
    let mut queue = discipline.build(Seed::new(1)).expect("legal parameters");
    // A unit of cost takes a nanosecond on one seat, as a byte at 8 Gbit/s.
    queue
        .set_link_rate(Rate::from_bits_per_second(8_000_000_000 * seats as u64).expect("not zero"));
    let (mut charges, mut used) = (
        Charges::in_units_of(NonZeroU32::new(unit).expect("not zero")),
        [0; 2],
    );
    let len = |charges: &mut Charges, flow| {
        if is_charged {
            charges.len(FlowId(flow), ESTIMATE * unit, 65_536)
        } else {
            ESTIMATE
        }
    };
    for flow in 0..2 {
        let config = FlowConfig {
            weight: [3, 1][flow as usize],
            max_packet_len: 65_536,
        };
        queue.set_flow(FlowId(flow), config).expect("legal");
        for _ in 0..WAITING {
            queue
                .enqueue(Instant::ZERO, Packet::new(FlowId(flow), ESTIMATE, ()))
                .expect("short enough");
        }
    }
    // End of each request at work, earliest first, with its flow.
    let mut at_work = BinaryHeap::new();
    let mut now = 0;
    for number in 0..REQUESTS {
        while at_work.len() < seats {
            let request = queue
                .dequeue(Instant::from_nanos(now))
                .expect("both flows are backlogged");
            let flow = request.flow.0;
            at_work.push((
                std::cmp::Reverse(now + u64::from(ACTUAL[flow as usize])),
                flow,
            ));
            let next = Packet::new(FlowId(flow), len(&mut charges, flow), ());
            queue
                .enqueue(Instant::from_nanos(now), next)
                .expect("short enough");
        }
        let (std::cmp::Reverse(end), flow) = at_work.pop().expect("a seat is at work");
        now = end;
        if number >= REQUESTS / 2 {
            used[flow as usize] += u64::from(ACTUAL[flow as usize]);
        }
        charges.charge(
            FlowId(flow),
            (i64::from(ACTUAL[flow as usize]) - i64::from(ESTIMATE)) * i64::from(unit),
        );
    }
    used
}

#[test]
fn charges_make_shares_those_of_the_weights() {
    let mut tried = 0;
    for discipline in AnyDiscipline::all()
        .into_iter()
        .filter(|discipline| discipline.info().weighted)
    {
        tried += 1;
        for seats in [1, 8] {
            let share = |[first, second]: [u64; 2]| first as f64 / (first + second) as f64;
            let (with, without) = (
                share(used(&discipline, seats, 1, true)),
                share(used(&discipline, seats, 1, false)),
            );
            assert!(
                (with - 0.75).abs() < 0.01,
                "{discipline}, {seats} seats: {with}"
            );
            let in_units = share(used(&discipline, seats, 1_000, true));
            assert!(
                (in_units - with).abs() < 1e-9,
                "{discipline}, {seats} seats, costs of millions: {in_units}, {with}"
            );
            assert!(
                without < 0.3,
                "{discipline}, {seats} seats: {without} without charges"
            );
        }
    }
    assert!(tried >= 9, "{tried} disciplines");
}

//! WF2Q: always within a packet of the fluid server; and the limits of this guarantee.

use roundelay::schedulers::{Discipline, drr, fifo, scfq, wf2q, wf2q_plus, wfq};
use roundelay_reference::{Number, Rational};

use crate::theorems::recorded::{Record, late, lateness, longest, one_at_a_time, wfi, workloads};
use crate::theorems::workload::{Driven, Workload};

const SEEDS: u64 = 150;

fn drr() -> drr::Config {
    drr::Config::default()
}

#[test]
fn packets_leave_a_packet_after_the_fluid_server_at_most() {
    let own = late(&wf2q::Config, workloads(SEEDS));
    let others = [
        late(&drr(), workloads(SEEDS)),
        late(&fifo::Config, workloads(SEEDS)),
        late(&scfq::Config, workloads(SEEDS)),
    ];
    println!("packets later than the theorem allows: wf2q {own}, drr, fifo, scfq {others:?}");
    assert_eq!(own, 0);
    assert!(others.iter().all(|late| *late > 0), "others must break it");
}

/// How far any flow is behind the fluid server, over L, and ahead, over (1 - phi) L_k.
fn beside<D: Discipline>(discipline: &D) -> (f64, f64) {
    let of = |workload: Workload| {
        let beside = Record::of(&workload, discipline).beside_the_fluid_server();
        let over_bounds = move |(flow, (behind, ahead)): (usize, (f64, f64))| {
            let share = workload.share(flow);
            let own = f64::from(workload.sources[flow].longest())
                * (1.0 - f64::from(share.weight) / share.total_weight as f64);
            (behind / longest(&workload) as f64, ahead / own)
        };
        beside
            .into_iter()
            .enumerate()
            .map(over_bounds)
            .collect::<Vec<_>>()
    };
    workloads(SEEDS)
        .flat_map(of)
        .fold((0.0, 0.0), |worst: (f64, f64), of| {
            (worst.0.max(of.0), worst.1.max(of.1))
        })
}

#[test]
fn service_stays_within_a_packet_of_the_fluid_server() {
    let [own, wfq, drr] = [beside(&wf2q::Config), beside(&wfq::Config), beside(&drr())];
    println!(
        "behind and ahead of the fluid server, of the bounds: wf2q {own:.3?}, wfq {wfq:.3?}, drr {drr:.3?}"
    );
    assert!(own.0 <= 1.0 + 1e-6 && own.1 <= 1.0 + 1e-6, "{own:?}");
    assert!(
        own.0 > 0.9 && own.1 > 0.9,
        "the bounds are hardly tried: {own:?}"
    );
    assert!(wfq.1 > 1.0 && drr.0 > 1.0, "others must break them");
}

/// Decisions; packets sent before the fluid server had begun them; and decisions in which another
/// packet already begun would have ended earlier.
fn out_of_order<D: Discipline>(discipline: &D, seeds: u64) -> [u32; 3] {
    let mut counts = [0; 3];
    // Closer times may be taken for equal: each time is rounded.
    let tolerance = Rational::from_u64(1) / Rational::from_u64(1 << 17);
    for workload in workloads(seeds) {
        Record::of(&workload, discipline).judge(|now, heads| {
            let (sent, others) = (&heads[0], &heads[1..]);
            counts[0] += 1;
            counts[1] += u32::from(&sent.start - now > tolerance);
            let should_go = |other: &&crate::theorems::recorded::Tag| {
                other.start <= *now && &sent.finish - &other.finish > tolerance
            };
            counts[2] += u32::from(others.iter().any(|other| should_go(&other)));
        });
    }
    counts
}

#[test]
fn serves_in_the_order_of_exact_finish_times() {
    let [own, wfq, plus] = [
        out_of_order(&wf2q::Config, 100),
        out_of_order(&wfq::Config, 20),
        out_of_order(&wf2q_plus::Config, 20),
    ];
    println!("decisions, not begun, out of order: wf2q {own:?}, wfq {wfq:?}, wf2q_plus {plus:?}");
    assert!(own[0] > 5_000 && own[1..] == [0, 0], "{own:?}");
    assert!(
        wfq[1] > 0 && plus[1] + plus[2] > 0,
        "others have another order"
    );
}

#[test]
fn latency_stays_within_the_bound() {
    let own = lateness(&wf2q::Config, &wf2q::Config, workloads(SEEDS));
    let others = [
        lateness(&wf2q::Config, &drr(), workloads(SEEDS)),
        lateness(&wf2q::Config, &scfq::Config, workloads(SEEDS)),
    ];
    println!("lateness / bound: wf2q {own:.3}, drr, scfq {others:.2?}");
    assert!(own <= 1.0 && own > 0.8, "{own}");
    assert!(
        others.iter().all(|late| *late > 1.0),
        "others must break it"
    );
}

#[test]
fn t_wfi_stays_within_the_bound() {
    let [own, wfq] = [
        wfi(&wf2q::Config, &wf2q::Config, workloads(1_000)),
        wfi(&wf2q::Config, &wfq::Config, workloads(SEEDS)),
    ]
    .map(|of| of.t_wfi);
    println!("t_wfi / bound: wf2q {own:.3}, wfq {wfq:.3}");
    assert!(own <= 1.0 && own > 0.8, "{own}");
    assert!(wfq > 1.0, "wfq must break it");
}

/// B-WFI of flow 0, the bytes sent for flow 0 and all bytes, while flow 0 always had a packet
/// waiting.
fn always_waiting<D: Discipline>(discipline: &D, cycles: u64) -> (f64, u64, u64) {
    let workload = one_at_a_time(cycles);
    let record = Record::of(&workload, discipline);
    let own: Vec<_> = record
        .sent
        .iter()
        .filter(|packet| packet.flow == 0)
        .collect();
    let waits = own.windows(2).all(|pair| pair[1].arrival <= pair[0].start);
    assert!(
        waits || D::NAME != wf2q::Config::NAME,
        "another packet of the flow waits whenever one is taken"
    );
    let outcome = workload.outcome(discipline);
    (
        outcome.b_wfi_by_bit[0],
        own.iter().map(|packet| packet.len).sum(),
        outcome.total(),
    )
}

/// Two flows of the same weight share the link, and one of the two, always backlogged, is sent two
/// bytes in a hundred: each time that the fluid server has finished its waiting packets, the flow
/// starts anew.
#[test]
fn a_flow_that_always_has_a_packet_may_get_less_than_its_share() {
    for cycles in [10, 100, 1_000] {
        let (wfi, own, total) = always_waiting(&wf2q::Config, cycles);
        let plus = always_waiting(&wf2q_plus::Config, cycles).0;
        println!("{cycles} cycles: {own} of {total} bytes, B-WFI {wfi}, of wf2q_plus {plus}");
        assert!(own * 50 < total * 2, "{own} of {total}");
        assert!(wfi > 700.0 * cycles as f64, "it grows without bound: {wfi}");
        assert!(plus < 3_000.0, "wf2q_plus has a bound: {plus}");
    }
}

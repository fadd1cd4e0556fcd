//! WFQ: within a packet of the fluid server and no closer.

use roundelay::schedulers::{AnyDiscipline, Discipline, drr, fifo, scfq, wf2q, wf2q_plus, wfq};
use roundelay::{Backlog, FlowId, Footprint, Instant, Packet, Rate, Refused, Scheduler};
use roundelay::{Control, Seed};
use roundelay_metrics::Stamp;
use roundelay_reference::{Number, Rational};

use crate::theorems::recorded::{
    Record, half_and_crumbs, late, lateness, lateness_of, longest, one_at_a_time, unfairness, wfi,
    workloads,
};
use crate::theorems::workload::{Driven, RATE, Workload};

const SEEDS: u64 = 150;

fn drr() -> drr::Config {
    drr::Config::default()
}

/// Closer times may be taken for tied: each time is rounded.
fn tolerance() -> Rational {
    Rational::from_u64(1) / Rational::from_u64(1 << 17)
}

#[test]
fn packets_leave_a_packet_after_the_fluid_server_at_most() {
    let own = late(&wfq::Config, workloads(SEEDS));
    let others = [
        late(&drr(), workloads(SEEDS)),
        late(&fifo::Config, workloads(SEEDS)),
        late(&scfq::Config, workloads(SEEDS)),
    ];
    println!("packets later than the theorem allows: wfq {own}, drr, fifo, scfq {others:?}");
    assert_eq!(own, 0);
    assert!(others.iter().all(|late| *late > 0), "others must break it");
}

/// Largest share of a longest packet by which any flow is behind the fluid server, and ahead.
fn beside<D: Discipline>(discipline: &D) -> (f64, f64) {
    let of = |workload: Workload| {
        let beside = Record::of(&workload, discipline).beside_the_fluid_server();
        beside.into_iter().map(move |(behind, ahead)| {
            (
                behind / longest(&workload) as f64,
                ahead / longest(&workload) as f64,
            )
        })
    };
    workloads(SEEDS)
        .flat_map(of)
        .fold((0.0, 0.0), |worst: (f64, f64), of| {
            (worst.0.max(of.0), worst.1.max(of.1))
        })
}

#[test]
fn no_flow_is_a_packet_behind_the_fluid_server() {
    let (own, drr, fifo) = (beside(&wfq::Config), beside(&drr()), beside(&fifo::Config));
    println!(
        "behind and ahead of the fluid server, in longest packets: wfq {own:.3?}, drr {drr:.3?}, fifo {fifo:.3?}"
    );
    assert!(
        own.0 <= 1.0 + 1e-6 && own.0 > 0.9,
        "wfq is {} behind",
        own.0
    );
    assert!(
        own.1 > 5.0,
        "what wf2q is for: wfq gets ahead, here by {}",
        own.1
    );
    assert!(drr.0 > 1.0 && fifo.0 > 1.0, "others must break it");
}

/// Decisions; decisions in which another packet would have finished earlier by more than the
/// tolerance; and ties.
fn disorder(record: &Record) -> [u32; 3] {
    let (mut counts, tolerance) = ([0; 3], tolerance());
    record.judge(|_, heads| {
        let gaps = || {
            heads[1..]
                .iter()
                .map(|other| &other.finish - &heads[0].finish)
        };
        counts[0] += 1;
        counts[1] += u32::from(gaps().any(|gap| gap < -tolerance.clone()));
        counts[2] += u32::from(gaps().any(|gap| gap <= tolerance && gap >= -tolerance.clone()));
    });
    counts
}

fn out_of_order<D: Discipline>(discipline: &D, seeds: u64) -> [u32; 3] {
    let counts = workloads(seeds).map(|workload| disorder(&Record::of(&workload, discipline)));
    counts.fold([0; 3], |sums, counts| {
        std::array::from_fn(|index| sums[index] + counts[index])
    })
}

#[test]
fn serves_in_the_order_of_exact_finish_times() {
    let [own, wf2q, scfq] = [
        out_of_order(&wfq::Config, 100),
        out_of_order(&wf2q::Config, 20),
        out_of_order(&scfq::Config, 20),
    ];
    println!("decisions, out of order, ties: wfq {own:?}, wf2q {wf2q:?}, scfq {scfq:?}");
    assert!(own[0] > 5_000 && own[1] == 0, "{own:?}");
    assert!(wf2q[1] > 0 && scfq[1] > 0, "others have another order");
}

/// Equal flows with equal packets tie all the time, and ties go by number, whatever the weights.
#[test]
fn exact_ties_go_to_the_smaller_number() {
    let mut ties = 0;
    for workload in [half_and_crumbs(7), half_and_crumbs(30)] {
        Record::of(&workload, &wfq::Config).judge(|_, heads| {
            let tied = heads[1..]
                .iter()
                .filter(|other| other.finish == heads[0].finish);
            ties += tied
                .inspect(|other| assert!(other.flow > heads[0].flow))
                .count();
        });
    }
    assert!(ties > 50, "{ties}");
}

#[test]
fn latency_stays_within_the_bound() {
    let own = lateness(&wfq::Config, &wfq::Config, workloads(SEEDS));
    let late = [
        lateness(&wfq::Config, &drr(), workloads(SEEDS)),
        lateness(&wfq::Config, &fifo::Config, workloads(SEEDS)),
    ];
    let scfq = lateness(&wfq::Config, &scfq::Config, workloads(SEEDS));
    println!("lateness / bound: wfq {own:.3}, drr, fifo {late:.2?}, scfq {scfq:.2}");
    assert!(own <= 1.0 && own > 0.8, "{own}");
    assert!(
        late.iter().chain([&scfq]).all(|late| *late > 1.0),
        "others must break it"
    );
}

#[test]
fn fairness_stays_within_the_bound() {
    let own = unfairness(&wfq::Config, &wfq::Config, workloads(2 * SEEDS));
    let fifo = unfairness(&wfq::Config, &fifo::Config, workloads(SEEDS));
    let wf2q = unfairness(
        &wfq::Config,
        &wf2q::Config,
        std::iter::once(one_at_a_time(40)),
    );
    println!(
        "unfairness / bound: wfq {own:.3}, fifo {fifo:.2}, wf2q where packets wait one at a time {wf2q:.2}"
    );
    assert!(own <= 1.0 && own > 0.3, "{own}");
    assert!(fifo > 1.0 && wf2q > 1.0, "others must break it");
}

#[test]
fn wfi_stay_within_the_bounds() {
    let (own, fifo) = (
        wfi(&wfq::Config, &wfq::Config, workloads(1_000)),
        wfi(&wfq::Config, &fifo::Config, workloads(SEEDS)),
    );
    println!("of the bounds: wfq {own:.3?}, fifo {fifo:.3?}");
    assert!(
        own.b_wfi <= 1.0 && own.b_wfi_by_bit <= 1.0 && own.t_wfi <= 1.0,
        "{own:?}"
    );
    assert!(
        own.b_wfi_by_bit > 0.9 && own.t_wfi > 0.5,
        "the bounds are hardly tried: {own:?}"
    );
    assert!(
        fifo.b_wfi_by_bit > 1.0 && fifo.t_wfi > 1.0,
        "others must break them"
    );
}

/// Largest B-WFI in bytes and T-WFI in nanoseconds of the flow with half of the link.
fn of_the_heavy_flow<D: Discipline>(discipline: &D, others: u32) -> [f64; 2] {
    let outcome = half_and_crumbs(others).outcome(discipline);
    [
        outcome.b_wfi_by_bit[0],
        outcome.t_wfi[0] * (RATE / 8) as f64,
    ]
}

/// Bennett and Zhang's figures 1 and 2.
#[test]
fn wfi_grows_with_the_number_of_flows_and_that_of_wf2q_does_not() {
    for others in [10, 20, 40, 80] {
        let [wfq, wf2q, wf2q_plus] = [
            of_the_heavy_flow(&wfq::Config, others),
            of_the_heavy_flow(&wf2q::Config, others),
            of_the_heavy_flow(&wf2q_plus::Config, others),
        ];
        println!(
            "{others} others, B-WFI and T-WFI in packets of 1000: wfq {wfq:.0?}, wf2q {wf2q:.0?}, wf2q_plus {wf2q_plus:.0?}"
        );
        let least = f64::from(others) * 1_000.0 * 0.45;
        assert!(
            wfq[0] >= least && wfq[1] >= least,
            "wfq {wfq:?} with {others} others"
        );
        assert!(
            [wf2q, wf2q_plus]
                .iter()
                .flatten()
                .all(|wfi| *wfi <= 2_500.0),
            "wf2q {wf2q:?}, wf2q_plus {wf2q_plus:?}"
        );
    }
}

/// WFQ with a wrong rate for the link, or none.
struct Misinformed(wfq::Wfq<Stamp>, Option<Rate>);

impl Scheduler<Stamp> for Misinformed {
    fn enqueue(&mut self, now: Instant, packet: Packet<Stamp>) -> Result<(), Refused<Stamp>> {
        self.0.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<Stamp>> {
        self.0.dequeue(now)
    }

    fn evict(&mut self) -> Option<Packet<Stamp>> {
        self.0.evict()
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

impl Control for Misinformed {
    fn set_link_rate(&mut self, _: Rate) {
        if let Some(rate) = self.1 {
            self.0.set_link_rate(rate);
        }
    }

    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }
}

fn misinformed(workload: &Workload, rate: Option<Rate>) -> Record {
    Record::of_scheduler(
        workload,
        Misinformed(workload.scheduler(&wfq::Config), rate),
    )
}

/// Without a rate, packets that arrive during a transmission count as arrivals at its end; with any
/// rate, as arrivals at some time during it: no error is carried beyond the transmission.
#[test]
fn a_wrong_rate_moves_arrivals_within_a_packet() {
    let moved = workloads(60)
        .map(|workload| disorder(&misinformed(&workload, None).with_arrivals_at_ends()));
    let order: [u32; 3] = moved.fold([0; 3], |sums, counts| {
        std::array::from_fn(|index| sums[index] + counts[index])
    });
    println!("decisions, out of order, ties: without a rate, arrivals moved {order:?}");
    assert!(order[0] > 5_000 && order[1] == 0, "{order:?}");
    for (rate, most) in [
        (None, 2.0),
        (Some(1), 1.0),
        (Some(RATE / 10), 1.0),
        (Some(RATE * 10), 2.0),
        (Some(u64::MAX), 2.0),
    ] {
        let rate = rate.and_then(Rate::from_bits_per_second);
        let of = |workload: Workload| {
            lateness_of(&workload, &misinformed(&workload, rate), &wfq::Config)
        };
        let late = workloads(SEEDS).map(of).fold(0.0, f64::max);
        println!("told {rate:?}: lateness / bound {late:.3}");
        assert!(late <= most, "{rate:?}: {late}");
    }
}

/// The port also tells the rate to a scheduler of dynamic type.
#[test]
fn any_scheduler_is_told_the_rate() {
    let order = |record: Record| {
        record
            .sent
            .iter()
            .map(|packet| (packet.flow, packet.start))
            .collect::<Vec<_>>()
    };
    let mut others = 0;
    for workload in workloads(20) {
        let mut any = AnyDiscipline::named("wfq")
            .and_then(|wfq| wfq.build(Seed::new(0)))
            .expect("no parameters");
        for (source, flow) in workload.sources.iter().zip(0..) {
            any.set_flow(FlowId(flow), source.config)
                .expect("a legal flow");
        }
        let own = order(Record::of(&workload, &wfq::Config));
        assert_eq!(own, order(Record::of_scheduler(&workload, any)));
        others += u32::from(own != order(misinformed(&workload, None)));
    }
    assert!(others > 5, "only where it matters does it show");
}

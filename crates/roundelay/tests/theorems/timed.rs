//! Lateness against a link of the flow's own, and fairness between flows: measures beside those of
//! `workload.rs`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use roundelay::schedulers::Discipline;
use roundelay::{Backlog, Control, Footprint, Instant, Packet, Refused, Scheduler};
use roundelay_metrics::Stamp;

use crate::theorems::workload::{Driven, Outcome, Workload};

/// Largest of each flow, in nanoseconds; a byte takes one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    /// The lateness of a packet against a link of the flow's share: after GRC = max(arrival, GRC of
    /// the packet before) + len / r.
    pub(crate) lateness: Vec<f64>,
    /// Difference of service over an interval in which the flow and another one are backlogged,
    /// each as time at its share of the rate.
    pub(crate) unfairness: Vec<f64>,
}

#[derive(Debug, Clone, Default)]
struct Book {
    /// Nanoseconds for a byte at the flow's share.
    per_byte: Vec<f64>,
    last_grc: Vec<f64>,
    waiting: Vec<VecDeque<f64>>,
    served: Vec<f64>,
    /// Of each pair of flows: smallest and largest difference of service since both are backlogged.
    pairs: Vec<Option<(f64, f64)>>,
    times: Times,
}

impl Book {
    fn new(workload: &Workload) -> Self {
        let total = workload.total_weight() as f64;
        let flows = workload.sources.len();
        Self {
            per_byte: workload
                .sources
                .iter()
                .map(|source| total / f64::from(source.config.weight))
                .collect(),
            last_grc: vec![0.0; flows],
            waiting: vec![VecDeque::new(); flows],
            served: vec![0.0; flows],
            pairs: vec![None; flows * flows],
            times: Times {
                lateness: vec![f64::NEG_INFINITY; flows],
                unfairness: vec![0.0; flows],
            },
        }
    }

    fn arrive(&mut self, now: f64, flow: usize, len: f64) {
        let grc = now.max(self.last_grc[flow]) + len * self.per_byte[flow];
        self.last_grc[flow] = grc;
        if self.waiting[flow].is_empty() {
            let backlogged = |other: &usize| !self.waiting[*other].is_empty();
            let others: Vec<_> = (0..self.waiting.len()).filter(backlogged).collect();
            others.into_iter().for_each(|other| self.open(flow, other));
        }
        self.waiting[flow].push_back(grc);
    }

    fn open(&mut self, one: usize, two: usize) {
        let difference = self.served[one] - self.served[two];
        let flows = self.waiting.len();
        self.pairs[one * flows + two] = Some((difference, difference));
        self.pairs[two * flows + one] = Some((-difference, -difference));
    }

    fn serve(&mut self, now: f64, flow: usize, len: f64) {
        let grc = self.waiting[flow].pop_front().expect("it arrived");
        self.times.lateness[flow] = self.times.lateness[flow].max(now + len - grc);
        self.served[flow] += len * self.per_byte[flow];
        let flows = self.waiting.len();
        for other in (0..flows).filter(|other| *other != flow) {
            let difference = self.served[flow] - self.served[other];
            for (pair, difference) in [
                (flow * flows + other, difference),
                (other * flows + flow, -difference),
            ] {
                let Some((least, most)) = &mut self.pairs[pair] else {
                    continue;
                };
                (*least, *most) = (least.min(difference), most.max(difference));
                let unfair = &mut self.times.unfairness[pair / flows];
                *unfair = unfair.max(*most - *least);
            }
            if self.waiting[flow].is_empty() {
                self.pairs[flow * flows + other] = None;
                self.pairs[other * flows + flow] = None;
            }
        }
    }
}

/// A scheduler with a record of its calls and their times.
struct Timed<S> {
    scheduler: S,
    book: Rc<RefCell<Book>>,
}

fn nanos(now: Instant) -> f64 {
    now.as_picos() as f64 / 1e3
}

impl<S: Scheduler<Stamp>> Scheduler<Stamp> for Timed<S> {
    fn enqueue(&mut self, now: Instant, packet: Packet<Stamp>) -> Result<(), Refused<Stamp>> {
        self.book
            .borrow_mut()
            .arrive(nanos(now), packet.flow.index(), packet.len.into());
        self.scheduler.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<Stamp>> {
        let packet = self.scheduler.dequeue(now)?;
        self.book
            .borrow_mut()
            .serve(nanos(now), packet.flow.index(), packet.len.into());
        Some(packet)
    }

    fn evict(&mut self) -> Option<Packet<Stamp>> {
        None
    }

    fn backlog(&self) -> Backlog {
        self.scheduler.backlog()
    }
}

impl<S: Scheduler<Stamp>> Control for Timed<S> {
    fn footprint(&self) -> Footprint {
        self.scheduler.footprint()
    }
}

/// Drives a discipline through a workload, with all measures.
pub(crate) fn run<D: Discipline>(workload: &Workload, discipline: &D) -> (Outcome, Times) {
    let book = Rc::new(RefCell::new(Book::new(workload)));
    let outcome = workload.driven(Timed {
        scheduler: workload.scheduler(discipline),
        book: Rc::clone(&book),
    });
    let times = book.borrow().times.clone();
    (outcome, times)
}

/// Measured over bound, the largest of all flows. Zero without a bound.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ratios {
    pub(crate) b_wfi: f64,
    pub(crate) t_wfi: f64,
    pub(crate) latency: f64,
    pub(crate) fairness: f64,
}

impl Ratios {
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            b_wfi: self.b_wfi.max(other.b_wfi),
            t_wfi: self.t_wfi.max(other.t_wfi),
            latency: self.latency.max(other.latency),
            fairness: self.fairness.max(other.fairness),
        }
    }

    pub(crate) fn all(self) -> [f64; 4] {
        [self.b_wfi, self.t_wfi, self.latency, self.fairness]
    }

    pub(crate) fn are_kept(self) -> bool {
        self.all().into_iter().all(|ratio| ratio <= 1.0)
    }
}

/// How close `discipline` comes in a workload to the bounds of `promised_by`. `rounding` is the
/// part of the bytes served that fixed-point arithmetic may add to each bound.
pub(crate) fn ratios<P: Discipline, D: Discipline>(
    workload: &Workload,
    promised_by: &P,
    discipline: &D,
    rounding: f64,
) -> Ratios {
    let (outcome, times) = run(workload, discipline);
    let slack = rounding * outcome.total() as f64;
    let of_flow = |flow: usize| {
        let promised = workload.guarantees(promised_by, flow);
        let nanos = |bound: Option<roundelay::Bound<roundelay::Duration>>| {
            bound.map_or(f64::INFINITY, |bound| {
                bound.value.as_picos() as f64 / 1e3 + slack + 1e-3
            })
        };
        let bytes = promised
            .b_wfi
            .map_or(f64::INFINITY, |bound| bound.value as f64 + slack);
        Ratios {
            b_wfi: outcome.b_wfi[flow].max(outcome.b_wfi_by_bit[flow]) / bytes,
            t_wfi: (outcome.t_wfi[flow] * 1e9 / nanos(promised.t_wfi)).max(0.0),
            latency: (times.lateness[flow] / nanos(promised.latency)).max(0.0),
            fairness: times.unfairness[flow] / nanos(promised.fairness),
        }
    };
    (0..workload.sources.len())
        .map(of_flow)
        .fold(Ratios::default(), Ratios::max)
}

//! Record of a run, packet by packet, and measures computed from the record: the fluid server
//! beside it, lateness, fairness.
//!
//! Times are in nanoseconds; the link sends a byte in each.

use std::cell::RefCell;
use std::collections::VecDeque;

use roundelay::schedulers::Discipline;
use roundelay::{
    Backlog, Bound, Control, Duration, FlowConfig, FlowId, Footprint, Guarantees, Instant, Packet,
    Rate, Refused, Scheduler,
};
use roundelay_metrics::Stamp;
use roundelay_reference::{GpsServer, Number, Rational};

use crate::theorems::workload::{Driven, RATE, Ratios, Source, Workload};

/// A packet and its transmission start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) flow: usize,
    pub(crate) len: u64,
    pub(crate) arrival: u64,
    pub(crate) start: u64,
}

impl Sent {
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// All packets of a run in the order of service.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) weights: Vec<u32>,
    pub(crate) sent: Vec<Sent>,
}

/// A scheduler that records its calls.
struct Recorder<'a, S> {
    scheduler: S,
    arrivals: Vec<VecDeque<u64>>,
    sent: &'a RefCell<Vec<Sent>>,
}

fn nanos(now: Instant) -> u64 {
    assert!(
        now.as_picos().is_multiple_of(1_000),
        "events are on whole nanoseconds"
    );
    now.as_picos() / 1_000
}

impl<S: Scheduler<Stamp>> Scheduler<Stamp> for Recorder<'_, S> {
    fn enqueue(&mut self, now: Instant, packet: Packet<Stamp>) -> Result<(), Refused<Stamp>> {
        self.arrivals[packet.flow.index()].push_back(nanos(now));
        self.scheduler.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<Stamp>> {
        let packet = self.scheduler.dequeue(now)?;
        let flow = packet.flow.index();
        let arrival = self.arrivals[flow].pop_front().expect("it arrived");
        self.sent.borrow_mut().push(Sent {
            flow,
            len: packet.len.into(),
            arrival,
            start: nanos(now),
        });
        Some(packet)
    }

    fn evict(&mut self) -> Option<Packet<Stamp>> {
        self.scheduler.evict()
    }

    fn backlog(&self) -> Backlog {
        self.scheduler.backlog()
    }
}

impl<S: Scheduler<Stamp>> Control for Recorder<'_, S> {
    fn set_link_rate(&mut self, rate: Rate) {
        self.scheduler.set_link_rate(rate);
    }

    fn footprint(&self) -> Footprint {
        self.scheduler.footprint()
    }
}

/// An event of the link: a packet arrives, or the link starts to send one.
#[derive(Debug, Clone, Copy)]
enum Event {
    Arrives(Sent),
    Starts(Sent),
}

impl Record {
    pub(crate) fn of<D: Discipline>(workload: &Workload, discipline: &D) -> Self {
        Self::of_scheduler(workload, workload.scheduler(discipline))
    }

    /// A run with a scheduler whose flows are already set.
    pub(crate) fn of_scheduler<S: Scheduler<Stamp>>(workload: &Workload, scheduler: S) -> Self {
        let sent = RefCell::new(Vec::new());
        let arrivals = vec![VecDeque::new(); workload.sources.len()];
        workload.driven(Recorder {
            scheduler,
            arrivals,
            sent: &sent,
        });
        let weights = workload
            .sources
            .iter()
            .map(|source| source.config.weight)
            .collect();
        Self {
            weights,
            sent: sent.into_inner(),
        }
    }

    fn total_weight(&self) -> u64 {
        self.weights.iter().copied().map(u64::from).sum()
    }

    fn fluid_server<N: Number>(&self) -> GpsServer<N> {
        let mut gps = GpsServer::new(Rate::from_bits_per_second(RATE).expect("not zero"));
        self.weights
            .iter()
            .zip(0..)
            .for_each(|(weight, flow)| gps.set_weight(FlowId(flow), *weight));
        gps
    }

    /// Events in the order of time, with arrivals before the start of a transmission at the same
    /// instant.
    fn events(&self) -> Vec<Event> {
        let mut arrivals = self.sent.clone();
        arrivals.sort_by_key(|packet| packet.arrival);
        let mut arrivals = arrivals.into_iter().peekable();
        let mut events = Vec::new();
        for packet in &self.sent {
            while let Some(arrival) = arrivals.next_if(|other| other.arrival <= packet.start) {
                events.push(Event::Arrives(arrival));
            }
            events.push(Event::Starts(*packet));
        }
        events
    }

    /// The same record, with each arrival during a transmission moved to the end of the
    /// transmission.
    pub(crate) fn with_arrivals_at_ends(&self) -> Self {
        let end = |at: u64| {
            self.sent
                .iter()
                .find(|packet| packet.start < at && at < packet.end())
                .map_or(at, Sent::end)
        };
        let sent = self
            .sent
            .iter()
            .map(|packet| Sent {
                arrival: end(packet.arrival),
                ..*packet
            })
            .collect();
        Self {
            weights: self.weights.clone(),
            sent,
        }
    }

    /// The number of packets that the fluid server had finished at least `by` and a nanosecond
    /// before they left.
    pub(crate) fn later_than_the_fluid_server(&self, by: u64) -> usize {
        let mut sums = vec![0; self.weights.len()];
        // The time to look, the flow, and the flow's bytes up to and with the packet.
        let look = |packet: &Sent| {
            sums[packet.flow] += packet.len;
            (
                packet.end().saturating_sub(by + 1),
                packet.flow,
                sums[packet.flow],
                packet.arrival,
            )
        };
        let mut looks: Vec<_> = self
            .sent
            .iter()
            .map(look)
            .filter(|(at, _, _, arrival)| at > arrival)
            .collect();
        looks.sort_unstable();
        let mut arrivals = self.sent.clone();
        arrivals.sort_by_key(|packet| packet.arrival);
        let mut arrivals = arrivals.into_iter().peekable();
        let mut gps = self.fluid_server::<f64>();
        let mut late = 0;
        for (at, flow, sum, _) in looks {
            while let Some(packet) = arrivals.next_if(|packet| packet.arrival <= at) {
                gps.arrive(
                    Instant::from_nanos(packet.arrival),
                    FlowId(packet.flow as u32),
                    packet.len,
                );
            }
            gps.advance(Instant::from_nanos(at));
            late += usize::from(gps.served(FlowId(flow as u32)) >= sum as f64 - 1e-6);
        }
        late
    }

    /// Of each flow, the most bytes by which its service was behind the fluid server's, and ahead
    /// of it.
    pub(crate) fn beside_the_fluid_server(&self) -> Vec<(f64, f64)> {
        let mut gps = self.fluid_server::<f64>();
        let mut worst = vec![(0.0f64, 0.0f64); self.weights.len()];
        let mut sent = vec![0; self.weights.len()];
        let mut look = |gps: &GpsServer<f64>, sent: &[u64]| {
            for ((flow, worst), sent) in (0..).zip(&mut worst).zip(sent) {
                let behind = gps.served(FlowId(flow)) - *sent as f64;
                *worst = (worst.0.max(behind), worst.1.max(-behind));
            }
        };
        let mut end = None;
        for event in self.events() {
            // A flow is furthest behind when the link starts a packet, and furthest ahead at the
            // end of the packet.
            let (Event::Arrives(Sent { arrival: at, .. }) | Event::Starts(Sent { start: at, .. })) =
                event;
            if let Some(end) = end.take_if(|end| *end <= at) {
                gps.advance(Instant::from_nanos(end));
                look(&gps, &sent);
            }
            gps.advance(Instant::from_nanos(at));
            match event {
                Event::Arrives(packet) => gps.arrive(
                    Instant::from_nanos(at),
                    FlowId(packet.flow as u32),
                    packet.len,
                ),
                Event::Starts(packet) => {
                    look(&gps, &sent);
                    sent[packet.flow] += packet.len;
                    end = Some(packet.end());
                }
            }
        }
        worst
    }

    /// Of each flow, the largest lateness of a packet after GRC(p) = max(arrival, GRC(p - 1)) + len
    /// / r.
    pub(crate) fn lateness(&self) -> Vec<f64> {
        // Times of a flow of weight w in nanoseconds / w.
        let (mut grc, mut worst) = (
            vec![0i128; self.weights.len()],
            vec![f64::NEG_INFINITY; self.weights.len()],
        );
        for packet in &self.sent {
            let weight = i128::from(self.weights[packet.flow]);
            let grc = &mut grc[packet.flow];
            *grc = (*grc).max(i128::from(packet.arrival) * weight)
                + i128::from(packet.len) * i128::from(self.total_weight());
            let late = (i128::from(packet.end()) * weight - *grc) as f64 / weight as f64;
            worst[packet.flow] = worst[packet.flow].max(late);
        }
        worst
    }

    /// Of each flow, the largest |W_i / r_i - W_j / r_j| with any other flow while both have
    /// packets waiting, in nanoseconds. If such an interval begins during a transmission of one of
    /// the two flows, the rest of the packet counts.
    pub(crate) fn unfairness(&self) -> Vec<f64> {
        let flows = self.weights.len();
        let (mut waiting, mut pairs) = (vec![0u32; flows], vec![Apart::default(); flows * flows]);
        let mut on_link = Sent {
            flow: usize::MAX,
            len: 0,
            arrival: 0,
            start: 0,
        };
        for event in self.events() {
            match event {
                Event::Arrives(packet) => {
                    waiting[packet.flow] += 1;
                    if waiting[packet.flow] == 1 {
                        let rest = on_link.end().saturating_sub(packet.arrival);
                        for other in
                            (0..flows).filter(|other| *other != packet.flow && waiting[*other] > 0)
                        {
                            let (one, two) = (packet.flow.min(other), packet.flow.max(other));
                            pairs[one * flows + two].begin();
                            self.count(
                                &mut pairs[one * flows + two],
                                (one, two),
                                on_link.flow,
                                rest,
                            );
                        }
                    }
                }
                Event::Starts(packet) => {
                    for other in
                        (0..flows).filter(|other| *other != packet.flow && waiting[*other] > 0)
                    {
                        let (one, two) = (packet.flow.min(other), packet.flow.max(other));
                        self.count(
                            &mut pairs[one * flows + two],
                            (one, two),
                            packet.flow,
                            packet.len,
                        );
                    }
                    waiting[packet.flow] -= 1;
                    on_link = packet;
                }
            }
        }
        let mut worst = vec![0.0f64; flows];
        for (index, pair) in pairs.iter().enumerate() {
            let (one, two) = (index / flows, index % flows);
            let scale = self.total_weight() as f64
                / (f64::from(self.weights[one]) * f64::from(self.weights[two]));
            worst[one] = worst[one].max(pair.worst as f64 * scale);
            worst[two] = worst[two].max(pair.worst as f64 * scale);
        }
        worst
    }

    /// W_one / w_one - W_two / w_two, times both weights, when one of the two or another flow is
    /// sent `bytes`.
    fn count(&self, apart: &mut Apart, (one, two): (usize, usize), flow: usize, bytes: u64) {
        let bytes = bytes as i128;
        match flow {
            flow if flow == one => apart.moves(bytes * i128::from(self.weights[two])),
            flow if flow == two => apart.moves(-bytes * i128::from(self.weights[one])),
            _ => {}
        }
    }

    /// Each decision of the link, with exact times of the fluid server: `judge` gets V and the
    /// candidate packets, the chosen one first.
    pub(crate) fn judge(&self, mut judge: impl FnMut(&Rational, &[Tag])) {
        let mut gps = self.fluid_server::<Rational>();
        let mut waiting: Vec<VecDeque<Tag>> = vec![VecDeque::new(); self.weights.len()];
        let mut last = vec![Rational::from_u64(0); self.weights.len()];
        for event in self.events() {
            match event {
                Event::Arrives(packet) => {
                    let (now, flow) = (Instant::from_nanos(packet.arrival), packet.flow);
                    gps.advance(now);
                    if gps.is_idle() {
                        last.fill(Rational::from_u64(0));
                    }
                    let start = gps.virtual_time().max(last[flow].clone());
                    let finish = start.clone()
                        + Rational::from_u64(packet.len)
                            / Rational::from_u64(self.weights[flow].into());
                    last[flow] = finish.clone();
                    waiting[flow].push_back(Tag {
                        flow,
                        start,
                        finish,
                    });
                    gps.arrive(now, FlowId(flow as u32), packet.len);
                }
                Event::Starts(packet) => {
                    gps.advance(Instant::from_nanos(packet.start));
                    let sent = waiting[packet.flow].front().cloned();
                    let others = waiting
                        .iter()
                        .enumerate()
                        .filter(|(flow, _)| *flow != packet.flow)
                        .filter_map(|(_, queue)| queue.front());
                    let heads: Vec<_> = sent.into_iter().chain(others.cloned()).collect();
                    judge(&gps.virtual_time(), &heads);
                    waiting[packet.flow].pop_front();
                }
            }
        }
    }
}

/// S and F of a packet, exactly.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) flow: usize,
    pub(crate) start: Rational,
    pub(crate) finish: Rational,
}

/// The difference of service of two flows since both have packets.
#[derive(Debug, Clone, Copy, Default)]
struct Apart {
    now: i128,
    least: i128,
    most: i128,
    worst: i128,
}

impl Apart {
    const fn begin(&mut self) {
        *self = Self {
            now: 0,
            least: 0,
            most: 0,
            worst: self.worst,
        };
    }

    fn moves(&mut self, by: i128) {
        self.now += by;
        self.least = self.least.min(self.now);
        self.most = self.most.max(self.now);
        self.worst = self.worst.max(self.most - self.least);
    }
}

/// Bennett and Zhang's example: flow 0 has half of the link, `others` flows the rest. Each has a
/// packet at time zero, flow 0 as many as all others together, and more that arrive at the end of
/// its burst.
pub(crate) fn half_and_crumbs(others: u32) -> Workload {
    let len = 1_000;
    let mut heavy = Source::burst(others, len, others as usize);
    heavy.arrivals.extend([u64::from(others * len) - 1; 2]);
    let lights = (0..others).map(|_| Source::burst(1, len, 1));
    Workload {
        name: "half_and_crumbs",
        seed: 0,
        sources: std::iter::once(heavy).chain(lights).collect(),
    }
}

/// Flow 0 always has a packet waiting, hardly ever two, with arrivals at WF2Q's departures; flow 1
/// has long packets. Both have the same weight.
pub(crate) fn one_at_a_time(cycles: u64) -> Workload {
    let (short, long) = (10, 1_500);
    let cycle = |number: u64| {
        (1..=3).map(move |turn| number * (long + 3 * short) + long + turn * short - 1)
    };
    let arrivals = [0, 0]
        .into_iter()
        .chain((0..cycles).flat_map(cycle))
        .collect();
    let config = FlowConfig {
        weight: 1,
        max_packet_len: 1_500,
    };
    let one = Source {
        config,
        arrivals,
        ..Source::burst(1, short as u32, 0)
    };
    let two = Source {
        config,
        ..Source::burst(1, long as u32, cycles as usize + 1)
    };
    Workload {
        name: "one_at_a_time",
        seed: 0,
        sources: vec![one, two],
    }
}

/// Light flows have a long packet each, one of them on the link, when a heavy flow arrives: by
/// number, all light flows go first.
pub(crate) fn late_to_the_table(others: u32) -> Workload {
    let lights = (0..others).map(|_| Source::burst(1, 1_500, 1));
    let heavy = Source {
        arrivals: vec![1],
        ..Source::burst(100, 64, 0)
    };
    Workload {
        name: "late_to_the_table",
        seed: 0,
        sources: lights.chain([heavy]).collect(),
    }
}

/// Workloads of all kinds, the adversarial ones first.
pub(crate) fn workloads(seeds: u64) -> impl Iterator<Item = Workload> {
    [
        half_and_crumbs(20),
        one_at_a_time(10),
        late_to_the_table(12),
    ]
    .into_iter()
    .chain((0..seeds).map(Workload::random))
}

/// Largest measured nanoseconds of all flows over the bound of `promises`.
fn worst_ratio<P: Discipline>(
    workload: &Workload,
    measured: &[f64],
    promises: &P,
    bound: impl Fn(Guarantees) -> Option<Bound<Duration>>,
) -> f64 {
    let nanos = |flow| {
        bound(workload.guarantees(promises, flow))
            .expect("proven")
            .value
            .as_picos() as f64
            / 1e3
    };
    measured
        .iter()
        .enumerate()
        .map(|(flow, value)| value / nanos(flow))
        .fold(0.0, f64::max)
}

/// Largest lateness over the latency bound of `promises`.
pub(crate) fn lateness<P: Discipline, D: Discipline>(
    promises: &P,
    discipline: &D,
    workloads: impl Iterator<Item = Workload>,
) -> f64 {
    workloads
        .map(|workload| lateness_of(&workload, &Record::of(&workload, discipline), promises))
        .fold(0.0, f64::max)
}

/// The same of one run.
pub(crate) fn lateness_of<P: Discipline>(
    workload: &Workload,
    record: &Record,
    promises: &P,
) -> f64 {
    worst_ratio(workload, &record.lateness(), promises, |bounds| {
        bounds.latency
    })
}

/// Largest unfairness over the fairness bound of `promises`.
pub(crate) fn unfairness<P: Discipline, D: Discipline>(
    promises: &P,
    discipline: &D,
    workloads: impl Iterator<Item = Workload>,
) -> f64 {
    let of = |workload: Workload| {
        worst_ratio(
            &workload,
            &Record::of(&workload, discipline).unfairness(),
            promises,
            |bounds| bounds.fairness,
        )
    };
    workloads.map(of).fold(0.0, f64::max)
}

/// Largest B-WFI and T-WFI over the bounds of `promises`.
pub(crate) fn wfi<P: Discipline, D: Discipline>(
    promises: &P,
    discipline: &D,
    workloads: impl Iterator<Item = Workload>,
) -> Ratios {
    workloads
        .map(|workload| workload.ratios(promises, &workload.outcome(discipline), 0.0))
        .fold(Ratios::default(), Ratios::max)
}

/// Packets that left more than the longest packet's time after the fluid server had finished them.
pub(crate) fn late<D: Discipline>(
    discipline: &D,
    workloads: impl Iterator<Item = Workload>,
) -> usize {
    workloads
        .map(|workload| {
            Record::of(&workload, discipline).later_than_the_fluid_server(longest(&workload))
        })
        .sum()
}

/// L.
pub(crate) fn longest(workload: &Workload) -> u64 {
    workload.share(0).link_max_packet_len.into()
}

/// The measures detect faults in packets written by hand.
#[test]
fn yardsticks_see_what_they_are_for() {
    let sent = |flow, len, arrival, start| Sent {
        flow,
        len,
        arrival,
        start,
    };
    // Flow 0 is sent 300 bytes while flow 1's 100 bytes wait; the fluid server finishes the latter
    // at 200.
    let record = Record {
        weights: vec![1, 1],
        sent: vec![
            sent(0, 100, 0, 0),
            sent(0, 100, 0, 100),
            sent(0, 100, 0, 200),
            sent(1, 100, 0, 300),
            sent(0, 100, 0, 400),
        ],
    };
    assert_eq!(
        record.unfairness(),
        [600.0, 600.0],
        "300 bytes at half of the link"
    );
    assert_eq!(record.lateness(), [-100.0, 200.0]);
    assert_eq!(
        (
            record.later_than_the_fluid_server(199),
            record.later_than_the_fluid_server(200)
        ),
        (1, 0)
    );
    let [(_, ahead), (behind, _)] = record.beside_the_fluid_server()[..] else {
        panic!("two flows")
    };
    assert_eq!((ahead, behind), (100.0, 100.0));
    let mut seen = Vec::new();
    record.judge(|now, heads| {
        seen.push((
            now.approximate(),
            heads
                .iter()
                .map(|tag| tag.finish.approximate())
                .collect::<Vec<_>>(),
        ))
    });
    assert_eq!(seen[3], (200.0, vec![100.0, 400.0]));
}

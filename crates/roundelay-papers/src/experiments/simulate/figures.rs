//! Figures of a simulated run, as rows: throughput by rank, by group, by queue and by round trip.

use std::collections::BTreeMap;

use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::AnyArena;
use roundelay::{FlowId, Scheduler};
use roundelay_sim::scenario::{FlowResult, GroupResult, Results, Scenario};
use roundelay_sim::{LinkClass, LinkConfig, LinkId};

use super::super::{Failed, Row};
use super::{Count, Simulate};

/// A run and its plan.
pub(super) struct Figures<'a> {
    pub(super) run: &'a str,
    pub(super) plan: &'a Simulate,
    pub(super) scenario: &'a Scenario,
    pub(super) results: &'a Results,
    /// The seed of the run's queues.
    pub(super) seed: Seed,
}

impl Figures<'_> {
    pub(super) fn rows(&self) -> Result<Vec<Row>, Failed> {
        let mut rows: Vec<_> = self
            .results
            .groups
            .iter()
            .flat_map(|group| self.of_group(group))
            .collect();
        rows.extend(self.by_flow());
        rows.extend(self.ranks());
        rows.extend(
            self.plan
                .counts
                .iter()
                .map(|(name, count)| self.scalar(name, self.number(count))),
        );
        let core = self
            .results
            .classes
            .iter()
            .find(|class| class.class == "core");
        rows.extend(core.map(|core| self.scalar("utilisation", core.busiest)));
        rows.extend(self.by_queues()?);
        if self.plan.by_round_trip {
            rows.extend(self.by_round_trip()?);
        }
        Ok(rows)
    }

    fn scalar(&self, figure: impl Into<String>, value: f64) -> Row {
        Row::scalar(self.run, figure, value)
    }

    fn point(&self, figure: &str, x: f64, value: f64) -> Row {
        Row::point(self.run, figure, x, value)
    }

    /// Flows open until the end.
    fn flows(&self) -> impl Iterator<Item = &FlowResult> {
        self.results.flows.iter().filter(|flow| flow.open)
    }

    /// Throughputs of a group's flows, or of all, in ascending order, in kbit/s.
    fn rates(&self, group: Option<&str>) -> Vec<f64> {
        let flows = self
            .flows()
            .filter(|flow| group.is_none_or(|group| *flow.group == *group));
        let mut rates: Vec<_> = flows.map(kbit).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// In kbit/s.
    fn fair_share(&self) -> f64 {
        self.core().map_or(0.0, |(_, link)| {
            link.rate.bits_per_second() as f64 / 1e3 / self.flows().count() as f64
        })
    }

    /// The first link between core routers: a dumbbell's bottleneck.
    fn core(&self) -> Option<(LinkId, &LinkConfig)> {
        let links = (0..)
            .map(LinkId)
            .zip(self.scenario.topology.network.links());
        links
            .into_iter()
            .find(|(_, link)| link.class == LinkClass::Core)
    }

    fn of_group(&self, group: &GroupResult) -> Vec<Row> {
        let name = &group.name;
        let optional = [
            ("throughput, kbit/s", Some(group.throughput / 1e3)),
            ("delay, ms", group.delay.mean.map(|delay| delay * 1e3)),
            (
                "delay deviation, ms",
                group.delay_deviation.map(|delay| delay * 1e3),
            ),
            ("delay max, ms", group.delay.max.map(|delay| delay * 1e3)),
            ("loss", group.loss),
            ("Jain's index", group.jain),
        ];
        let mut rows: Vec<_> = optional
            .into_iter()
            .filter_map(|(figure, value)| Some(self.scalar(format!("{name} {figure}"), value?)))
            .collect();
        if let [least, .., most] = self.rates(Some(name))[..] {
            rows.push(self.scalar(format!("{name} least, kbit/s"), least));
            rows.push(self.scalar(format!("{name} most, kbit/s"), most));
            rows.extend(self.quarters(name));
            let below = Some(self.fair_share() / 10.0);
            let count = Count {
                group: Some(name.clone()),
                from: 0.0,
                below,
            };
            rows.push(self.scalar(
                format!("{name} flows below a tenth of fair"),
                self.number(&count),
            ));
        }
        rows
    }

    /// Of a group of four flows or more: the mean of the slowest quarter, and what the fastest
    /// quarter gets together, less what all others get together. The difference falls from one run
    /// to another if the fastest quarter loses more than all others.
    fn quarters(&self, group: &str) -> Vec<Row> {
        let rates = self.rates(Some(group));
        let quarter = rates.len() / 4;
        if quarter == 0 {
            return Vec::new();
        }
        let sum = |rates: &[f64]| rates.iter().sum::<f64>();
        let (others, fastest) = rates.split_at(rates.len() - quarter);
        vec![
            self.scalar(
                format!("{group} slowest quarter, kbit/s"),
                sum(&rates[..quarter]) / quarter as f64,
            ),
            self.scalar(
                format!("{group} fastest quarter less the others, kbit/s"),
                sum(fastest) - sum(others),
            ),
        ]
    }

    fn by_flow(&self) -> Vec<Row> {
        self.flows()
            .map(|flow| self.point("flows, kbit/s", flow.number as f64, kbit(flow)))
            .collect()
    }

    fn ranks(&self) -> Vec<Row> {
        let rates = self.rates(None);
        let fair = self.fair_share();
        let (Some(least), Some(most)) = (rates.first(), rates.last()) else {
            return Vec::new();
        };
        let per_cent = |rank: u32| 100.0 * f64::from(rank) / rates.len() as f64;
        let ranked = || (1_u32..).zip(&rates);
        let mut rows: Vec<_> = ranked()
            .map(|(rank, rate)| self.point("ranks, kbit/s", rank.into(), *rate))
            .collect();
        rows.extend(
            ranked()
                .map(|(rank, rate)| self.point("ranks, fair shares", per_cent(rank), rate / fair)),
        );
        rows.extend([
            self.scalar("least, kbit/s", *least),
            self.scalar("most, kbit/s", *most),
        ]);
        rows.push(self.scalar("deviation, kbit/s", deviation(&rates)));
        for (figure, from, below) in [
            ("flows below a tenth of fair", 0.0, Some(fair / 10.0)),
            ("flows below half of fair", 0.0, Some(fair / 2.0)),
            ("flows above twice fair", 2.0 * fair, None),
        ] {
            rows.push(self.scalar(
                figure,
                self.number(&Count {
                    group: None,
                    from,
                    below,
                }),
            ));
        }
        rows
    }

    fn number(&self, count: &Count) -> f64 {
        let rates = self.rates(count.group.as_deref());
        rates
            .iter()
            .filter(|rate| **rate >= count.from && count.below.is_none_or(|below| **rate < below))
            .count() as f64
    }

    /// The core's scheduler in its initial state, for the hashes of flows into queues.
    fn scheduler(&self) -> Result<Option<AnyArena<()>>, Failed> {
        let Some((id, link)) = self.core() else {
            return Ok(None);
        };
        let seed = self.seed.derive(Purpose::Queue, id.0.into());
        link.queue
            .discipline
            .build_arena(seed)
            .map(Some)
            .map_err(Failed::from)
    }

    fn by_queues(&self) -> Result<Vec<Row>, Failed> {
        let Some(scheduler) = self.scheduler()? else {
            return Ok(Vec::new());
        };
        let queues: Vec<_> = self
            .flows()
            .map(|flow| {
                (
                    flow,
                    distinct(scheduler.queues_of(FlowId(flow.number as u32))),
                )
            })
            .collect();
        if queues.iter().all(|(_, queues)| queues.is_empty()) {
            return Ok(Vec::new());
        }
        let mut means: BTreeMap<(&str, usize), Mean> = BTreeMap::new();
        for (flow, queues) in &queues {
            means
                .entry((&flow.group, queues.len()))
                .or_default()
                .add(kbit(flow));
        }
        let name = |group, queues| format!("{group} throughput with {queues} queues, kbit/s");
        let mut rows: Vec<_> = means
            .into_iter()
            .filter_map(|((group, queues), mean)| {
                Some(self.scalar(name(group, queues), mean.value()?))
            })
            .collect();
        rows.extend(
            self.plan
                .greedy
                .iter()
                .flat_map(|greedy| self.by_meetings(greedy, &queues)),
        );
        Ok(rows)
    }

    /// Rows for the other groups' flows, by the number of queues shared with the greedy group.
    fn by_meetings(&self, greedy: &str, queues: &[(&FlowResult, Vec<usize>)]) -> Vec<Row> {
        let is_greedy = |flow: &FlowResult| *flow.group == *greedy;
        let theirs: Vec<_> = queues
            .iter()
            .filter(|(flow, _)| is_greedy(flow))
            .flat_map(|(_, queues)| queues)
            .collect();
        let mut means = [Mean::default(); 3];
        for (flow, queues) in queues.iter().filter(|(flow, _)| !is_greedy(flow)) {
            let shared = queues.iter().filter(|queue| theirs.contains(queue)).count();
            let kind = if shared == 0 {
                0
            } else {
                1 + usize::from(shared == queues.len())
            };
            means[kind].add(kbit(flow));
        }
        let kinds = ["none", "some", "all"].into_iter().zip(&means);
        let mut rows: Vec<_> = kinds
            .filter_map(|(kind, mean)| {
                Some(self.scalar(
                    format!("others meeting {kind} of its queues, kbit/s"),
                    mean.value()?,
                ))
            })
            .collect();
        rows.push(self.scalar("flows meeting all of its queues", means[2].count));
        rows
    }

    fn by_round_trip(&self) -> Result<Vec<Row>, Failed> {
        let mut rows = Vec::new();
        let mut by_propagation = Vec::new();
        let mut by_whole = Vec::new();
        for flow in self.flows() {
            let back = self.one_way(&flow.to, &flow.from)?;
            let round_trip = self.one_way(&flow.from, &flow.to)? + back;
            rows.push(self.point(
                "throughput by round trip, kbit/s",
                (round_trip * 1e6).round() / 1e3,
                kbit(flow),
            ));
            if flow.throughput <= 0.0 || round_trip <= 0.0 {
                continue;
            }
            by_propagation.push((round_trip.ln(), flow.throughput.ln()));
            if let Some(there) = flow.delay {
                by_whole.push(((there + back).ln(), flow.throughput.ln()));
            }
        }
        for (name, points) in [
            ("round trip", by_propagation),
            ("whole round trip", by_whole),
        ] {
            let Some(line) = Line::through(&points) else {
                continue;
            };
            rows.push(self.scalar(format!("{name} exponent"), line.slope));
            rows.push(self.scalar(format!("{name} correlation"), line.correlation));
        }
        Ok(rows)
    }

    /// Propagation delay in seconds.
    fn one_way(&self, from: &str, to: &str) -> Result<f64, Failed> {
        let network = &self.scenario.topology.network;
        let node = |name: &str| {
            network
                .named(name)
                .ok_or_else(|| Failed(format!("{name}: no such node")))
        };
        let route = network
            .route(node(from)?, node(to)?)
            .map_err(Failed::from)?;
        Ok(route
            .iter()
            .map(|link| network.links()[link.0 as usize].delay.as_secs_f64())
            .sum())
    }
}

fn kbit(flow: &FlowResult) -> f64 {
    flow.throughput / 1e3
}

fn distinct(mut queues: Vec<usize>) -> Vec<usize> {
    queues.sort_unstable();
    queues.dedup();
    queues
}

/// Standard deviation of all values (not of a sample).
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count)
        .sqrt()
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// Least-squares line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) correlation: f64,
}

impl Line {
    /// None if all points are equal along either axis.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let x = mean(|point| point.0);
        let y = mean(|point| point.1);
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            points
                .iter()
                .map(|point| of(point.0 - x, point.1 - y))
                .sum::<f64>()
        };
        let xx = sum(&|x, _| x * x);
        let yy = sum(&|_, y| y * y);
        let xy = sum(&|x, y| x * y);
        (xx > 0.0 && yy > 0.0).then(|| Self {
            slope: xy / xx,
            correlation: xy / (xx * yy).sqrt(),
        })
    }
}

//! Figures of a simulated run, as rows: throughput by rank, by group, by queue and by round trip.

use std::collections::BTreeMap;

use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::AnyArena;
use roundelay::{Control, FlowId};
use roundelay_sim::scenario::{FlowResult, GroupResult, Results, Scenario};
use roundelay_sim::{LinkClass, LinkConfig, LinkId};
use serde::Deserialize;

use super::super::{Failed, Row};
use crate::figures::{deviation_of_all, mean};

/// Counts flows of a group, or of all flows, with a throughput in a range.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Count {
    /// None: all groups.
    group: Option<String>,
    /// In kbit/s, inclusive.
    #[serde(default)]
    from: f64,
    /// In kbit/s, exclusive. None: no upper limit.
    below: Option<f64>,
}

/// A run, and the figures that its plan asks for beside those of every run.
pub(super) struct Figures<'a> {
    pub(super) run: &'a str,
    pub(super) counts: &'a BTreeMap<String, Count>,
    /// The group for the rows of `others meeting .. of its queues`.
    pub(super) greedy: Option<&'a str>,
    pub(super) by_round_trip: bool,
    pub(super) scenario: &'a Scenario,
    pub(super) results: &'a Results,
    /// The seed of the run's queues.
    pub(super) seed: Seed,
}

impl Figures<'_> {
    pub(super) fn rows(&self) -> Result<Vec<Row>, Failed> {
        let mut rows = Vec::new();
        for group in &self.results.groups {
            rows.extend(self.of_group(group));
        }
        for flow in self.flows() {
            rows.push(self.point("flows, kbit/s", flow.number as f64, kbit(flow)));
        }
        rows.extend(self.ranks());
        for (name, count) in self.counts {
            rows.push(self.scalar(name, self.number(count)));
        }
        let mut classes = self.results.classes.iter();
        if let Some(core) = classes.find(|class| class.class == "core") {
            rows.push(self.scalar("utilisation", core.busiest));
        }
        rows.extend(self.by_queues()?);
        if self.by_round_trip {
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

    /// Throughputs of a group's flows, or of all flows, ascending, in kbit/s.
    fn rates(&self, group: Option<&str>) -> Vec<f64> {
        let mut rates = Vec::new();
        for flow in self.flows() {
            if group.is_none_or(|group| *flow.group == *group) {
                rates.push(kbit(flow));
            }
        }
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// In kbit/s.
    fn fair_share(&self) -> f64 {
        match self.core() {
            Some((_, link)) => {
                link.rate.bits_per_second() as f64 / 1e3 / self.flows().count() as f64
            }
            None => 0.0,
        }
    }

    /// The first link between core routers: a dumbbell's bottleneck.
    fn core(&self) -> Option<(LinkId, &LinkConfig)> {
        let links = self.scenario.topology.network.links();
        let mut numbered = (0..).map(LinkId).zip(links);
        numbered.find(|(_, link)| link.class == LinkClass::Core)
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
        let mut rows = Vec::new();
        for (figure, value) in optional {
            rows.extend(value.map(|value| self.scalar(format!("{name} {figure}"), value)));
        }
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

    /// Compares the fastest quarter with the others, in a group of four flows or more. The rows are
    /// the mean of the slowest quarter, and what the fastest quarter gets together, less what all
    /// others get together. From one run to another this difference falls if the fastest quarter
    /// loses more than all others.
    fn quarters(&self, group: &str) -> Vec<Row> {
        let rates = self.rates(Some(group));
        let quarter = rates.len() / 4;
        if quarter == 0 {
            return Vec::new();
        }
        let (others, fastest) = rates.split_at(rates.len() - quarter);
        let others: f64 = others.iter().sum();
        let fastest: f64 = fastest.iter().sum();
        vec![
            self.scalar(
                format!("{group} slowest quarter, kbit/s"),
                mean(&rates[..quarter]),
            ),
            self.scalar(
                format!("{group} fastest quarter less the others, kbit/s"),
                fastest - others,
            ),
        ]
    }

    fn ranks(&self) -> Vec<Row> {
        let rates = self.rates(None);
        let fair = self.fair_share();
        let (Some(least), Some(most)) = (rates.first(), rates.last()) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        for (rank, rate) in (1_u32..).zip(&rates) {
            rows.push(self.point("ranks, kbit/s", rank.into(), *rate));
        }
        for (rank, rate) in (1_u32..).zip(&rates) {
            let per_cent = 100.0 * f64::from(rank) / rates.len() as f64;
            rows.push(self.point("ranks, fair shares", per_cent, rate / fair));
        }
        rows.push(self.scalar("least, kbit/s", *least));
        rows.push(self.scalar("most, kbit/s", *most));
        rows.push(self.scalar("deviation, kbit/s", deviation_of_all(&rates)));
        for (figure, from, below) in [
            ("flows below a tenth of fair", 0.0, Some(fair / 10.0)),
            ("flows below half of fair", 0.0, Some(fair / 2.0)),
            ("flows above twice fair", 2.0 * fair, None),
        ] {
            let count = Count {
                group: None,
                from,
                below,
            };
            rows.push(self.scalar(figure, self.number(&count)));
        }
        rows
    }

    /// How many flows have a rate in a range.
    fn number(&self, count: &Count) -> f64 {
        let legal = count.from..count.below.unwrap_or(f64::INFINITY);
        let rates = self.rates(count.group.as_deref());
        rates.iter().filter(|rate| legal.contains(rate)).count() as f64
    }

    /// The core's scheduler in its initial state, which shows how flows are hashed into queues.
    fn scheduler(&self) -> Result<Option<AnyArena<()>>, Failed> {
        let Some((id, link)) = self.core() else {
            return Ok(None);
        };
        let seed = self.seed.derive(Purpose::Queue, id.0.into());
        let scheduler = link.queue.discipline.build_arena(seed);
        Ok(Some(scheduler.map_err(Failed::from)?))
    }

    fn by_queues(&self) -> Result<Vec<Row>, Failed> {
        let Some(scheduler) = self.scheduler()? else {
            return Ok(Vec::new());
        };
        let mut queues = Vec::new();
        for flow in self.flows() {
            let id = FlowId(flow.number as u32);
            queues.push((flow, distinct(scheduler.queues_of(id))));
        }
        if queues.iter().all(|(_, queues)| queues.is_empty()) {
            return Ok(Vec::new());
        }
        let mut means: BTreeMap<(&str, usize), Mean> = BTreeMap::new();
        for (flow, queues) in &queues {
            let mean = means.entry((&flow.group, queues.len())).or_default();
            mean.add(kbit(flow));
        }
        let mut rows = Vec::new();
        for ((group, queues), mean) in means {
            let figure = format!("{group} throughput with {queues} queues, kbit/s");
            rows.extend(mean.value().map(|mean| self.scalar(figure, mean)));
        }
        if let Some(greedy) = self.greedy {
            rows.extend(self.by_meetings(greedy, &queues));
        }
        Ok(rows)
    }

    /// Rows for the other groups' flows, by how many queues they share with the greedy group.
    fn by_meetings(&self, greedy: &str, queues: &[(&FlowResult, Vec<usize>)]) -> Vec<Row> {
        let mut theirs = Vec::new();
        for (flow, queues) in queues {
            if *flow.group == *greedy {
                theirs.extend(queues);
            }
        }
        let mut means = [Mean::default(); 3];
        for (flow, queues) in queues {
            if *flow.group == *greedy {
                continue;
            }
            let shared = queues.iter().filter(|queue| theirs.contains(queue)).count();
            let kind = if shared == 0 {
                0
            } else if shared < queues.len() {
                1
            } else {
                2
            };
            means[kind].add(kbit(flow));
        }
        let mut rows = Vec::new();
        for (kind, mean) in ["none", "some", "all"].into_iter().zip(&means) {
            let figure = format!("others meeting {kind} of its queues, kbit/s");
            rows.extend(mean.value().map(|mean| self.scalar(figure, mean)));
        }
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
        let [from, to] = [from, to].map(|name| {
            let node = network.named(name);
            node.ok_or_else(|| Failed(format!("{name}: no such node")))
        });
        let route = network.route(from?, to?).map_err(Failed::from)?;
        let links = route.iter().map(|link| &network.links()[link.0 as usize]);
        Ok(links.map(|link| link.delay.as_secs_f64()).sum())
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
        if self.count > 0.0 {
            Some(self.sum / self.count)
        } else {
            None
        }
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
        let xs: Vec<f64> = points.iter().map(|point| point.0).collect();
        let ys: Vec<f64> = points.iter().map(|point| point.1).collect();
        let mean_x = mean(&xs);
        let mean_y = mean(&ys);
        let mut xx = 0.0;
        let mut yy = 0.0;
        let mut xy = 0.0;
        for (x, y) in points {
            xx += (x - mean_x) * (x - mean_x);
            yy += (y - mean_y) * (y - mean_y);
            xy += (x - mean_x) * (y - mean_y);
        }
        if xx > 0.0 && yy > 0.0 {
            Some(Self {
                slope: xy / xx,
                correlation: xy / (xx * yy).sqrt(),
            })
        } else {
            None
        }
    }
}

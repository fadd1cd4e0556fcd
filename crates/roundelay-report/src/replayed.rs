//! Replay report: packets later than recorded in replays of a schedule, as terminal tables and
//! JSON.

use roundelay::Duration;
use roundelay_sim::replay::{Count, Counted, DelayRatios, Replay, Schedule};
use roundelay_sim::scenario::{Interval, student_95};
use serde::Serialize;

use crate::chart::{Axis, Chart, Curve, Point, Scaling};
use crate::document::{self, Block, Document, Section, duration_in_words, seeds_in_words};
use crate::figures::interval_text;
use crate::grid::{Cell, Column, Grid};
use crate::html::{ItemPage, item_html};
use crate::text::clean;
use crate::units::{count, fine_percent as share, percent, seconds};

/// Schedules of one scenario, one per seed, and their replays.
#[derive(Debug, Clone, Serialize)]
pub struct Replayed {
    /// Version of this program.
    pub version: &'static str,
    /// Name of the scenario.
    pub name: String,
    /// Notes on oddities of the scenario's captures, a sentence each.
    pub notes: Vec<String>,
    /// Sending window of the packets, seconds.
    pub window: f64,
    /// Excluded start of the window, seconds.
    pub warmup: f64,
    /// Initial slack of packets: wait, path-end or none.
    pub slack: &'static str,
    /// Slack is rounded down to multiples of this many picoseconds; 0: no rounding.
    pub resolution_ps: u64,
    /// The recorded schedules, in the order of the seeds.
    pub recorded: Vec<Recorded>,
    /// Results by candidate, in the order of the candidates.
    pub candidates: Vec<CandidateResult>,
}

/// A recorded schedule.
#[derive(Debug, Clone, Serialize)]
pub struct Recorded {
    /// The seed of the run.
    pub seed: u64,
    /// Flows opened.
    pub flows: u64,
    /// Packets that left the network: the schedule.
    pub packets: u64,
    /// Packets dropped by queues, not part of the schedule.
    pub dropped: u64,
    /// Total number of links on the packets' paths.
    pub packet_hops: u64,
    /// The threshold T, in picoseconds.
    pub threshold_ps: u64,
    /// Mean waiting time of a packet, seconds.
    pub mean_wait: f64,
}

impl Recorded {
    /// Summary of a schedule and its threshold.
    pub fn new(schedule: &Schedule, threshold: Duration) -> Self {
        let counted = || schedule.counted().map(|(_, packet)| packet);
        let packets = counted().count() as u64;
        let waits: f64 = counted()
            .map(|packet| schedule.waited(packet).as_picos() as f64)
            .sum();
        Self {
            seed: schedule.seed,
            flows: schedule.flows.len() as u64,
            packets,
            dropped: schedule.dropped,
            packet_hops: counted()
                .map(|packet| schedule.path(packet).count() as u64)
                .sum(),
            threshold_ps: threshold.as_picos(),
            mean_wait: waits / 1e12 / packets.max(1) as f64,
        }
    }
}

/// Results of all schedules under one candidate.
#[derive(Debug, Clone, Serialize)]
pub struct CandidateResult {
    /// The candidate, as written by the user.
    pub with: String,
    /// Packets dropped by the candidate's queues, over all replays.
    pub dropped: u64,
    /// Means over the replays of all packets sent within the window.
    pub drained: Summary,
    /// Means over the packets that left the network within the window in both runs.
    pub cut: Summary,
    /// Results by replay, in the order of the seeds.
    pub replicas: Vec<ReplayResult>,
}

/// Means and 95% confidence intervals over replays; fractions of the compared packets.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    overdue: Option<Interval>,
    overdue_by_nanosecond: Option<Interval>,
    overdue_by_threshold: Option<Interval>,
    missing: Option<Interval>,
    /// The largest lateness relative to the schedule, seconds.
    worst: Option<Interval>,
    /// Fraction of packets with a queueing delay not longer than recorded.
    not_longer: Option<Interval>,
}

impl Summary {
    fn of(counts: &[&Count]) -> Self {
        let mean = |of: &dyn Fn(&Count) -> f64| {
            student_95(&counts.iter().map(|count| of(count)).collect::<Vec<_>>())
        };
        let part = |of: fn(&Counted) -> u64| mean(&|count| count.all.part(of(&count.all)));
        Self {
            overdue: part(|all| all.overdue),
            overdue_by_nanosecond: part(|all| all.overdue_by_nanosecond),
            overdue_by_threshold: part(|all| all.overdue_by_threshold),
            missing: part(|all| all.missing),
            worst: mean(&|count| count.all.worst_ps as f64 / 1e12),
            not_longer: mean(&|count| count.ratios.not_longer),
        }
    }
}

/// Results of one replay.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayResult {
    /// The seed of the recorded run.
    pub seed: u64,
    /// Packets dropped by queues.
    pub dropped: u64,
    /// All packets sent within the window.
    pub drained: Count,
    /// Packets that left the network within the window in both runs.
    pub cut: Count,
}

impl ReplayResult {
    /// Result of one replay.
    pub const fn new(schedule: &Schedule, replay: &Replay, drained: Count, cut: Count) -> Self {
        Self {
            seed: schedule.seed,
            dropped: replay.dropped,
            drained,
            cut,
        }
    }
}

impl CandidateResult {
    /// `replicas` are in the order of the seeds.
    pub fn new(with: String, replicas: Vec<ReplayResult>) -> Self {
        let of = |count: fn(&ReplayResult) -> &Count| {
            Summary::of(&replicas.iter().map(count).collect::<Vec<_>>())
        };
        let drained = of(|replica| &replica.drained);
        let cut = of(|replica| &replica.cut);
        Self {
            with,
            dropped: replicas.iter().map(|replica| replica.dropped).sum(),
            drained,
            cut,
            replicas,
        }
    }

    /// A sentence: every packet left the network as early as in the schedule, or the fraction and
    /// lateness of the others.
    fn conclusion(&self) -> String {
        let with = clean(&self.with);
        let mean = |interval: Option<Interval>| interval.map_or(0.0, |interval| interval.mean);
        let Summary {
            overdue,
            overdue_by_threshold,
            missing,
            worst,
            ..
        } = &self.drained;
        let missing = match mean(*missing) {
            0.0 => String::new(),
            part => format!(" {} of the packets are missing.", share(part)),
        };
        match mean(*overdue) {
            0.0 if missing.is_empty() => format!(
                "{with} replays the schedule: no packet leaves the network later than recorded."
            ),
            0.0 => format!(
                "{with} does not replay the schedule, though no packet that arrives is later than recorded.{missing}"
            ),
            late => format!(
                "{with} does not replay the schedule: {} of the packets leave the network later than recorded, {} by more than T, the latest by {}.{missing}",
                share(late),
                if mean(*overdue_by_threshold) > 0.0 {
                    share(mean(*overdue_by_threshold))
                } else {
                    "none".to_owned()
                },
                seconds(mean(*worst)),
            ),
        }
    }

    /// Total and overdue packets by number of congestion points, summed over all replays.
    fn by_congestion_points(&self) -> Vec<Counted> {
        let mut sums = Vec::<Counted>::new();
        for by in self
            .replicas
            .iter()
            .map(|replica| &replica.drained.by_congestion_points)
        {
            if sums.len() < by.len() {
                sums.resize(by.len(), Counted::default());
            }
            for (sum, part) in sums.iter_mut().zip(by) {
                sum.packets += part.packets;
                sum.overdue += part.overdue;
                sum.overdue_by_threshold += part.overdue_by_threshold;
            }
        }
        sums
    }

    /// The delay ratios of the first replay.
    fn ratios(&self) -> Option<&DelayRatios> {
        self.replicas.first().map(|replica| &replica.drained.ratios)
    }
}

impl Replayed {
    /// The report: candidates, packets by congestion points, ratios of delays.
    pub fn document(&self) -> Document {
        Document(vec![
            self.headline(),
            self.overdue(),
            self.conclusions(),
            self.by_congestion_points(),
            self.ratios(),
        ])
    }

    fn headline(&self) -> Section {
        let sum = |of: fn(&Recorded) -> u64| self.recorded.iter().map(of).sum::<u64>();
        let dropped = match sum(|recorded| recorded.dropped) {
            0 => String::new(),
            1 => " 1 packet was dropped: this is not in the schedule, and not sent in the replay."
                .to_owned(),
            dropped => format!(
                " {} packets were dropped: these are not in the schedule, and not sent in the replay.",
                count(dropped)
            ),
        };
        let slack = match self.slack {
            "wait" => "the time that the packet waited, o - i - tmin",
            "path-end" => "the time until the packet got out, o - i",
            _ => "none",
        };
        let rounded = if self.resolution_ps > 0 {
            format!(
                ", rounded down to multiples of {}",
                Duration::from_picos(self.resolution_ps)
            )
        } else {
            String::new()
        };
        let facts = format!(
            "{}; {}; {} packets of {} flows, {} packet-hops; {} of waiting a packet.{dropped} Slack: {slack}{rounded}.",
            duration_in_words(self.window, self.warmup),
            seeds_in_words(self.recorded.iter().map(|recorded| recorded.seed)),
            count(sum(|recorded| recorded.packets)),
            count(sum(|recorded| recorded.flows)),
            count(sum(|recorded| recorded.packet_hops)),
            seconds(
                self.recorded
                    .iter()
                    .map(|recorded| recorded.mean_wait)
                    .sum::<f64>()
                    / self.recorded.len().max(1) as f64
            ),
        );
        let (least, most) = self.thresholds();
        let threshold = if least == most {
            seconds(least)
        } else {
            format!("{} to {}", seconds(least), seconds(most))
        };
        let mut blocks = document::headline(&self.name, facts, &self.notes);
        blocks.push(Block::Text(format!(
            "T = {threshold}. Drained: all packets sent, delivered at any time. Cut: packets delivered within the window in the recorded run; \
             overdue are those delivered late, but within the window, in the replay."
        )));
        blocks
    }

    fn thresholds(&self) -> (f64, f64) {
        let all = self
            .recorded
            .iter()
            .map(|recorded| recorded.threshold_ps as f64 / 1e12);
        all.fold((f64::INFINITY, 0.0), |(least, most), threshold| {
            (threshold.min(least), threshold.max(most))
        })
    }

    fn overdue(&self) -> Section {
        let part = |interval: Option<Interval>| -> Cell { interval_text(interval, share).into() };
        let column = |head: &str, cell: &dyn Fn(&CandidateResult) -> Cell| {
            Column::new(head, self.candidates.iter().map(cell))
        };
        let columns = vec![
            column("replay with", &|result| clean(&result.with).into()),
            column("overdue", &|result| part(result.drained.overdue)).under("drained"),
            column("> 1 ns", &|result| {
                part(result.drained.overdue_by_nanosecond)
            })
            .under("drained")
            .spare(3),
            column("> T", &|result| part(result.drained.overdue_by_threshold)).under("drained"),
            column("worst", &|result| {
                interval_text(result.drained.worst, seconds).into()
            })
            .under("drained"),
            column("missing", &|result| part(result.drained.missing))
                .under("drained")
                .spare(4),
            column("not longer", &|result| part(result.drained.not_longer))
                .under("drained")
                .spare(2),
            column("overdue", &|result| part(result.cut.overdue)).under("cut"),
            column("> T", &|result| part(result.cut.overdue_by_threshold)).under("cut"),
            column("missing", &|result| part(result.cut.missing))
                .under("cut")
                .spare(4),
        ];
        let dropped = self
            .candidates
            .iter()
            .filter(|result| result.dropped > 0)
            .map(|result| {
                Block::Text(format!(
                    "{}: its queues dropped {} packets, which count as missing",
                    clean(&result.with),
                    count(result.dropped)
                ))
            });
        std::iter::once(Block::Table(Grid::new(columns)))
            .chain(dropped)
            .collect()
    }

    /// The conclusion for each candidate, a sentence each.
    fn conclusions(&self) -> Section {
        self.candidates
            .iter()
            .map(|result| Block::Text(result.conclusion()))
            .collect()
    }

    /// Packets that waited at 0, 1, 2 ... routers, with the overdue fraction of each.
    fn by_congestion_points(&self) -> Section {
        let all: Vec<_> = self
            .candidates
            .iter()
            .map(CandidateResult::by_congestion_points)
            .collect();
        let Some(first) = all.first() else {
            return Section::new();
        };
        let mut columns = vec![
            Column::new(
                "congestion points",
                (0..first.len()).map(|points| points.to_string().into()),
            ),
            Column::new(
                "packets",
                first.iter().map(|counted| count(counted.packets).into()),
            ),
        ];
        for (result, counts) in self.candidates.iter().zip(&all) {
            let cells = |of: fn(&Counted) -> u64| {
                counts
                    .iter()
                    .map(move |counted| share(counted.part(of(counted))).into())
                    .collect::<Vec<Cell>>()
            };
            columns.push(
                Column::new("overdue", cells(|counted| counted.overdue)).under(clean(&result.with)),
            );
            columns.push(
                Column::new("> T", cells(|counted| counted.overdue_by_threshold))
                    .under(clean(&result.with)),
            );
        }
        vec![Block::Table(Grid::new(columns))]
    }

    /// Quantiles of the ratio of replayed to recorded queueing delay.
    fn ratios(&self) -> Section {
        const SHOWN: [f64; 7] = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99];
        let quantile = |ratios: Option<&DelayRatios>, part: f64| {
            let found =
                ratios.and_then(|ratios| ratios.quantiles.iter().find(|[of, _]| *of == part));
            found.map_or_else(|| "–".to_owned(), |[_, ratio]| format!("{ratio:.3}"))
        };
        let mut columns = vec![Column::new(
            "delay ratio",
            self.candidates
                .iter()
                .map(|result| clean(&result.with).into()),
        )];
        for part in SHOWN {
            let cells = self
                .candidates
                .iter()
                .map(|result| quantile(result.ratios(), part).into());
            columns.push(
                Column::new(percent(part), cells)
                    .under("quantile of replayed over recorded queueing delay"),
            );
        }
        vec![Block::Table(Grid::new(columns))]
    }
}

impl Replayed {
    /// The result as one self-contained HTML page: charts of delays and of overdue packets, and the
    /// tables of [`document`](Self::document).
    pub fn html(&self) -> String {
        let mut document = self.document();
        document.0[0].remove(0);
        let title = format!("{}, replayed", clean(&self.name));
        item_html(&ItemPage {
            title: &title,
            markdown: &document.markdown(),
            charts: &self.charts(),
            version: self.version,
        })
    }

    /// Ratios of queueing delays, and overdue packets by congestion points, a curve per candidate.
    fn charts(&self) -> Vec<Chart> {
        let curve = |result: &CandidateResult, points: Vec<[f64; 2]>| {
            let points = points
                .into_iter()
                .map(|[x, y]| Point {
                    x,
                    y,
                    half_width: 0.0,
                })
                .collect();
            Curve {
                name: result.with.clone(),
                points,
                ..Curve::default()
            }
        };
        let curves = |points: fn(&CandidateResult) -> Vec<[f64; 2]>| {
            self.candidates
                .iter()
                .map(|result| curve(result, points(result)))
                .collect()
        };
        let axis = |label: &str, scaling| Axis {
            label: label.to_owned(),
            scaling,
            ..Axis::default()
        };
        let ratios = |result: &CandidateResult| {
            let quantiles = result.ratios().map_or(&[][..], |ratios| &ratios.quantiles);
            quantiles
                .iter()
                .map(|[part, ratio]| [part * 100.0, *ratio])
                .collect()
        };
        let overdue = |result: &CandidateResult| {
            let counts = result.by_congestion_points();
            (0..)
                .zip(&counts)
                .map(|(points, counted)| [f64::from(points), counted.part(counted.overdue)])
                .collect()
        };
        vec![
            Chart {
                title: "Queueing delay in the replay over that recorded".to_owned(),
                x: axis("per cent of the packets", Scaling::Linear),
                y: axis("ratio", Scaling::Logarithmic),
                curves: curves(ratios),
                ..Chart::default()
            },
            Chart {
                title: "Packets overdue by congestion points".to_owned(),
                x: axis("routers at which a packet waited", Scaling::Linear),
                y: axis("part overdue", Scaling::Linear),
                curves: curves(overdue),
                ..Chart::default()
            },
        ]
    }
}

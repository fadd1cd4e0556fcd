//! Replay report: packets that are later in replays of a schedule than recorded, as terminal tables
//! and JSON.

use roundelay::Duration;
use roundelay_sim::replay::{Count, Counted, DelayRatios, Replay, Schedule};
use roundelay_sim::scenario::{Interval, student_95};
use serde::Serialize;

use crate::chart::{Axis, Chart, Curve, Drawn, Point, Scaling};
use crate::document::{self, Block, Document, Section, duration_in_words, seeds_in_words};
use crate::figures::interval_text;
use crate::grid::{Column, Grid};
use crate::html::{ItemPage, item_html};
use crate::json::Printed;
use crate::text::clean;
use crate::units::{count, fine_percent as share, percent, seconds};

/// Schedules of one scenario, one per seed, and their replays.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        let mut packets = 0;
        let mut packet_hops = 0;
        let mut waits = 0.0;
        for (_, packet) in schedule.counted() {
            packets += 1;
            packet_hops += schedule.path(packet).count() as u64;
            waits += schedule.waited(packet).as_picos() as f64;
        }
        Self {
            seed: schedule.seed,
            flows: schedule.flows.len() as u64,
            packets,
            dropped: schedule.dropped,
            packet_hops,
            threshold_ps: threshold.as_picos(),
            mean_wait: waits / 1e12 / packets.max(1) as f64,
        }
    }
}

/// Results of all schedules under one candidate.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        Self {
            overdue: mean(counts, |count| count.all.part(count.all.overdue)),
            overdue_by_nanosecond: mean(counts, |count| {
                count.all.part(count.all.overdue_by_nanosecond)
            }),
            overdue_by_threshold: mean(counts, |count| {
                count.all.part(count.all.overdue_by_threshold)
            }),
            missing: mean(counts, |count| count.all.part(count.all.missing)),
            worst: mean(counts, |count| count.all.worst_ps as f64 / 1e12),
            not_longer: mean(counts, |count| count.ratios.not_longer),
        }
    }
}

fn mean(counts: &[&Count], of: fn(&Count) -> f64) -> Option<Interval> {
    let values: Vec<f64> = counts.iter().map(|count| of(count)).collect();
    student_95(&values)
}

/// Results of one replay.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// One replay's result.
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
        let mut dropped = 0;
        let mut drained = Vec::new();
        let mut cut = Vec::new();
        for replica in &replicas {
            dropped += replica.dropped;
            drained.push(&replica.drained);
            cut.push(&replica.cut);
        }
        Self {
            with,
            dropped,
            drained: Summary::of(&drained),
            cut: Summary::of(&cut),
            replicas,
        }
    }

    /// A sentence: every packet left the network as early as in the schedule, or what fraction was
    /// later, and by how much.
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
                "{with} does not replay the schedule, though no packet that arrives is later than \
                 recorded.{missing}"
            ),
            late => format!(
                "{with} does not replay the schedule: {} of the packets leave the network later \
                 than recorded, {} by more than T, the latest by {}.{missing}",
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

    /// Total and overdue packets by how many congestion points they had, summed over all replays.
    fn by_congestion_points(&self) -> Vec<Counted> {
        let mut sums = Vec::<Counted>::new();
        for replica in &self.replicas {
            let by = &replica.drained.by_congestion_points;
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

    /// The first replay's delay ratios.
    fn ratios(&self) -> Option<&DelayRatios> {
        Some(&self.replicas.first()?.drained.ratios)
    }

    /// A quantile of the delay ratios.
    fn ratio_at(&self, part: f64) -> Option<f64> {
        let mut quantiles = self.ratios()?.quantiles.iter();
        let [_, ratio] = quantiles.find(|[of, _]| *of == part)?;
        Some(*ratio)
    }
}

impl Printed for Replayed {
    const SCHEMA: &'static str = "replay/1";
}

impl Replayed {
    /// The report: candidates, packets by congestion points, delay ratios.
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
        let mut dropped = 0;
        let mut packets = 0;
        let mut flows = 0;
        let mut packet_hops = 0;
        let mut waits = 0.0;
        for recorded in &self.recorded {
            dropped += recorded.dropped;
            packets += recorded.packets;
            flows += recorded.flows;
            packet_hops += recorded.packet_hops;
            waits += recorded.mean_wait;
        }
        let dropped = match dropped {
            0 => String::new(),
            1 => " 1 packet was dropped: this is not in the schedule, and not sent in the replay."
                .to_owned(),
            dropped => format!(
                " {} packets were dropped: these are not in the schedule, and not sent in the \
                 replay.",
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
            "{}; {}; {} packets of {} flows, {} packet-hops; {} of waiting a packet.{dropped} \
             Slack: {slack}{rounded}.",
            duration_in_words(self.window, self.warmup),
            seeds_in_words(self.recorded.iter().map(|recorded| recorded.seed)),
            count(packets),
            count(flows),
            count(packet_hops),
            seconds(waits / self.recorded.len().max(1) as f64),
        );
        let (least, most) = self.thresholds();
        let threshold = if least == most {
            seconds(least)
        } else {
            format!("{} to {}", seconds(least), seconds(most))
        };
        let mut blocks = document::headline(&self.name, facts, &self.notes);
        blocks.push(Block::Text(format!(
            "T = {threshold}. Drained: all packets sent, delivered at any time. Cut: packets \
             delivered within the window in the recorded run; \
             overdue are those delivered late, but within the window, in the replay."
        )));
        blocks
    }

    fn thresholds(&self) -> (f64, f64) {
        let mut least = f64::INFINITY;
        let mut most = 0.0_f64;
        for recorded in &self.recorded {
            let threshold = recorded.threshold_ps as f64 / 1e12;
            least = least.min(threshold);
            most = most.max(threshold);
        }
        (least, most)
    }

    fn overdue(&self) -> Section {
        let all = &self.candidates;
        let columns = vec![
            Column::of("replay with", all, |result| clean(&result.with)),
            parts("overdue", all, |result| result.drained.overdue).under("drained"),
            parts("> 1 ns", all, |result| result.drained.overdue_by_nanosecond)
                .under("drained")
                .spare(3),
            parts("> T", all, |result| result.drained.overdue_by_threshold).under("drained"),
            Column::of("worst", all, |result| {
                interval_text(result.drained.worst, seconds)
            })
            .under("drained"),
            parts("missing", all, |result| result.drained.missing)
                .under("drained")
                .spare(4),
            parts("not longer", all, |result| result.drained.not_longer)
                .under("drained")
                .spare(2),
            parts("overdue", all, |result| result.cut.overdue).under("cut"),
            parts("> T", all, |result| result.cut.overdue_by_threshold).under("cut"),
            parts("missing", all, |result| result.cut.missing)
                .under("cut")
                .spare(4),
        ];
        let mut section = vec![Block::Table(Grid::new(columns))];
        for result in all {
            if result.dropped > 0 {
                section.push(Block::Text(format!(
                    "{}: its queues dropped {} packets, which count as missing",
                    clean(&result.with),
                    count(result.dropped)
                )));
            }
        }
        section
    }

    /// The conclusion for each candidate, a sentence each.
    fn conclusions(&self) -> Section {
        let results = self.candidates.iter();
        results
            .map(|result| Block::Text(result.conclusion()))
            .collect()
    }

    /// Packets that waited at 0, 1, 2 ... routers, each with the overdue fraction.
    fn by_congestion_points(&self) -> Section {
        let mut all = Vec::new();
        for result in &self.candidates {
            all.push(result.by_congestion_points());
        }
        let Some(first) = all.first() else {
            return Section::new();
        };
        let points: Vec<usize> = (0..first.len()).collect();
        let mut columns = vec![
            Column::of("congestion points", &points, usize::to_string),
            Column::of("packets", first, |counted| count(counted.packets)),
        ];
        for (result, counts) in self.candidates.iter().zip(&all) {
            let overdue = Column::of("overdue", counts, |counted| {
                share(counted.part(counted.overdue))
            });
            let by_threshold = Column::of("> T", counts, |counted| {
                share(counted.part(counted.overdue_by_threshold))
            });
            columns.push(overdue.under(clean(&result.with)));
            columns.push(by_threshold.under(clean(&result.with)));
        }
        vec![Block::Table(Grid::new(columns))]
    }

    /// Quantiles of the replayed over the recorded queueing delay.
    fn ratios(&self) -> Section {
        const SHOWN: [f64; 7] = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99];
        let all = &self.candidates;
        let mut columns = vec![Column::of("delay ratio", all, |result| clean(&result.with))];
        for part in SHOWN {
            let column = Column::of(percent(part), all, |result| match result.ratio_at(part) {
                Some(ratio) => format!("{ratio:.3}"),
                None => "–".to_owned(),
            });
            columns.push(column.under("quantile of replayed over recorded queueing delay"));
        }
        vec![Block::Table(Grid::new(columns))]
    }
}

/// A column whose values are fractions of the packets.
fn parts(
    head: &str,
    all: &[CandidateResult],
    of: fn(&CandidateResult) -> Option<Interval>,
) -> Column {
    Column::of(head, all, |result| interval_text(of(result), share))
}

impl Replayed {
    /// The result as one self-contained HTML page: charts of delays and of overdue packets, and the
    /// tables of [`document`](Self::document).
    pub fn html(&self) -> String {
        let mut document = Document(vec![
            self.headline(),
            self.overdue(),
            self.by_congestion_points(),
            self.ratios(),
        ]);
        document.0[0].remove(0);
        let title = format!("{}, replayed", clean(&self.name));
        item_html(&ItemPage {
            title: &title,
            answer: &Document(vec![self.conclusions()]).markdown(),
            markdown: &document.markdown(),
            charts: &self.charts(),
            version: self.version,
            ..ItemPage::default()
        })
    }

    /// Delay ratios, and overdue packets by congestion points, with a curve per candidate.
    fn charts(&self) -> Vec<Chart> {
        let mut ratios = Vec::new();
        let mut overdue = Vec::new();
        let mut most = 0;
        for result in &self.candidates {
            let mut points = Vec::new();
            if let Some(ratios) = result.ratios() {
                for [part, ratio] in &ratios.quantiles {
                    points.push(point(part * 100.0, ratio.clamp(1.0 / FAR, FAR)));
                }
            }
            ratios.push(curve(result, points));
            let mut points = Vec::new();
            for (waits, counted) in (0..).zip(result.by_congestion_points()) {
                points.push(point(f64::from(waits), counted.part(counted.overdue)));
            }
            most = most.max(points.len());
            overdue.push(Curve {
                drawn: Drawn::Discs,
                ..curve(result, points)
            });
        }
        // A packet waits at whole routers, so each number is a category of its own, without a line
        // between.
        let mut names = Vec::new();
        for waits in 0..most {
            names.push(waits.to_string());
        }
        vec![
            Chart {
                title: "Queueing delay in the replay over that recorded".to_owned(),
                x: axis("per cent of the packets", Scaling::Linear),
                y: axis("ratio, cut at 0.01 and 100", Scaling::Logarithmic),
                curves: ratios,
                ..Chart::default()
            },
            Chart {
                title: "Packets overdue by congestion points".to_owned(),
                x: Axis {
                    names,
                    ..axis("routers at which a packet waited", Scaling::Linear)
                },
                y: axis("part overdue", Scaling::Linear),
                curves: overdue,
                ..Chart::default()
            },
        ]
    }
}

/// Ratios beyond this one, or below its inverse, are drawn there: a replay that delays a packet which
/// waited for a nanosecond is as many times as slow as one likes.
const FAR: f64 = 100.0;

fn point(x: f64, y: f64) -> Point {
    Point {
        x,
        y,
        half_width: 0.0,
    }
}

fn curve(result: &CandidateResult, points: Vec<Point>) -> Curve {
    Curve {
        name: result.with.clone(),
        points,
        ..Curve::default()
    }
}

fn axis(label: &str, scaling: Scaling) -> Axis {
    Axis {
        label: label.to_owned(),
        scaling,
        ..Axis::default()
    }
}

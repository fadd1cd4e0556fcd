//! Objective report: does least slack time first (LSTF) serve an objective as well as the
//! specialised discipline? Terminal tables, JSON and a page.

mod discipline;
mod figure;
mod sources;
mod verdict;

use roundelay_sim::scenario::{Figure, Interval};
use serde::Serialize;

pub use discipline::{DisciplineResult, ObjectiveRun};
use figure::{name, with_unit};
pub use sources::{SourceResult, SourceRun};
use verdict::is_better;
pub use verdict::{Answer, Verdict};

use crate::chart::{Axis, Chart, Curve, Drawn, Point};
use crate::document::{self, Block, Document, Section, duration_in_words, seeds_in_words};
use crate::figures::interval_text;
use crate::grid::{Column, Grid};
use crate::html::{ItemPage, item_html};
use crate::json::Printed;
use crate::text::clean;
use crate::units::{count, percent, signed_percent as signed, significant};

/// If the end of the run cuts off a larger fraction of flows, a note appears, because mean
/// completion times exclude these flows.
const MANY_INCOMPLETE: f64 = 0.01;

/// A scenario under several disciplines, with the same seeds.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectiveResult {
    /// Version of this program.
    pub version: &'static str,
    /// Name of the scenario.
    pub name: String,
    /// Notes on oddities of the scenario and its captures, a sentence each.
    pub notes: Vec<String>,
    /// The objective: completion, tail and others.
    pub measure: &'static str,
    /// The measured source; none: all sources.
    pub source: Option<String>,
    /// The figure that measures the objective.
    pub figure: Figure,
    /// Distinct buffer sizes of the routers: packets as in 1000p, or bytes.
    pub buffers: Vec<String>,
    /// The slack of LSTF, as written by the user.
    pub slack: String,
    /// The discipline of reference for all others.
    pub specialist: String,
    /// Fraction of the specialist's figure by which LSTF may be worse.
    pub threshold: f64,
    /// Duration of a run, seconds.
    pub duration: f64,
    /// Excluded start of a run, seconds.
    pub warmup: f64,
    /// The disciplines: fifo, the specialist, lstf, further ones in the user's order, and the
    /// scenario's own queues if different.
    pub disciplines: Vec<DisciplineResult>,
    /// Does LSTF serve the objective?
    pub lstf: Verdict,
    /// Would FIFO serve the objective as well?
    pub fifo: Verdict,
    /// CPU time of a packet on this machine, the only result that differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// CPU time of a packet, enqueued and dequeued.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Packets in the queue during the measurement: the mean backlog of the busiest router queue
    /// under LSTF, rounded up.
    pub backlog: u32,
    /// Flows of these packets.
    pub flows: u32,
    /// Link of this queue.
    pub link: String,
    /// By discipline, in the order of the results; without the scenario's own queues at the end of
    /// the list.
    pub disciplines: Vec<DisciplineCost>,
}

/// The cost of one discipline, medians over rounds.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisciplineCost {
    /// Nanoseconds of CPU time a packet.
    pub nanos: f64,
    /// Ratio to the time of fifo in the same round.
    pub over_fifo: f64,
    /// Fraction of packets dropped by the discipline during the measurement.
    pub dropped: f64,
}

impl Printed for ObjectiveResult {
    const SCHEMA: &'static str = "objective/1";
}

impl ObjectiveResult {
    /// The report: a table, followed by the verdicts.
    pub fn document(&self) -> Document {
        Document(vec![
            self.headline(),
            self.rows(),
            self.who_pays(),
            self.conclusions(),
        ])
    }

    fn conclusions(&self) -> Section {
        self.sentences().into_iter().map(Block::Text).collect()
    }

    fn headline(&self) -> Section {
        let mut seeds = Vec::new();
        if let Some(first) = self.disciplines.first() {
            seeds.extend(first.replicas.iter().map(|run| run.seed));
        }
        let of = match &self.source {
            Some(source) => format!(", of {}", clean(source)),
            None => String::new(),
        };
        let facts = format!(
            "Objective: {}. Figure: {}{of}. {}; {}. Slack of lstf: {}. Buffers of routers: {}.",
            self.measure,
            name(self.figure),
            duration_in_words(self.duration, self.warmup),
            seeds_in_words(seeds),
            if self.slack == "own" {
                "of each source its own".to_owned()
            } else {
                clean(&self.slack)
            },
            self.buffers_in_words(),
        );
        document::headline(&self.name, facts, &self.notes)
    }

    fn rows(&self) -> Section {
        let all = &self.disciplines;
        let head = match self.figure {
            Figure::Completion => "completion",
            Figure::CompletionByBytes => "by bytes",
            Figure::DelayTail => "p99 delay",
            Figure::Jain => "Jain",
            Figure::InTime => "in time",
        };
        let mut columns = vec![
            Column::of("queue of routers", all, |row| clean(&row.queue)),
            Column::of(head, all, |row| {
                interval_text(row.value, |value| with_unit(self.figure, value))
            }),
            Column::of(
                format!("worse than {}", clean(&self.specialist)),
                all,
                |row| part(row.worse),
            ),
            Column::of("loss", all, |row| interval_text(row.loss, percent)),
            Column::of("cut off", all, |row| {
                interval_text(row.incomplete, |flows| count(flows.round() as u64))
            })
            .spare(2),
        ];
        if let Some(cost) = &self.cost {
            // The scenario's own queues have no cost.
            let mut costs = Vec::new();
            for index in 0..all.len() {
                costs.push(cost.disciplines.get(index));
            }
            let nanos = Column::of("ns", &costs, |cost| match cost {
                Some(cost) => significant(cost.nanos),
                None => "–".to_owned(),
            });
            let over_fifo = Column::of("over fifo", &costs, |cost| match cost {
                Some(cost) => format!("{}x", significant(cost.over_fifo)),
                None => "–".to_owned(),
            });
            columns.push(nanos.under("a packet").spare(1));
            columns.push(over_fifo.under("a packet"));
        }
        vec![Block::Table(Grid::new(columns))]
    }

    /// `1000p`, or `100p, 1000p`. A long list is written as its first and last entry.
    fn buffers_in_words(&self) -> String {
        match &self.buffers[..] {
            [first, .., last] if self.buffers.len() > 3 => {
                format!("{} sizes, {first} to {last}", self.buffers.len())
            }
            few => few.join(", "),
        }
    }

    /// Each source's delay and loss under each discipline, if there are several sources.
    fn who_pays(&self) -> Section {
        let sources = match self.disciplines.first() {
            Some(first) if first.sources.len() > 1 => &first.sources,
            _ => return Section::new(),
        };
        let mut columns = vec![Column::of("source", sources, |source| clean(&source.name))];
        for row in &self.disciplines {
            let column = Column::of(clean(&row.queue), &row.sources, SourceResult::in_words);
            columns.push(column.under("p99 delay, and loss if any"));
        }
        vec![Block::Table(Grid::new(columns))]
    }

    /// Sources with much worse service under lstf than under fifo.
    fn payers(&self) -> Option<String> {
        let [fifo, _, lstf, ..] = &self.disciplines[..] else {
            return None;
        };
        let mut payers = Vec::new();
        for (own, other) in lstf.sources.iter().zip(&fifo.sources) {
            if own.pays_beside(other) {
                let name = clean(&own.name);
                let beside = other.in_words();
                payers.push(format!("{name} ({} against {beside})", own.in_words()));
            }
        }
        if payers.is_empty() {
            return None;
        }
        let all = payers.join("; ");
        Some(format!(
            "Who pays: under lstf these sources have far longer delays or more loss than under \
             fifo: {all}."
        ))
    }

    /// The verdicts, a sentence or two each.
    fn sentences(&self) -> Vec<String> {
        let fifo = match self.fifo.answer {
            Answer::Does if self.lstf_gains() => {
                format!("{} lstf is better than both.", self.fifo.sentence)
            }
            Answer::Does => format!(
                "{} In this scenario neither of the two is needed for the objective.",
                self.fifo.sentence
            ),
            _ => self.fifo.sentence.clone(),
        };
        let mut sentences = vec![self.lstf.sentence.clone(), fifo];
        if self.seeds_make_no_difference() {
            sentences.push(
                "Each discipline has the same figure for all seeds. If no source draws \
                at random, all seeds are one run."
                    .to_owned(),
            );
        }
        sentences.extend(self.payers());
        sentences.extend(self.cut_off());
        sentences.extend(self.cost_in_words());
        sentences
    }

    /// Whether lstf is better than fifo and better than the specialist.
    fn lstf_gains(&self) -> bool {
        let [fifo, specialist, lstf, ..] = &self.disciplines[..] else {
            return false;
        };
        is_better(lstf, fifo, self.figure, self.threshold)
            && is_better(lstf, specialist, self.figure, self.threshold)
    }

    /// Whether each discipline has the same figure for each seed.
    fn seeds_make_no_difference(&self) -> bool {
        for row in &self.disciplines {
            let first = match &row.replicas[..] {
                [first, _, ..] => first,
                _ => return false,
            };
            if row.replicas.iter().any(|run| run.value != first.value) {
                return false;
            }
        }
        true
    }

    /// Flows without a completion time, if many.
    fn cut_off(&self) -> Option<String> {
        let mut most = 0.0_f64;
        for row in &self.disciplines {
            most = most.max(row.cut_off());
        }
        let counts = matches!(self.figure, Figure::Completion | Figure::CompletionByBytes);
        if !counts || most <= MANY_INCOMPLETE {
            return None;
        }
        Some(format!(
            "Up to {} of the flows of a run were cut off by its end and are in no mean; [meter] \
             started leaves late flows out.",
            percent(most)
        ))
    }

    fn cost_in_words(&self) -> Option<String> {
        let cost = self.cost.as_ref()?;
        let [fifo, _, lstf, ..] = cost.disciplines[..] else {
            return None;
        };
        let packets = if cost.backlog == 1 {
            "1 packet waits".to_owned()
        } else {
            format!("{} packets wait", count(cost.backlog.into()))
        };
        Some(format!(
            "Cost: {} ns of CPU time a packet under lstf, {} times that of fifo ({} ns), while \
             {packets}: the mean backlog of the busiest router queue, {}.",
            significant(lstf.nanos),
            significant(lstf.over_fifo),
            significant(fifo.nanos),
            clean(&cost.link),
        ))
    }

    /// The result as one self-contained HTML page: the table, the verdicts and a chart for the
    /// figure.
    pub fn html(&self) -> String {
        let mut document = Document(vec![self.headline(), self.rows(), self.who_pays()]);
        document.0[0].remove(0);
        let title = format!("{}: {}", clean(&self.name), self.measure);
        item_html(&ItemPage {
            title: &title,
            answer: &Document(vec![self.conclusions()]).markdown(),
            markdown: &document.markdown(),
            charts: &[self.chart()],
            version: self.version,
            ..ItemPage::default()
        })
    }

    fn chart(&self) -> Chart {
        let mut names = Vec::new();
        let mut points = Vec::new();
        for (x, row) in (0_u32..).zip(&self.disciplines) {
            names.push(row.queue.clone());
            if let Some(value) = row.value {
                points.push(Point {
                    x: f64::from(x),
                    y: value.mean,
                    half_width: value.half_width.unwrap_or(0.0),
                });
            }
        }
        let unit = match self.figure {
            Figure::Jain => "Jain's index",
            Figure::InTime => "part of the packets",
            Figure::Completion | Figure::CompletionByBytes | Figure::DelayTail => "seconds",
        };
        Chart {
            title: name(self.figure).to_owned(),
            x: Axis {
                label: "queue of routers".to_owned(),
                names,
                ..Axis::default()
            },
            y: Axis {
                label: unit.to_owned(),
                ..Axis::default()
            },
            curves: vec![Curve {
                name: "mean and 95% interval".to_owned(),
                points,
                drawn: Drawn::Dots,
            }],
            ..Chart::default()
        }
    }
}

/// The fraction by which a discipline is worse, with its sign.
fn part(worse: Option<Interval>) -> String {
    let Some(Interval { mean, half_width }) = worse else {
        return "–".to_owned();
    };
    match half_width {
        Some(half) if half > 0.0 => format!("{} ±{:.1}%", signed(mean), half * 100.0),
        _ => signed(mean),
    }
}

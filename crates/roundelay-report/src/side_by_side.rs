//! One network under several queues, with the same seeds: figures side by side, and their paired
//! differences from the first queue.

use roundelay_sim::scenario::{GroupResult, Interval, student_95};
use serde::Serialize;

use crate::chart::Chart;
use crate::document::{self, Block, Document, Section, duration_in_words, seeds_in_words};
use crate::figures::{Figure, SOURCE, TRANSFER, interval_text, named};
use crate::grid::{Cell, Column, Grid};
use crate::html::{ItemPage, item_html};
use crate::json::Printed;
use crate::plotted::{PlotFigure, Plotted, PlottedResult};
use crate::simulation::Simulated;
use crate::text::clean;
use crate::units::{percent, signed_percent};

/// Results of a scenario under several queues of its routers. All have the same seeds.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideBySide {
    /// Version of this program.
    pub version: &'static str,
    /// Notes that hold under all queues, a sentence each.
    pub notes: Vec<String>,
    /// The queues, in the order given; differences are to the first.
    pub queues: Vec<UnderQueue>,
    /// By group of sources, the figure that tells how it fares.
    pub verdicts: Vec<Verdict>,
}

/// Results under a queue.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderQueue {
    /// The discipline, as written.
    pub queue: String,
    /// The results.
    pub simulated: Simulated,
}

/// How a group of sources fares under each queue.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The group.
    pub group: String,
    /// Name of the figure, as in `summary`.
    pub figure: &'static str,
    /// Paired differences to the first queue, as parts of its mean: one for each of the other
    /// queues; none where a run has no such figure.
    pub differences: Vec<Option<Interval>>,
    /// The sentence.
    pub text: String,
}

/// Most groups with charts.
const MOST_CHARTED: usize = 6;

/// Where a larger fraction of a group's transfers does not become complete, the others' mean tells
/// only of the fast ones. A smaller fraction is at work whenever a run ends.
const MOST_INCOMPLETE: f64 = 0.25;

/// Whether the end cut off so many of `all` transfers.
fn are_many(cut_off: u64, all: u64) -> bool {
    cut_off as f64 > MOST_INCOMPLETE * all as f64
}

/// The figure by which a group's queues are compared. It is what the group's senders wait for: that a
/// transfer ends, or that a packet arrives. A transfer without end wants throughput, and where few
/// transfers become complete, throughput tells.
pub(crate) fn criterion(group: &GroupResult) -> &'static Figure<GroupResult> {
    let all = group.incomplete + group.completion.count;
    if are_many(group.incomplete, all) {
        named(SOURCE, "throughput")
    } else if group.completion.count > 0 {
        named(TRANSFER, "completion_mean")
    } else if group.retransmissions.is_some() {
        named(SOURCE, "throughput")
    } else {
        named(SOURCE, "delay_p99")
    }
}

impl Printed for SideBySide {
    const SCHEMA: &'static str = "simulate-queues/1";
}

impl SideBySide {
    /// `queues` are not empty, and have the same groups and seeds.
    pub fn new(version: &'static str, notes: Vec<String>, queues: Vec<UnderQueue>) -> Self {
        let mut compared = Self {
            version,
            notes,
            queues,
            verdicts: Vec::new(),
        };
        for group in 0..compared.groups() {
            compared.verdicts.push(compared.verdict(group));
        }
        compared
    }

    fn first(&self) -> &Simulated {
        &self.queues[0].simulated
    }

    /// Groups of sources. All together are no group of their own.
    fn groups(&self) -> usize {
        let all = self.first().replicas.first();
        let groups = all.map_or(&[][..], |results| &results.groups);
        groups.iter().filter(|group| !group.kind.is_empty()).count()
    }

    fn group(&self, number: usize) -> &GroupResult {
        &self.first().replicas[0].groups[number]
    }

    /// A group's figure under a queue, by replica.
    fn values(&self, queue: usize, group: usize, figure: &Figure<GroupResult>) -> Vec<Option<f64>> {
        let mut values = Vec::new();
        for results in &self.queues[queue].simulated.replicas {
            values.push((figure.of)(&results.groups[group]));
        }
        values
    }

    fn mean(&self, queue: usize, group: usize, figure: &Figure<GroupResult>) -> Option<Interval> {
        let values: Vec<f64> = self
            .values(queue, group, figure)
            .into_iter()
            .flatten()
            .collect();
        student_95(&values)
    }

    /// The difference of two queues, seed by seed, as a fraction of the mean under `from`.
    fn difference(
        &self,
        [from, to]: [usize; 2],
        group: usize,
        figure: &Figure<GroupResult>,
    ) -> Option<Interval> {
        let mut differences = Vec::new();
        let before = self.values(from, group, figure);
        for (before, after) in before.into_iter().zip(self.values(to, group, figure)) {
            differences.push(after? - before?);
        }
        let mean = self.mean(from, group, figure)?.mean;
        if mean == 0.0 {
            return None;
        }
        let Interval {
            mean: difference,
            half_width,
        } = student_95(&differences)?;
        Some(Interval {
            mean: difference / mean.abs(),
            half_width: half_width.map(|half| half / mean.abs()),
        })
    }

    /// Whether two queues differ by more than chance, and by more than `compare` takes for nothing.
    fn is_notable(&self, queues: [usize; 2], group: usize, figure: &Figure<GroupResult>) -> bool {
        let mut means = Vec::new();
        for queue in queues {
            match self.mean(queue, group, figure) {
                Some(mean) => means.push(mean.mean),
                None => return false,
            }
        }
        figure.label.difference.is_between(means[0], means[1])
            && is_sure(self.difference(queues, group, figure))
    }

    /// A group's transfers under a queue, over all replicas: those that did not become complete,
    /// and all.
    fn incomplete(&self, queue: usize, group: usize) -> [u64; 2] {
        let mut cut_off = 0;
        let mut all = 0;
        for results in &self.queues[queue].simulated.replicas {
            let group = &results.groups[group];
            cut_off += group.incomplete;
            all += group.incomplete + group.completion.count;
        }
        [cut_off, all]
    }

    fn cuts_transfers_off(&self, queue: usize, group: usize) -> bool {
        let [cut_off, all] = self.incomplete(queue, group);
        are_many(cut_off, all)
    }

    /// The figure that tells how a group fares under all queues alike.
    fn criterion(&self, group: usize) -> &'static Figure<GroupResult> {
        let mut queues = 0..self.queues.len();
        if queues.any(|queue| self.cuts_transfers_off(queue, group)) {
            named(SOURCE, "throughput")
        } else {
            criterion(self.group(group))
        }
    }

    /// How many of a group's transfers the end of the runs cut off, where these are many.
    fn cut_off_text(&self, group: usize) -> String {
        let mut parts = Vec::new();
        let mut is_told = false;
        for (queue, under) in self.queues.iter().enumerate() {
            let [cut_off, all] = self.incomplete(queue, group);
            is_told |= self.cuts_transfers_off(queue, group);
            parts.push(format!("{cut_off} of {all} under {}", clean(&under.queue)));
        }
        if !is_told {
            return String::new();
        }
        format!(
            " Transfers that did not become complete: {}.",
            parts.join(", ")
        )
    }

    fn verdict(&self, group: usize) -> Verdict {
        let criterion = self.criterion(group);
        let mut differences = Vec::new();
        for queue in 1..self.queues.len() {
            differences.push(self.difference([0, queue], group, criterion));
        }
        Verdict {
            group: self.group(group).name.clone(),
            figure: criterion.label.name,
            differences,
            text: self.sentence(group, criterion) + &self.cut_off_text(group),
        }
    }

    /// The best queue for a group, and the others that are as good as the replicas can tell.
    fn sentence(&self, group: usize, criterion: &Figure<GroupResult>) -> String {
        let name = clean(&self.group(group).name);
        let words = criterion.label.words();
        let mut means = Vec::new();
        for queue in 0..self.queues.len() {
            if let Some(mean) = self.mean(queue, group, criterion) {
                means.push((queue, mean.mean));
            }
        }
        means.sort_by(|(_, one), (_, other)| {
            if criterion.label.is_better_if_more {
                other.total_cmp(one)
            } else {
                one.total_cmp(other)
            }
        });
        let [(best, _), .., (worst, _)] = means[..] else {
            return format!("{name}: at most one of the queues has a {words}.");
        };
        let mut alike = Vec::new();
        for (queue, _) in &means[1..] {
            if !self.is_notable([best, *queue], group, criterion) {
                alike.push(clean(&self.queues[*queue].queue));
            }
        }
        let value = interval_text(self.mean(best, group, criterion), |value| {
            criterion.label.unit.text(value)
        });
        let queue = clean(&self.queues[best].queue);
        if self.first().replicas.len() == 1 {
            let (worst, other) = means[means.len() - 1];
            return format!(
                "{name}: {words} {value} under {queue}, {} under {}, of one seed.",
                criterion.label.unit.text(other),
                clean(&self.queues[worst].queue)
            );
        }
        if alike.len() + 1 == means.len() {
            return format!(
                "{name}: no queue is notably better in {words} ({value} under {queue})."
            );
        }
        let beside = if alike.is_empty() {
            String::new()
        } else {
            format!(" (and not notably worse under {})", alike.join(", "))
        };
        let worst_queue = clean(&self.queues[worst].queue);
        let less = self.difference([worst, best], group, criterion);
        let less = percent(less.map_or(0.0, |difference| difference.mean.abs()));
        let direction = if criterion.label.is_better_if_more {
            "more"
        } else {
            "less"
        };
        format!(
            "{name}: {words} {value} under {queue}{beside}; {less} {direction} than under \
             {worst_queue}."
        )
    }

    /// What each of the other queues does for the groups, compared with the first. None with one
    /// seed.
    fn summary(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.first().replicas.len() == 1 {
            return sentences;
        }
        for queue in 1..self.queues.len() {
            let mut better = Vec::new();
            let mut worse = Vec::new();
            let mut alike = Vec::new();
            for (group, verdict) in self.verdicts.iter().enumerate() {
                let name = clean(&verdict.group);
                let criterion = self.criterion(group);
                let difference = verdict.differences[queue - 1];
                if !self.is_notable([0, queue], group, criterion) {
                    alike.push(name);
                } else if difference
                    .is_some_and(|by| (by.mean > 0.0) == criterion.label.is_better_if_more)
                {
                    better.push(name);
                } else {
                    worse.push(name);
                }
            }
            let mut parts = Vec::new();
            for (groups, words) in [(better, "better"), (worse, "worse")] {
                if !groups.is_empty() {
                    parts.push(format!("{words} for {}", groups.join(", ")));
                }
            }
            if !alike.is_empty() {
                parts.push(format!("no notable difference for {}", alike.join(", ")));
            }
            sentences.push(format!(
                "{} beside {}: {}.",
                clean(&self.queues[queue].queue),
                clean(&self.queues[0].queue),
                parts.join("; ")
            ));
        }
        sentences
    }

    /// The report: what came out, then a table for each group.
    pub fn document(&self) -> Document {
        let mut sections = vec![self.headline(), self.answer()];
        for group in 0..self.groups() {
            sections.push(self.table(group));
        }
        Document(sections)
    }

    fn headline(&self) -> Section {
        let first = self.first();
        let seeds = seeds_in_words(first.replicas.iter().map(|replica| replica.seed));
        let facts = format!(
            "{} queues in the routers of one network; {}; {seeds}. Differences are to {}, seed by \
             seed.",
            self.queues.len(),
            duration_in_words(first.duration, first.warmup),
            clean(&self.queues[0].queue)
        );
        document::headline(&first.name, facts, &self.notes)
    }

    fn answer(&self) -> Section {
        let mut blocks = Vec::new();
        for sentence in self.summary() {
            blocks.push(Block::Text(sentence));
        }
        for verdict in &self.verdicts {
            blocks.push(Block::Text(verdict.text.clone()));
        }
        if self.first().replicas.len() == 1 {
            blocks.push(Block::Text(
                "One seed: --replicas 10 tells which differences are more than chance.".to_owned(),
            ));
        }
        blocks
    }

    fn table(&self, group: usize) -> Section {
        let criterion = self.criterion(group);
        let numbers: Vec<usize> = (0..self.queues.len()).collect();
        let mut columns = vec![Column::of(
            clean(&self.group(group).name),
            &numbers,
            |queue| clean(&self.queues[*queue].queue),
        )];
        // What the sentence is about comes first, and gives way last.
        let mut figures = vec![criterion];
        for name in ["delay_p99", "throughput"] {
            if name != criterion.label.name {
                figures.push(named(SOURCE, name));
            }
        }
        for (rank, figure) in (0..).zip(figures) {
            let head = figure.label.words();
            columns.push(
                Column::of("mean", &numbers, |queue| {
                    let mean = self.mean(*queue, group, figure);
                    interval_text(mean, |value| figure.label.unit.short(value))
                })
                .under(&head)
                .spare(rank),
            );
            columns.push(
                Column::of("difference", &numbers, |queue| -> Cell {
                    if *queue == 0 {
                        return String::new().into();
                    }
                    difference_text(self.difference([0, *queue], group, figure)).into()
                })
                .under(head)
                .spare(rank),
            );
        }
        let loss = named(SOURCE, "loss");
        columns.push(Column::of("loss", &numbers, |queue| {
            interval_text(self.mean(*queue, group, loss), |value| {
                loss.label.unit.short(value)
            })
        }));
        vec![Block::Table(Grid::new(columns))]
    }

    /// The delays of each group's packets, under all queues in one chart.
    fn charts(&self) -> Vec<Chart> {
        let mut results = Vec::new();
        for queue in &self.queues {
            let mut kinds = queue.simulated.curves.clone();
            kinds.truncate(MOST_CHARTED.min(self.groups()));
            results.push(PlottedResult {
                label: clean(&queue.queue),
                kinds,
            });
        }
        let plotted = Plotted {
            version: self.version,
            results,
        };
        plotted.charts(&PlotFigure::ALL)
    }

    /// One self-contained page.
    pub fn html(&self) -> String {
        let mut document = self.document();
        // The first sentence is the page's heading.
        let answer = format!(
            "# {}",
            Document(vec![document.0.remove(1)]).markdown().trim_start()
        );
        document.0[0].remove(0);
        let names: Vec<String> = self
            .queues
            .iter()
            .map(|queue| clean(&queue.queue))
            .collect();
        let title = format!("{}: {}", clean(&self.first().name), names.join(", "));
        item_html(&ItemPage {
            title: &title,
            answer: &answer,
            markdown: &document.markdown(),
            charts: &self.charts(),
            version: self.version,
            ..ItemPage::default()
        })
    }
}

/// Whether a difference is more than chance: its interval leaves zero out.
fn is_sure(difference: Option<Interval>) -> bool {
    difference.is_some_and(|difference| match difference.half_width {
        Some(half) => difference.mean.abs() > half,
        // Of one seed, nothing is sure.
        None => false,
    })
}

fn difference_text(difference: Option<Interval>) -> String {
    let Some(Interval { mean, half_width }) = difference else {
        return "–".to_owned();
    };
    match half_width {
        Some(half) if half > 0.0 => format!("{} ±{}", signed_percent(mean), percent(half)),
        _ => signed_percent(mean),
    }
}

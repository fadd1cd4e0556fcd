//! Whether least slack time first (LSTF) serves an objective as well as the discipline made for it: tables for a terminal, JSON for scripts, a page.

use roundelay_sim::scenario::{Figure, Interval, student_95};
use serde::Serialize;

use crate::chart::{Axis, Chart, Curve, Drawn, Point};
use crate::grid::{Cell, Column, Grid, Paint};
use crate::html::{ItemPage, item_html};
use crate::simulation::figure;
use crate::table::TableStyle;
use crate::text::{clean, cut, wrap};
use crate::units::{count, percent, seconds, significant};

/// Packets lost, or flows cut off, that differ by more than this part of all: figures of those that are left cannot be compared.
const MATERIAL: f64 = 0.01;
/// More flows than this part cut off by the end of the run are told in a note: means of completion times leave them out.
const MANY_INCOMPLETE: f64 = 0.01;

/// A scenario under several disciplines, with the same seeds.
#[derive(Debug, Clone, Serialize)]
pub struct ObjectiveResult {
    /// Of this program.
    pub version: &'static str,
    /// What the scenario is called.
    pub name: String,
    /// What is odd about the scenario and its captures, a sentence each.
    pub notes: Vec<String>,
    /// The objective: completion, tail and so on.
    pub measure: &'static str,
    /// The figure of the runs that tells it.
    pub figure: Figure,
    /// The slack of LSTF, as it was written.
    pub slack: String,
    /// The discipline that the others are compared with.
    pub specialist: String,
    /// By which part of the specialist's figure LSTF may be worse.
    pub threshold: f64,
    /// Seconds of a run.
    pub duration: f64,
    /// Seconds of it that count for nothing.
    pub warmup: f64,
    /// The disciplines: fifo, the specialist, lstf, and others as they were named.
    pub disciplines: Vec<DisciplineResult>,
    /// Whether LSTF does.
    pub lstf: Verdict,
    /// Whether FIFO would do as well.
    pub fifo: Verdict,
    /// What a packet costs on this machine, the one result that differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What came of one discipline.
#[derive(Debug, Clone, Serialize)]
pub struct DisciplineResult {
    /// The discipline with its parameters and limit, as it was written.
    pub queue: String,
    /// Mean and 95% confidence interval of the figure.
    pub value: Option<Interval>,
    /// By which part of the specialist's figure it is worse, paired by seed; below zero: better.
    pub worse: Option<Interval>,
    /// The part of the packets that did not arrive.
    pub loss: Option<Interval>,
    /// Flows that were not complete at the end of the run.
    pub incomplete: Option<Interval>,
    /// What came of each seed.
    pub replicas: Vec<ObjectiveRun>,
}

/// What came of one seed under one discipline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ObjectiveRun {
    /// The seed.
    pub seed: u64,
    /// The figure.
    pub value: f64,
    /// The part of the packets that did not arrive.
    pub loss: Option<f64>,
    /// Flows that were complete.
    pub complete: u64,
    /// Flows that were not.
    pub incomplete: u64,
}

impl ObjectiveRun {
    /// The part of the flows that was cut off.
    fn cut_off(&self) -> f64 {
        self.incomplete as f64 / (self.complete + self.incomplete).max(1) as f64
    }
}

impl DisciplineResult {
    /// Both lists are in the order of the seeds.
    pub fn new(queue: String, which: Figure, replicas: Vec<ObjectiveRun>, specialist: &[ObjectiveRun]) -> Self {
        let mean = |values: Vec<f64>| student_95(&values);
        let pairs = replicas.iter().zip(specialist);
        let worse: Option<Vec<f64>> = pairs.map(|(own, other)| which.worse(own.value, other.value)).collect();
        Self {
            queue,
            value: mean(replicas.iter().map(|run| run.value).collect()),
            worse: worse.and_then(mean),
            loss: mean(replicas.iter().filter_map(|run| run.loss).collect()),
            incomplete: mean(replicas.iter().map(|run| run.incomplete as f64).collect()),
            replicas,
        }
    }

    /// Mean of the parts of the flows of a seed that were cut off.
    fn mean_cut_off(&self) -> f64 {
        self.replicas.iter().map(ObjectiveRun::cut_off).sum::<f64>() / self.replicas.len().max(1) as f64
    }

    /// The largest part of the flows of a seed that was cut off.
    fn cut_off(&self) -> f64 {
        self.replicas.iter().map(ObjectiveRun::cut_off).fold(0.0, f64::max)
    }
}

/// Whether a discipline does as well as the specialist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// All of the interval is within the threshold, and no more is lost or cut off than under the specialist.
    Does,
    /// All of it is beyond, and no less is lost or cut off.
    DoesNot,
    /// The threshold lies in the interval, there is none, or loss or cut-off flows forbid the comparison.
    CannotTell,
}

/// An answer, and the sentence that tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// In a word.
    pub answer: Answer,
    /// As people say it.
    pub sentence: String,
}

impl Answer {
    /// `worse` is the part by which a discipline is worse than the specialist, over the seeds.
    pub fn of(worse: Option<Interval>, threshold: f64) -> Self {
        match worse {
            Some(Interval { mean, half_width: Some(half) }) if mean + half <= threshold => Self::Does,
            Some(Interval { mean, half_width: Some(half) }) if mean - half > threshold => Self::DoesNot,
            _ => Self::CannotTell,
        }
    }
}

impl Verdict {
    /// On the discipline `of`. Delays and completion times are those of packets that arrive and flows that end: a discipline that materially loses or cuts off
    /// more than the specialist does not do as well by them, and one that loses or cuts off less is not worse by them.
    pub fn new(of: &DisciplineResult, which: Figure, specialist: &DisciplineResult, threshold: f64) -> Self {
        let by_figure = Answer::of(of.worse, threshold);
        let gaps: Vec<_> = Gap::all(of, specialist, which).into_iter().filter(Gap::is_material).collect();
        let is_forbidden = |gap: &Gap| match by_figure {
            Answer::Does => gap.is_more(),
            Answer::DoesNot => !gap.is_more(),
            Answer::CannotTell => false,
        };
        let is_incomparable = gaps.iter().any(is_forbidden);
        let answer = if is_incomparable { Answer::CannotTell } else { by_figure };
        let (queue, other, bound) = (&of.queue, &specialist.queue, percent(threshold));
        let how = of
            .worse
            .map_or_else(|| "there is nothing to compare".to_owned(), |worse| format!("its {} is {}", name(which), in_words(worse)));
        let gaps = gaps.iter().map(|gap| format!(", and {}", gap.in_words(other))).collect::<String>();
        let seeds = of.replicas.len();
        let sentence = match answer {
            Answer::Does => format!("{queue} does as well as {other}: {how}, within {bound}{gaps}."),
            Answer::DoesNot => format!("{queue} does not do as well as {other}: {how}, beyond {bound}{gaps}."),
            Answer::CannotTell if is_incomparable => {
                format!("Whether {queue} does as well as {other} cannot be told: {how}{}.", gaps.replacen(", and", ", but", 1))
            }
            Answer::CannotTell => {
                let seeds = if seeds == 1 { "1 seed".to_owned() } else { format!("{seeds} seeds") };
                format!(
                    "Whether {queue} does as well as {other} cannot be told from {seeds}: {how}, the threshold {bound}{gaps}. Run more --replicas."
                )
            }
        };
        Self { answer, sentence }
    }
}

/// The part of the packets or flows that is in no delay or completion time, under a discipline and under the specialist: means over the seeds.
struct Gap {
    own: f64,
    other: f64,
    /// What happens to them.
    verb: &'static str,
    /// Packets or flows.
    of: &'static str,
}

impl Gap {
    /// Lost packets; flows cut off, where the figure is one of flows that end or of packets.
    fn all(of: &DisciplineResult, specialist: &DisciplineResult, which: Figure) -> Vec<Self> {
        let loss = |row: &DisciplineResult| row.loss.map_or(0.0, |loss| loss.mean);
        let mut gaps = vec![Self { own: loss(of), other: loss(specialist), verb: "loses", of: "packets" }];
        if which != Figure::Jain {
            gaps.push(Self { own: of.mean_cut_off(), other: specialist.mean_cut_off(), verb: "leaves unfinished", of: "flows" });
        }
        gaps
    }

    fn is_material(&self) -> bool {
        (self.own - self.other).abs() > MATERIAL
    }

    fn is_more(&self) -> bool {
        self.own > self.other
    }

    /// `it loses 19.6 % of the packets where fifo loses none`.
    fn in_words(&self, specialist: &str) -> String {
        let part = |part: f64| if part > 0.0 { percent(part) } else { "none".to_owned() };
        let Self { verb, of, .. } = self;
        format!("it {verb} {} of the {of} where {specialist} {verb} {}", part(self.own), part(self.other))
    }
}

/// `2.1 % worse (95 % interval -0.5 % to 4.7 %)`.
fn in_words(worse: Interval) -> String {
    let Interval { mean, half_width } = worse;
    let side = if mean < 0.0 { "better" } else { "worse" };
    let interval = half_width.map(|half| format!(" (95 % interval {} to {})", signed(mean - half), signed(mean + half)));
    if mean == 0.0 && half_width == Some(0.0) {
        return "the same for each seed".to_owned();
    }
    format!("{} {side}{}", percent(mean.abs()), interval.unwrap_or_default())
}

fn signed(part: f64) -> String {
    // What rounds to zero has no sign.
    let tenths = (part * 1e3).round();
    if tenths == 0.0 { "0.0 %".to_owned() } else { format!("{:+.1} %", tenths / 10.0) }
}

const fn name(which: Figure) -> &'static str {
    match which {
        Figure::Completion => "mean flow completion time",
        Figure::CompletionByBytes => "mean flow completion time by bytes",
        Figure::DelayTail => "99th percentile of packet delay",
        Figure::Jain => "Jain index of throughput by weight",
    }
}

/// A value of a figure with its unit.
fn with_unit(which: Figure, value: f64) -> String {
    if matches!(which, Figure::Jain) { format!("{value:.3}") } else { seconds(value) }
}

/// What a packet costs, enqueued and dequeued.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// Packets that waited meanwhile: the mean backlog of the busiest router queue under LSTF, rounded up.
    pub backlog: u32,
    /// Flows that they belonged to.
    pub flows: u32,
    /// That queue's link.
    pub link: String,
    /// By discipline, in the order of the results.
    pub disciplines: Vec<DisciplineCost>,
}

/// The cost of one discipline, medians over rounds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DisciplineCost {
    /// Nanoseconds of CPU time a packet.
    pub nanos: f64,
    /// Over that of fifo in the same round.
    pub over_fifo: f64,
    /// The part of the packets that the discipline dropped meanwhile.
    pub dropped: f64,
}

impl ObjectiveResult {
    /// As JSON, indented, ending in a newline. Times in seconds.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data with string keys always serialises") + "\n"
    }

    /// As a table for a terminal, with the verdicts below.
    pub fn table(&self, style: TableStyle) -> String {
        let sections =
            [self.headline(style), self.rows(style), self.sentences().iter().flat_map(|text| wrap(text, style.limit())).collect()];
        sections.map(|lines| lines.join("\n") + "\n").join("\n")
    }

    fn headline(&self, style: TableStyle) -> Vec<String> {
        let seeds: Vec<_> = self.disciplines.first().map_or(&[][..], |first| &first.replicas).iter().map(|run| run.seed).collect();
        let seeds = match seeds[..] {
            [first, .., last] => format!("seeds {first} to {last}, means with 95% confidence intervals"),
            [seed] => format!("seed {seed}"),
            [] => "no replica".to_owned(),
        };
        let warmup = if self.warmup > 0.0 { format!(", the first {} not counted", seconds(self.warmup)) } else { String::new() };
        let facts = format!(
            "Objective: {}. Figure: {}. {}{warmup}; {seeds}. Slack of lstf: {}.",
            self.measure,
            name(self.figure),
            seconds(self.duration),
            clean(&self.slack),
        );
        let mut lines = vec![Paint::Bold.on(&cut(&clean(&self.name), style.limit()), style.color)];
        lines.extend(wrap(&facts, style.limit()));
        for note in &self.notes {
            lines.extend(wrap(&format!("Note: {}", clean(note)), style.limit()).iter().map(|line| Paint::Faint.on(line, style.color)));
        }
        lines
    }

    fn rows(&self, style: TableStyle) -> Vec<String> {
        let column = |head: &str, cell: &dyn Fn(&DisciplineResult) -> Cell| Column::new(head, self.disciplines.iter().map(cell));
        let head = match self.figure {
            Figure::Completion => "completion",
            Figure::CompletionByBytes => "by bytes",
            Figure::DelayTail => "p99 delay",
            Figure::Jain => "Jain",
        };
        let mut columns = vec![
            column("queue of routers", &|row| clean(&row.queue).into()),
            column(head, &|row| figure(row.value, |value| with_unit(self.figure, value)).into()),
            column(&format!("worse than {}", clean(&self.specialist)), &|row| part(row.worse).into()),
            column("loss", &|row| figure(row.loss, percent).into()),
            column("cut off", &|row| figure(row.incomplete, |flows| count(flows.round() as u64)).into()).spare(2),
        ];
        if let Some(cost) = &self.cost {
            let column = |head: &str, cell: &dyn Fn(&DisciplineCost) -> String| {
                Column::new(head, cost.disciplines.iter().map(|cost| cell(cost).into()))
            };
            columns.push(column("ns", &|cost| significant(cost.nanos)).under("a packet").spare(1));
            columns.push(column("over fifo", &|cost| format!("{}x", significant(cost.over_fifo))).under("a packet"));
        }
        Grid::new(columns).lines(style.limit(), style.color)
    }

    /// The verdicts, a sentence or two each.
    fn sentences(&self) -> Vec<String> {
        let fifo = match self.fifo.answer {
            Answer::Does => format!("{} In this scenario neither of the two is needed for the objective.", self.fifo.sentence),
            _ => self.fifo.sentence.clone(),
        };
        let (cut_off, cost) = (self.cut_off(), self.cost_in_words());
        [self.lstf.sentence.clone(), fifo].into_iter().chain(cut_off).chain(cost).collect()
    }

    /// Flows without a completion time, where they are many.
    fn cut_off(&self) -> Option<String> {
        let most = self.disciplines.iter().map(DisciplineResult::cut_off).fold(0.0, f64::max);
        let counts = matches!(self.figure, Figure::Completion | Figure::CompletionByBytes);
        (counts && most > MANY_INCOMPLETE).then(|| {
            format!(
                "Up to {} of the flows of a run were cut off by its end and are in no mean; [meter] started leaves late flows out.",
                percent(most)
            )
        })
    }

    fn cost_in_words(&self) -> Option<String> {
        let cost = self.cost.as_ref()?;
        let [fifo, _, lstf, ..] = cost.disciplines[..] else { return None };
        let packets = if cost.backlog == 1 { "1 packet waits".to_owned() } else { format!("{} packets wait", count(cost.backlog.into())) };
        Some(format!(
            "Cost: {} ns of CPU time a packet under lstf, {} times that of fifo ({} ns), while {packets}: the mean backlog of the busiest router queue, {}.",
            significant(lstf.nanos),
            significant(lstf.over_fifo),
            significant(fifo.nanos),
            clean(&cost.link),
        ))
    }

    /// As one HTML page, complete in itself: the table, the verdicts and a chart of the figure.
    pub fn html(&self) -> String {
        // A page scrolls: no column is left out.
        let style = TableStyle { width: Some(u16::MAX), color: false };
        let text = self.headline(style).get(1..).unwrap_or_default().join("\n");
        let markdown = format!("{text}\n\n```text\n{}\n```\n\n{}\n", self.rows(style).join("\n"), self.sentences().join("\n\n"));
        let title = format!("{}: {}", clean(&self.name), self.measure);
        item_html(&ItemPage { title: &title, markdown: &markdown, charts: &[self.chart()], version: self.version })
    }

    fn chart(&self) -> Chart {
        let point = |(x, row): (u32, &DisciplineResult)| {
            let value = row.value?;
            Some(Point { x: f64::from(x), y: value.mean, half_width: value.half_width.unwrap_or(0.0) })
        };
        let names = self.disciplines.iter().map(|row| row.queue.clone()).collect();
        let unit = if matches!(self.figure, Figure::Jain) { "Jain's index" } else { "seconds" };
        let points = (0..).zip(&self.disciplines).filter_map(point).collect();
        Chart {
            title: name(self.figure).to_owned(),
            x: Axis { label: "queue of routers".to_owned(), names, ..Axis::default() },
            y: Axis { label: unit.to_owned(), ..Axis::default() },
            curves: vec![Curve { name: "mean and 95% interval".to_owned(), points, drawn: Drawn::Dots }],
            ..Chart::default()
        }
    }
}

/// A part by which a discipline is worse, with its sign.
fn part(worse: Option<Interval>) -> String {
    let Some(Interval { mean, half_width }) = worse else { return "–".to_owned() };
    match half_width {
        Some(half) if half > 0.0 => format!("{} ±{:.1} %", signed(mean), half * 100.0),
        _ => signed(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn interval(mean: f64, half: f64) -> Option<Interval> {
        Some(Interval { mean, half_width: Some(half) })
    }

    #[test]
    fn an_answer_needs_the_whole_interval() {
        assert_eq!(Answer::of(interval(0.02, 0.03), 0.05), Answer::Does);
        assert_eq!(Answer::of(interval(0.02, 0.04), 0.05), Answer::CannotTell);
        assert_eq!(Answer::of(interval(0.10, 0.04), 0.05), Answer::DoesNot);
        assert_eq!(Answer::of(interval(-0.30, 0.04), 0.0), Answer::Does);
        assert_eq!(Answer::of(Some(Interval { mean: 0.0, half_width: None }), 0.05), Answer::CannotTell);
        assert_eq!(Answer::of(None, 0.05), Answer::CannotTell);
    }

    fn runs(values: &[f64]) -> Vec<ObjectiveRun> {
        (1..).zip(values).map(|(seed, value)| ObjectiveRun { seed, value: *value, loss: None, complete: 99, incomplete: 1 }).collect()
    }

    fn verdict(values: &[f64], specialist: &[f64], which: Figure) -> Verdict {
        verdict_of(runs(values), runs(specialist), which)
    }

    fn verdict_of(own: Vec<ObjectiveRun>, specialist: Vec<ObjectiveRun>, which: Figure) -> Verdict {
        let own = DisciplineResult::new("lstf".to_owned(), which, own, &specialist);
        Verdict::new(&own, which, &DisciplineResult::new("sjf".to_owned(), which, specialist.clone(), &specialist), 0.05)
    }

    /// A queue of five packets has short delays: of the packets that it does not drop.
    #[test]
    fn loss_is_not_rewarded() {
        let with = |value: f64, loss: f64| runs(&[value, value]).into_iter().map(|run| ObjectiveRun { loss: Some(loss), ..run }).collect();
        let told = verdict_of(with(0.5, 0.196), with(1.0, 0.0), Figure::DelayTail);
        assert_eq!(told.answer, Answer::CannotTell);
        assert!(
            told.sentence
                .ends_with("50.0 % better (95 % interval -50.0 % to -50.0 %), but it loses 19.6 % of the packets where sjf loses none."),
            "{told:?}"
        );
        let told = verdict_of(with(2.0, 0.0), with(1.0, 0.196), Figure::DelayTail);
        assert_eq!(told.answer, Answer::CannotTell);
        assert!(told.sentence.contains("but it loses none of the packets where sjf loses 19.6 %"), "{told:?}");
        let told = verdict_of(with(2.0, 0.196), with(1.0, 0.0), Figure::DelayTail);
        assert!(told.answer == Answer::DoesNot && told.sentence.contains("and it loses 19.6 %"), "{told:?}");
        assert_eq!(verdict_of(with(1.0, 0.0), with(1.0, 0.196), Figure::DelayTail).answer, Answer::Does);
        assert_eq!(verdict_of(with(1.0, 0.012), with(1.0, 0.005), Figure::DelayTail).answer, Answer::Does);
    }

    /// Flows that wait until the end of the run are in no mean.
    #[test]
    fn starvation_is_not_rewarded() {
        let with = |value: f64, incomplete: u64| runs(&[value, value]).into_iter().map(|run| ObjectiveRun { incomplete, ..run }).collect();
        let told = verdict_of(with(0.5, 33), with(1.0, 1), Figure::Completion);
        assert_eq!(told.answer, Answer::CannotTell);
        assert!(told.sentence.ends_with("but it leaves unfinished 25.0 % of the flows where sjf leaves unfinished 1.0 %."), "{told:?}");
        assert_eq!(verdict_of(with(0.5, 2), with(1.0, 1), Figure::Completion).answer, Answer::Does);
        assert_eq!(verdict_of(with(1.0, 33), with(1.0, 1), Figure::Jain).answer, Answer::Does);
    }

    #[test]
    fn seeds_are_compared_one_by_one() {
        // The seeds differ by a factor of ten, the disciplines by 2 %.
        let told = verdict(&[1.02, 10.2], &[1.0, 10.0], Figure::Completion);
        assert_eq!(told.answer, Answer::Does);
        assert!(
            told.sentence
                .starts_with("lstf does as well as sjf: its mean flow completion time is 2.0 % worse (95 % interval +2.0 % to +2.0 %)"),
            "{told:?}"
        );
        let told = verdict(&[0.5, 0.5], &[1.0, 1.0], Figure::Jain);
        assert!(told.answer == Answer::DoesNot && told.sentence.contains("50.0 % worse"), "{told:?}");
        let told = verdict(&[1.0], &[1.0], Figure::Completion);
        assert!(told.sentence.contains("cannot be told from 1 seed") && told.sentence.contains("--replicas"), "{told:?}");
    }
}

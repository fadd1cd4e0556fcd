//! Evaluation by RFC 7928 as a table, JSON and a page: sections by queues, with a mark for each
//! figure and a sentence for each queue.

use roundelay_evaluate::{
    Better, Cell as Figure, Evaluation, Mark, Row, ScenarioResult, ToFifo, Unit,
};
use roundelay_trace::arguments::shell_word;
use serde::Serialize;

use crate::chart::{Axis, Chart, Curve, Drawn, Point};
use crate::document::{self, Block, Document, Section, seeds_in_words};
use crate::figures::interval_text;
use crate::grid::{Cell, Column, Fold, Paint};
use crate::html::{Folded, ItemPage, item_html};
use crate::json::Printed;
use crate::text::clean;
use crate::units::{percent, seconds};

/// Exceptions that a sentence names.
const MOST_NAMED: usize = 3;
/// The identifier of the figure with which a sentence begins.
const DELAY: &str = "queueing_delay_p99";
/// The identifier of the figure over which charts have the delay.
const LINK_USE: &str = "link_use";
/// The identifier of lost packets.
const LOSS: &str = "loss_ratio";

/// An evaluation with its sentences.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluated {
    /// Version of this program.
    pub version: &'static str,
    /// A sentence or two on each queue, in the queues' order.
    pub sentences: Vec<String>,
    /// Parameters that were set by hand (section 12), by queue, without the buffer that all have.
    pub set_by_hand: Vec<String>,
    /// Notes on oddities, a sentence each.
    pub notes: Vec<String>,
    /// The results.
    #[serde(flatten)]
    pub evaluation: Evaluation,
}

impl Printed for Evaluated {
    const SCHEMA: &'static str = "evaluate/1";
}

impl Evaluated {
    /// Finds the words for an evaluation.
    pub fn new(version: &'static str, evaluation: Evaluation) -> Self {
        let mut sentences = Vec::new();
        let mut set_by_hand = Vec::new();
        for (number, queue) in evaluation.queues.iter().enumerate() {
            sentences.push(sentence(&evaluation, number));
            let parameters: Vec<&str> = queue.split_whitespace().skip(1).collect();
            set_by_hand.push(parameters.join(" "));
        }
        let notes = notes(&evaluation);
        Self {
            version,
            sentences,
            set_by_hand,
            notes,
            evaluation,
        }
    }

    /// The report for a terminal, or in Markdown.
    pub fn document(&self) -> Document {
        let answer: Section = self.sentences.iter().cloned().map(Block::Text).collect();
        Document(vec![
            self.headline(),
            answer,
            self.overview(),
            self.figures(),
        ])
    }

    /// The report as one self-contained HTML page.
    pub fn html(&self) -> String {
        let mut headline = self.headline();
        headline.remove(0);
        let answer: Section = self.sentences.iter().cloned().map(Block::Text).collect();
        let document = Document(vec![headline, self.overview(), self.figures()]);
        item_html(&ItemPage {
            title: "Evaluation by RFC 7928",
            answer: &Document(vec![answer]).markdown(),
            markdown: &document.markdown(),
            charts: &self.charts(),
            folded: &[self.commands()],
            version: self.version,
            ..ItemPage::default()
        })
    }

    /// For each scenario with both figures, the link use by the delay: a curve for each queue, and
    /// a point for each run.
    fn charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        for scenario in &self.evaluation.scenarios {
            let row = |id: &str| scenario.rows.iter().find(|row| row.id == id);
            let [Some(delay), Some(link_use)] = [DELAY, LINK_USE].map(row) else {
                continue;
            };
            let mut curves = Vec::new();
            for (number, queue) in self.evaluation.queues.iter().enumerate() {
                let mut points = Vec::new();
                let values = delay.cells[number].values.iter();
                for (x, y) in values.zip(&link_use.cells[number].values) {
                    if let (Some(x), Some(y)) = (x, y) {
                        points.push(Point {
                            x: x * 1e3,
                            y: y * 100.0,
                            half_width: 0.0,
                        });
                    }
                }
                points.sort_by(|one, other| one.x.total_cmp(&other.x));
                curves.push(Curve {
                    name: queue.clone(),
                    points,
                    drawn: Drawn::Discs,
                });
            }
            charts.push(Chart {
                title: format!("{} {}", scenario.name, scenario.title),
                x: Axis {
                    label: format!("{}, ms, a point for each run", delay.label),
                    ..Axis::default()
                },
                y: Axis {
                    label: format!("{}, %", link_use.label),
                    ..Axis::default()
                },
                curves,
                ..Chart::default()
            });
        }
        charts
    }

    /// The commands that repeat each scenario.
    fn commands(&self) -> Folded {
        let Evaluation {
            seeds,
            queues,
            scenarios,
            is_quick,
            ..
        } = &self.evaluation;
        let mut words = String::new();
        for queue in &queues[1..] {
            words += &format!(" {}", shell_word(&clean(queue)));
        }
        let quick = if *is_quick { " --quick" } else { "" };
        let first = seeds.first().copied().unwrap_or(1);
        let replicas = seeds.len();
        let mut commands = Vec::new();
        for ScenarioResult { name, .. } in scenarios {
            commands.push(format!(
                "roundelay evaluate rfc7928{words} --sections {name}{quick} --seed {first} \
                 --replicas {replicas}"
            ));
        }
        let document = Document(vec![vec![Block::Commands(commands)]]);
        Folded {
            title: "Commands that repeat each scenario".to_owned(),
            markdown: document.markdown(),
        }
    }

    /// The scenarios in which fifo loses more or less than the RFC intends, a sentence each.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for scenario in &self.evaluation.scenarios {
            if scenario.is_loss_met == Some(false) {
                faults.push(format!(
                    "{}: fifo loses {}; intended {} (RFC 7928, section 8.2)",
                    scenario.name,
                    scenario.fifo_loss.map_or_else(|| "–".to_owned(), percent),
                    scenario
                        .intended_loss
                        .map_or_else(|| "–".to_owned(), percent),
                ));
            }
        }
        faults
    }

    fn headline(&self) -> Section {
        let Evaluation {
            seeds, is_quick, ..
        } = &self.evaluation;
        let length = if *is_quick {
            " Runs of 10 s: for tests, not for conclusions."
        } else {
            ""
        };
        let facts = format!(
            "{}.{length} Marks by the thresholds below: {} good, {} fair, {} bad.",
            seeds_in_words(seeds.iter().copied()),
            symbol(Some(Mark::Good)),
            symbol(Some(Mark::Fair)),
            symbol(Some(Mark::Bad)),
        );
        let mut notes = self.notes.clone();
        notes.extend(self.faults());
        document::headline("Evaluation by RFC 7928", facts, &notes)
    }

    /// The worst mark of each scenario.
    fn overview(&self) -> Section {
        let all = &self.evaluation.scenarios;
        let mut columns = Vec::new();
        for (number, queue) in self.evaluation.queues.iter().enumerate() {
            columns.push(Column::of(clean(queue), all, |scenario| {
                let marks = scenario.rows.iter().map(|row| row.cells[number].mark);
                mark_alone(marks.max().flatten())
            }));
        }
        let names = [
            Column::of("section", all, |scenario| {
                format!("{} {}", scenario.name, scenario.title)
            }),
            Column::of("section", all, |scenario| scenario.name.to_owned()),
        ];
        folded("The worst mark in each scenario", names, columns)
    }

    /// All figures.
    fn figures(&self) -> Section {
        let mut rows: Vec<(&ScenarioResult, &Row)> = Vec::new();
        for scenario in &self.evaluation.scenarios {
            for row in &scenario.rows {
                rows.push((scenario, row));
            }
        }
        let mut columns = Vec::new();
        for (number, queue) in self.evaluation.queues.iter().enumerate() {
            columns.push(Column::of(clean(queue), &rows, |(_, row)| {
                figure(row, &row.cells[number])
            }));
        }
        let names = [
            Column::of("section and figure", &rows, |(scenario, row)| {
                format!("{} {} ({})", scenario.name, row.label, thresholds(row))
            }),
            Column::of("section and figure", &rows, |(scenario, row)| {
                format!("{} {}", scenario.name, row.label)
            }),
        ];
        let title = "Figures, in parentheses the thresholds of good and of bad ones";
        folded(title, names, columns)
    }
}

/// A title, and a table of which the second column is fifo's.
fn folded(title: &str, names: [Column; 2], mut columns: Vec<Column>) -> Section {
    let second = columns.remove(0);
    let mut groups = Vec::new();
    for column in columns {
        groups.push(vec![column]);
    }
    if groups.is_empty() {
        groups.push(Vec::new());
    }
    let fold = Fold {
        names,
        second,
        groups,
    };
    vec![
        Block::Heading(title.to_owned()),
        Block::Fold(Box::new(fold)),
    ]
}

const fn symbol(mark: Option<Mark>) -> &'static str {
    match mark {
        Some(Mark::Good) => "✓",
        Some(Mark::Fair) => "~",
        Some(Mark::Bad) => "✗",
        None => " ",
    }
}

const fn paint(mark: Option<Mark>) -> Paint {
    match mark {
        Some(Mark::Good) => Paint::Good,
        Some(Mark::Bad) => Paint::Bad,
        Some(Mark::Fair) | None => Paint::Plain,
    }
}

fn mark_alone(mark: Option<Mark>) -> Cell {
    Cell {
        text: symbol(mark).to_owned(),
        paint: paint(mark),
    }
}

/// A value in its unit.
fn in_unit(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Part => percent(value),
        Unit::Ratio => format!("{value:.2}"),
    }
}

/// `20.0 ms, 50.0 ms`.
fn thresholds(row: &Row) -> String {
    match row.thresholds {
        Some(thresholds) => {
            let [good, bad] = [thresholds.good, thresholds.bad];
            format!("{}, {}", in_unit(row.unit, good), in_unit(row.unit, bad))
        }
        None => "none".to_owned(),
    }
}

/// A figure with its mark. If it is not good, and no better than under fifo, it says so.
fn figure(row: &Row, cell: &Figure) -> Cell {
    let mut text = match &cell.modes {
        Some([low, high]) => format!(
            "{} ({}x) or {} ({}x)",
            in_unit(row.unit, low.mean),
            low.count,
            in_unit(row.unit, high.mean),
            high.count
        ),
        None => interval_text(cell.interval, |value| in_unit(row.unit, value)),
    };
    if cell.mark.is_some_and(|mark| mark != Mark::Good) {
        text += match cell.to_fifo {
            Some(ToFifo::Same) => " as fifo",
            Some(ToFifo::Worse) => " < fifo",
            Some(ToFifo::Better) | None => "",
        };
    }
    Cell {
        text: format!("{text} {}", symbol(cell.mark)),
        paint: paint(cell.mark),
    }
}

/// What a queue is good and bad at: its delay first, then its other bad figures.
fn sentence(evaluation: &Evaluation, queue: usize) -> String {
    let mut most_delay: Option<f64> = None;
    // How many scenarios have a delay that is not bad, and those in which it is.
    let mut fine = 0;
    let mut delays = Vec::new();
    let mut others = Vec::new();
    let mut counts = [0, 0];
    let mut as_fifo = 0;
    for scenario in &evaluation.scenarios {
        for row in &scenario.rows {
            let cell = &row.cells[queue];
            let Some(mark) = cell.mark else { continue };
            let Some(value) = cell.told(row.better) else {
                continue;
            };
            counts[0] += usize::from(mark == Mark::Good);
            counts[1] += 1;
            let is_no_better = matches!(cell.to_fifo, Some(ToFifo::Same | ToFifo::Worse));
            as_fifo += usize::from(is_no_better && mark != Mark::Good);
            let name = format!("{} ({})", scenario.name, in_unit(row.unit, value));
            match (mark, row.id) {
                (Mark::Bad, DELAY) => delays.push((row.better.badness(value), name)),
                (Mark::Bad, _) => {
                    others.push((distance(row, value), format!("{} in {name}", row.label)))
                }
                (_, DELAY) => {
                    fine += 1;
                    most_delay = Some(most_delay.map_or(value, |most| most.max(value)));
                }
                _ => {}
            }
        }
    }
    let name = clean(&evaluation.queues[queue]);
    let [good, all] = counts;
    let delay = match (most_delay, delays.len()) {
        (Some(most), 0) => format!("keeps the p99 queueing delay at {} or less", seconds(most)),
        // Few of the delays are bad.
        (Some(most), bad) if bad < fine => format!(
            "keeps the p99 queueing delay at {} or less except in {}",
            seconds(most),
            listed(delays)
        ),
        (Some(_), bad) => format!(
            "has a bad p99 queueing delay in {bad} of {} scenarios, most in {}",
            bad + fine,
            listed(delays)
        ),
        (None, 0) => "was measured without queueing delays".to_owned(),
        (None, _) => format!(
            "has a bad p99 queueing delay everywhere, as in {}",
            listed(delays)
        ),
    };
    let bad = if others.is_empty() {
        "No other figure is bad".to_owned()
    } else {
        format!("Also bad: {}", listed(others))
    };
    let beside_fifo = match as_fifo {
        0 => String::new(),
        count => format!("; as good as fifo or worse among the others: {count}"),
    };
    format!("{name} {delay}. {bad}. {good} of {all} figures are good{beside_fifo}.")
}

/// By how much a bad value is beyond its threshold, as a factor or so.
fn distance(row: &Row, value: f64) -> f64 {
    let Some(thresholds) = row.thresholds else {
        return 0.0;
    };
    match row.better {
        Better::More => thresholds.bad / value.max(1e-9),
        better => better.badness(value) / better.badness(thresholds.bad),
    }
}

/// The worst ones, and how many more.
fn listed(mut all: Vec<(f64, String)>) -> String {
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let more = all.len().saturating_sub(MOST_NAMED);
    let mut names = Vec::new();
    for (_, name) in all.into_iter().take(MOST_NAMED) {
        names.push(name);
    }
    let names = names.join(", ");
    match more {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Queues that lose nothing, and queues that mark nothing.
fn notes(evaluation: &Evaluation) -> Vec<String> {
    let mut notes = Vec::new();
    for number in 1..evaluation.queues.len() {
        notes.extend(note_on_losses(evaluation, number));
    }
    notes.extend(notes_on_marks(evaluation));
    notes
}

/// Tells that a queue loses nothing wherever losses are measured, because senders without limit
/// then fill whatever buffer it has.
fn note_on_losses(evaluation: &Evaluation, queue: usize) -> Option<String> {
    let mut measured = 0;
    for scenario in &evaluation.scenarios {
        for row in scenario.rows.iter().filter(|row| row.id == LOSS) {
            for value in row.cells[queue].values.iter().flatten() {
                if *value > 0.0 {
                    return None;
                }
                measured += 1;
            }
        }
    }
    let name = clean(&evaluation.queues[queue]);
    (measured > 0).then(|| {
        format!("{name} lost no packet in any run: senders that wait for a loss fill its buffer.")
    })
}

/// Queues under which ECN changed nothing. Sections 4.5 and 6.2 differ in ECN alone.
fn notes_on_marks(evaluation: &Evaluation) -> Vec<String> {
    let mut notes = Vec::new();
    let find = |name: &str| {
        let mut scenarios = evaluation.scenarios.iter();
        scenarios.find(|scenario| scenario.name == name)
    };
    let [Some(with), Some(without)] = ["4.5-5ms", "6.2-5ms"].map(find) else {
        return notes;
    };
    for (number, queue) in evaluation.queues.iter().enumerate().skip(1) {
        let mut pairs = with.rows.iter().zip(&without.rows);
        if pairs.all(|(one, other)| one.cells[number].values == other.cells[number].values) {
            notes.push(format!(
                "{} marks no packet: 4.5 with ECN is 6.2 without it.",
                clean(queue)
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use roundelay_evaluate::SCENARIOS;

    use super::*;

    /// Two queues, of which the second has a figure of `value` wherever fifo has 1 for each figure.
    fn evaluated(names: &[&str], value: f64) -> Evaluated {
        with_loss(names, value, 0.001)
    }

    fn with_loss(names: &[&str], value: f64, loss: f64) -> Evaluated {
        let mut scenarios = Vec::new();
        for scenario in SCENARIOS {
            if names.contains(&scenario.name) {
                let figure = |queue: usize, _, _: &str, figure: &str| match (queue, figure) {
                    (_, "throughput") => Some(9.8e6),
                    (0, "loss") => Some(0.001),
                    (_, "loss") => Some(loss),
                    (0, _) => Some(1.0),
                    _ => Some(value),
                };
                let buffer = "83p".to_owned();
                scenarios.push(ScenarioResult::new(
                    scenario,
                    buffer,
                    2,
                    &[1, 2],
                    false,
                    &figure,
                ));
            }
        }
        let evaluation = Evaluation {
            rfc: 7928,
            seeds: vec![1, 2],
            is_quick: false,
            queues: vec!["fifo".to_owned(), "mine target 3ms".to_owned()],
            scenarios,
        };
        Evaluated::new("0.1.0", evaluation)
    }

    #[test]
    fn a_sentence_says_what_a_queue_is_bad_at() {
        let good = evaluated(&["5.1.1", "8.2.6-20s"], 0.06);
        assert_eq!(
            good.sentences[1],
            "mine target 3ms keeps the p99 queueing delay at 10.0 ms or less. Also bad: link use in \
             8.2.6-20s (17.8%). 3 of 4 figures are good; as good as fifo or worse among the others: 1."
        );
        assert_eq!(good.set_by_hand, ["", "target 3ms"]);
        let bad = evaluated(&["5.1.1"], 0.5);
        assert!(
            bad.sentences[1]
                .contains("has a bad p99 queueing delay everywhere, as in 5.1.1 (450 ms)"),
            "{}",
            bad.sentences[1]
        );
        // Of three delays beyond the propagation delays, two are bad: formerly it kept its delay
        // "except in 2".
        let mostly = evaluated(&["5.1.1", "5.2", "6.2-200ms"], 0.105);
        assert!(
            mostly.sentences[1]
                .contains("has a bad p99 queueing delay in 2 of 3 scenarios, most in"),
            "{}",
            mostly.sentences[1]
        );
    }

    #[test]
    fn a_level_of_congestion_that_fifo_misses_is_a_fault() {
        assert!(evaluated(&["8.2.2"], 0.06).faults().is_empty());
        assert_eq!(
            evaluated(&["8.2.4"], 0.06).faults(),
            ["8.2.4: fifo loses 0.10%; intended 1.0% (RFC 7928, section 8.2)"]
        );
    }

    #[test]
    fn a_queue_that_loses_nothing_is_told() {
        let notes = with_loss(&["5.1.1", "8.2.2"], 0.06, 0.0).notes;
        assert_eq!(
            notes,
            [
                "mine target 3ms lost no packet in any run: senders that wait for a loss fill its buffer."
            ]
        );
        assert!(evaluated(&["5.1.1"], 0.06).notes.is_empty());
        assert!(
            with_loss(&["7.2-web"], 0.06, 0.0).notes.is_empty(),
            "no loss is measured"
        );
    }

    #[test]
    fn a_queue_that_marks_nothing_is_told() {
        let notes = evaluated(&["4.5-5ms", "6.2-5ms"], 0.06).notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("mine target 3ms marks no packet"));
        assert!(evaluated(&["4.5-5ms"], 0.06).notes.is_empty());
    }

    /// A point for each run, a curve for each queue, and the command that repeats it.
    #[test]
    fn the_page_has_charts_and_commands() {
        let evaluated = evaluated(&["5.1.1", "7.2-web"], 0.06);
        let charts = evaluated.charts();
        assert_eq!(charts.len(), 1, "7.2-web has no link use");
        let mine = &charts[0].curves[1];
        assert_eq!((mine.points.len(), mine.points[0].y), (2, 98.0));
        assert!((mine.points[0].x - 10.0).abs() < 1e-9);
        let page = evaluated.html();
        for part in [
            "5.1.1 one NewReno flow",
            "--sections 7.2-web --seed 1 --replicas 2",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn the_table_has_marks_without_colours() {
        let text = evaluated(&["5.1.1"], 0.06).document().markdown();
        for part in ["10.0 ms ✓", "950 ms ✗", "20.0 ms, 50.0 ms", "0.10%"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

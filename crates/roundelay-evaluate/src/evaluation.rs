//! All cells of an evaluation: rows of figures by scenario, a cell for each queue.

use serde::Serialize;

use crate::cell::Cell;
use crate::scenarios::{Better, Measure, Of, Scenario, Thresholds, Unit};

/// The results of scenarios under queues.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// The RFC.
    pub rfc: u32,
    /// The replicas' seeds.
    pub seeds: Vec<u64>,
    /// Whether runs were short, for tests: their figures are those of slow start.
    pub is_quick: bool,
    /// The queues as written, fifo first.
    pub queues: Vec<String>,
    /// By scenario, in the RFC's order.
    pub scenarios: Vec<ScenarioResult>,
}

/// The results of a scenario.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioResult {
    /// Its name: the section, with a variant behind a hyphen.
    pub name: &'static str,
    /// The section of the RFC.
    pub section: &'static str,
    /// In words.
    pub title: &'static str,
    /// The buffer of all queues without a limit of their own, as in 83p.
    pub buffer: String,
    /// The loss that the RFC intends under fifo, as a part.
    pub intended_loss: Option<f64>,
    /// The loss under fifo, the mean over replicas; with an intended loss only.
    pub fifo_loss: Option<f64>,
    /// Whether fifo's loss is about the intended one: within a factor of 1.5. None for short runs,
    /// and without an intended loss.
    pub is_loss_met: Option<bool>,
    /// By figure.
    pub rows: Vec<Row>,
}

/// A figure under all queues.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The figure's identifier.
    pub id: &'static str,
    /// In words.
    pub label: &'static str,
    /// The source that it is of; `all` is all together.
    pub source: &'static str,
    /// Unit of all values.
    pub unit: Unit,
    /// Which values are better.
    pub better: Better,
    /// None: the figure has no marks.
    pub thresholds: Option<Thresholds>,
    /// By queue.
    pub cells: Vec<Cell>,
}

/// A source's figure in the run of a queue with a seed: the arguments are the queue's number, the
/// seed, the source and the figure's name.
pub type FigureOf<'a> = dyn Fn(usize, u64, &str, &str) -> Option<f64> + 'a;

impl ScenarioResult {
    /// What `figure` says of the scenario under `queues` queues, of which the first is fifo.
    pub fn new(
        scenario: &Scenario,
        buffer: String,
        queues: usize,
        seeds: &[u64],
        is_quick: bool,
        figure: &FigureOf<'_>,
    ) -> Self {
        let mut rows = Vec::new();
        for measure in scenario.measures {
            rows.push(row(measure, queues, seeds, figure));
            for beneath in measure.beneath() {
                rows.push(row(&beneath, queues, seeds, figure));
            }
        }
        let mut fifo_loss = None;
        if let Some(loss) = scenario.loss {
            let mut losses = Vec::new();
            for seed in seeds {
                losses.extend(figure(0, *seed, loss.source, "loss"));
            }
            if !losses.is_empty() {
                fifo_loss = Some(losses.iter().sum::<f64>() / losses.len() as f64);
            }
        }
        let is_loss_met = match (scenario.loss, fifo_loss) {
            (Some(loss), Some(found)) if !is_quick => Some(loss.is_met(found)),
            _ => None,
        };
        Self {
            name: scenario.name,
            section: scenario.section(),
            title: scenario.title,
            buffer,
            intended_loss: scenario.loss.map(|loss| loss.intended),
            fifo_loss,
            is_loss_met,
            rows,
        }
    }
}

fn row(measure: &Measure, queues: usize, seeds: &[u64], figure: &FigureOf<'_>) -> Row {
    let mut cells: Vec<Cell> = Vec::new();
    for queue in 0..queues {
        let mut values = Vec::new();
        for seed in seeds {
            let of = |source: &str| figure(queue, *seed, source, measure.figure);
            values.push(value(measure, &of));
        }
        let fifo = cells.first().map(|cell| &cell.values[..]);
        let cell = Cell::new(values, fifo, measure.better, measure.thresholds);
        cells.push(cell);
    }
    Row {
        id: measure.id,
        label: measure.label,
        source: measure.source,
        unit: measure.unit,
        better: measure.better,
        thresholds: measure.thresholds,
        cells,
    }
}

/// A measure's value. `figure` gives its figure of a source.
fn value(measure: &Measure, figure: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let own = figure(measure.source)?;
    let value = match measure.of {
        Of::Figure => own,
        Of::Less(other) => (own - other).max(0.0),
        Of::Over(other) => own / other,
        Of::OverSource(source) => own / figure(source)?,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::SCENARIOS;

    /// Each p99 delay has its median and maximum beneath it, of the same source and less the same
    /// propagation delay, and only the p99 has a mark.
    #[test]
    fn a_delay_has_its_median_and_maximum() {
        let figure = |_: usize, _: u64, _: &str, figure: &str| match figure {
            "delay_p50" => Some(0.3),
            "delay_p99" => Some(0.4),
            "delay_max" => Some(0.5),
            _ => None,
        };
        for scenario in SCENARIOS {
            let buffer = "83p".to_owned();
            let result = ScenarioResult::new(scenario, buffer, 1, &[1], false, &figure);
            let of = |id: &str| {
                let rows = result.rows.iter().filter(|row| row.id == id);
                rows.collect::<Vec<_>>()
            };
            let p99 = of("queueing_delay_p99");
            assert!(!p99.is_empty(), "{}", scenario.name);
            for (id, beyond) in [("queueing_delay_p50", -0.1), ("queueing_delay_max", 0.1)] {
                let others = of(id);
                assert_eq!(others.len(), p99.len(), "{} {id}", scenario.name);
                for (one, other) in p99.iter().zip(others) {
                    assert_eq!(one.source, other.source);
                    let [one, other] = [*one, other].map(|row| row.cells[0].clone());
                    let [Some(least), Some(value)] = [one.values[0], other.values[0]] else {
                        panic!("{}: no {id}", scenario.name);
                    };
                    assert!((value - least - beyond).abs() < 1e-9, "{value} {least}");
                    assert!(one.mark.is_some() && other.mark.is_none());
                }
            }
        }
    }
}

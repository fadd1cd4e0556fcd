//! Results side by side: the delays of each kind of packets in one chart, whatever command wrote the
//! results. `roundelay plot` and the page of several queues draw with it.

use std::collections::BTreeMap;

use roundelay_sim::scenario::{Curves as SimulatedCurves, Results};
use roundelay_trace::DisciplineResult;
use serde::{Deserialize, Serialize};

use crate::chart::{Axis, Chart, Curve, Point, Scaling};
use crate::document::{Block, Document};
use crate::grid::{Column, Grid};
use crate::html::{ItemPage, item_html};
use crate::json::Printed;
use crate::markdown::escaped;
use crate::text::{capitalised, clean};
use crate::units::seconds;

/// The delays of some packets, to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayCurves {
    /// Which packets: those of a source, of a kind of flows, or of a direction and kind.
    pub name: String,
    /// Pairs of delay in seconds and the fraction of packets with at most this delay, both
    /// increasing.
    pub delay_cdf: Vec<(f64, f64)>,
    /// Pairs of time in seconds after the start and the mean delay of packets around it, in seconds.
    pub delay_over_time: Vec<(f64, f64)>,
}

impl DelayCurves {
    /// Those of a simulation's sources.
    pub fn of_sources(results: &Results, curves: &SimulatedCurves) -> Vec<Self> {
        let mut all = Vec::new();
        for (group, drawn) in results.groups.iter().zip(&curves.groups) {
            let times = (1..).map(|step| f64::from(step) * curves.step);
            all.push(Self {
                name: group.name.clone(),
                delay_cdf: drawn.delay.clone(),
                delay_over_time: known(times, &drawn.delay_mean),
            });
        }
        all
    }

    /// Those of a replay's kinds of flows, all flows first.
    pub fn of_kinds(result: &DisciplineResult) -> Vec<Self> {
        let mut all = Vec::new();
        let mut drawn = vec![("all flows", &result.curves)];
        for kind in &result.kind_curves {
            drawn.push((kind.kind.name(), &kind.curves));
        }
        for (name, curves) in drawn {
            let times = (0..).map(|bin| (f64::from(bin) + 0.5) * curves.bin);
            all.push(Self {
                name: name.to_owned(),
                delay_cdf: curves.delay_cdf.clone(),
                delay_over_time: known(times, &curves.delay_mean),
            });
        }
        all
    }

    /// The delay that this fraction of the packets does not exceed. None without packets.
    fn quantile(&self, fraction: f64) -> Option<f64> {
        let mut points = self.delay_cdf.iter();
        let (delay, _) = points.find(|(_, share)| *share >= fraction - 1e-9)?;
        Some(*delay)
    }
}

/// Times with the values that there are.
fn known(times: impl Iterator<Item = f64>, values: &[Option<f64>]) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    for (time, value) in times.zip(values) {
        if let Some(value) = value {
            pairs.push((time, *value));
        }
    }
    pairs
}

/// A result to draw: a discipline, a scenario, or a phase of a live run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlottedResult {
    /// The name in legends.
    pub label: String,
    /// The kinds of packets.
    pub kinds: Vec<DelayCurves>,
}

/// What is drawn of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotFigure {
    /// The distribution of delays.
    Cdf,
    /// The mean delay over time.
    OverTime,
}

impl PlotFigure {
    /// All, in the order of charts.
    pub const ALL: [Self; 2] = [Self::Cdf, Self::OverTime];

    /// The name as an argument.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdf => "delay_cdf",
            Self::OverTime => "delay_over_time",
        }
    }
}

/// Results side by side.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plotted {
    /// Version of this program.
    pub version: &'static str,
    /// The results, in the order given.
    pub results: Vec<PlottedResult>,
}

impl Printed for Plotted {
    const SCHEMA: &'static str = "plot/1";
}

/// The delays of one kind in each result that has it, by the result's number.
struct Kind<'a> {
    name: &'a str,
    curves: Vec<(usize, &'a DelayCurves)>,
}

impl Plotted {
    /// The kinds, in the order in which they come. Those that only one result has are last, as one:
    /// a simulation's sources may be a live run's kinds of packets under other names.
    fn kinds(&self) -> Vec<Kind<'_>> {
        let mut kinds: Vec<Kind<'_>> = Vec::new();
        for (number, result) in self.results.iter().enumerate() {
            for curves in &result.kinds {
                match kinds.iter_mut().find(|kind| kind.name == curves.name) {
                    Some(kind) => kind.curves.push((number, curves)),
                    None => kinds.push(Kind {
                        name: &curves.name,
                        curves: vec![(number, curves)],
                    }),
                }
            }
        }
        if self.results.len() == 1 {
            return kinds;
        }
        let mut shared = Vec::new();
        let mut alone = Vec::new();
        for kind in kinds {
            if kind.curves.len() > 1 {
                shared.push(kind);
            } else {
                alone.extend(kind.curves);
            }
        }
        if !alone.is_empty() {
            shared.push(Kind {
                name: "",
                curves: alone,
            });
        }
        shared
    }

    /// The curves' names: the result's, with the kind's where the chart has several.
    fn curve_name(&self, kind: &Kind<'_>, number: usize, curves: &DelayCurves) -> String {
        let label = clean(&self.results[number].label);
        if kind.name.is_empty() {
            format!("{}, {label}", clean(&curves.name))
        } else {
            label
        }
    }

    /// A chart for each kind and figure.
    pub fn charts(&self, figures: &[PlotFigure]) -> Vec<Chart> {
        let mut charts = Vec::new();
        for kind in self.kinds() {
            for figure in figures {
                let chart = self.chart(&kind, *figure);
                if chart.has_points() {
                    charts.push(chart);
                }
            }
        }
        charts
    }

    fn chart(&self, kind: &Kind<'_>, figure: PlotFigure) -> Chart {
        let mut longest = 0.0_f64;
        for (_, curves) in &kind.curves {
            longest = longest.max(curves.quantile(0.5).unwrap_or(0.0));
        }
        let (unit, per_unit) = if longest >= 1.0 {
            ("s", 1.0)
        } else {
            ("ms", 1e3)
        };
        let mut drawn = Vec::new();
        for (number, curves) in &kind.curves {
            let points = match figure {
                PlotFigure::Cdf => cdf(&curves.delay_cdf, per_unit),
                PlotFigure::OverTime => over_time(&curves.delay_over_time, per_unit),
            };
            drawn.push(Curve {
                name: self.curve_name(kind, *number, curves),
                points,
                ..Curve::default()
            });
        }
        let packets = match kind.name {
            "" => "other packets".to_owned(),
            name => clean(name),
        };
        let delay = format!("delay, {unit}");
        let axis = |label: &str| Axis {
            label: label.to_owned(),
            ..Axis::default()
        };
        let (title, x, y) = match figure {
            PlotFigure::Cdf => {
                let x = Axis {
                    scaling: Scaling::Logarithmic,
                    ..axis(&delay)
                };
                (
                    format!("{packets}: delay of packets"),
                    x,
                    axis("% of the packets"),
                )
            }
            PlotFigure::OverTime => (
                format!("{packets}: mean delay over time"),
                axis("s"),
                axis(&delay),
            ),
        };
        Chart {
            title: capitalised(&title),
            x,
            y,
            curves: drawn,
            ..Chart::default()
        }
    }

    /// The result with the lowest and the one with the highest p99 delay, of the kind for which these
    /// differ most.
    fn answer(&self) -> String {
        let mut most = 1.0;
        let mut found = None;
        for kind in self.kinds() {
            let mut delays = Vec::new();
            for (number, curves) in &kind.curves {
                delays.extend(curves.quantile(0.99).map(|delay| (delay, *number)));
            }
            delays.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let [(least, best), .., (largest, worst)] = delays[..] else {
                continue;
            };
            let ratio = largest / least.max(1e-9);
            if ratio > most && !kind.name.is_empty() {
                most = ratio;
                found = Some((kind.name, [best, worst], [least, largest]));
            }
        }
        let Some((name, [best, worst], [least, largest])) = found else {
            return match self.results.len() {
                1 => format!("Delays of {}.", clean(&self.results[0].label)),
                _ => "These results have no kind of packets in common, or equal delays.".to_owned(),
            };
        };
        format!(
            "The p99 delay of {} is {} with {}, and {} with {}.",
            clean(name),
            seconds(least),
            clean(&self.results[best].label),
            seconds(largest),
            clean(&self.results[worst].label)
        )
    }

    fn table(&self) -> Block {
        let mut rows = Vec::new();
        for kind in self.kinds() {
            for (number, curves) in kind.curves {
                rows.push((clean(&curves.name), number, curves));
            }
        }
        let of = |fraction| {
            move |(_, _, curves): &(String, usize, &DelayCurves)| match curves.quantile(fraction) {
                Some(delay) => seconds(delay),
                None => "–".to_owned(),
            }
        };
        Block::Table(Grid::new(vec![
            Column::of("packets", &rows, |(name, ..)| name.clone()),
            Column::of("result", &rows, |(_, number, _)| {
                clean(&self.results[*number].label)
            }),
            Column::of("p50", &rows, of(0.5)).under("delay"),
            Column::of("p99", &rows, of(0.99)).under("delay"),
        ]))
    }

    /// The answer, and a table of quantiles.
    pub fn document(&self) -> Document {
        Document(vec![vec![Block::Text(self.answer())], vec![self.table()]])
    }

    /// One self-contained page.
    pub fn html(&self, figures: &[PlotFigure]) -> String {
        let mut labels = Vec::new();
        for result in &self.results {
            labels.push(clean(&result.label));
        }
        item_html(&ItemPage {
            title: &labels.join(", "),
            answer: &format!("# {}\n", escaped(&self.answer())),
            markdown: &Document(vec![vec![self.table()]]).markdown(),
            charts: &self.charts(figures),
            version: self.version,
            ..ItemPage::default()
        })
    }
}

/// The share of packets by delay. It begins at the shortest delay with a share of zero.
fn cdf(pairs: &[(f64, f64)], per_unit: f64) -> Vec<Point> {
    let mut points = Vec::new();
    // Of several points at one delay, the last has the share.
    let mut by_delay = BTreeMap::new();
    for (delay, share) in pairs {
        if *delay > 0.0 {
            by_delay.insert(delay.to_bits(), (*delay, *share));
        }
    }
    for (delay, share) in by_delay.into_values() {
        if points.is_empty() {
            points.push(point(delay * per_unit * 0.995, 0.0));
        }
        points.push(point(delay * per_unit, share * 100.0));
    }
    points
}

fn over_time(pairs: &[(f64, f64)], per_unit: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for (time, delay) in pairs {
        points.push(point(*time, delay * per_unit));
    }
    points
}

const fn point(x: f64, y: f64) -> Point {
    Point {
        x,
        y,
        half_width: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(name: &str, delays: &[f64]) -> DelayCurves {
        let mut delay_cdf = Vec::new();
        for (number, delay) in delays.iter().enumerate() {
            delay_cdf.push((*delay, (number + 1) as f64 / delays.len() as f64));
        }
        DelayCurves {
            name: name.to_owned(),
            delay_cdf,
            delay_over_time: vec![(1.0, delays[0]), (2.0, delays[0])],
        }
    }

    fn plotted(results: &[(&str, Vec<DelayCurves>)]) -> Plotted {
        let mut all = Vec::new();
        for (label, kinds) in results {
            all.push(PlottedResult {
                label: (*label).to_owned(),
                kinds: kinds.clone(),
            });
        }
        Plotted {
            version: "0.1.0",
            results: all,
        }
    }

    #[test]
    fn kinds_of_several_results_share_charts_with_a_curve_each() {
        let both = plotted(&[
            (
                "fifo",
                vec![curves("calls", &[0.2, 0.3]), curves("bulk", &[0.2, 0.4])],
            ),
            (
                "drr",
                vec![curves("calls", &[0.01, 0.02]), curves("bulk", &[0.2, 0.5])],
            ),
        ]);
        let charts = both.charts(&PlotFigure::ALL);
        let titles: Vec<&str> = charts.iter().map(|chart| &*chart.title).collect();
        assert_eq!(
            titles,
            [
                "Calls: delay of packets",
                "Calls: mean delay over time",
                "Bulk: delay of packets",
                "Bulk: mean delay over time",
            ]
        );
        for chart in &charts {
            let names: Vec<&str> = chart.curves.iter().map(|curve| &*curve.name).collect();
            assert_eq!(names, ["fifo", "drr"]);
        }
        let calls = &charts[0].curves[0].points;
        assert_eq!((calls[0].x, calls[0].y), (199.0, 0.0), "it begins at zero");
        assert_eq!((calls[2].x, calls[2].y), (300.0, 100.0));
        assert_eq!(both.charts(&[PlotFigure::OverTime]).len(), 2);
        assert_eq!(
            both.answer(),
            "The p99 delay of calls is 20.0 ms with drr, and 300 ms with fifo."
        );
        let page = both.html(&PlotFigure::ALL);
        assert!(
            page.contains("<h1>The p99 delay of calls is 20.0 ms with drr"),
            "{page}"
        );
    }

    /// A simulation and a live run name their packets differently.
    #[test]
    fn kinds_of_one_result_alone_share_a_chart() {
        let other = plotted(&[
            ("simulated", vec![curves("calls", &[0.01])]),
            ("live", vec![curves("up, short UDP", &[0.012])]),
        ]);
        let charts = other.charts(&[PlotFigure::Cdf]);
        assert_eq!(charts.len(), 1);
        let names: Vec<&str> = charts[0].curves.iter().map(|curve| &*curve.name).collect();
        assert_eq!(names, ["calls, simulated", "up, short UDP, live"]);
        let alone = plotted(&[("one", vec![curves("a", &[0.1]), curves("b", &[0.1])])]);
        assert_eq!(alone.charts(&[PlotFigure::Cdf]).len(), 2);
    }
}

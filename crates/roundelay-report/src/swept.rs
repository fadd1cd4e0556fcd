//! Page for a sweep: one figure at all points, as an answer, charts and a table.

mod answer;
mod heat;
mod layout;
mod points;
mod table;

use crate::chart::{Axis, Chart, Curve, Drawn, Point, Scaling};
use crate::document::{Block, Document};
use crate::figures::interval_text;
use crate::grid::{Column, Grid};
use crate::html::{Folded, ItemPage, item_html};
use crate::markdown::escaped;
use crate::text::{capitalised, clean};
use crate::units::counted;
use layout::Layout;
use points::{axis_unit, labelled};

pub use points::{KeyValues, Swept, SweptKey, SweptPoint};

/// Most points in the table.
const MOST_ROWS: usize = 500;
/// Most charts side by side.
const MOST_CHARTS: usize = 12;
/// If the largest value is more than this many times the smallest, the vertical axis is
/// logarithmic.
const WIDE_RATIO: f64 = 30.0;
/// Most combinations in the table that is open at once.
const MOST_OPEN: usize = 24;

impl Swept {
    /// What came out, a sentence each: which value of a key is best where, and which are as good.
    pub fn answer(&self) -> Vec<String> {
        answer::sentences(self, &Layout::of(self))
    }

    /// The sweep as one self-contained HTML page.
    pub fn html(&self) -> String {
        let layout = Layout::of(self);
        let mut answer = Vec::new();
        for (number, sentence) in answer::sentences(self, &layout).into_iter().enumerate() {
            let mark = if number == 0 { "# " } else { "" };
            answer.push(format!("{mark}{}\n", escaped(&sentence)));
        }
        let (mut charts, left_out) = self.charts(&layout);
        let mut maps = Vec::new();
        if left_out > 0 {
            maps = heat::maps(self, &layout);
        }
        let mut body = Vec::new();
        if !maps.is_empty() {
            charts.clear();
        } else if left_out > 0 {
            body.push(Block::Text(format!(
                "{} charts are shown, {left_out} are left out: the table lists all points.",
                charts.len()
            )));
        }
        let mut markdown = Document(vec![body]).markdown();
        let table = table::beside(self, &layout);
        let mut folded = Vec::new();
        if let Some((rows, table)) = table {
            if rows > MOST_OPEN {
                folded.push(Folded {
                    title: "Side by side".to_owned(),
                    markdown: table,
                });
            } else {
                markdown += &table;
            }
        }
        folded.push(Folded {
            title: "All points".to_owned(),
            markdown: Document(vec![self.table()]).markdown(),
        });
        let mut about = Vec::new();
        for fact in &self.facts {
            about.push(Block::Text(fact.clone()));
        }
        for note in &self.notes {
            about.push(Block::Note(format!("Note: {note}")));
        }
        folded.push(Folded {
            title: "The sweep".to_owned(),
            markdown: Document(vec![about]).markdown(),
        });
        let title = if self.figure.is_empty() {
            clean(&self.scenario)
        } else {
            format!("{}: {}", clean(&self.scenario), self.title())
        };
        item_html(&ItemPage {
            title: &title,
            answer: &answer.join("\n"),
            markdown: &markdown,
            charts: &charts,
            pictures: &maps,
            folded: &folded,
            version: self.version,
        })
    }

    /// A chart for each combination of the keys that have no place in one chart, and how many
    /// charts were left out.
    fn charts(&self, layout: &Layout) -> (Vec<Chart>, usize) {
        let mut means = Vec::new();
        for point in &self.points {
            means.push(point.mean());
        }
        let mut most = 0.0_f64;
        let mut least = f64::MAX;
        for mean in means.iter().flatten() {
            most = most.max(mean.mean);
            least = least.min(mean.mean);
        }
        let (unit, per_unit) = axis_unit(self.unit(), most);
        let y = Axis {
            label: labelled(&self.title(), unit),
            scaling: if least > 0.0 && most / least > WIDE_RATIO {
                Scaling::Logarithmic
            } else {
                Scaling::Linear
            },
            names: Vec::new(),
        };
        let across = layout.across_axis(self);
        let left_out = layout.panels.len().saturating_sub(MOST_CHARTS);
        let mut charts = Vec::new();
        for (panel, name) in layout.panels.iter().take(MOST_CHARTS).enumerate() {
            let mut curves = Vec::new();
            for line in &layout.lines {
                curves.push(Curve {
                    name: line.clone(),
                    points: Vec::new(),
                    drawn: if across.axis.names.is_empty() {
                        Drawn::Line
                    } else {
                        Drawn::Discs
                    },
                });
            }
            for (number, location) in layout.locations.iter().enumerate() {
                if let Some(mean) = means[number]
                    && location.panel == panel
                {
                    curves[location.line].points.push(Point {
                        x: across.positions[number],
                        y: mean.mean * per_unit,
                        half_width: mean.half_width.unwrap_or(0.0) * per_unit,
                    });
                }
            }
            for curve in &mut curves {
                let points = &mut curve.points;
                points.sort_by(|one, other| one.x.total_cmp(&other.x));
            }
            charts.push(Chart {
                title: if name.is_empty() {
                    capitalised(&self.title())
                } else {
                    name.clone()
                },
                x: across.axis.clone(),
                y: y.clone(),
                curves,
                is_panel: true,
                ..Chart::default()
            });
        }
        if means.iter().flatten().next().is_none() {
            charts.clear();
        }
        (charts, left_out)
    }

    fn table(&self) -> Vec<Block> {
        let shown = &self.points[..self.points.len().min(MOST_ROWS)];
        let mut columns = Vec::new();
        for (key, about) in self.keys.iter().enumerate() {
            columns.push(Column::of(about.words(), shown, |point| {
                about.values.text(&point.values[key])
            }));
        }
        let unit = self.unit();
        columns.push(Column::of(self.title(), shown, |point| {
            interval_text(point.mean(), |value| unit.text(value))
        }));
        if self.points.iter().any(|point| !point.difference.is_empty()) {
            columns.push(Column::of("difference, seed by seed", shown, |point| {
                point.difference.clone()
            }));
        }
        columns.push(Column::of("runs", shown, |point| {
            point.runs.len().to_string()
        }));
        let mut blocks = vec![Block::Table(Grid::new(columns))];
        let left_out = self.points.len() - shown.len();
        if left_out > 0 {
            let more = counted(left_out as u64, "more point");
            blocks.push(Block::Text(format!("And {more}, in the dataset.")));
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, values: KeyValues) -> SweptKey {
        SweptKey {
            name: name.to_owned(),
            values,
        }
    }

    /// A sweep over these keys; each point has its values, and its figure by seed.
    pub(super) fn swept(keys: &[(&str, KeyValues)], points: &[(&[&str], &[f64])]) -> Swept {
        let mut all = Vec::new();
        for (values, runs) in points {
            all.push(SweptPoint {
                values: values.iter().map(|value| (*value).to_owned()).collect(),
                runs: (1..).zip(runs.iter().copied()).collect(),
                difference: String::new(),
            });
        }
        Swept {
            version: "0.1.0",
            scenario: "mine.toml".to_owned(),
            source: "calls".to_owned(),
            figure: "delay_p99".to_owned(),
            keys: keys
                .iter()
                .map(|(name, values)| key(name, *values))
                .collect(),
            points: all,
            facts: vec!["Two points.".to_owned()],
            notes: vec!["nothing random".to_owned()],
        }
    }

    const QUEUE: (&str, KeyValues) = ("queue.core", KeyValues::Words);
    const RATE: (&str, KeyValues) = ("source.calls.rate", KeyValues::Rates);
    const DELAY: (&str, KeyValues) = ("topology.delay", KeyValues::Times);

    #[test]
    fn a_discipline_is_a_line_over_the_other_key() {
        let swept = swept(
            &[QUEUE, RATE],
            &[
                (&["fifo", "128000"], &[0.2, 0.3]),
                (&["fifo", "64000"], &[0.1]),
                (&["qfq", "64000"], &[0.01]),
            ],
        );
        let (charts, left_out) = swept.charts(&Layout::of(&swept));
        assert_eq!((charts.len(), left_out), (1, 0));
        let chart = &charts[0];
        assert_eq!(chart.x.label, "rate of calls, kbit/s");
        assert_eq!(chart.y.label, "p99 delay of calls, ms");
        let names: Vec<&str> = chart.curves.iter().map(|curve| &curve.name[..]).collect();
        assert_eq!(names, ["fifo", "qfq"]);
        let fifo = &chart.curves[0].points;
        assert_eq!(
            (fifo[0].x, fifo[0].y, fifo[0].half_width),
            (64.0, 100.0, 0.0)
        );
        assert_eq!((fifo[1].x, fifo[1].y), (128.0, 250.0));
        assert!(fifo[1].half_width > 100.0, "an interval of two runs");
    }

    #[test]
    fn a_second_number_gives_small_charts_that_share_their_axes() {
        let swept = swept(
            &[QUEUE, RATE, DELAY],
            &[
                (&["fifo", "64000", "0.01"], &[0.1]),
                (&["fifo", "128000", "0.01"], &[0.2]),
                (&["fifo", "256000", "0.01"], &[0.3]),
                (&["fifo", "64000", "0.02"], &[0.1]),
                (&["qfq", "128000", "0.02"], &[0.1]),
            ],
        );
        let (charts, _) = swept.charts(&Layout::of(&swept));
        let titles: Vec<&str> = charts.iter().map(|chart| &chart.title[..]).collect();
        assert_eq!(
            titles,
            [
                "delay of the network 10.0 ms",
                "delay of the network 20.0 ms"
            ]
        );
        assert_eq!(charts[0].x, charts[1].x);
        for chart in &charts {
            assert_eq!(chart.curves.len(), 2, "each has all lines, for one legend");
        }
    }

    #[test]
    fn values_that_differ_widely_have_a_logarithmic_axis() {
        let scaling = |least: f64| {
            let swept = swept(&[RATE], &[(&["1"], &[least]), (&["2"], &[1.0])]);
            swept.charts(&Layout::of(&swept)).0[0].y.scaling
        };
        assert_eq!(scaling(0.5), Scaling::Linear);
        assert_eq!(scaling(0.0), Scaling::Linear, "zero has no logarithm");
        assert_eq!(scaling(0.001), Scaling::Logarithmic);
    }

    #[test]
    fn the_page_answers_first_and_lists_all_points() {
        let page = swept(
            &[QUEUE],
            &[(&["fifo <b>"], &[0.2, 0.22]), (&["qfq"], &[0.01, 0.012])],
        )
        .html();
        let offset = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        let headline = "<h1>The p99 delay of calls is lowest under qfq.</h1>";
        assert!(offset(headline) < offset("id=\"chart0\""));
        assert!(offset("id=\"chart0\"") < offset("<summary>All points"));
        assert!(page.contains("<td>fifo &lt;b") && !page.contains("fifo <b>"));
        assert!(page.contains("Note: nothing random") && page.contains("210 ms ±127 ms"));
        assert!(
            page.contains("<strong>11.0 ms ±12.7 ms</strong>"),
            "the best is marked"
        );
    }

    #[test]
    fn a_figure_that_no_run_has_is_told() {
        let page = swept(&[QUEUE], &[(&["fifo"], &[])]).html();
        assert!(page.contains("No run has a p99 delay of calls."));
        assert!(!page.contains("id=\"chart0\""));
    }

    #[test]
    fn long_tables_and_many_charts_say_what_is_left_out() {
        let mut points = Vec::new();
        for delay in 0..20 {
            for rate in 0..30 {
                points.push(SweptPoint {
                    values: vec![rate.to_string(), delay.to_string()],
                    runs: [(1, 0.1)].into(),
                    difference: String::new(),
                });
            }
        }
        let mut swept = swept(&[RATE, DELAY], &[]);
        swept.points = points;
        let page = swept.html();
        assert!(page.contains("And 100 more points, in the dataset."));
        // Two numbers with many values are a map, and no chart for each value.
        assert_eq!(page.matches("class=\"picture\"").count(), 1, "a map");
        assert!(!page.contains("id=\"chart0\""));
        // Otherwise some charts are left out, and the page says so.
        swept.keys[1].values = KeyValues::Words;
        swept.keys[0].values = KeyValues::Words;
        for point in &mut swept.points {
            point.values.push(point.values[1].clone());
        }
        swept.keys.push(key("duration", KeyValues::Times));
        let page = swept.html();
        assert!(!page.contains("class=\"picture\""));
    }
}

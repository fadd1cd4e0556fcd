//! Charts of a paper's numbers beside ours: one for each figure that the paper prints for several
//! runs, as in the rows of a table or the legend of a figure.

use roundelay_report::{Axis, Chart, Curve, Drawn, Point, Scaling};

use crate::figures::Figures;
use crate::plan::Published;

/// The fewest runs that make a chart.
const FEWEST: usize = 3;
/// From which factor between the smallest and the largest value on an axis is logarithmic.
const WIDE: f64 = 20.0;

/// A figure that the paper prints for several runs.
struct Table {
    figure: String,
    runs: Vec<String>,
    published: Vec<Point>,
    ours: Vec<Point>,
}

/// The charts of published figures beside those measured.
pub(crate) fn charts(published: &[&Published], figures: &Figures) -> Vec<Chart> {
    let mut charts = Vec::new();
    for table in tables(published, figures) {
        if table.runs.len() >= FEWEST && !table.ours.is_empty() {
            charts.push(chart(table));
        }
    }
    charts
}

fn tables(all: &[&Published], figures: &Figures) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for published in all {
        let Some(value) = published.value else {
            continue;
        };
        let Some((run, figure)) = published.figure.rsplit_once(": ") else {
            continue;
        };
        let known = tables.iter().position(|table| table.figure == figure);
        let number = known.unwrap_or(tables.len());
        if known.is_none() {
            tables.push(Table {
                figure: figure.to_owned(),
                runs: Vec::new(),
                published: Vec::new(),
                ours: Vec::new(),
            });
        }
        let table = &mut tables[number];
        let x = table.runs.len() as f64;
        table.runs.push(run.to_owned());
        table.published.push(Point {
            x,
            y: value,
            half_width: published.deviation.unwrap_or(0.0),
        });
        if let Some(samples) = figures.at(&published.figure, None)
            && let Some(interval) = samples.interval()
        {
            table.ours.push(Point {
                x,
                y: interval.mean,
                half_width: interval.half_width.unwrap_or(0.0),
            });
        }
    }
    tables
}

fn chart(table: Table) -> Chart {
    let mut least = f64::INFINITY;
    let mut most: f64 = 0.0;
    for point in table.published.iter().chain(&table.ours) {
        least = least.min(point.y);
        most = most.max(point.y);
    }
    let scaling = if least > 0.0 && most > WIDE * least {
        Scaling::Logarithmic
    } else {
        Scaling::Linear
    };
    Chart {
        title: format!("{}, published and ours", table.figure),
        x: Axis {
            names: table.runs,
            ..Axis::default()
        },
        y: Axis {
            label: table.figure,
            scaling,
            names: Vec::new(),
        },
        curves: vec![
            Curve {
                name: "ours".to_owned(),
                points: table.ours,
                drawn: Drawn::Discs,
            },
            Curve {
                name: "published".to_owned(),
                points: table.published,
                drawn: Drawn::Published,
            },
        ],
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::catalogue::Paper;
    use crate::judged::Judged;
    use crate::plan::{Setting, tests::PLAN};
    use crate::record::{Code, Record};
    use crate::runner::{Runner, Versions};

    fn charts_of(text: &str, setting: Setting) -> Vec<Chart> {
        let paper = Paper::of_plan("figure-1", text, |_| None).unwrap();
        let (plan, text) = paper.items[0].plan().unwrap();
        let runner = Runner {
            setting,
            versions: Versions::of_program(""),
            instead: None,
            seeds: None,
            until: None,
        };
        let ran = runner.run(plan, &Cache::none(), &|| ()).unwrap();
        let record = Record::new(plan, setting, &ran, Code::default(), None).unwrap();
        Judged::new(&paper.items[0], plan, text, record)
            .unwrap()
            .charts()
    }

    /// Three columns with a published figure each, and one with another figure.
    fn plan() -> String {
        let columns = "columns = { DRR = 'drr', SFQ = 'sfq', FIFO = 'fifo limit 50' }";
        let mut published = String::new();
        for figure in [
            "SFQ: least, kbit/s",
            "FIFO: least, kbit/s",
            "DRR: most, kbit/s",
        ] {
            published += &format!("[[published]]\nfigure = '{figure}'\nvalue = 500.0\n");
        }
        PLAN.replace(
            "columns = { DRR = \"drr\", FIFO = \"fifo limit 50\" }",
            columns,
        )
        .replacen("[[published]]", &format!("{published}[[published]]"), 1)
    }

    #[test]
    fn published_numbers_stand_beside_ours_in_one_chart_a_figure() {
        let charts = charts_of(&plan(), Setting::Full);
        let [chart] = &charts[..] else {
            panic!("one figure has three runs: {charts:?}");
        };
        assert!(chart.title.ends_with("least, kbit/s, published and ours"));
        assert_eq!(chart.x.names, ["SFQ", "FIFO", "DRR"]);
        let [ours, published] = &chart.curves[..] else {
            panic!("{chart:?}");
        };
        assert_eq!(published.drawn, Drawn::Published);
        assert_eq!((ours.points.len(), published.points.len()), (3, 3));
        assert_eq!(published.points[2].y, 500.0);
    }

    /// What the quick setting cannot show has no figure beside the published one.
    #[test]
    fn charts_show_no_figure_that_the_setting_cannot_show() {
        let only_full = "only_full = 'too short'\nexpect = \"holds\"";
        let plan = plan().replacen("expect = \"holds\"", only_full, 1);
        assert!(charts_of(&plan, Setting::Quick).is_empty());
        assert_eq!(charts_of(&plan, Setting::Full).len(), 1);
        let judged_there = charts_of(&self::plan(), Setting::Quick);
        assert!(
            judged_there[0].title.contains("(quick setting)"),
            "{judged_there:?}"
        );
    }
}

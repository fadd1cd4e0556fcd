//! Page for one item of a paper, self-contained: its text, and interactive charts.

use pulldown_cmark::{Event, Options, Parser, Tag, html::push_html};
use serde::Serialize;

use super::frame::{Frame, escape, fill};
use crate::chart::{Axis, Chart, Mark};
use crate::text::clean;

const TEMPLATE: &str = include_str!("../../assets/paper.html");
pub(super) const STYLE: &str = include_str!("../../assets/paper.css");
pub(super) const SCRIPT: &str = include_str!("../../assets/paper.js");

/// What a page for one item contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct ItemPage<'a> {
    /// `QFQ, Table 2`.
    pub title: &'a str,
    /// What came out, in a sentence or two of Markdown, which stands first, before the charts.
    pub answer: &'a str,
    /// Verdicts and their reasons, in Markdown. HTML in it is text like other text.
    pub markdown: &'a str,
    /// The charts.
    pub charts: &'a [Chart],
    /// Pictures below the charts.
    pub pictures: &'a [Picture],
    /// What few readers want, below all else, closed at first.
    pub folded: &'a [Folded],
    /// Roundelay's version.
    pub version: &'a str,
}

/// A drawing of our own that the script does not draw anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The title above it.
    pub title: String,
    /// The drawing, an SVG document.
    pub svg: String,
}

/// A part of a page that readers open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// What it holds, in a few words.
    pub title: String,
    /// The content, in Markdown.
    pub markdown: String,
}

/// A chart in the script's format: all curves over the same x, null for missing points.
#[derive(Serialize)]
struct ChartData<'a> {
    title: &'a str,
    x: AxisData<'a>,
    y: AxisData<'a>,
    xs: Vec<f64>,
    curves: Vec<CurveData<'a>>,
    /// Places across where something changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change<'a>>,
    /// One among several small charts with one legend.
    panel: bool,
    /// Both ends of the vertical scale, if all panels share it.
    #[serde(rename = "ends")]
    y_range: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct Change<'a> {
    x: f64,
    name: &'a str,
}

#[derive(Serialize)]
struct AxisData<'a> {
    label: &'a str,
    logarithmic: bool,
    /// Names of 0, 1, 2... Empty for numbers.
    names: Vec<String>,
}

#[derive(Serialize)]
struct CurveData<'a> {
    name: &'a str,
    values: Vec<Option<f64>>,
    /// Half the length of each error bar. 0 for none.
    halves: Vec<f64>,
    /// Points without a line.
    dots: bool,
}

impl<'a> Change<'a> {
    fn of(mark: &'a Mark) -> Self {
        Self {
            x: mark.x,
            name: &mark.name,
        }
    }
}

impl<'a> AxisData<'a> {
    fn of(axis: &'a Axis) -> Self {
        let mut names = Vec::new();
        for name in &axis.names {
            names.push(clean(name));
        }
        Self {
            label: &axis.label,
            logarithmic: axis.scaling.is_logarithmic(),
            names,
        }
    }
}

impl<'a> ChartData<'a> {
    fn of(chart: &'a Chart) -> Self {
        let mut xs: Vec<f64> = chart.shown().map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let mut curves = Vec::new();
        for curve in &chart.curves {
            let mut values = Vec::new();
            let mut halves = Vec::new();
            for x in &xs {
                match curve.points.iter().find(|point| point.x == *x) {
                    Some(point) => {
                        values.push(Some(point.y));
                        halves.push(point.half_width);
                    }
                    None => {
                        values.push(None);
                        halves.push(0.0);
                    }
                }
            }
            curves.push(CurveData {
                name: &curve.name,
                values,
                halves,
                // A line needs two points.
                dots: curve.drawn.is_marks() || curve.points.len() == 1,
            });
        }
        Self {
            title: &chart.title,
            x: AxisData::of(&chart.x),
            y: AxisData::of(&chart.y),
            xs,
            curves,
            changes: chart.changes.iter().map(Change::of).collect(),
            // `item_html` sets both if all charts are panels.
            panel: false,
            y_range: None,
        }
    }
}

/// The page: nothing is loaded, and the content security policy forbids loading.
pub fn item_html(page: &ItemPage<'_>) -> String {
    let mut data: Vec<_> = page.charts.iter().map(ChartData::of).collect();
    if are_panels(page.charts) {
        let y_range = common_y_range(page.charts);
        for chart in &mut data {
            chart.panel = true;
            chart.y_range = y_range;
        }
    }
    let data = serde_json::to_string(&data).unwrap_or_else(|_| "[]".to_owned());
    let main = fill(TEMPLATE, |slot| match slot {
        "answer" => rendered(page.answer),
        "charts" => figures(page.charts) + &pictures(page.pictures),
        "hint" if page.charts.is_empty() => String::new(),
        "hint" => "  <p class=\"hint\">Drag over a chart to zoom; a double click shows all of it \
         again.</p>"
            .to_owned(),
        "body" => rendered(page.markdown) + &folded(page.folded),
        other => unreachable!("the template has a slot {other} that nothing fills"),
    });
    let version = page.version;
    let title = page.title;
    Frame {
        version,
        title,
        name: title,
        main,
        footer: "",
        data: &data,
        style: STYLE,
        script: SCRIPT,
    }
    .html()
}

/// Whether charts are drawn small, side by side, with one legend.
fn are_panels(charts: &[Chart]) -> bool {
    charts.len() > 1 && charts.iter().all(|chart| chart.is_panel)
}

/// The lowest and the highest value of all charts, with intervals. None if there are no values.
fn common_y_range(charts: &[Chart]) -> Option<[f64; 2]> {
    let mut range: Option<[f64; 2]> = None;
    for chart in charts {
        for point in chart.shown() {
            let low = point.y - point.half_width;
            // Zero and less have no place on a logarithmic axis.
            let low = if chart.y.can_show(low) { low } else { point.y };
            let high = point.y + point.half_width;
            let [least, most] = range.unwrap_or([low, high]);
            range = Some([least.min(low), most.max(high)]);
        }
    }
    range
}

/// Where a legend goes.
fn legend(number: usize) -> String {
    format!(
        "<div class=\"legend\" id=\"legend{number}\" role=\"group\" aria-label=\"Curves \
         shown\"></div>"
    )
}

/// A container for each chart, with the SVG drawing for readers without JavaScript.
fn figures(charts: &[Chart]) -> String {
    let are_panels = are_panels(charts);
    let mut figures = Vec::new();
    for (number, chart) in charts.iter().enumerate() {
        let own_legend = if are_panels {
            String::new()
        } else {
            legend(number)
        };
        figures.push(format!(
            "<figure><h2>{}</h2>{own_legend}\
             <div class=\"chart\" id=\"chart{number}\"></div><noscript>{}</noscript></figure>",
            escape(&chart.title),
            chart.svg()
        ));
    }
    let figures = figures.join("\n");
    if are_panels {
        format!("{}\n<div class=\"panels\">\n{figures}\n</div>", legend(0))
    } else if charts.len() > 1 {
        format!("<div class=\"pairs\">\n{figures}\n</div>")
    } else {
        figures
    }
}

fn pictures(pictures: &[Picture]) -> String {
    if pictures.is_empty() {
        return String::new();
    }
    let mut text = "\n<div class=\"pictures\">".to_owned();
    for Picture { title, svg } in pictures {
        let title = escape(title);
        text += &format!("\n<figure class=\"picture\"><h2>{title}</h2>{svg}</figure>");
    }
    text + "\n</div>"
}

fn folded(parts: &[Folded]) -> String {
    let mut text = String::new();
    for Folded { title, markdown } in parts {
        let title = escape(title);
        let content = rendered(markdown);
        text += &format!("<details><summary>{title}</summary>\n{content}</details>\n");
    }
    text
}

fn rendered(markdown: &str) -> String {
    let mut html = String::new();
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    push_html(&mut html, events.map(harmless));
    html
}

/// An event that runs nothing in a browser: a plan may be anybody's.
fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let scheme = dest_url.split_once(':').map(|(scheme, _)| scheme);
            let leads_to_a_page = matches!(scheme, None | Some("http" | "https" | "mailto"));
            Event::Start(Tag::Link {
                link_type,
                dest_url: if leads_to_a_page { dest_url } else { "".into() },
                title,
                id,
            })
        }
        event => event,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Curve, Drawn, Point};

    #[test]
    fn a_page_has_text_and_charts_and_loads_nothing() {
        let point = |x, y| Point {
            x,
            y,
            half_width: 0.0,
        };
        let curve = |name: &str, points: Vec<Point>| Curve {
            name: name.to_owned(),
            points,
            ..Curve::default()
        };
        let curves = vec![
            curve("A", vec![point(1.0, 2.0), point(3.0, 4.0)]),
            curve("</script>", vec![point(2.0, 5.0)]),
        ];
        let charts = [Chart {
            title: "Ranks".to_owned(),
            curves,
            ..Chart::default()
        }];
        let page = ItemPage {
            title: "QFQ, Table 2",
            answer: "It **holds**.",
            markdown: "| a | b |\n|---|---|\n| **1** | 2 |",
            charts: &charts,
            pictures: &[Picture {
                title: "A <map>".to_owned(),
                svg: "<svg></svg>".to_owned(),
            }],
            folded: &[Folded {
                title: "All & more".to_owned(),
                markdown: "| x |\n|---|\n| <b> |".to_owned(),
            }],
            version: "0.1.0",
        };
        let html = item_html(&page);
        assert!(
            html.contains("<h2>A &lt;map&gt;</h2><svg></svg></figure>"),
            "{html}"
        );
        assert!(
            html.contains("<summary>All &amp; more</summary>\n<table>"),
            "{html}"
        );
        assert!(html.contains("<td>&lt;b&gt;</td>"), "{html}");
        let answer = html.find("<p>It <strong>holds</strong>.</p>");
        assert!(answer.is_some_and(|answer| answer < html.find("id=\"chart0\"").unwrap()));
        assert!(html.contains("<td><strong>1</strong></td>") && html.contains("id=\"chart0\""));
        assert!(
            html.contains(r#""xs":[1.0,2.0,3.0]"#) && html.contains(r#""values":[2.0,null,4.0]"#)
        );
        assert!(
            !html.contains("</script>\"")
                && !html.contains("src=\"")
                && !html.contains("href=\"http")
        );
    }

    /// A plan's text and names may be anybody's.
    #[test]
    fn a_plan_puts_no_script_into_a_page() {
        let html = rendered(
            "A <img src=x onerror=alert(1)>\n\n<script>alert(2)</script>\n\n\
             [x](javascript:alert(3)) <javascript:alert(4)> [y](https://example.org) [z](#z)",
        );
        assert!(
            !html.contains("<img") && !html.contains("<script"),
            "{html}"
        );
        assert!(!html.contains("\"javascript"), "{html}");
        assert!(
            html.contains("\"https://example.org\"") && html.contains("\"#z\""),
            "{html}"
        );
    }

    /// Panels have one legend, and scales over the values of all.
    #[test]
    fn panels_share_a_legend_and_a_scale() {
        let chart = |y: f64| Chart {
            curves: vec![Curve {
                points: vec![Point {
                    x: 1.0,
                    y,
                    half_width: 0.5,
                }],
                ..Curve::default()
            }],
            is_panel: true,
            ..Chart::default()
        };
        let page = |charts: &[Chart]| {
            item_html(&ItemPage {
                title: "T",
                answer: "It holds.",
                markdown: "",
                charts,
                version: "0.1.0",
                ..ItemPage::default()
            })
        };
        let html = page(&[chart(2.0), chart(5.0)]);
        assert_eq!(html.matches("class=\"legend\"").count(), 1);
        assert_eq!(html.matches(r#""panel":true,"ends":[1.5,5.5]"#).count(), 2);
        let alone = page(&[chart(2.0)]);
        assert!(alone.contains(r#""panel":false,"ends":null"#));
    }

    #[test]
    fn changes_reach_the_script() {
        let mut chart = Chart::default();
        let without = serde_json::to_value(ChartData::of(&chart)).unwrap();
        assert_eq!(without.get("changes"), None);
        chart.changes.push(Mark {
            x: 3.0,
            name: "queue drr".to_owned(),
        });
        let data = serde_json::to_value(ChartData::of(&chart)).unwrap();
        let expected = serde_json::json!([{"x": 3.0, "name": "queue drr"}]);
        assert_eq!(data["changes"], expected);
    }

    /// Categories have their names, and points their intervals, without a line between them.
    #[test]
    fn a_chart_of_categories_has_names_and_intervals() {
        let chart = Chart {
            x: Axis {
                names: vec!["fifo".to_owned(), "lstf".to_owned()],
                ..Axis::default()
            },
            curves: vec![Curve {
                points: vec![Point {
                    x: 1.0,
                    y: 2.0,
                    half_width: 0.5,
                }],
                drawn: Drawn::Dots,
                ..Curve::default()
            }],
            ..Chart::default()
        };
        let data = serde_json::to_value(ChartData::of(&chart)).unwrap();
        assert_eq!(data["x"]["names"], serde_json::json!(["fifo", "lstf"]));
        assert_eq!(data["curves"][0]["halves"], serde_json::json!([0.5]));
        assert_eq!(data["curves"][0]["dots"], true);
    }
}

//! Open parameters: how settings that a paper leaves open change the verdicts, as a table of all
//! claims and a chart per parameter.
//!
//! A chart's horizontal axis shows the values tried. The vertical axis shows the deciding figure of
//! the first claim whose verdict changes with the parameter. If none changes, it shows that of the
//! first claim that compares numbers.

use std::fmt::Write;

use roundelay_report::{Axis, Band, Chart, Curve, Drawn, Point};
use toml::Value;

use crate::catalogue::Item;
use crate::finding::{Compared, Finding, Truth, range};
use crate::judged::Judged;
use crate::markdown::{Target, cell};
use crate::plan::Open;
use crate::table::find;
use crate::verdict::Verdict;

/// File name for an open parameter's chart, counted from 0: `table-2-open-1.svg`.
pub fn chart_file(item: &Item, number: usize) -> String {
    format!("{}-open-{}.svg", item.name, number + 1)
}

/// Charts for a plan's open parameters, with the parameters' numbers.
pub fn charts(judged: &Judged<'_>) -> Vec<(usize, Chart)> {
    let mut charts = Vec::new();
    for number in 0..judged.plan.open.len() {
        if let Some(chart) = Along::new(judged, number).chart() {
            charts.push((number, chart));
        }
    }
    charts
}

/// The open parameters, the table, and the charts: as links, or drawn inline if there are no files
/// to link to.
pub(crate) fn section(judged: &Judged<'_>, target: Target) -> String {
    let plan = judged.plan;
    if plan.open.is_empty() {
        return String::new();
    }
    let mut text = String::from("**Open parameters, and the verdicts for each value.**\n\n");
    for open in &plan.open {
        _ = writeln!(
            text,
            "- {} (`{}`): {}",
            open.name(),
            open.parameter,
            open.says
        );
    }
    text += &table(judged);
    text.push('\n');
    for (number, chart) in charts(judged) {
        match target {
            Target::Page => {
                _ = write!(
                    text,
                    "![{} by {}]({})\n\n",
                    chart.title,
                    plan.open[number].name(),
                    chart_file(judged.item, number)
                );
            }
            Target::Alone => _ = write!(text, "<figure>\n{}</figure>\n\n", chart.svg()),
        }
    }
    text
}

/// A row for each variation, which tells the truth of each claim that compares numbers.
fn table(judged: &Judged<'_>) -> String {
    let Judged {
        plan,
        ran,
        verdicts,
        ..
    } = judged;
    let mut heads = String::new();
    let mut judged_verdicts = Vec::new();
    for (number, claim) in plan.claims.iter().enumerate() {
        if !claim.needs.is_empty() {
            heads += &format!(" claim {} |", number + 1);
            judged_verdicts.push(&verdicts[number]);
        }
    }
    let mut text = format!(
        "\n| with |{heads}\n|---|{}\n",
        "---|".repeat(judged_verdicts.len())
    );
    for (row, (variation, _)) in ran.variations.iter().enumerate() {
        let name = if variation.name.is_empty() {
            "the plan as it stands".to_owned()
        } else {
            format!("`{}`", variation.name)
        };
        let mut truths = String::new();
        for verdict in &judged_verdicts {
            truths += &format!(" {} |", word(verdict.truth(row)));
        }
        _ = writeln!(text, "| {} |{truths}", cell(&name));
    }
    text
}

const fn word(truth: Truth) -> &'static str {
    match truth {
        Truth::Holds => "holds",
        Truth::Fails => "fails",
        Truth::Undecided => "undecided",
    }
}

/// The variations of one open parameter: the plan as it stands, then each value.
struct Along<'a> {
    judged: &'a Judged<'a>,
    open: &'a Open,
    /// Indices among all variations.
    variations: Vec<usize>,
}

impl<'a> Along<'a> {
    fn new(judged: &'a Judged<'a>, number: usize) -> Self {
        let mut variations = Vec::new();
        for (index, (variation, _)) in judged.ran.variations.iter().enumerate() {
            if variation.open.is_none_or(|open| open == number) {
                variations.push(index);
            }
        }
        Self {
            judged,
            open: &judged.plan.open[number],
            variations,
        }
    }

    fn chart(&self) -> Option<Chart> {
        let mut charted = None;
        for (number, (claim, verdict)) in self.judged.claims().enumerate() {
            // Contradictions are between published numbers, the same in all variations.
            if claim.cannot.is_some() {
                continue;
            }
            let Some(finding) = self.deciding(verdict) else {
                continue;
            };
            let moves = self.moves(verdict);
            if moves || charted.is_none() {
                charted = Some((number, verdict, finding));
            }
            if moves {
                break;
            }
        }
        let (number, verdict, finding) = charted?;
        let mut findings = Vec::new();
        for variation in &self.variations {
            findings.push(verdict.by_variation[*variation].get(finding));
        }
        let mut known = findings.iter().flatten();
        let Compared { what, from, to, .. } =
            known.find_map(|finding| finding.compared.as_ref())?;
        let (x, xs) = self.axis();
        let band = Band {
            name: format!("needed: {}", range(*from, *to)),
            from: *from,
            to: *to,
        };
        let has_limit = from.is_some() || to.is_some();
        Some(Chart {
            title: format!("Claim {}: {what}", number + 1),
            x,
            curves: curves(&xs, &findings),
            band: if has_limit { Some(band) } else { None },
            is_low: true,
            ..Chart::default()
        })
    }

    fn moves(&self, verdict: &Verdict) -> bool {
        let mut variations = self.variations.iter();
        variations.any(|variation| verdict.truth(*variation) != verdict.truth(0))
    }

    /// Index of the finding that agrees with the claim's verdict in most variations, among findings
    /// with a number.
    fn deciding(&self, verdict: &Verdict) -> Option<usize> {
        let mut deciding = None;
        let mut most_agreeing = 0;
        for number in 0..verdict.findings().len() {
            let mut has_number = false;
            let mut agreeing = 0;
            for variation in &self.variations {
                if let Some(finding) = verdict.by_variation[*variation].get(number) {
                    has_number |= finding.compared.is_some();
                    agreeing += usize::from(finding.truth == verdict.truth(*variation));
                }
            }
            if has_number && (deciding.is_none() || agreeing > most_agreeing) {
                deciding = Some(number);
                most_agreeing = agreeing;
            }
        }
        deciding
    }

    /// The values tried: as numbers if all are numbers, otherwise as names.
    fn axis(&self) -> (Axis, Vec<f64>) {
        let name = self.open.name();
        let mut numbers = Vec::new();
        let mut names = Vec::new();
        for variation in &self.variations {
            let run = &self.judged.ran.variations[*variation].0.run;
            let value = find(run, &self.open.parameter);
            numbers.extend(value.and_then(number));
            names.push(match value {
                Some(value) => Open::text(value),
                None => "left out".to_owned(),
            });
        }
        if numbers.len() == names.len() {
            let axis = Axis {
                label: format!("{name} (as the plan stands: {})", numbers[0]),
                ..Axis::default()
            };
            return (axis, numbers);
        }
        if let Some(first) = names.first_mut() {
            first.push_str(" (as the plan stands)");
        }
        let positions = (0..names.len()).map(|index| index as f64).collect();
        let axis = Axis {
            label: name.to_owned(),
            names,
            ..Axis::default()
        };
        (axis, positions)
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

/// A curve of marks for each truth that occurs.
fn curves(xs: &[f64], findings: &[Option<&Finding>]) -> Vec<Curve> {
    let marks = [
        (Truth::Holds, Drawn::Dots),
        (Truth::Undecided, Drawn::Rings),
        (Truth::Fails, Drawn::Crosses),
    ];
    let mut curves = Vec::new();
    for (truth, drawn) in marks {
        let mut points = Vec::new();
        for (x, finding) in xs.iter().zip(findings) {
            if let Some(finding) = finding
                && finding.truth == truth
                && let Some(compared) = &finding.compared
            {
                points.push(Point {
                    x: *x,
                    y: compared.interval.mean,
                    half_width: compared.interval.half_width.unwrap_or(0.0),
                });
            }
        }
        if !points.is_empty() {
            curves.push(Curve {
                name: word(truth).to_owned(),
                points,
                drawn,
            });
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Work;
    use crate::experiments::Row;
    use crate::figures::Figures;
    use crate::plan::{Plan, Setting, tests::PLAN};
    use crate::record::{Code, Record};
    use crate::runner::Ran;

    /// Calls `look` with the judged plan, if DRR's least flow gets the value `least` of each
    /// variation plus the seed number.
    fn with_judged(text: &str, least: &[f64], look: impl FnOnce(&Judged<'_>)) {
        let plan = Plan::parse(text).unwrap();
        let figures = |value: f64| {
            let mut figures = Figures::default();
            (1..=3).for_each(|seed| {
                figures.add(
                    seed,
                    &[Row::scalar("DRR", "least, kbit/s", value + seed as f64)],
                )
            });
            figures
        };
        let variations = plan
            .variations(Setting::Full)
            .unwrap()
            .into_iter()
            .zip(least.iter().map(|value| figures(*value)))
            .collect();
        let ran = Ran {
            seeds: (1..=3).collect(),
            variations,
            traces: Vec::new(),
            seconds: 0.0,
            runs: [0; 3],
        };
        let record = Record::new(&plan, Setting::Full, &ran, Code::default(), None).unwrap();
        let work = Work::Plan(Box::new(plan.clone()), text.to_owned());
        let item = Item {
            name: "figure-1".to_owned(),
            label: "Figure 1".to_owned(),
            about: String::new(),
            work,
        };
        look(&Judged::new(&item, &plan, text, record).unwrap());
    }

    #[test]
    fn a_chart_has_the_values_tried_with_their_verdicts_and_what_is_needed() {
        with_judged(PLAN, &[500.0, 300.0, 550.0], |judged| {
            let [(0, chart)] = &charts(judged)[..] else {
                panic!("a chart for each open parameter")
            };
            assert_eq!(
                chart.title,
                "Claim 1: DRR: least, kbit/s over published DRR: least, kbit/s"
            );
            assert_eq!(
                (chart.x.label.as_str(), &*chart.x.names),
                (
                    "rate",
                    &["1mbit (as the plan stands)", "600kbit", "2mbit"].map(String::from)[..]
                )
            );
            let band = chart.band.as_ref().unwrap();
            assert_eq!(
                (band.from, band.to, band.name.as_str()),
                (Some(0.9), Some(1.1), "needed: 0.9 to 1.1")
            );
            let drawn = |curve: &Curve| {
                (
                    curve.name.clone(),
                    curve.drawn,
                    curve.points.iter().map(|point| point.x).collect::<Vec<_>>(),
                )
            };
            let [holds, undecided, fails] = ["holds", "undecided", "fails"].map(String::from);
            assert_eq!(
                chart.curves.iter().map(drawn).collect::<Vec<_>>(),
                [
                    (holds, Drawn::Dots, vec![0.0]),
                    (undecided, Drawn::Rings, vec![2.0]),
                    (fails, Drawn::Crosses, vec![1.0])
                ]
            );
            assert!(
                (chart.curves[0].points[0].y - 1.004).abs() < 1e-9
                    && chart.curves[0].points[0].half_width > 0.0,
                "{chart:?}"
            );
        });
    }

    #[test]
    fn numbers_lie_by_their_size() {
        let numbers = PLAN
            .replace("scenario.source.0.rate", "scenario.topology.pairs")
            .replace("[\"600kbit\", \"2mbit\"]", "[40, 20]");
        with_judged(&numbers, &[500.0; 3], |judged| {
            let chart = &charts(judged)[0].1;
            assert_eq!(
                (chart.x.label.as_str(), chart.x.names.len()),
                ("rate (as the plan stands: 10)", 0)
            );
            assert_eq!(
                chart.curves[0]
                    .points
                    .iter()
                    .map(|point| point.x)
                    .collect::<Vec<_>>(),
                [10.0, 40.0, 20.0]
            );
        });
    }

    #[test]
    fn the_claim_that_moves_is_drawn() {
        let first = "[[claim]]\nsays = \"Something comes.\"\nneeds = [{ is = \"interval\", of = \"DRR: least, kbit/s\", from = 1 }]\nexpect = \"holds\"\n";
        let plan = PLAN.replacen("[[claim]]", &format!("{first}[[claim]]"), 1);
        let title = |least: [f64; 3]| {
            let mut title = String::new();
            with_judged(&plan, &least, |judged| {
                title = charts(judged)[0].1.title.clone()
            });
            title
        };
        assert!(title([500.0, 300.0, 500.0]).starts_with("Claim 2: "));
        assert_eq!(title([500.0; 3]), "Claim 1: DRR: least, kbit/s");
    }

    #[test]
    fn a_page_links_drawings_and_what_stands_alone_has_them() {
        with_judged(PLAN, &[500.0, 300.0, 500.0], |judged| {
            let linked = section(judged, Target::Page);
            assert!(
                linked.contains("published DRR: least, kbit/s by rate](figure-1-open-1.svg)")
                    && !linked.contains("<svg"),
                "{linked}"
            );
            let alone = section(judged, Target::Alone);
            // A blank line inside the HTML would end it in Markdown.
            assert!(
                alone.contains("<figure>\n<svg")
                    && !alone
                        .split("<svg")
                        .nth(1)
                        .unwrap()
                        .split("</svg>")
                        .next()
                        .unwrap()
                        .contains("\n\n")
            );
        });
    }
}

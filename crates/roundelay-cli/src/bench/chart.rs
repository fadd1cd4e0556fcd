//! Costs against the number of flows, as a drawing: a panel for each memory, logarithmic both ways, as Figure 10 of the QFQ paper.

use std::collections::BTreeMap;

use roundelay_bench::Load;

use super::measure::Measured;
use crate::failure::Failure;

/// One drawing in the row of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    title: String,
    /// What is measured: its name and its points, flows and cost, by flows.
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 300.0;
/// Room around the lines: left, right, top, bottom.
const MARGINS: [f64; 4] = [52.0, 14.0, 30.0, 44.0];
const LEGEND: f64 = 28.0;
/// Okabe and Ito's colours, which the colour-blind can tell apart.
const COLOURS: [&str; 8] = ["#000000", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#0072b2", "#e69f00", "#8a8a8a"];

/// What was measured as panels.
pub(super) fn panels(measured: &[Measured]) -> Vec<Panel> {
    let mut ours: BTreeMap<String, Panel> = BTreeMap::new();
    for Measured { load, rows } in measured {
        let unit = rows[0].figures[0].0;
        let empty = || Panel {
            title: format!("{}, {unit}", title(load)),
            lines: rows.iter().map(|row| (row.subject.clone(), Vec::new())).collect(),
        };
        let panel = ours.entry(title(load)).or_insert_with(empty);
        let points = panel.lines.iter_mut().zip(rows);
        let sending = points.filter(|(_, row)| row.sends());
        sending.for_each(|((_, points), row)| points.push((load.flows.flows().into(), row.gross())));
    }
    let mut panels: Vec<Panel> = ours.into_values().collect();
    panels.iter_mut().flat_map(|panel| &mut panel.lines).for_each(|(_, points)| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    panels.retain(|panel| panel.lines.iter().any(|(_, points)| points.len() > 1));
    panels
}

fn title(load: &Load) -> String {
    let burst = if load.burst > 0 { format!(", bursts of {}", load.burst) } else { String::new() };
    format!("{}, {}{burst}", load.memory.name(), load.pattern.name())
}

/// The panels beside each other, with one scale for all.
pub(super) fn svg(panels: &[Panel]) -> Result<String, Failure> {
    let points: Vec<(f64, f64)> =
        panels.iter().flat_map(|panel| &panel.lines).flat_map(|(_, points)| points.clone()).filter(|(_, y)| *y > 0.0).collect();
    if panels.is_empty() {
        return Err(Failure::usage("a drawing needs at least two numbers of flows, as in --flows 8 --flows 512"));
    }
    let across = Scale::over(points.iter().map(|(x, _)| *x), 2.0);
    let up = Scale::over(points.iter().map(|(_, y)| *y), 10.0);
    let (width, height) = (WIDTH * panels.len() as f64, HEIGHT + LEGEND);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (place, panel) in panels.iter().enumerate() {
        text += &format!("<g transform=\"translate({} 0)\">\n{}</g>\n", WIDTH * place as f64, drawing(panel, &across, &up));
    }
    Ok(text + &legend(&panels[panels.len() - 1]) + "</svg>\n")
}

/// A logarithmic scale: from and to, both powers of the base or between them.
struct Scale {
    from: f64,
    to: f64,
    base: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>, base: f64) -> Self {
        let (least, most) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| (least.min(value), most.max(value)));
        Self { from: least / 1.2, to: most * 1.2, base }
    }

    /// From 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value / self.from).ln() / (self.to / self.from).ln()
    }

    /// Values that get a line: powers of the base, and with base 10 their doubles and halves; no more than about ten.
    fn ticks(&self) -> Vec<f64> {
        let powers = (0..64).map(|power| self.base.powi(power));
        let values: Vec<f64> =
            if self.base == 10.0 { powers.flat_map(|power| [power, 2.0 * power, 5.0 * power]).collect() } else { powers.collect() };
        let within: Vec<f64> = values.into_iter().filter(|value| (self.from..=self.to).contains(value)).collect();
        let every = within.len().div_ceil(11).max(1);
        within.into_iter().step_by(every).collect()
    }
}

fn drawing(panel: &Panel, across: &Scale, up: &Scale) -> String {
    let [left, right, top, bottom] = MARGINS;
    let x = |value: f64| left + across.place(value) * (WIDTH - left - right);
    let y = |value: f64| HEIGHT - bottom - up.place(value) * (HEIGHT - top - bottom);
    let (floor, end) = (HEIGHT - bottom, WIDTH - right);
    let mut text = format!("<text x=\"{left}\" y=\"18\" font-weight=\"bold\">{}</text>\n", panel.title);
    for tick in up.ticks() {
        let at = y(tick);
        text += &format!(
            "<path d=\"M{left} {at:.1}H{end}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>\n",
            left - 6.0,
            at + 4.0
        );
    }
    for tick in across.ticks() {
        let at = x(tick);
        text += &format!(
            "<path d=\"M{at:.1} {top}V{floor}\" stroke=\"#eeeeee\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            floor + 15.0,
            flows(tick)
        );
    }
    text += &format!("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">flows</text>\n", (left + end) / 2.0, floor + 31.0);
    for ((name, points), colour) in panel.lines.iter().zip(COLOURS.iter().cycle()) {
        let places: Vec<String> =
            points.iter().filter(|(_, cost)| *cost > 0.0).map(|(flows, cost)| format!("{:.1},{:.1}", x(*flows), y(*cost))).collect();
        if !places.is_empty() {
            text += &format!(
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{}\"><title>{name}</title></polyline>\n",
                places.join(" ")
            );
        }
    }
    text
}

fn legend(panel: &Panel) -> String {
    let mut at = MARGINS[0];
    let mut text = String::new();
    for ((name, _), colour) in panel.lines.iter().zip(COLOURS.iter().cycle()) {
        text += &format!(
            "<path d=\"M{at} {0}h18\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"{1}\" y=\"{2}\">{name}</text>\n",
            HEIGHT + 8.0,
            at + 23.0,
            HEIGHT + 12.0
        );
        at += 40.0 + 7.0 * name.len() as f64;
    }
    text
}

/// As flow sets write it: 32k.
fn flows(number: f64) -> String {
    const K: f64 = 1024.0;
    if number >= K * K {
        format!("{}m", number / K / K)
    } else if number >= K {
        format!("{}k", number / K)
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use roundelay_bench::{Lengths, Memory, Passed, Pattern};

    use super::*;
    use crate::bench::measure::Row;

    fn measured(flows: &str, memory: Memory, cost: f64) -> Measured {
        let load = Load { flows: flows.parse().unwrap(), pattern: Pattern::Small, lengths: Lengths::Imix, memory, burst: 0 };
        let row = |subject: &str, cost| Row {
            subject: subject.to_owned(),
            figures: vec![("ns", cost)],
            net: cost,
            passed: Passed { offered: 1, sent: 1 },
            saved: None,
        };
        Measured { load, rows: vec![row("none", 1.0), row("drr", cost)] }
    }

    #[test]
    fn a_panel_for_each_memory_with_points_by_flows() {
        let measured = ["64", "1", "1k"].map(|flows| Memory::ALL.map(|memory| measured(flows, memory, 20.0))).concat();
        let panels = panels(&measured);
        assert_eq!(panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>(), ["packed, small, ns", "scattered, small, ns"]);
        assert_eq!(panels[1].lines[1], ("drr".to_owned(), vec![(1.0, 20.0), (64.0, 20.0), (1024.0, 20.0)]));
        let svg = svg(&panels).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.contains(">64<") && svg.contains(">1k<") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn what_costs_more_stands_higher_and_inside() {
        let panels = panels(&[measured("1", Memory::Packed, 10.0), measured("8", Memory::Packed, 1000.0)]);
        let svg = svg(&panels).unwrap();
        let line = svg.split("points=\"").nth(2).unwrap().split('"').next().unwrap();
        let places: Vec<f64> = line.split([' ', ',']).map(|number| number.parse().unwrap()).collect();
        assert!(places[0] < places[2] && places[1] > places[3], "{places:?}");
        assert!(places.iter().all(|place| (0.0..WIDTH).contains(place)), "{places:?}");
    }

    #[test]
    fn one_number_of_flows_is_no_line() {
        let error = svg(&panels(&[measured("8", Memory::Packed, 10.0)])).unwrap_err();
        assert!(error.to_string().contains("two numbers of flows"));
    }
}

//! Charts of cost against the number of flows: a panel for each memory, with both axes logarithmic,
//! as in Figure 10 of the QFQ paper.

use std::collections::{BTreeMap, BTreeSet};

use roundelay_bench::{FlowSet, Load};
use roundelay_report::{Axis, Chart, Curve, Point, Scaling, panels};

use super::measured::{Measured, Row};
use crate::failure::Failure;

/// Draws the measurements side by side on one scale.
pub(super) fn svg(measured: &[Measured]) -> String {
    panels(&charts(measured))
}

/// # Errors
/// There is only one number of flows, which is too few for a line.
pub(super) fn check(flows: &[FlowSet]) -> Result<(), Failure> {
    let numbers: BTreeSet<_> = flows.iter().map(FlowSet::flows).collect();
    if numbers.len() > 1 {
        return Ok(());
    }
    Err(Failure::usage(
        "--svg: a drawing needs at least two numbers of flows, as in --flows 8 --flows 512",
    ))
}

fn charts(measured: &[Measured]) -> Vec<Chart> {
    let mut by_title: BTreeMap<String, Chart> = BTreeMap::new();
    for Measured { load, rows } in measured {
        let chart = by_title
            .entry(title(load))
            .or_insert_with_key(|title| empty_chart(title, rows));
        // Each load measures the same subjects in the same order, so rows and curves correspond.
        for (curve, row) in chart.curves.iter_mut().zip(rows) {
            if row.sends() {
                curve.points.push(Point {
                    x: load.flows.flows().into(),
                    y: row.gross(),
                    half_width: 0.0,
                });
            }
        }
    }
    let mut charts = Vec::new();
    for mut chart in by_title.into_values() {
        for curve in &mut chart.curves {
            curve.points.sort_by(|one, other| one.x.total_cmp(&other.x));
        }
        // One point is no curve.
        if chart.curves.iter().any(|curve| curve.points.len() > 1) {
            charts.push(chart);
        }
    }
    charts
}

/// A chart with a curve for each row's subject, all without points.
fn empty_chart(title: &str, rows: &[Row]) -> Chart {
    let mut curves = Vec::new();
    for row in rows {
        curves.push(Curve {
            name: row.subject.clone(),
            ..Curve::default()
        });
    }
    let figure = rows[0].figures[0].0;
    Chart {
        title: title.to_owned(),
        x: Axis {
            label: "flows".to_owned(),
            scaling: Scaling::Doubling,
            ..Axis::default()
        },
        y: Axis {
            label: format!("{figure} a packet"),
            scaling: Scaling::Logarithmic,
            ..Axis::default()
        },
        curves,
        ..Chart::default()
    }
}

fn title(load: &Load) -> String {
    let burst = if load.burst > 0 {
        format!(", bursts of {}", load.burst)
    } else {
        String::new()
    };
    format!("{}, {}{burst}", load.memory.name(), load.pattern.name())
}

#[cfg(test)]
mod tests {
    use roundelay_bench::{Lengths, Memory, Order, Passed, Pattern};

    use super::*;

    fn measured(flows: &str, memory: Memory, cost: f64) -> Measured {
        let load = Load {
            flows: flows.parse().unwrap(),
            pattern: Pattern::Small,
            order: Order::Shortest,
            lengths: Lengths::Imix,
            memory,
            burst: 0,
        };
        let row = |subject: &str, cost| Row {
            subject: subject.to_owned(),
            figures: vec![("ns", cost)],
            net: cost,
            passed: Passed {
                offered: 1,
                sent: 1,
            },
            saved: None,
        };
        Measured {
            load,
            rows: vec![row("none", 1.0), row("drr", cost)],
        }
    }

    #[test]
    fn a_panel_for_each_memory_with_points_by_flows() {
        let measured = ["64", "1", "1k"]
            .map(|flows| Memory::ALL.map(|memory| measured(flows, memory, 20.0)))
            .concat();
        let charts = charts(&measured);
        assert_eq!(
            charts
                .iter()
                .map(|chart| chart.title.as_str())
                .collect::<Vec<_>>(),
            ["packed, small", "scattered, small"]
        );
        let drr = &charts[1].curves[1];
        assert_eq!(
            (
                drr.name.as_str(),
                drr.points
                    .iter()
                    .map(|point| (point.x, point.y))
                    .collect::<Vec<_>>()
            ),
            ("drr", vec![(1.0, 20.0), (64.0, 20.0), (1024.0, 20.0)])
        );
        let svg = svg(&measured);
        assert_eq!(
            (
                svg.matches("<polyline").count(),
                svg.matches(">drr</text>").count()
            ),
            (4, 1),
            "one legend"
        );
        assert!(
            svg.contains(">64<")
                && svg.contains(">1k<")
                && svg.contains(">ns a packet<")
                && !svg.contains("NaN"),
            "{svg}"
        );
    }

    #[test]
    fn what_costs_more_stands_higher_and_inside() {
        let svg = svg(&[
            measured("1", Memory::Packed, 10.0),
            measured("8", Memory::Packed, 1000.0),
        ]);
        let line = svg
            .split("points=\"")
            .nth(2)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let coordinates: Vec<f64> = line
            .split([' ', ','])
            .map(|number| number.parse().unwrap())
            .collect();
        assert!(
            coordinates[0] < coordinates[2] && coordinates[1] > coordinates[3],
            "{coordinates:?}"
        );
        assert!(
            coordinates
                .iter()
                .all(|coordinate| (0.0..620.0).contains(coordinate)),
            "{coordinates:?}"
        );
    }
}

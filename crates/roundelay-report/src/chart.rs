//! SVG charts: curves and marks over linear or logarithmic axes, with bars for uncertainty and a
//! band for accepted values.

mod drawing;
mod scale;

/// The most points of a curve in a small chart.
const MOST_POINTS: usize = 100;

/// A chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// The chart's title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the legend's order.
    pub curves: Vec<Curve>,
    /// Values of y that are accepted.
    pub band: Option<Band>,
    /// Places across where something changes, each with a line from bottom to top.
    pub changes: Vec<Mark>,
    /// Draws a lower chart, for a few points.
    pub is_low: bool,
    /// One of several charts with the same axes and curves. A page draws these small, side by side,
    /// with common scales and one legend.
    pub is_panel: bool,
}

/// A chart's axis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// The scale. Points without a position on the axis are left out.
    pub scaling: Scaling,
    /// Names at 0, 1, 2... Empty for an axis with numbers.
    pub names: Vec<String>,
}

/// How an axis is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scaling {
    /// Proportional to the value.
    #[default]
    Linear,
    /// Proportional to the logarithm. Only values above zero have a position.
    Logarithmic,
    /// Logarithmic, with a tick per power of two, written in units of 1024: 64, 1k, 32k.
    Doubling,
}

impl Scaling {
    /// Whether positions are logarithmic.
    pub const fn is_logarithmic(self) -> bool {
        !matches!(self, Self::Linear)
    }
}

impl Axis {
    pub(crate) fn can_show(&self, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || !self.scaling.is_logarithmic())
    }
}

/// A chart's curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Points, by x.
    pub points: Vec<Point>,
    /// Line or mark style.
    pub drawn: Drawn,
}

/// How a curve is drawn: a line in the next colour of the palette, or marks in a fixed colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drawn {
    /// A line.
    #[default]
    Line,
    /// A dashed line, for published values.
    Dashes,
    /// Green dots.
    Dots,
    /// Orange rings.
    Rings,
    /// Red crosses.
    Crosses,
    /// Dots in the next colour of the palette, for several curves over categories.
    Discs,
    /// Hollow rings in the colour of the curve before, for published values of the same quantity.
    Published,
}

/// A point on a curve.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// How far the error bar reaches up and down. 0 draws no bar.
    pub half_width: f64,
}

/// Values of y between two bounds, drawn as a band with a line at each bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The name in the legend.
    pub name: String,
    /// Lower bound. None: unbounded below.
    pub from: Option<f64>,
    /// Upper bound. None: unbounded above.
    pub to: Option<f64>,
}

/// A place on the horizontal axis where something changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What changes, in a few words.
    pub name: String,
}

impl Drawn {
    pub(crate) const fn is_marks(self) -> bool {
        !matches!(self, Self::Line | Self::Dashes)
    }
}

impl Chart {
    /// Whether any point can be drawn.
    pub fn has_points(&self) -> bool {
        self.shown().next().is_some()
    }

    /// The chart as an SVG document. Points with non-finite values are left out.
    pub fn svg(&self) -> String {
        panels(std::slice::from_ref(self))
    }

    /// The chart as a lower SVG document of some 20 kB at most: without error bars, and with at most
    /// a hundred points of a curve.
    pub fn small_svg(&self) -> String {
        let mut small = self.clone();
        small.is_low = true;
        for curve in &mut small.curves {
            let step = curve.points.len().div_ceil(MOST_POINTS).max(1);
            let last = curve.points.len().saturating_sub(1);
            let mut kept = Vec::new();
            for (number, point) in curve.points.iter().enumerate() {
                if number % step == 0 || number == last {
                    kept.push(Point {
                        half_width: 0.0,
                        ..*point
                    });
                }
            }
            curve.points = kept;
        }
        small.svg()
    }

    /// Points with a position on both axes.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Point> {
        self.curves
            .iter()
            .flat_map(|curve| curve.points.iter())
            .filter(|point| self.shows(point))
    }

    fn shows(&self, point: &Point) -> bool {
        self.x.can_show(point.x) && self.y.can_show(point.y)
    }
}

/// Draws charts side by side in one SVG document. The first chart defines axes and legend, and
/// scales cover the values of all charts.
pub fn panels(charts: &[Chart]) -> String {
    drawing::svg(charts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)], is_logarithmic: bool) -> Chart {
        let scaling = if is_logarithmic {
            Scaling::Logarithmic
        } else {
            Scaling::Linear
        };
        let axis = |label: &str| Axis {
            label: label.to_owned(),
            scaling,
            names: Vec::new(),
        };
        let points = points
            .iter()
            .map(|&(x, y)| Point {
                x,
                y,
                half_width: 0.5,
            })
            .collect();
        let curve = Curve {
            name: "A < B".to_owned(),
            points,
            ..Curve::default()
        };
        Chart {
            title: "T".to_owned(),
            x: axis("flows"),
            y: axis("ns"),
            curves: vec![curve],
            ..Chart::default()
        }
    }

    fn positions(svg: &str) -> Vec<(f64, f64)> {
        let line = svg
            .split("points=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let position = |text: &str| {
            text.split_once(',')
                .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
                .unwrap()
        };
        line.split(' ').map(position).collect()
    }

    #[test]
    fn larger_values_stand_higher_and_all_lie_inside() {
        for is_logarithmic in [false, true] {
            let svg = chart(&[(1.0, 10.0), (8.0, 1000.0), (64.0, 900.0)], is_logarithmic).svg();
            let positions = positions(&svg);
            assert!(
                positions[0].1 > positions[2].1 && positions[2].1 > positions[1].1,
                "{positions:?}"
            );
            assert!(
                positions
                    .iter()
                    .all(|(x, y)| (0.0..=620.0).contains(x) && (0.0..=340.0).contains(y)),
                "{positions:?}"
            );
            assert!(svg.contains("A &lt; B") && !svg.contains("NaN"));
        }
    }

    #[test]
    fn what_a_logarithm_cannot_show_is_left_out() {
        assert_eq!(
            positions(
                &chart(
                    &[
                        (0.0, 1.0),
                        (1.0, 0.0),
                        (2.0, 3.0),
                        (4.0, f64::NAN),
                        (5.0, 6.0)
                    ],
                    true
                )
                .svg()
            )
            .len(),
            2
        );
    }

    #[test]
    fn charts_of_one_point_or_none_are_drawn() {
        assert!(chart(&[(3.0, 3.0)], false).svg().contains("<circle"));
        assert!(!chart(&[], true).svg().contains("NaN"));
    }

    #[test]
    fn marks_have_colours_of_their_own_and_lie_in_their_band() {
        let point = |x: f64| Point {
            x,
            y: 2.0,
            half_width: 0.0,
        };
        let curve = |name: &str, x, drawn| Curve {
            name: name.to_owned(),
            points: vec![point(x)],
            drawn,
        };
        let curves = vec![
            curve("holds", 0.0, Drawn::Dots),
            curve("fails", 1.0, Drawn::Crosses),
        ];
        let x = Axis {
            names: ["a".to_owned(), "b".to_owned()].into(),
            ..Axis::default()
        };
        let band = Band {
            name: "needed: 1 to 3".to_owned(),
            from: Some(1.0),
            to: Some(3.0),
        };
        let low = Chart {
            x,
            curves,
            band: Some(band),
            is_low: true,
            ..Chart::default()
        };
        let svg = low.svg();
        assert_eq!(
            (
                svg.matches("r=\"4\"").count(),
                svg.matches("m-4 -4l8 8").count()
            ),
            (2, 2),
            "each, and its sample in the legend: {svg}"
        );
        let after = |from: &str, key: &str| -> f64 {
            let text = svg.split(from).nth(1).unwrap().split(key).nth(1).unwrap();
            text.split(['"', ' ']).next().unwrap().parse().unwrap()
        };
        let top = after("<rect x=", "y=\"");
        let height = after("<rect x=", "height=\"");
        let dot = after("<circle", "cy=\"");
        assert!(top < dot && dot < top + height, "{svg}");
        assert!(svg.contains(">a</text>") && !svg.contains("1: a"));
        let named = Chart {
            x: Axis {
                names: vec!["a".repeat(60), "b".repeat(200)],
                ..Axis::default()
            },
            ..low
        };
        assert!(
            named
                .svg()
                .contains(&format!(">1: {}</text>", "a".repeat(60)))
                && named.svg().contains("bb…</text>")
        );
    }

    #[test]
    fn a_small_chart_has_fewer_points_and_the_same_ends() {
        let mut long = Vec::new();
        for x in 0..1001 {
            long.push((f64::from(x), f64::from(x * x)));
        }
        let chart = chart(&long, false);
        let small = chart.small_svg();
        let positions = positions(&small);
        assert!(positions.len() <= MOST_POINTS + 1 && small.len() < 5_000);
        assert!(chart.svg().len() > 10_000);
        let whole = self::positions(&chart.svg());
        let ends = [positions[0].0, positions[positions.len() - 1].0];
        assert_eq!(ends, [whole[0].0, whole[whole.len() - 1].0]);
    }

    #[test]
    fn a_change_is_a_line_with_its_name_inside_the_chart() {
        let mut chart = chart(&[(0.0, 10.0), (8.0, 20.0)], false);
        let change = |x, name: &str| Mark {
            x,
            name: name.to_owned(),
        };
        chart.changes = vec![change(4.0, "queue <drr>"), change(9.0, "outside")];
        let svg = chart.svg();
        assert!(svg.contains(">queue &lt;drr&gt;</text>"), "{svg}");
        assert!(!svg.contains("outside"), "{svg}");
        assert_eq!(svg.matches("stroke-dasharray=\"1 3\"").count(), 1, "{svg}");
    }

    #[test]
    fn a_bar_does_not_end_below_zero_where_no_value_is_negative() {
        let mut chart = chart(&[(1.0, 0.2), (2.0, 0.4)], false);
        chart.y.scaling = Scaling::Linear;
        let floor = chart.svg();
        chart.curves[0].points[0].half_width = 0.2;
        chart.curves[0].points[1].half_width = 0.0;
        let bars = |svg: &str| svg.matches("stroke-opacity=\"0.4\"").count();
        assert_eq!((bars(&floor), bars(&chart.svg())), (2, 1));
        assert!(!floor.contains(">-0."), "the axis begins at zero: {floor}");
    }

    /// The legend explains hollow marks once.
    #[test]
    fn published_values_are_hollow_in_the_colour_of_their_curve() {
        let points = || {
            vec![Point {
                x: 1.0,
                y: 2.0,
                half_width: 0.0,
            }]
        };
        let curve = |name: &str, drawn| Curve {
            name: name.to_owned(),
            points: points(),
            drawn,
        };
        let chart = Chart {
            curves: vec![
                curve("A", Drawn::Line),
                curve("published A", Drawn::Published),
                curve("B", Drawn::Line),
                curve("published B", Drawn::Published),
            ],
            ..Chart::default()
        };
        let svg = chart.svg();
        for colour in ["#000000", "#0072b2"] {
            let hollow = format!("fill=\"white\" stroke=\"{colour}\"");
            assert!(svg.contains(&hollow), "{colour}: {svg}");
            assert!(svg.contains(&format!("stroke=\"{colour}\" stroke-width=\"1.8\"")));
        }
        assert_eq!(svg.matches("published").count(), 1, "{svg}");
    }

    #[test]
    fn panels_share_their_scales_and_a_legend() {
        let [one, other] = [
            chart(&[(1.0, 10.0), (8.0, 20.0)], false),
            chart(&[(1.0, 1000.0), (8.0, 1000.0)], false),
        ];
        let svg = panels(&[one, other]);
        let [one, other] = [positions(&svg), positions(&svg[svg.find("<g ").unwrap()..])];
        assert_eq!(one[0].0, other[0].0);
        assert!(one[0].1 > 250.0 && other[0].1 < 100.0, "{one:?} {other:?}");
        assert_eq!(svg.matches("A &lt; B</text>").count(), 1, "one legend");
    }
}

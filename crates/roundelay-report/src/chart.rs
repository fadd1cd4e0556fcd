//! Charts as SVG: curves and marks over linear or logarithmic axes, with bars for their uncertainty and a band for what is tolerated.

mod drawing;
mod scale;

/// A chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What lies along.
    pub x: Axis,
    /// What stands upright.
    pub y: Axis,
    /// What is drawn, in the order of the legend.
    pub curves: Vec<Curve>,
    /// Values of y that are tolerated.
    pub band: Option<Band>,
    /// Whether it is drawn less high, as for a few points.
    pub is_low: bool,
}

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// How values lie along it; points that it has no place for are left out.
    pub scaling: Scaling,
    /// Names of what stands at 0, 1, 2..; none where the axis has numbers.
    pub names: Vec<String>,
}

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scaling {
    /// By their size.
    #[default]
    Linear,
    /// By their logarithms; only what is above zero has a place.
    Logarithmic,
    /// The same with a tick a power of two, written in units of 1024: 64, 1k, 32k.
    Doubling,
}

impl Scaling {
    /// Whether values lie by their logarithms.
    pub const fn is_logarithmic(self) -> bool {
        !matches!(self, Self::Linear)
    }
}

impl Axis {
    fn has_place_for(&self, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || !self.scaling.is_logarithmic())
    }
}

/// A curve of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// Points, by x.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub drawn: Drawn,
}

/// How a curve is drawn: as a line in the next colour of the palette, or as marks in a colour of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drawn {
    /// A line.
    #[default]
    Line,
    /// A line of dashes, as for published values.
    Dashes,
    /// Green dots.
    Dots,
    /// Orange rings.
    Rings,
    /// Red crosses.
    Crosses,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Upright.
    pub y: f64,
    /// How far the bar goes, up and down; 0 draws none.
    pub half_width: f64,
}

/// Values of y between two bounds, drawn as a band with a line at each.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// What the legend calls it.
    pub name: String,
    /// At least; none: all that is lower.
    pub from: Option<f64>,
    /// At most; none: all that is higher.
    pub to: Option<f64>,
}

impl Drawn {
    const fn is_marks(self) -> bool {
        matches!(self, Self::Dots | Self::Rings | Self::Crosses)
    }
}

impl Chart {
    /// Whether there is anything to draw.
    pub fn has_points(&self) -> bool {
        self.shown().next().is_some()
    }

    /// The chart as an SVG document. Points that are not finite are left out.
    pub fn svg(&self) -> String {
        panels(std::slice::from_ref(self))
    }

    /// Points that the axes have a place for.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(|curve| curve.points.iter()).filter(|point| self.shows(point))
    }

    fn shows(&self, point: &Point) -> bool {
        self.x.has_place_for(point.x) && self.y.has_place_for(point.y)
    }
}

/// Charts beside each other as one SVG document: axes are as the first one has them, over the values of all, and the legend is that of the first one.
pub fn panels(charts: &[Chart]) -> String {
    drawing::svg(charts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)], is_logarithmic: bool) -> Chart {
        let scaling = if is_logarithmic { Scaling::Logarithmic } else { Scaling::Linear };
        let axis = |label: &str| Axis { label: label.to_owned(), scaling, names: Vec::new() };
        let points = points.iter().map(|&(x, y)| Point { x, y, half_width: 0.5 }).collect();
        let curve = Curve { name: "A < B".to_owned(), points, ..Curve::default() };
        Chart { title: "T".to_owned(), x: axis("flows"), y: axis("ns"), curves: vec![curve], ..Chart::default() }
    }

    fn places(svg: &str) -> Vec<(f64, f64)> {
        let line = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let place = |place: &str| place.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap();
        line.split(' ').map(place).collect()
    }

    #[test]
    fn larger_values_stand_higher_and_all_lie_inside() {
        for is_logarithmic in [false, true] {
            let svg = chart(&[(1.0, 10.0), (8.0, 1000.0), (64.0, 900.0)], is_logarithmic).svg();
            let places = places(&svg);
            assert!(places[0].1 > places[2].1 && places[2].1 > places[1].1, "{places:?}");
            assert!(places.iter().all(|(x, y)| (0.0..=620.0).contains(x) && (0.0..=340.0).contains(y)), "{places:?}");
            assert!(svg.contains("A &lt; B") && !svg.contains("NaN"));
        }
    }

    #[test]
    fn what_a_logarithm_has_no_place_for_is_left_out() {
        assert_eq!(places(&chart(&[(0.0, 1.0), (1.0, 0.0), (2.0, 3.0), (4.0, f64::NAN), (5.0, 6.0)], true).svg()).len(), 2);
    }

    #[test]
    fn charts_of_one_point_or_none_are_drawn() {
        assert!(chart(&[(3.0, 3.0)], false).svg().contains("<circle"));
        assert!(!chart(&[], true).svg().contains("NaN"));
    }

    #[test]
    fn marks_have_colours_of_their_own_and_lie_in_their_band() {
        let point = |x: f64| Point { x, y: 2.0, half_width: 0.0 };
        let curve = |name: &str, x, drawn| Curve { name: name.to_owned(), points: vec![point(x)], drawn };
        let curves = vec![curve("holds", 0.0, Drawn::Dots), curve("fails", 1.0, Drawn::Crosses)];
        let x = Axis { names: ["a".to_owned(), "b".to_owned()].into(), ..Axis::default() };
        let band = Band { name: "needed: 1 to 3".to_owned(), from: Some(1.0), to: Some(3.0) };
        let low = Chart { x, curves, band: Some(band), is_low: true, ..Chart::default() };
        let svg = low.svg();
        assert_eq!(
            (svg.matches("r=\"4\"").count(), svg.matches("m-4 -4l8 8").count()),
            (2, 2),
            "each, and its sample in the legend: {svg}"
        );
        let after = |from: &str, key: &str| -> f64 {
            let text = svg.split(from).nth(1).unwrap().split(key).nth(1).unwrap();
            text.split(['"', ' ']).next().unwrap().parse().unwrap()
        };
        let (top, height, dot) = (after("<rect x=", "y=\""), after("<rect x=", "height=\""), after("<circle", "cy=\""));
        assert!(top < dot && dot < top + height, "{svg}");
        assert!(svg.contains(">a</text>") && !svg.contains("1: a"));
        let named = Chart { x: Axis { names: vec!["a".repeat(60), "b".repeat(200)], ..Axis::default() }, ..low };
        assert!(named.svg().contains(&format!(">1: {}</text>", "a".repeat(60))) && named.svg().contains("bb…</text>"));
    }

    #[test]
    fn panels_share_their_scales_and_a_legend() {
        let [one, other] = [chart(&[(1.0, 10.0), (8.0, 20.0)], false), chart(&[(1.0, 1000.0), (8.0, 1000.0)], false)];
        let svg = panels(&[one, other]);
        let [one, other] = [places(&svg), places(&svg[svg.find("<g ").unwrap()..])];
        assert_eq!(one[0].0, other[0].0);
        assert!(one[0].1 > 250.0 && other[0].1 < 100.0, "{one:?} {other:?}");
        assert_eq!(svg.matches("A &lt; B</text>").count(), 1, "one legend");
    }
}

//! Line charts as SVG: curves over linear or logarithmic axes, with bars for their uncertainty.

use std::fmt::Write;

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
}

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// Whether it is logarithmic; points at or below zero are then left out.
    pub is_logarithmic: bool,
}

/// A curve of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// Points, by x.
    pub points: Vec<Point>,
    /// Whether it is drawn with dashes, as for published values.
    pub is_dashed: bool,
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

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 340.0;
/// Room around the curves: left, right, top, bottom.
const MARGINS: [f64; 4] = [64.0, 16.0, 32.0, 48.0];
const LEGEND_LINE: f64 = 18.0;
/// Okabe and Ito's colours, which the colour-blind can tell apart.
const COLOURS: [&str; 8] = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a8a8a"];

impl Chart {
    /// Whether there is anything to draw.
    pub fn has_points(&self) -> bool {
        self.shown().next().is_some()
    }

    /// The chart as an SVG document. Points that are not finite are left out.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = MARGINS;
        let across = Scale::over(self.shown().map(|point| point.x), &self.x, [left, WIDTH - right]);
        let ends = self.shown().flat_map(|point| [point.y - point.half_width, point.y + point.half_width]);
        let up = Scale::over(ends, &self.y, [HEIGHT - bottom, top]);
        let legend = self.legend();
        let height = HEIGHT + legend.1;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"{left}\" y=\"18\" font-weight=\"bold\">{}</text>\n",
            escape(&self.title)
        );
        text += &self.axes(&across, &up);
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            text += &self.curve(curve, colour, &across, &up);
        }
        text + &legend.0 + "</svg>\n"
    }

    /// Points that the axes have a place for.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(|curve| curve.points.iter()).filter(|point| self.shows(point))
    }

    fn shows(&self, point: &Point) -> bool {
        let is_on = |value: f64, axis: &Axis| value.is_finite() && (value > 0.0 || !axis.is_logarithmic);
        is_on(point.x, &self.x) && is_on(point.y, &self.y)
    }

    fn axes(&self, across: &Scale, up: &Scale) -> String {
        let [left, right, top, bottom] = MARGINS;
        let (floor, end) = (HEIGHT - bottom, WIDTH - right);
        let mut text = String::new();
        for tick in up.ticks() {
            let at = up.place(tick);
            _ = writeln!(
                text,
                "<path d=\"M{left} {at:.1}H{end}\" stroke=\"#e4e4e4\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                number(tick)
            );
        }
        for tick in across.ticks() {
            let at = across.place(tick);
            _ = writeln!(
                text,
                "<path d=\"M{at:.1} {top}V{floor}\" stroke=\"#f0f0f0\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                floor + 15.0,
                number(tick)
            );
        }
        let (middle, height) = ((left + end) / 2.0, (top + floor) / 2.0);
        text + &format!(
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(14 {height}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            floor + 34.0,
            escape(&self.x.label),
            escape(&self.y.label)
        )
    }

    fn curve(&self, curve: &Curve, colour: &str, across: &Scale, up: &Scale) -> String {
        let shown: Vec<&Point> = curve.points.iter().filter(|point| self.shows(point)).collect();
        let place = |point: &&Point| format!("{:.1},{:.1}", across.place(point.x), up.place(point.y));
        let dashes = if curve.is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let mut text = String::new();
        for point in shown.iter().filter(|point| point.half_width > 0.0) {
            let (at, from, to) = (across.place(point.x), up.place(point.y - point.half_width), up.place(point.y + point.half_width));
            _ = writeln!(text, "<path d=\"M{at:.1} {from:.1}V{to:.1}\" stroke=\"{colour}\" stroke-opacity=\"0.4\"/>");
        }
        if let [only] = shown[..] {
            let (x, y) = (across.place(only.x), up.place(only.y));
            _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let places: Vec<String> = shown.iter().map(place).collect();
        let name = escape(&curve.name);
        text + &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dashes} points=\"{}\"><title>{name}</title></polyline>\n",
            places.join(" ")
        )
    }

    /// The legend below the curves, and how high it is.
    fn legend(&self) -> (String, f64) {
        let (mut at, mut line, mut text) = (MARGINS[0], 0.0, String::new());
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let width = 40.0 + 6.5 * curve.name.chars().count() as f64;
            if at + width > WIDTH && at > MARGINS[0] {
                (at, line) = (MARGINS[0], line + LEGEND_LINE);
            }
            let dashes = if curve.is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
            let y = HEIGHT + 8.0 + line;
            _ = writeln!(
                text,
                "<path d=\"M{at} {y}h18\" stroke=\"{colour}\" stroke-width=\"3\"{dashes}/><text x=\"{}\" y=\"{}\">{}</text>",
                at + 23.0,
                y + 4.0,
                escape(&curve.name)
            );
            at += width;
        }
        (text, line + LEGEND_LINE + 8.0)
    }
}

/// Where values of an axis lie.
struct Scale {
    /// Values at both ends; logarithms of them where the axis is logarithmic.
    from: f64,
    to: f64,
    is_logarithmic: bool,
    /// Where both ends lie.
    ends: [f64; 2],
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>, axis: &Axis, ends: [f64; 2]) -> Self {
        let is_logarithmic = axis.is_logarithmic;
        let values = values.filter(|value| value.is_finite() && (*value > 0.0 || !is_logarithmic));
        let values = values.map(|value| if is_logarithmic { value.log10() } else { value });
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
        let (least, most) = if least > most { (0.0, 1.0) } else { (least, most) };
        // A linear axis starts at zero unless that would hide what it shows.
        let least = if !is_logarithmic && least > 0.0 && least < most * 0.6 { 0.0 } else { least };
        let room = ((most - least) * 0.04).max(if most == least { most.abs().max(1.0) * 0.1 } else { 0.0 });
        let from = if least == 0.0 && !is_logarithmic { 0.0 } else { least - room };
        Self { from, to: most + room, is_logarithmic, ends }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let part = ((value - self.from) / (self.to - self.from)).clamp(-0.02, 1.02);
        self.ends[0] + part * (self.ends[1] - self.ends[0])
    }

    /// Values that get a line, about eight.
    fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return linear_ticks(self.from, self.to);
        }
        let powers = (self.from.floor() as i32)..=(self.to.ceil() as i32);
        let steps: &[f64] = if self.to - self.from > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let values: Vec<f64> = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power))).collect();
        let within: Vec<f64> = values.into_iter().filter(|value| (self.from..=self.to).contains(&value.log10())).collect();
        if within.len() < 2 { linear_ticks(10_f64.powf(self.from), 10_f64.powf(self.to)) } else { within }
    }
}

fn linear_ticks(from: f64, to: f64) -> Vec<f64> {
    let rough = (to - from) / 7.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough).unwrap_or(rough);
    if !step.is_finite() || step <= 0.0 {
        return Vec::new();
    }
    let first = (from / step).ceil() as i64;
    (first..).map(|tick| tick as f64 * step).take_while(|value| *value <= to).take(20).collect()
}

/// A number as an axis has it: no more digits than it needs.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e4..1e6 if value % 1000.0 == 0.0 => format!("{}k", value / 1e3),
        size if !(1e-3..1e6).contains(&size) => format!("{value:.0e}"),
        _ => format!("{:.4}", value).trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)], is_logarithmic: bool) -> Chart {
        let axis = |label: &str| Axis { label: label.to_owned(), is_logarithmic };
        let points = points.iter().map(|&(x, y)| Point { x, y, half_width: 0.5 }).collect();
        let curve = Curve { name: "A < B".to_owned(), points, is_dashed: false };
        Chart { title: "T".to_owned(), x: axis("flows"), y: axis("ns"), curves: vec![curve] }
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
            assert!(places.iter().all(|(x, y)| (0.0..=WIDTH).contains(x) && (0.0..=HEIGHT).contains(y)), "{places:?}");
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
    fn ticks_are_round() {
        assert_eq!(linear_ticks(0.0, 160.0), [0.0, 50.0, 100.0, 150.0]);
        assert_eq!([0.0, 0.25, 150.0, 32_000.0, 2e9].map(number), ["0", "0.25", "150", "32k", "2e9"]);
    }
}

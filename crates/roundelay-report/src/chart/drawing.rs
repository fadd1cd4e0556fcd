//! Draws charts as SVG: axes with ticks, a band, curves and marks with error bars, and a legend
//! below.

use std::fmt::Write;

use super::scale::Scale;
use super::{Band, Chart, Curve, Drawn, Point};

/// Widths of a single chart, and of a chart beside others.
const WIDTHS: [f64; 2] = [620.0, 400.0];
/// Heights of a normal and of a low chart.
const HEIGHTS: [f64; 2] = [340.0, 240.0];
/// Margins around the plot area: left, right, top, bottom.
const MARGINS: [f64; 4] = [64.0, 16.0, 32.0, 48.0];
const LEGEND_LINE: f64 = 18.0;
/// About how wide a letter is.
const LETTER: f64 = 6.5;
/// About how wide a letter is in a long line, where wide and narrow letters average out.
const LETTER_OF_MANY: f64 = 5.6;
/// Okabe and Ito's colours, distinguishable for colour-blind readers.
const COLOURS: [&str; 8] = [
    "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a8a8a",
];
const GREEN: &str = COLOURS[3];
const ORANGE: &str = COLOURS[6];
const RED: &str = COLOURS[2];

/// Charts side by side with common scales and one common legend.
pub(super) fn svg(charts: &[Chart]) -> String {
    let Some(first) = charts.first() else {
        return String::new();
    };
    let panel_width = WIDTHS[usize::from(charts.len() > 1)];
    let [width, chart_height] = [
        panel_width * charts.len() as f64,
        HEIGHTS[usize::from(first.is_low)],
    ];
    let [left, right, top, bottom] = MARGINS;
    let mut xs = Vec::new();
    let mut ys = Vec::new();
    for chart in charts {
        for point in chart.shown() {
            xs.push(point.x);
            ys.extend([lower_end(point), point.y + point.half_width]);
        }
        if let Some(band) = &chart.band {
            ys.extend(band.from);
            ys.extend(band.to);
        }
    }
    let across = Scale::over(&xs, &first.x, [left, panel_width - right]);
    let up = Scale::over(&ys, &first.y, [chart_height - bottom, top]);
    let panel = |chart| Panel {
        chart,
        width: panel_width,
        height: chart_height,
        across: &across,
        up: &up,
    };
    let (legend, legend_height) = panel(first).legend(width);
    let height = chart_height + legend_height;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (number, chart) in charts.iter().enumerate() {
        let drawing = panel(chart).drawing();
        if number == 0 {
            text += &drawing;
        } else {
            let x = panel_width * number as f64;
            _ = write!(text, "<g transform=\"translate({x} 0)\">\n{drawing}</g>\n");
        }
    }
    text + &legend + "</svg>\n"
}

/// A chart at its position.
struct Panel<'a> {
    chart: &'a Chart,
    width: f64,
    height: f64,
    across: &'a Scale,
    up: &'a Scale,
}

impl Panel<'_> {
    fn drawing(&self) -> String {
        let mut text = format!(
            "<text x=\"{}\" y=\"18\" font-weight=\"bold\">{}</text>\n",
            MARGINS[0],
            escape(&self.chart.title)
        );
        text += &self.axes();
        if let Some(band) = &self.chart.band {
            text += &self.band(band);
        }
        text += &self.changes();
        for (curve, colour) in self.chart.curves.iter().zip(self.colours()) {
            text += &self.curve(curve, colour);
        }
        text
    }

    /// A line at each change among the points, named where it has room.
    fn changes(&self) -> String {
        let [left, _, top, _] = MARGINS;
        let [end, floor] = self.ends();
        let mut text = String::new();
        for change in &self.chart.changes {
            let at = self.across.position(change.x);
            if !(left..=end).contains(&at) {
                continue;
            }
            // On the side with more room.
            let (anchor, at_name) = if at > (left + end) / 2.0 {
                ("end", at - 4.0)
            } else {
                ("start", at + 4.0)
            };
            _ = writeln!(
                text,
                "<path d=\"M{at:.1} {top}V{floor}\" stroke=\"#444444\" \
                 stroke-dasharray=\"1 3\"/><text x=\"{at_name:.1}\" y=\"{}\" \
                 text-anchor=\"{anchor}\">{}</text>",
                top + 10.0,
                escape(&change.name)
            );
        }
        text
    }

    /// Each curve's colour.
    fn colours(&self) -> Vec<&'static str> {
        let mut colours = Vec::new();
        let mut number = 0;
        for curve in &self.chart.curves {
            if curve.drawn == Drawn::Published {
                colours.push(colours.last().copied().unwrap_or(COLOURS[0]));
                continue;
            }
            colours.push(match curve.drawn {
                Drawn::Dots => GREEN,
                Drawn::Rings => ORANGE,
                Drawn::Crosses => RED,
                _ => COLOURS[number % COLOURS.len()],
            });
            number += 1;
        }
        colours
    }

    /// Where the plot area ends to the right and below.
    fn ends(&self) -> [f64; 2] {
        [self.width - MARGINS[1], self.height - MARGINS[3]]
    }

    fn band(&self, band: &Band) -> String {
        let [left, _, top, _] = MARGINS;
        let [end, floor] = self.ends();
        let high = match band.to {
            Some(bound) => self.up.position(bound).clamp(top, floor),
            None => top,
        };
        let low = match band.from {
            Some(bound) => self.up.position(bound).clamp(top, floor),
            None => floor,
        };
        let mut text = format!(
            "<rect x=\"{left}\" y=\"{high:.1}\" width=\"{}\" height=\"{:.1}\" fill=\"{GREEN}\" \
             fill-opacity=\"0.1\"/>\n",
            end - left,
            low - high
        );
        for (bound, at) in [(band.to, high), (band.from, low)] {
            if bound.is_none() {
                continue;
            }
            _ = writeln!(
                text,
                "<path d=\"M{left} {at:.1}H{end}\" stroke=\"{GREEN}\" stroke-dasharray=\"2 2\"/>"
            );
        }
        text
    }

    fn axes(&self) -> String {
        let [left, _, top, _] = MARGINS;
        let [end, floor] = self.ends();
        let mut text = String::new();
        for tick in self.up.ticks() {
            let at = self.up.position(tick);
            _ = writeln!(
                text,
                "<path d=\"M{left} {at:.1}H{end}\" stroke=\"#e4e4e4\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                self.up.number(tick)
            );
        }
        for (number, tick) in self.across.ticks().into_iter().enumerate() {
            let at = self.across.position(tick);
            let label = match self.chart.x.names.get(number) {
                None => self.across.number(tick),
                Some(name) if self.names_fit() => escape(name),
                Some(_) => (number + 1).to_string(),
            };
            _ = writeln!(
                text,
                "<path d=\"M{at:.1} {top}V{floor}\" stroke=\"#f0f0f0\"/><text x=\"{at:.1}\" \
                 y=\"{}\" text-anchor=\"middle\">{label}</text>",
                floor + 15.0,
            );
        }
        let middle = (left + end) / 2.0;
        let height = (top + floor) / 2.0;
        _ = writeln!(
            text,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            floor + 34.0,
            escape(&self.chart.x.label)
        );
        if !self.chart.y.label.is_empty() {
            let label = escape(&self.chart.y.label);
            _ = writeln!(
                text,
                "<text transform=\"translate(14 {height}) rotate(-90)\" \
                 text-anchor=\"middle\">{label}</text>"
            );
        }
        text
    }

    /// Whether an axis's names fit below their ticks. Otherwise the ticks have numbers, which the
    /// legend explains.
    fn names_fit(&self) -> bool {
        let names = &self.chart.x.names;
        let room = (self.ends()[0] - MARGINS[0]) / names.len().max(1) as f64;
        let mut lengths = names.iter().map(|name| name.chars().count());
        lengths.all(|letters| letters as f64 * LETTER < room)
    }

    fn curve(&self, curve: &Curve, colour: &str) -> String {
        let across = self.across;
        let up = self.up;
        let points = curve.points.iter();
        let shown: Vec<&Point> = points.filter(|point| self.chart.shows(point)).collect();
        let mut text = String::new();
        for point in &shown {
            if point.half_width > 0.0 {
                let at = across.position(point.x);
                let from = up.position(lower_end(point));
                let to = up.position(point.y + point.half_width);
                _ = writeln!(
                    text,
                    "<path d=\"M{at:.1} {from:.1}V{to:.1}\" stroke=\"{colour}\" \
                     stroke-opacity=\"0.4\"/>"
                );
            }
        }
        if curve.drawn.is_marks() {
            for point in shown {
                let x = across.position(point.x);
                text += &mark(curve.drawn, x, up.position(point.y), colour);
            }
            return text;
        }
        if let [only] = shown[..] {
            let x = across.position(only.x);
            let y = up.position(only.y);
            _ = writeln!(
                text,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
            );
        }
        let mut points = Vec::new();
        for point in &shown {
            let x = across.position(point.x);
            points.push(format!("{x:.1},{:.1}", up.position(point.y)));
        }
        let name = escape(&curve.name);
        text + &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{} \
             points=\"{}\"><title>{name}</title></polyline>\n",
            dashes(curve.drawn),
            points.join(" ")
        )
    }

    /// The legend below charts with this total width, and its height: curves, the band, and names
    /// without space at their ticks.
    fn legend(&self, width: f64) -> (String, f64) {
        let mut at = MARGINS[0];
        let mut line = 0.0;
        let mut text = String::new();
        let mut entries = Vec::new();
        let mut published = None;
        for (curve, colour) in self.chart.curves.iter().zip(self.colours()) {
            if curve.drawn == Drawn::Published {
                published = Some((curve, COLOURS[0]));
            } else {
                entries.push((curve.name.as_str(), Some((curve, colour))));
            }
        }
        if published.is_some() {
            entries.push(("hollow: published", published));
        }
        if let Some(band) = &self.chart.band {
            entries.push((&band.name, None));
        }
        for (name, curve) in entries {
            let room = 40.0 + LETTER * name.chars().count() as f64;
            if at + room > width && at > MARGINS[0] {
                at = MARGINS[0];
                line += LEGEND_LINE;
            }
            let y = self.height + 8.0 + line;
            text += &match curve {
                Some((curve, colour)) => sample(curve, colour, at, y),
                None => band_sample(at, y),
            };
            _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                at + 23.0,
                y + 4.0,
                escape(name)
            );
            at += room;
        }
        if !self.names_fit() {
            let most = ((width - MARGINS[0]) / LETTER_OF_MANY) as usize;
            for (number, name) in (1..).zip(&self.chart.x.names) {
                line += LEGEND_LINE;
                let y = self.height + 12.0 + line;
                let name = shortened(&format!("{number}: {name}"), most);
                _ = writeln!(
                    text,
                    "<text x=\"{}\" y=\"{y}\">{}</text>",
                    MARGINS[0],
                    escape(&name)
                );
            }
        }
        (text, line + LEGEND_LINE + 8.0)
    }
}

/// Where a point's error bar ends below. What is not negative has no bar below zero.
fn lower_end(point: &Point) -> f64 {
    let end = point.y - point.half_width;
    if point.y >= 0.0 { end.max(0.0) } else { end }
}

const fn dashes(drawn: Drawn) -> &'static str {
    if matches!(drawn, Drawn::Dashes) {
        " stroke-dasharray=\"5 4\""
    } else {
        ""
    }
}

fn mark(drawn: Drawn, x: f64, y: f64, colour: &str) -> String {
    match drawn {
        Drawn::Crosses => {
            let arms = "m-4 -4l8 8m0 -8l-8 8";
            format!(
                "<path d=\"M{x:.1} {y:.1}{arms}\" stroke=\"{colour}\" stroke-width=\"2.2\" \
                 fill=\"none\"/>\n"
            )
        }
        Drawn::Rings => {
            format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" stroke=\"{colour}\" \
                 stroke-width=\"2\" fill=\"white\"/>\n"
            )
        }
        Drawn::Published => {
            format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"white\" \
                 stroke=\"{colour}\" stroke-width=\"1.5\"/>\n"
            )
        }
        _ => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>\n"),
    }
}

/// The sample before a curve's name in the legend.
fn sample(curve: &Curve, colour: &str, x: f64, y: f64) -> String {
    if curve.drawn.is_marks() {
        return mark(curve.drawn, x + 9.0, y, colour);
    }
    format!(
        "<path d=\"M{x} {y}h18\" stroke=\"{colour}\" stroke-width=\"3\"{}/>",
        dashes(curve.drawn)
    )
}

fn band_sample(x: f64, y: f64) -> String {
    format!(
        "<rect x=\"{x}\" y=\"{}\" width=\"18\" height=\"10\" fill=\"{GREEN}\" \
         fill-opacity=\"0.2\"/>",
        y - 5.0
    )
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

//! Heat maps of a sweep over two numbers with many values: a map for each line, on one scale of
//! colours.

use std::fmt::Write as _;

use super::layout::Layout;
use super::points::Swept;
use crate::html::{Picture, escape};
use crate::text::capitalised;

/// Most values of one number.
const MOST: usize = 250;
/// Most maps.
const MOST_MAPS: usize = 8;
/// Width and height of a map's cells together.
const SIZE: [f64; 2] = [560.0, 320.0];
/// Room to the left, at the top and below.
const LEFT: f64 = 90.0;
const TOP: f64 = 6.0;
const BELOW: f64 = 70.0;
/// Labels along an axis.
const LABELS: usize = 8;
/// From light to dark, so that a print without colours tells more from less.
const COLOURS: [[f64; 3]; 4] = [
    [247.0, 252.0, 240.0],
    [123.0, 204.0, 196.0],
    [43.0, 120.0, 180.0],
    [8.0, 34.0, 90.0],
];
/// If the largest value is more than this many times the smallest, colours go by the logarithm.
const WIDE_RATIO: f64 = 30.0;

/// A key's numbers, sorted, and each point's place among them.
struct Side {
    key: usize,
    values: Vec<f64>,
    places: Vec<usize>,
}

impl Side {
    /// None if a value is no number, or there are too many.
    fn of(swept: &Swept, key: usize) -> Option<Self> {
        let mut numbers = Vec::new();
        for point in &swept.points {
            numbers.push(point.values[key].parse::<f64>().ok()?);
        }
        let mut values = numbers.clone();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut places = Vec::new();
        for number in numbers {
            places.push(values.partition_point(|value| *value < number));
        }
        (values.len() <= MOST).then_some(Self {
            key,
            values,
            places,
        })
    }

    /// Places with labels, and the labels.
    fn labels(&self, swept: &Swept) -> Vec<(usize, String)> {
        let about = &swept.keys[self.key];
        let step = self.values.len().div_ceil(LABELS);
        let mut labels = Vec::new();
        for (place, value) in self.values.iter().enumerate().step_by(step) {
            labels.push((place, about.values.text(&value.to_string())));
        }
        labels
    }
}

/// The scale of colours.
#[derive(Clone, Copy)]
struct Scale {
    least: f64,
    most: f64,
    is_logarithmic: bool,
}

impl Scale {
    fn over(values: &[f64]) -> Self {
        let mut least = f64::MAX;
        let mut most = f64::MIN;
        for value in values {
            least = least.min(*value);
            most = most.max(*value);
        }
        Self {
            least,
            most,
            is_logarithmic: least > 0.0 && most / least > WIDE_RATIO,
        }
    }

    /// Where a value is, 0 to 1.
    fn share(self, value: f64) -> f64 {
        let [value, least, most] = [value, self.least, self.most].map(|value| {
            if self.is_logarithmic {
                value.ln()
            } else {
                value
            }
        });
        if most > least {
            (value - least) / (most - least)
        } else {
            0.0
        }
    }

    /// The value at a share.
    fn value(self, share: f64) -> f64 {
        if self.is_logarithmic {
            (self.least.ln() + share * (self.most / self.least).ln()).exp()
        } else {
            self.least + share * (self.most - self.least)
        }
    }
}

fn colour(share: f64) -> String {
    let last = COLOURS.len() - 1;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let first = (at as usize).min(last - 1);
    let part = at - first as f64;
    let mut text = "#".to_owned();
    for (from, to) in COLOURS[first].iter().zip(COLOURS[first + 1]) {
        _ = write!(text, "{:02x}", (from + part * (to - from)).round() as u8);
    }
    text
}

/// A map for each line, if two keys are numbers and no other has a chart of its own.
pub(super) fn maps(swept: &Swept, layout: &Layout) -> Vec<Picture> {
    let Some([across, up]) = sides(swept, layout) else {
        return Vec::new();
    };
    let mut means = Vec::new();
    let mut known = Vec::new();
    for point in &swept.points {
        let mean = point.mean().map(|mean| mean.mean);
        known.extend(mean);
        means.push(mean);
    }
    if known.is_empty() || layout.lines.len() > MOST_MAPS {
        return Vec::new();
    }
    let scale = Scale::over(&known);
    let mut maps = Vec::new();
    for (line, name) in layout.lines.iter().enumerate() {
        let mut cells = Vec::new();
        for (number, location) in layout.locations.iter().enumerate() {
            if let Some(mean) = means[number]
                && location.line == line
            {
                cells.push((across.places[number], up.places[number], mean));
            }
        }
        let title = match layout.line_key {
            Some(_) => format!("{}: {name}", capitalised(&swept.title())),
            None => capitalised(&swept.title()),
        };
        let svg = drawing(swept, [&across, &up], &cells, scale);
        maps.push(Picture { title, svg });
    }
    maps
}

/// Both keys, if these are numbers and no other key has charts of its own.
fn sides(swept: &Swept, layout: &Layout) -> Option<[Side; 2]> {
    let [up] = &layout.panel_keys[..] else {
        return None;
    };
    Some([Side::of(swept, layout.across?)?, Side::of(swept, *up)?])
}

fn drawing(
    swept: &Swept,
    [across, up]: [&Side; 2],
    cells: &[(usize, usize, f64)],
    scale: Scale,
) -> String {
    let [wide, high] = SIZE;
    let cell_width = wide / across.values.len() as f64;
    let cell_height = high / up.values.len() as f64;
    let width = LEFT + wide + 20.0;
    let height = TOP + high + BELOW;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let unit = swept.unit();
    for (x, y, mean) in cells {
        let about = format!(
            "{}, {}: {}",
            swept.setting(across.key, &across.values[*x].to_string()),
            swept.setting(up.key, &up.values[*y].to_string()),
            unit.text(*mean)
        );
        _ = writeln!(
            text,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\">\
             <title>{}</title></rect>",
            LEFT + cell_width * *x as f64,
            TOP + high - cell_height * (*y + 1) as f64,
            cell_width + 0.3,
            cell_height + 0.3,
            colour(scale.share(*mean)),
            escape(&about)
        );
    }
    for (place, label) in across.labels(swept) {
        let x = LEFT + cell_width * (place as f64 + 0.5);
        let y = TOP + high + 14.0;
        _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            escape(&label)
        );
    }
    for (place, label) in up.labels(swept) {
        let y = TOP + high - cell_height * (place as f64 + 0.5) + 4.0;
        let x = LEFT - 6.0;
        _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            escape(&label)
        );
    }
    text += &names(swept, [across, up]);
    text += &legend(swept, scale);
    text + "</svg>\n"
}

fn names(swept: &Swept, [across, up]: [&Side; 2]) -> String {
    let [wide, high] = SIZE;
    let [across, up] = [across, up].map(|side| escape(&swept.keys[side.key].words()));
    let middle = LEFT + wide / 2.0;
    let below = TOP + high + 30.0;
    let centre = TOP + high / 2.0;
    format!(
        "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{across}</text>\n\
         <text transform=\"translate(12 {centre}) rotate(-90)\" \
         text-anchor=\"middle\">{up}</text>\n"
    )
}

/// The colours with their values.
fn legend(swept: &Swept, scale: Scale) -> String {
    const STEPS: usize = 40;
    let [wide, high] = SIZE;
    let y = TOP + high + 40.0;
    let mut text = String::new();
    for step in 0..STEPS {
        let share = step as f64 / (STEPS - 1) as f64;
        let x = LEFT + wide * step as f64 / STEPS as f64;
        _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"8\" fill=\"{}\"/>",
            wide / STEPS as f64 + 0.3,
            colour(share)
        );
    }
    let unit = swept.unit();
    for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let x = LEFT + wide * share;
        let value = unit.text(scale.value(share));
        _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{value}</text>",
            y + 21.0
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_grow_darker() {
        assert_eq!(
            (colour(0.0), colour(1.0)),
            ("#f7fcf0".to_owned(), "#08225a".to_owned())
        );
        assert_eq!(colour(2.0), colour(1.0));
        let wide = Scale::over(&[1.0, 100.0]);
        assert!((wide.share(10.0) - 0.5).abs() < 1e-9 && (wide.value(0.5) - 10.0).abs() < 1e-9);
        let narrow = Scale::over(&[1.0, 3.0]);
        assert!((narrow.share(2.0) - 0.5).abs() < 1e-9);
        assert_eq!(Scale::over(&[5.0]).share(5.0), 0.0);
    }
}

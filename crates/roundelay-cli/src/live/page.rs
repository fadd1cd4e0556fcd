//! A live run's page: verdict, figures for both directions, flows, and charts over time.

use super::beside::{Beside, THRESHOLDS};
use roundelay::{DropReason, Rate};
use roundelay_live::{Fidelity, Sample, Samples, Way, WayFidelity, WaySample};
use roundelay_metrics::units::{count, counted, seconds};
use roundelay_report::{Axis, Chart, Curve, ItemPage, Point, clean, item_html};

/// The page, self-contained. `beside` is the scenario's simulation, or why there is none.
pub(super) fn html(
    fidelity: &Fidelity,
    samples: &Samples,
    beside: Option<&Result<Beside, String>>,
) -> String {
    let [up, down] = &fidelity.ways;
    let title = format!("live run, {} up, {} down", link(up), link(down));
    let mut markdown = String::new();
    let mut simulated: &[Sample] = &[];
    match beside {
        Some(Ok(beside)) => {
            markdown += &where_they_part(beside);
            simulated = &beside.samples;
        }
        Some(Err(reason)) => markdown += &format!("{}\n\n", plain(reason)),
        None => {}
    }
    markdown += &ways(fidelity);
    markdown += &flows(fidelity);
    item_html(&ItemPage {
        title: &title,
        answer: &verdict(fidelity),
        markdown: &markdown,
        charts: &charts(samples.all(), simulated),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// A text in Markdown in which nothing is markup.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for letter in clean(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            letter if letter.is_ascii_punctuation() => {
                escaped.push('\\');
                escaped.push(letter);
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// The link's rate in words.
fn link(way: &WayFidelity) -> String {
    let rate = Rate::from_bits_per_second(way.rate).map(|rate| rate.to_string());
    let rate = rate.unwrap_or_default();
    match &way.trace {
        Some(trace) => format!(
            "trace {trace} ({:.2} Mbit/s on average)",
            way.rate as f64 / 1e6
        ),
        None => rate,
    }
}

fn verdict(fidelity: &Fidelity) -> String {
    let verdict = &fidelity.verdict;
    let mut text = if verdict.is_valid {
        "**Valid**: frames left on time, and none was lost outside the queue.\n\n".to_owned()
    } else {
        "**Do not use these figures.**\n\n".to_owned()
    };
    for reason in &verdict.reasons {
        text += &format!("- {}\n", plain(reason));
    }
    if let Some(control) = &fidelity.congestion_control {
        let control = plain(control);
        text += &format!("\nTCP's default congestion control at both ends: {control}.\n");
    }
    let priority = if fidelity.real_time {
        "real-time"
    } else {
        "ordinary"
    };
    text + &format!(
        "\n{} at {priority} priority.\n\n",
        seconds(fidelity.seconds)
    )
}

/// A row of the table: its name, and what it says about a direction.
type Row = (&'static str, fn(&WayFidelity, f64) -> String);

const ROWS: [Row; 12] = [
    ("link", |way, _| link(way)),
    ("queue", |way, _| way.queue.clone()),
    ("packets in", |way, _| count(way.books.arrived)),
    ("packets out", |way, _| count(way.books.delivered)),
    ("rate out", |way, length| {
        let bits = way.books.delivered_bytes as f64 * 8.0 / length.max(1e-9);
        format!("{:.2} Mbit/s", bits / 1e6)
    }),
    ("dropped", |way, _| dropped(way)),
    ("marked", |way, _| count(way.books.marked)),
    ("lost on the wire", |way, _| count(way.books.lost)),
    ("lost outside the queue", |way, _| {
        count(way.lost_outside.total() + way.books.refused)
    }),
    ("delay in queue and link, p50 and p99", |way, _| {
        times(way.delay)
    }),
    ("late, p50, p99 and p99.9", |way, _| times(way.late)),
    ("a full packet takes", |way, _| seconds(way.full_packet)),
];

fn dropped(way: &WayFidelity) -> String {
    let mut text = count(way.books.all_dropped());
    for (reason, number) in DropReason::ALL.iter().zip(way.books.dropped) {
        if number > 0 {
            text += &format!(", {} {number}", reason.name());
        }
    }
    text
}

fn times<const N: usize>(values: Option<[f64; N]>) -> String {
    match values {
        Some(values) => values.map(seconds).join(", "),
        None => "none".to_owned(),
    }
}

/// Shows the live run and the simulation beside each other.
fn where_they_part(beside: &Beside) -> String {
    let mut text = format!("## Where they part\n\n{}\n\n", plain(&beside.summary()));
    for sentence in &beside.parts {
        text += &format!("- {}\n", plain(sentence));
    }
    text += &format!("\n{}\n\n", plain(THRESHOLDS));
    if !beside.figures.is_empty() {
        text += "| packets | figure | live | simulated | |\n|---|---|--:|--:|---|\n";
        for figure in &beside.figures {
            let [live, simulated] =
                [figure.live, figure.simulated].map(|value| plain(&figure.figure.words(value)));
            text += &format!(
                "| {}, {} | {} | {live} | {simulated} | {} |\n",
                figure.way,
                plain(figure.packets),
                figure.figure.name(),
                if figure.parts { "**parts**" } else { "" }
            );
        }
        text += "\n";
    }
    for sentence in &beside.simplified {
        text += &format!("{}\n\n", plain(sentence));
    }
    text += "The live run leaves to reality, and the simulation takes from the scenario:\n\n";
    for line in &beside.left_to_reality {
        text += &format!("- {}\n", plain(line));
    }
    text + "\n## The live run\n\n"
}

fn ways(fidelity: &Fidelity) -> String {
    let [up, down] = &fidelity.ways;
    let mut text = "| | up | down |\n|---|---|---|\n".to_owned();
    for (name, value) in ROWS {
        let [up, down] = [up, down].map(|way| plain(&value(way, fidelity.seconds)));
        text += &format!("| {name} | {up} | {down} |\n");
    }
    text + "\n"
}

/// The table of the largest flows.
fn flows(fidelity: &Fidelity) -> String {
    let mut text = "| flow | way | packets | rate | mean delay | dropped | marked |\n\
                    |---|---|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let mut rest = 0;
    for way in &fidelity.ways {
        for flow in &way.flows {
            let rate = flow.bytes as f64 * 8.0 / fidelity.seconds.max(1e-9) / 1e6;
            let delay = flow.mean_delay.map_or_else(|| "none".to_owned(), seconds);
            text += &format!(
                "| {} | {} | {} | {rate:.3} Mbit/s | {delay} | {} | {} |\n",
                plain(&flow.flow),
                way.way,
                count(flow.packets),
                count(flow.dropped),
                count(flow.marked)
            );
        }
        rest += way.all_flows - way.flows.len();
    }
    if rest > 0 {
        text += &format!("\n{} not shown.\n", counted(rest as u64, "smaller flow"));
    }
    text
}

/// The value of a chart for a direction, from two samples and the seconds between them.
type Shown = fn(&WaySample, &WaySample, f64) -> Option<f64>;

fn charts(samples: &[Sample], simulated: &[Sample]) -> Vec<Chart> {
    let kinds: [(&str, &str, Shown); 4] = [
        ("Rate out", "Mbit/s", |before, now, seconds| {
            let bytes = now.delivered_bytes - before.delivered_bytes;
            Some(bytes as f64 * 8.0 / seconds / 1e6)
        }),
        ("Delay in queue and link, p99", "ms", |_, now, _| {
            now.delay.map(|[_, p99]| p99 * 1e3)
        }),
        ("Packets in the queue", "packets", |_, now, _| {
            Some(now.waiting as f64)
        }),
        ("Drops and marks", "a second", |before, now, seconds| {
            let all = now.dropped + now.marked - before.dropped - before.marked;
            Some(all as f64 / seconds)
        }),
    ];
    let mut charts = Vec::new();
    for (title, unit, shown) in kinds {
        let mut curves = Vec::new();
        for way in Way::BOTH {
            curves.push(Curve {
                name: way.name().to_owned(),
                points: points(samples, way, shown),
                ..Curve::default()
            });
        }
        if !simulated.is_empty() {
            for (way, curve) in Way::BOTH.into_iter().zip(&mut curves) {
                curve.name = format!("{way}, live");
            }
            for way in Way::BOTH {
                curves.push(Curve {
                    name: format!("{way}, simulated"),
                    points: points(simulated, way, shown),
                    ..Curve::default()
                });
            }
        }
        charts.push(Chart {
            title: title.to_owned(),
            x: axis("s"),
            y: axis(unit),
            curves,
            ..Chart::default()
        });
    }
    charts
}

fn axis(label: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        ..Axis::default()
    }
}

fn points(samples: &[Sample], way: Way, shown: Shown) -> Vec<Point> {
    let mut points = Vec::new();
    let mut before = WaySample::default();
    let mut since = 0.0;
    for sample in samples {
        let now = sample.ways[way.index()];
        if let Some(y) = shown(&before, &now, sample.seconds - since) {
            points.push(Point {
                x: sample.seconds,
                y,
                half_width: 0.0,
            });
        }
        (before, since) = (now, sample.seconds);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: f64, delivered_bytes: u64, dropped: u64) -> Sample {
        let way = WaySample {
            delivered_bytes,
            dropped,
            marked: dropped,
            waiting: 7,
            delay: (dropped > 0).then_some([0.001, 0.002]),
        };
        Sample {
            seconds,
            ways: [way; 2],
        }
    }

    #[test]
    fn charts_show_what_came_between_samples() {
        let charts = charts(&[sample(0.5, 125_000, 0), sample(1.0, 375_000, 4)], &[]);
        let values = |index: usize| {
            let curve: &Curve = &charts[index].curves[1];
            curve
                .points
                .iter()
                .map(|point| (point.x, point.y))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(0), [(0.5, 2.0), (1.0, 4.0)]);
        assert_eq!(values(1), [(1.0, 2.0)]);
        assert_eq!(values(2), [(0.5, 7.0), (1.0, 7.0)]);
        assert_eq!(values(3), [(0.5, 0.0), (1.0, 16.0)]);
    }

    #[test]
    fn simulated_curves_stand_beside_live_ones() {
        let samples = [sample(0.5, 125_000, 0), sample(1.0, 375_000, 4)];
        let charts = charts(&samples, &samples[..1]);
        for chart in charts {
            let names: Vec<_> = chart.curves.iter().map(|curve| &*curve.name).collect();
            let expected = ["up, live", "down, live", "up, simulated", "down, simulated"];
            assert_eq!(names, expected, "{}", chart.title);
            let [live, .., simulated] = &chart.curves[..] else {
                panic!("{}", chart.title);
            };
            assert!(live.points.len() > simulated.points.len() || chart.title.starts_with("Delay"));
        }
    }

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(plain("a|b <i>*c*"), "a\\|b &lt;i&gt;\\*c\\*");
    }
}

//! A live run's page: verdict, figures for both directions, flows, and charts over time.

use std::collections::BTreeMap;

use super::beside::{Beside, THRESHOLDS};
use roundelay::DropReason;
use roundelay_live::demo::DemoPart;
use roundelay_live::{
    Conditions, Fidelity, PacketKind, PhaseFigures, PhaseRow, Sample, Samples, Way, WayFidelity,
    WaySample,
};
use roundelay_metrics::units::{count, counted, rate, seconds};
use roundelay_report::{Axis, Chart, Curve, Folded, ItemPage, Mark, Point, clean, item_html};

/// What a page shows besides the run's own figures.
#[derive(Default)]
pub(super) struct Aside<'a> {
    /// The scenario's simulation, or why there is none.
    pub(super) beside: Option<&'a Result<Beside, String>>,
    /// The parts of the demo.
    pub(super) demo: &'a [DemoPart],
}

/// The page, self-contained.
pub(super) fn html(fidelity: &Fidelity, samples: &Samples, aside: &Aside<'_>) -> String {
    let mut markdown = String::new();
    let mut simulated: &[Sample] = &[];
    match aside.beside {
        Some(Ok(beside)) => {
            markdown += &where_they_part(beside);
            simulated = &beside.samples;
        }
        Some(Err(reason)) => markdown += &format!("{}\n\n", plain(reason)),
        None => {}
    }
    markdown += &demo(aside.demo);
    for way in &fidelity.ways {
        markdown += &phases(way);
    }
    let folded = [
        Folded {
            title: "Flows".to_owned(),
            markdown: flows(fidelity),
        },
        Folded {
            title: "The whole run".to_owned(),
            markdown: the_run(fidelity),
        },
    ];
    let headline = DemoPart::answer(aside.demo).unwrap_or_else(|| headline(fidelity));
    let answer = format!("# {}\n\n{}", plain(&headline), verdict(fidelity));
    item_html(&ItemPage {
        title: &title(fidelity),
        answer: &answer,
        markdown: &markdown,
        charts: &charts(samples.all(), simulated, &changes(fidelity)),
        folded: &folded,
        version: env!("CARGO_PKG_VERSION"),
        ..ItemPage::default()
    })
}

/// The window's title: what the packets of each direction met.
fn title(fidelity: &Fidelity) -> String {
    let ways = fidelity.ways.each_ref().map(|way| match &way.phases[..] {
        [only] => format!("{} {}", way.way, only.conditions_in_words()),
        phases => format!("{} {} phases", way.way, phases.len()),
    });
    match &fidelity.ways {
        [up, down] if conditions_of(up) == conditions_of(down) => {
            format!("live run, {}", ways[0].trim_start_matches("up "))
        }
        _ => format!("live run, {}", ways.join(", ")),
    }
}

fn conditions_of(way: &WayFidelity) -> Vec<Option<&Conditions>> {
    way.phases
        .iter()
        .map(|phase| phase.conditions.as_ref())
        .collect()
}

/// Most phases in the headline.
const NAMED: usize = 3;

/// How long packets took, in a sentence: in the direction in which they took longer, by phase.
fn headline(fidelity: &Fidelity) -> String {
    let [up, down] = &fidelity.ways;
    let p99 = |way: &WayFidelity| way.delay.map_or(0.0, |[_, p99]| p99);
    let way = if p99(down) > p99(up) { down } else { up };
    let mut known = Vec::new();
    for phase in &way.phases {
        if let (Some(delay), Some(conditions)) = (phase.delay, &phase.conditions) {
            known.push((delay, conditions));
        }
    }
    match &known[..] {
        [] => "No packet got through the link.".to_owned(),
        [([p50, p99], conditions)] => format!(
            "Packets {} took {} (p50) to {} (p99) in queue and link, {}.",
            towards(way.way),
            seconds(*p50),
            seconds(*p99),
            conditions.at()
        ),
        several => {
            let all: Vec<_> = several.iter().map(|(_, conditions)| *conditions).collect();
            let mut parts = Vec::new();
            for ([p50, _], conditions) in several.iter().take(NAMED) {
                parts.push(format!("{} {}", seconds(*p50), conditions.apart_from(&all)));
            }
            if several.len() > NAMED {
                parts.push("so on".to_owned());
            }
            format!(
                "The median delay of packets {} was {}.",
                towards(way.way),
                joined(&parts)
            )
        }
    }
}

/// A direction in words.
fn towards(way: &str) -> &'static str {
    if way == "up" {
        "going up"
    } else {
        "going down"
    }
}

fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// The demo's table: what the call, the ping and the transfers got.
fn demo(parts: &[DemoPart]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "## What the programs at the ends saw\n\n| queue | {} |\n|---|--:|--:|--:|--:|--:|--:|\n",
        DemoPart::HEADS.join(" | ")
    );
    for part in parts {
        let cells = part.cells().map(|cell| plain(&cell)).join(" | ");
        text += &format!("| {} | {cells} |\n", plain(&part.queue));
    }
    text + "\nThe first seconds after a change of the queue are left out.\n\n"
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

/// Whether the figures may be used, and why not.
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
    text
}

/// A row of the table: its name, and what it says about a direction.
type Row = (&'static str, fn(&WayFidelity, f64) -> String);

const ROWS: [Row; 9] = [
    ("packets in", |way, _| count(way.books.arrived)),
    ("packets out", |way, _| count(way.books.delivered)),
    ("rate out", |way, length| {
        rate(way.books.delivered_bytes as f64 * 8.0 / length.max(1e-9))
    }),
    ("dropped", |way, _| dropped(way)),
    ("marked", |way, _| count(way.books.marked)),
    ("lost on the wire", |way, _| count(way.books.lost)),
    ("lost outside the queue", |way, _| {
        count(way.lost_outside.total() + way.books.refused)
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

/// A direction's table: each phase with its packets, all and by kind.
fn phases(way: &WayFidelity) -> String {
    let mut text = format!(
        "## {}\n\n| | {} |\n|---|--:|--:|--:|--:|--:|--:|\n",
        if way.way == "up" { "Up" } else { "Down" },
        PhaseRow::HEADS.join(" | ")
    );
    for phase in &way.phases {
        let when = if way.phases.len() > 1 {
            format!("{}, ", phase.span())
        } else {
            String::new()
        };
        let what = plain(&phase.conditions_in_words());
        text += &format!("| **{when}{what}** | | | | | | |\n");
        for row in phase.rows() {
            let cells = row.cells().map(|cell| plain(&cell)).join(" | ");
            text += &format!("| {} | {cells} |\n", row.name);
        }
    }
    text + "\n"
}

/// The whole run's table, and how it was made.
fn the_run(fidelity: &Fidelity) -> String {
    let [up, down] = &fidelity.ways;
    let mut text = "| | up | down |\n|---|---|---|\n".to_owned();
    for (name, value) in ROWS {
        let [up, down] = [up, down].map(|way| plain(&value(way, fidelity.seconds)));
        text += &format!("| {name} | {up} | {down} |\n");
    }
    let priority = if fidelity.real_time {
        "real-time"
    } else {
        "ordinary"
    };
    text += &format!(
        "\n{} at {priority} priority.\n\n",
        seconds(fidelity.seconds)
    );
    if let Some(control) = &fidelity.congestion_control {
        let control = plain(control);
        text += &format!("TCP's default congestion control at both ends: {control}.\n");
    }
    text
}

/// The table of the largest flows, phase by phase.
fn flows(fidelity: &Fidelity) -> String {
    let mut text = "| flow | way | when | packets | rate | mean delay | dropped | marked |\n\
                    |---|---|---|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let mut rest = 0;
    for way in &fidelity.ways {
        for phase in &way.phases {
            text += &flows_of(way, phase);
            rest += phase.all_flows - phase.flows.len();
        }
    }
    if rest > 0 {
        text += &format!("\n{} not shown.\n", counted(rest as u64, "smaller flow"));
    }
    text + "\n"
}

fn flows_of(way: &WayFidelity, phase: &PhaseFigures) -> String {
    let mut text = String::new();
    for flow in &phase.flows {
        let delay = flow.mean_delay.map_or_else(|| "none".to_owned(), seconds);
        let bits = flow.bytes as f64 * 8.0 / phase.seconds();
        let cells = [
            &flow.flow,
            way.way,
            &phase.span(),
            &count(flow.packets),
            &rate(bits),
            &delay,
            &count(flow.dropped),
            &count(flow.marked),
        ];
        text += &format!("| {} |\n", cells.map(plain).join(" | "));
    }
    text
}

/// When something changed, for the charts.
fn changes(fidelity: &Fidelity) -> Vec<Mark> {
    /// Changes of both directions are one if they are no further apart, in milliseconds.
    const TOGETHER: f64 = 10.0;
    let mut found: BTreeMap<(u64, &str), Vec<&str>> = BTreeMap::new();
    for way in &fidelity.ways {
        for phase in &way.phases {
            if let Some(change) = &phase.change {
                let at = (phase.from * 1e3 / TOGETHER).round() as u64;
                found.entry((at, change)).or_default().push(way.way);
            }
        }
    }
    let mut marks = Vec::new();
    for ((at, change), ways) in found {
        let name = match &ways[..] {
            [way] => format!("{way}: {change}"),
            _ => change.to_owned(),
        };
        marks.push(Mark {
            x: at as f64 * TOGETHER / 1e3,
            name: clean(&name),
        });
    }
    marks
}

/// The value of a chart for a direction, from two samples and the seconds between them.
type Shown = fn(&WaySample, &WaySample, f64) -> Option<f64>;

fn charts(samples: &[Sample], simulated: &[Sample], changes: &[Mark]) -> Vec<Chart> {
    let kinds: [(&str, Unit, Shown); 4] = [
        (
            "Delay in queue and link, p99",
            Unit::Seconds,
            |_, now, _| now.delay.map(|[_, p99]| p99),
        ),
        ("Rate out", Unit::Rate, |before, now, seconds| {
            let bytes = now.delivered_bytes - before.delivered_bytes;
            Some(bytes as f64 * 8.0 / seconds)
        }),
        ("Packets in the queue", Unit::Packets, |_, now, _| {
            Some(now.waiting as f64)
        }),
        (
            "Drops and marks",
            Unit::EachSecond,
            |before, now, seconds| {
                let all = now.dropped + now.marked - before.dropped - before.marked;
                Some(all as f64 / seconds)
            },
        ),
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
        charts.push(chart(title, unit, curves, changes));
    }
    let by_kind = curves_by_kind(samples);
    if by_kind.len() > 1 {
        let title = "Delay in queue and link by kind of packet, p99";
        charts.insert(1, chart(title, Unit::Seconds, by_kind, changes));
    }
    charts
}

/// A kind of packets has a curve if more than one sample of this many has such packets. A line
/// across long times without any would say what nobody measured.
const RARE: usize = 10;

/// A curve for each kind of packets in each direction: p99 delay.
fn curves_by_kind(samples: &[Sample]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for way in Way::BOTH {
        for kind in PacketKind::ALL {
            let mut points = Vec::new();
            for sample in samples {
                if let Some(delays) = sample.ways[way.index()].kinds[kind as usize] {
                    points.push(Point {
                        x: sample.seconds,
                        y: delays.p99,
                        half_width: 0.0,
                    });
                }
            }
            if RARE * points.len() > samples.len() {
                curves.push(Curve {
                    name: format!("{way}, {}", kind.name()),
                    points,
                    ..Curve::default()
                });
            }
        }
    }
    curves
}

/// What a chart shows.
#[derive(Clone, Copy)]
enum Unit {
    Rate,
    Seconds,
    Packets,
    EachSecond,
}

impl Unit {
    /// The unit that fits values up to `most`, and how many there are in one of our own.
    fn fitting(self, most: f64) -> (&'static str, f64) {
        match self {
            Self::Rate if most < 1e6 => ("kbit/s", 1e-3),
            Self::Rate => ("Mbit/s", 1e-6),
            Self::Seconds if most < 1.0 => ("ms", 1e3),
            Self::Seconds => ("s", 1.0),
            Self::Packets => ("packets", 1.0),
            Self::EachSecond => ("a second", 1.0),
        }
    }
}

/// A chart over time, in the unit that fits its values.
fn chart(title: &str, unit: Unit, mut curves: Vec<Curve>, changes: &[Mark]) -> Chart {
    let mut most = 0.0_f64;
    for curve in &curves {
        for point in &curve.points {
            most = most.max(point.y);
        }
    }
    let (label, per_unit) = unit.fitting(most);
    for curve in &mut curves {
        for point in &mut curve.points {
            point.y *= per_unit;
        }
    }
    Chart {
        title: title.to_owned(),
        x: axis("s"),
        y: axis(label),
        curves,
        changes: changes.to_vec(),
        ..Chart::default()
    }
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
    use roundelay_live::{KindSample, KindSamples};

    use super::*;

    fn sample(seconds: f64, delivered_bytes: u64, dropped: u64) -> Sample {
        let mut way = WaySample {
            delivered_bytes,
            dropped,
            marked: dropped,
            waiting: 7,
            delay: (dropped > 0).then_some([0.001, 0.002]),
            kinds: KindSamples::default(),
        };
        way.kinds[1] = way.delay.map(|[mean, p99]| KindSample { mean, p99 });
        Sample {
            seconds,
            ways: [way; 2],
        }
    }

    #[test]
    fn charts_show_what_came_between_samples() {
        let samples = [sample(0.5, 125_000, 0), sample(1.0, 375_000, 4)];
        let charts = charts(&samples, &[], &[]);
        let values = |index: usize| {
            let curve: &Curve = &charts[index].curves[1];
            curve
                .points
                .iter()
                .map(|point| (point.x, point.y))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(0), [(1.0, 2.0)]);
        assert_eq!(values(1), [(1.0, 2.0)], "by kind");
        assert_eq!(charts[1].curves[1].name, "down, TCP acknowledgements");
        assert_eq!(values(2), [(0.5, 2.0), (1.0, 4.0)]);
        assert_eq!(values(3), [(0.5, 7.0), (1.0, 7.0)]);
        assert_eq!(values(4), [(0.5, 0.0), (1.0, 16.0)]);
    }

    #[test]
    fn simulated_curves_stand_beside_live_ones() {
        let samples = [sample(0.5, 125_000, 0), sample(1.0, 375_000, 4)];
        let charts = charts(&samples, &samples[..1], &[]);
        for chart in charts
            .iter()
            .filter(|chart| !chart.title.contains("by kind"))
        {
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

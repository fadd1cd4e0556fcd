//! What the view shows: both directions, one direction's flows, and a line of keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table};
use roundelay_live::Way;
use roundelay_metrics::units::{bytes, count, counted, rate, seconds};
use roundelay_report::clean;

use super::figures::{Figures, FlowFigures, WayFigures};
use super::keys::Keys;

const KEYS: &str = "q ends the run   + - rate   d D discipline   : type a change   tab direction: ";

/// Draws the figures.
pub(super) fn draw(frame: &mut Frame<'_>, figures: &Figures, keys: &Keys) {
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(4),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(1),
    ]);
    let [title, ways, flows, answer, help] = parts.areas(frame.area());
    let head = format!("roundelay live, {:.1} s", figures.seconds);
    frame.render_widget(Line::styled(head, bold()), title);
    draw_ways(frame, ways, figures, keys);
    draw_flows(frame, flows, figures, keys);
    let line = match &keys.line {
        Some(typed) => format!(":{typed}_"),
        None => keys.answer.clone(),
    };
    frame.render_widget(Paragraph::new(clean(&line)), answer);
    let which = keys.way.map_or("both", Way::name);
    frame.render_widget(Paragraph::new(format!("{KEYS}{which}")), help);
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn time(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), seconds)
}

fn draw_ways(frame: &mut Frame<'_>, area: Rect, figures: &Figures, keys: &Keys) {
    let head = [
        "", "link", "out", "backlog", "delay", "drops", "marks", "lost", "queue",
    ];
    let mut rows = Vec::new();
    for (way, own) in Way::BOTH.into_iter().zip(&figures.ways) {
        let is_chosen = keys.way.is_none_or(|only| only == way);
        let style = if is_chosen { bold() } else { Style::new() };
        rows.push(Row::new(way_cells(way, own)).style(style));
    }
    let widths = [
        Constraint::Length(4),
        Constraint::Length(10),
        Constraint::Length(12),
        Constraint::Length(18),
        Constraint::Length(8),
        Constraint::Length(9),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Min(10),
    ];
    frame.render_widget(Table::new(rows, widths).header(Row::new(head)), area);
}

fn way_cells(way: Way, own: &WayFigures) -> [String; 9] {
    let backlog = own.backlog;
    [
        way.name().to_owned(),
        clean(&own.link()),
        rate(own.rate),
        format!(
            "{} p, {}",
            count(backlog.packets),
            bytes(backlog.bytes as f64)
        ),
        time(own.delay),
        count(own.dropped),
        count(own.marked),
        count(own.lost + own.refused),
        clean(&own.queue),
    ]
}

fn draw_flows(frame: &mut Frame<'_>, area: Rect, figures: &Figures, keys: &Keys) {
    let way = keys.shown();
    let own = &figures.ways[way.index()];
    let name = format!("{way}: {}", counted(own.all_flows as u64, "flow"));
    let head = [name.as_str(), "rate", "backlog", "delay", "drops", "marks"];
    // The name gets all the room that the figures leave.
    let widths = [
        Constraint::Min(20),
        Constraint::Length(12),
        Constraint::Length(9),
        Constraint::Length(8),
        Constraint::Length(9),
        Constraint::Length(7),
    ];
    let rows: Vec<Row<'_>> = own.flows.iter().map(flow_row).collect();
    let head = Row::new(head).style(bold());
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

fn flow_row(flow: &FlowFigures) -> Row<'static> {
    Row::new([
        clean(&flow.flow),
        rate(flow.rate),
        format!("{} p", count(flow.waiting)),
        time(flow.delay),
        count(flow.dropped),
        count(flow.marked),
    ])
}

#[cfg(test)]
pub(super) mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use roundelay::Backlog;

    use super::*;

    /// A session in which one direction is full and one follows a trace.
    pub(in crate::live::view) fn figures() -> Figures {
        let flow = |flow: &str, rate: f64| FlowFigures {
            flow: flow.to_owned(),
            rate,
            waiting: 12,
            delay: Some(0.0125),
            dropped: 345,
            marked: 6,
        };
        let up = WayFigures {
            link_rate: 10_000_000,
            trace: None,
            queue: "fq_codel target 5ms".to_owned(),
            rate: 9_870_000.0,
            backlog: Backlog {
                packets: 41,
                bytes: 60_000,
            },
            delay: Some(0.0042),
            dropped: 1234,
            marked: 56,
            lost: 3,
            refused: 4,
            all_flows: 2,
            flows: vec![
                flow("udp 10.0.0.1:5 > 10.0.0.2:9", 9_000_000.0),
                flow("tcp 10.0.0.1:6 > 10.0.0.2:80", 870_000.0),
            ],
        };
        let mut down = up.clone();
        down.link_rate = 50_000_000;
        down.trace = Some("home.trace".to_owned());
        down.queue = "mqfq limit 5".to_owned();
        (down.delay, down.all_flows) = (None, 0);
        down.flows.clear();
        Figures {
            seconds: 12.34,
            ways: [up, down],
        }
    }

    /// The screen as lines.
    fn drawn(keys: &Keys, width: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, 14)).expect("a terminal");
        let draw = |frame: &mut Frame<'_>| super::draw(frame, &figures(), keys);
        terminal.draw(draw).expect("memory");
        let buffer = terminal.backend().buffer();
        let mut lines = Vec::new();
        for row in buffer.content().chunks(usize::from(width)) {
            let line: String = row.iter().map(|cell| cell.symbol()).collect();
            lines.push(line.trim_end().to_owned());
        }
        lines
    }

    fn words(line: &str) -> Vec<&str> {
        line.split("  ")
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect()
    }

    #[test]
    fn both_directions_and_the_flows_of_one_are_shown() {
        let mut keys = Keys::default();
        let lines = drawn(&keys, 120);
        assert_eq!(lines[0], "roundelay live, 12.3 s");
        let head = [
            "link", "out", "backlog", "delay", "drops", "marks", "lost", "queue",
        ];
        assert_eq!(words(&lines[1]), head);
        let text = lines.join("\n");
        for expected in [
            "up",
            "10mbit",
            "9.87 Mbit/s",
            "41 p, ",
            "4.20 ms",
            "1,234",
            "56",
            "fq_codel target 5ms",
        ] {
            assert!(lines[2].contains(expected), "{expected}: {text}");
        }
        for expected in ["down", "trace home", "mqfq limit 5", " - "] {
            assert!(lines[3].contains(expected), "{expected}: {text}");
        }
        assert!(lines[5].starts_with("up: 2 flows "), "{text}");
        let flow = [
            "udp 10.0.0.1:5 > 10.0.0.2:9",
            "9.00 Mbit/s",
            "12 p",
            "12.5 ms",
            "345",
            "6",
        ];
        assert_eq!(words(&lines[6]), flow);
        assert!(lines[7].starts_with("tcp 10.0.0.1:6"), "{text}");
        assert!(lines[13].starts_with("q ends the run") && lines[13].ends_with("both"));
        keys.way = Some(Way::Down);
        keys.answered("up: rate 5mbit\ndown: rate 5mbit");
        let lines = drawn(&keys, 120);
        assert!(lines[5].starts_with("down: 0 flows"));
        assert_eq!(lines[12], "up: rate 5mbit, down: rate 5mbit");
        assert!(lines[13].ends_with("direction: down"));
        keys.line = Some("queue dr".to_owned());
        assert_eq!(drawn(&keys, 120)[12], ":queue dr_");
    }

    #[test]
    fn a_terminal_of_any_size_is_drawn() {
        for width in [1, 20, 79] {
            drawn(&Keys::default(), width);
        }
    }
}

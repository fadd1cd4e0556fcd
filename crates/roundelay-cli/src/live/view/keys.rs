//! The view's keys. Each becomes a change as `roundelay live set` makes it, or a letter in a line
//! that you type.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use roundelay_live::control::Command;
use roundelay_live::{Change, QueueText, Way};

use super::figures::Figures;
use crate::live::change;

/// Disciplines that a key goes through in turn. You can type any other.
const QUEUES: [&str; 8] = [
    "fifo", "fq_codel", "codel", "pie", "sfq", "drr", "qfq", "mqfq",
];
/// Renard's series R10 (ISO 3), in which ten steps make a rate ten times as fast.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
/// Bits per second that a key does not go below or above.
const SLOWEST: u64 = 10_000;
const FASTEST: u64 = 100_000_000_000;

/// What the view asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Quit,
    Change(Command),
}

/// What keys have brought about.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The direction to change. None: both.
    pub(super) way: Option<Way>,
    /// The line that you are typing.
    pub(super) line: Option<String>,
    /// What became of the last change.
    pub(super) answer: String,
}

impl Keys {
    /// The session's answer to a change.
    pub(super) fn answered(&mut self, text: &str) {
        self.answer = text.replace('\n', ", ");
    }

    /// The direction whose flows are shown.
    pub(super) fn shown(&self) -> Way {
        self.way.unwrap_or(Way::Up)
    }

    /// What a key asks for.
    pub(super) fn press(&mut self, key: KeyEvent, figures: Option<&Figures>) -> Vec<Wish> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        // A terminal in raw mode sends no signal.
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return vec![Wish::Quit];
        }
        if self.line.is_some() {
            return self.edit(key.code);
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return vec![Wish::Quit],
            KeyCode::Tab => {
                self.way = match self.way {
                    None => Some(Way::Up),
                    Some(Way::Up) => Some(Way::Down),
                    Some(Way::Down) => None,
                };
            }
            KeyCode::Char(':') => self.line = Some(String::new()),
            _ => (),
        }
        let Some(figures) = figures else {
            return Vec::new();
        };
        let mut wishes = Vec::new();
        for way in Way::BOTH {
            if self.way.is_some_and(|only| only != way) {
                continue;
            }
            let now = &figures.ways[way.index()];
            let change = match key.code {
                KeyCode::Char('+' | '=') | KeyCode::Up => Change::Rate(faster(now.link_rate)),
                KeyCode::Char('-') | KeyCode::Down => Change::Rate(slower(now.link_rate)),
                KeyCode::Char('d') => Change::Queue(other_queue(&now.queue, 1)),
                KeyCode::Char('D') => Change::Queue(other_queue(&now.queue, QUEUES.len() - 1)),
                _ => return wishes,
            };
            wishes.push(Wish::Change(Command {
                way: Some(way),
                changes: vec![change],
            }));
        }
        wishes
    }

    /// Takes a key for the line that you type.
    fn edit(&mut self, key: KeyCode) -> Vec<Wish> {
        let Some(line) = &mut self.line else {
            return Vec::new();
        };
        match key {
            KeyCode::Char(letter) => line.push(letter),
            KeyCode::Backspace => _ = line.pop(),
            KeyCode::Esc => self.line = None,
            KeyCode::Enter => {
                let line = self.line.take().unwrap_or_default();
                return self.typed(line.trim());
            }
            _ => (),
        }
        Vec::new()
    }

    /// Takes a line with one setting, as `roundelay live set` has it.
    fn typed(&mut self, line: &str) -> Vec<Wish> {
        let (setting, value) = line.split_once(' ').unwrap_or((line, ""));
        match change(setting, value.trim()) {
            Ok(change) => vec![Wish::Change(Command {
                way: self.way,
                changes: vec![change],
            })],
            Err(error) => {
                self.answered(&error.to_string());
                Vec::new()
            }
        }
    }
}

/// The factor for the series, with which its rates surround this one.
fn unit(rate: u64) -> u64 {
    let mut unit = 1;
    while unit * 1000 <= rate {
        unit *= 10;
    }
    unit
}

/// The next faster rate of the series.
fn faster(rate: u64) -> u64 {
    let unit = unit(rate);
    let next = STEPS
        .iter()
        .map(|step| step * unit)
        .find(|step| *step > rate);
    next.unwrap_or(unit * 1000).clamp(SLOWEST, FASTEST)
}

/// The next slower rate of the series.
fn slower(rate: u64) -> u64 {
    let unit = unit(rate.saturating_sub(1));
    let before = STEPS
        .iter()
        .rev()
        .map(|step| step * unit)
        .find(|step| *step < rate);
    before.unwrap_or(0).clamp(SLOWEST, FASTEST)
}

/// The discipline that comes so many steps after a queue's own.
fn other_queue(now: &str, steps: usize) -> QueueText {
    let name = now.split(' ').next().unwrap_or_default();
    let index = QUEUES.iter().position(|queue| *queue == name);
    let next = index.map_or(0, |index| (index + steps) % QUEUES.len());
    QueueText::Discipline(QUEUES[next].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::view::screen::tests::figures;

    fn press(keys: &mut Keys, code: KeyCode) -> Vec<Wish> {
        keys.press(KeyEvent::new(code, KeyModifiers::NONE), Some(&figures()))
    }

    fn wish(way: Option<Way>, change: Change) -> Wish {
        let changes = vec![change];
        Wish::Change(Command { way, changes })
    }

    #[test]
    fn rates_follow_the_series() {
        let mut rate = 1_000_000;
        for next in [
            1_250_000, 1_600_000, 2_000_000, 2_500_000, 3_150_000, 4_000_000,
        ] {
            assert_eq!((faster(rate), slower(next)), (next, rate));
            rate = next;
        }
        assert_eq!(
            (faster(8_000_000), slower(10_000_000)),
            (10_000_000, 8_000_000)
        );
        assert_eq!(
            (faster(9_999_999), slower(10_000_001)),
            (10_000_000, 10_000_000)
        );
        assert_eq!(
            (slower(10_000), slower(1), faster(1)),
            (10_000, 10_000, 10_000)
        );
        assert_eq!(faster(FASTEST), FASTEST);
    }

    #[test]
    fn keys_change_rate_and_discipline_of_the_directions_chosen() {
        let mut keys = Keys::default();
        // 10 Mbit/s under fq_codel up, 50 under "mqfq limit 5" down.
        assert_eq!(
            press(&mut keys, KeyCode::Char('+')),
            [
                wish(Some(Way::Up), Change::Rate(12_500_000)),
                wish(Some(Way::Down), Change::Rate(63_000_000))
            ]
        );
        press(&mut keys, KeyCode::Tab);
        let down = wish(Some(Way::Up), Change::Rate(8_000_000));
        assert_eq!(press(&mut keys, KeyCode::Down), [down]);
        press(&mut keys, KeyCode::Tab);
        assert_eq!(keys.shown(), Way::Down);
        let queue = |text: &str| Change::Queue(QueueText::Discipline(text.to_owned()));
        let next = press(&mut keys, KeyCode::Char('d'));
        assert_eq!(next, [wish(Some(Way::Down), queue("fifo"))]);
        let before = press(&mut keys, KeyCode::Char('D'));
        assert_eq!(before, [wish(Some(Way::Down), queue("qfq"))]);
        assert_eq!(press(&mut keys, KeyCode::Char('x')), []);
        assert_eq!(press(&mut keys, KeyCode::Char('q')), [Wish::Quit]);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(keys.press(control_c, None), [Wish::Quit]);
    }

    #[test]
    fn a_line_is_typed_as_for_live_set() {
        let mut keys = Keys::default();
        let type_line = |keys: &mut Keys, text: &str| {
            press(keys, KeyCode::Char(':'));
            for letter in text.chars() {
                assert_eq!(press(keys, KeyCode::Char(letter)), []);
            }
            press(keys, KeyCode::Enter)
        };
        let queue = QueueText::Discipline("fq_codel target 10ms".to_owned());
        let typed = type_line(&mut keys, "queue fq_codel target 10ms");
        assert_eq!(typed, [wish(None, Change::Queue(queue))]);
        assert_eq!(type_line(&mut keys, "queue fq_codl"), []);
        assert!(keys.answer.contains("did you mean 'fq_codel'"), "{keys:?}");
        assert_eq!(type_line(&mut keys, "q"), []);
        assert!(keys.answer.contains(": rate, queue, weight"), "{keys:?}");
        press(&mut keys, KeyCode::Char(':'));
        press(&mut keys, KeyCode::Char('a'));
        press(&mut keys, KeyCode::Backspace);
        assert_eq!(keys.line.as_deref(), Some(""));
        press(&mut keys, KeyCode::Esc);
        assert_eq!(keys.line, None);
    }

    #[test]
    fn every_queue_of_the_keys_is_legal() {
        for queue in QUEUES {
            change("queue", queue).expect("a discipline");
        }
    }
}

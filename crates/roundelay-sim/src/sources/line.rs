//! Lines in a list of packets or flows, with file and number for messages.

use roundelay::{Duration, Fault, Instant};

/// A line in a list, with its file and number.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) file: &'a str,
    pub(super) number: usize,
    pub(super) text: &'a str,
}

impl<'a> Line<'a> {
    /// All lines that have text. Some editors put a byte order mark at the start, which we skip.
    pub(super) fn all(file: &'a str, text: &'a str) -> impl Iterator<Item = Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = (1..)
            .zip(text.lines())
            .filter(|(_, text)| !text.trim().is_empty());
        lines.map(move |(number, text)| Self { file, number, text })
    }

    pub(super) fn error(self, fault: impl Into<Fault>) -> Fault {
        fault.into().in_file(self.file, self.number)
    }

    /// The time and the number of bytes, which are the first two words.
    pub(super) fn head(self, expected: &str, words: &[&str]) -> Result<(Instant, u64), Fault> {
        if let [time, bytes, ..] = words
            && let (Some(time), Some(bytes)) = (seconds(time), whole(bytes))
        {
            return Ok((time, bytes));
        }
        Err(self.wrong(expected))
    }

    pub(super) fn wrong(self, expected: &str) -> Fault {
        self.error(Fault::quoted(self.text, expected))
    }
}

/// Seconds, without a unit: digits and a point.
pub(super) fn seconds(word: &str) -> Option<Instant> {
    let mut bytes = word.bytes();
    if !bytes.all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let time: Duration = format!("{word}s").parse().ok()?;
    Some(Instant::ZERO + time)
}

pub(super) fn whole(word: &str) -> Option<u64> {
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_and_take_no_unit() {
        assert_eq!(seconds("0.0125"), Some(Instant::from_nanos(12_500_000)));
        for word in ["5m", "2u", "3n", "5ms", "1e3", "-1", "+1", ".", "", "1.2.3"] {
            assert_eq!(seconds(word), None, "{word}");
            let text = format!("{word} 100 a b");
            let words: Vec<_> = text.split_whitespace().collect();
            let line = Line {
                file: "list",
                number: 1,
                text: &text,
            };
            assert!(line.head("seconds", &words).is_err(), "{word}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_list() {
        let lines: Vec<_> = Line::all("list", "\u{feff}0 100\r\n\n1 65535\r\n")
            .map(|line| (line.number, line.text))
            .collect();
        assert_eq!(lines, [(1, "0 100"), (3, "1 65535")]);
    }
}

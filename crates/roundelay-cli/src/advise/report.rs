//! What `roundelay advise` has found, and its words.

use std::fmt::Write as _;

use roundelay::Rate;
use roundelay_metrics::units::{percent, rate, seconds};
use roundelay_report::{Printed, aligned, wrap};
use serde::Serialize;

/// Rates for a line, and how pings fare at each.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// Version of Roundelay.
    pub(super) version: &'static str,
    /// The kind of line.
    pub(super) link: &'static str,
    /// Whether its rate changes all the time, so that no fixed rate is right for long.
    pub(super) varies: bool,
    /// Downloads, then uploads.
    pub(super) ways: Vec<Direction>,
    /// Sentences on what the rates rest on.
    pub(super) notes: Vec<String>,
    /// Commands that set these rates up.
    pub(super) script: Vec<String>,
    /// The same as `/etc/config/sqm` of OpenWrt.
    pub(super) sqm: Vec<String>,
}

impl Printed for Report {
    const SCHEMA: &'static str = "advise/1";
}

/// A direction of the line while the household fills it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Direction {
    /// `down` or `up`.
    pub(super) way: &'static str,
    /// The line's rate, or its mean, in bits per second.
    pub(super) line: u64,
    /// The rate to set, in bits per second: the highest at which a ping's p99 is within a quarter of
    /// the least of all.
    pub(super) knee: u64,
    /// The same by each seed alone.
    pub(super) knees: Vec<u64>,
    /// Without a shaper, then by falling rate.
    pub(super) rows: Vec<Row>,
}

/// What a household meets at a rate of its shaper.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The shaper's rate in bits per second. None: there is no shaper.
    pub(super) rate: Option<u64>,
    /// The same as a part of the line's.
    pub(super) part: Option<f64>,
    /// The p99 of the filled direction's delay and the other one's median, in seconds.
    pub(super) ping_p99: Option<f64>,
    /// Bits per second of data that arrive, headers and retransmissions included.
    pub(super) carried: f64,
    /// Mean time of a page in seconds.
    pub(super) page: Option<f64>,
}

/// A ping may be longer by this factor than at the best rate,
const NEARLY_LEAST: f64 = 1.25;
/// or by this many seconds and two full packets, as `compare` counts small harms.
const SMALL: f64 = 0.005;
const TWO_PACKETS: f64 = 2.0 * 8.0 * 1514.0;

/// The highest rate at which a ping is nearly as short as at the best one, on a line of this rate.
/// Rows come by falling rate.
pub(super) fn knee(rows: &[Row], line: u64) -> Option<u64> {
    let mut least = f64::INFINITY;
    for row in rows.iter().filter(|row| row.rate.is_some()) {
        least = row.ping_p99.unwrap_or(f64::INFINITY).min(least);
    }
    let most = (least * NEARLY_LEAST).max(least + SMALL + TWO_PACKETS / line as f64);
    for row in rows {
        if let (Some(rate), Some(ping)) = (row.rate, row.ping_p99)
            && ping <= most
        {
            return Some(rate);
        }
    }
    None
}

fn of_bits(bits: u64) -> String {
    Rate::from_bits_per_second(bits).map_or_else(String::new, |rate| rate.to_string())
}

fn time(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), seconds)
}

impl Direction {
    fn table(&self) -> String {
        let mut rows = vec![
            ["", "shaper", "of the line", "ping p99", "carried", "page"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for row in &self.rows {
            let is_knee = row.rate == Some(self.knee);
            rows.push(vec![
                if is_knee { "*" } else { "" }.to_owned(),
                row.rate.map_or_else(|| "none".to_owned(), of_bits),
                row.part.map_or_else(String::new, percent),
                time(row.ping_p99),
                rate(row.carried),
                time(row.page),
            ]);
        }
        aligned(&[], &rows)
    }

    /// The rate to set, with the rates that single seeds would set where they differ.
    fn rate_to_set(&self) -> String {
        let chosen = format!("{} {}", of_bits(self.knee), self.way);
        match (self.knees.iter().min(), self.knees.iter().max()) {
            (Some(least), Some(most)) if least < most => format!(
                "{chosen} ({} to {} by seed)",
                of_bits(*least),
                of_bits(*most)
            ),
            _ => chosen,
        }
    }

    /// The row of the rate to set.
    pub(super) fn chosen(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.rate == Some(self.knee))
    }
}

impl Report {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for direction in &self.ways {
            let what = match direction.way {
                "down" => "Downloads fill the line",
                _ => "Uploads fill the line",
            };
            let _ = writeln!(
                text,
                "{what} ({} {}):\n",
                of_bits(direction.line),
                direction.way
            );
            text += &direction.table();
            text.push('\n');
        }
        let mut sentences = Vec::new();
        if let [down, up] = &self.ways[..] {
            sentences.push(format!(
                "{} {} and {} (*): the highest rates at which the ping's p99 is within a quarter \
                 of the least in the table, or within 5 ms and two packets.",
                if self.varies { "Begin with" } else { "Set" },
                down.rate_to_set(),
                up.rate_to_set()
            ));
        }
        sentences.extend(self.notes.iter().cloned());
        for sentence in sentences {
            for line in wrap(&sentence, 100) {
                let _ = writeln!(text, "{line}");
            }
        }
        text += "\nOn Linux:\n";
        for line in &self.script {
            let _ = writeln!(text, "  {line}");
        }
        text += "\nOn OpenWrt, /etc/config/sqm:\n";
        for line in &self.sqm {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rate: Option<u64>, ping: f64) -> Row {
        Row {
            rate,
            part: None,
            ping_p99: Some(ping),
            carried: 0.0,
            page: None,
        }
    }

    /// The line of 20 Mbit/s with a burst sender from which the issue of rates came.
    #[test]
    fn the_knee_is_the_highest_rate_with_nearly_the_least_ping() {
        let rows = [
            row(None, 0.2),
            row(Some(19), 0.030),
            row(Some(18), 0.027),
            row(Some(16), 0.019),
            row(Some(13), 0.016),
        ];
        let line = 20_000_000;
        assert_eq!(knee(&rows, line), Some(16));
        assert_eq!(knee(&rows[..1], line), None);
        assert_eq!(knee(&[row(Some(9), 0.1), row(Some(8), 0.2)], line), Some(9));
        let slow = [row(Some(9), 0.080), row(Some(8), 0.060)];
        assert_eq!(knee(&slow, line), Some(8));
        assert_eq!(knee(&slow, 1_000_000), Some(9), "two packets take 24 ms");
    }
}

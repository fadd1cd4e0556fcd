//! Figures for transfers as rows: completion times and round trips, as means, by bytes and by size.

use std::collections::BTreeMap;

use roundelay_sim::scenario::{GroupResult, Results, Scenario, Transfer};

use super::super::Row;

/// Size classes end at 10^(n/2) bytes: two per decade.
const CLASSES_PER_DECADE: f64 = 2.0;

/// Percentiles in distributions.
const PARTS: [f64; 15] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.9,
];

/// Rows for each group of sources.
pub(super) fn rows(run: &str, scenario: &Scenario, results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, group) in (0..).zip(&results.groups).take(scenario.groups.len()) {
        let mut timed = Vec::new();
        let mut completions = Vec::new();
        let mut cut_off = 0;
        for transfer in &results.transfers {
            if transfer.group != number {
                continue;
            }
            let transfer = Timed::of(transfer, scenario);
            match transfer.completion {
                Some(completion) => {
                    completions.push(completion);
                    timed.push(transfer);
                }
                None => cut_off += 1,
            }
        }
        let writer = Writer {
            run,
            group: &group.name,
        };
        rows.extend(writer.delays(group));
        rows.extend(writer.means(&timed, cut_off));
        rows.extend(writer.distribution("completion, s by per cent", completions));
        rows.extend(writer.by_size(&timed));
    }
    rows
}

/// A transfer in floating point: bytes and seconds.
struct Timed {
    bytes: f64,
    /// None: the end of the run cut it off.
    completion: Option<f64>,
    round_trip: Option<f64>,
}

impl Timed {
    fn of(transfer: &Transfer, scenario: &Scenario) -> Self {
        let completion = transfer
            .completion_time(scenario.measures.complete)
            .map(|time| time.as_secs_f64());
        Self {
            bytes: transfer.bytes as f64,
            completion,
            round_trip: transfer.round_trip.map(|time| time.as_secs_f64()),
        }
    }

    /// Number n of the size class, which ends at 10^(n/2) bytes.
    fn class(&self) -> i64 {
        (self.bytes.max(1.0).log10() * CLASSES_PER_DECADE).ceil() as i64
    }
}

/// A figure's name, and its value for a transfer.
type Figure = (&'static str, fn(&Timed) -> Option<f64>);

struct Writer<'a> {
    run: &'a str,
    group: &'a str,
}

impl Writer<'_> {
    fn scalar(&self, figure: &str, value: f64) -> Row {
        Row::scalar(self.run, format!("{} {figure}", self.group), value)
    }

    fn point(&self, figure: &str, x: f64, value: f64) -> Row {
        Row::point(self.run, format!("{} {figure}", self.group), x, value)
    }

    /// Rows on packets.
    fn delays(&self, group: &GroupResult) -> Vec<Row> {
        let delay = &group.delay;
        let parts = [
            (50.0, delay.p50),
            (90.0, delay.p90),
            (99.0, delay.p99),
            (99.9, delay.p999),
            (100.0, delay.max),
        ];
        let mut rows = Vec::new();
        for (part, delay) in parts {
            rows.extend(delay.map(|delay| self.point("delay, s by per cent", part, delay)));
        }
        rows.extend(delay.mean.map(|mean| self.scalar("delay, s", mean)));
        rows.extend(delay.p99.map(|p99| self.scalar("delay p99, s", p99)));
        rows.extend(group.loss.map(|loss| self.scalar("loss", loss)));
        rows
    }

    fn means(&self, timed: &[Timed], cut_off: u32) -> Vec<Row> {
        let count = timed.len() as f64;
        let all = count + f64::from(cut_off);
        let mut rows = vec![self.scalar("transfers", all)];
        if all > 0.0 {
            rows.push(self.scalar("incomplete", f64::from(cut_off) / all));
        }
        let figures: [Figure; 2] = [
            ("completion", |timed| timed.completion),
            ("round trip", |timed| timed.round_trip),
        ];
        for (figure, of) in figures {
            if let Some(mean) = mean(timed, |_| 1.0, of) {
                rows.push(self.scalar(&format!("{figure}, s"), mean));
            }
            if let Some(mean) = mean(timed, |timed| timed.bytes, of) {
                rows.push(self.scalar(&format!("{figure} by bytes, s"), mean));
            }
        }
        rows
    }

    fn distribution(&self, figure: &str, mut values: Vec<f64>) -> Vec<Row> {
        values.sort_by(f64::total_cmp);
        let mut rows = Vec::new();
        for part in PARTS {
            let value = quantile(&values, part);
            rows.extend(value.map(|value| self.point(figure, part, value)));
        }
        rows
    }

    /// Means by size, with the 10th and 99th percentiles for the error bars in Figure 7 of the UPS
    /// paper.
    fn by_size(&self, timed: &[Timed]) -> Vec<Row> {
        let mut classes: BTreeMap<i64, [Vec<f64>; 2]> = BTreeMap::new();
        for timed in timed {
            let [completions, round_trips] = classes.entry(timed.class()).or_default();
            completions.extend(timed.completion);
            round_trips.extend(timed.round_trip);
        }
        let mut rows = Vec::new();
        for (class, values) in &mut classes {
            let bytes = 10_f64.powf(*class as f64 / CLASSES_PER_DECADE).round();
            for (figure, values) in ["completion", "round trip"].into_iter().zip(values) {
                // Only transfers over TCP have a round trip.
                if values.is_empty() {
                    continue;
                }
                values.sort_by(f64::total_cmp);
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                rows.push(self.point(&format!("{figure}, s by size"), bytes, mean));
                for part in [10.0, 99.0] {
                    if let Some(value) = quantile(values, part) {
                        let figure = format!("{figure} p{part}, s by size");
                        rows.push(self.point(&figure, bytes, value));
                    }
                }
            }
        }
        rows
    }
}

/// Weighted mean over transfers with a value.
fn mean(timed: &[Timed], weight: fn(&Timed) -> f64, of: fn(&Timed) -> Option<f64>) -> Option<f64> {
    let mut sum = 0.0;
    let mut weights = 0.0;
    for transfer in timed {
        if let Some(value) = of(transfer) {
            let weight = weight(transfer);
            sum += weight * value;
            weights += weight;
        }
    }
    if weights > 0.0 {
        Some(sum / weights)
    } else {
        None
    }
}

/// Percentile of sorted values: the smallest value that this percentage does not exceed.
fn quantile(sorted: &[f64], per_cent: f64) -> Option<f64> {
    let rank = (per_cent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(bytes: f64, completion: f64) -> Timed {
        Timed {
            bytes,
            completion: Some(completion),
            round_trip: None,
        }
    }

    #[test]
    fn means_by_bytes_weigh_large_transfers() {
        let transfers = [timed(1.0, 1.0), timed(3.0, 2.0)];
        assert_eq!(
            mean(&transfers, |_| 1.0, |timed| timed.completion),
            Some(1.5)
        );
        assert_eq!(
            mean(&transfers, |timed| timed.bytes, |timed| timed.completion),
            Some(1.75)
        );
        assert_eq!(mean(&transfers, |_| 1.0, |timed| timed.round_trip), None);
    }

    #[test]
    fn quantiles_are_values() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            [1.0, 25.0, 26.0, 99.0, 100.0].map(|part| quantile(&values, part)),
            [1.0, 1.0, 2.0, 4.0, 4.0].map(Some)
        );
        assert_eq!(quantile(&[], 50.0), None);
    }

    #[test]
    fn sizes_fall_into_half_decades() {
        assert_eq!(
            [1.0, 1460.0, 2920.0, 10_000.0, 10_001.0].map(|bytes| timed(bytes, 1.0).class()),
            [0, 7, 7, 8, 9]
        );
    }
}

//! Figures of rates over time as rows: Jain's index and mean rates, by interval.

use roundelay_sim::scenario::{GroupResult, Rates, Results};

use super::super::Row;

pub(super) fn rows(run: &str, results: &Results) -> Vec<Row> {
    let Some(rates) = &results.rates else {
        return Vec::new();
    };
    let group = |(number, group): (usize, &GroupResult)| {
        let jain = rates.jain.get(number).map_or(&[][..], Vec::as_slice);
        let figure = format!("{} Jain's index", group.name);
        let mut rows: Vec<_> = ends(rates)
            .zip(jain)
            .filter_map(|(end, jain)| Some(Row::point(run, figure.clone(), end, (*jain)?)))
            .collect();
        let figure = format!("{} rate, Mbit/s", group.name);
        rows.extend(
            ends(rates)
                .zip(means(rates, number))
                .map(|(end, rate)| Row::point(run, figure.clone(), end, rate)),
        );
        rows
    };
    results.groups.iter().enumerate().flat_map(group).collect()
}

/// Ends of the intervals, in ms.
fn ends(rates: &Rates) -> impl Iterator<Item = f64> {
    let interval = rates.interval.as_secs_f64() * 1e3;
    (1..=rates.intervals).map(move |number| (f64::from(number) * interval * 1e6).round() / 1e6)
}

/// Mean rate of a group's flows in each interval, in Mbit/s; empty for the group of all flows.
fn means(rates: &Rates, group: usize) -> Vec<f64> {
    let flows: Vec<_> = rates
        .flows
        .iter()
        .filter(|flow| flow.group as usize == group)
        .collect();
    let mut bytes = vec![
        0_u64;
        if flows.is_empty() {
            0
        } else {
            rates.intervals as usize
        }
    ];
    for (interval, received) in flows.iter().flat_map(|flow| &flow.bytes) {
        bytes[*interval as usize] += received;
    }
    let unit = flows.len() as f64 * rates.interval.as_secs_f64() * 1e6 / 8.0;
    bytes.iter().map(|bytes| *bytes as f64 / unit).collect()
}

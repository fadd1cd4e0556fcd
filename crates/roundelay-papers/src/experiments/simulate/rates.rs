//! Figures for rates over time as rows: Jain's index and mean rates, by interval.

use roundelay_sim::scenario::{Rates, Results};

use super::super::Row;

pub(super) fn rows(run: &str, results: &Results) -> Vec<Row> {
    let Some(rates) = &results.rates else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (number, group) in results.groups.iter().enumerate() {
        let figure = format!("{} Jain's index", group.name);
        for (end, jain) in ends(rates).zip(rates.jain.get(number).into_iter().flatten()) {
            rows.extend(jain.map(|jain| Row::point(run, figure.clone(), end, jain)));
        }
        let figure = format!("{} rate, Mbit/s", group.name);
        for (end, rate) in ends(rates).zip(means(rates, number)) {
            rows.push(Row::point(run, figure.clone(), end, rate));
        }
    }
    rows
}

/// When the intervals end, in ms.
fn ends(rates: &Rates) -> impl Iterator<Item = f64> {
    let interval = rates.interval.as_secs_f64() * 1e3;
    (1..=rates.intervals).map(move |number| (f64::from(number) * interval * 1e6).round() / 1e6)
}

/// Mean rate of a group's flows in each interval, in Mbit/s. Empty for the group of all flows,
/// because each flow is in its source's group.
fn means(rates: &Rates, group: usize) -> Vec<f64> {
    let mut flows = 0;
    let mut bytes = vec![0_u64; rates.intervals as usize];
    for flow in &rates.flows {
        if flow.group as usize != group {
            continue;
        }
        flows += 1;
        for (interval, received) in &flow.bytes {
            bytes[*interval as usize] += received;
        }
    }
    if flows == 0 {
        return Vec::new();
    }
    let unit = f64::from(flows) * rates.interval.as_secs_f64() * 1e6 / 8.0;
    bytes.iter().map(|bytes| *bytes as f64 / unit).collect()
}

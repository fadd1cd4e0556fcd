//! Chart data for a comparison, for the page's script.

use roundelay_trace::{Comparison, Curves, FlowResult, Kind, Outcome};
use serde::Serialize;
use serde_json::{Number, Value};

use crate::recommendation::Recommendation;
use crate::text::{capitalised, clean};

#[derive(Serialize)]
struct Page<'a> {
    link_rate: u64,
    flow_count: usize,
    best: Option<usize>,
    /// The view on which the charts open: the kind of flows that the verdict is about, if any.
    opens: Option<usize>,
    disciplines: Vec<Discipline>,
    /// All flows, light flows, each kind of flows, then one flow each.
    views: Vec<View<'a>>,
}

#[derive(Serialize)]
struct Discipline {
    name: &'static str,
    spec: String,
}

/// A subset of the traffic, under each discipline.
#[derive(Serialize)]
struct View<'a> {
    label: String,
    /// A kind of flows that the verdict judges on its own.
    judged: bool,
    /// None unless the view is a single flow.
    flow: Option<Flow>,
    results: Vec<Served<'a>>,
}

#[derive(Serialize)]
struct Flow {
    weight: u32,
    light: bool,
    offered_rate: f64,
    fair_rate: f64,
}

#[derive(Serialize)]
struct Served<'a> {
    outcome: &'a Outcome,
    curves: Drawn<'a>,
    fairness: Option<Fairness>,
}

/// Curves in few letters, because the delays over time of all views are half of the page.
#[derive(Serialize)]
struct Drawn<'a> {
    bin: f64,
    throughput: &'a [f64],
    backlog: &'a [f64],
    delay_cdf: &'a [(f64, f64)],
    /// In milliseconds, with three digits.
    delay_mean: Vec<Option<f64>>,
    delay_max: Vec<Option<f64>>,
}

impl<'a> Drawn<'a> {
    fn of(curves: &'a Curves) -> Self {
        Self {
            bin: curves.bin,
            throughput: &curves.throughput,
            backlog: &curves.backlog,
            delay_cdf: &curves.delay_cdf,
            delay_mean: in_milliseconds(&curves.delay_mean),
            delay_max: in_milliseconds(&curves.delay_max),
        }
    }
}

fn in_milliseconds(delays: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut all = Vec::new();
    for delay in delays {
        all.push(delay.map(|seconds| rounded(1e3 * seconds, 2)));
    }
    all
}

#[derive(Serialize)]
struct Fairness {
    lag: f64,
    b_wfi: f64,
    b_wfi_bound: Option<f64>,
    t_wfi: f64,
    t_wfi_bound: Option<f64>,
    latency: f64,
    latency_bound: Option<f64>,
    pairs: f64,
    pairs_bound: Option<f64>,
}

/// The page's data as JSON, with charted flows only, and without invisible digits.
pub(super) fn page(comparison: &Comparison, verdict: &Recommendation) -> String {
    let mut disciplines = Vec::new();
    for result in &comparison.disciplines {
        disciplines.push(Discipline {
            name: result.name,
            spec: clean(&result.spec),
        });
    }
    let views = views(comparison);
    let mut opens = None;
    if let Some(kind) = verdict.hurt {
        let label = capitalised(kind.name());
        opens = views.iter().position(|view| view.label == label);
    }
    let page = Page {
        link_rate: comparison.link_rate,
        flow_count: comparison.flows.len(),
        best: verdict.best,
        opens,
        disciplines,
        views,
    };
    let mut value =
        serde_json::to_value(page).expect("plain data with string keys always serialises");
    shorten(&mut value);
    value.to_string()
}

fn views(comparison: &Comparison) -> Vec<View<'_>> {
    let mut all = Vec::new();
    let mut light = Vec::new();
    for result in &comparison.disciplines {
        all.push(Served {
            outcome: &result.total,
            curves: Drawn::of(&result.curves),
            fairness: None,
        });
        light.push(Served {
            outcome: &result.light,
            curves: Drawn::of(&result.light_curves),
            fairness: None,
        });
    }
    let mut views = vec![View {
        label: "All flows".to_owned(),
        judged: false,
        flow: None,
        results: all,
    }];
    if comparison.flows.iter().any(|flow| flow.light) {
        views.push(View {
            label: "Light flows".to_owned(),
            judged: false,
            flow: None,
            results: light,
        });
    }
    views.extend(kinds(comparison));
    for &flow in &comparison.charted {
        views.extend(one_flow(comparison, flow));
    }
    views
}

/// A view for each kind of flows, if there are several.
fn kinds(comparison: &Comparison) -> Vec<View<'_>> {
    let mut views: Vec<View<'_>> = Vec::new();
    for result in &comparison.disciplines {
        for (index, of_kind) in result.kind_curves.iter().enumerate() {
            if views.len() == index {
                views.push(View {
                    label: capitalised(of_kind.kind.name()),
                    judged: of_kind.kind != Kind::Bulk,
                    flow: None,
                    results: Vec::new(),
                });
            }
            views[index].results.push(Served {
                outcome: &of_kind.outcome,
                curves: Drawn::of(&of_kind.curves),
                fairness: None,
            });
        }
    }
    if views.len() == 1 {
        views.clear();
    }
    views
}

/// None if a discipline has no curves for the flow.
fn one_flow(comparison: &Comparison, index: usize) -> Option<View<'_>> {
    let flow = &comparison.flows[index];
    let mut results = Vec::new();
    for result in &comparison.disciplines {
        results.push(served(&result.flows[index])?);
    }
    let about = Flow {
        weight: flow.weight,
        light: flow.light,
        offered_rate: flow.offered_rate,
        fair_rate: flow.fair_rate,
    };
    Some(View {
        label: clean(&flow.label),
        judged: false,
        flow: Some(about),
        results,
    })
}

fn served(result: &FlowResult) -> Option<Served<'_>> {
    let &FlowResult {
        lag,
        b_wfi,
        b_wfi_bound,
        t_wfi,
        t_wfi_bound,
        latency,
        latency_bound,
        ..
    } = result;
    let pairs = result.fairness;
    let pairs_bound = result.fairness_bound;
    let fairness = Fairness {
        lag,
        b_wfi,
        b_wfi_bound,
        t_wfi,
        t_wfi_bound,
        latency,
        latency_bound,
        pairs,
        pairs_bound,
    };
    Some(Served {
        outcome: &result.outcome,
        curves: Drawn::of(result.curves.as_ref()?),
        fairness: Some(fairness),
    })
}

/// Rounds all fractions to the visible digits and writes whole numbers as integers: half the size.
pub(super) fn shorten(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(entries) => entries.values_mut().for_each(shorten),
        Value::Number(number) if number.is_f64() => *number = short(number.as_f64().unwrap_or(0.0)),
        _ => {}
    }
}

/// With so many digits behind the first one.
fn rounded(number: f64, decimals: usize) -> f64 {
    let text = format!("{number:.decimals$e}");
    text.parse().unwrap_or(number)
}

fn short(number: f64) -> Number {
    // Five digits are enough, except for a fraction close to one, with a visible difference from
    // one.
    let decimals = if (0.9..1.0).contains(&number) { 7 } else { 4 };
    let rounded = rounded(number, decimals);
    let whole = rounded.fract() == 0.0 && rounded.abs() < 1e15;
    if whole {
        Number::from(rounded as i64)
    } else {
        Number::from_f64(rounded).expect("it came from JSON, hence is finite")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_and_nothing_else_is() {
        let mut value = serde_json::json!({"a": [0.123_456_789, 9_876_543.21, 3.0], "b": 123_456_789, "c": "0.123456789", "d": 0.999_987_654_321});
        shorten(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"a": [0.12346, 9_876_500, 3], "b": 123_456_789, "c": "0.123456789", "d": 0.999_987_65})
        );
    }
}

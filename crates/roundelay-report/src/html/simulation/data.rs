//! Chart data for a simulation, for the page's script.

use roundelay_sim::scenario::Curves;
use serde::Serialize;

use super::fairness::Fairness;
use super::page::Page;
use crate::html::data::shorten;
use crate::text::clean;

/// Most links in charts.
const CHARTED: usize = 12;

#[derive(Serialize)]
struct Data<'a> {
    step: f64,
    groups: Vec<Group<'a>>,
    links: Vec<Link<'a>>,
    /// Null unless requested by `[meter]`.
    fairness: Option<Fairness>,
}

#[derive(Serialize)]
struct Group<'a> {
    name: String,
    delay: &'a [(f64, f64)],
    completion: &'a [(f64, f64)],
    /// Over time.
    throughput: &'a [f64],
    mean: &'a [Option<f64>],
    longest: &'a [Option<f64>],
}

#[derive(Serialize)]
struct Link<'a> {
    name: String,
    utilisation: &'a [f64],
    dropped: &'a [u64],
    backlog: &'a [u64],
    mean: &'a [Option<f64>],
    longest: &'a [Option<f64>],
}

/// The charted links: most drops first, then highest utilisation.
pub(super) fn charted(curves: &Curves) -> Vec<usize> {
    let mut weights = Vec::new();
    for (number, link) in curves.links.iter().enumerate() {
        let drops: u64 = link.dropped.iter().sum();
        let work: f64 = link.utilisation.iter().sum();
        weights.push((number, drops, work));
    }
    weights.sort_by(|(_, drops, work), (_, other_drops, other_work)| {
        other_drops.cmp(drops).then(other_work.total_cmp(work))
    });
    weights.truncate(CHARTED);
    weights.into_iter().map(|(number, ..)| number).collect()
}

pub(super) fn charted_about(charted: &[usize], curves: &Curves) -> String {
    let others = curves.links.len() - charted.len();
    if others == 0 {
        String::new()
    } else {
        format!(
            "Those {} of the links that drop most, or else are most at work; {others} are not \
             drawn.",
            charted.len()
        )
    }
}

/// The page's data as JSON, without invisible digits.
pub(super) fn page(page: &Page<'_>, charted: &[usize]) -> String {
    let Page {
        simulated, curves, ..
    } = page;
    let Some(first) = simulated.replicas.first() else {
        return r#"{"step":1,"groups":[],"links":[],"fairness":null}"#.to_owned();
    };
    let mut groups = Vec::new();
    for (group, curves) in first.groups.iter().zip(&curves.groups) {
        groups.push(Group {
            name: clean(&group.name),
            delay: &curves.delay,
            completion: &curves.completion,
            throughput: &curves.throughput,
            mean: &curves.delay_mean,
            longest: &curves.delay_max,
        });
    }
    let mut links = Vec::new();
    for &number in charted {
        let curves = &curves.links[number];
        links.push(Link {
            name: clean(&first.links[number].name()),
            utilisation: &curves.utilisation,
            dropped: &curves.dropped,
            backlog: &curves.backlog,
            mean: &curves.wait_mean,
            longest: &curves.wait_max,
        });
    }
    let data = Data {
        step: curves.step,
        groups,
        links,
        fairness: Fairness::of(page),
    };
    let mut value =
        serde_json::to_value(data).expect("plain data with string keys always serialises");
    shorten(&mut value);
    value.to_string()
}

//! Verdict: the best discipline for this traffic, with reasons in plain sentences.
//!
//! Light flows (flows below their fair share of the link) can be hurt or spared by a queue: the
//! backlog is not their doing. The best discipline does least harm to light flows, among the
//! disciplines suitable for a real port (`standing.rs`). If several are about equal, a discipline
//! available on Linux is preferred, then least harm to all packets together, then keeping the order
//! of packets, then least memory.

use std::cmp::Ordering;

use roundelay::schedulers::{AnyDiscipline, Discipline, Linux};
use roundelay::tree;
use roundelay_metrics::geometric_mean;

use crate::comparison::{Comparison, DisciplineResult, Outcome};
use crate::preference::Preference;
use crate::standing::Standing;

/// Harms with a ratio below this factor count as equal.
pub(crate) const NOTABLE: f64 = 1.25;
/// A flow is named if its delay differs by more than this factor, even if typical delays are equal.
const STRIKING: f64 = 4.0;
/// Negligible waiting time, beside the transmission itself.
const NEGLIGIBLE_SECONDS: f64 = 0.005;
/// A sender's minimum retransmission timeout (RFC 6298, section 2.4).
const SHORTEST_RETRY: f64 = 1.0;
/// Maximum harm by loss: the longest timeout may be limited to this (RFC 6298, section 2.5).
const LONGEST_RETRY: f64 = 60.0;

/// Harm of a discipline, in seconds.
pub(crate) struct Harm {
    /// Harm to light flows. The typical harm is the geometric mean over the flows, each with equal
    /// weight at any rate. A few starved flows hardly change the mean, so the harm is at least
    /// `light_p99` plus the cost of the total loss of light packets.
    pub(crate) light: f64,
    /// Harm to all packets together.
    pub(crate) total: f64,
}

/// Average wait of a sender until a packet is delivered, if this fraction is lost: one second,
/// doubled after each further loss (RFC 6298, section 5.5), or
/// `p + 2 p^2 + 4 p^3 + .. = p / (1 - 2 p)`. Infinite for a loss of half or more, so limited.
fn retries(loss: f64) -> f64 {
    if loss < 0.5 { (SHORTEST_RETRY * loss / (1.0 - 2.0 * loss)).min(LONGEST_RETRY) } else { LONGEST_RETRY }
}

/// The 99th percentile of delay plus the cost of losses.
fn harm_of(outcome: &Outcome) -> f64 {
    outcome.delay.map_or(0.0, |delay| delay.p99) + retries(outcome.loss)
}

/// Harm to all packets together. Overload makes some losses unavoidable: each loss counts as one
/// timeout.
fn total_harm(outcome: &Outcome) -> f64 {
    outcome.delay.map_or(LONGEST_RETRY, |delay| delay.p99 + SHORTEST_RETRY * outcome.loss)
}

impl Harm {
    fn of(result: &DisciplineResult, light: &[usize]) -> Self {
        let total = total_harm(&result.total);
        let typical = geometric_mean(light.iter().map(|flow| harm_of(&result.flows[*flow].outcome)));
        let together = result.light_p99.unwrap_or(0.0) + retries(result.light.loss);
        Self { light: typical.map_or(total, |typical| typical.max(together)), total }
    }
}

/// The index of the best discipline, and two or three sentences with the reasons.
pub(crate) fn verdict(comparison: &Comparison, standings: &[Standing]) -> (usize, Vec<String>) {
    let flows = &comparison.flows;
    let light: Vec<_> = (0..flows.len()).filter(|flow| flows[*flow].light).collect();
    let results = &comparison.disciplines;
    let harms: Vec<_> = results.iter().map(|result| Harm::of(result, &light)).collect();
    let negligible = NEGLIGIBLE_SECONDS + longest_transmission(comparison);
    let contended = harms.iter().any(|harm| harm.light > negligible || harm.total > negligible);
    let differ = spread(harms.iter().map(|harm| harm.light)) > NOTABLE || spread(harms.iter().map(|harm| harm.total)) > NOTABLE;
    let fit = fit(standings);
    let by_harm = contended && differ;
    let best = if by_harm { best(results, &harms, standings, &fit) } else { simplest(results, standings, &fit) };
    let first = match (contended, differ || results.len() == 1) {
        _ if results.len() > 1 && results.iter().all(|result| result.total.packets == 0) => {
            "Nothing gets through, whichever discipline it is.".to_owned()
        }
        (false, _) => format!("Nothing contends for this link: {} will do.", results[best].spec),
        (true, false) => format!("{} will do: what was compared serves this traffic alike on the whole.", results[best].spec),
        (true, true) => praise(&results[best], light.len(), results.len() == 1),
    };
    let worst = worst(&harms, best, &fit).filter(|_| by_harm);
    let blame = worst.and_then(|worst| blame(&results[worst], &results[best], standings[worst].one_queue));
    let nowhere = (!standings[best].on_linux).then(|| match results[best].name {
        tree::Config::NAME => "Commands that set up a tree on Linux are not written.".to_owned(),
        name => format!("No tc commands are known here for {}{}.", results[best].spec, namesake(name)),
    });
    let preference = Preference { results, harms: &harms, standings, fit: &fit, best, has_light: !light.is_empty(), by_harm };
    (
        best,
        [first]
            .into_iter()
            .chain(blame)
            .chain(standout(comparison, negligible).filter(|_| contended && !differ))
            .chain(preference.reasons())
            .chain(caveats(&results[best], results))
            .chain(nowhere)
            .collect(),
    )
}

/// The flow whose p99 differs most between disciplines, if by more than `STRIKING`. Only flows that
/// get packets through everywhere.
fn standout(comparison: &Comparison, negligible: f64) -> Option<String> {
    let results = &comparison.disciplines;
    let waits = |flow: usize| results.iter().map(move |result| result.flows[flow].outcome.delay.map(|delay| delay.p99));
    let factor = |flow: usize| {
        let waits: Vec<f64> = waits(flow).collect::<Option<_>>()?;
        let longest = waits.iter().copied().fold(0.0, f64::max);
        Some(spread(waits.into_iter())).filter(|factor| longest > negligible && *factor > STRIKING)
    };
    let (flow, _) =
        (0..comparison.flows.len()).filter_map(|flow| factor(flow).map(|factor| (flow, factor))).max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let order = |a: &&DisciplineResult, b: &&DisciplineResult| {
        let wait = |result: &DisciplineResult| result.flows[flow].outcome.delay.map_or(f64::INFINITY, |delay| delay.p99);
        wait(a).total_cmp(&wait(b))
    };
    let (least, most) = (results.iter().min_by(order)?, results.iter().max_by(order)?);
    let wait = |result: &DisciplineResult| result.flows[flow].outcome.delay.map_or_else(String::new, |delay| seconds(delay.p99));
    Some(format!(
        "But not each flow: 99% of the packets of {} are through within {} under {}, within {} under {}.",
        comparison.flows[flow].label,
        wait(least),
        least.spec,
        wait(most),
        most.spec
    ))
}

/// Note on a different Linux discipline of the same name.
fn namesake(name: &str) -> String {
    let is_namesake = AnyDiscipline::named(name).is_ok_and(|discipline| discipline.info().linux == Linux::Namesake);
    if is_namesake { format!(", which is not what Linux calls {name}") } else { String::new() }
}

/// Transmission time of the longest packet of the capture, seconds.
fn longest_transmission(comparison: &Comparison) -> f64 {
    comparison.capture.longest_packet as f64 * 8.0 / comparison.link_rate as f64
}

/// The largest value divided by the smallest.
fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(0.0, f64::max) / values.fold(f64::INFINITY, f64::min)
}

/// Disciplines that may be recommended; all disciplines if none may.
fn fit(standings: &[Standing]) -> Vec<usize> {
    let free: Vec<_> = (0..standings.len()).filter(|index| standings[*index].obstacle.is_none()).collect();
    if free.is_empty() { (0..standings.len()).collect() } else { free }
}

fn best(results: &[DisciplineResult], harms: &[Harm], standings: &[Standing], fit: &[usize]) -> usize {
    let least = fit.iter().map(|index| harms[*index].light).fold(f64::INFINITY, f64::min);
    let good = fit.iter().copied().filter(|index| harms[*index].light <= least * NOTABLE);
    let order = |a: &usize, b: &usize| {
        let linux = standings[*b].on_linux.cmp(&standings[*a].on_linux);
        let harm = notably(harms[*a].total, harms[*b].total);
        let order = standings[*b].keeps_order.cmp(&standings[*a].keeps_order);
        linux.then(harm).then(order).then(memory(&results[*a]).cmp(&memory(&results[*b])))
    };
    good.min_by(order).unwrap_or(0)
}

/// Compares two harms on a logarithmic scale with steps of `NOTABLE`, which keeps the order
/// transitive.
pub(crate) fn notably(a: f64, b: f64) -> Ordering {
    let step = |harm: f64| (harm.max(1e-9).ln() / NOTABLE.ln()).round();
    step(a).total_cmp(&step(b))
}

/// The plainest discipline: keeps order, available on Linux, little memory.
fn simplest(results: &[DisciplineResult], standings: &[Standing], fit: &[usize]) -> usize {
    let plainness = |index: &usize| {
        let Standing { on_linux, keeps_order, .. } = standings[*index];
        (!keeps_order, !on_linux, memory(&results[*index]))
    };
    fit.iter().copied().min_by_key(plainness).unwrap_or(0)
}

pub(crate) fn memory(result: &DisciplineResult) -> usize {
    result.fixed_bytes + result.flows.len() * result.bytes_per_flow
}

/// The first discipline with the most harm, if notably more than the best one's. Compares only
/// disciplines that may be recommended, if there are several.
fn worst(harms: &[Harm], best: usize, fit: &[usize]) -> Option<usize> {
    let rivals: Vec<_> = if fit.len() > 1 { fit.to_vec() } else { (0..harms.len()).collect() };
    let worst = rivals.into_iter().rev().max_by(|a, b| harms[*a].light.total_cmp(&harms[*b].light))?;
    (harms[worst].light > NOTABLE * harms[best].light).then_some(worst)
}

fn praise(winner: &DisciplineResult, light: usize, alone: bool) -> String {
    let spec = &winner.spec;
    if light == 0 {
        return format!("{spec} divides the wait best: every flow asks for more than its fair share.");
    }
    let Some(wait) = winner.light_p99 else {
        return format!("Even under {spec} nothing gets through of the flows that ask for less than a fair share.");
    };
    let what = if alone { format!("Under {spec},") } else { format!("{spec} serves this traffic best:") };
    let who = if light == 1 { "the one flow that asks".to_owned() } else { format!("a typical one of the {light} flows that ask") };
    let (who, within) = (format!("{who} for less than a fair share"), seconds(wait));
    if winner.light.loss == 0.0 {
        return format!("{what} 99% of the packets of {who} are through within {within}, and none is lost.");
    }
    let lost = percent(winner.light.loss);
    format!("{what} of {who}, 99% of the packets that get through take no more than {within}, and {lost} of such flows' packets are lost.")
}

/// None without light flows.
fn blame(loser: &DisciplineResult, winner: &DisciplineResult, one_queue: bool) -> Option<String> {
    let spec = &loser.spec;
    let least = winner.light_p99?;
    let Some(wait) = loser.light_p99 else { return Some(format!("Under {spec} nothing of them gets through.")) };
    let factor = wait / least;
    let who = if loser.light.loss > 0.0 { "those that get through" } else { "they" };
    let how = if factor >= NOTABLE {
        let behind = if one_queue { ", in one queue with what all others have sent" } else { "" };
        format!("{}, {factor:.1} times as long{behind}", seconds(wait))
    } else {
        seconds(wait)
    };
    let but = if wait < least { "but" } else { "and" };
    let lost = if loser.light.loss > winner.light.loss { format!(", {but} {} are lost", percent(loser.light.loss)) } else { String::new() };
    Some(format!("Under {spec} {who} take {how}{lost}."))
}

fn caveats(winner: &DisciplineResult, results: &[DisciplineResult]) -> Vec<String> {
    let (drops, lost) = (winner.total.drops, percent(winner.total.loss));
    let reason = match drops {
        drops if drops.early * 2 > drops.total() => "to signal congestion",
        drops if drops.refused * 2 > drops.total() => "as refused",
        _ => "because its buffer is full",
    };
    let loss =
        format!("{} drops {lost} of all packets {reason}; TCP senders would slow down in answer, which a replay cannot show.", winner.spec);
    let late = winner.total.reordered;
    let part = percent(late as f64 / winner.total.packets.max(1) as f64);
    let packets = if late == 1 { "packet leaves after a later one of its flow" } else { "packets leave after a later one of their flow" };
    let order = format!("{} reorders: {late} {packets} ({part}), which TCP receivers may take for losses.", winner.spec);
    let buffers = "The disciplines had different buffers; --buffer gives all the same.".to_owned();
    let is_short = winner.total.loss > 0.01;
    let unlike = results.iter().any(|result| result.limit != winner.limit);
    // A short buffer is no merit of the discipline; without buffer drops the buffer has not
    // decided.
    let decided = results.iter().any(|result| result.total.drops.full + result.total.drops.pushed_out > 0);
    [is_short.then_some(loss), (late > 0).then_some(order), (unlike && decided).then_some(buffers)].into_iter().flatten().collect()
}

fn seconds(value: f64) -> String {
    match value {
        v if v >= 1.0 => format!("{v:.2} s"),
        v if v >= 0.01 => format!("{:.0} ms", v * 1e3),
        v if v >= 0.001 => format!("{:.1} ms", v * 1e3),
        v => format!("{:.0} us", v * 1e6),
    }
}

pub(crate) fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        p if p < 0.1 => format!("{p:.3}%"),
        p => format!("{p:.1}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fractions lost once, twice, ... times the following wait.
    #[test]
    fn losses_come_to_what_a_sender_waits() {
        for percent in 0..45 {
            let loss = f64::from(percent) / 100.0;
            let sum: f64 = (1..500).map(|time| loss.powi(time) * 2_f64.powi(time - 1)).sum();
            assert!((retries(loss) - sum).abs() < 1e-9, "{loss}: {} {sum}", retries(loss));
        }
        assert_eq!([0.5, 0.7, 1.0].map(retries), [60.0; 3]);
        assert_eq!(retries(0.4999), 60.0);
    }
}

//! Verdict: the best discipline for this traffic, with reasons in plain sentences.
//!
//! Each kind of flows (`kind.rs`) is judged on its own: a call that waits is not made up for by
//! fifty web pages that do not. A discipline's harm to a kind is divided by the least harm that a
//! discipline does to this kind, and the best discipline has the least of the largest quotients,
//! among those suitable for a real port (`standing.rs`). If several are about equal, a discipline
//! available on Linux is preferred, then, where all flows are bulk, the fairest division, then
//! least harm to all packets together, then keeping the order of packets, then least memory.

use std::cmp::Ordering;

use roundelay_metrics::geometric_mean;
use roundelay_metrics::units::{counted, in_number, percent, seconds, significant};

use roundelay_trace::{
    Comparison, DisciplineResult, Kind, KindOutcome, LONGEST_RETRY, Outcome, flow_harm, retries,
};

use crate::preference::Preference;
use crate::reasons::Reason;
use crate::standing::Standing;

/// Harm of less than this is none, in geometric means.
const LEAST_SECONDS: f64 = 1e-6;
/// Harms with a ratio below this factor count as equal.
pub(crate) const NOTABLE: f64 = 1.25;
/// Disciplines whose largest ratios of harm differ by less than this factor are equally good: the
/// largest of several ratios varies more than each.
pub(crate) const CLOSE: f64 = 1.5;
/// A flow is named if its delay differs by more than this factor, even if typical delays are equal.
const STRIKING: f64 = 4.0;
/// Negligible waiting time, beside the transmission itself.
const NEGLIGIBLE_SECONDS: f64 = 0.005;

/// Losses that differ by this fraction of the packets count as much as harms with a ratio of
/// `NOTABLE`.
const NOTABLE_LOSS: f64 = 0.05;
/// Steps of least shares, where all flows are bulk.
const NOTABLE_SHARE: f64 = 0.025;
/// Shares of bulk flows that differ by less than this fraction count as equal in sentences.
const SAME_SHARE: f64 = 0.01;
/// Negligible harm to bulk flows: about 8% less than the fair share.
const NEGLIGIBLE_BULK_SECONDS: f64 = 0.1;

/// Harm of a discipline, in seconds.
pub(crate) struct Harm {
    /// The harm to some kind of flows is not negligible.
    pub(crate) is_felt: bool,
    /// The largest ratio of harm to a kind and the least harm to this kind under a discipline that
    /// may be recommended. Harm below a negligible amount counts as this amount.
    pub(crate) regret: f64,
    /// The same with the least harm under any discipline.
    pub(crate) regret_among_all: f64,
    /// The kind with the ratio `regret`.
    pub(crate) hurt: Option<Kind>,
    /// The lacking part of the least share, where all flows are bulk; otherwise 0.
    pub(crate) lacking: f64,
    /// Harm to all packets together.
    pub(crate) total: f64,
}

impl Harm {
    /// `lacking` in steps of `NOTABLE_SHARE`, which keeps an order transitive.
    pub(crate) fn division(&self) -> f64 {
        (self.lacking / NOTABLE_SHARE).round()
    }
}

struct KindHarm {
    kind: Kind,
    /// The largest of three: the harm to a typical flow, the geometric mean with equal weight for
    /// each flow; the typical delay plus the cost of the loss among all packets of the kind,
    /// because a few starved flows hardly change the mean; a quarter of the harm to the worst flow.
    seconds: f64,
    /// Loss that counts: among the packets of a light kind, none among acknowledgements; for bulk
    /// the lacking share of the flow with the least.
    loss: f64,
}

/// Harm to all packets together. Overload makes some losses unavoidable: only those beyond `least`
/// count.
fn total_harm(outcome: &Outcome, least: f64) -> f64 {
    outcome.delay.map_or(LONGEST_RETRY, |delay| {
        delay.p99 + retries(outcome.loss - least)
    })
}

impl KindHarm {
    fn of(comparison: &Comparison, result: &DisciplineResult, outcome: &KindOutcome) -> Self {
        let flows = comparison.flows_of(outcome.kind);
        let harms = || {
            flows
                .iter()
                .map(|flow| flow_harm(comparison, result, *flow))
        };
        let typical = geometric_mean(harms().map(|harm| harm.max(LEAST_SECONDS))).unwrap_or(0.0);
        let worst = harms().fold(0.0, f64::max) / STRIKING;
        if outcome.kind == Kind::Bulk {
            let lacking = 1.0 - outcome.least_share.unwrap_or(1.0).min(1.0);
            return Self {
                kind: outcome.kind,
                seconds: typical.max(worst),
                loss: lacking,
            };
        }
        let loss = if outcome.kind == Kind::Acknowledgements {
            0.0
        } else {
            outcome.loss
        };
        let together = outcome.p99.unwrap_or(0.0) + retries(loss);
        Self {
            kind: outcome.kind,
            seconds: typical.max(together).max(worst),
            loss,
        }
    }
}

/// The harms of all disciplines; ratios are to the least harm among `fit`.
fn harms(comparison: &Comparison, fit: &[usize], negligible: f64) -> Vec<Harm> {
    let results = &comparison.disciplines;
    let of_kinds = |result: &DisciplineResult| {
        result
            .kinds
            .iter()
            .map(|outcome| KindHarm::of(comparison, result, outcome))
            .collect::<Vec<_>>()
    };
    let all: Vec<Vec<KindHarm>> = results.iter().map(of_kinds).collect();
    let everyone: Vec<usize> = (0..results.len()).collect();
    let least = |among: &[usize], of: &dyn Fn(usize) -> f64| {
        among
            .iter()
            .map(|index| of(*index))
            .fold(f64::INFINITY, f64::min)
    };
    let ratio = |among: &[usize], place: usize, harm: &KindHarm| {
        let floor = if harm.kind == Kind::Bulk {
            NEGLIGIBLE_BULK_SECONDS
        } else {
            negligible
        };
        let by_seconds =
            harm.seconds.max(floor) / least(among, &|index| all[index][place].seconds).max(floor);
        let more_loss = harm.loss - least(among, &|index| all[index][place].loss);
        by_seconds.max(1.0 + more_loss / NOTABLE_LOSS * (NOTABLE - 1.0))
    };
    let least_total_loss = results
        .iter()
        .map(|result| result.total.loss)
        .fold(1.0, f64::min);
    let regret = |among: &[usize], kinds: &[KindHarm]| {
        let ratios = kinds
            .iter()
            .enumerate()
            .map(|(place, harm)| (ratio(among, place, harm), harm.kind));
        // Of equal ratios the first kind, the most sensitive one.
        let (regret, hurt) = ratios.rev().max_by(|(a, _), (b, _)| a.total_cmp(b)).unzip();
        (regret.unwrap_or(1.0), hurt)
    };
    let harm = |(kinds, result): (&Vec<KindHarm>, &DisciplineResult)| {
        let ((regret, hurt), (regret_among_all, _)) =
            (regret(fit, kinds), regret(&everyone, kinds));
        let is_heavy = |harm: &KindHarm| {
            harm.seconds
                > if harm.kind == Kind::Bulk {
                    NEGLIGIBLE_BULK_SECONDS
                } else {
                    negligible
                }
        };
        let is_felt = kinds.iter().any(is_heavy);
        let lacking = if kinds.iter().all(|harm| harm.kind == Kind::Bulk) {
            kinds.iter().map(|harm| harm.loss).sum()
        } else {
            0.0
        };
        Harm {
            is_felt,
            regret,
            regret_among_all,
            hurt,
            lacking,
            total: total_harm(&result.total, least_total_loss),
        }
    };
    all.iter().zip(results).map(harm).collect()
}

/// The choice of a discipline.
pub(crate) struct Choice {
    /// An index into the disciplines.
    pub(crate) best: usize,
    /// The answer and the reasons.
    pub(crate) reasons: Vec<Reason>,
    /// Packets wait for the link under some discipline.
    pub(crate) is_contended: bool,
}

/// Chooses the best discipline.
pub(crate) fn choose(comparison: &Comparison, standings: &[Standing]) -> Choice {
    let results = &comparison.disciplines;
    let negligible = NEGLIGIBLE_SECONDS + longest_transmission(comparison);
    let fit = fit(standings);
    let harms = harms(comparison, &fit, negligible);
    let loses = results.iter().any(|result| result.total.drops.total() > 0);
    let contended = loses
        || harms
            .iter()
            .any(|harm| harm.total > negligible || harm.is_felt);
    let differ = spread(harms.iter().map(|harm| harm.regret)) > NOTABLE
        || spread(harms.iter().map(|harm| harm.total.max(negligible))) > NOTABLE
        || range(results.iter().map(|result| result.total.loss)) > NOTABLE_LOSS;
    let by_harm = contended && differ;
    let best = if by_harm {
        best(results, &harms, standings, &fit)
    } else {
        simplest(results, standings, &fit)
    };
    let has_light = comparison.flows.iter().any(|flow| flow.light);
    let first = match (contended, differ || results.len() == 1) {
        _ if results.len() > 1 && results.iter().all(|result| result.total.packets == 0) => {
            "Nothing gets through, whichever discipline it is.".to_owned()
        }
        (false, _) => format!(
            "Nothing contends for this link: {} will do.",
            results[best].spec
        ),
        (true, false) => format!(
            "All of these serve this traffic about equally, so {} will do.",
            results[best].spec
        ),
        (true, true) => praise(comparison, best, &fit),
    };
    let worst = worst(results, &harms, best, &fit).filter(|_| by_harm);
    let blame = worst.and_then(|worst| {
        blame(
            comparison,
            (worst, best),
            harms[worst].hurt?,
            standings[worst].one_queue,
        )
    });
    let preference = Preference {
        comparison,
        harms: &harms,
        standings,
        fit: &fit,
        best,
        has_light,
        by_harm,
        negligible,
    };
    let sentences = [first]
        .into_iter()
        .chain(blame)
        .chain(peers(results, &harms, standings, &fit, best).filter(|_| by_harm))
        .chain(standout(comparison, negligible).filter(|_| contended && !differ))
        .chain(preference.reasons())
        .chain(caveats(&results[best], results));
    Choice {
        best,
        reasons: sentences.map(Reason::Text).collect(),
        is_contended: contended,
    }
}

/// The flow whose p99 differs most between disciplines, if by more than `STRIKING`. Only flows that
/// get packets through everywhere.
fn standout(comparison: &Comparison, negligible: f64) -> Option<String> {
    let results = &comparison.disciplines;
    let waits = |flow: usize| {
        results
            .iter()
            .map(move |result| result.flows[flow].outcome.delay.map(|delay| delay.p99))
    };
    let factor = |flow: usize| {
        let waits: Vec<f64> = waits(flow).collect::<Option<_>>()?;
        let longest = waits.iter().copied().fold(0.0, f64::max);
        Some(spread(waits.into_iter())).filter(|factor| longest > negligible && *factor > STRIKING)
    };
    let (flow, _) = (0..comparison.flows.len())
        .filter_map(|flow| factor(flow).map(|factor| (flow, factor)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let order = |a: &&DisciplineResult, b: &&DisciplineResult| {
        let wait = |result: &DisciplineResult| {
            result.flows[flow]
                .outcome
                .delay
                .map_or(f64::INFINITY, |delay| delay.p99)
        };
        wait(a).total_cmp(&wait(b))
    };
    let least = results.iter().min_by(order)?;
    let most = results.iter().max_by(order)?;
    let wait = |result: &DisciplineResult| {
        result.flows[flow]
            .outcome
            .delay
            .map_or_else(String::new, |delay| seconds(delay.p99))
    };
    Some(format!(
        "But one flow differs: the p99 delay of {} is {} under {} and {} under {}.",
        comparison.flows[flow].label,
        wait(least),
        least.spec,
        wait(most),
        most.spec
    ))
}

/// Transmission time of the longest packet of the capture, seconds.
fn longest_transmission(comparison: &Comparison) -> f64 {
    comparison.capture.longest_packet as f64 * 8.0 / comparison.link_rate as f64
}

/// The largest value less the smallest.
fn range(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(0.0, f64::max) - values.fold(f64::INFINITY, f64::min)
}

/// The largest value divided by the smallest.
fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(0.0, f64::max) / values.fold(f64::INFINITY, f64::min)
}

/// Disciplines that may be recommended; all disciplines if none may.
fn fit(standings: &[Standing]) -> Vec<usize> {
    let free: Vec<_> = (0..standings.len())
        .filter(|index| standings[*index].obstacle.is_none())
        .collect();
    if free.is_empty() {
        (0..standings.len()).collect()
    } else {
        free
    }
}

fn best(
    results: &[DisciplineResult],
    harms: &[Harm],
    standings: &[Standing],
    fit: &[usize],
) -> usize {
    let least = fit
        .iter()
        .map(|index| harms[*index].regret)
        .fold(f64::INFINITY, f64::min);
    let good = fit
        .iter()
        .copied()
        .filter(|index| harms[*index].regret <= least * CLOSE);
    let order = |a: &usize, b: &usize| {
        let linux = standings[*b].on_linux.cmp(&standings[*a].on_linux);
        let share = harms[*a].division().total_cmp(&harms[*b].division());
        let harm = notably(harms[*a].total, harms[*b].total);
        let order = standings[*b].keeps_order.cmp(&standings[*a].keeps_order);
        linux
            .then(share)
            .then(harm)
            .then(order)
            .then(memory(&results[*a]).cmp(&memory(&results[*b])))
    };
    good.min_by(order).unwrap_or(0)
}

/// Compares two harms on a logarithmic scale with steps of `NOTABLE`, which keeps the order
/// transitive. The logarithms of `libm` are the same on every machine.
pub(crate) fn notably(a: f64, b: f64) -> Ordering {
    let step = |harm: f64| (libm::log(harm.max(1e-9)) / libm::log(NOTABLE)).round();
    step(a).total_cmp(&step(b))
}

/// The plainest discipline: keeps order, available on Linux, little memory.
fn simplest(results: &[DisciplineResult], standings: &[Standing], fit: &[usize]) -> usize {
    let plainness = |index: &usize| {
        let Standing {
            on_linux,
            keeps_order,
            ..
        } = standings[*index];
        (!keeps_order, !on_linux, memory(&results[*index]))
    };
    fit.iter().copied().min_by_key(plainness).unwrap_or(0)
}

pub(crate) fn memory(result: &DisciplineResult) -> usize {
    result.fixed_bytes + result.flows.len() * result.bytes_per_flow
}

/// The discipline whose harm shows what the best one is for: a FIFO, the queue of most links,
/// otherwise the first with the most harm; if notably more than the best one's. Compares only
/// disciplines that may be recommended, if there are several.
fn worst(
    results: &[DisciplineResult],
    harms: &[Harm],
    best: usize,
    fit: &[usize],
) -> Option<usize> {
    let rivals: Vec<_> = if fit.len() > 1 {
        fit.to_vec()
    } else {
        (0..harms.len()).collect()
    };
    let is_worse = |index: &usize| harms[*index].regret > NOTABLE * harms[best].regret;
    let fifo = rivals
        .iter()
        .copied()
        .find(|index| results[*index].name == "fifo")
        .filter(is_worse);
    fifo.or_else(|| {
        rivals
            .into_iter()
            .rev()
            .max_by(|a, b| harms[*a].regret.total_cmp(&harms[*b].regret))
            .filter(is_worse)
    })
}

/// Most disciplines named as about as good as the best one.
const PEERS: usize = 4;

/// The disciplines of Linux that do about as little harm as the best one.
fn peers(
    results: &[DisciplineResult],
    harms: &[Harm],
    standings: &[Standing],
    fit: &[usize],
    best: usize,
) -> Option<String> {
    let least = fit
        .iter()
        .map(|index| harms[*index].regret)
        .fold(f64::INFINITY, f64::min);
    let is_peer = |index: &&usize| {
        let is_near = harms[**index].regret <= least * NOTABLE
            && harms[**index].division() <= harms[best].division();
        **index != best && standings[**index].on_linux && is_near
    };
    let names: Vec<_> = fit
        .iter()
        .filter(is_peer)
        .map(|index| results[*index].spec.as_str())
        .collect();
    let more = if names.len() > PEERS {
        format!(" and {} more", names.len() - PEERS)
    } else {
        String::new()
    };
    let named = &names[..names.len().min(PEERS)];
    (!names.is_empty()).then(|| format!("About as good: {}{more}.", named.join(", ")))
}

/// The first sentence about a discipline chosen by harm: what each kind gets under it.
fn praise(comparison: &Comparison, best: usize, fit: &[usize]) -> String {
    let winner = &comparison.disciplines[best];
    let spec = &winner.spec;
    let light = winner
        .kinds
        .iter()
        .filter(|outcome| outcome.kind != Kind::Bulk)
        .collect::<Vec<_>>();
    if light.is_empty() {
        return praise_of_bulk(comparison, best, fit);
    }
    if light.iter().all(|outcome| outcome.p99.is_none()) {
        return format!("Even under {spec}, only bulk flows get any packet through.");
    }
    let what = if comparison.disciplines.len() == 1 {
        format!("Under {spec}")
    } else {
        format!("{spec} serves this traffic best:")
    };
    let waits: Vec<_> = light
        .iter()
        .filter_map(|outcome| Some(format!("{} for {}", seconds(outcome.p99?), who(outcome))))
        .collect();
    let waits = waits.join(", ");
    let lost = |outcome: &&&KindOutcome| outcome.loss > 0.0;
    let lost: Vec<_> = light
        .iter()
        .filter(lost)
        .map(|of| format!("{} of {}", percent(of.loss), of.kind.name()))
        .collect();
    if lost.is_empty() {
        return format!(
            "{what} 99% of the packets are through within {waits}; none of these is lost."
        );
    }
    format!(
        "{what} 99% of the packets that get through take no more than {waits}; losses: {}.",
        lost.join(", ")
    )
}

/// `calls and games (3 flows)`.
fn who(outcome: &KindOutcome) -> String {
    format!(
        "{} ({})",
        outcome.kind.name(),
        counted(outcome.flows as u64, "flow")
    )
}

/// The first sentence where all flows ask for more than their fair share.
fn praise_of_bulk(comparison: &Comparison, best: usize, fit: &[usize]) -> String {
    let winner = &comparison.disciplines[best];
    let spec = &winner.spec;
    let delay = winner.total.delay.map_or(0.0, |delay| delay.p99);
    let within = format!(
        "99% of the packets that get through within {}",
        seconds(delay)
    );
    if let [flow] = &comparison.flows[..] {
        let loss = percent(winner.total.loss);
        let most = fit
            .iter()
            .map(|index| &comparison.disciplines[*index])
            .max_by(|a, b| a.total.loss.total_cmp(&b.total.loss));
        let against = most.filter(|most| most.total.loss > winner.total.loss + NOTABLE_LOSS);
        let against = against.map_or_else(String::new, |most| {
            format!(", against {} under {}", percent(most.total.loss), most.spec)
        });
        return format!(
            "{} is alone, so there is nothing to divide: {spec} loses {loss}{against}, {within}.",
            flow.label
        );
    }
    let least = |result: &DisciplineResult| {
        result
            .kinds
            .iter()
            .find_map(|outcome| outcome.least_share)
            .unwrap_or(1.0)
    };
    let fairest = comparison
        .disciplines
        .iter()
        .max_by(|a, b| least(a).total_cmp(&least(b)));
    let fairer = fairest.filter(|fairest| least(fairest) > least(winner) + SAME_SHARE);
    let against = fairer.map_or_else(String::new, |fairer| {
        format!(" ({} under {})", percent(least(fairer)), fairer.spec)
    });
    let does = if fairer.is_some() {
        "serves this traffic best"
    } else {
        "divides the link best"
    };
    let share = percent(least(winner));
    format!(
        "{spec} {does}: each flow asks for more than its fair share at times and gets at least {share} of it{against}, {within}."
    )
}

/// Whom the most harmful discipline hurts, how much, and the worst of them.
fn blame(
    comparison: &Comparison,
    (loser, winner): (usize, usize),
    hurt: Kind,
    one_queue: bool,
) -> Option<String> {
    let [loser, winner] = [loser, winner].map(|index| &comparison.disciplines[index]);
    let of = |result: &DisciplineResult| {
        result
            .kinds
            .iter()
            .find(|outcome| outcome.kind == hurt)
            .cloned()
    };
    let theirs = of(loser)?;
    let ours = of(winner)?;
    let spec = &loser.spec;
    let label = |outcome: &KindOutcome| comparison.flows[outcome.worst].label.clone();
    if let (Some(least), Some(best)) = (theirs.least_share, ours.least_share) {
        let least = percent(least);
        let best = percent(best);
        let who = label(&theirs);
        let ours = &winner.spec;
        return Some(format!(
            "{spec} hurts bulk: {who} gets {least} of its fair share, where each flow gets at least {best} under {ours}."
        ));
    }
    let Some(wait) = theirs.p99 else {
        return Some(format!(
            "{spec} hurts {}: nothing of them gets through.",
            who(&theirs)
        ));
    };
    let outcome = |result: &DisciplineResult, flow: usize| {
        let Outcome {
            delay, loss, drops, ..
        } = &result.flows[flow].outcome;
        let nothing = if drops.total() == 1 {
            "its only packet is lost"
        } else {
            "nothing gets through"
        };
        let wait = delay.map_or_else(|| nothing.to_owned(), |delay| seconds(delay.p99));
        if *loss > 0.0 && delay.is_some() {
            format!("{wait} and {} lost", percent(*loss))
        } else {
            wait
        }
    };
    let more =
        |flow: &usize| flow_harm(comparison, loser, *flow) - flow_harm(comparison, winner, *flow);
    let flows = comparison.flows_of(hurt);
    let worst = flows
        .iter()
        .copied()
        .max_by(|a, b| more(a).total_cmp(&more(b)))
        .filter(|flow| more(flow) > 0.0);
    let worst = worst.map(|flow| {
        (
            &comparison.flows[flow].label,
            outcome(loser, flow),
            outcome(winner, flow),
        )
    });
    let factor = ours.p99.map_or(1.0, |least| wait / least);
    let is_lost = theirs.loss > ours.loss && hurt != Kind::Acknowledgements;
    if factor < NOTABLE && !is_lost {
        return worst.map(|(label, theirs, ours)| {
            format!(
                "{spec} hurts {}: {label} has {theirs}, against {ours}.",
                hurt.name()
            )
        });
    }
    let behind = if one_queue && factor >= NOTABLE {
        ", because all flows share one queue"
    } else {
        ""
    };
    let times = if factor >= NOTABLE {
        format!(", {} times as long", significant(factor))
    } else {
        String::new()
    };
    let lost = if is_lost {
        format!(", and {} of their packets are lost", percent(theirs.loss))
    } else {
        String::new()
    };
    let worst = worst
        .filter(|_| flows.len() > 1)
        .map(|(label, theirs, ours)| format!(" The worst is {label}: {theirs}, against {ours}."));
    Some(format!(
        "{spec} hurts {}: {}{times}{behind}{lost}.{}",
        who(&theirs),
        seconds(wait),
        worst.unwrap_or_default()
    ))
}

fn caveats(winner: &DisciplineResult, results: &[DisciplineResult]) -> Vec<String> {
    let drops = winner.total.drops;
    let lost = percent(winner.total.loss);
    let reason = match drops {
        drops if drops.early * 2 > drops.total() => "to signal congestion",
        drops if drops.refused * 2 > drops.total() => "because these exceed its own limits",
        _ => "because its buffer is full",
    };
    let loss = format!(
        "{} drops {lost} of all packets {reason}; TCP senders would slow down in answer, which a replay cannot show.",
        winner.spec
    );
    let late = winner.total.reordered;
    let part = percent(late as f64 / winner.total.packets.max(1) as f64);
    let packets = in_number(
        late,
        "{packet leaves after a later one of its flow|packets leave after a later one of their flow}",
    );
    let order = format!(
        "{} reorders: {packets} ({part}), which TCP receivers may take for losses.",
        winner.spec
    );
    let buffers =
        "The disciplines had different buffers; --buffer gives all the same buffer.".to_owned();
    let is_short = winner.total.loss > 0.01;
    let unlike = results.iter().any(|result| result.limit != winner.limit);
    // A short buffer is no merit of the discipline; without buffer drops the buffer has not
    // decided.
    let decided = results
        .iter()
        .any(|result| result.total.drops.full + result.total.drops.pushed_out > 0);
    [
        is_short.then_some(loss),
        (late > 0).then_some(order),
        (unlike && decided).then_some(buffers),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay_trace::{Options, compare};

    use crate::preference::tests::capture;

    /// Results of drr, qfq and sfq, whose figures the tests below replace.
    fn results() -> Vec<DisciplineResult> {
        let specs = ["drr", "qfq", "sfq"].map(|text| text.parse().unwrap());
        let options = Options {
            measure_cost: false,
            ..Options::new("10mbit".parse().unwrap(), specs.to_vec())
        };
        compare(capture(), &options, &mut ()).unwrap().disciplines
    }

    fn standing(on_linux: bool, keeps_order: bool) -> Standing {
        Standing {
            on_linux,
            keeps_order,
            one_queue: false,
            obstacle: None,
        }
    }

    /// With this quotient, and where all flows are bulk this part of a fair share lacking.
    fn harm(regret: f64, lacking: f64) -> Harm {
        Harm {
            is_felt: true,
            regret,
            regret_among_all: regret,
            hurt: Some(Kind::Bulk),
            lacking,
            total: 1.0,
        }
    }

    /// Without contention: order, then Linux, then memory, as docs/compare.md says.
    #[test]
    fn the_simplest_keeps_order_first_and_is_on_linux_next() {
        let mut results = results();
        for (result, bytes) in results.iter_mut().zip([3, 2, 1]) {
            (result.fixed_bytes, result.bytes_per_flow) = (bytes, 0);
        }
        let on_linux = true;
        let in_order = true;
        let of = |standings: [(bool, bool); 3]| {
            let standings = standings.map(|(linux, order)| standing(linux, order));
            simplest(&results, &standings, &[0, 1, 2])
        };
        let unordered = (on_linux, !in_order);
        let elsewhere = (!on_linux, in_order);
        let neither = (!on_linux, !in_order);
        let both = (on_linux, in_order);
        assert_eq!(of([unordered, elsewhere, neither]), 1, "order before Linux");
        assert_eq!(of([both, elsewhere, unordered]), 0, "Linux before memory");
        assert_eq!(of([both, both, unordered]), 1, "memory");
        assert_eq!(of([neither, neither, neither]), 2, "memory");
    }

    /// Among disciplines of about equal harm: Linux, then the division, then order, then memory.
    #[test]
    fn the_best_is_on_linux_first_and_keeps_order_later() {
        let results = results();
        let of = |harms: [Harm; 3], standings: [(bool, bool); 3]| {
            let standings = standings.map(|(linux, order)| standing(linux, order));
            best(&results, &harms, &standings, &[0, 1, 2])
        };
        let equal = || [harm(1.0, 0.0), harm(1.4, 0.0), harm(1.6, 0.0)];
        let one_on_linux = [(false, true), (true, false), (true, true)];
        assert_eq!(of(equal(), one_on_linux), 1, "the third is too harmful");
        let one_in_order = [(true, false), (true, true), (true, true)];
        assert_eq!(of(equal(), one_in_order), 1);
        let unfair = [harm(1.0, 0.1), harm(1.4, 0.2), harm(1.4, 0.0)];
        let fair_out_of_order = [(true, true), (true, true), (true, false)];
        assert_eq!(of(unfair, fair_out_of_order), 2, "division before order");
    }

    /// "About as good" has disciplines of Linux, as little harmful, that divide the link as well.
    #[test]
    fn peers_do_as_little_harm_and_divide_as_well() {
        let results = results();
        let of = |harms: [Harm; 3], on_linux: [bool; 3]| {
            let standings = on_linux.map(|linux| standing(linux, true));
            peers(&results, &harms, &standings, &[0, 1, 2], 0)
        };
        let all = [true; 3];
        let fair = [harm(1.0, 0.1), harm(1.2, 0.1), harm(1.3, 0.1)];
        assert_eq!(of(fair, all).unwrap(), "About as good: qfq.");
        let less_fair = [harm(1.0, 0.1), harm(1.0, 0.2), harm(1.0, 0.0)];
        assert_eq!(of(less_fair, all).unwrap(), "About as good: sfq.");
        let equal = || [harm(1.0, 0.0), harm(1.0, 0.0), harm(1.0, 0.0)];
        assert_eq!(of(equal(), all).unwrap(), "About as good: qfq, sfq.");
        assert_eq!(of(equal(), [true, false, false]), None);
    }
}

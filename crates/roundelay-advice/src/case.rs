//! A comparison as the verdict sees it: the harm of each discipline, and which one is preferred.

use std::cmp::Ordering;

use roundelay_trace::{Comparison, DisciplineResult};

use crate::harm::{Harm, NOTABLE, NOTABLE_LOSS, harms};
use crate::reasons::{Reason, Wait};
use crate::standing::Standing;

/// Disciplines are equally good if their largest ratios of harm differ by less than this factor. It
/// is larger than `NOTABLE` because the largest of several ratios varies more than each of them.
pub(crate) const CLOSE: f64 = 1.5;
/// A wait this short is negligible, beside the transmission itself.
pub const NEGLIGIBLE_SECONDS: f64 = 0.005;
/// A loss is not mentioned up to this fraction of the packets.
pub(crate) const SMALL_LOSS: f64 = 0.01;

/// A comparison with the harm and the standing of each discipline.
pub(crate) struct Case<'a> {
    pub(crate) comparison: &'a Comparison,
    /// The results of the comparison, or those with another of its seeds.
    pub(crate) results: &'a [DisciplineResult],
    pub(crate) standings: &'a [Standing],
    pub(crate) harms: Vec<Harm>,
    /// The disciplines that may be recommended, or all of them if none may.
    pub(crate) fit: Vec<usize>,
    /// Delays up to this count as none, seconds.
    pub(crate) negligible: f64,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        comparison: &'a Comparison,
        results: &'a [DisciplineResult],
        standings: &'a [Standing],
    ) -> Self {
        let negligible = NEGLIGIBLE_SECONDS + longest_transmission(comparison);
        let fit = fit(standings);
        Self {
            harms: harms(comparison, results, &fit, negligible),
            comparison,
            results,
            standings,
            fit,
            negligible,
        }
    }

    pub(crate) fn results(&self) -> &'a [DisciplineResult] {
        self.results
    }

    pub(crate) fn best(&self) -> usize {
        if self.is_contended() && self.differ() {
            self.least_harmful()
        } else {
            self.simplest()
        }
    }

    pub(crate) fn spec(&self, index: usize) -> String {
        self.results()[index].spec.clone()
    }

    /// Whether packets are lost, or wait for the link, under some discipline.
    pub(crate) fn is_contended(&self) -> bool {
        let mut results = self.results().iter();
        let mut harms = self.harms.iter();
        results.any(|result| result.total.drops.total() > 0)
            || harms.any(|harm| harm.total > self.negligible || harm.is_felt)
    }

    /// Whether disciplines differ by more than a little: in harm to a kind, in harm to all packets
    /// together, or in loss.
    pub(crate) fn differ(&self) -> bool {
        let mut regrets = Extremes::NONE;
        let mut totals = Extremes::NONE;
        let mut losses = Extremes::NONE;
        for (harm, result) in self.harms.iter().zip(self.results()) {
            regrets.add(harm.regret);
            if self.comparison.reaction.is_none() {
                totals.add(harm.total.max(self.negligible));
            }
            losses.add(result.total.loss);
        }
        regrets.ratio() > NOTABLE
            || self.comparison.reaction.is_none() && totals.ratio() > NOTABLE
            || losses.most - losses.least > NOTABLE_LOSS
    }

    /// The smallest `regret` among the disciplines that may be recommended.
    pub(crate) fn least_regret(&self) -> f64 {
        let mut regrets = Extremes::NONE;
        for index in &self.fit {
            regrets.add(self.harms[*index].regret);
        }
        regrets.least
    }

    /// The discipline that does least harm. If several do about equally little, the preferred one.
    fn least_harmful(&self) -> usize {
        let most = self.least_regret() * CLOSE;
        let mut best = None;
        for index in self.fit.iter().copied() {
            if self.harms[index].regret > most {
                continue;
            }
            if best.is_none_or(|best| self.preferred(index, best) == Ordering::Less) {
                best = Some(index);
            }
        }
        best.unwrap_or(0)
    }

    /// The discipline that does most harm. Among equals, the first.
    pub(crate) fn most_harmful(&self) -> usize {
        let mut worst = 0;
        for (index, harm) in self.harms.iter().enumerate() {
            if harm.regret > self.harms[worst].regret {
                worst = index;
            }
        }
        worst
    }

    /// Orders disciplines that do about equal harm. The lesser is preferred.
    fn preferred(&self, a: usize, b: usize) -> Ordering {
        let [one, other] = [a, b].map(|index| self.standings[index]);
        let [harm, others_harm] = [a, b].map(|index| &self.harms[index]);
        let linux = other.on_linux.cmp(&one.on_linux);
        let share = harm.division().total_cmp(&others_harm.division());
        let total = self.by_total(a, b);
        let order = other.keeps_order.cmp(&one.keeps_order);
        let memory = self.memory(a).cmp(&self.memory(b));
        // The first criterion that differs decides.
        for criterion in [linux, share, total, order, memory] {
            if criterion != Ordering::Equal {
                return criterion;
            }
        }
        Ordering::Equal
    }

    /// Orders by harm to all packets together. In a replay this tells nothing if some discipline
    /// marks packets: senders would slow down as if these had been dropped, but a replay sends on.
    pub(crate) fn by_total(&self, a: usize, b: usize) -> Ordering {
        if self.comparison.reaction.is_some() {
            return Ordering::Equal;
        }
        let mut results = self.results().iter();
        if results.any(|result| result.total.part_marked() > SMALL_LOSS) {
            return Ordering::Equal;
        }
        notably(self.harms[a].total, self.harms[b].total)
    }

    /// The plainest discipline: one that keeps order, then one that Linux has, then the one with
    /// least memory.
    fn simplest(&self) -> usize {
        let plainest = self.fit.iter().copied().min_by_key(|index| {
            let standing = self.standings[*index];
            let memory = self.memory(*index);
            (!standing.keeps_order, !standing.on_linux, memory)
        });
        plainest.unwrap_or(0)
    }

    /// Bytes of state for the capture's flows.
    pub(crate) fn memory(&self, index: usize) -> usize {
        let result = &self.results()[index];
        result.fixed_bytes + result.flows.len() * result.bytes_per_flow
    }

    /// Linux's other disciplines that do about as little harm as the best one and divide the link
    /// as well, with every seed.
    pub(crate) fn peers(&self, best: usize) -> Option<Reason> {
        let mut near = self.near(best);
        for other in &self.comparison.other_seeds {
            let other = Case::new(self.comparison, &other.disciplines, self.standings);
            let still_near = other.near(best);
            near.retain(|index| still_near.contains(index));
        }
        let told = self.total_told(best, *near.first()?);
        let specs = near.into_iter().map(|index| self.spec(index)).collect();
        Some(Reason::Peers { specs, told })
    }

    /// The same with one seed.
    fn near(&self, best: usize) -> Vec<usize> {
        let most = self.least_regret() * NOTABLE;
        let mut near = Vec::new();
        for index in self.fit.iter().copied() {
            let harm = &self.harms[index];
            let is_near = harm.regret <= most && harm.division() <= self.harms[best].division();
            if index != best && self.standings[index].on_linux && is_near {
                near.push(index);
            }
        }
        near
    }

    /// The delay of all packets together, under the best discipline and under another, if this told
    /// them apart.
    fn total_told(&self, best: usize, other: usize) -> Option<[Wait; 2]> {
        if self.by_total(best, other) != Ordering::Less {
            return None;
        }
        let [ours, theirs] = [self.delay(best)?, self.delay(other)?];
        (ours.p99 < theirs.p99).then_some([ours, theirs])
    }

    /// The delay of all packets together.
    fn delay(&self, index: usize) -> Option<Wait> {
        let delay = self.results()[index].total.delay?;
        Some(Wait {
            spec: self.spec(index),
            p99: delay.p99,
        })
    }
}

/// The largest and the smallest of some values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extremes {
    pub(crate) most: f64,
    pub(crate) least: f64,
}

impl Extremes {
    /// The extremes before any value was added.
    pub(crate) const NONE: Self = Self {
        most: 0.0,
        least: f64::INFINITY,
    };

    pub(crate) fn add(&mut self, value: f64) {
        self.most = self.most.max(value);
        self.least = self.least.min(value);
    }

    /// The largest value divided by the smallest.
    pub(crate) fn ratio(self) -> f64 {
        self.most / self.least
    }
}

/// Transmission time of the capture's longest packet, seconds.
fn longest_transmission(comparison: &Comparison) -> f64 {
    comparison.capture.longest_packet as f64 * 8.0 / comparison.reference_rate as f64
}

fn fit(standings: &[Standing]) -> Vec<usize> {
    let mut free = Vec::new();
    for (index, standing) in standings.iter().enumerate() {
        if standing.obstacle.is_none() {
            free.push(index);
        }
    }
    if free.is_empty() {
        free = (0..standings.len()).collect();
    }
    free
}

/// Compares two harms on a logarithmic scale in steps of `NOTABLE`. Steps keep the order
/// transitive. The logarithms are `libm`'s because these are the same on every machine.
fn notably(a: f64, b: f64) -> Ordering {
    let [a, b] = [a, b].map(|harm| (libm::log(harm.max(1e-9)) / libm::log(NOTABLE)).round());
    a.total_cmp(&b)
}

#[cfg(test)]
mod tests {
    use roundelay_trace::{Kind, OtherSeed};

    use super::*;
    use crate::sample::{HARM, STANDING, comparison};

    fn standing((on_linux, keeps_order): (bool, bool)) -> Standing {
        Standing {
            on_linux,
            keeps_order,
            ..STANDING
        }
    }

    /// With this quotient, and where all flows are bulk this part of a fair share lacking.
    fn harm(regret: f64, lacking: f64) -> Harm {
        Harm {
            regret,
            regret_among_all: regret,
            hurt: Some(Kind::Bulk),
            lacking,
            ..HARM
        }
    }

    fn equal() -> [Harm; 3] {
        [harm(1.0, 0.0), harm(1.4, 0.0), harm(1.6, 0.0)]
    }

    /// What `of` says of a case with these harms, and with disciplines that are on Linux or not and
    /// keep the order of packets or not.
    fn case<R>(
        comparison: &Comparison,
        harms: [Harm; 3],
        standings: [(bool, bool); 3],
        of: impl Fn(&Case<'_>) -> R,
    ) -> R {
        of(&Case {
            comparison,
            results: &comparison.disciplines,
            standings: &standings.map(standing),
            harms: harms.into(),
            fit: vec![0, 1, 2],
            negligible: 0.0,
        })
    }

    /// Without contention: order, then Linux, then memory, as docs/compare.md says.
    #[test]
    fn the_simplest_keeps_order_first_and_is_on_linux_next() {
        let mut comparison = comparison(&["drr", "qfq", "sfq"]);
        for (result, bytes) in comparison.disciplines.iter_mut().zip([3, 2, 1]) {
            (result.fixed_bytes, result.bytes_per_flow) = (bytes, 0);
        }
        let on_linux = true;
        let in_order = true;
        let of = |standings| case(&comparison, equal(), standings, |case| case.simplest());
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
        let comparison = comparison(&["drr", "qfq", "sfq"]);
        let of =
            |harms, standings| case(&comparison, harms, standings, |case| case.least_harmful());
        let one_on_linux = [(false, true), (true, false), (true, true)];
        assert_eq!(of(equal(), one_on_linux), 1, "the third is too harmful");
        let one_in_order = [(true, false), (true, true), (true, true)];
        assert_eq!(of(equal(), one_in_order), 1);
        let unfair = [harm(1.0, 0.1), harm(1.4, 0.2), harm(1.4, 0.0)];
        let fair_out_of_order = [(true, true), (true, true), (true, false)];
        assert_eq!(of(unfair, fair_out_of_order), 2, "division before order");
    }

    /// Where one discipline marks packets, the delay of all packets tells none apart: regression, of
    /// two with the same delays and losses the one that marks was best.
    #[test]
    fn marks_take_the_delay_of_all_packets_out_of_the_choice() {
        let mut comparison = comparison(&["drr", "qfq", "sfq"]);
        for result in &mut comparison.disciplines {
            result.total.packets = 100;
        }
        let mut harms = equal();
        harms[1].total = 100.0;
        let of = |comparison: &Comparison, harms: [Harm; 3]| {
            case(comparison, harms, [(true, true); 3], |case| {
                case.by_total(0, 1)
            })
        };
        assert_eq!(of(&comparison, harms), Ordering::Less);
        let mut harms = equal();
        harms[1].total = 100.0;
        comparison.disciplines[2].total.marked = 50;
        assert_eq!(of(&comparison, harms), Ordering::Equal);
    }

    #[test]
    fn the_most_harmful_has_the_largest_quotient() {
        let comparison = comparison(&["drr", "qfq", "sfq"]);
        let of = |regrets: [f64; 3]| {
            let harms = regrets.map(|regret| harm(regret, 0.0));
            case(&comparison, harms, [(true, true); 3], |case| {
                case.most_harmful()
            })
        };
        assert_eq!(of([1.0, 1.4, 1.6]), 2);
        assert_eq!(of([1.6, 1.4, 1.6]), 0, "of equal ones the first");
    }

    /// The delays of all packets are told where they told two disciplines apart.
    #[test]
    fn the_delay_of_all_packets_is_told_where_it_decided() {
        let mut comparison = comparison(&["drr", "qfq", "sfq"]);
        for (result, p99) in comparison.disciplines.iter_mut().zip([0.1, 0.3, 0.05]) {
            result.total.delay.as_mut().expect("a delay").p99 = p99;
        }
        let told = |harms, other| {
            case(&comparison, harms, [(true, true); 3], |case| {
                let waits = case.total_told(0, other)?;
                Some(waits.map(|wait| wait.p99))
            })
        };
        assert_eq!(told(equal(), 1), None, "as much harm in all");
        let mut harms = equal();
        (harms[1].total, harms[2].total) = (100.0, 100.0);
        assert_eq!(told(harms, 1), Some([0.1, 0.3]));
        let mut harms = equal();
        (harms[1].total, harms[2].total) = (100.0, 100.0);
        assert_eq!(told(harms, 2), None, "the other one's is lower");
    }

    /// "About as good" has disciplines of Linux, as little harmful, that divide the link as well.
    #[test]
    fn peers_do_as_little_harm_and_divide_as_well() {
        let comparison = comparison(&["drr", "qfq", "sfq"]);
        let of = |harms, on_linux: [bool; 3]| {
            let standings = on_linux.map(|linux| (linux, true));
            match case(&comparison, harms, standings, |case| case.peers(0)) {
                Some(Reason::Peers { specs, .. }) => specs,
                Some(other) => panic!("{other:?}"),
                None => Vec::new(),
            }
        };
        let all = [true; 3];
        let fair = [harm(1.0, 0.1), harm(1.2, 0.1), harm(1.3, 0.1)];
        assert_eq!(of(fair, all), ["qfq"]);
        let less_fair = [harm(1.0, 0.1), harm(1.0, 0.2), harm(1.0, 0.0)];
        assert_eq!(of(less_fair, all), ["sfq"]);
        let equal = || [harm(1.0, 0.0), harm(1.0, 0.0), harm(1.0, 0.0)];
        assert_eq!(of(equal(), all), ["qfq", "sfq"]);
        assert_eq!(of(equal(), [true, false, false]), [""; 0]);
    }

    /// Regression: an sfq whose calls waited for 5.66 s with the third seed was "about as good".
    #[test]
    fn peers_are_as_good_with_every_seed() {
        let mut comparison = comparison(&["drr", "sfq"]);
        let mut third = OtherSeed {
            seed: 3,
            disciplines: comparison.disciplines.clone(),
            reads_seed: vec![false, true],
        };
        let peers = |comparison: &Comparison| {
            Case::new(comparison, &comparison.disciplines, &[STANDING; 2]).peers(0)
        };
        comparison.other_seeds = vec![third.clone()];
        assert!(peers(&comparison).is_some());
        let call = &mut third.disciplines[1].kinds[0];
        (call.p99, call.worst_p99) = (Some(5.66), Some(5.66));
        comparison.other_seeds = vec![third];
        assert!(peers(&comparison).is_none());
    }
}

//! How much harm each discipline does to each kind of flow, compared with the least possible.

use roundelay_metrics::geometric_mean;
use roundelay_trace::{
    Comparison, DisciplineResult, Kind, KindOutcome, LONGEST_RETRY, Outcome, flow_harm, retries,
};

/// Less harm than this counts as this much in geometric means, because these cannot take zero.
const LEAST_SECONDS: f64 = 1e-6;
/// Harms count as equal if their ratio is below this factor.
pub const NOTABLE: f64 = 1.25;
/// A flow is named if its delay differs by more than this factor, even when typical delays are
/// equal.
pub(crate) const STRIKING: f64 = 4.0;
/// A loss greater by this fraction of the packets counts as much as harm greater by `NOTABLE`.
pub const NOTABLE_LOSS: f64 = 0.05;
/// A completion time that is longer by this part counts as much as harm greater by `NOTABLE`, because
/// users notice about a tenth. A shorter difference than this, in seconds, nobody notices.
pub const NOTICED: f64 = 0.1;
/// See [`NOTICED`].
pub const UNNOTICED_SECONDS: f64 = 0.02;
/// With senders that react, a loss greater by this fraction of a call's packets counts as much as harm
/// greater by `NOTABLE`: it is heard from about a hundredth on (ITU-T G.113).
const NOTABLE_LOSS_OF_CALL: f64 = 0.01;
/// A wait that no caller notices: half of the usual time between two packets of a call.
const UNNOTICED_IN_CALL: f64 = 0.01;
/// Step in which least shares are compared when all flows are bulk.
const NOTABLE_SHARE: f64 = 0.025;
/// Negligible harm to bulk flows: about 8% less than the fair share.
const NEGLIGIBLE_BULK_SECONDS: f64 = 0.1;

/// Harm of a discipline, in seconds.
pub(crate) struct Harm {
    /// Some kind of flow suffers more than a negligible harm.
    pub(crate) is_felt: bool,
    /// Divide the harm to each kind by the least harm to it under a discipline that may be
    /// recommended: this is the largest quotient. Harm below the negligible amount counts as that
    /// amount.
    pub(crate) regret: f64,
    /// The same, but relative to the least harm under any discipline.
    pub(crate) regret_among_all: f64,
    /// The kind whose quotient is `regret`.
    pub(crate) hurt: Option<Kind>,
    /// What the smallest share lacks to the fair share, if all flows are bulk. Otherwise 0.
    pub(crate) lacking: f64,
    /// Harm to all packets together.
    pub(crate) total: f64,
}

impl Harm {
    /// `lacking` in steps of `NOTABLE_SHARE`, because steps keep an order transitive.
    pub(crate) fn division(&self) -> f64 {
        (self.lacking / NOTABLE_SHARE).round()
    }
}

/// What harm to a kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Packets' delay.
    Delay,
    /// The same for calls of senders that react.
    Call,
    /// The time until answers are complete, which contains the delay and the losses of their packets.
    Completion,
}

struct KindHarm {
    kind: Kind,
    /// What `seconds` are.
    measure: Measure,
    /// The largest of three:
    /// - the harm to a typical flow: the geometric mean, in which each flow counts alike
    /// - the typical delay, plus what the loss among all packets of the kind costs, because a few
    ///   starved flows hardly change the mean
    /// - a quarter of the harm to the worst flow.
    seconds: f64,
    /// The loss that counts. For a light kind it is the loss among its packets, but
    /// acknowledgements have none. For bulk it is what the worst-off flow lacks to its fair share.
    loss: f64,
}

impl KindHarm {
    fn of(comparison: &Comparison, result: &DisciplineResult, outcome: &KindOutcome) -> Self {
        let reacts = comparison.reaction.is_some();
        if let Some(seconds) = completion(comparison, outcome) {
            return Self {
                kind: outcome.kind,
                measure: Measure::Completion,
                seconds,
                loss: 0.0,
            };
        }
        let mut harms = Vec::new();
        let mut worst = 0.0_f64;
        for flow in comparison.flows_of(outcome.kind) {
            let harm = flow_harm(comparison, result, flow);
            worst = worst.max(harm / STRIKING);
            harms.push(harm.max(LEAST_SECONDS));
        }
        let typical = geometric_mean(harms.into_iter()).unwrap_or(0.0);
        let (together, loss) = match outcome.kind {
            Kind::Bulk => (0.0, 1.0 - outcome.least_share.unwrap_or(1.0).min(1.0)),
            // Transfers show what their acknowledgements' delay costs.
            Kind::Acknowledgements if reacts => {
                return Self {
                    kind: outcome.kind,
                    measure: Measure::Delay,
                    seconds: 0.0,
                    loss: 0.0,
                };
            }
            Kind::Acknowledgements => (outcome.p99.unwrap_or(0.0), 0.0),
            Kind::Call | Kind::Dns | Kind::Web | Kind::Other => {
                let together = outcome.p99.unwrap_or(0.0) + retries(outcome.loss);
                (together, outcome.loss)
            }
        };
        let is_call = reacts && outcome.kind == Kind::Call;
        Self {
            kind: outcome.kind,
            measure: if is_call {
                Measure::Call
            } else {
                Measure::Delay
            },
            seconds: typical.max(together).max(worst),
            loss,
        }
    }

    /// Harm up to this counts as none.
    fn floor(&self, negligible: f64) -> f64 {
        match self.measure {
            _ if self.kind == Kind::Bulk => NEGLIGIBLE_BULK_SECONDS,
            Measure::Call => negligible.max(UNNOTICED_IN_CALL),
            Measure::Delay | Measure::Completion => negligible,
        }
    }

    /// Completion times alone do not tell whether anything waited.
    fn is_felt(&self, negligible: f64) -> bool {
        self.measure != Measure::Completion && self.seconds > self.floor(negligible)
    }
}

/// The mean time until answers of a kind are complete, where senders react and users wait for it:
/// pages, chunks of video and short files. Transfers without end and calls have other figures.
pub(crate) fn completion(comparison: &Comparison, outcome: &KindOutcome) -> Option<f64> {
    let is_waited_for = matches!(outcome.kind, Kind::Web | Kind::Other);
    let is_simulated = comparison.reaction.is_some();
    let served = outcome.served.filter(|_| is_waited_for && is_simulated);
    served?.mean
}

/// The harm that all disciplines do, by these results. Ratios are relative to the least harm among
/// `fit`.
pub(crate) fn harms(
    comparison: &Comparison,
    results: &[DisciplineResult],
    fit: &[usize],
    negligible: f64,
) -> Vec<Harm> {
    let mut table = Table {
        rows: Vec::new(),
        negligible,
    };
    let mut least_loss = 1.0_f64;
    for result in results {
        let mut kinds = Vec::new();
        for outcome in &result.kinds {
            kinds.push(KindHarm::of(comparison, result, outcome));
        }
        table.rows.push(kinds);
        least_loss = least_loss.min(result.total.loss);
    }
    let everyone: Vec<usize> = (0..results.len()).collect();
    let mut harms = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let kinds = &table.rows[index];
        let (regret, hurt) = table.regret(index, fit);
        let (regret_among_all, _) = table.regret(index, &everyone);
        // The lacking share counts only if bulk is the only kind.
        let lacking = match &kinds[..] {
            [harm] if harm.kind == Kind::Bulk => harm.loss,
            _ => 0.0,
        };
        harms.push(Harm {
            is_felt: kinds.iter().any(|harm| harm.is_felt(negligible)),
            regret,
            regret_among_all,
            hurt,
            lacking,
            total: total_harm(&result.total, least_loss),
        });
    }
    harms
}

/// The harm that each discipline does to each kind.
struct Table {
    rows: Vec<Vec<KindHarm>>,
    negligible: f64,
}

impl Table {
    /// A discipline's harm to a kind, divided by the least harm to it `among` these disciplines:
    /// the largest quotient, with its kind. Among equal quotients the first kind counts, the most
    /// sensitive one.
    fn regret(&self, discipline: usize, among: &[usize]) -> (f64, Option<Kind>) {
        let mut most: Option<(f64, Kind)> = None;
        for (column, harm) in self.rows[discipline].iter().enumerate() {
            let ratio = self.ratio(harm, column, among);
            if most.is_none_or(|(regret, _)| ratio > regret) {
                most = Some((ratio, harm.kind));
            }
        }
        match most {
            Some((regret, kind)) => (regret, Some(kind)),
            None => (1.0, None),
        }
    }

    fn ratio(&self, harm: &KindHarm, column: usize, among: &[usize]) -> f64 {
        let mut least_seconds = f64::INFINITY;
        let mut least_loss = f64::INFINITY;
        for other in among {
            let other = &self.rows[*other][column];
            least_seconds = least_seconds.min(other.seconds);
            least_loss = least_loss.min(other.loss);
        }
        if harm.measure == Measure::Completion {
            let longer = harm.seconds - least_seconds;
            if longer <= UNNOTICED_SECONDS || least_seconds <= 0.0 {
                return 1.0;
            }
            return 1.0 + longer / least_seconds / NOTICED * (NOTABLE - 1.0);
        }
        let notable_loss = match harm.measure {
            Measure::Call => NOTABLE_LOSS_OF_CALL,
            Measure::Delay | Measure::Completion => NOTABLE_LOSS,
        };
        let floor = harm.floor(self.negligible);
        let by_seconds = harm.seconds.max(floor) / least_seconds.max(floor);
        let by_loss = 1.0 + (harm.loss - least_loss) / notable_loss * (NOTABLE - 1.0);
        by_seconds.max(by_loss)
    }
}

/// Harm to all packets together. Overload makes some losses unavoidable, so only those beyond
/// `least` count.
fn total_harm(outcome: &Outcome, least: f64) -> f64 {
    match outcome.delay {
        Some(delay) => delay.p99 + retries(outcome.loss - least),
        None => LONGEST_RETRY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{comparison, reacting};

    /// Where senders react, pages count by the time until they are complete, and packets' delay does
    /// not: 156 and 171 ms are less than a user notices, 156 and 300 are more. A call that loses two
    /// hundredths more counts, and one that waits 9 ms in place of 2 does not.
    #[test]
    fn what_users_wait_for_decides_where_senders_react() {
        let regrets = |kind: Kind, done: Option<[f64; 2]>, p99: [f64; 2], loss: [f64; 2]| {
            let mut comparison = reacting(&["drr", "qfq"]);
            for number in 0..2 {
                let outcome = &mut comparison.disciplines[number].kinds[0];
                (outcome.kind, outcome.p99) = (kind, Some(p99[number]));
                outcome.loss = loss[number];
                outcome.served = done.map(|done| roundelay_trace::Served {
                    throughput: 1e6,
                    transfers: 9.0,
                    unfinished: 0.0,
                    mean: Some(done[number]),
                    p50: None,
                    p99: None,
                });
                let flow = &mut comparison.disciplines[number].flows[0].outcome;
                flow.loss = loss[number];
                if let Some(delay) = &mut flow.delay {
                    delay.p99 = p99[number];
                }
            }
            let harms = harms(&comparison, &comparison.disciplines, &[0, 1], 1e-4);
            [harms[0].regret, harms[1].regret]
        };
        let near = [0.156, 0.171];
        let [_, cake] = regrets(Kind::Web, Some(near), [0.5, 0.001], [0.0; 2]);
        assert_eq!(cake, 1.0);
        let [ours, other] = regrets(Kind::Web, Some([0.156, 0.3]), [0.5, 0.001], [0.0; 2]);
        assert!(ours == 1.0 && other > 2.0, "{ours}, {other}");
        let [ours, other] = regrets(Kind::Call, None, [0.002, 0.009], [0.0; 2]);
        assert_eq!([ours, other], [1.0; 2]);
        let [_, other] = regrets(Kind::Call, None, [0.002; 2], [0.0, 0.02]);
        assert!(other > NOTABLE, "{other}");
    }

    /// What lacks of a fair share counts where all flows are bulk.
    #[test]
    fn a_share_lacks_where_all_flows_are_bulk() {
        let mut comparison = comparison(&["drr"]);
        let outcome = &mut comparison.disciplines[0].kinds[0];
        (outcome.loss, outcome.least_share) = (0.5, Some(0.75));
        for (kind, lacking) in [(Kind::Call, 0.0), (Kind::Bulk, 0.25)] {
            comparison.disciplines[0].kinds[0].kind = kind;
            let harms = harms(&comparison, &comparison.disciplines, &[0], 1e-4);
            assert_eq!(harms[0].lacking, lacking, "{kind:?}");
        }
    }
}

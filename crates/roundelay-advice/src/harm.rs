//! How much harm each discipline does to each kind of flow, compared with the least possible.

use roundelay_metrics::geometric_mean;
use roundelay_trace::{
    Comparison, DisciplineResult, Kind, KindOutcome, LONGEST_RETRY, Outcome, flow_harm, retries,
};

/// Less harm than this counts as this much in geometric means, because these cannot take zero.
const LEAST_SECONDS: f64 = 1e-6;
/// Harms count as equal if their ratio is below this factor.
pub(crate) const NOTABLE: f64 = 1.25;
/// A flow is named if its delay differs by more than this factor, even when typical delays are
/// equal.
pub(crate) const STRIKING: f64 = 4.0;
/// A loss greater by this fraction of the packets counts as much as harm greater by `NOTABLE`.
pub(crate) const NOTABLE_LOSS: f64 = 0.05;
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

struct KindHarm {
    kind: Kind,
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
            Kind::Acknowledgements => (outcome.p99.unwrap_or(0.0), 0.0),
            Kind::Call | Kind::Dns | Kind::Web | Kind::Other => {
                let together = outcome.p99.unwrap_or(0.0) + retries(outcome.loss);
                (together, outcome.loss)
            }
        };
        Self {
            kind: outcome.kind,
            seconds: typical.max(together).max(worst),
            loss,
        }
    }

    /// Harm up to this counts as none.
    fn floor(&self, negligible: f64) -> f64 {
        if self.kind == Kind::Bulk {
            NEGLIGIBLE_BULK_SECONDS
        } else {
            negligible
        }
    }

    fn is_felt(&self, negligible: f64) -> bool {
        self.seconds > self.floor(negligible)
    }
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
        let floor = harm.floor(self.negligible);
        let by_seconds = harm.seconds.max(floor) / least_seconds.max(floor);
        let by_loss = 1.0 + (harm.loss - least_loss) / NOTABLE_LOSS * (NOTABLE - 1.0);
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
    use crate::sample::comparison;

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

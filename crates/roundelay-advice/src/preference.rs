//! Reasons of a verdict: why the best discipline is not the one with the lowest figure in the
//! table.
//!
//! The verdict quotes one column: the delay of a typical light flow, or of all packets if no flow
//! is light. The choice is made by harm to kinds of flows, with a threshold for small differences,
//! and by the standing of a discipline (`standing.rs`). Reasons follow the order of the criteria in
//! `verdict.rs`, and quote the compared figures.

use std::cmp::Ordering;

use roundelay_metrics::units::{percent, seconds as precise, significant};

use roundelay_trace::{Comparison, DisciplineResult, Kind, KindOutcome, Outcome};

use crate::standing::{Obstacle, Standing};
use crate::verdict::{CLOSE, Harm, NOTABLE, memory, notably};

/// Figures with a ratio below this factor look equal in the table.
const VISIBLE: f64 = 1.005;

/// Losses that differ by less than this fraction of the packets are no reason beside a delay.
const VISIBLE_LOSS: f64 = 0.005;

/// The verdict's choice and its inputs.
pub(crate) struct Preference<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) harms: &'a [Harm],
    pub(crate) standings: &'a [Standing],
    /// Disciplines that may be recommended.
    pub(crate) fit: &'a [usize],
    pub(crate) best: usize,
    /// Some flows are light.
    pub(crate) has_light: bool,
    /// The choice was made by harm. Otherwise harm differs too little to matter, and the plainest
    /// discipline was chosen.
    pub(crate) by_harm: bool,
    /// Delays of at most this count as none, seconds.
    pub(crate) negligible: f64,
}

impl Preference<'_> {
    /// A sentence for each kind of discipline that beats the best one and was not chosen.
    pub(crate) fn reasons(&self) -> Vec<String> {
        if let Some(obstacle) = self.standings[self.best].obstacle {
            return vec![format!(
                "But {} {}.",
                self.spec(self.best),
                obstacle.reason()
            )];
        }
        let barred = self.barred();
        let bar = barred.as_ref().map(|(obstacle, _)| *obstacle);
        let ahead = self.ahead(0..self.results().len());
        let unfit = ahead
            .and_then(|ahead| Some((ahead, self.standings[ahead].obstacle?)))
            .filter(|(_, obstacle)| Some(*obstacle) != bar);
        let unfit = unfit
            .map(|(ahead, obstacle)| format!("{}, but {}.", self.lower(ahead), obstacle.reason()));
        let passed_over = self
            .ahead(self.fit.iter().copied())
            .map(|ahead| format!("{}, but {}.", self.lower(ahead), self.why_not(ahead)));
        barred
            .map(|(_, sentence)| sentence)
            .into_iter()
            .chain(unfit)
            .chain(passed_over)
            .collect()
    }

    /// The discipline with notably less harm that cannot be recommended.
    fn barred(&self) -> Option<(Obstacle, String)> {
        let first = (0..self.harms.len()).min_by(|a, b| {
            self.harms[*a]
                .regret_among_all
                .total_cmp(&self.harms[*b].regret_among_all)
        })?;
        let better =
            self.harms[first].regret_among_all * NOTABLE < self.harms[self.best].regret_among_all;
        let obstacle = self.standings[first].obstacle.filter(|_| better)?;
        Some((
            obstacle,
            format!(
                "{} would do less harm, but {}.",
                self.spec(first),
                obstacle.reason()
            ),
        ))
    }

    /// The discipline with the lowest figure, if visibly lower than the best discipline's.
    fn ahead(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        let best = self.figure(self.best)?;
        let figures = among.filter_map(|index| Some((index, self.figure(index)?)));
        let (first, figure) = figures.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (figure * VISIBLE < best && precise(figure) != precise(best)).then_some(first)
    }

    /// Why a discipline with a lower figure that may be recommended was not chosen: the first
    /// criterion that differs.
    fn why_not(&self, ahead: usize) -> String {
        if !self.by_harm {
            return format!(
                "the difference does not matter here, and {}",
                self.less_plain(ahead)
            );
        }
        let least = self
            .fit
            .iter()
            .map(|index| self.harms[*index].regret)
            .fold(f64::INFINITY, f64::min);
        if self.harms[ahead].regret > least * CLOSE {
            let named = self.harms[ahead]
                .hurt
                .and_then(|kind| self.harm_to(kind, ahead));
            return named.unwrap_or_else(|| {
                let [theirs, ours] = [ahead, self.best].map(|index| significant(self.harms[index].regret));
                format!(
                    "does {theirs} times the least possible harm to the kind of flows that suffers most, where {} does {ours} times",
                    self.spec(self.best)
                )
            });
        }
        let equal = self.equal(ahead);
        format!("{equal}, and {}", self.less_wanted(ahead))
    }

    /// What a kind of flows suffers, where this is more than under the best discipline.
    fn harm_to(&self, kind: Kind, ahead: usize) -> Option<String> {
        let of = |index: usize| {
            self.results()[index]
                .kinds
                .iter()
                .find(|outcome| outcome.kind == kind)
        };
        let theirs = of(ahead)?;
        let ours = of(self.best)?;
        if kind == Kind::Bulk {
            return Some(self.unfairness(ahead));
        }
        let name = kind.name();
        let spec = self.spec(self.best);
        let Some(wait) = theirs.p99 else {
            return Some(format!("nothing gets through of {name}"));
        };
        if theirs.loss > ours.loss + VISIBLE_LOSS && kind != Kind::Acknowledgements {
            let lost = percent(theirs.loss);
            let cost = match kind {
                Kind::Call => ", and no call sends a packet again",
                Kind::Dns | Kind::Web => {
                    ", and a loss costs its sender a second of waiting or more"
                }
                _ => "",
            };
            return Some(format!("loses {lost} of the packets of {name}{cost}"));
        }
        let typical = ours
            .p99
            .filter(|least| wait > least * CLOSE)
            .map(|least| (name.to_owned(), wait, least));
        let worst = |outcome: &KindOutcome| outcome.worst_p99;
        let label = || {
            format!(
                "{}, the worst of {name},",
                self.comparison.flows[theirs.worst].label
            )
        };
        let (whose, wait, least) =
            typical.or_else(|| Some((label(), worst(theirs)?, worst(ours)?)))?;
        (wait > least).then(|| {
            format!(
                "delays {whose} more ({} against {} under {spec})",
                precise(wait),
                precise(least)
            )
        })
    }

    fn unfairness(&self, ahead: usize) -> String {
        let least = |index: usize| {
            let bulk = self.results()[index]
                .kinds
                .iter()
                .find_map(|outcome| outcome.least_share);
            percent(bulk.unwrap_or(1.0))
        };
        let [ours, theirs] = [self.best, ahead].map(least);
        format!(
            "leaves a flow {theirs} of its fair share, where each gets at least {ours} under {}",
            self.spec(self.best)
        )
    }

    /// Why the harm of two disciplines counts as equal, in the figures quoted before or in those
    /// compared.
    fn equal(&self, ahead: usize) -> String {
        let losses = if self.outcome(ahead).loss + self.outcome(self.best).loss > 0.0 {
            ", losses counted in"
        } else {
            ""
        };
        let quoted = [self.best, ahead].map(|index| self.figure(index).unwrap_or(f64::INFINITY));
        let [ours, theirs] = [self.best, ahead].map(|index| self.harms[index].regret);
        if quoted[0] < quoted[1] * CLOSE {
            return format!("less than a factor of {CLOSE} between the two counts as none{losses}");
        }
        if quoted.iter().all(|figure| *figure <= self.negligible) {
            return format!(
                "a delay of less than {} counts as none here",
                precise(self.negligible)
            );
        }
        format!(
            "less than a factor of {CLOSE} in the harm to the kind of flows that suffers most counts as none ({} times the least possible \
             under {}, {} times under {})",
            significant(theirs),
            self.spec(ahead),
            significant(ours),
            self.spec(self.best)
        )
    }

    /// The criterion between two disciplines of about equal harm.
    fn less_wanted(&self, ahead: usize) -> String {
        let best = self.best;
        let is_on_linux = |index: usize| self.standings[index].on_linux;
        if is_on_linux(best) && !is_on_linux(ahead) {
            return "no tc commands are known for it".to_owned();
        }
        if self.harms[ahead].division() > self.harms[best].division() {
            return format!("it {}", self.unfairness(ahead));
        }
        let harm = notably(self.harms[best].total, self.harms[ahead].total);
        if harm == Ordering::Less {
            let of = |index: usize| {
                let Outcome { delay, loss, .. } = &self.results()[index].total;
                let within = delay.map_or_else(
                    || "nothing gets through".to_owned(),
                    |delay| format!("99% within {}", precise(delay.p99)),
                );
                if *loss > 0.0 {
                    format!("{within}, {} lost", percent(*loss))
                } else {
                    within
                }
            };
            return format!(
                "{} does less harm to all packets together ({} against {})",
                self.spec(best),
                of(best),
                of(ahead)
            );
        }
        self.less_plain(ahead)
    }

    fn less_plain(&self, ahead: usize) -> String {
        let [best, other] = [self.best, ahead].map(|index| self.standings[index]);
        match memory(&self.results()[self.best]).cmp(&memory(&self.results()[ahead])) {
            _ if best.keeps_order && !other.keeps_order => "it reorders packets".to_owned(),
            _ if best.on_linux && !other.on_linux => "no tc commands are known for it".to_owned(),
            Ordering::Less => "it takes more memory".to_owned(),
            _ => format!("{} was named first", self.spec(self.best)),
        }
    }

    /// `qfq delays a typical light flow less than drr (17.3 ms against 18.1 ms)`.
    fn lower(&self, ahead: usize) -> String {
        let figure = |index| self.figure(index).map_or_else(String::new, precise);
        let whose = if self.has_light {
            "delays a typical light flow less"
        } else {
            "delays packets less"
        };
        format!(
            "{} {whose} than {} ({} against {})",
            self.spec(ahead),
            self.spec(self.best),
            figure(ahead),
            figure(self.best)
        )
    }

    /// The figure quoted by the verdict.
    fn figure(&self, index: usize) -> Option<f64> {
        let result = &self.results()[index];
        if self.has_light {
            result.light_p99
        } else {
            result.total.delay.map(|delay| delay.p99)
        }
    }

    fn outcome(&self, index: usize) -> &Outcome {
        let result = &self.results()[index];
        if self.has_light {
            &result.light
        } else {
            &result.total
        }
    }

    fn results(&self) -> &[DisciplineResult] {
        &self.comparison.disciplines
    }

    fn spec(&self, index: usize) -> &str {
        &self.results()[index].spec
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use roundelay_trace::{Capture, Options, compare};

    /// A call of 100 packets of 200 bytes.
    pub(crate) fn capture() -> Capture {
        let header = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101];
        let mut bytes: Vec<u8> = header
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect();
        for number in 0..100_u32 {
            bytes.extend(
                [0, number * 1000, 28, 200]
                    .iter()
                    .flat_map(|field| field.to_le_bytes()),
            );
            bytes.extend([
                0x45, 0, 0, 200, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 20, 0, 20, 1,
                0, 180, 0, 0,
            ]);
        }
        Capture::from_reader("t.pcap", std::io::Cursor::new(bytes)).unwrap()
    }

    /// The reason against qfq where drr was chosen: with these p99 of light flows, quotients of
    /// harm, and negligible delay.
    fn reason(waits: [f64; 2], regrets: [f64; 2], negligible: f64) -> String {
        reason_of(Kind::Call, waits, regrets, negligible)
    }

    /// The same where this kind of flows decided; for bulk the waits are shares.
    fn reason_of(hurt: Kind, [drr, qfq]: [f64; 2], regrets: [f64; 2], negligible: f64) -> String {
        let specs = ["drr", "qfq"].map(|text| text.parse().unwrap());
        let options = Options {
            measure_cost: false,
            ..Options::new("10mbit".parse().unwrap(), specs.to_vec())
        };
        let mut comparison = compare(capture(), &options, &mut ()).unwrap();
        for (result, wait) in comparison.disciplines.iter_mut().zip([drr, qfq]) {
            result.light_p99 = Some(wait);
            let kind = &mut result.kinds[0];
            (kind.kind, kind.p99, kind.worst_p99, kind.loss) = (hurt, Some(wait), Some(wait), 0.0);
            kind.least_share = (hurt == Kind::Bulk).then_some(wait);
        }
        let harms = regrets.map(|regret| Harm {
            is_felt: true,
            regret,
            regret_among_all: 1.0,
            hurt: Some(hurt),
            lacking: 0.0,
            total: 1.0,
        });
        let standing = Standing {
            on_linux: true,
            keeps_order: true,
            one_queue: false,
            obstacle: None,
        };
        let standings = [standing; 2];
        let fit = [0, 1];
        let has_light = true;
        let by_harm = true;
        let preference = Preference {
            comparison: &comparison,
            harms: &harms,
            standings: &standings,
            fit: &fit,
            best: 0,
            has_light,
            by_harm,
            negligible,
        };
        preference.reasons().join(" ")
    }

    /// Regression: "414 us against 1.39 ms, but less than a factor of 1.5 between the two counts as
    /// none".
    #[test]
    fn a_reason_holds_for_the_figures_that_it_quotes() {
        let near = reason([1.2e-3, 1.0e-3], [1.2, 1.0], 1e-4);
        assert!(near.contains("(1.00 ms against 1.20 ms), but less than a factor of 1.5 between the two counts as none, and"), "{near}");
        let small = reason([1.39e-3, 414e-6], [1.0, 1.0], 6e-3);
        assert!(small.contains("(414 us against 1.39 ms), but a delay of less than 6.00 ms counts as none here, and"), "{small}");
        let far = reason([1.39e-3, 414e-6], [1.4, 1.0], 1e-4);
        assert!(far.contains("in the harm to the kind of flows that suffers most counts as none (1.00 times the least possible under qfq, 1.40 times under drr)"), "{far}");
    }

    #[test]
    fn a_lower_figure_bought_with_unfairness_is_explained() {
        let unfair = reason_of(Kind::Bulk, [0.9, 0.2], [1.0, 9.0], 1e-4);
        assert!(unfair.ends_with("but leaves a flow 20.0% of its fair share, where each gets at least 90.0% under drr."), "{unfair}");
    }

    /// Regression: a loss of 0% was the reason against a discipline that hurts by delay.
    #[test]
    fn a_reason_names_the_kind_that_decided() {
        let hurt = reason([2.0e-3, 1.0e-3], [1.0, 9.0], 1e-4);
        assert!(
            hurt.contains("but does 9.00 times the least possible harm") && !hurt.contains("loses"),
            "{hurt}"
        );
    }
}

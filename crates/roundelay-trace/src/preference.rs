//! Reasons of a verdict: why the best discipline is not the one with the lowest figure in the
//! table.
//!
//! The verdict quotes one column: the delay of a typical light flow, or of all packets if no flow
//! is light. The choice also depends on losses, on a threshold for small differences, and on the
//! standing of a discipline (`standing.rs`).

use std::cmp::Ordering;

use roundelay_metrics::units::{percent, seconds as precise};

use crate::comparison::{DisciplineResult, Outcome};
use crate::standing::{Obstacle, Standing};
use crate::verdict::{CLOSE, Harm, NOTABLE, memory, notably};

/// Figures with a ratio below this factor look equal in the table.
const VISIBLE: f64 = 1.005;

/// The verdict's choice and its inputs.
pub(crate) struct Preference<'a> {
    pub(crate) results: &'a [DisciplineResult],
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
}

impl Preference<'_> {
    /// A sentence for each kind of discipline that beats the best one and was not chosen.
    pub(crate) fn reasons(&self) -> Vec<String> {
        if let Some(obstacle) = self.standings[self.best].obstacle {
            return vec![format!("But {} {}.", self.spec(self.best), obstacle.reason())];
        }
        let barred = self.barred();
        let bar = barred.as_ref().map(|(obstacle, _)| *obstacle);
        let ahead = self.ahead(0..self.results.len());
        let unfit = ahead.and_then(|ahead| Some((ahead, self.standings[ahead].obstacle?))).filter(|(_, obstacle)| Some(*obstacle) != bar);
        let unfit = unfit.map(|(ahead, obstacle)| format!("{}, but {}.", self.lower(ahead), obstacle.reason()));
        let passed_over = self.ahead(self.fit.iter().copied()).map(|ahead| format!("{}, but {}.", self.lower(ahead), self.why_not(ahead)));
        barred.map(|(_, sentence)| sentence).into_iter().chain(unfit).chain(passed_over).collect()
    }

    /// The discipline with notably less harm that cannot be recommended.
    fn barred(&self) -> Option<(Obstacle, String)> {
        let first = (0..self.harms.len()).min_by(|a, b| self.harms[*a].regret_among_all.total_cmp(&self.harms[*b].regret_among_all))?;
        let better = self.harms[first].regret_among_all * NOTABLE < self.harms[self.best].regret_among_all;
        let obstacle = self.standings[first].obstacle.filter(|_| better)?;
        Some((obstacle, format!("{} would do less harm, but {}.", self.spec(first), obstacle.reason())))
    }

    /// The discipline with the lowest figure, if visibly lower than the best discipline's.
    fn ahead(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        let best = self.figure(self.best)?;
        let figures = among.filter_map(|index| Some((index, self.figure(index)?)));
        let (first, figure) = figures.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (figure * VISIBLE < best).then_some(first)
    }

    /// Why a discipline with a lower figure that may be recommended was not chosen: the first
    /// criterion that differs.
    fn why_not(&self, ahead: usize) -> String {
        if !self.by_harm {
            return format!("the difference does not matter here, and {}", self.less_plain(ahead));
        }
        let [here, there] = [&self.harms[self.best], &self.harms[ahead]];
        if there.division() > here.division() {
            let [ours, theirs] = [here, there].map(|harm| percent(1.0 - harm.lacking));
            return format!("leaves a flow {theirs} of its fair share, where each gets {ours} under {}", self.spec(self.best));
        }
        let least = self.fit.iter().map(|index| self.harms[*index].regret).fold(f64::INFINITY, f64::min);
        if self.harms[ahead].regret > least * CLOSE {
            let (whose, lost) = (if self.has_light { "their" } else { "all" }, percent(self.outcome(ahead).loss));
            return format!("loses {lost} of {whose} packets, and a loss costs its sender a second of waiting or more");
        }
        let losses = if self.outcome(ahead).loss + self.outcome(self.best).loss > 0.0 { ", losses counted in" } else { "" };
        let equal = format!("less than a factor of {CLOSE} between the two counts as none{losses}");
        format!("{equal}, and {}", self.less_wanted(ahead))
    }

    /// The criterion between two disciplines of about equal harm.
    fn less_wanted(&self, ahead: usize) -> String {
        let best = self.best;
        let harm = notably(self.harms[best].total, self.harms[ahead].total);
        if self.standings[best].on_linux == self.standings[ahead].on_linux && harm == Ordering::Less {
            let of = |index: usize| {
                let Outcome { delay, loss, .. } = &self.results[index].total;
                let within = delay.map_or_else(|| "nothing gets through".to_owned(), |delay| format!("99% within {}", precise(delay.p99)));
                if *loss > 0.0 { format!("{within}, {} lost", percent(*loss)) } else { within }
            };
            return format!("{} does less harm to all packets together ({} against {})", self.spec(best), of(best), of(ahead));
        }
        let lacks_commands = self.standings[best].on_linux && !self.standings[ahead].on_linux;
        if lacks_commands { "no tc commands are known for it".to_owned() } else { self.less_plain(ahead) }
    }

    fn less_plain(&self, ahead: usize) -> String {
        let [best, other] = [self.best, ahead].map(|index| self.standings[index]);
        match memory(&self.results[self.best]).cmp(&memory(&self.results[ahead])) {
            _ if best.keeps_order && !other.keeps_order => "it reorders packets".to_owned(),
            _ if best.on_linux && !other.on_linux => "no tc commands are known for it".to_owned(),
            Ordering::Less => "it takes more memory".to_owned(),
            _ => format!("{} was named first", self.spec(self.best)),
        }
    }

    /// `qfq delays light flows less than drr (17.3 ms against 18.1 ms)`.
    fn lower(&self, ahead: usize) -> String {
        let figure = |index| self.figure(index).map_or_else(String::new, precise);
        let whose = if self.has_light { "delays light flows less" } else { "delays packets less" };
        format!("{} {whose} than {} ({} against {})", self.spec(ahead), self.spec(self.best), figure(ahead), figure(self.best))
    }

    /// The figure quoted by the verdict.
    fn figure(&self, index: usize) -> Option<f64> {
        let result = &self.results[index];
        if self.has_light { result.light_p99 } else { result.total.delay.map(|delay| delay.p99) }
    }

    fn outcome(&self, index: usize) -> &Outcome {
        let result = &self.results[index];
        if self.has_light { &result.light } else { &result.total }
    }

    fn spec(&self, index: usize) -> &str {
        &self.results[index].spec
    }
}

//! Findings: what a predicate finds, with the deciding number, its 95% interval and the required
//! range.

use roundelay_sim::scenario::Interval;

/// Whether a predicate is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// False over the whole intervals.
    Fails,
    /// True in only a part of the intervals.
    Undecided,
    /// True over the whole intervals.
    Holds,
}

/// Runs behind a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Nothing was drawn, or the number is published: one run is as good as many.
    Exact,
    /// The number of runs that drew something.
    Drawn(usize),
}

impl Runs {
    /// Fewest runs with an interval worth the name, because one run has none, and that of two is 13
    /// standard deviations wide.
    pub const FEWEST: usize = 3;

    /// How many runs there are, if they are too few for a verdict.
    pub const fn too_few(self) -> Option<usize> {
        match self {
            Self::Drawn(runs) if runs < Self::FEWEST => Some(runs),
            _ => None,
        }
    }
}

/// What a predicate found, with the deciding numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Runs behind the deciding number.
    pub runs: Runs,
    /// True if a compared figure was not measured.
    pub is_missing: bool,
    /// Whether the predicate is true.
    pub truth: Truth,
    /// The result in words: `DRR: f0 delay, ms is 134.9 +- 2.1 (n = 20), needed 100 to 160`.
    pub words: String,
    /// The deciding number, if any.
    pub compared: Option<Compared>,
}

/// A number with its interval and the required range.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the figure, or of two figures and how they are compared.
    pub what: String,
    /// Mean and 95% interval.
    pub interval: Interval,
    /// Lower limit.
    pub from: Option<f64>,
    /// Upper limit.
    pub to: Option<f64>,
}

/// Whether several predicates are true together, which they are if each is true.
pub fn truth_of(findings: &[Finding]) -> Truth {
    let truths = findings.iter().map(|finding| finding.truth);
    truths.min().unwrap_or(Truth::Undecided)
}

impl Finding {
    pub(crate) fn within(
        what: &str,
        interval: Interval,
        runs: Runs,
        from: Option<f64>,
        to: Option<f64>,
    ) -> Self {
        let half = interval.half_width.unwrap_or(0.0);
        let low = interval.mean - half;
        let high = interval.mean + half;
        let lower = from.unwrap_or(f64::NEG_INFINITY);
        let upper = to.unwrap_or(f64::INFINITY);
        let truth = if low >= lower && high <= upper {
            Truth::Holds
        } else if high < lower || low > upper {
            Truth::Fails
        } else {
            Truth::Undecided
        };
        let compared = Some(Compared {
            what: what.to_owned(),
            interval,
            from,
            to,
        });
        Self {
            compared,
            ..Self::new(
                truth,
                runs,
                format!(
                    "{what} is {}, needed {}",
                    measured(interval, runs),
                    range(from, to)
                ),
            )
        }
    }

    /// Too few runs decide nothing.
    pub(crate) fn new(truth: Truth, runs: Runs, words: String) -> Self {
        let truth = match runs.too_few() {
            Some(_) => Truth::Undecided,
            None => truth,
        };
        Self {
            runs,
            is_missing: false,
            truth,
            words,
            compared: None,
        }
    }

    pub(crate) fn missing(what: impl std::fmt::Display) -> Self {
        Self::unreadable(format!("{what} was not measured"))
    }

    /// The predicate does not name a figure.
    pub(crate) fn unreadable(words: String) -> Self {
        Self {
            is_missing: true,
            ..Self::new(Truth::Fails, Runs::Exact, words)
        }
    }

    /// Renames the compared number. The new name is the same in all variations.
    pub(crate) fn of(mut self, what: String) -> Self {
        if let Some(compared) = &mut self.compared {
            compared.what = what;
        }
        self
    }
}

/// Mean with interval and how many runs it has, in words.
pub fn measured(interval: Interval, runs: Runs) -> String {
    let mean = rounded(interval.mean);
    match (runs, interval.half_width) {
        (Runs::Drawn(1), _) => format!("{mean} (1 run)"),
        (Runs::Drawn(n), Some(half)) if half > 0.0 => {
            format!("{mean} ± {} (n = {n})", rounded(half))
        }
        _ => mean,
    }
}

/// Rounds to four significant digits.
pub fn rounded(value: f64) -> String {
    significant(value, 4)
}

/// Rounds to a number of significant digits. From four on, all digits before the point stay.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let after_point = digits - 1 - value.abs().log10().floor() as i32;
    let decimals = after_point.clamp(0, 9) as usize;
    let text = if digits < 4 && after_point < 0 {
        // 488 to two digits is 490.
        let unit = 10.0_f64.powi(-after_point);
        format!("{:.0}", (value / unit).round() * unit)
    } else {
        format!("{value:.decimals$}")
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The required range, in words.
pub(crate) fn range(from: Option<f64>, to: Option<f64>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => format!("{} to {}", rounded(from), rounded(to)),
        (Some(f64::MIN_POSITIVE), None) => "more than 0".to_owned(),
        (Some(from), None) => format!("at least {}", rounded(from)),
        (None, Some(to)) => format!("at most {}", rounded(to)),
        (None, None) => "a number".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formerly the missing interval of a single run was read as one of no width.
    #[test]
    fn few_runs_decide_nothing() {
        let interval = |half_width| Interval {
            mean: 5.0,
            half_width,
        };
        let finding =
            |half, runs| Finding::within("A: delay", interval(half), runs, Some(1.0), None);
        let single = finding(None, Runs::Drawn(1));
        assert_eq!(single.truth, Truth::Undecided);
        assert_eq!(single.words, "A: delay is 5 (1 run), needed at least 1");
        assert_eq!(
            finding(Some(0.0), Runs::Drawn(2)).truth,
            Truth::Undecided,
            "two equal values are no proof"
        );
        assert_eq!(finding(Some(0.1), Runs::Drawn(3)).truth, Truth::Holds);
        assert_eq!(finding(None, Runs::Exact).truth, Truth::Holds);
    }

    #[test]
    fn numbers_have_four_digits_that_count() {
        assert_eq!(
            [134.871, 0.000_123_456, 41_158.0, 2.0, 0.0].map(rounded),
            ["134.9", "0.0001235", "41158", "2", "0"]
        );
    }
}

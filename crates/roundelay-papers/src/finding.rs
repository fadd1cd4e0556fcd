//! Findings: result of a predicate, with the deciding number, its 95% interval and the required
//! range.

use roundelay_sim::scenario::Interval;

/// Truth of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// False over the whole of the intervals.
    Fails,
    /// True in a part of the intervals only.
    Undecided,
    /// True over the whole of the intervals.
    Holds,
}

/// Result of a predicate, with the deciding numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// True if a compared figure was not measured.
    pub is_missing: bool,
    /// The truth of the predicate.
    pub truth: Truth,
    /// The result in words: `DRR: f0 delay, ms is 134.9 +- 2.1 (n = 20), needed 100 to 160`.
    pub words: String,
    /// The deciding number, if any.
    pub compared: Option<Compared>,
}

/// A number with its interval and the required range.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the figure, or of two figures and their comparison.
    pub what: String,
    /// Mean and 95% interval.
    pub interval: Interval,
    /// Lower limit.
    pub from: Option<f64>,
    /// Upper limit.
    pub to: Option<f64>,
}

/// Truth of several predicates together: true if all are true.
pub fn truth_of(findings: &[Finding]) -> Truth {
    findings
        .iter()
        .map(|finding| finding.truth)
        .min()
        .unwrap_or(Truth::Undecided)
}

impl Finding {
    pub(crate) fn within(
        what: &str,
        interval: Interval,
        n: usize,
        from: Option<f64>,
        to: Option<f64>,
    ) -> Self {
        let half = interval.half_width.unwrap_or(0.0);
        let (low, high) = (interval.mean - half, interval.mean + half);
        let [lower, upper] = [
            from.unwrap_or(f64::NEG_INFINITY),
            to.unwrap_or(f64::INFINITY),
        ];
        let truth = match () {
            () if low >= lower && high <= upper => Truth::Holds,
            () if high < lower || low > upper => Truth::Fails,
            () => Truth::Undecided,
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
                format!(
                    "{what} is {}, needed {}",
                    measured(interval, n),
                    range(from, to)
                ),
            )
        }
    }

    pub(crate) const fn new(truth: Truth, words: String) -> Self {
        Self {
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
            ..Self::new(Truth::Fails, words)
        }
    }

    /// Renames the compared number; the new name is the same in all variations.
    pub(crate) fn of(mut self, what: String) -> Self {
        self.compared = self.compared.map(|compared| Compared { what, ..compared });
        self
    }
}

/// Mean with interval and number of seeds, in words.
pub fn measured(interval: Interval, n: usize) -> String {
    match interval.half_width {
        Some(half) if half > 0.0 => {
            format!("{} ± {} (n = {n})", rounded(interval.mean), rounded(half))
        }
        _ => rounded(interval.mean),
    }
}

/// Rounds to four significant digits.
pub fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
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

    #[test]
    fn numbers_have_four_digits_that_count() {
        assert_eq!(
            [134.871, 0.000_123_456, 41_158.0, 2.0, 0.0].map(rounded),
            ["134.9", "0.0001235", "41158", "2", "0"]
        );
    }
}

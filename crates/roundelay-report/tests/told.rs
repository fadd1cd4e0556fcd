//! A comparison with its advice as one value, for short tests.

use std::ops::Deref;

use roundelay_report::{Advised, Recommendation};
use roundelay_trace::{Capture, CompareError, Comparison, Options};

/// The figures, with notes and verdict beside them.
pub(crate) struct Told {
    comparison: Comparison,
    pub(crate) notes: Vec<String>,
    pub(crate) verdict: Recommendation,
}

impl Told {
    /// Every comparison has an answer and names a discipline.
    pub(crate) fn new(comparison: Comparison, options: &Options) -> Self {
        let Advised {
            comparison,
            notes,
            verdict,
            ..
        } = Advised::new(comparison, options, None);
        assert!(!verdict.sentences.is_empty() && verdict.best < Some(comparison.disciplines.len()));
        Self {
            comparison,
            notes,
            verdict,
        }
    }
}

impl Deref for Told {
    type Target = Comparison;

    fn deref(&self) -> &Comparison {
        &self.comparison
    }
}

/// Compares, and takes the advice.
pub(crate) fn compare(
    capture: Capture,
    options: &Options,
    (): &mut (),
) -> Result<Told, CompareError> {
    let comparison = roundelay_trace::compare(capture, options, &mut ())?;
    Ok(Told::new(comparison, options))
}

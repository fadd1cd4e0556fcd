//! The wanted width of confidence intervals: `--until ci=2%`.

use std::fmt;
use std::str::FromStr;

use roundelay::Fault;

/// Half the width of a confidence interval, as a part of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Precision(pub(super) f64);

impl FromStr for Precision {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let expected = || {
            let legal = "above 0% to 100%";
            Fault::new(format!(
                "expected ci=PART, as in ci=2%, legal range {legal}"
            ))
            .with_given(text)
            .with_legal(legal)
        };
        let part = text.strip_prefix("ci=").ok_or_else(expected)?;
        let (number, unit) = part
            .strip_suffix('%')
            .map_or((part, 1.0), |number| (number, 100.0));
        let part = number.parse::<f64>().map_err(|_| expected())? / unit;
        if part > 0.0 && part <= 1.0 {
            Ok(Self(part))
        } else {
            Err(expected())
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions_are_parts() {
        assert_eq!("ci=2%".parse(), Ok(Precision(0.02)));
        assert_eq!("ci=0.5".parse(), Ok(Precision(0.5)));
        assert!(
            ["2%", "ci=0", "ci=200%", "ci=x"]
                .iter()
                .all(|text| text.parse::<Precision>().is_err())
        );
    }
}

//! Noise in measured times: how far a figure varies from seed to seed on this machine.

use crate::figures::{Figures, Reference, Samples};
use crate::plan::Claim;

/// Times that vary by more than this, as a fraction of their median, decide nothing, because most
/// published differences that claims are about are larger, and an idle machine stays below.
pub const STEADY: f64 = 0.1;

/// The widest spread among the figures that a claim compares. A spread reaches from the smallest to
/// the largest value over the seeds, as a fraction of the median.
pub fn of_claim(claim: &Claim, figures: &Figures) -> f64 {
    let mut largest = 0.0_f64;
    for name in claim.needs.iter().flat_map(|need| need.figures()) {
        let Ok(reference) = Reference::parse(&name) else {
            continue;
        };
        if reference.is_published {
            continue;
        }
        if let Some(samples) = figures.at(&reference.figure, reference.x) {
            largest = largest.max(spread(samples));
        } else if reference.x.is_none() {
            for (_, samples) in figures.curve(&reference.figure).unwrap_or_default() {
                largest = largest.max(spread(samples));
            }
        }
    }
    largest
}

fn spread(samples: &Samples) -> f64 {
    let mut values = samples.values();
    values.sort_by(f64::total_cmp);
    match (values.first(), values.last()) {
        (Some(least), Some(most)) if values[values.len() / 2] > 0.0 => {
            (most - least) / values[values.len() / 2]
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Row;
    use crate::plan::{Plan, tests::PLAN};

    #[test]
    fn noise_is_the_spread_of_the_noisiest_figure_compared() {
        let mut figures = Figures::default();
        for (seed, time) in [(1, 100.0), (2, 104.0), (3, 98.0)] {
            figures.add(seed, &[Row::scalar("DRR", "least, kbit/s", time)]);
            for x in [1.0, 2.0] {
                figures.add(seed, &[Row::point("DRR", "curve", x, 100.0 * seed as f64)]);
            }
        }
        let mut claim = Plan::parse(PLAN).unwrap().claims.swap_remove(0);
        assert!((of_claim(&claim, &figures) - 0.06).abs() < 1e-9);
        let curve = "needs = [{ is = 'rising', of = 'DRR: curve' }]";
        let table: toml::Table = curve.parse().unwrap();
        claim.needs = table["needs"].clone().try_into().unwrap();
        assert!((of_claim(&claim, &figures) - 1.0).abs() < 1e-9);
    }
}

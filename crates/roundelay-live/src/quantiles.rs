//! Quantiles of delays, as reports show them.

use roundelay::Duration;
use roundelay_metrics::Delays;

/// Quantiles in seconds. None if there are no delays.
pub fn quantiles<const N: usize>(delays: &Delays, at: [f64; N]) -> Option<[f64; N]> {
    let of = |q| delays.quantile(q).map_or(0.0, Duration::as_secs_f64);
    (delays.count() > 0).then(|| at.map(of))
}

//! Looks at replicas together, and ranks flows by throughput.

use roundelay_metrics::{Rank, ranks};
use serde::Serialize;

use super::Results;

/// The throughputs of one rank, over replicas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankResult {
    /// Mean, bits a second.
    pub mean: f64,
    /// Standard deviation; none from one replica.
    pub deviation: Option<f64>,
    /// The two modes, if there are two ([`roundelay_metrics::modes`] states the rule).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<[ModeResult; 2]>,
}

/// One of two modes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeResult {
    /// The mean of the throughputs in this mode.
    pub mean: f64,
    /// The number of replicas in this mode.
    pub count: usize,
}

impl RankResult {
    /// Ranks the listed flows in a group, or in all groups, by their throughput after the warm-up.
    /// The lowest comes first.
    pub fn of(replicas: &[Results], group: Option<&str>) -> Vec<Self> {
        let mut throughputs = Vec::new();
        for results in replicas {
            let mut of_replica = Vec::new();
            for flow in &results.flows {
                if group.is_none_or(|group| *group == *flow.group) {
                    of_replica.push(flow.throughput);
                }
            }
            throughputs.push(of_replica);
        }
        ranks(&throughputs).into_iter().map(Self::from).collect()
    }
}

impl From<Rank> for RankResult {
    fn from(
        Rank {
            mean,
            deviation,
            modes,
        }: Rank,
    ) -> Self {
        let modes = modes.map(|modes| {
            modes.map(|mode| ModeResult {
                mean: mode.mean,
                count: mode.count,
            })
        });
        Self {
            mean,
            deviation,
            modes,
        }
    }
}

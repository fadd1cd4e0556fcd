//! How much a queue harms a flow, in seconds: what its packets wait, and what their loss costs.
//!
//! A kind's worst flow is the one with the most harm. Advice compares disciplines by it.

use crate::comparison::{Comparison, DisciplineResult};
use crate::demand::FULL_PACKET;
use crate::host_shares::fairness;
use crate::host_summary::HostFairness;
use crate::kind::{Kind, KindOutcome};
use crate::outcome::Outcome;

/// A sender's minimum retransmission timeout (RFC 6298, section 2.4).
const SHORTEST_RETRY: f64 = 1.0;
/// The most harm that loss does, because a sender may limit its longest timeout to this (RFC 6298,
/// section 2.5).
pub const LONGEST_RETRY: f64 = 60.0;

/// If no acknowledgement gets through, lost ones count only from this many on, because a
/// connection's last few delay nobody.
const A_STREAM: u64 = 10;

/// How long a sender waits on average until a packet is delivered, if this fraction is lost. The
/// wait is one second, and doubles after each further loss (RFC 6298, section 5.5). So it is `p + 2
/// p^2 + 4 p^3 + .. = p / (1 - 2 p)`, which is infinite if half or more is lost, and therefore
/// limited.
pub fn retries(loss: f64) -> f64 {
    if loss < 0.5 {
        (SHORTEST_RETRY * loss / (1.0 - 2.0 * loss)).min(LONGEST_RETRY)
    } else {
        LONGEST_RETRY
    }
}

/// How much a discipline harms a flow.
///
/// A bulk flow causes its own delay and losses. The queue harms it by what it lacks to its fair
/// share, which costs as much as losing an equal part of the packets. A lost acknowledgement costs
/// nothing if another gets through, but a lost request among acknowledgements counts. A light flow
/// suffers its 99th percentile of delay and what its losses cost.
pub fn flow_harm(comparison: &Comparison, result: &DisciplineResult, flow: usize) -> f64 {
    let outcome = &result.flows[flow].outcome;
    match comparison.flows[flow].kind {
        Kind::Bulk => retries(1.0 - share_of(comparison, result, flow)),
        Kind::Acknowledgements => {
            let is_stream = outcome.drops.total() >= A_STREAM;
            // Without any acknowledgement the sender stands still, unless these were a connection's
            // last few.
            let if_none_arrives = if is_stream { LONGEST_RETRY } else { 0.0 };
            wait(outcome, if_none_arrives) + retries(result.flows[flow].data_loss)
        }
        Kind::Call | Kind::Dns | Kind::Web | Kind::Other => {
            wait(outcome, 0.0) + retries(outcome.loss)
        }
    }
}

/// The 99th percentile of delay, or `if_none_arrives` if nothing gets through.
fn wait(outcome: &Outcome, if_none_arrives: f64) -> f64 {
    outcome.delay.map_or(if_none_arrives, |delay| delay.p99)
}

/// A flow may lack this many bytes to its fair share without harm, because packets cannot be
/// divided.
const INDIVISIBLE: f64 = 2.0 * FULL_PACKET as f64;

/// Which part of its fair share a flow got, 0 to 1.
fn share_of(comparison: &Comparison, result: &DisciplineResult, flow: usize) -> f64 {
    let due = &comparison.flows[flow];
    let by_host = result.hosts.is_some_and(|hosts| hosts.judged);
    let rate = match due.fair_rate_by_host {
        Some(rate) if by_host => rate,
        _ => due.fair_rate,
    };
    let fair = rate / 8.0 * comparison.capture.seconds;
    let got = result.flows[flow].bytes_in_time as f64 + INDIVISIBLE;
    if fair > 0.0 {
        (got / fair).min(1.0)
    } else {
        1.0
    }
}

/// Finds each kind's flow with the most harm under each discipline, and the least share that a bulk
/// flow got.
pub(crate) fn find_worst_flows(comparison: &mut Comparison) {
    let mut results = std::mem::take(&mut comparison.disciplines);
    for result in &mut results {
        judge(comparison, result);
    }
    comparison.disciplines = results;
}

/// Finds how fairly a result serves the hosts of a comparison, and each kind's worst flow.
pub(crate) fn judge(comparison: &Comparison, result: &mut DisciplineResult) {
    result.hosts = None;
    if let Some(hosts) = fairness(comparison, result, INDIVISIBLE) {
        let by_flow = least_share(comparison, result);
        result.hosts = Some(HostFairness {
            judged: result.shares_by_host,
            ..hosts
        });
        if least_share(comparison, result) < by_flow {
            result.hosts = Some(hosts);
        }
    }
    let mut kinds = std::mem::take(&mut result.kinds);
    for outcome in &mut kinds {
        find_worst(outcome, comparison, result);
    }
    result.kinds = kinds;
}

/// The least part of its fair share that a bulk flow got.
fn least_share(comparison: &Comparison, result: &DisciplineResult) -> f64 {
    let mut least = 1.0_f64;
    for flow in comparison.flows_of(Kind::Bulk) {
        least = least.min(share_of(comparison, result, flow));
    }
    least
}

fn find_worst(kind: &mut KindOutcome, comparison: &Comparison, result: &DisciplineResult) {
    let mut most = f64::NEG_INFINITY;
    let mut least = 1.0_f64;
    let mut longest: Option<f64> = None;
    for flow in comparison.flows_of(kind.kind) {
        // Among equal flows, the first counts.
        let harm = flow_harm(comparison, result, flow);
        if harm > most {
            most = harm;
            kind.worst = flow;
        }
        least = least.min(share_of(comparison, result, flow));
        if let Some(delay) = result.flows[flow].outcome.delay {
            longest = Some(longest.map_or(delay.p99, |so_far| so_far.max(delay.p99)));
        }
    }
    kind.longest_p99 = longest;
    let outcome = &result.flows[kind.worst].outcome;
    kind.worst_p99 = outcome.delay.map(|delay| delay.p99);
    kind.worst_loss = outcome.loss;
    if kind.kind == Kind::Bulk {
        kind.least_share = Some(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fractions lost once, twice, ... times the following wait.
    #[test]
    fn losses_come_to_what_a_sender_waits() {
        for percent in 0..45 {
            let loss = f64::from(percent) / 100.0;
            let sum: f64 = (1..500)
                .map(|time| loss.powi(time) * 2_f64.powi(time - 1))
                .sum();
            assert!(
                (retries(loss) - sum).abs() < 1e-9,
                "{loss}: {} {sum}",
                retries(loss)
            );
        }
        assert_eq!([0.5, 0.7, 1.0].map(retries), [60.0; 3]);
        assert_eq!(retries(0.4999), 60.0);
    }
}

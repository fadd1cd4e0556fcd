//! Statements of the UPS proofs, checked over a replay: Theorems 1 and 2 (A.2), the slack equation
//! (A.4), EDF (A.5), and the lemmas of A.7.

use super::{Network, Replayer, Rule, Schedule, Stay};

/// Counts over a replay: how often the premise of a statement held, and how often the statement
/// failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stays that ended later than o(p, a) + T(p, a).
    pub late_ends: usize,
    /// Late ends with no arrival at the node, up to the end, after the arriving packet's own o(p,
    /// a): against Theorem 1.
    pub late_ends_alone: usize,
    /// Stays with negative slack of the last bit at their end.
    pub negative: usize,
    /// Stays with negative slack, and no arrival at the node, up to the end, after the arriving
    /// packet's own o(p, a): against the necessary condition of A.7.2.
    pub negative_alone: usize,
    /// Stays with negative slack that still ended by o(p, a) + T(p, a): against Observation 1.
    pub negative_in_time: usize,
    /// Arrivals after o(p, a), at nodes with a waiting packet in the original or in the replay:
    /// against the key observation of A.7.1.
    pub arrivals_after_start: usize,
    /// Arrivals later than in the original: against Theorem 2.
    pub late_arrivals: usize,
}

impl Counts {
    /// Adds the counts of another replay.
    pub const fn add(&mut self, other: &Self) {
        self.late_ends += other.late_ends;
        self.late_ends_alone += other.late_ends_alone;
        self.negative += other.negative;
        self.negative_alone += other.negative_alone;
        self.negative_in_time += other.negative_in_time;
        self.arrivals_after_start += other.arrivals_after_start;
        self.late_arrivals += other.late_arrivals;
    }
}

/// slack(p, a, t) = o(p) - t - tmin(p, a, dest(p)) + T(p, a), as derived in A.4.
fn slack_at(
    network: &Network,
    original: &Schedule,
    (packet, hop): (usize, usize),
    now: u64,
) -> i64 {
    let rest = network.least_time(packet, hop) as i64 - network.transmission(packet, hop) as i64;
    original.exit(packet) as i64 - now as i64 - rest
}

/// Counts over all stays of a replay.
pub fn by_arrivals(network: &Network, original: &Schedule, replay: &Schedule) -> Counts {
    // For each node: times of arrivals after the packet's o(p, a), and if any packet waited.
    let mut after_start = vec![Vec::new(); network.nodes().len()];
    let mut is_congested = vec![false; network.nodes().len()];
    for (packet, hop) in replay.hops() {
        let came = replay.0[packet][hop].arrival;
        let node = network.node_of(packet, hop);
        if came > original.0[packet][hop].start {
            after_start[node].push(came);
        }
        is_congested[node] |=
            original.waited(network, packet, hop) > 0 || replay.waited(network, packet, hop) > 0;
    }
    let mut counts = Counts {
        late_arrivals: replay.late_arrivals(original).len(),
        ..Counts::default()
    };
    // The key observation of A.7.1 is about nodes where packets wait.
    for (node, came) in after_start.iter().enumerate() {
        if is_congested[node] {
            counts.arrivals_after_start += came.len();
        }
    }
    for (packet, hop) in replay.hops() {
        let Stay { end, .. } = replay.0[packet][hop];
        let came_late = &after_start[network.node_of(packet, hop)];
        let is_alone = !came_late.iter().any(|came| *came <= end);
        let is_late = end > original.0[packet][hop].end;
        let is_negative = slack_at(network, original, (packet, hop), end) < 0;
        // Theorem 1 is about late ends, A.7.2 and Observation 1 about negative slack.
        counts.late_ends += usize::from(is_late);
        counts.late_ends_alone += usize::from(is_late && is_alone);
        counts.negative += usize::from(is_negative);
        counts.negative_alone += usize::from(is_negative && is_alone);
        counts.negative_in_time += usize::from(is_negative && !is_late);
    }
    counts
}

/// Number of decisions of a replay by LSTF, and of those that `rule` takes otherwise: another
/// instant, node or packet.
pub fn other_decisions(
    network: &Network,
    original: &Schedule,
    rule: Rule,
    preempts: bool,
) -> [usize; 2] {
    let lstf = decisions(network, original, Rule::Lstf, preempts);
    let other = decisions(network, original, rule, preempts);
    let mut alike = 0;
    for (one, other) in lstf.iter().zip(&other) {
        alike += usize::from(one == other);
    }
    [lstf.len(), lstf.len().max(other.len()) - alike]
}

/// Instant, node and packet of each decision of a replay.
fn decisions(
    network: &Network,
    original: &Schedule,
    rule: Rule,
    preempts: bool,
) -> Vec<(u64, usize, usize)> {
    let mut decisions = Vec::new();
    let replayer = Replayer {
        preempts,
        ..Replayer::new(network, original, rule)
    };
    replayer.watched(|decision| {
        let sent = &decision.waiting[decision.sent];
        decisions.push((decision.now, decision.node, sent.packet));
    });
    decisions
}

/// Number of keys compared by a rule in a replay, and of those that differ from the slack derived
/// in A.4. For LSTF none differs.
pub fn slack_equation(
    network: &Network,
    original: &Schedule,
    rule: Rule,
    preempts: bool,
) -> [usize; 2] {
    let mut counts = [0; 2];
    let replayer = Replayer {
        preempts,
        ..Replayer::new(network, original, rule)
    };
    replayer.watched(|decision| {
        for (waiting, key) in decision.waiting.iter().zip(&decision.keys) {
            let derived = slack_at(
                network,
                original,
                (waiting.packet, waiting.hop),
                decision.now,
            );
            counts[0] += 1;
            counts[1] += usize::from(*key != derived);
        }
    });
    counts
}

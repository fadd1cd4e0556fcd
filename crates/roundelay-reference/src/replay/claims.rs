//! What the UPS proofs state, checked over a replay: Theorems 1 and 2 (A.2), the slack equation
//! (A.4), EDF (A.5), and the lemmas in A.7.

use super::{Network, Replayer, Rule, Schedule, Stay};

/// Counts over a replay: how often a statement's premise held, and how often the statement failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stays that ended later than o(p, a) + T(p, a).
    pub late_ends: usize,
    /// Late ends at nodes to which, up to that end, no packet came after its own o(p, a). They
    /// contradict Theorem 1.
    pub late_ends_alone: usize,
    /// Stays whose last bit has negative slack at their end.
    pub negative: usize,
    /// Stays with negative slack at nodes to which, up to the stay's end, no packet came after its
    /// own o(p, a). They contradict the necessary condition in A.7.2.
    pub negative_alone: usize,
    /// Stays with negative slack that still ended by o(p, a) + T(p, a). They contradict
    /// Observation 1.
    pub negative_in_time: usize,
    /// Arrivals after o(p, a), at nodes where some packet waits in the original or in the replay.
    /// They contradict the key observation in A.7.1.
    pub arrivals_after_start: usize,
    /// Arrivals later than in the original. They contradict Theorem 2.
    pub late_arrivals: usize,
}

impl Counts {
    /// Adds what another replay has counted.
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

/// Counts over all stays in a replay.
pub fn by_arrivals(network: &Network, original: &Schedule, replay: &Schedule) -> Counts {
    // For each node: when packets arrived after their own o(p, a), and if any packet waited.
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

/// How many decisions LSTF takes in a replay, and how many `rule` takes otherwise: at another
/// instant, at another node, or for another packet.
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

/// Instant, node and packet for each decision in a replay.
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

/// How many keys a rule compares in a replay, and how many differ from the slack that A.4 derives.
/// For LSTF none differs.
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

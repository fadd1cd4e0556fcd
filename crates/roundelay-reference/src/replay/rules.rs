//! Scheduling rules of a replay: choice of the next packet by header fields.

use super::engine::{Action, Waiting, run};
use super::{Network, Schedule};

/// Rule of a node's choice. The smallest key goes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Key: o(p, a) of the original at each node, omniscient initialization (A.2).
    Omniscient,
    /// Key: a number per packet, the same at each node: simple priorities.
    Static(Vec<i64>),
    /// Key: o(p), the same at each node.
    ByExit,
    /// Key: o(p) - tmin(p, a, dest(p)) + T(p, a) for the one node a where the packet can wait, the
    /// same at each node: the priority of A.6. The paths of all packets determine a: here the first
    /// node shared with another packet.
    ByExitFromCongestion,
    /// Least slack of the last bit first: slack in the header, minus the waiting time at each node
    /// (section 2.2).
    Lstf,
    /// Key: o(p) - tmin(p, a, dest(p)) + T(p, a), from a constant header and the node's knowledge
    /// of the remaining path (A.5).
    Edf,
    /// First in, first out.
    Fifo,
    /// Last in, first out.
    Lifo,
}

impl Rule {
    /// All rules without further parameters, by name.
    pub const NAMED: [(&'static str, Self); 7] = [
        ("omniscient", Self::Omniscient),
        ("priority o(p)", Self::ByExit),
        ("priority of A.6", Self::ByExitFromCongestion),
        ("lstf", Self::Lstf),
        ("edf", Self::Edf),
        ("fifo", Self::Fifo),
        ("lifo", Self::Lifo),
    ];

    /// Finds a rule by name.
    pub fn named(name: &str) -> Option<Self> {
        for (known, rule) in Self::NAMED {
            if known == name {
                return Some(rule);
            }
        }
        None
    }
}

/// A decision of a node: the waiting packets with their keys, and the packet sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Node number.
    pub node: usize,
    /// Time of the decision.
    pub now: u64,
    /// Waiting packets in order of arrival.
    pub waiting: Vec<Waiting>,
    /// Keys of the waiting packets; for LSTF the present slack of the last bit.
    pub keys: Vec<i64>,
    /// Index of the packet sent.
    pub sent: usize,
}

/// A replay: packets of an original schedule under a rule.
#[derive(Debug, Clone)]
pub struct Replayer<'a> {
    /// The network.
    pub network: &'a Network,
    /// The schedule to replay.
    pub original: &'a Schedule,
    /// The rule.
    pub rule: Rule,
    /// True if a packet on a link is preempted by a packet with a smaller key.
    pub preempts: bool,
    /// Extra delays of packets before hops, by packet and hop; none if empty. Rules do not see
    /// them.
    pub delays: &'a [Vec<u64>],
}

impl<'a> Replayer<'a> {
    /// A preemptive replay.
    pub const fn new(network: &'a Network, original: &'a Schedule, rule: Rule) -> Self {
        Self {
            network,
            original,
            rule,
            preempts: true,
            delays: &[],
        }
    }

    /// Runs the replay.
    pub fn run(&self) -> Schedule {
        self.watched(|_| ())
    }

    /// Runs the replay; `watch` sees each decision.
    pub fn watched(&self, mut watch: impl FnMut(Decision)) -> Schedule {
        let known = Known::new(self.network, self.original);
        run(
            self.network,
            self.delays,
            self.preempts,
            |node, now, waiting| {
                let mut keys = Vec::new();
                for packet in waiting {
                    keys.push(known.key(&self.rule, now, packet));
                }
                // Of equal keys the packet that arrived first.
                let sent = (0..keys.len()).min_by_key(|index| keys[*index]);
                let sent = sent.expect("something waits");
                watch(Decision {
                    node,
                    now,
                    waiting: waiting.to_vec(),
                    keys,
                    sent,
                });
                Action::Send(sent)
            },
        )
    }
}

/// Values for the initialization of headers.
struct Known<'a> {
    network: &'a Network,
    original: &'a Schedule,
    /// For each packet, the first hop at a node shared with another packet. 0 without such a hop:
    /// then the packet never waits, and its key never decides.
    first_shared_hop: Vec<usize>,
}

impl<'a> Known<'a> {
    /// Finds where each packet can wait first.
    fn new(network: &'a Network, original: &'a Schedule) -> Self {
        let mut passing = vec![0; network.nodes().len()];
        for packet in network.packets() {
            for hop in &packet.path {
                passing[hop.node] += 1;
            }
        }
        let mut first_shared_hop = Vec::new();
        for packet in network.packets() {
            let first = packet.path.iter().position(|hop| passing[hop.node] > 1);
            first_shared_hop.push(first.unwrap_or(0));
        }
        Self {
            network,
            original,
            first_shared_hop,
        }
    }

    /// o(p) - tmin(p, a, dest(p)) + T(p, a).
    fn deadline(&self, packet: usize, hop: usize) -> i64 {
        let rest = self.network.least_time(packet, hop) - self.network.transmission(packet, hop);
        self.original.exit(packet) as i64 - rest as i64
    }

    fn key(&self, rule: &Rule, now: u64, waiting: &Waiting) -> i64 {
        let Waiting {
            packet,
            hop,
            arrival,
            waited,
            ..
        } = *waiting;
        match rule {
            // A.2: o(p, a).
            Rule::Omniscient => self.original.0[packet][hop].start as i64,
            Rule::Static(priorities) => priorities.get(packet).copied().unwrap_or(i64::MAX),
            Rule::ByExit => self.original.exit(packet) as i64,
            // A.6, with a the node where the packet can wait.
            Rule::ByExitFromCongestion => self.deadline(packet, self.first_shared_hop[packet]),
            // Section 2.2: slack(p) less the waiting so far, here and at the hops before, plus
            // T(p, a) for the last bit.
            Rule::Lstf => {
                let header = self.original.slack(self.network, packet) - waited as i64;
                header - (now - arrival) as i64 + self.network.transmission(packet, hop) as i64
            }
            // A.5.
            Rule::Edf => self.deadline(packet, hop),
            Rule::Fifo => arrival as i64,
            Rule::Lifo => -(arrival as i64),
        }
    }
}

/// All priority assignments, up to order: 1, 3, 13, 75, 541, ... for 1, 2, 3, 4, 5 packets,
/// including equal priorities.
pub fn priorities(packets: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..packets {
        let mut longer = Vec::new();
        for one in &all {
            for last in 0..packets as i64 {
                longer.push([one.as_slice(), &[last]].concat());
            }
        }
        all = longer;
    }
    // Keep assignments that use every number from 0 to the greatest.
    all.retain(|one| {
        let greatest = one.iter().max().copied().unwrap_or(0);
        (0..greatest).all(|number| one.contains(&number))
    });
    all
}

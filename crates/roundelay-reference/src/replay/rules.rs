//! Scheduling rules for a replay: which packet goes next, by its header fields.

use super::engine::{Action, Waiting, run};
use super::{Network, Schedule};

/// How a node chooses. The packet with the smallest key goes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Key: the original's o(p, a) at each node, by omniscient initialization (A.2).
    Omniscient,
    /// Key: one number per packet, the same at each node, as simple priorities have it.
    Static(Vec<i64>),
    /// Key: o(p), the same at each node.
    ByExit,
    /// Key: the priority in A.6, o(p) - tmin(p, a, dest(p)) + T(p, a), where a is the one node at
    /// which the packet can wait. The key is the same at each node. The paths of all packets
    /// determine a, so we take the first node that the packet shares with another.
    ByExitFromCongestion,
    /// Least slack of the last bit first: the header's slack, minus the waiting time at each node
    /// (section 2.2).
    Lstf,
    /// Key: o(p) - tmin(p, a, dest(p)) + T(p, a). The header stays constant, because the node knows
    /// the rest of the path (A.5).
    Edf,
    /// First in, first out.
    Fifo,
    /// Last in, first out.
    Lifo,
}

impl Rule {
    /// All rules that need no further parameters, with their names.
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

/// What a node decided: the waiting packets with their keys, and the packet that it sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Number of the node.
    pub node: usize,
    /// When the node decided.
    pub now: u64,
    /// Waiting packets, in the order of arrival.
    pub waiting: Vec<Waiting>,
    /// Keys of the waiting packets. For LSTF, the present slack of the last bit.
    pub keys: Vec<i64>,
    /// Index of the packet that was sent.
    pub sent: usize,
}

/// A replay, which sends an original schedule's packets by a rule.
#[derive(Debug, Clone)]
pub struct Replayer<'a> {
    /// The network.
    pub network: &'a Network,
    /// The schedule to replay.
    pub original: &'a Schedule,
    /// The rule that every node follows.
    pub rule: Rule,
    /// True if a packet with a smaller key preempts the packet on a link.
    pub preempts: bool,
    /// Extra delays before hops, by packet and hop, or empty if there are none. Rules do not see
    /// them.
    pub delays: &'a [Vec<u64>],
}

impl<'a> Replayer<'a> {
    /// A replay with preemption and without extra delays.
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

    /// Runs the replay, and shows each decision to `watch`.
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
                // Among equal keys, the packet that arrived first goes first.
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

/// What initializes the headers.
struct Known<'a> {
    network: &'a Network,
    original: &'a Schedule,
    /// For each packet, the first hop at a node that another packet passes too. Without one, 0 will
    /// do, because the packet never waits and its key never decides.
    first_shared_hop: Vec<usize>,
}

impl<'a> Known<'a> {
    /// Finds where each packet can first wait.
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
            // A.6, where a is the node at which the packet can wait.
            Rule::ByExitFromCongestion => self.deadline(packet, self.first_shared_hop[packet]),
            // Section 2.2: slack(p), less the time waited here and at the hops before, plus T(p, a)
            // because the last bit counts.
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

/// All ways to assign priorities, up to order and with equal ones: 1, 3, 13, 75, 541, ... for 1, 2,
/// 3, 4, 5 packets.
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
    // Keep only those that use every number from 0 to the greatest, because the others order
    // packets like one of these.
    all.retain(|one| {
        let greatest = one.iter().max().copied().unwrap_or(0);
        (0..greatest).all(|number| one.contains(&number))
    });
    all
}

//! Rules of replay: which packet a node sends, given what its header was initialized with.

use super::engine::{Action, Waiting, run};
use super::{Network, Schedule};

/// How nodes choose. The smallest key goes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// o(p, a) of the original at each node: omniscient initialization (A.2).
    Omniscient,
    /// A number a packet, the same at each node: simple priorities.
    Static(Vec<i64>),
    /// o(p), the same at each node.
    ByExit,
    /// o(p) - tmin(p, a, dest(p)) + T(p, a) for the one node a where the packet can wait, the same at each node: the priority of A.6. Which node that is
    /// follows from the paths of all packets; here a is the first node that another packet passes too.
    ByExitFromCongestion,
    /// Least slack of the last bit first; slack in the header, what was waited taken off at each node (section 2.2).
    Lstf,
    /// o(p) - tmin(p, a, dest(p)) + T(p, a), by a header that never changes and what a node knows of the way ahead (A.5).
    Edf,
    /// First come, first served.
    Fifo,
    /// Last come, first served.
    Lifo,
}

impl Rule {
    /// All rules that need no further numbers, by name.
    pub const NAMED: [(&'static str, Self); 7] = [
        ("omniscient", Self::Omniscient),
        ("priority o(p)", Self::ByExit),
        ("priority of A.6", Self::ByExitFromCongestion),
        ("lstf", Self::Lstf),
        ("edf", Self::Edf),
        ("fifo", Self::Fifo),
        ("lifo", Self::Lifo),
    ];

    /// The rule of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, rule)| rule)
    }
}

/// A decision of a node: what waited there, each with its key, and which was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The node.
    pub node: usize,
    /// When.
    pub now: u64,
    /// What waited, in the order of arrival.
    pub waiting: Vec<Waiting>,
    /// The keys: for LSTF the slack of the last bit, now.
    pub keys: Vec<i64>,
    /// The place of what was sent.
    pub sent: usize,
}

/// The packets of an original schedule, under a rule.
#[derive(Debug, Clone)]
pub struct Replayer<'a> {
    /// The network.
    pub network: &'a Network,
    /// The schedule to replay.
    pub original: &'a Schedule,
    /// The rule.
    pub rule: Rule,
    /// Whether a packet on a link gives way to one with a smaller key.
    pub preempts: bool,
    /// How long packets are held up before hops, by packet and hop; none where empty. Rules do not know.
    pub delays: &'a [Vec<u64>],
}

impl<'a> Replayer<'a> {
    /// A preemptive replay.
    pub const fn new(network: &'a Network, original: &'a Schedule, rule: Rule) -> Self {
        Self { network, original, rule, preempts: true, delays: &[] }
    }

    /// The replay.
    pub fn run(&self) -> Schedule {
        self.watched(|_| ())
    }

    /// The same; `watch` hears of each decision.
    pub fn watched(&self, mut watch: impl FnMut(Decision)) -> Schedule {
        let known = Known::new(self.network, self.original);
        run(self.network, self.delays, self.preempts, |node, now, waiting| {
            let keys: Vec<i64> = waiting.iter().map(|waiting| known.key(&self.rule, now, waiting)).collect();
            let sent = (0..keys.len()).min_by_key(|place| (keys[*place], *place)).expect("something waits");
            watch(Decision { node, now, waiting: waiting.to_vec(), keys, sent });
            Action::Send(sent)
        })
    }
}

/// What headers are initialized with.
struct Known<'a> {
    network: &'a Network,
    original: &'a Schedule,
    /// For each packet, the first hop that another packet passes as well.
    shared: Vec<usize>,
}

impl<'a> Known<'a> {
    fn new(network: &'a Network, original: &'a Schedule) -> Self {
        let passes = |node: usize| network.packets().iter().filter(|packet| packet.path.iter().any(|hop| hop.node == node)).count();
        let shared = network.packets().iter().map(|packet| packet.path.iter().position(|hop| passes(hop.node) > 1).unwrap_or(0));
        Self { network, original, shared: shared.collect() }
    }

    /// o(p) - tmin(p, a, dest(p)) + T(p, a).
    fn deadline(&self, packet: usize, hop: usize) -> i64 {
        let rest = self.network.least_time(packet, hop) - self.network.transmission(packet, hop);
        self.original.exit(packet) as i64 - rest as i64
    }

    fn key(&self, rule: &Rule, now: u64, waiting: &Waiting) -> i64 {
        let Waiting { packet, hop, arrival, waited, .. } = *waiting;
        match rule {
            Rule::Omniscient => self.original.0[packet][hop].start as i64,
            Rule::Static(priorities) => priorities.get(packet).copied().unwrap_or(i64::MAX),
            Rule::ByExit => self.original.exit(packet) as i64,
            Rule::ByExitFromCongestion => self.deadline(packet, self.shared[packet]),
            Rule::Lstf => {
                let header = self.original.slack(self.network, packet) - waited as i64;
                header - (now - arrival) as i64 + self.network.transmission(packet, hop) as i64
            }
            Rule::Edf => self.deadline(packet, hop),
            Rule::Fifo => arrival as i64,
            Rule::Lifo => -(arrival as i64),
        }
    }
}

/// All ways to give packets priorities, up to their order: 1, 3, 13, 75, 541, ... for 1, 2, 3, 4, 5 packets, equal ones included.
pub fn priorities(packets: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..packets {
        let extend = |one: &Vec<i64>| (0..packets as i64).map(|last| [one.as_slice(), &[last]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(extend).collect();
    }
    // No number between the least and the greatest is left out.
    all.retain(|one| (0..one.iter().max().map_or(0, |most| *most)).all(|number| one.contains(&number)));
    all
}

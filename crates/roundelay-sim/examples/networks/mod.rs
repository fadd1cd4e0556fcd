//! The networks of the examples and of the tests that run them, built by hand.
#![allow(dead_code, reason = "each example uses the one that it needs")]

use roundelay::{Duration, Rate};
use roundelay_sim::sources::arrivals::Host;
use roundelay_sim::{LinkConfig, Network, NodeId};

fn connect(network: &mut Network, ends: [NodeId; 2], rate: Rate, delay: Duration, queue: &str) {
    for [from, to] in [ends, [ends[1], ends[0]]] {
        let queue = queue.parse().expect("a queue");
        network.add_link(LinkConfig::new(from, to, rate, delay, queue)).expect("its ends are there");
    }
}

/// The MQFQ paper's: a bottleneck of 5 Mbit/s with a queue of 100 packets, which is the first link, and access links of 100 Mbit/s; 30 ms
/// there and 30 ms back, a third of it on each link. The senders and their receivers.
pub(crate) fn dumbbell(pairs: u32) -> (Network, Vec<[NodeId; 2]>) {
    dumbbell_with("fifo limit 100", pairs)
}

/// The same with another queue at the bottleneck.
pub(crate) fn dumbbell_with(queue: &str, pairs: u32) -> (Network, Vec<[NodeId; 2]>) {
    let mut network = Network::default();
    let [left, right] = [0; 2].map(|_| network.add_node());
    let (delay, access) = (Duration::from_millis(10), "100mbit".parse().expect("a rate"));
    connect(&mut network, [left, right], "5mbit".parse().expect("a rate"), delay, queue);
    let hosts = (0..pairs).map(|_| {
        let [from, to] = [0; 2].map(|_| network.add_node());
        connect(&mut network, [from, left], access, delay, "fifo limit 1000");
        connect(&mut network, [right, to], access, delay, "fifo limit 1000");
        [from, to]
    });
    let hosts = hosts.collect();
    (network, hosts)
}

/// The core of Internet2 as the authors of UPS have it: two routers and the link's rate in Mbit/s.
const CORE: [(usize, usize, u64); 16] = [
    (0, 1, 5556),
    (0, 2, 7778),
    (0, 3, 14_445),
    (1, 2, 3334),
    (2, 4, 3334),
    (1, 5, 5556),
    (4, 5, 1112),
    (3, 5, 3334),
    (3, 4, 5556),
    (5, 6, 4445),
    (3, 6, 10_000),
    (3, 7, 14_445),
    (7, 8, 1112),
    (6, 8, 8889),
    (8, 9, 2223),
    (7, 9, 7778),
];

/// Internet2 as UPS has it, all rates divided by `slower`: ten core routers, ten edge routers at each by 1 Gbit/s, a host at each by 10
/// Gbit/s. A host's group is its core router.
pub(crate) fn internet2(slower: u64, queue: &str) -> (Network, Vec<Host>) {
    let mut network = Network::default();
    let rate = |megabits: u64| Rate::from_bits_per_second(megabits * 1_000_000 / slower).expect("not zero");
    let core: Vec<_> = (0..10).map(|_| network.add_node()).collect();
    for (one, other, megabits) in CORE {
        connect(&mut network, [core[one], core[other]], rate(megabits), Duration::from_millis(10), queue);
    }
    let hosts = (0..100).map(|number| {
        let [edge, node] = [0; 2].map(|_| network.add_node());
        connect(&mut network, [core[number % 10], edge], rate(1000), Duration::from_millis(1), queue);
        connect(&mut network, [edge, node], rate(10_000), Duration::from_millis(1), queue);
        Host { node, group: (number % 10) as u32 }
    });
    let hosts = hosts.collect();
    (network, hosts)
}

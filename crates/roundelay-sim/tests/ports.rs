//! Port settings of a scenario: each key applies to the given link in one direction, and host
//! interfaces have queues.

use std::path::Path;

use roundelay::{Billionths, Duration};
use roundelay_sim::LinkConfig;
use roundelay_sim::scenario::Scenario;

const TEXT: &str = r#"duration = "2s"
[topology]
template = "dumbbell"
pairs = 1
rate = "100mbit"
[routing]
metric = "cost"
[queue]
core = "drr limit 50"
host = "fifo limit 3"
[[port]]
from = "left"
to = "right"
rate = "10mbit"
delay = "7ms"
loss = "2%"
jitter = "4ms"
overhead = 38
cost = 5
[[source]]
kind = "burst"
from = "s0"
to = "r0"
size = 10000
"#;

#[test]
fn a_port_is_as_it_is_said_to_be() {
    let scenario = Scenario::from_toml("mine", TEXT, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    let network = &scenario.topology.network;
    let link = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| network.named(name).expect("a node"));
        &network.links()[network.link_between(from, to).expect("a link").0 as usize]
    };
    let told = |link: &LinkConfig| {
        let LinkConfig { rate, delay, loss, jitter, layer, cost, .. } = link;
        (rate.to_string(), *delay, *loss, *jitter, layer.overhead, *cost)
    };
    let (said, plain) = (told(link("left", "right")), told(link("right", "left")));
    assert_eq!(said, ("10mbit".to_owned(), Duration::from_millis(7), Billionths(20_000_000), Duration::from_millis(4), 38, 5));
    assert_eq!(plain, ("100mbit".to_owned(), Duration::from_millis(10), Billionths(0), Duration::ZERO, 0, 1), "one way only");
    let names = [("s0", "left"), ("left", "s0"), ("left", "right")].map(|(from, to)| link(from, to).queue.discipline.name());
    assert_eq!(names, ["fifo", "drr", "drr"]);
}

/// An interface keeps three of ten simultaneous packets; without a limit of its own, all ten.
#[test]
fn interfaces_of_hosts_have_queues() {
    let fates = |text: &str| {
        let scenario = Scenario::from_toml("mine", text, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
        let results = scenario.run(1, |_| ()).unwrap_or_else(|error| panic!("{error}"));
        results.groups[0].packets
    };
    let lossless = TEXT.replace("loss = \"2%\"\n", "");
    let limited = fates(&lossless);
    assert_eq!((limited.sent, limited.full, limited.delivered), (10, 7, 3));
    let free = fates(&lossless.replace("host = \"fifo limit 3\"\n", ""));
    assert_eq!((free.full, free.delivered), (0, 10));
}

//! Slack rules in scenarios: weighted fairness, classes by an offset, and a program's own rule,
//! each under LSTF.

use std::path::Path;
use std::sync::{Arc, Mutex};

use roundelay::Seed;
use roundelay::{Duration, Instant, Slack};
use roundelay_sim::scenario::{Results, Scenario};
use roundelay_sim::sources::{Facts, HeaderFields, SlackRule, Stamp, Urgency};
use roundelay_sim::{
    Agent, Arrival, Context, FlowSpec, LinkConfig, Network, NodeId, Outgoing, Simulation,
};

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml("mine.toml", text, Path::new(".")).map_err(|error| error.to_string())
}

fn scenario(text: &str) -> Scenario {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> Results {
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// TCP flows on a link of 1 Gbit/s with a buffer of 8,000 packets (97 ms), two flows of each
/// weight. Returns throughputs in Mbit/s.
fn shares(queue: &str, sources: [&str; 3]) -> Vec<f64> {
    let top = "duration = \"2s\"\nwarmup = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 6\nrate = \"1gbit\"\ndelay = \"100us\"\n\
               access_rate = \"10gbit\"\naccess_delay = \"10us\"\n";
    let group = |(number, keys): (usize, &str)| {
        let hosts = format!("[\"s{}\", \"s{}\"]", 2 * number, 2 * number + 1);
        format!(
            "[[source]]\nkind = \"tcp\"\nfrom = {hosts}\nto = {}\ntcp = {{ preset = \"ns2_newreno\" }}\n{keys}\n",
            hosts.replace('s', "r")
        )
    };
    let sources: String = sources.into_iter().enumerate().map(group).collect();
    let results = run(&scenario(&format!(
        "{top}[queue]\ncore = \"{queue} limit 8000\"\n{sources}"
    )));
    results
        .flows
        .iter()
        .map(|flow| flow.throughput / 1e6)
        .collect()
}

fn is_close(actual: &[f64], expected: [f64; 6]) -> bool {
    actual
        .iter()
        .zip(expected)
        .all(|(actual, expected)| (actual / expected - 1.0).abs() < 0.05)
}

/// Shares of 1, 2 and 4 fourteenths. The fourteen shares of the rule add up to less than the link's
/// rate.
#[test]
fn weighted_fairness_by_slack_alone() {
    let [one, two, four] = [1, 2, 4].map(|weight| f64::from(weight) * 1000.0 / 14.0);
    let expected = [one, one, two, two, four, four];
    let weighted = [1, 2, 4].map(|weight| format!("urgency = \"fair 40mbit\"\nweight = {weight}"));
    let weighted = weighted.each_ref().map(String::as_str);
    let lstf = shares("lstf", weighted);
    assert!(is_close(&lstf, expected), "{lstf:?}");
    let fifo = shares("fifo", weighted);
    assert!(
        !is_close(&fifo, expected),
        "{fifo:?}: nobody looks at slack"
    );
    let even = shares("lstf", ["urgency = \"fair 40mbit\""; 3]);
    assert!(is_close(&even, [1000.0 / 6.0; 6]), "{even:?}");
    let constant = [1, 2, 4].map(|weight| format!("urgency = \"slack 1s\"\nweight = {weight}"));
    let constant = shares("lstf", constant.each_ref().map(String::as_str));
    assert!(
        !is_close(&constant, expected),
        "{constant:?}: this rule knows no weights"
    );
}

/// Two classes that together exceed the link's rate; the upper class alone does not. Returns
/// packets, mean delays and throughputs.
fn classes(queue: &str, upper: &str, lower: &str) -> Vec<(u64, Option<f64>, f64)> {
    let top =
        "duration = \"5s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"10mbit\"\n";
    let source = |host: u32, urgency: &str| {
        format!(
            "[[source]]\nkind = \"poisson\"\nrate = \"7mbit\"\nfrom = \"s{host}\"\nto = \"r{host}\"\nurgency = \"{urgency}\"\n"
        )
    };
    let text = format!(
        "{top}[queue]\ncore = \"{queue} limit 100000\"\n{}{}",
        source(0, upper),
        source(1, lower)
    );
    let group = |group: &roundelay_sim::scenario::GroupResult| {
        (group.packets.delivered, group.delay.mean, group.throughput)
    };
    run(&scenario(&text)).groups.iter().map(group).collect()
}

#[test]
fn an_offset_makes_a_class_of_strict_priority() {
    let strict = classes("priority", "priority 0", "priority 1");
    assert!(
        strict[0].1.unwrap() < 0.05 && strict[1].1.unwrap() > 0.3,
        "{strict:?}"
    );
    assert_eq!(
        classes("lstf", "slack 1s", "slack 1s plus 100s"),
        strict,
        "packet by packet"
    );
    let one = classes("lstf", "slack 1s", "slack 1s");
    assert!(
        one[0].1.unwrap() > 0.3,
        "{one:?}: without an offset it is one class"
    );
    let little = classes("lstf", "slack 1s", "slack 1s plus 10ms");
    assert!(
        little[0].1.unwrap() > strict[0].1.unwrap() * 2.0,
        "{little:?}: longer waits than the offset overtake"
    );
}

/// Weights are read by weighted queues, and by the fair rule with slack-based queues.
#[test]
fn weights_that_slack_tells_of_are_not_lost() {
    let notes = |queue: &str, urgency: &str| {
        let source = format!(
            "kind = \"cbr\"\nrate = \"1mbit\"\nfrom = \"s0\"\nto = \"r0\"\nname = \"web\"\nweight = 2\nurgency = \"{urgency}\"\n"
        );
        let text = format!(
            "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\n[queue]\ncore = \"{queue}\"\n[[source]]\n{source}"
        );
        scenario(&text).notes()
    };
    let unread = "No queue looks at the weights of these sources: web.";
    assert_eq!(notes("lstf", "fair 1mbit"), [""; 0]);
    assert_eq!(notes("lstf", "fair 1mbit plus 1s"), [""; 0]);
    assert_eq!(notes("lstf", "slack 1s"), [unread]);
    assert_eq!(
        notes("fifo", "fair 1mbit"),
        [
            unread,
            "No queue looks at the urgency of these sources: web."
        ]
    );
}

#[derive(Debug)]
struct BySize;

impl SlackRule for BySize {
    fn fields(&self, packet: &Facts) -> HeaderFields {
        let packets = if packet.is_bare {
            0
        } else {
            packet.size_bytes.div_ceil(1460)
        };
        HeaderFields {
            slack: Slack::of(Duration::from_secs(packets)),
            ..HeaderFields::default()
        }
    }
}

#[test]
fn a_program_hands_in_its_own_rule() {
    let text = |urgency: &str| {
        format!(
            "duration = \"500ms\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 6\nrate = \"100mbit\"\ndelay = \"100us\"\n[queue]\ncore = \"lstf\"\n\
             [[source]]\nkind = \"arrivals\"\nfrom = [\"s*\", \"r*\"]\nutilisation = 0.3\nlink_rate = \"50mbit\"\nsizes = \"ups\"\n\
             transport = \"tcp\"\n{urgency}"
        )
    };
    let built_in = run(&scenario(&text("urgency = \"size 1s\"")));
    let mut own = scenario(&text(""));
    let plain = run(&own);
    own.groups[0].urgency = Urgency::Custom(Arc::new(BySize).into());
    assert_eq!(own.notes(), [""; 0], "nobody knows what it writes");
    let own = run(&own);
    assert_eq!(own.groups, built_in.groups);
    assert_ne!(own.groups[0].completion, plain.groups[0].completion);
}

/// Sends four packets at once, and writes down the slack of each: at sending, and left on arrival.
struct Burst {
    stamp: Stamp,
    slacks: Arc<Mutex<Vec<[Slack; 2]>>>,
}

impl Agent for Burst {
    fn wake(&mut self, context: &mut Context<'_>) {
        let flow = context.open(FlowSpec {
            from: NodeId(0),
            to: NodeId(2),
            config: None,
        });
        for left in (1..=4).rev() {
            let mut packet = Outgoing::new(flow, 1000);
            self.stamp.mark(&mut packet, context.now(), left * 1000);
            context.send(packet);
        }
    }

    fn arrive(&mut self, arrival: &Arrival, _: &mut Context<'_>) {
        let slacks = [arrival.initial_slack, arrival.slack];
        self.slacks.lock().expect("nobody else").push(slacks);
    }
}

/// A host's interface takes 1 ms for each of four packets, a router's link 2 ms. Returns the slack of
/// each in ms: in its header as it reaches the router, and left at the end.
fn slacks(urgency: &str) -> Vec<[i64; 2]> {
    let text = format!(
        "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\n[[source]]\nkind = \"cbr\"\nrate = \"1mbit\"\nfrom = \"s0\"\nto = \"r0\"\nurgency = \"{urgency}\"\n"
    );
    let rule = scenario(&text).groups[0].urgency.clone();
    let mut network = Network::default();
    let nodes: Vec<_> = (0..3).map(|_| network.add_node()).collect();
    for (from, to, rate) in [
        (0, 1, "8mbit"),
        (1, 2, "4mbit"),
        (2, 1, "8mbit"),
        (1, 0, "8mbit"),
    ] {
        let queue = "fifo".parse().expect("a queue");
        let rate = rate.parse().expect("a rate");
        let link = LinkConfig::new(nodes[from], nodes[to], rate, Duration::ZERO, queue);
        network.add_link(link).expect("both ends are there");
    }
    let slacks = Arc::default();
    let burst = Burst {
        stamp: Stamp::new(rule, 1, 4000, 1000),
        slacks: Arc::clone(&slacks),
    };
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("legal");
    simulation.spawn(Box::new(burst), Instant::ZERO);
    simulation.run(Instant::MAX).expect("a route");
    let millis = |slack: Slack| slack.as_picos() / 1_000_000_000;
    let slacks = slacks.lock().expect("nobody else");
    slacks.iter().map(|pair| pair.map(millis)).collect()
}

/// Packet i waits i ms in the host and i ms in the router.
#[test]
fn slack_written_at_departure_leaves_out_waits_in_the_host() {
    assert_eq!(
        slacks("slack 1s"),
        [[1000, 1000], [1000, 998], [1000, 996], [1000, 994]]
    );
    assert_eq!(
        slacks("slack 1s at departure"),
        [[1000, 1000], [1000, 999], [1000, 998], [1000, 997]]
    );
    assert_eq!(
        slacks("slack 1s plus 2s at departure"),
        [[3000, 3000], [3000, 2999], [3000, 2998], [3000, 2997]]
    );
}

/// At 2 Mbit/s a packet takes 4 ms. All four are sent at once and leave the host 1 ms apart.
#[test]
fn the_fair_rule_at_departure_counts_time_between_departures() {
    assert_eq!(slacks("fair 2mbit"), [[0, 0], [4, 2], [8, 4], [12, 6]]);
    assert_eq!(
        slacks("fair 2mbit at departure"),
        [[0, 0], [3, 2], [6, 4], [9, 6]]
    );
    assert_eq!(
        slacks("fair 2mbit plus 1s at departure"),
        [[1000, 1000], [1003, 1002], [1006, 1004], [1009, 1006]]
    );
    // A share of more than the interface's rate: slack that the host's own wait would make negative.
    assert_eq!(slacks("fair 16mbit"), [[0, 0], [0, -1], [1, -3], [1, -4]]);
    assert_eq!(
        slacks("fair 16mbit at departure"),
        [[0, 0], [0, -1], [0, -2], [0, -3]]
    );
}

#[test]
fn errors_name_the_line() {
    let refused = |urgency: &str| {
        let source = "[[source]]\nkind = \"cbr\"\nrate = \"1mbit\"\nfrom = \"s0\"\nto = \"r0\"\n";
        read(&format!("duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\n{source}urgency = \"{urgency}\"\n")).unwrap_err()
    };
    assert_eq!(
        refused("priority 1 plus 1s"),
        "mine.toml:9: urgency: 'priority 1 plus 1s': 'plus' is for rules with slack: slack, size, remaining, fair, deadline, cautious"
    );
    assert_eq!(
        refused("size 1s plus 100"),
        "mine.toml:9: urgency: '100' has no unit: expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days"
    );
    assert_eq!(
        refused("cautious 1s 1gbit plus 1s"),
        "mine.toml:9: urgency: \"cautious\" is for sources over TCP: others have no tail to send"
    );
    assert_eq!(
        refused("deadline 5ms at departure"),
        "mine.toml:9: urgency: 'deadline 5ms at departure': 'at departure' is for rules with slack and without a deadline: slack, size, remaining, fair, cautious"
    );
    assert!(refused("plus 1s").starts_with("mine.toml:9: urgency: 'plus 1s': expected urgency: "));
}

/// Two flows at one link: 25 ms for the near one, 40 ms for the far one, whose packets still have a
/// wire of 20 ms before them. EDF serves the near one first, LSTF the far one.
#[test]
fn the_slack_of_a_deadline_leaves_out_the_path() {
    let top = "duration = \"20s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"10mbit\"\naccess_rate = \"1gbit\"\n\
               access_delay = \"1us\"\naccess_delay_step = \"20ms\"\n";
    let source = |host: u32, deadline: &str| {
        format!(
            "[[source]]\nkind = \"poisson\"\nrate = \"4.6mbit\"\nfrom = \"r{host}\"\nto = \"s{host}\"\nurgency = \"deadline {deadline}\"\n"
        )
    };
    let late = |queue: &str, host: usize, limit: &str| {
        let sources = format!("{}{}", source(0, "25ms"), source(1, "40ms"));
        let text = format!(
            "{top}[queue]\ncore = \"{queue} limit 100000\"\n[meter]\nlate = \"{limit}\"\n{sources}"
        );
        let group = &run(&scenario(&text)).groups[host];
        assert_eq!(group.in_time, group.packets.in_time());
        group.packets.late as f64 / group.packets.delivered as f64
    };
    let of = |queue: &str| late(queue, 0, "25ms") + late(queue, 1, "40ms");
    let [lstf, edf, fifo] = ["lstf", "edf", "fifo"].map(of);
    assert!(
        lstf < 0.7 * edf && lstf < fifo,
        "lstf {lstf}, edf {edf}, fifo {fifo}"
    );
    assert_eq!(late("lstf", 0, "19s"), 0.0);
}

//! Results are exact at the end of the run, whatever the end cuts off.

use std::path::Path;

use roundelay::{Duration, Instant, Packet, Rate};
use roundelay_sim::scenario::{GroupResult, Results, Scenario};
use roundelay_sim::{Content, Direction, LinkConfig, LinkId, PacketState, Probe, Tag};
use roundelay_tcp::Flags;

/// A dumbbell with the given queues, ports and sources.
fn scenario(duration: &str, warmup: &str, rate: &str, rest: &str) -> Scenario {
    let text = format!(
        "duration = \"{duration}\"\nwarmup = \"{warmup}\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 3\nrate = \"{rate}\"\n{rest}"
    );
    Scenario::from_toml("mine.toml", &text, Path::new(".")).unwrap()
}

/// Counts of retransmitted segments, from a probe of every segment.
#[derive(Default)]
struct Again {
    from: Duration,
    segments: u64,
}

impl Probe for Again {
    fn sent(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        let Content::Segment(segment) = &state.content else {
            return;
        };
        let is_data = state.direction == Direction::Forward && segment.len > 0;
        self.segments += u64::from(
            is_data && now >= Instant::ZERO + self.from && segment.flags.has(Flags::RETRANSMISSION),
        );
    }
}

fn watched(scenario: &Scenario) -> (Results, u64) {
    let mut again = Again {
        from: scenario.warmup,
        segments: 0,
    };
    let results = scenario.run_with(1, &mut again, |_| ()).unwrap().0;
    (results, again.segments)
}

const LOSSY: &str = "[[port]]\nfrom = \"left\"\nto = \"right\"\nloss = \"5%\"\n";

fn source(keys: &str) -> String {
    format!("[[source]]\nfrom = \"s0..1\"\nto = \"r0..1\"\n{keys}\n")
}

/// Arrivals at a link, with transmission times.
struct Arrivals {
    link: LinkId,
    rate: Rate,
    packets: Vec<(Instant, Duration)>,
}

impl Arrivals {
    /// Busy time, until just before `until`, of a work-conserving link with any order of packets.
    fn at_work(&self, until: Instant) -> Duration {
        let (mut work, mut free) = (Duration::ZERO, Instant::ZERO);
        for (at, takes) in self.packets.iter().filter(|(at, _)| *at < until) {
            work = work + *takes;
            free = free.max(*at) + *takes;
        }
        work - free.since(until)
    }
}

impl Probe for Arrivals {
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, _: &PacketState) {
        if link == self.link {
            self.packets
                .push((now, self.rate.time_of(packet.len.into())));
        }
    }
}

/// Runs a scenario without drops and compares the reported busy time of a link with the arrivals:
/// both must be equal. Returns the utilisation.
fn utilisation(scenario: &Scenario, from: &str, to: &str) -> f64 {
    let network = &scenario.topology.network;
    let is_it = |link: &LinkConfig| network.name(link.from) == from && network.name(link.to) == to;
    let number = network.links().iter().position(is_it).unwrap();
    let mut arrivals = Arrivals {
        link: LinkId(number as u32),
        rate: network.links()[number].rate,
        packets: Vec::new(),
    };
    let (results, curves) = scenario.run_with(1, &mut arrivals, |_| ()).unwrap();
    let link = &results.links[number];
    assert_eq!(link.dropped, [0; 5]);
    let at = |picos: u64| arrivals.at_work(Instant::from_picos(picos));
    let part = |from: u64, to: u64| {
        (at(to) - at(from)).as_secs_f64() / Duration::from_picos(to - from).as_secs_f64()
    };
    let (warmup, end) = (scenario.warmup.as_picos(), scenario.duration.as_picos());
    assert_eq!(link.utilisation, part(warmup, end), "{link:?}");
    let steps: Vec<_> = (0..200)
        .map(|step| part(end / 200 * step, end / 200 * (step + 1)))
        .collect();
    assert_eq!(curves.links[number].utilisation, steps);
    link.utilisation
}

/// Packets at the end of their routes: when, bytes, delay.
#[derive(Default)]
struct Received(Vec<(Instant, u32, Duration)>);

impl Probe for Received {
    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if state.direction == Direction::Forward {
            self.0.push((now, packet.len, now.since(state.sent)));
        }
    }
}

/// Throughput and delay over time are those of the packets received, warm-up included, and of each
/// group alone.
#[test]
fn groups_over_time_are_what_they_received() {
    let one = source("name = \"one\"\nkind = \"poisson\"\nrate = \"2mbit\"");
    let other = source("name = \"other\"\nkind = \"tcp\"");
    let rest = "[queue]\ncore = \"fifo limit 30\"\n";
    let alone = scenario("2s", "500ms", "10mbit", &format!("{rest}{one}"));
    let mut received = Received::default();
    let (_, curves) = alone.run_with(1, &mut received, |_| ()).unwrap();
    let group = &curves.groups[0];
    assert_eq!((group.throughput.len(), group.delay_mean.len()), (200, 200));
    let (mut bytes, mut packets) = (0.0, received.0.iter().peekable());
    let mut counted = 0.0;
    for (step, rate) in group.throughput.iter().enumerate() {
        bytes += rate * curves.step / 8.0;
        let end = Instant::ZERO + Duration::from_millis(10 * (step as u64 + 1));
        let (mut longest, mut number) = (Duration::ZERO, 0);
        while let Some((_, len, delay)) = packets.next_if(|(at, _, _)| *at <= end) {
            counted += f64::from(*len);
            longest = longest.max(*delay);
            number += 1;
        }
        assert!(
            (bytes - counted).abs() < 1.0,
            "step {step}: {bytes} of {counted}"
        );
        let told = group.delay_max[step].unwrap_or(0.0);
        assert!((told - longest.as_secs_f64()).abs() < 1e-9, "step {step}");
        assert_eq!(group.delay_mean[step].is_some(), number > 0);
        assert!(group.delay_mean[step].unwrap_or(0.0) <= told);
    }
    assert!(counted > 200_000.0, "{counted}");

    let both = scenario("2s", "500ms", "10mbit", &format!("{rest}{one}{other}"));
    let mut received = Received::default();
    let (_, curves) = both.run_with(1, &mut received, |_| ()).unwrap();
    let mut all = 0.0;
    for group in &curves.groups {
        let bits: f64 = group.throughput.iter().sum();
        assert!(bits > 0.0, "each group receives");
        all += bits * curves.step / 8.0;
    }
    let sent: u64 = received.0.iter().map(|(_, len, _)| u64::from(*len)).sum();
    assert!((all - sent as f64).abs() < 1.0, "{all} of {sent}");
}

/// Waits of the packets that a link began to transmit.
struct LinkWaits {
    link: LinkId,
    waits: Vec<(Instant, Duration)>,
}

impl Probe for LinkWaits {
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        span: [Instant; 2],
    ) {
        if link == self.link {
            self.waits.push((span[0], span[0].since(packet.arrival)));
        }
    }
}

/// A link's wait over time is that of the packets that it sent in each step, warm-up included.
#[test]
fn links_over_time_are_how_long_their_packets_waited() {
    let steady = source("name = \"one\"\nkind = \"poisson\"\nrate = \"2mbit\"");
    let queue = "[queue]\ncore = \"fifo limit 30\"\n";
    let scenario = scenario("2s", "500ms", "5mbit", &format!("{queue}{steady}"));
    let network = &scenario.topology.network;
    let is_core =
        |link: &LinkConfig| network.name(link.from) == "left" && network.name(link.to) == "right";
    let number = network.links().iter().position(is_core).unwrap();
    let mut waits = LinkWaits {
        link: LinkId(number as u32),
        waits: Vec::new(),
    };
    let (_, curves) = scenario.run_with(1, &mut waits, |_| ()).unwrap();
    let link = &curves.links[number];
    assert_eq!((link.wait_mean.len(), link.wait_max.len()), (200, 200));
    let mut packets = waits.waits.iter().peekable();
    let mut differ = 0;
    for (step, told) in link.wait_max.iter().enumerate() {
        let end = Instant::ZERO + Duration::from_millis(10 * (step as u64 + 1));
        let mut sum = 0.0;
        let mut number = 0.0;
        let mut longest = Duration::ZERO;
        while let Some((_, wait)) = packets.next_if(|(at, _)| *at <= end) {
            sum += wait.as_secs_f64();
            number += 1.0;
            longest = longest.max(*wait);
        }
        assert_eq!(told.is_some(), number > 0.0, "step {step}");
        assert_eq!(told.unwrap_or(0.0), longest.as_secs_f64(), "step {step}");
        let mean = link.wait_mean[step].unwrap_or(0.0);
        assert!((mean * number - sum).abs() < 1e-9, "step {step}: {mean}");
        differ += u32::from(told.is_some_and(|longest| longest > 1.1 * mean));
    }
    assert!(differ > 50, "mean and longest differ in {differ} steps");
}

/// Packets of 0.8 s in a run of one second: the second packet has not left at the end.
#[test]
fn no_link_is_at_work_for_longer_than_the_run() {
    let source = source("kind = \"cbr\"\nrate = \"1mbit\"\nstart_step = \"1ms\"");
    for queue in [
        "fifo limit 1000",
        "lstf limit 1000",
        "lstf preempt limit 1000",
    ] {
        let of = |warmup| {
            scenario(
                "1s",
                warmup,
                "10kbit",
                &format!("[queue]\ncore = \"{queue}\"\n{source}"),
            )
        };
        let part = utilisation(&of("0s"), "left", "right");
        assert!(
            (0.9899..0.99).contains(&part),
            "it rests for the first 10.08 ms only: {part}"
        );
        assert_eq!(utilisation(&of("300ms"), "left", "right"), 1.0, "{queue}");
    }
}

/// Two nodes send to a third over a router with this queue. Long packets take 4.8 s each and can
/// wait, short ones cannot.
fn interrupted(queue: &str) -> Scenario {
    let mut text = "duration = \"40s\"\nwarmup = \"20s\"\n[[node]]\nname = \"r\"\n".to_owned();
    for (name, from, to, rate) in [
        ("a", "a", "r", "10mbit"),
        ("c", "c", "r", "10mbit"),
        ("b", "r", "b", "100kbit"),
    ] {
        text += &format!(
            "[[node]]\nname = \"{name}\"\nhost = true\n[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\n"
        );
    }
    text += &format!("[[port]]\nfrom = \"r\"\nto = \"b\"\nqueue = \"{queue} limit 1000\"\n");
    for (from, rate, len, slack) in [("a", "60kbit", 60_000, "100s"), ("c", "30kbit", 100, "1ms")] {
        text += &format!(
            "[[source]]\nkind = \"cbr\"\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"b\"\nrate = \"{rate}\"\n"
        );
        text += &format!("packet_len = {len}\nurgency = \"slack {slack}\"\n");
    }
    Scenario::from_toml("mine.toml", &text, Path::new(".")).unwrap()
}

/// The part of a packet already sent counts at once, despite interruptions: a preemptive link is
/// busy for the same time as others.
#[test]
fn links_that_interrupt_packets_are_at_work_when_they_send() {
    let parts =
        ["lstf preempt", "lstf", "fifo"].map(|queue| utilisation(&interrupted(queue), "r", "b"));
    assert_eq!(parts, [parts[0]; 3]);
    assert!((0.85..0.95).contains(&parts[0]), "{parts:?}");
}

/// Endless flows, with and without a warm-up: retransmissions until the end are reported, and the
/// flows are no transfers.
#[test]
fn what_was_sent_again_is_told_of_flows_that_go_on() {
    for warmup in ["0s", "2s"] {
        let scenario = scenario(
            "10s",
            warmup,
            "5mbit",
            &(LOSSY.to_owned() + &source("kind = \"tcp\"")),
        );
        let (results, again) = watched(&scenario);
        let group = &results.groups[0];
        assert_eq!(
            (group.retransmissions, group.incomplete),
            (Some(again), 0),
            "{warmup}"
        );
        assert!(again > 20 && group.timeouts.is_some(), "{again}");
        assert_eq!(
            results
                .flows
                .iter()
                .map(|flow| flow.retransmissions.unwrap())
                .sum::<u64>(),
            again
        );
    }
    let quiet = scenario(
        "1s",
        "0s",
        "5mbit",
        &source("kind = \"cbr\"\nrate = \"1mbit\""),
    );
    let quiet = &quiet.run(1, |_| ()).unwrap().groups[0];
    assert_eq!(
        (quiet.retransmissions, quiet.timeouts),
        (None, None),
        "there is nobody who would send again"
    );
}

/// Transfers of each kind that cannot end in time: all are incomplete, and their retransmissions
/// are reported.
#[test]
fn transfers_that_the_end_cuts_off_are_incomplete() {
    let cases = [
        ("kind = \"tcp\"\nsize = 10000000", 2, true),
        (
            "kind = \"request_response\"\nrequest = 1000\nresponse = 10000000\nthink = \"1s\"",
            2,
            true,
        ),
        (
            "kind = \"video\"\nsegment = 10000000\ninterval = \"2s\"",
            2 * 3,
            true,
        ),
        ("kind = \"burst\"\nsize = 10000000", 2, false),
    ];
    for stop in ["", "\nstop = \"4500ms\""] {
        for (keys, incomplete, is_tcp) in cases {
            let scenario = scenario(
                "5s",
                "0s",
                "5mbit",
                &(LOSSY.to_owned() + &source(&format!("{keys}{stop}"))),
            );
            let (results, again) = watched(&scenario);
            let GroupResult {
                incomplete: told,
                completion,
                retransmissions,
                ..
            } = &results.groups[0];
            assert_eq!(
                (*told, completion.count, *retransmissions),
                (incomplete, 0, is_tcp.then_some(again)),
                "{keys}{stop}"
            );
        }
    }
}

/// Requests and responses are flows; index and throughput are for responses only.
#[test]
fn fairness_is_that_of_answers() {
    let clients =
        source("kind = \"request_response\"\nrequest = 100\nresponse = 20000\nthink = \"10ms\"");
    let results = scenario("10s", "1s", "5mbit", &clients)
        .run(1, |_| ())
        .unwrap();
    let group = &results.groups[0];
    assert_eq!(group.flows, 4, "two each");
    assert!(group.jain.unwrap() > 0.99, "two alike: {:?}", group.jain);
    let one = clients.replace("s0..1", "s0").replace("r0..1", "r0");
    assert_eq!(
        scenario("10s", "1s", "5mbit", &one)
            .run(1, |_| ())
            .unwrap()
            .groups[0]
            .jain,
        None,
        "there is nobody to be fair to"
    );
}

/// More flows than are listed by default: the number left out is reported, and an option lists all.
#[test]
fn no_flow_is_lost_silently() {
    let bursts = "[[source]]\nkind = \"burst\"\nfrom = \"s0..2\"\nto = \"r0..2\"\nsize = 100\npacket_len = 100\ncount = 2000\nstart_step = \"100us\"\n";
    let mut scenario = scenario("2s", "0s", "100mbit", bursts);
    let some = scenario.run(1, |_| ()).unwrap();
    assert_eq!(
        (
            some.groups[0].flows,
            some.flows.len(),
            some.flows_left_out,
            some.more_flows.len()
        ),
        (6000, 4096, 1904, 0)
    );
    scenario.keeps_all_flows = true;
    let all = scenario.run(1, |_| ()).unwrap();
    assert_eq!((all.flows_left_out, all.more_flows.len()), (1904, 1904));
    assert!(
        all.flows == some.flows,
        "what is told by itself is the same"
    );
    let mut numbers: Vec<_> = all
        .flows
        .iter()
        .chain(&all.more_flows)
        .map(|flow| flow.number)
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..6000).collect::<Vec<_>>());
    assert_eq!(
        all.more_flows
            .iter()
            .chain(&all.flows)
            .map(|flow| flow.packets.delivered)
            .sum::<u64>(),
        6000
    );
}

/// A lossy link of 1 Mbit/s (half of the packets) with an unlimited queue. The traffic stops before
/// the end of the warm-up.
fn queued_before(keys: &str) -> Scenario {
    let mut text = "duration = \"10s\"\nwarmup = \"9s\"\n[[node]]\nname = \"r\"\n".to_owned();
    for (name, from, to, rate) in [("a", "a", "r", "100mbit"), ("b", "r", "b", "1mbit")] {
        text += &format!(
            "[[node]]\nname = \"{name}\"\nhost = true\n[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\n"
        );
    }
    text += "[[port]]\nfrom = \"r\"\nto = \"b\"\nloss = \"50%\"\nqueue = \"fifo limit 5000\"\n";
    let source = "[[source]]\nkind = \"cbr\"\nfrom = \"a\"\nto = \"b\"\npacket_len = 1000\n";
    text += &format!(
        "{source}rate = \"5mbit\"\nstop = \"8500ms\"\n{}",
        if keys.is_empty() {
            String::new()
        } else {
            format!("{source}{keys}\n")
        }
    );
    Scenario::from_toml("mine.toml", &text, Path::new(".")).unwrap()
}

/// Nearly all packets sent after the warm-up arrived before: the loss ratio is relative to packets
/// sent and dropped, not to arrivals.
#[test]
fn a_loss_is_a_part_of_known_fates() {
    for (keys, arrived) in [("", 0), ("rate = \"80kbit\"\nstart = \"9s\"", 10)] {
        let results = queued_before(keys).run(1, |_| ()).unwrap();
        let class = results
            .classes
            .iter()
            .find(|class| class.class == "edge")
            .unwrap();
        let packets: u64 = results
            .links
            .iter()
            .filter(|link| link.class == "edge")
            .map(|link| link.packets)
            .sum();
        assert_eq!(
            (class.arrived, packets),
            (arrived, 125),
            "a packet takes 8 ms of the link"
        );
        assert!((40..85).contains(&class.lost), "half of them: {class:?}");
        assert_eq!(class.loss, Some(class.lost as f64 / packets as f64));
        let link = results
            .links
            .iter()
            .find(|link| link.name() == "r > b")
            .unwrap();
        assert_eq!(link.loss(), class.loss, "the other way carries nothing");
    }
}

/// Waiting times of packets that arrived at a link after the warm-up, from a probe of every arrival
/// and departure.
struct Waits {
    from: Instant,
    link: LinkId,
    rate: Rate,
    picos: Vec<u64>,
}

impl Probe for Waits {
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        [_, end]: [Instant; 2],
    ) {
        if link == self.link && packet.arrival >= self.from {
            self.picos.push(
                (end.since(packet.arrival) - self.rate.time_of(packet.len.into())).as_picos(),
            );
        }
    }
}

/// A link and its class report equal waits: only of packets that arrived after the warm-up, and
/// including all time in which a packet was interrupted.
#[test]
fn a_link_and_its_class_wait_alike() {
    for scenario in [
        interrupted("lstf preempt"),
        interrupted("lstf"),
        queued_before(""),
        queued_before("rate = \"80kbit\"\nstart = \"9s\""),
    ] {
        let network = &scenario.topology.network;
        let number = network
            .links()
            .iter()
            .position(|link| network.name(link.from) == "r" && network.name(link.to) == "b")
            .unwrap();
        let (from, rate) = (
            Instant::ZERO + scenario.warmup,
            network.links()[number].rate,
        );
        let mut waits = Waits {
            from,
            link: LinkId(number as u32),
            rate,
            picos: Vec::new(),
        };
        let results = scenario.run_with(1, &mut waits, |_| ()).unwrap().0;
        let link = &results.links[number];
        let class = results
            .classes
            .iter()
            .find(|class| class.class == link.class)
            .unwrap();
        let count = waits.picos.len() as u64;
        let mean =
            (count > 0).then(|| waits.picos.iter().sum::<u64>() as f64 / 1e12 / count as f64);
        assert_eq!((link.wait, class.wait.count), (mean, count), "{link:?}");
        let near = |one: f64, other: f64| (one - other).abs() <= 1e-9;
        assert!(
            class
                .wait
                .mean
                .zip(mean)
                .is_none_or(|(one, other)| near(one, other)),
            "{class:?}"
        );
        let longest = waits
            .picos
            .iter()
            .max()
            .map(|longest| *longest as f64 / 1e12);
        assert!(
            class
                .wait
                .max
                .zip(longest)
                .is_none_or(|(one, other)| near(one, other)),
            "{class:?}"
        );
        assert_eq!(
            (class.wait.mean.is_some(), class.wait.max.is_some()),
            (count > 0, count > 0)
        );
    }
}

/// Departure times at a link, from a probe.
struct Ends(LinkId, Vec<Instant>);

impl Probe for Ends {
    fn transmitted(
        &mut self,
        link: LinkId,
        _: &Packet<Tag>,
        _: &PacketState,
        [_, end]: [Instant; 2],
    ) {
        if link == self.0 {
            self.1.push(end);
        }
    }
}

/// The second packet of 0.8 s is on the link at the end of a run of one second. The departure at
/// 1.6 s is certain only without preemption.
#[test]
fn a_packet_that_can_be_interrupted_has_a_hop_when_it_has_left() {
    for (queue, hops) in [
        ("fifo limit 1000", 2),
        ("lstf limit 1000", 2),
        ("lstf preempt limit 1000", 1),
    ] {
        let source = source("kind = \"cbr\"\nrate = \"1mbit\"\nstart_step = \"1ms\"");
        let scenario = scenario(
            "1s",
            "0s",
            "10kbit",
            &format!("[queue]\ncore = \"{queue}\"\n{source}"),
        );
        let network = &scenario.topology.network;
        let link = network
            .link_between(
                network.named("left").unwrap(),
                network.named("right").unwrap(),
            )
            .unwrap();
        let mut ends = Ends(link, Vec::new());
        scenario.run_with(1, &mut ends, |_| ()).unwrap();
        let end = Instant::ZERO + scenario.duration;
        assert_eq!(ends.1.len(), hops, "{queue}");
        assert_eq!(
            ends.1.iter().filter(|at| **at > end).count(),
            hops - 1,
            "{queue}"
        );
    }
}

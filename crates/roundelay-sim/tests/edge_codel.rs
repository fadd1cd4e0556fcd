//! Edge-CoDel in scenarios: keeps queues short without help from routers, under any discipline, and
//! drops are counted.

use std::path::Path;

use roundelay::edge_codel::Config;
use roundelay::{Duration, EdgeCodel, Instant, Packet};
use roundelay_sim::log::Log;
use roundelay_sim::scenario::{Fates, GroupResult, Results, Scenario};
use roundelay_sim::{Content, Direction, PacketState, Probe, Tag};
use roundelay_verify::verify;

/// A link of 10 Mbit/s with a buffer of 1.5 s, and a round trip of 20 ms.
fn dumbbell(queue: &str, source: &str) -> String {
    format!(
        "duration = \"40s\"\nwarmup = \"15s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"10mbit\"\ndelay = \"8ms\"\naccess_rate = \"1gbit\"\n\
         access_delay = \"1ms\"\n[queue]\ncore = \"{queue} limit 1250\"\n[[source]]\nto = \"r*\"\nfrom = \"s*\"\n{source}\n"
    )
}

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml("mine.toml", text, Path::new(".")).map_err(|error| error.to_string())
}

fn scenario(text: &str) -> Scenario {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(queue: &str, source: &str) -> Results {
    scenario(&dumbbell(queue, source))
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn group(queue: &str, source: &str) -> GroupResult {
    run(queue, source).groups.remove(0)
}

const LONG: &str = "kind = \"tcp\"\n";

/// After halving the window a sender is silent for half a round trip. By default this gap starts a
/// new interval: at 10 Mbit/s a second signal is rare.
const STRICT: &str = "edge_codel = { refresh = \"1s\" }";

fn adds_up(
    Fates {
        sent,
        delivered,
        full,
        pushed_out,
        early,
        refused,
        lost,
        edge_dropped,
        on_their_way,
        ..
    }: Fates,
) -> bool {
    sent == delivered + full + pushed_out + early + refused + lost + edge_dropped + on_their_way
}

#[test]
fn queues_stay_short_under_any_discipline() {
    for queue in ["fifo", "packet_fq", "lstf", "drr"] {
        let [without, with] = ["", STRICT].map(|edge| group(queue, &format!("{LONG}{edge}")));
        let [long, short] = [&without, &with].map(|group| group.delay.mean.unwrap());
        assert!(
            long > 0.5 && short < 0.06,
            "{queue}: {long} s without, {short} s with"
        );
        assert!(
            (9.0e6..=10.0e6).contains(&with.throughput),
            "{queue}: {}",
            with.throughput
        );
        assert_eq!(
            (without.packets.edge_dropped, without.edge_marked),
            (0, None)
        );
        assert!(
            with.packets.edge_dropped > 10 && with.edge_marked == Some(0),
            "{queue}: {:?}",
            with.packets
        );
        assert!(
            adds_up(with.packets) && with.packets.full == 0,
            "{queue}: {:?}",
            with.packets
        );
        assert!(
            with.retransmissions.unwrap() >= with.packets.edge_dropped,
            "{queue}: what is dropped is sent again"
        );
        let loss = with.packets.edge_dropped as f64
            / (with.packets.delivered + with.packets.edge_dropped) as f64;
        assert!((with.loss.unwrap() - loss).abs() < 1e-12, "{queue}");
    }
}

#[test]
fn marks_take_the_place_of_drops() {
    let tcp = "tcp = { ecn = true }\n";
    let [drops, marks] = [STRICT.to_owned(), STRICT.replace('}', ", mark = true }")]
        .map(|edge| group("fifo", &format!("{LONG}{tcp}{edge}")));
    assert!(drops.packets.edge_dropped > 10 && drops.edge_marked == Some(0));
    assert!(marks.edge_marked.unwrap() > 10, "{:?}", marks.edge_marked);
    assert_eq!(
        (marks.packets.edge_dropped, marks.retransmissions),
        (0, Some(0)),
        "new data can be marked"
    );
    assert!(marks.delay.mean.unwrap() < 0.06 && marks.throughput > 9.0e6);
}

/// Table 4 of the paper: the longer the gap before a new interval, the shorter the queues.
#[test]
fn longer_gaps_make_shorter_queues() {
    let delay = |refresh| {
        group(
            "fifo",
            &format!("{LONG}edge_codel = {{ refresh = \"{refresh}\" }}"),
        )
        .delay
        .mean
        .unwrap()
    };
    let delays = ["10ms", "100ms", "1s"].map(delay);
    assert!(delays[0] > delays[1] && delays[1] > delays[2], "{delays:?}");
}

/// Packets of the first flow on leaving the network: time of leaving, time of sending, waiting
/// time, and whether dropped.
#[derive(Default)]
struct Leaving {
    seen: Vec<(Instant, Instant, Duration, bool)>,
    bare: u64,
    /// Waiting times of packets on their way, by packet number.
    waits: std::collections::HashMap<u64, Duration>,
}

impl Leaving {
    fn leave(&mut self, now: Instant, state: &PacketState, is_dropped: bool) {
        let waited = self.waits.remove(&state.number).unwrap_or_default();
        let Content::Segment(segment) = &state.content else {
            panic!("TCP only")
        };
        if state.flow.0 == 0 && state.direction == Direction::Forward && segment.len > 0 {
            self.seen.push((now, state.sent, waited, is_dropped));
        } else {
            assert!(
                !is_dropped || state.flow.0 > 0,
                "no SYN and no acknowledgement is dropped"
            );
            self.bare += 1;
        }
    }
}

impl Probe for Leaving {
    fn transmitted(
        &mut self,
        _: roundelay_sim::LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, _]: [Instant; 2],
    ) {
        let waits = self.waits.entry(state.number).or_default();
        *waits = *waits + start.since(packet.arrival);
    }

    fn edge_dropped(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        self.leave(now, state, true);
    }

    fn delivered(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        self.leave(now, state, false);
    }
}

/// The decisions equal those of a control loop fed with waiting times measured at the queues,
/// whatever the initial slack.
#[test]
fn it_decides_by_the_time_in_all_queues() {
    for urgency in ["none", "fair 100mbit", "size 1s", "slack 10ms"] {
        for queue in ["fifo", "packet_fq", "lstf"] {
            let source = format!(
                "{LONG}urgency = \"{urgency}\"\nedge_codel = {{ target = \"3ms\", interval = \"50ms\" }}"
            );
            let mut leaving = Leaving::default();
            scenario(&dumbbell(queue, &source))
                .run_with(1, &mut leaving, |_| ())
                .unwrap();
            let target = Duration::from_millis(3);
            let mut codel = EdgeCodel::new(Config {
                target,
                interval: Duration::from_millis(50),
                ..Config::default()
            })
            .unwrap();
            let expected: Vec<_> = leaving
                .seen
                .iter()
                .map(|(now, sent, waited, _)| codel.judges_bad(*now, *sent, *waited))
                .collect();
            let actual: Vec<_> = leaving.seen.iter().map(|packet| packet.3).collect();
            assert!(
                actual.contains(&true) && leaving.bare > 0,
                "{urgency}, {queue}"
            );
            assert_eq!(actual, expected, "{urgency}, {queue}");
        }
    }
}

#[test]
fn all_that_go_over_tcp_may_have_it() {
    let sources = [
        "kind = \"tcp\"\nsize = \"20mb\"",
        "kind = \"request_response\"\nrequest = \"200kb\"\nresponse = \"4mb\"\nthink = \"10ms\"",
        "kind = \"video\"\nsegment = \"4mb\"\ninterval = \"2s\"",
    ];
    for source in sources {
        let [without, with] =
            ["", "edge_codel = {}"].map(|edge| group("fifo", &format!("{source}\n{edge}")));
        assert!(
            with.packets.edge_dropped > 0 && adds_up(with.packets),
            "{source}"
        );
        assert!(
            with.delay.mean.unwrap() < without.delay.mean.unwrap() / 2.0,
            "{source}"
        );
    }
    let many = "from = \"s*\"\nkind = \"arrivals\"\nutilisation = 0.9\nlink_rate = \"10mbit\"\nsizes = [[1000000, 1.0]]\ntransport = \"tcp\"";
    let text = |edge: &str| {
        let source = format!("{many}\n{edge}\n");
        dumbbell("fifo", "")
            .split("[[source]]")
            .next()
            .unwrap()
            .to_owned()
            + "[[source]]\n"
            + &source.replace("\"s*\"", "[\"s0\", \"r*\"]")
    };
    let [without, with] = ["", "edge_codel = {}"].map(|edge| {
        scenario(&text(edge))
            .run(1, |_| ())
            .unwrap()
            .groups
            .remove(0)
    });
    assert!(
        with.packets.edge_dropped > 0 && adds_up(with.packets),
        "{:?}",
        with.packets
    );
    assert!(with.round_trip.mean.unwrap() < without.round_trip.mean.unwrap());
}

#[test]
fn a_log_tells_of_its_drops() {
    let mut scenario = scenario(&dumbbell("fifo", &format!("{LONG}edge_codel = {{}}")));
    scenario.warmup = Duration::ZERO;
    let mut bytes = Vec::new();
    let mut log = Log::new(&mut bytes, &scenario.topology.network);
    let (results, _) = scenario.run_with(1, &mut log, |_| ()).unwrap();
    log.finish(Instant::ZERO + scenario.duration).unwrap();
    drop(log);
    let text = String::from_utf8(bytes).unwrap();
    let dropped = text.matches("\"event\":\"edge_drop\"").count() as u64;
    assert_eq!(dropped, results.groups[0].packets.edge_dropped);
    assert_eq!(verify(text.as_bytes()).unwrap().dropped, dropped);
    let (before, rest) = text.split_once("\"edge_drop\"").unwrap();
    assert!(
        verify(format!("{before}\"deliver\"{rest}").as_bytes()).is_ok(),
        "flows that do not close have no count to be checked"
    );
    let early = text
        .replacen("\"deliver\"", "\"edge_drop\"", 1)
        .lines()
        .take(200)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        verify(early.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("without an end")
    );
}

#[test]
fn errors_name_the_line_and_the_range() {
    let refused = |source: &str| read(&dumbbell("fifo", source)).unwrap_err();
    let codel = |keys: &str| refused(&format!("{LONG}edge_codel = {{ {keys} }}"));
    assert_eq!(
        codel("target = 0"),
        "mine.toml:16: target 0s: legal range 1us to 3600s"
    );
    assert_eq!(
        codel("target = \"30ms\""),
        "mine.toml:16: refresh 20ms (default): legal range above target, 30ms, to 3600s"
    );
    assert_eq!(
        codel("refresh = \"5ms\""),
        "mine.toml:16: refresh 5ms: legal range above target, 5ms, to 3600s"
    );
    assert_eq!(
        codel("interval = \"7200s\""),
        "mine.toml:16: interval 7200s: legal range 1us to 3600s"
    );
    assert_eq!(
        codel("mark = true"),
        "mine.toml:16: mark = true: needs tcp = { ecn = true }, or no packet can be marked"
    );
    assert!(
        codel("resume = \"always\"")
            .contains("unknown value `always`, expected `rfc8289` or `two-less`")
    );
    assert!(codel("limit = 1").contains("unknown field `limit`"));
    for no_table in ["true", "[\"5ms\"]", "\"5ms\""] {
        let message = refused(&format!("{LONG}edge_codel = {no_table}"));
        assert!(
            message.starts_with("mine.toml:16: ")
                && message.contains("expected a table, as in edge_codel = { target"),
            "{message}"
        );
    }
    let cbr = refused("kind = \"cbr\"\nrate = \"1mbit\"\nedge_codel = {}");
    assert_eq!(
        cbr,
        "mine.toml:17: edge_codel is for sources over TCP: others react to no loss"
    );
}

/// The two rules for a restart drop different numbers of packets when a queue builds up again.
#[test]
fn either_rule_of_starting_again_can_be_had() {
    let of = |resume: &str| {
        group(
            "fifo",
            &format!(
                "{LONG}{}",
                STRICT.replace('}', &format!(", resume = \"{resume}\" }}"))
            ),
        )
        .packets
        .edge_dropped
    };
    assert_ne!(of("rfc8289"), of("two-less"));
    assert_eq!(
        of("rfc8289"),
        group("fifo", &format!("{LONG}{STRICT}"))
            .packets
            .edge_dropped
    );
}

//! Verdicts on generated captures with an obvious best answer: the choice, whom the others hurt, and
//! the reason.

use std::io::Cursor;

use crate::common::*;
use roundelay_trace::arguments::DEPLOYED;
use roundelay_trace::{Capture, Comparison, Kind, Options, WeightRules, compare};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;
/// Those among the disciplines compared by default with a queue for each flow.
const FAIR: [&str; 4] = ["drr", "qfq_plus linux", "sfq linux", "fq_codel linux"];

/// A packet: nanoseconds, flow, bytes on the wire.
type Packet = (u64, Flow, u32);

#[derive(Debug, Clone, Copy)]
struct Flow {
    protocol: u8,
    ports: (u16, u16),
    dscp: u8,
}

const fn download(number: u16) -> Flow {
    Flow { protocol: TCP, ports: (443, 50_000 + number), dscp: 0 }
}

const fn flood(number: u16) -> Flow {
    Flow { protocol: UDP, ports: (9, 9000 + number), dscp: 0 }
}

const fn call(number: u16) -> Flow {
    Flow { protocol: UDP, ports: (40_000, 40_000 + number), dscp: 0 }
}

const fn query(number: u16) -> Flow {
    Flow { protocol: UDP, ports: (53, 30_000 + number), dscp: 0 }
}

/// Small pseudo-random numbers: Lehmer's generator modulo 2^31 - 1.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        self.0 % limit
    }
}

/// Packets of `len` bytes at `rate` bits per second for `seconds`, each up to an interval late.
fn steady(flow: Flow, rate: u64, len: u32, seconds: u64) -> Vec<Packet> {
    let interval = u64::from(len) * 8 * SECOND / rate;
    let mut random = Random(1 + u64::from(flow.ports.0) * 65_536 + u64::from(flow.ports.1));
    (0..seconds * SECOND / interval).map(|number| (number * interval + random.below(interval), flow, len)).collect()
}

/// `count` packets of 1500 bytes at one instant, each `interval` nanoseconds.
fn bursts(flow: Flow, count: u64, interval: u64, seconds: u64) -> Vec<Packet> {
    (0..seconds * SECOND / interval).flat_map(|burst| (0..count).map(move |_| (burst * interval, flow, 1500))).collect()
}

/// A call of 80 kbit/s: 200 bytes each 20 ms.
fn talk(number: u16, seconds: u64) -> Vec<Packet> {
    steady(call(number), 80_000, 200, seconds)
}

/// A question each 100 ms.
fn questions(number: u16, seconds: u64) -> Vec<Packet> {
    steady(query(number), 8_000, 100, seconds)
}

fn written(flows: Vec<Vec<Packet>>) -> Vec<u8> {
    let mut packets: Vec<_> = flows.into_iter().flatten().collect();
    packets.sort_by_key(|(at, ..)| *at);
    let write = |(at, flow, len): &Packet| {
        let udp = ports(flow.ports.0, flow.ports.1);
        let tcp = [&udp[..4], &[0; 8], &[0x50, 0x10], &[0; 6]].concat();
        let mut ip = ipv4(flow.protocol, A, B, if flow.protocol == TCP { &tcp } else { &udp });
        ip[1] = flow.dscp << 2;
        let frame = ethernet(0x0800, &ip);
        [record_header(Little, (at / SECOND) as u32, (at % SECOND) as u32, frame.len() as u32, *len), frame].concat()
    };
    let header = pcap(Little, NANOS, (2, 4), 65_535, ETHERNET);
    packets.iter().fold(header, |mut bytes, packet| {
        bytes.extend(write(packet));
        bytes
    })
}

/// A comparison and its verdict as one text.
struct Judged {
    comparison: Comparison,
    text: String,
}

fn judged_with(flows: Vec<Vec<Packet>>, rate: &str, texts: &[&str], change: impl FnOnce(&mut Options)) -> Judged {
    let specs = texts.iter().map(|text| text.parse().unwrap()).collect();
    let mut options = Options { measure_cost: false, ..Options::new(rate.parse().unwrap(), specs) };
    change(&mut options);
    let capture = Capture::from_reader("t.pcap", Cursor::new(written(flows))).unwrap();
    let comparison = compare(capture, &options, &mut ()).unwrap();
    let text = comparison.verdict.sentences.join(" ");
    Judged { comparison, text }
}

fn judged(flows: Vec<Vec<Packet>>, rate: &str, texts: &[&str]) -> Judged {
    judged_with(flows, rate, texts, |_| ())
}

impl Judged {
    fn best(&self) -> &str {
        &self.comparison.disciplines[self.comparison.verdict.best].spec
    }

    /// The best discipline is one of these, and the verdict has each of the phrases.
    #[track_caller]
    fn is(self, best: &[&str], phrases: &[&str]) -> Self {
        assert!(best.contains(&self.best()), "{}: {}", self.best(), self.text);
        for phrase in phrases {
            assert!(self.text.contains(phrase), "no '{phrase}' in: {}", self.text);
        }
        self
    }

    /// The verdict has none of the phrases.
    #[track_caller]
    fn says_not(self, phrases: &[&str]) -> Self {
        for phrase in phrases {
            assert!(!self.text.contains(phrase), "'{phrase}' in: {}", self.text);
        }
        self
    }
}

/// Regression: "divides the wait best: every flow asks for more than its share", with 43% dropped
/// against 0%.
#[test]
fn one_flow_alone_has_nothing_to_divide() {
    let alone = || vec![bursts(download(0), 300, 500 * MILLISECOND, 10)];
    judged(alone(), "10mbit", &DEPLOYED)
        .is(&["fifo"], &["is alone, so there is nothing to divide: fifo loses 0%", "under sfb"])
        .says_not(&["divides the wait", "divides the link"]);
}

#[test]
fn one_flow_above_the_link_gets_a_short_queue() {
    judged(vec![steady(download(0), 12_000_000, 1500, 20)], "10mbit", &["fifo", "drr", "codel"])
        .is(&["codel"], &["is alone, so there is nothing to divide"]);
}

#[test]
fn a_call_beside_a_download_is_kept_from_its_queue() {
    judged(vec![steady(download(0), 12_000_000, 1500, 10), talk(0, 10)], "10mbit", &DEPLOYED)
        .is(&FAIR, &["for calls and games (1 flow)", "fifo hurts calls and games (1 flow):", "times as long, in one queue"]);
}

#[test]
fn dns_beside_bulk_is_named() {
    judged(vec![steady(download(0), 12_000_000, 1500, 10), questions(0, 10), questions(1, 10)], "10mbit", &DEPLOYED)
        .is(&FAIR, &["for DNS (2 flows)", "fifo hurts DNS (2 flows):", "The worst is udp 10.0.0.1:53 >"]);
}

#[test]
fn web_beside_bulk_is_named() {
    let pages = (1..6).map(|number| bursts(download(number), 8, 500 * MILLISECOND, 10));
    judged([steady(download(0), 12_000_000, 1500, 10)].into_iter().chain(pages).collect(), "10mbit", &DEPLOYED)
        .is(&FAIR, &["for web (5 flows)", "fifo hurts web (5 flows):"]);
}

/// 55 light flows in a first class, in bursts, and a call in the last one.
fn crowd_and_call() -> Vec<Vec<Packet>> {
    (0..55).map(|number| bursts(download(number), 8, SECOND, 20)).chain([talk(0, 20)]).collect()
}

/// Regression: a geometric mean over 55 light flows hid that the call waited 40 times as long.
#[test]
fn fifty_five_light_flows_do_not_hide_a_call() {
    let web_first = "[[weight]]\nmatch = \"tcp\"\npriority = 0\n";
    let judged = judged_with(crowd_and_call(), "10mbit", &["priority", "drr"], |options| {
        options.weights = WeightRules::from_toml("w.toml", web_first).unwrap();
    });
    let wait = |spec: usize| judged.comparison.disciplines[spec].kinds.iter().find(|of| of.kind == Kind::Call).unwrap().p99.unwrap();
    assert!(wait(0) > 5.0 * wait(1), "{} {}", wait(0), wait(1));
    judged.is(&["drr"], &["priority hurts calls and games (1 flow):", "times as long"]).says_not(&["alike", "does not matter"]);
}

/// The same among flows of one kind.
#[test]
fn fifty_five_calls_do_not_hide_the_worst_call() {
    let calls = || (0..56).map(|number| talk(number, 10)).chain([steady(download(0), 12_000_000, 1500, 10)]).collect();
    let last = "[[weight]]\nmatch = \"dst port 40055\"\npriority = 7\n[[weight]]\nmatch = \"udp\"\npriority = 0\n";
    judged_with(calls(), "10mbit", &["priority", "drr"], |options| options.weights = WeightRules::from_toml("w.toml", last).unwrap())
        .is(&["drr"], &["priority hurts calls and games (56 flows):", "The worst is udp 10.0.0.1:40000 > 10.0.0.2:40055:"]);
}

/// Regression: a difference that "does not matter" hid the loss.
#[test]
fn a_loss_is_not_hidden_by_delays_that_are_alike() {
    let pages = || (0..100).map(|number| bursts(download(number), 8, 3 * SECOND, 12)).collect::<Vec<_>>();
    judged(pages(), "4mbit", &["fifo limit 616", "fifo limit 1000"])
        .is(&["fifo limit 1000"], &["but loses 23.0%", "fifo limit 616 hurts web (100 flows):", "23.0% of their packets are lost"])
        .says_not(&["does not matter", "alike"]);
}

#[test]
fn two_equal_bulks_need_no_fair_queue() {
    let equal = || vec![steady(download(0), 8_000_000, 1500, 20), steady(download(1), 8_000_000, 1500, 20)];
    judged(equal(), "10mbit", &["fifo", "drr", "qfq_plus"]).is(&["fifo"], &["alike"]).says_not(&["hurts"]);
    let (one, other) = (steady(download(0), 6_000_000, 1500, 20), steady(download(1), 6_000_000, 1500, 20));
    judged(vec![one, other], "10mbit", &["fifo", "codel"]).is(&["codel"], &["each gets at least 100%"]);
}

#[test]
fn two_unequal_bulks_get_equal_shares() {
    let unequal = vec![steady(download(0), 20_000_000, 1500, 20), steady(download(1), 6_000_000, 1500, 20)];
    judged(unequal, "10mbit", &DEPLOYED)
        .is(&FAIR, &["every flow asks for more than its fair share, each gets at least", "hurts bulk: tcp"]);
}

#[test]
fn a_flood_does_not_take_the_link_from_those_that_share() {
    let share = (0..3).map(|number| steady(download(number), 4_000_000, 1500, 10));
    judged([steady(flood(0), 50_000_000, 1500, 10)].into_iter().chain(share).collect(), "10mbit", &DEPLOYED)
        .is(&FAIR, &["hurts bulk: tcp", "of its fair share, where each flow gets at least"]);
}

#[test]
fn under_a_light_load_a_fifo_is_enough() {
    let light = vec![steady(download(0), 1_000_000, 1500, 10), talk(0, 10), questions(0, 10)];
    judged(light, "100mbit", &DEPLOYED).is(&["fifo"], &["Nothing contends for this link: fifo will do."]);
}

#[test]
fn calls_alone_on_a_busy_link_need_no_fair_queue() {
    judged((0..110).map(|number| talk(number, 10)).collect(), "10mbit", &DEPLOYED).is(&["fifo"], &["alike"]).says_not(&["hurts"]);
}

#[test]
fn weights_asked_for_are_kept() {
    let two = vec![steady(download(0), 12_000_000, 1500, 20), steady(download(1), 12_000_000, 1500, 20)];
    judged_with(two, "10mbit", &["fifo", "sfq", "codel", "drr", "qfq_plus"], |options| {
        options.weights.push("dst port 50000 = 4".parse().unwrap());
    })
    .is(&["drr", "qfq_plus"], &["divides the link best", "hurts bulk: tcp 10.0.0.1:443 > 10.0.0.2:50000 gets 6", "of its fair share"]);
}

#[test]
fn bursts_of_one_flow_are_its_own() {
    let burst = bursts(download(0), 400, SECOND, 10);
    judged(vec![burst, talk(0, 10), questions(0, 10)], "10mbit", &["fifo", "drr", "qfq_plus"])
        .is(&["drr", "qfq_plus"], &["fifo hurts calls and games (1 flow):"]);
}

/// Small packets wait for a turn of each large one: the larger the turns, the longer.
#[test]
fn large_turns_hurt_who_sends_small_packets() {
    let bulks = (0..8).map(|number| steady(download(number), 4_000_000, 1500, 10));
    judged(bulks.chain([talk(0, 10)]).collect(), "10mbit", &["drr quantum 9000b", "drr quantum 1500b", "fifo"])
        .is(&["drr quantum 1500b"], &["fifo hurts calls and games (1 flow):"]);
}

#[test]
fn marked_calls_among_many_bulks_go_first() {
    let bulks = (0..50).map(|number| steady(download(number), 400_000, 1500, 10));
    let marked = talk(0, 10).into_iter().map(|(at, flow, len)| (at, Flow { dscp: 46, ..flow }, len)).collect();
    judged(bulks.chain([marked]).collect(), "10mbit", &["fifo", "drr", "priority"])
        .is(&["priority"], &["fifo hurts calls and games (1 flow):"]);
}

/// A call of 80 kbit/s where a fair share is 5 kbit/s.
fn call_in_a_flood(dscp: u8) -> Vec<Vec<Packet>> {
    let crowd = (0..1000).map(|number| steady(flood(number), 40_000, 500, 10));
    crowd.chain([talk(0, 10).into_iter().map(|(at, flow, len)| (at, Flow { dscp, ..flow }, len)).collect()]).collect()
}

/// Regression: the call was bulk, as it asks for more than its fair share, and no sentence named it.
#[test]
fn a_call_in_a_flood_of_small_flows_is_not_forgotten() {
    judged(call_in_a_flood(46), "5mbit", &DEPLOYED).is(&["priority"], &["for calls and games (1 flow)", "hurts calls and games (1 flow):"]);
    let asked = "1 UDP flow of short packets asks for more than its fair share and counts as bulk";
    judged(call_in_a_flood(0), "5mbit", &["fifo", "drr", "priority"]).is(&["drr"], &[asked, "mark calls with the code point EF"]);
}

/// A call needs more than a tenth of a slow link.
#[test]
fn a_marked_call_on_a_slow_link_is_a_call() {
    let downloads = (0..30).map(|number| steady(download(number), 100_000, 1500, 10));
    let marked = talk(0, 10).into_iter().map(|(at, flow, len)| (at, Flow { dscp: 46, ..flow }, len)).collect();
    judged(downloads.chain([marked]).collect(), "700kbit", &["fifo", "drr", "priority"])
        .is(&["priority"], &["for calls and games (1 flow)", "hurts calls and games (1 flow)"]);
}

/// A transfer over TCP is none, whatever its mark.
#[test]
fn a_marked_transfer_is_no_call() {
    let downloads = (0..100).map(|number| steady(download(number), 400_000, 1500, 10));
    let marked = steady(Flow { dscp: 34, ..download(200) }, 1_500_000, 1500, 10);
    judged(downloads.chain([marked]).collect(), "20mbit", &["fifo", "drr", "priority"]).says_not(&["calls and games"]);
}

#[test]
fn a_first_class_that_takes_all_is_not_best() {
    let marked = steady(Flow { dscp: 48, ..flood(0) }, 20_000_000, 1500, 10);
    judged(vec![marked, questions(0, 10), steady(download(0), 4_000_000, 1500, 10)], "10mbit", &["priority", "drr"])
        .is(&["drr"], &["priority hurts DNS (1 flow): nothing of them gets through."]);
}

#[test]
fn a_short_buffer_is_no_remedy_for_a_call() {
    let flows = vec![steady(download(0), 20_000_000, 1500, 10), talk(0, 10)];
    judged(flows, "10mbit", &["fifo limit 10", "drr"]).is(&["drr"], &["fifo limit 10 hurts calls and games (1 flow):", "are lost"]);
}

#[test]
fn yardsticks_are_not_recommended() {
    let flows = vec![steady(download(0), 12_000_000, 1500, 10), talk(0, 10)];
    judged(flows, "10mbit", &["sjf", "fifo"]).is(&["fifo"], &["sjf would do less harm, but needs to know how long each flow will be"]);
}

#[test]
fn where_nothing_gets_through_no_discipline_is_praised() {
    let flows = vec![steady(download(0), 12_000_000, 1500, 2), talk(0, 2)];
    judged(flows, "10mbit", &["fifo limit 0", "drr limit 0"]).is(&["fifo limit 0", "drr limit 0"], &["Nothing gets through"]);
}

#[test]
fn a_game_beside_two_downloads_on_a_slow_link() {
    let downloads = (0..2).map(|number| steady(download(number), 4_000_000, 1500, 10));
    let game = steady(Flow { protocol: UDP, ports: (27_015, 27_005), dscp: 0 }, 96_000, 100, 10);
    judged(downloads.chain([game]).collect(), "5mbit", &DEPLOYED)
        .is(&FAIR, &["for calls and games (1 flow)", "hurts calls and games (1 flow):"]);
}

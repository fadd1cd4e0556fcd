//! Results tell the truth as of the end of the run, whatever is cut off by it.

use std::path::Path;

use roundelay::{Duration, Instant, Packet};
use roundelay_sim::scenario::{GroupResult, Results, Scenario};
use roundelay_sim::{Cargo, Carried, Content, Direction, Probe};
use roundelay_tcp::Flags;

/// A dumbbell with these lines for its queues and ports, and these sources.
fn scenario(duration: &str, warmup: &str, rate: &str, rest: &str) -> Scenario {
    let text = format!(
        "duration = \"{duration}\"\nwarmup = \"{warmup}\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 3\nrate = \"{rate}\"\n{rest}"
    );
    Scenario::from_toml("mine.toml", &text, Path::new(".")).unwrap()
}

/// What is counted of segments that were sent again, by somebody who sees each of them.
#[derive(Default)]
struct Again {
    from: Duration,
    segments: u64,
}

impl Probe for Again {
    fn sent(&mut self, now: Instant, _: &Packet<Carried>, cargo: &Cargo) {
        let Content::Segment(segment) = &cargo.content else { return };
        let is_data = cargo.direction == Direction::Forward && segment.len > 0;
        self.segments += u64::from(is_data && now >= Instant::ZERO + self.from && segment.flags.has(Flags::RETRANSMISSION));
    }
}

fn watched(scenario: &Scenario) -> (Results, u64) {
    let mut again = Again { from: scenario.warmup, segments: 0 };
    let results = scenario.run_with(1, &mut again, |_| ()).unwrap().0;
    (results, again.segments)
}

const LOSSY: &str = "[[port]]\nfrom = \"left\"\nto = \"right\"\nloss = \"5%\"\n";

fn source(keys: &str) -> String {
    format!("[[source]]\nfrom = \"s0..1\"\nto = \"r0..1\"\n{keys}\n")
}

/// One second of a packet of 0.8 s after the other: the second has not left when the run ends.
#[test]
fn no_link_is_at_work_for_longer_than_the_run() {
    let source = source("kind = \"cbr\"\nrate = \"1mbit\"\nstart_step = \"1ms\"");
    for (queue, warmup) in [("fifo limit 1000", "0s"), ("fifo limit 1000", "300ms"), ("lstf preempt limit 1000", "300ms")] {
        let scenario = scenario("1s", warmup, "10kbit", &format!("[queue]\ncore = \"{queue}\"\n{source}"));
        let (results, curves) = scenario.run_with(1, &mut (), |_| ()).unwrap();
        let link = results.links.iter().find(|link| link.from == "left" && link.to == "right").unwrap();
        assert!(results.links.iter().all(|link| link.utilisation <= 1.0), "{link:?}");
        if queue.starts_with("fifo") {
            let part = if warmup == "0s" { 0.9899..0.99 } else { 0.999_999..1.000_001 };
            assert!(part.contains(&link.utilisation), "it rests for the first 10.08 ms only: {link:?}");
            let steps = curves.links.iter().flat_map(|link| &link.utilisation);
            assert!(steps.copied().all(|part| (0.0..=1.000_001).contains(&part)));
        }
    }
}

/// Flows without end, with and without a warm-up: what each of their senders did until the end is told, and they are no transfers.
#[test]
fn what_was_sent_again_is_told_of_flows_that_go_on() {
    for warmup in ["0s", "2s"] {
        let scenario = scenario("5s", warmup, "5mbit", &(LOSSY.to_owned() + &source("kind = \"tcp\"")));
        let (results, again) = watched(&scenario);
        let group = &results.groups[0];
        assert_eq!((group.retransmissions, group.incomplete), (Some(again), 0), "{warmup}");
        assert!(again > 20 && group.timeouts.is_some(), "{again}");
        assert_eq!(results.flows.iter().map(|flow| flow.retransmissions.unwrap()).sum::<u64>(), again);
    }
    let quiet = scenario("1s", "0s", "5mbit", &source("kind = \"cbr\"\nrate = \"1mbit\""));
    let quiet = &quiet.run(1, |_| ()).unwrap().groups[0];
    assert_eq!((quiet.retransmissions, quiet.timeouts), (None, None), "there is nobody who would send again");
}

/// Transfers of each kind that cannot be over: all are incomplete, and their repairs are told.
#[test]
fn transfers_that_the_end_cuts_off_are_incomplete() {
    let cases = [
        ("kind = \"tcp\"\nsize = 10000000", 2, true),
        ("kind = \"request_response\"\nrequest = 1000\nresponse = 10000000\nthink = \"1s\"", 2, true),
        ("kind = \"video\"\nsegment = 10000000\ninterval = \"2s\"", 2 * 3, true),
        ("kind = \"burst\"\nsize = 10000000", 2, false),
    ];
    for stop in ["", "\nstop = \"4500ms\""] {
        for (keys, incomplete, is_tcp) in cases {
            let scenario = scenario("5s", "0s", "5mbit", &(LOSSY.to_owned() + &source(&format!("{keys}{stop}"))));
            let (results, again) = watched(&scenario);
            let GroupResult { incomplete: told, completion, retransmissions, .. } = &results.groups[0];
            assert_eq!((*told, completion.count, *retransmissions), (incomplete, 0, is_tcp.then_some(again)), "{keys}{stop}");
        }
    }
}

/// What clients ask and what they are answered are flows; index and throughput are of the answers.
#[test]
fn fairness_is_that_of_answers() {
    let clients = source("kind = \"request_response\"\nrequest = 100\nresponse = 20000\nthink = \"10ms\"");
    let results = scenario("10s", "1s", "5mbit", &clients).run(1, |_| ()).unwrap();
    let group = &results.groups[0];
    assert_eq!(group.flows, 4, "two each");
    assert!(group.jain.unwrap() > 0.99, "two alike: {:?}", group.jain);
    let one = clients.replace("s0..1", "s0").replace("r0..1", "r0");
    assert_eq!(scenario("10s", "1s", "5mbit", &one).run(1, |_| ()).unwrap().groups[0].jain, None, "there is nobody to be fair to");
}

/// More flows than are told by themselves: how many are left out is told, and who asks for all gets them.
#[test]
fn no_flow_is_lost_silently() {
    let bursts = "[[source]]\nkind = \"burst\"\nfrom = \"s0..2\"\nto = \"r0..2\"\nsize = 100\npacket_len = 100\ncount = 2000\nstart_step = \"100us\"\n";
    let mut scenario = scenario("2s", "0s", "100mbit", bursts);
    let some = scenario.run(1, |_| ()).unwrap();
    assert_eq!((some.groups[0].flows, some.flows.len(), some.flows_left_out, some.more_flows.len()), (6000, 4096, 1904, 0));
    scenario.keeps_all_flows = true;
    let all = scenario.run(1, |_| ()).unwrap();
    assert_eq!((all.flows_left_out, all.more_flows.len()), (1904, 1904));
    assert!(all.flows == some.flows, "what is told by itself is the same");
    let mut numbers: Vec<_> = all.flows.iter().chain(&all.more_flows).map(|flow| flow.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..6000).collect::<Vec<_>>());
    assert_eq!(all.more_flows.iter().chain(&all.flows).map(|flow| flow.packets.delivered).sum::<u64>(), 6000);
}

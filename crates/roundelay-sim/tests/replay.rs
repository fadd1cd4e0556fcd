//! Recorded and replayed schedules: LSTF as a universal scheduler (R. Mittal et al., "Universal
//! Packet Scheduling", NSDI 2016, sections 2.2 and 2.3).

use std::path::Path;
use std::sync::Arc;

use roundelay::{Duration, Instant, Slack};
use roundelay_sim::Direction;
use roundelay_sim::replay::{Candidate, Count, Counting, Replay, ReplayError, Schedule, SlackRule};
use roundelay_sim::scenario::Scenario;

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml("replay.toml", text, Path::new(""))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Five senders and one bottleneck.
fn one_link(queue: &str) -> Scenario {
    scenario(&format!(
        "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 5\nrate = \"10mbit\"\naccess_rate = \"1gbit\"\n[queue]\ncore = \"{queue} limit 100000\"\n\
         [[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"1500kbit\"\npacket_len = 700\nurgency = \"size 1s\"\n\
         [[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"500kbit\"\npacket_len = 100\nurgency = \"remaining 1s\"\n"
    ))
}

/// Whole flows over the Internet2 network, at a tenth of its rates and for 150 ms.
fn internet2(queue: &str) -> Scenario {
    scenario(&format!(
        "duration = \"150ms\"\n[topology]\ntemplate = \"internet2\"\nvariant = \"tenth\"\n[queue]\ncore = \"{queue} limit 100000000\"\nedge = \"{queue} limit 100000000\"\n\
         [[source]]\nkind = \"arrivals\"\nfrom = \"host*\"\nutilisation = 0.7\nlink_rate = \"100mbit\"\nsizes = \"ups\"\napart = \"core\"\ntransport = \"burst\"\npacket_len = 1460\nurgency = \"size 1s\"\n"
    ))
}

fn record(scenario: &Scenario, keeps_starts: bool) -> Arc<Schedule> {
    Arc::new(Schedule::record(scenario, scenario.seed, keeps_starts, |_| {}).unwrap())
}

fn candidate(text: &str) -> Candidate {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn replay(schedule: &Arc<Schedule>, with: &str) -> Replay {
    schedule.replay(&candidate(with), |_| {}).unwrap()
}

fn count(schedule: &Arc<Schedule>, with: &str) -> Count {
    replay(schedule, with).count(schedule, Counting::Drained, schedule.bottleneck_time())
}

/// Key result 2 with one congestion point: for any recorded order, preemptive LSTF delays no
/// packet.
#[test]
fn lstf_replays_any_schedule_of_one_congestion_point() {
    for queue in [
        "fifo",
        "lifo",
        "random",
        "drr",
        "sjf",
        "srpt",
        "lstf preempt",
    ] {
        let schedule = record(&one_link(queue), false);
        let waited = schedule
            .packets
            .iter()
            .filter(|packet| packet.congestion_points > 0)
            .count();
        assert!(
            schedule.packets.len() > 1_500 && waited > 1_000,
            "{queue}: {waited} of {} waited",
            schedule.packets.len()
        );
        assert!(
            schedule
                .packets
                .iter()
                .all(|packet| packet.congestion_points <= 1)
        );
        let found = count(&schedule, "lstf preempt");
        assert_eq!(
            (found.all.overdue, found.all.missing),
            (0, 0),
            "{queue}: {found:?}"
        );
    }
}

/// A discipline without knowledge of the schedule fails the same test; FIFO replays its own
/// schedule packet by packet.
#[test]
fn fifo_replays_no_schedule_but_its_own() {
    let schedule = record(&one_link("random"), false);
    assert!(count(&schedule, "fifo").all.overdue_by_threshold > 300);
    let schedule = record(&one_link("fifo"), false);
    let again = replay(&schedule, "fifo");
    assert!(
        schedule
            .packets
            .iter()
            .zip(&again.outputs)
            .all(|(packet, output)| packet.output == *output)
    );
}

/// Packet numbers equal those of the recorded run, also with TCP and acknowledgements.
#[test]
fn packets_of_tcp_keep_their_numbers() {
    let text = "duration = \"3s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"10mbit\"\n[queue]\ncore = \"fifo limit 50\"\n\
                [[source]]\nkind = \"tcp\"\nfrom = \"s*\"\nto = \"r*\"\nstart_jitter = \"1s\"\n";
    let schedule = record(&scenario(text), false);
    assert!(
        schedule.dropped > 0,
        "a buffer of 50 packets is too short for four flows"
    );
    let warm = record(&scenario(&format!("warmup = \"2s\"\n{text}")), false);
    assert!(
        (1..schedule.dropped).contains(&warm.dropped),
        "drops of the warm-up do not count, as its packets: {}",
        warm.dropped
    );
    assert_eq!(warm.packets.len(), schedule.packets.len());
    let backward = schedule
        .packets
        .iter()
        .filter(|packet| packet.direction == Direction::Backward)
        .count();
    assert!(schedule.packets.len() > 3_000 && backward * 3 > schedule.packets.len());
    assert!(
        schedule
            .packets
            .windows(2)
            .all(|pair| pair[0].input <= pair[1].input)
    );
    let found = count(&schedule, "lstf preempt");
    assert_eq!(
        (found.all.overdue, found.all.packets),
        (0, schedule.packets.len() as u64),
        "{found:?}"
    );
    let schedule = record(&scenario(text), true);
    assert_eq!(
        count(&schedule, "omniscient preempt").all.overdue,
        0,
        "starts of packets that were dropped are left out"
    );
    assert!(count(&schedule, "fifo limit 20").all.missing > 0);
}

/// Omniscient headers replay every schedule with preemption (appendix A.2). FIFO reads no header
/// and does not.
#[test]
fn omniscient_headers_replay_everything() {
    for queue in ["random", "sjf", "lifo", "fifo_plus"] {
        let schedule = record(&internet2(queue), true);
        assert!(
            schedule.packets.len() > 20_000
                && schedule
                    .packets
                    .iter()
                    .any(|packet| packet.congestion_points > 2)
        );
        let found = count(&schedule, "omniscient preempt");
        assert_eq!(
            (found.all.overdue, found.all.missing),
            (0, 0),
            "{queue}: {found:?}"
        );
        assert!(count(&schedule, "fifo").all.overdue > 0);
    }
}

/// EDF with o(p) in static headers, and the time left to the end of the path known to routers,
/// decides as LSTF does (appendix A.5).
#[test]
fn edf_with_static_headers_decides_as_lstf_does() {
    let schedule = record(&internet2("random"), false);
    let [lstf, edf] = ["lstf", "edf"].map(|with| replay(&schedule, with));
    assert_eq!(lstf.outputs, edf.outputs);
    assert_ne!(
        lstf.outputs,
        replay(&schedule, "priority").outputs,
        "one deadline for the whole path is another order"
    );
}

/// LSTF delays less than 1 % of the packets, and none by more than T; simple priorities delay more
/// than three times as many packets, FIFO more than a quarter of all.
#[test]
fn lstf_is_nearer_to_universal_than_priorities() {
    let schedule = record(&internet2("random"), false);
    let [lstf, priorities, fifo] =
        ["lstf", "priority", "fifo"].map(|with| count(&schedule, with).all);
    assert!(
        lstf.overdue * 100 < lstf.packets && lstf.overdue_by_threshold == 0,
        "{lstf:?}"
    );
    assert!(
        lstf.overdue * 3 < priorities.overdue,
        "{lstf:?} {priorities:?}"
    );
    assert!(
        fifo.overdue * 4 > fifo.packets && fifo.overdue_by_threshold * 4 > fifo.packets,
        "{fifo:?}"
    );
}

/// LSTF's rank on FIFO queues in strict priority. SP-PIFO has fewer overdue packets than FIFO, but
/// some far later; a calendar has nearly as many overdue packets as FIFO, but none as late.
#[test]
fn priority_levels_are_between_fifo_and_lstf() {
    let schedule = record(&internet2("random"), false);
    let [fifo, adaptive, calendar] = [
        "fifo",
        "sp_pifo queues 8",
        "lstf_levels queues 64 step 6250us map rotating",
    ]
    .map(|with| count(&schedule, with).all);
    assert!(
        adaptive.overdue_by_threshold * 2 < fifo.overdue_by_threshold
            && adaptive.overdue_by_threshold * 20 > adaptive.packets,
        "{adaptive:?}"
    );
    assert!(
        adaptive.worst_ps > fifo.worst_ps && fifo.worst_ps > 100_000_000_000,
        "{adaptive:?} {fifo:?}"
    );
    assert!(
        calendar.worst_ps < fifo.worst_ps && calendar.overdue_by_threshold * 5 > calendar.packets,
        "{calendar:?}"
    );
    assert!([adaptive, calendar].iter().all(|found| found.missing == 0));
}

/// One queue is FIFO, whatever the choice of the queue, and so is admission control that never
/// refuses a packet. SP-PIFO by static deadlines decides as by slack, as EDF does.
#[test]
fn one_queue_replays_as_fifo_does() {
    let schedule = record(&internet2("random"), false);
    let fifo = replay(&schedule, "fifo");
    for with in [
        "lstf_levels queues 1",
        "lstf_levels queues 1 map rotating",
        "sp_pifo queues 1",
        "aifo",
        "aifo rank slack",
    ] {
        assert_eq!(replay(&schedule, with).outputs, fifo.outputs, "{with}");
    }
    let [slack, deadline] =
        ["sp_pifo", "sp_pifo rank deadline"].map(|with| replay(&schedule, with).outputs);
    assert_eq!(slack, deadline);
    assert_ne!(slack, fifo.outputs);
}

/// Slack without knowledge of the path's length, or without any information, gives a worse replay,
/// and a coarse unit too.
#[test]
fn what_headers_say_matters() {
    let schedule = record(&internet2("random"), false);
    let late = |slack, resolution| {
        let candidate = Candidate {
            slack,
            resolution,
            ..candidate("lstf")
        };
        schedule
            .replay(&candidate, |_| {})
            .unwrap()
            .count(&schedule, Counting::Drained, schedule.bottleneck_time())
            .all
            .overdue_by_threshold
    };
    let exact = late(SlackRule::Wait, Duration::ZERO);
    assert!(
        exact < late(SlackRule::PathEnd, Duration::ZERO)
            && exact < late(SlackRule::None, Duration::ZERO)
    );
    assert!(exact < late(SlackRule::Wait, Duration::from_millis(100)));
}

/// The authors stop both runs at the end of the window: packets on their way in the recorded run
/// are not compared; packets missing only in the replay are counted separately.
#[test]
fn a_window_that_cuts_off_counts_less() {
    let schedule = record(&internet2("sjf"), false);
    let replay = replay(&schedule, "lifo");
    let [drained, cut] = [Counting::Drained, Counting::Cut]
        .map(|counting| replay.count(&schedule, counting, Duration::ZERO));
    assert_eq!(drained.all.packets, schedule.packets.len() as u64);
    assert_eq!(drained.all.missing, 0);
    let within = schedule
        .packets
        .iter()
        .filter(|packet| packet.output <= Instant::ZERO + schedule.window)
        .count();
    assert_eq!(cut.all.packets, within as u64);
    assert!(
        cut.all.missing > 0 && cut.all.packets < drained.all.packets,
        "{cut:?}"
    );
    assert_eq!(
        drained
            .by_congestion_points
            .iter()
            .map(|count| count.packets)
            .sum::<u64>(),
        drained.all.packets
    );
    assert_eq!(
        drained
            .by_congestion_points
            .iter()
            .map(|count| count.overdue)
            .sum::<u64>(),
        drained.all.overdue
    );
}

/// o(p) - i(p) is the sum of the time without waiting and the waiting times; the waiting times are
/// the slack.
#[test]
fn a_schedule_adds_up() {
    let schedule = record(&one_link("random"), false);
    assert!(
        schedule
            .packets
            .iter()
            .all(|packet| schedule.waited(packet) >= Slack::ZERO)
    );
    for packet in schedule
        .packets
        .iter()
        .filter(|packet| packet.congestion_points == 0)
    {
        // Five senders share no link before the bottleneck: a packet that waits there waits behind
        // packets of the same sender.
        assert!(
            schedule.waited(packet).as_picos() < 100_000_000,
            "{packet:?}"
        );
    }
    assert_eq!(schedule.bottleneck_time(), Duration::from_micros(560));
}

/// With different lengths and a link with overhead, times without waiting and router deadlines
/// include both.
#[test]
fn lengths_and_overhead_count() {
    let source = |len: u32| {
        format!(
            "[[source]]\nkind = \"poisson\"\nfrom = \"s0\"\nto = \"k0\"\nrate = \"2mbit\"\npacket_len = {len}\n[[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"k*\"\nrate = \"1500kbit\"\npacket_len = {len}\n"
        )
    };
    let text = format!(
        "duration = \"1s\"\n[topology]\ntemplate = \"parking_lot\"\nhops = 3\n[queue]\ncore = \"random limit 100000\"\nedge = \"random limit 100000\"\n\
         [[port]]\nfrom = \"r1\"\nto = \"r2\"\noverhead = 400\n{}{}",
        source(64),
        source(1_500)
    );
    let schedule = record(&scenario(&text), true);
    assert!(
        schedule
            .packets
            .iter()
            .all(|packet| schedule.waited(packet) >= Slack::ZERO)
    );
    assert!(
        schedule
            .packets
            .iter()
            .any(|packet| schedule.waited(packet) == Slack::ZERO)
    );
    assert_eq!(
        schedule.bottleneck_time(),
        Duration::from_micros(1_520),
        "1,900 bytes at 10 Mbit/s"
    );
    assert_eq!(
        replay(&schedule, "lstf").outputs,
        replay(&schedule, "edf").outputs
    );
    assert_eq!(count(&schedule, "omniscient preempt").all.overdue, 0);
    assert!(count(&schedule, "fifo").all.overdue > 0);
}

/// Ratios of queueing delays: all 1 for an identical replay, and mostly below 1 under LSTF, as in
/// Figure 1.
#[test]
fn ratios_of_delays() {
    let schedule = record(&one_link("fifo"), false);
    let same = count(&schedule, "fifo").ratios;
    assert!(
        same.not_longer == 1.0
            && same.shorter == 0.0
            && same
                .quantiles
                .iter()
                .all(|[_, ratio]| (0.99..1.01).contains(ratio)),
        "{same:?}"
    );
    let schedule = record(&internet2("random"), false);
    let lstf = count(&schedule, "lstf").ratios;
    assert!(lstf.not_longer > 0.9);
    assert!(
        lstf.shorter > 0.05 && lstf.shorter < lstf.not_longer,
        "{lstf:?}"
    );
}

#[test]
fn a_replay_needs_certain_wires_and_a_router() {
    let with = |change: &str| {
        let text = format!(
            "duration = \"1s\"\n[[node]]\nname = \"a\"\nhost = true\n[[node]]\nname = \"b\"\nhost = true\n[[node]]\nname = \"r\"\n[[link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"1mbit\"\n\
             [[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"1mbit\"\n[[port]]\nfrom = \"r\"\nto = \"b\"\n{change}\n\
             [[source]]\nkind = \"poisson\"\nfrom = \"a\"\nto = \"b\"\nrate = \"500kbit\"\n"
        );
        Schedule::record(&scenario(&text), 1, false, |_| {}).map(drop)
    };
    assert_eq!(with("overhead = 20"), Ok(()));
    for change in ["loss = \"1%\"", "jitter = \"1ms\"", "decision = \"1us\""] {
        assert!(
            matches!(with(change), Err(ReplayError::Uncertain { link, .. }) if link == "r > b"),
            "{change}"
        );
    }
    let empty = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\n[[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"100bit\"\n";
    assert!(matches!(
        Schedule::record(&scenario(empty), 1, false, |_| {}),
        Err(ReplayError::Empty)
    ));
}

/// Whether a replay under the same queues equals the schedule, packet by packet.
fn is_its_own_replay(scenario: &Scenario, with: &str) -> bool {
    let schedule = record(scenario, false);
    let again = replay(&schedule, with);
    assert!(
        schedule.packets.len() > 1_000
            && schedule
                .packets
                .iter()
                .any(|packet| packet.congestion_points > 0)
    );
    schedule
        .packets
        .iter()
        .zip(&again.outputs)
        .all(|(packet, output)| packet.output == *output)
}

/// Flows spread over several shortest routes take the same route in the replay, by the same hash.
#[test]
fn flows_that_are_spread_keep_their_routes() {
    let fat_tree = |more: &str| {
        scenario(&format!(
            "duration = \"3ms\"\n{more}[topology]\ntemplate = \"fat_tree\"\nk = 4\n[routing]\nspread = true\n[queue]\ncore = \"fifo limit 100000\"\nedge = \"fifo limit 100000\"\n\
             [[source]]\nkind = \"arrivals\"\nfrom = \"host*\"\nutilisation = 0.7\nlink_rate = \"10gbit\"\nsizes = \"web_search\"\napart = \"host\"\ntransport = \"burst\"\n"
        ))
    };
    assert!(
        is_its_own_replay(&fat_tree(""), "fifo")
            && is_its_own_replay(&fat_tree("hash_seed = 9\n"), "fifo")
    );
    assert_eq!(
        count(&record(&fat_tree(""), true), "omniscient preempt")
            .all
            .overdue,
        0
    );
}

/// Packets sent during the warm-up are replayed but not counted.
#[test]
fn packets_of_the_warmup_do_not_count() {
    let mut warm = one_link("random");
    let schedule = record(&warm, false);
    warm.warmup = Duration::from_millis(400);
    let warm = record(&warm, false);
    let later = schedule
        .packets
        .iter()
        .filter(|packet| packet.input >= Instant::ZERO + Duration::from_millis(400))
        .count();
    assert_eq!(
        (warm.packets.len(), warm.warmup),
        (schedule.packets.len(), Duration::from_millis(400))
    );
    let [all, counted] = [&schedule, &warm].map(|schedule| count(schedule, "fifo").all);
    assert_eq!(
        (all.packets, counted.packets),
        (schedule.packets.len() as u64, later as u64)
    );
    assert!(counted.overdue > 100 && counted.overdue < all.overdue);
}

/// A weighted discipline replays its own schedule: flows keep their weights.
#[test]
fn flows_keep_their_weights() {
    let weighted = |weight: u32, queue: &str| {
        scenario(&format!(
            "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 3\nrate = \"10mbit\"\n[queue]\ncore = \"{queue} limit 100000\"\n\
             [[source]]\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"8mbit\"\npacket_len = 500\nweight = {weight}\n\
             [[source]]\nkind = \"cbr\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"3mbit\"\npacket_len = 400\n"
        ))
    };
    for queue in ["qfq", "drr", "wf2q_plus"] {
        assert!(is_its_own_replay(&weighted(5, queue), queue), "{queue}");
    }
    let [light, heavy] = [1, 5].map(|weight| record(&weighted(weight, "qfq"), false));
    assert!(
        light
            .packets
            .iter()
            .zip(&heavy.packets)
            .any(|(light, heavy)| light.output != heavy.output),
        "weights matter in this network"
    );
}

/// Schedules of trees are replayed, and LSTF ignores the classes of a tree.
#[test]
fn schedules_of_trees_are_replayed() {
    let tree = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"10mbit\"\n[queue]\ncore = \"tree classes limit 100000\"\n\
        [trees]\nclasses = { node = [{ name = \"link\", discipline = \"packet_fq\" }, { name = \"a\", parent = \"link\", discipline = \"sjf\", flows = [\"dscp ef\"] }, \
        { name = \"b\", parent = \"link\", discipline = \"lifo\", default = true }] }\n\
        [[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"1mbit\"\npacket_len = 300\ndscp = \"ef\"\nurgency = \"size 1s\"\n\
        [[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"1200kbit\"\npacket_len = 700\n";
    let schedule = record(&scenario(tree), false);
    assert!(schedule.packets.len() > 1_500);
    assert_eq!(count(&schedule, "lstf preempt").all.overdue, 0);
    assert!(count(&schedule, "fifo").all.overdue > 100);
}

/// A queue limit in a replay drops packets and counts the drops; the limit of the recorded run does
/// not apply.
#[test]
fn limits_of_a_replay_are_its_own() {
    let schedule = record(&one_link("fifo"), false);
    assert_eq!(count(&schedule, "lstf").all.missing, 0);
    let found = count(&schedule, "lstf limit 3").all;
    assert!(
        found.missing > 0 && found.missing < found.packets,
        "{found:?}"
    );
}

//! Acknowledgements of a capture reach a queue that filters them, in a comparison and in a feed.

use std::io::Cursor;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Instant, LinkLayer, Seed};
use roundelay::{Packet, Scheduler as _};
use roundelay_trace::{
    Capture, Comparison, Feed, FlowBy, Frame, LinkType, Options, Queue, Tap, TreeFile, WeightRules,
    compare,
};

/// An IPv4 packet: an acknowledgement of 52 bytes with timestamps, of one of two connections.
fn ack(number: u32, connection: u8) -> Vec<u8> {
    let mut packet = vec![
        0x45, 0, 0, 52, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    packet.extend([0x01, 0xbb, 0x9c, connection, 0, 0, 0, 7]);
    packet.extend((1448 * number).to_be_bytes());
    packet.extend([0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    packet.extend(number.to_be_bytes());
    packet.extend(number.to_be_bytes());
    packet
}

/// Raw IPv4: 400 acknowledgements of so many connections in turns, one each millisecond, captured up
/// to `snap` bytes.
fn recorded(snap: usize, connections: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
        bytes.extend(field.to_le_bytes());
    }
    for number in 0..400_u32 {
        let packet = ack(number / connections, (number % connections) as u8);
        let captured = snap.min(packet.len());
        for field in [0, 1000 * number, captured as u32, packet.len() as u32] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(&packet[..captured]);
    }
    bytes
}

fn capture(snap: usize) -> Capture {
    Capture::from_reader("acks.pcap", Cursor::new(recorded(snap, 2))).expect("a capture")
}

/// On a link with room for half of the acknowledgements.
fn compared(snap: usize, queues: &[&str], trees: Vec<TreeFile>) -> Comparison {
    let queues = queues.iter().map(|text| text.parse().expect("legal"));
    let mut options = Options::new("208kbit".parse().expect("a rate"), queues.collect());
    options.trees = trees;
    options.measure_cost = false;
    compare(capture(snap), &options, &mut ()).expect("it compares")
}

#[test]
fn a_comparison_filters_acknowledgements() {
    let result = compared(
        65_535,
        &[
            "cake ack-filter interplanetary",
            "cake ack-filter-aggressive interplanetary",
            "cake interplanetary",
        ],
        Vec::new(),
    );
    let [filtered, aggressive, plain] = &result.disciplines[..] else {
        panic!("three disciplines");
    };
    assert_eq!(plain.total.drops.total(), 0);
    assert_eq!(filtered.spec, "cake rtt 3600s ack-filter");
    for (lane, least, most) in [(filtered, 190, 200), (aggressive, 195, 200)] {
        let total = &lane.total;
        assert_eq!(total.packets + total.drops.filtered, 400);
        assert!((least..=most).contains(&total.drops.filtered), "{total:?}");
        assert_eq!(total.loss, 0.0, "a later one repeats what is dropped");
        // Those that are left keep up with the connections.
        let delay = total.delay.expect("some were sent");
        assert!(delay.max < 0.015, "{delay:?}");
    }
    assert!(plain.total.delay.expect("all were sent").max > 0.35);
}

/// A queue that filters acknowledgements also drops them to signal congestion, and then nothing
/// repeats them: of 250 connections each acknowledgement is another one's.
#[test]
fn acknowledgements_that_codel_drops_are_lost() {
    let capture = Capture::from_reader("acks.pcap", Cursor::new(recorded(65_535, 250)));
    let queue = "cake flowblind ack-filter rtt 20ms".parse();
    let mut options = Options::new(
        "208kbit".parse().expect("a rate"),
        vec![queue.expect("legal")],
    );
    options.measure_cost = false;
    let result = compare(capture.expect("a capture"), &options, &mut ()).expect("it compares");
    let total = &result.disciplines[0].total;
    assert!(total.drops.early > 2 && total.loss > 0.0, "{total:?}");
    assert_eq!(
        total.drops.early + total.drops.filtered + total.packets,
        400
    );
}

#[test]
fn cut_headers_are_not_judged() {
    let result = compared(54, &["cake interplanetary ack-filter"], Vec::new());
    assert!(
        result.disciplines[0].total.drops.filtered > 190,
        "52 bytes are whole"
    );
    let result = compared(51, &["cake interplanetary ack-filter"], Vec::new());
    assert_eq!(result.disciplines[0].total.drops.total(), 0);
}

#[test]
fn a_tree_of_a_comparison_filters_acknowledgements() {
    let text = "[[node]]\nname = \"link\"\ndiscipline = \"drr\"\n\n[[node]]\nname = \"all\"\n\
                parent = \"link\"\ndiscipline = \"cake ack-filter interplanetary\"\ndefault = true\n";
    let tree = TreeFile::from_toml("acks.toml", text).expect("a tree");
    let result = compared(65_535, &["cake interplanetary"], vec![tree]);
    let filtered = |lane: usize| result.disciplines[lane].total.drops.filtered;
    assert_eq!(
        filtered(0),
        0,
        "the tree reads them, the discipline does not"
    );
    assert!(filtered(1) > 190, "{}", filtered(1));
}

/// Short acknowledgements first, then all other packets.
fn acknowledgements_first() -> TreeFile {
    let text = "[[node]]\nname = \"link\"\ndiscipline = \"priority\"\n\n[[node]]\nname = \"acks\"\n\
                parent = \"link\"\npriority = 0\ndiscipline = \"fifo\"\n\
                flows = [\"ack below 64 bytes and src 10.0.0.0/8\"]\n\n[[node]]\nname = \"rest\"\n\
                parent = \"link\"\npriority = 1\ndiscipline = \"fifo\"\ndefault = true\n";
    TreeFile::from_toml("first.toml", text).expect("a tree")
}

/// One connection: 40 full segments at once, then 100 acknowledgements, one each millisecond.
fn transfer() -> Capture {
    let mut bytes = Vec::new();
    for field in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
        bytes.extend(field.to_le_bytes());
    }
    for number in 0..140_u32 {
        let mut packet = ack(number, 0);
        if number < 40 {
            packet[2..4].copy_from_slice(&1500_u16.to_be_bytes());
            packet.resize(1500, 0);
        }
        let at = 1000 * number.saturating_sub(39);
        for field in [0, at, packet.len() as u32, packet.len() as u32] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(&packet);
    }
    Capture::from_reader("transfer.pcap", Cursor::new(bytes)).expect("a capture")
}

#[test]
fn short_acknowledgements_have_a_leaf_of_their_own() {
    let mut options = Options::new(
        "1mbit".parse().expect("a rate"),
        vec!["fifo".parse().expect("legal")],
    );
    options.trees = vec![acknowledgements_first()];
    let result = compare(transfer(), &options, &mut ()).expect("it compares");
    let [fifo, tree] = [0, 1].map(|lane: usize| {
        let flow = &result.disciplines[lane].flows[0].outcome;
        flow.delay.expect("all were sent")
    });
    assert_eq!(
        result.flows.len(),
        1,
        "data and acknowledgements are one flow"
    );
    // A packet takes 12 ms, and all data half a second.
    assert!(fifo.p50 > 0.3 && tree.p50 < 0.014, "{fifo:?} {tree:?}");
    assert!(tree.max > 0.4, "the data waits for its turn: {tree:?}");
}

#[test]
fn a_feed_sends_acknowledgements_to_their_leaf() {
    let tree = acknowledgements_first();
    let config = AnyDiscipline::Tree(tree.config().clone());
    let mut scheduler = config.build_arena(Seed::new(1)).expect("legal");
    let flows = (FlowBy::default(), 100);
    let queue = Queue::Tree(Box::new(tree));
    let mut feed = Feed::new(queue, WeightRules::default(), LinkLayer::NONE, flows).expect("legal");
    let mut data = ack(1, 0);
    data[2..4].copy_from_slice(&1500_u16.to_be_bytes());
    data.resize(1500, 0);
    let mut marked = ack(3, 0);
    marked[33] |= 0x40;
    for (number, bytes) in (0_u8..).zip([data.clone(), marked, ack(2, 0), data]) {
        let frame = Frame {
            time_nanos: 0,
            original_len: bytes.len() as u32,
            link: LinkType::RAW,
            bytes: &bytes,
            tap: Tap::default(),
        };
        let now = Instant::ZERO;
        let sorted = feed
            .sort(now, &frame, &mut scheduler)
            .expect("it is sorted");
        let packet: Packet<u8> = feed.packet(now, sorted, number);
        assert!(scheduler.enqueue(now, packet).is_ok());
    }
    let mut order = Vec::new();
    while let Some(packet) = scheduler.dequeue(Instant::ZERO) {
        order.push(packet.payload);
    }
    assert_eq!(
        order,
        [2, 0, 1, 3],
        "one with another flag is no such packet"
    );
}

#[test]
fn acknowledgements_are_words_of_trees_alone() {
    let error = |text: &str| {
        let rule: Result<roundelay_trace::WeightRule, _> = text.parse();
        rule.expect_err(text).to_string()
    };
    assert!(error("ack below 64 bytes = 3").contains("rules of a tree only"));
    for (rule, part) in [
        ("ack", "`below`"),
        ("ack below 20 bytes", "a length from 41 to 256"),
        ("ack below 64", "`bytes`"),
    ] {
        let wrong = roundelay_trace::WeightRule::matching(rule).expect_err(rule);
        assert!(wrong.to_string().contains(part), "{wrong}");
    }
    let two = "[[node]]\nname = \"link\"\ndiscipline = \"drr\"\n\n[[node]]\nname = \"all\"\n\
               parent = \"link\"\ndiscipline = \"fifo\"\ndefault = true\n\
               flows = [\"ack below 64 bytes\", \"ack below 128 bytes\"]\n";
    let error = TreeFile::from_toml("two.toml", two).expect_err("two lengths");
    assert!(
        error.to_string().contains("a tree has one length"),
        "{error}"
    );
}

/// The departures of a feed whose frames all come at once.
fn fed(queue: &str, connections: u8) -> usize {
    let spec: roundelay::QueueSpec = queue.parse().expect("legal");
    let mut scheduler = spec.discipline.build_arena(Seed::new(1)).expect("legal");
    let queue = Queue::Discipline(spec);
    let flows = (FlowBy::default(), 100);
    let mut feed = Feed::new(queue, WeightRules::default(), LinkLayer::NONE, flows).expect("legal");
    for number in 0..100_u8 {
        let bytes = ack(number.into(), number % connections);
        let frame = Frame {
            time_nanos: 0,
            original_len: bytes.len() as u32,
            link: LinkType::RAW,
            bytes: &bytes,
            tap: Tap::default(),
        };
        let now = Instant::ZERO;
        let sorted = feed
            .sort(now, &frame, &mut scheduler)
            .expect("it is sorted");
        let packet: Packet<u8> = feed.packet(now, sorted, number);
        assert!(scheduler.enqueue(now, packet).is_ok());
        while scheduler.take_dropped().is_some() {}
    }
    let mut left = 0;
    while scheduler.dequeue(Instant::ZERO).is_some() {
        left += 1;
    }
    left
}

#[test]
fn a_feed_filters_acknowledgements() {
    assert_eq!(fed("cake ack-filter", 1), 2);
    assert_eq!(fed("cake ack-filter-aggressive", 1), 1);
    assert_eq!(fed("cake ack-filter-aggressive", 5), 5);
    assert_eq!(fed("cake", 1), 100);
}

//! Segmentation offload: bursts of about a millisecond, cut or whole, and none that waits forever.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Control, Flavour, Offload, Receiver, Segment};

use super::link::{Fate, Link, World};

const OFFLOADS: [Offload; 3] = [Offload::None, Offload::Split, Offload::Whole];

fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

fn config(control: Control, offload: Offload) -> Config {
    Config {
        control,
        offload,
        ..Config::linux()
    }
}

/// A link of some Mbit/s with a round trip of 40 ms.
fn link(mbit: u64) -> Link {
    Link {
        time_per_byte: Duration::from_picos(8_000_000 / mbit),
        round_trip: Duration::from_millis(40),
        ..Link::default()
    }
}

/// Segments that a sender on such a link sends at each time between the second and the third second,
/// and the packets that they are.
fn bursts(control: Control, offload: Offload, mbit: u64) -> Vec<(u32, usize)> {
    let config = config(control, offload);
    let mut world = World::new(config, None, link(mbit));
    world.keeps_steps = true;
    world.open();
    while world.now < at(3.0) && world.step(Instant::MAX) {}
    let late = world.steps.iter().filter(|step| step.now >= at(2.0));
    let sent = late.filter(|step| !step.sent.is_empty());
    sent.map(|step| {
        let bytes: u32 = step.sent.iter().map(|segment| segment.len).sum();
        (bytes / config.segment_len, step.sent.len())
    })
    .collect()
}

fn median(mut values: Vec<u32>) -> u32 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// BBR on 200 Mbit/s paces 24.8 MB/s, of which 1/1024 s has 16.7 segments; on 10 Mbit/s a millisecond
/// has less than one, and two go out; on 1 Mbit/s, below 1.2 Mbit/s, one.
#[test]
fn a_burst_is_about_a_millisecond() {
    for (mbit, expected) in [(200, 14..=17), (10, 2..=2), (1, 1..=1)] {
        let sent = bursts(Control::Bbr, Offload::Split, mbit);
        assert!(
            sent.iter()
                .all(|(segments, packets)| *segments as usize == *packets)
        );
        let segments = median(sent.iter().map(|(segments, _)| *segments).collect());
        assert!(
            expected.contains(&segments),
            "{mbit} Mbit/s: {segments} segments"
        );
    }
    let sent = bursts(Control::Bbr, Offload::None, 200);
    assert!(sent.iter().all(|(segments, _)| *segments == 1));
}

/// Where the window allows what it allows, and nothing paces, bursts wait for acknowledgements until
/// they are as long as the rate asks for.
#[test]
fn a_burst_waits_for_acknowledgements() {
    let segments = |offload| {
        let sent = bursts(Control::Cubic, offload, 200);
        median(sent.iter().map(|(segments, _)| *segments).collect())
    };
    assert_eq!(segments(Offload::None), 2, "as many as are acknowledged");
    let waited = segments(Offload::Split);
    assert!((15..=43).contains(&waited), "{waited}");
    assert_eq!(segments(Offload::Whole), waited);
}

/// Whole bursts are single packets with all headers, and no longer than an IP packet.
#[test]
fn a_whole_burst_is_one_packet() {
    let config = config(Control::Cubic, Offload::Whole);
    assert_eq!(config.longest_packet(), 43 * 1500);
    let burst = Segment {
        len: 10 * config.segment_len + 1,
        ..Segment::default()
    };
    assert_eq!(burst.wire_len(&config), 10 * 1500 + 53);
    let sent = bursts(Control::Bbr, Offload::Whole, 1000);
    assert!(sent.iter().all(|(_, packets)| *packets == 1));
    let longest = sent.iter().map(|(segments, _)| *segments).max();
    assert_eq!(longest, Some(43), "a millisecond has 85");
    assert_eq!(
        Config {
            offload: Offload::Split,
            ..config
        }
        .longest_packet(),
        1500
    );
}

/// Bytes that arrive in five seconds.
fn delivered(config: Config, link: Link) -> u64 {
    let mut world = World::new(config, None, link);
    world.open();
    while world.now < at(5.0) && world.step(Instant::MAX) {}
    world.receiver.delivered()
}

/// Bursts take nothing from a link that holds them: the same bytes within 2%.
#[test]
fn bursts_fill_the_link() {
    for control in [Control::Cubic, Control::Reno, Control::Bbr, Control::Bbr3] {
        for mbit in [2, 50] {
            let [none, split, whole] = OFFLOADS.map(|offload| {
                let link = Link {
                    queue_limit: 500,
                    ..link(mbit)
                };
                delivered(config(control, offload), link)
            });
            for bytes in [split, whole] {
                let part = bytes as f64 / none as f64;
                assert!((0.98..1.02).contains(&part), "{control:?} {mbit}: {part}");
            }
        }
    }
}

/// A buffer of a millisecond and a half overflows by bursts of a millisecond, and not by single segments.
#[test]
fn bursts_overflow_a_short_buffer() {
    let lost = |offload| {
        let link = Link {
            queue_limit: 12,
            ..link(100)
        };
        let config = Config {
            receive_window: 340,
            window_growth: false,
            ..config(Control::Bbr, offload)
        };
        let mut world = World::new(config, None, link);
        world.open();
        while world.now < at(3.0) && world.step(Instant::MAX) {}
        let early = world.overflows;
        while world.now < at(13.0) && world.step(Instant::MAX) {}
        world.overflows - early
    };
    let [none, split, whole] = OFFLOADS.map(lost);
    println!("lost: {none} one by one, {split} in bursts, {whole} whole bursts");
    assert!(split > none, "{split} {none}");
}

/// Each write is sent at once, however short, and a window of one segment too.
#[test]
fn no_burst_waits_forever() {
    for (initial_window, segments) in [(1, 1), (2, 1), (10, 3), (10, 25), (3, 400)] {
        for offload in OFFLOADS {
            let config = Config {
                initial_window,
                ..config(Control::Cubic, offload)
            };
            let bytes = segments * 1448 + 1;
            let mut world = World::new(config, Some(bytes), link(20));
            world.open();
            assert!(
                world.run(at(5.0)),
                "{offload:?} {initial_window} {segments}"
            );
            let millis = world.now.since(Instant::ZERO).as_picos() / 1_000_000_000;
            assert!(
                millis < 900,
                "{offload:?} {initial_window} {segments}: {millis} ms"
            );
            assert_eq!(world.sender.statistics().timeouts, 0, "{offload:?}");
        }
    }
}

/// A receiver delays its acknowledgement of one segment, and not of a burst of two.
#[test]
fn a_whole_burst_is_acknowledged_at_once() {
    let config = Config {
        quick_acknowledgements: false,
        ..config(Control::Cubic, Offload::Whole)
    };
    for (segments, is_delayed) in [(1, true), (2, false), (40, false)] {
        let mut receiver = Receiver::new(config).expect("legal");
        let burst = Segment {
            len: segments * config.segment_len,
            ..Segment::default()
        };
        let answer = receiver.on_segment(at(1.0), &burst, false);
        assert_eq!(answer.is_none(), is_delayed, "{segments}");
    }
}

/// A whole burst is lost at once and repaired segment by segment, without a timeout.
#[test]
fn a_lost_burst_is_repaired() {
    let config = config(Control::Cubic, Offload::Whole);
    let mut lost = Some(());
    let link = Link {
        fate: Box::new(move |_, segment| {
            let is_long = segment.sequence > 300_000 && segment.len >= 3 * 1448;
            match is_long.then(|| lost.take()).flatten() {
                Some(()) => Fate::Drop,
                None => Fate::Deliver,
            }
        }),
        ..link(200)
    };
    let mut world = World::new(config, Some(2_000_000), link);
    world.arrived = Some(Vec::new());
    world.open();
    assert!(world.run(at(5.0)));
    let statistics = world.sender.statistics();
    assert_eq!(world.receiver.delivered(), 2_000_000);
    assert!(statistics.retransmissions >= 3, "{statistics:?}");
    assert_eq!(
        (statistics.timeouts, statistics.fast_retransmits),
        (0, 1),
        "{statistics:?}"
    );
    assert_eq!(
        statistics.segments,
        2_000_000_u64.div_ceil(1448) + statistics.retransmissions
    );
}

#[test]
fn bursts_need_selective_acknowledgements() {
    let refused = Config {
        flavour: Flavour::NewReno,
        offload: Offload::Split,
        ..Config::rfc()
    };
    assert_eq!(
        refused.check().unwrap_err().to_string(),
        "tcp: offload is Split with flavour NewReno, but must be none, as bursts are of senders with \
         selective acknowledgements (flavour sack)"
    );
}

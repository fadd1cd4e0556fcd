//! What `codel.rs` claims, and disciplines that break it.

use proptest::prelude::*;
use roundelay::schedulers::{Discipline, Spec, codel, fifo};
use roundelay::{Buffer, Duration, Ecn, FlowId, Instant, Limit, Packet, Rate, Scheduler};

use crate::red::{Scene, Traffic};

const LEN: u32 = 1514;

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn build(config: codel::Config) -> codel::CodelQueue<u64> {
    config.build(1).expect("legal parameters")
}

/// A link of a packet each 100 us, and a sender that has 400 packets waiting, always.
struct Overload {
    dropped: Vec<Instant>,
    marked: Vec<Instant>,
}

fn overload(config: codel::Config, ecn: Ecn, millis: u64) -> Overload {
    let (mut scheduler, mut result) = (build(config), Overload { dropped: Vec::new(), marked: Vec::new() });
    for slot in 0..millis * 10 {
        let now = Instant::ZERO + Duration::from_micros(100 * slot);
        while scheduler.backlog().packets < 400 {
            assert!(scheduler.enqueue(now, Packet { ecn, ..Packet::new(FlowId(0), LEN, slot) }).is_ok());
        }
        let packet = scheduler.dequeue(now).expect("work-conserving");
        result.dropped.extend(std::iter::from_fn(|| scheduler.take_dropped()).map(|_| now));
        if packet.ecn == Ecn::Marked && ecn == Ecn::Capable {
            result.marked.push(now);
        }
    }
    result
}

/// Whether signals come at t0 + sum of interval / sqrt(i), to within 1 % of the time since t0 and a slot.
pub(crate) fn follows_the_control_law(signals: &[Instant], interval: f64) -> bool {
    let mut expected = 0.0;
    signals.iter().enumerate().all(|(number, signal)| {
        let actual = signal.since(signals[0]).as_secs_f64();
        let fits = (actual - expected).abs() <= expected * 0.01 + 100e-6;
        expected += interval / ((number + 1) as f64).sqrt();
        fits
    })
}

#[test]
fn drops_follow_the_control_law() {
    let dropped = overload(Default::default(), Ecn::NotCapable, 5_000).dropped;
    assert!(dropped.len() > 500);
    assert!(follows_the_control_law(&dropped, 0.1));
    assert_eq!(dropped[0].since(Instant::ZERO), Duration::from_millis(105), "5 ms to stand above 5 ms, and an interval");
    let (target, interval) = (Duration::from_millis(15), Duration::from_millis(30));
    let dropped = overload(codel::Config { target, interval, ..Default::default() }, Ecn::NotCapable, 1_000).dropped;
    assert!(follows_the_control_law(&dropped, 0.03) && dropped[0] == millis(45));
    let evenly: Vec<_> = (0..100).map(|number| millis(100 * number)).collect();
    assert!(!follows_the_control_law(&evenly, 0.1), "the check finds another law");
}

#[test]
fn capable_packets_are_marked_not_dropped() {
    let ecn = codel::Config { ecn: true, ..Default::default() };
    let dropped = overload(Default::default(), Ecn::Capable, 2_000);
    assert!(dropped.marked.is_empty() && !dropped.dropped.is_empty(), "ECN is off if nothing is said, as in tc");
    let marked = overload(ecn, Ecn::Capable, 2_000);
    assert!(marked.dropped.is_empty() && marked.marked == dropped.dropped, "marks come when drops would");
    assert_eq!(overload(ecn, Ecn::NotCapable, 2_000).dropped, dropped.dropped);
    assert!(overload(ecn, Ecn::Marked, 2_000).dropped.is_empty(), "what another queue has marked says so already");
}

#[test]
fn a_ce_threshold_marks_whoever_waited_longer() {
    let target = Duration::from_secs(3600);
    let marks =
        |threshold| overload(codel::Config { target, ce_threshold: threshold, ..Default::default() }, Ecn::Capable, 1_000).marked.len();
    // 400 packets wait, 40 ms: the first slots' packets have waited less.
    assert_eq!(marks(Some(Duration::ZERO)), 9_999);
    assert_eq!(marks(Some(Duration::from_millis(20))), 10_000 - 201);
    assert_eq!(marks(Some(Duration::from_millis(41))), 0);
    assert_eq!(marks(None), 0);
}

/// Packets lost of a load at a link of 1 Mbit/s, in a buffer: arrivals (milliseconds, length), rising.
fn lost(scheduler: impl Scheduler<u64>, limit: u64, arrivals: impl Iterator<Item = (u64, u32)>) -> (u64, u64) {
    let rate = Rate::from_bits_per_second(1_000_000).expect("not zero");
    let mut buffer = Buffer::new(Limit::of_packets(limit), scheduler);
    let (mut free_at, mut lost, mut offered) = (Instant::ZERO, 0, 0);
    for (milli, len) in arrivals {
        while free_at <= millis(milli) {
            let packet = buffer.dequeue(free_at, |_, _| lost += 1);
            free_at = packet.map_or(millis(milli) + Duration::from_picos(1), |packet| free_at + rate.time_of(packet.len.into()));
        }
        offered += 1;
        buffer.enqueue(millis(milli), Packet::new(FlowId(0), len, milli), |_, _| lost += 1);
    }
    (lost, offered)
}

/// Bursts of 40 packets, half a second of the link, one each second: the queue stands for 500 ms, but not all of it above the target... so
/// the interval is the burst's.
#[test]
fn bursts_and_pings_lose_nothing() {
    let bursts = || (0..100u64).flat_map(|second| [(second * 1000, 1000); 12]);
    assert_eq!(lost(build(Default::default()), 1000, bursts()), (0, 1200), "96 ms of packets");
    let fifo = || fifo::Config.build::<u64>(1).expect("no parameters");
    assert!(lost(fifo(), 10, bursts()).0 > 0, "a short buffer drops of each burst");
    let standing = || (0..10_000u64).map(|number| (number * 7, 1000));
    assert!(lost(build(Default::default()), 1000, standing()).0 > 100, "and what stands is dropped from");
}

/// Linux, 2026: state that outlived the queue made a ping each second be dropped one time in four.
#[test]
fn known_bug_34_pings_are_never_dropped() {
    let mut scheduler = build(Default::default());
    for second in 0..1000 {
        let now = millis(second * 1000);
        // The link is busy with something else: the ping waits 50 ms, behind it comes another now and then.
        let pings = 1 + second % 2;
        for _ in 0..pings {
            assert!(scheduler.enqueue(now, Packet::new(FlowId(0), 98, second)).is_ok());
        }
        for _ in 0..pings {
            assert!(scheduler.dequeue(now + Duration::from_millis(50)).is_some());
        }
        assert!(scheduler.take_dropped().is_none());
    }
    assert!(!overload(Default::default(), Ecn::NotCapable, 200).dropped.is_empty(), "the check would see a drop");
}

/// Linux: after one packet of 64 KB nothing was dropped any more while less than 64 KB waited.
#[test]
fn known_bug_35_superframes_do_not_turn_codel_off() {
    // 1 Mbit/s offered 1.5: short packets, and one of 64 KB at the start.
    let load = |first: u32| std::iter::once((0, first)).chain((600..60_000u64).flat_map(|milli| [(milli, 100), (milli, 88)]));
    let (with, _) = lost(build(Default::default()), 300, load(65_536));
    let (without, _) = lost(build(Default::default()), 300, load(100));
    assert!(with > 1000 && with.abs_diff(without) < without / 10, "{with} {without}");
    // The longest packet ever as threshold: less than 64 KB ever waits, 300 packets of 100 bytes, so only the full buffer drops.
    let superframes = |config| lost(build(config), 30, (0..3_000u64).map(|number| (number * 400, 65_536))).0;
    assert!(superframes(Default::default()) > 100, "superframes that stand are dropped too");
}

/// Senders that respond, 20 at 20 Mbit/s with 100 ms of round trip.
#[test]
fn delay_comes_down_to_the_target() {
    let scene = Scene { link: 20_000_000, limit: Limit::of_packets(1000), responsive: 20, ..Default::default() };
    let delay = |traffic: &Traffic| traffic.mean_backlog * 8.0 / 20e6 * 1000.0;
    let (codel, fifo) = (scene.run(&codel::Config::default(), 1), scene.run(&fifo::Config, 1));
    println!("mean delay of the queue: CoDel {:.1} ms, FIFO {:.1} ms", delay(&codel), delay(&fifo));
    assert!(delay(&codel) < 20.0 && delay(&fifo) > 100.0);
    let used = codel.sent.iter().sum::<u64>() as f64 * 8.0 / 50.0 / 20e6;
    assert!(used > 0.8, "the link is used to {used}");
}

/// A virtual machine that slept: what waited through the pause may be dropped, nothing that came after.
#[test]
fn an_hour_without_service_is_survived() {
    let mut scheduler = build(Default::default());
    for hour in 0..3 {
        let now = millis(hour * 3_600_000);
        (0..100).for_each(|_| assert!(scheduler.enqueue(now, Packet::new(FlowId(0), LEN, hour)).is_ok()));
        for packet in 0..20 {
            assert!(scheduler.dequeue(now + Duration::from_millis(packet)).is_some());
            while let Some((packet, _)) = scheduler.take_dropped() {
                assert!(packet.payload < hour, "only what waited through the pause is dropped");
            }
        }
    }
}

proptest! {
    /// Linux: a queue that is dropped from until it is empty must say so at once (bugs 37, 38).
    #[test]
    fn what_is_counted_can_be_had(calls in prop::collection::vec((0u8..3, 0u64..300), 1..300)) {
        let (mut scheduler, mut now) = (build(codel::Config { target: Duration::from_millis(1), ..Default::default() }), Instant::ZERO);
        for (call, gap) in calls {
            now += Duration::from_millis(gap);
            if call < 2 {
                prop_assert!(scheduler.enqueue(now, Packet::new(FlowId(0), LEN, 0)).is_ok());
                prop_assert!(scheduler.enqueue(now, Packet::new(FlowId(0), LEN, 0)).is_ok());
            } else {
                let waiting = scheduler.backlog().packets;
                let given = scheduler.dequeue(now).is_some();
                let dropped = std::iter::from_fn(|| scheduler.take_dropped()).count() as u64;
                prop_assert_eq!(given, waiting > 0);
                prop_assert_eq!(scheduler.backlog().packets + dropped + u64::from(given), waiting);
            }
        }
    }
}

#[test]
fn it_reads_as_tc_writes_it() {
    let spec: Spec = "codel limit 100 target 4ms interval 30ms ecn".parse().expect("legal");
    assert_eq!(spec.discipline.to_string(), "codel target 4ms interval 30ms ecn");
    assert_eq!(spec.limit, Some(Limit::of_packets(100)));
    assert_eq!("codel".parse::<Spec>().expect("legal").limit_or_default(), Limit::of_packets(1000));
}

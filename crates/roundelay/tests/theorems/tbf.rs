//! TBF: the claims of `tbf.rs`, and disciplines that break them.

use proptest::prelude::*;
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, tbf};
use roundelay::{
    Control, DropReason, Duration, FlowId, Instant, Limit, Observer, Packet, Port, QueueSpec, Rate,
    Refusal, Scheduler, Seed,
};

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

fn build(text: &str) -> AnyScheduler<u64> {
    let spec: QueueSpec = text.parse().expect("legal");
    spec.discipline.build(Seed::new(0)).expect("legal")
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// A packet's number, start and length.
type Start = (u64, Instant, u32);

/// Starts and ends of transmissions.
#[derive(Default)]
struct Log {
    sent: Vec<Start>,
    ends: Vec<Instant>,
    dropped: Vec<u64>,
}

impl Observer<u64> for Log {
    fn sent(&mut self, packet: Packet<u64>, start: Instant, end: Instant) {
        self.sent.push((packet.payload, start, packet.len));
        self.ends.push(end);
    }

    fn dropped(&mut self, packet: Packet<u64>, _now: Instant, _reason: DropReason) {
        self.dropped.push(packet.payload);
    }
}

/// The log of packets (arrival in microseconds, length) through a port of this rate.
fn run(text: &str, link: &str, arrivals: &[(u64, u32)]) -> Log {
    let mut port = Port::new(build(text), Limit::UNBOUNDED, rate(link));
    let mut log = Log::default();
    for (number, (micros, len)) in (0..).zip(arrivals) {
        let packet = Packet::new(FlowId(number as u32 % 3), *len, number);
        port.advance(at(*micros), &mut log);
        port.arrive(at(*micros), packet, &mut log);
    }
    port.advance(Instant::from_nanos(u64::MAX / 2000), &mut log);
    log
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..500, 1 => 0u64..20_000];
    prop::collection::vec((gap, 40u32..=1500), 1..120).prop_map(|gaps| {
        let mut now = 0;
        let mut arrivals = Vec::new();
        for (gap, len) in gaps {
            now += gap;
            arrivals.push((now, len));
        }
        arrivals
    })
}

/// Largest number of bytes sent in an interval over `burst` and what `rate` carries in the interval.
fn excess(sent: &[Start], rate: Rate, burst: u64) -> f64 {
    let mut worst = f64::MIN;
    for first in 0..sent.len() {
        let mut bytes = 0.0;
        for (_, start, len) in &sent[first..] {
            bytes += f64::from(*len);
            let span = start.since(sent[first].1).as_secs_f64();
            let allowed = burst as f64 + rate.bits_per_second() as f64 / 8.0 * span;
            worst = worst.max(bytes / allowed);
        }
    }
    worst
}

proptest! {
    #[test]
    fn no_interval_has_more_than_the_buckets(arrivals in arrivals()) {
        let text = "tbf rate 2mbit burst 4000 peakrate 8mbit mtu 1500";
        let log = run(text, "1gbit", &arrivals);
        prop_assert_eq!(log.sent.len(), arrivals.len());
        prop_assert!(log.sent.is_sorted_by_key(|(number, ..)| *number), "in order");
        for (rate_of, burst) in [("2mbit", 4000), ("8mbit", 1500)] {
            let excess = excess(&log.sent, rate(rate_of), burst);
            prop_assert!(excess <= 1.0 + 1e-9, "{excess} of {burst} bytes and {rate_of}");
        }
    }
}

#[test]
fn the_check_finds_what_is_not_shaped() {
    let burst: Vec<_> = (0..40).map(|_| (0, 1000)).collect();
    for other in [
        "fifo",
        "tbf rate 3mbit burst 4000",
        "tbf rate 2mbit burst 5001",
        "drr",
    ] {
        let log = run(other, "1gbit", &burst);
        assert!(excess(&log.sent, rate("2mbit"), 4000) > 1.0, "{other}");
    }
    let log = run("tbf rate 2mbit burst 4000", "1gbit", &burst);
    let shaped = excess(&log.sent, rate("2mbit"), 4000);
    assert!(
        (0.99..=1.0).contains(&shaped),
        "{shaped}: the bucket is used"
    );
    assert!(
        excess(&log.sent, rate("8mbit"), 1500) > 1.0,
        "no second bucket"
    );
}

/// Largest end of a packet after its end on a link of rate R, and 2 L / C, in seconds.
fn lateness(text: &str, link: &str, arrivals: &[(u64, u32)], rate: Rate) -> (f64, f64) {
    let log = run(text, link, arrivals);
    let mut worst = f64::MIN;
    let mut grc = 0.0f64;
    for ((number, ..), end) in log.sent.iter().zip(&log.ends) {
        let (micros, len) = arrivals[*number as usize];
        grc = grc.max(micros as f64 / 1e6) + rate.time_of(len.into()).as_secs_f64();
        worst = worst.max(end.since(Instant::ZERO).as_secs_f64() - grc);
    }
    let link: Rate = link.parse().expect("a rate");
    (worst, link.time_of(3000).as_secs_f64())
}

proptest! {
    #[test]
    fn a_queue_is_as_good_as_a_link_of_its_rate(arrivals in arrivals(), burst in 3000u32..9000) {
        for link in ["2100kbit", "5mbit", "1gbit"] {
            let text = format!("tbf rate 2mbit burst {burst}");
            let (late, bound) = lateness(&text, link, &arrivals, rate("2mbit"));
            prop_assert!(late <= bound + 1e-9, "{late} s of {bound} at {link}");
        }
    }
}

#[test]
fn a_smaller_rate_is_later() {
    let arrivals: Vec<_> = (0..2_000).map(|number| (number * 6000, 1500)).collect();
    let late = |text: &str| lateness(text, "1gbit", &arrivals, rate("2mbit"));
    let (kept, bound) = late("tbf rate 2mbit burst 3000");
    assert!(kept <= bound, "{kept}");
    let (broken, bound) = late("tbf rate 1990kbit burst 3000");
    assert!(broken > bound, "{broken} must be later than {bound}");
}

/// 100,000 packets of 1,000 bytes at 8 Mbit/s are a millisecond each, after a bucket of four.
#[test]
fn the_rate_is_kept_without_drift() {
    let mut scheduler = build("tbf rate 8mbit burst 4000");
    let mut now = Instant::ZERO;
    for number in 0..100_000 {
        let packet = Packet::new(FlowId(0), 1000, number);
        scheduler.enqueue(now, packet).expect("short enough");
    }
    for number in 0..100_000u64 {
        now = now.max(scheduler.ready_at().expect("packets wait"));
        let sent = scheduler.dequeue(now).expect("ready");
        assert_eq!(
            (sent.payload, now),
            (number, at(1000 * number.saturating_sub(3)))
        );
    }
    assert_eq!(scheduler.ready_at(), None, "nothing waits");
}

/// The example of the header: times by hand. A bucket of 3,000 bytes at 8 Mbit/s, a byte a
/// microsecond.
#[test]
fn packets_leave_at_the_times_of_the_buckets() {
    let arrivals = [
        (0, 2000),
        (0, 1500),
        (100, 1000),
        (5_000, 500),
        (5_000, 3000),
        (5_000, 1),
    ];
    let starts = |text: &str| -> Vec<u64> {
        let log = run(text, "100gbit", &arrivals);
        let micros = |start: Instant| start.as_picos() / 1_000_000;
        log.sent
            .iter()
            .map(|(_, start, _)| micros(*start))
            .collect()
    };
    assert_eq!(
        starts("tbf rate 8mbit burst 3000"),
        [0, 500, 1_500, 5_000, 5_500, 5_501],
        "the third finds 0 bytes at 500, and the bucket is full again at 4,500"
    );
    assert_eq!(
        starts("tbf rate 8mbit burst 3000 peakrate 16mbit mtu 3000"),
        [0, 500, 1_500, 5_000, 5_500, 5_501],
        "the second bucket is as large and fills faster"
    );
    assert_eq!(
        starts("fifo")[..3],
        [0, 0, 100],
        "a queue without a bucket does not wait"
    );
}

#[test]
fn the_second_bucket_spreads_the_burst() {
    let arrivals = [(0, 1000); 5];
    let log = run(
        "tbf rate 8mbit burst 5000 peakrate 16mbit mtu 1000",
        "100gbit",
        &arrivals,
    );
    let starts: Vec<_> = log.sent.iter().map(|(_, start, _)| *start).collect();
    assert_eq!(starts, [0, 500, 1000, 1500, 2000].map(at));
    let log = run("tbf rate 8mbit burst 5000", "100gbit", &arrivals);
    assert!(
        log.sent.iter().all(|(_, start, _)| *start < at(1)),
        "one bucket: at once"
    );
}

#[test]
fn what_is_longer_than_a_bucket_is_refused_with_the_reason() {
    for (text, most) in [
        ("tbf rate 1mbit burst 3000", 3000),
        ("tbf rate 1mbit burst 3000 peakrate 2mbit mtu 1000", 1000),
        ("tbf rate 1mbit burst 900 peakrate 2mbit mtu 1000", 900),
    ] {
        let mut scheduler = build(text);
        let packet = |len| Packet::new(FlowId(0), len, 0);
        let refused = packet(most + 1).refused(Refusal::TooLong { most });
        assert_eq!(
            scheduler.enqueue(at(0), packet(most + 1)),
            Err(refused),
            "{text}"
        );
        assert!(scheduler.enqueue(at(0), packet(most)).is_ok());
        assert!(
            scheduler.dequeue(at(0)).is_some(),
            "a full bucket has room for it"
        );
    }
}

/// As tc computes a limit from a latency: 2 Mbit/s for 20 ms are 5,000 bytes.
#[test]
fn a_latency_is_a_limit() {
    let limit = |text: &str| text.parse::<QueueSpec>().expect("legal").limit;
    let bytes = |bytes| Some(Limit::of_bytes(bytes));
    assert_eq!(
        limit("tbf rate 2mbit burst 3000 latency 20ms"),
        bytes(8_000)
    );
    let peak = "tbf rate 2mbit burst 30000 latency 20ms peakrate 4mbit mtu 1500";
    assert_eq!(
        limit(peak),
        bytes(11_500),
        "10,000 bytes at the peak rate and mtu are less"
    );
    assert_eq!(
        limit("tbf rate 2mbit burst 3000 limit 9000"),
        bytes(9_000),
        "bytes, as tc"
    );
    assert_eq!(limit("tbf rate 2mbit"), None);
}

#[test]
fn what_tc_refuses_is_refused() {
    for (text, told) in [
        (
            "tbf rate 2mbit latency 20ms limit 9000",
            "limit or latency, not both",
        ),
        ("tbf latency 20ms", "a rate with it"),
        ("tbf rate 2mbit peakrate 2mbit", "more than rate 2mbit"),
        ("tbf rate 0bit", "8bit"),
        ("tbf burst 0", "1b to 1gb"),
        ("tbf rate fast", "legal range"),
    ] {
        let error = text.parse::<QueueSpec>().expect_err(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

/// The link's own rate never makes the link wait.
#[test]
fn the_rate_of_the_link_is_no_shaper_and_half_of_it_is() {
    let arrivals: Vec<_> = (0..300)
        .map(|number| (number * number % 70 * 100, 1 + number as u32 * 5))
        .collect();
    let mut sorted = arrivals;
    sorted.sort_unstable();
    let ends = |text: &str| run(text, "2mbit", &sorted).ends;
    assert_eq!(ends("tbf burst 1500"), ends("fifo"));
    assert_ne!(ends("tbf rate 1mbit burst 1500"), ends("fifo"));
}

/// A change of the rate gives no burst: the bucket was empty and stays so.
#[test]
fn a_change_at_work_is_of_the_next_packet_and_gives_no_burst() {
    let mut scheduler: tbf::Tbf<u64> = match build("tbf rate 8mbit burst 4000") {
        AnyScheduler::Tbf(scheduler) => *scheduler,
        _ => panic!("tbf"),
    };
    for number in 0..8 {
        let packet = Packet::new(FlowId(0), 1000, number);
        scheduler.enqueue(at(0), packet).expect("short enough");
    }
    for _ in 0..4 {
        assert!(scheduler.dequeue(at(0)).is_some(), "the burst");
    }
    let changed: QueueSpec = "tbf rate 4mbit burst 4000".parse().expect("legal");
    let AnyDiscipline::Tbf(config) = changed.discipline else {
        panic!("tbf")
    };
    roundelay::schedulers::Discipline::reconfigure(&config, &mut scheduler).expect("live");
    scheduler.check_invariants();
    let ready = scheduler.ready_at().expect("packets wait");
    let wait = ready.since(at(0));
    assert!(
        wait <= Duration::from_millis(2) && scheduler.dequeue(at(0)).is_none(),
        "{wait}"
    );
    assert!(scheduler.dequeue(ready).is_some());
    let next = scheduler.ready_at().expect("packets wait").since(ready);
    assert_eq!(
        next,
        Duration::from_millis(2),
        "1,000 bytes at the new rate"
    );
}

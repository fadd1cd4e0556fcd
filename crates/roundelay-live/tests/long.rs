//! Long runs, not part of the quick tests: a soak with random changes, and figures of pacing.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::RngExt as _;
use roundelay_live::world::{FAR, MIDDLE, Place, World};
use roundelay_live::{Bottleneck, Change, DeviceKind, QueueText, Session, Way, WeightTexts};

use crate::fake::random;
use crate::namespaces::{open, settings, transfers, world};
use crate::worlds::disciplines;

/// Kilobytes of memory that this process has in use.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let words = line.expect("its memory").trim().trim_end_matches(" kB");
    words.parse().expect("a number")
}

/// Datagrams from many ports, in bursts, until `stop`.
fn flood(world: &Arc<World>, ports: usize, len: usize, burst: usize, stop: &Arc<AtomicBool>) {
    let (world, stop) = (Arc::clone(world), Arc::clone(stop));
    thread::spawn(move || {
        world.enter(Place::Near).expect("a place");
        let mut sockets = Vec::new();
        for _ in 0..ports {
            sockets.push(UdpSocket::bind("0.0.0.0:0").expect("a port"));
        }
        let packet = vec![0; len];
        let mut number = 0;
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..burst {
                _ = sockets[number % ports].send_to(&packet, (FAR, 9));
                number += 1;
            }
            thread::sleep(Duration::from_micros(500));
        }
    });
}

/// A change of one direction to something legal.
fn change(bottleneck: &mut Bottleneck, queues: &[String], random: &mut rand_pcg::Pcg64Mcg) {
    let way = Way::BOTH[random.random_range(0..2)];
    let change = match random.random_range(0..3) {
        0 => Change::Rate(random.random_range(1_000_000..30_000_000)),
        1 => {
            let queue = queues[random.random_range(0..queues.len())].clone();
            Change::Queue(QueueText::Discipline(queue))
        }
        _ => {
            let weight = random.random_range(1..=20);
            let rules = vec![format!("dst port 6001 = {weight}")];
            Change::Weights(WeightTexts { rules, file: None })
        }
    };
    bottleneck.change(way, &change).expect("a legal change");
}

/// Seconds: `ROUNDELAY_LIVE_SOAK`, or half an hour.
fn length() -> f64 {
    match std::env::var("ROUNDELAY_LIVE_SOAK") {
        Ok(text) => text
            .parse()
            .expect("ROUNDELAY_LIVE_SOAK: a number of seconds"),
        Err(_) => 1800.0,
    }
}

#[test]
#[ignore = "half an hour, part of make test-full; ROUNDELAY_LIVE_SOAK sets the seconds"]
fn random_changes_for_half_an_hour_leave_memory_flat_and_books_balanced() {
    let Some(world) = world() else { return };
    let length = length();
    let mut session =
        Session::open(&settings("20mbit", "fifo limit 50"), MIDDLE).expect("two interfaces");
    let stop = Arc::new(AtomicBool::new(false));
    let counts = transfers(&world, 3);
    flood(&world, 20, 300, 4, &stop);
    let queues = disciplines();
    let mut random = random(1);
    let (mut next, mut changes) = (0.0, 0_u64);
    let mut early = None;
    session.use_real_time();
    let run = session.run(|running| {
        let seconds = running.seconds();
        if seconds >= next {
            next = seconds + 0.05;
            change(running.bottleneck(), &queues, &mut random);
            changes += 1;
        }
        // All tables have their size by then.
        if seconds >= length / 5.0 && early.is_none() {
            early = Some(memory());
        }
        for way in Way::BOTH {
            let books = running.bottleneck().books(way);
            assert!(books.balance(), "{books:?}");
        }
        Ok(seconds < length)
    });
    run.expect("a run");
    stop.store(true, Ordering::Relaxed);
    let (early, late) = (early.expect("a run of that length"), memory());
    let fidelity = session.finish().expect("no record");
    let received: u64 = counts
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .sum();
    println!(
        "{changes} changes, {received} bytes of TCP, memory {early} and {late} kB\n{}",
        fidelity.text()
    );
    assert!(received > 0 && changes as f64 > length * 5.0);
    // A twentieth, and what a measurement of a few pages more may be.
    assert!(
        late < early + early / 20 + 2_000,
        "{early} kB grew to {late} kB"
    );
}

/// Nanoseconds for which this thread had a processor.
pub(crate) fn processor_time() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a thread");
    let first = times.split_whitespace().next();
    first.expect("a time").parse().expect("a number")
}

/// Runs a flood through a link, and prints what it costs and how exact it is.
fn measure(kind: DeviceKind, rate: &str, queue: &str, [ports, len, burst]: [usize; 3]) {
    let Some(world) = world() else { return };
    let Some(mut session) = open(kind, &settings(rate, queue)) else {
        return;
    };
    let stop = Arc::new(AtomicBool::new(false));
    flood(&world, ports, len, burst, &stop);
    session.use_real_time();
    let mut from = None;
    let mut to = (0.0, 0, 0, 0);
    let run = session.run(|running| {
        let seconds = running.seconds();
        if seconds >= 1.0 {
            let books = running.bottleneck().books(Way::Up);
            to = (
                seconds,
                books.delivered_bytes,
                books.arrived,
                processor_time(),
            );
            from.get_or_insert(to);
        }
        Ok(seconds < 11.0)
    });
    run.expect("a run");
    stop.store(true, Ordering::Relaxed);
    let from = from.expect("a second");
    let (seconds, bytes, packets) = (to.0 - from.0, to.1 - from.1, to.2 - from.2);
    let processor = (to.3 - from.3) as f64 / 1e3;
    let fidelity = session.finish().expect("no record");
    println!(
        "{}, {rate}: {:.4} Mbit/s, {:.1} kpps in, {:.2} us of processor a packet\n{}",
        kind.name(),
        bytes as f64 * 8.0 / seconds / 1e6,
        packets as f64 / seconds / 1e3,
        processor / packets as f64,
        fidelity.text()
    );
}

#[test]
#[ignore = "measures: the figures of docs/live.md, with --release, --nocapture and --test-threads 1"]
fn figures_of_pacing() {
    for kind in DeviceKind::ALL {
        measure(kind, "20mbit", "fifo limit 200", [1, 1472, 3]);
        measure(kind, "100mbit", "fifo limit 200", [1, 1472, 12]);
    }
}

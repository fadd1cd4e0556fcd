//! Long runs, not part of the quick tests: a soak with random commands, and figures of pacing.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::RngExt as _;
use roundelay_live::control::{self, Command, Control};
use roundelay_live::world::{FAR, MIDDLE, Node, World};
use roundelay_live::{Change, DeviceKind, QueueText, Session, Way, WeightTexts};

use crate::fake::random;
use crate::namespaces::{holds, open, settings, transfers, world};
use crate::worlds::disciplines;

/// Kilobytes of memory of its own that this process has in use.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let words = line.expect("its memory").trim().trim_end_matches(" kB");
    words.parse().expect("a number")
}

/// Datagrams from many ports, in bursts, until `stop`.
fn flood(world: &Arc<World>, ports: usize, len: usize, burst: usize, stop: &Arc<AtomicBool>) {
    let (world, stop) = (Arc::clone(world), Arc::clone(stop));
    thread::spawn(move || {
        world.enter(Node::Near).expect("a node");
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

/// A command as `roundelay live set` sends it: one to three changes of one direction or both, all
/// legal.
fn command(queues: &[String], random: &mut rand_pcg::Pcg64Mcg) -> Command {
    let ways = [None, Some(Way::Up), Some(Way::Down)];
    let mut changes = Vec::new();
    for _ in 0..random.random_range(1..=3) {
        changes.push(match random.random_range(0..3) {
            0 => Change::Rate(random.random_range(1_000_000..10_000_000)),
            1 => {
                let queue = queues[random.random_range(0..queues.len())].clone();
                Change::Queue(QueueText::Discipline(queue))
            }
            _ => {
                let weight = random.random_range(1..=20);
                let rules = vec![format!("dst port 6001 = {weight}")];
                Change::Weights(WeightTexts { rules, file: None })
            }
        });
    }
    Command {
        way: ways[random.random_range(0..ways.len())],
        changes,
    }
}

/// Sends random commands to a session until `stop`: the number of commands, and of those refused. A
/// discipline may refuse a weight that another took, and says so.
fn send_commands(name: String, stop: Arc<AtomicBool>) -> thread::JoinHandle<[u64; 2]> {
    thread::spawn(move || {
        let queues = disciplines();
        let mut random = random(1);
        let mut counts = [0; 2];
        while !stop.load(Ordering::Relaxed) {
            let command = command(&queues, &mut random);
            // The last one may find the session gone.
            if let Ok(answer) = control::send(&name, &command) {
                counts[0] += 1;
                counts[1] += u64::from(!answer.is_done);
            }
            thread::sleep(Duration::from_millis(50));
        }
        counts
    })
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
fn random_commands_for_half_an_hour_leave_memory_flat_and_a_record_that_replays() {
    let Some(world) = world() else { return };
    let length = length();
    let mut settings = settings("5mbit", "fifo limit 50");
    // Headers are enough to sort packets, and an hour of whole ones fills a disk.
    settings.snap = 64;
    let mut session = Session::open(&settings, MIDDLE).expect("two interfaces");
    let record = std::env::temp_dir().join(format!("roundelay-soak-{}", std::process::id()));
    session.record(&record).expect("a file");
    let name = format!("soak-{}", std::process::id());
    let path = control::path_of(&name).expect("a name");
    let mut control = Control::listen(path.clone()).expect("a socket");
    let stop = Arc::new(AtomicBool::new(false));
    let counts = transfers(&world, 3);
    flood(&world, 20, 300, 1, &stop);
    let commands = send_commands(name, Arc::clone(&stop));
    let mut early = None;
    session.use_real_time();
    let run = session.run(|running| {
        let seconds = running.seconds();
        control.serve(running.bottleneck())?;
        // All tables have their size by then.
        if seconds >= length / 5.0 && early.is_none() {
            early = Some(memory());
        }
        for way in Way::BOTH {
            let books = running.bottleneck().books(way);
            assert!(books.balance(), "{books:?}");
        }
        assert_eq!(running.record_fault(), None);
        Ok(seconds < length)
    });
    run.expect("a run");
    stop.store(true, Ordering::Relaxed);
    let (early, late) = (early.expect("a run of that length"), memory());
    drop(control);
    let [sent, refused] = commands.join().expect("they end");
    let fidelity = session.finish().expect("a whole record");
    let received: u64 = counts
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .sum();
    let size = std::fs::metadata(&record).expect("a record").len();
    println!(
        "{sent} commands, {refused} of them refused in part, {received} bytes of TCP, a record of {size} bytes, memory {early} and {late} kB\n{}",
        fidelity.text()
    );
    assert!(received > 0 && sent as f64 > length * 5.0);
    assert!(refused * 100 <= sent, "{refused} of {sent} refused");
    // A twentieth, and what a measurement of a few pages more may be.
    assert!(
        late < early + early / 20 + 2_000,
        "{early} kB grew to {late} kB"
    );
    holds(&fidelity, &record);
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
    let mut least = u64::MAX;
    let run = session.run(|running| {
        let seconds = running.seconds();
        if seconds >= 1.0 {
            least = least.min(running.bottleneck().backlog(Way::Up).packets);
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
    let found = bytes as f64 * 8.0 / seconds;
    println!(
        "{}, {rate}: {:.4} Mbit/s, {:.1} kpps in, {:.2} us of processor a packet, {least} packets in the queue at least\n{}",
        kind.name(),
        found / 1e6,
        packets as f64 / seconds / 1e3,
        processor / packets as f64,
        fidelity.text()
    );
    // The sender is heard every 5 ms, in which the fastest link sends 41 full packets.
    let is_backlogged = least > 60;
    if is_backlogged && fidelity.verdict.is_valid {
        let nominal: roundelay::Rate = rate.parse().expect("a rate");
        let error = found / nominal.bits_per_second() as f64 - 1.0;
        assert!(error.abs() < 0.0005, "{rate}: {found} bit/s");
    } else {
        println!("the rate is not judged: the queue ran empty, or the run is not valid");
    }
}

#[test]
#[ignore = "measures: the figures of docs/live.md, with --release, --nocapture and --test-threads 1"]
fn figures_of_pacing() {
    for kind in DeviceKind::ALL {
        measure(kind, "20mbit", "fifo limit 200", [1, 1472, 3]);
        measure(kind, "100mbit", "fifo limit 200", [1, 1472, 12]);
    }
}

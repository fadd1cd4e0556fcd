//! Runs on real packets, between namespaces of their own: needs root, or prints that it has not run.
//! Ordinary users are tested with the command.
//!
//! Order and books are checked always. Figures that depend on time are checked where the run's own
//! verdict is *valid*, so that a busy machine fails no test.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use roundelay_live::world::{FAR, MIDDLE, Place, World, set_congestion_control};
use roundelay_live::{Change, Fidelity, QueueText, Recording, Session, Settings, Way, log, replay};
use roundelay_verify::inspect;

/// The world, if this test may make one.
pub(crate) fn world() -> Option<Arc<World>> {
    if !roundelay_live::world::is_root() {
        println!("not run: needs root");
        return None;
    }
    match World::build() {
        Ok(world) => Some(Arc::new(world)),
        Err(error) => {
            println!("not run: {error}");
            None
        }
    }
}

pub(crate) fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("roundelay-{name}-{}.pcapng", std::process::id()))
}

pub(crate) fn settings(rate: &str, queue: &str) -> Settings {
    let rate = rate.parse().expect("a rate");
    Settings::new(rate, QueueText::Discipline(queue.to_owned()))
}

/// Bytes received at the far end, by port.
pub(crate) type Counts = Arc<[AtomicU64; 4]>;

pub(crate) const FIRST_PORT: u16 = 6000;

/// Endless transfers from near to far, one for each of the first `count` ports.
pub(crate) fn transfers(world: &Arc<World>, count: usize) -> Counts {
    transfers_with(world, count, "cubic")
}

/// The same with a congestion control; where the system does not have it, with its default.
pub(crate) fn transfers_with(world: &Arc<World>, count: usize, control: &'static str) -> Counts {
    let counts = Counts::default();
    for number in 0..count {
        let (far, near) = (Arc::clone(world), Arc::clone(world));
        let counts = Arc::clone(&counts);
        let port = FIRST_PORT + number as u16;
        let (tell, listens) = std::sync::mpsc::channel();
        thread::spawn(move || {
            far.enter(Place::Far).expect("a place");
            let listener = TcpListener::bind((FAR, port)).expect("a free port");
            tell.send(()).expect("somebody waits");
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut room = [0; 16 << 10];
            while let Ok(len) = stream.read(&mut room)
                && len > 0
            {
                counts[number].fetch_add(len as u64, Ordering::Relaxed);
            }
        });
        listens.recv().expect("it listens");
        thread::spawn(move || {
            near.enter(Place::Near).expect("a place");
            let mut stream = TcpStream::connect((FAR, port)).expect("the far end listens");
            if let Err(error) = set_congestion_control(&stream, control) {
                println!("{control}: {error}; the default is used");
            }
            while stream.write_all(&[0; 16 << 10]).is_ok() {}
        });
    }
    counts
}

/// Datagrams from near to far, `every` so often.
fn datagrams(world: &Arc<World>, every: Duration) {
    let world = Arc::clone(world);
    thread::spawn(move || {
        world.enter(Place::Near).expect("a place");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        loop {
            _ = socket.send_to(&[0; 100], (FAR, 9));
            thread::sleep(every);
        }
    });
}

/// Runs a session for some seconds; `looks` is called at each of the hours given.
pub(crate) fn run(session: &mut Session, hours: &[f64], mut looks: impl FnMut(usize)) {
    let mut seen = 0;
    session
        .run(|running| {
            let seconds = running.seconds();
            if hours.get(seen).is_some_and(|hour| seconds >= *hour) {
                looks(seen);
                seen += 1;
            }
            Ok(seen < hours.len())
        })
        .expect("a run");
}

/// The books balance, and the record replays to the packet.
pub(crate) fn holds(fidelity: &Fidelity, record: &std::path::Path) {
    for way in &fidelity.ways {
        assert!(way.books.balance(), "{way:?}");
    }
    replays(fidelity, record);
    std::fs::remove_file(record).expect("a file of ours");
}

/// The record replays to the packet, and its log has no fault.
pub(crate) fn replays(fidelity: &Fidelity, record: &std::path::Path) {
    let replayed = replay(Recording::open(record).expect("a record")).expect("a whole record");
    for way in &replayed.ways {
        assert!(way.is_equal(), "{:?}", way.first_difference);
    }
    assert_eq!(replayed.ways[0].arrived, fidelity.ways[0].books.arrived);
    assert_eq!(replayed.ways[1].arrived, fidelity.ways[1].books.arrived);
    let end = replayed.end.expect("an end");
    assert_eq!(end.verdict, fidelity.verdict.text());
    let log = log(Recording::open(record).expect("a record")).expect("a log");
    let found = inspect(log.text.as_bytes(), 10).expect("a log").faults;
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn tcp_and_udp_pass_a_changing_bottleneck_and_the_record_replays() {
    let Some(world) = world() else { return };
    let mut settings = settings("20mbit", "fifo limit 50");
    settings.down.loss = 10_000_000;
    settings.up.jitter = 1_000_000_000;
    let mut session = Session::open(&settings, MIDDLE).expect("two interfaces");
    let record = file("changing");
    session.record(&record).expect("a file");
    let queues = ["fq_codel", "qfq limit 50", "sfq perturb 1s", "mqfq"];
    for (number, queue) in queues.into_iter().enumerate() {
        let at = roundelay::Instant::from_nanos(400_000_000 * (number as u64 + 1));
        let queue = Change::Queue(QueueText::Discipline(queue.to_owned()));
        session.plan(at, Way::Up, queue.clone());
        session.plan(at, Way::Down, queue);
        session.plan(at, Way::Up, Change::Rate(5_000_000 * (number as u64 + 1)));
    }
    let counts = transfers(&world, 3);
    datagrams(&world, Duration::from_millis(5));
    session.use_real_time();
    run(&mut session, &[2.2], |_| ());
    let fidelity = session.finish().expect("a whole record");
    let [up, down] = &fidelity.ways;
    assert!(
        up.books.arrived > 500 && down.books.arrived > 100,
        "{}",
        fidelity.text()
    );
    assert!(
        counts
            .iter()
            .take(3)
            .all(|count| count.load(Ordering::Relaxed) > 20_000)
    );
    assert!(up.books.all_dropped() > 0 && down.books.lost > 0);
    assert_eq!((up.books.changes, down.books.changes), (8, 4));
    holds(&fidelity, &record);
}

/// Runs `ip` of iproute2 in the namespace of this thread.
fn ip(words: &[&str]) {
    let status = Command::new("ip").args(words).status();
    assert!(status.expect("ip runs").success(), "{words:?}");
}

#[test]
fn an_interface_that_goes_down_or_vanishes_is_told() {
    let Some(world) = world() else { return };
    let session = Session::open(&settings("20mbit", "fifo"), MIDDLE);
    let mut session = session.expect("two interfaces");
    let record = file("vanishes");
    session.record(&record).expect("a file");
    datagrams(&world, Duration::from_millis(2));
    // Lines after one another: down, up again, gone.
    run(&mut session, &[0.3, 0.5, 0.8, 60.0], |hour| match hour {
        0 => ip(&["link", "set", "dev", MIDDLE[1], "down"]),
        1 => ip(&["link", "set", "dev", MIDDLE[1], "up"]),
        2 => ip(&["link", "del", "dev", MIDDLE[1]]),
        _ => (),
    });
    let fidelity = session.finish().expect("a whole record");
    assert!(!fidelity.verdict.is_valid, "{}", fidelity.text());
    assert!(fidelity.went_down[1] >= 1, "{}", fidelity.text());
    assert!(
        fidelity
            .verdict
            .text()
            .contains("The far interface went down")
    );
    // The run ends by itself as soon as the interface is gone.
    assert_eq!(fidelity.gone, [false, true]);
    assert!(fidelity.seconds < 60.0);
    holds(&fidelity, &record);
}

#[test]
fn the_same_interface_twice_and_unknown_interfaces_are_refused() {
    let Some(_world) = world() else { return };
    let refused = |near: &str, far: &str| {
        let session = Session::open(&settings("20mbit", "fifo"), [near, far]);
        session
            .err()
            .map(|error| error.to_string())
            .expect("an error")
    };
    assert!(refused("near0", "near0").contains("the same interface twice"));
    assert!(refused("near0", "none0").starts_with("none0: "));
    assert!(refused("near0", "lo").contains("the interface is down"));
    assert!(refused("near0", "a-name-that-is-too-long").starts_with("a-name"));
}

/// Datagrams of 3,000 bytes from near to far, in one frame each if the MTU allows it.
fn long_datagrams(world: &Arc<World>) {
    let world = Arc::clone(world);
    thread::spawn(move || {
        world.enter(Place::Near).expect("a place");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        loop {
            _ = socket.send_to(&[0; 3000], (FAR, 9));
            thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn frames_that_no_longer_fit_are_counted_and_told() {
    let Some(world) = world() else { return };
    let session = Session::open(&settings("20mbit", "fifo"), MIDDLE);
    let mut session = session.expect("two interfaces");
    let record = file("mtu");
    session.record(&record).expect("a file");
    let counts = transfers(&world, 1);
    long_datagrams(&world);
    let mut received = [0; 2];
    run(&mut session, &[0.4, 0.7, 1.2, 1.5], |hour| {
        let set = |name: &str, mtu: &str| ip(&["link", "set", "dev", name, "mtu", mtu]);
        match hour {
            0 => set(MIDDLE[1], "1000"),
            1 => set(MIDDLE[1], "1500"),
            2 => {
                set(MIDDLE[0], "4000");
                let mut command = Command::new("ip");
                command.args(["link", "set", "dev", "eth0", "mtu", "4000"]);
                let child = world.start(Place::Near, &mut command);
                let status = child.expect("ip runs").wait();
                assert!(status.expect("ip ends").success());
            }
            _ => (),
        }
        if let 1 | 2 = hour {
            received[hour - 1] = counts[0].load(Ordering::Relaxed);
        }
    });
    let fidelity = session.finish().expect("a whole record");
    let text = fidelity.text();
    let up = &fidelity.ways[0];
    assert!(up.books.refused > 0, "{text}");
    assert!(up.outside.too_long > 0, "{text}");
    assert!(received[1] > received[0], "it goes on: {received:?}");
    assert!(text.contains("refused by the interface at the other end"));
    assert!(text.contains("longer than the interface's packets"));
    holds(&fidelity, &record);
}

#[test]
fn interfaces_of_one_network_are_a_loop_and_refused() {
    let Some(_world) = world() else { return };
    Session::check(MIDDLE).expect("no loop");
    let veth = |name: &str, peer: &str| {
        ip(&[
            "link", "add", "name", name, "type", "veth", "peer", "name", peer,
        ]);
        ip(&["link", "set", "dev", name, "up"]);
        ip(&["link", "set", "dev", peer, "up"]);
    };
    let refused = |near: &str, far: &str| {
        let found = Session::check([near, far]);
        found
            .expect_err(&format!("{near} and {far} are a loop"))
            .to_string()
    };
    veth("a0", "a1");
    assert!(refused("a0", "a1").contains("a0 and a1: a loop"));
    // A bridge, which some systems do not have.
    let bridge = Command::new("ip")
        .args(["link", "add", "name", "br0", "type", "bridge"])
        .status();
    if bridge.is_ok_and(|status| status.success()) {
        veth("b0", "b1");
        ip(&["link", "set", "dev", "a1", "master", "br0"]);
        ip(&["link", "set", "dev", "b1", "master", "br0"]);
        ip(&["link", "set", "dev", "br0", "up"]);
        assert!(refused("a0", "b0").contains("a loop"));
    } else {
        println!("without a bridge: this system has none");
    }
    let altname = [
        "link", "property", "add", "dev", "near0", "altname", "same0",
    ];
    ip(&altname);
    assert!(refused("near0", "same0").contains("near0 and same0: the same interface twice"));
}

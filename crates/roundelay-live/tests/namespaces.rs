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
use std::time::{Duration, Instant};

use roundelay_live::world::{FAR, MIDDLE, NEAR, Node, World, set_congestion_control};
use roundelay_live::{
    Change, Device as _, DeviceKind, Fidelity, Interface, PacketSocket, QueueText, Recording,
    Session, Settings, Slots, Way, log, offloads, replay,
};
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

/// Runs a test on every kind of device, in a world of its own each.
fn on_every_device(test: fn(DeviceKind, &Arc<World>)) {
    for kind in DeviceKind::ALL {
        let Some(world) = world() else { return };
        println!("{}:", kind.name());
        test(kind, &world);
    }
}

/// A session in the middle, if this system has such devices.
pub(crate) fn open(kind: DeviceKind, settings: &Settings) -> Option<Session> {
    match Session::open_as(kind, settings, MIDDLE) {
        Ok(session) => Some(session),
        Err(error) => {
            let told = error.to_string();
            let may_lack = ["run as root", "built without AF_XDP"];
            let lacks = may_lack.iter().any(|reason| told.contains(reason));
            assert!(kind != DeviceKind::Packet && lacks, "{told}");
            println!("not run: {told}");
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
            far.enter(Node::Far).expect("a node");
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
            near.enter(Node::Near).expect("a node");
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
        world.enter(Node::Near).expect("a node");
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
    on_every_device(tcp_and_udp_pass);
}

fn tcp_and_udp_pass(kind: DeviceKind, world: &Arc<World>) {
    let mut settings = settings("20mbit", "fifo limit 50");
    settings.down.loss = 10_000_000;
    settings.up.jitter = 1_000_000_000;
    let Some(mut session) = open(kind, &settings) else {
        return;
    };
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
    let counts = transfers(world, 3);
    datagrams(world, Duration::from_millis(5));
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
pub(crate) fn ip(words: &[&str]) {
    let status = Command::new("ip").args(words).status();
    assert!(status.expect("ip runs").success(), "{words:?}");
}

#[test]
fn an_interface_that_goes_down_or_vanishes_is_told() {
    on_every_device(goes_down_and_vanishes);
}

fn goes_down_and_vanishes(kind: DeviceKind, world: &Arc<World>) {
    let Some(mut session) = open(kind, &settings("20mbit", "fifo")) else {
        return;
    };
    let record = file("vanishes");
    session.record(&record).expect("a file");
    datagrams(world, Duration::from_millis(2));
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
        world.enter(Node::Near).expect("a node");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        loop {
            _ = socket.send_to(&[0; 3000], (FAR, 9));
            thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn frames_that_no_longer_fit_are_counted_and_told() {
    on_every_device(no_longer_fit);
}

fn no_longer_fit(kind: DeviceKind, world: &Arc<World>) {
    let Some(mut session) = open(kind, &settings("20mbit", "fifo")) else {
        return;
    };
    let record = file("mtu");
    session.record(&record).expect("a file");
    let counts = transfers(world, 1);
    long_datagrams(world);
    let mut received = [0; 2];
    run(&mut session, &[0.4, 0.7, 1.2, 2.2], |hour| {
        let set = |name: &str, mtu: &str| ip(&["link", "set", "dev", name, "mtu", mtu]);
        match hour {
            0 => set(MIDDLE[1], "1000"),
            1 => set(MIDDLE[1], "1500"),
            2 => {
                set(MIDDLE[0], "4000");
                let mut command = Command::new("ip");
                command.args(["link", "set", "dev", "eth0", "mtu", "4000"]);
                let child = world.start(Node::Near, &mut command);
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
    assert!(up.lost_outside.too_long > 0, "{text}");
    assert!(received[1] > received[0], "it goes on: {received:?}");
    assert!(text.contains("refused by the interface at the other end"));
    assert!(text.contains("longer than the interface's packets"));
    holds(&fidelity, &record);
}

/// Regression: a frame longer than the rooms that `AF_XDP` had when it was opened was offered again
/// and again after the MTU was raised, and held all others up for good.
#[test]
fn a_frame_that_an_interface_has_no_room_for_holds_nothing_up() {
    on_every_device(has_no_room);
}

fn has_no_room(kind: DeviceKind, world: &Arc<World>) {
    let set = |node: Node, name: &str, mtu: &str| {
        let mut command = Command::new("ip");
        command.args(["link", "set", "dev", name, "mtu", mtu]);
        let child = world.start(node, &mut command);
        let status = child.expect("ip runs").wait();
        assert!(status.expect("ip ends").success());
    };
    // Frames of the far end find room when they come in, but not where they go out.
    set(Node::Middle, MIDDLE[1], "3000");
    set(Node::Far, "eth0", "3000");
    set(Node::Near, "eth0", "3000");
    let Some(mut session) = open(kind, &settings("100mbit", "fifo")) else {
        return;
    };
    let record = file("room");
    session.record(&record).expect("a file");
    let far = Arc::clone(world);
    thread::spawn(move || {
        far.enter(Node::Far).expect("a node");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        let mut number = 0;
        loop {
            let len = if number % 8 == 0 { 2400 } else { 100 };
            _ = socket.send_to(&vec![0; len], (NEAR, 9));
            number += 1;
            thread::sleep(Duration::from_millis(2));
        }
    });
    run(&mut session, &[0.3, 1.0], |hour| {
        if hour == 0 {
            set(Node::Middle, MIDDLE[0], "3000");
        }
    });
    let fidelity = session.finish().expect("a whole record");
    let text = fidelity.text();
    let down = &fidelity.ways[1].books;
    // Before the MTU was raised, both refuse the long frames.
    assert!(down.refused > 0, "{text}");
    assert!(down.delivered > 100, "it goes on: {text}");
    assert!(down.on_the_way < 20, "none is stuck: {text}");
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

/// The frame of a number: lengths vary, and every fourth has a VLAN tag in it.
fn numbered(number: u32) -> Vec<u8> {
    // For all stations, from a local address.
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1]);
    let is_tagged = number.is_multiple_of(4);
    if is_tagged {
        frame.extend([0x81, 0, 0x20, 7]);
    }
    // The second EtherType for local experiments.
    frame.extend([0x88, 0xb6]);
    frame.extend(number.to_be_bytes());
    let len = (60 + number as usize * 37 % 1455).max(frame.len());
    frame.resize(len, number as u8);
    frame
}

/// Runs a thread at a node.
fn at<T: Send + 'static>(
    world: &Arc<World>,
    node: Node,
    body: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let world = Arc::clone(world);
    thread::spawn(move || {
        world.enter(node).expect("a node");
        body()
    })
}

/// Sends frames out at an interface; all must come in at another, as they were and in order.
fn pass(
    session: &mut Session,
    world: &Arc<World>,
    from: (Node, &'static str),
    to: (Node, &'static str),
) {
    const FRAMES: u32 = 2000;
    let (tell, is_open) = std::sync::mpsc::channel();
    let receives = at(world, to.0, move || {
        let mut socket = PacketSocket::open(to.1).expect("an interface");
        let mut slots = Slots::new(64, 2048);
        tell.send(()).expect("somebody waits");
        let (mut frames, end) = (Vec::new(), Instant::now() + Duration::from_secs(60));
        while frames.len() < FRAMES as usize && Instant::now() < end {
            let mut received = Vec::new();
            socket.receive(&mut slots, &mut received).expect("it is up");
            for came in received {
                let frame = slots.frame(came.slot).to_vec();
                let kind_at = if frame[12..14] == [0x81, 0] { 16 } else { 12 };
                if frame[kind_at..kind_at + 2] == [0x88, 0xb6] {
                    frames.push(frame);
                }
                slots.release(came.slot);
            }
        }
        frames
    });
    is_open.recv().expect("it is open");
    let sends = at(world, from.0, move || {
        let mut socket = PacketSocket::open(from.1).expect("an interface");
        for number in 0..FRAMES {
            let frame = numbered(number);
            while socket.send(&[&frame]).expect("it is up") == 0 {}
            thread::sleep(Duration::from_micros(50));
        }
    });
    session.run(|_| Ok(!receives.is_finished())).expect("a run");
    sends.join().expect("it sends");
    let frames = receives.join().expect("it receives");
    let text = session.fidelity().text();
    assert_eq!(frames.len(), FRAMES as usize, "{text}");
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!(*frame, numbered(number as u32), "frame {number}");
    }
}

#[test]
fn frames_leave_in_order_and_as_they_came() {
    on_every_device(leave_as_they_came);
}

fn leave_as_they_came(kind: DeviceKind, world: &Arc<World>) {
    let Some(mut session) = open(kind, &settings("1gbit", "fifo limit 4000")) else {
        return;
    };
    pass(
        &mut session,
        world,
        (Node::Near, "eth0"),
        (Node::Far, "eth0"),
    );
    let fidelity = session.finish().expect("no record");
    assert!(fidelity.ways[0].books.balance(), "{}", fidelity.text());
}

#[test]
fn checksums_left_to_hardware_are_seen_by_every_device() {
    on_every_device(checksums_are_seen);
}

fn checksums_are_seen(kind: DeviceKind, world: &Arc<World>) {
    let turned_on = at(world, Node::Near, || {
        let note = "{\"interface\":\"eth0\",\"on\":[\"tx\"]}";
        let before: offloads::Before = serde_json::from_str(note).expect("a note");
        before.restore().expect("an interface of ours");
    });
    turned_on.join().expect("it is on");
    let Some(mut session) = open(kind, &settings("20mbit", "fifo")) else {
        return;
    };
    datagrams(world, Duration::from_millis(2));
    run(&mut session, &[0.4], |_| ());
    let fidelity = session.finish().expect("no record");
    assert!(
        fidelity.unfinished[0] > 0 && fidelity.unfinished[1] == 0,
        "{}",
        fidelity.text()
    );
}

#[test]
fn a_link_without_a_carrier_is_told() {
    on_every_device(without_a_carrier);
}

fn without_a_carrier(kind: DeviceKind, world: &Arc<World>) {
    let Some(mut session) = open(kind, &settings("20mbit", "fifo")) else {
        return;
    };
    let record = file("carrier");
    session.record(&record).expect("a file");
    datagrams(world, Duration::from_millis(2));
    let set = |state: &str| {
        let mut command = Command::new("ip");
        command.args(["link", "set", "dev", "eth0", state]);
        let child = world.start(Node::Far, &mut command);
        let status = child.expect("ip runs").wait();
        assert!(status.expect("ip ends").success());
    };
    run(&mut session, &[0.3, 0.6, 0.9], |hour| match hour {
        0 => set("down"),
        1 => set("up"),
        _ => (),
    });
    let fidelity = session.finish().expect("a whole record");
    let text = fidelity.text();
    let up = &fidelity.ways[0];
    // A packet socket keeps its frames, and offers them again.
    assert_eq!(
        up.lost_outside.unsent > 0,
        kind == DeviceKind::Xdp,
        "{text}"
    );
    assert!(!fidelity.verdict.is_valid, "{text}");
    assert!(up.books.delivered > 50, "it goes on: {text}");
    holds(&fidelity, &record);
}

#[test]
fn a_link_that_never_has_a_carrier_again_makes_no_run_valid() {
    let Some(world) = world() else { return };
    let mut session = Session::open(&settings("20mbit", "fifo"), MIDDLE).expect("interfaces");
    let record = file("no-carrier");
    session.record(&record).expect("a file");
    datagrams(&world, Duration::from_millis(2));
    run(&mut session, &[0.1, 1.0], |hour| {
        if hour == 0 {
            let mut command = Command::new("ip");
            command.args(["link", "set", "dev", "eth0", "down"]);
            let child = world.start(Node::Far, &mut command);
            let status = child.expect("ip runs").wait();
            assert!(status.expect("ip ends").success());
        }
    });
    let fidelity = session.finish().expect("a whole record");
    let told = fidelity.verdict.text();
    assert!(
        told.contains("due, and the interface at the other end did not take them"),
        "{told}"
    );
    holds(&fidelity, &record);
}

/// A session between a TAP interface and the far end, if this system has TAP.
fn open_tap(settings: &Settings) -> Option<Session> {
    let (home, is_ours) = match Interface::tap("tap:home") {
        Ok(tap) => tap.expect("a TAP interface"),
        Err(error) => {
            assert!(
                error.to_string().contains("expected Linux with TUN"),
                "{error}"
            );
            println!("not run: {error}");
            return None;
        }
    };
    assert!(is_ours);
    let far = Interface::open(DeviceKind::Packet, MIDDLE[1]).expect("an interface");
    Some(Session::between(settings, [home, far]).expect("two interfaces"))
}

#[test]
fn a_tap_interface_is_an_end_of_the_bottleneck_both_ways() {
    let Some(world) = world() else { return };
    assert!(Interface::tap("home").expect("no TAP interface").is_none());
    let Some(mut session) = open_tap(&settings("1gbit", "fifo limit 4000")) else {
        return;
    };
    let record = file("tap");
    session.record(&record).expect("a file");
    let home = (Node::Middle, "home");
    let far = (Node::Far, "eth0");
    pass(&mut session, &world, home, far);
    pass(&mut session, &world, far, home);
    let fidelity = session.finish().expect("a whole record");
    assert_eq!(
        fidelity.ways[0].lost_outside.total(),
        0,
        "{}",
        fidelity.text()
    );
    holds(&fidelity, &record);
    let gone = Command::new("ip")
        .args(["link", "show", "dev", "home"])
        .output();
    let gone = gone.expect("ip runs");
    assert!(!gone.status.success(), "it vanishes with its session");
    let refused = |name: &str| {
        let error = Interface::tap(name).expect_err("refused");
        error.to_string()
    };
    let two = Interface::tap("tap:two").expect("a TAP interface");
    assert!(refused("tap:two").contains("another program has its other end"));
    drop(two);
    assert!(refused("tap:far0").contains("expected the name of a TAP interface"));
    assert!(refused("tap:").contains("15 bytes at most"));
    assert!(refused("tap:a-name-that-is-too-long").contains("15 bytes at most"));
}

#[test]
fn a_loop_over_a_tap_interface_is_refused() {
    let Some(_world) = world() else { return };
    ip(&[
        "link", "add", "name", "b0", "type", "veth", "peer", "name", "b1",
    ]);
    for name in ["b0", "b1"] {
        ip(&["link", "set", "dev", name, "up"]);
    }
    let tap = Command::new("ip")
        .args(["tuntap", "add", "dev", "home", "mode", "tap"])
        .status();
    let bridge = Command::new("ip")
        .args(["link", "add", "name", "br0", "type", "bridge"])
        .status();
    for made in [tap, bridge] {
        if !made.is_ok_and(|status| status.success()) {
            println!("not run: this system has no TAP, or no bridge");
            return;
        }
    }
    ip(&["link", "set", "dev", "home", "up"]);
    ip(&["link", "set", "dev", "br0", "up"]);
    let (mut home, _) = Interface::tap("tap:home").expect("TAP").expect("a TAP");
    let mut check = || {
        Session::check_with(["home", "b0"], [Some(&mut home), None])
            .map_err(|error| error.to_string())
    };
    check().expect("no loop before the bridge has both");
    ip(&["link", "set", "dev", "home", "master", "br0"]);
    ip(&["link", "set", "dev", "b1", "master", "br0"]);
    let told = check().expect_err("a loop");
    assert!(told.contains("home and b0: a loop"), "{told}");
    let told = Session::check_with(["b0", "home"], [None, Some(&mut home)]);
    assert!(told.expect_err("a loop").to_string().contains("a loop"));
}

/// Runs a second in which the driver stands still for 40 ms again and again, as on a machine that
/// gives it no time.
fn run_without_time(session: &mut Session) {
    session
        .run(|running| {
            thread::sleep(Duration::from_millis(40));
            Ok(running.seconds() < 1.0)
        })
        .expect("a run");
}

#[test]
fn a_driver_that_gets_no_time_says_that_its_frames_are_late() {
    on_every_device(|kind, world| {
        let Some(mut session) = open(kind, &settings("20mbit", "fifo")) else {
            return;
        };
        datagrams(world, Duration::from_millis(2));
        session.use_real_time();
        run_without_time(&mut session);
        let fidelity = session.finish().expect("no record");
        let told = fidelity.verdict.text();
        assert!(told.contains("frames left late"), "{}", fidelity.text());
    });
}

#[test]
fn a_driver_that_gets_no_time_says_that_frames_of_a_tap_interface_may_have_come_earlier() {
    let Some(_world) = world() else { return };
    let Some(mut session) = open_tap(&settings("20mbit", "fifo")) else {
        return;
    };
    let sender = PacketSocket::open("home").expect("an interface");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let sends = thread::spawn(move || {
        let mut sender = sender;
        let pause = Duration::from_millis(2);
        while stopped.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            _ = sender.send(&[&numbered(1)]);
        }
    });
    session.use_real_time();
    run_without_time(&mut session);
    drop(stop);
    sends.join().expect("it ends");
    let fidelity = session.finish().expect("no record");
    let told = fidelity.verdict.text();
    assert!(
        told.contains("these frames carry no stamp"),
        "{}",
        fidelity.text()
    );
}

#[test]
fn a_tap_interface_that_was_there_before_stays() {
    let Some(_world) = world() else { return };
    let made = Command::new("ip")
        .args(["tuntap", "add", "dev", "stays", "mode", "tap"])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        println!("not run: no TAP interfaces here");
        return;
    }
    let (tap, is_ours) = Interface::tap("tap:stays")
        .expect("opened")
        .expect("a TAP interface");
    assert!(!is_ours && tap.name() == "stays");
    drop(tap);
    ip(&["link", "show", "dev", "stays"]);
}

#[test]
fn faults_of_a_tap_interface_are_counted_and_told() {
    let Some(world) = world() else { return };
    let Some(mut session) = open_tap(&settings("1gbit", "fifo limit 20000")) else {
        return;
    };
    let record = file("tap-faults");
    session.record(&record).expect("a file");
    // More at once than wait for the other end to read them.
    let sends = at(&world, Node::Middle, || {
        let mut socket = PacketSocket::open("home").expect("an interface");
        for number in 0..10_000 {
            // A frame that finds no room is lost, and counted.
            _ = socket.send(&[&numbered(number)]);
        }
    });
    sends.join().expect("it sends");
    let down = at(&world, Node::Far, || {
        let mut socket = PacketSocket::open("eth0").expect("an interface");
        loop {
            _ = socket.send(&[&numbered(1)]);
            thread::sleep(Duration::from_millis(2));
        }
    });
    run(&mut session, &[0.4, 0.6, 0.8, 60.0], |hour| match hour {
        0 => ip(&["link", "set", "dev", "home", "down"]),
        1 => ip(&["link", "set", "dev", "home", "up"]),
        2 => ip(&["link", "del", "dev", "home"]),
        _ => (),
    });
    assert!(!down.is_finished());
    let fidelity = session.finish().expect("a whole record");
    let text = fidelity.text();
    let [up, down] = &fidelity.ways;
    // IPv6 and its like may send a frame of their own.
    assert!(
        up.lost_outside.ring > 1_000 && up.books.arrived + up.lost_outside.ring >= 10_000,
        "{text}"
    );
    assert!(down.books.refused > 0 && down.books.delivered > 0, "{text}");
    assert_eq!(fidelity.gone, [true, false], "{text}");
    assert!(
        fidelity.seconds < 60.0 && !fidelity.verdict.is_valid,
        "{text}"
    );
    holds(&fidelity, &record);
}

#[test]
fn a_tap_interface_in_another_namespace_works_and_makes_no_run_valid() {
    let Some(world) = world() else { return };
    let Some(mut session) = open_tap(&settings("1gbit", "fifo limit 4000")) else {
        return;
    };
    // A process of the near end, whose namespace the interface moves to.
    let mut sleep = Command::new("sleep");
    let mut there = world.start(Node::Near, sleep.arg("600")).expect("it runs");
    ip(&[
        "link",
        "set",
        "dev",
        "home",
        "netns",
        &there.id().to_string(),
    ]);
    let up = ["link", "set", "dev", "home", "up"];
    let mut command = Command::new("ip");
    let child = world.start(Node::Near, command.args(up));
    assert!(child.expect("ip runs").wait().expect("ip ends").success());
    pass(
        &mut session,
        &world,
        (Node::Near, "home"),
        (Node::Far, "eth0"),
    );
    let fidelity = session.finish().expect("no record");
    assert!(
        fidelity.verdict.text().contains("in another namespace"),
        "{}",
        fidelity.text()
    );
    _ = there.kill();
    _ = there.wait();
}

#[test]
fn what_af_xdp_cannot_do_is_refused_with_what_to_do() {
    let Some(_world) = world() else { return };
    let Some(first) = open(DeviceKind::Xdp, &settings("20mbit", "fifo")) else {
        return;
    };
    let refused = || {
        let session = Session::open_as(DeviceKind::Xdp, &settings("1mbit", "fifo"), MIDDLE);
        session.err().expect("refused").to_string()
    };
    let told = refused();
    assert!(
        told.contains("another program has a socket of AF_XDP"),
        "{told}"
    );
    assert!(told.contains("or use --device packet"), "{told}");
    drop(first);
    ip(&["link", "set", "dev", MIDDLE[0], "mtu", "9000"]);
    let told = refused();
    assert!(
        told.contains("near0: MTU 9000 is too long for AF_XDP; expected 3818 at most"),
        "{told}"
    );
    // The longest that is legal.
    for name in MIDDLE {
        ip(&["link", "set", "dev", name, "mtu", "3818"]);
    }
    assert!(open(DeviceKind::Xdp, &settings("20mbit", "fifo")).is_some());
    // Two receive queues, where the kernel can make such an interface.
    let two = [
        "link",
        "add",
        "name",
        "two0",
        "numrxqueues",
        "2",
        "numtxqueues",
        "2",
    ];
    let mut command = Command::new("ip");
    command
        .args(two)
        .args(["type", "veth", "peer", "name", "two1"]);
    let made = command.status().is_ok_and(|status| status.success());
    ip(&["link", "set", "dev", "two0", "up"]);
    let set = Command::new("ethtool")
        .args(["-L", "two0", "rx", "2", "tx", "2"])
        .status();
    if made && set.is_ok_and(|status| status.success()) {
        let error = Interface::open(DeviceKind::Xdp, "two0").expect_err("refused");
        let told = error.to_string();
        assert!(
            told.contains("2 receive queues") && told.contains("ethtool -L two0"),
            "{told}"
        );
    } else {
        println!("two receive queues not tried: no ethtool here");
    }
}

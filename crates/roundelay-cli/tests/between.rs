//! `roundelay live --between` on a real pair of interfaces: two veth pairs, with a host in a namespace
//! of its own at either end. Needs root; a reason is printed where that is not so.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use roundelay_live::offloads::Before;
use roundelay_live::world::{FAR, MIDDLE, NEAR, Node, World};
use roundelay_live::{Device as _, PacketSocket, Slots};
use serde_json::Value;

use crate::live::{
    Ended, NOBODY, balances, capabilities, command, folder, idle, into_output, retried, run, text,
};
use crate::pty::Pty;

/// The right to set interfaces, of linux/capability.h.
const NET_ADMIN: u64 = 1 << 12;

/// Runs a test in the middle of a world, in a thread of its own, which stays in its namespace.
fn in_the_middle(test: fn(&Arc<World>)) {
    let thread = thread::spawn(move || {
        if !roundelay_live::world::is_root() {
            println!("not run: needs root");
            return;
        }
        let world = match World::build() {
            Ok(world) => Arc::new(world),
            Err(error) => {
                println!("not run: {error}");
                return;
            }
        };
        // As on a card of one's own: everything is on.
        for interface in MIDDLE {
            let all = format!("{{\"interface\":\"{interface}\",\"on\":[\"tx\",\"tso\",\"gso\"]}}");
            let all: Before = serde_json::from_str(&all).expect("a note");
            all.restore().expect("an interface of ours");
            assert_eq!(on(interface), ["tx", "tso", "gso"]);
        }
        test(&world);
    });
    if let Err(error) = thread.join() {
        std::panic::resume_unwind(error);
    }
}

/// The offloads that are on.
fn on(interface: &str) -> Vec<String> {
    let now = Before::of(interface).expect("an interface");
    let known = |name: &&String| ["tx", "tso", "gso"].contains(&name.as_str());
    now.on().iter().filter(known).cloned().collect()
}

/// A session between the interfaces of the middle.
struct Between<'a> {
    folder: &'a Path,
    name: String,
    process: Ended,
}

impl<'a> Between<'a> {
    /// Starts a session, and waits until it takes changes.
    fn start(folder: &'a Path, name: &str, more: &[&str]) -> Self {
        Self::start_at(folder, name, MIDDLE, more)
    }

    /// The same between other ends.
    fn start_at(folder: &'a Path, name: &str, [near, far]: [&str; 2], more: &[&str]) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let mut arguments = vec!["live", "--between", near, far, "--rate", "20mbit", "--json"];
        arguments.extend(["--name", &name]);
        arguments.extend(more);
        let mut start = command(folder, None, &arguments);
        start.stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = Ended(retried(|| start.spawn()));
        let mut session = Self {
            folder,
            name,
            process,
        };
        let end = Instant::now() + Duration::from_secs(60);
        while !session.set(&["rate", "10mbit"]).status.success() {
            if let Ok(Some(_)) = session.process.0.try_wait() {
                panic!("{}", text(&session.wait().stderr));
            }
            assert!(Instant::now() < end, "the session takes changes");
            thread::sleep(Duration::from_millis(50));
        }
        session
    }

    fn set(&self, settings: &[&str]) -> Output {
        let mut arguments = vec!["live", "set", "--name", &self.name];
        arguments.extend(settings);
        run(self.folder, None, &arguments)
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.0.id().to_string();
        let kill = Command::new("kill").args([signal, &pid]).status();
        assert!(kill.expect("kill runs").success());
    }

    fn wait(self) -> Output {
        let Self { mut process, .. } = self;
        into_output(std::mem::replace(&mut process, Ended(idle())))
    }

    /// Ends the session in order: its verdict.
    fn end(self) -> Value {
        self.signal("-TERM");
        let output = self.wait();
        assert!(output.status.success(), "{}", text(&output.stderr));
        verdict(&output)
    }
}

/// The verdict at the end of the output.
fn verdict(output: &Output) -> Value {
    let lines = text(&output.stdout);
    let last = lines.lines().last().expect("a verdict");
    let verdict: Value = serde_json::from_str(last).expect("JSON");
    balances(&verdict);
    verdict
}

/// The record replays to the packet, and has no fault.
fn replays(folder: &Path, record: &str) -> String {
    let compared = run(folder, None, &["compare", record]);
    let replay = text(&compared.stdout);
    assert!(compared.status.success(), "{replay}");
    assert_eq!(
        replay.matches("all the same in the replay").count(),
        2,
        "{replay}"
    );
    let verified = run(folder, None, &["verify", record]);
    assert!(verified.status.success(), "{}", text(&verified.stderr));
    replay
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// An echo request in a frame for all stations (RFC 792).
fn echo_request(from: &str, to: &str, number: u8) -> Vec<u8> {
    let address = |text: &str| {
        let address: std::net::Ipv4Addr = text.parse().expect("an address");
        address.octets()
    };
    let mut icmp = vec![8, 0, 0, 0, 0x52, 0x4c, 0, number];
    icmp.extend([7; 56]);
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum);
    let mut ip = vec![
        0x45,
        0,
        0,
        20 + icmp.len() as u8,
        0,
        number,
        0,
        0,
        64,
        1,
        0,
        0,
    ];
    ip.extend(address(from));
    ip.extend(address(to));
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 8, 0]);
    frame.extend(ip);
    frame.extend(icmp);
    frame
}

/// Whether the other host answers an echo request from here.
fn answers(world: &Arc<World>, node: Node, from: &'static str, to: &'static str) -> bool {
    let world = Arc::clone(world);
    let thread = thread::spawn(move || {
        world.enter(node).expect("a node");
        let mut socket = PacketSocket::open("eth0").expect("an interface");
        let mut slots = Slots::new(64, 2048);
        // The first one may be lost to the search for the address.
        for number in 0..20 {
            let frame = echo_request(from, to, number);
            socket.send(&[&frame]).expect("an interface that is up");
            let end = Instant::now() + Duration::from_millis(500);
            while Instant::now() < end {
                let mut received = Vec::new();
                socket.receive(&mut slots, &mut received).expect("it is up");
                for came in received {
                    let frame = slots.frame(came.slot);
                    // An echo reply of ours.
                    let is_reply = frame.len() > 42
                        && frame[12..14] == [8, 0]
                        && frame[23] == 1
                        && frame[34] == 0
                        && frame[38..40] == [0x52, 0x4c];
                    if is_reply {
                        return true;
                    }
                    slots.release(came.slot);
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        false
    });
    thread.join().expect("an answer or none")
}

/// Sends bytes from one host to the other; all must arrive, as they were.
fn transfer(world: &Arc<World>, from: Node, to: (Node, &'static str), port: u16) {
    const BYTES: usize = 400_000;
    let byte = |number: usize| (number * 31 % 251) as u8;
    let (receiver, sender) = (Arc::clone(world), Arc::clone(world));
    let (tell, listens) = std::sync::mpsc::channel();
    let (node, address) = to;
    let receives = thread::spawn(move || {
        receiver.enter(node).expect("a node");
        let listener = TcpListener::bind((address, port)).expect("a free port");
        tell.send(()).expect("somebody waits");
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("all of it");
        bytes
    });
    listens.recv().expect("it listens");
    let sends = thread::spawn(move || {
        sender.enter(from).expect("a node");
        let mut stream = TcpStream::connect((address, port)).expect("the other end listens");
        let bytes: Vec<u8> = (0..BYTES).map(byte).collect();
        stream.write_all(&bytes).expect("a connection");
    });
    sends.join().expect("it sends");
    let bytes = receives.join().expect("it receives");
    let expected: Vec<u8> = (0..BYTES).map(byte).collect();
    assert!(
        bytes == expected,
        "{} of {BYTES} bytes, or others",
        bytes.len()
    );
}

#[test]
fn ping_and_tcp_pass_both_ways_with_changes_and_the_record_replays() {
    in_the_middle(|world| {
        let folder = folder("between");
        let session = Between::start(&folder, "pair", &["--record", "pair.pcapng", "fq_codel"]);
        for interface in MIDDLE {
            assert_eq!(on(interface), [""; 0], "{interface}: a queue sees packets");
        }
        // Each thread with its own: the one that writes the record has none.
        assert_eq!(capabilities(session.process.0.id()), [0, NET_ADMIN]);
        assert!(
            answers(world, Node::Near, NEAR, FAR),
            "ping to the far host"
        );
        assert!(
            answers(world, Node::Far, FAR, NEAR),
            "ping to the near host"
        );
        transfer(world, Node::Near, (Node::Far, FAR), 7001);
        transfer(world, Node::Far, (Node::Near, NEAR), 7002);
        // A change in the middle of a transfer each way.
        let (up, down) = (Arc::clone(world), Arc::clone(world));
        let transfers = [
            thread::spawn(move || transfer(&up, Node::Near, (Node::Far, FAR), 7003)),
            thread::spawn(move || transfer(&down, Node::Far, (Node::Near, NEAR), 7004)),
        ];
        thread::sleep(Duration::from_millis(100));
        let set = session.set(&["rate", "8mbit", "queue", "drr limit 200"]);
        let expected = "up: rate 8mbit\ndown: rate 8mbit\nup: queue drr limit 200\ndown: queue drr limit 200\n";
        assert_eq!(text(&set.stdout), expected, "{}", text(&set.stderr));
        for transfer in transfers {
            transfer.join().expect("it ends");
        }
        let verdict = session.end();
        // Senders who know the seed could choose flows that collide.
        let record = fs::read(folder.join("pair.pcapng")).expect("a record");
        let record = String::from_utf8_lossy(&record);
        assert!(record.contains("\"seed\":") && !record.contains("\"seed\":1,"));
        for way in verdict["ways"].as_array().expect("both directions") {
            assert_eq!(way["queue"], "drr limit 200");
            assert_eq!(way["rate"], 8_000_000);
            assert!(
                way["books"]["delivered_bytes"].as_u64() > Some(800_000),
                "{way}"
            );
            assert_eq!(way["books"]["changes"], 3, "{way}");
        }
        for interface in MIDDLE {
            assert_eq!(on(interface), ["tx", "tso", "gso"], "as it was");
        }
        let replay = replays(&folder, "pair.pcapng");
        assert_eq!(
            replay.matches("3 changes on the way").count(),
            2,
            "{replay}"
        );
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn whoever_may_not_open_interfaces_is_told_to_be_root() {
    in_the_middle(|_| {
        let folder = folder("not-root");
        let [near, far] = MIDDLE;
        for ends in [[near, far], ["tap:mine", far]] {
            let mut arguments = vec!["live", "--rate", "1mbit", "--between"];
            arguments.extend(ends);
            let output = run(&folder, Some(NOBODY), &arguments);
            let told = text(&output.stderr);
            assert!(!output.status.success(), "{told}");
            assert!(told.contains("run as root"), "{told}");
            assert!(told.contains(ends[0]), "{told}");
        }
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn offloads_are_restored_after_sigkill_and_only_then() {
    in_the_middle(|_| {
        let folder = folder("restore");
        let restore = || text(&run(&folder, None, &["live", "--restore"]).stdout);
        let told_of_both = |told: &str, what: &str| {
            for name in MIDDLE {
                assert!(told.contains(&format!("{name}: {what}")), "{told}");
            }
        };
        let session = Between::start(&folder, "killed", &[]);
        // A run that lives keeps its interfaces to itself, in any order.
        let [near, far] = MIDDLE;
        for [first, second] in [[near, far], [far, near]] {
            let second = ["live", "--between", first, second, "--rate", "1mbit"];
            let second = text(&run(&folder, None, &second).stderr);
            let expected = format!("{first}: another run uses this interface");
            assert!(second.contains(&expected), "{second}");
        }
        told_of_both(&restore(), "left alone, because a run uses it");
        assert_eq!(on(near), [""; 0]);
        session.signal("-KILL");
        assert!(!session.wait().status.success());
        assert_eq!(on(near), [""; 0], "nobody has restored them yet");
        told_of_both(&restore(), "offloads restored");
        for interface in MIDDLE {
            assert_eq!(on(interface), ["tx", "tso", "gso"]);
        }
        assert!(!restore().contains(&format!("{near}: offloads restored")));
        // Without --restore, the next run does it.
        let session = Between::start(&folder, "killed", &[]);
        session.signal("-KILL");
        session.wait();
        Between::start(&folder, "killed", &[]).end();
        for interface in MIDDLE {
            assert_eq!(on(interface), ["tx", "tso", "gso"]);
        }
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn notes_of_another_namespace_are_left_alone() {
    in_the_middle(|_| {
        let folder = folder("elsewhere");
        let session = Between::start(&folder, "elsewhere", &[]);
        session.signal("-KILL");
        session.wait();
        // Interfaces of the same names, in another namespace.
        let elsewhere = folder.clone();
        let thread = thread::spawn(move || {
            let _world = World::build().expect("a second world");
            text(&run(&elsewhere, None, &["live", "--restore"]).stdout)
        });
        let told = thread.join().expect("it runs");
        let near = MIDDLE[0];
        let expected = format!("{near}: left alone, because it is in another network");
        assert!(told.contains(&expected), "{told}");
        assert_eq!(on(MIDDLE[0]), [""; 0]);
        let told = text(&run(&folder, None, &["live", "--restore"]).stdout);
        let expected = format!("{near}: offloads restored");
        assert!(told.contains(&expected), "{told}");
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

/// Waits until a process has a network namespace of its own.
fn wait_for_namespace(process: &str) {
    let of = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).expect("a namespace");
    let end = Instant::now() + Duration::from_secs(30);
    while of(process) == of("self") || of(process) == of("thread-self") {
        assert!(Instant::now() < end, "it has no namespace of its own");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn offloads_are_restored_under_another_name_and_a_note_stays_until_then() {
    in_the_middle(|_| {
        let folder = folder("renamed");
        let session = Between::start(&folder, "renamed", &[]);
        session.signal("-KILL");
        session.wait();
        let ip = |words: &[&str]| {
            let status = Command::new("ip").args(words).status();
            assert!(status.expect("ip runs").success(), "{words:?}");
        };
        let restore = || run(&folder, None, &["live", "--restore"]);
        let [near, far] = MIDDLE;
        ip(&["link", "set", "dev", near, "down"]);
        ip(&["link", "set", "dev", near, "name", "other0"]);
        // The other interface leaves for another namespace, which ends with its process.
        let mut holder = Command::new("unshare")
            .args(["--net", "sleep", "60"])
            .spawn()
            .expect("unshare runs");
        let process = holder.id().to_string();
        wait_for_namespace(&process);
        ip(&["link", "set", "dev", far, "netns", &process]);
        let output = restore();
        let told = text(&output.stdout);
        assert!(
            told.contains(&format!("{near}: offloads restored")),
            "{told}"
        );
        assert_eq!(on("other0"), ["tx", "tso", "gso"]);
        assert!(told.contains(&format!("{far}: No such device")), "{told}");
        assert_eq!(output.status.code(), Some(1), "{told}");
        // It comes back, and the note is still there.
        let back = [
            "-t", &process, "-n", "ip", "link", "set", "dev", far, "netns",
        ];
        // Namespaces are those of a thread.
        let here = fs::read_link("/proc/thread-self").expect("a thread");
        let here = here.file_name().expect("a number").to_owned();
        let status = Command::new("nsenter").args(back).arg(&here).status();
        assert!(status.expect("nsenter runs").success());
        let output = restore();
        let told = text(&output.stdout);
        assert!(
            told.contains(&format!("{far}: offloads restored")),
            "{told}"
        );
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert_eq!(on(far), ["tx", "tso", "gso"]);
        holder.kill().expect("it runs");
        holder.wait().expect("it ends");
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

/// Only `ethtool` there can turn on what was on before.
#[test]
fn offloads_that_stay_off_in_another_namespace_are_told() {
    in_the_middle(|_| {
        let folder = folder("moved");
        let session = Between::start(&folder, "moved", &[]);
        let mut holder = Command::new("unshare")
            .args(["--net", "sleep", "60"])
            .spawn()
            .expect("unshare runs");
        let process = holder.id().to_string();
        wait_for_namespace(&process);
        let far = MIDDLE[1];
        let words = ["link", "set", "dev", far, "netns", &process];
        let moved = Command::new("ip").args(words).status();
        assert!(moved.expect("ip runs").success());
        let output = session.wait();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        let expected = format!(
            "{far}: not here any more. If it was moved to another network namespace, its offloads \
             are still off. There, ethtool -K {far} "
        );
        assert!(told.contains(&expected), "{told}");
        holder.kill().expect("it runs");
        holder.wait().expect("it ends");
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn a_run_ends_with_its_interface_and_its_record_is_whole() {
    in_the_middle(|world| {
        let folder = folder("vanishes");
        let session = Between::start(&folder, "vanishes", &["--record", "run.pcapng", "qfq"]);
        assert!(answers(world, Node::Near, NEAR, FAR));
        let ip = Command::new("ip")
            .args(["link", "del", "dev", MIDDLE[1]])
            .status();
        assert!(ip.expect("ip runs").success());
        let output = session.wait();
        assert_eq!(output.status.code(), Some(1));
        let message = text(&output.stderr);
        assert!(
            message.contains("far0: the interface does not exist any more"),
            "{message}"
        );
        let verdict = verdict(&output);
        assert_eq!(verdict["gone"], serde_json::json!([false, true]));
        assert_eq!(verdict["verdict"]["is_valid"], false);
        replays(&folder, "run.pcapng");
        assert_eq!(
            on(MIDDLE[0]),
            ["tx", "tso", "gso"],
            "the other one is as it was"
        );
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn af_xdp_passes_ping_and_tcp_both_ways_without_privileges_and_leaves_nothing() {
    in_the_middle(|world| {
        let folder = folder("between-xdp");
        let try_it = [
            "live",
            "--between",
            MIDDLE[0],
            MIDDLE[1],
            "--rate",
            "20mbit",
        ];
        let mut try_it = try_it.to_vec();
        try_it.extend(["--device", "xdp", "--duration", "10ms"]);
        let told = text(&run(&folder, None, &try_it).stderr);
        if told.contains("run as root") || told.contains("built without AF_XDP") {
            println!("not run: {told}");
            return;
        }
        let more = ["--device", "xdp", "--record", "run.pcapng", "fq_codel"];
        let session = Between::start(&folder, "xdp", &more);
        assert_eq!(capabilities(session.process.0.id()), [0, NET_ADMIN]);
        // Another program on the interface is told of the one that is there.
        let second = run(&folder, None, &try_it);
        assert!(!second.status.success());
        assert!(answers(world, Node::Near, NEAR, FAR));
        assert!(answers(world, Node::Far, FAR, NEAR));
        transfer(world, Node::Near, (Node::Far, FAR), 7001);
        transfer(world, Node::Far, (Node::Near, NEAR), 7002);
        let verdict = session.end();
        for way in verdict["ways"].as_array().expect("both directions") {
            assert!(way["books"]["delivered_bytes"].as_u64() > Some(400_000));
            assert_eq!(way["outside"]["ring"], 0, "{way}");
        }
        replays(&folder, "run.pcapng");
        // Killed, its program leaves the interface by itself.
        let session = Between::start(&folder, "xdp", &more);
        session.signal("-KILL");
        session.wait();
        Between::start(&folder, "xdp", &more).end();
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn a_tap_interface_is_there_as_long_as_its_session() {
    in_the_middle(|_| {
        let folder = folder("tap");
        let is_there = || {
            let show = Command::new("ip")
                .args(["link", "show", "dev", "home"])
                .output();
            show.expect("ip runs").status.success()
        };
        if !Path::new("/dev/net/tun").exists() {
            println!("not run: this system has no TUN");
            return;
        }
        let session = Between::start_at(&folder, "tap", ["tap:home", MIDDLE[1]], &[]);
        assert!(is_there());
        assert_eq!(on(MIDDLE[0]), ["tx", "tso", "gso"], "not ours");
        assert_eq!(on(MIDDLE[1]), [""; 0]);
        session.end();
        assert!(!is_there());
        assert_eq!(on(MIDDLE[1]), ["tx", "tso", "gso"], "as it was");
        let wrong = ["live", "--between", "tap:", MIDDLE[1], "--rate", "1mbit"];
        let told = text(&run(&folder, None, &wrong).stderr);
        assert!(
            told.contains("expected the name of a TAP interface"),
            "{told}"
        );
        let session = Between::start_at(&folder, "tap", ["tap:home", "tap:away"], &[]);
        assert!(is_there());
        session.end();
        let wrong = [
            "live",
            "--between",
            "lo",
            "lo",
            "--rate",
            "1mbit",
            "--device",
            "wire",
        ];
        let told = text(&run(&folder, None, &wrong).stderr);
        assert!(told.contains("packet, xdp"), "{told}");
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

#[test]
fn a_view_of_interfaces_changes_the_rate_by_key_and_gives_the_terminal_back() {
    in_the_middle(|_| {
        let folder = folder("between-view");
        let terminal = Pty::new();
        let [near, far] = MIDDLE;
        let arguments = ["live", "--between", near, far, "--rate", "20mbit", "--view"];
        let mut start = command(&folder, None, &arguments);
        terminal.connect(&mut start);
        let mut session = Ended(retried(|| start.spawn()));
        let is_over = || matches!(session.0.try_wait(), Ok(Some(_)));
        assert!(
            terminal.waits_for("backlog", is_over),
            "{}",
            terminal.shown()
        );
        terminal.press("-");
        assert!(terminal.waits_for("16mbit", || false));
        terminal.press("\u{3}");
        assert!(session.0.wait().expect("it ends").success());
        assert!(terminal.is_as_it_was());
        let report = " s, 16mbit under fifo";
        assert!(terminal.waits_for(report, || true), "{}", terminal.shown());
        fs::remove_dir_all(folder).expect("a folder of ours");
    });
}

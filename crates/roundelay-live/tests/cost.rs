//! What a packet costs when many come at once, for each device, beside the kernel's bridge with tbf in
//! the same run. Not part of the quick tests: it measures.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use roundelay_live::world::{MIDDLE, Node, World};
use roundelay_live::{Device as _, DeviceKind, PacketSocket, Way};

use crate::long::processor_time;
use crate::namespaces::{ip, open, settings, world};

const FLOWS: u16 = 1000;
/// Seconds before figures count, and of the figures.
const SETTLING: f64 = 1.0;
const LENGTH: f64 = 5.0;
/// More than any device forwards here.
const RATE: &str = "40gbit";

/// A datagram of a flow in a frame of `len` bytes, to a station that is not there: the far end drops
/// it at once, as does a bridge's.
fn frame(flow: u16, len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0];
    let ip = (len - 14) as u16;
    frame.extend([0x45, 0]);
    frame.extend(ip.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 9]);
    // The checksum of the header, which a bridge looks at (RFC 1071).
    let mut sum = 0_u32;
    for pair in frame[14..34].chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend((1024 + flow).to_be_bytes());
    frame.extend([0, 9]);
    // Without a checksum, which UDP over IPv4 need not have.
    frame.extend((ip - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(len, 0);
    frame
}

/// A sender's counts: frames, and nanoseconds of processor time.
#[derive(Default)]
struct Sent {
    frames: AtomicU64,
    processor: AtomicU64,
    stop: AtomicBool,
}

/// Sends frames of all flows in turn, as fast as it goes, until `stop`.
fn flood(world: &Arc<World>, len: usize) -> (Arc<Sent>, thread::JoinHandle<()>) {
    let sent = Arc::new(Sent::default());
    let world = Arc::clone(world);
    let counts = Arc::clone(&sent);
    let thread = thread::spawn(move || {
        world.enter(Node::Near).expect("a node");
        let mut socket = PacketSocket::open("eth0").expect("an interface");
        let frames: Vec<_> = (0..FLOWS).map(|flow| frame(flow, len)).collect();
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        while !counts.stop.load(Ordering::Relaxed) {
            for batch in frames.chunks(64) {
                let taken = socket.send(batch).unwrap_or(0);
                counts.frames.fetch_add(taken as u64, Ordering::Relaxed);
            }
            counts.processor.store(processor_time(), Ordering::Relaxed);
        }
    });
    (sent, thread)
}

fn print_row(name: &str, len: usize, [packets, lost, processor]: [f64; 3], seconds: f64) {
    println!(
        "| {name} | {len} bytes | {:.0} kpps | {:.2} us | {:.2} Gbit/s | {:.0} kpps |",
        packets / seconds / 1e3,
        processor / packets / 1e3,
        packets * len as f64 * 8.0 / seconds / 1e9,
        lost / seconds / 1e3
    );
}

/// Measures a device under drr.
fn measure(kind: DeviceKind, len: usize) {
    let Some(world) = world() else { return };
    let Some(mut session) = open(kind, &settings(RATE, "drr limit 10000")) else {
        return;
    };
    let (sent, sender) = flood(&world, len);
    session.use_real_time();
    let mut from = None;
    let mut to = (0.0, 0, 0);
    let run = session.run(|running| {
        let seconds = running.seconds();
        if seconds >= SETTLING {
            let books = running.bottleneck().books(Way::Up);
            to = (seconds, books.arrived, processor_time());
            from.get_or_insert(to);
        }
        Ok(seconds < SETTLING + LENGTH)
    });
    run.expect("a run");
    sent.stop.store(true, Ordering::Relaxed);
    sender.join().expect("it ends");
    let from = from.expect("a second");
    let fidelity = session.finish().expect("no record");
    let up = &fidelity.ways[0];
    assert!(up.books.balance(), "{}", fidelity.text());
    assert!(up.all_flows >= FLOWS.into(), "{}", fidelity.text());
    let figures = [
        (to.1 - from.1) as f64,
        // Of the whole run.
        up.lost_outside.total() as f64 * LENGTH / fidelity.seconds,
        (to.2 - from.2) as f64,
    ];
    print_row(kind.name(), len, figures, to.0 - from.0);
}

/// Frames that came in at the far end.
fn received(world: &Arc<World>) -> u64 {
    let mut command = Command::new("cat");
    command
        .arg("/proc/net/dev")
        .stdout(std::process::Stdio::piped());
    let child = world.start(Node::Far, &mut command).expect("cat runs");
    let output = child.wait_with_output().expect("it ends").stdout;
    let table = String::from_utf8_lossy(&output);
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix("eth0:"));
    let figure = line.and_then(|line| line.split_whitespace().nth(1));
    figure
        .and_then(|figure| figure.parse().ok())
        .expect("a figure")
}

/// Sends a flood for a while: seconds, frames sent, the sender's processor time, frames received.
fn flooded(world: &Arc<World>, len: usize) -> (f64, [u64; 3]) {
    let (sent, sender) = flood(world, len);
    thread::sleep(Duration::from_secs_f64(SETTLING));
    let now = |world: &Arc<World>| {
        let counts = [&sent.frames, &sent.processor].map(|count| count.load(Ordering::Relaxed));
        (Instant::now(), [counts[0], counts[1], received(world)])
    };
    let (start, before) = now(world);
    thread::sleep(Duration::from_secs_f64(LENGTH));
    let (end, after) = now(world);
    sent.stop.store(true, Ordering::Relaxed);
    sender.join().expect("it ends");
    let figures = [0, 1, 2].map(|index| after[index] - before[index]);
    ((end - start).as_secs_f64(), figures)
}

/// Measures the kernel's bridge with tbf. It runs within the calls of the sender: what these cost
/// less without a bridge is its cost.
fn measure_bridge(len: usize) {
    let Some(world) = world() else { return };
    let (_, [frames, processor, _]) = flooded(&world, len);
    let without = processor as f64 / frames as f64;
    ip(&["link", "add", "name", "br0", "type", "bridge"]);
    for interface in MIDDLE {
        ip(&["link", "set", "dev", interface, "master", "br0"]);
    }
    ip(&["link", "set", "dev", "br0", "up"]);
    let words = "qdisc add dev far0 root tbf rate 40gbit burst 1mb limit 15mb";
    let tbf = Command::new("tc").args(words.split(' ')).status();
    assert!(tbf.expect("tc runs").success(), "{words}");
    let (seconds, [frames, processor, received]) = flooded(&world, len);
    let own = processor as f64 - without * frames as f64;
    let figures = [received as f64, frames.saturating_sub(received) as f64, own];
    print_row("bridge and tbf", len, figures, seconds);
}

#[test]
#[ignore = "measures: make bench-live"]
fn of_a_packet_when_many_come_at_once() {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load before: {load}");
    println!("| device | frames | forwarded | processor a packet | | lost before the queue |");
    println!("|---|---|---|---|---|---|");
    for len in [60, 1514] {
        for kind in DeviceKind::ALL {
            measure(kind, len);
        }
        measure_bridge(len);
    }
}

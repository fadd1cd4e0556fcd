//! Demo: bulk transfers, a ping and a call share a slow link, first under a plain queue, then under
//! a fair one. The traffic is real, because this system's TCP and UDP send it between two
//! namespaces.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration as Span, Instant};

use roundelay::Duration;
use roundelay_metrics::Delays;
use roundelay_metrics::units::{percent, rate, seconds};
use serde::Serialize;

use crate::quantiles::quantiles;
use crate::sys;
use crate::world::{FAR, Node, World, WorldError};

/// The port for bulk transfers.
const BULK: u16 = 5001;
/// The port that answers pings.
const PING: u16 = 5002;
/// The port for the call.
const CALL: u16 = 5004;
/// Bulk transfers.
const TRANSFERS: usize = 2;
/// The call sends 64 kbit/s of sound with headers: a packet every 20 ms.
const CALL_EVERY: Span = Span::from_millis(20);
const CALL_BYTES: usize = 172;
const PING_EVERY: Span = Span::from_millis(100);
/// The transfers' congestion control: the most common one, whatever the host's default.
pub const CONTROL: &str = "cubic";

/// The demo's parts, each with its own figures.
const PARTS: usize = 2;

/// What is counted in a part.
#[derive(Debug, Clone, Default)]
struct Part {
    /// One-way delay of the call's packets.
    call: Delays,
    /// Packets of the call that were sent.
    call_sent: u64,
    /// Round trips of the ping.
    ping: Delays,
    /// Bytes of the transfers that arrived.
    bulk: u64,
}

/// Figures of a part, which has a queue of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DemoPart {
    /// The queue.
    pub queue: String,
    /// One-way delay of the call's packets, seconds: p50 and p99. None without packets.
    pub call: Option<[f64; 2]>,
    /// The share of the call's packets that did not arrive in the part, 0 to 1.
    pub missing: f64,
    /// Round trips of the ping, seconds: p50 and p99.
    pub ping: Option<[f64; 2]>,
    /// Goodput of the transfers, bits per second.
    pub bulk: f64,
}

impl DemoPart {
    /// Heads of the columns after the queue.
    pub const HEADS: [&str; 6] = ["call p50", "p99", "missing", "ping p50", "p99", "bulk"];

    /// What stands in the columns.
    pub fn cells(&self) -> [String; 6] {
        let in_words = |delay: Option<[f64; 2]>| match delay {
            Some(both) => both.map(seconds),
            None => ["-", "-"].map(str::to_owned),
        };
        let [call_p50, call_p99] = in_words(self.call);
        let [ping_p50, ping_p99] = in_words(self.ping);
        let missing = percent(self.missing);
        [
            call_p50,
            call_p99,
            missing,
            ping_p50,
            ping_p99,
            rate(self.bulk),
        ]
    }

    /// What the demo shows, in a sentence: how long the call's packets take, under the best queue
    /// first. None if a part has no packets of the call.
    pub fn answer(parts: &[Self]) -> Option<String> {
        let mut calls = Vec::new();
        for part in parts {
            let [p50, _] = part.call?;
            calls.push((p50, &part.queue));
        }
        calls.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let [(best, queue), .., (worst, other)] = calls[..] else {
            return None;
        };
        Some(format!(
            "Under {queue}, half of the call's packets arrive within {}. Under {other}, they take \
             {}.",
            seconds(best),
            seconds(worst)
        ))
    }
}

/// Traffic of the demo.
pub struct Demo {
    figures: Arc<[Mutex<Part>; PARTS]>,
    /// The part that runs now, or [`PARTS`] between parts.
    part: Arc<AtomicUsize>,
}

/// What each thread needs.
#[derive(Clone)]
struct Worker {
    figures: Arc<[Mutex<Part>; PARTS]>,
    part: Arc<AtomicUsize>,
    /// Packets are stamped with the time since this moment.
    zero: Instant,
}

impl Worker {
    /// Counts something in the part that runs now.
    fn count(&self, count: impl FnOnce(&mut Part)) {
        if let Some(part) = self.figures.get(self.part.load(Ordering::Relaxed)) {
            count(&mut part.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The time since zero, as bytes for a packet.
    fn stamp(&self) -> [u8; 8] {
        (self.zero.elapsed().as_nanos() as u64).to_be_bytes()
    }

    /// The time since a stamp.
    fn since(&self, packet: &[u8]) -> Option<Duration> {
        let sent = u64::from_be_bytes(*packet.first_chunk()?);
        let now = self.zero.elapsed().as_nanos() as u64;
        Some(Duration::from_nanos(now.saturating_sub(sent)))
    }
}

/// A step that a worker does again and again.
type Work = Box<dyn FnMut(&Worker) -> io::Result<()> + Send>;

impl Demo {
    /// Starts the traffic. No part counts it yet.
    ///
    /// # Errors
    /// A port is taken, or the system does not let us enter a namespace.
    pub fn start(world: &Arc<World>) -> Result<Self, WorldError> {
        let worker = Worker {
            figures: Arc::default(),
            part: Arc::new(AtomicUsize::new(PARTS)),
            zero: Instant::now(),
        };
        for open in [sink, echo, listener_of_the_call] {
            start(world, Node::Far, &worker, open)?;
        }
        for open in [ping, call] {
            start(world, Node::Near, &worker, open)?;
        }
        for _ in 0..TRANSFERS {
            start(world, Node::Near, &worker, transfer)?;
        }
        Ok(Self {
            figures: worker.figures,
            part: worker.part,
        })
    }

    /// Counts in this part from now on, or nowhere if there is no such part.
    pub fn enter_part(&self, part: usize) {
        self.part.store(part, Ordering::Relaxed);
    }

    /// The figures of a part that took `length` seconds.
    pub fn part(&self, part: usize, queue: &str, length: f64) -> DemoPart {
        let part = self.figures[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let lost = part.call_sent.saturating_sub(part.call.count());
        DemoPart {
            queue: queue.to_owned(),
            call: quantiles(&part.call, [0.5, 0.99]),
            missing: lost as f64 / part.call_sent.max(1) as f64,
            ping: quantiles(&part.ping, [0.5, 0.99]),
            bulk: part.bulk as f64 * 8.0 / length,
        }
    }

    /// A line of the table.
    pub fn line(cells: [String; 6]) -> String {
        let [call_p50, call_p99, missing, ping_p50, ping_p99, bulk] = cells;
        format!("{call_p50:>9} {call_p99:>9} {missing:>8} {ping_p50:>9} {ping_p99:>9} {bulk:>15}")
    }

    /// The table's head.
    pub fn head() -> String {
        Self::line(DemoPart::HEADS.map(str::to_owned))
    }
}

/// Starts a thread at a node and waits until it has opened its sockets.
fn start(
    world: &Arc<World>,
    node: Node,
    worker: &Worker,
    open: fn() -> io::Result<Work>,
) -> Result<(), WorldError> {
    let world = Arc::clone(world);
    let worker = worker.clone();
    let (report, outcome) = channel();
    thread::spawn(move || {
        let opened = world.enter(node).and_then(|()| {
            let work = open().and_then(|work| sys::drop_privileges(false).map(|()| work));
            work.map_err(|error| WorldError::Call {
                what: "traffic of the demo".to_owned(),
                error,
            })
        });
        match opened {
            Err(error) => _ = report.send(Err(error)),
            Ok(mut work) => {
                _ = report.send(Ok(()));
                while work(&worker).is_ok() {}
            }
        }
    });
    wait_for(&outcome)
}

fn wait_for(outcome: &Receiver<Result<(), WorldError>>) -> Result<(), WorldError> {
    outcome.recv().unwrap_or_else(|_| {
        let error = io::Error::other("a thread ended early");
        let what = "traffic of the demo".to_owned();
        Err(WorldError::Call { what, error })
    })
}

fn far(port: u16) -> io::Result<SocketAddr> {
    format!("{FAR}:{port}").parse().map_err(io::Error::other)
}

/// Receives what the transfers send.
fn sink() -> io::Result<Work> {
    let listener = TcpListener::bind(far(BULK)?)?;
    Ok(Box::new(move |worker| {
        let (mut stream, _) = listener.accept()?;
        let worker = worker.clone();
        thread::spawn(move || {
            let mut room = [0; 16 << 10];
            while let Ok(len) = stream.read(&mut room)
                && len > 0
            {
                worker.count(|part| part.bulk += len as u64);
            }
        });
        Ok(())
    }))
}

/// Sends without end.
fn transfer() -> io::Result<Work> {
    let mut stream: Option<TcpStream> = None;
    let data = [0; 16 << 10];
    Ok(Box::new(move |_| {
        if stream.is_none() {
            let new = TcpStream::connect(far(BULK)?)?;
            // A system that does not have it uses its default.
            _ = sys::set_congestion_control(&new, CONTROL);
            stream = Some(new);
        }
        match &mut stream {
            Some(stream) => stream.write_all(&data),
            None => Ok(()),
        }
    }))
}

/// Answers pings.
fn echo() -> io::Result<Work> {
    let socket = UdpSocket::bind(far(PING)?)?;
    let mut room = [0; 2048];
    Ok(Box::new(move |_| {
        let (len, from) = socket.recv_from(&mut room)?;
        socket.send_to(&room[..len], from).map(|_| ())
    }))
}

fn ping() -> io::Result<Work> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(far(PING)?)?;
    let answers = socket.try_clone()?;
    let mut listens = false;
    Ok(Box::new(move |worker| {
        if !std::mem::replace(&mut listens, true) {
            let worker = worker.clone();
            let answers = answers.try_clone()?;
            thread::spawn(move || {
                let mut room = [0; 2048];
                while let Ok(len) = answers.recv(&mut room) {
                    if let Some(delay) = worker.since(&room[..len]) {
                        worker.count(|part| part.ping.record(delay));
                    }
                }
            });
        }
        let mut packet = [0; 56];
        packet[..8].copy_from_slice(&worker.stamp());
        // The far end may not be there yet.
        _ = socket.send(&packet);
        thread::sleep(PING_EVERY);
        Ok(())
    }))
}

fn call() -> io::Result<Work> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(far(CALL)?)?;
    let mut next = Instant::now();
    Ok(Box::new(move |worker| {
        let mut packet = [0; CALL_BYTES];
        packet[..8].copy_from_slice(&worker.stamp());
        _ = socket.send(&packet);
        worker.count(|part| part.call_sent += 1);
        next += CALL_EVERY;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        Ok(())
    }))
}

fn listener_of_the_call() -> io::Result<Work> {
    let socket = UdpSocket::bind(far(CALL)?)?;
    let mut room = [0; 2048];
    Ok(Box::new(move |worker| {
        let len = socket.recv(&mut room)?;
        if let Some(delay) = worker.since(&room[..len]) {
            worker.count(|part| part.call.record(delay));
        }
        Ok(())
    }))
}

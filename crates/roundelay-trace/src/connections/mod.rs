//! What the applications behind a capture wanted: TCP connections as messages of their two ends, and
//! all other packets as recorded.
//!
//! The idea is Tmix's (Weigle et al., "Tmix: a tool for generating realistic TCP application
//! workloads in ns-2", CCR 2006): a connection is what its applications write and how long they
//! think, not the packets that TCP made of it in the recorded network. Senders that react can then
//! offer the same to another link. Figures only: `roundelay applications` writes them as a scenario.
//!
//! Memory: a few hundred bytes for each connection and a hundred for each message, 16 for each packet
//! that is not TCP.

mod control;
mod course;
mod dialogue;
mod limit;
mod pages;

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use roundelay::{Duration, Ecn, Rate};

use crate::arrival::{CaptureClock, Oddities};
use crate::capture::{Capture, Frame};
use crate::compare::error::CompareError;
use crate::compare::observer::{Progress, ReplayObserver};
use crate::compare::options::Options;
use crate::headers::{Headers, Ports, TCP, UDP, UnparsableCounts, parse};
use crate::observed::Observed;
use crate::selection::{Chosen, Selector};
use crate::survey::{Survey, survey};
use crate::timeline::Ordered;
pub use control::{Seen, ShownBy, Sign};
use course::Course;
use dialogue::Dialogue;

/// The port of QUIC's web.
const HTTPS: u16 = 443;
/// A day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;
/// The longest capture whose connections are a scenario: the simulator's clock covers 213 days.
const LONGEST: u64 = 200 * DAY;
/// Bytes that an acknowledgement tells of at most, on average: receivers answer every second
/// segment, and cards merge no more than 64 KiB.
const MOST_AT_ONCE: u64 = 100_000;
/// Bytes of memory for what is kept of a capture. A few bytes that are compressed may be any number of
/// packets.
const MOST_HELD: u64 = 1 << 30;
/// What a connection, a piece of what it says, another flow and a packet of one take, at most.
const CONNECTION_BYTES: u64 = 1500;
const SAID_BYTES: u64 = 250;
const FLOW_BYTES: u64 = 150;
const PACKET_BYTES: u64 = 32;
/// Packets between two reports on progress. At each report we also look whether somebody asked to
/// stop.
const BLOCK: u64 = 8192;

/// The end of a connection: an index, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that opened the connection.
    Client,
    /// The other end.
    Server,
}

impl End {
    /// Both ends, the client first.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What one end wrote at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The end that wrote.
    pub by: End,
    /// Bytes, each counted once.
    pub bytes: u64,
    /// From the arrival of the other end's message before, or from the same end's write before,
    /// whichever comes last in the list; in a concurrent connection always from the same end's. The
    /// first one counts from the connection's opening at its end.
    pub after: Duration,
    /// The period of its end's clock, if pauses show one: the message comes so long behind the same
    /// end's before, however long the answer to that took.
    pub every: Option<Duration>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// An end closed it, at this time since the capture's start.
    By(End, Duration),
    /// It was open when the capture ended.
    Open,
}

/// Whether a receive window was a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// A SYN is not in the capture, so the scale of the windows is unknown (RFC 7323).
    Unknown,
    /// No message filled one all the time.
    Roomy,
    /// A message did, without a loss: the largest such window, in bytes.
    Limit(u64),
}

/// An answer on another connection for which a connection waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows {
    /// The other connection, by its place in [`Applications::connections`].
    pub connection: usize,
    /// The answer's last message there, by its place in [`Connection::messages`].
    pub message: usize,
    /// How long after the answer the connection begins.
    pub after: Duration,
}

/// A TCP connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// The client. Of a connection that began before the capture: the end that most likely opened
    /// it, by the port numbers.
    pub client: SocketAddr,
    /// The server.
    pub server: SocketAddr,
    /// The first packet, since the capture's start.
    pub start: Duration,
    /// Whether the capture holds its first SYN.
    pub has_opening: bool,
    /// Its end.
    pub close: Close,
    /// Whether packets of the client, and of the server, were captured.
    pub seen: [bool; 2],
    /// Whether packets of the client, and of the server, go over the chosen direction of the link.
    pub over: [bool; 2],
    /// Smallest time from the capture point to the client and back, and to the server and back,
    /// of this connection.
    pub round_trips: [Option<Duration>; 2],
    /// Whether the time to the client, and to the server, was measured while no queue was in its way.
    pub is_quiet: [bool; 2],
    /// What the link's queue held data up by then, as the round trips of the receiver that was nearest
    /// then tell; without end if they do not.
    pub waits: [Duration; 2],
    /// Whether the handshake told it.
    pub has_handshake: [bool; 2],
    /// Bytes of data in the longest segment of each end.
    pub segment_len: [u32; 2],
    /// Whether data was sent as ECN-capable.
    pub ecn: bool,
    /// New bytes of each end: retransmissions are not among them.
    pub bytes: [u64; 2],
    /// Of these, bytes in messages of which the network was the limit: a faster link carries them
    /// faster.
    pub limited: [u64; 2],
    /// Segments of each end without a new byte.
    pub retransmitted: [u64; 2],
    /// Bytes of each end that were acknowledged though no packet of the capture has them.
    pub missing: [u64; 2],
    /// Acknowledgements that told of new bytes of each end.
    pub advances: [u64; 2],
    /// Bytes of each end in messages that a receive window limited whose scale is unknown.
    pub by_unknown_window: [u64; 2],
    /// What the ends wrote, in the order of time.
    pub messages: Vec<Message>,
    /// Whether the ends wrote without waiting for each other.
    pub concurrent: bool,
    /// Whether the last message wanted more than it got: the network or the receiver's window was its
    /// limit, and the capture, or the other end's close, ended it with data outstanding.
    pub endless: bool,
    /// The last message as a list of writes, if it is endless but its sender paced, so that its
    /// application may have been the limit. Else empty.
    pub writes_if_paced: Vec<Message>,
    /// How many writes at the end may have been one message without end: their data always waited or
    /// was lost, and the capture, or the other end's close, cut them off. Else 0.
    pub writes_if_endless: usize,
    /// The congestion control that its transfers show, or others of its sender, if they do.
    pub control: Option<Sign>,
    /// Whether the network was the limit of the last message.
    pub is_held: bool,
    /// Whether the ends' receive windows were a limit.
    pub window: Window,
    /// Whether the queue of an uploading host, and no window, limits what its uploads have
    /// outstanding, as TCP small queues do.
    pub has_small_queue: bool,
    /// The answer that it waits for, as a part of a page does.
    pub follows: Option<Follows>,
}

impl Connection {
    /// Whether both ends were captured: thinking times are known.
    pub const fn is_whole(&self) -> bool {
        self.seen[0] && self.seen[1]
    }

    /// Whether an end's data has hardly any acknowledgements in the capture, so that nothing tells
    /// whether it waited for them.
    pub const fn is_unacknowledged(&self, end: End) -> bool {
        self.bytes[end as usize] / MOST_AT_ONCE > self.advances[end as usize]
    }

    /// The end that sends more.
    pub const fn sender(&self) -> SocketAddr {
        if self.bytes[0] > self.bytes[1] {
            self.client
        } else {
            self.server
        }
    }

    /// Addresses of the client and the server, and their networks if they are behind the link.
    fn locations(&self) -> [(IpAddr, Option<IpAddr>); 2] {
        let [client, server] = [self.client.ip(), self.server.ip()];
        match self.over {
            // Only the server's packets go over the link, so the client is behind it.
            [false, true] => [(client, Some(network(client))), (server, None)],
            // Only the client's do, so the server is.
            [true, false] => [(client, None), (server, Some(network(server)))],
            _ => [(client, None), (server, None)],
        }
    }
}

/// Packets that are not TCP, or not readable as TCP: a flow as recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The IP protocol; none without IP.
    pub protocol: Option<u8>,
    /// Sender and receiver; none without IP.
    pub ends: Option<[SocketAddr; 2]>,
    /// Whether its packets go over the chosen direction of the link.
    pub over: bool,
    /// Each packet: nanoseconds since the capture's start, and bytes of the IP packet.
    pub packets: Vec<(u64, u32)>,
}

impl Recorded {
    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|(_, len)| u64::from(*len)).sum()
    }

    /// Whether this is QUIC, by the port: it would react, but shows no acknowledgements.
    pub fn is_quic(&self) -> bool {
        let ends = self.ends.iter().flatten();
        let mut ports = ends.map(SocketAddr::port);
        self.protocol == Some(UDP) && ports.any(|port| port == HTTPS)
    }
}

/// What a capture shows of the direction against the chosen one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WayBack {
    /// The longest wait of transfers that the network held back there, but for the longest moments.
    /// None: it held none back.
    pub wait: Option<Duration>,
    /// Segments that they sent again. Without any, nothing tells the queue's limit.
    pub losses: u64,
    /// Bytes of long messages there of which nothing tells whether the network or their application
    /// was the limit.
    pub unclear: u64,
}

/// What the applications behind a capture wanted.
#[derive(Debug, Clone)]
pub struct Applications {
    /// The capture's name.
    pub name: String,
    /// Time from the first packet to the last.
    pub length: Duration,
    /// Packets read, without copies.
    pub packets: u64,
    /// The rates of the captured link in the chosen direction, and in the other one, bits per second:
    /// as stated, else the highest at which bytes left in any half second.
    pub captured_rates: [f64; 2],
    /// What is known of the other direction.
    pub back: WayBack,
    /// Bytes over the link in transfers whose data waited nearly all the time while the link had
    /// room: something else held them up.
    pub elsewhere: u64,
    /// How long the link was full of TCP's data, which waited or was lost, while no sender seemed to
    /// want more: a contradiction.
    pub unexplained: Duration,
    /// The mean rate of the chosen direction, bits per second.
    pub mean: f64,
    /// The connections, in the order of their first packets.
    pub connections: Vec<Connection>,
    /// All other flows, in the order of their first packets.
    pub recorded: Vec<Recorded>,
    /// What the reading met: nothing of flows and weights.
    pub observed: Observed,
}

impl Applications {
    /// Takes senders that paced for limited by their applications: replaces each endless last
    /// message by the writes that the capture shows ([`Connection::writes_if_paced`]).
    #[must_use]
    pub fn limited_by_applications(mut self) -> Self {
        for connection in &mut self.connections {
            if !connection.writes_if_paced.is_empty() {
                connection.endless = false;
                // The endless message.
                connection.messages.pop();
                connection.messages.append(&mut connection.writes_if_paced);
            }
        }
        self
    }

    /// Takes transfers whose data always waited or was lost for endless, in place of the writes that
    /// the capture shows ([`Connection::writes_if_endless`]).
    #[must_use]
    pub fn limited_by_the_network(mut self) -> Self {
        for connection in &mut self.connections {
            let writes = std::mem::take(&mut connection.writes_if_endless);
            let kept = connection.messages.len() - writes.min(connection.messages.len());
            let last = connection.messages.split_off(kept);
            if let Some(first) = last.first() {
                connection.endless = true;
                connection.messages.push(Message {
                    bytes: last.iter().map(|write| write.bytes).sum(),
                    ..*first
                });
            }
        }
        self
    }

    /// The round trip of each connection without queues: from the capture point to one end and to the
    /// other. A connection's own handshake tells it if no queue was in its way, else the smallest of
    /// the host. Behind the link, a queue makes every round trip of a busy host too long, by as much as
    /// at the same time those of its network's nearest host. Where nobody else was heard then, the
    /// network's smallest counts.
    pub fn round_trips(&self) -> Vec<Option<Duration>> {
        let distances = Distances::of(&self.connections);
        let mut found = Vec::with_capacity(self.connections.len());
        for connection in &self.connections {
            found.push(match distances.of_ends(connection) {
                [Some((one, _)), Some((other, _))] => Some(one + other),
                _ => None,
            });
        }
        found
    }

    /// How many connections have round trips that contradict each other by half: their own and the
    /// host's, or the host's and the network's.
    pub fn contradicting_round_trips(&self) -> usize {
        let distances = Distances::of(&self.connections);
        let mut contradicting = 0;
        for connection in &self.connections {
            let ends = distances.of_ends(connection);
            let is_contradicted = matches!(ends[0], Some((_, true)));
            let contradicts = is_contradicted || matches!(ends[1], Some((_, true)));
            contradicting += usize::from(contradicts);
        }
        contradicting
    }
}

/// Smallest times to hosts and networks and back.
#[derive(Debug, Default)]
struct Distances {
    hosts: HashMap<IpAddr, Distance>,
    networks: HashMap<IpAddr, Duration>,
}

/// The time to a host and back.
#[derive(Debug, Default)]
struct Distance {
    /// The smallest one, and whether any was measured while no queue was in its way.
    least: Duration,
    is_quiet: bool,
    /// Each connection's, less what the link's queue held it up by.
    without_waits: Vec<Duration>,
}

impl Distances {
    fn of(connections: &[Connection]) -> Self {
        let mut distances = Self::default();
        for connection in connections {
            for (end, (host, network)) in connection.locations().into_iter().enumerate() {
                let Some(measured) = connection.round_trips[end] else {
                    continue;
                };
                let known = distances.hosts.entry(host).or_insert(Distance {
                    least: measured,
                    ..Distance::default()
                });
                known.least = measured.min(known.least);
                known.is_quiet |= connection.is_quiet[end];
                let waited = connection.waits[end].min(measured);
                known.without_waits.push(measured - waited);
                if let Some(network) = network {
                    let known = distances.networks.entry(network).or_insert(measured);
                    *known = measured.min(*known);
                }
            }
        }
        for host in distances.hosts.values_mut() {
            host.without_waits.sort_unstable();
        }
        distances
    }

    /// The time to the client and back, and to the server, each with whether what tells it contradicts
    /// something else by half.
    fn of_ends(&self, connection: &Connection) -> [Option<(Duration, bool)>; 2] {
        let mut found = [None; 2];
        for (end, (host, network)) in connection.locations().into_iter().enumerate() {
            let Some(known) = self.hosts.get(&host) else {
                continue;
            };
            let of_host = known.least;
            let without_wait = known.without_waits[known.without_waits.len() / 2];
            let own = connection.round_trips[end]
                .filter(|_| connection.has_handshake[end] && connection.is_quiet[end]);
            let of_network = match network {
                Some(network) => self.networks.get(&network).copied(),
                None => None,
            };
            let used = match (own, of_network) {
                (Some(own), _) => own,
                (None, Some(of_network)) if !known.is_quiet => {
                    without_wait.min(of_host).max(of_network)
                }
                _ => of_host,
            };
            let other = of_host.max(used);
            found[end] = Some((used, other > used + used || used > of_host + of_host));
        }
        found
    }
}

/// The network of an address: 24 bits of IPv4, 64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from(u32::from(address) & !0xff)),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
    }
}

/// Reads what the applications behind a capture wanted. `options` choose the packets as for a
/// comparison, but both directions are read: the chosen one is that of the link.
///
/// # Errors
/// The capture is unreadable, without a packet, longer than 200 days, or more than a gigabyte of memory
/// holds what is kept of it, or a stop was requested.
pub fn applications(
    capture: Capture,
    options: &Options,
    observer: &mut impl ReplayObserver,
) -> Result<Applications, CompareError> {
    within(MOST_HELD, capture, options, observer)
}

/// Reads them with at most so many bytes of memory.
fn within(
    most: u64,
    capture: Capture,
    options: &Options,
    observer: &mut impl ReplayObserver,
) -> Result<Applications, CompareError> {
    let stop = observer.stop();
    let mending = options.mending();
    let readings = mending.readings();
    let Survey {
        mut capture,
        selector,
        chosen,
        ..
    } = survey(capture, &mending, observer, None)?;
    let first = capture.start();
    let mut reader = Reader::new(selector);
    let mut read = 0_u64;
    let mut clock = CaptureClock::default();
    let mut oddities = Oddities::default();
    if first != 0 {
        clock.read(first, &mut oddities);
    }
    while let Some(frame) = capture.next()? {
        let now = clock.read(frame.time_nanos, &mut oddities);
        reader.read(&frame, now.as_picos() / 1000);
        read += 1;
        if !read.is_multiple_of(BLOCK) {
            continue;
        }
        if reader.held > most {
            return Err(CompareError::TooMuch {
                name: capture.capture().name().to_owned(),
                packets: read,
            });
        }
        observer.progress(Progress {
            read: capture.capture().position(),
            packets: read,
            reading: readings,
            readings,
        });
        if stop.is_requested() {
            return Err(CompareError::Stopped);
        }
    }
    if reader.packets == 0 {
        return Err(CompareError::NoPackets {
            name: capture.capture().name().to_owned(),
            cut_at: capture.capture().notes().truncated_tail_offset,
        });
    }
    if reader.last > LONGEST {
        return Err(CompareError::TooLong {
            name: capture.capture().name().to_owned(),
            days: reader.last / DAY,
        });
    }
    let mut applications = reader.finish(&capture, chosen, options.captured_rate);
    applications.observed.oddities.cut_gaps = oddities.cut_gaps;
    Ok(applications)
}

/// Addresses and ports of a flow, in a fixed order for both directions of a connection.
type Key = [SocketAddr; 2];

/// Longest time in which bytes are counted for the highest rate.
const WINDOW: u64 = 100_000_000;

/// What was on both directions of the link: on the chosen one, and on the other one.
#[derive(Debug)]
struct Ways {
    courses: [Course; 2],
    /// Bits a second.
    rates: [f64; 2],
    /// The least time to any receiver and back, nanoseconds.
    nearest: [u64; 2],
    /// The least time to each host and back.
    bases: Bases,
}

/// What a packet has beside its TCP segment.
#[derive(Debug, Clone, Copy)]
struct Heading {
    ecn: Ecn,
    /// Bytes on the link.
    len: u32,
    /// Nanoseconds since the capture's start.
    now: u64,
}

struct Reader {
    /// The link's direction.
    link: Selector,
    /// Both directions, without copies.
    all: Selector,
    packets: u64,
    unparsable: UnparsableCounts,
    last: u64,
    dialogues: Vec<Dialogue>,
    /// The dialogue of a pair of ends.
    talking: HashMap<Key, usize>,
    recorded: Vec<Recorded>,
    /// Bytes that the above take, about.
    held: u64,
    flows: HashMap<(Option<u8>, Option<Key>), usize>,
    /// All bytes over the link.
    bytes: u64,
    /// Both directions' traffic over time: the link's, and the other one.
    courses: [Course; 2],
}

impl Reader {
    fn new(link: Selector) -> Self {
        let all = link.both_ways();
        Self {
            link,
            all,
            packets: 0,
            unparsable: UnparsableCounts::default(),
            last: 0,
            dialogues: Vec::new(),
            talking: HashMap::new(),
            recorded: Vec::new(),
            held: 0,
            flows: HashMap::new(),
            bytes: 0,
            courses: [Course::new(WINDOW), Course::new(WINDOW)],
        }
    }

    fn read(&mut self, frame: &Frame<'_>, now: u64) {
        let headers = parse(frame.link, frame.bytes);
        let as_known = headers.as_ref().map_err(|reason| *reason);
        let is_over = self.link.admit(frame, as_known);
        let is_first = self.all.admit(frame, as_known);
        if !is_over && !is_first {
            return;
        }
        if let Err(reason) = as_known {
            self.unparsable.count(reason);
        }
        let headers = headers.ok();
        self.last = self.last.max(now);
        let len = u64::from(frame.len_on_link());
        if is_over {
            self.bytes += len;
        }
        self.packets += u64::from(is_first);
        match headers {
            Some(headers) if headers.protocol == TCP && headers.ports == Ports::Present => {
                self.read_segment(&headers, frame, (is_first, is_over), now);
            }
            _ => self.record(headers.as_ref(), frame, (is_first, is_over), now),
        }
    }

    fn read_segment(
        &mut self,
        headers: &Headers,
        frame: &Frame<'_>,
        (is_first, is_over): (bool, bool),
        now: u64,
    ) {
        let from = SocketAddr::new(headers.source, headers.source_port);
        let to = SocketAddr::new(headers.destination, headers.destination_port);
        let Some(segment) = frame.tcp_segment() else {
            return self.record(Some(headers), frame, (is_first, is_over), now);
        };
        let key = if from <= to { [from, to] } else { [to, from] };
        let known = self.talking.get(&key).copied();
        let is_opening = segment.is_syn && !segment.is_ack;
        let number = match known {
            Some(number) if !(is_opening && is_first && self.dialogues[number].is_over()) => number,
            _ => {
                self.talking.insert(key, self.dialogues.len());
                self.dialogues
                    .push(Dialogue::new([from, to], &segment, now));
                self.held += CONNECTION_BYTES;
                self.dialogues.len() - 1
            }
        };
        let dialogue = &mut self.dialogues[number];
        let by = dialogue.end_of(from);
        if is_over {
            dialogue.goes_over(by);
        }
        // The first copy of what goes over the link may have been captured elsewhere.
        if is_over || dialogue.way_of(by) == 1 {
            let course = &mut self.courses[usize::from(!is_over)];
            course.carry(now, frame.len_on_link().into());
            course.count(now, segment.len.into());
        }
        if is_first {
            let packet = Heading {
                ecn: headers.ecn,
                len: frame.len_on_link(),
                now,
            };
            let before = dialogue.pieces();
            dialogue.hear(by, &segment, packet, &mut self.courses);
            self.held += (dialogue.pieces() - before) as u64 * SAID_BYTES;
        }
    }

    fn record(
        &mut self,
        headers: Option<&Headers>,
        frame: &Frame<'_>,
        (is_first, is_over): (bool, bool),
        now: u64,
    ) {
        let protocol = headers.map(|headers| headers.protocol);
        let ends = headers.map(|headers| {
            [
                SocketAddr::new(headers.source, headers.source_port),
                SocketAddr::new(headers.destination, headers.destination_port),
            ]
        });
        let number = *self.flows.entry((protocol, ends)).or_insert_with(|| {
            self.recorded.push(Recorded {
                protocol,
                ends,
                over: false,
                packets: Vec::new(),
            });
            self.held += FLOW_BYTES;
            self.recorded.len() - 1
        });
        let flow = &mut self.recorded[number];
        flow.over |= is_over;
        if is_over || !flow.over {
            let len = frame.len_on_link().into();
            let course = &mut self.courses[usize::from(!is_over)];
            course.carry(now, len);
            course.leave([now, now], len);
        }
        if is_first {
            flow.packets.push((now, frame.network_len().max(1)));
            self.held += PACKET_BYTES;
        }
    }

    /// `rate`: of the captured link, if that is known.
    fn finish(
        mut self,
        capture: &Ordered,
        chosen: Option<Chosen>,
        rate: Option<Rate>,
    ) -> Applications {
        let observed = Observed {
            chosen,
            ..Observed::of_reading(capture, &self.link, self.unparsable)
        };
        let seconds = self.last as f64 / 1e9;
        let mut applications = Applications {
            name: capture.capture().name().to_owned(),
            length: Duration::from_nanos(self.last),
            packets: self.packets,
            captured_rates: [self.courses[0].rate(), self.courses[1].rate()],
            back: WayBack::default(),
            elsewhere: 0,
            unexplained: Duration::ZERO,
            mean: if seconds > 0.0 {
                self.bytes as f64 * 8.0 / seconds
            } else {
                0.0
            },
            connections: Vec::new(),
            recorded: self.recorded,
            observed,
        };
        if let Some(rate) = rate {
            applications.captured_rates[0] = rate.bits_per_second() as f64;
        }
        let bases = Bases::of(&self.dialogues);
        for dialogue in &self.dialogues {
            dialogue.compete(bases.of_ends(dialogue), &mut self.courses);
        }
        for course in &mut self.courses {
            course.close();
        }
        let ways = Ways {
            courses: self.courses,
            rates: applications.captured_rates,
            nearest: nearest(&self.dialogues),
            bases,
        };
        let bases = &ways.bases;
        let mut explained = Vec::new();
        for dialogue in &self.dialogues {
            let bases = bases.of_ends(dialogue);
            dialogue.explain(bases, &ways, &mut explained);
            dialogue.tell_of_way_back(bases, &ways, &mut applications.back);
            applications.elsewhere += dialogue.held_up_elsewhere(bases, &ways);
        }
        let unexplained = ways.courses[0].unexplained(ways.rates[0], ways.nearest[0], &explained);
        applications.unexplained = Duration::from_nanos(unexplained);
        let mut votes = Vec::with_capacity(self.dialogues.len());
        let mut answers = Vec::with_capacity(self.dialogues.len());
        for dialogue in self.dialogues {
            let bases = bases.of_ends(&dialogue);
            let finished = dialogue.finish(self.last, bases, &ways);
            applications.connections.push(finished.connection);
            votes.push(finished.votes);
            answers.push(finished.answers);
        }
        pages::link(&mut applications.connections, &answers);
        share_queues(&mut applications.connections);
        control::tell(&mut applications.connections, &votes);
        end_together(&mut applications.connections);
        applications
            .recorded
            .retain(|flow| !flow.packets.is_empty());
        separate(&mut applications);
        applications
    }
}

/// The least time to each host and back, nanoseconds.
#[derive(Debug)]
struct Bases(HashMap<IpAddr, u64>);

impl Bases {
    fn of(dialogues: &[Dialogue]) -> Self {
        let mut bases = HashMap::new();
        for dialogue in dialogues {
            for (end, least) in dialogue.ends().into_iter().zip(dialogue.least()) {
                if let Some(least) = least {
                    let known = bases.entry(end.ip()).or_insert(least);
                    *known = least.min(*known);
                }
            }
        }
        Self(bases)
    }

    fn of_ends(&self, dialogue: &Dialogue) -> [u64; 2] {
        dialogue.ends().map(|end| self.of_host(end.ip()))
    }

    fn of_host(&self, host: IpAddr) -> u64 {
        self.0.get(&host).copied().unwrap_or(0)
    }
}

/// Two connections that begin and end within this time of each other do so together.
const TOGETHER: Duration = Duration::from_millis(500);
/// Transfers that last this long do not end together by chance.
const LONG: Duration = Duration::from_secs(5);

/// Transfers between the same hosts that the network held back, and that began and ended together
/// with different sizes, were ended by a clock, as in a speed test: they wanted more, even where their
/// own ends closed them.
fn end_together(connections: &mut [Connection]) {
    let mut held = Vec::new();
    for (number, connection) in connections.iter().enumerate() {
        if let Close::By(_, end) = connection.close
            && connection.is_held
            && end > connection.start + LONG
        {
            let hosts = [connection.client.ip(), connection.server.ip()];
            held.push((hosts, connection.start, end, number));
        }
    }
    held.sort_unstable();
    for pair in held.windows(2) {
        let [
            (hosts, start, end, number),
            (other_hosts, other_start, other_end, other),
        ] = pair
        else {
            continue;
        };
        let is_together = *other_start - *start < TOGETHER
            && (*end).max(*other_end) - (*end).min(*other_end) < TOGETHER;
        let has_other_size = connections[*number].bytes != connections[*other].bytes;
        if hosts == other_hosts && is_together && has_other_size {
            connections[*number].endless = true;
            connections[*other].endless = true;
        }
    }
}

/// All uploads of a host go through its queue, so what one shows of that holds for all.
fn share_queues(connections: &mut [Connection]) {
    let mut hosts = HashSet::new();
    for connection in connections.iter() {
        if connection.has_small_queue {
            hosts.insert(connection.sender().ip());
        }
    }
    for connection in connections {
        let sends_up = connection.bytes[0] > connection.bytes[1];
        connection.has_small_queue |= sends_up && hosts.contains(&connection.sender().ip());
    }
}

/// The least time to any receiver beyond each direction of the link, nanoseconds.
fn nearest(dialogues: &[Dialogue]) -> [u64; 2] {
    let mut nearest = [u64::MAX / 4; 2];
    for dialogue in dialogues {
        for (end, least) in End::BOTH.into_iter().zip(dialogue.least()) {
            let known = &mut nearest[dialogue.way_of(end.other())];
            *known = least.unwrap_or(u64::MAX).min(*known);
        }
    }
    nearest
}

/// Where no direction was chosen, packets of both go over the link. A host that receives more than
/// it sends is then behind the link, because links are busier towards those who fetch.
fn separate(applications: &mut Applications) {
    let mut balance: HashMap<IpAddr, i64> = HashMap::new();
    for connection in &applications.connections {
        let hosts = [connection.client.ip(), connection.server.ip()];
        for (end, bytes) in connection.bytes.into_iter().enumerate() {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            *balance.entry(hosts[end]).or_default() -= bytes;
            *balance.entry(hosts[1 - end]).or_default() += bytes;
        }
    }
    for connection in &mut applications.connections {
        if connection.over == [true; 2] {
            let of_client = balance.get(&connection.client.ip());
            let is_to_client = of_client >= balance.get(&connection.server.ip());
            connection.over = [!is_to_client, is_to_client];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Found: 2 KB of zeros in zstd are 16 million packets, which took 650 MB.
    #[test]
    fn a_capture_that_takes_too_much_memory_is_refused() {
        let mut capture = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            capture.extend(word.to_le_bytes());
        }
        // Records of no bytes.
        capture.resize(24 + 16 * 3 * BLOCK as usize, 0);
        let open = || Capture::from_reader("a.pcap", Cursor::new(capture.clone())).expect("pcap");
        let options = Options::new("1mbit".parse().expect("a rate"), Vec::new());
        let refused = within(PACKET_BYTES * BLOCK, open(), &options, &mut ());
        let told = refused.err().map(|error| error.to_string());
        let told = told.unwrap_or_default();
        assert!(
            told.starts_with("a.pcap: packet 8192: up to here"),
            "{told}"
        );
        let read = within(PACKET_BYTES * 4 * BLOCK, open(), &options, &mut ());
        assert_eq!(read.map(|found| found.packets).ok(), Some(3 * BLOCK));
    }
}

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

mod course;
mod dialogue;
mod limit;
pub mod tmix;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use roundelay::{Duration, Rate};

use crate::capture::{Capture, Frame};
use crate::compare::error::CompareError;
use crate::compare::observer::{Progress, ReplayObserver};
use crate::compare::options::Options;
use crate::headers::{Headers, Ports, TCP, UDP, UnparsableCounts, parse};
use crate::observed::Observed;
use crate::selection::{Chosen, Selector};
use crate::survey::{Survey, survey};
use crate::timeline::Ordered;
use course::Course;
use dialogue::Dialogue;

/// The port of QUIC's web.
const HTTPS: u16 = 443;
/// A day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;
/// The longest capture whose connections are a scenario or vectors: the simulator's clock covers 213
/// days.
const LONGEST: u64 = 200 * DAY;
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

    /// This end's of two values, the client's first.
    const fn of<T>(self, [client, server]: &mut [T; 2]) -> &mut T {
        match self {
            Self::Client => client,
            Self::Server => server,
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
    /// Whether the ends' receive windows were a limit.
    pub window: Window,
}

impl Connection {
    /// Whether both ends were captured: thinking times are known.
    pub const fn is_whole(&self) -> bool {
        self.seen[0] && self.seen[1]
    }

    /// Where the client and the server are: a host, or behind the link the host's network, because
    /// hosts behind the link count together ([`Applications::round_trips`]).
    fn locations(&self) -> [Location; 2] {
        let [client, server] = [self.client.ip(), self.server.ip()];
        match self.over {
            // Only the server's packets go over the link, so the client is behind it.
            [false, true] => [Location::Network(network(client)), Location::Host(server)],
            // Only the client's do, so the server is.
            [true, false] => [Location::Host(client), Location::Network(network(server))],
            _ => [Location::Host(client), Location::Host(server)],
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

/// What the applications behind a capture wanted.
#[derive(Debug, Clone)]
pub struct Applications {
    /// The capture's name.
    pub name: String,
    /// Time from the first packet to the last.
    pub length: Duration,
    /// Packets read, without copies.
    pub packets: u64,
    /// The highest rate of the chosen direction in any tenth of a second, bits per second, and its
    /// mean rate.
    pub busiest: f64,
    /// See `busiest`.
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

    /// The smallest round trip of each connection: from the capture point to one end and to the
    /// other. Behind the link all hosts of a network count together, because the link's queue makes
    /// every round trip of a busy host too long; on the other side each host counts alone.
    pub fn round_trips(&self) -> Vec<Option<Duration>> {
        let mut least: HashMap<Location, Duration> = HashMap::new();
        for connection in &self.connections {
            for (location, measured) in connection
                .locations()
                .into_iter()
                .zip(connection.round_trips)
            {
                if let Some(measured) = measured {
                    let known = least.entry(location).or_insert(measured);
                    *known = measured.min(*known);
                }
            }
        }
        let mut found = Vec::with_capacity(self.connections.len());
        for connection in &self.connections {
            let parts = connection.locations().map(|location| least.get(&location));
            found.push(match parts {
                [Some(one), Some(other)] => Some(*one + *other),
                _ => None,
            });
        }
        found
    }
}

/// Where an end of a connection is. A host may have the address of its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Location {
    Host(IpAddr),
    Network(IpAddr),
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
/// The capture is unreadable, without a packet, or longer than 200 days, or a stop was requested.
pub fn applications(
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
    let mut zero = None;
    while let Some(frame) = capture.next()? {
        let zero = *zero.get_or_insert(if first == 0 { frame.time_nanos } else { first });
        let nanos = frame.time_nanos.saturating_sub(zero);
        reader.read(&frame, u64::try_from(nanos).unwrap_or(0));
        read += 1;
        if !read.is_multiple_of(BLOCK) {
            continue;
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
        });
    }
    if reader.last > LONGEST {
        return Err(CompareError::TooLong {
            name: capture.capture().name().to_owned(),
            days: reader.last / DAY,
        });
    }
    Ok(reader.finish(&capture, chosen, options.rate))
}

/// Addresses and ports of a flow, in a fixed order for both directions of a connection.
type Key = [SocketAddr; 2];

/// Longest time in which bytes are counted for the highest rate.
const WINDOW: u64 = 100_000_000;

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
    flows: HashMap<(Option<u8>, Option<Key>), usize>,
    /// The current window's number, its bytes, the most bytes of a window, and all bytes.
    window: (u64, u64),
    busiest: u64,
    bytes: u64,
    /// TCP's bytes over the link, over time.
    course: Course,
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
            flows: HashMap::new(),
            window: (0, 0),
            busiest: 0,
            bytes: 0,
            course: Course::new(WINDOW),
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
        if is_over {
            self.count(frame.len_on_link(), now);
        }
        self.packets += u64::from(is_first);
        match headers {
            Some(headers) if headers.protocol == TCP && headers.ports == Ports::Present => {
                self.read_segment(&headers, frame, (is_first, is_over), now);
            }
            _ => self.record(headers.as_ref(), frame, (is_first, is_over), now),
        }
    }

    fn count(&mut self, len: u32, now: u64) {
        let number = now / WINDOW;
        if number != self.window.0 {
            self.window = (number, 0);
        }
        self.window.1 += u64::from(len);
        self.busiest = self.busiest.max(self.window.1);
        self.bytes += u64::from(len);
        self.course.carry(now, len.into());
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
                self.dialogues.len() - 1
            }
        };
        let dialogue = &mut self.dialogues[number];
        let by = dialogue.end_of(from);
        if is_over {
            dialogue.goes_over(by);
            self.course.count(now, segment.len.into());
        }
        if is_first {
            dialogue.hear(by, &segment, headers.ecn, now);
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
            self.recorded.len() - 1
        });
        let flow = &mut self.recorded[number];
        flow.over |= is_over;
        if is_first {
            flow.packets.push((now, frame.network_len().max(1)));
        }
    }

    /// `rate`: of the link, which is no slower than it was in its busiest window.
    fn finish(mut self, capture: &Ordered, chosen: Option<Chosen>, rate: Rate) -> Applications {
        let observed = Observed {
            chosen,
            ..Observed::of_reading(capture, &self.link, self.unparsable)
        };
        let seconds = self.last as f64 / 1e9;
        let mut applications = Applications {
            name: capture.capture().name().to_owned(),
            length: Duration::from_nanos(self.last),
            packets: self.packets,
            busiest: self.busiest as f64 * 8e9 / WINDOW as f64,
            mean: if seconds > 0.0 {
                self.bytes as f64 * 8.0 / seconds
            } else {
                0.0
            },
            connections: Vec::new(),
            recorded: self.recorded,
            observed,
        };
        let bases = Bases::of(&self.dialogues);
        for dialogue in &self.dialogues {
            dialogue.compete(bases.of_ends(dialogue), &mut self.course);
        }
        self.course.close();
        let fastest = applications.busiest.max(rate.bits_per_second() as f64);
        for dialogue in self.dialogues {
            let bases = bases.of_ends(&dialogue);
            let connection = dialogue.finish(self.last, bases, &self.course, fastest);
            applications.connections.push(connection);
        }
        applications
            .recorded
            .retain(|flow| !flow.packets.is_empty());
        separate(&mut applications);
        applications
    }
}

/// The least time to each host and back, nanoseconds.
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
        dialogue
            .ends()
            .map(|end| self.0.get(&end.ip()).copied().unwrap_or(0))
    }
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

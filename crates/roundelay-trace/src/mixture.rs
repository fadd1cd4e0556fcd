//! Mixtures: several directions, interfaces or copies in one replayed link, and the selection that
//! leaves one direction of one link.
//!
//! Each direction of a connection is counted at each place (interface and direction) where packets
//! were captured. At the end candidates for a selection are tried on these counts: an interface, a
//! direction, or both. The best candidate leaves no mixture and keeps the most bytes.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};

use foldhash::quality::RandomState;

use crate::capture::{Heading, Tap};
use crate::conditions::Network;
use crate::duplicates::CapturePoint;
use crate::headers::Headers;

/// Source and destination, with ports.
pub(crate) type Ends = [(IpAddr, u16); 2];

/// One direction of a connection, where its packets were captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) point: CapturePoint,
    pub(crate) protocol: u8,
    pub(crate) ends: Ends,
}

/// Bytes of a half.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    replayed: u64,
    /// Left out as copies of packets captured elsewhere.
    copies: u64,
}

/// Most halves counted; those of later flows are not.
const MOST_HALVES: usize = 131_072;
/// Most interfaces tried.
const TRIED: usize = 8;
/// A hundredth of the packets: fewer copies may be chance.
const MANY: u64 = 100;
/// A thousandth of the bytes: fewer of the other direction, as the answers to a ping, do no harm.
const HARMLESS: u64 = 1000;

/// The halves of a capture's connections, and their copies under other addresses.
#[derive(Debug, Default)]
pub(crate) struct Mixture {
    numbers: HashMap<Half, u32, RandomState>,
    /// The half of the last packet: packets often come in trains.
    last: Option<u32>,
    halves: Vec<(Half, Load)>,
    /// Pairs of halves, before and after address translation, with the packets seen in both.
    translated: BTreeMap<(u32, u32), u64>,
    packets: u64,
}

/// What a selection leaves of a mixture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    bytes: u64,
    /// Connections with both directions.
    pub(crate) connections: usize,
    pub(crate) interfaces: usize,
    /// Packets with a copy under other addresses.
    pub(crate) translated: u64,
    /// Bytes of the lighter direction of each connection.
    lighter: u64,
    /// Bytes to leave out for one direction of one link.
    excess: u64,
}

impl Extent {
    /// Whether both directions share the link, one of them with more than a few packets.
    pub(crate) const fn has_directions(&self) -> bool {
        self.lighter > 0 && self.lighter * HARMLESS >= self.bytes
    }
}

/// The selection that mends a mixture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remedy {
    pub(crate) selection: Candidate,
    pub(crate) bytes: u64,
    /// One direction of one link is left.
    pub(crate) is_pure: bool,
    /// The selection of the other direction, and its bytes.
    pub(crate) other: Option<(Candidate, u64)>,
}

/// A selection to try.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) interface: Option<u32>,
    pub(crate) side: Option<Side>,
}

/// A direction of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Heading(Heading),
    From(Network),
    To(Network),
}

/// A half of a connection that may have several names.
struct Piece<'a> {
    half: &'a Half,
    load: Load,
    connection: usize,
    is_forward: bool,
}

/// In fewer and larger pieces than a derived one.
impl Hash for Half {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let [(source, source_port), (destination, destination_port)] = self.ends;
        let ports = u64::from(source_port) << 16 | u64::from(destination_port);
        let (interface, heading) = self.point;
        let interface = interface.map_or(0, |number| u64::from(number) + 1);
        hasher.write_u64(ports << 32 | u64::from(self.protocol));
        hasher.write_u64(interface << 2 | heading.map_or(0, |heading| heading as u64 + 1));
        for address in [source, destination] {
            match address {
                IpAddr::V4(address) => hasher.write_u32(address.to_bits()),
                IpAddr::V6(address) => hasher.write_u128(address.to_bits()),
            }
        }
    }
}

impl Half {
    /// Packets without IP have no ends.
    pub(crate) fn new(tap: &Tap<'_>, headers: Option<&Headers>) -> Self {
        let nowhere = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let ends = |headers: &Headers| {
            [
                (headers.source, headers.source_port),
                (headers.destination, headers.destination_port),
            ]
        };
        let protocol = headers.map_or(0, |headers| headers.protocol);
        Self {
            point: (tap.interface, tap.heading),
            protocol,
            ends: headers.map_or([nowhere; 2], ends),
        }
    }

    fn has_private_end(&self) -> bool {
        is_private(self.ends[0].0) != is_private(self.ends[1].0)
    }

    /// Whether `after` is this half behind a router that translates one address.
    pub(crate) fn may_become(&self, after: &Self) -> bool {
        let [source, destination] = [0, 1].map(|end| self.ends[end] == after.ends[end]);
        let other = usize::from(source);
        let is_ahead = !matches!(
            (self.point.1, after.point.1),
            (Some(Heading::Out), _) | (_, Some(Heading::In))
        );
        source != destination
            && self.ends[other].0 != after.ends[other].0
            && self.point != after.point
            && is_ahead
    }
}

impl Mixture {
    /// Counts a packet, or a copy that is not replayed. None if there are too many halves.
    pub(crate) fn count(&mut self, half: Half, bytes: u32, is_replayed: bool) -> Option<u32> {
        let number = self.number(half)?;
        self.last = Some(number);
        let load = &mut self.halves[number as usize].1;
        *if is_replayed {
            &mut load.replayed
        } else {
            &mut load.copies
        } += u64::from(bytes);
        self.packets += u64::from(is_replayed);
        Some(number)
    }

    /// The number of a half, which may be a new one. None if there are too many halves.
    fn number(&mut self, half: Half) -> Option<u32> {
        if let Some(last) = self.last
            && *self.half(last) == half
        {
            return Some(last);
        }
        match self.numbers.entry(half) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(new) if self.halves.len() < MOST_HALVES => {
                self.halves.push((half, Load::default()));
                Some(*new.insert(self.halves.len() as u32 - 1))
            }
            Entry::Vacant(_) => None,
        }
    }

    pub(crate) fn half(&self, number: u32) -> &Half {
        &self.halves[number as usize].0
    }

    /// A packet of the first half was captured again as one of the second.
    pub(crate) fn translate(&mut self, pair: (u32, u32)) {
        *self.translated.entry(pair).or_default() += 1;
    }

    /// Both packets were no copies.
    pub(crate) fn translate_not(&mut self, pair: (u32, u32)) {
        if let Some(packets) = self.translated.get_mut(&pair) {
            *packets -= 1;
        }
    }

    /// The mixture of all replayed packets.
    pub(crate) fn extent(&self) -> Extent {
        self.extent_of(&self.pieces(), Candidate::default())
    }

    /// Whether an extent is worth a note.
    pub(crate) fn is_mixed(&self, extent: &Extent) -> bool {
        extent.has_directions() || extent.interfaces > 1 || self.are_many(extent.translated)
    }

    /// Whether so many packets are hardly equal by chance.
    pub(crate) fn are_many(&self, translated: u64) -> bool {
        translated > 0 && translated * MANY * 2 >= self.packets
    }

    /// The selection that leaves one direction of one link, or comes nearest. An interface and a
    /// direction that are selected already stay.
    pub(crate) fn remedy(&self, has_interface: bool, has_direction: bool) -> Option<Remedy> {
        let pieces = self.pieces();
        let interfaces = if has_interface {
            vec![None]
        } else {
            self.interfaces()
        };
        let tried = interfaces.into_iter().flat_map(|interface| {
            let sides = if has_direction {
                vec![None]
            } else {
                self.sides(interface)
            };
            sides
                .into_iter()
                .map(move |side| Candidate { interface, side })
        });
        let all = self.extent_of(&pieces, Candidate::default()).bytes;
        let tried = tried.map(|candidate| (candidate, self.extent_of(&pieces, candidate)));
        let mends = |candidate: &Candidate, extent: &Extent| {
            *candidate == Candidate::default() || extent.bytes != all || !self.is_mixed(extent)
        };
        let mut tried: Vec<_> = tried
            .filter(|(candidate, extent)| mends(candidate, extent))
            .collect();
        tried.sort_by_key(|(candidate, _)| candidate.rank());
        // Of equals the first.
        let most = |of: &dyn Fn(&Extent) -> u64| {
            tried
                .iter()
                .rev()
                .filter(|(_, extent)| extent.bytes > 0)
                .max_by_key(|(_, extent)| of(extent))
        };
        let (nearest, near) = most(&|extent| extent.bytes.saturating_sub(3 * extent.excess))?;
        let (pure, clean) = most(&|extent| {
            if self.is_mixed(extent) {
                0
            } else {
                extent.bytes
            }
        })?;
        let is_pure =
            !self.is_mixed(clean) && clean.bytes * 2 >= near.bytes.saturating_sub(3 * near.excess);
        let (selection, bytes) = if is_pure {
            (*pure, clean.bytes)
        } else {
            (*nearest, near.bytes)
        };
        if selection == Candidate::default() {
            return None;
        }
        let chosen = ways(&pieces, selection);
        let meets = |candidate: Candidate| {
            ways(&pieces, candidate)
                .iter()
                .zip(&chosen)
                .any(|(own, chosen)| own.iter().zip(chosen).any(|(a, b)| a.min(b) > &0))
        };
        let mut others: Vec<_> = tried
            .iter()
            .filter(|(_, extent)| extent.bytes > 0 && !self.is_mixed(extent))
            .collect();
        others.sort_by_key(|(_, extent)| Reverse(extent.bytes));
        let other = others
            .into_iter()
            .find(|(candidate, _)| !meets(*candidate))
            .map(|(candidate, extent)| (*candidate, extent.bytes));
        Some(Remedy {
            selection,
            bytes,
            is_pure,
            other,
        })
    }

    /// The busiest interfaces first, then none: an interface has a direction of its own.
    fn interfaces(&self) -> Vec<Option<u32>> {
        let mut bytes = HashMap::<u32, u64, RandomState>::default();
        for (half, load) in &self.halves {
            half.point.0.into_iter().for_each(|interface| {
                *bytes.entry(interface).or_default() += load.replayed + load.copies
            });
        }
        let mut all: Vec<_> = bytes.into_iter().collect();
        all.sort_by_key(|(interface, bytes)| (Reverse(*bytes), *interface));
        all.truncate(TRIED);
        // One interface alone tells nothing apart.
        let interfaces = all.into_iter().map(|(interface, _)| Some(interface));
        if interfaces.len() < 2 {
            vec![None]
        } else {
            interfaces.chain([None]).collect()
        }
    }

    /// The capture's own directions, then the networks at the ends of a heavy half of a connection
    /// with both directions, one of a private network first, then none.
    fn sides(&self, interface: Option<u32>) -> Vec<Option<Side>> {
        let of_interface = || {
            self.halves
                .iter()
                .filter(move |(half, _)| interface.is_none_or(|only| half.point.0 == Some(only)))
        };
        let headings = [Heading::In, Heading::Out]
            .map(Side::Heading)
            .into_iter()
            .filter(|side| {
                of_interface().any(|(half, _)| side.holds(half))
                    && of_interface().any(|(half, _)| !side.holds(half))
            });
        let readings: HashSet<_, RandomState> =
            of_interface().map(|(half, _)| reading(half)).collect();
        let mut reversed: Vec<_> = of_interface()
            .filter(|(half, _)| readings.contains(&reverse(reading(half))))
            .collect();
        reversed.sort_by_key(|(half, load)| Reverse((load.replayed + load.copies, half.ends)));
        let heaviest =
            |is_chosen: fn(&Half) -> bool| reversed.iter().find(|(half, _)| is_chosen(half));
        let chosen = [heaviest(Half::has_private_end), heaviest(|_| true)]
            .into_iter()
            .flatten();
        let both = chosen.flat_map(|(half, _)| [half.ends, [half.ends[1], half.ends[0]]]);
        let networks = both.flat_map(|ends| networks(ends.map(|(address, _)| address)));
        headings.chain(networks).map(Some).chain([None]).collect()
    }

    /// The halves, with both names of a translated connection as one.
    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut names = HashMap::<_, _, RandomState>::default();
        for ((before, after), _) in self.translated.iter().filter(|(_, packets)| **packets > 0) {
            let [before, after] = [before, after].map(|number| reading(self.half(*number)));
            let (name, other) = if key(before) <= key(after) {
                (before, after)
            } else {
                (after, before)
            };
            names.insert(other, name);
            names.insert(reverse(other), reverse(name));
        }
        let mut connections = HashMap::<_, _, RandomState>::default();
        let piece = |(half, load)| {
            let own = reading(half);
            let name = *names.get(&own).unwrap_or(&own);
            let next = connections.len();
            let connection = *connections.entry(key(name)).or_insert(next);
            Piece {
                half,
                load,
                connection,
                is_forward: name.1[0] <= name.1[1],
            }
        };
        self.halves
            .iter()
            .map(|(half, load)| (half, *load))
            .map(piece)
            .collect()
    }

    fn extent_of(&self, pieces: &[Piece<'_>], candidate: Candidate) -> Extent {
        let bytes: Vec<u64> = pieces.iter().map(|piece| piece.bytes(candidate)).collect();
        let ways = ways(pieces, candidate);
        let mut interfaces = HashMap::<u32, u64, RandomState>::default();
        for (piece, bytes) in pieces.iter().zip(&bytes).filter(|(_, bytes)| **bytes > 0) {
            piece
                .half
                .point
                .0
                .into_iter()
                .for_each(|interface| *interfaces.entry(interface).or_default() += bytes);
        }
        let lighter = ways.iter().map(|[one, other]| *one.min(other));
        let copies = self
            .translated
            .iter()
            .filter(|((one, other), _)| bytes[*one as usize] > 0 && bytes[*other as usize] > 0);
        let of_copies: u64 = copies
            .clone()
            .map(|((one, other), _)| bytes[*one as usize].min(bytes[*other as usize]))
            .sum();
        let elsewhere =
            interfaces.values().sum::<u64>() - interfaces.values().copied().max().unwrap_or(0);
        Extent {
            bytes: bytes.iter().sum(),
            connections: lighter.clone().filter(|bytes| *bytes > 0).count(),
            interfaces: interfaces.len(),
            translated: copies.map(|(_, packets)| packets).sum(),
            lighter: lighter.clone().sum(),
            excess: lighter.sum::<u64>() + of_copies + elsewhere,
        }
    }
}

/// Bytes of each connection's two directions under a selection. A sender's packets to itself have
/// one direction.
fn ways(pieces: &[Piece<'_>], candidate: Candidate) -> Vec<[u64; 2]> {
    let mut ways = vec![[0; 2]; pieces.len()];
    for piece in pieces
        .iter()
        .filter(|piece| piece.half.ends[0] != piece.half.ends[1])
    {
        ways[piece.connection][usize::from(piece.is_forward)] += piece.bytes(candidate);
    }
    ways
}

impl Piece<'_> {
    /// Bytes under a selection.
    fn bytes(&self, candidate: Candidate) -> u64 {
        // A copy is replayed if its original is not selected.
        let keeps_copies =
            candidate.interface.is_some() || matches!(candidate.side, Some(Side::Heading(_)));
        let load = self.load.replayed + if keeps_copies { self.load.copies } else { 0 };
        if candidate.holds(self.half) { load } else { 0 }
    }
}

impl Candidate {
    /// Of equals the first one is chosen: packets that come in have not waited in this router's
    /// queue yet.
    const fn rank(self) -> u8 {
        match (self.interface, self.side) {
            (Some(_), Some(Side::Heading(Heading::In))) => 0,
            (Some(_), Some(Side::Heading(Heading::Out))) => 1,
            (Some(_), None) => 2,
            (None, Some(Side::Heading(_))) => 3,
            (None, _) => 4,
            (Some(_), Some(_)) => 5,
        }
    }

    fn holds(self, half: &Half) -> bool {
        self.interface
            .is_none_or(|interface| half.point.0 == Some(interface))
            && self.side.is_none_or(|side| side.holds(half))
    }
}

impl Side {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Heading(Heading::In) => Self::Heading(Heading::Out),
            Self::Heading(Heading::Out) => Self::Heading(Heading::In),
            Self::From(network) => Self::To(network),
            Self::To(network) => Self::From(network),
        }
    }

    pub(crate) fn matches(self, tap: &Tap<'_>, headers: Option<&Headers>) -> bool {
        match self {
            Self::From(network) => headers.is_some_and(|headers| network.contains(headers.source)),
            Self::To(network) => {
                headers.is_some_and(|headers| network.contains(headers.destination))
            }
            Self::Heading(heading) => tap.heading == Some(heading),
        }
    }

    fn holds(self, half: &Half) -> bool {
        match self {
            Self::Heading(heading) => half.point.1 == Some(heading),
            Self::From(network) => network.contains(half.ends[0].0),
            Self::To(network) => network.contains(half.ends[1].0),
        }
    }
}

/// As `--direction` takes the text.
impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heading(Heading::In) => formatter.write_str("in"),
            Self::Heading(Heading::Out) => formatter.write_str("out"),
            Self::From(network) => write!(formatter, "from {}", network.short()),
            Self::To(network) => write!(formatter, "to {}", network.short()),
        }
    }
}

fn reading(half: &Half) -> (u8, Ends) {
    (half.protocol, half.ends)
}

fn reverse((protocol, [source, destination]): (u8, Ends)) -> (u8, Ends) {
    (protocol, [destination, source])
}

/// Equal for both directions of a connection.
fn key((protocol, ends): (u8, Ends)) -> (u8, Ends) {
    (protocol, [ends[0].min(ends[1]), ends[0].max(ends[1])])
}

/// Directions that hold the packets of a half. First come the networks of the private end if only
/// one is private, otherwise those of the receiver.
fn networks([source, destination]: [IpAddr; 2]) -> Vec<Side> {
    let from = (Side::From as fn(_) -> _, source);
    let to = (Side::To as fn(_) -> _, destination);
    let ends = if is_private(source) && !is_private(destination) {
        [from, to]
    } else {
        [to, from]
    };
    let networks = |(side, address): (fn(Network) -> Side, IpAddr)| {
        let prefixes: &[u8] = match (is_private(address), address.is_ipv4()) {
            (true, true) => &[24, 16, 8, 32],
            (true, false) => &[64, 48, 128],
            (false, true) => &[32],
            (false, false) => &[128],
        };
        prefixes
            .iter()
            .map(move |prefix| side(Network::around(address, *prefix)))
    };
    ends.into_iter().flat_map(networks).collect()
}

/// RFC 1918 and RFC 4193.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

//! Mixtures: several directions, interfaces or copies share one replayed link. We find the
//! selection that leaves one direction of one link.
//!
//! We count each direction of a connection at each point (interface and direction) where its
//! packets were captured, and on each Ethernet hop. At the end we try candidates for a selection on
//! these counts: an interface, a direction, or both. The best candidate leaves no mixture and keeps
//! the most bytes. If one station's wire was captured (`wire.rs`), its link-layer address tells
//! directions apart, and is itself a candidate. If a network selects the same packets, we name the
//! network instead. Without link-layer addresses all private networks together count as one,
//! because they lie on the same side of a router. A network that then leaves connections between
//! other ends aside is no answer, because nothing says whether they share its link.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use foldhash::quality::RandomState;

use crate::capture::{Frame, Heading, LinkType};
use crate::conditions::Network;
use crate::duplicates::CapturePoint;
use crate::headers::{Headers, is_of_group};
use crate::wire::{Hop, Station, station};

/// Source and destination, each with its port.
pub(crate) type Ends = [(IpAddr, u16); 2];

/// One direction of a connection, at one point where its packets were captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) point: CapturePoint,
    pub(crate) protocol: u8,
    pub(crate) ends: Ends,
    /// None for packets without ends, because a flood of ARP has so many hops that it would leave
    /// no room for others.
    pub(crate) hop: Option<Hop>,
    /// The interface is one of several links. An interface without a name may instead be one of
    /// several files from one link, because `mergecap` numbers these.
    pub(crate) is_at_link: bool,
}

/// How many bytes a half has.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    replayed: u64,
    /// Bytes left out because they are copies of packets captured elsewhere.
    copies: u64,
}

/// The most halves that we count one by one. As many again may be networks of later flows.
const MOST_HALVES: usize = 131_072;
/// The most interfaces that we try.
const TRIED: usize = 8;
/// The most addresses that we try, besides those of the heaviest connections.
const ADDRESSES: usize = 4;
/// A hundredth of the packets. Fewer copies than that may be chance.
const MANY: u64 = 100;
/// A thousandth of the bytes. The other direction does no harm with fewer, such as the answers to a
/// ping.
pub(crate) const HARMLESS: u64 = 1000;

/// A quarter of the bytes. The larger of two directions has at least half of them.
const SLIVER: u64 = 4;
/// A twentieth of the bytes. Less of a mixture than that hardly changes a figure.
const TOLERATED: u64 = 20;

/// The halves of a capture's connections, and copies of them under other addresses.
#[derive(Debug, Default)]
pub(crate) struct Mixture {
    numbers: HashMap<Half, u32, RandomState>,
    /// The last packet's half, kept because packets often come in trains.
    last: Option<u32>,
    halves: Vec<(Half, Load)>,
    /// Pairs of halves, before and after address translation, with how many packets were seen in
    /// both.
    translated: BTreeMap<(u32, u32), u64>,
    packets: u64,
}

/// What a selection leaves of a mixture.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    bytes: u64,
    /// How many connections have both directions.
    pub(crate) connections: usize,
    pub(crate) interfaces: usize,
    /// How many packets have a copy under other addresses.
    pub(crate) translated: u64,
    /// Bytes in the lighter direction, added up over connections, or over wires if that is more.
    lighter: u64,
    /// The lighter direction has more bytes on wires than in connections.
    pub(crate) is_of_wires: bool,
    /// Bytes that may belong to another direction or link, because nothing tells.
    unclear: u64,
    /// Bytes to leave out so that one direction of one link remains.
    excess: u64,
}

impl Extent {
    /// Whether both directions share the link, one of them with more than a few packets.
    pub(crate) const fn has_directions(&self) -> bool {
        self.lighter > 0 && self.lighter * HARMLESS >= self.bytes
    }

    /// Whether at most a twentieth of the bytes may belong to another direction or link.
    pub(crate) const fn is_nearly_clear(&self) -> bool {
        self.unclear * TOLERATED <= self.bytes
    }

    /// The bytes that are left, minus three times those of a mixture.
    const fn worth(&self) -> u64 {
        self.bytes.saturating_sub(3 * self.excess)
    }
}

/// The selection that mends a mixture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remedy {
    pub(crate) selection: Candidate,
    pub(crate) bytes: u64,
    /// How many bytes the whole mixture has.
    pub(crate) of: u64,
    /// One direction of one link is left.
    pub(crate) is_pure: bool,
    /// So little of the mixture is left that figures hold.
    pub(crate) is_good: bool,
    /// What selects the other direction, and its bytes.
    pub(crate) other: Option<(Candidate, u64)>,
}

/// A selection that we try.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) interface: Option<u32>,
    pub(crate) side: Option<Side>,
}

/// A direction that packets go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Heading(Heading),
    From(End),
    To(End),
    /// Packets from private addresses to public ones.
    FromPrivate,
    /// Packets from public addresses to private ones.
    ToPrivate,
    /// Frames that a station sends.
    FromStation(Station),
    /// Frames that reach a station.
    ToStation(Station),
}

/// Where packets come from or go to. It is a network, or one port of an address, because both ends
/// of a connection may have the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) network: Network,
    pub(crate) port: Option<u16>,
}

/// A half of a connection. The connection may have several names.
struct Piece<'a> {
    half: &'a Half,
    load: Load,
    connection: usize,
    is_forward: bool,
    /// Whether it comes from the station whose wire was captured. None if there is no such station.
    is_from_station: Option<bool>,
}

/// Hashes fewer and larger pieces than a derived hash.
impl Hash for Half {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let [(source, source_port), (destination, destination_port)] = self.ends;
        let ports = u64::from(source_port) << 16 | u64::from(destination_port);
        let (interface, heading) = self.point;
        let interface = interface.map_or(0, |number| u64::from(number) + 1);
        hasher.write_u64(ports << 32 | u64::from(self.protocol));
        hasher.write_u64(interface << 2 | heading.map_or(0, |heading| heading as u64 + 1));
        if let Some(hop) = self.hop {
            hasher.write_u64(hop.from.number());
            hasher.write_u64(hop.to.map_or(0, |to| to.number() + 1));
        }
        for address in [source, destination] {
            match address {
                IpAddr::V4(address) => hasher.write_u32(address.to_bits()),
                IpAddr::V6(address) => hasher.write_u128(address.to_bits()),
            }
        }
    }
}

impl Half {
    /// The half that a packet belongs to. Packets that are not IP have no ends.
    pub(crate) fn new(frame: &Frame<'_>, headers: Option<&Headers>) -> Self {
        let nowhere = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let (protocol, ends) = match headers {
            Some(headers) => {
                let source = (headers.source, headers.source_port);
                let destination = (headers.destination, headers.destination_port);
                (headers.protocol, [source, destination])
            }
            None => (0, [nowhere; 2]),
        };
        Self {
            point: (frame.tap.interface, frame.tap.heading),
            protocol,
            ends,
            hop: headers.and_then(|_| Hop::of(frame)),
            is_at_link: frame.tap.name.is_some_and(|name| !name.is_empty())
                || frame.link == LinkType::LINUX_SLL2,
        }
    }

    /// The half between both ends' networks, without ports.
    fn of_networks(self) -> Self {
        let ends = self.ends.map(|(address, _)| {
            let network = match address {
                IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !0xff).into(),
                IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            };
            (network, 0)
        });
        Self { ends, ..self }
    }

    /// Whether the packets have addresses. Others have no direction.
    fn has_ends(&self) -> bool {
        self.ends[0] != self.ends[1] || !self.ends[0].0.is_unspecified()
    }

    /// Whether a host talks to itself.
    fn is_of_one_host(&self) -> bool {
        let [source, destination] = self.ends.map(|(address, _)| address);
        source == destination || source.is_loopback() || destination.is_loopback()
    }

    fn has_private_end(&self) -> bool {
        is_private(self.ends[0].0) != is_private(self.ends[1].0)
    }

    /// Directions that hold a half's packets, by the port at one end. The lower port comes first,
    /// because it is more likely a server's.
    fn by_port(&self) -> [Side; 2] {
        let [(source, from), (destination, to)] = self.ends;
        let from_it = Side::From(End::at(source, from));
        let to_it = Side::To(End::at(destination, to));
        if from < to {
            [from_it, to_it]
        } else {
            [to_it, from_it]
        }
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
    /// Counts a packet, or a copy that is not replayed. None if there are too many halves. Then the
    /// packet counts between two networks, so that we still judge directions by all bytes.
    pub(crate) fn count(&mut self, half: Half, bytes: u32, is_replayed: bool) -> Option<u32> {
        let known = self.number(half, MOST_HALVES);
        let number = match known {
            Some(number) => number,
            None => self.number(half.of_networks(), 2 * MOST_HALVES)?,
        };
        self.last = Some(number);
        let load = &mut self.halves[number as usize].1;
        *if is_replayed {
            &mut load.replayed
        } else {
            &mut load.copies
        } += u64::from(bytes);
        self.packets += u64::from(is_replayed);
        known
    }

    /// A half's number, which may be new. None if there are too many halves already.
    fn number(&mut self, half: Half, most: usize) -> Option<u32> {
        if let Some(last) = self.last
            && *self.half(last) == half
        {
            return Some(last);
        }
        match self.numbers.entry(half) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(new) if self.halves.len() < most => {
                self.halves.push((half, Load::default()));
                Some(*new.insert(self.halves.len() as u32 - 1))
            }
            Entry::Vacant(_) => None,
        }
    }

    pub(crate) fn half(&self, number: u32) -> &Half {
        &self.halves[number as usize].0
    }

    /// Notes that one of the first half's packets was captured again as one of the second's.
    pub(crate) fn translate(&mut self, pair: (u32, u32)) {
        *self.translated.entry(pair).or_default() += 1;
    }

    /// Takes back one such note, because neither packet was a copy.
    pub(crate) fn translate_not(&mut self, pair: (u32, u32)) {
        if let Some(packets) = self.translated.get_mut(&pair) {
            *packets -= 1;
        }
    }

    /// How all replayed packets mix.
    pub(crate) fn extent(&self) -> Extent {
        self.extent_of(&self.pieces(), Candidate::default())
    }

    /// Whether an extent is worth a note.
    pub(crate) fn is_mixed(&self, extent: &Extent) -> bool {
        extent.has_directions() || extent.interfaces > 1 || self.are_many(extent.translated)
    }

    /// Whether these are too many packets to be equal by chance.
    pub(crate) fn are_many(&self, translated: u64) -> bool {
        translated > 0 && translated * MANY * 2 >= self.packets
    }

    /// The selection that leaves one direction of one link, or comes nearest to it. An interface
    /// and a direction that are already selected stay.
    pub(crate) fn remedy(&self, has_interface: bool, has_direction: bool) -> Option<Remedy> {
        let pieces = self.pieces();
        let tried = self.tried(&pieces, has_interface, has_direction);
        let by_networks = self.best(tried.iter().filter(|trial| !trial.is_of_station()));
        let by_all = self.best(tried.iter())?;
        let chosen = match by_networks {
            Some(best) if best.is_as_good_as(&by_all) => best,
            _ => by_all,
        };
        let Best { trial, is_pure } = chosen;
        let of = self.extent_of(&pieces, Candidate::default()).bytes;
        if trial.candidate == Candidate::default() {
            return None;
        }
        // If nothing tells which of two directions is the link's, the light one of one connection
        // may be the heavy one of the next.
        let is_clear = is_pure || trial.extent.is_nearly_clear();
        let is_sliver = trial.is_sliver(bytes_at_links_of(&pieces, trial.candidate));
        let is_whole = bytes_aside(&pieces, trial.candidate) * TOLERATED <= of;
        Some(Remedy {
            selection: trial.candidate,
            bytes: trial.extent.bytes,
            of,
            is_pure,
            is_good: is_clear && !is_sliver && is_whole,
            other: self.other(&pieces, &tried, trial.candidate),
        })
    }

    /// The trial that keeps the most bytes without any mixture, or comes nearest to that.
    fn best<'a>(&self, tried: impl Iterator<Item = &'a Trial> + Clone) -> Option<Best<'a>> {
        // One selection keeps the most bytes for the least mixture, another the most without any
        // mixture.
        let nearest = most(tried.clone(), Extent::worth)?;
        let pure = most(tried, |extent| {
            if self.is_mixed(extent) {
                0
            } else {
                extent.bytes
            }
        })?;
        let is_pure =
            !self.is_mixed(&pure.extent) && pure.extent.bytes * 2 >= nearest.extent.worth();
        let trial = if is_pure { pure } else { nearest };
        Some(Best { trial, is_pure })
    }

    /// All candidates that change something. Among equals, the preferred one comes first.
    fn tried(&self, pieces: &[Piece<'_>], has_interface: bool, has_direction: bool) -> Vec<Trial> {
        let all = self.extent_of(pieces, Candidate::default()).bytes;
        let interfaces = if has_interface {
            vec![None]
        } else {
            self.interfaces()
        };
        let mut tried = Vec::new();
        for interface in interfaces {
            let sides = if has_direction {
                vec![None]
            } else {
                self.sides(interface, has_wire_both_ways(pieces, interface))
            };
            for side in sides {
                let candidate = Candidate { interface, side };
                let extent = self.extent_of(pieces, candidate);
                let changes = extent.bytes != all || !self.is_mixed(&extent);
                if candidate == Candidate::default() || changes {
                    tried.push(Trial { candidate, extent });
                }
            }
        }
        tried.sort_by_key(|trial| trial.candidate.rank());
        tried
    }

    /// What selects the other direction, and its bytes. It is the reverse of the chosen one, or the
    /// heaviest selection that is no mixture and has nothing in common with the chosen one.
    fn other(
        &self,
        pieces: &[Piece<'_>],
        tried: &[Trial],
        candidate: Candidate,
    ) -> Option<(Candidate, u64)> {
        let chosen = ways(pieces, candidate);
        if let Some(reverse) = candidate.reverse() {
            let extent = self.extent_of(pieces, reverse);
            let is_apart = !overlap(&ways(pieces, reverse), &chosen);
            if extent.bytes > 0 && (is_apart || candidate.is_of_station()) {
                return Some((reverse, extent.bytes));
            }
        }
        let mut pure = Vec::new();
        for trial in tried {
            if trial.extent.bytes > 0 && !self.is_mixed(&trial.extent) {
                pure.push(trial);
            }
        }
        pure.sort_by_key(|trial| Reverse(trial.extent.bytes));
        for trial in pure {
            if !overlap(&ways(pieces, trial.candidate), &chosen) {
                return Some((trial.candidate, trial.extent.bytes));
            }
        }
        None
    }

    /// The busiest interfaces first, because an interface has a direction of its own. Then none.
    fn interfaces(&self) -> Vec<Option<u32>> {
        let mut bytes = HashMap::<u32, u64, RandomState>::default();
        for (half, load) in &self.halves {
            if let Some(interface) = half.point.0 {
                *bytes.entry(interface).or_default() += load.replayed + load.copies;
            }
        }
        let mut all: Vec<_> = bytes.into_iter().collect();
        all.sort_by_key(|(interface, bytes)| (Reverse(*bytes), *interface));
        all.truncate(TRIED);
        let mut interfaces = Vec::new();
        // A single interface tells nothing apart.
        if all.len() > 1 {
            for (interface, _) in all {
                interfaces.push(Some(interface));
            }
        }
        interfaces.push(None);
        interfaces
    }

    /// The sides to try, in this order: the capture's own directions, the networks at the ends of a
    /// heavy half (of a connection with both directions, and first one in a private network), the
    /// wire's station, and none.
    fn sides(&self, interface: Option<u32>, has_wire: bool) -> Vec<Option<Side>> {
        let mut halves = Vec::new();
        let mut readings = HashSet::<_, RandomState>::default();
        let mut hops = BTreeMap::new();
        for (half, load) in &self.halves {
            if interface.is_none() || half.point.0 == interface {
                halves.push((half, load));
                readings.insert(reading(half));
                if half.has_ends() {
                    *hops.entry(half.hop).or_default() += load.replayed + load.copies;
                }
            }
        }
        let mut sides = Vec::new();
        for heading in [Heading::In, Heading::Out] {
            let side = Side::Heading(heading);
            let held = halves.iter().filter(|(half, _)| side.holds(half)).count();
            if held > 0 && held < halves.len() {
                sides.push(Some(side));
            }
        }
        // Halves of connections with both directions, the heaviest first.
        halves.retain(|(half, _)| half.has_ends());
        // If a station tells directions apart, packets that nobody answers have a direction too.
        let station = station(&hops).filter(|_| has_wire);
        let mut addresses = match station {
            Some(_) => heaviest_addresses(&halves),
            None => Vec::new(),
        };
        halves.retain(|(half, _)| readings.contains(&reverse(reading(half))));
        halves.sort_by_key(|(half, load)| Reverse((load.replayed + load.copies, half.ends)));
        let mut heaviest_private = halves.iter().filter(|(half, _)| half.has_private_end());
        for (half, _) in heaviest_private.next().into_iter().chain(halves.first()) {
            let [source, destination] = half.ends.map(|(address, _)| address);
            for side in networks([source, destination]) {
                sides.push(Some(side));
            }
            for side in networks([destination, source]) {
                sides.push(Some(side));
            }
            if source == destination {
                for side in half.by_port() {
                    sides.push(Some(side));
                }
            }
        }
        addresses.extend(heaviest_addresses(&halves));
        for address in addresses {
            for network in around(address) {
                for side in [Side::To(network.into()), Side::From(network.into())] {
                    if !sides.contains(&Some(side)) {
                        sides.push(Some(side));
                    }
                }
            }
        }
        if let Some(station) = station {
            sides.push(Some(Side::ToStation(station)));
            sides.push(Some(Side::FromStation(station)));
        }
        if hops.keys().all(Option::is_none) {
            sides.push(Some(Side::ToPrivate));
            sides.push(Some(Side::FromPrivate));
        }
        sides.push(None);
        sides
    }

    /// The halves. A translated connection's two names count as one.
    fn pieces(&self) -> Vec<Piece<'_>> {
        // Of a connection's two names, the lesser stands for both.
        let mut names = HashMap::<_, _, RandomState>::default();
        for ((before, after), packets) in &self.translated {
            if *packets == 0 {
                continue;
            }
            let [before, after] = [before, after].map(|number| reading(self.half(*number)));
            let (name, other) = if key(before) <= key(after) {
                (before, after)
            } else {
                (after, before)
            };
            names.insert(other, name);
            names.insert(reverse(other), reverse(name));
        }
        let mut connections =
            HashMap::with_capacity_and_hasher(self.halves.len(), RandomState::default());
        let mut pieces = Vec::with_capacity(self.halves.len());
        for (half, load) in &self.halves {
            let own = reading(half);
            let name = *names.get(&own).unwrap_or(&own);
            let next = connections.len();
            pieces.push(Piece {
                half,
                load: *load,
                connection: *connections.entry(key(name)).or_insert(next),
                is_forward: name.1[0] <= name.1[1],
                is_from_station: None,
            });
        }
        tell_by_stations(&mut pieces);
        pieces
    }

    fn extent_of(&self, pieces: &[Piece<'_>], candidate: Candidate) -> Extent {
        let mut extent = Extent::default();
        // The bytes of each piece, and of each interface.
        let mut bytes = Vec::with_capacity(pieces.len());
        let mut interfaces = HashMap::<u32, u64, RandomState>::default();
        let mut wires = HashMap::<Option<u32>, [u64; 2], RandomState>::default();
        for piece in pieces {
            let selected = piece.bytes(candidate);
            bytes.push(selected);
            // This holds for most pieces under most candidates.
            if selected == 0 {
                continue;
            }
            // Frames that are not IP have no direction, so a candidate is no worse for leaving them
            // out.
            extent.bytes += if piece.half.has_ends() { selected } else { 0 };
            if let Some(interface) = piece.half.point.0
                && piece.half.is_at_link
            {
                *interfaces.entry(interface).or_default() += selected;
            }
            if let Some(is_from_station) = piece.is_from_station
                && piece.half.has_ends()
            {
                let wire = wires.entry(piece.half.point.0).or_default();
                wire[usize::from(is_from_station)] += selected;
            }
        }
        // Connections with both directions.
        for [one, other] in ways_of(pieces, &bytes) {
            let lighter = one.min(other);
            extent.connections += usize::from(lighter > 0);
            extent.lighter += lighter;
        }
        let mut of_wires = 0;
        for [one, other] in wires.values() {
            of_wires += one.min(other);
        }
        extent.is_of_wires = of_wires > extent.lighter;
        extent.lighter = extent.lighter.max(of_wires);
        // Copies under other addresses.
        let mut of_copies = 0;
        for ((one, other), packets) in &self.translated {
            let common = bytes[*one as usize].min(bytes[*other as usize]);
            if common > 0 {
                extent.translated += packets;
                of_copies += common;
            }
        }
        // All interfaces but the busiest.
        let mut elsewhere = 0;
        let mut busiest = 0;
        for bytes in interfaces.values() {
            elsewhere += bytes;
            busiest = busiest.max(*bytes);
        }
        extent.interfaces = interfaces.len();
        let of_others = of_copies + elsewhere - busiest;
        extent.excess = extent.lighter + of_others;
        // If stations tell directions apart, we know the heavier one.
        let of_stations = if wires.is_empty() { 0 } else { extent.lighter };
        extent.unclear = of_others + of_stations + both_ways_elsewhere(pieces, &bytes);
        extent
    }
}

/// The addresses with the most bytes, such as a host's that talks to many others.
fn heaviest_addresses(halves: &[(&Half, &Load)]) -> Vec<IpAddr> {
    let mut bytes = BTreeMap::<IpAddr, u64>::new();
    for (half, load) in halves {
        for (address, _) in half.ends {
            *bytes.entry(address).or_default() += load.replayed + load.copies;
        }
    }
    let mut all: Vec<_> = bytes.into_iter().collect();
    all.sort_by_key(|(address, bytes)| (Reverse(*bytes), *address));
    all.truncate(ADDRESSES);
    let mut heaviest = Vec::new();
    for (address, _) in all {
        heaviest.push(address);
    }
    heaviest
}

/// Whether a station tells two directions apart, at this interface or at any.
fn has_wire_both_ways(pieces: &[Piece<'_>], interface: Option<u32>) -> bool {
    let mut ways = [false; 2];
    for piece in pieces {
        let is_there = interface.is_none() || piece.half.point.0 == interface;
        if let Some(is_from_station) = piece.is_from_station
            && is_there
        {
            ways[usize::from(is_from_station)] = true;
        }
    }
    ways == [true; 2]
}

/// Finds which pieces come from a wire's station and which go to it.
fn tell_by_stations(pieces: &mut [Piece<'_>]) {
    let mut wires = BTreeMap::<Option<u32>, BTreeMap<Option<Hop>, u64>>::new();
    for piece in pieces.iter().filter(|piece| piece.half.has_ends()) {
        let hops = wires.entry(piece.half.point.0).or_default();
        *hops.entry(piece.half.hop).or_default() += piece.load.replayed + piece.load.copies;
    }
    let mut stations = HashMap::<Option<u32>, Station, RandomState>::default();
    for (interface, hops) in &wires {
        if let Some(station) = station(hops) {
            stations.insert(*interface, station);
        }
    }
    // If both directions of connections go in one direction of the wire, they contradict the
    // addresses. Then a tool wrote the addresses, or packets pass twice.
    let mut bytes = HashMap::<Option<u32>, u64, RandomState>::default();
    let mut both = HashMap::<_, [u64; 2], RandomState>::default();
    for piece in &mut *pieces {
        let interface = piece.half.point.0;
        let (Some(station), Some(hop)) = (stations.get(&interface), piece.half.hop) else {
            continue;
        };
        let is_from = hop.from == *station;
        if !is_from && !hop.reaches(*station) {
            continue;
        }
        piece.is_from_station = Some(is_from);
        *bytes.entry(interface).or_default() += piece.load.replayed;
        let ways: &mut [u64; 2] = both
            .entry((interface, piece.connection, is_from))
            .or_default();
        ways[usize::from(piece.is_forward)] += piece.load.replayed;
    }
    let mut against = HashMap::<Option<u32>, u64, RandomState>::default();
    for ((interface, _, _), [one, other]) in &both {
        *against.entry(*interface).or_default() += one.min(other);
    }
    for piece in pieces {
        let interface = &piece.half.point.0;
        let of_both = against.get(interface).copied().unwrap_or_default();
        let all = bytes.get(interface).copied().unwrap_or_default();
        if of_both * TOLERATED > all {
            piece.is_from_station = None;
        }
    }
}

/// A candidate and what it leaves.
struct Trial {
    candidate: Candidate,
    extent: Extent,
}

/// The best among some trials.
struct Best<'a> {
    trial: &'a Trial,
    is_pure: bool,
}

impl Trial {
    const fn is_of_station(&self) -> bool {
        self.candidate.is_of_station()
    }

    /// Whether a network leaves only a small part of the bytes at its links, so that it says little
    /// about them.
    const fn is_sliver(&self, of: u64) -> bool {
        let is_network = matches!(
            (self.candidate.interface, self.candidate.side),
            (None, Some(Side::From(_) | Side::To(_)))
        );
        is_network && self.extent.bytes * SLIVER < of
    }
}

impl Best<'_> {
    /// Whether it keeps nearly all that the other one keeps.
    const fn is_as_good_as(&self, other: &Self) -> bool {
        let less = other
            .trial
            .extent
            .bytes
            .saturating_sub(self.trial.extent.bytes);
        (self.is_pure || !other.is_pure) && less * HARMLESS <= other.trial.extent.bytes
    }
}

/// The trial for which a figure is largest, among those that leave some bytes. Among equals, the
/// first.
fn most<'a>(
    tried: impl Iterator<Item = &'a Trial>,
    figure: impl Fn(&Extent) -> u64,
) -> Option<&'a Trial> {
    let mut found: Option<(&Trial, u64)> = None;
    for trial in tried {
        let figure = figure(&trial.extent);
        let is_more = found.is_none_or(|(_, most)| figure > most);
        if trial.extent.bytes > 0 && is_more {
            found = Some((trial, figure));
        }
    }
    found.map(|(trial, _)| trial)
}

/// Whether two selections share a direction of some connection.
fn overlap(one: &[[u64; 2]], other: &[[u64; 2]]) -> bool {
    for (own, others) in one.iter().zip(other) {
        if own[0].min(others[0]) > 0 || own[1].min(others[1]) > 0 {
            return true;
        }
    }
    false
}

/// How many bytes each direction of each connection has under a selection. What an end sends to
/// itself counts in neither.
fn ways(pieces: &[Piece<'_>], candidate: Candidate) -> Vec<[u64; 2]> {
    let mut bytes = Vec::with_capacity(pieces.len());
    for piece in pieces {
        bytes.push(piece.bytes(candidate));
    }
    ways_of(pieces, &bytes)
}

/// The same, from the bytes of each piece.
fn ways_of(pieces: &[Piece<'_>], bytes: &[u64]) -> Vec<[u64; 2]> {
    let mut ways = vec![[0; 2]; pieces.len()];
    for (piece, bytes) in pieces.iter().zip(bytes) {
        let [source, destination] = piece.half.ends;
        if *bytes > 0 && source != destination {
            ways[piece.connection][usize::from(piece.is_forward)] += bytes;
        }
    }
    ways
}

/// The links where a selection's packets were captured. None if we do not know them.
fn links_of(
    pieces: &[Piece<'_>],
    candidate: Candidate,
) -> Option<HashSet<Option<u32>, RandomState>> {
    let mut links = HashSet::<_, RandomState>::default();
    let mut are_known = true;
    for piece in pieces {
        if piece.half.has_ends() && piece.bytes(candidate) > 0 {
            links.insert(piece.half.point.0);
            are_known &= piece.half.is_at_link;
        }
    }
    are_known.then_some(links)
}

/// Bytes at the links where a selection's packets were captured. All bytes if we do not know the
/// links.
fn bytes_at_links_of(pieces: &[Piece<'_>], candidate: Candidate) -> u64 {
    let links = links_of(pieces, candidate);
    let mut bytes = 0;
    for piece in pieces {
        let link = piece.half.point.0;
        let is_there = links.as_ref().is_none_or(|links| links.contains(&link));
        if piece.half.has_ends() && is_there {
            bytes += piece.bytes(Candidate::default());
        }
    }
    bytes
}

/// Bytes of connections that a network selects in neither direction, at its links and without
/// link-layer addresses. Nothing says in which direction of the link they go, or whether they cross
/// it at all. What a host sends to itself is on no link.
fn bytes_aside(pieces: &[Piece<'_>], candidate: Candidate) -> u64 {
    let Some(reverse) = candidate.reverse() else {
        return 0;
    };
    let links = links_of(pieces, candidate);
    let mut aside = 0;
    for piece in pieces {
        let half = piece.half;
        let is_at_link = links
            .as_ref()
            .is_none_or(|links| links.contains(&half.point.0));
        let is_there = match candidate.interface {
            Some(interface) => half.point.0 == Some(interface),
            None => is_at_link,
        };
        let is_bare = half.hop.is_none() && half.has_ends() && !half.is_of_one_host();
        if is_there && is_bare && !candidate.holds(half) && !reverse.holds(half) {
            aside += piece.bytes(Candidate::default());
        }
    }
    aside
}

/// Bytes of connections that have both directions where no station tells these apart.
fn both_ways_elsewhere(pieces: &[Piece<'_>], bytes: &[u64]) -> u64 {
    let mut elsewhere = bytes.to_vec();
    for (piece, bytes) in pieces.iter().zip(&mut elsewhere) {
        if piece.is_from_station.is_some() {
            *bytes = 0;
        }
    }
    let mut both = 0;
    for [one, other] in ways_of(pieces, &elsewhere) {
        both += if one.min(other) > 0 { one + other } else { 0 };
    }
    both
}

impl Piece<'_> {
    /// The piece's bytes under a selection.
    fn bytes(&self, candidate: Candidate) -> u64 {
        // If its original is not selected, a copy is replayed.
        let keeps_copies =
            candidate.interface.is_some() || matches!(candidate.side, Some(Side::Heading(_)));
        let load = self.load.replayed + if keeps_copies { self.load.copies } else { 0 };
        if candidate.holds(self.half) { load } else { 0 }
    }
}

impl Candidate {
    /// The first of equals is chosen. Packets that come in go first, because they have not yet
    /// waited in this router's queue.
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

    const fn is_of_station(self) -> bool {
        matches!(self.side, Some(Side::FromStation(_) | Side::ToStation(_)))
    }

    /// The reverse direction of a network or a station.
    fn reverse(self) -> Option<Self> {
        let side = self.side.filter(|side| !matches!(side, Side::Heading(_)))?;
        Some(Self {
            side: Some(side.opposite()),
            ..self
        })
    }

    fn holds(self, half: &Half) -> bool {
        let is_there = match self.interface {
            Some(interface) => half.point.0 == Some(interface),
            None => true,
        };
        is_there && self.side.is_none_or(|side| side.holds(half))
    }
}

impl Side {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Heading(Heading::In) => Self::Heading(Heading::Out),
            Self::Heading(Heading::Out) => Self::Heading(Heading::In),
            Self::From(network) => Self::To(network),
            Self::To(network) => Self::From(network),
            Self::FromPrivate => Self::ToPrivate,
            Self::ToPrivate => Self::FromPrivate,
            Self::FromStation(station) => Self::ToStation(station),
            Self::ToStation(station) => Self::FromStation(station),
        }
    }

    pub(crate) fn matches(self, frame: &Frame<'_>, headers: Option<&Headers>) -> bool {
        match self {
            Self::From(end) => {
                headers.is_some_and(|headers| end.contains((headers.source, headers.source_port)))
            }
            Self::To(end) => headers.is_some_and(|headers| {
                end.contains((headers.destination, headers.destination_port))
            }),
            Self::FromPrivate => {
                headers.is_some_and(|headers| is_outbound(headers.source, headers.destination))
            }
            Self::ToPrivate => {
                headers.is_some_and(|headers| is_outbound(headers.destination, headers.source))
            }
            Self::Heading(heading) => frame.tap.heading == Some(heading),
            Self::FromStation(station) => Hop::of(frame).is_some_and(|hop| hop.from == station),
            Self::ToStation(station) => Hop::of(frame).is_some_and(|hop| hop.reaches(station)),
        }
    }

    fn holds(self, half: &Half) -> bool {
        match self {
            Self::Heading(heading) => half.point.1 == Some(heading),
            Self::From(end) => end.contains(half.ends[0]),
            Self::To(end) => end.contains(half.ends[1]),
            Self::FromPrivate => is_outbound(half.ends[0].0, half.ends[1].0),
            Self::ToPrivate => is_outbound(half.ends[1].0, half.ends[0].0),
            Self::FromStation(station) => half.hop.is_some_and(|hop| hop.from == station),
            Self::ToStation(station) => half.hop.is_some_and(|hop| hop.reaches(station)),
        }
    }
}

impl End {
    /// One port at an address.
    fn at(address: IpAddr, port: u16) -> Self {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        Self {
            network: Network::around(address, longest),
            port: Some(port),
        }
    }

    /// Reads a network, an address, or an address with a port. The error is the expected text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(end) = text.parse::<SocketAddr>() {
            return Ok(Self::at(end.ip(), end.port()));
        }
        Network::parse(text).map(Self::from)
    }

    fn contains(self, (address, port): (IpAddr, u16)) -> bool {
        self.network.contains(address) && self.port.is_none_or(|own| own == port)
    }
}

impl From<Network> for End {
    fn from(network: Network) -> Self {
        Self {
            network,
            port: None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network.short();
        match self.port {
            Some(port) if self.network.is_ipv4() => write!(formatter, "{network}:{port}"),
            Some(port) => write!(formatter, "[{network}]:{port}"),
            None => formatter.write_str(&network),
        }
    }
}

/// Writes what `--direction` reads.
impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heading(Heading::In) => formatter.write_str("in"),
            Self::Heading(Heading::Out) => formatter.write_str("out"),
            Self::From(end) => write!(formatter, "from {end}"),
            Self::To(end) => write!(formatter, "to {end}"),
            Self::FromPrivate => formatter.write_str("from private"),
            Self::ToPrivate => formatter.write_str("to private"),
            Self::FromStation(station) => write!(formatter, "from {station}"),
            Self::ToStation(station) => write!(formatter, "to {station}"),
        }
    }
}

fn reading(half: &Half) -> (u8, Ends) {
    (half.protocol, half.ends)
}

fn reverse((protocol, [source, destination]): (u8, Ends)) -> (u8, Ends) {
    (protocol, [destination, source])
}

/// A key that both directions of a connection share.
fn key(reading: (u8, Ends)) -> (u8, Ends) {
    let (_, [source, destination]) = reading;
    if source <= destination {
        reading
    } else {
        reverse(reading)
    }
}

/// Directions that hold a half's packets. If only one end is private its networks come first,
/// otherwise the receiver's.
fn networks([source, destination]: [IpAddr; 2]) -> Vec<Side> {
    let mut networks = Vec::new();
    let from = around(source).map(|network| Side::From(network.into()));
    let to = around(destination).map(|network| Side::To(network.into()));
    if is_private(source) && !is_private(destination) {
        networks.extend(from);
        networks.extend(to);
    } else {
        networks.extend(to);
        networks.extend(from);
    }
    networks
}

/// Networks around an address. A private one gives the usual sizes, the most usual first. A public
/// one gives the address first.
fn around(address: IpAddr) -> impl Iterator<Item = Network> {
    let prefixes: &[u8] = match (is_private(address), address.is_ipv4()) {
        (true, true) => &[24, 16, 8, 32],
        (true, false) => &[64, 48, 128],
        (false, true) => &[32, 24, 16],
        (false, false) => &[128, 64, 48],
    };
    let prefixes = prefixes.iter();
    prefixes.map(move |prefix| Network::around(address, *prefix))
}

/// Whether an address is private (RFC 1918, RFC 4193).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// Whether packets from one address to another leave private networks. Packets to a group may as
/// well come in.
fn is_outbound(from: IpAddr, to: IpAddr) -> bool {
    is_private(from) && !is_private(to) && !is_of_group(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Tap;

    /// Regression: a flood of ARP from ever other stations left no room for connections, and both
    /// directions were replayed.
    #[test]
    fn frames_without_addresses_of_ip_take_one_entry() {
        let mut mixture = Mixture::default();
        for number in 0_u32..1000 {
            let station = number.to_be_bytes();
            let bytes = [&[0xff; 6][..], &[2, 0], &station, &[8, 6], &[0; 46]].concat();
            let frame = Frame {
                time_nanos: 0,
                original_len: 60,
                link: LinkType::ETHERNET,
                bytes: &bytes,
                tap: Tap::default(),
            };
            mixture.count(Half::new(&frame, None), 60, true);
        }
        assert_eq!(mixture.halves.len(), 1);
    }
}

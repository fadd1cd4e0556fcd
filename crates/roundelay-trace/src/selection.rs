//! Packet selection: keeps a capture's packets by time, interface, direction and filter, and leaves
//! out duplicates.
//!
//! Each packet left out counts under the first cause that applies, in the order time, interface,
//! direction, filter, duplicate. So duplicates are copies among the selected packets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;

use roundelay::Fault;
use roundelay_files::Written;
use roundelay_metrics::units::counted;
use serde::Serialize;

use crate::arguments::shell_word;
use crate::capture::{Frame, Heading, Tap};
use crate::conditions::Network;
use crate::duplicates::{Duplicates, Sighting};
use crate::error::DirectionError;
use crate::filter::Filter;
use crate::fingerprint::{DigestKey, Fingerprint};
use crate::headers::{Headers, Unparsable};
use crate::mirror::{Inside, Mirror};
use crate::mixture::{Candidate, End, Half, Mixture, Remedy, Side};
use crate::translated::Translations;
use crate::wire::{Hop, Station};

/// The packets to replay. By default all except duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only packets of this interface.
    pub interface: Option<InterfaceName>,
    /// Only packets of this direction.
    pub direction: Option<Direction>,
    /// Only packets that pass.
    pub filter: Option<Filter>,
    /// Replay duplicates too.
    pub keep_duplicates: bool,
    /// A mirror port copied every packet, so leave out copies captured at the same point too.
    pub mirrored: bool,
    /// If several links or both directions share the capture, choose the direction of one link that
    /// has the larger load, and leave out a mirror port's copies.
    pub chooses: bool,
}

/// What `--direction` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DirectionChoice {
    /// The direction of one link that has the larger load, if the capture holds several.
    #[default]
    Auto,
    /// All packets.
    Both,
    /// This direction.
    One(Direction),
}

/// An interface's name or number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceName {
    text: String,
    number: Option<u32>,
}

/// A direction of packets: `from 192.168.1.0/24`, `to 10.0.0.1`, `in`, `out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction {
    text: String,
    side: Side,
}

/// Packets left out of a comparison, by first cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Packets before or behind the part of the time that is replayed.
    #[serde(skip_serializing_if = "is_zero")]
    pub time: u64,
    /// Packets of other interfaces, or of none.
    pub interface: u64,
    /// Packets of the other direction, or of none.
    pub direction: u64,
    /// Packets that do not pass the filter.
    pub filter: u64,
    /// Copies of packets captured elsewhere before.
    pub duplicates: u64,
    /// Copies by a mirror port.
    pub mirrored: u64,
}

/// A selection and its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelectionSummary {
    /// The selected interface.
    pub interface: Option<String>,
    /// The selected direction.
    pub direction: Option<String>,
    /// The filter.
    pub filter: Option<String>,
    /// Whether duplicates are replayed.
    pub keep_duplicates: bool,
    /// Whether copies by a mirror port are left out.
    pub mirrored: bool,
    /// Whether interface and direction were chosen by their load, not by an option.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
    /// Packets in the capture: those replayed and those left out.
    pub read: u64,
    /// Packets left out.
    pub left_out: LeftOut,
}

/// Signs that several links share the replayed one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mixed {
    /// Replayed packets that look like copies by a mirror port. 0 if they are few enough to be
    /// chance.
    pub mirrored: u64,
    /// Interfaces that have packets, the busiest first. Given if several have replayed ones.
    pub interfaces: Vec<InterfaceLoad>,
    /// Packets of several numbered interfaces are replayed.
    pub has_interfaces: bool,
    /// Copies of packets are replayed, made by a mirror port or behind a router.
    pub has_copies: bool,
    /// Packets that look like copies behind a router that translates addresses. 0 if they are few
    /// enough to be chance.
    pub translated: u64,
    /// Connections captured in both directions. 0 if one direction has only a few packets.
    pub both_ways: usize,
    /// A wire was captured in both directions, but connections do not show this, or not all of it.
    pub has_wire_both_ways: bool,
    /// Both directions of connections, in a tunnel whose packets all go one way.
    pub inside: Option<Inside>,
    /// There is so little mixture that figures hold.
    pub is_slight: bool,
    /// The selection that mends the mixture. None if there is no mixture or no such selection.
    pub cure: Option<Cure>,
    /// The direction that an option leaves out.
    pub opposite: Option<OppositeLoad>,
}

/// One direction of one link, chosen by its load, and what the whole capture holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The options of `compare` that choose the same, as words for a shell.
    pub options: Vec<String>,
    /// One direction of one link is left.
    pub is_pure: bool,
    /// Which part of the bytes was chosen, among all packets with addresses.
    pub part: f64,
    /// What the whole capture mixes.
    pub whole: Box<Mixed>,
    /// The other direction, if it has packets.
    pub other: Option<OtherWay>,
}

impl Chosen {
    /// Whether an interface or a direction was chosen, rather than only leaving out copies.
    pub fn is_of_direction(&self) -> bool {
        self.options.len() > 1
    }
}

/// The load of the direction that was not chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherWay {
    /// The options of `compare` that select it, as words for a shell.
    pub options: Vec<String>,
    /// Its packets.
    pub packets: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Time from its first packet to its last, seconds.
    pub seconds: f64,
    /// Bytes in its busiest second.
    pub busiest: u64,
}

/// How many packets an interface has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceLoad {
    /// The interface as `--interface` takes it.
    pub name: String,
    /// Packets replayed.
    pub replayed: u64,
    /// Packets left out because they are copies of another interface's packets.
    pub copies: u64,
}

/// A selection that leaves one direction of one link, or comes nearest to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cure {
    /// The selection.
    pub chosen: Part,
    /// One direction of one link is left.
    pub is_pure: bool,
    /// The other direction.
    pub other: Option<Part>,
}

/// Part of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The options of `compare` that select it, as words for a shell.
    pub options: Vec<String>,
    /// Its bytes.
    pub bytes: u64,
}

/// The load of the direction that `--direction` leaves out.
#[derive(Debug, Clone, PartialEq)]
pub struct OppositeLoad {
    /// Bits per second on average.
    pub rate: f64,
    /// The options of `compare` that select it, as words for a shell.
    pub options: Vec<String>,
}

/// Applies a selection, packet by packet.
#[derive(Debug)]
pub(crate) struct Selector {
    selection: Selection,
    digest_key: DigestKey,
    duplicates: Duplicates,
    interfaces: Interfaces,
    read: u64,
    left_out: LeftOut,
    mixture: Mixture,
    translations: Translations,
    mirror: Mirror,
    /// The direction that an option leaves out.
    excluded_direction: ExcludedDirection,
    /// The first time and the time after the last, nanoseconds since the epoch.
    between: Option<(i64, i64)>,
    /// The direction that was not chosen, if the selection was chosen by load.
    unchosen_direction: Option<UnchosenDirection>,
    /// Replayed packets that look like copies by a mirror port.
    apparent_mirror_copies: u64,
    /// Packets from unknown link types.
    unknown_link: u64,
    /// Packets known to be received or sent.
    with_heading: u64,
}

/// Why a packet is not replayed, apart from its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Interface,
    Direction,
    Filter,
    /// It is a copy, captured elsewhere before.
    Duplicate,
    /// It is a mirror port's copy.
    Mirrored,
}

/// What interface, direction and filter say about a packet.
#[derive(Debug, Clone, Copy)]
struct Judged {
    /// It is of another interface than the selected one.
    is_elsewhere: bool,
    /// The selected direction, if the packet is of the interface but goes another way.
    missed_side: Option<Side>,
    /// It passes the filter.
    passes: bool,
}

impl Judged {
    /// The first cause that applies.
    const fn cause(&self) -> Option<Cause> {
        if self.is_elsewhere {
            Some(Cause::Interface)
        } else if self.missed_side.is_some() {
            Some(Cause::Direction)
        } else if !self.passes {
            Some(Cause::Filter)
        } else {
            None
        }
    }
}

/// Interfaces by number and name.
#[derive(Debug, Default)]
pub(crate) struct Interfaces(BTreeMap<u32, BTreeMap<String, Selected>>);

/// How many of an interface's packets are selected.
#[derive(Debug, Clone, Copy, Default)]
struct Selected {
    replayed: u64,
    /// Packets left out because they are copies of another interface's packets.
    copies: u64,
}

/// Only a time at least this long has a mean rate, seconds.
const SHORTEST_LOAD: f64 = 0.1;

/// Packets that `--direction` leaves out.
#[derive(Debug, Default)]
struct ExcludedDirection {
    /// How many bytes of the opposite direction pass the filter, without copies, and when they were
    /// captured.
    bytes: u64,
    times: Option<(i64, i64)>,
    duplicates: Duplicates,
    /// Networks at the end that the option asks for, with how many packets each has.
    networks: HashMap<Network, u64>,
    /// The same for stations.
    stations: HashMap<Station, u64>,
}

/// The direction that was not chosen, and its packets.
#[derive(Debug)]
struct UnchosenDirection {
    options: Vec<String>,
    interface: Option<InterfaceName>,
    side: Option<Side>,
    duplicates: Duplicates,
    packets: u64,
    bytes: u64,
    times: Option<(i64, i64)>,
    /// The current second since the Unix epoch, and its bytes.
    second: (i64, u64),
    busiest: u64,
}

/// The most interfaces that we list, because a forged capture could have a new one in each packet.
const MOST_INTERFACES: usize = 65_536;
/// The most networks, or stations, that we count for a message.
const MOST_NETWORKS: usize = 1024;
/// The most interfaces or networks that a message names.
const NAMED: usize = 8;

impl Selector {
    pub(crate) fn new(selection: Selection) -> Self {
        let unchosen_direction = None;
        let between = None;
        let duplicates = Duplicates::default();
        let translations = Translations::default();
        let mixture = Mixture::default();
        let mirror = Mirror::default();
        let interfaces = Interfaces::default();
        let left_out = LeftOut::default();
        let excluded_direction = ExcludedDirection::default();
        let read = 0;
        let apparent_mirror_copies = 0;
        let unknown_link = 0;
        let with_heading = 0;
        Self {
            selection,
            digest_key: DigestKey::default(),
            duplicates,
            translations,
            mixture,
            mirror,
            interfaces,
            excluded_direction,
            between,
            unchosen_direction,
            read,
            left_out,
            apparent_mirror_copies,
            unknown_link,
            with_heading,
        }
    }

    /// A selector for both directions at all interfaces, between the same times.
    pub(crate) fn both_ways(&self) -> Self {
        let mut both = Self::new(Selection {
            interface: None,
            direction: None,
            chooses: false,
            ..self.selection.clone()
        });
        both.between = self.between;
        both
    }

    /// Counts a packet, and returns whether it is replayed.
    pub(crate) fn admit(
        &mut self,
        frame: &Frame<'_>,
        headers: Result<&Headers, Unparsable>,
    ) -> bool {
        self.read += 1;
        self.unknown_link += u64::from(headers == Err(Unparsable::UnknownLink));
        self.with_heading += u64::from(frame.tap.heading.is_some());
        if let Some((from, to)) = self.between
            && !(from..to).contains(&frame.time_nanos)
        {
            self.left_out.time += 1;
            return false;
        }
        let headers = headers.ok();
        let judged = self.judge(frame, headers);
        let is_of_unchosen = match &self.unchosen_direction {
            Some(unchosen) => judged.passes && unchosen.holds(frame, headers),
            None => false,
        };
        // Only packets that may count here or there need a fingerprint.
        let fingerprint = if judged.passes && (!judged.is_elsewhere || is_of_unchosen) {
            Fingerprint::of(frame, &self.digest_key)
        } else {
            None
        };
        let fingerprint = fingerprint.as_ref();
        if is_of_unchosen && let Some(unchosen) = &mut self.unchosen_direction {
            unchosen.count(frame, fingerprint, &self.selection);
        }
        if let Some(side) = judged.missed_side {
            self.excluded_direction
                .count(frame, side, headers, judged.passes, fingerprint);
        }
        let cause = match judged.cause() {
            Some(cause) => Some(cause),
            None => self.cause_of_copy(frame, fingerprint),
        };
        if let Some(cause) = cause {
            self.left_out.count(cause);
        }
        self.count_mixture(frame, headers, fingerprint, cause);
        cause.is_none()
    }

    /// What interface, direction and filter say about a packet.
    fn judge(&self, frame: &Frame<'_>, headers: Option<&Headers>) -> Judged {
        let Selection {
            interface,
            direction,
            filter,
            ..
        } = &self.selection;
        let is_elsewhere = match interface {
            Some(interface) => !interface.is(&frame.tap),
            None => false,
        };
        let missed_side = match direction {
            Some(direction) if !is_elsewhere && !direction.side.matches(frame, headers) => {
                Some(direction.side)
            }
            _ => None,
        };
        Judged {
            is_elsewhere,
            missed_side,
            passes: filter.as_ref().is_none_or(|filter| filter.matches(headers)),
        }
    }

    /// Why a packet is left out as a copy, if it is. Counts replayed packets that look like copies
    /// by a mirror port.
    fn cause_of_copy(
        &mut self,
        frame: &Frame<'_>,
        fingerprint: Option<&Fingerprint>,
    ) -> Option<Cause> {
        let keeps_duplicates = self.selection.keep_duplicates;
        let is_mirrored = self.selection.mirrored;
        if keeps_duplicates && !is_mirrored {
            return None;
        }
        match self.duplicates.sight(frame, fingerprint?, is_mirrored) {
            Sighting::First => None,
            Sighting::Elsewhere if keeps_duplicates => None,
            Sighting::Elsewhere => Some(Cause::Duplicate),
            Sighting::Again if is_mirrored => Some(Cause::Mirrored),
            Sighting::Again => {
                self.apparent_mirror_copies += 1;
                None
            }
            // The second of three equal packets was counted as a copy. The third shows that it was
            // a packet of its own, because a mirror port makes one copy (rule 5 of
            // `duplicates.rs`).
            Sighting::Third => {
                self.apparent_mirror_copies -= 1;
                None
            }
        }
    }

    /// Counts what may show that several links share the replayed one, in replayed packets and in
    /// copies captured elsewhere.
    fn count_mixture(
        &mut self,
        frame: &Frame<'_>,
        headers: Option<&Headers>,
        fingerprint: Option<&Fingerprint>,
        cause: Option<Cause>,
    ) {
        let is_replayed = cause.is_none();
        let is_copy = cause == Some(Cause::Duplicate);
        // Also lists the interface if its packet is left out.
        self.interfaces.count(
            &frame.tap,
            Selected {
                replayed: is_replayed.into(),
                copies: is_copy.into(),
            },
        );
        if is_replayed && let Some(headers) = headers {
            self.mirror.count(frame, headers);
        }
        if is_replayed || is_copy {
            let half = Half::new(frame, headers);
            let half = self.mixture.count(half, frame.original_len, is_replayed);
            if is_replayed && let Some(half) = half {
                self.translations
                    .sight(frame, fingerprint, half, &mut self.mixture);
            }
        }
    }

    /// Leaves out packets before the first time, and from the second time on.
    pub(crate) const fn keep_between(&mut self, times: (i64, i64)) {
        self.between = Some(times);
    }

    /// The times between which packets are kept, nanoseconds since the epoch.
    pub(crate) const fn between(&self) -> Option<(i64, i64)> {
        self.between
    }

    /// The selection that is applied.
    pub(crate) const fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Packets read.
    pub(crate) const fn read(&self) -> u64 {
        self.read
    }

    /// Whether all packets read so far come from unknown link types.
    pub(crate) const fn knows_no_link(&self) -> bool {
        self.unknown_link == self.read
    }

    /// The selection and its effect. None if the capture is replayed as it is, without any option.
    pub(crate) fn summary(&self) -> Option<SelectionSummary> {
        let Selection {
            interface,
            direction,
            filter,
            keep_duplicates,
            mirrored,
            chooses: chosen,
        } = &self.selection;
        let read = self.read;
        let left_out = self.left_out;
        let keep_duplicates = *keep_duplicates;
        let mirrored = *mirrored;
        let chosen = *chosen;
        let interface = interface.as_ref().map(|interface| interface.text.clone());
        let direction = direction.as_ref().map(|direction| direction.text.clone());
        let filter = filter.as_ref().map(Filter::to_string);
        (self.selection != Selection::default() || left_out.total() > 0).then_some(
            SelectionSummary {
                interface,
                direction,
                filter,
                keep_duplicates,
                mirrored,
                chosen,
                read,
                left_out,
            },
        )
    }

    /// Selects one direction of one link, after all packets were read once. The selection stays as
    /// it is if the packets already belong to one.
    pub(crate) fn choose(&self) -> (Selection, Option<Chosen>) {
        let mut selection = Selection {
            chooses: false,
            ..self.selection.clone()
        };
        let mixed = self.mixed();
        let [has_interface, has_direction] =
            [selection.interface.is_some(), selection.direction.is_some()];
        let remedy = match &mixed.cure {
            Some(_) => self.mixture.remedy(has_interface, has_direction),
            None => None,
        };
        let remedy = remedy.filter(|remedy| remedy.is_good);
        let mut options = Vec::new();
        if let Some(remedy) = remedy {
            options = self.words(remedy.selection);
            if let Some(number) = remedy.selection.interface {
                selection.interface = Some(self.interfaces.named(number));
            }
            if let Some(side) = remedy.selection.side {
                let text = side.to_string();
                selection.direction = Some(Direction { text, side });
            }
        }
        if mixed.mirrored > 0 && !selection.keep_duplicates {
            selection.mirrored = true;
            options.push("--mirrored".to_owned());
        }
        if options.is_empty() {
            return (selection, None);
        }
        selection.chooses = true;
        let is_pure = remedy.is_none_or(|remedy| remedy.is_pure);
        let part = remedy.map_or(1.0, |remedy| remedy.bytes as f64 / remedy.of.max(1) as f64);
        let whole = Box::new(mixed);
        let chosen = Chosen {
            options,
            is_pure,
            part,
            whole,
            other: None,
        };
        (selection, Some(chosen))
    }

    /// Whether [`Selector::choose`] would choose anything, by the packets read so far.
    pub(crate) fn would_choose(&self) -> bool {
        self.selection.chooses && self.choose().1.is_some()
    }

    /// The selector after all packets were read once and there was nothing to choose.
    pub(crate) fn settled(mut self) -> Self {
        self.selection.chooses = false;
        self
    }

    /// Also counts another direction's load: the one that [`Selector::choose`] found besides the
    /// chosen one.
    pub(crate) fn watch_other(&mut self, surveyed: &Self) {
        let [has_interface, has_direction] = [
            surveyed.selection.interface.is_some(),
            surveyed.selection.direction.is_some(),
        ];
        let Some(remedy) = surveyed.mixture.remedy(has_interface, has_direction) else {
            return;
        };
        let candidate = match (remedy.other, remedy.selection.side) {
            (Some((candidate, _)), _) => candidate,
            (None, Some(side)) => Candidate {
                interface: remedy.selection.interface,
                side: Some(side.opposite()),
            },
            (None, None) => return,
        };
        let interface = match candidate.interface {
            Some(number) => Some(surveyed.interfaces.named(number)),
            None => self.selection.interface.clone().filter(|_| has_interface),
        };
        self.unchosen_direction = Some(UnchosenDirection {
            options: surveyed.words(candidate),
            interface,
            side: candidate.side,
            duplicates: Duplicates::default(),
            packets: 0,
            bytes: 0,
            times: None,
            second: (0, 0),
            busiest: 0,
        });
    }

    /// The load of the direction that was not chosen. None if it has no packets.
    pub(crate) fn other_way(&self) -> Option<OtherWay> {
        let unchosen = self.unchosen_direction.as_ref()?;
        let (first, last) = unchosen.times?;
        Some(OtherWay {
            options: unchosen.options.clone(),
            packets: unchosen.packets,
            bytes: unchosen.bytes,
            seconds: last.abs_diff(first) as f64 / 1e9,
            busiest: unchosen.busiest.max(unchosen.second.1),
        })
    }

    /// Signs that several links share the replayed one, and what mends this.
    pub(crate) fn mixed(&self) -> Mixed {
        let extent = self.mixture.extent();
        let mirrored = self.mirrored_copies();
        let is_mixed = self.mixture.is_mixed(&extent);
        let has_copies = mirrored > 0 || self.mixture.are_many(extent.translated);
        let [has_interface, has_direction] = [
            self.selection.interface.is_some(),
            self.selection.direction.is_some(),
        ];
        let remedy = if is_mixed {
            self.mixture.remedy(has_interface, has_direction)
        } else {
            None
        };
        Mixed {
            mirrored,
            interfaces: self.interfaces.shared(),
            has_interfaces: extent.interfaces > 1,
            has_copies,
            translated: if self.mixture.are_many(extent.translated) {
                extent.translated
            } else {
                0
            },
            both_ways: if extent.has_directions() {
                extent.connections
            } else {
                0
            },
            inside: if extent.has_directions() {
                None
            } else {
                self.mirror.inside()
            },
            has_wire_both_ways: extent.has_directions() && extent.is_of_wires,
            is_slight: extent.is_nearly_clear() && mirrored == 0,
            cure: remedy.map(|remedy| self.cure(remedy)),
            opposite: self.opposite_load(),
        }
    }

    fn cure(&self, remedy: Remedy) -> Cure {
        let other = remedy.other.map(|(candidate, bytes)| Part {
            options: self.words(candidate),
            bytes,
        });
        Cure {
            chosen: Part {
                options: self.words(remedy.selection),
                bytes: remedy.bytes,
            },
            is_pure: remedy.is_pure,
            other,
        }
    }

    /// The options that make a selection.
    fn words(&self, candidate: Candidate) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(number) = candidate.interface {
            words.push("--interface".to_owned());
            words.push(self.interfaces.label(number));
        }
        if let Some(side) = candidate.side {
            words.extend(side_words(side));
        }
        words
    }

    /// The load of the direction that is left out. None for `in` and `out`, because on a router the
    /// other direction comes in at another interface, before the queue.
    fn opposite_load(&self) -> Option<OppositeLoad> {
        let side = self.selection.direction.as_ref()?.side;
        Some(OppositeLoad {
            rate: self.excluded_direction.load()?,
            options: side_words(side.opposite()).to_vec(),
        })
    }

    /// Packets that look like copies by a mirror port. 0 if they are few enough to be chance.
    fn mirrored_copies(&self) -> u64 {
        let replayed = self.read - self.left_out.total();
        // They count if they are one in a hundred or more.
        let copies = self.apparent_mirror_copies;
        match copies.saturating_mul(200).checked_div(replayed) {
            None | Some(0..2) => 0,
            Some(_) => copies,
        }
    }

    /// The given options, in the order in which they apply, each with how many packets it left out.
    fn options(&self) -> Vec<(String, u64)> {
        let selection = &self.selection;
        let left_out = self.left_out;
        let mut options = Vec::new();
        if left_out.time > 0 {
            let name = "the part of the time (--from, --to)".to_owned();
            options.push((name, left_out.time));
        }
        if let Some(interface) = &selection.interface {
            options.push((format!("--interface {interface}"), left_out.interface));
        }
        if let Some(direction) = &selection.direction {
            options.push((format!("--direction {direction}"), left_out.direction));
        }
        if let Some(filter) = &selection.filter {
            options.push((format!("--filter '{filter}'"), left_out.filter));
        }
        if selection.mirrored {
            options.push(("--mirrored".to_owned(), left_out.mirrored));
        }
        options
    }

    /// For an empty selection: which option matched nothing, how many packets were left before it,
    /// and advice.
    pub(crate) fn emptied_by(&self) -> (String, u64, Fault) {
        let mut rest = self.read;
        for (option, left_out) in self.options() {
            if left_out == rest {
                let advice = self.advice(&option);
                return (option, rest, advice);
            }
            rest -= left_out;
        }
        (String::new(), rest, Fault::new(""))
    }

    fn advice(&self, option: &str) -> Fault {
        let side = self.selection.direction.as_ref().map(|wanted| wanted.side);
        let is_heading = matches!(side, Some(Side::Heading(_)));
        let is_of_station = matches!(side, Some(Side::FromStation(_) | Side::ToStation(_)));
        if let Some((from, to)) = self.between
            && from >= to
        {
            Fault::wanted("a later time in --to, as both are counted from the first packet")
                .behind("--to is not later than --from; ")
        } else if option.starts_with("the part") {
            Fault::wanted("times within the capture, counted from its first packet")
        } else if option.starts_with("--interface") {
            self.interfaces.wanted()
        } else if option.starts_with("--direction") && is_heading && self.with_heading == 0 {
            Fault::wanted("'from ADDRESS' or 'to ADDRESS'")
                .behind("the capture does not say which packets came in and which went out; ")
        } else if option.starts_with("--direction") && is_of_station {
            self.excluded_direction.station_wanted()
        } else if option.starts_with("--direction") && !self.excluded_direction.networks.is_empty()
        {
            self.excluded_direction.wanted()
        } else {
            Fault::wanted("an option that matches some packets")
        }
    }
}

/// The option that selects a direction.
fn side_words(side: Side) -> [String; 2] {
    ["--direction".to_owned(), shell_word(&side.to_string())]
}

impl UnchosenDirection {
    fn holds(&self, frame: &Frame<'_>, headers: Option<&Headers>) -> bool {
        let is_there = match &self.interface {
            Some(interface) => interface.is(&frame.tap),
            None => true,
        };
        is_there && self.side.is_none_or(|side| side.matches(frame, headers))
    }

    /// Counts a packet of this direction that passes the filter, unless it is a copy.
    fn count(
        &mut self,
        frame: &Frame<'_>,
        fingerprint: Option<&Fingerprint>,
        selection: &Selection,
    ) {
        let is_mirrored = selection.mirrored;
        let sighting = match fingerprint {
            Some(fingerprint) if !selection.keep_duplicates => {
                self.duplicates.sight(frame, fingerprint, is_mirrored)
            }
            _ => Sighting::First,
        };
        let is_copy = match sighting {
            Sighting::Elsewhere => true,
            Sighting::Again => is_mirrored,
            Sighting::First | Sighting::Third => false,
        };
        if is_copy {
            return;
        }
        let bytes = u64::from(frame.len_on_link());
        self.packets += 1;
        self.bytes += bytes;
        let time = frame.time_nanos;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        let second = time.div_euclid(1_000_000_000);
        if second != self.second.0 {
            self.busiest = self.busiest.max(self.second.1);
            self.second = (second, 0);
        }
        self.second.1 += bytes;
    }
}

impl ExcludedDirection {
    /// Counts a packet that does not go in the direction `side`. `passes` says that the filter
    /// would let it through.
    fn count(
        &mut self,
        frame: &Frame<'_>,
        side: Side,
        headers: Option<&Headers>,
        passes: bool,
        fingerprint: Option<&Fingerprint>,
    ) {
        let is_heading = matches!(side, Side::Heading(_));
        let is_opposite = !is_heading && side.opposite().matches(frame, headers);
        if passes && is_opposite && self.is_first(frame, fingerprint) {
            self.bytes += u64::from(frame.len_on_link());
            let (first, last) = self.times.unwrap_or((frame.time_nanos, frame.time_nanos));
            self.times = Some((first.min(frame.time_nanos), last.max(frame.time_nanos)));
        }
        let station = match side {
            Side::FromStation(_) => Hop::of(frame).map(|hop| hop.from),
            Side::ToStation(_) => Hop::of(frame).and_then(|hop| hop.to),
            Side::From(_)
            | Side::To(_)
            | Side::FromPrivate
            | Side::ToPrivate
            | Side::Heading(_) => None,
        };
        if let Some(station) = station
            && (self.stations.len() < MOST_NETWORKS || self.stations.contains_key(&station))
        {
            *self.stations.entry(station).or_default() += 1;
        }
        let Some(headers) = headers else { return };
        let address = match side {
            Side::From(_) | Side::FromPrivate => headers.source,
            Side::To(_) | Side::ToPrivate => headers.destination,
            Side::Heading(_) | Side::FromStation(_) | Side::ToStation(_) => return,
        };
        let network = Network::around(address, if address.is_ipv4() { 24 } else { 64 });
        if self.networks.len() < MOST_NETWORKS || self.networks.contains_key(&network) {
            *self.networks.entry(network).or_default() += 1;
        }
    }

    /// Whether a packet is no copy.
    fn is_first(&mut self, frame: &Frame<'_>, fingerprint: Option<&Fingerprint>) -> bool {
        match fingerprint {
            Some(fingerprint) => {
                self.duplicates.sight(frame, fingerprint, false) == Sighting::First
            }
            None => true,
        }
    }

    /// The mean rate from the first to the last packet, bits per second.
    fn load(&self) -> Option<f64> {
        let (first, last) = self.times?;
        let seconds = last.abs_diff(first) as f64 / 1e9;
        (seconds >= SHORTEST_LOAD).then(|| self.bytes as f64 * 8.0 / seconds)
    }
}

/// Lists the capture's networks and stations for an error.
impl ExcludedDirection {
    fn wanted(&self) -> Fault {
        let networks = busiest_first(&self.networks);
        Fault::wanted(format_args!("a network of the capture: {networks}"))
    }

    fn station_wanted(&self) -> Fault {
        if self.stations.is_empty() {
            return Fault::wanted("an address or a network of IP")
                .behind("these packets have no link-layer addresses; ");
        }
        let stations = busiest_first(&self.stations);
        Fault::wanted(format_args!("a station of the capture: {stations}"))
    }
}

/// Lists them, each with its number of packets.
fn busiest_first<T: ToString>(packets_of: &HashMap<T, u64>) -> String {
    let mut ordered = Vec::new();
    for (name, packets) in packets_of {
        ordered.push((Reverse(*packets), name.to_string()));
    }
    ordered.sort();
    let mut all = Vec::new();
    for (Reverse(packets), name) in ordered {
        all.push(format!("{name} ({})", counted(packets, "packet")));
    }
    list(all)
}

impl InterfaceName {
    fn is(&self, tap: &Tap<'_>) -> bool {
        tap.name == Some(&self.text) || (tap.interface.is_some() && tap.interface == self.number)
    }
}

impl From<&str> for InterfaceName {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            number: text.parse().ok(),
        }
    }
}

/// Writes what `--interface` reads: several words in quotes.
impl fmt::Display for InterfaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_word(formatter, &self.text)
    }
}

impl FromStr for Direction {
    type Err = DirectionError;

    fn from_str(text: &str) -> Result<Self, DirectionError> {
        let side = Side::parse(text).map_err(|expected| DirectionError {
            found: text.to_owned(),
            expected,
        })?;
        Ok(Self {
            text: text.to_owned(),
            side,
        })
    }
}

impl DirectionChoice {
    /// A selection that makes this choice.
    pub fn choose(self, selection: Selection) -> Selection {
        let chooses = self == Self::Auto;
        let direction = match self {
            Self::Auto | Self::Both => None,
            Self::One(direction) => Some(direction),
        };
        Selection {
            direction,
            chooses,
            ..selection
        }
    }
}

impl Written for DirectionChoice {
    const EXPECTED: &'static str = "auto, both, in, out, \"from ADDRESS\" or \"to ADDRESS\" (of IP, of a \
        network, of the link layer, or private)";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: DirectionError| error.into())
    }
}

impl FromStr for DirectionChoice {
    type Err = DirectionError;

    fn from_str(text: &str) -> Result<Self, DirectionError> {
        match text {
            "auto" => Ok(Self::Auto),
            "both" => Ok(Self::Both),
            _ => text.parse().map(Self::One),
        }
    }
}

impl Side {
    /// Reads a direction. The error is the expected text.
    fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["in"] => Ok(Self::Heading(Heading::In)),
            ["out"] => Ok(Self::Heading(Heading::Out)),
            ["from", "private"] => Ok(Self::FromPrivate),
            ["to", "private"] => Ok(Self::ToPrivate),
            ["from", text] => match Station::parse(text) {
                Some(station) => Ok(Self::FromStation(station)),
                None => End::parse(text).map(Self::From),
            },
            ["to", text] => match Station::parse(text) {
                Some(station) => Ok(Self::ToStation(station)),
                None => End::parse(text).map(Self::To),
            },
            _ => Err(
                "auto, both, in, out, or in quotes 'from ADDRESS' or 'to ADDRESS', with an address, \
                 a network such as 192.168.1.0/24, a link-layer address such as 52:54:00:12:34:56, or \
                 private"
                    .to_owned(),
            ),
        }
    }
}

/// Writes what `--direction` reads: several words in quotes.
impl fmt::Display for Direction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_word(formatter, &self.text)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a field by reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LeftOut {
    const fn count(&mut self, cause: Cause) {
        let count = match cause {
            Cause::Interface => &mut self.interface,
            Cause::Direction => &mut self.direction,
            Cause::Filter => &mut self.filter,
            Cause::Duplicate => &mut self.duplicates,
            Cause::Mirrored => &mut self.mirrored,
        };
        *count += 1;
    }

    /// Total over all causes.
    pub const fn total(&self) -> u64 {
        self.time + self.interface + self.direction + self.filter + self.duplicates + self.mirrored
    }
}

impl Interfaces {
    fn count(&mut self, tap: &Tap<'_>, selected: Selected) {
        let Some(number) = tap.interface else { return };
        let name = tap.name.unwrap_or_default();
        let names = self.0.get_mut(&number);
        if let Some(known) = names.and_then(|names| names.get_mut(name)) {
            known.add(selected);
        } else if self.0.len() < MOST_INTERFACES {
            let names = self.0.entry(number).or_default();
            names.insert(name.to_owned(), selected);
        }
    }

    /// Interfaces that have packets, the busiest first. Given if several have replayed ones.
    fn shared(&self) -> Vec<InterfaceLoad> {
        let mut all = BTreeMap::<String, Selected>::new();
        for (number, names) in &self.0 {
            for (name, selected) in names {
                let known = all.entry(label(*number, name)).or_default();
                known.add(*selected);
            }
        }
        let mut loads = Vec::new();
        let mut sharing = 0;
        for (name, Selected { replayed, copies }) in all {
            sharing += usize::from(replayed > 0);
            if replayed + copies > 0 {
                loads.push(InterfaceLoad {
                    name,
                    replayed,
                    copies,
                });
            }
        }
        if sharing < 2 {
            return Vec::new();
        }
        loads.sort_by_key(|load| Reverse(load.replayed + load.copies));
        loads
    }

    /// The interface with this number, as `--interface` takes it.
    fn label(&self, number: u32) -> String {
        self.named(number).to_string()
    }

    /// The interface with this number. It goes by its name if that is unambiguous.
    fn named(&self, number: u32) -> InterfaceName {
        let names = match self.0.get(&number) {
            Some(names) if names.len() == 1 => names,
            _ => return named(number, ""),
        };
        for name in names.keys() {
            let named_so = self.0.values().filter(|names| names.contains_key(name));
            if named_so.count() == 1 {
                return named(number, name);
            }
        }
        named(number, "")
    }
}

impl Selected {
    fn add(&mut self, other: Self) {
        self.replayed += other.replayed;
        self.copies += other.copies;
    }
}

impl Interfaces {
    /// Lists the capture's interfaces for an error.
    fn wanted(&self) -> Fault {
        let mut all = Vec::new();
        for (number, names) in &self.0 {
            for name in names.keys() {
                all.push(if name.is_empty() {
                    number.to_string()
                } else {
                    format!("{number} ({name})")
                });
            }
        }
        if all.is_empty() {
            return Fault::wanted("pcapng or Linux cooked v2")
                .behind("the capture names no interfaces; ");
        }
        Fault::wanted(format_args!("an interface of the capture: {}", list(all)))
    }
}

/// The interface as `--interface` takes it.
fn label(number: u32, name: &str) -> String {
    named(number, name).to_string()
}

/// The interface by its name if a shell takes that safely, otherwise by its number.
fn named(number: u32, name: &str) -> InterfaceName {
    let is_safe = name.chars().all(is_safe_in_quotes);
    if name.is_empty() || !is_safe || name.starts_with('-') {
        return InterfaceName::from(number.to_string().as_str());
    }
    InterfaceName::from(name)
}

/// Whether a shell takes the letter as it is, within single quotes or within one word.
fn is_safe_in_quotes(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, ' ' | '.' | '_' | '-' | ':' | '@' | '/')
}

/// Writes an argument for a shell.
fn write_word(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let is_one_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if is_one_word {
        formatter.write_str(text)
    } else {
        write!(formatter, "'{text}'")
    }
}

/// Lists the first few items, and says how many others there are.
fn list(mut items: Vec<String>) -> String {
    let others = items.len().saturating_sub(NAMED);
    items.truncate(NAMED);
    if others > 0 {
        format!("{} and {others} more", items.join(", "))
    } else {
        items.join(", ")
    }
}

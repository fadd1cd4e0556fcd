//! What limited a message: the network, or the application that wrote it.
//!
//! A sender that fills its window sends when an acknowledgement allows it, so nearly all its packets
//! follow one. Where acknowledgements are dense, packets of any sender do: their part counts beside
//! the part that chance gives, at other distances from the acknowledgements. Packets in step with
//! acknowledgements may also be those of an application with a regular clock of its own. A sender
//! that wants more shows it: its data waits in a queue, is lost, or its flight grows.
//!
//! Senders that pace (BBR, and CUBIC of newer kernels) follow no acknowledgement. One whose data meets
//! a queue nearly all the time while the link is busy, and that has about its fair share of the link,
//! is taken for one that wanted more; but an application that happens to need this share looks the
//! same, so the answer is uncertain. A sender that loses, or one of a file of a few round trips, may
//! have less than its share. Calls, games and chat beside a long queue wait as long, but they have
//! next to nothing of the link, in small packets.
//!
//! An answer whose data was there at once shows it by its first window, which its sender does not have
//! to wait for, and by full packets. Slow start or a window then spread it over round trips in which
//! nothing waits. That is one message, and no list of writes.

use std::collections::VecDeque;

use super::control::{Flight, ROUND, Votes};

/// Windows around the time at which a packet was allowed, in which its acknowledgement is looked
/// for: nanoseconds before and after. Hosts answer within microseconds, busy ones or those behind a
/// relay within milliseconds.
const WINDOWS: [[u64; 2]; 3] = [
    [250_000, 250_000],
    [1_000_000, 1_000_000],
    [2_000_000, 1_000_000],
];
/// Packets of a message that tell what limits it.
const TELLING: u64 = 30;
/// First packets of a message, which no acknowledgement allows.
pub(super) const FIRST_WINDOW: u64 = 10;
/// The part of the packets beyond chance that follows an acknowledgement if the sender waits for it.
const CLOCKED: f64 = 0.85;
/// The same part where chance is too close to one.
const NEARLY_ALL: f64 = 0.95;
/// Distances of which one has less than this part of another's packets are not alike.
const ALIKE: f64 = 0.97;
/// Chance by which an acknowledgement tells nothing of when a packet's data was written.
const OFTEN: f64 = 0.4;
/// Chance that leaves nothing to tell.
const DENSE: f64 = 0.8;
/// Other distances from acknowledgements: how many, the nearest, and the step between them. No
/// common period of packets is a divisor of it.
const DISTANCES: u64 = 12;
const NEAREST: u64 = 3_100_000;
const STEP: u64 = 5_309_000;
/// One in so many packets is held against chance.
const SAMPLED: u64 = 4;
/// Distances that are tried where nothing else tells that of the sender: how many, and the step
/// between them.
const FARTHEST: usize = 1024;
const STEPS: u64 = 500_000;
/// Packets that are compared with these distances: what so many do not tell, more do not either.
const MOST_COMPARED: u16 = 4096;

/// A wait that tells a queue, and one of which jitter is no part, nanoseconds.
const WAIT: u64 = 2_000_000;
const LONG_WAIT: u64 = 4_000_000;
/// Parts of the time.
const SOMETIMES: f64 = 0.1;
const NEARLY_ALWAYS: f64 = 2.0 / 3.0;
/// The part of a fair share that a sender without limit has at least.
const FAIR: f64 = 0.75;
/// Round trips, queue and all, after which a sender has had the time to come to its share.
const BRIEF: u64 = 10;
/// A message that is shorter than this is no stream, nanoseconds.
const SHORT: u64 = 2_000_000_000;
/// A first window that comes within this time is one burst, nanoseconds.
const BURST: u64 = 2_000_000;
/// The part of a fair share that a sender has at least if it has just begun or loses, and the part of
/// its packets that are full: all but the last ones.
const SOME_SHARE: f64 = 1.0 / 3.0;
const NEARLY_ALL_FULL: f64 = 0.9;
/// The part of the link's rate that is used while data waits there, and not elsewhere.
pub(super) const BUSY: f64 = 2.0 / 3.0;
/// One packet lost of so many is more than noise.
const FEW_LOST: u64 = 2000;

/// What allows a packet is heard within this time around: nanoseconds.
const AROUND: u64 = 1_000_000;
/// A sender is limited by its receiver's window if so many of a hundred packets fill it.
const FULL: u64 = 95;

/// An acknowledgement: when it passed, all that was acknowledged then, and the byte behind the last one
/// that the receiver would take; 0 if that is not known.
pub(super) type Heard = VecDeque<(u64, u64, u64)>;

/// What a message's packets and acknowledgements show. Of its first packets nothing is kept.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    packets: u64,
    /// Packets of a sender that was not captured: acknowledgements tell them.
    unseen: u64,
    /// Packets with a known distance to their sender, and those of them that follow an
    /// acknowledgement, by the window.
    measured: u64,
    clocked: [u64; 3],
    /// The same at other distances, and how many of these were tried.
    by_chance: [u64; 3],
    tried: u64,
    /// Packets at which nothing was outstanding.
    idle: u64,
    /// Packets as long as the longest segment.
    whole: u64,
    /// From each power of two packets to the next: the most bytes outstanding, and segments sent
    /// again.
    octaves: Vec<(u64, u64)>,
    /// The least time to the receiver and back in each tenth of a second, microseconds.
    rounds: Vec<u32>,
    round: u64,
    /// The same to the sender and back, by the echoes in its packets: a queue between the sender and
    /// the capture point shows there.
    echoes: Echoes,
    /// What was outstanding over time.
    flight: Flight,
    /// Packets that follow an acknowledgement at each distance, if that is not known, and how many
    /// packets were tried. Distances farther than any acknowledgement was are not there.
    distances: Vec<u16>,
    compared: u16,
    /// From the first packet on that filled the receiver's window: packets that did, and those that did
    /// not; and the largest window that was full.
    full: u64,
    not_full: u64,
    window: u64,
}

/// The least time in which a sender's packets echoed the other end's clock, in each tenth of a second.
/// A packet echoes what its sender heard before, so the time is too long by as much as packets lie
/// apart.
#[derive(Debug, Default)]
struct Echoes {
    /// Microseconds, less the distance of packets.
    rounds: Vec<u32>,
    round: u64,
    least: u64,
    count: u64,
}

impl Echoes {
    fn count(&mut self, now: u64, nanos: u64) {
        if now / ROUND != self.round {
            self.end_round();
            (self.round, self.least, self.count) = (now / ROUND, u64::MAX, 0);
        }
        self.least = self.least.min(nanos);
        self.count += 1;
    }

    fn end_round(&mut self) {
        if let Some(apart) = ROUND.checked_div(self.count) {
            let least = self.least.saturating_sub(apart);
            self.rounds
                .push(u32::try_from(least / 1000).unwrap_or(u32::MAX));
        }
    }
}

/// What a message's verdict depends on beside its own packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    /// The least time to the receiver and back, nanoseconds.
    pub(super) to_receiver: u64,
    /// The least time to the sender and back, and from the message's first packet to its last, and
    /// to the last one of its first window, nanoseconds.
    pub(super) to_sender: u64,
    pub(super) lasted: u64,
    pub(super) first_window: u64,
    /// Its bytes as a part of what it would have had if all that wanted more had shared alike.
    pub(super) share: Option<f64>,
    /// All traffic over the link at that time, as a part of its rate.
    pub(super) load: f64,
}

/// What limited a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Too short to tell, or its sender had just begun: slow start or a window spread it.
    Unknown,
    /// The network: the sender filled its window.
    Network,
    /// The receiver: the sender filled the window that it offered, all the time, and lost nothing.
    Receiver,
    /// Probably the network: data waited all the time, but no acknowledgement allowed it.
    Paced {
        /// Whether the link was busy. On a link with room, what waits does so elsewhere: at a radio, or
        /// in the receiver.
        is_busy: bool,
    },
    /// The application.
    Application {
        /// Whether packets follow acknowledgements by chance, or would if it were known when.
        is_in_step: bool,
    },
}

impl Limit {
    /// Whether it was the network, surely or probably.
    pub(super) const fn is_network(self) -> bool {
        matches!(self, Self::Network | Self::Paced { .. })
    }

    /// Whether the sender would have sent more: the network or the receiver was the limit.
    pub(super) const fn wanted_more(self) -> bool {
        self.is_network() || matches!(self, Self::Receiver)
    }
}

impl Evidence {
    /// A packet whose last byte is `end`, with `len` new bytes. `round_trip`: the time to the
    /// sender and back, if known.
    pub(super) fn count(
        &mut self,
        now: u64,
        round_trip: Option<u64>,
        heard: &Heard,
        end: u64,
        len: u64,
    ) {
        self.packets += 1;
        self.octaves
            .resize(self.packets.ilog2() as usize + 1, (0, 0));
        match round_trip {
            Some(round_trip) => self.count_clocked(now.saturating_sub(round_trip), heard),
            None => self.count_distances(now, heard),
        }
        let allowed = now.saturating_sub(round_trip.unwrap_or(0));
        let before = heard.partition_point(|(at, ..)| *at <= allowed + WINDOWS[1][1]);
        if let Some((_, acknowledged, _)) = before.checked_sub(1).and_then(|last| heard.get(last)) {
            let flight = end.saturating_sub(*acknowledged);
            self.idle += u64::from(flight <= len && round_trip.is_some());
            if let Some((most, _)) = self.octaves.last_mut() {
                *most = flight.max(*most);
            }
            self.flight.count(now, flight);
        }
    }

    /// Counts the length of a packet's new bytes beside that of the longest `segment`.
    pub(super) fn count_length(&mut self, len: u64, segment: u64) {
        self.whole += u64::from(len >= segment);
    }

    /// Counts a packet of `len` new bytes up to `end` that fills the receiver's window: its sender had no
    /// room for another `segment` before it heard what allowed this one, at the time `allowed`, and has
    /// room for this one then. One that exceeds the window has heard more than was thought.
    pub(super) fn count_window(
        &mut self,
        allowed: u64,
        heard: &Heard,
        [end, len]: [u64; 2],
        segment: u64,
    ) {
        let before = heard.partition_point(|(at, ..)| at + AROUND < allowed);
        let then = heard.partition_point(|(at, ..)| *at <= allowed + AROUND);
        let offered = |number: usize| number.checked_sub(1).and_then(|last| heard.get(last));
        let (Some(&(_, acknowledged, edge @ 1..)), Some(&(_, _, most))) =
            (offered(before), offered(then))
        else {
            return;
        };
        if end.saturating_sub(len) + segment > edge && end <= most {
            self.full += 1;
            self.window = self.window.max(edge.saturating_sub(acknowledged));
        } else if self.full > 0 {
            self.not_full += 1;
        }
    }

    /// The receiver's window in bytes, if it was the limit: full nearly all the time since it was full
    /// first, which is most of the message, and nothing was lost.
    pub(super) fn full_window(&self) -> Option<u64> {
        let counted = self.full + self.not_full;
        let is_full = self.full >= TELLING && self.full * 100 >= counted * FULL;
        let is_most = counted * 2 >= self.measured;
        let is_lossless = self.octaves.iter().all(|(_, again)| *again == 0);
        (is_full && is_most && is_lossless).then_some(self.window)
    }

    /// A packet of a sender that was not captured.
    pub(super) const fn count_unseen(&mut self) {
        self.packets += 1;
        self.unseen += 1;
    }

    /// Counts a packet that was allowed at this time.
    fn count_clocked(&mut self, allowed: u64, heard: &Heard) {
        self.measured += 1;
        for (window, clocked) in WINDOWS.into_iter().zip(&mut self.clocked) {
            *clocked += u64::from(has_heard(heard, allowed, window));
        }
        if self.packets.is_multiple_of(SAMPLED) {
            self.count_chance(allowed, heard);
        }
    }

    fn count_chance(&mut self, allowed: u64, heard: &Heard) {
        let first = heard.front().map_or(u64::MAX, |(at, ..)| *at);
        for number in 0..DISTANCES {
            let elsewhere = allowed.saturating_sub(NEAREST + number * STEP);
            if elsewhere < first {
                return;
            }
            self.tried += 1;
            for (window, by_chance) in WINDOWS.into_iter().zip(&mut self.by_chance) {
                *by_chance += u64::from(has_heard(heard, elsewhere, window));
            }
        }
    }

    /// Counts the packet at each distance of which an acknowledgement lies less than two steps
    /// beyond.
    fn count_distances(&mut self, now: u64, heard: &Heard) {
        if self.compared == MOST_COMPARED {
            return;
        }
        self.compared += 1;
        let mut free = 0;
        for (at, ..) in heard.iter().rev() {
            let distance = (now.saturating_sub(*at) / STEPS) as usize;
            if distance >= FARTHEST {
                break;
            }
            if self.distances.len() <= distance {
                self.distances.resize(distance + 1, 0);
            }
            for counted in distance.saturating_sub(1).max(free)..=distance {
                self.distances[counted] += 1;
            }
            free = free.max(distance + 1);
        }
    }

    /// Data that was sent again.
    pub(super) fn count_retransmission(&mut self, now: u64) {
        self.flight.lose(now);
        if let Some((_, again)) = self.octaves.last_mut() {
            *again += 1;
        }
    }

    /// A time from the capture point to the receiver and back.
    pub(super) fn count_round_trip(&mut self, now: u64, nanos: u64) {
        let micros = u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
        let round = now / ROUND;
        match self.rounds.last_mut() {
            Some(least) if round == self.round => *least = micros.min(*least),
            _ => self.rounds.push(micros),
        }
        self.round = round;
    }

    /// A time until the sender echoed the other end's clock.
    pub(super) fn count_echo(&mut self, now: u64, nanos: u64) {
        self.echoes.count(now, nanos);
    }

    /// The longest wait between the sender and the capture point, nanoseconds, but for the longest two
    /// in a hundred.
    pub(super) fn wait_of_sender(&self, to_sender: u64) -> u64 {
        let longest = quantile(&self.echoes.rounds, 98, 100).unwrap_or(0);
        (u64::from(longest) * 1000).saturating_sub(to_sender)
    }

    /// The distance from the acknowledgements at which nearly all packets follow one, nanoseconds, if
    /// one stands out: the time to the sender and back. To a step.
    pub(super) fn distance(&self) -> Option<u64> {
        let (distance, most) = best(&self.distances)?;
        let packets = f64::from(self.compared);
        let sum: u64 = self.distances.iter().map(|count| u64::from(*count)).sum();
        let chance = sum as f64 / FARTHEST as f64 / packets;
        let part = f64::from(most) / packets;
        let is_clear = u64::from(self.compared) >= TELLING && beyond(part, chance) > CLOCKED;
        // A regular stream has one distance after the other.
        let mut near = Vec::new();
        let mut is_alone = true;
        for (index, count) in self.distances.iter().enumerate() {
            if f64::from(*count) < ALIKE * f64::from(most) {
                continue;
            }
            is_alone &= index.abs_diff(distance) <= 2;
            near.push(index as u64);
        }
        let sum: u64 = near.iter().sum();
        let middle = sum * STEPS / near.len() as u64 + STEPS / 2;
        (is_clear && is_alone).then_some(middle)
    }

    /// What the message shows of its sender's congestion control. `segment`: bytes of a full one.
    pub(super) fn votes(&self, segment: u64, around: Surroundings) -> Votes {
        let round_trip = self.round_trip(around).unwrap_or(around.to_receiver);
        let least = around.to_sender + around.to_receiver;
        self.flight.votes(segment, round_trip, least)
    }

    /// What limited the message.
    pub(super) fn limit(&self, around: Surroundings) -> Limit {
        if self.packets < TELLING {
            return Limit::Unknown;
        }
        if self.unseen * 2 > self.packets {
            return Limit::Network;
        }
        if self.full_window().is_some() {
            return Limit::Receiver;
        }
        let has_pressure = self.has_pressure(around);
        if self.is_clocked() && has_pressure {
            return Limit::Network;
        }
        let is_busy = around.load >= BUSY;
        if self.is_held(around) && self.has_share(around) {
            return Limit::Paced { is_busy };
        }
        if self.is_dense() && self.waits(around, [WAIT, 10]) >= SOMETIMES {
            return Limit::Paced { is_busy };
        }
        if self.is_answer(around) {
            return Limit::Unknown;
        }
        // Where no acknowledgement was captured, none says when data was written.
        let has_heard = !self.rounds.is_empty();
        let is_unclear = !self.is_distance_known() || self.is_clocked() || self.chance(1) > OFTEN;
        Limit::Application {
            is_in_step: has_heard && is_unclear,
        }
    }

    /// Whether a queue held a sender back that paces: its data waits nearly all the time. Where a
    /// queue is kept short, it waits at times or is lost, while the link is busy.
    fn is_held(&self, around: Surroundings) -> bool {
        let is_never_idle = self.idle * 100 <= self.packets;
        if self.waits(around, [LONG_WAIT, 8]) >= NEARLY_ALWAYS {
            return is_never_idle;
        }
        let has_pressure = self.loses() || self.waits(around, [WAIT, 10]) >= SOMETIMES;
        let was_there = self.is_full() && self.began_at_once(around);
        is_never_idle && around.load >= BUSY && has_pressure && was_there
    }

    /// Whether a sender that was held back has so much of the link that it wanted more.
    fn has_share(&self, around: Surroundings) -> bool {
        let Some(share) = around.share else {
            return false;
        };
        let loses_or_begins = self.loses() || self.is_brief(around);
        let has_some = share >= SOME_SHARE && around.load >= BUSY;
        share >= FAIR || (has_some && self.is_full() && loses_or_begins)
    }

    /// Whether the message had too few round trips for its share of a busy link.
    fn is_brief(&self, around: Surroundings) -> bool {
        let round_trip = self.round_trip(around);
        Some(around.lasted / BRIEF) <= round_trip
    }

    /// Whether this is an answer that was there at once, and that its sender's window spread.
    fn is_answer(&self, around: Surroundings) -> bool {
        let is_short = around.lasted <= SHORT || self.is_brief(around);
        let waits = self.waits(around, [LONG_WAIT, 8]) >= NEARLY_ALWAYS;
        // Beside a long queue with next to nothing of the link: a call, unless its first window came
        // as one burst, which an application that paces its data does not have.
        let is_burst = around.first_window <= BURST;
        let is_small = waits && around.share.is_some() && around.share < Some(SOME_SHARE);
        let is_spread = is_short || self.grows();
        is_spread && (is_burst || !is_small) && self.is_full() && self.began_at_once(around)
    }

    /// Whether the first window was sent without waiting for the application: within a round trip.
    fn began_at_once(&self, around: Surroundings) -> bool {
        let round_trip = self.round_trip(around);
        Some(around.first_window) <= round_trip
    }

    /// Whether nearly all packets are as long as the longest segment: all but the last ones.
    fn is_full(&self) -> bool {
        self.whole as f64 >= NEARLY_ALL_FULL * self.packets as f64
    }

    /// The usual round trip, with its wait, nanoseconds.
    fn round_trip(&self, around: Surroundings) -> Option<u64> {
        let median = u64::from(quantile(&self.rounds, 1, 2)?) * 1000;
        let to_sender =
            quantile(&self.echoes.rounds, 1, 2).map_or(0, |micros| u64::from(micros) * 1000);
        Some(median + to_sender.max(around.to_sender))
    }

    /// Whether a list of writes may have been a sender that wanted more: its data always waits, or is
    /// lost, and it has a part of the link.
    pub(super) fn is_doubtful(&self, around: Surroundings) -> bool {
        let waits = self.waits(around, [LONG_WAIT, 8]) >= NEARLY_ALWAYS;
        let has_some = around.share >= Some(SOME_SHARE);
        self.packets >= TELLING && (waits || self.loses()) && has_some
    }

    /// Whether a sender loses nothing though its data waits, and has no more outstanding over time: its
    /// own host stops it. Linux lets a connection have a few pieces in its host's queue (TCP small
    /// queues), so that an upload fills no queue there.
    pub(super) fn has_steady_flight(&self, around: Surroundings) -> bool {
        let is_lossless = self.octaves.iter().all(|(_, again)| *again == 0);
        is_lossless && !self.grows() && around.lasted >= SHORT
    }

    /// Segments sent again.
    pub(super) fn losses(&self) -> u64 {
        let mut losses = 0;
        for (_, again) in &self.octaves {
            losses += again;
        }
        losses
    }

    /// Whether the sender waited for acknowledgements, and had something outstanding all the time,
    /// though no queue was in its way: it filled a window.
    pub(super) fn fills_a_window(&self, around: Surroundings) -> bool {
        let is_never_idle = self.idle * 100 <= self.packets;
        is_never_idle && self.is_clocked() && !self.has_pressure(around)
    }

    /// Whether data waits in a queue so often that its sender may have wanted more.
    pub(super) fn is_waiting(&self, [to_sender, to_receiver]: [u64; 2]) -> bool {
        let longest = part_waiting(&self.rounds, to_receiver, [LONG_WAIT, 8]).max(part_waiting(
            &self.echoes.rounds,
            to_sender,
            [LONG_WAIT, 8],
        ));
        self.packets >= TELLING && longest >= NEARLY_ALWAYS
    }

    /// Whether the distance to the sender was known for most packets.
    const fn is_distance_known(&self) -> bool {
        self.measured * 2 > self.packets
    }

    /// Whether packets follow acknowledgements, and not by chance.
    fn is_clocked(&self) -> bool {
        if !self.is_distance_known() {
            return self.distance().is_some();
        }
        (0..WINDOWS.len()).any(|window| beyond(self.part(window), self.chance(window)) > CLOCKED)
    }

    /// Whether packets follow acknowledgements because these are everywhere.
    fn is_dense(&self) -> bool {
        self.is_distance_known() && self.part(1) > NEARLY_ALL && self.chance(0) > DENSE
    }

    fn part(&self, window: usize) -> f64 {
        self.clocked[window] as f64 / self.measured.max(1) as f64
    }

    fn chance(&self, window: usize) -> f64 {
        self.by_chance[window] as f64 / self.tried.max(1) as f64
    }

    /// Whether the network shows that more was wanted.
    fn has_pressure(&self, around: Surroundings) -> bool {
        self.loses() || self.grows() || self.waits(around, [WAIT, 10]) >= SOMETIMES
    }

    /// The last three octaves, the last one first.
    fn late(&self) -> [(u64, u64); 3] {
        let mut late = self.octaves.iter().rev().copied();
        [late.next(), late.next(), late.next()].map(Option::unwrap_or_default)
    }

    /// Whether data is lost late in the message: at its start every sender tries how much it may
    /// send.
    fn loses(&self) -> bool {
        let [(_, last), (_, before), _] = self.late();
        (last + before) * FEW_LOST >= self.packets.max(1)
    }

    /// Whether more is outstanding late in the message than before.
    fn grows(&self) -> bool {
        let [(last, _), (before, _), (first, _)] = self.late();
        last * 4 > before * 5 || before * 4 > first * 5
    }

    /// The part of the time in which data waits, behind the capture point or before it: longer than
    /// this, and than so many parts of the round trip.
    fn waits(&self, around: Surroundings, limits: [u64; 2]) -> f64 {
        let behind = part_waiting(&self.rounds, around.to_receiver, limits);
        behind.max(part_waiting(&self.echoes.rounds, around.to_sender, limits))
    }
}

/// The part of these times, in microseconds, that is longer than the least by a wait.
fn part_waiting(rounds: &[u32], least: u64, [wait, part]: [u64; 2]) -> f64 {
    let short = (least + wait.max(least / part)) / 1000;
    let waiting = rounds.iter().filter(|round| u64::from(**round) > short);
    waiting.count() as f64 / rounds.len().max(1) as f64
}

/// The value at this part of the sorted ones.
fn quantile(values: &[u32], part: usize, of: usize) -> Option<u32> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() * part / of).copied()
}

/// Whether an acknowledgement passed around a time.
pub(super) fn has_heard(heard: &Heard, time: u64, [before, after]: [u64; 2]) -> bool {
    let next = heard.partition_point(|(at, ..)| *at <= time + after);
    let last = next.checked_sub(1).and_then(|last| heard.get(last));
    last.is_some_and(|(at, ..)| at + before >= time)
}

/// A part beyond what chance gives: 1 is all, 0 is chance.
fn beyond(part: f64, chance: f64) -> f64 {
    (part - chance) / (1.0 - chance).max(1e-9)
}

/// The index of the largest number, the first one of several.
fn best(counts: &[u16]) -> Option<(usize, u16)> {
    let mut best = None;
    for (index, count) in counts.iter().enumerate() {
        if best.is_none_or(|(_, most)| *count > most) {
            best = Some((index, *count));
        }
    }
    best
}

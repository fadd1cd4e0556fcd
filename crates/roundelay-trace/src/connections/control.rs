//! Whose congestion control: a transfer's flight tells CUBIC or Reno from BBR, by what it does after
//! a loss, by its size beside the rate of losses, by its growth without any, and by its pauses. The
//! rate tells it by its cycle.
//!
//! A sender with CUBIC or Reno has less outstanding after a loss: .7 or half. Where losses are
//! frequent, it has about as much outstanding as they leave it (Mathis et al., "The macroscopic
//! behavior of the TCP congestion avoidance algorithm", CCR 1997; RFC 9438, section 5, for CUBIC).
//! BBR (version 1) does not heed losses, and every ten seconds it has four packets outstanding for
//! a fifth of a second, to measure the empty path (Cardwell et al., "BBR: congestion-based
//! congestion control", ACM Queue 2016). Versions 2 and 3 heed losses, too, so they look like CUBIC
//! here.
//!
//! Where losses do not tell it, two more signs may. The window of CUBIC and Reno grows until there
//! is a loss, however little faster its data arrives. BBR never has more outstanding than twice
//! what its rate brings in the shortest round trip of the last ten seconds. And BBR's rate has a
//! cycle of eight of its shortest round trips: one at 1.25 times the rate, the next one at .75.
//!
//! Each answer to a loss is a vote. A transfer too short for enough votes takes the sign of those
//! of the same server, else of the same host. By Laplace's rule of succession, `n` votes of which
//! `k` agree are right with the certainty `(k + 1) / (n + 2)`.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::Connection;

/// Least round trips and flights are taken over this time, nanoseconds: an acknowledgement alone may
/// be delayed.
pub(super) const ROUND: u64 = 100_000_000;
/// Windows of the flight that are kept: half an hour.
const MOST: u64 = 18_000;
/// Windows without a loss before one that is an episode of its own: a second.
const CALM: usize = 10;
/// A flight of so many packets for each round trip after a loss is not filled again by then.
const GROWING: u64 = 4;
/// The part of the flight that is left behind losses if the sender heeds them, and if it does not.
const HEEDED: f64 = 0.85;
const UNHEEDED: f64 = 0.92;
/// A flight of so many packets, where there were more before and behind, is one to measure the path;
/// and the windows from one to the next: nine to eleven and a half seconds.
const FEW: u64 = 6;
const MANY: u64 = 12;
const APART: [usize; 2] = [90, 115];
/// Votes of a sender that measures the path.
const MEASURED: u64 = 10;
/// Losses of a transfer that show whether it has as much outstanding as they leave it.
const FREQUENT: u64 = 4;
/// The part of the packets that nobody sends again for losses: they are copies.
const COPIES: f64 = 0.7;
/// The part of what losses leave that a sender has at most if it heeds them, and at least if it
/// does not.
const BY_THE_LAW: [f64; 2] = [1.7, 2.5];
/// A flight that became so many times as large within so many windows without a loss, and the
/// sender's rate no more than so many times, is of a window that grows. BBR has at most twice what
/// its rate brings in the least round trip, and the rest is for its bursts and estimates that are
/// too high.
const GROWN: f64 = 3.0;
const GROWN_WITHIN: usize = 100;
const AS_FAST: f64 = 1.25;
/// Windows that count as one, so that bursts are no growth, and the votes of a growth.
const BLOCK: usize = 5;
const GREW: u64 = 4;
/// Packets of a pacing sender are counted over this time, nanoseconds, for two minutes.
const PACE: u64 = 5_000_000;
const PACES: u64 = 24_000;
/// A phase of a gain cycle has so many of these times, and packets, at least, or its rate is
/// unknown.
const LEAST_PHASE: usize = 4;
const LEAST_PACKETS: f64 = 8.0;
/// The parts of the mean rate in a phase that probes and in the next one, which drains.
const PROBES: f64 = 1.12;
const DRAINS: f64 = 0.88;
/// A gain cycle lasts so many round trips: eight, and longer where BBR takes a round trip with a
/// wait for the least one. All are alike to this part, and so many make a sign.
const CYCLE: [usize; 2] = [7, 13];
const ALIKE: f64 = 0.15;
const CYCLES: u64 = 6;
/// The part of the cycles that are alike.
const MOSTLY: f64 = 0.7;
/// Votes, and the certainty, that make a sign.
const VOTES: u64 = 3;
const CERTAIN: f64 = 0.75;

/// The congestion control that a transfer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It heeds losses: CUBIC, Reno or BBR 3; or its window grows until there are some.
    HeedsLosses,
    /// It is BBR, version 1: it heeds no losses, measures the empty path every ten seconds, or has
    /// gain cycles.
    Bbr,
}

/// Whose transfers show a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    /// The connection's own.
    Itself,
    /// Other transfers of the same server.
    Server,
    /// Other transfers of the same host, with other ports.
    Host,
}

/// What is known of a sender's congestion control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sign {
    /// What the transfers show.
    pub seen: Seen,
    /// Whose they are.
    pub by: ShownBy,
    /// How sure it is that this is right, 0 to 1.
    pub certainty: f64,
}

/// Votes: answers to losses of one transfer or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Votes {
    heeded: u64,
    unheeded: u64,
}

impl Votes {
    /// Adds other ones.
    pub(super) const fn add(&mut self, other: Self) {
        self.heeded += other.heeded;
        self.unheeded += other.unheeded;
    }

    /// What they show, and how certain it is. None: too few, or they disagree.
    fn verdict(self) -> Option<(Seen, f64)> {
        let (seen, most) = if self.unheeded > self.heeded {
            (Seen::Bbr, self.unheeded)
        } else {
            (Seen::HeedsLosses, self.heeded)
        };
        let certainty = (most + 1) as f64 / (self.heeded + self.unheeded + 2) as f64;
        (most >= VOTES && certainty >= CERTAIN).then_some((seen, certainty))
    }
}

/// Tells each connection's congestion control by its own votes, else by those of its server, else
/// by those of its host. The sender is the end that sends more.
pub(super) fn tell(connections: &mut [Connection], votes: &[Votes]) {
    let mut of_servers: HashMap<SocketAddr, Votes> = HashMap::new();
    let mut of_hosts: HashMap<IpAddr, Votes> = HashMap::new();
    for (connection, own) in connections.iter().zip(votes) {
        let sender = connection.sender();
        of_servers.entry(sender).or_default().add(*own);
        of_hosts.entry(sender.ip()).or_default().add(*own);
    }
    for (connection, own) in connections.iter_mut().zip(votes) {
        let sender = connection.sender();
        let of_server = of_servers.get(&sender).copied().unwrap_or_default();
        let of_host = of_hosts.get(&sender.ip()).copied().unwrap_or_default();
        connection.control = None;
        for (by, votes) in [
            (ShownBy::Itself, *own),
            (ShownBy::Server, of_server),
            (ShownBy::Host, of_host),
        ] {
            if connection.control.is_none()
                && let Some((seen, certainty)) = votes.verdict()
            {
                connection.control = Some(Sign {
                    seen,
                    by,
                    certainty,
                });
            }
        }
    }
}

/// A tenth of a second of a transfer.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    /// The most bytes outstanding. 0: no packet.
    most: u64,
    packets: u32,
    /// Segments that were sent again.
    again: u32,
}

impl Window {
    /// Whether so few packets are outstanding as BBR has to measure the path.
    fn is_pause(&self, segment: u64) -> bool {
        (1..=FEW * segment).contains(&self.most)
    }
}

fn most(windows: &[Window]) -> u64 {
    let mut most = 0;
    for window in windows {
        most = window.most.max(most);
    }
    most
}

/// The least of what was outstanding at most in each.
fn least(windows: &[Window]) -> u64 {
    let mut least = u64::MAX;
    for window in windows {
        least = window.most.min(least);
    }
    least
}

fn packets(windows: &[Window]) -> u64 {
    let mut packets = 0;
    for window in windows {
        packets += u64::from(window.packets);
    }
    packets
}

fn has_loss(windows: &[Window]) -> bool {
    windows.iter().any(|window| window.again > 0)
}

/// Values at some of the equal parts of time, in order. Strangers choose the times: what is kept
/// grows with the packets, and not with the time between them.
#[derive(Debug)]
struct Sparse<T>(Vec<(u32, T)>);

// Not derived: that would ask for a default value.
impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Default> Sparse<T> {
    fn at(&mut self, part: u32) -> &mut T {
        let place = self.0.partition_point(|(before, _)| *before < part);
        if !matches!(self.0.get(place), Some((there, _)) if *there == part) {
            self.0.insert(place, (part, T::default()));
        }
        &mut self.0[place].1
    }

    /// A value for each part of time.
    fn dense(&self) -> Vec<T> {
        let mut dense = Vec::new();
        for (part, value) in &self.0 {
            dense.resize(*part as usize, T::default());
            dense.push(*value);
        }
        dense
    }
}

/// The flight of a transfer over time.
#[derive(Debug, Default)]
pub(super) struct Flight {
    first: Option<u64>,
    windows: Sparse<Window>,
    /// Packets in each [`PACE`].
    paces: Sparse<u16>,
}

impl Flight {
    fn window(&mut self, now: u64) -> Option<&mut Window> {
        let first = *self.first.get_or_insert(now / ROUND);
        let window = (now / ROUND).saturating_sub(first);
        if window >= MOST {
            return None;
        }
        Some(self.windows.at(window as u32))
    }

    pub(super) fn count(&mut self, now: u64, bytes: u64) {
        if let Some(window) = self.window(now) {
            window.most = window.most.max(bytes);
            window.packets += 1;
        }
        let begin = self.first.unwrap_or(0) * ROUND;
        let pace = now.saturating_sub(begin) / PACE;
        if pace < PACES {
            let packets = self.paces.at(pace as u32);
            *packets = packets.saturating_add(1);
        }
    }

    pub(super) fn lose(&mut self, now: u64) {
        if let Some(window) = self.window(now) {
            window.again += 1;
        }
    }

    /// What the flight of a transfer that the network held back shows. `segment`: bytes of a full
    /// one; `round_trip`: with its wait, and `least`, without, nanoseconds.
    pub(super) fn votes(&self, segment: u64, round_trip: u64, least: u64) -> Votes {
        self.course().votes(segment, round_trip, least)
    }

    fn course(&self) -> Course {
        Course {
            windows: self.windows.dense(),
            paces: self.paces.dense(),
        }
    }
}

/// The part of its window that CUBIC has again so many seconds after a loss, if the window was so
/// many packets (RFC 9438, equations 1 and 2).
fn of_cubic(packets: f64, seconds: f64) -> f64 {
    let plateau = (0.3 / 0.4 * packets).cbrt();
    1.0 - 0.3 * (1.0 - seconds / plateau).powi(3)
}

/// The flight in each tenth of a second, and the packets in each [`PACE`].
#[derive(Debug)]
struct Course {
    windows: Vec<Window>,
    paces: Vec<u16>,
}

impl Course {
    /// As [`Flight::votes`].
    fn votes(&self, segment: u64, round_trip: u64, least: u64) -> Votes {
        if self.measures_the_path(segment) {
            // Its flight behind losses may be small, too, for one of its own rounds.
            return Votes {
                heeded: 0,
                unheeded: MEASURED,
            };
        }
        let mut votes = Votes::default();
        votes.add(self.behind_losses(segment, round_trip));
        votes.add(self.by_the_law(segment, round_trip));
        if votes.verdict().is_none() {
            votes.add(self.by_growth(segment));
            votes.add(self.by_gain_cycles(least));
        }
        votes
    }

    /// Votes by growth: the flight became much larger without a loss while its rate stayed.
    fn by_growth(&self, segment: u64) -> Votes {
        let blocks: Vec<&[Window]> = self.windows.chunks_exact(BLOCK).collect();
        let within = GROWN_WITHIN / BLOCK;
        // Slow start, and BBR's, grow much faster than their rate is known.
        for begin in CALM / BLOCK..blocks.len() {
            let [before, carried] = [most(blocks[begin]), packets(blocks[begin])];
            if before < MANY * segment || has_loss(blocks[begin]) {
                continue;
            }
            for block in blocks.iter().skip(begin + 1).take(within) {
                // Behind such a pause BBR may have found a longer round trip.
                if has_loss(block) || block.iter().any(|window| window.is_pause(segment)) {
                    break;
                }
                let has_grown = least(block) as f64 >= GROWN * before as f64;
                if has_grown && packets(block) as f64 <= AS_FAST * carried as f64 {
                    return Votes {
                        heeded: GREW,
                        unheeded: 0,
                    };
                }
            }
        }
        Votes::default()
    }

    /// Votes by BBR's gain cycles: a round trip with more packets than the mean and the next one
    /// with fewer, at regular distances. `least`: the round trip, nanoseconds.
    fn by_gain_cycles(&self, least: u64) -> Votes {
        let phase = (least / PACE) as usize;
        if phase < LEAST_PHASE {
            return Votes::default();
        }
        let mut until = vec![0_u64];
        for packets in &self.paces {
            until.push(until[until.len() - 1] + u64::from(*packets));
        }
        let around = 4 * phase;
        let count = |begin: usize, end: usize| (until[end] - until[begin]) as f64;
        // The steepest fall of each half cycle.
        let mut falls: Vec<(usize, f64)> = Vec::new();
        for at in around..self.paces.len().saturating_sub(around) {
            let mean = count(at - around, at + around) / 8.0;
            let [probed, drained] = [count(at - phase, at), count(at, at + phase)];
            let is_fall = probed >= PROBES * mean && drained <= DRAINS * mean;
            let window = (at as u64 * PACE / ROUND) as usize;
            let is_lossy = has_loss(&self.windows[window.saturating_sub(1)..=window]);
            if mean < LEAST_PACKETS || !is_fall || is_lossy {
                continue;
            }
            let fall = (probed - drained) / mean;
            match falls.last_mut() {
                Some((last, steepest)) if at - *last < around => {
                    if fall > *steepest {
                        (*last, *steepest) = (at, fall);
                    }
                }
                _ => falls.push((at, fall)),
            }
        }
        let mut distances = Vec::new();
        for pair in falls.windows(2) {
            distances.push(pair[1].0 - pair[0].0);
        }
        distances.sort_unstable();
        let Some(&cycle) = distances.get(distances.len() / 2) else {
            return Votes::default();
        };
        let mut alike = 0;
        for distance in &distances {
            alike += u64::from(distance.abs_diff(cycle) as f64 <= ALIKE * cycle as f64);
        }
        let is_cycle = (CYCLE[0] * phase..=CYCLE[1] * phase).contains(&cycle);
        let is_regular = alike >= CYCLES && alike as f64 >= MOSTLY * distances.len() as f64;
        Votes {
            heeded: 0,
            unheeded: if is_cycle && is_regular { alike } else { 0 },
        }
    }

    /// Votes by the part of the flight that is left behind each episode of losses, from two and a
    /// half round trips after it to five and a half: BBR's cycle has filled its flight again by
    /// then. Reno has added half a packet or a little more in each round trip, which is little
    /// beside its flight, or the episode does not count. CUBIC grows by the clock, so a full flight
    /// is a vote only where CUBIC would still have less.
    fn behind_losses(&self, segment: u64, round_trip: u64) -> Votes {
        let mut votes = Votes::default();
        let begin = (round_trip * 5 / 2).div_ceil(ROUND).max(1) as usize;
        let end = (round_trip * 11 / 2).div_ceil(ROUND) as usize + 1;
        let rounds = end as u64 * ROUND / round_trip.max(1);
        let seconds = 5.5 * round_trip as f64 / 1e9;
        let calm = CALM.max((2 * round_trip).div_ceil(ROUND) as usize);
        for at in calm..self.windows.len().saturating_sub(end) {
            let before = &self.windows[at - calm..at];
            if self.windows[at].again == 0 || has_loss(before) {
                continue;
            }
            let before = most(before);
            if before < rounds.saturating_mul(GROWING * segment) {
                continue;
            }
            let cubic = of_cubic(before as f64 / segment.max(1) as f64, seconds);
            let behind = most(&self.windows[at + begin..at + end]);
            match behind as f64 / before.max(1) as f64 {
                part if part <= HEEDED => votes.heeded += 1,
                part if part >= UNHEEDED && cubic <= HEEDED => votes.unheeded += 1,
                _ => {}
            }
        }
        votes
    }

    /// Votes of a transfer with frequent losses, by what it has outstanding beside what these
    /// leave: `sqrt(1.5 / p)` packets with Reno, `1.05 (T / p)^.75` with CUBIC, for `p` losses a
    /// packet and a round trip of `T` seconds. Losses within a round trip are one.
    fn by_the_law(&self, segment: u64, round_trip: u64) -> Votes {
        let apart = (round_trip / ROUND) as usize + 1;
        let first = self.windows.iter().position(|window| window.again > 0);
        let Some(first) = first else {
            return Votes::default();
        };
        // Slow start's losses tell nothing, and neither does what it had outstanding.
        let begin = (first + CALM.max(4 * apart)).min(self.windows.len());
        let third = (self.windows.len() - begin).div_ceil(3).max(1);
        let mut in_thirds = [false; 3];
        let [mut losses, mut packets, mut flight, mut counted] = [0_u64; 4];
        let [mut again, mut beside] = [0_u64; 2];
        let mut next = 0;
        for (at, window) in self.windows[begin..].iter().enumerate() {
            packets += u64::from(window.packets);
            if window.again > 0 {
                again += u64::from(window.again);
                beside += u64::from(window.packets);
            }
            if window.most > 0 {
                flight += window.most / segment.max(1);
                counted += 1;
            }
            if window.again > 0 && at >= next {
                losses += 1;
                next = at + apart;
                in_thirds[at / third] = true;
            }
        }
        // A long repair of a single episode has losses, too, but not all the time. Where nearly
        // everything comes again, it is late copies from another capture point.
        let is_rare = losses < FREQUENT || counted == 0 || in_thirds != [true; 3];
        if is_rare || again as f64 > COPIES * beside as f64 {
            return Votes::default();
        }
        let packets_each = packets as f64 / losses as f64;
        let seconds = round_trip as f64 / 1e9;
        let reno = (1.5 * packets_each).sqrt();
        let cubic = 1.05 * (seconds * packets_each).powf(0.75);
        let part = flight as f64 / counted as f64 / reno.max(cubic);
        match part {
            part if part <= BY_THE_LAW[0] => Votes {
                heeded: losses,
                unheeded: 0,
            },
            part if part >= BY_THE_LAW[1] => Votes {
                heeded: 0,
                unheeded: losses,
            },
            _ => Votes::default(),
        }
    }

    /// Whether the flight is next to nothing every ten seconds, at least twice, without a loss.
    fn measures_the_path(&self, segment: u64) -> bool {
        let mut last: Option<usize> = None;
        let mut is_regular = false;
        for at in CALM..self.windows.len().saturating_sub(CALM) {
            let around = self.windows[at - 4].most.min(self.windows[at + 4].most);
            let before = &self.windows[at - 4..=at];
            let is_few =
                self.windows[at].is_pause(segment) && around >= MANY * segment && !has_loss(before);
            if !is_few || matches!(last, Some(last) if at - last < CALM) {
                continue;
            }
            if let Some(last) = last {
                let [least, most] = APART;
                is_regular |= (least..=most).contains(&(at - last));
            }
            last = Some(at);
        }
        is_regular
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute of forty packets, with a loss every five seconds and what is outstanding behind it.
    fn flight(left: u64, dips: bool) -> Flight {
        let mut flight = Flight::default();
        for window in 0..600 {
            let now = window * ROUND;
            let is_behind = (1..20).contains(&(window % 50)) && window > 50;
            let is_dip = dips && window % 100 < 2;
            let packets = match (is_dip, is_behind) {
                (true, _) => 4,
                (false, true) => left,
                (false, false) => 40,
            };
            flight.count(now, packets * 1448);
            if window % 50 == 0 && !dips {
                flight.lose(now);
            }
        }
        flight
    }

    fn seen(flight: &Flight) -> Option<Seen> {
        let course = flight.course();
        let votes = course.behind_losses(1448, ROUND);
        let dips = u64::from(course.measures_the_path(1448)) * MEASURED;
        let all = Votes {
            unheeded: votes.unheeded + dips,
            ..votes
        };
        all.verdict().map(|(seen, _)| seen)
    }

    #[test]
    fn the_flight_tells_cubic_from_bbr() {
        assert_eq!(seen(&flight(28, false)), Some(Seen::HeedsLosses));
        assert_eq!(seen(&flight(40, false)), Some(Seen::Bbr));
        assert_eq!(seen(&flight(36, false)), None, "between both");
        assert_eq!(seen(&flight(40, true)), Some(Seen::Bbr));
        assert_eq!(seen(&Flight::default()), None);
    }

    /// A loss in each tenth of a second of two round trips leaves Reno some packets. A sender with
    /// fifty outstanding does not heed them.
    #[test]
    fn a_flight_beyond_what_losses_leave_is_bbr() {
        for (outstanding, expected) in [(50, Some(Seen::Bbr)), (5, Some(Seen::HeedsLosses))] {
            let mut flight = Flight::default();
            for window in 0..40 {
                for _ in 0..outstanding * 2 {
                    flight.count(window * ROUND, outstanding * 1448);
                }
                flight.lose(window * ROUND);
            }
            let votes = flight.votes(1448, ROUND / 2, ROUND / 2);
            assert_eq!(votes.verdict().map(|(seen, _)| seen), expected);
        }
    }

    fn told(flight: &Flight, round_trip: u64) -> Option<(Seen, f64)> {
        flight.votes(1448, round_trip, round_trip).verdict()
    }

    /// Four losses in a minute are too few for the law. What is left behind them tells it, with the
    /// certainty of four votes that agree.
    #[test]
    fn few_losses_tell_by_what_is_left_behind_them() {
        for (left, expected) in [
            (28, Some((Seen::HeedsLosses, 5.0 / 6.0))),
            (40, Some((Seen::Bbr, 5.0 / 6.0))),
        ] {
            let mut flight = Flight::default();
            for window in 0..600 {
                let is_behind = (1..20).contains(&(window % 130)) && window > 130;
                let packets = if is_behind { left } else { 40 };
                flight.count(window * ROUND, packets * 1448);
                if window % 130 == 0 && window > 0 {
                    flight.lose(window * ROUND);
                }
            }
            assert_eq!(told(&flight, ROUND), expected);
        }
    }

    /// Without a loss, a flight that grows to four times while its rate stays is of a window. One
    /// that stays, doubles, or grows with its rate is not, and neither is one that loses meanwhile.
    #[test]
    fn a_flight_that_grows_without_a_loss_is_a_window() {
        let grown = |times: u64, faster: u64, loses: bool| {
            let mut flight = Flight::default();
            for window in 0..120_u64 {
                let part = window.saturating_sub(20).min(80);
                let outstanding = 20 * (80 + (times - 1) * part) / 80;
                for _ in 0..20 * (80 + (faster - 1) * part) / 80 {
                    flight.count(window * ROUND, outstanding * 1448);
                }
                if loses && window % 40 == 39 {
                    flight.lose(window * ROUND);
                }
            }
            told(&flight, ROUND / 10)
        };
        assert_eq!(grown(4, 1, false), Some((Seen::HeedsLosses, 5.0 / 6.0)));
        for (times, faster, loses) in [(1, 1, false), (2, 1, false), (4, 4, false), (4, 1, true)] {
            assert_eq!(
                grown(times, faster, loses),
                None,
                "{times} {faster} {loses}"
            );
        }
    }

    /// Packets of a sender whose rate has BBR's gains in each of its round trips of 40 ms, for half
    /// a minute, on 10 Mbit/s.
    fn paced(gains: &[f64]) -> Flight {
        let mut flight = Flight::default();
        let mut now = 0.0;
        while now < 30e9 {
            flight.count(now as u64, 40 * 1448);
            now += 1.2e6 / gains[(now / 40e6) as usize % gains.len()];
        }
        flight
    }

    #[test]
    fn a_gain_cycle_is_bbr() {
        let told = |gains: &[f64]| told(&paced(gains), 40_000_000).map(|(seen, _)| seen);
        let bbr = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(told(&bbr), Some(Seen::Bbr));
        assert_eq!(told(&[1.0]), None, "a steady rate");
        assert_eq!(told(&bbr[..4]), None, "a cycle of four");
        assert_eq!(
            told(&[1.25, 1.0, 1.0, 1.0, 0.75, 1.0, 1.0, 1.0]),
            None,
            "no drain"
        );
        // At random times: in 3 to 20 round trips.
        let mut irregular = Vec::new();
        for number in 0..200_usize {
            irregular.extend([1.25, 0.75]);
            irregular.resize(irregular.len() + 1 + number * number * 7 % 18, 1.0);
        }
        assert_eq!(told(&irregular), None, "no cycle");
    }

    /// Regression: two CUBIC flows behind a long queue were taken for BBR. With 300 packets and a
    /// round trip of a second, CUBIC has its window again after five and a half round trips.
    #[test]
    fn cubic_that_grew_again_over_a_long_round_trip_is_no_bbr() {
        assert!((of_cubic(300.0, 5.5) - 0.999).abs() < 0.002);
        let second = 10 * ROUND;
        let mut flight = Flight::default();
        for window in 0..1200_u64 {
            let since = (window % 150) as f64 / 10.0;
            let outstanding = 300.0 * of_cubic(300.0, since).min(1.0);
            flight.count(window * ROUND, (outstanding * 1448.0) as u64);
            if window % 150 == 0 && window > 0 {
                flight.lose(window * ROUND);
            }
        }
        let votes = flight.course().behind_losses(1448, second);
        assert_eq!((votes.heeded, votes.unheeded), (0, 0));
    }

    /// Only parts of time with packets are kept, of half an hour, and of two minutes of the rate.
    #[test]
    fn what_is_kept_grows_with_packets_and_not_with_time() {
        let mut flight = Flight::default();
        for now in [
            0,
            100 * 10 * ROUND,
            1790 * 10 * ROUND,
            3600 * 10 * ROUND,
            100 * 10 * ROUND,
        ] {
            flight.count(now, 1448);
        }
        assert_eq!((flight.windows.0.len(), flight.paces.0.len()), (3, 2));
        assert_eq!(flight.course().windows.len(), 17_901);
        assert_eq!(flight.course().windows[1000].packets, 2);
    }

    #[test]
    fn votes_that_disagree_are_no_sign() {
        for (heeded, unheeded, expected) in [
            (3, 0, Some((Seen::HeedsLosses, 0.8))),
            (0, 8, Some((Seen::Bbr, 0.9))),
            (0, 2, None),
            (2, 4, None),
        ] {
            assert_eq!(Votes { heeded, unheeded }.verdict(), expected);
        }
    }
}

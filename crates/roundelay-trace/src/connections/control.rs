//! Whose congestion control: what a transfer's flight does after losses, beside the rate of its
//! losses, and at rest, tells CUBIC or Reno from BBR.
//!
//! A sender with CUBIC or Reno has less outstanding after a loss: .7 or half. Where losses are
//! frequent, it has about as much outstanding as they leave it (Mathis et al., "The macroscopic
//! behavior of the TCP congestion avoidance algorithm", CCR 1997; RFC 9438, section 5, for CUBIC).
//! BBR (version 1) does not heed losses, and every ten seconds it has four packets outstanding for
//! a fifth of a second, to measure the empty path (Cardwell et al., "BBR: congestion-based
//! congestion control", ACM Queue 2016). Versions 2 and 3 heed losses, too, so they look like CUBIC
//! here.
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
const MOST: usize = 18_000;
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
/// Votes, and the certainty, that make a sign.
const VOTES: u64 = 3;
const CERTAIN: f64 = 0.75;

/// The congestion control that a transfer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It heeds losses: CUBIC, Reno or BBR 3.
    HeedsLosses,
    /// It is BBR, version 1: it heeds no losses, or measures the empty path every ten seconds.
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

fn most(windows: &[Window]) -> u64 {
    let mut most = 0;
    for window in windows {
        most = window.most.max(most);
    }
    most
}

fn has_loss(windows: &[Window]) -> bool {
    windows.iter().any(|window| window.again > 0)
}

/// The flight of a transfer over time.
#[derive(Debug, Default)]
pub(super) struct Flight {
    first: Option<u64>,
    windows: Vec<Window>,
}

impl Flight {
    fn window(&mut self, now: u64) -> Option<&mut Window> {
        let first = *self.first.get_or_insert(now / ROUND);
        let window = (now / ROUND).saturating_sub(first) as usize;
        if window >= MOST {
            return None;
        }
        if self.windows.len() <= window {
            self.windows.resize(window + 1, Window::default());
        }
        self.windows.get_mut(window)
    }

    pub(super) fn count(&mut self, now: u64, bytes: u64) {
        if let Some(window) = self.window(now) {
            window.most = window.most.max(bytes);
            window.packets += 1;
        }
    }

    pub(super) fn lose(&mut self, now: u64) {
        if let Some(window) = self.window(now) {
            window.again += 1;
        }
    }

    /// What the flight of a transfer that the network held back shows. `segment`: bytes of a full
    /// one; `round_trip`: with its wait, nanoseconds.
    pub(super) fn votes(&self, segment: u64, round_trip: u64) -> Votes {
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
        votes
    }

    /// Votes by the part of the flight that is left behind each episode of losses, from two and a
    /// half round trips after it to five and a half: BBR's cycle has filled its flight again by
    /// then. CUBIC has added half a packet or a little more in each round trip, which is little
    /// beside its flight, or the episode does not count.
    fn behind_losses(&self, segment: u64, round_trip: u64) -> Votes {
        let mut votes = Votes::default();
        let begin = (round_trip * 5 / 2).div_ceil(ROUND).max(1) as usize;
        let end = (round_trip * 11 / 2).div_ceil(ROUND) as usize + 1;
        let rounds = end as u64 * ROUND / round_trip.max(1);
        for at in CALM..self.windows.len().saturating_sub(end) {
            let calm = &self.windows[at - CALM..at];
            if self.windows[at].again == 0 || has_loss(calm) {
                continue;
            }
            let before = most(calm);
            if before < rounds.saturating_mul(GROWING * segment) {
                continue;
            }
            let behind = most(&self.windows[at + begin..at + end]);
            match behind as f64 / before.max(1) as f64 {
                part if part <= HEEDED => votes.heeded += 1,
                part if part >= UNHEEDED => votes.unheeded += 1,
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
            let is_few = (1..=FEW * segment).contains(&self.windows[at].most)
                && around >= MANY * segment
                && !has_loss(before);
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
        let votes = flight.behind_losses(1448, ROUND);
        let dips = u64::from(flight.measures_the_path(1448)) * MEASURED;
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
            let votes = flight.votes(1448, ROUND / 2);
            assert_eq!(votes.verdict().map(|(seen, _)| seen), expected);
        }
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

//! Whose congestion control: what a transfer's flight does after losses, and at rest, tells CUBIC or
//! Reno from BBR.
//!
//! A sender with CUBIC or Reno has less outstanding after a loss: .7 or half. BBR (version 1) does not
//! heed losses, and every ten seconds it has four packets outstanding for a fifth of a second, to
//! measure the empty path (Cardwell et al., "BBR: congestion-based congestion control", ACM Queue
//! 2016). Versions 2 and 3 heed losses, too, so they look like CUBIC here.

/// Least round trips and flights are taken over this time, nanoseconds: an acknowledgement alone may
/// be delayed.
pub(super) const ROUND: u64 = 100_000_000;
/// Windows of the flight that are kept: half an hour.
const MOST: usize = 18_000;
/// Windows without a loss before one that is an episode of its own, and those in which a sender
/// answers: a second, and .6 s.
const CALM: usize = 10;
const ANSWER: usize = 6;
/// Episodes that tell.
const TELLING: usize = 3;
/// The part of the flight that is left behind losses if the sender heeds them, and if it does not.
const HEEDED: f64 = 0.85;
const UNHEEDED: f64 = 0.92;
/// A flight of so many packets, where there were more before and behind, is one to measure the path;
/// and the windows from one to the next: nine to eleven and a half seconds.
const FEW: u64 = 6;
const MANY: u64 = 12;
const APART: [usize; 2] = [90, 115];

/// The congestion control that a transfer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It heeds losses: CUBIC, Reno or BBR 3.
    HeedsLosses,
    /// It is BBR, version 1: it heeds no losses, or measures the empty path every ten seconds.
    Bbr,
}

/// The flight of a transfer over time.
#[derive(Debug, Default)]
pub(super) struct Flight {
    first: Option<u64>,
    /// The most bytes outstanding in each tenth of a second. 0: no packet.
    most: Vec<u64>,
    /// Whether data was sent again then.
    is_lossy: Vec<bool>,
}

impl Flight {
    fn window(&mut self, now: u64) -> Option<usize> {
        let first = *self.first.get_or_insert(now / ROUND);
        let window = (now / ROUND).saturating_sub(first) as usize;
        if window >= MOST {
            return None;
        }
        if self.most.len() <= window {
            self.most.resize(window + 1, 0);
            self.is_lossy.resize(window + 1, false);
        }
        Some(window)
    }

    pub(super) fn count(&mut self, now: u64, bytes: u64) {
        if let Some(window) = self.window(now) {
            self.most[window] = self.most[window].max(bytes);
        }
    }

    pub(super) fn lose(&mut self, now: u64) {
        if let Some(window) = self.window(now) {
            self.is_lossy[window] = true;
        }
    }

    /// What the flight shows. None: too little. `segment`: bytes of a full one.
    pub(super) fn seen(&self, segment: u64) -> Option<Seen> {
        if self.measures_the_path(segment) {
            return Some(Seen::Bbr);
        }
        let mut left = self.left_behind_losses();
        if left.len() < TELLING {
            return None;
        }
        left.sort_unstable_by(f64::total_cmp);
        match left[left.len() / 2] {
            part if part <= HEEDED => Some(Seen::HeedsLosses),
            part if part >= UNHEEDED => Some(Seen::Bbr),
            _ => None,
        }
    }

    /// The part of the flight that is left after each episode of losses.
    fn left_behind_losses(&self) -> Vec<f64> {
        let mut left = Vec::new();
        for window in CALM..self.most.len().saturating_sub(ANSWER) {
            let is_calm = !self.is_lossy[window - CALM..window].contains(&true);
            if !is_calm || !self.is_lossy[window] {
                continue;
            }
            let before = self.most[window - CALM..window].iter().max();
            let behind = self.most[window + 1..=window + ANSWER].iter();
            let behind = behind.filter(|bytes| **bytes > 0).min();
            if let (Some(before @ 1..), Some(behind)) = (before, behind) {
                left.push(*behind as f64 / *before as f64);
            }
        }
        left
    }

    /// Whether the flight is next to nothing every ten seconds, at least twice, without a loss.
    fn measures_the_path(&self, segment: u64) -> bool {
        let mut last: Option<usize> = None;
        let mut is_regular = false;
        for window in CALM..self.most.len().saturating_sub(CALM) {
            let around = self.most[window - 4].min(self.most[window + 4]);
            let is_few = (1..=FEW * segment).contains(&self.most[window])
                && around >= MANY * segment
                && !self.is_lossy[window - 4..=window].contains(&true);
            if !is_few || matches!(last, Some(last) if window - last < CALM) {
                continue;
            }
            if let Some(last) = last {
                let [least, most] = APART;
                is_regular |= (least..=most).contains(&(window - last));
            }
            last = Some(window);
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

    #[test]
    fn the_flight_tells_cubic_from_bbr() {
        assert_eq!(flight(28, false).seen(1448), Some(Seen::HeedsLosses));
        assert_eq!(flight(40, false).seen(1448), Some(Seen::Bbr));
        assert_eq!(flight(36, false).seen(1448), None, "between both");
        assert_eq!(flight(40, true).seen(1448), Some(Seen::Bbr));
        assert_eq!(Flight::default().seen(1448), None);
    }
}

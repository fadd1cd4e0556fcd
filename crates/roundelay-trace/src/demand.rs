//! Demand of a flow: light, bursty, modest or heavy, by its backlog in an ideal GPS server and its
//! mean rate.
//!
//! All thresholds of the verdict (`verdict.rs`) between flows that a queue should protect and flows
//! that fill queues are here.

/// Backlog of a light flow, bytes: ten full packets, the amount that a TCP sender may send before the
/// first acknowledgement (RFC 6928).
const LIGHT_BACKLOG: f64 = 10.0 * FULL_PACKET;
/// Backlog of a flow with bursts, such as a page of 150 kB that arrives at once.
const BURSTY_BACKLOG: f64 = 100.0 * FULL_PACKET;
/// A full packet with its Ethernet header, bytes.
const FULL_PACKET: f64 = 1514.0;
/// Minimum fraction of a flow's packets that arrive at or below its backlog.
const MOST: f64 = 0.99;
/// Part of the link's rate up to which a flow is modest or bursty.
const MODEST: f64 = 0.1;
/// Rate of a call with uncompressed speech and headers, at most, in bits per second.
const FASTEST_CALL: f64 = 128_000.0;
/// Mean length of a call's packets, at most: twenty milliseconds of uncompressed speech (RFC 3551) with
/// headers are 218 bytes on Ethernet.
pub(crate) const LONGEST_OF_A_CALL: u64 = 300;

/// Demand of a flow, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Less than a fair share whenever other flows want the link too.
    Light,
    /// More than a fair share in bursts, and a small part of the link.
    Bursty,
    /// More than a fair share among many flows, but a small part of the link, or no more than a call.
    Modest,
    /// More than a fair share, and a large part of the link.
    Heavy,
}

/// Packets of a flow by the flow's backlog in the GPS server at their arrival, arriving packet
/// included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backlogs {
    light: u64,
    bursty: u64,
}

impl Backlogs {
    pub(crate) const NONE: Self = Self { light: 0, bursty: 0 };

    /// Counts an arrival at which the server holds `bytes` of the flow.
    pub(crate) fn count(&mut self, bytes: f64) {
        self.light += u64::from(bytes <= LIGHT_BACKLOG);
        self.bursty += u64::from(bytes <= BURSTY_BACKLOG);
    }
}

impl Demand {
    /// The demand of a flow with this number of packets, mean length in bytes and mean rate; rates in
    /// bits per second.
    pub(crate) fn of(backlogs: Backlogs, packets: u64, mean_length: u64, rate: f64, link: f64) -> Self {
        let are_most = |count: u64| count as f64 >= MOST * packets as f64;
        let is_small = rate <= MODEST * link;
        let is_like_a_call = rate <= FASTEST_CALL && mean_length <= LONGEST_OF_A_CALL;
        match () {
            () if are_most(backlogs.light) => Self::Light,
            () if are_most(backlogs.bursty) && is_small => Self::Bursty,
            () if is_small || is_like_a_call => Self::Modest,
            () => Self::Heavy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The demand of 200 packets, some of which found these backlogs, at 10 Mbit/s.
    fn demand(backlogs: &[(u64, f64)], mean_length: u64, rate: f64) -> Demand {
        let mut counted = Backlogs::NONE;
        backlogs.iter().for_each(|(packets, bytes)| (0..*packets).for_each(|_| counted.count(*bytes)));
        Demand::of(counted, backlogs.iter().map(|(packets, _)| packets).sum(), mean_length, rate, 10e6)
    }

    #[test]
    fn demand_follows_from_backlogs_then_from_the_rate() {
        assert_eq!(demand(&[(198, 15_140.0), (2, 1e9)], 1500, 9e6), Demand::Light);
        assert_eq!(demand(&[(197, 15_140.0), (3, 151_400.0)], 1500, 1e6), Demand::Bursty);
        assert_eq!(demand(&[(197, 15_140.0), (3, 151_400.0)], 1500, 1.1e6), Demand::Heavy);
        assert_eq!(demand(&[(197, 15_140.0), (3, 151_401.0)], 1500, 1e6), Demand::Modest);
        assert_eq!(
            [(300, 128e3), (301, 128e3), (300, 129e3)].map(|(length, rate)| {
                let mut counted = Backlogs::NONE;
                counted.count(1e9);
                Demand::of(counted, 1, length, rate, 700e3)
            }),
            [Demand::Modest, Demand::Heavy, Demand::Heavy]
        );
    }
}

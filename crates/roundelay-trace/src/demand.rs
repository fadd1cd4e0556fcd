//! How much a flow demands: it is light, bursty, modest or heavy, by its backlog in an ideal GPS
//! server and by its mean rate.
//!
//! The verdict (`roundelay-advice`) tells flows that a queue should protect from flows that fill
//! queues. All thresholds for this are here.

/// A light flow's backlog, bytes: ten full packets, because a TCP sender may send that much before
/// the first acknowledgement (RFC 6928).
const LIGHT_BACKLOG: f64 = 10.0 * FULL_PACKET as f64;
/// The backlog of a flow with bursts, such as a page with 150 kB that arrives at once.
const BURSTY_BACKLOG: f64 = 100.0 * FULL_PACKET as f64;
/// A full packet with its Ethernet header, bytes.
pub(crate) const FULL_PACKET: u32 = 1514;
/// At least this fraction of a flow's packets must arrive at or below its backlog.
const MOST: f64 = 0.99;
/// A modest or bursty flow takes at most this part of the link's rate.
const MODEST: f64 = 0.1;
/// A page's bursts are this far apart, so a bursty flow's mean rate is taken over at least this
/// time, seconds.
const PAUSE: f64 = 10.0;
/// The most that a call with uncompressed speech takes, headers included, in bits per second.
const FASTEST_CALL: f64 = 128_000.0;
/// A call's packets have at most this mean length. With headers, twenty milliseconds of
/// uncompressed speech (RFC 3551) are 218 bytes on Ethernet.
pub(crate) const LONGEST_OF_A_CALL: u64 = 300;

/// What a flow demands, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Less than a fair share whenever other flows want the link too.
    Light,
    /// More than a fair share in bursts, but only a small part of the link.
    Bursty,
    /// More than a fair share among many flows, but only a small part of the link, or no more than
    /// a call takes.
    Modest,
    /// More than a fair share, and a large part of the link.
    Heavy,
}

/// A flow's packets, by the backlog that the GPS server holds for this flow when they arrive. The
/// arriving packet counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backlogs {
    light: u64,
    bursty: u64,
}

impl Backlogs {
    pub(crate) const NONE: Self = Self {
        light: 0,
        bursty: 0,
    };

    /// Counts an arrival at which the server holds `bytes` for the flow.
    pub(crate) fn count(&mut self, bytes: f64) {
        self.light += u64::from(bytes <= LIGHT_BACKLOG);
        self.bursty += u64::from(bytes <= BURSTY_BACKLOG);
    }
}

impl Demand {
    /// What a flow with these packets and bytes demands. They span `seconds` from first to last,
    /// and the link's rate is in bits per second.
    pub(crate) fn of(
        backlogs: Backlogs,
        (packets, bytes): (u64, u64),
        seconds: f64,
        link: f64,
    ) -> Self {
        let bits = bytes as f64 * 8.0;
        let mean_rate = bits / seconds.max(1.0);
        // By backlog first: nearly all packets of a light flow find little of it in the ideal
        // server.
        let most = MOST * packets as f64;
        if backlogs.light as f64 >= most {
            return Self::Light;
        }
        if backlogs.bursty as f64 >= most && bits / seconds.max(PAUSE) <= MODEST * link {
            return Self::Bursty;
        }
        // Then by mean rate.
        let is_like_a_call = mean_rate <= FASTEST_CALL && bytes <= LONGEST_OF_A_CALL * packets;
        if mean_rate <= MODEST * link || is_like_a_call {
            Self::Modest
        } else {
            Self::Heavy
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The demand of a flow whose packets of 1500 bytes found these backlogs, at 10 Mbit/s.
    fn demand(backlogs: &[(u64, f64)], seconds: f64) -> Demand {
        let mut counted = Backlogs::NONE;
        backlogs
            .iter()
            .for_each(|(packets, bytes)| (0..*packets).for_each(|_| counted.count(*bytes)));
        let packets: u64 = backlogs.iter().map(|(packets, _)| packets).sum();
        Demand::of(counted, (packets, packets * 1500), seconds, 10e6)
    }

    #[test]
    fn demand_follows_from_backlogs_then_from_the_rate() {
        assert_eq!(demand(&[(990, 15_140.0), (10, 1e9)], 0.0), Demand::Light);
        assert_eq!(
            demand(&[(800, 15_140.0), (33, 151_400.0)], 0.0),
            Demand::Bursty,
            "a megabit of ten, over ten seconds at least"
        );
        assert_eq!(
            demand(&[(800, 15_140.0), (34, 151_400.0)], 0.0),
            Demand::Heavy
        );
        assert_eq!(
            demand(&[(1640, 15_140.0), (26, 151_400.0)], 20.0),
            Demand::Bursty
        );
        assert_eq!(
            demand(&[(1640, 15_140.0), (26, 151_401.0)], 20.0),
            Demand::Modest,
            "more than a hundredth of the packets"
        );
        let of_short = |packets, bytes| {
            let mut counted = Backlogs::NONE;
            counted.count(1e9);
            Demand::of(counted, (packets, bytes), 1.0, 700e3)
        };
        assert_eq!(
            [
                of_short(53, 15_900),
                of_short(53, 15_901),
                of_short(54, 16_100)
            ],
            [Demand::Modest, Demand::Heavy, Demand::Heavy]
        );
    }

    /// Regression: a page of 60 packets was bulk, and web with one packet more eight seconds later.
    #[test]
    fn one_page_is_as_bursty_as_a_page_and_a_later_packet() {
        let demands = [0.1, 8.0].map(|seconds| demand(&[(10, 15_140.0), (50, 90_000.0)], seconds));
        assert_eq!(demands, [Demand::Bursty; 2]);
    }
}

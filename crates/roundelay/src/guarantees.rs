//! What a discipline guarantees to a flow (fairness index, latency, delay), as formulas with their
//! sources.

use crate::service::hfsc::Curve;
use crate::time::Duration;
use crate::units::Rate;

/// The formulas' input: a flow and its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The flow's weight. Its share phi is `weight / total_weight`.
    pub weight: u32,
    /// Sum of all flows' weights, idle ones too.
    pub total_weight: u64,
    /// Smallest weight of any flow.
    pub least_weight: u32,
    /// Number of flows.
    pub flows: u64,
    /// L_k: the flow's longest packet in bytes.
    pub max_packet_len: u32,
    /// L: the longest packet of any flow in bytes.
    pub link_max_packet_len: u32,
    /// R: the link's rate.
    pub rate: Rate,
}

impl Share {
    /// `bytes` times phi, rounded up.
    pub const fn of(&self, bytes: u64) -> u64 {
        let product = bytes as u128 * self.weight as u128;
        let total = if self.total_weight == 0 {
            1
        } else {
            self.total_weight as u128
        };
        let quotient = product.div_ceil(total);
        if quotient > u64::MAX as u128 {
            u64::MAX
        } else {
            quotient as u64
        }
    }

    /// `bytes` divided by phi, rounded up: the link's service while the flow is due `bytes`.
    pub const fn per_share(&self, bytes: u64) -> u64 {
        per_weight(bytes, self.total_weight, self.weight)
    }

    /// `bytes` divided by the smallest share of any flow, rounded up.
    pub const fn per_least_share(&self, bytes: u64) -> u64 {
        per_weight(bytes, self.total_weight, self.least_weight)
    }
}

const fn per_weight(bytes: u64, total: u64, weight: u32) -> u64 {
    let weight = if weight == 0 { 1 } else { weight as u128 };
    let quotient = (bytes as u128 * total as u128).div_ceil(weight);
    if quotient > u64::MAX as u128 {
        u64::MAX
    } else {
        quotient as u64
    }
}

/// A proven bound and its source. The largest value, [`Duration::MAX`] or `u64::MAX` bytes, also
/// stands for everything beyond the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound<V> {
    /// The bound.
    pub value: V,
    /// Paper, theorem or equation.
    pub source: &'static str,
}

/// A discipline's guarantees for a flow. None: nothing is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guarantees {
    /// Bit Worst-case Fair Index in bytes: how far the flow may lag behind its share of the
    /// service, over any interval in which it is backlogged (QFQ paper, Eq. 7).
    pub b_wfi: Option<Bound<u64>>,
    /// Time Worst-case Fair Index: how much later a packet may be complete than its arrival plus
    /// the time that the flow's backlog then takes at the flow's share of the rate (QFQ paper, Eq.
    /// 11).
    pub t_wfi: Option<Bound<Duration>>,
    /// Latency: how much later a packet may be complete than on a link with the flow's own share of
    /// the rate, which is at GRC(p) = max(arrival(p), GRC(p - 1)) + len(p) / r. Equals a
    /// latency-rate server's Theta (Stiliadis and Varma, "Latency-Rate Servers", IEEE/ACM ToN 6(5),
    /// 1998) and a guaranteed-rate server's constant (Goyal, Lam, Vin, 1995).
    pub latency: Option<Bound<Duration>>,
    /// How far apart the service of this flow and any other may be while both are backlogged, each
    /// as service time at the flow's own share of the rate: |W_i / r_i - W_j / r_j| (Golestani's
    /// fairness).
    pub fairness: Option<Bound<Duration>>,
    /// The least service that a leaf gets in a tree whose classes have curves or rates of their
    /// own: `hfsc`, `htb`.
    pub service: Option<Bound<LeastService>>,
    /// Bounds printed in the discipline's paper, if they differ from the proven ones.
    pub printed: Printed,
}

/// A lower bound for service: from a leaf that is backlogged at some time, as many bytes have left
/// as its curve gives in a time that began with some backlogged period, except for packets that are
/// `late` by at most this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeastService {
    /// The curve.
    pub curve: Curve,
    /// Time by which a packet may end after its deadline by the curve.
    pub late: Duration,
}

impl LeastService {
    /// Largest delay in a first-in-first-out leaf whose flows together send at most `burst` bytes
    /// and `rate` more a second. It is the largest horizontal distance between this line and the
    /// curve, plus the lateness. None: the rate is more than the curve's last slope.
    pub fn delay(&self, rate: Rate, burst: u64) -> Option<Duration> {
        let curve = &self.curve;
        let (m1, m2) = curve.slopes();
        let rate = u128::from(rate.bits_per_second());
        if rate > m2 {
            return None;
        }
        // In bits times 10^12, as picoseconds are.
        let burst = u128::from(burst) * 8_000_000_000_000;
        let end = u128::from(curve.d.as_picos());
        let knee = m1 * end;
        if burst > knee || m1 == 0 {
            // The curve reaches the burst in its second piece, and is steeper than the line.
            let time = end + (burst - knee).div_ceil(m2);
            return Some(picos(time) + self.late);
        }
        // At the burst, or where the line passes the end of the first piece.
        let at_burst = burst.div_ceil(m1);
        let at_knee = end - ((knee - burst) / rate).min(end);
        Some(picos(at_burst.max(at_knee)) + self.late)
    }
}

fn picos(picos: u128) -> Duration {
    Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

/// Bounds as a paper prints them, if they differ from the proven ones, because they are too small,
/// or stated without a covering proof. None: the paper prints the proven bound, or prints nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Printed {
    /// Bit Worst-case Fair Index in bytes.
    pub b_wfi: Option<Bound<u64>>,
    /// Time Worst-case Fair Index.
    pub t_wfi: Option<Bound<Duration>>,
}

impl Guarantees {
    /// The guarantees with printed bounds in place of the proven ones, where they differ.
    #[must_use]
    pub fn as_printed(self) -> Self {
        Self {
            b_wfi: self.printed.b_wfi.or(self.b_wfi),
            t_wfi: self.printed.t_wfi.or(self.t_wfi),
            ..self
        }
    }

    /// The latency: the smaller of the stated one and the one that a work-conserving discipline's
    /// B-WFI gives.
    ///
    /// Let p begin its transmission at s, let a be when p's backlog period began, and S the flow's
    /// bytes from a up to and including p. The link was busy from a to s, so the flow has received
    /// S - len(p) >= phi R (s - a) - B-WFI, except for the rest of the flow's own previous packet
    /// at a, which took up to L_k / R. Hence p is complete by a + S / r + B-WFI / r + L_k / R, and
    /// GRC(p) is at least a + S / r.
    ///
    /// A T-WFI gives no latency, because it measures from the backlog at arrival, late packets
    /// included, so lateness may grow with each packet (docs/bounds.md has an example).
    pub fn latency_for(&self, share: &Share) -> Option<Bound<Duration>> {
        let from_b_wfi = self.b_wfi.map(|bound| {
            let value = share.rate.time_of(
                share
                    .per_share(bound.value)
                    .saturating_add(share.max_packet_len.into()),
            );
            Bound {
                value,
                source: "from the B-WFI: B-WFI / r + L_k / R",
            }
        });
        [self.latency, from_b_wfi]
            .into_iter()
            .flatten()
            .min_by_key(|bound| bound.value)
    }

    /// Largest queueing and transmission delay for a packet, if its flow sends at most `burst`
    /// bytes at once beyond its share of the rate (a token bucket of this depth). It is `burst / r`
    /// plus the latency, since GRC(p) is at most `burst / r` after p's arrival. None: nothing is
    /// proven.
    pub fn delay(&self, share: &Share, burst: u64) -> Option<Bound<Duration>> {
        let latency = self.latency_for(share)?;
        Some(Bound {
            value: share.rate.time_of(share.per_share(burst)) + latency.value,
            source: latency.source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share() -> Share {
        let rate = Rate::from_bits_per_second(8_000_000).expect("not zero");
        Share {
            weight: 2,
            total_weight: 10,
            least_weight: 1,
            flows: 3,
            max_packet_len: 100,
            link_max_packet_len: 1_000,
            rate,
        }
    }

    /// A byte in 2^32 shares is 2^32 bytes, and a saturating burst takes a saturated time on any
    /// link.
    #[test]
    fn what_saturates_on_the_way_saturates_at_the_end() {
        let rate = Rate::from_bits_per_second(u64::MAX).expect("not zero");
        let share = Share {
            weight: 1,
            total_weight: 1 << 32,
            rate,
            ..share()
        };
        let guarantees = Guarantees {
            latency: Some(Bound {
                value: Duration::ZERO,
                source: "",
            }),
            ..Guarantees::default()
        };
        let delay = |burst| {
            guarantees
                .delay(&share, burst)
                .map(|bound| bound.value.is_saturated())
        };
        assert_eq!((delay(1 << 31), delay(1 << 33)), (Some(false), Some(true)));
        let behind = Guarantees {
            b_wfi: Some(Bound {
                value: u64::MAX,
                source: "",
            }),
            ..Guarantees::default()
        };
        assert_eq!(
            behind.latency_for(&share).map(|bound| bound.value),
            Some(Duration::MAX)
        );
    }

    #[test]
    fn shares_divide_and_multiply_upwards() {
        let share = share();
        assert_eq!(
            (share.of(7), share.per_share(7), share.per_least_share(7)),
            (2, 35, 70)
        );
        assert_eq!(share.per_least_share(u64::MAX), u64::MAX);
        assert_eq!(
            Share {
                weight: 2,
                total_weight: 1,
                ..share
            }
            .of(u64::MAX),
            u64::MAX
        );
    }

    /// A byte takes a microsecond, and five at the flow's share.
    #[test]
    fn delays_follow_from_the_latency_or_the_b_wfi_and_not_from_the_t_wfi() {
        let bound = |micros| {
            Some(Bound {
                value: Duration::from_micros(micros),
                source: "",
            })
        };
        let none = Guarantees {
            t_wfi: bound(1),
            ..Guarantees::default()
        };
        assert_eq!(none.delay(&share(), 300), None);
        let b_wfi = Guarantees {
            b_wfi: Some(Bound {
                value: 200,
                source: "",
            }),
            ..none
        };
        assert_eq!(
            b_wfi.delay(&share(), 300).map(|bound| bound.value),
            Some(Duration::from_micros(1_500 + 1_000 + 100))
        );
        let both = Guarantees {
            latency: bound(700),
            ..b_wfi
        };
        assert_eq!(
            both.delay(&share(), 300).map(|bound| bound.value),
            Some(Duration::from_micros(1_500 + 700))
        );
    }

    /// A packet arrives each time unit, its service time at the flow's share, at a server that
    /// holds each packet for its backlog at arrival and one more unit: T-WFI 1. The packets still
    /// get later and later.
    #[test]
    fn a_small_t_wfi_promises_no_delay() {
        let mut departures = alloc::vec::Vec::new();
        for arrival in 0u64..1_000 {
            let backlog = 1 + departures
                .iter()
                .filter(|departure| **departure > arrival)
                .count() as u64;
            departures.push(arrival + backlog + 1);
        }
        // GRC(p) is one unit after its arrival.
        assert!(departures[999] - (999 + 1) > 20, "{}", departures[999]);
    }
}

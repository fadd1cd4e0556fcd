//! Delays over one link where flows share queues: strict bands, deficit round robin among bands, or
//! a token bucket filter. Each flow of the file has a token bucket. For the proofs see
//! docs/bounds.md, "Bands" and "A token bucket filter".

use roundelay::schedulers::{AnyDiscipline, ets, tbf};
use roundelay::{Duration, Rate};

use super::plan::{Flow, Hop, Plan};

const STRICT: &str = "a strict band: what bands above leave, and one packet of a band below \
    (docs/bounds.md, Bands)";
const IN_TURN: &str = "a band in turn: its quantum's part of what strict bands leave \
    (docs/bounds.md, Bands)";
const SHAPED: &str =
    "one flow behind a server of tbf's rate (docs/bounds.md, A token bucket filter)";

/// A flow's delay and its source, for disciplines whose queues are bands by flow priority, and for
/// `tbf`. None: nothing is proven.
pub(super) fn delay(
    plan: &Plan,
    flow: &Flow,
    discipline: &AnyDiscipline,
) -> Option<(Duration, &'static str)> {
    let [hop] = &plan.hops[..] else { return None };
    plan.bursts?;
    let (delay, source) = match hop.discipline.as_ref().unwrap_or(discipline) {
        AnyDiscipline::Priority(_) => {
            let bands = Sums::of(plan, flow, |other| other.priority);
            (bands.strict_delay(hop.rate)?, STRICT)
        }
        AnyDiscipline::Ets(config) => {
            let bands = Sums::of(plan, flow, |other| config.band_of(other.priority));
            let Some(quantum) = config.quantum_of(config.band_of(flow.priority)) else {
                return Some((bands.strict_delay(hop.rate)? + hop.delay, STRICT));
            };
            (delay_in_turn(plan, flow, hop, config, quantum)?, IN_TURN)
        }
        AnyDiscipline::Tbf(config) => (shaped_delay(plan, hop, config)?, SHAPED),
        _ => return None,
    };
    Some((delay + hop.delay, source))
}

/// The load that other bands' flows put before a flow, in bits per second and bytes.
#[derive(Default)]
struct Sums {
    /// Rates and bursts of the bands above.
    rate_above: u64,
    burst_above: u64,
    /// Rates and bursts of the flow's own band, the flow included.
    rate: u64,
    burst: u64,
    /// The longest packet that a band below sends.
    longest_below: u32,
}

impl Sums {
    /// Orders bands by number, the smallest first.
    fn of(plan: &Plan, flow: &Flow, band: impl Fn(&Flow) -> u32) -> Self {
        let own = band(flow);
        let mut sums = Self::default();
        for other in &plan.flows {
            let rate = rate_of(other);
            let number = band(other);
            if number < own {
                sums.rate_above = sums.rate_above.saturating_add(rate);
                sums.burst_above = sums.burst_above.saturating_add(other.burst);
            } else if number == own {
                sums.rate = sums.rate.saturating_add(rate);
                sums.burst = sums.burst.saturating_add(other.burst);
            } else {
                sums.longest_below = sums.longest_below.max(other.max_packet_len);
            }
        }
        sums
    }

    /// The band gets what the bands above leave, after their bursts and a packet from a band below.
    fn strict_delay(&self, link: Rate) -> Option<Duration> {
        let left =
            Rate::from_bits_per_second(link.bits_per_second().checked_sub(self.rate_above)?)?;
        if self.rate > left.bits_per_second() {
            return None;
        }
        let bytes = self.burst_above.saturating_add(self.burst);
        Some(left.time_of(bytes.saturating_add(self.longest_below.into())))
    }
}

/// The delay in a band served in turn. It gets Q of every F bytes that all these bands send, except
/// for their quanta and packets in the first round and the last.
fn delay_in_turn(
    plan: &Plan,
    flow: &Flow,
    hop: &Hop,
    config: &ets::Config,
    quantum: u32,
) -> Option<Duration> {
    let own = config.band_of(flow.priority);
    let mut strict_rate: u64 = 0;
    let mut ahead: u128 = 0;
    let mut rate: u64 = 0;
    let mut burst: u128 = 0;
    let mut own_longest = 0;
    // Each other band in turn, with its longest packet.
    let mut others: Vec<(u32, u32)> = Vec::new();
    for other in &plan.flows {
        let band = config.band_of(other.priority);
        if band == own {
            rate = rate.saturating_add(rate_of(other));
            burst += u128::from(other.burst);
            own_longest = own_longest.max(other.max_packet_len);
        } else if config.quantum_of(band).is_none() {
            strict_rate = strict_rate.saturating_add(rate_of(other));
            ahead += u128::from(other.burst);
        } else if let Some((_, longest)) = others.iter_mut().find(|(known, _)| *known == band) {
            *longest = other.max_packet_len.max(*longest);
        } else {
            others.push((band, other.max_packet_len));
        }
    }
    let mut other_quanta: u128 = 0;
    let mut longest = own_longest;
    for (band, packet) in &others {
        other_quanta += u128::from(config.quantum_of(*band)?);
        // The last packet in each turn.
        ahead += u128::from(*packet);
        longest = longest.max(*packet);
    }
    let left = hop.rate.bits_per_second().checked_sub(strict_rate)?;
    let quantum = u128::from(quantum);
    let all_quanta = other_quanta + quantum;
    if u128::from(rate) * all_quanta > u128::from(left) * quantum {
        return None;
    }
    // The packet that a strict band finds on the link, if there is a strict band.
    if strict_rate > 0 {
        ahead += u128::from(longest);
    }
    // The band's own deficit and quantum, which others may spend before it.
    ahead += (other_quanta * (quantum + u128::from(own_longest))).div_ceil(quantum);
    ahead += (burst * all_quanta).div_ceil(quantum);
    let bytes = u64::try_from(ahead).unwrap_or(u64::MAX);
    Some(Rate::from_bits_per_second(left)?.time_of(bytes))
}

/// The delay under tbf, which is as good as a link at its rate except for two packets on the real
/// link.
fn shaped_delay(plan: &Plan, hop: &Hop, config: &tbf::Config) -> Option<Duration> {
    let longest = hop.max_packet_len;
    let rate = config.rate.unwrap_or(hop.rate).min(hop.rate);
    let has_room = u64::from(config.burst) >= 2 * u64::from(longest);
    let mut sum: u64 = 0;
    for flow in &plan.flows {
        sum = sum.saturating_add(rate_of(flow));
    }
    if config.peakrate.is_some() || !has_room || sum > rate.bits_per_second() {
        return None;
    }
    let on_the_link = hop.rate.time_of(2 * u64::from(longest));
    Some(rate.time_of(plan.bursts?) + on_the_link)
}

fn rate_of(flow: &Flow) -> u64 {
    flow.rate.map_or(0, Rate::bits_per_second)
}

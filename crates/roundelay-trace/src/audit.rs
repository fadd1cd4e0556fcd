//! Bounds promised to each flow over a whole run, for the audit.
//!
//! Flows come and go, and a flow's share changes with them. So we evaluate each bound several
//! times: for the smallest and the largest sum of weights in the run, for the most flows by weight,
//! and for the most flows under the largest sum, even if these occurred at different times. The
//! largest result counts.

use roundelay::{Bound, Duration, FlowConfig, Guarantees, Rate, Share};

/// The run's extremes in everything that a bound depends on.
#[derive(Debug)]
pub(crate) struct Extremes {
    /// The longest packet of any flow.
    packet_len: u32,
    /// The smallest weight of any flow.
    weight_of_a_flow: u32,
    /// The most flows at a time.
    flows: u64,
    /// The moments when the sum of weights was largest, smallest, and smallest relative to the
    /// number of flows.
    weight: Crowd,
    least_weight: Crowd,
    least_weight_a_flow: Crowd,
}

/// How many flows were present at one time, and by which sum of weights the discipline divided.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) flows: u64,
    pub(crate) weight: u64,
}

impl Crowd {
    /// How many flows there are besides one.
    fn others(self) -> u128 {
        u128::from(self.flows.saturating_sub(1))
    }
}

impl Default for Extremes {
    fn default() -> Self {
        let none = Crowd::default();
        Self {
            packet_len: 0,
            weight_of_a_flow: FlowConfig::MAX_WEIGHT,
            flows: 0,
            weight: none,
            least_weight: none,
            least_weight_a_flow: none,
        }
    }
}

/// Bounds promised to one flow, in bytes and seconds.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Promised {
    pub(crate) b_wfi: Option<f64>,
    pub(crate) t_wfi: Option<f64>,
    pub(crate) latency: Option<f64>,
    /// The lead in bytes, converted to time at the flow's share under the largest sum of weights.
    /// See [`Extremes::seconds_of_lead`].
    pub(crate) fairness: Option<f64>,
}

impl Extremes {
    pub(crate) fn watch_packet(&mut self, len: u32) {
        self.packet_len = self.packet_len.max(len);
    }

    pub(crate) fn watch_flow(&mut self, config: FlowConfig) {
        self.weight_of_a_flow = self.weight_of_a_flow.min(config.weight);
    }

    pub(crate) fn watch_crowd(&mut self, crowd: Crowd) {
        if crowd.weight == 0 {
            return;
        }
        self.flows = self.flows.max(crowd.flows);
        if crowd.weight > self.weight.weight {
            self.weight = crowd;
        }
        if self.least_weight.weight == 0 || crowd.weight < self.least_weight.weight {
            self.least_weight = crowd;
        }
        let densest = self.least_weight_a_flow;
        // Compares the quotients of other flows and weights, without dividing.
        let density = crowd.others() * u128::from(densest.weight);
        if density >= densest.others() * u128::from(crowd.weight) {
            self.least_weight_a_flow = crowd;
        }
    }

    /// Converts bytes for each unit of weight to the time in which one unit of weight sends them,
    /// under the largest sum of weights.
    pub(crate) fn seconds_of_lead(&self, bytes: f64, rate: Rate) -> f64 {
        bytes * self.weight.weight as f64 * 8.0 / rate.bits_per_second() as f64
    }

    /// The flow's worst shares. The first is for lateness, which grows both with the number of
    /// flows and with the sum of weights.
    fn shares(&self, config: FlowConfig, rate: Rate) -> [Share; 4] {
        let most = Crowd {
            flows: self.flows,
            ..self.weight
        };
        [
            most,
            self.weight,
            self.least_weight,
            self.least_weight_a_flow,
        ]
        .map(|crowd| Share {
            weight: config.weight,
            total_weight: crowd.weight.max(config.weight.into()),
            least_weight: self.weight_of_a_flow,
            flows: crowd.flows,
            max_packet_len: config.max_packet_len,
            link_max_packet_len: self.packet_len,
            rate,
        })
    }

    /// The largest promised bound over all of the worst shares.
    pub(crate) fn promised(
        &self,
        config: FlowConfig,
        rate: Rate,
        guarantees: impl Fn(&Share) -> Guarantees,
    ) -> Promised {
        let mut promised = Promised::default();
        let shares = self.shares(config, rate);
        for (index, share) in shares.iter().enumerate() {
            let guarantees = guarantees(share);
            if index == 0 {
                promised.t_wfi = seconds(guarantees.t_wfi);
            }
            if let Some(bound) = guarantees.b_wfi {
                raise(&mut promised.b_wfi, bound.value as f64);
            }
            if let Some(bound) = seconds(guarantees.latency_for(share)) {
                raise(&mut promised.latency, bound);
            }
            if let Some(bound) = seconds(guarantees.fairness) {
                let bits = bound * rate.bits_per_second() as f64;
                let bytes = bits / 8.0 / share.total_weight as f64;
                let lead = self.seconds_of_lead(bytes + self.lead_by_changes(), rate);
                raise(&mut promised.fairness, lead);
            }
        }
        promised
    }

    /// The extra lead when the sum of weights changes. Bounds on pairs divide a packet by the sum
    /// of weights at one time. But after a change, each of the two flows may be measured against
    /// the smallest sum and bounded by the largest.
    fn lead_by_changes(&self) -> f64 {
        let [most, least] = [self.least_weight, self.weight]
            .map(|crowd| f64::from(self.packet_len) / crowd.weight.max(1) as f64);
        2.0 * (most - least)
    }
}

/// A promised time in seconds. If it is saturated it is beyond the clock's range, and promises
/// nothing.
fn seconds(bound: Option<Bound<Duration>>) -> Option<f64> {
    let value = bound?.value;
    (!value.is_saturated()).then(|| value.as_secs_f64())
}

/// Raises a known bound to another if that is larger.
fn raise(known: &mut Option<f64>, bound: f64) {
    *known = Some(known.map_or(bound, |known| known.max(bound)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: FlowConfig = FlowConfig {
        weight: 2,
        max_packet_len: 1000,
    };

    fn extremes(crowds: &[(u64, u64)]) -> Extremes {
        let mut extremes = Extremes::default();
        extremes.watch_packet(1500);
        extremes.watch_flow(CONFIG);
        crowds
            .iter()
            .for_each(|&(flows, weight)| extremes.watch_crowd(Crowd { flows, weight }));
        extremes
    }

    /// At this rate one byte takes a microsecond.
    fn promised(extremes: &Extremes, guarantees: impl Fn(&Share) -> Guarantees) -> Promised {
        extremes.promised(CONFIG, "8mbit".parse().expect("a rate"), guarantees)
    }

    #[test]
    fn each_bound_is_the_largest_that_held_at_any_time() {
        let extremes = extremes(&[(2, 4), (9, 20), (3, 100), (1, 0)]);
        let bound = |bytes: u64| {
            Some(Bound {
                value: bytes,
                source: "",
            })
        };
        let b_wfi = |share: &Share| Guarantees {
            b_wfi: bound(share.flows * 1000 / share.total_weight),
            ..Guarantees::default()
        };
        assert_eq!(
            promised(&extremes, b_wfi).b_wfi,
            Some(500.0),
            "two flows under a sum of four"
        );
        let late = |share: &Share| Duration::from_micros(share.per_share(10) + share.flows);
        let latency = |share: &Share| Guarantees {
            latency: Some(Bound {
                value: late(share),
                source: "",
            }),
            ..Guarantees::default()
        };
        assert_eq!(
            promised(&extremes, latency).latency,
            Some(509e-6),
            "nine flows, and a fiftieth of the link"
        );
        assert_eq!(promised(&extremes, |_| Guarantees::default()).latency, None);
    }

    #[test]
    fn fairness_is_told_under_the_largest_sum_of_weights() {
        let apart = |share: &Share| Duration::from_micros(share.per_share(10));
        let fairness = |share: &Share| Guarantees {
            fairness: Some(Bound {
                value: apart(share),
                source: "",
            }),
            ..Guarantees::default()
        };
        let steady = promised(&extremes(&[(2, 100)]), fairness)
            .fairness
            .expect("promised");
        assert!(
            (steady - 500e-6).abs() < 1e-12,
            "10 bytes at a fiftieth: {steady}"
        );
        let changing = promised(&extremes(&[(2, 50), (2, 100)]), fairness)
            .fairness
            .expect("promised");
        assert!(
            (changing - steady - 2.0 * 1500e-6).abs() < 1e-12,
            "and a packet of each, twice as much as under the largest sum: {changing}"
        );
    }
}

//! Dumbbell: senders, a bottleneck and receivers. Most papers on queues use this network.
//!
//! `s0`, `s1`, ... send to `r0`, `r1`, ... through routers `left` and `right`. The link between
//! these is the core, and each pair has its own access links. Round-trip times may differ from pair
//! to pair: by steps, or by delays that each run draws.

use roundelay::{Duration, Rate};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit, not_too_many, within};
use crate::network::LinkClass;

#[cfg(feature = "schema")]
pub(super) const NODES: &str =
    "Senders, a bottleneck, receivers: `s0`, ... behind `left`, `r0`, ... behind `right`.";
pub(super) const SOURCE: &str = "MQFQ, section V";

/// Parameters of the dumbbell. Defaults are from the MQFQ paper (section V: 5 Mbit/s, a round trip
/// of 60 ms).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Dumbbell {
    /// Number of senders, and of receivers: 1 or more.
    #[serde(deserialize_with = "whole::<_, _, 1, 500_000>")]
    pub pairs: u32,
    /// Rate of the link between the routers.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Delay of the link between the routers, one way.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// Rate of each access link.
    #[serde(with = "InWords::<Rate>")]
    pub access_rate: Rate,
    /// Delay of each access link.
    #[serde(with = "InWords::<Duration>")]
    pub access_delay: Duration,
    /// Extra delay of sender `i`: `i` times this.
    #[serde(with = "InWords::<Duration>")]
    pub access_delay_step: Duration,
    /// Extra delay of each sender, drawn evenly from 0 to this by the seed of each run.
    #[serde(with = "InWords::<Duration>")]
    pub access_delay_jitter: Duration,
}

impl Default for Dumbbell {
    fn default() -> Self {
        let delay = Duration::from_millis(10);
        let rate = mbit(5);
        let access_rate = mbit(100);
        Self {
            pairs: 50,
            rate,
            delay,
            access_rate,
            access_delay: delay,
            access_delay_step: Duration::ZERO,
            access_delay_jitter: Duration::ZERO,
        }
    }
}

impl Dumbbell {
    /// Builds the network.
    ///
    /// # Errors
    /// There are no pairs, or too many.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        within("pairs", self.pairs.into(), 1, 500_000)?;
        not_too_many("pairs", 2 + 2 * u64::from(self.pairs))?;
        let mut builder = Builder::new(queues);
        let [left, right] = ["left", "right"].map(|name| builder.router(name));
        builder.join(
            left,
            right,
            Wire {
                rate: self.rate,
                delay: self.delay,
            },
            LinkClass::Core,
        );
        let access = |number: u64| {
            let more = self.access_delay_step.as_picos().saturating_mul(number);
            Wire {
                rate: self.access_rate,
                delay: self.access_delay + Duration::from_picos(more),
            }
        };
        for number in 0..self.pairs {
            builder.host_within(
                &format!("s{number}"),
                left,
                access(number.into()),
                self.access_delay_jitter,
            );
        }
        for number in 0..self.pairs {
            builder.host(&format!("r{number}"), right, access(0));
        }
        Ok(builder.topology)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{links_of, way};
    use super::*;

    #[test]
    fn pairs_meet_at_the_bottleneck() {
        let topology = Dumbbell {
            pairs: 3,
            access_delay_step: Duration::from_millis(5),
            ..Dumbbell::default()
        };
        let topology = topology.build(&Queues::default()).unwrap();
        assert_eq!(way(&topology, "s2", "r0"), ["left", "right"]);
        assert_eq!((topology.network.nodes(), topology.hosts.len()), (8, 6));
        assert_eq!(
            LinkClass::ALL.map(|class| links_of(&topology, class)),
            [2, 6, 6]
        );
        let node = |name| topology.network.named(name).unwrap();
        let route = topology.network.route(node("s2"), node("r2")).unwrap();
        let delay = route.iter().fold(Duration::ZERO, |sum, link| {
            sum + topology.network.links()[link.index()].delay
        });
        assert_eq!(delay, Duration::from_millis(20 + 10 + 10));
    }

    #[test]
    fn a_dumbbell_needs_a_pair() {
        let error = Dumbbell {
            pairs: 0,
            ..Dumbbell::default()
        }
        .build(&Queues::default())
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "pairs: 0 is not in the legal range 1 to 500000"
        );
    }
}

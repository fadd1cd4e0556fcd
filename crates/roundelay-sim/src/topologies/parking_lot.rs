//! Parking lot: a chain of bottlenecks. One pair of hosts sends across the whole chain, and one
//! pair across each bottleneck.
//!
//! Routers `r0`, `r1`, ... stand in a row. `s0` at the first sends to `k0` at the last. `s1` at
//! `r0` sends to `k1` at `r1`, `s2` at `r1` to `k2` at `r2`, and so on.

use roundelay::{Duration, Rate};
use roundelay_files::{InWords, whole};
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit, within};
use crate::network::LinkClass;

#[cfg(feature = "schema")]
pub(super) const NODES: &str =
    "A chain of bottlenecks: `s0` to `k0` over all, `s1` to `k1` over the first, and so on.";
pub(super) const SOURCE: &str = "";

/// Parameters of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ParkingLot {
    /// Links between routers: 1 or more.
    #[serde(deserialize_with = "whole::<_, _, 1, 100_000>")]
    pub hops: u32,
    /// Rate of each link between routers.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Delay of each link between routers, one way.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// Rate of each access link.
    #[serde(with = "InWords::<Rate>")]
    pub access_rate: Rate,
    /// Delay of each access link.
    #[serde(with = "InWords::<Duration>")]
    pub access_delay: Duration,
}

impl Default for ParkingLot {
    fn default() -> Self {
        let rate = mbit(10);
        let access_rate = mbit(100);
        Self {
            hops: 3,
            rate,
            delay: Duration::from_millis(10),
            access_rate,
            access_delay: Duration::from_millis(1),
        }
    }
}

impl ParkingLot {
    /// Builds the network.
    ///
    /// # Errors
    /// There are no links between routers, or too many.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        within("hops", self.hops.into(), 1, 100_000)?;
        let mut builder = Builder::new(queues);
        let routers: Vec<_> = (0..=self.hops)
            .map(|number| builder.router(&format!("r{number}")))
            .collect();
        let access = Wire {
            rate: self.access_rate,
            delay: self.access_delay,
        };
        for pair in routers.windows(2) {
            builder.join(
                pair[0],
                pair[1],
                Wire {
                    rate: self.rate,
                    delay: self.delay,
                },
                LinkClass::Core,
            );
        }
        builder.host("s0", routers[0], access);
        builder.host("k0", routers[self.hops as usize], access);
        for (number, pair) in (1..).zip(routers.windows(2)) {
            builder.host(&format!("s{number}"), pair[0], access);
            builder.host(&format!("k{number}"), pair[1], access);
        }
        Ok(builder.topology)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{links_of, way};
    use super::*;

    #[test]
    fn one_pair_crosses_all_and_each_link_has_its_own() {
        let topology = ParkingLot::default().build(&Queues::default()).unwrap();
        assert_eq!(way(&topology, "s0", "k0"), ["r0", "r1", "r2", "r3"]);
        assert_eq!(way(&topology, "s2", "k2"), ["r1", "r2"]);
        assert_eq!(topology.hosts.len(), 8);
        assert_eq!(
            LinkClass::ALL.map(|class| links_of(&topology, class)),
            [6, 8, 8]
        );
    }
}

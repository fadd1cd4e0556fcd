//! The network in Figure 8 of the QFQ paper (F. Checconi, L. Rizzo, P. Valente, "QFQ: Efficient
//! Packet Scheduling with Tight Guarantees", IEEE/ACM Transactions on Networking 21(3), 2013),
//! which the paper's Tables 2 and 3 use.
//!
//! Routers `R0`, `R1`, `R2` stand in a row, with 10 Mbit/s and 10 ms between them. All other links
//! have 100 Mbit/s and 1 ms. `S0` to `S4` send to `K0` to `K4`. The paper does not say at which
//! routers the best-effort pairs S3-K3 and S4-K4 are, so `best_effort` selects them.

use roundelay::Duration;
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit};
use crate::network::LinkClass;

#[cfg(feature = "schema")]
pub(super) const NODES: &str = "Figure 8 of the QFQ paper: `S0` to `S4`, `K0` to `K4`.";
pub(super) const SOURCE: &str = "QFQ, Figure 8";

/// Routes of the best-effort flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BestEffort {
    /// One from R0 to R1, one from R1 to R2: each link has one of them. Delays are closest to the
    /// paper's.
    #[default]
    OneEach,
    /// Both from R0 to R2.
    Both,
}

/// The parameter of the network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct QfqFigure8 {
    /// Routes of the best-effort flows.
    pub best_effort: BestEffort,
}

impl QfqFigure8 {
    /// Builds the network.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        let mut builder = Builder::new(queues);
        let routers = ["R0", "R1", "R2"].map(|name| builder.router(name));
        for pair in routers.windows(2) {
            builder.join(
                pair[0],
                pair[1],
                Wire {
                    rate: mbit(10),
                    delay: Duration::from_millis(10),
                },
                LinkClass::Core,
            );
        }
        let access = Wire {
            rate: mbit(100),
            delay: Duration::from_millis(1),
        };
        let ends = match self.best_effort {
            BestEffort::OneEach => [(0, 2), (0, 2), (0, 2), (0, 1), (1, 2)],
            BestEffort::Both => [(0, 2); 5],
        };
        for (number, (first, _)) in ends.iter().enumerate() {
            builder.host(&format!("S{number}"), routers[*first], access);
        }
        for (number, (_, last)) in ends.iter().enumerate() {
            builder.host(&format!("K{number}"), routers[*last], access);
        }
        Ok(builder.topology)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::way;
    use super::*;

    #[test]
    fn flows_go_as_in_the_figure() {
        let built = |best_effort| {
            QfqFigure8 { best_effort }
                .build(&Queues::default())
                .unwrap()
        };
        let topology = built(BestEffort::OneEach);
        for number in 0..3 {
            assert_eq!(
                way(&topology, &format!("S{number}"), &format!("K{number}")),
                ["R0", "R1", "R2"]
            );
        }
        assert_eq!(way(&topology, "S3", "K3"), ["R0", "R1"]);
        assert_eq!(way(&topology, "S4", "K4"), ["R1", "R2"]);
        assert_eq!(
            way(&built(BestEffort::Both), "S4", "K4"),
            ["R0", "R1", "R2"]
        );
    }

    /// 10 ms and 1 ms as the paper's text says, so a packet that never waits takes 22 ms plus its
    /// transmissions.
    #[test]
    fn the_way_takes_22_ms() {
        let topology = QfqFigure8::default().build(&Queues::default()).unwrap();
        let network = &topology.network;
        let route = network
            .route(network.named("S0").unwrap(), network.named("K0").unwrap())
            .unwrap();
        let delay = route.iter().fold(Duration::ZERO, |sum, link| {
            sum + network.links()[link.index()].delay
        });
        assert_eq!(delay, Duration::from_millis(22));
    }
}

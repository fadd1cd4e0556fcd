//! Decision cost: how long a link is idle while its discipline chooses the next packet.
//!
//! To compare disciplines by what their decisions cost, a scenario can give one table for all of
//! them: `decision = { afq = "1ms", wf2q = "1ms" }`.

use std::collections::BTreeMap;
use std::fmt;

use roundelay::schedulers::{AnyDiscipline, Discipline as _};
use roundelay::{Duration, Fault, tree};
use roundelay_files::{Written, custom};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Comes before a tree's name, where a discipline could stand.
pub(crate) const TREE: &str = tree::Config::NAME;

/// The longest time that a decision may take.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long each decision takes: 0 to 3600 s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionCost {
    /// The same for all disciplines.
    Same(Duration),
    /// By the discipline's name, or `tree`.
    ByDiscipline(BTreeMap<String, Duration>),
}

impl DecisionCost {
    /// Decisions that cost no time.
    pub const NONE: Self = Self::Same(Duration::ZERO);

    /// What a decision of `discipline` costs. None if the table does not list it.
    pub fn of(&self, discipline: &str) -> Option<Duration> {
        match self {
            Self::Same(cost) => Some(*cost),
            Self::ByDiscipline(costs) => costs.get(discipline).copied(),
        }
    }

    /// The disciplines in the table. Empty if decisions cost the same in all disciplines.
    pub fn disciplines(&self) -> impl Iterator<Item = &str> {
        let costs = if let Self::ByDiscipline(costs) = self {
            Some(costs)
        } else {
            None
        };
        costs
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
    }
}

impl Default for DecisionCost {
    fn default() -> Self {
        Self::NONE
    }
}

struct Costs;

impl<'de> Deserialize<'de> for DecisionCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Costs)
    }
}

impl<'de> Visitor<'de> for Costs {
    type Value = DecisionCost;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time, as in \"1ms\", or times by discipline, as in \
            { afq = \"1ms\", wf2q = \"1ms\" }",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<DecisionCost, E> {
        time(text).map(DecisionCost::Same)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<DecisionCost, E> {
        time(&number.to_string()).map(DecisionCost::Same)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DecisionCost, A::Error> {
        let mut costs = BTreeMap::new();
        while let Some((discipline, cost)) = map.next_entry::<String, Cost>()? {
            if discipline != TREE && AnyDiscipline::named(&discipline).is_err() {
                let fault = Fault::new(format!(
                    "decision: '{discipline}' is no discipline: `roundelay list` names them, and \
                     there is {TREE}"
                ));
                return Err(custom(fault.with_given(discipline)));
            }
            costs.insert(discipline, cost.0);
        }
        Ok(DecisionCost::ByDiscipline(costs))
    }
}

/// A single value in the table.
struct Cost(Duration);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(Costs)? {
            DecisionCost::Same(cost) => Ok(Self(cost)),
            DecisionCost::ByDiscipline(_) => Err(custom(
                Fault::wanted("a time, as in \"1ms\"").behind("decision: a table in a table; "),
            )),
        }
    }
}

fn time<E: Error>(text: &str) -> Result<Duration, E> {
    let cost = if text == "0" {
        Duration::ZERO
    } else {
        Duration::from_text(text).map_err(custom)?
    };
    if cost <= LONGEST {
        Ok(cost)
    } else {
        let legal = format_args!("0 to {LONGEST}");
        Err(custom(Fault::range(cost, legal).behind("decision ")))
    }
}

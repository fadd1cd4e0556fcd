//! Disciplines and congestion controls of a program in a sweep: code without a fingerprint, for which
//! the program states a version.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use roundelay::QueueSpec;
use roundelay::schedulers::AnyDiscipline;
use roundelay_sim::LinkId;
use roundelay_sim::scenario::Scenario;
use roundelay_tcp::CustomControl;
use roundelay_trace::Stop;
use toml::Value;

use crate::scenario::Read;

/// Keys of a scenario whose values are disciplines.
const DISCIPLINES: [&str; 4] = ["core", "edge", "host", "queue"];
/// Disciplines that stand for one of the program while the scenario is read.
const STAND_INS: [&str; 2] = ["fifo", "lifo"];

/// A program's disciplines and congestion controls for one run.
pub struct Parts {
    /// Disciplines, by their names in values of keys.
    pub disciplines: Vec<AnyDiscipline>,
    /// Congestion controls by names of sources, as in [`Host::controls`](crate::call::Host::controls).
    pub controls: Vec<(String, CustomControl)>,
    /// Message of a failure, asked after the run.
    pub failure: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// A function that makes the parts of a run, and their versions.
#[derive(Clone)]
pub struct OwnParts {
    /// Makes parts for one run, whose failure is theirs alone.
    pub make: Arc<dyn Fn() -> Parts + Send + Sync>,
    /// Versions by `discipline.NAME` and `control.NAME`: part of a run's identity. The program changes
    /// the version with the behaviour.
    pub versions: BTreeMap<String, String>,
}

impl fmt::Debug for OwnParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnParts").field("versions", &self.versions).finish_non_exhaustive()
    }
}

impl Parts {
    /// Reads a scenario whose queues may have the names of the program's disciplines.
    ///
    /// # Errors
    /// The text is not a valid scenario, or no source over TCP has the name of a congestion control.
    pub(super) fn read(&self, name: &str, text: &str, folder: &Path, stop: &Stop) -> Result<Scenario, String> {
        let table: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let read = |other: Option<&str>| {
            let mut value = Value::Table(table.clone());
            self.stand_in(&mut value, "", other);
            Read::of_text(name, &toml::to_string(&value).map_err(|error| error.to_string())?, folder, stop)
        };
        let mut scenario = read(None)?;
        for discipline in &self.disciplines {
            // The links whose queues change with the stand-in are those with this discipline.
            let other = read(Some(discipline.name()))?;
            put(&mut scenario, &other, discipline);
        }
        for (source, control) in &self.controls {
            scenario.set_control(source, control).map_err(|error| error.to_string())?;
        }
        Ok(scenario)
    }

    /// Writes the name of a stand-in for each name of a discipline: the second one for `other`.
    fn stand_in(&self, value: &mut Value, key: &str, other: Option<&str>) {
        match value {
            Value::Table(table) => table.iter_mut().for_each(|(key, value)| self.stand_in(value, key, other)),
            Value::Array(values) => values.iter_mut().for_each(|value| self.stand_in(value, key, other)),
            Value::String(text) if DISCIPLINES.contains(&key) => {
                let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
                if let Some(own) = self.disciplines.iter().find(|own| own.name() == name) {
                    let stand_in = STAND_INS[usize::from(other == Some(own.name()))];
                    *text = format!("{stand_in} {rest}").trim_end().to_owned();
                }
            }
            _ => {}
        }
    }
}

/// Sets the discipline of the queues that differ between two readings.
fn put(scenario: &mut Scenario, other: &Scenario, discipline: &AnyDiscipline) {
    let pairs = scenario.topology.network.links().iter().zip(other.topology.network.links());
    let differ = pairs.map(|(one, other)| one.queue.discipline.name() != other.queue.discipline.name());
    let links: Vec<_> = (0..).map(LinkId).zip(differ).filter_map(|(link, differ)| differ.then_some(link)).collect();
    for link in links {
        scenario.topology.network.change_link(link, |link| {
            let limit = link.queue.limit;
            link.set_queue(QueueSpec { discipline: discipline.clone(), limit });
        });
    }
}

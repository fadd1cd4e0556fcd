//! Identity of runs: hash of the resolved scenario, its files, its behaviours and the seed.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use roundelay_sim::Network;
use roundelay_sim::scenario::Scenario;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use toml::Table;

use super::behaviour::Behaviours;
use super::hash::{hash, hex, short};
use super::values::canonical;

/// Keys of a scenario without influence on the figures of a run.
const IGNORED: [&str; 3] = ["name", "seed", "objective"];
/// Seed of the networks in identities.
const NETWORK_SEED: u64 = 1;

/// Origin of the runs of a point. Equal origins and seeds give equal results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// Canonical JSON of the scenario.
    pub(super) scenario: String,
    /// Hash of the network, hashes of the files by path.
    pub(super) inputs: BTreeMap<String, String>,
    /// Fingerprints of the behaviours used, by name.
    pub(super) behaviours: BTreeMap<String, String>,
}

/// Hashes of the files of scenarios, each file read once.
#[derive(Debug, Default)]
pub(super) struct FileHashes(Mutex<HashMap<PathBuf, String>>);

impl FileHashes {
    fn of(&self, path: &Path) -> Result<String, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = known.get(path) {
            return Ok(hash.clone());
        }
        let mut hash = Sha256::new();
        let read =
            File::open(path).and_then(|mut file| io::copy(&mut file, &mut Writer(&mut hash)));
        read.map_err(|error| format!("{}: cannot read: {error}", path.display()))?;
        let hash = hex(&hash.finalize());
        known.insert(path.to_owned(), hash.clone());
        Ok(hash)
    }
}

/// A hash as a writer.
struct Writer<'a>(&'a mut Sha256);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Origin {
    /// # Errors
    /// A file of the scenario cannot be read, or a behaviour has no fingerprint.
    pub(super) fn new(
        table: &Table,
        scenario: &Scenario,
        behaviours: &Behaviours,
        files: &FileHashes,
    ) -> Result<Self, String> {
        let mut kept = table.clone();
        kept.retain(|key, _| !IGNORED.contains(&key));
        let text = canonical("", &toml::Value::Table(kept)).to_string();
        let mut inputs = BTreeMap::from([(
            "network".to_owned(),
            hash_of_network(&scenario.network(NETWORK_SEED)),
        )]);
        for path in &scenario.files {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            inputs.insert(format!("{}:{name}", inputs.len()), files.of(path)?);
        }
        Ok(Self {
            scenario: text,
            inputs,
            behaviours: behaviours.of(scenario)?,
        })
    }

    /// Identity of the point.
    pub(super) fn identity(&self) -> String {
        let all = [&self.inputs, &self.behaviours].map(|map| {
            map.iter()
                .map(|(name, hash)| format!("{name}={hash}"))
                .collect::<Vec<_>>()
                .join("\n")
        });
        hash(&[&self.scenario, &all[0], &all[1]])
    }

    /// The origin as metadata of the Parquet file of the point with this identity.
    pub(super) fn metadata(&self, point: &str) -> Vec<(String, String)> {
        let json = |map: &BTreeMap<String, String>| serde_json::json!(map).to_string();
        let entries = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("point", point.to_owned()),
            ("scenario", self.scenario.clone()),
            ("inputs", json(&self.inputs)),
            ("behaviours", json(&self.behaviours)),
        ];
        entries
            .map(|(key, value)| (format!("roundelay.{key}"), value))
            .to_vec()
    }

    /// The origin in the metadata of a Parquet file.
    pub(super) fn of_metadata(metadata: &[(String, String)]) -> Option<Self> {
        let text = |name: &str| {
            metadata
                .iter()
                .find(|(key, _)| key.strip_prefix("roundelay.") == Some(name))
                .map(|(_, value)| value.as_str())
        };
        let map = |name: &str| text(name).and_then(|text| serde_json::from_str(text).ok());
        Some(Self {
            scenario: text("scenario")?.to_owned(),
            inputs: map("inputs")?,
            behaviours: map("behaviours")?,
        })
    }

    /// Differences from an earlier origin: keys of the scenario, files, behaviours.
    pub(super) fn changes(&self, before: &Self) -> Vec<String> {
        let mut all = Vec::new();
        let [old, new] = [before, self].map(|origin| {
            let mut leaves = BTreeMap::new();
            let json = serde_json::from_str(&origin.scenario).unwrap_or(Json::Null);
            leaf_values("", &json, &mut leaves);
            leaves
        });
        let keys: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let of = |leaves: &BTreeMap<String, String>| leaves.get(key).cloned();
            match (of(&old), of(&new)) {
                (old, new) if old == new => {}
                (Some(old), Some(new)) => all.push(format!("{key} was {old}, is {new}")),
                (None, Some(new)) => all.push(format!("{key} is {new}, was not set")),
                (old, None) => {
                    all.push(format!("{key} is not set, was {}", old.unwrap_or_default()))
                }
            }
        }
        let by_key = all.len();
        for (what, old, new) in [
            ("", &before.inputs, &self.inputs),
            ("behaviour of ", &before.behaviours, &self.behaviours),
        ] {
            let is_other = |(name, hash): &(&String, &String)| old.get(*name) != Some(*hash);
            // A changed key may bring another network and other disciplines with it.
            let known = |(name, _): &(&String, &String)| {
                by_key == 0 || old.contains_key(*name) && *name != "network"
            };
            all.extend(
                new.iter()
                    .filter(is_other)
                    .filter(known)
                    .map(|(name, _)| format!("{what}{name}")),
            );
            let gone = old
                .keys()
                .filter(|name| by_key == 0 && !new.contains_key(*name));
            all.extend(gone.map(|name| format!("{what}{name}, not used any more")));
        }
        all
    }
}

/// Identity of a run.
pub(super) fn run_identity(point: &str, seed: u64) -> String {
    hash(&[point, &seed.to_string()])
}

fn leaf_values(path: &str, value: &Json, leaves: &mut BTreeMap<String, String>) {
    let under = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    match value {
        Json::Object(table) => table
            .iter()
            .for_each(|(key, value)| leaf_values(&under(key), value, leaves)),
        Json::Array(values) if values.iter().any(Json::is_object) => {
            values.iter().enumerate().for_each(|(number, value)| {
                let name = value
                    .get("name")
                    .and_then(Json::as_str)
                    .map_or_else(|| number.to_string(), str::to_owned);
                leaf_values(&under(&name), value, leaves);
            })
        }
        other => drop(leaves.insert(path.to_owned(), other.to_string())),
    }
}

/// Hash of nodes and links, without queues: the result of a topology's template or file, with drawn
/// delays.
fn hash_of_network(network: &Network) -> String {
    let mut all = Sha256::new();
    for link in network.links() {
        let from = network.name(link.from);
        let to = network.name(link.to);
        let line = format!(
            "{from} {to} {} {} {} {} {:?} {} {:?} {:?}\n",
            link.rate.bits_per_second(),
            link.delay.as_picos(),
            link.class,
            link.cost,
            link.loss,
            link.jitter.as_picos(),
            link.layer,
            link.queue.limit_or_default(),
        );
        all.update(line.as_bytes());
    }
    short(&all.finalize())
}

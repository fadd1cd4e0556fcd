//! What makes a run the same run: a hash of the resolved scenario, its files, its behaviours and
//! the seed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// Keys of a scenario that do not affect a run's figures.
const IGNORED: [&str; 3] = ["name", "seed", "objective"];
/// The seed with which identities draw their networks.
const NETWORK_SEED: u64 = 1;

/// The origin of a point's runs. Equal origins and seeds give equal results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// The scenario as canonical JSON.
    pub(super) scenario: String,
    /// The network's hash under `network`, and the files' hashes by number and file name.
    pub(super) inputs: BTreeMap<String, String>,
    /// Fingerprints of the behaviours used, by name.
    pub(super) behaviours: BTreeMap<String, String>,
}

/// Hashes scenarios' files, and reads each file only once.
#[derive(Debug, Default)]
pub(super) struct FileHashes(Mutex<HashMap<PathBuf, String>>);

impl FileHashes {
    fn of(&self, path: &Path) -> Result<String, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = known.get(path) {
            return Ok(hash.clone());
        }
        let mut hash = Sha256::new();
        read_into(path, &mut hash)
            .map_err(|error| format!("{}: cannot read: {error}", path.display()))?;
        let hash = hex(&hash.finalize());
        known.insert(path.to_owned(), hash.clone());
        Ok(hash)
    }
}

fn read_into(path: &Path, hash: &mut Sha256) -> io::Result<()> {
    io::copy(&mut File::open(path)?, &mut Writer(hash))?;
    Ok(())
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
    /// What a point's results rest on: the scenario without keys that affect no figure, the hashes
    /// of its network and files, and its behaviours.
    ///
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
            // Without its folder, so that a sweep keeps its identity when it is moved. The number
            // tells files of the same name apart.
            inputs.insert(format!("{}:{name}", inputs.len()), files.of(path)?);
        }
        Ok(Self {
            scenario: text,
            inputs,
            behaviours: behaviours.of(scenario)?,
        })
    }

    /// The point's identity.
    pub(super) fn identity(&self) -> String {
        hash(&[
            &self.scenario,
            &lines(&self.inputs),
            &lines(&self.behaviours),
        ])
    }

    /// The origin as metadata for the Parquet file of the point with this identity.
    pub(super) fn metadata(&self, point: &str) -> Vec<(String, String)> {
        let inputs = serde_json::json!(self.inputs).to_string();
        let behaviours = serde_json::json!(self.behaviours).to_string();
        vec![
            (
                "roundelay.version".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
            ("roundelay.point".to_owned(), point.to_owned()),
            ("roundelay.scenario".to_owned(), self.scenario.clone()),
            ("roundelay.inputs".to_owned(), inputs),
            ("roundelay.behaviours".to_owned(), behaviours),
        ]
    }

    /// Reads the origin from a Parquet file's metadata.
    pub(super) fn of_metadata(metadata: &[(String, String)]) -> Option<Self> {
        let text = |name: &str| {
            let mut entries = metadata.iter();
            let (_, value) = entries.find(|(key, _)| key == name)?;
            Some(value.as_str())
        };
        Some(Self {
            scenario: text("roundelay.scenario")?.to_owned(),
            inputs: serde_json::from_str(text("roundelay.inputs")?).ok()?,
            behaviours: serde_json::from_str(text("roundelay.behaviours")?).ok()?,
        })
    }

    /// The changes since an earlier origin: keys of the scenario, files, behaviours.
    pub(super) fn changes(&self, before: &Self) -> Vec<String> {
        let mut all = Vec::new();
        let old = before.leaves();
        let new = self.leaves();
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys {
            match (old.get(key), new.get(key)) {
                (Some(old), Some(new)) if old == new => {}
                (Some(old), Some(new)) => all.push(format!("{key} was {old}, is {new}")),
                (None, Some(new)) => all.push(format!("{key} is {new}, was not set")),
                (Some(old), None) => all.push(format!("{key} is not set, was {old}")),
                (None, None) => {}
            }
        }
        let no_key_changed = all.is_empty();
        for (what, old, new) in [
            ("", &before.inputs, &self.inputs),
            ("behaviour of ", &before.behaviours, &self.behaviours),
        ] {
            for (name, hash) in new {
                // A changed key may bring another network and other disciplines with it.
                let is_told = no_key_changed || old.contains_key(name) && name != "network";
                if is_told && old.get(name) != Some(hash) {
                    all.push(format!("{what}{name}"));
                }
            }
            for name in old.keys() {
                if no_key_changed && !new.contains_key(name) {
                    all.push(format!("{what}{name}, not used any more"));
                }
            }
        }
        all
    }

    /// The scenario's values by dotted path.
    fn leaves(&self) -> BTreeMap<String, String> {
        let mut leaves = BTreeMap::new();
        let json = serde_json::from_str(&self.scenario).unwrap_or(Json::Null);
        leaf_values("", &json, &mut leaves);
        leaves
    }
}

/// A line `NAME=HASH` for each entry.
fn lines(hashes: &BTreeMap<String, String>) -> String {
    let mut lines = Vec::new();
    for (name, hash) in hashes {
        lines.push(format!("{name}={hash}"));
    }
    lines.join("\n")
}

/// A run's identity.
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
        Json::Object(table) => {
            for (key, value) in table {
                leaf_values(&under(key), value, leaves);
            }
        }
        Json::Array(values) if values.iter().any(Json::is_object) => {
            for (number, value) in values.iter().enumerate() {
                let name = match value.get("name").and_then(Json::as_str) {
                    Some(name) => name.to_owned(),
                    None => number.to_string(),
                };
                leaf_values(&under(&name), value, leaves);
            }
        }
        other => drop(leaves.insert(path.to_owned(), other.to_string())),
    }
}

/// Hashes nodes and links, without queues. So it says what a topology's template or file has made,
/// with drawn delays.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn network(keys: &str) -> String {
        let text = format!(
            "duration = '1s'\n[topology]\ntemplate = 'dumbbell'\npairs = 1\n{keys}\n[[source]]\nname = \
             'a'\nkind = 'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '9kbit'\n"
        );
        let scenario = Scenario::from_toml("s.toml", &text, Path::new("")).expect("legal");
        hash_of_network(&scenario.network(NETWORK_SEED))
    }

    /// A template or a file that draws another network makes other runs, whatever the scenario says.
    #[test]
    fn another_network_has_another_hash() {
        let plain = network("rate = '1mbit'");
        assert_eq!(plain, network("rate = '1000kbit'"));
        for keys in ["rate = '2mbit'", "rate = '1mbit'\ndelay = '7ms'"] {
            assert_ne!(plain, network(keys), "{keys}");
        }
    }

    /// The hash of a file is that of its bytes, read once.
    #[test]
    fn files_are_told_apart_by_their_bytes() {
        let name = |name: &str| {
            std::env::temp_dir().join(format!("roundelay-identity-{name}-{}", std::process::id()))
        };
        let [one, same, other] = ["one", "same", "other"].map(name);
        for (path, text) in [(&one, "1\n"), (&same, "1\n"), (&other, "2\n")] {
            std::fs::write(path, text).unwrap();
        }
        let hashes = FileHashes::default();
        let of = |path: &Path| hashes.of(path).expect("a hash");
        assert_eq!(of(&one), of(&same));
        assert_ne!(of(&one), of(&other));
        std::fs::remove_file(&one).unwrap();
        assert_eq!(of(&one), of(&same), "read once");
        for path in [&same, &other] {
            std::fs::remove_file(path).unwrap();
        }
    }
}

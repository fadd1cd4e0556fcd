//! The plan of a sweep: scenarios, points with values of the swept keys, and replicas.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use roundelay::Fault;
use roundelay_files::Reader;
use roundelay_report::clean;
use roundelay_trace::Stop;
use toml::{Table, Value};

use super::arguments::Sweep;
use super::values::{SCENARIO, Values, labels, list};
use crate::failure::Failure;
use crate::host::Host;
use crate::scenario::text;
use crate::text_file;

/// Most points that a plan may have.
const MOST_POINTS: usize = 100_000;
/// Most parts that a key may have. Scenarios have four: `source.NAME.tcp.KEY`.
const MOST_PARTS: usize = 16;
/// The keys that a sweep file knows.
const KEYS: [&str; 6] = ["scenario", "replicas", "seed", "grid", "zip", "points"];

/// A plan.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The name in messages: the scenario's file, or that of the sweep if it has several.
    pub(crate) name: String,
    /// The scenarios, at least one. With several each point names its own under [`SCENARIO`].
    pub(crate) bases: Vec<Base>,
    /// Whether the plan is from a sweep file.
    pub(crate) is_file: bool,
    pub(crate) points: Vec<Values>,
    /// Runs for each point. None: not given.
    pub(crate) replicas: Option<u32>,
    /// The first run's seed. None: the first scenario's.
    pub(crate) seed: Option<u64>,
}

/// A scenario in which points set values.
#[derive(Debug)]
pub(crate) struct Base {
    /// Its value of [`SCENARIO`]. Empty if it is the only one.
    pub(crate) label: String,
    /// The name of the file in messages.
    pub(crate) name: String,
    pub(crate) text: String,
    /// The folder of the files that the scenario names.
    pub(crate) folder: PathBuf,
    /// The scenario's table.
    pub(crate) table: Table,
}

impl Base {
    /// Sets keys in the scenario, each to a text.
    ///
    /// # Errors
    /// A key does not lead to a value of the scenario.
    pub(crate) fn set(&mut self, keys: &[(&str, &str)]) -> Result<(), Fault> {
        let mut table = Value::Table(std::mem::take(&mut self.table));
        for (key, text) in keys {
            let path: Vec<_> = key.split('.').collect();
            let value = Value::String((*text).to_owned());
            set(&mut table, &path, "", &value)?;
        }
        if let Value::Table(table) = table {
            self.text = toml::to_string(&table).map_err(|error| error.to_string())?;
            self.table = table;
        }
        Ok(())
    }

    /// # Errors
    /// The text is not TOML.
    pub(crate) fn new(
        label: String,
        name: String,
        text: String,
        folder: PathBuf,
    ) -> Result<Self, Failure> {
        let (_, table) = Reader::read(&name, &text).map_err(failure)?;
        Ok(Self {
            label,
            name,
            text,
            folder,
            table,
        })
    }
}

/// Values for the keys of one dimension. Each key of the grid has a dimension of its own.
type Dimension = Vec<Values>;

impl Plan {
    /// Reads a scenario or a sweep file, and the command line's keys.
    ///
    /// # Errors
    /// A file cannot be read, or a key or value is wrong.
    pub(super) fn read(arguments: &Sweep, host: &Host) -> Result<Self, Failure> {
        let path = &arguments.file;
        let (name, content) = text(path, host)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let (reader, table) = Reader::read::<Table>(&name, &content).map_err(failure)?;
        let mut dimensions = Vec::new();
        let mut plan = if table.contains_key("scenario") {
            Self::of_file(&reader, table, &folder, &mut dimensions, &host.stop)?
        } else {
            let base = Base::new(String::new(), name.clone(), content.clone(), folder)?;
            Self {
                name,
                bases: vec![base],
                is_file: false,
                points: Vec::new(),
                replicas: None,
                seed: None,
            }
        };
        plan.replicas = arguments.replicas.or(plan.replicas);
        plan.seed = arguments.seed.or(plan.seed);
        for word in &arguments.keys {
            let Some((key, values)) = word.split_once('=') else {
                let legal = "KEY=VALUES, as in queue.core=fifo,qfq";
                return Err(Failure::usage(Fault::quoted(word, legal)));
            };
            let replaced = match list(values) {
                Ok(values) => replace(&mut dimensions, one_key(key.trim(), values)),
                Err(error) => Err(error),
            };
            replaced.map_err(|fault| Failure::usage(fault.behind(format_args!("{key}: "))))?;
        }
        plan.points = product(&dimensions)?;
        plan.check()?;
        Ok(plan)
    }

    /// Makes a plan from a sweep file, and adds its dimensions to `dimensions`.
    fn of_file(
        file: &Reader<'_>,
        mut table: Table,
        folder: &Path,
        dimensions: &mut Vec<Dimension>,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        for key in table.keys() {
            if !KEYS.contains(&key.as_str()) {
                let known = KEYS.join(", ");
                let fault = Fault::unknown(key, &KEYS, |meant| {
                    format!("unknown key '{key}'{meant}: expected {known}")
                });
                return Err(error_at(file, key, fault));
            }
        }
        let expected = || {
            let legal = "a path, as in \"home.toml\", a list of different paths, or a table";
            error_at(file, SCENARIO, Fault::wanted(legal).behind("scenario: "))
        };
        let named = |label: &str, path: &Path| -> Result<Base, Failure> {
            let text = match text_file::read(path, "a scenario in TOML", stop) {
                Ok(text) => text,
                Err(error) if error.is_stopped_by_caller() => return Err(error),
                Err(error) => {
                    let fault = error.into_fault().behind("scenario: ");
                    return Err(error_at(file, SCENARIO, fault));
                }
            };
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            Base::new(label.to_owned(), path.display().to_string(), text, folder)
        };
        let mut bases = Vec::new();
        match table.remove(SCENARIO) {
            Some(Value::String(path)) => bases.push(named("", &folder.join(path))?),
            Some(Value::Table(scenario)) => {
                let text = toml::to_string(&scenario).map_err(Failure::run)?;
                let name = file.name().to_owned();
                bases.push(Base::new(String::new(), name, text, folder.to_owned())?);
            }
            Some(Value::Array(paths)) if !paths.is_empty() => {
                for path in &paths {
                    let Value::String(path) = path else {
                        return Err(expected());
                    };
                    if bases.iter().any(|base: &Base| base.label == *path) {
                        return Err(expected());
                    }
                    bases.push(named(path, &folder.join(path))?);
                }
                dimensions.push(one_key(SCENARIO, paths));
            }
            _ => return Err(expected()),
        }
        let replicas = whole(file, &table, "replicas", 1..=1_000_000)?;
        let seed = whole(file, &table, "seed", 0..=i64::MAX)?;
        for (key, values) in keys_of(file, &table, "grid")? {
            let values = many(values).map_err(|fault| {
                error_at(file, "grid", fault.behind(format_args!("grid: {key}: ")))
            })?;
            dimensions.push(one_key(&key, values));
        }
        dimensions.extend(zipped(file, &table)?);
        dimensions.extend(listed(file, &table)?);
        let name = match &bases[..] {
            [only] => only.name.clone(),
            _ => file.name().to_owned(),
        };
        Ok(Self {
            name,
            bases,
            is_file: true,
            points: Vec::new(),
            replicas: replicas.map(|number| number as u32),
            seed: seed.map(i64::cast_unsigned),
        })
    }

    /// # Errors
    /// Two points have the same values, or a key may not be swept.
    fn check(&self) -> Result<(), Failure> {
        for (key, _) in self.points.iter().flatten() {
            if key == "seed" {
                return Err(Failure::usage(
                    "seed: seeds are consecutive: --seed and --replicas set them",
                ));
            }
            let parts = key.split('.').count();
            if parts > MOST_PARTS {
                let begin: String = key.chars().take(40).collect();
                let legal = format_args!("1 to {MOST_PARTS}, as in queue.core");
                let fault = Fault::range(format_args!("a key of {parts} parts"), legal);
                let fault = fault.with_given(parts);
                return Err(Failure::usage(fault.behind(format_args!("{begin}..: "))));
            }
        }
        let mut seen = BTreeSet::new();
        for point in &self.points {
            if !seen.insert(labels(point)) {
                let mut values = Vec::new();
                for (key, value) in labels(point) {
                    values.push(format!("{key}={value}"));
                }
                return Err(Failure::usage(format!(
                    "two points are the same: {}",
                    clean(&values.join(", "))
                )));
            }
        }
        Ok(())
    }

    /// A point's scenario.
    pub(super) fn base(&self, point: &Values) -> &Base {
        let named = point.iter().find_map(|(key, value)| self.named(key, value));
        named.unwrap_or(&self.bases[0])
    }

    /// The scenario that a point chooses with this key and value. None: they are of a scenario.
    pub(super) fn named(&self, key: &str, value: &Value) -> Option<&Base> {
        let label = value.as_str().filter(|_| key == SCENARIO)?;
        self.bases.iter().find(|base| base.label == label)
    }

    /// The scenario's table with a point's values.
    ///
    /// # Errors
    /// A key does not lead to a value of the scenario.
    pub(super) fn resolved(&self, point: &Values) -> Result<Table, Fault> {
        let mut table = Value::Table(self.base(point).table.clone());
        for (key, value) in point {
            if self.named(key, value).is_some() {
                continue;
            }
            let path: Vec<_> = key.split('.').collect();
            set(&mut table, &path, "", value)
                .map_err(|fault| fault.behind(format_args!("{key}: ")))?;
        }
        match table {
            Value::Table(table) => Ok(table),
            _ => Err("no table".into()),
        }
    }
}

/// A whole number from a sweep file, if the key is there.
fn whole(
    file: &Reader<'_>,
    table: &Table,
    key: &str,
    range: RangeInclusive<i64>,
) -> Result<Option<i64>, Failure> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(number)) if range.contains(number) => Ok(Some(*number)),
        Some(other) => {
            let least = range.start();
            let most = range.end();
            let legal = format!("{least} to {most}");
            let message = format!("{key} {other}: expected a whole number, legal range {legal}");
            let fault = Fault::new(message).with_given(other).with_legal(legal);
            Err(error_at(file, key, fault))
        }
    }
}

/// An error about a key of a sweep file, with its line.
fn error_at(file: &Reader<'_>, key: &str, fault: impl Into<Fault>) -> Failure {
    failure(file.at(key, fault))
}

/// Turns an error in a file into a failure, without the file's control characters.
fn failure(fault: Fault) -> Failure {
    Failure::usage(fault.map(clean))
}

/// A table's dotted keys with their values.
fn keys_of(file: &Reader<'_>, table: &Table, name: &str) -> Result<Vec<(String, Value)>, Failure> {
    let mut all = Vec::new();
    match table.get(name) {
        None => {}
        Some(Value::Table(table)) => flatten("", table, &mut all),
        Some(_) => {
            return Err(error_at(
                file,
                name,
                Fault::wanted(format_args!("a table, as in [{name}]"))
                    .behind(format_args!("{name}: ")),
            ));
        }
    }
    Ok(all)
}

fn flatten(before: &str, table: &Table, all: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let key = if before.is_empty() {
            key.clone()
        } else {
            format!("{before}.{key}")
        };
        match value {
            Value::Table(table) => flatten(&key, table, all),
            value => all.push((key, value.clone())),
        }
    }
}

/// A key's values: a list, or a text as on the command line.
fn many(value: Value) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(values) if values.is_empty() => Err("an empty list".into()),
        Value::Array(values) => Ok(values),
        Value::String(text) => list(&text),
        other => Ok(vec![other]),
    }
}

fn one_key(key: &str, values: Vec<Value>) -> Dimension {
    let mut dimension = Dimension::new();
    for value in values {
        dimension.push(vec![(key.to_owned(), value)]);
    }
    dimension
}

/// `[zip]`: the first value of each key together, then the second, and so on.
fn zipped(file: &Reader<'_>, table: &Table) -> Result<Option<Dimension>, Failure> {
    let mut dimension: Option<Dimension> = None;
    for (key, values) in keys_of(file, table, "zip")? {
        let values = many(values)
            .map_err(|fault| error_at(file, "zip", fault.behind(format_args!("zip: {key}: "))))?;
        let rows = dimension.get_or_insert_with(|| vec![Vec::new(); values.len()]);
        if rows.len() != values.len() {
            return Err(error_at(
                file,
                "zip",
                Fault::wanted("as many").behind(format_args!(
                    "zip: {key} has {} values, the keys before have {}: ",
                    values.len(),
                    rows.len()
                )),
            ));
        }
        for (row, value) in rows.iter_mut().zip(values) {
            row.push((key.clone(), value));
        }
    }
    Ok(dimension)
}

/// `[[points]]`: each table is a set of values.
fn listed(file: &Reader<'_>, table: &Table) -> Result<Option<Dimension>, Failure> {
    let expected = || {
        error_at(
            file,
            "points",
            Fault::wanted("tables, as in [[points]]").behind("points: "),
        )
    };
    let points = match table.get("points") {
        None => return Ok(None),
        Some(Value::Array(points)) if !points.is_empty() => points,
        Some(_) => return Err(expected()),
    };
    let mut dimension = Dimension::new();
    for point in points {
        let Value::Table(point) = point else {
            return Err(expected());
        };
        let mut values = Vec::new();
        flatten("", point, &mut values);
        values.sort_by(|one, other| one.0.cmp(&other.0));
        if let Some(first) = dimension.first()
            && keys(first) != keys(&values)
        {
            let first = keys(first).join(", ");
            let other = keys(&values).join(", ");
            let fault = Fault::wanted("the same for all").behind(format_args!(
                "points: one has the keys {first}, another {other}: "
            ));
            return Err(error_at(file, "points", fault));
        }
        dimension.push(values);
    }
    Ok(Some(dimension))
}

/// The keys of a point, in its order.
fn keys(values: &Values) -> Vec<&str> {
    let mut keys = Vec::new();
    for (key, _) in values {
        keys.push(key.as_str());
    }
    keys
}

/// Adds a dimension, or replaces the one with the same key.
///
/// # Errors
/// The key belongs to a `[zip]` or `[[points]]` with several keys, or stands twice.
fn replace(dimensions: &mut Vec<Dimension>, new: Dimension) -> Result<(), Fault> {
    let (key, _) = &new[0][0];
    for dimension in dimensions.iter_mut() {
        // Each point of a dimension has the same keys, so look at the first.
        if !dimension[0].iter().any(|(other, _)| other == key) {
            continue;
        }
        if dimension[0].len() > 1 {
            return Err("the sweep file sets the key together with others".into());
        }
        *dimension = new;
        return Ok(());
    }
    dimensions.push(new);
    Ok(())
}

/// All combinations. The last dimension changes fastest.
///
/// # Errors
/// A key stands twice, or there are too many points.
fn product(dimensions: &[Dimension]) -> Result<Vec<Values>, Failure> {
    let mut all = Vec::new();
    let mut count: usize = 1;
    for dimension in dimensions {
        all.extend(keys(&dimension[0]));
        count = count.saturating_mul(dimension.len());
    }
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::usage(format!("{}: swept twice", pair[0])));
    }
    if count > MOST_POINTS {
        return Err(Failure::usage(format!(
            "more than {MOST_POINTS} points: choose fewer values"
        )));
    }
    let mut points = vec![Values::new()];
    for dimension in dimensions {
        let mut longer = Vec::new();
        for point in &points {
            for values in dimension {
                longer.push([&point[..], values].concat());
            }
        }
        points = longer;
    }
    Ok(points)
}

/// Sets the value at a path. You name an element of a list by its name, its number, or both ends:
/// `source.calls.rate`, `port.0.loss`, `port.left>right.loss`.
fn set(value: &mut Value, path: &[&str], parent: &str, new: &Value) -> Result<(), Fault> {
    let [key, rest @ ..] = path else {
        *value = new.clone();
        return Ok(());
    };
    match value {
        Value::Table(table) if rest.is_empty() => {
            table.insert((*key).to_owned(), new.clone());
            Ok(())
        }
        Value::Table(table) => set(
            table
                .entry(*key)
                .or_insert_with(|| Value::Table(Table::new())),
            rest,
            key,
            new,
        ),
        Value::Array(elements) => {
            let mut known = Vec::new();
            for (number, element) in elements.iter_mut().enumerate() {
                let names = names(number, element);
                if names.iter().any(|name| name == key) {
                    return set(element, rest, parent, new);
                }
                known.extend(names.into_iter().next());
            }
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Err(Fault::no_such(parent, key, &known))
        }
        other => Err(format!("{parent} is {other}, and has no key '{key}'").into()),
    }
}

/// What you may call an element of a list, the best name first.
fn names(number: usize, element: &Value) -> Vec<String> {
    let text = |key: &str| element.get(key).and_then(Value::as_str);
    let mut names = Vec::new();
    // A source without a name has its kind and number.
    match (text("name"), text("kind")) {
        (Some(name), _) => names.push(name.to_owned()),
        (None, Some(kind)) => names.push(format!("{kind}{number}")),
        (None, None) => {}
    }
    if let (Some(from), Some(to)) = (text("from"), text("to")) {
        names.push(format!("{from}>{to}"));
    }
    names.push(number.to_string());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "duration = '1s'\n[[source]]\nname = 'calls'\nkind = \
        'cbr'\n[[source]]\nkind = 'tcp'\n[[port]]\nfrom = 'a'\nto = 'b'";

    fn plan(points: Vec<Values>) -> Plan {
        let table = toml::from_str(TEXT).unwrap();
        let name = "a.toml".to_owned();
        let base = Base {
            label: String::new(),
            name: name.clone(),
            text: TEXT.to_owned(),
            folder: PathBuf::new(),
            table,
        };
        Plan {
            name,
            bases: vec![base],
            is_file: false,
            points,
            replicas: None,
            seed: None,
        }
    }

    fn resolved(key: &str) -> Result<String, Fault> {
        let value = Value::Integer(5);
        plan(Vec::new())
            .resolved(&vec![(key.to_owned(), value)])
            .map(|table| toml::to_string(&table).unwrap())
    }

    #[test]
    fn keys_lead_to_values_by_name_and_number() {
        for (key, expected) in [
            (
                "source.calls.rate",
                "name = \"calls\"\nkind = \"cbr\"\nrate = 5",
            ),
            (
                "source.0.rate",
                "name = \"calls\"\nkind = \"cbr\"\nrate = 5",
            ),
            ("source.tcp1.size", "kind = \"tcp\"\nsize = 5"),
            ("port.a>b.loss", "to = \"b\"\nloss = 5"),
            ("queue.core", "[queue]\ncore = 5"),
        ] {
            let text = resolved(key).unwrap();
            assert!(text.contains(expected), "{key}: {text}");
        }
        let error = resolved("source.cals.rate").unwrap_err();
        assert_eq!(
            error.to_string(),
            "source.cals.rate: no source is called 'cals' (did you mean 'calls'?): calls, tcp1"
        );
        assert!(
            resolved("duration.x")
                .unwrap_err()
                .message()
                .contains("duration is \"1s\", and has no key 'x'")
        );
    }

    /// Formerly a key with thousands of parts overflowed the stack.
    #[test]
    fn keys_have_few_parts() {
        let check = |key: String| plan(vec![vec![(key, Value::Integer(5))]]).check();
        assert!(check(["a"; MOST_PARTS].join(".")).is_ok());
        let error = check(["a"; 100_000].join(".")).unwrap_err().to_string();
        assert!(
            error.ends_with("a...: a key of 100000 parts: legal range 1 to 16, as in queue.core"),
            "{error}"
        );
    }

    #[test]
    fn points_are_all_combinations_of_grid_zip_and_points() {
        let folder = std::env::temp_dir().join(format!("roundelay-plan-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.toml"), TEXT).unwrap();
        std::fs::write(folder.join("b.toml"), TEXT).unwrap();
        let read = |text: &str| {
            let (file, table) = Reader::read("sweep.toml", text).unwrap();
            let mut dimensions = Vec::new();
            Plan::of_file(&file, table, &folder, &mut dimensions, &Stop::default())?;
            product(&dimensions)
        };
        let points = read(
            "scenario = 'a.toml'\n[grid]\nqueue.core = 'fifo,qfq'\n[zip]\n'a' = [1, 2]\n'b' = [3, \
             4]\n[[points]]\nc = 5\n[[points]]\nc = 6",
        );
        let points = points.unwrap();
        assert_eq!(points.len(), 8);
        let first: Vec<_> = labels(&points[1])
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        assert_eq!(first, ["queue.core=fifo", "a=1", "b=3", "c=6"]);
        let points = read("scenario = ['a.toml', 'b.toml']\n[grid]\nqueue.core = 'fifo,qfq'");
        let mut of_scenarios = Vec::new();
        for point in points.unwrap() {
            let values = labels(&point).into_iter().map(|(_, value)| value);
            of_scenarios.push(values.collect::<Vec<_>>().join(" "));
        }
        assert_eq!(
            of_scenarios,
            ["a.toml fifo", "a.toml qfq", "b.toml fifo", "b.toml qfq"]
        );
        // Formerly a scenario that the plan has not was that of the file, without a word.
        let other = ("scenario".to_owned(), Value::String("b.toml".to_owned()));
        let table = plan(Vec::new()).resolved(&vec![other]).unwrap();
        assert_eq!(
            table["scenario"].as_str(),
            Some("b.toml"),
            "the reader refuses it"
        );
        for (text, problem) in [
            (
                "scenario = 'a.toml'\nreplics = 2",
                "sweep.toml:2: unknown key 'replics' (did you mean 'replicas'?)",
            ),
            (
                "scenario = 'a.toml'\n\nreplicas = 0",
                "sweep.toml:3: replicas 0: expected a whole number, legal range 1 to 1000000",
            ),
            ("scenario = 'c.toml'", "there is no such file"),
            (
                "scenario = ['a.toml', 'a.toml']",
                "sweep.toml:1: scenario: expected a path, as in \"home.toml\", a list of different paths",
            ),
            ("scenario = []", "a list of different paths, or a table"),
            (
                "scenario = 'a.toml'\n[zip]\na = [1]\nb = [1, 2]",
                "sweep.toml:2: zip: b has 2 values, the keys before have 1",
            ),
            (
                "scenario = 'a.toml'\n[[points]]\na = 1\n[[points]]\nb = 1",
                "expected the same for all",
            ),
            (
                "scenario = 'a.toml'\n[grid]\na = 1\n[zip]\na = 1",
                "a: swept twice",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

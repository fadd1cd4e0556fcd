//! `roundelay plot`: results of other commands side by side, read from their JSON.

pub(crate) mod arguments;
pub(crate) mod outputs;

use roundelay::Fault;
use roundelay_report::{DelayCurves, Plotted, PlottedResult};
use roundelay_sim::scenario::Measures;
use roundelay_trace::Stop;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::outputs::finish_all;
use crate::terminal::{self, print};
use crate::text_file;
use arguments::Plot;
use outputs::Drawn;

/// What the files should contain.
const WANTED: &str = "what compare, simulate or live prints with --json";

pub(crate) fn run(arguments: &Plot) -> Result<(), Failure> {
    let read = arguments.files.iter();
    let read = read.map(|path| ("a result", path.as_path()));
    arguments.outputs.check(read, &Measures::default(), 1)?;
    let mut files = Vec::new();
    for path in &arguments.files {
        let stem = path.file_stem().unwrap_or_default().display().to_string();
        files.push(Named {
            file: path.display().to_string(),
            label: stem,
            text: text_file::read(path, WANTED, &Stop::default())?,
        });
    }
    let drawn = Drawn {
        plotted: read_all(&files, &arguments.kinds)?,
        figures: arguments.figures(),
    };
    let files = arguments.outputs.begin(&Measures::default(), &())?;
    let written = finish_all(files, &drawn);
    let text = match arguments.outputs.printed(&drawn)? {
        Some(text) => text,
        None => drawn.plotted.document().text(terminal::style()),
    };
    print(&text)?;
    written
}

/// The JSON of a command, with names for messages and for legends.
pub(crate) struct Named {
    pub(crate) file: String,
    pub(crate) label: String,
    pub(crate) text: String,
}

/// The results of all files. Those of a file with several have the file's name in front.
///
/// # Errors
/// A text is no result, or no kind of packets has a name that is asked for.
pub(crate) fn read_all(files: &[Named], kinds: &[String]) -> Result<Plotted, Failure> {
    let mut results = Vec::new();
    for file in files {
        let found = results_of(file)?;
        let is_one = found.len() == 1;
        for mut result in found {
            if files.len() > 1 {
                result.label = match is_one {
                    true => file.label.clone(),
                    false => format!("{}: {}", file.label, result.label),
                };
            }
            results.push(result);
        }
    }
    if !kinds.is_empty() {
        choose(&mut results, kinds)?;
    }
    Ok(Plotted {
        version: env!("CARGO_PKG_VERSION"),
        results,
    })
}

/// Leaves the kinds of packets whose names contain one of the texts that the user gives.
fn choose(results: &mut Vec<PlottedResult>, wanted: &[String]) -> Result<(), Failure> {
    let mut known: Vec<String> = Vec::new();
    for result in &*results {
        for kind in &result.kinds {
            if !known.contains(&kind.name) {
                known.push(kind.name.clone());
            }
        }
    }
    for name in wanted {
        if !known.iter().any(|known| known.contains(name.as_str())) {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let fault = Fault::no_such("kind of packets", name, &names);
            return Err(Failure::usage(fault.behind("--kind: ")));
        }
    }
    for result in &mut *results {
        result
            .kinds
            .retain(|kind| wanted.iter().any(|name| kind.name.contains(name.as_str())));
    }
    results.retain(|result| !result.kinds.is_empty());
    Ok(())
}

/// A result as its JSON has it.
#[derive(Deserialize)]
struct Labelled {
    label: String,
    kinds: Vec<DelayCurves>,
}

/// The results in a file.
fn results_of(file: &Named) -> Result<Vec<PlottedResult>, Failure> {
    let text = &file.text;
    let wrong = |problem: &str| {
        let fault = Fault::wanted(WANTED).behind(format_args!("{problem}; "));
        Failure::usage(fault.in_file(file.file.clone(), 0))
    };
    // A live run prints a line for each second, and its result last.
    let last = text.lines().last().unwrap_or_default();
    let value = serde_json::from_str(text).or_else(|_| serde_json::from_str::<Value>(last));
    let value: Value = value.map_err(|error| wrong(&format!("bad JSON: {error}")))?;
    let schema = value["schema"].as_str().unwrap_or_default();
    let results = match schema {
        "compare/1" => each(&value["disciplines"], "spec", |result| &result["delays"]),
        "simulate-queues/1" => each(
            &value["queues"],
            "queue",
            |queue| &queue["simulated"]["curves"],
        ),
        "simulate/1" => one(value["name"].as_str(), &value["curves"]),
        "live/1" => serde_json::from_value(value["drawn"].clone()).ok(),
        "" => return Err(wrong("no result of roundelay")),
        other => return Err(wrong(&format!("{other} has no delays to draw"))),
    };
    let results = results.ok_or_else(|| {
        let command = schema.split(['-', '/']).next().unwrap_or_default();
        wrong(&format!(
            "no curves, as from an earlier version: run roundelay {command} again"
        ))
    })?;
    let mut all = Vec::new();
    for Labelled { label, kinds } in results {
        all.push(PlottedResult { label, kinds });
    }
    if all.iter().all(|result| result.kinds.is_empty()) {
        return Err(wrong("no packets with delays"));
    }
    Ok(all)
}

/// The results in a list, each labelled by a key.
fn each(list: &Value, label: &str, curves: impl Fn(&Value) -> &Value) -> Option<Vec<Labelled>> {
    let mut all = Vec::new();
    for result in list.as_array()? {
        all.extend(one(result[label].as_str(), curves(result))?);
    }
    Some(all)
}

fn one(label: Option<&str>, curves: &Value) -> Option<Vec<Labelled>> {
    Some(vec![Labelled {
        label: label?.to_owned(),
        kinds: serde_json::from_value(curves.clone()).ok()?,
    }])
}

//! `roundelay compare`: replays a capture through several disciplines.

use std::io::{self, BufReader, IsTerminal};
use std::path::Path;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{LinkLayer, QueueSpec};
use roundelay_report::{ReportError, SCREEN, TableStyle, html, json, provenance, table, table_within, write_flows, write_text};
use roundelay_trace::{
    Capture, CaptureError, Companion, CompareError, Comparison, Options, PacketSink, Progress, Selection, Stop, TreeFile, WeightRules,
    compare,
};

use crate::arguments::{Choice, Compare};
use crate::call::Compared;
use crate::failure::Failure;
use crate::outputs::check_distinct;
use crate::parquet::Packets;
use crate::progress::Bar;
use crate::threads::in_pool;
use crate::{print, style, text_file};

type SinkError = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn run(arguments: &Compare) -> Result<(), Failure> {
    let comparison = compute(arguments, &Stop::default())?.comparison;
    print(&show(arguments, &comparison))?;
    broken_bounds(&comparison).map_or(Ok(()), |message| Err(Failure::run(message)))
}

/// The comparison, without printed text: files named in the arguments are written.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, or a stop was requested.
pub(crate) fn compute(arguments: &Compare, stop: &Stop) -> Result<Compared, Failure> {
    let options = options(arguments)?;
    check_places(arguments)?;
    let capture = open(&arguments.capture).map_err(Failure::usage)?;
    let bar = (!arguments.quiet && io::stderr().is_terminal()).then(|| Bar::new(capture.size()));
    let mut witness = Witness { arguments, options: &options, bar, stop };
    let outcome = in_pool(arguments.threads, || compare(capture, &options, &mut witness))?;
    drop(witness);
    let comparison = outcome.map_err(|error| match error {
        CompareError::Stopped => Failure::stopped(),
        CompareError::Lane(error) => Failure::run(error),
        input => Failure::usage(input),
    })?;
    if stop.is_requested() {
        return Err(Failure::stopped());
    }
    write_files(arguments, &options, &comparison).map_err(Failure::run)?;
    Ok(Compared { comparison, metadata: metadata(&options) })
}

/// The disciplines compared by default: those of Linux, with the kernel's rules where these differ.
const DEPLOYED: [&str; 10] =
    ["fifo", "priority", "drr", "qfq_plus linux", "sfq linux", "fq_codel linux", "codel linux", "red", "choke", "sfb"];

fn chosen(choice: &Choice) -> Vec<QueueSpec> {
    match choice {
        Choice::All => AnyDiscipline::all().into_iter().map(|discipline| QueueSpec { discipline, limit: None }).collect(),
        Choice::One(spec) => vec![spec.clone()],
    }
}

fn options(arguments: &Compare) -> Result<Options, Failure> {
    let mut specs: Vec<QueueSpec> = arguments.disciplines.iter().flat_map(chosen).collect();
    if specs.is_empty() && arguments.trees.is_empty() {
        specs = DEPLOYED.into_iter().map(|text| text.parse().expect("a discipline of Linux")).collect();
    }
    let mut weights = arguments.weights.as_deref().map_or_else(|| Ok(WeightRules::default()), read_weights)?;
    arguments.weight.iter().rev().for_each(|rule| weights.push_first(rule.clone()));
    let mut options = Options::new(arguments.rate, specs);
    options.trees = arguments.trees.iter().map(|path| read_tree(path)).collect::<Result<_, _>>()?;
    options.buffer = arguments.buffer;
    options.flow_by = arguments.flow_by;
    options.max_flows = arguments.max_flows as usize;
    options.weights = weights;
    options.seed = arguments.seed;
    options.measure_cost = !arguments.no_cost;
    options.selection = selection(arguments);
    options.link = LinkLayer::replaced(arguments.link, arguments.overhead, arguments.mpu, arguments.framing);
    Ok(options)
}

fn selection(arguments: &Compare) -> Selection {
    let Compare { interface, direction, filter, keep_duplicates, .. } = arguments;
    Selection { interface: interface.clone(), direction: direction.clone(), filter: filter.clone(), keep_duplicates: *keep_duplicates }
}

/// Checks the output paths before a long run.
fn check_places(arguments: &Compare) -> Result<(), Failure> {
    let Some(page) = &arguments.html else { return Ok(()) };
    let read = [Some(("the capture", arguments.capture.as_path())), arguments.weights.as_deref().map(|path| ("--weights", path))];
    let trees = arguments.trees.iter().map(|path| ("--tree", path.as_path()));
    check_distinct(read.into_iter().flatten().chain(trees), [("--html", page.as_path())])?;
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if page.is_dir() {
        return Err(Failure::run(format!("{}: cannot write the page: it is a folder", page.display())));
    }
    if !folder.is_dir() {
        return Err(Failure::run(format!("{}: cannot write the page: there is no folder {}", page.display(), folder.display())));
    }
    Ok(())
}

fn read_weights(path: &Path) -> Result<WeightRules, Failure> {
    let name = path.display().to_string();
    let text = text_file::read(path, "rules for weights in TOML, as docs/compare.md describes them")?;
    WeightRules::from_toml(&name, &text).map_err(Failure::usage)
}

fn read_tree(path: &Path) -> Result<TreeFile, Failure> {
    let name = path.display().to_string();
    let text = text_file::read(path, "a tree in TOML, as docs/trees.md describes it")?;
    TreeFile::from_toml(&name, &text).map_err(Failure::usage)
}

fn open(path: &Path) -> Result<Capture, CaptureError> {
    if path.as_os_str() == "-" { Capture::from_reader("standard input", BufReader::new(io::stdin())) } else { Capture::open(path) }
}

fn show(arguments: &Compare, comparison: &Comparison) -> String {
    if arguments.json {
        return json(comparison);
    }
    let style = style::of_stdout();
    if arguments.wide {
        return table(comparison, TableStyle { width: Some(u16::MAX), ..style });
    }
    table_within(comparison, style, SCREEN)
}

fn write_files(arguments: &Compare, options: &Options, comparison: &Comparison) -> Result<(), ReportError> {
    if let Some(path) = &arguments.html {
        write_text(path, &html(comparison))?;
    }
    if let Some(folder) = &arguments.parquet {
        write_flows(&folder.join("flows.parquet"), comparison, &metadata(options))?;
    }
    Ok(())
}

/// Footer of each Parquet file.
fn metadata(options: &Options) -> Vec<(String, String)> {
    provenance(env!("CARGO_PKG_VERSION"), options.seed, &format!("{options:?}"))
}

fn broken_bounds(comparison: &Comparison) -> Option<String> {
    let broken = comparison.disciplines.iter().filter(|discipline| discipline.kept_bounds == Some(false));
    let names: Vec<_> = broken.map(|discipline| discipline.spec.as_str()).collect();
    (!names.is_empty()).then(|| format!("a proven bound was broken by {}", names.join(", ")))
}

/// Observer of the replay: shows progress and opens packet files.
struct Witness<'a> {
    arguments: &'a Compare,
    options: &'a Options,
    bar: Option<Bar>,
    stop: &'a Stop,
}

impl Companion for Witness<'_> {
    fn stop(&self) -> Stop {
        self.stop.clone()
    }

    fn progress(&mut self, progress: Progress) {
        if let Some(bar) = &self.bar {
            bar.show(progress);
        }
    }

    fn sink(&mut self, name: &str, index: usize, zero_unix_nanos: i64) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
        let Some(folder) = &self.arguments.parquet else { return Ok(None) };
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // The name of a tree may contain any character.
        let name = name.replace(|c: char| !c.is_alphanumeric() && c != '_', "-");
        let path = folder.join(format!("packets-{index}-{name}.parquet"));
        Ok(Some(Box::new(Packets::create(&path, &metadata(self.options), zero_unix_nanos)?)))
    }
}

//! `roundelay compare`: replays a capture through several disciplines.

pub(crate) mod arguments;
pub(crate) mod outputs;
mod react;
pub(crate) mod result;

use std::fs;
use std::io::{self, BufReader, IsTerminal};
use std::path::Path;

use roundelay::{Fault, LinkLayer};
use roundelay_report::{Advised, SCREEN, TableStyle, counted, provenance, table_within};
use roundelay_sim::scenario::Measures;
use roundelay_trace::arguments::{chosen, parse_spec, shell_word};
use roundelay_trace::{
    Capture, CaptureError, CompareError, Comparison, Options, PacketRecord, PacketSink, Progress,
    ReplayObserver, Selection, Span, Stop, TreeFile, WeightRules, compare,
};

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::{Opened, SinkError, finish_all};
use crate::progress::{Bar, bytes_of_readings};
use crate::terminal::{self, MEMORY_ADVICE, print, tell};
use crate::threads::in_pool;
use crate::{anonymise, live, pipe, text_file};
use arguments::Compare;
use outputs::Comparing;
use result::Compared;

pub(crate) fn run(arguments: &Compare) -> Result<(), Failure> {
    if arguments.rate.is_none() && live::is_record(&arguments.capture) {
        if !arguments.disciplines.is_empty() || arguments.outputs.is_any() {
            return Err(Failure::usage(format!(
                "{}: a record of roundelay live is replayed as it was, without disciplines and \
                 outputs; add --rate to compare disciplines on the packets of one direction",
                arguments.capture.display()
            )));
        }
        return live::compare(&arguments.capture);
    }
    _ = MEMORY_ADVICE.set("; flows take most of it: --max-flows, or fewer disciplines");
    let host = Host::default();
    let options = options(arguments, &host.stop)?;
    if let Some(warning) = long_comparison(arguments, &options).filter(|_| !arguments.quiet) {
        tell(&warning);
    }
    let compared = match answer(arguments, &options, &host)? {
        Answer::Compared(compared) => compared,
        // A program that reads the outputs expects figures, and there are none.
        Answer::Question(question) if arguments.outputs.is_any() => {
            return Err(Failure::usage(question));
        }
        Answer::Question(question) => return print(&question),
    };
    print(
        &arguments
            .outputs
            .printed(&compared)?
            .unwrap_or_else(|| show(arguments, &compared)),
    )?;
    compared
        .advised
        .comparison
        .broken_bounds()
        .map_or(Ok(()), |message| Err(Failure::run(message)))
}

/// This many packets, through all disciplines together, take a minute or more.
const MANY_PACKETS: u64 = 100_000_000;
/// Memory for flows, in bytes, that not every machine has.
const MUCH_MEMORY: u64 = 2_000_000_000;
/// Bytes that a packet is assumed to take in a capture, with the record's header.
const RECORD_BYTES: u64 = 100;
/// The same for the smallest packets, which are headers only, as in a scan or a flood. Each may be
/// a flow.
const SMALLEST_RECORD_BYTES: u64 = 44;

/// A sentence before a comparison that takes minutes, or much memory. None for standard input,
/// because it has no size.
fn long_comparison(arguments: &Compare, options: &Options) -> Option<String> {
    let size = fs::metadata(&arguments.capture)
        .ok()
        .filter(fs::Metadata::is_file)?
        .len();
    let lanes = options.lanes();
    let packets = size / RECORD_BYTES;
    let flows = (options.most_flows() as u64).min(size / SMALLEST_RECORD_BYTES);
    let memory = Options::memory_of_flows(flows, lanes);
    (packets.saturating_mul(lanes) > MANY_PACKETS || memory > MUCH_MEMORY).then(|| {
        let packets = counted(packets, "packet");
        let gigabytes = memory as f64 / 1e9;
        format!(
            "about {packets}, if a packet takes {RECORD_BYTES} bytes of the file (compressed \
             fewer), through {lanes} queues, half a million to five million a second on a core; \
             {gigabytes:.1} GB of memory if there are {flows} flows (--max-flows); Ctrl-C ends the \
             comparison"
        )
    })
}

/// The comparison, without printed text. It writes the files that the arguments name.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, the capture cannot tell what senders
/// that react would do, or a stop was requested.
pub(crate) fn compute(arguments: &Compare, host: &Host) -> Result<Compared, Failure> {
    let options = options(arguments, &host.stop)?;
    match answer(arguments, &options, host)? {
        Answer::Compared(compared) => Ok(*compared),
        Answer::Question(question) => Err(Failure::usage(question)),
    }
}

/// What a capture tells: a comparison, or what to ask for.
enum Answer {
    Compared(Box<Compared>),
    Question(String),
}

fn answer(arguments: &Compare, options: &Options, host: &Host) -> Result<Answer, Failure> {
    check_outputs(arguments)?;
    if !arguments.react && (arguments.up.up_rate.is_some() || arguments.up.up_queue.is_some()) {
        return Err(Failure::usage(
            "--up-rate and --up-queue are for senders that react: add --react",
        ));
    }
    let strangers = arguments.strangers.map(&host.stop)?;
    let mut applications = None;
    if arguments.react {
        match react::applications(arguments, options, strangers.is_some(), host)? {
            Ok(read) => applications = Some(read),
            Err(question) => return Ok(Answer::Question(question)),
        }
    }
    let metadata = metadata(options);
    let mut outputs = arguments.outputs.begin(&Measures::default(), &metadata)?;
    let comparison = match applications {
        None => replay(arguments, options, &mut outputs, host)?,
        Some(applications) => {
            // The packets to store are those of the simulation, so this replay stores none.
            let replay = replay(arguments, options, &mut [], host)?;
            let zero = replay.capture.first_unix_nanos;
            let mut sinks = Vec::new();
            for (index, result) in replay.disciplines.iter().enumerate() {
                let sink = sink(&mut outputs, result.name, index, zero);
                sinks.push(sink.map_err(Failure::run)?);
            }
            react::compare(arguments, options, &applications, replay, sinks, host)?
        }
    };
    let advised = match &strangers {
        Some(map) => for_strangers(arguments, comparison, options).anonymised(map),
        None => advise(arguments, comparison, options),
    };
    let compared = Compared { advised, metadata };
    finish_all(outputs, &compared)?;
    Ok(Answer::Compared(Box::new(compared)))
}

/// Replays the capture; `outputs` get the packets.
fn replay(
    arguments: &Compare,
    options: &Options,
    outputs: &mut [Box<dyn Opened<Comparing>>],
    host: &Host,
) -> Result<Comparison, Failure> {
    let capture = open(&arguments.capture, &host.stop)?;
    let bar = (!arguments.quiet && io::stderr().is_terminal()).then(|| Bar::new(capture.size()));
    let size = capture.size().unwrap_or(0);
    let readings = options.mending().readings();
    host.gauge.start(u64::from(readings) * size);
    let mut observer = CallObserver {
        outputs,
        bar,
        host,
        size,
    };
    let outcome = in_pool(arguments.threads, || {
        compare(capture, options, &mut observer)
    })?;
    let comparison = outcome.map_err(|error| match error {
        _ if host.stop.is_requested() => Failure::stopped(),
        CompareError::Lane(error) => Failure::run(error),
        input => Failure::usage(input),
    })?;
    if host.stop.is_requested() {
        return Err(Failure::stopped());
    }
    Ok(comparison)
}

/// A comparison with advice. Suggested commands write other files, so that those of this call, which
/// show the suggestion, stay.
fn advise(arguments: &Compare, comparison: Comparison, options: &Options) -> Advised {
    let mut paths = Vec::new();
    for (_, path) in arguments.outputs.paths() {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut name = format!("{stem}-other");
        if let Some(ending) = path.extension() {
            name += &format!(".{}", ending.to_string_lossy());
        }
        paths.push((path, path.with_file_name(name).display().to_string()));
    }
    let call = command(&anonymise::words(&arguments.words, &paths));
    Advised::new(comparison, options, Some(&call))
}

/// A comparison with advice, in which files have other names. Addresses are still the true ones.
fn for_strangers(arguments: &Compare, mut comparison: Comparison, options: &Options) -> Advised {
    let capture = arguments.capture.as_path();
    let mut paths = vec![(capture, anonymise::CAPTURE.to_owned())];
    for (number, tree) in arguments.trees.iter().enumerate() {
        paths.push((tree, format!("tree-{}.toml", number + 1)));
    }
    if let Some(weights) = &arguments.weights {
        paths.push((weights, "weights.toml".to_owned()));
    }
    if let Some(key) = arguments.strangers.key_file() {
        paths.push((key, "key".to_owned()));
    }
    for (option, path) in arguments.outputs.paths() {
        paths.push((path, anonymise::name(option, path)));
    }
    comparison.capture.name = anonymise::CAPTURE.to_owned();
    let words = anonymise::words(&arguments.words, &paths);
    Advised::new(comparison, options, Some(&command(&words)))
}

/// The call for a shell, to which a verdict adds options. It leaves out a choice of direction,
/// because these options replace it.
fn command(words: &[String]) -> String {
    let mut command = "roundelay".to_owned();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let is_choice = |word: &str| matches!(word, "auto" | "both");
        let next = rest.peek().map_or("", |next| next.as_str());
        if word == "--direction" && is_choice(next) {
            rest.next();
            continue;
        }
        if word.strip_prefix("--direction=").is_some_and(is_choice) {
            continue;
        }
        command.push(' ');
        command.push_str(&shell_word(word));
    }
    command
}

fn options(arguments: &Compare, stop: &Stop) -> Result<Options, Failure> {
    let mut weights = arguments.weights.as_deref().map_or_else(
        || Ok(WeightRules::default()),
        |path| read_weights(path, stop),
    )?;
    for rule in arguments.weight.iter().rev() {
        weights.push_first(rule.clone());
    }
    if arguments.rate.is_none() && arguments.capture.is_file() {
        has_packets(&arguments.capture, stop)?;
    }
    let rate = arguments
        .rate
        .ok_or_else(|| Failure::missing("--rate <RATE>"))?;
    let mut options = Options::new(
        rate,
        chosen(&arguments.disciplines, !arguments.trees.is_empty()),
    );
    for path in &arguments.trees {
        let (tree, _) = read_tree(path, stop)?;
        options.trees.push(tree);
    }
    let files_are_secret = arguments.strangers.are_asked_for();
    TreeFile::tell_apart(&mut options.trees, files_are_secret);
    options.buffer = arguments.buffer;
    options.flow_by = arguments.flow_by;
    options.max_flows = arguments.max_flows.map(|most| most as usize);
    options.weights = weights;
    options.seed = arguments.seed;
    // Senders that react have replicas instead of further seeds.
    options.seeds = if arguments.react { 1 } else { arguments.seeds };
    options.measure_cost = !arguments.no_cost;
    options.selection = selection(arguments);
    options.span = Span {
        from: arguments.from,
        to: arguments.to,
        busiest: arguments.busiest,
    };
    options.adapts = true;
    options.captured_rate = arguments.captured_rate;
    options.mtu = arguments.mtu.0;
    if live::is_record(&arguments.capture) {
        // A run's record is replayed as it is, in one direction.
        options.selection.chooses &= arguments.interface.is_none();
        options.adapts = false;
        options.mtu = None;
        options.shapes_cake = false;
    }
    options.link = LinkLayer::replaced(
        arguments.link,
        arguments.overhead,
        arguments.mpu,
        arguments.framing,
    );
    Ok(options)
}

/// Whoever gives no rate may have given a record of a live run, which has its own, and which is damaged.
///
/// # Errors
/// The file is no capture, or ends before its first packet.
fn has_packets(path: &Path, stop: &Stop) -> Result<(), Failure> {
    let mut capture = open(path, stop)?;
    if capture.next().map_err(Failure::usage)?.is_some() {
        return Ok(());
    }
    Err(Failure::usage(CompareError::NoPackets {
        name: capture.name().to_owned(),
        cut_at: capture.notes().truncated_tail_offset,
    }))
}

fn selection(arguments: &Compare) -> Selection {
    let Compare {
        interface,
        direction,
        filter,
        ..
    } = arguments;
    let Compare {
        keep_duplicates,
        mirrored,
        ..
    } = *arguments;
    let selection = Selection {
        interface: interface.clone(),
        filter: filter.clone(),
        keep_duplicates,
        mirrored,
        ..Selection::default()
    };
    direction.clone().choose(selection)
}

/// # Errors
/// An output is an input, or cannot be written in this call.
fn check_outputs(arguments: &Compare) -> Result<(), Failure> {
    let read = [
        Some(("the capture", arguments.capture.as_path())),
        arguments.weights.as_deref().map(|path| ("--weights", path)),
        arguments
            .strangers
            .key_file()
            .map(|path| ("--anonymise-key", path)),
    ];
    let trees = arguments
        .trees
        .iter()
        .map(|path| ("--tree", path.as_path()));
    arguments.outputs.check(
        read.into_iter().flatten().chain(trees),
        &Measures::default(),
        1,
    )
}

fn read_weights(path: &Path, stop: &Stop) -> Result<WeightRules, Failure> {
    let name = path.display().to_string();
    let text = text_file::read(
        path,
        "rules for weights in TOML, as docs/compare.md describes them",
        stop,
    )?;
    WeightRules::from_toml(&name, &text).map_err(Failure::usage)
}

/// A tree, and its file's text.
///
/// # Errors
/// The file cannot be read, or has no tree.
pub(crate) fn read_tree(path: &Path, stop: &Stop) -> Result<(TreeFile, String), Failure> {
    let name = path.display().to_string();
    let text = text_file::read(path, "a tree in TOML, as docs/trees.md describes it", stop)?;
    let tree = TreeFile::from_toml(&name, &text).map_err(Failure::usage)?;
    Ok((tree, text))
}

/// Opens a capture. `-` is standard input.
///
/// # Errors
/// There is no such capture, or its format is unknown.
pub(crate) fn open(path: &Path, stop: &Stop) -> Result<Capture, Failure> {
    let stdin = || Capture::from_reader("standard input", BufReader::new(io::stdin()));
    let opened = match pipe::open(path, stop) {
        _ if path.as_os_str() == "-" => stdin(),
        Some(pipe) => Capture::from_reader(path.display().to_string(), pipe),
        None => Capture::open(path),
    };
    let opened = opened.map(|mut capture| {
        if live::is_record(path) {
            capture.skip_interface(live::NOTES);
        }
        capture
    });
    opened.map_err(|error| match error {
        _ if stop.is_requested() => Failure::stopped(),
        CaptureError::Open { .. } if path.to_str().is_some_and(|text| parse_spec(text).is_ok()) => {
            let hint = format!(
                "; the first argument is the capture, the disciplines follow: roundelay compare \
                 FILE {}",
                path.display()
            );
            Failure::usage(Fault::from(error).with_hint(&hint))
        }
        error => Failure::usage(error),
    })
}

fn show(arguments: &Compare, compared: &Compared) -> String {
    let style = terminal::style();
    if arguments.wide {
        return compared.table(TableStyle {
            width: Some(u16::MAX),
            ..style
        });
    }
    table_within(&compared.advised, style, SCREEN)
}

/// Goes into each Parquet file's footer.
fn metadata(options: &Options) -> Vec<(String, String)> {
    provenance(
        env!("CARGO_PKG_VERSION"),
        options.seed,
        &format!("{options:?}"),
    )
}

/// Observes the replay: shows progress, and opens the outputs' packet files.
struct CallObserver<'a> {
    outputs: &'a mut [Box<dyn Opened<Comparing>>],
    bar: Option<Bar>,
    host: &'a Host,
    /// The capture's length in bytes. 0 if unknown.
    size: u64,
}

impl ReplayObserver for CallObserver<'_> {
    fn stop(&self) -> Stop {
        self.host.stop.clone()
    }

    fn progress(&mut self, progress: Progress) {
        self.host.gauge.set(bytes_of_readings(progress, self.size));
        if let Some(bar) = &self.bar {
            bar.show(progress);
        }
    }

    fn sink(
        &mut self,
        name: &str,
        index: usize,
        zero_unix_nanos: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
        sink(self.outputs, name, index, zero_unix_nanos)
    }
}

/// The sink for a discipline's packets, for all outputs together.
fn sink(
    outputs: &mut [Box<dyn Opened<Comparing>>],
    name: &str,
    index: usize,
    zero_unix_nanos: i64,
) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
    let mut sinks = Vec::new();
    for output in outputs {
        sinks.extend(output.sink(name, index, zero_unix_nanos)?);
    }
    Ok(match sinks.len() {
        0 | 1 => sinks.pop(),
        _ => Some(Box::new(Sinks(sinks))),
    })
}

/// The packet files of several outputs.
struct Sinks(Vec<Box<dyn PacketSink>>);

impl PacketSink for Sinks {
    fn record(&mut self, packet: &PacketRecord) -> Result<(), SinkError> {
        for sink in &mut self.0 {
            sink.record(packet)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        for sink in self.0 {
            sink.finish()?;
        }
        Ok(())
    }
}

//! A run of `roundelay live`.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind, IsTerminal as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration as Span;

use roundelay::{Duration, Instant, LinkLayer, Purpose, Rate, Seed};
use roundelay_live::control::{self, Control};
use roundelay_live::demo::{self, Demo, DemoPart};
use roundelay_live::offloads::{self, Changed};
use roundelay_live::processes::Kept;
use roundelay_live::world::{FAR, MIDDLE, NEAR, Node, World};
use roundelay_live::{
    Books, Bottleneck, Change, Device as _, DeviceKind, DriverError, Fidelity, Interface, LateFile,
    LinkText, Metrics, QueueText, Running, Samples, Session, Settings, Slots, Way, WeightTexts,
};
use roundelay_report::{Anonymiser, PlottedResult, Printed, ReportError, json_line, write_text};
use roundelay_trace::{LinkModel, LinkTrace, Stop};
use serde::Serialize;

use super::anonymous;
use super::arguments::{Live, LiveCommand, Set};
use super::beside::{Beside, beside};
use super::home::Home;
use super::lines::Lines;
use super::signals::Signals;
use super::view::View;
use super::{change, drawn, home, page};
use crate::failure::Failure;
use crate::outputs::check_distinct;
use crate::terminal::{print, tell};
use crate::text_file;

/// Longest wait for the far command to listen.
const LISTENS: Span = Span::from_secs(2);
/// Longest wait for the ends of the commands' processes.
const ENDS: Span = Span::from_secs(2);

/// Runs the command: the exit status is that of the near command, if there is one.
pub(crate) fn run(arguments: &Live) -> Result<u8, Failure> {
    if let Some(LiveCommand::Set(set)) = &arguments.command {
        return send(set).map(|()| 0);
    }
    if arguments.restore {
        let restored = offloads::restore_all().map_err(Failure::run)?;
        let mut lines = restored.lines;
        lines.extend(control::remove_stale().map_err(Failure::run)?);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        return print(if text.is_empty() {
            "nothing to restore\n"
        } else {
            &text
        })
        .map(|()| u8::from(restored.has_failed));
    }
    if arguments.demo {
        return demo(arguments);
    }
    check_files(arguments)?;
    let (settings, home) = settings(arguments)?;
    let signals = Signals::take().map_err(Failure::run)?;
    let run = Plan {
        settings: &settings,
        home: home.as_ref(),
        signals: &signals,
    };
    if !arguments.between.is_empty() {
        return between(arguments, run);
    }
    if arguments.command_line.is_empty() {
        return Err(Failure::usage(
            "live: expected a command after --, --between with two interfaces, or --demo",
        ));
    }
    around_commands(arguments, run)
}

/// No output is read too, and no two are the same file.
fn check_files(arguments: &Live) -> Result<(), Failure> {
    let mut read = Vec::new();
    let scenario = arguments.discipline.as_deref();
    if let Some(path) = scenario.filter(|text| home::is_scenario(text)) {
        read.push(("the scenario", Path::new(path)));
    }
    for (option, path) in [
        ("--tree", &arguments.tree),
        ("--weights", &arguments.weights),
        ("--link-trace", &arguments.link_trace),
        ("--link-trace-up", &arguments.link_trace_up),
        ("--link-trace-down", &arguments.link_trace_down),
    ] {
        read.extend(path.as_deref().map(|path| (option, path)));
    }
    let key = arguments.strangers.key_file();
    read.extend(key.map(|path| ("--anonymise-key", path)));
    let mut written = Vec::new();
    for (option, path) in [("--record", &arguments.record), ("--html", &arguments.html)] {
        written.extend(path.as_deref().map(|path| (option, path)));
    }
    check_distinct(read, written)
}

/// Runs the link until somebody listens at the far end, two seconds at most: what the far command sends
/// meanwhile passes.
fn wait_for_listener(
    session: &mut Session,
    world: &World,
    signals: &Signals,
) -> Result<(), DriverError> {
    let end = std::time::Instant::now() + LISTENS;
    session.run(|_| {
        let listens = world.has_listener(Node::Far).map_err(io::Error::other)?;
        Ok(!listens && std::time::Instant::now() < end && signals.last().is_none())
    })
}

/// `roundelay live set`.
fn send(set: &Set) -> Result<(), Failure> {
    let mut changes = Vec::new();
    for pair in set.settings.chunks(2) {
        let [setting, value] = pair else {
            return Err(Failure::usage(format!(
                "{}: expected a value after each setting",
                pair[0]
            )));
        };
        changes.push(change(setting, value)?);
    }
    let way = match set.way.as_deref() {
        Some("up") => Some(Way::Up),
        Some(_) => Some(Way::Down),
        None => None,
    };
    let command = control::Command { way, changes };
    let answer = control::send(&set.name, &command).map_err(Failure::run)?;
    if answer.is_done {
        return print(&format!("{}\n", answer.text));
    }
    Err(Failure::usage(answer.text))
}

/// What a run needs beside its arguments.
#[derive(Clone, Copy)]
struct Plan<'a> {
    settings: &'a Settings,
    /// The scenario whose bottleneck this is.
    home: Option<&'a Home>,
    signals: &'a Signals,
}

/// The settings in the arguments, and the scenario that they come from.
fn settings(arguments: &Live) -> Result<(Settings, Option<Home>), Failure> {
    let first = arguments.discipline.as_deref();
    let scenario = first.filter(|text| home::is_scenario(text));
    let discipline = first.filter(|text| !home::is_scenario(text));
    if discipline.is_some() && (arguments.queue.is_some() || arguments.tree.is_some()) {
        return Err(Failure::usage(
            "the queue is given twice; expected DISCIPLINE, --queue or --tree",
        ));
    }
    let mut home = None;
    let mut settings = match scenario {
        Some(path) => {
            let mut read = home::read(Path::new(path), arguments.seed)?;
            if arguments.strangers.are_asked_for() {
                anonymous::hide_names(&mut read);
            }
            if !arguments.quiet {
                for line in &read.lines {
                    eprintln!("roundelay: {line}");
                }
            }
            home.insert(read).settings.clone()
        }
        None => {
            let fifo = QueueText::Discipline("fifo".to_owned());
            Settings::new(a_rate(arguments)?, fifo)
        }
    };
    set_queues(arguments, discipline, &mut settings)?;
    for way in Way::BOTH {
        let own = settings.way_mut(way);
        let set = |value: &mut u64, option: Option<u64>| *value = option.unwrap_or(*value);
        set(&mut own.delay, arguments.delay.map(Duration::as_picos));
        set(&mut own.jitter, arguments.jitter.map(Duration::as_picos));
        set(&mut own.loss, arguments.loss.map(|loss| loss.0));
    }
    let shortest = settings.up.delay.min(settings.down.delay);
    settings.guard = guard(Duration::from_picos(shortest)).as_picos();
    match arguments.seed {
        Some(seed) => settings.seed = seed,
        None if draws_seed(arguments) => settings.seed = drawn_seed(),
        None => {}
    }
    settings.flow_by = arguments.flow_by.to_string();
    settings.max_flows = arguments.max_flows;
    // Options come before what the scenario says.
    let mut rules = arguments.weight.clone();
    rules.append(&mut settings.weights.rules);
    settings.weights = WeightTexts {
        rules,
        file: match &arguments.weights {
            Some(path) => Some(weights_file(path)?),
            None => None,
        },
    };
    settings.weights.rules().map_err(Failure::usage)?;
    let layer = [arguments.overhead.is_some(), arguments.mpu.is_some()];
    if arguments.link.is_some() || arguments.framing.is_some() || layer.contains(&true) {
        settings.link = LinkText::from(LinkLayer::replaced(
            arguments.link,
            arguments.overhead,
            arguments.mpu,
            arguments.framing,
        ));
    }
    set_rates(arguments, &mut settings)?;
    // All settings are checked before anything is made.
    check_planned(arguments, &settings)?;
    if arguments.strangers.are_asked_for() {
        anonymous::hide_files(&mut settings);
    }
    if scenario.is_some() && !arguments.quiet {
        eprintln!("roundelay: {}", home::rates(&settings));
    }
    Ok((settings, home))
}

/// Whether the run draws its seed: between interfaces, where the senders are others. With a seed that
/// they know, they could choose flows that collide with another's in the queue.
fn draws_seed(arguments: &Live) -> bool {
    let scenario = arguments.discipline.as_deref();
    let is_scenario = scenario.is_some_and(home::is_scenario);
    !arguments.between.is_empty() && arguments.seed.is_none() && !is_scenario
}

/// A seed that no sender knows: 53 bits, which every reader of JSON takes.
fn drawn_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 11
}

/// Checks the planned changes as the run will make them: one after another, on these settings.
fn check_planned(arguments: &Live, settings: &Settings) -> Result<(), Failure> {
    let mut bottleneck = Bottleneck::new(settings, Slots::new(1, 64)).map_err(Failure::usage)?;
    let mut planned: Vec<_> = arguments.at.iter().collect();
    planned.sort_by_key(|planned| planned.at);
    for planned in planned {
        let change = change(&planned.setting, &planned.value)?;
        for way in Way::BOTH {
            bottleneck.change(way, &change).map_err(|error| {
                Failure::usage(format!("--at '{} {change}': {way}: {error}", planned.at))
            })?;
        }
    }
    Ok(())
}

/// A rate for settings whose rates are set later; an error if a direction has none.
fn a_rate(arguments: &Live) -> Result<Rate, Failure> {
    let traces = [&arguments.link_trace_up, &arguments.link_trace_down];
    let rates = [arguments.up, arguments.down];
    let both = arguments.rate.is_some() || arguments.link_trace.is_some();
    let has_both = rates
        .iter()
        .zip(traces)
        .all(|(rate, trace)| both || rate.is_some() || trace.is_some());
    if !has_both {
        return Err(Failure::usage(
            "the following required arguments were not provided:\n  --rate <RATE>, or --up <RATE> \
             and --down <RATE>, or --link-trace <FILE>",
        ));
    }
    let [up, down] = rates;
    let any = arguments.rate.or(up).or(down);
    // With traces alone, theirs follow.
    any.or_else(|| Rate::from_bits_per_second(1))
        .ok_or_else(|| Failure::run("no rate"))
}

/// A link trace's name and text: a file, or the draw of a model, that of a simulation's first two links
/// with this seed.
fn link_trace(path: &Path, way: Way, seed: u64) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    if let Some(model) = LinkModel::read(&name).map_err(Failure::usage)? {
        let seed = Seed::new(seed).derive(Purpose::LinkTrace, way.index() as u64);
        let trace = LinkTrace::of_model(model, seed);
        return Ok((trace.name().to_owned(), trace.text()));
    }
    let what = "a link trace: times in milliseconds, one a line";
    let text = text_file::read(path, what, &Stop::default())?;
    Ok((name, text))
}

/// Rates and link traces: one for a direction comes before one for both.
fn set_rates(arguments: &Live, settings: &mut Settings) -> Result<(), Failure> {
    let rates = [arguments.up, arguments.down];
    let traces = [&arguments.link_trace_up, &arguments.link_trace_down];
    for (way, (rate, trace)) in Way::BOTH.into_iter().zip(rates.into_iter().zip(traces)) {
        let is_own = rate.is_some() || trace.is_some();
        let both = arguments.link_trace.as_ref().filter(|_| !is_own);
        if let Some(path) = trace.as_ref().or(both) {
            let (name, text) = link_trace(path, way, settings.seed)?;
            settings.follow(way, &name, &text).map_err(Failure::usage)?;
        } else if let Some(rate) = rate.or(arguments.rate) {
            settings.way_mut(way).rate = rate.bits_per_second();
        }
    }
    Ok(())
}

/// Queues in the arguments, in place of those of a scenario.
fn set_queues(
    arguments: &Live,
    discipline: Option<&str>,
    settings: &mut Settings,
) -> Result<(), Failure> {
    let mut both = arguments
        .queue
        .as_deref()
        .or(discipline)
        .map(|text| QueueText::Discipline(text.to_owned()));
    if let Some(path) = &arguments.tree {
        let what = "a tree in TOML, as docs/trees.md describes it";
        let text = text_file::read(path, what, &Stop::default())?;
        let name = path.display().to_string();
        both = Some(QueueText::Tree { name, text });
    }
    for (way, own) in [
        (Way::Up, &arguments.queue_up),
        (Way::Down, &arguments.queue_down),
    ] {
        let own = own.as_ref().map(|text| QueueText::Discipline(text.clone()));
        if let Some(queue) = own.or_else(|| both.clone()) {
            settings.way_mut(way).queue = queue;
        }
    }
    Ok(())
}

/// The guard is part of the way, so a long wire may have a longer one at no cost: then frames that
/// are told late still arrive when they arrived.
fn guard(delay: Duration) -> Duration {
    const LEAST: Duration = Duration::from_micros(100);
    const MOST: Duration = Duration::from_millis(5);
    let half = Duration::from_nanos(delay.as_nanos() / 2);
    half.clamp(LEAST, MOST)
}

fn weights_file(path: &Path) -> Result<(String, String), Failure> {
    let what = "rules for weights in TOML, as docs/compare.md describes them";
    let text = text_file::read(path, what, &Stop::default())?;
    Ok((path.display().to_string(), text))
}

/// An interface, as a device of the kind that is asked for.
fn interface(arguments: &Live, name: &str) -> Result<Interface, Failure> {
    let known = DeviceKind::ALL
        .into_iter()
        .find(|kind| kind.name() == arguments.device);
    Interface::open(known.unwrap_or_default(), name)
        .map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// The interfaces in the middle of a world of our own.
fn middle(arguments: &Live) -> Result<[Interface; 2], Failure> {
    let [near, far] = MIDDLE;
    Ok([interface(arguments, near)?, interface(arguments, far)?])
}

/// A session with its record and its planned changes.
fn open(
    arguments: &Live,
    settings: &Settings,
    devices: [Interface; 2],
) -> Result<Session, Failure> {
    let mut session = Session::between(settings, devices).map_err(Failure::refused)?;
    for way in Way::BOTH {
        let queue = &settings.way(way).queue;
        if queue.queue().is_ok_and(|queue| queue.reads_sizes()) {
            eprintln!(
                "roundelay: {way}: {queue} orders flows by their sizes, which a live link does not \
                 know: all packets count alike"
            );
        }
    }
    for planned in &arguments.at {
        let change = change(&planned.setting, &planned.value)?;
        for way in Way::BOTH {
            session.plan(Instant::ZERO + planned.at, way, change.clone());
        }
    }
    if let Some(path) = &arguments.record {
        session
            .record(path)
            .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
    }
    Ok(session)
}

/// What is looked at while a session runs, opened before privileges are dropped.
struct Watch<'a> {
    arguments: &'a Live,
    signals: &'a Signals,
    /// The scenario whose bottleneck this is, and the settings of the run.
    home: Option<(&'a Home, &'a Settings)>,
    control: Option<Control>,
    metrics: Option<Metrics>,
    view: Option<View>,
    /// Standard output, for lines of JSON.
    lines: Option<Lines>,
    /// Whether the record has ended before the run, which is told once.
    record_ended: bool,
    /// The file of the page at the end.
    page: Option<LateFile>,
    /// Other addresses, if strangers read what is told.
    strangers: Option<Anonymiser>,
    /// The parts of the demo that are over.
    demo: Vec<DemoPart>,
    /// The seed, if nobody has given one.
    drawn_seed: Option<u64>,
    samples: Samples,
    /// Time of the next line of JSON, seconds.
    next_line: f64,
}

impl<'a> Watch<'a> {
    fn open(arguments: &'a Live, signals: &'a Signals) -> Result<Self, Failure> {
        let mut control = None;
        if let Some(name) = &arguments.name {
            let path = control::path_of(name).map_err(Failure::usage)?;
            control = Some(Control::listen(path).map_err(Failure::run)?);
        }
        let mut metrics = None;
        if let Some(address) = arguments.metrics {
            let failed = |error: io::Error| Failure::run(format!("--metrics {address}: {error}"));
            let server = Metrics::listen(address).map_err(failed)?;
            let address = server.address().map_err(failed)?;
            eprintln!("roundelay: metrics at http://{address}/metrics");
            if !address.ip().is_loopback() {
                tell(
                    "warning: anybody who reaches this machine can read these metrics, because the \
                     address is not 127.0.0.1 or ::1",
                );
            }
            metrics = Some(server);
        }
        let mut page = None;
        if let Some(path) = &arguments.html {
            let failed = |error| Failure::run(format!("{}: {error}", path.display()));
            page = Some(LateFile::open(path).map_err(failed)?);
        }
        Ok(Self {
            arguments,
            signals,
            home: None,
            control,
            metrics,
            view: None,
            lines: None,
            record_ended: false,
            page,
            strangers: arguments.strangers.map(&Stop::default())?,
            demo: Vec::new(),
            drawn_seed: None,
            samples: Samples::default(),
            next_line: 1.0,
        })
    }

    /// Starts what has threads of its own: the lines of JSON, and the view, which takes the terminal
    /// over. By then this process has all its
    /// namespaces, which only one with a single thread can make, and no privileges.
    fn start_threads(&mut self) -> Result<(), Failure> {
        if self.arguments.json {
            self.lines = Some(Lines::start(io::stdout()).map_err(Failure::run)?);
        }
        if self.arguments.view {
            self.view = Some(View::start().map_err(Failure::refused)?);
        }
        Ok(())
    }

    fn goes_on(&mut self, running: &mut Running<'_>) -> io::Result<bool> {
        let seconds = running.seconds();
        if let Some(control) = &mut self.control {
            control.serve(running.bottleneck())?;
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.serve(|| running.metrics());
        }
        if self.page.is_some() || self.arguments.json {
            self.samples.take(running.bottleneck(), seconds);
        }
        if !self.record_ended
            && let Some(fault) = running.record_fault()
        {
            self.record_ended = true;
            if self.view.is_none() {
                tell(&format!(
                    "{}{fault}; the run goes on",
                    record_name(self.arguments)
                ));
            }
        }
        let bottleneck = running.bottleneck();
        if let Some(view) = &mut self.view
            && !view.goes_on(bottleneck, seconds)
        {
            return Ok(false);
        }
        if let Some(lines) = &mut self.lines
            && seconds >= self.next_line
        {
            self.next_line += 1.0;
            let second = Second {
                seconds,
                up: bottleneck.books(Way::Up),
                down: bottleneck.books(Way::Down),
            };
            lines.line(json_line(&second).trim_end())?;
        }
        let is_over = self
            .arguments
            .duration
            .is_some_and(|duration| seconds >= duration.as_secs_f64());
        Ok(!is_over && !self.signals.came())
    }
}

/// A line of `--json` for each second.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Second<'a> {
    /// Since the start.
    seconds: f64,
    up: &'a Books,
    down: &'a Books,
}

impl Printed for Second<'_> {
    const SCHEMA: &'static str = "live-second/1";
}

/// The last line of `--json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct End<'a> {
    #[serde(flatten)]
    fidelity: &'a Fidelity,
    /// What the programs at the ends of the demo saw, queue by queue.
    #[serde(skip_serializing_if = "<[DemoPart]>::is_empty")]
    demo: &'a [DemoPart],
    /// Delays of each phase and kind of packets, to draw.
    drawn: Vec<PlottedResult>,
    /// The scenario of the run, simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<&'a Beside>,
    /// Why it was not simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_simulated: Option<&'a str>,
}

impl Printed for End<'_> {
    const SCHEMA: &'static str = "live/1";
}

/// The simulation beside the run in words; nothing without a scenario.
fn words(simulated: Option<&Result<Beside, String>>) -> String {
    match simulated {
        Some(Ok(beside)) => {
            let mut text = format!("{}\n", beside.summary());
            for sentence in &beside.parts {
                text += &format!("  {sentence}\n");
            }
            text
        }
        Some(Err(reason)) => format!("{reason}\n"),
        None => String::new(),
    }
}

fn seed_in_words(seed: u64) -> String {
    format!("The seed was drawn for this run: --seed {seed} gives the same hashes and losses.\n")
}

/// The file of the record, for the beginning of a message.
fn record_name(arguments: &Live) -> String {
    match &arguments.record {
        Some(path) => format!("{}: ", path.display()),
        None => String::new(),
    }
}

/// A run that is over, with what is left to tell.
struct Over<'a> {
    watch: Watch<'a>,
    fidelity: Fidelity,
    /// The first fault of the run or its record.
    fault: Option<Failure>,
}

/// Ends a session. Its record is whole, and the terminal as it was, however the run ended.
fn end_session<'a>(
    mut watch: Watch<'a>,
    session: Session,
    outcome: Result<(), DriverError>,
) -> Over<'a> {
    let (fidelity, record) = session.end();
    drop(watch.view.take());
    watch.signals.wait_for_another();
    let record =
        record.map_err(|error| Failure::run(format!("{}{error}", record_name(watch.arguments))));
    let fault = outcome.map_err(Failure::run).and(record).err();
    Over {
        watch,
        fidelity,
        fault,
    }
}

/// Tells what a run says about itself. A run without a command reports on standard output.
///
/// # Errors
/// The first fault of the run, its record or this report: all that can be told is told before.
fn report(over: Over<'_>, has_command: bool) -> Result<Fidelity, Failure> {
    let Over {
        mut watch,
        mut fidelity,
        fault,
    } = over;
    let (arguments, signals) = (watch.arguments, watch.signals);
    if let Some(map) = &watch.strangers {
        fidelity = anonymous::anonymised(fidelity, map);
    }
    let mut outcome = match fault {
        Some(fault) => Err(fault),
        None => Ok(()),
    };
    let mut lines = match watch.lines.take() {
        Some(lines) => lines,
        // Standard output belongs to the command.
        None if has_command => Lines::start(io::stderr()).map_err(Failure::run)?,
        None => Lines::start(io::stdout()).map_err(Failure::run)?,
    };
    let unwritten = |error: io::Error| Failure::run(format!("cannot write the report: {error}"));
    // The verdict does not wait for the simulation.
    if !arguments.json {
        let text = if arguments.quiet {
            fidelity.verdict.text()
        } else {
            fidelity.text() + &watch.drawn_seed.map_or_else(String::new, seed_in_words)
        };
        outcome = outcome.and(lines.text(text).map_err(unwritten));
    }
    let mut simulated = None;
    let is_shown = !arguments.quiet || arguments.json || arguments.html.is_some();
    if let Some((home, settings)) = watch.home.filter(|_| is_shown) {
        simulated = Some(if signals.is_urgent() {
            Err("Not simulated: a signal ended the run.".to_owned())
        } else {
            beside(home, settings, &fidelity, watch.samples.all(), signals)
        });
        if let (Some(_), Some(Err(reason))) = (&watch.strangers, &mut simulated) {
            *reason = anonymous::reason(reason);
        }
    }
    if let (Some(mut file), Some(path)) = (watch.page, &arguments.html) {
        let aside = page::Aside {
            beside: simulated.as_ref(),
            demo: &watch.demo,
        };
        let page = page::html(&fidelity, &watch.samples, &aside);
        outcome = outcome.and(write_page(path, &mut file, &page));
    }
    let mut rest = String::new();
    if arguments.json {
        let (simulated, not_simulated) = match &simulated {
            Some(Ok(beside)) => (Some(beside), None),
            Some(Err(reason)) => (None, Some(reason.as_str())),
            None => (None, None),
        };
        rest = json_line(&End {
            fidelity: &fidelity,
            demo: &watch.demo,
            drawn: drawn::drawn(&fidelity, watch.samples.all()),
            simulated,
            not_simulated,
        });
    } else if !arguments.quiet {
        rest = words(simulated.as_ref());
    }
    if !rest.is_empty() {
        outcome = outcome.and(lines.text(rest).map_err(unwritten));
    }
    outcome = outcome.and(lines.finish(signals).map_err(unwritten));
    outcome.map(|()| fidelity)
}

/// Writes the page, whole or not at all, as other outputs are: beside the file, which then gets its
/// name. Without privileges, the folder may be another user's, and then the file is written that was
/// opened before.
fn write_page(path: &Path, file: &mut LateFile, page: &str) -> Result<(), Failure> {
    let written = match write_text(path, page) {
        Err(ReportError::File { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            let written = file.replace(page.as_bytes());
            written.map_err(|error| Failure::run(format!("{}: {error}", path.display())))
        }
        written => written.map_err(Failure::run),
    };
    if written.is_err() {
        file.remove_if_new();
    }
    written
}

/// `roundelay live --between A B`.
fn between(arguments: &Live, run: Plan<'_>) -> Result<u8, Failure> {
    let [near, far] = &arguments.between[..] else {
        return Err(Failure::usage("--between: expected two interfaces"));
    };
    let mut taps = [tap(near)?, tap(far)?];
    // Interfaces that others have made, and that stay.
    let mut others = Vec::new();
    let mut names = [String::new(), String::new()];
    for (index, text) in [near, far].into_iter().enumerate() {
        let tap = taps[index].as_ref();
        names[index] = tap.map_or(text.clone(), |(end, _)| end.name().to_owned());
        if tap.is_none_or(|(_, is_ours)| !is_ours) {
            others.push(names[index].clone());
        }
    }
    let both = names.each_ref().map(String::as_str);
    let [near, far] = &mut taps;
    let ends = [near, far].map(|tap| tap.as_mut().map(|(end, _)| end));
    Session::check_with(both, ends).map_err(Failure::refused)?;
    let mut changed = None;
    if !others.is_empty() {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let failed = |error| Failure::run(format!("offloads of {}: {error}", others.join(" and ")));
        changed = Some(Changed::turn_off(&others).map_err(failed)?);
    }
    let mut device = |index: usize| match taps[index].take() {
        Some((end, _)) => Ok(end),
        None => interface(arguments, both[index]),
    };
    let devices = device(0).and_then(|near| Ok([near, device(1)?]));
    let over = devices.and_then(|devices| {
        let session = open(arguments, run.settings, devices)?;
        between_prepared(arguments, run, session)
    });
    // The report may wait for a reader, and the simulation takes its time: interfaces do not.
    for message in changed.iter().flat_map(Changed::restore) {
        eprintln!("roundelay: cannot restore {message}");
    }
    let fidelity = report(over?, false)?;
    for (interface, is_gone) in both.iter().zip(fidelity.gone) {
        if is_gone {
            return Err(Failure::run(format!(
                "{interface}: the interface does not exist any more, so the run ended"
            )));
        }
    }
    Ok(0)
}

/// The other end of the TAP interface that a text names, if it does, and whether the interface is
/// our own.
fn tap(text: &str) -> Result<Option<(Interface, bool)>, Failure> {
    Interface::tap(text).map_err(Failure::refused)
}

/// A run between interfaces whose offloads are off.
fn between_prepared<'a>(
    arguments: &'a Live,
    run: Plan<'a>,
    mut session: Session,
) -> Result<Over<'a>, Failure> {
    let mut watch = Watch::open(arguments, run.signals)?;
    watch.home = run.home.map(|home| (home, run.settings));
    watch.drawn_seed = draws_seed(arguments).then_some(run.settings.seed);
    session.use_real_time();
    Session::drop_privileges(true).map_err(Failure::run)?;
    watch.start_threads()?;
    let outcome = session.run(|running| watch.goes_on(running));
    Ok(end_session(watch, session, outcome))
}

/// Bits per second of the demo.
const DEMO_RATE: u64 = 1_000_000;
/// A buffer of .7 s at this rate, as in many modems.
const DEMO_QUEUES: [&str; 2] = ["fifo limit 60", "fq_codel limit 60"];
/// Seconds before a part's figures count, and of the part.
const DEMO_PART: [f64; 2] = [3.0, 8.0];

/// `roundelay live --demo`.
fn demo(arguments: &Live) -> Result<u8, Failure> {
    let signals = Signals::take().map_err(Failure::run)?;
    let mut watch = Watch::open(arguments, &signals)?;
    let world = Arc::new(World::build().map_err(Failure::run)?);
    let queue = QueueText::Discipline(DEMO_QUEUES[0].to_owned());
    let rate = Rate::from_bits_per_second(DEMO_RATE).ok_or_else(|| Failure::run("no rate"))?;
    let mut settings = Settings::new(rate, queue);
    for way in Way::BOTH {
        settings.way_mut(way).delay = Duration::from_millis(10).as_picos();
    }
    settings.guard = guard(Duration::from_millis(10)).as_picos();
    let mut session = open(arguments, &settings, middle(arguments)?)?;
    session.set_congestion_control(format!(
        "{} (the transfers use {})",
        world.congestion_control().map_err(Failure::run)?,
        demo::CONTROL
    ));
    let traffic = Demo::start(&world).map_err(Failure::run)?;
    let [settling, length] = DEMO_PART;
    for (part, text) in DEMO_QUEUES.into_iter().enumerate().skip(1) {
        let queue = QueueText::Discipline(text.to_owned());
        let at = Duration::from_millis(((settling + length) * 1e3) as u64 * part as u64);
        session.plan(Instant::ZERO + at, Way::Up, Change::Queue(queue));
    }
    session.use_real_time();
    Session::drop_privileges(false).map_err(Failure::run)?;
    watch.start_threads()?;
    let mut table = None;
    if !arguments.json {
        table = Some(Lines::start(io::stdout()).map_err(Failure::run)?);
    }
    if let Some(table) = table.as_mut().filter(|_| !arguments.quiet) {
        let head = format!(
            "A link of 1 Mbit/s: two bulk transfers, a ping and a call of 64 kbit/s, {} s for each \
             queue\n{:18}{}\n",
            settling + length,
            "",
            Demo::head()
        );
        table.text(head).map_err(Failure::run)?;
    }
    let mut shown = 0;
    let outcome = session.run(|running| {
        let seconds = running.seconds();
        let part = (seconds / (settling + length)) as usize;
        let counts = seconds - part as f64 * (settling + length) >= settling;
        traffic.enter_part(if counts { part } else { usize::MAX });
        if part > shown {
            let over = traffic.part(shown, DEMO_QUEUES[shown], length);
            if let Some(table) = &mut table {
                let line = Demo::line(over.cells());
                table.line(&format!("{:18}{line}", DEMO_QUEUES[shown]))?;
            }
            watch.demo.push(over);
        }
        shown = part;
        Ok(watch.goes_on(running)? && part < DEMO_QUEUES.len())
    });
    if watch.lines.is_none() {
        watch.lines = table;
    }
    report(end_session(watch, session, outcome), false)?;
    Ok(0)
}

/// The commands at both ends.
fn commands(words: &[OsString]) -> (Vec<OsString>, Vec<OsString>) {
    let mut parts = words.split(|word| word == "--");
    let near = parts.next().unwrap_or_default().to_vec();
    let far = parts.next().unwrap_or_default().to_vec();
    (near, far)
}

/// The command, with the addresses filled in.
fn command(words: &[OsString]) -> Option<Command> {
    let mut filled = words.iter().map(|word| match word.to_str() {
        Some(text) => text.replace("{far}", FAR).replace("{near}", NEAR).into(),
        None => word.clone(),
    });
    let mut command = Command::new(filled.next()?);
    command.args(filled);
    Some(command)
}

/// Commands at the ends of a link of their own.
fn around_commands(arguments: &Live, run: Plan<'_>) -> Result<u8, Failure> {
    let (near, far) = commands(&arguments.command_line);
    let Some(near) = command(&near) else {
        return Err(Failure::usage("expected a command after --"));
    };
    let mut watch = Watch::open(arguments, run.signals)?;
    watch.home = run.home.map(|home| (home, run.settings));
    let world = World::build().map_err(Failure::run)?;
    if let Some(name) = &arguments.congestion {
        world
            .set_congestion_control(name)
            .map_err(Failure::refused)?;
    }
    let mut session = open(arguments, run.settings, middle(arguments)?)?;
    session.set_congestion_control(world.congestion_control().map_err(Failure::run)?);
    let mut children = Children::default();
    let mut waited = Ok(());
    let far = command(&far);
    let far = far.map(|far| without_terminal(arguments, far));
    let mut near = without_terminal(arguments, near);
    if let Some(mut far) = far {
        let far = Kept::start(&world, Node::Far, &mut far).map_err(Failure::refused)?;
        children.far = Some(far);
        waited = wait_for_listener(&mut session, &world, run.signals);
    }
    let near = Kept::start(&world, Node::Near, &mut near);
    children.near = Some(near.map_err(Failure::refused)?);
    session.use_real_time();
    Session::drop_privileges(false).map_err(Failure::run)?;
    watch.start_threads()?;
    let outcome = waited.and_then(|()| {
        session.run(|running| {
            children.look()?;
            Ok(watch.goes_on(running)? && children.near_status.is_none())
        })
    });
    let status = match run.signals.last() {
        Some(signal) => 128 + signal,
        None => exit_status(children.near_status),
    };
    // One that fails before the run ends it is told; one that the run ends is not.
    let far_status = children.far_status;
    children.end();
    let reported = report(end_session(watch, session, outcome), true);
    if let Some(far) = far_status.filter(|far| !far.success() && run.signals.last().is_none()) {
        tell(&format!("the command at the far end failed: {far}"));
    }
    match reported {
        Ok(_) => Ok(status),
        Err(failure) if status == 0 => Err(failure),
        Err(failure) => {
            tell(&failure.to_string());
            Ok(status)
        }
    }
}

/// A command beside a view, to which the terminal belongs.
fn without_terminal(arguments: &Live, mut command: Command) -> Command {
    if arguments.view {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if io::stderr().is_terminal() {
            command.stderr(Stdio::null());
        }
    }
    command
}

/// The commands with all that they started, ended with the run.
#[derive(Default)]
struct Children {
    near: Option<Kept>,
    far: Option<Kept>,
    /// How the commands ended, if they have.
    near_status: Option<ExitStatus>,
    far_status: Option<ExitStatus>,
}

impl Children {
    /// Looks whether the commands have ended.
    fn look(&mut self) -> io::Result<()> {
        for (child, status) in [
            (&mut self.near, &mut self.near_status),
            (&mut self.far, &mut self.far_status),
        ] {
            if let Some(child) = child {
                *status = child.try_wait()?;
            }
        }
        Ok(())
    }

    /// Ends the commands, and whatever they have started.
    fn end(&mut self) {
        let mut left = 0;
        for child in [self.near.take(), self.far.take()].into_iter().flatten() {
            left += child.end(ENDS);
        }
        if left > 0 {
            tell(&format!(
                "{left} processes of the commands belong to other users, so they go on"
            ));
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.end();
    }
}

/// The command's own exit status; 128 and the signal's number after a signal, as in a shell.
fn exit_status(status: Option<ExitStatus>) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let Some(status) = status else { return 0 };
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

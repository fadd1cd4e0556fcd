//! `roundelay replay`: records a schedule and replays it under other disciplines.

pub(crate) mod arguments;
pub(crate) mod outputs;
pub(crate) mod result;

use std::io::Write as _;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use roundelay::{Duration, Fault};
use roundelay_metrics::cpu_seconds;
use roundelay_report::{
    CandidateResult, Recorded, ReplayResult, Replayed, provenance, read_schedule,
};
use roundelay_sim::replay::{
    Candidate, Counting, Replay as Outcome, ReplayError, Schedule, SlackRule,
};
use roundelay_sim::scenario::{Measures, Progress, Scenario};

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::{files_of, finish_all};
use crate::progress::JointProgress;
use crate::scenario::{Read, check_length};
use crate::terminal::{self, print};
use crate::threads::in_pool;
use arguments::Replay;
use result::{Replays, Run};

pub(crate) fn run(arguments: &Replay) -> Result<(), Failure> {
    let Computed {
        replayed,
        scenario,
        runs,
        printed,
        written,
    } = compute(arguments, &Host::default())?;
    print(&printed.unwrap_or_else(|| replayed.document().text(terminal::style())))?;
    written?;
    if arguments.plain {
        plain(&scenario, &runs)
    } else {
        Ok(())
    }
}

/// The results of a replay, before they are printed.
pub(crate) struct Computed {
    pub(crate) replayed: Replayed,
    scenario: Scenario,
    runs: Vec<Run>,
    /// The text instead of the table, if any.
    printed: Option<String>,
    /// Whether the files after the runs were written.
    pub(crate) written: Result<(), Failure>,
}

/// The replay, without printed text. It writes the files that the arguments name.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, or a stop was requested.
pub(crate) fn compute(arguments: &Replay, host: &Host) -> Result<Computed, Failure> {
    check_names(arguments)?;
    let path = arguments.scenario.display();
    let extension = arguments.scenario.extension().unwrap_or_default();
    if arguments.on.is_some() && extension == "toml" {
        return Err(Failure::usage(format!(
            "{path}: --on is for a schedule in Parquet; leave out --on to record a scenario and \
             replay it"
        )));
    }
    if arguments.on.is_none() && extension == "parquet" {
        return Err(Failure::usage(format!(
            "{path}: a schedule in Parquet needs --on NETWORK.toml, the scenario of its network"
        )));
    }
    let candidates = candidates(arguments);
    let read = match &arguments.on {
        None => Read::scenario(&arguments.scenario, host)?,
        Some(network) => Read::network(network, host)?,
    };
    let Read {
        mut scenario,
        text,
        mut notes,
        ..
    } = read;
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    let network = arguments.on.as_deref().map(|on| ("--on", on));
    let read = files_of(&arguments.scenario, &scenario).chain(network);
    arguments
        .outputs
        .check(read, &Measures::default(), arguments.runs.replicas.into())?;
    let name = arguments.scenario.display().to_string();
    check_length(&scenario, arguments.runs.long)
        .map_err(|fault| Failure::usage(fault.in_file(&*name, 0)))?;
    let text = host.set_controls(&name, &mut scenario, text)?;
    let listed = if arguments.on.is_some() {
        Some(listed(arguments, &scenario)?)
    } else {
        None
    };
    let metadata = provenance(env!("CARGO_PKG_VERSION"), scenario.seed, &text);
    let outputs = arguments.outputs.begin(&Measures::default(), &())?;
    let runs = replays(arguments, &scenario, &candidates, listed.as_ref(), host)?;
    notes.extend(header_notes(arguments, &candidates, &runs));
    let replayed = Replayed {
        notes,
        ..replayed(arguments, &scenario, &candidates, &runs)
    };
    let replays = Replays {
        replayed: &replayed,
        runs: &runs,
        candidates: &candidates,
        metadata: &metadata,
    };
    let written = finish_all(outputs, &replays);
    let printed = arguments.outputs.printed(&replays)?;
    Ok(Computed {
        replayed,
        scenario,
        runs,
        printed,
        written,
    })
}

/// # Errors
/// A discipline is named twice.
fn check_names(arguments: &Replay) -> Result<(), Failure> {
    let mut names = Vec::new();
    for Candidate { name, .. } in &arguments.with {
        if names.contains(&name) {
            let fault = Fault::wanted("each discipline once")
                .behind(format_args!("--with '{name}': named twice; "));
            return Err(Failure::usage(fault.with_given(name)));
        }
        names.push(name);
    }
    Ok(())
}

/// The candidates named, with the command line's slack.
fn candidates(arguments: &Replay) -> Vec<Candidate> {
    let mut candidates = arguments.with.clone();
    if candidates.is_empty() {
        candidates.push("lstf".parse().expect("lstf is a discipline"));
    }
    for candidate in &mut candidates {
        candidate.slack = arguments.slack;
        candidate.resolution = arguments.resolution.unwrap_or(Duration::ZERO);
    }
    candidates
}

/// Reads a schedule from a Parquet file.
fn listed(arguments: &Replay, scenario: &Scenario) -> Result<Arc<Schedule>, Failure> {
    if arguments.runs.replicas > 1 || arguments.runs.seed.is_some() || arguments.plain {
        return Err(Failure::usage(
            "--on: a schedule of a file is one and has no seed; leave out --replicas, --seed and \
             --plain",
        ));
    }
    for candidate in &arguments.with {
        if candidate.needs_starts() {
            return Err(Failure::usage(format!(
                "--with {candidate}: a file does not tell when each router sent each packet; \
                 record a scenario instead"
            )));
        }
    }
    let path = arguments.scenario.display();
    let lines = read_schedule(&arguments.scenario).map_err(Failure::usage)?;
    let schedule = Schedule::listed(scenario, lines)
        .map_err(|error| Failure::usage(Fault::from(error).in_file(path.to_string(), 0)))?;
    Ok(Arc::new(schedule))
}

fn replays(
    arguments: &Replay,
    scenario: &Scenario,
    candidates: &[Candidate],
    listed: Option<&Arc<Schedule>>,
    host: &Host,
) -> Result<Vec<Run>, Failure> {
    let seeds = arguments.runs.count(scenario.seed)?;
    let all = seeds * (u64::from(listed.is_none()) + candidates.len() as u64);
    let window = listed.map_or(scenario.duration, |schedule| schedule.window);
    let replaying = Replaying {
        scenario,
        candidates,
        threshold: arguments.threshold,
        keeps_packets: arguments.outputs.has("parquet"),
        joint_progress: arguments.runs.joint_progress(window, all, &host.gauge),
    };
    let one = |replica: u64| -> Result<Run, ReplayError> {
        let began = cpu_seconds();
        let schedule = match listed {
            Some(schedule) => Arc::clone(schedule),
            None => Arc::new(replaying.record(scenario.seed + replica)?),
        };
        replaying.run(schedule, cpu_seconds() - began)
    };
    // Either replicas or candidates run in parallel, because both would keep many schedules in
    // memory.
    let runs: Result<Vec<_>, ReplayError> = in_pool(arguments.runs.threads, || match candidates {
        [_] => (0..seeds).into_par_iter().map(one).collect(),
        _ => (0..seeds).map(one).collect(),
    })?;
    if host.stop.is_requested() {
        return Err(Failure::stopped());
    }
    runs.map_err(|error| {
        if matches!(error, ReplayError::Run(_)) {
            Failure::run(format!("{}: {error}", scenario.name))
        } else {
            Failure::usage(Fault::from(error).in_file(&*scenario.name, 0))
        }
    })
}

/// What all runs of a replay share.
struct Replaying<'a> {
    scenario: &'a Scenario,
    candidates: &'a [Candidate],
    /// None: the longest transmission time on a packet's path.
    threshold: Option<Duration>,
    /// Whether schedules and outputs stay in memory, for `--parquet`.
    keeps_packets: bool,
    joint_progress: JointProgress,
}

impl Replaying<'_> {
    /// Reports one run's progress.
    fn progress(&self) -> impl FnMut(Progress) + '_ {
        let mut reported = (0, 0);
        move |progress| self.joint_progress.tell(progress, &mut reported)
    }

    /// Records the schedule that the scenario gives with a seed.
    fn record(&self, seed: u64) -> Result<Schedule, ReplayError> {
        let keeps_starts = self.candidates.iter().any(Candidate::needs_starts);
        Schedule::record(self.scenario, seed, keeps_starts, self.progress())
    }

    /// Replays a schedule under all candidates. `recording` says how many seconds it took to
    /// record.
    fn run(&self, schedule: Arc<Schedule>, recording: f64) -> Result<Run, ReplayError> {
        let threshold = match self.threshold {
            Some(threshold) => threshold,
            None => schedule.bottleneck_time(),
        };
        let replayed: Result<Vec<_>, ReplayError> = self
            .candidates
            .par_iter()
            .map(|candidate| self.replay(&schedule, candidate, threshold))
            .collect();
        let mut outcomes = Vec::new();
        let mut replaying = Vec::new();
        for (outcome, result, seconds) in replayed? {
            outcomes.push((outcome, result));
            replaying.push(seconds);
        }
        let mut packet_hops = 0;
        for packet in &schedule.packets {
            packet_hops += schedule.path(packet).count() as u64;
        }
        Ok(Run {
            recorded: Recorded::new(&schedule, threshold),
            window: schedule.window,
            packet_hops,
            schedule: self.keeps_packets.then_some(schedule),
            outcomes,
            recording,
            replaying,
        })
    }

    /// The outcome under a candidate, its counts, and the seconds that it took.
    fn replay(
        &self,
        schedule: &Arc<Schedule>,
        candidate: &Candidate,
        threshold: Duration,
    ) -> Result<(Outcome, ReplayResult, f64), ReplayError> {
        let began = cpu_seconds();
        let mut outcome = schedule.replay(candidate, self.progress())?;
        let drained = outcome.count(schedule, Counting::Drained, threshold);
        let cut = outcome.count(schedule, Counting::Cut, threshold);
        let result = ReplayResult::new(schedule, &outcome, drained, cut);
        if !self.keeps_packets {
            // Free the packets' memory before the next replay.
            outcome.outputs = Vec::new();
        }
        Ok((outcome, result, cpu_seconds() - began))
    }
}

/// Notes which options do not affect a candidate, and how fine priorities are.
fn header_notes(arguments: &Replay, candidates: &[Candidate], runs: &[Run]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut deaf = Vec::new();
    for candidate in candidates {
        if !candidate.goes_by_slack() {
            deaf.push(candidate.name.as_str());
        }
    }
    if !deaf.is_empty() && (arguments.slack != SlackRule::Wait || arguments.resolution.is_some()) {
        notes.push(format!(
            "--slack and --resolution say nothing to {}, which does not go by the slack that \
             packets start with.",
            deaf.join(", ")
        ));
    }
    if let Some(number) = candidates.iter().position(Candidate::goes_by_priority) {
        let steps = runs.iter().map(|run| run.outcomes[number].0.priority_step);
        if let Some(step) = steps.max() {
            notes.push(format!(
                "Priorities are o(p) in steps of {step}, as many as 32 bits tell apart."
            ));
        }
    }
    notes
}

fn replayed(
    arguments: &Replay,
    scenario: &Scenario,
    candidates: &[Candidate],
    runs: &[Run],
) -> Replayed {
    let mut results = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let mut of_runs = Vec::new();
        for run in runs {
            let (_, result) = &run.outcomes[number];
            of_runs.push(result.clone());
        }
        results.push(CandidateResult::new(candidate.name.clone(), of_runs));
    }
    Replayed {
        version: env!("CARGO_PKG_VERSION"),
        name: scenario.name.clone(),
        notes: Vec::new(),
        window: runs.first().map_or(0.0, |run| run.window.as_secs_f64()),
        warmup: scenario.warmup.as_secs_f64(),
        slack: arguments.slack.name(),
        resolution_ps: arguments.resolution.map_or(0, Duration::as_picos),
        recorded: runs.iter().map(|run| run.recorded.clone()).collect(),
        candidates: results,
    }
}

/// Prints how much longer recording and replaying take than a plain run of the same scenario. The
/// plain run ends with the window, while packets are still in the network, so times are per
/// packet-hop.
fn plain(scenario: &Scenario, runs: &[Run]) -> Result<(), Failure> {
    let Some(run) = runs.first() else {
        return Ok(());
    };
    let began = cpu_seconds();
    let results = scenario
        .run(run.recorded.seed, |_| {})
        .map_err(Failure::run)?;
    let plain = cpu_seconds() - began;
    let replaying = run.replaying.first().copied().unwrap_or(0.0);
    let each = |seconds: f64, hops: u64| seconds * 1e9 / hops.max(1) as f64;
    let [ours, plainly] = [
        each(run.recording + replaying, run.packet_hops),
        each(plain, results.packet_hops),
    ];
    let line = format!(
        "seed {}: recorded in {:.2} s, replayed and compared in {replaying:.2} s, {ours:.0} ns a \
         packet-hop; a plain run takes {plainly:.0} ns: {:.2} times as long",
        run.recorded.seed,
        run.recording,
        ours / plainly
    );
    drop(writeln!(std::io::stderr(), "{line}"));
    Ok(())
}

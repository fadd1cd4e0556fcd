//! `roundelay objective`: does for any network, traffic and objective what section 3 of R. Mittal
//! et al., "Universal Packet Scheduling", NSDI 2016, does.

pub(crate) mod arguments;
pub(crate) mod outputs;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay::{Fault, Limit, QueueSpec};
use roundelay_bench::{Held, HoldSubject, cost_of_hold};
use roundelay_report::{
    Cost, DisciplineCost, DisciplineResult, ObjectiveResult, ObjectiveRun, SourceRun, Verdict,
};
use roundelay_sim::LinkClass;
use roundelay_sim::scenario::{
    self, DisciplineText, Figure, GroupResult, LinkResult, Measure, Results, Scenario, SlackText,
};

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::{files_of, finish_all};
use crate::progress::Gauge;
use crate::scenario::{Read, check_length};
use crate::terminal::{self, print};
use crate::threads::in_pool;
use arguments::Objective;

/// Indices of the disciplines in every run. Those of `--with` follow, and then the file's own
/// queues.
const FIFO: usize = 0;
const SPECIALIST: usize = 1;
const LSTF: usize = 2;
/// CPU seconds that all costs may take together.
const COST_SECONDS: f64 = 1.2;
/// Backlogs and flows above this are measured at this value, because beyond it only memory would
/// grow.
const MOST_WAITING: f64 = 65_536.0;

/// All runs together give one result, so no output has to choose a run.
const ONE_RESULT: usize = 1;

/// Runs the scenario under each candidate, and writes and prints the result.
pub(crate) fn run(arguments: &Objective) -> Result<(), Failure> {
    let Read {
        name,
        mut scenario,
        mut notes,
        ..
    } = Read::scenario(&arguments.scenario, &Host::default())?;
    let Objective { outputs, .. } = arguments;
    outputs.check(
        files_of(&arguments.scenario, &scenario),
        &scenario.measures,
        ONE_RESULT,
    )?;
    // The outputs need nothing before the runs.
    let files = outputs.begin(&scenario.measures, &())?;
    let line = line_of_objective(arguments, &scenario);
    let refused = |fault: Fault| Failure::usage(fault.in_file(&*name, line));
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    check_length(&scenario, arguments.runs.long).map_err(refused)?;
    let objective = objective_of(arguments, &scenario).ok_or_else(|| refused(missing().into()))?;
    let queues = queues(arguments, &objective)?;
    let plan = Plan::new(objective, queues, &scenario).map_err(refused)?;
    notes.extend(scenario.flattened(&plan.slack));
    notes.extend(plan.notes(&scenario));
    let runs = plan.runs(arguments, &scenario)?;
    let figure = plan.figure(&runs).map_err(refused)?;
    let cost = if arguments.measures_cost() {
        plan.cost(&runs)?
    } else {
        None
    };
    let result = ObjectiveResult {
        notes,
        cost,
        ..plan.result(&scenario, figure, &runs)
    };
    let written = finish_all(files, &result);
    let text = match outputs.printed(&result)? {
        Some(text) => text,
        None => result.document().text(terminal::style()),
    };
    print(&text)?;
    written
}

/// The line of the objective in the file, for faults. 0, for no line, if an option overrides the
/// objective, because a fault may then be the option's.
fn line_of_objective(arguments: &Objective, scenario: &Scenario) -> usize {
    let is_overridden =
        arguments.objective.is_some() || arguments.source.is_some() || arguments.slack.is_some();
    match &scenario.objective {
        Some(objective) if !is_overridden => objective.line,
        _ => 0,
    }
}

/// The objective with defaults filled in, and the candidates in the table's order.
struct Plan {
    objective: scenario::Objective,
    slack: SlackText,
    candidates: Vec<Candidate>,
}

/// A candidate for the queues of all routers: a discipline, or the file's own queues.
struct Candidate {
    /// The text as it is written.
    text: String,
    /// None: the file's queues.
    queue: Option<QueueSpec>,
    /// The scenario, in which the candidate has set the queues.
    scenario: Scenario,
}

/// The part of a run's results that we need, because a large network's full results are large.
struct Run {
    figures: [Option<f64>; Figure::ALL.len()],
    /// The run's row in the report, without its value.
    row: ObjectiveRun,
    sources: Vec<SourceRun>,
    flows: u64,
    busiest: Option<Busiest>,
}

/// A router's busiest link.
struct Busiest {
    name: String,
    /// The mean number of waiting packets.
    backlog: f64,
}

impl Plan {
    /// # Errors
    /// There is no objective, the slack depends on the network and is missing, or a router's queue
    /// cannot use a discipline.
    fn new(
        objective: scenario::Objective,
        queues: Vec<DisciplineText>,
        scenario: &Scenario,
    ) -> Result<Self, Fault> {
        let slack = objective
            .slack()
            .map_err(|fault| fault.behind("[objective] "))?;
        let mut scenario = scenario.clone();
        if objective.measure == Measure::Deadline {
            let Some(late) = scenario::Objective::late(&slack, &scenario) else {
                return Err(
                    "deadline: which delay is late? Expected slack = \"deadline 10ms\", or [meter] \
                     late = \"10ms\""
                        .into(),
                );
            };
            scenario.measures.late = Some(late);
        }
        let mut may_be_told = false;
        for figure in objective.measure.figures() {
            let may_have = scenario.may_have(*figure, objective.source.as_deref());
            may_be_told |= may_have?;
        }
        if !may_be_told {
            return Err(cannot_be_told(&objective, &[]));
        }
        let own = scenario.router_queues();
        if own.is_empty() {
            return Err("the objective is for the queues of routers, and there are none".into());
        }
        let mut candidates = Vec::new();
        let mut has_own = false;
        for DisciplineText { text, spec } in queues {
            let under = scenario.under(&spec, &slack);
            let under =
                under.map_err(|error| Fault::from(error).behind(format_args!("{text}: ")))?;
            has_own |= under.orders_as(&scenario);
            candidates.push(Candidate {
                text,
                queue: Some(spec),
                scenario: under,
            });
        }
        if !has_own {
            candidates.push(Candidate {
                text: own_name(&own),
                queue: None,
                scenario,
            });
        }
        Ok(Self {
            objective,
            slack,
            candidates,
        })
    }

    /// Notes on header fields that the candidates miss. What also holds for the file's own queues
    /// is left out.
    fn notes(&self, scenario: &Scenario) -> Vec<String> {
        let known = scenario.notes_on_headers();
        let mut notes = Vec::new();
        for candidate in &self.candidates {
            for note in candidate.scenario.notes_on_headers() {
                if !known.contains(&note) {
                    notes.push(format!("Under {}: {note}", candidate.text));
                }
            }
        }
        notes
    }

    /// Runs all disciplines with all seeds in parallel. Returns them by discipline, in order of
    /// seeds.
    fn runs(&self, arguments: &Objective, scenario: &Scenario) -> Result<Vec<Vec<Run>>, Failure> {
        let seeds = arguments.runs.count(scenario.seed)?;
        let joint_progress = arguments.runs.joint_progress(
            scenario.duration,
            seeds * self.candidates.len() as u64,
            &Gauge::default(),
        );
        let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
        let mut jobs = Vec::new();
        for candidate in &self.candidates {
            for replica in 0..seeds {
                jobs.push((candidate, replica));
            }
        }
        let one = |(candidate, replica): (&Candidate, u64)| -> Result<Run, Failure> {
            let Candidate { text, queue, .. } = candidate;
            let mut reported = (0, 0);
            let progress = |progress| joint_progress.tell(progress, &mut reported);
            let results = candidate
                .scenario
                .run(scenario.seed + replica, progress)
                .map_err(|error| Failure::run(format!("{}: {text}: {error}", scenario.name)))?;
            let discipline = queue.as_ref().map(|queue| queue.discipline.to_string());
            let source = self.objective.source.as_deref();
            Ok(Run::of(&results, source, discipline.as_deref(), seconds))
        };
        let runs: Result<Vec<Run>, Failure> = in_pool(arguments.runs.threads, || {
            jobs.into_par_iter().map(one).collect()
        })?;
        let mut runs = runs?.into_iter();
        let mut by_candidate = Vec::new();
        for _ in &self.candidates {
            by_candidate.push(runs.by_ref().take(seeds as usize).collect());
        }
        Ok(by_candidate)
    }

    /// The measure's first figure that has a value in all runs.
    ///
    /// # Errors
    /// No figure has a value in all runs.
    fn figure(&self, runs: &[Vec<Run>]) -> Result<Figure, Fault> {
        let mut fewest: Option<Vec<String>> = None;
        for figure in self.objective.measure.figures() {
            // Candidates under which some run has no value for the figure.
            let mut lacking = Vec::new();
            for (candidate, runs) in self.candidates.iter().zip(runs) {
                if runs.iter().any(|run| run.value(*figure).is_none()) {
                    lacking.push(candidate.text.clone());
                }
            }
            if lacking.is_empty() {
                return Ok(*figure);
            }
            if fewest
                .as_ref()
                .is_none_or(|fewest| lacking.len() < fewest.len())
            {
                fewest = Some(lacking);
            }
        }
        let mut under = fewest.unwrap_or_default();
        if under.len() == runs.len() {
            under.clear();
        }
        Err(cannot_be_told(&self.objective, &under))
    }

    fn result(&self, scenario: &Scenario, figure: Figure, runs: &[Vec<Run>]) -> ObjectiveResult {
        let mut rows = Vec::new();
        for runs in runs {
            rows.push(runs.iter().map(|run| run.row(figure)).collect::<Vec<_>>());
        }
        let mut disciplines = Vec::new();
        for (number, candidate) in self.candidates.iter().enumerate() {
            let sources: Vec<_> = runs[number].iter().map(|run| &run.sources[..]).collect();
            disciplines.push(DisciplineResult::new(
                candidate.text.clone(),
                figure,
                rows[number].clone(),
                &rows[SPECIALIST],
                &sources,
            ));
        }
        let threshold = self.objective.threshold.0 as f64 / 1e9;
        let verdict = |number: usize| {
            let specialist = &disciplines[SPECIALIST];
            Verdict::new(&disciplines[number], figure, specialist, threshold)
        };
        ObjectiveResult {
            version: env!("CARGO_PKG_VERSION"),
            name: scenario.name.clone(),
            notes: Vec::new(),
            measure: self.objective.measure.name(),
            source: self.objective.source.clone(),
            figure,
            buffers: buffers(&self.candidates[LSTF].scenario),
            slack: self.slack.text.clone(),
            specialist: self.candidates[SPECIALIST].text.clone(),
            threshold,
            duration: scenario.duration.as_secs_f64(),
            warmup: scenario.warmup.as_secs_f64(),
            lstf: verdict(LSTF),
            fifo: verdict(FIFO),
            disciplines,
            cost: None,
        }
    }

    /// The CPU time that a packet costs at the mean backlog of the busiest router queue under LSTF.
    /// None if no packet crosses a router.
    fn cost(&self, runs: &[Vec<Run>]) -> Result<Option<Cost>, Failure> {
        let Some(run) = runs[LSTF].first() else {
            return Ok(None);
        };
        let Some(busiest) = &run.busiest else {
            return Ok(None);
        };
        let backlog = busiest.backlog.ceil().clamp(1.0, MOST_WAITING) as u32;
        let flows = run.flows.clamp(1, backlog.into()) as u32;
        let mut subjects = Vec::new();
        for candidate in &self.candidates {
            if let Some(queue) = &candidate.queue {
                subjects.push(HoldSubject::Discipline(queue.discipline.to_string()));
            }
        }
        let held = Held {
            packets: backlog,
            flows,
        };
        let timings = cost_of_hold(&subjects, held, COST_SECONDS).map_err(Failure::usage)?;
        let fifo = &timings[FIFO];
        let mut disciplines = Vec::new();
        for timing in &timings {
            let [_, median, _] = timing.spread();
            disciplines.push(DisciplineCost {
                nanos: median,
                over_fifo: timing.over(fifo),
                dropped: 1.0 - timing.passed.share(),
            });
        }
        Ok(Some(Cost {
            backlog,
            flows,
            link: busiest.name.clone(),
            disciplines,
        }))
    }
}

/// The message if there is no objective.
fn missing() -> String {
    let measures = Measure::ALL
        .map(|measure| format!("\"{}\"", measure.name()))
        .join(", ");
    format!(
        "no objective: add a table [objective] with a measure, or say --objective; measures: \
         {measures}"
    )
}

/// The fault if no run has, or can have, a figure of the measure, or if the runs under these
/// disciplines have none.
fn cannot_be_told(objective: &scenario::Objective, under: &[String]) -> Fault {
    let measure = objective.measure;
    let of = match &objective.source {
        Some(source) => format!(" of {source}"),
        None => String::new(),
    };
    let mut reasons = Vec::new();
    for figure in measure.figures() {
        reasons.push(match figure {
            Figure::Jain => {
                "flows come and go, or there are fewer than two: expected two flows or more that \
                 stay open"
            }
            Figure::DelayTail | Figure::InTime => "no packet arrives after the warm-up",
            Figure::Completion | Figure::CompletionByBytes => {
                "no flow with an end is complete: expected sources with a size, and a run that is \
                 long enough"
            }
        });
    }
    let why = reasons.join("; and ");
    let under = if under.is_empty() {
        String::new()
    } else {
        format!(" under {}", under.join(", "))
    };
    let measure = measure.name();
    Fault::new(format!(
        "[objective] {measure}{of} cannot be told{under}: {why}"
    ))
}

/// The file's objective, in which the command line overrides what it names. If it names another
/// measure, the file's slack and specialist do not apply.
fn objective_of(arguments: &Objective, scenario: &Scenario) -> Option<scenario::Objective> {
    let mut objective = match (arguments.objective, scenario.objective.clone()) {
        (
            Some(measure),
            Some(scenario::Objective {
                threshold,
                source,
                measure: other,
                ..
            }),
        ) if measure != other => scenario::Objective {
            threshold,
            source,
            ..scenario::Objective::new(measure)
        },
        (Some(measure), None) => scenario::Objective::new(measure),
        (_, written) => written?,
    };
    objective.source = arguments.source.clone().or(objective.source);
    objective.slack = arguments.slack.clone().or(objective.slack);
    objective.specialist = arguments.specialist.clone().or(objective.specialist);
    Some(objective)
}

/// The disciplines of every run, then those of `--with`.
///
/// # Errors
/// A discipline would run twice.
fn queues(
    arguments: &Objective,
    objective: &scenario::Objective,
) -> Result<Vec<DisciplineText>, Failure> {
    let fifo = "fifo".parse().map_err(Failure::usage)?;
    let lstf = "lstf".parse().map_err(Failure::usage)?;
    let mut queues: Vec<DisciplineText> = vec![fifo, objective.specialist(), lstf];
    queues.extend(arguments.with.iter().cloned());
    let mut specs = Vec::new();
    for (number, DisciplineText { text, spec }) in queues.iter().enumerate() {
        let spec = (spec.discipline.to_string(), spec.limit);
        if specs.contains(&spec) {
            let legal = if number <= LSTF {
                "another --specialist"
            } else {
                "others in --with"
            };
            let fault = Fault::wanted(legal).behind(format_args!(
                "'{text}' would run twice: fifo, the specialist and lstf always run; "
            ));
            return Err(Failure::usage(fault.with_given(text)));
        }
        specs.push(spec);
    }
    Ok(queues)
}

/// The row name for the file's own queues: the first one, and how many others there are.
fn own_name(queues: &[(String, Limit)]) -> String {
    let mut names: Vec<_> = queues.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    match names[..] {
        [] => "own".to_owned(),
        [only] => format!("own: {only}"),
        [first, ..] => format!("own: {first} and {} more", names.len() - 1),
    }
}

/// The routers' buffer limits, without duplicates.
fn buffers(scenario: &Scenario) -> Vec<String> {
    let mut limits = Vec::new();
    for (_, limit) in scenario.router_queues() {
        limits.push(limit.to_string());
    }
    limits.sort_unstable();
    limits.dedup();
    limits
}

impl Run {
    /// `source`: the source that counts; None: all. `discipline`: what router queues have; None:
    /// the file's queues.
    fn of(results: &Results, source: Option<&str>, discipline: Option<&str>, seconds: f64) -> Self {
        // If there are several groups, the last one has all sources. A single group is all.
        let (all, groups) = match &results.groups[..] {
            [only] => (only, &results.groups[..]),
            [groups @ .., all] => (all, groups),
            [] => unreachable!("a scenario has a source"),
        };
        let mut counted = all;
        if let Some(name) = source
            && let Some(group) = groups.iter().find(|group| group.name == name)
        {
            counted = group;
        }
        // The other sources would hide the packets that a starved source has in the network.
        let counted_sources = if source.is_some() {
            std::slice::from_ref(counted)
        } else {
            groups
        };
        let mut most_undelivered: f64 = 0.0;
        for group in counted_sources {
            most_undelivered = most_undelivered.max(undelivered(group));
        }
        let mut sources = Vec::new();
        for group in groups {
            sources.push(SourceRun {
                name: group.name.clone(),
                tail: group.delay.p99,
                loss: group.loss,
                undelivered: undelivered(group),
            });
        }
        Self {
            figures: Figure::ALL.map(|figure| figure.of(counted)),
            row: ObjectiveRun {
                seed: results.seed,
                value: f64::NAN,
                loss: counted.loss,
                undelivered: most_undelivered,
                complete: counted.completion.count,
                incomplete: counted.incomplete,
            },
            sources,
            flows: all.flows,
            busiest: discipline.and_then(|discipline| Busiest::of(results, discipline, seconds)),
        }
    }

    fn value(&self, figure: Figure) -> Option<f64> {
        let number = Figure::ALL.iter().position(|other| *other == figure)?;
        self.figures[number]
    }

    fn row(&self, figure: Figure) -> ObjectiveRun {
        ObjectiveRun {
            value: self.value(figure).unwrap_or(f64::NAN),
            ..self.row
        }
    }
}

/// The part of all sent packets that is still on its way.
fn undelivered(group: &GroupResult) -> f64 {
    group.packets.on_their_way as f64 / group.packets.sent.max(1) as f64
}

impl Busiest {
    /// The busiest link of a router with this discipline. Mean number of waiting packets = packet
    /// rate x mean wait, by Little's law (Operations Research 9, 1961).
    fn of(results: &Results, queue: &str, seconds: f64) -> Option<Self> {
        let links = results.links.iter().filter(|link| {
            link.queue == queue && link.class != LinkClass::Host.name() && link.wait.is_some()
        });
        let busiest = links.max_by(|one, other| one.utilisation.total_cmp(&other.utilisation))?;
        Some(Self {
            name: busiest.name(),
            backlog: backlog(busiest, seconds),
        })
    }
}

fn backlog(link: &LinkResult, seconds: f64) -> f64 {
    link.packets as f64 * link.wait.unwrap_or(0.0) / seconds
}

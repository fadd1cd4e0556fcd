//! `roundelay objective`: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3, for a network, a traffic and an objective of one's own.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay_bench::{Held, HoldSubject, cost_of_hold};
use roundelay_report::{Cost, DisciplineCost, DisciplineResult, ObjectiveResult, ObjectiveRun, PartialFile, Verdict, write_text};
use roundelay_sim::scenario::{DisciplineText, Figure, LinkResult, Measure, Objective as Wanted, Results, RunError, Scenario, SlackText};

use crate::arguments::Objective;
use crate::failure::Failure;
use crate::outputs::check_distinct;
use crate::scenario::Read;
use crate::{print, style};

/// Places of the disciplines that are always run; those of --with follow.
const FIFO: usize = 0;
const SPECIALIST: usize = 1;
const LSTF: usize = 2;
/// CPU seconds for all costs together.
const COST_SECONDS: f64 = 1.2;
/// Backlogs and flows beyond this are measured as this: nothing but memory would grow.
const MOST_WAITING: f64 = 65_536.0;

pub(crate) fn run(arguments: &Objective) -> Result<(), Failure> {
    check_outputs(arguments)?;
    let Read { name, mut scenario, mut notes, .. } = Read::scenario(&arguments.scenario)?;
    let name = if arguments.objective.is_some() { name } else { located(&name, &scenario) };
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    let plan = Plan::new(arguments, &name, &scenario)?;
    notes.extend(scenario.flattened(&plan.slack));
    let runs = plan.runs(arguments, &scenario)?;
    let figure = plan.figure(&name, &runs)?;
    let cost = arguments.measures_cost().then(|| plan.cost(&runs)).transpose()?.flatten();
    let result = ObjectiveResult { notes, cost, ..plan.result(&scenario, figure, &runs) };
    let written = arguments.html.as_ref().map_or(Ok(()), |path| write_text(path, &result.html()).map_err(Failure::run));
    print(&if arguments.json { result.json() } else { result.table(style::of_stdout()) })?;
    written
}

/// The file with the line of its table, where the file has one.
fn located(name: &str, scenario: &Scenario) -> String {
    match &scenario.objective {
        Some(objective) if objective.line > 0 => format!("{name}:{}", objective.line),
        _ => name.to_owned(),
    }
}

/// # Errors
/// The page would overwrite the scenario, or cannot be written.
fn check_outputs(arguments: &Objective) -> Result<(), Failure> {
    let scenario = Some(("the scenario", arguments.scenario.as_path())).filter(|(_, path)| path.as_os_str() != "-");
    check_distinct(scenario, arguments.html.as_deref().map(|html| ("--html", html)))?;
    // Begun and given up again: a path that cannot be written to is told before a long run.
    arguments.html.iter().try_for_each(|path| PartialFile::create(path).map(drop)).map_err(Failure::run)
}

/// The objective, with what was left out, and the disciplines in the order of the table.
struct Plan {
    wanted: Wanted,
    slack: SlackText,
    queues: Vec<DisciplineText>,
    /// The scenario under each.
    scenarios: Vec<Scenario>,
}

/// What counts of a run: results of large networks are large.
struct Run {
    figures: [Option<f64>; Figure::ALL.len()],
    seed: u64,
    loss: Option<f64>,
    complete: u64,
    incomplete: u64,
    flows: u64,
    busiest: Option<Busiest>,
}

/// The busiest link of a router.
struct Busiest {
    name: String,
    /// Mean of the packets that wait.
    backlog: f64,
}

impl Plan {
    /// # Errors
    /// There is no objective, its slack depends on the network and is not given, or a discipline cannot be in the queues.
    fn new(arguments: &Objective, name: &str, scenario: &Scenario) -> Result<Self, Failure> {
        let told = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
        let wanted = wanted(arguments, scenario).ok_or_else(|| told(&missing()))?;
        let slack = wanted.slack().map_err(|error| told(&format!("[objective] {error}")))?;
        let always = ["fifo".parse(), Ok(wanted.specialist()), "lstf".parse()];
        let always: Result<Vec<DisciplineText>, _> = always.into_iter().collect();
        let mut queues = always.map_err(|error| told(&error))?;
        queues.extend(arguments.with.iter().cloned());
        check_names(&queues)?;
        if !wanted.measure.figures().iter().any(|figure| scenario.may_have(*figure)) {
            return Err(cannot_be_told(name, wanted.measure));
        }
        if scenario.clone().set_queues(&queues[FIFO].spec).map_err(|error| told(&error))? == 0 {
            return Err(told(&"the objective is for the queues of routers, and there are none"));
        }
        let under = |queue: &DisciplineText| scenario.under(&queue.spec, &slack).map_err(|error| told(&format!("{}: {error}", queue.text)));
        let scenarios = queues.iter().map(under).collect::<Result<_, _>>()?;
        Ok(Self { wanted, slack, queues, scenarios })
    }

    /// All disciplines with all seeds, side by side: by discipline, in the order of the seeds.
    fn runs(&self, arguments: &Objective, scenario: &Scenario) -> Result<Vec<Vec<Run>>, Failure> {
        let seeds = arguments.runs.count(scenario.seed)?;
        let meeting = arguments.runs.meeting(scenario.duration, seeds * self.queues.len() as u64);
        let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
        let one = |(place, replica): (usize, u64)| -> Result<Run, Failure> {
            let mut told = (0, 0);
            let progress = |progress| meeting.iter().for_each(|meeting| meeting.tell(progress, &mut told));
            let results = self.scenarios[place].run(scenario.seed + replica, progress);
            let failed = |error: RunError| Failure::run(format!("{}: {}: {error}", scenario.name, self.queues[place].text));
            Ok(Run::of(&results.map_err(failed)?, &self.queues[place].spec.discipline.to_string(), seconds))
        };
        let all: Vec<_> = (0..self.queues.len()).flat_map(|place| (0..seeds).map(move |replica| (place, replica))).collect();
        let runs: Vec<Run> = arguments.runs.pool()?.install(|| all.into_par_iter().map(one).collect::<Result<_, _>>())?;
        let mut runs = runs.into_iter();
        Ok((0..self.queues.len()).map(|_| runs.by_ref().take(seeds as usize).collect()).collect())
    }

    /// The first figure of the measure that all runs have.
    ///
    /// # Errors
    /// There is none.
    fn figure(&self, name: &str, runs: &[Vec<Run>]) -> Result<Figure, Failure> {
        let figures = self.wanted.measure.figures();
        let has = |figure: &&Figure| runs.iter().flatten().all(|run| run.value(**figure).is_some());
        figures.iter().find(has).copied().ok_or_else(|| cannot_be_told(name, self.wanted.measure))
    }

    fn result(&self, scenario: &Scenario, figure: Figure, runs: &[Vec<Run>]) -> ObjectiveResult {
        let of = |place: usize| -> Vec<ObjectiveRun> { runs[place].iter().map(|run| run.told(figure)).collect() };
        let specialist = of(SPECIALIST);
        let name = |place: usize| self.queues[place].text.clone();
        let one = |place| DisciplineResult::new(name(place), figure, of(place), &specialist);
        let disciplines: Vec<_> = (0..self.queues.len()).map(one).collect();
        let threshold = self.wanted.threshold.0 as f64 / 1e9;
        let verdict = |place: usize| Verdict::new(&disciplines[place], figure, &disciplines[SPECIALIST], threshold);
        ObjectiveResult {
            version: env!("CARGO_PKG_VERSION"),
            name: scenario.name.clone(),
            notes: Vec::new(),
            measure: self.wanted.measure.name(),
            figure,
            slack: self.slack.text.clone(),
            specialist: name(SPECIALIST),
            threshold,
            duration: scenario.duration.as_secs_f64(),
            warmup: scenario.warmup.as_secs_f64(),
            lstf: verdict(LSTF),
            fifo: verdict(FIFO),
            disciplines,
            cost: None,
        }
    }

    /// Measured at the mean backlog of the busiest router queue under LSTF; none if no packet crosses any.
    fn cost(&self, runs: &[Vec<Run>]) -> Result<Option<Cost>, Failure> {
        let Some(run) = runs[LSTF].first() else { return Ok(None) };
        let Some(busiest) = &run.busiest else { return Ok(None) };
        let backlog = busiest.backlog.ceil().clamp(1.0, MOST_WAITING) as u32;
        let flows = run.flows.clamp(1, backlog.into()) as u32;
        let subjects: Vec<_> = self.queues.iter().map(|queue| HoldSubject::Discipline(queue.spec.discipline.to_string())).collect();
        let timings = cost_of_hold(&subjects, Held { packets: backlog, flows }, COST_SECONDS).map_err(Failure::usage)?;
        let fifo = &timings[FIFO];
        let costs = timings.iter().map(|timing| DisciplineCost {
            nanos: timing.spread()[1],
            over_fifo: timing.over(fifo),
            dropped: 1.0 - timing.passed.share(),
        });
        Ok(Some(Cost { backlog, flows, link: busiest.name.clone(), disciplines: costs.collect() }))
    }
}

/// There is no objective.
fn missing() -> String {
    let measures = Measure::ALL.map(|measure| format!("\"{}\"", measure.name())).join(", ");
    format!("no objective: add a table [objective] with a measure, or say --objective; measures: {measures}")
}

/// No run has, or can have, a figure of the measure.
fn cannot_be_told(name: &str, measure: Measure) -> Failure {
    let why = match measure.figures() {
        [Figure::Jain] => "flows come and go, or there are fewer than two: expected two flows or more that stay open",
        [Figure::DelayTail] => "no packet arrives after the warm-up",
        _ => "no flow with an end is complete: expected sources with a size, and a run that is long enough",
    };
    Failure::usage(format!("{name}: [objective] {} cannot be told: {why}", measure.name()))
}

/// The file's objective, with what the command line says in its place. Another measure has another slack and specialist than the file's.
fn wanted(arguments: &Objective, scenario: &Scenario) -> Option<Wanted> {
    let written = scenario.objective.clone();
    let mut wanted = match (arguments.objective, written) {
        (Some(measure), Some(written)) if measure != written.measure => Wanted { threshold: written.threshold, ..Wanted::new(measure) },
        (Some(measure), None) => Wanted::new(measure),
        (_, written) => written?,
    };
    wanted.slack = arguments.slack.clone().or(wanted.slack);
    wanted.specialist = arguments.specialist.clone().or(wanted.specialist);
    Some(wanted)
}

/// # Errors
/// A discipline would be run twice.
fn check_names(queues: &[DisciplineText]) -> Result<(), Failure> {
    let specs: Vec<_> = queues.iter().map(|queue| (queue.spec.discipline.to_string(), queue.spec.limit)).collect();
    match (0..specs.len()).find(|place| specs[..*place].contains(&specs[*place])) {
        Some(place) => {
            let twice = &queues[place].text;
            Err(Failure::usage(format!("'{twice}' would run twice: fifo, the specialist and lstf always run; expected others in --with")))
        }
        None => Ok(()),
    }
}

impl Run {
    fn of(results: &Results, queue: &str, seconds: f64) -> Self {
        let all = results.groups.last();
        Self {
            figures: Figure::ALL.map(|figure| figure.of(results)),
            seed: results.seed,
            loss: all.and_then(|all| all.loss),
            complete: all.map_or(0, |all| all.completion.count),
            incomplete: all.map_or(0, |all| all.incomplete),
            flows: all.map_or(0, |all| all.flows),
            busiest: Busiest::of(results, queue, seconds),
        }
    }

    fn value(&self, figure: Figure) -> Option<f64> {
        Figure::ALL.iter().position(|other| *other == figure).and_then(|place| self.figures[place])
    }

    fn told(&self, figure: Figure) -> ObjectiveRun {
        let Self { seed, loss, complete, incomplete, .. } = *self;
        ObjectiveRun { seed, value: self.value(figure).unwrap_or(f64::NAN), loss, complete, incomplete }
    }
}

impl Busiest {
    /// Of the links with this discipline, which are those of routers. Little's law (Operations Research 9, 1961): packets that wait are their rate
    /// times their mean wait.
    fn of(results: &Results, queue: &str, seconds: f64) -> Option<Self> {
        let links = results.links.iter().filter(|link| link.queue == queue && link.wait.is_some());
        let busiest = links.max_by(|one, other| one.utilisation.total_cmp(&other.utilisation))?;
        Some(Self { name: busiest.name(), backlog: backlog(busiest, seconds) })
    }
}

fn backlog(link: &LinkResult, seconds: f64) -> f64 {
    link.packets as f64 * link.wait.unwrap_or(0.0) / seconds
}

//! `roundelay objective`: section 3 of R. Mittal et al., "Universal Packet Scheduling", NSDI 2016,
//! for any network, traffic and objective.

pub(crate) mod arguments;
pub(crate) mod outputs;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay::{Limit, QueueSpec};
use roundelay_bench::{Held, HoldSubject, cost_of_hold};
use roundelay_report::{
    Cost, DisciplineCost, DisciplineResult, ObjectiveResult, ObjectiveRun, SourceRun, Verdict,
};
use roundelay_sim::LinkClass;
use roundelay_sim::scenario::{
    DisciplineText, Figure, GroupResult, LinkResult, Measure, Objective as Wanted, Results,
    RunError, Scenario, SlackText,
};

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::files_of;
use crate::progress::Gauge;
use crate::scenario::{Read, check_length};
use crate::terminal::{self, print};
use crate::threads::in_pool;
use arguments::Objective;

/// Indices of the disciplines in every run; those of `--with` and the file's own queues follow.
const FIFO: usize = 0;
const SPECIALIST: usize = 1;
const LSTF: usize = 2;
/// CPU seconds for all costs together.
const COST_SECONDS: f64 = 1.2;
/// Backlogs and flows above this are measured at this value: beyond, only memory would grow.
const MOST_WAITING: f64 = 65_536.0;

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
        1,
    )?;
    let files = outputs.begin(&scenario.measures, &())?;
    let is_in_file =
        arguments.objective.is_none() && arguments.source.is_none() && arguments.slack.is_none();
    let name = if is_in_file {
        located(&name, &scenario)
    } else {
        name
    };
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    check_length(&scenario, arguments.runs.long)
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let plan = Plan::new(arguments, &name, &scenario)?;
    notes.extend(scenario.flattened(&plan.slack));
    notes.extend(plan.notes(&scenario));
    let runs = plan.runs(arguments, &scenario)?;
    let figure = plan.figure(&name, &runs)?;
    let cost = arguments
        .measures_cost()
        .then(|| plan.cost(&runs))
        .transpose()?
        .flatten();
    let result = ObjectiveResult {
        notes,
        cost,
        ..plan.result(&scenario, figure, &runs)
    };
    let written = files.into_iter().try_for_each(|file| file.finish(&result));
    print(
        &outputs
            .printed(&result)?
            .unwrap_or_else(|| result.document().text(terminal::style())),
    )?;
    written
}

/// The file name, with the line of the table `[objective]` if there is one.
fn located(name: &str, scenario: &Scenario) -> String {
    match &scenario.objective {
        Some(objective) if objective.line > 0 => format!("{name}:{}", objective.line),
        _ => name.to_owned(),
    }
}

/// The objective with defaults filled in, and the candidates in table order.
struct Plan {
    wanted: Wanted,
    slack: SlackText,
    candidates: Vec<Candidate>,
}

/// A candidate for the queues of all routers: a discipline, or the file's own queues.
struct Candidate {
    /// Text as written.
    text: String,
    /// None: the queues of the file.
    queue: Option<QueueSpec>,
    /// The scenario with the candidate's queues.
    scenario: Scenario,
}

/// The needed part of a run's results: full results of large networks are large.
struct Run {
    figures: [Option<f64>; Figure::ALL.len()],
    told: ObjectiveRun,
    sources: Vec<SourceRun>,
    flows: u64,
    busiest: Option<Busiest>,
}

/// The busiest link of a router.
struct Busiest {
    name: String,
    /// Mean number of waiting packets.
    backlog: f64,
}

impl Plan {
    /// # Errors
    /// There is no objective, the slack depends on the network and is missing, or a router queue
    /// cannot use a discipline.
    fn new(arguments: &Objective, name: &str, scenario: &Scenario) -> Result<Self, Failure> {
        let told = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
        let wanted = wanted(arguments, scenario).ok_or_else(|| told(&missing()))?;
        let slack = wanted
            .slack()
            .map_err(|error| told(&format!("[objective] {error}")))?;
        let always = ["fifo".parse(), Ok(wanted.specialist()), "lstf".parse()];
        let always: Result<Vec<DisciplineText>, _> = always.into_iter().collect();
        let mut scenario = scenario.clone();
        if wanted.measure == Measure::Deadline {
            let late = Wanted::late(&slack, &scenario);
            let missing = "deadline: which delay is late? Expected slack = \"deadline 10ms\", or [meter] late = \"10ms\"";
            scenario.measures.late = Some(late.ok_or_else(|| told(&missing))?);
        }
        let mut queues = always.map_err(|error| told(&error))?;
        queues.extend(arguments.with.iter().cloned());
        check_names(&queues)?;
        let may_have = |figure: &Figure| scenario.may_have(*figure, wanted.source.as_deref());
        let may_have: Result<Vec<_>, _> = wanted.measure.figures().iter().map(may_have).collect();
        if !may_have.map_err(|error| told(&error))?.contains(&true) {
            return Err(cannot_be_told(name, &wanted, &[]));
        }
        let own = scenario.router_queues();
        if own.is_empty() {
            return Err(told(
                &"the objective is for the queues of routers, and there are none",
            ));
        }
        let under =
            |DisciplineText { text, spec }: DisciplineText| match scenario.under(&spec, &slack) {
                Ok(scenario) => Ok(Candidate {
                    text,
                    queue: Some(spec),
                    scenario,
                }),
                Err(error) => Err(told(&format!("{text}: {error}"))),
            };
        let mut candidates: Vec<_> = queues.into_iter().map(under).collect::<Result<_, _>>()?;
        if !candidates
            .iter()
            .any(|candidate| candidate.scenario.orders_as(&scenario))
        {
            candidates.push(Candidate {
                text: own_name(&own),
                queue: None,
                scenario,
            });
        }
        Ok(Self {
            wanted,
            slack,
            candidates,
        })
    }

    /// Notes on missing header fields of the candidates; notes that also hold for the file's own
    /// queues are left out.
    fn notes<'a>(&'a self, scenario: &Scenario) -> impl Iterator<Item = String> + 'a {
        let known = scenario.notes_on_headers();
        self.candidates.iter().flat_map(move |candidate| {
            let notes = candidate
                .scenario
                .notes_on_headers()
                .into_iter()
                .filter(|note| !known.contains(note));
            notes
                .map(|note| format!("Under {}: {note}", candidate.text))
                .collect::<Vec<_>>()
        })
    }

    /// Runs all disciplines with all seeds in parallel: by discipline, in order of seeds.
    fn runs(&self, arguments: &Objective, scenario: &Scenario) -> Result<Vec<Vec<Run>>, Failure> {
        let seeds = arguments.runs.count(scenario.seed)?;
        let meeting = arguments.runs.meeting(
            scenario.duration,
            seeds * self.candidates.len() as u64,
            &Gauge::default(),
        );
        let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
        let one = |(place, replica): (usize, u64)| -> Result<Run, Failure> {
            let mut told = (0, 0);
            let progress = |progress| meeting.tell(progress, &mut told);
            let Candidate {
                text,
                queue,
                scenario: candidate,
            } = &self.candidates[place];
            let results = candidate.run(scenario.seed + replica, progress);
            let failed =
                |error: RunError| Failure::run(format!("{}: {text}: {error}", scenario.name));
            let discipline = queue.as_ref().map(|queue| queue.discipline.to_string());
            Ok(Run::of(
                &results.map_err(failed)?,
                self.wanted.source.as_deref(),
                discipline.as_deref(),
                seconds,
            ))
        };
        let all: Vec<_> = (0..self.candidates.len())
            .flat_map(|place| (0..seeds).map(move |replica| (place, replica)))
            .collect();
        let runs: Vec<Run> = in_pool(arguments.runs.threads, || {
            all.into_par_iter().map(one).collect::<Result<_, _>>()
        })??;
        let mut runs = runs.into_iter();
        Ok((0..self.candidates.len())
            .map(|_| runs.by_ref().take(seeds as usize).collect())
            .collect())
    }

    /// The first figure of the measure with a value in all runs.
    ///
    /// # Errors
    /// No figure has a value in all runs.
    fn figure(&self, name: &str, runs: &[Vec<Run>]) -> Result<Figure, Failure> {
        let figures = self.wanted.measure.figures();
        let lacks = |figure: Figure| {
            (0..runs.len())
                .filter(move |place| runs[*place].iter().any(|run| run.value(figure).is_none()))
        };
        let Some(figure) = figures
            .iter()
            .copied()
            .find(|figure| lacks(*figure).next().is_none())
        else {
            let names = |figure| {
                lacks(figure)
                    .map(|place| self.candidates[place].text.clone())
                    .collect::<Vec<_>>()
            };
            let fewest = figures
                .iter()
                .map(|figure| names(*figure))
                .min_by_key(Vec::len)
                .unwrap_or_default();
            return Err(cannot_be_told(
                name,
                &self.wanted,
                if fewest.len() < runs.len() {
                    &fewest
                } else {
                    &[]
                },
            ));
        };
        Ok(figure)
    }

    fn result(&self, scenario: &Scenario, figure: Figure, runs: &[Vec<Run>]) -> ObjectiveResult {
        let of = |place: usize| -> Vec<ObjectiveRun> {
            runs[place].iter().map(|run| run.told(figure)).collect()
        };
        let specialist = of(SPECIALIST);
        let name = |place: usize| self.candidates[place].text.clone();
        let sources = |place: usize| {
            runs[place]
                .iter()
                .map(|run| &run.sources[..])
                .collect::<Vec<_>>()
        };
        let one = |place| {
            DisciplineResult::new(name(place), figure, of(place), &specialist, &sources(place))
        };
        let disciplines: Vec<_> = (0..self.candidates.len()).map(one).collect();
        let threshold = self.wanted.threshold.0 as f64 / 1e9;
        let verdict = |place: usize| {
            Verdict::new(
                &disciplines[place],
                figure,
                &disciplines[SPECIALIST],
                threshold,
            )
        };
        ObjectiveResult {
            version: env!("CARGO_PKG_VERSION"),
            name: scenario.name.clone(),
            notes: Vec::new(),
            measure: self.wanted.measure.name(),
            source: self.wanted.source.clone(),
            figure,
            buffers: buffers(&self.candidates[LSTF].scenario),
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

    /// CPU cost at the mean backlog of the busiest router queue under LSTF; None if no packet
    /// crosses a router.
    fn cost(&self, runs: &[Vec<Run>]) -> Result<Option<Cost>, Failure> {
        let Some(run) = runs[LSTF].first() else {
            return Ok(None);
        };
        let Some(busiest) = &run.busiest else {
            return Ok(None);
        };
        let backlog = busiest.backlog.ceil().clamp(1.0, MOST_WAITING) as u32;
        let flows = run.flows.clamp(1, backlog.into()) as u32;
        let queues = self
            .candidates
            .iter()
            .filter_map(|candidate| candidate.queue.as_ref());
        let subjects: Vec<_> = queues
            .map(|queue| HoldSubject::Discipline(queue.discipline.to_string()))
            .collect();
        let timings = cost_of_hold(
            &subjects,
            Held {
                packets: backlog,
                flows,
            },
            COST_SECONDS,
        )
        .map_err(Failure::usage)?;
        let fifo = &timings[FIFO];
        let costs = timings.iter().map(|timing| DisciplineCost {
            nanos: timing.spread()[1],
            over_fifo: timing.over(fifo),
            dropped: 1.0 - timing.passed.share(),
        });
        Ok(Some(Cost {
            backlog,
            flows,
            link: busiest.name.clone(),
            disciplines: costs.collect(),
        }))
    }
}

/// Error message: no objective.
fn missing() -> String {
    let measures = Measure::ALL
        .map(|measure| format!("\"{}\"", measure.name()))
        .join(", ");
    format!(
        "no objective: add a table [objective] with a measure, or say --objective; measures: {measures}"
    )
}

/// Error: no run has, or can have, a figure of the measure; or the runs under these disciplines
/// have none.
fn cannot_be_told(name: &str, wanted: &Wanted, under: &[String]) -> Failure {
    let measure = wanted.measure;
    let of = wanted
        .source
        .as_ref()
        .map(|source| format!(" of {source}"))
        .unwrap_or_default();
    let why = |figure: &Figure| match figure {
        Figure::Jain => {
            "flows come and go, or there are fewer than two: expected two flows or more that stay open"
        }
        Figure::DelayTail | Figure::InTime => "no packet arrives after the warm-up",
        Figure::Completion | Figure::CompletionByBytes => {
            "no flow with an end is complete: expected sources with a size, and a run that is long enough"
        }
    };
    let why = measure
        .figures()
        .iter()
        .map(why)
        .collect::<Vec<_>>()
        .join("; and ");
    let under = if under.is_empty() {
        String::new()
    } else {
        format!(" under {}", under.join(", "))
    };
    Failure::usage(format!(
        "{name}: [objective] {}{of} cannot be told{under}: {why}",
        measure.name()
    ))
}

/// The file's objective with the overrides of the command line. If the measure differs from the
/// file's, slack and specialist of the file do not apply.
fn wanted(arguments: &Objective, scenario: &Scenario) -> Option<Wanted> {
    let mut wanted = match (arguments.objective, scenario.objective.clone()) {
        (
            Some(measure),
            Some(Wanted {
                threshold,
                source,
                measure: other,
                ..
            }),
        ) if measure != other => Wanted {
            threshold,
            source,
            ..Wanted::new(measure)
        },
        (Some(measure), None) => Wanted::new(measure),
        (_, written) => written?,
    };
    wanted.source = arguments.source.clone().or(wanted.source);
    wanted.slack = arguments.slack.clone().or(wanted.slack);
    wanted.specialist = arguments.specialist.clone().or(wanted.specialist);
    Some(wanted)
}

/// # Errors
/// A discipline would run twice.
fn check_names(queues: &[DisciplineText]) -> Result<(), Failure> {
    let specs: Vec<_> = queues
        .iter()
        .map(|queue| (queue.spec.discipline.to_string(), queue.spec.limit))
        .collect();
    match (0..specs.len()).find(|place| specs[..*place].contains(&specs[*place])) {
        Some(place) => {
            let twice = &queues[place].text;
            let hint = if place <= LSTF {
                "expected another --specialist"
            } else {
                "expected others in --with"
            };
            Err(Failure::usage(format!(
                "'{twice}' would run twice: fifo, the specialist and lstf always run; {hint}"
            )))
        }
        None => Ok(()),
    }
}

/// Row name of the file's own queues: the first, and the number of others.
fn own_name(queues: &[(String, Limit)]) -> String {
    let mut names: Vec<_> = queues.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    match names[..] {
        [] => "own".to_owned(),
        [only] => format!("own: {only}"),
        [first, ..] => format!("own: {first} and {} more", names.len() - 1),
    }
}

/// Buffer limits of routers, without duplicates.
fn buffers(scenario: &Scenario) -> Vec<String> {
    let mut limits: Vec<_> = scenario
        .router_queues()
        .iter()
        .map(|(_, limit)| limit.to_string())
        .collect();
    limits.sort_unstable();
    limits.dedup();
    limits
}

impl Run {
    /// `source`: the counted source; None: all. `discipline`: of router queues; None: the queues of
    /// the file.
    fn of(results: &Results, source: Option<&str>, discipline: Option<&str>, seconds: f64) -> Self {
        // Of several groups the last one has all sources; a single group is all.
        let (all, groups) = match &results.groups[..] {
            [only] => (only, &results.groups[..]),
            [groups @ .., all] => (all, groups),
            [] => unreachable!("a scenario has a source"),
        };
        let counted = source
            .and_then(|name| groups.iter().find(|group| group.name == name))
            .unwrap_or(all);
        // Beside a starved source, the others hide the packets that it has in the network.
        let counted_sources = if source.is_some() {
            std::slice::from_ref(counted)
        } else {
            groups
        };
        let undelivered = |group: &GroupResult| {
            group.packets.on_their_way as f64 / group.packets.sent.max(1) as f64
        };
        let of_source = |group: &GroupResult| SourceRun {
            name: group.name.clone(),
            tail: group.delay.p99,
            loss: group.loss,
            undelivered: undelivered(group),
        };
        Self {
            figures: Figure::ALL.map(|figure| figure.of(counted)),
            told: ObjectiveRun {
                seed: results.seed,
                value: f64::NAN,
                loss: counted.loss,
                undelivered: counted_sources.iter().map(undelivered).fold(0.0, f64::max),
                complete: counted.completion.count,
                incomplete: counted.incomplete,
            },
            sources: groups.iter().map(of_source).collect(),
            flows: all.flows,
            busiest: discipline.and_then(|discipline| Busiest::of(results, discipline, seconds)),
        }
    }

    fn value(&self, figure: Figure) -> Option<f64> {
        Figure::ALL
            .iter()
            .position(|other| *other == figure)
            .and_then(|place| self.figures[place])
    }

    fn told(&self, figure: Figure) -> ObjectiveRun {
        ObjectiveRun {
            value: self.value(figure).unwrap_or(f64::NAN),
            ..self.told
        }
    }
}

impl Busiest {
    /// The busiest link of a router with this discipline. Little's law (Operations Research 9,
    /// 1961): mean number of waiting packets = packet rate x mean wait.
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

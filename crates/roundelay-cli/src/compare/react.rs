//! `roundelay compare --react`: simulates the applications behind the capture under each
//! discipline, with senders that react, and measures them like a replay.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay::{Duration, Fault, FlowId, Limit, QueueSpec, Rate};
use roundelay_report::Advised;
use roundelay_sim::LinkId;
use roundelay_sim::scenario::{AtLink, RunError, Scenario};
use roundelay_trace::connections::{Applications, Connection, End};
use roundelay_trace::reaction::{
    Basis, Cast, FAIREST, OpenEnd, Reaction, Reference, Witness, conclude,
};
use roundelay_trace::{Comparison, DisciplineResult, Options, PacketSink, TreeFile};

use super::arguments::Compare;
use crate::anonymise::CAPTURE;
use crate::applications::arguments::{Control, Controls, Up};
use crate::applications::doubts::{Shares, question, question_of_idle_link};
use crate::applications::read_capture;
use crate::applications::scenario;
use crate::applications::setting::Setting;
use crate::applications::sources::Member;
use crate::failure::Failure;
use crate::host::Host;
use crate::progress::JointProgress;
use crate::runs::Runs;
use crate::scenario::Read;
use crate::threads::in_pool;

/// The part of the bytes from which on a default is tried both ways: a smaller part decides little.
const NOTABLE: f64 = 0.1;

/// The applications behind the capture, or the question that it leaves open. `for_strangers`:
/// without the capture's name.
///
/// # Errors
/// The capture is unreadable, an option has no meaning here, or a stop was requested.
pub(super) fn applications(
    arguments: &Compare,
    options: &Options,
    for_strangers: bool,
    host: &Host,
) -> Result<Result<Applications, String>, Failure> {
    if !options.flow_by.is_five_tuple() {
        let given = options.flow_by;
        let fault = Fault::wanted("5tuple, inner or outer").behind(format_args!(
            "--flow-by {given}: with --react flows are those of connections; "
        ));
        return Err(Failure::usage(fault.with_given(given)));
    }
    let mut applications = read_capture(&arguments.capture, options, arguments.quiet, &host.stop)?;
    if for_strangers {
        applications.name = CAPTURE.to_owned();
    }
    Ok(
        match question(&applications, arguments.round_trip.is_some(), &arguments.up) {
            Some(question) => Err(question),
            None => match question_of_idle_link(&applications, options.rate) {
                Some(question) => Err(question),
                None => Ok(applications),
            },
        },
    )
}

/// The comparison with senders that react. `replay` is that of the packets as recorded, while
/// `sinks` take the packets of each discipline's first replica.
///
/// # Errors
/// A discipline cannot run, packets cannot be stored, or a stop was requested.
pub(super) fn compare(
    arguments: &Compare,
    options: &Options,
    applications: &Applications,
    replay: Comparison,
    sinks: Vec<Option<Box<dyn PacketSink>>>,
    host: &Host,
) -> Result<Comparison, Failure> {
    let assumed = Assumed::of(arguments);
    let case = Case {
        arguments,
        options,
        applications,
        replay: &replay,
        host,
    };
    let mut comparison = case.under(&assumed, sinks)?;
    let ends = if arguments.open {
        assumed.ends(applications)
    } else {
        assumed.defaults(applications)
    };
    let mut open = Vec::new();
    for (parameter, value, assumed) in ends {
        let mut none = Vec::new();
        none.resize_with(queues(options).len(), || None);
        let advised = Advised::new(case.under(&assumed, none)?, options, None);
        let Some(best) = advised.verdict.best else {
            continue;
        };
        let result = &advised.comparison.disciplines[best];
        open.push(OpenEnd {
            parameter,
            value: value.to_owned(),
            best,
            loss: result.total.loss,
            light_p99: result.light.delay.map(|delay| delay.p99),
        });
    }
    if let Some(reaction) = &mut comparison.reaction {
        reaction.open = open;
    }
    Ok(comparison)
}

/// Our assumptions where no capture shows what is true.
#[derive(Debug, Clone)]
struct Assumed {
    controls: Controls,
    /// Round trip for connections that show none. None: the median of the measured ones.
    round_trip: Option<Duration>,
    /// Measured round trips are multiplied by this.
    round_trip_part: f64,
    /// Which limit doubtful transfers had.
    doubtful: Doubtful,
    /// The link's other direction.
    up: Up,
}

impl Assumed {
    fn of(arguments: &Compare) -> Self {
        Self {
            controls: Controls::of(&arguments.control),
            round_trip: arguments.round_trip,
            round_trip_part: 1.0,
            doubtful: Doubtful::AsRead,
            up: arguments.up.clone(),
        }
    }

    /// What is tried in any case: the other congestion control, if the capture shows none for a
    /// notable part of the bytes, and nobody states one.
    fn defaults(&self, applications: &Applications) -> Vec<(&'static str, &'static str, Self)> {
        let other = self.with_other_control(applications, Control::Bbr, NOTABLE);
        let is_stated = self.controls.is_stated;
        other.into_iter().filter(|_| !is_stated).collect()
    }

    /// This congestion control in place of the one that is stated, or of the default for
    /// connections that show none, if these have more than this part of the bytes.
    fn with_other_control(
        &self,
        applications: &Applications,
        control: Control,
        least: f64,
    ) -> Option<(&'static str, &'static str, Self)> {
        let mut assumed = 0;
        for connection in &applications.connections {
            if self.controls.assumes(connection) {
                assumed += bytes_over_the_link(connection);
            }
        }
        let parameter = if self.controls.is_stated {
            "congestion control"
        } else if Shares::of(applications).part(assumed) > least {
            "unknown congestion control"
        } else {
            return None;
        };
        let other = Self {
            controls: self.controls.otherwise(control),
            ..self.clone()
        };
        Some((parameter, control.name(), other))
    }

    /// Both ends of each range, except what is assumed already: the parameter, the value, and all
    /// that is assumed there.
    fn ends(&self, applications: &Applications) -> Vec<(&'static str, &'static str, Self)> {
        let mut ends = Vec::new();
        for control in [Control::Cubic, Control::Bbr] {
            if control != self.controls.usual {
                ends.extend(self.with_other_control(applications, control, 0.0));
            }
        }
        let connections = &applications.connections;
        let has_paced = connections
            .iter()
            .any(|connection| !connection.writes_if_paced.is_empty());
        let has_written = connections
            .iter()
            .any(|connection| connection.writes_if_endless > 0);
        for (is_there, value, doubtful) in [
            (has_paced, "as written", Doubtful::Written),
            (has_written, "without end", Doubtful::Endless),
        ] {
            let assumed = Self {
                doubtful,
                ..self.clone()
            };
            if is_there {
                ends.push(("doubtful transfers", value, assumed));
            }
        }
        let halved = Self {
            round_trip_part: 0.5,
            ..self.clone()
        };
        ends.push(("round trips", "half", halved));
        let round_trips = applications.round_trips();
        if self.round_trip.is_none() && round_trips.iter().any(Option::is_none) {
            for (value, millis) in [("5ms", 5), ("200ms", 200)] {
                let assumed = Self {
                    round_trip: Some(Duration::from_millis(millis)),
                    ..self.clone()
                };
                ends.push(("unknown round trips", value, assumed));
            }
        }
        ends
    }
}

/// The limit of transfers of which the capture does not tell it for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubtful {
    /// As it was read.
    AsRead,
    /// The applications: they are lists of writes.
    Written,
    /// The network: they are without end.
    Endless,
}

/// What is put at the link.
enum Queue {
    Discipline(QueueSpec),
    Tree(Arc<TreeFile>, Limit),
}

/// What is compared, in the replay's order.
fn queues(options: &Options) -> Vec<Queue> {
    let mut queues = Vec::new();
    for spec in &options.specs {
        queues.push(Queue::Discipline(QueueSpec {
            discipline: options.discipline_of(spec),
            limit: Some(options.limit_of(spec)),
        }));
    }
    for tree in &options.trees {
        queues.push(Queue::Tree(
            Arc::new(tree.clone()),
            options.limit_of_tree(tree),
        ));
    }
    queues
}

/// What is compared, whatever is assumed.
struct Case<'a> {
    arguments: &'a Compare,
    options: &'a Options,
    applications: &'a Applications,
    replay: &'a Comparison,
    host: &'a Host,
}

impl Case<'_> {
    /// The comparison under these assumptions.
    fn under(
        &self,
        assumed: &Assumed,
        sinks: Vec<Option<Box<dyn PacketSink>>>,
    ) -> Result<Comparison, Failure> {
        let Self {
            arguments,
            options,
            applications,
            replay,
            host,
        } = *self;
        let other = match assumed.doubtful {
            Doubtful::AsRead => None,
            Doubtful::Written => Some(applications.clone().limited_by_applications()),
            Doubtful::Endless => Some(applications.clone().limited_by_the_network()),
        };
        let applications = other.as_ref().unwrap_or(applications);
        let stage = Stage::new(assumed, arguments.seed, options, applications, host)?;
        let runs = Runs {
            seed: Some(arguments.seed),
            replicas: arguments.replicas,
            long: true,
            threads: arguments.threads,
            quiet: arguments.quiet,
        };
        let replicas = runs.count(arguments.seed)? as usize;
        let queues = queues(options);
        let all = replicas as u64 * (queues.len() as u64 + 1);
        let joint_progress = runs.joint_progress(stage.scenario.duration, all, &host.gauge);

        let fairest = QueueSpec {
            discipline: FAIREST
                .parse::<QueueSpec>()
                .map_err(Failure::run)?
                .discipline,
            limit: options.buffer,
        };
        // What is fair is a share of what shapers let through.
        let rate = Rate::from_bits_per_second(replay.reference_rate).unwrap_or(options.rate);
        let shaped = Options {
            rate,
            ..options.clone()
        };
        let fair_stage = Stage::new(assumed, arguments.seed, &shaped, applications, host)?;
        let fair = fair_stage.under(&Queue::Discipline(fairest))?;
        let flows = stage.cast.flows().len();
        let runs_of_fairest: Result<Vec<Witness>, Failure> = in_pool(arguments.threads, || {
            let every = (0..replicas).into_par_iter();
            every
                .map(|replica| {
                    let witness = Witness::new(rate, flows);
                    fair_stage.run(&fair, replica, witness, &joint_progress)
                })
                .collect()
        })?;
        let reference = Reference::of(&stage.cast, replay, &runs_of_fairest?);

        let mut lanes = Vec::new();
        for (number, (queue, mut sink)) in queues.iter().zip(sinks).enumerate() {
            let scenario = stage.under(queue)?;
            for replica in 0..replicas {
                // Only the first replica's packets are stored.
                let witness = reference
                    .witness(options.rate, replica)
                    .with_sink(sink.take());
                lanes.push((number, replica, scenario.clone(), witness));
            }
        }
        let results: Result<Vec<(usize, DisciplineResult)>, Failure> =
            in_pool(arguments.threads, || {
                lanes
                    .into_par_iter()
                    .map(|(number, replica, scenario, witness)| {
                        let witness = stage.run(&scenario, replica, witness, &joint_progress)?;
                        let result = witness.result(&reference, &replay.disciplines[number]);
                        Ok((number, result.map_err(Failure::run)?))
                    })
                    .collect()
            })?;
        let mut of_disciplines = vec![Vec::new(); queues.len()];
        for (number, result) in results? {
            of_disciplines[number].push(result);
        }
        let reaction = Reaction {
            replicas,
            control: assumed.controls.name(&applications.connections),
            basis: basis(applications),
            replay: replay.clone(),
            open: Vec::new(),
        };
        Ok(conclude(&reference, of_disciplines, reaction))
    }
}

/// The scenario made from a capture's applications, and who takes part in it.
struct Stage<'a> {
    scenario: Scenario,
    link: LinkId,
    cast: Cast,
    /// Each entry's flow, for each source's list.
    numbers: Vec<Vec<FlowId>>,
    host: &'a Host,
}

impl<'a> Stage<'a> {
    fn new(
        assumed: &Assumed,
        seed: u64,
        options: &Options,
        applications: &Applications,
        host: &'a Host,
    ) -> Result<Self, Failure> {
        let setting = Setting {
            rate: Some(options.rate),
            round_trip: assumed.round_trip,
            round_trip_part: assumed.round_trip_part,
            controls: assumed.controls.clone(),
            link: options.link,
            up: assumed.up.clone(),
            seed,
            link_only: true,
            ..Setting::default()
        };
        let sources = scenario::of(applications, &setting);
        let name = format!("applications behind {}", applications.name);
        let scenario = Read::of_text(&name, &sources.text, Path::new(""), &[], &host.stop)
            .map_err(|error| Failure::run(format!("{name}: {error}")))?;
        let mut cast = Cast::new(options);
        let mut numbers = Vec::new();
        for members in sources.members {
            let mut list = Vec::new();
            for member in members {
                list.push(number(&mut cast, applications, member));
            }
            numbers.push(list);
        }
        Ok(Self {
            link: link(&scenario)?,
            scenario,
            cast,
            numbers,
            host,
        })
    }

    /// The scenario with this queue at the link.
    fn under(&self, queue: &Queue) -> Result<Scenario, Failure> {
        let mut scenario = self.scenario.clone();
        let set = match queue {
            Queue::Discipline(queue) => scenario.set_queues(queue),
            Queue::Tree(tree, limit) => scenario.set_trees(tree, Some(*limit)),
        };
        set.map_err(|error| self.failure(&error))?;
        Ok(scenario)
    }

    /// Simulates one replica. The witness measures what happens at the link, and the progress is
    /// added to that of the other replicas.
    fn run(
        &self,
        scenario: &Scenario,
        replica: usize,
        witness: Witness,
        joint_progress: &JointProgress,
    ) -> Result<Witness, Failure> {
        let mut probe = AtLink::new(self.link, &self.numbers, witness);
        let mut reported = (0, 0);
        let seed = scenario.seed + replica as u64;
        let ran = scenario.run_with(seed, &mut probe, |progress| {
            joint_progress.tell(progress, &mut reported);
        });
        if self.host.stop.is_requested() {
            return Err(Failure::stopped());
        }
        ran.map_err(|error| self.failure(&error))?;
        Ok(probe.witness)
    }

    fn failure(&self, error: &RunError) -> Failure {
        Failure::run(format!("{}: {error}", self.scenario.name))
    }
}

/// The scenario's link, from entry to exit.
fn link(scenario: &Scenario) -> Result<LinkId, Failure> {
    let network = &scenario.topology.network;
    for (number, link) in (0..).zip(network.links()) {
        if network.name(link.from) == "entry" && network.name(link.to) == "exit" {
            return Ok(LinkId(number));
        }
    }
    Err(Failure::run(format!(
        "{}: there is no link from entry to exit",
        scenario.name
    )))
}

/// An entry's flow over the link.
fn number(cast: &mut Cast, applications: &Applications, member: Member) -> FlowId {
    match member {
        Member::Connection(index) => cast.of_tcp(over_the_link(&applications.connections[index])),
        Member::Recorded(index) => {
            let flow = &applications.recorded[index];
            cast.number(flow.protocol, flow.ends)
        }
    }
}

/// The sender and the receiver of a connection's packets over the link.
fn over_the_link(connection: &Connection) -> [SocketAddr; 2] {
    let Connection { client, server, .. } = *connection;
    if connection.over[End::Client as usize] {
        [client, server]
    } else {
        [server, client]
    }
}

/// The bytes of a connection over the link.
fn bytes_over_the_link(connection: &Connection) -> u64 {
    let mut bytes = 0;
    for (over, sent) in connection.over.into_iter().zip(connection.bytes) {
        bytes += if over { sent } else { 0 };
    }
    bytes
}

/// What the answer rests on.
fn basis(applications: &Applications) -> Basis {
    let shares = Shares::of(applications);
    Basis {
        tcp: shares.part(shares.whole + shares.half),
        half: shares.part(shares.half),
        quic: shares.part(shares.quic),
        recorded: shares.part(shares.recorded),
        endless: shares.part(shares.endless),
        limited: shares.part(shares.limited),
        shown: shares.part(shares.shown),
    }
}

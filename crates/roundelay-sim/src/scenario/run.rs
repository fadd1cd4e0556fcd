//! Runs a scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use roundelay::Purpose;
use roundelay::Seed;
use roundelay::{Duration, Fault, Instant, Limit, QueueSpec, Rate};
use roundelay_trace::{TreeFile, own_rate, rate_of_tree};

use super::curves::{Curves, STEPS, Sampler};
use super::link_state::LinkState;
use super::meter::Meter;
use super::paces::Paces;
use super::yardsticks::Yardsticks;
use super::{Results, Scenario};
use crate::ids::LinkId;
use crate::network::{LinkConfig, LinkSettings, Network, Routing};
use crate::probe::Probe;
use crate::random::route_key;
use crate::simulation::{Simulation, SimulationError};
use crate::sources::SourceError;

/// What may go wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The network has an error.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A link's queue has an error, or refuses a flow.
    #[error("link {from} > {to}: {error}")]
    Queue {
        /// Node at the start of the link.
        from: String,
        /// Node at the end of the link.
        to: String,
        /// The error.
        error: Box<roundelay::ConfigError>,
    },
    /// A source has an error.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Edge-CoDel has an error.
    #[error(transparent)]
    Edge(#[from] roundelay::ConfigError),
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Simulation(error) => Self::new(error.to_string()),
            RunError::Queue { from, to, error } => {
                Self::from(*error).behind(format_args!("link {from} > {to}: "))
            }
            RunError::Source(error) => error.into(),
            RunError::Edge(error) => error.into(),
        }
    }
}

impl RunError {
    /// The error with nodes' names in place of their numbers.
    pub(crate) fn of(error: SimulationError, network: &Network) -> Self {
        match error {
            SimulationError::Queue { link, error } => {
                let ends = &network.links()[link.index()];
                Self::Queue {
                    from: network.name(ends.from),
                    to: network.name(ends.to),
                    error: Box::new(error),
                }
            }
            other => Self::Simulation(other),
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Duration,
    /// When the run will end.
    pub end: Duration,
    /// Events so far.
    pub events: u64,
}

/// What only some runs measure.
type Asked = (Option<Yardsticks>, Option<Paces>);

/// A simulation with the meter, with what only some runs measure, and with the caller's observer.
type Watched<P> = Simulation<(Meter, (Asked, P))>;

fn states<P: Probe>(simulation: &Simulation<P>) -> Vec<LinkState> {
    let mut states = Vec::with_capacity(simulation.network().links().len());
    for (link, counts) in (0..).map(LinkId).zip(simulation.links()) {
        states.push(LinkState::of(simulation, link, counts));
    }
    states
}

impl Scenario {
    /// Runs the scenario with `seed`. The same scenario with the same seed gives the same results.
    ///
    /// # Errors
    /// A queue refuses a flow, or there are too many agents or events.
    pub fn run(&self, seed: u64, mut progress: impl FnMut(Progress)) -> Result<Results, RunError> {
        self.run_alone(seed, &mut progress)
    }

    /// As [`Scenario::run`], but with an observer, and with curves over time.
    ///
    /// # Errors
    /// As [`Scenario::run`].
    pub fn run_with(
        &self,
        seed: u64,
        probe: &mut dyn Probe,
        mut progress: impl FnMut(Progress),
    ) -> Result<(Results, Curves), RunError> {
        self.run_observed(seed, probe, &mut progress)
    }

    /// As [`Scenario::run`], but with curves over time of the groups. Links have some only if the
    /// scenario asks for these, because there may be thousands.
    ///
    /// # Errors
    /// As [`Scenario::run`].
    pub fn run_with_groups(
        &self,
        seed: u64,
        mut progress: impl FnMut(Progress),
    ) -> Result<(Results, Curves), RunError> {
        self.run_sampled(seed, &mut progress)
    }

    // None of these three is generic, so the simulation is compiled here, once for each kind of
    // observer, and not in the caller's crate.
    fn run_alone(
        &self,
        seed: u64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Results, RunError> {
        if !self.measures.over_time {
            return self.go(seed, (), None, progress);
        }
        let (results, _) = self.run_sampled(seed, progress)?;
        Ok(results)
    }

    fn run_sampled(
        &self,
        seed: u64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Results, Curves), RunError> {
        let mut sampler = Sampler::new(self, self.measures.over_time);
        let mut results = self.go(seed, (), Some(&mut sampler), progress)?;
        if self.measures.over_time {
            results.over_time = Some(sampler.curves.clone());
        }
        Ok((results, sampler.curves))
    }

    fn run_observed(
        &self,
        seed: u64,
        probe: &mut dyn Probe,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Results, Curves), RunError> {
        let mut sampler = Sampler::new(self, true);
        let mut results = self.go(seed, probe, Some(&mut sampler), progress)?;
        if self.measures.over_time {
            results.over_time = Some(sampler.curves.clone());
        }
        Ok((results, sampler.curves))
    }

    fn go<P: Probe>(
        &self,
        seed: u64,
        probe: P,
        mut sampler: Option<&mut Sampler>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Results, RunError> {
        let network = &self.topology.network;
        let paces = sampler.as_ref().map(|sampler| sampler.paces(network));
        let mut simulation = self.watched(seed, paces, probe)?;
        let end = Instant::ZERO + self.duration;
        let warm = Instant::ZERO + self.warmup;
        let mut before: Option<Vec<LinkState>> = None;
        for step in 1..=STEPS {
            let until = Instant::from_picos(
                (u128::from(end.as_picos()) * u128::from(step) / u128::from(STEPS)) as u64,
            );
            if before.is_none() && until >= warm {
                self.go_on(&mut simulation, warm)?;
                simulation.forget();
                before = Some(states(&simulation));
            }
            self.go_on(&mut simulation, until)?;
            if let Some(sampler) = &mut sampler {
                sampler.look(&simulation);
                let (_, ((_, paces), _)) = simulation.probe_mut();
                if let Some(paces) = paces {
                    sampler.receive(paces);
                }
            }
            progress(Progress {
                now: until.since(Instant::ZERO),
                end: self.duration,
                events: simulation.events(),
            });
        }
        let after = states(&simulation);
        simulation.end().map_err(|error| self.named(error))?;
        let (meter, ((yardsticks, _), _)) = simulation.probe_mut();
        meter.end();
        let transfers = meter.transfers.take();
        if let Some(yardsticks) = yardsticks {
            yardsticks.end(end);
        }
        let rates = yardsticks.as_mut().and_then(Yardsticks::take_rates);
        let (meter, ((yardsticks, _), _)) = simulation.probe();
        if let Some(sampler) = sampler {
            sampler.finish(meter);
        }
        let links = [&before.unwrap_or_default()[..], &after];
        Ok(Results {
            transfers,
            rates,
            ..Results::new(
                self,
                [seed, simulation.events()],
                meter,
                yardsticks.as_ref(),
                links,
            )
        })
    }

    /// The network for the run with this seed, with its link delays drawn, and with its key for the
    /// hash that spreads routes.
    pub fn network(&self, seed: u64) -> Network {
        let mut network = self.topology.drawn(Seed::new(seed));
        let Routing { metric, spread } = network.routing();
        network.set_routing(Routing {
            metric,
            spread: spread.map(|_| route_key(self.hash_seed.unwrap_or(seed))),
        });
        network
    }

    /// The number of sources in all groups.
    pub fn sources(&self) -> u64 {
        self.groups.iter().map(|group| group.sources()).sum()
    }

    /// Sets the discipline in all router queues, whatever the file says. Hosts' interfaces stay as
    /// they are. If `queue` has no limit of its own, those in the file stay too, so that you compare
    /// disciplines alone; where the file has none, the discipline's default holds. A queue with a rate
    /// of its own only goes where it shapes: to the links with the smallest rate that is not below
    /// this one, if there are any. Returns how many queues there are.
    ///
    /// # Errors
    /// Decision costs are in a table that does not list this discipline, or the discipline cannot
    /// run with decision costs.
    pub fn set_queues(&mut self, queue: &QueueSpec) -> Result<usize, RunError> {
        self.change_queues(own_rate(queue), |link| {
            link.set_queue(QueueSpec {
                discipline: queue.discipline.clone(),
                limit: queue.limit.or(link.queue.limit),
            });
        })
    }

    /// Puts a tree into all router queues, or where it shapes, as a queue. If `limit` is None, they
    /// keep their limits. Returns how many queues there are.
    ///
    /// # Errors
    /// As [`Self::set_queues`].
    pub fn set_trees(
        &mut self,
        tree: &Arc<TreeFile>,
        limit: Option<Limit>,
    ) -> Result<usize, RunError> {
        let fastest = self.router_links().map(|(_, link)| link.rate).max();
        let rate = fastest.map(|fastest| rate_of_tree(tree, fastest));
        let shaped_to = rate.filter(|_| rate < fastest);
        self.change_queues(shaped_to, |link| {
            link.set_tree(tree.clone(), limit.or(link.queue.limit));
        })
    }

    fn change_queues(
        &mut self,
        shaped_to: Option<Rate>,
        change: impl Fn(&mut LinkSettings),
    ) -> Result<usize, RunError> {
        let mut slowest = None;
        for (_, link) in self.router_links() {
            let is_slower = slowest.is_none_or(|slowest| link.rate < slowest);
            if shaped_to.is_some_and(|rate| link.rate >= rate) && is_slower {
                slowest = Some(link.rate);
            }
        }
        let mut links = Vec::new();
        for (number, link) in self.router_links() {
            if slowest.is_none_or(|slowest| link.rate == slowest) {
                links.push(number);
            }
        }
        self.topology.network.change_links(&links, change);
        for link in &links {
            let checked = self.topology.network.links()[link.index()].decision_cost();
            checked.map_err(|error| self.named(SimulationError::Queue { link: *link, error }))?;
        }
        Ok(links.len())
    }

    /// Which disciplines and buffer sizes router queues have, without duplicates.
    pub fn router_queues(&self) -> Vec<(String, Limit)> {
        let mut queues = Vec::new();
        for (_, link) in self.router_links() {
            let queue = (link.ordering(), link.queue.limit_or_default());
            if !queues.contains(&queue) {
                queues.push(queue);
            }
        }
        queues
    }

    /// The links that leave a router, by number.
    fn router_links(&self) -> impl Iterator<Item = (LinkId, &LinkConfig)> {
        let hosts: BTreeSet<_> = self.topology.hosts.iter().copied().collect();
        let links = (0..).map(LinkId).zip(self.topology.network.links());
        links.filter(move |(_, link)| !hosts.contains(&link.from))
    }

    fn go_on<P: Probe>(&self, simulation: &mut Watched<P>, until: Instant) -> Result<(), RunError> {
        simulation.run(until).map_err(|error| self.named(error))
    }

    pub(crate) fn named(&self, error: SimulationError) -> RunError {
        RunError::of(error, &self.topology.network)
    }

    fn watched<P: Probe>(
        &self,
        seed: u64,
        paces: Option<Paces>,
        probe: P,
    ) -> Result<Watched<P>, RunError> {
        let network = self.network(seed);
        let meter = Meter::new(&network, self);
        let yardsticks = Yardsticks::new(&network, self);
        self.simulation(seed, (meter, ((yardsticks, paces), probe)))
    }

    /// The network with its sources and an observer.
    pub(crate) fn simulation<P: Probe>(
        &self,
        seed: u64,
        probe: P,
    ) -> Result<Simulation<P>, RunError> {
        let network = self.network(seed);
        let hash_seed = Seed::new(self.hash_seed.unwrap_or(seed));
        let seed = Seed::new(seed);
        let simulation = Simulation::with_hash_seed(network, seed, hash_seed, probe);
        let mut simulation = simulation.map_err(|error| self.named(error))?;
        for (number, group) in (0..).zip(&self.groups) {
            simulation.set_marks(number, group.marks());
            if let Some(control) = group.edge_codel {
                simulation.set_edge_control(number, control)?;
            }
            let pairs = group.source_pairs(seed.derive(Purpose::Ends, number.into()));
            let mut ends = Vec::new();
            for pair in &pairs {
                for _ in 0..group.count {
                    ends.push(*pair);
                }
            }
            let mut terms = (0..)
                .zip(ends)
                .map(|(source, (from, to))| group.terms(from, to, source));
            let agents = group.source.source().agents(
                &mut terms,
                pairs.len(),
                &group.site(&self.topology.network),
            )?;
            for (source, agent) in (0..).zip(agents) {
                simulation.spawn_in(number, agent, group.start_of(source));
            }
        }
        Ok(simulation)
    }
}

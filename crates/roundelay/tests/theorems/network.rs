//! A minimal network in exact integers: ports in a row; packets enter at one port and pass some of
//! the later ones. The run records when each packet was at each node, for comparison of schedules.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::schedulers::lstf::{self, Lstf};
use roundelay::schedulers::{Discipline, fifo, random};
use roundelay::{
    Backlog, DropReason, Duration, FlowId, Footprint, Instant, Limit, Observer, Packet, Partial,
    Port, PreemptivePort, Rate, Refused, Scheduler, Slack,
};
use roundelay::{Control, Seed};

/// A node of a packet's path, and the propagation time from the previous node, in picoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    pub(crate) node: usize,
    pub(crate) propagation: u64,
}

/// A packet's length, arrival and path.
#[derive(Debug, Clone)]
pub(crate) struct Journey {
    /// i(p), picoseconds.
    pub(crate) arrival: u64,
    pub(crate) len: u32,
    /// Nodes in rising order.
    pub(crate) path: Vec<Stop>,
}

impl Journey {
    /// Through these nodes, over links with no propagation time.
    pub(crate) fn new(arrival: u64, len: u32, nodes: &[usize]) -> Self {
        Self {
            arrival,
            len,
            path: nodes
                .iter()
                .map(|&node| Stop {
                    node,
                    propagation: 0,
                })
                .collect(),
        }
    }
}

/// A packet's stay at a node: arrival, first bit out and last bit out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) arrival: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// For each journey, its stays.
pub(crate) type Schedule = Vec<Vec<Stay>>;

/// Journey and stop.
pub(crate) type Ticket = (usize, usize);

/// The header fields of a packet on arrival at a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) slack: i64,
    pub(crate) deadline: u64,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            slack: 0,
            deadline: u64::MAX,
        }
    }
}

/// A port of either kind.
pub(crate) trait Link {
    fn next_event(&self) -> Option<Instant>;
    fn arrive(&mut self, now: Instant, packet: Packet<Ticket>, log: &mut Log);
    fn pick(&mut self, log: &mut Log);
}

impl<S: Scheduler<Ticket>> Link for Port<S> {
    fn next_event(&self) -> Option<Instant> {
        self.next_event()
    }

    fn arrive(&mut self, now: Instant, packet: Packet<Ticket>, log: &mut Log) {
        self.arrive(now, packet, log);
    }

    fn pick(&mut self, log: &mut Log) {
        self.pick(log);
    }
}

impl<S: Scheduler<Partial<Ticket>>> Link for PreemptivePort<S, Ticket> {
    fn next_event(&self) -> Option<Instant> {
        self.next_event()
    }

    fn arrive(&mut self, now: Instant, packet: Packet<Ticket>, log: &mut Log) {
        self.arrive(now, packet, log);
    }

    fn pick(&mut self, log: &mut Log) {
        self.pick(log);
    }
}

/// The packets sent by a port.
#[derive(Debug, Default)]
pub(crate) struct Log(Vec<(Ticket, Stay)>);

impl Observer<Ticket> for Log {
    fn sent(&mut self, packet: Packet<Ticket>, start: Instant, end: Instant) {
        let stay = Stay {
            arrival: packet.arrival.as_picos(),
            start: start.as_picos(),
            end: end.as_picos(),
        };
        self.0.push((packet.payload, stay));
    }

    fn dropped(&mut self, packet: Packet<Ticket>, _now: Instant, reason: DropReason) {
        panic!("{:?} was dropped: {reason:?}", packet.payload);
    }
}

/// A scheduler that may ignore the rate set by its port.
#[derive(Debug)]
pub(crate) struct Listener<S> {
    pub(crate) scheduler: S,
    pub(crate) listens: bool,
}

impl<T, S: Scheduler<T>> Scheduler<T> for Listener<S> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.scheduler.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.scheduler.dequeue(now)
    }

    fn evict(&mut self) -> Option<Packet<T>> {
        self.scheduler.evict()
    }

    fn backlog(&self) -> Backlog {
        self.scheduler.backlog()
    }

    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        self.scheduler.preempts(now, sending)
    }
}

impl<S: Control> Control for Listener<S> {
    fn set_link_rate(&mut self, rate: Rate) {
        if self.listens {
            self.scheduler.set_link_rate(rate);
        }
    }

    fn footprint(&self) -> Footprint {
        self.scheduler.footprint()
    }
}

/// Rates of the nodes, and the packets to send.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    /// Picoseconds for a byte at each node.
    pub(crate) picos_per_byte: Vec<u64>,
    pub(crate) journeys: Vec<Journey>,
}

impl Network {
    pub(crate) fn rate(&self, node: usize) -> Rate {
        let rate = Rate::from_bits_per_second(8_000_000_000_000 / self.picos_per_byte[node])
            .expect("not zero");
        assert_eq!(
            rate.time_of(1000).as_picos(),
            1000 * self.picos_per_byte[node],
            "times are exact"
        );
        rate
    }

    /// T(p, a) at a stop.
    pub(crate) fn transmission(&self, journey: usize, stop: usize) -> u64 {
        let Journey { len, path, .. } = &self.journeys[journey];
        u64::from(*len) * self.picos_per_byte[path[stop].node]
    }

    /// tmin(p, a, dest(p)), a being the node of a stop.
    pub(crate) fn least_time_from(&self, journey: usize, stop: usize) -> u64 {
        let path = &self.journeys[journey].path;
        (stop..path.len())
            .map(|at| {
                self.transmission(journey, at) + if at > stop { path[at].propagation } else { 0 }
            })
            .sum()
    }

    /// Time that a packet waited at the first stops of its journey.
    pub(crate) fn waited(&self, journey: usize, stays: &[Stay]) -> u64 {
        (0..)
            .zip(stays)
            .map(|(stop, stay)| stay.end - stay.arrival - self.transmission(journey, stop))
            .sum()
    }

    /// slack(p) = o(p) - i(p) - tmin(p, src(p), dest(p)).
    pub(crate) fn slack(&self, original: &Schedule, journey: usize) -> u64 {
        exit(original, journey) - self.journeys[journey].arrival - self.least_time_from(journey, 0)
    }

    /// Sends all packets through these ports. `header` returns a packet's header on arrival at a
    /// stop, given its stays before.
    pub(crate) fn run<L: Link>(
        &self,
        mut links: Vec<L>,
        header: impl Fn(Ticket, u64, &[Stay]) -> Header,
    ) -> Schedule {
        let mut schedule: Schedule = vec![Vec::new(); self.journeys.len()];
        let first = |(number, journey): (usize, &Journey)| {
            (
                journey.arrival + journey.path[0].propagation,
                journey.path[0].node,
                number,
            )
        };
        let mut arrivals: BTreeSet<_> = self.journeys.iter().enumerate().map(first).collect();
        let mut log = Log::default();
        loop {
            let picks = links
                .iter()
                .filter_map(|link| link.next_event().map(Instant::as_picos));
            let Some(now) = picks.chain(arrivals.first().map(|(at, ..)| *at)).min() else {
                return schedule;
            };
            for (node, link) in links.iter_mut().enumerate() {
                while let Some(&arrival) = arrivals
                    .range((now, node, 0)..=(now, node, usize::MAX))
                    .next()
                {
                    arrivals.remove(&arrival);
                    let number = arrival.2;
                    let ticket = (number, schedule[number].len());
                    let Header { slack, deadline } = header(ticket, now, &schedule[number]);
                    let (slack, deadline) =
                        (Slack::from_picos(slack), Instant::from_picos(deadline));
                    let packet = Packet {
                        slack,
                        deadline,
                        ..Packet::new(FlowId(number as u32), self.journeys[number].len, ticket)
                    };
                    link.arrive(Instant::from_picos(now), packet, &mut log);
                }
                while link.next_event() == Some(Instant::from_picos(now)) {
                    link.pick(&mut log);
                }
                for ((number, stop), stay) in log.0.drain(..) {
                    schedule[number].push(stay);
                    if let Some(next) = self.journeys[number].path.get(stop + 1) {
                        arrivals.insert((stay.end + next.propagation, next.node, number));
                    }
                }
            }
        }
    }

    /// Ports without a limit.
    pub(crate) fn ports<S: Scheduler<Ticket>>(&self, build: impl Fn(usize) -> S) -> Vec<Port<S>> {
        (0..self.picos_per_byte.len())
            .map(|node| Port::new(build(node), Limit::UNBOUNDED, self.rate(node)))
            .collect()
    }

    pub(crate) fn preemptive_ports<S: Scheduler<Partial<Ticket>>>(
        &self,
        build: impl Fn(usize) -> S,
    ) -> Vec<PreemptivePort<S, Ticket>> {
        (0..self.picos_per_byte.len())
            .map(|node| PreemptivePort::new(build(node), Limit::UNBOUNDED, self.rate(node)))
            .collect()
    }

    /// A schedule with packets in random order at each node.
    pub(crate) fn at_random(&self, seed: u64) -> Schedule {
        let ports = self.ports(|node| {
            random::Config
                .build(Seed::new(seed * 31 + node as u64))
                .expect("no parameters")
        });
        self.run(ports, |_, _, _| Header::default())
    }

    pub(crate) fn first_come_first_served(&self) -> Schedule {
        self.run(self.ports(|_| fifo::Fifo::default()), |_, _, _| {
            Header::default()
        })
    }

    /// LSTF that listens to its link's rate or ignores the rate.
    pub(crate) fn lstf<T: Send>(preempt: bool, listens: bool) -> Listener<Lstf<T>> {
        Listener {
            scheduler: lstf::Config { preempt }.build(Seed::new(0)).expect("legal"),
            listens,
        }
    }

    /// A packet's slack on arrival at a stop: the slack at the ingress, less the wait since.
    pub(crate) fn dynamic_slack(
        &self,
        original: &Schedule,
        journey: usize,
        stays: &[Stay],
    ) -> Header {
        Header {
            slack: self.slack(original, journey) as i64 - self.waited(journey, stays) as i64,
            ..Header::default()
        }
    }

    /// LSTF replays a schedule, preempting or not.
    pub(crate) fn replay(&self, original: &Schedule, preempt: bool, listens: bool) -> Schedule {
        let header =
            |(journey, _): Ticket, _, stays: &[Stay]| self.dynamic_slack(original, journey, stays);
        if preempt {
            return self.run(self.preemptive_ports(|_| Self::lstf(true, listens)), header);
        }
        self.run(self.ports(|_| Self::lstf(false, listens)), header)
    }

    /// A preemptive replay by priorities: smaller keys first, given for each stop.
    pub(crate) fn replay_by(&self, key: impl Fn(Ticket) -> u64) -> Schedule {
        // LSTF without a known rate ranks by arrival and slack.
        let header = |ticket, now: u64, _: &[Stay]| Header {
            slack: key(ticket) as i64 - now as i64,
            ..Header::default()
        };
        self.run(self.preemptive_ports(|_| Self::lstf(true, false)), header)
    }

    /// A row of nodes of differing rates and packets through `stops` of the nodes or fewer, with
    /// arrivals close together so that packets meet.
    pub(crate) fn random(seed: u64, nodes: usize, stops: usize) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let picos_per_byte = (0..nodes)
            .map(|_| [1000, 1000, 2000, 4000][random.random_range(0..4)])
            .collect();
        let packets = random.random_range(4..24);
        let span = random.random_range(1..=2 * packets) * 1_000_000;
        let journey = |_| {
            let mut path: Vec<_> = (0..nodes).collect();
            while path.len() > stops || (path.len() > 1 && random.random_bool(0.2)) {
                path.remove(random.random_range(0..path.len()));
            }
            let len = [40, 500, 1000, 1500][random.random_range(0..4)];
            let arrival = random.random_range(0..span) / 500_000 * 500_000;
            Journey::new(arrival, len, &path)
        };
        Self {
            picos_per_byte,
            journeys: (0..packets).map(journey).collect(),
        }
    }
}

/// o(p): when a packet leaves the network.
pub(crate) fn exit(schedule: &Schedule, journey: usize) -> u64 {
    schedule[journey].last().expect("it left").end
}

/// Packets that leave later than in the original.
pub(crate) fn overdue(original: &Schedule, replay: &Schedule) -> usize {
    (0..original.len())
        .filter(|journey| exit(replay, *journey) > exit(original, *journey))
        .count()
}

/// The longest total wait of a packet.
pub(crate) fn worst_wait(network: &Network, schedule: &Schedule) -> u64 {
    (0..schedule.len())
        .map(|journey| network.waited(journey, &schedule[journey]))
        .max()
        .unwrap_or(0)
}

/// Checks the module itself against a hand calculation for three packets and two nodes.
#[test]
fn a_network_worked_by_hand() {
    // A byte takes 1 ns at node 0 and 2 ns at node 1; packets 0 and 1 meet at node 0, packet 2 is
    // at node 1 when packet 0 comes.
    let journeys = vec![
        Journey::new(0, 100, &[0, 1]),
        Journey::new(0, 50, &[0]),
        Journey::new(90_000, 100, &[1]),
    ];
    let network = Network {
        picos_per_byte: vec![1000, 2000],
        journeys,
    };
    let stay = |arrival: u64, start: u64, end: u64| Stay {
        arrival: arrival * 1000,
        start: start * 1000,
        end: end * 1000,
    };
    let schedule = network.first_come_first_served();
    let expected = [
        vec![stay(0, 0, 100), stay(100, 290, 490)],
        vec![stay(0, 100, 150)],
        vec![stay(90, 90, 290)],
    ];
    assert_eq!(schedule, expected);
    assert_eq!(
        (network.least_time_from(0, 0), network.slack(&schedule, 0)),
        (300_000, 190_000)
    );
    assert_eq!(
        (
            network.waited(0, &schedule[0]),
            worst_wait(&network, &schedule)
        ),
        (190_000, 190_000)
    );
    assert_eq!(
        overdue(&schedule, &network.replay(&schedule, true, true)),
        0
    );
    assert_eq!(
        Duration::from_picos(exit(&schedule, 0)),
        Duration::from_nanos(490)
    );
}

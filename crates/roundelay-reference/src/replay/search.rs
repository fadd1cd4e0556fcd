//! Exhaustive search of small networks for the smallest counterexample: by packets, then nodes,
//! then time, then propagation delays, then hops.
//!
//! All packets take one unit of time at each node, and all times are whole units. Preemption makes
//! no difference then: a packet on a link has left before another can arrive. The search examines
//! *loads*: input time, exit time o(p) and path of each packet, exactly the content of a black-box
//! header. Loads that differ only in names of nodes are examined once, as far as the order of paths
//! distinguishes nodes. Packets without a shared node are left out, since a smaller load has the
//! same failure. A load counts if it is viable. Congestion points of a replay are counted with
//! first come, first served for ties.

mod load;
mod pairs;
mod slots;

use super::{Invalid, Network, Reading, Replayer, Rule, Schedule, priorities};
use load::{Cell, Load};

/// Maximum number of packets for a search over all priorities.
const MOST_RANKED: usize = 4;
/// Larger than any arrival and any rank.
const TIE: i32 = 256;

/// Question of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// A viable schedule not replayed by least slack time first under any tie-breaking.
    Lstf,
    /// A viable schedule not replayed by least slack time first, with ties by arrival, then by
    /// position in the load.
    LstfFirstCome,
    /// A viable schedule not replayed by priorities o(p) under any tie-breaking.
    ByExit,
    /// A viable schedule not replayed by any priorities that are the same at each node.
    AnyPriorities,
    /// Two viable schedules. In both, the same two packets (same input time, exit time and path)
    /// are alone at their first node; one schedule requires the first packet to go first, the other
    /// the second.
    NoScheduler,
}

impl Question {
    /// All questions, by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("lstf", Self::Lstf),
        ("lstf, first come first served", Self::LstfFirstCome),
        ("priority o(p)", Self::ByExit),
        ("any priorities", Self::AnyPriorities),
        ("no scheduler", Self::NoScheduler),
    ];

    /// Finds a question by name.
    pub fn named(name: &str) -> Option<Self> {
        for (known, question) in Self::ALL {
            if known == name {
                return Some(question);
            }
        }
        None
    }
}

/// Limits of the search among loads with this number of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Number of packets, 1 to 6; 1 to 4 for [`Question::AnyPriorities`].
    pub packets: usize,
    /// Maximum number of nodes, 1 to 6.
    pub nodes: usize,
    /// Latest exit time, 1 to 15.
    pub exit: u64,
    /// Maximum propagation delay of a link, 0 to 4.
    pub delay: u64,
}

/// A search.
#[derive(Debug, Clone)]
pub struct Search {
    /// The question.
    pub question: Question,
    /// Maximum number of congestion points of a packet.
    pub at_most: usize,
    /// Definition of a congestion point.
    pub reading: Reading,
    /// True if nodes may idle in the original while packets wait.
    pub may_idle: bool,
    /// Limits, in order of search.
    pub bounds: Vec<Bounds>,
}

/// Coverage of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// Number of packets.
    pub packets: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Latest exit time.
    pub exit: u64,
    /// Number of loads.
    pub loads: u64,
    /// Number of loads, viable or not, that fail or require an order.
    pub failing: u64,
}

/// The smallest counterexample: one case, or two for [`Question::NoScheduler`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Networks with their original schedules.
    pub cases: Vec<(Network, Schedule)>,
    /// Size of the counterexample.
    pub size: Covered,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The smallest counterexample within the limits, if there is one.
    pub found: Option<Found>,
    /// Sizes examined, in order. The last one ends at the counterexample.
    pub covered: Vec<Covered>,
}

impl Search {
    /// Runs the search.
    ///
    /// # Errors
    /// Limits out of range, or a reading that does not fit the question.
    pub fn run(&self) -> Result<Outcome, Invalid> {
        self.check()?;
        // By number of packets.
        let mut all_ranks = vec![Vec::new(); load::MOST + 1];
        for (packets, of_count) in all_ranks.iter_mut().enumerate() {
            if self.asks_for(packets) {
                *of_count = ranks(packets);
            }
        }
        let mut covered = Vec::new();
        let mut pairs = pairs::Pairs::default();
        for bounds in &self.bounds {
            for nodes in 1..=bounds.nodes {
                for exit in 1..=bounds.exit {
                    let cell = Cell {
                        packets: bounds.packets,
                        nodes,
                        exit: exit as u8,
                        delay: bounds.delay as u8,
                    };
                    let mut size = Covered {
                        packets: bounds.packets,
                        nodes,
                        exit,
                        loads: 0,
                        failing: 0,
                    };
                    let found = match self.question {
                        Question::NoScheduler => self.pair(cell, &mut size, &mut pairs),
                        _ => self.single(cell, &all_ranks[cell.packets], &mut size),
                    };
                    covered.push(size);
                    if let Some(cases) = found {
                        return Ok(Outcome {
                            found: Some(Found { cases, size }),
                            covered,
                        });
                    }
                }
            }
        }
        covered.retain(|size| size.loads > 0);
        Ok(Outcome {
            found: None,
            covered,
        })
    }

    fn check(&self) -> Result<(), Invalid> {
        for Bounds {
            packets,
            nodes,
            exit,
            delay,
        } in &self.bounds
        {
            let most_packets = if self.question == Question::AnyPriorities {
                MOST_RANKED
            } else {
                load::MOST
            };
            for (what, value, least, most) in [
                ("packets", *packets as u64, 1, most_packets as u64),
                ("nodes", *nodes as u64, 1, load::MOST as u64),
                ("exit", *exit, 1, 15),
                ("delay", *delay, 0, 4),
            ] {
                if !(least..=most).contains(&value) {
                    return Err(Invalid(format!(
                        "{what} = {value}: legal range {least} to {most}"
                    )));
                }
            }
        }
        let needs_replay = matches!(self.reading, Reading::OwnInEither | Reading::AnyInEither);
        if needs_replay
            && matches!(
                self.question,
                Question::AnyPriorities | Question::NoScheduler
            )
        {
            return Err(Invalid(
                "congestion points in either run: there is no one replay here, count another way"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// True if all priorities of `packets` packets are needed.
    fn asks_for(&self, packets: usize) -> bool {
        self.question == Question::AnyPriorities
            && self.bounds.iter().any(|bounds| bounds.packets == packets)
    }

    fn single(
        &self,
        cell: Cell,
        ranks: &[Vec<(i32, i32)>],
        size: &mut Covered,
    ) -> Option<Vec<(Network, Schedule)>> {
        let mut best: Option<((u32, usize), (Network, Schedule))> = None;
        load::each(cell, |load| {
            size.loads += 1;
            if self.may_be_within(load) && self.fails(load, ranks) {
                size.failing += 1;
                let rank = (load.delay(), load.hops());
                let is_smaller = match &best {
                    Some((least, _)) => rank < *least,
                    None => true,
                };
                // A load counts if it is viable.
                if is_smaller && let Some(original) = self.original(load) {
                    best = Some((rank, (load.network(), original)));
                }
            }
        });
        best.map(|(_, case)| vec![case])
    }

    fn pair(
        &self,
        cell: Cell,
        size: &mut Covered,
        pairs: &mut pairs::Pairs,
    ) -> Option<Vec<(Network, Schedule)>> {
        load::each(cell, |load| {
            size.loads += 1;
            if self.may_be_within(load) && self.original(load).is_some() {
                size.failing += u64::from(pairs.add(load));
            }
        });
        let mut cases = Vec::new();
        for load in pairs.found()? {
            cases.push((load.network(), self.original(load)?));
        }
        Some(cases)
    }

    /// A bound on congestion points without a run.
    fn may_be_within(&self, load: &Load) -> bool {
        self.reading != Reading::CanWait || load.most_shared() <= self.at_most
    }

    fn fails(&self, load: &Load, ranks: &[Vec<(i32, i32)>]) -> bool {
        match self.question {
            Question::Lstf => fails_by(load, |packet, hop| load.deadline(packet, hop)),
            Question::LstfFirstCome => {
                !slots::is_on_time(load, first_come(|packet, hop| load.deadline(packet, hop)))
            }
            Question::ByExit => fails_by(load, |packet, _| load.exit(packet)),
            Question::AnyPriorities => ranks.iter().all(|rank| {
                !slots::is_on_time(load, |packet, _, arrival| {
                    rank[packet].0 * TIE * TIE + i32::from(arrival) * TIE + rank[packet].1
                })
            }),
            Question::NoScheduler => false,
        }
    }

    /// A viable schedule within the limit on congestion points; preferably one without a node that
    /// idles while packets wait.
    fn original(&self, load: &Load) -> Option<Schedule> {
        let network = load.network();
        let mut idling = None;
        let mut busy = None;
        slots::originals(load, |starts| {
            let original = Schedule::from_starts(&network, starts);
            if self.is_within(&network, &original) {
                if !original.idles(&network) {
                    busy = Some(original);
                } else if self.may_idle {
                    idling.get_or_insert(original);
                }
            }
            busy.is_some()
        });
        busy.or(idling)
    }

    fn is_within(&self, network: &Network, original: &Schedule) -> bool {
        let replay = match (self.reading, self.question) {
            (
                Reading::OwnInEither | Reading::AnyInEither,
                Question::Lstf | Question::LstfFirstCome,
            ) => Replayer::new(network, original, Rule::Lstf).run(),
            (Reading::OwnInEither | Reading::AnyInEither, _) => {
                Replayer::new(network, original, Rule::ByExit).run()
            }
            _ => original.clone(),
        };
        self.reading.most(network, original, &replay) <= self.at_most
    }
}

/// Key with first come, first served for ties.
fn first_come(key: impl Fn(usize, usize) -> i32) -> impl Fn(usize, usize, u8) -> i32 {
    move |packet, hop, arrival| key(packet, hop) * TIE + i32::from(arrival)
}

/// True if every tie-breaking fails; first come, first served is tried first.
fn fails_by(load: &Load, key: impl Fn(usize, usize) -> i32) -> bool {
    !slots::is_on_time(load, first_come(&key))
        && !slots::is_on_time_with_some_ties(load, |packet, hop, _| key(packet, hop))
}

/// All rankings of packets: priorities, possibly equal, and a strict order for packets of equal
/// priority that arrive at the same instant.
fn ranks(packets: usize) -> Vec<Vec<(i32, i32)>> {
    let all = priorities(packets);
    let mut ranks = Vec::new();
    for priorities in &all {
        for ties in &all {
            // A strict order has as many different numbers as packets.
            let most = ties.iter().max().copied().unwrap_or(-1);
            if most + 1 != packets as i64 {
                continue;
            }
            let mut rank = Vec::new();
            for (priority, tie) in priorities.iter().zip(ties) {
                rank.push((*priority as i32, *tie as i32));
            }
            ranks.push(rank);
        }
    }
    ranks
}

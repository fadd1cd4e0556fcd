//! Exhaustive search of small networks for the smallest counterexample: the one with the fewest
//! packets, then nodes, then the least time, then propagation delay, then hops. For
//! [`Question::NoScheduler`], hops alone decide after time.
//!
//! All packets take one unit of time at each node, and all times are whole units. So preemption
//! makes no difference, because a packet on a link has left before another can arrive. The search
//! examines *loads*: each packet's input time, exit time o(p) and path, which is exactly what a
//! black-box header contains. Loads that differ only in nodes' names are examined once, as far as
//! the order of paths distinguishes nodes. Loads in which a packet shares no node are left out,
//! because a smaller load has the same failure. A load counts if it is viable. In a replay,
//! congestion points are counted with ties broken first come, first served.

mod load;
mod pairs;
mod slots;

use super::{Invalid, Network, Reading, Replayer, Rule, Schedule, priorities};
use load::{Cell, Load};

/// The most packets for which we search all priorities.
const MOST_RANKED: usize = 4;
/// Larger than any arrival and any rank, so that ties never outweigh keys.
const TIE: i32 = 256;

/// What a search looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// A viable schedule that least slack time first does not replay, however ties are broken.
    Lstf,
    /// A viable schedule that least slack time first does not replay if ties go by arrival, then by
    /// position in the load.
    LstfFirstCome,
    /// A viable schedule that priorities o(p) do not replay, however ties are broken.
    ByExit,
    /// A viable schedule that no priorities replay if they are the same at each node.
    AnyPriorities,
    /// Two viable schedules. In both, the same two packets (same input time, exit time and path)
    /// are alone at their first node, but one schedule requires that the first packet goes first,
    /// and the other that the second does.
    NoScheduler,
}

impl Question {
    /// All questions, with their names.
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

/// Limits for a search among loads with this many packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Number of packets, 1 to 6, but 1 to 4 for [`Question::AnyPriorities`].
    pub packets: usize,
    /// The most nodes, 1 to 6.
    pub nodes: usize,
    /// The latest exit time, 1 to 15.
    pub exit: u64,
    /// The longest propagation delay on a link, 0 to 4.
    pub delay: u64,
}

/// A search for a counterexample.
#[derive(Debug, Clone)]
pub struct Search {
    /// What it looks for.
    pub question: Question,
    /// The most congestion points that a packet may have.
    pub at_most: usize,
    /// What counts as a congestion point.
    pub reading: Reading,
    /// True if nodes may idle in the original while packets wait.
    pub may_idle: bool,
    /// Limits, in the order of search.
    pub bounds: Vec<Bounds>,
}

/// What the search examined at one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// Number of packets.
    pub packets: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// The latest exit time.
    pub exit: u64,
    /// Number of loads examined.
    pub loads: u64,
    /// How many loads fail, viable or not. For [`Question::NoScheduler`], how many viable loads
    /// require an order.
    pub failing: u64,
}

/// The smallest counterexample: one case, or two for [`Question::NoScheduler`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Networks, with their original schedules.
    pub cases: Vec<(Network, Schedule)>,
    /// The size at which it was found.
    pub size: Covered,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The smallest counterexample within the limits, if any.
    pub found: Option<Found>,
    /// The sizes examined, in order. With a counterexample, the last size is its own. Without one,
    /// sizes that have no load are left out.
    pub covered: Vec<Covered>,
}

impl Search {
    /// Runs the search.
    ///
    /// # Errors
    /// A limit out of range, or a reading that does not fit the question.
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

    /// True if we need all priorities for this many packets.
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
                // Only a viable load counts.
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

    /// A quick bound on congestion points, which needs no run.
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

    /// A viable schedule that keeps the limit on congestion points. One in which no node idles
    /// while packets wait comes first, and the others come only if the search allows idling.
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

/// A key that breaks ties first come, first served.
fn first_come(key: impl Fn(usize, usize) -> i32) -> impl Fn(usize, usize, u8) -> i32 {
    move |packet, hop, arrival| key(packet, hop) * TIE + i32::from(arrival)
}

/// True if the replay fails however ties are broken. First come, first served is tried first,
/// because it takes a single run.
fn fails_by(load: &Load, key: impl Fn(usize, usize) -> i32) -> bool {
    !slots::is_on_time(load, first_come(&key))
        && !slots::is_on_time_with_some_ties(load, |packet, hop, _| key(packet, hop))
}

/// All ways to rank packets: priorities, which may be equal, and a strict order in case packets
/// with equal priorities arrive at the same instant.
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

//! Exhaustive search of small networks for the smallest counterexample: by packets, then nodes, then time, then propagation delays, then hops.
//!
//! All packets take one unit at each node, and all times are whole units. Preemption makes no difference there: a packet on a link has left before
//! another can come. What is examined is a *load*: input time, exit time o(p) and path of each packet, the very things that a black-box header may know.
//! Cases that differ in names of nodes alone are examined once, as far as the order of paths tells nodes apart. Packets that share no node with others are
//! left out, since a smaller load has the same failure. A load counts if it is viable. Congestion points of a replay are those of one in which ties go to who came first.

mod load;
mod pairs;
mod slots;

use super::{Invalid, Network, Reading, Replayer, Rule, Schedule, priorities};
use load::{Cell, Load};

/// Most packets of which all priorities are tried.
const MOST_RANKED: usize = 4;
/// More than any arrival and any rank.
const TIE: i32 = 256;

/// What is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// A viable schedule that least slack time first does not replay, however ties are broken.
    Lstf,
    /// One that it does not replay with ties for who came first, and at one instant for who stands first.
    LstfFirstCome,
    /// One that priorities by o(p) do not replay, however ties are broken.
    ByExit,
    /// One that no priorities replay, if they are the same at each node.
    AnyPriorities,
    /// Two viable schedules in which the same two packets, of like input time, exit time and path, are alone at their first node, and of which one demands
    /// that the first packet goes first, the other that the second does.
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

    /// The question of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, question)| question)
    }
}

/// How far to search among loads of so many packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Packets, 1 to 6; 1 to 4 for [`Question::AnyPriorities`].
    pub packets: usize,
    /// The most nodes, 1 to 6.
    pub nodes: usize,
    /// The latest exit, 1 to 15.
    pub exit: u64,
    /// The longest propagation delay of a link, 0 to 4.
    pub delay: u64,
}

/// A search.
#[derive(Debug, Clone)]
pub struct Search {
    /// For what.
    pub question: Question,
    /// The most congestion points that a packet may have.
    pub at_most: usize,
    /// What counts as one.
    pub reading: Reading,
    /// Whether a node may idle in the original while packets wait.
    pub may_idle: bool,
    /// How far, in the order in which to search.
    pub bounds: Vec<Bounds>,
}

/// What was examined of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// Packets.
    pub packets: usize,
    /// Nodes.
    pub nodes: usize,
    /// The last exit.
    pub exit: u64,
    /// Loads.
    pub loads: u64,
    /// Loads that fail, or that demand an order, viable or not.
    pub failing: u64,
}

/// The smallest counterexample: one case, or two for [`Question::NoScheduler`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Networks with their original schedules.
    pub cases: Vec<(Network, Schedule)>,
    /// Its size.
    pub size: Covered,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The smallest counterexample within the bounds, if there is one.
    pub found: Option<Found>,
    /// What was examined, in order. The last one ends at what was found.
    pub covered: Vec<Covered>,
}

impl Search {
    /// Runs it.
    ///
    /// # Errors
    /// Bounds outside their ranges, or a reading that does not fit the question.
    pub fn run(&self) -> Result<Outcome, Invalid> {
        self.check()?;
        let ranks: Vec<_> = (0..=load::MOST).map(|packets| if self.asks_for(packets) { ranks(packets) } else { Vec::new() }).collect();
        let mut covered = Vec::new();
        let mut pairs = pairs::Pairs::default();
        for bounds in &self.bounds {
            for (nodes, exit) in (1..=bounds.nodes).flat_map(|nodes| (1..=bounds.exit).map(move |exit| (nodes, exit))) {
                let cell = Cell { packets: bounds.packets, nodes, exit: exit as u8, delay: bounds.delay as u8 };
                let mut size = Covered { packets: bounds.packets, nodes, exit, loads: 0, failing: 0 };
                let found = match self.question {
                    Question::NoScheduler => self.pair(cell, &mut size, &mut pairs),
                    _ => self.single(cell, &ranks[cell.packets], &mut size),
                };
                covered.push(size);
                if let Some(cases) = found {
                    return Ok(Outcome { found: Some(Found { cases, size }), covered });
                }
            }
        }
        covered.retain(|size| size.loads > 0);
        Ok(Outcome { found: None, covered })
    }

    fn check(&self) -> Result<(), Invalid> {
        for Bounds { packets, nodes, exit, delay } in &self.bounds {
            let most_packets = if self.question == Question::AnyPriorities { MOST_RANKED } else { load::MOST };
            for (what, value, least, most) in [
                ("packets", *packets as u64, 1, most_packets as u64),
                ("nodes", *nodes as u64, 1, load::MOST as u64),
                ("exit", *exit, 1, 15),
                ("delay", *delay, 0, 4),
            ] {
                if !(least..=most).contains(&value) {
                    return Err(Invalid(format!("{what} = {value}: legal range {least} to {most}")));
                }
            }
        }
        let needs_replay = matches!(self.reading, Reading::OwnInEither | Reading::AnyInEither);
        if needs_replay && matches!(self.question, Question::AnyPriorities | Question::NoScheduler) {
            return Err(Invalid("congestion points in either run: there is no one replay here, count another way".to_owned()));
        }
        Ok(())
    }

    /// Whether all priorities of so many packets are needed.
    fn asks_for(&self, packets: usize) -> bool {
        self.question == Question::AnyPriorities && self.bounds.iter().any(|bounds| bounds.packets == packets)
    }

    fn single(&self, cell: Cell, ranks: &[Vec<(i32, i32)>], size: &mut Covered) -> Option<Vec<(Network, Schedule)>> {
        let mut best: Option<((u32, usize), (Network, Schedule))> = None;
        load::each(cell, |load| {
            size.loads += 1;
            if self.may_be_within(load) && self.fails(load, ranks) {
                size.failing += 1;
                let rank = (load.delay(), load.hops());
                if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                    best = self.original(load).map(|original| (rank, (load.network(), original))).or_else(|| best.take());
                }
            }
        });
        best.map(|(_, case)| vec![case])
    }

    fn pair(&self, cell: Cell, size: &mut Covered, pairs: &mut pairs::Pairs) -> Option<Vec<(Network, Schedule)>> {
        load::each(cell, |load| {
            size.loads += 1;
            if self.may_be_within(load) && self.original(load).is_some() {
                size.failing += u64::from(pairs.add(load));
            }
        });
        let case = |load: &Load| self.original(load).map(|original| (load.network(), original));
        pairs.found()?.iter().map(case).collect()
    }

    /// A bound on congestion points that needs no run.
    fn may_be_within(&self, load: &Load) -> bool {
        self.reading != Reading::CanWait || load.most_shared() <= self.at_most
    }

    fn fails(&self, load: &Load, ranks: &[Vec<(i32, i32)>]) -> bool {
        match self.question {
            Question::Lstf => fails_by(load, |packet, hop| load.deadline(packet, hop)),
            Question::LstfFirstCome => !slots::is_on_time(load, first_come(|packet, hop| load.deadline(packet, hop))),
            Question::ByExit => fails_by(load, |packet, _| load.exit(packet)),
            Question::AnyPriorities => ranks.iter().all(|rank| {
                !slots::is_on_time(load, |packet, _, arrival| rank[packet].0 * TIE * TIE + i32::from(arrival) * TIE + rank[packet].1)
            }),
            Question::NoScheduler => false,
        }
    }

    /// A viable schedule within the limit on congestion points; one in which no node idles while packets wait, if there is one.
    fn original(&self, load: &Load) -> Option<Schedule> {
        let network = load.network();
        let (mut idling, mut busy) = (None, None);
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
            (Reading::OwnInEither | Reading::AnyInEither, Question::Lstf | Question::LstfFirstCome) => {
                Replayer::new(network, original, Rule::Lstf).run()
            }
            (Reading::OwnInEither | Reading::AnyInEither, _) => Replayer::new(network, original, Rule::ByExit).run(),
            _ => original.clone(),
        };
        self.reading.most(network, original, &replay) <= self.at_most
    }
}

/// Smaller keys first, of equals who came first.
fn first_come(key: impl Fn(usize, usize) -> i32) -> impl Fn(usize, usize, u8) -> i32 {
    move |packet, hop, arrival| key(packet, hop) * TIE + i32::from(arrival)
}

/// However ties are broken; first come first served is tried first.
fn fails_by(load: &Load, key: impl Fn(usize, usize) -> i32) -> bool {
    !slots::is_on_time(load, first_come(&key)) && !slots::is_on_time_with_some_ties(load, |packet, hop, _| key(packet, hop))
}

/// All ways to rank packets: priorities, of which some may be equal, and a fixed order for those of equal priority that come at one instant.
fn ranks(packets: usize) -> Vec<Vec<(i32, i32)>> {
    let (priorities, ties) = (priorities(packets), priorities(packets));
    let strict: Vec<_> = ties.iter().filter(|ties| ties.iter().max().is_none_or(|most| *most + 1 == packets as i64)).collect();
    let pairs = priorities.iter().flat_map(|priorities| strict.iter().map(move |ties| (priorities, ties)));
    pairs.map(|(priorities, ties)| priorities.iter().zip(ties.iter()).map(|(one, tie)| (*one as i32, *tie as i32)).collect()).collect()
}

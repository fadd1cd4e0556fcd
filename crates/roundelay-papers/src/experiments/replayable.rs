//! Kind `replayable`: replays random viable schedules in the exact model of universal packet
//! scheduling, by one rule per column.
//!
//! Each column has the rows `schedules` (those whose congestion points let them count),
//! `schedules with overdue packets`, `overdue packets` and `largest lateness, units`. More rows are
//! for the proofs: `arrivals later than in the original`, `arrivals after o(p, a)`,
//! `late departures`, `late departures without a late arrival`, `departures with negative slack`,
//! `departures with negative slack without a late arrival`,
//! `departures in time with negative slack`, `decisions`, `decisions other than LSTF's`,
//! `slacks compared`, `slacks against the equation`. The curve `schedules with overdue packets, %`
//! covers all schedules. Its x is the most congestion points that a packet has. The trace shows the
//! schedule with the fewest packets that the rule does not replay.

use roundelay::Purpose;
use roundelay::Seed;
use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay_reference::replay::{
    Counts, Network, RandomNetwork, Reading, Replayer, Rule, Schedule, by_arrivals,
    other_decisions, priorities, slack_equation,
};
use serde::Deserialize;

use super::{Experiment, Failed, Outcome, Row, columns, repetition, within};
use crate::locations::Wrong;

/// Most packets for which all priorities are tried.
const FEW: usize = 4;
/// Fewest schedules for a point of the curve.
const ENOUGH: u64 = 50;
/// Extra delays before hops: one in this number of hops, and the maximum delay.
const HELD_UP: (u64, u64) = (6, 12);

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replayable {
    /// Schedules per column, including schedules that do not count.
    schedules: u64,
    /// Number of shared nodes, and the most of these that a packet's path has.
    nodes: usize,
    passes: usize,
    /// Most packets.
    packets: usize,
    /// The most congestion points that a packet may have in a schedule that counts. None: any
    /// number.
    congestion_points: Option<usize>,
    /// What counts as a congestion point: a name in [`Reading::ALL`].
    #[serde(default = "can_wait")]
    counted: String,
    /// True to delay packets at random before hops in the replay, unlike any network: for
    /// statements about late arrivals.
    #[serde(default)]
    held_up: bool,
    /// Columns by name.
    columns: toml::Table,
}

fn can_wait() -> String {
    Reading::CanWait.name().to_owned()
}

/// A rule, or a table with this column's settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a rule, or a table with rule and congestion_points"
)]
enum Column {
    Rule(String),
    Other(Other),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    rule: String,
    congestion_points: Option<usize>,
}

/// How packets are ordered, with or without preemption.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    By(Rule, bool),
    /// The best among all priorities, with and without preemption.
    AnyPriorities,
}

impl Order {
    /// Reads a rule's name, optionally with ` without preemption` at the end, or `any priorities`.
    pub(super) fn read(text: &str) -> Result<Self, Failed> {
        if text == "any priorities" {
            return Ok(Self::AnyPriorities);
        }
        let (name, preempts) = match text.strip_suffix(" without preemption") {
            Some(name) => (name, false),
            None => (text, true),
        };
        if let Some(rule) = Rule::named(name) {
            return Ok(Self::By(rule, preempts));
        }
        let names = Rule::NAMED.map(|(name, _)| name).join("', '");
        Err(Failed(format!(
            "rule '{name}': expected 'any priorities', or one of '{names}', ' without preemption' \
             behind it or not"
        )))
    }
}

/// A column's settings.
struct Examined {
    order: Order,
    at_most: Option<usize>,
    reading: Reading,
}

impl Replayable {
    fn column(&self, name: &str) -> Result<Examined, Failed> {
        let Some(value) = self.columns.get(name).cloned() else {
            return Err(Failed(format!("columns: no '{name}'")));
        };
        let (rule, at_most) = match value.try_into() {
            Ok(Column::Rule(rule)) => (rule, None),
            Ok(Column::Other(other)) => (other.rule, other.congestion_points),
            Err(_) => {
                return Err(Failed(format!(
                    "columns.{name}: expected a rule, or {{ rule = .., congestion_points = .. }}"
                )));
            }
        };
        let order =
            Order::read(&rule).map_err(|Failed(why)| Failed(format!("columns.{name}: {why}")))?;
        if order == Order::AnyPriorities && self.packets > FEW {
            return Err(Failed(format!(
                "packets = {}: legal range 2 to {FEW} where all priorities are tried",
                self.packets
            )));
        }
        Ok(Examined {
            order,
            at_most: at_most.or(self.congestion_points),
            reading: reading(&self.counted)?,
        })
    }

    /// A random network with a schedule, and extra delays that packets get in the replay.
    fn world(&self, seed: u64) -> Result<(Network, Schedule, Vec<Vec<u64>>), Failed> {
        let limits = RandomNetwork {
            nodes: self.nodes,
            passes: self.passes,
            packets: self.packets,
            transmission: 4,
            len: 3,
            propagation: 3,
        };
        let traffic = Seed::new(seed).derive(Purpose::Traffic, 0);
        let mut random = Pcg64::seed_from_u64(traffic.key()[0]);
        let mut draw = |below: u64| random.random_range(0..below);
        let network = limits.network(&mut draw).map_err(Failed::from)?;
        let original = RandomNetwork::schedule(&network, seed.is_multiple_of(2), &mut draw);
        original.is_viable(&network).map_err(Failed::from)?;
        let mut delays = Vec::new();
        for stays in &original.0 {
            let mut of_packet = Vec::new();
            for _ in stays {
                of_packet.push(if self.held_up && draw(HELD_UP.0) == 0 {
                    1 + draw(HELD_UP.1)
                } else {
                    0
                });
            }
            delays.push(of_packet);
        }
        Ok((network, original, delays))
    }
}

/// Finds a reading by name.
pub(super) fn reading(name: &str) -> Result<Reading, Failed> {
    let names = Reading::ALL.map(|(name, _)| name).join("', '");
    Reading::named(name)
        .ok_or_else(|| Failed(format!("counted = '{name}': expected one of '{names}'")))
}

impl Experiment for Replayable {
    fn check(&self) -> Result<(), Wrong> {
        within("schedules", self.schedules, 1..=100_000_000)?;
        within("nodes", self.nodes, 1..=100)?;
        within("passes", self.passes, 1..=self.nodes)?;
        within("packets", self.packets, 1..=1_000)?;
        for name in self.columns.keys() {
            self.column(name)
                .map_err(|failed| columns::named(name, failed))?;
        }
        Ok(())
    }

    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let examined = self.column(part)?;
        let mut sums = Sums::default();
        let mut fewest: Option<(usize, Vec<String>)> = None;
        for number in 0..self.schedules {
            let (network, original, delays) = self.world(repetition(seed, number))?;
            let replay = examined.replay(&network, &original, &delays);
            let most = examined.reading.most(&network, &original, &replay);
            sums.by_points(most, !replay.overdue(&original).is_empty());
            if examined.at_most.is_some_and(|at_most| most > at_most) {
                continue;
            }
            sums.add(&examined, &network, &original, &replay);
            let packets = network.packets().len();
            let is_overdue = !self.held_up && !replay.overdue(&original).is_empty();
            if is_overdue && fewest.as_ref().is_none_or(|(few, _)| packets < *few) {
                let mut lines = original.lines(&network);
                lines.extend(replay.replay_lines(&network, &original, part));
                fewest = Some((packets, lines));
            }
        }
        Ok(Outcome {
            rows: sums.rows(part),
            trace: fewest.unwrap_or_default().1,
        })
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        Order::read(discipline)?;
        for (_, column) in &mut self.columns {
            match column {
                toml::Value::Table(table) => {
                    table.insert("rule".to_owned(), discipline.into());
                }
                other => *other = discipline.into(),
            }
        }
        Ok(())
    }
}

impl Examined {
    fn replay(&self, network: &Network, original: &Schedule, delays: &[Vec<u64>]) -> Schedule {
        let by = |rule, preempts| {
            Replayer {
                preempts,
                delays,
                ..Replayer::new(network, original, rule)
            }
            .run()
        };
        if let Order::By(rule, preempts) = &self.order {
            return by(rule.clone(), *preempts);
        }
        let mut best: Option<Schedule> = None;
        for priorities in priorities(network.packets().len()) {
            for preempts in [true, false] {
                let replay = by(Rule::Static(priorities.clone()), preempts);
                let late = replay.overdue(original).len();
                if best
                    .as_ref()
                    .is_none_or(|best| late < best.overdue(original).len())
                {
                    best = Some(replay);
                }
            }
        }
        best.expect("there is one at least")
    }
}

#[derive(Debug, Default)]
struct Sums {
    schedules: u64,
    with_overdue: u64,
    overdue: u64,
    lateness: u64,
    counts: Counts,
    decisions: [usize; 2],
    slacks: [usize; 2],
    /// By the most congestion points that a packet has: number of schedules, and number with
    /// overdue packets.
    points: BTreeMap<usize, [u64; 2]>,
}

impl Sums {
    fn by_points(&mut self, most: usize, is_overdue: bool) {
        let [schedules, with_overdue] = self.points.entry(most).or_default();
        *schedules += 1;
        *with_overdue += u64::from(is_overdue);
    }

    fn add(
        &mut self,
        examined: &Examined,
        network: &Network,
        original: &Schedule,
        replay: &Schedule,
    ) {
        let overdue = replay.overdue(original);
        self.schedules += 1;
        self.with_overdue += u64::from(!overdue.is_empty());
        self.overdue += overdue.len() as u64;
        for (_, by) in &overdue {
            self.lateness = self.lateness.max(*by);
        }
        self.counts.add(&by_arrivals(network, original, replay));
        if let Order::By(rule, preempts) = &examined.order {
            let decisions = other_decisions(network, original, rule.clone(), *preempts);
            let slacks = slack_equation(network, original, rule.clone(), *preempts);
            for index in 0..2 {
                self.decisions[index] += decisions[index];
                self.slacks[index] += slacks[index];
            }
        }
    }

    fn rows(&self, column: &str) -> Vec<Row> {
        let Counts {
            late_ends,
            late_ends_alone,
            negative,
            negative_alone,
            negative_in_time,
            arrivals_after_start,
            late_arrivals,
        } = self.counts;
        let numbers = [
            ("schedules", self.schedules as usize),
            ("schedules with overdue packets", self.with_overdue as usize),
            ("overdue packets", self.overdue as usize),
            ("largest lateness, units", self.lateness as usize),
            ("arrivals later than in the original", late_arrivals),
            ("arrivals after o(p, a)", arrivals_after_start),
            ("late departures", late_ends),
            ("late departures without a late arrival", late_ends_alone),
            ("departures with negative slack", negative),
            (
                "departures with negative slack without a late arrival",
                negative_alone,
            ),
            ("departures in time with negative slack", negative_in_time),
            ("decisions", self.decisions[0]),
            ("decisions other than LSTF's", self.decisions[1]),
            ("slacks compared", self.slacks[0]),
            ("slacks against the equation", self.slacks[1]),
        ];
        let mut rows = Vec::new();
        for (name, number) in numbers {
            rows.push(Row::scalar(column, name, number as f64));
        }
        for (most, [schedules, with_overdue]) in &self.points {
            if *schedules >= ENOUGH {
                rows.push(Row::point(
                    column,
                    "schedules with overdue packets, %",
                    *most as f64,
                    100.0 * *with_overdue as f64 / *schedules as f64,
                ));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "schedules = 600\nnodes = 4\npasses = 3\npackets = 8\ncongestion_points = 2\n\
                        columns = { LSTF = 'lstf', three = { rule = 'lstf', congestion_points = 3 }, plain = 'lstf without preemption' }";

    fn plan(text: &str) -> Replayable {
        toml::from_str(text).unwrap()
    }

    fn value(outcome: &Outcome, figure: &str) -> f64 {
        outcome
            .rows
            .iter()
            .find(|row| row.figure == figure)
            .unwrap()
            .value
    }

    #[test]
    fn lstf_replays_two_congestion_points_and_what_is_planted_does_not() {
        let mut plan = plan(PLAN);
        let lstf = plan.run("LSTF", 1).unwrap();
        assert!(
            value(&lstf, "schedules") > 100.0
                && value(&lstf, "overdue packets") == 0.0
                && lstf.trace.is_empty()
        );
        let three = plan.run("three", 1).unwrap();
        assert!(
            value(&three, "schedules with overdue packets") > 0.0
                && value(&three, "schedules") > value(&lstf, "schedules")
        );
        assert!(
            three.trace.last().unwrap().starts_with("  overdue: "),
            "{:?}",
            three.trace
        );
        assert!(value(&plan.run("plain", 1).unwrap(), "overdue packets") > 0.0);
        assert_ne!(
            plan.run("three", 2).unwrap(),
            three,
            "another seed, other schedules"
        );
        plan.replace_disciplines("fifo").unwrap();
        assert!(value(&plan.run("LSTF", 1).unwrap(), "overdue packets") > 0.0);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_right() {
        let error = |text: &str| plan(text).run("LSTF", 1).unwrap_err().0;
        assert!(
            error(&PLAN.replace("'lstf', three", "'slack', three"))
                .starts_with("columns.LSTF: rule 'slack': expected 'any priorities', or one of")
        );
        let any = PLAN.replace("'lstf', three", "'any priorities', three");
        assert_eq!(
            error(&any),
            "packets = 8: legal range 2 to 4 where all priorities are tried"
        );
        assert!(
            error(&PLAN.replace("columns", "counted = 'mine'\ncolumns"))
                .starts_with("counted = 'mine': expected one of 'the packet waits")
        );
        assert!(error(&PLAN.replace("passes = 3", "passes = 0")).contains("legal range"));
        assert!(
            plan(PLAN)
                .replace_disciplines("drr")
                .unwrap_err()
                .0
                .starts_with("rule 'drr'")
        );
    }
}

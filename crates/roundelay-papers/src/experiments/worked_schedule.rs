//! Kind `worked_schedule`: a table of arrivals and schedules as printed in a paper, checked and
//! replayed in the exact model.
//!
//! Each case has these rows:
//!
//! * `viable`, 1 or 0.
//! * `idles`, 1 if a node idles while a packet waits there.
//! * `congestion points, READING`, the most that any packet has. A reading that needs a replay uses
//!   LSTF.
//! * For each of `rules`, `RULE: overdue packets`, and `RULE: overdue NAME, units` for each overdue
//!   packet.
//! * For five packets or fewer, `priorities that replay it` out of all `priorities`, with or
//!   without preemption.
//! * For two `critical` packets, `as in the first case`, 1 if their input times, paths and exits
//!   are the same, and `NAME first: replays in time`, out of all `replays` where no node idles.
//!
//! The trace shows the table with each replay.

use roundelay_reference::replay::{
    Hop, Network, Node, Packet, Reading, Replayer, Rule, Schedule, TooMany, each_replay, priorities,
};
use serde::Deserialize;
use toml::Table;

use super::replayable::Order;
use super::{Experiment, Failed, Outcome, Row};
use crate::locations::Wrong;

/// Most packets for which all priorities are tried.
const FEW: usize = 5;
/// Most replays.
const MOST_REPLAYS: u64 = 2_000_000;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkedSchedule {
    /// Nodes with their transmission times, in units.
    nodes: Table,
    /// Packets by name.
    packets: Table,
    /// Cases by name: for each node a row such as `a(0, 0), x(0, 1)`: packet(arrival, scheduling).
    cases: Table,
    /// Rules to replay by.
    rules: Vec<String>,
    /// Two packets, equal in all cases, that meet at their first node.
    #[serde(default)]
    critical: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    enters: u64,
    /// Names of nodes, with `+2` before a node for a link with a propagation delay of 2.
    path: String,
}

impl WorkedSchedule {
    fn network(&self) -> Result<Network, Failed> {
        let mut nodes = Vec::new();
        for (name, transmission) in &self.nodes {
            let units = transmission.as_integer().map(u64::try_from);
            let Some(Ok(transmission)) = units else {
                return Err(Failed(format!(
                    "nodes.{name}: expected a whole number of units"
                )));
            };
            nodes.push(Node {
                name: name.clone(),
                transmission,
            });
        }
        let mut packets = Vec::new();
        for (name, value) in &self.packets {
            let entry: Entry = value
                .clone()
                .try_into()
                .map_err(|error| Failed(format!("packets.{name}: {error}")))?;
            let path = Hop::path(&nodes, &entry.path)
                .map_err(|error| Failed(format!("packets.{name}: {error}")))?;
            packets.push(Packet {
                name: name.clone(),
                input: entry.enters,
                len: 1,
                path,
            });
        }
        Network::new(nodes, packets).map_err(Failed::from)
    }

    fn original(&self, network: &Network, case: &str) -> Result<Schedule, Failed> {
        let Some(table) = self.cases.get(case).and_then(toml::Value::as_table) else {
            return Err(Failed(format!("cases.{case}: expected a table of rows")));
        };
        let mut rows = Vec::new();
        for (node, row) in table {
            let Some(row) = row.as_str() else {
                return Err(Failed(format!(
                    "cases.{case}: {node}: expected a row such as \"a(0, 0), b(0, 1)\""
                )));
            };
            rows.push((node.as_str(), row));
        }
        Schedule::read(network, rows).map_err(|error| Failed(format!("cases.{case}: {error}")))
    }

    fn critical(&self, network: &Network) -> Result<Option<[usize; 2]>, Failed> {
        match &self.critical[..] {
            [] => Ok(None),
            [one, other] => {
                let pair = [numbered(network, one)?, numbered(network, other)?];
                let [first, second] = pair.map(|packet| network.packets()[packet].path[0].node);
                if first == second {
                    Ok(Some(pair))
                } else {
                    Err(Failed(
                        "critical: the packets enter at different nodes".to_owned(),
                    ))
                }
            }
            others => Err(Failed(format!(
                "critical: {} packets: legal are none and two",
                others.len()
            ))),
        }
    }
}

impl Experiment for WorkedSchedule {
    fn check(&self) -> Result<(), Wrong> {
        let network = self
            .network()
            .map_err(|Failed(message)| Wrong::new("packets", message))?;
        self.critical(&network)
            .map_err(|Failed(message)| Wrong::new("critical", message))?;
        for rule in &self.rules {
            Order::read(rule).map_err(|Failed(message)| Wrong::new("rules", message))?;
        }
        for case in self.cases.keys() {
            self.original(&network, case)
                .map_err(|Failed(message)| Wrong::new(format!("cases.{case}"), message))?;
        }
        Ok(())
    }

    fn parts(&self) -> Vec<String> {
        self.cases.keys().cloned().collect()
    }

    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let network = self.network()?;
        let original = self.original(&network, part)?;
        let viable = original.is_viable(&network);
        let mut rows = vec![Row::scalar(
            part,
            "viable",
            f64::from(u8::from(viable.is_ok())),
        )];
        if let Err(why) = viable {
            return Ok(Outcome {
                rows,
                trace: vec![format!("not viable: {why}")],
            });
        }
        rows.push(Row::scalar(
            part,
            "idles",
            f64::from(u8::from(original.idles(&network))),
        ));
        let mut trace = original.lines(&network);
        for text in &self.rules {
            let Order::By(rule, preempts) = Order::read(text)? else {
                return Err(Failed("rules: all priorities are tried anyway".to_owned()));
            };
            let replay = Replayer {
                preempts,
                ..Replayer::new(&network, &original, rule)
            }
            .run();
            rows.extend(overdue(part, text, &network, &original, &replay));
            trace.extend(replay.replay_lines(&network, &original, text));
        }
        let replay = Replayer::new(&network, &original, Rule::Lstf).run();
        for (name, reading) in Reading::ALL {
            let most = reading.most(&network, &original, &replay) as f64;
            rows.push(Row::scalar(
                part,
                format!("congestion points, {name}"),
                most,
            ));
        }
        if network.packets().len() <= FEW {
            rows.extend(by_priorities(part, &network, &original));
        }
        if let Some(pair) = self.critical(&network)? {
            let first = self.cases.keys().next().map_or(part, String::as_str);
            let first = self.original(&network, first)?;
            let mut pair_exits = pair.iter();
            let is_alike = pair_exits.all(|packet| original.exit(*packet) == first.exit(*packet));
            rows.push(Row::scalar(
                part,
                "as in the first case",
                f64::from(u8::from(is_alike)),
            ));
            rows.extend(demands(part, &network, &original, pair)?);
        }
        Ok(Outcome { rows, trace })
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        Err(Failed(format!(
            "figures name the rules: {discipline} cannot replace one"
        )))
    }
}

/// A packet's number, by its name.
fn numbered(network: &Network, name: &str) -> Result<usize, Failed> {
    let number = network.packet(name);
    number.ok_or_else(|| Failed(format!("critical: no packet is called '{name}'")))
}

/// Number of all priorities, and of those that replay the schedule with or without preemption.
fn by_priorities(case: &str, network: &Network, original: &Schedule) -> [Row; 2] {
    let mut all = 0_u32;
    let mut replayed = 0_u32;
    for priorities in priorities(network.packets().len()) {
        let is_replayed = [true, false].into_iter().any(|preempts| {
            let replay = Replayer {
                preempts,
                ..Replayer::new(network, original, Rule::Static(priorities.clone()))
            }
            .run();
            replay.overdue(original).is_empty()
        });
        all += 1;
        replayed += u32::from(is_replayed);
    }
    [
        Row::scalar(case, "priorities", f64::from(all)),
        Row::scalar(case, "priorities that replay it", f64::from(replayed)),
    ]
}

fn overdue(
    case: &str,
    rule: &str,
    network: &Network,
    original: &Schedule,
    replay: &Schedule,
) -> Vec<Row> {
    let late = replay.overdue(original);
    let mut rows = vec![Row::scalar(
        case,
        format!("{rule}: overdue packets"),
        late.len() as f64,
    )];
    for (packet, by) in late {
        let name = &network.packets()[packet].name;
        let figure = format!("{rule}: overdue {name}, units");
        rows.push(Row::scalar(case, figure, by as f64));
    }
    rows
}

/// Tries all replays without idling nodes and counts those in time, by which of two packets goes
/// first at their common first node.
fn demands(
    case: &str,
    network: &Network,
    original: &Schedule,
    pair: [usize; 2],
) -> Result<Vec<Row>, Failed> {
    let mut in_time = [0_u32; 2];
    let mut replays = 0_u32;
    let tried = each_replay(network, MOST_REPLAYS, |replay| {
        let starts = pair.map(|packet| replay.0[packet][0].start);
        replays += 1;
        in_time[usize::from(starts[1] < starts[0])] +=
            u32::from(replay.overdue(original).is_empty());
    });
    tried
        .map_err(|TooMany| Failed(format!("critical: more than {MOST_REPLAYS} replays to try")))?;
    let mut rows = Vec::new();
    for (packet, in_time) in pair.into_iter().zip(in_time) {
        let name = &network.packets()[packet].name;
        let figure = format!("{name} first: replays in time");
        rows.push(Row::scalar(case, figure, in_time.into()));
    }
    rows.push(Row::scalar(case, "replays", f64::from(replays)));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "rules = ['lstf']\ncritical = ['a', 'b']\nnodes = { A = 2 }
packets = { a = { enters = 0, path = 'A' }, b = { enters = 0, path = 'A' } }
[cases]\none = { A = 'b(0, 0), a(0, 2)' }\nother = { A = 'b(0, 1), a(0, 3)' }\nwrong = { A = 'b(0, 0), a(0, 1)' }";

    fn run(text: &str, case: &str) -> Result<Outcome, Failed> {
        toml::from_str::<WorkedSchedule>(text).unwrap().run(case, 1)
    }

    #[test]
    fn a_case_is_checked_and_replayed() {
        let one = run(PLAN, "one").unwrap();
        let value = |outcome: &Outcome, figure: &str| {
            outcome
                .rows
                .iter()
                .find(|row| row.figure == figure)
                .map(|row| row.value)
        };
        assert_eq!(
            (value(&one, "viable"), value(&one, "lstf: overdue packets")),
            (Some(1.0), Some(0.0))
        );
        assert_eq!(
            (
                value(&one, "priorities"),
                value(&one, "priorities that replay it")
            ),
            (Some(3.0), Some(1.0))
        );
        assert_eq!(
            (
                value(&one, "a first: replays in time"),
                value(&one, "b first: replays in time")
            ),
            (Some(0.0), Some(1.0))
        );
        let other = run(PLAN, "other").unwrap();
        assert_eq!(
            (
                value(&one, "as in the first case"),
                value(&other, "as in the first case")
            ),
            (Some(1.0), Some(0.0))
        );
        let wrong = run(PLAN, "wrong").unwrap();
        assert_eq!((value(&wrong, "viable"), wrong.rows.len()), (Some(0.0), 1));
        assert_eq!(
            wrong.trace,
            ["not viable: node A: a is scheduled at 1, while b is sent until 2"]
        );
    }

    #[test]
    fn errors_name_the_key() {
        let error = |from: &str, to: &str| run(&PLAN.replace(from, to), "one").unwrap_err().0;
        assert_eq!(
            error("A = 2", "A = 'x'"),
            "nodes.A: expected a whole number of units"
        );
        assert_eq!(
            error("A = 2", "A = 0"),
            "node A: transmission = 0: legal range 1 to 1000000"
        );
        assert_eq!(
            error("path = 'A' }, b", "path = 'C' }, b"),
            "packets.a: path 'C': no node is called 'C'"
        );
        assert_eq!(
            error("b(0, 0), a(0, 2)", "b(0, 0)"),
            "cases.one: packet a has no entry at A"
        );
        assert_eq!(
            error("['a', 'b']", "['a']"),
            "critical: 1 packets: legal are none and two"
        );
        assert_eq!(
            error("['a', 'b']", "['a', 'x']"),
            "critical: no packet is called 'x'"
        );
        assert!(error("'lstf'", "'sfq'").starts_with("rule 'sfq'"));
    }
}

//! Kind `worked_schedule`: a table of arrivals and schedules as printed in a paper, checked and
//! replayed in the exact model.
//!
//! Rows of each case: `viable`, 1 or 0; `idles`, 1 if a node idles while a packet waits there;
//! `congestion points, READING`, the maximum of any packet (a reading that needs a replay uses
//! LSTF); for each of `rules` `RULE: overdue packets`, `RULE: overdue NAME, units` of each overdue
//! packet; `priorities that replay it` of all `priorities`, with or without preemption, for five
//! packets or fewer; and for two `critical` packets `as in the first case`, 1 if their input times,
//! paths and exits are the same, and `NAME first: replays in time`, of all replays in which no node
//! idles. The trace is the table with each replay.

use roundelay_reference::replay::{
    Hop, Network, Node, Packet, Reading, Replayer, Rule, Schedule, TooMany, each_replay, priorities,
};
use serde::Deserialize;
use toml::Table;

use super::replayable::Order;
use super::{Experiment, Failed, Outcome, Row};
use crate::places::Wrong;

/// Maximum number of packets for trying all priorities.
const FEW: usize = 5;
/// Maximum number of replays.
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
    /// Rules of replay.
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
        let node = |(name, transmission): (&String, &toml::Value)| {
            let transmission = transmission
                .as_integer()
                .and_then(|units| u64::try_from(units).ok());
            let transmission = transmission
                .ok_or_else(|| Failed(format!("nodes.{name}: expected a whole number of units")))?;
            Ok(Node {
                name: name.clone(),
                transmission,
            })
        };
        let nodes = self
            .nodes
            .iter()
            .map(node)
            .collect::<Result<Vec<_>, Failed>>()?;
        let packet = |(name, value): (&String, &toml::Value)| {
            let entry: Entry = value
                .clone()
                .try_into()
                .map_err(|error| Failed(format!("packets.{name}: {error}")))?;
            let path = Hop::path(&nodes, &entry.path)
                .map_err(|error| Failed(format!("packets.{name}: {error}")))?;
            Ok(Packet {
                name: name.clone(),
                input: entry.enters,
                len: 1,
                path,
            })
        };
        let packets = self
            .packets
            .iter()
            .map(packet)
            .collect::<Result<Vec<_>, Failed>>()?;
        Network::new(nodes, packets).map_err(Failed::from)
    }

    fn original(&self, network: &Network, case: &str) -> Result<Schedule, Failed> {
        let wrong = |what: &dyn std::fmt::Display| Failed(format!("cases.{case}: {what}"));
        let rows = self
            .cases
            .get(case)
            .and_then(toml::Value::as_table)
            .ok_or_else(|| wrong(&"expected a table of rows"))?;
        let row = |(node, row): (&'_ String, &'_ toml::Value)| {
            let row = row.as_str().ok_or_else(|| {
                wrong(&format!(
                    "{node}: expected a row such as \"a(0, 0), b(0, 1)\""
                ))
            })?;
            Ok((node.clone(), row.to_owned()))
        };
        let rows = rows.iter().map(row).collect::<Result<Vec<_>, Failed>>()?;
        Schedule::read(
            network,
            rows.iter().map(|(node, row)| (node.as_str(), row.as_str())),
        )
        .map_err(|error| wrong(&error))
    }

    fn critical(&self, network: &Network) -> Result<Option<[usize; 2]>, Failed> {
        let number = |name: &String| {
            network
                .packet(name)
                .ok_or_else(|| Failed(format!("critical: no packet is called '{name}'")))
        };
        match &self.critical[..] {
            [] => Ok(None),
            [one, other] => {
                let pair = [number(one)?, number(other)?];
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
        let at = |path: String| move |Failed(message)| Wrong::new(path, message);
        let network = self.network().map_err(at("packets".to_owned()))?;
        self.critical(&network).map_err(at("critical".to_owned()))?;
        self.rules
            .iter()
            .try_for_each(|rule| Order::read(rule).map(drop))
            .map_err(at("rules".to_owned()))?;
        self.cases.keys().try_for_each(|case| {
            self.original(&network, case)
                .map(drop)
                .map_err(at(format!("cases.{case}")))
        })
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
        let most = |reading: Reading| reading.most(&network, &original, &replay) as f64;
        rows.extend(Reading::ALL.map(|(name, reading)| {
            Row::scalar(part, format!("congestion points, {name}"), most(reading))
        }));
        if network.packets().len() <= FEW {
            let is_replayed = |priorities: Vec<i64>| {
                let replay = |preempts| {
                    Replayer {
                        preempts,
                        ..Replayer::new(&network, &original, Rule::Static(priorities.clone()))
                    }
                    .run()
                };
                [true, false]
                    .map(replay)
                    .iter()
                    .any(|replay| replay.overdue(&original).is_empty())
            };
            let (all, replayed) = priorities(network.packets().len()).into_iter().fold(
                (0, 0),
                |(all, replayed), priorities| {
                    (all + 1, replayed + u32::from(is_replayed(priorities)))
                },
            );
            rows.push(Row::scalar(part, "priorities", f64::from(all)));
            rows.push(Row::scalar(
                part,
                "priorities that replay it",
                f64::from(replayed),
            ));
        }
        if let Some(pair) = self.critical(&network)? {
            let first = self.cases.keys().next().map_or(part, String::as_str);
            let first = self.original(&network, first)?;
            let is_alike = pair
                .iter()
                .all(|packet| original.exit(*packet) == first.exit(*packet));
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

    fn instead(&mut self, discipline: &str) -> Result<(), Failed> {
        Err(Failed(format!(
            "figures name the rules: {discipline} cannot replace one"
        )))
    }
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
    rows.extend(late.into_iter().map(|(packet, by)| {
        Row::scalar(
            case,
            format!("{rule}: overdue {}, units", network.packets()[packet].name),
            by as f64,
        )
    }));
    rows
}

/// Counts the replays in time among all replays without idling nodes, by which of two packets goes
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
    let row = |(packet, in_time): (&usize, u32)| {
        Row::scalar(
            case,
            format!("{} first: replays in time", network.packets()[*packet].name),
            f64::from(in_time),
        )
    };
    let mut rows: Vec<Row> = pair.iter().zip(in_time).map(row).collect();
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

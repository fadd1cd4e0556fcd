//! Kind `turns`: a worked example with deadlines. All packets wait at the start, and are sent turn
//! by turn.
//!
//! A turn is everything sent on one decision, which is one packet except with `afq`. The rows of
//! each column are curves. Over flows (numbered from 1) they are `allocated bandwidth`, the flow's
//! request over all requests, times `bandwidth`, and `units of first turn`, what the scheduler lets
//! a flow send in its first turn. Over turns (numbered from 1) they are `flow of turn`,
//! `packets of turn` and `due after turn` (the deadline of the flow's next packet, if any).

use std::collections::VecDeque;

use roundelay::schedulers::AnyArena;
use roundelay::{Control, FlowConfig, FlowId, Instant, Packet, Scheduler};
use serde::Deserialize;

use super::columns::Columns;
use super::decisions::dequeue;
use super::{Experiment, Failed, Outcome, Row, seed_of_queue, within};
use crate::locations::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turns {
    /// Columns: the paper's name, and the discipline.
    columns: Columns,
    /// Total bandwidth, in units of the example: 0 to 10^12.
    bandwidth: f64,
    /// Packet length in bytes, for flows without one: 1 to 65536.
    packet_len: u32,
    /// Flows, numbered from 1.
    flow: Vec<Flow>,
}

/// A flow and its packets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flow {
    /// Requested bandwidth, and weight: 1 to 1024.
    requested: u32,
    /// The packets' deadlines, in order.
    due: VecDeque<u64>,
    /// Packet length in bytes.
    packet_len: Option<u32>,
}

/// Packets sent on one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    /// Flow number, from 1.
    flow: u32,
    /// The packets' deadlines.
    sent: Vec<u64>,
    /// The deadline of the flow's next packet.
    next: Option<u64>,
}

impl Turns {
    /// The discipline with all packets enqueued.
    fn filled(&self, column: &str, seed: u64) -> Result<AnyArena<()>, Failed> {
        let mut scheduler = self
            .columns
            .spec(column)?
            .discipline
            .build_arena(seed_of_queue(seed))
            .map_err(Failed::from)?;
        for (number, flow) in (0..).zip(&self.flow) {
            scheduler
                .set_flow(
                    FlowId(number),
                    FlowConfig {
                        weight: flow.requested,
                        ..FlowConfig::DEFAULT
                    },
                )
                .map_err(Failed::from)?;
            let len = flow.packet_len.unwrap_or(self.packet_len);
            for &due in &flow.due {
                let packet = Packet {
                    deadline: Instant::from_picos(due),
                    ..Packet::new(FlowId(number), len, ())
                };
                scheduler
                    .enqueue(Instant::ZERO, packet)
                    .map_err(|_| Failed(format!("a packet of flow {} was refused", number + 1)))?;
            }
        }
        Ok(scheduler)
    }

    fn turns(&self, mut scheduler: AnyArena<()>) -> Vec<Turn> {
        let mut waiting: Vec<_> = self.flow.iter().map(|flow| flow.due.clone()).collect();
        let mut turns: Vec<Turn> = Vec::new();
        while let Some((packet, decisions)) = dequeue(&mut scheduler, Instant::ZERO) {
            let queue = &mut waiting[packet.flow.index()];
            queue.pop_front();
            let due = packet.deadline.as_picos();
            let next = queue.front().copied();
            match turns.last_mut() {
                Some(turn) if decisions == 0 => {
                    turn.sent.push(due);
                    turn.next = next;
                }
                _ => turns.push(Turn {
                    flow: packet.flow.0 + 1,
                    sent: vec![due],
                    next,
                }),
            }
        }
        turns
    }

    fn allocated(&self, run: &str) -> Vec<Row> {
        let mut total = 0.0;
        for flow in &self.flow {
            total += f64::from(flow.requested);
        }
        let mut rows = Vec::new();
        for (number, flow) in (1_u32..).zip(&self.flow) {
            let share = f64::from(flow.requested) / total * self.bandwidth;
            rows.push(Row::point(run, "allocated bandwidth", number.into(), share));
        }
        rows
    }
}

impl Turns {
    fn first_turns(&self, run: &str, turns: &[Turn]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (number, flow) in (1_u32..).zip(&self.flow) {
            let Some(first) = turns.iter().find(|turn| turn.flow == number) else {
                continue;
            };
            let len = flow.packet_len.unwrap_or(self.packet_len);
            let units = first.sent.len() as f64 * f64::from(len);
            rows.push(Row::point(run, "units of first turn", number.into(), units));
        }
        rows
    }
}

impl Experiment for Turns {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        self.columns.check()?;
        within("bandwidth", self.bandwidth, 0.0..=1e12)?;
        within(
            "packet_len",
            self.packet_len,
            1..=FlowConfig::MAX_PACKET_LEN,
        )?;
        for (number, flow) in self.flow.iter().enumerate() {
            let len = flow.packet_len.unwrap_or(self.packet_len);
            within(
                &format!("flow.{number}.requested"),
                flow.requested,
                1..=FlowConfig::MAX_WEIGHT,
            )?;
            within(
                &format!("flow.{number}.packet_len"),
                len,
                1..=FlowConfig::MAX_PACKET_LEN,
            )?;
        }
        Ok(())
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let turns = self.turns(self.filled(part, seed)?);
        let mut outcome = Outcome {
            rows: self.allocated(part),
            trace: Vec::new(),
        };
        outcome.rows.extend(self.first_turns(part, &turns));
        for (number, turn) in (1_u32..).zip(&turns) {
            let number_of_turn = f64::from(number);
            let mut figures = vec![
                ("flow of turn", f64::from(turn.flow)),
                ("packets of turn", turn.sent.len() as f64),
            ];
            figures.extend(turn.next.map(|next| ("due after turn", next as f64)));
            for (figure, value) in figures {
                let row = Row::point(part, figure, number_of_turn, value);
                outcome.rows.push(row);
            }
            let words = turn.in_words();
            outcome
                .trace
                .push(format!("{part}, turn {number}: {words}"));
        }
        Ok(outcome)
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn disciplines(&self) -> Vec<&str> {
        self.columns.texts()
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.replace_disciplines(discipline);
        Ok(())
    }
}

impl Turn {
    fn in_words(&self) -> String {
        let sent: Vec<_> = self.sent.iter().map(u64::to_string).collect();
        let next = match self.next {
            Some(next) => format!("and is due at {next} then"),
            None => "and has no more".to_owned(),
        };
        format!(
            "flow {} sends the packets due at {} {next}",
            self.flow,
            sent.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"
        columns = { AFQ = "afq quantum 2" }
        bandwidth = 24
        packet_len = 2
        flow = [
            { requested = 3, due = [5, 9] },
            { requested = 2, due = [15, 16, 17] },
            { requested = 4, due = [2, 4, 6, 8, 12] },
            { requested = 3, due = [11, 13] },
        ]
    "#;

    #[test]
    fn turns_of_the_report_are_told_in_rows_and_in_words() {
        let mut plan: Turns = toml::from_str(EXAMPLE).unwrap();
        let outcome = plan.run("AFQ", 1).unwrap();
        let figure = |name: &str| {
            outcome
                .rows
                .iter()
                .filter(|row| row.figure == name)
                .map(|row| row.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(figure("allocated bandwidth"), [6.0, 4.0, 8.0, 6.0]);
        assert_eq!(figure("flow of turn"), [3.0, 1.0, 4.0, 3.0, 2.0, 2.0]);
        assert_eq!(figure("packets of turn"), [4.0, 2.0, 2.0, 1.0, 2.0, 1.0]);
        assert_eq!(figure("due after turn"), [12.0, 17.0]);
        assert_eq!(figure("units of first turn"), [4.0, 4.0, 8.0, 4.0]);
        assert_eq!(
            outcome.trace[0],
            "AFQ, turn 1: flow 3 sends the packets due at 2, 4, 6, 8 and is due at 12 then"
        );
        assert_eq!(
            outcome.trace[1],
            "AFQ, turn 2: flow 1 sends the packets due at 5, 9 and has no more"
        );
        plan.replace_disciplines("wf2q").unwrap();
        assert!(
            plan.run("AFQ", 1)
                .unwrap()
                .rows
                .iter()
                .all(|row| row.figure != "packets of turn" || row.value == 1.0)
        );
        assert!(
            plan.run("AFQ", 1)
                .unwrap()
                .rows
                .iter()
                .all(|row| row.figure != "units of first turn" || row.value == 2.0),
            "a turn of one packet"
        );
        plan.replace_disciplines("fiffo").unwrap();
        assert!(plan.run("AFQ", 1).unwrap_err().0.contains("fiffo"));
    }
}

//! The `[run]` table of kind `deadlines`: its columns, types of flows and runs, and the limits on a
//! run's size.

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Duration, QueueSpec, Rate};
use serde::Deserialize;
use toml::{Table, Value};

use crate::experiments::written::{list, read, some};
use crate::experiments::{Failed, columns, within};
use crate::locations::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deadlines {
    /// Maps the paper's name of each column to a discipline or a table like [`Column`].
    pub(super) columns: Table,
    /// Numbers of flows: 1 to 1048576.
    pub(super) flows: Vec<u32>,
    /// Types of flows. Each flow draws its type uniformly.
    #[serde(rename = "type")]
    pub(super) types: Vec<Media>,
    /// Packets per flow: 1 to 10 million.
    pub(super) packets: u32,
    /// Packet length in bytes: 1 to 65536.
    pub(super) packet_len: u32,
    /// Time from a packet's creation to its deadline.
    #[serde(deserialize_with = "read")]
    pub(super) lifetime: Duration,
    /// Cost of a decision, for columns without one. Several values give a curve.
    #[serde(deserialize_with = "list")]
    pub(super) decision: Vec<Duration>,
    /// Packets that a turn's credit covers for a flow with the smallest weight, 0.000001 to a
    /// million. Sets `quantum` for disciplines with this parameter, unless given.
    #[serde(default = "one_packet")]
    pub(super) credit: f64,
    /// Link rate. None: transmission takes no time.
    #[serde(default, deserialize_with = "some")]
    pub(super) link: Option<Rate>,
    /// Added to the latency of each packet.
    #[serde(default, deserialize_with = "some")]
    pub(super) propagation: Option<Duration>,
    /// Flows start at random within this time.
    #[serde(default, deserialize_with = "some")]
    pub(super) starts_within: Option<Duration>,
    /// Maximum packets that the scheduler holds for a flow. 0: all packets made so far.
    #[serde(default = "three_packets")]
    pub(super) window: u32,
    /// True to write curves over flows and packets, too.
    #[serde(default)]
    pub(super) curves: bool,
}

/// Most packets in a run, and in memory.
const MOST_PACKETS: u64 = 1_000_000_000;
const MOST_HELD: u64 = 10_000_000;
/// Range in days of a clock in picoseconds, with a margin.
const MOST_DAYS: f64 = 200.0;

fn one_packet() -> f64 {
    1.0
}

/// The first packet, one possibly in service in the fluid server, and one more.
fn three_packets() -> u32 {
    3
}

/// A type of flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Media {
    pub(super) name: String,
    /// At which rate packets are made.
    #[serde(deserialize_with = "read")]
    pub(super) rate: Rate,
    /// Its flows' weight: 1 to 1024.
    pub(super) weight: u32,
}

/// A column with its own costs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Column {
    pub(super) discipline: String,
    /// What a decision costs.
    #[serde(default, deserialize_with = "some")]
    pub(super) decision: Option<Duration>,
    /// Cost per packet besides decisions.
    #[serde(default, deserialize_with = "some")]
    pub(super) packet: Option<Duration>,
    /// True if packets carry their deadlines to the scheduler.
    #[serde(default = "yes")]
    pub(super) deadlines: bool,
}

impl Column {
    pub(super) fn of(discipline: &str) -> Self {
        Self {
            discipline: discipline.to_owned(),
            decision: None,
            packet: None,
            deadlines: true,
        }
    }
}

fn yes() -> bool {
    true
}

/// One run: a column, a number of flows and a decision cost.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) column: String,
    pub(super) flows: u32,
    pub(super) decision: Duration,
}

impl Cell {
    pub(super) fn part(&self) -> String {
        format!(
            "{}, {} flows, decisions of {} ns",
            self.column,
            self.flows,
            self.decision.as_picos() as f64 / 1e3
        )
    }
}

impl Deadlines {
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for column in self.columns.keys() {
            for &flows in &self.flows {
                for &decision in &self.decision {
                    cells.push(Cell {
                        column: column.clone(),
                        flows,
                        decision,
                    });
                }
            }
        }
        cells
    }

    /// Checks the limits on packets per run, packets in memory, and simulated time.
    pub(super) fn check_size(&self) -> Result<(), Wrong> {
        let flows = self.flows.iter().copied().max().unwrap_or(1);
        let packets = u64::from(flows) * u64::from(self.packets);
        within("packets", packets, 1..=MOST_PACKETS).map_err(|_| {
            Wrong::new(
                "packets",
                format!(
                    "packets: {packets} of {flows} flows together, legal range up to {MOST_PACKETS}"
                ),
            )
        })?;
        let window = if self.window == 0 {
            self.packets
        } else {
            self.window.min(self.packets)
        };
        let held = u64::from(flows) * u64::from(window);
        if held > MOST_HELD {
            return Err(Wrong::new(
                "window",
                format!(
                    "window: {held} packets of {flows} flows in memory, legal range up to \
                     {MOST_HELD}"
                ),
            ));
        }
        let seconds = self.longest_seconds(packets as f64)?;
        if seconds > MOST_DAYS * 86_400.0 {
            let days = seconds / 86_400.0;
            return Err(Wrong::new(
                "packets",
                format!("packets: a run may last {days:.0} days, legal range up to {MOST_DAYS}"),
            ));
        }
        Ok(())
    }

    /// Upper bound on the seconds until the last of `packets` packets has left.
    fn longest_seconds(&self, packets: f64) -> Result<f64, Wrong> {
        let bits = f64::from(self.packet_len) * 8.0;
        let rates = self.types.iter().map(|media| media.rate.bits_per_second());
        let slowest = rates.min().unwrap_or(1);
        let made = bits * f64::from(self.packets) / slowest as f64;
        let mut costliest = 0.0_f64;
        for decision in &self.decision {
            costliest = costliest.max(decision.as_secs_f64());
        }
        for name in self.columns.keys() {
            let column = self.column(name)?;
            let [decision, packet] = [column.decision, column.packet]
                .map(|cost| cost.unwrap_or(Duration::ZERO).as_secs_f64());
            costliest = costliest.max(decision + packet);
        }
        let sending = match self.link {
            Some(link) => bits / link.bits_per_second() as f64,
            None => 0.0,
        };
        let mut once = 0.0;
        for time in [self.starts_within, self.propagation, Some(self.lifetime)] {
            once += time.unwrap_or(Duration::ZERO).as_secs_f64();
        }
        Ok(once + made + packets * (costliest + sending))
    }

    pub(super) fn column(&self, name: &str) -> Result<Column, Wrong> {
        match self.columns.get(name) {
            Some(Value::String(discipline)) => Ok(Column::of(discipline)),
            Some(value) => value
                .clone()
                .try_into()
                .map_err(|error: toml::de::Error| columns::wrong(name, error.message())),
            None => Err(columns::wrong(name, "no such column")),
        }
    }

    /// Parses the discipline. If it takes a quantum and the text has none, the quantum gives a flow
    /// with the smallest weight the plan's credit.
    pub(super) fn discipline(&self, text: &str) -> Result<AnyDiscipline, Failed> {
        let spec: QueueSpec = text.parse().map_err(Failed::from)?;
        let parameters = spec.discipline.parameters();
        let has_quantum = parameters
            .iter()
            .any(|parameter| parameter.name == "quantum");
        if !has_quantum || text.split_whitespace().any(|word| word == "quantum") {
            return Ok(spec.discipline);
        }
        let weights = self.types.iter().map(|media| media.weight);
        let lightest = f64::from(weights.min().unwrap_or(1));
        let quantum = self.credit * f64::from(self.packet_len) / lightest;
        let with_quantum = format!("{text} quantum {}b", quantum.round().max(1.0));
        let spec: QueueSpec = with_quantum.parse().map_err(Failed::from)?;
        Ok(spec.discipline)
    }
}

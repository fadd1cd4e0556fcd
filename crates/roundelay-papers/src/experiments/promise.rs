//! Kind `promise`: the delay guarantee of QFQ+ (QFQ's completion time plus some longest packets at
//! the class's rate), compared with the measured T-WFI.
//!
//! There are two loads. In `behind an aggregate`, a heavy flow with short packets sends now and
//! then, while light flows with long packets are always backlogged. `random` draws workloads with
//! flows of a few kinds, so that flows share aggregates, and its worst workload counts.
//!
//! Each column and load has the rows `LOAD, T-WFI over promise`, a flow's largest T-WFI over the
//! summary's promise, and `LOAD, T-WFI over bound`, the same over the bound proven for the column's
//! discipline. The first load also has the heavy flow's `delay, us` and `promise, us`, and its
//! worst moments as a trace. The other has `random, part beyond promise`, the fraction of workloads
//! that exceed the promise.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, qfq};
use roundelay::{FlowConfig, Guarantees};
use roundelay_metrics::workload::{
    Event, EventKind, Outcome as Served, RATE, Refill, Source, Workload,
};
use serde::Deserialize;

use super::columns::Columns;
use super::{Experiment, Failed, Outcome, Row, repetition, within};
use crate::locations::Wrong;

/// Rounding error of fixed-point bounds, as a fraction of the bytes served.
const ROUNDING: f64 = 1.0 / (1_u64 << 20) as f64;
/// Most kinds of flows in a random workload.
const KINDS: usize = 3;
/// How many events a trace shows before and after the worst moment.
const SHOWN: usize = 12;
const MICROSECONDS: f64 = 1e6;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Promise {
    /// Columns: the paper's name, and the discipline.
    columns: Columns,
    /// How many longest packets, at the flow's rate, are added to QFQ's completion time: 0 to 1000.
    packets: u64,
    /// The delayed flow, and the flows that delay it.
    heavy: Kind,
    light: Kind,
    /// Number of light flows: 1 to 1024.
    lights: usize,
    /// Random workloads per seed: 0 to a million.
    random: u64,
}

/// Flows with equal weight and packet length.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    /// Weight, 1 to 1024.
    weight: u32,
    /// Packet length in bytes, 1 to 65536.
    len: u32,
}

/// The largest T-WFI over all flows, compared with the promise and with the proven bound.
#[derive(Debug, Clone, Copy, Default)]
struct Ratios {
    promise: f64,
    bound: f64,
}

impl Ratios {
    const fn max(self, other: Self) -> Self {
        Self {
            promise: self.promise.max(other.promise),
            bound: self.bound.max(other.bound),
        }
    }
}

impl Promise {
    /// The heavy flow sends about every 50 microseconds, each time at another point of the others'
    /// turns.
    fn behind_an_aggregate(&self) -> Workload {
        // Each departure of a light flow brings its next packet at once. In the plan of QFQ+, where
        // eight flows send packets of 8 KB, two packets and 40 more last 2.7 ms, which is beyond
        // the last arrival of the heavy flow (1.5 ms).
        let refill = Some(Refill {
            low: 1,
            burst: 1,
            after: 0,
            packets: 40,
        });
        let light = Source {
            arrivals: vec![0; 2],
            refill,
            ..Source::burst(self.light.weight, self.light.len, 0)
        };
        // The first packet comes when the light flows wait already. 50,021 ns are 869 ns more than
        // six packets of 8 KB take, so each arrival meets the packet on the link at a later point.
        let arrivals = (0..30).map(|packet| 1 + packet * 50_021).collect();
        let heavy = Source {
            arrivals,
            ..Source::burst(self.heavy.weight, self.heavy.len, 0)
        };
        Workload {
            name: "behind an aggregate",
            seed: 0,
            sources: [vec![heavy], vec![light; self.lights]].concat(),
        }
    }

    /// Delay in seconds that the summary promises a flow: QFQ's corrected bound, plus some packets
    /// at the flow's share.
    fn promised(&self, workload: &Workload, flow: usize) -> Option<f64> {
        let share = workload.share(flow);
        let Guarantees { t_wfi, .. } = workload.guarantees(&qfq::Config, flow);
        let more = share.per_share(self.packets * u64::from(share.max_packet_len));
        Some((t_wfi?.value + share.rate.time_of(more)).as_secs_f64())
    }

    fn ratios(&self, discipline: &AnyDiscipline, workload: &Workload, served: &Served) -> Ratios {
        let tolerance = ROUNDING * served.total() as f64 * 8.0 / RATE as f64;
        let mut worst = Ratios::default();
        for flow in 0..workload.sources.len() {
            let t_wfi = served.t_wfi[flow];
            if let Some(promised) = self.promised(workload, flow) {
                worst.promise = worst.promise.max(t_wfi / (promised + tolerance));
            }
            let proven = discipline.guarantees(&workload.share(flow)).t_wfi;
            if let Some(bound) = proven {
                worst.bound = worst
                    .bound
                    .max(t_wfi / (bound.value.as_secs_f64() + tolerance));
            }
        }
        worst
    }

    fn behind(&self, column: &str, outcome: &mut Outcome) -> Result<(), Failed> {
        let discipline = self.columns.spec(column)?.discipline;
        let workload = self.behind_an_aggregate();
        let (served, events) = workload.record(&discipline, 0).map_err(Failed::from)?;
        outcome.rows.extend(rows(
            column,
            workload.name,
            self.ratios(&discipline, &workload, &served),
        ));
        outcome.rows.push(Row::scalar(
            column,
            "delay, us",
            served.t_wfi[0] * MICROSECONDS,
        ));
        if let Some(seconds) = self.promised(&workload, 0) {
            let row = Row::scalar(column, "promise, us", seconds * MICROSECONDS);
            outcome.rows.push(row);
        }
        outcome.trace = trace(column, &events);
        Ok(())
    }

    fn random(&self, column: &str, seed: u64, outcome: &mut Outcome) -> Result<(), Failed> {
        let discipline = self.columns.spec(column)?.discipline;
        let mut worst = Ratios::default();
        let mut beyond = 0;
        for number in 0..self.random {
            let workload = alike(repetition(seed, number));
            let (served, _) = workload.record(&discipline, 0).map_err(Failed::from)?;
            let ratios = self.ratios(&discipline, &workload, &served);
            beyond += u64::from(ratios.promise > 1.0);
            worst = worst.max(ratios);
        }
        outcome.rows.extend(rows(column, "random", worst));
        outcome.rows.push(Row::scalar(
            column,
            "random, part beyond promise",
            beyond as f64 / self.random.max(1) as f64,
        ));
        Ok(())
    }
}

/// A random workload with flows of a few kinds.
fn alike(seed: u64) -> Workload {
    let mut workload = Workload::random(seed);
    let kinds_seed = Seed::new(seed).derive(Purpose::Traffic, 0);
    let mut random = Pcg64Mcg::from_seed(kinds_seed.to_bytes());
    let kinds = random.random_range(1..=KINDS.min(workload.sources.len()));
    for flow in kinds..workload.sources.len() {
        let kind = workload.sources[random.random_range(0..kinds)].clone();
        workload.sources[flow].config = kind.config;
        workload.sources[flow].lengths = kind.lengths;
    }
    workload
}

fn rows(column: &str, load: &str, ratios: Ratios) -> [Row; 2] {
    [
        Row::scalar(
            column,
            format!("{load}, T-WFI over promise"),
            ratios.promise,
        ),
        Row::scalar(column, format!("{load}, T-WFI over bound"), ratios.bound),
    ]
}

/// Events around the heavy flow's largest lag.
fn trace(column: &str, events: &[Event]) -> Vec<String> {
    let mut worst = 0;
    for (number, event) in events.iter().enumerate() {
        if event.lag.total_cmp(&events[worst].lag).is_ge() {
            worst = number;
        }
    }
    let mut lines = Vec::new();
    let shown = events.iter().skip(worst.saturating_sub(SHOWN));
    for event in shown.take(2 * SHOWN) {
        let verb = if event.kind == EventKind::Arrival {
            "arrives at"
        } else {
            "leaves at"
        };
        let Event {
            at, flow, len, lag, ..
        } = event;
        lines.push(format!(
            "{column}: a packet of flow {flow}, {len} bytes, {verb} {:.3} us; flow 0 is {lag:.0} \
             bytes behind",
            at.as_picos() as f64 * 1e-6
        ));
    }
    lines
}

impl Experiment for Promise {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        self.columns.check()?;
        within("packets", self.packets, 0..=1000)?;
        within("lights", self.lights, 1..=1024)?;
        within("random", self.random, 0..=1_000_000)?;
        for (name, kind) in [("heavy", self.heavy), ("light", self.light)] {
            within(
                &format!("{name}.weight"),
                kind.weight,
                1..=FlowConfig::MAX_WEIGHT,
            )?;
            within(
                &format!("{name}.len"),
                kind.len,
                1..=FlowConfig::MAX_PACKET_LEN,
            )?;
        }
        Ok(())
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let mut outcome = Outcome::default();
        self.behind(part, &mut outcome)?;
        self.random(part, seed, &mut outcome)?;
        Ok(outcome)
    }

    fn disciplines(&self) -> Vec<&str> {
        self.columns.texts()
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.replace_disciplines(discipline);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "columns = { 'M=1' = 'qfq_plus aggregate 1', 'M=8' = 'qfq_plus', DRR = 'drr' }
packets = 3\nheavy = { weight = 1024, len = 512 }\nlight = { weight = 16, len = 8192 }\nlights = 8\nrandom = 20";

    fn promise(text: &str) -> Promise {
        toml::from_str(text).unwrap()
    }

    fn value(column: &str, figure: &str) -> f64 {
        let rows = promise(PLAN).run(column, 1).unwrap().rows;
        rows.iter().find(|row| row.figure == figure).unwrap().value
    }

    #[test]
    fn large_aggregates_break_the_promise_and_keep_the_bound() {
        assert!(value("M=1", "behind an aggregate, T-WFI over promise") < 1.0);
        assert!(value("M=8", "behind an aggregate, T-WFI over promise") > 1.5);
        assert!(value("M=8", "behind an aggregate, T-WFI over bound") <= 1.0);
        assert!(value("DRR", "behind an aggregate, T-WFI over promise") > 0.0);
        assert!(value("M=8", "random, T-WFI over bound") > 0.1);
        let late = promise(PLAN).run("M=8", 1).unwrap().trace;
        assert!(
            late.len() == 2 * SHOWN
                && late
                    .iter()
                    .any(|line| line.contains("flow 0, 512 bytes, leaves")),
            "{late:#?}"
        );
    }

    #[test]
    fn seeds_vary_the_random_loads_alone() {
        let rows = |seed| promise(PLAN).run("M=8", seed).unwrap().rows;
        let one = rows(1);
        let other = rows(2);
        assert_eq!(one, rows(1));
        assert_eq!(one[..4], other[..4]);
        assert_ne!(one[4..], other[4..]);
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        for (from, to, expected) in [
            (
                "lights = 8",
                "lights = 0",
                "lights: 0 is out of range, 1 to 1024",
            ),
            (
                "weight = 1024",
                "weight = 1025",
                "heavy.weight: 1025 is out of range, 1 to 1024",
            ),
            (
                "len = 8192",
                "len = 65537",
                "light.len: 65537 is out of range, 1 to 65536",
            ),
            (
                "random = 20",
                "random = 2000000",
                "random: 2000000 is out of range, 0 to 1000000",
            ),
        ] {
            let message = promise(&PLAN.replace(from, to))
                .check()
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}

//! Rows of `deadlines`: figures of the AFQ report under its definitions, and under corrected
//! definitions.
//!
//! | figure | definition |
//! |---|---|
//! | `throughput, Mbit/s` | bits received from the first packet's making to the last one's arrival, all flows |
//! | `Jain's index` | over flows' throughputs, as the report has it |
//! | `Jain's index by share` | over flows' throughputs divided by their requested rates |
//! | `Bennett-Zhang` | of a flow: its throughput over that of a link of its own with the requested rate; over flows also `range` (most - least) and `most over least` |
//! | `Bennett-Zhang over time` | the same each time that a flow has received a hundredth more of its packets: quantiles over all looks |
//! | `startup latency, s` | of a flow: last arrival - packets / rate - start |
//! | `startup latency as printed, s` | last arrival - packets x rate - start |
//! | `longest latency, s` | of a flow's packets: how long its receiver has to wait to play without a gap |
//! | `missed deadlines` | fraction of packets received after their deadlines; `flows in time`: fraction of flows without one |
//! | `late flows with negative startup latency` | fraction of flows that miss a deadline although their startup latency is below 0; `.. as printed` |
//! | `packets a decision`, `decisions` | |
//! | `all received, s`, `all made, s` | when the last packet is received, and when it is made: no scheduler ends earlier |
//!
//! Figures of flows are `mean`, `median`, `least` and `most`; with `curves` also by rank in percent
//! of the flows. Each type has `TYPE throughput, Mbit/s`, `TYPE Bennett-Zhang` and
//! `TYPE startup latency, s`: means over its flows.

use roundelay::Instant;
use roundelay_metrics::jain_index;

use super::meter::{Meter, Received};
use super::plan::{Cell, Deadlines};
use super::sources::{Source, Sources};
use crate::experiments::Row;
use crate::figures::{deviation_of_all, mean};

/// Points that a curve over flows or packets has.
const POINTS: usize = 100;

/// One flow's results.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowResult {
    pub(super) media: usize,
    /// Mbit/s.
    throughput: f64,
    ratio: f64,
    /// Startup latency in seconds, with packets / rate.
    pub(super) startup: f64,
    as_printed: f64,
    /// The packets' longest latency in seconds.
    pub(super) longest: f64,
}

/// A flow's figure.
type OfFlow = fn(&FlowResult) -> f64;

impl FlowResult {
    fn of(source: &Source, received: &Received, packet_len: u32) -> Self {
        let bits = f64::from(received.packets) * f64::from(packet_len) * 8.0;
        let rate = source.rate.bits_per_second() as f64;
        let packets_a_second = rate / (f64::from(packet_len) * 8.0);
        let life = received.last.since(source.start).as_secs_f64();
        Self {
            media: source.media,
            throughput: bits / life / 1e6,
            ratio: bits / life / rate,
            startup: life - bits / rate,
            as_printed: life - f64::from(received.packets) * packets_a_second,
            longest: received.longest.as_secs_f64(),
        }
    }
}

/// All flows' results, by flow number.
pub(super) fn flows(sources: &Sources, meter: &Meter) -> Vec<FlowResult> {
    let mut results = Vec::new();
    for (source, received) in sources.flows().iter().zip(&meter.flows) {
        results.push(FlowResult::of(source, received, sources.packet_len()));
    }
    results
}

/// One cell's rows, as points over the varied parameter.
pub(super) fn rows(plan: &Deadlines, cell: &Cell, sources: &Sources, meter: &Meter) -> Vec<Row> {
    let flows = flows(sources, meter);
    let costs = plan.decision.len() > 1;
    let x = if costs {
        cell.decision.as_picos() as f64 / 1e3
    } else {
        cell.flows.into()
    };
    let suffix = if costs && plan.flows.len() > 1 {
        format!(", {} flows", cell.flows)
    } else {
        String::new()
    };
    let mut table = Rows {
        run: &cell.column,
        x,
        suffix,
        rows: Vec::new(),
    };
    table.totals(sources, meter);
    table.latencies(sources, &flows, meter);
    table.fairness(&flows, meter);
    table.spread("Bennett-Zhang", &flows, |flow| flow.ratio);
    table.spread("throughput of a flow, Mbit/s", &flows, |flow| {
        flow.throughput
    });
    table.spread("startup latency, s", &flows, |flow| flow.startup);
    table.spread("startup latency as printed, s", &flows, |flow| {
        flow.as_printed
    });
    table.spread("longest latency, s", &flows, |flow| flow.longest);
    table.types(plan, &flows);
    if plan.curves {
        table.curves(cell.flows, &flows, meter);
    }
    table.rows
}

struct Rows<'a> {
    run: &'a str,
    /// Number of flows, or what a decision costs.
    x: f64,
    suffix: String,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn tell(&mut self, figure: impl AsRef<str>, value: f64) {
        self.rows.push(Row::point(
            self.run,
            format!("{}{}", figure.as_ref(), self.suffix),
            self.x,
            value,
        ));
    }

    fn totals(&mut self, sources: &Sources, meter: &Meter) {
        let packets = meter.latencies.count() as f64;
        let starts = sources.flows().iter().map(|flow| flow.start);
        let first = starts.min().unwrap_or(Instant::ZERO);
        let ends = meter.flows.iter().map(|flow| flow.last);
        let last = ends.max().unwrap_or(first);
        let seconds = last.since(first).as_secs_f64();
        let bits = packets * f64::from(sources.packet_len()) * 8.0;
        let rates = sources.flows().iter().map(|flow| flow.rate);
        let offered: f64 = rates.map(|rate| rate.bits_per_second() as f64).sum();
        self.tell(
            "offered, packets/s",
            offered / (f64::from(sources.packet_len()) * 8.0),
        );
        self.tell("throughput, Mbit/s", bits / seconds / 1e6);
        self.tell(
            "most throughput possible, Mbit/s",
            bits / sources.last_made().since(first).as_secs_f64() / 1e6,
        );
        self.tell("all received, s", seconds);
        self.tell(
            "all made, s",
            sources.last_made().since(first).as_secs_f64(),
        );
        self.tell("decisions", meter.decisions as f64);
        self.tell("packets a decision", packets / meter.decisions as f64);
        self.tell("missed deadlines", meter.missed as f64 / packets);
        let lifetime = sources.lifetime();
        let in_time = meter.flows.iter().filter(|flow| flow.longest <= lifetime);
        let in_time = in_time.count();
        self.tell("flows in time", in_time as f64 / meter.flows.len() as f64);
    }

    fn latencies(&mut self, sources: &Sources, flows: &[FlowResult], meter: &Meter) {
        let lifetime = sources.lifetime().as_secs_f64();
        let late: Vec<_> = flows
            .iter()
            .filter(|flow| flow.longest > lifetime)
            .collect();
        let by_rate = late.iter().filter(|flow| flow.startup < 0.0).count();
        self.tell(
            "late flows with negative startup latency",
            by_rate as f64 / flows.len() as f64,
        );
        let as_printed = late.iter().filter(|flow| flow.as_printed < 0.0).count();
        self.tell(
            "late flows with negative startup latency as printed",
            as_printed as f64 / flows.len() as f64,
        );
        for (name, fraction) in [("median", 0.5), ("99th percentile", 0.99)] {
            self.tell(
                format!("latency, s, {name}"),
                seconds_of(meter.latencies.quantile(fraction)),
            );
        }
    }

    fn fairness(&mut self, flows: &[FlowResult], meter: &Meter) {
        let throughputs: Vec<f64> = flows.iter().map(|flow| flow.throughput).collect();
        if let Some(index) = jain_index(&throughputs) {
            self.tell("Jain's index", index);
        }
        let ratios: Vec<f64> = flows.iter().map(|flow| flow.ratio).collect();
        if let Some(index) = jain_index(&ratios) {
            self.tell("Jain's index by share", index);
        }
        let looks = sorted(meter.looks.iter().map(|look| look.ratio));
        for (name, fraction) in [
            ("1st percentile", 0.01),
            ("median", 0.5),
            ("99th percentile", 0.99),
        ] {
            self.tell(
                format!("Bennett-Zhang over time, {name}"),
                quantile(&looks, fraction),
            );
        }
        let ratios = sorted(ratios.into_iter());
        let least = quantile(&ratios, 0.0);
        let most = quantile(&ratios, 1.0);
        self.tell("Bennett-Zhang, range", most - least);
        self.tell("Bennett-Zhang, most over least", most / least);
    }

    fn spread(&mut self, figure: &str, flows: &[FlowResult], value: OfFlow) {
        let values = sorted(flows.iter().map(value));
        self.tell(format!("{figure}, mean"), mean(&values));
        self.tell(format!("{figure}, deviation"), deviation_of_all(&values));
        self.tell(format!("{figure}, least"), quantile(&values, 0.0));
        self.tell(format!("{figure}, median"), quantile(&values, 0.5));
        self.tell(format!("{figure}, most"), quantile(&values, 1.0));
    }

    fn types(&mut self, plan: &Deadlines, flows: &[FlowResult]) {
        let figures: [(&str, OfFlow); 3] = [
            ("throughput, Mbit/s", |flow| flow.throughput),
            ("Bennett-Zhang", |flow| flow.ratio),
            ("startup latency, s", |flow| flow.startup),
        ];
        for (number, media) in plan.types.iter().enumerate() {
            let own: Vec<_> = flows.iter().filter(|flow| flow.media == number).collect();
            if own.is_empty() {
                continue;
            }
            for (figure, value) in figures {
                let values: Vec<f64> = own.iter().map(|flow| value(flow)).collect();
                self.tell(format!("{} {figure}", media.name), mean(&values));
            }
        }
    }

    /// Adds curves over percent: of flows in ascending order, of looks, of packets.
    fn curves(&mut self, count: u32, flows: &[FlowResult], meter: &Meter) {
        let figures: [(&str, OfFlow); 5] = [
            ("Bennett-Zhang by rank", |flow| flow.ratio),
            ("throughput by rank, Mbit/s", |flow| flow.throughput),
            ("startup latency by rank, s", |flow| flow.startup),
            ("startup latency as printed by rank, s", |flow| {
                flow.as_printed
            }),
            ("longest latency by rank, s", |flow| flow.longest),
        ];
        for (figure, value) in figures {
            self.curve(figure, count, &sorted(flows.iter().map(value)));
        }
        self.curve(
            "Bennett-Zhang over time by rank",
            count,
            &sorted(meter.looks.iter().map(|look| look.ratio)),
        );
        let points = meter.latencies.cdf(POINTS).into_iter();
        let latencies: Vec<_> = points.map(|(latency, _)| latency.as_secs_f64()).collect();
        self.curve("latency of packets by rank, s", count, &latencies);
    }

    fn curve(&mut self, figure: &str, count: u32, values: &[f64]) {
        for percent in 1..=POINTS {
            let value = quantile(values, percent as f64 / POINTS as f64);
            self.rows.push(Row::point(
                self.run,
                format!("{figure}, {count} flows"),
                percent as f64,
                value,
            ));
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Quantile of sorted values: the smallest value that at least this fraction does not exceed. NaN
/// without values.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let rank = (fraction * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

fn seconds_of(latency: Option<roundelay::Duration>) -> f64 {
    latency.map_or(f64::NAN, |latency| latency.as_secs_f64())
}

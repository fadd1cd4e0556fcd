//! Tests of `deadlines`: windows, costs of decisions, definitions of figures, faults.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Seed;
use toml::Table;

use super::meter::Look;
use super::*;
use crate::experiments::Row;

const PLAN: &str = r#"
    columns = { AFQ = "afq", WF2Q = "wf2q" }
    flows = [4]
    packets = 100
    packet_len = 1000
    lifetime = "5s"
    decision = ["1ms"]
    type = [
        { name = "HDTV", rate = "20mbit", weight = 625 },
        { name = "SDTV", rate = "3mbit", weight = 94 },
        { name = "stereo", rate = "6mbit", weight = 188 },
        { name = "audio", rate = "128kbit", weight = 4 },
    ]
"#;

fn plan(changes: &str) -> Deadlines {
    let mut table: Table = PLAN.parse().unwrap();
    table.extend(changes.parse::<Table>().unwrap());
    table.try_into().unwrap()
}

/// For a run: looks in order of arrival (one for each of 100 packets), with latencies and ratios;
/// end times of flows; number of decisions.
fn order(plan: &Deadlines, discipline: &str, flows: u32, seed: u64) -> (Vec<Look>, Vec<u64>, u64) {
    let cell = Cell {
        column: String::new(),
        flows,
        decision: plan.decision[0],
    };
    let mut scheduler = plan
        .discipline(discipline)
        .unwrap()
        .build_arena(Seed::new(seed))
        .unwrap();
    let meter = plan
        .link(&cell, &Column::of(discipline))
        .run(&mut scheduler, &mut Sources::draw(plan, flows, seed))
        .unwrap();
    (
        meter.looks,
        meter
            .flows
            .iter()
            .map(|flow| flow.last.as_picos())
            .collect(),
        meter.decisions,
    )
}

#[test]
fn a_window_changes_no_decision() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let mut told_apart = 0;
    for seed in 0..60 {
        let credit = [0.1, 1.0, 3.0][random.random_range(0..3_usize)];
        let decision = ["1ms", "100us", "10us", "0us"][random.random_range(0..4_usize)];
        let rest = [
            "",
            "link = \"10mbit\"",
            "link = \"1gbit\"",
            "starts_within = \"20ms\"",
        ][random.random_range(0..4_usize)];
        let settings = format!("credit = {credit}\ndecision = [\"{decision}\"]\n{rest}\n");
        let all = plan(&format!("{settings}window = 0"));
        let some = plan(&settings);
        let flows = random.random_range(1..20);
        for discipline in ["afq", "wf2q"] {
            assert_eq!(
                order(&all, discipline, flows, seed),
                order(&some, discipline, flows, seed),
                "{discipline}, {flows} flows, {settings}"
            );
        }
        told_apart +=
            usize::from(order(&all, "fifo", flows, seed) != order(&some, "fifo", flows, seed));
    }
    assert!(
        told_apart > 20,
        "a discipline that looks at more than heads is disturbed by a window: {told_apart}"
    );
}

fn figure(rows: &[Row], name: &str) -> f64 {
    rows.iter()
        .find(|row| row.figure == name)
        .unwrap_or_else(|| panic!("no '{name}'"))
        .value
}

fn rows_of(plan: &Deadlines, part: usize, seed: u64) -> Vec<Row> {
    plan.run(&plan.parts()[part], seed).unwrap().rows
}

/// A single audio flow: a packet each 62.5 ms, sent after a decision of 1 ms.
#[test]
fn figures_are_their_definitions() {
    let plan = plan(
        "flows = [1]\nlifetime = \"500us\"\ntype = [{ name = \"audio\", rate = \"128kbit\", weight = 4 }]",
    );
    for part in 0..2 {
        let rows = rows_of(&plan, part, 1);
        let received = 99.0 * 0.0625 + 0.001;
        let bits = 800_000.0;
        let expected = [
            ("all made, s", 99.0 * 0.0625),
            ("all received, s", received),
            ("throughput, Mbit/s", bits / received / 1e6),
            ("Bennett-Zhang, mean", bits / received / 128e3),
            ("startup latency, s, mean", received - 100.0 / 16.0),
            ("startup latency as printed, s, mean", received - 1600.0),
            ("longest latency, s, most", 0.001),
            ("missed deadlines", 1.0),
            ("flows in time", 0.0),
            ("packets a decision", 1.0),
        ];
        for (name, value) in expected {
            assert!(
                (figure(&rows, name) - value).abs() < 1e-9,
                "{name}: {} instead of {value}",
                figure(&rows, name)
            );
        }
    }
}

#[test]
fn decisions_take_the_link_and_afq_takes_one_a_turn() {
    let plan = plan("flows = [40]");
    let afq = rows_of(&plan, 0, 1);
    let wf2q = rows_of(&plan, 1, 1);
    assert_eq!(figure(&wf2q, "decisions"), 4000.0);
    assert!(
        figure(&wf2q, "all received, s") >= 4.0,
        "a millisecond a packet"
    );
    assert!(figure(&afq, "decisions") < 3000.0 && figure(&afq, "packets a decision") > 1.3);
    let share = |rows: &[Row]| figure(rows, "Jain's index by share");
    assert!(
        share(&afq) > share(&wf2q) + 0.1,
        "{} {}",
        share(&afq),
        share(&wf2q)
    );
}

/// At 50 ns per decision both keep up with 20 flows; at 1 ms neither does, and WF2Q is worse.
#[test]
fn costs_are_a_curve_and_columns_may_have_their_own() {
    let plan = plan(
        "flows = [20]\ndecision = [\"50ns\", \"1ms\"]\ncolumns.AFQ = { discipline = \"afq\", packet = \"10us\" }\ncolumns.WF2Q = \"wf2q\"",
    );
    let longest: Vec<_> = (0..4)
        .map(|part| rows_of(&plan, part, 2))
        .map(|rows| figure(&rows, "longest latency, s, most"))
        .collect();
    assert!(longest[0] < 0.01 && longest[2] < 0.01, "{longest:?}");
    assert!(longest[1] > 0.01 && longest[3] > longest[1], "{longest:?}");
    let row = &rows_of(&plan, 1, 2)[0];
    assert_eq!(row.x, Some(1e6), "nanoseconds");
    assert!(rows_of(&plan, 0, 2) != rows_of(&plan, 2, 2));
}

#[test]
fn a_planted_discipline_takes_the_place_of_all() {
    let mut plan = plan(
        "flows = [40]\ncolumns.AFQ = { discipline = \"afq\", decision = \"1ms\" }\ncolumns.WF2Q = \"wf2q\"",
    );
    let before = rows_of(&plan, 0, 1);
    plan.replace_disciplines("fifo").unwrap();
    let afq = rows_of(&plan, 0, 1);
    let wf2q = rows_of(&plan, 1, 1);
    assert_ne!(before, afq);
    assert_eq!(figure(&afq, "decisions"), 4000.0);
    assert!(afq.iter().zip(&wf2q).all(|(a, b)| a.value == b.value));
}

#[test]
fn what_cannot_be_run_is_refused_in_words() {
    let error = |changes: &str| {
        let plan = plan(changes);
        plan.check().unwrap_err().to_string()
    };
    assert_eq!(
        error("window = 1"),
        "window: 1 makes flows look idle between packets; legal: 0 (all packets), or 2 and more"
    );
    assert_eq!(
        error("packet_len = 0"),
        "packet_len: 0 is out of range, 1 to 65536"
    );
    assert_eq!(
        error("credit = -1.0"),
        "credit: -1 is out of range, 0.000001 to 1000000"
    );
    assert_eq!(
        error("packets = 0"),
        "packets: 0 is out of range, 1 to 10000000"
    );
    assert_eq!(
        error("flows = [0]"),
        "flows: 0 is out of range, 1 to 1048576"
    );
    assert!(
        error("columns.A = \"afk\"").starts_with("columns.A: no discipline is called 'afk'"),
        "{}",
        error("columns.A = \"afk\"")
    );
    assert!(
        error("columns.A = 5").starts_with("columns.A: "),
        "{}",
        error("columns.A = 5")
    );
    assert_eq!(
        error("type = [{ name = \"a\", rate = \"1mbit\", weight = 0 }]"),
        "type.0.weight: 0 is out of range, 1 to 1024"
    );
    assert!(error("packets = 10000000\nflows = [1000]").ends_with("legal range up to 1000000000"));
    assert!(
        error("packets = 10000000\nwindow = 0")
            .starts_with("window: 40000000 packets of 4 flows in memory")
    );
    assert_eq!(
        error("packets = 10000000\ndecision = [\"1s\"]"),
        "packets: a run may last 470 days, legal range up to 200"
    );
    assert!(error("columns.A = { discipline = \"afq\", decision = \"soon\" }").contains("soon"));
}

/// Without deadlines AFQ works in rounds. Measurements are unchanged: deadlines are still missed.
#[test]
fn deadlines_can_be_kept_from_the_scheduler() {
    let columns = "columns.TOLD = \"afq\"\ncolumns.NOT = { discipline = \"afq\", deadlines = false }\ncolumns.DRR = \"drr\"";
    let plan = plan(&format!(
        "flows = [100]\nlifetime = \"100ms\"\nstarts_within = \"200ms\"\n{columns}"
    ));
    let [told, not, drr] = [0, 1, 2].map(|part| rows_of(&plan, part, 3));
    assert!(figure(&not, "missed deadlines") > 0.0);
    assert!(told.iter().zip(&not).any(|(a, b)| a.value != b.value));
    assert!(
        figure(&not, "decisions") < figure(&drr, "decisions"),
        "a decision a turn, and one a packet"
    );
}

/// An audio flow ends without a backlog, but its packets were late during the backlog of the
/// others.
#[test]
fn a_flow_with_negative_startup_latency_can_be_late() {
    let plan = plan("flows = [100]\npackets = 1000\nlifetime = \"100ms\"");
    let rows = rows_of(&plan, 0, 1);
    let late = figure(&rows, "late flows with negative startup latency");
    assert!(late > 0.1 && late < 0.5, "{late}");
    assert_eq!(
        figure(&rows, "late flows with negative startup latency as printed"),
        1.0
    );
    assert!(figure(&rows, "Bennett-Zhang, most over least") > 1.2);
    let trace = plan.run(&plan.parts()[0], 1).unwrap().trace;
    assert!(
        trace[0].contains("(audio)") && trace.len() == 12,
        "{trace:?}"
    );
    assert!(trace[11].contains("startup latency -0.0"), "{trace:?}");
}

use super::figures::Line;
use super::*;
use crate::experiments::Row;

fn plan(more: &str) -> Simulate {
    let text = format!(
        r#"
columns = {{ SFQ = "mqfq hashes 1 quantum 1000b", MQFQ = "mqfq quantum 1000b" }}
{more}
[scenario]
duration = "10s"
warmup = "1s"
[scenario.topology]
template = "dumbbell"
pairs = 50
access_delay_step = "1ms"
[scenario.queue]
edge = "fifo"
[[scenario.source]]
name = "fair"
kind = "cbr"
from = "s0..48"
to = "r0..48"
rate = "100kbit"
start_jitter = "80ms"
[[scenario.source]]
name = "greedy"
kind = "cbr"
from = "s49"
to = "r49"
rate = "2500kbit"
"#
    );
    text.parse::<Table>().unwrap().try_into().unwrap()
}

fn value(rows: &[Row], figure: &str, x: Option<f64>) -> Option<f64> {
    rows.iter()
        .find(|row| row.figure == figure && row.x == x)
        .map(|row| row.value)
}

#[test]
fn a_greedy_flow_has_its_queues_shares_and_starves_only_those_that_meet_it_in_all() {
    let plan =
        plan("greedy = \"greedy\"\ncounts.fair-ish = { group = \"fair\", from = 60, below = 120 }");
    let mut with = [Vec::new(), Vec::new()];
    let mut met = [Vec::new(), Vec::new(), Vec::new()];
    for seed in 1..=8 {
        let rows = plan.run("MQFQ", seed).unwrap().rows;
        for queues in 1..=2 {
            with[queues - 1].extend(value(
                &rows,
                &format!("greedy throughput with {queues} queues, kbit/s"),
                None,
            ));
        }
        for (kind, met) in ["none", "some", "all"].into_iter().zip(&mut met) {
            met.extend(value(
                &rows,
                &format!("others meeting {kind} of its queues, kbit/s"),
                None,
            ));
        }
        assert!(value(&rows, "fair-ish", None).unwrap() > 20.0);
        assert!(value(&rows, "utilisation", None).unwrap() > 0.95);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    println!(
        "greedy with one queue {:.0?}, with two {:.0?}; others {:.0?}",
        with[0],
        with[1],
        met.each_ref().map(|met| mean(met))
    );
    assert!(with[1].len() > 4 && mean(&with[1]) > 500.0, "{with:?}");
    assert!(
        with[0].iter().all(|rate| *rate < mean(&with[1])),
        "the queues told are those of the run: {with:?}"
    );
    assert!(mean(&met[0]) > mean(&met[2]) && mean(&met[1]) > mean(&met[2]));
}

#[test]
fn ranks_rise_and_add_up() {
    let rows = plan("").run("SFQ", 1).unwrap().rows;
    let curve = |figure: &str| {
        rows.iter()
            .filter(|row| row.figure == figure)
            .map(|row| (row.x.unwrap(), row.value))
            .collect::<Vec<_>>()
    };
    let (ranks, shares) = (curve("ranks, kbit/s"), curve("ranks, fair shares"));
    assert!(ranks.len() == 50 && ranks.is_sorted_by(|one, other| one.1 <= other.1));
    assert_eq!(
        (shares[0].0, shares[49].0, shares[49].1),
        (2.0, 100.0, ranks[49].1 / 100.0)
    );
    let mut flows: Vec<_> = curve("flows, kbit/s")
        .into_iter()
        .map(|flow| flow.1)
        .collect();
    flows.sort_by(f64::total_cmp);
    assert_eq!(flows, ranks.iter().map(|rank| rank.1).collect::<Vec<_>>());
    assert_eq!(value(&rows, "least, kbit/s", None), Some(ranks[0].1));
    assert!(
        value(&rows, "fair flows below a tenth of fair", None)
            <= value(&rows, "flows below half of fair", None)
    );
}

#[test]
fn round_trips_are_those_of_the_routes() {
    let mut plan = plan("by_round_trip = true");
    plan.replace_disciplines("fifo").unwrap();
    let rows = plan.run("SFQ", 1).unwrap().rows;
    let at = |x| value(&rows, "throughput by round trip, kbit/s", Some(x));
    assert!(
        at(60.0).is_some() && at(158.0).is_some() && at(61.0).is_none(),
        "{rows:?}"
    );
    assert!(
        value(&rows, "greedy throughput with 1 queues, kbit/s", None).is_none(),
        "fifo has no queues of flows"
    );
}

/// Under FIFO all packets wait alike, which adds about the same to all round trips. The whole differs
/// by a smaller factor than propagation does, and the slope over the whole is the steeper one.
#[test]
fn the_whole_round_trip_has_the_waits() {
    let mut plan = plan("by_round_trip = true");
    plan.replace_disciplines("fifo limit 100").unwrap();
    let set = |table: &mut Table, key: &str, value: &str| {
        table.insert(key.to_owned(), Value::String(value.to_owned()));
    };
    set(&mut plan.scenario, "duration", "40s");
    let topology = plan.scenario["topology"].as_table_mut().unwrap();
    set(topology, "access_delay_step", "5ms");
    for source in plan.scenario["source"].as_array_mut().unwrap() {
        let source = source.as_table_mut().unwrap();
        source.remove("rate");
        set(source, "kind", "tcp");
    }
    let rows = plan.run("SFQ", 1).unwrap().rows;
    let propagation = value(&rows, "round trip exponent", None).unwrap();
    let whole = value(&rows, "whole round trip exponent", None).unwrap();
    println!("over propagation {propagation:.3}, over the whole {whole:.3}");
    assert!(propagation < 0.0 && whole < 1.2 * propagation);
    assert!(value(&rows, "whole round trip correlation", None).unwrap() < 0.0);
}

#[test]
fn quarters_of_a_group_are_by_throughput() {
    let rows = plan("").run("MQFQ", 1).unwrap().rows;
    let flows = rows.iter().filter(|row| row.figure == "flows, kbit/s");
    let mut rates: Vec<_> = flows.map(|row| row.value).collect();
    rates.sort_by(f64::total_cmp);
    let greedy = rates.pop();
    assert_eq!(greedy, value(&rows, "greedy throughput, kbit/s", None));
    let sum = |rates: &[f64]| rates.iter().sum::<f64>();
    let is = |figure: &str, expected: f64| {
        let value = value(&rows, figure, None).unwrap();
        assert!((value - expected).abs() < 1e-6, "{figure}: {value}");
    };
    is("fair slowest quarter, kbit/s", sum(&rates[..12]) / 12.0);
    is(
        "fair fastest quarter less the others, kbit/s",
        sum(&rates[37..]) - sum(&rates[..37]),
    );
    assert!(value(&rows, "greedy slowest quarter, kbit/s", None).is_none());
}

#[test]
fn a_line_has_its_slope() {
    let line = Line::through(&[(0.0, 1.0), (1.0, -1.0), (2.0, -3.0)]).unwrap();
    assert!((line.slope + 2.0).abs() < 1e-12 && (line.correlation + 1.0).abs() < 1e-12);
    assert_eq!(Line::through(&[(1.0, 1.0), (1.0, 2.0)]), None);
}

/// Two networks under two schemes; one key applies to one scheme only.
fn with_schemes() -> Simulate {
    let text = r#"
measures = "transfers"
[columns]
slow = { "topology.rate" = "2mbit", "LSTF: source.0.urgency" = "size 1s" }
fast = {}
[schemes]
FIFO = "fifo limit 1000"
LSTF = "lstf limit 1000"
[scenario]
duration = "20s"
topology = { template = "dumbbell", pairs = 2, rate = "10mbit", delay = "5ms" }
meter = { transfers = true, complete = "acknowledged" }
[[scenario.source]]
name = "long"
kind = "tcp"
from = "s0"
to = "r0"
size = 1000000
urgency = "slack 1s"
[[scenario.source]]
name = "short"
kind = "tcp"
from = "s1"
to = "r1"
start = "1s"
size = 50000
urgency = "size 1s"
"#;
    text.parse::<Table>().unwrap().try_into().unwrap()
}

#[test]
fn columns_run_under_each_scheme() {
    let plan = with_schemes();
    let mut parts = plan.parts();
    parts.sort_unstable();
    assert_eq!(
        parts,
        [
            "fast by FIFO",
            "fast by LSTF",
            "slow by FIFO",
            "slow by LSTF"
        ]
    );
    plan.check().unwrap();
    let completion = |part: &str, group: &str| {
        let rows = plan.run(part, 1).unwrap().rows;
        assert_eq!(value(&rows, &format!("{group} transfers"), None), Some(1.0));
        assert_eq!(
            value(&rows, &format!("{group} incomplete"), None),
            Some(0.0)
        );
        value(&rows, &format!("{group} completion, s"), None).unwrap()
    };
    // One transfer of a megabyte at 10 and at 2 Mbit/s; with slack by size the short transfer goes
    // first.
    assert!(
        (0.8..1.6).contains(&completion("fast by FIFO", "long"))
            && (4.0..6.0).contains(&completion("slow by FIFO", "long"))
    );
    assert!(completion("slow by LSTF", "short") < 0.8 * completion("slow by FIFO", "short"));
}

#[test]
fn a_scheme_s_key_is_its_own() {
    let plan = with_schemes();
    let urgency = |part: &str| plan.scenario(part).unwrap().groups[0].urgency.clone();
    assert_eq!(urgency("fast by LSTF"), urgency("slow by FIFO"));
    assert_ne!(urgency("slow by LSTF"), urgency("slow by FIFO"));
    let mut planted = plan.clone();
    planted.replace_disciplines("fifo limit 1000").unwrap();
    let completion = |plan: &Simulate| {
        value(
            &plan.run("slow by LSTF", 1).unwrap().rows,
            "short completion, s",
            None,
        )
        .unwrap()
    };
    assert!(completion(&plan) < completion(&planted));
}

#[test]
fn a_discipline_takes_the_place_of_a_scheme_s_queue_in_a_column() {
    let mut plan = with_schemes();
    let column: Table = "'LSTF: queue.core' = 'lstf limit 342'".parse().unwrap();
    plan.columns.insert("slow".to_owned(), Value::Table(column));
    plan.replace_disciplines("fifo limit 1000").unwrap();
    assert_eq!(
        plan.columns["slow"]["LSTF: queue.core"].as_str(),
        Some("fifo limit 1000")
    );
    plan.check().unwrap();
}

#[test]
fn a_discipline_takes_the_place_of_trees() {
    let mut plan = with_schemes();
    let tree: Table = "trees = { turns = { node = [{ name = 'link', discipline = 'packet_fq' }, { name = 'all', parent = 'link', discipline = 'sjf', default = true }] } }
        'queue.core' = 'tree turns limit 1000'"
        .parse()
        .unwrap();
    plan.schemes
        .insert("SJF in turn".to_owned(), Value::Table(tree));
    plan.check().unwrap();
    plan.replace_disciplines("fifo limit 1000").unwrap();
    plan.check().unwrap();
    let rows = |part: &str| plan.run(part, 1).unwrap().rows;
    let completion = |part: &str| value(&rows(part), "short completion, s", None);
    assert_eq!(
        completion("fast by SJF in turn"),
        completion("fast by FIFO")
    );
}

#[test]
fn a_scheme_s_errors_name_its_key() {
    let mut plan = with_schemes();
    plan.schemes
        .insert("LSTF".to_owned(), Value::String("lsft".to_owned()));
    assert_eq!(plan.check().unwrap_err().path, "schemes.LSTF");
    let mut plan = with_schemes();
    let column: Table = "\"FIOF: source.0.urgency\" = \"size 1s\"".parse().unwrap();
    plan.columns.insert("slow".to_owned(), Value::Table(column));
    assert!(
        plan.check().unwrap_err().to_string().contains("FIOF"),
        "a scheme that there is not"
    );
}

#[test]
fn rates_are_told_by_interval() {
    let mut plan = with_schemes();
    plan.measures = Measures::Rates;
    assert_eq!(
        plan.check().unwrap_err().path,
        "measures",
        "nothing is measured that could be told"
    );
    plan.scenario.insert(
        "meter".to_owned(),
        Value::Table("rates = \"1s\"".parse().unwrap()),
    );
    let rows = plan.run("slow by FIFO", 1).unwrap().rows;
    let rate = |end| value(&rows, "long rate, Mbit/s", Some(end)).unwrap();
    assert!(
        rate(1000.0) > 1.0 && rate(1000.0) <= 2.0 && rate(20_000.0) == 0.0,
        "{}",
        rate(1000.0)
    );
    let jain = |end| value(&rows, "all Jain's index", Some(end));
    assert!(
        jain(1000.0).is_some_and(|index| (index - 0.5).abs() < 0.01),
        "one of two flows has begun"
    );
}

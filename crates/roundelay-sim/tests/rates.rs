//! Series of rates: bytes by interval for flows with known packet times, Jain's index over time,
//! and the cost in memory.

use std::path::Path;

use roundelay::Duration;
use roundelay_sim::scenario::{Estimate, Rates, Results, Scenario};

/// A dumbbell of three pairs, with access links of 100 Mbit/s and 10 ms and a middle link of
/// 50 Mbit/s and 10 ms.
fn read(top: &str, rates: &str, sources: &[&str]) -> Result<Scenario, String> {
    let sources: String = sources
        .iter()
        .map(|source| format!("[[source]]\n{source}\n"))
        .collect();
    let text = format!(
        "{top}\n[meter]\n{rates}\n[topology]\ntemplate = \"dumbbell\"\npairs = 3\nrate = \"50mbit\"\n{sources}"
    );
    Scenario::from_toml("mine.toml", &text, Path::new(".")).map_err(|error| error.to_string())
}

fn run(top: &str, rates: &str, sources: &[&str]) -> (Results, Rates) {
    let scenario = read(top, rates, sources).unwrap_or_else(|error| panic!("{error}"));
    let mut results = scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let rates = results.rates.take().expect("they were asked for");
    (results, rates)
}

/// A packet of 1,000 bytes each millisecond from `start` on.
fn cbr(pair: u32, start: &str) -> String {
    format!(
        "kind = \"cbr\"\nrate = \"8mbit\"\nfrom = \"s{pair}\"\nto = \"r{pair}\"\nstart = \"{start}\""
    )
}

/// Packets take 30.32 ms: the first arrives in the fourth interval of 10 ms, and ten arrive in
/// each.
#[test]
fn bytes_are_counted_where_packets_arrive() {
    for top in [
        "duration = \"95ms\"",
        "duration = \"95ms\"\nwarmup = \"50ms\"",
    ] {
        let (_, rates) = run(top, "rates = \"10ms\"", &[&cbr(0, "0s"), &cbr(1, "40ms")]);
        assert_eq!(
            (rates.interval, rates.intervals),
            (Duration::from_millis(10), 10)
        );
        let series: Vec<_> = rates.flows.iter().map(|flow| rates.series(flow)).collect();
        let ten = 10_000;
        assert_eq!(
            series[0],
            [0, 0, 0, ten, ten, ten, ten, ten, ten, 5_000],
            "the warm-up is included"
        );
        assert_eq!(series[1], [0, 0, 0, 0, 0, 0, 0, ten, ten, 5_000]);
        assert_eq!(
            rates
                .flows
                .iter()
                .map(|flow| (flow.flow, flow.group))
                .collect::<Vec<_>>(),
            [(0, 0), (1, 1)]
        );
        assert_eq!(rates.flows[1].bytes, [(7, ten), (8, ten), (9, 5_000)]);
        let (half, one) = (Some(0.5), Some(1.0));
        assert_eq!(
            rates.jain,
            [
                vec![None; 10],
                vec![None; 10],
                vec![None, None, None, half, half, half, half, one, one, one]
            ]
        );
    }
}

/// A flow with a late start counts as one of the sharing flows, as in Figure 5 of the UPS paper.
#[test]
fn a_flow_counts_before_it_begins_and_after_it_has_ended() {
    let three = "kind = \"cbr\"\nrate = \"8mbit\"\npackets = 20\nfrom = \"s*\"\nto = \"r*\"\nstart_step = \"10ms\"";
    let (_, rates) = run("duration = \"90ms\"", "rates = \"10ms\"", &[three]);
    let of = |flows: f64| Some(flows / 3.0);
    assert_eq!(
        rates.jain,
        [[
            None,
            None,
            None,
            of(1.0),
            of(2.0),
            of(2.0),
            of(1.0),
            None,
            None
        ]]
    );
}

/// Every byte delivered is in one interval, for all kinds of sources: data, retransmissions,
/// requests; replies are not counted.
#[test]
fn series_sum_to_throughputs() {
    let sources = [
        "kind = \"tcp\"\nsize = 3000000\nfrom = \"s0\"\nto = \"r0\"\ncount = 3",
        "kind = \"request_response\"\nrequest = 100\nresponse = 20000\nthink = \"20ms\"\nfrom = \"s1\"\nto = \"r1\"\ncount = 2",
        "kind = \"poisson\"\nrate = \"30mbit\"\nfrom = \"s2\"\nto = \"r2\"",
    ];
    let (results, rates) = run("duration = \"2s\"", "rates = \"7ms\"", &sources);
    assert_eq!(
        (rates.flows.len(), rates.intervals),
        (results.flows.len(), 286)
    );
    for (flow, rates) in results.flows.iter().zip(&rates.flows) {
        let bytes: u64 = rates.bytes.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(
            (flow.number, (flow.throughput * 2.0 / 8.0).round() as u64),
            (rates.flow, bytes)
        );
        assert!(bytes > 0 && rates.bytes.is_sorted_by(|one, other| one.0 < other.0));
    }
    // Responses only: with requests there would be four flows, two of them with next to nothing.
    let answers: Vec<_> = rates.jain[1].iter().flatten().collect();
    assert!(answers.iter().any(|jain| **jain > 0.9), "{answers:?}");
    assert_eq!((rates.jain.len(), rates.jain[3].len()), (4, 286));
}

#[test]
fn the_interval_is_checked() {
    for (written, told) in [("\"3s\"", "3s"), ("\"1us\"", "1us"), ("0", "0s")] {
        let refused = read(
            "duration = \"2s\"",
            &format!("rates = {written}"),
            &[&cbr(0, "0s")],
        )
        .expect_err("out of range");
        assert_eq!(
            refused,
            format!("mine.toml:3: rates {told}: legal range 2us to the duration 2s")
        );
    }
    assert!(read("duration = \"2s\"", "rates = \"2us\"", &[&cbr(0, "0s")]).is_ok());
    assert!(read("duration = \"2s\"", "rates = \"2s\"", &[&cbr(0, "0s")]).is_ok());
}

/// The estimate includes series and lists, and a note warns of high memory.
#[test]
fn estimates_know_of_series_and_lists() {
    let arrivals = "kind = \"arrivals\"\nfrom = [\"s*\", \"r*\"]\nutilisation = 0.5\nlink_rate = \"100mbit\"\nsizes = [[3000, 1.0]]";
    let of = |top: &str, meter: &str, source: &str| {
        read(top, meter, &[source]).unwrap_or_else(|error| panic!("{error}"))
    };
    let memory =
        |top: &str, meter: &str, source: &str| Estimate::of(&of(top, meter, source)).memory;
    let top = "duration = \"2s\"";
    // Six hosts that each start 0.5 x 100 Mbit/s / 24,000 flows a second, of three packets each.
    let flows = 6.0 * 50e6 / 24_000.0 * 2.0;
    for (meter, each, most) in [
        ("transfers = true", 104.0, 300.0),
        ("rates = \"1ms\"", 3.0 * 16.0, 400.0),
    ] {
        let more = memory(top, meter, arrivals) - memory(top, "", arrivals);
        assert!(
            (flows * each..flows * most).contains(&more),
            "{meter}: {more}"
        );
    }
    let window = memory(
        top,
        "transfers = true\nstarted = [\"1s\", \"1100ms\"]",
        arrivals,
    );
    assert!(
        window < memory(top, "transfers = true", arrivals),
        "fewer transfers count"
    );
    let (top, endless) = (
        "duration = \"100s\"",
        "kind = \"cbr\"\nrate = \"40mbit\"\nfrom = \"s*\"\nto = \"r*\"\ncount = 1000",
    );
    let notes = |rates: &str| of(top, rates, endless).notes();
    let told: Vec<_> = notes("rates = \"1ms\"")
        .into_iter()
        .filter(|note| note.contains("Series of rates"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("GB of memory a run: about 3.0e3 flows in 100000 intervals of 1ms"),
        "{told:?}"
    );
    assert!(
        !notes("rates = \"1s\"")
            .iter()
            .any(|note| note.contains("Series"))
    );
}

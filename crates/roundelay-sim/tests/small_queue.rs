//! TCP small queues: hosts whose own interface is the bottleneck.

use std::path::Path;

use roundelay_sim::scenario::{Results, Scenario};

/// Hosts with 4 Mbit/s and a short queue of their own, before an empty network.
fn run(source: &str, small_queue: bool) -> Results {
    let text = format!(
        "duration = \"20s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\nrate = \"100mbit\"\n\
         delay = \"10ms\"\naccess_rate = \"4mbit\"\naccess_delay = \"1us\"\n\
         [queue]\ncore = \"fifo\"\nedge = \"fifo limit 30\"\nhost = \"fifo limit 30\"\n\
         [[source]]\nname = \"up\"\nfrom = \"s*\"\nto = \"r*\"\n{source}\n\
         tcp = {{ preset = \"linux\", small_queue = {small_queue} }}\n"
    );
    let scenario = Scenario::from_toml("mine.toml", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// Dropped packets, the longest delay in seconds, and the throughput in bits a second.
fn of_upload(small_queue: bool) -> (u64, f64, f64) {
    let results = run("kind = \"tcp\"", small_queue);
    let up = &results.flows[0];
    let dropped: u64 = results
        .links
        .iter()
        .map(|link| link.dropped.iter().sum::<u64>())
        .sum();
    (dropped, up.longest_delay.expect("packets"), up.throughput)
}

/// The upload has the link and loses nothing. A piece of two segments waits for two others at most, and
/// its last segment leaves after three times a piece, as in Linux: pings there wait for 13 to 20 ms.
#[test]
fn an_upload_fills_no_queue_of_its_host() {
    let (dropped, delay, throughput) = of_upload(true);
    let piece = 2.0 * 1500.0 * 8.0 / 4e6;
    assert_eq!(dropped, 0);
    assert!(delay < 0.011 + 3.0 * piece, "{delay}");
    assert!(throughput > 0.95 * 4e6, "{throughput}");
    let (dropped, longer, _) = of_upload(false);
    assert!(dropped > 0);
    assert!(longer > 2.0 * delay, "{longer}");
}

/// Each source that sends over TCP hears what leaves its host: otherwise it would wait forever.
#[test]
fn no_source_waits_forever() {
    for source in [
        "kind = \"tcp\"\nsize = \"1mb\"",
        "kind = \"request_response\"\nrequest = \"1kb\"\nresponse = \"100kb\"\nthink = \"100ms\"",
        "kind = \"web_page\"\ndocument = \"50kb\"\nobject = \"50kb\"\nobjects = 6\nthink = \"100ms\"",
        "kind = \"video\"\nsegment = \"300kb\"\ninterval = \"2s\"",
        "kind = \"connections\"\nconnections = [{ messages = [\"> 300kb\", \"< 300kb\", \"> 9kb\"] }]",
    ] {
        let [small, other] = [true, false].map(|small_queue| {
            let results = run(source, small_queue);
            results.groups[0].completion.count
        });
        assert!(
            small > 0 && small + small / 4 + 1 >= other,
            "{source}: {small}, {other}"
        );
    }
}

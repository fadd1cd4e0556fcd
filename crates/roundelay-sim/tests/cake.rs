//! The experiments of CAKE's paper ("Piece of CAKE") on the scenarios of
//! `docs/schedulers/cake.md`, shortened. `the_tables_of_the_page` prints the page's figures.

use std::path::Path;

use roundelay::{DropReason, Duration, QueueSpec};
use roundelay_sim::scenario::{GroupResult, Results, Scenario};

/// Runs an example under another queue in all routers: for `seconds` with a quarter as warm-up, or
/// as long as the file says.
fn run(name: &str, queue: &str, seconds: Option<u64>, seed: u64) -> Results {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios");
    let text = std::fs::read_to_string(examples.join(name)).expect("an example");
    let mut scenario = Scenario::from_toml(name, &text, &examples).expect("a scenario");
    if let Some(seconds) = seconds {
        scenario.duration = Duration::from_secs(seconds);
        scenario.warmup = Duration::from_secs(seconds / 4);
    }
    let queue: QueueSpec = queue.parse().expect("a queue");
    scenario.set_queues(&queue).expect("routers");
    scenario.run(seed, |_| ()).expect("it runs")
}

fn group<'a>(results: &'a Results, name: &str) -> &'a GroupResult {
    let found = results.groups.iter().find(|group| group.name == name);
    found.unwrap_or_else(|| panic!("no group {name}"))
}

fn p99(results: &Results, name: &str) -> f64 {
    group(results, name).delay.p99.expect("packets arrived")
}

/// Mbit/s.
fn rate(results: &Results, name: &str) -> f64 {
    group(results, name).throughput / 1e6
}

/// Latency under load: a call keeps its delay while downloads and uploads fill an access, under queues by
/// flow. In one queue for all it waits behind their packets.
#[test]
fn a_call_waits_for_nobody_under_load() {
    let delay = |queue: &str| {
        let results = run("cake-load.toml", queue, Some(12), 1);
        (
            p99(&results, "call down"),
            p99(&results, "call up"),
            rate(&results, "downloads"),
        )
    };
    let (fifo, fifo_up, _) = delay("fifo limit 1000");
    assert!(fifo > 0.1 && fifo_up > 0.1, "{fifo} s and {fifo_up} s");
    for queue in ["cake besteffort", "fq_codel"] {
        let (down, up, downloads) = delay(queue);
        // 14 ms on the way, and some packets of others on the link.
        assert!(down < 0.018 && up < 0.025, "{queue}: {down} s and {up} s");
        assert!(downloads > 16.0, "{queue}: {downloads} Mbit/s");
    }
}

/// Tins: a video call above its fair share keeps its rate and its delay in the voice tin,
/// and nowhere else.
#[test]
fn a_tin_protects_what_is_above_its_fair_share() {
    let video = |queue: &str| {
        let results = run("cake-tins.toml", queue, Some(12), 1);
        let group = group(&results, "video call");
        (
            group.loss.expect("packets were sent"),
            p99(&results, "video call"),
            rate(&results, "downloads"),
        )
    };
    let (loss, delay, downloads) = video("cake diffserv3 bandwidth 9.9mbit");
    assert!(loss == 0.0 && delay < 0.02, "{loss}, {delay} s");
    assert!(downloads > 7.0, "{downloads} Mbit/s");
    for queue in ["cake besteffort bandwidth 9.9mbit", "fq_codel"] {
        let (loss, delay, _) = video(queue);
        assert!(loss > 0.3 && delay > 0.05, "{queue}: {loss}, {delay} s");
    }
}

/// Hosts: one with eight downloads gets no more than one with two. By flows, it gets eight
/// tenths.
#[test]
fn hosts_share_an_access_whatever_their_downloads() {
    let part = |queue: &str| {
        let results = run("cake-hosts.toml", queue, Some(24), 1);
        let laptop = rate(&results, "laptop");
        laptop / (laptop + rate(&results, "console"))
    };
    for isolation in ["triple-isolate", "dual-dsthost"] {
        let part = part(&format!("cake besteffort {isolation}"));
        assert!((part - 0.5).abs() < 0.02, "{isolation}: {part}");
    }
    for queue in ["cake besteffort flows", "fq_codel"] {
        let part = part(queue);
        assert!((part - 0.2).abs() < 0.05, "{queue}: {part}");
    }
}

/// ACK filter: on 30/1 Mbit/s, downloads are held up by their acknowledgements, and less so with
/// the filter.
#[test]
fn filtered_acknowledgements_leave_the_uplink_to_uploads() {
    let both = |queue: &str| {
        let results = run("cake-acks.toml", queue, Some(16), 1);
        (rate(&results, "downloads"), rate(&results, "uploads"))
    };
    let (down, up) = both("cake besteffort");
    for filter in ["ack-filter", "ack-filter-aggressive"] {
        let (filtered_down, filtered_up) = both(&format!("cake besteffort {filter}"));
        assert!(
            filtered_down > 1.1 * down || filtered_up > 1.1 * up,
            "{filter}: {filtered_down} and {filtered_up}, without {down} and {up} Mbit/s"
        );
    }
}

/// What the filter drops is counted apart, and is no loss of a link or a class of links.
#[test]
fn filtered_acknowledgements_are_no_loss() {
    let filtered = DropReason::Filtered as usize;
    let at_links = |results: &Results| {
        let mut sum = 0;
        for link in &results.links {
            sum += link.dropped[filtered];
        }
        sum
    };
    let results = run("cake-acks.toml", "cake besteffort ack-filter", Some(8), 1);
    let all = at_links(&results);
    assert!(all > 1000, "{all}");
    let mut of_classes = 0;
    for class in &results.classes {
        of_classes += class.dropped[filtered];
        let dropped: u64 = class.dropped.iter().sum();
        let gone = (dropped - class.dropped[filtered] + class.lost) as f64;
        let known = gone + (class.arrived - dropped) as f64;
        let loss = class.loss.expect("packets");
        assert!((loss - gone / known).abs() < 1e-3, "{class:?}");
    }
    assert_eq!(of_classes, all);
    let results = run("cake-acks.toml", "cake besteffort", Some(8), 1);
    assert_eq!(at_links(&results), 0);
}

/// Means of some figures over three seeds of a whole run.
fn means<const N: usize>(
    name: &str,
    queue: &str,
    figures: impl Fn(&Results) -> [f64; N],
) -> [f64; N] {
    let mut means = [0.0; N];
    for seed in 1..=3 {
        let results = run(name, queue, None, seed);
        for (mean, figure) in means.iter_mut().zip(figures(&results)) {
            *mean += figure / 3.0;
        }
    }
    println!("{name}, {queue}: {means:.3?}");
    means
}

/// The tables of `docs/schedulers/cake.md`, of whole runs: `--nocapture` prints their figures.
#[test]
#[ignore = "minutes: make test-full"]
fn the_tables_of_the_page() {
    println!("p99 of a call down and up, ms; downloads and uploads, Mbit/s");
    let [cake, fq_codel, fifo] = ["cake besteffort", "fq_codel", "fifo limit 1000"].map(|queue| {
        means("cake-load.toml", queue, |results| {
            let [down, up] = ["call down", "call up"].map(|name| 1e3 * p99(results, name));
            let [downloads, uploads] = ["downloads", "uploads"].map(|name| rate(results, name));
            [down, up, downloads, uploads]
        })
    });
    assert!(fifo[0] > 5.0 * cake[0] && fifo[0] > 5.0 * fq_codel[0]);
    println!("the video call: loss in percent, p99 in ms; downloads, Mbit/s");
    let tins = ["diffserv3", "diffserv4", "besteffort"].map(|tins| {
        means(
            "cake-tins.toml",
            &format!("cake {tins} bandwidth 9.9mbit"),
            |results| {
                let loss = group(results, "video call")
                    .loss
                    .expect("packets were sent");
                let delay = 1e3 * p99(results, "video call");
                [100.0 * loss, delay, rate(results, "downloads")]
            },
        )
    });
    assert!(tins[0][0] == 0.0 && tins[1][0] == 0.0 && tins[2][0] > 30.0);
    println!("the laptop's part of both");
    let parts = [
        "cake triple-isolate",
        "cake dual-dsthost",
        "cake flows",
        "fq_codel",
    ]
    .map(|queue| {
        means("cake-hosts.toml", queue, |results| {
            let laptop = rate(results, "laptop");
            [laptop / (laptop + rate(results, "console"))]
        })
    });
    assert!((parts[0][0] - 0.5).abs() < 0.02 && (parts[1][0] - 0.5).abs() < 0.02);
    assert!((parts[2][0] - 0.2).abs() < 0.05 && (parts[3][0] - 0.2).abs() < 0.05);
    println!("downloads and uploads, Mbit/s");
    let [all, some, few] = ["no-ack-filter", "ack-filter", "ack-filter-aggressive"].map(|filter| {
        means(
            "cake-acks.toml",
            &format!("cake besteffort {filter}"),
            |results| [rate(results, "downloads"), rate(results, "uploads")],
        )
    });
    for filtered in [some, few] {
        assert!(filtered[0] > 1.1 * all[0] || filtered[1] > 1.1 * all[1]);
    }
}

//! Bursts of segmentation offload in queues: cut into segments, or one packet for each queue.

use std::path::Path;

use roundelay_sim::scenario::{Results, Scenario};

/// A file of 3 MB over 20 Mbit/s with a round trip of 40 ms.
fn file(queue: &str, offload: &str) -> Results {
    let text = format!(
        "duration = \"30s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 1\nrate = \"20mbit\"\ndelay = \"20ms\"\naccess_rate = \"1gbit\"\naccess_delay = \"1us\"\n\
         [queue]\ncore = \"{queue}\"\n[[source]]\nname = \"file\"\nkind = \"tcp\"\nsize = \"3mb\"\nfrom = \"s*\"\nto = \"r*\"\ntcp = {{ preset = \"linux\", offload = \"{offload}\" }}\n"
    );
    let scenario = Scenario::from_toml("mine.toml", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{queue}, {offload}: {error}"))
}

/// The busiest link's packets, and the part of the time in which it sends.
fn busiest(results: &Results) -> (u64, f64) {
    let mut busiest = &results.links[0];
    for link in &results.links {
        if link.utilisation > busiest.utilisation {
            busiest = link;
        }
    }
    (busiest.packets, busiest.utilisation)
}

/// Whole bursts are fewer packets with as many bytes, under disciplines that count a flow's longest
/// packet, too; and the file is complete each time.
#[test]
fn queues_see_segments_or_whole_bursts() {
    for queue in ["fifo limit 200", "drr", "qfq", "sfq", "fq_codel", "cake"] {
        let [none, split, whole] = ["none", "split", "whole"].map(|offload| {
            let results = file(queue, offload);
            assert_eq!(results.groups[0].incomplete, 0, "{queue}, {offload}");
            busiest(&results)
        });
        println!("{queue}: {none:?} {split:?} {whole:?}");
        let least = 3_000_000_u64.div_ceil(1448);
        for (packets, _) in [none, split] {
            assert!((least..least + least / 10).contains(&packets), "{queue}");
        }
        assert!(whole.0 * 3 < none.0 * 2, "{queue}: {}", whole.0);
        let part = whole.1 / none.1;
        assert!((0.95..1.05).contains(&part), "{queue}: {part}");
    }
}

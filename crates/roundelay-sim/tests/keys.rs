//! Scenario keys that change a run: random gaps, hash seeds, random access delays, ends of sources,
//! decision costs.

use std::path::Path;

use roundelay::Instant;
use roundelay_sim::log::Log;
use roundelay_sim::scenario::{Estimate, Results, Scenario};
use roundelay_verify::verify;

/// A dumbbell with `pairs` pairs and a core link of 5 Mbit/s.
fn dumbbell(pairs: u32, top: &str, topology: &str, rest: &str) -> String {
    format!(
        "duration = \"10s\"\n{top}\n[topology]\ntemplate = \"dumbbell\"\npairs = {pairs}\nrate = \"5mbit\"\n{topology}\n{rest}\n"
    )
}

fn source(keys: &str) -> String {
    format!("[[source]]\nfrom = \"s*\"\nto = \"r*\"\n{keys}\n")
}

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml("mine.toml", text, Path::new(".")).map_err(|error| error.to_string())
}

fn scenario(text: &str) -> Scenario {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario, seed: u64) -> Results {
    scenario
        .run(seed, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn gaps_are_even_or_random() {
    let of = |gaps: &str| {
        dumbbell(
            10,
            "",
            "",
            &source(&format!("kind = \"cbr\"\nrate = \"400kbit\"\n{gaps}")),
        )
    };
    let sent = |gaps: &str, seed| run(&scenario(&of(gaps)), seed).groups[0].packets.sent;
    assert_eq!((sent("", 1), sent("gaps = \"even\"", 2)), (5000, 5000));
    let random: Vec<_> = (1..=5)
        .map(|seed| sent("gaps = \"random\"", seed))
        .collect();
    // Ten sources of 500 packets, with a variance of a twelfth of the number; ten first packets
    // come without a gap.
    assert!(
        random.iter().all(|sent| sent.abs_diff(5000) < 5 * 21),
        "{random:?}"
    );
    assert!(random.iter().any(|sent| *sent != 5000), "{random:?}");
    let estimate = Estimate::of(&scenario(&of("gaps = \"random\""))).packets;
    assert!(
        random.iter().all(|sent| (*sent as f64) < estimate) && estimate < 5200.0,
        "{estimate}"
    );
    let refused = read(&of("gaps = \"odd\"")).unwrap_err();
    assert!(
        refused.contains("unknown value `odd`, expected `even` or `random`"),
        "{refused}"
    );
}

/// Throughputs of twenty flows in five queues chosen by a hash.
fn shares(top: &str, seed: u64) -> Vec<f64> {
    let queue =
        "[[port]]\nfrom = \"left\"\nto = \"right\"\nqueue = \"mqfq hashes 1 queues 5 limit 50\"\n";
    let source = source("kind = \"cbr\"\nrate = \"500kbit\"\ngaps = \"random\"");
    run(
        &scenario(&dumbbell(20, top, "", &format!("{queue}{source}"))),
        seed,
    )
    .flows
    .iter()
    .map(|flow| flow.throughput)
    .collect()
}

fn largest_difference(one: &[f64], other: &[f64]) -> f64 {
    one.iter()
        .zip(other)
        .map(|(one, other)| (one - other).abs() / one.max(*other))
        .fold(0.0, f64::max)
}

#[test]
fn seeds_of_hashes_are_apart_from_seeds_of_traffic() {
    assert_eq!(
        shares("hash_seed = 3", 3),
        shares("", 3),
        "by default it is the run's seed"
    );
    let collide = |hashes: &str| [1, 2, 3].map(|seed| shares(hashes, seed));
    let [one, two, three] = collide("hash_seed = 7");
    assert_ne!(one, two, "traffic differs");
    for other in [&two, &three] {
        let most = largest_difference(&one, other);
        assert!(most < 0.2, "{most}: the same flows collide");
    }
    let others = (8..12).map(|hashes| shares(&format!("hash_seed = {hashes}"), 1));
    assert!(
        others
            .into_iter()
            .all(|other| largest_difference(&one, &other) > 0.3),
        "other flows collide"
    );
    let refused = read(&dumbbell(
        1,
        "hash_seed = -1",
        "",
        &source("kind = \"voip\""),
    ))
    .unwrap_err();
    assert!(
        refused.contains("-1: legal range 0 to 18446744073709551615"),
        "{refused}"
    );
}

/// Sources depend on the seed and not on the hash seed. A program can set the hash seed, which also
/// spreads flows over routes.
#[test]
fn a_program_can_set_the_seed_of_hashes() {
    let mut scenario = scenario(&dumbbell(
        5,
        "[routing]\nspread = true\n",
        "",
        &source("kind = \"poisson\"\nrate = \"2mbit\""),
    ));
    let sent = |scenario: &Scenario| {
        run(scenario, 1)
            .flows
            .iter()
            .map(|flow| flow.packets.sent)
            .collect::<Vec<_>>()
    };
    let (before, spread) = (sent(&scenario), scenario.network(1).routing());
    assert_ne!(spread, scenario.network(2).routing());
    scenario.hash_seed = Some(9);
    assert_eq!(sent(&scenario), before);
    assert_eq!(scenario.network(1).routing(), scenario.network(2).routing());
    assert_ne!(scenario.network(1).routing(), spread);
}

/// Delays in milliseconds: of the links from and to a sender, and of the link from a receiver.
fn delays(scenario: &Scenario, seed: u64, pair: u32) -> [f64; 3] {
    let network = scenario.network(seed);
    let ends = [(format!("s{pair}"), "left"), (format!("r{pair}"), "right")];
    let [[there, back], [far, _]] = ends.map(|(host, router)| {
        let [host, router] = [&host, router].map(|name| network.named(name).expect("a node"));
        [(host, router), (router, host)].map(|(from, to)| {
            let link = network.link_between(from, to).expect("a link");
            network.links()[link.0 as usize].delay.as_secs_f64() * 1e3
        })
    });
    [there, back, far]
}

#[test]
fn access_delays_are_drawn_for_each_run() {
    let text = |jitter: &str| {
        let topology = format!("access_delay = \"2ms\"\naccess_delay_step = \"10ms\"\n{jitter}");
        dumbbell(
            40,
            "",
            &topology,
            &source("kind = \"cbr\"\nrate = \"5kbit\"\npacket_len = 50"),
        )
    };
    let drawn = scenario(&text("access_delay_jitter = \"8ms\""));
    let plain = scenario(&text(""));
    let mut sum = 0.0;
    for pair in 0..40 {
        let least = 2.0 + 10.0 * f64::from(pair);
        let [there, back, far] = delays(&drawn, 1, pair);
        assert!(
            (there - back).abs() < 1e-9 && (least..=least + 8.0).contains(&there),
            "pair {pair}: {there} and {back} ms"
        );
        assert!((far - 2.0).abs() < 1e-9, "receivers are as near as before");
        assert_eq!(
            delays(&drawn, 1, pair),
            [there, back, far],
            "same seed, same delays"
        );
        assert!(
            (delays(&drawn, 2, pair)[0] - there).abs() > 1e-6,
            "replicas differ"
        );
        assert!((delays(&plain, 1, pair)[0] - least).abs() < 1e-9);
        sum += there - least;
    }
    assert!(
        (sum / 40.0 - 4.0).abs() < 5.0 * 8.0 / (12.0_f64 * 40.0).sqrt(),
        "even: {sum}"
    );
    let shortest = |scenario: &Scenario| {
        run(scenario, 1)
            .flows
            .iter()
            .map(|flow| flow.delay.unwrap_or(0.0))
            .collect::<Vec<_>>()
    };
    for (pair, (with, without)) in (0..).zip(shortest(&drawn).into_iter().zip(shortest(&plain))) {
        let more = (delays(&drawn, 1, pair)[0] - delays(&plain, 1, pair)[0]) / 1e3;
        assert!(
            (with - without - more).abs() < 5e-4,
            "pair {pair}: packets are so much longer on their way"
        );
    }
}

/// The log has the link parameters of the run.
#[test]
fn logs_of_drawn_delays_and_of_decisions_are_logs_of_networks() {
    let port = "[[port]]\nfrom = \"left\"\nto = \"right\"\nqueue = \"afq quantum 3000 limit 20\"\ndecision = \"500us\"\n";
    let rest = format!(
        "{port}{}",
        source("kind = \"poisson\"\nrate = \"800kbit\"\nurgency = \"deadline 20ms\"")
    );
    let scenario = scenario(&dumbbell(6, "", "access_delay_jitter = \"8ms\"", &rest));
    let mut bytes = Vec::new();
    let mut log = Log::new(&mut bytes, &scenario.network(5));
    scenario
        .run_with(5, &mut log, |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    log.finish(Instant::ZERO + scenario.duration)
        .expect("memory takes all");
    drop(log);
    let verified = verify(&bytes[..]).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        verified.delivered > 1000 && verified.dropped > 0,
        "{verified:?}"
    );
    let text = String::from_utf8(bytes).expect("JSON is text");
    let (header, _) = text.split_once('\n').expect("a first line");
    assert_eq!(
        header.matches("\"decision\":500000000").count(),
        1,
        "only where it costs time"
    );
    let lie = text.replacen(",\"decision\":500000000", "", 1);
    assert!(
        verify(lie.as_bytes()).is_err_and(|error| error.to_string().contains("the link rests"))
    );
}

#[test]
fn sources_end_after_so_many_packets() {
    for (keys, most) in [
        ("kind = \"cbr\"\nrate = \"800kbit\"", 50.0),
        (
            "kind = \"cbr\"\nrate = \"800kbit\"\ngaps = \"random\"",
            50.0,
        ),
        ("kind = \"poisson\"\nrate = \"800kbit\"", 50.0),
        (
            "kind = \"on_off\"\nrate = \"800kbit\"\non = \"100ms\"\noff = \"100ms\"",
            50.0,
        ),
        ("kind = \"voip\"", 50.0),
    ] {
        let scenario = scenario(&dumbbell(
            2,
            "",
            "",
            &source(&format!("{keys}\npackets = 50\ncount = 2")),
        ));
        let results = run(&scenario, 1);
        let group = &results.groups[0];
        assert_eq!(
            (group.packets.sent, group.completion.count, group.incomplete),
            (200, 4, 0),
            "{keys}"
        );
        assert!(results.flows.iter().all(|flow| !flow.open), "{keys}");
        let estimate = Estimate::of(&scenario).packets;
        assert!((estimate - 4.0 * most).abs() < 1e-9, "{keys}: {estimate}");
    }
    let cut = "kind = \"cbr\"\nrate = \"80kbit\"\npackets = 50\nstop = \"2s\"";
    let cut = run(&scenario(&dumbbell(1, "", "", &source(cut))), 1).groups[0].clone();
    assert_eq!(
        (cut.packets.sent, cut.completion.count, cut.incomplete),
        (20, 0, 1),
        "cut off by its stop"
    );
    let refused = |key: &str| {
        read(&dumbbell(
            1,
            "",
            "",
            &source(&format!("kind = \"cbr\"\nrate = \"1mbit\"\n{key}")),
        ))
        .unwrap_err()
    };
    assert_eq!(
        refused("packets = 0"),
        "mine.toml:13: packets 0: legal range 1 to 1000000000000"
    );
    assert!(
        refused("packets = \"all\"")
            .contains("expected a whole number, legal range 1 to 1000000000000")
    );
}

/// Packets of 1,000 bytes take 1.6 ms; with a decision cost of a millisecond, 2.6 ms.
#[test]
fn decisions_cost_time() {
    let text = |queue: &str, decision: &str| {
        let port =
            format!("[[port]]\nfrom = \"left\"\nto = \"right\"\nqueue = \"{queue}\"\n{decision}\n");
        dumbbell(
            4,
            "",
            "",
            &format!("{port}{}", source("kind = \"cbr\"\nrate = \"5mbit\"")),
        )
    };
    let sent = |queue: &str, decision: &str| {
        let results = run(&scenario(&text(queue, decision)), 1);
        results
            .links
            .iter()
            .find(|link| link.name() == "left > right")
            .map_or(0, |link| link.packets)
    };
    let free = sent("drr limit 100", "");
    assert!((6_200..6_250).contains(&free), "10 s in 1.6 ms: {free}");
    assert_eq!(sent("drr limit 100", "decision = 0"), free);
    assert!((3_830..3_847).contains(&sent("drr limit 100", "decision = \"1ms\"")));
    let table = "decision = { afq = \"1ms\", drr = \"1ms\", fifo = 0 }";
    assert!((3_830..3_847).contains(&sent("drr limit 100", table)));
    assert_eq!(sent("fifo limit 100", table), sent("fifo limit 100", ""));
    // Turns of four packets: one decision for four packets.
    let turns = sent("afq quantum 4000 limit 100", table);
    assert!((5_380..5_406).contains(&turns), "10 s in 1.85 ms: {turns}");
    for (queue, decision, message) in [
        (
            "wf2q",
            table,
            "mine.toml:12: wf2q: decision: expected a time for wf2q, 0 if its decisions cost none; the table has afq, drr, fifo",
        ),
        (
            "lstf preempt",
            "decision = \"1ms\"",
            "mine.toml:12: lstf: preempt: expected off, as decisions of the port cost time",
        ),
        (
            "drr",
            "decision = \"4000s\"",
            "mine.toml:12: decision 4000s: legal range 0 to 3600s",
        ),
        (
            "drr",
            "decision = 5",
            "mine.toml:12: decision: '5' has no unit: expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days",
        ),
        (
            "drr",
            "decision = { dr = \"1ms\" }",
            "mine.toml:12: decision: 'dr' is no discipline: `roundelay list` names them, and there is tree",
        ),
    ] {
        assert_eq!(
            read(&text(queue, decision)).map(drop),
            Err(message.to_owned())
        );
    }
    let estimate = Estimate::of(&scenario(&text("drr limit 100", "decision = \"1ms\"")));
    let results = run(&scenario(&text("drr limit 100", "decision = \"1ms\"")), 1);
    assert!(
        results.events as f64 <= estimate.events,
        "{} of {}",
        results.events,
        estimate.events
    );
    // A replacement discipline needs an entry in the table too.
    let mut swapped = scenario(&text("drr limit 100", table));
    assert_eq!(
        swapped
            .set_queues(&"afq".parse().expect("a discipline"))
            .ok(),
        Some(10),
        "two in the middle, and one to each host"
    );
    let error = swapped
        .set_queues(&"wf2q".parse().expect("a discipline"))
        .expect_err("no cost")
        .to_string();
    assert_eq!(
        error,
        "link left > right: wf2q: decision: expected a time for wf2q, 0 if its decisions cost none; the table has afq, drr, fifo"
    );
}

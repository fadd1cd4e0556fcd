//! Keys of scenarios that change how a run goes: random gaps, seeds of hashes, access delays by seed, sources that end, decisions that cost time.

use std::path::Path;

use roundelay_sim::scenario::{Estimate, Results, Scenario};

/// A dumbbell of `pairs` with a core link of 5 Mbit/s.
fn dumbbell(pairs: u32, top: &str, topology: &str, rest: &str) -> String {
    format!("duration = \"10s\"\n{top}\n[topology]\ntemplate = \"dumbbell\"\npairs = {pairs}\nrate = \"5mbit\"\n{topology}\n{rest}\n")
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
    scenario.run(seed, |_| ()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn gaps_are_even_or_random() {
    let of = |gaps: &str| dumbbell(10, "", "", &source(&format!("kind = \"cbr\"\nrate = \"400kbit\"\n{gaps}")));
    let sent = |gaps: &str, seed| run(&scenario(&of(gaps)), seed).groups[0].packets.sent;
    assert_eq!((sent("", 1), sent("gaps = \"even\"", 2)), (5000, 5000));
    let random: Vec<_> = (1..=5).map(|seed| sent("gaps = \"random\"", seed)).collect();
    // Ten sources: ten times 500 packets, whose variance is a twelfth of their number; ten first packets come without a gap.
    assert!(random.iter().all(|sent| sent.abs_diff(5000) < 5 * 21), "{random:?}");
    assert!(random.iter().any(|sent| *sent != 5000), "{random:?}");
    let estimate = Estimate::of(&scenario(&of("gaps = \"random\""))).packets;
    assert!(random.iter().all(|sent| (*sent as f64) < estimate) && estimate < 5200.0, "{estimate}");
    let refused = read(&of("gaps = \"odd\"")).unwrap_err();
    assert!(refused.contains("unknown variant `odd`, expected `even` or `random`"), "{refused}");
}

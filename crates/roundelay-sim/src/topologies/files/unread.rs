//! Which attributes of network files are ignored.

/// Why costs have no effect.
pub(super) const IDLE: &str = "and no route goes by cost without metric = \"cost\" in [routing]";

/// Whether a key that we do not read may mean a rate or a delay: `bandwidth`, `linkCapacity`,
/// `latency_ms`.
pub(super) fn looks_like_a_quantity(key: &str) -> bool {
    const WITHIN: [&str; 6] = [
        "speed",
        "bandwidth",
        "capacity",
        "throughput",
        "delay",
        "latency",
    ];
    const AT_AN_END: [&str; 2] = ["rate", "bw"];
    let key = key.to_ascii_lowercase();
    let ends_with = |word: &&str| key.starts_with(*word) || key.ends_with(*word);
    WITHIN.iter().any(|word| key.contains(word)) || AT_AN_END.iter().any(ends_with)
}

//! Provenance: the metadata that identifies a result's version, seed and configuration.

/// Metadata that identifies a file's origin: Roundelay's version, the seed, and a hash of `config`,
/// the configuration as text.
///
/// The hash is 64-bit FNV-1a, equal on every machine and in every version. It distinguishes
/// configurations but does not resist deliberate collisions.
pub fn provenance(version: &str, seed: u64, config: &str) -> Vec<(String, String)> {
    let hash = config
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let entries = [
        ("version", version.to_owned()),
        ("seed", seed.to_string()),
        ("config_hash", format!("{hash:016x}")),
    ];
    entries
        .map(|(key, value)| (format!("roundelay.{key}"), value))
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_always_has_the_same_hash_and_another_has_another() {
        let hash = |config| provenance("0.1.0", 7, config)[2].1.clone();
        // The published test vectors of 64-bit FNV-1a.
        assert_eq!(hash(""), "cbf29ce484222325");
        assert_eq!(hash("foobar"), "85944171f73967e8");
        assert_eq!(
            provenance("0.1.0", 7, "")[1],
            ("roundelay.seed".to_owned(), "7".to_owned())
        );
    }
}

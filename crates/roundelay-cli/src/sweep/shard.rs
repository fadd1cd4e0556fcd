//! A part of the runs: `--shard 3/16`.

use std::str::FromStr;

use roundelay::Fault;

/// One part of the runs, from 1, and how many parts there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    part: u64,
    parts: u64,
}

impl Shard {
    /// Whether the run with this identity is in the part.
    pub(super) fn has(self, identity: &str) -> bool {
        // 60 of the hash's bits, which are evenly distributed.
        let bits = u64::from_str_radix(identity.get(..15).unwrap_or_default(), 16).unwrap_or(0);
        bits % self.parts == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let expected =
            || Fault::wanted("I/N, as in 3/16: I from 1 to N, N from 1 to 100000").with_given(text);
        let (part, parts) = text.split_once('/').ok_or_else(expected)?;
        let shard = Self {
            part: part.parse().map_err(|_| expected())?,
            parts: parts.parse().map_err(|_| expected())?,
        };
        if (1..=100_000).contains(&shard.parts) && (1..=shard.parts).contains(&shard.part) {
            Ok(shard)
        } else {
            Err(expected())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::identity::run_identity;

    #[test]
    fn shards_divide_all_runs() {
        let shards: Vec<Shard> = (1..=16)
            .map(|part| format!("{part}/16").parse().unwrap())
            .collect();
        let mut counts = [0; 16];
        for seed in 0..1600 {
            let identity = run_identity("point", seed);
            let mine: Vec<_> = (0..16)
                .filter(|part| shards[*part].has(&identity))
                .collect();
            assert_eq!(mine.len(), 1);
            counts[mine[0]] += 1;
        }
        assert!(
            counts.iter().all(|count| (60..=140).contains(count)),
            "{counts:?}"
        );
        assert!(
            ["0/3", "4/3", "3", "1/x", "1/100001"]
                .iter()
                .all(|text| text.parse::<Shard>().is_err())
        );
    }
}

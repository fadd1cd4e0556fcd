//! How much memory disciplines take on a 64-bit machine, so that a comparison in a browser, where
//! addresses have 32 bits, shows the same figures as the command.
//!
//! Records without addresses take the same memory on both. `memory.txt` lists each discipline's
//! fixed bytes and bytes per flow with default parameters, in release builds. With other
//! parameters, a discipline differs by the same number of bytes on both. The core's test
//! `the_browsers_table_has_the_memory_of_every_discipline` compares the file.

use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{Control, Footprint, QueueSpec};

/// A line for each discipline, for each with Linux's rules, and for each number of tins that cake
/// has.
const ON_64_BITS: &str = include_str!("memory.txt");

/// The footprint on a 64-bit machine, from the one on this machine. It stays the same if the
/// discipline comes from outside.
pub(crate) fn on_64_bits(discipline: &AnyDiscipline, here: Footprint) -> Footprint {
    if cfg!(target_pointer_width = "64") {
        return here;
    }
    let Some((default, there)) = here_and_there(discipline) else {
        return here;
    };
    Footprint {
        fixed_bytes: (here.fixed_bytes + there.fixed_bytes).saturating_sub(default.fixed_bytes),
        bytes_per_flow: (here.bytes_per_flow + there.bytes_per_flow)
            .saturating_sub(default.bytes_per_flow),
    }
}

/// A tree's footprint. The bytes per flow, which are the largest leaf's, are as on a 64-bit
/// machine. The fixed bytes stay this machine's.
pub(crate) fn of_tree<'a>(
    leaves: impl Iterator<Item = &'a QueueSpec>,
    here: Footprint,
) -> Footprint {
    if cfg!(target_pointer_width = "64") {
        return here;
    }
    let mut default = 0;
    let mut there = 0;
    for leaf in leaves {
        if let Some((on_this, on_64_bits)) = here_and_there(&leaf.discipline) {
            default = default.max(on_this.bytes_per_flow);
            there = there.max(on_64_bits.bytes_per_flow);
        }
    }
    Footprint {
        bytes_per_flow: (here.bytes_per_flow + there).saturating_sub(default),
        ..here
    }
}

/// The footprints with default parameters, on this machine and on a 64-bit one.
fn here_and_there(discipline: &AnyDiscipline) -> Option<(Footprint, Footprint)> {
    let name = name_of(discipline);
    let there = ON_64_BITS
        .lines()
        .find_map(|line| line.strip_prefix(&name)?.strip_prefix(": "));
    Some((with_defaults(&name)?, parse(there?)?))
}

/// Reads fixed bytes and bytes per flow.
fn parse(words: &str) -> Option<Footprint> {
    let (fixed, per_flow) = words.split_once(' ')?;
    Some(Footprint {
        fixed_bytes: fixed.parse().ok()?,
        bytes_per_flow: per_flow.parse().ok()?,
    })
}

/// Words that change how many records with addresses a discipline has. `cake` has one for each tin.
const WITH_OTHER_RECORDS: [&str; 5] = [
    "linux",
    "besteffort",
    "diffserv4",
    "diffserv8",
    "precedence",
];

/// The discipline's line in the table, without figures.
fn name_of(discipline: &AnyDiscipline) -> String {
    let mut name = discipline.name().to_owned();
    for word in discipline.to_string().split(' ') {
        if WITH_OTHER_RECORDS.contains(&word) {
            name.push(' ');
            name.push_str(word);
        }
    }
    name
}

/// The footprint here, with default parameters.
fn with_defaults(name: &str) -> Option<Footprint> {
    let QueueSpec { discipline, .. } = name.parse().ok()?;
    Some(discipline.build_arena::<()>(Seed::new(1)).ok()?.footprint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_records_has_a_line_of_its_own() {
        let name = |text: &str| name_of(&text.parse::<QueueSpec>().unwrap().discipline);
        assert_eq!(name("qfq_plus linux"), "qfq_plus linux");
        assert_eq!(name("qfq_plus"), "qfq_plus");
        assert_eq!(name("sfq depth 64 linux"), "sfq linux");
        for tins in ["besteffort", "diffserv4", "diffserv8", "precedence"] {
            let spec = format!("cake rtt 50ms {tins} linux");
            let name = name(&spec);
            assert_eq!(name, format!("cake {tins} linux"));
            let line = format!("\n{name}: ");
            assert!(ON_64_BITS.contains(&line), "{name}");
        }
    }
}

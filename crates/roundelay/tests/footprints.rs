//! Footprints of disciplines in release builds: the table of `compare` in the browser.

use std::fs;
use std::path::Path;

use roundelay::QueueSpec;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{Control, Seed};

/// `ROUNDELAY_WRITE=1` writes the table anew.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "debug builds check invariants, with records of their own"
)]
fn the_browsers_table_has_the_memory_of_every_discipline() {
    let mut names = Vec::new();
    for discipline in AnyDiscipline::all() {
        names.push(discipline.name().to_owned());
        names.push(format!("{} linux", discipline.name()));
    }
    // Those with another number of tins.
    for tins in ["besteffort", "diffserv4", "diffserv8", "precedence"] {
        names.push(format!("cake {tins}"));
        names.push(format!("cake {tins} linux"));
    }
    let line = |name: String| {
        let QueueSpec { discipline, .. } = name.parse().ok()?;
        let footprint = discipline.build_arena::<()>(Seed::new(1)).ok()?.footprint();
        Some(format!(
            "{name}: {} {}\n",
            footprint.fixed_bytes, footprint.bytes_per_flow
        ))
    };
    let (now, file): (String, _) = (
        names.into_iter().filter_map(line).collect(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../roundelay-trace/src/memory.txt"),
    );
    assert!(now.contains("qfq_plus linux: ") && now.lines().count() > 30);
    if std::env::var_os("ROUNDELAY_WRITE").is_some() {
        return fs::write(file, now).unwrap();
    }
    let again = "write the table anew: ROUNDELAY_WRITE=1 cargo test --release -p roundelay --test release footprints::";
    assert_eq!(fs::read_to_string(file).unwrap(), now, "{again}");
}

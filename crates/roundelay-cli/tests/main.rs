//! Tests of the command: one program, so that the crates under test are linked once.

#[path = "../../roundelay-trace/tests/common/mod.rs"]
mod common;

mod anonymise;
mod applications;
mod bench;
#[cfg(target_os = "linux")]
mod between;
mod bounds;
mod captures;
mod circles;
mod command;
mod corpora;
mod damaged;
mod dependencies;
mod documents;
mod evaluate;
mod failures;
mod faults;
mod first_answers;
mod folder;
mod full_disk;
mod import;
#[cfg(target_os = "linux")]
mod import_run;
mod index;
mod json;
mod limits;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod live_ends;
mod meter;
mod objective;
mod operators;
mod outputs;
mod own_scheduler;
mod packaging;
mod papers;
mod plot;
mod progress;
#[cfg(target_os = "linux")]
mod pty;
mod readers;
mod replay;
mod selection;
mod simulate;
mod simulate_files;
mod style;
mod sweep;
mod tree;
mod unseen;
mod versions;

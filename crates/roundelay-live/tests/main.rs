//! Tests of the bottleneck under a fake clock, of records and replays, and of runs in namespaces.

#[cfg(target_os = "linux")]
mod devices;
mod fake;
#[cfg(target_os = "linux")]
mod namespaces;
mod records;
mod traces;
mod worlds;

//! Tests of the bottleneck under a fake clock, of records and replays, and of runs in namespaces.

#[cfg(target_os = "linux")]
mod audit;
mod corpora;
#[cfg(target_os = "linux")]
mod cost;
#[cfg(target_os = "linux")]
mod devices;
mod fake;
#[cfg(target_os = "linux")]
mod long;
#[cfg(target_os = "linux")]
mod namespaces;
mod records;
#[cfg(target_os = "linux")]
mod shares;
mod simulated;
mod traces;
mod trees;
mod worlds;

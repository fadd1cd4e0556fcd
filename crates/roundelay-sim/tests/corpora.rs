//! Replay of the fuzzers' corpora without a fuzzer.

#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/log.rs"]
mod log;
#[path = "../../../fuzz/checks/maps.rs"]
mod maps;
#[path = "../../../fuzz/checks/scenario.rs"]
mod scenario;

#[test]
fn scenario_corpus() {
    corpus::replay("scenario", 60, scenario::check);
}

#[test]
fn maps_corpus() {
    corpus::replay("maps", 60, maps::check);
}

#[test]
fn log_corpus() {
    corpus::replay("log", 60, log::check);
}

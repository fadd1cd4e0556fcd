//! Replay of the fuzzer's corpus without a fuzzer.

#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/schedule.rs"]
mod schedule;

#[test]
fn schedule_corpus() {
    corpus::replay("schedule", 60, schedule::check);
}

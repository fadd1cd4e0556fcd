//! Replay of the fuzzer's corpus without a fuzzer.

#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/sweep.rs"]
mod sweep;

#[test]
fn sweep_corpus() {
    corpus::replay("sweep", 40, sweep::check);
}

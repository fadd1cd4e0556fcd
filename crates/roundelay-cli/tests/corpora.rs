//! Replay of the fuzzer's corpus without a fuzzer.

#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/plan.rs"]
mod plan;
#[path = "../../../fuzz/checks/sweep.rs"]
mod sweep;

#[test]
fn plan_corpus() {
    corpus::replay("plan", 200, plan::check);
}

#[test]
fn sweep_corpus() {
    corpus::replay("sweep", 40, sweep::check);
}

//! Replay of the fuzzer's corpus without a fuzzer.

#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/import.rs"]
mod import;

#[test]
fn import_corpus() {
    corpus::replay("import", 200, import::check);
}

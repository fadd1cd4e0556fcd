//! Replay of the fuzzers' corpora without a fuzzer.

use std::path::Path;

use roundelay_live::{Entry, FORMAT, Recording};

#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/link.rs"]
mod link;
#[path = "../../../fuzz/checks/record.rs"]
mod record;

#[test]
fn link_corpus() {
    corpus::replay("link", 20, link::check);
}

#[test]
fn record_corpus() {
    corpus::replay("record", 20, record::check);
}

/// Records of format 1, written by version 0.1.0: as long as the format has this number, they can be
/// read to their ends.
#[test]
fn records_of_this_format_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    for name in ["fifo.pcapng", "fq_codel.pcapng", "cake.pcapng"] {
        let mut recording = Recording::open(&folder.join(name)).expect("a record");
        assert_eq!(recording.start().format, FORMAT);
        let mut last = None;
        while let Some(entry) = recording.next().expect("an entry") {
            last = Some(entry);
        }
        assert!(matches!(last, Some(Entry::End(_))), "{name}");
    }
}

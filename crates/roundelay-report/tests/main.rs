//! Tests of reports and pages: one program, so that the crates under test are linked once.

#[path = "../../roundelay-trace/tests/common/mod.rs"]
mod common;
#[path = "../examples/sample_page/hostile.rs"]
mod hostile;
#[path = "../examples/sample_page/sample.rs"]
mod sample;

mod compared;
#[cfg(feature = "parquet")]
mod corpora;
mod link_layers;
#[cfg(feature = "parquet")]
mod parquet;
mod report;
mod selections;
mod told;
mod trees;
mod uplot;
mod verdicts;

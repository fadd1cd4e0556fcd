//! Tests of reports and pages: one program, so that the crates under test are linked once.

#[path = "../examples/sample_page/hostile.rs"]
mod hostile;
#[path = "../examples/sample_page/sample.rs"]
mod sample;

#[cfg(feature = "parquet")]
mod corpora;
#[cfg(feature = "parquet")]
mod parquet;
mod report;

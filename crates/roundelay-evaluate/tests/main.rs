//! Tests of the scenarios: one program, so that the crates under test are linked once.

mod scenarios;

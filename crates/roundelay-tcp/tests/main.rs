//! Tests of TCP: one program, so that the crates under test are linked once.

mod marks;
mod pacing;
mod presets;
mod purity;
mod theorems;

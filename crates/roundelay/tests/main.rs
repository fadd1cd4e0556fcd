//! Tests of the core: one program, so that every discipline is compiled once.

mod conformance;
mod corpora;
mod footprints;
mod purity;
mod registry;
mod small_worlds;
mod soak;
mod theorems;
mod tree;

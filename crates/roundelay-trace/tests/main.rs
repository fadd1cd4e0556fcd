//! Tests of captures and of `compare`: one program, so that the crates under test are linked once.

mod acks;
mod capture;
mod classifier;
mod common;
mod compare;
mod compressed;
mod connections;
mod corpora;
mod distances;
mod faults;
mod foreign;
mod hostile;
mod kinds;
mod link_layer;
mod links;
mod loads;
mod pages;
mod selection;
mod speed;
mod stations;
mod tree;
mod weights;

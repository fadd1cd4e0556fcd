//! Reads a shell script for the `tc` commands that it runs, with their words as the shell would
//! pass them.
//!
//! This is no shell. We follow variables, arithmetic, quotes, functions, loops, `case`, and tests
//! on known values. What depends on the machine is left out, with a remark.

mod arithmetic;
mod budget;
mod call;
mod expand;
mod machine;
mod names;
mod parse;
mod pattern;
mod programs;
mod restore;

pub(crate) use call::{Call, Marking, Nft};
pub(crate) use machine::{Ran, run};

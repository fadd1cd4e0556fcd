//! Scripts in the style of public ones, and scripts that are none.

mod corpora;
mod found;
mod garbage;
mod operators;
mod packets;
#[cfg(unix)]
mod recorder;
mod scripts;
mod traps;
mod uci;

//! Placeholder, replaced at once.
fn main() {}

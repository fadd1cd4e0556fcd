//! The papers' tables, figures and theorems as plans: run, compared with what was published, judged.
//!
//! A plan is a TOML file in `papers/<paper>/`: what to run ([`experiments`]), what was published, and claims as predicates over figures.

pub mod experiments;
mod table;

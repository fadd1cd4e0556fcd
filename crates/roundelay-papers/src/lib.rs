//! Plans for the papers' tables, figures and theorems: run, compare with published numbers, judge
//! claims.
//!
//! A plan is a TOML file in `papers/<paper>/`: the experiment ([`experiments`]), the published
//! numbers, and claims as predicates over figures.

pub mod cache;
pub mod catalogue;
mod compared;
pub mod counts;
pub mod essay;
pub mod experiments;
pub mod faults;
pub mod figures;
pub mod finding;
pub mod judged;
pub mod kind;
pub mod locations;
mod markdown;
pub mod noise;
pub mod open;
pub mod page;
pub mod plan;
pub mod predicate;
pub mod record;
pub mod runner;
pub mod site;
pub mod summary;
mod table;
pub mod text;
pub mod verdict;

//! Checks plans against the papers' numbers, and pages against plans and records.

mod faults;
mod pages;
mod published;
mod theory;

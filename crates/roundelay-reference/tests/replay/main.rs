//! The model of "Universal Packet Scheduling": what it records and refuses, its theorems over random schedules, and exhaustive searches.

mod random;
mod small;
mod tables;

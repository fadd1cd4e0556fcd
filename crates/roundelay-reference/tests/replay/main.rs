//! The model of "Universal Packet Scheduling": recording and refusals, theorems over random
//! schedules, and exhaustive searches.

mod random;
mod small;
mod tables;

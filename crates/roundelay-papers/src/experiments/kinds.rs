//! All kinds of experiments, by name in plans.

use serde::de::DeserializeOwned;
use toml::Table;

use super::{
    Experiment, collisions, cost, deadlines, footprint, hierarchy, hold, leftover, listings,
    promise, reordering, replay, replayable, simulate, smallest, turns, worked_schedule,
    worst_case,
};
use crate::locations::{self, Wrong};

type Read = fn(&Table) -> Result<Box<dyn Experiment>, Wrong>;

fn read<E: Experiment + DeserializeOwned + 'static>(
    table: &Table,
) -> Result<Box<dyn Experiment>, Wrong> {
    Ok(Box::new(locations::read::<E>(table)?))
}

/// All kinds, by name in plans.
pub const KINDS: &[(&str, Read)] = &[
    ("collisions", read::<collisions::Collisions>),
    ("cost", cost::read),
    ("deadlines", read::<deadlines::Deadlines>),
    ("footprint", read::<footprint::Memory>),
    ("hierarchy", read::<hierarchy::Hierarchy>),
    ("hold", hold::read),
    ("leftover", read::<leftover::Leftover>),
    ("listings", read::<listings::Listings>),
    ("promise", read::<promise::Promise>),
    ("reordering", read::<reordering::Reordering>),
    ("replay", read::<replay::Replay>),
    ("replayable", read::<replayable::Replayable>),
    ("simulate", read::<simulate::Simulate>),
    ("smallest", read::<smallest::Smallest>),
    ("turns", read::<turns::Turns>),
    ("worked_schedule", read::<worked_schedule::WorkedSchedule>),
    ("worst_case", read::<worst_case::WorstCase>),
];

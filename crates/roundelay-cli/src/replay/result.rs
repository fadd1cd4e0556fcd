//! The results of a replay, before they are rendered.

use std::sync::Arc;

use roundelay::Duration;
use roundelay_report::{Recorded, ReplayResult, Replayed};
use roundelay_sim::replay::{Candidate, Replay as Outcome, Schedule};

/// The results of a replay, for its outputs.
pub(crate) struct Replays<'a> {
    pub(crate) replayed: &'a Replayed,
    pub(crate) runs: &'a [Run],
    pub(crate) candidates: &'a [Candidate],
    pub(crate) metadata: &'a [(String, String)],
}

/// A schedule, the outcome under each candidate, and the seconds for recording and for each replay.
pub(crate) struct Run {
    pub(crate) recorded: Recorded,
    pub(crate) window: Duration,
    /// Over all packets, including the warm-up.
    pub(crate) packet_hops: u64,
    /// Kept for `--parquet` only, because it may hold millions of packets.
    pub(crate) schedule: Option<Arc<Schedule>>,
    pub(crate) outcomes: Vec<(Outcome, ReplayResult)>,
    pub(crate) recording: f64,
    pub(crate) replaying: Vec<f64>,
}

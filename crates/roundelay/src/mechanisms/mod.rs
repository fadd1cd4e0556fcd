//! What several disciplines are made of, one mechanism a file.
//!
//! | for | there is |
//! |---|---|
//! | turns by bytes | [`ring`] |
//! | virtual time in groups and slots | [`groups`] (QFQ's sets), [`calendar`] (its slots), [`entity`] (who is in them), [`aggregates`] (QFQ+'s budgets), [`strata`] (GFQ and S-KPS) |
//! | who comes next in a slot | [`lists`] |
//! | the fluid server | [`gps_clock`] (how far it is), [`fluid`] (packets timed by it) |
//! | order by a key | [`heap`] (the tree, flows), [`ranked`] (packets), [`by_rank`] (the scheduler around them), [`rank_by`] (the key) |
//! | order by a key, roughly | [`levels`] (FIFO queues in strict priority) |
//! | who has most | [`longest`] |
//! | flows into buckets, counts of flows | [`hash`], [`flow_counts`] |
//! | chance | [`random`], [`lottery`] |
//! | signals of congestion | [`codel`], [`early_detection`], [`signalling`] |
//! | order restored | [`resequencer`] |

pub(crate) mod aggregates;
pub(crate) mod by_rank;
pub(crate) mod calendar;
pub(crate) mod codel;
pub(crate) mod early_detection;
pub(crate) mod entity;
pub(crate) mod flow_counts;
pub(crate) mod fluid;
pub(crate) mod gps_clock;
pub(crate) mod groups;
pub(crate) mod hash;
pub(crate) mod heap;
pub(crate) mod levels;
pub(crate) mod lists;
pub(crate) mod longest;
pub(crate) mod lottery;
pub(crate) mod random;
pub(crate) mod rank_by;
pub(crate) mod ranked;
pub(crate) mod resequencer;
pub(crate) mod ring;
pub(crate) mod round;
pub(crate) mod signalling;
pub(crate) mod strata;

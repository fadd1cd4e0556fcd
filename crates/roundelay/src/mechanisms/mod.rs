//! Mechanisms shared by several disciplines, one a file.
//!
//! | for | there is |
//! |---|---|
//! | turns by bytes | [`ring`] (deficit round robin), [`round`] (the order of its queues), [`new_and_old`] (new queues first) |
//! | virtual time in groups and slots | [`groups`] (QFQ's sets), [`calendar`] (its slots), [`entity`] (a flow or aggregate in a slot), [`aggregates`] (QFQ+'s budgets), [`strata`] (GFQ and S-KPS) |
//! | order within a slot | [`lists`] |
//! | the fluid server | [`gps_clock`] (virtual time), [`fluid`] (packet times) |
//! | order by a key | [`heap`] (the tree, flows), [`ranked`] (packets), [`by_rank`] (a scheduler), [`rank_by`] (the key) |
//! | order by a key, roughly | [`levels`] (FIFO queues in strict priority) |
//! | one queue | [`line`] (entries of an array) |
//! | queues and weights by flow | [`flow_table`] |
//! | the longest backlog | [`longest`] |
//! | flows into buckets, counts of flows | [`hash`], [`flow_counts`] |
//! | random numbers | [`random`], [`lottery`] |
//! | a keyed hash | [`siphash`] |
//! | signals of congestion | [`codel`], [`codel_queue`], [`cobalt`], [`early_detection`], [`detecting_queue`] (a scheduler), [`pie`], [`pie_linux`], [`queue_pie`], [`signalling`] |
//! | rules that changed between kernels | [`kernel`] |
//! | packet order restored | [`resequencer`] |

pub(crate) mod aggregates;
pub(crate) mod by_rank;
pub(crate) mod calendar;
pub(crate) mod cobalt;
pub(crate) mod codel;
pub(crate) mod codel_queue;
pub(crate) mod detecting_queue;
pub(crate) mod early_detection;
pub(crate) mod entity;
pub(crate) mod flow_counts;
pub(crate) mod flow_table;
pub(crate) mod fluid;
pub(crate) mod gps_clock;
pub(crate) mod groups;
pub(crate) mod hash;
pub(crate) mod heap;
pub(crate) mod kernel;
pub(crate) mod levels;
pub(crate) mod line;
pub(crate) mod lists;
pub(crate) mod longest;
pub(crate) mod lottery;
pub(crate) mod new_and_old;
pub(crate) mod pie;
pub(crate) mod pie_linux;
pub(crate) mod queue_pie;
pub(crate) mod random;
pub(crate) mod rank_by;
pub(crate) mod ranked;
pub(crate) mod resequencer;
pub(crate) mod ring;
pub(crate) mod round;
pub(crate) mod signalling;
pub(crate) mod siphash;
pub(crate) mod strata;

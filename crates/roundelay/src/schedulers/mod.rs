//! Scheduling disciplines: one file each, a trait and a registry.
//!
//! To add a discipline, write a file in this folder, then add a `mod` line here and a line in
//! `registry.rs`. Tests, documents and drivers read the registry.

mod discipline;
mod registry;

pub use crate::mechanisms::rank_by::RankBy;
pub use crate::packet::{Priority, Times};
pub use discipline::{
    Configured, Discipline, DisciplineInfo, Linux, LinuxFlows, LinuxLimit, Onset, ParameterInfo,
    Queues, Visitor,
};
pub use registry::{AnyArena, AnyDiscipline, AnyScheduler};

pub mod afd;
pub mod afq;
pub mod aifo;
pub mod cake;
pub mod choke;
pub mod codel;
pub mod custom;
pub mod drr;
pub mod edf;
pub mod ets;
pub mod fifo;
pub mod fifo_plus;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod gfq;
pub mod lifo;
pub mod lstf;
pub mod lstf_levels;
pub mod mqfq;
pub mod packet_fq;
pub mod pie;
pub mod priority;
pub mod qfq;
pub mod qfq_plus;
pub mod random;
pub mod red;
pub mod s_kps;
pub mod scfq;
pub mod sfb;
pub mod sfq;
pub mod sjf;
pub mod sp_pifo;
pub mod srpt;
pub mod srr;
pub mod tbf;
pub mod wf2q;
pub mod wf2q_plus;
pub mod wfq;

//! Each theorem of each paper, with arrivals that try to break it and a discipline that does.

mod afd;
mod choke;
mod codel;
mod drr;
mod edge_codel;
mod fifo;
mod fq_codel;
mod mqfq;
mod qfq;
mod qfq_start_time;
mod recorded;
mod red;
mod scfq;
mod sfb;
mod sfq;
mod tree;
mod wf2q;
mod wf2q_plus;
mod wfq;
mod workload;

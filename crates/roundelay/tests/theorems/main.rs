//! Each theorem of each paper, with arrivals that try to break it and a discipline that does.

mod drr;
mod fifo;
mod fq_codel;
mod qfq;
mod qfq_start_time;
mod sfq;
mod tree;
mod wf2q_plus;
mod workload;

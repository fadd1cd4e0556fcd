//! Each theorem of each paper, with arrivals that try to break it and a discipline that does.

mod drr;
mod edf;
mod fifo;
mod fifo_plus;
mod fq;
mod fq_codel;
mod lifo;
mod lstf;
mod network;
mod preemptive;
mod priority;
mod qfq;
mod qfq_start_time;
mod random;
mod ranked;
mod sfq;
mod sjf;
mod srpt;
mod wf2q_plus;
mod workload;

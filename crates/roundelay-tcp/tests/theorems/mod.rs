//! TCP theorem tests: requirements of the RFCs, checked on a sender and a receiver.

mod bbr;
mod bbr3;
mod custom;
mod delivery;
mod laws;
mod ledbat;
mod link;
mod offload;
mod rack;
mod rc3;
mod receiver;
mod small_queue;
mod start;
mod traces;
mod window;

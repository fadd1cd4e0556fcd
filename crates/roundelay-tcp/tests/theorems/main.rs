//! What the RFCs promise, held against a sender and a receiver.

mod delivery;
mod laws;
mod link;
mod rc3;
mod receiver;
mod traces;

//! What the RFCs promise, held against a sender and a receiver.

mod delivery;
mod laws;
mod link;
mod receiver;
mod traces;

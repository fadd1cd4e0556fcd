//! What the RFCs promise, held against a sender and a receiver.

mod link;
mod traces;

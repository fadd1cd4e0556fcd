//! Tests of the compare page's library: one program.

mod requests;

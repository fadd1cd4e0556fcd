//! Tests of the QFQ page: one program.

mod cases;
mod crossing;

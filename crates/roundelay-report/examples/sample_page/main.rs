//! Writes the HTML page of an invented comparison, and prints its table:
//! `cargo run -p roundelay-report --example sample_page -- page.html`.
//!
//! With `hostile` as a second argument, names attack the page.

use std::env::args_os;
use std::path::PathBuf;

use roundelay_report::{ReportError, TableStyle, html, table, write_text};

mod hostile;
mod sample;

fn main() -> Result<(), ReportError> {
    let path = args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("sample_page.html"), PathBuf::from);
    let mut advised = sample::advised();
    if args_os()
        .nth(2)
        .is_some_and(|argument| argument == "hostile")
    {
        advised = hostile::hostile(advised);
    }
    print!("{}", table(&advised, TableStyle::default()));
    write_text(&path, &html(&advised))
}

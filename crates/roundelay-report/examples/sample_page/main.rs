//! Writes the HTML page of a made-up comparison, and prints its table: `cargo run -p roundelay-report --example sample_page -- page.html`.

use std::path::PathBuf;

use roundelay_report::{ReportError, TableStyle, html, table, write_text};

mod sample;

fn main() -> Result<(), ReportError> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("sample_page.html"), PathBuf::from);
    let comparison = sample::comparison();
    print!("{}", table(&comparison, TableStyle::default()));
    write_text(&path, &html(&comparison))
}

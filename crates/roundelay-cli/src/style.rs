//! How wide and in which colours tables are printed.

use std::io::{self, IsTerminal};

use roundelay_report::TableStyle;

/// Narrower than this nothing can be read.
const NARROWEST: u16 = 20;

/// For standard output: as wide as `COLUMNS` says, else as the terminal is; in colours on a terminal, unless there is a `NO_COLOR`.
pub(crate) fn of_stdout() -> TableStyle {
    let terminal = io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns >= NARROWEST);
    let shown = || terminal_size::terminal_size().filter(|_| terminal).map(|(columns, _)| columns.0);
    TableStyle { color, width: asked.or_else(shown) }
}

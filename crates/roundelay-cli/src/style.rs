//! Width and colours of printed tables.

use std::io::{self, IsTerminal};

use roundelay_report::TableStyle;

/// Tables narrower than this are unreadable.
const NARROWEST: u16 = 20;

/// Style of standard output. Width: `COLUMNS`, else the terminal's. Colours: on a terminal, unless
/// `NO_COLOR` is set.
pub(crate) fn of_stdout() -> TableStyle {
    let terminal = io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .filter(|columns| *columns >= NARROWEST);
    let shown = || {
        terminal_size::terminal_size()
            .filter(|_| terminal)
            .map(|(columns, _)| columns.0)
    };
    TableStyle {
        color,
        width: asked.or_else(shown),
    }
}

//! Markdown of an item: where its sections stand, and the cells of their tables.

/// Context of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A page of the site, with charts in the same folder and a link to the plan.
    Page,
    /// Standalone: without links; the caller draws the charts.
    Alone,
}

/// Text in a cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

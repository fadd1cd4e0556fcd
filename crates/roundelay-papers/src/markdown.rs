//! Markdown of an item: where its sections stand, and the cells of their tables.

/// Where a section stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A page of the site, with charts in the same folder and a link to the plan.
    Page,
    /// Standalone: without links, and the caller draws the charts.
    Alone,
}

/// Text in a table's cell.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

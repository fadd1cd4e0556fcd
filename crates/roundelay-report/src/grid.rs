//! Table with aligned columns for a terminal, or in Markdown.

use serde::{Deserialize, Serialize};

use crate::html::escape;
use crate::markdown::escaped;
use crate::text::{cut, cut_apart, width, wrap};

/// How the table looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableStyle {
    /// Whether to use terminal colours. No information depends on colour alone.
    pub color: bool,
    /// Columns of the terminal. None for other outputs, which get 100 columns.
    pub width: Option<u16>,
}

impl TableStyle {
    pub(crate) fn limit(self) -> usize {
        self.width.map_or(100, usize::from).max(40)
    }
}

/// How a cell looks in a terminal with colour. The text alone has the same information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Paint {
    #[default]
    Plain,
    Bold,
    Faint,
    Good,
    Bad,
}

impl Paint {
    /// `text` with this look, or unchanged.
    pub(crate) fn on(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Bold => "1",
            Self::Faint => "2",
            Self::Good => "1;32",
            Self::Bad => "31",
        };
        if color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A text and its look.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            paint: Paint::Plain,
        }
    }
}

/// A column. A grid's first one is left-aligned and may be cut. The others are right-aligned
/// numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Column {
    /// Shared heading above adjacent columns with the same group.
    group: String,
    head: String,
    cells: Vec<Cell>,
    /// Rank for hiding in a narrow terminal: highest first, zero never.
    spare: u8,
}

impl Column {
    pub(crate) fn new(head: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self {
            group: String::new(),
            head: head.into(),
            cells: cells.into_iter().collect(),
            spare: 0,
        }
    }

    /// A cell for each item.
    pub(crate) fn of<T, C: Into<Cell>>(
        head: impl Into<String>,
        items: &[T],
        cell: impl Fn(&T) -> C,
    ) -> Self {
        Self::new(head, items.iter().map(|item| cell(item).into()))
    }

    pub(crate) fn under(mut self, group: impl Into<String>) -> Self {
        self.group = group.into();
        self
    }

    pub(crate) const fn spare(mut self, rank: u8) -> Self {
        self.spare = rank;
        self
    }

    /// Plain cells in bold.
    pub(crate) fn bold(mut self) -> Self {
        for cell in &mut self.cells {
            if cell.paint == Paint::Plain {
                cell.paint = Paint::Bold;
            }
        }
        self
    }

    /// The column's name without a group heading above.
    fn title(&self) -> String {
        if self.group.is_empty() {
            self.head.clone()
        } else {
            format!("{} ({})", self.head, self.group)
        }
    }

    fn width(&self) -> usize {
        let mut widest = width(&self.head);
        for cell in &self.cells {
            widest = widest.max(width(&cell.text));
        }
        widest
    }
}

/// Columns side by side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Grid {
    columns: Vec<Column>,
}

/// Hidden columns that a note names at most.
const MOST_NAMED: usize = 4;

/// Spaces between columns.
const GAP: usize = 2;

/// Least width that the first column may have.
const SHORTEST_NAME: usize = 12;
/// Least width that the first column may have while there is a column to hide.
const SHORT_NAME: usize = 20;

impl Grid {
    pub(crate) const fn new(columns: Vec<Column>) -> Self {
        Self { columns }
    }

    /// How wide the uncut grid is, in terminal columns.
    pub(crate) fn width(&self) -> usize {
        self.widths().iter().sum::<usize>() + GAP * self.columns.len().saturating_sub(1)
    }

    /// Lines at most `limit` columns wide, as far as possible by cutting names and hiding spare
    /// columns. A note below names the hidden columns.
    pub(crate) fn lines(mut self, limit: usize, color: bool) -> Vec<String> {
        let left_out = self.fit(limit);
        let widths = self.widths();
        let mut lines = Vec::new();
        if self.columns.iter().any(|column| !column.group.is_empty()) {
            lines.push(Paint::Faint.on(self.group_line(&widths).trim_end(), color));
        }
        lines.push(Paint::Faint.on(self.head_line(&widths).trim_end(), color));
        for row in 0..self.rows() {
            lines.push(self.row_line(row, &widths, color));
        }
        if !left_out.is_empty() {
            let note = match left_out.len() {
                number if number > MOST_NAMED => {
                    format!("{number} more columns in a wider terminal, or --json.")
                }
                _ => format!(
                    "Columns hidden because the terminal is too narrow: {}. Use a wider one, or \
                     --json.",
                    left_out.join(", ")
                ),
            };
            for line in wrap(&note, limit) {
                lines.push(Paint::Faint.on(&line, color));
            }
        }
        lines
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// A table in Markdown with all columns.
    pub(crate) fn markdown(&self) -> String {
        let mut heads = Vec::new();
        for column in &self.columns {
            heads.push(escaped(column.title().trim()));
        }
        let numbers = self.columns.len().saturating_sub(1);
        let mut text = format!(
            "| {} |\n|---|{}\n",
            heads.join(" | "),
            "---:|".repeat(numbers)
        );
        for row in 0..self.rows() {
            let mut cells = Vec::new();
            for column in &self.columns {
                cells.push(escaped(column.cells[row].text.trim()));
            }
            text += &format!("| {} |\n", cells.join(" | "));
        }
        text
    }

    /// A table in HTML that is at most `limit` letters wide. The row with a good name is bold.
    pub(crate) fn html(mut self, limit: usize) -> String {
        let left_out = self.fit(limit);
        let mut heads = String::new();
        for column in &self.columns {
            heads += &format!("<th>{}</th>", escape(column.title().trim()));
        }
        let mut body = String::new();
        for row in 0..self.rows() {
            let mut cells = String::new();
            for column in &self.columns {
                cells += &format!("<td>{}</td>", escape(column.cells[row].text.trim()));
            }
            let is_best = self.columns[0].cells[row].paint == Paint::Good;
            let style = if is_best {
                " style=\"font-weight: bold\""
            } else {
                ""
            };
            body += &format!("<tr{style}>{cells}</tr>");
        }
        let mut note = String::new();
        if !left_out.is_empty() {
            note = format!("<p>More columns: {}.</p>", escape(&left_out.join(", ")));
        }
        format!("<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{note}")
    }

    /// Fits the grid to the limit and returns the names of hidden columns. A rank is hidden as a
    /// whole, but the last rank goes column by column from the right, because its columns are what
    /// a reader looks for.
    fn fit(&mut self, limit: usize) -> Vec<String> {
        let mut left_out = Vec::new();
        loop {
            let excess = self.width().saturating_sub(limit);
            let name_width = self.columns[0].width();
            if excess == 0 {
                return left_out;
            }
            let ranks = self.columns.iter().map(|column| column.spare);
            let spare = ranks.max().unwrap_or(0);
            if name_width.saturating_sub(excess) >= SHORT_NAME || spare == 0 {
                self.cut_names(name_width.saturating_sub(excess).max(SHORTEST_NAME));
                return left_out;
            }
            let mut indices = Vec::new();
            let mut is_last_rank = true;
            for (index, column) in self.columns.iter().enumerate() {
                if column.spare == spare {
                    indices.push(index);
                } else {
                    is_last_rank &= column.spare == 0;
                }
            }
            if is_last_rank {
                indices.drain(..indices.len() - 1);
            }
            for (gone, index) in indices.into_iter().enumerate() {
                left_out.push(self.columns.remove(index - gone).title());
            }
        }
    }

    fn cut_names(&mut self, limit: usize) {
        let cells = &mut self.columns[0].cells;
        let names: Vec<String> = cells.iter().map(|cell| cell.text.clone()).collect();
        for (cell, name) in cells.iter_mut().zip(cut_apart(&names, limit, cut)) {
            cell.text = name;
        }
    }

    /// Widths of the columns. The last of a group is widened if the group's name needs more space.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        for (group, from, to) in self.groups() {
            let span = widths[from..to].iter().sum::<usize>() + GAP * (to - from - 1);
            if !group.is_empty() {
                widths[to - 1] += width(group).saturating_sub(span);
            }
        }
        widths
    }

    /// Runs of columns with the same group.
    fn groups(&self) -> Vec<(&str, usize, usize)> {
        let mut groups: Vec<(&str, usize, usize)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            match groups.last_mut() {
                Some((group, _, to)) if *group == column.group => *to = index + 1,
                _ => groups.push((&column.group, index, index + 1)),
            }
        }
        groups
    }

    fn group_line(&self, widths: &[usize]) -> String {
        let mut texts = Vec::new();
        for (group, from, to) in self.groups() {
            let span = widths[from..to].iter().sum::<usize>() + GAP * (to - from - 1);
            let fill = span - width(group).min(span);
            texts.push(match group {
                "" => " ".repeat(span),
                _ if fill < 4 => format!("{}{group}", " ".repeat(fill)),
                _ => format!(
                    "{} {group} {}",
                    "─".repeat((fill - 2) / 2),
                    "─".repeat((fill - 1) / 2)
                ),
            });
        }
        texts.join(&" ".repeat(GAP))
    }

    fn head_line(&self, widths: &[usize]) -> String {
        let mut heads = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            heads.push(align(index, &column.head, widths[index]));
        }
        heads.join(&" ".repeat(GAP))
    }

    fn row_line(&self, row: usize, widths: &[usize], color: bool) -> String {
        let mut cells = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let cell = &column.cells[row];
            let aligned = align(index, &cell.text, widths[index]);
            cells.push(aligned.replacen(&cell.text, &cell.paint.on(&cell.text, color), 1));
        }
        let line = cells.join(&" ".repeat(GAP));
        line.trim_end().to_owned()
    }
}

/// Groups of columns, with as many side by side as fit. The others follow in grids below.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fold {
    /// Each grid's first column, with whole names and with short ones.
    pub(crate) names: [Column; 2],
    /// Each grid's second column.
    pub(crate) second: Column,
    pub(crate) groups: Vec<Vec<Column>>,
}

impl Fold {
    /// Grids with whole names, if these are no more than grids with short names.
    pub(crate) fn grids(&self, limit: usize) -> Vec<Grid> {
        let [whole, short] = &self.names;
        let whole = self.grids_with(whole, limit);
        let short = self.grids_with(short, limit);
        if whole.len() <= short.len() {
            whole
        } else {
            short
        }
    }

    fn grids_with(&self, names: &Column, limit: usize) -> Vec<Grid> {
        let mut grids = Vec::new();
        let mut rest = &self.groups[..];
        while !rest.is_empty() {
            let mut grid = self.grid(names, &rest[..1]);
            let mut number = 1;
            while number < rest.len() {
                let wider = self.grid(names, &rest[..number + 1]);
                if wider.width() > limit {
                    break;
                }
                grid = wider;
                number += 1;
            }
            grids.push(grid);
            rest = &rest[number..];
        }
        grids
    }

    fn grid(&self, names: &Column, groups: &[Vec<Column>]) -> Grid {
        let mut columns = vec![names.clone(), self.second.clone()];
        for group in groups {
            columns.extend_from_slice(group);
        }
        Grid::new(columns)
    }
}

/// A table without colours or a limit on its width: the heads in the first row, texts in the first
/// column, numbers in the others. Adjacent columns with the same group in `groups`, if any, share a
/// heading.
pub fn aligned(groups: &[&str], rows: &[Vec<String>]) -> String {
    let Some((heads, rows)) = rows.split_first() else {
        return String::new();
    };
    let mut columns = Vec::new();
    for (index, head) in heads.iter().enumerate() {
        let group = groups.get(index).copied().unwrap_or_default();
        columns.push(Column::of(head, rows, |row| row[index].clone()).under(group));
    }
    let grid = Grid::new(columns);
    grid.lines(usize::MAX, false).join("\n") + "\n"
}

/// The first column left-aligned, the others right-aligned.
fn align(index: usize, text: &str, wide: usize) -> String {
    let fill = " ".repeat(wide.saturating_sub(width(text)));
    if index == 0 {
        format!("{text}{fill}")
    } else {
        format!("{fill}{text}")
    }
}

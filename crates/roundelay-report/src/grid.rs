//! Table with aligned columns for a terminal, or in Markdown.

use serde::{Deserialize, Serialize};

use crate::document::escaped;
use crate::text::{cut, cut_apart, width, wrap};

/// Look of a cell in a terminal with colour; the text alone has the same information.
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

/// A column: the first of a grid is left-aligned and may be cut, the others are right-aligned
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

    pub(crate) fn under(mut self, group: impl Into<String>) -> Self {
        self.group = group.into();
        self
    }

    pub(crate) const fn spare(mut self, rank: u8) -> Self {
        self.spare = rank;
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
        self.cells
            .iter()
            .map(|cell| width(&cell.text))
            .chain([width(&self.head)])
            .max()
            .unwrap_or(0)
    }
}

/// Columns side by side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Grid {
    columns: Vec<Column>,
}

/// Spaces between columns.
const GAP: usize = 2;

/// Minimum width of the first column.
const SHORTEST_NAME: usize = 12;
/// Minimum width of the first column while there is a column to hide.
const SHORT_NAME: usize = 20;

impl Grid {
    pub(crate) const fn new(columns: Vec<Column>) -> Self {
        Self { columns }
    }

    /// Width of the uncut grid, in terminal columns.
    pub(crate) fn width(&self) -> usize {
        self.widths().iter().sum::<usize>() + GAP * self.columns.len().saturating_sub(1)
    }

    /// Lines of at most `limit` columns, as far as possible by cutting names and hiding spare
    /// columns. A note below names the hidden columns.
    pub(crate) fn lines(mut self, limit: usize, color: bool) -> Vec<String> {
        let left_out = self.fit(limit);
        let widths = self.widths();
        let mut lines = Vec::new();
        if self.columns.iter().any(|column| !column.group.is_empty()) {
            lines.push(Paint::Faint.on(self.group_line(&widths).trim_end(), color));
        }
        lines.push(Paint::Faint.on(self.head_line(&widths).trim_end(), color));
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        lines.extend((0..rows).map(|row| self.row_line(row, &widths, color)));
        if !left_out.is_empty() {
            let note = format!(
                "Columns hidden because the terminal is too narrow: {}. Use a wider one, or --json.",
                left_out.join(", ")
            );
            lines.extend(
                wrap(&note, limit)
                    .iter()
                    .map(|line| Paint::Faint.on(line, color)),
            );
        }
        lines
    }

    /// A table in Markdown with all columns.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let head = line(
            &mut self
                .columns
                .iter()
                .map(|column| escaped(column.title().trim())),
        );
        let rule =
            "|---|".to_owned() + &"---:|".repeat(self.columns.len().saturating_sub(1)) + "\n";
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        let row = |row: usize| {
            line(
                &mut self
                    .columns
                    .iter()
                    .map(|column| escaped(column.cells[row].text.trim())),
            )
        };
        head + &rule + &(0..rows).map(row).collect::<String>()
    }

    /// Fits the grid to the limit and returns the names of hidden columns.
    fn fit(&mut self, limit: usize) -> Vec<String> {
        let mut left_out = Vec::new();
        loop {
            let excess = self.width().saturating_sub(limit);
            let name_width = self.columns[0].width();
            if excess == 0 {
                return left_out;
            }
            let spare = self
                .columns
                .iter()
                .map(|column| column.spare)
                .max()
                .filter(|&rank| rank > 0);
            if name_width.saturating_sub(excess) >= SHORT_NAME || spare.is_none() {
                self.cut_names(name_width.saturating_sub(excess).max(SHORTEST_NAME));
                return left_out;
            }
            let gone = self
                .columns
                .iter()
                .filter(|column| Some(column.spare) == spare);
            left_out.extend(gone.map(|column| column.title()));
            self.columns.retain(|column| Some(column.spare) != spare);
        }
    }

    fn cut_names(&mut self, limit: usize) {
        let names: Vec<String> = self.columns[0]
            .cells
            .iter()
            .map(|cell| cell.text.clone())
            .collect();
        for (cell, name) in self.columns[0]
            .cells
            .iter_mut()
            .zip(cut_apart(&names, limit, cut))
        {
            cell.text = name;
        }
    }

    /// Widths of the columns; the last of a group is widened if the group's name needs more space.
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
        let gap = " ".repeat(GAP);
        let groups = self.groups().into_iter().map(|(group, from, to)| {
            let span = widths[from..to].iter().sum::<usize>() + GAP * (to - from - 1);
            let fill = span - width(group).min(span);
            match group {
                "" => " ".repeat(span),
                _ if fill < 4 => format!("{}{group}", " ".repeat(fill)),
                _ => format!(
                    "{} {group} {}",
                    "─".repeat((fill - 2) / 2),
                    "─".repeat((fill - 1) / 2)
                ),
            }
        });
        groups.collect::<Vec<_>>().join(&gap)
    }

    fn head_line(&self, widths: &[usize]) -> String {
        let heads = self
            .columns
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(index, (column, &wide))| align(index, &column.head, wide));
        heads.collect::<Vec<_>>().join(&" ".repeat(GAP))
    }

    fn row_line(&self, row: usize, widths: &[usize], color: bool) -> String {
        let cells = self
            .columns
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(index, (column, &wide))| {
                let cell = &column.cells[row];
                let aligned = align(index, &cell.text, wide);
                aligned.replacen(&cell.text, &cell.paint.on(&cell.text, color), 1)
            });
        cells
            .collect::<Vec<_>>()
            .join(&" ".repeat(GAP))
            .trim_end()
            .to_owned()
    }
}

/// Groups of columns, as many side by side as fit, the others in grids below.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fold {
    /// The first column of each grid, with whole names and with short ones.
    pub(crate) names: [Column; 2],
    /// The second column of each grid.
    pub(crate) second: Column,
    pub(crate) groups: Vec<Vec<Column>>,
}

impl Fold {
    /// Grids with whole names, if these are no more than grids with short names.
    pub(crate) fn grids(&self, limit: usize) -> Vec<Grid> {
        let [whole, short] = self
            .names
            .each_ref()
            .map(|names| self.grids_with(names, limit));
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
            let grid = |number: usize| {
                let columns = [names, &self.second]
                    .into_iter()
                    .chain(rest[..number].iter().flatten());
                Grid::new(columns.cloned().collect())
            };
            let number = (2..=rest.len())
                .take_while(|number| grid(*number).width() <= limit)
                .last()
                .unwrap_or(1);
            grids.push(grid(number));
            rest = &rest[number..];
        }
        grids
    }
}

/// A table without colours or a limit of its width: the heads in the first row, texts in the first
/// column, numbers in the others. Adjacent columns with the same of the `groups`, if any, have a
/// shared heading.
pub fn aligned(groups: &[&str], rows: &[Vec<String>]) -> String {
    let Some((heads, rows)) = rows.split_first() else {
        return String::new();
    };
    let column = |(index, head): (usize, &String)| {
        let cells = rows.iter().map(|row| row[index].clone().into());
        Column::new(head, cells).under(groups.get(index).copied().unwrap_or_default())
    };
    let grid = Grid::new(heads.iter().enumerate().map(column).collect());
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

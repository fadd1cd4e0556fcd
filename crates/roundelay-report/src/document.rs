//! A report as title, paragraphs, tables and commands: lines for a terminal, or Markdown.

use serde::{Deserialize, Serialize};

use crate::grid::{Fold, Grid, Paint, TableStyle};
use crate::html::escape;
use crate::markdown::escaped;
use crate::text::{clean, cut, wrap};
use crate::units::seconds;

/// A part in a section.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Block {
    Title(String),
    Text(String),
    /// Sentences, the most important one first.
    Verdict(Vec<String>),
    Note(String),
    /// Why the results may be wrong.
    Warning(String),
    /// A title above a table.
    Heading(String),
    Table(Grid),
    Fold(Box<Fold>),
    /// Commands for a shell.
    Commands(Vec<String>),
}

/// Columns that a table may have in a notebook.
const PAGE: usize = 120;

/// Blocks without empty lines between, on a terminal.
pub(crate) type Section = Vec<Block>;

impl Block {
    fn lines(&self, style: TableStyle) -> Vec<String> {
        let limit = style.limit();
        let color = style.color;
        match self {
            Self::Title(name) => vec![Paint::Bold.on(&cut(name, limit), color)],
            Self::Heading(text) => vec![Paint::Bold.on(text, color)],
            Self::Text(text) => wrap(text, limit),
            Self::Note(text) => painted(Paint::Faint, wrap(text, limit), color),
            Self::Warning(text) => painted(Paint::Bad, wrap(text, limit), color),
            Self::Verdict(sentences) => {
                let mut lines = wrap(&sentences.join(" "), limit);
                if let Some(first) = lines.first_mut() {
                    *first = Paint::Bold.on(first, color);
                }
                lines
            }
            Self::Table(grid) => grid.clone().lines(limit, color),
            Self::Fold(fold) => {
                let mut lines = Vec::new();
                for grid in fold.grids(limit) {
                    lines.extend(grid.lines(limit, color));
                }
                lines
            }
            Self::Commands(commands) => {
                let mut lines = Vec::new();
                for command in commands {
                    lines.push(format!("  {}", Paint::Good.on(command, color)));
                }
                lines
            }
        }
    }

    fn markdown(&self) -> String {
        match self {
            Self::Title(name) => format!("## {}\n", escaped(name)),
            Self::Heading(text) => format!("### {}\n", escaped(text)),
            Self::Text(text) | Self::Note(text) => format!("{}\n", escaped(text)),
            Self::Warning(text) => format!("**{}**\n", escaped(text)),
            Self::Verdict(sentences) => {
                let (first, others) = match sentences.split_first() {
                    Some((first, others)) => (first.as_str(), others.join(" ")),
                    None => ("", String::new()),
                };
                format!("**{}** {}\n", escaped(first), escaped(&others))
            }
            Self::Table(grid) => grid.markdown(),
            Self::Fold(fold) => fold.grids(usize::MAX).iter().map(Grid::markdown).collect(),
            Self::Commands(commands) => format!("```sh\n{}\n```\n", commands.join("\n")),
        }
    }

    fn html(&self) -> String {
        match self {
            Self::Title(name) => format!("<h4>{}</h4>", escape(name)),
            Self::Heading(text) => format!("<h5>{}</h5>", escape(text)),
            Self::Text(text) | Self::Note(text) => format!("<p>{}</p>", escape(text)),
            Self::Warning(text) => format!("<p><strong>{}</strong></p>", escape(text)),
            Self::Verdict(sentences) => match sentences.split_first() {
                Some((first, others)) => format!(
                    "<p><strong>{}</strong> {}</p>",
                    escape(first),
                    escape(&others.join(" "))
                ),
                None => String::new(),
            },
            Self::Table(grid) => grid.clone().html(PAGE),
            Self::Fold(fold) => {
                let mut text = String::new();
                for grid in fold.grids(PAGE) {
                    text += &grid.html(PAGE);
                }
                text
            }
            Self::Commands(commands) => {
                let mut lines = Vec::new();
                for command in commands {
                    lines.push(escape(command));
                }
                format!("<pre>{}</pre>", lines.join("\n"))
            }
        }
    }
}

fn painted(paint: Paint, lines: Vec<String>, color: bool) -> Vec<String> {
    let mut painted = Vec::new();
    for line in lines {
        painted.push(paint.on(&line, color));
    }
    painted
}

/// The input's name, facts, and notes on anomalies.
pub(crate) fn headline(name: &str, facts: String, notes: &[String]) -> Section {
    let mut section = vec![Block::Title(clean(name)), Block::Text(facts)];
    for note in notes {
        section.push(Block::Note(format!("Note: {}", clean(note))));
    }
    section
}

/// The replicas' seeds in words.
pub(crate) fn seeds_in_words(seeds: impl IntoIterator<Item = u64>) -> String {
    match seeds.into_iter().collect::<Vec<_>>()[..] {
        [first, .., last] => {
            format!("seeds {first} to {last}, means with 95% confidence intervals")
        }
        [seed] => format!("seed {seed}"),
        [] => "no replica".to_owned(),
    }
}

/// A run's duration, and its excluded start if there is one.
pub(crate) fn duration_in_words(duration: f64, warmup: f64) -> String {
    let excluded = if warmup > 0.0 {
        format!(", the first {} not counted", seconds(warmup))
    } else {
        String::new()
    };
    seconds(duration) + &excluded
}

/// A section as lines for a terminal.
pub(crate) fn lines(section: &[Block], style: TableStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for block in section {
        lines.extend(block.lines(style));
    }
    lines
}

/// Sections with lines, with an empty line between.
pub(crate) fn joined(sections: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut texts = Vec::new();
    for lines in sections {
        if !lines.is_empty() {
            texts.push(lines.join("\n") + "\n");
        }
    }
    texts.join("\n")
}

/// A whole report, for terminals of any width.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document(pub(crate) Vec<Section>);

impl Document {
    /// The report for a terminal.
    pub fn text(&self, style: TableStyle) -> String {
        joined(self.0.iter().map(|section| lines(section, style)))
    }

    /// The report as a part of an HTML page, as notebooks show it. Text from untrusted files stays
    /// text.
    pub fn html(&self) -> String {
        self.0.iter().flatten().map(Block::html).collect()
    }

    /// The report as Markdown, with all columns. Text from untrusted files stays text.
    pub fn markdown(&self) -> String {
        let blocks = self.0.iter().flatten();
        let texts: Vec<String> = blocks.map(Block::markdown).collect();
        texts.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Cell, Column};

    fn cells(texts: [&str; 2]) -> impl Iterator<Item = Cell> {
        texts.into_iter().map(|text| text.to_owned().into())
    }

    #[test]
    fn markdown_has_titles_tables_and_commands() {
        let columns = vec![
            Column::new("flow", cells(["fq_codel", "a|b"])),
            Column::new("p99", cells(["1 ms", "2 ms"])).under("delay"),
        ];
        let section = vec![
            Block::Title("home.pcap".to_owned()),
            Block::Text("Two flows.".to_owned()),
            Block::Table(Grid::new(columns)),
            Block::Commands(vec!["tc qdisc".to_owned()]),
        ];
        let expected = "## home.pcap\n\nTwo flows.\n\n| flow | p99 (delay) |\n|---|---:|\n| fq_codel | 1 ms |\n| a\\|b | 2 ms |\n\n```sh\ntc qdisc\n```\n";
        assert_eq!(Document(vec![section, Section::new()]).markdown(), expected);
    }

    /// In a notebook the best row is bold, and a name stays a name.
    #[test]
    fn a_part_of_a_page_has_the_same_blocks() {
        let mut best = Cell::from("* qfq".to_owned());
        best.paint = Paint::Good;
        let names = Column::new("  discipline", [Cell::from("  <b>".to_owned()), best]);
        let numbers = Column::new("p99", cells(["1 ms", "2 ms"])).under("delay");
        let section = vec![
            Block::Title("home & co".to_owned()),
            Block::Table(Grid::new(vec![names, numbers])),
            Block::Verdict(vec!["First.".to_owned(), "Then.".to_owned()]),
            Block::Commands(vec!["tc 1 > 2".to_owned()]),
        ];
        let expected = "<h4>home &amp; co</h4><table><thead><tr><th>discipline</th><th>p99 (delay)</th></tr></thead><tbody>\
             <tr><td>&lt;b&gt;</td><td>1 ms</td></tr><tr style=\"font-weight: bold\"><td>* qfq</td><td>2 ms</td></tr></tbody></table>\
             <p><strong>First.</strong> Then.</p><pre>tc 1 &gt; 2</pre>";
        assert_eq!(Document(vec![section]).html(), expected);
    }
}

//! A report as title, paragraphs, tables and commands: lines for a terminal, or Markdown.

use serde::{Deserialize, Serialize};

use crate::grid::{Fold, Grid, Paint};
use crate::table::TableStyle;
use crate::text::{clean, cut, wrap};
use crate::units::seconds;

/// A part of a section.
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

/// Blocks without empty lines between, on a terminal.
pub(crate) type Section = Vec<Block>;

impl Block {
    fn lines(&self, style: TableStyle) -> Vec<String> {
        let paint = |paint: Paint, text: &str| paint.on(text, style.color);
        match self {
            Self::Title(name) => vec![paint(Paint::Bold, &cut(name, style.limit()))],
            Self::Heading(text) => vec![paint(Paint::Bold, text)],
            Self::Text(text) => wrap(text, style.limit()),
            Self::Note(text) => wrap(text, style.limit())
                .iter()
                .map(|line| paint(Paint::Faint, line))
                .collect(),
            Self::Warning(text) => wrap(text, style.limit())
                .iter()
                .map(|line| paint(Paint::Bad, line))
                .collect(),
            Self::Verdict(sentences) => {
                let mut lines = wrap(&sentences.join(" "), style.limit());
                lines
                    .iter_mut()
                    .take(1)
                    .for_each(|first| *first = paint(Paint::Bold, first));
                lines
            }
            Self::Table(grid) => grid.clone().lines(style.limit(), style.color),
            Self::Fold(fold) => fold
                .grids(style.limit())
                .into_iter()
                .flat_map(|grid| grid.lines(style.limit(), style.color))
                .collect(),
            Self::Commands(commands) => commands
                .iter()
                .map(|command| format!("  {}", paint(Paint::Good, command)))
                .collect(),
        }
    }

    fn markdown(&self) -> String {
        match self {
            Self::Title(name) => format!("## {}\n", escaped(name)),
            Self::Heading(text) => format!("### {}\n", escaped(text)),
            Self::Text(text) | Self::Note(text) => format!("{}\n", escaped(text)),
            Self::Warning(text) => format!("**{}**\n", escaped(text)),
            Self::Verdict(sentences) => {
                let (first, others) = sentences
                    .split_first()
                    .map_or(("", &[][..]), |(first, others)| (first, others));
                format!("**{}** {}\n", escaped(first), escaped(&others.join(" ")))
            }
            Self::Table(grid) => grid.markdown(),
            Self::Fold(fold) => fold.grids(usize::MAX).iter().map(Grid::markdown).collect(),
            Self::Commands(commands) => format!("```sh\n{}\n```\n", commands.join("\n")),
        }
    }
}

/// The name of the input, facts, and notes on anomalies.
pub(crate) fn headline(name: &str, facts: String, notes: &[String]) -> Section {
    let notes = notes
        .iter()
        .map(|note| Block::Note(format!("Note: {}", clean(note))));
    [Block::Title(clean(name)), Block::Text(facts)]
        .into_iter()
        .chain(notes)
        .collect()
}

/// Seeds of the replicas, in words.
pub(crate) fn seeds_in_words(seeds: impl IntoIterator<Item = u64>) -> String {
    match seeds.into_iter().collect::<Vec<_>>()[..] {
        [first, .., last] => {
            format!("seeds {first} to {last}, means with 95% confidence intervals")
        }
        [seed] => format!("seed {seed}"),
        [] => "no replica".to_owned(),
    }
}

/// The duration of a run, and its excluded start if there is one.
pub(crate) fn duration_in_words(duration: f64, warmup: f64) -> String {
    let excluded = if warmup > 0.0 {
        format!(", the first {} not counted", seconds(warmup))
    } else {
        String::new()
    };
    seconds(duration) + &excluded
}

/// A section as lines of a terminal.
pub(crate) fn lines(section: &[Block], style: TableStyle) -> Vec<String> {
    section
        .iter()
        .flat_map(|block| block.lines(style))
        .collect()
}

/// Sections with lines, with an empty line between.
pub(crate) fn joined(sections: impl IntoIterator<Item = Vec<String>>) -> String {
    let sections = sections.into_iter().filter(|lines| !lines.is_empty());
    sections
        .map(|lines| lines.join("\n") + "\n")
        .collect::<Vec<_>>()
        .join("\n")
}

/// A whole report, for terminals of any width.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document(pub(crate) Vec<Section>);

impl Document {
    /// The report for a terminal.
    pub fn text(&self, style: TableStyle) -> String {
        joined(self.0.iter().map(|section| lines(section, style)))
    }

    /// The report as Markdown, with all columns. Texts of untrusted files stay texts.
    pub fn markdown(&self) -> String {
        self.0
            .iter()
            .flatten()
            .map(Block::markdown)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A text without meaning for Markdown: punctuation with a backslash, except for underscores in
/// words.
pub(crate) fn escaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_word = |place: Option<usize>| {
        place
            .and_then(|place| letters.get(place))
            .is_some_and(|letter| letter.is_alphanumeric())
    };
    let mut escaped = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let is_in_word =
            *letter == '_' && is_word(place.checked_sub(1)) && is_word(Some(place + 1));
        if "\\`*_[]<#|~&@".contains(*letter) && !is_in_word {
            escaped.push('\\');
        }
        escaped.push(*letter);
    }
    escaped
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

    /// A name from an untrusted file can be no link, image, mention or HTML.
    #[test]
    fn names_have_no_meaning_for_markdown() {
        let name = "![x](http://y) <b> #1 @me `c` *d* _e_ f_g ~~h~~ &amp; \\";
        assert_eq!(
            escaped(name),
            r"!\[x\](http://y) \<b> \#1 \@me \`c\` \*d\* \_e\_ f_g \~\~h\~\~ \&amp; \\"
        );
    }
}

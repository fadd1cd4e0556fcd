//! An output as a command declares it, and an output during a run.

use std::fmt;
use std::path::{Path, PathBuf};

use roundelay_report::{Setting, TableOf};
use roundelay_sim::Probe;
use roundelay_sim::scenario::Measures;
use roundelay_trace::PacketSink;

use crate::failure::Failure;

/// A command with outputs.
pub(crate) trait Writes: fmt::Debug + Send + Sync + Sized + 'static {
    /// The command's results.
    type Results<'a>: ?Sized;
    /// What outputs of events need when they are opened.
    type Start<'a>: ?Sized;

    /// All outputs, in the order of the help.
    const OUTPUTS: &'static [Output<Self>];
}

/// An output: an option of a command.
pub(crate) struct Output<C: Writes> {
    /// The option, without hyphens.
    pub(crate) option: &'static str,
    /// The help, without a full stop.
    pub(crate) help: &'static str,
    pub(crate) target: Target,
    /// The thing that the files tell of, if they tell of only one.
    pub(crate) only: Option<&'static One>,
    pub(crate) write: Write<C>,
}

impl<C: Writes> Output<C> {
    /// `--json`: a text on standard output, instead of the table.
    pub(crate) const fn json(text: TextOf<C>) -> Self {
        Self {
            option: "json",
            help: "Print JSON instead of the table",
            target: Target::Printed,
            only: None,
            write: Write::Text(text),
        }
    }

    /// `--html`: a page with all results and charts.
    pub(crate) const fn html(text: TextOf<C>) -> Self {
        Self::text("html", "Write a self-contained HTML page", text)
    }

    /// `--markdown`: the tables and verdicts, for a report or a forge's issue.
    pub(crate) const fn markdown(text: TextOf<C>) -> Self {
        let help = "Write the tables as Markdown, with all columns: for a report or an issue";
        Self::text("markdown", help, text)
    }

    /// A file with a text about the results.
    pub(crate) const fn text(option: &'static str, help: &'static str, text: TextOf<C>) -> Self {
        Self {
            option,
            help,
            target: Target::File,
            only: None,
            write: Write::Text(text),
        }
    }

    /// The name of a file in a folder. Its extension is the folder's option.
    pub(super) fn file_name(&self, name: &str) -> String {
        let extension = if let Target::FolderOf(other, _) = self.target {
            other
        } else {
            self.option
        };
        format!("{name}.{extension}")
    }
}

impl<C: Writes> fmt::Debug for Output<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option)
    }
}

/// Where an output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// Standard output, instead of the table.
    Printed,
    /// A file.
    File,
    /// A folder with these files beside others.
    Folder(&'static [Part]),
    /// These files in the folder of another output.
    FolderOf(&'static str, &'static [Part]),
    /// A folder with folders of its own, into which no other output may write.
    Tree,
}

impl Target {
    /// The files in a folder.
    pub(super) const fn parts(self) -> &'static [Part] {
        match self {
            Self::Folder(parts) | Self::FolderOf(_, parts) => parts,
            Self::Printed | Self::File | Self::Tree => &[],
        }
    }
}

pub(crate) type Opening<C> = Result<Box<dyn Opened<C>>, Failure>;
pub(super) type TextOf<C> = fn(&<C as Writes>::Results<'_>) -> Result<String, Failure>;

/// How an output is written.
pub(crate) enum Write<C: Writes> {
    /// As a text about the results.
    Text(TextOf<C>),
    /// By a function that takes path and results, after the run.
    After(fn(&Path, &C::Results<'_>) -> Result<(), Failure>),
    /// From the run's events, so it is opened before the run.
    During(fn(&Path, &C::Start<'_>) -> Opening<C>),
    /// By the command itself.
    Command,
}

/// A file in a folder.
#[derive(Debug)]
pub(crate) struct Part {
    /// The file's name without its extension.
    pub(super) name: &'static str,
    /// The setting that the file needs.
    pub(super) needs: Option<Setting>,
}

impl Part {
    /// A file that is always written.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, needs: None }
    }

    pub(super) fn is_wanted(&self, measures: &Measures) -> bool {
        self.needs.is_none_or(|(_, is_met)| is_met(measures))
    }
}

/// The files for these tables.
pub(crate) const fn parts<R, const N: usize>(tables: [&TableOf<R>; N]) -> [Part; N] {
    let mut parts = [const { Part::named("") }; N];
    let mut number = 0;
    while number < N {
        parts[number] = Part {
            name: tables[number].name,
            needs: tables[number].needs,
        };
        number += 1;
    }
    parts
}

/// A table's file in a folder.
pub(crate) fn table_file(folder: &Path, name: &str, extension: &str) -> PathBuf {
    folder.join(format!("{name}.{extension}"))
}

/// A thing of which an output can hold only one.
pub(crate) struct One {
    pub(crate) name: &'static str,
    /// The option or argument that gives several.
    pub(crate) several: &'static str,
    pub(crate) instead: &'static str,
}

impl One {
    /// One run, because only the first of all replicas is observed.
    pub(crate) const RUN: Self = Self {
        name: "run",
        several: "replicas",
        instead: "leave out --replicas, or choose one with --seed",
    };
}

/// An output during a run.
pub(crate) trait Opened<C: Writes>: Send {
    /// The sink for the packets of a compared discipline, if the output takes any.
    ///
    /// # Errors
    /// The file cannot be created.
    fn sink(
        &mut self,
        name: &str,
        index: usize,
        zero_unix_nanos: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
        let _ = (name, index, zero_unix_nanos);
        Ok(None)
    }

    /// The observer of a simulation's events, if there is one.
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        None
    }

    /// The failed write that made this output end the run, if any.
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// # Errors
    /// A file cannot be written.
    fn finish(self: Box<Self>, results: &C::Results<'_>) -> Result<(), Failure>;
}

pub(crate) type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Writes what is left of all outputs, up to the first failure.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn finish_all<C: Writes>(
    outputs: Vec<Box<dyn Opened<C>>>,
    results: &C::Results<'_>,
) -> Result<(), Failure> {
    for output in outputs {
        output.finish(results)?;
    }
    Ok(())
}

//! Outputs of all commands: one declaration each gives the option and its help, the files, whether
//! these are of one run only, and the writer; checks and the documented table follow. A new output
//! is a file and a line in the list.

mod asked;
mod files;
mod paths;

use std::fmt;
use std::path::{Path, PathBuf};

use roundelay_report::{COMPARED, ObjectiveResult, SIMULATED, Setting, TableOf};
use roundelay_sim::scenario::{Measures, Scenario};
use roundelay_sim::{Network, Probe};
use roundelay_trace::{PacketSink, Stop};
use roundelay_verify::Inspection;

use crate::bench::Measured;
use crate::bounds::Report;
use crate::call::{Compared, Ran};
use crate::failure::Failure;
use crate::papers::ItemResult;
use crate::replay::Replays;
use crate::sweep::Summary;
pub(crate) use asked::{GROUP, Outputs};
use files::{OpenFile, OpenText, Unopened};
pub(crate) use paths::files_of;

macro_rules! outputs {
    ($($(#[$built:meta])? $module:ident,)*) => {
        $($(#[$built])? mod $module;)*

        /// All outputs, in the order of the help.
        static ALL: &[&Output] = &[$($(#[$built])? &$module::OUTPUT),*];
    };
}

outputs! {
    json,
    html,
    markdown,
    svg,
    csv,
    #[cfg(feature = "parquet")]
    parquet,
    #[cfg(feature = "parquet")]
    packets,
    log,
    pcapng,
    pages,
    save,
    out,
}

/// A command with outputs.
pub(crate) trait Writes: fmt::Debug + Send + Sync + Sized + 'static {
    /// The command's results.
    type Results<'a>: ?Sized;
    /// What outputs of events are opened with.
    type Start<'a>: ?Sized;

    /// The output in this command.
    fn of(output: &'static Output) -> Option<&'static Use<Self>>;
}

macro_rules! commands {
    ($($command:ident = $field:ident: $results:ty, $start:ty;)*) => {
        /// An output: an option of one command or several.
        pub(crate) struct Output {
            /// The option, without hyphens.
            option: &'static str,
            $($field: Option<Use<$command>>,)*
        }

        impl Output {
            /// An output of no command.
            const fn new(option: &'static str) -> Self {
                Self { option, $($field: None,)* }
            }
        }

        $(
            /// The command of this name.
            #[derive(Debug)]
            pub(crate) struct $command;

            impl Writes for $command {
                type Results<'a> = $results;
                type Start<'a> = $start;

                fn of(output: &'static Output) -> Option<&'static Use<Self>> {
                    output.$field.as_ref()
                }
            }
        )*

        /// Rows of the documented table, by command.
        #[cfg(test)]
        fn documented() -> String {
            [$(tests::rows::<$command>(stringify!($field))),*].concat()
        }
    };
}

commands! {
    Comparing = compare: Compared, Metadata;
    Simulating = simulate: Ran, Run<'a>;
    Replaying = replay: Replays<'a>, ();
    Judging = objective: ObjectiveResult, ();
    Sweeping = sweep: Summary, ();
    Publishing = papers: ItemResult<'a>, ();
    Measuring = bench: [Measured], ();
    Bounding = bounds: Report, ();
    Verifying = verify: Inspection, ();
}

/// An output in one command.
pub(crate) struct Use<C: Writes> {
    /// The help, without a full stop.
    help: &'static str,
    target: Target,
    /// What the files are of, if of one only.
    only: Option<&'static One>,
    write: Write<C>,
}

impl<C: Writes> Use<C> {
    /// JSON on standard output.
    const fn printed(help: &'static str, text: TextOf<C>) -> Self {
        Self {
            help,
            target: Target::Printed,
            only: None,
            write: Write::Text(text),
        }
    }

    /// A file with a text of the results.
    const fn text(help: &'static str, text: TextOf<C>) -> Self {
        Self {
            help,
            target: Target::File,
            only: None,
            write: Write::Text(text),
        }
    }
}

/// Where an output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// Standard output, in place of the table.
    Printed,
    /// A file.
    File,
    /// A folder with these files beside others.
    Folder(&'static [Part]),
    /// These files in the folder of another output.
    FolderOf(&'static str, &'static [Part]),
    /// A folder with folders of its own, which no other output may write into.
    Tree,
}

impl Target {
    /// The files in a folder.
    const fn parts(self) -> &'static [Part] {
        match self {
            Self::Folder(parts) | Self::FolderOf(_, parts) => parts,
            Self::Printed | Self::File | Self::Tree => &[],
        }
    }
}

type Opening<C> = Result<Box<dyn Opened<C>>, Failure>;
type TextOf<C> = fn(&<C as Writes>::Results<'_>) -> Result<String, Failure>;

/// How an output is written.
pub(crate) enum Write<C: Writes> {
    /// As a text of the results.
    Text(TextOf<C>),
    /// By a function of path and results, after the run.
    After(fn(&Path, &C::Results<'_>) -> Result<(), Failure>),
    /// From the events of the run: opened before it.
    During(fn(&Path, &C::Start<'_>) -> Opening<C>),
    /// By the command itself.
    Command,
}

/// A file in a folder.
#[derive(Debug)]
pub(crate) struct Part {
    /// The file's name without extension.
    name: &'static str,
    /// The setting that the file needs.
    needs: Option<Setting>,
}

impl Part {
    /// A file that is always written.
    const fn named(name: &'static str) -> Self {
        Self { name, needs: None }
    }

    fn is_wanted(&self, measures: &Measures) -> bool {
        self.needs.is_none_or(|(_, is_met)| is_met(measures))
    }
}

/// The files of tables.
const fn parts<R, const N: usize>(tables: [&TableOf<R>; N]) -> [Part; N] {
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

static COMPARED_PARTS: [Part; COMPARED.len()] = parts(COMPARED);
static SIMULATED_PARTS: [Part; SIMULATED.len()] = parts(SIMULATED);

/// What an output can be of one only.
pub(crate) struct One {
    name: &'static str,
    /// The option or argument that gives several.
    several: &'static str,
    instead: &'static str,
}

impl One {
    const RUN: Self = Self {
        name: "run",
        several: "replicas",
        instead: "leave out --replicas, or choose one with --seed",
    };
    const SCHEDULE: Self = Self {
        name: "schedule",
        ..Self::RUN
    };
    const ITEM: Self = Self {
        name: "item",
        several: "items",
        instead: "name one with a plan",
    };
}

/// An output during a run.
pub(crate) trait Opened<C: Writes>: Send {
    /// The sink for the packets of a discipline of a comparison, if the output has any.
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

    /// The observer of a simulation's events, if any.
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

type Metadata = [(String, String)];
type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// The run that an output of `simulate` is opened for.
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) network: &'a Network,
    pub(crate) metadata: &'a Metadata,
    /// Ends the run: requested at the first failed write.
    pub(crate) stop: &'a Stop,
}

impl Output {
    /// The name of a file in a folder. Its extension is the option of the folder.
    fn file_name(&self, target: Target, name: &str) -> String {
        let extension = if let Target::FolderOf(other, _) = target {
            other
        } else {
            self.option
        };
        format!("{name}.{extension}")
    }
}

/// A table's file in a folder.
fn file_of(folder: &Path, name: &str, output: &Output) -> PathBuf {
    folder.join(format!("{name}.{}", output.option))
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rows<C: Writes>(command: &str) -> String {
        let row = |output: &'static Output| {
            let Use {
                help, target, only, ..
            } = C::of(output)?;
            let value = match target {
                Target::File => " FILE",
                Target::Folder(_) | Target::Tree => " DIR",
                Target::Printed | Target::FolderOf(..) => "",
            };
            let of_part = |part: &Part| {
                let name = output.file_name(*target, part.name);
                part.needs.map_or_else(
                    || format!("`{name}`"),
                    |(needs, _)| format!("`{name}` (with `{needs}`)"),
                )
            };
            let files = target
                .parts()
                .iter()
                .map(of_part)
                .collect::<Vec<_>>()
                .join(", ");
            let only = only.map_or("", |one| one.name);
            Some(format!(
                "| `--{}{value}` | `{command}` | {help} | {files} | {only} |\n",
                output.option
            ))
        };
        ALL.iter().copied().filter_map(row).collect()
    }

    /// `ROUNDELAY_WRITE=1` rewrites the table.
    #[test]
    fn the_page_has_a_row_for_every_output() {
        let rows = documented();
        let table = format!(
            "| option | command | | files in the folder | only of one |\n|---|---|---|---|---|\n{rows}"
        );
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator/outputs.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page
            .split_once("| option | command |")
            .expect("a table of outputs");
        let after = rest.split_once("\n\n").expect("text after the table").1;
        let new = format!("{before}{table}\n{after}");
        if std::env::var_os("ROUNDELAY_WRITE").is_some() {
            std::fs::write(&path, &new).unwrap();
        } else {
            assert!(
                page == new,
                "write it anew: ROUNDELAY_WRITE=1 cargo test -p roundelay-cli --lib outputs::"
            );
        }
    }

    /// A switch that adds files to a folder names an output with a folder in the same command.
    #[test]
    fn outputs_within_a_folder_have_one() {
        fn check<C: Writes>() {
            for output in ALL.iter().copied() {
                let Some(Use {
                    target: Target::FolderOf(other, _),
                    ..
                }) = C::of(output)
                else {
                    continue;
                };
                let other = ALL
                    .iter()
                    .find(|each| each.option == *other)
                    .copied()
                    .and_then(C::of);
                assert!(
                    matches!(
                        other,
                        Some(Use {
                            target: Target::Folder(_),
                            ..
                        })
                    ),
                    "--{}",
                    output.option
                );
            }
        }
        check::<Simulating>();
        check::<Comparing>();
        check::<Replaying>();
    }
}

//! Outputs of `compare`, `simulate` and `replay`: one declaration each gives the option and its help,
//! the files, whether they are of one run only, and the writer; checks and the documented table
//! follow. A new output is a file and a line in the list.

mod paths;

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};
use roundelay_report::{COMPARED, PartialFile, SIMULATED, Setting, TableOf};
use roundelay_sim::scenario::{Measures, Scenario};
use roundelay_sim::{Network, Probe};
use roundelay_trace::PacketSink;

use crate::call::{Compared, Ran};
use crate::failure::Failure;
use crate::replay::Replays;
use paths::{Named, check_distinct};
pub(crate) use paths::{check_no_dash, files_of, open_files, try_folder};

macro_rules! outputs {
    ($($module:ident,)*) => {
        $(mod $module;)*

        /// All outputs, in the order of the help.
        static ALL: &[&Output] = &[$(&$module::OUTPUT),*];
    };
}

outputs! {
    json,
    html,
    csv,
    parquet,
    packets,
    log,
    pcapng,
}

/// The group of all outputs among the arguments of a command.
pub(crate) const GROUP: &str = "outputs";

/// An output.
pub(crate) struct Output {
    /// The option, without hyphens.
    option: &'static str,
    target: Target,
    compare: Option<Use<OpenComparison>>,
    simulate: Option<Use<OpenSimulation>>,
    replay: Option<Use<OpenReplay>>,
}

impl Output {
    /// A file in the folder. Its extension is the option of the folder.
    fn file(&self, folder: &Path, name: &str) -> PathBuf {
        folder.join(self.file_name(name))
    }

    fn file_name(&self, name: &str) -> String {
        let extension = if let Target::FolderOf(other) = self.target { other } else { self.option };
        format!("{name}.{extension}")
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option)
    }
}

/// Where an output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output, in place of the table.
    Printed,
    /// A file.
    File,
    /// A folder.
    Folder,
    /// The folder of another output.
    FolderOf(&'static str),
}

/// An output in one command.
pub(crate) struct Use<O> {
    /// The help, without a full stop.
    help: &'static str,
    /// The files in a folder.
    files: &'static [Part],
    /// What the files are of, if of one run only: run or schedule.
    only: Option<&'static str>,
    /// Opens the files before the run; none for what is printed.
    open: Option<O>,
}

/// A file in a folder.
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
        parts[number] = Part { name: tables[number].name, needs: tables[number].needs };
        number += 1;
    }
    parts
}

static COMPARED_PARTS: [Part; COMPARED.len()] = parts(COMPARED);
static SIMULATED_PARTS: [Part; SIMULATED.len()] = parts(SIMULATED);

type Metadata = [(String, String)];
type SinkError = Box<dyn std::error::Error + Send + Sync>;
type OpenComparison = fn(&Path, &Metadata) -> Result<Box<dyn OfComparison>, Failure>;
type OpenSimulation = fn(&Path, &Run<'_>) -> Result<Box<dyn OfSimulation>, Failure>;
type OpenReplay = fn(&Path, &Metadata) -> Result<Box<dyn OfReplay>, Failure>;

/// An output of `compare` during the replay.
pub(crate) trait OfComparison: Send {
    /// The sink for the packets of a discipline, if the output has any.
    ///
    /// # Errors
    /// The file cannot be created.
    fn sink(&mut self, name: &str, index: usize, zero_unix_nanos: i64) -> Result<Option<Box<dyn PacketSink>>, SinkError> {
        let _ = (name, index, zero_unix_nanos);
        Ok(None)
    }

    /// # Errors
    /// A file cannot be written.
    fn finish(self: Box<Self>, compared: &Compared) -> Result<(), Failure>;
}

/// An output of `simulate` during the first run.
pub(crate) trait OfSimulation: Send {
    /// The observer of the run's events, if any.
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        None
    }

    /// Whether the output has curves over time.
    fn has_curves(&self) -> bool {
        false
    }

    /// # Errors
    /// A file cannot be written.
    fn finish(self: Box<Self>, ran: &Ran) -> Result<(), Failure>;
}

/// The run that an output of `simulate` is opened for.
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) network: &'a Network,
    pub(crate) metadata: &'a Metadata,
}

/// An output of `replay`.
pub(crate) trait OfReplay {
    /// # Errors
    /// A file cannot be written.
    fn finish(self: Box<Self>, replays: &Replays<'_>) -> Result<(), Failure>;
}

/// A command with outputs.
pub(crate) trait Writes: fmt::Debug + Send + Sync + 'static {
    /// Opens an output of the command.
    type Open: Copy;
    /// The command's name, for the documented table.
    #[cfg(test)]
    const NAME: &'static str;

    fn of(output: &'static Output) -> Option<&'static Use<Self::Open>>;
}

macro_rules! commands {
    ($($command:ident = $field:ident opens $open:ident,)*) => {
        $(
            /// The command of this name.
            #[derive(Debug)]
            pub(crate) struct $command;

            impl Writes for $command {
                type Open = $open;
                #[cfg(test)]
                const NAME: &'static str = stringify!($field);

                fn of(output: &'static Output) -> Option<&'static Use<$open>> {
                    output.$field.as_ref()
                }
            }
        )*
    };
}

commands! {
    Comparing = compare opens OpenComparison,
    Simulating = simulate opens OpenSimulation,
    Replaying = replay opens OpenReplay,
}

/// The outputs that a command's arguments ask for.
#[derive(Debug)]
pub(crate) struct Outputs<C> {
    /// Outputs with their files or folders; no path for what is printed.
    chosen: Vec<(&'static Output, PathBuf)>,
    command: PhantomData<C>,
}

impl<C: Writes> Args for Outputs<C> {
    fn augment_args(command: Command) -> Command {
        let options = ALL.iter().copied().filter_map(|output| Some((output, C::of(output)?)));
        let (mut command, mut names) = (command, Vec::new());
        for (Output { option, target, .. }, Use { help, .. }) in options {
            let argument = Arg::new(*option).long(*option).help(*help);
            command = command.arg(match target {
                Target::Printed => argument.action(ArgAction::SetTrue),
                Target::FolderOf(other) => argument.action(ArgAction::SetTrue).requires(*other),
                Target::File => argument.value_name("FILE").value_parser(value_parser!(PathBuf)),
                Target::Folder => argument.value_name("DIR").value_parser(value_parser!(PathBuf)),
            });
            names.push(*option);
        }
        command.group(ArgGroup::new(GROUP).multiple(true).args(names))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Writes> FromArgMatches for Outputs<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let path = |option: &str| matches.get_one::<PathBuf>(option).cloned();
        let chosen = ALL.iter().copied().filter(|output| C::of(output).is_some()).filter_map(|output| {
            let path = match output.target {
                Target::Printed => matches.get_flag(output.option).then(PathBuf::new),
                Target::FolderOf(other) => path(other).filter(|_| matches.get_flag(output.option)),
                Target::File | Target::Folder => path(output.option),
            };
            Some((output, path?))
        });
        Ok(Self { chosen: chosen.collect(), command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<C: Writes> Outputs<C> {
    /// Whether the arguments ask for an output.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.chosen.iter().any(|(output, _)| output.option == option)
    }

    /// The outputs with files, their uses and paths.
    fn written(&self) -> impl Iterator<Item = (&'static Output, &'static Use<C::Open>, &Path)> {
        let written = self.chosen.iter().filter(|(output, _)| output.target != Target::Printed);
        written.filter_map(|(output, path)| Some((*output, C::of(output)?, path.as_path())))
    }

    /// Rejects files together with `--dry-run`, which would write nothing.
    ///
    /// # Errors
    /// An output has a file.
    pub(crate) fn check_none(&self) -> Result<(), Failure> {
        self.written().next().map_or(Ok(()), |(output, ..)| {
            let message = format!("--{}: --dry-run runs nothing and has nothing to write: leave one of the two out", output.option);
            Err(Failure::usage(message))
        })
    }

    /// All files of all outputs, with the option that writes them.
    fn files(&self, measures: &Measures) -> Vec<(String, PathBuf)> {
        let of_output = |(output, of, path): (&Output, &Use<C::Open>, &Path)| -> Vec<_> {
            let option = format!("--{}", output.option);
            if output.target == Target::File {
                return vec![(option, path.to_owned())];
            }
            of.files.iter().filter(|part| part.is_wanted(measures)).map(|part| (option.clone(), output.file(path, part.name))).collect()
        };
        self.written().flat_map(of_output).collect()
    }

    /// Checks all paths before a run. `read`: the files that the command reads.
    ///
    /// # Errors
    /// A path is `-`, where the table goes; two files are the same, or one is read; a folder has files
    /// of another run, which would be taken for those of this run; several runs are asked for
    /// and an output is of one.
    pub(crate) fn check<'a>(&self, read: impl IntoIterator<Item = Named<'a>>, measures: &Measures, replicas: u16) -> Result<(), Failure> {
        for (output, _, path) in self.written().filter(|(output, ..)| output.target == Target::Folder) {
            check_no_dash((&format!("--{}", output.option), path), "a folder")?;
        }
        self.check_stale(measures)?;
        let files = self.files(measures);
        let read: Vec<Named<'_>> = read.into_iter().collect();
        check_distinct(read, files.iter().map(|(option, path)| (option.as_str(), path.as_path())))?;
        let of_one = self.written().find_map(|(output, of, _)| Some((output.option, of.only?))).filter(|_| replicas > 1);
        of_one.map_or(Ok(()), |(option, only)| {
            let message =
                format!("--{option} tells of one {only}, not of {replicas} replicas: leave out --replicas, or choose one with --seed");
            Err(Failure::usage(message))
        })
    }

    fn check_stale(&self, measures: &Measures) -> Result<(), Failure> {
        for output in ALL.iter().copied() {
            let other = match output.target {
                Target::Folder => output.option,
                Target::FolderOf(other) => other,
                Target::Printed | Target::File => continue,
            };
            let Some((_, folder)) = self.chosen.iter().find(|(chosen, _)| chosen.option == other) else { continue };
            for part in C::of(output).map_or(&[][..], |of| of.files) {
                let lacks = match part.needs {
                    _ if !self.has(output.option) => format!("--{}", output.option),
                    Some((setting, is_met)) if !is_met(measures) => setting.to_owned(),
                    _ => continue,
                };
                let path = output.file(folder, part.name);
                if path.exists() {
                    let path = path.display();
                    return Err(Failure::usage(format!(
                        "{path}: left by another run with {lacks}; expected {lacks}, or a folder without it"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Creates the folders, and opens all outputs before the run: an unwritable path is an error
    /// before a long run.
    ///
    /// # Errors
    /// A file cannot be created.
    fn open<W>(&self, measures: &Measures, mut open: impl FnMut(C::Open, &Path) -> Result<W, Failure>) -> Result<Vec<W>, Failure> {
        for (output, of, path) in self.written().filter(|(output, ..)| output.target != Target::File) {
            debug_assert!(!of.files.is_empty(), "--{}", output.option);
            try_folder(path, of.files.iter().filter(|part| part.is_wanted(measures)).map(|part| output.file_name(part.name)))?;
        }
        self.written().filter_map(|(_, of, path)| Some(open(of.open?, path))).collect()
    }
}

impl Outputs<Comparing> {
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn begin(&self, metadata: &Metadata) -> Result<Vec<Box<dyn OfComparison>>, Failure> {
        self.open(&Measures::default(), |open, path| open(path, metadata))
    }
}

impl Outputs<Simulating> {
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn begin(&self, run: &Run<'_>) -> Result<Vec<Box<dyn OfSimulation>>, Failure> {
        self.open(&run.scenario.measures, |open, path| open(path, run))
    }
}

impl Outputs<Replaying> {
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn begin(&self, metadata: &Metadata) -> Result<Vec<Box<dyn OfReplay>>, Failure> {
        self.open(&Measures::default(), |open, path| open(path, metadata))
    }
}

/// A file that is open during the run. Clones write to the same file.
#[derive(Clone)]
pub(crate) struct OpenFile {
    path: PathBuf,
    file: Arc<Mutex<PartialFile>>,
}

impl OpenFile {
    fn create(path: &Path) -> Result<Self, Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Failure::run(format!("{}: cannot create: there is no folder {}", path.display(), folder.display())));
        }
        let file = PartialFile::create(path).map_err(Failure::run)?;
        Ok(Self { path: path.to_owned(), file: Arc::new(Mutex::new(file)) })
    }

    /// Gives the file its name, if all was written. Other clones are gone by then.
    fn finish(self, written: io::Result<()>) -> Result<(), Failure> {
        written.map_err(|error| Failure::run(format!("{}: cannot write: {error}", self.path.display())))?;
        let file = Arc::into_inner(self.file).ok_or_else(|| Failure::run(format!("{}: still being written", self.path.display())))?;
        file.into_inner().unwrap_or_else(PoisonError::into_inner).finish().map_err(Failure::run)
    }

    /// Writes the whole text and gives the file its name.
    pub(crate) fn finish_with(mut self, text: &str) -> Result<(), Failure> {
        let written = io::Write::write_all(&mut self, text.as_bytes());
        self.finish(written)
    }
}

impl io::Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<C: Writes>() -> Vec<String> {
        let row = |output: &'static Output| {
            let Use { help, files, only, .. } = C::of(output)?;
            let value = match output.target {
                Target::File => " FILE",
                Target::Folder => " DIR",
                Target::Printed | Target::FolderOf(_) => "",
            };
            let of_part = |part: &Part| {
                let name = output.file_name(part.name);
                part.needs.map_or_else(|| format!("`{name}`"), |(needs, _)| format!("`{name}` (with `{needs}`)"))
            };
            let files: Vec<_> = files.iter().map(of_part).collect();
            let (name, files) = (C::NAME, files.join(", "));
            Some(format!("| `--{}{value}` | `{name}` | {help} | {files} | {} |\n", output.option, only.unwrap_or("")))
        };
        ALL.iter().copied().filter_map(row).collect()
    }

    /// `ROUNDELAY_WRITE=1` rewrites the table.
    #[test]
    fn the_page_has_a_row_for_every_output() {
        let rows = [rows::<Comparing>(), rows::<Simulating>(), rows::<Replaying>()].concat().concat();
        let table = format!("| option | command | | files in the folder | only of one |\n|---|---|---|---|---|\n{rows}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator/outputs.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once("| option | command |").expect("a table of outputs");
        let after = rest.split_once("\n\n").expect("text after the table").1;
        let new = format!("{before}{table}\n{after}");
        if std::env::var_os("ROUNDELAY_WRITE").is_some() {
            std::fs::write(&path, &new).unwrap();
        } else {
            assert!(page == new, "write it anew: ROUNDELAY_WRITE=1 cargo test -p roundelay-cli --lib outputs::");
        }
    }

    /// A switch that adds files to a folder names an output with a folder, in each of its commands.
    #[test]
    fn outputs_within_a_folder_have_one() {
        for output in ALL.iter().copied() {
            let Target::FolderOf(other) = output.target else { continue };
            let other = ALL.iter().find(|each| each.option == other).expect("an output of this name");
            assert_eq!(other.target, Target::Folder);
            assert!(output.compare.is_none() || other.compare.is_some());
            assert!(output.simulate.is_none() || other.simulate.is_some());
            assert!(output.replay.is_none() || other.replay.is_some());
        }
    }
}

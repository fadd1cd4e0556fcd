//! The outputs that a command's arguments ask for: options, checks of their paths, and open files.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};
use roundelay::Fault;
use roundelay_sim::scenario::Measures;

use super::files::{OpenFile, OpenText, Unopened};
use super::output::{Opened, Output, Part, Target, Write, Writes};
use super::paths::{Named, check_distinct, check_no_dash, is_within, try_folder};
use crate::failure::Failure;

/// The group of all outputs among a command's arguments.
pub(crate) const GROUP: &str = "outputs";

/// The outputs that a command's arguments ask for.
#[derive(Debug)]
pub(crate) struct Outputs<C: Writes> {
    /// Outputs with their files or folders. The path is empty for what is printed.
    chosen: Vec<(&'static Output<C>, PathBuf)>,
}

impl<C: Writes> Args for Outputs<C> {
    fn augment_args(mut command: Command) -> Command {
        for output in C::OUTPUTS {
            let argument = Arg::new(output.option)
                .long(output.option)
                .help(output.help);
            command = command.arg(match output.target {
                Target::Printed => argument.action(ArgAction::SetTrue),
                Target::FolderOf(other, _) => argument.action(ArgAction::SetTrue).requires(other),
                Target::File => argument
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf)),
                Target::Folder(_) | Target::Tree => argument
                    .value_name("DIR")
                    .value_parser(value_parser!(PathBuf)),
            });
        }
        let options = C::OUTPUTS.iter().map(|output| output.option);
        command.group(ArgGroup::new(GROUP).multiple(true).args(options))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Writes> FromArgMatches for Outputs<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut chosen = Vec::new();
        for output in C::OUTPUTS {
            let option = output.option;
            let path = match output.target {
                Target::Printed if matches.get_flag(option) => Some(PathBuf::new()),
                Target::FolderOf(other, _) if matches.get_flag(option) => {
                    matches.get_one::<PathBuf>(other).cloned()
                }
                Target::Printed | Target::FolderOf(..) => None,
                Target::File | Target::Folder(_) | Target::Tree => {
                    matches.get_one::<PathBuf>(option).cloned()
                }
            };
            chosen.extend(path.map(|path| (output, path)));
        }
        Ok(Self { chosen })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<C: Writes> Outputs<C> {
    /// Whether the arguments ask for any output.
    pub(crate) const fn is_any(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// Whether the arguments ask for an output.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.path(option).is_some()
    }

    /// The same outputs for another kind of results.
    ///
    /// # Errors
    /// Such results have no output with that name. The message ends with `reason`.
    pub(crate) fn of_kind<D: Writes>(&self, reason: &str) -> Result<Outputs<D>, Failure> {
        let mut chosen = Vec::new();
        for (output, path) in &self.chosen {
            let known = D::OUTPUTS
                .iter()
                .find(|known| known.option == output.option);
            let Some(known) = known else {
                let option = output.option;
                return Err(Failure::usage(format!("--{option}: {reason}")));
            };
            chosen.push((known, path.clone()));
        }
        Ok(Outputs { chosen })
    }

    /// The path of an output.
    pub(crate) fn path(&self, option: &str) -> Option<&Path> {
        for (output, path) in &self.chosen {
            if output.option == option {
                return Some(path);
            }
        }
        None
    }

    /// All outputs by name, with their files or folders.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.written().map(|(output, path)| (output.option, path))
    }

    /// The text to print instead of the table, if any.
    ///
    /// # Errors
    /// The results have no such text.
    pub(crate) fn printed(&self, results: &C::Results<'_>) -> Result<Option<String>, Failure> {
        for (output, _) in &self.chosen {
            if let (Target::Printed, Write::Text(text)) = (output.target, &output.write) {
                return text(results).map(Some);
            }
        }
        Ok(None)
    }

    /// Rejects files together with `--dry-run`, because it writes nothing.
    ///
    /// # Errors
    /// An output has a file.
    pub(crate) fn check_none(&self) -> Result<(), Failure> {
        match self.written().next() {
            None => Ok(()),
            Some((output, _)) => Err(Failure::usage(format!(
                "--{}: --dry-run runs nothing and has nothing to write: leave one of the two out",
                output.option
            ))),
        }
    }

    /// Checks all paths before a run. `read` are the files that the command reads. `number` says
    /// how many runs there are, or other things of which some outputs can tell one only.
    ///
    /// # Errors
    /// - A path is `-`, but the table goes there.
    /// - Two files are the same, or the command reads one of them.
    /// - A folder has files of another run, and you would take them for those of this run.
    /// - You ask for several runs, but an output tells of one.
    pub(crate) fn check<'a>(
        &self,
        read: impl IntoIterator<Item = Named<'a>>,
        measures: &Measures,
        number: usize,
    ) -> Result<(), Failure> {
        self.check_one(number)?;
        for (output, path) in self.written() {
            if matches!(output.target, Target::Folder(_) | Target::Tree) {
                check_no_dash((&format!("--{}", output.option), path), "a folder")?;
            }
        }
        self.check_stale(measures)?;
        let files = self.files(measures);
        let read: Vec<Named<'_>> = read.into_iter().collect();
        let written = files
            .iter()
            .map(|(option, path)| (option.as_str(), path.as_path()));
        check_distinct(read, written)?;
        self.check_trees(&files)
    }

    /// Creates the folders and tries or opens all files before the run, so that you hear of an
    /// unwritable path before a long run and not after it.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn begin(
        &self,
        measures: &Measures,
        start: &C::Start<'_>,
    ) -> Result<Vec<Box<dyn Opened<C>>>, Failure> {
        for (output, path) in self.written() {
            match output.target {
                Target::Folder(parts) | Target::FolderOf(_, parts) => {
                    let wanted = parts.iter().filter(|part| part.is_wanted(measures));
                    try_folder(path, wanted.map(|part| output.file_name(part.name)))?;
                }
                Target::Tree => try_folder(path, [output.option.to_owned()])?,
                Target::File if matches!(output.write, Write::After(_)) => {
                    drop(OpenFile::create(path)?)
                }
                Target::File | Target::Printed => {}
            }
        }
        let mut all: Vec<Box<dyn Opened<C>>> = Vec::new();
        for (output, path) in self.written() {
            match output.write {
                Write::Text(text) => {
                    let file = OpenFile::create(path)?;
                    all.push(Box::new(OpenText { file, text }));
                }
                Write::After(write) => all.push(Box::new(Unopened {
                    path: path.to_owned(),
                    write,
                })),
                Write::During(open) => all.push(open(path, start)?),
                Write::Command => {}
            }
        }
        Ok(all)
    }

    /// The outputs that have files, with their paths.
    fn written(&self) -> impl Iterator<Item = (&'static Output<C>, &Path)> {
        let with_paths = self
            .chosen
            .iter()
            .map(|(output, path)| (*output, path.as_path()));
        with_paths.filter(|(output, _)| !matches!(output.target, Target::Printed))
    }

    /// All outputs' files, with the option that writes each.
    fn files(&self, measures: &Measures) -> Vec<(String, PathBuf)> {
        let mut files = Vec::new();
        for (output, path) in self.written() {
            let option = format!("--{}", output.option);
            if matches!(output.target, Target::File) {
                files.push((option, path.to_owned()));
                continue;
            }
            for part in output.target.parts() {
                if part.is_wanted(measures) {
                    files.push((option.clone(), path.join(output.file_name(part.name))));
                }
            }
        }
        files
    }

    fn check_one(&self, number: usize) -> Result<(), Failure> {
        if number == 1 {
            return Ok(());
        }
        for (output, _) in self.written() {
            let option = output.option;
            if let Some(only) = output.only {
                let name = only.name;
                let several = only.several;
                let instead = only.instead;
                return Err(Failure::usage(format!(
                    "--{option} tells of one {name}, not of {number} {several}: {instead}"
                )));
            }
        }
        Ok(())
    }

    fn check_stale(&self, measures: &Measures) -> Result<(), Failure> {
        for output in C::OUTPUTS {
            let of_folder = if let Target::FolderOf(other, _) = output.target {
                other
            } else {
                output.option
            };
            let Some(folder) = self.path(of_folder) else {
                continue;
            };
            for part in output.target.parts() {
                let path = folder.join(output.file_name(part.name));
                let Some(lacks) = self.lacks(output, part, measures) else {
                    continue;
                };
                if path.exists() {
                    let legal = format!("{lacks}, or a folder without it");
                    let fault = Fault::wanted(legal)
                        .behind(format_args!("left by another run with {lacks}; "));
                    return Err(Failure::usage(fault.in_file(path.display().to_string(), 0)));
                }
            }
        }
        Ok(())
    }

    /// What this call lacks to write a file: the option, or a setting.
    fn lacks(&self, output: &Output<C>, part: &Part, measures: &Measures) -> Option<String> {
        if !self.has(output.option) {
            return Some(format!("--{}", output.option));
        }
        match part.needs {
            Some((setting, is_met)) if !is_met(measures) => Some(setting.to_owned()),
            _ => None,
        }
    }

    fn check_trees(&self, files: &[(String, PathBuf)]) -> Result<(), Failure> {
        for (output, folder) in self.written() {
            if !matches!(output.target, Target::Tree) {
                continue;
            }
            for (option, path) in files {
                if is_within(path, folder) {
                    let tree = output.option;
                    let fault = Fault::wanted("a file elsewhere").behind(format_args!(
                        "{option} would write into the folder of --{tree}; "
                    ));
                    return Err(Failure::usage(fault.in_file(path.display().to_string(), 0)));
                }
            }
        }
        Ok(())
    }
}

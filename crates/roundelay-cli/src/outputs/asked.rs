//! The outputs that a command's arguments ask for: options, checks of their paths, and open files.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};
use roundelay_sim::scenario::Measures;

use super::paths::{Named, check_distinct, check_no_dash, is_within, try_folder};
use super::{
    ALL, OpenFile, OpenText, Opened, Opening, Output, Part, Target, Unopened, Use, Write, Writes,
};
use crate::failure::Failure;

/// The group of all outputs among the arguments of a command.
pub(crate) const GROUP: &str = "outputs";

/// The outputs that a command's arguments ask for.
#[derive(Debug)]
pub(crate) struct Outputs<C> {
    /// Outputs with their files or folders; no path for what is printed.
    chosen: Vec<(&'static Output, PathBuf)>,
    command: PhantomData<C>,
}

/// The outputs of a command.
fn all<C: Writes>() -> impl Iterator<Item = (&'static Output, &'static Use<C>)> {
    ALL.iter()
        .copied()
        .filter_map(|output| Some((output, C::of(output)?)))
}

impl<C: Writes> Args for Outputs<C> {
    fn augment_args(mut command: Command) -> Command {
        for (Output { option, .. }, Use { help, target, .. }) in all::<C>() {
            let argument = Arg::new(*option).long(*option).help(*help);
            command = command.arg(match target {
                Target::Printed => argument.action(ArgAction::SetTrue),
                Target::FolderOf(other, _) => argument.action(ArgAction::SetTrue).requires(*other),
                Target::File => argument
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf)),
                Target::Folder(_) | Target::Tree => argument
                    .value_name("DIR")
                    .value_parser(value_parser!(PathBuf)),
            });
        }
        command.group(
            ArgGroup::new(GROUP)
                .multiple(true)
                .args(all::<C>().map(|(output, _)| output.option)),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Writes> FromArgMatches for Outputs<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let path = |option: &str| matches.get_one::<PathBuf>(option).cloned();
        let chosen = all::<C>().filter_map(|(output, of)| {
            let path = match of.target {
                Target::Printed => matches.get_flag(output.option).then(PathBuf::new),
                Target::FolderOf(other, _) => {
                    path(other).filter(|_| matches.get_flag(output.option))
                }
                Target::File | Target::Folder(_) | Target::Tree => path(output.option),
            };
            Some((output, path?))
        });
        Ok(Self {
            chosen: chosen.collect(),
            command: PhantomData,
        })
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

    /// The path of an output.
    pub(crate) fn path(&self, option: &str) -> Option<&Path> {
        self.chosen
            .iter()
            .find(|(output, _)| output.option == option)
            .map(|(_, path)| path.as_path())
    }

    /// The text to print in place of the table, if any.
    ///
    /// # Errors
    /// The results have no such text.
    pub(crate) fn printed(&self, results: &C::Results<'_>) -> Result<Option<String>, Failure> {
        let text = self
            .chosen
            .iter()
            .find_map(|(output, _)| match C::of(output) {
                Some(Use {
                    target: Target::Printed,
                    write: Write::Text(text),
                    ..
                }) => Some(text),
                _ => None,
            });
        text.map(|text| text(results)).transpose()
    }

    /// Rejects files together with `--dry-run`, which would write nothing.
    ///
    /// # Errors
    /// An output has a file.
    pub(crate) fn check_none(&self) -> Result<(), Failure> {
        self.written().next().map_or(Ok(()), |(output, ..)| {
            let message = format!(
                "--{}: --dry-run runs nothing and has nothing to write: leave one of the two out",
                output.option
            );
            Err(Failure::usage(message))
        })
    }

    /// Checks all paths before a run. `read`: the files that the command reads. `number`: of runs,
    /// or of other things that some outputs can be of one only.
    ///
    /// # Errors
    /// A path is `-`, where the table goes; two files are the same, or one is read; a folder has
    /// files of another run, which would be taken for those of this run; several runs are asked for
    /// and an output is of one.
    pub(crate) fn check<'a>(
        &self,
        read: impl IntoIterator<Item = Named<'a>>,
        measures: &Measures,
        number: usize,
    ) -> Result<(), Failure> {
        self.check_one(number)?;
        for (output, _, path) in self
            .written()
            .filter(|(_, of, _)| matches!(of.target, Target::Folder(_) | Target::Tree))
        {
            check_no_dash((&format!("--{}", output.option), path), "a folder")?;
        }
        self.check_stale(measures)?;
        let files = self.files(measures);
        let read: Vec<Named<'_>> = read.into_iter().collect();
        check_distinct(
            read,
            files
                .iter()
                .map(|(option, path)| (option.as_str(), path.as_path())),
        )?;
        self.check_trees(&files)
    }

    /// Creates the folders, and opens all outputs before the run: an unwritable path is an error
    /// before a long run.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn begin(
        &self,
        measures: &Measures,
        start: &C::Start<'_>,
    ) -> Result<Vec<Box<dyn Opened<C>>>, Failure> {
        for (output, of, path) in self.written() {
            match of.target {
                Target::Folder(parts) | Target::FolderOf(_, parts) => {
                    let wanted = parts.iter().filter(|part| part.is_wanted(measures));
                    try_folder(
                        path,
                        wanted.map(|part| output.file_name(of.target, part.name)),
                    )?;
                }
                Target::Tree => try_folder(path, [output.option.to_owned()])?,
                Target::File if matches!(of.write, Write::After(_)) => {
                    drop(OpenFile::create(path)?)
                }
                Target::File | Target::Printed => {}
            }
        }
        let open = |(_, of, path): (_, &'static Use<C>, &Path)| -> Option<Opening<C>> {
            Some(match of.write {
                Write::Text(text) => OpenFile::create(path)
                    .map(|file| Box::new(OpenText { file, text }) as Box<dyn Opened<C>>),
                Write::After(write) => Ok(Box::new(Unopened {
                    path: path.to_owned(),
                    write,
                })),
                Write::During(open) => open(path, start),
                Write::Command => return None,
            })
        };
        self.written().filter_map(open).collect()
    }

    /// The outputs with files, their uses and paths.
    fn written(&self) -> impl Iterator<Item = (&'static Output, &'static Use<C>, &Path)> {
        let written = self
            .chosen
            .iter()
            .filter_map(|(output, path)| Some((*output, C::of(output)?, path.as_path())));
        written.filter(|(_, of, _)| !matches!(of.target, Target::Printed))
    }

    /// All files of all outputs, with the option that writes them.
    fn files(&self, measures: &Measures) -> Vec<(String, PathBuf)> {
        let of_output = |(output, of, path): (&Output, &Use<C>, &Path)| -> Vec<_> {
            let option = format!("--{}", output.option);
            if matches!(of.target, Target::File) {
                return vec![(option, path.to_owned())];
            }
            let wanted = of
                .target
                .parts()
                .iter()
                .filter(|part| part.is_wanted(measures));
            wanted
                .map(|part| {
                    (
                        option.clone(),
                        path.join(output.file_name(of.target, part.name)),
                    )
                })
                .collect()
        };
        self.written().flat_map(of_output).collect()
    }

    fn check_one(&self, number: usize) -> Result<(), Failure> {
        let of_one = self
            .written()
            .find_map(|(output, of, _)| Some((output.option, of.only?)))
            .filter(|_| number != 1);
        of_one.map_or(Ok(()), |(option, only)| {
            let name = only.name;
            let several = only.several;
            let instead = only.instead;
            Err(Failure::usage(format!(
                "--{option} tells of one {name}, not of {number} {several}: {instead}"
            )))
        })
    }

    fn check_stale(&self, measures: &Measures) -> Result<(), Failure> {
        for (output, of) in all::<C>() {
            let of_folder = if let Target::FolderOf(other, _) = of.target {
                other
            } else {
                output.option
            };
            let Some(folder) = self.path(of_folder) else {
                continue;
            };
            let lacks = |part: &Part| match part.needs {
                _ if !self.has(output.option) => Some(format!("--{}", output.option)),
                Some((setting, is_met)) if !is_met(measures) => Some(setting.to_owned()),
                _ => None,
            };
            let stale = of.target.parts().iter().find_map(|part| {
                let path = folder.join(output.file_name(of.target, part.name));
                lacks(part)
                    .filter(|_| path.exists())
                    .map(|lacks| (path, lacks))
            });
            if let Some((path, lacks)) = stale {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "{path}: left by another run with {lacks}; expected {lacks}, or a folder without it"
                )));
            }
        }
        Ok(())
    }

    fn check_trees(&self, files: &[(String, PathBuf)]) -> Result<(), Failure> {
        for (output, _, folder) in self
            .written()
            .filter(|(_, of, _)| matches!(of.target, Target::Tree))
        {
            if let Some((option, path)) = files.iter().find(|(_, path)| is_within(path, folder)) {
                let path = path.display();
                let tree = output.option;
                return Err(Failure::usage(format!(
                    "{path}: {option} would write into the folder of --{tree}; expected a file elsewhere"
                )));
            }
        }
        Ok(())
    }
}

//! A command's outputs: each option with its help, its files, whether these tell of one run only,
//! and its writer.
//!
//! Each command lists its outputs in its own folder (`compare/outputs.rs`). Options, checks of
//! paths and the documented table follow from the list.

mod asked;
pub(crate) mod csv;
mod files;
mod output;
mod paths;

pub(crate) use asked::{GROUP, Outputs};
pub(crate) use files::OpenFile;
pub(crate) use output::{
    One, Opened, Opening, Output, Part, SinkError, Target, Write, Writes, finish_all, parts,
    table_file,
};
pub(crate) use paths::{check_distinct, files_of};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::advise::outputs::Advising;
    use crate::bench::outputs::Measuring;
    use crate::bounds::outputs::Bounding;
    use crate::compare::outputs::Comparing;
    use crate::evaluate::outputs::Evaluating;
    use crate::import::outputs::Importing;
    use crate::objective::outputs::Judging;
    use crate::papers::outputs::Publishing;
    use crate::plot::outputs::Plotting;
    use crate::replay::outputs::Replaying;
    use crate::simulate::outputs::Simulating;
    use crate::sweep::outputs::Sweeping;
    use crate::verify::outputs::Verifying;

    /// A row of the documented table for each output that a command has.
    fn rows<C: Writes>(command: &str) -> String {
        let mut rows = String::new();
        for output in C::OUTPUTS {
            let value = match output.target {
                Target::File => " FILE",
                Target::Folder(_) | Target::Tree => " DIR",
                Target::Printed | Target::FolderOf(..) => "",
            };
            let mut files = Vec::new();
            for part in output.target.parts() {
                let name = output.file_name(part.name);
                files.push(match part.needs {
                    Some((needs, _)) => format!("`{name}` (with `{needs}`)"),
                    None => format!("`{name}`"),
                });
            }
            let option = output.option;
            let help = output.help;
            let files = files.join(", ");
            let only = output.only.map_or("", |one| one.name);
            rows += &format!("| `--{option}{value}` | `{command}` | {help} | {files} | {only} |\n");
        }
        rows
    }

    /// `ROUNDELAY_WRITE=1` rewrites the table.
    #[test]
    fn the_page_has_a_row_for_every_output() {
        let rows = [
            rows::<Comparing>("compare"),
            rows::<Simulating>("simulate"),
            rows::<Replaying>("replay"),
            rows::<Judging>("objective"),
            rows::<Evaluating>("evaluate"),
            rows::<Sweeping>("sweep"),
            rows::<Publishing>("papers"),
            rows::<Measuring>("bench"),
            rows::<Bounding>("bounds"),
            rows::<Plotting>("plot"),
            rows::<Verifying>("verify"),
            rows::<Importing>("import"),
            rows::<Advising>("advise"),
        ]
        .concat();
        let table = format!(
            "| option | command | | files in the folder | only of one \
             |\n|---|---|---|---|---|\n{rows}"
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
            for output in C::OUTPUTS {
                let Target::FolderOf(other, _) = output.target else {
                    continue;
                };
                let is_folder = |each: &Output<C>| {
                    each.option == other && matches!(each.target, Target::Folder(_))
                };
                assert!(C::OUTPUTS.iter().any(is_folder), "--{}", output.option);
            }
        }
        check::<Simulating>();
        check::<Comparing>();
        check::<Replaying>();
    }
}

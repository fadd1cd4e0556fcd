//! `roundelay man`: man pages, made from the same declarations as the help.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use roundelay::Fault;
use roundelay_report::write_text;

use crate::command::Arguments;
use crate::failure::Failure;
use crate::terminal::print;

/// Prints the page of the program or of one of its commands, or writes all pages into a folder.
///
/// # Errors
/// No command has the name, or the folder cannot be written.
pub(crate) fn run(command: Option<&str>, out: Option<&Path>) -> Result<(), Failure> {
    let pages = pages();
    if let Some(folder) = out {
        return write(folder, &pages);
    }
    let wanted = match command {
        Some(command) => format!("roundelay-{command}"),
        None => "roundelay".to_owned(),
    };
    for (name, page) in &pages {
        if *name == wanted {
            return print(page);
        }
    }
    Err(unknown(command.unwrap_or_default(), &pages))
}

fn unknown(command: &str, pages: &[(String, String)]) -> Failure {
    let mut names = Vec::new();
    for (name, _) in pages {
        names.extend(name.strip_prefix("roundelay-"));
    }
    Failure::usage(Fault::no_such("command", command, &names))
}

fn write(folder: &Path, pages: &[(String, String)]) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::run(format!("{}: cannot write: {error}", folder.display())))?;
    for (name, page) in pages {
        let path = folder.join(format!("{name}.1"));
        write_text(&path, page).map_err(Failure::run)?;
    }
    Ok(())
}

/// All pages by name: the program's, and one for each command.
fn pages() -> Vec<(String, String)> {
    let mut program = Arguments::command();
    program.build();
    let mut pages = vec![("roundelay".to_owned(), page(&program))];
    for command in program.get_subcommands() {
        if command.is_hide_set() {
            continue;
        }
        let name = format!("roundelay-{}", command.get_name());
        pages.push((name, page(command)));
    }
    pages
}

fn page(command: &Command) -> String {
    let source = concat!("roundelay ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone())
        .source(source)
        .manual("Roundelay Manual");
    let mut page = Vec::new();
    man.render(&mut page)
        .expect("a buffer in memory takes everything");
    String::from_utf8_lossy(&page).into_owned()
}

//! `roundelay man`: man pages, made from the same declarations as the help.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use roundelay::Fault;
use roundelay_report::write_text;

use crate::command::{Arguments, EXIT_STATUS};
use crate::failure::Failure;
use crate::terminal::print;

mod examples;

use examples::EXAMPLES;

/// Variables that commands read: whose, or of all commands, the name, and what it does.
const ENVIRONMENT: [(Option<&str>, &str, &str); 5] = [
    (None, "NO_COLOR", "No colours, even on a terminal."),
    (
        None,
        "FORCE_COLOR",
        "Colours, even where the output is no terminal.",
    ),
    (
        None,
        "COLUMNS",
        "The width of tables; without it, that of the terminal.",
    ),
    (
        Some("papers"),
        "XDG_CACHE_HOME",
        "Where its runs are kept; without it, .cache in the home folder.",
    ),
    (
        Some("live"),
        "XDG_RUNTIME_DIR",
        "Where the sockets of running sessions are, through which live set speaks to them.",
    ),
];
/// Where one reads on.
const SEE_ALSO: &str = "roundelay names all commands, and roundelay help NAME explains a \
    discipline. tc(8), tcpdump(8). Guides, and the formats of all files and outputs: \
    https://github.com/roundelay/roundelay";

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
    let mut pages = Vec::new();
    add_pages("roundelay", &program, &mut pages);
    pages
}

/// The page of a command, and those of its own commands.
fn add_pages(name: &str, command: &Command, pages: &mut Vec<(String, String)>) {
    pages.push((name.to_owned(), page(name, command)));
    for own in command.get_subcommands() {
        if !own.is_hide_set() {
            add_pages(&format!("{name}-{}", own.get_name()), own, pages);
        }
    }
}

/// A page: what the command's declaration says, and what it does not: examples, the exit status, the
/// environment and other pages.
fn page(name: &str, command: &Command) -> String {
    let source = concat!("roundelay ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone())
        .source(source)
        .manual("Roundelay Manual");
    let mut page = Vec::new();
    let mut declared = || {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut page)?;
        }
        beyond(name).to_writer(&mut page)
    };
    declared().expect("a buffer in memory takes everything");
    String::from_utf8_lossy(&page).into_owned()
}

fn beyond(name: &str) -> Roff {
    let command = name.strip_prefix("roundelay-").unwrap_or(name);
    let mut page = Roff::default();
    page.control("SH", ["EXAMPLES"]);
    for (_, wanted, line) in EXAMPLES.iter().filter(|(of, ..)| *of == command) {
        page.control("PP", []);
        page.text([roman(*wanted)]);
        // As it is, to be copied: not filled, and not hyphenated.
        page.control("EX", []);
        page.text([bold(*line)]);
        page.control("EE", []);
    }
    let mut statuses = EXIT_STATUS.to_vec();
    if command == "live" {
        statuses.push((
            "other",
            "that of the near command, or 128 and the number of the signal that ended the run",
        ));
    }
    terms(&mut page, "EXIT STATUS", &statuses);
    let mut variables = Vec::new();
    for (whose, name, meaning) in ENVIRONMENT {
        if whose.is_none_or(|whose| whose == command) {
            variables.push((name, meaning));
        }
    }
    terms(&mut page, "ENVIRONMENT", &variables);
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(SEE_ALSO)]);
    page
}

/// A section of terms and what they mean.
fn terms(page: &mut Roff, heading: &str, terms: &[(&str, &str)]) {
    page.control("SH", [heading]);
    for (term, meaning) in terms {
        page.control("TP", []);
        page.text([bold(*term)]);
        page.text([roman(*meaning)]);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// Words as a shell takes them apart, whose quotes are single ones, up to a redirection.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (place, part) in line.split('\'').enumerate() {
            if place % 2 == 1 {
                words.push(part.to_owned());
                continue;
            }
            let rest = part.split_whitespace().map(str::to_owned);
            words.extend(rest.take_while(|word| word != ">" && word != "|"));
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_its_arguments_allow() {
        for (command, _, line) in EXAMPLES.iter().copied() {
            let mut has_the_command = command == "roundelay";
            for part in line.split(" && ") {
                let words = words(part);
                has_the_command |= words[1..].join("-").starts_with(command);
                if let Err(error) = Arguments::try_parse_from(&words) {
                    panic!("{part}: {error}");
                }
            }
            assert!(has_the_command, "{command}: {line}");
        }
        for (name, page) in pages() {
            let (_, examples) = page.split_once(".SH EXAMPLES\n").unwrap();
            assert!(examples.starts_with(".PP\n"), "{name}");
        }
    }
}

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

/// Variables that the program reads, and what they do.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("NO_COLOR", "No colours, even on a terminal."),
    (
        "FORCE_COLOR",
        "Colours, even where the output is no terminal.",
    ),
    (
        "XDG_CACHE_HOME",
        "Where papers keeps its runs; without it, .cache in the home folder.",
    ),
];
/// Where one reads on.
const SEE_ALSO: &str = "roundelay(1) names all commands, and roundelay help NAME explains a \
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

/// A page: what the command's declaration says, and what it does not: examples, the exit status, the
/// environment and other pages.
fn page(command: &Command) -> String {
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
        beyond(command.get_name()).to_writer(&mut page)
    };
    declared().expect("a buffer in memory takes everything");
    String::from_utf8_lossy(&page).into_owned()
}

fn beyond(command: &str) -> Roff {
    let mut page = Roff::default();
    let examples = EXAMPLES.iter().filter(|(of, ..)| *of == command);
    page.control("SH", ["EXAMPLES"]);
    for (_, wanted, line) in examples {
        page.control("TP", []);
        page.text([roman(*wanted)]);
        page.text([bold(*line)]);
    }
    page.control("SH", ["EXIT STATUS"]);
    let near = [("other", "that of the command around which the link is")];
    let own = if command == "live" { &near[..] } else { &[] };
    for (status, meaning) in EXIT_STATUS.iter().chain(own) {
        page.control("TP", []);
        page.text([bold(*status)]);
        page.text([roman(*meaning)]);
    }
    page.control("SH", ["ENVIRONMENT"]);
    for (name, meaning) in ENVIRONMENT {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(meaning)]);
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(SEE_ALSO)]);
    page
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
        for (command, _, line) in EXAMPLES {
            let mut has_the_command = command == "roundelay";
            for part in line.split(" && ") {
                let words = words(part);
                has_the_command |= words[1] == command;
                if let Err(error) = Arguments::try_parse_from(&words) {
                    panic!("{part}: {error}");
                }
            }
            assert!(has_the_command, "{command}: {line}");
        }
        for (name, page) in pages() {
            let (_, examples) = page.split_once(".SH EXAMPLES\n").unwrap();
            assert!(examples.starts_with(".TP\n"), "{name}");
        }
    }
}

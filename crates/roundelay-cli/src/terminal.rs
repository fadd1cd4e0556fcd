//! Standard output and standard error: results, messages, width and colours.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use clap::ValueEnum;
use clap::error::{ContextKind, ErrorKind as Wrong};
use roundelay_report::{TableStyle, clean};

use crate::failure::Failure;

/// The advice after the message about a failed allocation. The running command sets it.
pub static MEMORY_ADVICE: OnceLock<&'static str> = OnceLock::new();

/// When output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The option `--color`, set once per call.
pub(crate) static COLOR: OnceLock<Color> = OnceLock::new();

/// Narrower tables are unreadable.
const NARROWEST: u16 = 20;

/// Style of standard output. The width is `COLUMNS`, or else the terminal's. Colours are as
/// `--color` says. Without it, `NO_COLOR` refuses them, and otherwise a terminal has them, or any
/// output with `FORCE_COLOR`.
pub(crate) fn style() -> TableStyle {
    let terminal = io::stdout().is_terminal();
    TableStyle {
        color: has_color(terminal),
        width: width(terminal),
    }
}

fn has_color(is_terminal: bool) -> bool {
    match COLOR.get() {
        Some(Color::Always) => true,
        Some(Color::Never) => false,
        Some(Color::Auto) | None if is_set("NO_COLOR") => false,
        Some(Color::Auto) | None => is_terminal || is_set("FORCE_COLOR"),
    }
}

#[cfg(all(target_os = "linux", feature = "view"))]
/// Whether the option or the environment refuses colours.
pub(crate) fn is_plain() -> bool {
    !has_color(true)
}

fn is_set(variable: &str) -> bool {
    !env::var_os(variable).unwrap_or_default().is_empty()
}

fn width(is_terminal: bool) -> Option<u16> {
    let asked = env::var("COLUMNS").unwrap_or_default();
    if let Ok(columns) = asked.parse()
        && columns >= NARROWEST
    {
        return Some(columns);
    }
    if !is_terminal {
        return None;
    }
    let (columns, _) = terminal_size::terminal_size()?;
    Some(columns.0)
}

/// Writes a result to stdout. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let mut written = stdout.write_all(text.as_bytes());
    if written.is_ok() {
        written = stdout.flush();
    }
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::run(format!(
            "cannot write to standard output: {error}"
        ))),
    }
}

/// Prints a message on stderr. It may contain names and lines of untrusted files, or words that the
/// command line has from elsewhere. If nobody can read the message, the exit status still tells.
pub(crate) fn tell(message: &str) {
    let lines: Vec<_> = message.lines().map(clean).collect();
    drop(writeln!(io::stderr(), "roundelay: {}", lines.join("\n")));
}

/// What a person may have meant by an argument that a command does not have.
fn tip(error: &clap::Error) -> Option<String> {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let argument = text(ContextKind::InvalidArg)?;
    let usage = text(ContextKind::Usage)?;
    let is_of = |command: &str| usage.contains(&format!("roundelay {command}"));
    if error.kind() != Wrong::UnknownArgument {
        return None;
    }
    if is_of("live") && !argument.starts_with('-') {
        return Some(format!(
            "two interfaces go behind --between: roundelay live --between NEAR {argument} .."
        ));
    }
    if is_of("simulate") && argument.starts_with("--duration") {
        let tip = "the scenario's file sets it: duration = \"10s\"";
        return Some(tip.to_owned());
    }
    None
}

/// Prints help on stdout, or an error in the arguments on stderr. Returns the exit status.
pub(crate) fn show(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match print(&text) {
            Ok(()) => 0,
            Err(failure) => {
                tell(&failure.to_string());
                failure.status()
            }
        };
    }
    // All errors have one prefix, but help has none.
    let text = match text.strip_prefix("error: ") {
        Some(message) => format!("roundelay: {message}"),
        None => text,
    };
    let tip = tip(error);
    let mut lines = String::new();
    for line in text.lines() {
        let is_tip = line.trim_start().starts_with("tip: ");
        match &tip {
            Some(tip) if is_tip => lines += &format!("  tip: {}", clean(tip)),
            _ => lines += &clean(line),
        }
        lines.push('\n');
        if let Some(tip) = &tip
            && lines.lines().count() == 1
            && !text.contains("  tip: ")
        {
            lines += &format!("\n  tip: {}\n", clean(tip));
        }
    }
    drop(io::stderr().write_all(lines.as_bytes()));
    u8::try_from(error.exit_code()).unwrap_or(2)
}

//! `roundelay import`: makes a tree from a script of tc commands. docs/import.md explains it.

pub(crate) mod arguments;
pub(crate) mod outputs;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use roundelay_files::read_text;
use roundelay_import::{Imported, RECORDED, RECORDER, Settings};
#[cfg(target_os = "linux")]
use roundelay_live::sandbox::{self, Ended, Recorder, SandboxError};
use roundelay_report::clean;
use roundelay_trace::{Stop, TreeFile};

use crate::failure::Failure;
use crate::terminal::{print, tell};
use crate::text_file;
use arguments::Import;

/// A script that was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) imported: Imported,
    /// What the script ran, if it was run.
    pub(crate) recorded: Option<String>,
}

/// A script's text under a name, as it is written or as it was recorded.
struct Source {
    name: String,
    text: String,
    /// What to say when the text is a recording.
    recorded: Option<Recording>,
}

/// What is told of a recording beside the tree.
struct Recording {
    /// How the script ended, if it did not end well.
    ended: Option<String>,
    output: String,
}

pub(crate) fn run(arguments: &Import) -> Result<(), Failure> {
    let Source {
        name,
        text,
        recorded,
    } = match &arguments.script {
        Some(script) => read(script)?,
        None => record(&arguments.command_line)?,
    };
    if let Some(recording) = &recorded {
        tell_recording(&name, &text, recording);
    }
    let is_recording = recorded.is_some();
    // Lines are those of the recording.
    let name = match is_recording {
        true => format!("{name} (recorded)"),
        false => name,
    };
    let settings = Settings {
        name: name.clone(),
        device: arguments.dev.clone(),
        variables: arguments.set.clone(),
        is_recording,
    };
    let imported = roundelay_import::import(&settings, &text).map_err(Failure::usage)?;
    check(&name, &imported)?;
    let read = Read {
        imported,
        recorded: recorded.map(|_| text),
    };
    if let Some(text) = arguments.outputs.printed(&read)? {
        return print(&text);
    }
    let imported = &read.imported;
    print(&imported.tree)?;
    for remark in &imported.remarks {
        let node = match &remark.node {
            Some(node) => format!("{node}: "),
            None => String::new(),
        };
        let more = match &remark.lines[1..] {
            [] => String::new(),
            [line] => format!(" (and line {line})"),
            lines => {
                let lines = Vec::from_iter(lines.iter().map(usize::to_string));
                format!(" (and lines {})", lines.join(", "))
            }
        };
        tell(&format!(
            "{name}:{}: {node}{}{more}",
            remark.line, remark.text
        ));
    }
    Ok(())
}

/// The script's name and text.
fn read(script: &Path) -> Result<Source, Failure> {
    const EXPECTED: &str = "a shell script with tc commands";
    if script.as_os_str() != "-" {
        return Ok(Source {
            name: clean(&script.display().to_string()),
            text: text_file::read(script, EXPECTED, &Stop::default())?,
            recorded: None,
        });
    }
    let name = "standard input";
    let wrong = |problem: String| Failure::usage(format!("{name}: {problem}; expected {EXPECTED}"));
    let bytes = read_text(io::stdin()).map_err(|error| wrong(format!("cannot read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("no text in UTF-8".to_owned()))?;
    Ok(Source {
        name: name.to_owned(),
        text,
        recorded: None,
    })
}

/// The recorder, and how to use it where there is no sandbox.
fn by_hand(why: &str) -> Failure {
    Failure::run(format!(
        "{why}. Record by hand: put the following into a file called tc in an empty folder, make \
         it executable, link it to the names {} there, and run the script with this folder at the \
         front of PATH. It writes the commands to /tmp/commands.sh, for roundelay import \
         /tmp/commands.sh, and runs none of them. But all else in the script runs.\n\n{RECORDER}",
        RECORDED[1..].join(", ")
    ))
}

#[cfg(not(target_os = "linux"))]
fn record(_: &[OsString]) -> Result<Source, Failure> {
    Err(by_hand("--run needs Linux"))
}

/// Runs a command in a sandbox, and takes what it records.
#[cfg(target_os = "linux")]
fn record(command: &[OsString]) -> Result<Source, Failure> {
    let recorder = Recorder {
        text: RECORDER,
        programs: &RECORDED,
    };
    let ran = sandbox::run(command, recorder).map_err(|error| match error {
        SandboxError::Command { .. } => Failure::usage(error.to_string()),
        error => by_hand(&error.to_string()),
    })?;
    let ended = match ran.ended {
        Ended::Status(status) if status.success() => None,
        Ended::Status(status) => Some(format!("it ended with {status}")),
        Ended::TooLong => Some(format!(
            "it was ended after {} s",
            sandbox::LONGEST.as_secs()
        )),
        Ended::TooMuchOutput => Some("it was ended because it wrote more than 1 MB".to_owned()),
        Ended::TooMuchMemory => Some("it was ended because it took more than 512 MB".to_owned()),
        Ended::TooManyCommands => {
            Some("its commands take more than 4 MB, and the rest of them is missing".to_owned())
        }
    };
    let mut words = Vec::new();
    for word in command {
        words.push(clean(&word.to_string_lossy()));
    }
    Ok(Source {
        name: words.join(" "),
        text: ran.commands,
        recorded: Some(Recording {
            ended,
            output: ran.output,
        }),
    })
}

/// The last lines of a script's output that are shown.
const LINES_OF_OUTPUT: usize = 5;

/// Tells what was recorded, and what the script said if it did not end well.
fn tell_recording(name: &str, commands: &str, recording: &Recording) {
    let mut text = format!("{name}: ran in a sandbox, which carried none of these out:");
    for (number, line) in (1..).zip(commands.lines()) {
        text += &format!("\n{number:>6}  {}", clean(line));
    }
    if commands.is_empty() {
        text = format!("{name}: ran in a sandbox, and no command was recorded");
    }
    tell(&text);
    if let Some(ended) = &recording.ended {
        let mut text = format!("{name}: {ended}; what it wrote last:");
        let lines: Vec<&str> = recording.output.lines().collect();
        for line in &lines[lines.len().saturating_sub(LINES_OF_OUTPUT)..] {
            text += &format!("\n        {}", clean(line));
        }
        tell(&text);
    }
}

/// Checks that other commands can read the tree.
fn check(name: &str, imported: &Imported) -> Result<(), Failure> {
    match TreeFile::from_toml(&imported.device, &imported.tree) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format!(
            "{name}: a tree cannot be what this script sets up at {}: {error}",
            imported.device
        ))),
    }
}

//! `roundelay verify`: checks a simulation's log.

pub(crate) mod arguments;
pub(crate) mod outputs;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;

use roundelay::Fault;
use roundelay_report::{clean, faults_in_words, verified};
use roundelay_verify::{Inspection, VerifyError, inspect};

use crate::failure::Failure;
use crate::live;
use crate::terminal::print;
use arguments::Verify;

pub(crate) fn run(arguments: &Verify) -> Result<(), Failure> {
    let name = if arguments.log.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        clean(&arguments.log.display().to_string())
    };
    if live::is_record(&arguments.log) {
        return of_record(&name, arguments);
    }
    let log = open(&arguments.log).map_err(|error| unopened(&name, &error))?;
    let inspection =
        inspect(log, arguments.faults.into()).map_err(|error| unreadable(&name, error))?;
    tell(&name, arguments, &inspection)
}

/// Checks a live run's record.
fn of_record(name: &str, arguments: &Verify) -> Result<(), Failure> {
    let log = live::log_of(&arguments.log)?;
    let inspection = inspect(log.text.as_bytes(), arguments.faults.into())
        .map_err(|error| unreadable(name, error))?;
    if log.changes > 0 {
        eprintln!(
            "roundelay: {name}: checked up to the first change of rate, queue or weights; the \
             replay is checked to the end"
        );
    }
    tell(name, arguments, &inspection)?;
    if log.is_cut {
        return Err(Failure::run(format!(
            "{name}: the record stops without an end, so it is checked up to there"
        )));
    }
    Ok(())
}

/// Prints what was found. A fault is a failure.
fn tell(name: &str, arguments: &Verify, inspection: &Inspection) -> Result<(), Failure> {
    print(
        &arguments
            .outputs
            .printed(inspection)?
            .unwrap_or_else(|| verified(name, inspection)),
    )?;
    faults_in_words(inspection).map_or(Ok(()), |found| {
        Err(Failure::run(format!(
            "{name}: no network does that: {found}"
        )))
    })
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    Ok(if path.as_os_str() == "-" {
        Box::new(BufReader::new(io::stdin()))
    } else {
        Box::new(BufReader::with_capacity(1 << 16, File::open(path)?))
    })
}

/// Says what is wrong with a file that does not open, and which file is expected.
fn unopened(name: &str, error: &io::Error) -> Failure {
    const WANTED: &str =
        "a file written by `roundelay simulate --log`, or the record of `roundelay live`";
    let problem = match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::IsADirectory => "a folder".to_owned(),
        _ => format!("cannot read: {error}"),
    };
    let fault = Fault::wanted(WANTED).behind(format_args!("{problem}; "));
    Failure::usage(fault.in_file(name, 0))
}

/// Adds file and line to the error.
fn unreadable(name: &str, error: VerifyError) -> Failure {
    match error {
        VerifyError::Format { line, error } => {
            let line = usize::try_from(line).unwrap_or(0);
            Failure::usage(Fault::new(clean(&error)).in_file(name, line))
        }
        other => Failure::usage(Fault::new(other.to_string()).in_file(name, 0)),
    }
}

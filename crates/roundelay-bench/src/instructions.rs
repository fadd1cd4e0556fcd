//! Instructions and cache misses per packet. Valgrind counts them, so they are the same on every
//! run.
//!
//! The program runs itself twice under callgrind, the second time with twice the packets. The setup
//! costs the same both times, so the difference is what the packets cost.

use std::env;
use std::io;
use std::process::Command;

use crate::load::Load;
use crate::run::run_pairs;
use crate::subject::{LoadRefused, Passed, Subject};

/// A packet's cost, from generation through enqueue to dequeue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    /// Instructions.
    pub instructions: f64,
    /// Reads and writes that miss the simulated machine's first-level data cache.
    pub first_level_misses: f64,
    /// Reads and writes that miss the simulated machine's last-level cache.
    pub last_level_misses: f64,
    /// Packets offered and sent.
    pub passed: Passed,
}

/// The reason why a count failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionsError {
    /// Valgrind could not be started.
    #[error("counting instructions needs valgrind, which could not be started: {0}")]
    NoValgrind(#[source] io::Error),
    /// The load does not fit the discipline's ranges, or the machine's memory.
    #[error(transparent)]
    Load(#[from] LoadRefused),
    /// Valgrind ended without counts.
    #[error("valgrind counted nothing: {0}")]
    NoCounts(String),
    /// Twice as many packets cost no more instructions.
    #[error(
        "valgrind counted nothing that depends on packets: the program that runs does not know \
         `bench --once`, as roundelay does"
    )]
    NoPackets,
}

/// Counts what a subject costs under a load. The calling program must be `roundelay`, because
/// valgrind runs it as `bench SUBJECT --flows .. --once PAIRS`, a call of [`run_pairs`].
///
/// # Errors
/// Valgrind is missing, could not run the program, or ran a program without `bench --once`.
pub fn count(subject: &Subject, load: &Load) -> Result<Counts, InstructionsError> {
    let pairs = load.cycle().max(20_000);
    let sums = Sums::collect([pairs, 2 * pairs].map(|pairs| arguments(subject, load, pairs)))?;
    // Divide by the packets actually sent, which may be fewer than requested.
    let passed = run_pairs(subject, load, pairs)?;
    sums.each(
        run_pairs(subject, load, 2 * pairs)?.sent - passed.sent,
        passed,
    )
}

/// Event sums of a run, and of another that is twice as long.
pub(crate) struct Sums([Vec<u64>; 2]);

impl Sums {
    /// Runs the program twice under valgrind, with these arguments.
    ///
    /// # Errors
    /// Valgrind is missing or could not run the program.
    pub(crate) fn collect([once, twice]: [Vec<String>; 2]) -> Result<Self, InstructionsError> {
        Ok(Self([collect(once)?, collect(twice)?]))
    }

    /// Cost per packet: what the longer run costs more, divided by `sent`, the packets that it
    /// sends more.
    ///
    /// # Errors
    /// The runs do not differ.
    pub(crate) fn each(&self, sent: u64, passed: Passed) -> Result<Counts, InstructionsError> {
        let Self([once, twice]) = self;
        let each = |index: usize| (twice[index] as f64 - once[index] as f64) / sent.max(1) as f64;
        let instructions = each(IR);
        if sent > 0 && instructions < 1.0 {
            return Err(InstructionsError::NoPackets);
        }
        Ok(Counts {
            instructions,
            first_level_misses: each(D1_READ_MISSES) + each(D1_WRITE_MISSES),
            last_level_misses: each(LL_READ_MISSES) + each(LL_WRITE_MISSES),
            passed,
        })
    }
}

/// Arguments for the child process under valgrind.
fn arguments(subject: &Subject, load: &Load, pairs: u64) -> Vec<String> {
    let mut arguments = vec!["bench".to_owned()];
    match subject {
        Subject::Generator => {}
        Subject::Discipline(discipline) => arguments.push(discipline.to_string()),
        Subject::ByHandle(discipline) => {
            arguments.extend([discipline.to_string(), "--handles".to_owned()]);
        }
        Subject::Tree(tree) => arguments.extend(["--tree".to_owned(), tree.text.clone()]),
    }
    let options = [
        ("--flows", load.flows.to_string()),
        ("--pattern", load.pattern.name().to_owned()),
        ("--order", load.order.name().to_owned()),
        ("--memory", load.memory.name().to_owned()),
        ("--lengths", load.lengths.to_string()),
        ("--burst", load.burst.to_string()),
        ("--once", pairs.to_string()),
    ];
    for (option, value) in options {
        arguments.push(option.to_owned());
        arguments.push(value);
    }
    arguments
}

/// Column indices in callgrind's line of sums with cache simulation: Ir Dr Dw I1mr D1mr D1mw ILmr
/// DLmr DLmw.
const IR: usize = 0;
const D1_READ_MISSES: usize = 4;
const D1_WRITE_MISSES: usize = 5;
const LL_READ_MISSES: usize = 7;
const LL_WRITE_MISSES: usize = 8;
const EVENTS: usize = 9;

/// The simulated machine, the same on every host. Its first-level caches have 32 KB and 8 ways, its
/// last level has 8 MB and 16 ways, and lines are 64 bytes long.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

fn collect(arguments: Vec<String>) -> Result<Vec<u64>, InstructionsError> {
    let program = env::current_exe().map_err(InstructionsError::NoValgrind)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--cache-sim=yes",
        ])
        .args(CACHES)
        .arg(program)
        .args(arguments);
    let output = valgrind.output().map_err(InstructionsError::NoValgrind)?;
    let text = String::from_utf8_lossy(&output.stderr);
    sums(&text).ok_or_else(|| {
        InstructionsError::NoCounts(text.lines().rev().take(5).collect::<Vec<_>>().join(" / "))
    })
}

/// The sums in callgrind's output: `==42== Collected : 1 2 3 4 5 6 7 8 9`.
fn sums(text: &str) -> Option<Vec<u64>> {
    let line = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))?
        .1;
    let sums: Vec<u64> = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    (sums.len() == EVENTS).then_some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrinds_last_words_are_understood() {
        let text = "==1== \n==1== Events    : Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n==1== Collected : 10 2 3 4 5 6 7 8 9\n==1== \n";
        assert_eq!(sums(text), Some(vec![10, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!(sums("==1== Collected : 10\n"), None);
        assert_eq!(sums("valgrind: no such program"), None);
    }
}

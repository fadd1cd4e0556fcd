//! Faults at lines of a script, before we know the script's name.

use roundelay::Fault;

/// The fault in this line. The file gets its name later.
pub(crate) fn at_line(line: usize, fault: impl Into<Fault>) -> Fault {
    fault.into().in_file("", line)
}

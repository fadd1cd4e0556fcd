//! What must hold for any bytes that are read as the log of a simulation. The fuzzer runs it, and
//! the tests run it on the corpus.

use roundelay_verify::{VerifyError, inspect};

/// Faults and errors are in lines of the log, and at most as many faults are found as asked for,
/// but for those of one line.
pub(crate) fn check(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').count() as u64;
    match inspect(data, 3) {
        Ok(inspection) => {
            for fault in &inspection.faults {
                assert!(fault.line <= lines, "{fault:?}");
            }
            assert!(inspection.totals.events <= lines);
        }
        Err(VerifyError::Format { line, error }) => assert!(line <= lines, "{line}: {error}"),
        Err(VerifyError::Io(error)) => panic!("bytes in memory cannot be read: {error}"),
        Err(VerifyError::Impossible { .. }) => panic!("an error of `verify` alone"),
    }
}

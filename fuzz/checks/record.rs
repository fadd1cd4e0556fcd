//! What must hold for any bytes that are read as the record of a live run. The fuzzer runs it, and
//! the tests run it on the corpus.

use std::io::Cursor;

use roundelay_live::{Recording, log, replay};
use roundelay_trace::Capture;

/// Reading and replaying end, and an error names the file and holds no control character.
pub(crate) fn check(data: &[u8]) {
    let open = || {
        let capture = Capture::from_reader("fuzz.pcapng", Cursor::new(data.to_vec()));
        capture.map(Recording::read)
    };
    let Ok(recording) = open() else { return };
    let mut recording = match recording {
        Ok(recording) => recording,
        Err(error) => return check_error(&error.to_string()),
    };
    loop {
        match recording.next() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => {
                check_error(&error.to_string());
                break;
            }
        }
    }
    if let Ok(Ok(recording)) = open()
        && let Err(error) = replay(recording)
    {
        check_error(&error.to_string());
    }
    if let Ok(Ok(recording)) = open()
        && let Err(error) = log(recording)
    {
        check_error(&error.to_string());
    }
}

fn check_error(error: &str) {
    assert!(error.contains("fuzz.pcapng"), "{error:?}");
    assert!(!error.contains(char::is_control), "{error:?}");
}

//! What must hold for any text that is read as connection vectors of Tmix. The fuzzer runs it, and
//! the tests run it on the corpus.

use roundelay::Duration;
use roundelay_trace::connections::tmix::{Format, read, write};
use roundelay_trace::connections::{Applications, Message};

/// Latest start that can be read: 200 days.
const LATEST: Duration = Duration::from_micros(200 * 86_400 * 1_000_000);

/// An error points into the text. What is read, written and read again is the same, because the
/// vectors count in microseconds.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    // A name that is too long for a comment.
    let name = "v\u{e9}ctors#\n".repeat(40);
    let applications = match read(&name, text) {
        Ok(applications) => applications,
        Err(error) => {
            assert!(error.line <= text.lines().count() + 1, "{error}");
            return;
        }
    };
    for format in [Format::Older, Format::Newer] {
        let expected = connections(&applications);
        if expected.is_empty() || expected.iter().any(|(start, ..)| *start > LATEST) {
            continue;
        }
        let written = write(&applications, format);
        let again = read("vectors", &written).expect("what is written can be read");
        assert_eq!(connections(&again), expected, "{written}");
        let mut comments = written.lines().filter(|line| line.starts_with('#'));
        assert!(comments.all(|comment| comment.len() < 100), "{written}");
    }
}

/// Start and writes of each connection. A sequential one starts with its first write.
fn connections(applications: &Applications) -> Vec<(Duration, bool, Vec<Message>)> {
    let mut all = Vec::new();
    for connection in &applications.connections {
        let mut start = connection.start;
        let mut messages = connection.messages.clone();
        if !connection.concurrent {
            start = start + std::mem::take(&mut messages[0].after);
        }
        all.push((start, connection.concurrent, messages));
    }
    all.sort_by_key(|(start, ..)| *start);
    all
}

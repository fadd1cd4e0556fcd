//! What a running session's client sends. We read it as it comes, because the session never waits.

#![deny(clippy::indexing_slicing)]

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// How long we wait for a whole request.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request on a connection that does not block.
#[derive(Debug)]
pub(crate) struct Request<S> {
    stream: S,
    bytes: Vec<u8>,
    /// The longest request, in bytes.
    most: usize,
    since: Instant,
}

impl<S: Read + Write> Request<S> {
    pub(crate) fn new(stream: S, most: usize) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
            most,
            since: Instant::now(),
        }
    }

    /// Reads what has come. Returns the request once `is_whole` says that it is complete.
    ///
    /// # Errors
    /// The client is gone, sends too much, or takes too long.
    pub(crate) fn read(&mut self, is_whole: fn(&[u8]) -> bool) -> io::Result<Option<&[u8]>> {
        let mut room = [0; 4096];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => self.bytes.extend(room.iter().take(len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if self.bytes.len() > self.most {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        if is_whole(&self.bytes) {
            return Ok(Some(&self.bytes));
        }
        if self.since.elapsed() > PATIENCE {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(None)
    }

    /// Sends the answer. It fits into a fresh connection's buffer, so it is written at once.
    pub(crate) fn answer(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes())
    }
}

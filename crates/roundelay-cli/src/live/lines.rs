//! Writes a run's text in a thread of its own, so that a slow reader makes no packet late and holds
//! up no end.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::signals::Signals;

/// Lines that may wait for the reader. More are left out, because newer figures follow.
const WAITING: usize = 16;
/// The longest wait for a reader after a signal.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two looks whether the reader has read.
const PAUSE: Duration = Duration::from_millis(5);

/// A thread that writes.
pub(super) struct Lines {
    texts: Option<Sender<String>>,
    waiting: Arc<AtomicUsize>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Lines {
    /// Writes to `to`. The thread has the caller's privileges.
    ///
    /// # Errors
    /// The system gives no further thread.
    pub(super) fn start(mut to: impl Write + Send + 'static) -> io::Result<Self> {
        let (texts, to_write) = channel::<String>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        let write = move || {
            for text in to_write {
                to.write_all(text.as_bytes())?;
                to.flush()?;
                written.fetch_sub(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let thread = std::thread::Builder::new()
            .name("lines".to_owned())
            .spawn(write)?;
        Ok(Self {
            texts: Some(texts),
            waiting,
            thread: Some(thread),
        })
    }

    /// Writes a line, unless too many wait for the reader.
    ///
    /// # Errors
    /// The reader is gone, or the file is full.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        if self.waiting.load(Ordering::Relaxed) >= WAITING {
            return Ok(());
        }
        self.text(format!("{line}\n"))
    }

    /// Writes a text that must not be left out.
    ///
    /// # Errors
    /// As for [`line`](Self::line).
    pub(super) fn text(&mut self, text: String) -> io::Result<()> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let sent = match &self.texts {
            Some(texts) => texts.send(text).is_ok(),
            None => true,
        };
        if sent { Ok(()) } else { self.join() }
    }

    fn join(&mut self) -> io::Result<()> {
        self.texts = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => Err(io::Error::other("the writing thread ended early")),
        }
    }

    /// Waits for the reader, but not for long after a signal. A closed pipe is not an error.
    ///
    /// # Errors
    /// The file is full.
    pub(super) fn finish(mut self, signals: &Signals) -> io::Result<()> {
        self.texts = None;
        let mut end = None;
        while self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
        {
            if end.is_none() && (signals.came() || signals.is_urgent()) {
                end = Some(Instant::now() + PATIENCE);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                // Standard error may be the same terminal, so this text waits for nobody either.
                let mut last_line = Self::start(io::stderr())?;
                let lost = "roundelay: nobody reads the report, so the rest of it is lost\n";
                _ = last_line.text(lost.to_owned());
                std::thread::sleep(PAUSE);
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        match self.join() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

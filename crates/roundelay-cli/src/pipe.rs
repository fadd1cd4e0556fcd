//! Reads named pipes like files. A stop request ends the wait for a writer, and for what it writes.

#[cfg(target_os = "linux")]
pub(crate) use linux::open;

use std::fs::File;
use std::io;
use std::path::Path;

use roundelay_files::read_text;
use roundelay_trace::Stop;

/// All bytes of a text file or a named pipe.
///
/// # Errors
/// The operating system fails, the text is too long, or a stop was requested while a pipe had
/// nothing to read.
pub(crate) fn read(path: &Path, stop: &Stop) -> io::Result<Vec<u8>> {
    let Some(pipe) = open(path, stop) else {
        return File::open(path).and_then(read_text);
    };
    read_text(pipe)
}

/// No other system is known to wait in `poll` for the first writer.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open(_: &Path, _: &Stop) -> Option<io::Empty> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::{self, ErrorKind, Read};
    use std::os::unix::fs::FileTypeExt as _;
    use std::path::Path;

    use roundelay_trace::Stop;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{Mode, OFlags};

    /// The time between two looks at the stop request.
    const LOOK_EVERY: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };

    /// A named pipe, which is opened without waiting for a writer.
    pub(crate) struct Pipe {
        file: File,
        stop: Stop,
    }

    /// The pipe at a path. None if there is something else, or nothing.
    pub(crate) fn open(path: &Path, stop: &Stop) -> Option<Pipe> {
        if !fs::metadata(path).ok()?.file_type().is_fifo() {
            return None;
        }
        let file = rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()?;
        Some(Pipe {
            file: file.into(),
            stop: stop.clone(),
        })
    }

    impl Read for Pipe {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            while !self.stop.is_requested() {
                // There is something to read, or the last writer is gone.
                if poll(
                    &mut [PollFd::new(&self.file, PollFlags::IN)],
                    Some(&LOOK_EVERY),
                )? == 0
                {
                    continue;
                }
                match self.file.read(buffer) {
                    // Another reader was faster.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    read => return read,
                }
            }
            Err(io::Error::other("interrupted"))
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write;
        use std::thread;
        use std::time::Duration;

        use super::*;

        /// A pipe, which is deleted on drop.
        struct Path(std::path::PathBuf);

        impl Path {
            fn new(name: &str) -> Self {
                let path = std::env::temp_dir()
                    .join(format!("roundelay-pipe-{name}-{}", std::process::id()));
                rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &path,
                    rustix::fs::FileType::Fifo,
                    Mode::from_raw_mode(0o600),
                    0,
                )
                .unwrap();
                Self(path)
            }
        }

        impl Drop for Path {
            fn drop(&mut self) {
                drop(fs::remove_file(&self.0));
            }
        }

        #[test]
        fn a_stop_ends_the_wait_for_a_writer_and_for_a_silent_one() {
            let path = Path::new("stop");
            for has_writer in [false, true] {
                let stop = Stop::default();
                let mut pipe = open(&path.0, &stop).unwrap();
                let writer = has_writer.then(|| File::options().write(true).open(&path.0).unwrap());
                thread::scope(|scope| {
                    let read = scope.spawn(|| pipe.read(&mut [0]).unwrap_err().to_string());
                    thread::sleep(Duration::from_millis(100));
                    assert!(!read.is_finished());
                    stop.request();
                    assert_eq!(read.join().unwrap(), "interrupted");
                });
                drop(writer);
            }
        }

        #[test]
        fn all_of_a_late_and_slow_writer_is_read() {
            let path = Path::new("slow");
            let bytes = thread::scope(|scope| {
                let read = scope.spawn(|| super::super::read(&path.0, &Stop::default()).unwrap());
                thread::sleep(Duration::from_millis(50));
                let mut writer = File::options().write(true).open(&path.0).unwrap();
                for part in 0..3 {
                    thread::sleep(Duration::from_millis(30));
                    writer.write_all(&[part; 100_000]).unwrap();
                }
                drop(writer);
                read.join().unwrap()
            });
            assert_eq!(bytes, [[0; 100_000], [1; 100_000], [2; 100_000]].concat());
            let other = std::env::temp_dir();
            assert!(
                open(&other, &Stop::default()).is_none()
                    && open(&other.join("missing"), &Stop::default()).is_none()
            );
        }
    }
}

//! A terminal for tests: the program's side is a pseudo-terminal (pty(7)), and the test types and
//! reads at the other.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Longest wait for a text on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Pty {
    typing: File,
    program: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Pty {
    /// A terminal of 30 lines of 120 letters.
    pub(crate) fn new() -> Self {
        let terminal = Self::unread();
        let mut reading = terminal.typing.try_clone().expect("a descriptor");
        let kept = Arc::clone(&terminal.shown);
        thread::spawn(move || {
            let mut room = [0; 4096];
            while let Ok(len) = reading.read(&mut room) {
                kept.lock().expect("no panic").extend(&room[..len]);
            }
        });
        terminal
    }

    /// A terminal that is full, and that nobody reads.
    #[allow(dead_code, reason = "the tests of the view do not need it")]
    pub(crate) fn stuck() -> Self {
        let terminal = Self::unread();
        let name = ptsname(&terminal.typing, Vec::new()).expect("a name");
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())).to_owned();
        let mut filling = File::options()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(path)
            .expect("a terminal");
        // The system moves what was written on, and then there is room again.
        for _ in 0..20 {
            while filling.write(&[b'x'; 64]).is_ok() {}
            thread::sleep(Duration::from_millis(20));
        }
        terminal
    }

    fn unread() -> Self {
        let ours: OwnedFd =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&ours).expect("a pseudo-terminal of ours");
        unlockpt(&ours).expect("a pseudo-terminal of ours");
        let size = Winsize {
            ws_row: 30,
            ws_col: 120,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).expect("a terminal");
        let name = ptsname(&ours, Vec::new()).expect("a name");
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())).to_owned();
        let mut open = File::options();
        let program = open.read(true).write(true).open(path).expect("a terminal");
        let typing = File::from(ours);
        let shown = Arc::new(Mutex::new(Vec::new()));
        Self {
            typing,
            program,
            shown,
        }
    }

    /// Gives the terminal to a command.
    pub(crate) fn connect(&self, command: &mut Command) {
        let side = || Stdio::from(self.program.try_clone().expect("a descriptor"));
        command.stdin(side()).stdout(side()).stderr(side());
        command.env("TERM", "xterm");
    }

    /// Whether the terminal shows what is typed and waits for whole lines, as before a program took
    /// it over.
    pub(crate) fn is_as_it_was(&self) -> bool {
        let modes = tcgetattr(&self.program).expect("a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    pub(crate) fn press(&self, keys: &str) {
        (&self.typing)
            .write_all(keys.as_bytes())
            .expect("a terminal");
    }

    /// Everything written to the terminal.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned()
    }

    /// Waits until a text has been written to the terminal. False if `is_over` before.
    pub(crate) fn waits_for(&self, text: &str, mut is_over: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + PATIENCE;
        while !self.shown().contains(text) {
            if is_over() {
                // What was written last may be on its way.
                for _ in 0..50 {
                    thread::sleep(Duration::from_millis(100));
                    if self.shown().contains(text) {
                        return true;
                    }
                }
                return false;
            }
            assert!(
                Instant::now() < end,
                "{text} in {:?}",
                self.shown().get(..4000)
            );
            thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

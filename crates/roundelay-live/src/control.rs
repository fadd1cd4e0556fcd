//! Control of a running session: a socket that takes changes and tells figures.

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bottleneck::Bottleneck;
use crate::request::Request;
use crate::settings::{Change, Way};
use crate::sys;

/// The longest message.
const LONGEST: usize = 1 << 20;
/// The longest name of a session.
const LONGEST_NAME: usize = 40;

/// Changes to make, in the given order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The direction. None for both.
    pub way: Option<Way>,
    /// The changes.
    pub changes: Vec<Change>,
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was done, or what is wrong.
    pub text: String,
    /// Whether all changes were made.
    pub is_done: bool,
}

/// A session's socket.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    client: Option<Request<UnixStream>>,
}

/// The path to a session's socket.
///
/// # Errors
/// This is not a legal name.
pub fn path_of(name: &str) -> Result<PathBuf, String> {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_legal) {
        return Err(format!(
            "name '{name}': expected 1 to {LONGEST_NAME} letters, digits, - and _"
        ));
    }
    Ok(folder().join(format!("{}{name}{END}", prefix())))
}

/// What names of sockets end in.
const END: &str = ".sock";

/// The folder for this user's sockets. Nobody else may write to it.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !sys::is_root() => PathBuf::from(folder),
        _ if sys::is_root() => PathBuf::from("/run"),
        _ => shared_folder(),
    }
}

/// This user's folder where all users have one.
fn shared_folder() -> PathBuf {
    in_temporary_folder("roundelay-live")
}

/// A path with the user's number in the folder where all users have temporary files.
fn in_temporary_folder(name: &str) -> PathBuf {
    let (user, _) = sys::user_and_group();
    std::env::temp_dir().join(format!("{name}-{user}"))
}

/// A folder in the one where all users have temporary files. It is made if missing, and nobody else
/// may enter it.
///
/// # Errors
/// The operating system's error, or another user may have made the folder or have put files there.
/// The message advises to set `instead`, an environment variable.
pub fn private_temporary_folder(name: &str, instead: &str) -> io::Result<PathBuf> {
    let folder = in_temporary_folder(name);
    private_folder(&folder, true, instead)?;
    Ok(folder)
}

/// Checks the folder that holds a socket. If it lies among other users' folders it must be ours
/// alone, because otherwise anybody could have put a socket there. `makes` asks to make a missing
/// one.
fn check_folder(folder: &Path, makes: bool) -> io::Result<()> {
    if folder != shared_folder() {
        return Ok(());
    }
    private_folder(folder, makes, "XDG_RUNTIME_DIR")
}

/// Checks that only this user may enter a folder. `makes` asks to make a missing one.
fn private_folder(folder: &Path, makes: bool, instead: &str) -> io::Result<()> {
    if makes {
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    // Looks at the folder itself, not at what a link leads to.
    let found = fs::symlink_metadata(folder)?;
    let (user, _) = sys::user_and_group();
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!(
            "{}: expected a folder of user {user} with mode 0700; remove it, or set {instead}",
            folder.display()
        ),
    ))
}

/// What the names of this user's sockets begin with.
fn prefix() -> String {
    let (user, _) = sys::user_and_group();
    format!("roundelay-live-{user}-")
}

/// Removes sockets left behind by this user's killed sessions. Returns a line for each.
///
/// # Errors
/// The folder cannot be read, or a socket cannot be removed.
pub fn remove_stale() -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let prefix = prefix();
    let folder = folder();
    if !folder.exists() {
        return Ok(lines);
    }
    check_folder(&folder, false)?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| name.strip_prefix(&prefix));
        let Some(name) = name.and_then(|name| name.strip_suffix(END)) else {
            continue;
        };
        // A live session listens from the moment that its socket has this name.
        match UnixStream::connect(&path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(&path)?;
                lines.push(format!("session '{name}': control socket removed"));
            }
            _ => (),
        }
    }
    lines.sort_unstable();
    Ok(lines)
}

impl Control {
    /// Listens at a path for the same user alone.
    ///
    /// # Errors
    /// The socket cannot be made, or a session with this name is running.
    pub fn listen(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            check_folder(folder, true)?;
        }
        if UnixStream::connect(&path).is_ok() {
            let error = format!("{}: a session of that name runs already", path.display());
            return Err(io::Error::new(ErrorKind::AddrInUse, error));
        }
        // Left by a session that ended without a chance to clean up.
        _ = fs::remove_file(&path);
        // We make the socket in a folder of our own, because nobody else may connect even for a
        // moment.
        let folder = path.with_extension("new");
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        let inside = folder.join("s");
        let listener = UnixListener::bind(&inside)?;
        fs::set_permissions(&inside, fs::Permissions::from_mode(0o600))?;
        fs::rename(&inside, &path)?;
        fs::remove_dir(&folder)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            path,
            client: None,
        })
    }

    /// Serves a client as far as it has sent its command. Never waits.
    ///
    /// # Errors
    /// The socket failed.
    pub fn serve(&mut self, bottleneck: &mut Bottleneck) -> io::Result<()> {
        if self.client.is_none() {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_ok() {
                        self.client = Some(Request::new(stream, LONGEST));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let Some(client) = &mut self.client else {
            return Ok(());
        };
        match client.read(|bytes| bytes.ends_with(b"\n")) {
            Ok(None) => return Ok(()),
            Ok(Some(command)) => {
                let answer = answer(command, bottleneck)?;
                // If the client is gone, this is no fault of the session.
                _ = client.answer(&answer);
            }
            Err(_) => (),
        }
        self.client = None;
        Ok(())
    }
}

/// Does what a line asks for, and returns the line to answer.
fn answer(command: &[u8], bottleneck: &mut Bottleneck) -> io::Result<String> {
    let answer = match serde_json::from_slice::<Command>(command) {
        Ok(command) => make(&command, bottleneck),
        Err(error) => Answer {
            text: format!("not a command: {error}"),
            is_done: false,
        },
    };
    Ok(serde_json::to_string(&answer)? + "\n")
}

/// Makes a command's changes just as if a client had sent it. Stops at the first change that is
/// impossible.
pub fn make(command: &Command, bottleneck: &mut Bottleneck) -> Answer {
    let ways: &[Way] = match &command.way {
        Some(way) => std::slice::from_ref(way),
        None => &Way::BOTH,
    };
    let mut done = Vec::new();
    for change in &command.changes {
        for way in ways {
            if let Err(error) = bottleneck.change(*way, change) {
                let mut text = format!("{way}: {error}");
                if !done.is_empty() {
                    text += &format!("; made before that: {}", done.join(", "));
                }
                return Answer {
                    text,
                    is_done: false,
                };
            }
            done.push(format!("{way}: {change}"));
        }
    }
    Answer {
        text: done.join("\n"),
        is_done: true,
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

/// Sends a command to the session with this name.
///
/// # Errors
/// No session with this name is running, or it does not answer.
pub fn send(name: &str, command: &Command) -> Result<Answer, String> {
    let path = path_of(name)?;
    let failed = |error: io::Error| format!("session '{name}': {error}");
    if path.exists()
        && let Some(folder) = path.parent()
    {
        check_folder(folder, false).map_err(failed)?;
    }
    let stream = UnixStream::connect(&path).map_err(|error| {
        format!(
            "no session '{name}' runs ({}: {error}): start one with roundelay live --name {name}",
            path.display()
        )
    })?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .map_err(failed)?;
    let mut text = serde_json::to_string(command).unwrap_or_default();
    text.push('\n');
    (&stream).write_all(text.as_bytes()).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(&stream)
        .read_line(&mut line)
        .map_err(failed)?;
    serde_json::from_str(&line).map_err(|error| format!("session '{name}': {error}"))
}

#[cfg(test)]
mod tests {
    use roundelay::Rate;

    use super::*;
    use crate::settings::{QueueText, Settings, WeightTexts};
    use crate::slots::Slots;

    #[test]
    fn a_socket_is_only_in_a_folder_that_others_cannot_have_made() {
        let folder = std::env::temp_dir().join(format!("roundelay-control-{}", std::process::id()));
        let private_folder = |folder: &Path, makes| private_folder(folder, makes, "HOME");
        private_folder(&folder, true).expect("a new folder");
        private_folder(&folder, true).expect("our own folder again");
        let link = folder.join("link");
        std::os::unix::fs::symlink(&folder, &link).expect("a link");
        let refused = private_folder(&link, true).expect_err("a link");
        assert!(refused.to_string().contains("expected a folder of user"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).expect("ours");
        assert!(private_folder(&folder, false).is_err(), "others may write");
        fs::remove_dir_all(&folder).expect("ours");
        assert!(private_folder(&folder, false).is_err(), "there is none");
    }

    #[test]
    fn an_answer_tells_what_was_made_before_an_error() {
        let queue = |text: &str| QueueText::Discipline(text.to_owned());
        let rate = Rate::from_bits_per_second(1_000_000).expect("a rate");
        let mut settings = Settings::new(rate, queue("drr"));
        settings.way_mut(Way::Down).queue = queue("qfq");
        let mut bottleneck = Bottleneck::new(&settings, Slots::new(1, 64)).expect("legal settings");
        let weights = WeightTexts {
            rules: vec!["dst port 9 = 2000".to_owned()],
            file: None,
        };
        let command = Command {
            way: None,
            changes: vec![Change::Rate(2_000_000), Change::Weights(weights)],
        };
        let answer = make(&command, &mut bottleneck);
        assert!(!answer.is_done);
        let text = answer.text;
        assert!(
            text.starts_with("down: ") && text.contains("legal range"),
            "{text}"
        );
        let made =
            "; made before that: up: rate 2mbit, down: rate 2mbit, up: weights dst port 9 = 2000";
        assert!(text.ends_with(made), "{text}");
    }
}

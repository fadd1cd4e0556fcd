//! Sandbox: runs a stranger's script where it can change nothing, and records the commands that it
//! would have run.
//!
//! The script is alone in namespaces for users, mounts, processes, the network and messages. It sees
//! the machine's files, but cannot write them. `/tmp`, `/run`, `/var`, `/dev` and homes are empty
//! folders in memory; of those, only the script and what lies beside it are shown. The programs that
//! set up a network are replaced by a [`Recorder`], wherever they are. Nothing of this takes
//! privileges: an ordinary user is root in a user namespace, and root becomes nobody first.
//!
//! When all is mounted, the script moves to one more user namespace, where it is called root, has no
//! capability, and can make no further namespace. So it can neither unmount what hides a home nor make
//! anything writable. A filter takes the calls of the kernel from it that namespaces do not part, such as
//! those for keys, and those for memory that no process seems to have.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek as _, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::sys::sandbox::{self as calls, Copy, Resource};
use crate::sys::{call_root, is_root, new_user_namespace, user_and_group};

/// What takes the place of programs: a program of the shell that records a command in the file that
/// the variable `ROUNDELAY_RECORD` names.
#[derive(Debug, Clone, Copy)]
pub struct Recorder<'a> {
    /// Its text.
    pub text: &'a str,
    /// The names of the programs.
    pub programs: &'a [&'a str],
}

/// How long a script may run.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Seconds of a processor that a process may take.
const PROCESSOR_SECONDS: u64 = 10;
/// Bytes that all processes together may have in memory, and bytes of addresses of each.
pub const MOST_MEMORY: u64 = 512 << 20;
/// Bytes that each folder in memory may hold that a script writes to.
const FOLDER: u64 = 16 << 20;
/// Bytes of each other folder in memory.
const SMALL_FOLDER: u64 = 1 << 20;
/// Bytes of a file, and of the recorded commands.
pub const MOST_RECORDED: u64 = 4 << 20;
/// Bytes that the script may write to its output and its errors.
pub const MOST_OUTPUT: usize = 1 << 20;
/// Bytes of these that are kept.
const KEPT_OUTPUT: usize = 16 << 10;
/// Files that a process may have open: scripts lock with descriptor 200, as flock(1) shows it.
const MOST_FILES: u64 = 256;
/// Processes at the same time.
pub const MOST_PROCESSES: u64 = 128;

/// What we put into the sandbox.
const OURS: &str = "/run/roundelay";
/// Folders that are hidden, beside the user's home: data of people, and sockets, at which a service
/// would do what its group may ask for.
const HIDDEN: [&str; 6] = ["/tmp", "/run", "/dev", "/home", "/root", "/var"];
/// Those of the hidden folders that a script may write to.
const WRITABLE: [&str; 3] = ["/tmp", "/run", "/var"];
/// Users from this number on are people, but for the last one, who is nobody.
const PEOPLE: u32 = 1000;
const NOBODY: u32 = 65_534;
/// So many homes at most are looked up.
const MOST_HOMES: usize = 256;
/// No home hides a folder that holds one of these, or lies in one.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/etc", "/proc"];
/// Where a machine keeps its settings, how deep we look there, and how many secrets it may hold.
const SETTINGS: &str = "/etc";
const DEEPEST: usize = 6;
const MOST_SECRETS: usize = 256;
/// What is left of `/dev`.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Where programs are looked for.
const PROGRAMS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// What a script did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The commands in the order in which they began, a line each unless a word has several.
    pub commands: String,
    /// What it wrote to its output and its errors, as far as it was kept.
    pub output: String,
    /// How it ended.
    pub ended: Ended,
}

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Status(ExitStatus),
    /// It ran for too long.
    TooLong,
    /// It wrote too much.
    TooMuchOutput,
    /// It took too much memory.
    TooMuchMemory,
    /// It recorded too many commands: the rest is missing.
    TooManyCommands,
}

/// Why there is no sandbox.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system does not allow it.
    #[error("no sandbox here ({what}: {error})")]
    Forbidden {
        /// What was tried.
        what: String,
        /// The system's answer.
        error: String,
    },
    /// The command cannot be started.
    #[error("{program}: {error}")]
    Command {
        /// The first word of the command.
        program: String,
        /// The system's answer.
        error: String,
    },
}

/// Turns a call's error into ours.
fn forbidden(what: &str) -> impl FnOnce(io::Error) -> SandboxError {
    let what = what.to_owned();
    move |error| SandboxError::Forbidden {
        what,
        error: error.to_string(),
    }
}

/// Runs a command in a sandbox, and returns what it recorded. The process must have a single thread.
///
/// # Errors
/// The system allows no sandbox, or the command cannot be started.
pub fn run(command: &[OsString], recorder: Recorder<'_>) -> Result<Recorded, SandboxError> {
    let threads = fs::read_dir("/proc/self/task").map_err(forbidden("/proc"))?;
    if threads.count() > 1 {
        let error = io::Error::other("this process has several threads");
        return Err(forbidden("namespaces")(error));
    }
    let [told, teller] = calls::pipe(false).map_err(forbidden("a pipe"))?;
    match calls::fork().map_err(forbidden("a process"))? {
        Copy::Child => {
            drop(told);
            let mut teller = File::from(teller);
            if let Err(error) = build(command, recorder, &mut teller) {
                _ = Answer::failure(&error).write(&mut teller);
            }
            calls::exit(0)
        }
        Copy::Parent(child) => {
            drop(teller);
            let mut bytes = Vec::new();
            let read = File::from(told).read_to_end(&mut bytes);
            calls::wait_for(child);
            read.map_err(forbidden("its answer"))?;
            Answer::read(&bytes)
        }
    }
}

/// What a sandbox answers: a letter, a number, and two texts.
struct Answer {
    kind: u8,
    number: i32,
    texts: [Vec<u8>; 2],
}

const ENDED: u8 = b'e';
const FORBIDDEN: u8 = b'f';
const NOT_STARTED: u8 = b'n';
const TOO_LONG: u8 = b't';
const TOO_MUCH_OUTPUT: u8 = b'o';
const TOO_MUCH_MEMORY: u8 = b'm';
const TOO_MANY_COMMANDS: u8 = b'c';

impl Answer {
    fn failure(error: &SandboxError) -> Self {
        let (kind, what, error) = match error {
            SandboxError::Forbidden { what, error } => (FORBIDDEN, what, error),
            SandboxError::Command { program, error } => (NOT_STARTED, program, error),
        };
        Self {
            kind,
            number: 0,
            texts: [what.clone().into_bytes(), error.clone().into_bytes()],
        }
    }

    fn write(&self, to: &mut File) -> io::Result<()> {
        let [first, second] = &self.texts;
        to.write_all(&[self.kind])?;
        to.write_all(&self.number.to_le_bytes())?;
        to.write_all(&(first.len() as u32).to_le_bytes())?;
        to.write_all(first)?;
        to.write_all(second)
    }

    fn read(bytes: &[u8]) -> Result<Recorded, SandboxError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Some((&[kind, a, b, c, d, e, f, g, h], rest)) = bytes.split_first_chunk() else {
            let error = io::Error::other("it ended without an answer");
            return Err(forbidden("the sandbox")(error));
        };
        let len = u32::from_le_bytes([e, f, g, h]) as usize;
        let (first, second) = rest.split_at(len.min(rest.len()));
        let number = i32::from_le_bytes([a, b, c, d]);
        let ended = match kind {
            ENDED => Ended::Status(ExitStatus::from_raw(number)),
            TOO_LONG => Ended::TooLong,
            TOO_MUCH_OUTPUT => Ended::TooMuchOutput,
            TOO_MUCH_MEMORY => Ended::TooMuchMemory,
            TOO_MANY_COMMANDS => Ended::TooManyCommands,
            NOT_STARTED => {
                return Err(SandboxError::Command {
                    program: text(first),
                    error: text(second),
                });
            }
            _ => {
                return Err(SandboxError::Forbidden {
                    what: text(first),
                    error: text(second),
                });
            }
        };
        Ok(Recorded {
            output: text(first),
            commands: text(second),
            ended,
        })
    }
}

/// Makes the sandbox around this process, and waits for the first process in it.
fn build(
    command: &[OsString],
    recorder: Recorder<'_>,
    teller: &mut File,
) -> Result<(), SandboxError> {
    calls::leave_the_terminal();
    calls::end_with_parent().map_err(forbidden("its end"))?;
    let home = env::var_os("HOME").unwrap_or_default();
    let folder = env::current_dir().map_err(forbidden("the working folder"))?;
    let is_called_root = is_root();
    let was_root = is_called_root && has_all_users();
    if !was_root {
        let (user, group) = user_and_group();
        new_user_namespace()
            .and_then(|()| call_root(user, group))
            .map_err(forbidden("a user namespace"))?;
        calls::end_with_parent().map_err(forbidden("its end"))?;
    }
    calls::leave_the_system().map_err(forbidden("namespaces"))?;
    calls::keep_mounts_private().map_err(forbidden("mounts of its own"))?;
    calls::make_all_read_only().map_err(forbidden("a read-only root"))?;
    hide(command, Path::new(&home), &folder).map_err(forbidden("hidden folders"))?;
    put_in_place(recorder).map_err(forbidden("recorders"))?;
    if is_called_root && !was_root {
        hide_secrets().map_err(forbidden("hidden secrets"))?;
    }
    match calls::fork().map_err(forbidden("a process"))? {
        Copy::Child => {
            if let Err(error) = first_process(command, &folder, was_root, teller) {
                _ = Answer::failure(&error).write(teller);
            }
            calls::exit(0)
        }
        Copy::Parent(first) => {
            calls::wait_for(first);
            Ok(())
        }
    }
}

/// Whether this user namespace has all users, so that root can become another one.
fn has_all_users() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Hides folders, and shows what the command needs of them.
fn hide(command: &[OsString], home: &Path, folder: &Path) -> io::Result<()> {
    let mut hidden: Vec<PathBuf> = Vec::new();
    let mut candidates: Vec<&Path> = Vec::new();
    for path in &HIDDEN {
        candidates.push(Path::new(path));
    }
    candidates.push(home);
    let homes = homes(&fs::read_to_string("/etc/passwd").unwrap_or_default());
    for path in &homes {
        candidates.push(path);
    }
    for path in candidates {
        let Ok(path) = path.canonicalize() else {
            continue;
        };
        // A link such as /var/run leads to a folder that is hidden already.
        if path != Path::new("/") && !is_within(&path, &hidden) {
            hidden.push(path);
        }
    }
    let mut shown = Vec::new();
    for place in places(command, folder, &hidden) {
        shown.push((calls::hold(&place)?, place));
    }
    let mut devices = Vec::new();
    for name in DEVICES {
        let place = Path::new("/dev").join(name);
        devices.push((calls::hold(&place)?, place));
    }
    for path in &hidden {
        let is_writable = WRITABLE.iter().any(|folder| {
            Path::new(folder)
                .canonicalize()
                .is_ok_and(|folder| folder == *path)
        });
        let bytes = if is_writable { FOLDER } else { SMALL_FOLDER };
        calls::mount_empty(path, bytes)?;
    }
    if Path::new("/run").is_dir() {
        fs::create_dir_all("/run/lock")?;
    }
    if Path::new("/var").is_dir() {
        fs::create_dir_all("/var/tmp")?;
        symlink("/run", "/var/run")?;
        symlink("/run/lock", "/var/lock")?;
    }
    // Root's script is another user. What is ours in there it cannot take away.
    for folder in ["/tmp", "/run", "/run/lock", "/var", "/var/tmp"] {
        if Path::new(folder).is_dir() {
            fs::set_permissions(folder, Permissions::from_mode(0o1777))?;
        }
    }
    devices.append(&mut shown);
    for (held, place) in &devices {
        show(held, place)?;
    }
    for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
        symlink(format!("/proc/self/fd/{number}"), format!("/dev/{name}"))?;
    }
    symlink("/proc/self/fd", "/dev/fd")?;
    if is_within(folder, &hidden) {
        fs::create_dir_all(folder)?;
    }
    Ok(())
}

/// The homes of people, as passwd(5) lists them: a user may have another one than `HOME` says, as
/// with sudo.
fn homes(users: &str) -> Vec<PathBuf> {
    let mut homes = Vec::new();
    for line in users.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, number, _, _, home, ..] = fields[..] else {
            continue;
        };
        let number = number.parse().unwrap_or(0);
        let holds_programs = SYSTEM
            .iter()
            .any(|folder| Path::new(folder).starts_with(home) || home.starts_with(folder));
        if number >= PEOPLE && number != NOBODY && !holds_programs && homes.len() < MOST_HOMES {
            homes.push(PathBuf::from(home));
        }
    }
    homes
}

/// Whether a path lies in one of these folders, or is one.
fn is_within(path: &Path, folders: &[PathBuf]) -> bool {
    for folder in folders {
        if path.starts_with(folder) {
            return true;
        }
    }
    false
}

/// The hidden files and folders that the command names: a file's folder, because scripts read
/// what lies beside them, or the file alone if that folder holds a hidden one.
fn places(command: &[OsString], folder: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for word in command {
        let Ok(path) = folder.join(word).canonicalize() else {
            continue;
        };
        if !is_within(&path, hidden) {
            continue;
        }
        let beside = match path.parent() {
            Some(parent) if path.is_file() => parent,
            _ => &path,
        };
        let mut holds_hidden = false;
        for other in hidden {
            holds_hidden |= other.starts_with(beside);
        }
        let place = if holds_hidden { &path } else { beside }.to_path_buf();
        if !hidden.contains(&place) && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Shows what is held at its old place, in a folder that is empty now.
fn show(held: &OwnedFd, place: &Path) -> io::Result<()> {
    let from = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    if from.is_dir() {
        fs::create_dir_all(place)?;
    } else {
        fs::create_dir_all(place.parent().unwrap_or(place))?;
        File::create(place)?;
    }
    calls::show(&from, place)
}

/// Puts the recorder in place of the programs, at the front of PATH and where they are.
fn put_in_place(recorder: Recorder<'_>) -> io::Result<()> {
    let folder = Path::new(OURS).join("bin");
    fs::create_dir_all(&folder)?;
    for name in recorder.programs {
        let ours = folder.join(name);
        fs::write(&ours, recorder.text)?;
        fs::set_permissions(&ours, Permissions::from_mode(0o755))?;
        let mut replaced: Vec<PathBuf> = Vec::new();
        for programs in PROGRAMS {
            let Ok(theirs) = Path::new(programs).join(name).canonicalize() else {
                continue;
            };
            // A program that serves several names, as busybox does, has to go on serving others.
            let is_own = theirs.ends_with(name);
            if is_own && !replaced.contains(&theirs) {
                calls::show(&ours, &theirs)?;
                replaced.push(theirs);
            }
        }
    }
    Ok(())
}

/// Hides what is root's alone among the settings of the machine. A script cannot read that as nobody,
/// but in a namespace that has no nobody, it stays who owns these files.
fn hide_secrets() -> io::Result<()> {
    let empty = Path::new(OURS).join("empty");
    File::create(&empty)?;
    let mut secrets = Vec::new();
    add_secrets(Path::new(SETTINGS), 0, &mut secrets);
    for secret in secrets {
        if secret.is_dir() {
            calls::mount_empty(&secret, SMALL_FOLDER)?;
        } else {
            calls::show(&empty, &secret)?;
        }
    }
    Ok(())
}

/// Adds files and folders that others than their owner and their group cannot read.
fn add_secrets(folder: &Path, depth: usize, secrets: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if found.is_symlink() || secrets.len() >= MOST_SECRETS {
            continue;
        }
        if found.permissions().mode() & 0o004 == 0 {
            secrets.push(entry.path());
        } else if found.is_dir() && depth < DEEPEST {
            add_secrets(&entry.path(), depth + 1, secrets);
        }
    }
}

/// Where commands are recorded.
fn log() -> PathBuf {
    Path::new(OURS).join("commands")
}

/// The first process of the sandbox: starts the command, watches it, and tells what it recorded.
fn first_process(
    command: &[OsString],
    folder: &Path,
    was_root: bool,
    teller: &mut File,
) -> Result<(), SandboxError> {
    // `kill 0`, as many a script ends, reaches its group, which may have members outside.
    calls::leave_the_terminal();
    calls::leave_the_keys().map_err(forbidden("keys of its own"))?;
    calls::mount_processes().map_err(forbidden("its own /proc"))?;
    let mut recorded = OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .open(log())
        .map_err(forbidden("a record"))?;
    fs::set_permissions(log(), Permissions::from_mode(0o666)).map_err(forbidden("a record"))?;
    if was_root {
        calls::become_nobody().map_err(forbidden("another user than root"))?;
    }
    let (user, group) = user_and_group();
    calls::lock_mounts()
        .and_then(|()| call_root(user, group))
        .map_err(forbidden("locked mounts"))?;
    fs::write("/proc/sys/user/max_user_namespaces", "0").map_err(forbidden("no namespaces"))?;
    // If memory runs out, a process of the sandbox is the one to end.
    fs::write("/proc/self/oom_score_adj", "1000").map_err(forbidden("its memory"))?;
    calls::lock_processes().map_err(forbidden("a read-only /proc"))?;
    calls::end_with_parent().map_err(forbidden("its end"))?;
    let [reader, output] = calls::pipe(true).map_err(forbidden("a pipe"))?;
    let [why, because] = calls::pipe(false).map_err(forbidden("a pipe"))?;
    let child = match calls::fork().map_err(forbidden("a process"))? {
        Copy::Child => {
            let error = become_command(command, folder, output);
            _ = File::from(because).write_all(error.to_string().as_bytes());
            calls::exit(1)
        }
        Copy::Parent(child) => child,
    };
    drop((output, because));
    calls::hide_from_debuggers().map_err(forbidden("a hidden process"))?;
    // The pipe ends when the program begins.
    let mut error = String::new();
    _ = File::from(why).read_to_string(&mut error);
    if !error.is_empty() {
        let program = command[0].to_string_lossy().into_owned();
        return Err(SandboxError::Command { program, error });
    }
    let (mut kind, number, output) = watch(child, File::from(reader));
    calls::end_all_others();
    let mut commands = Vec::new();
    recorded.rewind().map_err(forbidden("a record"))?;
    let mut recorded = recorded.take(MOST_RECORDED);
    recorded
        .read_to_end(&mut commands)
        .map_err(forbidden("a record"))?;
    if commands.len() as u64 == MOST_RECORDED {
        kind = TOO_MANY_COMMANDS;
    }
    let answer = Answer {
        kind,
        number,
        texts: [output, commands],
    };
    answer.write(teller).map_err(forbidden("its answer"))
}

/// Sets this process's limits and its folder, and gives up its rights. Returns a second descriptor of
/// the output, for errors.
fn prepare(folder: &Path, output: &OwnedFd) -> io::Result<OwnedFd> {
    let limits = [
        (Resource::Memory, MOST_MEMORY),
        (Resource::File, MOST_RECORDED),
        (Resource::Files, MOST_FILES),
        (Resource::Processes, MOST_PROCESSES),
        (Resource::Time, PROCESSOR_SECONDS),
        (Resource::Dump, 0),
    ];
    for (resource, most) in limits {
        calls::limit(resource, most)?;
    }
    calls::leave_descriptors()?;
    calls::give_up_all_rights()?;
    env::set_current_dir(folder)?;
    calls::forbid_calls()?;
    output.try_clone()
}

/// Becomes the command, without rights and with limits. Returns why it cannot.
fn become_command(command: &[OsString], folder: &Path, output: OwnedFd) -> io::Error {
    let errors = match prepare(folder, &output) {
        Ok(errors) => errors,
        Err(error) => return error,
    };
    Command::new(&command[0])
        .args(&command[1..])
        .env_clear()
        .env("PATH", format!("{OURS}/bin:{}", PROGRAMS.join(":")))
        .env("ROUNDELAY_RECORD", log())
        .envs([
            ("HOME", "/tmp"),
            ("USER", "root"),
            ("LOGNAME", "root"),
            ("SHELL", "/bin/sh"),
            ("LC_ALL", "C"),
            ("TERM", "dumb"),
        ])
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .exec()
}

/// Waits for a command within its limits. Returns how it ended, as an answer's letter and number,
/// and what it wrote.
fn watch(command: i32, mut output: File) -> (u8, i32, Vec<u8>) {
    const PAUSE: Duration = Duration::from_millis(5);
    /// So many pauses lie between two looks at the memory.
    const PAUSES: u32 = 10;
    let begun = Instant::now();
    let mut kept = Vec::new();
    let mut written = 0;
    let mut pauses = 0;
    loop {
        let mut status = None;
        while let Some((child, how)) = calls::ended_child() {
            if child == command {
                status = Some(how);
            }
        }
        // What the command wrote before it ended is there by now.
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut piece) {
            written += count;
            let room = KEPT_OUTPUT.saturating_sub(kept.len());
            kept.extend_from_slice(&piece[..count.min(room)]);
            if written > MOST_OUTPUT {
                return (TOO_MUCH_OUTPUT, 0, kept);
            }
        }
        if let Some(status) = status {
            return (ENDED, status, kept);
        }
        if begun.elapsed() > LONGEST {
            return (TOO_LONG, 0, kept);
        }
        if pauses % PAUSES == 0 && memory() > MOST_MEMORY {
            return (TOO_MUCH_MEMORY, 0, kept);
        }
        pauses += 1;
        thread::sleep(PAUSE);
    }
}

/// Bytes that all processes here have in memory. What several share counts once.
fn memory() -> u64 {
    let mut kilobytes = 0;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name();
        let name = name.to_string_lossy();
        if name.parse::<u32>().is_ok() {
            kilobytes += memory_of(&process.path());
        }
    }
    kilobytes << 10
}

/// Kilobytes that a process has in memory or has had moved to a disk, as proc(5) describes it.
fn memory_of(process: &Path) -> u64 {
    // A process whose first thread has ended tells nothing, but its other threads do.
    let mut places = vec![process.to_path_buf()];
    for thread in fs::read_dir(process.join("task")).into_iter().flatten() {
        places.extend(thread.map(|thread| thread.path()));
    }
    for (file, names) in [
        ("smaps_rollup", ["Pss:", "SwapPss:"]),
        ("status", ["VmRSS:", "VmSwap:"]),
    ] {
        for place in &places {
            let text = fs::read_to_string(place.join(file)).unwrap_or_default();
            let kilobytes = sum(&text, names);
            if kilobytes > 0 {
                return kilobytes;
            }
        }
    }
    0
}

/// The sum of the lines with these names.
fn sum(text: &str, names: [&str; 2]) -> u64 {
    let mut sum = 0;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if words.next().is_some_and(|name| names.contains(&name)) {
            sum += words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        }
    }
    sum
}

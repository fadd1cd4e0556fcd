//! Atomic file output: a file is either complete or absent.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ReportError;

/// Writes `text` to `path`, completely or not at all.
///
/// # Errors
///
/// The operating system's error, with the file's name. An older file of the same name stays as it
/// was.
pub fn write_text(path: &Path, text: &str) -> Result<(), ReportError> {
    let mut file = PartialFile::create(path)?;
    file.write_all(text.as_bytes())
        .map_err(ReportError::file("write", path))?;
    file.finish()
}

/// Writes a file whose name others may know in advance, completely or not at all: see
/// [`PartialFile::replace`].
///
/// # Errors
///
/// The operating system's error, with the file's name. An older file of the same name is left
/// unchanged.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    let mut file = PartialFile::replace(path)?;
    file.write_all(bytes)
        .map_err(ReportError::file("write", path))?;
    file.finish()
}

/// Incomplete files.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list of incomplete files, with room for one more. Memory is allocated without the lock,
/// because a process that ends for want of memory does not wait for the lock, and would leave the
/// files.
fn with_room() -> MutexGuard<'static, Vec<PathBuf>> {
    loop {
        let unfinished = unfinished();
        let len = unfinished.len();
        if len < unfinished.capacity() {
            return unfinished;
        }
        drop(unfinished);
        let mut larger = Vec::with_capacity(2 * len + 8);
        let mut unfinished = self::unfinished();
        if unfinished.len() < larger.capacity() {
            larger.append(&mut unfinished);
            std::mem::swap(&mut *unfinished, &mut larger);
        }
    }
}

/// Takes a file off the list.
fn take_off(partial: &Path) {
    let mut unfinished = unfinished();
    let number = unfinished.iter().position(|listed| listed == partial);
    let listed = number.map(|number| unfinished.swap_remove(number));
    drop(unfinished);
    drop(listed);
}

/// Removes incomplete files, for a process about to end: no file can be started after this call.
pub fn abandon_files() {
    abandon(unfinished());
}

/// Removes the files, and keeps the lock until the process ends.
fn abandon(unfinished: MutexGuard<'static, Vec<PathBuf>>) {
    for partial in unfinished.iter() {
        remove(partial);
    }
    // The lock stays locked, so that no other thread starts a file.
    std::mem::forget(unfinished);
}

/// As [`abandon_files`], for a process that cannot allocate memory: without effect while a file is
/// started or finished.
pub fn try_abandon_files() {
    if let Ok(unfinished) = UNFINISHED.try_lock() {
        abandon(unfinished);
    }
}

/// A file that gets its name only when complete and is removed otherwise.
///
/// A path other than a regular file, such as `/dev/stdout` or a pipe, is written directly: no
/// rename is possible.
#[derive(Debug)]
pub struct PartialFile {
    file: File,
    path: PathBuf,
    /// Temporary path of the bytes. None if they are written directly to `path`.
    partial: Option<PathBuf>,
}

impl PartialFile {
    /// Starts a file with the final name `path`.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn create(path: &Path) -> Result<Self, ReportError> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(ReportError::file("create", path))?;
            return Ok(Self {
                file,
                path: path.to_owned(),
                partial: None,
            });
        }
        let target = target_of(path).map_err(ReportError::file("create", path))?;
        Self::begin(target)
    }

    /// Starts a file whose name others may know in advance, as those in a dataset's folder. If a
    /// symbolic link has that name, the link itself is replaced, and nothing is written where it
    /// leads.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name.
    pub fn replace(path: &Path) -> Result<Self, ReportError> {
        Self::begin(path.to_owned())
    }

    /// Starts a file in `target`'s folder. If it replaces a file, it gets that file's permissions.
    fn begin(target: PathBuf) -> Result<Self, ReportError> {
        remove_leftovers(&target);
        let replaced = fs::symlink_metadata(&target).ok();
        let replaced = replaced.filter(fs::Metadata::is_file);
        let kept = replaced.map(|metadata| metadata.permissions());
        let (file, partial) = create_beside(&target, kept, random_suffix)
            .map_err(ReportError::file("create", &target))?;
        Ok(Self {
            file,
            path: target,
            partial: Some(partial),
        })
    }

    /// Another handle with the same file position, for a writer that needs ownership.
    #[cfg(feature = "parquet")]
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Renames the file to its final name. The bytes are synced to disk first, because some file
    /// systems detect a full disk only here. The folder is synced afterwards, because a power
    /// failure could take the name back.
    ///
    /// # Errors
    ///
    /// The operating system's error, with the file's name. An older file of the same name stays as
    /// it was, unless only the folder could not be synced.
    pub fn finish(mut self) -> Result<(), ReportError> {
        let Some(partial) = self.partial.take() else {
            return self
                .file
                .flush()
                .map_err(ReportError::file("write", &self.path));
        };
        let written = self
            .file
            .sync_all()
            .map_err(ReportError::file("write", &self.path));
        let moved = written.and_then(|()| {
            fs::rename(&partial, &self.path)
                .map_err(ReportError::file("move into place", &self.path))
        });
        take_off(&partial);
        moved.inspect_err(|_| remove(&partial))?;
        sync_folder(&self.path).map_err(ReportError::file("write", &self.path))
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            take_off(partial);
            remove(partial);
        }
    }
}

/// The flags that keep the system from following a link at the end of a path, and from waiting for a
/// reader of a named pipe. They change nothing for a regular file.
#[cfg(unix)]
const OPENS_AT_ONCE: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Opens a regular file to append to, and makes it if missing. Anything else is refused, because a
/// cache's or a journal's name is known, and whoever may write to its folder could lead it
/// elsewhere by a symbolic link, or stop it for ever by a named pipe.
///
/// # Errors
///
/// The operating system's error. For a link, and for what is no regular file, it says so.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, OPENS_AT_ONCE);
    let opened = options.open(path).and_then(|file| {
        // A pipe that somebody reads from can be opened, and so can a device.
        refuse_special(&file.metadata()?)?;
        Ok(file)
    });
    opened.map_err(|error| match fs::symlink_metadata(path) {
        Ok(found) => refuse_special(&found).err().unwrap_or(error),
        Err(_) => error,
    })
}

/// Refuses all but a regular file.
///
/// # Errors
///
/// What it is instead, and that a file is expected.
pub fn refuse_special(metadata: &fs::Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(io::Error::other(if kind.is_symlink() {
        "a symbolic link; expected a file"
    } else {
        "not a regular file; expected a file"
    }))
}

/// The file to replace: where a symbolic link ends, if `path` is one.
///
/// # Errors
/// The system does not let this process follow the link, because it is another user's, in a folder
/// where all may write. `canonicalize` alone would not ask.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
        Ok(_) => fs::canonicalize(path),
    }
}

/// Attempts to find a free name, before an error. Names are random: one attempt is enough unless
/// somebody knows them in advance.
const ATTEMPTS: u32 = 16;

/// Creates an empty file in `target`'s folder, hence on the same file system, under a name that
/// nobody can know in advance. Whatever has this name already, also a symbolic link, is left alone
/// and another name tried. `kept` are the permissions of the file to be replaced.
fn create_beside(
    target: &Path,
    kept: Option<Permissions>,
    mut suffix: impl FnMut() -> u64,
) -> io::Result<(File, PathBuf)> {
    let mut attempts = 0;
    loop {
        let partial = beside(target, suffix());
        let listed = partial.clone();
        // Under the lock: a process about to end removes all unfinished files, then starts none.
        let mut unfinished = with_room();
        unfinished.push(listed);
        let error = match create_new(&partial, kept.as_ref()) {
            Ok(file) => return Ok((file, partial)),
            Err(error) => error,
        };
        let listed = unfinished.pop();
        drop(unfinished);
        drop(listed);
        if error.kind() != io::ErrorKind::AlreadyExists || attempts == ATTEMPTS {
            return Err(error);
        }
        attempts += 1;
    }
}

/// A new file. With permissions, nobody else can open the file before it has them.
fn create_new(path: &Path, kept: Option<&Permissions>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if kept.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let file = options.open(path)?;
    if let Some(kept) = kept {
        file.set_permissions(plain(kept))
            .inspect_err(|_| remove(path))?;
    }
    Ok(file)
}

/// Keeps the permissions to read, write and execute, but none to act as the file's owner.
#[cfg(unix)]
fn plain(permissions: &Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    Permissions::from_mode(permissions.mode() & 0o777)
}

/// A file that cannot be written has no partial file either: the new one is writable.
#[cfg(not(unix))]
fn plain(permissions: &Permissions) -> Permissions {
    let mut plain = permissions.clone();
    plain.set_readonly(false);
    plain
}

/// Random bits from the operating system, by way of the standard library's random hash keys.
fn random_suffix() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A name in the same folder. Machine and process tell later runs whose file it is.
fn beside(path: &Path, suffix: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(
        ".{name}.{}.{}.{suffix:016x}.partial",
        host(),
        process::id()
    ))
}

/// Names this machine until its next start, and the namespace of process numbers, because
/// containers have their own: the first digits of the boot's random number, and the namespace's
/// number. Where the system has neither, the name is a constant.
fn host() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut digits: String = boot
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(12)
        .collect();
    let namespace = namespace.to_string_lossy();
    digits.extend(namespace.chars().filter(char::is_ascii_digit));
    if digits.is_empty() {
        "local".to_owned()
    } else {
        digits
    }
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the names in a file's folder safe from a power failure. A folder that this user may write
/// to but not read cannot be opened, and not every file system can sync a folder: neither is an
/// error.
#[cfg(target_os = "linux")]
fn sync_folder(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    let synced = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    match synced.as_ref().map_err(io::Error::kind) {
        Err(InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        _ => synced,
    }
}

/// Not every system opens a folder as a file.
#[cfg(not(target_os = "linux"))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Removes temporary files that killed processes of this machine left in `path`'s folder, for all
/// outputs. Files stay if they belong to other machines or to running processes.
fn remove_leftovers(path: &Path) {
    let host = format!(".{}", host());
    for entry in fs::read_dir(folder_of(path))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if process_of(&name, &host).is_some_and(|id| id != process::id() && has_ended(id)) {
            remove(&entry.path());
        }
    }
}

/// The process that writes a temporary file, from the file's name, if it is one of this machine.
fn process_of(name: &str, host: &str) -> Option<u32> {
    let rest = name.strip_prefix('.')?.strip_suffix(".partial")?;
    let (rest, _suffix) = rest.rsplit_once('.')?;
    let (rest, process) = rest.rsplit_once('.')?;
    process.parse().ok().filter(|_| rest.ends_with(host))
}

/// Whether a process does not exist. False where the system does not tell, or hides other users'
/// processes, as it does with the first one.
fn has_ended(id: u32) -> bool {
    let exists = |process: &str| Path::new("/proc").join(process).exists();
    exists("self") && exists("1") && !exists(&id.to_string())
}

/// Ignores a failure: the error that led here is the one to report.
fn remove(partial: &Path) {
    drop(fs::remove_file(partial));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("roundelay-report-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_finished_file_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = folder("finished");
        let path = folder.join("report.html");
        fs::write(&path, "old").unwrap();
        write_text(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(&folder), ["report.html"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_abandoned_file_leaves_the_old_one_as_it_was() {
        let folder = folder("abandoned");
        let path = folder.join("report.html");
        fs::write(&path, "old").unwrap();
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"half of the").unwrap();
        assert_eq!(names(&folder).len(), 2);
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(&folder), ["report.html"]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Regression: a process ended by SIGKILL left its temporary file for ever.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_killed_run_has_left_is_removed_by_the_next() {
        let folder = folder("killed");
        let path = folder.join("report.html");
        let mut child = process::Command::new("true").spawn().unwrap();
        let ended = child.id();
        child.wait().unwrap();
        let leftover =
            |host: &str, id: u32| format!(".report.html.{host}.{id}.0123456789abcdef.partial");
        let kept = [
            leftover("0123456789ab", ended),
            leftover(&host(), 1),
            format!("a.{}.{ended}.0123456789abcdef.partial", host()),
        ];
        let removed = [
            leftover(&host(), ended),
            format!(".other.html.{}.{ended}.0123456789abcdef.partial", host()),
        ];
        for name in kept.iter().chain(&removed) {
            fs::write(folder.join(name), "half").unwrap();
        }
        write_text(&path, "new").unwrap();
        let mut expected = Vec::from(kept);
        expected.push("report.html".to_owned());
        expected.sort();
        let mut found = names(&folder);
        found.sort();
        assert_eq!(
            found, expected,
            "files of other machines, of processes that run, and of other names stay"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_under_a_known_name_is_replaced_or_refused() {
        let folder = folder("known");
        let victim = folder.join("victim");
        fs::write(&victim, "precious").unwrap();
        let path = folder.join("runs.parquet");
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let message = open_to_append(&path).unwrap_err().to_string();
        assert_eq!(message, "a symbolic link; expected a file");
        let mut file = PartialFile::replace(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        let mut file = open_to_append(&path).unwrap();
        file.write_all(b"er").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Regression: a sweep waited for ever for a reader of a named pipe in place of its lock.
    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_under_a_known_name_is_refused_at_once() {
        let folder = folder("special");
        let pipe = folder.join(".lock");
        let made = process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let refused = "not a regular file; expected a file";
        let message = |path: &Path| open_to_append(path).unwrap_err().to_string();
        assert_eq!(message(&pipe), refused);
        // With a reader it could be opened.
        let mut options = OpenOptions::new();
        let reader = options.read(true).write(true).open(&pipe).unwrap();
        assert_eq!(message(&pipe), refused);
        drop(reader);
        assert_eq!(message(Path::new("/dev/null")), refused);
        assert_eq!(message(&folder), refused);
        let missing = message(Path::new("no-such-folder/.lock"));
        assert!(missing.contains("os error"), "{missing}");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Regression: another user could place a symbolic link where root's temporary file would go,
    /// and have any file overwritten.
    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_in_place_of_the_temporary_file_is_not_followed() {
        let folder = folder("planted");
        let victim = folder.join("victim");
        fs::write(&victim, "precious").unwrap();
        let path = folder.join("report.html");
        let predictable = folder.join(format!(".report.html.{}.{}.partial", host(), process::id()));
        std::os::unix::fs::symlink(&victim, &predictable).unwrap();
        write_text(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");

        // Even a name known in advance is left alone.
        std::os::unix::fs::symlink(&victim, beside(&path, 1)).unwrap();
        let mut suffix = 0;
        let next = || {
            suffix += 1;
            suffix
        };
        let (mut file, partial) = create_beside(&path, None, next).unwrap();
        file.write_all(b"newer").unwrap();
        take_off(&partial);
        assert_eq!(partial, beside(&path, 2));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        let error = create_beside(&path, None, || 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Regression: a report with mode 0600 became readable by all.
    #[cfg(unix)]
    #[test]
    fn a_file_keeps_the_mode_of_the_one_that_it_replaces() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder("mode");
        let path = folder.join("report.html");
        for (before, after) in [
            (0o600, 0o600),
            (0o640, 0o640),
            (0o4_755, 0o755),
            (0o444, 0o444),
        ] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            let mut file = PartialFile::create(&path).unwrap();
            file.write_all(b"new").unwrap();
            let partial = file.partial.clone().unwrap();
            let early = fs::metadata(&partial).unwrap().permissions().mode();
            assert_eq!(early & 0o7777, after, "before it has its name");
            file.finish().unwrap();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, after);
            fs::remove_file(&path).unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// Linux lets nobody follow another user's link in a folder like `/tmp` (protected_symlinks):
    /// `canonicalize` reads the link without this check.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_of_another_user_in_a_shared_folder_is_not_followed() {
        use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
        let folder = folder("shared");
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        let outside = std::env::temp_dir().join(format!("roundelay-victim-{}", process::id()));
        fs::write(&outside, "precious").unwrap();
        let link = folder.join("report.html");
        symlink(&outside, &link).unwrap();
        let is_protected = fs::read_to_string("/proc/sys/fs/protected_symlinks")
            .is_ok_and(|setting| setting.trim() == "1");
        let is_owned_by_another = lchown(&link, Some(65_534), Some(65_534)).is_ok();
        if !is_protected || !is_owned_by_another {
            eprintln!("not run: needs root, and fs.protected_symlinks = 1");
        } else {
            let error = write_text(&link, "new").unwrap_err().to_string();
            assert!(error.contains("cannot create"), "{error}");
            assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
        }
        // One's own link is followed, and stays.
        drop(lchown(&link, Some(own_user(&outside)), None));
        write_text(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::remove_file(outside).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    /// The user of this process, as the owner of a file just made.
    #[cfg(target_os = "linux")]
    fn own_user(made: &Path) -> u32 {
        std::os::linux::fs::MetadataExt::st_uid(&fs::metadata(made).unwrap())
    }

    #[test]
    fn an_error_names_the_file_that_was_asked_for() {
        let path = Path::new("no-such-folder/report.html");
        let message = write_text(path, "text").unwrap_err().to_string();
        assert!(
            message.starts_with("no-such-folder/report.html: cannot create: "),
            "{message}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let error = write_text(Path::new("/dev/full"), "text").unwrap_err();
        let ReportError::File { source, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull, "{error}");
        assert!(
            error.to_string().starts_with("/dev/full: cannot write: "),
            "{error}"
        );
    }
}

//! Calls for a sandbox: namespaces, mounts, limits, and giving up all rights.

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use super::{checked, forbid_new_privileges};

/// Whom root becomes before it runs a stranger's script.
const NOBODY: u32 = 65_534;

/// The most capabilities that a kernel may have.
const MOST_CAPABILITIES: c_int = 63;

fn path(text: &Path) -> io::Result<CString> {
    CString::new(text.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// How a copy of this process goes on.
pub(crate) enum Copy {
    /// It is the copy.
    Child,
    /// It is the original, and the copy has this number.
    Parent(c_int),
}

/// Copies this process. It must have a single thread.
pub(crate) fn fork() -> io::Result<Copy> {
    // SAFETY: the process has a single thread, so the copy finds nothing half done.
    Ok(match checked(unsafe { libc::fork() })? {
        0 => Copy::Child,
        child => Copy::Parent(child),
    })
}

/// Ends this process at once.
pub(crate) fn exit(status: c_int) -> ! {
    // SAFETY: nothing of ours waits for the end of the process.
    unsafe { libc::_exit(status) }
}

/// Moves this process to new namespaces for mounts, processes, the network, messages and names. Its
/// children are in the one for processes.
pub(crate) fn leave_the_system() -> io::Result<()> {
    let flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(flags) })?;
    Ok(())
}

/// Moves this process to a user namespace with a copy of its mounts, which it cannot undo there.
pub(crate) fn lock_mounts() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) })?;
    Ok(())
}

/// Root becomes nobody. Anyone else stays who they are.
pub(crate) fn become_nobody() -> io::Result<()> {
    // SAFETY: no pointers but an empty list.
    unsafe {
        checked(libc::setgroups(0, ptr::null()))?;
        checked(libc::setresgid(NOBODY, NOBODY, NOBODY))?;
        checked(libc::setresuid(NOBODY, NOBODY, NOBODY))?;
        // Otherwise the process could not write its own maps of users.
        checked(libc::prctl(
            libc::PR_SET_DUMPABLE,
            1 as libc::c_ulong,
            0,
            0,
            0,
        ))?;
    }
    Ok(())
}

fn mount(
    from: &CStr,
    to: &Path,
    kind: &CStr,
    flags: libc::c_ulong,
    options: &CStr,
) -> io::Result<()> {
    let to = path(to)?;
    // SAFETY: all texts end in a zero byte and outlive the call.
    checked(unsafe {
        libc::mount(
            from.as_ptr(),
            to.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })?;
    Ok(())
}

/// Keeps changes of mounts to this namespace.
pub(crate) fn keep_mounts_private() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    mount(c"none", Path::new("/"), c"", flags, c"")
}

/// Makes all that is mounted read-only, and takes all rights from programs that give some.
pub(crate) fn make_all_read_only() -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    const NO_SUID: u64 = 2;
    let attributes = Attributes {
        set: READ_ONLY | NO_SUID,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    // SAFETY: the path ends in a zero byte, and the attributes have the size that is told.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    checked(outcome as c_int)?;
    Ok(())
}

/// Mounts an empty file system in memory, of so many bytes.
pub(crate) fn mount_empty(at: &Path, bytes: u64) -> io::Result<()> {
    let options = CString::new(format!("mode=755,size={bytes},nr_inodes=4096"))
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    mount(c"tmpfs", at, c"tmpfs", flags, &options)
}

/// Mounts the processes of this namespace.
pub(crate) fn mount_processes() -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(c"proc", Path::new("/proc"), c"proc", flags, c"")
}

/// Shows a file or a folder at another place too.
pub(crate) fn show(from: &Path, at: &Path) -> io::Result<()> {
    mount(&path(from)?, at, c"", libc::MS_BIND | libc::MS_REC, c"")
}

/// Makes the settings of the kernel read-only.
pub(crate) fn lock_settings() -> io::Result<()> {
    let settings = Path::new("/proc/sys");
    show(settings, settings)?;
    let flags = libc::MS_BIND
        | libc::MS_REMOUNT
        | libc::MS_RDONLY
        | libc::MS_NOSUID
        | libc::MS_NODEV
        | libc::MS_NOEXEC;
    mount(c"none", settings, c"", flags, c"")
}

/// A place in the file system, whatever is mounted over it later.
pub(crate) fn hold(place: &Path) -> io::Result<OwnedFd> {
    let place = path(place)?;
    // SAFETY: the path ends in a zero byte.
    let held = checked(unsafe { libc::open(place.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) })?;
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(held) })
}

/// A pipe: its reader and its writer. Reading does not wait if `is_quick`.
pub(crate) fn pipe(is_quick: bool) -> io::Result<[OwnedFd; 2]> {
    let mut ends: [RawFd; 2] = [0; 2];
    // SAFETY: the kernel writes two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    if is_quick {
        // SAFETY: plain numbers.
        checked(unsafe { libc::fcntl(ends[0], libc::F_SETFL, libc::O_NONBLOCK) })?;
    }
    // SAFETY: both descriptors are new, and nobody else's.
    Ok(ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }))
}

/// Makes this process end with its parent. It fails if the parent has ended already.
pub(crate) fn end_with_parent() -> io::Result<()> {
    let signal = libc::SIGKILL as libc::c_ulong;
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) })?;
    Ok(())
}

/// Leaves the terminal.
pub(crate) fn leave_the_terminal() {
    // SAFETY: no pointers. The leader of a group has no terminal to lose to a new session.
    unsafe { libc::setsid() };
}

/// Hides this process from debuggers.
pub(crate) fn hide_from_debuggers() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0 as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// A limit of the system on a process.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Resource {
    /// Bytes of addresses.
    Memory,
    /// Bytes of a file.
    File,
    /// Open files.
    Files,
    /// Processes of the user.
    Processes,
    /// Seconds of a processor.
    Time,
    /// Bytes of a dump.
    Dump,
}

/// Sets a limit for this process and its children.
pub(crate) fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let number = match resource {
        Resource::Memory => libc::RLIMIT_AS,
        Resource::File => libc::RLIMIT_FSIZE,
        Resource::Files => libc::RLIMIT_NOFILE,
        Resource::Processes => libc::RLIMIT_NPROC,
        Resource::Time => libc::RLIMIT_CPU,
        Resource::Dump => libc::RLIMIT_CORE,
    };
    let limit = libc::rlimit {
        rlim_cur: most as libc::rlim_t,
        rlim_max: most as libc::rlim_t,
    };
    // SAFETY: the limit outlives the call.
    checked(unsafe { libc::setrlimit(number, &raw const limit) })?;
    Ok(())
}

/// Gives up all capabilities for good, though the user is called root here.
pub(crate) fn give_up_all_rights() -> io::Result<()> {
    for capability in 0..=MOST_CAPABILITIES {
        // SAFETY: no pointers. A kernel with fewer refuses the numbers that it does not have.
        unsafe {
            libc::prctl(
                libc::PR_CAPBSET_DROP,
                capability as libc::c_ulong,
                0 as libc::c_ulong,
                0 as libc::c_ulong,
                0 as libc::c_ulong,
            )
        };
    }
    /// `SECBIT_NOROOT`, `SECBIT_NO_SETUID_FIXUP`, `SECBIT_NO_CAP_AMBIENT_RAISE`, each locked.
    const SECURE: libc::c_ulong = 0b1100_1111;
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, SECURE, 0, 0, 0) })?;
    super::drop_privileges(false)?;
    forbid_new_privileges()
}

/// Ends all other processes of this process namespace, whose first this process is.
pub(crate) fn end_all_others() {
    // SAFETY: no pointers.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// A child that has ended, and how, as `waitpid` tells it. None if none has.
pub(crate) fn ended_child() -> Option<(c_int, c_int)> {
    let mut status: c_int = 0;
    // SAFETY: the kernel writes a number.
    let child = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (child > 0).then_some((child, status))
}

/// Waits for a child's end.
pub(crate) fn wait_for(child: c_int) {
    let mut status: c_int = 0;
    // SAFETY: the kernel writes a number.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return;
        }
    }
}

/// Closes all descriptors but input, output and errors when a program begins.
pub(crate) fn leave_descriptors() -> io::Result<()> {
    const CLOEXEC: libc::c_uint = 4;
    // SAFETY: plain numbers; nothing is closed now.
    let outcome = unsafe { libc::syscall(libc::SYS_close_range, 3, c_int::MAX, CLOEXEC) };
    checked(outcome as c_int)?;
    Ok(())
}

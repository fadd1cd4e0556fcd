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
    let files = bytes / 4096;
    let options = CString::new(format!("mode=755,size={bytes},nr_inodes={files}"))
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

/// Makes `/proc` read-only. Some of its files set what concerns the whole machine, and a user that is
/// called root in a container may own these.
pub(crate) fn lock_processes() -> io::Result<()> {
    let processes = Path::new("/proc");
    show(processes, processes)?;
    let flags = libc::MS_BIND
        | libc::MS_REMOUNT
        | libc::MS_RDONLY
        | libc::MS_NOSUID
        | libc::MS_NODEV
        | libc::MS_NOEXEC;
    mount(c"none", processes, c"", flags, c"")
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

/// Leaves the terminal and the group of processes that a signal may reach together.
pub(crate) fn leave_the_terminal() {
    // SAFETY: no pointers. The leader of a group has no terminal to lose to a new session.
    unsafe { libc::setsid() };
}

/// Leaves the parent's keys, which may open files and servers.
pub(crate) fn leave_the_keys() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: the name may be null.
    let keys = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, ptr::null::<u8>()) };
    let error = io::Error::last_os_error();
    // A kernel without keys has none to leave.
    if keys < 0 && error.raw_os_error() != Some(libc::ENOSYS) {
        return Err(error);
    }
    Ok(())
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

/// Calls that a script does without. The first ones take memory that no process seems to have, or
/// that outlives a process; sockets reach services through the file system too. Then what
/// namespaces do not part, and large parts of the kernel.
const FORBIDDEN: [libc::c_long; 35] = [
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_vmsplice,
    libc::SYS_io_setup,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
];

/// The kernel's number for this architecture's calls.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xc000_00f3;
/// None that a kernel has: no call is allowed, so there is no sandbox.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
const ARCHITECTURE: u32 = 0;

/// Makes calls that a script does without fail, for this process and its children. It must have
/// given up all rights before.
pub(crate) fn forbid_calls() -> io::Result<()> {
    /// Where the call's number and its architecture stand.
    const NUMBER: u32 = 0;
    const ARCHITECTURE_AT: u32 = 4;
    /// From here on stand calls with short pointers, which one architecture has beside its own.
    const SHORT_POINTERS: u32 = 0x4000_0000;
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let refuse = step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0);
    let mut steps = vec![
        step(LOAD, ARCHITECTURE_AT, 0, 0),
        step(EQUAL, ARCHITECTURE, 1, 0),
        refuse,
        step(LOAD, NUMBER, 0, 0),
        step(AT_LEAST, SHORT_POINTERS, 0, 1),
        refuse,
    ];
    for call in FORBIDDEN {
        steps.push(step(EQUAL, call as u32, 0, 1));
        steps.push(refuse);
    }
    steps.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps outlive the call.
    checked(unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER as libc::c_ulong,
            &raw const program,
        )
    })?;
    Ok(())
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

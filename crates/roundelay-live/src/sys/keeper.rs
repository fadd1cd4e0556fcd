//! A process between us and a command, which gets as children whatever the command leaves behind.
//!
//! It is a copy of this process that never runs another program. It has nothing but the command and
//! a pipe, so its children are the command's processes and nobody else's.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

use super::{as_fd, checked};

/// Puts a keeper between this process and the command when it starts. The child that starts is the
/// keeper. It ends once all its children have ended. The pipe tells how the command itself ended,
/// as [`command_status`] reads it.
pub(crate) fn keep(command: &mut Command) -> io::Result<OwnedFd> {
    let mut ends: [RawFd; 2] = [0; 2];
    // SAFETY: the kernel writes two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) })?;
    let [reader, writer] = ends;
    // SAFETY: the descriptor is new, and nobody else's.
    let reader = unsafe { OwnedFd::from_raw_fd(reader) };
    // SAFETY: as above.
    let writer = unsafe { OwnedFd::from_raw_fd(writer) };
    // SAFETY: between fork and exec the closure makes system calls alone, as is allowed there.
    unsafe {
        command.pre_exec(move || become_keeper(as_fd(&writer).as_raw_fd()));
    }
    Ok(reader)
}

/// How the command ended, as `waitpid` tells it. None if it runs, or if its keeper was killed.
pub(crate) fn command_status(reader: &OwnedFd) -> Option<c_int> {
    let mut status: c_int = 0;
    let pointer: *mut c_int = &raw mut status;
    // SAFETY: the kernel writes at most as many bytes as the number has.
    let read = unsafe { libc::read(reader.as_raw_fd(), pointer.cast(), size_of::<c_int>()) };
    (read == size_of::<c_int>() as isize).then_some(status)
}

/// Divides the process: the child goes on to be the command, and the parent keeps it.
fn become_keeper(pipe: RawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    unsafe {
        let signal = libc::SIGKILL as libc::c_ulong;
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0))?;
        checked(libc::prctl(
            libc::PR_SET_CHILD_SUBREAPER,
            1 as libc::c_ulong,
            0,
            0,
            0,
        ))?;
    }
    // SAFETY: this process has a single thread, and both copies only make system calls.
    match checked(unsafe { libc::fork() })? {
        0 => Ok(()),
        command => keep_until_the_last(command, pipe),
    }
}

/// Collects children until none is left, and tells how the command ended.
fn keep_until_the_last(command: c_int, pipe: RawFd) -> ! {
    // SAFETY: the set and the status outlive the calls, and the process owns its descriptors.
    unsafe {
        // Signals of the terminal are the command's.
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
        // Whoever waits for the end of the command's output must not wait for the keeper's.
        libc::dup2(pipe, 0);
        close_from(1);
        loop {
            let mut status: c_int = 0;
            let ended = libc::waitpid(-1, &raw mut status, 0);
            if ended == command {
                let pointer: *const c_int = &raw const status;
                libc::write(0, pointer.cast(), size_of::<c_int>());
            }
            let is_interrupted = io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
            if ended < 0 && !is_interrupted {
                libc::_exit(0);
            }
        }
    }
}

/// Closes all descriptors from this one on.
///
/// # Safety
/// Nothing in this process uses them any more.
unsafe fn close_from(first: RawFd) {
    // SAFETY: as above; numbers that are no descriptors are refused.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, c_int::MAX, 0) == 0 {
            return;
        }
        // Linux before 5.9.
        let most = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 1 << 20) as RawFd;
        for descriptor in first..most {
            libc::close(descriptor);
        }
    }
}

/// A process, whatever becomes of its number.
pub(crate) struct ProcessDescriptor(OwnedFd);

impl ProcessDescriptor {
    /// The process that has this number now.
    pub(crate) fn of(process: u32) -> io::Result<Self> {
        // SAFETY: plain numbers.
        let number = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        let number = checked(number as c_int)?;
        // SAFETY: the descriptor is new, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// Ends the process, if it has not ended.
    pub(crate) fn kill(&self) {
        let none: *const libc::siginfo_t = ptr::null();
        // SAFETY: the call takes no information beside the signal.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.0.as_raw_fd(),
                libc::SIGKILL,
                none,
                0,
            );
        }
    }
}

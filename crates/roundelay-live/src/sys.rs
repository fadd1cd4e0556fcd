//! Calls to Linux that Rust's standard library does not offer: packet sockets, namespaces, waiting
//! to the nanosecond, offloads, priorities.
//!
//! All unsafe code in this crate is in this module. Each function checks its arguments. It hands
//! the kernel only memory that it owns or borrows for the whole call.

#![allow(
    unsafe_code,
    reason = "calls to the C library; each block says why it is sound"
)]

mod keeper;
mod mapping;
mod packet;
pub(crate) mod sandbox;
mod xdp;

use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

pub(crate) use keeper::{ProcessDescriptor, command_status, keep};
pub(crate) use packet::{ALL, PacketDescriptor};
pub(crate) use xdp::{Kicked, LONGEST as XDP_LONGEST, Refused as XdpRefused, XdpDescriptor};

/// The most frames in one call.
pub(crate) const BATCH: usize = 64;

/// A call's result: its value, or the error in errno.
fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Sets a socket's option.
fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: c_int,
    option: c_int,
    value: &T,
) -> io::Result<()> {
    let value: *const T = value;
    // SAFETY: the pointer is to a value of that size, which outlives the call.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// A type that any bytes make a value of, so that the kernel may write them.
///
/// # Safety
/// All bits are legal.
unsafe trait Plain: Copy {}

// SAFETY: numbers, and structures of numbers.
unsafe impl Plain for c_int {}
// SAFETY: as above.
unsafe impl Plain for [u32; 2] {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_mmap_offsets {}

/// Reads a socket's option.
fn get_option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: c_int,
    option: c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut len = size_of::<T>() as libc::socklen_t;
    let pointer: *mut T = value;
    // SAFETY: the kernel writes numbers, at most as many bytes as the value has.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            pointer.cast(),
            &raw mut len,
        )
    })?;
    Ok(())
}

/// An interface's number in this namespace.
pub(crate) fn interface_index(name: &str) -> io::Result<c_int> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the name ends in a zero byte.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(index as c_int)
}

/// The name of the interface with this number in this namespace.
pub(crate) fn interface_name(index: c_int) -> io::Result<String> {
    let mut name = [0_u8; libc::IF_NAMESIZE];
    // SAFETY: the kernel writes a name with its zero byte, at most as many bytes as given.
    let found = unsafe { libc::if_indextoname(index as u32, name.as_mut_ptr().cast()) };
    if found.is_null() {
        return Err(io::Error::last_os_error());
    }
    let end = name.iter().position(|byte| *byte == 0);
    let name = &name[..end.unwrap_or(name.len())];
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Whether an interface has this number in this namespace.
pub(crate) fn has_interface(index: c_int) -> bool {
    interface_name(index).is_ok()
}

/// Borrows the descriptor.
pub(crate) fn as_fd(owned: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(owned)
}

/// Whether a call may succeed later.
pub(crate) fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS)
    )
}

/// Sends frames without waiting, at most [`BATCH`]. Returns how many were taken.
pub(crate) fn send(socket: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
    let count = frames.len().min(BATCH);
    let mut vectors = [const { MaybeUninit::<libc::iovec>::zeroed() }; BATCH];
    let mut messages = [const { MaybeUninit::<libc::mmsghdr>::zeroed() }; BATCH];
    for (number, frame) in frames[..count].iter().enumerate() {
        // The kernel only reads.
        let iov_base: *mut c_void = frame.as_ptr().cast_mut().cast();
        vectors[number].write(libc::iovec {
            iov_base,
            iov_len: frame.len(),
        });
        // SAFETY: all zeros are a legal header without a message.
        let header = unsafe { messages[number].assume_init_mut() };
        header.msg_hdr.msg_iov = vectors[number].as_mut_ptr();
        header.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: `count` headers were filled in, and point to frames that are borrowed meanwhile.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages[0].as_mut_ptr(),
            count as u32,
            libc::MSG_DONTWAIT as _,
        )
    };
    checked(sent).map(|sent| sent as usize)
}

/// Waits until one of the sockets can be read, for `nanos` nanoseconds at most, or until a signal.
pub(crate) fn wait(sockets: &[BorrowedFd<'_>], nanos: u64) -> io::Result<()> {
    let mut all: Vec<libc::pollfd> = Vec::with_capacity(sockets.len());
    for socket in sockets {
        all.push(libc::pollfd {
            fd: socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        });
    }
    let time = libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as _,
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    // SAFETY: the array has that many entries, and the time outlives the call.
    let ready = unsafe {
        libc::ppoll(
            all.as_mut_ptr(),
            all.len() as libc::nfds_t,
            &raw const time,
            ptr::null(),
        )
    };
    match checked(ready) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Makes this thread's timers end within a nanosecond of their time, as far as the machine can.
pub(crate) fn use_exact_timers() {
    // SAFETY: no pointers. A failure leaves the default of 50 us.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// Runs this thread before all threads without real-time priority.
pub(crate) fn use_real_time() -> io::Result<()> {
    // SAFETY: plain numbers, of which musl has more than glibc.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 50;
    let kind = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters outlive the call.
    checked(unsafe { libc::sched_setscheduler(0, kind, &raw const parameters) })?;
    Ok(())
}

/// Whether this process is root here. In a user namespace, its own root counts.
pub(crate) fn is_root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() == 0 }
}

/// This process's user and group.
pub(crate) fn user_and_group() -> (u32, u32) {
    // SAFETY: no arguments.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Moves this process to a new user namespace. It must have a single thread.
pub(crate) fn new_user_namespace() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    Ok(())
}

/// In this process's new user namespace, calls a user and a group of the one above root.
pub(crate) fn call_root(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Moves this thread to a new network namespace.
pub(crate) fn new_network_namespace() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    Ok(())
}

/// Moves this thread to a network namespace.
pub(crate) fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
    Ok(())
}

/// `CAP_NET_ADMIN` in linux/capability.h.
const NET_ADMIN: u32 = 12;

/// Gives up all capabilities for good, except the right to set interfaces if `may_set_interfaces`.
/// Root keeps only its name. No program that this process starts gets more.
pub(crate) fn drop_privileges(may_set_interfaces: bool) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        process: c_int,
    }
    let header = Header {
        // The third version has two words for each set.
        version: 0x2008_0522,
        process: 0,
    };
    let kept = u32::from(may_set_interfaces) << NET_ADMIN;
    // Effective, permitted and inheritable. Then the same for capabilities from 32 on.
    let sets = [kept, kept, 0, 0, 0, 0];
    // SAFETY: the header and the sets are of this version's sizes, and outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
    checked(result as c_int)?;
    forbid_new_privileges()
}

/// Keeps programs that this process starts from getting more privileges.
fn forbid_new_privileges() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// Makes the command end when this process does, however it ends.
pub(crate) fn end_with_us(command: &mut Command) {
    // SAFETY: the closure only makes a system call between fork and exec, as is allowed there.
    unsafe {
        command.pre_exec(|| {
            checked(libc::prctl(
                libc::PR_SET_PDEATHSIG,
                libc::SIGKILL as libc::c_ulong,
                0,
                0,
                0,
            ))?;
            Ok(())
        });
    }
}

/// Takes room on the disk for a file of this length, and leaves its content and length as they are. On a
/// file system that cannot do this, nothing happens.
pub(crate) fn reserve(file: &File, len: usize) -> io::Result<()> {
    let mode = libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain numbers.
    let outcome =
        checked(unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, len as libc::off_t) });
    match outcome {
        Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) && len > 0 => Err(error),
        _ => Ok(()),
    }
}

/// Sets a connection's congestion control.
pub(crate) fn set_congestion_control(stream: &TcpStream, name: &str) -> io::Result<()> {
    // SAFETY: the name has as many bytes as given.
    checked(unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// A request to an interface's driver.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u64; 3],
}

/// A value for ethtool.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

fn request(name: &str) -> io::Result<Request> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        data: [0; 3],
    };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    Ok(request)
}

/// Sends a request to an interface, through a socket that serves nothing else.
fn ioctl(number: libc::c_ulong, request: &mut Request) -> io::Result<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let socket = checked(unsafe { libc::socket(libc::AF_INET, kind, 0) })?;
    // SAFETY: the descriptor is new, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    ioctl_of(as_fd(&socket), number, request)
}

fn ioctl_of(file: BorrowedFd<'_>, number: libc::c_ulong, request: &mut Request) -> io::Result<()> {
    let pointer: *mut Request = request;
    // SAFETY: an ifreq is 40 bytes at most, as this request is; the requests used here write no
    // more, and point to values that outlive the call.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), number as _, pointer) })?;
    Ok(())
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());

/// Puts a 32-bit number into the first bytes of a request's union.
const fn with_first(request: &mut Request, number: u32) {
    let [a, b, c, d] = number.to_ne_bytes();
    request.data[0] = u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]);
}

/// Makes an open `/dev/net/tun` the other end of a TAP interface, with nothing in front of frames.
pub(crate) fn attach_tap(file: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    let kind = (libc::IFF_TAP | libc::IFF_NO_PI) as u16;
    let [a, b] = kind.to_ne_bytes();
    request.data[0] = u64::from_ne_bytes([a, b, 0, 0, 0, 0, 0, 0]);
    ioctl_of(file, libc::TUNSETIFF as _, &mut request)
}

/// Whether the TAP interface still exists, in any namespace.
pub(crate) fn has_tap(file: BorrowedFd<'_>) -> bool {
    request("").is_ok_and(|mut request| ioctl_of(file, libc::TUNGETIFF as _, &mut request).is_ok())
}

/// Turns an interface on.
pub(crate) fn turn_on(name: &str) -> io::Result<()> {
    let mut flags = request(name)?;
    ioctl(libc::SIOCGIFFLAGS as _, &mut flags)?;
    let [a, b, ..] = flags.data[0].to_ne_bytes();
    let with = u16::from_ne_bytes([a, b]) | libc::IFF_UP as u16;
    if with == u16::from_ne_bytes([a, b]) {
        return Ok(());
    }
    let [a, b] = with.to_ne_bytes();
    flags.data[0] = u64::from_ne_bytes([a, b, 0, 0, 0, 0, 0, 0]);
    ioctl(libc::SIOCSIFFLAGS as _, &mut flags)
}

const SIOCSIFTXQLEN: libc::c_ulong = 0x8943;

/// Sets how long an interface's queue is, in frames.
pub(crate) fn set_queue_len(name: &str, frames: u32) -> io::Result<()> {
    let mut len = request(name)?;
    with_first(&mut len, frames);
    ioctl(SIOCSIFTXQLEN, &mut len)
}

/// How long an interface's packets may be, and whether the interface is up.
pub(crate) fn mtu_and_state(name: &str) -> io::Result<(u32, bool)> {
    let mut mtu = request(name)?;
    ioctl(libc::SIOCGIFMTU as _, &mut mtu)?;
    let mut flags = request(name)?;
    ioctl(libc::SIOCGIFFLAGS as _, &mut flags)?;
    let is_up = flags.data[0].to_ne_bytes()[0] & libc::IFF_UP as u8 != 0;
    // The union's first four bytes, in this machine's order.
    let [a, b, c, d, ..] = mtu.data[0].to_ne_bytes();
    Ok((u32::from_ne_bytes([a, b, c, d]), is_up))
}

/// Whether an interface is up and has somebody at the other end.
pub(crate) fn is_running(name: &str) -> io::Result<bool> {
    let mut flags = request(name)?;
    ioctl(libc::SIOCGIFFLAGS as _, &mut flags)?;
    let [a, b, ..] = flags.data[0].to_ne_bytes();
    Ok(u16::from_ne_bytes([a, b]) & libc::IFF_RUNNING as u16 != 0)
}

/// Nanoseconds since 1970, minus those of `CLOCK_MONOTONIC`, which programs in the kernel use for
/// stamps.
pub(crate) fn unix_minus_monotonic() -> i64 {
    let now = |clock: libc::clockid_t| {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the kernel writes a time into one that outlives the call.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let mut offset = 0;
    // A measurement that was interrupted is made again.
    for _ in 0..3 {
        let before = now(libc::CLOCK_MONOTONIC);
        offset = now(libc::CLOCK_REALTIME) - before;
        if now(libc::CLOCK_MONOTONIC) - before < 5_000 {
            break;
        }
    }
    offset
}

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// Gets a value from the driver, by one of ethtool's commands.
pub(crate) fn ethtool_get(name: &str, command: u32) -> io::Result<u32> {
    let mut value = Value { command, data: 0 };
    ethtool(name, &mut value)?;
    Ok(value.data)
}

/// Sets a value in the driver, by one of ethtool's commands.
pub(crate) fn ethtool_set(name: &str, command: u32, data: u32) -> io::Result<()> {
    ethtool(name, &mut Value { command, data })
}

/// How many receive queues an interface has, if its driver says.
pub(crate) fn receive_queues(name: &str) -> Option<u32> {
    /// `ETHTOOL_GCHANNELS`, followed by the numbers in `struct ethtool_channels`.
    const CHANNELS: u32 = 0x3c;
    let mut channels = [CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    if ethtool(name, &mut channels).is_err() {
        return None;
    }
    // Queues that only receive, and queues that also send.
    Some((channels[5] + channels[8]).max(1))
}

/// Calls the driver with a value. Its first number is the command, which says what kind of value it
/// is.
fn ethtool<T>(name: &str, value: &mut T) -> io::Result<()> {
    let mut request = request(name)?;
    let pointer: *mut T = value;
    request.data[0] = pointer as u64;
    ioctl(SIOCETHTOOL, &mut request)
}

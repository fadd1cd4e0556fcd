//! Calls to Linux that Rust's standard library does not offer: packet sockets, namespaces, waiting
//! to the nanosecond, offloads, priorities.
//!
//! All unsafe code of this crate is in this module. Each function checks its arguments, and hands only
//! memory to the kernel that it owns or borrows for the whole call.

#![allow(
    unsafe_code,
    reason = "calls to the C library; each block says why it is sound"
)]

mod xdp;

use std::ffi::{CString, c_int, c_void};
use std::io;
use std::mem::{self, MaybeUninit, size_of};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

pub(crate) use xdp::{Kicked, LONGEST as XDP_LONGEST, Refused as XdpRefused, XdpDescriptor};

/// Frames in one call at most.
pub(crate) const BATCH: usize = 64;

/// Room for the control messages of a frame: a stamp and the auxiliary data.
const CONTROL: usize = 128;
/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h.
const IGNORE_OUTGOING: c_int = 23;
const QDISC_BYPASS: c_int = 20;
const STATISTICS: c_int = 6;
const AUXDATA: c_int = 8;
/// Bits of `tp_status`: the checksum is left to the hardware; a VLAN tag was taken off.
const CHECKSUM_NOT_READY: u32 = 1 << 3;
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;

/// The result of a call: its value, or the error in errno.
fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Sets an option of a socket.
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

/// The number of an interface in this namespace.
pub(crate) fn interface_index(name: &str) -> io::Result<c_int> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the name ends in a zero byte.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(index as c_int)
}

/// The name of the interface of that number in this namespace.
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

/// Whether there is an interface of that number in this namespace.
pub(crate) fn has_interface(index: c_int) -> bool {
    interface_name(index).is_ok()
}

/// All protocols, for [`packet_socket`].
pub(crate) const ALL: u16 = libc::ETH_P_ALL as u16;

/// A socket that receives each frame of a protocol that comes in at an interface, and sends frames
/// out there.
pub(crate) fn packet_socket(index: c_int, protocol: u16) -> io::Result<OwnedFd> {
    // No protocol yet: nothing is received before the socket is bound to its interface.
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers.
    let number = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new, and nobody else's.
    let owned = unsafe { OwnedFd::from_raw_fd(number) };
    let socket = as_fd(&owned);
    set_option(socket, libc::SOL_PACKET, IGNORE_OUTGOING, &1_i32)?;
    set_option(socket, libc::SOL_PACKET, QDISC_BYPASS, &1_i32)?;
    set_option(socket, libc::SOL_PACKET, AUXDATA, &1_i32)?;
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
    let bytes: c_int = 8 << 20;
    // Beyond the system's limit only with privileges, else up to it.
    if set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes).is_err() {
        set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes)?;
    }
    if set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes).is_err() {
        set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes)?;
    }
    let all = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)?;
    // SAFETY: all zeros are a legal address without a family.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index;
    let place: *const libc::sockaddr_ll = &raw const address;
    // SAFETY: the address is of the size given, and outlives the call.
    checked(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            place.cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })?;
    Ok(owned)
}

/// The descriptor, borrowed.
pub(crate) fn as_fd(owned: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(owned)
}

/// A frame as received.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Came {
    /// The frame's length, even if that is more than its room.
    pub(crate) len: usize,
    /// Nanoseconds since 1970, from the kernel.
    pub(crate) unix_nanos: Option<i64>,
    /// The sender has left the checksum to hardware.
    pub(crate) is_unfinished: bool,
    /// A VLAN tag that the kernel took off: protocol and tag.
    pub(crate) tag: Option<(u16, u16)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct AuxData {
    status: u32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    vlan_tci: u16,
    vlan_tpid: u16,
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// Receives frames without waiting: the first into `room[places[0]]`, and so on, at most [`BATCH`].
/// Each place is the start of a room of `size` bytes. Returns what came; empty if there is nothing.
///
/// # Panics
/// A place is outside the room, or two overlap.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
    size: usize,
    places: &[usize],
    came: &mut Vec<Came>,
) -> io::Result<()> {
    came.clear();
    let count = places.len().min(BATCH);
    let base = room.as_mut_ptr();
    let mut vectors = [const { MaybeUninit::<libc::iovec>::zeroed() }; BATCH];
    let mut messages = [const { MaybeUninit::<libc::mmsghdr>::zeroed() }; BATCH];
    let mut controls = [Control([0; CONTROL]); BATCH];
    for (number, place) in places[..count].iter().enumerate() {
        assert!(
            place.is_multiple_of(size) && place + size <= room.len(),
            "rooms lie side by side"
        );
        // SAFETY: the room has `size` bytes from there on, as was just checked.
        let iov_base: *mut c_void = unsafe { base.add(*place) }.cast();
        vectors[number].write(libc::iovec {
            iov_base,
            iov_len: size,
        });
        // SAFETY: all zeros are a legal header without a message.
        let header = unsafe { messages[number].assume_init_mut() };
        header.msg_hdr.msg_iov = vectors[number].as_mut_ptr();
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_control = controls[number].0.as_mut_ptr().cast();
        header.msg_hdr.msg_controllen = CONTROL as _;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: `count` headers were filled in; each points to a vector, a room and a control buffer
    // that are borrowed until the end of this function. The kernel writes into distinct rooms, or,
    // if the caller names one twice, twice into bytes that nobody reads meanwhile.
    let received = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages[0].as_mut_ptr(),
            count as u32,
            flags as _,
            ptr::null_mut(),
        )
    };
    let received = match checked(received) {
        Ok(received) => received as usize,
        Err(error) if is_for_later(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for message in &messages[..received.min(count)] {
        // SAFETY: the kernel has filled in this header.
        let message = unsafe { message.assume_init_ref() };
        let mut frame = Came {
            len: message.msg_len as usize,
            ..Came::default()
        };
        read_control(&message.msg_hdr, &mut frame);
        came.push(frame);
    }
    Ok(())
}

/// Whether a call may succeed later.
pub(crate) fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS)
    )
}

/// Reads the stamp and the auxiliary data of a frame.
fn read_control(header: &libc::msghdr, frame: &mut Came) {
    // SAFETY: the kernel has filled in the header and its control buffer, which outlive the call.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give null or a whole control message in the buffer.
        let (kind, data) = unsafe {
            let kind = ((*message).cmsg_level, (*message).cmsg_type);
            (kind, libc::CMSG_DATA(message))
        };
        match kind {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: the data of this message is a timespec, perhaps unaligned.
                let time: libc::timespec = unsafe { ptr::read_unaligned(data.cast()) };
                frame.unix_nanos = Some(time.tv_sec * 1_000_000_000 + time.tv_nsec);
            }
            (libc::SOL_PACKET, AUXDATA) => {
                // SAFETY: the data of this message is a tpacket_auxdata, perhaps unaligned.
                let data: AuxData = unsafe { ptr::read_unaligned(data.cast()) };
                frame.is_unfinished = data.status & CHECKSUM_NOT_READY != 0;
                let protocol = if data.status & VLAN_TPID_VALID != 0 {
                    data.vlan_tpid
                } else {
                    0x8100
                };
                frame.tag = (data.status & VLAN_VALID != 0).then_some((protocol, data.vlan_tci));
            }
            _ => (),
        }
        // SAFETY: as for CMSG_FIRSTHDR.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
}

/// Sends frames without waiting, at most [`BATCH`]; the number of those taken.
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

/// Frames that the kernel dropped before this socket, since the last call.
pub(crate) fn dropped(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut counts = [0_u32; 2];
    let mut len = size_of::<[u32; 2]>() as libc::socklen_t;
    // SAFETY: the kernel writes two numbers, at most as many bytes as given.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut len,
        )
    })?;
    Ok(counts[1].into())
}

/// Waits until one of the sockets can be read, or for `nanos` nanoseconds, or for a signal.
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
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
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

/// Timers of this thread end within a nanosecond of their time, as far as the machine can.
pub(crate) fn use_exact_timers() {
    // SAFETY: no pointers. A failure leaves the default of 50 us.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// Runs this thread before all threads without real-time priority.
pub(crate) fn use_real_time() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 50 };
    let kind = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters outlive the call.
    checked(unsafe { libc::sched_setscheduler(0, kind, &raw const parameters) })?;
    Ok(())
}

/// Whether this process is root here: in a user namespace, its own root counts.
pub(crate) fn is_root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() == 0 }
}

/// User and group of this process.
pub(crate) fn user_and_group() -> (u32, u32) {
    // SAFETY: no arguments.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Moves this process to a new user namespace. The process must have one thread.
pub(crate) fn new_user_namespace() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    Ok(())
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

/// `CAP_NET_ADMIN` of linux/capability.h.
const NET_ADMIN: u32 = 12;

/// Gives up all capabilities for good, but for the right to set interfaces if `may_set_interfaces`:
/// root keeps its name alone. No program that this process starts gets more.
pub(crate) fn drop_privileges(may_set_interfaces: bool) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        process: c_int,
    }
    let header = Header {
        // The third version, of two words for each set.
        version: 0x2008_0522,
        process: 0,
    };
    let kept = u32::from(may_set_interfaces) << NET_ADMIN;
    // Effective, permitted and inheritable; then the same for capabilities from 32 on.
    let sets = [kept, kept, 0, 0, 0, 0];
    // SAFETY: the header and the sets are of this version's sizes, and outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
    checked(result as c_int)?;
    forbid_new_privileges()
}

/// No program that this process starts gets more privileges.
fn forbid_new_privileges() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// The command ends when this process does, however it ends.
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

/// Descendants whose parent ends become children of this process.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call has no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// A child that has ended and is not yet collected, without waiting for one.
pub(crate) fn ended_child() -> Option<u32> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all bytes zero are a valid siginfo_t.
    let mut told: libc::siginfo_t = unsafe { mem::zeroed() };
    // SAFETY: the call writes to `told` alone.
    checked(unsafe { libc::waitid(libc::P_ALL, 0, &raw mut told, options) }).ok()?;
    // SAFETY: the fields of a child's end are there, or all zero if no child has ended.
    let child = unsafe { told.si_pid() };
    u32::try_from(child).ok().filter(|child| *child > 0)
}

/// Collects a child that has ended.
pub(crate) fn collect(child: u32) {
    // SAFETY: the call may write no status.
    unsafe { libc::waitpid(child as libc::pid_t, ptr::null_mut(), libc::WNOHANG) };
}

/// Ends a child: its number is not used again before it is collected.
pub(crate) fn kill(child: u32) {
    // SAFETY: the call has no pointers.
    unsafe { libc::kill(child as libc::pid_t, libc::SIGKILL) };
}

/// The congestion control of a connection.
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

/// A request to the driver of an interface.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u64; 3],
}

/// A value of ethtool.
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

/// A request to an interface, by a socket that is of no other use.
fn ioctl(number: libc::c_ulong, request: &mut Request) -> io::Result<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let socket = checked(unsafe { libc::socket(libc::AF_INET, kind, 0) })?;
    // SAFETY: the descriptor is new, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    ioctl_of(as_fd(&socket), number, request)
}

fn ioctl_of(file: BorrowedFd<'_>, number: libc::c_ulong, request: &mut Request) -> io::Result<()> {
    let place: *mut Request = request;
    // SAFETY: an ifreq is 40 bytes at most, as this request is; the requests used here write no
    // more, and point to values that outlive the call.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), number as _, place) })?;
    Ok(())
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());

/// Puts a number of 32 bits into the first bytes of a request's union.
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

/// Sets the length of an interface's queue, in frames.
pub(crate) fn set_queue_len(name: &str, frames: u32) -> io::Result<()> {
    let mut len = request(name)?;
    with_first(&mut len, frames);
    ioctl(SIOCSIFTXQLEN, &mut len)
}

/// The longest packet of an interface, and whether the interface is up.
pub(crate) fn mtu_and_state(name: &str) -> io::Result<(u32, bool)> {
    let mut mtu = request(name)?;
    ioctl(libc::SIOCGIFMTU as _, &mut mtu)?;
    let mut flags = request(name)?;
    ioctl(libc::SIOCGIFFLAGS as _, &mut flags)?;
    let is_up = flags.data[0].to_ne_bytes()[0] & libc::IFF_UP as u8 != 0;
    // The first four bytes of the union, in the order of this machine.
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

/// Nanoseconds since 1970 less those of `CLOCK_MONOTONIC`, the clock of stamps of programs in the
/// kernel.
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
    // An interrupted measurement is made again.
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

/// Asks the driver for a value: one of ethtool's commands to get.
pub(crate) fn ethtool_get(name: &str, command: u32) -> io::Result<u32> {
    let mut value = Value { command, data: 0 };
    ethtool(name, &mut value)?;
    Ok(value.data)
}

/// Tells the driver a value: one of ethtool's commands to set.
pub(crate) fn ethtool_set(name: &str, command: u32, data: u32) -> io::Result<()> {
    ethtool(name, &mut Value { command, data })
}

/// The number of receive queues of an interface, if its driver says.
pub(crate) fn receive_queues(name: &str) -> Option<u32> {
    /// `ETHTOOL_GCHANNELS`, and the numbers of `struct ethtool_channels` behind it.
    const CHANNELS: u32 = 0x3c;
    let mut channels = [CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    if ethtool(name, &mut channels).is_err() {
        return None;
    }
    // Those that only receive, and those that send, too.
    Some((channels[5] + channels[8]).max(1))
}

/// Calls the driver with a value of the kind that its first number, the command, asks for.
fn ethtool<T>(name: &str, value: &mut T) -> io::Result<()> {
    let mut request = request(name)?;
    let place: *mut T = value;
    request.data[0] = place as u64;
    ioctl(SIOCETHTOOL, &mut request)
}

//! Packet sockets: frames that come in lie in a ring of rooms that the kernel shares.
//!
//! The format is `TPACKET_V2` in Linux's Documentation/networking/packet_mmap.rst. A room belongs
//! to the kernel or to this side, as its status says. We copy frames out of their rooms, so that
//! nobody outside this file has a reference to memory that the kernel writes.

use std::ffi::c_int;
use std::io;
use std::mem::{self, offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::mapping::Mapping;
use super::{as_fd, checked, get_option, set_option};

/// All protocols, for [`PacketDescriptor::open`].
pub(crate) const ALL: u16 = libc::ETH_P_ALL as u16;

/// The most bytes in a ring.
const MOST: usize = 64 << 20;
/// The shortest block. The kernel gives a ring's memory in blocks of whole pages.
const BLOCK: usize = 1 << 16;
/// The most bytes in a room. Frames that hardware would split are up to 64 KiB long by default.
const LONGEST_ROOM: usize = 1 << 17;
/// The most bytes that the kernel puts in front of a frame: its header, an address, alignment.
const IN_FRONT: usize = 128;
/// Options from linux/if_packet.h.
const IGNORE_OUTGOING: c_int = 23;
const QDISC_BYPASS: c_int = 20;
const STATISTICS: c_int = 6;
const VERSION: c_int = 10;
const RX_RING: c_int = 5;
const VERSION_2: c_int = 1;
/// Bits in a room's status: it is this side's, the checksum is left to the hardware, a VLAN tag was
/// taken off.
const OURS: u32 = 1;
const CHECKSUM_NOT_READY: u32 = 1 << 3;
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;
/// The status of a room that belongs to the kernel.
const THE_KERNELS: u32 = 0;

/// A frame that came in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Came {
    /// The frame's length.
    pub(crate) len: usize,
    /// How many of its bytes were copied.
    pub(crate) copied: usize,
    /// When it came, in nanoseconds since 1970. The kernel says so.
    pub(crate) unix_nanos: i64,
    /// The sender has left the checksum to hardware.
    pub(crate) is_unfinished: bool,
    /// A VLAN tag that the kernel took off: protocol and tag.
    pub(crate) tag: Option<(u16, u16)>,
}

/// A socket that receives a protocol's frames at an interface, as they come in, and sends frames
/// out there.
pub(crate) struct PacketDescriptor {
    rooms: Mapping,
    /// Bytes in a room, and the number of rooms.
    size: usize,
    count: usize,
    /// The room that the next frame will come in.
    next: usize,
    socket: OwnedFd,
}

impl PacketDescriptor {
    /// Opens the interface with this number, and receives its frames of this protocol from now on.
    /// Frames longer than `longest` may be cut. The ring has this many rooms, or fewer if they are
    /// very long.
    pub(crate) fn open(
        index: c_int,
        protocol: u16,
        longest: usize,
        rooms: usize,
    ) -> io::Result<Self> {
        // Without a protocol, nothing is received before the socket is bound to its interface.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers.
        let number = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor is new, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        set_options(as_fd(&socket), index)?;
        let size = (longest + IN_FRONT).next_power_of_two().min(LONGEST_ROOM);
        let block = size.max(BLOCK);
        let bytes = (rooms.next_power_of_two() * size).clamp(block, MOST);
        let count = bytes / size;
        let wanted = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (bytes / block) as u32,
            tp_frame_size: size as u32,
            tp_frame_nr: count as u32,
        };
        set_option(as_fd(&socket), libc::SOL_PACKET, VERSION, &VERSION_2)?;
        set_option(as_fd(&socket), libc::SOL_PACKET, RX_RING, &wanted)?;
        let rooms = Mapping::new(bytes, Some((as_fd(&socket), 0)))?;
        bind(as_fd(&socket), index, protocol)?;
        Ok(Self {
            rooms,
            size,
            count,
            next: 0,
            socket,
        })
    }

    /// The descriptor, to wait on and to send frames through.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        as_fd(&self.socket)
    }

    fn status(&self) -> &AtomicU32 {
        let at = self.next * self.size + offset_of!(libc::tpacket2_hdr, tp_status);
        let pointer = self.rooms.bytes(at, size_of::<u32>()).cast();
        // SAFETY: each room begins with a header, whose status both sides read and write as a whole,
        // for as long as the mapping lives.
        unsafe { AtomicU32::from_ptr(pointer) }
    }

    /// Takes the next frame, if one has come. Copies as many of its first bytes into `room` as fit.
    pub(crate) fn take(&mut self, room: &mut [u8]) -> Option<Came> {
        let status = self.status().load(Ordering::Acquire);
        if status & OURS == 0 {
            return None;
        }
        let start = self.next * self.size;
        let pointer = self.rooms.bytes(start, size_of::<libc::tpacket2_hdr>());
        // SAFETY: a header lies there, which the kernel does not write while the room is ours.
        let header: libc::tpacket2_hdr = unsafe { pointer.cast::<libc::tpacket2_hdr>().read() };
        let copied = room.len().min(header.tp_snaplen as usize);
        let from = self.rooms.bytes(start + usize::from(header.tp_mac), copied);
        // SAFETY: the kernel gave these bytes of the mapping to this side, and the caller's room is
        // other memory, of that many bytes.
        unsafe { ptr::copy_nonoverlapping(from, room.as_mut_ptr(), copied) };
        self.status().store(THE_KERNELS, Ordering::Release);
        self.next = (self.next + 1) % self.count;
        let protocol = if status & VLAN_TPID_VALID != 0 {
            header.tp_vlan_tpid
        } else {
            0x8100
        };
        Some(Came {
            len: header.tp_len as usize,
            copied,
            unix_nanos: i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec),
            is_unfinished: status & CHECKSUM_NOT_READY != 0,
            tag: (status & VLAN_VALID != 0).then_some((protocol, header.tp_vlan_tci)),
        })
    }

    /// The socket's error since the last call, if there is one: its interface is down.
    pub(crate) fn state(&self) -> io::Result<()> {
        let mut error: c_int = 0;
        get_option(self.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut error)?;
        match error {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// How many frames found no room since the last call.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let mut counts = [0_u32; 2];
        get_option(self.as_fd(), libc::SOL_PACKET, STATISTICS, &mut counts)?;
        Ok(counts[1].into())
    }
}

/// Sets what must hold before there is a ring.
fn set_options(socket: BorrowedFd<'_>, index: c_int) -> io::Result<()> {
    set_option(socket, libc::SOL_PACKET, IGNORE_OUTGOING, &1_i32)?;
    set_option(socket, libc::SOL_PACKET, QDISC_BYPASS, &1_i32)?;
    // Stamps tell when a frame comes in, not when it is put here.
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
    let bytes: c_int = 8 << 20;
    // With privileges the buffer may exceed the system's limit. Otherwise it goes up to the limit.
    if set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes).is_err() {
        set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes)?;
    }
    let all = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)
}

/// Binds a socket to a protocol's frames at an interface.
fn bind(socket: BorrowedFd<'_>, index: c_int, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros are a legal address without a family.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index;
    let pointer: *const libc::sockaddr_ll = &raw const address;
    // SAFETY: the address is of the size given, and outlives the call.
    checked(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            pointer.cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

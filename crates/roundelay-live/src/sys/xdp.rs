//! `AF_XDP` sockets: frames are in memory that the kernel shares, and rings say which frames.
//!
//! The format of rings and memory is in Linux's Documentation/networking/af_xdp.rst. We copy frames
//! between the shared memory and the caller's, so that nobody outside this file has a reference to
//! memory that the kernel writes.

use std::ffi::c_int;
use std::io;
use std::mem::{self, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::mapping::Mapping;
use super::{BATCH, as_fd, checked, get_option, set_option};

/// Rooms for frames that come in. The kernel holds all but those just received.
const IN: u32 = 4096;
/// Rooms for frames that go out.
const OUT: u32 = 1024;
/// Bytes that the kernel keeps free in front of a frame that comes in (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;
/// Bytes of the stamp in front of a frame.
const STAMP: usize = size_of::<u64>();
/// The longest room is a page.
const PAGE: usize = 4096;

/// The longest frame that such a socket can receive.
pub(crate) const LONGEST: usize = PAGE - HEADROOM;

/// A ring of entries of `T` that the kernel shares.
struct Ring {
    map: Mapping,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// How many entries this side has written or read in all.
    ours: u32,
}

impl Ring {
    fn new(
        socket: BorrowedFd<'_>,
        at: u64,
        offsets: libc::xdp_ring_offset,
        size: u32,
        entry: usize,
    ) -> io::Result<Self> {
        let len = offsets.desc as usize + size as usize * entry;
        Ok(Self {
            map: Mapping::new(len, Some((socket, at as libc::off_t)))?,
            offsets,
            size,
            ours: 0,
        })
    }

    /// A number in the ring that both sides see.
    fn shared(&self, offset: u64) -> &AtomicU32 {
        let pointer = self.map.bytes(offset as usize, size_of::<u32>()).cast();
        // SAFETY: the kernel says that an aligned number lies there, for as long as the mapping
        // lives, and both sides read and write it as a whole.
        unsafe { AtomicU32::from_ptr(pointer) }
    }

    /// How many entries the kernel has written but this side has not read.
    fn readable(&self) -> u32 {
        let written = self.shared(self.offsets.producer).load(Ordering::Acquire);
        written.wrapping_sub(self.ours).min(self.size)
    }

    fn slot<T>(&self, number: u32) -> *mut T {
        let entry = (number & (self.size - 1)) as usize;
        let offset = self.offsets.desc as usize + entry * size_of::<T>();
        self.map.bytes(offset, size_of::<T>()).cast()
    }

    /// Reads the next entry. There must be one.
    fn read<T: Copy>(&mut self) -> T {
        // SAFETY: the kernel has written this entry of the ring, and writes it again only after
        // `tell_read`. Any bytes are a legal value of the two types used.
        let entry = unsafe { self.slot::<T>(self.ours).read() };
        self.ours = self.ours.wrapping_add(1);
        entry
    }

    /// Tells the kernel that we have read entries.
    fn tell_read(&self) {
        self.shared(self.offsets.consumer)
            .store(self.ours, Ordering::Release);
    }

    /// Writes an entry. The caller knows that there is room.
    fn write<T: Copy>(&mut self, entry: T) {
        // SAFETY: the entry lies in the ring, and the kernel does not read it before `tell_written`.
        unsafe { self.slot::<T>(self.ours).write(entry) };
        self.ours = self.ours.wrapping_add(1);
    }

    /// Tells the kernel that we have written entries.
    fn tell_written(&self) {
        self.shared(self.offsets.producer)
            .store(self.ours, Ordering::Release);
    }

    /// How many entries the kernel says it has read in all.
    fn read_by_kernel(&self) -> u32 {
        self.shared(self.offsets.consumer).load(Ordering::Acquire)
    }
}

/// What became of the frames to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kicked {
    /// All have left this socket.
    pub(crate) is_done: bool,
    /// Frames that the interface threw away.
    pub(crate) dropped: u64,
}

/// Frames lost at a socket since we opened it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// They found no room.
    pub(crate) full: u64,
    /// They are longer than a room.
    pub(crate) too_long: u64,
    /// They were to be sent, but are not what the kernel expects.
    pub(crate) invalid: u64,
}

/// An `AF_XDP` socket on an interface's first receive queue, in copy mode.
pub(crate) struct XdpDescriptor {
    // Fields are dropped in this order, so the program leaves the interface first.
    _attached: OwnedFd,
    incoming: Ring,
    outgoing: Ring,
    /// Rooms that we give to the kernel, and rooms that it gives back.
    to_fill: Ring,
    sent: Ring,
    socket: OwnedFd,
    memory: Mapping,
    room: usize,
    free: Vec<u64>,
    /// The kernel has not taken all frames in the ring.
    is_pending: bool,
}

/// A step that the kernel refused.
pub(crate) type Refused = (&'static str, io::Error);

impl XdpDescriptor {
    /// Opens an interface's first receive queue. From now on this socket receives all frames that
    /// come in there, and nobody else does.
    pub(crate) fn open(index: c_int, longest: usize) -> Result<Self, Refused> {
        fn step<T>(what: &'static str, outcome: io::Result<T>) -> Result<T, Refused> {
            outcome.map_err(|error| (what, error))
        }
        // This comes first because it needs the most privileges.
        let map = step("map", bpf_map())?;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers.
        let number = checked(unsafe { libc::socket(libc::AF_XDP, kind, 0) });
        // SAFETY: the descriptor is new, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(step("socket", number)?) };
        let room = if longest + HEADROOM <= PAGE / 2 {
            PAGE / 2
        } else {
            PAGE
        };
        let len = (IN + OUT) as usize * room;
        let memory = step("memory", Mapping::new(len, None))?;
        step("memory", register(as_fd(&socket), &memory, room))?;
        let rings = step("rings", rings(as_fd(&socket)))?;
        let [incoming, outgoing, mut to_fill, sent] = rings;
        for number in 0..IN {
            to_fill.write(u64::from(number) * room as u64);
        }
        to_fill.tell_written();
        // Frames count towards the buffer until they are sent.
        let bytes: c_int = 8 << 20;
        let level = libc::SOL_SOCKET;
        if set_option(as_fd(&socket), level, libc::SO_SNDBUFFORCE, &bytes).is_err() {
            let outcome = set_option(as_fd(&socket), level, libc::SO_SNDBUF, &bytes);
            step("buffer", outcome)?;
        }
        step("bind", bind(as_fd(&socket), index))?;
        step("map", bpf_put(as_fd(&map), as_fd(&socket)))?;
        let program = step("program", bpf_program(as_fd(&map)))?;
        let attached = step("program", bpf_attach(as_fd(&program), index))?;
        Ok(Self {
            _attached: attached,
            incoming,
            outgoing,
            to_fill,
            sent,
            socket,
            memory,
            room,
            free: (IN..IN + OUT)
                .map(|number| u64::from(number) * room as u64)
                .collect(),
            is_pending: false,
        })
    }

    /// The descriptor, to wait on.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        as_fd(&self.socket)
    }

    /// How many frames have come and can be taken.
    pub(crate) fn readable(&self) -> u32 {
        self.incoming.readable()
    }

    /// Takes a frame that has come. Returns its length, and when it came in nanoseconds of
    /// `CLOCK_MONOTONIC`. Copies as many of its first bytes into `room` as fit.
    pub(crate) fn take(&mut self, room: &mut [u8]) -> Option<(usize, Option<u64>)> {
        if self.incoming.readable() == 0 {
            return None;
        }
        let frame: libc::xdp_desc = self.incoming.read();
        self.incoming.tell_read();
        let at = frame.addr as usize;
        let len = frame.len as usize;
        let copied = len.min(room.len());
        let from = self.memory.bytes(at, copied);
        // SAFETY: the kernel gave these bytes of the mapping to this side, and the caller's room is
        // other memory, of that many bytes.
        unsafe { ptr::copy_nonoverlapping(from, room.as_mut_ptr(), copied) };
        let mut stamp = 0_u64;
        if at % self.room >= STAMP {
            let pointer: *mut u64 = self.memory.bytes(at - STAMP, STAMP).cast();
            // SAFETY: these bytes are in front of the frame, in the same room. They are cleared, so
            // that a frame that gets no stamp does not have that of another.
            unsafe {
                stamp = pointer.read_unaligned();
                pointer.write_unaligned(0);
            }
        }
        let own = (at - at % self.room) as u64;
        self.to_fill.write(own);
        self.to_fill.tell_written();
        Some((len, (stamp > 0).then_some(stamp)))
    }

    /// Whether the interface is up. If not, returns the error.
    pub(crate) fn state(&self) -> io::Result<()> {
        // SAFETY: no bytes are read, so the kernel writes none.
        let outcome = unsafe {
            libc::recv(
                self.socket.as_raw_fd(),
                ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
            )
        };
        match checked(outcome as c_int) {
            Err(error) if !super::is_for_later(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The longest frame that can be sent, in bytes.
    pub(crate) const fn room(&self) -> usize {
        self.room
    }

    /// Copies frames to be sent into the ring, at most [`BATCH`]. Returns how many found room,
    /// which is 0 while earlier ones are pending. None may be longer than a [`room`](Self::room).
    pub(crate) fn put(&mut self, frames: &[&[u8]]) -> usize {
        self.reclaim();
        if self.is_pending {
            return 0;
        }
        let mut count = 0;
        for frame in frames.iter().take(BATCH) {
            if frame.len() > self.room {
                break;
            }
            let Some(addr) = self.free.pop() else { break };
            let to = self.memory.bytes(addr as usize, frame.len());
            // SAFETY: this room is free, so the kernel does not read it, and the frame is other
            // memory, of that many bytes.
            unsafe { ptr::copy_nonoverlapping(frame.as_ptr(), to, frame.len()) };
            self.outgoing.write(libc::xdp_desc {
                addr,
                len: frame.len() as u32,
                options: 0,
            });
            count += 1;
        }
        self.outgoing.tell_written();
        self.is_pending = count > 0;
        count
    }

    /// Takes back the rooms whose frames have been sent, because the kernel no longer reads them.
    fn reclaim(&mut self) {
        for _ in 0..self.sent.readable() {
            let addr: u64 = self.sent.read();
            self.free.push(addr - addr % self.room as u64);
        }
        self.sent.tell_read();
    }

    /// Makes the kernel send what is in the ring. Does not wait.
    pub(crate) fn kick(&mut self) -> io::Result<Kicked> {
        let mut dropped = 0;
        // Each call takes some frames, and stops at any frame that the interface drops.
        for _ in 0..4 * BATCH {
            if !self.is_pending {
                break;
            }
            let before = self.outgoing.read_by_kernel();
            // SAFETY: no bytes and no address are given: what is sent is in the ring.
            let outcome = unsafe {
                libc::sendto(
                    self.socket.as_raw_fd(),
                    ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    ptr::null(),
                    0,
                )
            };
            match checked(outcome as c_int) {
                // The kernel has reached the end of the ring.
                Ok(_) => self.is_pending = false,
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => dropped += 1,
                Err(error) if super::is_for_later(&error) => {
                    if self.outgoing.read_by_kernel() == before {
                        break;
                    }
                }
                // What the interface dropped must be counted first. The next call meets the error
                // again.
                Err(_) if dropped > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Kicked {
            is_done: !self.is_pending,
            dropped,
        })
    }

    /// How many frames in the ring the kernel has not taken.
    pub(crate) fn pending(&self) -> u32 {
        if self.is_pending {
            let read = self.outgoing.read_by_kernel();
            self.outgoing.ours.wrapping_sub(read)
        } else {
            0
        }
    }

    /// Frames lost here.
    pub(crate) fn lost(&self) -> io::Result<Lost> {
        // SAFETY: all zeros are legal figures.
        let mut found: libc::xdp_statistics = unsafe { mem::zeroed() };
        get_option(
            self.as_fd(),
            libc::SOL_XDP,
            libc::XDP_STATISTICS,
            &mut found,
        )?;
        // `rx_dropped` counts frames that found no room and frames longer than a room. Each of the
        // first kind also found the ring of rooms empty, so we can tell them apart.
        let without_room = found.rx_fill_ring_empty_descs.min(found.rx_dropped);
        Ok(Lost {
            full: found.rx_ring_full + without_room,
            too_long: found.rx_dropped - without_room,
            invalid: found.tx_invalid_descs,
        })
    }
}

/// Gives the kernel the memory for frames, as rooms of equal size.
fn register(socket: BorrowedFd<'_>, memory: &Mapping, room: usize) -> io::Result<()> {
    let (addr, len) = memory.extent();
    let memory = libc::xdp_umem_reg {
        addr,
        len,
        chunk_size: room as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)
}

/// The rings for frames that come in, for frames that go out, for rooms to fill, and for rooms
/// sent.
fn rings(socket: BorrowedFd<'_>) -> io::Result<[Ring; 4]> {
    let sizes = [
        (libc::XDP_RX_RING, IN),
        (libc::XDP_TX_RING, OUT),
        (libc::XDP_UMEM_FILL_RING, IN),
        (libc::XDP_UMEM_COMPLETION_RING, OUT),
    ];
    for (option, size) in sizes {
        set_option(socket, libc::SOL_XDP, option, &size)?;
    }
    // SAFETY: all zeros are legal offsets.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
    get_option(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    let frame = size_of::<libc::xdp_desc>();
    let room = size_of::<u64>();
    let rx = libc::XDP_PGOFF_RX_RING;
    let tx = libc::XDP_PGOFF_TX_RING;
    Ok([
        Ring::new(socket, rx as u64, offsets.rx, IN, frame)?,
        Ring::new(socket, tx as u64, offsets.tx, OUT, frame)?,
        Ring::new(socket, libc::XDP_UMEM_PGOFF_FILL_RING, offsets.fr, IN, room)?,
        Ring::new(
            socket,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING,
            offsets.cr,
            OUT,
            room,
        )?,
    ])
}

fn bind(socket: BorrowedFd<'_>, index: c_int) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY,
        sxdp_ifindex: index as u32,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let pointer: *const libc::sockaddr_xdp = &raw const address;
    // SAFETY: the address is of the size given, and outlives the call.
    checked(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            pointer.cast(),
            size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Commands and kinds from linux/bpf.h.
mod bpf {
    pub(super) const MAP_CREATE: i64 = 0;
    pub(super) const MAP_UPDATE: i64 = 2;
    pub(super) const PROG_LOAD: i64 = 5;
    pub(super) const LINK_CREATE: i64 = 28;
    pub(super) const MAP_OF_SOCKETS: u32 = 17;
    pub(super) const PROGRAM_OF_XDP: u32 = 6;
    pub(super) const ATTACH_TO_XDP: u32 = 37;
    /// The program runs on any driver's frames, in a buffer of the kernel.
    pub(super) const SKB_MODE: u32 = 1 << 1;
}

/// Words of `union bpf_attr` that we use.
const WORDS: usize = 16;

/// Calls bpf(2). Returns a number or a new descriptor.
fn bpf_call(command: i64, words: &[u64; WORDS]) -> io::Result<c_int> {
    // SAFETY: the words have the size given. Those that are addresses are those of values that
    // outlive the call, as the callers below see to.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            words.as_ptr(),
            size_of::<[u64; WORDS]>(),
        )
    };
    checked(outcome as c_int)
}

/// Calls bpf(2) to get a new descriptor.
fn bpf_new(command: i64, words: &[u64; WORDS]) -> io::Result<OwnedFd> {
    let number = bpf_call(command, words)?;
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Two 32-bit numbers, one after the other.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// A map from receive queues to sockets, with a single queue.
fn bpf_map() -> io::Result<OwnedFd> {
    let mut words = [0; WORDS];
    // Kind, bytes of a key, bytes of a value, number of entries.
    words[0] = pair(bpf::MAP_OF_SOCKETS, 4);
    words[1] = pair(4, 1);
    bpf_new(bpf::MAP_CREATE, &words)
}

/// Puts a socket into the map for queue 0.
fn bpf_put(map: BorrowedFd<'_>, socket: BorrowedFd<'_>) -> io::Result<()> {
    let key = 0_u32;
    let value = socket.as_raw_fd() as u32;
    let key_at = &raw const key;
    let value_at = &raw const value;
    let mut words = [0; WORDS];
    words[0] = pair(map.as_raw_fd() as u32, 0);
    words[1] = key_at as u64;
    words[2] = value_at as u64;
    bpf_call(bpf::MAP_UPDATE, &words)?;
    Ok(())
}

/// A BPF instruction.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    let o = offset.to_ne_bytes();
    let v = value.to_ne_bytes();
    // The two registers are bit fields, so their order depends on the machine.
    let registers = if cfg!(target_endian = "little") {
        from << 4 | to
    } else {
        to << 4 | from
    };
    u64::from_ne_bytes([code, registers, o[0], o[1], v[0], v[1], v[2], v[3]])
}

/// The program that runs on each frame that comes in. It writes the time in front of the frame if
/// there is room, and hands the frame to its queue's socket. Without a socket, it leaves the frame
/// to the system.
fn program_of(map: c_int) -> [u64; 17] {
    // Fields in `struct xdp_md`.
    let data = 0;
    let data_meta = 8;
    let queue = 16;
    // Numbers of helpers, and the verdict that leaves a frame to the system.
    let adjust_meta = 54;
    let time = 5;
    let redirect = 51;
    let pass = 2;
    [
        // r0 = bpf_xdp_adjust_meta(context, -8)
        instruction(0xbf, 6, 1, 0, 0),
        instruction(0xb7, 2, 0, 0, -(STAMP as i32)),
        instruction(0x85, 0, 0, 0, adjust_meta),
        // if r0 != 0, no stamp
        instruction(0x55, 0, 0, 7, 0),
        // r7 = data_meta; if r7 + 8 > data, no stamp: the verifier wants to see that
        instruction(0x61, 7, 6, data_meta, 0),
        instruction(0x61, 8, 6, data, 0),
        instruction(0xbf, 1, 7, 0, 0),
        instruction(0x07, 1, 0, 0, STAMP as i32),
        instruction(0x2d, 1, 8, 2, 0),
        // *r7 = bpf_ktime_get_ns()
        instruction(0x85, 0, 0, 0, time),
        instruction(0x7b, 7, 0, 0, 0),
        // return bpf_redirect_map(map, rx_queue_index, XDP_PASS)
        instruction(0x61, 2, 6, queue, 0),
        instruction(0x18, 1, 1, 0, map),
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, pass),
        instruction(0x85, 0, 0, 0, redirect),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

fn bpf_program(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let program = program_of(map.as_raw_fd());
    let license = c"MIT OR Apache-2.0";
    let mut words = [0; WORDS];
    words[0] = pair(bpf::PROGRAM_OF_XDP, program.len() as u32);
    words[1] = program.as_ptr() as u64;
    words[2] = license.as_ptr() as u64;
    // No log. Then name and interface, which stay empty, and where to attach.
    words[8] = pair(0, bpf::ATTACH_TO_XDP);
    bpf_new(bpf::PROG_LOAD, &words)
}

/// Runs the program on each frame that comes in, until the descriptor is closed in whatever way.
fn bpf_attach(program: BorrowedFd<'_>, index: c_int) -> io::Result<OwnedFd> {
    let mut words = [0; WORDS];
    words[0] = pair(program.as_raw_fd() as u32, index as u32);
    words[1] = pair(bpf::ATTACH_TO_XDP, bpf::SKB_MODE);
    bpf_new(bpf::LINK_CREATE, &words)
}

//! Memory that the kernel shares or gives.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

/// Memory mapped from the kernel.
pub(super) struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to the mapping, and is the same for every thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes from a socket, or fresh memory.
    pub(super) fn new(
        len: usize,
        socket: Option<(BorrowedFd<'_>, libc::off_t)>,
    ) -> io::Result<Self> {
        let (number, offset, kind) = match socket {
            Some((socket, offset)) => (socket.as_raw_fd(), offset, libc::MAP_SHARED),
            None => (-1, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = kind | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, number, offset) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { at, len })
    }

    /// Where it begins, and its length.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.at.as_ptr() as u64, self.len as u64)
    }

    /// The address of `len` bytes in the mapping.
    ///
    /// # Panics
    /// The mapping does not have them.
    pub(super) fn bytes(&self, offset: usize, len: usize) -> *mut u8 {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "{len} bytes at {offset} lie in a mapping of {}",
            self.len
        );
        // SAFETY: the mapping has that many bytes, as was just checked.
        unsafe { self.at.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody uses it any more.
        unsafe { libc::munmap(self.at.as_ptr().cast::<c_void>(), self.len) };
    }
}

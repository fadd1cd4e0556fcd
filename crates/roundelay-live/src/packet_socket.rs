//! A device over a packet socket (packet(7)), which works with any interface in Linux.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;

use crate::books::LostOutside;
use crate::device::{Device, Received};
use crate::frame_lengths::{HEADER, TAG};
use crate::slots::Slots;
use crate::sys::{self, BATCH, PacketDescriptor};

/// Bytes of the addresses in front of a VLAN tag.
const ADDRESSES: usize = 12;
/// At most this many frames wait for the program: 16 MB at an MTU of 1500.
const ROOMS: usize = 8192;

/// An interface in Linux.
pub struct PacketSocket {
    name: String,
    index: c_int,
    descriptor: PacketDescriptor,
    lost_outside: LostOutside,
    /// Frames whose checksum the sender left to hardware. The receiver will refuse them.
    unfinished: u64,
}

impl std::fmt::Debug for PacketSocket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("PacketSocket");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

impl PacketSocket {
    /// Opens an interface in this namespace, and receives all frames that come in there from now
    /// on.
    ///
    /// # Errors
    /// The interface does not exist, or you have no right to open it.
    pub fn open(name: &str) -> io::Result<Self> {
        let index = sys::interface_index(name)?;
        let (mtu, _) = sys::mtu_and_state(name)?;
        let longest = mtu as usize + HEADER + 2 * TAG;
        let descriptor = PacketDescriptor::open(index, sys::ALL, longest, ROOMS)?;
        Ok(Self {
            name: name.to_owned(),
            index,
            descriptor,
            lost_outside: LostOutside::default(),
            unfinished: 0,
        })
    }
}

/// Puts back a VLAN tag that the kernel took off. Returns false if there is no room.
fn put_back(room: &mut [u8], len: usize, (protocol, tag): (u16, u16)) -> bool {
    if len < ADDRESSES || len + TAG > room.len() {
        return false;
    }
    room.copy_within(ADDRESSES..len, ADDRESSES + TAG);
    room[ADDRESSES..ADDRESSES + 2].copy_from_slice(&protocol.to_be_bytes());
    room[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&tag.to_be_bytes());
    true
}

impl Device for PacketSocket {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, slots: &mut Slots, received: &mut Vec<Received>) -> io::Result<()> {
        let mut count = 0;
        while count < BATCH
            && let Some(slot) = slots.take()
        {
            let Some(came) = self.descriptor.take(slots.room(slot)) else {
                slots.release(slot);
                break;
            };
            count += 1;
            self.unfinished += u64::from(came.is_unfinished);
            let mut len = came.len;
            let mut fits = came.copied == len;
            if let Some(tag) = came.tag.filter(|_| fits) {
                fits = put_back(slots.room(slot), len, tag);
                len += TAG;
            }
            if fits {
                slots.set_len(slot, len);
                received.push(Received {
                    slot,
                    unix_nanos: Some(came.unix_nanos),
                });
            } else {
                self.lost_outside.too_long += 1;
                slots.release(slot);
            }
        }
        if count == 0 {
            return self.descriptor.state();
        }
        Ok(())
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        match sys::send(self.descriptor.as_fd(), frames) {
            Err(error) if sys::is_for_later(&error) => Ok(0),
            outcome => outcome,
        }
    }

    fn is_gone(&self) -> bool {
        !sys::has_interface(self.index)
    }

    fn unfinished(&self) -> u64 {
        self.unfinished
    }

    fn lost_outside(&mut self) -> LostOutside {
        self.lost_outside.ring += self.descriptor.dropped().unwrap_or(0);
        self.lost_outside
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.descriptor.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_back_where_it_was() {
        let mut room = [0; 24];
        room[..16].copy_from_slice(b"aaaaaabbbbbb\x08\x00IP");
        assert!(put_back(&mut room, 16, (0x8100, 5)));
        assert_eq!(&room[..20], b"aaaaaabbbbbb\x81\x00\x00\x05\x08\x00IP");
        assert!(!put_back(&mut room, 21, (0x8100, 5)), "no room");
        assert!(!put_back(&mut room, 11, (0x8100, 5)), "no addresses");
    }
}

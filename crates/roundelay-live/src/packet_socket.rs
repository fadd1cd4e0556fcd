//! A device over a packet socket (packet(7)): any interface of Linux.

use std::ffi::c_int;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::books::Outside;
use crate::device::{Device, Received};
use crate::slots::Slots;
use crate::sys::{self, BATCH, Came};

/// Bytes of the addresses in front of a VLAN tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// An interface of Linux.
#[derive(Debug)]
pub struct PacketSocket {
    name: String,
    index: c_int,
    socket: OwnedFd,
    outside: Outside,
    /// Frames whose checksum the sender left to hardware: the receiver will refuse them.
    unfinished: u64,
    places: Vec<usize>,
    came: Vec<Came>,
}

impl PacketSocket {
    /// Opens an interface of this namespace: all frames that come in there are received from now on.
    ///
    /// # Errors
    /// There is no such interface, or no right to open it.
    pub fn open(name: &str) -> io::Result<Self> {
        let index = sys::interface_index(name)?;
        let socket = sys::packet_socket(index, sys::ALL)?;
        Ok(Self {
            name: name.to_owned(),
            index,
            socket,
            outside: Outside::default(),
            unfinished: 0,
            places: Vec::with_capacity(BATCH),
            came: Vec::with_capacity(BATCH),
        })
    }
}

/// Puts a VLAN tag back that the kernel took off. False if there is no room.
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
        let mut taken = Vec::with_capacity(BATCH);
        while taken.len() < BATCH
            && let Some(slot) = slots.take()
        {
            taken.push(slot);
        }
        if taken.is_empty() {
            return Ok(());
        }
        let size = slots.size();
        self.places.clear();
        for slot in &taken {
            self.places.push(slot.0 as usize * size);
        }
        let outcome = sys::receive(
            sys::as_fd(&self.socket),
            slots.all_mut(),
            size,
            &self.places,
            &mut self.came,
        );
        if outcome.is_err() {
            self.came.clear();
        }
        for (number, slot) in taken.into_iter().enumerate() {
            let Some(came) = self.came.get(number).copied() else {
                slots.release(slot);
                continue;
            };
            self.unfinished += u64::from(came.is_unfinished);
            let mut len = came.len;
            let mut fits = len <= size;
            if let Some(tag) = came.tag.filter(|_| fits) {
                fits = put_back(slots.room(slot), len, tag);
                len += TAG;
            }
            if fits {
                slots.set_len(slot, len);
                received.push(Received {
                    slot,
                    unix_nanos: came.unix_nanos,
                });
            } else {
                self.outside.too_long += 1;
                slots.release(slot);
            }
        }
        outcome
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        match sys::send(sys::as_fd(&self.socket), frames) {
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

    fn outside(&mut self) -> Outside {
        self.outside.ring += sys::dropped(sys::as_fd(&self.socket)).unwrap_or(0);
        self.outside
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(sys::as_fd(&self.socket))
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

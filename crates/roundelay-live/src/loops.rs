//! Loops: a bottleneck between two interfaces of one network would send each frame around for ever.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::sys::{self, BATCH};

/// The first EtherType for local experiments (IEEE 802, section 9.2.3).
const EXPERIMENT: u16 = 0x88b5;
/// A frame takes far less from one port of a switch to another.
const PATIENCE: Duration = Duration::from_millis(200);
/// The shortest frame of Ethernet, without its checksum.
const LEN: usize = 60;
const TEXT: &[u8] = b"roundelay looks for a loop";
/// Bytes in front of the text: two addresses, the type, a number.
const TEXT_AT: usize = 14 + 8;

/// Whether frames that leave at one of two interfaces come in again at one of them: a frame for all
/// stations is sent out at both.
///
/// # Errors
/// An interface cannot be opened.
pub(crate) fn is_there(interfaces: [&str; 2]) -> io::Result<bool> {
    let open = |name: &str| sys::packet_socket(sys::interface_index(name)?, EXPERIMENT);
    let sockets = [open(interfaces[0])?, open(interfaces[1])?];
    // Another session may look for loops in the same network.
    let frame = probe(RandomState::new().hash_one(std::process::id()));
    for socket in &sockets {
        // An interface that cannot send closes no loop.
        _ = sys::send(sys::as_fd(socket), &[&frame]);
    }
    let end = Instant::now() + PATIENCE;
    loop {
        for socket in &sockets {
            if has_come(socket, &frame) {
                return Ok(true);
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let both = [sys::as_fd(&sockets[0]), sys::as_fd(&sockets[1])];
        sys::wait(&both, left.as_nanos() as u64)?;
    }
}

fn probe(number: u64) -> [u8; LEN] {
    let mut frame = [0; LEN];
    frame[..6].fill(0xff);
    // A local address of no vendor.
    frame[6..12].copy_from_slice(&[2, 0x52, 0x4c, 0x4f, 0x4f, 0x50]);
    frame[12..14].copy_from_slice(&EXPERIMENT.to_be_bytes());
    frame[14..TEXT_AT].copy_from_slice(&number.to_be_bytes());
    frame[TEXT_AT..TEXT_AT + TEXT.len()].copy_from_slice(TEXT);
    frame
}

/// Whether the frame is among those that have come.
fn has_come(socket: &OwnedFd, frame: &[u8; LEN]) -> bool {
    const SIZE: usize = 64;
    let mut room = [0; SIZE * BATCH];
    let places: Vec<usize> = (0..BATCH).map(|number| number * SIZE).collect();
    let mut came = Vec::new();
    // An interface that is down receives nothing.
    if sys::receive(sys::as_fd(socket), &mut room, SIZE, &places, &mut came).is_err() {
        return false;
    }
    for (at, came) in places.into_iter().zip(came) {
        if came.len >= LEN && room[at..at + LEN] == frame[..] {
            return true;
        }
    }
    false
}

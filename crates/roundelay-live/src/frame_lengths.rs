//! The longest frame that an interface sends, for devices that do not refuse longer ones
//! themselves.

use std::time::{Duration, Instant};

use crate::sys;

/// Bytes that Ethernet puts in front of a packet, and bytes of a VLAN tag.
pub(crate) const HEADER: usize = 14;
pub(crate) const TAG: usize = 4;
/// After this time we look at the MTU again.
const LOOK: Duration = Duration::from_millis(10);

/// An interface's MTU, as it was a moment ago.
#[derive(Debug)]
pub(crate) struct FrameLengths {
    interface: String,
    mtu: usize,
    last_look: Instant,
}

impl FrameLengths {
    pub(crate) fn of(interface: &str) -> std::io::Result<Self> {
        let (mtu, _) = sys::mtu_and_state(interface)?;
        Ok(Self {
            interface: interface.to_owned(),
            mtu: mtu as usize,
            last_look: Instant::now(),
        })
    }

    pub(crate) const fn mtu(&self) -> usize {
        self.mtu
    }

    /// How many of the first frames are short enough for the interface, and for the device's `room`
    /// in bytes, which may be less: it was made when the MTU was smaller.
    ///
    /// # Errors
    /// The first one is too long. A packet socket would say the same.
    pub(crate) fn fitting(&mut self, frames: &[&[u8]], room: usize) -> std::io::Result<usize> {
        if self.last_look.elapsed() >= LOOK {
            self.last_look = Instant::now();
            if let Ok((mtu, _)) = sys::mtu_and_state(&self.interface) {
                self.mtu = mtu as usize;
            }
        }
        let mut count = 0;
        for frame in frames {
            if frame.len() > longest(self.mtu, frame).min(room) {
                break;
            }
            count += 1;
        }
        if count == 0 && !frames.is_empty() {
            return Err(std::io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        Ok(count)
    }
}

/// The longest frame. A VLAN tag does not count as part of the packet.
fn longest(mtu: usize, frame: &[u8]) -> usize {
    let is_tagged = matches!(frame.get(12..14), Some([0x81, 0] | [0x88, 0xa8]));
    mtu + HEADER + if is_tagged { TAG } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_does_not_count() {
        let plain = vec![0; 1514];
        let mut tagged = vec![0; 1518];
        tagged[12] = 0x81;
        let mut lengths = FrameLengths {
            interface: "none".to_owned(),
            mtu: 1500,
            last_look: Instant::now(),
        };
        let mut fitting = |mtu, frames: &[&[u8]], room| {
            lengths.mtu = mtu;
            lengths.fitting(frames, room).ok()
        };
        assert_eq!(fitting(1500, &[&plain, &tagged], 2048), Some(2));
        assert_eq!(fitting(1499, &[&plain], 2048), None);
        assert_eq!(fitting(1499, &[&tagged], 2048), None);
        assert_eq!(fitting(1499, &[&plain[..1513], &tagged], 2048), Some(1));
        assert_eq!(fitting(1499, &[], 2048), Some(0));
        // A larger MTU makes no larger room.
        assert_eq!(fitting(9000, &[&plain, &tagged], 1514), Some(1));
        assert_eq!(fitting(9000, &[&tagged, &plain], 1514), None);
    }
}

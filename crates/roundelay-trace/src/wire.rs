//! Wire: the link-layer addresses in an Ethernet frame, and the station whose wire was captured.
//!
//! At a host or a router, nearly all frames come from one link-layer address or go to it. That
//! address tells the wire's two directions apart, whatever networks and tunnels the packets belong
//! to, and multicast counts with its sender. But where frames from many stations mix, as at a
//! switch's mirror port, no address does.

use std::collections::BTreeMap;
use std::fmt;

use crate::capture::{Frame, LinkType};

/// An Ethernet link-layer address (IEEE 802, section 8: 48 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Station(u64);

/// Where a frame comes from and where it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hop {
    pub(crate) from: Station,
    /// None for all stations, or a group of them.
    pub(crate) to: Option<Station>,
}

/// How many bytes an address has.
const BYTES: usize = 6;
/// A twenty-fifth of the bytes. At a station's wire this much may pass between others, such as
/// frames that a switch floods.
const OTHERS: u64 = 25;

impl Station {
    /// Reads six numbers with two digits each, separated by colons: `52:54:00:12:34:56`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut address = 0;
        let mut bytes = 0;
        for part in text.split(':') {
            let is_byte = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            if !is_byte || bytes == BYTES {
                return None;
            }
            address = address << 8 | u64::from_str_radix(part, 16).ok()?;
            bytes += 1;
        }
        (bytes == BYTES).then_some(Self(address))
    }

    #[inline]
    const fn read([a, b, c, d, e, f]: [u8; BYTES]) -> Self {
        Self(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    const fn is_group(self) -> bool {
        self.0 >> 40 & 1 != 0
    }

    /// A number that is this station's alone.
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Station {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, _, a, b, c, d, e, f] = self.0.to_be_bytes();
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl Hop {
    /// A frame's hop. None for links other than Ethernet, and if a tool left no addresses.
    #[inline]
    pub(crate) fn of(frame: &Frame<'_>) -> Option<Self> {
        if frame.link != LinkType::ETHERNET {
            return None;
        }
        let (to, rest) = frame.bytes.split_first_chunk()?;
        let to = Station::read(*to);
        let from = Station::read(*rest.first_chunk()?);
        if from == to || from.is_group() {
            return None;
        }
        Some(Self {
            from,
            to: (!to.is_group()).then_some(to),
        })
    }

    /// Whether the frame reaches this station: it is sent to the station, or by another one to a
    /// group.
    pub(crate) fn reaches(self, station: Station) -> bool {
        match self.to {
            Some(to) => to == station,
            None => self.from != station,
        }
    }
}

/// The station that nearly all frames come from or go to. If two share all frames, the one to which
/// more bytes go.
pub(crate) fn station(hops: &BTreeMap<Option<Hop>, u64>) -> Option<Station> {
    let mut loads = BTreeMap::<Station, Load>::new();
    let mut all = 0;
    for (hop, bytes) in hops {
        all += bytes;
        let Some(Hop { from, to }) = hop else {
            continue;
        };
        loads.entry(*from).or_default().out += bytes;
        if let Some(to) = to {
            loads.entry(*to).or_default().into += bytes;
        }
    }
    let mut most: Option<(Station, Load)> = None;
    for (station, load) in loads {
        let is_more = most.is_none_or(|(_, known)| load.rank() > known.rank());
        if is_more {
            most = Some((station, load));
        }
    }
    let (station, load) = most?;
    let others = all - load.out - load.into;
    (others * OTHERS <= all).then_some(station)
}

/// How many bytes a station sends and gets.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    out: u64,
    into: u64,
}

impl Load {
    const fn rank(self) -> (u64, u64) {
        (self.out + self.into, self.into)
    }
}

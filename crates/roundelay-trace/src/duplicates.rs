//! Duplicates: copies of one IP packet, captured at several interfaces, on the way in and out, or
//! twice by a mirror port.
//!
//! `tcpdump -i any` on a router records each forwarded packet twice. Copies agree in all fields
//! that routers leave alone: addresses, protocol, length, identification and fragment of the IP
//! header, and the captured payload. TTL, checksum, traffic class, flow label and IP options may
//! differ.
//!
//! Rules, all in favour of keeping a packet:
//!
//! 1. A copy comes from another interface, or from the other direction. A second equal packet of
//!    the same interface and direction is a packet of its own, such as a retransmission, except for
//!    a capture from a mirror port (rule 5, on request).
//! 2. With an IPv4 identification other than 0, a copy follows within a second.
//! 3. Without one (IPv6, identification 0), a copy follows within 100 ms, and the captured payload
//!    tells packets apart: TCP up to its checksum, UDP with a checksum, or the whole payload.
//! 4. At most [`REMEMBERED`] packets are remembered.
//! 5. A switch that mirrors a port in both directions, or two ports, sends each packet twice, some
//!    microseconds apart. The second of two equal packets at one point within a millisecond looks
//!    like such a copy, the third like a packet of its own. Equal segments without data and without
//!    an identification are acknowledgements sent again: they look like copies only to a user who
//!    knows of the mirror port.
//!
//! Copies changed by tunnels or offloading are not found; those changed by address translation are
//! counted in `translated.rs`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::capture::{Frame, Heading};
use crate::fingerprint::{AsDigest, Fingerprint};

/// The most packets that we remember at a time, about 17 MB.
pub(crate) const REMEMBERED: usize = 1 << 17;
/// The longest times from a packet to a copy, in nanoseconds.
pub(crate) const WITH_IDENTIFICATION: u64 = 1_000_000_000;
pub(crate) const WITHOUT_IDENTIFICATION: u64 = 100_000_000;
const AT_ONE_POINT: u64 = 1_000_000;

/// The last second's packets, and where they were captured.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    /// The key is [`Fingerprint::forwarded`].
    seen: HashMap<u64, Sightings, AsDigest>,
    /// When the first copy of each packet was captured, oldest first.
    ages: VecDeque<(i64, u64)>,
}

/// How a packet relates to those captured before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// It is no copy.
    First,
    /// It is a copy, captured elsewhere.
    Elsewhere,
    /// It looks like a mirror port's copy, captured at the same point.
    Again,
    /// It equals a packet that looked like a copy, so both are packets of their own.
    Third,
}

/// Interface and direction.
pub(crate) type CapturePoint = (Option<u32>, Option<Heading>);

#[derive(Debug)]
struct Sightings {
    /// When the first copy was captured.
    first: i64,
    /// Where the first copy was captured, and whether it was captured there twice.
    point: (CapturePoint, bool),
    /// The same for copies captured elsewhere.
    others: Vec<(CapturePoint, bool)>,
}

impl Duplicates {
    /// Whether this packet is a copy of an earlier one. `is_mirrored` says that a mirror port
    /// copied every packet.
    pub(crate) fn sight(
        &mut self,
        frame: &Frame<'_>,
        fingerprint: &Fingerprint,
        is_mirrored: bool,
    ) -> Sighting {
        // Rule 3: if nothing tells packets apart, this is no copy.
        if !fingerprint.has_identification && !fingerprint.is_telling {
            return Sighting::First;
        }
        // Rules 2, 3 and 5 set the longest time between copies.
        let point = (frame.tap.interface, frame.tap.heading);
        let longest = match (point, fingerprint.has_identification) {
            ((None, None), _) => AT_ONE_POINT,
            (_, true) => WITH_IDENTIFICATION,
            (_, false) => WITHOUT_IDENTIFICATION,
        };
        self.forget(
            frame.time_nanos,
            if point == (None, None) {
                AT_ONE_POINT
            } else {
                WITH_IDENTIFICATION
            },
        );
        let mut sightings = Sightings {
            first: frame.time_nanos,
            point: (point, false),
            others: Vec::new(),
        };
        let mut sighting = Sighting::First;
        match self.seen.entry(fingerprint.forwarded) {
            Entry::Occupied(mut seen) => {
                let seen = seen.get_mut();
                let apart = seen.first.abs_diff(frame.time_nanos);
                match seen.at(point) {
                    // Rule 1: captured before, but never here.
                    None if apart <= longest => {
                        seen.others.push((point, false));
                        return Sighting::Elsewhere;
                    }
                    // Rule 5, on request: captured here once.
                    Some(is_again @ false) if apart <= AT_ONE_POINT && is_mirrored => {
                        *is_again = true;
                        return Sighting::Again;
                    }
                    // Rule 5: it looks like a copy, unless it may be an acknowledgement sent again.
                    Some(false)
                        if apart <= AT_ONE_POINT
                            && (fingerprint.has_identification || fingerprint.has_data) =>
                    {
                        sightings.point = (point, true);
                        sighting = Sighting::Again;
                    }
                    // Rule 5: it is the third of equal packets.
                    Some(true) if apart <= AT_ONE_POINT && !is_mirrored => {
                        sighting = Sighting::Third
                    }
                    _ => {}
                }
                // This is a packet of its own, so we count its copies from here.
                *seen = sightings;
            }
            Entry::Vacant(unseen) => {
                unseen.insert(sightings);
            }
        }
        self.ages
            .push_back((frame.time_nanos, fingerprint.forwarded));
        sighting
    }

    /// Forgets packets that can have no further copy, and the oldest if there are too many.
    fn forget(&mut self, now: i64, longest: u64) {
        while let Some((first, fingerprint)) = self.ages.front().copied()
            && (self.ages.len() >= REMEMBERED || now.saturating_sub(first) > longest as i64)
        {
            self.ages.pop_front();
            if let Entry::Occupied(seen) = self.seen.entry(fingerprint)
                && seen.get().first == first
            {
                seen.remove();
            }
        }
    }
}

impl Sightings {
    /// Whether the packet was captured twice at this point. None if it never was.
    fn at(&mut self, point: CapturePoint) -> Option<&mut bool> {
        if self.point.0 == point {
            return Some(&mut self.point.1);
        }
        let other = self.others.iter_mut().find(|(known, _)| *known == point);
        other.map(|(_, is_again)| is_again)
    }
}

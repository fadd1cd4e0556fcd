//! Address translation: a packet captured before and after a router that changes an address (NAT,
//! RFC 3022).
//!
//! `tcpdump -i any` on such a router records each forwarded packet twice, under other addresses.
//! The copies agree in protocol, length, identification and fragment of the IP header, and in the
//! captured payload without ports, identifiers of ICMP echoes and checksums. Rules, all in favour
//! of separate packets:
//!
//! 1. The copy was captured at another interface or in the other direction, and not in before out.
//! 2. One end, address and port, is the same. The other end's address differs.
//! 3. With an IPv4 identification other than 0, a copy follows within a second. Otherwise it
//!    follows within 100 ms, and 12 bytes of payload or more tell packets apart.
//! 4. Packets that equal a later one at the same point tell nothing, because they may be a flood of
//!    equal packets.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::capture::Frame;
use crate::duplicates::{REMEMBERED, WITH_IDENTIFICATION, WITHOUT_IDENTIFICATION};
use crate::fingerprint::{AsDigest, Fingerprint};
use crate::mixture::Mixture;

/// Packets without an identification need this much payload to be told apart, bytes.
const TELLING: usize = 12;

/// The last second's packets, by what translation leaves alone.
#[derive(Debug, Default)]
pub(crate) struct Translations {
    seen: HashMap<u64, Seen, AsDigest>,
    /// Oldest first.
    ages: VecDeque<(i64, u64)>,
    has_points: bool,
}

#[derive(Debug)]
struct Seen {
    first: i64,
    /// The first packet's half.
    half: u32,
    copy: Option<u32>,
    /// There are many equal packets.
    is_flood: bool,
}

impl Translations {
    /// Looks for the same packet under another address. `half` is the packet's half.
    pub(crate) fn sight(
        &mut self,
        frame: &Frame<'_>,
        fingerprint: Option<&Fingerprint>,
        half: u32,
        mixture: &mut Mixture,
    ) {
        if !self.has_points {
            self.has_points = mixture.half(half).point != mixture.half(0).point;
            if !self.has_points {
                return;
            }
        }
        let Some(fingerprint) = fingerprint else {
            return;
        };
        if !fingerprint.has_identification && fingerprint.kept_len < TELLING {
            return;
        }
        let longest = if fingerprint.has_identification {
            WITH_IDENTIFICATION
        } else {
            WITHOUT_IDENTIFICATION
        };
        self.forget(frame.time_nanos);
        let now = Seen {
            first: frame.time_nanos,
            half,
            copy: None,
            is_flood: false,
        };
        match self.seen.entry(fingerprint.translated) {
            Entry::Occupied(mut seen) if seen.get().first.abs_diff(frame.time_nanos) > longest => {
                seen.insert(now);
            }
            Entry::Occupied(mut seen) => return seen.get_mut().again(half, mixture),
            Entry::Vacant(unseen) => {
                unseen.insert(now);
            }
        }
        self.ages
            .push_back((frame.time_nanos, fingerprint.translated));
    }

    fn forget(&mut self, now: i64) {
        while let Some((first, fingerprint)) = self.ages.front().copied()
            && (self.ages.len() >= REMEMBERED
                || now.saturating_sub(first) > WITH_IDENTIFICATION as i64)
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

impl Seen {
    /// Takes an equal packet.
    fn again(&mut self, half: u32, mixture: &mut Mixture) {
        if self.is_flood {
            return;
        }
        let is_copy = self.copy.is_none() && mixture.half(self.half).may_become(mixture.half(half));
        match self.copy {
            _ if is_copy => {
                self.copy = Some(half);
                mixture.translate((self.half, half));
            }
            copy => {
                copy.into_iter()
                    .for_each(|copy| mixture.translate_not((self.half, copy)));
                self.is_flood = true;
            }
        }
    }
}

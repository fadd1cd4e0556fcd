//! Mirrors in tunnels: through ERSPAN, TZSP, and VXLAN, Geneve or GRE, a mirror port sends both
//! directions of a wire to whoever captures. Seen from outside, all packets then go one way.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use foldhash::quality::RandomState;

use crate::capture::{Frame, LinkType};
use crate::headers::{Headers, bridged, parse};
use crate::mixture::{Ends, HARMLESS};

/// The most directions of connections that we count inside.
const MOST: usize = 65_536;

/// Both directions of connections, inside a tunnel whose packets all go one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside {
    /// How many connections have both directions.
    pub connections: usize,
    /// How many bytes come before the frames inside. None if packets differ in this.
    pub cut: Option<usize>,
}

/// How many bytes each direction of the connections inside has.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    halves: HashMap<(u8, Ends), u64, RandomState>,
    /// The tunnel's sources and destinations.
    outer: HashSet<[IpAddr; 2], RandomState>,
    bytes: u64,
    cut: Option<usize>,
    has_cuts: bool,
}

impl Mirror {
    /// Counts a packet that may belong to a tunnel.
    #[inline]
    pub(crate) fn count(&mut self, frame: &Frame<'_>, headers: &Headers) {
        let Some(inner) = bridged(headers, frame) else {
            return;
        };
        let outer = [headers.source, headers.destination];
        let Ok(headers) = parse(LinkType::ETHERNET, inner) else {
            return;
        };
        if self.outer.len() < MOST {
            self.outer.insert(outer);
        }
        // We count what comes before the frame inside, because a check sequence or padding may
        // follow it.
        let cut = inner.as_ptr().addr() - frame.bytes.as_ptr().addr();
        self.has_cuts |= self.cut.is_some_and(|known| known != cut);
        self.cut = Some(cut);
        let source = (headers.source, headers.source_port);
        let half = (
            headers.protocol,
            [source, (headers.destination, headers.destination_port)],
        );
        let bytes = u64::from(frame.len_on_link());
        self.bytes += bytes;
        if self.halves.len() < MOST || self.halves.contains_key(&half) {
            *self.halves.entry(half).or_default() += bytes;
        }
    }

    /// Whether two hosts send each other packets through the tunnel. Then it is an overlay and not
    /// a mirror.
    fn goes_both_ways(&self) -> bool {
        for [source, destination] in &self.outer {
            if source != destination && self.outer.contains(&[*destination, *source]) {
                return true;
            }
        }
        false
    }

    /// What is inside, if both directions have more than a few packets and all packets of the
    /// tunnel go one way.
    pub(crate) fn inside(&self) -> Option<Inside> {
        if self.goes_both_ways() {
            return None;
        }
        let mut connections = 0;
        let mut lighter = 0;
        for ((protocol, [source, destination]), bytes) in &self.halves {
            if source >= destination {
                continue;
            }
            if let Some(back) = self.halves.get(&(*protocol, [*destination, *source])) {
                connections += 1;
                lighter += bytes.min(back);
            }
        }
        let has_both = lighter > 0 && lighter * HARMLESS >= self.bytes;
        has_both.then_some(Inside {
            connections,
            cut: self.cut.filter(|_| !self.has_cuts),
        })
    }
}

//! Mirrors in tunnels: ERSPAN, TZSP, and VXLAN, Geneve or GRE from a mirror port bring both directions
//! of a wire to whoever captures, and outside all packets go one way.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use foldhash::quality::RandomState;

use crate::capture::{Frame, LinkType};
use crate::headers::{Headers, bridged, parse};
use crate::mixture::{Ends, HARMLESS};

/// Most directions of connections counted inside.
const MOST: usize = 65_536;

/// Both directions of connections inside of a tunnel whose packets all go one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside {
    /// Connections with both directions.
    pub connections: usize,
    /// Bytes in front of the frames inside; none if that differs between packets.
    pub cut: Option<usize>,
}

/// Bytes of each direction of the connections inside.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    halves: HashMap<(u8, Ends), u64, RandomState>,
    /// Source and destination of the tunnel's packets.
    outer: HashSet<[IpAddr; 2], RandomState>,
    bytes: u64,
    cut: Option<usize>,
    has_cuts: bool,
}

impl Mirror {
    /// Counts a packet that may be one of a tunnel.
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
        // Behind the frame inside, check sequence or padding may follow.
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

    /// Whether two hosts send each other packets of the tunnel: an overlay, and no mirror.
    fn goes_both_ways(&self) -> bool {
        for [source, destination] in &self.outer {
            if source != destination && self.outer.contains(&[*destination, *source]) {
                return true;
            }
        }
        false
    }

    /// What is inside, if one direction has more than a few packets and all packets of the tunnel
    /// go one way.
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

//! Sets of eight ways: where a flow's queue and a host's record are found by hash.
//!
//! A hash names one of 1024 places, and the eight places around it are its set. A flow that has a
//! place in its set keeps it while it has packets. A new one takes the first free place from its
//! own on. Only if all eight are taken do two flows share a queue, so no two of eight flows ever
//! do. Hosts work alike. Their places are free when none of their flows is in a list.
//!
//! Source: "Piece of CAKE", section III.C, and tc-cake(8).

use alloc::vec::Vec;

/// Places in a table.
pub(super) const PLACES: usize = 1024;

/// Places in a set.
const WAYS: usize = 8;

/// The places of the hash's set, its own first.
pub(super) fn ways(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let own = hash as usize % PLACES;
    let set = own - own % WAYS;
    (0..WAYS).map(move |way| set + (own + way) % WAYS)
}

/// Records of the hosts on one side of the link: how many flows and bulk flows each has.
#[derive(Debug, Clone)]
pub(super) struct HostLoads {
    records: Vec<HostLoad>,
}

#[derive(Debug, Clone, Copy, Default)]
struct HostLoad {
    tag: u32,
    /// Flows that are not idle.
    flows: u16,
    bulk: u16,
}

impl HostLoads {
    pub(super) const BYTES: usize = PLACES * size_of::<HostLoad>();

    pub(super) fn new() -> Self {
        Self {
            records: alloc::vec![HostLoad::default(); PLACES],
        }
    }

    /// A new flow from this host, or to it. Returns the host's place: its own, else one without
    /// flows, else its first choice, which it then shares.
    pub(super) fn come(&mut self, hash: u32) -> u16 {
        let mut places = ways(hash);
        let own = places
            .clone()
            .find(|place| self.records[*place].tag == hash);
        let free = || places.find(|place| self.records[*place].flows == 0);
        let place = own.or_else(free).unwrap_or(hash as usize % PLACES);
        self.records[place].tag = hash;
        self.records[place].flows += 1;
        place as u16
    }

    pub(super) fn bulk(&self, place: u16) -> u16 {
        self.records[usize::from(place)].bulk
    }

    /// A flow at this host's place is idle.
    pub(super) fn leave(&mut self, place: u16) {
        self.records[usize::from(place)].flows -= 1;
    }

    /// Flows and bulk flows of all hosts.
    pub(super) fn totals(&self) -> (u32, u32) {
        let mut totals = (0, 0);
        for host in &self.records {
            totals.0 += u32::from(host.flows);
            totals.1 += u32::from(host.bulk);
        }
        totals
    }

    pub(super) fn add(&mut self, place: u16) {
        self.records[usize::from(place)].bulk += 1;
    }

    pub(super) fn subtract(&mut self, place: u16) {
        self.records[usize::from(place)].bulk -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_eight_places_the_own_one_first() {
        let places: Vec<_> = ways(1024 * 5 + 13).collect();
        assert_eq!(places, [13, 14, 15, 8, 9, 10, 11, 12]);
        assert_eq!(ways(8).next(), Some(8));
    }

    #[test]
    fn hosts_share_a_record_only_when_eight_others_are_busy() {
        let mut loads = HostLoads::new();
        let mut places = Vec::new();
        // All with the same own place.
        for number in 0..8 {
            places.push(loads.come(16 + 1024 * number));
        }
        places.sort_unstable();
        assert_eq!(places, [16, 17, 18, 19, 20, 21, 22, 23]);
        assert_eq!(loads.come(16 + 1024 * 8), 16, "shared");
        loads.leave(19);
        assert_eq!(loads.come(16 + 1024 * 9), 19, "free again");
        assert_eq!(loads.come(16 + 1024), 17, "known by its tag");
        assert_eq!(loads.totals(), (10, 0));
    }
}

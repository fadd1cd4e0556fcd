//! Sets of eight ways: where a flow's queue and a host's record are found by hash.
//!
//! A hash names one of 1024 buckets, and the eight buckets around it are its set. A flow that has a
//! bucket in its set keeps it while it has packets. A new one takes the first free bucket from its
//! own on. Only if all eight are taken do two flows share a queue, so no two of eight flows ever
//! do. Hosts work alike. Their buckets are free when none of their flows is in a list.
//!
//! Source: "Piece of CAKE", section III.C, and tc-cake(8).

use alloc::vec::Vec;

/// Buckets in a table.
pub(super) const BUCKETS: usize = 1024;

/// Buckets in a set.
const WAYS: usize = 8;

/// The buckets of the hash's set, its own first.
pub(super) fn ways(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let own = hash as usize % BUCKETS;
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
    pub(super) const BYTES: usize = BUCKETS * size_of::<HostLoad>();

    pub(super) fn new() -> Self {
        Self {
            records: alloc::vec![HostLoad::default(); BUCKETS],
        }
    }

    /// A new flow from this host, or to it. Returns the host's bucket: its own, else one without
    /// flows, else its first choice, which it then shares.
    pub(super) fn come(&mut self, hash: u32) -> u16 {
        let mut buckets = ways(hash);
        let own = buckets
            .clone()
            .find(|bucket| self.records[*bucket].tag == hash);
        let free = || buckets.find(|bucket| self.records[*bucket].flows == 0);
        let bucket = own.or_else(free).unwrap_or(hash as usize % BUCKETS);
        self.records[bucket].tag = hash;
        self.records[bucket].flows += 1;
        bucket as u16
    }

    pub(super) fn bulk(&self, bucket: u16) -> u16 {
        self.records[usize::from(bucket)].bulk
    }

    /// A flow at this host's bucket is idle.
    pub(super) fn leave(&mut self, bucket: u16) {
        self.records[usize::from(bucket)].flows -= 1;
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

    pub(super) fn add(&mut self, bucket: u16) {
        self.records[usize::from(bucket)].bulk += 1;
    }

    pub(super) fn subtract(&mut self, bucket: u16) {
        self.records[usize::from(bucket)].bulk -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_eight_buckets_the_own_one_first() {
        let buckets: Vec<_> = ways(1024 * 5 + 13).collect();
        assert_eq!(buckets, [13, 14, 15, 8, 9, 10, 11, 12]);
        assert_eq!(ways(8).next(), Some(8));
    }

    #[test]
    fn hosts_share_a_record_only_when_eight_others_are_busy() {
        let mut loads = HostLoads::new();
        let mut buckets = Vec::new();
        // All with the same own bucket.
        for number in 0..8 {
            buckets.push(loads.come(16 + 1024 * number));
        }
        buckets.sort_unstable();
        assert_eq!(buckets, [16, 17, 18, 19, 20, 21, 22, 23]);
        assert_eq!(loads.come(16 + 1024 * 8), 16, "shared");
        loads.leave(19);
        assert_eq!(loads.come(16 + 1024 * 9), 19, "free again");
        assert_eq!(loads.come(16 + 1024), 17, "known by its tag");
        assert_eq!(loads.totals(), (10, 0));
    }
}

//! A tree as a discipline of the registry.

use super::Tree;
use super::config::{Config, TreeError};
use crate::by_copy::ByCopy;
use crate::config::ConfigError;
use crate::drops::DropReason;
use crate::flow_config::FlowConfig;
use crate::handle::Handle;
use crate::limit::Limit;
use crate::schedulers::{Configured, Discipline, Linux};
use crate::seed::Seed;

impl Config {
    /// An empty tree. `seed` keys all random numbers and hashes.
    ///
    /// # Errors
    /// No leaf is the default.
    pub fn build_tree<T: Send>(&self, seed: Seed) -> Result<Tree<T>, TreeError> {
        Tree::new(self, seed)
    }
}

impl Discipline for Config {
    const NAME: &'static str = "tree";
    const ABOUT: &'static str =
        "a hierarchy of disciplines: classes share the link, their leaves hold the packets";
    const SOURCE: &'static str =
        "Bennett, Zhang, Hierarchical Packet Fair Queueing Algorithms, IEEE/ACM ToN 5(5), 1997";
    const LINUX: Linux = Linux::Absent;
    const WEIGHTED: bool = true;
    /// A leaf may drop for any reason.
    const DROPS: &'static [DropReason] = &DropReason::ALL;
    const BOUNDS: &'static [DropReason] = &DropReason::ALL;
    const COMPLEXITY: &'static str = "O(depth)";
    type Scheduler<T: Send> = Tree<T>;
    /// By copy, because leaves over links would each need a table as long as the largest handle.
    type ByHandle = ByCopy<Tree<Handle>>;

    /// Leaves with limits of their own keep them, and those without share 1000 packets. The sum is in
    /// packets, or in bytes if a leaf's limit is.
    fn default_limit(&self) -> Limit {
        let mut limit = Limit {
            packets: 0,
            bytes: 0,
        };
        let mut have_all = true;
        for leaf in self.leaves() {
            let Some(own) = leaf.spec.limit else {
                have_all = false;
                continue;
            };
            let longest = u64::from(leaf.max_packet_len);
            let bytes = own.bytes.min(own.packets.saturating_mul(longest));
            limit.packets = limit.packets.saturating_add(own.packets);
            limit.bytes = limit.bytes.saturating_add(bytes);
        }
        if !have_all || limit.packets == 0 {
            let longest = u64::from(FlowConfig::DEFAULT.max_packet_len);
            let Limit { packets, .. } = Self::DEFAULT_LIMIT;
            limit.packets = limit.packets.saturating_add(packets);
            limit.bytes = limit.bytes.saturating_add(packets * longest);
        }
        if limit.packets == u64::MAX {
            Limit::of_bytes(limit.bytes)
        } else {
            Limit::of_packets(limit.packets)
        }
    }

    fn reads_hosts(&self) -> bool {
        self.nodes()
            .any(|node| node.spec.discipline.info().reads_hosts)
    }

    fn reads_acknowledgements(&self) -> bool {
        self.sorts_acknowledgements()
            || self
                .nodes()
                .any(|node| node.spec.discipline.info().reads_acknowledgements)
    }

    fn reads_seed(&self) -> bool {
        self.nodes()
            .any(|node| node.spec.discipline.info().reads_seed)
    }
}

impl<T: Send> Configured<Config> for Tree<T> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        Ok(config.build_tree(seed)?)
    }
}

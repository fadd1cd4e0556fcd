//! TCP small queues: a sender waits while two bursts of its data wait in the queue of its own host.
//!
//! If a host's interface is the bottleneck, as for uploads, a window would fill the queue in front of
//! it. Linux counts what a connection has in its host's queue, and lets no more than this in: two
//! pieces of segmentation offload, or what 1/1024 s carries at the pacing rate if that is more, and
//! twice as much of what is sent again (E. Dumazet, "tcp: TCP Small Queues", 2012; ip-sysctl,
//! `tcp_limit_output_bytes`). So an upload is lossless and keeps delays short, whatever its window.
//!
//! Linux counts memory, here bytes of data are counted: in both the limit is in pieces. A piece of
//! which the interface has begun to send is none of those that wait: behind an upload on a busy way
//! up, pings of a Linux 6.1 waited for what was left of one piece and for two more.

use crate::offload::BURSTS;
use crate::sender::Sender;

impl Sender {
    /// So many bytes of data have left the queue of the sender's host, or were dropped there. Needed
    /// for each segment with [`Config::small_queue`](crate::Config::small_queue), before the next
    /// [`Sender::poll`].
    pub fn depart(&mut self, bytes: u32) {
        self.queued = self.queued.saturating_sub(bytes.into());
    }

    /// Whether the host's queue holds so much that the sender waits. What is `lost` and sent again
    /// has twice the room. With no more than a piece outstanding nothing waits, as in Linux.
    pub(crate) fn waits_for_departures(&self, is_lost: bool) -> bool {
        if !self.config.small_queue {
            return false;
        }
        let piece = u64::from(self.burst_segments()) * self.segment_len();
        let at_rate = self.burst_rate().unwrap_or(0) / BURSTS;
        let limit = at_rate.max(2 * piece);
        let room = if is_lost { 2 * limit } else { limit };
        self.queued >= room && self.highest - self.acknowledged > piece
    }
}

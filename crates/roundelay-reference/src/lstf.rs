//! Least slack time first (LSTF) by its definition: each decision computes the remaining slack of
//! every packet anew and takes the packet with the least.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, sections 2.2 and 5. At time
//! t, the slack of a packet's last bit is slack - (t - arrival) + T, where T is the transmission
//! time on this link.

use roundelay::{Duration, Instant, Packet, Rate};

/// The LSTF oracle. The scheduler's tests compare departures and evictions with it.
#[derive(Debug, Clone)]
pub struct Lstf<T> {
    rate: Option<Rate>,
    /// In the order of arrival.
    waiting: Vec<Packet<T>>,
}

impl<T> Lstf<T> {
    /// An empty queue. Without a rate, all packets count as equally long.
    pub const fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            waiting: Vec::new(),
        }
    }

    /// Adds a packet that arrives at `now`.
    pub fn enqueue(&mut self, now: Instant, packet: Packet<T>) {
        self.waiting.push(Packet {
            arrival: now,
            ..packet
        });
    }

    /// The slack of a packet's last bit at `now`, in picoseconds.
    pub fn slack_left(&self, now: Instant, packet: &Packet<T>) -> i128 {
        let waited = now.since(packet.arrival).as_picos();
        let transmission = match self.rate {
            Some(rate) => rate.time_of(packet.len.into()),
            None => Duration::ZERO,
        };
        let transmission = transmission.as_picos();
        // Section 2.2: slack - (t - arrival) + T.
        i128::from(packet.slack.as_picos()) - i128::from(waited) + i128::from(transmission)
    }

    /// The waiting packets in the order in which they would leave if nothing arrived and no time
    /// passed: least slack first, then by arrival.
    pub fn order(&self, now: Instant) -> Vec<&Packet<T>> {
        let mut order: Vec<_> = self.waiting.iter().collect();
        order.sort_by_key(|packet| self.slack_left(now, packet));
        order
    }

    /// Removes the packet with the least slack, and among equals the first to arrive.
    pub fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        let at = (0..self.waiting.len())
            .min_by_key(|at| (self.slack_left(now, &self.waiting[*at]), *at))?;
        Some(self.waiting.remove(at))
    }

    /// Removes the packet with the most slack, and among equals the last to arrive.
    pub fn evict(&mut self, now: Instant) -> Option<Packet<T>> {
        let at = (0..self.waiting.len())
            .max_by_key(|at| (self.slack_left(now, &self.waiting[*at]), *at))?;
        Some(self.waiting.remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::{FlowId, Slack};

    fn packet(name: char, len: u32, slack: i64) -> Packet<char> {
        Packet {
            slack: Slack::from_picos(slack),
            ..Packet::new(FlowId(0), len, name)
        }
    }

    fn names(packets: &[&Packet<char>]) -> String {
        packets.iter().map(|packet| packet.payload).collect()
    }

    /// By hand: at time 10, a has 25 - 10 = 15 left, b 14, c 20 - 5 = 15, d 30 - 5 = 25.
    #[test]
    fn the_least_slack_leaves_first_and_the_most_is_given_up() {
        let mut lstf = Lstf::new(None);
        lstf.enqueue(Instant::ZERO, packet('a', 100, 25));
        lstf.enqueue(Instant::ZERO, packet('b', 900, 24));
        lstf.enqueue(Instant::from_picos(5), packet('c', 100, 20));
        lstf.enqueue(Instant::from_picos(5), packet('d', 100, 30));
        let now = Instant::from_picos(10);
        assert_eq!(names(&lstf.order(now)), "bacd");
        assert_eq!(lstf.slack_left(now, lstf.order(now)[0]), 14);
        assert_eq!(lstf.evict(now).map(|packet| packet.payload), Some('d'));
        assert_eq!(
            lstf.evict(now).map(|packet| packet.payload),
            Some('c'),
            "of a and c the one that came later"
        );
        assert_eq!(
            [lstf.dequeue(now), lstf.dequeue(now), lstf.dequeue(now)]
                .map(|packet| packet.map(|p| p.payload)),
            [Some('b'), Some('a'), None]
        );
    }

    /// A byte takes a nanosecond, so b's last bit is due 800 ns after a's, minus 1 ps of slack.
    #[test]
    fn of_long_and_short_with_like_slack_the_short_one_is_due_sooner() {
        let rate = Rate::from_bits_per_second(8_000_000_000);
        for (rate, order) in [(rate, "ab"), (None, "ba")] {
            let mut lstf = Lstf::new(rate);
            lstf.enqueue(Instant::ZERO, packet('b', 900, 24));
            lstf.enqueue(Instant::ZERO, packet('a', 100, 25));
            assert_eq!(names(&lstf.order(Instant::ZERO)), order);
        }
    }
}

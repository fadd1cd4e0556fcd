//! The order in which flows send. The flow with the shortest backlog is next, and of equals the one
//! that has had this backlog for the longest time.

/// One level for each possible backlog. A flow can never have this many packets.
const LEVELS: usize = 1 << u8::BITS;

/// Flows by number of waiting packets.
///
/// A level lists flows in the order in which they reached it. A flow that leaves from the middle of
/// a level stays listed until the next read or [`settle`](Self::settle), but its backlog no longer
/// matches the level. So a move touches one byte and the ends of two lists, while linked lists would
/// touch three flows' records.
#[derive(Debug)]
pub(crate) struct Levels {
    backlogs: Vec<u8>,
    levels: Box<[Level; LEVELS]>,
    lowest: u8,
    /// No flow is on a higher level.
    highest: u8,
}

#[derive(Debug, Clone, Default)]
struct Level {
    flows: Vec<u32>,
    /// Index of the first unread flow.
    next: usize,
}

impl Levels {
    /// Bytes of list entries per packet. Twice an entry, because a growing list doubles.
    pub(crate) const BYTES_PER_PACKET: u64 = 2 * size_of::<u32>() as u64;
    /// Most packets that a flow may have.
    pub(crate) const MOST: u8 = u8::MAX - 1;

    /// Takes `flows` flows, none of which will have more than `most` packets.
    pub(crate) fn new(flows: u32, most: u8) -> Self {
        let mut levels = Box::new(
            [const {
                Level {
                    flows: Vec::new(),
                    next: 0,
                }
            }; LEVELS],
        );
        levels[0].flows = (0..flows).collect();
        Self {
            backlogs: vec![0; flows as usize],
            levels,
            lowest: 0,
            highest: most,
        }
    }

    pub(crate) fn flows(&self) -> u32 {
        self.backlogs.len() as u32
    }

    pub(crate) fn backlog(&self, flow: u32) -> u8 {
        self.backlogs[flow as usize]
    }

    /// Raises a flow with the shortest backlog by one level. Returns the flow.
    #[inline(always)]
    pub(crate) fn raise_shortest(&mut self) -> u32 {
        loop {
            let level = &mut self.levels[usize::from(self.lowest)];
            let Some(&flow) = level.flows.get(level.next) else {
                level.flows.clear();
                level.next = 0;
                self.lowest += 1;
                continue;
            };
            level.next += 1;
            if self.backlogs[flow as usize] == self.lowest {
                return self.raise(flow);
            }
        }
    }

    /// Raises a flow by one level. Returns the flow.
    #[inline(always)]
    pub(crate) fn raise(&mut self, flow: u32) -> u32 {
        let backlog = &mut self.backlogs[flow as usize];
        *backlog += 1;
        self.levels[usize::from(*backlog)].flows.push(flow);
        flow
    }

    /// Lowers a flow by one level. Call [`settle`](Self::settle) before you raise any flow.
    #[inline(always)]
    pub(crate) fn sink(&mut self, flow: u32) {
        let backlog = &mut self.backlogs[flow as usize];
        *backlog -= 1;
        self.levels[usize::from(*backlog)].flows.push(flow);
    }

    /// Lowers a flow by one level while others are raised.
    pub(crate) fn fall_back(&mut self, flow: u32) {
        self.sink(flow);
        self.lowest = self.lowest.min(self.backlogs[flow as usize]);
    }

    /// Removes flows that have left their level. Otherwise a flow that returns to a level would
    /// keep its former position.
    pub(crate) fn settle(&mut self, nothing_waits: bool) {
        self.lowest = 0;
        for (backlog, level) in (0..=self.highest).zip(self.levels.iter_mut()) {
            let read = std::mem::take(&mut level.next);
            if nothing_waits && backlog > 0 {
                level.flows.clear();
            } else if !level.flows.is_empty() {
                level.flows.drain(..read);
                level
                    .flows
                    .retain(|flow| self.backlogs[*flow as usize] == backlog);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn the_flow_with_the_shortest_backlog_is_next() {
        let mut levels = Levels::new(8, 5);
        let risen: Vec<_> = (0..20).map(|_| levels.raise_shortest()).collect();
        assert!(
            risen
                .iter()
                .enumerate()
                .all(|(number, flow)| *flow as usize == number % 8)
        );
        // Flow 3 has 3 packets. After it loses two, it is the only flow with one.
        (0..2).for_each(|_| levels.fall_back(3));
        assert_eq!(levels.raise_shortest(), 3);
        assert_eq!(levels.raise_shortest(), 4, "the first of those with two");
    }

    /// A simple model of [`Levels`]: each flow's backlog, and when it last changed.
    struct Plain(Vec<(u32, u64)>);

    impl Plain {
        fn step(&mut self, flow: usize, backlog: u32, now: u64) -> u32 {
            self.0[flow] = (backlog, now);
            flow as u32
        }

        fn raise_shortest(&mut self, now: u64) -> u32 {
            let flow = (0..self.0.len()).min_by_key(|flow| self.0[*flow]).unwrap();
            self.step(flow, self.0[flow].0 + 1, now)
        }
    }

    #[test]
    fn equal_backlogs_are_served_by_age_through_swells_of_any_size() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut levels = Levels::new(10, 250);
        let mut plain = Plain((0..10).map(|flow| (0, flow)).collect());
        let mut now = 100;
        let mut waiting = 0;
        for swell in 0..300 {
            levels.settle(waiting == 0);
            for _ in 0..random.random_range(0..60) {
                now += 1;
                assert_eq!(
                    levels.raise_shortest(),
                    plain.raise_shortest(now),
                    "swell {swell}"
                );
                waiting += 1;
            }
            let least = if swell % 3 == 0 {
                0
            } else {
                random.random_range(0..=waiting)
            };
            while waiting > least {
                let flow = random.random_range(0..10);
                if plain.0[flow].0 > 0 {
                    now += 1;
                    plain.step(flow, plain.0[flow].0 - 1, now);
                    levels.sink(flow as u32);
                    waiting -= 1;
                }
            }
            assert!(
                (0..10).all(|flow| u32::from(levels.backlog(flow)) == plain.0[flow as usize].0)
            );
        }
    }
}

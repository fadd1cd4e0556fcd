//! Events that belong to no link: a source's next packet, a sender's timeout.
//!
//! A heap of agents by the time at which they want to be called. Most timers are put off before they go off (each acknowledgement puts off a
//! sender's timeout), so putting off only writes down the new time: the entry moves when its old time comes.

use crate::event_queue::Key;

const ARITY: usize = 4;
const NONE: u32 = u32::MAX;

/// Agents by the time at which they want to be called, the first one first.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<(Key, u32)>,
    /// Of each agent: where it stands in the heap, and what it really wants.
    agents: Vec<(u32, Key)>,
}

impl Timers {
    /// The time of the first entry: the first agent wants to be called then or later.
    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.heap.first().map_or(Key::NEVER, |(key, _)| *key)
    }

    /// An agent wants to be called at `key` and not when it wanted before; `NEVER`: not at all.
    #[inline]
    pub(crate) fn set(&mut self, agent: u32, key: Key) {
        if self.agents.len() <= agent as usize {
            self.agents.resize(agent as usize + 1, (NONE, Key::NEVER));
        }
        let (place, wanted) = &mut self.agents[agent as usize];
        *wanted = key;
        if *place == NONE {
            if key != Key::NEVER {
                self.heap.push((key, agent));
                self.rise(self.heap.len() - 1, (key, agent));
            }
        } else if key < self.heap[*place as usize].0 {
            let place = *place as usize;
            self.rise(place, (key, agent));
        }
    }

    /// The time of the first entry has come: the agent to be called, unless it has put that off.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<u32> {
        let (key, agent) = *self.heap.first()?;
        let wanted = self.agents[agent as usize].1;
        if key < wanted && wanted != Key::NEVER {
            self.sink((wanted, agent));
            return None;
        }
        self.agents[agent as usize] = (NONE, Key::NEVER);
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(last);
        }
        (wanted != Key::NEVER).then_some(agent)
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (Key, u32)) {
        self.heap[place] = entry;
        self.agents[entry.1 as usize].0 = place as u32;
    }

    #[inline]
    fn rise(&mut self, mut place: usize, entry: (Key, u32)) {
        while place > 0 && entry.0 < self.heap[(place - 1) / ARITY].0 {
            self.put(place, self.heap[(place - 1) / ARITY]);
            place = (place - 1) / ARITY;
        }
        self.put(place, entry);
    }

    #[inline]
    fn sink(&mut self, entry: (Key, u32)) {
        let mut place = 0;
        loop {
            let from = place * ARITY + 1;
            let until = (from + ARITY).min(self.heap.len());
            let Some(child) = (from..until).min_by_key(|child| self.heap[*child].0) else { break };
            if entry.0 < self.heap[child].0 {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All calls, as (time, agent), until nobody wants one.
    fn calls(timers: &mut Timers) -> Vec<(u64, u32)> {
        let mut calls = Vec::new();
        while timers.first() != Key::NEVER {
            let at = timers.first().picos();
            calls.extend(timers.take_first().map(|agent| (at, agent)));
        }
        calls
    }

    #[test]
    fn agents_are_called_in_order_when_they_last_wanted_it() {
        let mut timers = Timers::default();
        for (sequence, agent) in (0..20).enumerate() {
            timers.set(agent, Key::new(u64::from(agent * 7 % 20), sequence as u64));
        }
        timers.set(3, Key::new(100, 20));
        timers.set(4, Key::NEVER);
        timers.set(5, Key::new(0, 21));
        timers.set(6, Key::NEVER);
        timers.set(6, Key::new(50, 22));
        let mut expected: Vec<_> =
            (0..20).filter(|agent| ![3, 4, 5, 6].contains(agent)).map(|agent| (u64::from(agent * 7 % 20), agent)).collect();
        expected.extend([(0, 5), (50, 6), (100, 3)]);
        expected.sort_by_key(|(at, agent)| (*at, *agent == 5));
        assert_eq!(calls(&mut timers), expected);
    }

    #[test]
    fn a_call_can_be_asked_for_again() {
        let mut timers = Timers::default();
        timers.set(0, Key::new(1, 0));
        assert_eq!(timers.take_first(), Some(0));
        assert_eq!(timers.first(), Key::NEVER);
        timers.set(0, Key::new(2, 1));
        assert_eq!(calls(&mut timers), [(2, 0)]);
    }
}

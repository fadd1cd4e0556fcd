//! Runs unit packets in time slots: replays by keys, schedules with given exits, and a test if any
//! replay is on time.

use std::collections::HashSet;

use super::load::{Load, MOST};

/// Where the packets are: each one's next hop, and the earliest slot for it.
#[derive(Debug, Clone, Copy)]
struct State {
    hop: [u8; MOST],
    ready: [u8; MOST],
}

impl State {
    fn new(load: &Load) -> Self {
        let mut state = Self {
            hop: [0; MOST],
            ready: [0; MOST],
        };
        for (packet, attributes) in load.0.iter().enumerate() {
            state.ready[packet] = attributes.input;
        }
        state
    }

    /// The node where a packet waits in this slot, or None.
    fn waits_at(&self, load: &Load, packet: usize, slot: u8) -> Option<usize> {
        let attributes = &load.0[packet];
        let hop = self.hop[packet];
        if hop < attributes.hops && self.ready[packet] <= slot {
            Some(usize::from(attributes.nodes[usize::from(hop)]))
        } else {
            None
        }
    }

    fn send(&mut self, load: &Load, packet: usize, slot: u8) {
        self.hop[packet] += 1;
        let next = usize::from(self.hop[packet]);
        self.ready[packet] = slot + 1 + load.0[packet].delays.get(next).copied().unwrap_or(0);
    }

    fn is_over(&self, load: &Load) -> bool {
        for (packet, attributes) in load.0.iter().enumerate() {
            if self.hop[packet] < attributes.hops {
                return false;
            }
        }
        true
    }

    /// True if some packet can no longer be on time at the start of this slot.
    fn is_late(&self, load: &Load, slot: u8) -> bool {
        for (packet, attributes) in load.0.iter().enumerate() {
            let hop = self.hop[packet];
            if hop < attributes.hops
                && self.ready[packet].max(slot) + attributes.rest(hop.into()) > attributes.exit
            {
                return true;
            }
        }
        false
    }
}

/// True if the replay by smallest key is on time. `key` gets a packet, its hop, and its arrival
/// there. Among equal keys, the packet listed first goes first.
pub(super) fn is_on_time(load: &Load, key: impl Fn(usize, usize, u8) -> i32) -> bool {
    let mut state = State::new(load);
    for slot in 0.. {
        if state.is_over(load) {
            return true;
        }
        if state.is_late(load, slot) {
            return false;
        }
        let mut best: [Option<(i32, usize)>; MOST] = [None; MOST];
        for packet in 0..load.packets() {
            if let Some(node) = state.waits_at(load, packet, slot) {
                let key = key(packet, state.hop[packet].into(), state.ready[packet]);
                let rank = (key, packet);
                best[node] = Some(best[node].unwrap_or(rank).min(rank));
            }
        }
        for (_, packet) in best.into_iter().flatten() {
            state.send(load, packet, slot);
        }
    }
    true
}

/// True if the replay is on time for some way to break ties.
pub(super) fn is_on_time_with_some_ties(
    load: &Load,
    key: impl Fn(usize, usize, u8) -> i32,
) -> bool {
    succeeds_from(load, &key, State::new(load), 0, 0)
}

/// True if the packets can still be on time by smallest key, whichever of equal keys goes first.
/// The nodes before `node` have sent in this slot, and the others are next.
fn succeeds_from(
    load: &Load,
    key: &impl Fn(usize, usize, u8) -> i32,
    state: State,
    slot: u8,
    node: usize,
) -> bool {
    if node == MOST {
        return succeeds_from(load, key, state, slot + 1, 0);
    }
    if node == 0 {
        if state.is_over(load) {
            return true;
        }
        if state.is_late(load, slot) {
            return false;
        }
    }
    // Keys of the packets that wait at the node.
    let mut keys: [Option<i32>; MOST] = [None; MOST];
    for (packet, own_key) in keys.iter_mut().enumerate().take(load.packets()) {
        if state.waits_at(load, packet, slot) == Some(node) {
            let hop = state.hop[packet].into();
            *own_key = Some(key(packet, hop, state.ready[packet]));
        }
    }
    let Some(least) = keys.into_iter().flatten().min() else {
        return succeeds_from(load, key, state, slot, node + 1);
    };
    for (packet, own_key) in keys.into_iter().enumerate() {
        if own_key == Some(least) {
            let mut next = state;
            next.send(load, packet, slot);
            if succeeds_from(load, key, next, slot, node + 1) {
                return true;
            }
        }
    }
    false
}

/// Visits all viable schedules with a load's exits, as start times by packet and hop, until `visit`
/// returns true.
pub(super) fn originals(load: &Load, mut visit: impl FnMut(&[Vec<u64>]) -> bool) {
    let mut taken = [0_u32; MOST];
    for packet in &load.0 {
        let slot = 1 << (packet.exit - 1);
        let taken = &mut taken[usize::from(packet.last())];
        if *taken & slot != 0 {
            return;
        }
        *taken |= slot;
    }
    let mut starts: Vec<Vec<u64>> = load
        .0
        .iter()
        .map(|packet| vec![u64::from(packet.exit - 1); packet.hops.into()])
        .collect();
    assign_slots(load, 0, 0, &mut taken, &mut starts, &mut visit);
}

/// Assigns a slot to a packet's hop, then to its later hops and to the packets after it. Last hops
/// have their slots already. Returns true once `visit` has.
fn assign_slots(
    load: &Load,
    packet: usize,
    hop: usize,
    taken: &mut [u32; MOST],
    starts: &mut Vec<Vec<u64>>,
    visit: &mut impl FnMut(&[Vec<u64>]) -> bool,
) -> bool {
    let Some(attributes) = load.0.get(packet) else {
        return visit(starts);
    };
    let earliest = if hop == 0 {
        attributes.input
    } else {
        starts[packet][hop - 1] as u8 + 1 + attributes.delays[hop]
    };
    let latest = attributes.exit - attributes.rest(hop);
    if hop + 1 == usize::from(attributes.hops) {
        return earliest <= latest && assign_slots(load, packet + 1, 0, taken, starts, visit);
    }
    let node = usize::from(attributes.nodes[hop]);
    for slot in earliest..=latest {
        if taken[node] & 1 << slot == 0 {
            taken[node] |= 1 << slot;
            starts[packet][hop] = slot.into();
            let is_done = assign_slots(load, packet, hop + 1, taken, starts, visit);
            taken[node] &= !(1 << slot);
            if is_done {
                return true;
            }
        }
    }
    false
}

/// True if some preemptive replay is on time although `late` arrives a piece of time late. A unit
/// has `grain` pieces, and a packet can be preempted after each.
pub(super) fn is_feasible(load: &Load, grain: u16, late: Option<usize>) -> bool {
    let mut state = Vec::new();
    for (number, attributes) in load.0.iter().enumerate() {
        state.push(Partial {
            hop: 0,
            left: grain,
            ready: u16::from(attributes.input) * grain + u16::from(late == Some(number)),
        });
    }
    let mut pieces = Pieces {
        load,
        grain,
        dead: HashSet::new(),
    };
    pieces.can_finish(state, 0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Partial {
    hop: u8,
    /// How many pieces remain at this hop.
    left: u16,
    ready: u16,
}

struct Pieces<'a> {
    load: &'a Load,
    grain: u16,
    /// States from which no replay is on time.
    dead: HashSet<(u16, Vec<Partial>)>,
}

impl Pieces<'_> {
    fn can_finish(&mut self, state: Vec<Partial>, now: u16) -> bool {
        if self.is_over(&state) {
            return true;
        }
        if self.is_late(&state, now) || self.dead.contains(&(now, state.clone())) {
            return false;
        }
        let mut next = vec![state.clone()];
        for node in 0..MOST {
            // Sending is never worse than idling, because packets can be interrupted and can wait
            // later.
            let mut after = Vec::new();
            for partly in next {
                after.extend(self.send(&state, partly, node, now));
            }
            next = after;
        }
        let can = next.into_iter().any(|next| self.can_finish(next, now + 1));
        if !can {
            self.dead.insert((now, state));
        }
        can
    }

    fn is_over(&self, state: &[Partial]) -> bool {
        for (partial, packet) in state.iter().zip(&self.load.0) {
            if partial.hop < packet.hops {
                return false;
            }
        }
        true
    }

    fn is_late(&self, state: &[Partial], now: u16) -> bool {
        for (partial, packet) in state.iter().zip(&self.load.0) {
            if partial.hop < packet.hops {
                let hops_after = u16::from(packet.rest(partial.hop.into())) - 1;
                let rest = hops_after * self.grain + partial.left;
                if partial.ready.max(now) + rest > u16::from(packet.exit) * self.grain {
                    return true;
                }
            }
        }
        false
    }

    /// The states after each choice that one node has. `state` says which packets wait.
    fn send(
        &self,
        state: &[Partial],
        partly: Vec<Partial>,
        node: usize,
        now: u16,
    ) -> Vec<Vec<Partial>> {
        let mut states = Vec::new();
        for (number, partial) in state.iter().enumerate() {
            let packet = &self.load.0[number];
            let waits = partial.hop < packet.hops
                && partial.ready <= now
                && usize::from(packet.nodes[usize::from(partial.hop)]) == node;
            if waits {
                let mut next = partly.clone();
                self.send_piece(&mut next[number], number, now);
                states.push(next);
            }
        }
        if states.is_empty() {
            states.push(partly);
        }
        states
    }

    /// Sends a piece of a packet. After the last piece, the packet is on its way to the next hop.
    fn send_piece(&self, partial: &mut Partial, number: usize, now: u16) {
        partial.left -= 1;
        if partial.left == 0 {
            let hop = usize::from(partial.hop) + 1;
            let delay = self.load.0[number].delays.get(hop).copied().unwrap_or(0);
            *partial = Partial {
                hop: hop as u8,
                left: self.grain,
                ready: now + 1 + u16::from(delay) * self.grain,
            };
        }
    }
}

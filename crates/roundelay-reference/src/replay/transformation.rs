//! The transformation in the proof of the necessary condition (appendix A.7.2): a feasible schedule
//! of one node becomes LSTF's by exchanges of two bits, and stays feasible after each of them.

/// A packet at the node, where each bit takes a unit of time.
#[derive(Debug, Clone, Copy)]
pub struct AtNode {
    /// i'(p, a): none of its bits is sent before.
    pub arrival: u64,
    /// Number of bits, T(p, a).
    pub bits: u64,
    /// o(p, a): when the original schedule starts the packet.
    pub start: u64,
    /// o(p) - tmin(p, a, dest(p)) + T(p, a): the slack at time t is `deadline` - t.
    pub deadline: u64,
}

/// A bit's time slice, and the packet that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The slice lasts from here for a unit of time.
    pub begin: u64,
    /// Index of the packet.
    pub packet: usize,
}

/// Step 1: the bits in the order of their packets' o(p, a), without an idle slice while one waits.
pub fn in_original_order(packets: &[AtNode]) -> Vec<Slice> {
    sent_by(packets, |packet| [packet.start, packet.arrival])
}

/// The bits in LSTF's order, preemptive. Of equal slacks the packet that arrived first goes first.
pub fn in_lstf_order(packets: &[AtNode]) -> Vec<Slice> {
    sent_by(packets, |packet| [packet.deadline, packet.arrival])
}

/// Sends a bit of the packet with the least key in each unit of time in which one waits.
fn sent_by(packets: &[AtNode], key: impl Fn(&AtNode) -> [u64; 2]) -> Vec<Slice> {
    let mut left = bits_of(packets);
    let mut slices = Vec::new();
    let mut now = 0;
    let mut unsent: u64 = left.iter().sum();
    while unsent > 0 {
        let mut next: Option<usize> = None;
        for (number, packet) in packets.iter().enumerate() {
            let is_first = match next {
                Some(best) => key(packet) < key(&packets[best]),
                None => true,
            };
            if left[number] > 0 && packet.arrival <= now && is_first {
                next = Some(number);
            }
        }
        if let Some(packet) = next {
            left[packet] -= 1;
            unsent -= 1;
            slices.push(Slice { begin: now, packet });
        }
        now += 1;
    }
    slices
}

fn bits_of(packets: &[AtNode]) -> Vec<u64> {
    let mut bits = Vec::new();
    for packet in packets {
        bits.push(packet.bits);
    }
    bits
}

/// Whether each bit is sent after its arrival and leaves without negative slack.
pub fn is_feasible(packets: &[AtNode], slices: &[Slice]) -> bool {
    for slice in slices {
        let packet = packets[slice.packet];
        if slice.begin < packet.arrival || slice.begin + 1 > packet.deadline {
            return false;
        }
    }
    true
}

/// Step 2: exchanges bits until they are in LSTF's order, and shows the slices after each exchange.
pub fn transform(packets: &[AtNode], slices: &mut [Slice], mut show: impl FnMut(&[Slice])) {
    while let Some([first, second]) = next_exchange(packets, slices) {
        let later = slices[second].packet;
        slices[second].packet = slices[first].packet;
        slices[first].packet = later;
        show(slices);
    }
    sort_equal_slacks(packets, slices);
    show(slices);
}

/// Lines 2 and 3: a bit, and a later one that has less slack and was there already.
fn next_exchange(packets: &[AtNode], slices: &[Slice]) -> Option<[usize; 2]> {
    for first in 0..slices.len() {
        for second in first + 1..slices.len() {
            let packet = packets[slices[second].packet];
            let has_less = packet.deadline < packets[slices[first].packet].deadline;
            if has_less && packet.arrival <= slices[first].begin {
                return Some([first, second]);
            }
        }
    }
    None
}

/// Lines 10 and 11: bits of equal slack take their slices in the order of arrival.
fn sort_equal_slacks(packets: &[AtNode], slices: &mut [Slice]) {
    let mut left = bits_of(packets);
    for slice in slices {
        let deadline = packets[slice.packet].deadline;
        let mut next: Option<usize> = None;
        for (number, packet) in packets.iter().enumerate() {
            let is_equal = packet.deadline == deadline && left[number] > 0;
            let is_here = packet.arrival <= slice.begin;
            let is_first = match next {
                Some(best) => packet.arrival < packets[best].arrival,
                None => true,
            };
            if is_equal && is_here && is_first {
                next = Some(number);
            }
        }
        if let Some(packet) = next {
            left[packet] -= 1;
            slice.packet = packet;
        }
    }
}

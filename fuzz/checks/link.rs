//! What must hold for any frames that come in at a live link. The fuzzer runs it, and the tests run
//! it on the corpus.

#[path = "packets.rs"]
mod packets;

use roundelay::Instant;
use roundelay_live::{Bottleneck, QueueText, Settings, Slots, Way};

/// Queues that look at frames: at flows, marks, acknowledgements, tins.
const QUEUES: [&str; 4] = [
    "fq_codel limit 40 target 1ms ce_threshold 1ms",
    "cake bandwidth 900kbit ack-filter nat",
    "fifo limit 20",
    "fq_pie limit 50 target 1ms",
];
const SLOTS: u32 = 512;

/// Books balance after each frame, and slots come back.
pub(crate) fn check(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let queue = QUEUES[usize::from(*choice) % QUEUES.len()];
    let rate = "1mbit".parse().expect("a rate");
    let settings = Settings::new(rate, QueueText::Discipline(queue.to_owned()));
    let slots = Slots::new(SLOTS, 2048);
    let mut bottleneck = Bottleneck::new(&settings, slots).expect("legal settings");
    let mut now = Instant::ZERO;
    for packet in packets::packets(data) {
        let way = if packet.is_answer { Way::Down } else { Way::Up };
        let stamp = Instant::from_nanos(packet.nanos.max(0) as u64 % 1_000_000_000_000);
        now = now.max(stamp);
        let slots = bottleneck.slots_mut();
        if let Some(slot) = slots.take() {
            slots.room(slot)[..packet.frame.len()].copy_from_slice(&packet.frame);
            slots.set_cut(slot, packet.frame.len(), packet.len);
            bottleneck.arrive(way, stamp, slot).expect("a flow");
        }
        bottleneck.advance(now).expect("no change is planned");
        let mut due = Vec::new();
        for way in Way::BOTH {
            bottleneck.due(way, now, usize::MAX, &mut due);
            for _ in due.drain(..) {
                bottleneck.hand_over(way);
            }
        }
        balance(&bottleneck);
    }
}

fn balance(bottleneck: &Bottleneck) {
    let mut held = 0;
    for way in Way::BOTH {
        let books = bottleneck.books(way);
        let gone = books.all_dropped() + books.lost + books.delivered + books.refused;
        held += books.waiting + books.on_the_way;
        assert_eq!(
            books.arrived,
            gone + books.waiting + books.on_the_way,
            "{books:?}"
        );
    }
    let slots = bottleneck.slots();
    assert_eq!(slots.count() - slots.free(), held as usize);
}

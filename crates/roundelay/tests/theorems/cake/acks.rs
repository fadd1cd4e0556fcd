//! CAKE's ACK filter: what it drops, what it keeps, and a queue that drops without looking.

use std::collections::VecDeque;

use roundelay::author::ByCopy;
use roundelay::schedulers::{AnyScheduler, Discipline, cake};
use roundelay::{
    Acknowledgement, Buffer, Control, DropReason, FlowId, Handle, Instant, Limit, Packet,
    Scheduler, Seed,
};

use super::build;

const CONSERVATIVE: &str = "cake flows ack-filter";
const AGGRESSIVE: &str = "cake flows ack-filter-aggressive";

fn ack(number: u32) -> Acknowledgement {
    Acknowledgement {
        number,
        is_bare: true,
        ..Acknowledgement::default()
    }
}

/// The places of the acknowledgements that leave, of those that come one after the other.
fn left(text: &str, acks: &[Acknowledgement]) -> Vec<u64> {
    let mut scheduler = build(text, 1);
    let mut dropped = 0;
    for (number, ack) in (0..).zip(acks) {
        scheduler.set_acknowledgement(FlowId(1), Some(ack));
        let packet = Packet::new(FlowId(1), 66, number);
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
        while let Some((_, reason)) = scheduler.take_dropped() {
            assert_eq!(reason, DropReason::Filtered);
            dropped += 1;
        }
        scheduler.check_invariants();
    }
    let mut left = Vec::new();
    while let Some(packet) = scheduler.dequeue(Instant::ZERO) {
        left.push(packet.payload);
    }
    assert_eq!(left.len() + dropped, acks.len());
    left
}

/// The filter keeps two redundant ones less one: with two of them before a third, the first goes.
/// The aggressive one keeps the newest only.
#[test]
fn later_acknowledgements_replace_earlier_ones() {
    let rising: Vec<_> = (1..=6).map(|number| ack(1000 * number)).collect();
    assert_eq!(left(CONSERVATIVE, &rising), [4, 5]);
    assert_eq!(left(AGGRESSIVE, &rising), [5]);
    assert_eq!(left("cake flows", &rising), [0, 1, 2, 3, 4, 5]);
    assert_eq!(left("fifo", &rising), [0, 1, 2, 3, 4, 5]);
}

/// Duplicates make a sender repair a loss, so none of them goes before the repair is acknowledged.
#[test]
fn duplicates_stay() {
    let duplicates = [ack(1000), ack(1000), ack(1000), ack(1000)];
    for text in [CONSERVATIVE, AGGRESSIVE] {
        assert_eq!(left(text, &duplicates), [0, 1, 2, 3], "{text}");
    }
}

/// The change of a flag of ECN is told although the acknowledgements around it are redundant.
#[test]
fn flags_of_ecn_are_told() {
    let mut acks: Vec<_> = (1..=6).map(|number| ack(1000 * number)).collect();
    acks[3].echoes_mark = true;
    for text in [CONSERVATIVE, AGGRESSIVE] {
        assert!(left(text, &acks).contains(&3), "{text}");
    }
    acks[3].has_reduced = true;
    acks[3].echoes_mark = false;
    for text in [CONSERVATIVE, AGGRESSIVE] {
        assert!(left(text, &acks).contains(&3), "{text}");
    }
}

/// A segment that acknowledges nothing makes none redundant. Without the flags of those before it,
/// it ends their run, as Linux has it.
#[test]
fn a_silent_segment_makes_none_redundant() {
    let mut acks: Vec<_> = (1..=4).map(|number| ack(1000 * number)).collect();
    for ack in &mut acks {
        ack.echoes_mark = true;
    }
    assert_eq!(left(CONSERVATIVE, &acks), [2, 3]);
    acks[1].is_bare = false;
    acks[1].is_silent = true;
    assert_eq!(left(CONSERVATIVE, &acks), [1, 2, 3], "the first goes");
    acks[1].echoes_mark = false;
    assert_eq!(left(CONSERVATIVE, &acks), [0, 1, 2, 3]);
}

/// What has data, other flags or unknown options stays, and so does another connection's.
#[test]
fn others_stay() {
    let mut acks: Vec<_> = (1..=6).map(|number| ack(1000 * number)).collect();
    acks[1].is_bare = false;
    acks[2].connection = 7;
    assert_eq!(left(AGGRESSIVE, &acks), [1, 2, 5]);
    // Nobody has said what these packets are.
    let mut scheduler = build(AGGRESSIVE, 1);
    for number in 0..4 {
        let packet = Packet::new(FlowId(1), 66, number);
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
    }
    assert_eq!(scheduler.backlog().packets, 4);
}

/// An announcement is for the flow's next packet alone.
#[test]
fn an_announcement_holds_for_one_packet() {
    let mut scheduler = build(AGGRESSIVE, 1);
    let mut put = |flow, ack: Option<Acknowledgement>| {
        if let Some(ack) = &ack {
            scheduler.set_acknowledgement(FlowId(1), Some(ack));
        }
        let packet = Packet::new(FlowId(flow), 66, 0);
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
        scheduler.backlog().packets
    };
    assert_eq!(put(1, Some(ack(1000))), 1);
    assert_eq!(put(2, Some(ack(2000))), 2, "another flow's packet has come");
    assert_eq!(put(1, None), 3);
    assert_eq!(put(1, Some(ack(3000))), 4, "not right behind the first");
    assert_eq!(put(1, Some(ack(4000))), 4);
}

/// A number that looks random and is the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) as u32) % most
    }
}

/// A receiver that acknowledges: numbers rise, repeat, and leave gaps with blocks behind them.
#[derive(Clone, Copy)]
struct Receiver {
    number: u32,
    blocks: u32,
    clock: u32,
    echoes_mark: bool,
}

impl Receiver {
    fn acknowledges(&mut self, connection: u64, draw: &mut Draw) -> Acknowledgement {
        match draw.below(8) {
            0..4 => {
                self.number = self.number.wrapping_add(1448 * (1 + draw.below(3)));
                self.blocks = self.blocks.saturating_sub(draw.below(3));
            }
            4 | 5 => self.blocks = (self.blocks + 1).min(4),
            _ => {}
        }
        self.clock += draw.below(2);
        self.echoes_mark ^= draw.below(12) == 0;
        let mut ack = Acknowledgement {
            connection,
            timestamps: Some((self.clock, self.clock / 2)),
            echoes_mark: self.echoes_mark,
            is_bare: draw.below(10) > 0,
            ..ack(self.number)
        };
        for place in 0..self.blocks {
            let start = self.number.wrapping_add(3000 * (place + 1));
            ack.blocks[place as usize] = (start, start.wrapping_add(1448));
        }
        ack
    }
}

/// Which bytes an acknowledgement says have come, by brute force: each eighth one from `from` on.
fn said(ack: &Acknowledgement, from: u32) -> Vec<bool> {
    let mut said = Vec::new();
    for unit in 0..4000_u32 {
        let byte = from.wrapping_add(8 * unit);
        let before = (byte.wrapping_sub(ack.number) as i32) < 0;
        let in_block = |&(start, end): &(u32, u32)| {
            (byte.wrapping_sub(start) as i32) >= 0 && (byte.wrapping_sub(end) as i32) < 0
        };
        said.push(before || ack.blocks.iter().any(in_block));
    }
    said
}

/// Whether one of those that wait behind the dropped one says all that it says, and more.
fn is_said_again(dropped: &Acknowledgement, later: &[&Acknowledgement]) -> bool {
    let from = dropped.number.wrapping_sub(800);
    let was = said(dropped, from);
    for later in later.iter().rev() {
        let is = said(later, from);
        let says_all = was.iter().zip(&is).all(|(was, is)| *is || !*was);
        if later.connection == dropped.connection && says_all && is != was {
            return true;
        }
    }
    false
}

/// Random acknowledgements of three connections through a queue. Returns how many were dropped, and
/// how many of these said something that nothing behind them in the queue says.
fn losses<S: Scheduler<u64>>(scheduler: &mut Buffer<S>, seed: u64) -> (u64, u64) {
    let mut draw = Draw(seed);
    let mut receivers = [Receiver {
        number: u32::MAX - 40_000,
        blocks: 0,
        clock: 9,
        echoes_mark: false,
    }; 3];
    let mut all: Vec<(FlowId, Acknowledgement)> = Vec::new();
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let (mut dropped, mut lost) = (0, 0);
    for number in 0..3000 {
        let who = draw.below(3);
        // Two connections share a flow, as all of a host do with `--flow-by src`.
        let flow = FlowId(who / 2);
        let ack = receivers[who as usize].acknowledges(who.into(), &mut draw);
        all.push((flow, ack));
        waiting.push_back(number);
        scheduler
            .scheduler_mut()
            .set_acknowledgement(flow, Some(&ack));
        let mut gone = Vec::new();
        let packet = Packet::new(flow, 66, number);
        scheduler.enqueue(Instant::ZERO, packet, |packet, _| gone.push(packet.payload));
        for number in gone {
            waiting.retain(|waits| *waits != number);
            let (flow, ack) = all[number as usize];
            let mut later = Vec::new();
            for waits in waiting.iter().filter(|waits| **waits > number) {
                let (of, ack) = &all[*waits as usize];
                later.extend((*of == flow).then_some(ack));
            }
            dropped += 1;
            lost += u64::from(!ack.is_bare || !is_said_again(&ack, &later));
        }
        if draw.below(3) == 0
            && let Some(packet) = scheduler.dequeue(Instant::ZERO, |_, _| ())
        {
            let mut before = waiting.iter().filter(|waits| **waits < packet.payload);
            let overtakes = before.any(|waits| all[*waits as usize].0 == packet.flow);
            assert!(!overtakes, "packets of a flow leave in order");
            waiting.retain(|waits| *waits != packet.payload);
        }
    }
    assert_eq!(
        scheduler.scheduler().backlog().packets,
        waiting.len() as u64
    );
    (dropped, lost)
}

/// What a dropped acknowledgement says, one behind it in the queue says again, and more. A buffer
/// that pushes out the head of the queue loses what nobody says again.
#[test]
fn filtered_acknowledgements_say_nothing_new() {
    let run = |text: &str, limit: u64| {
        let (mut dropped, mut lost) = (0, 0);
        for seed in 1..=3 {
            let scheduler: AnyScheduler<u64> = build(text, seed);
            let mut buffer = Buffer::new(Limit::of_packets(limit), scheduler);
            let (drops, losses) = losses(&mut buffer, seed);
            dropped += drops;
            lost += losses;
        }
        (dropped, lost)
    };
    let (conservative, lost) = run(CONSERVATIVE, 100_000);
    assert!(conservative > 2_400, "{conservative}");
    assert_eq!(lost, 0);
    let (aggressive, lost) = run(AGGRESSIVE, 100_000);
    assert!(aggressive > conservative, "{aggressive}, {conservative}");
    assert_eq!(lost, 0);
    assert_eq!(run("cake flows", 100_000), (0, 0));
    let (_, lost) = run("cake flows", 40);
    assert!(lost > 300, "pushes out what says something: {lost}");
}

/// By handle and by value, the same ones go.
#[test]
fn handles_are_filtered_alike() {
    let config = cake::Config {
        acks: cake::AckFilter::Conservative,
        isolation: cake::Isolation::Flows,
        ..cake::Config::default()
    };
    let mut by_handle = config.build_by_handle(Seed::new(1)).expect("legal");
    let by_value = config.build::<Handle>(Seed::new(1)).expect("legal");
    let mut by_value = ByCopy::new(by_value);
    let mut draw = Draw(5);
    let mut receiver = Receiver {
        number: 5,
        blocks: 0,
        clock: 9,
        echoes_mark: false,
    };
    let mut free: Vec<u32> = (0..2000).rev().collect();
    let mut dropped = 0;
    for _ in 0..2000 {
        let handle = Handle(free.pop().expect("fewer than 2000 wait"));
        let ack = receiver.acknowledges(0, &mut draw);
        let packet = Packet::new(FlowId(draw.below(2)), 60 + handle.0, handle);
        by_handle.set_acknowledgement(packet.flow, Some(&ack));
        by_value.set_acknowledgement(packet.flow, Some(&ack));
        assert!(by_handle.enqueue(Instant::ZERO, packet).is_ok());
        assert!(by_value.enqueue(Instant::ZERO, packet).is_ok());
        let gone = by_handle.take_dropped();
        assert_eq!(gone, by_value.take_dropped());
        if let Some((gone, _)) = gone {
            free.push(gone.handle.0);
            dropped += 1;
        }
        if draw.below(3) == 0 {
            let left = by_handle.dequeue(Instant::ZERO);
            assert_eq!(left, by_value.dequeue(Instant::ZERO));
            free.extend(left.map(|left| left.handle.0));
        }
        assert_eq!(by_handle.backlog(), by_value.backlog());
        by_handle.check_invariants();
    }
    assert!(dropped > 300, "{dropped}");
}

/// In a tree, the leaf of the flow is told.
#[test]
fn a_leaf_of_a_tree_filters() {
    use roundelay::schedulers::AnyDiscipline;
    use roundelay::tree::{Config, Node};

    let node = |name, text: &str| Node::new(name, text.parse().expect("legal"));
    let mut tree = Config::new(node("link", "drr")).expect("legal");
    tree.add_leaf("link", node("rest", "fifo")).expect("legal");
    tree.add_leaf("link", node("acks", AGGRESSIVE))
        .expect("legal");
    tree.set_default("rest").expect("it is there");
    let tree = AnyDiscipline::Tree(tree);
    assert!(tree.info().reads_acknowledgements);
    let mut scheduler = tree.build::<u64>(Seed::new(1)).expect("legal");
    scheduler.assign(FlowId(3), "acks").expect("it is there");
    for number in 1..=5 {
        scheduler.set_acknowledgement(FlowId(3), Some(&ack(1000 * number)));
        let packet = Packet::new(FlowId(3), 66, number.into());
        assert!(scheduler.enqueue(Instant::ZERO, packet).is_ok());
    }
    let mut left = Vec::new();
    while let Some(packet) = scheduler.dequeue(Instant::ZERO) {
        left.push(packet.payload);
    }
    // Its class asks in the leaf's turn, so no packet has left the leaf before.
    assert_eq!(left, [5]);
}

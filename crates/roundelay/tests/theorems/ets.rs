//! ETS: the claims of `ets.rs`, and disciplines that break them.

use std::collections::VecDeque;

use proptest::prelude::*;
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline, ets, fifo, priority};
use roundelay::{
    ConfigError, Control, DropReason, FlowId, Instant, Packet, QueueSpec, Scheduler, Seed,
};

use crate::theorems::ranked::{Step, dropped, fixed_steps, obeys, order, steps, with_priority};

const NOW: Instant = Instant::ZERO;

fn build(text: &str) -> AnyScheduler<u64> {
    let spec: QueueSpec = text.parse().expect("legal");
    spec.discipline.build(Seed::new(0)).expect("legal")
}

fn config(text: &str) -> ets::Config {
    let spec: QueueSpec = text.parse().expect("legal");
    match spec.discipline {
        AnyDiscipline::Ets(config) => config,
        other => panic!("{other}"),
    }
}

/// The rules of tc-ets(8) in the plainest form: every turn is walked.
struct Model {
    config: ets::Config,
    bands: Vec<VecDeque<Packet<u64>>>,
    deficits: Vec<u64>,
    active: VecDeque<usize>,
}

impl Model {
    fn new(config: ets::Config) -> Self {
        let bands = config.number_of_bands() as usize;
        Self {
            config,
            bands: vec![VecDeque::new(); bands],
            deficits: vec![0; bands],
            active: VecDeque::new(),
        }
    }

    fn quantum(&self, band: usize) -> Option<u64> {
        self.config.quantum_of(band as u32).map(u64::from)
    }

    fn enqueue(&mut self, packet: Packet<u64>) {
        let band = self.config.band_of(packet.priority) as usize;
        if let Some(quantum) = self.quantum(band)
            && self.bands[band].is_empty()
        {
            self.deficits[band] = quantum;
            self.active.push_back(band);
        }
        self.bands[band].push_back(packet);
    }

    fn dequeue(&mut self) -> Option<Packet<u64>> {
        for strict in 0..self.config.strict as usize {
            if let Some(packet) = self.bands[strict].pop_front() {
                return Some(packet);
            }
        }
        loop {
            let band = *self.active.front()?;
            let len = u64::from(self.bands[band].front().expect("active").len);
            if len > self.deficits[band] {
                self.deficits[band] += self.quantum(band).expect("not strict");
                self.active.rotate_left(1);
                continue;
            }
            self.deficits[band] -= len;
            let packet = self.bands[band].pop_front();
            self.leave(band);
            return packet;
        }
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        let size = |band: &VecDeque<Packet<u64>>| -> u64 {
            band.iter().map(|packet| u64::from(packet.len)).sum()
        };
        let sizes = self.bands.iter().map(size);
        let (_, band) = sizes.zip(0..).filter(|(size, _)| *size > 0).max()?;
        let packet = self.bands[band].pop_back();
        self.leave(band);
        packet
    }

    fn leave(&mut self, band: usize) {
        if self.bands[band].is_empty() {
            self.deficits[band] = 0;
            self.active.retain(|other| *other != band);
        }
    }
}

/// Whether a scheduler gives the packets of the model.
fn follows(mut scheduler: impl Scheduler<u64>, config: ets::Config, steps: &[Step]) -> bool {
    let mut model = Model::new(config);
    for (number, step) in (0..).zip(steps) {
        let agrees = match *step {
            Step::Arrive {
                flow,
                len,
                priority,
                ..
            } => {
                let packet = Packet {
                    priority,
                    ..Packet::new(FlowId(flow), len, number)
                };
                model.enqueue(packet);
                scheduler.enqueue(NOW, packet).is_ok()
            }
            Step::Leave => scheduler.dequeue(NOW) == model.dequeue(),
            Step::Evict => scheduler.evict() == model.evict(),
            Step::Wait(_) => true,
        };
        scheduler.check_invariants();
        if !agrees {
            return false;
        }
    }
    loop {
        let expected = model.dequeue();
        if scheduler.dequeue(NOW) != expected {
            return false;
        }
        if expected.is_none() {
            return true;
        }
    }
}

fn any_config() -> impl Strategy<Value = String> {
    let quanta = prop::collection::vec(prop::sample::select(vec![1, 40, 700, 1514, 9000]), 0..5);
    (0u32..4, quanta, 1u32..4).prop_map(|(strict, quanta, more)| {
        let mut text = format!(
            "ets bands {} strict {strict}",
            strict + quanta.len() as u32 + more
        );
        if !quanta.is_empty() {
            text += " quanta";
        }
        for quantum in quanta {
            text += &format!(" {quantum}");
        }
        text
    })
}

proptest! {
    /// Counted rounds are those that would be walked, for any quanta.
    #[test]
    fn departures_are_those_of_the_rules(text in any_config(), steps in steps()) {
        prop_assert!(follows(build(&text), config(&text), &steps));
    }
}

#[test]
fn the_check_finds_other_orders() {
    let text = "ets strict 2 quanta 3000 1500 700";
    let config = config(text);
    assert!(follows(build(text), config, &fixed_steps()));
    for other in [
        "ets strict 1 quanta 1514 3000 1500 700",
        "ets strict 2 quanta 3000 1500 40",
        "ets strict 2 quanta 1500 3000 700",
        "priority",
        "drr",
    ] {
        assert!(!follows(build(other), config, &fixed_steps()), "{other}");
    }
}

/// `prio` of Linux: with all bands strict the smallest class goes first, the last band holds all
/// later classes.
fn is_strict(scheduler: impl Scheduler<u64>, bands: u32, steps: &[Step]) -> bool {
    let band = |packet: &Packet<u64>| packet.priority.min(bands - 1);
    let size = |waiting: &[Packet<u64>], of: u32| -> u64 {
        let in_band = waiting.iter().filter(|packet| band(packet) == of);
        in_band.map(|packet| u64::from(packet.len)).sum()
    };
    obeys(
        scheduler,
        steps,
        |waiting| (0..waiting.len()).min_by_key(|at| (band(&waiting[*at]), *at)),
        |waiting| {
            let key = |at: &usize| {
                let band = band(&waiting[*at]);
                (size(waiting, band), band, *at)
            };
            (0..waiting.len()).max_by_key(key)
        },
    )
}

proptest! {
    #[test]
    fn strict_bands_go_first_and_a_band_is_fifo(steps in steps()) {
        prop_assert!(is_strict(build("prio bands 4 priomap 0 1 2"), 4, &steps));
    }
}

#[test]
fn the_check_of_strict_bands_finds_other_orders() {
    assert!(is_strict(build("ets bands 4 strict 4"), 4, &fixed_steps()));
    assert!(!is_strict(build("ets bands 4 strict 3"), 3, &fixed_steps()));
    assert!(!is_strict(build("ets bands 4"), 4, &fixed_steps()));
    assert!(!is_strict(build("fifo"), 4, &fixed_steps()));
}

/// The departures of classes up to `class`, with or without the packets of later classes in the
/// arrivals; empty if these come between.
fn seen_by(scheduler: impl Scheduler<u64>, class: u32, with_later: bool) -> Vec<u64> {
    let mut packets = Vec::new();
    for number in 0..200 {
        let packet = with_priority(number as u32 * 7 % 4, number as u32 * 13 % 5, number);
        if with_later || packet.priority <= class {
            packets.push(packet);
        }
    }
    let sent = order(scheduler, &packets);
    let urgent = sent.iter().filter(|packet| packet.priority <= class);
    let first: Vec<_> = urgent.map(|packet| packet.payload).collect();
    let is_first = sent[..first.len()]
        .iter()
        .all(|packet| packet.priority <= class);
    if is_first { first } else { Vec::new() }
}

#[test]
fn a_strict_band_does_not_feel_those_behind_it() {
    let ets = || build("ets strict 2 quanta 1500 1500 1500");
    for class in 0..2 {
        assert_eq!(seen_by(ets(), class, true), seen_by(ets(), class, false));
    }
    for mixes in [ets(), build("drr")] {
        let alone = seen_by(ets(), 2, false);
        assert_ne!(
            seen_by(mixes, 2, true),
            alone,
            "band 2 shares, as all flows of drr"
        );
    }
}

/// Largest part of a quantum that a band carries over, over the longest packet, while all bands
/// have packets.
fn carried(quanta: [u32; 3], mut scheduler: impl Scheduler<u64>) -> f64 {
    let len = |number: u64| 40 + (number * 7919 % 1460) as u32;
    for number in 0..9_000 {
        let packet = Packet {
            priority: number as u32 % 3,
            ..Packet::new(FlowId(number as u32 % 3), len(number), number)
        };
        scheduler.enqueue(NOW, packet).expect("room");
    }
    let mut turns = [0i64; 3];
    let mut sent = [0i64; 3];
    let mut last = None;
    let mut worst = 0.0f64;
    for _ in 0..3_000 {
        let packet = scheduler.dequeue(NOW).expect("backlogged");
        let band = packet.priority as usize;
        if let Some(before) = last.replace(band).filter(|before| *before != band) {
            let rest = turns[before] * i64::from(quanta[before]) - sent[before];
            worst = worst.max((rest as f64).abs() / 1500.0);
        }
        // What the turns so far do not cover begins another one.
        if sent[band] + i64::from(packet.len) > turns[band] * i64::from(quanta[band]) {
            turns[band] += 1;
        }
        sent[band] += i64::from(packet.len);
    }
    worst
}

/// Lemma 2: after its m-th turn a band has sent m Q less a deficit below the longest packet.
#[test]
fn turns_send_their_quanta() {
    let quanta = [1514, 4000, 9000];
    let worst = carried(quanta, build("ets quanta 1514 4000 9000"));
    assert!(worst < 1.0, "{worst} of a packet");
    for other in ["ets quanta 4000 1514 9000", "ets quanta 1514 4000 12000"] {
        let worst = carried(quanta, build(other));
        assert!(worst > 1.0, "{other} must break it: {worst}");
    }
}

/// Largest difference of two bands' services per unit of quantum over any interval, over the bound,
/// with all bands backlogged and quanta in the ratio 1, 2 and 5 of 1514 bytes.
fn unfairness(mut scheduler: impl Scheduler<u64>) -> f64 {
    let weights = [1.0, 2.0, 5.0];
    let mut number = 0;
    let mut arrive = |scheduler: &mut dyn Scheduler<u64>, class: u32| {
        number += 1;
        let packet = Packet {
            priority: class,
            ..Packet::new(FlowId(class), 64 + (number * 7919 % 1451) as u32, number)
        };
        scheduler.enqueue(NOW, packet).expect("room");
    };
    for _ in 0..40 {
        (0..3).for_each(|class| arrive(&mut scheduler, class));
    }
    let mut service = [0.0f64; 3];
    let mut extremes = [[(0.0f64, 0.0f64); 3]; 3];
    let mut worst = 0.0f64;
    for _ in 0..20_000 {
        let packet = scheduler.dequeue(NOW).expect("backlogged");
        arrive(&mut scheduler, packet.priority);
        let class = packet.priority as usize;
        service[class] += f64::from(packet.len) / weights[class];
        for (one, two) in [(0, 1), (0, 2), (1, 2)] {
            let ahead = service[one] - service[two];
            let (least, most) = &mut extremes[one][two];
            (*least, *most) = (least.min(ahead), most.max(ahead));
            let bound = 1514.0 + 1514.0 / weights[one] + 1514.0 / weights[two];
            worst = worst.max((*most - *least) / bound);
        }
    }
    worst
}

#[test]
fn bands_share_by_their_quanta() {
    let fair = unfairness(build("ets quanta 1514 3028 7570"));
    assert!((0.6..=1.0).contains(&fair), "{fair} of the bound");
    for other in ["ets quanta 1514 3028 7571", "ets bands 3", "fifo"] {
        let worst = unfairness(build(other));
        assert!(worst > 1.0, "{other} must break it: {worst}");
    }
}

/// Slots in which a packet of the second band is blocked by a packet of the first in each slot.
fn blocked(mut scheduler: impl Scheduler<u64>, slots: u64) -> u64 {
    scheduler
        .enqueue(NOW, with_priority(1, 1, 0))
        .expect("room");
    for slot in 0..slots {
        let urgent = with_priority(0, 0, slot);
        scheduler.enqueue(NOW, urgent).expect("room");
        let sent = scheduler.dequeue(NOW).expect("work-conserving");
        if sent.priority == 1 {
            return slot;
        }
    }
    slots
}

#[test]
fn a_busy_strict_band_starves_the_others() {
    let strict = build("ets strict 1 quanta 1500");
    assert_eq!(blocked(strict, 10_000), 10_000);
    assert!(
        blocked(build("ets quanta 1500 1500"), 10_000) <= 1,
        "round robin does not"
    );
}

#[test]
fn a_full_buffer_gives_up_the_newest_of_the_longest_band() {
    let packets = [2, 5, 5, 0, 1, 5, 7, 0].map(|class| with_priority(0, class, 0));
    let expected = [
        (2, DropReason::PushedOut),
        (5, DropReason::Full),
        (6, DropReason::Full),
        (7, DropReason::Full),
    ];
    assert_eq!(dropped(build("ets bands 8 strict 2"), &packets), expected);
    for other in ["priority", "fifo"] {
        assert_ne!(dropped(build(other), &packets), expected, "{other}");
    }
}

/// A node of a hierarchy: each child has one packet in the queue and is refilled when the packet
/// leaves.
fn children_served(text: &str, classes: &[u32], packets: u64) -> Vec<u32> {
    let mut node = build(text);
    let stands_for = |child: u32| with_priority(child, classes[child as usize], 0);
    let mut left = vec![packets; classes.len()];
    for child in 0..classes.len() as u32 {
        node.enqueue(NOW, stands_for(child)).expect("room");
    }
    let mut served = Vec::new();
    let mut refill = |FlowId(child): FlowId| {
        left[child as usize] -= 1;
        (left[child as usize] > 0).then(|| stands_for(child))
    };
    while let Some(packet) = node.dequeue_refilled(NOW, &mut refill) {
        served.push(packet.flow.0);
    }
    served
}

#[test]
fn a_child_that_is_refilled_keeps_the_turn_and_the_deficit_of_its_band() {
    let classes = [2, 0, 1];
    let text = "ets strict 1 quanta 1000 2000";
    let expected = [1, 1, 1, 1, 0, 2, 2, 0, 2, 2, 0, 0];
    let mut from_class_2_on = children_served(text, &[1, 0, 2], 4);
    assert_eq!(from_class_2_on, expected);
    from_class_2_on.sort_unstable();
    let mut other = children_served(text, &classes, 4);
    other.sort_unstable();
    assert_eq!(other, from_class_2_on);
}

#[test]
fn a_child_that_lost_its_packet_is_taken_out() {
    let mut node = build("ets strict 1 quanta 1000 2000");
    let packets = [(0, 1, 0), (1, 0, 1), (0, 2, 2), (2, 1, 3), (3, 1, 4)]
        .map(|(flow, class, number)| with_priority(flow, class, number));
    for packet in packets {
        node.enqueue(NOW, packet).expect("room");
    }
    let mut newest_of = |flow| {
        let gone = node.evict_flow(FlowId(flow)).map(|packet| packet.payload);
        node.check_invariants();
        gone
    };
    assert_eq!(
        [newest_of(0), newest_of(9), newest_of(2)],
        [Some(2), None, Some(3)]
    );
    let rest: Vec<_> = std::iter::from_fn(|| node.dequeue(NOW))
        .map(|packet| packet.payload)
        .collect();
    assert_eq!(rest, [1, 0, 4]);
}

#[test]
fn classes_go_to_the_bands_that_are_written() {
    let bands = |text: &str| {
        let config = config(text);
        (0..10)
            .map(|class| config.band_of(class))
            .collect::<Vec<_>>()
    };
    assert_eq!(bands("ets"), [0, 1, 2, 3, 4, 5, 6, 7, 7, 7]);
    assert_eq!(
        bands("ets strict 1 quanta 3000 1500"),
        [0, 1, 2, 2, 2, 2, 2, 2, 2, 2]
    );
    assert_eq!(
        bands("ets bands 3 priomap 2 1 0"),
        [2, 1, 0, 2, 2, 2, 2, 2, 2, 2]
    );
    assert_eq!(config("ets strict 2").number_of_bands(), 2, "as tc");
    assert_eq!(
        config("ets bands 5 strict 2 quanta 900").quantum_of(3),
        Some(1514)
    );
}

fn error(text: &str) -> ConfigError {
    text.parse::<QueueSpec>().expect_err(text)
}

#[test]
fn what_tc_refuses_is_refused_with_the_legal_values() {
    for (text, told) in [
        ("ets bands 3 strict 2 quanta 1500 1500", "3 bands at most"),
        ("ets strict 16 quanta 1500", "16 bands at most"),
        (
            "ets bands 3 priomap 0 3",
            "bands 0 to 2; more bands: bands 4",
        ),
        ("ets quanta", "numbers after it"),
        ("ets quanta 3000 0", "1b to 1mb"),
        ("ets quanta 3000 x", "x"),
        (
            "ets priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            "16 numbers at most",
        ),
        ("ets priomap 0 -1", "-1"),
        ("prio bands 17", "0 to 16"),
        ("prio bands 3 priomap 3", "bands 0 to 2"),
    ] {
        let error = error(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

/// `prio` alone is `priority`, which has a class for each number; with bands it is ETS.
#[test]
fn prio_with_bands_is_ets_with_strict_bands() {
    let read = |text: &str| {
        text.parse::<QueueSpec>()
            .expect("legal")
            .discipline
            .to_string()
    };
    assert_eq!(read("prio"), "priority");
    assert_eq!(read("prio bands 4"), "ets bands 4 strict 4");
    assert_eq!(
        read("prio priomap 2 1 0"),
        "ets bands 3 strict 3 priomap 2 1 0"
    );
    let strict = ets::Config {
        strict: 8,
        ..ets::Config::default()
    };
    let ours = strict.build::<u64>(Seed::new(0)).expect("legal");
    let packets: Vec<_> = (0..100)
        .map(|number| with_priority(0, (number * 5 % 8) as u32, number))
        .collect();
    let theirs = priority::Config.build(Seed::new(0)).expect("legal");
    assert_eq!(order(ours, &packets), order(theirs, &packets));
    let fifo = fifo::Config.build(Seed::new(0)).expect("legal");
    assert_ne!(
        order(fifo, &packets),
        order(build("ets strict 8"), &packets)
    );
}

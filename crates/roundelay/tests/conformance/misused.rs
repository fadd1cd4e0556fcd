//! Misuse: a handle that its owner queues twice breaks the order of its packets, but no call loops, and
//! no memory but the owner's own packets is at stake. Debug builds say so at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration as Span;

use roundelay::schedulers::AnyDiscipline;
use roundelay::schedulers::custom::Order;
use roundelay::{
    Acknowledgement, Control as _, FlowId, Handle, Instant, Packet, Rate, Scheduler as _, Seed,
};
use roundelay_conformance::subjects;

/// Handles in the order in which they are queued, some of them twice.
const ORDERS: [&[u32]; 6] = [
    &[0, 0],
    &[0, 1, 0],
    &[0, 1, 2, 1],
    &[0, 1, 2, 0, 3, 1],
    &[3, 2, 1, 0, 3, 3, 0],
    &[0, 1, 2, 3, 4, 5, 6, 7, 2, 5, 5],
];
/// Longest wait for a few dozens of calls.
const PATIENCE: Span = Span::from_secs(30);

/// A few calls with these handles, in as many flows. A panic ends them.
fn call(discipline: &AnyDiscipline, handles: &[u32], flows: u32) {
    let mut scheduler = discipline
        .build_by_handle(Seed::new(1))
        .expect("legal parameters");
    scheduler.set_link_rate(Rate::from_bits_per_second(1_000_000).expect("a rate"));
    let mut now = Instant::ZERO;
    let queue = |scheduler: &mut Order, now| {
        for (number, handle) in (0..).zip(handles) {
            let flow = FlowId(number % flows);
            let ack = Acknowledgement {
                number,
                is_bare: true,
                ..Acknowledgement::default()
            };
            scheduler.set_acknowledgement(flow, Some(&ack));
            let packet = Packet::new(flow, 100 + 100 * number, Handle(*handle));
            _ = scheduler.enqueue(now, packet);
            while scheduler.take_dropped().is_some() {}
        }
    };
    queue(&mut scheduler, now);
    for number in 0..40 {
        now = now + roundelay::Duration::from_millis(300);
        if number % 5 == 4 {
            _ = scheduler.evict();
        } else {
            _ = scheduler.dequeue(now);
        }
        for _ in 0..100 {
            if scheduler.take_dropped().is_none() {
                break;
            }
        }
        if number == 20 {
            queue(&mut scheduler, now);
        }
    }
}

/// All calls with a discipline. Returns whether they end within the patience.
fn ends(discipline: AnyDiscipline) -> bool {
    let (tell, told) = channel();
    thread::spawn(move || {
        for handles in ORDERS {
            for flows in [1, 2, 3] {
                let calls = || call(&discipline, handles, flows);
                _ = catch_unwind(AssertUnwindSafe(calls));
            }
        }
        _ = tell.send(());
    });
    told.recv_timeout(PATIENCE).is_ok()
}

#[test]
fn a_handle_that_is_queued_twice_lets_no_call_loop() {
    let mut looping = Vec::new();
    for discipline in subjects() {
        let name = discipline.to_string();
        if !ends(discipline) {
            looping.push(name);
        }
    }
    assert_eq!(looping, Vec::<String>::new(), "a call loops");
}

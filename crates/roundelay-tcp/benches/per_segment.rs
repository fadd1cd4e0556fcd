//! Benchmark: nanoseconds for each data segment with its acknowledgement, in a sender and a
//! receiver: `cargo bench -p roundelay-tcp`. The first numeric argument is the number of segments;
//! under callgrind, instructions a segment are the difference of two runs over the difference of
//! segments.

use std::collections::VecDeque;
use std::time::Instant as Clock;

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Control, Flavour, Receiver, Segment, Sender};

/// Receive windows in segments.
const WINDOWS: [u32; 2] = [100, 10_000];

/// A pipe with a delay of one round trip that loses each `period`-th new segment.
fn run(config: Config, segments: u64, period: u64) -> Sender {
    let mut sender = Sender::new(config, None).expect("legal");
    let mut receiver = Receiver::new(config).expect("legal");
    let (mut now, mut pipe, mut new) =
        (Instant::ZERO, VecDeque::<(Instant, Segment)>::new(), 0_u64);
    let round_trip = Duration::from_micros(u64::from(config.receive_window));
    sender.open(now);
    while sender.statistics().segments < segments {
        while let Some(segment) = sender.poll(now) {
            new += u64::from(!segment.is_retransmission());
            if segment.is_retransmission() || new % period != 0 {
                pipe.push_back((now + round_trip, segment));
            }
            now += Duration::from_nanos(900);
        }
        let Some((there, segment)) = pipe.pop_front() else {
            now = sender.timer().expect("data is in flight");
            sender.on_timer(now);
            continue;
        };
        now = now.max(there);
        if let Some(answer) = receiver.on_segment(now, &segment, false) {
            sender.on_segment(now, &answer);
        }
    }
    sender
}

fn main() {
    let segments = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(4_000_000);
    let only = std::env::args()
        .skip(1)
        .find(|argument| argument.starts_with(char::is_uppercase));
    for (name, flavour, control) in [
        ("NewReno", Flavour::NewReno, Control::Reno),
        ("Sack", Flavour::Sack, Control::Reno),
        ("Cubic", Flavour::Sack, Control::Cubic),
        ("Rack", Flavour::Sack, Control::Cubic),
    ] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for window in WINDOWS {
            for period in [u64::MAX, 1000, 50] {
                let config = Config {
                    flavour,
                    control,
                    rack: name == "Rack",
                    tail_loss_probe: name == "Rack",
                    receive_window: window,
                    syn_exchange: false,
                    delayed_acknowledgement: None,
                    ..Config::rfc()
                };
                let start = Clock::now();
                let sender = run(config, segments, period);
                let nanos = start.elapsed().as_nanos() as f64 / segments as f64;
                let loss = if period == u64::MAX {
                    "no loss".to_owned()
                } else {
                    format!("loss 1/{period}")
                };
                println!(
                    "{name:8} window {window:6} {loss:10} {nanos:6.1} ns  timeouts {}",
                    sender.statistics().timeouts
                );
            }
        }
    }
}

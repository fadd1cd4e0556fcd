//! TCP small queues: a host's own queue holds two pieces of a sender's data, and no window.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Flags, Offload, Segment, Sender};

fn sender(small_queue: bool) -> Sender {
    let config = Config {
        segment_len: 1000,
        syn_exchange: false,
        small_queue,
        offload: Offload::Split,
        initial_window: 40,
        ..Config::linux()
    };
    let mut sender = Sender::new(config, None).expect("legal");
    sender.open(Instant::ZERO);
    sender.learn_round_trip(Instant::ZERO, Duration::from_millis(100));
    sender
}

fn sent(sender: &mut Sender, now: Instant) -> u64 {
    let mut segments = 0;
    while sender.poll(now).is_some() {
        segments += 1;
    }
    segments
}

/// A window of 40 in 100 ms makes pieces of two segments. Two of them wait, and the next one joins them
/// when the interface begins with the first one.
#[test]
fn two_pieces_wait_behind_the_one_that_is_sent() {
    let mut open = sender(false);
    assert_eq!(sent(&mut open, Instant::ZERO), 40);
    let mut small = sender(true);
    assert_eq!(sent(&mut small, Instant::ZERO), 4);
    for expected in [2, 0, 2, 0] {
        small.depart(1000);
        assert_eq!(sent(&mut small, Instant::ZERO), expected);
    }
}

/// The window has room all the time, so it does not grow: the host is the limit, and not the path.
#[test]
fn what_the_host_holds_back_opens_no_window() {
    let mut small = sender(true);
    let before = small.window();
    let mut now = Instant::ZERO;
    let mut acknowledged = 0;
    // A segment in 5 ms: twenty are on their way, and up to five wait.
    for _ in 0..100 {
        sent(&mut small, now);
        small.depart(1000);
        now += Duration::from_millis(5);
        if now.as_picos() > 100_000_000_000 {
            acknowledged += 1000;
            let echo = Instant::from_picos(now.as_picos() - 100_000_000_000);
            small.on_segment(
                now,
                &Segment {
                    acknowledgement: acknowledged,
                    echo,
                    flags: Flags::ACK,
                    window: u16::MAX,
                    ..Segment::default()
                },
            );
        }
    }
    assert!(acknowledged > 50_000);
    assert_eq!(small.window(), before);
}

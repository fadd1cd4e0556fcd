//! ECN: a mark and a loss at once, and the sender's window-reduced flag.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Block, Config, Control, Flags, Segment, Sender};

const LEN: u32 = 1000;

fn millis(count: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(count)
}

fn send(sender: &mut Sender, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll(now)).collect()
}

/// RFC 3168, section 6.1.2: the first new segment after a window reduction has the CWR flag, but no
/// retransmission has; and queues must not mark retransmissions (section 6.1.5).
#[test]
fn new_data_tells_of_a_reduction_and_repairs_do_not() {
    let config = Config {
        control: Control::Reno,
        segment_len: LEN,
        initial_window: 10,
        ecn: true,
        syn_exchange: false,
        timestamps: false,
        limited_transmit: false,
        window_validation: false,
        ..Config::rfc()
    };
    let mut sender = Sender::new(config, None).expect("legal");
    sender.open(Instant::ZERO);
    assert_eq!(send(&mut sender, Instant::ZERO).len(), 10);
    // A mark: the window is five segments with nine in flight, so nothing can be sent.
    let first = Segment {
        acknowledgement: LEN.into(),
        flags: Flags::ACK.with(Flags::ECE),
        ..Segment::default()
    };
    sender.on_segment(millis(100), &first);
    assert_eq!(
        (sender.window(), send(&mut sender, millis(100)).len()),
        (5000, 0)
    );
    // The second segment is lost: three duplicates, and a retransmission.
    for number in 1..=3 {
        let block = Block {
            offset: LEN,
            len: number * LEN,
        };
        let duplicate = Segment {
            blocks: [block, Block::default(), Block::default()],
            ..first
        };
        sender.on_segment(millis(100 + u64::from(number)), &duplicate);
    }
    let repair = send(&mut sender, millis(103));
    assert_eq!(
        repair
            .iter()
            .map(|segment| segment.sequence)
            .collect::<Vec<_>>(),
        [u64::from(LEN)]
    );
    assert!(
        repair[0].is_retransmission()
            && !repair[0].flags.has(Flags::CWR)
            && !repair[0].flags.has(Flags::ECT)
    );
    // All data is acknowledged: new segments, the first with CWR.
    sender.on_segment(
        millis(203),
        &Segment {
            acknowledgement: u64::from(LEN) * 10,
            flags: Flags::ACK,
            ..Segment::default()
        },
    );
    let new = send(&mut sender, millis(203));
    assert!(new.len() > 1 && new.iter().all(|segment| segment.flags.has(Flags::ECT)));
    assert_eq!(
        new.iter()
            .map(|segment| segment.flags.has(Flags::CWR))
            .collect::<Vec<_>>(),
        [&[true][..], &vec![false; new.len() - 1]].concat()
    );
}

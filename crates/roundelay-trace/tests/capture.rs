//! Legal captures of every format and variant give their packets.

use std::io::{self, Read};

use crate::common::*;
use proptest::prelude::*;
use roundelay_trace::Capture;

const SECOND: i64 = 1_000_000_000;

#[test]
fn pcap_counts_micros_in_both_byte_orders() {
    for order in ORDERS {
        let file = [
            pcap(order, MICROS, (2, 4), 65_535, 101),
            record(order, 7, 999_999, b"abc"),
            record(order, 8, 0, b""),
        ]
        .concat();
        let reading = read(file);
        assert_eq!(reading.error, None);
        assert_eq!(reading.times(), [7_999_999_000, 8 * SECOND]);
        assert_eq!(
            reading.frames[0],
            Owned {
                time_nanos: 7_999_999_000,
                original_len: 3,
                link: 101,
                bytes: b"abc".to_vec()
            }
        );
        assert_eq!((reading.notes.packets, reading.notes.empty), (2, 1));
    }
}

#[test]
fn pcap_counts_nanos_if_its_magic_says_so() {
    for order in ORDERS {
        let file = [
            pcap(order, NANOS, (2, 4), 65_535, 1),
            record(order, 7, 999_999_999, b"x"),
        ]
        .concat();
        assert_eq!(read(file).times(), [7_999_999_999]);
    }
}

#[test]
fn kuznetzovs_pcap_has_longer_record_headers() {
    for order in ORDERS {
        let one = [
            record_header(order, 1, 2, 3, 3),
            vec![9; 8],
            b"abc".to_vec(),
        ]
        .concat();
        let reading = read([pcap(order, KUZNETZOV, (2, 4), 65_535, 1), one.clone(), one].concat());
        assert_eq!((reading.error.as_deref(), reading.frames.len()), (None, 2));
        assert_eq!(
            (
                reading.frames[1].time_nanos,
                reading.frames[1].bytes.as_slice()
            ),
            (SECOND + 2_000, &b"abc"[..])
        );
    }
}

#[test]
fn pcap_before_version_2_4_may_swap_the_lengths() {
    let file = [
        pcap(Little, MICROS, (2, 2), 65_535, 1),
        record_header(Little, 1, 0, 1500, 3),
        b"abc".to_vec(),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        (
            reading.frames[0].original_len,
            reading.frames[0].bytes.as_slice()
        ),
        (1500, &b"abc"[..])
    );
}

#[test]
fn the_upper_half_of_the_link_type_is_not_part_of_it() {
    // A frame check sequence of 4 bytes: the "f" bit, and 2 in units of 16 bits.
    for order in ORDERS {
        let mut file = pcap(order, MICROS, (2, 4), 65_535, 1);
        file[20..24].copy_from_slice(&order.u32(0x2400_0001));
        assert_eq!(
            read([file, record(order, 0, 0, b"abc")].concat()).frames[0].link,
            1
        );
    }
}

#[test]
fn a_snapped_packet_keeps_its_length_on_the_link() {
    let file = [
        plain_pcap(),
        record_header(Little, 0, 0, 2, 1514),
        vec![1, 2],
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        (
            reading.frames[0].original_len,
            reading.frames[0].bytes.as_slice()
        ),
        (1514, &[1, 2][..])
    );
    assert_eq!(
        (reading.notes.raised_lengths, reading.notes.oversized),
        (0, 0)
    );
}

#[test]
fn a_packet_is_never_shorter_than_what_was_captured_of_it() {
    let file = [plain_pcap(), record_header(Little, 0, 0, 2, 0), vec![1, 2]].concat();
    let reading = read(file);
    assert_eq!(
        (
            reading.frames[0].original_len,
            reading.notes.raised_lengths,
            reading.notes.empty
        ),
        (2, 1, 0)
    );
}

#[test]
fn oversized_packets_are_given_and_counted() {
    let file = [
        plain_pcap(),
        record_header(Little, 0, 0, 0, u32::MAX),
        record_header(Little, 0, 0, 0, 262_144),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        (reading.frames[0].original_len, reading.notes.oversized),
        (u32::MAX, 1)
    );
}

#[test]
fn a_fraction_of_a_second_or_more_is_added_and_counted() {
    let file = [
        plain_pcap(),
        record(Little, 1, 1_000_000, b"x"),
        record(Little, 1, 999_999, b"x"),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        (reading.times(), reading.notes.fractions_of_a_second_or_more),
        (vec![2 * SECOND, SECOND + 999_999_000], 1)
    );
}

#[test]
fn a_capture_without_packets_ends_at_once() {
    for file in [plain_pcap(), section(Big), plain_pcapng()] {
        let reading = read(file);
        assert_eq!((reading.frames.len(), reading.error), (0, None));
        assert_eq!(reading.notes.truncated_tail_offset, None);
    }
}

#[test]
fn pcapng_in_both_byte_orders() {
    for order in ORDERS {
        let file = [
            section(order),
            interface(order, 1, 65_535, &[]),
            enhanced(order, 0, 0x1_0000_0002, b"abcde"),
        ]
        .concat();
        let reading = read(file);
        let expected = Owned {
            time_nanos: 0x1_0000_0002 * 1000,
            original_len: 5,
            link: 1,
            bytes: b"abcde".to_vec(),
        };
        assert_eq!((reading.error, reading.frames), (None, vec![expected]));
        assert_eq!((reading.notes.sections, reading.notes.interfaces), (1, 1));
    }
}

#[test]
fn pcapng_version_1_2_is_1_0() {
    assert_eq!(
        read(
            [
                section_of_version(Little, 1, 2),
                interface(Little, 1, 0, &[])
            ]
            .concat()
        )
        .error,
        None
    );
}

#[test]
fn pcapng_numbers_interfaces_anew_in_each_section_and_may_change_byte_order() {
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]),
        interface(Little, 101, 0, &[]),
        enhanced(Little, 1, 1, b"a"),
        section(Big),
        interface(Big, 113, 0, &[]),
        enhanced(Big, 0, 2, b"b"),
    ]
    .concat();
    let reading = read(file);
    let found: Vec<_> = reading
        .frames
        .iter()
        .map(|frame| (frame.time_nanos, frame.link))
        .collect();
    assert_eq!(
        (reading.error, found),
        (None, vec![(1_000, 101), (2_000, 113)])
    );
    assert_eq!((reading.notes.sections, reading.notes.interfaces), (2, 3));
}

#[test]
fn pcapng_interfaces_each_count_time_their_own_way() {
    let order = Big;
    let file = [
        section(order),
        interface(order, 1, 0, &if_tsresol(order, 9)),
        interface(order, 1, 0, &if_tsresol(order, 0x80 | 10)),
        interface(order, 1, 0, &if_tsresol(order, 12)),
        interface(
            order,
            1,
            0,
            &[if_tsoffset(order, -3), if_tsresol(order, 0)].concat(),
        ),
        interface(order, 1, 0, &if_tsresol(order, 19)),
        interface(order, 1, 0, &if_tsresol(order, 0x80 | 63)),
        enhanced(order, 0, 1_234_567_890, b""),
        enhanced(order, 1, 1024 + 512, b""),
        enhanced(order, 2, 1_234_567, b""),
        enhanced(order, 3, 2, b""),
        enhanced(order, 4, u64::MAX, b""),
        enhanced(order, 5, u64::MAX, b""),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(reading.error, None);
    assert_eq!(
        reading.times(),
        [
            1_234_567_890,
            1_500_000_000,
            1_234,
            -SECOND,
            1_844_674_407,
            1_999_999_999
        ]
    );
}

#[test]
fn other_interface_options_and_those_after_the_end_are_passed_over() {
    let order = Little;
    let options = [
        option(order, 2, b"eth0"),
        option(order, 3, b"a link"),
        if_tsresol(order, 9),
        option(order, 0, b""),
        if_tsresol(order, 3),
    ]
    .concat();
    let file = [
        section(order),
        interface(order, 1, 0, &options),
        enhanced(order, 0, 5, b""),
    ]
    .concat();
    assert_eq!(read(file).times(), [5]);
}

#[test]
fn obsolete_packet_blocks_give_packets() {
    for order in ORDERS {
        let file = [
            section(order),
            interface(order, 1, 0, &[]),
            obsolete(order, 0, 0xffff, 3, b"abc"),
        ]
        .concat();
        let reading = read(file);
        assert_eq!(
            (
                reading.error,
                reading.frames[0].time_nanos,
                reading.frames[0].bytes.as_slice()
            ),
            (None, 3_000, &b"abc"[..])
        );
    }
}

#[test]
fn simple_packets_are_snapped_and_have_the_time_of_the_one_before() {
    for order in ORDERS {
        let file = [
            section(order),
            interface(order, 1, 4, &[]),
            simple(order, 3, b"abc"),
            enhanced(order, 0, 7, b"x"),
            simple(order, 9, b"abcd"),
        ]
        .concat();
        let reading = read(file);
        assert_eq!(
            (reading.error.as_deref(), reading.times()),
            (None, vec![0, 7_000, 7_000])
        );
        assert_eq!(
            (
                reading.frames[0].bytes.as_slice(),
                reading.frames[2].bytes.as_slice()
            ),
            (&b"abc"[..], &b"abcd"[..])
        );
        assert_eq!(
            (reading.frames[2].original_len, reading.notes.without_time),
            (9, 2)
        );
    }
}

#[test]
fn blocks_without_packets_are_counted_and_passed_over() {
    let mut file = plain_pcapng();
    // Name resolution, statistics, secrets, custom, and an unassigned number; one block is longer
    // than the read buffer.
    for kind in [4, 5, 10, 0xbad, 0x4000_0bad, 0x7fff_ffff] {
        file.extend(block(Little, kind, &[1; 7]));
    }
    file.extend(block(Little, 4, &vec![0; 3 << 20]));
    file.extend(enhanced(Little, 0, 1, b"x"));
    let reading = read(file);
    assert_eq!(
        (
            reading.error,
            reading.frames.len(),
            reading.notes.skipped_blocks
        ),
        (None, 1, 7)
    );
}

#[test]
fn time_going_backwards_is_counted() {
    // coap_mqtt.pcap spans 121,949,576 s and steps back seven times.
    let seconds = [100, 121_949_676, 5, 5, 6, 0];
    let file = [
        plain_pcap(),
        seconds
            .map(|seconds| record(Little, seconds, 0, b"x"))
            .concat(),
    ]
    .concat();
    let reading = read(file);
    assert_eq!((reading.times().len(), reading.notes.backwards), (6, 2));
}

#[test]
fn position_and_size_tell_the_progress() {
    let file = [
        plain_pcap(),
        record(Little, 1, 0, b"abc"),
        record(Little, 2, 0, b"abc"),
    ]
    .concat();
    let path = std::env::temp_dir().join(format!("roundelay-position-{}.pcap", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let mut capture = Capture::open(&path).unwrap();
    assert_eq!(
        (capture.position(), capture.size()),
        (24, Some(24 + 2 * 19))
    );
    capture.next().unwrap();
    assert_eq!(capture.position(), 24 + 19);
    while capture.next().unwrap().is_some() {}
    assert_eq!(capture.position(), capture.size().unwrap());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_long_capture_passes_through_a_small_window() {
    // 40 MB of records across the ends of the window.
    let one = record(Little, 1, 0, &[7; 997]);
    let count = 40_000_000 / one.len() as u64;
    let file = io::Cursor::new(plain_pcap()).chain(Repeat {
        piece: one,
        at: 0,
        left: count,
    });
    let mut capture = Capture::from_reader("long", file).unwrap();
    while let Some(frame) = capture.next().unwrap() {
        assert!(frame.bytes.len() == 997 && frame.bytes.iter().all(|byte| *byte == 7));
    }
    assert_eq!(capture.notes().packets, count);
}

/// A reader that repeats the same bytes.
struct Repeat {
    piece: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let length = buffer.len().min(self.piece.len() - self.at);
        buffer[..length].copy_from_slice(&self.piece[self.at..self.at + length]);
        self.at += length;
        if self.at == self.piece.len() {
            (self.at, self.left) = (0, self.left - 1);
        }
        Ok(length)
    }
}

/// Returns at most `most` bytes per read, and is interrupted now and then.
struct Drip {
    bytes: io::Cursor<Vec<u8>>,
    most: usize,
    reads: usize,
}

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(self.most);
        self.bytes.read(&mut buffer[..most])
    }
}

/// Seconds, microseconds (up to two seconds) and bytes.
type Packets = Vec<(u32, u32, Vec<u8>)>;

fn any_packets() -> impl Strategy<Value = Packets> {
    prop::collection::vec(
        (
            any::<u32>(),
            0..2_000_000_u32,
            prop::collection::vec(any::<u8>(), 0..80),
        ),
        0..20,
    )
}

proptest! {
    #[test]
    fn what_was_written_is_read(packets in any_packets(), big in any::<bool>()) {
        let order = if big { Big } else { Little };
        let mut old = pcap(order, MICROS, (2, 4), 65_535, 1);
        let mut new = [section(order), interface(order, 1, 0, &[])].concat();
        for (seconds, fraction, data) in &packets {
            old.extend(record(order, *seconds, *fraction, data));
            new.extend(enhanced(order, 0, u64::from(*seconds) * 1_000_000 + u64::from(*fraction), data));
        }
        let (old, new) = (read(old), read(new));
        prop_assert_eq!(&old.frames, &new.frames);
        prop_assert_eq!((old.error, new.error), (None, None));
        for ((seconds, fraction, data), frame) in packets.iter().zip(&old.frames) {
            prop_assert_eq!(frame.time_nanos, i64::from(*seconds) * SECOND + i64::from(*fraction) * 1000);
            prop_assert_eq!(&frame.bytes, data);
        }
        prop_assert_eq!(old.frames.len(), packets.len());
    }

    #[test]
    fn a_reader_that_drips_gives_the_same(packets in any_packets(), ng in any::<bool>(), most in 1..5_usize, cut in 0..60_usize) {
        let mut file = if ng { plain_pcapng() } else { plain_pcap() };
        for (seconds, fraction, data) in &packets {
            file.extend(if ng { enhanced(Little, 0, u64::from(*seconds), data) } else { record(Little, *seconds, *fraction, data) });
        }
        file.truncate(file.len().saturating_sub(cut));
        prop_assert_eq!(read_from(Drip { bytes: io::Cursor::new(file.clone()), most, reads: 0 }), read(file));
    }
}

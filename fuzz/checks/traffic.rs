//! What must hold for any packets that are read as connections, and that are compared: in order or
//! not, whatever their options, lengths and clocks say. The fuzzer runs it, and the tests run it on
//! the corpus.

#[path = "packets.rs"]
mod packets;

use std::io::Cursor;

use roundelay_trace::connections::{Applications, applications};
use roundelay_trace::{Capture, CompareError, Options, compare};

/// Applications and figures have the packets that were captured.
pub(crate) fn check(data: &[u8]) {
    let made = packets::packets(data);
    let capture = pcap(&made);
    let open = || Capture::from_reader("fuzz", Cursor::new(capture.clone())).expect("a capture");
    let rate = "1mbit".parse().expect("a rate");
    let specs = ["fifo", "cake"].map(|text| text.parse().expect("a discipline"));
    let mut options = Options::new(rate, specs.to_vec());
    options.seeds = 1;
    options.measure_cost = false;
    for adapts in [true, false] {
        options.adapts = adapts;
        match applications(open(), &options, &mut ()) {
            Ok(found) => check_applications(&found, &made),
            Err(error) => check_error(&error),
        }
        match compare(open(), &options, &mut ()) {
            Ok(comparison) => {
                assert!(comparison.capture.packets <= made.len() as u64);
            }
            Err(error) => check_error(&error),
        }
    }
}

fn check_applications(found: &Applications, made: &[packets::Packet]) {
    assert!(found.packets <= made.len() as u64);
    let bytes: u64 = made.iter().map(|packet| u64::from(packet.len)).sum();
    for connection in &found.connections {
        assert!(connection.start <= found.length, "{connection:?}");
        for message in &connection.messages {
            assert!(message.bytes > 0, "{connection:?}");
        }
        // Data that passed elsewhere is known by its acknowledgements: half of all numbers at most.
        assert!(connection.limited.iter().sum::<u64>() <= bytes.max(1) << 32);
    }
}

/// An error names the capture.
fn check_error(error: &CompareError) {
    assert!(error.to_string().contains("fuzz"), "{error}");
}

/// A capture of the packets, with nanoseconds.
fn pcap(made: &[packets::Packet]) -> Vec<u8> {
    /// Half of the seconds that the format has.
    const START: i64 = 2_000_000_000;
    let mut capture = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        capture.extend(word.to_le_bytes());
    }
    for packet in made {
        let seconds = START + packet.nanos.div_euclid(1_000_000_000);
        let nanos = packet.nanos.rem_euclid(1_000_000_000);
        for word in [
            seconds as u32,
            nanos as u32,
            packet.frame.len() as u32,
            packet.len,
        ] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(&packet.frame);
    }
    capture
}

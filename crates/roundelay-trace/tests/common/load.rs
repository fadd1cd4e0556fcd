//! A call beside a bulk flow: the load of captures in the wrapping that reports of other projects
//! are about.

use std::io::Cursor;

use super::*;
use roundelay_trace::{CompareError, Comparison, Options, compare};

pub(crate) const CALLER: [u8; 4] = [192, 168, 7, 1];
pub(crate) const CALLED: [u8; 4] = [192, 168, 7, 2];
/// Nanoseconds.
pub(crate) const MILLI: u64 = 1_000_000;

/// A packet: time in nanoseconds from the start, and its frame.
pub(crate) type Sample = (u64, Vec<u8>);

pub(crate) fn numbered(mut packet: Vec<u8>, number: usize) -> Vec<u8> {
    packet[4..6].copy_from_slice(&(number as u16 + 1).to_be_bytes());
    packet
}

/// A call: 200 bytes each 20 ms.
pub(crate) fn call(seconds: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for number in 0..seconds * 50 {
        let payload = [&ports(5004, 5006)[..], &[0; 172]].concat();
        let packet = numbered(ipv4(UDP, CALLER, CALLED, &payload), number);
        samples.push((
            number as u64 * 20 * MILLI + 1_000_003,
            ethernet(0x0800, &packet),
        ));
    }
    samples
}

/// Bulk: bursts of 30 full packets, 6 Mbit/s.
pub(crate) fn bulk(seconds: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for number in 0..seconds * 515 {
        let burst = number as u64 / 30;
        let at = burst * 58_160_000 + (number as u64 % 30) * 12_000;
        samples.push((at, ethernet(0x0800, &segment(1400, number))));
    }
    samples
}

/// A TCP segment with this much data, behind the one before.
pub(crate) fn segment(data: usize, number: usize) -> Vec<u8> {
    let header = [
        &ports(40_000, 9000)[..4],
        &((data * number) as u32).to_be_bytes(),
        &[0; 4],
        &[0x50, 0x10, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let payload = [header, vec![0; data]].concat();
    numbered(ipv4(6, CALLER, CALLED, &payload), number)
}

pub(crate) fn sorted(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by_key(|(at, _)| *at);
    samples
}

pub(crate) fn both(seconds: usize) -> Vec<Sample> {
    sorted([call(seconds), bulk(seconds)].concat())
}

pub(crate) const NEAR: [u8; 4] = [10, 0, 0, 1];
pub(crate) const FAR: [u8; 4] = [10, 0, 0, 2];

pub(crate) fn mending() -> Options {
    let specs = ["fifo", "fq_codel linux", "drr"].map(|spec| spec.parse().unwrap());
    Options {
        measure_cost: false,
        seeds: 1,
        adapts: true,
        mtu: Some(1500),
        ..Options::new("8mbit".parse().unwrap(), specs.to_vec())
    }
}

pub(crate) fn replayed(bytes: Vec<u8>, options: &Options) -> Result<Comparison, CompareError> {
    let capture = Capture::from_reader("t.pcap", Cursor::new(bytes))?;
    compare(capture, options, &mut ())
}

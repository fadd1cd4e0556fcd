//! Speed of reading, parsing and classifying packets:
//! `cargo test --release -p roundelay-trace --test all -- speed:: --ignored --nocapture`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, process};

use crate::common::*;
use roundelay_trace::{Capture, Classifier, FlowBy, parse};

const PACKETS: u32 = 2_000_000;

/// Packets of 1,000 flows, with a snap length of 96 bytes; the flow changes with each packet, so
/// caches do not help.
fn write_capture(path: &Path, header: &[u8], packet: impl Fn(u32, &[u8]) -> Vec<u8>) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(header).unwrap();
    for number in 0..PACKETS {
        let flow = number.wrapping_mul(2_654_435_761) % 1000;
        let source = [10, 1, (flow / 250) as u8, (flow % 250) as u8];
        let payload = [ports(1024 + flow as u16, 443), vec![0; 54]].concat();
        file.write_all(&packet(
            number,
            &ethernet(0x0800, &ipv4(TCP, source, B, &payload)),
        ))
        .unwrap();
    }
    file.flush().unwrap();
}

fn packets_a_second(path: &Path) -> f64 {
    let start = Instant::now();
    let mut capture = Capture::open(path).unwrap();
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    while let Some(frame) = capture.next().unwrap() {
        classifier.classify(
            parse(frame.link, frame.bytes)
                .as_ref()
                .map_err(|reason| *reason),
        );
    }
    assert_eq!(
        (capture.notes().packets, classifier.flows().len()),
        (u64::from(PACKETS), 1000)
    );
    f64::from(PACKETS) / start.elapsed().as_secs_f64()
}

fn temporary(name: &str) -> PathBuf {
    env::temp_dir().join(format!("roundelay-speed-{}-{name}", process::id()))
}

#[test]
#[ignore = "a measurement: writes 500 MB into the temporary directory"]
fn packets_a_second_on_one_core() {
    let (old, new) = (temporary("old.pcap"), temporary("new.pcapng"));
    write_capture(&old, &plain_pcap(), |number, frame| {
        record(Little, number, 0, frame)
    });
    write_capture(&new, &plain_pcapng(), |number, frame| {
        enhanced(Little, 0, u64::from(number), frame)
    });
    for path in [&old, &new] {
        let best = (0..5).map(|_| packets_a_second(path)).fold(0.0, f64::max);
        println!(
            "{:.1} million packets/s, {}",
            best / 1e6,
            path.extension().unwrap().display()
        );
        fs::remove_file(path).unwrap();
    }
}

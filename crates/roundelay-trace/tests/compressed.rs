//! Compressed captures: gzip, zstd and xz files, whole, cut short, damaged and greedy.
//!
//! `compressed/forty.pcap.*` hold 40 packets of raw IP, written by gzip 1.12, zstd 1.5.4 and xz
//! 5.4.1 in two members, frames or streams each; between the two frames of the zstd file is a
//! skippable frame, between the two streams of the xz file padding.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::*;
use roundelay_trace::Capture;

const GZIP: &[u8] = include_bytes!("compressed/forty.pcap.gz");
const ZSTD: &[u8] = include_bytes!("compressed/forty.pcap.zst");
const XZ: &[u8] = include_bytes!("compressed/forty.pcap.xz");
const FILES: [(&str, &[u8]); 3] = [("gzip", GZIP), ("zstd", ZSTD), ("xz", XZ)];

/// The capture in the three files.
fn forty() -> Vec<u8> {
    let packet = |number: u8| {
        let ports = [1000_u16 + u16::from(number % 3), 53, 40, 0]
            .map(u16::to_be_bytes)
            .concat();
        let content: Vec<u8> = (0..32)
            .map(|place: u32| (u32::from(number) * place % 251) as u8)
            .collect();
        let mut packet = ipv4(
            UDP,
            [10, 0, 0, 1 + number % 3],
            [10, 0, 0, 9],
            &[ports, content].concat(),
        );
        packet[5] = number;
        packet
    };
    let records = (0..40).flat_map(|number| {
        record(
            Little,
            1_700_000_000,
            u32::from(number) * 1000,
            &packet(number),
        )
    });
    pcap(Little, MICROS, (2, 4), 65_535, 101)
        .into_iter()
        .chain(records)
        .collect()
}

#[test]
fn all_members_frames_and_streams_are_read_whatever_the_name() {
    let plain = read(forty());
    assert_eq!((plain.frames.len(), plain.error.as_deref()), (40, None));
    for (name, file) in FILES {
        assert_eq!(read(file), plain, "{name}");
    }
}

#[test]
fn bytes_one_at_a_time_give_the_same() {
    struct OneByOne(Cursor<&'static [u8]>);
    impl Read for OneByOne {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }
    for (name, file) in FILES {
        assert_eq!(
            read_from(OneByOne(Cursor::new(file))),
            read(forty()),
            "{name}"
        );
    }
}

/// As of a capture that is not compressed and ends in the middle of a packet: every whole packet,
/// and a note.
#[test]
fn a_file_cut_short_gives_its_whole_packets_and_a_note() {
    let whole = read(forty());
    for (name, file) in FILES {
        let mut most = 0;
        for length in 6..file.len() {
            let cut = read(&file[..length]);
            if let Some(error) = &cut.error {
                assert_eq!(cut.frames, [], "{name}: {length}: {error}");
                assert!(
                    error.starts_with("t.pcap: offset 0: the ") && error.contains("; expected "),
                    "{error}"
                );
                continue;
            }
            assert!(whole.frames.starts_with(&cut.frames), "{name}: {length}");
            // Between two members a file ends as a shorter file would; the skippable frame of zstd
            // and the padding of xz make further ends.
            let at_a_border = cut.notes.truncated_compression == 0;
            assert!(
                !at_a_border || (15..25).contains(&cut.frames.len()),
                "{name}: {length}: {:?}",
                cut.notes
            );
            most = most.max(cut.frames.len());
        }
        assert!(most >= 19, "{name}: {most}");
        let ends = (6..file.len())
            .filter(|length| read(&file[..*length]).notes.truncated_compression == 0)
            .count();
        assert!(
            ends < file.len() / 2,
            "{name}: {ends} of {} cuts without a note",
            file.len()
        );
    }
    let message = error(&GZIP[..12]);
    assert_eq!(
        message,
        "t.pcap: offset 0: the gzip file is cut off after 0 decompressed bytes; expected a pcap or pcapng capture"
    );
}

/// A frame whose window is larger than the file, in blocks of at most 128 KiB: all whole blocks are
/// read.
#[test]
fn a_cut_zstd_frame_gives_the_bytes_of_its_window() {
    let packet = ipv4(
        UDP,
        [10, 0, 0, 1],
        [10, 0, 0, 9],
        &[&[3, 232, 0, 53, 3, 240, 0, 0][..], &[7; 1000]].concat(),
    );
    let records: Vec<u8> = (0..1000)
        .flat_map(|number| record(Little, 1_700_000_000, number * 900, &packet))
        .collect();
    let plain = [pcap(Little, MICROS, (2, 4), 65_535, 101), records].concat();
    let compressed =
        ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
    assert_eq!(read(&compressed).frames.len(), 1000);
    let mut before = 0;
    for part in 1..20 {
        let cut = read(&compressed[..compressed.len() * part / 20]);
        let blocks = cut.frames.len() * 1044 / (128 << 10);
        assert!(
            cut.error.is_some() || cut.notes.truncated_compression == 1,
            "{part}: {:?}",
            cut.notes
        );
        assert!(
            blocks + 2 >= part * 1_044_000 / 20 / (128 << 10),
            "{part}: {} packets",
            cut.frames.len()
        );
        assert!(cut.frames.len() >= before);
        before = cut.frames.len();
    }
    assert!(before > 700, "{before}");
}

#[test]
fn a_damaged_file_is_an_error_with_the_name_of_its_format() {
    let whole = read(forty());
    for (name, file) in FILES {
        let (mut errors, mut named) = (0, 0);
        for place in 0..file.len() {
            let mut damaged = file.to_vec();
            damaged[place] ^= 0x10;
            let reading = read(&damaged);
            let is_noted = reading.notes.truncated_compression == 1;
            // Some bytes carry nothing: a time in a gzip header, the content of a skippable frame.
            assert!(
                reading.error.is_some() || is_noted || reading.frames == whole.frames,
                "{name}: byte {place}"
            );
            errors += usize::from(reading.error.is_some());
            named += usize::from(
                reading
                    .error
                    .is_some_and(|error| error.contains(&format!("broken {name} data ("))),
            );
        }
        assert!(
            errors > file.len() / 2 && named > file.len() / 4,
            "{name}: {errors} errors, {named} named, of {}",
            file.len()
        );
    }
}

/// The checksum of the content is the last field of a gzip member but one, and of a zstd frame.
#[test]
fn wrong_checksums_are_found() {
    for (name, file, place) in [("gzip", GZIP, 8), ("zstd", ZSTD, 4)] {
        let mut damaged = file.to_vec();
        let place = damaged.len() - place;
        damaged[place] ^= 1;
        let reading = read(damaged);
        assert_eq!(reading.frames.len(), 40, "{name}");
        let error = reading.error.expect("an error");
        let bytes = forty().len();
        assert!(
            error.starts_with(&format!("t.pcap: offset {bytes}: broken {name} data (")),
            "{error}"
        );
        assert!(
            error.ends_with(&format!(
                "); expected a whole file, as '{name} -t' finds it"
            )),
            "{error}"
        );
    }
}

#[test]
fn bytes_after_the_last_member_are_an_error() {
    for (name, file) in FILES {
        let error = error([file, b"more than that"].concat());
        assert!(error.contains(&format!("broken {name} data (")), "{error}");
    }
}

#[test]
fn a_decompressor_that_wants_a_gigabyte_is_refused() {
    // RFC 8878, section 3.1.1.1.2: an exponent of 20 is a window of 2^30 bytes.
    let zstd = [&b"\x28\xb5\x2f\xfd\0"[..], &[20 << 3], &[0; 64]].concat();
    // The first 24 bytes of a file by `xz --lzma2=preset=0,dict=1GiB`.
    let xz = [
        &b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"[..],
        b"\x02\0\x21\x01\x24\0\0\0\x5e\x1f\xc7\xf9",
        &[0; 64],
    ]
    .concat();
    for (name, file) in [("zstd", zstd), ("xz", xz)] {
        let message = error(file);
        assert_eq!(
            message,
            format!(
                "t.pcap: offset 0: {name} data that takes more memory to decompress; expected at most 128 MiB"
            )
        );
    }
}

#[test]
fn a_file_compressed_twice_says_so() {
    let mut twice = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    twice.write_all(ZSTD).unwrap();
    let message = error(twice.finish().unwrap());
    assert!(
        message.contains("a file compressed with zstd, twice (decompress it first: unzstd t.pcap)"),
        "{message}"
    );
}

#[test]
fn what_is_no_capture_inside_is_shown() {
    let mut text = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    text.write_all(b"No.\tTime\n").unwrap();
    assert!(error(text.finish().unwrap()).contains("text that starts with \"No.\\tTime\""));
    let empty = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast())
        .finish()
        .unwrap();
    assert_eq!(
        error(empty),
        "t.pcap: offset 0: the gzip file ends after 0 decompressed bytes; expected a pcap or pcapng capture"
    );
}

/// Reads a counted number of bytes from below.
struct Metered(Cursor<Vec<u8>>, Arc<AtomicUsize>);

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(buffer)?;
        self.1.fetch_add(length, Ordering::Relaxed);
        Ok(length)
    }
}

/// 8 MiB of packets that do not compress: the first packet comes before most of the file is read.
#[test]
fn files_are_read_as_a_stream() {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut file = plain_pcap();
    for number in 0..8192 {
        file.extend(record(
            Little,
            number,
            0,
            &std::iter::repeat_with(&mut noise)
                .take(1008)
                .collect::<Vec<_>>(),
        ));
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&file).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        &file[..],
        ruzstd::encoding::CompressionLevel::Uncompressed,
    );
    for (name, packed) in [("gzip", gzip.finish().unwrap()), ("zstd", zstd)] {
        let (size, read) = (packed.len(), Arc::new(AtomicUsize::new(0)));
        let mut capture =
            Capture::from_reader("t.pcap", Metered(Cursor::new(packed), Arc::clone(&read)))
                .unwrap();
        assert!(capture.next().unwrap().is_some());
        let taken = read.load(Ordering::Relaxed);
        assert!(
            taken < size / 4,
            "{name}: {taken} of {size} bytes for one packet"
        );
        assert!(capture.position() <= taken as u64 && capture.position() > 0);
        let mut packets = 1;
        while capture.next().unwrap().is_some() {
            packets += 1;
        }
        assert_eq!((packets, capture.position()), (8192, size as u64), "{name}");
    }
}

/// An error of the reader below is no broken compression.
#[test]
fn a_failing_disk_is_told_as_such() {
    struct Failing(Cursor<&'static [u8]>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("disk on fire")),
                length => Ok(length),
            }
        }
    }
    for (name, file) in FILES {
        let reading = read_from(Failing(Cursor::new(&file[..file.len() - 30])));
        let error = reading.error.unwrap_or_else(|| panic!("{name}: no error"));
        assert!(
            error.contains(": cannot read: ") && error.contains("disk on fire"),
            "{error}"
        );
    }
}

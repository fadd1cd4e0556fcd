//! Damaged, foreign and malicious captures: each gives its whole packets, then a clear error or a
//! note, without panics, endless loops or excessive memory.

use std::io;
use std::path::Path;

use crate::common::*;
use proptest::prelude::*;
use roundelay_trace::{Capture, Classifier, FlowBy, LinkType, parse};

#[test]
fn an_empty_file_says_so() {
    assert_eq!(
        error(b""),
        "t.pcap: offset 0: the file is empty; expected a pcap or pcapng capture"
    );
}

#[test]
fn a_missing_file_says_so() {
    let message = Capture::open(Path::new("no/such.pcap"))
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("no/such.pcap: cannot open: "),
        "{message}"
    );
}

#[test]
fn a_directory_is_refused() {
    let message = Capture::open(Path::new("src")).unwrap_err().to_string();
    assert_eq!(message, "src: cannot open: is a directory");
}

#[test]
fn other_compressed_files_say_how_to_decompress_them() {
    for (magic, what, command) in [
        (&b"BZh91AY&SY"[..], "bzip2", "bunzip2 -k t.pcap"),
        (b"\x04\x22\x4d\x18....", "lz4", "unlz4 t.pcap"),
    ] {
        let message = error(magic);
        assert!(
            message.contains(&format!(
                "compressed with {what} (decompress it first: {command})"
            )),
            "{message}"
        );
    }
}

#[test]
fn foreign_captures_say_how_to_convert_them() {
    for (magic, what) in [
        (&b"GMBU\0\x02"[..], "a Microsoft Network Monitor 2 capture"),
        (b"RTSS\0\x01", "a Microsoft Network Monitor 1 capture"),
        (b"snoop\0\0\0\0\0\0\x02", "a snoop capture"),
        (b"TRSNIFF data    \x1a", "a Sniffer capture"),
    ] {
        let message = error(magic);
        let expected = format!(
            "t.pcap: offset 0: {what} (convert it first: editcap -F pcapng t.pcap OUT.pcapng); expected a pcap or pcapng capture"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn text_is_shown() {
    // npm pcap-parser's malformed.pcap is 30 bytes of text.
    let message = error("this is not a pcap file, sorry");
    assert_eq!(
        message,
        "t.pcap: offset 0: text that starts with \"this is not a pcap file, sorry\"; expected a pcap or pcapng capture"
    );
    assert!(error("No.\tTime\n").contains("text that starts with \"No.\\tTime\""));
    assert!(error("é".repeat(100)).contains("text that starts with \"é"));
}

#[test]
fn unknown_magic_is_shown() {
    assert_eq!(
        error([0xde, 0xad, 0xbe, 0xef, 0]),
        "t.pcap: offset 0: unknown first bytes de ad be ef; expected a pcap or pcapng capture"
    );
    assert_eq!(
        error([0xd4, 0xc3]),
        "t.pcap: offset 0: unknown first bytes d4 c3; expected a pcap or pcapng capture"
    );
}

#[test]
fn records_without_a_file_header_are_no_capture() {
    // pcapfix's test_without_pcap_header.pcap.
    assert!(
        error(record(Little, 1_300_000_000, 5, &[1; 60]))
            .contains("unknown first bytes 00 6d 7c 4d")
    );
}

#[test]
fn a_pcap_header_cut_short_is_an_error() {
    for length in 4..24 {
        let message = error(&plain_pcap()[..length]);
        assert_eq!(
            message,
            format!(
                "t.pcap: offset 0: the file ends after {length} bytes, inside its header; expected a pcap header of 24 bytes"
            )
        );
    }
}

#[test]
fn a_section_header_cut_short_is_an_error() {
    for length in 4..28 {
        let message = error(&section(Big)[..length]);
        let expected = format!(
            "t.pcap: offset 0: the file ends after {length} bytes, inside its section header; \
             expected a section header of at least 28 bytes"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn unsupported_pcap_versions_are_refused() {
    // libpcap's pcap-invalid-version-1.pcap and -2.pcap.
    for (major, minor) in [(1, 4), (2, 5), (3, 0), (543, 0)] {
        let message = error(pcap(Big, MICROS, (major, minor), 65_535, 1));
        assert_eq!(
            message,
            format!("t.pcap: offset 4: pcap version {major}.{minor}; expected version 2.0 to 2.4")
        );
    }
}

#[test]
fn unsupported_pcapng_versions_are_refused() {
    // libpcap's pcapng-invalid-vers-1.pcapng and -2.pcapng.
    for (major, minor) in [(0, 0), (1, 1), (1, 3), (2, 0)] {
        let message = error(section_of_version(Little, major, minor));
        assert_eq!(
            message,
            format!(
                "t.pcap: offset 12: pcapng version {major}.{minor}; expected version 1.0 or 1.2"
            )
        );
    }
    let later = error([plain_pcapng(), section_of_version(Big, 2, 0)].concat());
    assert_eq!(
        later,
        "t.pcap: offset 60: pcapng version 2.0; expected version 1.0 or 1.2"
    );
}

#[test]
fn bad_byte_order_magic_is_refused() {
    let mut file = section(Little);
    file[8] = 0;
    assert_eq!(
        error(file),
        "t.pcap: offset 8: byte-order magic 003c2b1a; expected 1a2b3c4d or 4d3c2b1a"
    );
}

/// PcapPlusPlus #2180: a record of 4 GB was allocated before reading. pcap-file 2.0 and wader/fq
/// looped on such a record.
#[test]
fn huge_captured_lengths_are_refused_before_memory_is_taken() {
    let file = [
        plain_pcap(),
        record_header(Little, 0, 0, 4_000_000_000, 4_000_000_000),
    ]
    .concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 24: record claims 4000000000 captured bytes; expected at most 262144"
    );
    // nDPI's fuzz-2021-10-13.pcap.
    let file = [
        plain_pcap(),
        record(Little, 0, 0, b"abc"),
        record_header(Little, 0, 0, 524_501, 524_501),
        vec![0; 524_501],
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        reading.error.unwrap(),
        "t.pcap: offset 43: record claims 524501 captured bytes; expected at most 262144"
    );
    assert_eq!(reading.frames.len(), 1);
}

/// pcap-file #48: some captures have packets longer than the snap length; pcap-file 2.0 looped
/// forever on them.
#[test]
fn packets_longer_than_the_snap_length_are_accepted_and_counted() {
    let limit = vec![0; 262_144];
    let file = [
        pcap(Little, MICROS, (2, 4), 64, 1),
        record(Little, 0, 0, &[0; 65]),
        record(Little, 0, 0, &limit),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        (
            reading.error,
            reading.frames.len(),
            reading.notes.longer_than_snap_length
        ),
        (None, 2, 2)
    );
    let file = [
        section(Little),
        interface(Little, 1, 64, &[]),
        enhanced(Little, 0, 0, &[0; 65]),
        enhanced(Little, 0, 0, &limit),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(
        (
            reading.error,
            reading.frames.len(),
            reading.notes.longer_than_snap_length
        ),
        (None, 2, 2)
    );
    let file = [
        pcap(Little, MICROS, (2, 4), 64, 1),
        record(Little, 0, 0, &[0; 262_145]),
    ]
    .concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 24: record claims 262145 captured bytes; expected at most 262144"
    );
}

/// pcap-parser #20: endless refill at the end of a truncated file. A killed tcpdump leaves such
/// files.
#[test]
fn a_pcap_cut_in_its_last_record_gives_the_packets_before_and_a_note() {
    let file = [
        plain_pcap(),
        record(Little, 1, 0, b"abc"),
        record(Little, 2, 0, b"defg"),
    ]
    .concat();
    for cut in 1..20 {
        let reading = read(&file[..file.len() - cut]);
        assert_eq!((reading.error, reading.frames.len()), (None, 1));
        assert_eq!(
            (
                reading.notes.truncated_tail_offset,
                reading.notes.truncated_tail_bytes
            ),
            (Some(43), 20 - cut as u64)
        );
    }
    assert_eq!(read(&file[..43]).notes.truncated_tail_offset, None);
}

#[test]
fn a_pcapng_cut_in_its_last_block_gives_the_packets_before_and_a_note() {
    let last = enhanced(Little, 0, 2, b"defgh");
    let file = [plain_pcapng(), enhanced(Little, 0, 1, b"abc"), last.clone()].concat();
    let start = file.len() - last.len();
    for cut in 1..last.len() {
        let reading = read(&file[..file.len() - cut]);
        assert_eq!((reading.error, reading.frames.len()), (None, 1));
        assert_eq!(reading.notes.truncated_tail_offset, Some(start as u64));
        assert_eq!(
            reading.notes.truncated_tail_bytes,
            (last.len() - cut) as u64
        );
    }
}

/// wader/fq #96: a block of length 0 was read again and again.
#[test]
fn a_block_of_length_zero_is_refused() {
    let file = [plain_pcapng(), vec![0; 64]].concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 52: block of type 0x0 claims a length of 0; expected a multiple of 4 from 12 to 16777216"
    );
}

#[test]
fn illegal_block_lengths_are_refused() {
    for (kind, length, least, most) in [
        (5, 11, 12, 16_777_216_u32),
        (5, 13, 12, 16_777_216),
        (5, 16_777_220, 12, 16_777_216),
        (5, u32::MAX, 12, 16_777_216),
        (1, 16, 20, 16_777_216),
        (2, 28, 32, 16_777_216),
        (3, 12, 16, 16_777_216),
        (6, 28, 32, 16_777_216),
    ] {
        for order in ORDERS {
            let file = [
                section(order),
                order.u32(kind).to_vec(),
                order.u32(length).to_vec(),
                vec![0; 64],
            ]
            .concat();
            let expected = format!(
                "t.pcap: offset 32: block of type {kind:#x} claims a length of {length}; expected a multiple of 4 from {least} to {most}"
            );
            assert_eq!(error(file), expected);
        }
    }
}

/// PcapPlusPlus #2160: a section header of fewer than 28 bytes was read beyond its end.
#[test]
fn a_section_header_that_is_too_short_or_too_long_is_refused() {
    for length in [0, 12, 24, 27, (1 << 20) + 4] {
        let mut file = section(Big);
        file[4..8].copy_from_slice(&Big.u32(length));
        let expected = format!(
            "t.pcap: offset 4: block of type 0xa0d0d0a claims a length of {length}; expected a multiple of 4 from 28 to 1048576"
        );
        assert_eq!(error(file), expected);
    }
}

/// libpcap's shb-option-too-long.pcapng: options of a section header are ignored.
#[test]
fn a_section_headers_options_are_not_looked_at() {
    let body = [
        &Little.u32(0x1a2b_3c4d)[..],
        &Little.u16(1),
        &Little.u16(0),
        &[0xff; 8],
        &Little.u16(4),
        &Little.u16(0xffff),
    ]
    .concat();
    assert_eq!(read(block(Little, SECTION_HEADER, &body)).error, None);
}

#[test]
fn lengths_at_both_ends_of_a_block_must_agree() {
    let mut file = [plain_pcapng(), enhanced(Little, 0, 1, b"abcd")].concat();
    let trailer = file.len() - 4;
    file[trailer] = 40;
    assert_eq!(
        error(file),
        "t.pcap: offset 80: block of 36 bytes ends with the length 40; expected 36, as at its start"
    );
}

#[test]
fn a_packet_must_fit_in_its_block() {
    let file = [
        plain_pcapng(),
        enhanced_with_lengths(Little, 0, 0, (5, 5), b"abcd"),
    ]
    .concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 68: packet block of 36 bytes claims 5 captured bytes; expected at most 4"
    );
    let file = [
        plain_pcapng(),
        enhanced_with_lengths(Little, 0, 0, (u32::MAX, 5), b"abcd"),
    ]
    .concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 68: packet block of 36 bytes claims 4294967295 captured bytes; expected at most 4"
    );
    let file = [plain_pcapng(), simple(Little, 5, b"abcd")].concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 56: packet block of 20 bytes claims 5 captured bytes; expected at most 4"
    );
    let file = [plain_pcapng(), enhanced(Little, 0, 0, &vec![0; 262_148])].concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 68: packet block of 262180 bytes claims 262148 captured bytes; expected at most 262144"
    );
}

#[test]
fn packets_of_unknown_interfaces_are_refused() {
    let file = [plain_pcapng(), enhanced(Little, 1, 0, b"")].concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 56: packet of interface 1; expected interface 0, the only one described so far"
    );
    let file = [
        plain_pcapng(),
        interface(Little, 1, 0, &[]),
        obsolete(Little, 0xffff, 0, 0, b""),
    ]
    .concat();
    assert_eq!(
        error(file),
        "t.pcap: offset 76: packet of interface 65535; expected interface 0 to 1, the interfaces described so far"
    );
}

#[test]
fn packets_before_the_first_interface_are_refused() {
    let expected =
        "packet of interface 0; expected an interface description before the first packet";
    assert_eq!(
        error([section(Big), enhanced(Big, 0, 0, b"")].concat()),
        format!("t.pcap: offset 36: {expected}")
    );
    assert_eq!(
        error([section(Big), simple(Big, 0, b"")].concat()),
        format!("t.pcap: offset 28: {expected}")
    );
    // The interfaces of one section are unknown in the next.
    assert_eq!(
        error([plain_pcapng(), section(Big), enhanced(Big, 0, 0, b"")].concat()),
        format!("t.pcap: offset 84: {expected}")
    );
}

#[test]
fn more_interfaces_than_a_packet_can_name_are_refused() {
    let file = [section(Little), interface(Little, 1, 0, &[]).repeat(65_537)].concat();
    let offset = 28 + 20 * 65_536;
    assert_eq!(
        error(file),
        format!(
            "t.pcap: offset {offset}: section describes more than 65536 interfaces; expected at most 65536"
        )
    );
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]).repeat(65_536),
        enhanced(Little, 65_535, 0, b"x"),
    ]
    .concat();
    assert_eq!(read(file).error, None);
}

#[test]
fn bad_time_resolutions_are_refused() {
    let with = |options: &[u8]| error([section(Little), interface(Little, 1, 0, options)].concat());
    let legal = "10^0 to 10^-19 or 2^0 to 2^-63";
    assert_eq!(
        with(&if_tsresol(Little, 20)),
        format!("t.pcap: offset 44: if_tsresol of 10^-20 s; expected {legal}")
    );
    assert_eq!(
        with(&if_tsresol(Little, 127)),
        format!("t.pcap: offset 44: if_tsresol of 10^-127 s; expected {legal}")
    );
    assert_eq!(
        with(&if_tsresol(Little, 0x80 | 64)),
        format!("t.pcap: offset 44: if_tsresol of 2^-64 s; expected {legal}")
    );
    assert_eq!(
        with(&option(Little, 9, &[6, 6])),
        "t.pcap: offset 44: if_tsresol of 2 bytes; expected 1 byte"
    );
    assert_eq!(
        with(&option(Little, 9, &[])),
        "t.pcap: offset 44: if_tsresol of 0 bytes; expected 1 byte"
    );
    assert_eq!(
        with(&option(Little, 14, &[0; 4])),
        "t.pcap: offset 44: if_tsoffset of 4 bytes; expected 8 bytes"
    );
}

#[test]
fn a_second_time_option_is_refused() {
    let twice = [if_tsresol(Little, 6), if_tsresol(Little, 9)].concat();
    let message = error([section(Little), interface(Little, 1, 0, &twice)].concat());
    assert_eq!(
        message,
        "t.pcap: offset 52: a second if_tsresol option; expected one for each interface"
    );
    let twice = [if_tsoffset(Little, 0), if_tsoffset(Little, 0)].concat();
    let message = error([section(Little), interface(Little, 1, 0, &twice)].concat());
    assert_eq!(
        message,
        "t.pcap: offset 56: a second if_tsoffset option; expected one for each interface"
    );
}

#[test]
fn an_option_longer_than_its_block_is_refused() {
    let options = [Little.u16(2), Little.u16(9)].concat();
    let message = error([section(Little), interface(Little, 1, 0, &options)].concat());
    assert_eq!(
        message,
        "t.pcap: offset 44: option 2 claims 9 bytes; expected at most 0 (the rest of its block)"
    );
}

/// pcap-file #18: micros times 1000 overflowed 32 bits.
#[test]
fn the_largest_pcap_time_fits() {
    let file = [plain_pcap(), record(Little, u32::MAX, u32::MAX, b"x")].concat();
    assert_eq!(
        read(file).times(),
        [4_294_967_295 * 1_000_000_000 + 4_294_967_295 * 1000]
    );
}

#[test]
fn times_that_no_64_bits_of_nanoseconds_hold_are_those_of_the_packet_before() {
    let file = [
        plain_pcapng(),
        enhanced(Little, 0, 9_223_372_036_854_775, b""),
        enhanced(Little, 0, 9_223_372_036_854_776, b""),
    ]
    .concat();
    let reading = read(file);
    assert_eq!(reading.times(), [9_223_372_036_854_775_000; 2]);
    assert_eq!(
        (reading.notes.wrong_times, reading.notes.without_time),
        (1, 0)
    );
    for offset in [i64::MIN, i64::MAX] {
        let file = [
            section(Little),
            interface(Little, 1, 0, &if_tsoffset(Little, offset)),
            enhanced(Little, 0, 0, b""),
        ]
        .concat();
        let reading = read(file);
        assert_eq!(reading.times(), [0]);
        assert_eq!(reading.notes.wrong_times, 1);
    }
}

#[test]
fn a_reader_that_fails_names_the_offset() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("cable pulled"))
        }
    }
    let reading = read_from(io::Read::chain(
        io::Cursor::new([plain_pcap(), record(Little, 1, 0, b"abc"), vec![0; 3]].concat()),
        Broken,
    ));
    assert_eq!(
        (reading.frames.len(), reading.error.as_deref()),
        (1, Some("t.pcap: offset 46: cannot read: cable pulled"))
    );
}

/// A capture with one of each block or record.
fn specimen(ng: bool) -> Vec<u8> {
    let packet = ethernet(0x0800, &ipv4(TCP, A, B, &ports(1, 2)));
    if !ng {
        return [
            plain_pcap(),
            record(Little, 1, 2, &packet),
            record(Little, 3, 4, &packet),
        ]
        .concat();
    }
    let options = [
        if_tsresol(Little, 9),
        if_tsoffset(Little, 5),
        option(Little, 0, b""),
    ]
    .concat();
    [
        section(Little),
        interface(Little, 1, 0, &options),
        enhanced(Little, 0, 7, &packet),
        simple(Little, 42, &packet[..42]),
        obsolete(Little, 0, 0, 9, &packet),
        block(Little, 5, &[0; 12]),
        section(Big),
        interface(Big, 1, 0, &if_tsresol(Big, 0x80 | 3)),
        enhanced(Big, 0, 7, &packet),
    ]
    .concat()
}

/// Reads, parses and classifies; the number of packets is limited by the number of bytes.
fn survives(file: &[u8]) {
    let reading = read(file);
    assert!(
        reading.frames.len() <= file.len() / 16,
        "{} packets in {} bytes",
        reading.frames.len(),
        file.len()
    );
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    for frame in &reading.frames {
        assert!(frame.original_len as usize >= frame.bytes.len());
        let headers = parse(LinkType(frame.link), &frame.bytes);
        let flow = classifier.classify(headers.as_ref().map_err(|reason| *reason));
        assert!(flow.index() < classifier.flows().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_never_panic_and_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
        survives(&[plain_pcap(), bytes.clone()].concat());
        survives(&[plain_pcapng(), bytes].concat());
    }

    #[test]
    fn mutations_never_panic_and_end(
        ng in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in 0..40_usize,
    ) {
        let mut file = specimen(ng);
        for (place, value) in changes {
            let place = place.index(file.len());
            file[place] = value;
        }
        file.truncate(file.len() - cut);
        survives(&file);
    }

    #[test]
    fn random_frames_never_panic(
        link in prop::sample::select(vec![0, 1, 9, 12, 14, 50, 101, 104, 108, 113, 228, 229, 276, 999_u16]),
        bytes in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let _ = parse(LinkType(link), &bytes);
    }

    #[test]
    fn mutated_frames_never_panic(ip6 in any::<bool>(), at in 0..60_usize, value in any::<u8>(), cut in 0..60_usize) {
        const OPTIONS_THEN_FRAGMENT: [u8; 28] =
            [44, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 1, 0, 0, 0, 9, 17, 0, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4];
        const AUTHENTICATION: [u8; 16] = [6, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 80, 0, 81];
        let mut packet =
            if ip6 { ipv6(0, 60, v6(1), v6(2), &OPTIONS_THEN_FRAGMENT) } else { ipv4(51, A, B, &AUTHENTICATION) };
        let place = at % packet.len();
        packet[place] = value;
        let length = packet.len();
        let _ = parse(LinkType::RAW, &packet[..length.saturating_sub(cut)]);
    }
}

#[test]
fn a_specimen_is_whole() {
    for ng in [false, true] {
        let reading = read(specimen(ng));
        assert_eq!(
            (
                reading.error,
                reading.notes.truncated_tail_offset,
                reading.frames.len()
            ),
            (None, None, if ng { 4 } else { 2 })
        );
    }
}

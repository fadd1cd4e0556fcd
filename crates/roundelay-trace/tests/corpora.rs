//! Replay of the fuzzers' corpora without a fuzzer.

use std::fs;
use std::path::Path;

use crate::common::*;

#[path = "../../../fuzz/checks/capture.rs"]
mod capture;
#[path = "../../../fuzz/checks/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/checks/filter.rs"]
mod filter;
#[path = "../../../fuzz/checks/headers.rs"]
mod headers;
#[path = "../../../fuzz/checks/traffic.rs"]
mod traffic;
#[path = "../../../fuzz/checks/tree.rs"]
mod tree;
#[path = "../../../fuzz/checks/weights.rs"]
mod weights;
#[path = "../../../fuzz/checks/words.rs"]
mod words;

#[test]
fn capture_corpus() {
    corpus::replay("capture", 0, capture::check);
}

#[test]
fn headers_corpus() {
    corpus::replay("headers", 0, headers::check);
}

#[test]
fn weights_corpus() {
    corpus::replay("weights", 0, weights::check);
}

#[test]
fn filter_corpus() {
    corpus::replay("filter", 200, filter::check);
}

#[test]
fn tree_corpus() {
    corpus::replay("tree", 200, tree::check);
}

#[test]
fn traffic_corpus() {
    corpus::replay("traffic", 4, traffic::check);
}

#[test]
fn words_corpus() {
    corpus::replay("words", 100, words::check);
}

/// Writes the seeds again; files added by a fuzzer stay.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn write_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let seeds = [
        ("capture", capture_seeds()),
        ("headers", header_seeds()),
        ("weights", weight_seeds()),
    ];
    for (corpus_name, seeds) in seeds {
        for (name, bytes) in seeds {
            fs::write(folder.join(corpus_name).join(name), bytes).unwrap();
        }
    }
}

type Seeds = Vec<(&'static str, Vec<u8>)>;

fn capture_seeds() -> Seeds {
    let packet = ethernet(0x0800, &ipv4(TCP, A, B, &ports(443, 51_000)));
    let with = |header: Vec<u8>, order| {
        [
            header,
            record(order, 1, 2, &packet),
            record(order, 3, 4, &packet[..20]),
        ]
        .concat()
    };
    let options = [
        if_tsresol(Big, 9),
        if_tsoffset(Big, -1),
        option(Big, 0, b""),
    ]
    .concat();
    let kuznetzov = [
        record_header(Little, 1, 2, 3, 3),
        vec![0; 8],
        b"abc".to_vec(),
    ]
    .concat();
    vec![
        ("micros-little", with(plain_pcap(), Little)),
        ("micros-big", with(pcap(Big, MICROS, (2, 4), 96, 101), Big)),
        (
            "nanos-little",
            with(pcap(Little, NANOS, (2, 3), 96, 113), Little),
        ),
        (
            "kuznetzov",
            [pcap(Little, KUZNETZOV, (2, 4), 96, 1), kuznetzov].concat(),
        ),
        (
            "ng-little",
            [
                plain_pcapng(),
                enhanced(Little, 0, 7, &packet),
                simple(Little, 20, &packet[..20]),
            ]
            .concat(),
        ),
        (
            "ng-big",
            [
                section(Big),
                interface(Big, 1, 96, &options),
                enhanced(Big, 0, 7, &packet),
                obsolete(Big, 0, 1, 9, b"abc"),
            ]
            .concat(),
        ),
        (
            "ng-sections",
            [
                plain_pcapng(),
                block(Little, 5, &[0; 12]),
                section(Big),
                interface(Big, 276, 0, &if_tsresol(Big, 0x94)),
            ]
            .concat(),
        ),
        ("ng-length-zero", [plain_pcapng(), vec![0; 16]].concat()),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0".to_vec()),
        (
            "whole-gzip",
            include_bytes!("compressed/forty.pcap.gz").to_vec(),
        ),
        (
            "whole-zstd",
            include_bytes!("compressed/forty.pcap.zst").to_vec(),
        ),
        (
            "whole-xz",
            include_bytes!("compressed/forty.pcap.xz").to_vec(),
        ),
        ("text", b"No. Time Source\n".to_vec()),
    ]
}

fn header_seeds() -> Seeds {
    let link = |choice: u8, frame: Vec<u8>| [vec![choice], frame].concat();
    let tcp4 = ipv4(TCP, A, B, &ports(443, 51_000));
    let udp6 = ipv6(0xb8, UDP, v6(1), v6(2), &ports(5353, 53));
    let fragment = ipv6(
        0,
        0,
        v6(1),
        v6(2),
        &[
            44, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 1, 0, 0, 0, 9, 17, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4,
        ],
    );
    // QoS data with HT Control, then an A-MSDU's subframe.
    let wifi = [
        &[0x88, 0x82, 0, 0][..],
        &[4; 18],
        &[0; 2],
        &[0x80, 0, 0, 0, 0, 0],
        &[6; 14],
        &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
        &tcp4,
    ]
    .concat();
    vec![
        ("ethernet-tcp4", link(0, ethernet(0x0800, &tcp4))),
        (
            "vlan-udp6",
            link(
                0,
                ethernet(
                    0x88a8,
                    &[&[0, 9, 0x81, 0, 0, 7, 0x86, 0xdd][..], &udp6].concat(),
                ),
            ),
        ),
        (
            "mpls",
            link(
                0,
                ethernet(
                    0x8847,
                    &[&[0, 0, 0x10, 64, 0, 0, 0x21, 64][..], &tcp4].concat(),
                ),
            ),
        ),
        (
            "pppoe",
            link(
                0,
                ethernet(
                    0x8864,
                    &[&[0x11, 0, 0, 1, 0, 30, 0, 0x21][..], &tcp4].concat(),
                ),
            ),
        ),
        ("arp", link(0, ethernet(0x0806, &[0; 28]))),
        ("raw-fragment6", link(1, fragment)),
        (
            "raw-authentication4",
            link(
                1,
                ipv4(
                    51,
                    A,
                    B,
                    &[6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 0, 81],
                ),
            ),
        ),
        ("cooked", link(2, [&[0; 14][..], &[8, 0], &tcp4].concat())),
        (
            "cooked2",
            link(3, [&[0x86, 0xdd][..], &[0; 18], &udp6].concat()),
        ),
        ("loopback", link(4, [&[2, 0, 0, 0][..], &tcp4].concat())),
        ("wifi", link(13, wifi.clone())),
        (
            "radiotap",
            link(14, [&[0, 0, 9, 0, 2, 0, 0, 0, 0][..], &wifi].concat()),
        ),
        (
            "ppi",
            link(15, [&[0, 0, 8, 0, 105, 0, 0, 0][..], &wifi].concat()),
        ),
        (
            "avs",
            link(17, [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 8][..], &wifi].concat()),
        ),
        (
            "ppp-mpls",
            link(6, [&[2, 0x81, 0, 0, 0x11, 64][..], &tcp4].concat()),
        ),
        ("ppp", link(6, [&[0xff, 3, 0, 0x57][..], &udp6].concat())),
    ]
}

fn weight_seeds() -> Seeds {
    [
        ("port", "dst port 443 = 10"),
        ("network", "src 10.0.0.0/8 and host 2001:db8::1 = 4"),
        ("protocol", "udp dst port 53 and proto 17 = 8"),
        ("code-point", "dscp ef = 20"),
        ("range", "portrange 6000-6999=1024"),
        (
            "file",
            "default = 2\n[[weight]]\nmatch = \"tcp\"\nweight = 10\n",
        ),
        ("bad", "src 10.1.2.3/8 or größe = 0"),
    ]
    .map(|(name, text)| (name, text.as_bytes().to_vec()))
    .to_vec()
}

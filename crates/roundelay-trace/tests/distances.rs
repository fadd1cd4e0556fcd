//! Round trips, from captures made packet by packet whose true distances are known: with timestamps
//! that repeat, several hosts of a network, delayed and thinned acknowledgements, at any place.

use roundelay_trace::connections::{Applications, applications};
use roundelay_trace::{Capture, Options};

const SYN: u8 = 2;
const ACK: u8 = 16;
const MSS: u32 = 1448;

/// A packet: its time in milliseconds, whether the client sent it, flags, sequence number,
/// acknowledgement, bytes of data, and the clocks of its sender and of the other end.
#[derive(Debug, Clone, Copy)]
struct Packet {
    at: f64,
    of_client: bool,
    /// The last byte of the client's address, and its port.
    client: (u8, u16),
    flags: u8,
    sequence: u32,
    acknowledgement: u32,
    data: u32,
    clocks: Option<[u32; 2]>,
}

/// A pcap of raw IPv4.
fn pcap(mut packets: Vec<Packet>) -> Vec<u8> {
    packets.sort_by(|one, other| one.at.total_cmp(&other.at));
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 200, 101] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        let nanos = (packet.at * 1e6) as u64;
        let mut options = Vec::new();
        if let Some([own, other]) = packet.clocks {
            options.extend([1, 1, 8, 10]);
            options.extend(own.to_be_bytes());
            options.extend(other.to_be_bytes());
        }
        let header = 40 + options.len() as u32;
        let words = [
            (nanos / 1_000_000_000) as u32,
            (nanos % 1_000_000_000) as u32,
            header,
            header + packet.data,
        ];
        for word in words {
            file.extend(word.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend(((header + packet.data) as u16).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        let client = ([192, 168, 1, packet.client.0], packet.client.1);
        let server = ([203, 0, 113, 5], 443);
        let [from, to] = if packet.of_client {
            [client, server]
        } else {
            [server, client]
        };
        file.extend(from.0);
        file.extend(to.0);
        file.extend(from.1.to_be_bytes());
        file.extend(to.1.to_be_bytes());
        file.extend(packet.sequence.to_be_bytes());
        file.extend(packet.acknowledgement.to_be_bytes());
        file.extend([(header as u8 - 20) << 2, packet.flags]);
        file.extend([0xff, 0xff, 0, 0, 0, 0]);
        file.extend(options);
    }
    file
}

fn read(packets: Vec<Packet>) -> Applications {
    read_on(packets, "30mbit", None)
}

/// The applications of a link with a rate, and with another one where it was captured.
fn read_on(packets: Vec<Packet>, rate: &str, captured: Option<&str>) -> Applications {
    let bytes = std::io::Cursor::new(pcap(packets));
    let capture = Capture::from_reader("t.pcap", bytes).unwrap();
    let mut options = Options::new(rate.parse().unwrap(), Vec::new());
    options.adapts = true;
    options.selection.chooses = true;
    options.captured_rate = captured.map(|rate| rate.parse().unwrap());
    applications(capture, &options, &mut ()).unwrap()
}

/// Each round trip is measured, to a tenth.
fn assert_near(found: &[Option<f64>], truths: &[f64]) {
    assert_eq!(found.len(), truths.len(), "{found:?}");
    for (found, truth) in found.iter().zip(truths) {
        let found = found.expect("measured");
        assert!((found - truth).abs() <= 0.1 * truth, "{found} for {truth}");
    }
}

/// The round trips in milliseconds.
fn round_trips(read: &Applications) -> Vec<Option<f64>> {
    let mut millis = Vec::new();
    for round_trip in read.round_trips() {
        millis.push(round_trip.map(|time| time.as_nanos() as f64 / 1e6));
    }
    millis
}

/// How the ends acknowledge.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Acknowledging {
    /// Every second segment at once.
    Usual,
    /// A lone segment after 40 ms.
    Delayed,
    /// Ten segments at once.
    Thinned,
}

/// A client that fetches an answer of twenty segments, or of one, forty times.
#[derive(Debug, Clone, Copy)]
struct Fetches {
    client: (u8, u16),
    /// Milliseconds from the capture's place to the client and back, and to the server and back.
    ways: [f64; 2],
    acknowledging: Acknowledging,
    has_clocks: bool,
    has_handshake: bool,
}

impl Fetches {
    fn packets(self) -> Vec<Packet> {
        let mut packets = Vec::new();
        let [to_client, to_server] = self.ways;
        let mut add = |at: f64, of_client, flags, sequence, acknowledgement, data, heard: f64| {
            let own = if of_client { 1000 } else { 7000 };
            packets.push(Packet {
                at,
                of_client,
                client: self.client,
                flags,
                sequence,
                acknowledgement,
                data,
                clocks: self
                    .has_clocks
                    .then(|| [own + at as u32, 8000 - own + heard as u32]),
            });
        };
        if self.has_handshake {
            add(10.0, true, SYN, 99, 0, 0, 0.0);
            add(10.0 + to_server, false, SYN | ACK, 999, 100, 0, 10.0);
            let opened = 10.0 + to_server + to_client;
            add(opened, true, ACK, 100, 1000, 0, 10.0 + to_server);
        }
        let [mut asked, mut sent] = [100, 1000];
        for number in 0..40 {
            let mut now = 300.0 + 400.0 * f64::from(number);
            add(now, true, ACK, asked, sent, 200, now - 1.0);
            asked += 200;
            let rounds = if self.acknowledging == Acknowledging::Delayed {
                1
            } else {
                2
            };
            for _ in 0..rounds {
                now += to_server;
                let segments = if rounds == 1 { 1 } else { 10 };
                for segment in 0..segments {
                    let at = now + 0.15 * f64::from(segment);
                    add(at, false, ACK, sent, asked, MSS, now - to_server);
                    sent += MSS;
                    let (every, late) = match self.acknowledging {
                        Acknowledging::Usual => (2, 0.0),
                        Acknowledging::Delayed => (1, 40.0),
                        Acknowledging::Thinned => (10, 0.0),
                    };
                    if (segment + 1) % every == 0 {
                        add(at + to_client + late, true, ACK, asked, sent, 0, at);
                    }
                }
                now += to_client + 1.5;
            }
        }
        packets
    }
}

/// A capture at the client, in the middle, and at the server; each true round trip is found within a
/// tenth, or said to be in doubt.
#[test]
fn sixteen_captures_have_their_true_round_trips() {
    for ways in [[0.2, 40.0], [20.0, 25.0], [60.0, 0.2], [5.0, 75.0]] {
        let truth: f64 = ways.iter().sum();
        let usual = Fetches {
            client: (2, 50_000),
            ways,
            acknowledging: Acknowledging::Usual,
            has_clocks: true,
            has_handshake: true,
        };
        let cases = [
            usual,
            Fetches {
                acknowledging: Acknowledging::Delayed,
                has_clocks: false,
                ..usual
            },
            Fetches {
                acknowledging: Acknowledging::Thinned,
                ..usual
            },
            Fetches {
                has_clocks: false,
                has_handshake: false,
                ..usual
            },
        ];
        for case in cases {
            let read = read(case.packets());
            let [found] = round_trips(&read)[..] else {
                panic!("{case:?}");
            };
            let is_near = found.is_none_or(|found| (found - truth).abs() <= 0.1 * truth);
            let is_doubted = read.contradicting_round_trips() > 0;
            assert!(is_near || is_doubted, "{found:?} for {truth}: {case:?}");
        }
    }
}

/// Regression: two hosts of a network had the round trip of the nearer one.
#[test]
fn hosts_of_a_network_have_their_own_round_trips() {
    let mut packets = Vec::new();
    for (host, way) in [(2, 5.0), (3, 80.0)] {
        let fetches = Fetches {
            client: (host, 50_000),
            ways: [way, 0.1],
            acknowledging: Acknowledging::Usual,
            has_clocks: true,
            has_handshake: true,
        };
        packets.extend(fetches.packets());
    }
    assert_near(&round_trips(&read(packets)), &[5.1, 80.1]);
}

/// Regression: a link that is always busy holds all of its hosts up alike, and the far ones had the
/// round trip of the nearest one. What the nearest one waits at the same time is no part of theirs.
#[test]
fn far_hosts_behind_a_busy_link_have_their_own_round_trips() {
    let mut packets = Vec::new();
    for (host, way) in [(2, 5.0), (3, 80.0)] {
        // The queue grows and shrinks, and is empty in the first second alone.
        let fetches = Fetches {
            client: (host, 50_000),
            ways: [way, 0.1],
            acknowledging: Acknowledging::Usual,
            has_clocks: false,
            has_handshake: host == 2,
        };
        for mut packet in fetches.packets() {
            // Both are acknowledged at the same times.
            packet.at -= way;
            let second = (packet.at / 1000.0).floor();
            if host == 3 && second < 1.0 {
                continue;
            }
            if packet.of_client && second >= 1.0 {
                packet.at += 20.0 + 5.0 * (second % 4.0);
            }
            packets.push(packet);
        }
    }
    let found = round_trips(&read_on(packets, "1mbit", None));
    assert_near(&found, &[5.1, 80.1]);
}

/// Regression: where the near host is silent, a far one's own round trip was taken for a wait of the
/// near one, and it had that one's distance.
#[test]
fn a_far_host_alone_waits_for_nobody() {
    let mut packets = Vec::new();
    for (host, way) in [(2, 5.0), (3, 80.0)] {
        let fetches = Fetches {
            client: (host, 50_000),
            ways: [way, 0.1],
            acknowledging: Acknowledging::Usual,
            has_clocks: false,
            has_handshake: host == 2,
        };
        for packet in fetches.packets() {
            // The near host has the first three seconds, the far one all later ones.
            if (host == 2) == (packet.at < 3000.0) {
                packets.push(packet);
            }
        }
    }
    // So slow that the link is always busy.
    let found = round_trips(&read_on(packets, "1mbit", Some("100kbit")));
    let far = found[1].expect("measured");
    assert!((far - 80.1).abs() <= 8.0, "{found:?}");
}

/// Regression: a client's packets of one millisecond, which its uplink spreads over 24, have one
/// timestamp. Each was taken for the first with it, so the last one's echo came after 3 ms.
#[test]
fn a_timestamp_that_repeats_counts_from_its_first_packet() {
    for step in [0, 1] {
        let mut packets = Fetches {
            client: (2, 50_000),
            ways: [2.0, 13.0],
            acknowledging: Acknowledging::Usual,
            has_clocks: true,
            has_handshake: true,
        }
        .packets();
        packets.truncate(3);
        let mut sent = 100;
        for burst in 0..60 {
            for number in 0..20_u32 {
                let at = 100.0 + 200.0 * f64::from(burst) + 1.2 * f64::from(number);
                let clock = 1100 + 200 * burst as u32 + number * step;
                let data = Packet {
                    at,
                    of_client: true,
                    client: (2, 50_000),
                    flags: ACK,
                    sequence: sent,
                    acknowledgement: 1000,
                    data: MSS,
                    clocks: Some([clock, 6984 + at as u32]),
                };
                sent += MSS;
                packets.push(data);
                packets.push(Packet {
                    at: at + 13.0,
                    of_client: false,
                    sequence: 1000,
                    acknowledgement: sent,
                    data: 0,
                    clocks: Some([7013 + at as u32, clock]),
                    ..data
                });
            }
        }
        // The client echoes what passed 16 ms ago.
        let [Some(found)] = round_trips(&read(packets))[..] else {
            panic!("one connection");
        };
        assert!((found - 15.0).abs() < 0.5, "{found}, {step}");
    }
}

/// Regression: an upload's handshake waited at a busy link for 50 ms, and at the end, when the link
/// was empty, its packets still waited for 13 ms behind their own data. That was taken for its own
/// distance, 28 ms in place of 15, though another connection of its host tells it.
#[test]
fn an_upload_behind_its_own_queue_has_the_distance_of_its_host() {
    let fetches = Fetches {
        client: (2, 50_000),
        ways: [2.0, 13.0],
        acknowledging: Acknowledging::Usual,
        has_clocks: true,
        has_handshake: true,
    };
    let mut packets = fetches.packets();
    let upload = Fetches {
        client: (2, 50_001),
        ways: [50.0, 13.0],
        ..fetches
    };
    packets.extend(&upload.packets()[..3]);
    let mut sent = 100;
    for number in 0..4000_u32 {
        let at = 100.0 + 4.0 * f64::from(number);
        packets.push(Packet {
            at,
            of_client: true,
            client: upload.client,
            flags: ACK,
            sequence: sent,
            acknowledgement: 1000,
            data: MSS,
            // It echoes what passed 15 ms ago.
            clocks: Some([1000 + at as u32, 7000 + at as u32 - 15]),
        });
        sent += MSS;
        packets.push(Packet {
            at: at + 13.0,
            of_client: false,
            client: upload.client,
            flags: ACK,
            sequence: 1000,
            acknowledgement: sent,
            data: 0,
            clocks: Some([7013 + at as u32, 1000 + at as u32]),
        });
    }
    assert_near(&round_trips(&read(packets)), &[15.0, 15.0]);
}

//! Connections that wait for an answer on another one, from captures made packet by packet.

use roundelay_trace::connections::{Applications, applications};
use roundelay_trace::{Capture, Options};

const SYN: u8 = 2;
const ACK: u8 = 16;

/// A packet: milliseconds, whether the client sent it, the client's port, flags, sequence number,
/// acknowledgement, bytes of data.
#[derive(Debug, Clone, Copy)]
struct Packet(f64, bool, u16, u8, u32, u32, u32);

fn read(mut packets: Vec<Packet>) -> Applications {
    packets.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 200, 101] {
        file.extend(word.to_le_bytes());
    }
    for Packet(at, of_client, port, flags, sequence, acknowledgement, data) in packets {
        let nanos = (at * 1e6) as u64;
        let words = [
            (nanos / 1_000_000_000) as u32,
            (nanos % 1_000_000_000) as u32,
            40,
            40 + data,
        ];
        for word in words {
            file.extend(word.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend(((40 + data) as u16).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        let client = ([192, 168, 1, 2], port);
        let server = ([203, 0, 113, 5], 443);
        let [from, to] = if of_client {
            [client, server]
        } else {
            [server, client]
        };
        file.extend(from.0);
        file.extend(to.0);
        file.extend(from.1.to_be_bytes());
        file.extend(to.1.to_be_bytes());
        file.extend(sequence.to_be_bytes());
        file.extend(acknowledgement.to_be_bytes());
        file.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    }
    let capture = Capture::from_reader("t.pcap", std::io::Cursor::new(file)).unwrap();
    let mut options = Options::new("30mbit".parse().unwrap(), Vec::new());
    options.adapts = true;
    options.selection.chooses = true;
    applications(capture, &options, &mut ()).unwrap()
}

/// A connection that begins at this time: the client is 2 ms away, the server 30 ms. Returns when its
/// answer has come, with the client's acknowledgement.
fn fetch(packets: &mut Vec<Packet>, port: u16, begin: f64, bytes: u32) -> f64 {
    let mut add = |after: f64, of_client, flags, sequence, acknowledgement, data| {
        packets.push(Packet(
            begin + after,
            of_client,
            port,
            flags,
            sequence,
            acknowledgement,
            data,
        ));
    };
    add(0.0, true, SYN, 99, 0, 0);
    add(30.0, false, SYN | ACK, 999, 100, 0);
    add(32.0, true, ACK, 100, 1000, 50);
    add(62.0, false, ACK, 1000, 150, bytes);
    let came = 64.0;
    add(came, true, ACK, 150, 1000 + bytes, 0);
    begin + came
}

/// A connection that has begun: when, its port, and whose answer it follows, how much later.
type Begun = (f64, u16, Option<(u16, f64)>);

/// Two users of one client. Each fetches a page, then two parts at once, and reads for a time of its
/// own. Returns the packets, and for each connection in the order of beginnings what it follows: none,
/// or the place of another connection, and how many milliseconds later.
fn two_users() -> (Vec<Packet>, Vec<Option<(usize, f64)>>) {
    let mut packets = Vec::new();
    let mut begun: Vec<Begun> = Vec::new();
    let mut port = 50_000;
    for (first, reading) in [(0.0, 900.0), (400.0, 1100.0)] {
        let mut begin = first;
        let mut before: Option<(u16, f64)> = None;
        for page in 0..6_u32 {
            let page_port = port;
            begun.push((begin, port, before));
            let came = fetch(&mut packets, port, begin, 1200 + page);
            for part in 1..3 {
                port += 1;
                let late = 0.4 * f64::from(part);
                begun.push((came + late, port, Some((page_port, late))));
                before = Some((port, reading));
                begin = fetch(&mut packets, port, came + late, 800) + reading;
            }
            port += 1;
        }
    }
    begun.sort_by(|one, other| one.0.total_cmp(&other.0));
    let places: Vec<u16> = begun.iter().map(|(_, port, _)| *port).collect();
    let mut follows = Vec::new();
    for (_, _, before) in begun {
        follows.push(before.map(|(port, after)| {
            let place = places.iter().position(|known| *known == port);
            (place.expect("it began before"), after)
        }));
    }
    (packets, follows)
}

#[test]
fn parts_wait_for_their_page_and_pages_for_those_before() {
    let (packets, expected) = two_users();
    let read = read(packets);
    let mut found = Vec::new();
    for connection in &read.connections {
        found.push(connection.follows.map(|follows| {
            assert_eq!(follows.message, 1, "the answer");
            let millis = follows.after.as_nanos() as f64 / 1e6;
            (follows.connection, (millis * 10.0).round() / 10.0)
        }));
    }
    assert_eq!(found, expected);
    let alone = expected.iter().filter(|follows| follows.is_none()).count();
    assert_eq!(alone, 2, "the first page of each user");
}

/// Objects that a clock asks for, a third of a second apart, follow nothing; nor do a few that happen
/// to begin when an answer comes.
#[test]
fn connections_with_a_clock_follow_nothing() {
    let mut packets = Vec::new();
    for number in 0..60_u16 {
        fetch(
            &mut packets,
            50_000 + number,
            333.0 * f64::from(number),
            900,
        );
    }
    for number in 0..5_u16 {
        let begin = 333.0 * f64::from(7 * number) + 64.5;
        fetch(&mut packets, 51_000 + number, begin, 900);
    }
    let read = read(packets);
    assert_eq!(read.connections.len(), 65);
    assert!(
        read.connections
            .iter()
            .all(|connection| connection.follows.is_none())
    );
}

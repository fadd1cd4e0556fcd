//! What the applications behind a capture wanted, from captures made packet by packet.

use std::collections::VecDeque;
use std::path::Path;

use proptest::prelude::*;
use roundelay::Duration;
use roundelay_trace::connections::{
    Applications, Close, Connection, End, Seen, Window, applications,
};
use roundelay_trace::{Capture, CompareError, Options};

const CLIENT: [u8; 4] = [192, 168, 1, 2];
const SERVER: [u8; 4] = [203, 0, 113, 5];
const SYN: u8 = 2;
const FIN: u8 = 1;
const ACK: u8 = 16;

/// A TCP packet: its time in milliseconds, whether the client sent it, flags, sequence number,
/// acknowledgement and bytes of data.
#[derive(Debug, Clone, Copy)]
struct Packet(f64, bool, u8, u32, u32, u16);

/// A pcap of raw IPv4 with nanoseconds.
fn pcap(packets: &[Packet]) -> Vec<u8> {
    with_windows(packets, [0xffff; 2], None)
}

/// The same, with these windows of the client and the server, and a scale in their SYNs.
fn with_windows(packets: &[Packet], windows: [u16; 2], scale: Option<u8>) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 100, 101] {
        file.extend(word.to_le_bytes());
    }
    for &Packet(millis, of_client, flags, sequence, acknowledgement, data) in packets {
        let nanos = (millis * 1e6) as u64;
        let scale = scale.filter(|_| flags & SYN != 0);
        let header = if scale.is_some() { 44 } else { 40 };
        let len = header + u32::from(data);
        let words = [
            nanos / 1_000_000_000,
            nanos % 1_000_000_000,
            header.into(),
            len.into(),
        ];
        words
            .iter()
            .for_each(|word| file.extend((*word as u32).to_le_bytes()));
        file.extend([0x45, 0]);
        file.extend((len as u16).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        let [from, to] = if of_client {
            [CLIENT, SERVER]
        } else {
            [SERVER, CLIENT]
        };
        file.extend(from);
        file.extend(to);
        let ports: [u16; 2] = if of_client {
            [50_000, 443]
        } else {
            [443, 50_000]
        };
        ports
            .iter()
            .for_each(|port| file.extend(port.to_be_bytes()));
        file.extend(sequence.to_be_bytes());
        file.extend(acknowledgement.to_be_bytes());
        file.extend([(header as u8 - 20) << 2, flags]);
        file.extend(windows[usize::from(!of_client)].to_be_bytes());
        file.extend([0; 4]);
        if let Some(scale) = scale {
            file.extend([1, 3, 3, scale]);
        }
    }
    file
}

fn read_bytes(bytes: Vec<u8>) -> Result<Applications, CompareError> {
    read_at("10mbit", bytes)
}

/// The applications behind a capture of a link of this rate.
fn read_at(rate: &str, bytes: Vec<u8>) -> Result<Applications, CompareError> {
    let capture = Capture::from_reader("t.pcap", std::io::Cursor::new(bytes))?;
    let mut options = Options::new(rate.parse().unwrap(), Vec::new());
    options.captured_rate = Some(options.rate);
    options.adapts = true;
    options.selection.chooses = true;
    applications(capture, &options, &mut ())
}

fn read(packets: &[Packet]) -> Applications {
    read_bytes(pcap(packets)).unwrap()
}

fn one(packets: &[Packet]) -> Connection {
    let read = read(packets);
    assert_eq!(read.connections.len(), 1, "{:?}", read.connections);
    read.connections[0].clone()
}

/// Who wrote how many bytes, and how many milliseconds later.
fn said(connection: &Connection) -> Vec<(End, u64, u64)> {
    let mut said = Vec::new();
    for message in &connection.messages {
        let millis = (message.after.as_nanos() + 500_000) / 1_000_000;
        said.push((message.by, message.bytes, millis));
    }
    said
}

/// A capture 10 ms from the client and 30 ms from the server: 20 and 60 ms there and back. The
/// server thinks for 5 ms, the client for 200 ms; one segment is sent again.
fn talk() -> Vec<Packet> {
    vec![
        Packet(0.0, true, SYN, 99, 0, 0),
        Packet(60.0, false, SYN | ACK, 999, 100, 0),
        Packet(80.0, true, ACK, 100, 1000, 0),
        Packet(80.1, true, ACK, 100, 1000, 300),
        Packet(145.1, false, ACK, 1000, 400, 1000),
        Packet(145.2, false, ACK, 2000, 400, 500),
        Packet(165.2, true, ACK, 400, 2500, 0),
        // The acknowledgement was late for the server.
        Packet(350.0, false, ACK, 1000, 400, 1000),
        Packet(370.0, true, ACK, 400, 2500, 100),
        Packet(430.0, false, ACK, 2500, 500, 700),
        Packet(450.0, true, ACK, 500, 3200, 0),
        Packet(460.0, true, ACK | FIN, 500, 3200, 0),
    ]
}

#[test]
fn requests_responses_and_pauses() {
    let connection = one(&talk());
    assert_eq!(
        said(&connection),
        [
            (End::Client, 300, 0),
            (End::Server, 1500, 5),
            (End::Client, 100, 205),
            (End::Server, 700, 0),
        ]
    );
    let millis = |way: Option<Duration>| way.map(|way| way.as_nanos() / 1_000_000);
    assert_eq!(connection.round_trips.map(millis), [Some(20), Some(60)]);
    assert_eq!(connection.bytes, [400, 2200]);
    assert_eq!(connection.retransmitted, [0, 1]);
    assert_eq!(connection.segment_len, [300, 1000]);
    assert!(connection.has_opening && connection.is_whole() && !connection.endless);
    assert!(!connection.concurrent);
    let end = Duration::from_millis(460);
    assert_eq!(connection.close, Close::By(End::Client, end));
    assert_eq!(connection.over, [false, true], "the server sends more");
}

/// A server that speaks first, as those of SSH and mail do, has heard of the client with the third
/// segment of the handshake: 60 ms after that passes here, and 5 ms are its own.
#[test]
fn a_server_that_speaks_first_waits_for_the_handshake() {
    let connection = one(&[
        Packet(0.0, true, SYN, 99, 0, 0),
        Packet(60.0, false, SYN | ACK, 999, 100, 0),
        Packet(80.0, true, ACK, 100, 1000, 0),
        Packet(145.0, false, ACK, 1000, 100, 40),
        Packet(165.0, true, ACK, 100, 1040, 30),
        Packet(230.0, false, ACK, 1040, 130, 500),
        Packet(250.0, true, ACK | FIN, 130, 1540, 0),
    ]);
    assert_eq!(
        said(&connection),
        [
            (End::Server, 40, 5),
            (End::Client, 30, 0),
            (End::Server, 500, 5)
        ]
    );
}

/// Sequence numbers wrap.
#[test]
fn sequence_numbers_wrap() {
    let mut packets = talk();
    for Packet(_, of_client, _, sequence, acknowledgement, _) in &mut packets {
        let far = u32::MAX - 1500;
        let other = if *of_client {
            acknowledgement
        } else {
            sequence
        };
        *other = other.wrapping_add(far);
    }
    assert_eq!(said(&one(&packets)), said(&one(&talk())));
}

/// Of one direction, requests are known by the server's acknowledgements.
#[test]
fn one_direction_knows_requests_by_their_acknowledgements() {
    let mut packets = talk();
    packets.retain(|Packet(_, of_client, ..)| !of_client);
    let connection = one(&packets);
    let bytes: Vec<_> = said(&connection)
        .iter()
        .map(|said| (said.0, said.1))
        .collect();
    assert_eq!(
        bytes,
        [
            (End::Client, 300),
            (End::Server, 1500),
            (End::Client, 100),
            (End::Server, 700)
        ]
    );
    assert!(!connection.is_whole());
    assert_eq!(connection.round_trips, [None, None]);
}

/// A hundred segments of which each follows an acknowledgement, or the time of the server's
/// application, until the capture or the client ends them.
fn bulk(is_clocked: bool, is_closed: bool) -> Vec<Packet> {
    let mut packets = talk()[..4].to_vec();
    let mut sent = 1000;
    let mut heard = 1000;
    for number in 0..400 {
        let at = 145.0 + f64::from(number) * 10.0;
        packets.push(Packet(at, false, ACK, sent, 400, 1000));
        sent += 1000;
        if number >= 8 {
            heard += 1000;
            let before = if is_clocked { 0.2 } else { 5.0 };
            packets.push(Packet(at + 10.0 - before, true, ACK, 400, heard, 0));
        }
    }
    if is_closed {
        let last = packets.last().unwrap().0;
        packets.push(Packet(last + 0.1, true, ACK | FIN, 400, heard, 0));
        // Others go on.
        packets.push(Packet(last + 9000.0, true, ACK, 400, heard, 0));
    }
    packets
}

/// The place of the capture is the server's own: what an acknowledgement allows passes at once.
fn near(mut packets: Vec<Packet>) -> Vec<Packet> {
    packets[1].0 = 0.1;
    packets[2].0 = 80.0;
    packets
}

#[test]
fn a_transfer_that_wanted_more_is_endless() {
    let connection = one(&near(bulk(true, false)));
    assert!(connection.endless, "{:?}", connection.messages);
    let closed = one(&near(bulk(true, true)));
    assert!(closed.endless && matches!(closed.close, Close::By(End::Client, _)));
}

/// A transfer that is whole, a second request after a pause, and an answer that the capture's end cuts
/// off after so many segments.
fn second_answer(segments: u32) -> Vec<Packet> {
    let mut packets = near(bulk(true, false));
    let last = packets.last().unwrap().0;
    let sent = 401_000;
    packets.push(Packet(last + 100.0, true, ACK, 400, sent, 0));
    packets.push(Packet(last + 1000.0, true, ACK, 400, sent, 100));
    let begin = last + 1000.2;
    for number in 0..segments {
        let at = begin + f64::from(number) * 10.0;
        packets.push(Packet(at, false, ACK, sent + number * 1000, 500, 1000));
        if number >= 8 {
            let heard = sent + (number - 7) * 1000;
            packets.push(Packet(at + 9.8, true, ACK, 500, heard, 0));
        }
    }
    packets
}

/// The last chunk of a video, cut off by the capture's end, is no longer than the chunks before, and
/// wants no more than they do.
#[test]
fn a_chunk_that_is_cut_off_is_not_endless() {
    let connection = one(&second_answer(300));
    assert!(!connection.endless, "{:?}", connection.messages);
    // The network held both back.
    let [client, server] = connection.limited;
    assert!(client == 0 && server > 600_000, "{server}");
    assert!(one(&second_answer(500)).endless);
}

#[test]
fn a_stream_that_its_application_paces_is_a_list_of_writes() {
    let connection = one(&near(bulk(false, false)));
    assert!(!connection.endless && connection.limited == [0; 2]);
    assert!(
        connection.messages.len() > 300,
        "{}",
        connection.messages.len()
    );
    let all: u64 = connection.messages[1..]
        .iter()
        .map(|message| message.bytes)
        .sum();
    assert_eq!(all, 400_000);
    assert_eq!(said(&connection)[200], (End::Server, 1000, 10));
}

/// A number from 0 to 1.
fn next(random: &mut u32) -> f64 {
    *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    f64::from(*random >> 16) / 65_536.0
}

/// A bulk transfer through a queue that sends a packet in one to four milliseconds, because others
/// use it too, over four seconds. The window grows by a packet a round trip, and halves at sixty. `way`: milliseconds from the capture's
/// place to the server and back.
fn filling(way: f64) -> Vec<Packet> {
    let mut packets = talk()[..4].to_vec();
    packets[1].0 = way;
    let mut acknowledgements = VecDeque::from([packets[3].0 + way / 2.0]);
    let mut free = 0.0_f64;
    let [mut sent, mut heard] = [1000_u32; 2];
    let [mut flight, mut window] = [0.0_f64, 10.0];
    let mut random = 7;
    while let Some(now) = acknowledgements.pop_front()
        && now < 4000.0
    {
        flight = f64::max(flight - 1.0, 0.0);
        window += 1.0 / window;
        if window > 60.0 {
            window = 30.0;
        }
        while flight < window {
            let at = now + way / 2.0;
            packets.push(Packet(at, false, ACK, sent, 400, 1000));
            sent += 1000;
            heard += 1000;
            free = free.max(at) + 1.0 + 3.0 * next(&mut random);
            packets.push(Packet(free + 10.0, true, ACK, 400, heard, 0));
            acknowledgements.push_back(free + 10.0 + way / 2.0);
            flight += 1.0;
        }
    }
    packets.sort_by(|one, other| one.0.total_cmp(&other.0));
    packets.retain(|packet| packet.0 < 4000.0);
    packets
}

/// The transfer of a sender that paces: its packets follow no acknowledgement, but about fifty
/// milliseconds of them wait all the time if `has_queue`.
fn paced(has_queue: bool) -> Vec<Packet> {
    let mut packets = talk()[..4].to_vec();
    packets[1].0 = 20.0;
    packets[2].0 = 30.0;
    let mut free = 0.0_f64;
    let [mut sent, mut random] = [1000_u32, 7_u32];
    for number in 0..2000 {
        let jitter = 3.0 * next(&mut random);
        let burst = if has_queue { 50.0 } else { 0.0 };
        let at = (145.0 + f64::from(number) * 2.0 - burst).max(120.0) + jitter;
        packets.push(Packet(at, false, ACK, sent, 400, 1000));
        sent += 1000;
        free = free.max(at) + if has_queue { 2.0 } else { 0.1 };
        packets.push(Packet(free + 10.0, true, ACK, 400, sent, 0));
    }
    packets.sort_by(|one, other| one.0.total_cmp(&other.0));
    packets.retain(|packet| packet.0 < 4000.0);
    packets
}

/// Without a handshake or timestamps, the way to the server is the distance at which packets follow
/// acknowledgements.
#[test]
fn a_transfer_that_began_before_is_endless() {
    for way in [0.2, 20.0, 73.0] {
        let whole = one(&filling(way));
        assert!(whole.endless, "{way}: {:?}", whole.messages);
        let mut packets = filling(way);
        packets.retain(|packet| packet.0 > 1000.0);
        let connection = one(&packets);
        assert!(connection.endless, "{way}: {:?}", connection.messages);
        assert!(
            connection.writes_if_paced.is_empty(),
            "{way}: packets tell it"
        );
        let found = connection.round_trips[1].expect("a way").as_nanos() as f64 / 1e6;
        assert!((found - way).abs() < 1.0, "{found} for {way}");
    }
}

/// A sender that paces is without end if its data waits all the time; its application may still be
/// the limit, so its writes are known, too.
#[test]
fn a_sender_that_paces_wanted_more_if_its_data_waits() {
    // It has 4.2 Mbit/s.
    let read = read_at("5mbit", pcap(&paced(true))).unwrap();
    let connection = &read.connections[0];
    assert!(connection.endless, "{:?}", connection.messages.len());
    let bytes = |messages: &[roundelay_trace::connections::Message]| {
        messages.iter().map(|message| message.bytes).sum::<u64>()
    };
    let last = &connection.messages[connection.messages.len() - 1..];
    assert_eq!(bytes(&connection.writes_if_paced), bytes(last));
    assert!(connection.writes_if_paced.len() > 100);
    // On a link with room its data waits elsewhere.
    let read = read_at("100mbit", pcap(&paced(true))).unwrap();
    assert!(!read.connections[0].endless && read.connections[0].messages.len() > 100);
    let read = read_at("5mbit", pcap(&paced(false))).unwrap();
    let connection = &read.connections[0];
    assert!(!connection.endless && connection.writes_if_paced.is_empty());
    assert!(connection.messages.len() > 100);
}

/// Acknowledgements are so dense that each packet follows one; and those of a stream in step with
/// its own acknowledgements do, too.
#[test]
fn a_fast_stream_is_no_transfer() {
    for (gap, burst) in [(1.0, 2), (0.5, 1), (10.0, 20)] {
        let mut packets = talk()[..4].to_vec();
        packets[1].0 = 35.2;
        let mut sent = 1000;
        let bursts = (3000.0 / gap) as u32;
        for number in 0..bursts {
            let at = 145.0 + f64::from(number) * gap;
            for _ in 0..burst {
                packets.push(Packet(at, false, ACK, sent, 400, 1250));
                sent += 1250;
            }
            packets.push(Packet(at + 5.0, true, ACK, 400, sent, 0));
        }
        packets.sort_by(|one, other| one.0.total_cmp(&other.0));
        packets.retain(|packet| packet.0 < 3100.0);
        let connection = one(&packets);
        assert!(!connection.endless, "{gap}");
        assert!(connection.messages.len() > 200, "{gap}");
    }
}

/// Neither of two high ports tells the server: it sends more.
#[test]
fn without_a_known_port_the_server_sends_more() {
    let mut file = pcap(&talk()[4..]);
    for start in (24..file.len()).step_by(16 + 40) {
        for at in [start + 16 + 20, start + 16 + 22] {
            if file[at..][..2] == 443_u16.to_be_bytes() {
                file[at..][..2].copy_from_slice(&50_443_u16.to_be_bytes());
            }
        }
    }
    let read = read_bytes(file).unwrap();
    let connection = &read.connections[0];
    assert_eq!(connection.server.port(), 50_443);
    assert_eq!(connection.bytes, [100, 2200]);
    assert_eq!(said(connection)[0].0, End::Server);
    assert_eq!(connection.over, [false, true]);
}

/// The applications of a capture in the repository, from this second on.
fn stored(path: &str, from: u64) -> Applications {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let capture = Capture::open(&root.join(path)).unwrap();
    let mut options = Options::new("10mbit".parse().unwrap(), Vec::new());
    options.adapts = true;
    options.selection.chooses = true;
    options.span.from = Some(Duration::from_secs(from));
    applications(capture, &options, &mut ()).unwrap()
}

/// A transfer of 1,000 bytes a segment over 40 ms, of which at most so many are outstanding, captured
/// beside its server; every second one is acknowledged. It goes on for four seconds.
fn outstanding(most: u32) -> Vec<Packet> {
    let mut packets = near(talk()[..4].to_vec());
    let [mut sent, mut window] = [1000_u32, 10];
    let mut at = 0.0;
    let mut acknowledgements = VecDeque::from([(120.0, 1000)]);
    while let Some((now, heard)) = acknowledgements.pop_front()
        && now < 4000.0
    {
        if heard > 1000 {
            packets.push(Packet(now, true, ACK, 400, heard, 0));
            window = (window + 2).min(most);
        }
        while sent + 1000 <= heard + window * 1000 {
            at = f64::max(at + 0.01, now + 0.1);
            packets.push(Packet(at, false, ACK, sent, 400, 1000));
            sent += 1000;
            if (sent / 1000) % 2 == 1 {
                acknowledgements.push_back((at + 40.0, sent));
            }
        }
    }
    packets.sort_by(|one, other| one.0.total_cmp(&other.0));
    packets.retain(|packet| packet.0 < 4000.0);
    packets
}

fn with(packets: &[Packet], window: u16, scale: Option<u8>) -> Connection {
    let read = read_bytes(with_windows(packets, [window, 0xffff], scale)).unwrap();
    read.connections[0].clone()
}

/// The client offers 20,500 bytes, scaled by eight or not: the transfer always fills them, so it wants
/// more. Nothing waits or is lost, so with a larger window it is a list of writes, and so it is if
/// the scale is unknown, because a SYN is not there.
#[test]
fn a_full_receive_window_is_a_limit() {
    let packets = outstanding(20);
    for (window, scale) in [(20_500, None), (2562, Some(3))] {
        let connection = with(&packets, window, scale);
        let Window::Limit(bytes) = connection.window else {
            panic!("{window}: {:?}", connection.window);
        };
        assert!((20_496..=20_500).contains(&bytes), "{bytes}");
        assert!(connection.endless, "{:?}", connection.messages.len());
        assert!(connection.writes_if_paced.is_empty());
    }
    for (window, scale) in [(40_000, None), (20_500, Some(3))] {
        let connection = with(&packets, window, scale);
        assert_eq!(connection.window, Window::Roomy);
        assert!(!connection.endless && connection.messages.len() > 50);
    }
    for missing in [0, 1] {
        let mut packets = packets.clone();
        packets.remove(missing);
        let connection = with(&packets, 20_500, None);
        assert_eq!(connection.window, Window::Unknown, "{missing}");
        assert!(!connection.endless);
    }
}

/// A window that is full half of the time only, or in a transfer that loses, is no limit.
#[test]
fn a_window_that_is_full_at_times_is_no_limit() {
    let packets = outstanding(20);
    // The first half of a transfer that has 20 segments outstanding, and then 30, while 30 are offered.
    let late: Vec<_> = outstanding(30);
    let half = late
        .iter()
        .map(|packet| {
            let mut packet = *packet;
            // The client's acknowledgements are of more from then on.
            if packet.0 > 2000.0 && packet.1 {
                packet.4 = packet.4.saturating_add(8000);
            }
            packet
        })
        .collect::<Vec<_>>();
    assert_ne!(with(&half, 30_500, None).window, Window::Limit(30_500));
    let mut losing = packets.clone();
    let again = packets[packets.len() / 2..]
        .iter()
        .find(|packet| !packet.1)
        .copied();
    losing.push(Packet(3999.9, false, ACK, again.unwrap().3, 400, 1000));
    assert_eq!(with(&losing, 20_500, None).window, Window::Roomy);
}

/// A real kernel's timestamps and windows: none of its hosts is limited by them, and the connections of
/// a capture from the middle have no SYN.
#[test]
fn windows_of_a_real_kernel_are_no_limit() {
    let path = "peers/tcp/capture.pcap.gz";
    let whole = stored(path, 0);
    let is_roomy = |connection: &&Connection| connection.window == Window::Roomy;
    assert_eq!(
        whole.connections.iter().filter(is_roomy).count(),
        whole.connections.len()
    );
    let late = stored(path, 8);
    let begun = late
        .connections
        .iter()
        .filter(|connection| !connection.has_opening);
    let unknown = begun
        .clone()
        .filter(|connection| connection.window == Window::Unknown);
    assert_eq!(unknown.clone().count(), begun.count());
    assert!(unknown.count() >= 2);
}

/// Regression: of a real kernel's uploads, which wait behind their own data, one had a round trip
/// of 33 ms in place of 20.
#[test]
fn uploads_of_a_real_kernel_have_their_own_round_trips() {
    let read = stored("peers/tcp/capture-uploads.pcap.gz", 0);
    let mut uploads = 0;
    for (connection, found) in read.connections.iter().zip(read.round_trips()) {
        // The servers' addresses end in 1, 2 and 3, for 20, 40 and 60 ms.
        let truth = match connection.server.ip().to_string().as_str() {
            "10.0.2.1" => 20.0,
            "10.0.2.2" => 40.0,
            _ => 60.0,
        };
        let found = found.expect("measured").as_nanos() as f64 / 1e6;
        assert!((found - truth).abs() <= 0.1 * truth, "{found} for {truth}");
        uploads += usize::from(connection.bytes[0] > connection.bytes[1]);
    }
    assert!(uploads >= 3, "{uploads}");
}

/// What real kernels show of their congestion control is right: all of them CUBIC, all BBR, or the
/// first server alone.
#[test]
fn real_kernels_show_their_congestion_control() {
    for (name, with_bbr) in [
        ("capture", &[][..]),
        ("capture-uploads", &[]),
        ("capture-distances", &[]),
        ("capture-reacting", &[]),
        ("capture-mixed", &["10.0.2.1"]),
        ("capture-bbr", &["10.0.2.1", "10.0.2.2", "10.0.2.3"]),
    ] {
        let read = stored(&format!("peers/tcp/{name}.pcap.gz"), 0);
        let mut shown = 0;
        for connection in &read.connections {
            let Some(sign) = connection.control else {
                continue;
            };
            let sender = connection.sender().ip().to_string();
            let expected = if with_bbr.contains(&sender.as_str()) {
                Seen::Bbr
            } else {
                Seen::HeedsLosses
            };
            assert_eq!(sign.seen, expected, "{name}: {connection:?}");
            assert!(sign.certainty >= 0.75 && sign.certainty < 1.0);
            shown += 1;
        }
        assert!(shown >= 2, "{name}: {shown}");
    }
}

/// A real kernel's transfers that began before the capture: timestamps tell the ways to their senders.
#[test]
fn a_capture_from_the_middle_has_its_transfers() {
    for from in [0, 8, 15] {
        let read = stored("peers/tcp/capture.pcap.gz", from);
        let mut ways = Vec::new();
        for connection in &read.connections {
            if connection.endless {
                assert!(connection.writes_if_paced.is_empty(), "{from}");
                ways.push(connection.round_trips[1].unwrap().as_nanos() / 100_000);
            }
        }
        ways.sort_unstable();
        assert_eq!(
            ways,
            [179, 379],
            "from {from} s, in tenths of a millisecond"
        );
    }
}

/// Downloads of a real kernel, a millisecond behind what allowed them, which the server closed: files
/// of their sizes, and no lists of writes.
#[test]
fn downloads_that_the_server_closed_are_files() {
    let read = stored("examples/captures/home-both.pcap.gz", 0);
    let mut downloads = 0;
    for connection in &read.connections {
        if connection.bytes[1] > 2_000_000 && connection.bytes[0] < 100 {
            downloads += 1;
            let messages = connection.messages.len();
            assert!(messages <= 3, "{connection:?}");
        }
    }
    assert_eq!(downloads, 6);
}

#[test]
fn a_connection_that_began_before_keeps_its_client() {
    let connection = one(&talk()[4..]);
    assert!(!connection.has_opening);
    assert_eq!(connection.server.port(), 443);
    let said: Vec<_> = said(&connection)
        .iter()
        .map(|said| (said.0, said.1))
        .collect();
    assert_eq!(
        said,
        [(End::Server, 1500), (End::Client, 100), (End::Server, 700)]
    );
}

#[test]
fn ports_used_again_are_another_connection() {
    let mut packets = talk();
    for Packet(millis, of_client, flags, sequence, acknowledgement, data) in talk() {
        packets.push(Packet(
            millis + 1000.0,
            of_client,
            flags,
            sequence,
            acknowledgement,
            data,
        ));
    }
    let read = read(&packets);
    assert_eq!(read.connections.len(), 2);
    let [one, other] = &read.connections[..] else {
        unreachable!()
    };
    assert_eq!(said(one), said(other));
    assert_eq!(other.start, Duration::from_millis(1000));
}

/// A busy host behind a busy link has only long round trips: its network's smallest one counts. On a
/// link with room they are its own.
#[test]
fn round_trips_behind_the_link_are_those_of_the_network() {
    let mut busy = talk();
    for Packet(millis, of_client, ..) in &mut busy {
        *millis += if *of_client && *millis > 0.0 {
            1100.0
        } else {
            1000.0
        };
    }
    busy.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut file = pcap(&talk());
    let mut other = pcap(&busy);
    let record = 16 + 40;
    for start in (24..other.len()).step_by(record) {
        for address in [start + 16 + 12, start + 16 + 16] {
            if other[address..][..4] == CLIENT {
                other[address + 3] = 3;
            }
        }
    }
    file.extend_from_slice(&other[24..]);
    let idle = read_bytes(file.clone()).unwrap();
    let read = read_at("10kbit", file).unwrap();
    let alone: Vec<_> = read
        .connections
        .iter()
        .map(|connection| connection.round_trips[0])
        .collect();
    let millis = |millis| Some(Duration::from_millis(millis));
    assert_eq!(alone[0], millis(20));
    assert!(alone[1] > millis(100), "{alone:?}");
    assert_eq!(read.round_trips(), [millis(80), millis(80)]);
    assert_eq!(read.contradicting_round_trips(), 1);
    assert_eq!(idle.round_trips(), [millis(80), millis(180)]);
}

proptest! {
    /// Any bytes, and any damage to a capture: an error or connections, never a panic; and the new
    /// bytes of the messages add up.
    #[test]
    fn damaged_captures_never_panic(
        at in 24_usize..600,
        damage in proptest::collection::vec(any::<u8>(), 0..40),
        cut in 0_usize..700,
    ) {
        let mut bytes = pcap(&talk());
        for (offset, byte) in damage.into_iter().enumerate() {
            if let Some(old) = bytes.get_mut(at + offset) {
                *old = byte;
            }
        }
        bytes.truncate(cut.max(30));
        if let Ok(read) = read_bytes(bytes) {
            read.round_trips();
            for connection in &read.connections {
                for end in End::BOTH {
                    let messages = connection.messages.iter().filter(|message| message.by == end);
                    let sum: u64 = messages.map(|message| message.bytes).sum();
                    prop_assert_eq!(sum, connection.bytes[end as usize]);
                }
            }
        }
    }

    /// Any sequence of segments.
    #[test]
    fn nonsense_never_panics(
        segments in proptest::collection::vec(
            (0.0_f64..5000.0, any::<bool>(), any::<u8>(), any::<u32>(), any::<u32>(), 0_u16..1400),
            1..60,
        ),
    ) {
        let mut packets: Vec<_> = segments
            .into_iter()
            .map(|(at, of_client, flags, sequence, acknowledgement, data)| {
                Packet(at, of_client, flags, sequence, acknowledgement, data)
            })
            .collect();
        packets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let read = read(&packets);
        prop_assert!(!read.connections.is_empty());
    }
}

//! What a capture cannot show is asked about: forty captures, made by simulations. In twenty
//! something essential is hidden, each time something else. The other twenty show all.

use std::fs;
use std::process::{Command, Output};

use crate::folder::Folder;

/// A capture point: links between the servers and the bottleneck.
const AT_SERVERS: [&str; 2] = ["left to entry", "entry to left"];
/// Where an IPv4 packet without options has these.
const PROTOCOL: usize = 9;
const SOURCE: usize = 12;
const PORTS: usize = 20;
const SECOND: u64 = 1_000_000_000;

fn run(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_roundelay"))
        .args(arguments)
        .output();
    command.expect("the command runs")
}

/// A packet of a capture.
#[derive(Clone)]
struct Packet {
    at: u64,
    bytes: Vec<u8>,
    len: u32,
}

impl Packet {
    fn comes_from_server(&self) -> bool {
        self.bytes[SOURCE..SOURCE + 4] < self.bytes[SOURCE + 4..SOURCE + 8]
    }

    fn is_tcp(&self) -> bool {
        self.bytes[PROTOCOL] == 6
    }

    fn is_syn(&self) -> bool {
        self.is_tcp() && self.bytes[PORTS + 13] & 2 > 0
    }

    /// The sequence number, and the bytes of headers.
    fn sequence(&self) -> (u32, u32) {
        let number = self.bytes[PORTS + 4..PORTS + 8].try_into().unwrap();
        let words = u32::from(self.bytes[PORTS + 12] >> 4);
        (u32::from_be_bytes(number), PORTS as u32 + 4 * words)
    }

    /// The client's port.
    fn client_port(&self) -> [u8; 2] {
        let from = PORTS + if self.comes_from_server() { 2 } else { 0 };
        [self.bytes[from], self.bytes[from + 1]]
    }
}

/// Fourteen seconds of a bottleneck, with these settings of its port, and of that of uploads.
fn network(down: &str, up: &str) -> String {
    let mut text = "seed = 5\nduration = \"14s\"\n[queue]\ncore = \"fifo limit 100\"\n".to_owned();
    for (name, host) in [
        ("left", true),
        ("entry", false),
        ("exit", false),
        ("right", true),
    ] {
        text += &format!("[[node]]\nname = \"{name}\"\nhost = {host}\n");
    }
    for (from, to) in [("left", "entry"), ("entry", "exit"), ("exit", "right")] {
        text += &format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"10gbit\"\n");
    }
    for (from, to, settings) in [("entry", "exit", down), ("right", "exit", up)] {
        text += &format!("[[port]]\nfrom = \"{from}\"\nto = \"{to}\"\n{settings}\n");
    }
    text
}

/// Connections of clients at the right.
fn tcp(name: &str, settings: &str, connections: &[String]) -> String {
    format!(
        "[[source]]\nname = \"{name}\"\nkind = \"connections\"\nfrom = \"right\"\nto = \"left\"\n\
         tcp = {{ preset = \"linux\"{settings} }}\nconnections = [\n{}\n]\n",
        connections.join(",\n")
    )
}

fn bulk(start: &str, round_trip: &str) -> String {
    format!(
        "{{ start = \"{start}\", round_trip = \"{round_trip}\", messages = [\"> 300b\", \"< \
         endless\"] }}"
    )
}

fn upload() -> String {
    "{ start = \"500ms\", round_trip = \"30ms\", messages = [\"> endless\"] }".to_owned()
}

/// A request and its answer, again and again.
fn requests(answer: &str, pause: &str, count: usize) -> String {
    let each = format!("\"> 300b after {pause}\", \"< {answer} after 5ms\"");
    let all = vec![each; count].join(", ");
    format!("{{ start = \"100ms\", round_trip = \"30ms\", messages = [{all}] }}")
}

const CALL: &str = "[[source]]\nname = \"call\"\nkind = \"cbr\"\nfrom = \"left\"\nto = \"right\"\n\
                    rate = \"80kbit\"\npacket_len = 200\n";
const SLOW: &str = "rate = \"4mbit\"\noverhead = 14";
const FREE: &str = "rate = \"1gbit\"";

/// A download without end, pages and a call.
fn home() -> String {
    network(SLOW, FREE)
        + &tcp("bulk", "", &[bulk("1s", "40ms")])
        + &tcp("pages", "", &[requests("30kb", "600ms", 20)])
        + CALL
}

/// What these interfaces of a simulation's capture show, in the order of time.
fn captured(folder: &Folder, scenario: &str, at: &[&str]) -> Vec<Packet> {
    let path = folder.file("scenario.toml", scenario);
    let capture = folder.0.join("all.pcapng");
    let capture = capture.to_str().unwrap();
    let output = run(&["simulate", &path, "--json", "--pcapng", capture]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{scenario}");
    let file = fs::read(capture).unwrap();
    let mut interfaces = Vec::new();
    let mut packets = Vec::new();
    let mut rest = &file[..];
    while rest.len() > 12 {
        let word = |from: usize| u32::from_le_bytes(rest[from..from + 4].try_into().unwrap());
        let len = word(4) as usize;
        match word(0) {
            1 => {
                let name_len = usize::from(u16::from_le_bytes([rest[18], rest[19]]));
                let name = String::from_utf8_lossy(&rest[20..20 + name_len]).into_owned();
                interfaces.push(at.contains(&name.as_str()));
            }
            6 if interfaces[word(8) as usize] => packets.push(Packet {
                at: u64::from(word(12)) << 32 | u64::from(word(16)),
                bytes: rest[28..28 + word(20) as usize].to_vec(),
                len: word(24),
            }),
            _ => {}
        }
        rest = &rest[len..];
    }
    packets.sort_by_key(|packet| packet.at);
    packets
}

/// A file with these packets: raw IP, nanoseconds.
fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_3c4d_u32, 2 | 4 << 16, 0, 0, 65_535, 101] {
        file.extend(field.to_le_bytes());
    }
    for packet in packets {
        let [seconds, nanos] = [packet.at / SECOND, packet.at % SECOND];
        file.extend((seconds as u32).to_le_bytes());
        file.extend((nanos as u32).to_le_bytes());
        file.extend((packet.bytes.len() as u32).to_le_bytes());
        file.extend(packet.len.to_le_bytes());
        file.extend(&packet.bytes);
    }
    file
}

/// What the command asks or notes about a capture, on one line: `applications`, or `compare` if
/// senders react.
fn said(path: &str, more: &[&str]) -> String {
    let is_comparison = more.contains(&"--react");
    let command = if is_comparison {
        "compare"
    } else {
        "applications"
    };
    let output = run(&[&[command, path], more].concat());
    assert!(output.status.success(), "{path}: {output:?}");
    let said = if is_comparison {
        output.stdout
    } else {
        output.stderr
    };
    let said = String::from_utf8_lossy(&said);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Captures that show all: each of other senders, applications, rates or queues.
fn shown() -> Vec<(&'static str, String)> {
    let bulks = |settings: &str, connections: &[String]| {
        network(SLOW, FREE) + &tcp("bulk", settings, connections)
    };
    let one = [bulk("1s", "40ms")];
    let two = [bulk("1s", "20ms"), bulk("2s", "80ms")];
    let at = |down: &str| network(down, FREE) + &tcp("bulk", "", &one);
    let narrow_up = network(SLOW, "rate = \"1mbit\"\noverhead = 14");
    vec![
        ("a download", bulks("", &one)),
        ("two downloads", bulks("", &two)),
        ("BBR", bulks(", control = \"bbr\"", &one)),
        ("two of BBR", bulks(", control = \"bbr\"", &two)),
        (
            "BBR beside CUBIC",
            bulks(", control = \"bbr\"", &one) + &tcp("cubic", "", &two[1..]),
        ),
        ("Reno", bulks(", control = \"reno\"", &one)),
        (
            "fq_codel",
            at(&format!("{SLOW}\nqueue = \"fq_codel linux\"")),
        ),
        (
            "a short queue",
            at(&format!("{SLOW}\nqueue = \"fifo limit 30\"")),
        ),
        ("a faster link", at("rate = \"12mbit\"\noverhead = 14")),
        ("a slower link", at("rate = \"1500kbit\"\noverhead = 14")),
        ("a home", home()),
        (
            "pages alone on a busy link",
            network(SLOW, FREE) + &tcp("pages", "", &vec![requests("60kb", "300ms", 25); 4]),
        ),
        (
            "a player beside a download",
            bulks("", &one) + &tcp("video", "", &[requests("200kb", "2s", 6)]),
        ),
        (
            "a player alone",
            network(SLOW, FREE) + &tcp("video", "", &[requests("700kb", "500ms", 6)]),
        ),
        (
            "an upload beside a download",
            narrow_up.clone() + &tcp("bulk", "", &one) + &tcp("up", "", &[upload()]),
        ),
        ("an upload", narrow_up + &tcp("up", "", &[upload()])),
        (
            "far away",
            bulks("", &[bulk("500ms", "150ms")])
                + &tcp("pages", "", &[requests("30kb", "600ms", 20)]),
        ),
        (
            "ECN",
            network(&format!("{SLOW}\nqueue = \"fq_codel linux\""), FREE)
                + &tcp("bulk", ", ecn = true", &two),
        ),
        (
            "a receive window beside a download",
            bulks("", &one)
                + &tcp(
                    "window",
                    ", window_growth = false, receive_window = 6",
                    &[bulk("1s", "60ms")],
                ),
        ),
        (
            "files that end",
            network(SLOW, FREE) + &tcp("files", "", &vec![requests("900kb", "200ms", 6); 2]),
        ),
    ]
}

/// A capture in which something cannot be seen.
struct Hidden {
    name: &'static str,
    /// In what the command says about it.
    told: &'static str,
    packets: Vec<Packet>,
    /// Options of the command.
    more: &'static [&'static str],
}

/// A packet as another protocol would have it.
fn of_protocol(packet: &Packet, protocol: u8) -> Packet {
    let mut packet = packet.clone();
    packet.bytes[PROTOCOL] = protocol;
    packet
}

/// All that is left of a home's packets.
fn kept(packets: &[Packet], is_kept: impl Fn(usize, &Packet) -> bool) -> Vec<Packet> {
    let mut all = Vec::new();
    for (number, packet) in packets.iter().enumerate() {
        if is_kept(number, packet) {
            all.push(packet.clone());
        }
    }
    all
}

/// Each packet changed.
fn changed(packets: &[Packet], change: impl Fn(&mut Packet)) -> Vec<Packet> {
    let mut all = packets.to_vec();
    for packet in &mut all {
        change(packet);
    }
    all
}

/// Captures with one thing hidden: of a home, then of other networks.
fn hidden(folder: &Folder) -> Vec<Hidden> {
    let home = captured(folder, &home(), &AT_SERVERS);
    let mut all = hidden_of_a_home(&home);
    all.extend(hidden_of_others(folder));
    all
}

fn hidden_of_a_home(home: &[Packet]) -> Vec<Hidden> {
    let all = |name, told, packets, more| Hidden {
        name,
        told,
        packets,
        more,
    };
    let is_late = |packet: &Packet| packet.at > 9 * SECOND;
    let is_in_hole = |packet: &Packet| (5 * SECOND..9 * SECOND).contains(&packet.at);
    let is_bulk = |packet: &Packet| packet.is_tcp() && packet.client_port() == bulk_port(home);
    vec![
        all(
            "the servers' direction alone",
            "one direction only",
            kept(home, |_, packet| packet.comes_from_server()),
            &[],
        ),
        all(
            "the clients' direction alone",
            "one direction only",
            kept(home, |_, packet| !packet.comes_from_server()),
            &[],
        ),
        all(
            "the acknowledgements of a download took another way",
            "one direction only",
            kept(home, |_, packet| {
                packet.comes_from_server() || !is_bulk(packet)
            }),
            &[],
        ),
        all(
            "the data of a download took another way",
            "one direction only",
            kept(home, |_, packet| {
                !packet.comes_from_server() || !is_bulk(packet)
            }),
            &[],
        ),
        all(
            "eight seconds",
            "bulk transfers hardly begin",
            kept(home, |_, packet| !is_late(packet)),
            &[],
        ),
        all(
            "no TCP",
            "nothing in it reacts",
            changed(home, |packet| *packet = of_protocol(packet, 17)),
            &[],
        ),
        all(
            "all in an encrypted tunnel",
            "nothing in it reacts",
            changed(home, |packet| *packet = of_protocol(packet, 50)),
            &[],
        ),
        all(
            "a tool that drops every third packet",
            "that it does not have",
            kept(home, |number, _| number % 3 > 0),
            &[],
        ),
        all(
            "a switch that samples one packet of eight",
            "that it does not have",
            kept(home, |number, _| number % 8 == 0),
            &[],
        ),
        all(
            "four seconds in the middle are missing",
            "that it does not have",
            kept(home, |_, packet| !is_in_hole(packet)),
            &[],
        ),
        all(
            "a filter leaves short packets out",
            "hardly an acknowledgement",
            kept(home, |_, packet| packet.len > 150),
            &[],
        ),
        all(
            "packets cut before the ports",
            "cannot be read",
            changed(home, |packet| packet.bytes.truncate(18)),
            &[],
        ),
        all(
            "a clock of 20 ms",
            "multiples of 10.0 ms",
            changed(home, |packet| packet.at -= packet.at % 20_000_000),
            &[],
        ),
        all(
            "no clock",
            "no clock has made the times",
            changed(home, |packet| packet.at = SECOND),
            &[],
        ),
        all(
            "a slower link behind the captured one",
            "while the link had room",
            home.to_vec(),
            &["--captured-rate", "100mbit"],
        ),
    ]
}

/// Segments that a server sent within 20 ms as one, as a card or a host hands them to a capture.
fn merge(packets: &[Packet]) -> Vec<Packet> {
    let mut all: Vec<Packet> = Vec::new();
    for packet in packets {
        let (sequence, headers) = packet.sequence();
        let last = all.iter_mut().rfind(|last| last.comes_from_server());
        if packet.comes_from_server()
            && packet.len > headers
            && let Some(last) = last
        {
            let (begin, _) = last.sequence();
            let is_next = begin.wrapping_add(last.len - headers) == sequence;
            if is_next && last.len > headers && last.at + SECOND / 50 > packet.at {
                last.len += packet.len - headers;
                let len = (last.len as u16).to_be_bytes();
                last.bytes[2..4].copy_from_slice(&len);
                continue;
            }
        }
        all.push(packet.clone());
    }
    all
}

/// The client's port of the connection with most bytes.
fn bulk_port(packets: &[Packet]) -> [u8; 2] {
    let mut ports: Vec<([u8; 2], u64)> = Vec::new();
    for packet in packets.iter().filter(|packet| packet.is_tcp()) {
        let port = packet.client_port();
        match ports.iter_mut().find(|(known, _)| *known == port) {
            Some((_, bytes)) => *bytes += u64::from(packet.len),
            None => ports.push((port, packet.len.into())),
        }
    }
    ports.iter().max_by_key(|(_, bytes)| *bytes).unwrap().0
}

fn hidden_of_others(folder: &Folder) -> Vec<Hidden> {
    let two = network(SLOW, FREE) + &tcp("bulk", "", &[bulk("0s", "40ms"), bulk("0s", "30ms")]);
    let two = captured(folder, &two, &AT_SERVERS);
    let hides = bulk_port(&two);
    let mut opportunities = String::new();
    for millis in 0..6000 {
        // 4 Mbit/s for three seconds, then .8.
        let apart = if millis < 3000 { 3 } else { 15 };
        if millis % apart == 0 {
            opportunities += &format!("{millis}\n");
        }
    }
    folder.file("radio.txt", opportunities);
    let radio = network("link_trace = \"radio.txt\"\noverhead = 14", FREE)
        + &tcp("bulk", "", &[bulk("0s", "40ms")]);
    let window = network("rate = \"20mbit\"\noverhead = 14", FREE)
        + &tcp(
            "window",
            ", window_growth = false, receive_window = 20",
            &[bulk("100ms", "60ms")],
        );
    let idle = network("rate = \"50mbit\"\noverhead = 14", FREE)
        + &tcp("pages", "", &[requests("3kb", "600ms", 20)])
        + CALL;
    let merged = network(SLOW, FREE) + &tcp("bulk", "", &[bulk("1s", "40ms")]);
    let window = captured(folder, &window, &AT_SERVERS);
    vec![
        Hidden {
            name: "another host's download is not captured",
            told: "while the link had room",
            packets: kept(&two, |_, packet| packet.client_port() != hides),
            more: &["--captured-rate", "4mbit"],
        },
        Hidden {
            name: "a radio whose rate changes",
            told: "while the link had room",
            packets: captured(folder, &radio, &AT_SERVERS),
            more: &[],
        },
        Hidden {
            name: "a receive window of unknown scale",
            told: "receive window of unknown scale",
            packets: kept(&window, |_, packet| !packet.is_syn()),
            more: &[],
        },
        Hidden {
            name: "frames that offloads have merged",
            told: "merged by offloads",
            packets: merge(&captured(folder, &merged, &AT_SERVERS)),
            more: &[],
        },
        Hidden {
            name: "what a large download would do",
            told: "no transfer wanted more than it got",
            packets: captured(folder, &idle, &AT_SERVERS),
            more: &[
                "--rate",
                "50mbit",
                "--react",
                "--no-cost",
                "fifo",
                "fq_codel",
            ],
        },
    ]
}

#[test]
fn what_is_hidden_is_asked_about() {
    let folder = Folder::new("unseen-hidden");
    let all = hidden(&folder);
    assert_eq!(all.len(), 20);
    let mut unasked = Vec::new();
    for hidden in all {
        let path = folder.file("hidden.pcap", pcap(&hidden.packets));
        let said = said(&path, hidden.more);
        if !said.contains(hidden.told) {
            unasked.push(format!("{}: {said}", hidden.name));
        }
    }
    assert!(unasked.is_empty(), "{}", unasked.join("\n"));
}

#[test]
fn what_is_shown_is_not_asked_about() {
    let folder = Folder::new("unseen-shown");
    let all = shown();
    assert_eq!(all.len(), 20);
    let mut asked = Vec::new();
    for (name, scenario) in all {
        let packets = captured(&folder, &scenario, &AT_SERVERS);
        let path = folder.file("shown.pcap", pcap(&packets));
        let said = said(&path, &[]);
        if !said.is_empty() {
            asked.push(format!("{name}: {said}"));
        }
    }
    assert!(asked.len() <= 1, "{}", asked.join("\n"));
}

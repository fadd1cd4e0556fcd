//! `roundelay compare` with a selection: options, output, JSON, errors.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// A file, deleted on drop.
struct Capture(PathBuf);

impl Capture {
    fn new(name: &str, bytes: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(
            "roundelay-selection-{}-{number}-{name}",
            std::process::id()
        ));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn compare(&self, arguments: &[&str]) -> Output {
        self.compare_at("1gbit", arguments)
    }

    fn compare_at(&self, rate: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
        command
            .env_remove("NO_COLOR")
            .env("COLUMNS", "1000")
            .stdin(Stdio::null());
        command
            .arg("compare")
            .arg(&self.0)
            .args(["--rate", rate, "--no-cost"])
            .args(arguments)
            .output()
            .unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.compare(arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[&["fifo", "--json"], arguments].concat())).unwrap()
    }

    fn error(&self, arguments: &[&str]) -> String {
        let output = self.compare(&[&["fifo"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// A UDP packet between a LAN and a server.
fn udp(identification: u8, upload: bool, ttl: u8) -> Vec<u8> {
    let (lan, server) = ([192, 168, 1, 20], [198, 51, 100, 7]);
    let (source, destination) = if upload { (lan, server) } else { (server, lan) };
    let ports = if upload {
        [19, 136, 1, 187]
    } else {
        [1, 187, 19, 136]
    };
    [
        &[0x45, 0, 0, 28, 0, identification, 0, 0, ttl, 17, 0, 0][..],
        &source,
        &destination,
        &ports,
        &[0, 8, 0, 0],
    ]
    .concat()
}

/// `tcpdump -i any` on a router: 6 packets up, 4 down, each received at one interface and sent at
/// the other.
fn router() -> Capture {
    let mut bytes: Vec<u8> = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65_535, 276]
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    for number in 1..=10_u8 {
        let ends = if number <= 6 { [2, 3] } else { [3, 2] };
        for (interface, packet_type, micros) in [(ends[0], 0, 0), (ends[1], 4, 50)] {
            let packet = udp(number, number <= 6, 64 - packet_type / 4);
            let frame = [
                &[
                    8,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    interface,
                    0,
                    1,
                    packet_type,
                    6,
                    2,
                    2,
                    2,
                    2,
                    2,
                    2,
                    0,
                    0,
                ][..],
                &packet,
            ]
            .concat();
            let (time, length) = (u32::from(number) * 1000 + micros, frame.len() as u32);
            bytes.extend(
                [0, time, length, length]
                    .iter()
                    .flat_map(|field| field.to_le_bytes()),
            );
            bytes.extend(frame);
        }
    }
    Capture::new("router.pcap", &bytes)
}

/// The command before the verdict has the words of the call, works in a shell, and mends the load.
#[test]
fn the_verdict_of_a_mixture_begins_with_a_command_to_copy() {
    let router = router();
    let words = [
        "fifo",
        "fq_codel limit 100",
        "--direction",
        "both",
        "--weight",
        "src port 443 = 2",
    ];
    let output = router.compare_at("100kbit", &words);
    let text = String::from_utf8(output.stdout).unwrap();
    let warning = text
        .split("\n\n")
        .find(|part| part.starts_with("The figures below are of a wrong load: both directions"))
        .unwrap();
    let command = warning
        .lines()
        .find(|line| line.starts_with("  roundelay compare "))
        .unwrap()
        .trim();
    assert!(
        command.contains(" fifo 'fq_codel limit 100' --weight 'src port 443 = 2' --"),
        "{command}"
    );
    assert!(
        command.ends_with(" --interface 2 --direction in"),
        "{command}"
    );
    // A link that is too slow, and one discipline: where it matters, commands are printed.
    let output = router.compare_at("100kbit", &["drr", "--direction", "both"]);
    let alone = String::from_utf8(output.stdout).unwrap();
    assert!(alone.contains("# for the wrong load"), "{alone}");
    let program = env!("CARGO_BIN_EXE_roundelay");
    let typed = command.replacen("roundelay", &format!("'{program}'"), 1);
    let output = Command::new("sh").args(["-c", &typed]).output().unwrap();
    let mended = String::from_utf8(output.stdout).unwrap();
    assert!(
        mended.contains("6 packets, 1 flow") && !mended.contains("wrong load"),
        "{mended}"
    );
    let verdict = &router.json(&["--direction=both"])["verdict"];
    assert!(
        verdict["reserve"]["command"]
            .as_str()
            .unwrap()
            .ends_with("--json --interface 2 --direction in"),
        "{verdict}"
    );
    assert!(
        router.json(&["--interface", "2", "--direction", "in"])["verdict"]
            .get("reserve")
            .is_none()
    );
}

/// One answer at once: the direction with the larger load, and the command for the other one.
#[test]
fn compare_chooses_a_direction_and_gives_the_other_two_lines() {
    let router = router();
    let text = router.text(&["fifo", "--direction", "auto"]);
    for part in [
        "6 packets, 1 flow",
        "Replayed: one direction of one link, the one with the larger load (--interface 2",
        "The other direction: 4 packets,",
    ] {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
    assert!(!text.contains("wrong load"), "{text}");
    let command = text.lines().last().unwrap().trim();
    let expected = " fifo --interface 3 --direction in";
    assert!(command.ends_with(expected), "{command}");
    let program = env!("CARGO_BIN_EXE_roundelay");
    let typed = command.replacen("roundelay", &format!("'{program}'"), 1);
    let output = Command::new("sh").args(["-c", &typed]).output().unwrap();
    let other = String::from_utf8(output.stdout).unwrap();
    assert!(other.contains("4 packets, 1 flow"), "{other}");
    assert_eq!(router.json(&[])["capture"]["selection"]["chosen"], true);
}

#[test]
fn compare_replays_the_selected_packets_and_counts_the_others() {
    let router = router();
    let page = router.json(&[
        "--interface",
        "2",
        "--direction",
        "from 192.168.1.0/24",
        "--filter",
        "udp and not port 53",
    ]);
    assert_eq!(page["capture"]["packets"], 6);
    let left_out =
        json!({ "interface": 10, "direction": 4, "filter": 0, "duplicates": 0, "mirrored": 0 });
    assert_eq!(
        page["capture"]["selection"],
        json!({ "interface": "2", "direction": "from 192.168.1.0/24", "filter": "udp and not port 53", "keep_duplicates": false, "mirrored": false,
            "read": 20, "left_out": left_out })
    );
    let text = router.text(&["--direction", "out", "fifo"]);
    assert!(
        text.contains("Note: 10 of 20 packets are replayed. Left out: 10 by --direction out."),
        "{text}"
    );
}

#[test]
fn compare_leaves_duplicates_out_and_advises_one_direction() {
    let router = router();
    let page = router.json(&["--direction", "both"]);
    assert_eq!(page["capture"]["packets"], 10);
    assert_eq!(page["capture"]["selection"]["left_out"]["duplicates"], 10);
    let kept = router.json(&["--keep-duplicates", "--direction", "both"]);
    assert_eq!(
        (
            &kept["capture"]["packets"],
            &kept["capture"]["selection"]["read"]
        ),
        (&json!(20), &json!(20))
    );
    let text = router.text(&["fifo", "--direction", "both"]);
    for part in [
        "Left out: 10 duplicates",
        "--keep-duplicates keeps them",
        "--interface 2 --direction in",
    ] {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

#[test]
fn compare_takes_one_direction() {
    let router = router();
    assert!(
        router
            .text(&["--direction", "to 192.168.1.0/24", "fifo"])
            .contains("4 packets, 1 flow")
    );
    assert!(
        router
            .text(&["--direction", "in", "fifo", "drr"])
            .contains("drr"),
        "the next word is a discipline"
    );
}

#[test]
fn compare_refuses_a_wrong_or_an_empty_selection() {
    let router = router();
    for (arguments, part) in [
        (
            &["--direction", "up"][..],
            "direction `up`: expected auto, both, in, out, or in quotes 'from ADDRESS' or 'to ADDRESS'",
        ),
        (
            &["--direction", "from", "10.0.0.1"],
            "direction `from`: expected auto, both, in, out, or in quotes",
        ),
        (
            &["--direction", "from eth0"],
            "expected an address such as 10.0.0.1",
        ),
        (
            &["--filter", "udp port"],
            "filter `udp port`: column 9: found the end; expected a port",
        ),
        (
            &["--interface", "eth0"],
            "--interface eth0 matches none of 20 packets; expected an interface of the capture: 2, 3",
        ),
        (
            &["--filter", "tcp"],
            "--filter 'tcp' matches none of 20 packets",
        ),
        (
            &["--interface", "2", "--direction", "to 10.0.0.0/8"],
            "--direction 'to 10.0.0.0/8' matches none of 10 packets",
        ),
    ] {
        let message = router.error(arguments);
        assert!(
            message.contains(part) && !message.contains("panicked"),
            "{part:?} is missing in: {message}"
        );
    }
}

/// A part of the time, by `--from`, `--to` and `--busiest`; wrong values name what is legal.
#[test]
fn compare_replays_a_part_of_the_time() {
    let router = router();
    let text = router.text(&["fifo", "--from", "3ms", "--to", "5ms"]);
    assert!(
        text.contains("Replayed: the part from 3.00 ms to 5.00 ms after the first packet."),
        "{text}"
    );
    assert!(!text.contains("Left out: none"), "{text}");
    let page = router.json(&["--from", "3ms"]);
    let selection = &page["capture"]["selection"];
    assert_eq!(selection["left_out"]["time"], 6, "{selection}");
    for (arguments, part) in [
        (
            &["--from", "3"][..],
            "time `3`: expected a time with a unit, h, min, s or ms, as in 90s",
        ),
        (&["--busiest", "1us"], "expected a millisecond or more"),
        (&["--from", "1h"], "matches none of 20 packets"),
        (&["--mtu", "20"], "legal range 576 to 65535, or none"),
        (
            &["--flow-by", "port"],
            "expected 5tuple, inner, outer, src, dst or dscp",
        ),
    ] {
        let message = router.error(arguments);
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}

/// What comes through a pipe is read twice, too.
#[test]
fn compare_chooses_a_direction_of_standard_input() {
    let router = router();
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    command.args(["compare", "-", "--rate", "1gbit", "--no-cost", "fifo"]);
    let input = fs::File::open(&router.0).unwrap();
    let mut cat = Command::new("cat")
        .stdin(input)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = command.stdin(cat.stdout.take().unwrap()).output().unwrap();
    cat.wait().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("6 packets, 1 flow"), "{text}");
}

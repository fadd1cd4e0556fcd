//! `roundelay bounds`: output, refusals, and a check of the bounds against simulated packets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use roundelay::Seed;
use roundelay::schedulers::{Discipline, fifo, wf2q_plus};
use roundelay::{
    Control, DropReason, FlowConfig, FlowId, Instant, Limit, Observer, Packet, Port, Rate,
};
use serde_json::Value;

/// A file for one test, deleted on drop.
struct File(PathBuf);

impl File {
    fn new(text: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "roundelay-bounds-{}-{}.toml",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn run(file: &str, arguments: &[&str]) -> (Output, String) {
    let file = File::new(file);
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundelay"));
    let output = command
        .arg("bounds")
        .arg(&file.0)
        .args(arguments)
        .output()
        .unwrap();
    (output, file.0.display().to_string())
}

/// Output of a successful run with empty stderr.
fn success(file: &str, arguments: &[&str]) -> String {
    let (output, _) = run(file, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

fn json(file: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&success(file, &[arguments, &["--json"]].concat())).unwrap()
}

/// The error message about an invalid file, without the file's name.
fn refusal(file: &str, arguments: &[&str]) -> String {
    let (output, name) = run(file, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(2), &b""[..]),
        "{stderr}"
    );
    stderr.replace(&name, "FILE")
}

/// At 8 Mbit/s a byte takes a microsecond. Flow a has a quarter of the link, flow b three quarters.
const TWO: &str = "
[[flow]]
name = \"a\"
maxpkt = \"1000b\"
burst = \"3000b\"
rate = \"1mbit\"

[[flow]]
name = \"b\"
weight = 3
maxpkt = 1500
";

#[test]
fn the_table_says_what_the_formulas_give() {
    let text = success(TWO, &["wf2q_plus", "fifo", "--rate", "8mbit"]);
    // 3000 x 4, and the latency: 1000 x 4 - 1000 + 2 x 1500.
    assert!(text.contains("18.000ms"), "{text}");
    // 1500 x 4 / 3, and 500 + 3000.
    assert!(text.contains("5.500ms"), "{text}");
    assert!(text.contains("fifo: no delay is proven."), "{text}");
    let row: Vec<_> = text
        .lines()
        .find(|line| line.starts_with("a "))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(row, ["a", "1", "2mbit", "1mbit", "3000b", "18.000ms", "–"]);
}

#[test]
fn json_tells_what_each_delay_is_made_of() {
    let report = json(TWO, &["wf2q_plus", "--rate", "8mbit"]);
    let promise = &report["disciplines"][0]["flows"][0];
    assert_eq!(promise["delay"], 0.018);
    let hop = &promise["hops"][0];
    assert_eq!(
        (
            &hop["latency"]["value"],
            &hop["t_wfi"]["value"],
            &hop["b_wfi"]["value"]
        ),
        (&0.006.into(), &0.007.into(), &2_750.0.into())
    );
    assert!(
        hop["latency"]["source"]
            .as_str()
            .unwrap()
            .contains("wf2q_plus.rs")
    );
    assert_eq!(
        (&report["flows"][0]["share"], &report["flows"][1]["rate"]),
        (&2_000_000.into(), &6_000_000.into())
    );
    assert_eq!(report["hops"][0]["rate"], 8_000_000);
}

#[test]
fn disciplines_that_promise_nothing_are_left_out_unless_named() {
    let names = |report: Value| {
        let all = report["disciplines"].as_array().unwrap().clone();
        all.iter()
            .map(|entry| entry["spec"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = names(json(TWO, &["--rate", "8mbit"]));
    assert!(
        ["drr", "wf2q_plus", "qfq"]
            .iter()
            .all(|name| all.iter().any(|known| known == name)),
        "{all:?}"
    );
    assert!(
        !all.iter().any(|name| name == "fifo" || name == "afq"),
        "{all:?}"
    );
    assert_eq!(names(json(TWO, &["fifo", "--rate", "8mbit"])), ["fifo"]);
}

#[test]
fn links_add_up() {
    let delay = |report: &Value, flow: usize| {
        report["disciplines"][0]["flows"][flow]["delay"]
            .as_f64()
            .unwrap()
    };
    let three = json(TWO, &["wf2q_plus", "--rate", "8mbit", "--hops", "3"]);
    // The burst once, L_k / r for two more links, the latency three times.
    assert_eq!(delay(&three, 0), 0.038);
    let hops = "
[[hop]]
rate = \"16mbit\"
delay = \"5ms\"
maxpkt = \"3000b\"

[[hop]]
discipline = \"drr\"
";
    let mixed = json(&(TWO.to_owned() + hops), &["wf2q_plus", "--rate", "8mbit"]);
    // On the slower link: 3000 x 4 + 1000 x 4; at 16 Mbit/s (3000 + 2 x 3000) / 2, and the
    // propagation delay to the next link.
    let drr = mixed["disciplines"][0]["flows"][0]["hops"][1]["latency"]["value"]
        .as_f64()
        .unwrap();
    assert!(
        (delay(&mixed, 0) - (0.016 + 0.0045 + 0.005 + drr)).abs() < 1e-9,
        "{mixed}"
    );
    assert_eq!(mixed["hops"][1]["discipline"], "drr");
    let fixed = TWO.to_owned() + "[[hop]]\ndiscipline = \"wf2q_plus\"\n";
    assert!(success(&fixed, &["--rate", "8mbit"]).contains("18.000ms"));
    assert!(refusal(&fixed, &["drr", "--rate", "8mbit"]).contains("name none"));
    let unproven = TWO.to_owned() + "[[hop]]\ndiscipline = \"fifo\"\n[[hop]]\n";
    assert_eq!(
        json(&unproven, &["wf2q_plus", "--rate", "8mbit"])["disciplines"][0]["flows"][0]["delay"],
        Value::Null
    );
}

/// QFQ's paper prints a bound smaller than the proven one by L_k; DRR's printed bounds are the
/// proven ones.
#[test]
fn bounds_as_printed_stand_beside_the_proven_ones() {
    let text = success(TWO, &["drr", "qfq", "--rate", "8mbit", "--sources"]);
    let (drr, qfq) = text.split_at(text.find("\nqfq\n").expect("qfq has sources"));
    assert!(!drr.contains("printed B-WFI"), "{drr}");
    for part in [
        "printed B-WFI  printed T-WFI",
        "printed B-WFI: QFQ paper, Theorem 1: 3 phi",
        "printed T-WFI: QFQ paper, Theorem 2",
    ] {
        assert!(qfq.contains(part), "no {part}: {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&success(TWO, &["qfq", "--rate", "8mbit", "--json"])).expect("JSON");
    let flow = &json["disciplines"][0]["flows"][0];
    let b_wfi = &flow["hops"][0]["b_wfi"];
    let missing = b_wfi["value"].as_f64().unwrap() - b_wfi["printed"]["value"].as_f64().unwrap();
    assert_eq!(
        missing,
        json["flows"][0]["max_packet_len"].as_f64().unwrap()
    );
    assert!(flow["hops"][0]["latency"]["printed"].is_null());
}

#[test]
fn sources_are_named() {
    let text = success(TWO, &["drr", "wf2q_plus", "--rate", "8mbit", "--sources"]);
    for part in [
        "B-WFI: from Shreedhar and Varghese 1996",
        "latency: wf2q_plus.rs",
        "2750 bytes",
        "7.000ms",
        "fairness: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Picoseconds end at 213 days. The burst alone takes 9 billion seconds, and at a bit per second a
/// packet of `a` takes 144 days on every link.
#[test]
fn a_number_that_saturates_is_no_bound() {
    let flow = |name: &str, rest: &str| format!("[[flow]]\nname = \"{name}\"\n{rest}\n");
    let deep = flow("a", "burst = \"1024gb\"") + &flow("b", "weight = 1024");
    let text = success(&deep, &["qfq", "--rate", "1mbit"]);
    let of = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(
        of("a ").ends_with("more than 213 days") && of("b ").ends_with("ms"),
        "{text}"
    );
    let report = json(&deep, &["qfq", "--rate", "1mbit"]);
    let flows = &report["disciplines"][0]["flows"];
    assert!(
        flows[0]["delay"].is_null() && flows[1]["delay"].is_f64(),
        "{flows}"
    );
    assert!(
        flows[0]["hops"][0]["latency"]["value"].is_f64(),
        "the latency alone can be told: {flows}"
    );

    let slow = flow("a", "") + &flow("b", "weight = 1024");
    let text = success(&slow, &["drr", "fifo", "--rate", "1bit", "--hops", "1000"]);
    assert_eq!(text.matches("more than 213 days").count(), 2, "{text}");
    assert!(
        text.contains("fifo: no delay is proven.") && !text.contains("drr: no delay"),
        "{text}"
    );
    assert!(
        json(&slow, &["--rate", "1bit", "--hops", "1000"])["disciplines"]
            .as_array()
            .unwrap()
            .len()
            > 5,
        "they promise, if only much"
    );
    let sources = success(&slow, &["drr quantum 1mb", "--rate", "1bit", "--sources"]);
    assert!(
        sources
            .lines()
            .any(|line| line.starts_with("a  ") && line.matches("more than 213 days").count() > 1),
        "{sources}"
    );
    let latency = &json(&slow, &["drr quantum 1mb", "--rate", "1bit"])["disciplines"][0]["flows"]
        [0]["hops"][0]["latency"];
    assert!(
        latency["value"].is_null() && latency["source"].is_string(),
        "{latency}"
    );
}

/// Sums over all flows must be computed once: computed for each flow, this test would not end.
#[test]
fn a_hundred_thousand_flows_are_no_feat() {
    let flow = |number: u32| {
        format!(
            "[[flow]]\nname = \"{number}\"\nweight = {}\nrate = \"1kbit\"\n",
            1 + number % 2
        )
    };
    let flows: String = (0..100_000).map(flow).collect();
    let text = success(&flows, &["--rate", "1gbit", "drr", "qfq"]);
    assert_eq!(text.lines().count(), 100_000 + 3);
    let last: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last[..4], ["99999", "2", "13.333kbit", "1kbit"]);
}

/// The theorems are about sent packets: they do not hold for a buffer with drops or push-outs.
#[test]
fn a_discipline_with_a_limit_is_refused() {
    for spec in [
        "drr limit 2",
        "wfq limit 1",
        "srr memory_limit 32mb",
        "scfq limit 150kb",
    ] {
        let said = refusal(TWO, &["wf2q_plus", spec, "--rate", "8mbit"]);
        let name = spec.split_whitespace().next().unwrap();
        assert!(
            said.contains(name)
                && said.contains("without drops")
                && said.contains("leave the limit out"),
            "{said}"
        );
    }
    let hop = TWO.to_owned() + "[[hop]]\n[[hop]]\ndiscipline = \"qfq limit 3\"\n";
    let said = refusal(&hop, &["--rate", "8mbit"]);
    assert!(
        ["FILE:14:", "qfq", "without drops"]
            .iter()
            .all(|part| said.contains(part)),
        "{said}"
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_what_would_be_right() {
    let flow = |rest: &str| format!("[[flow]]\nname = \"a\"\n{rest}\n");
    let cases = [
        (flow("weight = 0"), vec!["FILE:3:", "weight 0", "1 to 1024"]),
        (
            flow("weight = 1025"),
            vec!["FILE:3:", "weight 1025", "1 to 1024"],
        ),
        (
            flow("max_packet_len = \"0b\""),
            vec!["FILE:3:", "max_packet_len \"0b\"", "1b to 64kb"],
        ),
        (
            flow("rate = 5"),
            vec!["FILE:3:", "rate: expected a unit", "5mbit", "5bit"],
        ),
        (
            flow("rate = \"1000000\""),
            vec!["FILE:3:", "rate: expected a unit", "1000000bit"],
        ),
        (
            flow("[[hop]]\nrate = 1000000"),
            vec!["FILE:4:", "rate: expected a unit", "1000000bit"],
        ),
        (
            flow("burst = \"1000b\""),
            vec!["FILE:3:", "burst 1000b", "1514b to"],
        ),
        (
            flow("rate = \"20Mbps\""),
            vec!["FILE:3:", "rate: cannot read '20Mbps'", "20mbit"],
        ),
        (
            flow("rate = -5"),
            vec!["FILE:3:", "rate -5: expected", "20mbit"],
        ),
        (
            flow("rate = 1.5"),
            vec![
                "FILE:3:",
                "rate 1.5: expected a number and its unit",
                "20mbit",
            ],
        ),
        (
            flow("rate = \"0mbit\""),
            vec!["FILE:3:", "rate: ", "at least 1bit"],
        ),
        (flow("rate = true"), vec!["FILE:3:", "rate true: expected"]),
        (
            flow("burst = [1, 2]"),
            vec!["FILE:3:", "burst [1, 2]: expected", "1b to"],
        ),
        (
            flow("burst = { a = 1 }"),
            vec!["FILE:3:", "burst { a = 1 }: expected", "1b to"],
        ),
        (
            flow("maxpkt = 1979-05-27"),
            vec!["FILE:3:", "maxpkt 1979-05-27: expected", "1b to 64kb"],
        ),
        (
            flow("maxpkt = -1"),
            vec!["FILE:3:", "maxpkt -1: expected", "1b to 64kb"],
        ),
        (
            flow("weight = 99999999999999999999"),
            vec!["FILE:3:", "weight 99999999999999999999: ", "1 to 1024"],
        ),
        (
            flow("weight = -3"),
            vec!["FILE:3:", "weight -3: ", "1 to 1024"],
        ),
        (
            flow("weight = 1.5"),
            vec!["FILE:3:", "weight 1.5: ", "1 to 1024"],
        ),
        (
            flow("weight = \"3\""),
            vec!["FILE:3:", "weight \"3\": ", "1 to 1024"],
        ),
        (
            flow("[[hop]]\ndelay = -5"),
            vec!["FILE:4:", "delay -5: expected", "5ms"],
        ),
        (flow("speed = 3"), vec!["FILE:3:", "speed", "weight"]),
        (
            flow("") + &flow(""),
            vec!["FILE:5:", "two flows are called 'a'"],
        ),
        (
            "[[flow]]\nweight = 1\n".to_owned(),
            vec![
                "FILE:1:",
                "missing field `name` in [[flow]], as in name = \"calls\"",
            ],
        ),
        (
            "[[flow]]\nname = 7\n".to_owned(),
            vec!["FILE:2:", "name 7: expected a text in quotes"],
        ),
        (
            flow("maxpkt = \"9x\""),
            vec![
                "FILE:3:",
                "maxpkt \"9x\": expected",
                "legal range 1b to 64kb",
            ],
        ),
        (
            flow("[[hop]]\ndiscipline = 3"),
            vec!["FILE:4:", "discipline 3: expected a text in quotes"],
        ),
        (
            flow("[[hop]]\ndiscipline = \"fqcodel\""),
            vec!["FILE:4:", "did you mean 'fq_codel'?"],
        ),
        (String::new(), vec!["no [[flow]]"]),
        ("[[flow\n".to_owned(), vec!["FILE:1:"]),
        (flow("rate = \"9mbit\""), vec!["add up to 9mbit", "8mbit"]),
        (
            flow("rate = \"5mbit\"\n[[flow]]\nname = \"b\""),
            vec![
                "FILE:3:",
                "rate 5mbit of flow 'a'",
                "to 4mbit",
                "1 of 2 weights",
            ],
        ),
        (
            flow("[[hop]]\ndiscipline = \"fairest\""),
            vec!["FILE:4:", "fairest': fifo", "no discipline"],
        ),
        (
            flow("[[hop]]\ndelay = \"5 parsecs\""),
            vec!["FILE:4:", "delay: cannot read"],
        ),
    ];
    for (file, parts) in cases {
        let said = refusal(&file, &["--rate", "8mbit"]);
        assert!(
            parts.iter().all(|part| said.contains(part)),
            "{parts:?}: {said}"
        );
    }
    let little = flow("rate = \"1bit\"\n[[flow]]\nname = \"b\"");
    assert!(
        refusal(&little, &["--rate", "1bit"]).contains(
            "rate 1bit of flow 'a': more than its share of a link of 1bit, 1 of 2 weights"
        )
    );
    assert!(refusal(TWO, &[]).contains("--rate 20mbit"));
    let hop = TWO.to_owned() + "[[hop]]\n";
    assert!(refusal(&hop, &[]).contains("a link without a rate"));
    assert!(refusal(&hop, &["--rate", "8mbit", "--hops", "2"]).contains("leave out --hops"));
}

/// Code blocks of docs/bounds.md: the info string and the text of each.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .collect()
}

/// Splits a command into words like a shell: quotes keep words together.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for letter in command.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

#[test]
fn the_page_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/bounds.md")).unwrap();
    let (mut printed, mut compared) = (String::new(), 0);
    for (kind, block) in blocks(&page) {
        match kind {
            "sh" => {
                for command in block.lines() {
                    let words = words(command);
                    assert_eq!(words[..2], ["roundelay", "bounds"]);
                    let output = Command::new(env!("CARGO_BIN_EXE_roundelay"))
                        .current_dir(&root)
                        .args(&words[1..])
                        .output()
                        .unwrap();
                    assert!(
                        output.status.success(),
                        "{command}: {}",
                        String::from_utf8_lossy(&output.stderr)
                    );
                    printed = String::from_utf8(output.stdout).unwrap();
                }
            }
            "text" => {
                assert_eq!(
                    block, printed,
                    "docs/bounds.md is out of date: this is what its command prints"
                );
                compared += 1;
            }
            "toml" => assert!(success(block, &["--rate", "100mbit"]).contains("as proven")),
            other => panic!("a block of {other}"),
        }
    }
    assert_eq!(compared, 1);
    let example = fs::read_to_string(root.join("examples/bounds/office.toml")).unwrap();
    let command = blocks(&page)[0].1.trim_end();
    assert!(example.contains(command), "{command}");
}

/// Text from a file cannot control the terminal.
#[test]
fn names_are_shown_without_what_controls() {
    let steering = "a\u{202e}b\u{61c}c\u{ad}d\u{9b}e\u{e0041}";
    let flow = format!("[[flow]]\nname = \"{steering}\"\n");
    let clean = "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}";
    let text = success(&flow, &["drr", "--rate", "8mbit", "--sources"]);
    assert_eq!(
        text.lines().filter(|line| line.starts_with(clean)).count(),
        2,
        "{text:?}"
    );
    assert!(
        json(&flow, &["drr", "--rate", "8mbit"])["flows"][0]["name"] == steering,
        "programs get it as it is"
    );
    let mistakes = [
        (flow.clone() + &flow, "two flows"),
        (
            flow.clone() + &format!("\"{steering}\" = 1\n"),
            "unknown field",
        ),
        (flow.clone() + &format!("rate = \"{steering}\"\n"), "rate: "),
        (
            flow + "rate = \"9mbit\"\n[[flow]]\nname = \"z\"\n[[hop]]\nrate = \"9mbit\"\n",
            "of flow",
        ),
    ];
    for (file, what) in mistakes {
        let said = refusal(&file, &["--rate", "8mbit"]);
        assert!(said.contains(what) && said.contains(clean), "{said:?}");
        assert!(
            !said.contains('\u{202e}') && !said.contains('\u{9b}'),
            "{said:?}"
        );
    }
}

#[test]
fn where_each_link_has_its_discipline_the_delay_has_none() {
    let fixed =
        TWO.to_owned() + "[[hop]]\ndiscipline = \"wf2q_plus\"\n[[hop]]\ndiscipline = \"drr\"\n";
    let report = json(&fixed, &["--rate", "8mbit"]);
    assert!(
        report["disciplines"][0]["spec"].is_null()
            && report["disciplines"][0]["flows"][0]["delay"].is_f64(),
        "{report}"
    );
    assert_eq!(report["hops"][1]["discipline"], "drr");
    assert!(
        success(&fixed, &["--rate", "8mbit"])
            .lines()
            .nth(2)
            .unwrap()
            .ends_with("  delay")
    );
    let silent = TWO.to_owned() + "[[hop]]\ndiscipline = \"fifo\"\n";
    assert!(success(&silent, &["--rate", "8mbit"]).contains("\nNo delay is proven.\n"));
}

/// End of transmission of flow 0's packets, in microseconds.
#[derive(Default)]
struct Departures(Vec<u64>);

impl Observer<()> for Departures {
    fn sent(&mut self, packet: Packet<()>, _start: Instant, end: Instant) {
        if packet.flow == FlowId(0) {
            self.0.push(end.as_picos().div_ceil(1_000_000));
        }
    }

    fn dropped(&mut self, _packet: Packet<()>, _now: Instant, reason: DropReason) {
        panic!("{reason:?}");
    }
}

/// A link of 8 Mbit/s: 1000-byte packets of flow 0 arrive at these microseconds, 1500-byte packets
/// of three other flows in bursts.
fn through_a_link<D: Discipline>(discipline: &D, arrivals: &[u64], phase: u64) -> Vec<u64> {
    let mut scheduler = discipline.build(Seed::new(1)).unwrap();
    for flow in 0..4 {
        let config = FlowConfig {
            weight: [1, 1, 2, 4][flow as usize],
            max_packet_len: 1_500,
        };
        scheduler.set_flow(FlowId(flow), config).unwrap();
    }
    let mut events: Vec<_> = arrivals.iter().map(|at| (*at, 0, 1_000)).collect();
    for burst in 0..40 {
        events.extend((0..30).map(|number| (burst * 50_000 + phase, 1 + number % 3, 1_500)));
    }
    events.sort_unstable();
    let mut port = Port::new(
        scheduler,
        Limit::UNBOUNDED,
        Rate::from_bits_per_second(8_000_000).unwrap(),
    );
    let mut departures = Departures::default();
    for (at, flow, len) in events {
        let now = Instant::from_nanos(at * 1_000);
        port.advance(now, &mut departures);
        port.arrive(now, Packet::new(FlowId(flow), len, ()), &mut departures);
    }
    port.drain(&mut departures);
    departures.0
}

/// The longest delay over three links of a flow with a bucket of 4000 bytes that fills with a byte
/// every 8 microseconds.
fn longest_way<D: Discipline>(discipline: &D) -> f64 {
    let mut longest = 0;
    for phase in [0, 1, 7_000, 20_001] {
        // The full bucket at once, repeatedly, and the packets in between as early as allowed.
        let sent: Vec<u64> = (0..150u64)
            .map(|number| {
                if number % 40 < 20 {
                    number / 4 * 4 * 8_000
                } else {
                    number * 8_000
                }
            })
            .collect();
        let mut at = sent.clone();
        for link in 0..3 {
            at = through_a_link(discipline, &at, phase * (link + 1));
        }
        longest = longest.max(
            sent.iter()
                .zip(&at)
                .map(|(sent, arrived)| arrived - sent)
                .max()
                .unwrap(),
        );
    }
    longest as f64 / 1e6
}

/// Keys are those of scenarios, and a call's packets are shorter than 512 bytes.
#[test]
fn a_flow_of_short_packets_has_the_key_of_scenarios() {
    let file = "
[[flow]]
name = \"call\"
max_packet_len = \"200b\"
rate = \"1mbit\"
burst = \"400b\"

[[flow]]
name = \"rest\"
weight = 3

[[hop]]
rate = \"8mbit\"
max_packet_len = \"1514b\"
";
    let report = json(file, &["wf2q_plus"]);
    assert_eq!(report["flows"][0]["max_packet_len"], 200);
    assert_eq!(report["flows"][0]["burst"], 400);
    // The burst at a quarter of the link, and the latency of a flow with packets of 512 bytes:
    // disciplines keep no shorter longest packet. 400 x 4 + 512 x 4 - 512 + 2 x 1514 bytes.
    let hop = &report["disciplines"][0]["flows"][0]["hops"][0];
    let delay = report["disciplines"][0]["flows"][0]["delay"].as_f64();
    let latency = hop["latency"]["value"].as_f64().unwrap();
    assert_eq!(delay, Some(0.0016 + latency));
    let written_as_in_tc = file.replace("max_packet_len", "maxpkt");
    assert_eq!(json(&written_as_in_tc, &["wf2q_plus"]), report);
}

/// At 8 Mbit/s, each flow with a bucket.
const BUCKETS: &str = "
[[flow]]
name = \"a\"
max_packet_len = 1000
rate = \"1mbit\"
burst = 3000

[[flow]]
name = \"b\"
weight = 3
max_packet_len = 1500
rate = \"2mbit\"
burst = 4500
";

#[test]
fn a_fifo_has_a_bound_where_every_flow_has_a_bucket() {
    let delays = |report: &Value| {
        let flows = &report["disciplines"][0]["flows"];
        (flows[0]["delay"].clone(), flows[1]["delay"].clone())
    };
    // 7500 bytes at a byte per microsecond.
    let one = json(BUCKETS, &["fifo", "--rate", "8mbit"]);
    assert_eq!(delays(&one), (0.0075.into(), 0.0075.into()));
    // Two more links, each with a packet of 1500 bytes.
    let three = json(BUCKETS, &["fifo", "--rate", "8mbit", "--hops", "3"]);
    assert_eq!(delays(&three), (0.0105.into(), 0.0105.into()));
    let text = success(BUCKETS, &["fifo", "--rate", "8mbit", "--sources"]);
    assert!(text.contains("delay: all flows are one flow"), "{text}");
    let all = success(BUCKETS, &["--rate", "8mbit"]);
    assert!(all.contains(" fifo "), "fifo is among all: {all}");

    let mixed = BUCKETS.to_owned() + "[[hop]]\ndiscipline = \"afq\"\n[[hop]]\n";
    let mixed = json(&mixed, &["fifo", "--rate", "8mbit"]);
    assert_eq!(delays(&mixed), (Value::Null, Value::Null));
    for missing in ["burst = 4500\n", "rate = \"2mbit\"\n"] {
        let file = BUCKETS.replace(missing, "");
        let text = success(&file, &["fifo", "--rate", "8mbit"]);
        assert!(
            text.ends_with(
                "\nfifo: no delay is proven.\nA fifo has a bound if each flow states its rate and \
                 its burst; flow 'b' does not.\n"
            ),
            "{text}"
        );
    }
}

/// End of transmission of all packets, in microseconds.
#[derive(Default)]
struct Ends(Vec<u64>);

impl Observer<()> for Ends {
    fn sent(&mut self, _packet: Packet<()>, _start: Instant, end: Instant) {
        self.0.push(end.as_picos().div_ceil(1_000_000));
    }

    fn dropped(&mut self, _packet: Packet<()>, _now: Instant, reason: DropReason) {
        panic!("{reason:?}");
    }
}

/// When a FIFO of 8 Mbit/s has sent these packets: microsecond of arrival, flow, length.
fn through_a_fifo(arrivals: &[(u64, u32, u32)]) -> Vec<u64> {
    let scheduler = fifo::Config.build(Seed::new(1)).unwrap();
    let rate = Rate::from_bits_per_second(8_000_000).unwrap();
    let mut port = Port::new(scheduler, Limit::UNBOUNDED, rate);
    let mut ends = Ends::default();
    for (at, flow, len) in arrivals {
        let now = Instant::from_nanos(at * 1_000);
        port.advance(now, &mut ends);
        port.arrive(now, Packet::new(FlowId(*flow), *len, ()), &mut ends);
    }
    port.drain(&mut ends);
    ends.0
}

/// Both flows send their whole buckets at once and go on at their rates, through one FIFO and
/// through three: the longest delay is nearly the bound, and above it if a flow sends twice its
/// bucket.
#[test]
fn no_packet_of_a_fifo_takes_longer_than_its_bound() {
    let longest = |links: u32, times: u64| {
        let mut arrivals: Vec<(u64, u32, u32)> = Vec::new();
        for number in 0..3 * times {
            arrivals.push((0, 0, 1_000));
            arrivals.push((0, 1, 1_500));
            let later = number + 1;
            arrivals.push((later * 8_000, 0, 1_000));
            arrivals.push((later * 6_000, 1, 1_500));
        }
        arrivals.sort_by_key(|(at, flow, _)| (*at, 1 - flow));
        let sent: Vec<u64> = arrivals.iter().map(|(at, _, _)| *at).collect();
        for _ in 0..links {
            let ends = through_a_fifo(&arrivals);
            for ((at, _, _), end) in arrivals.iter_mut().zip(ends) {
                *at = end;
            }
        }
        let mut longest = 0;
        for (sent, (at, _, _)) in sent.iter().zip(&arrivals) {
            longest = longest.max(at - sent);
        }
        longest as f64 / 1e6
    };
    for links in [1, 3] {
        let hops = links.to_string();
        let report = json(BUCKETS, &["fifo", "--rate", "8mbit", "--hops", &hops]);
        let bound = report["disciplines"][0]["flows"][0]["delay"].as_f64();
        let bound = bound.unwrap();
        let (kept, broken) = (longest(links, 1), longest(links, 2));
        assert!(
            kept <= bound && kept > 0.9 * bound,
            "{kept} of {bound}, {links} links"
        );
        assert!(broken > bound, "{broken} of {bound}, {links} links");
    }
}

#[test]
fn no_packet_takes_longer_end_to_end() {
    let flow = |name: &str, weight: u32, maxpkt: u32| {
        format!("[[flow]]\nname = \"{name}\"\nweight = {weight}\nmaxpkt = {maxpkt}\n")
    };
    let flows = flow("it", 1, 1_000)
        + "burst = 4000\nrate = \"1mbit\"\n"
        + &flow("b", 1, 1_500)
        + &flow("c", 2, 1_500)
        + &flow("d", 4, 1_500);
    let report = json(&flows, &["wf2q_plus", "--rate", "8mbit", "--hops", "3"]);
    let bound = report["disciplines"][0]["flows"][0]["delay"]
        .as_f64()
        .unwrap();
    let (kept, broken) = (longest_way(&wf2q_plus::Config), longest_way(&fifo::Config));
    println!("{kept:.4} s of {bound:.4} s; fifo {broken:.4} s");
    assert!(kept <= bound, "{kept} s, promised {bound} s");
    assert!(
        kept > 0.2 * bound,
        "the bound is hardly tried: {kept} s of {bound} s"
    );
    assert!(broken > bound, "fifo must break it: {broken} s, {bound} s");
}

/// Four bands, six flows: name, priority, longest packet, rate in kbit/s, burst in bytes.
const BANDS: [(&str, u32, u32, u64, u64); 6] = [
    ("clock", 0, 200, 500, 400),
    ("call", 1, 300, 1_000, 900),
    ("game", 1, 400, 1_500, 1_200),
    ("web", 2, 1_514, 8_000, 9_000),
    ("mail", 3, 1_514, 3_000, 6_000),
    ("backup", 3, 1_514, 9_000, 20_000),
];

fn file_of_bands() -> String {
    let mut text = String::new();
    for (name, priority, longest, rate, burst) in BANDS {
        text += &format!(
            "[[flow]]\nname = \"{name}\"\npriority = {priority}\nweight = {}\n\
             max_packet_len = {longest}\nrate = \"{rate}kbit\"\nburst = {burst}\n",
            rate / 500
        );
    }
    text
}

/// The longest delay of each flow, in seconds.
struct Longest([f64; BANDS.len()]);

impl Observer<u32> for Longest {
    fn sent(&mut self, packet: Packet<u32>, _start: Instant, end: Instant) {
        let delay = end.since(packet.arrival).as_secs_f64();
        let longest = &mut self.0[packet.flow.index()];
        *longest = longest.max(delay);
    }

    fn dropped(&mut self, _packet: Packet<u32>, _now: Instant, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// Each flow sends its burst at once, as soon as a packet of the last band is on the link, and then
/// at its rate; in other rounds the flows begin at other times. Packets are as long as they can be,
/// or of mixed lengths.
fn longest_delays(text: &str) -> [f64; BANDS.len()] {
    let spec: roundelay::QueueSpec = text.parse().unwrap();
    let mut longest = Longest([0.0; BANDS.len()]);
    for round in 0..60_u64 {
        let scheduler = spec.discipline.build(Seed::new(1)).unwrap();
        let link: Rate = "25mbit".parse().unwrap();
        let mut port = Port::new(scheduler, Limit::UNBOUNDED, link);
        let mut arrivals = Vec::new();
        for (flow, (_, priority, most, rate, burst)) in BANDS.into_iter().enumerate() {
            // A bucket of nanoseconds: a byte takes so many.
            let byte = 8_000_000 / rate;
            let begin = match round {
                0 | 1 => u64::from(flow != 5),
                _ => round * 7_919 * (flow as u64 + 3) % 4_000_000,
            };
            let mut sent = 0;
            for number in 0..200 {
                let mixed = 64 + (number * 733 + round * 31) as u32 % (most - 63);
                let len = if round % 2 == 0 { most } else { mixed };
                sent += u64::from(len);
                let at = begin + sent.saturating_sub(burst) * byte;
                let packet = Packet {
                    priority,
                    ..Packet::new(FlowId(flow as u32), len, 0)
                };
                arrivals.push((at, packet));
            }
        }
        arrivals.sort_by_key(|(at, _)| *at);
        for (at, packet) in arrivals {
            let now = Instant::from_nanos(at);
            port.advance(now, &mut longest);
            let packet = Packet {
                arrival: now,
                ..packet
            };
            port.arrive(now, packet, &mut longest);
        }
        port.advance(Instant::MAX, &mut longest);
    }
    longest.0
}

/// No packet of flows with token buckets is later than the bound of its band; the bounds are less
/// than three times what is measured; and a FIFO breaks those of the first bands.
#[test]
fn bands_and_token_bucket_filters_keep_their_bounds() {
    let fifo = longest_delays("fifo");
    for (text, slack) in [
        ("priority", 1.6),
        ("ets bands 4 strict 4", 1.6),
        ("ets bands 4 strict 2 quanta 1500 2000", 3.5),
        ("ets bands 4 quanta 500 1000 3000 4500", 9.0),
        ("tbf rate 24mbit burst 4kb", 1.2),
    ] {
        let page = json(&file_of_bands(), &[text, "--rate", "25mbit"]);
        let measured = longest_delays(text);
        for (flow, measured) in measured.into_iter().enumerate() {
            let name = BANDS[flow].0;
            let bound = page["disciplines"][0]["flows"][flow]["delay"]
                .as_f64()
                .unwrap_or_else(|| panic!("{text}: no bound for {name}"));
            assert!(
                measured <= bound && bound <= slack * measured,
                "{text}: {name}: {measured} s of {bound}"
            );
            if flow == 0 && text != "tbf rate 24mbit burst 4kb" {
                assert!(fifo[0] > bound, "{text}: a fifo has {}", fifo[0]);
            }
        }
    }
}

/// A tree of this root with a leaf `a` and a leaf `b`, which have these services.
fn tree_of(root: &str, a: &str, b: &str) -> File {
    let node = |name: &str, discipline: &str, keys: &str| {
        format!("[[node]]\nname = \"{name}\"\ndiscipline = \"{discipline}\"\n{keys}\n\n")
    };
    let leaf = |name, keys: &str| {
        let keys = format!("parent = \"link\"\nmaxpkt = 1000\n{keys}");
        node(name, "fifo", &keys)
    };
    let b = format!("{b}\ndefault = true");
    File::new(&(node("link", root, "") + &leaf("a", a) + &leaf("b", &b)))
}

/// At 8 Mbit/s a byte takes a microsecond. The flow in leaf a sends 3000 bytes at once and 1 Mbit/s.
fn delay_in_tree(tree: &File, file: &str) -> Value {
    let tree = tree.0.display().to_string();
    let page = json(file, &["--tree", &tree, "--rate", "8mbit"]);
    page["disciplines"][0]["flows"][0]["delay"].clone()
}

const LEAVES: &str = "
[[flow]]
name = \"a\"
maxpkt = \"1000b\"
burst = \"3000b\"
rate = \"1mbit\"

[[flow]]
name = \"others\"
leaf = \"b\"
maxpkt = \"1000b\"
";

/// The horizontal distance to the curve and a packet's time, computed by hand; a rate with what
/// others may send before.
#[test]
fn a_tree_has_the_delays_of_its_curves_and_rates() {
    let hfsc = |curve: &str| {
        let curve = format!("rt = \"{curve}\"\nls = \"m2 1mbit\"");
        delay_in_tree(&tree_of("hfsc", &curve, "ls = \"m2 1mbit\""), LEAVES)
    };
    // Curves are kept in fixed point, which takes a byte at the curve's rate and a tick of 64 ns.
    let is_near = |found: &Value, exact: f64, byte: f64| {
        let delay = found.as_f64().expect("a delay");
        (delay - exact - byte - 64e-9).abs() < 1e-7
    };
    // 3000 bytes at 2 Mbit/s, and a packet of 1000 on the link.
    let found = hfsc("m2 2mbit");
    assert!(is_near(&found, 0.013, 4e-6), "{found}");
    // 2000 bytes in 4 ms, and 1000 at 1 Mbit/s.
    let found = hfsc("m1 4mbit d 4ms m2 1mbit");
    assert!(is_near(&found, 0.013, 8e-6), "{found}");
    assert_eq!(hfsc("m2 999kbit"), Value::Null, "less than the flow sends");
    let htb = |a: &str| {
        let b = "rate = \"4mbit\"\nburst = \"2000b\"\ncburst = \"2000b\"";
        delay_in_tree(&tree_of("htb", a, b), LEAVES)
    };
    // X = 1000 + 2000 + 1000 bytes; B = 4000 * 2 / (8 - 4) = 2000; 3000 + B + 2000 at 2 Mbit/s.
    let rate = "rate = \"2mbit\"\nceil = \"8mbit\"\nburst = \"4000b\"\ncburst = \"4000b\"";
    assert_eq!(htb(rate).as_f64(), Some(0.028));
    assert_eq!(
        htb("rate = \"2mbit\""),
        Value::Null,
        "its bucket is too small"
    );
}

#[test]
fn a_tree_without_a_bound_says_why() {
    let tree = tree_of("hfsc", "rt = \"m2 2mbit\"", "ls = \"m2 1mbit\"");
    let tree = tree.0.display().to_string();
    let arguments = ["--tree", tree.as_str(), "--rate", "8mbit"];
    let text = success(LEAVES, &arguments);
    assert!(
        text.contains("13.005ms") && !text.contains("weight"),
        "{text}"
    );
    let unnamed = LEAVES.replace("leaf = \"b\"\n", "");
    let told = refusal(&unnamed, &arguments);
    assert!(
        told.contains("no leaf 'others'") && told.contains("one of a, b"),
        "{told}"
    );
    let long = LEAVES.replace("1000b", "1001b");
    let told = refusal(&long, &arguments);
    assert!(told.contains("packets of up to 1000 bytes"), "{told}");
    let without = LEAVES.replace("rate = \"1mbit\"\n", "");
    let text = success(&without, &arguments);
    assert!(text.contains("each of its flows states its rate"), "{text}");
    let fair = tree_of("drr", "", "");
    let fair = fair.0.display().to_string();
    let text = success(LEAVES, &["--tree", &fair, "--rate", "8mbit"]);
    assert!(text.contains("below a root of hfsc or htb"), "{text}");
    let hop = format!("{LEAVES}\n[[hop]]\ndiscipline = \"drr\"\n");
    let told = refusal(&hop, &arguments);
    assert!(told.contains("leave it or --tree out"), "{told}");
}

/// Without a bucket, with more than the band's part, or over two links, nothing is proven, and the
/// output says what is missing.
#[test]
fn bands_without_a_bound_say_why() {
    let file = file_of_bands();
    let without = file.replacen("burst = 400\n", "", 1);
    let text = success(&without, &["ets", "--rate", "25mbit"]);
    assert!(
        text.contains("states its rate and its burst; flow 'clock' does not."),
        "{text}"
    );
    let text = success(&file, &["priority", "--rate", "25mbit", "--hops", "2"]);
    assert!(
        text.contains("The bounds of priority are for one link."),
        "{text}"
    );
    for little in ["tbf rate 24mbit burst 2kb", "tbf rate 20mbit burst 4kb"] {
        let text = success(&file, &[little, "--rate", "25mbit"]);
        assert!(
            text.contains("no delay is proven") && text.contains("a burst of two"),
            "{text}"
        );
    }
    // A tenth of the link for band 2, which wants a third.
    let page = json(
        &file,
        &["ets bands 4 strict 2 quanta 300 3000", "--rate", "25mbit"],
    );
    let delays = &page["disciplines"][0]["flows"];
    assert!(
        delays[3]["delay"].is_null() && delays[1]["delay"].is_f64(),
        "{page}"
    );
}

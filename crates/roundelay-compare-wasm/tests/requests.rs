//! Requests as the page sends these, on captures in memory: texts, and the command's messages.

use std::io::Cursor;

use roundelay_compare_wasm::{Request, compare, text};

const CAPTURE: &[u8] = include_bytes!("../../../examples/captures/home-downlink.pcap");

fn request(json: &str) -> Request {
    serde_json::from_str(json).unwrap()
}

fn error(json: &str) -> String {
    compare(&request(json), Cursor::new(CAPTURE)).unwrap_err()
}

#[test]
fn a_capture_gives_table_verdict_and_commands() {
    let request =
        request(r#"{"name": "home.pcap", "rate": "5mbit", "disciplines": ["fifo", "fq_codel"]}"#);
    let advised = compare(&request, Cursor::new(CAPTURE)).unwrap();
    let text = text(&request, &advised);
    let comparison = advised.comparison;
    assert!(
        text.starts_with("home.pcap\n25,401 packets, 72 flows"),
        "{text}"
    );
    assert!(
        text.contains("* fq_codel") && text.contains("tc qdisc add dev $DEV"),
        "{text}"
    );
    assert!(
        comparison
            .disciplines
            .iter()
            .all(|result| result.cost.is_none()),
        "nothing is timed"
    );
    assert_eq!(comparison.broken_bounds(), None);
}

#[test]
fn columns_and_wide_change_the_table() {
    let lines = |json: &str| {
        let request = request(json);
        text(&request, &compare(&request, Cursor::new(CAPTURE)).unwrap())
    };
    let rest = r#""rate": "5mbit", "disciplines": ["fifo"]"#;
    let narrow = lines(&format!(r#"{{{rest}, "columns": 64}}"#));
    let table = narrow.split("\n  DEV=").next().unwrap();
    assert!(
        table.lines().all(|line| line.chars().count() <= 64),
        "{table}"
    );
    assert!(
        lines(&format!(r#"{{{rest}, "wide": true}}"#))
            .contains("99th percentile of delay, and loss")
    );
}

#[test]
fn wrong_arguments_are_named_with_their_range() {
    for (json, message) in [
        (
            r#"{}"#,
            "the following required arguments were not provided:\n  --rate <RATE>",
        ),
        (
            r#"{"rate": "20"}"#,
            "invalid value '20' for '--rate <RATE>': expected a unit: 20mbit",
        ),
        (
            r#"{"rate": "5mbit", "disciplines": ["fifi"]}"#,
            "invalid value 'fifi' for '[DISCIPLINES]...': no discipline is called 'fifi'",
        ),
        (
            r#"{"rate": "5mbit", "overhead": "70000"}"#,
            "invalid value '70000' for '--overhead <BYTES>': expected a whole number, legal range -64 to 65535",
        ),
        (
            r#"{"rate": "5mbit", "max_flows": "0"}"#,
            "invalid value '0' for '--max-flows <N>': expected a whole number, legal range 1 to 1000000",
        ),
        (
            r#"{"rate": "5mbit", "seeds": "1001"}"#,
            "invalid value '1001' for '--seeds <N>': expected a whole number, legal range 1 to 1000",
        ),
        (
            r#"{"rate": "5mbit", "mtu": "575"}"#,
            "invalid value '575' for '--mtu <BYTES>': expected a whole number, legal range 576 to 65535, or none",
        ),
        (
            r#"{"rate": "5mbit", "weight": ["udp = 0"]}"#,
            "invalid value 'udp = 0' for '--weight <RULE>': ",
        ),
        (
            r#"{"rate": "5mbit", "weights": {"name": "w.toml", "text": "x = 1"}}"#,
            "w.toml:1",
        ),
        (
            r#"{"rate": "5mbit", "trees": [{"name": "t.toml", "text": ""}]}"#,
            "t.toml",
        ),
        (r#"{"rate": "5mbit", "filter": "port 9"}"#, "--filter"),
    ] {
        let error = error(json);
        assert!(error.contains(message), "{json}: {error}");
    }
    assert!(
        serde_json::from_str::<Request>(r#"{"no_cost": true}"#).is_err(),
        "an unknown key is an error"
    );
}

#[test]
fn what_is_no_capture_is_an_error() {
    let request = request(r#"{"name": "notes.txt", "rate": "5mbit"}"#);
    let error = compare(&request, Cursor::new(b"dear diary".to_vec())).unwrap_err();
    assert!(error.starts_with("notes.txt: "), "{error}");
}

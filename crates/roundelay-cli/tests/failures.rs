//! Failures of calls have what is wrong as data: the option, the value, the legal ones, the file.

use std::ffi::OsString;

use roundelay_cli::call::{self, Host, Text};
use roundelay_cli::{Argument, Failure};

const CAPTURE: &str = "../../examples/captures/home-downlink.pcap";
const SCENARIO: &str = "duration = '1s'\n[topology]\ntemplate = 'dumbbell'\npairs = 1\nrate = \
    '1mbit'\n[[source]]\nkind = 'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '100kbit'\n";

fn words(text: &[&str]) -> Vec<OsString> {
    text.iter().map(Into::into).collect()
}

fn host(text: &str) -> Host {
    Host {
        text: Some(Text {
            name: "mine.toml".to_owned(),
            text: text.to_owned(),
        }),
        ..Host::default()
    }
}

fn compare(more: &[&str]) -> Failure {
    let words = words(&[&[CAPTURE, "--quiet"], more].concat());
    call::compare(words, &Host::default(), &[]).unwrap_err()
}

fn simulate(text: &str, more: &[&str]) -> Failure {
    let words = words(&[&["-", "--quiet"], more].concat());
    call::simulate(words, &host(text), &[]).unwrap_err()
}

#[cfg(feature = "parquet")]
fn sweep(more: &[&str]) -> Failure {
    let words = words(&[&["-", "--quiet"], more].concat());
    call::sweep(words, &host(SCENARIO)).unwrap_err()
}

/// Each row: the failure, the option, the value, the wrong part, what is legal, the name meant.
#[test]
fn values_of_options_have_the_fault_of_their_parser() {
    let rate = ["--rate", "20mbit"];
    let with = |option: &str, value: &str| compare(&[&rate[..], &[option, value]].concat());
    let rows = [
        (
            compare(&["--rate", "5mbt"]),
            "--rate <RATE>",
            "5mbt",
            "5mbt",
            "1bit to 18000000tbit",
            "",
        ),
        (
            compare(&["--rate", "5mbit", "fq_codle"]),
            "[DISCIPLINES]...",
            "fq_codle",
            "fq_codle",
            "fifo, ",
            "fq_codel",
        ),
        (
            compare(&["--rate", "5mbit", "sfq depth 0"]),
            "[DISCIPLINES]...",
            "sfq depth 0",
            "0",
            "1 to 65535",
            "",
        ),
        (
            with("--link", "docsi"),
            "--link <NAME>",
            "docsi",
            "docsi",
            "raw, ",
            "docsis",
        ),
        (
            with("--framing", "x"),
            "--framing <NAME>",
            "x",
            "x",
            "none, atm, ptm",
            "",
        ),
        (
            with("--overhead", "x"),
            "--overhead <BYTES>",
            "x",
            "x",
            "-64 to 65535",
            "",
        ),
        (
            with("--buffer", "0p"),
            "--buffer <LIMIT>",
            "0p",
            "0p",
            "packets, 1p",
            "",
        ),
        (
            with("--filter", "udp nd"),
            "--filter <EXPR>",
            "udp nd",
            "nd",
            "and, or or",
            "",
        ),
        (
            with("--direction", "inn"),
            "--direction <DIRECTION>",
            "inn",
            "inn",
            "auto, both",
            "",
        ),
        (
            with("--from", "5"),
            "--from <TIME>",
            "5",
            "5",
            "a time with a unit",
            "",
        ),
        (
            with("--busiest", "1us"),
            "--busiest <TIME>",
            "1us",
            "1us",
            "a millisecond",
            "",
        ),
        (
            with("--mtu", "5"),
            "--mtu <BYTES>",
            "5",
            "5",
            "576 to 65535, or none",
            "",
        ),
        (
            with("--flow-by", "x"),
            "--flow-by <WHAT>",
            "x",
            "x",
            "5tuple, ",
            "",
        ),
        (
            with("--weight", "udp = 0"),
            "--weight <RULE>",
            "udp = 0",
            "0",
            "a weight from 1",
            "",
        ),
        (
            with("--max-flows", "0"),
            "--max-flows <N>",
            "0",
            "0",
            "1 to 1000000",
            "",
        ),
        (
            simulate(SCENARIO, &["--queue", "tree"]),
            "--queue <DISCIPLINE>",
            "tree",
            "",
            "a tree's file",
            "",
        ),
    ];
    for (failure, option, value, given, legal, meant) in rows {
        let argument = Argument::Value {
            option: option.to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(failure.argument(), Some(&argument), "{failure}");
        let fault = failure.fault();
        assert_eq!(fault.given().unwrap_or_default(), given, "{failure}");
        assert!(
            fault.legal().unwrap_or_default().starts_with(legal),
            "{fault:?}"
        );
        assert_eq!(fault.meant().unwrap_or_default(), meant, "{fault:?}");
        let told = format!(
            "invalid value '{value}' for '{option}': {}",
            fault.message()
        );
        assert_eq!((failure.to_string(), failure.status()), (told, 2));
    }
}

#[test]
fn other_errors_in_arguments_have_their_options() {
    let rate = "--rate <RATE>".to_owned();
    let rows = [
        (
            compare(&["--colour", "x"]),
            Argument::Unknown("--colour".to_owned()),
        ),
        (compare(&["--rate"]), Argument::Empty(rate.clone())),
        (compare(&["fifo"]), Argument::Missing(vec![rate.clone()])),
        (
            compare(&["--rate", "1mbit", "--rate", "2mbit"]),
            Argument::Conflict {
                option: rate,
                others: Vec::new(),
            },
        ),
    ];
    for (failure, argument) in rows {
        assert_eq!(failure.argument(), Some(&argument), "{failure}");
        assert_eq!(failure.status(), 2);
    }
    let color = compare(&["--rate", "1mbit", "--color", "alway"]);
    let fault = color.fault();
    assert_eq!(fault.legal(), Some("auto, always, never"), "{color}");
    assert_eq!(fault.meant(), Some("always"), "{color}");
}

#[test]
fn faults_of_files_have_file_line_owner_and_key() {
    let rows = [
        (
            simulate(&SCENARIO.replace("'1s'", "'1x'"), &[]),
            Some(1),
            (None, "duration"),
            "1x",
        ),
        (
            simulate(&SCENARIO.replace("pairs", "pairz"), &[]),
            Some(4),
            (None, "topology.pairz"),
            "pairz",
        ),
        (
            simulate(
                &SCENARIO.replace("kind = 'cbr'", "name = 'load'\nkind = 'cbrr'"),
                &[],
            ),
            Some(8),
            (Some("source 'load'"), "source.0.kind"),
            "cbrr",
        ),
    ];
    let queue = format!("{SCENARIO}[queue]\ncore = 'fq_codel target x'\n");
    let rows =
        rows.into_iter()
            .chain([(simulate(&queue, &[]), Some(12), (None, "queue.core"), "x")]);
    for (failure, line, (owner, key), given) in rows {
        let fault = failure.fault();
        assert_eq!(
            (fault.file(), fault.line()),
            (Some("mine.toml"), line),
            "{failure}"
        );
        assert_eq!(fault.given(), Some(given), "{failure}");
        assert_eq!(fault.owner(), owner, "{failure}");
        assert_eq!(fault.key(), Some(key), "{failure}");
        assert_eq!(failure.argument(), None);
    }
    let missing = words(&["no.toml", "--rate", "1mbit"]);
    let failure = call::bounds(missing, &Host::default()).unwrap_err();
    assert_eq!(
        (failure.fault().file(), failure.fault().line()),
        (Some("no.toml"), None)
    );
    assert_eq!(
        failure.fault().legal(),
        Some("flows in TOML, as docs/bounds.md describes them")
    );
    let flows = host("[[flow]]\nname = 'a'\nburst = '1kb'\nrate = '1mbit'\n");
    let failure = call::bounds(words(&["-", "drr", "--rate", "5mbit"]), &flows).unwrap_err();
    let fault = failure.fault();
    assert_eq!(
        (fault.line(), fault.given()),
        (Some(3), Some("1kb")),
        "{failure}"
    );
    assert_eq!(fault.legal(), Some("1514b to 1024gb"), "{failure}");
}

#[cfg(feature = "parquet")]
#[test]
fn faults_of_points_have_the_data_of_the_first() {
    let rows = [
        (sweep(&["queue.core=fifoo,qfqq"]), "fifoo", "fifo, ", "fifo"),
        (
            sweep(&["queue.cor=fifo"]),
            "cor",
            "core, edge, host",
            "core",
        ),
        (sweep(&["source.cbr1.rate=5mbit"]), "cbr1", "cbr0", "cbr0"),
        (
            sweep(&["duration=1s..9s/x"]),
            "1s..9s/x",
            "FROM..TO/FACTOR",
            "",
        ),
        (sweep(&["duration"]), "duration", "KEY=VALUES", ""),
        (
            sweep(&["duration=1s", "--until", "2%", "--figure", "jain"]),
            "2%",
            "above 0%",
            "",
        ),
        (
            sweep(&["duration=1s", "--shard", "5/3"]),
            "5/3",
            "I/N, as in 3/16",
            "",
        ),
    ];
    for (failure, given, legal, meant) in rows {
        let fault = failure.fault();
        assert_eq!(fault.given(), Some(given), "{failure}");
        assert!(
            fault.legal().unwrap_or_default().starts_with(legal),
            "{fault:?}"
        );
        assert_eq!(fault.meant().unwrap_or_default(), meant, "{fault:?}");
    }
    let both = sweep(&["queue.core=fifoo,qfqq"]).to_string();
    assert!(
        both.contains("'fifoo'") && both.contains("\nmine.toml: queue.core=qfqq: "),
        "{both}"
    );
}

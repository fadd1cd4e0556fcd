//! Errors of scenarios have the wrong value, the legal ones, the name meant and the line as data.

use std::path::Path;

use roundelay::Fault;
use roundelay_sim::scenario::Scenario;

const SCENARIO: &str = "duration = '1s'\nwarmup = '0s'\n[topology]\ntemplate = 'dumbbell'\npairs = \
    2\nrate = '1mbit'\n[[source]]\nname = 'web'\nkind = 'tcp'\nfrom = 's0'\nto = 'r0'\n";

fn read(text: &str) -> Fault {
    Scenario::from_toml("mine.toml", text, Path::new(".")).unwrap_err()
}

/// The fault of the scenario with a part in place of another.
fn with(part: &str, other: &str) -> Fault {
    assert!(SCENARIO.contains(part), "{part}");
    read(&SCENARIO.replacen(part, other, 1))
}

/// The fault of the scenario with these lines at its end: of the source, or of other tables.
fn and(lines: &str) -> Fault {
    read(&format!("{SCENARIO}{lines}\n"))
}

#[test]
fn each_kind_of_error_has_its_data() {
    let time = "a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days";
    let hosts = "hosts are 's0' to 'r1'";
    let rows = [
        (
            with("duration", "durations"),
            "durations",
            "name, seed",
            "duration",
            1,
        ),
        (with("'1s'", "'1x'"), "1x", time, "", 1),
        (with("'1s'", "'5'"), "5", time, "", 1),
        (with("'1s'", "5"), "5", time, "", 1),
        (with("'1s'", "true"), "true", "a time in s, ms, us", "", 1),
        (with("'1s'", "'300d'"), "300d", time, "", 1),
        (
            with("'0s'", "'1s'"),
            "1s",
            "0 to less than the duration, 1s",
            "",
            2,
        ),
        (
            with("'dumbbell'", "'dumbell'"),
            "dumbell",
            "dumbbell, ",
            "dumbbell",
            4,
        ),
        (with("pairs = 2", "pairs = 0"), "0", "1 to 500000", "", 5),
        (with("'1mbit'", "'1mbt'"), "1mbt", "a number and bit", "", 6),
        (with("'1mbit'", "5"), "5", "a rate, as in", "", 6),
        (with("'tcp'", "'tpc'"), "tpc", "cbr, poisson", "tcp", 9),
        (with("'s0'", "'s9'"), "s9", hosts, "", 10),
        (
            with("'s0'", "'left'"),
            "left",
            "the 2 hosts behind it",
            "",
            10,
        ),
        (with("'s0'", "'x*'"), "x*", hosts, "", 10),
        (and("size = 0"), "0", "1 to 1099511627776", "", 12),
        (and("weight = 2000"), "2000", "1 to 1024", "", 12),
        (
            and("start = '5s'"),
            "5s",
            "0 to less than the duration, 1s",
            "",
            12,
        ),
        (
            and("dscp = 99"),
            "99",
            "a code point, legal range 0 to 63",
            "",
            12,
        ),
        (and("urgency = 'slak 1s'"), "slak 1s", "urgency: ", "", 12),
        (and("urgency = 'slack 107d'"), "107d", time, "", 12),
        (
            and("urgency = 'slack 9158401s'"),
            "9158401s",
            "0 to 106 days",
            "",
            12,
        ),
        (
            and("urgency = 'priority x'"),
            "priority x",
            "0 to 4294967295",
            "",
            12,
        ),
        (and("edge_codel = 3"), "3", "a table", "", 12),
        (
            and("edge_codel = []"),
            "",
            "a table, as in edge_codel",
            "",
            12,
        ),
        (
            and("tcp = { initial_window = 0 }"),
            "0",
            "1 to 1000000 segments",
            "",
            12,
        ),
        (
            and("tcp = { preset = 'linx' }"),
            "linx",
            "rfc, linux",
            "linux",
            12,
        ),
        (
            and("[queue]\ncore = 'fq_codle'"),
            "fq_codle",
            "fifo, ",
            "fq_codel",
            13,
        ),
        (
            and("[queue]\ncore = 'sfq depth 0'"),
            "0",
            "1 to 65535",
            "",
            13,
        ),
        (
            and("[queue]\ncore = 'tree'"),
            "tree",
            "a tree's name or file",
            "",
            13,
        ),
        (
            and("[queue]\ncore = 'tree no.toml'"),
            "no.toml",
            "a tree in TOML",
            "",
            13,
        ),
        (and("[meter]\nsizes = []"), "0", "1 to ", "", 13),
        (and("[meter]\nstarted = ['1s']"), "1", "two, as in", "", 13),
        (
            and("[meter]\nstarved_below = 2.5"),
            "2.5",
            "above 0, below 1",
            "",
            13,
        ),
        (
            and("[objective]\nmeasure = 'tial'"),
            "tial",
            "an objective: ",
            "tail",
            13,
        ),
        (
            and("[objective]\nmeasure = 'tail'\nthreshold = 1"),
            "1",
            "0 to less than 1",
            "",
            14,
        ),
        (
            and("[objective]\nmeasure = 'tail'\nsource = 'wbe'"),
            "wbe",
            "web",
            "web",
            14,
        ),
        (
            and("[[port]]\nfrom = 'left'\nto = 'right'\nloss = 2"),
            "2",
            "a share, legal",
            "",
            15,
        ),
        (
            and("[[port]]\nfrom = 'left'\nto = 'right'\ndecision = '9999s'"),
            "9999s",
            "0 to ",
            "",
            15,
        ),
        (
            and("[[port]]\nfrom = 'left'\nto = 'right'\noverhead = 99999"),
            "99999",
            "-64 to 65535",
            "",
            15,
        ),
    ];
    for (fault, given, legal, meant, line) in rows {
        assert_eq!(fault.given().unwrap_or_default(), given, "{fault}");
        assert!(
            fault.legal().unwrap_or_default().starts_with(legal),
            "{fault:?}"
        );
        assert_eq!(fault.meant().unwrap_or_default(), meant, "{fault:?}");
        assert_eq!(
            (fault.file(), fault.line()),
            (Some("mine.toml"), Some(line)),
            "{fault:?}"
        );
    }
}

//! Errors of words, rules and files have the wrong value, the legal ones and the place as data.

use roundelay::{Fault, Rate};
use roundelay_trace::arguments::{
    parse_buffer, parse_choice, parse_mtu, parse_rate, parse_spec, read, whole,
};
use roundelay_trace::{
    CaptureError, DirectionChoice, Filter, FlowBy, LinkTrace, TreeFile, WeightRule, WeightRules,
    parse_length, parse_time,
};

fn of<T>(read: Result<T, impl Into<Fault>>) -> Fault {
    match read {
        Ok(_) => panic!("a legal value"),
        Err(error) => error.into(),
    }
}

fn tree(node: &str) -> Fault {
    of(TreeFile::from_toml(
        "t.toml",
        &format!("[[node]]\nname = 'a'\n{node}\n"),
    ))
}

fn weights(rule: &str) -> Fault {
    of(WeightRules::from_toml(
        "w.toml",
        &format!("[[weight]]\n{rule}\n"),
    ))
}

/// Each fault with the value, the beginning of what is legal, the name meant and the line.
#[test]
fn each_kind_of_error_has_its_data() {
    let filter = |text| of(read::<Filter>(text));
    let rows = [
        (
            of(parse_rate("5mbt")),
            "5mbt",
            "1bit to 18000000tbit",
            "",
            0,
        ),
        (of(parse_rate("5")), "5", "1bit to 18000000tbit", "", 0),
        (
            of(parse_spec("fq_codle")),
            "fq_codle",
            "fifo, ",
            "fq_codel",
            0,
        ),
        (of(parse_spec("depth 4")), "depth", "fifo, ", "", 0),
        (
            of(parse_choice("fifo limit 0")),
            "fifo limit 0",
            "packets, 1p or more",
            "",
            0,
        ),
        (of(parse_buffer("0p")), "0p", "packets, 1p or more", "", 0),
        (of(parse_mtu("5")), "5", "576 to 65535, or none", "", 0),
        (of(whole(1_u16..=9)("10")), "10", "1 to 9", "", 0),
        (of(parse_time("5")), "5", "a time with a unit", "", 0),
        (
            of(parse_length("5us")),
            "5us",
            "a millisecond or more",
            "",
            0,
        ),
        (of(read::<Rate>("x")), "x", "a number and bit", "", 0),
        (filter("udp nd"), "nd", "and, or or the end", "", 0),
        (filter("udp and"), "udp and", "src, dst, host", "", 0),
        (
            of(read::<WeightRule>("udp = 0")),
            "0",
            "a weight from 1",
            "",
            0,
        ),
        (
            of(read::<DirectionChoice>("inn")),
            "inn",
            "auto, both, in, out",
            "",
            0,
        ),
        (
            of(read::<FlowBy>("port")),
            "port",
            "5tuple, inner, outer",
            "",
            0,
        ),
        (
            of(LinkTrace::parse("l", "1\nfive\n")),
            "five",
            "a time in whole",
            "",
            2,
        ),
        (
            weights("match = 'udp nd'\nweight = 5"),
            "nd",
            "and or the end",
            "",
            2,
        ),
        (
            weights("match = 'udp'\nweight = 0"),
            "0",
            "1 to 65535",
            "",
            3,
        ),
        (
            weights("match = 'udp'\nweight = true"),
            "true",
            "a whole number",
            "",
            3,
        ),
        (
            weights("match = 'udp'\nwieght = 5"),
            "wieght",
            "match, weight",
            "weight",
            3,
        ),
        (
            weights("match = 'udp'\nslack = '5x'"),
            "5x",
            "a number and s, ms",
            "",
            3,
        ),
        (tree("discipline = 'drrr'"), "drrr", "fifo, ", "drr", 3),
        (tree("discipline = 'fifo'\nparent = 'b'"), "b", "", "", 4),
        (
            tree("discipline = 'drr'\nmaxpkt = '1b'"),
            "1b",
            "a number of bytes",
            "",
            4,
        ),
        (
            tree("discipline = 'drr'\nrate = '5x'"),
            "5x",
            "a number and bit",
            "",
            4,
        ),
        (tree("discipline = 'drr'\nprio = 1"), "prio", "", "", 4),
    ];
    for (fault, given, legal, meant, line) in rows {
        assert_eq!(fault.given(), Some(given), "{fault}");
        assert!(
            fault.legal().unwrap_or_default().starts_with(legal),
            "{fault:?}"
        );
        assert_eq!(fault.meant().unwrap_or_default(), meant, "{fault:?}");
        assert_eq!(fault.line().unwrap_or(0), line, "{fault:?}");
        assert_eq!(fault.file().is_some(), line > 0, "{fault:?}");
    }
    let bytes = CaptureError::Malformed {
        name: "x.pcap".to_owned(),
        offset: 5,
        found: "5".to_owned(),
        expected: "6".to_owned(),
    };
    let told = bytes.to_string();
    let fault = Fault::from(bytes);
    assert_eq!(fault.to_string(), told);
    assert_eq!((fault.file(), fault.legal()), (Some("x.pcap"), Some("6")));
}

/// A fault that serde gave up is not that of a later message.
#[test]
fn a_fault_is_carried_to_its_own_message_alone() {
    let wrong = |rule: &str| weights(&format!("match = 'udp'\n{rule}"));
    assert_eq!(wrong("slack = '5x'").given(), Some("5x"));
    let missing = weights("weight = 5");
    assert_eq!(
        (missing.given(), missing.legal()),
        (None, None),
        "{missing}"
    );
    let toml = wrong("slack = ");
    assert_eq!((toml.given(), toml.line()), (None, Some(3)), "{toml}");
}

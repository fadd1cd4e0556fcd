//! Port settings of a scenario: each key applies to the given link in one direction, and host
//! interfaces have queues.

use std::path::Path;

use roundelay::{Billionths, Duration, Framing, LinkLayer};
use roundelay_sim::LinkConfig;
use roundelay_sim::scenario::Scenario;

const TEXT: &str = r#"duration = "2s"
[topology]
template = "dumbbell"
pairs = 1
rate = "100mbit"
[routing]
metric = "cost"
[queue]
core = "drr limit 50"
host = "fifo limit 3"
[[port]]
from = "left"
to = "right"
rate = "10mbit"
delay = "7ms"
loss = "2%"
jitter = "4ms"
overhead = 38
cost = 5
[[source]]
kind = "burst"
from = "s0"
to = "r0"
size = 10000
"#;

#[test]
fn a_port_is_as_it_is_said_to_be() {
    let scenario =
        Scenario::from_toml("mine", TEXT, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    let network = &scenario.topology.network;
    let link = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| network.named(name).expect("a node"));
        &network.links()[network.link_between(from, to).expect("a link").0 as usize]
    };
    let told = |link: &LinkConfig| {
        (
            link.rate.to_string(),
            link.delay,
            link.loss,
            link.jitter,
            link.layer.overhead,
            link.cost,
        )
    };
    let (said, plain) = (told(link("left", "right")), told(link("right", "left")));
    assert_eq!(
        said,
        (
            "10mbit".to_owned(),
            Duration::from_millis(7),
            Billionths(20_000_000),
            Duration::from_millis(4),
            38,
            5
        )
    );
    assert_eq!(
        plain,
        (
            "100mbit".to_owned(),
            Duration::from_millis(10),
            Billionths(0),
            Duration::ZERO,
            0,
            1
        ),
        "one way only"
    );
    let names = [("s0", "left"), ("left", "s0"), ("left", "right")]
        .map(|(from, to)| link(from, to).queue.discipline.name());
    assert_eq!(names, ["fifo", "drr", "drr"]);
}

/// The keys of one `[[port]]`, from left to right in a dumbbell.
fn layer(keys: &str) -> Result<LinkLayer, String> {
    let text = TEXT.replace("overhead = 38", keys);
    let scenario =
        Scenario::from_toml("mine", &text, Path::new(".")).map_err(|error| error.to_string())?;
    let network = &scenario.topology.network;
    let [from, to] = ["left", "right"].map(|name| network.named(name).expect("a node"));
    Ok(network.links()[network.link_between(from, to).expect("a link").0 as usize].layer)
}

#[test]
fn a_port_s_link_is_a_keyword_with_exceptions() {
    let plain = LinkLayer {
        raw: true,
        overhead: 0,
        mpu: 0,
        framing: Framing::None,
    };
    let is = |keys: &str, expected: LinkLayer| assert_eq!(layer(keys), Ok(expected), "{keys}");
    is("", plain);
    is("link = \"raw\"", plain);
    is("mpu = 64", LinkLayer { mpu: 64, ..plain });
    is(
        "overhead = \"38b\"",
        LinkLayer {
            raw: false,
            overhead: 38,
            ..plain
        },
    );
    is(
        "overhead = -14",
        LinkLayer {
            raw: false,
            overhead: -14,
            ..plain
        },
    );
    is(
        "link = \"docsis\"",
        LinkLayer {
            raw: false,
            overhead: 18,
            mpu: 64,
            framing: Framing::None,
        },
    );
    let kept = LinkLayer {
        raw: false,
        overhead: 44,
        mpu: 96,
        framing: Framing::Atm,
    };
    is("link = \"pppoe-llcsnap ether-vlan\"\nmpu = 96", kept);
    is(
        "link = \"pppoe-llcsnap\"\noverhead = 44\nmpu = 96\nframing = \"atm\"",
        kept,
    );
    is(
        "link = \"pppoe-llcsnap\"\nframing = \"ptm\"",
        LinkLayer {
            raw: false,
            overhead: 40,
            mpu: 0,
            framing: Framing::Ptm,
        },
    );
}

#[test]
fn wrong_overheads_are_refused_with_line_and_range() {
    let line = 1 + TEXT
        .lines()
        .position(|line| line == "overhead = 38")
        .expect("a line");
    for (keys, message) in [
        ("overhead = -65", "overhead -65: legal range -64 to 65535"),
        (
            "overhead = 65536",
            "overhead 65536: legal range -64 to 65535",
        ),
        (
            "overhead = \"x\"",
            "'x': expected bytes added to a packet, legal range -64 to 65535, as in 38 or \"38b\"",
        ),
        ("mpu = 65536", "mpu 65536: legal range 0 to 65535"),
        ("mpu = -1", "-1: expected bytes of a packet"),
        (
            "framing = \"adsl\"",
            "no framing is called 'adsl': none, atm, ptm",
        ),
        (
            "link = \"docsi\"",
            "no kind of link is called 'docsi' (did you mean 'docsis'?): raw, conservative, ",
        ),
        (
            "link = \"docsis ethernet\"",
            "'docsis ethernet': docsis and ethernet exclude each other",
        ),
    ] {
        let error = layer(keys).unwrap_err();
        assert!(
            error.starts_with(&format!("mine:{line}: ")) && error.contains(message),
            "{keys}: {error}"
        );
    }
}

/// The error about a missing end of a port has a line that mends a scenario with a template's
/// nodes.
#[test]
fn a_port_without_an_end_has_a_right_line() {
    let read = |port: &str| {
        let topology = "duration = \"1s\"\n[topology]\ntemplate = \"dumbbell\"\nrate = \"1mbit\"";
        let source = "[[source]]\nkind = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\nrate = \"64kbit\"";
        Scenario::from_toml(
            "mine",
            &format!("{topology}\n{source}\n[[port]]\n{port}\n"),
            Path::new("."),
        )
        .map_err(|error| error.to_string())
    };
    let error = read("to = \"right\"").unwrap_err();
    assert_eq!(
        error,
        "mine:10: missing field `from` in [[port]], as in from = \"left\""
    );
    let error = read("from = \"left\"").unwrap_err();
    assert_eq!(
        error,
        "mine:10: missing field `to` in [[port]], as in to = \"right\""
    );
    assert!(read("from = \"left\"\nto = \"right\"").is_ok());
}

/// An interface keeps three of ten simultaneous packets; without a limit of its own, all ten.
#[test]
fn interfaces_of_hosts_have_queues() {
    let fates = |text: &str| {
        let scenario = Scenario::from_toml("mine", text, Path::new("."))
            .unwrap_or_else(|error| panic!("{error}"));
        let results = scenario
            .run(1, |_| ())
            .unwrap_or_else(|error| panic!("{error}"));
        results.groups[0].packets
    };
    let lossless = TEXT.replace("loss = \"2%\"\n", "");
    let limited = fates(&lossless);
    assert_eq!((limited.sent, limited.full, limited.delivered), (10, 7, 3));
    let free = fates(&lossless.replace("host = \"fifo limit 3\"\n", ""));
    assert_eq!((free.full, free.delivered), (0, 10));
}

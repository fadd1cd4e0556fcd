//! Transfers calculated by hand: selection, completion, means by bytes, and the list of transfers.

use std::path::Path;

use roundelay::{Duration, Instant};
use roundelay_sim::scenario::{Completion, GroupResult, Results, Scenario, Transfer};

/// Hosts `a` and `b` with a router between them; links have 1 Gbit/s, and 10 ms (`a`) or 0 ms
/// (`b`). `port` configures the port from the router to `b`.
fn text(top: &str, meter: &str, port: &str, sources: &[&str]) -> String {
    let mut text = format!("{top}\n[meter]\n{meter}\n[[node]]\nname = \"r\"\n");
    for (name, delay) in [("a", "10ms"), ("b", "0ms")] {
        text += &format!(
            "[[node]]\nname = \"{name}\"\nhost = true\n[[link]]\nfrom = \"{name}\"\nto = \"r\"\nrate = \"1gbit\"\ndelay = \"{delay}\"\n"
        );
    }
    text += &format!("[[port]]\nfrom = \"r\"\nto = \"b\"\n{port}\n");
    text + &sources
        .iter()
        .map(|source| format!("[[source]]\nfrom = \"a\"\nto = \"b\"\n{source}\n"))
        .collect::<String>()
}

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml("mine.toml", text, Path::new(".")).map_err(|error| error.to_string())
}

fn run(top: &str, meter: &str, port: &str, sources: &[&str]) -> Results {
    let scenario = read(&text(top, meter, port, sources)).unwrap_or_else(|error| panic!("{error}"));
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn tcp(packets: u64, start: &str) -> String {
    format!(
        "kind = \"tcp\"\nsize = {}\nstart = \"{start}\"\ntcp = {{ preset = \"ns2_newreno\" }}",
        packets * 1460
    )
}

fn burst(keys: &str) -> String {
    format!("kind = \"burst\"\nsize = 10000\n{keys}")
}

const MILLISECOND: u64 = 1_000_000_000;
/// Picoseconds over both links at 1 Gbit/s each: SYN and acknowledgement of 40 bytes, data of 1510.
const BARE: u64 = 2 * 320_000;
const DATA: u64 = 2 * 12_080_000;
/// One data packet: the SYN and the answer, then the data; afterwards the acknowledgement.
const ONE: u64 = 30 * MILLISECOND + 2 * BARE + DATA;
const ONE_ACKNOWLEDGED: u64 = ONE + 10 * MILLISECOND + BARE;
/// Seven packets in windows of 2, 4 and 1: each window starts with the acknowledgement of the first
/// packet of the previous window.
const SEVEN: u64 = 70 * MILLISECOND + 4 * BARE + 3 * DATA;
const SEVEN_ACKNOWLEDGED: u64 = SEVEN + 10 * MILLISECOND + BARE;

fn close(one: Option<f64>, other: f64) {
    assert!(
        one.is_some_and(|one| (one - other).abs() <= 1e-9 * other.abs()),
        "{one:?} for {other}"
    );
}

fn all(results: &Results) -> &GroupResult {
    results.groups.last().expect("groups")
}

fn picos(at: Option<Instant>) -> Option<u64> {
    at.map(Instant::as_picos)
}

#[test]
fn transfers_over_tcp_are_arithmetic() {
    let sources = [tcp(1, "0s"), tcp(7, "1s")];
    let results = run(
        "duration = \"2s\"",
        "transfers = true",
        "",
        &sources.each_ref().map(String::as_str),
    );
    let [one, seven] = results.transfers[..] else {
        panic!("{:?}", results.transfers)
    };
    assert_eq!(
        (one.flow, one.group, one.start, one.bytes, one.is_complete),
        (0, 0, Instant::ZERO, 1460, true)
    );
    assert_eq!(
        (picos(one.delivered), picos(one.acknowledged)),
        (Some(ONE), Some(ONE_ACKNOWLEDGED))
    );
    assert_eq!((one.retransmissions, one.timeouts), (Some(0), Some(0)));
    let round_trip = 20 * MILLISECOND + (BARE + DATA) / 2 + BARE;
    assert_eq!(
        one.round_trip,
        Some(Duration::from_picos(round_trip)),
        "a SYN and a segment there, two answers back"
    );
    let second = 1000 * MILLISECOND;
    assert_eq!(
        (seven.flow, seven.group, seven.start.as_picos(), seven.bytes),
        (1, 1, second, 10_220)
    );
    assert_eq!(
        (picos(seven.delivered), picos(seven.acknowledged)),
        (Some(second + SEVEN), Some(second + SEVEN_ACKNOWLEDGED))
    );
    assert_eq!(
        seven.completion_time(Completion::Acknowledged),
        Some(Duration::from_picos(SEVEN_ACKNOWLEDGED))
    );
    assert_ne!(one.from, one.to);
    assert!(
        !serde_json::to_string(&results)
            .expect("plain data")
            .contains("acknowledged"),
        "not in JSON"
    );
}

/// Plain means and means by bytes: 1,460 of one and 10,220 of another.
#[test]
fn means_by_bytes_are_weighted() {
    let sources = [tcp(1, "0s"), tcp(7, "1s")];
    for (complete, [one, seven]) in [
        ("delivered", [ONE, SEVEN]),
        ("acknowledged", [ONE_ACKNOWLEDGED, SEVEN_ACKNOWLEDGED]),
    ] {
        let meter = format!("complete = \"{complete}\"\ntransfers = true");
        let results = run(
            "duration = \"2s\"",
            &meter,
            "",
            &sources.each_ref().map(String::as_str),
        );
        let [one, seven] = [one, seven].map(|picos| picos as f64 / 1e12);
        let both = all(&results);
        close(both.completion.mean, one.midpoint(seven));
        close(both.completion_by_bytes, (one + 7.0 * seven) / 8.0);
        close(
            both.goodput,
            (1460.0 * 8.0 / one + 10_220.0 * 8.0 / seven) / 2.0,
        );
        close(results.groups[0].completion_by_bytes, one);
        let [first, second] = [0, 1].map(|transfer: usize| {
            results.transfers[transfer]
                .round_trip
                .expect("over TCP")
                .as_secs_f64()
        });
        close(both.round_trip_by_bytes, (first + 7.0 * second) / 8.0);
        close(both.round_trip.mean, first.midpoint(second));
    }
}

/// Of three transfers with starts at 0, 1 and 2 s, only the second starts in the window: the first
/// instant belongs to the window, the last does not. The same holds for other windows.
#[test]
fn a_window_has_its_start_and_not_its_end() {
    let sources = [tcp(1, "0s"), tcp(7, "1s"), tcp(1, "2s")];
    let sources = sources.each_ref().map(String::as_str);
    let starts = |meter: &str, top: &str| -> Vec<u64> {
        let results = run(top, &format!("transfers = true\n{meter}"), "", &sources);
        assert_eq!(
            all(&results).completion.count,
            results.transfers.len() as u64
        );
        assert_eq!(
            results.groups[0].packets.sent > 0,
            !top.contains("warmup"),
            "what packets do is as ever"
        );
        results
            .transfers
            .iter()
            .map(|transfer| transfer.start.as_picos() / MILLISECOND)
            .collect()
    };
    let top = "duration = \"3s\"";
    assert_eq!(starts("", top), [0, 1000, 2000]);
    assert_eq!(starts("started = [\"1s\", \"2s\"]", top), [1000]);
    assert_eq!(starts("started = [0, \"1s\"]", top), [0]);
    assert_eq!(starts("started = [\"1001ms\", \"3s\"]", top), [2000]);
    assert_eq!(
        starts("", "duration = \"3s\"\nwarmup = \"500ms\""),
        [1000, 2000]
    );
    assert_eq!(
        starts(
            "started = [\"2s\", \"3s\"]",
            "duration = \"3s\"\nwarmup = \"500ms\""
        ),
        [2000]
    );
}

#[test]
fn a_window_is_checked() {
    let sources = [tcp(1, "0s")];
    let refused = |started: &str| {
        let text = text(
            "duration = \"3s\"\nwarmup = \"1s\"",
            &format!("started = {started}"),
            "",
            &sources.each_ref().map(String::as_str),
        );
        read(&text).expect_err("it is out of its range")
    };
    let range =
        "legal range from the warm-up at 1s to the duration 3s, the first before the second";
    for (written, told) in [
        ("[\"2s\", \"2s\"]", "2s to 2s"),
        ("[\"500ms\", \"2s\"]", "500ms to 2s"),
        ("[\"2s\", \"3001ms\"]", "2s to 3001ms"),
    ] {
        assert_eq!(
            refused(written),
            format!("mine.toml:4: started {told}: {range}")
        );
    }
    for (written, count) in [("[]", 0), ("[\"2s\"]", 1), ("[\"1s\", \"2s\", \"3s\"]", 3)] {
        let expected = format!(
            "mine.toml:4: started: {count} values: expected two, as in [\"500ms\", \"2s\"]"
        );
        assert_eq!(refused(written), expected);
    }
    assert!(
        refused("[2, 3]").starts_with("mine.toml:4: "),
        "{}",
        refused("[2, 3]")
    );
}

/// Ten packets of 1,000 bytes over 1 Gbit/s and 8 Mbit/s: the last arrives after 8 us, 10 ms and
/// ten times 1 ms. Bursts have no acknowledgements.
#[test]
fn bursts_are_transfers() {
    let (first, second) = (burst("start = \"1s\""), burst("start = \"2s\"\nweight = 2"));
    for complete in ["delivered", "acknowledged"] {
        let meter = format!("transfers = true\ncomplete = \"{complete}\"");
        let results = run(
            "duration = \"3s\"",
            &meter,
            "rate = \"8mbit\"",
            &[&first, &second],
        );
        let took = 20 * MILLISECOND + 8_000_000;
        let of = |transfer: &Transfer| {
            (
                transfer.flow,
                picos(transfer.delivered),
                transfer.acknowledged,
                transfer.retransmissions,
                transfer.round_trip,
            )
        };
        let told: Vec<_> = results.transfers.iter().map(of).collect();
        let second = 1000 * MILLISECOND;
        assert_eq!(
            told,
            [
                (0, Some(second + took), None, None, None),
                (1, Some(2 * second + took), None, None, None)
            ]
        );
        close(all(&results).completion_by_bytes, took as f64 / 1e12);
        assert_eq!(all(&results).round_trip_by_bytes, None);
    }
}

/// Delays of a burst's packets count if the flow started in the window, wherever the packets are
/// then; delays of other flows always count.
#[test]
fn delays_of_bursts_are_those_of_flows_that_count() {
    let [first, second] = [burst("start = \"0s\""), burst("start = \"1s\"")];
    let endless = "kind = \"cbr\"\nrate = \"80kbit\"";
    let of = |meter| {
        run(
            "duration = \"2s\"",
            meter,
            "rate = \"8mbit\"",
            &[&first, &second, endless],
        )
    };
    let (plain, some) = (of(""), of("started = [\"1s\", \"1001ms\"]"));
    let counts =
        |results: &Results| [0, 1, 2].map(|group: usize| results.groups[group].delay.count);
    assert_eq!((counts(&plain), counts(&some)), ([10, 10, 20], [0, 10, 20]));
    assert_eq!(
        some.groups[0].packets, plain.groups[0].packets,
        "they arrived all the same"
    );
    assert_eq!(
        (some.groups[0].delay.mean, some.groups[0].delay_deviation),
        (None, None)
    );
    assert_eq!(some.groups[1], plain.groups[1]);
    assert_eq!(all(&some).delay.count, 30);
    assert_eq!(some.flows, plain.flows, "flows are told as ever");
}

/// The list includes incomplete transfers: TCP transfers with the bytes received so far, bursts
/// with a lost packet, and bursts still on their way.
#[test]
fn incomplete_transfers_are_on_the_list() {
    let sources = [
        tcp(100_000, "0s"),
        burst("start = \"1s\""),
        burst("start = \"1990ms\""),
    ];
    let results = run(
        "duration = \"2s\"",
        "transfers = true",
        "rate = \"8mbit\"\nqueue = \"fifo limit 5\"",
        &sources.each_ref().map(String::as_str),
    );
    assert_eq!(results.transfers.len(), 3);
    assert_eq!(
        results.groups[..3]
            .iter()
            .map(|group| group.incomplete)
            .collect::<Vec<_>>(),
        [1, 1, 1]
    );
    for transfer in &results.transfers {
        assert!(
            !transfer.is_complete && transfer.delivered.is_none(),
            "{transfer:?}"
        );
        assert_eq!(transfer.completion_time(Completion::Delivered), None);
    }
    let [long, lossy, late] = &results.transfers[..] else {
        unreachable!("three")
    };
    assert!(
        long.bytes > 1_000_000 && long.retransmissions > Some(0) && long.round_trip.is_some(),
        "{long:?}"
    );
    assert!(
        lossy.bytes < 10_000 && lossy.bytes.is_multiple_of(1000) && lossy.retransmissions.is_none(),
        "{lossy:?}"
    );
    assert_eq!(late.bytes, 0, "they take 10 ms and more");
    assert_eq!(results.groups[0].completion_by_bytes, None);
}

/// Responses, and video segments (one every 500 ms), are transfers of one flow, in the order of
/// their starts.
#[test]
fn responses_and_segments_are_transfers() {
    let video = "kind = \"video\"\nsegment = 10000\ninterval = \"500ms\"";
    let asks = "kind = \"request_response\"\nrequest = 100\nresponse = 1000\nthink = \"100ms\"";
    let results = run(
        "duration = \"2s\"",
        "transfers = true\ncomplete = \"acknowledged\"",
        "",
        &[video, asks],
    );
    let of = |group| {
        results
            .transfers
            .iter()
            .filter(move |transfer| transfer.group == group)
    };
    assert_eq!(
        of(0)
            .map(|segment| (segment.flow, segment.start.as_picos() / MILLISECOND))
            .collect::<Vec<_>>(),
        [(0, 0), (0, 500), (0, 1000), (0, 1500)]
    );
    assert!(of(0).all(|segment| segment.is_complete && segment.bytes == 10_000));
    assert!(
        of(1).count() > 5 && of(1).all(|response| response.flow == of(1).next().expect("one").flow)
    );
    assert_eq!(
        results.groups[0].completion.count, 4,
        "senders of segments do not tell what they know: they count by delivery"
    );
}

/// Metering options change no events, and results not requested are not kept.
#[test]
fn a_list_changes_nothing() {
    let sources = [tcp(50, "0s"), burst("start = \"1s\"\ncount = 3")];
    let of = |meter: &str| {
        run(
            "duration = \"2s\"",
            meter,
            "rate = \"8mbit\"\nqueue = \"fifo limit 9\"",
            &sources.each_ref().map(String::as_str),
        )
    };
    let (plain, mut listed) = (
        of(""),
        of("transfers = true\nstarted = [0, \"2s\"]\ncomplete = \"delivered\""),
    );
    assert_eq!((plain.transfers.len(), listed.transfers.len()), (0, 4));
    listed.transfers.clear();
    assert_eq!(plain, listed);
}

/// One packet, seven and eight: the first two are the largest of their classes, the last class has
/// no upper limit.
#[test]
fn sizes_have_classes_of_their_own() {
    let sources = [tcp(1, "0s"), tcp(7, "1s"), tcp(8, "2s"), tcp(1, "3s")];
    let of = |meter: &str| {
        run(
            "duration = \"4s\"",
            meter,
            "",
            &sources.each_ref().map(String::as_str),
        )
    };
    let results = of("sizes = [1460, \"10220b\"]");
    let [small, middle, large] = &all(&results).sizes[..] else {
        panic!("{:?}", all(&results).sizes)
    };
    assert_eq!(
        [small, middle, large].map(|size| (size.above, size.up_to)),
        [(0, Some(1460)), (1460, Some(10_220)), (10_220, None)]
    );
    assert_eq!(
        [small, middle, large].map(|size| (size.completion.count, size.bytes)),
        [(2, 2920), (1, 10_220), (1, 11_680)]
    );
    close(small.completion.max, ONE as f64 / 1e12);
    close(Some(middle.goodput), 10_220.0 * 8e12 / SEVEN as f64);
    assert_eq!(
        (middle.round_trip, small.round_trip.count),
        (results.groups[1].round_trip, 2)
    );
    assert_eq!(results.groups[0].sizes.len(), 1, "those that there are");
    let tens: Vec<_> = all(&of(""))
        .sizes
        .iter()
        .map(|size| (size.above, size.up_to, size.completion.count))
        .collect();
    assert_eq!(tens, [(1000, Some(10_000), 2), (10_000, Some(100_000), 2)]);
    let bursts = run("duration = \"4s\"", "sizes = [9999]", "", &[&burst("")]);
    assert_eq!(
        (
            bursts.groups[0].sizes[0].up_to,
            bursts.groups[0].sizes[0].round_trip.count
        ),
        (None, 0)
    );
}

#[test]
fn sizes_are_checked() {
    let source = tcp(1, "0s");
    let refused = |sizes: &str| {
        read(&text(
            "duration = \"3s\"\n",
            &format!("sizes = {sizes}"),
            "",
            &[&source],
        ))
        .expect_err("out of range")
    };
    for (sizes, message) in [
        ("[]", "0 sizes: legal range 1 to 1000"),
        ("[0]", "sizes: 0 bytes: legal range 1 to 1099511627776"),
        (
            "[10, 9]",
            "sizes: 9 bytes: legal range 11 to 1099511627776, more than the one before",
        ),
        (
            "[10,\n10]",
            "sizes: 10 bytes: legal range 11 to 1099511627776, more than the one before",
        ),
    ] {
        let line = 4 + sizes.matches('\n').count();
        assert_eq!(refused(sizes), format!("mine.toml:{line}: {message}"));
    }
    assert!(
        refused("[-1]").starts_with("mine.toml:4: "),
        "{}",
        refused("[-1]")
    );
    assert!(
        refused("[1.5]").starts_with("mine.toml:4: "),
        "{}",
        refused("[1.5]")
    );
}

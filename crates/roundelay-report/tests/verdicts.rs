//! Verdicts on generated captures with an obvious best answer: the choice, whom the others hurt,
//! and the reason.

use std::io::Cursor;

use crate::common::*;
use roundelay_trace::{Capture, Kind, Options, WeightRules};

use crate::told::{Told, compare};

/// Every discipline of Linux, with the kernel's rules where these differ.
const OF_LINUX: [&str; 11] = [
    "fifo",
    "priority",
    "drr",
    "qfq_plus linux",
    "sfq linux",
    "fq_codel linux",
    "codel linux",
    "pie",
    "red",
    "choke linux",
    "sfb",
];

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;
/// Those among the disciplines compared by default with a queue for each flow.
const FAIR: [&str; 4] = ["drr", "qfq_plus linux", "sfq linux", "fq_codel linux"];

/// A packet: nanoseconds, flow, bytes on the wire.
type Packet = (u64, Flow, u32);

#[derive(Debug, Clone, Copy)]
struct Flow {
    protocol: u8,
    ports: (u16, u16),
    dscp: u8,
    /// Code point of explicit congestion notification.
    ecn: u8,
    /// Of TCP.
    flags: u8,
}

const fn download(number: u16) -> Flow {
    Flow {
        protocol: TCP,
        ports: (443, 50_000 + number),
        dscp: 0,
        ecn: 0,
        flags: ACK,
    }
}

const fn flood(number: u16) -> Flow {
    Flow {
        protocol: UDP,
        ports: (9, 9000 + number),
        dscp: 0,
        ecn: 0,
        flags: ACK,
    }
}

const fn call(number: u16) -> Flow {
    Flow {
        protocol: UDP,
        ports: (40_000, 40_000 + number),
        dscp: 0,
        ecn: 0,
        flags: ACK,
    }
}

/// TCP segments without data, as their length says.
fn acknowledgements(rate: u64, seconds: u64) -> Vec<Packet> {
    steady(
        Flow {
            protocol: TCP,
            ports: (60_000, 443),
            dscp: 0,
            ecn: 0,
            flags: ACK,
        },
        rate,
        54,
        seconds,
    )
}

const fn query(number: u16) -> Flow {
    Flow {
        protocol: UDP,
        ports: (53, 30_000 + number),
        dscp: 0,
        ecn: 0,
        flags: ACK,
    }
}

/// Small pseudo-random numbers: Lehmer's generator modulo 2^31 - 1.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        self.0 % limit
    }
}

/// Packets of `len` bytes at `rate` bits per second for `seconds`, each up to an interval late.
fn steady(flow: Flow, rate: u64, len: u32, seconds: u64) -> Vec<Packet> {
    let interval = u64::from(len) * 8 * SECOND / rate;
    let mut random = Random(1 + u64::from(flow.ports.0) * 65_536 + u64::from(flow.ports.1));
    (0..seconds * SECOND / interval)
        .map(|number| (number * interval + random.below(interval), flow, len))
        .collect()
}

/// `count` packets of 1500 bytes at one instant, each `interval` nanoseconds.
fn bursts(flow: Flow, count: u64, interval: u64, seconds: u64) -> Vec<Packet> {
    (0..seconds * SECOND / interval)
        .flat_map(|burst| (0..count).map(move |_| (burst * interval, flow, 1500)))
        .collect()
}

/// A call of 80 kbit/s: 200 bytes each 20 ms.
fn talk(number: u16, seconds: u64) -> Vec<Packet> {
    steady(call(number), 80_000, 200, seconds)
}

/// A question each 100 ms.
fn questions(number: u16, seconds: u64) -> Vec<Packet> {
    steady(query(number), 8_000, 100, seconds)
}

const ACK: u8 = 0x10;
const SYN: u8 = 0x02;

/// The IP packet from `source` to `destination`, headers alone; its length is that on the wire.
fn headers(
    number: usize,
    (_, flow, len): &Packet,
    source: [u8; 4],
    destination: [u8; 4],
) -> Vec<u8> {
    let udp = ports(flow.ports.0, flow.ports.1);
    let tcp = [&udp[..4], &[0; 8], &[0x50, flow.flags], &[0; 6]].concat();
    let mut ip = ipv4(
        flow.protocol,
        source,
        destination,
        if flow.protocol == TCP { &tcp } else { &udp },
    );
    ip[1] = flow.dscp << 2 | flow.ecn;
    ip[2..4].copy_from_slice(&(*len as u16 - 14).to_be_bytes());
    ip[4..6].copy_from_slice(&(1 + number as u16 % 65_535).to_be_bytes());
    ip
}

fn in_order(flows: Vec<Vec<Packet>>) -> Vec<Packet> {
    let mut packets: Vec<_> = flows.into_iter().flatten().collect();
    packets.sort_by_key(|(at, ..)| *at);
    packets
}

fn capture(link: u16, frames: impl Iterator<Item = (u64, Vec<u8>, u32)>) -> Vec<u8> {
    let record = |(at, frame, len): (u64, Vec<u8>, u32)| {
        [
            record_header(
                Little,
                (at / SECOND) as u32,
                (at % SECOND) as u32,
                frame.len() as u32,
                len,
            ),
            frame,
        ]
        .concat()
    };
    let header = pcap(Little, NANOS, (2, 4), 65_535, link);
    frames.map(record).fold(header, |mut bytes, record| {
        bytes.extend(record);
        bytes
    })
}

fn written(flows: Vec<Vec<Packet>>) -> Vec<u8> {
    let packets = in_order(flows);
    let frame = |(number, packet): (usize, &Packet)| {
        (
            packet.0,
            ethernet(0x0800, &headers(number, packet, A, B)),
            packet.2,
        )
    };
    capture(ETHERNET, packets.iter().enumerate().map(frame))
}

/// A comparison and its verdict as one text.
struct Judged {
    comparison: Told,
    text: String,
}

fn judged_with(
    flows: Vec<Vec<Packet>>,
    rate: &str,
    texts: &[&str],
    change: impl FnOnce(&mut Options),
) -> Judged {
    judged_of(written(flows), rate, texts, change)
}

fn judged_of(
    bytes: Vec<u8>,
    rate: &str,
    texts: &[&str],
    change: impl FnOnce(&mut Options),
) -> Judged {
    let specs = texts.iter().map(|text| text.parse().unwrap()).collect();
    let mut options = Options {
        measure_cost: false,
        ..Options::new(rate.parse().unwrap(), specs)
    };
    change(&mut options);
    let capture = Capture::from_reader("t.pcap", Cursor::new(bytes)).unwrap();
    let comparison = compare(capture, &options, &mut ()).unwrap();
    let text = comparison.verdict.sentences.join(" ");
    Judged { comparison, text }
}

fn judged(flows: Vec<Vec<Packet>>, rate: &str, texts: &[&str]) -> Judged {
    judged_with(flows, rate, texts, |_| ())
}

impl Judged {
    fn best(&self) -> &str {
        &self.comparison.disciplines[self.comparison.verdict.best.unwrap()].spec
    }

    /// The best discipline is one of these, and the verdict has each of the phrases.
    #[track_caller]
    fn is(self, best: &[&str], phrases: &[&str]) -> Self {
        assert!(
            best.contains(&self.best()),
            "{}: {}",
            self.best(),
            self.text
        );
        for phrase in phrases {
            assert!(
                self.text.contains(phrase),
                "no '{phrase}' in: {}",
                self.text
            );
        }
        self
    }

    /// The verdict has none of the phrases.
    #[track_caller]
    fn says_not(self, phrases: &[&str]) -> Self {
        for phrase in phrases {
            assert!(!self.text.contains(phrase), "'{phrase}' in: {}", self.text);
        }
        self
    }
}

/// Regression: "divides the wait best: every flow asks for more than its share", with 43% dropped
/// against 0%.
#[test]
fn one_flow_alone_has_nothing_to_divide() {
    let alone = || vec![bursts(download(0), 300, 500 * MILLISECOND, 10)];
    judged(alone(), "10mbit", &OF_LINUX)
        .is(
            &["fifo"],
            &[
                "is alone, so there is nothing to divide: fifo loses 0%",
                "under sfb",
            ],
        )
        .says_not(&["divides the wait", "divides the link"]);
}

#[test]
fn one_flow_above_the_link_gets_a_short_queue() {
    judged(
        vec![steady(download(0), 12_000_000, 1500, 20)],
        "10mbit",
        &["fifo", "drr", "codel"],
    )
    .is(&["codel"], &["is alone, so there is nothing to divide"]);
}

#[test]
fn a_call_beside_a_download_is_kept_from_its_queue() {
    judged(
        vec![steady(download(0), 12_000_000, 1500, 10), talk(0, 10)],
        "10mbit",
        &OF_LINUX,
    )
    .is(
        &FAIR,
        &[
            "for calls and games (1 flow)",
            "fifo hurts calls and games (1 flow):",
            "times as long, because all flows share one queue",
        ],
    );
}

#[test]
fn dns_beside_bulk_is_named() {
    judged(
        vec![
            steady(download(0), 12_000_000, 1500, 10),
            questions(0, 10),
            questions(1, 10),
        ],
        "10mbit",
        &OF_LINUX,
    )
    .is(
        &FAIR,
        &[
            "for DNS (2 flows)",
            "fifo hurts DNS (2 flows):",
            "The worst is udp 10.0.0.1:53 >",
        ],
    );
}

#[test]
fn web_beside_bulk_is_named() {
    let pages = (1..6).map(|number| bursts(download(number), 8, 500 * MILLISECOND, 10));
    judged(
        [steady(download(0), 12_000_000, 1500, 10)]
            .into_iter()
            .chain(pages)
            .collect(),
        "10mbit",
        &OF_LINUX,
    )
    .is(&FAIR, &["for web (5 flows)", "fifo hurts web (5 flows):"]);
}

/// Regression: pages of 60 packets were bulk, as a fair share is less for a moment.
#[test]
fn pages_in_bursts_above_a_fair_share_are_web() {
    let pages = |count| (1..6).map(move |number| bursts(download(number), count, 3 * SECOND, 12));
    let beside_bulk = |count| {
        [steady(download(0), 12_000_000, 1500, 12)]
            .into_iter()
            .chain(pages(count))
            .collect()
    };
    judged(beside_bulk(60), "10mbit", &OF_LINUX)
        .is(&FAIR, &["for web (5 flows)", "fifo hurts web (5 flows):"]);
    judged(beside_bulk(120), "10mbit", &OF_LINUX)
        .is(&FAIR, &["each flow asks for more than its fair share"])
        .says_not(&["web"]);
}

/// Regression: acknowledgements were web.
#[test]
fn acknowledgements_beside_an_upload_are_named() {
    judged(
        vec![
            steady(download(0), 2_000_000, 1500, 10),
            acknowledgements(40_000, 10),
        ],
        "1mbit",
        &["fifo", "drr", "qfq_plus"],
    )
    .is(
        &FAIR,
        &[
            "for acknowledgements (1 flow)",
            "fifo hurts acknowledgements (1 flow):",
        ],
    )
    .says_not(&["web"]);
}

/// Each acknowledgement confirms what those before do.
#[test]
fn a_lost_acknowledgement_costs_nothing_and_a_late_one_does() {
    let flows = || {
        vec![
            steady(download(0), 2_000_000, 1500, 10),
            acknowledgements(40_000, 10),
        ]
    };
    let lossy = judged(flows(), "1mbit", &["fifo limit 10", "fifo limit 1000"]);
    let lost = lossy.comparison.disciplines[0]
        .kinds
        .iter()
        .find(|of| of.kind == Kind::Acknowledgements)
        .unwrap()
        .loss;
    assert!(lost > 0.2, "{lost}");
    lossy
        .is(
            &["fifo limit 10"],
            &["fifo limit 1000 hurts acknowledgements (1 flow):"],
        )
        .says_not(&["costs its sender"]);
    let first = "[[weight]]\nmatch = \"dst port 50000\"\npriority = 0\n";
    judged_with(flows(), "1mbit", &["priority", "drr"], |options| {
        options.weights = WeightRules::from_toml("w.toml", first).unwrap()
    })
    .is(&["drr"], &["priority hurts acknowledgements (1 flow):"]);
}

/// Regression: a lost SYN cost nothing, as it has no data.
#[test]
fn a_request_for_a_connection_is_no_acknowledgement() {
    let ask = |number| {
        let ask = Flow {
            ecn: 0,
            flags: SYN,
            ..download(number)
        };
        vec![
            (u64::from(number) * 30 * MILLISECOND, ask, 54),
            (u64::from(number) * 30 * MILLISECOND + SECOND, ask, 54),
        ]
    };
    let flows = (1..=300)
        .map(ask)
        .chain([steady(download(0), 12_000_000, 1500, 10)])
        .collect();
    judged(flows, "10mbit", &["fifo limit 8", "fifo limit 3000"])
        .is(
            &["fifo limit 3000"],
            &["for web (300 flows)", "fifo limit 8 hurts web (300 flows):"],
        )
        .says_not(&["acknowledgements"]);
}

/// Regression: downloads whose SYN was lost lost nothing that counted.
#[test]
fn a_lost_request_in_a_flow_of_acknowledgements_counts() {
    let download_from = |first: u8| {
        move |number: u16| {
            let flow = Flow {
                protocol: TCP,
                ports: (60_000 + number, 443),
                dscp: 0,
                ecn: 0,
                flags: ACK,
            };
            let start = u64::from(number) * 400 * MILLISECOND + MILLISECOND;
            let later = (1..150).map(move |packet| {
                (
                    start + 300 * MILLISECOND + packet * 20 * MILLISECOND,
                    flow,
                    54,
                )
            });
            [(
                start,
                Flow {
                    ecn: 0,
                    flags: first,
                    ..flow
                },
                54,
            )]
            .into_iter()
            .chain(later)
            .collect::<Vec<_>>()
        }
    };
    // A burst of an upload fills 30 packets of buffer at each start.
    let upload = || {
        bursts(
            Flow {
                protocol: TCP,
                ports: (50_000, 22),
                dscp: 0,
                ecn: 0,
                flags: ACK,
            },
            31,
            400 * MILLISECOND,
            10,
        )
    };
    let with = |first: u8| {
        judged(
            (0..20)
                .map(download_from(first))
                .chain([upload()])
                .collect(),
            "1mbit",
            &["fifo limit 30", "fifo limit 300"],
        )
    };
    let lost = with(SYN).is(
        &["fifo limit 300"],
        &[
            "for acknowledgements (20 flows)",
            "fifo limit 30 hurts acknowledgements",
        ],
    );
    assert!(
        lost.comparison.disciplines[0]
            .flows
            .iter()
            .filter(|flow| flow.data_loss == 1.0)
            .count()
            >= 15
    );
    with(ACK).is(&["fifo limit 30"], &["for acknowledgements (20 flows)"]);
}

/// Regression: two thirds of the requests among acknowledgements were lost without a word.
#[test]
fn requests_among_acknowledgements_count() {
    let mut mixed = acknowledgements(40_000, 10);
    mixed
        .iter_mut()
        .step_by(10)
        .for_each(|(_, _, len)| *len = 500);
    let flows = vec![steady(download(0), 2_000_000, 1500, 10), mixed];
    judged(flows, "1mbit", &["fifo limit 10", "drr"]).is(
        &["drr"],
        &[
            "fifo limit 10 hurts web (1 flow):",
            "of their packets are lost",
        ],
    );
}

/// Regression: "Nothing contends", and 94% lost.
#[test]
fn losses_are_contention() {
    let burst = (0..10)
        .flat_map(|burst| {
            (0..200).map(move |_| (burst * SECOND, acknowledgements(40_000, 1)[0].1, 54))
        })
        .collect();
    judged(vec![burst], "10mbit", &["fifo limit 10", "drr limit 10"])
        .is(
            &["fifo limit 10", "drr limit 10"],
            &["because its buffer is full"],
        )
        .says_not(&["Nothing contends"]);
}

/// Regression: one page was bulk on links below 12 Mbit/s.
#[test]
fn one_page_is_web() {
    let page = || (0..60).map(|_| (5 * SECOND, download(1), 1500)).collect();
    judged(
        vec![steady(download(0), 6_000_000, 1500, 10), page()],
        "5mbit",
        &["fifo", "drr"],
    )
    .is(&["drr"], &["for web (1 flow)", "fifo hurts web (1 flow):"]);
}

/// Regression: what a starved flow got after the last arrival counted as its share.
#[test]
fn a_share_that_comes_after_the_end_is_none() {
    let first = steady(
        Flow {
            dscp: 48,
            ..flood(0)
        },
        20_000_000,
        1500,
        5,
    );
    let starved = steady(download(0), 8_000_000, 1500, 5);
    judged(
        vec![first, starved],
        "10mbit",
        &["priority limit 100000", "drr limit 100000"],
    )
    .is(
        &["drr limit 100000"],
        &["priority limit 100000 hurts bulk: tcp", "gets 0."],
    );
}

/// Regression: the percentile of a kind was the mean of its flows' percentiles, below the median of
/// flows with a packet each.
#[test]
fn the_percentile_of_a_kind_is_that_of_its_packets() {
    let questions = (0..90).map(|number| {
        vec![(
            u64::from(number) * 100 * MILLISECOND + 3,
            query(number),
            100,
        )]
    });
    let flows = questions
        .chain([steady(download(0), 12_000_000, 1500, 10)])
        .collect();
    let judged = judged(flows, "10mbit", &["fifo", "drr"]);
    for result in &judged.comparison.disciplines {
        for kind in &result.kinds {
            // The slowest flow is no faster than the kind.
            assert!(kind.longest_p99 >= kind.p99, "{kind:?}");
        }
        let dns = result.kinds.iter().find(|of| of.kind == Kind::Dns).unwrap();
        let stated = dns.p99.unwrap();
        let of_dns = judged
            .comparison
            .flows
            .iter()
            .zip(&result.flows)
            .filter(|(flow, _)| flow.kind == Kind::Dns);
        let delays: Vec<f64> = of_dns
            .filter_map(|(_, of)| Some(of.outcome.delay?.p99))
            .collect();
        let within = delays
            .iter()
            .filter(|delay| **delay <= stated * 1.01)
            .count();
        assert!(
            delays.len() > 50 && within * 100 >= delays.len() * 98,
            "{}: {within} of {} within {stated}",
            result.spec,
            delays.len()
        );
    }
    judged.is(&["drr"], &["for DNS (90 flows)"]);
}

/// Regression: the advice to mark calls named a TCP flow that was marked.
#[test]
fn advice_on_calls_is_for_unmarked_udp() {
    let crowd = (0..300).map(|number| steady(flood(number), 40_000, 500, 10));
    let marked = steady(
        Flow {
            dscp: 46,
            ..download(0)
        },
        80_000,
        200,
        10,
    );
    judged(crowd.chain([marked]).collect(), "5mbit", &["fifo", "drr"]).says_not(&["mark calls"]);
}

/// A queue in front of the capture has taken the waiting.
#[test]
fn a_capture_behind_the_bottleneck_is_noted() {
    // A link of 10 Mbit/s sends a packet each 1.2 ms, half a second of each second.
    let behind = || {
        (0..20)
            .flat_map(|second| {
                (0..416)
                    .map(move |packet| (second * SECOND + packet * 1_200_000, download(0), 1500))
            })
            .collect()
    };
    let noted = |rate: &str| {
        let judged = judged(vec![behind()], rate, &["fifo"]);
        let has_note = judged
            .comparison
            .notes
            .iter()
            .any(|note| note.contains("as behind the queue"));
        assert_eq!(
            has_note,
            judged.text.contains("may lie behind the bottleneck"),
            "{}",
            judged.text
        );
        has_note
    };
    assert!(noted("10.1mbit") && noted("12mbit"));
    assert!(!noted("5mbit") && !noted("100mbit"));
}

/// The plain queue shows what the best discipline is for.
#[test]
fn the_harm_of_a_fifo_is_named_before_that_of_others() {
    let flows = || {
        vec![
            steady(download(0), 12_000_000, 1500, 10),
            talk(0, 10),
            questions(0, 10),
        ]
    };
    judged(flows(), "10mbit", &OF_LINUX)
        .is(&FAIR, &["fifo hurts DNS (1 flow):", "About as good: "]);
}

/// RFC 8290, section 5.2.2.
#[test]
fn a_target_below_the_time_of_a_packet_is_named() {
    let flows = || vec![steady(download(0), 4_000_000, 1500, 10), talk(0, 10)];
    let short = "A packet of 1500 bytes takes 17.1 ms on this link, longer than a target of CoDel here: two packets";
    let judge = |rate: &str, specs: &[&str]| judged(flows(), rate, specs);
    judge("700kbit", &["fifo", "codel", "fq_codel"]).is(
        &["fq_codel"],
        &[
            short,
            "Compare with 'codel target 18ms', 'fq_codel target 18ms' (RFC 8290",
        ],
    );
    judge("100kbit", &["fifo", "codel", "fq_codel"]).is(
        &["fq_codel", "codel", "fifo"],
        &["'fq_codel target 120ms interval 1200ms'"],
    );
    judge("100bit", &["fifo", "codel"]).says_not(&["A packet of"]);
    judge(
        "700kbit",
        &["fifo", "codel target 18ms", "fq_codel target 20ms linux"],
    )
    .says_not(&["A packet of"]);
    judge("2500kbit", &["fifo", "codel", "fq_codel"]).says_not(&["A packet of"]);
}

/// 55 light flows in a first class, in bursts, and a call in the last one.
fn crowd_and_call() -> Vec<Vec<Packet>> {
    (0..55)
        .map(|number| bursts(download(number), 8, SECOND, 20))
        .chain([talk(0, 20)])
        .collect()
}

/// Regression: a geometric mean over 55 light flows hid that the call waited 40 times as long.
#[test]
fn fifty_five_light_flows_do_not_hide_a_call() {
    let web_first = "[[weight]]\nmatch = \"tcp\"\npriority = 0\n";
    let judged = judged_with(
        crowd_and_call(),
        "10mbit",
        &["priority", "drr"],
        |options| {
            options.weights = WeightRules::from_toml("w.toml", web_first).unwrap();
        },
    );
    let wait = |spec: usize| {
        judged.comparison.disciplines[spec]
            .kinds
            .iter()
            .find(|of| of.kind == Kind::Call)
            .unwrap()
            .p99
            .unwrap()
    };
    assert!(wait(0) > 5.0 * wait(1), "{} {}", wait(0), wait(1));
    judged
        .is(
            &["drr"],
            &["priority hurts calls and games (1 flow):", "times as long"],
        )
        .says_not(&["about equally", "does not matter"]);
}

/// The same among flows of one kind.
#[test]
fn fifty_five_calls_do_not_hide_the_worst_call() {
    let calls = || {
        (0..56)
            .map(|number| talk(number, 10))
            .chain([steady(download(0), 12_000_000, 1500, 10)])
            .collect()
    };
    let last = "[[weight]]\nmatch = \"dst port 40055\"\npriority = 7\n[[weight]]\nmatch = \"udp\"\npriority = 0\n";
    judged_with(calls(), "10mbit", &["priority", "drr"], |options| {
        options.weights = WeightRules::from_toml("w.toml", last).unwrap()
    })
    .is(
        &["drr"],
        &[
            "priority hurts calls and games (56 flows):",
            "The worst is udp 10.0.0.1:40000 > 10.0.0.2:40055:",
        ],
    );
}

/// Regression: a difference that "does not matter" hid the loss.
#[test]
fn a_loss_is_not_hidden_by_delays_that_are_alike() {
    let pages = || {
        (0..100)
            .map(|number| bursts(download(number), 8, 3 * SECOND, 12))
            .collect::<Vec<_>>()
    };
    judged(pages(), "4mbit", &["fifo limit 616", "fifo limit 1000"])
        .is(
            &["fifo limit 1000"],
            &[
                "but loses 23.0%",
                "fifo limit 616 hurts web (100 flows):",
                "23.0% of their packets are lost",
            ],
        )
        .says_not(&["does not matter", "about equally"]);
}

/// Regression: a discipline that marks was thought to delay the bulk that it marks, because a
/// replay sends on, so the same discipline without marks, which drops, was best.
#[test]
fn marks_count_as_the_signal_that_they_are() {
    let capable = Flow {
        ecn: 2,
        ..download(0)
    };
    let specs = ["fifo", "fq_codel linux", "fq_codel linux noecn"];
    let load = || vec![steady(capable, 12_000_000, 1500, 10), talk(0, 10)];
    judged(load(), "10mbit", &specs)
        .is(
            &["fq_codel linux"],
            &["of all packets to signal congestion; TCP senders would slow down in answer"],
        )
        .says_not(&["but 99% of all packets"]);
    // Not capable: both drop, and are the same.
    let plain = vec![steady(download(0), 12_000_000, 1500, 10), talk(0, 10)];
    judged(plain, "10mbit", &specs).says_not(&["marks"]);
}

#[test]
fn two_equal_bulks_need_no_fair_queue() {
    let equal = || {
        vec![
            steady(download(0), 8_000_000, 1500, 20),
            steady(download(1), 8_000_000, 1500, 20),
        ]
    };
    let alike = judged(equal(), "10mbit", &["fifo", "drr", "qfq_plus"])
        .is(&["fifo"], &["about equally"])
        .says_not(&["hurts"]);
    let commands = &alike.comparison.verdict.commands;
    assert!(
        commands.is_empty(),
        "they take a queue off that works as well"
    );
    // Who asks for one discipline gets its commands.
    let alone = judged(equal(), "10mbit", &["drr"]);
    assert!(!alone.comparison.verdict.commands.is_empty());
    let (one, other) = (
        steady(download(0), 6_000_000, 1500, 20),
        steady(download(1), 6_000_000, 1500, 20),
    );
    judged(vec![one, other], "10mbit", &["fifo", "codel"]).is(&["codel"], &["gets at least 99.8%"]);
}

#[test]
fn two_unequal_bulks_get_equal_shares() {
    let unequal = vec![
        steady(download(0), 20_000_000, 1500, 20),
        steady(download(1), 6_000_000, 1500, 20),
    ];
    judged(unequal, "10mbit", &OF_LINUX).is(
        &FAIR,
        &[
            "each flow asks for more than its fair share at times and gets at least",
            "hurts bulk: tcp",
        ],
    );
}

#[test]
fn a_flood_does_not_take_the_link_from_those_that_share() {
    let share = (0..3).map(|number| steady(download(number), 4_000_000, 1500, 10));
    judged(
        [steady(flood(0), 50_000_000, 1500, 10)]
            .into_iter()
            .chain(share)
            .collect(),
        "10mbit",
        &OF_LINUX,
    )
    .is(
        &FAIR,
        &[
            "hurts bulk: tcp",
            "of its fair share, where each flow gets at least",
        ],
    );
}

/// No commands either: they would take a queue off that works as well.
#[test]
fn under_a_light_load_a_fifo_is_enough() {
    let light = vec![
        steady(download(0), 1_000_000, 1500, 10),
        talk(0, 10),
        questions(0, 10),
    ];
    let judged = judged(light, "100mbit", &OF_LINUX).is(
        &["fifo"],
        &["Nothing contends for this link: fifo will do, so leave the queue there as it is."],
    );
    let commands = &judged.comparison.verdict.commands;
    assert!(commands.is_empty(), "{commands:?}");
}

/// An open loop drops too few packets of light flows, because nobody fills the queue again.
#[test]
fn a_loss_of_light_flows_has_a_note() {
    let notes = |rate: &str| {
        let flows = vec![
            steady(download(0), 8_000_000, 1500, 10),
            talk(0, 10),
            questions(0, 10),
        ];
        let judged = judged(flows, rate, &["fifo limit 10", "drr"]);
        judged.comparison.notes.join(" ")
    };
    let note = "Light flows lose more on a real link than here";
    assert!(notes("5mbit").contains(note), "{}", notes("5mbit"));
    assert!(!notes("100mbit").contains(note), "{}", notes("100mbit"));
}

#[test]
fn calls_alone_on_a_busy_link_need_no_fair_queue() {
    judged(
        (0..110).map(|number| talk(number, 10)).collect(),
        "10mbit",
        &OF_LINUX,
    )
    .is(&["fifo"], &["about equally"])
    .says_not(&["hurts"]);
}

#[test]
fn weights_asked_for_are_kept() {
    let two = vec![
        steady(download(0), 12_000_000, 1500, 20),
        steady(download(1), 12_000_000, 1500, 20),
    ];
    judged_with(
        two,
        "10mbit",
        &["fifo", "sfq", "codel", "drr", "qfq_plus"],
        |options| {
            options.weights.push("dst port 50000 = 4".parse().unwrap());
        },
    )
    .is(
        &["drr", "qfq_plus"],
        &[
            "divides the link best",
            "hurts bulk: tcp 10.0.0.1:443 > 10.0.0.2:50000 gets 6",
            "of its fair share",
        ],
    );
}

#[test]
fn bursts_of_one_flow_are_its_own() {
    let burst = bursts(download(0), 400, SECOND, 10);
    judged(
        vec![burst, talk(0, 10), questions(0, 10)],
        "10mbit",
        &["fifo", "drr", "qfq_plus"],
    )
    .is(
        &["drr", "qfq_plus"],
        &["fifo hurts calls and games (1 flow):"],
    );
}

/// Small packets wait for a turn of each large one: the larger the turns, the longer.
#[test]
fn large_turns_hurt_who_sends_small_packets() {
    let bulks = (0..8).map(|number| steady(download(number), 4_000_000, 1500, 10));
    judged(
        bulks.chain([talk(0, 10)]).collect(),
        "10mbit",
        &["drr quantum 9000b", "drr quantum 1500b", "fifo"],
    )
    .is(
        &["drr quantum 1500b"],
        &["fifo hurts calls and games (1 flow):"],
    );
}

#[test]
fn marked_calls_among_many_bulks_go_first() {
    let bulks = (0..50).map(|number| steady(download(number), 400_000, 1500, 10));
    let marked = talk(0, 10)
        .into_iter()
        .map(|(at, flow, len)| (at, Flow { dscp: 46, ..flow }, len))
        .collect();
    judged(
        bulks.chain([marked]).collect(),
        "10mbit",
        &["fifo", "drr", "priority"],
    )
    .is(&["priority"], &["fifo hurts calls and games (1 flow):"]);
}

/// A call of 80 kbit/s where a fair share is 5 kbit/s.
fn call_in_a_flood(dscp: u8) -> Vec<Vec<Packet>> {
    let crowd = (0..1000).map(|number| steady(flood(number), 40_000, 500, 10));
    crowd
        .chain([talk(0, 10)
            .into_iter()
            .map(|(at, flow, len)| (at, Flow { dscp, ..flow }, len))
            .collect()])
        .collect()
}

/// Regression: the call was bulk, for asking more than a fair share, and no sentence named the
/// call.
#[test]
fn a_call_in_a_flood_of_small_flows_is_not_forgotten() {
    judged(call_in_a_flood(46), "5mbit", &OF_LINUX).is(
        &["priority"],
        &[
            "for calls and games (1 flow)",
            "hurts calls and games (1 flow):",
        ],
    );
    let asked = "1 UDP flow of short packets asks for more than its fair share and counts as bulk";
    judged(call_in_a_flood(0), "5mbit", &["fifo", "drr", "priority"])
        .is(&["drr"], &[asked, "mark calls with the code point EF"]);
}

/// A call needs more than a tenth of a slow link.
#[test]
fn a_marked_call_on_a_slow_link_is_a_call() {
    let downloads = (0..30).map(|number| steady(download(number), 100_000, 1500, 10));
    let marked = talk(0, 10)
        .into_iter()
        .map(|(at, flow, len)| (at, Flow { dscp: 46, ..flow }, len))
        .collect();
    judged(
        downloads.chain([marked]).collect(),
        "700kbit",
        &["fifo", "drr", "priority"],
    )
    .is(
        &["priority"],
        &[
            "for calls and games (1 flow)",
            "hurts calls and games (1 flow)",
        ],
    );
}

/// A transfer over TCP is none, whatever its mark.
#[test]
fn a_marked_transfer_is_no_call() {
    let downloads = (0..100).map(|number| steady(download(number), 400_000, 1500, 10));
    let marked = steady(
        Flow {
            dscp: 34,
            ..download(200)
        },
        1_500_000,
        1500,
        10,
    );
    judged(
        downloads.chain([marked]).collect(),
        "20mbit",
        &["fifo", "drr", "priority"],
    )
    .says_not(&["calls and games"]);
}

#[test]
fn a_first_class_that_takes_all_is_not_best() {
    let marked = steady(
        Flow {
            dscp: 48,
            ..flood(0)
        },
        20_000_000,
        1500,
        10,
    );
    judged(
        vec![
            marked,
            questions(0, 10),
            steady(download(0), 4_000_000, 1500, 10),
        ],
        "10mbit",
        &["priority", "drr"],
    )
    .is(
        &["drr"],
        &["priority hurts DNS (1 flow): nothing of them gets through."],
    );
}

#[test]
fn a_short_buffer_is_no_remedy_for_a_call() {
    let flows = vec![steady(download(0), 20_000_000, 1500, 10), talk(0, 10)];
    judged(flows, "10mbit", &["fifo limit 10", "drr"]).is(
        &["drr"],
        &["fifo limit 10 hurts calls and games (1 flow):", "are lost"],
    );
}

#[test]
fn yardsticks_are_not_recommended() {
    let flows = vec![steady(download(0), 12_000_000, 1500, 10), talk(0, 10)];
    judged(flows, "10mbit", &["sjf", "fifo"]).is(
        &["fifo"],
        &["sjf would do less harm, but needs to know how long each flow will be"],
    );
}

#[test]
fn where_nothing_gets_through_no_discipline_is_praised() {
    let flows = vec![steady(download(0), 12_000_000, 1500, 2), talk(0, 2)];
    judged(flows, "10mbit", &["fifo limit 0", "drr limit 0"])
        .is(&["fifo limit 0", "drr limit 0"], &["Nothing gets through"]);
}

#[test]
fn a_game_beside_two_downloads_on_a_slow_link() {
    let downloads = (0..2).map(|number| steady(download(number), 4_000_000, 1500, 10));
    let game = steady(
        Flow {
            protocol: UDP,
            ports: (27_015, 27_005),
            dscp: 0,
            ecn: 0,
            flags: ACK,
        },
        96_000,
        100,
        10,
    );
    judged(downloads.chain([game]).collect(), "5mbit", &OF_LINUX).is(
        &FAIR,
        &[
            "for calls and games (1 flow)",
            "hurts calls and games (1 flow):",
        ],
    );
}

/// The same traffic as `tcpdump -i any` sees it at a router that translates addresses: each packet
/// on the way in and out, and an acknowledgement in the other direction for each tenth packet.
fn at_a_router(flows: Vec<Vec<Packet>>) -> Vec<u8> {
    const SERVER: [u8; 4] = [198, 51, 100, 7];
    const PUBLIC: [u8; 4] = [203, 0, 113, 77];
    const LAN: [u8; 4] = [192, 168, 1, 20];
    let (wan, lan) = ((3, 0, 4), (2, 0, 4));
    let seen = |(number, packet): (usize, &Packet)| {
        let (at, flow, len) = *packet;
        let hop = |(interface, kind): (u32, u8), at, ip: Vec<u8>, len: u32| {
            (at, cooked2(interface, kind, &ip), len + 6)
        };
        let way =
            |number, packet: &Packet, from: [u8; 4], to: [u8; 4]| headers(number, packet, from, to);
        let mut hops = vec![
            hop((wan.0, wan.1), at, way(number, packet, SERVER, PUBLIC), len),
            hop(
                (lan.0, lan.2),
                at + 50_000,
                way(number, packet, SERVER, LAN),
                len,
            ),
        ];
        if number % 10 == 0 {
            let answer = (
                at,
                Flow {
                    ports: (flow.ports.1, flow.ports.0),
                    ..flow
                },
                54,
            );
            hops.push(hop(
                (lan.0, lan.1),
                at + 100_000,
                way(number, &answer, LAN, SERVER),
                54,
            ));
            hops.push(hop(
                (wan.0, wan.2),
                at + 150_000,
                way(number, &answer, PUBLIC, SERVER),
                54,
            ));
        }
        hops
    };
    let packets = in_order(flows);
    let mut frames: Vec<_> = packets.iter().enumerate().flat_map(seen).collect();
    frames.sort_by_key(|(at, ..)| *at);
    capture(276, frames.into_iter())
}

/// The command before the verdict leads to the verdict of the link's own capture.
#[test]
fn at_a_router_the_suggested_command_gives_the_verdict_of_the_link() {
    let traffic = || {
        vec![
            steady(download(0), 12_000_000, 1500, 10),
            talk(0, 10),
            questions(0, 10),
        ]
    };
    let own = judged(traffic(), "10mbit", &OF_LINUX).is(&FAIR, &["fifo hurts"]);
    let bytes = at_a_router(traffic());
    let any = judged_of(bytes.clone(), "10mbit", &OF_LINUX, |_| ());
    let reserve = any.comparison.verdict.reserve.as_ref().expect("a warning");
    assert_eq!(
        reserve.command.as_deref(),
        Some("roundelay compare t.pcap --rate 10mbit --interface 3 --direction in")
    );
    let followed = judged_of(bytes, "10mbit", &OF_LINUX, |options| {
        options.selection.interface = Some("3".into());
        options.selection.direction = Some("in".parse().unwrap());
    });
    assert!(followed.comparison.verdict.reserve.is_none());
    assert_eq!(
        followed.comparison.capture.packets,
        own.comparison.capture.packets
    );
    assert_eq!(followed.best(), own.best());
    let kinds = |judged: &Judged| {
        judged
            .comparison
            .flows
            .iter()
            .map(|flow| flow.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&followed), kinds(&own));
}

/// A mirror port sends each packet twice.
#[test]
fn of_a_mirror_port_the_suggested_command_gives_the_verdict_of_the_link() {
    let packets = in_order(vec![steady(download(0), 8_000_000, 1500, 10), talk(0, 10)]);
    let twice = |(number, packet): (usize, &Packet)| {
        [0, 5000].map(|later| {
            (
                packet.0 + later,
                ethernet(0x0800, &headers(number, packet, A, B)),
                packet.2,
            )
        })
    };
    let bytes = || {
        let mut frames: Vec<_> = packets.iter().enumerate().flat_map(twice).collect();
        frames.sort_by_key(|(at, ..)| *at);
        capture(ETHERNET, frames.into_iter())
    };
    let doubled = judged_of(bytes(), "10mbit", &OF_LINUX, |_| ()).is(&FAIR, &["fifo hurts"]);
    let reserve = doubled
        .comparison
        .verdict
        .reserve
        .as_ref()
        .expect("a warning");
    assert_eq!(
        reserve.command.as_deref(),
        Some("roundelay compare t.pcap --rate 10mbit --mirrored")
    );
    let once = judged_of(bytes(), "10mbit", &OF_LINUX, |options| {
        options.selection.mirrored = true
    });
    assert_eq!(once.comparison.capture.packets, packets.len() as u64);
    once.is(&["fifo"], &["Nothing contends"]);
}

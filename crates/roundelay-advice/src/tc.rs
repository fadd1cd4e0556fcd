//! Linux `tc` commands that set up a discipline.

mod cake;
mod distinctions;
mod early_detection;
mod flower;
mod leaf;
mod numbers;
mod qdisc;
mod remarks;
mod size_table;
mod tree;
mod weights;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Limit, QueueSpec, Rate};
use roundelay_trace::{Comparison, Options};

use distinctions::Distinctions;
pub(crate) use numbers::{FULL_PACKET, Reason};
use qdisc::{HANDLE, ROOT, discipline_at, shaper};
use remarks::{comment, remarks};
use size_table::rate_in_commands;
pub(crate) use size_table::with_size_table;
use tree::commands_of_tree;

/// The commands of each discipline and tree, in the order of the comparison, or why there are none.
pub(crate) fn all_commands(
    comparison: &Comparison,
    options: &Options,
) -> Vec<Result<Vec<String>, Reason>> {
    let distinctions = Distinctions::of(comparison, options);
    let rate = rate_in_commands(options.rate, options.link);
    let mut all = Vec::new();
    for spec in &options.specs {
        let limit = options.limit_of(spec);
        all.push(match &spec.discipline {
            AnyDiscipline::Cake(config) => {
                let (rate, link) = (options.rate, options.link);
                Ok(cake::commands(config, limit, rate, link, &distinctions))
            }
            _ => commands(spec, limit, rate, &distinctions),
        });
    }
    for tree in &options.trees {
        let limit = options.limit_of_tree(tree);
        all.push(commands_of_tree(tree, limit, rate, &distinctions));
    }
    all
}

/// One command per line. `$DEV` is the interface: eth0, unless the environment names another.
///
/// A shaper (htb) at the link's rate makes the queue build up here instead of in the device behind,
/// so that the discipline has packets to order.
///
/// # Errors
/// Linux lacks the discipline or these parameters.
fn commands(
    spec: &QueueSpec,
    limit: Limit,
    rate: Rate,
    distinctions: &Distinctions<'_>,
) -> Result<Vec<String>, Reason> {
    let own = discipline_at(ROOT, HANDLE, spec, limit, Some(rate), distinctions)?;
    let mut lines = shaper(rate).to_vec();
    lines.extend(own);
    for remark in remarks(&spec.discipline, limit, distinctions) {
        lines.push(comment(remark));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use roundelay::schedulers::{Linux, LinuxFlows};
    use roundelay_trace::{CodePoints, FlowBy};

    use super::leaf::leaf;
    use super::*;

    #[test]
    fn disciplines_of_linux_have_commands_and_no_others() {
        for discipline in AnyDiscipline::all() {
            let limit = discipline.default_limit();
            let rate = "10mbit".parse().unwrap();
            let spec = QueueSpec {
                discipline,
                limit: None,
            };
            let commands = commands(&spec, limit, rate, &Distinctions::default());
            let Linux::Qdisc { name, flows, .. } = spec.discipline.info().linux else {
                assert!(
                    commands.is_err_and(|reason| reason.contains(spec.discipline.name())),
                    "{}",
                    spec.discipline
                );
                continue;
            };
            let commands = commands.unwrap();
            let adds = |name: &str| {
                commands
                    .iter()
                    .any(|line| line.contains(&format!(" handle 10: {name}")))
            };
            assert!(adds(name), "{name}: {commands:?}");
            assert_eq!(
                commands
                    .iter()
                    .any(|line| line.contains("tc class add dev $DEV parent 10:")),
                flows == LinuxFlows::Classes,
                "{name}"
            );
        }
    }

    #[test]
    fn bands_have_queues_and_filters_by_precedence() {
        let spec: QueueSpec = "ets strict 1 quanta 3000 1500 priomap 0 0 1 1 limit 50"
            .parse()
            .unwrap();
        let rate = "10mbit".parse().unwrap();
        let limit = spec.limit_or_default();
        let lines = commands(&spec, limit, rate, &Distinctions::default()).unwrap();
        let filter = |values: &str, band: u32| {
            format!(
                "for i in {values}; do tc filter add dev $DEV parent 10: protocol ip prio 1 u32 \
                 match ip dsfield $((i * 32)) 0xe0 flowid 10:{band}; done"
            )
        };
        assert_eq!(
            lines[4..6],
            [
                "tc qdisc add dev $DEV parent 1:1 handle 10: ets bands 3 strict 1 quanta 3000 1500",
                "for i in $(seq 1 3); do tc qdisc add dev $DEV parent 10:$(printf %x $i) pfifo \
                 limit 50; done",
            ]
        );
        let of_ip = [&lines[6], &lines[8], &lines[10]];
        let expected = [filter("7 6", 1), filter("5 4", 2), filter("3 2 1 0", 3)];
        assert_eq!(of_ip, expected.each_ref(), "{lines:?}");
        assert!(
            lines[12].starts_with("# a queue of this length for each class"),
            "{lines:?}"
        );
    }

    fn leaf_of(text: &str) -> Result<String, Reason> {
        let spec: QueueSpec = text.parse().unwrap();
        leaf(&spec, spec.limit_or_default(), None)
    }

    fn check(expectations: &[(&str, &str)]) {
        for (text, expected) in expectations {
            assert_eq!(leaf_of(text).as_deref(), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn values_are_written_as_tc_reads_them() {
        check(&[
            ("fifo", "pfifo limit 1000"),
            ("fifo limit 128000b", "bfifo limit 128000"),
            ("fifo limit 8gb", "bfifo limit 4294967295"),
            (
                "sfq perturb 10s quantum 2kb",
                "sfq quantum 2048 perturb 10 limit 127",
            ),
            ("sfq perturb 1500ms", "sfq perturb 2 limit 127"),
            ("sfq limit 150kb", "sfq limit 101"),
            ("sfq limit 1000", "sfq flows 127 limit 1000"),
            ("sfq limit 1000 depth 200 linux", "sfq flows 127 limit 1000"),
            (
                "sfq limit 1000 depth 50 flows 10",
                "sfq flows 10 depth 50 limit 500",
            ),
            ("sfq limit 20000", "sfq flows 127 limit 16129"),
            (
                "sfq limit 1000 divisor 4",
                "sfq divisor 4 flows 127 limit 508",
            ),
            (
                "fq_codel quantum 300b noecn",
                "fq_codel quantum 300 noecn limit 10240 memory_limit 33554432",
            ),
            (
                "fq_codel target 1500ns limit 1000",
                "fq_codel target 2us limit 1000 memory_limit 33554432",
            ),
            (
                "fq_codel flows 100 limit 1mb",
                "fq_codel flows 100 memory_limit 1048576",
            ),
            ("qfq_plus aggregate 3", "qfq"),
            ("sfq quantum 2kb linux", "sfq quantum 2048 limit 127"),
            (
                "fq_codel quantum 300b linux",
                "fq_codel quantum 300 limit 10240 memory_limit 33554432",
            ),
            (
                "priority",
                "prio bands 8 priomap 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7",
            ),
            (
                "fq_pie target 20ms quantum 300b ecn ecn_prob 20 limit 500",
                "fq_pie target 20000us quantum 300 ecn_prob 20 ecn limit 500 memory_limit 33554432",
            ),
            (
                "fq quantum 1514b maxrate 20mbit nopacing flow_limit 50",
                "fq flow_limit 50 quantum 1514 maxrate 20mbit nopacing limit 10000",
            ),
            (
                "tbf rate 2mbit burst 3kb latency 20ms",
                "tbf rate 2mbit burst 3072 limit 8072",
            ),
            (
                "tbf rate 2mbit limit 50p peakrate 4mbit",
                "tbf rate 2mbit burst 65536 limit 75700 peakrate 4mbit mtu 1514",
            ),
            (
                "ets bands 4 strict 1 quanta 3kb 1500",
                "ets bands 4 strict 1 quanta 3072 1500 1514",
            ),
            (
                "prio bands 3 priomap 2 1 0 0 0 0 0 1",
                "ets bands 3 strict 3 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            ),
        ]);
    }

    #[test]
    fn codel_counts_packets_and_microseconds() {
        check(&[
            ("codel", "codel limit 1000"),
            (
                "codel target 1500ns interval 30ms ecn ce_threshold 0s",
                "codel target 2us interval 30000us ecn ce_threshold 0us limit 1000",
            ),
            ("codel limit 150kb", "codel limit 101"),
            ("codel limit 200 memory_limit 150kb", "codel limit 101"),
            ("codel limit 0", "codel limit 1"),
            ("codel limit 18446744073709551615", "codel limit 4294967295"),
        ]);
    }

    #[test]
    fn pie_has_no_burst() {
        check(&[
            ("pie", "pie limit 1000"),
            (
                "pie target 20ms tupdate 1500ns alpha 1 beta 32 ecn bytemode dq_rate_estimator \
                limit 150kb",
                "pie target 20000us tupdate 2us alpha 1 beta 32 ecn bytemode dq_rate_estimator \
                limit 101",
            ),
            ("pie burst 150ms", "pie limit 1000"),
        ]);
        let lines = own_commands("pie limit 100kb", Distinctions::default());
        assert_eq!(
            lines[1..],
            ["# the buffer is counted in packets there: one for 1514 bytes"]
        );
    }

    /// `tc` treats 2^32 microseconds as zero, which would mark every packet; 2^32 - 1 means never.
    #[test]
    fn fq_pie_takes_no_zeros() {
        assert!(leaf_of("fq_pie").is_ok());
        for text in ["fq_pie alpha 0", "fq_pie beta 0"] {
            assert!(leaf_of(text).unwrap_err().contains("takes zeros"), "{text}");
        }
    }

    #[test]
    fn a_threshold_of_hours_does_not_become_one_of_nothing() {
        check(&[
            (
                "codel ce_threshold 7200s",
                "codel ce_threshold 4294967295us limit 1000",
            ),
            (
                "fq_codel ce_threshold 7200s",
                "fq_codel ce_threshold 4294967295us limit 10240 memory_limit 33554432",
            ),
        ]);
    }

    #[test]
    fn red_is_told_all_that_follows_from_its_parameters() {
        let default = "min 30000 max 90000 avpkt 1000 burst 50 bandwidth 10mbit probability 0.02";
        check(&[
            ("red", &format!("red limit 360000 {default}")),
            ("red limit 100p", &format!("red limit 100000 {default}")),
            ("red limit 100000", &format!("red limit 100000 {default}")),
            (
                "red limit 100p memory_limit 90000b",
                &format!("red limit 90000 {default}"),
            ),
            ("red limit 0", &format!("red limit 1 {default}")),
            (
                "red ecn adaptive",
                &format!("red limit 360000 {default} ecn adaptive"),
            ),
            (
                "red ecn harddrop nodrop",
                &format!("red limit 360000 {default} ecn harddrop nodrop"),
            ),
            ("red harddrop", &format!("red limit 360000 {default}")),
            (
                "red max 300kb avpkt 1500b bandwidth 10tbit probability 1",
                "red limit 360000 min 102400 max 307200 avpkt 1500 burst 113 bandwidth \
                34359738360bit probability 0.999999999",
            ),
        ]);
    }

    #[test]
    fn choke_counts_packets() {
        check(&[
            (
                "choke",
                "choke limit 1000 min 83 max 250 avpkt 1000 burst 138 bandwidth 10mbit \
                probability 0.02",
            ),
            (
                "choke min 10 max 30 avpkt 1500b bandwidth 1gbit probability 0.1 ecn limit 1mb",
                "choke limit 692 min 10 max 30 avpkt 1500 burst 16 bandwidth 1gbit probability \
                0.1 ecn",
            ),
            (
                "choke limit 1000000000",
                "choke limit 131071 min 83 max 250 avpkt 1000 burst 138 bandwidth 10mbit \
                probability 0.02",
            ),
        ]);
    }

    #[test]
    fn the_bandwidth_of_early_detection_is_the_links() {
        for (text, expected) in [
            ("red", "5mbit"),
            ("choke", "5mbit"),
            ("red bandwidth link", "5mbit"),
            ("red bandwidth 1gbit", "1gbit"),
        ] {
            let lines = own_commands(text, Distinctions::default());
            assert!(
                lines[0].contains(&format!(" bandwidth {expected} ")),
                "{text}: {lines:?}"
            );
        }
    }

    /// `tc` wants a burst that fills the queue at least to `min`; here a smaller burst gives the
    /// largest weight.
    #[test]
    fn a_burst_becomes_one_of_the_same_weight() {
        let burst = |text| {
            leaf_of(text).map(|words| {
                words
                    .split(' ')
                    .skip_while(|word| *word != "burst")
                    .nth(1)
                    .unwrap()
                    .to_owned()
            })
        };
        assert_eq!(burst("red burst 10").as_deref(), Ok("30"));
        assert_eq!(
            burst("red burst 184").as_deref(),
            Ok("182"),
            "tc would round to a smaller weight"
        );
        assert_eq!(burst("red burst 100").as_deref(), Ok("100"));
        assert!(
            burst("red min 800b max 90000b").is_err(),
            "tc finds no weight for less than a packet"
        );
    }

    #[test]
    fn sfb_has_whole_milliseconds_and_steps() {
        let most = "rehash 600000 db 60000 limit 1000 max 25 target 20";
        check(&[
            (
                "sfb",
                &format!(
                    "sfb {most} increment 0.0005 decrement 0.00005 penalty_rate 10 penalty_burst 20"
                ),
            ),
            (
                "sfb increment 0 decrement 0.000001 penalty_rate 0",
                &format!(
                    "sfb {most} increment 0 decrement 0.00001526 penalty_rate 0 penalty_burst 20"
                ),
            ),
            (
                "sfb rehash 1500us db 0 max 24 limit 150kb",
                "sfb rehash 2 db 0 limit 101 max 24 target 19 increment 0.0005 decrement 0.00005 \
                penalty_rate 10 penalty_burst 20",
            ),
        ]);
    }

    #[test]
    fn what_linux_does_not_take_has_no_commands() {
        let linux_has = "Linux has no";
        for (text, reason) in [
            ("wf2q_plus", "Linux has no wf2q_plus"),
            ("lifo", linux_has),
            ("packet_fq", linux_has),
            (
                "fq low_rate_threshold unlimited",
                "tc's fq has no unlimited low_rate_threshold",
            ),
            ("pie burst 100ms", leaf::NO_PIE),
            ("pie alpha 0", leaf::NO_PIE),
            ("pie beta 0", leaf::NO_PIE),
            ("pie target 4300ms", leaf::NO_PIE),
            ("red gentle", "tc has no `gentle`"),
            ("red probability 0", "the probability rounds to 0 in tc"),
            (
                "red max 4gb",
                "the kernel's 32 bits for the average do not hold max",
            ),
            (
                "red min 800b max 90000b",
                "tc derives no weight of the average",
            ),
            (
                "choke limit 100",
                "Linux's choke needs a buffer of max packets, 250,",
            ),
            (
                "choke max 200000 limit 300000",
                "the kernel's 32 bits for the average do not hold max",
            ),
            (
                "sfq limit 2 depth 1 flows 1",
                "Linux's sfq needs room for two packets",
            ),
            (
                "sfb levels 2 bins 23",
                "Linux's sfb has 8 levels of 16 bins",
            ),
            ("sfb bins 32", "Linux's sfb has"),
        ] {
            let spec: QueueSpec = text.parse().unwrap();
            let found = commands(
                &spec,
                spec.limit_or_default(),
                "5mbit".parse().unwrap(),
                &Distinctions::default(),
            );
            assert!(
                found.as_ref().is_err_and(|found| found.contains(reason)),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn the_remark_on_classes_names_the_flows_that_share_one() {
        let remark = |flow_by, flows| {
            own_commands(
                "drr",
                Distinctions {
                    flow_by,
                    flows,
                    ..Distinctions::default()
                },
            )
            .pop()
            .unwrap()
        };
        assert!(
            remark(FlowBy::FiveTuple, 64)
                .starts_with("# flows are hashed into 64 classes, with a queue each")
        );
        let many = "# 6000 flows are hashed into 64 classes: about 94 flows share the part of \
            one, with a queue each";
        assert!(
            remark(FlowBy::FiveTuple, 6000).starts_with(many),
            "{}",
            remark(FlowBy::FiveTuple, 6000)
        );
        assert!(remark(FlowBy::Dscp, 64).starts_with("# each class has a queue of its own"));
    }

    #[test]
    fn a_quantum_that_starves_flows_without_a_rule_is_named() {
        let weighted = Distinctions {
            weighted: true,
            ..Distinctions::default()
        };
        let starves = |text, distinctions| {
            own_commands(text, distinctions)
                .iter()
                .any(|line| line.contains("have a quantum of 1 byte:"))
        };
        assert!(starves("drr quantum 1", weighted));
        assert!(!starves("drr quantum 1", Distinctions::default()));
        assert!(!starves("drr", weighted));
    }

    #[test]
    fn a_quantum_that_linux_does_not_take_is_named() {
        let is_named = |text| {
            own_commands(text, Distinctions::default())
                .iter()
                .any(|line| line.contains("below 256 bytes for 256"))
        };
        assert!(is_named("drr quantum 255"));
        assert!(!is_named("drr quantum 256"));
        assert!(is_named("ets bands 3 strict 1 quanta 1500 100"));
        assert!(!is_named("ets bands 3 strict 1 quanta 1500 300"));
        assert!(!is_named("ets bands 3 strict 3"));
    }

    /// The commands after the root qdisc, the shaper and its class.
    fn own_commands(text: &str, distinctions: Distinctions<'_>) -> Vec<String> {
        let spec: QueueSpec = text.parse().unwrap();
        let lines = commands(
            &spec,
            spec.limit_or_default(),
            "5mbit".parse().unwrap(),
            &distinctions,
        )
        .unwrap();
        lines[4..].to_vec()
    }

    #[test]
    fn qfq_plus_is_linuxs_qfq_with_its_aggregates_by_the_devices_queue() {
        let plain = Distinctions::default();
        let older = own_commands("qfq", plain);
        let newer = own_commands("qfq_plus linux", plain);
        assert_eq!(older[..newer.len()], newer);
        assert_eq!(
            older[newer.len()..],
            ["# Linux's qfq is QFQ+ (since 3.8), which serves up to 8 classes in one turn"]
        );
        for (aggregate, queue) in [(1, 0), (2, 1), (3, 2), (4, 3), (7, 6)] {
            let lines = own_commands(&format!("qfq_plus aggregate {aggregate} linux"), plain);
            assert!(
                lines[0].starts_with(&format!("ip link set dev $DEV txqueuelen {queue} # ")),
                "{lines:?}"
            );
            assert_eq!(lines[1], newer[0]);
            assert!(
                lines[2].starts_with("ip link set dev $DEV txqueuelen 1000 # "),
                "before there are classes: {lines:?}"
            );
            assert_eq!(lines[3..=newer.len() + 1], newer[1..]);
        }
        let remark = |text| own_commands(text, plain).pop().unwrap();
        let other = |most, here| {
            format!(
                "# Linux's qfq serves up to {most} classes in one turn, where the comparison had \
                {here}"
            )
        };
        assert_eq!(remark("qfq_plus aggregate 64"), other(8, 64));
        assert_eq!(remark("qfq_plus aggregate 3"), other(2, 3));
        assert!(remark("qfq_plus aggregate 1").contains("a device without a transmit queue"));
    }

    #[test]
    fn priority_is_a_band_for_each_class_of_code_points() {
        let filter = |protocol, priority, field| {
            format!(
                "for i in $(seq 0 7); do tc filter add dev $DEV parent 10: protocol {protocol} \
                prio {priority} u32 match {field} \
                 $((i * 32)) 0xe0 flowid 10:$((8 - i)); done"
            )
        };
        let lines = own_commands(
            "priority limit 100kb",
            Distinctions {
                prioritised: true,
                ..Distinctions::default()
            },
        );
        assert_eq!(
            lines,
            [
                "tc qdisc add dev $DEV parent 1:1 handle 10: prio bands 8 priomap 7 7 7 7 7 7 7 \
                7 7 7 7 7 7 7 7 7"
                    .to_owned(),
                "for i in $(seq 1 8); do tc qdisc add dev $DEV parent 10:$i bfifo limit 102400; \
                done"
                    .to_owned(),
                filter("ip", 1, "ip dsfield"),
                filter("ipv6", 2, "ip6 priority"),
                "# a queue of this length for each class, where classes shared one buffer in the \
                comparison"
                    .to_owned(),
                "# classes are by code point here: packets with another priority by a rule need \
                filters"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn remarks_tell_what_is_otherwise_there() {
        let by_source = Distinctions {
            flow_by: FlowBy::Source,
            weighted: true,
            prioritised: true,
            ..Distinctions::default()
        };
        for (text, remarks) in [
            ("fifo", &[][..]),
            ("fifo limit 10kb", &[]),
            (
                "fifo memory_limit 10kb limit 5",
                &[
                    "# the limit of 5 packets is lost: a fifo counts packets or bytes there, not \
                    both",
                ],
            ),
            (
                "red limit 100p",
                &["# the buffer is counted in bytes there: a packet for 1000 of them"],
            ),
            ("red ecn nodrop", &[]),
            (
                "codel linux limit 100kb",
                &["# the buffer is counted in packets there: one for 1514 bytes"],
            ),
            (
                "sfq limit 1 linux",
                &[
                    "# flows are told apart by addresses, protocol and ports there, not as in \
                    the comparison",
                    "# the limit is 2 packets there, the smallest of sfq",
                ],
            ),
            (
                "sfq",
                &[
                    "# simulated as in the paper. Linux differs in details, so run 'sfq linux' \
                    before you deploy",
                    "# flows are told apart by addresses, protocol and ports there, not as in \
                    the comparison",
                ],
            ),
            (
                "sfq depth 200 limit 1000",
                &[
                    "# simulated as in the paper. Linux differs in details, so run 'sfq linux' \
                    before you deploy",
                    "# flows are told apart by addresses, protocol and ports there, not as in \
                    the comparison",
                    "# a bucket holds 127 packets at most there, where one held up to 200 in the \
                    comparison",
                ],
            ),
            (
                "sfb",
                &[
                    "# flows are told apart by addresses, protocol and ports there, not as in \
                    the comparison",
                ],
            ),
        ] {
            assert_eq!(own_commands(text, by_source)[1..], *remarks, "{text}");
        }
        assert_eq!(own_commands("sfb", Distinctions::default()).len(), 1);
        let of_bands = own_commands(
            "priority limit 7 memory_limit 10kb",
            Distinctions::default(),
        )
        .pop();
        assert_eq!(
            of_bands.as_deref(),
            Some(
                "# the limit of 7 packets is lost: a fifo counts packets or bytes there, not both"
            )
        );
    }

    #[test]
    fn classes_of_code_points_have_their_weights_and_others_are_said_to_have_lost_them() {
        let mut code_points = CodePoints {
            default: 2,
            weights: [2; 64],
        };
        (code_points.weights[0], code_points.weights[46]) = (1, 20);
        let by = |flow_by| Distinctions {
            flow_by,
            weighted: true,
            code_points,
            ..Distinctions::default()
        };
        for (text, all, lighter, heavier) in [
            (
                "drr quantum 1500b",
                "drr quantum 3000",
                "drr quantum 1500",
                "drr quantum 30000",
            ),
            (
                "qfq",
                "qfq weight 2 maxpkt 1514",
                "qfq weight 1 maxpkt 1514",
                "qfq weight 20 maxpkt 1514",
            ),
        ] {
            let lines = own_commands(text, by(FlowBy::Dscp));
            assert!(lines[1].ends_with(&format!("{all}; done")), "{lines:?}");
            let change = "tc class change dev $DEV parent 10: classid 10";
            assert_eq!(
                lines[2..4],
                [
                    format!("{change}:1 {lighter} # code point 0"),
                    format!("{change}:2f {heavier} # code point 46")
                ]
            );
            assert!(
                lines
                    .iter()
                    .filter(|line| line.contains("tc filter"))
                    .count()
                    == 3
                    && !lines.concat().contains("weights are lost")
            );
            let hashed = own_commands(text, by(FlowBy::FiveTuple));
            assert!(
                !hashed.concat().contains("class change")
                    && hashed.concat().contains("16 classes of its weight"),
                "{hashed:?}"
            );
            let rules = [
                "udp = 1000".parse().unwrap(),
                "tcp = 1024".parse().unwrap(),
                "dst port 5 = 1024".parse().unwrap(),
            ];
            let many = [&rules[..], &rules].concat();
            let lines = own_commands(
                text,
                Distinctions {
                    rules: &many,
                    ..by(FlowBy::FiveTuple)
                },
            )
            .concat();
            assert_eq!(
                lines.contains("# the weights are lost: with theirs the sum is"),
                text == "qfq",
                "{lines}"
            );
            let lines = own_commands(
                text,
                Distinctions {
                    rules: &rules[..1],
                    ..by(FlowBy::FiveTuple)
                },
            )
            .concat();
            assert!(
                lines.contains("flower ip_proto udp action goto chain 1")
                    && lines.contains("prio 65000 handle 1 flow hash"),
                "{lines}"
            );
        }
    }
}

//! Notes, verdicts and reasons on captures written from samples.

use std::path::Path;

use crate::common::samples::{self, *};
use roundelay::author::ByCopy;
use roundelay::schedulers::{AnyDiscipline, custom, lifo};
use roundelay::{Limit, QueueSpec};
use roundelay_report::{Advised, TableStyle, document, html, table};
use roundelay_trace::arguments::DEPLOYED;
use roundelay_trace::{Capture, CompareError, Options, TreeFile, WeightRules};

use crate::told::{Told, compare};

/// Compares, and checks the invariants of every comparison.
fn run(samples: &[Sample], options: &Options) -> Told {
    Told::new(samples::run(samples, options), options)
}

#[test]
fn disciplines_do_not_see_each_other() {
    let samples = random_samples(&mut Random(3));
    let forward = options("1mbit", all_specs());
    let mut backward = forward.clone();
    backward.specs.reverse();
    let (forward, backward) = (run(&samples, &forward), run(&samples, &backward));
    for (one, other) in forward
        .disciplines
        .iter()
        .zip(backward.disciplines.iter().rev())
    {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
    let best = |comparison: &Told| {
        comparison.disciplines[comparison.verdict.best.unwrap()]
            .spec
            .clone()
    };
    assert_eq!(best(&forward), best(&backward));
}

#[test]
fn fair_disciplines_spare_the_small_flow() {
    let greedy = |flow| steady(0, 2 * MILLISECOND, 2000, flow, 1500);
    let samples = merged([
        greedy(0),
        greedy(1),
        steady(3 * MILLISECOND, 20 * MILLISECOND, 200, 2, 200),
    ]);
    let comparison = run(
        &samples,
        &Options {
            buffer: Some(Limit::of_packets(500)),
            ..options("6mbit", all_specs())
        },
    );
    let p99 = |spec: &str| flow_of(&comparison, spec, 2).outcome.delay.unwrap().p99;
    assert!(p99("fifo") > 0.3, "fifo: {}", p99("fifo"));
    for spec in ["drr", "sfq", "wf2q_plus", "qfq", "fq_codel"] {
        // A few packets of 2 ms each.
        assert!(p99(spec) < 0.012, "{spec}: {}", p99(spec));
        assert_eq!(
            flow_of(&comparison, spec, 2).outcome.drops.total(),
            0,
            "{spec}"
        );
    }
    assert_ne!(
        comparison.disciplines[comparison.verdict.best.unwrap()].name,
        "fifo"
    );
    let light: Vec<_> = comparison.flows.iter().filter(|flow| flow.light).collect();
    assert!(
        light.len() == 1 && light[0].label.ends_with(":1002"),
        "{light:?}"
    );
}

/// The verdict's sentences for samples on a link of 8 Mbit/s, where a packet of 1000 bytes takes a
/// millisecond.
fn verdict_of(samples: &[Sample], texts: &[&str]) -> String {
    run(samples, &options("8mbit", specs(texts)))
        .verdict
        .sentences
        .join(" ")
}

/// Two greedy flows with three times the link's rate, and a small flow.
fn overload() -> Vec<Sample> {
    let greedy = |flow| steady(0, 666_000, 3000, flow, 1000);
    merged([
        greedy(0),
        greedy(1),
        steady(3 * MILLISECOND, 20 * MILLISECOND, 100, 2, 200),
    ])
}

#[test]
fn an_overloaded_link_is_contended_even_if_all_disciplines_are_fair() {
    let text = verdict_of(&overload(), &["drr", "qfq"]);
    assert!(
        !text.contains("Nothing contends") && text.contains("because its buffer is full"),
        "{text}"
    );
}

#[test]
fn a_lone_packet_is_no_contention_however_slow_the_link() {
    let comparison = run(&[sample(0, 0, 1500)], &options("1kbit", all_specs()));
    assert!(
        comparison.verdict.sentences[0].starts_with("Nothing contends"),
        "{:?}",
        comparison.verdict.sentences
    );
}

/// Regression: the verdict was random, because of its small memory.
#[test]
fn where_nothing_matters_a_fifo_will_do() {
    let with = |rate: &str, buffer| {
        let comparison = run(
            &overload(),
            &Options {
                buffer,
                ..options(rate, all_specs())
            },
        );
        assert_eq!(
            comparison.disciplines[comparison.verdict.best.unwrap()].name,
            "fifo"
        );
        comparison.verdict.sentences.join(" ")
    };
    assert_eq!(
        with("10tbit", None),
        "Nothing contends for this link: fifo will do, so leave the queue there as it is."
    );
    let text = with("8mbit", Some(Limit::of_packets(0)));
    assert!(
        text.starts_with("Nothing gets through, whichever discipline it is."),
        "{text}"
    );
    assert_eq!(
        verdict_of(
            &steady(0, 9_000_000, 20, 0, 1000),
            &["random", "wfq", "mqfq"]
        )
        .split(':')
        .nth(1)
        .unwrap()
        .split(' ')
        .nth(1),
        Some("wfq")
    );
}

/// Six times the link's rate: all disciplines lose most of the packets, with different delays for
/// the rest.
#[test]
fn losses_that_must_be_do_not_hide_delay() {
    let greedy = |flow| steady(0, 333_000, 6000, flow, 1000);
    let text = verdict_of(&merged([greedy(0), greedy(1)]), &["fifo", "sfq"]);
    assert!(
        text.starts_with("sfq divides the link best: each flow asks for more than its fair share"),
        "{text}"
    );
}

#[test]
fn what_is_served_alike_is_said_to_be() {
    let text = verdict_of(&steady(0, 666_000, 3000, 0, 1000), &["drr", "qfq"]);
    assert!(text.contains("serve this traffic about equally"), "{text}");
}

#[test]
fn a_light_flow_that_gets_nothing_through_is_not_forgotten() {
    let text = verdict_of(&overload(), &["fifo limit 0"]);
    assert!(text.contains("only bulk flows get any packet"), "{text}");
    let text = verdict_of(&overload(), &["fifo limit 0", "qfq"]);
    assert!(text.starts_with("qfq serves this traffic best"), "{text}");
}

#[test]
fn buffers_that_differ_are_named_where_they_decide() {
    let named = |texts: &[&str]| verdict_of(&overload(), texts).contains("had different buffers");
    assert!(named(&["drr limit 10", "qfq limit 1000"]));
    assert!(!named(&["drr limit 10", "qfq limit 10"]));
}

#[test]
fn weights_without_effect_are_noted() {
    let rules = weights(&[
        "dst port 9 = 10",
        "dst port 1000 = 3",
        "dst portrange 1000-1001 = 2",
    ]);
    let notes = |texts: &[&str]| {
        run(
            &overload(),
            &Options {
                weights: rules.clone(),
                ..options("8mbit", specs(texts))
            },
        )
        .notes
    };
    let of_qfq = notes(&["qfq"]);
    assert!(
        of_qfq.contains(&"Weight rule 1 of 3 matches no flow of this capture.".to_owned()),
        "{of_qfq:?}"
    );
    assert!(
        !of_qfq.iter().any(|note| note.contains("rule 2")
            || note.contains("rule 3")
            || note.contains("ignore weights")),
        "{of_qfq:?}"
    );
    assert!(
        notes(&["qfq", "fifo", "sfq"])
            .contains(&"These disciplines ignore weights: fifo, sfq.".to_owned())
    );
}

#[test]
fn an_absurd_load_is_noted() {
    let notes = |rate| run(&overload(), &options(rate, specs(&["fifo"]))).notes;
    let asked = |notes: Vec<String>| {
        notes
            .iter()
            .any(|note| note.ends_with("times the link's rate: is --rate 1kbit meant?"))
    };
    assert!(asked(notes("1kbit")));
    assert!(!notes("8mbit").iter().any(|note| note.contains("--rate")));
}

#[test]
fn time_that_runs_backwards_is_noted_and_does_no_harm() {
    let samples = [
        sample(5 * SECOND, 0, 1000),
        sample(SECOND, 1, 1000),
        sample(2 * SECOND, 0, 1000),
        sample(0, 1, 1000),
    ];
    let comparison = run(&samples, &options("1mbit", all_specs()));
    assert_eq!(comparison.capture.seconds, 1.0);
    assert!(
        comparison
            .notes
            .iter()
            .any(|note| note.starts_with("2 packets have an earlier time than the packet before"))
    );
}

#[test]
fn years_of_silence_are_cut_and_noted() {
    let samples = [
        sample(0, 0, 1000),
        sample(4_000_000_000 * SECOND, 0, 1000),
        sample(4_000_000_001 * SECOND, 1, 1000),
    ];
    let comparison = run(&samples, &options("1mbit", all_specs()));
    assert_eq!(comparison.capture.seconds, 4_000_000_001.0);
    assert!(
        comparison
            .notes
            .iter()
            .any(|note| note.starts_with("1 silence of more than an hour was")),
        "{:?}",
        comparison.notes
    );
}

#[test]
fn small_captures_give_sound_results() {
    let one = run(&[sample(SECOND, 0, 100)], &options("1mbit", all_specs()));
    assert_eq!((one.capture.packets, one.capture.seconds), (1, 0.0));
    assert!(
        one.verdict.sentences[0].starts_with("Nothing contends"),
        "{:?}",
        one.verdict
    );
    let instant = run(
        &merged((0..9).map(|flow| steady(SECOND, 0, 50, flow, 500))),
        &options("1mbit", all_specs()),
    );
    assert_eq!(
        (instant.capture.packets, instant.capture.seconds),
        (450, 0.0)
    );
    let error = try_run(nanosecond_pcap(), &options("1mbit", all_specs())).unwrap_err();
    assert!(matches!(&error, CompareError::NoPackets { .. }), "{error}");
    assert_eq!(error.to_string(), "t.pcap: the capture holds no packets");
}

#[test]
fn lengths_from_nothing_to_four_gigabytes() {
    let lengths = [
        0,
        1,
        41,
        42,
        1514,
        1522,
        1523,
        65_535,
        65_536,
        65_537,
        1 << 20,
        u32::MAX,
    ];
    let samples: Vec<_> = (0..5)
        .flat_map(|turn| lengths.map(|len| sample(turn * MILLISECOND, (turn % 3) as u16, len)))
        .collect();
    let comparison = run(&samples, &options("10mbit", all_specs()));
    let note = |text: &str| {
        assert!(
            comparison.notes.iter().any(|note| note.contains(text)),
            "{:?}",
            comparison.notes
        )
    };
    note("15 packets are longer than 64 KB");
    note("30 packets are longer than 1500 bytes");
    // The packets of 0 and 1 bytes; 41 captured bytes still include the ports.
    note("10 packets whose headers could not be read");
    let only_nothing = run(
        &steady(0, MILLISECOND, 10, 0, 0),
        &options("1mbit", all_specs()),
    );
    assert_eq!(only_nothing.capture.bytes, 0);
    assert!(
        only_nothing
            .disciplines
            .iter()
            .all(|discipline| discipline.total.packets == 10)
    );
}

#[test]
fn flows_beyond_the_limit_share_one() {
    let samples: Vec<_> = (0..2000)
        .map(|number| sample(number * MILLISECOND, (number % 50) as u16, 500))
        .collect();
    let comparison = run(
        &samples,
        &Options {
            max_flows: Some(10),
            ..options("1mbit", all_specs())
        },
    );
    assert_eq!(comparison.flows.len(), 11);
    assert_eq!(
        (
            comparison.flows[10].label.as_str(),
            comparison.flows[10].packets
        ),
        ("other flows", 1600)
    );
    let note = "1600 packets belong to flows beyond the first 10 flows. ";
    assert!(
        comparison.notes.iter().any(|line| line.starts_with(note)),
        "{:?}",
        comparison.notes
    );
}

#[test]
fn the_example_shows_what_fair_queues_do() {
    let comparison = compare(
        example(),
        &options("5mbit", specs(&["fifo", "qfq", "wf2q_plus"])),
        &mut (),
    )
    .unwrap();
    assert_sound(&comparison);
    assert_ne!(
        comparison.disciplines[comparison.verdict.best.unwrap()].name,
        "fifo",
        "{:?}",
        comparison.verdict
    );
    let is_voice = |label: &str| label.starts_with("udp 192.0.2.60:") && label.ends_with(":40000");
    let voice = comparison
        .flows
        .iter()
        .position(|flow| is_voice(&flow.label))
        .unwrap();
    assert!(comparison.flows[voice].light);
    let p99 = |spec: &str| {
        by_spec(&comparison, spec).flows[voice]
            .outcome
            .delay
            .unwrap()
            .p99
    };
    assert!(p99("fifo") > 1.0, "{}", p99("fifo"));
    assert!(p99("qfq") < 0.03, "{}", p99("qfq"));
    assert!(p99("wf2q_plus") < 0.01, "{}", p99("wf2q_plus"));
}

/// Rules that give every web server of the example each field used by some discipline.
const WEB_FIRST: &str = "[[weight]]\nmatch = \"src port 443\"\nweight = 10\npriority = 0\nslack = \"20ms\"\ndeadline = \"50ms\"\n";

/// Under `priority`, four of 54 light flows, with most of the light packets, were starved; a mean
/// over flows hardly shows this.
#[test]
fn who_locks_light_flows_out_is_not_best() {
    let mut options = options("5mbit", specs(&["edf", "lstf", "priority"]));
    options.weights = WeightRules::from_toml("w.toml", WEB_FIRST).unwrap();
    let comparison = compare(example(), &options, &mut ()).unwrap();
    assert_sound(&comparison);
    let light = |spec| {
        (
            by_spec(&comparison, spec).light_p99.unwrap(),
            by_spec(&comparison, spec).light.loss,
        )
    };
    assert!(
        light("priority").0 < light("lstf").0
            && light("priority").1 > 0.5
            && light("lstf").1 == 0.0
    );
    assert_eq!(
        comparison.disciplines[comparison.verdict.best.unwrap()].name,
        "lstf",
        "{:?}",
        comparison.verdict.sentences
    );
    let text = comparison.verdict.sentences.join(" ");
    assert!(
        text.contains("; none of these is lost. ")
            && text.contains("priority delays light flows less than lstf (493 ms against "),
        "{text}"
    );
    assert!(
        text.contains(
            "but loses 55.7% of the packets of calls and games, and no call sends a packet again."
        ),
        "{text}"
    );
}

/// The answer to the example's question: which queue for this link, and the one line for it.
#[test]
fn by_default_the_example_gets_cake_in_one_line() {
    let specs = DEPLOYED.map(|text| text.parse().expect("legal"));
    let mut asked = options("5mbit", specs.to_vec());
    for measures in [false, true] {
        asked.measure_cost = measures;
        let comparison = compare(example(), &asked, &mut ()).unwrap();
        let best = &comparison.disciplines[comparison.verdict.best.unwrap()];
        assert_eq!(best.spec, "cake besteffort");
        assert_eq!(best.limit, "4mb", "that of cake at 5 Mbit/s");
        let commands = comparison.verdict.commands.join("\n");
        assert!(
            commands.ends_with("handle 10: cake bandwidth 5mbit besteffort"),
            "{commands}"
        );
        let text = comparison.verdict.sentences.join(" ");
        assert_eq!(
            text.contains("ns a packet on this machine and"),
            measures,
            "{text}"
        );
        assert!(
            text.contains(
                "About as good: fq_codel linux, fq_pie; but 99% of all packets get through in \
                 113 ms with cake besteffort and in 244 ms with fq_codel linux."
            ),
            "{text}"
        );
    }
}

/// A rate above the link's, an overhead in two places, drops that count where nobody slows down.
#[test]
fn what_cake_does_otherwise_than_its_words_look_is_told() {
    let notes = |spec: &str, has_link: bool| {
        let mut asked = options("5mbit", vec![spec.parse().expect("legal")]);
        if has_link {
            asked.link = "pppoe-llcsnap".parse().expect("a keyword");
        }
        compare(example(), &asked, &mut ())
            .unwrap()
            .notes
            .join("\n")
    };
    let told = notes("cake bandwidth 50mbit ingress overhead 44", true);
    for note in [
        "does not shape here, because its 50mbit is above the link's 5mbit",
        "adds an overhead to lengths that have the link's already",
        "counts dropped packets as sent",
    ] {
        assert!(told.contains(note), "{told}");
    }
    let plain = notes("cake bandwidth 5mbit overhead 44", false) + &notes("cake", true);
    for word in ["shape", "overhead to", "as sent"] {
        assert!(!plain.contains(word), "{plain}");
    }
}

/// The same in a tree, once for leaves that are alike.
#[test]
fn what_a_trees_cake_does_otherwise_is_told() {
    let tree = "[[node]]\nname = \"1:\"\ndiscipline = \"priority\"\n\
                [[node]]\nname = \"a\"\nparent = \"1:\"\ndiscipline = \"cake ingress\"\n\
                flows = [\"udp\"]\n\
                [[node]]\nname = \"b\"\nparent = \"1:\"\ndiscipline = \"cake ingress\"\n\
                default = true\n";
    let asked = Options {
        trees: vec![TreeFile::from_toml("sqm.toml", tree).expect("legal")],
        ..options("5mbit", Vec::new())
    };
    let told = compare(example(), &asked, &mut ())
        .unwrap()
        .notes
        .join("\n");
    let note = "cake ingress in sqm counts dropped packets as sent";
    assert_eq!(told.matches(note).count(), 1, "{told}");
}

/// A shaper beside a discipline that has the whole link loses for that alone, so none is named the
/// best. Where it is best all the same, a note tells it.
#[test]
fn a_shaper_below_the_link_is_told_with_the_fair_rate() {
    let told = |rate: &str, written: [&str; 2]| {
        let written = written.map(|text| text.parse().expect("legal"));
        let told = compare(example(), &options(rate, written.to_vec()), &mut ()).unwrap();
        (told.verdict, told.notes.join("\n"))
    };
    let shaped = "These shape to less than the others carry: cake bandwidth 4mbit.";
    let remedy = "With --rate 4mbit all carry the same.";
    let (verdict, notes) = told("100mbit", ["fifo", "cake bandwidth 4mbit"]);
    assert_eq!(verdict.best, None);
    assert!(verdict.commands.is_empty());
    let first = &verdict.sentences[0];
    assert!(first.starts_with("No queue is named the best"), "{first}");
    assert!(first.contains(shaped) && first.contains(remedy), "{first}");
    assert!(!notes.contains(shaped), "said once: {notes}");
    let (verdict, notes) = told("5mbit", ["fifo", "cake bandwidth 4mbit"]);
    assert_eq!(verdict.best, Some(1));
    assert!(notes.contains(shaped) && notes.contains(remedy), "{notes}");
    // The best one is a shaper itself, and carries more than another one.
    let shapers = ["cake bandwidth 4400kbit", "cake bandwidth 2mbit"];
    let (verdict, _) = told("5mbit", shapers);
    assert_eq!(verdict.best, None);
    let (verdict, notes) = told("5mbit", ["fifo", "cake bandwidth 4500kbit"]);
    assert_eq!(verdict.best, Some(1), "within a tenth");
    assert!(!notes.contains("shape to less"), "{notes}");
}

/// What has no rate of its own runs at the link's: a target of 1.5 packets' time at 1 Mbit/s.
#[test]
fn a_cake_without_bandwidth_is_that_of_the_link() {
    let written = ["cake", "cake bandwidth 1mbit"].map(|text| text.parse().expect("legal"));
    let samples = random_samples(&mut Random(9));
    let comparison = run(&samples, &options("1mbit", written.to_vec()));
    let [one, other] = &comparison.disciplines[..] else {
        panic!("two disciplines");
    };
    assert_eq!(format!("{:?}", one.total), format!("{:?}", other.total));
    assert_eq!(one.limit, other.limit);
    assert_ne!(one.spec, other.spec, "named as written");
}

/// sjf knew every flow's length.
#[test]
fn who_needs_what_no_port_knows_is_not_best() {
    let comparison = compare(example(), &options("5mbit", all_specs()), &mut ()).unwrap();
    let text = comparison.verdict.sentences.join(" ");
    assert_eq!(
        comparison.disciplines[comparison.verdict.best.unwrap()].name,
        "cake",
        "{text}"
    );
    let sjf = "sjf delays light flows less than cake (43.0 ms against 84.4 ms), but needs to know how long each flow will be, which no port does.";
    assert!(
        text.contains(sjf) && text.contains("fifo hurts DNS (2 flows): "),
        "{text}"
    );
    for (spec, reason) in [
        ("srpt", "needs to know"),
        ("lifo", "is there to compare"),
        ("edf", "needs deadlines"),
        ("fifo_plus", "needs slack"),
    ] {
        let text = compare(example(), &options("5mbit", specs(&[spec])), &mut ())
            .unwrap()
            .verdict
            .sentences
            .join(" ");
        assert!(text.contains(&format!("But {spec} {reason}")), "{text}");
    }
}

#[test]
fn the_best_one_reorders_not_in_silence() {
    let text = verdict_of(&overload(), &["lifo"]);
    let reordered = run(&overload(), &options("8mbit", specs(&["lifo"]))).disciplines[0]
        .total
        .reordered;
    assert!(
        reordered > 1
            && text.contains(&format!(
                " reorders: {reordered} packets leave after a later one of their flow ("
            )),
        "{text}"
    );
    assert!(!verdict_of(&overload(), &["fifo"]).contains("reorders"));
}

/// A discipline of another program that reorders says so, or a note does.
#[test]
fn undeclared_reordering_has_a_note() {
    let lifo = |name, reorders| {
        let config = custom::Config::new(name, |_| ByCopy::new(lifo::Lifo::default()));
        QueueSpec {
            discipline: AnyDiscipline::Custom(custom::Config { reorders, ..config }),
            limit: None,
        }
    };
    let flows = [
        steady(0, 2_000, 500, 1, 1500),
        steady(1_000, 2_000, 500, 2, 1500),
        steady(0, 100_000, 10, 3, 100),
    ];
    let specs = [
        specs(&["fifo", "lifo"]),
        vec![lifo("mine", false), lifo("declared", true)],
    ]
    .concat();
    let comparison = run(&merged(flows), &options("8mbit", specs));
    let notes: Vec<_> = comparison
        .notes
        .iter()
        .filter(|note| note.contains("reordered"))
        .collect();
    assert_eq!(
        notes,
        ["mine reordered packets of 2 flows, and does not declare `reorders`."]
    );
    assert!(comparison.notes.last().unwrap().contains("open-loop"));
}

#[test]
fn only_one_queue_makes_flows_wait_for_what_others_have_sent() {
    let said = |loser: &str| {
        verdict_of(&overload(), &[loser, "qfq"])
            .contains("times as long, because all flows share one queue")
    };
    assert_eq!(["fifo", "lifo", "random"].map(said), [true, false, false]);
}

#[test]
fn what_has_no_commands_is_said_to_have_none() {
    let ends = |spec: &str, end: &str| {
        assert!(
            verdict_of(&overload(), &[spec]).ends_with(end),
            "{}",
            verdict_of(&overload(), &[spec])
        )
    };
    ends(
        "wf2q_plus",
        "No tc commands for wf2q_plus: Linux has no wf2q_plus.",
    );
    ends(
        "red gentle",
        "No tc commands for red gentle: tc has no `gentle`.",
    );
    ends(
        "packet_fq",
        "No tc commands for packet_fq: Linux has no packet_fq.",
    );
    for spec in [
        "fifo", "codel", "pie", "red", "choke", "sfb", "qfq_plus", "priority",
    ] {
        assert!(
            !verdict_of(&overload(), &[spec]).contains("commands"),
            "{spec}"
        );
    }
}

#[test]
fn what_packets_lack_is_noted() {
    let notes = |texts: &[&str], file: &str| {
        let weights = WeightRules::from_toml("w.toml", file).unwrap();
        let comparison = run(
            &overload(),
            &Options {
                weights,
                ..options("8mbit", specs(texts))
            },
        );
        comparison
            .notes
            .into_iter()
            .filter(|note| note.contains("so these disciplines have nothing to order by"))
            .collect::<Vec<_>>()
    };
    let all = [
        "lstf",
        "edf",
        "priority",
        "qfq",
        "edf limit 9",
        "fifo_plus",
        "afq",
    ];
    assert_eq!(
        notes(&all, ""),
        [
            "All packets have the same class, so these disciplines have nothing to order by: priority.",
            "No rule gives packets slack, so these disciplines have nothing to order by: fifo_plus, lstf.",
            "No rule gives packets a deadline, so these disciplines have nothing to order by: afq, edf.",
        ]
    );
    assert_eq!(notes(&["fifo", "qfq"], ""), [""; 0]);
    let rule = |port: u16| {
        format!(
            "[[weight]]\nmatch = \"dst port {port}\"\npriority = 3\nslack = \"1ms\"\ndeadline = \"1ms\"\n"
        )
    };
    assert_eq!(notes(&all, &rule(1000)), [""; 0]);
    assert_eq!(
        notes(&all, &rule(9)).len(),
        3,
        "a rule that matches nothing gives nothing"
    );
}

#[test]
fn a_delay_is_said_to_be_that_of_packets_that_get_through() {
    let text = verdict_of(&overload(), &["fifo limit 10"]);
    assert!(
        text.contains("99% of the packets that get through take no more than")
            && text.contains("; losses: 99.0% of calls and games."),
        "{text}"
    );
}

/// Regression: the star marked a figure other than the lowest, without explanation.
#[test]
fn a_lower_figure_than_that_of_the_best_is_explained() {
    let of_example = |texts: &[&str]| {
        let comparison = compare(example(), &options("5mbit", specs(texts)), &mut ()).unwrap();
        (
            comparison.disciplines[comparison.verdict.best.unwrap()].name,
            comparison.verdict.sentences.join(" "),
        )
    };
    for (texts, best, reason) in [
        (
            ["s_kps", "fq_pie"],
            "fq_pie",
            "s_kps delays light flows less than fq_pie (104 ms against 116 ms), but less than a factor of 1.5 between the two counts as none, and no tc commands are known for it.",
        ),
        (
            ["fifo limit 10", "qfq"],
            "qfq",
            "fifo limit 10 delays light flows less than qfq (23.5 ms against 128 ms), but loses 37.7% of the packets of web, and a loss costs its \
             sender a second of waiting or more.",
        ),
        (
            ["qfq", "wf2q_plus"],
            "wf2q_plus",
            "qfq delays light flows less than wf2q_plus (128 ms against 141 ms), but delays calls and games more (20.8 ms against 2.75 ms under wf2q_plus).",
        ),
        (["fq_codel", "drr"], "fq_codel", ""),
    ] {
        let (name, text) = of_example(&texts);
        assert!(name == best && text.contains(reason), "{texts:?}: {text}");
        assert_eq!(
            text.contains("delays light flows less"),
            !reason.is_empty(),
            "{text}"
        );
    }
    assert!(
        of_example(&["srpt", "drr"])
            .1
            .contains("srpt would do less harm, but needs to know")
    );
}

/// For any pair of disciplines, a figure lower than the best one's is explained.
#[test]
fn no_lower_figure_goes_without_a_word() {
    let mut explained = 0;
    let texts = [
        "fifo limit 20",
        "drr",
        "qfq limit 100",
        "wf2q_plus",
        "sfq",
        "fq_codel",
        "lifo",
        "sjf",
        "red",
        "drr quantum 300b",
    ];
    for (place, one) in texts.iter().enumerate() {
        for other in &texts[place + 1..] {
            let comparison = run(&overload(), &options("16mbit", specs(&[one, other])));
            let figure = |index: usize| comparison.disciplines[index].light.delay.unwrap().p99;
            let best = comparison.verdict.best.unwrap();
            let text = comparison.verdict.sentences.join(" ");
            let has_reason = [
                "delays light flows less than",
                "would do less harm, but",
                &format!("But {} ", comparison.disciplines[best].spec),
            ];
            if figure(1 - best) * 1.01 < figure(best) {
                assert!(
                    has_reason.iter().any(|reason| text.contains(reason)),
                    "{one}, {other}: {text}"
                );
                explained += 1;
            }
        }
    }
    assert!(explained > 5, "{explained}");
}

/// A call and a greedy flow that share one of two queues with every second seed.
#[test]
fn another_seed_that_changes_the_winner_is_told() {
    let samples = merged([
        steady(0, MILLISECOND, 2000, 0, 1000),
        steady(0, 20 * MILLISECOND, 100, 1, 200),
    ]);
    let told = |seed, seeds| {
        let options = Options {
            seed,
            seeds,
            ..options("4mbit", specs(&["sfq divisor 2", "fifo limit 127"]))
        };
        Advised::new(samples::run(&samples, &options), &options, None)
    };
    let winner = |told: &Advised| {
        told.comparison.disciplines[told.verdict.best.unwrap()]
            .spec
            .clone()
    };
    let mut winners = Vec::new();
    for seed in 1..=12 {
        winners.push(winner(&told(seed, 1)));
    }
    let mut differing = 0;
    for (seed, pair) in (1..).zip(winners.windows(2)) {
        let both = told(seed, 2);
        let text = both.verdict.sentences.join(" ");
        let table = table(&both, TableStyle::default());
        assert_eq!(winner(&both), pair[0]);
        let sentence = format!(
            "That depends on the seed: {} is best with seed {seed}, but {} with seed {} (of 2 tried).",
            pair[0],
            pair[1],
            seed + 1
        );
        assert_eq!(text.contains(&sentence), pair[0] != pair[1], "{text}");
        let row = format!("\n    seed {} ", seed + 1);
        assert_eq!(table.contains(&row), pair[0] != pair[1], "{table}");
        let row = format!("<tr class=\"below\"><th scope=\"row\">seed {}<", seed + 1);
        assert_eq!(html(&both).contains(&row), pair[0] != pair[1]);
        differing += usize::from(pair[0] != pair[1]);
    }
    assert!((1..11).contains(&differing), "{winners:?}");
}

/// Regression: with seed 3 calls of the example wait twenty times as long, which the p99 of all light
/// flows hides. The verdict named seed 3, and the table had no row of it.
#[test]
fn a_seed_that_changes_one_kind_has_a_row() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/captures/home-downlink.pcap"
    );
    let options = Options {
        seeds: 3,
        ..options("5mbit", specs(&["fq_codel", "drr"]))
    };
    let capture = Capture::open(Path::new(path)).unwrap();
    let comparison = roundelay_trace::compare(capture, &options, &mut ()).unwrap();
    let first = comparison.disciplines[0].kinds[0].p99.unwrap();
    let third = comparison.other_seeds[1].disciplines[0].kinds[0]
        .p99
        .unwrap();
    assert!(third > 10.0 * first, "{first} {third}");
    let advised = Advised::new(comparison, &options, None);
    let table = table(&advised, TableStyle::default());
    assert!(table.contains("\n    seed 3 "), "{table}");
    let below = html(&advised);
    let below = below.split("<tr class=\"below\">").nth(1).unwrap();
    let below = below.split("</tr>").next().unwrap();
    let changes = format!(
        "seed 3<small>The seed that differs most: p99 delay of calls and games {:.1} ms, not {:.2} ms",
        third * 1e3,
        first * 1e3
    );
    assert!(below.contains(&changes), "{changes}: {below}");
    let notebook = document(&advised).html();
    assert!(notebook.contains("<td>seed 3</td>"), "{notebook}");
}

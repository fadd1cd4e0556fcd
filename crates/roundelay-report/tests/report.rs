//! The three renderings of one invented comparison, and of hostile and empty ones.

use roundelay_report::{Advised, SCREEN, TableStyle, Warning, html, json, table, table_within};
use roundelay_trace::Kind;
use serde_json::Value;

use crate::hostile::{self, HOSTILE};
use crate::sample;

fn hostile() -> Advised {
    hostile::hostile(sample::advised())
}

/// A comparison without sent packets or known figures.
fn empty() -> Advised {
    let mut advised = sample::advised();
    advised.comparison.capture.seconds = 0.0;
    advised.comparison.flows.clear();
    advised.comparison.charted.clear();
    advised.verdict.sentences.clear();
    advised.verdict.commands.clear();
    for result in &mut advised.comparison.disciplines {
        result.flows.clear();
        (result.total, result.light, result.jain, result.cost) = Default::default();
        (result.curves, result.light_curves) = Default::default();
    }
    advised
}

/// The text after the first `before`.
fn after<'a>(text: &'a str, before: &str) -> &'a str {
    text.split_once(before)
        .unwrap_or_else(|| panic!("there is no {before}"))
        .1
}

fn embedded(page: &str) -> Value {
    let data = after(page, "<script type=\"application/json\" id=\"data\">")
        .split("</script>")
        .next()
        .unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn the_table_is_as_agreed() {
    let expected = include_str!("sample_table.txt");
    let made = table(&sample::advised(), TableStyle::default());
    assert_eq!(
        made, expected,
        "if this is better: cargo run -p roundelay-report --example sample_page > crates/roundelay-report/tests/sample_table.txt"
    );
}

/// Where nothing is chosen, the page asks or says why, and has neither tables nor charts nor a script
/// for them.
#[test]
fn the_page_of_a_question_asks() {
    let question = "Which of these packets shared your link?";
    let refusal = "No discipline is chosen, because the headers of most packets cannot be read.";
    for headline in [question, refusal] {
        let mut advised = sample::advised();
        advised.verdict.is_open = true;
        advised.verdict.best = None;
        advised.verdict.sentences.clear();
        advised.verdict.commands.clear();
        advised.verdict.reserve = Some(Warning {
            sentence: format!("{headline} Nothing tells."),
            command: None,
        });
        let page = html(&advised);
        assert!(page.contains(&format!("<h1 id=\"answer\">{headline}</h1>")));
        assert!(page.contains("<p class=\"lead\">Nothing tells.</p>"));
        // The last one is the script of the charts.
        for absent in [
            "No verdict",
            "<table",
            "id=\"delay\"",
            "role=\"alert\"",
            "drawDelay",
        ] {
            assert!(!page.contains(absent), "{absent}");
        }
        // One sentence alone is a headline, too.
        let reserve = advised.verdict.reserve.as_mut().unwrap();
        reserve.sentence = headline.to_owned();
        assert!(html(&advised).contains(&format!("<h1 id=\"answer\">{headline}</h1>")));
    }
}

/// The other direction and its command stand behind the verdict's commands.
#[test]
fn the_page_tells_of_the_other_direction() {
    let mut advised = sample::advised();
    advised.verdict.other = Some(Warning {
        sentence: "The other direction: 9.00 kbit/s.".to_owned(),
        command: Some("roundelay compare a.pcap --direction 'from b'".to_owned()),
    });
    let page = html(&advised);
    let told = "<p class=\"other\">The other direction: 9.00 kbit/s.</p>\n  \
                <div class=\"commands\"><pre>roundelay compare a.pcap --direction &#39;from b&#39;</pre></div>";
    assert!(page.contains(told));
}

/// The headline is one sentence, then come figures, and a long verdict is parted at its colon.
#[test]
fn the_page_begins_with_a_sentence_and_figures() {
    let mut advised = sample::advised();
    advised.verdict.sentences[0] = "fq_codel serves this traffic best: 99% of the packets are \
        through within 18.9 ms for calls and games (1 flow), 1.2 ms for DNS (3 flows); none of these is lost."
        .to_owned();
    let page = html(&advised);
    assert!(page.contains("<h1 id=\"answer\">fq_codel serves this traffic best.</h1>"));
    assert!(page.contains("<p class=\"lead\">99% of the packets are through within 18.9 ms"));
    let figures = after(&page, "</h1>")
        .split("<p class=\"lead\">")
        .next()
        .unwrap();
    let kinds = &advised.comparison.disciplines[advised.verdict.best.unwrap()].kinds;
    let light = kinds.iter().filter(|outcome| outcome.kind != Kind::Bulk);
    let told = light.filter(|outcome| outcome.p99.is_some()).count();
    assert_eq!(
        figures.matches("<dt>p99 delay, ").count(),
        told.min(4),
        "{figures}"
    );
    advised.verdict.sentences[0] = "Nothing contends: fifo will do.".to_owned();
    assert!(html(&advised).contains("<h1 id=\"answer\">Nothing contends: fifo will do.</h1>"));
}

/// One sentence of answer, one of why, and the rest for readers who open it.
#[test]
fn the_page_says_why_and_folds_the_rest() {
    let mut advised = sample::advised();
    let sentences = [
        "drr serves this traffic best.",
        "Calls gain.",
        "All share, because of it.",
        "Yet.",
    ];
    advised.verdict.sentences = sentences.map(str::to_owned).to_vec();
    let page = html(&advised);
    assert!(page.contains("<p class=\"lead\">All share, because of it.</p>"));
    let (_, folded) = page.split_once("<details class=\"more\">").expect("more");
    let (folded, _) = folded.split_once("</details>").expect("its end");
    let places = ["<p>Calls gain.</p>", "<p>Yet.</p>"].map(|text| folded.find(text));
    assert!(places[0].is_some() && places.is_sorted(), "{folded}");
    assert!(!folded.contains("because of it"), "{folded}");
    advised.verdict.sentences.truncate(2);
    let page = html(&advised);
    assert!(page.contains("<p class=\"lead\">Calls gain.</p>") && !page.contains("class=\"more\""));
}

#[test]
fn reordering_is_told_where_there_is_any() {
    let mut advised = sample::advised();
    let wide = TableStyle {
        color: false,
        width: Some(160),
    };
    assert!(
        !table(&advised, wide).contains("reordered") && !html(&advised).contains(">Reordered<")
    );
    advised.comparison.disciplines[1].total.reordered = 9253;
    let text = table(&advised, wide);
    let end = text
        .lines()
        .find_map(|line| Some(line.find("reordered")? + "reordered".len()))
        .unwrap();
    let line = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line[..line
            .char_indices()
            .nth(end)
            .map_or(line.len(), |(place, _)| place)]
            .split_whitespace()
            .next_back()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        [line("  discipline"), line("  sfq"), line("  fifo")],
        ["reordered", "9,253", "0"],
        "{text}"
    );
    let page = html(&advised);
    let cell = "<td data-sort=\"9253\" data-label=\"Reordered\">9,253</td>";
    assert!(page.contains(">Reordered<") && page.contains(cell));
    let cells = |row: &str| row.matches("<td").count() + row.matches("<th").count();
    let rows: Vec<usize> = after(&page, "<table id=\"disciplines\">")
        .split("</table>")
        .next()
        .unwrap()
        .split("<tr")
        .skip(2)
        .map(cells)
        .collect();
    let columns = rows[0];
    assert!(rows.iter().all(|cells| *cells == columns), "{rows:?}");
    assert!(page.contains("<td></td><td colspan=\"3\"></td><th colspan=\""));
}

#[test]
fn no_line_of_the_table_is_wider_than_the_terminal() {
    for width in [60, 72, 80, 100, 120, 200] {
        for advised in [sample::advised(), hostile()] {
            let text = table(
                &advised,
                TableStyle {
                    color: false,
                    width: Some(width),
                },
            );
            let lines = text.lines().filter(|line| {
                !advised
                    .verdict
                    .commands
                    .iter()
                    .any(|command| line.ends_with(&command[command.len() - 3..]))
            });
            for line in lines {
                assert!(
                    line.chars().count() <= usize::from(width),
                    "{width}: {line}"
                );
            }
        }
    }
}

/// Regression: columns were hidden without a note, and two variants of one discipline or two flows
/// had the same name.
#[test]
fn what_is_left_out_is_named_and_what_differs_has_different_names() {
    let mut advised = sample::advised();
    let specs = [
        "qfq_plus aggregate 1",
        "qfq_plus aggregate 8",
        "qfq_plus aggregate 64",
    ];
    for (result, spec) in advised.comparison.disciplines.iter_mut().zip(specs) {
        (result.spec, result.name) = (spec.to_owned(), "qfq_plus");
    }
    for (place, flow) in advised.comparison.flows.iter_mut().enumerate() {
        flow.label = format!(
            "tcp 203.0.113.100:{} > 192.168.100.100:51012",
            40_000 + place
        );
    }
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for width in [60, 72, 80, 100, 120, 200] {
        let text = table(
            &advised,
            TableStyle {
                color: false,
                width: Some(width),
            },
        );
        let head: Vec<&str> = text
            .lines()
            .find(|line| line.contains("  discipline"))
            .unwrap()
            .split_whitespace()
            .collect();
        let told = unwrapped(&text);
        for column in ["p50", "p99.9", "max", "dropped"] {
            let is_told = told.split(". Use a wider one").any(|part| {
                part.rsplit("Columns hidden because the terminal is too narrow: ")
                    .next()
                    .unwrap()
                    .contains(column)
            });
            // More than four are counted and not named.
            let is_counted = told.contains(" more columns in a wider terminal, or --json.");
            assert!(
                head.contains(&column) || is_counted || is_told && told.contains("Columns hidden"),
                "{width}: {column}: {text}"
            );
        }
        let rows = |from: &str| -> Vec<String> {
            let rows = text
                .lines()
                .skip_while(|line| !line.starts_with(from))
                .skip(1);
            rows.take(if from == "flow" { 10 } else { 3 })
                .map(|line| {
                    line.split("  ")
                        .find(|cell| !cell.trim().is_empty())
                        .unwrap()
                        .to_owned()
                })
                .collect()
        };
        for from in ["  discipline", "flow"] {
            let mut names = rows(from);
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "{width}: {text}");
        }
    }
    let wide = table(
        &advised,
        TableStyle {
            color: false,
            width: Some(200),
        },
    );
    assert!(
        !wide.contains("Columns hidden")
            && wide.contains("tcp 203.0.113.100:40001 > 192.168.100.100:51012"),
        "{wide}"
    );
}

/// A table of many disciplines is cut to a screen; what is left out is named.
#[test]
fn a_screen_has_forty_lines() {
    let advised = sample::advised();
    let (style, commands) = (TableStyle::default(), advised.verdict.commands.len());
    let lines = |text: &str| text.lines().count();
    let all = table(&advised, style);
    assert!(
        lines(&all) > SCREEN + commands
            && all.contains("of 12 flows\n")
            && !all.contains("Hidden because they are longer")
    );
    let screen = table_within(&advised, style, SCREEN);
    assert!(lines(&screen) <= SCREEN + commands, "{screen}");
    assert!(
        screen.contains("Hidden because they are longer than a screen: flows. Use --wide.")
            && screen.contains("GPS lag"),
        "{screen}"
    );
    let short = table_within(&advised, style, 24);
    assert!(
        short.contains("screen: fairness and cost, flows. Use --wide")
            && lines(&short) <= 24 + commands,
        "{short}"
    );
}

/// The warning comes before the verdict, with the command on a line of its own.
#[test]
fn a_wrong_load_is_told_before_the_verdict() {
    let mut advised = sample::advised();
    let command = "roundelay compare a-long-name-of-a-capture.pcap --rate 20mbit --interface 2 --direction in".to_owned();
    advised.verdict.reserve = Some(Warning {
        sentence: "The figures below are of a wrong load.".to_owned(),
        command: Some(command.clone()),
    });
    let text = table(
        &advised,
        TableStyle {
            color: false,
            width: Some(60),
        },
    );
    let answer = &advised.verdict.sentences[0];
    assert!(
        text.contains(&format!(
            "The figures below are of a wrong load.\n  {command}\n{answer}"
        )),
        "{text}"
    );
    let page = html(&advised);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(
        at("<p class=\"warning\"") < at("<h1 id=\"answer\">")
            && at(&format!("<pre>{command}</pre>")) < at("<h1 id=\"answer\">")
    );
    advised.verdict.reserve = None;
    assert!(!html(&advised).contains("<p class=\"warning\""));
}

#[test]
fn the_table_tells_kinds_apart() {
    let text = table(
        &sample::advised(),
        TableStyle {
            color: false,
            width: Some(250),
        },
    );
    let head: Vec<_> = text
        .lines()
        .skip_while(|line| !line.contains("delay ─"))
        .take(2)
        .collect();
    assert!(
        head[0].contains(" calls ") && head[0].contains(" web ") && head[0].contains("bulk"),
        "{text}"
    );
    assert!(
        head[1].contains("worst") && head[1].ends_with("least share"),
        "{text}"
    );
}

/// Regression: "1 packets, 1 flows".
#[test]
fn one_packet_is_no_plural() {
    let mut advised = sample::advised();
    advised.comparison.capture.packets = 1;
    advised.comparison.flows.truncate(1);
    advised
        .comparison
        .disciplines
        .iter_mut()
        .for_each(|result| result.flows.truncate(1));
    let text = table(&advised, TableStyle::default());
    assert!(
        text.contains("1 packet, 1 flow by 5tuple") && text.contains("loss: 1 of 1 flow\n"),
        "{text}"
    );
}

/// At 80 columns a reader sees the figures that the verdict quotes.
#[test]
fn the_delay_of_each_kind_is_in_a_narrow_table() {
    let style = TableStyle {
        color: false,
        width: Some(80),
    };
    let text = table(&sample::advised(), style);
    let head = text.lines().find(|line| line.contains("  calls "));
    let head = head.unwrap_or_else(|| panic!("{text}"));
    assert!(head.contains("web") && head.contains("bulk"), "{text}");
    assert!(
        text.contains(" more columns in a wider terminal, or --json."),
        "{text}"
    );
}

/// Marks in place of drops are told beside the loss.
#[test]
fn marks_have_a_column_where_there_are_any() {
    let mut advised = sample::advised();
    let style = TableStyle {
        color: false,
        width: Some(120),
    };
    assert!(!table(&advised, style).contains("marked"));
    let total = &mut advised.comparison.disciplines[3].total;
    total.marked = total.packets / 4;
    let text = table(&advised, style);
    let row = text.lines().find(|line| line.starts_with("* fq_codel"));
    assert!(row.is_some_and(|row| row.contains("25")), "{text}");
    assert!(text.contains(" marked "), "{text}");
}

/// Regression: the loss of light flows decides the verdict and was missing from the table.
#[test]
fn loss_of_light_flows_is_in_the_table() {
    let mut advised = sample::advised();
    advised.comparison.disciplines[2].light.loss = 0.0472;
    // Where there is less room, the kinds that the verdict quotes come first.
    for width in [100, 200] {
        let text = table(
            &advised,
            TableStyle {
                color: false,
                width: Some(width),
            },
        );
        let row = text.lines().find(|line| line.starts_with("  drr")).unwrap();
        assert!(
            row.contains("  4.7%") && text.contains(" light flows"),
            "{text}"
        );
    }
    advised.comparison.disciplines[2].kinds[0].loss = 0.0472;
    assert!(html(&advised).contains("<small>4.7% lost</small>"));
    let has_dash = |advised: &_| {
        let text = table(
            advised,
            TableStyle {
                color: false,
                width: Some(200),
            },
        );
        let row = text
            .lines()
            .find(|line| line.starts_with("  drr"))
            .unwrap()
            .to_owned();
        row.split_whitespace().any(|cell| cell == "–")
    };
    assert!(!has_dash(&advised));
    advised.comparison.disciplines[2].light = Default::default();
    assert!(has_dash(&advised), "without light flows");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let style = TableStyle {
        color: true,
        width: None,
    };
    let colored = table(&sample::advised(), style);
    assert!(
        colored.contains("\x1b[1;32m* fq_codel target 5ms\x1b[0m"),
        "{colored}"
    );
    let mut plain = String::new();
    for piece in colored.split('\x1b') {
        plain.push_str(if piece.starts_with('[') {
            after(piece, "m")
        } else {
            piece
        });
    }
    assert_eq!(plain, table(&sample::advised(), TableStyle::default()));
}

#[test]
fn a_hostile_name_cannot_steer_the_terminal() {
    let text = table(&hostile(), TableStyle::default());
    assert!(
        text.contains("</script><script>alert(1)</script>") && !text.contains('\x1b'),
        "{text}"
    );
}

#[test]
fn nothing_sent_is_no_reason_to_fail() {
    let advised = empty();
    assert!(table(&advised, TableStyle::default()).contains(" –"));
    assert!(html(&advised).contains("No verdict."));
    assert!(json(&advised).contains("\"flows\": []"));
}

#[test]
fn json_has_the_fields_of_the_comparison_in_their_order() {
    let text = json(&sample::advised());
    let top = text
        .lines()
        .filter(|line| line.starts_with("  \""))
        .map(|line| line.split('"').nth(1).unwrap());
    let expected = [
        "schema",
        "version",
        "capture",
        "link_rate",
        "reference_rate",
        "seed",
        "flows",
        "charted",
        "disciplines",
        "verdict",
    ];
    assert_eq!(top.collect::<Vec<_>>(), expected);
    let value: Value = serde_json::from_str(&text).unwrap();
    let flow = &value["disciplines"][3]["flows"][0];
    for key in [
        "throughput",
        "loss",
        "delay",
        "reordered",
        "lag",
        "b_wfi",
        "t_wfi_bound",
        "latency_bound",
        "fairness",
        "curves",
    ] {
        assert!(flow.get(key).is_some(), "{key}");
    }
    assert_eq!(text, json(&sample::advised()));
}

#[test]
fn a_hostile_name_stays_text_on_the_page() {
    let page = html(&hostile());
    let clean = html(&sample::advised());
    for tag in ["<script", "</script", "<img", "<title", "onerror=alert(2)>"] {
        assert_eq!(
            page.matches(tag).count(),
            clean.matches(tag).count(),
            "{tag}"
        );
    }
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(
        page.contains("{{script}}"),
        "what is put in is not filled again"
    );
    let label = embedded(&page)["views"].as_array().unwrap().last().unwrap()["label"].clone();
    assert_eq!(label, HOSTILE.replace('\u{1b}', "\u{fffd}"));
}

#[test]
fn the_page_needs_nothing_else() {
    let page = html(&sample::advised());
    for reference in [
        " src=",
        "@import",
        "url(",
        "<link rel=\"stylesheet",
        "fetch(",
        "XMLHttpRequest",
        "{{",
    ] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'"));
    assert!(
        page.contains("Copyright (c) 2022 Leon Sorokin"),
        "uPlot's licence asks to be included"
    );
    assert!(page.len() < 1_500_000, "{}", page.len());
}

#[test]
fn the_page_says_what_the_comparison_says() {
    let advised = sample::advised();
    let page = html(&advised);
    assert!(page.contains("<h1 id=\"answer\">fq_codel target 5ms serves this traffic best.</h1>"));
    assert!(page.contains("tc qdisc add dev eth0 parent 1:1 fq_codel target 5ms</pre>"));
    assert_eq!(page.matches("<tr class=\"best\">").count(), 1);
    assert!(
        after(&page, "<tr class=\"best\">")
            .starts_with("<th scope=\"row\"><b>fq_codel target 5ms</b>")
    );
    let data = embedded(&page);
    assert_eq!(
        data["views"].as_array().unwrap().len(),
        2 + advised.comparison.charted.len()
    );
    assert_eq!(
        data["views"][2]["label"],
        advised.comparison.flows[advised.comparison.charted[0]].label
    );
    assert_eq!(
        data["views"][0]["results"][3]["curves"]["backlog"]
            .as_array()
            .unwrap()
            .len(),
        advised.comparison.disciplines[3].curves.backlog.len()
    );
}

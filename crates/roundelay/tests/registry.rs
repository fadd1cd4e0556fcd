//! The registry: names, files, pages, and disciplines as the user writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use roundelay::Seed;
use roundelay::author::{Kind, Parameter};
use roundelay::schedulers::{AnyDiscipline, Discipline, ParameterInfo, Visitor};
use roundelay::{Control as _, FlowId, Limit, QueueSpec};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn parse(text: &str) -> QueueSpec {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    text.parse::<QueueSpec>()
        .map(|spec| panic!("{text} reads as {spec:?}"))
        .unwrap_err()
        .to_string()
}

#[test]
fn names_are_unique_and_words() {
    let names: Vec<_> = AnyDiscipline::all()
        .iter()
        .map(AnyDiscipline::name)
        .collect();
    assert_eq!(
        names.iter().collect::<BTreeSet<_>>().len(),
        names.len(),
        "{names:?}"
    );
    for name in names {
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert!(
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{name}"
        );
        assert!(!name.ends_with('_') && !name.contains("__"), "{name}");
    }
}

#[test]
fn each_discipline_has_its_file_its_theorems_and_its_page() {
    let modules = fs::read_to_string(root().join("crates/roundelay/tests/theorems/mod.rs"))
        .unwrap_or_default();
    let mut missing = Vec::new();
    for name in AnyDiscipline::all().iter().map(AnyDiscipline::name) {
        let source = format!("crates/roundelay/src/schedulers/{name}.rs");
        let theorems = format!("crates/roundelay/tests/theorems/{name}.rs");
        let page = format!("docs/schedulers/{name}.md");
        missing.extend(
            [source, theorems, page]
                .into_iter()
                .filter(|file| !root().join(file).is_file()),
        );
        if !modules.lines().any(|line| line == format!("mod {name};")) {
            missing.push(format!("'mod {name};' in tests/theorems/mod.rs"));
        }
    }
    assert!(missing.is_empty(), "missing: {missing:#?}");
}

/// Formerly a leaf that does not exist was accepted by all disciplines.
#[test]
fn no_discipline_takes_a_leaf_or_a_class() {
    for discipline in AnyDiscipline::all() {
        let mut scheduler = discipline.build::<()>(Seed::new(1)).unwrap();
        let flow = FlowId(1);
        let leaf = scheduler.assign(flow, "calls").unwrap_err().to_string();
        assert!(leaf.contains("calls") && leaf.contains("no tree"), "{leaf}");
        assert!(scheduler.assign_acknowledgements(flow, "calls").is_err());
        assert!(scheduler.set_class(flow, &[]).is_err());
    }
}

#[test]
fn each_discipline_says_what_it_is() {
    for discipline in AnyDiscipline::all() {
        let info = discipline.info();
        assert!(
            !info.about.is_empty() && !info.source.is_empty(),
            "{}",
            info.name
        );
        let parameters = discipline.parameters();
        let names: BTreeSet<_> = parameters.iter().map(|parameter| parameter.name).collect();
        assert_eq!(
            names.len(),
            parameters.len(),
            "{}: parameters have unique names",
            info.name
        );
        assert!(
            !names.contains("limit") && !names.contains("memory_limit"),
            "{}: these belong to the buffer",
            info.name
        );
        assert!(
            parameters
                .iter()
                .all(|parameter| !parameter.about.is_empty()),
            "{}",
            info.name
        );
    }
}

/// The rows under `## Parameters` of a page, their cells without the marks around them.
fn rows(page: &str) -> Vec<Vec<String>> {
    let section = page.split("\n## Parameters").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = |line: &str| {
        line.trim()
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.replace('`', "").trim().to_owned())
            .collect()
    };
    section
        .lines()
        .filter(|line| line.trim_start().starts_with('|'))
        .skip(2)
        .map(cells)
        .collect()
}

/// Missing parts of a parameter on a page: row, default or range.
fn lacking(name: &str, parameter: &ParameterInfo, rows: &[Vec<String>]) -> Vec<String> {
    let lacks = |what: &str| format!("docs/schedulers/{name}.md: {}: {what}", parameter.name);
    let Some(row) = rows
        .iter()
        .find(|row| row[0].split_whitespace().any(|word| word == parameter.name))
    else {
        return vec![lacks("no row under '## Parameters'")];
    };
    let (min, max) = &parameter.range;
    let mut texts = vec![parameter.value.as_str()];
    match parameter.kind {
        Kind::Switch => {}
        Kind::Choice(words) => texts.extend(words),
        _ => texts.extend([min.as_str(), max]),
    }
    // The largest time means "never", also accepted on the page.
    let never = Kind::Time.show(u64::MAX);
    let says = |text: &str| {
        row.iter().any(|cell| {
            cell.split([' ', ',', '(', ')', ';'])
                .any(|word| word == text)
        })
    };
    let is_said =
        |text: &str| says(text) || text == never && says("never") || text == "0s" && says("0");
    texts
        .into_iter()
        .filter(|text| !is_said(text))
        .map(lacks)
        .collect()
}

#[test]
fn pages_list_the_parameters_with_their_defaults_and_ranges() {
    let mut lacks = Vec::new();
    for discipline in AnyDiscipline::all() {
        let info = discipline.info();
        let page = root().join(format!("docs/schedulers/{}.md", info.name));
        let rows = rows(&fs::read_to_string(page).unwrap_or_default());
        let parameters = discipline.parameters();
        lacks.extend(
            parameters
                .iter()
                .flat_map(|parameter| lacking(info.name, parameter, &rows)),
        );
        // Settings of the buffer or of flows may be in the same table.
        let others = ["limit", "memory_limit", "weight", "maxpkt"];
        let is_known = |word: &str| {
            others.contains(&word) || parameters.iter().any(|parameter| parameter.name == word)
        };
        let unknown = rows
            .iter()
            .filter(|row| !row[0].split_whitespace().any(is_known));
        lacks.extend(unknown.map(|row| {
            format!(
                "docs/schedulers/{}.md: '{}' is no parameter",
                info.name, row[0]
            )
        }));
    }
    assert!(lacks.is_empty(), "{lacks:#?}");
}

#[test]
fn pages_show_no_more_and_no_less_than_asked() {
    let page = "# drr\n\n## Parameters\n\n| name | kind | range | default | meaning |\n|---|---|---|---|---|\n\
                | `quantum` | size | `1b` to `1mb` | `1514b` | bytes |\n\n## Guarantee\n\n| flows | 7 |\n";
    let parameter = |value: &str, max: &str| ParameterInfo {
        name: "quantum",
        value: value.to_owned(),
        range: ("1b".to_owned(), max.to_owned()),
        kind: Kind::Size,
        about: "",
    };
    assert_eq!(rows(page).len(), 1);
    assert!(lacking("drr", &parameter("1514b", "1mb"), &rows(page)).is_empty());
    assert_eq!(
        lacking("drr", &parameter("1500b", "2mb"), &rows(page)).len(),
        2
    );
    assert_eq!(
        lacking(
            "drr",
            &ParameterInfo {
                name: "flows",
                ..parameter("1", "2")
            },
            &rows(page)
        )
        .len(),
        1
    );
}

/// Parameters that need another one, with that one, as in `tc`: the default of choke's `max` does
/// not depend on `min` and must be larger; red's `nodrop` concerns packets without ECN, and needs
/// `ecn`; ets has eight bands unless told otherwise; tbf's `latency` is a limit at its `rate`.
const NOT_ALONE: [(&str, &str, &str); 4] = [
    ("choke", "min", " max 4194304"),
    ("red", "nodrop", " ecn"),
    ("ets", "priomap", " bands 16"),
    ("tbf", "latency", " rate 1kbit"),
];

fn companion(discipline: &str, parameter: &str) -> &'static str {
    NOT_ALONE
        .iter()
        .find(|(of, name, _)| (*of, *name) == (discipline, parameter))
        .map_or("", |(_, _, companion)| companion)
}

/// Specs with one parameter at a legal or an illegal value, as text, and the words required in the
/// error.
struct Written;

#[derive(Default)]
struct Texts {
    legal: Vec<String>,
    illegal: Vec<(String, [String; 4])>,
}

impl Texts {
    fn add<D: Discipline>(&mut self, parameter: &Parameter<D>) {
        let show = |value| parameter.kind.show(value);
        let spec = |value: u64| match (parameter.kind, value) {
            (Kind::Switch, 0) => format!("{} no{}", D::NAME, parameter.name),
            (Kind::Switch, _) => format!("{} {}", D::NAME, parameter.name),
            _ => format!("{} {} {}", D::NAME, parameter.name, show(value)),
        };
        self.legal.extend(
            [parameter.min, parameter.max]
                .map(|value| spec(value) + companion(D::NAME, parameter.name)),
        );
        if !parameter.kind.has_range() {
            return;
        }
        let beyond = [
            parameter.min.checked_sub(1),
            parameter.max.checked_add(1),
            Some(1 << 40).filter(|huge| parameter.max < *huge),
        ];
        let names = [
            D::NAME.to_owned(),
            parameter.name.to_owned(),
            show(parameter.min),
            show(parameter.max),
        ];
        self.illegal.extend(
            beyond
                .into_iter()
                .flatten()
                .map(|value| (spec(value), names.clone())),
        );
    }
}

impl Visitor for Written {
    type Output = Texts;

    fn visit<D: Discipline>(self, _discipline: &D) -> Texts {
        let mut texts = Texts::default();
        D::PARAMETERS
            .iter()
            .for_each(|parameter| texts.add(parameter));
        texts
    }
}

fn values(discipline: &AnyDiscipline) -> Vec<(&'static str, String)> {
    discipline
        .parameters()
        .into_iter()
        .map(|parameter| (parameter.name, parameter.value))
        .collect()
}

#[test]
fn what_is_written_reads_back() {
    for discipline in AnyDiscipline::all() {
        assert_eq!(
            discipline.to_string(),
            discipline.name(),
            "defaults are not written"
        );
        assert_eq!(
            values(&parse(discipline.name()).discipline),
            values(&discipline)
        );
        for text in discipline.visit(Written).legal {
            let read = parse(&text).discipline;
            assert_eq!(
                values(&parse(&read.to_string()).discipline),
                values(&read),
                "{text} is written {read}"
            );
            let changed = values(&read)
                .into_iter()
                .zip(values(&discipline))
                .filter(|(new, old)| new != old)
                .count();
            let companions = NOT_ALONE
                .iter()
                .filter(|(.., companion)| text.ends_with(companion))
                .count();
            assert!(changed <= 1 + companions, "{text} changes one parameter");
        }
    }
}

#[test]
fn values_out_of_range_name_the_discipline_the_parameter_and_the_range() {
    let mut count = 0;
    for (text, names) in AnyDiscipline::all()
        .iter()
        .flat_map(|discipline| discipline.visit(Written).illegal)
    {
        let error = error(&text);
        let value = text.split(' ').next_back().unwrap_or_default();
        assert!(
            names.iter().all(|name| error.contains(name)) && error.contains(value),
            "{text}: {error}"
        );
        count += 1;
    }
    assert!(count > 10, "{count} values");
}

#[test]
fn unknown_words_are_answered_with_the_known_ones() {
    for discipline in AnyDiscipline::all() {
        let error = error(&format!("{} speed 9", discipline.name()));
        let known = discipline
            .parameters()
            .into_iter()
            .map(|parameter| parameter.name)
            .chain(["speed", "limit", "memory_limit"]);
        known.for_each(|name| assert!(error.contains(name), "{name} is not in: {error}"));
    }
    assert!(error("cheese").contains("cheese"));
}

#[test]
fn unknown_words_are_answered_with_the_one_that_is_meant() {
    for (text, meant) in [
        ("fqcodel", "fq_codel"),
        ("FIFO", "fifo"),
        ("droptail limit 9", "fifo"),
        ("pfifo_fast", "priority"),
        ("sfq2", "sfq"),
        ("drr quantm 9", "quantum"),
        ("fq_codel intervall 9ms", "interval"),
        ("fifo limits 9", "limit"),
    ] {
        assert!(
            error(text).contains(&format!("did you mean '{meant}'?")),
            "{}",
            error(text)
        );
    }
    for text in ["netem", "purple", "fq_codel aim 5ms"] {
        assert!(!error(text).contains("did you mean"), "{}", error(text));
    }
    assert!(
        AnyDiscipline::all()
            .iter()
            .all(|discipline| error("purple").contains(discipline.name())),
        "{}",
        error("purple")
    );
    assert!(
        error("netem").starts_with("netem is no discipline here: delay and loss"),
        "{}",
        error("netem")
    );
}

/// Errors for unreadable values name the value and the legal range (both were missing).
#[test]
fn values_that_cannot_be_read_are_named_with_what_is_legal() {
    for (text, expected) in [
        (
            "fq_codel target 2h",
            "fq_codel: target 2h: expected a number and s, ms, us or ns (a bare number is microseconds, as in tc), as in 5ms, legal range 1us to 3600s",
        ),
        (
            "sfq perturb abc",
            "sfq: perturb abc: expected a number and s, ms, us or ns (a bare number is seconds, as in tc), as in 10s, legal range 0s to 3600s",
        ),
        (
            "sfb rehash x",
            "sfb: rehash x: expected a number and s, ms, us or ns (a bare number is milliseconds, as in tc), as in 500ms, legal range 0s to 86400s",
        ),
        (
            "drr quantum",
            "drr: quantum: expected a value after it, legal range 1b to 1mb",
        ),
        (
            "sp_pifo rank age",
            "sp_pifo: rank age: expected slack, priority or deadline",
        ),
        (
            "lstf_levels map",
            "lstf_levels: map: expected uniform, exponential or rotating",
        ),
        (
            "sfb levels many",
            "sfb: levels many: expected a whole number, legal range 1 to 16",
        ),
        (
            "drr limit abc",
            "drr: limit abc: expected packets (limit 1000) or bytes (limit 150kb)",
        ),
        (
            "drr limit",
            "drr: limit: expected packets (limit 1000) or bytes (limit 150kb)",
        ),
        (
            "drr memory_limit 1x",
            "drr: memory_limit 1x: expected a whole number of bytes, or a number and kb (1024 bytes), mb or gb, as in 1514b",
        ),
        (
            "drr weight 3",
            "drr: no parameter is called 'weight': quantum, limit, memory_limit; weights are settings of flows",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
    let unquoted = "which is a parameter: write it after its discipline, as in \"sfq depth 64\"";
    assert!(
        ["target", "limit", "ecn", "quantum"]
            .iter()
            .all(|name| error(name).contains(unquoted)),
        "{}",
        error("target")
    );
}

/// `pfifo` and `prio` count packets, `bfifo` counts bytes, as in `tc`.
#[test]
fn names_of_tc_are_read() {
    let read = |text: &str| {
        let spec: QueueSpec = text.parse().expect("legal");
        (spec.discipline.to_string(), spec.limit_or_default())
    };
    assert_eq!(
        read("pfifo limit 50"),
        ("fifo".to_owned(), Limit::of_packets(50))
    );
    assert_eq!(read("pfifo"), read("fifo"));
    assert_eq!(
        parse("prio").limit,
        None,
        "a limit that is not written gives way to that of the caller"
    );
    assert_eq!(
        read("bfifo limit 50000"),
        ("fifo".to_owned(), Limit::of_bytes(50_000))
    );
    assert_eq!(read("bfifo limit 50p").1.packets, 50);
    assert_eq!(
        error("bfifo"),
        "bfifo: limit: expected bytes, as in bfifo limit 150000"
    );
    assert_eq!(
        read("prio limit 20"),
        ("priority".to_owned(), Limit::of_packets(20))
    );
}

/// A parameter's range on a page: the two words around the last "to".
fn range_on_page(rows: &[Vec<String>], parameter: &str) -> Option<(String, String)> {
    let row = rows
        .iter()
        .find(|row| row[0].split_whitespace().any(|word| word == parameter))?;
    let (lower, upper) = row.get(2)?.rsplit_once(" to ")?;
    Some((
        lower.split_whitespace().next_back()?.to_owned(),
        upper.split_whitespace().next()?.to_owned(),
    ))
}

/// The lowest and highest values in help and pages are accepted for each parameter; values one
/// beyond are refused.
#[test]
fn help_and_pages_name_the_ranges_that_are_taken() {
    let mut count = 0;
    for discipline in AnyDiscipline::all() {
        let info = discipline.info();
        let page = fs::read_to_string(root().join(format!("docs/schedulers/{}.md", info.name)))
            .unwrap_or_default();
        let page = rows(&page);
        for ParameterInfo {
            name, range, kind, ..
        } in discipline
            .parameters()
            .into_iter()
            .filter(|parameter| parameter.kind.has_range())
        {
            let companion = companion(info.name, name);
            let is_taken = |value: &str| {
                format!("{} {name} {value}{companion}", info.name)
                    .parse::<QueueSpec>()
                    .is_ok()
            };
            let told = range_on_page(&page, name)
                .unwrap_or_else(|| panic!("docs/schedulers/{}.md: {name}: no range", info.name));
            for (lowest, highest) in [&range, &told] {
                let [low, high] = [lowest, highest].map(|value| {
                    kind.read(value)
                        .unwrap_or_else(|what| panic!("{value}: {what}"))
                });
                assert!(
                    is_taken(lowest) && is_taken(highest),
                    "{} {name}: {lowest} to {highest}",
                    info.name
                );
                for beyond in [low.checked_sub(1), high.checked_add(1)]
                    .into_iter()
                    .flatten()
                    .map(|value| kind.show(value))
                {
                    assert!(
                        !is_taken(&beyond),
                        "{} {name}: {beyond} is taken beside {lowest} to {highest}",
                        info.name
                    );
                }
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count} ranges");
}

/// The unit named in help for bare numbers.
#[test]
fn bare_numbers_are_in_the_unit_that_help_names() {
    for kind in [
        Kind::Size,
        Kind::Time,
        Kind::Seconds,
        Kind::Milliseconds,
        Kind::LinkRate,
    ] {
        let unit = kind
            .bare_unit()
            .unwrap_or_else(|| panic!("{kind:?} has none"));
        let written = unit.replace("bytes", "b").replace("bit/s", "bit");
        assert_eq!(
            kind.read("7"),
            kind.read(&format!("7{written}")),
            "{kind:?}"
        );
    }
    assert!(
        [Kind::Count, Kind::Number, Kind::Switch]
            .iter()
            .all(|kind| kind.bare_unit().is_none())
    );
}

#[test]
fn limits_are_read_in_any_order() {
    let limit = |text: &str| parse(text).limit;
    let both = |packets, bytes| Some(Limit { packets, bytes });
    assert_eq!(limit("fifo"), None);
    assert_eq!(limit("fifo limit 1000"), Some(Limit::of_packets(1000)));
    assert_eq!(limit("fifo limit 1000p"), Some(Limit::of_packets(1000)));
    assert_eq!(limit("fifo limit 150kb"), Some(Limit::of_bytes(150 << 10)));
    assert_eq!(limit("fifo memory_limit 32mb"), both(1000, 32 << 20));
    for (one, two, expected) in [
        ("limit 7", "memory_limit 32mb", both(7, 32 << 20)),
        (
            "limit 150kb",
            "memory_limit 32mb",
            both(u64::MAX, 150 << 10),
        ),
        (
            "limit 32mb",
            "memory_limit 150kb",
            both(u64::MAX, 150 << 10),
        ),
    ] {
        assert_eq!(limit(&format!("fifo {one} {two}")), expected);
        assert_eq!(limit(&format!("fifo {two} {one}")), expected);
    }
}

/// Before, the last value won silently.
#[test]
fn what_is_written_twice_is_an_error() {
    for discipline in AnyDiscipline::all() {
        let name = discipline.name();
        let texts = discipline
            .visit(Written)
            .legal
            .into_iter()
            .map(|text| text[name.len()..].to_owned());
        for parameter in
            texts.chain([" limit 7", " limit 7kb", " memory_limit 7b"].map(str::to_owned))
        {
            let twice = error(&format!("{name}{parameter}{parameter}"));
            let word = parameter.split_whitespace().next().unwrap_or_default();
            assert_eq!(
                twice,
                format!("{name}: {word} is written twice; expected it once")
            );
        }
    }
    assert_eq!(
        error("fq_codel ecn target 5ms noecn"),
        "fq_codel: ecn and noecn exclude each other; expected one of them"
    );
    assert_eq!(
        error("fq_codel noecn ecn"),
        "fq_codel: noecn and ecn exclude each other; expected one of them"
    );
}

/// As in tc, with separate parameters for packets and memory.
#[test]
fn a_limit_in_packets_leaves_the_default_memory_and_the_other_way_round() {
    for discipline in AnyDiscipline::all() {
        let (name, default) = (discipline.name(), discipline.default_limit());
        assert_eq!(parse(name).limit_or_default(), default);
        let bare = if default.is_in_bytes() {
            Limit::of_bytes(7)
        } else {
            Limit {
                packets: 7,
                ..default
            }
        };
        assert_eq!(
            parse(&format!("{name} limit 7")).limit,
            Some(bare),
            "as tc counts: bytes for red, tbf and cake"
        );
        assert_eq!(
            parse(&format!("{name} limit 7p")).limit,
            Some(Limit {
                packets: 7,
                ..default
            })
        );
        assert_eq!(
            parse(&format!("{name} memory_limit 7b")).limit,
            Some(Limit {
                bytes: 7,
                ..default
            })
        );
        assert_eq!(
            parse(&format!("{name} limit 7b")).limit,
            Some(Limit::of_bytes(7))
        );
    }
}

#[test]
fn hostile_specs_are_errors() {
    for text in [
        "",
        " ",
        "\0",
        "FIFO",
        "fifo,",
        "fifo limit",
        "fifo limit limit",
        "fifo limit -1",
        "fifo limit 1.5",
        "fifo limit p",
        "fifo limit 99999999999999999999999999",
        "fifo limit 18446744073709551616b",
        "fifo limit 1e9",
        "fifo limit NaN",
        "fifo memory_limit",
        "fifo memory_limit 17179869184gb",
        "drr quantum",
        "drr quantum 0",
        "drr quantum -0",
        "drr quantum ٣",
        "drr quantum 1514\u{200b}b",
        "drr quantum 99999999999999999999999999999999999999999999999999",
        "drr quantum 0.0000000000001gb",
        "drr noquantum",
        "drr 1514",
        "sfq divisor 1000",
        "sfq perturb 1us",
        "fq_codel target 5lightyears",
        "fq_codel noecn 5",
        "größe 1",
    ] {
        error(text);
    }
}

#[test]
fn what_can_be_read_can_be_built() {
    for discipline in AnyDiscipline::all() {
        for text in discipline.visit(Written).legal {
            assert!(
                parse(&text).discipline.build::<()>(Seed::new(1)).is_ok(),
                "{text}"
            );
        }
    }
}

const WORDS: [&str; 24] = [
    "fifo",
    "drr",
    "sfq",
    "qfq",
    "fq_codel",
    "wf2q_plus",
    "limit",
    "memory_limit",
    "quantum",
    "target",
    "interval",
    "flows",
    "ecn",
    "noecn",
    "divisor",
    "perturb",
    "1000",
    "1000p",
    "150kb",
    "5ms",
    "0",
    "18446744073709551615",
    "🦀",
    "nolimit",
];

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        let _ = text.parse::<QueueSpec>();
    }

    #[test]
    fn any_words_are_read_or_refused_and_what_is_read_reads_back(words in prop::collection::vec(prop::sample::select(&WORDS), 1..8)) {
        if let Ok(spec) = words.join(" ").parse::<QueueSpec>() {
            let again = parse(&spec.discipline.to_string());
            prop_assert_eq!(values(&again.discipline), values(&spec.discipline));
        }
    }
}

#[test]
fn parameters_that_need_another_one_are_errors_alone() {
    assert!(error("red nodrop").contains("ecn") && error("choke min 250").contains("250"));
    assert!(error("red nodrop noecn").contains("tc refuses"));
    let lengths = |text: &str| match parse(text).discipline {
        AnyDiscipline::Choke(config) => config.thresholds_and_burst(),
        other => panic!("{other}"),
    };
    // As tc does with its limit of 1000 packets: max is a quarter of the limit, whatever min is.
    assert_eq!(
        (lengths("choke min 100"), lengths("choke")),
        ((100, 250, 150), (83, 250, 138))
    );
}

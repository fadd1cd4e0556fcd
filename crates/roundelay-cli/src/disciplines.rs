//! `roundelay list` and `roundelay help DISCIPLINE`.

use std::fmt::Write;

use roundelay::schedulers::{AnyDiscipline, DisciplineInfo, Linux, ParameterInfo};
use roundelay::suggestion::nearest;
use roundelay::{ConfigError, Fault, QueueSpec};
use roundelay_report::{Printed, json, wrap};
use serde::Serialize;

use crate::failure::Failure;

/// All disciplines.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    disciplines: Vec<Listed>,
}

impl Printed for Report {
    const SCHEMA: &'static str = "list/1";
}

/// A discipline.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Listed {
    /// Its name on the command line.
    name: &'static str,
    /// A line of description.
    about: &'static str,
    /// Whether flows can have weights.
    weighted: bool,
    /// Its name in Linux's tc, if Linux has it.
    linux: Option<&'static str>,
}

impl Listed {
    fn of(info: &DisciplineInfo) -> Self {
        let mut linux = None;
        if let Linux::Qdisc { name, .. } = info.linux {
            linux = Some(name);
        }
        Self {
            name: info.name,
            about: info.about,
            weighted: info.weighted,
            linux,
        }
    }
}

/// All disciplines, one per line.
pub(crate) fn list(as_json: bool) -> String {
    let all: Vec<_> = AnyDiscipline::all()
        .iter()
        .map(AnyDiscipline::info)
        .collect();
    if as_json {
        let mut disciplines = Vec::new();
        for info in &all {
            disciplines.push(Listed::of(info));
        }
        return json(&Report { disciplines });
    }
    let width = all.iter().map(|info| info.name.len()).max().unwrap_or(0);
    all.iter().fold(String::new(), |text, info| {
        text + &format!("{:width$}  {}\n", info.name, info.about)
    })
}

/// A discipline's help text: what it does, and its parameters.
///
/// # Errors
/// No discipline has the name, nor has a command, because commands have help of their own.
pub(crate) fn help(name: &str, commands: &[&str]) -> Result<String, Failure> {
    // The kernel's modules have such names.
    let name = name.strip_prefix("sch_").unwrap_or(name);
    if let Some((_, text)) = ONLY_IN_TREES.iter().find(|(class, _)| *class == name) {
        return Ok((*text).to_owned());
    }
    // tc's names answer as `compare` takes them, where a bfifo needs a limit.
    let known = match name.parse::<QueueSpec>() {
        Ok(spec) => Ok(spec.discipline),
        Err(error @ ConfigError::NotHere { .. }) => return Err(Failure::usage(error)),
        Err(_) if name == "bfifo" => AnyDiscipline::named("fifo"),
        Err(_) => AnyDiscipline::named(name),
    };
    let discipline = match known {
        Ok(discipline) => discipline,
        Err(error) => {
            let fault = match nearest(name, commands.iter().copied()) {
                Some(command) => Fault::new(format!(
                    "'{name}' is no command and no discipline; did you mean the command \
                     '{command}'? 'roundelay --help' has all"
                ))
                .with_given(name)
                .with_meant(Some(command)),
                None => Fault::from(error).with_hint("; 'roundelay list' describes all"),
            };
            return Err(Failure::usage(fault));
        }
    };
    let info = discipline.info();
    let about = wrap(&format!("{}: {}", info.name, info.about), WIDTH - 2);
    let mut text = format!("{}\n\n", about.join("\n  "));
    if name.split_whitespace().next() != Some(info.name) {
        text = format!("'{name}' in tc is '{}' here.\n\n{text}", info.name);
    }
    let mut rows = vec![ParameterRow {
        name: "parameter",
        default: "default".to_owned(),
        range: "legal range".to_owned(),
        bare_unit: "bare number",
        meaning: "",
    }];
    rows.extend(discipline.parameters().iter().map(ParameterRow::of));
    let roundelay::Limit { packets, bytes } = info.default_limit;
    let memory = if bytes == u64::MAX {
        "unlimited".to_owned()
    } else {
        roundelay::Bytes(bytes).to_string()
    };
    let (limit, bare_unit, meaning) = match (info.default_limit.is_in_bytes(), packets) {
        (true, _) => (
            memory.clone(),
            "bytes",
            "size of the buffer: bytes (150000 or 150kb) or packets (1000p); 0 drops all packets \
             (not in compare)",
        ),
        (false, u64::MAX) => ("unlimited".to_owned(), "packets", LIMIT_IN_PACKETS),
        (false, packets) => (packets.to_string(), "packets", LIMIT_IN_PACKETS),
    };
    rows.push(ParameterRow {
        name: "limit",
        default: limit,
        range: "0 or more".to_owned(),
        bare_unit,
        meaning,
    });
    rows.push(ParameterRow {
        name: "memory_limit",
        default: memory,
        range: "0b or more".to_owned(),
        bare_unit: "bytes",
        meaning: "size of the buffer in bytes",
    });
    if info.weighted {
        rows.push(ParameterRow {
            name: "(weight)",
            default: "1".to_owned(),
            range: format!("1 to {}", info.max_weight),
            bare_unit: "",
            meaning: "of a flow, set with --weight 'RULE = N' or --weights FILE",
        });
    }
    write_rows(&mut text, &rows);
    text.push_str(
        "\nA bare number has the unit of its column. Each parameter may be written once.\n",
    );
    let order = if info.reorders {
        "may leave in another order than they came"
    } else {
        "leave in the order in which they came"
    };
    let linux = match info.linux {
        Linux::Absent => "not in Linux".to_owned(),
        Linux::Qdisc { name, .. } => format!("tc qdisc {name}"),
    };
    let source = wrap(&format!("Source: {}", info.source), WIDTH - 2).join("\n  ");
    let _ = write!(
        text,
        "Packets of one flow {order}.\nLinux: {linux}\n{source}\nMore: docs/schedulers/{}.md\n",
        info.name
    );
    Ok(text)
}

/// Classes of trees with their help. They hold no packets themselves.
const ONLY_IN_TREES: [(&str, &str); 2] = [
    (
        "htb",
        "htb: hierarchical token buckets: classes with rates, which borrow what others leave

It is a class of a tree, with leaves below it that hold packets: write a file with a node for each
class, for roundelay compare capture.pcap --rate 20mbit --tree FILE. 'roundelay import' makes the
file of a script.

Keys of the node itself, in \"htb r2q 20\":
  r2q      10               a class without quantum has its rate over this number
Keys of a node below it:
  rate     must be written  what the class may send without borrowing, as in 2mbit
  ceil     the rate         what it may send with borrowing
  prio     0                0 to 7: the smallest borrows first
  quantum  rate / r2q       bytes of a turn beside classes of its prio
  burst    as tc            bytes at once at the rate
  cburst   as tc            bytes at once at the ceil
  direct   false            in place of all these: packets of no class, before all classes

Linux: tc qdisc htb
Source: tc-htb(8)
More: docs/trees.md
",
    ),
    (
        "hfsc",
        "hfsc: hierarchical fair service curves: classes with delays and shares, set apart

It is a class of a tree, with leaves below it that hold packets: write a file with a node for each
class, for roundelay compare capture.pcap --rate 20mbit --tree FILE. 'roundelay import' makes the
file of a script.

Keys of a node below it, each a curve such as \"2mbit\", \"m1 10mbit d 10ms m2 2mbit\" or
\"umax 1500 dmax 5ms rate 64kbit\":
  rt  what a leaf's packets are promised whatever the others do
  ls  how a class shares with its siblings what is left
  ul  what sharing gives it at most

Linux: tc qdisc hfsc
Source: Stoica, Zhang, Ng, A Hierarchical Fair Service Curve Algorithm, SIGCOMM 1997; tc-hfsc(7)
More: docs/trees.md
",
    ),
];

const LIMIT_IN_PACKETS: &str =
    "size of the buffer: packets (1000) or bytes (150kb); 0 drops all packets (not in compare)";

/// A row in the table of parameters.
struct ParameterRow {
    name: &'static str,
    default: String,
    /// The legal range.
    range: String,
    /// The unit of a number without one.
    bare_unit: &'static str,
    meaning: &'static str,
}

impl ParameterRow {
    fn of(parameter: &ParameterInfo) -> Self {
        Self {
            name: parameter.name,
            default: parameter.value.clone(),
            range: parameter.legal(),
            bare_unit: parameter.kind.bare_unit().unwrap_or_default(),
            meaning: parameter.about,
        }
    }
}

/// The columns that a help text may fill.
const WIDTH: usize = 80;
/// A longer text widens no column, and a longer legal range stands below, with the meaning.
const LONGEST_CELL: usize = 28;

/// A line for each parameter, and its meaning below.
fn write_rows(text: &mut String, rows: &[ParameterRow]) {
    let mut name_width = 0;
    let mut default_width = 0;
    let mut range_width = 0;
    for row in rows {
        widen(&mut name_width, row.name);
        widen(&mut default_width, &row.default);
        widen(&mut range_width, &row.range);
    }
    for ParameterRow {
        name,
        default,
        range,
        bare_unit,
        meaning,
    } in rows
    {
        let is_short = range.len() <= LONGEST_CELL;
        let shown = if is_short { range } else { "below" };
        let line = format!(
            "  {name:name_width$}  {default:default_width$}  {shown:range_width$}  {bare_unit}"
        );
        let _ = writeln!(text, "{}", line.trim_end());
        let mut below = (*meaning).to_owned();
        if !is_short {
            below = format!("{meaning}: {range}");
        }
        if below.is_empty() {
            continue;
        }
        for line in wrap(&below, WIDTH - 6) {
            let _ = writeln!(text, "      {line}");
        }
    }
}

/// Makes a column wide enough for a text, unless the text is long.
fn widen(width: &mut usize, text: &str) {
    if text.len() <= LONGEST_CELL {
        *width = (*width).max(text.len());
    }
}

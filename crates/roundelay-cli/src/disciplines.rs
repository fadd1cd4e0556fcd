//! `roundelay list` and `roundelay help DISCIPLINE`.

use std::fmt::Write;

use roundelay::schedulers::{AnyDiscipline, DisciplineInfo, ParameterInfo};

use crate::failure::Failure;

/// All disciplines, one a line.
pub(crate) fn list(json: bool) -> String {
    let all: Vec<_> = AnyDiscipline::all().iter().map(AnyDiscipline::info).collect();
    if json {
        let entry = |info: &DisciplineInfo| {
            format!("  {{\"name\": {:?}, \"about\": {:?}, \"weighted\": {}}}", info.name, info.about, info.weighted)
        };
        return format!("[\n{}\n]\n", all.iter().map(entry).collect::<Vec<_>>().join(",\n"));
    }
    let width = all.iter().map(|info| info.name.len()).max().unwrap_or(0);
    all.iter().fold(String::new(), |text, info| text + &format!("{:width$}  {}\n", info.name, info.about))
}

/// What a discipline is and what can be set.
pub(crate) fn help(name: &str) -> Result<String, Failure> {
    let info = AnyDiscipline::named(name).map_err(Failure::usage)?.info();
    let mut text = format!("{}: {}\n\n", info.name, info.about);
    let mut rows: Vec<_> = info.parameters.iter().map(row).collect();
    let roundelay::Limit { packets, bytes } = info.default_limit;
    let memory = if bytes == u64::MAX { "unlimited".to_owned() } else { roundelay::Bytes(bytes).to_string() };
    let (limit, what) = match (info.default_limit.is_in_bytes(), packets) {
        (true, _) => (memory.clone(), "what its buffer holds: bytes (150000 or 150kb) or packets (1000p)"),
        (false, u64::MAX) => ("unlimited".to_owned(), "what its buffer holds: packets (1000) or bytes (150kb)"),
        (false, packets) => (packets.to_string(), "what its buffer holds: packets (1000) or bytes (150kb)"),
    };
    rows.push(["limit".to_owned(), limit, "0 or more".to_owned(), what.to_owned()]);
    rows.push(["memory_limit".to_owned(), memory, "0b or more".to_owned(), "bytes that its buffer holds".to_owned()]);
    if info.weighted {
        let ranges = "1 to 1024";
        rows.push([
            "(weight)".to_owned(),
            "1".to_owned(),
            ranges.to_owned(),
            "of a flow, set with --weight 'RULE = N' or --weights FILE".to_owned(),
        ]);
    }
    let head = ["parameter", "default", "legal range", ""].map(str::to_owned);
    rows.insert(0, head);
    write_rows(&mut text, &rows);
    let order = if info.reorders { "may leave in another order than they came" } else { "leave in the order in which they came" };
    let _ = write!(text, "\nPackets of one flow {order}.\nSource: {}\nMore: docs/schedulers/{}.md\n", info.source, info.name);
    Ok(text)
}

fn row(parameter: &ParameterInfo) -> [String; 4] {
    let (min, max) = &parameter.range;
    let range = if parameter.is_switch { format!("{0} or no{0}", parameter.name) } else { format!("{min} to {max}") };
    [parameter.name.to_owned(), parameter.value.clone(), range, parameter.about.to_owned()]
}

fn write_rows(text: &mut String, rows: &[[String; 4]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let [name, default, range] = [0, 1, 2].map(width);
    for row in rows {
        let line = format!("  {:name$}  {:default$}  {:range$}  {}", row[0], row[1], row[2], row[3]);
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

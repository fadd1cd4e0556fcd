//! `roundelay bench`: what a packet costs.

use std::ffi::OsString;

use roundelay::schedulers::{AnyDiscipline, Discipline, Spec, fifo};
use roundelay_bench::{Counts, Load, Passed, Subject, Timing, count, run_pairs, time};

use serde_json::{Value, json};

use crate::arguments::Bench;
use crate::failure::Failure;
use crate::print;

/// A subject that sends less than this part of its packets is busy with dropping.
const NEARLY_ALL: f64 = 0.99;

/// Packets in a round, at least: long enough that the order of the free list does not matter.
const PAIRS: u64 = 1_000_000;

pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if let Some(pairs) = arguments.once {
        return once(arguments, pairs);
    }
    let subjects = subjects(&arguments.disciplines);
    let mut tables = Vec::new();
    for load in loads(arguments) {
        let rows = if arguments.instructions { counts(&subjects, &load)? } else { timings(arguments, &subjects, &load)? };
        tables.push(Table { load, rows });
    }
    if arguments.json {
        let tables: Vec<Value> = tables.iter().map(Table::to_json).collect();
        return print(&format!("{:#}\n", Value::Array(tables)));
    }
    print(&tables.iter().map(Table::to_text).collect::<String>())
}

/// What subjects cost under one load.
struct Table {
    load: Load,
    rows: Vec<Row>,
}

/// What one subject costs a packet: figures by name, the first being the one that is compared.
struct Row {
    subject: String,
    figures: Vec<(&'static str, f64)>,
    passed: Passed,
}

impl Table {
    /// The first figure without what the generator takes of it.
    fn net(&self, row: &Row) -> f64 {
        row.figures[0].1 - self.rows[0].figures[0].1
    }

    fn to_json(&self) -> Value {
        let figures = |row: &Row| {
            let mut object = serde_json::Map::new();
            object.insert("subject".to_owned(), row.subject.clone().into());
            object.extend(row.figures.iter().map(|(name, value)| ((*name).to_owned(), rounded(*value).into())));
            object.insert("net".to_owned(), rounded(self.net(row)).into());
            object.insert("sent".to_owned(), row.passed.share().into());
            Value::Object(object)
        };
        let Load { flows, pattern, lengths, memory } = &self.load;
        let rows: Vec<Value> = self.rows.iter().map(figures).collect();
        json!({
            "flows": flows.to_string(), "pattern": pattern.name(), "memory": memory.name(), "lengths": lengths.to_string(),
            "a_packet": rows,
        })
    }

    fn to_text(&self) -> String {
        let Load { flows, pattern, lengths, memory } = &self.load;
        let mut text = format!("{flows} flows, {}, {}, lengths {lengths}\n  {:32}", pattern.name(), memory.name(), "a packet");
        let heads = self.rows[0].figures.iter().map(|(name, _)| *name).chain(["net"]);
        heads.for_each(|head| text += &format!(" {head:>12}"));
        for row in &self.rows {
            text += &format!("\n  {:32}", row.subject);
            let figures = row.figures.iter().map(|(_, value)| *value).chain([self.net(row)]);
            figures.for_each(|figure| text += &format!(" {figure:12.2}"));
            let share = row.passed.share();
            if share < NEARLY_ALL && row.subject != self.rows[0].subject {
                text += &format!("  sent {:.1}% of the packets: no cost of forwarding", share * 100.0);
            }
        }
        text + "\n\n"
    }
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn loads(arguments: &Bench) -> Vec<Load> {
    let mut loads = Vec::new();
    for flows in &arguments.flows {
        for &pattern in &arguments.pattern {
            loads.extend(arguments.memory.iter().map(|&memory| Load { flows: flows.clone(), pattern, lengths: arguments.lengths, memory }));
        }
    }
    loads
}

/// The generator, FIFO and what was asked for; all disciplines if nothing was.
fn subjects(asked: &[Spec]) -> Vec<Subject> {
    let mut disciplines: Vec<_> = asked.iter().map(|spec| spec.discipline.clone()).collect();
    if disciplines.is_empty() {
        disciplines = AnyDiscipline::all();
    }
    if !disciplines.iter().any(|discipline| discipline.name() == fifo::Config::NAME) {
        disciplines.insert(0, AnyDiscipline::Fifo(fifo::Config));
    }
    std::iter::once(Subject::Generator).chain(disciplines.into_iter().map(Subject::Discipline)).collect()
}

/// What the program does when it runs itself under valgrind.
fn once(arguments: &Bench, pairs: u64) -> Result<(), Failure> {
    let subject = arguments.disciplines.first().map_or(Subject::Generator, |spec| Subject::Discipline(spec.discipline.clone()));
    for load in loads(arguments) {
        run_pairs(&subject, &load, pairs).map_err(Failure::usage)?;
    }
    Ok(())
}

fn counts(subjects: &[Subject], load: &Load) -> Result<Vec<Row>, Failure> {
    let row = |subject: &Subject| {
        let Counts { instructions, first_level_misses, last_level_misses, passed } = count(subject, load, child).map_err(Failure::run)?;
        let figures = vec![("instructions", instructions), ("D1 misses", first_level_misses), ("LL misses", last_level_misses)];
        Ok(Row { subject: subject.name(), figures, passed })
    };
    subjects.iter().map(row).collect()
}

/// The words by which the program runs itself under valgrind.
fn child(subject: &Subject, load: &Load, pairs: u64) -> Vec<OsString> {
    let discipline = match subject {
        Subject::Generator => None,
        Subject::Discipline(discipline) => Some(discipline.to_string()),
    };
    let options = [
        ("--flows", load.flows.to_string()),
        ("--pattern", load.pattern.name().to_owned()),
        ("--memory", load.memory.name().to_owned()),
        ("--lengths", load.lengths.to_string()),
        ("--once", pairs.to_string()),
    ];
    let options = options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
    ["bench".to_owned()].into_iter().chain(discipline).chain(options).map(OsString::from).collect()
}

fn timings(arguments: &Bench, subjects: &[Subject], load: &Load) -> Result<Vec<Row>, Failure> {
    let pairs = arguments.pairs.unwrap_or(PAIRS).max(u64::from(load.flows.flows()) * 60);
    let row = |timing: &Timing| {
        let (least, most) = timing.spread();
        let figures = vec![("ns", timing.median()), ("least ns", least), ("most ns", most)];
        Row { subject: timing.subject.clone(), figures, passed: timing.passed }
    };
    Ok(time(subjects, load, pairs, arguments.rounds.into()).map_err(Failure::usage)?.iter().map(row).collect())
}

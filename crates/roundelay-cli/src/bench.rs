//! `roundelay bench`: what a packet costs, in CPU time or instructions.

pub(crate) mod arguments;
mod chart;
mod huge_pages;
mod measure;
mod measured;
pub(crate) mod outputs;
pub(crate) mod saved;
mod table;

use std::path::Path;

use roundelay::schedulers::{AnyDiscipline, Discipline, fifo};
use roundelay_bench::{Load, MadeTree, Memory, Subject, TreeSubject, run_hold, run_pairs};
use roundelay_sim::scenario::Measures;
use roundelay_trace::Stop;

use crate::compare::read_tree;
use crate::failure::Failure;
use crate::host;
use crate::outputs::finish_all;
use crate::terminal::print;
use arguments::Bench;
use measure::Measure;
use measured::Measured;
use saved::Saved;

pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if host::program_file().is_some()
        && (arguments.instructions || arguments.check.is_some() || arguments.huge_pages)
    {
        return Err(Failure::usage(
            "--instructions, --check and --huge-pages start the command anew, which needs the \
             program built by cargo, not the Python package",
        ));
    }
    if let Some(pairs) = arguments.once {
        return once(arguments, pairs);
    }
    if let Some(file) = &arguments.check {
        return check(file, f64::from(arguments.tolerance));
    }
    if arguments.huge_pages {
        huge_pages::insist()?;
    }
    let read = arguments.against.as_deref().map(|file| ("--against", file));
    arguments.outputs.check(read, &Measures::default(), 1)?;
    if arguments.outputs.has("svg") {
        chart::check(&arguments.flows)?;
    }
    let files = arguments.outputs.begin(&Measures::default(), &())?;
    let against = arguments.against.as_deref().map(Saved::read).transpose()?;
    let measure = Measure::new(arguments);
    let mut all = Vec::new();
    let mut has_compared = false;
    // Each text table is printed as soon as it is ready, but JSON only once at the end.
    let mut show = |measured: Vec<Measured>, text: String| {
        all.extend(measured);
        if arguments.outputs.has("json") {
            Ok(())
        } else {
            print(&text)
        }
    };
    if arguments.huge_pages {
        show(Vec::new(), "In huge pages.\n\n".to_owned())?;
    }
    let subjects = subjects(arguments)?;
    for loads in loads(arguments) {
        let mut measured = measure.run(&subjects, &loads)?;
        if let Some(saved) = &against {
            has_compared |= saved.compare(&mut measured)?;
        }
        let text = table::text(&measured);
        show(measured, text)?;
    }
    finish_all(files, &all)?;
    // Instruction counts have no noise, so rounds mean nothing to them.
    let rounds = if arguments.instructions {
        None
    } else {
        Some(arguments.rounds)
    };
    print(
        &arguments
            .outputs
            .printed(&all)?
            .unwrap_or_else(|| table::hints(&all, rounds)),
    )?;
    match &arguments.against {
        Some(file) if !has_compared => Err(Failure::usage(format!(
            "--against {}: the file has none of the measured rows",
            file.display()
        ))),
        _ => Ok(()),
    }
}

/// Groups loads that differ in memory alone, because they are measured in turns and printed side by
/// side.
fn loads(arguments: &Bench) -> Vec<Vec<Load>> {
    let mut loads = Vec::new();
    let order = arguments.order;
    for flows in &arguments.flows {
        for &pattern in &arguments.pattern {
            for &burst in &arguments.burst {
                let load = |&memory: &Memory| Load {
                    flows: flows.clone(),
                    pattern,
                    order,
                    lengths: arguments.lengths,
                    memory,
                    burst,
                };
                loads.push(arguments.memory.iter().map(load).collect());
            }
        }
    }
    loads
}

/// The generator, FIFO, and the requested disciplines and trees, or all disciplines if none is
/// requested. With `handles` each discipline is measured by handle as well.
fn subjects(arguments: &Bench) -> Result<Vec<Subject>, Failure> {
    let asked = arguments.disciplines.iter();
    let mut disciplines: Vec<_> = asked.map(|spec| spec.discipline.clone()).collect();
    if disciplines.is_empty() && arguments.tree.is_empty() {
        disciplines = AnyDiscipline::all();
    }
    if !disciplines
        .iter()
        .any(|discipline| discipline.name() == fifo::Config::NAME)
    {
        disciplines.insert(0, AnyDiscipline::Fifo(fifo::Config));
    }
    let mut subjects = vec![Subject::Generator];
    for discipline in disciplines {
        subjects.push(Subject::Discipline(discipline.clone()));
        if arguments.handles {
            subjects.push(Subject::ByHandle(discipline));
        }
    }
    for text in &arguments.tree {
        subjects.push(Subject::Tree(tree(text)?));
    }
    Ok(subjects)
}

/// A tree made of classes, which has a colon, or one in a file.
fn tree(text: &str) -> Result<TreeSubject, Failure> {
    if text.contains(':') {
        let made: MadeTree = text
            .parse()
            .map_err(|error| Failure::usage(format!("--tree {error}")))?;
        return Ok(made.into());
    }
    let (tree, _) = read_tree(Path::new(text), &Stop::default())?;
    Ok(TreeSubject {
        text: text.to_owned(),
        config: tree.config().clone(),
    })
}

/// Runs one load, or one hold model, and prints nothing. This is the child process under valgrind.
fn once(arguments: &Bench, pairs: u64) -> Result<(), Failure> {
    if let (Some(held), Some(holder)) = (arguments.hold, &arguments.holder) {
        return run_hold(holder, held, pairs).map_err(Failure::usage);
    }
    let subject = match (arguments.tree.first(), arguments.disciplines.first()) {
        (Some(text), _) => Subject::Tree(tree(text)?),
        (None, Some(spec)) if arguments.handles => Subject::ByHandle(spec.discipline.clone()),
        (None, Some(spec)) => Subject::Discipline(spec.discipline.clone()),
        (None, None) => Subject::Generator,
    };
    for load in loads(arguments).concat() {
        run_pairs(&subject, &load, pairs).map_err(Failure::refused)?;
    }
    Ok(())
}

/// Counts the instructions of a `--save` file again.
fn check(file: &Path, tolerance: f64) -> Result<(), Failure> {
    let saved = Saved::read(file)?;
    let mut beyond = Vec::new();
    for (subjects, load) in saved.measurements()? {
        let mut measured = Measure::Instructions.run(&subjects, &[load])?;
        saved.compare(&mut measured)?;
        beyond.extend(table::beyond(&measured, tolerance));
        print(&table::text(&measured))?;
    }
    if beyond.is_empty() {
        return print(&format!(
            "No net cost differs by more than {tolerance}% from {}.\n",
            file.display()
        ));
    }
    let count = beyond.len();
    let list = beyond.join("\n  ");
    Err(Failure::run(format!(
        "{count} net costs differ by more than {tolerance}% from {}{}\n  {list}",
        file.display(),
        saved.other_compiler()
    )))
}

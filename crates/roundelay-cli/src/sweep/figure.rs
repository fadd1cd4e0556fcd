//! The figure of `--figure`, for the source it names or else for the last one.

use roundelay::Fault;
use roundelay_report::SWEEP_FIGURES;

use super::point::Check;
use crate::failure::Failure;

/// The source that `--figure` names, if it names one, and the figure's number.
pub(super) fn source_and_number(text: &str) -> Result<(Option<&str>, usize), Failure> {
    let (source, figure) = match text.rsplit_once('.') {
        Some((source, figure)) => (Some(source), figure),
        None => (None, text),
    };
    let Some(number) = SWEEP_FIGURES.iter().position(|known| *known == figure) else {
        let fault = Fault::no_such("figure", figure, &SWEEP_FIGURES);
        let fault = fault.behind(format_args!("--figure {text}: "));
        return Err(Failure::usage(fault));
    };
    Ok((source, number))
}

/// # Errors
/// The results have no such source.
pub(super) fn check_source(text: &str, source: &str, sources: &[String]) -> Result<(), Failure> {
    if sources.iter().any(|known| known == source) {
        return Ok(());
    }
    let known: Vec<&str> = sources.iter().map(String::as_str).collect();
    let fault = Fault::no_such("source", source, &known);
    Err(Failure::usage(
        fault.behind(format_args!("--figure {text}: ")),
    ))
}

/// Refuses, before any run, a figure that no run of the scenario can have.
pub(super) fn check_figure(text: &str, check: &Check<'_>) -> Result<(), Failure> {
    let (source, _) = source_and_number(text)?;
    let Some(source) = source else {
        return Ok(());
    };
    // All points of a scenario have the same sources.
    let mut sources: Vec<String> = Vec::new();
    let mut read: Vec<&str> = Vec::new();
    for point in &check.plan.points {
        let base = check.plan.base(point);
        if read.contains(&&*base.label) {
            continue;
        }
        read.push(&base.label);
        let (_, scenario) = check.scenario(point).map_err(Failure::usage)?;
        for group in &scenario.groups {
            if !sources.contains(&group.name) {
                sources.push(group.name.clone());
            }
        }
    }
    if sources.len() > 1 {
        sources.push("all".to_owned());
    }
    check_source(text, source, &sources)
}

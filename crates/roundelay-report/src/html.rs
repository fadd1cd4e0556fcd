//! HTML report: a comparison or a simulation as one self-contained page.
//!
//! All text is written here, so the page is complete without JavaScript. The script draws the
//! charts from data embedded as JSON. Every string from a capture goes through [`escape`] or the
//! frame's `embed`.

mod data;
mod frame;
mod paper;
mod simulation;
mod summary;

pub(crate) use frame::escape;
use frame::{Frame, fact, fill, notes};
pub use paper::{Folded, ItemPage, Picture, item_html};
pub use simulation::{Page, simulation_html};

use roundelay_trace::{Comparison, Kind};

use crate::advised::Advised;
use crate::recommendation::{Recommendation, Warning};
use crate::text::capitalised;
use crate::units::{count, percent, rate, seconds};

const TEMPLATE: &str = include_str!("../assets/report.html");
/// Tables and charts for a comparison.
const COMPARED: &str = include_str!("../assets/compared.html");
const SCRIPT: &str = include_str!("../assets/report.js");
/// For a page without charts: the choice of colours.
const PLAIN_SCRIPT: &str = "Roundelay.followTheme(() => {});";

/// The comparison as one self-contained HTML page: nothing is loaded, and the content security
/// policy forbids loading.
pub fn html(advised: &Advised) -> String {
    let Advised {
        comparison,
        notes: remarks,
        verdict,
        ..
    } = advised;
    let name = &comparison.capture.name;
    let (headline, reasons) = answer(verdict);
    let main = fill(TEMPLATE, |slot| match slot {
        "warning" if verdict.is_open => String::new(),
        "warning" => warning(verdict.reserve.as_ref(), "warning"),
        "answer" => escape(&headline),
        "figures" => figures(advised),
        "why" => escape(why(&reasons)),
        "more" => more(&reasons),
        "commands" => commands(verdict),
        "other" => warning(verdict.other.as_ref(), "other"),
        "facts" => facts(comparison),
        "notes" => notes(remarks),
        // Figures say nothing if the packets did not share a link.
        "compared" if verdict.is_open => String::new(),
        "compared" => fill(COMPARED, |slot| match slot {
            "summary" => summary::table(comparison, verdict.best),
            other => unreachable!("the template has a slot {other} that nothing fills"),
        }),
        other => unreachable!("the template has a slot {other} that nothing fills"),
    });
    let title = format!("{name} – Roundelay");
    let footer = format!(", seed {}", comparison.seed);
    let data = data::page(comparison, verdict);
    Frame {
        version: comparison.version,
        title: &title,
        name,
        main,
        footer: &footer,
        data: &data,
        style: "",
        script: if verdict.is_open {
            PLAIN_SCRIPT
        } else {
            SCRIPT
        },
    }
    .html()
}

/// Longest first sentence that is a headline as it is, in letters.
const HEADLINE: usize = 90;

/// The headline, and the sentences below it. A long first sentence is parted at its colon. Where
/// nothing is chosen, the headline asks.
fn answer(verdict: &Recommendation) -> (String, Vec<String>) {
    if let Some(asked) = verdict.reserve.as_ref().filter(|_| verdict.is_open) {
        let (headline, rest) = first_sentence(&asked.sentence);
        let mut below = vec![rest.to_owned()];
        below.extend(asked.command.clone());
        return (headline.to_owned(), below);
    }
    let Some((first, others)) = verdict.sentences.split_first() else {
        return ("No verdict.".to_owned(), Vec::new());
    };
    let mut reasons = others.to_vec();
    if first.len() > HEADLINE
        && let Some((what, rest)) = first.split_once(": ")
    {
        reasons.insert(0, capitalised(rest));
        return (format!("{what}."), reasons);
    }
    (first.clone(), reasons)
}

/// The sentence that says why: the first with a cause, or the first of all.
fn why(reasons: &[String]) -> &str {
    let mut sentences = Vec::new();
    for reason in reasons {
        sentences.push(reason.as_str());
    }
    let cause = sentences.iter().find(|text| text.contains("because"));
    cause.or(sentences.first()).copied().unwrap_or_default()
}

/// The other sentences, which readers open.
fn more(reasons: &[String]) -> String {
    let why = why(reasons);
    let mut text = String::new();
    for reason in reasons {
        if reason != why {
            text += &format!("    <p>{}</p>\n", escape(reason));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "  <details class=\"more\"><summary>More about this answer</summary>\n{text}  </details>"
    )
}

/// The first sentence, a question or not, and the others.
fn first_sentence(text: &str) -> (&str, &str) {
    let ends = ["? ", ". "].map(|end| text.find(end));
    match ends.into_iter().flatten().min() {
        Some(end) => (&text[..=end], &text[end + 2..]),
        None => (text, ""),
    }
}

/// Most figures below the headline.
const MOST_FIGURES: usize = 4;

/// What light flows get under the best discipline, beside what they get under the FIFO.
fn figures(advised: &Advised) -> String {
    let comparison = &advised.comparison;
    let Some(best) = advised.verdict.best else {
        return String::new();
    };
    let mut fifo = None;
    for (index, result) in comparison.disciplines.iter().enumerate() {
        if fifo.is_none() && index != best && result.name == "fifo" {
            fifo = Some(result);
        }
    }
    let Some(result) = comparison.disciplines.get(best) else {
        return String::new();
    };
    let mut entries = Vec::new();
    for (index, outcome) in result.kinds.iter().enumerate() {
        let (Some(p99), true) = (outcome.p99, outcome.kind != Kind::Bulk) else {
            continue;
        };
        let mut beside = String::new();
        if let Some(fifo) = fifo
            && let Some(theirs) = fifo.kinds[index].p99
        {
            beside = format!("<small>{} under fifo</small>", escape(&seconds(theirs)));
        }
        entries.push(format!(
            "    <div><dt>p99 delay, {}</dt><dd>{}{beside}</dd></div>",
            escape(outcome.kind.name()),
            escape(&seconds(p99))
        ));
    }
    entries.truncate(MOST_FIGURES);
    if entries.is_empty() {
        return String::new();
    }
    format!("  <dl class=\"figures\">\n{}\n  </dl>", entries.join("\n"))
}

/// What we say about the load, with the command that goes with it. Before the verdict this is that
/// another load would be right, after it what the other direction holds.
fn warning(warning: Option<&Warning>, class: &str) -> String {
    let Some(warning) = warning else {
        return String::new();
    };
    let role = if class == "warning" {
        " role=\"alert\""
    } else {
        ""
    };
    let mut text = format!(
        "  <p class=\"{class}\"{role}>{}</p>",
        escape(&warning.sentence)
    );
    if let Some(command) = &warning.command {
        text += &format!(
            "\n  <div class=\"commands\"><pre>{}</pre></div>",
            escape(command)
        );
    }
    text
}

fn commands(verdict: &Recommendation) -> String {
    if verdict.commands.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = verdict
        .commands
        .iter()
        .map(|command| escape(command))
        .collect();
    format!(
        "  <div class=\"commands\"><pre id=\"commands\">{}</pre><button type=\"button\" \
         id=\"copy\">Copy</button></div>",
        lines.join("\n")
    )
}

fn facts(comparison: &Comparison) -> String {
    let capture = &comparison.capture;
    let offered = capture.bytes as f64 * 8.0 / capture.seconds;
    let light = comparison.flows.iter().filter(|flow| flow.light).count() as u64;
    let facts = [
        ("Link", rate(comparison.link_rate as f64)),
        (
            "Offered",
            format!(
                "{} ({})",
                rate(offered),
                percent(offered / comparison.link_rate as f64)
            ),
        ),
        ("Duration", seconds(capture.seconds)),
        ("Packets", count(capture.packets)),
        (
            "Flows",
            format!(
                "{} ({} light)",
                count(comparison.flows.len() as u64),
                count(light)
            ),
        ),
        ("A flow is", capture.flow_by.clone()),
    ];
    facts.map(|(name, value)| fact(name, &value)).join("\n")
}

#[cfg(test)]
mod tests {
    use super::frame::{COMMON_SCRIPT, STYLE, UPLOT_LICENCE, UPLOT_SCRIPT, UPLOT_STYLE};
    use super::*;

    #[test]
    fn no_asset_closes_the_element_that_holds_it() {
        for script in [
            COMMON_SCRIPT,
            SCRIPT,
            simulation::SCRIPT,
            paper::SCRIPT,
            UPLOT_SCRIPT,
            UPLOT_LICENCE,
        ] {
            assert!(!script.to_lowercase().contains("</script") && !script.contains("<!--"));
        }
        for style in [STYLE, simulation::STYLE, paper::STYLE, UPLOT_STYLE] {
            assert!(!style.to_lowercase().contains("</style"));
        }
    }
}

//! HTML report: a comparison or a simulation as one self-contained page.
//!
//! All text is written here, so the page is complete without JavaScript; the script draws the
//! charts from data embedded as JSON. Every string from a capture goes through [`escape`] or
//! [`embed`].

mod data;
mod paper;
mod simulation;
mod summary;

pub use paper::{ItemPage, item_html};
pub use simulation::{Page, simulation_html};

use roundelay_trace::{Comparison, Kind};

use crate::advised::{Advised, Recommendation, Warning};
use crate::text::clean;
use crate::units::{count, percent, rate, seconds};

const FRAME: &str = include_str!("../assets/frame.html");
const TEMPLATE: &str = include_str!("../assets/report.html");
/// Tables and charts of a comparison.
const COMPARED: &str = include_str!("../assets/compared.html");
const STYLE: &str = include_str!("../assets/report.css");
const COMMON_SCRIPT: &str = include_str!("../assets/common.js");
const SCRIPT: &str = include_str!("../assets/report.js");
/// Of a page without charts: the choice of colours.
const PLAIN_SCRIPT: &str = "Roundelay.followTheme(() => {});";
const UPLOT_STYLE: &str = include_str!("../uplot/uPlot.min.css");
const UPLOT_SCRIPT: &str = include_str!("../uplot/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../uplot/LICENSE");

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
        "reasons" => escape(&reasons.join(" ")),
        "commands" => commands(verdict),
        "other" => warning(verdict.other.as_ref(), "other"),
        "facts" => facts(comparison),
        "notes" => notes(remarks),
        // Figures of packets that did not share a link say nothing.
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

/// The frame of a page around its content: head, colours, scripts.
struct Frame<'a> {
    /// Version of Roundelay.
    version: &'a str,
    /// Window title.
    title: &'a str,
    /// Heading at the top.
    name: &'a str,
    /// The content, in HTML.
    main: String,
    /// Footer text after the version.
    footer: &'a str,
    /// Chart data for the script, in JSON.
    data: &'a str,
    /// Styles of this kind of page, beside the common styles.
    style: &'a str,
    script: &'a str,
}

impl Frame<'_> {
    fn html(&self) -> String {
        fill(FRAME, |slot| match slot {
            "version" => escape(self.version),
            "title" => escape(self.title),
            "name" => escape(self.name),
            "main" => self.main.trim_end().to_owned(),
            "footer" => escape(self.footer),
            "data" => embed(self.data),
            "common_style" => STYLE.to_owned(),
            "style" => self.style.to_owned(),
            "common_script" => COMMON_SCRIPT.to_owned(),
            "script" => self.script.to_owned(),
            "uplot_style" => UPLOT_STYLE.to_owned(),
            "uplot_script" => UPLOT_SCRIPT.to_owned(),
            "uplot_licence" => UPLOT_LICENCE.to_owned(),
            other => unreachable!("the template has a slot {other} that nothing fills"),
        })
    }
}

/// Replaces each `{{slot}}` of `template` by a text. Inserted text is not scanned again, whatever
/// braces it contains.
fn fill(template: &str, text: impl Fn(&str) -> String) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (slot, after) = behind
            .split_once("}}")
            .expect("the template closes its slots");
        page.push_str(before);
        page.push_str(&text(slot));
        rest = after;
    }
    page + rest
}

/// `text` as HTML, in an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// JSON as the content of a `<script>`. Outside of strings JSON has neither `<` nor `>`, and inside
/// a string the escape is equivalent.
fn embed(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e")
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

/// The first sentence, a question or not, and the others.
fn first_sentence(text: &str) -> (&str, &str) {
    let ends = ["? ", ". "].map(|end| text.find(end));
    match ends.into_iter().flatten().min() {
        Some(end) => (&text[..=end], &text[end + 2..]),
        None => (text, ""),
    }
}

/// With a capital at its start.
fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().to_string() + letters.as_str(),
        None => String::new(),
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
    let mut told = Vec::new();
    for (place, outcome) in result.kinds.iter().enumerate() {
        let (Some(p99), true) = (outcome.p99, outcome.kind != Kind::Bulk) else {
            continue;
        };
        let mut beside = String::new();
        if let Some(fifo) = fifo
            && let Some(theirs) = fifo.kinds[place].p99
        {
            beside = format!("<small>{} under fifo</small>", escape(&seconds(theirs)));
        }
        told.push(format!(
            "    <div><dt>p99 delay, {}</dt><dd>{}{beside}</dd></div>",
            escape(outcome.kind.name()),
            escape(&seconds(p99))
        ));
    }
    told.truncate(MOST_FIGURES);
    if told.is_empty() {
        return String::new();
    }
    format!("  <dl class=\"figures\">\n{}\n  </dl>", told.join("\n"))
}

/// What is said of the load, and the command that goes with it: before the verdict that another
/// load would be right, after it what the other direction holds.
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

/// A fact of a list: a name in HTML, and a text.
fn fact(name: &str, value: &str) -> String {
    format!("    <div><dt>{name}</dt><dd>{}</dd></div>", escape(value))
}

/// Notes on oddities, if any.
fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut lines = Vec::new();
    for note in notes {
        lines.push(format!("    <li>{}</li>", escape(note)));
    }
    format!("  <ul class=\"notes\">\n{}\n  </ul>", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_not_filled_again() {
        let filled = fill("<{{one}}> <{{two}}>", |slot| {
            if slot == "one" {
                "{{two}}".to_owned()
            } else {
                slot.to_uppercase()
            }
        });
        assert_eq!(filled, "<{{two}}> <TWO>");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            escape("<a href='x' title=\"y\">&\u{202e}"),
            "&lt;a href=&#39;x&#39; title=&quot;y&quot;&gt;&amp;\u{fffd}"
        );
        assert_eq!(
            embed(r#"{"label":"</script><!--"}"#),
            r#"{"label":"\u003c/script\u003e\u003c!--"}"#
        );
    }

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

//! The frame of every page: head, colours, common scripts, and texts as HTML.
//!
//! Every string from a capture goes through [`escape`] or [`embed`].

use crate::text::clean;

const FRAME: &str = include_str!("../../assets/frame.html");
pub(super) const STYLE: &str = include_str!("../../assets/report.css");
pub(super) const COMMON_SCRIPT: &str = include_str!("../../assets/common.js");
pub(super) const UPLOT_STYLE: &str = include_str!("../../uplot/uPlot.min.css");
pub(super) const UPLOT_SCRIPT: &str = include_str!("../../uplot/uPlot.iife.min.js");
pub(super) const UPLOT_LICENCE: &str = include_str!("../../uplot/LICENSE");

/// What surrounds a page's content: head, colours, scripts.
pub(super) struct Frame<'a> {
    /// Version of Roundelay.
    pub(super) version: &'a str,
    /// Window title.
    pub(super) title: &'a str,
    /// Heading at the top.
    pub(super) name: &'a str,
    /// The content, in HTML.
    pub(super) main: String,
    /// Footer text after the version.
    pub(super) footer: &'a str,
    /// Chart data for the script, in JSON.
    pub(super) data: &'a str,
    /// This kind of page's styles, beside the common ones.
    pub(super) style: &'a str,
    pub(super) script: &'a str,
}

impl Frame<'_> {
    pub(super) fn html(&self) -> String {
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

/// Replaces each `{{slot}}` in `template` by a text. Inserted text is not scanned again, whatever
/// braces it contains.
pub(super) fn fill(template: &str, text: impl Fn(&str) -> String) -> String {
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

/// JSON as the content of a `<script>`. Outside strings JSON has neither `<` nor `>`, and inside a
/// string the escape is equivalent.
fn embed(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e")
}

/// A fact in a list: a name in HTML, and a text.
pub(super) fn fact(name: &str, value: &str) -> String {
    format!("    <div><dt>{name}</dt><dd>{}</dd></div>", escape(value))
}

/// Notes on oddities, if any.
pub(super) fn notes(notes: &[String]) -> String {
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
}

//! Text on a terminal: display width, replacement of control characters, truncation and wrapping.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Display width of `text` in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Replaces characters that control a terminal, reverse the reading order or are invisible: names
/// come from untrusted files.
pub fn clean(text: &str) -> String {
    let letters = text.chars();
    letters
        .map(|letter| if steers(letter) { '\u{fffd}' } else { letter })
        .collect()
}

/// Whether a character controls a terminal, reverses the reading order or is invisible.
pub(crate) fn steers(letter: char) -> bool {
    let mut ranges = FORMAT.iter();
    letter.is_control() || ranges.any(|(first, last)| (*first..=*last).contains(&letter))
}

/// Unicode's general categories Cf, Zl and Zp, and unassigned code points between them.
const FORMAT: [(char, char); 19] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e007f}'),
];

/// At most `limit` columns of `text`, with an ellipsis at the cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut taken = 0;
    for letter in text.chars() {
        taken += letter.width().unwrap_or(0);
        if taken >= limit {
            break;
        }
        short.push(letter);
    }
    short.push('…');
    short
}

/// At most `limit` columns of `text`, cut in the middle: addresses differ at their ends.
pub(crate) fn cut_middle(text: &str, limit: usize) -> String {
    let wide = width(text);
    if wide <= limit {
        return text.to_owned();
    }
    let mut end = text;
    while width(end) > limit / 2 {
        let mut letters = end.chars();
        letters.next();
        end = letters.as_str();
    }
    cut(text, limit - width(end)) + end
}

/// At most `limit` columns of a flow's name, cut between its parts: an address is whole or an
/// ellipsis, and ports stay. Other texts, and names of more columns even then, are cut in the
/// middle.
pub(crate) fn cut_parts(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    if let Some((from, to)) = text.split_once(" > ")
        && let Some((protocol, from)) = from.split_once(' ')
    {
        let short_from = without_address(from);
        let short_to = without_address(to);
        let ways = [
            (short_from.as_str(), to),
            (from, short_to.as_str()),
            (short_from.as_str(), short_to.as_str()),
        ];
        for (from, to) in ways {
            let short = format!("{protocol} {from} > {to}");
            if width(&short) <= limit {
                return short;
            }
        }
    }
    cut_middle(text, limit)
}

/// An ellipsis for an address, followed by its port, if any.
fn without_address(end: &str) -> String {
    match end.rsplit_once(':') {
        // An IPv6 address without brackets has colons that do not announce a port.
        Some((address, port)) if !address.contains(':') || address.ends_with(']') => {
            format!("…:{port}")
        }
        _ => "…".to_owned(),
    }
}

/// Cuts each text to at most `limit` columns with `first`. Different texts that would look alike
/// keep the words in which they differ, or else their ends. As a last resort they are numbered.
pub(crate) fn cut_apart(
    texts: &[String],
    limit: usize,
    first: fn(&str, usize) -> String,
) -> Vec<String> {
    let mut short: Vec<String> = texts.iter().map(|text| first(text, limit)).collect();
    let alike = look_alike(texts, &short);
    for (index, text) in texts.iter().enumerate() {
        if !alike[index].is_empty() {
            short[index] = cut_words(text, &alike[index], limit);
        }
    }
    for (index, alike) in look_alike(texts, &short).iter().enumerate() {
        if !alike.is_empty() {
            short[index] = cut_middle(&texts[index], limit);
        }
    }
    for (index, alike) in look_alike(texts, &short).iter().enumerate() {
        if !alike.is_empty() {
            let number = format!("#{}", index + 1);
            short[index] = cut(&texts[index], limit - width(&number)) + &number;
        }
    }
    short
}

/// At most `limit` columns: the first word, those that not all of the others have, and as many more
/// as there is room for. Cut in the middle if that is too long.
fn cut_words(text: &str, others: &[&str], limit: usize) -> String {
    let name = unmarked(text);
    let mark = &text[..text.len() - name.len()];
    let words = Vec::from_iter(name.split(' '));
    let mut kept = Vec::new();
    for (index, word) in words.iter().enumerate() {
        kept.push(index == 0 || !all_have(others, word));
    }
    let mut short = format!("{mark}{}", with_gaps(&words, &kept));
    if width(&short) > limit {
        return cut_middle(text, limit);
    }
    for index in 0..words.len() {
        let was_kept = kept[index];
        kept[index] = true;
        let longer = format!("{mark}{}", with_gaps(&words, &kept));
        if width(&longer) > limit {
            kept[index] = was_kept;
            break;
        }
        short = longer;
    }
    short
}

/// The words that are kept, with an ellipsis for those between and behind them.
fn with_gaps(words: &[&str], kept: &[bool]) -> String {
    let mut parts = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if kept[index] {
            parts.push(*word);
        } else if parts.last() != Some(&"…") {
            parts.push("…");
        }
    }
    parts.join(" ")
}

/// A name without the mark of the best one, or the space for it.
fn unmarked(text: &str) -> &str {
    for mark in ["* ", "  "] {
        if let Some(name) = text.strip_prefix(mark) {
            return name;
        }
    }
    text
}

/// Whether each text has this word.
fn all_have(texts: &[&str], word: &str) -> bool {
    for text in texts {
        if !text.split(' ').any(|other| other == word) {
            return false;
        }
    }
    true
}

/// For each short text: the other texts for which a reader could mistake it.
fn look_alike<'a>(texts: &'a [String], short: &[String]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    for (text, own) in texts.iter().zip(short) {
        let mut alike = Vec::new();
        for (other, short) in texts.iter().zip(short) {
            if unmarked(other) != unmarked(text) && unmarked(short) == unmarked(own) {
                alike.push(other.as_str());
            }
        }
        all.push(alike);
    }
    all
}

/// The smallest limit, from `least`, at which `cut_parts` keeps all texts distinct.
pub(crate) fn distinct_at(texts: &[String], least: usize) -> usize {
    let longest = texts.iter().map(|text| width(text)).max().unwrap_or(least);
    for limit in least..longest {
        let short: Vec<String> = texts.iter().map(|text| cut_parts(text, limit)).collect();
        if look_alike(texts, &short).concat().is_empty() {
            return limit;
        }
    }
    longest
}

/// Breaks `text` between words into lines of at most `limit` columns. A longer word has its own
/// line.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        if last.is_empty() {
            last.push_str(word);
        } else if width(last) + 1 + width(word) <= limit {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// With a capital at its start.
pub(crate) fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().to_string() + letters.as_str(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(
            clean("a\x1b[2Jb\r\nc\u{202e}d\u{9b}e"),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d\u{fffd}e"
        );
        assert_eq!(
            clean("\u{61c}a\u{ad}b\u{2066}c\u{e0041}"),
            "\u{fffd}a\u{fffd}b\u{fffd}c\u{fffd}"
        );
        assert_eq!(
            clean("tcp ::1.80 > ::2.99 é 漢"),
            "tcp ::1.80 > ::2.99 é 漢"
        );
    }

    #[test]
    fn a_cut_text_takes_no_more_than_its_limit() {
        assert_eq!(cut("fq_codel", 8), "fq_codel");
        assert_eq!(cut("fq_codel limit", 9), "fq_codel…");
        assert_eq!(cut("漢漢漢漢", 6), "漢漢…");
        assert_eq!(width(&cut("漢漢漢漢", 4)), 3);
    }

    #[test]
    fn a_text_cut_in_the_middle_keeps_both_ends() {
        assert_eq!(
            cut_middle("10.0.0.1:443 > 10.0.0.2:51000", 16),
            "10.0.0.….2:51000"
        );
        assert_eq!(width(&cut_middle("漢漢漢漢漢漢", 7)), 7);
        assert_eq!(cut_middle("short", 16), "short");
    }

    /// Regression: a name was cut inside an address.
    #[test]
    fn a_flows_name_is_cut_between_its_parts() {
        let name = "tcp 203.0.113.7:443 > 192.168.1.20:51012";
        assert_eq!(cut_parts(name, 40), name);
        assert_eq!(cut_parts(name, 39), "tcp …:443 > 192.168.1.20:51012");
        assert_eq!(cut_parts(name, 29), "tcp 203.0.113.7:443 > …:51012");
        assert_eq!(cut_parts(name, 28), "tcp …:443 > …:51012");
        assert_eq!(
            cut_parts("udp [2001:db8::1]:53 > [2001:db8::2]:4000", 20),
            "udp …:53 > …:4000"
        );
        assert_eq!(
            cut_parts("icmp 2001:db8::1 > 2001:db8::2", 22),
            "icmp … > 2001:db8::2"
        );
        assert_eq!(width(&cut_parts(name, 12)), 12, "as a last resort anywhere");
        assert_eq!(
            cut_parts("packets without IP headers", 12),
            cut_middle("packets without IP headers", 12)
        );
    }

    #[test]
    fn what_differs_looks_different_when_cut() {
        let apart = |texts: &[&str], limit| {
            cut_apart(
                &texts
                    .iter()
                    .map(|text| (*text).to_owned())
                    .collect::<Vec<_>>(),
                limit,
                cut,
            )
        };
        assert_eq!(
            apart(
                &[
                    "qfq_plus aggregate 1",
                    "qfq_plus aggregate 8",
                    "fifo limit 1000"
                ],
                12
            ),
            ["qfq_plus … 1", "qfq_plus … 8", "fifo limit …"]
        );
        assert_eq!(
            apart(&["a_middle_1_b_long", "a_middle_2_b_long"], 10),
            ["a_middl…#1", "a_middl…#2"]
        );
        let cakes = [
            "* cake bandwidth 5mbit besteffort dual-dsthost",
            "  cake bandwidth 5mbit besteffort dual-srchost",
            "  cake bandwidth 5mbit besteffort",
        ];
        assert_eq!(
            apart(&cakes, 32),
            [
                "* cake bandwidth … dual-dsthost",
                "  cake bandwidth … dual-srchost",
                "  cake bandwidth 5mbit …"
            ]
        );
        assert_eq!(
            apart(&cakes, 14),
            ["* cake…dsthost", "  cake…srchost", "  cake …"],
            "one of them is the best"
        );
        assert_eq!(
            apart(&["* cake 5mbit flows", "  cake 6mbit flows"], 14),
            ["* cake 5mbit …", "  cake 6mbit …"]
        );
        assert_eq!(
            apart(
                &[
                    "tree /etc/trees/of-the-house-one",
                    "tree /etc/trees/of-the-house-two"
                ],
                14
            ),
            ["tree /…use-one", "tree /…use-two"]
        );
        assert_eq!(
            apart(&["the very same one", "the very same one"], 9),
            ["the very…"; 2],
            "nothing tells them apart"
        );
    }

    #[test]
    fn as_much_is_kept_as_tells_apart() {
        let texts = [
            "tcp 10.0.0.1:1111 > 10.0.0.2:2222",
            "tcp 10.0.0.1:1111 > 10.0.0.9:2222",
        ]
        .map(str::to_owned);
        let limit = distinct_at(&texts, 20);
        assert!(
            (21..33).contains(&limit) && cut_parts(&texts[0], limit) != cut_parts(&texts[1], limit),
            "{limit}"
        );
        assert_eq!(
            cut_parts(&texts[0], limit - 1),
            cut_parts(&texts[1], limit - 1)
        );
        assert_eq!(distinct_at(&texts[..1], 20), 20);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable a", 4), ["unbreakable", "a"]);
        assert_eq!(wrap("", 4), [""]);
    }
}

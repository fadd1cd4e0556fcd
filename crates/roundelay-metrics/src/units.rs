//! Formatter of numbers for readers: three significant digits, a unit without leading or trailing
//! zeros, units as in `tc` (`us`), per cent without a space (`82.7%`).
//!
//! All tables, pages and sentences format with these functions.

/// Seconds: `850 ns`, `12.3 ms`, `1.23 s`.
pub fn seconds(value: f64) -> String {
    scaled(
        value,
        &[(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")],
    )
}

/// Bits per second: `9.87 Mbit/s`.
pub fn rate(value: f64) -> String {
    scaled(
        value,
        &[
            (1.0, "bit/s"),
            (1e3, "kbit/s"),
            (1e6, "Mbit/s"),
            (1e9, "Gbit/s"),
        ],
    )
}

/// Bytes, in powers of a thousand: `12.3 KB`.
pub fn bytes(value: f64) -> String {
    scaled(value, &[(1.0, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB")])
}

/// A fraction of one: `12.3%`, `0.04%`, `<0.01%`, `0%`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        value if !value.is_finite() => "–".to_owned(),
        0.0 => "0%".to_owned(),
        value if value < 0.01 => "<0.01%".to_owned(),
        value if value < 1.0 => format!("{value:.2}%"),
        value if value < 99.95 => format!("{value:.1}%"),
        value => format!("{value:.0}%"),
    }
}

/// A count: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for three in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(three.iter().map(|&digit| char::from(digit)));
    }
    text
}

/// A count with its noun: `1 packet`, `1,234 packets`. The plural has an `s`, or replaces a
/// `y` by `ies`.
pub fn counted(value: u64, noun: &str) -> String {
    match (value, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}ies", count(value)),
        _ => format!("{} {noun}s", count(value)),
    }
}

/// A sentence after its number, with forms for one and for several in braces: `{packet is|packets
/// are} late` gives `1 packet is late` and `2 packets are late`.
pub fn in_number(value: u64, sentence: &str) -> String {
    let mut text = format!("{value} ");
    // Every other part stood in braces.
    for (index, part) in sentence.split(['{', '}']).enumerate() {
        text.push_str(match part.split_once('|') {
            Some((one, _)) if index % 2 == 1 && value == 1 => one,
            Some((_, several)) if index % 2 == 1 => several,
            _ => part,
        });
    }
    text
}

/// A fraction of one with its sign, in tenths of a per cent: `+12.3%`. Zero after rounding has no
/// sign.
pub fn signed_percent(part: f64) -> String {
    let tenths = (part * 1e3).round();
    if tenths == 0.0 {
        "0.0%".to_owned()
    } else {
        format!("{:+.1}%", tenths / 10.0)
    }
}

/// A fraction of one with more digits, for rare events: `0.123%`, `0.00012%`, `3e-7%`.
pub fn fine_percent(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0".to_owned(),
        percent if percent < 1e-5 => format!("{percent:.0e}%"),
        percent if percent < 1e-3 => format!("{percent:.5}%"),
        percent => format!("{percent:.3}%"),
    }
}

/// A count in little space: `1,234`, `12.3k`, `4.56M`.
pub fn short_count(value: u64) -> String {
    match value {
        0..10_000 => count(value),
        10_000..1_000_000 => format!("{}k", significant(value as f64 / 1e3)),
        _ => format!("{}M", significant(value as f64 / 1e6)),
    }
}

/// Three significant digits, never in scientific notation.
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// `value` in the largest of `units` in which the rounded value is at least one.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let mut fitting = units[0];
    for unit in units {
        if value.abs() >= unit.0 * 0.9995 {
            fitting = *unit;
        }
    }
    let (size, unit) = fitting;
    match value {
        0.0 => "0".to_owned(),
        _ if size == 1.0 && units[0].0 == 1.0 => format!("{value:.0} {unit}"),
        _ => format!("{} {unit}", significant(value / size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_change_unit_where_the_rounded_number_does() {
        let cases = [
            (0.0, "0"),
            (8.5e-7, "850 ns"),
            (9.994e-7, "999 ns"),
            (9.996e-7, "1.00 us"),
            (0.0123, "12.3 ms"),
            (75.0, "75.0 s"),
        ];
        for (value, text) in cases {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(seconds(f64::NAN), "–");
    }

    #[test]
    fn rates_and_bytes_are_in_powers_of_a_thousand() {
        assert_eq!(rate(9_870_000.0), "9.87 Mbit/s");
        assert_eq!(rate(512.0), "512 bit/s");
        assert_eq!(bytes(1514.0), "1.51 KB");
        assert_eq!(bytes(64.0), "64 B");
        assert_eq!(bytes(0.0), "0");
    }

    #[test]
    fn a_small_loss_is_not_called_none() {
        let cases = [
            (0.0, "0%"),
            (1e-6, "<0.01%"),
            (0.0004, "0.04%"),
            (0.123, "12.3%"),
            (0.9999, "100%"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "packet"), "1 packet");
        assert_eq!(
            (counted(0, "packet"), counted(12_345, "flow")),
            ("0 packets".to_owned(), "12,345 flows".to_owned())
        );
        assert_eq!(
            [0, 1, 2].map(|value| in_number(
                value,
                "{packet is|packets are} late|lost; {it has|they have} no time"
            )),
            [
                "0 packets are late|lost; they have no time",
                "1 packet is late|lost; it has no time",
                "2 packets are late|lost; they have no time",
            ]
        );
        assert_eq!(
            (counted(1, "query"), counted(2, "query")),
            ("1 query".to_owned(), "2 queries".to_owned())
        );
    }

    #[test]
    fn parts_have_a_sign_or_more_digits() {
        assert_eq!(
            [0.1234, -0.00001, -0.5].map(signed_percent),
            ["+12.3%", "0.0%", "-50.0%"]
        );
        assert_eq!(
            [0.0, 0.001_234, 1.2e-6, 3e-9].map(fine_percent),
            ["0", "0.123%", "0.00012%", "3e-7%"]
        );
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
        assert_eq!(short_count(9_999), "9,999");
        assert_eq!(short_count(12_345), "12.3k");
        assert_eq!(short_count(4_560_000), "4.56M");
    }
}

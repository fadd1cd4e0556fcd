//! "Did you mean" in messages on scenario files: keys, kinds, templates, hosts, sources,
//! objectives.

use roundelay::suggestion::nearest;

/// ` (did you mean 'duration'?)`; nothing if no known name is near.
pub(super) fn did_you_mean(written: &str, known: &[&str]) -> String {
    nearest(written, known.iter().copied()).map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// Serde's message on an unknown key or value, with the nearest name of the message's list.
pub(super) fn with_suggestion(message: &str) -> String {
    let is_unknown = message.starts_with("unknown field `") || message.starts_with("unknown variant `");
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(written) = names.next().filter(|_| is_unknown) else { return message.to_owned() };
    let known: Vec<_> = names.collect();
    let (quoted, suggestion) = (format!("`{written}`"), did_you_mean(written, &known));
    message.replacen(&quoted, &format!("{quoted}{suggestion}"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_have_suggestions_where_one_is_near() {
        let cases = [
            ("unknown field `rat`, expected `rate` or `delay`", "unknown field `rat` (did you mean 'rate'?), expected `rate` or `delay`"),
            ("unknown field `speed`, expected `rate`", "unknown field `speed`, expected `rate`"),
            ("unknown variant `tpc`, expected `burst` or `tcp`", "unknown variant `tpc` (did you mean 'tcp'?), expected `burst` or `tcp`"),
            ("missing field `rate`", "missing field `rate`"),
        ];
        for (message, expected) in cases {
            assert_eq!(with_suggestion(message), expected);
        }
    }
}

//! JSON: all results, for scripts, with their schema's name and version.

use serde::Serialize;

use crate::text::steers;

/// What a command prints as JSON.
///
/// The version rises when a key goes, or when its meaning or type changes. New keys may come in any
/// version of Roundelay.
pub trait Printed: Serialize {
    /// The schema's name and version, as in `compare/1`. It is the first key of what is printed.
    const SCHEMA: &'static str;
}

/// Results with their schema's name in front.
#[derive(Serialize)]
struct Named<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    results: &'a T,
}

pub(crate) const PLAIN: &str = "plain data with string keys always serialises";

/// Results as indented JSON with a newline at the end. Times are in seconds, rates in bits per
/// second, sizes in bytes, unless a name ends in a unit. Unknown values are null.
pub fn json<T: Printed>(results: &T) -> String {
    let schema = T::SCHEMA;
    let text = serde_json::to_string_pretty(&Named { schema, results });
    calm(text.expect(PLAIN)) + "\n"
}

/// Results as one line of JSON, newline included.
pub fn json_line<T: Printed>(results: &T) -> String {
    let schema = T::SCHEMA;
    let text = serde_json::to_string(&Named { schema, results });
    calm(text.expect(PLAIN)) + "\n"
}

/// JSON with the same content, in which no character of a string controls a terminal or reverses the
/// reading order. Serde escapes the first 32 alone.
fn calm(json: String) -> String {
    // Most results have nothing else, and may have megabytes of it.
    if json.is_ascii() && !json.contains('\u{7f}') {
        return json;
    }
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter < '\u{7f}' || !steers(letter) {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            text += &format!("\\u{unit:04x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_and_steer_no_terminal() {
        let name = "a\u{7f}\u{9b}31m\u{202e}\u{e0001} é 数 \u{1f3b5}";
        let text = calm(serde_json::to_string_pretty(&[name]).expect(PLAIN));
        assert_eq!(
            text,
            "[\n  \"a\\u007f\\u009b31m\\u202e\\udb40\\udc01 é 数 \u{1f3b5}\"\n]"
        );
        let read: Vec<String> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, [name]);
        assert_eq!(calm("[\"a\u{7f}\"]".to_owned()), "[\"a\\u007f\"]");
        assert_eq!(calm("[\"plain\"]".to_owned()), "[\"plain\"]");
    }
}

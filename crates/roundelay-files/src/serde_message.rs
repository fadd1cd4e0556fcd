//! Takes serde's messages apart, because serde hands errors on only as text.

/// The errors that serde makes itself. Their messages are all that we get.
pub(crate) enum SerdeMessage<'a> {
    /// Serde expected this, but the value has another type, length or content.
    OtherKind(&'a str),
    /// The value fits none of several types, which are these.
    Expected(&'a str),
    /// A key is missing.
    Missing,
    /// A key or a word is unknown, and these are known.
    Unknown(&'a str, Vec<&'a str>),
    Other,
}

impl<'a> SerdeMessage<'a> {
    pub(crate) fn of(message: &'a str) -> Self {
        let is_of_other_kind = message.starts_with("invalid type: ")
            || message.starts_with("invalid value: ")
            || message.starts_with("invalid length ");
        if is_of_other_kind && let Some((_, expected)) = message.rsplit_once(", expected ") {
            return Self::OtherKind(expected);
        }
        // toml says this when it expects one of several words.
        if message.starts_with("wanted string or table") || message.starts_with("wanted exactly") {
            return Self::OtherKind("a string");
        }
        if message.starts_with("missing field `") {
            return Self::Missing;
        }
        if let Some(expected) = message.strip_prefix("expected ") {
            return Self::Expected(expected);
        }
        let is_unknown =
            message.starts_with("unknown field `") || message.starts_with("unknown variant `");
        let mut names = message.split('`').skip(1).step_by(2);
        match names.next() {
            Some(name) if is_unknown => Self::Unknown(name, names.collect()),
            _ => Self::Other,
        }
    }
}

/// A path as the header of its table has it, so `source.0.rate` is `source.rate`.
pub(crate) fn header(path: &str) -> String {
    let mut names = Vec::new();
    for part in path.split('.') {
        if !is_index(part) {
            names.push(part);
        }
    }
    names.join(".")
}

/// Numbers in a path count tables or values in a list, so they are not keys.
pub(crate) fn is_index(part: &str) -> bool {
    part.parse::<usize>().is_ok()
}

/// Where a missing key belongs: the header of the table at `path`, and a correct line. At the top of
/// a file there is no header.
pub(crate) fn hint_for_missing_key(message: &str, path: &str, is_top: bool) -> String {
    let header = header(path);
    let table = header.rsplit('.').next().unwrap_or_default();
    let location = if is_top {
        String::new()
    } else if header.len() < path.len() {
        // The header leaves out an index, so the table is one of several.
        format!(" in [[{header}]]")
    } else {
        format!(" in [{header}]")
    };
    // Serde puts the key in backticks.
    let key = message.split('`').nth(1).unwrap_or_default();
    match right_value(table, key) {
        Some(value) => format!("{location}, as in {key} = {value}"),
        None => location,
    }
}

/// A legal value for a key that a table must have.
///
/// The examples stand here by key, and not with the type in
/// [`Described::schema`](crate::Described::schema), for two reasons. When a key is missing, serde
/// names the key but never its type. And a time that makes sense for one key does not for another:
/// a scenario lasts 10s, a reader thinks for 1s, a burst is over after 50ms.
fn right_value(table: &str, key: &str) -> Option<&'static str> {
    Some(match (table, key) {
        ("link" | "port", "from") => "\"left\"",
        ("link" | "port", "to") => "\"right\"",
        ("topology", "file") => "\"network.gml\"",
        (_, "connections") => "[{ messages = [\"> 300b\", \"< 14kb\"] }]",
        (_, "discipline") => "\"fq_codel\"",
        (_, "document") => "\"40kb\"",
        (_, "duration") => "\"10s\"",
        (_, "file") => "\"flows.txt\"",
        (_, "flows") => "[\"0.5 1500\"]",
        (_, "from") => "\"s0\"",
        (_, "interval") => "\"4s\"",
        (_, "kind") => "\"cbr\"",
        (_, "link_rate") => "\"50mbit\"",
        (_, "match") => "\"dst port 443\"",
        (_, "measure") => "\"completion\"",
        (_, "name") => "\"calls\"",
        (_, "node") => "[{ name = \"all\", discipline = \"fifo\" }]",
        (_, "object") => "\"20kb\"",
        (_, "objects") => "12",
        (_, "off" | "on") => "\"50ms\"",
        (_, "rate") => "\"10mbit\"",
        (_, "request") => "500",
        (_, "response") => "\"4kb\"",
        (_, "segment") => "\"2mb\"",
        (_, "size") => "\"100kb\"",
        (_, "sizes") => "[[3000, 0.5], [9000, 1.0]]",
        (_, "template") => "\"dumbbell\"",
        (_, "think") => "\"1s\"",
        (_, "to") => "\"r0\"",
        (_, "utilisation") => "0.7",
        (_, "weight") => "10",
        _ => return None,
    })
}

/// Serde's name for a type, in words that a file's author knows. If the value is in a list
/// (`is_listed`), its key stands in double brackets.
pub(crate) fn in_words(header: &str, expected: &str, is_listed: bool) -> String {
    match expected {
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "f64" | "f32" => "a number".to_owned(),
        "u8" => "a whole number, 0 to 255".to_owned(),
        "u16" => "a whole number, 0 to 65535".to_owned(),
        "u32" => "a whole number, 0 to 4294967295".to_owned(),
        "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "a sequence" => format!("a list in brackets, or tables headed [[{header}]]"),
        "a map" => "a table".to_owned(),
        _ if expected.starts_with("struct ") && is_listed => {
            format!("a table headed [[{header}]]")
        }
        _ if expected.starts_with("struct ") => {
            let key = header.rsplit('.').next().unwrap_or_default();
            format!("a table, as in {key} = {{ .. }}, or headed [{header}]")
        }
        _ => expected.to_owned(),
    }
}

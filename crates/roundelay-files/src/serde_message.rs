//! What serde's own messages say: it hands errors on as text alone.

/// The errors that serde makes itself, which have no other form than the message.
pub(crate) enum SerdeMessage<'a> {
    /// A value of another type than this.
    OtherKind(&'a str),
    /// A value of none of several types, which are these.
    Expected(&'a str),
    /// A key is missing.
    Missing,
    /// A key or a word that is none of these.
    Unknown(&'a str, Vec<&'a str>),
    Other,
}

impl<'a> SerdeMessage<'a> {
    pub(crate) fn of(message: &'a str) -> Self {
        let of_other_kind = message
            .strip_prefix("invalid type: ")
            .or_else(|| message.strip_prefix("invalid value: "));
        if let Some((_, expected)) = of_other_kind.and_then(|rest| rest.rsplit_once(", expected "))
        {
            return Self::OtherKind(expected);
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
        match names.next().filter(|_| is_unknown) {
            Some(name) => Self::Unknown(name, names.collect()),
            None => Self::Other,
        }
    }
}

/// The header of the table at `path` and a right line, for serde's message on a missing key.
pub(crate) fn right_line(message: &str, path: &str, is_top: bool) -> String {
    let (names, numbers): (Vec<_>, Vec<_>) = path
        .split('.')
        .partition(|part| part.parse::<usize>().is_err());
    let header = match names.join(".") {
        _ if is_top => String::new(),
        name if !numbers.is_empty() => format!(" in [[{name}]]"),
        name => format!(" in [{name}]"),
    };
    let key = message.split('`').nth(1).unwrap_or_default();
    let table = names.last().unwrap_or(&"");
    let value = |key: &str| {
        RIGHT_LINES
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value)
    };
    let known = value(&format!("{table}.{key}")).or_else(|| value(key));
    header
        + &known
            .map(|value| format!(", as in {key} = {value}"))
            .unwrap_or_default()
}

/// A legal value for each key that a table must have; for keys of several tables with different
/// values, of the table too.
const RIGHT_LINES: [(&str, &str); 34] = [
    ("connections", "[{ messages = [\"> 300b\", \"< 14kb\"] }]"),
    ("discipline", "\"fq_codel\""),
    ("document", "\"40kb\""),
    ("duration", "\"10s\""),
    ("file", "\"flows.txt\""),
    ("flows", "[\"0.5 1500\"]"),
    ("from", "\"s0\""),
    ("interval", "\"4s\""),
    ("kind", "\"cbr\""),
    ("link.from", "\"left\""),
    ("link.to", "\"right\""),
    ("link_rate", "\"50mbit\""),
    ("match", "\"dst port 443\""),
    ("measure", "\"completion\""),
    ("name", "\"calls\""),
    ("node", "[{ name = \"all\", discipline = \"fifo\" }]"),
    ("object", "\"20kb\""),
    ("objects", "12"),
    ("off", "\"50ms\""),
    ("on", "\"50ms\""),
    ("port.from", "\"left\""),
    ("port.to", "\"right\""),
    ("rate", "\"10mbit\""),
    ("request", "500"),
    ("response", "\"4kb\""),
    ("segment", "\"2mb\""),
    ("size", "\"100kb\""),
    ("sizes", "[[3000, 0.5], [9000, 1.0]]"),
    ("template", "\"dumbbell\""),
    ("think", "\"1s\""),
    ("to", "\"r0\""),
    ("topology.file", "\"network.gml\""),
    ("utilisation", "0.7"),
    ("weight", "10"),
];

/// Serde's name for a type, in the words of a file's author.
pub(crate) fn in_words(key: &str, expected: &str) -> String {
    match expected {
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => format!("a list in brackets, or tables headed [[{key}]]"),
        "a map" => "a table".to_owned(),
        _ => expected.to_owned(),
    }
}

//! What must hold for any short text that is read as a quantity, a discipline, a link or another word
//! of a command line. The fuzzer runs it, and the tests run it on the corpus.

use std::fmt::Display;
use std::str::FromStr;

use roundelay::{Billionths, Bytes, Duration, Framing, LinkLayer, QueueSpec, Rate};
use roundelay_trace::arguments::{
    parse_buffer, parse_choice, parse_mtu, parse_rate, parse_spec, shell_word,
};
use roundelay_trace::{
    Direction, DirectionChoice, FlowBy, LinkModel, LinkTrace, parse_length, parse_time,
};

/// Texts of this length are no words.
const LONGEST: usize = 1 << 12;

/// What is shown of a value reads back as the same value; an error is a sentence.
pub(crate) fn check(data: &[u8]) {
    let Some(text) = str::from_utf8(data).ok().filter(|_| data.len() < LONGEST) else {
        return;
    };
    again::<Rate>(text);
    fails_in_words(text.parse::<Bytes>());
    fails_in_words(text.parse::<Duration>());
    fails_in_words(text.parse::<QueueSpec>());
    fails_in_words(text.parse::<Billionths>());
    fails_in_words(text.parse::<LinkLayer>());
    fails_in_words(text.parse::<Framing>());
    fails_in_words(text.parse::<FlowBy>());
    fails_in_words(text.parse::<Direction>());
    fails_in_words(text.parse::<DirectionChoice>());
    fails_in_words(parse_choice(text).map_err(|error| error.to_string()));
    fails_in_words(parse_spec(text).map_err(|error| error.to_string()));
    fails_in_words(parse_rate(text).map_err(|error| error.to_string()));
    fails_in_words(parse_buffer(text).map_err(|error| error.to_string()));
    fails_in_words(parse_mtu(text).map_err(|error| error.to_string()));
    fails_in_words(parse_time(text).map_err(|error| error.to_string()));
    fails_in_words(parse_length(text).map_err(|error| error.to_string()));
    fails_in_words(LinkModel::read(text).map_err(|error| error.to_string()));
    fails_in_words(LinkTrace::parse("fuzz", text).map_err(|error| error.to_string()));
    assert!(!shell_word(text).is_empty());
}

fn again<T: FromStr + Display>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let shown = value.to_string();
        let read = shown.parse::<T>().ok().map(|value| value.to_string());
        assert_eq!(read, Some(shown), "{text}");
    }
}

fn fails_in_words<T, E: Display>(read: Result<T, E>) {
    if let Err(error) = read {
        assert!(!error.to_string().is_empty());
    }
}

//! What was chosen from a capture with several links, and what the other direction holds, in words.

use roundelay_metrics::units::{counted, percent, rate};
use roundelay_trace::{Chosen, Mixed, OtherWay};

use crate::recommendation::Warning;

/// An interface with a smaller fraction of the bytes is called a small part, because the larger of
/// both directions has half of them or more.
const SMALL_PART: f64 = 0.25;

/// What was chosen, and why.
pub(super) fn note(chosen: &Chosen) -> String {
    let contents = contents(&chosen.whole);
    let options = chosen.options.join(" ");
    if chosen.options == ["--mirrored"] {
        return format!(
            "Replayed: each packet once ({options}), because the capture holds {contents}. \
             --keep-duplicates replays all."
        );
    }
    let nearest = if chosen.is_pure {
        "one direction of one link"
    } else {
        "nearly one direction of one link"
    };
    let small = if chosen.part < SMALL_PART {
        format!(
            " It has {} of the bytes, because the others are of other links.",
            percent(chosen.part)
        )
    } else {
        String::new()
    };
    format!(
        "Replayed: {nearest}, the one with the larger load ({options}), because the capture holds \
         {contents}. --direction both replays all.{small}"
    )
}

/// What a scenario's source sends from a capture with several links, and why.
pub fn sent_of(chosen: &Chosen) -> String {
    let contents = contents(&chosen.whole);
    let options = chosen.options.join(" ");
    if chosen.options == ["--mirrored"] {
        return format!(
            "Each packet is sent once, because the capture holds {contents}. direction = \"both\" \
             sends all."
        );
    }
    let nearest = if chosen.is_pure { "" } else { "nearly " };
    format!(
        "Sent: {nearest}one direction of one link, the one with the larger load (that of compare \
         {options}), because the capture holds {contents}. direction = \"both\" sends all."
    )
}

/// What a scenario's source sends where nothing separates the packets of several links. None where
/// they are of one link and direction.
pub fn sent_together(mixed: &Mixed) -> Option<String> {
    let contents = contents(mixed);
    if mixed.is_slight || contents.is_empty() {
        return None;
    }
    Some(format!(
        "Sent: all packets, in one direction, although the capture holds {contents}. direction = \
         \"from ADDRESS\" selects some."
    ))
}

/// `both directions of 3 connections and packets of 2 interfaces`.
fn contents(whole: &Mixed) -> String {
    let mut contents = Vec::new();
    if whole.both_ways > 0 {
        let connections = counted(whole.both_ways as u64, "connection");
        contents.push(format!("both directions of {connections}"));
    } else if whole.has_wire_both_ways {
        contents.push("both directions of a wire".to_owned());
    }
    if whole.interfaces.len() > 1 {
        contents.push(format!("packets of {} interfaces", whole.interfaces.len()));
    }
    if whole.translated > 0 {
        contents.push(format!(
            "{} on both sides of an address translation",
            counted(whole.translated, "packet")
        ));
    }
    if whole.mirrored > 0 {
        contents.push(format!(
            "copies of {} by a mirror port",
            counted(whole.mirrored, "packet")
        ));
    }
    let last = contents.pop().unwrap_or_default();
    if contents.is_empty() {
        return last;
    }
    format!("{} and {last}", contents.join(", "))
}

/// The other direction's load, and its command.
pub(super) fn other(other: &OtherWay, link_rate: u64, command: &str) -> Warning {
    let packets = counted(other.packets, "packet");
    let busiest = other.busiest as f64 * 8.0;
    let mut sentence = format!("The other direction: {packets}");
    if other.seconds >= 1.0 {
        let mean = other.bytes as f64 * 8.0 / other.seconds;
        sentence += &format!(
            ", {} on average ({} of the link)",
            rate(mean),
            percent(mean / link_rate as f64)
        );
    }
    sentence += &format!(
        ", {} in its busiest second ({}):",
        rate(busiest),
        percent(busiest / link_rate as f64)
    );
    Warning {
        sentence,
        command: Some(format!("{command} {}", other.options.join(" "))),
    }
}

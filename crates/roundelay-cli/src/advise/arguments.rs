//! Command-line arguments of `roundelay advise`.

use clap::Args;
use roundelay::{Fault, Rate};
use roundelay_sim::topologies::Line;
use roundelay_trace::arguments::parse_rate;

use super::outputs::Advising;
use crate::outputs::Outputs;
use crate::runs::Runs;

#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// Rate of your line towards you, as a speed test without a shaper measures it: 100mbit
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) down: Rate,

    /// Rate of your line away from you: 20mbit
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) up: Rate,

    /// What kind of line it is: ethernet (fibre), docsis (cable), dsl, lte, or
    /// starlink
    #[arg(long, value_name = "NAME", default_value = "ethernet", value_parser = parse_line)]
    pub(crate) link: Line,

    /// Interface of your router towards the line, for the script
    #[arg(long, value_name = "NAME", default_value = "eth0", value_parser = parse_device)]
    pub(crate) dev: String,

    #[command(flatten)]
    pub(crate) runs: Runs,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Advising>,
}

fn parse_line(text: &str) -> Result<Line, Fault> {
    for line in Line::ALL {
        if line.name() == text {
            return Ok(line);
        }
    }
    Err(Fault::no_such(
        "kind of line",
        text,
        &Line::ALL.map(Line::name),
    ))
}

/// A name that a shell takes as it is.
fn parse_device(text: &str) -> Result<String, Fault> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@:".contains(letter);
    if !text.is_empty() && text.len() <= 15 && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    let legal = "1 to 15 letters, digits or -_.@:, as in eth0";
    Err(Fault::wanted(legal).with_given(text))
}

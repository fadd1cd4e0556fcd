//! Words of the command line that several commands read alike.

use std::convert::Infallible;

use roundelay_trace::{FlowBy, InterfaceName, WeightRule, WeightRules};

pub(crate) fn parse_interface(text: &str) -> Result<InterfaceName, Infallible> {
    Ok(InterfaceName::from(text))
}

pub(crate) fn parse_flow_by(text: &str) -> Result<FlowBy, String> {
    text.parse()
        .map_err(|error: roundelay_trace::FlowByError| error.to_string())
}

/// Returns the text unchanged if it is a rule.
pub(crate) fn parse_weight_text(text: &str) -> Result<String, String> {
    parse_weight(text).map(|_| text.to_owned())
}

pub(crate) fn parse_weight(text: &str) -> Result<WeightRule, String> {
    WeightRules::parse_rule(text).map_err(|error| error.to_string())
}

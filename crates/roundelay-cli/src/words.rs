//! Words of the command line that several commands read alike.

use std::convert::Infallible;

use roundelay::Fault;
use roundelay_trace::arguments::read;
use roundelay_trace::{FlowBy, InterfaceName, WeightRule, WeightRules};

pub(crate) fn parse_interface(text: &str) -> Result<InterfaceName, Infallible> {
    Ok(InterfaceName::from(text))
}

pub(crate) fn parse_flow_by(text: &str) -> Result<FlowBy, Fault> {
    read(text)
}

/// Returns the text unchanged if it is a rule.
pub(crate) fn parse_weight_text(text: &str) -> Result<String, Fault> {
    parse_weight(text).map(|_| text.to_owned())
}

pub(crate) fn parse_weight(text: &str) -> Result<WeightRule, Fault> {
    WeightRules::parse_rule(text).map_err(Fault::from)
}

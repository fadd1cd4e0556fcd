//! Keys of a source without effect beside other keys. Users expect an effect: the reader refuses
//! these keys.

use super::source::{Arrivals, SourceSpec, Transport};
use super::{Poisson, Workload};
use crate::sources::Urgency;

/// Keys without effect, and the reason.
pub(super) fn keys(source: &SourceSpec, urgency: &Urgency) -> Vec<(&'static str, &'static str)> {
    let mut unused = match source {
        SourceSpec::Poisson(Poisson { mix, .. }) if !mix.is_empty() => {
            let why = "'mix' says how long packets are: one of both";
            vec![("packet_len", why), ("lengths", why)]
        }
        SourceSpec::Arrivals(Arrivals { transport, .. }) => {
            let start = ("start_jitter", "flows of arrivals start at random times: leave this key out");
            vec![of_pairs(), start, of_transport(*transport)]
        }
        SourceSpec::Workload(Workload { transport, .. }) => vec![of_pairs(), of_transport(*transport)],
        _ => Vec::new(),
    };
    if source.protocol().is_none() && urgency.tail_rate().is_some() {
        unused.push(("urgency", "\"cautious\" is for sources over TCP: others have no tail to send"));
    }
    unused
}

const fn of_pairs() -> (&'static str, &'static str) {
    ("pairs", "flows of arrivals go between random hosts of 'from': leave this key out")
}

const fn of_transport(transport: Transport) -> (&'static str, &'static str) {
    match transport {
        Transport::Burst => ("tcp", "bursts do not go over TCP: leave it out, or transport = \"tcp\""),
        Transport::Tcp => ("packet_len", "over TCP, tcp = { segment_len = ... } sets the length of packets"),
    }
}

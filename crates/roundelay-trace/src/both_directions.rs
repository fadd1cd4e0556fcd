//! Connections captured in both directions: a note, because a link carries one direction.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::classifier::{Flow, FlowBy};
use crate::conditions::Network;
use crate::headers::Headers;
use crate::offered::Offered;

/// Source and destination of a flow; ports and protocol only where these define flows.
type Ends = ([(IpAddr, u16); 2], u8);

/// A note with an option that keeps one direction, if some connection has both.
pub(crate) fn note(offered: &Offered) -> Option<String> {
    let flows: HashMap<Ends, u64> = offered.classifier().flows().iter().zip(offered.flows()).filter_map(flow).collect();
    let is_half = |(ends, _): &(&Ends, &u64)| ends.0[0] != ends.0[1] && flows.contains_key(&reverse(ends));
    let halves = flows.iter().filter(is_half);
    let count = halves.clone().count() / 2;
    let (heaviest, _) = halves.max_by_key(|(ends, bytes)| (**bytes, **ends))?;
    let (word, network) = direction(heaviest.0.map(|(address, _)| address));
    let connections = if count == 1 { "connection is" } else { "connections are" };
    let other = if word == "to" { "from" } else { "to" };
    Some(format!(
        "{count} {connections} captured in both directions, and both share the replayed link. One direction alone: \
         --direction {word} {network}; the other one: --direction {other} {network}."
    ))
}

fn flow((flow, offered): (&Flow, &crate::offered::OfferedFlow)) -> Option<(Ends, u64)> {
    let Flow::Headers { by, first } = flow else { return None };
    let &Headers { source, destination, source_port, destination_port, protocol, .. } = first;
    let ends = match by {
        FlowBy::FiveTuple => ([(source, source_port), (destination, destination_port)], protocol),
        FlowBy::Source | FlowBy::Destination | FlowBy::Dscp => ([(source, 0), (destination, 0)], 0),
    };
    Some((ends, offered.bytes))
}

fn reverse(&([source, destination], protocol): &Ends) -> Ends {
    ([destination, source], protocol)
}

/// The direction of the heavier half of a connection, by its private end if only one is private,
/// otherwise by its receiver.
fn direction([source, destination]: [IpAddr; 2]) -> (&'static str, String) {
    let (word, near, far) =
        if is_private(source) && !is_private(destination) { ("from", source, destination) } else { ("to", destination, source) };
    let prefix = if near.is_ipv4() { 24 } else { 64 };
    let network = Network::around(near, prefix);
    let around = if is_private(near) && !network.contains(far) { network.to_string() } else { near.to_string() };
    (word, around)
}

/// RFC 1918 and RFC 4193.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

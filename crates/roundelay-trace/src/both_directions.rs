//! Connections captured in both directions: a note, because a link carries one direction.

use std::cmp::Reverse;
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
    let halves: Vec<_> = flows.iter().filter(is_half).collect();
    let (heaviest, _) = halves.iter().max_by_key(|(ends, bytes)| (**bytes, **ends))?;
    // The halves of a connection that a direction tells apart.
    let told_apart = |(_, network): &(&str, Network)| {
        let is_told = |(ends, _): &&(&Ends, &u64)| network.contains(ends.0[0].0) != network.contains(ends.0[1].0);
        halves.iter().filter(is_told).count() / 2
    };
    let directions = directions(heaviest.0.map(|(address, _)| address)).into_iter();
    let (told, (word, network)) = directions.map(|direction| (told_apart(&direction), direction)).min_by_key(|(told, _)| Reverse(*told))?;
    let (count, network) = (halves.len() / 2, network.to_string());
    let network = network.strip_suffix("/32").or(network.strip_suffix("/128")).unwrap_or(&network);
    let connections = if count == 1 { "connection is" } else { "connections are" };
    let part = if told < count { format!("One direction of {told} of these") } else { "One direction".to_owned() };
    let other = if word == "to" { "from" } else { "to" };
    Some(format!(
        "{count} {connections} captured in both directions, and both share the replayed link. {part} alone: --direction '{word} {network}'; \
         the other direction: --direction '{other} {network}'."
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

/// Directions that hold the heavier half of a connection. First come the networks of the private
/// end if only one is private, otherwise those of the receiver.
fn directions([source, destination]: [IpAddr; 2]) -> Vec<(&'static str, Network)> {
    let (sender, receiver) = (("from", source), ("to", destination));
    let ends = if is_private(source) && !is_private(destination) { [sender, receiver] } else { [receiver, sender] };
    let networks = |(word, address): (&'static str, IpAddr)| {
        let prefixes: &[u8] = match (is_private(address), address.is_ipv4()) {
            (true, true) => &[24, 16, 8, 32],
            (true, false) => &[64, 48, 128],
            (false, true) => &[32],
            (false, false) => &[128],
        };
        prefixes.iter().map(move |prefix| (word, Network::around(address, *prefix)))
    };
    ends.into_iter().flat_map(networks).collect()
}

/// RFC 1918 and RFC 4193.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

//! Pairs of senders and receivers, and patterns of host names.

use std::collections::BTreeSet;

use rand::Rng as _;
use rand_pcg::Pcg64Mcg;
use roundelay::{Fault, Seed};
use serde::Deserialize;

use crate::ids::NodeId;
use crate::network::Network;
use crate::random::generator;

/// The rule for pairing senders and receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// The first of `from` sends to the first of `to`, the second to the second; a single sender
    /// sends to all, a single receiver receives from all.
    #[default]
    Each,
    /// Each of `from` sends to each of `to`, except to itself.
    All,
    /// Each of `from` sends to a random one of `to`, drawn by the seed, except to itself.
    Random,
}

/// The hosts that a pattern names: a name, a name with `*` for any letters, or numbered names like
/// `s0..48`.
///
/// # Errors
/// No host matches.
pub(super) fn matching(
    network: &Network,
    hosts: &[NodeId],
    pattern: &str,
) -> Result<Vec<NodeId>, Fault> {
    if let Some(names) = numbered(pattern)? {
        let mut hosts_named = Vec::new();
        for name in names {
            hosts_named.extend(matching(network, hosts, &name)?);
        }
        return Ok(hosts_named);
    }
    let Some((head, tail)) = pattern.split_once('*') else {
        return match network.named(pattern) {
            Some(node) if hosts.contains(&node) => Ok(vec![node]),
            Some(node) => {
                let legal = behind(network, hosts, node);
                let message = format!("'{pattern}' is no host: routers send nothing; {legal}");
                Err(Fault::new(message).with_given(pattern).with_legal(legal))
            }
            None => Err(no_node(network, hosts, pattern)),
        };
    };
    let mut found = Vec::new();
    for host in hosts {
        let name = network.name(*host);
        let has_room = name.len() >= head.len() + tail.len();
        if has_room && name.starts_with(head) && name.ends_with(tail) {
            found.push(*host);
        }
    }
    if found.is_empty() {
        let legal = like(network, hosts);
        let message = format!("no host is called '{pattern}': {legal}");
        Err(Fault::new(message).with_given(pattern).with_legal(legal))
    } else {
        Ok(found)
    }
}

/// The names that `s0..48` stands for: s0 to s48. None for any other pattern.
///
/// # Errors
/// The last number is less than the first, or there are too many names.
fn numbered(pattern: &str) -> Result<Option<Vec<String>>, Fault> {
    let Some((first, last)) = pattern.split_once("..") else {
        return Ok(None);
    };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let (Ok(first), Ok(last)) = (first[stem.len()..].parse::<u32>(), last.parse::<u32>()) else {
        return Ok(None);
    };
    if last < first || last - first >= 1 << 20 {
        let legal = "from a number to one as large or larger, a million names at most";
        let fault = Fault::new(format!("'{pattern}': {legal}"));
        return Err(fault.with_given(pattern).with_legal(legal));
    }
    let names = (first..=last).map(|number| format!("{stem}{number}"));
    Ok(Some(names.collect()))
}

/// The hosts that are linked to a router, or else a hint at host names.
fn behind(network: &Network, hosts: &[NodeId], router: NodeId) -> String {
    const MOST: usize = 3;
    let hosts_of: BTreeSet<_> = hosts.iter().copied().collect();
    let mut found = Vec::new();
    for link in network.leaving(router) {
        let end = network.links()[link.index()].to;
        if hosts_of.contains(&end) {
            found.push(format!("'{}'", network.name(end)));
        }
    }
    let names = found[..found.len().min(MOST)].join(", ");
    match found.len() {
        0 => like(network, hosts),
        1 => format!("the host behind it is {names}"),
        count @ 2..=MOST => format!("the {count} hosts behind it are {names}"),
        count => format!("the {count} hosts behind it are {names} and so on"),
    }
}

/// The fault of a name that no node has. It suggests another name, unless only the number is wrong.
fn no_node(network: &Network, hosts: &[NodeId], written: &str) -> Fault {
    let mut names = Vec::new();
    for host in hosts {
        let name = network.name(*host);
        if stem(&name) != stem(written) {
            names.push(name);
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let legal = like(network, hosts);
    let fault = Fault::unknown(written, &names, |meant| {
        format!("no node is called '{written}'{meant}: {legal}")
    });
    fault.with_legal(&legal)
}

/// A name without the number at its end.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Hints at host names.
fn like(network: &Network, hosts: &[NodeId]) -> String {
    match hosts {
        [] => "the network has no host".to_owned(),
        [first, .., last] => format!(
            "hosts are '{}' to '{}'",
            network.name(*first),
            network.name(*last)
        ),
        [only] => format!("the only host is '{}'", network.name(*only)),
    }
}

impl Pairing {
    /// The number of pairs.
    ///
    /// # Errors
    /// The lists' lengths do not match.
    pub(super) fn count(self, from: &[NodeId], to: &[NodeId]) -> Result<u64, Fault> {
        let [senders, receivers] = [from.len() as u64, to.len() as u64];
        match self {
            Self::Each if senders != receivers && senders != 1 && receivers != 1 => Err(format!(
                "{senders} senders and {receivers} receivers: as many of both, one of either, or \
                 pairs = \"all\" or \"random\""
            )
            .into()),
            Self::Each => Ok(senders.max(receivers)),
            Self::All => Ok(senders * receivers),
            Self::Random if from.iter().any(|node| to == [*node]) => {
                Err("a host that is the only receiver has nobody else to send to".into())
            }
            Self::Random => Ok(senders),
        }
    }

    /// The pairs, in order. Only `Random` uses the seed.
    pub(super) fn pairs(self, from: &[NodeId], to: &[NodeId], seed: Seed) -> Vec<(NodeId, NodeId)> {
        let mut pairs = Vec::new();
        match self {
            Self::Each => {
                let count = from.len().max(to.len());
                let both = from.iter().cycle().zip(to.iter().cycle());
                for (from, to) in both.take(count) {
                    pairs.push((*from, *to));
                }
            }
            Self::All => {
                for from in from {
                    for to in to {
                        if from != to {
                            pairs.push((*from, *to));
                        }
                    }
                }
            }
            Self::Random => {
                let mut random = generator(seed);
                for from in from {
                    pairs.push((*from, another(*from, to, &mut random)));
                }
            }
        }
        pairs
    }
}

/// One of `to`, drawn at random, but not `from`. At least one exists.
fn another(from: NodeId, to: &[NodeId], random: &mut Pcg64Mcg) -> NodeId {
    let others: Vec<NodeId> = to.iter().copied().filter(|to| *to != from).collect();
    let index = (u128::from(random.next_u64()) * others.len() as u128) >> 64;
    others.get(index as usize).copied().unwrap_or(from)
}

//! Pairs of senders and receivers, and patterns of host names.

use roundelay::Seed;
use std::collections::BTreeSet;

use rand::Rng as _;
use rand_pcg::Pcg64Mcg;
use roundelay_trace::file::did_you_mean;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::network::{Network, NodeId};
use crate::random::generator;

/// The rule for pairing senders and receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
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

/// The hosts named by a pattern: a name, a name with `*` for any letters, or numbered names:
/// `s0..48`.
///
/// # Errors
/// No host matches.
pub(super) fn matching(
    network: &Network,
    hosts: &[NodeId],
    pattern: &str,
) -> Result<Vec<NodeId>, String> {
    if let Some(names) = numbered(pattern)? {
        let each = names.iter().map(|name| matching(network, hosts, name));
        return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
    }
    let Some((head, tail)) = pattern.split_once('*') else {
        return match network.named(pattern) {
            Some(node) if hosts.contains(&node) => Ok(vec![node]),
            Some(node) => Err(format!(
                "'{pattern}' is no host: routers send nothing; {}",
                behind(network, hosts, node)
            )),
            None => Err(format!(
                "there is no node '{pattern}'{}: {}",
                meant(network, hosts, pattern),
                like(network, hosts)
            )),
        };
    };
    let fits = |name: &str| {
        name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
    };
    let found: Vec<_> = hosts
        .iter()
        .copied()
        .filter(|host| fits(&network.name(*host)))
        .collect();
    if found.is_empty() {
        Err(format!(
            "no host is called '{pattern}': {}",
            like(network, hosts)
        ))
    } else {
        Ok(found)
    }
}

/// The names of `s0..48`: s0 to s48. None for other patterns.
///
/// # Errors
/// The last number is less than the first, or there are too many names.
fn numbered(pattern: &str) -> Result<Option<Vec<String>>, String> {
    let Some((first, last)) = pattern.split_once("..") else {
        return Ok(None);
    };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let (Ok(first), Ok(last)) = (first[stem.len()..].parse::<u32>(), last.parse::<u32>()) else {
        return Ok(None);
    };
    if last < first || last - first >= 1 << 20 {
        return Err(format!(
            "'{pattern}': from a number to one as large or larger, a million names at most"
        ));
    }
    Ok(Some(
        (first..=last)
            .map(|number| format!("{stem}{number}"))
            .collect(),
    ))
}

/// The hosts linked to a router, or a hint at host names.
fn behind(network: &Network, hosts: &[NodeId], router: NodeId) -> String {
    const MOST: usize = 3;
    let hosts_of: BTreeSet<_> = hosts.iter().copied().collect();
    let ends = network
        .leaving(router)
        .iter()
        .map(|link| network.links()[link.index()].to);
    let found: Vec<_> = ends
        .filter(|end| hosts_of.contains(end))
        .map(|end| format!("'{}'", network.name(end)))
        .collect();
    let names = found[..found.len().min(MOST)].join(", ");
    match found.len() {
        0 => like(network, hosts),
        1 => format!("the host behind it is {names}"),
        count @ 2..=MOST => format!("the {count} hosts behind it are {names}"),
        count => format!("the {count} hosts behind it are {names} and so on"),
    }
}

/// A suggestion for a host name, unless only the number is wrong.
fn meant(network: &Network, hosts: &[NodeId], written: &str) -> String {
    let stem = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    let names = hosts
        .iter()
        .map(|host| network.name(*host))
        .filter(|name| stem(name) != stem(written));
    did_you_mean(
        written,
        &names
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    )
}

/// A hint at host names.
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
    /// The lengths of the lists do not match.
    pub(super) fn count(self, from: &[NodeId], to: &[NodeId]) -> Result<u64, String> {
        let [senders, receivers] = [from.len() as u64, to.len() as u64];
        let meets_itself = |node: &NodeId| to == [*node];
        match self {
            Self::Each if senders != receivers && senders != 1 && receivers != 1 => Err(format!(
                "{senders} senders and {receivers} receivers: as many of both, one of either, or pairs = \"all\" or \"random\""
            )),
            Self::Each => Ok(senders.max(receivers)),
            Self::All => Ok(senders * receivers),
            Self::Random => match from.iter().find(|node| meets_itself(node)) {
                Some(_) => {
                    Err("a host that is the only receiver has nobody else to send to".to_owned())
                }
                None => Ok(senders),
            },
        }
    }

    /// The pairs, in order. Only `Random` uses the seed.
    pub(super) fn pairs(self, from: &[NodeId], to: &[NodeId], seed: Seed) -> Vec<(NodeId, NodeId)> {
        match self {
            Self::Each => {
                let count = from.len().max(to.len());
                from.iter()
                    .cycle()
                    .copied()
                    .zip(to.iter().cycle().copied())
                    .take(count)
                    .collect()
            }
            Self::All => {
                let all = from
                    .iter()
                    .flat_map(|from| to.iter().map(move |to| (*from, *to)));
                all.filter(|(from, to)| from != to).collect()
            }
            Self::Random => {
                let mut random = generator(seed);
                from.iter()
                    .map(|from| (*from, another(*from, to, &mut random)))
                    .collect()
            }
        }
    }
}

/// A random one of `to` other than `from`; at least one exists.
fn another(from: NodeId, to: &[NodeId], random: &mut Pcg64Mcg) -> NodeId {
    let own = to.iter().filter(|to| **to == from).count();
    let count = (to.len() - own) as u128;
    let place = (u128::from(random.next_u64()) * count) >> 64;
    to.iter()
        .copied()
        .filter(|to| *to != from)
        .nth(place as usize)
        .unwrap_or(from)
}

//! Who sends to whom.

use std::collections::BTreeSet;

use rand::Rng as _;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::network::{Network, NodeId};
use crate::random::{Drawer, stream};

/// How senders and receivers are paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// The first of `from` sends to the first of `to`, the second to the second; a single one sends to all, or receives from all.
    #[default]
    Each,
    /// Each of `from` sends to each of `to`, itself left out.
    All,
    /// Each of `from` sends to one of `to` that the seed draws, itself left out.
    Random,
}

/// The hosts that a pattern names: a name, one with a `*` for any letters, or numbered ones: `s0..48`.
///
/// # Errors
/// There is none.
pub(super) fn matching(network: &Network, hosts: &[NodeId], pattern: &str) -> Result<Vec<NodeId>, String> {
    if let Some(names) = numbered(pattern)? {
        let each = names.iter().map(|name| matching(network, hosts, name));
        return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
    }
    let Some((head, tail)) = pattern.split_once('*') else {
        return match network.named(pattern) {
            Some(node) if hosts.contains(&node) => Ok(vec![node]),
            Some(node) => Err(format!("'{pattern}' is no host: routers send nothing; {}", behind(network, hosts, node))),
            None => Err(format!("there is no node '{pattern}': {}", like(network, hosts))),
        };
    };
    let fits = |name: &str| name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail);
    let found: Vec<_> = hosts.iter().copied().filter(|host| fits(&network.name(*host))).collect();
    if found.is_empty() { Err(format!("no host is called '{pattern}': {}", like(network, hosts))) } else { Ok(found) }
}

/// `s0..48`: s0 to s48. None if it is no such pattern.
///
/// # Errors
/// It ends before it begins, or names too many.
fn numbered(pattern: &str) -> Result<Option<Vec<String>>, String> {
    let Some((first, last)) = pattern.split_once("..") else { return Ok(None) };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let (Ok(first), Ok(last)) = (first[stem.len()..].parse::<u32>(), last.parse::<u32>()) else { return Ok(None) };
    if last < first || last - first >= 1 << 20 {
        return Err(format!("'{pattern}': from a number to one as large or larger, a million names at most"));
    }
    Ok(Some((first..=last).map(|number| format!("{stem}{number}")).collect()))
}

/// The hosts that a router has links to, or else a hint at what hosts are called.
fn behind(network: &Network, hosts: &[NodeId], router: NodeId) -> String {
    const MOST: usize = 3;
    let hosts_of: BTreeSet<_> = hosts.iter().copied().collect();
    let ends = network.leaving(router).iter().map(|link| network.links()[link.index()].to);
    let found: Vec<_> = ends.filter(|end| hosts_of.contains(end)).map(|end| format!("'{}'", network.name(end))).collect();
    let names = found[..found.len().min(MOST)].join(", ");
    match found.len() {
        0 => like(network, hosts),
        1 => format!("the host behind it is {names}"),
        count @ 2..=MOST => format!("the {count} hosts behind it are {names}"),
        count => format!("the {count} hosts behind it are {names} and so on"),
    }
}

/// A hint at what hosts are called.
fn like(network: &Network, hosts: &[NodeId]) -> String {
    match hosts {
        [] => "the network has no host".to_owned(),
        [first, .., last] => format!("hosts are '{}' to '{}'", network.name(*first), network.name(*last)),
        [only] => format!("the only host is '{}'", network.name(*only)),
    }
}

impl Pairing {
    /// How many pairs this makes.
    ///
    /// # Errors
    /// The lists do not go together.
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
                Some(_) => Err("a host that is the only receiver has nobody else to send to".to_owned()),
                None => Ok(senders),
            },
        }
    }

    /// The pairs, in order. Only `Random` draws.
    pub(super) fn pairs(self, from: &[NodeId], to: &[NodeId], seed: u64) -> Vec<(NodeId, NodeId)> {
        match self {
            Self::Each => {
                let count = from.len().max(to.len());
                from.iter().cycle().copied().zip(to.iter().cycle().copied()).take(count).collect()
            }
            Self::All => {
                let all = from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to)));
                all.filter(|(from, to)| from != to).collect()
            }
            Self::Random => {
                let mut random = stream(seed, Drawer::Scenario);
                from.iter().map(|from| (*from, another(*from, to, &mut random))).collect()
            }
        }
    }
}

/// One of `to` that is not `from`; there is one.
fn another(from: NodeId, to: &[NodeId], random: &mut Pcg64Mcg) -> NodeId {
    let own = to.iter().filter(|to| **to == from).count();
    let count = (to.len() - own) as u128;
    let place = (u128::from(random.next_u64()) * count) >> 64;
    to.iter().copied().filter(|to| *to != from).nth(place as usize).unwrap_or(from)
}

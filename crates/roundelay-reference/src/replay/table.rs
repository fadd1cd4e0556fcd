//! Tables of schedules in the paper's notation: `a(0, 0), x(0, 1)`, packet(arrival, scheduling), a
//! row per node.

use super::{Hop, Invalid, Network, Node, Schedule, Stay};

/// Reads a path: names of nodes, with `+2` before a node for a link with a propagation delay of 2.
///
/// # Errors
/// An unknown name, or a delay that is not a number.
pub(super) fn path(nodes: &[Node], text: &str) -> Result<Vec<Hop>, Invalid> {
    let mut path = Vec::new();
    let mut propagation = 0;
    for word in text.split_whitespace() {
        if let Some(time) = word.strip_prefix('+') {
            propagation = time.parse().map_err(|_| {
                Invalid(format!(
                    "path '{text}': '{word}': expected + and a whole number of units"
                ))
            })?;
        } else {
            let node = nodes.iter().position(|node| node.name == word);
            let node =
                node.ok_or_else(|| Invalid(format!("path '{text}': no node is called '{word}'")))?;
            path.push(Hop {
                node,
                propagation: core::mem::take(&mut propagation),
            });
        }
    }
    if propagation > 0 {
        Err(Invalid(format!(
            "path '{text}': a delay has to stand before a node"
        )))
    } else {
        Ok(path)
    }
}

impl Hop {
    /// Reads a path: names of nodes, with `+2` before a node for a link with a propagation delay of
    /// 2.
    ///
    /// # Errors
    /// An unknown name, or a delay that is not a number.
    pub fn path(nodes: &[Node], text: &str) -> Result<Vec<Self>, Invalid> {
        path(nodes, text)
    }
}

impl Schedule {
    /// Reads rows of node and `packet(arrival, scheduling)`, separated by commas. The schedule need
    /// not be viable.
    ///
    /// # Errors
    /// The row and its fault: an unknown name, a packet that does not pass the node, a packet
    /// listed twice or missing.
    pub fn read<'a>(
        network: &Network,
        rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Invalid> {
        let mut stays: Vec<Vec<Option<Stay>>> = network
            .packets()
            .iter()
            .map(|packet| vec![None; packet.path.len()])
            .collect();
        for (name, row) in rows {
            let wrong = |what: String| Invalid(format!("{name} = \"{row}\": {what}"));
            let node = network
                .node(name)
                .ok_or_else(|| wrong("no node is called so".to_owned()))?;
            for entry in row
                .split_inclusive(')')
                .map(|entry| entry.trim_start_matches([',', ' ']))
                .filter(|entry| !entry.is_empty())
            {
                let (packet, stay) = read_entry(network, entry).map_err(wrong)?;
                let hop = network.packets()[packet]
                    .path
                    .iter()
                    .position(|hop| hop.node == node);
                let hop = hop.ok_or_else(|| {
                    wrong(format!(
                        "{} does not pass this node",
                        network.packets()[packet].name
                    ))
                })?;
                let (arrival, start) = stay;
                let stay = Stay {
                    arrival,
                    start,
                    end: start + network.transmission(packet, hop),
                };
                if stays[packet][hop].replace(stay).is_some() {
                    return Err(wrong(format!(
                        "{} stands there twice",
                        network.packets()[packet].name
                    )));
                }
            }
        }
        let complete = |(packet, stays): (usize, Vec<Option<Stay>>)| {
            let missing = |hop: usize| {
                let about = &network.packets()[packet];
                Invalid(format!(
                    "packet {} has no entry at {}",
                    about.name,
                    network.nodes()[about.path[hop].node].name
                ))
            };
            stays
                .into_iter()
                .enumerate()
                .map(|(hop, stay)| stay.ok_or_else(|| missing(hop)))
                .collect()
        };
        Ok(Self(
            stays
                .into_iter()
                .enumerate()
                .map(complete)
                .collect::<Result<_, _>>()?,
        ))
    }

    /// Rows as read by [`Self::read`], without unused nodes; `a(0, 1 to 5)` for an interrupted
    /// packet.
    pub fn rows(&self, network: &Network) -> Vec<(String, String)> {
        let row = |node: usize| {
            let entry = |(packet, stay): &(usize, Stay)| {
                let hop = self.0[*packet]
                    .iter()
                    .position(|other| other == stay)
                    .unwrap_or(0);
                let name = &network.packets()[*packet].name;
                let Stay {
                    arrival,
                    start,
                    end,
                } = stay;
                let is_whole = *end == start + network.transmission(*packet, hop);
                if is_whole {
                    format!("{name}({arrival}, {start})")
                } else {
                    format!("{name}({arrival}, {start} to {end})")
                }
            };
            let entries: Vec<String> = self.at_node(network, node).iter().map(entry).collect();
            (network.nodes()[node].name.clone(), entries.join(", "))
        };
        (0..network.nodes().len())
            .map(row)
            .filter(|(_, entries)| !entries.is_empty())
            .collect()
    }

    /// The network and a schedule, a line each, to check by hand.
    pub fn lines(&self, network: &Network) -> Vec<String> {
        let name = |node: usize| network.nodes()[node].name.as_str();
        let nodes: Vec<String> = network
            .nodes()
            .iter()
            .map(|node| format!("{} T={}", node.name, node.transmission))
            .collect();
        let mut lines = vec![format!("nodes: {}", nodes.join(", "))];
        for (number, packet) in network.packets().iter().enumerate() {
            let hop = |hop: &Hop| {
                if hop.propagation > 0 {
                    format!("+{} {}", hop.propagation, name(hop.node))
                } else {
                    name(hop.node).to_owned()
                }
            };
            let path: Vec<String> = packet.path.iter().map(hop).collect();
            let len = if packet.len == 1 {
                String::new()
            } else {
                format!(", length {}", packet.len)
            };
            let exit = self.exit(number);
            let slack = self.slack(network, number);
            lines.push(format!(
                "packet {}: i = {}, path {}{len}, o = {exit}, slack {slack}",
                packet.name,
                packet.input,
                path.join(" ")
            ));
        }
        lines.push("original, packet(arrival, scheduling):".to_owned());
        lines.extend(
            self.rows(network)
                .into_iter()
                .map(|(node, row)| format!("  {node}: {row}")),
        );
        lines
    }

    /// Lines of a replay of `original`: rows, and the overdue packets.
    pub fn replay_lines(&self, network: &Network, original: &Self, rule: &str) -> Vec<String> {
        let mut lines = vec![format!("replay by {rule}:")];
        lines.extend(
            self.rows(network)
                .into_iter()
                .map(|(node, row)| format!("  {node}: {row}")),
        );
        let late = self.overdue(original);
        let late: Vec<String> = late
            .iter()
            .map(|(packet, by)| format!("{} by {by}", network.packets()[*packet].name))
            .collect();
        lines.push(if late.is_empty() {
            "  no packet is overdue".to_owned()
        } else {
            format!("  overdue: {}", late.join(", "))
        });
        lines
    }
}

/// Reads `a(0, 1)`: a packet, its arrival and its start.
fn read_entry(network: &Network, entry: &str) -> Result<(usize, (u64, u64)), String> {
    let parts = entry
        .strip_suffix(')')
        .and_then(|entry| entry.split_once('('))
        .and_then(|(name, times)| Some((name, times.split_once(',')?)));
    let (name, (arrival, start)) =
        parts.ok_or_else(|| format!("'{entry}': expected packet(arrival, scheduling)"))?;
    let packet = network
        .packet(name.trim())
        .ok_or_else(|| format!("no packet is called '{}'", name.trim()))?;
    let time = |text: &str| match text.trim().parse::<u64>() {
        Ok(time) if time <= super::LARGEST * super::LARGEST => Ok(time),
        _ => Err(format!(
            "'{entry}': '{}': expected a whole number of units, 0 to {}",
            text.trim(),
            super::LARGEST * super::LARGEST
        )),
    };
    Ok((packet, (time(arrival)?, time(start)?)))
}

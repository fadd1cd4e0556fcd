//! Tables of schedules in the paper's notation: `a(0, 0), x(0, 1)` stands for packet(arrival,
//! scheduling), with a row per node.

use super::{Hop, Invalid, Network, Node, Schedule, Stay};

/// Reads a path: names of nodes, and `+2` before a node if the link to it has a propagation delay
/// of 2.
///
/// # Errors
/// An unknown name, a delay that is not a number, or a delay that no node follows.
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
            let Some(node) = nodes.iter().position(|node| node.name == word) else {
                return Err(Invalid(format!(
                    "path '{text}': no node is called '{word}'"
                )));
            };
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
    /// Reads a path: names of nodes, and `+2` before a node if the link to it has a propagation
    /// delay of 2.
    ///
    /// # Errors
    /// An unknown name, a delay that is not a number, or a delay that no node follows.
    pub fn path(nodes: &[Node], text: &str) -> Result<Vec<Self>, Invalid> {
        path(nodes, text)
    }
}

impl Schedule {
    /// Reads rows of a node and its `packet(arrival, scheduling)`, separated by commas. The
    /// schedule need not be viable.
    ///
    /// # Errors
    /// The row and what is wrong with it: an unknown name, an entry in another form, a packet that
    /// does not pass the node, or one that is listed twice. Or the packet that a row leaves out.
    pub fn read<'a>(
        network: &Network,
        rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Invalid> {
        let mut stays = Vec::new();
        for packet in network.packets() {
            stays.push(vec![None; packet.path.len()]);
        }
        for (name, row) in rows {
            read_row(network, name, row, &mut stays)
                .map_err(|fault| Invalid(format!("{name} = \"{row}\": {fault}")))?;
        }
        let mut schedule = Vec::new();
        for (packet, stays) in network.packets().iter().zip(stays) {
            let mut complete = Vec::new();
            for (hop, stay) in packet.path.iter().zip(stays) {
                let Some(stay) = stay else {
                    let node = &network.nodes()[hop.node].name;
                    return Err(Invalid(format!(
                        "packet {} has no entry at {node}",
                        packet.name
                    )));
                };
                complete.push(stay);
            }
            schedule.push(complete);
        }
        Ok(Self(schedule))
    }

    /// Rows in the form that [`Self::read`] reads, without unused nodes. But if a packet was
    /// interrupted, its entry is `a(0, 1 to 5)`, which [`Self::read`] does not accept.
    pub fn rows(&self, network: &Network) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for (node, about) in network.nodes().iter().enumerate() {
            let mut entries = Vec::new();
            for (packet, stay) in self.at_node(network, node) {
                entries.push(entry(network, packet, node, &stay));
            }
            if !entries.is_empty() {
                rows.push((about.name.clone(), entries.join(", ")));
            }
        }
        rows
    }

    /// The network and the schedule in lines that you can check by hand.
    pub fn lines(&self, network: &Network) -> Vec<String> {
        let mut nodes = Vec::new();
        for node in network.nodes() {
            nodes.push(format!("{} T={}", node.name, node.transmission));
        }
        let mut lines = vec![format!("nodes: {}", nodes.join(", "))];
        for (number, packet) in network.packets().iter().enumerate() {
            let mut path = Vec::new();
            for hop in &packet.path {
                let node = &network.nodes()[hop.node].name;
                if hop.propagation > 0 {
                    path.push(format!("+{} {node}", hop.propagation));
                } else {
                    path.push(node.clone());
                }
            }
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
        for (node, row) in self.rows(network) {
            lines.push(format!("  {node}: {row}"));
        }
        lines
    }

    /// A replay of `original` in lines: its rows, and which packets are overdue.
    pub fn replay_lines(&self, network: &Network, original: &Self, rule: &str) -> Vec<String> {
        let mut lines = vec![format!("replay by {rule}:")];
        for (node, row) in self.rows(network) {
            lines.push(format!("  {node}: {row}"));
        }
        let mut late = Vec::new();
        for (packet, by) in self.overdue(original) {
            late.push(format!("{} by {by}", network.packets()[packet].name));
        }
        lines.push(if late.is_empty() {
            "  no packet is overdue".to_owned()
        } else {
            format!("  overdue: {}", late.join(", "))
        });
        lines
    }
}

/// Writes `a(0, 1)`, or `a(0, 1 to 5)` if the packet was interrupted.
fn entry(network: &Network, packet: usize, node: usize, stay: &Stay) -> String {
    let about = &network.packets()[packet];
    let Stay {
        arrival,
        start,
        end,
    } = stay;
    let transmission = about.len * network.nodes()[node].transmission;
    if *end == start + transmission {
        format!("{}({arrival}, {start})", about.name)
    } else {
        format!("{}({arrival}, {start} to {end})", about.name)
    }
}

/// Reads the entries in a node's row into `stays`, by packet and hop.
fn read_row(
    network: &Network,
    name: &str,
    row: &str,
    stays: &mut [Vec<Option<Stay>>],
) -> Result<(), String> {
    let node = network.node(name).ok_or("no node is called so")?;
    for entry in row.split_inclusive(')') {
        let entry = entry.trim_start_matches([',', ' ']);
        if entry.is_empty() {
            continue;
        }
        let (packet, arrival, start) = read_entry(network, entry)?;
        let about = &network.packets()[packet];
        let Some(hop) = about.hop_at(node) else {
            return Err(format!("{} does not pass this node", about.name));
        };
        let stay = Stay {
            arrival,
            start,
            end: start + network.transmission(packet, hop),
        };
        if stays[packet][hop].replace(stay).is_some() {
            return Err(format!("{} stands there twice", about.name));
        }
    }
    Ok(())
}

/// Reads `a(0, 1)`: a packet, its arrival and its start.
fn read_entry(network: &Network, entry: &str) -> Result<(usize, u64, u64), String> {
    let Some((name, arrival, start)) = split_entry(entry) else {
        return Err(format!("'{entry}': expected packet(arrival, scheduling)"));
    };
    let packet = network
        .packet(name.trim())
        .ok_or_else(|| format!("no packet is called '{}'", name.trim()))?;
    let arrival = read_time(entry, arrival)?;
    let start = read_time(entry, start)?;
    Ok((packet, arrival, start))
}

/// The three texts in `a(0, 1)`.
fn split_entry(entry: &str) -> Option<(&str, &str, &str)> {
    let (name, times) = entry.strip_suffix(')')?.split_once('(')?;
    let (arrival, start) = times.split_once(',')?;
    Some((name, arrival, start))
}

fn read_time(entry: &str, text: &str) -> Result<u64, String> {
    let text = text.trim();
    let most = super::LARGEST * super::LARGEST;
    match text.parse() {
        Ok(time) if time <= most => Ok(time),
        _ => Err(format!(
            "'{entry}': '{text}': expected a whole number of units, 0 to {most}"
        )),
    }
}

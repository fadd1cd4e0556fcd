//! The UPS authors' files (R. Mittal and others, "Universal Packet Scheduling", NSDI 2016).
//!
//! `topo.txt` has the number of nodes, the number of links, and then a line `node node rate delay`
//! for each link, with the rate in Mbit/s and the delay in milliseconds or microseconds.
//! `endhosts.txt` has the number of hosts, and then a line `host link 1` for each host, where
//! `link` counts the lines of links from 0.

use std::str::FromStr;

use roundelay::{Duration, Fault, Rate};

use super::{Edge, Graph, MOST_NODES, Text};

pub(super) fn read(
    topology: Text<'_>,
    hosts: Option<Text<'_>>,
    delay_unit: Duration,
) -> Result<Graph, Fault> {
    let mut lines = topology.lines();
    let nodes = count(topology, lines.next(), "nodes")?;
    let links = count(topology, lines.next(), "links")?;
    let mut graph = Graph::default();
    (0..nodes).for_each(|number| _ = graph.node(&number.to_string()));
    for (line, text) in lines {
        graph
            .edges
            .push(edge(topology, line, text, nodes, delay_unit)?);
    }
    if graph.edges.len() != links {
        return Err(topology.error(
            2,
            format!("{links} links are promised, {} follow", graph.edges.len()),
        ));
    }
    if let Some(file) = hosts {
        mark_hosts(&mut graph, file)?;
    }
    Ok(graph)
}

fn edge(
    file: Text<'_>,
    line: usize,
    text: &str,
    nodes: usize,
    delay_unit: Duration,
) -> Result<Edge, Fault> {
    let words: Vec<_> = text.split_whitespace().collect();
    let [from, to, rate, delay] = words[..] else {
        return Err(file.error(line, Fault::quoted(text, "two nodes, Mbit/s and a delay")));
    };
    let node = |word: &str| {
        number::<usize>(file, line, word).and_then(|node| known(file, line, node, nodes, "node"))
    };
    let from = node(from)?;
    let to = node(to)?;
    if from == to {
        return Err(file.error(line, format!("a link from node {from} to itself")));
    }
    let rate: Rate = format!("{rate}mbit")
        .parse()
        .map_err(|_| file.error(line, Fault::quoted(rate, "Mbit/s, more than 0")))?;
    // We first read milliseconds, and then convert the unit in whole numbers.
    let delay: Duration = format!("{delay}ms")
        .parse()
        .map_err(|_| file.error(line, Fault::quoted(delay, "a delay, 0 or more")))?;
    let picos = u128::from(delay.as_picos()) * u128::from(delay_unit.as_picos())
        / u128::from(Duration::from_millis(1).as_picos());
    let delay = Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX));
    Ok(Edge {
        from,
        to,
        rate: Some(rate),
        delay: Some(delay),
        ..Edge::default()
    })
}

fn mark_hosts(graph: &mut Graph, file: Text<'_>) -> Result<(), Fault> {
    let mut lines = file.lines();
    let promised = count(file, lines.next(), "hosts")?;
    let mut found = 0;
    for (line, text) in lines {
        let words: Vec<_> = text.split_whitespace().collect();
        let [host, link, _] = words[..] else {
            return Err(file.error(
                line,
                Fault::quoted(text, "a host, the number of its link, and 1"),
            ));
        };
        let host = known(
            file,
            line,
            number(file, line, host)?,
            graph.nodes.len(),
            "node",
        )?;
        let link = known(
            file,
            line,
            number(file, line, link)?,
            graph.edges.len(),
            "link",
        )?;
        if graph.edges[link].from != host && graph.edges[link].to != host {
            return Err(file.error(line, format!("link {link} does not end at host {host}")));
        }
        graph.nodes[host].is_host = true;
        found += 1;
    }
    if found == promised {
        Ok(())
    } else {
        Err(file.error(1, format!("{promised} hosts are promised, {found} follow")))
    }
}

fn count(file: Text<'_>, line: Option<(usize, &str)>, what: &str) -> Result<usize, Fault> {
    let (line, text) =
        line.ok_or_else(|| file.error(0, format!("the file ends before the number of {what}")))?;
    let count = number::<usize>(file, line, text)?;
    let most = MOST_NODES as usize;
    if count <= most {
        Ok(count)
    } else {
        let legal = format!("0 to {most}");
        let fault = Fault::new(format!("{count} {what}, legal range {legal}"));
        Err(file.error(line, fault.with_given(count).with_legal(legal)))
    }
}

fn number<N: FromStr>(file: Text<'_>, line: usize, word: &str) -> Result<N, Fault> {
    word.parse()
        .map_err(|_| file.error(line, Fault::quoted(word, "a whole number")))
}

fn known(
    file: Text<'_>,
    line: usize,
    number: usize,
    count: usize,
    what: &str,
) -> Result<usize, Fault> {
    if number < count {
        return Ok(number);
    }
    Err(file.error(
        line,
        format!("{what} {number}: there are {count}, counted from 0"),
    ))
}

//! Rocketfuel's edge lists (R. Mahajan, N. Spring, D. Wetherall, T. Anderson, "Inferring Link
//! Weights using End-to-End Measurements", IMW 2002): `weights.intra` and `latencies.intra`, which
//! have lines `node node number`.
//!
//! Weights become costs in thousandths, and latencies are milliseconds. Each way of a link has its
//! own line. If one is missing, both ways are alike.

use std::collections::BTreeMap;

use roundelay::{Billionths, Duration, Fault};

use super::unread::IDLE;
use super::{Edge, Graph, Text};

pub(super) fn read(weights: Text<'_>, latencies: Option<Text<'_>>) -> Result<Graph, Fault> {
    let mut graph = Graph::default();
    for (line, text) in weights.lines() {
        let (from, to, weight) = fields(weights, line, text)?;
        let weight: Billionths = weight
            .parse()
            .map_err(|_| wrong(weights, line, weight, "weight"))?;
        let edge = Edge {
            from: graph.node(from),
            to: graph.node(to),
            cost: Some(weight.0 / 1_000_000),
            ..Edge::default()
        };
        if edge.from == edge.to {
            return Err(weights.error(line, format!("a link from '{from}' to itself")));
        }
        graph.edges.push(edge);
    }
    graph.oddities.costs = Some(format!("{}: each weight is a cost, {IDLE}.", weights.name));
    if let Some(file) = latencies {
        delay(&mut graph, file)?;
    }
    graph.find_ways_back();
    Ok(graph)
}

fn delay(graph: &mut Graph, file: Text<'_>) -> Result<(), Fault> {
    let mut delays = BTreeMap::new();
    for (line, text) in file.lines() {
        let (from, to, latency) = fields(file, line, text)?;
        let delay: Duration = format!("{latency}ms")
            .parse()
            .map_err(|_| wrong(file, line, latency, "latency in milliseconds"))?;
        let ends = graph.by_name.get(from).zip(graph.by_name.get(to));
        let (from, to) =
            ends.ok_or_else(|| file.error(line, format!("no weight for '{from}' to '{to}'")))?;
        delays.insert((*from, *to), delay);
    }
    for edge in &mut graph.edges {
        edge.delay = delays
            .get(&(edge.from, edge.to))
            .or_else(|| delays.get(&(edge.to, edge.from)))
            .copied();
    }
    Ok(())
}

fn fields<'a>(
    file: Text<'_>,
    line: usize,
    text: &'a str,
) -> Result<(&'a str, &'a str, &'a str), Fault> {
    let words: Vec<_> = text.split_whitespace().collect();
    match words[..] {
        [from, to, number] => Ok((from, to, number)),
        _ => Err(file.error(line, Fault::quoted(text, "two nodes and a number"))),
    }
}

fn wrong(file: Text<'_>, line: usize, word: &str, what: &str) -> Fault {
    file.error(
        line,
        Fault::quoted(
            word,
            format_args!("a {what}, a number of 0 or more, as in 2.5"),
        ),
    )
}

//! Plain edge lists: `node node [rate] [delay] [cost]` a line, `#` before a comment.

use roundelay::{Duration, Rate};

use super::{Edge, FileError, Graph, Text};

pub(super) fn read(file: Text<'_>) -> Result<Graph, FileError> {
    let mut graph = Graph::default();
    for (line, text) in file.lines() {
        let mut words = text.split_whitespace();
        let (Some(from), Some(to)) = (words.next(), words.next()) else {
            return Err(file.error(line, format!("'{text}': expected two nodes, then a rate, a delay or a cost, as in: a b 10mbit 5ms")));
        };
        let mut edge = Edge { from: graph.node(from), to: graph.node(to), ..Edge::default() };
        if edge.from == edge.to {
            return Err(file.error(line, format!("a link from '{from}' to itself")));
        }
        words.try_for_each(|word| take(&mut edge, word)).map_err(|message| file.error(line, message))?;
        graph.edges.push(edge);
    }
    graph.find_ways_back();
    Ok(graph)
}

/// A rate has bits in it, a delay a unit, a cost none.
fn take(edge: &mut Edge, word: &str) -> Result<(), String> {
    if let Ok(cost) = word.parse() {
        edge.cost = Some(cost);
        return Ok(());
    }
    let rate: Result<Rate, _> = word.parse();
    let delay: Result<Duration, _> = word.parse();
    match (rate, delay) {
        (Ok(rate), _) => edge.rate = Some(rate),
        (_, Ok(delay)) => edge.delay = Some(delay),
        (Err(rate), Err(_)) if word.contains('b') => return Err(rate.to_string()),
        _ => return Err(format!("'{word}': expected a rate (10mbit), a delay (5ms) or a cost (a whole number)")),
    }
    Ok(())
}

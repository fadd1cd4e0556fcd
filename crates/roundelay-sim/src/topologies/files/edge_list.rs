//! Plain edge lists: a line for each link, `node node [rate] [delay] [cost]`, and comments after
//! `#`.

use roundelay::{Duration, Fault, Rate};

use super::unread::IDLE;
use super::{Edge, Graph, Text};

pub(super) fn read(file: Text<'_>) -> Result<Graph, Fault> {
    let mut graph = Graph::default();
    for (line, text) in file.lines() {
        let mut words = text.split_whitespace();
        let (Some(from), Some(to)) = (words.next(), words.next()) else {
            return Err(file.error(
                line,
                Fault::quoted(
                    text,
                    "two nodes, then a rate, a delay or a cost, as in: a b 10mbit 5ms",
                ),
            ));
        };
        let mut edge = Edge {
            from: graph.node(from),
            to: graph.node(to),
            ..Edge::default()
        };
        if edge.from == edge.to {
            return Err(file.error(line, format!("a link from '{from}' to itself")));
        }
        for word in words {
            take(&mut edge, word).map_err(|message| file.error(line, message))?;
        }
        if let Some(cost) = edge.cost {
            // We note this because a rate or delay without its unit is read as a cost.
            graph.oddities.costs.get_or_insert_with(|| {
                format!(
                    "{}:{line}: '{cost}' is a cost, {IDLE}; rates and delays have units, as in \
                     10mbit and 5ms.",
                    file.name
                )
            });
        }
        graph.edges.push(edge);
    }
    graph.find_ways_back();
    Ok(graph)
}

/// A rate has a unit with bits, a delay has a unit of time, and a cost has none.
fn take(edge: &mut Edge, word: &str) -> Result<(), Fault> {
    if let Ok(cost) = word.parse() {
        return set(&mut edge.cost, cost, word, "cost");
    }
    let rate: Result<Rate, _> = word.parse();
    let delay: Result<Duration, _> = word.parse();
    match (rate, delay) {
        (Ok(rate), _) => set(&mut edge.rate, rate, word, "rate"),
        (_, Ok(delay)) => set(&mut edge.delay, delay, word, "delay"),
        (Err(rate), Err(_)) if word.contains('b') => Err(rate.into()),
        _ => Err(Fault::quoted(
            word,
            "a rate (10mbit), a delay (5ms) or a cost (a whole number)",
        )),
    }
}

/// # Errors
/// The value was already set.
fn set<V>(slot: &mut Option<V>, value: V, word: &str, what: &str) -> Result<(), Fault> {
    if slot.is_some() {
        return Err(
            Fault::new(format!("'{word}': a second {what}, expected one")).with_given(word),
        );
    }
    *slot = Some(value);
    Ok(())
}

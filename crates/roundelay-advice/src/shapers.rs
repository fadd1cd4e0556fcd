//! Disciplines that shape, so that they carry less than the link.

use roundelay::Rate;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Service};
use roundelay_trace::{Comparison, Options};

/// A shaper below this part of the link's rate carries clearly less than the link. A tenth less is
/// what people leave in front of a modem, so that the queue is here and not there.
const USUAL: f64 = 0.9;

/// The disciplines and trees that shape to clearly less than the link's rate, each with what its
/// shaper lets through. Empty if none does or all do, because then the rest is compared fairly.
pub(crate) fn slower_than_the_link(
    comparison: &Comparison,
    options: &Options,
) -> Vec<(String, Rate)> {
    let mut rates = Vec::new();
    for spec in &options.specs {
        rates.push(most_of(&spec.discipline));
    }
    for tree in &options.trees {
        rates.push(most_of_tree(tree.config()));
    }
    let wanted = USUAL * options.rate.bits_per_second() as f64;
    let mut shaped = Vec::new();
    for (result, rate) in comparison.disciplines.iter().zip(rates) {
        if let Some(rate) = rate
            && (rate.bits_per_second() as f64) < wanted
        {
            shaped.push((result.spec.clone(), rate));
        }
    }
    if shaped.len() == comparison.disciplines.len() {
        shaped.clear();
    }
    shaped
}

/// The most that a discipline's own shaper lets through. None: it does not shape.
fn most_of(discipline: &AnyDiscipline) -> Option<Rate> {
    match discipline {
        AnyDiscipline::Cake(cake) => cake.bandwidth,
        AnyDiscipline::Tbf(tbf) => tbf.rate,
        AnyDiscipline::Tree(tree) => most_of_tree(tree),
        _ => None,
    }
}

/// The most that a tree's shapers let through.
fn most_of_tree(tree: &Config) -> Option<Rate> {
    let root = tree.nodes().next()?;
    most_below(tree, root)
}

/// The most that a node lets through: no more than its parent gives it, than it shapes to, and than
/// all of its children together.
fn most_below(tree: &Config, node: &Node) -> Option<Rate> {
    let given = match node.service {
        Service::Htb(class) => Some(class.ceil.unwrap_or(class.rate)),
        Service::Hfsc(class) => class.ul.and_then(|limit| limit.m2),
        _ => None,
    };
    let own = most_of(&node.spec.discipline);
    let children = most_of_all(tree, &tree.children_of(&node.name));
    let rates = [given, own, children];
    rates.into_iter().flatten().min()
}

/// The most that these nodes let through together. None if any of them does not shape.
fn most_of_all(tree: &Config, nodes: &[&Node]) -> Option<Rate> {
    let mut sum = 0_u64;
    for node in nodes {
        sum = sum.saturating_add(most_below(tree, node)?.bits_per_second());
    }
    Rate::from_bits_per_second(sum)
}

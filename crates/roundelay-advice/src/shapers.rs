//! Disciplines that shape, so that they carry less than others that they are compared with.

use roundelay::Rate;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::hfsc::Curve;
use roundelay::tree::{Config, Node, Service};
use roundelay_trace::{Comparison, Options};

/// A note tells of what carries less than this part of what another discipline carries. A tenth is
/// a margin that a shaper in front of a modem may leave.
const ALIKE: f64 = 0.9;

/// The disciplines and trees that shape to clearly less than another one carries, each with the most
/// that its shaper lets through.
pub(crate) fn slower_than_others(
    comparison: &Comparison,
    options: &Options,
) -> Vec<(String, Rate)> {
    let rates = rates(options);
    let fastest = rates.iter().map(|rate| carried(*rate, options)).max();
    slower_than(fastest.unwrap_or(options.rate), &rates, comparison)
}

/// Those that shape to clearly less than this one carries.
pub(crate) fn slower_than_best(
    best: usize,
    comparison: &Comparison,
    options: &Options,
) -> Vec<(String, Rate)> {
    let rates = rates(options);
    let own = rates.get(best).copied().flatten();
    slower_than(carried(own, options), &rates, comparison)
}

/// The most that each lets through, None for those that do not shape.
fn rates(options: &Options) -> Vec<Option<Rate>> {
    let mut rates = Vec::new();
    for spec in &options.specs {
        rates.push(most_of(&spec.discipline));
    }
    for tree in &options.trees {
        rates.push(most_of_tree(tree.config()));
    }
    rates
}

fn carried(shaped: Option<Rate>, options: &Options) -> Rate {
    shaped.unwrap_or(options.rate).min(options.rate)
}

fn slower_than(
    other: Rate,
    rates: &[Option<Rate>],
    comparison: &Comparison,
) -> Vec<(String, Rate)> {
    let mut shaped = Vec::new();
    for (result, rate) in comparison.disciplines.iter().zip(rates) {
        if let Some(rate) = *rate
            && (rate.bits_per_second() as f64) < ALIKE * other.bits_per_second() as f64
        {
            shaped.push((result.spec.clone(), rate));
        }
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
    Rate::from_bits_per_second(Carried::by(tree, root).most?)
}

/// What a node lets through in the long run, in bits a second.
struct Carried {
    /// At most. None: all that the link has.
    most: Option<u64>,
    /// Whatever its parent has left: htb's `rate` and hfsc's `rt` of its leaves.
    assured: u64,
}

impl Carried {
    fn by(tree: &Config, node: &Node) -> Self {
        let below = Self::by_all(tree, &tree.children_of(&node.name));
        let is_leaf = below.is_none();
        let own = most_of(&node.spec.discipline).map(Rate::bits_per_second);
        let inside = below.unwrap_or(Self {
            most: own,
            assured: 0,
        });
        let (assured, shared) = match node.service {
            Service::Htb(class) => {
                let ceil = class.ceil.unwrap_or(class.rate);
                (class.rate.bits_per_second(), Some(ceil.bits_per_second()))
            }
            Service::Hfsc(class) => match (class.ls, class.ul) {
                (Some(_), None) => (slope(class.rt), None),
                (Some(_), limit) => (slope(class.rt), Some(slope(limit))),
                // Without a share it gets what `rt` says and no more.
                (None, _) => (slope(class.rt), Some(0)),
            },
            _ => (0, None),
        };
        // Leaves send at their own rates whatever the classes above them have.
        let assured = if is_leaf { assured } else { inside.assured };
        let given = shared.map(|shared| shared.max(assured));
        let most = match (given, inside.most) {
            (Some(given), Some(inside)) => Some(given.min(inside)),
            (one, None) | (None, one) => one,
        };
        Self { most, assured }
    }

    /// What these nodes let through together. None if there are none.
    fn by_all(tree: &Config, nodes: &[&Node]) -> Option<Self> {
        if nodes.is_empty() {
            return None;
        }
        let mut sum = Self {
            most: Some(0),
            assured: 0,
        };
        for node in nodes {
            let Self { most, assured } = Self::by(tree, node);
            sum.most = match (sum.most, most) {
                (Some(sum), Some(most)) => Some(sum.saturating_add(most)),
                _ => None,
            };
            sum.assured = sum.assured.saturating_add(assured);
        }
        Some(sum)
    }
}

/// A curve's rate in the long run, in bits a second.
fn slope(curve: Option<Curve>) -> u64 {
    match curve.and_then(|curve| curve.m2) {
        Some(rate) => rate.bits_per_second(),
        None => 0,
    }
}

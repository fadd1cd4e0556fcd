//! What shapers promise: how much they send at most, and for how long they may let a link rest.

use roundelay::Rate;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{self, Service};

use crate::log::{MostRecord, ShaperRecord};

/// The longest packet that a shaper may send beyond its tokens, bytes.
const LONGEST_PACKET: u64 = 65_536;

impl ShaperRecord {
    /// What a discipline promises that may let a link of this rate rest. None: it never does.
    pub fn of(discipline: &AnyDiscipline, link: Rate) -> Option<Self> {
        match discipline {
            AnyDiscipline::Tbf(config) => {
                let burst = u64::from(config.burst);
                let is_alone = config.peakrate.is_none();
                Some(Self {
                    most: Some(MostRecord {
                        rate: config.rate.unwrap_or(link).bits_per_second(),
                        burst,
                    }),
                    prompt: is_alone.then_some(burst),
                    tells_rests: false,
                })
            }
            // Lateness is made up, so a packet may follow the one before at once. A cake may count
            // more bytes than a packet has on this link, so nothing is said of how long it rests.
            AnyDiscipline::Cake(config) => Some(Self {
                most: Some(MostRecord {
                    rate: config.bandwidth?.bits_per_second(),
                    burst: 2 * LONGEST_PACKET,
                }),
                prompt: None,
                tells_rests: false,
            }),
            AnyDiscipline::Fq(config) => config.maxrate.map(|_| Self::NOTHING),
            AnyDiscipline::Tree(tree) => of_tree(tree, link),
            _ => None,
        }
    }

    /// It may rest, and promises nothing for all packets together.
    const NOTHING: Self = Self {
        most: None,
        prompt: None,
        tells_rests: false,
    };

    /// The same, in a log with a line for each rest.
    pub fn telling_rests(self) -> Self {
        Self {
            tells_rests: true,
            ..self
        }
    }
}

/// What a tree promises: the sum of what its topmost htb lets through. Below another discipline, or
/// beside packets of no class, which no rate holds back, it may rest and promises nothing.
fn of_tree(tree: &tree::Config, link: Rate) -> Option<ShaperRecord> {
    let mut is_shaped = false;
    let mut burst = 0;
    let mut is_held = true;
    let mut top = None;
    for node in tree.nodes() {
        let of_itself = ShaperRecord::of(&node.spec.discipline, link);
        is_shaped |= of_itself.is_some() || node.service != Service::Shared;
        is_held &= node.service != Service::Direct;
        top.get_or_insert(node);
        if let Service::Htb(class) = &node.service {
            burst += u64::from(class.burst()) + u64::from(class.cburst()) + LONGEST_PACKET;
        }
    }
    let sum = top.and_then(|top| sum_below(tree, &top.name));
    let most = sum.filter(|_| is_held).map(|sum| MostRecord {
        rate: sum.most,
        burst,
    });
    is_shaped.then_some(ShaperRecord {
        most,
        ..ShaperRecord::NOTHING
    })
}

/// Rates of a part of a tree, bits per second.
#[derive(Clone, Copy)]
struct Sum {
    /// It sends this much whatever the classes above it have.
    own: u64,
    /// It never sends more.
    most: u64,
}

/// The sum of a node's classes. None if it has none.
///
/// A class at its ceiling lends nothing. What is below it then still sends at rates of its own: that
/// of each class below, which lends while it keeps to its rate, and no ceiling above stops that. So a
/// class sends the larger of its ceiling and these rates, and not more than all of its children.
fn sum_below(tree: &tree::Config, name: &str) -> Option<Sum> {
    let mut sum = None;
    for child in tree.children_of(name) {
        let Service::Htb(class) = &child.service else {
            return None;
        };
        let [rate, ceil] = [class.rate, class.ceil()].map(Rate::bits_per_second);
        let of_child = match sum_below(tree, &child.name) {
            Some(below) => {
                let own = rate.max(below.own);
                let most = below.most.min(ceil.max(own));
                Sum { own, most }
            }
            // A leaf at its ceiling sends nothing.
            None => Sum {
                own: rate,
                most: ceil,
            },
        };
        let Sum { own, most } = sum.unwrap_or(Sum { own: 0, most: 0 });
        sum = Some(Sum {
            own: own.saturating_add(of_child.own),
            most: most.saturating_add(of_child.most),
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use roundelay::QueueSpec;
    use roundelay::schedulers::fifo;
    use roundelay::tree::htb::{self, Class};
    use roundelay::tree::{Config, Node};

    use super::*;

    fn node(name: &str, discipline: AnyDiscipline, class: Option<[u64; 2]>) -> Node {
        let spec = QueueSpec::from(discipline);
        let mbit = |rate: u64| Rate::from_bits_per_second(rate * 1_000_000).unwrap();
        let mut node = Node::new(name, spec);
        if let Some([rate, ceil]) = class {
            let ceil = Some(mbit(ceil));
            node.service = Service::Htb(Class {
                ceil,
                ..Class::new(mbit(rate))
            });
        }
        node
    }

    /// The ceiling of the class above binds leaves that could send three times as much, but rates of
    /// their own go beyond it.
    #[test]
    fn a_tree_sends_what_its_topmost_classes_let_through() {
        let htb = || AnyDiscipline::Htb(htb::Config::default());
        let fifo = || AnyDiscipline::Fifo(fifo::Config);
        for (rates, most) in [([1, 3, 2], 6), ([4, 4, 2], 10), ([6, 6, 6], 18)] {
            let mut tree = Config::new(node("top", htb(), None)).unwrap();
            let top = node("all", htb(), Some([6, 6]));
            tree.add_class("top", top).unwrap();
            for (name, rate) in ["a", "b", "c"].into_iter().zip(rates) {
                let leaf = node(name, fifo(), Some([rate, 6]));
                tree.add_leaf("all", leaf).unwrap();
            }
            tree.set_default("c").unwrap();
            let link = Rate::from_bits_per_second(1_000_000_000).unwrap();
            let promised = of_tree(&tree, link).expect("a shaper");
            let rate = promised.most.expect("a rate").rate;
            assert_eq!(rate, most * 1_000_000, "{rates:?}");
            let mut direct = node("free", fifo(), None);
            direct.service = Service::Direct;
            tree.add_leaf("top", direct).unwrap();
            let promised = of_tree(&tree, link).expect("a shaper");
            assert_eq!(promised.most, None, "packets of no class");
        }
    }
}

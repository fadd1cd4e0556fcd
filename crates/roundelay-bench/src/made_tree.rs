//! Trees made for a measurement: classes of one discipline a level, and a leaf for each flow in turn.

use std::fmt;
use std::str::FromStr;

use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Service, TreeError, hfsc, htb};
use roundelay::{Fault, QueueSpec, Rate};

/// The link that the controller imitates, in bits per second: see `controller.rs`.
const LINK: u64 = 10_000_000_000;
/// Bytes of a class's bucket, and of its turn.
const BURST: u32 = 10_000;
const QUANTUM: u32 = 1514;

/// A tree in a word: `htb:1000` has a thousand leaves below an htb, `drr+htb:4x250` an htb with 250
/// leaves below each of four classes of a drr.
///
/// Classes of htb and hfsc have equal parts of a link of 10 Gbit/s. Below the root a leaf sends at its
/// rate; deeper down it has a guarantee of half of that and gets the rest from its parent, so that every
/// second packet is borrowed or shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeTree {
    /// The disciplines from the root down, the last for all deeper levels.
    classes: Vec<String>,
    /// Children of a class, level by level.
    widths: Vec<u32>,
}

/// The legal form of [`MadeTree`]s.
const LEGAL: &str = "disciplines from the root down and children of each class by level, as in \
                     htb:1000, hfsc:10x100 or drr+htb:4x250";

impl MadeTree {
    /// The most leaves.
    pub const MOST_LEAVES: u64 = 1 << 17;

    fn leaves(&self) -> u64 {
        let widths = self.widths.iter().map(|width| u64::from(*width));
        widths.fold(1, u64::saturating_mul)
    }

    /// The tree's configuration.
    ///
    /// # Errors
    /// A discipline cannot divide a link among classes, or there are too many levels.
    fn config(&self) -> Result<Config, TreeError> {
        let mut tree = Config::new(self.class(0, "0"))?;
        let mut parents = vec!["0".to_owned()];
        let mut part = 1;
        for (level, width) in self.widths.iter().enumerate() {
            part *= u64::from(*width);
            let is_last = level + 1 == self.widths.len();
            let mut children = Vec::new();
            for parent in &parents {
                for number in 0..*width {
                    let name = format!("{parent}.{number}");
                    let mut node = if is_last {
                        Node::new(&name, fifo())
                    } else {
                        self.class(level + 1, &name)
                    };
                    let of_rate = if is_last && level > 0 { 2 * part } else { part };
                    node.service = self.service(level, of_rate);
                    if is_last {
                        tree.add_leaf(parent, node)?;
                    } else {
                        tree.add_class(parent, node)?;
                    }
                    children.push(name);
                }
            }
            parents = children;
        }
        tree.set_default(&parents[0])?;
        Ok(tree)
    }

    fn discipline(&self, level: usize) -> &str {
        &self.classes[level.min(self.classes.len() - 1)]
    }

    fn class(&self, level: usize, name: &str) -> Node {
        let mut node = Node::new(name, fifo());
        node.spec.discipline = match self.discipline(level) {
            HTB => AnyDiscipline::Htb(htb::Config::default()),
            HFSC => AnyDiscipline::Hfsc(hfsc::Config),
            other => AnyDiscipline::named(other).unwrap_or(node.spec.discipline),
        };
        node
    }

    /// What a class on this level gives a child with one of `parts` equal parts of the link.
    fn service(&self, level: usize, parts: u64) -> Service {
        let least = 1000;
        let rate = Rate::from_bits_per_second((LINK / parts).max(least));
        let rate = rate.expect("more than nothing");
        match self.discipline(level) {
            HTB => Service::Htb(htb::Class {
                ceil: Rate::from_bits_per_second(LINK),
                burst: Some(BURST),
                cburst: Some(BURST),
                quantum: Some(QUANTUM),
                ..htb::Class::new(rate)
            }),
            HFSC => Service::Hfsc(hfsc::Class {
                rt: Some(hfsc::Curve::line(rate)),
                ls: Some(hfsc::Curve::line(rate)),
                ul: None,
            }),
            _ => Service::Shared,
        }
    }
}

const HTB: &str = "htb";
const HFSC: &str = "hfsc";

fn fifo() -> QueueSpec {
    "fifo".parse().expect("first in, first out is a discipline")
}

impl From<MadeTree> for Config {
    /// # Panics
    /// Never, because a tree in a word is tried when it is read.
    fn from(tree: MadeTree) -> Self {
        tree.config().expect("the tree was made when it was read")
    }
}

impl fmt::Display for MadeTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<String> = self.widths.iter().map(u32::to_string).collect();
        write!(f, "{}:{}", self.classes.join("+"), widths.join("x"))
    }
}

impl FromStr for MadeTree {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = || Fault::quoted(text, LEGAL);
        let (classes, widths) = text.split_once(':').ok_or_else(wrong)?;
        let mut tree = Self {
            classes: Vec::new(),
            widths: Vec::new(),
        };
        for class in classes.split('+') {
            if ![HTB, HFSC].contains(&class) {
                AnyDiscipline::named(class)?;
            }
            tree.classes.push(class.to_owned());
        }
        for width in widths.split('x') {
            let width = width.parse().ok().filter(|width| *width > 0);
            tree.widths.push(width.ok_or_else(wrong)?);
        }
        let leaves = tree.leaves();
        if leaves > Self::MOST_LEAVES {
            let legal = format!("up to {} leaves", Self::MOST_LEAVES);
            return Err(Fault::quoted(text, legal));
        }
        tree.config()
            .map_err(|error| Fault::new(format!("'{text}': {error}")).with_given(text))?;
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_as_they_are_written() {
        for (text, leaves, nodes) in [
            ("htb:1000", 1000, 1001),
            ("hfsc:10x100", 1000, 1011),
            ("drr+htb:4x250", 1000, 1005),
            ("qfq+drr:2x3x4", 24, 33),
        ] {
            let tree: MadeTree = text.parse().unwrap();
            assert_eq!(tree.to_string(), text);
            let config = tree.config().unwrap();
            let nodes_of_leaves = config
                .nodes()
                .filter(|node| config.children_of(&node.name).is_empty());
            assert_eq!(
                (tree.leaves(), nodes_of_leaves.count()),
                (leaves, leaves as usize)
            );
            assert_eq!(config.nodes().count(), nodes);
        }
    }

    #[test]
    fn wrong_words_are_told_with_the_legal_form() {
        for (text, told) in [
            ("htb", LEGAL),
            ("htb:", LEGAL),
            ("htb:0", LEGAL),
            ("htb:x", LEGAL),
            ("cakes:3", "'cakes' (did you mean 'cake'?)"),
            ("htb:99999999", "up to 131072 leaves"),
            ("htb:1000x1000", "up to 131072 leaves"),
            ("fifo:3", "'fifo:3': "),
        ] {
            let error = text.parse::<MadeTree>().unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}

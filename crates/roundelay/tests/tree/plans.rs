//! Tree configurations for the tests.

use roundelay::FlowId;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node};

pub(crate) fn node(name: &str, spec: &str) -> Node {
    Node::new(name, spec.parse().expect("a legal spec"))
}

pub(crate) fn weighted(name: &str, spec: &str, weight: u32) -> Node {
    Node {
        weight,
        ..node(name, spec)
    }
}

/// Disciplines usable as classes.
pub(crate) fn classes() -> Vec<String> {
    let able = AnyDiscipline::all()
        .into_iter()
        .map(|discipline| discipline.info())
        .filter(|info| info.interior);
    able.map(|info| info.name.to_owned()).collect()
}

const LEAVES: [&str; 5] = [
    "fifo",
    "drr quantum 300b",
    "sfq divisor 4",
    "fq_codel flows 8 target 1ms interval 5ms",
    "wf2q_plus",
];

/// Assigns flow f to leaf f modulo (number of leaves + 1); flows without a leaf go to the default
/// leaf, the first.
fn assign(config: &mut Config, leaves: &[String]) {
    config.set_default(&leaves[0]).unwrap();
    for flow in 0..200 {
        if let Some(leaf) = leaves.get(flow % (leaves.len() + 1)) {
            config.assign(FlowId(flow as u32), leaf).unwrap();
        }
    }
}

/// The root and leaves of all kinds.
fn flat(class: &str) -> Config {
    let mut config = Config::new(node("link", class)).unwrap();
    let names: Vec<_> = LEAVES.iter().map(|spec| format!("leaf {spec}")).collect();
    for (number, (spec, name)) in LEAVES.iter().zip(&names).enumerate() {
        config
            .add_leaf("link", weighted(name, spec, 1 << number))
            .unwrap();
    }
    assign(&mut config, &names);
    config
}

/// A chain of classes, each with a leaf beside the next.
fn deep(classes: &[&str], levels: usize) -> Config {
    let mut config = Config::new(node("0", classes[0])).unwrap();
    let mut names = Vec::new();
    for level in 1..levels {
        let (above, name) = ((level - 1).to_string(), level.to_string());
        config
            .add_class(
                &above,
                Node {
                    max_packet_len: 9000,
                    priority: 1,
                    ..weighted(&name, classes[level % classes.len()], 3)
                },
            )
            .unwrap();
        let leaf = format!("beside {level}");
        config
            .add_leaf(
                &above,
                Node {
                    max_packet_len: 9000,
                    ..weighted(&leaf, LEAVES[level % LEAVES.len()], level as u32)
                },
            )
            .unwrap();
        names.push(leaf);
    }
    for side in ["left", "right"] {
        config
            .add_leaf(
                &(levels - 1).to_string(),
                Node {
                    max_packet_len: 1 << 16,
                    ..node(side, LEAVES[levels % LEAVES.len()])
                },
            )
            .unwrap();
        names.push(side.to_owned());
    }
    assign(&mut config, &names);
    config
}

/// Two classes with four and three leaves; all but one leaf of each class have limits.
fn wide(class: &str) -> Config {
    let mut config = Config::new(node("link", class)).unwrap();
    let mut names = Vec::new();
    for (number, name) in ["near", "far"].into_iter().enumerate() {
        config
            .add_class(
                "link",
                Node {
                    priority: number as u32,
                    ..weighted(name, class, 2 + number as u32)
                },
            )
            .unwrap();
        for (leaf, spec) in ["fifo limit 3", "drr limit 9kb", "fifo limit 0", "fifo"]
            .into_iter()
            .enumerate()
            .skip(number)
        {
            let leaf = format!("{name} {leaf}");
            config
                .add_leaf(
                    name,
                    Node {
                        priority: 2 - number as u32,
                        ..node(&leaf, spec)
                    },
                )
                .unwrap();
            names.push(leaf);
        }
    }
    assign(&mut config, &names);
    config
}

/// Every discipline without reordering, as a leaf.
fn everything() -> Config {
    let mut config = Config::new(node("link", "wf2q_plus")).unwrap();
    config
        .add_class("link", node("class", "wf2q_plus"))
        .unwrap();
    let infos = AnyDiscipline::all()
        .into_iter()
        .map(|discipline| discipline.info())
        .filter(|info| !info.reorders);
    let names: Vec<_> = infos.map(|info| info.name.to_owned()).collect();
    for (number, name) in names.iter().enumerate() {
        config
            .add_leaf(
                ["link", "class"][number % 2],
                node(&format!("leaf {name}"), name),
            )
            .unwrap();
    }
    assign(
        &mut config,
        &names
            .iter()
            .map(|name| format!("leaf {name}"))
            .collect::<Vec<_>>(),
    );
    config
}

pub(crate) fn plans() -> Vec<(String, Config)> {
    let mut plans = vec![("default".to_owned(), Config::default())];
    let classes = classes();
    for class in &classes {
        plans.push((format!("flat {class}"), flat(class)));
        plans.push((format!("wide {class}"), wide(class)));
        plans.extend([2, 3, 8].map(|levels| {
            (
                format!("{levels} levels of {class}"),
                deep(&[class.as_str()], levels),
            )
        }));
    }
    let all: Vec<&str> = classes.iter().map(String::as_str).collect();
    plans.push(("8 levels of all".to_owned(), deep(&all, 8)));
    plans.push(("every discipline".to_owned(), everything()));
    plans
}

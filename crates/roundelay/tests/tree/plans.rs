//! Tree configurations for the tests.

use roundelay::FlowId;
use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Node, Service, hfsc, htb};

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

/// A node of a class of HTB, with rate and ceil.
pub(crate) fn rated(name: &str, spec: &str, rate: &str, ceil: &str) -> Node {
    let class = htb::Class {
        ceil: Some(ceil.parse().expect("a rate")),
        ..htb::Class::new(rate.parse().expect("a rate"))
    };
    Node {
        service: Service::Htb(class),
        max_packet_len: 1 << 16,
        ..node(name, spec)
    }
}

/// A node whose discipline is HTB.
pub(crate) fn of_htb(node: Node) -> Node {
    let mut spec = node.spec;
    spec.discipline = AnyDiscipline::Htb(htb::Config::default());
    Node { spec, ..node }
}

/// Classes of HTB that wait, at two levels and at eight; some hold classes of other disciplines or
/// a leaf that waits by itself.
pub(crate) fn idling() -> Vec<(String, Config)> {
    let mut wide = Config::new(of_htb(node("link", "drr"))).unwrap();
    let inner = |name: &str, rate: &str| of_htb(rated(name, "drr", rate, "100mbit"));
    wide.add_class("link", inner("near", "40mbit")).unwrap();
    wide.add_class("link", inner("far", "10mbit")).unwrap();
    wide.add_leaf("link", rated("top", "fifo", "1mbit", "3mbit"))
        .unwrap();
    wide.add_leaf("near", rated("near 1", "fifo limit 3", "10mbit", "40mbit"))
        .unwrap();
    wide.add_class("near", rated("shares", "drr", "5mbit", "5mbit"))
        .unwrap();
    wide.add_leaf(
        "near",
        rated("near 2", "tbf rate 2mbit burst 66000", "5mbit", "10mbit"),
    )
    .unwrap();
    wide.add_leaf("far", rated("far 1", "fq_codel", "1mbit", "10mbit"))
        .unwrap();
    let mut first = rated("far 2", "fifo", "1mbit", "50mbit");
    if let Service::Htb(class) = &mut first.service {
        class.prio = 1;
    }
    wide.add_leaf("far", first).unwrap();
    for name in ["share 1", "share 2"] {
        wide.add_leaf("shares", node(name, "fifo")).unwrap();
    }
    let leaves = [
        "far 1", "near 1", "far 2", "top", "near 2", "share 1", "share 2",
    ];
    assign(&mut wide, &leaves.map(str::to_owned));

    let mut deep = Config::new(of_htb(node("0", "drr"))).unwrap();
    let mut names = Vec::new();
    for level in 1..8 {
        let (above, name) = ((level - 1).to_string(), level.to_string());
        deep.add_class(&above, inner(&name, "20mbit")).unwrap();
        let leaf = format!("beside {level}");
        deep.add_leaf(&above, rated(&leaf, "fifo", "2mbit", "60mbit"))
            .unwrap();
        names.push(leaf);
    }
    for side in ["left", "right"] {
        deep.add_leaf("7", rated(side, "fifo", "3mbit", "100mbit"))
            .unwrap();
        names.push(side.to_owned());
    }
    assign(&mut deep, &names);
    vec![
        ("classes of htb".to_owned(), wide),
        ("8 levels of htb".to_owned(), deep),
        ("classes of hfsc".to_owned(), of_curves()),
    ]
}

/// A node of a class of HFSC, with curves as tc writes them; an empty one is none.
pub(crate) fn curved(name: &str, spec: &str, [rt, ls, ul]: [&str; 3]) -> Node {
    let curve = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a curve"));
    let class = hfsc::Class {
        rt: curve(rt),
        ls: curve(ls),
        ul: curve(ul),
    };
    let mut node = Node {
        service: Service::Hfsc(class),
        max_packet_len: 1 << 16,
        ..node(name, spec)
    };
    if spec == "drr" {
        node.spec.discipline = AnyDiscipline::Hfsc(hfsc::Config);
    }
    node
}

/// Classes of HFSC on three levels, with all kinds of curves.
fn of_curves() -> Config {
    let mut root = node("link", "drr");
    root.spec.discipline = AnyDiscipline::Hfsc(hfsc::Config);
    let mut plan = Config::new(root).unwrap();
    plan.add_class(
        "link",
        curved("near", "drr", ["", "m2 40mbit", "m2 60mbit"]),
    )
    .unwrap();
    plan.add_class(
        "near",
        curved("inner", "drr", ["", "m1 9mbit d 2ms m2 3mbit", ""]),
    )
    .unwrap();
    let leaves = [
        ("link", "top", "fifo", ["m2 1mbit", "", ""]),
        (
            "link",
            "far",
            "fq_codel",
            ["", "m2 9mbit", "m1 9mbit d 1ms m2 2mbit"],
        ),
        (
            "near",
            "near 1",
            "fifo limit 3",
            ["m1 9mbit d 2ms m2 1mbit", "m2 2mbit", ""],
        ),
        (
            "near",
            "near 2",
            "tbf rate 2mbit burst 66000",
            ["", "m2 3mbit", "m2 3mbit"],
        ),
        (
            "inner",
            "inner 1",
            "fifo",
            ["d 3ms m2 2mbit", "m2 1mbit", ""],
        ),
        ("inner", "inner 2", "fifo", ["", "d 3ms m2 2mbit", ""]),
    ];
    let mut names = Vec::new();
    for (parent, name, spec, curves) in leaves {
        plan.add_leaf(parent, curved(name, spec, curves)).unwrap();
        names.push(name.to_owned());
    }
    assign(&mut plan, &names);
    plan
}
